// Optimal trees by branch and bound over thresholds (Brita, van der Linden, Demirovic 2025; ConTree;
// docs/theory/optimal-trees.md). Where its ideas are:
//
//   table, rows, class_counts, prefix_sums   the problem and its sets of rows, sorted; what is counted on them
//   interval_queue      Algorithm 1's queue; neighbourhood and sub-interval pruning, interval shrinking, cross bound
//   subproblem          what is open and what was found for one set of rows and one depth
//   neighbour_bounds    bounds between neighbouring subproblems
//   solver              one subproblem: cache, depth one; general_case: Algorithm 1; depth_two: Algorithm 2, in batches
//   block_node, block_search   lower bounds by blocks of rows, soon and beside the search
//   stump_batch, kernels   many stumps in one walk over the rows
//   coarse_stumps       bounds of very many stumps, for tables of many columns
//   improve             trees before and beside the proof: first_trees, polish (draft, row_walk), local_search
//   canonical_tree, pool, write_out   around the search
//   packed/             another way for tables of few tests: all pairs of tests at once
//   value, front        the same search over vectors: the best trees of every number of leaves
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "trees/block_search.hpp"
#include "trees/improve.hpp"
#include "trees/packed/search.hpp"
#include "trees/shared.hpp"
#include "trees/solver.hpp"
#include "trees/write_out.hpp"

namespace proofwood::trees {

class Search {
 public:
  // `started`: when the clock of its events began. `journal`: what earlier searches proved, and where this one notes
  // what it proves; may be null.
  Search(Table table, const Settings& settings, std::atomic<int>& stop, TreeRun::Clock::time_point started,
         Journal* journal = nullptr);
  ~Search();
  void run();  // until done or stopped

  // Valid at any time, from any thread.
  Bounds state() const { return whole(shared_.run.state()); }
  std::vector<TreeRun::Event> events_since(std::size_t first) const;
  // What the journal was told since the last call, with the best tree and the bound if they are new.
  Proved take_news();

  // After run().
  std::vector<TreeNode> tree();
  void forget() {  // gives back what only a search needs
    shared_.cache.forget();
    main_.forget();
  }
  i64 relaxed() const { return relaxed_; }  // of a search by parts: of trees, permitted or not
  bool packed() const { return packed_ != nullptr; }
  bool canonical() const { return canonical_; }
  i64 constant_cost() const { return settings_.prices.error * table_.constant; }
  Counters counters() const { return totals_; }

 private:
  Bounds whole(const Bounds& counted) const;
  void note_depth(int depth, const Solution& solved);
  bool take_up();
  std::vector<Point> take_up(Subproblem& root);
  Solution take_up_depths(Solution shallow, int& from);
  PlanPtr counted(const PlanNumbers& numbers, int depth, i64& upper);
  bool needs_no_split() const;
  void look_beside(double work);
  void run_by_intervals();
  void run_shallow();
  void run_deep();
  void run_part();
  void prepare_threads();
  void build_first_trees(int exact_depth);
  bool deepen(Solution& shallow, const std::vector<u32>& rank, int depth);
  void begin_blocks();
  void bound_part();
  LevelColumn some_of_each_class(u32 wish) const;
  void look_for_trees();
  bool met() const { return shared_.run.met(settings_.gap); }
  void settle(const PlanPtr& canonical);
  void settle_early(bool at_once);
  int make_shallow(i64 visits);

  Table table_;
  Settings settings_;
  Rows root_;
  Shared shared_;
  Solver main_;
  std::unique_ptr<packed::PackedSearch> packed_;  // where it was the one to search
  struct Beside;
  std::unique_ptr<Beside> beside_;  // while packed tests are searched for trees of any depth
  Improver* improver_ = nullptr;    // while there is one
  std::unique_ptr<BlockSearch> blocks_;
  u64 for_first_bound_ = 0;  // work of blocks before the bound was more than 0
  i64 searched_ = 0;         // work of the depth before
  i64 relaxed_ = 0;          // of a search by parts
  std::atomic<bool> canonical_{false}, done_{false};
  std::atomic<bool> begun_{false};  // what was known before is taken up
  Bounds told_{kInfinite, 0};       // of the news
  bool told_done_ = false;
  Counters totals_{};
};

}  // namespace proofwood::trees
