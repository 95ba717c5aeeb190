// Search over row sets: the splits of a set, those with equal sides once, in the order in which to try them.
//
// Theory: docs/theory/minimal-trees.md, "Search: dynamic programming over row sets". The problem is that of Avellaneda,
// AAAI 2020 (InferDT); the search is ours.
#include <algorithm>
#include <bit>

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

// Fills frame.splits with the splits of a set, those with equal sides once, in the order in which to try them: the
// purest column first, within a column the purest cut first and then the middles of what it leaves on either side.
void RowSetSearch::list_splits(const u64* set, Frame& f) {
  summarize(set);
  f.splits.clear();
  f.order.clear();
  for (std::size_t w = 0; w < test_words_; ++w) {
    const Word tests = word(w);
    f.parts[w] = tests.parts;
    f.pure_low[w] = tests.pure_low;
    f.pure_high[w] = tests.pure_high;
  }
  clear_seen();
  const std::vector<int> kinds(present_);
  std::vector<int>& total = kind_sizes_;
  total.clear();
  int size = 0;
  for (const int kind : kinds) {
    int count = 0;
    for (std::size_t w = 0; w < words_; ++w) count += std::popcount(set[w] & rows_.of_kind[at(kind) * words_ + w]);
    total.push_back(count);
    size += count;
  }
  u64 first_row = 0;
  std::size_t first_word = 0;
  while (set[first_word] == 0) ++first_word;
  first_row = set[first_word] & (~set[first_word] + 1);
  int column = -1, last_high = -1;
  for (std::size_t w = 0; w < test_words_; ++w) {
    board_.check_stop();
    for (u64 left = f.parts[w]; left != 0; left &= left - 1) {
      const int t = static_cast<int>(w * 64) + std::countr_zero(left);
      const u64* bits = rows_.high(t);
      double squares_low = 0, squares_high = 0;
      int high = 0;
      for (std::size_t k = 0; k < kinds.size(); ++k) {
        int count = 0;
        const u64* of_kind = &rows_.of_kind[at(kinds[k]) * words_];
        for (std::size_t v = 0; v < words_; ++v) count += std::popcount(set[v] & bits[v] & of_kind[v]);
        high += count;
        squares_high += static_cast<double>(count) * count;
        squares_low += static_cast<double>(total[k] - count) * (total[k] - count);
      }
      const bool same_column = rows_.column[at(t)] == column;
      if (rules_.same_split) {
        if (same_column && high == last_high) continue;  // low sides grow along a column
        // equal or complementary to a split of another column: compare the sides without the first row
        const u64 flip = (bits[first_word] & first_row) != 0 ? ~u64{0} : 0;
        u64 hash = 0;
        for (std::size_t v = 0; v < words_; ++v) {
          hash = (hash ^ (set[v] & (bits[v] ^ flip))) * 0xD6E8FEB86659FD93u;
          hash ^= hash >> 32;
        }
        if (seen_before(set, t, flip, hash, first_word, first_row)) continue;
      }
      const int me = static_cast<int>(f.splits.size());
      const bool chained = rules_.monotone && same_column;
      const bool low_pure = bit(f.pure_low, t), high_pure = bit(f.pure_high, t);
      const double score = squares_high / high + squares_low / (size - high);
      f.splits.push_back({t, chained ? me - 1 : -1, -1, score, low_pure ? 1 : 2, high_pure ? 1 : 2, low_pure, high_pure,
                          nullptr, nullptr});
      if (chained) f.splits[at(me - 1)].right = me;
      column = rows_.column[at(t)];
      last_high = high;
    }
  }
  order_splits(f);
}

// A table of the splits listed so far, by the hash of their sides without the first row; -1: a free place.
void RowSetSearch::clear_seen() {
  if (seen_splits_.empty()) seen_splits_.resize(std::bit_ceil(2 * at(rows_.n_tests) + 2));
  std::fill(seen_splits_.begin(), seen_splits_.end(), std::pair<u64, int>(0, -1));
}

bool RowSetSearch::seen_before(const u64* set, int t, u64 flip, u64 hash, std::size_t first_word, u64 first_row) {
  const u64* bits = rows_.high(t);
  const std::size_t mask = seen_splits_.size() - 1;
  std::size_t place = hash & mask;
  for (; seen_splits_[place].second >= 0; place = (place + 1) & mask) {
    if (seen_splits_[place].first != hash) continue;
    const u64* other = rows_.high(seen_splits_[place].second);
    const u64 other_flip = (other[first_word] & first_row) != 0 ? ~u64{0} : 0;
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
