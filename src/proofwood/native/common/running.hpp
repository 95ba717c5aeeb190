// Runs a search on a thread of its own while the calling thread polls the clock, the memory, Ctrl-C and the progress
// callback.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

#include "common/memory.hpp"
#include "common/threads.hpp"

namespace proofwood {

enum Stop { kRunning = 0, kTime = 1, kInterrupt = 2, kError = 3, kMemory = 4 };

// Runs a step of a search that may lack memory; without it the search has stopped as at a limit, and what it has found
// so far stands. False if so.
template <class Step>
bool while_memory_lasts(std::atomic<int>& stop, const Step& step) {
  try {
    step();
    return true;
  } catch (const std::bad_alloc&) {
    stop = kMemory;
    return false;
  }
}

// Looks at the memory of the process now and then: lets caches hear that it is short, and stops the search where it is
// full.
class MemoryWatch {
 public:
  explicit MemoryWatch(std::atomic<int>& stop) : stop_(stop) { look(); }

  void look() {
    state_ = ceiling_.look();
    shortage_.set(state_ != kEnough);
    if (state_ == kShort &&
        Clock::now() - trimmed_ >= std::chrono::seconds(1)) {  // what caches gave back may be enough
      trimmed_ = Clock::now();
      trim_memory();
    }
    if (state_ == kFull) {
      int running = kRunning;
      stop_.compare_exchange_strong(running, kMemory);
    }
  }
  std::chrono::milliseconds until_next() const { return std::chrono::milliseconds(state_ == kEnough ? 50 : 10); }

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<int>& stop_;
  MemoryCeiling ceiling_ = memory_ceiling();
  Shortage shortage_;
  MemoryState state_ = kEnough;
  Clock::time_point trimmed_ = Clock::now() - std::chrono::seconds(1);
};

// Takes a Ctrl-C and calls `report`, with the GIL. A KeyboardInterrupt sets kInterrupt; any other exception sets kError
// and is returned.
inline std::exception_ptr listen_to_python(std::atomic<int>& stop, const std::function<void(double)>& report,
                                           double elapsed) {
  namespace nb = nanobind;
  const nb::gil_scoped_acquire acquire;
  try {
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();
    if (report) report(elapsed);
  } catch (nb::python_error& error) {
    if (error.matches(PyExc_KeyboardInterrupt)) {
      stop = kInterrupt;
    } else {
      stop = kError;
      return std::current_exception();
    }
  } catch (...) {  // such as no memory for the report
    stop = kError;
    return std::current_exception();
  }
  return nullptr;
}

// When the progress callback is due: at every event of a run, and about five times a second in between.
class Reports {
 public:
  explicit Reports(bool wanted) : wanted_(wanted) {}

  // `now`: seconds so far.
  template <class Run>
  bool due(const Run& run, double now) {
    constexpr double kSeconds = 0.2;
    if (!wanted_) return false;
    const std::size_t news = run.events_since(heard_).size();
    if (news == 0 && now - last_ <= kSeconds) return false;
    heard_ += news;
    last_ = now;
    return true;
  }

 private:
  bool wanted_;
  std::size_t heard_ = 0;
  double last_ = 0;
};

// The trace of a run and the counters of a search, for Python.
template <class Event>
nanobind::list trace_of(const std::vector<Event>& events) {
  nanobind::list trace;
  for (const auto& event : events)
    trace.append(nanobind::make_tuple(event.seconds, event.state.upper, event.state.lower));
  return trace;
}

template <class Counts, std::size_t kSize>
nanobind::dict counters_of(const Counts& counts, const char* const (&names)[kSize]) {
  nanobind::dict counters;
  for (std::size_t c = 0; c < kSize; ++c) counters[names[c]] = counts[c];
  return counters;
}

inline double seconds_since(std::chrono::steady_clock::time_point started) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

// `work` runs without the GIL on a new thread and must return soon after `stop` becomes other than kRunning.
// `report`, if given, is called about every 50 ms from the calling thread, with the GIL, with the seconds so far; it
// may call into Python. A KeyboardInterrupt, raised by the signal or by `report`, sets kInterrupt and is swallowed; any
// other Python error ends the work and is raised from here, as is an exception of `work`. At the ceiling of this
// thread, and at a std::bad_alloc of `work`, `stop` becomes kMemory; before that caches hear that memory is short.
inline double run_watched(const std::function<void()>& work, std::atomic<int>& stop, std::optional<double> seconds,
                          const std::function<void(double)>& report) {
  namespace nb = nanobind;
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  const auto elapsed = [&] { return seconds_since(started); };
  MemoryWatch memory(stop);
  if (seconds && *seconds <= 0 && stop.load() == kRunning) stop = kTime;  // not left to which thread comes first

  std::mutex mutex;
  std::condition_variable done;
  bool finished = false;
  std::exception_ptr failure;
  JoiningThreads runner;
  const bool starts = runner.start([&] {
    if (thread_is_ready()) {
      try {
        while_memory_lasts(stop, work);
      } catch (...) {
        failure = std::current_exception();
      }
    } else {
      stop = kMemory;
    }
    const std::lock_guard lock(mutex);
    finished = true;
    done.notify_all();
  });
  if (!starts) {
    PyErr_SetString(PyExc_MemoryError,
                    "no thread could be started for the search: the process may hold no more threads or memory. Raise "
                    "its limits (ulimit -u, ulimit -v), or end other work first");
    nb::raise_python_error();
  }

  std::exception_ptr raised;
  {
    const nb::gil_scoped_release release;
    std::unique_lock lock(mutex);
    while (!finished) {
      auto until = Clock::now() + memory.until_next();
      if (seconds)
        until = std::min(
            until, started + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*seconds)));
      done.wait_until(lock, until, [&] { return finished; });
      if (finished) break;
      memory.look();
      if (seconds && elapsed() >= *seconds && stop.load() == kRunning) stop = kTime;
      if (stop.load() != kRunning) {  // the workers are on their way out
        done.wait_for(lock, std::chrono::milliseconds(20), [&] { return finished; });
      }
      lock.unlock();
      if (!raised) raised = listen_to_python(stop, report, elapsed());
      lock.lock();
    }
    lock.unlock();
    runner.join();
  }
  if (raised) std::rethrow_exception(raised);
  if (failure) std::rethrow_exception(failure);
  return elapsed();
}

}  // namespace proofwood
