// The one tree of all optimal ones that is returned (docs/theory/optimal-trees.md, "What "proved" means";
// docs/decisions/0002-canonical-tree.md).
#pragma once

#include <vector>

#include "trees/solver.hpp"

namespace proofwood::trees {

// Of least depth, then of the smallest (feature, threshold), at every node.
class CanonicalTree {
 public:
  explicit CanonicalTree(Solver& solver) : solver_(solver), shared_(solver.shared) {}

  // The tree of cost `optimum` of at most a depth; nullptr if stopped.
  PlanPtr find(Rows& rows, int most, i64 optimum);
  // The same for rows that were searched at this depth: the points and bounds of the search are used.
  PlanPtr find(Rows& rows, int depth, i64 optimum, Subproblem& searched);

  // The same for rows of which no tree of less depth costs as little, among the splits that `searched` looks at.
  PlanPtr first_split(Subproblem& searched, i64 optimum);

 private:
  int least_depth(Rows& rows, int most, i64 optimum);
  u32 first_position(Subproblem& subproblem, u32 feature, i64 optimum);
  void queue_feature(Subproblem& subproblem, u32 feature, i64 optimum);
  void note(const Point& point, i64 optimum);
  bool evaluate_batch(Subproblem& subproblem, i64 optimum);
  bool evaluate_one(Subproblem& subproblem, i64 optimum);
  PlanPtr both_sides(Rows& rows, int depth, const Plan& split);

  Solver& solver_;
  Shared& shared_;
  u32 first_ = 0;  // least position so far of the feature at hand at which a tree of cost `optimum` begins; 0: none
};

}  // namespace proofwood::trees
