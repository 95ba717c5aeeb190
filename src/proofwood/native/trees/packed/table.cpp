// The learning problem as tests and their bits (docs/theory/optimal-trees.md, "Packed tests").
#include "trees/packed/table.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "common/mix.hpp"

namespace proofwood::trees::packed {

namespace {

// On bins of numeric columns the packed search wins up to 390 tests and loses from some 600 on:
// decisions/0024-packed-tests.
constexpr std::size_t kAlways = 400;      // tests up to which all pairs cost less than intervals of thresholds,
constexpr std::size_t kMost = 1024;       // and up to which they do if no column has many of them
constexpr std::size_t kFewOfAColumn = 8;  //
constexpr double kMostWork = 4e11;        // rows times pairs: more take the kernels about a second
// What was measured of sums: decisions/0105-sums-of-pairs.
constexpr std::size_t kMostOfSums = 512;   // tests of a task by sums,
constexpr u32 kFewValues = 8;              // whose columns have no more values,
constexpr double kMostPairs = 1 << 21;     // and sums of pairs, which a thread keeps of three sets
constexpr i64 kMostWeight = i64{1} << 29;  // cells are of 32 bits, and differences of sums must fit

using Kind = std::tuple<u32, i64, u32, i64>;  // label, weight, count, mass
Group group_of(const Kind& kind) {
  return {std::get<0>(kind), std::get<1>(kind), std::get<2>(kind), std::get<3>(kind)};
}

struct Kinds {
  std::vector<Kind> kinds;
  std::vector<u32> of_row, size;
};

Kinds kinds_of(const Table& table, bool minimum) {
  Kinds found;
  std::map<Kind, u32> number;
  found.of_row.resize(table.n_rows);
  for (u32 r = 0; r < table.n_rows; ++r) {
    const Kind kind{table.label[r], table.weight[r], minimum ? table.count[r] : 0, minimum ? table.mass[r] : 0};
    const auto [at, is_new] = number.try_emplace(kind, static_cast<u32>(found.kinds.size()));
    if (is_new) {
      found.kinds.push_back(kind);
      found.size.push_back(0);
    }
    found.of_row[r] = at->second;
    ++found.size[at->second];
  }
  return found;
}

// A row's entries, for each of its kinds: one, or one for each bit of its weight. The first has its count and mass.
std::vector<Kind> entries_of(const Kind& kind, bool apart) {
  const auto& [label, weight, count, mass] = kind;
  if (weight == 0 && count == 0) return {};
  if (!apart || weight == 0) return {kind};
  std::vector<Kind> entries;
  for (i64 left = weight; left > 0; left &= left - 1) {
    const bool first = left == weight;
    entries.emplace_back(label, left & -left, first ? count : 0, first ? mass : 0);
  }
  return entries;
}

// Sizes of the groups where weights are taken apart, or are not.
std::map<Kind, u32> sizes(const Kinds& kinds, bool apart) {
  std::map<Kind, u32> size;
  for (std::size_t k = 0; k < kinds.kinds.size(); ++k)
    for (const Kind& entry : entries_of(kinds.kinds[k], apart)) size[entry] += kinds.size[k];
  return size;
}

std::size_t words_of(const std::map<Kind, u32>& size) {
  std::size_t words = 0;
  for (const auto& [kind, n] : size) words += (n + kWordRows - 1) / kWordRows;
  return words;
}

void place_entries(TestTable& packed, const Table& table, bool minimum) {
  const Kinds kinds = kinds_of(table, minimum);
  const auto whole = sizes(kinds, false), in_bits = sizes(kinds, true);
  const bool apart = words_of(in_bits) < words_of(whole);
  const auto& size = apart ? in_bits : whole;
  std::map<Kind, u32> next;
  u32 total = 0;
  for (const auto& [kind, n] : size) {
    packed.group.push_back(total);
    packed.groups.push_back(group_of(kind));
    next[kind] = static_cast<u32>(packed.groups.size()) - 1;
    total += n;
  }
  std::vector<u32> place = packed.group;
  packed.group.push_back(total);
  packed.row.resize(total);
  std::vector<std::vector<u32>> groups_of_kind;
  for (const Kind& kind : kinds.kinds) {
    groups_of_kind.emplace_back();
    for (const Kind& entry : entries_of(kind, apart)) groups_of_kind.back().push_back(next[entry]);
  }
  for (u32 r = 0; r < table.n_rows; ++r)
    for (const u32 group : groups_of_kind[kinds.of_row[r]]) packed.row[place[group]++] = r;
}

// Sets the bits from `first` to before `last`.
void set_bits(u32* bits, u32 first, u32 last) {
  for (u32 at = first; at < last;) {
    const u32 end = std::min(last, (at / kTogether + 1) * kTogether), n = end - at;
    bits[at / kTogether] |= (n == kTogether ? ~0u : (1u << n) - 1) << (at % kTogether);
    at = end;
  }
}

void pack_rows(TestTable& packed, const Table& table) {
  packed.stride = static_cast<u32>((packed.tests.size() + kTogether - 1) / kTogether * kTogether);
  const u32 blocks = packed.stride / kTogether;
  packed.row_bits.assign(std::size_t{packed.n_entries()} * blocks, 0);
  u32 first = 0;
  for (u32 f = 0; f < table.n_features; ++f) {
    const u32 block = first / kTogether, shift = first % kTogether;
    const bool one = table.rank[f].n_values() == 2;  // test
    table.rank[f].visit([&](const auto& ranks) {
      for (std::size_t e = 0; e < packed.row.size(); ++e) {
        u32* const bits = packed.row_bits.data() + e * blocks;
        const u32 rank = ranks[packed.row[e]];
        if (one)
          bits[block] |= rank << shift;
        else
          set_bits(bits, first, first + rank);
      }
    });
    first += table.rank[f].n_values() - 1;
  }
  packed.hash.resize(2 * packed.row.size());
  for (std::size_t h = 0; h < packed.hash.size(); ++h) packed.hash[h] = mix(h + 1);
}

// Sums of all rows are exact in any case; these are the limits of what is kept of pairs of tests.
bool fits_sums(const Table& table, std::size_t n_tests) {
  u32 most = 0;  // values of a column; one with gaps has them below all others, or above
  for (u32 f = 0; f < table.n_features; ++f) {
    const bool gaps = table.low_view[f] != kNoView || table.high_view[f] != kNoView;
    most = std::max(most, table.rank[f].n_values() - (gaps ? 1 : 0));
  }
  const double pairs =
      static_cast<double>(table.sums.size()) * static_cast<double>(n_tests) * static_cast<double>(n_tests);
  return table.n_rows < 1u << 27 && n_tests <= kMostOfSums && pairs <= kMostPairs && most <= kFewValues;
}

void place_rows(TestTable& packed, const Table& table, bool minimum) {
  packed.all = &table;
  packed.groups = {{0, 1, 1, 0}};
  packed.group = {0, table.n_rows};
  packed.row.resize(table.n_rows);
  std::iota(packed.row.begin(), packed.row.end(), 0u);
  packed.layers.n_groups = packed.layers.n_layers = 1;
  packed.layers.minimum = minimum;
}

void set_layers(TestTable& packed, const Table& table, const Minimum& least) {
  Layers& layers = packed.layers;
  const bool minimum = least.any();
  layers.n_groups = packed.n_groups();
  layers.n_classes = table.n_classes;
  layers.minimum = minimum;
  layers.min_rows = least.rows;
  layers.min_mass = least.mass;
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
  layers.factor = packed.factor.data();  // moves leave it where it is
  packed.weight_layer = {layers.n_groups, 1, 1, true, false, packed.weights.data(), 0, 0};
}

// The weights stand behind the classes: what is counted for a minimum stays last.
void set_priced_layers(TestTable& packed) {
  Layers& priced = packed.priced_layers = packed.layers;
  priced.weight = packed.layers.n_layers - (priced.minimum ? 2 : 0);
  priced.n_layers = packed.layers.n_layers + 1;
  packed.priced_factor = packed.factor;
  const auto at = static_cast<std::ptrdiff_t>(std::size_t{priced.weight} * priced.n_groups);
  packed.priced_factor.insert(packed.priced_factor.begin() + at, packed.weights.begin(), packed.weights.end());
  priced.factor = packed.priced_factor.data();
}

}  // namespace

u32 TestTable::number(u32 feature, u32 key) const {
  const auto at = std::find_if(tests.begin(), tests.end(), [&](const Test& test) {
    return test.feature == feature && test.rank == key >> kLabelBits;
  });
  if (at == tests.end()) throw std::logic_error("a split of a plan is no test of its table");
  return static_cast<u32>(at - tests.begin());
}

std::optional<TestTable> pack_table(const Table& table, const Settings& settings) {
  const bool minimum = settings.minimum.any();
  std::size_t n_tests = 0, most_of_a_column = 0;
  for (const Ranks& ranks : table.rank) {
    n_tests += ranks.n_values() - 1;
    most_of_a_column = std::max<std::size_t>(most_of_a_column, ranks.n_values() - 1);
  }
  const bool few =
      n_tests <= kAlways || (n_tests <= kMost && (settings.any_depth || most_of_a_column <= kFewOfAColumn));
  const double work = static_cast<double>(table.n_rows) * static_cast<double>(n_tests) * static_cast<double>(n_tests);
  if (!table.levels.empty() || table.n_rows == 0 || n_tests == 0 || !few || work > kMostWork) return std::nullopt;
  TestTable packed;
  packed.n_classes = table.n_classes;
  for (u32 f = 0; f < table.n_features; ++f)
    for (u32 rank = 0; rank + 1 < table.rank[f].n_values(); ++rank) packed.tests.push_back({f, rank});
  if (table.by_sums()) {
    if (!fits_sums(table, n_tests)) return std::nullopt;
    place_rows(packed, table, minimum);
    pack_rows(packed, table);
    return packed;
  }
  const bool two = table.n_classes <= 2;
  const u32 n_layers = (two ? 1 : table.n_classes) + (minimum ? 2 : 0);
  if (n_layers >= kMostLayers) return std::nullopt;
  i64 weight = 0, mass = 0, count = 0;
  for (u32 r = 0; r < table.n_rows; ++r) {
    weight += table.weight[r];
    mass += table.mass[r];
    count += table.count[r];
    if (std::max({weight, mass, count}) >= kMostWeight) return std::nullopt;
  }
  packed.largest = minimum ? std::max({mass, count, i64{settings.minimum.rows}, settings.minimum.mass}) : weight;
  if (packed.largest >= kMostWeight) return std::nullopt;
  packed.layers.two = two;
  packed.layers.n_layers = n_layers;
  place_entries(packed, table, minimum);
  pack_rows(packed, table);
  set_layers(packed, table, settings.minimum);
  set_priced_layers(packed);
  return packed;
}

}  // namespace proofwood::trees::packed
