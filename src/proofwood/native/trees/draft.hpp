// A tree in work: every split and every label is known, so that a row can be sent down any part of it
// (docs/theory/optimal-trees.md, "First trees").
#pragma once

#include <vector>

#include "trees/plan.hpp"
#include "trees/settings.hpp"
#include "trees/table.hpp"

namespace proofwood::trees {

struct Draft {
  struct Node {
    int low = -1, high = -1;  // places of the children; -1: a leaf
    u32 feature = 0, key = 0;
    LevelSet levels = 0;       // not empty: `feature` is tested by sets, and these levels go low
    u32 label = 0;             // of a leaf
    bool wants_stump = false;  // a leaf in whose place the best stump is to stand
    bool is_leaf() const { return low < 0; }
  };
  std::vector<Node> nodes{1};  // the root first
  i64 cost = kInfinite;

  Node& at(int node) { return nodes[static_cast<std::size_t>(node)]; }
  const Node& at(int node) const { return nodes[static_cast<std::size_t>(node)]; }

  void split(int node, u32 feature, u32 key, LevelSet levels);  // a leaf, into two
  void graft(int node, const Plan& plan);                       // in place of what stands there
  void graft(int node, const Draft& from, int root);
  int height(int node) const;
  int leaves(int node) const;
  PlanPtr plan(int node = 0) const;

  bool goes_low(const Table& table, const Node& node, u32 row) const {
    if (node.levels == 0) return table.rank[node.feature][row] <= node.key >> kLabelBits;
    return contains(node.levels, table.levels[node.feature - table.n_features].code[row]);
  }
  int child(const Table& table, int node, u32 row) const {
    const Node& here = at(node);  // the high child stands after the low one
    return here.low + static_cast<int>(!goes_low(table, here, row));
  }
  int leaf(const Table& table, int from, u32 row) const {
    while (!at(from).is_leaf()) from = child(table, from, row);
    return from;
  }
};

Draft draft_of(const Plan& plan);

}  // namespace proofwood::trees
