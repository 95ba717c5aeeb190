// Search over row sets: the trees behind the bounds, as they were found and in the canonical form.
//
// Theory: docs/theory/minimal-trees.md, "Search: dynamic programming over row sets". The problem is that of Avellaneda,
// AAAI 2020 (InferDT); the search is ours.
// The canonical form: docs/decisions/0002-canonical-tree.md.
#include <vector>

#include "minimal/row_sets.hpp"

namespace proofwood::minimal {

// The tree whose root tests were noted when the bounds were proved.
Tree RowSetSearch::known_tree(Subproblem* root, int depth, bool fewest) {
  Tree tree;
  grow_known(tree, std::vector<u64>(cache_.words(root), cache_.words(root) + words_), depth, fewest);
  return tree;
}

void RowSetSearch::grow_known(Tree& tree, const std::vector<u64>& set, int d, bool fewest) {
  const std::size_t node = tree.size();
  tree.push_back({-1, -1, -1});
  if (pure(set.data())) return;
  Subproblem* e = subproblem(set.data());
  int test = -1;
  if (e->two) {
    test = one_test(set.data());
  } else if (fewest) {
    test = at_depth(e, d).test;
  } else {
    if (e->depth_test < 0 && d >= e->depth_upper) e->depth_upper = kNoTree;  // a tree from elsewhere
    feasible(e, d);                                                          // known, unless the cache is off
    d = e->depth_upper;
    test = e->depth_test;
  }
  if (fewest && test < 0) {
    leaves(e, d, kNoTree - 1);
    test = at_depth(e, d).test;
  }
  std::vector<u64> low(words_), high(words_);
  part(set.data(), test, low.data(), high.data());
  if (d != kAnyDepth) --d;
  tree[node].test = rows_.original[at(test)];
  tree[node].low = static_cast<int>(tree.size());
  grow_known(tree, low, d, fewest);
  tree[node].high = static_cast<int>(tree.size());
  grow_known(tree, high, d, fewest);
}

// At every node the least test below which the best is possible in the depth left.
Tree RowSetSearch::canonical_tree(Subproblem* root, int depth, bool fewest) {
  Tree tree;
  grow_canonical(tree, std::vector<u64>(cache_.words(root), cache_.words(root) + words_), depth, fewest);
  return tree;
}

void RowSetSearch::grow_canonical(Tree& tree, const std::vector<u64>& set, int d, bool fewest) {
  const std::size_t node = tree.size();
  tree.push_back({-1, -1, -1});
  if (pure(set.data())) return;
  Subproblem* e = subproblem(set.data());
  std::vector<u64> low(words_), high(words_);
  const int below = d == kAnyDepth ? d : d - 1;
  int test = -1;
  if (e->two && (fewest || d == 1)) {
    test = one_test(set.data());
  } else {
    const int goal = fewest ? leaves(e, d, kNoTree - 1) : 0;
    for (int t = 0; t < rows_.n_tests && test < 0; ++t) {
      board_.check_stop();
      part(set.data(), t, low.data(), high.data());
      if (size_of(low.data()) == 0 || size_of(high.data()) == 0) continue;
      Subproblem* one = pure(low.data()) ? nullptr : subproblem(low.data());
      Subproblem* other = pure(high.data()) ? nullptr : subproblem(high.data());
      if (fewest) {
        int a = leaves_bound(one, below), b = leaves_bound(other, below);
        if (a + b > goal) continue;
        if (one != nullptr) a = leaves(one, below, goal - b);
        if (a + b > goal) continue;
        if (other != nullptr) b = leaves(other, below, goal - a);
        if (a + b <= goal) test = t;
      } else if ((one == nullptr || feasible(one, below)) && (other == nullptr || feasible(other, below))) {
        test = t;
      }
    }
  }
  part(set.data(), test, low.data(), high.data());
  tree[node].test = rows_.original[at(test)];
  tree[node].low = static_cast<int>(tree.size());
  grow_canonical(tree, low, below, fewest);
  tree[node].high = static_cast<int>(tree.size());
  grow_canonical(tree, high, below, fewest);
}

}  // namespace proofwood::minimal
