// Sets of groups seen along the columns: where every group is of one kind, and columns have many cuts.
//
// Theory: docs/theory/minimal-trees.md, "Search: dynamic programming over row sets".
//
// One test parts two kinds if in some column the ranks of one end before those of the other begin. Along a column this
// holds for the first groups up to some place and for no more, so that a walk from either end finds every cut with a
// side that one test is enough for:
//
//   a column       a a b b a c c      low sides: pure up to the 2nd group, two leaves up to the 4th at least
//                  ----->   <---      high sides: pure down to the 6th
#pragma once

#include <vector>

#include "minimal/minimal.hpp"

namespace proofwood::minimal {

// Testing cut by cut whether it parts two classes took 58 % of the time on a table of numbers; walks answer in a few
// instructions for ten columns at once: decisions/0029-walks-and-permitted-errors.
class Columns {
 public:
  // How many groups from either end of a column are of one kind, and how many one test is enough for.
  struct Reach {
    int low_pure = 0, low_two = 0, high_pure = 0, high_two = 0;
  };
  static bool fit(const Rows& rows);  // whether there may be one

  explicit Columns(const Rows& rows);

  int count() const { return static_cast<int>(by_column_.size()); }
  bool tells_two() const { return blocks_ > 0; }  // else the columns are too many to look for one test in all of them
  // The groups in the order of a column.
  void sort(const std::vector<int>& groups, int column, std::vector<int>& sorted);
  // The first test of a column that has a group on its low side and the next one of its order not; -1 if there is none,
  // as other columns have one that parts all groups alike.
  int cut_between(int column, int group, int next) const {
    const std::size_t from = at(column) * n_;
    const int test = next_test_[from + at(rank_[from + at(group)])];
    return test >= 0 && last_low_[at(test)] < rank_[from + at(next)] ? test : -1;
  }
  bool same(int column, int group, int other) const {
    return rank_[at(column) * n_ + at(group)] == rank_[at(column) * n_ + at(other)];
  }

  // Of the two kinds that were seen first, a box around the groups of each.
  void clear() { kinds_[0] = kinds_[1] = -1; }
  bool add(int group);  // false if it is of a third kind
  bool is_pure() const { return kinds_[1] < 0; }
  bool parted() const;  // whether one test parts the two boxes, or there is only one
  bool one_test_enough(const std::vector<int>& groups);
  Reach reach(int column, const std::vector<int>& sorted);

 private:
  static constexpr std::size_t kLanes = 8, kMostColumns = 64;
  typedef i16 Ranks __attribute__((vector_size(kLanes * sizeof(i16)), may_alias));  // of as many columns
  struct Box {
    Ranks least[kMostColumns / kLanes], greatest[kMostColumns / kLanes];
  };

  const Rows& rows_;
  std::size_t n_, blocks_ = 0;               // of columns
  std::vector<std::vector<int>> by_column_;  // groups by their rank
  std::vector<u16> place_;                   // (columns, n) where they are in it
  std::vector<u16> rank_;                    // (columns, n) without gaps
  std::vector<i16> lane_;                    // (n, blocks of kLanes) the same by group
  std::vector<int> next_test_;               // (columns, n) by rank: the first test with it on the low side
  std::vector<int> last_low_;                // (tests) greatest rank on the low side
  std::vector<u64> marked_;                  // sort
  int kinds_[2] = {-1, -1};
  Box boxes_[2];
};

}  // namespace proofwood::minimal
