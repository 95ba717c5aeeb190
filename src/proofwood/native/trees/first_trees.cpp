// Trees that are built fast, before the search proper (docs/theory/optimal-trees.md, "The search").
#include "trees/first_trees.hpp"

#include <algorithm>

namespace proofwood::trees {

Solution FirstTrees::build(Rows& rows, int depth, int exact_depth) {
  const i64 leaf = rows.leaf;
  if (depth <= exact_depth || leaf == 0 || rows.n < 2 || !shared_.settings.minimum.may_split(rows.counts))
    return solver_.solve(rows, std::min(depth, exact_depth));
  Solution best = solver_.solve(rows, exact_depth);
  const PlanPtr split = best.plan;
  if (split->kind != Plan::kSplit || !may_be_root(*split, depth)) return best;
  if (shared_.stopped() || !solver_.split(rows, *split, depth)) return best;
  Solver::Level& level = solver_.level(depth);
  const Solution low = build(level.low, depth - 1, exact_depth);
  const Solution high = build(level.high, depth - 1, exact_depth);
  const i64 cost = low.upper + high.upper + shared_.settings.prices.leaf;
  if (cost < best.upper) {
    best.upper = cost;
    best.plan =
        std::make_shared<Plan>(Plan{Plan::kSplit, split->feature, split->key, split->levels, low.plan, high.plan});
  }
  return best;
}

// Sets of columns of many levels stand at the last two levels of tests only.
bool FirstTrees::may_be_root(const Plan& split, int depth) const {
  return split.levels == 0 || shared_.table.levels[split.feature - shared_.table.n_features].tested_at(depth);
}

}  // namespace proofwood::trees
