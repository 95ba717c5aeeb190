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

template <class Value>
void IntervalQueueOf<Value>::begin(const Table& table, Rows& rows, const Prices& prices, const Rules& rules) {
  table_ = &table;
  rows_ = &rows;
  prices_ = prices;
  rules_ = rules;
  points.clear();
  heap_.clear();
  floors.clear();
  only.clear();
  least_pruned = all_trees<Value>();
}

// ------------------------------------------------------------------ main loop

template <class Value>
bool IntervalQueueOf<Value>::take(Interval& interval, const Value& limit)
  requires kOneNumber<Value>
{
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

// An interval keeps no vector: it is bounded again by its points.
template <class Value>
bool IntervalQueueOf<Value>::take(Interval& interval, const Value& limit)
  requires(!kOneNumber<Value>)
{
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    interval = heap_.back();
    heap_.pop_back();
    if (!interval.is_point()) {
      if (prune(interval, limit, rules_.reach && rules_.interval_shrinking)) return true;
    } else if (const Value& total = points[interval.below].total; is_open(total, limit)) {
      return true;
    } else {
      note_pruned(total);
    }
  }
  return false;
}

// Bounds an interval by its neighbours and, with `shrink`, takes off both ends what they exclude. False if no threshold
// is left that a tree cheaper than `limit` may use.
template <class Value>
bool IntervalQueueOf<Value>::prune(Interval& interval, const Value& limit, bool shrink)
  requires kOneNumber<Value>
{
  const Point &u = points[interval.below], &v = points[interval.above];
  const i64 apart = rules_.similarity ? distance(u, v) : 0;
  interval.bound = std::max(interval.bound, prices_.leaf);
  neighbourhood_pruning(interval.bound, u.total, v.total, apart);
  const bool shrunk =
      shrink && interval.bound < limit && interval_shrinking(interval, u.total - limit, v.total - limit);
  sub_interval_pruning(interval.bound, u, v);
  cross_bound(interval.bound, u, v, apart);
  if (!floors.empty())
    interval.bound = std::max(interval.bound, least_floor(floors[interval.feature], interval.first, interval.last));
  if (interval.bound >= limit) {
    note_pruned(interval.bound);
    return false;
  }
  if (shrunk) note_pruned(limit);
  return snap_to_boundaries(interval);
}

// The same for every number of leaves that is asked for; what is left is the hull of what each leaves open.
template <class Value>
bool IntervalQueueOf<Value>::prune(Interval& interval, const Value& limit, bool shrink)
  requires(!kOneNumber<Value>)
{
  const Point &u = points[interval.below], &v = points[interval.above];
  Value bound = bound_of(interval);
  u32 first = ~0u, last = 0;
  for (int l = 1; l <= limit.size(); ++l) {
    if (limit[l] <= 0 || bound[l] >= limit[l]) continue;
    Interval part = interval;
    if (shrink && interval_shrinking(part, u.total[l] - limit[l], v.total[l] - limit[l]) && part.first > part.last) {
      bound[l] = limit[l];
      continue;
    }
    first = std::min(first, part.first);
    last = std::max(last, part.last);
  }
  if (!is_open(bound, limit)) {
    note_pruned(bound);
    return false;
  }
  interval.bound = key_of(bound, limit);
  if (first > interval.first || last < interval.last) {
    Value beyond = bound;
    for (int l = 1; l <= limit.size(); ++l)
      if (limit[l] > 0) beyond[l] = std::max(beyond[l], limit[l]);
    note_pruned(beyond);
    interval.first = first;
    interval.last = last;
  }
  return snap_to_boundaries(interval);
}

template <class Value>
Value IntervalQueueOf<Value>::bound_of(const Interval& interval) const {
  if constexpr (kOneNumber<Value>) {
    return interval.bound;
  } else {
    const Point &u = points[interval.below], &v = points[interval.above];
    if (interval.is_point()) return u.total;
    const i64 apart = rules_.similarity ? distance(u, v) : 0;
    Value bound(u.total.size(), 0);
    if (rules_.similarity)
      for (int l = 1; l <= bound.size(); ++l) neighbourhood_pruning(bound[l], u.total[l], v.total[l], apart);
    sub_interval_pruning(bound, u, v);
    cross_bound(bound, u, v, apart);
    return bound;
  }
}

template <class Value>
Value IntervalQueueOf<Value>::open_bound() const {
  Value least = all_trees<Value>();
  if constexpr (kOneNumber<Value>) {
    if (!heap_.empty()) least = heap_.front().bound;
  } else {
    for (const Interval& interval : heap_) lower_to(least, bound_of(interval));
  }
  return least;
}

// Neighbourhood pruning, eq. 7-9: cost(t) >= cost(u) - d(u, t) and cost(t) >= cost(v) - d(t, v). The mean of both
// bounds all of the interval, for d(u, t) + d(t, v) is the same at every t.
// What eq. 7-9 take off the ends of the interval is taken off by interval_shrinking.
template <class Value>
void IntervalQueueOf<Value>::neighbourhood_pruning(i64& bound, i64 below, i64 above, i64 apart) const {
  if (rules_.similarity) bound = std::max(bound, (below + above - apart + 1) >> 1);
}

// Interval shrinking, eq. 10 and 11: t is excluded while d(u, t) <= cost(u) - limit, and while
// d(t, v) <= cost(v) - limit. `below`, `above`: these differences.
template <class Value>
bool IntervalQueueOf<Value>::interval_shrinking(Interval& interval, i64 below, i64 above) const {
  const Point &u = points[interval.below], &v = points[interval.above];
  const u32 f = interval.feature;
  bool shrunk = false;
  if (below >= 0) {
    const i64 reach = weight_of(below);
    const i64 from = rows_->weight_before(*table_, f, u.position);
    if (rows_->weight_before(*table_, f, interval.first) <= from + reach) {
      interval.first = rows_->position_at_weight(*table_, f, interval.first, from + reach + 1);
      shrunk = true;
    }
  }
  if (above >= 0) {
    const i64 reach = weight_of(above);
    const i64 need = rows_->weight_before(*table_, f, v.position) - reach;  // last t with weight_before(t) < need
    if (rows_->weight_before(*table_, f, interval.last) >= need) {
      const u32 beyond = need <= 0 ? 0 : rows_->position_at_weight(*table_, f, 0, need);
      interval.last = beyond == 0 ? 0 : beyond - 1;
      shrunk = true;
    }
  }
  return shrunk;
}

// Sub-interval pruning, eq. 12 and Theorem 3: cost(t) >= low(u) + high(v) + price of a leaf.
template <class Value>
void IntervalQueueOf<Value>::sub_interval_pruning(Value& bound, const Point& u, const Point& v) const {
  if (rules_.sub_interval) raise(bound, join(u.low_side, v.high_side, prices_.leaf));
}

// Cross bound, the mirror image by the similarity bound:
// cost(t) >= low(v) - d(t, v) + high(u) - d(u, t) + price of a leaf.
template <class Value>
void IntervalQueueOf<Value>::cross_bound(Value& bound, const Point& u, const Point& v, i64 apart) const {
  if (rules_.similarity && rules_.sub_interval) raise(bound, less(join(v.low_side, u.high_side, prices_.leaf), apart));
}

template <class Value>
bool IntervalQueueOf<Value>::snap_to_boundaries(Interval& interval) const {
  if (interval.first > interval.last) return false;
  interval.first = rows_->boundary_from(interval.feature, interval.first);
  interval.last = rows_->boundary_until(interval.feature, interval.last);
  return interval.first <= interval.last && interval.first < rows_->n && interval.last > 0;
}

// ------------------------------------------------------------------ what comes in

template <class Value>
bool IntervalQueueOf<Value>::between(int below, int above, const Value& limit, Interval& interval) {
  const Point &u = points[below], &v = points[above];
  if (v.position <= u.position + 1) return false;
  interval = {0, u.feature, u.position + 1, v.position - 1, below, above, rank_of(u.feature)};
  return prune(interval, limit, rules_.similarity);
}

template <class Value>
void IntervalQueueOf<Value>::add_between(int below, int above, const Value& limit) {
  Interval interval;
  if (between(below, above, limit, interval)) put_back(interval);
}

template <class Value>
void IntervalQueueOf<Value>::add_point(int at, const Value& limit) {
  const Point& p = points[at];
  if (!is_open(p.total, limit))
    note_pruned(p.total);
  else
    put_back({key_of(p.total, limit), p.feature, p.position, p.position, at, at, rank_of(p.feature)});
}

template <class Value>
void IntervalQueueOf<Value>::add(Interval interval, const Value& limit) {
  if (prune(interval, limit, rules_.similarity)) put_back(interval);
}

// False if nothing of the interval is searched; else what is left of it.
template <class Value>
bool IntervalQueueOf<Value>::searched(Interval& interval) const {
  if (only.empty()) return true;
  const auto [first, last] = only[interval.feature];
  if (first <= interval.first && interval.last <= last) return true;
  interval.first = std::max(interval.first, first);
  interval.last = std::min(interval.last, last);
  return !interval.is_point() && snap_to_boundaries(interval);
}

template <class Value>
void IntervalQueueOf<Value>::put_back(Interval interval) {
  if (!searched(interval)) return;
  heap_.push_back(interval);
  std::push_heap(heap_.begin(), heap_.end(), Later{});
}

template <class Value>
u64 IntervalQueueOf<Value>::open_thresholds() const {
  u64 open = 0;
  for (const Interval& interval : heap_) open += interval.last - interval.first + 1;
  return open;
}

template <class Value>
std::size_t IntervalQueueOf<Value>::open_below(const Value& limit) const {
  const i64 key = closing_key(limit);
  return static_cast<std::size_t>(
      std::count_if(heap_.begin(), heap_.end(), [key](const Interval& interval) { return interval.bound < key; }));
}

template <class Value>
void IntervalQueueOf<Value>::raise_floors(const Floors& higher) {
  floors = higher;
  for (Interval& interval : heap_)
    interval.bound = std::max(interval.bound, least_floor(floors[interval.feature], interval.first, interval.last));
  std::make_heap(heap_.begin(), heap_.end(), Later{});
}

template <class Value>
void IntervalQueueOf<Value>::add_part(const Interval& taken, int below, int above, const Value& limit) {
  const Point &u = points[below], &v = points[above];
  const u32 first = std::max(taken.first, u.position + 1);
  const u32 last = std::min(taken.last, v.position - 1);
  if (first > last || v.position == 0) return;
  add({taken.bound, taken.feature, first, last, below, above, taken.rank}, limit);
}

template <class Value>
void IntervalQueueOf<Value>::choose(const Interval& interval, u32 count, std::vector<u32>& positions) const {
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

template class IntervalQueueOf<i64>;
template class IntervalQueueOf<Leaves>;
template class IntervalQueueOf<FewLeaves>;

}  // namespace proofwood::trees
