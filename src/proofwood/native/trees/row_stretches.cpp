// Parts a set of rows by stretches of the order of one feature (docs/theory/optimal-trees.md, "Blocks").
#include <vector>

#include "trees/rows.hpp"

namespace proofwood::trees {

// Local rows are numbered anew in each part, in their old order; rows of no stretch are left out.
bool Rows::take(const Table& table, u32 feature, const std::vector<Stretch>& stretches, Buffer<u32>& scratch,
                const std::atomic<int>& stop) const {
  const auto n_parts = static_cast<u32>(stretches.size());
  u32* const part = scratch.resize(2 * std::size_t{n});
  u32* const number = part + n;
  std::fill(part, part + n, n_parts);
  for (u32 s = 0; s < n_parts; ++s) {
    const Stretch& stretch = stretches[s];
    for (u32 i = stretch.first; i < stretch.last; ++i) part[order(feature)[i]] = s;
    Rows& to = *stretch.rows;
    to.n = stretch.last - stretch.first;
    to.n_features = n_features;
    to.kernels_ = kernels_;
    to.forget();
    to.row_.resize(to.n);
    to.order_.resize(std::size_t{to.n} * n_features);
    to.key_.resize(std::size_t{to.n} * n_features);
  }
  std::vector<u32> next(n_parts + 1, 0);
  for (u32 local = 0; local < n; ++local) {
    if (part[local] == n_parts) continue;
    number[local] = next[part[local]]++;
    stretches[part[local]].rows->row_[number[local]] = row_[local];
  }
  for (const Stretch& stretch : stretches) stretch.rows->count(table);
  std::vector<u32*> order_to(n_parts), key_to(n_parts);
  for (u32 f = 0; f < n_features; ++f) {
    if (stop.load(std::memory_order_relaxed)) return false;
    for (u32 s = 0; s < n_parts; ++s) {
      Rows& to = *stretches[s].rows;
      order_to[s] = to.order_.data() + std::size_t{f} * to.n;
      key_to[s] = to.key_.data() + std::size_t{f} * to.n;
    }
    const u32* const from = order(f);
    const u32* const keys = key(f);
    for (u32 i = 0; i < n; ++i) {
      const u32 local = from[i], s = part[local];
      if (s == n_parts) continue;
      *order_to[s]++ = number[local];
      *key_to[s]++ = keys[i];
    }
  }
  return true;
}

}  // namespace proofwood::trees
