// Solves one subproblem: what needs no search, the cache, and which search does the rest (docs/theory/optimal-trees.md,
// "The search").
#include "trees/solver.hpp"

#include <algorithm>

#include "trees/stump.hpp"

namespace proofwood::trees {

const char* const kCounterNames[kCounters] = {"subproblems", "cache_hits",      "batches",    "depth_two_splits",
                                              "root_splits", "imported_bounds", "stumps",     "canonical_splits",
                                              "affordable",  "level_roots",     "level_sets", "row_visits",
                                              "work",        "block_work"};

Solver::Solver(Shared& of) : shared(of) {}

Solution Solver::solve(Rows& rows, int depth, const Request& request) {
  ++counters[kSubproblems];
  const Settings& settings = shared.settings;
  const i64 leaf = rows.leaf;
  if (counters[kRowVisits] > last_visit_) {
    shared.tired = true;
    Solution none = Solution::exact(leaf, leaf_plan());
    none.lower = none.relaxed = 0;
    none.stopped = true;
    return none;
  }
  if (leaf <= settings.prices.leaf || depth == 0 || rows.n < 2) return Solution::exact(leaf, leaf_plan());
  if (!settings.minimum.may_split(rows.counts)) {  // no permitted split; the relaxation stays unknown
    Solution solution = Solution::exact(leaf, leaf_plan());
    solution.relaxed = 0;
    return solution;
  }
  if (depth == 1) return solve_stump(rows, leaf);

  Solution earlier;
  if (settings.rules.cache) {
    if (auto found = shared.cache.find(rows.hash, depth)) {
      if (found->lower >= request.limit || found->upper - request.gap <= found->lower) {
        ++counters[kCacheHits];
        return *std::move(found);
      }
      earlier = *std::move(found);
    }
  }
  const bool affordable =
      settings.rules.affordable && settings.prices.leaf > 0 && request.limit <= settings.prices.leaf * depth;
  Solution solution = affordable       ? solve_affordable(rows, request)
                      : batched(depth) ? solve_depth_two(rows, request, false)
                                       : solve_general(rows, depth, request);
  solution.join(earlier);
  solution.clamp();
  if (settings.rules.cache && !affordable && !solution.stopped) shared.cache.store(rows.hash, depth, solution);
  return solution;
}

Solution Solver::solve_stump(const Rows& rows, i64 leaf) {
  ++counters[kStumps];
  const i64 price = shared.settings.prices.leaf;
  const Stump stump = shared.table.task->stump(shared.table, rows, shared.settings.minimum, shared.stop);
  Solution solution = Solution::exact(leaf, leaf_plan());
  if (stump.cost + price < leaf) {
    solution.upper = solution.lower = stump.cost + price;
    solution.plan = plan_of(stump, rows);
  }
  solution.relaxed = std::min(leaf, stump.cost_all + price);
  solution.stopped = shared.stopped();
  if (solution.stopped) solution.lower = solution.relaxed = 0;
  return solution;
}

// Only trees whose splits the limit pays for are of interest: they are no deeper than their number of splits.
Solution Solver::solve_affordable(Rows& rows, const Request& request) {
  const i64 splits = std::max<i64>(0, (request.limit - 1) / shared.settings.prices.leaf);
  Solution solution = solve(rows, static_cast<int>(splits), request);
  ++counters[kAffordable];
  bound_deeper(solution, splits + 1);
  return solution;
}

// Turns bounds of trees of depth `splits - 1` into bounds of deeper ones too, which have at least `splits` splits.
void Solver::bound_deeper(Solution& solution, i64 splits) const {
  const i64 leaf_price = shared.settings.prices.leaf, least = splits * leaf_price;
  solution.lower = std::min(solution.lower, least);
  solution.relaxed = std::min(solution.relaxed, least);
  if (!solution.known) return;
  auto known = std::make_shared<KnownSplits>(*solution.known);
  for (i64& bound : known->level_bounds) bound = std::min(bound, least);
  for (KnownSplits::Entry& entry : known->entries) {  // a side of a deeper tree has one split less at least
    entry.low_side = std::min(entry.low_side, least - leaf_price);
    entry.high_side = std::min(entry.high_side, least - leaf_price);
    entry.total = std::min(entry.total, least);
  }
  solution.known = std::move(known);
}

Subproblem& Solver::begin(Rows& rows, int depth, i64 limit, i64 gap) {
  Subproblem& subproblem = level(depth).subproblem;
  subproblem.begin(rows, depth, rows.leaf, limit, gap);
  if (!shared.table.levels.empty()) subproblem.levels_lower = 0;
  subproblem.queue.begin(shared.table, rows, shared.settings.prices, shared.settings.rules);
  return subproblem;
}

void Solver::open(Subproblem& subproblem, const Neighbours& neighbours, const std::vector<Point>& recorded) {
  counters[kImported] += bounds_.place_points(subproblem, neighbours, shared.settings.prices,
                                              shared.settings.rules.feature_bounds, recorded);
  bounds_.open_intervals(subproblem);
}

Solution Solver::solve_depth_two(Rows& rows, const Request& request, bool report) {
  Subproblem& subproblem = begin(rows, 2, request.limit, request.gap);
  subproblem.gap_shift = request.gap_shift;
  counters[kImported] += bounds_.place_points(subproblem, request.neighbours, shared.settings.prices,
                                              shared.settings.rules.feature_bounds);
  const i64 leaf = subproblem.upper;
  bool stopped = !depth_two.solve(subproblem, bounds_, request, report);
  if (!stopped && !shared.table.levels.empty()) {
    const std::optional<i64> known = depth_two.cost_of_stump();
    const i64 base = known ? *known : solve_stump(rows, leaf).upper;
    subproblem.offer(base, stump_plan());
    stopped = shared.stopped() || !level_roots(subproblem, base, request.neighbours);
  }
  return subproblem.solution(leaf, stopped, request.teach);
}

}  // namespace proofwood::trees
