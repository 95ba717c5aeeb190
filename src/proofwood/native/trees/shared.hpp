// What all threads of one search share: the problem, the cache, the incumbent, and what they count.
#pragma once

#include <array>
#include <atomic>

#include "trees/incumbent.hpp"
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
  kCounters
};
extern const char* const kCounterNames[kCounters];
using Counters = std::array<i64, kCounters>;

inline void add_to(Counters& total, const Counters& counters) {
  for (std::size_t c = 0; c < kCounters; ++c) total[c] += counters[c];
}

struct Shared {
  const Table& table;
  const Settings& settings;
  std::atomic<int>& stop;
  Incumbent incumbent;
  SolutionCache cache;

  Shared(const Table& t, const Settings& s, std::atomic<int>& stop_flag)
      : table(t), settings(s), stop(stop_flag), incumbent(s.prices.error * t.constant, s.start_upper) {}

  bool stopped() const { return stop.load(std::memory_order_relaxed) != 0; }
  i64 leaf_cost(const Rows& rows) const { return trees::leaf_cost(settings.prices, rows.counts); }
  bool may_split_at(Rows& rows, u32 feature, u32 position) const {
    const Minimum& minimum = settings.minimum;
    if (!minimum.any()) return true;
    const auto [count, mass] = rows.held_before(table, feature, position);
    return minimum.met(count, mass) && minimum.met(rows.counts.count - count, rows.counts.mass - mass);
  }
};

}  // namespace proofwood::trees
