// A set of rows for trees of any depth whose leaves have a price: bounds of both sides of each of its tests
// (docs/theory/optimal-trees.md, "No depth").
#pragma once

#include <vector>

#include "trees/packed/row_set.hpp"
#include "trees/plan.hpp"
#include "trees/settings.hpp"

namespace proofwood::trees::packed {

// What all sets of one thread use.
struct PricedRoom {
  const TestTable& table;
  const Kernels& kernels;
  const Settings& settings;
  Stop stop;
  bool similar = true;      // similarity bounds hold
  i64 error = 1, leaf = 0;  // prices
  i64 least = 1;            // weight that a leaf gets right, or it is not worth its price
  std::vector<u32> cell;    // of each test
  double work = 0;          // of the kernels, in steps of about a nanosecond
  Scratch scratch;
  VectorBuffer sums;
  std::vector<u32> alive;
  std::vector<std::int32_t> both, part, most_in, most_out;

  PricedRoom(const TestTable& t, const Kernels& k, const Settings& s, const Stop& asked);
};

class PricedSet {
 public:
  RowSet rows;
  i64 leaf = 0, lower = 0, upper = kInfinite;  // of a single leaf; of all trees; of `plan`
  PlanPtr plan;
  // Per test. Of its sides, 0: where it fails, 1: where it holds.
  std::vector<i64> side_lower[2], side_upper[2];
  std::vector<i64> shallow[2];        // cost of the best tree of at most two leaves
  std::vector<PlanPtr> side_plan[2];  // of `side_upper`, where that is below `shallow`
  std::vector<i64> bound;             // of trees with the test at their root; kInfinite: not wanted here or below

  // Opens the rows, and bounds all sides; those of the tests of the parent bound them, too. `known`: a bound of all
  // trees. False if stopped: nothing is known then.
  bool begin(PricedRoom& room, const PricedSet* parent, u32 test, int side, i64 known);

  i64 cost(const PricedRoom& room, u32 test) const { return side_upper[0][test] + side_upper[1][test] + room.leaf; }
  bool solved(u32 test, int side) const { return side_lower[side][test] >= side_upper[side][test]; }
  i64 side_leaf(const PricedRoom& room, u32 test, int side) const;
  i64 weight(const PricedRoom& room, u32 test, int side) const;
  PlanPtr plan_of(const PricedRoom& room, u32 test) const;
  PlanPtr plan_of_side(const PricedRoom& room, u32 test, int side) const;
  // After the bounds of a side rose.
  void refresh(const PricedRoom& room, u32 test);
  // What a side of a test says of the sides of the others.
  void spread(PricedRoom& room, u32 test, int side);
  i64 least_bound() const;

 private:
  bool count(PricedRoom& room);
  void begin_test(const PricedRoom& room, u32 test);
  void look_at_parent(const PricedRoom& room, const PricedSet& parent);
  // Tests that are of interest where `test` holds, or fails.
  void choose(PricedRoom& room, u32 test, int side) const;
  void read_row(const PricedRoom& room, u32 layer, u32 test, std::vector<std::int32_t>& row) const;
  void note_most(PricedRoom& room, u32 test, int side) const;
  i64 cell(const PricedRoom& room, const void* cells, std::size_t at) const {
    return room.kernels.cell_bytes == 2 ? i64{static_cast<const std::int16_t*>(cells)[at]}
                                        : i64{static_cast<const std::int32_t*>(cells)[at]};
  }
  i64 single(const PricedRoom& room, u32 layer, u32 test) const {
    return cell(room, sums_.single, std::size_t{layer} * rows.stride + room.cell[test]);
  }
  // A layer's sum of a side.
  i64 on_side(const PricedRoom& room, u32 layer, u32 test, int side) const {
    const i64 held = single(room, layer, test);
    return side == 1 ? held : all_[layer] - held;
  }
  i64 most(const PricedRoom& room, u32 test, int side) const;
  bool permitted(const PricedRoom& room, u32 test, int side) const;

  Sums sums_{};
  Best best_{}, alone_{};
  std::vector<std::int32_t> all_;
  VectorBuffer pairs_, single_, cells_[4];
};

}  // namespace proofwood::trees::packed
