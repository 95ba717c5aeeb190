// Evaluated thresholds of one node, the intervals of thresholds between them, and what bounds these intervals.
//
// All costs are integers: error_price * (weight of wrong rows) + leaf_price * (leaves - 1). A candidate threshold t has
// cost low(t) + high(t) + leaf_price. Along one feature the low side grows and the high side shrinks, so for u < t < v
//   low(t)  >= max(low(u),  low(v)  - d(t, v))      (a superset costs no less; eq. 3 of Brita et al. for a subset)
//   high(t) >= max(high(v), high(u) - d(u, t))
// with d the error price times the weight between two thresholds. These four combinations are the rules below.
// With a minimum of rows per leaf neither holds; then low and high are costs of the relaxation without the minimum.
#pragma once

#include <algorithm>
#include <queue>
#include <vector>

#include "trees/rows.hpp"

namespace proofwood::trees {

constexpr i64 kInfinite = i64{1} << 60;

struct Rules {
  bool similarity = true;          // eq. 3, 7-9: a threshold near an evaluated one costs at least its cost less d
  bool interval_shrinking = true;  // eq. 10, 11: shrink again by the newest bound when an interval is taken up
  bool sub_interval = true;        // eq. 12: low(u) + high(v) bounds all between u and v
  bool feature_bounds = true;      // start from what the same feature cost in neighbouring subproblems
  bool depth_two = true;           // batched depth-two routine
  bool cache = true;
  bool affordable = true;          // no deeper than the number of splits that the limit pays for
};

struct Prices {
  i64 error = 1, leaf = 0;
};

// What is known of one threshold: lower bounds of the relaxation, and the cost of the best tree found there.
struct Point {
  u32 feature = 0, position = 0;
  i64 low = 0, high = 0, total = 0;
  i64 upper = kInfinite;
  int age = 0;             // subproblems since it was evaluated
  bool evaluated = false;
  int low_profile = -1, high_profile = -1;  // what was learned in the two subproblems
};

struct Interval {
  i64 bound;         // of every threshold in it
  u32 feature, first, last;
  int below, above;  // nearest points outside, or the point itself
  u32 rank;          // of the feature: ties of the bound go to the smaller
};

struct Later {  // order of a heap with the smallest bound on top
  bool operator()(const Interval& a, const Interval& b) const {
    if (a.bound != b.bound) return a.bound > b.bound;
    if (a.last - a.first != b.last - b.first) return a.last - a.first < b.last - b.first;
    if (a.rank != b.rank) return a.rank > b.rank;
    return a.first > b.first;
  }
};

// Points and open intervals of one node.
class Front {
 public:
  void begin(const Table& table, Rows& rows, const Prices& prices, const Rules& rules) {
    table_ = &table;
    rows_ = &rows;
    prices_ = prices;
    rules_ = rules;
    points.clear();
    heap.clear();
    closed = kInfinite;
  }

  std::vector<Point> points;
  std::vector<Interval> heap;
  std::vector<u32> rank;   // of features
  i64 closed = kInfinite;  // least bound of what was pruned

  i64 distance(u32 feature, u32 a, u32 b) const {
    return prices_.error * (rows_->weight_before(*table_, feature, b) - rows_->weight_before(*table_, feature, a));
  }

  // Thresholds strictly between two points that a tree cheaper than `limit` may still use. False if there are none.
  bool between(int below, int above, i64 limit, Interval& interval) {
    const Point &u = points[below], &v = points[above];
    if (v.position <= u.position + 1) return false;
    interval = {0, u.feature, u.position + 1, v.position - 1, below, above, rank_of(u.feature)};
    return shrink(interval, limit, rules_.similarity);
  }

  void add_between(int below, int above, i64 limit) {
    Interval interval;
    if (between(below, above, limit, interval)) push(interval);
  }

  // A threshold of which only bounds are known.
  void add_point(int at, i64 limit) {
    const Point& p = points[at];
    if (p.total >= limit) {
      closed = std::min(closed, p.total);
      return;
    }
    push({p.total, p.feature, p.position, p.position, at, at, rank_of(p.feature)});
  }

  void add(Interval interval, i64 limit) {
    if (shrink(interval, limit, rules_.similarity)) push(interval);
  }

  void push(const Interval& interval) {
    heap.push_back(interval);
    std::push_heap(heap.begin(), heap.end(), Later{});
  }

  // The interval of least bound, shrunk by the newest limit; false if none is left.
  bool pop(Interval& interval, i64 limit) {
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), Later{});
      interval = heap.back();
      heap.pop_back();
      if (interval.bound >= limit) {
        closed = std::min(closed, interval.bound);
        continue;
      }
      if (interval.below == interval.above || !rules_.interval_shrinking) return true;
      if (shrink(interval, limit, true)) return true;
    }
    return false;
  }

  u32 rank_of(u32 feature) const { return feature < rank.size() ? rank[feature] : feature; }

  i64 open_bound() const { return heap.empty() ? kInfinite : heap.front().bound; }

  // `count` thresholds spread over the interval.
  void choose(const Interval& interval, u32 count, std::vector<u32>& positions) const {
    positions.clear();
    const u32 length = interval.last - interval.first + 1;
    count = std::min(count, length);
    for (u32 k = 0; k < count; ++k) {
      const u32 wish = interval.first + static_cast<u32>((std::uint64_t{length} * (2 * k + 1)) / (2 * count));
      u32 at = rows_->boundary_until(interval.feature, wish);
      if (at < interval.first) at = rows_->boundary_from(interval.feature, wish);
      if (at > interval.last || (!positions.empty() && at <= positions.back())) continue;
      positions.push_back(at);
    }
  }

 private:
  // Bounds an interval and, with `cut`, takes off both ends what the neighbours exclude. False if nothing is left.
  bool shrink(Interval& interval, i64 limit, bool cut) {
    const Point &u = points[interval.below], &v = points[interval.above];
    const u32 f = interval.feature;
    const i64 apart = distance(f, u.position, v.position);
    i64 bound = std::max<i64>(interval.bound, prices_.leaf);
    if (rules_.sub_interval) bound = std::max(bound, u.low + v.high + prices_.leaf);
    if (rules_.similarity) {
      if (rules_.sub_interval) bound = std::max(bound, v.low + u.high - apart + prices_.leaf);
      bound = std::max(bound, (u.total + v.total - apart + 1) >> 1);
    }
    interval.bound = bound;
    if (bound >= limit) {
      closed = std::min(closed, bound);
      return false;
    }
    if (cut) {
      // t is excluded while d(u, t) <= u.total - limit, and while d(t, v) <= v.total - limit
      if (u.total >= limit) {
        const i64 reach = (u.total - limit) / prices_.error;
        const i64 from = rows_->weight_before(*table_, f, u.position);
        const u32 first = rows_->position_at_weight(*table_, f, u.position, from + reach + 1);
        if (first > interval.first) {
          interval.first = first;
          closed = std::min(closed, limit);
        }
      }
      if (v.total >= limit) {
        const i64 reach = (v.total - limit) / prices_.error;
        const i64 to = rows_->weight_before(*table_, f, v.position);
        // last t with weight_before(t) < to - reach
        const i64 need = to - reach;
        const u32 beyond = need <= 0 ? 0 : rows_->position_at_weight(*table_, f, 0, need);
        const u32 last = beyond == 0 ? 0 : beyond - 1;
        if (last < interval.last) {
          interval.last = last;
          closed = std::min(closed, limit);
        }
      }
    }
    if (interval.first > interval.last) return false;
    interval.first = rows_->boundary_from(f, interval.first);
    interval.last = rows_->boundary_until(f, interval.last);
    return interval.first <= interval.last && interval.first < rows_->n && interval.last > 0;
  }

  const Table* table_ = nullptr;
  Rows* rows_ = nullptr;
  Prices prices_;
  Rules rules_;
};

// Points of a solved subproblem, for its neighbours: by feature, then by key.
struct Profile {
  struct Entry {
    u32 key, position;
    int age;
    i64 low, high, total;
  };
  u32 n = 0;
  std::vector<u32> start;  // per feature
  std::vector<Entry> entries;
};

}  // namespace proofwood::trees
