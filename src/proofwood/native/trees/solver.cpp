// Solves one subproblem: what needs no search, the cache, and which search does the rest (docs/theory/optimal-trees.md,
// "The search").
#include "trees/solver.hpp"

#include <algorithm>

#include "trees/stump.hpp"

namespace proofwood::trees {

namespace {
// Subproblems of two levels with fewer than one in so many of all rows are not kept, and searched anew where they come
// again (docs/decisions/0102-bounds-that-are-known.md, "Memory").
constexpr u32 kKeptShare = 8;
}  // namespace

const char* const kCounterNames[kCounters] = {"subproblems", "cache_hits",      "batches",    "depth_two_splits",
                                              "root_splits", "imported_bounds", "stumps",     "canonical_splits",
                                              "affordable",  "level_roots",     "level_sets", "row_visits",
                                              "work",        "block_work"};

template <class Value>
SolverOf<Value>::SolverOf(SharedOf<Value>& of) : shared(of) {}

template <>
Solution Solver::solve(Rows& rows, int depth, const Request& request) {
  return answer(rows, depth, request);
}

// Trees of L leaves are no deeper than L - 1.
template <>
SolutionOf<Leaves> SolverOf<Leaves>::solve(Rows& rows, int depth, const Request& request) {
  Request narrowed = request;
  narrowed.limit = narrow(request.limit, depth);
  const int needed = std::min(depth, narrowed.limit.most_asked() - 1);
  if (needed <= 0) {  // nothing is asked but the leaf
    Solution solution = Solution::leaf(rows.leaf, depth);
    if (depth > 0) solution.lower = solution.relaxed = Leaves(1, rows.leaf);
    solution.lower.widen(Leaves::room(depth), 0);
    solution.relaxed.widen(Leaves::room(depth), 0);
    return solution;
  }
  narrowed.limit = narrow(narrowed.limit, needed);
  Solution solution = answer(rows, needed, narrowed);
  const int room = Leaves::room(depth), known = solution.upper.size();
  raise_fewer(solution.lower);
  raise_fewer(solution.relaxed);
  solution.upper.widen(room, solution.upper[known]);
  std::fill(solution.plan.begin() + known, solution.plan.begin() + room,
            solution.plan[static_cast<std::size_t>(known - 1)]);
  if (needed < depth) solution.known = nullptr;  // bounds of splits are of one depth
  solution.lower.widen(room, 0);
  solution.relaxed.widen(room, 0);
  return solution;
}

// Whether what is known answers a request; of vectors, what it answers is not asked any more.
template <>
bool Solver::answered(const Solution& known, Request& request) const {
  return known.lower >= request.limit || known.upper - request.gap <= known.lower;
}
template <>
bool SolverOf<Leaves>::answered(const Solution& known, Request& request) const {
  for (int l = 1; l <= request.limit.size(); ++l)
    if (known.lower[l] >= request.limit[l] || known.upper[l] - request.gap <= known.lower[l]) request.limit[l] = 0;
  return !asks(request.limit);
}

template <class Value>
SolutionOf<Value> SolverOf<Value>::answer(Rows& rows, int depth, const Request& wish) {
  ++counters[kSubproblems];
  const Settings& settings = shared.settings;
  const i64 leaf = rows.leaf;
  if (counters[kRowVisits] > last_visit_) {
    shared.tired = true;
    Solution none = Solution::leaf(leaf, depth);
    none.lower = none.relaxed = same<Value>(0, depth);
    none.stopped = true;
    return none;
  }
  if (leaf <= settings.prices.leaf || depth == 0 || rows.n < 2) return Solution::leaf(leaf, depth);
  if (!settings.minimum.may_split(rows.counts)) {  // no permitted split; the relaxation stays unknown
    Solution solution = Solution::leaf(leaf, depth);
    solution.relaxed = same<Value>(0, depth);
    return solution;
  }
  if (depth == 1) return solve_stump(rows, leaf);

  Solution earlier;
  Request request = wish;
  if (settings.rules.cache) {
    if (auto found = shared.cache.find(rows.hash, depth)) {
      if (answered(*found, request)) {
        ++counters[kCacheHits];
        return *std::move(found);
      }
      earlier = *std::move(found);
    }
  }
  const bool affordable = is_affordable(depth, request.limit);
  Solution solution = affordable       ? solve_affordable(rows, request)
                      : batched(depth) ? solve_depth_two(rows, request, false)
                                       : solve_general(rows, depth, request);
  solution.join(earlier);
  solution.clamp();
  const bool kept = depth > 2 || rows.n >= shared.table.n_rows / kKeptShare;
  if (settings.rules.cache && !affordable && kept && !solution.stopped) shared.cache.store(rows.hash, depth, solution);
  return solution;
}

template <class Value>
SolutionOf<Value> SolverOf<Value>::solve_stump(const Rows& rows, i64 leaf) {
  ++counters[kStumps];
  const i64 price = shared.settings.prices.leaf;
  const Stump stump = shared.table.task->stump(shared.table, rows, shared.settings.minimum, shared.stop);
  Solution solution = Solution::leaf(leaf, 1);
  set_two(solution.relaxed, std::min(leaf, stump.cost_all + price));
  if (stump.cost + price < leaf) {
    set_two(solution.upper, stump.cost + price);
    set_two(solution.lower, stump.cost + price);
    set_two(solution.plan, plan_of(stump, rows));
  }
  solution.stopped = shared.stopped();
  if (solution.stopped) solution.lower = solution.relaxed = same<Value>(0, 1);
  return solution;
}

// Where leaves have no price, every split is paid for.
template <class Value>
bool SolverOf<Value>::is_affordable(int depth, const Value& limit) const {
  const Settings& settings = shared.settings;
  if constexpr (kOneNumber<Value>)
    return settings.rules.affordable && settings.prices.leaf > 0 && limit <= settings.prices.leaf * depth;
  else
    return false;
}

// Only trees whose splits the limit pays for are of interest: they are no deeper than their number of splits.
template <class Value>
SolutionOf<Value> SolverOf<Value>::solve_affordable(Rows& rows, const Request& request) {
  Solution solution;
  if constexpr (kOneNumber<Value>) {
    const i64 splits = std::max<i64>(0, (request.limit - 1) / shared.settings.prices.leaf);
    solution = solve(rows, static_cast<int>(splits), request);
    ++counters[kAffordable];
    bound_deeper(solution, splits + 1);
  }
  return solution;
}

// Turns bounds of trees of depth `splits - 1` into bounds of deeper ones too, which have at least `splits` splits.
template <>
void Solver::bound_deeper(Solution& solution, i64 splits) const {
  const i64 leaf_price = shared.settings.prices.leaf, least = splits * leaf_price;
  solution.lower = std::min(solution.lower, least);
  solution.relaxed = std::min(solution.relaxed, least);
  if (!solution.known) return;
  auto known = std::make_shared<KnownSplits>(*solution.known);
  for (i64& bound : known->level_bounds) bound = std::min(bound, least);
  for (KnownSplits::Entry& entry : known->entries) {  // a side of a deeper tree has one split less at least
    const auto limited = [&](KeptBound<i64>& kept, i64 most) {
      if (kept.bound(known->shift) > most) kept = KeptBound<i64>(most, known->shift);
    };
    limited(entry.low_side, least - leaf_price);
    limited(entry.high_side, least - leaf_price);
    limited(entry.total, least);
  }
  solution.known = std::move(known);
}

template <class Value>
SubproblemOf<Value>& SolverOf<Value>::begin(Rows& rows, int depth, const Value& limit, i64 gap) {
  Subproblem& subproblem = level(depth).subproblem;
  subproblem.begin(rows, depth, rows.leaf, limit, gap);
  if (!shared.table.levels.empty()) subproblem.levels_lower = 0;
  subproblem.queue.begin(shared.table, rows, shared.settings.prices, shared.settings.rules);
  return subproblem;
}

template <class Value>
void SolverOf<Value>::open(Subproblem& subproblem, const Neighbours& neighbours, const std::vector<Point>& recorded) {
  counters[kImported] += bounds_.place_points(subproblem, neighbours, shared.settings.prices,
                                              shared.settings.rules.feature_bounds, recorded);
  bounds_.open_intervals(subproblem);
}

template <class Value>
SolutionOf<Value> SolverOf<Value>::solve_depth_two(Rows& rows, const Request& request, bool report)
  requires kOneNumber<Value>
{
  Subproblem& subproblem = begin(rows, 2, request.limit, request.gap);
  subproblem.gap_shift = request.gap_shift;
  counters[kImported] += bounds_.place_points(subproblem, request.neighbours, shared.settings.prices,
                                              shared.settings.rules.feature_bounds);
  const i64 leaf = subproblem.upper;
  typename DepthTwo::Improved improved;
  if (report) improved = [this](const Subproblem& better) { shared.run.offer(better.upper, better.plan); };
  bool stopped = !depth_two.solve(subproblem, bounds_, request.neighbours, improved);
  if (!stopped && !shared.table.levels.empty()) {
    const std::optional<i64> known = depth_two.cost_of_stump();
    const i64 base = known ? *known : solve_stump(rows, leaf).upper;
    subproblem.offer(base, stump_plan());
    stopped = shared.stopped() || !level_roots(subproblem, base, request.neighbours);
  }
  return subproblem.solution(leaf, stopped, request.teach);
}

template <class Value>
SolutionOf<Value> SolverOf<Value>::solve_depth_two(Rows& rows, const Request& request, bool report)
  requires(!kOneNumber<Value>)
{
  SubproblemOf<Two>& subproblem = two_.subproblem;
  subproblem.begin(rows, 2, rows.leaf, Two(request.limit), request.gap);
  subproblem.queue.begin(shared.table, rows, shared.settings.prices, shared.settings.rules);
  NeighboursOf<Two> neighbours;
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    const auto& given = request.neighbours[i];
    neighbours[i] = {given.known ? given.known->few.get() : nullptr, given.subset, given.removed};
  }
  counters[kImported] +=
      two_.bounds.place_points(subproblem, neighbours, shared.settings.prices, shared.settings.rules.feature_bounds);
  typename DepthTwoOf<Two>::Improved improved;
  if (report)
    improved = [this](const SubproblemOf<Two>& better) {
      Solution solution = Solution::leaf(better.rows->leaf, 2);
      take_cheaper(solution.upper, solution.plan, better.upper, better.plan);
      shared.run.update(solution.upper, solution.plan, {});
    };
  const bool stopped = !depth_two.solve(subproblem, two_.bounds, neighbours, improved);
  SolutionOf<Two> few = subproblem.solution(rows.leaf, stopped, request.teach);
  depth_two.add_stump(few);
  Solution solution{Value(few.upper), Value(few.lower), Value(few.relaxed), {}, nullptr, stopped};
  std::move(few.plan.begin(), few.plan.end(), solution.plan.begin());
  if (few.known) {
    auto known = std::make_shared<KnownSplitsOf<Value>>();
    known->few = std::move(few.known);
    solution.known = std::move(known);
  }
  return solution;
}

template class SolverOf<i64>;
template class SolverOf<Leaves>;

}  // namespace proofwood::trees
