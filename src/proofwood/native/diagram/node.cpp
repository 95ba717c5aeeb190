// The best split of one node: a walk along each column in the order of its ranks.
//
// Theory: docs/theory/layered-diagrams.md, "What is minimised"
// (Florio, Martins, Schiffer, Serra, Vidal, AAAI 2023, ODD).
//
// Each row has a price per target (a terminal, or a node of the next layer); per column the
// prices of the rows so far add up:
//
//   rank        0    1    2        after rank 0: low (2, 0), high (1, 4), so low to target 2, high to target 1: 0 + 1
//   target 1    2    0    1        the whole rows cost (3, 4)
//   target 2    0    1    3
#include "diagram/node.hpp"

#include <algorithm>
#include <cstring>

namespace proofwood::diagram {

namespace {

constexpr u32 kMostBlocks = 512;  // of targets; more are compared pair by pair

template <class V>
typename Prices<V>::Lane load(const V* from) {
  return *reinterpret_cast<const typename Prices<V>::Lane*>(from);
}

}  // namespace

void Local::fill(const Table& table, const std::vector<u32>& chosen) {
  members = chosen;
  rows = static_cast<u32>(chosen.size());
  place_of.assign(table.rows, rows);
  for (u32 k = 0; k < rows; ++k) place_of[chosen[k]] = k;
  columns.resize(table.columns);
  order.resize(static_cast<std::size_t>(table.columns) * rows + 1);
  ranks.resize(order.size());
  std::size_t begin = 0;
  for (u32 j = 0; j < table.columns; ++j) {
    u32* const places = order.data() + begin;
    const auto& few = table.few[j];
    const bool binary = table.cuts[j] == 1;
    const u32* const sorted = binary ? few.data() : table.order(static_cast<int>(j));
    const u32 listed = binary ? static_cast<u32>(few.size()) : table.rows;
    u32 count = 0;
    for (u32 i = 0; i < listed; ++i) {  // without a branch: what is no member is overwritten
      const u32 place = place_of[sorted[i]];
      places[count] = place;
      count += place != rows;
    }
    columns[j] = {begin, count, binary, table.few_high[j] != 0};
    if (!binary) {
      const int* const given = table.column(static_cast<int>(j));
      for (u32 i = 0; i < count; ++i) ranks[begin + i] = given[chosen[places[i]]];
    }
    begin += count;
  }
}

template <class V>
struct Prices<V>::Scan {
  const Table& table;
  const Local& local;
  const char* inside;
  u32 count;
  const V* total;
  const V* fixed;
  V bound;
  bool ties, careful, apart;  // careful: limits on pairs of targets; apart: the cheapest targets may be the same one
  u32 seen;
  Random& random;
  const std::vector<Target<V>>& list;
  double least;
  u32 room;
  Split<V> found;
};

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
void Prices<V>::totals(const Local& local, const char* inside, std::vector<V>& total) const {
  total.assign(stride(), 0);
  for (u32 b = 0; b < blocks_; ++b) {
    Lane sum{};
    const V* prices = data_.data() + b * kLanes;
    if (inside == nullptr) {
      for (u32 k = 0; k < local.rows; ++k, prices += stride()) sum += load<V>(prices);
    } else {
      for (u32 k = 0; k < local.rows; ++k, prices += stride())
        if (inside[k]) sum += load<V>(prices);
    }
    std::memcpy(total.data() + b * kLanes, &sum, sizeof(sum));
  }
}

// `low`: sums of the rows that go low. The cheapest target of either side gives the cost of the cut.
template <class V>
template <int Blocks>
void Prices<V>::price(Scan& scan, u32 column, int cut, const Lane* low) const {
  const u32 blocks = Blocks > 0 ? static_cast<u32>(Blocks) : blocks_;
  const auto least = [](Lane x, Lane y) { return x < y ? x : y; };
  Lane first = low[0] + load<V>(scan.fixed), second = load<V>(scan.total) - low[0] + load<V>(scan.fixed);
  for (u32 b = 1; b < blocks; ++b) {
    const Lane fixed = load<V>(scan.fixed + b * kLanes);
    first = least(first, low[b] + fixed);
    second = least(second, load<V>(scan.total + b * kLanes) - low[b] + fixed);
  }
  V one = first[0], two = second[0];
  for (u32 l = 1; l < kLanes; ++l) {
    one = first[l] < one ? first[l] : one;
    two = second[l] < two ? second[l] : two;
  }
  const V cost = one + two;
  if (cost > scan.bound) return;
  if (scan.apart) {
    if (cost < scan.bound) apart(scan, column, cut, reinterpret_cast<const V*>(low));
    return;
  }
  if (cost == scan.bound && (!scan.ties || scan.random.below(++scan.seen) != 0)) return;
  if (cost < scan.bound) scan.seen = 1;
  scan.bound = cost;
  scan.found.cost = cost;
  scan.found.column = static_cast<int>(column);
  scan.found.cut = cut;
}

// The cheapest two targets that differ.
template <class V>
void Prices<V>::apart(Scan& scan, u32 column, int cut, const V* low) const {
  u32 p = 0, q = 0;
  V one = std::numeric_limits<V>::infinity(), two = one, next_one = one, next_two = one;
  u32 other_p = 0, other_q = 0;
  for (u32 t = 0; t < targets_; ++t) {
    const V first = low[t] + scan.fixed[t], second = scan.total[t] - low[t] + scan.fixed[t];
    if (first < one)
      next_one = one, other_p = p, one = first, p = t;
    else if (first < next_one)
      next_one = first, other_p = t;
    if (second < two)
      next_two = two, other_q = q, two = second, q = t;
    else if (second < next_two)
      next_two = second, other_q = t;
  }
  V cost = one + two;
  if (p == q) {
    if (next_one + two < one + next_two)
      cost = next_one + two, p = other_p;
    else
      cost = one + next_two, q = other_q;
  }
  if (cost >= scan.bound) return;
  scan.bound = cost;
  scan.found = {cost, static_cast<int>(column), cut, static_cast<int>(p), static_cast<int>(q)};
}

// Sums of the low rows run along the order of the column.
template <class V>
template <int Blocks>
void Prices<V>::sweep(Scan& scan, u32 column, u32 count) const {
  const u32 blocks = Blocks > 0 ? static_cast<u32>(Blocks) : blocks_;
  const u32 width = blocks * kLanes;
  Lane low[Blocks > 0 ? static_cast<u32>(Blocks) : kMostBlocks];
  for (u32 b = 0; b < blocks; ++b) low[b] = Lane{};
  u32 last = count - 1;
  while (rank_[last - 1] == rank_[last]) --last;
  for (u32 i = 0; i < last; ++i) {
    const V* const prices = data_.data() + static_cast<std::size_t>(chosen_[i]) * width;
    for (u32 b = 0; b < blocks; ++b) low[b] += load<V>(prices + b * kLanes);
    if (rank_[i + 1] != rank_[i]) price<Blocks>(scan, column, rank_[i], low);
  }
}

template <class V>
template <int Blocks>
void Prices<V>::one_cut(Scan& scan, u32 column, const u32* order, u32 listed, bool few_high) const {
  const u32 blocks = Blocks > 0 ? static_cast<u32>(Blocks) : blocks_;
  const u32 width = blocks * kLanes;
  Lane sum[Blocks > 0 ? static_cast<u32>(Blocks) : kMostBlocks];
  for (u32 b = 0; b < blocks; ++b) sum[b] = Lane{};
  u32 count = 0;
  for (u32 i = 0; i < listed; ++i) {
    if (scan.inside != nullptr && !scan.inside[order[i]]) continue;
    ++count;
    const V* const prices = data_.data() + static_cast<std::size_t>(order[i]) * width;
    for (u32 b = 0; b < blocks; ++b) sum[b] += load<V>(prices + b * kLanes);
  }
  if (count == 0 || count == scan.count) return;
  if (few_high)
    for (u32 b = 0; b < blocks; ++b) sum[b] = load<V>(scan.total + b * kLanes) - sum[b];
  price<Blocks>(scan, column, 0, sum);
}

// Pairs of targets one by one, where not every pair will do.
template <class V>
void Prices<V>::careful(Scan& scan, u32 column, u32 count) const {
  std::vector<V> low(targets_, 0);
  const auto& list = scan.list;
  double all = 0, below = 0;
  for (u32 i = 0; i < count; ++i) all += scan.table.weight[scan.local.members[chosen_[i]]];
  for (u32 i = 0; i + 1 < count; ++i) {
    const V* const prices = row(chosen_[i]);
    below += scan.table.weight[scan.local.members[chosen_[i]]];
    for (u32 t = 0; t < targets_; ++t) low[t] += prices[t];
    if (rank_[i + 1] == rank_[i]) continue;
    for (u32 p = 0; p < targets_; ++p) {
      const V first = low[p] + list[p].fixed;
      if (first >= scan.bound || list[p].weight + below < scan.least) continue;
      for (u32 q = 0; q < targets_; ++q) {
        if (p == q || list[q].weight + (all - below) < scan.least || list[p].extra + list[q].extra > scan.room)
          continue;
        const V cost = first + scan.total[q] - low[q] + list[q].fixed;
        if (cost >= scan.bound) continue;
        scan.bound = cost;
        scan.found = {cost, static_cast<int>(column), rank_[i], static_cast<int>(p), static_cast<int>(q)};
      }
    }
  }
}

template <class V>
template <int Blocks>
void Prices<V>::scan_columns(Scan& scan) {
  const Local& local = scan.local;
  for (u32 j = 0; j < scan.table.columns; ++j) {
    const Local::Column& column = local.columns[j];
    const u32* const order = local.order.data() + column.begin;
    const int* const ranks = local.ranks.data() + column.begin;
    u32 count = 0;
    if (column.few) {
      if (!scan.careful) {
        one_cut<Blocks>(scan, j, order, column.count, column.few_high);
        continue;
      }
      const int* const given = scan.table.column(static_cast<int>(j));
      for (const int rank : {0, 1}) {
        for (u32 k = 0; k < local.rows; ++k) {
          chosen_[count] = k;
          rank_[count] = rank;
          count += given[local.members[k]] == rank && (scan.inside == nullptr || scan.inside[k]);
        }
      }
    } else if (scan.inside == nullptr) {
      count = column.count;
      std::memcpy(chosen_.data(), order, count * sizeof(u32));
      std::memcpy(rank_.data(), ranks, count * sizeof(int));
    } else {
      for (u32 i = 0; i < column.count; ++i) {
        chosen_[count] = order[i];
        rank_[count] = ranks[i];
        count += scan.inside[order[i]] != 0;
      }
    }
    if (count < 2 || rank_[0] == rank_[count - 1]) continue;
    if (scan.careful)
      careful(scan, j, count);
    else
      sweep<Blocks>(scan, j, count);
  }
}

template <class V>
Split<V> Prices<V>::best(const Table& table, const Local& local, const char* inside, u32 count,
                         const std::vector<V>& total, V below, bool ties, Random& random,
                         const std::vector<Target<V>>& list, double least, u32 room) {
  Split<V> none;
  none.cost = below;
  if (count < 2) return none;
  u32 most_extra = 0;
  for (const auto& target : list) most_extra = std::max(most_extra, target.extra);
  // A cut that costs less than sending all rows to one target has two targets.
  V together = std::numeric_limits<V>::infinity();
  for (u32 t = 0; t < targets_; ++t) together = std::min(together, total[t] + fixed_[t]);
  const bool limited = least > 0 || 2 * most_extra > room || blocks_ > kMostBlocks;
  Scan scan{table,
            local,
            inside,
            count,
            total.data(),
            fixed_.data(),
            below,
            ties && below < together,
            limited,
            !limited && below > together,
            0,
            random,
            list,
            least,
            room,
            none};
  chosen_.resize(local.rows + 1);
  rank_.resize(local.rows + 1);
  switch (blocks_) {
    case 1:
      scan_columns<1>(scan);
      break;
    case 2:
      scan_columns<2>(scan);
      break;
    case 3:
      scan_columns<3>(scan);
      break;
    case 4:
      scan_columns<4>(scan);
      break;
    default:
      scan_columns<0>(scan);
      break;
  }
  Split<V>& found = scan.found;
  if (scan.careful || scan.apart || !found.found()) return found;
  // The targets of the cut that was found.
  std::vector<V> low(targets_, 0);
  const int* const ranks = table.column(found.column);
  for (u32 k = 0; k < local.rows; ++k) {
    if ((inside != nullptr && !inside[k]) || ranks[local.members[k]] > found.cut) continue;
    for (u32 t = 0; t < targets_; ++t) low[t] += row(k)[t];
  }
  const auto cheapest = [&](auto&& cost) {
    u32 chosen = 0, equal = 1;
    for (u32 t = 1; t < targets_; ++t) {
      if (cost(t) < cost(chosen))
        chosen = t, equal = 1;
      else if (cost(t) == cost(chosen) && random.below(++equal) == 0)
        chosen = t;
    }
    return static_cast<int>(chosen);
  };
  found.low = cheapest([&](u32 t) { return low[t] + fixed_[t]; });
  found.high = cheapest([&](u32 t) { return total[t] - low[t] + fixed_[t]; });
  return found;
}

template class Prices<float>;
template class Prices<double>;

}  // namespace proofwood::diagram
