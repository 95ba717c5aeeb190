// Sets of levels at the root of a subproblem, after its thresholds (docs/theory/optimal-trees.md, "Sets of levels above
// deeper trees").
#pragma once

#include <array>
#include <unordered_map>
#include <vector>

#include "trees/level_pairs.hpp"
#include "trees/solver.hpp"

namespace proofwood::trees {

// Branch and bound over the levels of a column: each goes low or goes high, those of most weight first, the first one
// low. With OPT the cost of the best tree of a side and E what the best one gets wrong, for disjoint sets of levels
//   OPT(L + M) >= OPT(L) + E(M),
// for the tree on the left does no better on each part than the best one of that part, and its splits are paid for
// once. So
//   OPT(low) + OPT(high) + sum of E(level alone) over the levels still open + price of a leaf
// bounds every split that continues (low, high). E(M) >= OPT(M) - the price of as many splits as a side can have.
class LevelBranching {
 public:
  // Offers what costs less than `subproblem.cutoff()` to the subproblem. `optimum`: not kInfinite if the first split of
  // this cost is wanted, in the order of the levels and low before high.
  LevelBranching(Solver& solver, Subproblem& subproblem, u32 c, i64 optimum);
  LevelSplit run();

 private:
  struct Side {
    LevelSet levels = 0;
    i64 lower = 0;
  };
  i64 cutoff() const { return optimum_ < kInfinite ? optimum_ + 1 : subproblem_.cutoff(); }
  bool done() const { return answer_.stopped || (optimum_ < kInfinite && answer_.cost < kInfinite); }
  void order_levels();
  bool solve_singles();
  i64 most_splits() const;
  i64 wrong(i64 cost) const;
  const Solution& solve(LevelSet set, i64 limit);
  Side with(const Side& side, u32 level, i64 limit);
  i64 alone(LevelSet set) const;
  i64 least_of_parts(LevelSet set) const;
  void search(std::size_t next, const Side& low, const Side& high);
  void offer(const Side& low, const Side& high);
  void note(i64 bound) {
    if (bound < answer_.bound) answer_.bound = bound;
  }

  Solver& solver_;
  Subproblem& subproblem_;
  const LevelColumn& column_;
  const i64 optimum_, price_;
  const u32 feature_;
  std::vector<u32> levels_;                // present, by weight
  std::array<i64, kMostLevels> single_{};  // E(level alone)
  std::vector<i64> open_;                  // sum of these from a place of `levels_` on
  std::unordered_map<LevelSet, Solution> solved_;
  LevelSplit answer_;
};

}  // namespace proofwood::trees
