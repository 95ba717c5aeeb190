// What the arrays of an ensemble imply: the tree of a leaf, the leaves that need a literal, the limits per column.
//
// Theory: docs/theory/explanations.md, "The grid".
#include "votes/model.hpp"

#include <algorithm>
#include <numeric>

namespace proofwood::votes {

void Model::index() {
  first.assign(z(n_columns) + 1, 0);
  for (int c = 0; c < n_columns; ++c) first[z(c) + 1] = first[z(c)] + cells[z(c)];
  n_variables = first[z(n_columns)];
  column_of.resize(z(n_variables));
  for (int c = 0; c < n_columns; ++c)
    for (int v = first[z(c)]; v < first[z(c) + 1]; ++v) column_of[z(v)] = c;
  tree_of.resize(z(n_leaves));
  for (int t = 0; t < n_trees; ++t)
    for (int leaf = leaves_of[z(t)]; leaf < leaves_of[z(t) + 1]; ++leaf) tree_of[z(leaf)] = t;
  needing_of.assign(2 * z(n_variables) + 1, 0);
  for (const Literal l : needs) ++needing_of[z(l) + 1];
  std::partial_sum(needing_of.begin(), needing_of.end(), needing_of.begin());
  needing.resize(needs.size());
  std::vector<int> next(needing_of.begin(), needing_of.end() - 1);
  for (int leaf = 0; leaf < n_leaves; ++leaf)
    for (int i = needs_of[z(leaf)]; i < needs_of[z(leaf) + 1]; ++i) needing[z(next[z(needs[z(i)])]++)] = leaf;
  std::vector<std::vector<Limit>> by_column(z(n_columns));
  for (int leaf = 0; leaf < n_leaves; ++leaf)
    for (int i = needs_of[z(leaf)]; i < needs_of[z(leaf) + 1]; ++i) {
      const int v = needs[z(i)] >> 1, c = column_of[z(v)], cut = v - first[z(c)];
      auto& column = by_column[z(c)];
      if (column.empty() || column.back().leaf != leaf) column.push_back({leaf, 0, cells[z(c)]});
      if ((needs[z(i)] & 1) != 0) {
        column.back().high = std::min(column.back().high, cut);
      } else {
        column.back().low = std::max(column.back().low, cut + 1);
      }
    }
  limits_of.assign(1, 0);
  for (const auto& column : by_column) {
    limits.insert(limits.end(), column.begin(), column.end());
    limits_of.push_back(static_cast<int>(limits.size()));
  }
  in_clause.assign(z(n_columns), 0);
  for (const auto& clause : clauses)
    for (const Literal l : clause) in_clause[z(column_of[z(l >> 1)])] = 1;
}

}  // namespace proofwood::votes
