// An ensemble of trees over the threshold grid: leaves with scores, what they need, and clauses of the feature space.
//
// Theory: docs/theory/explanations.md, "The grid" (Izza, Marques-Silva 2021; the grid itself is ours).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace proofwood::votes {

// 2v says "variable v", 2v + 1 says "not v". The variables are bounds: column c has cells 0..q, and variable
// first[c] + t says "cell > t". A column with four thresholds, in a box whose cells of that column are 1..3:
//
//   threshold     0   1   2   3
//   cell        0   1   2   3   4
//   box            [lo      hi]
//   variable      T   ?   ?   F       "cell > 0" is true, "cell > 3" is false, the two between are open
//
// So the box is the whole assignment, and no clause has to say that "cell > 2" implies "cell > 1".
using Literal = std::int32_t;

// Shared by the searches of all pairs of classes.
struct Model {
  int n_columns = 0, n_classes = 0, n_trees = 0, n_leaves = 0, n_variables = 0;
  std::vector<int> cells;            // (n_columns) number of thresholds
  std::vector<int> first;            // (n_columns + 1)
  std::vector<int> column_of;        // (n_variables)
  std::vector<int> leaves_of;        // (n_trees + 1)
  std::vector<int> tree_of;          // (n_leaves)
  std::vector<std::int64_t> scores;  // (n_leaves, n_classes)
  std::vector<std::int64_t> base;    // (n_classes)
  std::vector<int> needs_of;         // (n_leaves + 1)
  std::vector<Literal> needs;        // a leaf is reached where all its needs hold
  std::vector<int> needing_of;       // (2 n_variables + 1): leaves that need a literal
  std::vector<int> needing;
  std::vector<std::vector<Literal>> clauses;
  struct Limit {
    int leaf;
    int low, high;  // cells of the column that the leaf needs
  };
  std::vector<int> limits_of;  // (n_columns + 1)
  std::vector<Limit> limits;
  std::vector<char> in_clause;  // (n_columns) whether a clause speaks of the column

  // Whether a row belongs to the space.
  bool allows(const std::vector<int>& row) const {
    return std::all_of(clauses.begin(), clauses.end(), [&](const auto& clause) {
      return std::any_of(clause.begin(), clause.end(), [&](Literal l) { return holds(l, row); });
    });
  }

  void index();  // fills what the arrays above imply
  bool holds(Literal literal, const std::vector<int>& row) const {
    const int v = literal >> 1, c = column_of[static_cast<std::size_t>(v)];
    return (row[static_cast<std::size_t>(c)] > v - first[static_cast<std::size_t>(c)]) == ((literal & 1) == 0);
  }
};

struct Box {
  std::vector<int> low, high;  // (n_columns) cells
};

__extension__ typedef __int128 i128;

// Distances between places of arrays are int here; an array is indexed by std::size_t.
inline std::size_t z(int i) { return static_cast<std::size_t>(i); }

}  // namespace proofwood::votes
