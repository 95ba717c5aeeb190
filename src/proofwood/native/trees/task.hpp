// What a leaf costs: the seam between the search and a task (docs/theory/optimal-trees.md, "Tasks").
//
//   V(A, 0) = cost of one leaf on the rows A          V(A, 1) = the least cost of two leaves, in one number
//   V(A, d) = the least of V(low, d - 1) + V(high, d - 1) over all splits, and of V(A, d - 1)
//
// All are integers, monotone in A, and superadditive: V(A, d) + V(B, d) <= V(A + B, d). All rules rest on that alone.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "trees/settings.hpp"

namespace proofwood::trees {

class Rows;
class RowWalk;
struct RowSums;
struct Table;
struct Stump;
struct StumpBatch;
namespace packed {
class Stumps;
struct TestTable;
struct Kernels;
struct Stop;
}  // namespace packed

// Of one side of a split, without the price of a leaf. `stump` obeys the minimum of leaves; kInfinite: none does.
struct SideCosts {
  i64 leaf, stump, stump_all;
};

// Best stumps of both sides of many splits: what depth two needs. Memory of one thread.
class StumpCosts {
 public:
  StumpCosts() = default;
  StumpCosts(const StumpCosts&) = delete;
  StumpCosts& operator=(const StumpCosts&) = delete;
  virtual ~StumpCosts() = default;
  virtual void begin(Rows& rows) = 0;
  virtual int room() const = 0;      // lanes of a batch
  virtual bool run(Rows& rows) = 0;  // the lanes of the batch; false if stopped
  // Of a lane, then. Rounding may leave costs open: they are bounds until `settle` makes them exact.
  std::vector<std::array<SideCosts, 2>> sides;
  virtual bool settled(std::size_t) const { return true; }
  virtual void settle(std::size_t) {}
};

class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;
  virtual i64 leaf(const Rows& rows) const = 0;  // V(A, 0)
  // The best stump and its cost; without a permitted one its cost is kInfinite.
  virtual Stump stump(const Table& table, const Rows& rows, const Minimum& minimum,
                      const std::atomic<int>& stop) const = 0;
  virtual std::unique_ptr<StumpCosts> stumps(StumpBatch& batch) const = 0;
};

// A task whose costs follow from sums over the rows of a leaf.
class SumsTask : public Task {
 public:
  virtual i64 leaf_of(const RowSums& rows) const = 0;
  virtual i64 two_leaves(const RowSums& low, const RowSums& high) const = 0;  // what they cost, in one number
  // Choices for the slots of a walk, as RowWalk has them for classes; false if stopped.
  virtual bool purest(RowWalk& walk, std::vector<double>* by_feature) const = 0;
  virtual bool stumps(RowWalk& walk) const = 0;
  // Trees of depth two for all roots at once, over packed tests.
  virtual std::unique_ptr<packed::Stumps> stumps(const packed::TestTable& table, const packed::Kernels& kernels,
                                                 const Settings& settings, const packed::Stop& stop) const = 0;
  // What a leaf of these rows predicts, and what a row costs with that, in units and rounded.
  virtual std::vector<double> prediction(const RowSums& rows) const = 0;
  virtual double loss(const Table& table, u32 row, const std::vector<double>& prediction) const = 0;
};

}  // namespace proofwood::trees
