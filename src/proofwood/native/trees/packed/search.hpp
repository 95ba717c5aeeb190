// The search over packed tests from the root: depth after depth, or in turns with the one without depth where leaves
// have a price; then the canonical tree
// (docs/theory/optimal-trees.md, "Packed tests").
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "trees/packed/priced.hpp"
#include "trees/packed/solver.hpp"

namespace proofwood::trees::packed {

class PackedSearch {
 public:
  PackedSearch(Shared& shared, TestTable table);
  void run();  // until done or stopped
  // Gives the tree of a record of trees of a depth, counted on the rows; null without one.
  using Recorded = std::function<PlanPtr(int depth, i64& upper)>;
  void take_up(Recorded recorded) { recorded_ = std::move(recorded); }
  // What looks for better trees of any depth now and then, given the work of the search so far.
  using Beside = std::function<void(double work)>;
  void search_beside(Beside beside) { beside_ = std::move(beside); }

  // The tree of a plan of this search, its ends as splits and leaves. Works after a stop.
  PlanPtr complete(const Plan& plan);
  bool canonical() const { return canonical_; }
  Counters counters() const;

 private:
  struct Searched {
    int depth = 0;
    std::vector<i64> bound;  // of the tests at the root of trees of this depth
  };
  bool needs_no_split() const;
  bool by_turns(Solution& shallow, int& depth);
  bool settle_priced();
  double work() const;
  bool deepen(Solution& shallow, int depth);
  bool look_beside(const Solver& solver);
  i64 bound_beyond(const Roots& roots, int depth) const;
  void work(Solver& solver, Roots& roots, int depth, bool last);
  PlanPtr complete(const std::vector<u32>& entries, const std::vector<u32>& group, const Plan& plan);
  void take_up(Roots& roots, Solver& solver, int depth);
  void note(int depth, const Roots::Candidate& candidate, const Roots::Found& found);
  void note_best(const Roots& roots, int depth);
  PlanPtr find(RowSet& rows, int most, i64 optimum, const Searched& searched);

  Shared& shared_;
  const TestTable table_;
  const Kernels& kernels_;
  RowSet root_;
  std::vector<std::unique_ptr<Solver>> solvers_;  // one a thread, the first is ours
  std::mutex mutex_;
  std::unique_ptr<PricedSearch> priced_;
  Searched searched_;
  bool canonical_ = false;
  Recorded recorded_;
  Beside beside_;
  double next_look_ = 0;  // beside the search by depths: from that work on
};

}  // namespace proofwood::trees::packed
