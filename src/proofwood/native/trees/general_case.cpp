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
template <class Value>
SolutionOf<Value> SolverOf<Value>::solve_general(Rows& rows, int depth, const Request& request) {
  Subproblem& subproblem = begin(rows, depth, request.limit, request.gap);
  const i64 leaf = rows.leaf;
  open(subproblem, request.neighbours);
  bool stopped = false;
  const bool sets = subproblem.levels_lower < kInfinite;
  Solution shallow;
  if (!subproblem.queue.empty() || sets) {
    shallow = solve(rows, depth - 1, {.limit = limit_of_shallow(depth, request.limit), .gap = request.gap});
    stopped = shallow.stopped;
    take_shallow(subproblem, shallow);
    Candidate candidate;
    Evaluated evaluated;
    while (!stopped && subproblem.take(candidate)) {
      evaluate(rows, depth, candidate, subproblem.gap, evaluated);
      subproblem.record(candidate, evaluated);
      stopped = evaluated.stopped;
    }
    if constexpr (kOneNumber<Value>)
      if (!stopped && sets) stopped = !level_roots(subproblem, shallow.relaxed, request.neighbours);
  }
  Solution solution = subproblem.solution(leaf, stopped, request.teach);
  add_few_leaves(solution, shallow, depth);
  return solution;
}

// What is asked of trees of depth one less on the same rows. At depth two all is asked.
template <class Value>
Value SolverOf<Value>::limit_of_shallow(int depth, const Value& limit) const {
  if constexpr (kOneNumber<Value>) {
    const Settings& settings = shared.settings;
    return depth > 3 && settings.rules.affordable && settings.prices.leaf > 0 ? limit : kInfinite;
  } else {
    Value shallow = narrow(limit, depth - 1);
    for (int l = 1; depth == 3 && l <= shallow.size(); ++l)
      if (shallow[l] > 0) shallow[l] = kInfinite;
    return shallow;
  }
}

template <class Value>
void SolverOf<Value>::take_shallow(Subproblem& subproblem, const Solution& shallow) const {
  subproblem.offer(shallow.upper, shallow.plan);
  subproblem.set_base(shallow.relaxed, shared.settings.prices.leaf);
  if constexpr (!kOneNumber<Value>)  // trees of few leaves need no more depth
    for (int l = 1; l <= std::min(subproblem.depth, subproblem.limit.size()); ++l)
      if (shallow.lower[l] >= std::min(subproblem.limit[l], shallow.upper[l])) subproblem.limit[l] = 0;
}

template <class Value>
void SolverOf<Value>::add_few_leaves(Solution& solution, const Solution& shallow, int depth) const {
  if constexpr (!kOneNumber<Value>) {
    for (int l = 1; l <= std::min(depth, shallow.lower.size()); ++l) {
      solution.lower[l] = std::max(solution.lower[l], shallow.lower[l]);
      solution.relaxed[l] = std::max(solution.relaxed[l], shallow.relaxed[l]);
    }
  }
}

// ------------------------------------------------------------------ one threshold

// Both sides of one split while they are solved, the low one first in each pair.
template <class Value>
struct SolverOf<Value>::Sides {
  const Candidate& candidate;
  int depth;  // of the sides
  i64 gap;
  Value limit;             // both together, without the price of the split
  i64 eta;                 // the bound of a side allows at least this much (Algorithm 1)
  i64 to_below, to_above;  // cost of the rows between the threshold and its neighbours
  Value lower[2], upper[2];
  Plans<Value> plan[2];
};

// What the neighbours u < t < v say of t, by monotonicity and the similarity bound (eq. 3):
// low(t) >= max(low(u), low(v) - d(t, v)), high(t) >= max(high(v), high(u) - d(u, t)).
template <class Value>
void SolverOf<Value>::expect(const Candidate& candidate, i64 to_below, i64 to_above, Point& point) const {
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
    raise(point.low_side, less(candidate.above.low_side, to_above));
    raise(point.high_side, less(candidate.below.high_side, to_below));
  }
}

// What is known of the split as a whole: by its sides, and by its neighbours or from before.
template <class Value>
Value SolverOf<Value>::expect_total(const Candidate& candidate, i64 to_below, i64 to_above, const Point& point) const {
  const bool again = candidate.interval.is_point();
  Value total = join(point.low_side, point.high_side, shared.settings.prices.leaf);
  if constexpr (kOneNumber<Value>) {
    raise(total, again ? candidate.below.total : candidate.interval.bound);
  } else if (again || shared.settings.rules.similarity) {
    raise(total, less(candidate.below.total, to_below));
    raise(total, less(candidate.above.total, to_above));
  }
  return total;
}

// The larger side first, the other one with what is left of the limit.
template <class Value>
void SolverOf<Value>::evaluate(Rows& rows, int depth, const Candidate& candidate, i64 gap, Evaluated& evaluated) {
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
  point.low_side = point.high_side = same<Value>(0, depth - 1);
  expect(candidate, to_below, to_above, point);
  if (!shared.may_split_at(rows, f, w)) {  // no tree here; its bounds of the relaxation stay as they were
    point.total = expect_total(candidate, to_below, to_above, point);
    if constexpr (kOneNumber<Value>) raise(point.total, interval.bound);
    evaluated.lower = all_trees<Value>();
    return;
  }
  if constexpr (!kOneNumber<Value>) {  // the hull of what is open holds thresholds that are not
    point.total = expect_total(candidate, to_below, to_above, point);
    evaluated.lower = point.total;
    if (!is_open(point.total, candidate.limit)) return;
  }
  if (!split(rows, f, w, depth)) {
    evaluated.stopped = true;
    return;
  }
  set_one(point.low_side, level(depth).low.leaf);
  set_one(point.high_side, level(depth).high.leaf);
  const i64 reach = std::max(distance(interval.first, w), distance(w, interval.last));
  // Sides of depth two are solved to the end (eta is infinite by default): an exact value bounds a wide stretch of
  // neighbours. Of deeper sides that made no difference: decisions/0004-exact-sides.
  const double allowed = depth == 3 ? settings.eta : kDeepEta;
  const bool unknown = depth == 3 && !settings.rules.reach;  // the distance: no bound is too high
  const i64 eta =
      static_cast<i64>(std::min(1e18, allowed * (unknown ? 1e18 : static_cast<double>(std::max<i64>(reach, 1)))));
  Sides sides{candidate,
              depth - 1,
              gap / 2,
              candidate.limit,
              eta,
              to_below,
              to_above,
              {point.low_side, point.high_side},
              {same<Value>(level(depth).low.leaf, depth - 1), same<Value>(level(depth).high.leaf, depth - 1)},
              {leaf_plans<Value>(), leaf_plans<Value>()}};
  if constexpr (kOneNumber<Value>)  // one more than needed: a failed side then excludes a tie too, which the
    sides.limit += 1 - leaf_price;  // canonical pass would ask next
  const bool low_first = 2 * weight >= rows.counts.weight;
  solve_side(sides, low_first, evaluated);
  solve_side(sides, !low_first, evaluated);

  point.total = expect_total(candidate, to_below, to_above, point);
  point.upper = join(sides.upper[0], sides.upper[1], leaf_price);
  lower_to(point.total, point.upper);
  evaluated.lower = join(sides.lower[0], sides.lower[1], leaf_price);
  raise(evaluated.lower, point.total);
  if (exceeds(candidate.upper, point.upper))
    evaluated.plan = plans_of(*split_plan(f, rows.key(f)[w - 1], nullptr, nullptr), sides);
}

// The trees of a split, from the best ones of its sides.
template <>
PlanPtr Solver::plans_of(const Plan& root, Sides& sides) const {
  return split_plan(root.feature, root.key, std::move(sides.plan[0]), std::move(sides.plan[1]));
}
template <>
Plans<Leaves> SolverOf<Leaves>::plans_of(const Plan& root, Sides& sides) const {
  const Leaves &low = sides.upper[0], &high = sides.upper[1];
  const Leaves& before = sides.candidate.upper;
  Plans<Leaves> plans{};
  for (int l = 2; l <= before.size(); ++l) {
    i64 best = before[l];
    for (int a = std::max(1, l - high.size()); a <= std::min(low.size(), l - 1); ++a) {
      if (low[a] + high[l - a] >= best) continue;
      best = low[a] + high[l - a];
      plans[static_cast<std::size_t>(l - 1)] =
          split_plan(root.feature, root.key, sides.plan[0][static_cast<std::size_t>(a - 1)],
                     sides.plan[1][static_cast<std::size_t>(l - a - 1)]);
    }
  }
  return plans;
}

// What is asked of a side, and nothing where a bound is known that is enough: of vectors, for each number of its leaves
// what the other side leaves open.
template <>
i64 Solver::limit_of_side(const Sides& sides, bool is_low, const i64& relaxed) const {
  const i64 wanted = std::max(sides.limit - sides.lower[is_low ? 1 : 0], sides.eta);  // UB' of Algorithm 1
  return wanted <= relaxed ? 0 : wanted;
}
template <>
Leaves SolverOf<Leaves>::limit_of_side(const Sides& sides, bool is_low, const Leaves& relaxed) const {
  const Leaves& other = sides.lower[is_low ? 1 : 0];
  Leaves asked(relaxed.size(), 0);
  for (int l = 2; l <= sides.limit.size(); ++l) {
    if (sides.limit[l] <= 0) continue;
    for (int a = std::max(1, l - other.size()); a <= std::min(relaxed.size(), l - 1); ++a) {
      const i64 wanted = std::max(sides.limit[l] - other[l - a], sides.eta);
      if (wanted > relaxed[a]) asked[a] = std::max(asked[a], wanted);
    }
  }
  return asked;
}

template <class Value>
void SolverOf<Value>::solve_side(Sides& sides, bool is_low, Evaluated& evaluated) {
  const int side = is_low ? 0 : 1;
  const Candidate& candidate = sides.candidate;
  Value& relaxed = is_low ? evaluated.point.low_side : evaluated.point.high_side;
  const Value limit = limit_of_side(sides, is_low, relaxed);
  if (!asks(limit) || evaluated.stopped) return;
  Request request{.limit = limit, .gap = sides.gap, .neighbours = {}, .teach = hands_on(sides.depth)};
  if (!candidate.interval.is_point() && request.teach) {
    // of rows that are taken away, it may not be known what they cost
    const bool removed = shared.settings.rules.reach;
    const auto* const below = (is_low ? candidate.below_low_known : candidate.below_high_known).get();
    const auto* const beyond = (is_low ? candidate.above_low_known : candidate.above_high_known).get();
    request.neighbours[0] = {is_low || removed ? below : nullptr, is_low, is_low ? 0 : sides.to_below};
    request.neighbours[1] = {!is_low || removed ? beyond : nullptr, !is_low, is_low ? sides.to_above : 0};
  }
  Level& above = level(sides.depth + 1);
  Solution solution = solve(is_low ? above.low : above.high, sides.depth, request);
  evaluated.stopped |= solution.stopped;
  raise(relaxed, solution.relaxed);
  raise(sides.lower[side], solution.lower);
  if constexpr (kOneNumber<Value>) {
    if (solution.upper <= sides.upper[side]) {
      sides.upper[side] = solution.upper;
      sides.plan[side] = std::move(solution.plan);
    }
  } else {
    take_cheaper(sides.upper[side], sides.plan[side], solution.upper, solution.plan);
  }
  (is_low ? evaluated.low_known : evaluated.high_known) = std::move(solution.known);
}

template Solution Solver::solve_general(Rows& rows, int depth, const Request& request);
template SolutionOf<Leaves> SolverOf<Leaves>::solve_general(Rows& rows, int depth, const Request& request);
template void Solver::take_shallow(Subproblem& subproblem, const Solution& shallow) const;
template void SolverOf<Leaves>::take_shallow(Subproblem& subproblem, const Solution& shallow) const;
template void SolverOf<Leaves>::add_few_leaves(Solution& solution, const Solution& shallow, int depth) const;
template void Solver::evaluate(Rows& rows, int depth, const Candidate& candidate, i64 gap, Evaluated& evaluated);
template void SolverOf<Leaves>::evaluate(Rows& rows, int depth, const Candidate& candidate, i64 gap,
                                         Evaluated& evaluated);

}  // namespace proofwood::trees
