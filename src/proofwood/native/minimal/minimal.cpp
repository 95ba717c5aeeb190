// Smallest trees: groups of equal rows, distinct tests, the board of what is known, the greedy first tree, and the
// choice of a method.
//
// Theory: docs/theory/minimal-trees.md (the problem is that of Avellaneda, AAAI 2020, InferDT).
#include "minimal/minimal.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>

namespace proofwood::minimal {

int depth_of(const Tree& tree) {
  std::vector<int> depth(tree.size(), 0);
  int deepest = 0;
  for (std::size_t v = 0; v < tree.size(); ++v) {
    deepest = std::max(deepest, depth[v]);
    if (tree[v].test < 0) continue;
    depth[at(tree[v].low)] = depth[at(tree[v].high)] = depth[v] + 1;
  }
  return deepest;
}

Kinds kinds_of(const Given& rows) {
  const std::size_t classes = at(rows.n_classes);
  Kinds kinds;
  std::map<std::vector<bool>, int> known;
  std::vector<bool> allows(classes);
  for (std::size_t r = 0; r < at(rows.n); ++r) {
    for (std::size_t c = 0; c < classes; ++c) allows[c] = rows.cost[r * classes + c] == 0;
    const auto [place, fresh] = known.emplace(allows, static_cast<int>(known.size()));
    if (fresh) kinds.allows.push_back(allows);
    kinds.of.push_back(place->second);
  }
  return kinds;
}

Rows::Rows(const Given& given, Board& board)
    : n(given.n),
      words((given.n + 63) / 64),
      n_classes(given.n_classes),
      cost(given.cost, given.cost + at(given.n) * at(given.n_classes)),
      ranks(given.ranks, given.ranks + at(given.n) * at(given.n_columns)),
      tests_of(given.tests_of, given.tests_of + given.n_columns) {
  const int n_columns = given.n_columns;
  std::set<std::vector<u64>> seen;  // of each test and its complement the one without group 0
  std::vector<u64> set(at(words)), normal(at(words));
  std::vector<int> order(at(n)), cuts, first_of(at(n_columns) + 1, 0);
  const auto rank = [&](int r, int j) { return ranks[at(r) * at(n_columns) + at(j)]; };
  int number = 0;
  for (int j = 0; j < n_columns; ++j) {
    for (int r = 0; r < n; ++r) order[at(r)] = r;
    std::sort(order.begin(), order.end(), [&](int x, int y) { return rank(x, j) < rank(y, j); });
    std::fill(set.begin(), set.end(), ~u64{0});
    if ((n & 63) != 0) set.back() = (u64{1} << (n & 63)) - 1;
    int low = 0;  // groups of `order` on the low side
    for (int cut = 0; cut < tests_of[at(j)]; ++cut, ++number) {
      board.check_stop();
      const int before = low;
      for (; low < n && rank(order[at(low)], j) <= cut; ++low)
        set[at(order[at(low)]) >> 6] &= ~(u64{1} << (order[at(low)] & 63));
      if (low == before || low == n) continue;  // as the cut before, or with all groups on one side
      normal = set;
      if ((set[0] & 1) != 0) {
        for (int w = 0; w < words; ++w) normal[at(w)] = ~set[at(w)];
        if ((n & 63) != 0) normal.back() &= (u64{1} << (n & 63)) - 1;
      }
      if (!seen.insert(normal).second) continue;
      original.push_back(number);
      column.push_back(j);
      cuts.push_back(cut);
      by_test.insert(by_test.end(), set.begin(), set.end());
    }
    first_of[at(j) + 1] = static_cast<int>(original.size());
  }
  n_tests = static_cast<int>(original.size());
  test_words = std::max(1, (n_tests + 63) / 64);
  by_group.assign(at(n) * at(test_words), 0);
  for (int r = 0; r < n; ++r) {
    board.check_stop();
    for (int j = 0; j < n_columns; ++j)
      for (int t = first_of[at(j)]; t < first_of[at(j) + 1] && cuts[at(t)] < rank(r, j); ++t)
        by_group[at(r) * at(test_words) + (at(t) >> 6)] |= u64{1} << (t & 63);
  }

  Kinds kinds = kinds_of(given);
  kind = std::move(kinds.of);
  n_kinds = static_cast<int>(kinds.allows.size());
  for (const auto& allows : kinds.allows) {
    kind_allows.insert(kind_allows.end(), allows.begin(), allows.end());
    single = single && std::count(allows.begin(), allows.end(), true) == 1;
  }
  allowed.assign(at(n_classes) * at(words), 0);
  for (int r = 0; r < n; ++r)
    for (int c = 0; c < n_classes; ++c)
      if (kind_allows[at(kind[at(r)]) * at(n_classes) + at(c)] != 0)
        allowed[at(c) * at(words) + (at(r) >> 6)] |= u64{1} << (r & 63);
  of_kind.assign(at(n_kinds) * at(words), 0);
  for (int r = 0; r < n; ++r) of_kind[at(kind[at(r)]) * at(words) + (at(r) >> 6)] |= u64{1} << (r & 63);
}

i64 Rows::leaf_cost(const u64* set) const {
  std::vector<i64> sum(at(n_classes), 0);
  for (int w = 0; w < words; ++w)
    for (u64 left = set[w]; left != 0; left &= left - 1) {
      const auto row = at(w) * 64 + at(std::countr_zero(left));
      for (int c = 0; c < n_classes; ++c) sum[at(c)] += cost[row * at(n_classes) + at(c)];
    }
  return *std::min_element(sum.begin(), sum.end());
}

// ------------------------------------------------------------------------------------------------------------- board

void Board::end_for_memory() {
  out_of_memory_ = true;
  throw Stopped{};
}

void Board::raise_depth(int lower) {
  change([&](State& state, Tree&) {
    if (lower <= state.depth_lower) return false;
    state.depth_lower = lower;
    return true;
  });
}

void Board::raise_nodes(int lower) {
  change([&](State& state, Tree&) {
    if (lower <= state.nodes_lower) return false;
    state.nodes_lower = lower;
    return true;
  });
}

void Board::depth_is(int depth) {
  if (settings.minimize == Minimize::kDepth) main_done_ = seconds();
  change([&](State& state, Tree&) {
    state.depth_lower = depth;
    state.depth_proved = true;
    return true;
  });
}

void Board::nodes_are(int nodes) {
  main_done_ = seconds();
  change([&](State& state, Tree&) {
    state.nodes_lower = nodes;
    state.nodes_proved = true;
    return true;
  });
}

void Board::infeasible() {
  change([](State& state, Tree&) { return state.infeasible = true; });
}

bool Board::better(const State& state, int depth, int nodes) const {
  if (state.depth < 0) return true;
  if (settings.minimize == Minimize::kNodesAnyDepth)
    return std::pair(nodes, depth) < std::pair(state.nodes, state.depth);
  return std::pair(depth, nodes) < std::pair(state.depth, state.nodes);
}

void Board::offer(const Tree& tree) {
  const int depth = depth_of(tree), nodes = static_cast<int>(tree.size());
  if (tree.empty() || depth > settings.max_depth) return;
  change([&](State& state, Tree& best) {
    if (!better(state, depth, nodes)) return false;
    state.depth = depth;
    state.nodes = nodes;
    best = tree;
    return true;
  });
}

void Board::put_canonical(const Tree& tree) {
  change([&](State& state, Tree& best) {
    state.depth = depth_of(tree);
    state.nodes = static_cast<int>(tree.size());
    best = tree;
    return true;
  });
}

// ------------------------------------------------------------------------------------------------------------ greedy

namespace {

// Every column keeps the groups of each open node in the order of its ranks, so that one walk counts all its cuts.
class Greedy {
 public:
  Greedy(const Given& rows, i64 slack, const Board& board) : rows_(rows), slack_(slack), board_(board) {}

  Tree grow() {
    const std::size_t n = at(rows_.n), columns = at(rows_.n_columns);
    offset_.assign(columns + 1, 0);
    for (std::size_t j = 0; j < columns; ++j) offset_[j + 1] = offset_[j] + rows_.tests_of[j];
    Kinds kinds = kinds_of(rows_);
    kind_ = std::move(kinds.of);
    n_kinds_ = kinds.allows.size();
    order_.resize(std::max<std::size_t>(1, columns));
    order_[0].resize(n);
    std::iota(order_[0].begin(), order_[0].end(), 0);
    for (std::size_t j = 0; j < columns && !board_.stopped(); ++j) sort_by(j);
    std::vector<Open> open{{0, n, -1, false}};
    std::vector<int> scratch(n);
    side_.assign(n, 0);
    while (!open.empty()) {
      const Open here = open.back();
      open.pop_back();
      if (board_.stopped()) {
        std::vector<int> groups(here.end - here.begin);
        std::copy(order_[0].begin() + offset(here.begin), order_[0].begin() + offset(here.end), groups.begin());
        if (!quick(std::move(groups), here)) return {};
        continue;
      }
      const int node = add(here.parent, here.on_high);
      if (leaf(order_[0].data() + here.begin, here.end - here.begin)) continue;
      const Cut cut = best_cut(here.begin, here.end);
      if (cut.column == columns) {  // stopped before the first column was looked at
        tree_.pop_back();
        open.push_back(here);
        continue;
      }
      for (std::size_t i = here.begin; i < here.end; ++i) side_[at(order_[cut.column][i])] = i >= cut.place;
      const std::size_t middle = cut.place;
      for (std::size_t j = 0; j < columns; ++j) {
        if (j == cut.column) continue;
        std::size_t low = here.begin, high = 0;
        for (std::size_t i = here.begin; i < here.end; ++i) {
          const int group = order_[j][i];
          if (side_[at(group)] != 0)
            scratch[high++] = group;
          else
            order_[j][low++] = group;
        }
        std::copy(scratch.begin(), scratch.begin() + offset(high), order_[j].begin() + offset(low));
      }
      tree_[at(node)].test = offset_[cut.column] + rank(order_[cut.column][middle - 1], cut.column);
      open.push_back({middle, here.end, node, true});
      open.push_back({here.begin, middle, node, false});
    }
    return std::move(tree_);
  }

 private:
  struct Open {
    std::size_t begin, end;
    int parent;
    bool on_high;
  };
  struct Cut {
    std::size_t column, place;
  };
  static std::ptrdiff_t offset(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }
  int rank(int group, std::size_t column) const { return rows_.ranks[at(group) * at(rows_.n_columns) + column]; }

  int add(int parent, bool on_high) {
    const int node = static_cast<int>(tree_.size());
    tree_.push_back({-1, -1, -1});
    if (parent >= 0) (on_high ? tree_[at(parent)].high : tree_[at(parent)].low) = node;
    return node;
  }

  // Groups by their rank, equal ranks in their order.
  void sort_by(std::size_t column) {
    std::vector<int>& order = order_[column];
    order.resize(at(rows_.n));
    std::vector<int> first(at(rows_.tests_of[column]) + 2, 0);
    for (int r = 0; r < rows_.n; ++r) ++first[at(rank(r, column)) + 1];
    for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    for (int r = 0; r < rows_.n; ++r) order[at(first[at(rank(r, column))]++)] = r;
  }

  // Whether a leaf will do: the permitted errors go to the first leaves that can use them.
  bool leaf(const int* groups, std::size_t n) {
    const std::size_t classes = at(rows_.n_classes);
    cost_.assign(classes, 0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t c = 0; c < classes; ++c) cost_[c] += rows_.cost[at(groups[i]) * classes + c];
    const i64 least = *std::min_element(cost_.begin(), cost_.end());
    if (least > slack_) return false;
    slack_ -= least;
    return true;
  }

  Cut best_cut(std::size_t begin, std::size_t end) {
    const std::size_t columns = at(rows_.n_columns);
    all_.assign(n_kinds_, 0);
    for (std::size_t i = begin; i < end; ++i) ++all_[at(kind_[at(order_[0][i])])];
    double best = -1;
    Cut chosen{columns, 0};
    for (std::size_t j = 0; j < columns; ++j) {
      if (chosen.column < columns && board_.stopped()) break;
      const std::vector<int>& order = order_[j];
      below_.assign(n_kinds_, 0);
      for (std::size_t i = begin; i + 1 < end; ++i) {
        ++below_[at(kind_[at(order[i])])];
        if (rank(order[i], j) == rank(order[i + 1], j)) continue;
        double low = 0, high = 0;
        for (std::size_t k = 0; k < n_kinds_; ++k) {
          low += static_cast<double>(below_[k]) * static_cast<double>(below_[k]);
          high += static_cast<double>(all_[k] - below_[k]) * static_cast<double>(all_[k] - below_[k]);
        }
        const double score = low / static_cast<double>(i + 1 - begin) + high / static_cast<double>(end - i - 1);
        if (score <= best) continue;
        best = score;
        chosen = {j, i + 1};
      }
    }
    return chosen;
  }

  // Without looking for good cuts: the first column that tells the groups apart is cut in the middle. False if the tree
  // grows too large to be of use.
  bool quick(std::vector<int> groups, const Open& above) {
    constexpr std::size_t kMostNodes = 30'000;  // writing a node and counting its rows takes some ten microseconds
    struct Part {
      std::size_t begin, end, column;
      bool sorted;
      int parent;
      bool on_high;
    };
    std::vector<Part> parts{{0, groups.size(), 0, false, above.parent, above.on_high}};
    while (!parts.empty()) {
      Part here = parts.back();
      parts.pop_back();
      if (tree_.size() >= kMostNodes) return false;
      const int node = add(here.parent, here.on_high);
      const auto first = groups.begin() + offset(here.begin), last = groups.begin() + offset(here.end);
      if (leaf(groups.data() + here.begin, here.end - here.begin)) continue;
      for (;; ++here.column, here.sorted = false) {
        const std::size_t j = here.column;
        if (!here.sorted)
          std::sort(first, last,
                    [&](int x, int y) { return rank(x, j) != rank(y, j) ? rank(x, j) < rank(y, j) : x < y; });
        if (rank(*first, j) != rank(*(last - 1), j)) break;
      }
      const std::size_t j = here.column;
      const auto half = first + (last - first) / 2;
      const auto same = [&](int x, int y) { return rank(x, j) < rank(y, j); };
      auto cut = std::lower_bound(first, last, *half, same);
      if (cut == first) cut = std::upper_bound(first, last, *half, same);
      const std::size_t middle = static_cast<std::size_t>(cut - groups.begin());
      tree_[at(node)].test = offset_[j] + rank(groups[middle - 1], j);
      parts.push_back({middle, here.end, j, true, node, true});
      parts.push_back({here.begin, middle, j, true, node, false});
    }
    return true;
  }

  const Given& rows_;
  i64 slack_;
  const Board& board_;
  Tree tree_;
  std::vector<int> offset_, kind_;
  std::vector<std::vector<int>> order_;  // by column
  std::size_t n_kinds_ = 0;
  std::vector<u8> side_;
  std::vector<i64> cost_, below_, all_;
};

}  // namespace

Tree greedy(const Given& rows, i64 slack, const Board& board) { return Greedy(rows, slack, board).grow(); }

// ------------------------------------------------------------------------------------------------------------ search

// Where some cost is permitted, a tree without cost is an answer too, and it may be found sooner: the search for one is
// given turns as long as those of the search that was asked for, and what it finds is taken up. Not in a second search,
// which begins with what that one found.
void search_any(const Rows& rows, Board& board) {
  const Settings& settings = board.settings;
  const auto easy = slack_search(rows, board);
  if (settings.turns_until <= 0 || !settings.start.empty()) return easy->run();
  Settings harder = settings;
  harder.slack = 0;
  harder.memory = settings.memory / 4;
  harder.rules.canonical = false;
  Board inner(harder, board);
  const auto hard = sets_search(rows, inner);
  bool open = true;
  for (double length = 0.02;; length *= 2) {
    open = open && board.seconds() < settings.turns_until;
    try {
      board.begin_turn(open ? length : 0);
      return easy->run();
    } catch (const TurnOver&) {
    }
    board.begin_turn(0);
    if (!open) continue;
    try {
      inner.begin_turn(length);
      hard->run();
      open = false;
    } catch (const TurnOver&) {
    } catch (const Stopped&) {  // of its own: out of memory
      open = false;
    }
    board.offer(inner.answer());
    board.check_stop();
  }
}

void search(const Given& given, Board& board) {
  constexpr double kFewBoxes = 1 << 20;  // boxes that are all visited in milliseconds
  const Settings& settings = board.settings;
  try {
    board.offer(settings.start);
    board.raise_depth(settings.depth_lower);
    if (settings.depth_proved) board.depth_is(settings.depth_lower);
    board.raise_nodes(settings.nodes_lower);
    board.offer(greedy(given, settings.slack, board));
    if (settings.slack > 0) board.offer(greedy(given, 0, board));
    board.check_stop();
    if (settings.start_only) board.end_for_memory();
    if (settings.rules.rollouts && settings.rollout_seconds > 0) offer_rollouts(given, board, settings.rollout_seconds);
    const Rows rows(given, board);
    const bool few = rows.n_classes < 64 && rows.n < 1 << 14 && boxes_of(rows) <= kFewBoxes;
    if (settings.slack > 0) {
      search_any(rows, board);
    } else if (settings.rules.boxes && few) {
      search_boxes(rows, board);
    } else {
      search_sets(rows, board);
    }
  } catch (const Stopped&) {
    return;
  }
}

}  // namespace proofwood::minimal
