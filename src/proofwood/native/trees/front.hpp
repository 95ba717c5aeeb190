// The front: the best tree for every number of leaves, or the best one of at most so many, by the search of one tree
// over vectors (docs/theory/optimal-trees.md, "Fronts by leaves").
#pragma once

#include <atomic>
#include <limits>
#include <vector>

#include "trees/pool.hpp"
#include "trees/shared.hpp"
#include "trees/solver.hpp"
#include "trees/write_out.hpp"

namespace proofwood::trees {

// What is asked: trees of some numbers of leaves that cost less than `below`.
struct FrontWish {
  i64 below = kInfinite;
  Choice choice;
  double patience = std::numeric_limits<double>::infinity();  // seconds, without a bound on trees of the most leaves
};

class Front {
 public:
  // `settings.prices.leaf` is 0: a wish has its own.
  Front(Table table, const Settings& settings, const FrontWish& wish, std::atomic<int>& stop,
        TreeRun::Clock::time_point started);
  void run();  // until done or stopped

  // Valid at any time, from any thread; by leaves, with the cost that every tree has.
  FrontBounds state() const;
  bool bounds_most() const;  // whether there is a bound on trees of the most leaves
  std::vector<FrontRun::Event> events_since(std::size_t first) const;

  // After run().
  std::vector<TreeNode> tree(int leaves);
  void forget() {  // gives back what only a search needs
    shared_.cache.forget();
    main_.forget();
  }
  Counters counters() const { return totals_; }

 private:
  FrontBounds whole(const FrontBounds& counted) const;
  Leaves limit(int depth) const;
  SolutionOf<Leaves> shallow();
  SolutionOf<Leaves> deepen(const SolutionOf<Leaves>& shallow, int depth);
  void note(const SolutionOf<Leaves>& solution, int depth);
  bool answered() const;

  Table table_;
  Settings settings_;
  const FrontWish wish_;
  Rows root_;
  SharedOf<Leaves> shared_;
  SolverOf<Leaves> main_;
  Counters totals_{};
};

}  // namespace proofwood::trees
