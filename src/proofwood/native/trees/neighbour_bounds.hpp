// What a subproblem learns from its neighbours
// (docs/theory/optimal-trees.md, "Bounds between neighbouring subproblems").
//
// The parent evaluates a split at t between the splits u and v that it has evaluated. The low side of t holds all rows
// of the low side of u, and is held in that of v. So what was learned of a threshold s in the low sides of u and v
// holds:
//
//   rows of the low side   u: ######              known at s: cost c          here: cost >= c
//                          t: #########                                       (rows were added)
//                          v: #############       known at s: cost c          here: cost >= c - d(t, v)
//                                                                             (rows were removed)
// This is not the paper's neighbourhood pruning, which is in interval_queue.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <memory>
#include <vector>

#include "trees/interval_queue.hpp"

namespace proofwood::trees {

template <class Value>
struct SubproblemOf;

// A bound as it is kept for neighbours. One number has 32 bits, in units of 2^shift: it is rounded down, and a bound.
template <class Value>
class KeptBound {
 public:
  KeptBound(const Value& bound, int) : bound_(bound) {}
  const Value& bound(int) const { return bound_; }

 private:
  Value bound_;
};

template <>
class KeptBound<i64> {
 public:
  KeptBound(i64 bound, int shift) : units_(static_cast<u32>(std::clamp(bound >> shift, i64{0}, kMost))) {}
  i64 bound(int shift) const { return i64{units_} << shift; }
  // Of bounds up to some twice `cost`.
  static int shift_of(i64 cost) { return std::max(0, static_cast<int>(std::bit_width(static_cast<u64>(cost))) - 31); }

 private:
  static constexpr i64 kMost = std::numeric_limits<u32>::max();
  u32 units_;
};

// Points of a solved subproblem, for its neighbours: by feature, then by key.
template <class Value>
struct KnownSplitsOf {
  struct Entry {
    u32 key;
    u32 position : 31, age : 1;
    KeptBound<Value> low_side, high_side, total;  // as in Point
  };
  u32 n = 0;               // rows of the subproblem
  int shift = 0;           // of the bounds
  std::vector<u32> start;  // per feature
  std::vector<Entry> entries;
  std::vector<i64> level_bounds;                        // as in Subproblem
  std::shared_ptr<const KnownSplitsOf<FewLeaves>> few;  // of vectors at depth two, in place of these
};
template <class Value>
using KnownSplitsPtrOf = std::shared_ptr<const KnownSplitsOf<Value>>;

// A neighbour's known splits, whether its rows are a subset of ours, and the cost of the rows that it has beyond ours.
template <class Value>
struct NeighbourOf {
  const KnownSplitsOf<Value>* known = nullptr;
  bool subset = false;
  i64 removed = 0;
};
template <class Value>
using NeighboursOf = std::array<NeighbourOf<Value>, 2>;

template <class Value>
KnownSplitsPtrOf<Value> known_splits(const SubproblemOf<Value>& subproblem);

// Opens a subproblem: points first, then the intervals that they leave open. Memory of one thread.
template <class Value>
class NeighbourBoundsOf {
 public:
  using Point = PointOf<Value>;
  using Neighbour = NeighbourOf<Value>;
  using Subproblem = SubproblemOf<Value>;

  // Points at both ends of every feature and those known from neighbours between them. Returns how many of these.
  // `recorded`: points of the subproblem itself, by feature and position.
  i64 place_points(Subproblem& subproblem, const NeighboursOf<Value>& neighbours, const Prices& prices,
                   bool use_neighbours, const std::vector<Point>& recorded = {});
  void open_intervals(Subproblem& subproblem);

 private:
  void import_feature(const Rows& rows, u32 feature, const Neighbour& neighbour, i64 leaf_price);
  void import_entries(const Rows& rows, u32 feature, const Neighbour& neighbour, i64 leaf_price);
  void open_feature(IntervalQueueOf<Value>& queue, int begin, int end, const Value& limit);

  std::vector<Point> merged_;     // of one feature, by position
  std::vector<int> first_point_;  // per feature: its first point, and one past the last
};

using KnownSplits = KnownSplitsOf<i64>;
using KnownSplitsPtr = KnownSplitsPtrOf<i64>;
using Neighbour = NeighbourOf<i64>;
using Neighbours = NeighboursOf<i64>;

}  // namespace proofwood::trees
