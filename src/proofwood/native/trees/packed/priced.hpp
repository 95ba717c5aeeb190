// Trees of any depth whose leaves have a price (docs/theory/optimal-trees.md, "No depth"): a set of rows is a leaf, or
// a test and the best trees of both sides, with no limit but what they cost.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "trees/packed/priced_set.hpp"
#include "trees/shared.hpp"

namespace proofwood::trees::packed {

constexpr int kAnyDepth = -1;  // in place of a depth in the cache

// Memory and methods of one thread.
class PricedSolver {
 public:
  PricedSolver(Shared& shared, const TestTable& table, const Kernels& kernels);

  // Bounds of the sides of a test of a set that was begun, until no tree with it costs less than `cap`.
  // `level`: of the sides.
  void evaluate(PricedSet& set, u32 test, i64 cap, std::size_t level);
  // Trees of a set that was begun, until none is left that costs less than `limit` and the best one found; or, with
  // `ties`, until it is known of each test whether a tree with it costs less than `limit`.
  void search(PricedSet& set, i64 limit, bool ties, std::size_t level);
  // Of the best trees of a set: their depth at least, and the first one of that depth once it is known.
  struct Known {
    int depth = 2;
    PlanPtr plan;
  };
  // The tree of least depth, then of the first test, at every node, of those that cost `set.lower`; nullptr if they are
  // deeper than `most`, or if stopped.
  PlanPtr first_tree(PricedSet& set, Known& known, int most, std::size_t level);

  bool halted() const { return shared_.stopped() || room.work >= allowed; }

  PricedRoom room;
  double allowed = 0;  // work
  Counters counters{};

 private:
  struct Level {
    PricedSet side[2];
  };
  Level& level(std::size_t at);
  void look_up(PricedSet& set, u32 test, bool (&seen)[2]);
  bool begin_side(PricedSet& set, u32 test, int side, std::size_t level);
  void keep(PricedSet& set);
  PlanPtr tree_of_side(PricedSet& set, u32 test, int side, int most, std::size_t level);

  Shared& shared_;
  std::vector<std::unique_ptr<Level>> levels_;
  struct KeyHash {
    std::size_t operator()(const std::array<u64, 2>& key) const { return key[0]; }
  };
  std::unordered_map<std::array<u64, 2>, Known, KeyHash> known_;
};

// From the root.
class PricedSearch {
 public:
  PricedSearch(Shared& shared, const TestTable& table, const Kernels& kernels);

  // Whether the pairs of all tests take a bearable amount of memory.
  static bool fits(const TestTable& table, const Kernels& kernels);
  // Goes on until the optimum is known or each thread has done so much more work. True if it is known.
  bool run(double work);
  double work() const;
  i64 upper() const { return upper_; }
  // The canonical tree of at most a depth; nullptr if none is optimal, or if stopped.
  PlanPtr first_tree(int most);
  Counters counters() const;

 private:
  bool begin();
  bool begin(PricedSolver& solver, PricedSet& set);
  void work(PricedSolver& solver, PricedSet& set);
  bool take(const PricedSet& set, u32& test, i64& cap);
  void exchange(PricedSet& set);
  void offer(PricedSolver& solver, const PricedSet& set, u32 test);
  i64 cutoff() const;
  i64 lower() const;

  Shared& shared_;
  const TestTable& table_;
  const Kernels& kernels_;
  std::vector<std::unique_ptr<PricedSolver>> solvers_;  // one a thread
  std::vector<std::unique_ptr<PricedSet>> roots_;
  std::mutex mutex_;
  // What the threads know together, per test.
  std::vector<i64> side_lower_[2], side_upper_[2], bound_;
  std::vector<PlanPtr> side_plan_[2];
  std::vector<char> busy_;
  i64 least_ = 0, upper_ = kInfinite;  // of all trees
};

}  // namespace proofwood::trees::packed
