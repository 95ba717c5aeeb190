// Search over row sets: the splits of a set, those with equal sides once, in the order in which to try them.
//
// Theory: docs/theory/minimal-trees.md, "Search: dynamic programming over row sets". The problem is that of Avellaneda,
// AAAI 2020 (InferDT); the search is ours.
#include <algorithm>
#include <bit>
#include <numeric>

#include "common/mix.hpp"
#include "minimal/row_sets.hpp"

namespace proofwood::minimal {

Frame& RowSetSearch::frame(std::size_t level) {
  while (frames_.size() <= level) {
    auto fresh = std::make_unique<Frame>();
    fresh->low.resize(words_);
    fresh->high.resize(words_);
    fresh->parts.resize(test_words_);
    fresh->pure_low.resize(test_words_);
    fresh->pure_high.resize(test_words_);
    frames_.push_back(std::move(fresh));
  }
  return *frames_[level];
}

// Fills frame.splits with the splits of a set, those with equal sides once, in the order in which to try them: the
// purest column first, and test by test the purest cut of it first, then the middles of what it leaves on either side.
void RowSetSearch::list_splits(const u64* set, Frame& f) {
  f.splits.clear();
  f.order.clear();
  first_word_ = 0;
  while (set[first_word_] == 0) ++first_word_;
  first_row_ = set[first_word_] & (~set[first_word_] + 1);
  if (columns_ != nullptr)
    list_cuts(set, f);
  else
    list_tests(set, f);
  order_splits(f);
}

// Test by test: for tables of few tests a column.
void RowSetSearch::list_tests(const u64* set, Frame& f) {
  clear_seen(at(rows_.n_tests));
  summarize_into(set, f);
  std::vector<int>& total = kind_sizes_;
  total.clear();
  int size = 0;
  for (const int kind : present_) {
    int count = 0;
    for (std::size_t w = 0; w < words_; ++w) count += std::popcount(set[w] & rows_.of_kind[at(kind) * words_ + w]);
    total.push_back(count);
    size += count;
  }
  int last_high = -1;
  for (std::size_t w = 0; w < test_words_; ++w) {
    board_.check_stop();
    for (u64 left = f.parts[w]; left != 0; left &= left - 1) {
      const int t = static_cast<int>(w * 64) + std::countr_zero(left);
      const u64* bits = rows_.high(t);
      double squares_low = 0, squares_high = 0;
      int high = 0;
      for (std::size_t k = 0; k < present_.size(); ++k) {
        int count = 0;
        const u64* of_kind = &rows_.of_kind[at(present_[k]) * words_];
        for (std::size_t v = 0; v < words_; ++v) count += std::popcount(set[v] & bits[v] & of_kind[v]);
        high += count;
        squares_high += static_cast<double>(count) * count;
        squares_low += static_cast<double>(total[k] - count) * (total[k] - count);
      }
      if (rules_.same_split) {
        const bool same_column = !f.splits.empty() && rows_.column[at(t)] == rows_.column[at(f.splits.back().test)];
        if (same_column && high == last_high) continue;  // low sides grow along a column
        const u64 flip = (bits[first_word_] & first_row_) != 0 ? ~u64{0} : 0;
        u64 hash = 0;
        for (std::size_t v = 0; v < words_; ++v) {
          hash = (hash ^ (set[v] & (bits[v] ^ flip))) * 0xD6E8FEB86659FD93u;
          hash ^= hash >> 32;
        }
        if (seen_before(set, t, hash)) continue;
      }
      const double score = squares_high / high + squares_low / (size - high);
      add_split(f, t, score, bit(f.pure_low, t), bit(f.pure_high, t));
      last_high = high;
    }
  }
  for (Split& split : f.splits) {
    if (board_.settings.dual.empty()) break;
    const u64* const high = rows_.high(split.test);
    i64 above = 0, below = 0;
    for (std::size_t w = 0; w < words_; ++w) {
      above += dual_of(set[w] & high[w], w);
      below += dual_of(set[w] & ~high[w], w);
    }
    bound_sides(split, below, above);
  }
}

// Column by column, in the order of its ranks: what is counted grows along it.
void RowSetSearch::list_cuts(const u64* set, Frame& f) {
  const std::vector<i64>& dual = board_.settings.dual;
  if (names_.empty())
    for (int r = 0; r < rows_.n; ++r) names_.push_back(mix(static_cast<u64>(r)));
  kind_sizes_.assign(at(rows_.n_kinds), 0);
  groups_.clear();
  kinds_ = 0;
  name_ = 0;
  dual_ = 0;
  each_row(set, [&](int row) {
    groups_.push_back(row);
    kinds_ += kind_sizes_[at(rows_.kind[at(row)])]++ == 0;
    name_ ^= names_[at(row)];
    if (!dual.empty()) dual_ += dual[at(row)];
  });
  clear_seen(std::min(at(rows_.n_tests), groups_.size() * at(columns_->count())));
  for (int column = 0; column < columns_->count(); ++column) {
    board_.check_stop();
    columns_->sort(groups_, column, sorted_);
    list_column(set, f, column);
  }
}

void RowSetSearch::list_column(const u64* set, Frame& f, int column) {
  const std::vector<i64>& dual = board_.settings.dual;
  const std::vector<int>& total = kind_sizes_;
  std::vector<int>& low = kinds_low_;
  low.assign(at(rows_.n_kinds), 0);
  const std::size_t first = f.splits.size();
  const int size = static_cast<int>(sorted_.size()), first_row = groups_.front();
  int kinds_low = 0, kinds_gone = 0;  // gone: all of the kind are below
  u64 name = 0;
  i64 dual_low = 0;
  bool first_below = false;
  ends_.clear();
  for (int below = 1; below < size; ++below) {
    const int row = sorted_[at(below - 1)];
    const auto kind = at(rows_.kind[at(row)]);
    kinds_low += low[kind] == 0;
    kinds_gone += ++low[kind] == total[kind];
    name ^= names_[at(row)];
    first_below = first_below || row == first_row;
    if (!dual.empty()) dual_low += dual[at(row)];
    if (columns_->same(column, row, sorted_[at(below)])) continue;
    const int t = columns_->cut_between(column, row, sorted_[at(below)]);
    if (t < 0 || seen_before(set, t, first_below ? name_ ^ name : name)) continue;
    double squares_low = 0, squares_high = 0;
    for (std::size_t k = 0; k < low.size(); ++k) {
      squares_low += static_cast<double>(low[k]) * low[k];
      squares_high += static_cast<double>(total[k] - low[k]) * (total[k] - low[k]);
    }
    const double score = squares_high / (size - below) + squares_low / below;
    add_split(f, t, score, kinds_low == 1, kinds_ - kinds_gone == 1);
    if (!dual.empty()) bound_sides(f.splits.back(), dual_low, dual_ - dual_low);
    ends_.push_back(below);
  }
  if (f.splits.size() > first) bound_column(f, column, first);
}

// Bounds of the sides of a column's splits, from walks from either end of it.
void RowSetSearch::bound_column(Frame& f, int column, std::size_t first) {
  if (columns_->tells_two()) {
    const Columns::Reach reach = columns_->reach(column, sorted_);
    const int size = static_cast<int>(sorted_.size());
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      Split& split = f.splits[first + i];
      if (ends_[i] <= reach.low_two)
        split.low_known = true;
      else
        split.low_bound = std::max(split.low_bound, 3);
      if (size - ends_[i] <= reach.high_two)
        split.high_known = true;
      else
        split.high_bound = std::max(split.high_bound, 3);
    }
  }
  if (apart_.empty()) return;
  bound_by_cliques<false>(f, first);
  bound_by_cliques<true>(f, first);
}

template <bool high>
void RowSetSearch::bound_by_cliques(Frame& f, std::size_t first) {
  std::vector<u64>& chosen = left_;
  chosen.assign(words_, 0);
  int clique = 0;
  std::size_t place = 0;
  for (std::size_t k = 0; k < ends_.size(); ++k) {
    const std::size_t i = high ? ends_.size() - 1 - k : k;
    Split& split = f.splits[first + i];
    for (const std::size_t end = high ? sorted_.size() - at(ends_[i]) : at(ends_[i]); place < end; ++place) {
      const int row = high ? sorted_[sorted_.size() - 1 - place] : sorted_[place];
      const u64* apart = &apart_[at(row) * words_];
      u64 together = 0;
      for (std::size_t w = 0; w < words_; ++w) together |= chosen[w] & ~apart[w];
      if (together != 0) continue;
      chosen[at(row) >> 6] |= u64{1} << (row & 63);
      ++clique;
    }
    int& bound = high ? split.high_bound : split.low_bound;
    if (!(high ? split.high_known : split.low_known)) bound = std::max(bound, clique);
  }
}

void RowSetSearch::add_split(Frame& f, int test, double score, bool low_pure, bool high_pure) const {
  const int me = static_cast<int>(f.splits.size());
  const bool chained = rules_.monotone && me > 0 && rows_.column[at(f.splits.back().test)] == rows_.column[at(test)];
  if (chained) f.splits.back().right = me;
  f.splits.push_back({test, chained ? me - 1 : -1, -1, score, low_pure ? 1 : 2, high_pure ? 1 : 2, low_pure, high_pure,
                      nullptr, nullptr});
}

void RowSetSearch::bound_sides(Split& split, i64 dual_low, i64 dual_high) {
  if (!split.low_known) split.low_bound = std::max(split.low_bound, leaves_of(dual_low));
  if (!split.high_known) split.high_bound = std::max(split.high_bound, leaves_of(dual_high));
}

// A table of the splits listed so far, by the hash of their sides without the first row; -1: a free place.
void RowSetSearch::clear_seen(std::size_t most_splits) {
  seen_mask_ = std::bit_ceil(2 * most_splits + 2) - 1;
  if (seen_splits_.size() <= seen_mask_) seen_splits_.resize(seen_mask_ + 1);
  std::fill_n(seen_splits_.begin(), seen_mask_ + 1, std::pair<u64, int>(0, -1));
}

// Whether a split has the sides of one of another column, or these exchanged: compared without the first row.
bool RowSetSearch::seen_before(const u64* set, int t, u64 hash) {
  const u64* bits = rows_.high(t);
  const u64 flip = (bits[first_word_] & first_row_) != 0 ? ~u64{0} : 0;
  std::size_t place = hash & seen_mask_;
  for (; seen_splits_[place].second >= 0; place = (place + 1) & seen_mask_) {
    if (seen_splits_[place].first != hash) continue;
    const u64* other = rows_.high(seen_splits_[place].second);
    const u64 other_flip = (other[first_word_] & first_row_) != 0 ? ~u64{0} : 0;
    u64 differ = 0;
    for (std::size_t w = 0; w < words_; ++w) differ |= set[w] & (bits[w] ^ flip ^ other[w] ^ other_flip);
    if (differ == 0) return true;
  }
  seen_splits_[place] = {hash, t};
  return false;
}

void RowSetSearch::order_splits(Frame& f) {
  const int n = static_cast<int>(f.splits.size());
  f.columns.clear();
  for (int i = 0; i < n;) {
    int best = i, last = i;
    while (f.splits[at(last)].right >= 0) {
      last = f.splits[at(last)].right;
      if (f.splits[at(last)].score > f.splits[at(best)].score) best = last;
    }
    f.columns.push_back({f.splits[at(best)].score, i, best, last});
    i = last + 1;
  }
  std::stable_sort(f.columns.begin(), f.columns.end(),
                   [](const ColumnSpan& a, const ColumnSpan& b) { return a.score > b.score; });
  if (columns_ != nullptr && rules_.monotone) return;  // goes by column
  for (const ColumnSpan& span : f.columns) {
    f.order.push_back(span.best);
    halve(f.order, span.first, span.best - 1);
    halve(f.order, span.best + 1, span.last);
  }
}

void RowSetSearch::halve(std::vector<int>& order, int first, int last) {
  if (first > last) return;
  const int middle = first + (last - first) / 2;
  order.push_back(middle);
  halve(order, first, middle - 1);
  halve(order, middle + 1, last);
}

}  // namespace proofwood::minimal
