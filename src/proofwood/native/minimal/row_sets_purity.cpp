// Search over row sets: which tests part a set, and which leave pure sides.
//
// Theory: docs/theory/minimal-trees.md, "Search: dynamic programming over row sets". The problem is that of Avellaneda,
// AAAI 2020 (InferDT); the search is ours.
//
// Per kind of rows (rows that the same classes are right on) two bit sets over tests say all that is needed:
//
//   test          0 1 2 3
//   row a         1 1 0 1
//   row b         1 0 0 1
//   some high     1 1 0 1     a test parts a set if some row is high and not every row is: here test 1
//   every high    1 0 0 1     a side is pure if rows of at most one kind are on it
#include <algorithm>
#include <bit>

#include "minimal/row_sets.hpp"

namespace proofwood::minimal {

bool RowSetSearch::pure(const u64* set) const {
  for (int c = 0; c < rows_.n_classes; ++c) {
    const u64* allowed = &rows_.allowed[at(c) * words_];
    u64 wrong = 0;
    for (std::size_t w = 0; w < words_; ++w) wrong |= set[w] & ~allowed[w];
    if (wrong == 0) return true;
  }
  return false;
}

// Per kind of row in the set: tests that some row, and that every row, passes on the high side.
void RowSetSearch::summarize(const u64* set) {
  present_.clear();
  seen_.assign(at(rows_.n_kinds), false);
  each_row(set, [&](int row) {
    const int kind = rows_.kind[at(row)];
    u64 *some = &some_[at(kind) * test_words_], *every = &every_[at(kind) * test_words_];
    const u64* bits = rows_.bits(row);
    if (!seen_[at(kind)]) {
      seen_[at(kind)] = true;
      present_.push_back(kind);
      std::copy(bits, bits + test_words_, some);
      std::copy(bits, bits + test_words_, every);
      return;
    }
    for (std::size_t w = 0; w < test_words_; ++w) {
      some[w] |= bits[w];
      every[w] &= bits[w];
    }
  });
}

// Number of classes that must each have a leaf: those of rows that only one class is right on.
int RowSetSearch::classes_needed(const u64* set) {
  needed_.assign(at(rows_.n_classes), 0);
  for (int kind = 0; kind < rows_.n_kinds; ++kind) {
    const u8* allows = &rows_.kind_allows[at(kind) * at(rows_.n_classes)];
    if (!rows_.single && std::count(allows, allows + rows_.n_classes, 1) != 1) continue;
    const u64* of_kind = &rows_.of_kind[at(kind) * words_];
    bool present = false;
    for (std::size_t w = 0; w < words_ && !present; ++w) present = (set[w] & of_kind[w]) != 0;
    if (present) needed_[at(static_cast<int>(std::find(allows, allows + rows_.n_classes, 1) - allows))] = 1;
  }
  return static_cast<int>(std::count(needed_.begin(), needed_.end(), 1));
}

// The same of the part of a set that is in `side`, or with flip = ~0 of the part that is not.
bool RowSetSearch::two_leaves(const u64* set, const u64* side, u64 flip) {
  if (!rows_.single) {
    std::vector<u64> part(set, set + words_);
    for (std::size_t w = 0; w < words_; ++w) part[w] &= side[w] ^ flip;
    summarize(part.data());
    for (std::size_t w = 0; w < test_words_; ++w) {
      const Word tests = word(w);
      if ((tests.parts & tests.pure_low & tests.pure_high) != 0) return true;
    }
    return false;
  }
  int kinds[2] = {-1, -1};
  const u64* first[2] = {nullptr, nullptr};
  candidates_.assign(test_words_, ~u64{0});
  for (std::size_t v = 0; v < words_; ++v)
    for (u64 left = set[v] & (side[v] ^ flip); left != 0; left &= left - 1) {
      const int row = static_cast<int>(v * 64) + std::countr_zero(left), kind = rows_.kind[at(row)];
      const u64* bits = rows_.bits(row);
      u64 some = 0;
      if (kinds[0] < 0) {
        kinds[0] = kind;
        first[0] = bits;
        continue;
      }
      if (kind != kinds[0] && kinds[1] < 0) {
        kinds[1] = kind;
        first[1] = bits;
        for (std::size_t w = 0; w < test_words_; ++w) some |= candidates_[w] &= bits[w] ^ first[0][w];
      } else if (kind == kinds[0] || kind == kinds[1]) {
        const u64* same = first[kind == kinds[0] ? 0 : 1];
        for (std::size_t w = 0; w < test_words_; ++w) some |= candidates_[w] &= ~(bits[w] ^ same[w]);
      }
      if (some == 0) return false;  // of a third kind too
    }
  return true;
}

std::pair<int, int> RowSetSearch::tests_of_two_levels(const u64* set, bool three_matter) {
  std::pair<int, int> found(-1, -1);
  groups_.clear();
  each_row(set, [&](int row) { groups_.push_back(row); });
  const int n = static_cast<int>(groups_.size());
  for (int column = 0; column < columns_->count(); ++column) {
    board_.check_stop();
    columns_->sort(groups_, column, sorted_);
    const Columns::Reach reach = columns_->reach(column, sorted_);
    const auto cut = [&](int below) {
      return columns_->cut_between(column, sorted_[at(below - 1)], sorted_[at(below)]);
    };
    if (found.second < 0 && reach.low_two + reach.high_two >= n) found.second = cut(reach.low_two);
    if (found.second >= 0 && !three_matter) break;
    if (reach.low_pure > 0 && reach.low_pure + reach.high_two >= n)
      found.first = cut(reach.low_pure);
    else if (reach.high_pure > 0 && reach.low_two + reach.high_pure >= n)
      found.first = cut(n - reach.high_pure);
    if (found.first >= 0) break;
  }
  return found;
}

// The first test that parts a set into two pure sides.
int RowSetSearch::one_test(const u64* set) {
  summarize(set);
  for (std::size_t w = 0; w < test_words_; ++w) {
    const Word tests = word(w);
    const u64 both = tests.parts & tests.pure_low & tests.pure_high;
    if (both != 0) return static_cast<int>(w * 64) + std::countr_zero(both);
  }
  return -1;
}

}  // namespace proofwood::minimal
