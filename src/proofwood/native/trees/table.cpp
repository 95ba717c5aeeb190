// Ranks the values of every column, leaves out columns that say nothing new and merges rows of equal values
// (docs/theory/optimal-trees.md, "Positions").
#include "trees/table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/threads.hpp"
#include "trees/mix.hpp"

namespace proofwood::trees {

namespace {

struct Sortable {
  std::uint64_t key;
  u32 row;
};

// Bits of a double in the order of its value.
std::uint64_t ordered_bits(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x == 0 ? 0.0 : x);  // -0 is 0
  return bits >> 63 ? ~bits : bits | (std::uint64_t{1} << 63);
}

double from_ordered_bits(std::uint64_t key) {
  return std::bit_cast<double>(key >> 63 ? key & ~(std::uint64_t{1} << 63) : ~key);
}

// Stable radix sort, 11 bits at a time; digits that all keys share cost nothing.
void radix_sort(std::vector<Sortable>& items) {
  constexpr int kBits = 11, kPasses = 6;
  constexpr std::size_t kDigits = std::size_t{1} << kBits;
  std::vector<std::array<u32, kDigits>> count(kPasses);
  for (auto& digits : count) digits.fill(0);
  for (const Sortable& item : items)
    for (int pass = 0; pass < kPasses; ++pass) ++count[pass][(item.key >> (kBits * pass)) % kDigits];
  std::vector<Sortable> sorted(items.size());
  for (int pass = 0; pass < kPasses; ++pass) {
    auto& start = count[pass];
    if (std::find(start.begin(), start.end(), items.size()) != start.end()) continue;
    u32 sum = 0;
    for (u32& digit : start) digit = std::exchange(sum, sum + digit);
    for (const Sortable& item : items) sorted[start[(item.key >> (kBits * pass)) % kDigits]++] = item;
    items.swap(sorted);
  }
}

// Ranks of the values of one column, 0 for the smallest; equal values share a rank.
void rank_column(std::vector<Sortable>& items, std::vector<u32>& rank, std::vector<double>& values) {
  constexpr std::size_t kSmall = 1500;  // below, counting digits costs more than comparing
  const std::size_t n = items.size();
  if (n < kSmall)
    std::sort(items.begin(), items.end(), [](const Sortable& a, const Sortable& b) { return a.key < b.key; });
  else
    radix_sort(items);
  rank.resize(n);
  values.clear();
  for (std::size_t i = 0; i < n; ++i) {
    if (i == 0 || items[i].key != items[i - 1].key) values.push_back(from_ordered_bits(items[i].key));
    rank[items[i].row] = static_cast<u32>(values.size() - 1);
  }
}

void for_each_parallel(std::size_t n, int threads, const auto& work) {
  std::atomic<std::size_t> next{0};
  const auto loop = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < n;) work(i);
  };
  run_workers(
      static_cast<int>(std::min<std::size_t>(n, static_cast<std::size_t>(std::max(threads, 1)))), [&](int) { loop(); },
      [&] { next = n; });
}

struct Columns {
  std::vector<std::vector<u32>> ranks;      // per column of the caller, per row
  std::vector<std::vector<double>> values;  // per column, ascending
  std::vector<u64> fingerprint;             // of the ranks
};

// False if stopped.
bool rank_columns(Columns& columns, const double* x, std::size_t n, std::size_t n_columns, int threads,
                  const std::atomic<int>& stop) {
  columns.ranks.resize(n_columns);
  columns.values.resize(n_columns);
  columns.fingerprint.assign(n_columns, 0);
  constexpr std::size_t kTogether = 8;  // columns of one cache line are read together
  for_each_parallel((n_columns + kTogether - 1) / kTogether, threads, [&](std::size_t group) {
    const std::size_t first = group * kTogether, last = std::min(n_columns, first + kTogether);
    std::array<std::vector<Sortable>, kTogether> items;
    for (std::size_t f = first; f < last; ++f) items[f - first].resize(n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t f = first; f < last; ++f)
        items[f - first][i] = {ordered_bits(x[i * n_columns + f]), static_cast<u32>(i)};
    for (std::size_t f = first; f < last; ++f) {
      if (stop.load(std::memory_order_relaxed)) return;
      rank_column(items[f - first], columns.ranks[f], columns.values[f]);
      u64 print = columns.values[f].size();
      for (const u32 r : columns.ranks[f]) print = mix(print ^ r);
      columns.fingerprint[f] = print;
    }
  });
  return !stop.load();
}

// Columns of one value cannot split; of columns that order the rows alike, which split alike, the first one stays.
// Columns tested by sets are left to `level_columns`, but for two levels: these have one split, which is a threshold.
std::vector<u32> distinct_columns(const Columns& columns, const std::vector<u32>& by_sets) {
  std::vector<u32> distinct;
  std::unordered_map<u64, std::vector<u32>> seen;
  for (u32 f = 0; f < columns.ranks.size(); ++f) {
    if (columns.values[f].size() < 2) continue;
    if (columns.values[f].size() > 2 && std::find(by_sets.begin(), by_sets.end(), f) != by_sets.end()) continue;
    auto& twins = seen[columns.fingerprint[f]];
    if (std::any_of(twins.begin(), twins.end(), [&](u32 g) { return columns.ranks[g] == columns.ranks[f]; })) continue;
    twins.push_back(f);
    distinct.push_back(f);
  }
  return distinct;
}

// The columns tested by sets, without the levels of their rows; of equal ones the first.
std::vector<LevelColumn> level_columns(const Columns& columns, const LevelTests& by_sets) {
  std::vector<LevelColumn> found;
  for (const u32 f : by_sets.columns) {
    if (columns.values[f].size() <= 2) continue;
    if (columns.values[f].size() > kMostLevels)
      throw std::invalid_argument("column " + std::to_string(f) + " has " + std::to_string(columns.values[f].size()) +
                                  " levels, expected at most " + std::to_string(kMostLevels) + " to test by sets");
    const auto twin = [&](const LevelColumn& other) { return columns.ranks[other.column] == columns.ranks[f]; };
    if (std::none_of(found.begin(), found.end(), twin))
      found.push_back({f, {}, columns.values[f], columns.values[f].size() <= by_sets.anywhere});
  }
  return found;
}

// Numbers the merged rows: rows of equal values and class, in the order of their first rows; of two classes, opposite
// rows are one merged row, where they cancel.
struct MergedRows {
  std::vector<u32> of;  // per row
  u32 count = 0;
};

// False if stopped.
bool number_rows(MergedRows& merged, const Columns& columns, const Table& table, const int* labels,
                 const std::atomic<int>& stop) {
  const std::size_t n = merged.of.size();
  const bool cancel = table.n_classes == 2;
  std::vector<u64> hash(n, 0);
  std::vector<u32> compared = table.column;
  for (const LevelColumn& levels : table.levels) compared.push_back(levels.column);
  for (const u32 f : compared) {
    if (stop.load()) return false;
    for (std::size_t i = 0; i < n; ++i) hash[i] = mix(hash[i] ^ columns.ranks[f][i]);
  }
  if (!cancel)
    for (std::size_t i = 0; i < n; ++i) hash[i] = mix(hash[i] ^ static_cast<u64>(labels[i]));
  const auto same = [&](u32 a, u32 b) {
    if (!cancel && labels[a] != labels[b]) return false;
    return std::all_of(compared.begin(), compared.end(),
                       [&](u32 f) { return columns.ranks[f][a] == columns.ranks[f][b]; });
  };
  constexpr u32 kEmpty = ~0u;
  std::vector<u32> slot(std::bit_ceil(2 * n + 1), kEmpty);  // open addressing: first row of each merged one
  merged.count = 0;
  for (u32 i = 0; i < n; ++i) {
    std::size_t at = hash[i] & (slot.size() - 1);
    while (slot[at] != kEmpty && !(hash[slot[at]] == hash[i] && same(i, slot[at]))) at = (at + 1) & (slot.size() - 1);
    if (slot[at] == kEmpty) {
      slot[at] = i;
      merged.of[i] = merged.count++;
    } else {
      merged.of[i] = merged.of[slot[at]];
    }
  }
  return true;
}

// Labels, weights and counts of the merged rows. Returns a row of the caller for each.
std::vector<u32> merge_rows(Table& table, const MergedRows& merged, const int* labels, const i64* weights,
                            bool keep_counts) {
  table.n_rows = merged.count;
  table.label.assign(merged.count, 0);
  table.weight.assign(merged.count, 0);
  table.count.assign(merged.count, 0);
  table.mass.assign(merged.count, 0);
  std::vector<u32> example(merged.count);
  for (u32 i = 0; i < merged.of.size(); ++i) {
    const u32 g = merged.of[i];
    example[g] = i;
    table.mass[g] += weights[i];
    if (table.count[g]++ == 0 || labels[i] == table.label[g]) {
      table.label[g] = static_cast<u16>(labels[i]);
      table.weight[g] += weights[i];
    } else {  // two classes only: one error for each unit of the lighter class, wherever the rows go
      const i64 both = std::min(table.weight[g], weights[i]);
      table.constant += both;
      table.weight[g] -= weights[i];
      if (table.weight[g] < 0) {
        table.weight[g] = -table.weight[g];
        table.label[g] = static_cast<u16>(labels[i]);
      }
    }
  }
  if (!keep_counts) {
    table.count.assign(merged.count, 1);
    table.mass = table.weight;
  }
  table.unit = std::all_of(table.weight.begin(), table.weight.end(), [](i64 w) { return w == 1; }) &&
               std::all_of(table.count.begin(), table.count.end(), [](u32 c) { return c == 1; });
  return example;
}

void make_keys(Table& table, Columns& columns, const std::vector<u32>& example, int threads) {
  table.key.resize(table.n_features);
  table.value.resize(table.n_features);
  for_each_parallel(table.n_features, threads, [&](std::size_t f) {
    auto& rank = columns.ranks[table.column[f]];
    table.value[f] = std::move(columns.values[table.column[f]]);
    constexpr u32 none = kMixed + 1;
    std::vector<u32> of_value(table.value[f].size(), none);
    for (u32 g = 0; g < table.n_rows; ++g) {
      u32& mark = of_value[rank[example[g]]];
      const u32 label = std::min<u32>(table.label[g], kMixed);
      mark = mark == none || mark == label ? label : kMixed;
    }
    auto& key = table.key[f];
    key.resize(table.n_rows);
    for (u32 g = 0; g < table.n_rows; ++g) {
      const u32 r = rank[example[g]];
      key[g] = (r << kLabelBits) | of_value[r];
    }
    rank = {};
  });
}

void make_levels(Table& table, const Columns& columns, const std::vector<u32>& example) {
  for (LevelColumn& levels : table.levels) {
    levels.code.resize(table.n_rows);
    for (u32 g = 0; g < table.n_rows; ++g)
      levels.code[g] = static_cast<unsigned char>(columns.ranks[levels.column][example[g]]);
  }
}

}  // namespace

bool prepare(Table& table, const double* x, std::size_t n, std::size_t n_columns, const int* labels, const i64* weights,
             u32 n_classes, const LevelTests& by_sets, bool merge, bool keep_counts, int threads,
             const std::atomic<int>& stop) {
  Columns columns;
  if (!rank_columns(columns, x, n, n_columns, threads, stop)) return false;
  table.column = distinct_columns(columns, by_sets.columns);
  table.levels = level_columns(columns, by_sets);
  table.n_features = static_cast<u32>(table.column.size());
  table.n_classes = n_classes;

  MergedRows merged{std::vector<u32>(n), static_cast<u32>(n)};
  std::iota(merged.of.begin(), merged.of.end(), 0u);
  if (merge && !number_rows(merged, columns, table, labels, stop)) return false;
  if (stop.load()) return false;
  const std::vector<u32> example = merge_rows(table, merged, labels, weights, keep_counts);
  make_levels(table, columns, example);
  make_keys(table, columns, example, threads);
  return !stop.load();
}

}  // namespace proofwood::trees
