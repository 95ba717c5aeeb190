// Trees of depth two within a budget: splits by the batched routine of depth two with a limit that stays, and the
// stumps of their sides (docs/theory/near-optimal-trees.md, "Counting stumps").
#include <algorithm>
#include <unordered_map>

#include "trees/near/near_search.hpp"

namespace proofwood::trees::near {

// Stumps per weight that they get wrong, of the lanes and sides of a batch.
class EdgeSearch::Histograms final : public StumpSink {
 public:
  explicit Histograms(const StumpFinder& finder) : finder_(finder) {}

  // `least`: what the best stump gets wrong.
  void begin(const std::vector<StumpsWanted>& wanted, const std::vector<std::array<i64, 2>>& least) {
    constexpr i64 kDense = 1024;
    sides_.resize(2 * wanted.size());
    for (std::size_t l = 0; l < wanted.size(); ++l)
      for (const std::size_t side : {0, 1}) {
        OfSide& of = sides_[2 * l + side];
        const i64 range = wanted[l].most[side] - least[l][side];
        of.least = least[l][side];
        of.dense.assign(range >= 0 && range < kDense ? static_cast<std::size_t>(range + 1) : 0, 0);
        of.sparse.clear();
      }
  }
  void take(u32, const StumpHit* hits, std::size_t n) override {
    for (std::size_t i = 0; i < n; ++i) {
      OfSide& of = sides_[2 * std::size_t{hits[i].lane} + hits[i].side];
      const i64 wrong = finder_.wrong(hits[i]);
      if (of.dense.empty())
        ++of.sparse[wrong];
      else
        ++of.dense[static_cast<std::size_t>(wrong - of.least)];
    }
  }
  // Calls `work(wrong, count)` in the order of the first.
  void visit(std::size_t lane, std::size_t side, const auto& work) const {
    const OfSide& of = sides_[2 * lane + side];
    for (std::size_t i = 0; i < of.dense.size(); ++i)
      if (of.dense[i] != 0) work(of.least + static_cast<i64>(i), of.dense[i]);
    for (const auto& [wrong, count] : of.sparse) work(wrong, count);
  }

 private:
  struct OfSide {
    i64 least = 0;
    std::vector<u32> dense;
    std::map<i64, u32> sparse;
  };
  const StumpFinder& finder_;
  std::vector<OfSide> sides_;
};

EdgeSearch::EdgeSearch(Solver& solver, const ColumnViews& views)
    : solver_(solver),
      views_(views),
      prices_(solver.shared.settings.prices),
      finder_(solver.shared.table, solver.shared.settings.minimum, solver.shared.settings.isa,
              solver.shared.settings.lane_bits, solver.shared.stop, views),
      repeated_(views),
      histograms_(std::make_unique<Histograms>(finder_)) {}

EdgeSearch::~EdgeSearch() = default;

i64 EdgeSearch::most_wrong(i64 budget, i64 leaf) const {
  const i64 most = std::min(budget - prices_.leaf, leaf - 1);
  return most < 0 ? kNone : most / prices_.error;
}

StumpsWanted EdgeSearch::wanted(const EdgeTrees& trees, const Edge& edge) const {
  StumpsWanted wanted{edge.feature, edge.position, {kNone, kNone}};
  for (const std::size_t side : {0, 1})
    wanted.most[side] = most_wrong(trees.parts[edge.at[side] + edge.n[side] - 1].cost, edge.leaf[side]);
  return wanted;
}

void EdgeSearch::begin(Rows& rows, i64 least, i64 budget, EdgeTrees& trees) {
  adder_.begin(least, budget);
  repeated_.begin(rows);
  trees.leaf = rows.leaf <= budget ? rows.leaf : kInfinite;
  if (trees.leaf < kInfinite) adder_.add(rows.leaf, 1);
  trees.edges.clear();
  trees.parts.clear();
  trees.kept = true;
}

bool EdgeSearch::find(Rows& rows, i64 least, i64 budget, EdgeTrees& trees, KnownSplitsPtr& known) {
  begin(rows, least, budget, trees);
  const bool may_split = rows.n > 1 && rows.leaf > 0 && solver_.shared.settings.minimum.may_split(rows.counts);
  if (may_split && !(find_splits(rows, budget, known) && count_stumps(rows, budget, trees))) return false;
  trees.tally = adder_.finish();
  return true;
}

// ------------------------------------------------------------------ splits whose best tree is within the budget

bool EdgeSearch::find_splits(Rows& rows, i64 budget, KnownSplitsPtr& known) {
  splits_.clear();
  const i64 limit = budget + 1;
  Subproblem& subproblem = solver_.begin(rows, 2, limit, 0);
  subproblem.upper = kInfinite;  // no tree that is found lowers the limit, here and below
  solver_.open(subproblem, {Neighbour{known.get(), true, 0}, Neighbour{}});
  DepthTwo& two = solver_.depth_two;
  two.costs->begin(rows);
  const std::size_t room = static_cast<std::size_t>(two.costs->room());
  for (bool first = true; two.fill_batch(subproblem.queue, room - (first ? 1 : 0), limit, kEveryPosition);
       first = false) {
    const std::size_t candidates = two.lanes.size();
    if (first) two.lanes.push_back({0, rows.n, -1});  // splits off nothing: one more split of the other side is left
    if (!two.run(rows)) return false;
    if (first) {
      const SideCosts& all = two.costs->sides[candidates][0];
      subproblem.set_base(std::min(all.leaf, all.stump_all + prices_.leaf), prices_.leaf);
    }
    for (std::size_t l = 0; l < candidates; ++l) {
      two.take_lane(subproblem, l);
      subproblem.upper = kInfinite;
      take_split(subproblem, l, budget);
    }
    two.put_back(subproblem.queue, limit);
  }
  if (solver_.hands_on(2)) known = known_splits(subproblem);
  std::sort(splits_.begin(), splits_.end(), [](const Split& a, const Split& b) {
    return a.feature != b.feature ? a.feature < b.feature : a.position < b.position;
  });
  return !solver_.shared.stopped();
}

void EdgeSearch::take_split(Subproblem& subproblem, std::size_t lane, i64 budget) {
  const DepthTwo& two = solver_.depth_two;
  const auto& [feature, position, point] = two.lanes[lane];
  if (subproblem.queue.points[static_cast<std::size_t>(point)].total > budget) return;
  if (!solver_.shared.may_split_at(*subproblem.rows, feature, position)) return;
  Split split{feature, position, {}, {}, {}};
  for (const std::size_t side : {0, 1}) {
    const SideCosts& costs = two.costs->sides[lane][side];
    split.leaf[side] = costs.leaf;
    split.stump[side] = costs.stump;
    split.best[side] = std::min(costs.leaf, costs.stump + prices_.leaf);
  }
  if (split.best[0] + split.best[1] + prices_.leaf <= budget) splits_.push_back(split);
}

// ------------------------------------------------------------------ stumps of their sides

bool EdgeSearch::count_stumps(Rows& rows, i64 budget, EdgeTrees& trees) {
  if (splits_.empty()) return true;
  finder_.begin(rows);
  std::vector<std::array<i64, 2>> least;
  for (std::size_t from = 0; from < splits_.size(); from += wanted_.size()) {
    wanted_.clear();
    least.clear();
    for (std::size_t s = from; s < splits_.size() && wanted_.size() < finder_.room(); ++s) {
      const Split& split = splits_[s];
      StumpsWanted wanted{split.feature, split.position, {kNone, kNone}};
      for (const std::size_t side : {0, 1}) {
        const i64 most = most_wrong(budget - prices_.leaf - split.best[1 - side], split.leaf[side]);
        if (split.stump[side] <= most * prices_.error) wanted.most[side] = most;
      }
      wanted_.push_back(wanted);
      least.push_back({split.stump[0] / prices_.error, split.stump[1] / prices_.error});
    }
    histograms_->begin(wanted_, least);
    if (!finder_.find(rows, wanted_, *histograms_)) return false;
    for (std::size_t l = 0; l < wanted_.size(); ++l)
      if (!add_edge(rows, budget, from + l, l, trees)) return false;
  }
  return true;
}

// False if stopped.
bool EdgeSearch::add_edge(const Rows& rows, i64 budget, std::size_t of, std::size_t lane, EdgeTrees& trees) {
  const Split& split = splits_[of];
  const bool dull = split.leaf[0] + split.leaf[1] >= rows.leaf;
  Edge edge{split.feature, split.position, split.leaf, {}, {}, dull, repeated_.repeats(split.feature, split.position)};
  const std::size_t before = trees.parts.size();
  for (const std::size_t side : {0, 1}) add_parts(budget, split, side, lane, trees, edge);
  bool any = false;
  const Part *const low = trees.parts.data() + edge.at[0], *const high = trees.parts.data() + edge.at[1];
  for (u32 i = 0; i < edge.n[0]; ++i) {
    if (solver_.shared.stopped()) return false;
    for (u32 j = 0; j < edge.n[1]; ++j) {
      const i64 cost = low[i].cost + high[j].cost + prices_.leaf;
      if (cost > budget) break;
      const bool no_tree = edge.dull && low[i].cost == edge.leaf[0] && high[j].cost == edge.leaf[1];
      const Count count = Count{low[i].count} * high[j].count - (no_tree ? 1 : 0);
      if (count == 0) continue;
      if (!edge.repeated) adder_.add(cost, count);
      any = true;
    }
  }
  if (any)
    trees.edges.push_back(edge);
  else
    trees.parts.resize(before);
  return true;
}

// The leaf and the stumps of a side per cost.
void EdgeSearch::add_parts(i64 budget, const Split& split, std::size_t side, std::size_t lane, EdgeTrees& trees,
                           Edge& edge) {
  edge.at[side] = static_cast<u32>(trees.parts.size());
  bool leaf_left = split.leaf[side] <= budget - prices_.leaf - split.best[1 - side];
  const auto add_leaf = [&] {
    trees.parts.push_back({split.leaf[side], 1});
    leaf_left = false;
  };
  histograms_->visit(lane, side, [&](i64 wrong, u32 count) {
    const i64 cost = prices_.error * wrong + prices_.leaf;
    if (leaf_left && split.leaf[side] < cost) add_leaf();
    if (leaf_left && split.leaf[side] == cost) {
      leaf_left = false;
      ++count;
    }
    trees.parts.push_back({cost, count});
  });
  if (leaf_left) add_leaf();
  edge.n[side] = static_cast<u32>(trees.parts.size()) - edge.at[side];
}

// ------------------------------------------------------------------ depth one

namespace {

class Collected final : public StumpSink {
 public:
  struct Found {
    u32 feature, position;
    i64 wrong;
  };
  std::vector<Found> found;

  explicit Collected(const StumpFinder& finder) : finder_(finder) {}
  void take(u32 feature, const StumpHit* hits, std::size_t n) override {
    for (std::size_t i = 0; i < n; ++i) found.push_back({feature, hits[i].position, finder_.wrong(hits[i])});
  }

 private:
  const StumpFinder& finder_;
};

}  // namespace

bool EdgeSearch::find_stumps(Rows& rows, i64 budget, EdgeTrees& trees) {
  begin(rows, 0, budget, trees);
  const i64 most = most_wrong(budget, rows.leaf);
  const Settings& settings = solver_.shared.settings;
  StumpFinder finder(solver_.shared.table, settings.minimum, settings.isa, settings.lane_bits, solver_.shared.stop,
                     views_, true);
  Collected stumps(finder);
  if (most >= 0 && rows.n > 1 && rows.n_features > 0) {
    finder.begin(rows);
    if (!finder.find(rows, {{0, rows.n, {most, kNone}}}, stumps)) return false;
  }
  std::sort(stumps.found.begin(), stumps.found.end(), [](const auto& a, const auto& b) {
    return a.feature != b.feature ? a.feature < b.feature : a.position < b.position;
  });
  for (const auto& [feature, position, wrong] : stumps.found) {
    if (solver_.shared.stopped()) return false;
    const i64 cost = prices_.error * wrong;
    const u32 at = static_cast<u32>(trees.parts.size());
    trees.parts.push_back({cost, 1});  // both leaves in one number: their root tells them apart
    trees.parts.push_back({0, 1});
    const bool repeated = repeated_.repeats(feature, position);
    trees.edges.push_back({feature, position, {cost, 0}, {at, at + 1}, {1, 1}, false, repeated});
    if (!repeated) adder_.add(cost + prices_.leaf, 1);
  }
  trees.tally = adder_.finish();
  return true;
}

}  // namespace proofwood::trees::near
