// A subproblem of the search: taking a candidate and recording what was found (ConTree, Algorithm 1;
// docs/theory/optimal-trees.md, "The search").
#include "trees/subproblem.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace proofwood::trees {

template <class Value>
void SubproblemOf<Value>::begin(Rows& of, int depth_, i64 leaf, const Value& limit_, i64 gap_) {
  rows = &of;
  depth = depth_;
  limit = narrow(limit_, depth);
  gap = gap_;
  gap_shift = 0;
  choice = {};
  upper = same<Value>(leaf, depth);
  plan = leaf_plans<Value>();
  evaluated_lower = evaluated_relaxed = all_trees<Value>();
  known.clear();
  busy.clear();
  ends.clear();
  levels_lower = kInfinite;
  level_bounds.clear();
  journal = nullptr;
}

template <class Value>
void SubproblemOf<Value>::set_base(const Value& base, i64 leaf_price) {
  const Value total = join(same<Value>(0, depth - 1), base, leaf_price);
  for (const auto& [at_first, at_last] : ends) {
    auto& first = queue.points[at_first];
    auto& last = queue.points[at_last];
    raise(first.high_side, base);
    raise(last.low_side, base);
    first.total = last.total = total;
  }
}

template <class Value>
void SubproblemOf<Value>::offer(const Value& cost, const Plans<Value>& tree) {
  if constexpr (kOneNumber<Value>) {
    if (cost >= upper) return;
    upper = cost;
    plan = tree;
  } else {
    take_cheaper(upper, plan, cost, tree);
  }
}

// A lower bound above the cost of a tree in hand would be a wrong bound: better no answer than that.
template <class Value>
Value SubproblemOf<Value>::checked_lower(i64 leaf) const {
  const Value least = lower(leaf);
  if (exceeds(least, upper))
    throw std::logic_error("a lower bound exceeds the cost of a tree: please report this data");
  return least;
}

template <class Value>
SolutionOf<Value> SubproblemOf<Value>::solution(i64 leaf, bool stopped, bool teach) const {
  Solution solution{upper, checked_lower(leaf), relaxed(leaf), plan, nullptr, stopped};
  set_one(solution.lower, leaf);
  set_one(solution.relaxed, leaf);
  if (teach && !stopped) solution.known = known_splits(*this);
  return solution;
}

template <class Value>
bool SubproblemOf<Value>::take(Candidate& candidate) {
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

template <class Value>
void SubproblemOf<Value>::record(const Candidate& candidate, Evaluated& evaluated, bool all_optima) {
  const Interval& interval = candidate.interval;
  if (has_plan(evaluated.plan)) offer(evaluated.point.upper, evaluated.plan);
  if (evaluated.stopped) {  // evaluated in part: its interval stays open
    queue.put_back(interval);
    return;
  }
  const auto keep = [&](KnownSplitsPtrOf<Value>& splits) {
    if (!splits) return -1;
    known.push_back(std::move(splits));
    return static_cast<int>(known.size()) - 1;
  };
  evaluated.point.low_known = keep(evaluated.low_known);
  evaluated.point.high_known = keep(evaluated.high_known);
  lower_to(evaluated_lower, evaluated.lower);
  lower_to(evaluated_relaxed, evaluated.point.total);
  if (interval.is_point()) {
    queue.points[interval.below] = evaluated.point;
    return;
  }
  queue.points.push_back(evaluated.point);
  const int at = static_cast<int>(queue.points.size()) - 1;
  const Value wanted = all_optima ? limit : cutoff();
  queue.add_part(interval, interval.below, at, wanted);
  queue.add_part(interval, at, interval.above, wanted);
}

template <class Value>
void SubproblemOf<Value>::forget_known(i64 most)
  requires kOneNumber<Value>
{
  const auto& points = queue.points;
  if (known.empty()) return;
  std::vector<char> needed(points.size(), 0);
  for (const std::vector<Interval>* const intervals : {&queue.open(), &std::as_const(busy)})
    for (const Interval& interval : *intervals) needed[interval.below] = needed[interval.above] = 1;
  std::vector<int> order(points.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::pair(points[a].feature, points[a].position) < std::pair(points[b].feature, points[b].position);
  });
  Interval interval;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const PointOf<Value>& point = points[order[i]];
    if (point.total <= most && point.upper > point.total) needed[order[i]] = 1;  // not solved to its end
    if (i + 1 == order.size() || points[order[i + 1]].feature != point.feature) continue;
    if (queue.between(order[i], order[i + 1], most + 1, interval)) needed[order[i]] = needed[order[i + 1]] = 1;
  }
  for (std::size_t p = 0; p < points.size(); ++p) {
    if (needed[p]) continue;
    for (const int at : {points[p].low_known, points[p].high_known})
      if (at >= 0) known[at] = nullptr;
  }
}

template <class Value>
void SubproblemOf<Value>::note(const Evaluated& evaluated, const Table& table) const {
  if constexpr (kOneNumber<Value>) {
    if (journal == nullptr || evaluated.stopped) return;
    const PointOf<i64>& point = evaluated.point;
    journal->note(SplitRecord{.depth = depth,
                              .column = table.column[point.feature],
                              .rank = rows->key(point.feature)[point.position - 1] >> kLabelBits,
                              .low_side = point.low_side,
                              .high_side = point.high_side,
                              .total = point.total,
                              .lower = evaluated.lower,
                              .upper = point.upper});
  }
}

template <class Value>
void SubproblemOf<Value>::note_best(const Table& table) const {
  if constexpr (kOneNumber<Value>) {
    if (journal == nullptr || !plan) return;
    journal->note(DepthRecord{depth, upper, 0, 0, false, numbers_of(*plan, table)});
  }
}

template struct SubproblemOf<i64>;
template struct SubproblemOf<Leaves>;
template struct SubproblemOf<FewLeaves>;

}  // namespace proofwood::trees
