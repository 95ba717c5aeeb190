// A subproblem of the search: taking a candidate and recording what was found (ConTree, Algorithm 1;
// docs/theory/optimal-trees.md, "The search").
#include "trees/subproblem.hpp"

namespace proofwood::trees {

void Subproblem::begin(Rows& of, int depth_, i64 leaf, i64 limit_, i64 gap_) {
  rows = &of;
  depth = depth_;
  limit = limit_;
  gap = gap_;
  gap_shift = 0;
  upper = leaf;
  plan = leaf_plan();
  evaluated_lower = evaluated_relaxed = kInfinite;
  known.clear();
  busy.clear();
  ends.clear();
  levels_lower = kInfinite;
  level_bounds.clear();
  journal = nullptr;
}

void Subproblem::set_base(i64 base, i64 leaf_price) {
  for (const auto& [at_first, at_last] : ends) {
    Point& first = queue.points[at_first];
    Point& last = queue.points[at_last];
    first.high_side = std::max(first.high_side, base);
    last.low_side = std::max(last.low_side, base);
    first.total = last.total = base + leaf_price;
  }
}

void Subproblem::offer(i64 cost, PlanPtr tree) {
  if (cost >= upper) return;
  upper = cost;
  plan = std::move(tree);
}

// A lower bound above the cost of a tree in hand would be a wrong bound: better no answer than that.
i64 Subproblem::checked_lower(i64 leaf) const {
  const i64 least = lower(leaf);
  if (least > upper) throw std::logic_error("a lower bound exceeds the cost of a tree: please report this data");
  return least;
}

Solution Subproblem::solution(i64 leaf, bool stopped, bool teach) const {
  Solution solution{upper, checked_lower(leaf), relaxed(leaf), plan, nullptr, stopped};
  if (teach && !stopped) solution.known = known_splits(*this);
  return solution;
}

bool Subproblem::take(Candidate& candidate) {
  candidate.limit = cutoff();
  candidate.upper = upper;
  if (!queue.take(candidate.interval, candidate.limit)) return false;
  std::vector<u32> positions;
  if (candidate.interval.is_point())
    positions.push_back(candidate.interval.first);
  else
    queue.choose(candidate.interval, 1, positions);
  candidate.position = positions.front();
  candidate.below = queue.points[candidate.interval.below];
  candidate.above = queue.points[candidate.interval.above];
  const auto learned = [&](int at) { return at < 0 ? nullptr : known[at]; };
  candidate.below_low_known = learned(candidate.below.low_known);
  candidate.below_high_known = learned(candidate.below.high_known);
  candidate.above_low_known = learned(candidate.above.low_known);
  candidate.above_high_known = learned(candidate.above.high_known);
  return true;
}

void Subproblem::record(const Candidate& candidate, Evaluated& evaluated, bool all_optima) {
  const Interval& interval = candidate.interval;
  if (evaluated.plan) offer(evaluated.point.upper, evaluated.plan);
  if (evaluated.stopped) {  // evaluated in part: its interval stays open
    queue.put_back(interval);
    return;
  }
  const auto keep = [&](KnownSplitsPtr& splits) {
    if (!splits) return -1;
    known.push_back(std::move(splits));
    return static_cast<int>(known.size()) - 1;
  };
  evaluated.point.low_known = keep(evaluated.low_known);
  evaluated.point.high_known = keep(evaluated.high_known);
  evaluated_lower = std::min(evaluated_lower, evaluated.lower);
  evaluated_relaxed = std::min(evaluated_relaxed, evaluated.point.total);
  if (interval.is_point()) {
    queue.points[interval.below] = evaluated.point;
    return;
  }
  queue.points.push_back(evaluated.point);
  const int at = static_cast<int>(queue.points.size()) - 1;
  const i64 wanted = all_optima ? limit : cutoff();
  queue.add_part(interval, interval.below, at, wanted);
  queue.add_part(interval, at, interval.above, wanted);
}

void Subproblem::note(const Evaluated& evaluated, const Table& table) const {
  if (journal == nullptr || evaluated.stopped) return;
  const Point& point = evaluated.point;
  journal->note(SplitRecord{.depth = depth,
                            .column = table.column[point.feature],
                            .rank = rows->key(point.feature)[point.position - 1] >> kLabelBits,
                            .low_side = point.low_side,
                            .high_side = point.high_side,
                            .total = point.total,
                            .lower = evaluated.lower,
                            .upper = point.upper});
}

void Subproblem::note_best(const Table& table) const {
  if (journal == nullptr || !plan) return;
  journal->note(DepthRecord{depth, upper, 0, 0, false, numbers_of(*plan, table)});
}

}  // namespace proofwood::trees
