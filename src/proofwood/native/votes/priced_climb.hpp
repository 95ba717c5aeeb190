// Cheap rows that score enough, by local search: one column at a time moves to where it gains most for its price, and
// then each goes back towards the row asked about as far as the scores permit.
//
// Theory: docs/theory/explanations.md, "Nearest rows".
#pragma once

#include <cstdint>
#include <vector>

#include "common/watch.hpp"
#include "votes/prices.hpp"

namespace proofwood::votes {

class PricedClimb {
 public:
  // Columns of the model's clauses keep the cells that a row begins with, but for groups of 0/1 columns: there another
  // one gets 1, or none.
  PricedClimb(const Model& model, const std::vector<Lead>& leads, const Prices& prices);

  // From a row of the space to one that scores enough; false if it finds none within the box.
  bool climb(const std::vector<int>& start, const Box& box, Watch& watch);
  // Makes the row at hand cheaper, for as long as it scores enough.
  void descend(const Box& box, Watch& watch);
  // Begins with a row; whether it scores enough.
  bool start(const std::vector<int>& row);
  // Makes the dearest cell of the row at hand cheaper, one column after the other, for as long as it scores enough.
  void lower(const Box& box, Watch& watch);

  const std::vector<int>& row() const { return row_; }

 private:
  struct Step {  // of one column, or of a group to another of its columns, -1: to none
    double worth = 0;
    int column = -1, cell = 0, group = -1;
  };

  void list_groups();
  void load(const std::vector<int>& row);
  void move(int column, int cell);
  void turn(const std::vector<int>& group, int on);
  void take(const Step& step);
  template <class Worth>
  void best_column(const Box& box, Watch& watch, const Worth& worth, Step& best);
  template <class Worth>
  void best_group(const Box& box, Watch& watch, const Worth& worth, Step& best);
  bool enough() const;
  double missing_now() const;
  void sweep(int column, const Box& box);
  double missing(std::size_t place) const;

  const Model& model_;
  const std::vector<Lead>& leads_;
  const Prices& prices_;
  std::vector<std::vector<int>> groups_;
  std::vector<int> row_;
  std::vector<int> wrong_;          // (n_leaves) columns whose cell the leaf does not permit
  std::vector<std::int64_t> sums_;  // of each lead
  std::vector<double> units_;       // of each lead: its spread over a tree
  std::vector<std::int64_t> at_;    // of each lead at each cell of a column, by cell
};

}  // namespace proofwood::votes
