// Preparation of the subset search: distinct tests, weighted items, near pairs.
//
// Theory: docs/theory/decision-diagrams.md, "Choosing the tests: branch and bound over sets".
// The problem is that of Hu, Huguet, Siala, AAAI 2022 (MaxSAT-BDD); the search is ours.
#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "bdd/subset_search.hpp"

namespace proofwood::bdd {

namespace {

u64 mix(u64 x) {  // finalizer of MurmurHash3
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdu;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53u;
  return x ^ (x >> 33);
}

}  // namespace

namespace {

// What every class weighs in a group at least is taken off: with k classes and least weight m, the weight of any cell
// less that of its heaviest class falls by (k - 1) m. A group left with nothing cannot err avoidably. Returns the other
// groups.
std::vector<std::size_t> add_items(Table& table, std::size_t groups, const i64* weights, std::size_t classes) {
  std::vector<std::size_t> kept;
  i64 whole = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const i64* const w = weights + g * classes;
    const i64 least = classes < 2 ? 0 : *std::min_element(w, w + classes);
    const i64 total = std::accumulate(w, w + classes, i64{0});
    const std::size_t top = static_cast<std::size_t>(std::max_element(w, w + classes) - w);
    table.unavoidable += total - w[top];
    i64 second = 0;
    bool any = false;
    const auto group = static_cast<u32>(kept.size());
    for (std::size_t c = 0; c < classes; ++c) {
      const i64 weight = w[c] - least;
      if (c != top) second = std::max(second, weight);
      if (weight == 0) continue;
      any = true;
      const i64 fixed = c == top ? total - w[top] - static_cast<i64>(classes - 1) * least : 0;
      table.items.push_back({group, static_cast<u32>(c), weight, fixed});
      table.unit = table.unit && weight == 1;
      whole += weight;
    }
    if (!any) continue;
    kept.push_back(g);
    table.heaviest.push_back(static_cast<u32>(top));
    table.margin.push_back(w[top] - least - second);
  }
  std::stable_sort(table.items.begin(), table.items.end(),
                   [](const Item& a, const Item& b) { return a.label < b.label; });
  for (const Item& item : table.items) table.group_of.push_back(item.group);
  table.narrow = whole < std::numeric_limits<std::int32_t>::max();
  table.groups = static_cast<u32>(kept.size());
  return kept;
}

// One bit per distinct test.
void add_bits(Table& table, const std::int32_t* ranks, std::size_t columns, const std::int32_t* cuts,
              const std::vector<std::size_t>& kept, const std::atomic<int>& stop) {
  const std::size_t length = (kept.size() + 63) / 64;
  std::vector<std::vector<u64>> found;
  std::unordered_map<u64, std::vector<u32>> by_hash;
  u32 number = 0;
  std::vector<u64> column(length);
  for (std::size_t j = 0; j < columns; ++j) {
    for (std::int32_t cut = 0; cut < cuts[j]; ++cut, ++number) {
      if (stop.load(std::memory_order_relaxed) != 0) return;
      std::fill(column.begin(), column.end(), 0);
      const bool flip = !kept.empty() && ranks[kept[0] * columns + j] > cut;  // opposite tests look the same
      bool constant = true;
      for (std::size_t i = 0; i < kept.size(); ++i) {
        const bool bit = (ranks[kept[i] * columns + j] > cut) != flip;
        column[i / 64] |= static_cast<u64>(bit) << (i % 64);
        constant = constant && !bit;
      }
      table.same_as.push_back(kNoTest);
      if (constant) continue;
      u64 hash = 0;
      for (const u64 word : column) hash = mix(hash ^ word) + 0x9e3779b97f4a7c15u;
      auto& same = by_hash[hash];
      const auto known = std::find_if(same.begin(), same.end(), [&](u32 t) { return found[t] == column; });
      table.same_as.back() = known == same.end() ? static_cast<u32>(found.size()) : *known;
      if (known != same.end()) continue;
      same.push_back(static_cast<u32>(found.size()));
      found.push_back(column);
      table.number.push_back(number);
      table.column_of.push_back(static_cast<u32>(j));
    }
  }
  table.tests = static_cast<u32>(found.size());
  table.words = std::max(1u, (table.tests + 63) / 64);
  table.bits.assign(static_cast<std::size_t>(table.groups) * table.words, 0);
  for (u32 t = 0; t < table.tests && stop.load(std::memory_order_relaxed) == 0; ++t)
    for (u32 g = 0; g < table.groups; ++g)
      table.bits[static_cast<std::size_t>(g) * table.words + t / 64] |= ((found[t][g / 64] >> (g % 64)) & 1)
                                                                        << (t % 64);
  for (const auto& one : found) table.columns.insert(table.columns.end(), one.begin(), one.end());
}

}  // namespace

Table make_table(const std::int32_t* ranks, std::size_t groups, std::size_t columns, const std::int32_t* cuts,
                 const i64* weights, std::size_t classes, bool by_rank, const std::atomic<int>& stop) {
  Table table;
  table.classes = static_cast<u32>(classes);
  const std::vector<std::size_t> kept = add_items(table, groups, weights, classes);
  (by_rank ? add_ranks : add_bits)(table, ranks, columns, cuts, kept, stop);
  return table;
}

namespace {

// Groups of another class than `label` that a matching may use: not more than kMostCompared, spread evenly.
std::vector<u32> others_of(const Table& table, u32 label) {
  constexpr std::size_t kMostCompared = 8192;
  std::vector<u32> others;
  for (u32 g = 0; g < table.groups; ++g)
    if (table.heaviest[g] != label && table.margin[g] > 0) others.push_back(g);
  if (others.size() <= kMostCompared) return others;
  std::vector<u32> fewer(kMostCompared);
  for (std::size_t i = 0; i < kMostCompared; ++i) fewer[i] = others[i * others.size() / kMostCompared];
  return fewer;
}

// Appends the `per_group` nearest of `others`. Ties at the last distance are taken from a place of their own for each
// group, so that not all groups ask for the same partners. `tally` counts by distance.
void add_nearest(u32 group, const std::vector<u32>& others, const std::vector<std::uint16_t>& distance, u32 per_group,
                 std::vector<u32>& tally, std::vector<NearPair>& near) {
  const auto n = static_cast<u32>(others.size());
  std::fill(tally.begin(), tally.end(), 0);
  for (u32 i = 0; i < n; ++i) ++tally[std::min<std::size_t>(distance[i], tally.size() - 1)];
  u32 below = 0, last = 0;
  while (last + 1 < tally.size() && below + tally[last] < per_group) below += tally[last++];
  u32 ties = per_group > below ? per_group - below : 0;
  const auto start = static_cast<u32>(mix(group + 1) % n);
  for (u32 k = 0; k < n; ++k) {
    const u32 i = start + k < n ? start + k : start + k - n;
    if (distance[i] > last || (distance[i] == last && ties == 0)) continue;
    if (distance[i] == last) --ties;
    near.push_back({distance[i], {std::min(group, others[i]), std::max(group, others[i])}});
  }
}

}  // namespace

std::vector<Edge> sorted_edges(std::vector<NearPair>& near) {
  std::sort(near.begin(), near.end(), [](const NearPair& x, const NearPair& y) {
    return x.distance != y.distance ? x.distance < y.distance
           : x.edge.a != y.edge.a   ? x.edge.a < y.edge.a
                                    : x.edge.b < y.edge.b;
  });
  std::vector<Edge> edges;
  for (const NearPair& pair : near)
    if (edges.empty() || edges.back().a != pair.edge.a || edges.back().b != pair.edge.b) edges.push_back(pair.edge);
  return edges;
}

// Not all pairs are looked at: any pairs make a valid bound.
void add_edges(Table& table, u32 per_group, const SubsetKernels& kernels, const std::atomic<int>& stop) {
  const u32 classes = table.heaviest.empty() ? 0 : 1 + *std::max_element(table.heaviest.begin(), table.heaviest.end());
  std::vector<NearPair> near;
  std::vector<std::uint16_t> distance;
  for (u32 label = 0; label < classes; ++label) {
    const std::vector<u32> others = others_of(table, label);
    if (others.empty()) continue;
    const auto n = static_cast<u32>(others.size());
    distance.resize(n);
    std::vector<u32> tally(64 * table.words + 2);
    for (u32 g = 0; g < table.groups; ++g) {
      if (table.heaviest[g] != label || table.margin[g] == 0) continue;
      if (stop.load(std::memory_order_relaxed) != 0) return;
      kernels.distances(table.bits.data(), table.words, others.data(), n,
                        table.bits.data() + static_cast<std::size_t>(g) * table.words, distance.data());
      add_nearest(g, others, distance, per_group, tally, near);
    }
  }
  table.edges = sorted_edges(near);
}

namespace {

// Fills `near_begin` and `near` from `edges`.
void index_edges(Table& table) {
  table.near_begin.assign(table.groups + std::size_t{1}, 0);
  for (const Edge& edge : table.edges) ++table.near_begin[edge.a + 1], ++table.near_begin[edge.b + 1];
  for (u32 g = 0; g < table.groups; ++g) table.near_begin[g + 1] += table.near_begin[g];
  table.near.resize(2 * table.edges.size());
  std::vector<u32> next(table.near_begin.begin(), table.near_begin.end() - 1);
  for (const Edge& edge : table.edges) table.near[next[edge.a]++] = edge.b, table.near[next[edge.b]++] = edge.a;
}

}  // namespace

void add_near_pairs(Table& table, u32 per_group, const SubsetKernels& kernels, const std::atomic<int>& stop) {
  if (table.neighbours == per_group) return;
  table.neighbours = 0;
  table.edges.clear();
  if (table.by_rank)
    add_rank_edges(table, per_group, stop);
  else
    add_edges(table, per_group, kernels, stop);
  if (stop.load(std::memory_order_relaxed) != 0) return;
  index_edges(table);
  table.neighbours = per_group;
}

}  // namespace proofwood::bdd
