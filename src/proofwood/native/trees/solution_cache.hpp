// Solved subproblems by set of rows and depth (docs/theory/optimal-trees.md, "The search"). Safe between threads.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "trees/subproblem.hpp"

namespace proofwood::trees {

// A solution as it is kept: vectors take the room of their depth.
template <class Value>
class KeptSolution;

template <>
class KeptSolution<i64> {
 public:
  KeptSolution() = default;
  KeptSolution(const Solution& solution, bool with_known)
      : solution_{solution.upper,
                  solution.lower,
                  solution.relaxed,
                  solution.plan,
                  with_known ? solution.known : nullptr,
                  solution.stopped} {}
  const Solution& solution() const { return solution_; }

 private:
  Solution solution_;
};

template <>
class KeptSolution<Leaves> {
 public:
  KeptSolution() = default;
  KeptSolution(const SolutionOf<Leaves>& solution, bool with_known);
  SolutionOf<Leaves> solution() const;

 private:
  struct Entry {
    i64 upper, lower, relaxed;
    PlanPtr plan;
  };
  std::vector<Entry> entries_;
  KnownSplitsPtrOf<Leaves> known_;
};

template <class Value>
class SolutionCacheOf {
 public:
  using Hash = u64[2];  // of a set of rows
  std::optional<SolutionOf<Value>> find(const Hash& rows, int depth);
  void store(const Hash& rows, int depth, const SolutionOf<Value>& solution);
  void forget() { decltype(solutions_)().swap(solutions_); }  // gives back the memory

 private:
  using Key = std::array<u64, 3>;  // hash of the rows, depth
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return key[0] ^ (key[2] * 0x9e3779b97f4a7c15u); }
  };
  static Key key_of(const Hash& rows, int depth) { return {rows[0], rows[1], static_cast<u64>(depth)}; }

  std::mutex mutex_;
  std::unordered_map<Key, KeptSolution<Value>, KeyHash> solutions_;
};

using SolutionCache = SolutionCacheOf<i64>;

}  // namespace proofwood::trees
