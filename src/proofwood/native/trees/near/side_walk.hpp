// A walk over the parts of a set of trees: each set of trees of depth two with its rows
// (docs/theory/near-optimal-trees.md, "What holds for all trees").
#pragma once

#include <vector>

#include "trees/near/near_search.hpp"

namespace proofwood::trees::near {

// Of the trees of one side of a root, or of all of them where the set is no deeper than two.
struct SideTrees {
  Rows& rows;
  const EdgeTrees& trees;
  const RootCut* cut;  // null: no root above
  std::size_t side;
  i64 budget;

  // Whether the side's tree that is a leaf belongs to some tree of the set.
  bool leaf_counts(i64 price, i64 whole_budget) const;
};

class SideWalk {
 public:
  SideWalk(NearSearch& search, const std::atomic<int>& stop, bool every_view)
      : search_(search),
        stop_(stop),
        finder_(search.table(), search.minimum(), search.solver().shared.settings.isa,
                search.solver().shared.settings.lane_bits, stop, search.views(), every_view) {}

  // Calls `work(const SideTrees&)` for each; both sides of a root follow each other. False if stopped, or if `work`
  // says so.
  bool run(const auto& work) {
    if (search_.depth() <= 2) return work(SideTrees{search_.rows(), search_.shallow(), nullptr, 0, search_.budget()});
    for (const RootCut& cut : search_.cuts()) {
      if (!search_.rows().split(search_.table(), cut.feature, cut.position, sides_[0], sides_[1], scratch_, stop_))
        return false;
      for (const std::size_t side : {0, 1}) {
        const EdgeTrees* const trees = edges_of(sides_[side], cut.budget[side], cut.sides[side]);
        if (trees == nullptr || !work(SideTrees{sides_[side], *trees, &cut, side, cut.budget[side]})) return false;
      }
    }
    return true;
  }

  // The stumps of all edges, some edges at a time: before them `begin(first edge, number)`, after them
  // `end(first edge, number)`. False if stopped.
  bool stumps(const SideTrees& side, StumpSink& sink, const auto& begin, const auto& end) {
    const auto& edges = side.trees.edges;
    if (edges.empty()) return true;
    finder_.begin(side.rows);
    for (std::size_t from = 0; from < edges.size(); from += wanted_.size()) {
      wanted_.clear();
      while (from + wanted_.size() < edges.size() && wanted_.size() < finder_.room())
        wanted_.push_back(search_.edges().wanted(side.trees, edges[from + wanted_.size()]));
      begin(from, wanted_.size());
      if (!finder_.find(side.rows, wanted_, sink)) return false;
      end(from, wanted_.size());
    }
    return true;
  }
  const StumpFinder& finder() const { return finder_; }
  bool stopped() const { return stop_.load(std::memory_order_relaxed) != 0; }

 private:
  const EdgeTrees* edges_of(Rows& rows, i64 budget, const EdgeTrees& trees) {
    if (trees.kept) return &trees;
    KnownSplitsPtr known;
    return search_.edges().find(rows, trees.tally.front().cost, budget, made_, known) ? &made_ : nullptr;
  }

  NearSearch& search_;
  const std::atomic<int>& stop_;
  StumpFinder finder_;
  Rows sides_[2];
  Buffer<u32> scratch_;
  EdgeTrees made_;
  std::vector<StumpsWanted> wanted_;
};

}  // namespace proofwood::trees::near
