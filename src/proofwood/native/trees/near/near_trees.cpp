// Counts of trees per cost (docs/theory/near-optimal-trees.md, "The stored set").
#include "trees/near/near_trees.hpp"

#include <algorithm>

namespace proofwood::trees::near {

Count trees_of(const Tally& tally, i64 cost) {
  const auto at = std::lower_bound(tally.begin(), tally.end(), cost,
                                   [](const CostCount& c, i64 wanted) { return c.cost < wanted; });
  return at == tally.end() || at->cost != cost ? 0 : at->count;
}

void Adder::begin(i64 least, i64 most) {
  least_ = least;
  sparse_.clear();
  dense_.assign(most - least < kDense ? static_cast<std::size_t>(std::max<i64>(most - least + 1, 1)) : 0, 0);
}

Tally Adder::finish() {
  Tally tally;
  for (const auto& [cost, count] : sparse_)
    if (count != 0) tally.push_back({cost, count});
  for (std::size_t i = 0; i < dense_.size(); ++i)
    if (dense_[i] != 0) tally.push_back({least_ + static_cast<i64>(i), dense_[i]});
  return tally;
}

Count EdgeTrees::count(const Edge& edge, i64 cost, i64 price) const {
  Count sum = 0;
  if (edge.repeated) return sum;
  const Part *low = parts.data() + edge.at[0], *const low_end = low + edge.n[0];
  const Part *const first = parts.data() + edge.at[1], *high = first + edge.n[1];
  for (; low != low_end; ++low) {  // the costs of the one side rise, those of the other fall
    const i64 wanted = cost - price - low->cost;
    while (high != first && high[-1].cost > wanted) --high;
    if (high == first) break;
    if (high[-1].cost != wanted) continue;
    sum += Count{low->count} * high[-1].count;
    if (edge.dull && low->cost == edge.leaf[0] && wanted == edge.leaf[1]) --sum;
  }
  return sum;
}

Count RootCut::count(i64 cost, i64 price) const {
  Count sum = 0;
  if (repeated) return sum;
  for (const CostCount& low : sides[0].tally) {
    const i64 wanted = cost - price - low.cost;
    if (wanted < 0) break;
    const Count high = trees_of(sides[1].tally, wanted);
    if (high == 0) continue;
    sum = checked_sum(sum, checked_product(low.count, high));
    if (dull && low.cost == leaf[0] && wanted == leaf[1]) --sum;
  }
  return sum;
}

}  // namespace proofwood::trees::near
