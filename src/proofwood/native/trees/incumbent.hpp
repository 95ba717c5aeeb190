// The best tree so far and the proved bound (docs/theory/optimal-trees.md, "What "proved" means"): the cost only falls,
// the bound only rises, and every change is an event of the trace.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <vector>

#include "trees/plan.hpp"
#include "trees/settings.hpp"

namespace proofwood::trees {

struct Event {
  double seconds;
  i64 upper, lower;
};

// Any method may be called from any thread.
class Incumbent {
 public:
  // `constant`: cost that every tree has beyond what the search counts. `upper`: of a tree that the caller has.
  Incumbent(i64 constant, i64 upper) : constant_(constant), upper_(upper) {}

  i64 upper() const;
  PlanPtr plan() const;
  Event state() const;
  std::vector<Event> events_since(std::size_t index) const;

  void offer(i64 upper, const PlanPtr& plan) { update(upper, plan, 0); }
  void raise(i64 lower) { update(kInfinite, nullptr, lower); }
  void update(i64 upper, const PlanPtr& plan, i64 lower);  // both, as one event
  void replace(PlanPtr plan);                              // by another tree of the same cost

 private:
  Event now() const;

  mutable std::mutex mutex_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  const i64 constant_;
  i64 upper_, lower_ = 0;
  PlanPtr plan_;
  std::vector<Event> events_;
};

}  // namespace proofwood::trees
