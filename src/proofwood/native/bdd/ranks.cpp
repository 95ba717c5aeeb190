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
#include <limits>

#include "bdd/worker.hpp"

namespace proofwood::bdd {

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

namespace {

constexpr u32 kNoSlot = ~0u, kSeveral = ~0u - 1;

}  // namespace

// Notes for every group where its items are counted: cell and class in one number, as few groups have several items.
void Search::Worker::place_slots(const Node& node) {
  const std::size_t n = table.groups, classes = table.classes;
  if (slot_.empty()) {
    slot_.assign(n, kNoSlot);
    spot_.assign(n, kNoSlot);
    first_item_.assign(n + 1, 0);
    by_group_.resize(table.items.size());
    for (const Item& item : table.items) ++first_item_[item.group + 1];
    for (std::size_t g = 0; g < n; ++g) first_item_[g + 1] += first_item_[g];
    std::vector<u32> next(first_item_.begin(), first_item_.end() - 1);
    for (u32 i = 0; i < table.items.size(); ++i) by_group_[next[table.items[i].group]++] = i;
  }
  whole_.assign(node.ends.size() * classes, 0);
  u32 begin = 0;
  for (u32 c = 0; c < node.ends.size(); ++c) {
    for (u32 i = begin; i < node.ends[c]; ++i) {
      const Item& item = table.items[node.items[i]];
      const u32 g = table.group_of[node.items[i]];
      slot_[g] = slot_[g] == kNoSlot ? static_cast<u32>(c * classes) + item.label : kSeveral;
      spot_[g] = c;
      whole_[c * classes + item.label] += item.weight;
    }
    begin = node.ends[c];
  }
}

// Calls see(place, error) with the error of the node after each cut of the columns that are `wanted`: a walk along the
// rows of each in their order.
template <class Wanted, class See>
void Search::Worker::walk_cuts(const Node& node, const Wanted& wanted, const See& see) {
  const std::size_t n = table.groups, columns = table.raw_begin.size() - 1, classes = table.classes;
  place_slots(node);
  const auto heaviest = [&](std::size_t cell) {
    return *std::max_element(whole_.begin() + static_cast<std::ptrdiff_t>(cell * classes),
                             whole_.begin() + static_cast<std::ptrdiff_t>((cell + 1) * classes));
  };
  i64 start = 0;
  for (const i64 excess : node.excess) start += excess;
  std::vector<i64> low(whole_.size()),
      right(node.ends.size());  // weight of the heaviest classes of both sides of each cell
  std::vector<u32> cell_of(whole_.size());
  for (std::size_t s = 0; s < cell_of.size(); ++s) cell_of[s] = static_cast<u32>(s / classes);
  i64 error = 0;
  const auto move = [&](std::size_t slot, i64 weight) {
    const std::size_t c = cell_of[slot];
    i64* const below = low.data() + c * classes;
    const i64* const both = whole_.data() + c * classes;
    low[slot] += weight;
    i64 best_low = 0, best_high = 0;
    for (std::size_t label = 0; label < classes; ++label) {
      best_low = std::max(best_low, below[label]);
      best_high = std::max(best_high, both[label] - below[label]);
    }
    error += right[c] - (best_low + best_high);
    right[c] = best_low + best_high;
  };
  for (std::size_t j = 0; j < columns; ++j) {
    if (!wanted(static_cast<u32>(j))) continue;
    if (search.stopped()) break;
    const u32* const order = table.orders.data() + j * n;
    const u32 first = table.raw_begin[j], end = table.raw_begin[j + 1];
    std::fill(low.begin(), low.end(), 0);
    for (std::size_t c = 0; c < right.size(); ++c) right[c] = heaviest(c);
    error = start;
    for (u32 place = first; place + 1 < end; ++place) {
      for (u32 i = table.rank_begin[place]; i < table.rank_begin[place + 1]; ++i) {
        const u32 g = order[i];
        const u32 slot = slot_[g];
        if (slot == kNoSlot) continue;
        if (slot != kSeveral) {
          move(slot, table.unit ? 1 : table.items[by_group_[first_item_[g]]].weight);
          continue;
        }
        for (u32 k = first_item_[g]; k < first_item_[g + 1]; ++k)
          move(spot_[g] * classes + table.items[by_group_[k]].label, table.items[by_group_[k]].weight);
      }
      see(place, error);
    }
  }
  for (const u32 item : node.items) slot_[table.group_of[item]] = kNoSlot;
}

// errors[s] = error of the node after candidate s.
void Search::Worker::rank_errors(const Node& node, std::vector<i64>& errors) {
  std::vector<bool> wanted(table.raw_begin.size() - 1, false);
  for (const u32 test : node.candidates) wanted[table.column_of[test]] = true;
  raw_.assign(table.raw_begin.back(), -1);
  walk_cuts(node, [&](u32 column) { return wanted[column]; }, [&](u32 place, i64 error) { raw_[place] = error; });
  errors.resize(node.candidates.size());
  for (std::size_t s = 0; s < node.candidates.size(); ++s) errors[s] = raw_[table.raw_of[node.candidates[s]]];
}

// Least error after one more test that is not among `set`, and the first such test.
std::pair<i64, u32> Search::Worker::best_cut(const Node& node, const Set& set) {
  std::pair<i64, u32> best{std::numeric_limits<i64>::max(), 0};
  const auto see = [&](u32 place, i64 error) {
    if (error >= best.first) return;
    const u32 test = table.test_at[place];
    if (table.raw_of[test] != place || std::find(set.begin(), set.end(), test) != set.end()) return;
    best = {error, test};
  };
  walk_cuts(node, [](u32) { return true; }, see);
  return best;
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
