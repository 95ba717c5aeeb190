// Parts of the rows as the nodes of a diagram see them: sorted along every column, with the least errors of a leaf and
// of a split on either side of every cut.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "common/integers.hpp"
#include "common/mix.hpp"
#include "diagram/diagram.hpp"

namespace proofwood::diagram::layers {

// Name of a set of rows: the XOR of the names of its rows.
struct Key {
  u64 a = 0, b = 0;
  bool operator==(const Key& other) const { return a == other.a && b == other.b; }
  Key operator^(const Key& other) const { return {a ^ other.a, b ^ other.b}; }
};

// Groups of equal rows with the weight of every class.
struct Groups {
  u32 n = 0, columns = 0, classes = 0;
  std::vector<u32> ranks;    // (columns, n)
  std::vector<u32> cuts;     // (columns) highest rank
  std::vector<u32> given;    // (columns) number in the table; those without a cut are left out
  std::vector<i32> weights;  // (n, classes)
  std::vector<i32> weight;   // (n)
  std::vector<i32> least;    // (n) weight of all classes but the heaviest
  std::vector<Key> keys;     // (n)

  explicit Groups(const Table& table);
  const u32* column(u32 c) const { return ranks.data() + std::size_t{c} * n; }
  const i32* of(u32 row) const { return weights.data() + std::size_t{row} * classes; }
};

constexpr i32 kNarrow = 32'000;     // weight up to which lanes of 16 bits do
constexpr std::size_t kLanes = 32;  // that are counted at once

struct Part {
  const u32* rows = nullptr;
  u32 n = 0;
  Key key;
};

// Rows of rank at most `rank` go low. Cuts that part the rows alike are one.
struct Cut {
  u32 column, rank;
  u32 position;             // rows on the low side, along the column
  Key low;                  // of those
  i32 weight_low;           // of those
  i32 leaf_low, leaf_high;  // least errors of one class for each side
};

struct Sorted {
  u32 n = 0;
  std::vector<u32> order;  // (columns, n) rows by rank
  std::vector<u32> first;  // (columns + 1) of the cuts of a column
  std::vector<Cut> cuts;

  Part low(const Cut& cut) const { return {order.data() + std::size_t{cut.column} * n, cut.position, cut.low}; }
  Part high(const Cut& cut, Key all) const {
    return {order.data() + std::size_t{cut.column} * n + cut.position, n - cut.position, all ^ cut.low};
  }
};

// Raised where `stop` is set.
struct Stopped {};

class Counter {
 public:
  Counter(const Groups& groups, const std::atomic<int>& stop) : g_(groups), stop_(stop), sums_(groups.classes) {}

  const Groups& groups() const { return g_; }
  void look() const {
    if (stop_.load(std::memory_order_relaxed) != 0) throw Stopped{};
  }
  i32 weight(const Part& part) const;
  i32 least(const Part& part) const;  // errors that no split can avoid
  i32 leaf(const Part& part);         // least errors of one class
  i32 split(const Part& part);        // of one cut and two classes, or of one class
  void sort(const Part& part, Sorted& out);
  // Goes through the cuts of `sorted`, columns with a good cut first. `needs` is given a cut and lower bounds of the
  // errors with a split on its low and on its high side; `visit` a cut that is needed, and these errors. `split`:
  // errors with a split of all rows.
  template <class Needs, class Visit>
  void two_levels(const Sorted& sorted, i32 split, const Needs& needs, const Visit& visit);

 private:
  template <class W>
  struct Lanes {
    std::vector<W> low_of;       // (rows, cuts) 1 where the row is on the low side
    std::vector<W> total, side;  // (classes, cuts) weight on the low side of a cut: of all rows, of some
    std::vector<W> here, there;  // (classes) weight of those rows, and of the others
  };
  struct Pair {
    i32 here, there;
  };
  void order_along(u32 column, const Part& part, u32* order);
  void list_cuts(u32 column, const Part& part, const u32* order, Sorted& out);
  bool is_new(Key side);
  template <class W, class Needs, class Visit>
  void count(const Sorted& sorted, i32 split, const Needs& needs, const Visit& visit, Lanes<W>& lanes);
  void sort_columns(const Sorted& sorted);
  template <class W>
  void fill(const Sorted& sorted, std::size_t step, Lanes<W>& lanes);
  template <class W>
  void add_row(u32 row, std::size_t step, Lanes<W>& lanes);
  template <class W>
  Pair best_right(std::size_t step, const Lanes<W>& lanes) const;

  const Groups& g_;
  const std::atomic<int>& stop_;
  std::vector<i32> sums_, all_, of_rank_;
  std::vector<u32> bucket_, place_, order_, columns_;
  std::vector<i32> best_cut_;
  std::vector<std::pair<u32, u32>> ranked_;
  std::vector<Key> seen_;  // open addressing; {0, 0} is empty
  std::size_t n_seen_ = 0;
  Lanes<i16> narrow_;
  Lanes<i32> wide_;
};

template <class Needs, class Visit>
void Counter::two_levels(const Sorted& sorted, i32 split, const Needs& needs, const Visit& visit) {
  if (sorted.cuts.empty()) return;
  leaf({sorted.order.data(), sorted.n, {}});
  all_ = sums_;
  sort_columns(sorted);
  if (std::accumulate(all_.begin(), all_.end(), 0) <= kNarrow)
    count(sorted, split, needs, visit, narrow_);
  else
    count(sorted, split, needs, visit, wide_);
}

// Rows are added to the low side of a column up to the next cut that is needed. Errors only grow with the rows, and by
// no more than their weight.
template <class W, class Needs, class Visit>
void Counter::count(const Sorted& sorted, i32 split, const Needs& needs, const Visit& visit, Lanes<W>& lanes) {
  const std::size_t step = (sorted.cuts.size() + kLanes - 1) / kLanes * kLanes;
  const i32 weight = std::accumulate(all_.begin(), all_.end(), 0);
  bool filled = false;
  for (const u32 c : columns_) {
    look();
    const u32 first = sorted.first[c], end = sorted.first[c + 1];
    const u32* const order = sorted.order.data() + std::size_t{c} * sorted.n;
    // of a single cut, the side with fewer rows
    const bool turned = end - first == 1 && 2 * sorted.cuts[first].position > sorted.n;
    u32 added = sorted.n;                  // nothing yet
    i32 low = 0, high = split, below = 0;  // of the last cut that was counted
    for (u32 q = first; q < end; ++q) {
      const Cut& cut = sorted.cuts[q];
      const i32 least_low = std::max(low, split - (weight - cut.weight_low));
      const i32 least_high = std::max(0, high - (cut.weight_low - below));
      if (!needs(cut, least_low, least_high)) continue;
      if (!filled) fill(sorted, step, lanes);
      filled = true;
      if (added == sorted.n) {
        lanes.side.assign(g_.classes * step, 0);
        lanes.here.assign(g_.classes, 0);
        lanes.there.assign(all_.begin(), all_.end());
        added = turned ? cut.position : 0;
      }
      for (const u32 last = turned ? sorted.n : cut.position; added < last; ++added) add_row(order[added], step, lanes);
      Pair right = best_right(step, lanes);
      if (turned) std::swap(right.here, right.there);
      below = cut.weight_low;
      low = below - right.here;
      high = weight - below - right.there;
      visit(q, low, high);
    }
  }
}

}  // namespace proofwood::diagram::layers
