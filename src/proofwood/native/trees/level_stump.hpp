// Best split of one column by a set of levels above two leaves (docs/theory/optimal-trees.md, "Sets of levels").
#pragma once

#include <vector>

#include "trees/level_column.hpp"

namespace proofwood::trees {

struct LevelStump {
  i64 right = -1;       // weight classified right
  LevelSet levels = 0;  // that go low
};

// `weights`: (n_levels, n_classes) of a set of rows. With the labels of both leaves fixed, each level goes to the one
// that it favours; ties go high. The least pair of labels of all best ones.
LevelStump best_level_stump(const std::vector<i64>& weights, u32 n_levels, u32 n_classes);

}  // namespace proofwood::trees
