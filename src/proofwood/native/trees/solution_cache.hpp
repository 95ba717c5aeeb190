// Solved subproblems by set of rows and depth (docs/theory/optimal-trees.md, "The search"). Safe between threads.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

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

struct KeptSolution {
  i64 upper = kInfinite, lower = 0, relaxed = 0;
  KeptPlan plan;
};

class SolutionCache {
 public:
  using Hash = u64[2];  // of a set of rows
  std::optional<Solution> find(const Hash& rows, int depth);
  void store(const Hash& rows, int depth, const Solution& solution);
  void forget();  // gives back the memory

 private:
  using Map = CompactMap<KeptSolution>;
  static Map::Key key_of(const Hash& rows, int depth) {
    return {rows[0], rows[1] + static_cast<u64>(depth) * 0x9e3779b97f4a7c15u};
  }

  std::mutex mutex_;
  Map solutions_;
  std::map<std::pair<u64, u64>, KnownSplitsPtr> known_;  // what some of them teach their neighbours
};

}  // namespace proofwood::trees
