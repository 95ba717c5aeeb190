// The queue of intervals of one subproblem
// (ConTree, Algorithm 1; docs/theory/optimal-trees.md, "Bounds", "The search").
//
// A threshold t of a feature costs low(t) + high(t) + the price of a leaf, where low(t) and high(t) are the costs of
// the best trees of the rows on its low and its high side. Along the feature the low side grows and the high side
// shrinks. Thresholds that were evaluated are points; intervals hold those that are still open between points:
//
//   position    0     3    4 ............ 9    10          n     z(t): weight of the rows left of t
//   points      .     u                         v          .     u and v were evaluated; 0 and n split nothing
//   interval             [first    last]                         all t with u < t < v
//
// With d the error price times the weight between two thresholds, u and v say of every t between them
//   low(t)  >= max(low(u),  low(v)  - d(t, v))      (a superset costs no less; similarity bound, eq. 3, for a subset)
//   high(t) >= max(high(v), high(u) - d(u, t))
// and the four rules below are the combinations. With a minimum of leaves neither holds; then low(t) and high(t) are
// costs of the relaxation without the minimum.
#pragma once

#include <utility>
#include <vector>

#include "trees/rows.hpp"
#include "trees/settings.hpp"
#include "trees/value.hpp"

namespace proofwood::trees {

// What is known of one threshold. Three lower bounds of costs, those of the relaxation: of the rows on its low side, of
// those on its high side, and of the split with both. And an upper bound: the cost of the best tree found there.
template <class Value>
struct PointOf {
  u32 feature = 0, position = 0;
  Value low_side{}, high_side{}, total{};
  Value upper = all_trees<Value>();
  int age = 0;  // subproblems since it was evaluated
  bool evaluated = false;
  int low_known = -1, high_known = -1;  // what the subproblems of its sides learned: places in Subproblem::known
};

struct Interval {
  i64 bound;  // of every threshold in it; of vectors, how urgent it is, as `key_of` says
  u32 feature, first, last;
  int below, above;                                 // nearest points outside, or the point itself
  u32 rank;                                         // of the feature: ties of the bound go to the smaller
  bool is_point() const { return below == above; }  // a threshold that is known in part
};

// Bounds of a feature's thresholds from elsewhere: of those up to a position, from the one before.
struct Floor {
  u32 until;
  i64 bound;
};
using Floors = std::vector<std::vector<Floor>>;                          // per feature
i64 least_floor(const std::vector<Floor>& floors, u32 first, u32 last);  // of the thresholds first..last

template <class Value>
class IntervalQueueOf {
 public:
  using Point = PointOf<Value>;
  Floors floors;  // none, or of every feature (docs/theory/optimal-trees.md, "Blocks")
  std::vector<Point> points;
  std::vector<u32> rank;                    // of features; none: their number
  Value least_pruned = all_trees<Value>();  // bound of all that was pruned
  // None, or of every feature: the positions, first and last, that are searched. Nothing is said of others.
  std::vector<std::pair<u32, u32>> only;

  void begin(const Table& table, Rows& rows, const Prices& prices, const Rules& rules);
  void raise_floors(const Floors& higher);  // for open intervals, too
  void forget_intervals() { heap_.clear(); }
  const std::vector<Interval>& open() const { return heap_; }

  bool empty() const { return heap_.empty(); }
  std::size_t n_open() const { return heap_.size(); }  // intervals
  u64 open_thresholds() const;                         // at most so many
  std::size_t open_below(const Value& limit) const;
  Value open_bound() const;
  Value bound_of(const Interval& interval) const;  // of every threshold in it

  // The open interval of least bound, pruned by the newest limit; false if no interval is left that may hold a tree
  // cheaper than `limit`.
  bool take(Interval& interval, const Value& limit)
    requires kOneNumber<Value>;
  bool take(Interval& interval, const Value& limit)
    requires(!kOneNumber<Value>);

  // Thresholds strictly between two points that a tree cheaper than `limit` may still use. False if there are none.
  bool between(int below, int above, const Value& limit, Interval& interval);
  void add_between(int below, int above, const Value& limit);
  void add_point(int at, const Value& limit);       // a threshold of which only bounds are known
  void add(Interval interval, const Value& limit);  // what the rules leave of an interval
  void put_back(Interval interval);                 // as it is, but for what is not searched
  // What is left of a taken interval between two of its points.
  void add_part(const Interval& taken, int below, int above, const Value& limit);

  // `count` thresholds spread over the interval.
  void choose(const Interval& interval, u32 count, std::vector<u32>& positions) const;

  bool repeats(u32 feature) const { return rows_->repeats(*table_, feature); }  // its splits are those of another one
  u32 rank_of(u32 feature) const { return feature < rank.size() ? rank[feature] : feature; }

 private:
  bool prune(Interval& interval, const Value& limit, bool shrink)
    requires kOneNumber<Value>;
  bool prune(Interval& interval, const Value& limit, bool shrink)
    requires(!kOneNumber<Value>);
  i64 distance(const Point& u, const Point& v) const {
    return prices_.error * (rows_->weight_before(*table_, u.feature, v.position) -
                            rows_->weight_before(*table_, u.feature, u.position));
  }
  void neighbourhood_pruning(i64& bound, i64 below, i64 above, i64 apart) const;
  bool interval_shrinking(Interval& interval, i64 below, i64 above) const;
  void sub_interval_pruning(Value& bound, const Point& u, const Point& v) const;
  void cross_bound(Value& bound, const Point& u, const Point& v, i64 apart) const;
  i64 weight_of(i64 cost) const { return prices_.error == 1 ? cost : cost / prices_.error; }  // a division is slow here
  bool snap_to_boundaries(Interval& interval) const;
  bool searched(Interval& interval) const;
  void note_pruned(const Value& bound) { lower_to(least_pruned, bound); }

  std::vector<Interval> heap_;
  const Table* table_ = nullptr;
  Rows* rows_ = nullptr;
  Prices prices_;
  Rules rules_;
};

using Point = PointOf<i64>;
using IntervalQueue = IntervalQueueOf<i64>;

}  // namespace proofwood::trees
