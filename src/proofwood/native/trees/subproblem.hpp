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
template <class Value>
struct RequestOf {
  Value limit = all_trees<Value>();  // only trees cheaper than this are wanted
  i64 gap = 0;                       // what the tree may cost more than the best
  NeighboursOf<Value> neighbours{};
  int gap_shift = 0;   // more than 0: that it may cost more than the best by its cost / 2^gap_shift, too
  bool teach = false;  // neighbours will want what was learned
};

// What is known of a subproblem.
template <class Value>
struct SolutionOf {
  Value upper = all_trees<Value>();  // cost of `plan`
  Value lower{};                     // of any permitted tree
  Value relaxed{};                   // of any tree, permitted or not: bounds between neighbours rest on it
  Plans<Value> plan{};
  KnownSplitsPtrOf<Value> known;
  bool stopped = false;

  static SolutionOf exact(const Value& cost, Plans<Value> plan) {
    return {cost, cost, cost, std::move(plan), nullptr, false};
  }
  static SolutionOf leaf(i64 cost, int depth) { return exact(same<Value>(cost, depth), leaf_plans<Value>()); }

  // With what was known before.
  void join(const SolutionOf& earlier) {
    take_cheaper(upper, plan, earlier.upper, earlier.plan);
    raise(lower, earlier.lower);
    raise(relaxed, earlier.relaxed);
  }
  void clamp() {
    lower_to(lower, upper);
    lower_to(relaxed, upper);
  }
};

// One threshold to evaluate, with copies of what it needs from its subproblem: other threads change that meanwhile.
template <class Value>
struct CandidateOf {
  Interval interval;
  u32 position = 0;
  PointOf<Value> below, above;
  // of the sides of these points
  KnownSplitsPtrOf<Value> below_low_known, below_high_known, above_low_known, above_high_known;
  Value limit{};  // cheaper trees are looked for
  Value upper{};  // cheaper trees are kept
};

template <class Value>
struct EvaluatedOf {
  PointOf<Value> point;
  Value lower{};  // of permitted trees with this split
  Plans<Value> plan{};
  KnownSplitsPtrOf<Value> low_known, high_known;  // what the subproblems of its sides learned
  bool stopped = false;
};

template <class Value>
struct SubproblemOf {
  using Solution = SolutionOf<Value>;
  using Candidate = CandidateOf<Value>;
  using Evaluated = EvaluatedOf<Value>;

  Rows* rows = nullptr;
  int depth = 0;
  IntervalQueueOf<Value> queue;
  Value limit = all_trees<Value>();  // only trees cheaper than this are wanted
  i64 gap = 0;
  int gap_shift = 0;                 // as in Request
  Choice choice;                     // of vectors
  Value upper = all_trees<Value>();  // cost of `plan`
  Plans<Value> plan{};
  Value evaluated_lower = all_trees<Value>(), evaluated_relaxed = all_trees<Value>();
  std::vector<KnownSplitsPtrOf<Value>> known;  // what the sides of evaluated points learned
  std::vector<Interval> busy;                  // being evaluated by a thread
  std::vector<std::pair<int, int>> ends;       // per feature: the points at positions 0 and n
  i64 levels_lower = kInfinite;                // of trees with a set of levels at their root
  std::vector<i64> level_bounds;  // the same per column, once these are searched; of sets that split nothing, too
  Journal* journal = nullptr;     // of all rows: what is found is noted there

  void begin(Rows& of, int depth_, i64 leaf, const Value& limit_, i64 gap_);
  // Splitting off nothing leaves a tree of depth one less on all rows, whose cost is at least `base`.
  void set_base(const Value& base, i64 leaf_price);
  void offer(const Value& cost, const Plans<Value>& tree);

  // UB of the paper: cheaper trees are of interest.
  Value cutoff() const {
    if constexpr (kOneNumber<Value>)
      return std::min(limit, upper - (gap_shift > 0 ? gap + (upper >> gap_shift) : gap));
    else
      return still_wanted(limit, upper, gap, choice);
  }
  Value lower(i64 leaf) const { return bound_with(leaf, evaluated_lower); }
  Value relaxed(i64 leaf) const { return bound_with(leaf, evaluated_relaxed); }
  Value checked_lower(i64 leaf) const;
  Solution solution(i64 leaf, bool stopped, bool teach) const;

  // The threshold to evaluate next, in the middle of the interval of least bound; false if none is left.
  bool take(Candidate& candidate);
  // Keeps what was found. With `all_optima`, trees as cheap as the best one found are still wanted.
  void record(const Candidate& candidate, Evaluated& evaluated, bool all_optima = false);
  // Gives back what sides learned where no open interval and no interval of bound up to `most` is next to their points.
  void forget_known(i64 most)
    requires kOneNumber<Value>;
  void note(const Evaluated& evaluated, const Table& table) const;  // in the journal, if there is one
  void note_best(const Table& table) const;                         // its plan, once one of cost `upper` was found

 private:
  Value bound_with(i64 leaf, const Value& evaluated) const {
    Value bound = same<Value>(std::min(leaf, levels_lower), depth);
    lower_to(bound, queue.open_bound());
    for (const Interval& interval : busy) lower_to(bound, queue.bound_of(interval));
    lower_to(bound, queue.least_pruned);
    lower_to(bound, evaluated);
    raise(bound, same<Value>(0, depth));
    return bound;
  }
};

using Request = RequestOf<i64>;
using Solution = SolutionOf<i64>;
using Candidate = CandidateOf<i64>;
using Evaluated = EvaluatedOf<i64>;
using Subproblem = SubproblemOf<i64>;

}  // namespace proofwood::trees
