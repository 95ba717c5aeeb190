// One walk over all rows, feature by feature in the order of their values, finds a best split for many nodes of a tree
// at once: each row says in its record to which of them it belongs (docs/theory/optimal-trees.md, "First trees").
//
//   order of a feature   r4  r1  r7  r0  r2 ...     no rows are copied, whatever the tree: memory is a record per row
//   slot of the row       0   1   0   2   1         sums are kept per slot; the last one has the rows of no interest
#pragma once

#include <algorithm>
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
    i64 cost = 0;      // what `stumps` or `sides` found
    double score = 0;  // what `purest` found
    bool found = false;
    u32 feature = 0, key = 0;
    LevelSet levels = 0;
  };
  struct Slot {
    std::vector<i64> class_weight;                   // of its rows, where their classes are counted
    RowSums sums;                                    // the same of a task by sums
    u32 count = 0, low_leaves = 1, high_leaves = 1;  // leaves below each side, that want rows
    i64 mass = 0;
    i64 bar = kInfinite;    // `sides`: only less is of interest
    int depth = kAnyDepth;  // of trees that may stand here, for sets of levels; kAnyDepth: no sets
  };
  static constexpr int kAnyDepth = 1 << 20;

  RowWalk(const Table& table, const Rows& all, const Settings& settings, const std::atomic<int>& stop)
      : records(table.n_rows),
        table_(table),
        all_(all),
        minimum_(settings.minimum),
        price_(settings.prices.error),
        stop_(stop) {}

  std::vector<Record> records;  // per row
  std::vector<Slot> slots;      // what is found for the last one means nothing
  std::vector<Choice> choices;  // per slot
  u64 visits = 0;               // rows looked at, once per feature

  void count(bool by_class);  // fills what the slots hold from the records
  // Each finds a choice per slot; false if stopped.
  // Least Gini impurity, or what saves most; also the best score of each feature, all slots.
  bool purest(std::vector<double>* by_feature);
  bool stumps();  // `cost`: of two leaves, where it is less than that of one
  bool sides();   // `cost`: least sum of weights on the low side, weights of any sign

  i64 leaf_of(const Slot& slot) const;  // what a leaf costs, of the rows that were counted

  // What is known of the rows of one slot that were walked over. Those of a task add their own, and a `restart`.
  struct Cell {
    u32 last = kNoKey;  // key of the last row
    u32 count = 0;
    i64 mass = 0;

    void begin() {
      last = kNoKey;
      count = 0;
      mass = 0;
    }
  };
  // `offer(cell, slot, feature, permitted)`: the rows of the slot that were walked over so far may go low, if
  // `permitted()`. `add(cell, record, row)`. False if stopped.
  template <class Known, class Offer, class Add>
  bool walk(std::vector<Known>& cells, const Offer& offer, const Add& add) {
    return minimum_.any() ? walk_with<true>(cells, offer, add) : walk_with<false>(cells, offer, add);
  }
  const Table& table() const { return table_; }

 private:
  static constexpr u32 kNoKey = ~0u;

  template <bool kLimited, class Known, class Offer, class Add>
  bool walk_with(std::vector<Known>& cells, const Offer& offer, const Add& add);
  bool purest_classes(std::vector<double>* by_feature);
  bool stumps_of_classes();
  void offer_level_stumps();
  void offer_level_sides();
  template <bool kLimited>
  bool permitted(const Cell& cell, const Slot& slot) const {
    if (!kLimited) return true;
    const u64 rows = minimum_.rows;
    return cell.count >= slot.low_leaves * rows && slot.count - cell.count >= slot.high_leaves * rows &&
           cell.mass >= slot.low_leaves * minimum_.mass && slot.mass - cell.mass >= slot.high_leaves * minimum_.mass;
  }

  const Table& table_;
  const Rows& all_;
  const Minimum& minimum_;
  const i64 price_;  // of a unit of weight of a wrong row
  const std::atomic<int>& stop_;
  std::vector<i64> low_;  // per slot and class
};

// Rows of no interest have a slot too: a branch for each row would cost more than its sum.
template <bool kLimited, class Known, class Offer, class Add>
bool RowWalk::walk_with(std::vector<Known>& cells, const Offer& offer, const Add& add) {
  constexpr u32 kAhead = 24;
  const u32 n = all_.n;
  for (u32 f = 0; f < all_.n_features; ++f) {
    if (stop_.load(std::memory_order_relaxed)) return false;
    visits += n;
    for (Known& cell : cells) cell.restart();
    const u32* const order = all_.order(f);
    const u32* const keys = all_.key(f);
    for (u32 i = 0; i < n; ++i) {
      __builtin_prefetch(&records[order[std::min(i + kAhead, n - 1)]]);
      const u32 r = order[i];
      const Record& record = records[r];
      Known& cell = cells[record.slot];
      if (keys[i] != cell.last) {
        if (cell.last != kNoKey)
          offer(cell, record.slot, f, [&] { return permitted<kLimited>(cell, slots[record.slot]); });
        cell.last = keys[i];
      }
      add(cell, record, r);
      if (kLimited) {
        cell.count += table_.count[r];
        cell.mass += table_.mass[r];
      }
    }
  }
  return true;
}

}  // namespace proofwood::trees
