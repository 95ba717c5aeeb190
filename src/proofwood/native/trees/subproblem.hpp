// A subproblem of the search: rows and depth, what is open and what was found
// (docs/theory/optimal-trees.md, "The search").
#pragma once

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "trees/interval_queue.hpp"
#include "trees/journal.hpp"
#include "trees/neighbour_bounds.hpp"
#include "trees/plan.hpp"

namespace proofwood::trees {

// What is asked of a subproblem.
struct Request {
  i64 limit = kInfinite;  // only trees cheaper than this are wanted
  i64 gap = 0;            // what the tree may cost more than the best
  Neighbours neighbours{};
  int gap_shift = 0;   // more than 0: that it may cost more than the best by its cost / 2^gap_shift, too
  bool teach = false;  // neighbours will want what was learned
};

// What is known of a subproblem.
struct Solution {
  i64 upper = kInfinite;  // cost of `plan`
  i64 lower = 0;          // of any permitted tree
  i64 relaxed = 0;        // of any tree, permitted or not: bounds between neighbours rest on it
  PlanPtr plan;
  KnownSplitsPtr known;
  bool stopped = false;

  static Solution exact(i64 cost, PlanPtr plan) { return {cost, cost, cost, std::move(plan), nullptr, false}; }

  // With what was known before.
  void join(const Solution& earlier) {
    if (earlier.upper < upper) {
      upper = earlier.upper;
      plan = earlier.plan;
    }
    lower = std::max(lower, earlier.lower);
    relaxed = std::max(relaxed, earlier.relaxed);
  }
  void clamp() {
    lower = std::min(lower, upper);
    relaxed = std::min(relaxed, upper);
  }
};

// One threshold to evaluate, with copies of what it needs from its subproblem: other threads change that meanwhile.
struct Candidate {
  Interval interval;
  u32 position = 0;
  Point below, above;
  KnownSplitsPtr below_low_known, below_high_known, above_low_known, above_high_known;  // of the sides of these points
  i64 limit = 0;                                                                        // cheaper trees are looked for
  i64 upper = 0;                                                                        // cheaper trees are kept
};

struct Evaluated {
  Point point;
  i64 lower = 0;  // of permitted trees with this split
  PlanPtr plan;
  KnownSplitsPtr low_known, high_known;  // what the subproblems of its sides learned
  bool stopped = false;
};

struct Subproblem {
  Rows* rows = nullptr;
  int depth = 0;
  IntervalQueue queue;
  i64 limit = kInfinite;  // only trees cheaper than this are wanted
  i64 gap = 0;
  int gap_shift = 0;      // as in Request
  i64 upper = kInfinite;  // cost of `plan`
  PlanPtr plan;
  i64 evaluated_lower = kInfinite, evaluated_relaxed = kInfinite;
  std::vector<KnownSplitsPtr> known;      // what the sides of evaluated points learned
  std::vector<Interval> busy;             // being evaluated by a thread
  std::vector<std::pair<int, int>> ends;  // per feature: the points at positions 0 and n
  i64 levels_lower = kInfinite;           // of trees with a set of levels at their root
  std::vector<i64> level_bounds;  // the same per column, once these are searched; of sets that split nothing, too
  Journal* journal = nullptr;     // of all rows: what is found is noted there

  void begin(Rows& of, int depth_, i64 leaf, i64 limit_, i64 gap_);
  // Splitting off nothing leaves a tree of depth one less on all rows, whose cost is at least `base`.
  void set_base(i64 base, i64 leaf_price);
  void offer(i64 cost, PlanPtr tree);

  // UB of the paper: cheaper trees are of interest.
  i64 cutoff() const { return std::min(limit, upper - (gap_shift > 0 ? gap + (upper >> gap_shift) : gap)); }
  i64 lower(i64 leaf) const { return bound_with(leaf, evaluated_lower); }
  i64 relaxed(i64 leaf) const { return bound_with(leaf, evaluated_relaxed); }
  i64 checked_lower(i64 leaf) const;
  Solution solution(i64 leaf, bool stopped, bool teach) const;

  // The threshold to evaluate next, in the middle of the interval of least bound; false if none is left.
  bool take(Candidate& candidate);
  // Keeps what was found. With `all_optima`, trees as cheap as the best one found are still wanted.
  void record(const Candidate& candidate, Evaluated& evaluated, bool all_optima = false);
  void note(const Evaluated& evaluated, const Table& table) const;  // in the journal, if there is one
  void note_best(const Table& table) const;                         // its plan, once one of cost `upper` was found

 private:
  i64 bound_with(i64 leaf, i64 evaluated) const {
    i64 open = queue.open_bound();
    for (const Interval& interval : busy) open = std::min(open, interval.bound);
    return std::max<i64>(0, std::min({leaf, queue.least_pruned, open, evaluated, levels_lower}));
  }
};

}  // namespace proofwood::trees
