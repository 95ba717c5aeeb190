// Ranks the values of every column, leaves out columns that say nothing new and merges rows of equal values
// (docs/theory/optimal-trees.md, "Positions").
#include "trees/table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "common/mix.hpp"
#include "common/threads.hpp"
#include "trees/class_errors.hpp"
#include "trees/monotone/table.hpp"

namespace proofwood::trees {

namespace {

struct Sortable {
  u64 key;
  u32 row;
};

// Bits of a double in the order of its value.
u64 ordered_bits(double x) {
  const auto bits = std::bit_cast<u64>(x + 0.0);  // -0 is 0
  return bits >> 63 ? ~bits : bits | (u64{1} << 63);
}

// Sorts by the 33 highest bits in which keys differ, 11 bits at a time, and then what these bits leave equal.
void radix_sort(std::vector<Sortable>& items, std::vector<Sortable>& sorted) {
  constexpr int kBits = 11, kPasses = 3;
  constexpr std::size_t kDigits = std::size_t{1} << kBits;
  u64 differ = 0;
  for (const Sortable& item : items) differ |= item.key ^ items.front().key;
  const int shift = std::max(0, static_cast<int>(std::bit_width(differ)) - kBits * kPasses);
  std::array<std::array<u32, kDigits>, kPasses> count{};
  const auto digit = [shift](u64 key, int pass) { return (key >> (shift + kBits * pass)) % kDigits; };
  for (const Sortable& item : items)
    for (int pass = 0; pass < kPasses; ++pass) ++count[pass][digit(item.key, pass)];
  sorted.resize(items.size());
  for (int pass = 0; pass < kPasses; ++pass) {
    auto& start = count[pass];
    if (start[digit(items.front().key, pass)] == items.size()) continue;  // a digit that all keys share
    u32 sum = 0;
    for (u32& at : start) at = std::exchange(sum, sum + at);
    for (const Sortable& item : items) sorted[start[digit(item.key, pass)]++] = item;
    items.swap(sorted);
  }
  if (shift == 0) return;
  for (std::size_t from = 0, to = 0; from < items.size(); from = to) {
    for (to = from + 1; to < items.size() && items[to].key >> shift == items[from].key >> shift;) ++to;
    if (to - from > 1)
      std::sort(items.begin() + static_cast<std::ptrdiff_t>(from), items.begin() + static_cast<std::ptrdiff_t>(to),
                [](const Sortable& a, const Sortable& b) { return a.key < b.key; });
  }
}

// A column of the caller, ranked: 0 for the smallest value, equal values share a rank.
struct Column {
  Ranks ranks;
  u64 fingerprint = 0;  // of the ranks, and of those of the opposite order alike
};

// Memory for the columns that a thread ranks.
struct Scratch {
  std::vector<double> values;
  std::vector<Sortable> items, sorted;
};

// Lets rows further down arrive while these are looked at: a table of many columns has a row on every few lines.
inline void prefetch(const double* x, std::size_t width) {
  __builtin_prefetch(x);
  __builtin_prefetch(x + width - 1);
}
constexpr std::size_t kAhead = 24;  // rows

// Ranks the columns of at most two values, which most columns of tests have, in one walk. `x`: the first of `width`
// columns, of a table of `n_columns`. The others are left without ranks.
template <std::size_t kMost>
void rank_two(const double* x, std::size_t n, std::size_t n_columns, std::size_t width, Column* columns) {
  std::array<double, kMost> one, other;
  std::array<std::vector<u8>, kMost> differs;
  std::array<bool, kMost> more{};
  other.fill(std::numeric_limits<double>::quiet_NaN());
  for (std::size_t f = 0; f < width; ++f) {
    one[f] = x[f];
    differs[f].resize(n);
  }
  std::size_t left = width;  // columns
  for (std::size_t i = 0; i < n && left > 0; ++i) {
    const double* const row = x + i * n_columns;
    prefetch(row + std::min(kAhead, n - 1 - i) * n_columns, width);
    for (std::size_t f = 0; f < width; ++f) {
      const bool is_other = row[f] != one[f];
      differs[f][i] = is_other;
      if (!is_other || row[f] == other[f]) continue;
      if (std::isnan(other[f])) {
        other[f] = row[f];
      } else if (!more[f]) {
        more[f] = true;
        --left;
      }
    }
  }
  for (std::size_t f = 0; f < width; ++f) {
    if (more[f]) continue;
    if (other[f] < one[f])
      for (u8& rank : differs[f]) rank ^= 1u;
    columns[f].ranks = Ranks(std::move(differs[f]), std::isnan(other[f]) ? 1 : 2);
  }
}

// At most 255 values, each looked up among those seen. False if there are more.
bool rank_few(const double* x, std::size_t n, Column& column) {
  constexpr u32 kSlotBits = 10, kMost = 255;
  std::array<double, 1u << kSlotBits> value;
  std::array<u8, 1u << kSlotBits> code;
  code.fill(kMost);
  std::vector<double> seen;
  std::vector<u8> codes(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double v = x[i] + 0.0;  // -0 is 0
    u64 slot = (std::bit_cast<u64>(v) * 0x9e3779b97f4a7c15u) >> (64 - kSlotBits);
    while (code[slot] != kMost && value[slot] != v) slot = (slot + 1) % value.size();
    if (code[slot] == kMost) {
      if (seen.size() == kMost) return false;
      value[slot] = v;
      code[slot] = static_cast<u8>(seen.size());
      seen.push_back(v);
    }
    codes[i] = code[slot];
  }
  std::array<u8, kMost> rank{};
  std::vector<u8> by_value(seen.size());
  std::iota(by_value.begin(), by_value.end(), u8{0});
  std::sort(by_value.begin(), by_value.end(), [&](u8 a, u8 b) { return seen[a] < seen[b]; });
  for (std::size_t r = 0; r < seen.size(); ++r) rank[by_value[r]] = static_cast<u8>(r);
  for (u8& c : codes) c = rank[c];
  column.ranks = Ranks(std::move(codes), static_cast<u32>(seen.size()));
  return true;
}

void rank_many(const double* x, std::size_t n, Column& column, Scratch& scratch) {
  constexpr std::size_t kSmall = 1500;  // below, counting digits costs more than comparing
  std::vector<Sortable>& items = scratch.items;
  items.resize(n);
  for (std::size_t i = 0; i < n; ++i) items[i] = {ordered_bits(x[i]), static_cast<u32>(i)};
  if (n < kSmall)
    std::sort(items.begin(), items.end(), [](const Sortable& a, const Sortable& b) { return a.key < b.key; });
  else
    radix_sort(items, scratch.sorted);
  u32 n_values = 1;
  for (std::size_t i = 1; i < n; ++i) n_values += items[i].key != items[i - 1].key;
  column.ranks = Ranks(n, n_values);
  column.ranks.visit([&](auto& ranks) {
    u32 rank = 0;
    for (std::size_t i = 0; i < n; ++i) {
      rank += i > 0 && items[i].key != items[i - 1].key;
      ranks[items[i].row] = static_cast<std::remove_reference_t<decltype(ranks[0])>>(rank);
    }
  });
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

// False if stopped.
bool rank_columns(std::vector<Column>& columns, const double* x, std::size_t n, std::size_t n_columns, int threads,
                  const std::atomic<int>& stop) {
  columns.resize(n_columns);
  std::vector<u32> number(n);  // of each row, at random: sums of ranks times these are fingerprints
  u64 sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += number[i] = static_cast<u32>(mix(i));
  constexpr std::size_t kTogether = 8;  // columns of one cache line are read together
  for_each_parallel((n_columns + kTogether - 1) / kTogether, threads, [&](std::size_t group) {
    if (stop.load(std::memory_order_relaxed)) return;
    const std::size_t first = group * kTogether, width = std::min(n_columns - first, kTogether);
    const double* const begin = x + first;
    rank_two<kTogether>(begin, n, n_columns, width, columns.data() + first);
    std::array<std::size_t, kTogether> open{};
    std::size_t n_open = 0;
    for (std::size_t f = 0; f < width; ++f)
      if (columns[first + f].ranks.n_values() == 0) open[n_open++] = f;
    Scratch scratch;
    scratch.values.resize(n * n_open);
    if (n_open > 0)
      for (std::size_t i = 0; i < n; ++i) {
        const double* const row = begin + i * n_columns;
        prefetch(row + std::min(kAhead, n - 1 - i) * n_columns, width);
        for (std::size_t o = 0; o < n_open; ++o) scratch.values[o * n + i] = row[open[o]];
      }
    for (std::size_t o = 0; o < n_open; ++o) {
      if (stop.load(std::memory_order_relaxed)) return;
      Column& column = columns[first + open[o]];
      const double* const of = scratch.values.data() + o * n;
      if (!rank_few(of, n, column)) rank_many(of, n, column, scratch);
    }
    for (std::size_t f = first; f < first + width; ++f) {
      if (stop.load(std::memory_order_relaxed)) return;
      Column& column = columns[f];
      u64 print = 0;
      column.ranks.visit([&](const auto& ranks) {
        for (std::size_t i = 0; i < n; ++i) print += u64{ranks[i]} * number[i];
      });
      column.fingerprint = std::min(print, (column.ranks.n_values() - 1) * sum - print);
    }
  });
  return !stop.load();
}

// Whether the ranks order the rows alike, or all the other way round: the splits are the same.
bool splits_alike(const Column& a, const Column& b) {
  if (a.ranks.n_values() != b.ranks.n_values()) return false;
  return a.ranks.visit([&](const auto& of_a) {
    return b.ranks.visit([&](const auto& of_b) {
      const u32 last = a.ranks.n_values() - 1;
      return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end()) ||
             std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                        [last](u32 r, u32 s) { return r + s == last; });
    });
  });
}

// Columns of one value cannot split; of columns that split alike the first one stays. Columns tested by sets are left
// to `level_columns`, but for two levels: these have one split, which is a threshold.
// With directions, a column stands for another only if each tree could test it instead: free ones, or of its direction.
std::vector<u32> distinct_columns(const std::vector<Column>& columns, const std::vector<u32>& by_sets,
                                  const std::vector<int>& directions, bool all = false) {
  const auto stands_for = [&](u32 g, u32 f) {
    if (!splits_alike(columns[g], columns[f])) return false;
    if (directions.empty() || directions[g] == 0) return true;
    return directions[f] == (columns[g].ranks == columns[f].ranks ? directions[g] : -directions[g]);
  };
  std::vector<u32> distinct;
  std::unordered_map<u64, std::vector<u32>> seen;
  for (u32 f = 0; f < columns.size(); ++f) {
    const u32 n_values = columns[f].ranks.n_values();
    if (n_values < 2) continue;
    if (n_values > 2 && std::find(by_sets.begin(), by_sets.end(), f) != by_sets.end()) continue;
    auto& twins = seen[columns[f].fingerprint];
    if (!all && std::any_of(twins.begin(), twins.end(), [&](u32 g) { return stands_for(g, f); })) continue;
    twins.push_back(f);
    distinct.push_back(f);
  }
  return distinct;
}

// The columns tested by sets, without the levels of their rows; of equal ones the first.
std::vector<LevelColumn> level_columns(const std::vector<Column>& columns, const double* x, std::size_t n,
                                       const LevelTests& by_sets) {
  std::vector<LevelColumn> found;
  for (const u32 f : by_sets.columns) {
    const u32 n_levels = columns[f].ranks.n_values();
    if (n_levels <= 2) continue;
    if (n_levels > kMostLevels)
      throw std::invalid_argument("column " + std::to_string(f) + " has " + std::to_string(n_levels) +
                                  " levels, expected at most " + std::to_string(kMostLevels) + " to test by sets");
    const auto twin = [&](const LevelColumn& other) { return columns[other.column].ranks == columns[f].ranks; };
    if (std::any_of(found.begin(), found.end(), twin)) continue;
    std::vector<double> value(n_levels);
    for (std::size_t i = 0; i < n; ++i) value[columns[f].ranks[i]] = x[i * columns.size() + f] + 0.0;  // -0 is 0
    found.push_back({f, {}, std::move(value), n_levels <= by_sets.anywhere});
  }
  return found;
}

// Numbers the merged rows: rows of equal values and class, in the order of their first rows; of two classes, opposite
// rows are one merged row, where they cancel, and so are rows of equal values of a task by sums.
struct MergedRows {
  std::vector<u32> of;  // per row
  u32 count = 0;
};

// False if stopped.
bool number_rows(MergedRows& merged, const std::vector<Column>& columns, const Table& table, const int* labels,
                 const std::atomic<int>& stop) {
  const std::size_t n = merged.of.size();
  const bool cancel = table.n_classes <= 2;
  std::vector<u64> hash(n, 0);
  std::vector<u32> compared = table.column;
  for (const LevelColumn& levels : table.levels) compared.push_back(levels.column);
  for (const u32 f : compared) {
    if (stop.load()) return false;
    const u32 number = static_cast<u32>(mix(f)) | 1u;
    columns[f].ranks.visit([&](const auto& ranks) {
      for (std::size_t i = 0; i < n; ++i) hash[i] += u64{ranks[i]} * number;
    });
  }
  for (std::size_t i = 0; i < n; ++i) hash[i] = mix(cancel ? hash[i] : mix(hash[i]) ^ static_cast<u64>(labels[i]));
  const auto same = [&](u32 a, u32 b) {
    if (!cancel && labels[a] != labels[b]) return false;
    return std::all_of(compared.begin(), compared.end(),
                       [&](u32 f) { return columns[f].ranks[a] == columns[f].ranks[b]; });
  };
  constexpr u32 kEmpty = ~0u;
  std::vector<u32> slot(std::bit_ceil(2 * n + 1), kEmpty);  // open addressing: first row of each merged one
  merged.count = 0;
  constexpr u32 kBetween = 4096;  // rows
  for (u32 i = 0; i < n; ++i) {
    if (i % kBetween == 0 && stop.load(std::memory_order_relaxed)) return false;
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

// A table of unit weights has its sums for nothing and narrow lanes: a few rows less are not worth their weights.
bool merging_pays(std::size_t merged, std::size_t n, const i64* weights) {
  // decisions/0027-narrow-lanes: one merged row among 5,056 made the whole table a weighted one.
  return merged < n - n / 5 || std::any_of(weights, weights + n, [](i64 w) { return w != 1; });
}

// Between rows of proportional sums no stump is better than at both ends of their run: what leaves save is convex.
// The most frequent kinds of the first ones are told apart.
std::vector<u16> kinds_of(const std::vector<std::vector<double>>& sums, std::size_t n) {
  constexpr std::size_t kMostKinds = 1024;
  struct Kind {
    u32 rows = 0;
    u16 label = kMixed;
  };
  std::map<std::vector<i64>, Kind> kinds;
  std::vector<Kind*> kind_of(n, nullptr);
  std::vector<i64> of_row(sums.size());
  for (std::size_t i = 0; i < n; ++i) {
    i64 divisor = 0;
    for (std::size_t k = 0; k < sums.size(); ++k) {
      of_row[k] = static_cast<i64>(sums[k][i]);
      divisor = std::gcd(divisor, of_row[k]);
    }
    if (divisor == 0) continue;
    for (i64& number : of_row) number /= divisor;
    auto found = kinds.find(of_row);
    if (found == kinds.end()) {
      if (kinds.size() == kMostKinds) continue;
      found = kinds.emplace(of_row, Kind{}).first;
    }
    ++found->second.rows;
    kind_of[i] = &found->second;
  }
  std::vector<Kind*> by_rows;
  for (auto& [numbers, kind] : kinds)
    if (kind.rows > 1) by_rows.push_back(&kind);
  std::stable_sort(by_rows.begin(), by_rows.end(), [](const Kind* a, const Kind* b) { return a->rows > b->rows; });
  for (std::size_t k = 0; k < std::min<std::size_t>(by_rows.size(), kMixed); ++k)
    by_rows[k]->label = static_cast<u16>(k);
  std::vector<u16> labels(n, kMixed);
  for (std::size_t i = 0; i < n; ++i)
    if (kind_of[i] != nullptr) labels[i] = kind_of[i]->label;
  return labels;
}

// Labels, weights and counts of the merged rows, and the first row of the caller of each.
void merge_sums(Table& table, const MergedRows& merged, SumRows& rows) {
  if (merged.count == merged.of.size()) {
    table.sums = std::move(rows.sums);
    table.own = std::move(rows.own);
  } else {
    table.sums.assign(rows.sums.size(), std::vector<double>(merged.count));
    table.own.assign(rows.own.empty() ? 0 : merged.count, 0);
    for (std::size_t i = 0; i < merged.of.size(); ++i) {
      for (std::size_t k = 0; k < rows.sums.size(); ++k) table.sums[k][merged.of[i]] += rows.sums[k][i];
      if (!rows.own.empty()) table.own[merged.of[i]] += rows.own[i];
    }
  }
  table.kind = kinds_of(table.sums, merged.count);
  table.rounded = rows.rounded;
  table.similar = !rows.reach.empty();
  if (!table.similar) return;
  table.weight.assign(merged.count, 0);
  for (std::size_t i = 0; i < merged.of.size(); ++i) table.weight[merged.of[i]] += rows.reach[i];
}

void merge_rows(Table& table, const MergedRows& merged, const Targets& targets, const i64* weights, bool keep_counts) {
  const std::vector<int> none(targets.sums != nullptr ? merged.of.size() : 0, 0);
  const int* const labels = targets.sums != nullptr ? none.data() : targets.labels;
  table.n_rows = merged.count;
  table.label.assign(merged.count, 0);
  table.weight.assign(merged.count, 0);
  table.count.assign(merged.count, 0);
  table.mass.assign(merged.count, 0);
  table.example.resize(merged.count);
  for (u32 i = 0; i < merged.of.size(); ++i) {
    const u32 g = merged.of[i];
    if (table.count[g] == 0) table.example[g] = i;
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
  table.unweighted = std::all_of(table.mass.begin(), table.mass.end(), [](i64 w) { return w == 1; });
  if (targets.sums != nullptr) merge_sums(table, merged, *targets.sums);
  table.heaviest = table.weight.empty() ? 0 : *std::max_element(table.weight.begin(), table.weight.end());
  table.unit = std::all_of(table.weight.begin(), table.weight.end(), [](i64 w) { return w == 1; }) &&
               std::all_of(table.count.begin(), table.count.end(), [](u32 c) { return c == 1; });
}

// Ranks of the merged rows in place of those of the caller's.
void keep_examples(auto& ranks, const std::vector<u32>& example) {
  if (example.size() == ranks.size()) return;  // each row is its own
  for (std::size_t g = 0; g < example.size(); ++g) ranks[g] = ranks[example[g]];
  ranks.resize(example.size());
}

void take_ranks(Table& table, std::vector<Column>& columns, int threads) {
  table.rank.resize(table.n_features);
  for_each_parallel(table.n_features, threads, [&](std::size_t f) {
    table.rank[f] = std::move(columns[table.column[f]].ranks);
    table.rank[f].visit([&](auto& ranks) { keep_examples(ranks, table.example); });
  });
}

// Whether `high` has the rows above that `low` has below all others.
bool differ_in_gaps(const Ranks& low, const Ranks& high) {
  if (low.n_values() != high.n_values() || low.n_values() < 3) return false;
  const u32 last = low.n_values() - 1;
  return low.visit([&](const auto& of_low) {
    return high.visit([&](const auto& of_high) {
      return std::equal(of_low.begin(), of_low.end(), of_high.begin(), of_high.end(),
                        [last](u32 r, u32 s) { return r == 0 ? s == last : r == s + 1; });
    });
  });
}

// The two views of a column are neighbours.
void find_views(Table& table, bool none) {
  table.high_view.assign(table.n_features, kNoView);
  table.low_view.assign(table.n_features, kNoView);
  if (none) return;
  for (u32 f = 0; f + 1 < table.n_features; ++f) {
    if (table.low_view[f] != kNoView || !differ_in_gaps(table.rank[f], table.rank[f + 1])) continue;
    table.high_view[f] = f + 1;
    table.low_view[f + 1] = f;
  }
}

void make_levels(Table& table, const std::vector<Column>& columns) {
  for (LevelColumn& levels : table.levels) {
    levels.code.resize(table.n_rows);
    for (u32 g = 0; g < table.n_rows; ++g)
      levels.code[g] = static_cast<unsigned char>(columns[levels.column].ranks[table.example[g]]);
  }
}

}  // namespace

double Table::value(u32 feature, u32 of_rank) const {
  return rank[feature].visit([&](const auto& ranks) {
    const auto row = static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), of_rank) - ranks.begin());
    return x[example[row] * n_columns + column[feature]] + 0.0;  // -0 is 0
  });
}

bool prepare(Table& table, const double* x, std::size_t n, std::size_t n_columns, const Targets& targets,
             const i64* weights, const LevelTests& by_sets, bool merge, bool keep_counts, int threads,
             const std::atomic<int>& stop) {
  std::vector<Column> columns;
  if (!rank_columns(columns, x, n, n_columns, threads, stop)) return false;
  table.x = x;
  table.n_columns = n_columns;
  table.column = distinct_columns(columns, by_sets.columns, {}, targets.every_column);
  table.levels = level_columns(columns, x, n, by_sets);
  table.n_features = static_cast<u32>(table.column.size());
  table.n_classes = targets.n_classes;
  table.task = class_errors(targets.error_price);
  if (targets.sums != nullptr) table.task = table.sums_task = targets.sums->task;
  if (stop.load()) return false;

  MergedRows merged{std::vector<u32>(n), static_cast<u32>(n)};
  if (merge && !number_rows(merged, columns, table, targets.labels, stop)) return false;
  if (!merge || !merging_pays(merged.count, n, weights)) {
    std::iota(merged.of.begin(), merged.of.end(), 0u);
    merged.count = static_cast<u32>(n);
  }
  if (stop.load()) return false;
  merge_rows(table, merged, targets, weights, keep_counts);
  make_levels(table, columns);
  take_ranks(table, columns, threads);
  find_views(table, targets.every_column);
  return !stop.load();
}

namespace monotone {

bool prepare(Table& table, const double* x, std::size_t n, std::size_t n_columns, const Targets& targets,
             const i64* weights, const std::vector<int>& directions, int threads, const std::atomic<int>& stop) {
  std::vector<Column> columns;
  if (!rank_columns(columns, x, n, n_columns, threads, stop)) return false;
  table.x = x;
  table.n_columns = n_columns;
  table.column = distinct_columns(columns, {}, directions);
  table.n_features = static_cast<u32>(table.column.size());
  table.n_classes = targets.n_classes;
  table.task = class_errors(targets.error_price);
  MergedRows each{std::vector<u32>(n), static_cast<u32>(n)};
  std::iota(each.of.begin(), each.of.end(), 0u);
  merge_rows(table, each, targets, weights, true);
  take_ranks(table, columns, threads);
  table.high_view.assign(table.n_features, kNoView);
  table.low_view = table.high_view;
  return !stop.load();
}

}  // namespace monotone

}  // namespace proofwood::trees
