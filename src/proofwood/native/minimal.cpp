#include "minimal.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace proofwood::minimal {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

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

Rows::Rows(const int* given_ranks, const int* given_tests_of, const i64* given_cost, int n_rows, int n_columns, int classes)
    : n(n_rows), words((n_rows + 63) / 64), n_classes(classes),
      cost(given_cost, given_cost + at(n_rows) * at(classes)), ranks(given_ranks, given_ranks + at(n_rows) * at(n_columns)),
      tests_of(given_tests_of, given_tests_of + n_columns) {
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
      const int before = low;
      for (; low < n && rank(order[at(low)], j) <= cut; ++low) set[at(order[at(low)]) >> 6] &= ~(u64{1} << (order[at(low)] & 63));
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
  by_row.assign(at(n) * at(test_words), 0);
  for (int r = 0; r < n; ++r)
    for (int j = 0; j < n_columns; ++j)
      for (int t = first_of[at(j)]; t < first_of[at(j) + 1] && cuts[at(t)] < rank(r, j); ++t)
        by_row[at(r) * at(test_words) + (at(t) >> 6)] |= u64{1} << (t & 63);

  allowed.assign(at(n_classes) * at(words), 0);
  std::map<std::string, int> kinds;
  std::string labels(at(n_classes), 0);
  for (int r = 0; r < n; ++r) {
    int zeros = 0;
    for (int c = 0; c < n_classes; ++c) {
      labels[at(c)] = cost[at(r) * at(n_classes) + at(c)] == 0;
      zeros += labels[at(c)];
      if (labels[at(c)] != 0) allowed[at(c) * at(words) + (at(r) >> 6)] |= u64{1} << (r & 63);
    }
    single = single && zeros == 1;
    const auto [place, fresh] = kinds.emplace(labels, static_cast<int>(kinds.size()));
    if (fresh) kind_allows.insert(kind_allows.end(), labels.begin(), labels.end());
    kind.push_back(place->second);
  }
  n_kinds = static_cast<int>(kinds.size());
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

void Board::out_of_memory() {
  {
    const std::lock_guard lock(mutex_);
    state_.out_of_memory = true;
  }
  throw Stopped{};
}

void Board::raise_depth(int lower) {
  const std::lock_guard lock(mutex_);
  if (lower <= state_.depth_lower) return;
  state_.depth_lower = lower;
  note();
}

void Board::raise_nodes(int lower) {
  const std::lock_guard lock(mutex_);
  if (lower <= state_.nodes_lower) return;
  state_.nodes_lower = lower;
  note();
}

void Board::depth_is(int depth) {
  const std::lock_guard lock(mutex_);
  state_.depth_lower = depth;
  state_.depth_proved = true;
  note();
}

void Board::nodes_are(int nodes) {
  const std::lock_guard lock(mutex_);
  state_.nodes_lower = nodes;
  state_.nodes_proved = true;
  note();
}

void Board::infeasible() {
  const std::lock_guard lock(mutex_);
  state_.infeasible = true;
  note();
}

bool Board::better(int depth, int nodes) const {
  if (state_.depth < 0) return true;
  if (settings.minimize == Minimize::kNodesAnyDepth) return std::pair(nodes, depth) < std::pair(state_.nodes, state_.depth);
  return std::pair(depth, nodes) < std::pair(state_.depth, state_.nodes);
}

void Board::offer(const Tree& tree) {
  const int depth = depth_of(tree), nodes = static_cast<int>(tree.size());
  const std::lock_guard lock(mutex_);
  if (depth > settings.max_depth || !better(depth, nodes)) return;
  state_.depth = depth;
  state_.nodes = nodes;
  tree_ = tree;
  note();
}

void Board::replace(const Tree& tree) {
  const std::lock_guard lock(mutex_);
  state_.depth = depth_of(tree);
  state_.nodes = static_cast<int>(tree.size());
  tree_ = tree;
  note();
}

Board::State Board::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

Tree Board::tree() const {
  const std::lock_guard lock(mutex_);
  return tree_;
}

std::vector<Board::Event> Board::events_since(std::size_t first) const {
  const std::lock_guard lock(mutex_);
  return {events_.begin() + static_cast<std::ptrdiff_t>(std::min(first, events_.size())), events_.end()};
}

void Board::note() {
  events_.push_back({std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count(), state_});
}

// ------------------------------------------------------------------------------------------------------------ greedy

// Splits are counted along the sorted ranks of each column, so that many cuts cost no more than many rows.
Tree greedy(const Rows& rows, i64 slack) {
  struct Open {
    std::vector<int> groups;
    int parent;
    bool on_high;
  };
  const std::size_t n_columns = rows.tests_of.size();
  std::vector<int> offset(n_columns + 1, 0), first_of(n_columns + 1, 0);
  for (std::size_t j = 0; j < n_columns; ++j) offset[j + 1] = offset[j] + rows.tests_of[j];
  for (int t = 0; t < rows.n_tests; ++t) first_of[at(rows.column[at(t)]) + 1] = t + 1;
  for (std::size_t j = 0; j < n_columns; ++j) first_of[j + 1] = std::max(first_of[j + 1], first_of[j]);
  Tree tree;
  std::vector<Open> open(1);
  open[0].parent = -1;
  for (int r = 0; r < rows.n; ++r) open[0].groups.push_back(r);
  std::vector<u64> set(at(rows.words));
  std::vector<i64> below(at(rows.n_kinds)), all(at(rows.n_kinds));
  while (!open.empty()) {
    Open here = std::move(open.back());
    open.pop_back();
    const int node = static_cast<int>(tree.size());
    tree.push_back({-1, -1, -1});
    if (here.parent >= 0) (here.on_high ? tree[at(here.parent)].high : tree[at(here.parent)].low) = node;
    std::fill(set.begin(), set.end(), 0);
    for (const int r : here.groups) set[at(r) >> 6] |= u64{1} << (r & 63);
    const i64 cost = rows.leaf_cost(set.data());
    if (cost <= slack) {  // the permitted errors go to the first leaves that can use them
      slack -= cost;
      continue;
    }
    std::fill(all.begin(), all.end(), 0);
    for (const int r : here.groups) ++all[at(rows.kind[at(r)])];
    double best = -1;
    int chosen = -1;
    std::vector<int>& order = here.groups;
    for (std::size_t j = 0; j < n_columns; ++j) {
      const auto rank = [&](int r) { return rows.ranks[at(r) * n_columns + j]; };
      if (first_of[j] == first_of[j + 1]) continue;
      std::sort(order.begin(), order.end(), [&](int x, int y) { return rank(x) != rank(y) ? rank(x) < rank(y) : x < y; });
      std::fill(below.begin(), below.end(), 0);
      int test = first_of[j];
      for (std::size_t i = 0; i + 1 < order.size(); ++i) {
        ++below[at(rows.kind[at(order[i])])];
        const int from = rank(order[i]), to = rank(order[i + 1]);
        if (from == to) continue;
        while (test < first_of[j + 1] && rows.original[at(test)] - offset[j] < from) ++test;
        if (test == first_of[j + 1]) break;
        if (rows.original[at(test)] - offset[j] >= to) continue;  // an equal test of another column stands for these cuts
        double low = 0, high = 0;
        for (std::size_t k = 0; k < below.size(); ++k) {
          low += static_cast<double>(below[k]) * static_cast<double>(below[k]);
          high += static_cast<double>(all[k] - below[k]) * static_cast<double>(all[k] - below[k]);
        }
        const double score = low / static_cast<double>(i + 1) + high / static_cast<double>(order.size() - i - 1);
        if (score <= best) continue;
        best = score;
        chosen = test;
      }
    }
    Open low{{}, node, false}, high{{}, node, true};
    for (const int r : here.groups) ((rows.high(chosen)[r >> 6] >> (r & 63) & 1) != 0 ? high : low).groups.push_back(r);
    tree[at(node)].test = rows.original[at(chosen)];
    open.push_back(std::move(high));
    open.push_back(std::move(low));
  }
  return tree;
}

// ------------------------------------------------------------------------------------------------------------ search

void search(const Rows& rows, Board& board) {
  constexpr double kFewBoxes = 1 << 20;  // boxes that are all visited in milliseconds
  const Settings& settings = board.settings;
  try {
    board.offer(greedy(rows, settings.slack));
    const bool few = rows.n_classes < 64 && rows.n < 1 << 14 && boxes_of(rows) <= kFewBoxes;
    if (settings.strategy == Strategy::kWitness) {
      search_witness(rows, board);
    } else if (settings.slack > 0) {
      search_slack(rows, board);
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
