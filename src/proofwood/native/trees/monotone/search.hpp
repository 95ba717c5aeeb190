// Trees of two classes whose class follows the direction of columns: a layer above the search without that condition
// (docs/theory/optimal-trees.md, "Monotone columns").
//
// Sides of a split on a free column are never compared: each is solved alone. Of a split on a monotone column, first
// each side is solved alone; if the two best trees do not fit together, the trees of one side are enumerated as far as
// bounds allow, and the other side is solved against the leaves of each. What the search without the condition
// (solver.hpp) finds for a set of rows bounds both.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "trees/monotone/order.hpp"
#include "trees/split_lists.hpp"
#include "trees/write_out.hpp"

namespace proofwood::trees::monotone {

struct Tree;
using TreePtr = std::shared_ptr<const Tree>;
struct Tree {
  bool one = false;          // the class of a leaf
  u32 feature = 0, cut = 0;  // of a split: ranks below `cut` go low
  TreePtr low, high;         // null at a leaf
};
using MonotoneRun = BoundedRun<TreePtr>;

// Rules that can be switched off; none changes the cost of the answer.
struct MonotoneRules {
  bool alone = true;      // solve both sides of a split alone before trees of one side are enumerated
  bool dominance = true;  // leave out trees of a side that forbid as much as a cheaper one
  bool memory = true;     // keep what is known of sets of rows that no leaf outside restricts
};

struct MonotoneNode {
  TreeNode node;
  bool one;  // the class of a leaf
};

class MonotoneSearch {
 public:
  // `known`: lower bound of all trees of the depth. `directions`: per feature of the table.
  MonotoneSearch(Table table, const Settings& settings, const MonotoneRules& rules, std::vector<int> directions,
                 i64 known, std::atomic<int>& stop, MonotoneRun::Clock::time_point started);
  void run();  // until done or stopped

  Bounds state() const { return run_.state(); }
  std::vector<MonotoneRun::Event> events_since(std::size_t first) const { return run_.events_since(first); }
  std::vector<MonotoneNode> tree() const;  // after run()
  i64 n_enumerated() const { return n_enumerated_; }
  i64 n_solved() const { return n_solved_; }

 private:
  struct Answer {
    i64 cost = kInfinite;
    TreePtr tree;  // null: no tree is cheaper than was asked for
  };
  struct Known {  // of a set of rows and a depth
    i64 lower = 0;
    Answer best;
  };
  struct Sides {
    Rows low, high;
  };
  // What is looked for: trees of a set of rows, in a box, among leaves that are fixed.
  struct Place {
    Rows& rows;
    const Box& box;
    int depth;
  };
  // Both sides of a split on a monotone column, and bounds of what they cost.
  struct Pair {
    const Place &lower, &upper;
    i64 lower_bound, upper_bound;
    u32 feature, cut;
    bool lower_is_low;
    TreePtr joined(TreePtr of_lower, TreePtr of_upper) const {
      if (!lower_is_low) std::swap(of_lower, of_upper);
      return std::make_shared<Tree>(Tree{false, feature, cut, std::move(of_lower), std::move(of_upper)});
    }
  };
  // A side whose trees are enumerated.
  struct Enumeration {
    bool lower;                // it is the lower one of its split: its leaves of class one restrict the other
    const i64& below;          // trees of this cost or more, with the rest, are of no use; falls on the way
    std::vector<Leaf>& fixed;  // with the leaves of the tree that is being built
  };
  using Next = std::function<void(i64 cost, const TreePtr& tree)>;
  void search_depth(int depth);
  i64 bound(Rows& rows, int depth, i64 below) { return lists_.bound(rows, depth, below); }
  i64 leaf_cost(const Rows& rows, bool one) const {
    return settings_.prices.error * rows.counts.class_weight[one ? 0 : 1];
  }
  void weigh_classes(const Rows& rows, u32 feature);

  Answer best(const Place& place, i64 below, const std::vector<Leaf>& outside);
  Answer best_among(const Place& place, i64 below, const std::vector<Leaf>& near);
  Answer best_stump(const Place& place, Answer best, const std::vector<Leaf>& near);
  void try_split(const Place& place, const Split& split, const std::vector<Leaf>& near, Answer& best);
  void try_free(const Place& low, const Place& high, const Split& split, u32 cut, const std::vector<Leaf>& near,
                Answer& best);
  void try_ordered(const Place& low, const Place& high, const Split& split, u32 cut, const std::vector<Leaf>& near,
                   Answer& best);
  void try_one_class(const Pair& pair, const std::vector<Leaf>& near, Answer& best);
  void enumerate(const Pair& pair, const std::vector<Leaf>& near, Answer& best);
  void each(const Place& place, i64 spent, i64 rest, Enumeration& in, const Next& next);
  void each_stump(const Place& place, i64 spent, i64 rest, Enumeration& in, const Next& next);
  void each_split(const Place& place, const Split& split, i64 spent, i64 rest, Enumeration& in, const Next& next);

  // The cuts between two ranks at which the leaves that are known can tell a difference.
  std::vector<u32> cuts(u32 feature, u32 first, u32 last, const std::vector<Leaf>& leaves) const;
  Sides& sides() {
    while (sides_.size() <= level_) sides_.push_back(std::make_unique<Sides>());
    return *sides_[level_];
  }
  bool stopped() const { return run_.stopped(); }

  Table table_;
  Settings settings_;
  MonotoneRules rules_;
  Order order_;
  Rows root_;
  SplitLists lists_;
  MonotoneRun run_;
  i64 known_;
  std::vector<std::unique_ptr<Sides>> sides_;
  std::size_t level_ = 0;
  Buffer<u32> scratch_;
  std::vector<i64> before_[2];  // weight of each class before a position in the order of a feature
  std::unordered_map<SplitLists::Key, Known, SplitLists::KeyHash> memory_;
  i64 n_enumerated_ = 0, n_solved_ = 0;
};

}  // namespace proofwood::trees::monotone
