// Trees of depth two for all roots at once (docs/theory/optimal-trees.md, "Packed tests").
#pragma once

#include <optional>
#include <vector>

#include "trees/packed/row_set.hpp"
#include "trees/settings.hpp"

namespace proofwood::trees::packed {

// What is summed over a set of rows, and what the stumps below each of its tests get right.
struct StumpSums {
  Sums sums{};
  Best best{};
  std::vector<std::int32_t> all;
  i64 weight = 0;
  VectorBuffer pairs, single, holds, fails;
};

// Memory and methods of one thread.
class Stumps {
 public:
  // What a search that stops has counted is worthless.
  Stumps(const TestTable& table, const Kernels& kernels, const Settings& settings, const Stop& stop)
      : table_(table), kernels_(kernels), settings_(settings), stop_(stop) {}

  const Kernels& kernels() const { return kernels_; }
  StumpSums whole, part, rest;
  double work = 0;  // of the kernels, in steps of about a nanosecond

  // Fills `whole` for an opened set.
  void count(const RowSet& rows);
  void count_single(const RowSet& rows);  // for `stump` alone
  // Fills `part` and `rest` with the two sides of a test, `whole` being that of the set. Which side is the part:
  bool divide(const RowSet& rows, u32 test);
  // The first of the best stumps of some entries, by its number in the table; nothing if a leaf costs no more.
  std::optional<u32> best_stump(const std::vector<u32>& entries, const std::vector<u32>& group);
  // Whether both sides of a test hold enough, by the sums of its set.
  bool permitted(const StumpSums& of, u32 stride, u32 test) const;

  // Cost of a leaf; of the best tree of depth up to two; of the best one with each test at its root.
  i64 leaf(const StumpSums& of) const;
  i64 least(const StumpSums& of, u32 n_tests, u32 stride) const;
  void costs(const StumpSums& of, u32 n_tests, u32 stride, std::vector<i64>& costs) const;
  // Cost of the best stump; kInfinite if none is permitted.
  i64 stump(const StumpSums& of, u32 stride, u32 test) const;

 private:
  void note_work(const Words& words);
  Words pack(const u32* row_bits, u32 n_tests, u32 stride, const std::vector<u32>& at, const std::vector<u32>& group);
  void reserve(StumpSums& of, u32 n_tests, u32 stride, bool with_pairs) const;
  i64 root_cost(const StumpSums& of, u32 stride, u32 test) const;
  i64 side_leaf(const StumpSums& of, u32 stride, std::size_t cell, bool holds) const;
  template <class M>
  i64 least_simple(const StumpSums& of, u32 stride) const;
  i64 cell(const void* cells, std::size_t at) const;

  const TestTable& table_;
  const Kernels& kernels_;
  const Settings& settings_;
  const Stop stop_;
  VectorBuffer words_, scratch_;
  std::vector<u32> at_, group_, word_group_;
};

}  // namespace proofwood::trees::packed
