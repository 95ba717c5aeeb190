// Best stumps of both sides of many splits of one set of rows, in one walk over the features (ConTree, Algorithm 2;
// docs/theory/optimal-trees.md, "Depth two").
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "trees/buffer.hpp"
#include "trees/kernels.hpp"
#include "trees/level_groups.hpp"
#include "trees/rows.hpp"
#include "trees/settings.hpp"

namespace proofwood::trees {

// Memory of one thread for the kernels. `begin` takes a set of rows, `run_batch` the splits in `lanes`.
struct StumpBatch {
  const Table& table;
  const Minimum& minimum;
  const int isa, lane_bits;
  const std::atomic<int>& stop;
  const bool bounded;  // as Rules::stump_bounds
  VectorBuffer mask_buffer, rank_buffer, weight_buffer, count_buffer, mass_buffer, lane_buffer;
  Buffer<std::uint16_t> label_buffer;
  LevelGroups groups;
  std::vector<Rows::Apart> apart;  // per feature
  StumpState state;
  const Kernels* kernels = nullptr;
  RowValues values{};
  bool two = true;
  struct Lane {
    u32 feature, position;
    int point;
  };
  std::vector<Lane> lanes;
  std::vector<LaneResult> found;

  StumpBatch(const Table& t, const Minimum& m, int instruction_set, int bits, const std::atomic<int>& s,
             bool stump_bounds)
      : table(t), minimum(m), isa(instruction_set), lane_bits(bits), stop(s), bounded(stump_bounds) {}

  void forget() {
    for (VectorBuffer* const one :
         {&mask_buffer, &rank_buffer, &weight_buffer, &count_buffer, &mass_buffer, &lane_buffer})
      *one = {};
    label_buffer = {};
  }

  // Rows of a feature that need no look at each of them. True if any has gaps.
  bool find_apart(const Rows& rows) {
    constexpr u32 kMany = 8;  // one row in so many
    bool has_gaps = false;
    apart.assign(rows.n_features, {});
    if (minimum.any()) return false;
    for (u32 f = 0; f < rows.n_features; ++f) {
      if (table.high_view[f] != kNoView) {
        const u32 gap = rows.gap_of(f);
        if (gap > 0 && gap < rows.n) apart[f] = {gap, true};
        has_gaps |= apart[f].gap;
      } else if (two && f > 0) {  // the first feature says what all rows have
        const u32 first = rows.boundary_from(f, 1);
        if (first >= rows.n / kMany && first < rows.n) apart[f] = {first, false};
      }
    }
    return has_gaps;
  }

  bool stopped() const { return stop.load(std::memory_order_relaxed) != 0; }

  // Lane-typed values of the rows, for the walk.
  template <class T>
  void fill_values(const Rows& rows, u32 positive) {
    T* const weight = static_cast<T*>(weight_buffer.resize(rows.n * sizeof(T)));
    for (u32 i = 0; i < rows.n; ++i) {
      const i64 w = table.weight[rows.row(i)];
      weight[i] = static_cast<T>(two && table.label[rows.row(i)] != positive ? -w : w);
    }
    values.weight = weight;
    values.count = nullptr;
    if (minimum.any()) {
      T* const count = static_cast<T*>(count_buffer.resize(rows.n * sizeof(T)));
      T* const mass = static_cast<T*>(mass_buffer.resize(rows.n * sizeof(T)));
      for (u32 i = 0; i < rows.n; ++i) {
        count[i] = static_cast<T>(table.count[rows.row(i)]);
        mass[i] = static_cast<T>(table.mass[rows.row(i)]);
      }
      values.count = count;
      values.mass = mass;
    }
  }

  // `narrow`: lanes may hold sums of blocks of rows only.
  void begin(const Rows& rows, bool narrow = true) {
    const i64 largest = minimum.any() ? std::max<i64>({rows.counts.mass, rows.counts.count, minimum.rows, minimum.mass})
                                      : rows.counts.weight;
    kernels = select_kernels(isa, lane_bits, largest);
    u32 present = 0, positive = 0;
    std::vector<std::uint16_t> number(table.n_classes, 0);
    for (u32 c = 0; c < table.n_classes; ++c)
      if (rows.counts.class_weight[c] > 0) {
        number[c] = static_cast<std::uint16_t>(present++);
        positive = c;
      }
    two = present <= 2;
    const bool has_gaps = find_apart(rows);
    if (narrow && !minimum.any() && table.levels.empty()) {
      values.heaviest = table.heaviest;
      const Kernels* const narrower =
          two ? select_block_kernels(isa, lane_bits, *kernels, rows.n, largest, values.heaviest)
              : select_byte_kernels(isa, lane_bits, *kernels, rows.counts.heaviest_class());
      if (narrower != nullptr) kernels = narrower;
    }
    if (!table.levels.empty()) groups.begin(table, rows);
    values.unit = table.unit;
    values.minimum = minimum.any();
    values.min_rows = minimum.rows;
    values.min_mass = minimum.mass;
    values.n_labels = std::max(present, 1u);
    if (kernels->bits == 8)
      fill_values<std::int8_t>(rows, positive);  // of many classes, bits of an unsigned byte
    else if (kernels->bits == 16)
      fill_values<std::int16_t>(rows, positive);
    else if (kernels->bits == 32)
      fill_values<std::int32_t>(rows, positive);
    else
      fill_values<i64>(rows, positive);
    if (two) {
      i64 total = 0;
      for (u32 c = 0; c < table.n_classes; ++c)
        total += c == positive ? rows.counts.class_weight[c] : -rows.counts.class_weight[c];
      state.total = total;
    } else {
      std::uint16_t* const label = label_buffer.resize(rows.n);
      for (u32 i = 0; i < rows.n; ++i) label[i] = number[table.label[rows.row(i)]];
      values.label = label;
      const std::size_t for_levels = table.levels.empty() ? 0 : values.n_labels * std::size_t{values.n_labels};
      values.scratch = lane_buffer.resize(
          (scratch_vectors(rows.n, values.minimum || has_gaps) + 4 * std::size_t{values.n_labels} + for_levels) *
          kVectorBytes);
    }
  }

  // One walk over all features for the candidates in `lanes`. False if stopped.
  bool run_batch(Rows& rows) {
    u32* const mask = static_cast<u32*>(mask_buffer.resize(rows.n * sizeof(u32)));
    make_mask(rows, mask);
    return walk(rows, mask, lanes.size());
  }

  // The bits of the lanes: whether a local row goes low.
  void make_mask(Rows& rows, u32* mask) {
    std::array<const u32*, kMaxLanes> column;
    std::array<u32, kMaxLanes> limit;
    std::array<int, kMaxLanes> bit;
    const int n_lanes = static_cast<int>(lanes.size());
    const bool by_rank = rows.is_large();
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      const u32 key = lanes[l].position == rows.n ? ~0u : rows.key(lanes[l].feature)[lanes[l].position - 1];
      limit[l] = by_rank ? key >> kLabelBits : key;
      bit[l] = kernels->lane_bit(static_cast<int>(l));
    }
    if (!by_rank) {
      for (std::size_t l = 0; l < lanes.size(); ++l) column[l] = rows.column(lanes[l].feature);
      kernels->make_mask(rows.n, n_lanes, column.data(), limit.data(), bit.data(), mask);
      return;
    }
    constexpr u32 kTogether = 1024;  // rows
    u32* const ranks = static_cast<u32*>(rank_buffer.resize(lanes.size() * kTogether * sizeof(u32)));
    for (u32 from = 0; from < rows.n; from += kTogether) {
      const u32 to = std::min(rows.n, from + kTogether);
      for (std::size_t l = 0; l < lanes.size(); ++l) {
        u32* const own = ranks + l * kTogether;
        column[l] = l > 0 && lanes[l].feature == lanes[l - 1].feature ? column[l - 1] : own;
        if (column[l] == own) rows.ranks(table, lanes[l].feature, from, to, own);
      }
      kernels->make_mask(to - from, n_lanes, column.data(), limit.data(), bit.data(), mask + from);
    }
  }

  // The same for candidates that the bits of `mask` say, per local row.
  bool walk(Rows& rows, const u32* mask, std::size_t candidates) {
    values.mask = mask;
    kernels->begin(state, two);
    const bool limited = minimum.any();
    for (u32 f = 0; f < rows.n_features; ++f) {
      if (stopped()) return false;
      // The other view of its column is walked over with it, or repeats it.
      const u32 low_view = table.low_view[f];
      if (low_view != kNoView && (apart[low_view].gap || rows.repeats(table, f))) continue;
      const SortedRows sorted = rows.sorted(f, limited, two && !limited, apart[f]);
      (two ? kernels->two_classes : kernels->many_classes)(sorted, values, state);
    }
    for (u32 c = 0; c < table.levels.size(); ++c) {
      if (stopped()) return false;
      (two ? kernels->two_classes_levels : kernels->many_classes_levels)(groups.column(c), values, state);
    }
    found.resize(candidates);
    for (std::size_t l = 0; l < candidates; ++l) kernels->finish(state, two, static_cast<int>(l), found[l]);
    return true;
  }
};

}  // namespace proofwood::trees
