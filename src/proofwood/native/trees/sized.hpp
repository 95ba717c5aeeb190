// Fewest errors of trees of a limited number of splits, by branch and bound over thresholds
// (docs/theory/layered-diagrams.md, "Univariate: trees", sizes).
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "trees/rows.hpp"
#include "trees/stump_batch.hpp"

namespace proofwood::trees {

constexpr int kMostSplits = 16;

struct SizedSettings {
  int splits = 3, depth = 3;
  i64 below = 0;  // only trees with fewer errors matter
  int threads = 1;
  int isa = kBaseline, lane_bits = 0;
  double eta = 1;  // how much further than needed a side is searched, as a share of the weight its bound could rule out
  // Rules: neighbourhood pruning by the similarity bound, where a threshold has at least the errors of an evaluated one
  // less the weight between them; along a column the low side only gains errors, the high side only loses some; solved
  // sets of rows are kept by size and depth.
  bool similarity = true, monotone = true, cache = true;
};

// Errors are those that rows of equal values do not already make certain: `Table::constant` comes on top.
class SizedSearch {
 public:
  SizedSearch(const Table& table, const SizedSettings& settings, std::atomic<int>& stop);
  ~SizedSearch();

  // `errors` of a tree with fewer than `below` if one was `found`; else all trees have at least `errors`, which is
  // `below`, or 0 if the search was stopped.
  struct Answer {
    i64 errors;
    bool found;
  };
  Answer run();
  i64 evaluated() const { return evaluated_; }

 private:
  using Errors = std::array<i64, kMostSplits>;  // by number of splits

  // One threshold of a column: lower bounds of the errors of its two sides by their number of splits, and of the whole.
  struct Point {
    u32 position = 0;
    Errors low_side{}, high_side{};
    i64 total = 0;
  };
  // Thresholds that are still open, and the nearest points around them.
  struct Interval {
    u32 feature, first, last;
    int below, above;
  };
  struct Entry {
    i64 lower;
    bool exact;
  };
  struct Subproblem;
  struct Solver;
  struct KeyHash {
    std::size_t operator()(const std::array<std::uint64_t, 3>& key) const {
      return key[0] ^ (key[2] * 0x9e3779b97f4a7c15u);
    }
  };

  void work(Solver& solver, Rows& rows, Subproblem& subproblem);

  const Table& table_;
  SizedSettings settings_;
  std::atomic<int>& stop_;
  Minimum minimum_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::mutex cache_mutex_;
  std::unordered_map<std::array<std::uint64_t, 3>, Entry, KeyHash> cache_;
  std::atomic<i64> evaluated_{0};
};

}  // namespace proofwood::trees
