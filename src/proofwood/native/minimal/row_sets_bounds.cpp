// Search over row sets: lower bounds on the leaves of a set by rows that cannot share one.
//
// Theory: docs/theory/minimal-trees.md, "Search: dynamic programming over row sets". The problem is that of Avellaneda,
// AAAI 2020 (InferDT); the search is ours.
#include <algorithm>
#include <bit>

#include "minimal/pure_boxes.hpp"
#include "minimal/row_sets.hpp"

namespace proofwood::minimal {

// Opposite rows have no class in common. For every row its opposites, the nearest first, distance being the number of
// tests that part the two: those raise both bounds below most.
void RowSetSearch::list_opposites() {
  if (listed_ == rows_.n) return;
  const std::size_t n = at(rows_.n),
                    longest = std::max<std::size_t>(kNear, std::min<std::size_t>(n, (std::size_t{1} << 22) / n));
  // of many rows a part is enough for a bound, and of many tests a smaller part
  const std::size_t most = std::max<std::size_t>(256, kMostWork / (n * test_words_));
  const int step = 1 + std::max(rows_.n / 4096, static_cast<int>((n - 1) / most));
  opposites_.resize(n);
  std::vector<std::pair<int, int>> found;
  for (int& p = listed_; p < rows_.n; ++p) {
    board_.check_stop();
    found.clear();
    for (int q = p % step; q < rows_.n; q += step) {
      if (have_common_class(p, q)) continue;
      int distance = 0;
      for (std::size_t w = 0; w < test_words_; ++w) distance += std::popcount(rows_.bits(p)[w] ^ rows_.bits(q)[w]);
      found.emplace_back(distance, q);
    }
    const std::size_t kept = std::min(found.size(), longest);
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end());
    for (std::size_t i = 0; i < kept; ++i) opposites_[at(p)].push_back({found[i].first, found[i].second});
  }
}

bool RowSetSearch::have_common_class(int p, int q) const {
  const int one = rows_.kind[at(p)], other = rows_.kind[at(q)];
  if (rows_.single) return one == other;
  bool common = false;
  for (int c = 0; c < rows_.n_classes; ++c)
    common = common || (rows_.kind_allows[at(one) * at(rows_.n_classes) + at(c)] &
                        rows_.kind_allows[at(other) * at(rows_.n_classes) + at(c)]) != 0;
  return common;
}

// Up to kNear nearest opposites of every row within the set.
void RowSetSearch::find_near(const u64* set) {
  members_.clear();
  near_.clear();
  each_row(set, [&](int row) {
    board_.check_stop();
    members_.push_back(row);
    std::size_t kept = 0;
    for (const Opposite& other : opposites_[at(row)]) {
      if ((set[at(other.row) >> 6] >> (other.row & 63) & 1) == 0) continue;
      near_.push_back(other);
      if (++kept == kNear) break;
    }
    for (; kept < kNear; ++kept) near_.push_back({0, -1});
  });
}

// Rows p and q cannot share a leaf if they are opposite, or if an opposite r of one agrees with both wherever they
// agree with each other: the tests on the path to a common leaf are among those on which p and q agree, so r is in it
// too. Rows that pairwise cannot share a leaf each need one of their own. (Only the nearest opposites are looked at.)
int RowSetSearch::clique() {
  const auto between = [&](std::size_t of, int p, int q) {
    const u64 *a = rows_.bits(p), *b = rows_.bits(q);
    for (std::size_t i = of * kNear; i < (of + 1) * kNear && near_[i].row >= 0; ++i) {
      const u64* c = rows_.bits(near_[i].row);
      u64 outside = 0;
      for (std::size_t w = 0; w < test_words_ && outside == 0; ++w) outside = (a[w] ^ c[w]) & ~(a[w] ^ b[w]);
      if (outside == 0) return true;
    }
    return false;
  };
  chosen_.clear();
  std::size_t work = 0;
  for (std::size_t i = 0; i < members_.size() && work < kMostWork; ++i) {  // fewer rows are a clique too
    board_.check_stop();
    work += (chosen_.size() + 1) * test_words_;
    const int p = members_[i];
    const bool fits = std::all_of(chosen_.begin(), chosen_.end(), [&](std::size_t k) {
      const int q = members_[k];
      return !have_common_class(p, q) || between(i, p, q) || between(k, q, p);
    });
    if (fits) chosen_.push_back(i);
  }
  return static_cast<int>(chosen_.size());
}

bool RowSetSearch::can_list_apart() const {
  constexpr std::size_t kMostGroups = 4096, kMostWords = std::size_t{1} << 25;
  return columns_ != nullptr && at(rows_.n) <= kMostGroups &&
         at(rows_.n) * words_ * rows_.tests_of.size() <= kMostWords;
}

// Of each group those that no leaf of a right tree holds with it: a set that a path leaves is a box, and has all groups
// of the box around any two of its own.
void RowSetSearch::list_apart() {
  if (apart_listed_) return;
  const std::size_t n = at(rows_.n);
  PureBoxes boxes(rows_.ranks.data(), rows_.cost.data(), rows_.n, static_cast<int>(rows_.tests_of.size()),
                  rows_.n_classes);
  std::vector<u64> apart(n * words_, ~u64{0});
  const auto stopped = [&] {
    board_.check_stop();
    return false;
  };
  boxes.each_shared(stopped, [&](int anchor, const std::vector<u64>& shared) {
    for (std::size_t w = 0; w < words_; ++w) apart[at(anchor) * words_ + w] &= ~shared[w];
  });
  apart_ = std::move(apart);
  apart_listed_ = true;
}

// One row after the other, of those that are apart from all before.
int RowSetSearch::clique_apart(const u64* set) {
  left_.assign(set, set + words_);
  int size = 0;
  for (std::size_t w = 0; w < words_; ++w)
    while (left_[w] != 0) {
      const std::size_t row = w * 64 + static_cast<std::size_t>(std::countr_zero(left_[w]));
      left_[w] &= left_[w] - 1;
      ++size;
      for (std::size_t v = w; v < words_; ++v) left_[v] &= apart_[row * words_ + v];
    }
  return size;
}

// Opposite rows are parted by a test on which they differ. Pairs whose differences have no test in common need a split
// each, so there are at least as many inner nodes, and one leaf more.
int RowSetSearch::packing() {
  constexpr std::size_t kPairs = 3;  // per row
  places_.assign(at(rows_.n_tests) + 2, 0);
  const auto each_pair = [&](const auto& f) {
    for (std::size_t i = 0; i < members_.size(); ++i)
      for (std::size_t k = i * kNear; k < i * kNear + kPairs && near_[k].row >= 0; ++k)
        f(near_[k].distance, members_[i], near_[k].row);
  };
  each_pair([&](int distance, int, int) { ++places_[at(distance) + 1]; });
  for (std::size_t i = 1; i < places_.size(); ++i) places_[i] += places_[i - 1];
  pairs_.resize(places_.back());
  each_pair([&](int distance, int p, int q) { pairs_[places_[at(distance)]++] = {p, q}; });
  used_tests_.assign(test_words_, 0);
  int packed = 0;
  for (const auto& [p, q] : pairs_) {
    board_.check_stop();
    const u64 *a = rows_.bits(p), *b = rows_.bits(q);
    u64 common = 0;
    for (std::size_t w = 0; w < test_words_ && common == 0; ++w) common = (a[w] ^ b[w]) & used_tests_[w];
    if (common != 0) continue;
    ++packed;
    for (std::size_t w = 0; w < test_words_; ++w) used_tests_[w] |= a[w] ^ b[w];
  }
  return packed + 1;
}

int RowSetSearch::dual_bound(const u64* set) const {
  i64 sum = 0;
  for (std::size_t w = 0; w < words_; ++w) sum += dual_of(set[w], w);
  return leaves_of(sum);
}

// The bounds that cost more than parting the set once; where fewer than one in 24 prunes, most are left out.
void RowSetSearch::bound(Subproblem* e) {
  if (e->bounded) return;
  e->bounded = true;
  if (rules_.clique_bound && can_list_apart()) {
    if (e->two) return;
    list_apart();
    e->leaves_lower = std::max(e->leaves_lower, clique_apart(cache_.words(e)));
    e->depth_lower = std::max(e->depth_lower, log2_up(e->leaves_lower));
    return;
  }
  if (bounds_tried_ >= 512 && 24 * bounds_pruned_ < bounds_tried_ && ++bounds_skipped_ % 16 != 0) return;
  ++bounds_tried_;
  if (e->two || !(rules_.clique_bound || rules_.packing_bound)) return;
  list_opposites();
  find_near(cache_.words(e));
  int lower = e->leaves_lower;
  if (rules_.clique_bound) lower = std::max(lower, clique());
  if (rules_.packing_bound) lower = std::max(lower, packing());
  e->leaves_lower = lower;
  e->depth_lower = std::max(e->depth_lower, log2_up(lower));  // (D)
}

}  // namespace proofwood::minimal
