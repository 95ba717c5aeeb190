// Smallest trees by refining witness trees (Staus, Komusiewicz, Sommer, Sorge, AAAI 2025,
// after Komusiewicz et al. 2023).
//
// Theory: docs/theory/minimal-trees.md, "Witness trees".
//
// Every leaf of the tree at hand has a label and a WITNESS, a group that the tree we look for, T, sends to a leaf of
// this label; T contains the tree at hand: the paths of the witnesses in T branch at its inner nodes. A group e is
// dirty if its leaf's label is not the one it has in T. In T, its path leaves that of the witness w of its leaf at
// exactly one node; that node lies above exactly one node u on the way from the root to the leaf, and its test parts e
// from all witnesses below u. So T contains exactly one of the trees made by putting such a test above such a u, with a
// new leaf for e: trying all of them misses nothing and meets no tree twice. No leaf is ever lost, so k leaves take
// k - 1 steps.
//
// Departures from the paper: any number of classes; a limit on the depth (a refinement never makes a leaf less deep);
// and permitted cost: the label that e has in T is chosen first, at its cost, and may be the label of its leaf.
#include <algorithm>
#include <bit>

#include "minimal/minimal.hpp"

namespace proofwood::minimal {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct Node {
  int test, low, high, parent;
  int label, witness;  // of a leaf
};

struct Witnessed {  // a tree of witnesses; node 0 need not be the root
  std::vector<Node> nodes;
  std::vector<u64> sets;    // (nodes, words) groups that reach each node
  std::vector<int> chosen;  // (n) label of the group in the tree we look for, -1: any of cost 0
  i64 spent = 0;            // cost of the chosen labels
  int root = 0, leaves = 1;
};

class WitnessSearch {
 public:
  WitnessSearch(const Rows& rows, Board& board)
      : rows_(rows), board_(board), words_(at(rows.words)), test_words_(at(rows.test_words)) {}

  void run() {
    const Minimize minimize = board_.settings.minimize;
    const int max_depth = board_.settings.max_depth;
    std::vector<u64> all(words_, 0);
    for (int r = 0; r < rows_.n; ++r) all[at(r) >> 6] |= u64{1} << (r & 63);
    const int fewest = rows_.leaf_cost(all.data()) <= board_.settings.slack ? 1 : 2;
    depth_limit_ = max_depth;
    if (minimize != Minimize::kNodesAnyDepth || max_depth < rows_.n - 1) {
      const bool least = minimize != Minimize::kNodesAnyDepth;
      int depth = least ? (fewest == 1 ? 0 : 1) : max_depth;
      for (;; ++depth) {
        board_.raise_depth(least ? depth : 0);
        if (depth > max_depth) return board_.infeasible();
        board_.raise_nodes(least ? 2 * (depth + 1) - 1 : 1);
        depth_limit_ = depth;
        if (solve(depth < 24 ? std::min(1 << depth, rows_.n) : rows_.n)) break;
        if (!least) {
          board_.raise_depth(depth + 1);
          return board_.infeasible();
        }
      }
      if (least) {
        if (minimize == Minimize::kDepth)
          board_.put_canonical(found_);
        else
          board_.offer(found_);  // the tree at hand may be as shallow, and have fewer nodes
        board_.depth_is(depth);
        if (minimize == Minimize::kDepth) return;
      } else {
        board_.offer(found_);
      }
    }
    for (int leaves = std::max(fewest, (board_.state().nodes_lower + 1) / 2);; ++leaves) {
      board_.raise_nodes(2 * leaves - 1);
      if (!solve(leaves)) continue;
      board_.nodes_are(2 * leaves - 1);
      board_.put_canonical(found_);
      return;
    }
  }

 private:
  i64 cost(int row, int label) const { return rows_.cost[at(row) * at(rows_.n_classes) + at(label)]; }
  bool on_high(int row, int test) const { return (rows_.bits(row)[test >> 6] >> (test & 63) & 1) != 0; }

  // Whether a tree of at most `leaves` leaves within the depth exists; then it is in found_.
  bool solve(int leaves) {
    most_ = leaves;
    for (int label = 0; label < rows_.n_classes; ++label) {
      Witnessed tree;
      if (cost(0, label) > board_.settings.slack) continue;
      tree.nodes.push_back({-1, -1, -1, -1, label, 0});
      tree.sets.assign(words_, 0);
      for (int r = 0; r < rows_.n; ++r) tree.sets[at(r) >> 6] |= u64{1} << (r & 63);
      tree.chosen.assign(at(rows_.n), -1);
      tree.chosen[0] = label;
      tree.spent = cost(0, label);
      if (refine(tree)) return true;
    }
    return false;
  }

  bool dirty(const Witnessed& tree, int row, int label) const {
    return tree.chosen[at(row)] >= 0 ? tree.chosen[at(row)] != label : cost(row, label) != 0;
  }

  template <class F>
  void each_row(const u64* set, const F& f) const {
    for (std::size_t w = 0; w < words_; ++w)
      for (u64 left = set[w]; left != 0; left &= left - 1) f(static_cast<int>(w * 64) + std::countr_zero(left));
  }

  struct Dirty {
    int row, leaf;
  };

  bool refine(const Witnessed& tree) {
    board_.check_stop();
    ++board_.counts[kRefinements];
    std::vector<Dirty> rows;
    for (int v = 0; v < static_cast<int>(tree.nodes.size()); ++v) {
      const Node& leaf = tree.nodes[at(v)];
      if (leaf.test >= 0) continue;
      each_row(&tree.sets[at(v) * words_], [&](int row) {
        if (dirty(tree, row, leaf.label)) rows.push_back({row, v});
      });
    }
    if (rows.empty()) {
      found_ = preorder(tree);
      return true;
    }
    const i64 left = board_.settings.slack - tree.spent;
    const int spare = most_ - tree.leaves;
    if (left == 0 && pruned(tree, rows, spare)) return false;
    // The last leaf must take all dirty groups: one that does not move stays dirty.
    const bool last = board_.settings.rules.last_leaf && left == 0 && spare == 1;
    const Dirty next = last ? rows.front() : fewest_ways(tree, rows);
    std::vector<u64> same, movers;  // tests that send all dirty groups to one side; these groups
    if (last) {
      same.assign(test_words_, ~u64{0});
      movers.assign(words_, 0);
      for (const Dirty& d : rows) {
        movers[at(d.row) >> 6] |= u64{1} << (d.row & 63);
        for (std::size_t w = 0; w < test_words_; ++w) same[w] &= ~(rows_.bits(d.row)[w] ^ rows_.bits(next.row)[w]);
      }
    }
    const int label_here = tree.nodes[at(next.leaf)].label, fixed = tree.chosen[at(next.row)];
    for (int label = 0; label < rows_.n_classes; ++label) {
      if (fixed >= 0 && label != fixed) continue;
      const i64 price = fixed >= 0 ? 0 : cost(next.row, label);
      if (price > left) continue;
      if (label == label_here) {
        Witnessed given_up = tree;
        given_up.chosen[at(next.row)] = label;
        given_up.spent += price;
        if (refine(given_up)) return true;
      } else if (spare > 0 && insert_everywhere(tree, next, label, price, same, movers)) {
        return true;
      }
    }
    return false;
  }

  // Without permitted cost: a dirty group and the witness of its leaf are parted by a new inner node, and so are pairs
  // whose differences have no test in common by different ones, which there must be leaves to spare for.
  bool pruned(const Witnessed& tree, const std::vector<Dirty>& rows, int spare) {
    if (spare == 0) return true;
    if (!board_.settings.rules.packing_bound) return false;
    std::vector<u64> used(test_words_, 0);
    int packed = 0;
    for (const Dirty& d : rows) {
      const u64 *a = rows_.bits(d.row), *b = rows_.bits(tree.nodes[at(d.leaf)].witness);
      u64 common = 0;
      for (std::size_t w = 0; w < test_words_ && common == 0; ++w) common = (a[w] ^ b[w]) & used[w];
      if (common != 0) continue;
      if (++packed > spare) return true;
      for (std::size_t w = 0; w < test_words_; ++w) used[w] |= a[w] ^ b[w];
    }
    return false;
  }

  // Tests that part a group from all witnesses below a node.
  void narrow(const Witnessed& tree, int row, int v, std::vector<u64>& tests) const {
    const Node& node = tree.nodes[at(v)];
    if (node.test >= 0) {
      narrow(tree, row, node.low, tests);
      narrow(tree, row, node.high, tests);
      return;
    }
    const u64 *a = rows_.bits(row), *b = rows_.bits(node.witness);
    for (std::size_t w = 0; w < test_words_; ++w) tests[w] &= a[w] ^ b[w];
  }

  // Calls f(u, tests) for the nodes u above the leaf, itself included, with the tests that may be put above u.
  template <class F>
  void each_place(const Witnessed& tree, const Dirty& d, const F& f) const {
    std::vector<u64> tests(test_words_, ~u64{0});
    narrow(tree, d.row, d.leaf, tests);
    for (int u = d.leaf;;) {
      f(u, tests);
      const int above = tree.nodes[at(u)].parent;
      if (above < 0) return;
      narrow(tree, d.row, tree.nodes[at(above)].low == u ? tree.nodes[at(above)].high : tree.nodes[at(above)].low,
             tests);
      u = above;
    }
  }

  // The dirty group with the fewest refinements: the paper's dirty example priority.
  Dirty fewest_ways(const Witnessed& tree, const std::vector<Dirty>& rows) const {
    Dirty best = rows.front();
    int fewest = -1;
    for (const Dirty& d : rows) {
      board_.check_stop();
      int ways = 0;
      each_place(tree, d, [&](int, const std::vector<u64>& tests) {
        for (const u64 word : tests) ways += std::popcount(word);
      });
      if (fewest >= 0 && ways >= fewest) continue;
      fewest = ways;
      best = d;
    }
    return best;
  }

  struct Way {
    int u, test, score;
  };

  // `same` and `movers`, unless empty, limit the tests and say which groups all have to move.
  bool insert_everywhere(const Witnessed& tree, const Dirty& d, int label, i64 price, const std::vector<u64>& same,
                         const std::vector<u64>& movers) {
    std::vector<Way> ways;
    std::vector<std::vector<u64>> seen;
    std::vector<u64> gone(words_);
    each_place(tree, d, [&](int u, const std::vector<u64>& tests) {
      seen.clear();
      for (std::size_t w = 0; w < movers.size(); ++w)
        if ((movers[w] & ~tree.sets[at(u) * words_ + w]) != 0) return;
      for (std::size_t w = 0; w < test_words_; ++w)
        for (u64 left = same.empty() ? tests[w] : tests[w] & same[w]; left != 0; left &= left - 1) {
          board_.check_stop();
          const int t = static_cast<int>(w * 64) + std::countr_zero(left);
          const bool high = on_high(d.row, t);
          for (std::size_t v = 0; v < words_; ++v)
            gone[v] = tree.sets[at(u) * words_ + v] & (high ? rows_.high(t)[v] : ~rows_.high(t)[v]);
          if (board_.settings.rules.same_split) {  // the same groups would move: the trees we look for are as good
            if (std::find(seen.begin(), seen.end(), gone) != seen.end()) continue;
            seen.push_back(gone);
          }
          int score = 0;
          each_row(gone.data(), [&](int row) { score += dirty(tree, row, label) ? -1 : 1; });
          ways.push_back({u, t, score});
        }
    });
    std::stable_sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) { return a.score > b.score; });
    return std::any_of(ways.begin(), ways.end(), [&](const Way& way) {
      Witnessed next = tree;
      next.spent += price;
      insert(next, way.u, way.test, d.row, label);
      return within_depth(next) && refine(next);
    });
  }

  // Puts a test above u, with a new leaf on the side of `row`.
  void insert(Witnessed& tree, int u, int test, int row, int label) const {
    const int inner = static_cast<int>(tree.nodes.size()), leaf = inner + 1;
    const int above = tree.nodes[at(u)].parent;
    const bool high = on_high(row, test);
    tree.nodes.push_back({test, high ? u : leaf, high ? leaf : u, above, -1, -1});
    tree.nodes.push_back({-1, -1, -1, inner, label, row});
    if (above < 0)
      tree.root = inner;
    else if (tree.nodes[at(above)].low == u)
      tree.nodes[at(above)].low = inner;
    else
      tree.nodes[at(above)].high = inner;
    tree.nodes[at(u)].parent = inner;
    tree.chosen[at(row)] = label;
    ++tree.leaves;
    tree.sets.resize(tree.nodes.size() * words_);
    for (std::size_t w = 0; w < words_; ++w) tree.sets[at(inner) * words_ + w] = tree.sets[at(u) * words_ + w];
    send(tree, inner);
  }

  void send(Witnessed& tree, int v) const {
    const Node node = tree.nodes[at(v)];
    if (node.test < 0) return;
    const u64* bits = rows_.high(node.test);
    for (std::size_t w = 0; w < words_; ++w) {
      const u64 here = tree.sets[at(v) * words_ + w];
      tree.sets[at(node.low) * words_ + w] = here & ~bits[w];
      tree.sets[at(node.high) * words_ + w] = here & bits[w];
    }
    send(tree, node.low);
    send(tree, node.high);
  }

  bool within_depth(Witnessed& tree) const {
    if (depth_limit_ == kAnyDepth) return true;
    return depth_below(tree, tree.root) <= depth_limit_;
  }
  int depth_below(const Witnessed& tree, int v) const {
    const Node& node = tree.nodes[at(v)];
    return node.test < 0 ? 0 : 1 + std::max(depth_below(tree, node.low), depth_below(tree, node.high));
  }

  Tree preorder(const Witnessed& witnessed) const {
    Tree tree;
    write(tree, witnessed, witnessed.root);
    return tree;
  }
  void write(Tree& tree, const Witnessed& witnessed, int v) const {
    const std::size_t place = tree.size();
    const Node& node = witnessed.nodes[at(v)];
    tree.push_back({-1, -1, -1});
    if (node.test < 0) return;
    tree[place].test = rows_.original[at(node.test)];
    tree[place].low = static_cast<int>(tree.size());
    write(tree, witnessed, node.low);
    tree[place].high = static_cast<int>(tree.size());
    write(tree, witnessed, node.high);
  }

  const Rows& rows_;
  Board& board_;
  std::size_t words_, test_words_;
  int most_ = 1, depth_limit_ = kAnyDepth;
  Tree found_;
};

}  // namespace

void search_witness(const Rows& rows, Board& board) { WitnessSearch(rows, board).run(); }

}  // namespace proofwood::minimal
