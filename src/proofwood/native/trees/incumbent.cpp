// The best tree so far and the proved bound (docs/theory/optimal-trees.md, "What "proved" means").
#include "trees/incumbent.hpp"

#include <algorithm>
#include <utility>

namespace proofwood::trees {

i64 Incumbent::upper() const {
  const std::lock_guard lock(mutex_);
  return upper_;
}

PlanPtr Incumbent::plan() const {
  const std::lock_guard lock(mutex_);
  return plan_;
}

Event Incumbent::now() const {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started_;
  return {seconds.count(), upper_ + constant_, std::min(lower_, upper_) + constant_};
}

Event Incumbent::state() const {
  const std::lock_guard lock(mutex_);
  return now();
}

std::vector<Event> Incumbent::events_since(std::size_t index) const {
  const std::lock_guard lock(mutex_);
  return {events_.begin() + static_cast<std::ptrdiff_t>(std::min(index, events_.size())), events_.end()};
}

void Incumbent::update(i64 upper, const PlanPtr& plan, i64 lower) {
  const std::lock_guard lock(mutex_);
  bool news = false;
  if (upper < upper_) {
    upper_ = upper;
    plan_ = plan;
    news = true;
  }
  if (lower > lower_) {
    lower_ = lower;
    news = true;
  }
  if (news && upper_ < kInfinite) events_.push_back(now());
}

void Incumbent::replace(PlanPtr plan) {
  const std::lock_guard lock(mutex_);
  plan_ = std::move(plan);
}

}  // namespace proofwood::trees
