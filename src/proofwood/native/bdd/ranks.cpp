// The subset search over columns of many cuts, which stay ranks: no bit vector is made.
//
// Theory: docs/theory/decision-diagrams.md, "Cuts kept as ranks".
// The problem is that of Hu, Huguet, Siala, AAAI 2022 (MaxSAT-BDD); the search is ours.
//
// A pair of rows is separated by the cuts between its two ranks, so the covers of all cuts of a column come from one
// difference array over the pairs. Where one test is left to choose, a walk along each column in the order of its ranks
// gives the error after each of its cuts. Moving a cut moves only the rows in between: what is proved of one cut bounds
// its neighbours (neighbourhood pruning), as in trees over thresholds.
#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "bdd/worker.hpp"

namespace proofwood::bdd {

namespace {

u64 key(u64 x) {  // SplitMix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Tests by their hash, in three arrays: a map of millions of small vectors takes a second to free.
class SameHash {
 public:
  explicit SameHash(std::size_t most) : newest_(std::bit_ceil(most + 1), kNone) {}

  // True if `is_same` holds for a test of this hash.
  template <class IsSame>
  bool any(u64 hash, const IsSame& is_same) const {
    for (u32 at = newest_[hash & (newest_.size() - 1)]; at != kNone; at = before_[at])
      if (hashes_[at] == hash && is_same(at)) return true;
    return false;
  }

  // Tests are numbered in the order in which they come.
  void add(u64 hash, u32 test) {
    u32& newest = newest_[hash & (newest_.size() - 1)];
    before_.push_back(newest);
    hashes_.push_back(hash);
    newest = test;
  }

 private:
  static constexpr u32 kNone = ~0u;
  std::vector<u32> newest_, before_;
  std::vector<u64> hashes_;
};

}  // namespace

// Ranks are made dense, which drops constant and equal cuts of a column. Cuts of different columns that are equal or
// opposite on all rows are found by sums of random keys of their high rows, and compared row by row.
void add_ranks(Table& table, const std::int32_t* ranks, std::size_t columns, const std::int32_t* cuts,
               const std::vector<std::size_t>& kept, const std::atomic<int>& stop) {
  const u32 n = table.groups;
  table.by_rank = true;
  table.ranks.resize(columns * n);
  table.orders.resize(columns * n);
  table.raw_begin.assign(1, 0);
  SameHash same_hash(std::accumulate(cuts, cuts + columns, std::size_t{0}));
  u64 all = 0;
  for (u32 g = 0; g < n; ++g) all += key(g);
  const auto high = [&](u32 test, u32 g) {
    return table.ranks[table.column_of[test] * std::size_t{n} + g] > table.cut_of[test];
  };
  u32 number = 0;
  for (std::size_t j = 0; j < columns && stop.load(std::memory_order_relaxed) == 0; ++j) {
    u32* const order = table.orders.data() + j * n;
    u32* const dense = table.ranks.data() + j * n;
    const auto given = [&](u32 g) { return ranks[kept[g] * columns + j]; };
    for (u32 g = 0; g < n; ++g) order[g] = g;
    std::sort(order, order + n, [&](u32 x, u32 y) { return given(x) != given(y) ? given(x) < given(y) : x < y; });
    u32 rank = 0;
    std::vector<std::int32_t> value;
    for (u32 i = 0; i < n; ++i) {
      if (i > 0 && given(order[i]) != given(order[i - 1])) ++rank;
      dense[order[i]] = rank;
      if (value.size() <= rank) value.push_back(given(order[i]));
    }
    u64 low = 0;
    for (u32 cut = 0, i = 0; cut < rank; ++cut) {
      for (; dense[order[i]] <= cut; ++i) low += key(order[i]);
      const u64 hash = dense[0] > cut ? low : all - low;  // of the side that group 0 is not on
      const auto test = static_cast<u32>(table.number.size());
      table.column_of.push_back(static_cast<u32>(j));
      table.cut_of.push_back(cut);
      const bool known = same_hash.any(hash, [&](u32 other) {
        const bool opposite = high(test, 0) != high(other, 0);
        for (u32 g = 1; g < n; ++g)
          if ((high(test, g) != high(other, g)) != opposite) return false;
        return true;
      });
      if (known) {
        table.column_of.pop_back();
        table.cut_of.pop_back();
        continue;
      }
      same_hash.add(hash, test);
      table.number.push_back(number + static_cast<u32>(value[cut]));
    }
    table.raw_begin.push_back(table.raw_begin.back() + rank + 1);  // one place more than cuts: differences end there
    number += static_cast<u32>(cuts[j]);
  }
  table.tests = static_cast<u32>(table.number.size());
  table.raw_of.resize(table.tests);
  for (u32 t = 0; t < table.tests; ++t) table.raw_of[t] = table.raw_begin[table.column_of[t]] + table.cut_of[t];
}

// Near pairs by the number of cuts between them.
void add_rank_edges(Table& table, u32 per_group, const std::atomic<int>& stop) {
  constexpr std::size_t kMostCompared = 1024;
  struct Near {
    u32 distance, place, other;
  };
  struct Pair {
    u32 distance;
    Edge edge;
  };
  const u32 n = table.groups;
  const std::size_t columns = table.raw_begin.size() - 1;
  std::vector<Near> near;
  std::vector<Pair> pairs;
  std::vector<u32> others;
  for (u32 g = 0; g < n && stop.load(std::memory_order_relaxed) == 0; ++g) {
    if (table.margin[g] == 0) continue;
    others.clear();
    const u32 step = static_cast<u32>(std::max<std::size_t>(1, n / kMostCompared));
    for (u32 i = static_cast<u32>(key(g) % step); i < n; i += step)
      if (table.heaviest[i] != table.heaviest[g] && table.margin[i] > 0) others.push_back(i);
    near.assign(others.size(), {0, 0, 0});
    for (std::size_t i = 0; i < others.size(); ++i)
      near[i] = {0, static_cast<u32>(key(u64{g} << 32 | others[i]) >> 32), others[i]};
    for (std::size_t j = 0; j < columns; ++j) {
      const u32* const rank = table.ranks.data() + j * n;
      const u32 own = rank[g];
      for (Near& one : near) one.distance += rank[one.other] > own ? rank[one.other] - own : own - rank[one.other];
    }
    const std::size_t take = std::min<std::size_t>(per_group, near.size());
    std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(take), near.end(),
                      [](const Near& x, const Near& y) {
                        return x.distance != y.distance ? x.distance < y.distance
                               : x.place != y.place     ? x.place < y.place
                                                        : x.other < y.other;
                      });
    for (std::size_t i = 0; i < take; ++i)
      pairs.push_back({near[i].distance, {std::min(g, near[i].other), std::max(g, near[i].other)}});
  }
  table.edges.clear();
  if (stop.load(std::memory_order_relaxed) != 0) return;
  std::sort(pairs.begin(), pairs.end(), [](const Pair& x, const Pair& y) {
    return x.distance != y.distance ? x.distance < y.distance
           : x.edge.a != y.edge.a   ? x.edge.a < y.edge.a
                                    : x.edge.b < y.edge.b;
  });
  for (const Pair& pair : pairs)
    if (table.edges.empty() || table.edges.back().a != pair.edge.a || table.edges.back().b != pair.edge.b)
      table.edges.push_back(pair.edge);
}

// Covers of the candidates by the whole matching; returns the matching bound.
i64 Search::Worker::rank_cover(Node& node) {
  const std::size_t columns = table.raw_begin.size() - 1, n = table.groups;
  std::vector<i64>& raw = raw_;
  raw.assign(table.raw_begin.back(), 0);
  node.size = 0;
  for (const Match& pair : node.matches) node.size += pair.weight;
  for (std::size_t j = 0; j < columns; ++j) {
    const u32* const rank = table.ranks.data() + j * n;
    i64* const to = raw.data() + table.raw_begin[j];
    for (const Match& pair : node.matches) {
      const u32 a = rank[pair.a], b = rank[pair.b];
      if (a == b) continue;
      to[std::min(a, b)] += pair.weight;
      to[std::max(a, b)] -= pair.weight;
    }
    i64 sum = 0;
    for (i64* at = to; at < raw.data() + table.raw_begin[j + 1]; ++at) *at = sum += *at;
  }
  const std::size_t k = node.candidates.size();
  node.cover.resize(k);
  for (std::size_t s = 0; s < k; ++s) node.cover[s] = raw[table.raw_of[node.candidates[s]]];
  std::vector<i64> largest;
  return std::max(i64{0}, node.size - top_sum(node.cover.data(), k, node.left, largest));
}

// errors[s] = error of the node after candidate s: a walk along the ranks of each column that has candidates.
void Search::Worker::rank_errors(const Node& node, std::vector<i64>& errors) {
  const std::size_t n = table.groups, columns = table.raw_begin.size() - 1;
  errors.assign(node.candidates.size(), node.error);
  if (spot_.empty()) {
    spot_.assign(n, ~0u);
    first_item_.assign(n + 1, 0);
    by_group_.resize(table.items.size());
    for (const Item& item : table.items) ++first_item_[item.group + 1];
    for (std::size_t g = 0; g < n; ++g) first_item_[g + 1] += first_item_[g];
    std::vector<u32> next(first_item_.begin(), first_item_.end() - 1);
    for (u32 i = 0; i < table.items.size(); ++i) by_group_[next[table.items[i].group]++] = i;
  }
  const std::size_t classes = table.classes;
  std::vector<i64> whole(node.ends.size() * classes, 0), low(whole.size());
  std::vector<i64> right(node.ends.size());  // weight of the heaviest classes of both sides of each cell
  u32 begin = 0;
  i64 total = 0;  // error == total - sum of right
  for (u32 c = 0; c < node.ends.size(); ++c) {
    for (u32 i = begin; i < node.ends[c]; ++i) {
      const Item& item = table.items[node.items[i]];
      spot_[item.group] = c;
      whole[c * classes + item.label] += item.weight;
    }
    begin = node.ends[c];
    total += node.excess[c] + *std::max_element(whole.begin() + static_cast<std::ptrdiff_t>(c * classes),
                                                whole.begin() + static_cast<std::ptrdiff_t>((c + 1) * classes));
  }
  std::vector<i64>& raw = raw_;
  raw.assign(table.raw_begin.back(), -1);
  std::vector<bool> wanted(columns, false);
  for (const u32 test : node.candidates) wanted[table.column_of[test]] = true;
  for (std::size_t j = 0; j < columns; ++j) {
    if (!wanted[j] || search.stopped()) continue;
    const u32* const rank = table.ranks.data() + j * n;
    const u32* const order = table.orders.data() + j * n;
    i64* const to = raw.data() + table.raw_begin[j];
    std::fill(low.begin(), low.end(), 0);
    i64 error = total;
    for (std::size_t c = 0; c < right.size(); ++c)
      error -= right[c] = *std::max_element(whole.begin() + static_cast<std::ptrdiff_t>(c * classes),
                                            whole.begin() + static_cast<std::ptrdiff_t>((c + 1) * classes));
    for (std::size_t i = 0; i < n; ++i) {
      const u32 g = order[i], c = spot_[g];
      if (c != ~0u) {
        i64* const below = low.data() + c * classes;
        const i64* const both = whole.data() + c * classes;
        for (u32 k = first_item_[g]; k < first_item_[g + 1]; ++k)
          below[table.items[by_group_[k]].label] += table.items[by_group_[k]].weight;
        i64 best_low = 0, best_high = 0;
        for (std::size_t label = 0; label < classes; ++label) {
          best_low = std::max(best_low, below[label]);
          best_high = std::max(best_high, both[label] - below[label]);
        }
        error += right[c] - (best_low + best_high);
        right[c] = best_low + best_high;
      }
      if (i + 1 == n || rank[order[i + 1]] != rank[g]) to[rank[g]] = error;
    }
  }
  for (const u32 item : node.items) spot_[table.items[item].group] = ~0u;
  for (std::size_t s = 0; s < node.candidates.size(); ++s) errors[s] = raw[table.raw_of[node.candidates[s]]];
}

// One test is left: all sets below are counted. The bound is exact, also above upper(), which feeds the similarity
// bound.
i64 Search::Worker::rank_leaf(Node& node) {
  ++counters[kLeaves];
  rank_errors(node, line_);
  if (search.stopped()) return 0;
  counters[kPairEvaluations] += static_cast<i64>(node.candidates.size());
  i64 least = node.error;
  for (std::size_t s = 0; s < node.candidates.size(); ++s) {
    least = std::min(least, line_[s]);
    if (line_[s] >= search.upper()) continue;
    Set set = node.chosen;
    set.push_back(node.candidates[s]);
    found(line_[s], std::move(set));
  }
  return least;
}

// Weight of the rows of the impure cells up to each rank of each column, in raw_-like places.
void Search::Worker::weigh_ranks(const Node& node, std::vector<i64>& below) const {
  below.assign(table.raw_begin.back(), 0);
  const std::size_t n = table.groups;
  for (std::size_t j = 0; j + 1 < table.raw_begin.size(); ++j) {
    const u32* const rank = table.ranks.data() + j * n;
    i64* const to = below.data() + table.raw_begin[j];
    for (const u32 item : node.items) to[rank[table.items[item].group]] += table.items[item].weight;
    i64 sum = 0;
    for (i64* at = to; at < below.data() + table.raw_begin[j + 1]; ++at) *at = sum += *at;
  }
}

}  // namespace proofwood::bdd
