// One walk over all rows finds a best split for many nodes at once (docs/theory/optimal-trees.md, "First trees").
#include "trees/row_walk.hpp"

#include <algorithm>

#include "trees/level_stump.hpp"

namespace proofwood::trees {

namespace {

constexpr u32 kNoKey = ~0u;

// What is known of the rows of one slot that were walked over.
struct Cell {
  u32 last = kNoKey;  // key of the last row
  u32 count = 0;
  i64 mass = 0;

  void begin() {
    last = kNoKey;
    count = 0;
    mass = 0;
  }
};

}  // namespace

void RowWalk::count(bool by_class) {
  for (Slot& slot : slots) {
    slot.count = 0;
    slot.mass = 0;
    slot.class_weight.assign(by_class ? table_.n_classes : 0, 0);
  }
  for (u32 r = 0; r < table_.n_rows; ++r) {
    const Record& record = records[r];
    Slot& slot = slots[record.slot];
    slot.count += table_.count[r];
    slot.mass += table_.mass[r];
    if (by_class) slot.class_weight[record.label] += record.weight;
  }
}

template <bool kLimited, class Cell>
bool RowWalk::permitted(const Cell& cell, const Slot& slot) const {
  if (!kLimited) return true;
  const u64 rows = minimum_.rows;
  return cell.count >= slot.low_leaves * rows && slot.count - cell.count >= slot.high_leaves * rows &&
         cell.mass >= slot.low_leaves * minimum_.mass && slot.mass - cell.mass >= slot.high_leaves * minimum_.mass;
}

// `offer(cell, slot, feature)`: the rows of the slot that were walked over so far may go low. Rows of no interest have
// a slot too: a branch for each row would cost more than its sum.
template <bool kLimited, class Cell, class Offer, class Add>
bool RowWalk::walk(std::vector<Cell>& cells, const Offer& offer, const Add& add) {
  constexpr u32 kAhead = 24;
  const u32 n = all_.n;
  for (u32 f = 0; f < all_.n_features; ++f) {
    if (stop_.load(std::memory_order_relaxed)) return false;
    visits += n;
    for (Cell& cell : cells) cell.restart();
    const u32* const order = all_.order(f);
    const u32* const keys = all_.key(f);
    for (u32 i = 0; i < n; ++i) {
      __builtin_prefetch(&records[order[std::min(i + kAhead, n - 1)]]);
      const u32 r = order[i];
      const Record& record = records[r];
      Cell& cell = cells[record.slot];
      if (keys[i] != cell.last) {
        if (cell.last != kNoKey) offer(cell, record.slot, f);
        cell.last = keys[i];
      }
      add(cell, record);
      if (kLimited) {
        cell.count += table_.count[r];
        cell.mass += table_.mass[r];
      }
    }
  }
  return true;
}

// ------------------------------------------------------------------ least impurity

template <bool kLimited>
bool RowWalk::purest_with(std::vector<double>* by_feature) {
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
  const auto offer = [&](const Impurity& cell, u32 s, u32 feature) {
    const double high_weight = cell.weight - cell.low_weight, product = cell.low_weight * high_weight;
    // sum of squares over size of both sides: larger is purer; times the sizes, as divisions are slow
    const double purity = cell.low_squares * high_weight + cell.high_squares * cell.low_weight;
    Choice& best = choices[s];
    const double bar = by_feature ? (*by_feature)[feature] : best.score;
    if (!(purity > bar * product) || product == 0 || !permitted<kLimited>(cell, slots[s])) return;
    const double score = purity / product;
    if (by_feature) (*by_feature)[feature] = std::max((*by_feature)[feature], score);
    if (score > best.score) best = {0, score, true, feature, cell.last, 0};
  };
  const auto add = [](Impurity& cell, const Record& record) {
    i64& low = cell.low[record.label];
    const double w = static_cast<double>(record.weight);
    cell.low_squares += w * (2 * static_cast<double>(low) + w);
    cell.high_squares -= w * (2 * static_cast<double>(cell.all[record.label] - low) - w);
    low += record.weight;
    cell.low_weight += w;
  };
  return walk<kLimited>(cells, offer, add);
}

bool RowWalk::purest(std::vector<double>* by_feature) {
  choices.assign(slots.size(), {});
  return minimum_.any() ? purest_with<true>(by_feature) : purest_with<false>(by_feature);
}

// ------------------------------------------------------------------ two leaves

template <bool kLimited>
bool RowWalk::stumps_with() {
  const u32 n_classes = table_.n_classes;
  struct Tally : Cell {
    i64 *low = nullptr, *all = nullptr;
    u32 n_classes = 0;
    i64 most_low = 0, most_high = 0;  // of any class; `most_high` is no less, as the high side only loses rows
    i64 most_all = 0;
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
  }
  const auto offer = [&](Tally& cell, u32 s, u32 feature) {
    Choice& best = choices[s];
    if (cell.most_low + cell.most_high <= best.value) return;
    cell.most_high = 0;
    for (u32 c = 0; c < n_classes; ++c) cell.most_high = std::max(cell.most_high, cell.all[c] - cell.low[c]);
    if (cell.most_low + cell.most_high > best.value && permitted<kLimited>(cell, slots[s]))
      best = {cell.most_low + cell.most_high, 0, true, feature, cell.last, 0};
  };
  const auto add = [](Tally& cell, const Record& record) {
    const i64 low = cell.low[record.label] += record.weight;
    cell.most_low = std::max(cell.most_low, low);
  };
  return walk<kLimited>(cells, offer, add);
}

bool RowWalk::stumps() {
  choices.assign(slots.size(), {});
  for (std::size_t s = 0; s < slots.size(); ++s)  // more than a leaf
    choices[s].value = *std::max_element(slots[s].class_weight.begin(), slots[s].class_weight.end());
  if (!(minimum_.any() ? stumps_with<true>() : stumps_with<false>())) return false;
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
      if (stump.right > choices[s].value) choices[s] = {stump.right, 0, true, table_.n_features + c, 0, stump.levels};
    }
  }
}

// ------------------------------------------------------------------ fixed sides

template <bool kLimited>
bool RowWalk::sides_with() {
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
  const auto offer = [&](Sum& cell, u32 s, u32 feature) {
    if (cell.sum >= cell.best || !permitted<kLimited>(cell, slots[s])) return;
    cell.best = cell.sum;
    cell.found = true;
    cell.feature = feature;
    cell.key = cell.last;
  };
  const auto add = [](Sum& cell, const Record& record) { cell.sum += record.weight; };
  const bool done = walk<kLimited>(cells, offer, add);
  for (std::size_t s = 0; s < slots.size(); ++s)
    choices[s] = {cells[s].best, 0, cells[s].found, cells[s].feature, cells[s].key, 0};
  return done;
}

bool RowWalk::sides() {
  choices.assign(slots.size(), {});
  if (!(minimum_.any() ? sides_with<true>() : sides_with<false>())) return false;
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
      if (low != 0 && value < choices[s].value) choices[s] = {value, 0, true, table_.n_features + c, 0, low};
    }
  }
}

}  // namespace proofwood::trees
