// Best split of one column by a set of levels above two leaves (docs/theory/optimal-trees.md, "Sets of levels").
#include "trees/level_stump.hpp"

namespace proofwood::trees {

LevelStump best_level_stump(const std::vector<i64>& weights, u32 n_levels, u32 n_classes) {
  LevelStump best;
  const auto weight = [&](u32 level, u32 label) { return weights[std::size_t{level} * n_classes + label]; };
  for (u32 a = 0; a < n_classes; ++a) {
    for (u32 b = a + 1; b < n_classes; ++b) {
      i64 right = 0;
      LevelSet low = 0;
      for (u32 level = 0; level < n_levels; ++level) {
        const i64 as_a = weight(level, a), as_b = weight(level, b);
        right += as_a > as_b ? as_a : as_b;
        if (as_a > as_b) low |= only(level);
      }
      if (right > best.right) best = {right, low};
    }
  }
  return best;
}

}  // namespace proofwood::trees
