// Trees that are built fast, before the search proper (docs/theory/optimal-trees.md, "The search").
#include "trees/first_trees.hpp"

#include <algorithm>
#include <numeric>

namespace proofwood::trees {

Solution FirstTrees::build(Rows& rows, int depth, int exact_depth, Top top) {
  const i64 leaf = shared_.leaf_cost(rows);
  if (depth <= exact_depth || leaf == 0 || rows.n < 2 || !shared_.settings.minimum.may_split(rows.counts))
    return solver_.solve(rows, std::min(depth, exact_depth));
  Solution best = Solution::exact(leaf, leaf_plan());
  PlanPtr split;
  if (top == Top::kGini) {
    const auto [feature, position] = best_gini(rows, nullptr);
    if (position != 0) split = split_plan(feature, rows.key(feature)[position - 1], nullptr, nullptr);
  } else {
    best = solver_.solve(rows, exact_depth);
    if (best.plan->kind == Plan::kSplit && may_be_root(*best.plan, depth)) split = best.plan;
  }
  if (!split || shared_.stopped() || !solver_.split(rows, *split, depth)) return best;
  Solver::Level& level = solver_.level(depth);
  const Solution low = build(level.low, depth - 1, exact_depth, top);
  const Solution high = build(level.high, depth - 1, exact_depth, top);
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

std::vector<u32> FirstTrees::rank_features(const Rows& rows) const {
  std::vector<double> score(rows.n_features, 0);
  best_gini(rows, &score);
  std::vector<u32> by_score(rows.n_features), rank(rows.n_features);
  std::iota(by_score.begin(), by_score.end(), 0u);
  std::stable_sort(by_score.begin(), by_score.end(), [&](u32 a, u32 b) { return score[a] > score[b]; });
  for (u32 i = 0; i < rows.n_features; ++i) rank[by_score[i]] = i;
  return rank;
}

std::pair<u32, u32> FirstTrees::best_gini(const Rows& rows, std::vector<double>* by_feature) const {
  const Table& table = shared_.table;
  const Minimum& minimum = shared_.settings.minimum;
  const ClassCounts& counts = rows.counts;
  std::pair<u32, u32> best{0, 0};
  double best_score = -1;
  std::vector<i64> low(table.n_classes);
  double all = 0;
  for (const i64 w : counts.class_weight) all += static_cast<double>(w) * static_cast<double>(w);
  for (u32 f = 0; f < rows.n_features && !shared_.stopped(); ++f) {
    std::fill(low.begin(), low.end(), 0);
    double low_squares = 0, high_squares = all, feature_best = 0;
    i64 low_weight = 0;
    u32 count = 0;
    i64 mass = 0;
    const u32* const order = rows.order(f);
    for (u32 i = 0; i + 1 < rows.n; ++i) {
      const u32 r = rows.row(order[i]);
      const double w = static_cast<double>(table.weight[r]);
      const u32 c = table.label[r];
      const double before_low = static_cast<double>(low[c]),
                   before_high = static_cast<double>(counts.class_weight[c] - low[c]);
      low_squares += w * (2 * before_low + w);
      high_squares -= w * (2 * before_high - w);
      low[c] += table.weight[r];
      low_weight += table.weight[r];
      count += table.count[r];
      mass += table.mass[r];
      if (!rows.is_boundary(f, i + 1) || low_weight == 0 || low_weight == counts.weight) continue;
      if (!minimum.met(count, mass) || !minimum.met(counts.count - count, counts.mass - mass)) continue;
      // sum of squares over size: larger is purer
      const double score = low_squares / static_cast<double>(low_weight) +
                           high_squares / static_cast<double>(counts.weight - low_weight);
      feature_best = std::max(feature_best, score);
      if (score > best_score) {
        best_score = score;
        best = {f, i + 1};
      }
    }
    if (by_feature) (*by_feature)[f] = feature_best;
  }
  return best;
}

}  // namespace proofwood::trees
