// What all threads of one search share: the problem, the cache, the best tree with the proved bound
// (docs/theory/optimal-trees.md, "What "proved" means"), and what they count.
#pragma once

#include <array>
#include <atomic>
#include <type_traits>

#include "common/run.hpp"
#include "trees/journal.hpp"
#include "trees/plan.hpp"
#include "trees/rows.hpp"
#include "trees/settings.hpp"
#include "trees/solution_cache.hpp"

namespace proofwood::trees {

enum Counter {
  kSubproblems,
  kCacheHits,
  kBatches,
  kCandidates,
  kRootSplits,
  kImported,
  kStumps,
  kCanonicalSplits,
  kAffordable,
  kLevelRoots,
  kLevelSets,
  kRowVisits,  // rows split or walked over, once per feature
  kWork,
  kBlockWork,
  kCounters
};
extern const char* const kCounterNames[kCounters];
using Counters = std::array<i64, kCounters>;

inline void add_to(Counters& total, const Counters& counters) {
  for (std::size_t c = 0; c < kCounters; ++c) total[c] += counters[c];
}

// Costs without that of equal rows, which every tree has.
using TreeRun = BoundedRun<PlanPtr>;

// The best trees by leaves.
struct FrontBounds {
  Leaves upper, lower;
  bool contradicts(const FrontBounds& before) const {
    return exceeds(upper, before.upper) || exceeds(before.lower, lower) || exceeds(lower, upper);
  }
};
class FrontRun : public Run<FrontBounds, Plans<Leaves>> {
 public:
  FrontRun(const FrontBounds& first, const std::atomic<int>& stop, Clock::time_point started)
      : Run(first, stop, started) {}
  void update(const Leaves& upper, const Plans<Leaves>& trees, const Leaves& lower) {
    change([&](FrontBounds& bounds, Plans<Leaves>& best) {
      const FrontBounds before = bounds;
      take_cheaper(bounds.upper, best, upper, trees);
      raise(bounds.lower, lower);
      raise_fewer(bounds.lower);
      lower_to(bounds.lower, bounds.upper);
      return bounds.upper != before.upper || bounds.lower != before.lower;
    });
  }
};

// What every part of a search reads.
struct Frame {
  const Table& table;
  const Settings& settings;
  std::atomic<int>& stop;
  bool tired = false;  // a solver, which then is the only one, has used up the visits that it was allowed

  bool stopped() const { return stop.load(std::memory_order_relaxed) != 0 || tired; }
  bool may_split_at(Rows& rows, u32 feature, u32 position) const {
    const Minimum& minimum = settings.minimum;
    if (!minimum.any()) return true;
    const auto [count, mass] = rows.held_before(table, feature, position);
    return minimum.met(count, mass) && minimum.met(rows.counts.count - count, rows.counts.mass - mass);
  }
};

template <class Value>
struct SharedOf : Frame {
  std::conditional_t<kOneNumber<Value>, TreeRun, FrontRun> run;
  SolutionCacheOf<Value> cache;
  Journal* journal = nullptr;  // if what is proved shall outlive the search

  SharedOf(const Table& t, const Settings& s, std::atomic<int>& stop_flag, TreeRun::Clock::time_point started)
      : Frame{t, s, stop_flag}, run(first(s), stop_flag, started) {}

 private:
  static auto first(const Settings& settings) {
    if constexpr (kOneNumber<Value>) {
      return settings.start_upper;
    } else {
      const int depth = settings.max_depth;
      return FrontBounds{same<Value>(kInfinite, depth), same<Value>(0, depth)};
    }
  }
};

using Shared = SharedOf<i64>;

}  // namespace proofwood::trees
