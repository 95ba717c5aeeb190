// Similarity bounds between the sides of tests (docs/theory/optimal-trees.md, "Packed tests").
#include "trees/packed/similar.hpp"

#include <algorithm>

namespace proofwood::trees::packed {

namespace {

constexpr std::int32_t kUnknown = -(1 << 29);

template <class M>
void spread(const Kernels& kernels, u32 n, u32 stride, const void* from, std::vector<std::int32_t>& to) {
  const M* const pairs = static_cast<const M*>(from);
  for (u32 j = 0; j < n; ++j) {
    const u32 cell = kernels.cell(j);
    for (u32 i = 0; i <= j; ++i)
      to[std::size_t{i} * n + j] = to[std::size_t{j} * n + i] = pairs[std::size_t{i} * stride + cell];
  }
}

}  // namespace

void Similar::begin(const TestTable& table, const Kernels& kernels, const RowSet& rows, i64 error_price, i64 whole,
                    const Stop& stop) {
  error_price_ = error_price;
  n_tests_ = rows.n_tests();
  all_ = static_cast<std::int32_t>(rows.counts.weight);
  whole_ = static_cast<std::int32_t>(whole / error_price);
  const std::size_t cell = static_cast<std::size_t>(kernels.cell_bytes);
  std::int32_t unused = 0;
  const Sums sums{pairs_.resize(std::size_t{n_tests_} * rows.stride * cell), single_.resize(rows.stride * cell),
                  &unused};
  kernels.count(rows.words, table.weight_layer, sums, scratch_.resize(kScratchVectors * kVectorBytes), stop);
  weight_.resize(std::size_t{n_tests_} * n_tests_);
  if (cell == 2)
    spread<std::int16_t>(kernels, n_tests_, rows.stride, sums.pairs, weight_);
  else
    spread<std::int32_t>(kernels, n_tests_, rows.stride, sums.pairs, weight_);
  for (auto* values : {&holds_, &fails_, &holds_above_, &fails_above_}) values->assign(n_tests_, kUnknown);
}

void Similar::note(u32 test, i64 holds, i64 fails) {
  const std::int32_t weight = weight_[std::size_t{test} * n_tests_ + test];
  holds_[test] = static_cast<std::int32_t>(holds / error_price_);
  fails_[test] = static_cast<std::int32_t>(fails / error_price_);
  holds_above_[test] = holds_[test] - weight;
  fails_above_[test] = fails_[test] - (all_ - weight);
}

// For a set A and a noted set B: cost(A) >= cost(B) - weight(B without A). `both` is the weight at which both tests
// hold; sides at which a test fails have the rest of the test's weight, or of all.
void Similar::look(u32 test, i64& holds, i64& fails) const {
  const std::int32_t* const both = weight_.data() + std::size_t{test} * n_tests_;
  const std::int32_t weight = both[test];
  std::int32_t by_holds = kUnknown, by_fails = kUnknown, other_holds = kUnknown, other_fails = kUnknown;
  for (u32 j = 0; j < n_tests_; ++j) {
    by_holds = std::max(by_holds, holds_above_[j] + both[j]);
    by_fails = std::max(by_fails, fails_above_[j] - both[j]);
    other_holds = std::max(other_holds, holds_[j] - both[j]);
    other_fails = std::max(other_fails, fails_[j] + both[j]);
  }
  const std::int32_t holds_bound = std::max({0, whole_ - (all_ - weight), by_holds, by_fails + weight});
  const std::int32_t fails_bound = std::max({0, whole_ - weight, other_holds, other_fails - weight});
  holds = std::max(holds, error_price_ * holds_bound);
  fails = std::max(fails, error_price_ * fails_bound);
}

}  // namespace proofwood::trees::packed
