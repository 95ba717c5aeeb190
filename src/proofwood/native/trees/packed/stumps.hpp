// Trees of depth two for all roots at once (docs/theory/optimal-trees.md, "Packed tests").
#pragma once

#include <optional>
#include <vector>

#include "trees/packed/row_set.hpp"
#include "trees/settings.hpp"

namespace proofwood::trees::packed {

// Memory and methods of one thread: of up to three sets of rows, what a leaf costs there, and the best trees of depth
// two for all roots. What a search that stops has counted is worthless.
class Stumps {
 public:
  enum Of { kWhole, kPart, kRest };

  Stumps() = default;
  Stumps(const Stumps&) = delete;
  Stumps& operator=(const Stumps&) = delete;
  virtual ~Stumps() = default;

  // The whole becomes an opened set.
  virtual void count(const RowSet& rows) = 0;
  virtual void count_single(const RowSet& rows) = 0;  // for `stump` alone
  // Part and rest become the two sides of a test, the whole being its set. Which side is the part:
  virtual bool divide(const RowSet& rows, u32 test) = 0;
  // The first of the best stumps of some entries, by its number in the table; nothing if a leaf costs no more.
  virtual std::optional<u32> best_stump(const std::vector<u32>& entries, const std::vector<u32>& group) = 0;
  // Whether both sides of a test of the whole hold enough.
  virtual bool permitted(u32 test) const = 0;

  // Cost of a leaf; of the best tree of depth up to two; of the best one with each test at its root. Where this is more
  // than the least of all, a bound above that may stand for it.
  virtual i64 leaf(Of of) const = 0;
  virtual i64 least(Of of) = 0;
  virtual void costs(Of of, std::vector<i64>& costs) = 0;
  // Cost of a stump of the whole; kInfinite if it is not permitted. The first of the best ones, which cost so much:
  virtual i64 stump(u32 test) const = 0;
  virtual std::optional<u32> first_stump(i64 least) const = 0;

  double work = 0;  // of the kernels, in steps of about a nanosecond
};

// What is summed over a set of rows, and what the stumps below each of its tests get right.
struct StumpSums {
  u32 n_tests = 0, stride = 0;
  Sums sums{};
  Best best{};
  std::vector<std::int32_t> all;
  i64 weight = 0;
  VectorBuffer pairs, single, holds, fails;
};

// Of classes.
class ClassStumps final : public Stumps {
 public:
  ClassStumps(const TestTable& table, const Kernels& kernels, const Settings& settings, const Stop& stop)
      : table_(table), kernels_(kernels), settings_(settings), stop_(stop) {}

  void count(const RowSet& rows) override;
  void count_single(const RowSet& rows) override;
  bool divide(const RowSet& rows, u32 test) override;
  std::optional<u32> best_stump(const std::vector<u32>& entries, const std::vector<u32>& group) override;
  bool permitted(u32 test) const override { return permitted(of_[kWhole], test); }
  i64 leaf(Of of) const override { return leaf(of_[of]); }
  i64 least(Of of) override;
  void costs(Of of, std::vector<i64>& costs) override;
  i64 stump(u32 test) const override { return stump(of_[kWhole], test); }
  std::optional<u32> first_stump(i64 least) const override;

 private:
  void note_work(const Words& words);
  Words pack(const u32* row_bits, u32 n_tests, u32 stride, const std::vector<u32>& at, const std::vector<u32>& group);
  void reserve(StumpSums& of, u32 n_tests, u32 stride, bool with_pairs) const;
  bool permitted(const StumpSums& of, u32 test) const;
  i64 leaf(const StumpSums& of) const;
  i64 stump(const StumpSums& of, u32 test) const;
  i64 root_cost(const StumpSums& of, u32 test) const;
  i64 side_leaf(const StumpSums& of, std::size_t cell, bool holds) const;
  template <class M>
  i64 least_simple(const StumpSums& of) const;
  i64 cell(const void* cells, std::size_t at) const;

  const TestTable& table_;
  const Kernels& kernels_;
  const Settings& settings_;
  const Stop stop_;
  StumpSums of_[3];
  VectorBuffer words_, scratch_;
  std::vector<u32> at_, group_, word_group_;
};

}  // namespace proofwood::trees::packed
