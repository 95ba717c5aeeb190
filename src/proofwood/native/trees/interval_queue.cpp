// The queue of intervals and the four rules that prune it (ConTree, Algorithm 1 and eq. 7-12;
// docs/theory/optimal-trees.md, "Bounds").
#include "trees/interval_queue.hpp"

#include <algorithm>

namespace proofwood::trees {

namespace {

struct Later {  // order of a heap with the smallest bound on top
  bool operator()(const Interval& a, const Interval& b) const {
    if (a.bound != b.bound) return a.bound > b.bound;
    if (a.last - a.first != b.last - b.first) return a.last - a.first < b.last - b.first;
    if (a.rank != b.rank) return a.rank > b.rank;
    return a.first > b.first;
  }
};

}  // namespace

i64 least_floor(const std::vector<Floor>& floors, u32 first, u32 last) {
  i64 least = kInfinite;
  for (auto floor = std::lower_bound(floors.begin(), floors.end(), first,
                                     [](const Floor& f, u32 position) { return f.until < position; });
       floor != floors.end(); ++floor) {
    least = std::min(least, floor->bound);
    if (floor->until >= last) break;
  }
  return least == kInfinite ? 0 : least;
}

void IntervalQueue::begin(const Table& table, Rows& rows, const Prices& prices, const Rules& rules) {
  table_ = &table;
  rows_ = &rows;
  prices_ = prices;
  rules_ = rules;
  points.clear();
  heap_.clear();
  floors.clear();
  only.clear();
  least_pruned = kInfinite;
}

// ------------------------------------------------------------------ main loop

bool IntervalQueue::take(Interval& interval, i64 limit) {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    interval = heap_.back();
    heap_.pop_back();
    if (interval.bound >= limit) {
      note_pruned(interval.bound);
      continue;
    }
    if (interval.is_point() || !rules_.interval_shrinking) return true;
    if (prune(interval, limit, rules_.reach)) return true;
  }
  return false;
}

// Bounds an interval by its neighbours and, with `shrink`, takes off both ends what they exclude. False if no threshold
// is left that a tree cheaper than `limit` may use.
bool IntervalQueue::prune(Interval& interval, i64 limit, bool shrink) {
  const Point &u = points[interval.below], &v = points[interval.above];
  const i64 apart = prices_.error * (rows_->weight_before(*table_, interval.feature, v.position) -
                                     rows_->weight_before(*table_, interval.feature, u.position));
  interval.bound = std::max(interval.bound, prices_.leaf);
  neighbourhood_pruning(interval, apart);
  const bool shrunk = shrink && interval.bound < limit && interval_shrinking(interval, limit);
  sub_interval_pruning(interval);
  cross_bound(interval, apart);
  if (!floors.empty())
    interval.bound = std::max(interval.bound, least_floor(floors[interval.feature], interval.first, interval.last));
  if (interval.bound >= limit) {
    note_pruned(interval.bound);
    return false;
  }
  if (shrunk) note_pruned(limit);
  return snap_to_boundaries(interval);
}

// Neighbourhood pruning, eq. 7-9: cost(t) >= cost(u) - d(u, t) and cost(t) >= cost(v) - d(t, v). The mean of both
// bounds all of the interval, for d(u, t) + d(t, v) is the same at every t.
// What eq. 7-9 take off the ends of the interval is taken off by interval_shrinking.
void IntervalQueue::neighbourhood_pruning(Interval& interval, i64 apart) const {
  if (!rules_.similarity) return;
  const Point &u = points[interval.below], &v = points[interval.above];
  interval.bound = std::max(interval.bound, (u.total + v.total - apart + 1) >> 1);
}

// Interval shrinking, eq. 10 and 11: t is excluded while d(u, t) <= cost(u) - limit, and while
// d(t, v) <= cost(v) - limit.
bool IntervalQueue::interval_shrinking(Interval& interval, i64 limit) const {
  const Point &u = points[interval.below], &v = points[interval.above];
  const u32 f = interval.feature;
  bool shrunk = false;
  if (u.total >= limit) {
    const i64 reach = weight_of(u.total - limit);
    const i64 from = rows_->weight_before(*table_, f, u.position);
    const u32 first = rows_->position_at_weight(*table_, f, u.position, from + reach + 1);
    if (first > interval.first) {
      interval.first = first;
      shrunk = true;
    }
  }
  if (v.total >= limit) {
    const i64 reach = weight_of(v.total - limit);
    const i64 need = rows_->weight_before(*table_, f, v.position) - reach;  // last t with weight_before(t) < need
    const u32 beyond = need <= 0 ? 0 : rows_->position_at_weight(*table_, f, 0, need);
    const u32 last = beyond == 0 ? 0 : beyond - 1;
    if (last < interval.last) {
      interval.last = last;
      shrunk = true;
    }
  }
  return shrunk;
}

// Sub-interval pruning, eq. 12 and Theorem 3: cost(t) >= low(u) + high(v) + price of a leaf.
void IntervalQueue::sub_interval_pruning(Interval& interval) const {
  if (!rules_.sub_interval) return;
  const Point &u = points[interval.below], &v = points[interval.above];
  interval.bound = std::max(interval.bound, u.low_side + v.high_side + prices_.leaf);
}

// Cross bound, the mirror image by the similarity bound:
// cost(t) >= low(v) - d(t, v) + high(u) - d(u, t) + price of a leaf.
void IntervalQueue::cross_bound(Interval& interval, i64 apart) const {
  if (!rules_.similarity || !rules_.sub_interval) return;
  const Point &u = points[interval.below], &v = points[interval.above];
  interval.bound = std::max(interval.bound, v.low_side + u.high_side - apart + prices_.leaf);
}

bool IntervalQueue::snap_to_boundaries(Interval& interval) const {
  if (interval.first > interval.last) return false;
  interval.first = rows_->boundary_from(interval.feature, interval.first);
  interval.last = rows_->boundary_until(interval.feature, interval.last);
  return interval.first <= interval.last && interval.first < rows_->n && interval.last > 0;
}

// ------------------------------------------------------------------ what comes in

bool IntervalQueue::between(int below, int above, i64 limit, Interval& interval) {
  const Point &u = points[below], &v = points[above];
  if (v.position <= u.position + 1) return false;
  interval = {0, u.feature, u.position + 1, v.position - 1, below, above, rank_of(u.feature)};
  return prune(interval, limit, rules_.similarity);
}

void IntervalQueue::add_between(int below, int above, i64 limit) {
  Interval interval;
  if (between(below, above, limit, interval)) put_back(interval);
}

void IntervalQueue::add_point(int at, i64 limit) {
  const Point& p = points[at];
  if (p.total >= limit)
    note_pruned(p.total);
  else
    put_back({p.total, p.feature, p.position, p.position, at, at, rank_of(p.feature)});
}

void IntervalQueue::add(Interval interval, i64 limit) {
  if (prune(interval, limit, rules_.similarity)) put_back(interval);
}

// False if nothing of the interval is searched; else what is left of it.
bool IntervalQueue::searched(Interval& interval) const {
  if (only.empty()) return true;
  const auto [first, last] = only[interval.feature];
  if (first <= interval.first && interval.last <= last) return true;
  interval.first = std::max(interval.first, first);
  interval.last = std::min(interval.last, last);
  return !interval.is_point() && snap_to_boundaries(interval);
}

void IntervalQueue::put_back(Interval interval) {
  if (!searched(interval)) return;
  heap_.push_back(interval);
  std::push_heap(heap_.begin(), heap_.end(), Later{});
}

u64 IntervalQueue::open_thresholds() const {
  u64 open = 0;
  for (const Interval& interval : heap_) open += interval.last - interval.first + 1;
  return open;
}

std::size_t IntervalQueue::open_below(i64 limit) const {
  return static_cast<std::size_t>(
      std::count_if(heap_.begin(), heap_.end(), [limit](const Interval& interval) { return interval.bound < limit; }));
}

void IntervalQueue::raise_floors(const Floors& higher) {
  floors = higher;
  for (Interval& interval : heap_)
    interval.bound = std::max(interval.bound, least_floor(floors[interval.feature], interval.first, interval.last));
  std::make_heap(heap_.begin(), heap_.end(), Later{});
}

void IntervalQueue::add_part(const Interval& taken, int below, int above, i64 limit) {
  const Point &u = points[below], &v = points[above];
  const u32 first = std::max(taken.first, u.position + 1);
  const u32 last = std::min(taken.last, v.position - 1);
  if (first > last || v.position == 0) return;
  add({taken.bound, taken.feature, first, last, below, above, taken.rank}, limit);
}

void IntervalQueue::choose(const Interval& interval, u32 count, std::vector<u32>& positions) const {
  positions.clear();
  const u32 length = interval.last - interval.first + 1;
  count = std::min(count, length);
  for (u32 k = 0; k < count; ++k) {
    const u32 wish = interval.first + static_cast<u32>((u64{length} * (2 * k + 1)) / (2 * count));
    u32 at = rows_->boundary_until(interval.feature, wish);
    if (at < interval.first) at = rows_->boundary_from(interval.feature, wish);
    if (at > interval.last || (!positions.empty() && at <= positions.back())) continue;
    positions.push_back(at);
  }
}

}  // namespace proofwood::trees
