// Trees whose tests are literals over the cells of the grid: their leaves with what these need, and sums of rows.
//
// Theory: docs/theory/explanations.md, "The grid". A readable twin is in tests/naive_leaves.py.
#pragma once

#include <cstddef>
#include <vector>

#include "common/integers.hpp"

namespace proofwood::votes {

constexpr i64 kAlways = -2;  // tests that every row answers alike, in place of a literal (grid.py)
constexpr i64 kNever = -3;

// All nodes of all trees, one tree after the other; children are numbered within their tree, whose root is 0.
class CellTrees {
 public:
  // A test goes low where its literal holds. Nodes without a test (inner is 0) are leaves.
  struct Given {
    std::vector<i32> cells;   // (n_columns) number of thresholds
    std::vector<i64> begins;  // (n_trees + 1) first node of each tree
    const i64* literals;
    const u8* inner;
    const i64* low;
    const i64* high;
  };

  // Throws std::invalid_argument if a walk could leave the arrays; that it ends is checked as it goes.
  explicit CellTrees(const Given& given);

  std::size_t columns() const { return cells_.size(); }
  std::size_t nodes() const { return nodes_.size(); }
  std::size_t trees() const { return begins_.size() - 1; }

  // Leaves that some cells reach, tree by tree and level by level, those of the low sides of a level first.
  struct Leaves {
    std::vector<i64> counts;  // (n_trees)
    std::vector<i64> nodes;   // within the tree; a node that several walks reach is a leaf for each
    std::vector<i64> sizes;   // number of needs of each
    std::vector<i64> needs;   // literals, per column at most one of each direction, columns ascending
  };
  Leaves leaves() const;

  // The leaf of a tree that a row of cells (n_columns) gets to, numbered within the tree.
  i32 reached(std::size_t tree, const i64* cells) const;

  // sums[row] += values[leaf] over all trees, for rows of cells (n_rows, n_columns) and values (nodes, n_scores).
  void add_sums(const i64* cells, std::size_t rows, const i64* values, std::size_t scores, i64* sums) const;

 private:
  enum class Kind : u8 { kLeaf, kAbove, kUpTo, kLow, kHigh };
  struct Node {
    Kind kind;
    i32 column;
    i32 cut;  // kAbove: cells above it go low; kUpTo: cells up to it do
    i32 low, high;
  };
  struct Range {  // cells of a column that reach a node
    i32 column, low, high;
  };
  struct Level {  // nodes that are reached, and where the ranges of each end
    std::vector<i32> nodes;
    std::vector<std::size_t> ends;
    std::vector<Range> ranges;
  };

  Node read(const Given& given, i64 node, i64 size) const;
  void add_leaves(std::size_t tree, Leaves& found) const;
  void add_leaf(i32 node, const Range* begin, const Range* end, Leaves& found) const;
  // Adds the node with these ranges to a level, the column of the test narrowed; not if nothing is left of it.
  void descend(const Node& test, bool low, const Range* begin, const Range* end, Level& next) const;

  std::vector<i32> cells_;
  std::vector<i64> first_;  // (n_columns + 1) first variable of each column
  std::vector<i64> begins_;
  std::vector<Node> nodes_;
};

}  // namespace proofwood::votes
