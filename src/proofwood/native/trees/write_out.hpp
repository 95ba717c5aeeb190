// Writes the tree of a plan as nodes (docs/theory/optimal-trees.md, "What "proved" means").
#pragma once

#include <optional>
#include <vector>

#include "trees/plan.hpp"
#include "trees/rows.hpp"
#include "trees/settings.hpp"

namespace proofwood::trees {

struct TreeNode {
  int feature;   // column of the caller, -1 at a leaf
  double value;  // largest value that goes low
  int low, high;
  std::vector<double> levels;  // not empty: the levels that go low, and no value
};

// Nodes in preorder. `all`: all rows of the table. `settings.max_depth` is the depth of the search of the plan.
std::vector<TreeNode> write_out(const Plan& plan, const Table& table, const Rows& all, const Settings& settings);
// What the tree of a plan costs, counted on the rows; nothing if a leaf has less than the minimum, or no row.
std::optional<i64> counted_cost(const Plan& plan, const Table& table, const Rows& all, const Settings& settings);

}  // namespace proofwood::trees
