// What all threads of one search share: the problem, the cache, the best tree with the proved bound
// (docs/theory/optimal-trees.md, "What "proved" means"), and what they count.
#pragma once

#include <array>
#include <atomic>

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

struct Shared {
  const Table& table;
  const Settings& settings;
  std::atomic<int>& stop;
  TreeRun run;
  SolutionCache cache;
  Journal* journal = nullptr;  // if what is proved shall outlive the search

  Shared(const Table& t, const Settings& s, std::atomic<int>& stop_flag, TreeRun::Clock::time_point started)
      : table(t), settings(s), stop(stop_flag), run(s.start_upper, stop_flag, started) {}

  bool tired = false;  // a solver, which then is the only one, has used up the visits that it was allowed

  bool stopped() const { return run.stopped() || tired; }
  bool may_split_at(Rows& rows, u32 feature, u32 position) const {
    const Minimum& minimum = settings.minimum;
    if (!minimum.any()) return true;
    const auto [count, mass] = rows.held_before(table, feature, position);
    return minimum.met(count, mass) && minimum.met(rows.counts.count - count, rows.counts.mass - mass);
  }
};

}  // namespace proofwood::trees
