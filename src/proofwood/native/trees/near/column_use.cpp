// Counts of trees per cost once more, without the stumps of each column in turn.
#include "trees/near/column_use.hpp"

#include <algorithm>

#include "trees/near/side_walk.hpp"

namespace proofwood::trees::near {

namespace {

// Trees of depth two of one side per cost that do without each column.
class Without final : public StumpSink {
 public:
  Without(NearSearch& search, SideWalk& walk)
      : search_(search), walk_(walk), price_(search.prices().leaf), n_columns_(search.views().n_columns()) {}

  // False if stopped.
  bool add_up(const SideTrees& side, std::vector<Tally>& tallies) {
    side_ = &side;
    adders_.resize(n_columns_);
    const i64 least = side.trees.tally.empty() ? 0 : side.trees.tally.front().cost;
    for (Adder& adder : adders_) {
      adder.begin(least, side.budget);
      if (side.trees.leaf < kInfinite) adder.add(side.trees.leaf, 1);
    }
    if (search_.depth() == 1) {  // both leaves of a stump in one number
      for (const Edge& edge : side.trees.edges) {
        if (walk_.stopped()) return false;
        for (u32 c = 0; c < n_columns_; ++c)
          if (!edge.repeated && c != column(edge.feature)) adders_[c].add(edge.leaf[0] + price_, 1);
      }
    } else if (!walk_.stumps(
                   side, *this, [&](std::size_t from, std::size_t n) { begin(from, n); },
                   [&](std::size_t from, std::size_t n) { end(from, n); })) {
      return false;
    }
    if (walk_.stopped()) return false;  // the last edges may not be whole
    tallies.resize(n_columns_);
    for (u32 c = 0; c < n_columns_; ++c) tallies[c] = adders_[c].finish();
    return true;
  }

  void take(u32 feature, const StumpHit* hits, std::size_t n) override {
    const EdgeTrees& trees = side_->trees;
    for (std::size_t i = 0; i < n; ++i) {
      const Edge& edge = trees.edges[from_ + hits[i].lane];
      const i64 cost = search_.prices().error * walk_.finder().wrong(hits[i]) + price_;
      const Part* const parts = trees.parts.data() + edge.at[hits[i].side];
      const Part* const part = std::lower_bound(parts, parts + edge.n[hits[i].side], cost,
                                                [](const Part& p, i64 wanted) { return p.cost < wanted; });
      ++stumps_[(static_cast<std::size_t>(part - trees.parts.data()) - first_part_) * n_columns_ + column(feature)];
    }
  }

 private:
  u32 column(u32 feature) const { return search_.views().column(feature); }
  void begin(std::size_t from, std::size_t n) {
    from_ = from;
    const Edge &first = side_->trees.edges[from], &last = side_->trees.edges[from + n - 1];
    first_part_ = first.at[0];
    stumps_.assign((last.at[1] + last.n[1] - first_part_) * std::size_t{n_columns_}, 0);
  }
  void end(std::size_t from, std::size_t n) {
    for (std::size_t e = from; e < from + n; ++e) {
      const Edge& edge = side_->trees.edges[e];
      for (u32 c = 0; c < n_columns_; ++c)
        if (!edge.repeated && c != column(edge.feature)) add_edge(edge, c);
    }
  }
  u32 left(const Part* part, u32 column) const {
    return part->count -
           stumps_[(static_cast<std::size_t>(part - side_->trees.parts.data()) - first_part_) * n_columns_ + column];
  }
  void add_edge(const Edge& edge, u32 column) {
    const Part *const low = side_->trees.parts.data() + edge.at[0], *const high =
                                                                        side_->trees.parts.data() + edge.at[1];
    for (const Part* a = low; a != low + edge.n[0] && !walk_.stopped(); ++a)
      for (const Part* b = high; b != high + edge.n[1]; ++b) {
        const i64 cost = a->cost + b->cost + price_;
        if (cost > side_->budget) break;
        const bool no_tree = edge.dull && a->cost == edge.leaf[0] && b->cost == edge.leaf[1];
        adders_[column].add(cost, Count{left(a, column)} * left(b, column) - (no_tree ? 1 : 0));
      }
  }

  NearSearch& search_;
  SideWalk& walk_;
  const i64 price_;
  const u32 n_columns_;
  const SideTrees* side_ = nullptr;
  std::size_t from_ = 0, first_part_ = 0;
  std::vector<u32> stumps_;  // per part of some edges, per column
  std::vector<Adder> adders_;
};

Count pairs_within(const NearSearch& search, const RootCut& cut, const Tally& low, const Tally& high) {
  Count sum = 0;
  for (const CostCount& a : low)
    for (const CostCount& b : high) {
      if (a.cost + b.cost + search.prices().leaf > search.budget()) break;
      const bool no_tree = cut.dull && a.cost == cut.leaf[0] && b.cost == cut.leaf[1];
      sum = checked_sum(sum, checked_product(a.count, b.count) - (no_tree ? 1 : 0));
    }
  return sum;
}

Count trees_of_all(const Tally& tally) {
  Count sum = 0;
  for (const CostCount& of : tally) sum = checked_sum(sum, of.count);
  return sum;
}

}  // namespace

bool count_without(NearSearch& search, const std::atomic<int>& stop, ColumnUse& use) {
  SideWalk walk(search, stop, false);
  Without without(search, walk);
  const u32 n_columns = search.views().n_columns();
  const bool deep = search.depth() > 2;
  use.seen = (deep || search.depth() == 0) && search.leaf() < kInfinite ? 1 : 0;
  use.without.assign(n_columns, use.seen);
  if (search.depth() == 0) return true;
  std::vector<Tally> tallies[2];
  return walk.run([&](const SideTrees& side) {
    if (deep && side.cut->repeated) return true;
    if (!without.add_up(side, tallies[side.side])) return false;
    if (deep && side.side == 0) return true;
    for (u32 c = 0; c < n_columns; ++c) {
      if (deep && c == search.views().column(side.cut->feature)) continue;
      const Count more =
          deep ? pairs_within(search, *side.cut, tallies[0][c], tallies[1][c]) : trees_of_all(tallies[0][c]);
      use.without[c] = checked_sum(use.without[c], more);
    }
    const Count all = deep ? pairs_within(search, *side.cut, side.cut->sides[0].tally, side.cut->sides[1].tally)
                           : trees_of_all(side.trees.tally);
    use.seen = checked_sum(use.seen, all);
    return true;
  });
}

}  // namespace proofwood::trees::near
