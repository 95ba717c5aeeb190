// Roots within a budget, by the search of the best tree (docs/theory/near-optimal-trees.md, "The search").
#include "trees/near/near_search.hpp"

#include <algorithm>
#include <utility>

namespace proofwood::trees::near {

namespace {

// Many splits of a side are evaluated, and so bounds between neighbours pay at depth two as well, where a walk over the
// rows is long: docs/decisions/0099-near-optimal-trees.md.
NearSettings for_table(NearSettings settings, const Table& table) {
  constexpr std::size_t kLongWalk = 50'000;
  settings.search.hand_on = std::size_t{table.n_rows} * table.n_features >= kLongWalk;
  settings.budget -= settings.search.prices.error * table.constant;
  return settings;
}

}  // namespace

NearSearch::NearSearch(Table table, const GivenViews& views, const NearSettings& settings, std::atomic<int>& stop)
    : table_(std::move(table)),
      views_(table_, views),
      settings_(for_table(settings, table_)),
      shared_(table_, settings_.search, stop, TreeRun::Clock::now()),
      solver_(shared_),
      edges_(solver_, views_) {}

void NearSearch::run() {
  rows_.start(table_, settings_.search.isa);
  if (rows_.leaf <= settings_.budget) leaf_ = rows_.leaf;
  bool whole = true;
  if (depth() == 1)
    whole = edges_.find_stumps(rows_, settings_.budget, shallow_);
  else if (depth() == 2) {
    KnownSplitsPtr known;
    whole = edges_.find(rows_, 0, settings_.budget, shallow_, known);
  } else {
    adder_.begin(std::max<i64>(0, settings_.budget - Adder::kDense + 1), settings_.budget);
    if (leaf_ < kInfinite) adder_.add(leaf_, 1);
    if (depth() > 2) whole = run_deep();
  }
  if (!whole) shallow_ = {};
  tally_ = depth() == 1 || depth() == 2 ? shallow_.tally : adder_.finish();
  adder_ = {};
  std::sort(cuts_.begin(), cuts_.end(), [](const RootCut& a, const RootCut& b) {
    return a.feature != b.feature ? a.feature < b.feature : a.position < b.position;
  });
  done_ = whole;
}

// Algorithm 1 at the root. What a tree costs lowers no limit: `upper` is forgotten each time.
bool NearSearch::run_deep() {
  const Settings& search = settings_.search;
  if (rows_.n < 2 || rows_.leaf == 0 || !search.minimum.may_split(rows_.counts)) return true;
  Subproblem& root = solver_.begin(rows_, depth(), settings_.budget + 1, 0);
  root.upper = kInfinite;
  solver_.open(root);
  const Solution shallow = solver_.solve(rows_, depth() - 1);
  if (shallow.stopped) return false;
  root.set_base(shallow.relaxed, search.prices.leaf);
  Candidate candidate;
  Evaluated evaluated;
  while (root.take(candidate)) {
    if (shared_.stopped()) return false;  // a split is left
    solver_.evaluate(rows_, depth(), candidate, 0, evaluated);
    if (evaluated.stopped) return false;
    ++evaluated_;
    if (evaluated.point.upper <= settings_.budget && !take_cut(evaluated)) return false;
    root.record(candidate, evaluated, true);
    root.upper = kInfinite;
    root.plan = nullptr;
  }
  return true;
}

// The sides of the split are where the solver left them.
bool NearSearch::take_cut(Evaluated& evaluated) {
  const Point& point = evaluated.point;
  Solver::Level& level = solver_.level(depth());
  Rows* const sides[2] = {&level.low, &level.high};
  std::array<i64, 2> best;
  for (const std::size_t side : {0, 1}) {
    const Solution solution = solver_.solve(*sides[side], depth() - 1);  // from the cache
    if (solution.stopped) return false;
    best[side] = solution.upper;
  }
  RootCut cut{point.feature,
              point.position,
              {settings_.budget - prices().leaf - best[1], settings_.budget - prices().leaf - best[0]},
              {level.low.leaf, level.high.leaf},
              {},
              level.low.leaf + level.high.leaf >= rows_.leaf,
              false};
  RepeatedTests repeated(views_);
  repeated.begin(rows_);
  cut.repeated = repeated.repeats(point.feature, point.position);
  for (const std::size_t side : {0, 1}) {
    EdgeTrees& trees = cut.sides[side];
    if (!edges_.find(*sides[side], best[side], cut.budget[side], trees,
                     side == 0 ? evaluated.low_known : evaluated.high_known))
      return false;
    edges_found_ += trees.edges.size();
    trees.tally.shrink_to_fit();
    trees.edges.shrink_to_fit();
    trees.parts.shrink_to_fit();
    kept_ += trees.tally.size() * sizeof(CostCount);  // for good: numbers of trees are read from it
    if (kept_ + trees.bytes() > settings_.kept)
      trees.forget_edges();
    else
      kept_ += trees.bytes();
  }
  const bool whole = add_up(cut);
  if (!cut.sides[0].tally.empty()) cuts_.push_back(std::move(cut));
  return whole;
}

// Trees per cost: as many pairs of costs as two long lists have. Where this is stopped, the set has the trees that are
// counted: those whose low side costs no more.
bool NearSearch::add_up(RootCut& cut) {
  if (cut.repeated) return true;
  Tally& lows = cut.sides[0].tally;
  for (std::size_t i = 0; i < lows.size(); ++i) {
    if (shared_.stopped()) {
      lows.resize(i);
      cut.sides[0].forget_edges();
      if (i > 0) cut.budget[0] = lows.back().cost;
      return false;
    }
    const CostCount& low = lows[i];
    for (const CostCount& high : cut.sides[1].tally) {
      const i64 cost = low.cost + high.cost + prices().leaf;
      if (cost > settings_.budget) break;
      const bool no_tree = cut.dull && low.cost == cut.leaf[0] && high.cost == cut.leaf[1];
      adder_.add(cost, checked_product(low.count, high.count) - (no_tree ? 1 : 0));
    }
  }
  return true;
}

}  // namespace proofwood::trees::near
