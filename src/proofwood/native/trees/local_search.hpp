// Iterated local search for a better tree (docs/theory/optimal-trees.md, "First trees"): a split with three levels or
// more below it, itself included, gives way to another one, what is below is built anew, and the whole is polished.
#pragma once

#include <unordered_set>
#include <utility>
#include <vector>

#include "trees/first_trees.hpp"
#include "trees/polish.hpp"

namespace proofwood::trees {

// A split at the root of a set of rows, and the cost of the best tree found below it.
struct Root {
  u32 feature, position;
  i64 cost;
};

// The cheapest roots of trees of depth two that were evaluated when these rows were solved last; at most two of a
// feature.
std::vector<Root> depth_two_front(Solver& solver, const Rows& rows, std::size_t most);
constexpr std::size_t kFront = 14;

class LocalSearch {
 public:
  LocalSearch(Solver& solver, Rows& all, int depth, Polish& polish)
      : solver_(solver), shared_(solver.shared), all_(all), depth_(depth), polish_(polish), first_trees_(solver) {}

  // One try; `best` becomes the tree that it leads to where that is cheaper. False if there is nothing to try. With
  // `deep`, a subtree of three levels may be solved exactly if it holds no more than this many rows.
  bool step(Draft& best, u32 deep);

 private:
  struct Place {
    int node, left;  // levels of splits that may stand here
    std::vector<std::pair<int, bool>> path;
  };
  void collect(const Draft& draft, const Place& place, std::vector<Place>& places) const;
  Rows* rows_at(const Draft& draft, const Place& place);
  bool choose(Rows& rows, const Draft::Node& old, u32& feature, u32& position);
  PlanPtr rebuild(Rows& rows, const Draft::Node& old, int left);
  PlanPtr solve(Rows& rows);
  u64 random(u64 below);

  Solver& solver_;
  Shared& shared_;
  Rows& all_;
  const int depth_;
  Polish& polish_;
  FirstTrees first_trees_;
  std::unordered_set<u64> solved_;  // row sets of which the best tree of three levels was tried
  u64 drawn_ = 0;
};

}  // namespace proofwood::trees
