// Iterated local search for a better tree (docs/theory/optimal-trees.md, "First trees").
#include "trees/local_search.hpp"

#include <algorithm>
#include <tuple>

#include "common/mix.hpp"

namespace proofwood::trees {

std::vector<Root> depth_two_front(Solver& solver, const Rows& rows, std::size_t most) {
  constexpr int kPerFeature = 2;
  std::vector<Root> found, kept;
  for (const Point& point : solver.level(2).subproblem.queue.points)
    if (point.evaluated && point.position != 0 && point.position != rows.n && point.upper < kInfinite)
      found.push_back({point.feature, point.position, point.upper});
  std::sort(found.begin(), found.end(), [](const Root& a, const Root& b) {
    return std::tuple(a.cost, a.feature, a.position) < std::tuple(b.cost, b.feature, b.position);
  });
  std::vector<int> used(rows.n_features, 0);
  for (const Root& root : found)
    if (kept.size() < most && used[root.feature]++ < kPerFeature) kept.push_back(root);
  return kept;
}

// The same numbers in every search.
u64 LocalSearch::random(u64 below) { return mix(++drawn_) % below; }

void LocalSearch::collect(const Draft& draft, const Place& place, std::vector<Place>& places) const {
  const Draft::Node& node = draft.at(place.node);
  if (place.left < 3 || node.is_leaf()) return;
  places.push_back(place);
  for (const bool low : {true, false}) {
    Place below{low ? node.low : node.high, place.left - 1, place.path};
    below.path.emplace_back(place.node, low);
    collect(draft, below, places);
  }
}

// Null if stopped.
Rows* LocalSearch::rows_at(const Draft& draft, const Place& place) {
  Rows* rows = &all_;
  int left = depth_;
  for (const auto& [at, low] : place.path) {
    const Draft::Node& node = draft.at(at);
    if (!solver_.split(*rows, {Plan::kSplit, node.feature, node.key, node.levels, nullptr, nullptr}, left))
      return nullptr;
    rows = low ? &solver_.level(left).low : &solver_.level(left).high;
    --left;
  }
  return rows;
}

// Another split in place of `old`: its threshold moved by up to a tenth of the rows, any split, or a good root of a
// tree of depth two. False if there is none.
bool LocalSearch::choose(Rows& rows, const Draft::Node& old, u32& feature, u32& position) {
  const u64 kind = random(3);
  if (kind == 0 && old.levels == 0) {
    feature = old.feature;
    const i64 reach = rows.n / 10, at = rows.position_of(feature, old.key, 0, rows.n);
    const i64 moved = at - reach + static_cast<i64>(random(2 * static_cast<u64>(reach) + 1));
    position = static_cast<u32>(std::clamp<i64>(moved, 1, rows.n - 1));
  } else if (kind == 1) {
    feature = static_cast<u32>(random(rows.n_features));
    position = 1 + static_cast<u32>(random(rows.n - 1));
  } else {
    if (solver_.solve_depth_two(rows, {}, false).stopped) return false;
    const std::vector<Root> roots = depth_two_front(solver_, rows, kFront);
    if (roots.empty()) return false;
    const Root& root = roots[random(roots.size())];
    feature = root.feature;
    position = root.position;
  }
  position = rows.boundary_from(feature, position);
  if (position == rows.n) position = rows.boundary_until(feature, position - 1);
  return position != 0 && shared_.may_split_at(rows, feature, position);
}

// Null if no split was found, or if stopped.
PlanPtr LocalSearch::rebuild(Rows& rows, const Draft::Node& old, int left) {
  u32 feature = 0, position = 0;
  if (!choose(rows, old, feature, position) || !solver_.split(rows, feature, position, left)) return nullptr;
  Solver::Level& level = solver_.level(left);
  const Solution low = first_trees_.build(level.low, left - 1, 2);
  const Solution high = first_trees_.build(level.high, left - 1, 2);
  if (shared_.stopped()) return nullptr;
  return split_plan(feature, rows.key(feature)[position - 1], low.plan, high.plan);
}

// The best tree of three levels; null if it was tried before, or if stopped.
PlanPtr LocalSearch::solve(Rows& rows) {
  if (!solved_.insert(rows.hash[0]).second) return nullptr;
  const Solution solution = solver_.solve(rows, 3);
  return solution.stopped ? nullptr : solution.plan;
}

bool LocalSearch::step(Draft& best, u32 deep) {
  std::vector<Place> places;
  collect(best, {0, depth_, {}}, places);
  if (places.empty()) return false;
  const Place& place = places[random(places.size())];
  Rows* const rows = rows_at(best, place);
  if (rows == nullptr) return false;
  const bool exact = place.left == 3 && rows->n <= deep && random(4) == 0;
  const PlanPtr plan = exact ? solve(*rows) : rebuild(*rows, best.at(place.node), place.left);
  if (shared_.stopped()) return false;
  if (!plan) return true;
  Draft draft = best;
  draft.graft(place.node, *plan);
  if (!polish_.take(draft)) return !shared_.stopped();
  // what costs 5 % more, and a thousandth of all rows, is not worth polishing
  const i64 whole = shared_.table.by_sums() ? all_.leaf : shared_.settings.prices.error * all_.counts.weight;
  const i64 slack = best.cost / 20 + whole / 1000;
  if (draft.cost > best.cost + slack) return true;
  if (shared_.settings.rules.polish) polish_.polish(draft);
  if (draft.cost < best.cost) best = std::move(draft);
  return true;
}

}  // namespace proofwood::trees
