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

#include <array>
#include <memory>
#include <vector>

#include "trees/interval_queue.hpp"

namespace proofwood::trees {

struct Subproblem;

// Points of a solved subproblem, for its neighbours: by feature, then by key.
struct KnownSplits {
  struct Entry {
    u32 key, position;
    int age;
    i64 low_side, high_side, total;  // as in Point
  };
  u32 n = 0;               // rows of the subproblem
  std::vector<u32> start;  // per feature
  std::vector<Entry> entries;
  std::vector<i64> level_bounds;  // as in Subproblem
};
using KnownSplitsPtr = std::shared_ptr<const KnownSplits>;

// A neighbour's known splits, whether its rows are a subset of ours, and the cost of the rows that it has beyond ours.
struct Neighbour {
  const KnownSplits* known = nullptr;
  bool subset = false;
  i64 removed = 0;
};
using Neighbours = std::array<Neighbour, 2>;

KnownSplitsPtr known_splits(const Subproblem& subproblem);

// Opens a subproblem: points first, then the intervals that they leave open. Memory of one thread.
class NeighbourBounds {
 public:
  // Points at both ends of every feature and those known from neighbours between them. Returns how many of these.
  // `recorded`: points of the subproblem itself, by feature and position.
  i64 place_points(Subproblem& subproblem, const Neighbours& neighbours, const Prices& prices, bool use_neighbours,
                   const std::vector<Point>& recorded = {});
  void open_intervals(Subproblem& subproblem);

 private:
  void import_feature(const Rows& rows, u32 feature, const Neighbour& neighbour, i64 leaf_price);
  void import_entries(const Rows& rows, u32 feature, const Neighbour& neighbour, i64 leaf_price);
  void open_feature(IntervalQueue& queue, int begin, int end, i64 limit);

  std::vector<Point> merged_;     // of one feature, by position
  std::vector<int> first_point_;  // per feature: its first point, and one past the last
};

}  // namespace proofwood::trees
