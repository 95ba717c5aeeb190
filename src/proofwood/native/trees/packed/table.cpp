// The learning problem as tests and their bits (docs/theory/optimal-trees.md, "Packed tests").
#include "trees/packed/table.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "trees/mix.hpp"

namespace proofwood::trees::packed {

namespace {

constexpr std::size_t kMostTests = 1024;

struct Entry {
  u32 row;
  Group group;
};

// As many words as the entries of the groups fill.
std::size_t words_of(const std::vector<Entry>& entries) {
  std::map<std::tuple<u32, i64, u32, i64>, std::size_t> size;
  for (const auto& [row, g] : entries) ++size[{g.label, g.weight, g.count, g.mass}];
  std::size_t words = 0;
  for (const auto& [group, n] : size) words += (n + kWordRows - 1) / kWordRows;
  return words;
}

// One entry a row, or one for each bit of its weight: whichever fills fewer words.
std::vector<Entry> entries_of(const Table& table, bool minimum) {
  std::vector<Entry> whole, apart;
  for (u32 r = 0; r < table.n_rows; ++r) {
    const i64 weight = table.weight[r];
    const u32 count = minimum ? table.count[r] : 0;
    const i64 mass = minimum ? table.mass[r] : 0;
    if (weight == 0 && count == 0) continue;
    whole.push_back({r, {table.label[r], weight, count, mass}});
    bool first = true;
    for (i64 left = weight; left > 0 || first; left &= left - 1) {
      const i64 bit = left & -left;
      apart.push_back({r, {table.label[r], bit, first ? count : 0, first ? mass : 0}});
      first = false;
    }
  }
  return words_of(apart) < words_of(whole) ? apart : whole;
}

}  // namespace

std::optional<TestTable> pack_table(const Table& table, const Settings& settings) {
  const bool minimum = settings.minimum.any();
  if (!table.levels.empty() || table.n_rows == 0) return std::nullopt;
  TestTable packed;
  for (u32 f = 0; f < table.n_features; ++f) {
    const std::size_t ranks = table.value[f].size();
    if (packed.tests.size() + ranks - 1 > kMostTests) return std::nullopt;
    for (u32 rank = 0; rank + 1 < ranks; ++rank) packed.tests.push_back({f, rank});
  }
  const u32 extra = minimum ? 2 : 0;
  packed.layers.two = table.n_classes <= 2;
  packed.layers.n_layers = (packed.layers.two ? 1 : table.n_classes) + extra;
  if (packed.tests.empty() || packed.layers.n_layers > kMostLayers) return std::nullopt;

  i64 weight = 0, mass = 0, count = 0;
  for (u32 r = 0; r < table.n_rows; ++r) {
    constexpr i64 kMost = i64{1} << 29;
    weight += table.weight[r];
    mass += table.mass[r];
    count += table.count[r];
    if (std::max({weight, mass, count}) >= kMost) return std::nullopt;
  }
  packed.largest = minimum ? std::max({weight, mass, count, i64{settings.minimum.rows}, settings.minimum.mass}) : weight;
  if (packed.largest >= i64{1} << 29) return std::nullopt;

  std::vector<Entry> entries = entries_of(table, minimum);
  const auto kind = [](const Entry& e) { return std::tuple(e.group.label, e.group.weight, e.group.count, e.group.mass); };
  std::stable_sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) { return kind(a) < kind(b); });
  packed.stride = static_cast<u32>((packed.tests.size() + kTogether - 1) / kTogether * kTogether);
  const u32 blocks = packed.stride / kTogether;
  packed.row.reserve(entries.size());
  packed.row_bits.assign(entries.size() * blocks, 0);
  for (std::size_t e = 0; e < entries.size(); ++e) {
    if (e == 0 || kind(entries[e]) != kind(entries[e - 1])) {
      packed.group.push_back(static_cast<u32>(e));
      packed.groups.push_back(entries[e].group);
    }
    packed.row.push_back(entries[e].row);
    u32* const bits = packed.row_bits.data() + e * blocks;
    u32 first = 0;
    for (u32 f = 0; f < table.n_features; ++f) {
      const u32 rank = table.key[f][entries[e].row] >> kLabelBits;
      for (u32 t = first; t < first + rank; ++t) bits[t / kTogether] |= 1u << (t % kTogether);
      first += static_cast<u32>(table.value[f].size()) - 1;
    }
  }
  packed.group.push_back(packed.n_entries());
  packed.n_classes = table.n_classes;
  packed.hash.resize(2 * entries.size());
  for (std::size_t h = 0; h < packed.hash.size(); ++h) packed.hash[h] = mix(h + 1);

  Layers& layers = packed.layers;
  layers.n_groups = packed.n_groups();
  layers.n_classes = table.n_classes;
  layers.minimum = minimum;
  layers.min_rows = settings.minimum.rows;
  layers.min_mass = settings.minimum.mass;
  packed.factor.assign(std::size_t{layers.n_layers} * layers.n_groups, 0);
  packed.weights.resize(layers.n_groups);
  for (u32 g = 0; g < layers.n_groups; ++g) {
    const Group& group = packed.groups[g];
    const auto set = [&](u32 layer, i64 value) {
      packed.factor[std::size_t{layer} * layers.n_groups + g] = static_cast<std::int32_t>(value);
    };
    if (layers.two)
      set(0, group.label == 0 ? group.weight : -group.weight);
    else
      set(group.label, group.weight);
    if (minimum) {
      set(layers.n_layers - 2, group.count);
      set(layers.n_layers - 1, group.mass);
    }
    packed.weights[g] = static_cast<std::int32_t>(group.weight);
  }
  layers.factor = packed.factor.data();  // the moves that follow leave it where it is
  packed.weight_layer = {layers.n_groups, 1, 1, true, false, packed.weights.data(), 0, 0};
  return packed;
}

}  // namespace proofwood::trees::packed
