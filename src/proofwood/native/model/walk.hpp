// Rows that walk down a table of tests, as proofwood.model.evaluate describes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/integers.hpp"

namespace proofwood::walk {

constexpr i64 kLeaf = -1;
constexpr i64 kOblique = -2;

// The arrays of a NodeTable, not owned. The codes of node v that go low are codes[codes_begin[v]] up to
// codes[codes_begin[v + 1]], ascending; the weighted sum of an oblique node is stored in the same way.
struct Graph {
  std::size_t nodes;
  const i64* feature;
  const double* threshold;
  const i64* low;
  const i64* high;
  const u8* missing_low;
  const u8* by_levels;
  const i64* codes_begin;
  const double* codes;
  const i64* sum_begin;
  const i64* sum_columns;
  const double* sum_values;
};

// Throws std::invalid_argument if the walk of some row of this many columns could leave the arrays, or go on for ever.
void check(const Graph& graph, std::size_t columns, std::size_t codes, std::size_t sums);

// Values of rows: that of row r in column c is first[r * row_step + c * column_step].
struct Values {
  const double* first;
  std::size_t rows;
  std::size_t columns;
  i64 row_step;
  i64 column_step;
};

// The leaf of each row.
void leaves(const Graph& graph, const Values& x, i64* leaf);

// All nodes that the rows visit, from the root to the leaf, row by row; those of row r begin at begin[r].
struct Paths {
  std::vector<i64> begin;
  std::vector<i64> nodes;
};
Paths paths(const Graph& graph, const Values& x);

// What the rows bring to each node that they visit: weight[node * classes + code of the row] and the number of rows.
// Sums are exact if the weights are integers whose total a double holds.
void add_visits(const Graph& graph, const Values& x, const i64* codes, const double* weights, std::size_t classes,
                double* weight, i64* visits);

// Largest value up to, and smallest value above the threshold of each node, among the rows that reach it and those
// before, which `below` and `above` hold; NaN is none. Nodes that compare no single column are left alone.
void add_neighbours(const Graph& graph, const Values& x, double* below, double* above);

}  // namespace proofwood::walk
