// One walk over all rows finds a best split for many nodes at once (docs/theory/optimal-trees.md, "First trees").
#include "trees/row_walk.hpp"

#include <algorithm>
#include <numeric>

#include "trees/level_stump.hpp"

namespace proofwood::trees {

void RowWalk::count(bool by_class) {
  for (Slot& slot : slots) {
    slot.count = 0;
    slot.mass = 0;
    slot.class_weight.assign(by_class && !table_.by_sums() ? table_.n_classes : 0, 0);
    slot.sums.clear(by_class ? table_.sums.size() : 0);
  }
  for (u32 r = 0; r < table_.n_rows; ++r) {
    const Record& record = records[r];
    Slot& slot = slots[record.slot];
    slot.count += table_.count[r];
    slot.mass += table_.mass[r];
    if (!by_class) continue;
    if (table_.by_sums())
      slot.sums.add(table_, r);
    else
      slot.class_weight[record.label] += record.weight;
  }
}

i64 RowWalk::leaf_of(const Slot& slot) const {
  if (table_.by_sums()) return table_.sums_task->leaf_of(slot.sums);
  i64 all = 0, heaviest = 0;
  for (const i64 weight : slot.class_weight) {
    all += weight;
    heaviest = std::max(heaviest, weight);
  }
  return price_ * (all - heaviest);
}

// ------------------------------------------------------------------ least impurity

bool RowWalk::purest_classes(std::vector<double>* by_feature) {
  struct Impurity : Cell {
    double low_squares = 0, high_squares = 0, all_squares = 0, low_weight = 0, weight = 0;
    i64 *low = nullptr, *all = nullptr;
    u32 n_classes = 0;
    void restart() {
      Cell::begin();
      low_squares = 0;
      high_squares = all_squares;
      low_weight = 0;
      std::fill(low, low + n_classes, 0);
    }
  };
  const u32 n_classes = table_.n_classes;
  low_.assign(slots.size() * n_classes, 0);
  std::vector<Impurity> cells(slots.size());
  for (std::size_t s = 0; s < slots.size(); ++s) {
    cells[s].low = low_.data() + s * n_classes;
    cells[s].all = slots[s].class_weight.data();
    cells[s].n_classes = n_classes;
    for (const i64 w : slots[s].class_weight) {
      cells[s].weight += static_cast<double>(w);
      cells[s].all_squares += static_cast<double>(w) * static_cast<double>(w);
    }
  }
  const auto offer = [&](const Impurity& cell, u32 s, u32 feature, const auto& permitted) {
    const double high_weight = cell.weight - cell.low_weight, product = cell.low_weight * high_weight;
    // sum of squares over size of both sides: larger is purer; times the sizes, as divisions are slow
    const double purity = cell.low_squares * high_weight + cell.high_squares * cell.low_weight;
    Choice& best = choices[s];
    const double bar = by_feature ? (*by_feature)[feature] : best.score;
    if (!(purity > bar * product) || product == 0 || !permitted()) return;
    const double score = purity / product;
    if (by_feature) (*by_feature)[feature] = std::max((*by_feature)[feature], score);
    if (score > best.score) best = {0, score, true, feature, cell.last, 0};
  };
  const auto add = [](Impurity& cell, const Record& record, u32) {
    i64& low = cell.low[record.label];
    const double w = static_cast<double>(record.weight);
    cell.low_squares += w * (2 * static_cast<double>(low) + w);
    cell.high_squares -= w * (2 * static_cast<double>(cell.all[record.label] - low) - w);
    low += record.weight;
    cell.low_weight += w;
  };
  return walk(cells, offer, add);
}

bool RowWalk::purest(std::vector<double>* by_feature) {
  choices.assign(slots.size(), {});
  return table_.by_sums() ? table_.sums_task->purest(*this, by_feature) : purest_classes(by_feature);
}

// ------------------------------------------------------------------ two leaves

bool RowWalk::stumps_of_classes() {
  const u32 n_classes = table_.n_classes;
  struct Tally : Cell {
    i64 *low = nullptr, *all = nullptr;
    u32 n_classes = 0;
    i64 most_low = 0, most_high = 0;  // of any class; `most_high` is no less, as the high side only loses rows
    i64 most_all = 0, best = 0;       // `best`: weight that two leaves get right
    void restart() {
      Cell::begin();
      most_low = 0;
      most_high = most_all;
      std::fill(low, low + n_classes, 0);
    }
  };
  low_.assign(slots.size() * n_classes, 0);
  std::vector<Tally> cells(slots.size());
  for (std::size_t s = 0; s < slots.size(); ++s) {
    cells[s].low = low_.data() + s * n_classes;
    cells[s].all = slots[s].class_weight.data();
    cells[s].n_classes = n_classes;
    cells[s].most_all = *std::max_element(slots[s].class_weight.begin(), slots[s].class_weight.end());
    cells[s].best = cells[s].most_all;  // more than a leaf
  }
  const auto offer = [&](Tally& cell, u32 s, u32 feature, const auto& permitted) {
    if (cell.most_low + cell.most_high <= cell.best) return;
    cell.most_high = 0;
    for (u32 c = 0; c < n_classes; ++c) cell.most_high = std::max(cell.most_high, cell.all[c] - cell.low[c]);
    if (cell.most_low + cell.most_high <= cell.best || !permitted()) return;
    cell.best = cell.most_low + cell.most_high;
    choices[s] = {0, 0, true, feature, cell.last, 0};
  };
  const auto add = [](Tally& cell, const Record& record, u32) {
    const i64 low = cell.low[record.label] += record.weight;
    cell.most_low = std::max(cell.most_low, low);
  };
  const bool done = walk(cells, offer, add);
  for (std::size_t s = 0; s < slots.size(); ++s)
    choices[s].cost = leaf_of(slots[s]) - price_ * (cells[s].best - cells[s].most_all);
  return done;
}

bool RowWalk::stumps() {
  choices.assign(slots.size(), {});
  for (std::size_t s = 0; s < slots.size(); ++s) choices[s].cost = leaf_of(slots[s]);
  if (!(table_.by_sums() ? table_.sums_task->stumps(*this) : stumps_of_classes())) return false;
  offer_level_stumps();
  return true;
}

void RowWalk::offer_level_stumps() {
  const std::size_t n_classes = table_.n_classes;
  for (u32 c = 0; c < table_.levels.size(); ++c) {
    const LevelColumn& column = table_.levels[c];
    const std::size_t each = column.n_levels() * n_classes;
    std::vector<i64> weights(slots.size() * each, 0);
    for (u32 r = 0; r < table_.n_rows; ++r)
      weights[records[r].slot * each + column.code[r] * n_classes + records[r].label] += records[r].weight;
    for (std::size_t s = 0; s + 1 < slots.size(); ++s) {
      const auto first = weights.begin() + static_cast<std::ptrdiff_t>(s * each);
      const LevelStump stump =
          best_level_stump({first, first + static_cast<std::ptrdiff_t>(each)}, column.n_levels(), table_.n_classes);
      const auto& of_classes = slots[s].class_weight;
      const i64 cost = price_ * (std::accumulate(of_classes.begin(), of_classes.end(), i64{0}) - stump.right);
      if (cost < choices[s].cost) choices[s] = {cost, 0, true, table_.n_features + c, 0, stump.levels};
    }
  }
}

// ------------------------------------------------------------------ fixed sides

bool RowWalk::sides() {
  choices.assign(slots.size(), {});
  struct Sum : Cell {
    i64 sum = 0, best = 0;
    bool found = false;
    u32 feature = 0, key = 0;
    void restart() {
      Cell::begin();
      sum = 0;
    }
  };
  std::vector<Sum> cells(slots.size());
  for (std::size_t s = 0; s < slots.size(); ++s) cells[s].best = slots[s].bar;
  const auto offer = [&](Sum& cell, u32, u32 feature, const auto& permitted) {
    if (cell.sum >= cell.best || !permitted()) return;
    cell.best = cell.sum;
    cell.found = true;
    cell.feature = feature;
    cell.key = cell.last;
  };
  const auto add = [](Sum& cell, const Record& record, u32) { cell.sum += record.weight; };
  if (!walk(cells, offer, add)) return false;
  for (std::size_t s = 0; s < slots.size(); ++s)
    choices[s] = {cells[s].best, 0, cells[s].found, cells[s].feature, cells[s].key, 0};
  offer_level_sides();
  return true;
}

// Each level goes to the side that is cheaper for it.
void RowWalk::offer_level_sides() {
  for (u32 c = 0; c < table_.levels.size(); ++c) {
    const LevelColumn& column = table_.levels[c];
    const std::size_t m = column.n_levels();
    std::vector<i64> sums(slots.size() * m, 0);
    for (u32 r = 0; r < table_.n_rows; ++r) sums[records[r].slot * m + column.code[r]] += records[r].weight;
    for (std::size_t s = 0; s + 1 < slots.size(); ++s) {
      if (!column.tested_at(slots[s].depth)) continue;
      i64 value = 0;
      LevelSet low = 0;
      for (u32 level = 0; level < m; ++level) {
        if (sums[s * m + level] >= 0) continue;
        value += sums[s * m + level];
        low |= only(level);
      }
      if (low != 0 && value < choices[s].cost) choices[s] = {value, 0, true, table_.n_features + c, 0, low};
    }
  }
}

}  // namespace proofwood::trees
