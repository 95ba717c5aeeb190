// Trees of depth two for all roots at once (docs/theory/optimal-trees.md, "Packed tests").
#include "trees/packed/stumps.hpp"

#include <algorithm>
#include <bit>

namespace proofwood::trees::packed {

namespace {

constexpr i64 kNever = -kInfinite;  // of what an impossible stump gets right

void sum_groups(const TestTable& table, const std::vector<u32>& group, StumpSums& of) {
  of.all.assign(table.layers.n_layers, 0);
  of.weight = 0;
  for (u32 g = 0; g < table.n_groups(); ++g) {
    const auto size = static_cast<std::int32_t>(group[g + 1] - group[g]);
    for (u32 layer = 0; layer < table.layers.n_layers; ++layer)
      of.all[layer] += size * table.factor[std::size_t{layer} * table.n_groups() + g];
    of.weight += size * i64{table.weights[g]};
  }
  of.sums.all = of.all.data();
}

}  // namespace

void ClassStumps::reserve(StumpSums& of, u32 n_tests, u32 stride, bool with_pairs) const {
  const std::size_t cell = static_cast<std::size_t>(kernels_.cell_bytes), layers = table_.layers.n_layers;
  of.n_tests = n_tests;
  of.stride = stride;
  of.sums.pairs = with_pairs ? of.pairs.resize(layers * n_tests * stride * cell) : nullptr;
  of.sums.single = of.single.resize(layers * stride * cell);
  of.best = {of.holds.resize(stride * cell), of.fails.resize(stride * cell)};
}

void ClassStumps::note_work(const Words& words) {
  const Layers& layers = table_.layers;
  const double of_words = words.group[layers.n_groups] + 8.0 * layers.n_layers;
  work += 1000 + static_cast<double>(words.n_tests) * static_cast<double>(words.stride) / kTogether * of_words;
}

void ClassStumps::count(const RowSet& rows) {
  StumpSums& whole = of_[kWhole];
  note_work(rows.words);
  const Layers& layers = table_.layers;
  reserve(whole, rows.n_tests(), rows.stride, true);
  sum_groups(table_, rows.group(), whole);
  void* const scratch = scratch_.resize(std::size_t{layers.n_layers} * kScratchVectors * kVectorBytes);
  kernels_.count(rows.words, layers, whole.sums, scratch, stop_);
  if (stop_.asked(stop_.of)) return;  // not all pairs have sums, and what memory held before may overflow
  kernels_.stumps(layers, rows.n_tests(), rows.stride, whole.sums, whole.best);
}

void ClassStumps::count_single(const RowSet& rows) {
  StumpSums& whole = of_[kWhole];
  reserve(whole, rows.n_tests(), rows.stride, false);
  sum_groups(table_, rows.group(), whole);
  kernels_.count_single(rows.words, table_.layers, whole.sums);
}

std::optional<u32> ClassStumps::best_stump(const std::vector<u32>& entries, const std::vector<u32>& group) {
  const u32 n_tests = static_cast<u32>(table_.tests.size());
  StumpSums& part = of_[kPart];
  reserve(part, n_tests, table_.stride, false);
  sum_groups(table_, group, part);
  kernels_.count_single(pack(table_.row_bits.data(), n_tests, table_.stride, entries, group), table_.layers, part.sums);
  std::optional<u32> best;
  i64 least = leaf(part);
  for (u32 test = 0; test < n_tests; ++test) {
    const i64 cost = stump(part, test);
    if (cost >= least) continue;
    least = cost;
    best = test;
  }
  return best;
}

std::optional<u32> ClassStumps::first_stump(i64 least) const {
  for (u32 test = 0; test < of_[kWhole].n_tests; ++test)
    if (stump(test) == least) return test;
  return std::nullopt;
}

// Words of entries at `at`, group by group.
Words ClassStumps::pack(const u32* row_bits, u32 n_tests, u32 stride, const std::vector<u32>& at,
                        const std::vector<u32>& group) {
  word_group_.assign(group.size(), 0);
  for (u32 g = 0; g < table_.n_groups(); ++g)
    word_group_[g + 1] = word_group_[g] + (group[g + 1] - group[g] + kWordRows - 1) / kWordRows;
  auto* const words = static_cast<u16*>(words_.resize(std::size_t{word_group_.back()} * stride * sizeof(u16)));
  for (u32 g = 0; g < table_.n_groups(); ++g)
    kernels_.pack(row_bits, stride, at.data() + group[g], group[g + 1] - group[g],
                  words + std::size_t{word_group_[g]} * stride);
  return {words, stride, n_tests, word_group_.data()};
}

bool ClassStumps::divide(const RowSet& rows, u32 test) {
  const Layers& layers = table_.layers;
  StumpSums &whole = of_[kWhole], &part = of_[kPart], &rest = of_[kRest];
  const u32 lane = kernels_.lane(test);
  u32 held = 0;
  for (u32 w = 0; w < rows.words.group[table_.n_groups()]; ++w)
    held += static_cast<u32>(std::popcount(rows.words.bits[std::size_t{w} * rows.stride + lane]));
  const bool holds = 2 * held <= rows.n;
  rows.positions(kernels_, test, holds, at_, group_);
  const Words words = pack(rows.row_bits(), rows.n_tests(), rows.stride, at_, group_);
  note_work(words);
  reserve(part, rows.n_tests(), rows.stride, false);
  reserve(rest, rows.n_tests(), rows.stride, false);
  sum_groups(table_, group_, part);
  rest.all.resize(layers.n_layers);
  for (u32 layer = 0; layer < layers.n_layers; ++layer) rest.all[layer] = whole.all[layer] - part.all[layer];
  rest.sums.all = rest.all.data();
  rest.weight = whole.weight - part.weight;
  void* const scratch = scratch_.resize(std::size_t{layers.n_layers} * kScratchVectors * kVectorBytes);
  kernels_.both(words, layers, whole.sums, part.sums, rest.sums, part.best, rest.best, scratch, stop_);
  return holds;
}

i64 ClassStumps::cell(const void* cells, std::size_t at) const {
  return kernels_.cell_bytes == 2 ? i64{static_cast<const std::int16_t*>(cells)[at]}
                                  : i64{static_cast<const std::int32_t*>(cells)[at]};
}

bool ClassStumps::permitted(const StumpSums& of, u32 test) const {
  const Layers& layers = table_.layers;
  if (!layers.minimum) return true;
  const std::size_t at = kernels_.cell(test), counts = std::size_t{layers.n_layers - 2} * of.stride;
  const i64 rows = cell(of.sums.single, counts + at), mass = cell(of.sums.single, counts + of.stride + at);
  return rows >= layers.min_rows && mass >= layers.min_mass && of.all[layers.n_layers - 2] - rows >= layers.min_rows &&
         of.all[layers.n_layers - 1] - mass >= layers.min_mass;
}

// ------------------------------------------------------------------ costs
//
// Of two classes what is right less what is wrong is known, and the weight: twice the wrong weight is their difference.

i64 ClassStumps::leaf(const StumpSums& of) const {
  const Layers& layers = table_.layers;
  if (layers.two) return settings_.prices.error * ((of.weight - std::abs(of.all[0])) / 2);
  return settings_.prices.error * (of.weight - *std::max_element(of.all.begin(), of.all.begin() + layers.n_classes));
}

// What a leaf gets right on one side of a test; two classes: right less wrong.
i64 ClassStumps::side_leaf(const StumpSums& of, std::size_t at, bool holds) const {
  const Layers& layers = table_.layers;
  const auto on_side = [&](u32 layer) {
    const i64 held = cell(of.sums.single, std::size_t{layer} * of.stride + at);
    return holds ? held : of.all[layer] - held;
  };
  if (layers.two) return std::abs(on_side(0));
  i64 most = 0;
  for (u32 c = 0; c < layers.n_classes; ++c) most = std::max(most, on_side(c));
  return most;
}

i64 ClassStumps::root_cost(const StumpSums& of, u32 test) const {
  const Prices& prices = settings_.prices;
  if (!permitted(of, test)) return kInfinite;
  const i64 share = table_.layers.two ? 2 : 1;
  const std::size_t at = kernels_.cell(test);
  const auto gain = [&](const void* best, bool holds) {
    const i64 stump = cell(best, at);
    return std::max(prices.error * side_leaf(of, at, holds),
                    stump < 0 ? kNever : prices.error * stump - share * prices.leaf);
  };
  const i64 gains = gain(of.best.holds, true) + gain(of.best.fails, false);
  return (prices.error * of.weight - gains) / share + prices.leaf;
}

void ClassStumps::costs(Of which, std::vector<i64>& costs) {
  const StumpSums& of = of_[which];
  costs.resize(of.n_tests);
  for (u32 test = 0; test < of.n_tests; ++test) costs[test] = root_cost(of, test);
}

// Leaves cost nothing, and every split is permitted: a stump is never worse than a leaf.
template <class M>
i64 ClassStumps::least_simple(const StumpSums& of) const {
  const M* const holds = static_cast<const M*>(of.best.holds);
  const M* const fails = static_cast<const M*>(of.best.fails);
  M most = 0;
  for (u32 at = 0; at < of.stride; ++at) most = std::max(most, static_cast<M>(holds[at] + fails[at]));
  return settings_.prices.error * ((of.weight - most) / (table_.layers.two ? 2 : 1));
}

i64 ClassStumps::least(Of which) {
  const StumpSums& of = of_[which];
  if (settings_.prices.leaf == 0 && !table_.layers.minimum)
    return kernels_.cell_bytes == 2 ? least_simple<std::int16_t>(of) : least_simple<std::int32_t>(of);
  i64 least = leaf(of);
  for (u32 test = 0; test < of.n_tests; ++test) least = std::min(least, root_cost(of, test));
  return least;
}

i64 ClassStumps::stump(const StumpSums& of, u32 test) const {
  const Prices& prices = settings_.prices;
  if (!permitted(of, test)) return kInfinite;
  const std::size_t at = kernels_.cell(test);
  const i64 right = side_leaf(of, at, true) + side_leaf(of, at, false);
  return prices.error * (of.weight - right) / (table_.layers.two ? 2 : 1) + prices.leaf;
}

}  // namespace proofwood::trees::packed
