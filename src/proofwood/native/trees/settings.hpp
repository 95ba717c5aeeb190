// How a tree is searched: prices, minimum of leaves, rules (docs/theory/optimal-trees.md, "When a bound is sound").
#pragma once

#include <algorithm>
#include <vector>

#include "common/integers.hpp"
#include "common/simd.hpp"

namespace proofwood::trees {

constexpr i64 kInfinite = i64{1} << 60;  // more than any cost

// All costs are integers: error * (weight of wrong rows) + leaf * (leaves - 1).
struct Prices {
  i64 error = 1, leaf = 0;
};

// What every leaf of a permitted tree holds.
struct Minimum {
  u32 rows = 1;
  i64 mass = 0;
  bool any() const { return rows > 1 || mass > 0; }
  bool met(u32 count, i64 weight) const { return count >= rows && weight >= mass; }
  bool may_split(const auto& counts) const { return counts.count >= 2 * u64{rows} && counts.mass >= 2 * mass; }
};

// Each rule can be switched off; none changes the answer. Equations are those of Brita et al. (2025).
struct Rules {
  // Neighbourhood pruning by the similarity bound, eq. 3 and 7-9: a threshold costs at least what an evaluated one
  // does, less the weight between them.
  bool similarity = true;
  bool interval_shrinking =
      true;           // eq. 10, 11: the rules look again, with the newest bound, when an interval is taken up
  bool reach = true;  // not to choose: whether it is known what a row costs at most; if not, eq. 10 and 11 do not hold
  bool sub_interval = true;    // eq. 12: both evaluated neighbours of an interval bound all of it
  bool feature_bounds = true;  // start from what the same feature cost in neighbouring subproblems
  bool stump_bounds = true;    // of tasks by sums: only stumps whose cheap bound beats the best are counted
  bool depth_two = true;       // batched depth-two routine (Algorithm 2)
  bool coarse = true;          // depth two: bounds of very many splits first, for tables of many columns
  bool cache = true;
  bool packed = true;      // tables of few tests by packed words, all pairs of tests at once
  bool pair_sums = true;   // the same for tasks by sums, for columns of few values
  bool blocks = true;      // bounds by blocks of rows, at depths of four and more
  bool affordable = true;  // no deeper than the number of splits that the limit pays for
  // Trees of any depth whose leaves have a price: searched over packed tests; a set costs what another one does, less
  // one split and a leaf for what only that one has; tests whose sides are not worth their price are left out; bounds
  // of trees of three leaves.
  bool priced = true, split_off = true, dominated = true, three_leaves = true;
  // Trees before and beside the proof: a grown one, others made better, good roots, and a search around the best one.
  bool greedy_tree = true, polish = true, beam = true, local_search = true;
};

// Splits of all rows by a column after the ranks from `first` to `last`; a column is that of the caller.
struct RootPart {
  u32 column, first, last;
};

struct Settings {
  int max_depth = 3;
  bool any_depth = false;  // trees of every depth; `max_depth` is more than what prices allow
  Prices prices;
  Minimum minimum;
  i64 gap = 0;
  i64 start_upper = kInfinite;  // cost of a tree that the caller has
  bool hand_on = false;         // bounds between neighbours at depth two, too, where walks are cheap
  bool bound_only = false;      // no trees are wanted but those cheaper than `start_upper`, at no depth
  int threads = 1;
  Rules rules;
  i64 block_work = 0;  // what bounds by blocks get at least before the search, at depth three too
  int isa = kBaseline, lane_bits = 0;
  bool canonical = true;
  // Not empty, or `part_levels`: only trees of depth `max_depth` whose root is one of these splits, or a set of levels
  // of any column, are searched, and what is proved is about them (docs/theory/optimal-trees.md, "Many machines").
  std::vector<RootPart> part;
  bool part_levels = false;
  bool by_part() const { return part_levels || !part.empty(); }
  double eta = 1e9;  // sides of depth two: how much of the distance to the interval's edges their bound allows

  int tree_depth() const { return any_depth ? std::min(max_depth, 10) : max_depth; }  // of trees beside the proof
};

}  // namespace proofwood::trees
