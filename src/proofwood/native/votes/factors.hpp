// What a row chooses from, piece by piece: a leaf of each tree, and a way to satisfy each clause of the space.
//
// Theory: docs/theory/explanations.md, "The engine messages". A factor has options, each of which permits an
// interval of cells in
// every column. Seen from one column a factor knows only the cells between its own cuts, its slots:
//
//   cells of the column       0   1   2   3   4
//   cuts of the factor              |       |          slots  0: cells 0-1, 1: cells 2-3, 2: cell 4
//   an option "cell > 1"                               permits slots 1 to 2
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "votes/model.hpp"

namespace proofwood::votes {

struct Factors {
  // A factor that has cuts in a column.
  struct Edge {
    int factor, column;
    int first_cut, n_cuts;  // in cuts
    int first_slot;         // of n_cuts + 1, counted over all edges
    int first_number;       // in interval_of, one for each option of the factor
    int first_interval, n_intervals;
  };

  explicit Factors(const Model& model);

  int n_factors() const { return static_cast<int>(options_of.size()) - 1; }
  // The slot of a cell.
  int slot(const Edge& edge, int cell) const;

  const Model& model;
  std::vector<int> options_of;  // (n_factors + 1); the options of trees are their leaves, with the same numbers
  std::vector<std::pair<bool, std::vector<Literal>>>
      ways;                   // clauses of the factors behind the trees; true: exactly one
  std::vector<int> needs_of;  // (options + 1)
  std::vector<Literal> needs;
  std::vector<Edge> edges;
  std::vector<int> edges_of;                   // (n_factors + 1)
  std::vector<int> edge_of_need;               // (needs)
  std::vector<int> cuts;                       // cut k: slot k holds the cells below it, slot k + 1 those from it on
  std::vector<int> interval_of;                // intervals of an edge by option
  std::vector<std::pair<int, int>> intervals;  // first and last slot
  int n_slots = 0;
  int most_edges = 0;  // of a factor, or of a column

 private:
  void add_clauses();
  void add_edges(int factor);
  void add_intervals(int factor);
};

}  // namespace proofwood::votes
