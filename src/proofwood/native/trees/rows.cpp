// Sets of rows, sorted once per feature; splitting keeps the order (docs/theory/optimal-trees.md, "Positions").
#include "trees/rows.hpp"

#include <algorithm>
#include <numeric>

#include "common/mix.hpp"

namespace proofwood::trees {

namespace {
constexpr u32 kHigh = 1u << 31;

// The class (or kind) of all rows of each rank, or kMixed.
std::vector<u8> labels_of_ranks(const auto& ranks, u32 n_ranks, const std::vector<u16>& labels) {
  constexpr u8 kNone = kMixed + 1;
  std::vector<u8> found(n_ranks, kNone);
  u32 open = n_ranks;  // ranks that are not mixed
  for (std::size_t r = 0; r < labels.size() && open > 0; ++r) {
    u8& mark = found[ranks[r]];
    const u8 label = static_cast<u8>(std::min<u32>(labels[r], kMixed));
    const u8 now = mark == kNone || mark == label ? label : static_cast<u8>(kMixed);
    open -= mark != kMixed && now == kMixed;
    mark = now;
  }
  return found;
}

// The rows class by class where there are many: so rows of equal values are sorted by class, as kernels like it.
// Empty where the order does not matter.
std::vector<u32> rows_by_class(const Table& table) {
  if (table.n_classes <= 2) return {};
  std::vector<u32> start(table.n_classes + 1, 0), rows(table.n_rows);
  for (const u16 label : table.label) ++start[label + 1u];
  std::partial_sum(start.begin(), start.end(), start.begin());
  for (u32 i = 0; i < table.n_rows; ++i) rows[start[table.label[i]]++] = i;
  return rows;
}
}  // namespace

void Rows::forget() {
  sums_.forget(n_features);
  have_column_.assign(n_features, 0);
  have_ends_.assign(n_features, 0);
  short_.assign(n_features, 0);
  n_ends_.assign(n_features, 0);
}

void Rows::start(const Table& table, int isa) {
  kernels_ = select_kernels(isa, 0, 0);
  n = table.n_rows;
  n_features = table.n_features;
  forget();
  row_.resize(n);
  order_.resize(std::size_t{n} * n_features);
  key_.resize(std::size_t{n} * n_features);
  std::iota(row_.data(), row_.data() + n, 0u);
  count(table);
  const std::vector<u32> by_class = rows_by_class(table);
  std::vector<u32> start;
  for (u32 f = 0; f < n_features; ++f) {  // counting sort by rank
    const u32 n_ranks = table.rank[f].n_values();
    u32* const order = order_.data() + std::size_t{f} * n;
    u32* const keys = key_.data() + std::size_t{f} * n;
    start.assign(n_ranks + 1, 0);
    table.rank[f].visit([&](const auto& ranks) {
      for (u32 i = 0; i < n; ++i) ++start[ranks[i] + 1u];
      std::partial_sum(start.begin(), start.end(), start.begin());
      const std::vector<u8> label = labels_of_ranks(ranks, n_ranks, table.by_sums() ? table.kind : table.label);
      for (u32 r = 0; r < n_ranks; ++r) std::fill(keys + start[r], keys + start[r + 1], (r << kLabelBits) | label[r]);
      if (by_class.empty())
        for (u32 i = 0; i < n; ++i) order[start[ranks[i]]++] = i;
      for (const u32 i : by_class) order[start[ranks[i]]++] = i;
    });
  }
}

bool Rows::split(const Table& table, u32 feature, u32 position, Rows& low, Rows& high, Buffer<u32>& scratch,
                 const std::atomic<int>& stop) const {
  u32* const target = scratch.resize(n);
  const u32* const by = order(feature);
  for (u32 i = 0; i < n; ++i) target[by[i]] = i < position ? 0 : kHigh;
  return divide(table, target, position, low, high, stop);
}

bool Rows::split_levels(const Table& table, const LevelColumn& column, LevelSet set, Rows& low, Rows& high,
                        Buffer<u32>& scratch, const std::atomic<int>& stop) const {
  u32* const target = scratch.resize(n);
  u32 n_low = 0;
  for (u32 local = 0; local < n; ++local) {
    const bool is_low = contains(set, column.code[row_[local]]);
    target[local] = is_low ? 0 : kHigh;
    n_low += is_low;
  }
  return divide(table, target, n_low, low, high, stop);
}

void Rows::count(const Table& table) {
  counts.clear(table.n_classes);
  hash[0] = hash[1] = 0;
  for (u32 local = 0; local < n; ++local) {
    const u32 r = row_[local];
    counts.add(table, r);
    hash[0] += mix(2 * r + 1);
    hash[1] += mix(2 * r + 2);
  }
  sums.clear(table.sums.size());
  if (table.by_sums())
    for (u32 local = 0; local < n; ++local) sums.add(table, row_[local]);
  leaf = table.task->leaf(*this);
}

// `target` holds kHigh for the local rows that go high, and 0 for the others, `n_low` of them.
bool Rows::divide(const Table& table, u32* target, u32 n_low, Rows& low, Rows& high,
                  const std::atomic<int>& stop) const {
  low.n = n_low;
  high.n = n - n_low;
  for (Rows* side : {&low, &high}) {
    side->n_features = n_features;
    side->kernels_ = kernels_;
    side->forget();
    side->row_.resize(side->n);
    side->order_.resize(std::size_t{side->n} * n_features);
    side->key_.resize(std::size_t{side->n} * n_features);
  }
  kernels_->number(n, row_.data(), target, low.row_.data(), high.row_.data());
  Rows &smaller = low.n < high.n ? low : high, &larger = low.n < high.n ? high : low;
  smaller.count(table);
  larger.counts = counts;
  larger.counts.subtract(smaller.counts);
  if (table.by_sums()) {
    larger.sums = sums;
    larger.sums.subtract(smaller.sums);
  }
  larger.leaf = table.task->leaf(larger);
  for (const int word : {0, 1}) larger.hash[word] = hash[word] - smaller.hash[word];
  for (u32 f = 0; f < n_features; ++f) {
    if (stop.load(std::memory_order_relaxed)) return false;
    const std::size_t low_at = std::size_t{f} * low.n, high_at = std::size_t{f} * high.n;
    kernels_->part({n,
                    {low.n, high.n},
                    order(f),
                    key(f),
                    {low.order_.data() + low_at, high.order_.data() + high_at},
                    {low.key_.data() + low_at, high.key_.data() + high_at}},
                   target);
    if (have_column_[f]) {  // those who asked for it will ask for those of the sides
      u32* const to[2] = {low.column_.resize(std::size_t{low.n} * n_features + 1) + low_at,
                          high.column_.resize(std::size_t{high.n} * n_features + 1) + high_at};
      kernels_->part_column(n, column_.data() + std::size_t{f} * n, target, to[0], to[1]);
      low.have_column_[f] = high.have_column_[f] = 1;
    }
  }
  return true;
}

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

u32 Rows::position_at_weight(const Table& table, u32 feature, u32 from, i64 wanted) {
  if (table.unit) return static_cast<u32>(std::clamp<i64>(wanted, from, n));
  const i64* const before = sums_.weights(table, *this, feature);
  return static_cast<u32>(std::lower_bound(before + from, before + n, wanted) - before);
}

const u32* Rows::column(u32 feature) {
  if (!have_column_[feature]) {
    u32* const to = column_.resize(std::size_t{n} * n_features + 1) + std::size_t{feature} * n;
    const u32* const by = order(feature);
    const u32* const keys = key(feature);
    for (u32 i = 0; i < n; ++i) to[by[i]] = keys[i];
    have_column_[feature] = 1;
  }
  return column_.data() + std::size_t{feature} * n;
}

void Rows::ranks(const Table& table, u32 feature, u32 from, u32 to, u32* target) const {
  table.rank[feature].visit([&](const auto& ranks) {
    for (u32 local = from; local < to; ++local) target[local - from] = ranks[row_[local]];
  });
}

SortedRows Rows::sorted(u32 feature, bool all_boundaries, bool two_classes, Apart apart) {
  constexpr u32 kLong = 8;  // rows per segment from which a branch per segment is cheaper than work at every row
  const bool kept = !is_large();
  const std::size_t size = std::size_t{n} * (kept ? n_features : 1), start = kept ? std::size_t{feature} * n : 0;
  u32* const ends = ends_.resize(size) + start;
  std::int16_t* const is_end = is_end_.resize(size) + start;
  if (!have_ends_[feature] && !(two_classes && short_[feature] == 2)) {  // where every row is an end, none is asked for
    const auto [m, mixed] =
        kernels_->find_ends(n - apart.rows, key(feature) + apart.rows, kMixed, all_boundaries, ends, is_end);
    n_ends_[feature] = m;
    short_[feature] = m > (n - apart.rows) / kLong ? (mixed ? 1 : 2) : 0;
    have_ends_[feature] = kept;
  }
  const unsigned char kind = two_classes ? short_[feature] : 0;
  const u32* const by = order(feature);
  return {n - apart.rows,
          by + apart.rows,
          ends,
          n_ends_[feature],
          kind == 2,
          kind == 1 ? is_end : nullptr,
          apart.gap ? apart.rows : 0,
          by,
          apart.gap ? 0 : apart.rows};
}

}  // namespace proofwood::trees
