// Solved subproblems by set of rows and depth (docs/theory/optimal-trees.md, "The search"). Safe between threads.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
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
  KeptPlan(KeptPlan&& other) noexcept : halves_(std::exchange(other.halves_, {})) {}
  KeptPlan& operator=(KeptPlan&& other) noexcept {
    std::swap(halves_, other.halves_);
    return *this;
  }
  KeptPlan(const KeptPlan&) = delete;
  KeptPlan& operator=(const KeptPlan&) = delete;
  ~KeptPlan() {
    if (!is_small()) delete pointer();
  }
  PlanPtr plan() const;

 private:
  bool is_small() const { return (halves_[0] & 1) != 0; }
  u64 bits() const { return halves_[0] | static_cast<u64>(halves_[1]) << 32; }
  const PlanPtr* pointer() const { return std::bit_cast<const PlanPtr*>(static_cast<std::uintptr_t>(bits())); }

  std::array<u32, 2> halves_{};  // a pointer is even
};

// A solution of one number whose costs have 32 bits.
class NarrowSolution {
 public:
  NarrowSolution() = default;
  explicit NarrowSolution(const Solution& solution)
      : upper_(narrowed(solution.upper)),
        lower_(narrowed(solution.lower)),
        relaxed_(narrowed(solution.relaxed)),
        plan_(solution.plan) {}
  static bool fits(const Solution& solution) {
    return fits(solution.upper) && fits(solution.lower) && fits(solution.relaxed);
  }
  Solution solution() const { return {cost(upper_), cost(lower_), cost(relaxed_), plan_.plan(), nullptr, false}; }

 private:
  static constexpr u32 kNone = std::numeric_limits<u32>::max();  // in place of kInfinite
  static bool fits(i64 cost) { return cost == kInfinite || (cost >= 0 && cost < i64{kNone}); }
  static u32 narrowed(i64 cost) { return cost == kInfinite ? kNone : static_cast<u32>(cost); }
  static i64 cost(u32 kept) { return kept == kNone ? kInfinite : i64{kept}; }

  u32 upper_ = kNone, lower_ = 0, relaxed_ = 0;
  KeptPlan plan_;
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
  using Key = MapKey;
  static Key key_of(const Hash& rows, int depth) {
    return {rows[0], rows[1] + static_cast<u64>(depth) * 0x9e3779b97f4a7c15u};
  }

  std::size_t size() const { return solutions_.size() + narrow_.size(); }

  std::mutex mutex_;
  CompactMap<KeptSolution<Value>> solutions_;
  CompactMap<NarrowSolution> narrow_;                             // in place of these, where it can
  std::map<std::pair<u64, u64>, KnownSplitsPtrOf<Value>> known_;  // what some of them teach their neighbours
};

using SolutionCache = SolutionCacheOf<i64>;

}  // namespace proofwood::trees
