// Solves one subproblem, and those below it (ConTree, Algorithm 1; docs/theory/optimal-trees.md, "The search").
#pragma once

#include <memory>
#include <vector>

#include "trees/depth_two.hpp"
#include "trees/level_pairs.hpp"
#include "trees/neighbour_bounds.hpp"
#include "trees/shared.hpp"
#include "trees/subproblem.hpp"

namespace proofwood::trees {

// What a thread needs for depth two, where vectors have few entries.
template <class Value>
struct TwoLayers {
  using Two = Value;  // and the memory of other depths
};
template <>
struct TwoLayers<Leaves> {
  using Two = FewLeaves;
  SubproblemOf<FewLeaves> subproblem;
  NeighbourBoundsOf<FewLeaves> bounds;
};

// Memory and methods of one thread.
template <class Value>
class SolverOf {
 public:
  using Two = typename TwoLayers<Value>::Two;
  using Request = RequestOf<Value>;
  using Solution = SolutionOf<Value>;
  using Subproblem = SubproblemOf<Value>;
  using Candidate = CandidateOf<Value>;
  using Evaluated = EvaluatedOf<Value>;
  using Neighbours = NeighboursOf<Value>;
  using Point = PointOf<Value>;

  explicit SolverOf(SharedOf<Value>& shared);

  // Best tree of the depth, if cheaper than the limit of the request; bounds in any case.
  Solution solve(Rows& rows, int depth, const Request& request = {});
  // The same for depth two, by the batched routine and without the cache.
  Solution solve_depth_two(Rows& rows, const Request& request, bool report)
    requires kOneNumber<Value>;
  Solution solve_depth_two(Rows& rows, const Request& request, bool report)
    requires(!kOneNumber<Value>);

  // Opens the subproblem of a depth: at most one of each depth is in work.
  Subproblem& begin(Rows& rows, int depth, const Value& limit, i64 gap);
  // `recorded`: its points that are known from before, by feature and position.
  void open(Subproblem& subproblem, const Neighbours& neighbours = {}, const std::vector<Point>& recorded = {});
  // The tree and the bound of depth one less on the same rows.
  void take_shallow(Subproblem& subproblem, const Solution& shallow) const;
  void add_few_leaves(Solution& solution, const Solution& shallow, int depth) const;  // they need no more depth
  // Bounds or solves both sides of one split.
  void evaluate(Rows& rows, int depth, const Candidate& candidate, i64 gap, Evaluated& evaluated);

  struct Level {
    Subproblem subproblem;
    Rows low, high;  // sides of the split that is evaluated
  };
  Level& level(int depth) {
    while (levels_.size() <= static_cast<std::size_t>(depth)) levels_.push_back(std::make_unique<Level>());
    return *levels_[static_cast<std::size_t>(depth)];
  }
  // Whether subproblems of a depth hand their bounds on to their neighbours: at depth two, and with two classes, a walk
  // over the rows costs less than the bounds that would save it.
  bool hands_on(int depth) const {
    const bool walks_are_cheap =
        !shared.settings.hand_on && depth <= 2 && shared.table.n_classes <= 2 && !shared.settings.minimum.any();
    return shared.settings.rules.feature_bounds && (!walks_are_cheap || !shared.table.levels.empty());
  }
  void forget() {  // gives back its memory; nothing can be solved after it
    levels_.clear();
    depth_two.forget_all();
  }
  bool batched(int depth) const { return depth == 2 && shared.settings.rules.depth_two; }
  // Sets of levels at the root of a subproblem whose thresholds are done; `base`: bound of trees of depth one less.
  // False if stopped; what is found and its bound hold (level_roots.cpp).
  bool level_roots(Subproblem& subproblem, const Value& base, const Neighbours& neighbours);
  // The first set of a column at which a tree of cost `optimum` begins, in an order of its own; empty if there is none.
  LevelSet first_level_split(Rows& rows, int depth, u32 c, i64 optimum);
  bool split_levels(Rows& rows, const LevelColumn& column, LevelSet set, int depth) {
    return rows.split_levels(shared.table, column, set, level(depth).low, level(depth).high, scratch_, shared.stop);
  }
  // By the root of a plan.
  bool split(Rows& rows, const Plan& plan, int depth) {
    if (plan.levels != 0)
      return split_levels(rows, shared.table.levels[plan.feature - rows.n_features], plan.levels, depth);
    return split(rows, plan.feature, rows.position_of(plan.feature, plan.key, 0, rows.n), depth);
  }
  bool split(Rows& rows, u32 feature, u32 position, int depth) {
    counters[kRowVisits] += i64{rows.n} * rows.n_features;
    return rows.split(shared.table, feature, position, level(depth).low, level(depth).high, scratch_, shared.stop);
  }

  // From now on; nothing is solved beyond them (Shared::tired).
  void allow_visits(i64 visits) { last_visit_ = counters[kRowVisits] + visits; }

  SharedOf<Value>& shared;
  Counters counters{};
  DepthTwoOf<Two> depth_two{shared, counters};

 private:
  struct Sides;
  Solution answer(Rows& rows, int depth, const Request& request);
  bool answered(const Solution& known, Request& request) const;
  Solution solve_stump(const Rows& rows, i64 leaf);
  bool is_affordable(int depth, const Value& limit) const;
  Solution solve_affordable(Rows& rows, const Request& request);
  Solution solve_general(Rows& rows, int depth, const Request& request);
  void bound_deeper(Solution& solution, i64 splits) const;
  Value limit_of_shallow(int depth, const Value& limit) const;
  void expect(const Candidate& candidate, i64 to_below, i64 to_above, Point& point) const;
  Value expect_total(const Candidate& candidate, i64 to_below, i64 to_above, const Point& point) const;
  Plans<Value> plans_of(const Plan& root, Sides& sides) const;
  LevelSplit level_root(Subproblem& subproblem, u32 c);
  LevelSplit level_pair(Subproblem& subproblem, u32 c, const LevelQuestion& question);
  bool by_pairs(int depth, u32 c) const;
  u64 steps_for(const Rows& rows, u32 c) const;
  static i64 level_bound(const Neighbours& neighbours, u32 c);
  Value limit_of_side(const Sides& sides, bool is_low, const Value& relaxed) const;
  void solve_side(Sides& sides, bool is_low, Evaluated& evaluated);

  i64 last_visit_ = kInfinite;
  std::vector<std::unique_ptr<Level>> levels_;
  NeighbourBoundsOf<Value> bounds_;
  [[no_unique_address]] TwoLayers<Value> two_;
  Buffer<u32> scratch_;
};

using Solver = SolverOf<i64>;

template <>
Solution Solver::solve(Rows& rows, int depth, const Request& request);
template <>
SolutionOf<Leaves> SolverOf<Leaves>::solve(Rows& rows, int depth, const Request& request);
template <>
bool Solver::answered(const Solution& known, Request& request) const;
template <>
bool SolverOf<Leaves>::answered(const Solution& known, Request& request) const;
template <>
i64 Solver::limit_of_side(const Sides& sides, bool is_low, const i64& relaxed) const;
template <>
Leaves SolverOf<Leaves>::limit_of_side(const Sides& sides, bool is_low, const Leaves& relaxed) const;
template <>
PlanPtr Solver::plans_of(const Plan& root, Sides& sides) const;
template <>
Plans<Leaves> SolverOf<Leaves>::plans_of(const Plan& root, Sides& sides) const;
template <>
void Solver::bound_deeper(Solution& solution, i64 splits) const;

// Sets of levels, of one number only (level_roots.cpp).
template <>
bool Solver::level_roots(Subproblem& subproblem, const i64& base, const Neighbours& neighbours);
template <>
LevelSet Solver::first_level_split(Rows& rows, int depth, u32 c, i64 optimum);
template <>
LevelSplit Solver::level_root(Subproblem& subproblem, u32 c);
template <>
LevelSplit Solver::level_pair(Subproblem& subproblem, u32 c, const LevelQuestion& question);
template <>
bool Solver::by_pairs(int depth, u32 c) const;
template <>
u64 Solver::steps_for(const Rows& rows, u32 c) const;
template <>
i64 Solver::level_bound(const Neighbours& neighbours, u32 c);

}  // namespace proofwood::trees
