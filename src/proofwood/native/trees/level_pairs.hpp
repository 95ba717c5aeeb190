// Sets of levels above two stumps (docs/theory/optimal-trees.md, "Sets of levels above two stumps").
//
// With both stumps g and h and their labels fixed, each level goes to the side that gets less of it wrong:
//
//   level          a  b  c  d
//   wrong by g     3  0  5  1      b and d go to g, a and c go to h: 2 + 0 + 4 + 1 = 7
//   wrong by h     2  9  4  6
//
// So a pair of stumps costs the sum over the levels of the lesser of both. All stumps and leaves are the ends of a
// binary hierarchy, each node of which holds, per level, the least weight that any end below it gets wrong. The same
// sum over two nodes bounds all pairs of ends below them. Nodes are made when a pair of them is opened.
#pragma once

#include <atomic>
#include <vector>

#include "trees/kernels.hpp"
#include "trees/rows.hpp"
#include "trees/settings.hpp"

namespace proofwood::trees {

struct LevelSplit {
  i64 bound = kInfinite;  // of every tree with a set of levels of this column at its root
  i64 cost = kInfinite;   // of the best one found, if it is below the limit
  LevelSet low = 0;       // its levels
  bool low_stump = false, high_stump = false;
  bool stopped = false;  // or out of steps: what was found and the bound hold
};

// What is asked of the sets of a column.
struct LevelQuestion {
  i64 limit = kInfinite;  // only splits that cost less are wanted
  bool first = false;   // wanted is the first one found of cost `limit - 1`, in an order that depends on the rows alone
  u64 steps = ~u64{0};  // pairs to look at
};

// The best split of `rows` by a set of levels of column `c` with stumps or leaves on its sides.
LevelSplit best_level_pair(const Table& table, const Rows& rows, u32 c, const Kernels& kernels, const Prices& prices,
                           const LevelQuestion& question, const std::atomic<int>& stop);

}  // namespace proofwood::trees
