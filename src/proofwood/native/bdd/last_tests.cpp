// The last two levels of the subset search, where errors are counted exactly, pair by pair of tests.
//
// Theory: docs/theory/decision-diagrams.md, "The last two tests".
// The problem is that of Hu, Huguet, Siala, AAAI 2022 (MaxSAT-BDD); the search is ours.
#include <algorithm>
#include <limits>

#include "bdd/worker.hpp"

namespace proofwood::bdd {

// Columns of `tests` over the items of the node, cells of most error first, so that hopeless pairs are given up early.
void Search::Worker::pack_cells(const Node& node, const std::vector<u32>& tests) {
  CellMatrix& m = cells;
  const auto k = static_cast<u32>(tests.size());
  m.stride = (k + kSlotStep - 1) / kSlotStep * kSlotStep;
  m.data.clear();
  m.shift.clear();
  m.blocks.clear();
  m.cells.clear();
  prepare_slots(tests);
  scratch_.assign(m.stride, 0);
  std::vector<u32> order(node.ends.size());
  for (u32 c = 0; c < order.size(); ++c) order[c] = c;
  std::sort(order.begin(), order.end(),
            [&](u32 x, u32 y) { return node.excess[x] != node.excess[y] ? node.excess[x] > node.excess[y] : x < y; });
  u32 words = 0;
  for (const u32 c : order) {
    const u32 end = node.ends[c];
    u32 begin = c == 0 ? 0 : node.ends[c - 1];
    CellBlock cell{static_cast<u32>(m.blocks.size()), 0, 0};
    while (begin < end) {
      const u32 label = table.items[node.items[begin]].label;
      u32 stop = begin;
      ClassBlock block{words, 0, 0, nullptr};
      for (; stop < end && table.items[node.items[stop]].label == label; ++stop) {
        block.total += table.items[node.items[stop]].weight;
        cell.total -= table.items[node.items[stop]].fixed;
      }
      for (; begin < stop; begin += std::min(64u, stop - begin)) {
        const u32 n = std::min(64u, stop - begin);
        const u32* const chunk = node.items.data() + begin;
        transpose(
            n,
            [&](u32 i, u32 w) {
              return table.bits[static_cast<std::size_t>(table.items[chunk[i]].group) * table.words + w];
            },
            scratch_.data());
        if (table.unit) {
          m.data.insert(m.data.end(), scratch_.begin(), scratch_.begin() + m.stride);
          ++words;
          continue;
        }
        u64 planes = 0;
        for (u32 i = 0; i < n; ++i) planes |= static_cast<u64>(table.items[chunk[i]].weight);
        for (u32 p = 0; planes >> p != 0; ++p) {
          if ((planes >> p & 1) == 0) continue;
          u64 mask = 0;
          for (u32 i = 0; i < n; ++i) mask |= (static_cast<u64>(table.items[chunk[i]].weight) >> p & 1) << i;
          const std::size_t at = m.data.size();
          m.data.insert(m.data.end(), scratch_.begin(), scratch_.begin() + m.stride);
          for (u32 s = 0; planes != 1 && s < m.stride; ++s) m.data[at + s] &= mask;
          m.shift.push_back(static_cast<std::uint8_t>(p));
          ++words;
        }
      }
      block.end = words;
      cell.total += block.total;
      m.blocks.push_back(block);
    }
    cell.end = static_cast<u32>(m.blocks.size());
    m.cells.push_back(cell);
  }
  m.ones.assign(m.blocks.size() * m.stride, 0);
  const Packed bits{m.data.data(), m.stride, words, table.unit ? nullptr : m.shift.data()};
  for (std::size_t b = 0; b < m.blocks.size(); ++b) {
    kernels.count(bits, m.blocks[b].begin, m.blocks[b].end, m.ones.data() + b * m.stride);
    m.blocks[b].ones = m.ones.data() + b * m.stride;
  }
}

i64 Search::Worker::single_error(u32 slot) const {
  i64 error = 0;
  for (const CellBlock& cell : cells.cells) {
    i64 high = 0, low = 0;
    for (u32 b = cell.begin; b < cell.end; ++b) {
      high = std::max(high, cells.blocks[b].ones[slot]);
      low = std::max(low, cells.blocks[b].total - cells.blocks[b].ones[slot]);
    }
    error += cell.total - high - low;
  }
  return error;
}

// Least error after one more test than those of `set`, and the first such test.
std::pair<i64, u32> Search::Worker::best_single(const Node& node, const Set& set) {
  if (table.by_rank) return best_cut(node, set);
  pack_cells(node, node.candidates);
  std::pair<i64, u32> best{std::numeric_limits<i64>::max(), 0};
  for (u32 s = 0; s < node.candidates.size(); ++s)
    if (const i64 error = single_error(s); error < best.first) best = {error, node.candidates[s]};
  return best;
}

// The first pair of least error below `limit`; error == limit if there is none.
Pairs Search::Worker::best_pair(const Node& node, const std::vector<u32>& tests, i64 limit) {
  pack_cells(node, tests);
  const auto k = static_cast<u32>(tests.size());
  const Packed bits{cells.data.data(), cells.stride, 0, table.unit ? nullptr : cells.shift.data()};
  Pairs best{limit, 0, 0};
  line_.resize(cells.stride);
  for (u32 g = 0; g + 1 < k && !search.stopped(); ++g) {
    kernels.pair_errors(bits, cells.cells.data(), static_cast<u32>(cells.cells.size()), cells.blocks.data(),
                        table.narrow, g, g + 1, k, best.error, line_.data());
    counters[kPairEvaluations] += k - g - 1;
    for (u32 h = g + 1; h < k; ++h)
      if (line_[h] < best.error) best = {line_[h], g, h};
  }
  return best;
}

// What is left to count at a node with one or two tests to add.
struct Search::Worker::Leaf {
  std::vector<u32> tests;
  std::vector<i64> cover;  // of the pairs of a matching, `size` in all; empty without a matching
  i64 size;
};

// A matching of its own pays where many pairs would be counted: evaluations of 8 pairs take about 4 cycles a word.
bool Search::Worker::leaf_matching_pays(const Node& node, std::size_t n_tests) const {
  const double most = static_cast<double>(n_tests) * static_cast<double>(n_tests) / 2;
  const double word_count = static_cast<double>(node.items.size()) / 64 + 2 * static_cast<double>(node.ends.size());
  return most * word_count * 0.4 >
         8.0 * static_cast<double>(node.items.size()) + 300.0 * table.words * static_cast<double>(node.error) / 64;
}

// "Elimination": drops the tests that with the best partner do not get below the incumbent.
void Search::Worker::eliminate_at_leaf(Node& node, Leaf& leaf) {
  std::vector<i64> largest;
  top_sum(leaf.cover.data(), leaf.cover.size(), 1, largest);
  std::size_t kept = 0;
  for (std::size_t s = 0; s < leaf.tests.size(); ++s) {
    const i64 bound = leaf.size - leaf.cover[s] - largest[0];
    if (bound >= search.upper()) {
      node.floor = std::min(node.floor, bound);
      ++counters[kByElimination];
      continue;
    }
    leaf.tests[kept] = leaf.tests[s];
    leaf.cover[kept++] = leaf.cover[s];
  }
  leaf.tests.resize(kept);
  leaf.cover.resize(kept);
}

// In descending order of cover, so that the partners worth a count form a range.
void Search::Worker::sort_by_cover(Leaf& leaf) {
  const auto k = static_cast<u32>(leaf.tests.size());
  std::vector<u32> order(k);
  for (u32 s = 0; s < k; ++s) order[s] = s;
  std::sort(order.begin(), order.end(), [&](u32 x, u32 y) {
    return leaf.cover[x] != leaf.cover[y] ? leaf.cover[x] > leaf.cover[y] : leaf.tests[x] < leaf.tests[y];
  });
  std::vector<u32> sorted(k);
  std::vector<i64> covers(k);
  for (u32 s = 0; s < k; ++s) sorted[s] = leaf.tests[order[s]], covers[s] = leaf.cover[order[s]];
  leaf.tests.swap(sorted);
  leaf.cover.swap(covers);
}

// Counts every set that takes one or two of the tests; returns the least error, cut off at upper().
i64 Search::Worker::count_leaf(const Node& node, const Leaf& leaf) {
  const std::vector<u32>& tests = leaf.tests;
  const std::vector<i64>& cover = leaf.cover;
  const bool collect = search.settings_.collect;
  const auto k = static_cast<u32>(tests.size());
  pack_cells(node, tests);
  const Packed bits{cells.data.data(), cells.stride, 0, table.unit ? nullptr : cells.shift.data()};
  line_.resize(cells.stride);
  i64 least = search.upper();
  const auto take = [&](i64 error, u32 g, u32 h) {
    least = std::min(least, error);
    if (error >= search.upper()) return;
    Set set = node.chosen;
    set.push_back(tests[g]);
    if (h != g) set.push_back(tests[h]);
    found(error, std::move(set));
  };
  for (u32 g = 0; g < k; ++g) {
    if (search.stopped()) return 0;
    if (collect && search.surplus(task)) return 0;
    if (collect || node.left == 1 || k == 1) take(single_error(g), g, g);
    if (node.left == 1) continue;
    u32 end = k;
    if (!collect && rules.matching && !cover.empty()) {
      const i64 need = leaf.size - search.upper() + 1 - cover[g];  // of the partner
      if (g + 1 < k && cover[g + 1] < need) break;
      end = static_cast<u32>(std::upper_bound(cover.begin() + g + 1, cover.end(), need, std::greater<>()) -
                             cover.begin());
    }
    if (end <= g + 1) continue;
    kernels.pair_errors(bits, cells.cells.data(), static_cast<u32>(cells.cells.size()), cells.blocks.data(),
                        table.narrow, g, g + 1, end, search.upper(), line_.data());
    counters[kPairEvaluations] += end - g - 1;
    for (u32 h = g + 1; h < end; ++h)
      if (line_[h] < search.upper()) take(line_[h], g, h);
  }
  return std::min(least, search.upper());
}

// The last two levels below a node: every set that takes one or two of its candidates.
i64 Search::Worker::leaf(Node& node) {
  ++counters[kLeaves];
  // The cover is that of pairs of the parent's matching that this node's tests leave together.
  Leaf leaf{node.candidates, node.inherited, node.inherited_size};
  const i64 most = search.upper();
  if (rules.matching && rules.leaf_matching && node.left == 2 && leaf_matching_pays(node, leaf.tests.size())) {
    rematch(node);
    pack_matches(node);
    const i64 bound = choose_prefix(node);
    if (bound >= search.upper()) {
      ++counters[kByLeafMatching];
      return bound;
    }
    leaf.cover.assign(node.cover.begin(), node.cover.begin() + static_cast<std::ptrdiff_t>(leaf.tests.size()));
    leaf.size = node.size;
  }
  if (rules.matching && rules.elimination && node.left == 2 && !leaf.cover.empty()) eliminate_at_leaf(node, leaf);
  if (leaf.tests.empty()) return most;
  if (!search.settings_.collect && rules.matching && !leaf.cover.empty()) sort_by_cover(leaf);
  return std::min(most, count_leaf(node, leaf));
}

}  // namespace proofwood::bdd
