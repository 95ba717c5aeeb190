// Sets of levels at the root of a subproblem (docs/theory/optimal-trees.md, "Sets of levels above deeper trees").
#include "trees/level_roots.hpp"

#include <algorithm>
#include <array>

namespace proofwood::trees {

// ------------------------------------------------------------------ all columns of a subproblem

template <>
bool Solver::level_roots(Subproblem& subproblem, const i64& base, const Neighbours& neighbours) {
  const i64 leaf_price = shared.settings.prices.leaf;
  const auto& columns = shared.table.levels;
  i64 least = kInfinite;
  std::vector<i64> bounds(columns.size(), leaf_price);
  std::vector<u32> open;
  for (u32 c = 0; c < columns.size(); ++c) {
    bounds[c] = std::max(bounds[c], level_bound(neighbours, c));
    if (subproblem.journal)
      bounds[c] = std::max(bounds[c], subproblem.journal->level_bound(subproblem.depth, columns[c].column));
    if (columns[c].tested_at(subproblem.depth) && bounds[c] < subproblem.cutoff()) open.push_back(c);
  }
  if (batched(subproblem.depth) && !open.empty() && !depth_two.bound_level_roots(*subproblem.rows, open, bounds))
    return false;
  bool stopped = false;
  subproblem.level_bounds.assign(columns.size(), 0);
  for (u32 c = 0; c < columns.size(); ++c) {
    if (!columns[c].tested_at(
            subproblem.depth)) {  // at the root of a tree of depth one less, which is one of ours, too
      least = std::min(least, base);
      continue;
    }
    if (bounds[c] < subproblem.cutoff()) {
      const i64 before = subproblem.upper;
      const LevelSplit split = stopped ? LevelSplit{.bound = 0} : level_root(subproblem, c);
      bounds[c] = std::max(bounds[c], split.bound);
      stopped |= split.stopped;
      if (subproblem.journal && !split.stopped) {
        if (subproblem.upper < before) subproblem.note_best(shared.table);
        subproblem.journal->note(LevelRecord{subproblem.depth, columns[c].column, bounds[c]});
      }
    }
    least = std::min(least, bounds[c]);
    subproblem.level_bounds[c] = std::min(bounds[c], base + leaf_price);  // sets of none or of all levels, too
  }
  subproblem.levels_lower = least;
  return !stopped;
}

// The best set of levels of a column, offered to the subproblem.
template <>
LevelSplit Solver::level_root(Subproblem& subproblem, u32 c) {
  ++counters[kLevelRoots];
  const bool branched = shared.table.levels[c].anywhere;
  LevelSplit split;
  if (by_pairs(subproblem.depth, c)) {
    split = level_pair(subproblem, c, {.limit = subproblem.cutoff(), .steps = steps_for(*subproblem.rows, c)});
    if (!split.stopped || shared.stopped() || !branched) return split;
  }
  const i64 known = split.bound == kInfinite ? 0 : split.bound;
  split = LevelBranching(*this, subproblem, c, kInfinite).run();
  split.bound = std::max(split.bound, known);
  return split;
}

template <>
LevelSplit Solver::level_pair(Subproblem& subproblem, u32 c, const LevelQuestion& question) {
  const LevelSplit split =
      best_level_pair(shared.table, *subproblem.rows, c, *select_kernels(shared.settings.isa, 0, 0),
                      shared.settings.prices, question, shared.stop);
  if (split.low != 0)
    subproblem.offer(split.cost,
                     level_plan(shared.table.n_features + c, split.low, split.low_stump ? stump_plan() : leaf_plan(),
                                split.high_stump ? stump_plan() : leaf_plan()));
  return split;
}

template <>
bool Solver::by_pairs(int depth, u32 c) const {
  return batched(depth) || (depth == 2 && !shared.table.levels[c].anywhere);
}

// Pairs of ends to look at before the levels are branched on, which takes a walk over all features for each set.
template <>
u64 Solver::steps_for(const Rows& rows, u32 c) const {
  constexpr u64 kLeast = 1000, kValuesPerStep = 25;  // a step takes as long as the walk over this many values
  const LevelColumn& column = shared.table.levels[c];
  if (!column.anywhere) return ~u64{0};
  const u64 features = rows.n_features + shared.table.levels.size();
  return std::max(kLeast, (u64{1} << column.n_levels()) / 2 * rows.n * features / kValuesPerStep);
}

// What neighbours know of the sets of a column: as of thresholds (neighbour_bounds.hpp).
template <>
i64 Solver::level_bound(const Neighbours& neighbours, u32 c) {
  i64 bound = 0;
  for (const Neighbour& neighbour : neighbours) {
    if (neighbour.known == nullptr || neighbour.known->level_bounds.empty()) continue;
    bound = std::max(bound, neighbour.known->level_bounds[c] - (neighbour.subset ? 0 : neighbour.removed));
  }
  return bound;
}

template <>
LevelSet Solver::first_level_split(Rows& rows, int depth, u32 c, i64 optimum) {
  if (!shared.table.levels[c].tested_at(depth)) return 0;
  if (depth == 2) {
    const LevelSplit split =
        best_level_pair(shared.table, rows, c, *select_kernels(shared.settings.isa, 0, 0), shared.settings.prices,
                        {optimum + 1, true, steps_for(rows, c)}, shared.stop);
    if (!split.stopped || shared.stopped()) return split.low;
  }
  return LevelBranching(*this, begin(rows, depth, optimum + 1, 0), c, optimum).run().low;
}

// ------------------------------------------------------------------ branch and bound

LevelBranching::LevelBranching(Solver& solver, Subproblem& subproblem, u32 c, i64 optimum)
    : solver_(solver),
      subproblem_(subproblem),
      column_(solver.shared.table.levels[c]),
      optimum_(optimum),
      price_(solver.shared.settings.prices.leaf),
      feature_(solver.shared.table.n_features + c) {}

LevelSplit LevelBranching::run() {
  order_levels();
  if (levels_.size() < 2) return answer_;
  if (solve_singles()) search(0, {}, {});
  return answer_;
}

void LevelBranching::order_levels() {
  const Rows& rows = *subproblem_.rows;
  std::array<i64, kMostLevels> weight{};
  LevelSet present = 0;
  for (u32 local = 0; local < rows.n; ++local) {
    const u32 r = rows.row(local);
    weight[column_.code[r]] += solver_.shared.table.weight[r];
    present |= only(column_.code[r]);
  }
  for (u32 level = 0; level < column_.n_levels(); ++level)
    if (contains(present, level)) levels_.push_back(level);
  std::stable_sort(levels_.begin(), levels_.end(), [&](u32 a, u32 b) { return weight[a] > weight[b]; });
}

// False if they alone show that no split is wanted, or if stopped.
bool LevelBranching::solve_singles() {
  i64 sum = price_;
  for (const u32 level : levels_) {
    single_[level] = wrong(solve(only(level), kInfinite).lower);
    if (!answer_.stopped) sum += single_[level];
    if (answer_.stopped || sum >= cutoff()) {
      note(sum);
      return false;
    }
  }
  open_.assign(levels_.size() + 1, 0);
  for (std::size_t i = levels_.size(); i-- > 0;) open_[i] = open_[i + 1] + single_[levels_[i]];
  return true;
}

// Splits that a tree of a side can have.
i64 LevelBranching::most_splits() const {
  constexpr int kLast = 40;  // deeper trees have more splits than any price lets pay
  return (i64{1} << std::min(subproblem_.depth - 1, kLast)) - 1;
}

// What a tree of a side gets wrong at the least, if every one costs this.
i64 LevelBranching::wrong(i64 cost) const {
  if (price_ == 0) return cost;
  return cost / price_ < most_splits() ? 0 : cost - price_ * most_splits();
}

// The best tree of the rows of these levels, if it costs less than `limit`.
const Solution& LevelBranching::solve(LevelSet set, i64 limit) {
  Solution& known = solved_[set];
  const i64 gap = subproblem_.gap / 2;
  if (known.lower >= limit || known.upper - gap <= known.lower) return known;
  Solver::Level& level = solver_.level(subproblem_.depth);
  if (!solver_.split_levels(*subproblem_.rows, column_, set, subproblem_.depth)) {
    answer_.stopped = true;
    return known;
  }
  ++solver_.counters[kLevelSets];
  Solution found = solver_.solve(level.low, subproblem_.depth - 1, {.limit = limit, .gap = gap});
  answer_.stopped |= found.stopped;
  found.join(known);
  known = std::move(found);
  return known;
}

// Sum of what these levels get wrong alone.
i64 LevelBranching::alone(LevelSet set) const {
  i64 sum = 0;
  for (const u32 level : levels_)
    if (contains(set, level)) sum += single_[level];
  return sum;
}

// OPT(set) by what is known of its parts.
i64 LevelBranching::least_of_parts(LevelSet set) const {
  i64 least = 0;
  for (const auto& [part, known] : solved_)
    if ((part & ~set) == 0) least = std::max(least, known.lower + alone(set & ~part));
  return least;
}

LevelBranching::Side LevelBranching::with(const Side& side, u32 level, i64 limit) {
  const LevelSet levels = side.levels | only(level);
  const i64 least = least_of_parts(levels);
  if (least >= limit) return {levels, least};
  return {levels, std::max(least, solve(levels, limit).lower)};
}

void LevelBranching::search(std::size_t next, const Side& low, const Side& high) {
  const i64 bound = low.lower + high.lower + open_[next] + price_;
  if (bound >= cutoff() || done()) {
    note(bound);
    return;
  }
  if (next == levels_.size()) {
    offer(low, high);
    return;
  }
  const i64 rest = open_[next + 1] + price_;
  const Side lower = with(low, levels_[next], cutoff() - high.lower - rest);
  if (next == 0) {  // low, since the complement of a set is the same split
    search(1, lower, high);
    return;
  }
  const Side higher = with(high, levels_[next], cutoff() - low.lower - rest);
  if (answer_.stopped) {
    note(bound);
    return;
  }
  const bool low_first = optimum_ < kInfinite || lower.lower + high.lower <= low.lower + higher.lower;
  for (const bool is_low : {low_first, !low_first}) {
    if (is_low)
      search(next + 1, lower, high);
    else
      search(next + 1, low, higher);
  }
}

// Both sides are solved: else their bounds had reached the cutoff.
void LevelBranching::offer(const Side& low, const Side& high) {
  note(low.lower + high.lower + price_);
  if (high.levels == 0) return;  // splits nothing
  const Solution &one = solved_.at(low.levels), &two = solved_.at(high.levels);
  const i64 cost = one.upper + two.upper + price_;
  if (cost >= answer_.cost || (optimum_ < kInfinite && cost != optimum_)) return;
  answer_.cost = cost;
  answer_.low = low.levels;
  subproblem_.offer(cost, level_plan(feature_, low.levels, one.plan, two.plan));
}

}  // namespace proofwood::trees
