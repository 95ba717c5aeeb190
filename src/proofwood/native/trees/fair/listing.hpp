// Every labelled tree that may be the best one under conditions on sums over the rows of its leaves of class one
// (docs/theory/optimal-trees.md, "Rates of groups").
//
// At prices of these sums, a tree of use costs less than a limit that falls with the best one found. Trees of a set of
// rows are listed by that cost; of those with equal sums one is enough.
#pragma once

#include <memory>
#include <vector>

#include "common/wide.hpp"
#include "trees/split_lists.hpp"
#include "trees/write_out.hpp"

namespace proofwood::trees::fair {

// Sums that a tree has: over the rows of its leaves of class one, and for each leaf beyond the first.
struct Forms {
  std::vector<std::vector<i64>> amounts;  // per form, per row of the caller
  std::vector<i64> base, per_leaf;
  // The first `n_goals` are to be small, the greatest of them first of all; each other one must be at most `most`.
  std::size_t n_goals = 1;
  std::vector<i64> most;
};

// Which cost, at prices, a tree must be below to be better than one whose greatest goal is `best`:
// (best * factor + offset) / 2^shift, rounded up.
struct Limit {
  i64 factor = 1;
  i128 offset = 0;
  int shift = 0;
  i64 below(i64 best) const;
};

struct Labelled;
using LabelledPtr = std::shared_ptr<const Labelled>;
struct Labelled {
  bool one = false;
  u32 feature = 0, rank = 0;  // of a split: ranks up to `rank` go low
  LabelledPtr low, high;      // null at a leaf
};

struct LabelledNode {
  TreeNode node;
  bool one;
};

class Listing {
 public:
  // `best`: greatest goal of a tree that is known; only better ones are looked for. `least`: of any tree, at least.
  Listing(Table table, const Settings& settings, Forms forms, Limit limit, i64 best, i64 least, std::size_t most_kept,
          std::atomic<int>& stop, TreeRun::Clock::time_point started);
  void run();
  bool complete() const { return best_ <= least_ || (!gave_up_ && !lists_stopped()); }
  i64 best() const { return best_; }
  i64 n_trees() const { return n_trees_; }
  std::vector<LabelledNode> tree() const;

 private:
  struct Option {
    i64 cost;
    std::vector<i64> sums;
    LabelledPtr tree;
  };
  using Options = std::vector<Option>;
  struct Sides {
    Rows low, high;
  };

  bool lists_stopped() const { return lists_.stop().load(std::memory_order_relaxed) != 0; }
  bool over() const { return gave_up_ || best_ <= least_ || lists_stopped(); }
  i64 leaf_cost(const Rows& rows, bool one) const {
    return settings_.prices.error * rows.counts.class_weight[one ? 0 : 1];
  }
  Options options(Rows& rows, int depth, i64 below);
  void add_leaves(const Rows& rows, i64 below, Options& found) const;
  void add_stumps(Rows& rows, i64 below, Options& found);
  void keep_distinct(Options& options);
  void join(const Options& low, const Options& high, u32 feature, u32 rank, i64 below, Options* found);
  void meet(const Option& low, const Option& high, u32 feature, u32 rank);
  void meet(const std::vector<i64>& sums, const LabelledPtr& tree);

  Table table_;
  Settings settings_;
  Forms forms_;
  Limit limit_;
  i64 best_, least_;
  std::size_t most_kept_, kept_ = 0;
  Rows root_;
  SplitLists lists_;
  std::vector<std::unique_ptr<Sides>> sides_;
  Buffer<u32> scratch_;
  LabelledPtr answer_;
  bool gave_up_ = false;
  i64 n_trees_ = 0;
};

}  // namespace proofwood::trees::fair
