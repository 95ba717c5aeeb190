// A set of rows, sorted once per feature; splitting keeps the order (docs/theory/optimal-trees.md, "Positions").
//
//   local row   0   1   2   3   4     the rows of the set are numbered anew: row(0) = 3, row(1) = 7, ...
//   value      4.0 1.5 4.0 0.2 9.1
//   order       3   1   0   2   4     local rows by value
//   key         0   1   2   2   3     ranks of these values (with the class below): equal keys are equal values
//   position  0   1   2       4   5   a threshold at position p sends p rows low; 3 is none, 0 and 5 split nothing
//
// What is counted on a set is apart: `ClassCounts` and `PrefixSums`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "trees/buffer.hpp"
#include "trees/class_counts.hpp"
#include "trees/kernels.hpp"
#include "trees/prefix_sums.hpp"
#include "trees/table.hpp"

namespace proofwood::trees {

// Arrays are (n_features, n), features one after the other.
class Rows {
 public:
  u32 n = 0, n_features = 0;
  ClassCounts counts;
  RowSums sums;          // of tasks by sums
  i64 leaf = 0;          // what a leaf costs
  u64 hash[2] = {0, 0};  // of the set of rows

  void start(const Table& table, int isa);  // all rows
  // Splits after the first `position` rows in the order of `feature`. False if stopped.
  bool split(const Table& table, u32 feature, u32 position, Rows& low, Rows& high, Buffer<u32>& scratch,
             const std::atomic<int>& stop) const;
  // Splits by the levels of a column: those of `set` go low.
  bool split_levels(const Table& table, const LevelColumn& column, LevelSet set, Rows& low, Rows& high,
                    Buffer<u32>& scratch, const std::atomic<int>& stop) const;

  // The rows at the positions of each stretch, in the order of `feature`; stretches ascend and do not overlap
  // (row_stretches.cpp). False if stopped.
  struct Stretch {
    u32 first, last;  // positions, one past the last
    Rows* rows;
  };
  bool take(const Table& table, u32 feature, const std::vector<Stretch>& stretches, Buffer<u32>& scratch,
            const std::atomic<int>& stop) const;

  const u32* order(u32 feature) const { return order_.data() + std::size_t{feature} * n; }
  const u32* key(u32 feature) const { return key_.data() + std::size_t{feature} * n; }
  u32 row(u32 local) const { return row_[local]; }
  // A boundary is a position between two distinct values. Nearest one at or after, or n; at or before, or 0.
  bool is_boundary(u32 feature, u32 position) const { return key(feature)[position - 1] != key(feature)[position]; }
  u32 boundary_from(u32 feature, u32 position) const;
  u32 boundary_until(u32 feature, u32 position) const;
  u32 position_of(u32 feature, u32 key, u32 from, u32 to) const;  // number of rows with a key up to `key`

  // Weight of the first `position` rows in the order of `feature`: z(t) of the paper.
  i64 weight_before(const Table& table, u32 feature, u32 position) {
    return table.unit ? position : sums_.weights(table, *this, feature)[position];
  }
  u32 position_at_weight(const Table& table, u32 feature, u32 from,
                         i64 weight);  // first position > from of at least this
  // Unweighted rows and mass of the first `position` rows.
  std::pair<u32, i64> held_before(const Table& table, u32 feature, u32 position) {
    return sums_.held(table, *this, feature, position);
  }

  // For the kernels: key per local row; order with the ends of its segments. Of a large set they are not kept: the
  // next call of `sorted` takes the memory, and ranks are read instead of keys, for some local rows at a time.
  bool is_large() const { return std::size_t{n} * n_features > std::size_t{1} << 23; }
  const u32* column(u32 feature);
  void ranks(const Table& table, u32 feature, u32 from, u32 to, u32* target) const;
  // The first rows may be left to be told apart: those without a value, or those of the least one.
  struct Apart {
    u32 rows = 0;
    bool gap = false;
  };
  SortedRows sorted(u32 feature, bool all_boundaries, bool two_classes, Apart apart);
  SortedRows sorted(u32 feature, bool all_boundaries, bool two_classes) {
    return sorted(feature, all_boundaries, two_classes, {});
  }
  // Of a column with gaps: its rows without a value, and whether it repeats another feature because there are none.
  u32 gap_of(u32 low_view) const { return position_of(low_view, kMixed, 0, n); }
  bool repeats(const Table& table, u32 feature) const {
    return table.low_view[feature] != kNoView && gap_of(table.low_view[feature]) == 0;
  }

 private:
  void forget();
  void count(const Table& table);  // and hash
  bool divide(const Table& table, u32* target, u32 n_low, Rows& low, Rows& high, const std::atomic<int>& stop) const;

  const Kernels* kernels_ = nullptr;
  Buffer<u32> order_, key_, row_;
  PrefixSums sums_;
  Buffer<u32> column_, ends_;
  Buffer<std::int16_t> is_end_;
  std::vector<unsigned char> have_column_, have_ends_, short_;
  std::vector<u32> n_ends_;
};

}  // namespace proofwood::trees
