// The depth-two routine (ConTree, Algorithm 2; docs/theory/optimal-trees.md, "Depth two").
#include "trees/depth_two.hpp"

#include <algorithm>

namespace proofwood::trees {

namespace {

constexpr std::size_t kManyOpen = 128;  // intervals, from which a coarse walk pays

}  // namespace

template <class Value>
DepthTwoOf<Value>::DepthTwoOf(const Frame& frame, Counters& counters)
    : StumpBatch(frame.table, frame.settings.minimum, frame.settings.isa, frame.settings.lane_bits, frame.stop,
                 frame.settings.rules.stump_bounds),
      costs(frame.table.task->stumps(*this)),
      coarse_(frame.table, frame.settings, frame.stop),
      frame_(frame),
      counters_(counters) {}

template <class Value>
bool DepthTwoOf<Value>::solve(Subproblem& subproblem, NeighbourBoundsOf<Value>& bounds,
                              const NeighboursOf<Value>& neighbours, const Improved& improved) {
  base_.reset();
  bool ready = false, stopped_early = false;
  begun_ = false;
  if (std::any_of(neighbours.begin(), neighbours.end(), [](const auto& n) { return n.known != nullptr; })) {
    costs->begin(*subproblem.rows);
    ready = begun_ = true;
    stopped_early = !run_seeds(subproblem);
  }
  if (!stopped_early) bounds.open_intervals(subproblem);
  if (!stopped_early && !subproblem.queue.empty()) {
    if (!ready) costs->begin(*subproblem.rows);
    begun_ = true;
    stopped_early = !exhaust(subproblem, ready, improved);
  }
  return !stopped_early;
}

// What splitting off nothing leaves, in the last lane.
template <class Value>
void DepthTwoOf<Value>::take_base(Subproblem& subproblem) {
  if (!kOneNumber<Value> || !frame_.table.levels.empty()) costs->settle(lanes.size() - 1);  // else a bound is enough
  const Side base = side_cost(lanes.size() - 1, 0);
  base_ = base;
  const i64 leaf = costs->sides[lanes.size() - 1][0].leaf;
  subproblem.set_base(side_value(leaf, base.relaxed), frame_.settings.prices.leaf);
  if constexpr (!kOneNumber<Value>) {
    subproblem.offer(side_value(leaf, base.cost), {leaf_plan(), base.stump ? stump_plan() : leaf_plan()});
    subproblem.limit[2] = 0;  // known
  }
}

template <class Value>
void DepthTwoOf<Value>::add_stump(SolutionOf<Value>& solution) const {
  if constexpr (!kOneNumber<Value>) {
    if (!base_) return;
    solution.lower[2] = std::max(solution.lower[2], base_->cost);
    solution.relaxed[2] = std::max(solution.relaxed[2], base_->relaxed);
  }
}

// A first batch of what was best in the neighbours: the cheaper the tree, the fewer intervals are left open.
// False if stopped.
template <class Value>
bool DepthTwoOf<Value>::run_seeds(Subproblem& subproblem) {
  const auto& points = subproblem.queue.points;
  const u32 n = subproblem.rows->n;
  const Value limit = subproblem.cutoff();
  seeds_.clear();
  for (int at = 0; at < static_cast<int>(points.size()); ++at)
    if (points[at].position != 0 && points[at].position != n && is_open(points[at].total, limit)) seeds_.push_back(at);
  const std::size_t room = std::min(seeds_.size(), static_cast<std::size_t>(costs->room()) - 1);
  std::partial_sort(
      seeds_.begin(), seeds_.begin() + static_cast<std::ptrdiff_t>(room), seeds_.end(), [&](int a, int b) {
        return std::pair(key_of(points[a].total, limit), a) < std::pair(key_of(points[b].total, limit), b);
      });
  lanes.clear();
  for (std::size_t s = 0; s < room; ++s)
    lanes.push_back({points[seeds_[s]].feature, points[seeds_[s]].position, seeds_[s]});
  lanes.push_back({0, n, -1});  // splits off nothing
  if (!run(*subproblem.rows)) return false;
  take_base(subproblem);
  take_lanes(subproblem, room);
  return true;
}

// Evaluates the open intervals, a batch at a time. False if stopped.
template <class Value>
bool DepthTwoOf<Value>::exhaust(Subproblem& subproblem, bool base_known, const Improved& improved) {
  Rows& rows = *subproblem.rows;
  IntervalQueueOf<Value>& queue = subproblem.queue;
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
    const Value before = subproblem.upper;
    take_lanes(subproblem, candidates);
    if (improved && exceeds(before, subproblem.upper)) improved(subproblem);
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
template <class Value>
bool DepthTwoOf<Value>::bound_many(Subproblem& subproblem) {
  Rows& rows = *subproblem.rows;
  IntervalQueueOf<Value>& queue = subproblem.queue;
  const Value limit = subproblem.cutoff();
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
  const Prices& prices = frame_.settings.prices;
  const auto cost = [&](const CoarseStumps::Split& split, std::size_t side) {
    return std::min(prices.error * split.leaf[side], prices.error * split.wrong[side] + prices.leaf);
  };
  const auto side = [&](const CoarseStumps::Split& split, std::size_t at) {
    return side_value(prices.error * split.leaf[at], cost(split, at));
  };
  for (std::size_t s = 0; s < splits_.size(); ++s) {
    const Value low = side(splits_[s], 0), high = side(splits_[s], 1);
    queue.points.push_back({.feature = splits_[s].feature,
                            .position = splits_[s].position,
                            .low_side = low,
                            .high_side = high,
                            .total = join(low, high, prices.leaf)});
    const int at = static_cast<int>(queue.points.size()) - 1;
    queue.add_part(taken_[s], taken_[s].below, at, limit);
    queue.add_part(taken_[s], at, taken_[s].above, limit);
    queue.add_point(at, limit);
  }
  return true;
}

// ------------------------------------------------------------------ one batch

// Takes up to `room` open intervals and gives each its share of the lanes.
template <class Value>
bool DepthTwoOf<Value>::fill_batch(IntervalQueueOf<Value>& queue, std::size_t room, const Value& limit, u32 before) {
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

template <class Value>
bool DepthTwoOf<Value>::run(Rows& rows) {
  ++counters_[kBatches];
  counters_[kWork] += i64{rows.n} * rows.n_features;
  counters_[kCandidates] += static_cast<i64>(lanes.size());
  counters_[kRowVisits] += i64{rows.n} * rows.n_features;
  return costs->run(rows);
}

template <class Value>
auto DepthTwoOf<Value>::side_cost(std::size_t lane, int side) const -> Side {
  const i64 price = frame_.settings.prices.leaf;
  const SideCosts& of = costs->sides[lane][static_cast<std::size_t>(side)];
  const i64 stump = of.stump + price;
  return {std::min(of.leaf, of.stump_all + price), std::min(of.leaf, stump), stump < of.leaf};
}

// The cost of an evaluated candidate becomes that of its point. Costs that rounding leaves open stay bounds where these
// are enough.
template <class Value>
void DepthTwoOf<Value>::take_lane(Subproblem& subproblem, std::size_t lane_index) {
  Rows& rows = *subproblem.rows;
  const i64 leaf_price = frame_.settings.prices.leaf;
  const Lane& lane = lanes[lane_index];
  const auto& sides = costs->sides[lane_index];
  Side low = side_cost(lane_index, 0), high = side_cost(lane_index, 1);
  const auto both = [&](i64 of_low, i64 of_high) {
    return join(side_value(sides[0].leaf, of_low), side_value(sides[1].leaf, of_high), leaf_price);
  };
  if (!costs->settled(lane_index) && is_open(both(low.relaxed, high.relaxed), subproblem.cutoff())) {
    costs->settle(lane_index);
    low = side_cost(lane_index, 0);
    high = side_cost(lane_index, 1);
  }
  PointOf<Value>& point = subproblem.queue.points[lane.point];
  point.low_side = side_value(sides[0].leaf, low.relaxed);
  point.high_side = side_value(sides[1].leaf, high.relaxed);
  point.total = both(low.relaxed, high.relaxed);
  point.evaluated = true;
  const bool permitted = frame_.may_split_at(rows, lane.feature, lane.position);
  const Value lower = permitted ? both(low.cost, high.cost) : all_trees<Value>();
  point.upper = costs->settled(lane_index) ? lower : all_trees<Value>();
  if (frame_.table.rounded) unset_two(point.upper);
  lower_to(subproblem.evaluated_relaxed, point.total);
  lower_to(subproblem.evaluated_lower, lower);
  if (exceeds(subproblem.upper, point.upper)) subproblem.offer(point.upper, trees_of(subproblem, lane, low, high));
}

// Where rounding leaves costs open, the cheapest first: then few of the others are below the cutoff, and made exact.
template <class Value>
void DepthTwoOf<Value>::take_lanes(Subproblem& subproblem, std::size_t count) {
  turns_.clear();
  for (std::size_t l = 0; l < count; ++l) {
    const auto& sides = costs->sides[l];
    turns_.emplace_back(frame_.table.rounded ? sides[0].stump_all + sides[1].stump_all : 0, l);
  }
  if (frame_.table.rounded) std::sort(turns_.begin(), turns_.end());
  for (const auto& [cost, l] : turns_) take_lane(subproblem, l);
}

// The trees of an evaluated candidate.
template <class Value>
Plans<Value> DepthTwoOf<Value>::trees_of(const Subproblem& subproblem, const Lane& lane, const Side& low,
                                         const Side& high) const {
  const u32 key = subproblem.rows->key(lane.feature)[lane.position - 1];
  const auto tree = [&](bool low_stump, bool high_stump) {
    return split_plan(lane.feature, key, low_stump ? stump_plan() : leaf_plan(),
                      high_stump ? stump_plan() : leaf_plan());
  };
  if constexpr (kOneNumber<Value>) {
    return tree(low.stump, high.stump);
  } else {
    const auto& sides = costs->sides[static_cast<std::size_t>(&lane - lanes.data())];
    const bool low_gains = sides[0].leaf - low.cost >= sides[1].leaf - high.cost;  // the third leaf is on this side
    return {nullptr, tree(false, false), tree(low.stump && low_gains, high.stump && !low_gains),
            tree(low.stump, high.stump)};
  }
}

// Puts back what the evaluated lanes leave open of the taken intervals.
template <class Value>
void DepthTwoOf<Value>::put_back(IntervalQueueOf<Value>& queue, const Value& limit) {
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

template class DepthTwoOf<i64>;
template class DepthTwoOf<FewLeaves>;

}  // namespace proofwood::trees
