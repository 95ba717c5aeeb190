// Solves sets of rows over packed tests, depth by depth (docs/theory/optimal-trees.md, "Packed tests").
#include "trees/packed/solver.hpp"

#include <algorithm>

namespace proofwood::trees::packed {

namespace {

Solution nothing_proved(i64 leaf) {
  Solution solution = Solution::exact(leaf, leaf_plan());
  solution.lower = solution.relaxed = 0;
  solution.stopped = true;
  return solution;
}

}  // namespace

Solver::Solver(Shared& of, const TestTable& table, const Kernels& kernels)
    : shared(of),
      table_(table),
      kernels_(kernels),
      stop_{[](const void* run) { return static_cast<const Shared*>(run)->stopped(); }, &of},
      stumps_(table.by_sums() ? table.all->sums_task->stumps(table, kernels, of.settings, stop_)
                              : std::make_unique<ClassStumps>(table, kernels, of.settings, stop_)) {}

Solution Solver::solve(RowSet& rows, int depth, i64 limit) {
  ++counters[kSubproblems];
  const Settings& settings = shared.settings;
  const i64 leaf = leaf_cost(rows), price = settings.prices.leaf;
  if (leaf <= price || depth == 0 || rows.n < 2 || !settings.minimum.may_split(rows.counts))
    return Solution::exact(leaf, leaf_plan());
  Solution earlier;
  if (settings.rules.cache) {
    if (auto found = shared.cache.find(rows.hash, depth)) {
      if (found->lower >= limit || found->upper <= found->lower) {
        ++counters[kCacheHits];
        return *std::move(found);
      }
      earlier = *std::move(found);
    }
  }
  const bool few = settings.rules.affordable && price > 0 && limit <= price * depth;
  open(rows);
  Solution solution = few          ? affordable(rows, limit)
                      : depth == 1 ? one(rows)
                      : depth == 2 ? two(rows)
                                   : deep(rows, depth, limit);
  solution.join(earlier);
  solution.clamp();
  if (settings.rules.cache && !few && !solution.stopped) shared.cache.store(rows.hash, depth, solution);
  return solution;
}

// Only trees whose splits the limit pays for are of interest: they are no deeper than their number of splits.
Solution Solver::affordable(RowSet& rows, i64 limit) {
  const i64 price = shared.settings.prices.leaf, splits = std::max<i64>(0, (limit - 1) / price);
  Solution solution = solve(rows, static_cast<int>(splits), limit);
  ++counters[kAffordable];
  solution.lower = std::min(solution.lower, (splits + 1) * price);
  solution.relaxed = std::min(solution.relaxed, solution.lower);
  return solution;
}

Solution Solver::one(RowSet& rows) {
  ++counters[kStumps];
  stumps_->count_single(rows);
  Solution solution = Solution::exact(leaf_cost(rows), leaf_plan());
  for (u32 test = 0; test < rows.n_tests(); ++test) {
    const i64 cost = stumps_->stump(test);
    if (cost < solution.upper) solution = Solution::exact(cost, stump_plan());
  }
  return solution;
}

Solution Solver::two(RowSet& rows) {
  ++counters[kBatches];
  stumps_->count(rows);
  const i64 leaf = leaf_cost(rows);
  if (shared.stopped()) return nothing_proved(leaf);
  const i64 cost = stumps_->least(Stumps::kWhole);
  return cost < leaf ? Solution::exact(cost, plan_of_two(rows, Stumps::kWhole)) : Solution::exact(leaf, leaf_plan());
}

// The best tree of depth two of sums: a leaf, or the first root that is best.
PlanPtr Solver::plan_of_two(const RowSet& rows, Stumps::Of of) {
  stumps_->costs(of, costs_);
  const auto best = std::min_element(costs_.begin(), costs_.end());
  if (best == costs_.end() || *best >= stumps_->leaf(of)) return leaf_plan();
  return plan_of(rows, static_cast<u32>(best - costs_.begin()), stump_plan(), stump_plan());
}

PlanPtr Solver::plan_of(const RowSet& rows, u32 test, PlanPtr holds, PlanPtr fails) const {
  const Test& of = table_.tests[rows.tests[test]];
  return split_plan(of.feature, of.key(), std::move(fails), std::move(holds));
}

void Solver::split(const RowSet& rows, u32 test, RowSet& holds, RowSet& fails) const {
  holds.take_side(table_, kernels_, rows, test, true);
  fails.take_side(table_, kernels_, rows, test, false);
}

// ------------------------------------------------------------------ depth three and more

Roots& Solver::begin_roots(const RowSet& rows, int depth, i64 limit, i64 gap, i64 whole) {
  const Settings& settings = shared.settings;
  Level& at = level(depth);
  const bool similar = settings.rules.similarity && !settings.minimum.any() && !table_.by_sums();
  if (similar) at.similar.begin(table_, kernels_, rows, settings.prices.error, whole, stop_);
  at.roots.begin(rows.n_tests(), limit, gap, settings.prices.leaf, rank_, similar ? &at.similar : nullptr);
  return at.roots;
}

Roots& Solver::begin_roots(const RowSet& rows, int depth, i64 limit, i64 gap, const Solution& shallow) {
  if (depth == 3)
    stumps_->costs(Stumps::kWhole, rank_);
  else
    rank_ = level(depth - 1).roots.bound;
  Roots& roots = begin_roots(rows, depth, limit, gap, shallow.lower);
  roots.offer(leaf_cost(rows), leaf_plan());
  roots.offer(shallow.upper, shallow.plan);
  return roots;
}

// Best tree of one level less first: it is one of this depth, orders the roots and bounds their sides.
Solution Solver::deep(RowSet& rows, int depth, i64 limit) {
  Solution shallow = depth == 3 ? two(rows) : deep(rows, depth - 1, kInfinite);
  if (shallow.stopped) return shallow;
  if (shared.settings.rules.cache) shared.cache.store(rows.hash, depth - 1, shallow);
  Roots& roots = begin_roots(rows, depth, limit, 0, shallow);
  Roots::Candidate candidate;
  while (roots.upper > 0 && roots.take(candidate)) {
    Roots::Found found;
    evaluate(rows, depth, candidate, roots.cutoff(), roots.upper, found);
    if (found.stopped) return nothing_proved(leaf_cost(rows));
    roots.record(candidate, found);
  }
  if (shared.stopped()) return nothing_proved(leaf_cost(rows));
  Solution solution = Solution::exact(roots.upper, roots.plan);
  solution.lower = solution.relaxed = roots.upper > 0 ? roots.lower() : 0;
  return solution;
}

void Solver::evaluate(RowSet& rows, int depth, const Roots::Candidate& candidate, i64 cutoff, i64 upper,
                      Roots::Found& found) {
  if (depth == 3)
    evaluate_three(rows, candidate, upper, found);
  else
    evaluate_deep(rows, depth, candidate, cutoff, upper, found);
  found.stopped |= shared.stopped();
}

// Both sides by the sums of all pairs: the whole of `stumps_` are those of the set.
void Solver::evaluate_three(RowSet& rows, const Roots::Candidate& candidate, i64 upper, Roots::Found& found) {
  ++counters[kCandidates];
  if (!stumps_->permitted(candidate.test)) {
    found.lower = kInfinite;
    return;
  }
  u64 hashes[2][2];
  const bool kept = table_.by_sums() && shared.settings.rules.cache;
  if (kept && known_sides(rows, candidate.test, hashes, found)) return;
  const bool part_holds = stumps_->divide(rows, candidate.test);
  const i64 part = stumps_->least(Stumps::kPart), rest = stumps_->least(Stumps::kRest);
  found.holds = part_holds ? part : rest;
  found.fails = part_holds ? rest : part;
  found.lower = found.upper = part + rest + shared.settings.prices.leaf;
  if (found.upper >= upper && (!kept || shared.stopped())) return;
  PlanPtr of_part = plan_of_two(rows, Stumps::kPart), of_rest = plan_of_two(rows, Stumps::kRest);
  if (!part_holds) std::swap(of_part, of_rest);
  if (kept && !shared.stopped()) {
    shared.cache.store(hashes[0], 2, Solution::exact(found.holds, of_part));
    shared.cache.store(hashes[1], 2, Solution::exact(found.fails, of_rest));
  }
  if (found.upper < upper) found.plan = plan_of(rows, candidate.test, std::move(of_part), std::move(of_rest));
}

// Costs by sums take so long that both sides are looked up: of two tests, either may come first.
bool Solver::known_sides(const RowSet& rows, u32 test, u64 (&hashes)[2][2], Roots::Found& found) {
  rows.side_hash(table_, kernels_, test, true, hashes[0]);
  for (const int word : {0, 1}) hashes[1][word] = rows.hash[word] - hashes[0][word];
  const auto holds = shared.cache.find(hashes[0], 2);
  const auto fails = holds && holds->lower == holds->upper ? shared.cache.find(hashes[1], 2) : std::nullopt;
  if (!fails || fails->lower < fails->upper) return false;
  ++counters[kCacheHits];
  found.holds = holds->upper;
  found.fails = fails->upper;
  found.lower = found.upper = found.holds + found.fails + shared.settings.prices.leaf;
  found.plan = plan_of(rows, test, holds->plan, fails->plan);
  return true;
}

// The heavier side first, the other one with what is left.
void Solver::evaluate_deep(RowSet& rows, int depth, const Roots::Candidate& candidate, i64 cutoff, i64 upper,
                           Roots::Found& found) {
  const i64 price = shared.settings.prices.leaf;
  Level& at = level(depth);
  split(rows, candidate.test, at.holds, at.fails);
  if (!permitted(at.holds) || !permitted(at.fails)) {
    found.lower = kInfinite;
    return;
  }
  RowSet* const side[2] = {&at.holds, &at.fails};
  i64 lower[2] = {candidate.holds, candidate.fails}, cost[2] = {kInfinite, kInfinite};
  PlanPtr plan[2];
  for (int s = 0; s < 2; ++s)
    if (shared.settings.rules.cache)
      if (const auto known = shared.cache.find(side[s]->hash, depth - 1)) lower[s] = std::max(lower[s], known->lower);
  const int first = at.holds.counts.weight >= at.fails.counts.weight ? 0 : 1;
  for (const int s : {first, 1 - first}) {
    if (lower[0] + lower[1] + price >= cutoff) break;
    // one more than needed: a side that fails excludes a tie too, which is asked about in the end
    Solution solution = solve(*side[s], depth - 1, cutoff + 1 - price - lower[1 - s]);
    if (solution.stopped) {
      found.stopped = true;
      return;
    }
    lower[s] = std::max(lower[s], solution.lower);
    cost[s] = solution.upper;
    plan[s] = std::move(solution.plan);
  }
  found.holds = lower[0];
  found.fails = lower[1];
  found.lower = lower[0] + lower[1] + price;
  if (cost[0] == kInfinite || cost[1] == kInfinite) return;
  found.upper = cost[0] + cost[1] + price;
  if (found.upper < upper) found.plan = plan_of(rows, candidate.test, std::move(plan[0]), std::move(plan[1]));
}

// ------------------------------------------------------------------ the first of the best

std::optional<u32> Solver::first_root(RowSet& rows, int depth, i64 optimum, const std::vector<i64>& bound,
                                      const LookedAt& looked_at) {
  open(rows);
  if (depth == 1) {
    stumps_->count_single(rows);
    return stumps_->first_stump(optimum);
  }
  if (depth <= 3) stumps_->count(rows);
  if (depth == 2) {
    stumps_->costs(Stumps::kWhole, costs_);
    const auto first = std::find(costs_.begin(), costs_.end(), optimum);
    if (first == costs_.end()) return std::nullopt;
    return static_cast<u32>(first - costs_.begin());
  }
  rank_.assign(rows.n_tests(), 0);  // in their order
  Roots& roots = begin_roots(rows, depth, optimum + 1, 0, optimum);
  if (!bound.empty()) roots.bound = bound;
  Roots::Candidate candidate;
  while (roots.take(candidate)) {
    Roots::Found found;
    evaluate(rows, depth, candidate, optimum + 1, optimum + 1, found);
    ++counters[kCanonicalSplits];
    if (found.stopped) break;
    looked_at(candidate, found);
    if (found.upper == optimum) return candidate.test;
    roots.record(candidate, found);
  }
  return std::nullopt;
}

// ------------------------------------------------------------------ ends of plans

PlanPtr Solver::end(const std::vector<u32>& entries, const std::vector<u32>& group) {
  const std::optional<u32> stump = stumps_->best_stump(entries, group);
  if (!stump) return leaf_plan();
  const Test& test = table_.tests[*stump];
  return split_plan(test.feature, test.key(), leaf_plan(), leaf_plan());
}

}  // namespace proofwood::trees::packed
