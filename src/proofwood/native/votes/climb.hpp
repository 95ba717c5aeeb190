// Rows of a box that score high, by local search: a quick answer where a row of another class is not hard to find.
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
// Theory: docs/theory/explanations.md, "The engine cdcl: clause learning": climbing.
#pragma once

#include <cstdint>
#include <vector>

#include "common/watch.hpp"

namespace proofwood::votes {

struct Model;

class Climb {
 public:
  explicit Climb(const Model& model) : model_(model) {}

  // The box [lo, hi]; `dead` counts for each leaf what rules it out there. Columns of the model's clauses keep the
  // cells of each start.
  void enter(const std::vector<std::int64_t>& gain, const std::vector<int>& dead, const std::vector<int>& lo,
             const std::vector<int>& hi);

  // Search from each start, then from changed rows, until a row reaches `least` or about `effort` leaves were looked
  // at. Starts are moved into the box first; from `near` the best step of all is taken, as few changes are wanted. True
  // if row() reaches `least`; false if not, or if the watch is over.
  bool reach(const std::vector<std::vector<int>>& starts, std::size_t near, std::int64_t least, std::int64_t effort,
             Watch& watch);

  // Takes cells of row() back to those of `near`, the least helpful first, for as long as the sum stays at `least`.
  void approach(const std::vector<int>& near, std::int64_t least, Watch& watch);

  // Whether row(), counted again, is a row of the space with the sum that was kept, at least `least`.
  bool counted(std::int64_t least);

  const std::vector<int>& row() const { return row_; }

 private:
  struct Entry {
    int leaf;       // number among the leaves reached by the box
    int low, high;  // cells of the column that it needs
  };

  bool load(const std::vector<int>& row);  // moved into the box; false, and nothing done, if a clause then fails
  void back_to(const std::vector<int>& row);
  void move(int column, int cell);
  struct Step {
    int cell;
    std::int64_t more;  // what it adds to the sum, 0 if no cell of the column is better
  };
  Step best_step(int place);
  void ascend(std::int64_t least, Watch& watch);          // column after column
  void ascend_steeply(std::int64_t least, Watch& watch);  // the best column first: few changes lead to `least`
  void kick();
  std::uint64_t random() {
    seed_ ^= seed_ << 13;
    seed_ ^= seed_ >> 7;
    seed_ ^= seed_ << 17;
    return seed_;
  }

  const Model& model_;
  std::vector<int> lo_, hi_;
  std::vector<int> open_;  // columns with more than one cell; the first n_free_ are in no clause of the model
  int n_free_ = 0;
  std::vector<int> entries_of_;  // (open + 1)
  std::vector<Entry> entries_;
  std::vector<std::int64_t> gain_;   // of the leaves reached
  std::vector<int> leaf_;            // their numbers in the model
  std::vector<int> number_;          // (n_leaves) place among the leaves reached, -1 elsewhere
  std::vector<int> place_;           // (n_columns) place among the open columns, -1 elsewhere
  std::vector<int> wrong_;           // columns whose cell is outside what the leaf needs
  std::vector<std::int64_t> steps_;  // change of the sum at each cell of a column
  std::vector<int> row_;
  std::int64_t sum_ = 0, spent_ = 0;
  std::uint64_t seed_ = 0x9E3779B97F4A7C15ULL;
};

}  // namespace proofwood::votes
