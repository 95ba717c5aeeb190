// Lower bounds of the subset search: matching and coverage, overlaps.
//
// Theory: docs/theory/decision-diagrams.md, "Choosing the tests: branch and bound over sets".
// The problem is that of Hu, Huguet, Siala, AAAI 2022 (MaxSAT-BDD); the search is ours.
//
// Matching and coverage. Let S be the tests of a node, R those that are added, and M weighted pairs of groups of equal
// rows of different class that share a cell, no group in pairs of more than its margin. Of a pair that stays together
// at least one group errs, so error(S + R) >= |M| - cover(R), where error is E less the unavoidable errors and cover(R)
// the weight of the pairs that some test of R separates; and for |R| <= r
//   cover(R) <= the r largest cover(f)                                                              (matching)
//   cover(R) <= cover(f) + the r - 1 largest cover(g) - shared(f, g), for any f of R                 (overlap)
// with shared(f, g) the weight of the pairs that both separate: R \ f adds at most what each of its tests separates and
// f does not. Two rows + and two rows -, matched as p and q, with one test to add:
//
//   test              f  g  h
//   p = (+1, -1)      x  x  .        x: the test separates the pair
//   q = (+2, -2)      .  x  x        covers 1 2 1, so |M| - 2 = 0; without g the bound is 1
//
// The margin of a group is the weight of its heaviest class less that of its second: whatever class its cell predicts
// other than its heaviest, the group costs at least that much beyond its unavoidable errors.
#include <algorithm>
#include <limits>
#include <numeric>

#include "bdd/worker.hpp"

namespace proofwood::bdd {

i64 top_sum(const i64* values, std::size_t n, u32 r, std::vector<i64>& largest) {
  largest.clear();
  if (r == 0) return 0;
  for (std::size_t i = 0; i < n; ++i) {
    const i64 value = values[i];
    if (largest.size() == r && value <= largest.back()) continue;
    if (largest.size() == r) largest.pop_back();
    largest.insert(std::upper_bound(largest.begin(), largest.end(), value, std::greater<>()), value);
  }
  return std::accumulate(largest.begin(), largest.end(), i64{0});
}

// Slots as (place in `out`, bit of the word): packed in one number, place << 6 | bit.
void Search::Worker::prepare_slots(const std::vector<u32>& tests) {
  word_begin_.assign(table.words + 1, 0);
  slot_order_.resize(tests.size());
  for (const u32 test : tests) ++word_begin_[test / 64 + 1];
  for (u32 w = 0; w < table.words; ++w) word_begin_[w + 1] += word_begin_[w];
  std::vector<u32> next(word_begin_.begin(), word_begin_.end() - 1);
  for (u32 s = 0; s < tests.size(); ++s) slot_order_[next[tests[s] / 64]++] = s << 6 | tests[s] % 64;
}

// Notes the cell of every group that has a margin.
void Search::Worker::place(const Node& node) {
  ++counters[kMatchings];
  if (stamp_ > 0xf0000000u || place_.empty()) {
    place_.assign(table.groups, 0);
    residual_.assign(table.groups, 0);
    stamp_ = 1;
  }
  base_ = stamp_;
  u32 begin = 0;
  for (const u32 end : node.ends) {
    for (u32 i = begin; i < end; ++i) {
      const u32 group = table.group_of[node.items[i]];
      place_[group] = stamp_;
      residual_[group] = table.margin[group];
    }
    begin = end;
    ++stamp_;
  }
}

void Search::Worker::pair(Node& node, u32 a, u32 b) {
  const i64 weight = std::min(residual_[a], residual_[b]);
  if (weight == 0) return;
  residual_[a] -= weight;
  residual_[b] -= weight;
  node.matches.push_back({a, b, weight});
}

// Greedy: along `edges` in their order, then what is left of each cell. node.edges gets those that lie within a cell.
void Search::Worker::match(Node& node, const std::vector<Edge>& edges) {
  place(node);
  node.matches.clear();
  std::size_t kept = 0;
  if (&edges != &node.edges) node.edges.resize(edges.size());
  for (const Edge edge : edges) {
    if (place_[edge.a] != place_[edge.b] || place_[edge.a] < base_) continue;
    node.edges[kept++] = edge;
    pair(node, edge.a, edge.b);
  }
  node.edges.resize(kept);
  match_rest(node);
}

// The parent's pairs that stay together, then every free group with the nearest free one: less work than along all
// edges.
void Search::Worker::rematch(Node& node) {
  place(node);
  node.matches.clear();
  const auto together = [&](u32 a, u32 b) { return place_[a] == place_[b] && place_[a] >= base_; };
  if (node.given_matches != nullptr)
    for (const Match& old : *node.given_matches)
      if (together(old.a, old.b)) pair(node, old.a, old.b);
  u32 begin = 0;
  for (const u32 end : node.ends) {  // every pair has an end outside the class of most items
    u32 largest_begin = begin, largest_end = begin;
    for (u32 i = begin, from = begin; i < end; ++i) {
      if (i + 1 < end && table.items[node.items[i + 1]].label == table.items[node.items[from]].label) continue;
      if (i + 1 - from > largest_end - largest_begin) largest_begin = from, largest_end = i + 1;
      from = i + 1;
    }
    for (u32 i = begin; i < end; ++i) {
      if (i == largest_begin) i = largest_end;
      if (i == end) break;
      const u32 group = table.group_of[node.items[i]];
      for (u32 n = table.near_begin[group]; n < table.near_begin[group + 1] && residual_[group] > 0; ++n)
        if (residual_[table.near[n]] > 0 && together(group, table.near[n])) pair(node, group, table.near[n]);
    }
    begin = end;
  }
  match_rest(node);
}

// Free groups of each cell: two ends walk towards each other; equal classes in the middle stay alone.
void Search::Worker::match_rest(Node& node) {
  u32 begin = 0;
  for (const u32 end : node.ends) {
    u32 low = begin, high = end;
    while (low + 1 < high) {
      const u32 a = table.group_of[node.items[low]], b = table.group_of[node.items[high - 1]];
      if (residual_[a] == 0)
        ++low;
      else if (residual_[b] == 0)
        --high;
      else if (table.heaviest[a] == table.heaviest[b])
        break;
      else
        pair(node, a, b);
    }
    begin = end;
  }
}

// Columns of the candidates over the pairs, 64 pairs to a chunk, a word per bit plane of the weights in it.
void Search::Worker::pack_matches(Node& node) {
  const auto k = static_cast<u32>(node.candidates.size());
  node.stride = (k + kSlotStep - 1) / kSlotStep * kSlotStep;
  node.packed.clear();
  node.shift.clear();
  node.words = 0;
  prepare_slots(node.candidates);
  std::vector<u64>& chunk = scratch_;
  chunk.assign(node.stride, 0);
  for (std::size_t first = 0; first < node.matches.size(); first += 64) {
    const auto n = static_cast<u32>(std::min<std::size_t>(64, node.matches.size() - first));
    const Match* const pairs = node.matches.data() + first;
    transpose(
        n,
        [&](u32 i, u32 w) {
          return table.bits[static_cast<std::size_t>(pairs[i].a) * table.words + w] ^
                 table.bits[static_cast<std::size_t>(pairs[i].b) * table.words + w];
        },
        chunk.data());
    u64 planes = 0;
    for (u32 i = 0; i < n; ++i) planes |= static_cast<u64>(pairs[i].weight);
    for (u32 p = 0; planes >> p != 0; ++p) {
      if ((planes >> p & 1) == 0) continue;
      u64 mask = 0;
      for (u32 i = 0; i < n; ++i) mask |= (static_cast<u64>(pairs[i].weight) >> p & 1) << i;
      const std::size_t at = node.packed.size();
      node.packed.insert(node.packed.end(), chunk.begin(), chunk.begin() + node.stride);
      for (u32 s = 0; planes != 1 && s < node.stride; ++s) node.packed[at + s] &= mask;
      node.shift.push_back(static_cast<std::uint8_t>(p));
      ++node.words;
    }
  }
}

// Far pairs are separated by nearly every test and may weaken the bound: the best prefix of whole chunks is kept.
// Returns the matching bound, and leaves cover, size and words of that prefix.
i64 Search::Worker::choose_prefix(Node& node) {
  const auto k = node.candidates.size();
  std::vector<i64> running(node.stride, 0), largest;
  node.cover.assign(node.stride, 0);
  node.size = 0;
  i64 best = std::numeric_limits<i64>::min(), size = 0;
  u32 best_words = 0, word = 0;
  const Packed bits{node.packed.data(), node.stride, node.words, table.unit ? nullptr : node.shift.data()};
  for (std::size_t first = 0; first < node.matches.size(); first += 64) {
    u64 planes = 0;
    for (std::size_t i = first; i < std::min(first + 64, node.matches.size()); ++i) {
      size += node.matches[i].weight;
      planes |= static_cast<u64>(node.matches[i].weight);
    }
    const u32 end = word + static_cast<u32>(__builtin_popcountll(planes));
    kernels.count(bits, word, end, running.data());
    word = end;
    const i64 bound = size - top_sum(running.data(), k, node.left, largest);
    if (bound >= best) {
      best = bound;
      best_words = word;
      node.size = size;
      node.cover = running;
    }
  }
  node.words = best_words;
  return std::max(best, i64{0});
}

// "Reweighting the matching". Sorts the edges by the price of the candidates that separate them; the price of a test
// grows with what it covers, so that the next matching avoids the tests that the bound suffers from.
void Search::Worker::reweight(Node& node) {
  const std::size_t k = node.candidates.size();
  std::vector<i64> largest;
  top_sum(node.cover.data(), k, node.left, largest);
  const double scale = largest.empty() || largest[0] == 0 ? 1.0 : static_cast<double>(largest[0]);
  const std::size_t bytes = static_cast<std::size_t>(table.words) * 8;
  cost_.assign(table.tests, 0);
  for (std::size_t s = 0; s < k; ++s) {
    const double share = static_cast<double>(node.cover[s]) / scale;
    cost_[node.candidates[s]] += static_cast<i64>(60.0 * share);
  }
  std::vector<i64> sums(bytes * 256, 0);  // price of each value of each byte of a difference
  std::vector<i64> price(bytes * 8, 0);
  for (const u32 test : node.candidates) price[test] = cost_[test] + 100;
  for (std::size_t b = 0; b < bytes; ++b)
    for (u32 value = 1; value < 256; ++value)
      sums[b * 256 + value] =
          sums[b * 256 + (value & (value - 1))] + price[b * 8 + static_cast<u32>(__builtin_ctz(value))];
  std::vector<std::pair<i64, Edge>> sorted(node.edges.size());
  for (std::size_t e = 0; e < node.edges.size(); ++e) {
    const Edge edge = node.edges[e];
    i64 sum = 0;
    for (u32 w = 0; w < table.words; ++w) {
      const u64 differ = table.bits[static_cast<std::size_t>(edge.a) * table.words + w] ^
                         table.bits[static_cast<std::size_t>(edge.b) * table.words + w];
      for (u32 b = 0; b < 8; ++b) sum += sums[(w * 8 + b) * 256 + (differ >> (8 * b) & 255)];
    }
    sorted[e] = {sum, edge};
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto& x, const auto& y) {
    return x.first != y.first         ? x.first < y.first
           : x.second.a != y.second.a ? x.second.a < y.second.a
                                      : x.second.b < y.second.b;
  });
  for (std::size_t e = 0; e < sorted.size(); ++e) node.edges[e] = sorted[e].second;
}

// Leaves only the candidates of `slots`, in that order, in the packed matrix and the covers.
void Search::Worker::keep(Node& node, const std::vector<u32>& slots) {
  const auto k = static_cast<u32>(slots.size());
  const u32 stride = (k + kSlotStep - 1) / kSlotStep * kSlotStep;
  std::vector<u64>& packed = scratch_;
  packed.assign(static_cast<std::size_t>(node.words) * stride, 0);
  for (u32 w = 0; w < node.words; ++w)
    for (u32 s = 0; s < k; ++s)
      packed[static_cast<std::size_t>(w) * stride + s] =
          node.packed[static_cast<std::size_t>(w) * node.stride + slots[s]];
  node.packed.swap(packed);
  std::vector<u32> tests(k);
  std::vector<i64> cover(stride, 0);
  for (u32 s = 0; s < k; ++s) {
    tests[s] = node.candidates[slots[s]];
    cover[s] = node.cover[slots[s]];
  }
  node.candidates.swap(tests);
  node.cover.swap(cover);
  node.stride = stride;
}

}  // namespace proofwood::bdd
