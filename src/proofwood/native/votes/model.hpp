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

struct Box {
  std::vector<int> low, high;  // (n_columns) cells
  bool operator==(const Box& other) const = default;
};

// What a row must reach: the sum over its leaves of `gain` is at least `need`. From `sure` on rounding changes nothing.
struct Lead {
  std::vector<std::int64_t> gain;  // (n_leaves)
  std::int64_t need = 0, sure = 0;
};

// A class that is to come before another one: least difference of their sums, and the one from which on rounding is no
// matter.
struct Contest {
  int winner, loser;
  std::int64_t least, sure = 0;
  bool operator==(const Contest& other) const = default;
};

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

  Box whole() const { return {std::vector<int>(cells.size(), 0), cells}; }
  Lead lead(const Contest& contest) const;
  void index();  // fills what the arrays above imply
  bool holds(Literal literal, const std::vector<int>& row) const {
    const std::size_t v = static_cast<std::size_t>(literal >> 1), c = static_cast<std::size_t>(column_of[v]);
    return (row[c] > static_cast<int>(v) - first[c]) == ((literal & 1) == 0);
  }
  // Whether no row of a box satisfies a literal; whether some do and some do not.
  bool fails(Literal literal, const Box& box) const {
    const std::size_t v = static_cast<std::size_t>(literal >> 1), c = static_cast<std::size_t>(column_of[v]);
    const int cut = static_cast<int>(v) - first[c];
    return (literal & 1) != 0 ? box.low[c] > cut : box.high[c] <= cut;
  }
  bool open(Literal literal, const Box& box) const { return !fails(literal, box) && !fails(literal ^ 1, box); }
  // Leaves out the rows that do not; whether there were any.
  bool narrow(Box& box, Literal literal) const;
  bool reaches(const std::vector<int>& row, int leaf) const;
};

__extension__ typedef __int128 i128;

// Distances between places of arrays are int here; an array is indexed by std::size_t.
inline std::size_t z(int i) { return static_cast<std::size_t>(i); }

}  // namespace proofwood::votes
