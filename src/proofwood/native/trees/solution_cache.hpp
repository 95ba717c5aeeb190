// Solved subproblems by set of rows and depth (docs/theory/optimal-trees.md, "The search"). Safe between threads.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "trees/subproblem.hpp"

namespace proofwood::trees {

class SolutionCache {
 public:
  using Hash = u64[2];  // of a set of rows
  std::optional<Solution> find(const Hash& rows, int depth);
  void store(const Hash& rows, int depth, const Solution& solution);
  void forget() { decltype(solutions_)().swap(solutions_); }  // gives back the memory

 private:
  using Key = std::array<u64, 3>;  // hash of the rows, depth
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return key[0] ^ (key[2] * 0x9e3779b97f4a7c15u); }
  };
  static Key key_of(const Hash& rows, int depth) { return {rows[0], rows[1], static_cast<u64>(depth)}; }

  std::mutex mutex_;
  std::unordered_map<Key, Solution, KeyHash> solutions_;
};

}  // namespace proofwood::trees
