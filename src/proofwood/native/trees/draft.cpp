// A tree in work (docs/theory/optimal-trees.md, "First trees").
#include "trees/draft.hpp"

#include <algorithm>

namespace proofwood::trees {

void Draft::split(int node, u32 feature, u32 key, LevelSet levels) {
  const int low = static_cast<int>(nodes.size());
  nodes.resize(nodes.size() + 2);
  Node& here = at(node);
  here = {low, low + 1, feature, key, levels, 0, false};
}

void Draft::graft(int node, const Plan& plan) {
  at(node) = {};
  if (plan.kind == Plan::kSplit) {
    split(node, plan.feature, plan.key, plan.levels);
    const int low = at(node).low, high = at(node).high;
    graft(low, *plan.low);
    graft(high, *plan.high);
  } else {
    at(node).wants_stump = plan.kind == Plan::kStump;
  }
}

void Draft::graft(int node, const Draft& from, int root) {
  const Node& there = from.at(root);
  at(node) = {};
  if (there.is_leaf()) {
    at(node).label = there.label;
    at(node).wants_stump = there.wants_stump;
    return;
  }
  split(node, there.feature, there.key, there.levels);
  const int low = at(node).low, high = at(node).high;
  graft(low, from, there.low);
  graft(high, from, there.high);
}

int Draft::height(int node) const {
  const Node& here = at(node);
  if (here.is_leaf()) return here.wants_stump ? 1 : 0;
  return 1 + std::max(height(here.low), height(here.high));
}

int Draft::leaves(int node) const {
  const Node& here = at(node);
  return here.is_leaf() ? 1 : leaves(here.low) + leaves(here.high);
}

PlanPtr Draft::plan(int node) const {
  const Node& here = at(node);
  if (here.is_leaf()) return leaf_plan();
  return std::make_shared<Plan>(
      Plan{Plan::kSplit, here.feature, here.key, here.levels, plan(here.low), plan(here.high)});
}

Draft draft_of(const Plan& plan) {
  Draft draft;
  draft.graft(0, plan);
  return draft;
}

}  // namespace proofwood::trees
