// Dynamic programming over sets of groups when some cost is permitted: a subproblem is a set, a depth and a budget.
//
// Theory: docs/theory/minimal-trees.md, "Search: dynamic programming over row sets" (max_errors).
//
// c_d(S) is the least cost of a tree of depth <= d, f_d(S, s) the fewest leaves of one of cost <= s. A tree of cost
// u <= s with f_d(S, s) leaves shows that f_d(S, .) is constant from u to s, so of the ways to share a budget between
// the sides only those matter that give the low side what a tree of it uses: after one has failed, the next gives it
// less than that.
//
//   budget s of the low side     0   1   2   3        with budget 3 the low side's tree of 2 leaves costs 1: budgets 2
//   f_d(low, s)                  4   2   2   2        and 1 need not be tried again, the next is 0
#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "minimal/minimal.hpp"

namespace proofwood::minimal {

namespace {

using Set = std::pmr::vector<u64>;

struct HashSet {
  std::size_t operator()(const Set& set) const {
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(set.data()), set.size() * sizeof(u64)});
  }
};

struct Cost {  // c_d of one set
  i64 lower = 0;
  bool exact = false;
  int test = -1;  // -1: a leaf
};

struct Fewest {  // f_d of one set and budget
  int lower = 2;
  bool exact = false;
  int test = -1;
  i64 used = 0, low_budget = 0, high_budget = 0;  // cost of the tree at hand, and what its sides were given
};

struct Entry {
  explicit Entry(std::pmr::memory_resource* memory) : costs(memory), fewest(memory) {}
  const Set* set = nullptr;
  i64 leaf = 0;
  int size = 0;
  std::pmr::vector<Cost> costs;                       // by depth
  std::pmr::map<std::pair<i64, int>, Fewest> fewest;  // by budget and depth
};

// Millions of entries, which would take seconds to take apart: all of them lie in one arena that is given back whole.
class Entries {
 public:
  Entries() : known_(make<Known>(&arena_)) {}
  Entry* find(const Set& set) const {
    const auto place = known_->find(set);
    return place == known_->end() ? nullptr : place->second;
  }
  Entry* add(const Set& set, bool keep) {
    Entry* fresh = make<Entry>(&arena_);
    fresh->set = keep ? &known_->emplace(set, fresh).first->first : make<Set>(set, &arena_);
    return fresh;
  }

 private:
  using Known = std::pmr::unordered_map<Set, Entry*, HashSet>;
  template <class T, class... Given>
  T* make(Given&&... given) {  // never destroyed
    return new (arena_.allocate(sizeof(T), alignof(T))) T(std::forward<Given>(given)...);
  }
  std::pmr::monotonic_buffer_resource arena_{std::size_t{1} << 16};
  Known* known_;
};

struct Sides {
  int test;
  Entry *low, *high;
};

class SlackSearch : public Resumable {
 public:
  SlackSearch(const Rows& rows, Board& board) : rows_(rows), board_(board), rules_(board.settings.rules) {}

  void run() override {
    Set all(at(rows_.words), 0);
    for (int r = 0; r < rows_.n; ++r) all[at(r) >> 6] |= u64{1} << (r & 63);
    Entry* root = entry(all);
    int depth = kAnyDepth;
    if (board_.settings.minimize == Minimize::kNodesAnyDepth) {
      if (!within_limit(root, depth)) return;
    } else {
      if (!least_depth(root, depth) || board_.settings.minimize == Minimize::kDepth) return;
    }
    fewest_leaves(root, depth);
  }

 private:
  // A second search begins with what is known, and a tree that meets the bound ends it.
  bool at_hand(int depth, int nodes) const {
    const State state = board_.state();
    return !board_.settings.start.empty() && state.depth >= 0 && state.depth <= depth && state.nodes <= nodes;
  }

  // False if no tree is shallow enough, where there is a limit.
  bool within_limit(Entry* root, int& depth) {
    if (board_.settings.max_depth >= rows_.n - 1) return true;
    depth = board_.settings.max_depth;
    if (at_hand(depth, kNoTree)) return true;
    if (!affordable(root, depth)) {
      board_.infeasible();
      return false;
    }
    Tree tree;
    grow_cheapest(tree, root, depth);
    board_.offer(tree);
    return true;
  }

  // False if the least depth is beyond the limit.
  bool least_depth(Entry* root, int& depth) {
    for (depth = board_.state().depth_lower; !at_hand(depth, kNoTree) && !affordable(root, depth); ++depth)
      if (depth == board_.settings.max_depth) {
        board_.infeasible();
        return false;
      }
    if (!at_hand(depth, kNoTree)) {
      Tree tree;
      grow_cheapest(tree, root, depth);
      if (board_.settings.minimize == Minimize::kDepth)
        board_.put_canonical(tree);
      else
        board_.offer(tree);  // the tree at hand may be as shallow, and have fewer nodes
    }
    board_.depth_is(depth);
    return true;
  }

  // Whether a tree of the depth is right enough; what follows if not.
  bool affordable(Entry* root, int depth) {
    if (least_cost(root, depth, board_.settings.slack) <= board_.settings.slack) return true;
    board_.raise_depth(depth + 1);
    board_.raise_nodes(2 * (depth + 2) - 1);
    return false;
  }

  void fewest_leaves(Entry* root, int depth) {
    const i64 slack = board_.settings.slack;
    int leaves = root->leaf <= slack ? 1 : std::max(2, (board_.state().nodes_lower + 1) / 2);
    for (;; ++leaves) {
      board_.raise_nodes(2 * leaves - 1);
      if (at_hand(depth, 2 * leaves - 1)) return board_.nodes_are(2 * leaves - 1);
      if (fewest(root, slack, depth, leaves) <= leaves) break;
    }
    Tree tree;
    grow_fewest(tree, root, slack, depth);
    board_.nodes_are(static_cast<int>(tree.size()));
    board_.put_canonical(tree);
  }

  Entry* entry(const Set& set) {
    if (rules_.cache) {
      if (Entry* const known = entries_.find(set)) {
        ++board_.counts[kHits];
        return known;
      }
    }
    ++board_.counts[kSubproblems];
    used_ += sizeof(Entry) + 128 + set.size() * sizeof(u64);
    if (used_ > board_.settings.memory) board_.end_for_memory();
    Entry* const result = entries_.add(set, rules_.cache);
    result->leaf = rows_.leaf_cost(set.data());
    for (const u64 word : set) result->size += std::popcount(word);
    return result;
  }

  std::vector<Sides> sides(const Entry* e) {
    std::vector<Sides> result;
    Set low(at(rows_.words)), high(at(rows_.words));
    for (int t = 0; t < rows_.n_tests; ++t) {
      board_.check_stop();
      u64 some_low = 0, some_high = 0;
      for (std::size_t w = 0; w < low.size(); ++w) {
        some_low |= low[w] = (*e->set)[w] & ~rows_.high(t)[w];
        some_high |= high[w] = (*e->set)[w] & rows_.high(t)[w];
      }
      if (some_low == 0 || some_high == 0) continue;
      Sides fresh{t, entry(low), entry(high)};
      if (rules_.same_split && rules_.cache) {
        const bool known = std::any_of(result.begin(), result.end(), [&](const Sides& other) {
          return (other.low == fresh.low && other.high == fresh.high) ||
                 (other.low == fresh.high && other.high == fresh.low);
        });
        if (known) continue;
      }
      result.push_back(fresh);
    }
    std::stable_sort(result.begin(), result.end(), [](const Sides& a, const Sides& b) {
      return a.low->leaf + a.high->leaf < b.low->leaf + b.high->leaf;
    });
    return result;
  }

  Cost& cost(Entry* e, int d) {
    if (e->costs.size() <= at(d)) e->costs.resize(at(d) + 1);
    Cost& c = e->costs[at(d)];
    if (d == 0 || e->leaf == 0) {
      c.lower = e->leaf;
      c.exact = true;
    }
    return c;
  }

  // c_d of the set if that is at most cap, else a lower bound on it greater than cap.
  i64 least_cost(Entry* e, int d, i64 cap) {
    {
      const Cost& c = cost(e, d);
      if (c.exact || c.lower > cap) return c.lower;
    }
    board_.check_stop();
    ++board_.counts[kExpanded];
    i64 best = e->leaf;
    int test = -1;
    if (d == 1) {  // no subproblem is made for the leaves below
      best_stump(e, best, test);
      cost(e, d) = {best, true, test};
      return best;
    }
    for (const Sides& side : sides(e)) {
      const i64 room = std::min(cap, best - 1), low_bound = cost(side.low, d - 1).lower,
                high_bound = cost(side.high, d - 1).lower;
      if (room < 0) break;
      if (low_bound + high_bound > room) continue;
      const i64 low = least_cost(side.low, d - 1, room - high_bound);
      if (low + high_bound > room) continue;
      const i64 high = least_cost(side.high, d - 1, room - low);
      if (low + high > room) continue;
      best = low + high;
      test = side.test;
    }
    Cost& c = cost(e, d);
    if (best <= cap) {
      c = {best, true, test};
    } else {
      c.lower = cap + 1;
    }
    return c.lower;
  }

  // Lowers `best` to the cost of the best single test, the first of equals, if that is less.
  void best_stump(const Entry* e, i64& best, int& test) {
    const std::size_t n_classes = at(rows_.n_classes);
    std::vector<i64> all(n_classes, 0), high(n_classes);
    const auto add = [&](std::vector<i64>& sums, std::size_t w, u64 rows) {
      for (; rows != 0; rows &= rows - 1) {
        const i64* costs = &rows_.cost[(w * 64 + at(std::countr_zero(rows))) * n_classes];
        for (std::size_t c = 0; c < n_classes; ++c) sums[c] += costs[c];
      }
    };
    for (std::size_t w = 0; w < e->set->size(); ++w) add(all, w, (*e->set)[w]);
    for (int t = 0; t < rows_.n_tests; ++t) {
      board_.check_stop();
      high.assign(n_classes, 0);
      for (std::size_t w = 0; w < e->set->size(); ++w) add(high, w, (*e->set)[w] & rows_.high(t)[w]);
      i64 least_low = all[0] - high[0], least_high = high[0];
      for (std::size_t c = 1; c < n_classes; ++c) {
        least_low = std::min(least_low, all[c] - high[c]);
        least_high = std::min(least_high, high[c]);
      }
      if (least_low + least_high >= best) continue;
      best = least_low + least_high;
      test = t;
    }
  }

  Fewest& known(Entry* e, i64 budget, int d) {
    const auto [place, fresh] = e->fewest.try_emplace({budget, d});
    if (fresh) {
      used_ += 96;
      if (e->leaf <= budget) place->second = {1, true, -1, e->leaf, 0, 0};
    }
    return place->second;
  }

  // f_d of the set and budget if that is at most cap, else a lower bound on it greater than cap.
  int fewest(Entry* e, i64 budget, int d, int cap) {
    Fewest& mine = known(e, budget, d);  // stays where it is: a node of a map
    if (mine.exact || mine.lower > cap) return mine.lower;
    if (d == 0) return mine.lower = kNoTree;
    board_.check_stop();
    // trees of few leaves are searched sooner than all trees of the depth; where cap <= d + 1 the depth is no limit
    if (cap > std::min(d + 1, 4) && rules_.depth_bound && d != kAnyDepth && least_cost(e, d, budget) > budget) {
      ++board_.counts[kDepthPrunings];
      return mine.lower = kNoTree;
    }
    ++board_.counts[kExpanded];
    const int below = d == kAnyDepth ? d : d - 1;
    const std::vector<Sides> splits = sides(e);
    for (; mine.lower <= cap; ++mine.lower) {
      const int k = mine.lower;
      for (const Sides& side : splits) {
        const int high_bound = known(side.high, budget, below).lower;
        for (i64 share = budget; share >= 0;) {
          const int low = fewest(side.low, share, below, k - high_bound);
          if (low + high_bound > k) break;  // less budget asks no fewer leaves
          const i64 used = known(side.low, share, below).used;
          const int high = fewest(side.high, budget - used, below, k - low);
          if (low + high <= k) {
            mine = {k, true, side.test, used + known(side.high, budget - used, below).used, share, budget - used};
            return k;
          }
          share = used - 1;
        }
      }
    }
    return mine.lower;
  }

  std::pair<Entry*, Entry*> parted(const Entry* e, int test) {
    Set low(*e->set), high(*e->set);
    for (std::size_t w = 0; w < low.size(); ++w) {
      low[w] &= ~rows_.high(test)[w];
      high[w] &= rows_.high(test)[w];
    }
    return {entry(low), entry(high)};
  }

  void grow_cheapest(Tree& tree, Entry* e, int d) {
    const std::size_t node = tree.size();
    tree.push_back({-1, -1, -1});
    least_cost(e, d, e->leaf);  // known, unless the cache is off
    const int test = cost(e, d).test;
    if (test < 0) return;
    const auto [low, high] = parted(e, test);
    tree[node].test = rows_.original[at(test)];
    tree[node].low = static_cast<int>(tree.size());
    grow_cheapest(tree, low, d - 1);
    tree[node].high = static_cast<int>(tree.size());
    grow_cheapest(tree, high, d - 1);
  }

  void grow_fewest(Tree& tree, Entry* e, i64 budget, int d) {
    const std::size_t node = tree.size();
    tree.push_back({-1, -1, -1});
    fewest(e, budget, d, kNoTree - 1);  // known, unless the cache is off
    const Fewest mine = known(e, budget, d);
    if (mine.test < 0) return;
    const auto [low, high] = parted(e, mine.test);
    const int below = d == kAnyDepth ? d : d - 1;
    tree[node].test = rows_.original[at(mine.test)];
    tree[node].low = static_cast<int>(tree.size());
    grow_fewest(tree, low, mine.low_budget, below);
    tree[node].high = static_cast<int>(tree.size());
    grow_fewest(tree, high, mine.high_budget, below);
  }

  const Rows& rows_;
  Board& board_;
  const Rules& rules_;
  std::size_t used_ = 0;
  Entries entries_;
};

}  // namespace

std::unique_ptr<Resumable> slack_search(const Rows& rows, Board& board) {
  return std::make_unique<SlackSearch>(rows, board);
}

}  // namespace proofwood::minimal
