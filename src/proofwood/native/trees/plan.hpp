// A tree as the search knows it: splits by feature and key; its ends are leaves and best stumps.
//
//        x3 <= 17            kSplit: feature 3, key 17
//       /         \          a stump's own split is not kept: it is found again when the tree is
//   kLeaf        kStump      written out (write_out.hpp)
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "trees/level_column.hpp"

namespace proofwood::trees {

struct Plan {
  enum Kind { kLeaf, kStump, kSplit } kind = kLeaf;
  u32 feature = 0, key = 0;  // rows with a key up to `key` go low
  LevelSet levels = 0;       // not empty: `feature` is tested by sets, and these levels go low
  std::shared_ptr<const Plan> low, high;
};
using PlanPtr = std::shared_ptr<const Plan>;

inline int levels_of(const Plan& plan) {
  if (plan.kind != Plan::kSplit) return plan.kind == Plan::kStump ? 1 : 0;
  return 1 + std::max(levels_of(*plan.low), levels_of(*plan.high));
}

inline PlanPtr leaf_plan() {
  static const PlanPtr leaf = std::make_shared<Plan>();
  return leaf;
}

inline PlanPtr stump_plan() {
  static const PlanPtr stump = std::make_shared<Plan>(Plan{Plan::kStump, 0, 0, 0, nullptr, nullptr});
  return stump;
}

inline PlanPtr split_plan(u32 feature, u32 key, PlanPtr low, PlanPtr high) {
  return std::make_shared<Plan>(Plan{Plan::kSplit, feature, key, 0, std::move(low), std::move(high)});
}

// The split that sends `levels` of the feature, which is tested by sets, to its low side.
inline PlanPtr level_plan(u32 feature, LevelSet levels, PlanPtr low, PlanPtr high) {
  return std::make_shared<Plan>(Plan{Plan::kSplit, feature, 0, levels, std::move(low), std::move(high)});
}

}  // namespace proofwood::trees
