// Decided rows of boxes of cuts, counted by bits.
//
// Theory: docs/theory/decision-diagrams.md, "Boxes of cuts".
#include <algorithm>

#include "bdd/boxes.hpp"

namespace proofwood::bdd {

namespace {

constexpr u32 kMostPlaces = 128, kLeastPlaces = 8;
constexpr u32 kRowsOfField = 4;  // fewer rows in a field are not worth a place of the grid
constexpr std::size_t kMostBytes = std::size_t{1} << 27;
constexpr u32 kBlock = 256;  // words that are counted at once: all that is written meanwhile stays near the processor

u32 places_of(const Table& table, u32 words) {
  const std::size_t columns = table.raw_begin.size() - 1;
  const std::size_t room = kMostBytes / (columns * words * sizeof(u64) + 1);
  return static_cast<u32>(
      std::clamp<std::size_t>(std::min<std::size_t>(room, table.groups / kRowsOfField), kLeastPlaces, kMostPlaces));
}

}  // namespace

CutGrid::CutGrid(const Table& table, const SubsetKernels& kernels, const std::atomic<int>& stop)
    : table_(table), kernels_(kernels) {
  const u32 n = table.groups;
  words_ = ((n + 63) / 64 + kWordStep - 1) / kWordStep * kWordStep;
  const u32 most = places_of(table, words_);
  const std::size_t columns = table.raw_begin.size() - 1;
  for (std::size_t j = 0; j < columns && stop.load(std::memory_order_relaxed) == 0; ++j) {
    const u32 begin = table.raw_begin[j], n_cuts = table.raw_begin[j + 1] - begin - 1;
    const u32* const order = table.orders.data() + j * n;
    const auto rows_up_to = [&](u32 cut) { return table.rank_begin[begin + cut + std::size_t{1}]; };
    std::vector<u32> cuts;
    for (u32 k = 0; k < most; ++k) {  // the first cut that has its share of the rows below it
      const auto share = static_cast<u32>(u64{n} * k / most);
      const auto from = table.rank_begin.begin() + begin + 1, end = from + n_cuts;
      const auto cut = static_cast<u32>(std::lower_bound(from, end, share) - from);
      if (cut < n_cuts && (cuts.empty() || cuts.back() < cut)) cuts.push_back(cut);
    }
    if (cuts.empty() || cuts.back() + 1 < n_cuts) cuts.push_back(n_cuts - 1);
    std::vector<u64> bits(cuts.size() * words_, 0);
    std::vector<u32> rows;
    u32 i = 0;
    for (std::size_t k = 0; k < cuts.size(); ++k) {
      u64* const to = bits.data() + k * words_;
      if (k > 0) std::copy(to - words_, to, to);
      rows.push_back(rows_up_to(cuts[k]));
      for (; i < rows.back(); ++i) to[order[i] / 64] |= u64{1} << (order[i] % 64);
    }
    cuts_.push_back(std::move(cuts));
    rows_.push_back(std::move(rows));
    bits_.push_back(std::move(bits));
  }
  all_.assign(words_, 0);
  for (u32 g = 0; g < n; ++g) all_[g / 64] |= u64{1} << (g % 64);
  for (u32 sum = 0; sum < sums(); ++sum) {
    std::vector<i64> weights(n, 0);
    for (const Item& item : table.items) {
      if (sum < table.classes && item.label == sum) weights[item.group] += item.weight;
      if (sum == table.classes) weights[item.group] += item.fixed;
    }
    add_planes(weights, sum);
  }
}

void CutGrid::add_planes(const std::vector<i64>& weights, u32 sum) {
  u64 used = 0;
  for (const i64 weight : weights) used |= static_cast<u64>(weight);
  for (u32 p = 0; used >> p != 0; ++p) {
    if ((used >> p & 1) == 0) continue;
    const std::size_t at = planes_.size();
    planes_.resize(at + words_, 0);
    for (std::size_t g = 0; g < weights.size(); ++g)
      planes_[at + g / 64] |= (static_cast<u64>(weights[g]) >> p & 1) << (g % 64);
    sum_of_.push_back(sum);
    shift_of_.push_back(p);
  }
}

void CutGrid::add_weighed(const i64* planes, i64* sums) const {
  for (std::size_t p = 0; p < sum_of_.size(); ++p) sums[sum_of_[p]] += planes[p] << shift_of_[p];
}

// Weight of the cell less that of its heaviest class and less what is unavoidable.
i64 CutGrid::error(const i64* sums) const {
  const u32 classes = table_.classes;
  i64 total = -sums[classes], heaviest = 0;
  for (u32 c = 0; c < classes; ++c) {
    total += sums[c];
    heaviest = std::max(heaviest, sums[c]);
  }
  return total - heaviest;
}

namespace {

// Cells over tests that are chosen one after the other, as bits; `last` gets each cell before the last test, and its
// number.
struct Cells {
  const SubsetKernels& kernels;
  u32 words, depth;                                  // of the block; tests before the last
  std::array<const u64*, kMostBoxTests> low, up_to;  // of these tests, at the block
  std::vector<u64>& buffer;                          // (depth, 2, words)

  template <class Last>
  bool walk(const u64* cell, u32 level, u32 number, const Last& last) const {
    if (level == depth) return last(cell, number);
    u64* const low_side = buffer.data() + std::size_t{2} * level * words;
    u64* const high_side = low_side + words;
    kernels.sides(cell, low[level], up_to[level], words, low_side, high_side);
    return walk(low_side, level + 1, 2 * number, last) && walk(high_side, level + 1, 2 * number + 1, last);
  }
};

}  // namespace

void CutGrid::count(const Box& box, u32 size, std::vector<i64>& out) const {
  thread_local std::vector<u64> buffer;
  const auto n_planes = static_cast<u32>(sum_of_.size());
  std::vector<i64> weighed((std::size_t{1} << size) * n_planes, 0);
  for (u32 begin = 0; begin < words_; begin += kBlock) {
    const u32 words = std::min(kBlock, words_ - begin);
    buffer.resize(std::size_t{2} * size * words);
    Cells cells{kernels_, words, size - 1, {}, {}, buffer};
    for (u32 t = 0; t + 1 < size; ++t) {
      cells.low[t] = low(box.tests[t]) + begin;
      cells.up_to[t] = up_to(box.tests[t]) + begin;
    }
    const Planes planes{planes_.data() + begin, words_, n_planes};
    const Stretch& last = box.tests[size - 1];
    cells.walk(all_.data() + begin, 0, 0, [&](const u64* cell, u32 number) {
      i64* const to = weighed.data() + std::size_t{2} * number * n_planes;
      kernels_.weigh_sides(cell, low(last) + begin, up_to(last) + begin, planes, words, to, to + n_planes);
      return true;
    });
  }
  out.assign((std::size_t{1} << size) * sums(), 0);
  for (std::size_t cell = 0; cell >> size == 0; ++cell)
    add_weighed(weighed.data() + cell * n_planes, out.data() + cell * sums());
}

std::array<i64, 2> CutGrid::errors(const Box& box, u32 size, u32 varied, const std::array<Stretch, 2>& choice,
                                   i64 limit) const {
  thread_local std::vector<u64> buffer;
  thread_local std::vector<i64> weighed, sums_of_cell;
  const auto n_planes = static_cast<u32>(sum_of_.size());
  const std::size_t of_choice = (std::size_t{1} << size) * n_planes;
  weighed.assign(2 * of_choice, 0);
  sums_of_cell.resize(sums());
  std::array<i64, 2> errors{0, 0};
  const auto add_error = [&](u32 which, const i64* of_cell) {
    std::fill(sums_of_cell.begin(), sums_of_cell.end(), 0);
    add_weighed(of_cell, sums_of_cell.data());
    errors[which] += error(sums_of_cell.data());
  };
  for (u32 begin = 0; begin < words_; begin += kBlock) {
    const u32 words = std::min(kBlock, words_ - begin);
    const bool at_end = begin + words == words_;
    buffer.resize(std::size_t{2} * size * words);
    Cells cells{kernels_, words, 0, {}, {}, buffer};
    for (u32 t = 0; t < size; ++t) {
      if (t == varied) continue;
      cells.low[cells.depth] = low(box.tests[t]) + begin;
      cells.up_to[cells.depth++] = up_to(box.tests[t]) + begin;
    }
    const Planes planes{planes_.data() + begin, words_, n_planes};
    cells.walk(all_.data() + begin, 0, 0, [&](const u64* cell, u32 number) {
      for (u32 which = 0; which < 2; ++which) {
        i64* const to = weighed.data() + which * of_choice + std::size_t{2} * number * n_planes;
        kernels_.weigh_sides(cell, low(choice[which]) + begin, up_to(choice[which]) + begin, planes, words, to,
                             to + n_planes);
        if (!at_end) continue;
        add_error(which, to);
        add_error(which, to + n_planes);
      }
      return !(errors[0] >= limit && errors[1] >= limit);
    });
  }
  return errors;
}

}  // namespace proofwood::bdd
