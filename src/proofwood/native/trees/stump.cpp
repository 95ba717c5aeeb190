// Best tree of one split by one scalar walk per feature (CT(D, 1) in docs/theory/optimal-trees.md, "The problem").
#include "trees/stump.hpp"

#include <algorithm>
#include <vector>

#include "trees/level_stump.hpp"

namespace proofwood::trees {

namespace {

// The best set of levels of each column, where it is better than all thresholds.
void offer_level_stumps(const Table& table, const Rows& rows, Stump& best) {
  std::vector<i64> weights;
  for (u32 c = 0; c < table.levels.size(); ++c) {
    const LevelColumn& column = table.levels[c];
    weights.assign(std::size_t{column.n_levels()} * table.n_classes, 0);
    for (u32 local = 0; local < rows.n; ++local) {
      const u32 r = rows.row(local);
      weights[std::size_t{column.code[r]} * table.n_classes + table.label[r]] += table.weight[r];
    }
    const LevelStump stump = best_level_stump(weights, column.n_levels(), table.n_classes);
    const i64 cost = rows.counts.weight - stump.right;
    best.cost_all = std::min(best.cost_all, cost);
    if (cost >= best.cost) continue;
    best.cost = cost;
    best.feature = table.n_features + c;
    best.position = 0;
    best.levels = stump.levels;
  }
}

// Labels and weights in the order of a feature. They are fetched once for both walks: of many rows, each fetch waits
// for memory, so that those of a set are laid side by side by local row, and weights that are all 1 are not fetched.
class RowsInOrder {
 public:
  RowsInOrder(const Table& table, const Rows& rows) : unit_(table.unit), of_row_(rows.n), sorted_(rows.n) {
    for (u32 local = 0; local < rows.n; ++local) of_row_[local] = table.label[rows.row(local)];
    if (unit_) return;
    weight_of_row_.resize(rows.n);
    sorted_weight_.resize(rows.n);
    for (u32 local = 0; local < rows.n; ++local) weight_of_row_[local] = table.weight[rows.row(local)];
  }

  void take(const u32* order) {
    for (std::size_t i = 0; i < sorted_.size(); ++i) sorted_[i] = of_row_[order[i]];
    if (unit_) return;
    for (std::size_t i = 0; i < sorted_.size(); ++i) sorted_weight_[i] = weight_of_row_[order[i]];
  }
  u16 label(u32 i) const { return sorted_[i]; }
  i64 weight(u32 i) const { return unit_ ? 1 : sorted_weight_[i]; }

 private:
  const bool unit_;
  std::vector<u16> of_row_, sorted_;
  std::vector<i64> weight_of_row_, sorted_weight_;
};

}  // namespace

Stump lightest_stump(const Table& table, const Rows& rows, const Minimum& minimum, const std::atomic<int>& stop) {
  Stump best;
  const u32 n = rows.n;
  std::vector<i64> tally(table.n_classes), suffix(n + 1);
  RowsInOrder sorted(table, rows);
  for (u32 f = 0; f < rows.n_features && !stop.load(std::memory_order_relaxed); ++f) {
    sorted.take(rows.order(f));
    const auto tallied = [&](u32 i) { return tally[sorted.label(i)] += sorted.weight(i); };
    std::fill(tally.begin(), tally.end(), 0);
    suffix[n] = 0;
    for (u32 i = n; i-- > 0;) suffix[i] = std::max(suffix[i + 1], tallied(i));
    std::fill(tally.begin(), tally.end(), 0);
    i64 prefix = 0;
    u32 seen = 0;
    i64 held = 0;
    for (u32 i = 0; i + 1 < n; ++i) {
      prefix = std::max(prefix, tallied(i));
      if (minimum.any()) {
        const u32 r = rows.row(rows.order(f)[i]);
        seen += table.count[r];
        held += table.mass[r];
      }
      if (!rows.is_boundary(f, i + 1)) continue;
      const i64 cost = rows.counts.weight - prefix - suffix[i + 1];
      best.cost_all = std::min(best.cost_all, cost);
      if (cost < best.cost && (!minimum.any() || (minimum.met(seen, held) &&
                                                  minimum.met(rows.counts.count - seen, rows.counts.mass - held)))) {
        best.cost = cost;
        best.feature = f;
        best.position = i + 1;
      }
    }
  }
  if (!table.levels.empty()) offer_level_stumps(table, rows, best);
  return best;
}

PlanPtr plan_of(const Stump& stump, const Rows& rows) {
  if (stump.levels != 0) return level_plan(stump.feature, stump.levels, leaf_plan(), leaf_plan());
  return split_plan(stump.feature, rows.key(stump.feature)[stump.position - 1], leaf_plan(), leaf_plan());
}

}  // namespace proofwood::trees
