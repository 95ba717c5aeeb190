// Columns that several features are views of: their tests that divide rows alike count once
// (docs/theory/near-optimal-trees.md, "Gaps and levels").
#pragma once

#include <array>
#include <vector>

#include "trees/kernels.hpp"
#include "trees/rows.hpp"

namespace proofwood::trees::near {

// What each column of the caller's table shows.
struct GivenViews {
  std::vector<u32> of;  // number of what it is a view of
  std::vector<unsigned char>
      high;  // whether its greatest value stands for gaps, which another view has below all values
};

class ColumnViews {
 public:
  ColumnViews(const Table& table, const GivenViews& given);

  u32 n_columns() const { return n_columns_; }
  u32 column(u32 feature) const { return column_[feature]; }
  // Whether another view comes before this one, so that a test of it may repeat one of the other's.
  bool may_repeat(u32 feature) const { return high_[feature] != 0 || number_[feature] > 0; }
  bool has_high_gaps(u32 feature) const { return high_[feature] != 0; }
  u32 gap_rank(u32 feature) const { return table_.rank[feature].n_values() - 1; }
  // Columns of several features of 0 and 1: rows that all of them have alike are of one level.
  struct Levels {
    u32 n_levels = 0;
    std::vector<u32> features, low;    // low: bits of the levels that go low, per feature
    std::vector<unsigned char> level;  // per row of the table
  };
  const Levels& levels(u32 feature) const { return levels_[column_[feature]]; }
  u32 number(u32 feature) const { return number_[feature]; }  // among the features of its levels
  // Lanes in which a feature repeats one before it. `present`: per level, the lanes with such rows.
  u32 repeated(u32 feature, const std::vector<u32>& present) const;

 private:
  void find_levels(Levels& levels) const;

  const Table& table_;
  u32 n_columns_ = 0;
  std::vector<u32> column_, number_;  // per feature
  std::vector<unsigned char> high_;
  std::vector<Levels> levels_;  // per column; empty where it has a single feature, or gaps on either side
};

// Of one set of rows: which tests repeat another.
class RepeatedTests {
 public:
  explicit RepeatedTests(const ColumnViews& views) : views_(views) {}
  void begin(const Rows& rows) {
    rows_ = &rows;
    present_.assign(views_.n_columns(), {});
  }
  bool repeats(u32 feature, u32 position);

 private:
  const ColumnViews& views_;
  const Rows* rows_ = nullptr;
  std::vector<std::vector<u32>> present_;  // per column
};

// Of the sides of the splits of a batch: which stumps repeat another.
class RepeatedStumps {
 public:
  explicit RepeatedStumps(const ColumnViews& views) : views_(views) {}
  // The masks say which rows go low in each lane.
  void begin(const Rows& rows, const u32* mask, const Kernels& kernels, std::size_t n_lanes);
  void take_feature(u32 feature);
  bool repeats(const StumpHit& hit) const {
    if (views_.has_high_gaps(feature_)) return hit.position >= until_[hit.side][hit.lane];
    return (repeated_[hit.side] >> kernels_->lane_bit(hit.lane) & 1) != 0;
  }

 private:
  void find_gaps();
  void find_present();

  const ColumnViews& views_;
  const Rows* rows_ = nullptr;
  const u32* mask_ = nullptr;
  const Kernels* kernels_ = nullptr;
  std::size_t n_lanes_ = 0;
  u32 feature_ = 0, present_of_ = ~0u;
  std::array<std::vector<u32>, 2> until_;    // per side and lane: positions from here on repeat
  std::array<std::vector<u32>, 2> present_;  // per side and level: lanes
  std::array<u32, 2> repeated_{};            // lanes per side
};

}  // namespace proofwood::trees::near
