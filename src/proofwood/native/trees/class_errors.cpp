// The task of classes: its kernels count in narrow lanes (docs/theory/optimal-trees.md, "Tasks").
#include "trees/class_errors.hpp"

#include "trees/stump.hpp"
#include "trees/stump_batch.hpp"

namespace proofwood::trees {

namespace {

class ClassStumps final : public StumpCosts {
 public:
  ClassStumps(StumpBatch& batch, i64 price) : batch_(batch), price_(price) {}

  void begin(Rows& rows) override { batch_.begin(rows); }
  int room() const override { return batch_.kernels->lanes; }
  bool run(Rows& rows) override {
    if (!batch_.run_batch(rows)) return false;
    sides.resize(batch_.lanes.size());
    for (std::size_t l = 0; l < sides.size(); ++l) {
      const StumpBatch::Lane& lane = batch_.lanes[l];
      const i64 low = rows.weight_before(batch_.table, lane.feature, lane.position);
      sides[l] = {side(batch_.found[l], 0, low), side(batch_.found[l], 1, rows.counts.weight - low)};
    }
    return true;
  }

 private:
  SideCosts side(const LaneResult& result, int side, i64 weight) const {
    const auto cost = [&](i64 value) { return price_ * (weight - (batch_.two ? (weight + value) / 2 : value)); };
    const i64 leaf = cost(result.leaf[side]), stump_all = cost(result.stump_all[side]);
    if (!batch_.minimum.any()) return {leaf, stump_all, stump_all};
    return {leaf, result.stump[side] < 0 ? kInfinite : cost(result.stump[side]), stump_all};
  }

  StumpBatch& batch_;
  const i64 price_;
};

class ClassErrors final : public Task {
 public:
  explicit ClassErrors(i64 price) : price_(price) {}

  i64 leaf(const Rows& rows) const override { return price_ * rows.counts.errors(); }
  Stump stump(const Table& table, const Rows& rows, const Minimum& minimum,
              const std::atomic<int>& stop) const override {
    Stump best = lightest_stump(table, rows, minimum, stop);
    for (i64* const cost : {&best.cost, &best.cost_all})
      if (*cost < kInfinite) *cost *= price_;
    return best;
  }
  std::unique_ptr<StumpCosts> stumps(StumpBatch& batch) const override {
    return std::make_unique<ClassStumps>(batch, price_);
  }

 private:
  const i64 price_;
};

}  // namespace

std::shared_ptr<const Task> class_errors(i64 price) { return std::make_shared<ClassErrors>(price); }

}  // namespace proofwood::trees
