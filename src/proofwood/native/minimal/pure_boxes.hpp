// Heaviest pure boxes: what prices the columns of the box cover (docs/theory/minimal-trees.md, "A cover by boxes").
//
// A leaf of a right tree is a box of ranks in which one class is right on every group. With weights y >= 0 of the
// groups such that no pure box weighs more than 1, a tree that is right on a set S of groups has at least y(S) leaves.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "common/integers.hpp"

namespace proofwood::minimal {

class PureBoxes {
 public:
  using Weights = std::vector<i64>;
  struct Found {
    i64 weight = 0;                       // of the heaviest box, at least of all that are heavier than asked for
    bool complete = true;                 // whether that holds: the search was not stopped
    std::vector<std::vector<int>> boxes;  // heavier than asked for: one for each anchor and class, at most
  };

  // (n, n_columns) ranks, and (n, n_classes) costs of the labels; a class is right on a group at cost 0.
  PureBoxes(const int* ranks, const i64* cost, int n, int n_columns, int n_classes);
  PureBoxes(const PureBoxes&) = delete;
  PureBoxes& operator=(const PureBoxes&) = delete;

  std::size_t size() const { return n_; }
  // Calls f with each group of each class, and the groups that share a pure box of the class with it.
  void each_shared(const std::function<bool()>& stopped, const std::function<void(int, const std::vector<u64>&)>& f);
  // Boxes heavier than `above`, each the heaviest among those whose first group, by number, is its anchor.
  Found heaviest(const Weights& weights, i64 above, const std::function<bool()>& stopped);
  // Some of them: boxes grown from each group by what is heavy and near. `seed` varies them.
  Found grown(const Weights& weights, i64 above, unsigned seed, const std::function<bool()>& stopped);

 private:
  struct Level {
    std::vector<int> least, greatest;  // ranks of the box, per column
    std::vector<int> candidates, order, left;
    std::vector<i64> bounds;  // of what those up to each place of the order can add
  };

  const u64* up_to(int column, int rank) const { return &up_to_[(first_[at(column)] + at(rank)) * words_]; }
  int rank(int group, int column) const { return ranks_[at(group) * columns_ + at(column)]; }
  void begin_class(std::size_t label);
  void share_boxes(std::size_t label, int anchor);
  void search_from(std::size_t label, int anchor, const std::vector<u64>& later);
  void search(std::size_t depth, i64 weight);
  i64 take(const Level& here, std::size_t end, i64 weight, Level& next);
  void bound(Level& here);
  std::vector<int> grow(std::size_t label, int anchor, const std::vector<double>& pull);
  std::vector<int> groups_in(const std::vector<int>& least, const std::vector<int>& greatest);
  bool holds(const std::vector<int>& least, const std::vector<int>& greatest, const std::vector<u64>& groups);
  Level& level(std::size_t depth);
  bool is_over() {
    if (!over_ && ++looks_ % 256 == 0) over_ = (*stopped_)();
    return over_;
  }
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  std::size_t n_, columns_, classes_, words_;
  std::vector<int> ranks_;
  std::vector<std::size_t> first_;                   // per column: its first rank in up_to_
  std::vector<u64> up_to_;                           // groups up to each rank of each column
  std::vector<std::vector<u64>> right_;              // per class
  std::vector<std::vector<std::vector<u64>>> near_;  // per class and anchor: groups in a pure box with it; empty: open
  // of the search at hand
  const Weights* weights_ = nullptr;
  const std::function<bool()>* stopped_ = nullptr;
  bool over_ = false, found_ = false;
  std::vector<u64> wrong_;       // groups on which the class is not right
  std::vector<int> candidates_;  // groups that may be in a box with the anchor
  std::vector<u8> fits_;         // of each two of them: whether a pure box holds both and the anchor
  i64 best_ = 0;
  std::vector<int> best_least_, best_greatest_;
  std::vector<std::unique_ptr<Level>> levels_;
  std::size_t looks_ = 0;
  std::vector<u64> between_;
  std::vector<int> lower_, upper_;
};

}  // namespace proofwood::minimal
