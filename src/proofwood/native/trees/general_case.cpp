// Depth three and more: one threshold at a time, both sides by recursion (ConTree, Algorithm 1;
// docs/theory/optimal-trees.md, "The search").
#include <algorithm>

#include "trees/solver.hpp"

namespace proofwood::trees {

namespace {

constexpr double kDeepEta = 1.0;  // Settings::eta of sides deeper than two

}  // namespace

// Algorithm 1. `Subproblem::take` takes up the interval of least bound and prunes it by the four rules
// (interval_queue.cpp); `record` puts back what is left of it on both sides of the candidate.
Solution Solver::solve_general(Rows& rows, int depth, const Request& request) {
  const Settings& settings = shared.settings;
  Subproblem& subproblem = begin(rows, depth, request.limit, request.gap);
  const i64 leaf = subproblem.upper;
  open(subproblem, request.neighbours);
  bool stopped = false;
  const bool sets = subproblem.levels_lower < kInfinite;
  if (!subproblem.queue.empty() || sets) {
    const i64 wanted = depth > 3 && settings.rules.affordable && settings.prices.leaf > 0 ? request.limit : kInfinite;
    const Solution shallow = solve(rows, depth - 1, {.limit = wanted, .gap = request.gap});
    stopped = shallow.stopped;
    subproblem.offer(shallow.upper, shallow.plan);
    subproblem.set_base(shallow.relaxed, settings.prices.leaf);
    Candidate candidate;
    Evaluated evaluated;
    while (!stopped && subproblem.take(candidate)) {
      evaluate(rows, depth, candidate, subproblem.gap, evaluated);
      subproblem.record(candidate, evaluated);
      stopped = evaluated.stopped;
    }
    if (!stopped && sets) stopped = !level_roots(subproblem, shallow.relaxed, request.neighbours);
  }
  return subproblem.solution(leaf, stopped, request.teach);
}

// ------------------------------------------------------------------ one threshold

// Both sides of one split while they are solved, the low one first in each pair.
struct Solver::Sides {
  const Candidate& candidate;
  int depth;  // of the sides
  i64 gap;
  i64 limit;               // both together, without the price of the split
  i64 eta;                 // the bound of a side allows at least this much (Algorithm 1)
  i64 to_below, to_above;  // cost of the rows between the threshold and its neighbours
  i64 lower[2], upper[2];
  PlanPtr plan[2];
};

// What the neighbours u < t < v say of t, by monotonicity and the similarity bound (eq. 3):
// low(t) >= max(low(u), low(v) - d(t, v)), high(t) >= max(high(v), high(u) - d(u, t)).
void Solver::expect(const Candidate& candidate, i64 to_below, i64 to_above, Point& point) const {
  const Rules& rules = shared.settings.rules;
  point.feature = candidate.interval.feature;
  point.position = candidate.position;
  point.evaluated = true;
  if (candidate.interval.is_point()) {
    point.low_side = candidate.below.low_side;
    point.high_side = candidate.below.high_side;
    return;
  }
  if (rules.sub_interval) {
    point.low_side = candidate.below.low_side;
    point.high_side = candidate.above.high_side;
  }
  if (rules.similarity) {
    point.low_side = std::max(point.low_side, candidate.above.low_side - to_above);
    point.high_side = std::max(point.high_side, candidate.below.high_side - to_below);
  }
}

// The larger side first, the other one with what is left of the limit.
void Solver::evaluate(Rows& rows, int depth, const Candidate& candidate, i64 gap, Evaluated& evaluated) {
  const Settings& settings = shared.settings;
  const Interval& interval = candidate.interval;
  const u32 f = interval.feature, w = candidate.position;
  const i64 leaf_price = settings.prices.leaf;
  const i64 weight = rows.weight_before(shared.table, f, w);
  const auto distance = [&](u32 a, u32 b) {
    return settings.prices.error * (rows.weight_before(shared.table, f, b) - rows.weight_before(shared.table, f, a));
  };
  const bool again = interval.is_point();
  const i64 to_below = again ? 0 : distance(candidate.below.position, w),
            to_above = again ? 0 : distance(w, candidate.above.position);
  evaluated = {};
  Point& point = evaluated.point;
  expect(candidate, to_below, to_above, point);
  if (!shared.may_split_at(rows, f, w)) {  // no tree here; its bounds of the relaxation stay as they were
    point.total = std::max(point.low_side + point.high_side + leaf_price, interval.bound);
    evaluated.lower = kInfinite;
    return;
  }
  if (!split(rows, f, w, depth)) {
    evaluated.stopped = true;
    return;
  }
  const i64 reach = std::max(distance(interval.first, w), distance(w, interval.last));
  // Sides of depth two are solved to the end (eta is infinite by default): an exact value bounds a wide stretch of
  // neighbours. Of deeper sides that made no difference: decisions/0004-exact-sides.
  const double allowed = depth == 3 ? settings.eta : kDeepEta;
  const bool unknown = depth == 3 && !settings.rules.reach;  // the distance: no bound is too high
  const i64 eta =
      static_cast<i64>(std::min(1e18, allowed * (unknown ? 1e18 : static_cast<double>(std::max<i64>(reach, 1)))));
  // one more than needed: a failed side then excludes a tie too, which the canonical pass would ask next
  const i64 limit = candidate.limit + 1 - leaf_price;
  Sides sides{candidate,
              depth - 1,
              gap / 2,
              limit,
              eta,
              to_below,
              to_above,
              {point.low_side, point.high_side},
              {level(depth).low.leaf, level(depth).high.leaf},
              {leaf_plan(), leaf_plan()}};
  const bool low_first = 2 * weight >= rows.counts.weight;
  solve_side(sides, low_first, evaluated);
  solve_side(sides, !low_first, evaluated);

  point.total = std::max(point.low_side + point.high_side + leaf_price, again ? candidate.below.total : interval.bound);
  point.upper = sides.upper[0] + sides.upper[1] + leaf_price;
  point.total = std::min(point.total, point.upper);
  evaluated.lower = std::max(sides.lower[0] + sides.lower[1] + leaf_price, point.total);
  if (point.upper < candidate.upper)
    evaluated.plan = split_plan(f, rows.key(f)[w - 1], std::move(sides.plan[0]), std::move(sides.plan[1]));
}

void Solver::solve_side(Sides& sides, bool is_low, Evaluated& evaluated) {
  const int side = is_low ? 0 : 1;
  const Candidate& candidate = sides.candidate;
  i64& relaxed = is_low ? evaluated.point.low_side : evaluated.point.high_side;
  const i64 wanted = std::max(sides.limit - sides.lower[1 - side], sides.eta);  // UB' of Algorithm 1
  if (wanted <= relaxed || evaluated.stopped) return;                           // this side is only bounded
  Request request{.limit = wanted, .gap = sides.gap, .neighbours = {}, .teach = hands_on(sides.depth)};
  if (!candidate.interval.is_point() && request.teach) {
    // of rows that are taken away, it may not be known what they cost
    const bool removed = shared.settings.rules.reach;
    const KnownSplits* const below = (is_low ? candidate.below_low_known : candidate.below_high_known).get();
    const KnownSplits* const beyond = (is_low ? candidate.above_low_known : candidate.above_high_known).get();
    request.neighbours[0] = {is_low || removed ? below : nullptr, is_low, is_low ? 0 : sides.to_below};
    request.neighbours[1] = {!is_low || removed ? beyond : nullptr, !is_low, is_low ? sides.to_above : 0};
  }
  Level& above = level(sides.depth + 1);
  Solution solution = solve(is_low ? above.low : above.high, sides.depth, request);
  evaluated.stopped |= solution.stopped;
  relaxed = std::max(relaxed, solution.relaxed);
  sides.lower[side] = std::max(sides.lower[side], solution.lower);
  if (solution.upper <= sides.upper[side]) {
    sides.upper[side] = solution.upper;
    sides.plan[side] = std::move(solution.plan);
  }
  (is_low ? evaluated.low_known : evaluated.high_known) = std::move(solution.known);
}

}  // namespace proofwood::trees
