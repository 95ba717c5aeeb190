// Trees before and beside the proof: in which order they are made, and how much of the work may go into them
// (docs/theory/optimal-trees.md, "First trees").
//
//   grown tree      the first answer, as soon as the rows are sorted
//   first trees     polished; the search makes more of them after each depth
//   beam            good roots of trees of depth two, with trees below them
//   local search    as long as the proof goes on
//
// Work is counted in walks: rows looked at, once per feature, over the values of the table. So the same search makes
// the same trees, however fast the machine is.
#pragma once

#include <vector>

#include "trees/local_search.hpp"
#include "trees/polish.hpp"

namespace proofwood::trees {

class Improver {
 public:
  // Of trees of up to `depth` levels.
  Improver(Solver& solver, Rows& all, int depth);

  // The grown tree, and ranks of the features by their best split of least Gini impurity.
  std::vector<u32> start();
  // Good roots: just after the rows were solved at depth two.
  void note_front();
  void take_grown();               // polishes the grown tree
  void take(const PlanPtr& plan);  // polishes a tree of the search
  // From now on the search works on trees of this depth.
  void begin_depth(int depth);
  // So much work went into bounds by blocks: that pays for trees, too.
  void note_blocks(u64 work) { blocks_ = static_cast<i64>(work); }
  // Looks for better trees while the search has done enough for it.
  void run();

  const Draft& best() const { return best_; }
  i64 visits() const { return static_cast<i64>(polish_.visits()); }

 private:
  class Share;  // adds what is done to the work of this
  double walks(i64 visits) const;
  double search_work() const;
  double own_work() const;
  double earned() const;
  double allowed() const;
  bool step();
  bool try_root(const Root& root);
  void keep(Draft& draft);

  Solver& solver_;
  Shared& shared_;
  Rows& all_;
  const int depth_;
  Polish polish_;
  FirstTrees first_trees_;
  LocalSearch local_search_;
  Draft grown_, best_;
  std::vector<Root> roots_;
  std::size_t next_root_ = 0;
  bool ended_ = false;
  i64 own_visits_ = 0;    // of the solver, for this
  i64 blocks_ = 0;        // work of the bounds by blocks
  int search_depth_ = 2;  // that the search works on
  double before_ = 0;     // work of the search when it came to this depth
  double allowed_before_ = 0;
};

}  // namespace proofwood::trees
