// Dynamic programming over sets of groups of rows, with every permitted cost at 0: the state of the search.
//
// Theory: docs/theory/minimal-trees.md, "Search: dynamic programming over row sets". The problem is that of Avellaneda,
// AAAI 2020 (InferDT); the search is ours.
//
// f_d(S) is the fewest leaves of a tree of depth <= d that is right on S, and a subproblem is S alone: two paths that
// leave the same groups share it. Facts used throughout, each by restricting or joining trees:
//   (M) f_d(S) <= f_d(S') for S within S': the larger set's tree is right on the smaller one; drop its empty leaves.
//   (D) f_d is at most f_{d-1}; a tree of k leaves has depth < k; a tree of depth d has at most 2^d leaves.
//
// Sets are bit sets over groups. Along a column the low sides of its cuts grow, so (M) bounds them one by another:
//
//   ranks of the column    0 0 1 2 2 3          groups a b c d e f
//   cut 0                  a b | c d e f        f(a b) <= f(a b c) <= f(a b c d e)
//   cut 1                  a b c | d e f        f(c d e f) >= f(d e f) >= f(f)
//   cut 2                  a b c d e | f
#pragma once

#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "minimal/columns.hpp"
#include "minimal/minimal.hpp"
#include "minimal/subproblem_cache.hpp"

namespace proofwood::minimal {

// One way to part a set. Sides that are known need as many leaves as their bound, one or two, and have no subproblem.
struct Split {
  int test;
  int left, right;  // neighbours in the same column, -1 at its ends
  double score;
  int low_bound, high_bound;  // leaves of the sides, at the depth asked for
  bool low_known, high_known;
  Subproblem *low, *high;
};

struct ColumnSpan {  // the splits of one column, and the purest of them
  double score;
  int first, best, last;
};

struct Frame {  // scratch memory of one level of the recursion
  std::vector<u64> parts, pure_low, pure_high, low, high;
  std::vector<Split> splits;
  std::vector<ColumnSpan> columns;
  std::vector<int> order, tests;
};

class RowSetSearch : public Resumable {
 public:
  RowSetSearch(const Rows& rows, Board& board)
      : rows_(rows),
        board_(board),
        rules_(board.settings.rules),
        words_(at(rows.words)),
        test_words_(at(rows.test_words)),
        cache_(rows.words, board.settings.memory),
        some_(at(rows.n_kinds) * test_words_),
        every_(at(rows.n_kinds) * test_words_) {
    if (rules_.same_split && rules_.column_walks && Columns::fit(rows)) columns_ = std::make_unique<Columns>(rows);
  }

  void run() override;

 private:
  static constexpr std::size_t kNear = 6;
  static constexpr std::size_t kMostWork = 1'000'000'000;  // words looked at for one bound, about a third of a second
  struct Opposite {
    int distance, row;
  };

  // ---- row_sets.cpp: least depth, fewest leaves
  bool least_depth(Subproblem* root, int& depth);
  void fewest_leaves(Subproblem* root, int depth);
  Subproblem* subproblem(const u64* set);
  bool feasible(Subproblem* e, int d);
  int depth_two(const u64* set, std::size_t level);
  int leaves_at_two(Subproblem* e);
  int deeper(Subproblem* e, int d, std::size_t level);
  template <class Low, class High>
  int last_low_then_high(const std::vector<int>& tests, const Low& low_works, const High& high_works);
  Subproblem* side(const u64* set, Split& split, Frame& f, bool high);
  AtDepth& at_depth(Subproblem* e, int d);
  int leaves_bound(Subproblem* e, int d) { return e == nullptr ? 1 : at_depth(e, d).lower; }
  int leaves(Subproblem* e, int d, int cap);
  int search_leaves(Subproblem* e, int d, int cap, std::size_t level);
  int split_to(const u64* set, Frame& f, int d, int k);
  int column_within(const u64* set, Frame& f, const ColumnSpan& span, int d, int k);
  bool side_within(const u64* set, Frame& f, int i, int d, int k, bool high);
  bool split_within(const u64* set, Frame& f, int i, int d, int k);
  static void raise_low(Frame& f, int i, int bound);
  static void raise_high(Frame& f, int i, int bound);

  // ---- row_sets_purity.cpp: which tests leave pure sides
  bool pure(const u64* set) const;
  void summarize(const u64* set);
  void summarize_into(const u64* set, Frame& f);
  // One word of tests after summarize(): which part the set, which have a pure low side, a pure high side.
  struct Word {
    u64 parts, pure_low, pure_high;
  };
  Word word(std::size_t w) const {
    u64 any = 0, all = ~u64{0};
    for (const int kind : present_) {
      any |= some_[at(kind) * test_words_ + w];
      all &= every_[at(kind) * test_words_ + w];
    }
    Word result{any & ~all, 0, 0};
    if (rows_.single) {  // a side is pure if rows of at most one kind are on it
      u64 low_once = 0, low_twice = 0, high_once = 0, high_twice = 0;
      for (const int kind : present_) {
        const u64 on_high = some_[at(kind) * test_words_ + w], on_low = ~every_[at(kind) * test_words_ + w];
        high_twice |= high_once & on_high;
        high_once |= on_high;
        low_twice |= low_once & on_low;
        low_once |= on_low;
      }
      result.pure_low = ~low_twice;
      result.pure_high = ~high_twice;
    } else {
      for (int c = 0; c < rows_.n_classes; ++c) {
        u64 wrong_low = 0, wrong_high = 0;
        for (const int kind : present_) {
          if (rows_.kind_allows[at(kind) * at(rows_.n_classes) + at(c)] != 0) continue;
          wrong_high |= some_[at(kind) * test_words_ + w];
          wrong_low |= ~every_[at(kind) * test_words_ + w];
        }
        result.pure_low |= ~wrong_low;
        result.pure_high |= ~wrong_high;
      }
    }
    return result;
  }
  int classes_needed(const u64* set);
  // Whether one test parts a set that is not pure into two pure sides. With one class per row it parts the first row of
  // one kind and the first of another as it parts all of their kinds; few rows leave no such test.
  bool two_leaves(const u64* set) { return two_leaves(set, set, 0); }
  bool two_leaves(const u64* set, const u64* side, u64 flip);
  int one_test(const u64* set);
  bool tells_two() const { return columns_ != nullptr && columns_->tells_two(); }
  // Tests that lead to three leaves, and to four; -1 for none. The set needs more than two.
  std::pair<int, int> tests_of_two_levels(const u64* set, bool three_matter);

  // ---- row_sets_bounds.cpp: lower bounds on leaves
  int dual_bound(const u64* set) const;
  static int leaves_of(i64 dual) { return static_cast<int>((dual + kDualUnit - 1) / kDualUnit); }
  i64 dual_of(u64 groups, std::size_t word) const {
    const std::vector<i64>& dual = board_.settings.dual;
    i64 sum = 0;
    if (!dual.empty())
      for (; groups != 0; groups &= groups - 1)
        sum += dual[word * 64 + static_cast<std::size_t>(std::countr_zero(groups))];
    return sum;
  }
  static void bound_sides(Split& split, i64 dual_low, i64 dual_high);
  bool can_list_apart() const;
  void list_apart();
  void list_opposites();
  bool have_common_class(int p, int q) const;
  void find_near(const u64* set);
  int clique();
  int clique_apart(const u64* set);
  int packing();
  void bound(Subproblem* e);

  // ---- row_sets_splits.cpp: the splits of a set, in the order in which to try them
  Frame& frame(std::size_t level);
  void list_splits(const u64* set, Frame& f);
  void clear_seen(std::size_t most_splits);
  void list_tests(const u64* set, Frame& f);
  void list_cuts(const u64* set, Frame& f);
  void list_column(const u64* set, Frame& f, int column);
  void bound_column(Frame& f, int column, std::size_t first);
  template <bool high>
  void bound_by_cliques(Frame& f, std::size_t first);
  void add_split(Frame& f, int test, double score, bool low_pure, bool high_pure) const;
  bool seen_before(const u64* set, int t, u64 hash);
  void order_splits(Frame& f);
  static void halve(std::vector<int>& order, int first, int last);

  // ---- row_sets_trees.cpp: the trees behind the bounds
  Tree known_tree(Subproblem* root, int depth, bool fewest);
  void grow_known(Tree& tree, const std::vector<u64>& set, int d, bool fewest);
  Tree canonical_tree(Subproblem* root, int depth, bool fewest);
  void grow_canonical(Tree& tree, const std::vector<u64>& set, int d, bool fewest);

  // ---- sets
  template <class F>
  void each_row(const u64* set, const F& f) const {
    for (std::size_t w = 0; w < words_; ++w)
      for (u64 left = set[w]; left != 0; left &= left - 1) f(static_cast<int>(w * 64) + std::countr_zero(left));
  }
  void part(const u64* set, int test, u64* low, u64* high) const {
    const u64* bits = rows_.high(test);
    for (std::size_t w = 0; w < words_; ++w) {
      low[w] = set[w] & ~bits[w];
      high[w] = set[w] & bits[w];
    }
  }
  int size_of(const u64* set) const {
    int size = 0;
    for (std::size_t w = 0; w < words_; ++w) size += std::popcount(set[w]);
    return size;
  }
  static bool bit(const std::vector<u64>& set, int i) { return (set[at(i) >> 6] >> (i & 63) & 1) != 0; }

  const Rows& rows_;
  Board& board_;
  const Rules& rules_;
  std::size_t words_, test_words_;
  SubproblemCache cache_;
  int n_depths_ = 1;
  std::size_t level_ = 0;
  std::vector<std::unique_ptr<Frame>> frames_;
  // scratch memory of the functions named
  std::vector<u64> some_, every_;                                  // summarize
  std::vector<int> present_;                                       // summarize
  std::vector<char> seen_;                                         // summarize
  std::vector<u64> candidates_;                                    // two_leaves
  std::vector<char> needed_;                                       // classes_needed
  i64 bounds_tried_ = 0, bounds_pruned_ = 0, bounds_skipped_ = 0;  // bound
  std::vector<std::vector<Opposite>> opposites_;                   // list_opposites
  int listed_ = 0;                                                 // list_opposites: rows that are done
  std::vector<int> members_;                                       // find_near
  std::vector<Opposite> near_;                    // find_near: kNear per member, those beyond the last have row -1
  std::vector<std::size_t> chosen_;               // clique
  std::vector<std::pair<int, int>> pairs_;        // packing: by distance
  std::vector<std::size_t> places_;               // packing
  std::vector<u64> used_tests_;                   // packing
  std::unique_ptr<Columns> columns_;              // list_splits goes by column, not by test, where there are
  std::vector<int> groups_, sorted_;              // of a set, and in the order of a column
  std::size_t first_word_ = 0;                    // list_splits: of the first group of the set
  u64 first_row_ = 0;                             // list_splits: its bit
  std::vector<u64> names_;                        // list_cuts: a random number for each group
  std::vector<int> kinds_low_;                    // list_column
  std::vector<int> ends_;                         // list_column: groups on the low side of each split
  u64 name_ = 0;                                  // list_cuts: of the whole set
  i64 dual_ = 0;                                  // list_cuts: of the whole set
  int kinds_ = 0;                                 // list_cuts: in the whole set
  std::vector<u64> apart_;                        // list_apart: of each group those that no leaf holds with it
  bool apart_listed_ = false;                     // list_apart
  std::vector<u64> left_;                         // clique_apart
  std::vector<int> kind_sizes_;                   // list_splits
  std::vector<std::pair<u64, int>> seen_splits_;  // list_splits
  std::size_t seen_mask_ = 0;                     // list_splits
};

}  // namespace proofwood::minimal
