// Trees that are built fast, before the search proper (docs/theory/optimal-trees.md, "The search").
#pragma once

#include <utility>
#include <vector>

#include "trees/solver.hpp"

namespace proofwood::trees {

class FirstTrees {
 public:
  // How the splits above the optimal subtrees are chosen: by least Gini impurity, or as the root of the best tree of
  // the depth of these subtrees.
  enum class Top { kGini, kLookahead };

  explicit FirstTrees(Solver& solver) : solver_(solver), shared_(solver.shared) {}

  // Optimal subtrees of `exact_depth` levels under splits that are chosen one at a time.
  Solution build(Rows& rows, int depth, int exact_depth, Top top);
  // Ranks of the features by their best split of least Gini impurity.
  std::vector<u32> rank_features(const Rows& rows) const;

 private:
  // (feature, position) of the permitted split of least Gini impurity; position 0: none. Also the best of each feature.
  bool may_be_root(const Plan& split, int depth) const;
  std::pair<u32, u32> best_gini(const Rows& rows, std::vector<double>* by_feature) const;

  Solver& solver_;
  Shared& shared_;
};

}  // namespace proofwood::trees
