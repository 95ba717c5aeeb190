// Trees that are built fast, before the search proper (docs/theory/optimal-trees.md, "The search").
#pragma once

#include "trees/solver.hpp"

namespace proofwood::trees {

class FirstTrees {
 public:
  explicit FirstTrees(Solver& solver) : solver_(solver), shared_(solver.shared) {}

  // Optimal subtrees of `exact_depth` levels under splits that are chosen one at a time, each the root of the best tree
  // of that depth.
  Solution build(Rows& rows, int depth, int exact_depth);

 private:
  bool may_be_root(const Plan& split, int depth) const;

  Solver& solver_;
  Shared& shared_;
};

}  // namespace proofwood::trees
