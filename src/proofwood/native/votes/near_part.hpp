// The part of an ensemble that a box of cells reaches, as an ensemble of its own.
//
// Rows cheaper than one that is known are in the box of the cells that cost less than it. There trees reach few of
// their leaves, and columns are cut in few places; a tree with one leaf left is a constant.
//
//   cuts of all trees          |   |   | |     |   |    |
//   the box                          [         ]
//   cells of the part                 0 | 1       2          2 cuts that leaves of the box tell apart
#pragma once

#include <vector>

#include "votes/prices.hpp"

namespace proofwood::votes {

// A default forest has 100,000 leaves and more, and rows nearer than the nearest one reach some thousand of them:
// decisions/0036-parts-of-large-ensembles.
class NearPart {
 public:
  NearPart(const Model& model, const Box& box, const Prices& prices, const std::vector<int>& near);

  bool empty() const { return empty_; }  // no row of the space is in the box
  const Model& model() const { return part_; }
  const Prices& prices() const { return prices_; }
  Lead lead(const Lead& lead) const;  // the same for the part
  // Rows: cells of the part for a row of the box, and of the whole: the cheapest ones, the nearest among equals.
  std::vector<int> inward(const std::vector<int>& row) const;
  std::vector<int> outward(const std::vector<int>& cells) const;
  // Leaves of the part for those of a row, ascending; false if the box does not reach one of them.
  bool leaves_inward(const std::vector<int>& leaves, std::vector<int>& found) const;
  std::vector<int> leaves_outward(const std::vector<int>& leaves) const;

 private:
  void write_leaves();
  void write_clauses();
  void write_cells(const Prices& prices, const std::vector<int>& near);
  // 1: holds in the whole box, -1: nowhere in it, 0: in a part of it
  int holds(Literal literal) const;
  Literal inward(Literal literal) const { return 2 * variable_[z(literal >> 1)] + (literal & 1); }

  const Model& model_;
  Box box_;
  bool empty_ = false;
  Model part_;
  Prices prices_;
  std::vector<int> variable_;            // (n_variables of the whole) of the part, -1: none
  std::vector<std::vector<int>> cuts_;   // (n_columns) cuts of the whole that the part has
  std::vector<std::vector<int>> cells_;  // (n_columns) cell of the whole for each of the part
  std::vector<int> leaf_of_;             // (n_leaves of the part) leaf of the whole
  std::vector<int> leaf_;                // (n_leaves of the whole) leaf of the part
  std::vector<int> constant_;            // leaves of the whole that every row of the box reaches
};

}  // namespace proofwood::votes
