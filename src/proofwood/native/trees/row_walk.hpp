// One walk over all rows, feature by feature in the order of their values, finds a best split for many nodes of a tree
// at once: each row says in its record to which of them it belongs (docs/theory/optimal-trees.md, "First trees").
//
//   order of a feature   r4  r1  r7  r0  r2 ...     no rows are copied, whatever the tree: memory is a record per row
//   slot of the row       0   1   0   2   1         sums are kept per slot; the last one has the rows of no interest
#pragma once

#include <atomic>
#include <vector>

#include "trees/rows.hpp"

namespace proofwood::trees {

class RowWalk {
 public:
  struct Record {
    i64 weight;
    u32 slot, label;
  };
  struct Choice {
    i64 value = 0;     // what `stumps` or `sides` found
    double score = 0;  // what `purest` found
    bool found = false;
    u32 feature = 0, key = 0;
    LevelSet levels = 0;
  };
  struct Slot {
    std::vector<i64> class_weight;                   // of its rows, where their classes are counted
    u32 count = 0, low_leaves = 1, high_leaves = 1;  // leaves below each side, that want rows
    i64 mass = 0;
    i64 bar = kInfinite;    // `sides`: only less is of interest
    int depth = kAnyDepth;  // of trees that may stand here, for sets of levels; kAnyDepth: no sets
  };
  static constexpr int kAnyDepth = 1 << 20;

  RowWalk(const Table& table, const Rows& all, const Minimum& minimum, const std::atomic<int>& stop)
      : records(table.n_rows), table_(table), all_(all), minimum_(minimum), stop_(stop) {}

  std::vector<Record> records;  // per row
  std::vector<Slot> slots;      // what is found for the last one means nothing
  std::vector<Choice> choices;  // per slot
  u64 visits = 0;               // rows looked at, once per feature

  void count(bool by_class);  // fills what the slots hold from the records
  // Each finds a choice per slot; false if stopped.
  bool purest(std::vector<double>* by_feature);  // least Gini impurity; also the best score of each feature, all slots
  bool stumps();                                 // `value`: most weight right by two leaves
  bool sides();                                  // `value`: least sum of weights on the low side, weights of any sign

 private:
  template <bool kLimited, class Cell, class Offer, class Add>
  bool walk(std::vector<Cell>& cells, const Offer& offer, const Add& add);
  template <bool kLimited>
  bool purest_with(std::vector<double>* by_feature);
  template <bool kLimited>
  bool stumps_with();
  template <bool kLimited>
  bool sides_with();
  void offer_level_stumps();
  void offer_level_sides();
  template <bool kLimited, class Cell>
  bool permitted(const Cell& cell, const Slot& slot) const;

  const Table& table_;
  const Rows& all_;
  const Minimum& minimum_;
  const std::atomic<int>& stop_;
  std::vector<i64> low_;  // per slot and class
};

}  // namespace proofwood::trees
