// The depth-two routine (ConTree, Algorithm 2; docs/theory/optimal-trees.md, "Depth two").
#include "trees/depth_two.hpp"

#include <algorithm>

namespace proofwood::trees {

namespace {

constexpr std::size_t kManyOpen = 128;  // intervals, from which a coarse walk pays

}  // namespace

DepthTwo::DepthTwo(Shared& shared, Counters& counters)
    : StumpBatch(shared.table, shared.settings.minimum, shared.settings.isa, shared.settings.lane_bits, shared.stop,
                 shared.settings.rules.stump_bounds),
      costs(shared.table.task->stumps(*this)),
      coarse_(shared.table, shared.settings, shared.stop),
      shared_(shared),
      counters_(counters) {}

bool DepthTwo::solve(Subproblem& subproblem, NeighbourBounds& bounds, const Request& request, bool report) {
  stump_.reset();
  bool ready = false, stopped_early = false;
  begun_ = false;
  const auto& neighbours = request.neighbours;
  if (std::any_of(neighbours.begin(), neighbours.end(), [](const Neighbour& n) { return n.known != nullptr; })) {
    costs->begin(*subproblem.rows);
    ready = begun_ = true;
    stopped_early = !run_seeds(subproblem);
  }
  if (!stopped_early) bounds.open_intervals(subproblem);
  if (!stopped_early && !subproblem.queue.empty()) {
    if (!ready) costs->begin(*subproblem.rows);
    begun_ = true;
    stopped_early = !exhaust(subproblem, ready, report);
  }
  return !stopped_early;
}

// What splitting off nothing leaves, in the last lane.
void DepthTwo::take_base(Subproblem& subproblem) {
  costs->settle(lanes.size() - 1);
  const Side base = side_cost(lanes.size() - 1, 0);
  stump_ = base.cost;
  subproblem.set_base(base.relaxed, shared_.settings.prices.leaf);
}

// A first batch of what was best in the neighbours: the cheaper the tree, the fewer intervals are left open.
// False if stopped.
bool DepthTwo::run_seeds(Subproblem& subproblem) {
  const auto& points = subproblem.queue.points;
  const u32 n = subproblem.rows->n;
  seeds_.clear();
  for (int at = 0; at < static_cast<int>(points.size()); ++at)
    if (points[at].position != 0 && points[at].position != n && points[at].total < subproblem.cutoff())
      seeds_.push_back(at);
  const std::size_t room = std::min(seeds_.size(), static_cast<std::size_t>(costs->room()) - 1);
  std::partial_sort(seeds_.begin(), seeds_.begin() + static_cast<std::ptrdiff_t>(room), seeds_.end(),
                    [&](int a, int b) { return std::pair(points[a].total, a) < std::pair(points[b].total, b); });
  lanes.clear();
  for (std::size_t s = 0; s < room; ++s)
    lanes.push_back({points[seeds_[s]].feature, points[seeds_[s]].position, seeds_[s]});
  lanes.push_back({0, n, -1});  // splits off nothing
  if (!run(*subproblem.rows)) return false;
  take_base(subproblem);
  for (std::size_t l = 0; l < room; ++l) take_lane(subproblem, l);
  return true;
}

// Evaluates the open intervals, a batch at a time. False if stopped.
bool DepthTwo::exhaust(Subproblem& subproblem, bool base_known, bool report) {
  Rows& rows = *subproblem.rows;
  IntervalQueue& queue = subproblem.queue;
  std::size_t made = 0;  // intervals and points that coarse walks made since the last look at what is left of them
  if (const std::size_t open = queue.open_below(subproblem.cutoff()); open > kManyOpen && coarse_.serves(rows)) {
    coarse_.begin(rows);
    for (std::size_t left = open; left > 0; left -= std::min(left, coarse_.room()))
      if (!bound_many(subproblem)) return false;
    made = 3 * open;
  }
  while (fill_batch(queue, static_cast<std::size_t>(costs->room()) - (base_known ? 0 : 1), subproblem.cutoff(),
                    kEveryPosition)) {
    const std::size_t candidates = lanes.size();
    if (!base_known) lanes.push_back({0, rows.n, -1});  // splits off nothing
    if (!run(rows)) {
      for (const Interval& interval : taken_) queue.put_back(interval);
      return false;
    }
    if (!base_known) {
      base_known = true;
      take_base(subproblem);
    }
    const i64 before = subproblem.upper;
    for (std::size_t l = 0; l < candidates; ++l) take_lane(subproblem, l);
    if (report && subproblem.upper < before) shared_.run.offer(subproblem.upper, subproblem.plan);
    put_back(queue, subproblem.cutoff());
    if (made == 0) continue;
    const std::size_t open = queue.open_below(subproblem.cutoff());
    if (open > made / 2) {  // walks that close little cost more than they save
      made = 0;
    } else if (open > kManyOpen) {
      if (!bound_many(subproblem)) return false;
      made = open + 2 * splits_.size();
    }
  }
  return true;
}

// Bounds of a split in the middle of each of the open intervals of least bound, as many as one coarse walk takes.
// False if stopped.
bool DepthTwo::bound_many(Subproblem& subproblem) {
  Rows& rows = *subproblem.rows;
  IntervalQueue& queue = subproblem.queue;
  const i64 limit = subproblem.cutoff();
  taken_.clear();
  splits_.clear();
  std::vector<Interval> points;
  for (Interval interval; splits_.size() < coarse_.room() && queue.take(interval, limit);) {
    if (interval.is_point()) {
      points.push_back(interval);
      continue;
    }
    taken_.push_back(interval);
    queue.choose(interval, 1, positions_);
    splits_.push_back({interval.feature, positions_.front(), {}, {}});
  }
  for (const Interval& interval : points) queue.put_back(interval);
  if (splits_.empty()) return true;
  counters_[kWork] += i64{rows.n} * rows.n_features;
  counters_[kRowVisits] += i64{rows.n} * rows.n_features;
  if (!coarse_.run(rows, splits_)) {
    for (const Interval& interval : taken_) queue.put_back(interval);
    return false;
  }
  const Prices& prices = shared_.settings.prices;
  const auto cost = [&](const CoarseStumps::Split& split, std::size_t side) {
    return std::min(prices.error * split.leaf[side], prices.error * split.wrong[side] + prices.leaf);
  };
  for (std::size_t s = 0; s < splits_.size(); ++s) {
    const i64 low = cost(splits_[s], 0), high = cost(splits_[s], 1);
    queue.points.push_back({.feature = splits_[s].feature,
                            .position = splits_[s].position,
                            .low_side = low,
                            .high_side = high,
                            .total = low + high + prices.leaf});
    const int at = static_cast<int>(queue.points.size()) - 1;
    queue.add_part(taken_[s], taken_[s].below, at, limit);
    queue.add_part(taken_[s], at, taken_[s].above, limit);
    queue.add_point(at, limit);
  }
  return true;
}

// ------------------------------------------------------------------ one batch

// Takes up to `room` open intervals and gives each its share of the lanes.
bool DepthTwo::fill_batch(IntervalQueue& queue, std::size_t room, i64 limit, u32 before) {
  taken_.clear();
  for (Interval interval; taken_.size() < room && queue.take(interval, limit);)
    if (interval.first < before) taken_.push_back(interval);
  lanes.clear();
  spans_.clear();
  if (taken_.empty()) return false;
  const std::size_t each = room / taken_.size();
  std::size_t spare = room - each * taken_.size();
  for (const Interval& interval : taken_) {
    const std::size_t first = lanes.size();
    if (interval.is_point()) {
      lanes.push_back({interval.feature, interval.first, interval.below});
    } else {
      const std::size_t extra = spare > 0 ? 1 : 0;
      spare -= extra;
      queue.choose(interval, static_cast<u32>(each + extra), positions_);
      for (const u32 position : positions_) {
        queue.points.push_back({.feature = interval.feature, .position = position});
        lanes.push_back({interval.feature, position, static_cast<int>(queue.points.size()) - 1});
      }
    }
    spans_.emplace_back(first, lanes.size());
  }
  return true;
}

bool DepthTwo::run(Rows& rows) {
  ++counters_[kBatches];
  counters_[kWork] += i64{rows.n} * rows.n_features;
  counters_[kCandidates] += static_cast<i64>(lanes.size());
  counters_[kRowVisits] += i64{rows.n} * rows.n_features;
  return costs->run(rows);
}

DepthTwo::Side DepthTwo::side_cost(std::size_t lane, int side) const {
  const i64 price = shared_.settings.prices.leaf;
  const SideCosts& of = costs->sides[lane][static_cast<std::size_t>(side)];
  const i64 stump = of.stump + price;
  return {std::min(of.leaf, of.stump_all + price), std::min(of.leaf, stump), stump < of.leaf};
}

// The cost of an evaluated candidate becomes that of its point. Costs that rounding leaves open stay bounds where these
// are enough.
void DepthTwo::take_lane(Subproblem& subproblem, std::size_t lane_index) {
  Rows& rows = *subproblem.rows;
  const i64 leaf_price = shared_.settings.prices.leaf;
  const Lane& lane = lanes[lane_index];
  Side low = side_cost(lane_index, 0), high = side_cost(lane_index, 1);
  if (!costs->settled(lane_index) && low.relaxed + high.relaxed + leaf_price < subproblem.cutoff()) {
    costs->settle(lane_index);
    low = side_cost(lane_index, 0);
    high = side_cost(lane_index, 1);
  }
  Point& point = subproblem.queue.points[lane.point];
  point.low_side = low.relaxed;
  point.high_side = high.relaxed;
  point.total = low.relaxed + high.relaxed + leaf_price;
  point.evaluated = true;
  const bool permitted = shared_.may_split_at(rows, lane.feature, lane.position);
  const i64 lower = permitted ? low.cost + high.cost + leaf_price : kInfinite;
  point.upper = costs->settled(lane_index) ? lower : kInfinite;
  subproblem.evaluated_relaxed = std::min(subproblem.evaluated_relaxed, point.total);
  subproblem.evaluated_lower = std::min(subproblem.evaluated_lower, lower);
  if (point.upper < subproblem.upper) {
    const u32 key = rows.key(lane.feature)[lane.position - 1];
    subproblem.offer(point.upper, split_plan(lane.feature, key, low.stump ? stump_plan() : leaf_plan(),
                                             high.stump ? stump_plan() : leaf_plan()));
  }
}

// Puts back what the evaluated lanes leave open of the taken intervals.
void DepthTwo::put_back(IntervalQueue& queue, i64 limit) {
  for (std::size_t t = 0; t < taken_.size(); ++t) {
    if (taken_[t].is_point()) continue;
    int previous = taken_[t].below;
    for (std::size_t l = spans_[t].first; l < spans_[t].second; ++l) {
      queue.add_part(taken_[t], previous, lanes[l].point, limit);
      previous = lanes[l].point;
    }
    queue.add_part(taken_[t], previous, taken_[t].above, limit);
  }
}

}  // namespace proofwood::trees
