// Threads that search the root together (docs/theory/optimal-trees.md, "The search").
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "trees/solver.hpp"

namespace proofwood::trees {

class Pool {
 public:
  // `between`: what the first thread does after each candidate.
  Pool(Solver& main, std::function<void()> between) : main_(main), shared_(main.shared), between_(std::move(between)) {}

  // Until nothing is open or the search is stopped. `last`: its bound is that of the whole search.
  void run(Subproblem& root, bool last);

  Counters counters{};  // of the other threads

 private:
  void work(Solver& solver, Subproblem& root, bool last);
  void hand_back(const Candidate& candidate, Evaluated& evaluated, Subproblem& root, bool last);

  Solver& main_;
  Shared& shared_;
  const std::function<void()> between_;
  std::mutex mutex_;  // of the root subproblem
  std::condition_variable changed_;
};

}  // namespace proofwood::trees
