// What the arrays of an ensemble imply: leads, the tree of a leaf, leaves that need a literal, limits per column.
//
// Theory: docs/theory/explanations.md, "The grid".
#include "votes/model.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace proofwood::votes {

Lead Model::lead(const Contest& contest) const {
  Lead lead;
  const std::size_t classes = z(n_classes), k = z(contest.winner), c = z(contest.loser);
  lead.gain.reserve(z(n_leaves));
  for (std::size_t leaf = 0; leaf < z(n_leaves); ++leaf)
    lead.gain.push_back(scores[leaf * classes + k] - scores[leaf * classes + c]);
  lead.need = contest.least - (base[k] - base[c]);
  lead.sure = contest.sure - (base[k] - base[c]);
  return lead;
}

bool Model::narrow(Box& box, Literal literal) const {
  if (fails(literal ^ 1, box)) return false;
  const int c = column_of[z(literal >> 1)], cut = (literal >> 1) - first[z(c)];
  if ((literal & 1) != 0)
    box.high[z(c)] = cut;
  else
    box.low[z(c)] = cut + 1;
  return true;
}

bool Model::reaches(const std::vector<int>& row, int leaf) const {
  return std::all_of(needs.begin() + needs_of[z(leaf)], needs.begin() + needs_of[z(leaf) + 1],
                     [&](Literal need) { return holds(need, row); });
}

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
  // Limits are counted before they are placed: a large forest has millions.
  std::vector<int> leaf_of(z(n_columns), -1);
  limits_of.assign(z(n_columns) + 1, 0);
  for (int leaf = 0; leaf < n_leaves; ++leaf)
    for (int i = needs_of[z(leaf)]; i < needs_of[z(leaf) + 1]; ++i) {
      const int c = column_of[z(needs[z(i)] >> 1)];
      if (std::exchange(leaf_of[z(c)], leaf) != leaf) ++limits_of[z(c) + 1];
    }
  std::partial_sum(limits_of.begin(), limits_of.end(), limits_of.begin());
  limits.resize(z(limits_of.back()));
  next.assign(limits_of.begin(), limits_of.end() - 1);
  leaf_of.assign(z(n_columns), -1);
  for (int leaf = 0; leaf < n_leaves; ++leaf)
    for (int i = needs_of[z(leaf)]; i < needs_of[z(leaf) + 1]; ++i) {
      const int v = needs[z(i)] >> 1, c = column_of[z(v)], cut = v - first[z(c)];
      if (std::exchange(leaf_of[z(c)], leaf) != leaf) limits[z(next[z(c)]++)] = {leaf, 0, cells[z(c)]};
      Limit& limit = limits[z(next[z(c)] - 1)];
      if ((needs[z(i)] & 1) != 0) {
        limit.high = std::min(limit.high, cut);
      } else {
        limit.low = std::max(limit.low, cut + 1);
      }
    }
  in_clause.assign(z(n_columns), 0);
  for (const auto& clause : clauses)
    for (const Literal l : clause) in_clause[z(column_of[z(l >> 1)])] = 1;
}

}  // namespace proofwood::votes
