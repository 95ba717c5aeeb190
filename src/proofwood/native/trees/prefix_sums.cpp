// Sums over the first rows in the order of a feature (docs/theory/optimal-trees.md, "Positions").
#include "trees/prefix_sums.hpp"

#include "trees/rows.hpp"

namespace proofwood::trees {

void PrefixSums::forget(u32 n_features) {
  have_weights_.assign(n_features, 0);
  have_weight_ = false;
  have_held_.assign(n_features, 0);
}

const i64* PrefixSums::weights(const Table& table, const Rows& rows, u32 feature) {
  const u32 n = rows.n;
  if (!have_weights_[feature]) {
    i64* const weight = weight_.resize(n);
    if (!have_weight_)
      for (u32 local = 0; local < n; ++local) weight[local] = table.weight[rows.row(local)];
    have_weight_ = true;
    i64* const sums = weights_.resize(std::size_t{n + 1} * rows.n_features) + std::size_t{feature} * (n + 1);
    const u32* const by = rows.order(feature);
    sums[0] = 0;
    for (u32 i = 0; i < n; ++i) sums[i + 1] = sums[i] + weight[by[i]];
    have_weights_[feature] = 1;
  }
  return weights_.data() + std::size_t{feature} * (n + 1);
}

std::pair<u32, i64> PrefixSums::held(const Table& table, const Rows& rows, u32 feature, u32 position) {
  const u32 n = rows.n;
  const std::size_t start = std::size_t{feature} * (n + 1);
  if (!have_held_[feature]) {
    u32* const counts = counts_.resize(std::size_t{n + 1} * rows.n_features) + start;
    i64* const masses = masses_.resize(std::size_t{n + 1} * rows.n_features) + start;
    const u32* const by = rows.order(feature);
    counts[0] = 0;
    masses[0] = 0;
    for (u32 i = 0; i < n; ++i) {
      const u32 row = rows.row(by[i]);
      counts[i + 1] = counts[i] + table.count[row];
      masses[i + 1] = masses[i] + table.mass[row];
    }
    have_held_[feature] = 1;
  }
  return {counts_[start + position], masses_[start + position]};
}

}  // namespace proofwood::trees
