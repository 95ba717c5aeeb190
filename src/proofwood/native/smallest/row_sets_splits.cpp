// Search over row sets: the splits of a set, those with equal sides once, in the order in which to try them.
//
// Theory: docs/theory/minimal-trees.md, "Search: dynamic programming over row sets". The problem is that of Avellaneda,
// AAAI 2020 (InferDT); the search is ours.
#include <algorithm>
#include <bit>
#include <numeric>

#include "common/mix.hpp"
#include "smallest/row_sets.hpp"

namespace proofwood::smallest {

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

// With many cuts a column, and one class right on each group, a walk over the groups of each column is cheaper than a
// count for each test.
void RowSetSearch::sort_columns() {
  const std::size_t columns = rows_.tests_of.size();
  many_cuts_ = rows_.single && at(rows_.n_tests) * words_ * at(rows_.n_kinds) > at(rows_.n) * columns;
  if (!many_cuts_) return;
  for (int r = 0; r < rows_.n; ++r) names_.push_back(mix(static_cast<u64>(r)));
  by_column_.assign(columns, std::vector<int>(at(rows_.n)));
  for (std::size_t j = 0; j < columns; ++j) {
    std::iota(by_column_[j].begin(), by_column_[j].end(), 0);
    std::sort(by_column_[j].begin(), by_column_[j].end(), [&](int a, int b) {
      return std::pair(rows_.ranks[at(a) * columns + j], a) < std::pair(rows_.ranks[at(b) * columns + j], b);
    });
  }
}

// Fills frame.splits with the splits of a set, those with equal sides once, in the order in which to try them: the
// purest column first, within a column the purest cut first and then the middles of what it leaves on either side.
void RowSetSearch::list_splits(const u64* set, Frame& f) {
  f.splits.clear();
  f.order.clear();
  clear_seen();
  first_word_ = 0;
  while (set[first_word_] == 0) ++first_word_;
  first_row_ = set[first_word_] & (~set[first_word_] + 1);
  if (many_cuts_)
    list_cuts(set, f);
  else
    list_tests(set, f);
  order_splits(f);
}

// Test by test: for tables of few tests a column.
void RowSetSearch::list_tests(const u64* set, Frame& f) {
  summarize(set);
  for (std::size_t w = 0; w < test_words_; ++w) {
    const Word tests = word(w);
    f.parts[w] = tests.parts;
    f.pure_low[w] = tests.pure_low;
    f.pure_high[w] = tests.pure_high;
  }
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
  std::vector<int>&total = kind_sizes_, &low = kinds_low_;
  total.assign(at(rows_.n_kinds), 0);
  int size = 0, kinds = 0;
  u64 all_name = 0;
  i64 all_dual = 0;
  each_row(set, [&](int row) {
    ++size;
    kinds += total[at(rows_.kind[at(row)])]++ == 0;
    all_name ^= names_[at(row)];
    if (!dual.empty()) all_dual += dual[at(row)];
  });
  for (std::size_t from = 0; from < at(rows_.n_tests);) {
    board_.check_stop();
    const int column = rows_.column[from];
    const std::vector<int>& order = by_column_[at(column)];
    low.assign(at(rows_.n_kinds), 0);
    std::size_t place = 0;
    int below = 0, last = 0, kinds_low = 0, kinds_gone = 0;  // gone: all of the kind are below
    u64 name = 0;
    i64 dual_low = 0;
    bool first_below = false;
    const int first_row = static_cast<int>(first_word_ * 64) + std::countr_zero(first_row_);
    std::size_t t = from;
    for (; t < at(rows_.n_tests) && rows_.column[t] == column; ++t) {
      const u64* const high = rows_.high(static_cast<int>(t));
      for (; place < order.size(); ++place) {
        const int row = order[place];
        if ((high[at(row) >> 6] >> (row & 63) & 1) != 0) break;
        if ((set[at(row) >> 6] >> (row & 63) & 1) == 0) continue;
        const auto kind = at(rows_.kind[at(row)]);
        kinds_low += low[kind] == 0;
        kinds_gone += ++low[kind] == total[kind];
        ++below;
        name ^= names_[at(row)];
        first_below = first_below || row == first_row;
        if (!dual.empty()) dual_low += dual[at(row)];
      }
      if (below == last && rules_.same_split) continue;
      if (below == 0) continue;
      if (below == size) break;
      if (rules_.same_split && seen_before(set, static_cast<int>(t), first_below ? all_name ^ name : name)) {
        last = below;
        continue;
      }
      last = below;
      double squares_low = 0, squares_high = 0;
      for (std::size_t k = 0; k < low.size(); ++k) {
        squares_low += static_cast<double>(low[k]) * low[k];
        squares_high += static_cast<double>(total[k] - low[k]) * (total[k] - low[k]);
      }
      const double score = squares_high / (size - below) + squares_low / below;
      add_split(f, static_cast<int>(t), score, kinds_low == 1, kinds - kinds_gone == 1);
      if (!dual.empty()) bound_sides(f.splits.back(), dual_low, all_dual - dual_low);
    }
    while (t < at(rows_.n_tests) && rows_.column[t] == column) ++t;
    from = t;
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
  if (!split.low_pure) split.low_bound = std::max(split.low_bound, leaves_of(dual_low));
  if (!split.high_pure) split.high_bound = std::max(split.high_bound, leaves_of(dual_high));
}

// A table of the splits listed so far, by the hash of their sides without the first row; -1: a free place.
void RowSetSearch::clear_seen() {
  if (seen_splits_.empty()) seen_splits_.resize(std::bit_ceil(2 * at(rows_.n_tests) + 2));
  std::fill(seen_splits_.begin(), seen_splits_.end(), std::pair<u64, int>(0, -1));
}

// Whether a split has the sides of one of another column, or these exchanged: compared without the first row.
bool RowSetSearch::seen_before(const u64* set, int t, u64 hash) {
  const u64* bits = rows_.high(t);
  const u64 flip = (bits[first_word_] & first_row_) != 0 ? ~u64{0} : 0;
  const std::size_t mask = seen_splits_.size() - 1;
  std::size_t place = hash & mask;
  for (; seen_splits_[place].second >= 0; place = (place + 1) & mask) {
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
  column_spans_.clear();
  for (int i = 0; i < n;) {
    int best = i, last = i;
    while (f.splits[at(last)].right >= 0) {
      last = f.splits[at(last)].right;
      if (f.splits[at(last)].score > f.splits[at(best)].score) best = last;
    }
    column_spans_.push_back({f.splits[at(best)].score, i, best, last});
    i = last + 1;
  }
  std::stable_sort(column_spans_.begin(), column_spans_.end(),
                   [](const ColumnSpan& a, const ColumnSpan& b) { return a.score > b.score; });
  for (const ColumnSpan& span : column_spans_) {
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

}  // namespace proofwood::smallest
