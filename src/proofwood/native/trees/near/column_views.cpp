// Which tests of several views divide rows alike (docs/theory/near-optimal-trees.md, "Gaps and levels").
#include "trees/near/column_views.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace proofwood::trees::near {

ColumnViews::ColumnViews(const Table& table, const GivenViews& given) : table_(table) {
  for (const u32 of : given.of) n_columns_ = std::max(n_columns_, of + 1);
  levels_.resize(n_columns_);
  for (u32 f = 0; f < table.n_features; ++f) {
    const u32 of = given.of[table.column[f]];
    column_.push_back(of);
    high_.push_back(given.high[table.column[f]]);
    number_.push_back(high_[f] != 0 ? 0 : static_cast<u32>(levels_[of].features.size()));
    if (high_[f] == 0) levels_[of].features.push_back(f);
  }
  for (Levels& levels : levels_) {
    if (levels.features.size() > 1)
      find_levels(levels);
    else
      levels = {};
  }
}

void ColumnViews::find_levels(Levels& levels) const {
  std::map<u32, u32> known;  // bits of the features in which rows of a level go high
  levels.low.assign(levels.features.size(), 0);
  levels.level.resize(table_.n_rows);
  for (u32 r = 0; r < table_.n_rows; ++r) {
    u32 bits = 0;
    for (std::size_t i = 0; i < levels.features.size(); ++i) bits |= table_.rank[levels.features[i]][r] << i;
    const auto [at, is_new] = known.try_emplace(bits, static_cast<u32>(known.size()));
    levels.level[r] = static_cast<unsigned char>(at->second);
    if (!is_new) continue;
    for (std::size_t i = 0; i < levels.features.size(); ++i)
      if ((bits >> i & 1) == 0) levels.low[i] |= 1u << at->second;
  }
  levels.n_levels = static_cast<u32>(known.size());
  constexpr std::size_t kMost = 32;
  if (levels.n_levels > kMost || levels.features.size() > kMost)
    throw std::logic_error("a column has too many views: please report this data");
}

// Two sets of levels divide rows alike if these differ in none of the levels that occur, or in all of them.
u32 ColumnViews::repeated(u32 feature, const std::vector<u32>& present) const {
  const Levels& of = levels(feature);
  u32 repeated = 0;
  for (u32 other = 0; other < number_[feature]; ++other) {
    const u32 differ = of.low[number_[feature]] ^ of.low[other];
    u32 differing = 0, equal = 0;
    for (u32 level = 0; level < of.n_levels; ++level)
      ((differ >> level & 1) != 0 ? differing : equal) |= present[level];
    repeated |= ~(differing & equal);
  }
  return repeated;
}

bool RepeatedTests::repeats(u32 feature, u32 position) {
  if (!views_.may_repeat(feature)) return false;
  if (views_.has_high_gaps(feature)) {
    const u32 *const keys = rows_->key(feature), gap = views_.gap_rank(feature);
    return keys[rows_->n - 1] >> kLabelBits != gap || keys[position] >> kLabelBits == gap;
  }
  const ColumnViews::Levels& levels = views_.levels(feature);
  std::vector<u32>& present = present_[views_.column(feature)];
  if (present.empty()) {
    present.assign(levels.n_levels, 0);
    for (u32 i = 0; i < rows_->n; ++i) present[levels.level[rows_->row(i)]] = 1;
  }
  return (views_.repeated(feature, present) & 1) != 0;
}

void RepeatedStumps::begin(const Rows& rows, const u32* mask, const Kernels& kernels, std::size_t n_lanes) {
  rows_ = &rows;
  mask_ = mask;
  kernels_ = &kernels;
  n_lanes_ = n_lanes;
  present_of_ = ~0u;
}

void RepeatedStumps::take_feature(u32 feature) {
  feature_ = feature;
  if (!views_.may_repeat(feature)) return;
  if (views_.has_high_gaps(feature)) return find_gaps();
  find_present();
  for (const std::size_t side : {0, 1}) repeated_[side] = views_.repeated(feature, present_[side]);
}

// Without gaps on a side the view repeats the other one, and with them where it splits off no more than they.
void RepeatedStumps::find_gaps() {
  const u32 *const keys = rows_->key(feature_), *const order = rows_->order(feature_);
  const u32 gap = views_.gap_rank(feature_);
  for (auto& of : until_) of.assign(n_lanes_, 0);
  std::array<u32, 2> open{};  // lanes whose side has gaps, and of which the last value is to be found
  u32 i = rows_->n;
  for (; i > 0 && keys[i - 1] >> kLabelBits == gap; --i) {
    open[0] |= mask_[order[i - 1]];
    open[1] |= ~mask_[order[i - 1]];
  }
  for (; i > 0 && (open[0] | open[1]) != 0; --i) {
    const u32 mask = mask_[order[i - 1]];
    const std::array<u32, 2> found{open[0] & mask, open[1] & ~mask};
    for (const std::size_t side : {0, 1}) {
      open[side] &= ~found[side];
      if (found[side] == 0) continue;
      for (std::size_t l = 0; l < n_lanes_; ++l)
        if ((found[side] >> kernels_->lane_bit(static_cast<int>(l)) & 1) != 0) until_[side][l] = i;
    }
  }
}

void RepeatedStumps::find_present() {
  if (views_.column(feature_) == present_of_) return;
  present_of_ = views_.column(feature_);
  const ColumnViews::Levels& levels = views_.levels(feature_);
  for (auto& of : present_) of.assign(levels.n_levels, 0);
  for (u32 i = 0; i < rows_->n; ++i) {
    const unsigned char level = levels.level[rows_->row(i)];
    present_[0][level] |= mask_[i];
    present_[1][level] |= ~mask_[i];
  }
}

}  // namespace proofwood::trees::near
