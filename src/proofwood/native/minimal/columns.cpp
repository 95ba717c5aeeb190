// Sets of groups seen along the columns.
#include "minimal/columns.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

namespace proofwood::minimal {

// Counting tests one by one takes longer than a walk over the groups of each column.
bool Columns::fit(const Rows& rows) {
  const std::size_t n = at(rows.n), words = at(rows.words), columns = rows.tests_of.size();
  return rows.single && rows.n < 1 << 15 && at(rows.n_tests) * words * at(rows.n_kinds) > n * columns;
}

Columns::Columns(const Rows& rows)
    : rows_(rows), n_(at(rows.n)), by_column_(rows.tests_of.size()), marked_(at(rows.words)) {
  const std::size_t columns = by_column_.size();
  place_.resize(columns * n_);
  rank_.resize(columns * n_);
  next_test_.assign(columns * n_, -1);
  last_low_.resize(at(rows.n_tests));
  for (std::size_t j = 0; j < columns; ++j) {
    std::vector<int>& order = by_column_[j];
    order.resize(n_);
    std::iota(order.begin(), order.end(), 0);
    const auto given = [&](int r) { return rows.ranks[at(r) * columns + j]; };
    std::sort(order.begin(), order.end(),
              [&](int a, int b) { return std::pair(given(a), a) < std::pair(given(b), b); });
    u16 rank = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      rank = static_cast<u16>(rank + (i > 0 && given(order[i]) != given(order[i - 1])));
      place_[j * n_ + at(order[i])] = static_cast<u16>(i);
      rank_[j * n_ + at(order[i])] = rank;
    }
  }
  for (int t = 0; t < rows.n_tests; ++t) {
    const std::size_t from = at(rows.column[at(t)]) * n_;
    const u64* high = rows.high(t);
    int last = 0;
    for (std::size_t r = 0; r < n_; ++r)
      if ((high[r >> 6] >> (r & 63) & 1) == 0) last = std::max<int>(last, rank_[from + r]);
    last_low_[at(t)] = last;
    for (int rank = last; rank >= 0 && next_test_[from + at(rank)] < 0; --rank) next_test_[from + at(rank)] = t;
  }
  if (columns > kMostColumns) return;
  blocks_ = (columns + kLanes - 1) / kLanes;
  lane_.assign(n_ * blocks_ * kLanes, 0);
  for (std::size_t j = 0; j < columns; ++j)
    for (std::size_t r = 0; r < n_; ++r) lane_[r * blocks_ * kLanes + j] = static_cast<i16>(rank_[j * n_ + r]);
}

void Columns::sort(const std::vector<int>& groups, int column, std::vector<int>& sorted) {
  const u16* place = &place_[at(column) * n_];
  const std::vector<int>& order = by_column_[at(column)];
  std::fill(marked_.begin(), marked_.end(), 0);
  for (const int group : groups) marked_[place[group] >> 6] |= u64{1} << (place[group] & 63);
  sorted.clear();
  for (std::size_t w = 0; w < marked_.size(); ++w)
    for (u64 left = marked_[w]; left != 0; left &= left - 1)
      sorted.push_back(order[w * 64 + static_cast<std::size_t>(std::countr_zero(left))]);
}

bool Columns::add(int group) {
  const int kind = rows_.kind[at(group)];
  const int k = kinds_[0] == kind || kinds_[0] < 0 ? 0 : 1;
  Box& box = boxes_[k];
  const bool fresh = kinds_[k] < 0;
  if (fresh) kinds_[k] = kind;
  if (kinds_[k] != kind) return false;
  for (std::size_t b = 0; b < blocks_; ++b) {
    Ranks ranks;
    std::memcpy(&ranks, &lane_[(at(group) * blocks_ + b) * kLanes], sizeof ranks);
    box.least[b] = fresh ? ranks : box.least[b] > ranks ? ranks : box.least[b];
    box.greatest[b] = fresh ? ranks : box.greatest[b] < ranks ? ranks : box.greatest[b];
  }
  return true;
}

bool Columns::parted() const {
  if (is_pure()) return true;
  const auto& [one, other] = boxes_;
  for (std::size_t b = 0; b < blocks_; ++b) {
    const auto apart = (one.greatest[b] < other.least[b]) | (other.greatest[b] < one.least[b]);
    u64 words[2];
    static_assert(sizeof words == sizeof apart);
    std::memcpy(words, &apart, sizeof words);
    if ((words[0] | words[1]) != 0) return true;
  }
  return false;
}

bool Columns::one_test_enough(const std::vector<int>& groups) {
  clear();
  for (const int group : groups)
    if (!add(group)) return false;
  return parted();
}

Columns::Reach Columns::reach(int column, const std::vector<int>& sorted) {
  Reach found;
  const int n = static_cast<int>(sorted.size());
  clear();
  for (int i = 0; i < n && add(sorted[at(i)]); ++i) {
    if (i + 1 < n && same(column, sorted[at(i)], sorted[at(i + 1)])) continue;
    if (!parted()) break;
    found.low_two = i + 1;
    if (is_pure()) found.low_pure = i + 1;
  }
  clear();
  for (int i = n - 1; i >= 0 && add(sorted[at(i)]); --i) {
    if (i > 0 && same(column, sorted[at(i)], sorted[at(i - 1)])) continue;
    if (!parted()) break;
    found.high_two = n - i;
    if (is_pure()) found.high_pure = n - i;
  }
  return found;
}

}  // namespace proofwood::minimal
