// All trees up to a depth of three that cost no more than a budget (docs/theory/near-optimal-trees.md).
//
// The search is that of the best tree, with the budget in place of the incumbent: a split of the root is done with once
// its bound is above the budget. A split that is left gets the trees of both sides per cost; a set of trees is never
// written out, and its trees are numbered in the order of cost.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "trees/near/near_trees.hpp"
#include "trees/near/stump_finder.hpp"
#include "trees/solver.hpp"

namespace proofwood::trees::near {

// Finds the trees of depth two of a set of rows.
class EdgeSearch {
 public:
  EdgeSearch(Solver& solver, const ColumnViews& views);
  ~EdgeSearch();
  // Those that cost at most `budget`; none costs less than `least`. `known`: of the splits of these rows; it gets what
  // was found. False if stopped.
  bool find(Rows& rows, i64 least, i64 budget, EdgeTrees& trees, KnownSplitsPtr& known);
  // The same of depth one.
  bool find_stumps(Rows& rows, i64 budget, EdgeTrees& trees);

  struct Split {
    u32 feature, position;
    std::array<i64, 2> leaf, stump, best;  // costs of the sides: of a leaf, of the best two leaves, of the cheaper tree
  };
  StumpFinder& finder() { return finder_; }
  // The stumps of an edge that were counted.
  StumpsWanted wanted(const EdgeTrees& trees, const Edge& edge) const;
  // Greatest weight that two leaves may get wrong so that a stump costs at most `budget` and is better than the leaf.
  i64 most_wrong(i64 budget, i64 leaf) const;

 private:
  class Histograms;
  void begin(Rows& rows, i64 least, i64 budget, EdgeTrees& trees);
  bool find_splits(Rows& rows, i64 budget, KnownSplitsPtr& known);  // false if stopped
  void take_split(Subproblem& subproblem, std::size_t lane, i64 budget);
  bool count_stumps(Rows& rows, i64 budget, EdgeTrees& trees);
  bool add_edge(const Rows& rows, i64 budget, std::size_t split, std::size_t lane, EdgeTrees& trees);
  void add_parts(i64 budget, const Split& split, std::size_t side, std::size_t lane, EdgeTrees& trees, Edge& edge);

  Solver& solver_;
  const ColumnViews& views_;
  const Prices& prices_;
  StumpFinder finder_;
  RepeatedTests repeated_;
  std::vector<Split> splits_;
  std::vector<StumpsWanted> wanted_;
  Adder adder_;
  std::unique_ptr<Histograms> histograms_;
};

struct NearSettings {
  Settings search;
  i64 budget = 0;        // what a tree may cost
  std::size_t kept = 0;  // bytes of edges that are kept
};

class NearSearch {
 public:
  NearSearch(Table table, const GivenViews& views, const NearSettings& settings, std::atomic<int>& stop);
  void run();  // until done or stopped

  // After run().
  bool done() const { return done_; }
  const Tally& tally() const { return tally_; }
  i64 constant_cost() const { return settings_.search.prices.error * table_.constant; }
  const Table& table() const { return table_; }
  const ColumnViews& views() const { return views_; }
  const Prices& prices() const { return settings_.search.prices; }
  const Minimum& minimum() const { return settings_.search.minimum; }
  int depth() const { return settings_.search.max_depth; }
  i64 budget() const { return settings_.budget; }
  Rows& rows() { return rows_; }
  i64 leaf() const { return leaf_; }  // what the tree that is a leaf costs, if it is one of them
  const EdgeTrees& shallow() const { return shallow_; }
  const std::vector<RootCut>& cuts() const { return cuts_; }
  Solver& solver() { return solver_; }
  EdgeSearch& edges() { return edges_; }
  std::size_t cuts_evaluated() const { return evaluated_; }
  std::size_t edges_found() const { return edges_found_; }

 private:
  bool run_deep();  // false if stopped, as the next two
  bool take_cut(Evaluated& evaluated);
  bool add_up(RootCut& cut);

  Table table_;
  ColumnViews views_;
  NearSettings settings_;
  Rows rows_;
  Shared shared_;
  Solver solver_;
  EdgeSearch edges_;
  i64 leaf_ = kInfinite;
  EdgeTrees shallow_;  // of a depth of one or two: all
  std::vector<RootCut> cuts_;
  Adder adder_;
  Tally tally_;
  std::size_t kept_ = 0, evaluated_ = 0, edges_found_ = 0;
  bool done_ = false;
};

}  // namespace proofwood::trees::near
