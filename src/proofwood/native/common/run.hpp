// What a search keeps while it works, for the threads that search and for the one that reports: the best answer, what
// is proved, the trace, the clock and the flag that ends it. The rules are those of engines/run.py:
//
//   lower <= optimum <= upper at every moment. upper only falls and lower only rises; a bound above upper says that
//   nothing better exists, and counts as upper.
//   Every change is an event of the trace, which therefore is monotone, too.
//   Once the flag is set the search ends soon, and what is known stands.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/integers.hpp"

namespace proofwood {

// `State` is what is reported; `now.contradicts(before)` says that a bound fell or that the best answer became worse.
// Any method may be called from any thread.
template <class State, class Answer>
class Run {
 public:
  using Clock = std::chrono::steady_clock;
  struct Event {
    double seconds;
    State state;
  };

  // `started`: when the clock began, which may have been before the search is made.
  Run(State first, const std::atomic<int>& stop, Clock::time_point started = Clock::now())
      : stop_(stop), started_(started), state_(std::move(first)) {}

  bool stopped() const { return stop_.load(std::memory_order_relaxed) != 0; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }
  State state() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }
  Answer answer() const {
    const std::lock_guard lock(mutex_);
    return answer_;
  }
  std::pair<State, Answer> known() const {  // both of one moment
    const std::lock_guard lock(mutex_);
    return {state_, answer_};
  }
  std::vector<Event> events_since(std::size_t first) const {
    const std::lock_guard lock(mutex_);
    return {events_.begin() + static_cast<std::ptrdiff_t>(std::min(first, events_.size())), events_.end()};
  }
  void replace(Answer answer) {  // by another one that is worth the same
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }

 protected:
  // `step(state, answer)` is one change, made while other threads wait, and returns whether it is news.
  template <class Step>
  bool change(const Step& step) {
    const std::lock_guard lock(mutex_);
    const State before = state_;
    if (!step(state_, answer_)) return false;
    if (state_.contradicts(before)) {
      state_ = before;
      throw std::logic_error("an answer contradicts what was proved before");
    }
    events_.push_back({seconds(), state_});
    return true;
  }

 private:
  const std::atomic<int>& stop_;
  const Clock::time_point started_;
  mutable std::mutex mutex_;
  State state_;
  Answer answer_{};
  std::vector<Event> events_;
};

struct Bounds {
  i64 upper, lower;
  bool contradicts(const Bounds& before) const { return upper > before.upper || lower < before.lower || lower > upper; }
};

// A run whose answers are worth one integer: `upper` is that of the best one, `lower` a bound on all.
template <class Answer>
class BoundedRun : public Run<Bounds, Answer> {
 public:
  using typename Run<Bounds, Answer>::Clock;

  // `upper`: only answers below are of interest.
  BoundedRun(i64 upper, const std::atomic<int>& stop, Clock::time_point started = Clock::now())
      : Run<Bounds, Answer>({upper, 0}, stop, started), upper_(upper) {}

  i64 upper() const { return upper_.load(std::memory_order_relaxed); }
  void offer(i64 upper, const Answer& answer) {
    if (upper < this->upper()) update(upper, answer, 0);
  }
  // Whether the bound meets the best answer, up to `gap`.
  bool met(i64 gap) const {
    const Bounds known = this->state();
    return known.upper - known.lower <= gap;
  }
  void prove(i64 lower) { update(this->upper(), Answer{}, lower); }
  void update(i64 upper, const Answer& answer, i64 lower) {  // both, as one event
    this->change([&](Bounds& bounds, Answer& best) {
      const Bounds before = bounds;
      if (upper < bounds.upper) {
        bounds.upper = upper;
        best = answer;
        upper_.store(upper, std::memory_order_relaxed);
      }
      bounds.lower = std::max(bounds.lower, std::min(lower, bounds.upper));
      return bounds.upper != before.upper || bounds.lower != before.lower;
    });
  }

 private:
  std::atomic<i64> upper_;
};

}  // namespace proofwood
