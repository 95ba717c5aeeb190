// Parts of the rows as the nodes of a diagram see them: sorted along every column, with the least errors of a leaf and
// of a split on either side of every cut.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "common/integers.hpp"
#include "common/mix.hpp"
#include "skeleton/layered.hpp"

namespace proofwood::skeleton::layers {

// Name of a set of rows: the XOR of the names of its rows.
struct Key {
  u64 a = 0, b = 0;
  bool operator==(const Key& other) const { return a == other.a && b == other.b; }
  Key operator^(const Key& other) const { return {a ^ other.a, b ^ other.b}; }
};

// Groups of equal rows with the weight of every class.
struct Groups {
  u32 n = 0, columns = 0, classes = 0;
  std::vector<u32> ranks;       // (columns, n)
  std::vector<u32> cuts;        // (columns) highest rank
  std::vector<u32> given;       // (columns) number in the table; those without a cut are left out
  std::vector<i32> weights;     // (n, classes)
  std::vector<i32> weight;      // (n)
  std::vector<i32> least;       // (n) weight of all classes but the heaviest
  std::vector<Key> keys;        // (n)

  explicit Groups(const Table& table);
  const u32* column(u32 c) const { return ranks.data() + std::size_t{c} * n; }
  const i32* of(u32 row) const { return weights.data() + std::size_t{row} * classes; }
};

struct Part {
  const u32* rows = nullptr;
  u32 n = 0;
  Key key;
};

// Rows of rank at most `rank` go low. Cuts that part the rows alike are one.
struct Cut {
  u32 column, rank;
  u32 position;                // rows on the low side, along the column
  Key low;                     // of those
  i32 weight_low;              // of those
  i32 leaf_low, leaf_high;     // least errors of one class for each side
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

// A cut, and the least errors of its sides with a leaf and with a split.
struct TwoLevels {
  i32 leaf_low, leaf_high, split_low, split_high;
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
  i32 least(const Part& part) const;        // errors that no split can avoid
  i32 leaf(const Part& part);               // least errors of one class
  i32 split(const Part& part);              // of one cut and two classes, or of one class
  void sort(const Part& part, Sorted& out);
  // For each of the cuts of `sorted`.
  void two_levels(const Sorted& sorted, std::vector<TwoLevels>& out);

 private:
  template <class W>
  struct Lanes {
    std::vector<W> low_of;        // (rows, cuts) 1 where the row is on the low side
    std::vector<W> total, side;   // (classes, cuts) weight on the low side of a cut: of all rows, of some
    std::vector<W> here, there;   // (classes) weight of those rows, and of the others
  };
  struct Pair {
    i32 here, there;
  };
  void order_along(u32 column, const Part& part, u32* order);
  void list_cuts(u32 column, const Part& part, const u32* order, Sorted& out);
  bool is_new(Key side);
  template <class W>
  void count(const Sorted& sorted, std::vector<TwoLevels>& out, Lanes<W>& lanes);
  template <class W>
  void fill(const Sorted& sorted, std::size_t step, Lanes<W>& lanes);
  template <class W>
  void add_row(u32 row, std::size_t step, Lanes<W>& lanes);
  template <class W>
  Pair best_right(std::size_t step, const Lanes<W>& lanes) const;

  const Groups& g_;
  const std::atomic<int>& stop_;
  std::vector<i32> sums_, all_, of_rank_;
  std::vector<u32> bucket_, place_, order_;
  std::vector<std::pair<u32, u32>> ranked_;
  std::vector<Key> seen_;   // open addressing; {0, 0} is empty
  std::size_t n_seen_ = 0;
  Lanes<i16> narrow_;
  Lanes<i32> wide_;
};

}  // namespace proofwood::skeleton::layers
