// The depth-two routine: batches of root splits, each with the best stumps of both sides (ConTree, Algorithm 2;
// docs/theory/optimal-trees.md, "Depth two").
//
//   open intervals   [......]  [...]   [..............]     room for 6 candidates: two of each
//   candidates         |  |     | |        |      |         one walk over the rows evaluates all six
//   left open        [.] . [.] . . .  [...]  [....]  [...]  what the new points leave goes back into the queue
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "trees/coarse_stumps.hpp"
#include "trees/shared.hpp"
#include "trees/stump_batch.hpp"
#include "trees/subproblem.hpp"

namespace proofwood::trees {

constexpr u32 kEveryPosition = ~0u;

// Memory and methods of one thread.
template <class Value>
class DepthTwoOf : public StumpBatch {
 public:
  using Subproblem = SubproblemOf<Value>;
  using Improved = std::function<void(const Subproblem&)>;

  DepthTwoOf(const Frame& frame, Counters& counters);

  // Solves a subproblem of depth two whose points are placed, for thresholds at its root. `improved`: who is to hear of
  // better trees, or nobody. False if stopped.
  bool solve(Subproblem& subproblem, NeighbourBoundsOf<Value>& bounds, const NeighboursOf<Value>& neighbours,
             const Improved& improved);

  // Fills a batch from the open intervals that begin before a position. False if there are none.
  bool fill_batch(IntervalQueueOf<Value>& queue, std::size_t room, const Value& limit, u32 before);
  bool run(Rows& rows);  // the batch; false if stopped
  void take_lane(Subproblem& subproblem, std::size_t lane);
  void take_lanes(Subproblem& subproblem, std::size_t count);  // the first ones
  void put_back(IntervalQueueOf<Value>& queue, const Value& limit);

  // Of the last subproblem: what the better of a leaf and the best stump costs, if it was needed.
  std::optional<i64> cost_of_stump() const { return base_ ? std::optional(base_->cost) : std::nullopt; }
  void add_stump(SolutionOf<Value>& solution) const;  // to bounds by leaves
  // Adds to `bounds` of each of these columns what every tree with a set of its levels at the root costs: each level
  // gets what its best stump alone gets wrong, or more. False if stopped (level_bounds.cpp).
  bool bound_level_roots(Rows& rows, const std::vector<u32>& columns, std::vector<i64>& bounds);

  void forget_all() {
    StumpBatch::forget();
    coarse_.forget();
  }

  const std::unique_ptr<StumpCosts> costs;  // the task's

 private:
  struct Side {
    i64 relaxed, cost;
    bool stump;
  };
  Side side_cost(std::size_t lane, int side) const;
  // Of a side, as a value: its leaf alone, and the better of leaf and best stump.
  static Value side_value(i64 leaf, i64 cost) {
    if constexpr (kOneNumber<Value>) {
      return cost;
    } else {
      Value value(2, leaf);
      value[2] = cost;
      return value;
    }
  }
  void take_base(Subproblem& subproblem);
  Plans<Value> trees_of(const Subproblem& subproblem, const Lane& lane, const Side& low, const Side& high) const;
  bool run_seeds(Subproblem& subproblem);
  bool exhaust(Subproblem& subproblem, bool base_known, const Improved& improved);
  bool bound_many(Subproblem& subproblem);

  CoarseStumps coarse_;
  std::vector<CoarseStumps::Split> splits_;
  std::optional<Side> base_;
  bool begun_ = false;  // with the rows of the last subproblem
  const Frame& frame_;
  Counters& counters_;
  std::vector<Interval> taken_;
  std::vector<std::pair<std::size_t, std::size_t>> spans_;  // lanes of each taken interval
  std::vector<u32> positions_;
  std::vector<int> seeds_;
  std::vector<std::pair<i64, std::size_t>> turns_;
};

template <>
bool DepthTwoOf<i64>::bound_level_roots(Rows& rows, const std::vector<u32>& columns, std::vector<i64>& bounds);

using DepthTwo = DepthTwoOf<i64>;

}  // namespace proofwood::trees
