// The part of an ensemble that a box of cells reaches, as an ensemble of its own.
//
// There trees reach few of their leaves, and columns are cut in few places; a tree with one leaf left is a constant.
//
//   cuts of all trees          |   |   | |     |   |    |
//   the box                          [         ]
//   cells of the part                 0 | 1       2          2 cuts that leaves of the box tell apart
#pragma once

#include <utility>
#include <vector>

#include "votes/prices.hpp"

namespace proofwood::votes {

// A default forest has 100,000 leaves and more, and rows nearer than the nearest one reach some thousand of them:
// decisions/0036-parts-of-large-ensembles.
class Part {
 public:
  Part(const Model& model, Box box);

  bool empty() const { return empty_; }  // no row of the space is in the box
  const Model& model() const { return part_; }
  Lead lead(const Lead& lead) const;  // the same for the part
  // Prices of the part: those of the cheapest cells of the whole, the nearest among equals, which outward() then gives.
  Prices price(const Prices& prices, const std::vector<int>& near);
  // Rows: cells of the part for a row of the whole, which is moved into the box, and the other way.
  std::vector<int> inward(const std::vector<int>& row) const;
  std::vector<int> outward(const std::vector<int>& cells) const;                                // after price()
  std::vector<int> outward(const std::vector<int>& cells, const std::vector<int>& near) const;  // the nearest one
  // Leaves of the part for those of a row, ascending; false if the box does not reach one of them.
  bool leaves_inward(const std::vector<int>& leaves, std::vector<int>& found) const;
  std::vector<int> leaves_outward(const std::vector<int>& leaves) const;

 private:
  void write_leaves(const Model& model);
  void write_clauses(const Model& model);
  Literal inward(Literal literal) const { return 2 * variable_[z(literal >> 1)] + (literal & 1); }
  std::pair<int, int> range(std::size_t column, int cell) const;  // first and last cell of the whole

  Box box_;
  bool empty_ = false;
  Model part_;
  std::vector<int> variable_;            // (n_variables of the whole) of the part, -1: none
  std::vector<std::vector<int>> cuts_;   // (n_columns) cuts of the whole that the part has
  std::vector<std::vector<int>> cells_;  // (n_columns) cell of the whole for each of the part
  std::vector<int> leaf_of_;             // (n_leaves of the part) leaf of the whole
  std::vector<int> leaf_;                // (n_leaves of the whole) leaf of the part
  std::vector<int> constant_;            // leaves of the whole that every row of the box reaches
};

}  // namespace proofwood::votes
