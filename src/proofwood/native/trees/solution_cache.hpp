// Solved subproblems by set of rows and depth (docs/theory/optimal-trees.md, "The search"). Safe between threads.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "trees/compact_map.hpp"
#include "trees/subproblem.hpp"

namespace proofwood::trees {

// A tree in eight bytes where it has one split above leaves and stumps, as those of depth two have; else a pointer.
class KeptPlan {
 public:
  KeptPlan() = default;
  explicit KeptPlan(const PlanPtr& plan);
  KeptPlan(KeptPlan&& other) noexcept : bits_(std::exchange(other.bits_, 0)) {}
  KeptPlan& operator=(KeptPlan&& other) noexcept {
    std::swap(bits_, other.bits_);
    return *this;
  }
  KeptPlan(const KeptPlan&) = delete;
  KeptPlan& operator=(const KeptPlan&) = delete;
  ~KeptPlan() {
    if (!is_small()) delete pointer();
  }
  PlanPtr plan() const;

 private:
  bool is_small() const { return (bits_ & 1) != 0; }
  const PlanPtr* pointer() const { return std::bit_cast<const PlanPtr*>(static_cast<std::uintptr_t>(bits_)); }

  u64 bits_ = 0;  // a pointer is even
};

// A solution as it is kept: one number, or a vector in the room of its depth.
template <class Value>
class KeptSolution;

template <>
class KeptSolution<i64> {
 public:
  KeptSolution() = default;
  explicit KeptSolution(const Solution& solution)
      : upper_(solution.upper), lower_(solution.lower), relaxed_(solution.relaxed), plan_(solution.plan) {}
  Solution solution() const { return {upper_, lower_, relaxed_, plan_.plan(), nullptr, false}; }

 private:
  i64 upper_ = kInfinite, lower_ = 0, relaxed_ = 0;
  KeptPlan plan_;
};

template <>
class KeptSolution<Leaves> {
 public:
  KeptSolution() = default;
  explicit KeptSolution(const SolutionOf<Leaves>& solution);
  SolutionOf<Leaves> solution() const;

 private:
  struct Entry {
    i64 upper, lower, relaxed;
    KeptPlan plan;
  };
  std::vector<Entry> entries_;
};

template <class Value>
class SolutionCacheOf {
 public:
  using Hash = u64[2];  // of a set of rows
  std::optional<SolutionOf<Value>> find(const Hash& rows, int depth);
  void store(const Hash& rows, int depth, const SolutionOf<Value>& solution);
  void forget();  // gives back the memory

 private:
  using Map = CompactMap<KeptSolution<Value>>;
  static typename Map::Key key_of(const Hash& rows, int depth) {
    return {rows[0], rows[1] + static_cast<u64>(depth) * 0x9e3779b97f4a7c15u};
  }

  std::mutex mutex_;
  Map solutions_;
  std::map<std::pair<u64, u64>, KnownSplitsPtrOf<Value>> known_;  // what some of them teach their neighbours
};

using SolutionCache = SolutionCacheOf<i64>;

}  // namespace proofwood::trees
