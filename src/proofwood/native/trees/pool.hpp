// Threads that search the root together (docs/theory/optimal-trees.md, "The search").
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

#include "trees/block_search.hpp"
#include "trees/solver.hpp"

namespace proofwood::trees {

template <class Value>
class PoolOf {
 public:
  using Solver = SolverOf<Value>;
  using Subproblem = SubproblemOf<Value>;
  using Candidate = CandidateOf<Value>;
  using Evaluated = EvaluatedOf<Value>;

  // `between`: what the first thread does after each candidate. `blocks` keeps pace with the search, if there is one,
  // and its bounds are those of the root, too.
  PoolOf(Solver& main, std::function<void()> between, BlockSearch* blocks)
      : main_(main), shared_(main.shared), between_(std::move(between)), blocks_(blocks) {}

  // Until nothing is open or the search is stopped. `last`: its bound is that of the whole search.
  void run(Subproblem& root, bool last);

  Counters counters{};  // of the other threads

 private:
  void work(Solver& solver, Subproblem& root, bool last);
  void hand_back(const Candidate& candidate, Evaluated& evaluated, Subproblem& root, bool last);
  bool is_due(const Subproblem& root, i64 work);

  Solver& main_;
  SharedOf<Value>& shared_;
  const std::function<void()> between_;
  BlockSearch* blocks_;
  std::atomic<double> closed_{1.0};  // share of the thresholds of the root, of the last depth
  std::mutex mutex_;                 // of the root subproblem
  std::condition_variable changed_;
  i64 told_ = 0;  // work of all threads when the bound was last told
};

using Pool = PoolOf<i64>;

}  // namespace proofwood::trees
