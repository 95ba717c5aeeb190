// Solves one subproblem, and those below it (ConTree, Algorithm 1; docs/theory/optimal-trees.md, "The search").
#pragma once

#include <memory>
#include <vector>

#include "trees/depth_two.hpp"
#include "trees/neighbour_bounds.hpp"
#include "trees/shared.hpp"
#include "trees/subproblem.hpp"

namespace proofwood::trees {

// Memory and methods of one thread.
class Solver {
 public:
  explicit Solver(Shared& shared);

  // Best tree of the depth, if cheaper than the limit of the request; bounds in any case.
  Solution solve(Rows& rows, int depth, const Request& request = {});
  // The same for depth two, by the batched routine and without the cache.
  Solution solve_depth_two(Rows& rows, const Request& request, bool report);

  // Opens the subproblem of a depth: at most one of each depth is in work.
  Subproblem& begin(Rows& rows, int depth, i64 limit, i64 gap);
  void open(Subproblem& subproblem, const Neighbours& neighbours = {});
  // Bounds or solves both sides of one split.
  void evaluate(Rows& rows, int depth, const Candidate& candidate, i64 gap, Evaluated& evaluated);

  struct Level {
    Subproblem subproblem;
    Rows low, high;  // sides of the split that is evaluated
  };
  Level& level(int depth) { return *levels_[static_cast<std::size_t>(depth)]; }
  bool batched(int depth) const { return depth == 2 && shared.settings.rules.depth_two; }
  bool split(Rows& rows, u32 feature, u32 position, int depth) {
    return rows.split(shared.table, feature, position, level(depth).low, level(depth).high, scratch_, shared.stop);
  }

  Shared& shared;
  Counters counters{};
  DepthTwo depth_two{shared, counters};

 private:
  struct Sides;
  Solution solve_stump(const Rows& rows, i64 leaf);
  Solution solve_affordable(Rows& rows, const Request& request);
  Solution solve_general(Rows& rows, int depth, const Request& request);
  void bound_deeper(Solution& solution, i64 splits) const;
  void expect(const Candidate& candidate, i64 to_below, i64 to_above, Point& point) const;
  void solve_side(Sides& sides, bool is_low, Evaluated& evaluated);

  std::vector<std::unique_ptr<Level>> levels_;
  NeighbourBounds bounds_;
  Buffer<u32> scratch_;
};

}  // namespace proofwood::trees
