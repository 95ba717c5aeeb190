// The last pass: feature by feature, the first split of exactly the optimum, with all bounds of the search at hand
// (docs/theory/optimal-trees.md, "What "proved" means").
#include "trees/canonical_tree.hpp"

#include <algorithm>
#include <stdexcept>

#include "trees/stump.hpp"

namespace proofwood::trees {

PlanPtr CanonicalTree::find(Rows& rows, int most, i64 optimum) {
  const int depth = least_depth(rows, most, optimum);
  if (depth < 0) return nullptr;
  if (depth == 0) return leaf_plan();
  if (depth == 1) {
    const Stump stump = shared_.table.task->stump(shared_.table, rows, shared_.settings.minimum, shared_.stop);
    if (shared_.stopped()) return nullptr;
    return plan_of(stump, rows);
  }
  Subproblem& subproblem = solver_.begin(rows, depth, optimum + 1, 0);
  solver_.open(subproblem);
  if (solver_.batched(depth)) solver_.depth_two.costs->begin(rows);
  return first_split(subproblem, optimum);
}

PlanPtr CanonicalTree::find(Rows& rows, int depth, i64 optimum, Subproblem& searched) {
  const int least = least_depth(rows, depth, optimum);
  if (least < 0) return nullptr;
  return least < depth ? find(rows, least, optimum) : first_split(searched, optimum);
}

// Least depth up to `most` that attains `optimum`; -1 if stopped.
int CanonicalTree::least_depth(Rows& rows, int most, i64 optimum) {
  for (int depth = 0; depth < most; ++depth) {
    const Solution solution = solver_.solve(rows, depth, {.limit = optimum + 1});
    if (solution.stopped) return -1;
    if (solution.upper == optimum) return depth;
  }
  return most;
}

PlanPtr CanonicalTree::first_split(Subproblem& subproblem, i64 optimum) {
  Rows& rows = *subproblem.rows;
  for (u32 f = 0; f < rows.n_features; ++f) {
    if (subproblem.queue.repeats(f)) continue;
    const u32 position = first_position(subproblem, f, optimum);
    if (shared_.stopped()) return nullptr;
    if (position != 0)
      return both_sides(rows, subproblem.depth, *split_plan(f, rows.key(f)[position - 1], nullptr, nullptr));
  }
  const int depth = subproblem.depth;
  for (u32 c = 0; c < shared_.table.levels.size() && subproblem.levels_lower < kInfinite; ++c) {
    const LevelSet set = solver_.first_level_split(rows, depth, c, optimum);
    if (shared_.stopped()) return nullptr;
    if (set != 0) return both_sides(rows, depth, *level_plan(rows.n_features + c, set, nullptr, nullptr));
  }
  throw std::logic_error("no split attains the optimum");
}

// Least position of `feature` at which a tree of cost `optimum` begins; 0: none. Means nothing once stopped.
u32 CanonicalTree::first_position(Subproblem& subproblem, u32 feature, i64 optimum) {
  queue_feature(subproblem, feature, optimum);
  const bool batched = solver_.batched(subproblem.depth);
  while (!shared_.stopped())
    if (!(batched ? evaluate_batch(subproblem, optimum) : evaluate_one(subproblem, optimum))) break;
  return first_;
}

void CanonicalTree::note(const Point& point, i64 optimum) {
  if (point.upper == optimum && (first_ == 0 || point.position < first_)) first_ = point.position;
}

// Opens what the points of a feature leave open for trees of cost `optimum`.
void CanonicalTree::queue_feature(Subproblem& subproblem, u32 feature, i64 optimum) {
  IntervalQueue& queue = subproblem.queue;
  const i64 limit = optimum + 1;
  std::vector<int> known;
  for (int i = 0; i < static_cast<int>(queue.points.size()); ++i)
    if (queue.points[i].feature == feature) known.push_back(i);
  std::sort(known.begin(), known.end(),
            [&](int a, int b) { return queue.points[a].position < queue.points[b].position; });
  queue.forget_intervals();
  subproblem.limit = limit;
  subproblem.upper = kInfinite;
  first_ = 0;
  if (subproblem.depth > 3) subproblem.forget_known(optimum);
  for (const int at : known) note(queue.points[at], optimum);
  const bool batched = solver_.batched(subproblem.depth);
  for (std::size_t i = 0; i + 1 < known.size(); ++i) {
    queue.add_between(known[i], known[i + 1], limit);
    const Point& p = queue.points[known[i + 1]];
    // bounded but not solved to the end: its tree may cost the optimum after all
    if (i + 2 < known.size() && p.upper > optimum && p.total <= optimum && !(batched && p.evaluated))
      queue.add_point(known[i + 1], limit);
  }
}

// False if no open interval begins before the first position, or if stopped.
bool CanonicalTree::evaluate_batch(Subproblem& subproblem, i64 optimum) {
  DepthTwo& two = solver_.depth_two;
  IntervalQueue& queue = subproblem.queue;
  if (!two.fill_batch(queue, static_cast<std::size_t>(two.costs->room()), optimum + 1,
                      first_ == 0 ? kEveryPosition : first_))
    return false;
  if (!two.run(*subproblem.rows)) return false;
  for (std::size_t l = 0; l < two.lanes.size(); ++l) {
    subproblem.upper = kInfinite;  // every tree of cost `optimum` is wanted, and its costs made exact
    two.take_lane(subproblem, l);
    note(queue.points[two.lanes[l].point], optimum);
    ++solver_.counters[kCanonicalSplits];
  }
  two.put_back(queue, optimum + 1);
  return true;
}

bool CanonicalTree::evaluate_one(Subproblem& subproblem, i64 optimum) {
  Candidate candidate;
  Evaluated evaluated;
  subproblem.upper = kInfinite;  // every tree of cost `optimum` is wanted
  if (!subproblem.take(candidate)) return false;
  if (first_ != 0 && candidate.interval.first >= first_) return true;
  solver_.evaluate(*subproblem.rows, subproblem.depth, candidate, 0, evaluated);
  ++solver_.counters[kCanonicalSplits];
  note(evaluated.point, optimum);
  subproblem.record(candidate, evaluated, true);
  subproblem.note(evaluated, shared_.table);
  return true;
}

PlanPtr CanonicalTree::both_sides(Rows& rows, int depth, const Plan& split) {
  if (!solver_.split(rows, split, depth)) return nullptr;
  Solver::Level& level = solver_.level(depth);
  PlanPtr plans[2];
  for (const int side : {0, 1}) {
    Rows& half = side == 0 ? level.low : level.high;
    const Solution solution = solver_.solve(half, depth - 1);
    if (solution.stopped) return nullptr;
    plans[side] = find(half, depth - 1, solution.upper);
    if (!plans[side]) return nullptr;
  }
  return std::make_shared<Plan>(
      Plan{Plan::kSplit, split.feature, split.key, split.levels, std::move(plans[0]), std::move(plans[1])});
}

}  // namespace proofwood::trees
