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
  int number = 0;
  for (int j = 0; j < n_columns; ++j) {
    for (int cut = 0; cut < tests_of[at(j)]; ++cut, ++number) {
      std::fill(set.begin(), set.end(), 0);
      int high = 0;
      for (int r = 0; r < n; ++r) {
        if (ranks[at(r) * at(n_columns) + at(j)] > cut) {
          set[at(r) >> 6] |= u64{1} << (r & 63);
          ++high;
        }
      }
      if (high == 0 || high == n) continue;
      normal = set;
      if ((set[0] & 1) != 0) {
        for (int w = 0; w < words; ++w) normal[at(w)] = ~set[at(w)];
        if ((n & 63) != 0) normal.back() &= (u64{1} << (n & 63)) - 1;
      }
      if (!seen.insert(normal).second) continue;
      original.push_back(number);
      column.push_back(j);
      by_test.insert(by_test.end(), set.begin(), set.end());
    }
  }
  n_tests = static_cast<int>(original.size());
  test_words = std::max(1, (n_tests + 63) / 64);
  by_row.assign(at(n) * at(test_words), 0);
  for (int t = 0; t < n_tests; ++t)
    for (int r = 0; r < n; ++r)
      if ((this->high(t)[r >> 6] >> (r & 63) & 1) != 0) by_row[at(r) * at(test_words) + (at(t) >> 6)] |= u64{1} << (t & 63);

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

Tree greedy(const Rows& rows, i64 slack) {
  Tree tree;
  std::vector<std::vector<u64>> sets;
  std::vector<double> inside(at(rows.n_kinds));
  const std::function<void(std::vector<u64>)> grow = [&](std::vector<u64> set) {
    const std::size_t node = tree.size();
    tree.push_back({-1, -1, -1});
    const i64 cost = rows.leaf_cost(set.data());
    if (cost <= slack) {  // the permitted errors go to the first leaves that can use them
      slack -= cost;
      return;
    }
    double best = -1;
    int chosen = -1;
    for (int t = 0; t < rows.n_tests; ++t) {
      double score = 0, sizes[2] = {0, 0};
      for (int side = 0; side < 2; ++side) {
        double squares = 0;
        for (int k = 0; k < rows.n_kinds; ++k) {
          int count = 0;
          for (int w = 0; w < rows.words; ++w) {
            const u64 part = side == 1 ? rows.high(t)[w] : ~rows.high(t)[w];
            count += std::popcount(set[at(w)] & part & rows.of_kind[at(k) * at(rows.words) + at(w)]);
          }
          sizes[side] += count;
          squares += static_cast<double>(count) * count;
        }
        if (sizes[side] > 0) score += squares / sizes[side];
      }
      if (sizes[0] == 0 || sizes[1] == 0 || score <= best) continue;
      best = score;
      chosen = t;
    }
    std::vector<u64> low(set), high(set);
    for (int w = 0; w < rows.words; ++w) {
      low[at(w)] &= ~rows.high(chosen)[w];
      high[at(w)] &= rows.high(chosen)[w];
    }
    tree[node].test = rows.original[at(chosen)];
    tree[node].low = static_cast<int>(tree.size());
    grow(std::move(low));
    tree[node].high = static_cast<int>(tree.size());
    grow(std::move(high));
  };
  std::vector<u64> all(at(rows.words), 0);
  for (int r = 0; r < rows.n; ++r) all[at(r) >> 6] |= u64{1} << (r & 63);
  grow(std::move(all));
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
