// Preparation of the subset search over columns of many cuts: dense ranks, equal cuts, near pairs.
//
// Theory: docs/theory/decision-diagrams.md, "Cuts kept as ranks".
// The problem is that of Hu, Huguet, Siala, AAAI 2022 (MaxSAT-BDD); the search is ours.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "bdd/subset_search.hpp"
#include "common/mix.hpp"

namespace proofwood::bdd {

namespace {

// Tests by their hash, in three arrays: a map of millions of small vectors takes a second to free.
class SameHash {
 public:
  explicit SameHash(std::size_t most) : newest_(std::bit_ceil(most + 1), kNoTest) {}

  // The newest test of this hash for which `is_same` holds; kNoTest if there is none.
  template <class IsSame>
  u32 find(u64 hash, const IsSame& is_same) const {
    for (u32 at = newest_[hash & (newest_.size() - 1)]; at != kNoTest; at = before_[at])
      if (hashes_[at] == hash && is_same(at)) return at;
    return kNoTest;
  }

  // Tests are numbered in the order in which they come.
  void add(u64 hash, u32 test) {
    u32& newest = newest_[hash & (newest_.size() - 1)];
    before_.push_back(newest);
    hashes_.push_back(hash);
    newest = test;
  }

 private:
  std::vector<u32> newest_, before_;
  std::vector<u64> hashes_;
};

// Ranks of the rows of one column and the rows in their order, both without gaps, and the given rank of each.
struct DenseColumn {
  u32* rank;
  u32* order;
  std::vector<std::int32_t> value;  // by dense rank
  std::vector<u32> begin;           // (ranks + 1,) place in the order of the first row of each rank
};

// Sorts by counting: ranks go from 0 to `cuts`. Rows of one rank stay in the order of their numbers.
template <class Given>
DenseColumn sort_column(u32* rank, u32* order, u32 n, std::int32_t cuts, const Given& given) {
  DenseColumn column{rank, order, {}, {}};
  std::vector<u32> next(static_cast<std::size_t>(cuts) + 2, 0);
  for (u32 g = 0; g < n; ++g) ++next[static_cast<std::size_t>(given(g)) + 1];
  std::vector<u32> dense(static_cast<std::size_t>(cuts) + 1, 0);
  for (std::int32_t value = 0; value <= cuts; ++value) {
    const auto at = static_cast<std::size_t>(value);
    dense[at] = static_cast<u32>(column.value.size());
    if (next[at + 1] != 0) {
      column.value.push_back(value);
      column.begin.push_back(next[at]);
    }
    next[at + 1] += next[at];
  }
  column.begin.push_back(n);
  for (u32 g = 0; g < n; ++g) {
    const auto at = static_cast<std::size_t>(given(g));
    order[next[at]++] = g;
    rank[g] = dense[at];
  }
  return column;
}

// Whether cuts of an earlier column part the rows as the cuts of this one do: the first `i` rows of this column, which
// the cut after them sends low, have their ranks in the other column between least[i] and greatest[i].
class AgainstEarlier {
 public:
  AgainstEarlier(const Table& table, const u32* order) : table_(table), order_(order) {}

  // Whether the first `low` rows are the rows on one side of `other`: on a given number of rows, two sets are equal if
  // one is within the other.
  bool same(u32 low, u32 other) {
    const u32 column = table_.column_of[other], cut = table_.cut_of[other];
    const u32 low_of_other = table_.rank_begin[table_.raw_begin[column] + cut + std::size_t{1}];
    const Ranges& ranges = of(column);
    if (low == low_of_other && ranges.greatest[low] <= cut) return true;
    return low == table_.groups - low_of_other && ranges.least[low] > cut;
  }

 private:
  struct Ranges {
    std::vector<u32> least, greatest;
  };
  const Ranges& of(u32 column) {
    const auto [at, fresh] = ranges_.try_emplace(column);
    Ranges& ranges = at->second;
    if (!fresh) return ranges;
    const u32 n = table_.groups;
    const u32* const rank = table_.ranks.data() + column * std::size_t{n};
    ranges.least.assign(n + std::size_t{1}, ~0u);
    ranges.greatest.assign(n + std::size_t{1}, 0);
    for (u32 i = 0; i < n; ++i) {
      ranges.least[i + 1] = std::min(ranges.least[i], rank[order_[i]]);
      ranges.greatest[i + 1] = std::max(ranges.greatest[i], rank[order_[i]]);
    }
    return ranges;
  }

  const Table& table_;
  const u32* const order_;
  std::map<u32, Ranges> ranges_;
};

}  // namespace

// Ranks are made dense, which drops constant and equal cuts of a column. Cuts of different columns that are equal or
// opposite on all rows are found by sums of random keys of their low rows, and compared along the order of the column.
// A column all of whose cuts are known is dropped: a copy of a column costs what it takes to see that.
void add_ranks(Table& table, const std::int32_t* ranks, std::size_t columns, const std::int32_t* cuts,
               const std::vector<std::size_t>& kept, const std::atomic<int>& stop) {
  const u32 n = table.groups;
  table.by_rank = true;
  table.ranks.resize(columns * n);
  table.orders.resize(columns * n);
  table.raw_begin.assign(1, 0);
  SameHash same_hash(std::accumulate(cuts, cuts + columns, std::size_t{0}));
  u64 all = 0;
  for (u32 g = 0; g < n; ++g) all += mix(g);
  u32 number = 0, place = 0;  // of the first cut of the column, and of the column among those that are kept
  for (std::size_t j = 0; j < columns && n > 0; number += static_cast<u32>(cuts[j]), ++j) {
    if (stop.load(std::memory_order_relaxed) != 0) return;
    const DenseColumn column =
        sort_column(table.ranks.data() + place * std::size_t{n}, table.orders.data() + place * std::size_t{n}, n,
                    cuts[j], [&](u32 g) { return ranks[kept[g] * columns + j]; });
    const auto n_cuts = static_cast<u32>(column.value.size() - 1);
    const std::size_t tests = table.number.size();
    AgainstEarlier earlier(table, column.order);
    std::vector<u32> test_at, number_at;
    u64 low = 0;
    for (u32 cut = 0; cut < n_cuts; ++cut) {
      for (u32 i = column.begin[cut]; i < column.begin[cut + 1]; ++i) low += mix(column.order[i]);
      const u64 hash = column.rank[0] > cut ? low : all - low;  // of the side that row 0 is not on
      const u32 known = same_hash.find(hash, [&](u32 other) {
        return other < tests && earlier.same(column.begin[cut + 1], other);  // cuts of one column differ
      });
      test_at.push_back(known);
      number_at.push_back(number + static_cast<u32>(column.value[cut]));
      if (known != kNoTest) continue;
      test_at.back() = static_cast<u32>(table.number.size());
      same_hash.add(hash, test_at.back());
      table.column_of.push_back(place);
      table.cut_of.push_back(cut);
      table.number.push_back(number_at.back());
    }
    for (u32 cut = 0, given = 0; given < static_cast<u32>(cuts[j]);
         ++given) {  // a cut between two ranks is the one below
      while (cut < n_cuts && static_cast<u32>(column.value[cut + 1]) <= given) ++cut;
      const bool parts = cut < n_cuts && static_cast<u32>(column.value[cut]) <= given;
      table.same_as.push_back(parts ? test_at[cut] : kNoTest);
    }
    if (table.number.size() == tests) continue;
    test_at.push_back(kNoTest);  // one place more than cuts: differences end there
    number_at.push_back(kNoTest);
    table.test_at.insert(table.test_at.end(), test_at.begin(), test_at.end());
    table.number_at.insert(table.number_at.end(), number_at.begin(), number_at.end());
    table.rank_begin.insert(table.rank_begin.end(), column.begin.begin(), column.begin.end() - 1);
    table.raw_begin.push_back(static_cast<u32>(table.test_at.size()));
    ++place;
  }
  table.same_as.resize(std::accumulate(cuts, cuts + columns, std::size_t{0}), kNoTest);  // no row, no test
  table.ranks.resize(place * std::size_t{n});
  table.orders.resize(place * std::size_t{n});
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
  const u32 n = table.groups;
  const std::size_t columns = table.raw_begin.size() - 1;
  std::vector<Near> near;
  std::vector<NearPair> pairs;
  std::vector<u32> others;
  for (u32 g = 0; g < n && stop.load(std::memory_order_relaxed) == 0; ++g) {
    if (table.margin[g] == 0) continue;
    others.clear();
    const u32 step = static_cast<u32>(std::max<std::size_t>(1, n / kMostCompared));
    for (u32 i = static_cast<u32>(mix(g) % step); i < n; i += step)
      if (table.heaviest[i] != table.heaviest[g] && table.margin[i] > 0) others.push_back(i);
    near.assign(others.size(), {0, 0, 0});
    for (std::size_t i = 0; i < others.size(); ++i)
      near[i] = {0, static_cast<u32>(mix(u64{g} << 32 | others[i]) >> 32), others[i]};
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
  table.edges = sorted_edges(pairs);
}

}  // namespace proofwood::bdd
