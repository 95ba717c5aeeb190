// Lower bounds of the price of a row that scores enough, by one multiplier for each tree, threshold and side.
//
// Theory: docs/theory/explanations.md, "Nearest rows". Each tree may choose a leaf and each column a cell that do not
// fit together; a multiplier is what the tree pays, and the column gets, where the leaf lies beyond a threshold:
//
//   tree t        leaf a: cell <= 1     leaf b: cell > 1       column c       cell 0, 1      cell 2
//   pays          below(t, 1)           above(t, 1)            gets           below(t, 1)    above(t, 1)
//
// The leaves that a row reaches pay no more than its cells get, so that no multipliers make it look dearer than it is.
#pragma once

#include <cstdint>
#include <vector>

#include "votes/model.hpp"

namespace proofwood::votes {

// What a row must reach: the sum over its leaves of `gain` is at least `need`. From `sure` on rounding changes nothing.
struct Lead {
  std::vector<std::int64_t> gain;  // (n_leaves)
  std::int64_t need = 0, sure = 0;
};

constexpr std::int64_t kNever = std::int64_t{1} << 60;  // price of a cell that may not be taken
using Prices = std::vector<std::vector<std::int64_t>>;  // (n_columns) by cell: below 2^44, or kNever

// What a search keeps of a box, to go on from there.
struct Kept {
  std::vector<float> multipliers;
  std::vector<int> leaves;  // that a cheaper row may reach
};

class Relaxation {
 public:
  // `question`: all prices are 0, and the weight of the only lead is 1.
  Relaxation(const Model& model, const std::vector<Lead>& leads, const Prices& prices, bool question);

  // Begins with a box, the leaves of `from` that it reaches, and the multipliers there. False if single leaves and
  // cells tell that no row of the box is cheaper than `upper` and scores enough.
  bool enter(const Box& box, const Kept* from, std::int64_t upper);

  // One step of the multipliers, towards bounds of `upper`.
  void step(std::int64_t upper);

  // The best bound of the steps, counted in integers; `upper` if no row of the box is cheaper than that.
  std::int64_t settle(std::int64_t upper) const;
  // The same, and what would make a row cost `upper` or more is left out: leaves, and cells at the ends of columns.
  std::int64_t settle_and_leave_out(std::int64_t upper);

  const Box& box() const { return box_; }
  const std::vector<int>& leaves() const { return leaves_; }  // that a row of the box may reach
  const std::vector<int>& row() const { return cell_; }       // cells chosen last
  Kept keep() const;

  // A column and a cut between its cells in the box, where leaves and cells chosen last agree least.
  struct Branch {
    int column = -1, cut = 0;  // cells up to `cut`, and those above
  };
  Branch branch() const;

 private:
  struct Group {                  // thresholds of one column in one tree that the box leaves open
    int column, begin, end;       // entries
    int last_above, first_below;  // the chosen leaf lies above all entries up to one, below all from the other on
  };

  struct Counted {  // a bound in integers, fractions of a price in `bits` bits
    int bits = 0;
    i128 total = 0;
    std::vector<i128> leaves, least_leaf;  // by place; by tree
    std::vector<std::vector<i128>> cells;  // by column, from the lowest of the box on
    std::vector<i128> least_cell;
  };

  bool permits(Literal l) const;
  bool reaches(int leaf) const;
  bool list_leaves(const std::vector<int>* among);
  bool list_tightly(const std::vector<int>* among);
  bool tighten();
  bool possible(std::int64_t upper) const;
  void list_groups();
  void list_terms();
  void clear_closed(std::vector<double>& values) const;
  void load(const Kept* from);
  void choose_leaves();
  void choose_cells();
  double measure();
  double target_of(std::int64_t upper) const;
  template <class Number>
  void sum_up(const std::vector<Number>& values, std::vector<Number>& sums, std::vector<Number>& all) const;
  Counted count() const;
  static std::int64_t bound_of(const Counted& counted, std::int64_t upper);
  bool leave_out(const Counted& counted, i128 most);
  Branch branch_off() const;
  std::size_t clause_at(std::size_t k) const { return 2 * entries_ + k; }
  std::size_t lead_at(std::size_t r) const { return 2 * entries_ + model_.clauses.size() + r; }

  const Model& model_;
  const std::vector<Lead>& leads_;
  const Prices& prices_;
  bool question_;
  double gain_unit_ = 1, price_unit_ = 1;
  std::size_t entries_ = 0;         // thresholds of all trees, each once in a tree
  std::vector<int> variable_of_;    // (entries)
  std::vector<int> cut_of_;         // (entries) the cell below it
  std::vector<int> entries_of_;     // (n_trees + 1)
  std::vector<int> entry_of_need_;  // (needs)

  Box box_;
  std::vector<int> leaves_, leaves_of_;  // those alive, by tree
  std::vector<int> terms_of_, terms_;    // by leaf alive: what it pays, as places in sums_
  std::vector<double> gains_;            // by leaf alive and lead
  std::vector<Group> groups_;
  std::vector<int> group_of_;      // (entries)
  std::vector<char> open_clause_;  // that the box leaves open
  // Above for each entry, below for each entry, clauses, leads:
  std::vector<double> multipliers_, way_, best_;
  std::vector<double> sums_;  // of the entries of a group up to one (above), or from one on (below)
  std::vector<double> all_;   // (2 n_variables) over all trees and clauses: what cells above it get, or below
  std::vector<int> chosen_;   // (n_trees) place in leaves_
  std::vector<int> leaf_;     // (n_trees) the leaf there
  std::vector<int> cell_;     // (n_columns)
  double bound_ = 0, best_bound_ = 0, share_ = 1;
  int idle_ = 0;
};

}  // namespace proofwood::votes
