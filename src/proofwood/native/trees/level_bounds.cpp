// A bound of sets of levels above two stumps, of many columns at once: the levels alone are the lanes of the stump
// kernels (docs/theory/optimal-trees.md, "Sets of levels above two stumps").
//
//   lane     0  1  2  3  4        the levels a, b, c of one column, then d, e of another one
//   row 0    1  0  0  0  1        its level is a in the one, e in the other: it goes low in these lanes
#include <algorithm>
#include <array>
#include <vector>

#include "trees/depth_two.hpp"

namespace proofwood::trees {

template <>
bool DepthTwoOf<i64>::bound_level_roots(Rows& rows, const std::vector<u32>& columns, std::vector<i64>& bounds) {
  if (!begun_) costs->begin(rows);
  begun_ = true;
  struct Level {
    u32 column, level;
    i64 weight;
  };
  std::vector<Level> all;
  for (const u32 c : columns)
    for (const u32 level : groups.levels(c)) all.push_back({c, level, 0});
  std::vector<i64> wrong(table.levels.size(), 0);
  u32* const mask = static_cast<u32*>(mask_buffer.resize(rows.n * sizeof(u32)));
  for (std::size_t first = 0; first < all.size();) {
    const std::size_t last = std::min(all.size(), first + static_cast<std::size_t>(kernels->lanes));
    std::fill(mask, mask + rows.n, 0u);
    for (std::size_t l = first, end = first; l < last; l = end) {  // column by column
      const LevelColumn& column = table.levels[all[l].column];
      std::array<u32, kMostLevels> bit{};
      std::array<i64, kMostLevels> weight{};
      for (; end < last && all[end].column == all[l].column; ++end)
        bit[all[end].level] = 1u << kernels->lane_bit(static_cast<int>(end - first));
      for (u32 local = 0; local < rows.n; ++local) {
        const u32 r = rows.row(local), level = column.code[r];
        mask[local] |= bit[level];
        weight[level] += table.weight[r];
      }
      for (std::size_t at = l; at < end; ++at) all[at].weight = weight[all[at].level];
    }
    ++counters_[kBatches];
    if (!walk(rows, mask, last - first)) return false;
    for (std::size_t l = first; l < last; ++l) {
      const i64 value = std::max(found[l - first].leaf[0], found[l - first].stump_all[0]);
      wrong[all[l].column] += all[l].weight - (two ? (all[l].weight + value) / 2 : value);
    }
    first = last;
  }
  const Prices& prices = frame_.settings.prices;
  for (const u32 c : columns) bounds[c] = std::max(bounds[c], prices.leaf + prices.error * wrong[c]);
  return true;
}

}  // namespace proofwood::trees
