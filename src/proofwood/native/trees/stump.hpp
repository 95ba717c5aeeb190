// Best tree of one split by one scalar walk per feature: depth one, and the reference beside the kernels.
#pragma once

#include <atomic>

#include "trees/plan.hpp"
#include "trees/rows.hpp"
#include "trees/settings.hpp"

namespace proofwood::trees {

struct Stump {
  i64 cost = kInfinite;           // of its two leaves; kInfinite: no permitted stump
  i64 cost_all = kInfinite;       // the same without the minimum of leaves
  u32 feature = 0, position = 0;  // smallest that attains `cost`
  LevelSet levels = 0;            // not empty: `feature` is tested by sets
};

// Of classes: the cost is the weight of the wrong rows.
Stump lightest_stump(const Table& table, const Rows& rows, const Minimum& minimum, const std::atomic<int>& stop);

// The tree of a stump of these rows.
PlanPtr plan_of(const Stump& stump, const Rows& rows);

}  // namespace proofwood::trees
