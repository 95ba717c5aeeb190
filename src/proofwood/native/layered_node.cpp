// The best split of one node: a walk along each column in the order of its ranks.
#include "layered_node.hpp"

#include <algorithm>
#include <cstring>

namespace proofwood::layered {

void Local::fill(const Table& table, const std::vector<u32>& chosen) {
  members = chosen;
  rows = static_cast<u32>(chosen.size());
  place_of.assign(table.rows, rows);
  for (u32 k = 0; k < rows; ++k) place_of[chosen[k]] = k;
  order.resize(static_cast<std::size_t>(table.columns) * (rows + 1));
  ranks.resize(order.size());
  for (u32 j = 0; j < table.columns; ++j) {
    u32* const places = order.data() + static_cast<std::size_t>(j) * rows;
    int* const told = ranks.data() + static_cast<std::size_t>(j) * rows;
    const u32* const sorted = table.order(static_cast<int>(j));
    const int* const given = table.column(static_cast<int>(j));
    u32 count = 0;
    for (u32 i = 0; i < table.rows; ++i) {  // without a branch: what is no member is overwritten
      const u32 place = place_of[sorted[i]];
      places[count] = place;
      count += place != rows;
    }
    for (u32 i = 0; i < rows; ++i) told[i] = given[chosen[places[i]]];
  }
}

template <class V>
void Prices<V>::fill(const Local& local, const std::vector<Target<V>>& targets) {
  targets_ = static_cast<u32>(targets.size());
  blocks_ = (targets_ + kLanes - 1) / kLanes;
  data_.assign(static_cast<std::size_t>(local.rows) * stride(), 0);
  fixed_.assign(stride(), std::numeric_limits<V>::infinity());
  for (u32 t = 0; t < targets_; ++t) {
    fixed_[t] = targets[t].fixed;
    const V* const value = targets[t].value;
    for (u32 k = 0; k < local.rows; ++k) data_[static_cast<std::size_t>(k) * stride() + t] = value[local.members[k]];
  }
}

template <class V>
const std::vector<V>& Prices<V>::totals(const Local& local, const char* inside) {
  total_.assign(stride(), 0);
  for (u32 k = 0; k < local.rows; ++k) {
    if (inside != nullptr && !inside[k]) continue;
    const V* const prices = row(k);
    for (u32 t = 0; t < stride(); ++t) total_[t] += prices[t];
  }
  return total_;
}

// Sums of the low rows run along; the cheapest target of either side gives the cost of a cut. A bound at or below
// what sending all rows to one target costs keeps the two sides' targets apart.
template <class V>
template <int Blocks>
void Prices<V>::sweep(const Local& local, u32 column, u32 count, const V* total, const V* fixed, V& bound, bool ties, u32& seen,
                      Random& random, Split<V>& found) {
  typedef V Lane __attribute__((vector_size(16), aligned(sizeof(V)), may_alias));
  const u32 blocks = Blocks > 0 ? static_cast<u32>(Blocks) : blocks_;
  constexpr u32 kMost = Blocks > 0 ? static_cast<u32>(Blocks) : 512;
  Lane low[kMost];
  for (u32 b = 0; b < blocks; ++b) low[b] = Lane{};
  const auto load = [](const V* from) { return *reinterpret_cast<const Lane*>(from); };
  const auto least = [](Lane x, Lane y) { return x < y ? x : y; };
  const u32 width = blocks * kLanes;
  (void)local;
  for (u32 i = 0; i + 1 < count; ++i) {
    const V* const prices = data_.data() + static_cast<std::size_t>(chosen_[i]) * width;
    for (u32 b = 0; b < blocks; ++b) low[b] += load(prices + b * kLanes);
    if (rank_[i + 1] == rank_[i]) continue;
    Lane first = low[0] + load(fixed), second = load(total) - low[0] + load(fixed);
    for (u32 b = 1; b < blocks; ++b) {
      first = least(first, low[b] + load(fixed + b * kLanes));
      second = least(second, load(total + b * kLanes) - low[b] + load(fixed + b * kLanes));
    }
    V one = first[0], two = second[0];
    for (u32 l = 1; l < kLanes; ++l) {
      one = first[l] < one ? first[l] : one;
      two = second[l] < two ? second[l] : two;
    }
    const V cost = one + two;
    if (cost > bound || (cost == bound && (!ties || random.below(++seen) != 0))) continue;
    if (cost < bound) seen = 1;
    bound = cost;
    found.cost = cost;
    found.column = static_cast<int>(column);
    found.cut = rank_[i];
  }
}

template <class V>
void Prices<V>::careful(const Table& table, const Local& local, u32 column, u32 count, const std::vector<Target<V>>& list, double least,
                        u32 room, V& bound, Split<V>& found) {
  std::vector<V> low(targets_, 0);
  double all = 0, below = 0;
  for (u32 i = 0; i < count; ++i) all += table.weight[local.members[chosen_[i]]];
  for (u32 i = 0; i + 1 < count; ++i) {
    const V* const prices = row(chosen_[i]);
    below += table.weight[local.members[chosen_[i]]];
    for (u32 t = 0; t < targets_; ++t) low[t] += prices[t];
    if (rank_[i + 1] == rank_[i]) continue;
    for (u32 p = 0; p < targets_; ++p) {
      const V first = low[p] + list[p].fixed;
      if (first >= bound || list[p].weight + below < least) continue;
      for (u32 q = 0; q < targets_; ++q) {
        if (p == q || list[q].weight + (all - below) < least || list[p].extra + list[q].extra > room) continue;
        const V cost = first + total_[q] - low[q] + list[q].fixed;
        if (cost >= bound) continue;
        bound = cost;
        found = {cost, static_cast<int>(column), rank_[i], static_cast<int>(p), static_cast<int>(q)};
      }
    }
  }
}

template <class V>
Split<V> Prices<V>::best(const Table& table, const Local& local, const char* inside, V below, bool ties, Random& random,
                         const std::vector<Target<V>>& list, double least, u32 room) {
  Split<V> found;
  found.cost = below;
  totals(local, inside);
  u32 most_extra = 0;
  for (const auto& target : list) most_extra = std::max(most_extra, target.extra);
  V together = std::numeric_limits<V>::infinity();
  for (u32 t = 0; t < targets_; ++t) together = std::min(together, total_[t] + fixed_[t]);
  // A cut below `together` has two targets; where a cost above that is sought, pairs are compared one by one.
  const bool slow = least > 0 || 2 * most_extra > room || below > together || blocks_ > 512;
  V bound = below;
  u32 seen = 0;
  chosen_.resize(local.rows + 1);
  rank_.resize(local.rows + 1);
  const bool loose = ties && below < together;
  for (u32 j = 0; j < table.columns; ++j) {
    const u32* const order = local.order.data() + static_cast<std::size_t>(j) * local.rows;
    const int* const ranks = local.ranks.data() + static_cast<std::size_t>(j) * local.rows;
    u32 count = 0;
    if (inside == nullptr) {
      std::memcpy(chosen_.data(), order, local.rows * sizeof(u32));
      std::memcpy(rank_.data(), ranks, local.rows * sizeof(int));
      count = local.rows;
    } else {
      for (u32 i = 0; i < local.rows; ++i) {
        chosen_[count] = order[i];
        rank_[count] = ranks[i];
        count += inside[order[i]] != 0;
      }
    }
    if (count < 2 || rank_[0] == rank_[count - 1]) continue;
    if (slow) {
      careful(table, local, j, count, list, least, room, bound, found);
      continue;
    }
    switch (blocks_) {
      case 1: sweep<1>(local, j, count, total_.data(), fixed_.data(), bound, loose, seen, random, found); break;
      case 2: sweep<2>(local, j, count, total_.data(), fixed_.data(), bound, loose, seen, random, found); break;
      case 3: sweep<3>(local, j, count, total_.data(), fixed_.data(), bound, loose, seen, random, found); break;
      case 4: sweep<4>(local, j, count, total_.data(), fixed_.data(), bound, loose, seen, random, found); break;
      default: sweep<0>(local, j, count, total_.data(), fixed_.data(), bound, loose, seen, random, found); break;
    }
    if (!loose && bound < below) below = bound;
  }
  if (slow || !found.found()) return found;
  // The targets of the cut that was found.
  std::vector<V> low(targets_, 0);
  const u32* const order = local.order.data() + static_cast<std::size_t>(found.column) * local.rows;
  const int* const ranks = local.ranks.data() + static_cast<std::size_t>(found.column) * local.rows;
  for (u32 i = 0; i < local.rows && ranks[i] <= found.cut; ++i) {
    if (inside != nullptr && !inside[order[i]]) continue;
    for (u32 t = 0; t < targets_; ++t) low[t] += row(order[i])[t];
  }
  const auto cheapest = [&](auto&& cost) {
    u32 best = 0, equal = 1;
    for (u32 t = 1; t < targets_; ++t) {
      if (cost(t) < cost(best)) best = t, equal = 1;
      else if (cost(t) == cost(best) && random.below(++equal) == 0) best = t;
    }
    return static_cast<int>(best);
  };
  found.low = cheapest([&](u32 t) { return low[t] + fixed_[t]; });
  found.high = cheapest([&](u32 t) { return total_[t] - low[t] + fixed_[t]; });
  return found;
}

template class Prices<float>;
template class Prices<double>;

}  // namespace proofwood::layered
