#include "trees/rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "common/threads.hpp"

namespace proofwood::trees {

namespace {

std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

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
  if (n < kSmall) std::sort(items.begin(), items.end(), [](const Sortable& a, const Sortable& b) { return a.key < b.key; });
  else radix_sort(items);
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
  run_workers(static_cast<int>(std::min<std::size_t>(n, static_cast<std::size_t>(std::max(threads, 1)))), [&](int) { loop(); }, [&] { next = n; });
}

}  // namespace

bool prepare(Table& table, const double* x, std::size_t n, std::size_t n_columns, const int* labels, const i64* weights,
             u32 n_classes, bool merge, bool keep_counts, int threads, const std::atomic<int>& stop) {
  std::vector<std::vector<u32>> ranks(n_columns);
  std::vector<std::vector<double>> values(n_columns);
  std::vector<std::uint64_t> fingerprint(n_columns, 0);
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
      rank_column(items[f - first], ranks[f], values[f]);
      std::uint64_t print = values[f].size();
      for (const u32 r : ranks[f]) print = mix(print ^ r);
      fingerprint[f] = print;
    }
  });
  if (stop.load()) return false;

  // columns of one value cannot split; columns that order the rows alike split alike, the first of them stays
  std::unordered_map<std::uint64_t, std::vector<u32>> seen;
  for (u32 f = 0; f < n_columns; ++f) {
    if (values[f].size() < 2) continue;
    auto& twins = seen[fingerprint[f]];
    if (std::any_of(twins.begin(), twins.end(), [&](u32 g) { return ranks[g] == ranks[f]; })) continue;
    twins.push_back(f);
    table.column.push_back(f);
  }
  table.n_features = static_cast<u32>(table.column.size());
  table.n_classes = n_classes;

  // rows of equal values and class become one; of two classes, opposite rows cancel
  std::vector<u32> group(n);
  std::iota(group.begin(), group.end(), 0u);
  u32 groups = static_cast<u32>(n);
  if (merge) {
    const bool cancel = n_classes == 2;
    std::vector<std::uint64_t> hash(n, 0);
    for (const u32 f : table.column) {
      if (stop.load()) return false;
      for (std::size_t i = 0; i < n; ++i) hash[i] = mix(hash[i] ^ ranks[f][i]);
    }
    if (!cancel)
      for (std::size_t i = 0; i < n; ++i) hash[i] = mix(hash[i] ^ static_cast<std::uint64_t>(labels[i]));
    const auto same = [&](u32 a, u32 b) {
      if (!cancel && labels[a] != labels[b]) return false;
      return std::all_of(table.column.begin(), table.column.end(), [&](u32 f) { return ranks[f][a] == ranks[f][b]; });
    };
    constexpr u32 kEmpty = ~0u;
    std::vector<u32> slot(std::bit_ceil(2 * n + 1), kEmpty);  // open addressing: first row of each group
    groups = 0;
    for (u32 i = 0; i < n; ++i) {
      std::size_t at = hash[i] & (slot.size() - 1);
      while (slot[at] != kEmpty && !(hash[slot[at]] == hash[i] && same(i, slot[at]))) at = (at + 1) & (slot.size() - 1);
      if (slot[at] == kEmpty) {
        slot[at] = i;
        group[i] = groups++;
      } else {
        group[i] = group[slot[at]];
      }
    }
  }
  if (stop.load()) return false;

  table.n_rows = groups;
  table.label.assign(groups, 0);
  table.weight.assign(groups, 0);
  table.count.assign(groups, 0);
  table.mass.assign(groups, 0);
  std::vector<u32> example(groups);
  for (u32 i = 0; i < n; ++i) {
    const u32 g = group[i];
    example[g] = i;
    table.mass[g] += weights[i];
    if (table.count[g]++ == 0 || labels[i] == table.label[g]) {
      table.label[g] = static_cast<std::uint16_t>(labels[i]);
      table.weight[g] += weights[i];
    } else {  // two classes only: one error for each unit of the lighter class, wherever the rows go
      const i64 both = std::min(table.weight[g], weights[i]);
      table.constant += both;
      table.weight[g] -= weights[i];
      if (table.weight[g] < 0) {
        table.weight[g] = -table.weight[g];
        table.label[g] = static_cast<std::uint16_t>(labels[i]);
      }
    }
  }
  if (!keep_counts) {
    table.count.assign(groups, 1);
    table.mass = table.weight;
  }
  table.unit = std::all_of(table.weight.begin(), table.weight.end(), [](i64 w) { return w == 1; }) &&
               std::all_of(table.count.begin(), table.count.end(), [](u32 c) { return c == 1; });

  table.key.resize(table.n_features);
  table.value.resize(table.n_features);
  for_each_parallel(table.n_features, threads, [&](std::size_t f) {
    auto& rank = ranks[table.column[f]];
    table.value[f] = std::move(values[table.column[f]]);
    constexpr u32 none = kMixed + 1;
    std::vector<u32> of_value(table.value[f].size(), none);
    for (u32 g = 0; g < groups; ++g) {
      u32& mark = of_value[rank[example[g]]];
      const u32 label = std::min<u32>(table.label[g], kMixed);
      mark = mark == none || mark == label ? label : kMixed;
    }
    auto& key = table.key[f];
    key.resize(groups);
    for (u32 g = 0; g < groups; ++g) {
      const u32 r = rank[example[g]];
      key[g] = (r << kLabelBits) | of_value[r];
    }
    rank = {};
  });
  return !stop.load();
}

void Rows::forget() {
  have_column_.assign(n_features, 0);
  have_prefix_.assign(n_features, 0);
  have_ends_.assign(n_features, 0);
  have_counts_.assign(n_features, 0);
  short_.assign(n_features, 0);
  n_ends_.assign(n_features, 0);
}

void Rows::start(const Table& table) {
  n = table.n_rows;
  n_features = table.n_features;
  forget();
  row_.resize(n);
  order_.resize(std::size_t{n} * n_features);
  key_.resize(std::size_t{n} * n_features);
  std::iota(row_.data(), row_.data() + n, 0u);
  weight = 0;
  count = 0;
  mass = 0;
  class_weight.assign(table.n_classes, 0);
  hash[0] = hash[1] = 0;
  for (u32 i = 0; i < n; ++i) {
    weight += table.weight[i];
    count += table.count[i];
    mass += table.mass[i];
    class_weight[table.label[i]] += table.weight[i];
    hash[0] += mix(2 * i + 1);
    hash[1] += mix(2 * i + 2);
  }
  std::vector<u32> start;
  for (u32 f = 0; f < n_features; ++f) {  // counting sort by rank
    start.assign(table.value[f].size() + 1, 0);
    for (const u32 key : table.key[f]) ++start[(key >> kLabelBits) + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    u32* const order = order_.data() + std::size_t{f} * n;
    u32* const keys = key_.data() + std::size_t{f} * n;
    for (u32 i = 0; i < n; ++i) {
      const u32 key = table.key[f][i], to = start[key >> kLabelBits]++;
      order[to] = i;
      keys[to] = key;
    }
  }
}

bool Rows::split(const Table& table, u32 feature, u32 position, Rows& low, Rows& high, Buffer<u32>& scratch,
                 const std::atomic<int>& stop) const {
  constexpr u32 kHigh = 1u << 31;
  low.n = position;
  high.n = n - position;
  u32* const target = scratch.resize(n);
  const u32* const by = order(feature);
  for (u32 i = 0; i < n; ++i) target[by[i]] = i < position ? 0 : kHigh;
  for (Rows* side : {&low, &high}) {
    side->n_features = n_features;
    side->forget();
    side->row_.resize(side->n);
    side->order_.resize(std::size_t{side->n} * n_features);
    side->key_.resize(std::size_t{side->n} * n_features);
    side->weight = 0;
    side->count = 0;
    side->mass = 0;
    side->class_weight.assign(table.n_classes, 0);
    side->hash[0] = side->hash[1] = 0;
  }
  u32 next[2] = {0, 0};
  for (u32 local = 0; local < n; ++local) {
    const u32 is_high = target[local] >> 31;
    Rows& side = is_high ? high : low;
    const u32 r = row_[local];
    side.row_[next[is_high]] = r;
    target[local] |= next[is_high]++;
    side.weight += table.weight[r];
    side.count += table.count[r];
    side.mass += table.mass[r];
    side.class_weight[table.label[r]] += table.weight[r];
    side.hash[0] += mix(2 * r + 1);
    side.hash[1] += mix(2 * r + 2);
  }
  for (u32 f = 0; f < n_features; ++f) {
    if (stop.load(std::memory_order_relaxed)) return false;
    const u32* const from = order(f);
    const u32* const keys = key(f);
    u32* order_to[2] = {low.order_.data() + std::size_t{f} * low.n, high.order_.data() + std::size_t{f} * high.n};
    u32* key_to[2] = {low.key_.data() + std::size_t{f} * low.n, high.key_.data() + std::size_t{f} * high.n};
    // one plain loop with predictable stores: write to both sides, advance one; the last write of each side is kept off
    // the end by handling the tail apart
    u32 a = 0, b = 0;
    u32 i = 0;
    for (; a < low.n && b < high.n; ++i) {
      const u32 t = target[from[i]], is_high = t >> 31;
      order_to[0][a] = t;
      key_to[0][a] = keys[i];
      order_to[1][b] = t & ~kHigh;
      key_to[1][b] = keys[i];
      a += 1 - is_high;
      b += is_high;
    }
    for (; i < n; ++i) {
      const u32 t = target[from[i]], is_high = t >> 31;
      u32& to = is_high ? b : a;
      order_to[is_high][to] = t & ~kHigh;
      key_to[is_high][to++] = keys[i];
    }
  }
  return true;
}

i64 Rows::heaviest_class() const { return *std::max_element(class_weight.begin(), class_weight.end()); }

u32 Rows::boundary_from(u32 feature, u32 position) const {
  const u32* const keys = key(feature);
  if (position == 0) position = 1;
  if (position >= n) return n;
  if (keys[position - 1] != keys[position]) return position;
  return static_cast<u32>(std::upper_bound(keys + position, keys + n, keys[position]) - keys);
}

u32 Rows::boundary_until(u32 feature, u32 position) const {
  const u32* const keys = key(feature);
  if (position >= n) position = n - 1;
  if (position == 0 || keys[position - 1] != keys[position]) return position;
  return static_cast<u32>(std::lower_bound(keys, keys + position, keys[position]) - keys);
}

u32 Rows::position_of(u32 feature, u32 limit, u32 from, u32 to) const {
  const u32* const keys = key(feature);
  return static_cast<u32>(std::upper_bound(keys + from, keys + to, limit) - keys);
}

const i64* Rows::prefix(const Table& table, u32 feature) {
  if (!have_prefix_[feature]) {
    i64* const sums = prefix_.resize(std::size_t{n + 1} * n_features) + std::size_t{feature} * (n + 1);
    const u32* const by = order(feature);
    sums[0] = 0;
    for (u32 i = 0; i < n; ++i) sums[i + 1] = sums[i] + table.weight[row_[by[i]]];
    have_prefix_[feature] = 1;
  }
  return prefix_.data() + std::size_t{feature} * (n + 1);
}

u32 Rows::position_at_weight(const Table& table, u32 feature, u32 from, i64 wanted) {
  if (table.unit) return static_cast<u32>(std::clamp<i64>(wanted, from, n));
  const i64* const sums = prefix(table, feature);
  return static_cast<u32>(std::lower_bound(sums + from, sums + n, wanted) - sums);
}

std::pair<u32, i64> Rows::held_before(const Table& table, u32 feature, u32 position) {
  const std::size_t start = std::size_t{feature} * (n + 1);
  if (!have_counts_[feature]) {
    u32* const counts = counts_.resize(std::size_t{n + 1} * n_features) + start;
    i64* const masses = masses_.resize(std::size_t{n + 1} * n_features) + start;
    const u32* const by = order(feature);
    counts[0] = 0;
    masses[0] = 0;
    for (u32 i = 0; i < n; ++i) {
      counts[i + 1] = counts[i] + table.count[row_[by[i]]];
      masses[i + 1] = masses[i] + table.mass[row_[by[i]]];
    }
    have_counts_[feature] = 1;
  }
  return {counts_[start + position], masses_[start + position]};
}

const u32* Rows::column(u32 feature) {
  if (!have_column_[feature]) {
    u32* const to = column_.resize(std::size_t{n} * n_features) + std::size_t{feature} * n;
    const u32* const by = order(feature);
    const u32* const keys = key(feature);
    for (u32 i = 0; i < n; ++i) to[by[i]] = keys[i];
    have_column_[feature] = 1;
  }
  return column_.data() + std::size_t{feature} * n;
}

SortedRows Rows::sorted(u32 feature, bool all_boundaries, bool two_classes) {
  constexpr u32 kLong = 8;  // rows per segment from which a branch per segment is cheaper than work at every row
  u32* const ends = ends_.resize(std::size_t{n} * n_features) + std::size_t{feature} * n;
  std::int16_t* const is_end = is_end_.resize(std::size_t{n} * n_features) + std::size_t{feature} * n;
  if (!have_ends_[feature]) {
    const u32* const keys = key(feature);
    u32 m = 0;
    bool mixed = false;
    for (u32 i = 0; i + 1 < n; ++i) {
      const u32 differ = keys[i] ^ keys[i + 1], label = keys[i] & kMixed;
      // inside a run of one class the extremes lie at its ends
      const bool end = differ != 0 && (all_boundaries || (differ & kMixed) != 0 || label == kMixed);
      ends[m] = i + 1;
      m += end;
      is_end[i] = static_cast<std::int16_t>(-static_cast<int>(end));
      mixed |= differ == 0 && label == kMixed;
    }
    ends[m++] = n;
    is_end[n - 1] = -1;
    n_ends_[feature] = m;
    short_[feature] = m > n / kLong ? (mixed ? 1 : 2) : 0;
    have_ends_[feature] = 1;
  }
  const unsigned char kind = two_classes ? short_[feature] : 0;
  return {n, order(feature), ends, n_ends_[feature], kind == 2, kind == 1 ? is_end : nullptr};
}

Stump best_stump(const Table& table, const Rows& rows, const Minimum& minimum, const std::atomic<int>& stop) {
  Stump best;
  const u32 n = rows.n;
  std::vector<i64> tally(table.n_classes), suffix(n + 1);
  for (u32 f = 0; f < rows.n_features && !stop.load(std::memory_order_relaxed); ++f) {
    const u32* const order = rows.order(f);
    const auto tallied = [&](u32 i) {
      const u32 r = rows.row(order[i]);
      return tally[table.label[r]] += table.weight[r];
    };
    std::fill(tally.begin(), tally.end(), 0);
    suffix[n] = 0;
    for (u32 i = n; i-- > 0;) suffix[i] = std::max(suffix[i + 1], tallied(i));
    std::fill(tally.begin(), tally.end(), 0);
    i64 prefix = 0;
    u32 seen = 0;
    i64 held = 0;
    for (u32 i = 0; i + 1 < n; ++i) {
      prefix = std::max(prefix, tallied(i));
      seen += table.count[rows.row(order[i])];
      held += table.mass[rows.row(order[i])];
      if (!rows.is_boundary(f, i + 1)) continue;
      const i64 right = prefix + suffix[i + 1];
      best.right_all = std::max(best.right_all, right);
      if (right > best.right && minimum.met(seen, held) && minimum.met(rows.count - seen, rows.mass - held)) {
        best.right = right;
        best.feature = f;
        best.position = i + 1;
      }
    }
  }
  return best;
}

}  // namespace proofwood::trees
