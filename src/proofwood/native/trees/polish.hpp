// Makes a tree better, one node at a time (docs/theory/optimal-trees.md, "First trees").
//
//            x3 <= 7              sides   the best split of a node while both trees below it stay as they are
//           /       \             ends    the two levels at the bottom, solved exactly
//      x1 <= 2     x0 <= 4
#pragma once

#include <unordered_map>
#include <vector>

#include "trees/draft.hpp"
#include "trees/row_walk.hpp"
#include "trees/solver.hpp"

namespace proofwood::trees {

// Memory and methods of one thread.
class Polish {
 public:
  // Trees of up to `depth` levels on all rows. The levels of `solver` from 2 to `depth` are used.
  Polish(Solver& solver, Rows& all, int depth);

  // The best score of each feature at the root, by least Gini impurity.
  void score(std::vector<double>& by_feature);
  // A tree that is grown as CART grows it: by that score, and by fewest errors above the leaves. Each level is offered
  // to the incumbent. Fills the scores at the root.
  Draft grow(std::vector<double>& by_feature);

  // These keep a permitted tree in `draft`, count its cost from the rows and offer it where it became cheaper. Where
  // stopped, they return early.
  bool take(Draft& draft);    // finds the stumps that are wanted; false if the tree is not permitted
  void polish(Draft& draft);  // sides and ends, until stable
  bool ends(Draft& draft);    // whether it became cheaper

  // Rows walked over, once per feature; a row that is sent down a tree counts as kPerRow.
  u64 visits() const { return walk_.visits + kPerRow * rows_; }

 private:
  struct Totals {
    std::vector<i64> weight;    // per node and class
    std::vector<RowSums> sums;  // per node, of a task by sums
    std::vector<i64> mass;      // per node, as all that follow
    std::vector<u32> count, rows;
    std::vector<u64> hash;
  };
  struct Known {  // of the best tree of depth two
    i64 upper, lower;
    PlanPtr plan;
  };
  struct Kept {
    i64 cost;
    bool permitted;
  };
  struct Place {
    int node, left;  // levels of splits that may stand here
  };
  bool sides(Draft& draft, int level);         // whether it became cheaper
  void route(const Draft& draft, int splits);  // into `at_`, after so many splits
  void count(const Draft& draft);              // leaves `at_` at the leaves
  void count_at_leaves(const Draft& draft);
  bool grow_level(Draft& draft, std::vector<int>& open, std::vector<double>* by_feature);
  bool settle(Draft& draft);  // labels, leaves instead of useless splits, cost; false if the tree is not permitted
  i64 cost_below(const Draft& draft, int node) const;  // of the draft that was counted last
  bool stopped() const { return shared_.stopped(); }
  Kept keep(const Draft& from, Place place, Draft& to, int at) const;
  bool adopt(Draft& draft, Draft& changed);
  void offer(const Draft& draft) { shared_.run.offer(draft.cost, draft.plan()); }
  bool choose_stumps(Draft& draft, const std::vector<int>& nodes);
  void choose_sides(const Draft& draft, const std::vector<int>& nodes, std::vector<i64>& all_low);
  std::vector<std::vector<double>> predictions(const Draft& draft);
  bool apply_side(Draft& draft, int node, const RowWalk::Choice& choice, i64 all_low) const;
  void solve_ends(Rows& rows, Draft& draft, Place place);
  bool wants_solution(const Draft& draft, Place place) const;
  bool is_end(const Draft& draft, Place place) const { return place.left == 2 || draft.at(place.node).is_leaf(); }
  std::size_t index(int node) const { return static_cast<std::size_t>(node); }
  i64 leaf_cost(int node) const;

  static constexpr u64 kPerRow = 4;

  Solver& solver_;
  Shared& shared_;
  const Table& table_;
  Rows& all_;
  const int depth_;
  const std::size_t classes_;
  RowWalk walk_;
  Totals totals_;
  std::vector<int> at_;                   // per row: the node that it has come to
  std::unordered_map<u64, Known> known_;  // by hash of the rows
  u64 rows_ = 0;                          // sent down a tree
};

}  // namespace proofwood::trees
