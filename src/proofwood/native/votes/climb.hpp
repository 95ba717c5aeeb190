// Rows of a box that score high, by local search: a quick answer where a row of another class is not hard to find, and
// cheap rows to begin with.
//
// One cell of one column moves at a time, to the best value that the column has while the others stay. All values of a
// column are compared at once: a leaf counts for those cells of the column that its other needs do not rule out.
//
//   cells of column c        0   1   2   3        leaves whose other needs hold
//   leaf +2, 0 <= c <= 1     2   2
//   leaf -1, 2 <= c <= 3             -1  -1
//   leaf +3, 1 <= c <= 2         3   3
//   sum                      2   5   2   -1       the row moves to cell 1
//
// Columns of the model's clauses keep the cells that a row begins with, but for groups of 0/1 columns where there are
// prices: there another one gets 1, or none.
//
// Theory: docs/theory/explanations.md, "The engine cdcl: clause learning": climbing; "Nearest rows".
#pragma once

#include <cstdint>
#include <vector>

#include "common/watch.hpp"
#include "votes/prices.hpp"

namespace proofwood::votes {

class Climb {
 public:
  explicit Climb(const Model& model) : model_(model) {}

  // For rows of the box [low, high] with a sum of at least `least`; `dead` counts per leaf what rules it out there.
  void enter(const std::vector<std::int64_t>& gain, std::int64_t least, const std::vector<int>& dead,
             const std::vector<int>& low, const std::vector<int>& high);
  // For cheap rows of a box that reach all leads. These and the prices stay where they are.
  void enter(const Way& leads, const Prices& prices, const Box& box);

  // Begins with a row, which is moved into the box; false, and nothing done, if a clause then fails.
  bool load(const std::vector<int>& row);
  bool enough() const;  // whether the row at hand is one that is looked for
  const std::vector<int>& row() const { return row_; }
  // Goes from the row at hand to one that is, by the best step of all, as few changes are wanted; false without one.
  bool climb(Watch& watch);

  // Search for a row of one lead, without prices, from each start, then from changed rows, until about `effort` leaves
  // were looked at. From the start `near` it climbs.
  bool reach(const std::vector<std::vector<int>>& starts, std::size_t near, std::int64_t effort, Watch& watch);
  // Takes cells of row() back to those of `near`, the least helpful first, as long as it is a row that is looked for.
  void approach(const std::vector<int>& near, Watch& watch);
  // Whether row(), counted again, is one, with the sum that was kept.
  bool counted();

  // Makes the row at hand cheaper, for as long as it scores enough.
  void descend(Watch& watch);
  // Makes its dearest cell cheaper, one column after the other.
  void lower(Watch& watch);

 private:
  struct Step {  // of one column, or of a group to another of its columns, -1: to none
    double worth = 0;
    int column = -1, cell = 0, group = -1;
  };

  void begin(const Box& box);
  void list_groups();
  void move(int column, int cell);
  void back_to(const std::vector<int>& row);
  void sweep(int column);
  template <bool kOne>
  void move_as(int column, int cell);
  template <bool kOne>
  void sweep_as(int column);
  template <class Sums>
  double missing(const Sums& sums) const;
  double missing_at(int column, int cell) const;
  bool step_up(int column);
  void ascend(Watch& watch);  // column after column
  void kick();
  void turn(const std::vector<int>& group, int on);
  void take(const Step& step);
  std::int64_t price(int column, int cell) const { return prices_ ? (*prices_)[z(column)][z(cell)] : 0; }
  template <class Worth>
  void best_column(Watch& watch, const Worth& worth, Step& best);
  template <class Worth>
  void best_group(Watch& watch, const Worth& worth, Step& best);
  std::uint64_t random() {
    seed_ ^= seed_ << 13;
    seed_ ^= seed_ >> 7;
    seed_ ^= seed_ << 17;
    return seed_;
  }

  const Model& model_;
  const Prices* prices_ = nullptr;
  Box box_;
  // Leaves that take part, with numbers of their own where `dead` leaves others out.
  const Model::Limit* limits_ = nullptr;
  const int* limits_of_ = nullptr;  // (n_columns + 1)
  std::vector<Model::Limit> kept_;
  std::vector<int> kept_of_;
  std::vector<std::int64_t> gain_;
  std::vector<int> leaf_;    // their numbers in the model
  std::vector<int> number_;  // (n_leaves) the other way, -1: none
  std::size_t n_leaves_ = 0;

  std::vector<const std::int64_t*> gains_;  // of each lead, by leaf
  std::vector<std::int64_t> need_;          // of each lead
  std::vector<double> units_;               // of each lead: its spread over a tree
  std::vector<int> free_;                   // columns with more than one cell that are in no clause
  std::vector<char> is_free_;               // (n_columns)
  std::vector<std::vector<int>> groups_;

  std::vector<int> row_;
  std::vector<int> wrong_;               // columns whose cell is outside what the leaf needs
  std::vector<std::int64_t> sums_;       // of each lead
  std::vector<std::int64_t> at_, rest_;  // each lead at each cell of a column, and without what the column decides
  std::int64_t spent_ = 0;
  std::uint64_t seed_ = 0x9E3779B97F4A7C15ULL;
};

}  // namespace proofwood::votes
