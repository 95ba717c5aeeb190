// Counting of errors over parts of the rows: one class, one cut, and one cut on either side of every cut.
#include "diagram/row_parts.hpp"

#include <algorithm>
#include <limits>

namespace proofwood::diagram::layers {

namespace {

Key name_of(u32 row) { return {mix(2 * u64{row} + 1), mix(~(2 * u64{row}))}; }

}  // namespace

Groups::Groups(const Table& table)
    : n(table.rows), columns(0), classes(table.classes), weights(std::size_t{n} * classes), weight(n), least(n) {
  for (u32 c = 0; c < table.columns; ++c) {
    if (table.cuts[c] == 0) continue;
    ++columns;
    given.push_back(c);
    cuts.push_back(static_cast<u32>(table.cuts[c]));
    for (u32 row = 0; row < n; ++row) ranks.push_back(static_cast<u32>(table.column(static_cast<int>(c))[row]));
  }
  for (u32 row = 0; row < n; ++row) {
    i32 heaviest = 0;
    for (u32 k = 0; k < classes; ++k) {
      const i32 w = static_cast<i32>(table.class_weights(k)[row]);
      weights[std::size_t{row} * classes + k] = w;
      weight[row] += w;
      heaviest = std::max(heaviest, w);
    }
    least[row] = weight[row] - heaviest;
    keys.push_back(name_of(row));
  }
}

i32 Counter::weight(const Part& part) const {
  i32 sum = 0;
  for (u32 i = 0; i < part.n; ++i) sum += g_.weight[part.rows[i]];
  return sum;
}

i32 Counter::least(const Part& part) const {
  i32 sum = 0;
  for (u32 i = 0; i < part.n; ++i) sum += g_.least[part.rows[i]];
  return sum;
}

i32 Counter::leaf(const Part& part) {
  std::fill(sums_.begin(), sums_.end(), 0);
  for (u32 i = 0; i < part.n; ++i)
    for (u32 k = 0; k < g_.classes; ++k) sums_[k] += g_.of(part.rows[i])[k];
  return std::accumulate(sums_.begin(), sums_.end(), 0) - *std::max_element(sums_.begin(), sums_.end());
}

// Walks over the rows of every column, or over its ranks where they are few.
i32 Counter::split(const Part& part) {
  const u32 classes = g_.classes;
  i32 best = leaf(part);
  all_ = sums_;
  const i32 weight = std::accumulate(all_.begin(), all_.end(), 0);
  for (u32 c = 0; c < g_.columns && best > 0; ++c) {
    const u32* const rank = g_.column(c);
    const auto right = [&] {
      i32 low = 0, high = 0;
      for (u32 k = 0; k < classes; ++k) {
        low = std::max(low, sums_[k]);
        high = std::max(high, all_[k] - sums_[k]);
      }
      best = std::min(best, weight - low - high);
    };
    std::fill(sums_.begin(), sums_.end(), 0);
    if (g_.cuts[c] <= 2 * part.n) {
      of_rank_.assign(std::size_t{g_.cuts[c] + 1} * classes, 0);
      for (u32 i = 0; i < part.n; ++i)
        for (u32 k = 0; k < classes; ++k)
          of_rank_[std::size_t{rank[part.rows[i]]} * classes + k] += g_.of(part.rows[i])[k];
      for (u32 r = 0; r < g_.cuts[c]; ++r) {
        for (u32 k = 0; k < classes; ++k) sums_[k] += of_rank_[std::size_t{r} * classes + k];
        right();
      }
      continue;
    }
    order_.resize(part.n);
    order_along(c, part, order_.data());
    for (u32 i = 0; i + 1 < part.n; ++i) {
      for (u32 k = 0; k < classes; ++k) sums_[k] += g_.of(order_[i])[k];
      if (rank[order_[i]] != rank[order_[i + 1]]) right();
    }
  }
  return best;
}

void Counter::order_along(u32 column, const Part& part, u32* order) {
  const u32* const rank = g_.column(column);
  if (g_.cuts[column] < 4 * part.n) {
    bucket_.assign(g_.cuts[column] + 2, 0);
    for (u32 i = 0; i < part.n; ++i) ++bucket_[rank[part.rows[i]] + 1];
    for (std::size_t b = 1; b < bucket_.size(); ++b) bucket_[b] += bucket_[b - 1];
    for (u32 i = 0; i < part.n; ++i) order[bucket_[rank[part.rows[i]]]++] = part.rows[i];
    return;
  }
  ranked_.clear();
  for (u32 i = 0; i < part.n; ++i) ranked_.emplace_back(rank[part.rows[i]], part.rows[i]);
  std::sort(ranked_.begin(), ranked_.end());
  for (u32 i = 0; i < part.n; ++i) order[i] = ranked_[i].second;
}

// Whether no cut of this part was listed before that has the same side.
bool Counter::is_new(Key side) {
  if (4 * n_seen_ >= 3 * seen_.size()) {
    std::vector<Key> before(std::max<std::size_t>(64, 2 * seen_.size()));
    before.swap(seen_);
    n_seen_ = 0;
    for (const Key& key : before)
      if (!(key == Key{})) is_new(key);
  }
  std::size_t at = side.a & (seen_.size() - 1);
  for (; !(seen_[at] == Key{}); at = (at + 1) & (seen_.size() - 1))
    if (seen_[at] == side) return false;
  seen_[at] = side;
  ++n_seen_;
  return true;
}

void Counter::list_cuts(u32 column, const Part& part, const u32* order, Sorted& out) {
  const u32* const rank = g_.column(column);
  const u32 classes = g_.classes;
  const i32 weight = std::accumulate(all_.begin(), all_.end(), 0);
  std::fill(sums_.begin(), sums_.end(), 0);
  Key key;
  i32 below = 0;
  for (u32 i = 0; i + 1 < part.n; ++i) {
    const u32 row = order[i];
    for (u32 k = 0; k < classes; ++k) sums_[k] += g_.of(row)[k];
    below += g_.weight[row];
    key = key ^ g_.keys[row];
    if (rank[order[i + 1]] == rank[row]) continue;
    const Key other = key ^ part.key;
    if (!is_new(key.a < other.a ? key : other)) continue;
    i32 low = 0, high = 0;
    for (u32 k = 0; k < classes; ++k) {
      low = std::max(low, sums_[k]);
      high = std::max(high, all_[k] - sums_[k]);
    }
    out.cuts.push_back({column, rank[row], i + 1, key, below, below - low, weight - below - high});
  }
}

void Counter::sort(const Part& part, Sorted& out) {
  look();
  out.n = part.n;
  out.order.resize(std::size_t{g_.columns} * part.n);
  out.first.clear();
  out.cuts.clear();
  if (n_seen_ > 0) std::fill(seen_.begin(), seen_.end(), Key{});
  n_seen_ = 0;
  leaf(part);
  all_ = sums_;
  for (u32 c = 0; c < g_.columns; ++c) {
    u32* const order = out.order.data() + std::size_t{c} * part.n;
    out.first.push_back(static_cast<u32>(out.cuts.size()));
    order_along(c, part, order);
    list_cuts(c, part, order, out);
  }
  out.first.push_back(static_cast<u32>(out.cuts.size()));
}

template <class W>
void Counter::fill(const Sorted& sorted, std::size_t step, Lanes<W>& lanes) {
  const u32 classes = g_.classes, n = sorted.n;
  place_.resize(g_.n);
  for (u32 i = 0; i < n; ++i) place_[sorted.order[i]] = i;
  lanes.low_of.assign(n * step, 0);
  lanes.total.assign(classes * step, 0);
  for (u32 c = 0; c < g_.columns; ++c) {
    if (sorted.first[c] == sorted.first[c + 1]) continue;
    look();
    std::fill(sums_.begin(), sums_.end(), 0);
    const u32* const order = sorted.order.data() + std::size_t{c} * n;
    const u32 end = sorted.first[c + 1];
    for (u32 i = 0, q = sorted.first[c]; q < end; ++i) {
      if (i == sorted.cuts[q].position) {
        for (u32 k = 0; k < classes; ++k) lanes.total[k * step + q] = static_cast<W>(sums_[k]);
        if (++q == end) break;
      }
      W* const low = &lanes.low_of[place_[order[i]] * step];
      std::fill(low + q, low + end, W{1});
      for (u32 k = 0; k < classes; ++k) sums_[k] += g_.of(order[i])[k];
    }
  }
}

// Adds a row to those on the low side of every cut.
template <class W>
void Counter::add_row(u32 row, std::size_t step, Lanes<W>& lanes) {
  const W* const low = &lanes.low_of[place_[row] * step];
  for (u32 k = 0; k < g_.classes; ++k) {
    const W weight = static_cast<W>(g_.of(row)[k]);
    if (weight == 0) continue;
    lanes.here[k] = static_cast<W>(lanes.here[k] + weight);
    lanes.there[k] = static_cast<W>(lanes.there[k] - weight);
    W* const side = &lanes.side[k * step];
    if (weight == 1) {
      for (std::size_t q = 0; q < step; ++q) side[q] = static_cast<W>(side[q] + low[q]);
    } else {
      for (std::size_t q = 0; q < step; ++q) side[q] = static_cast<W>(side[q] + weight * low[q]);
    }
  }
}

// Most weight that one cut gets right, of the rows added so far, and of the others.
template <class W>
Counter::Pair Counter::best_right(std::size_t step, const Lanes<W>& lanes) const {
  W here[kLanes] = {}, there[kLanes] = {};
  for (std::size_t q = 0; q < step; q += kLanes) {
    W low[kLanes] = {}, high[kLanes] = {}, other_low[kLanes] = {}, other_high[kLanes] = {};
    for (u32 k = 0; k < g_.classes; ++k) {
      const W* const side = &lanes.side[k * step + q];
      const W* const total = &lanes.total[k * step + q];
      const W mine = lanes.here[k], others = lanes.there[k];
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const W of_mine = side[lane], of_others = static_cast<W>(total[lane] - of_mine);
        low[lane] = std::max(low[lane], of_mine);
        high[lane] = std::max(high[lane], static_cast<W>(mine - of_mine));
        other_low[lane] = std::max(other_low[lane], of_others);
        other_high[lane] = std::max(other_high[lane], static_cast<W>(others - of_others));
      }
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      here[lane] = std::max(here[lane], static_cast<W>(low[lane] + high[lane]));
      there[lane] = std::max(there[lane], static_cast<W>(other_low[lane] + other_high[lane]));
    }
  }
  return {*std::max_element(here, here + kLanes), *std::max_element(there, there + kLanes)};
}

// Those with cuts, the one with the best cut first.
void Counter::sort_columns(const Sorted& sorted) {
  columns_.clear();
  best_cut_.assign(g_.columns, 0);
  for (u32 c = 0; c < g_.columns; ++c) {
    if (sorted.first[c] == sorted.first[c + 1]) continue;
    columns_.push_back(c);
    best_cut_[c] = std::numeric_limits<i32>::max();
    for (u32 q = sorted.first[c]; q < sorted.first[c + 1]; ++q)
      best_cut_[c] = std::min(best_cut_[c], sorted.cuts[q].leaf_low + sorted.cuts[q].leaf_high);
  }
  std::stable_sort(columns_.begin(), columns_.end(), [&](u32 a, u32 b) { return best_cut_[a] < best_cut_[b]; });
}

template void Counter::fill(const Sorted&, std::size_t, Lanes<i16>&);
template void Counter::fill(const Sorted&, std::size_t, Lanes<i32>&);
template void Counter::add_row(u32, std::size_t, Lanes<i16>&);
template void Counter::add_row(u32, std::size_t, Lanes<i32>&);
template Counter::Pair Counter::best_right(std::size_t, const Lanes<i16>&) const;
template Counter::Pair Counter::best_right(std::size_t, const Lanes<i32>&) const;

}  // namespace proofwood::diagram::layers
