// Solved subproblems by set of rows and depth (docs/theory/optimal-trees.md, "The search").
#include "trees/solution_cache.hpp"

#include <type_traits>
#include <vector>

#include "common/memory.hpp"

namespace proofwood::trees {

namespace {
template <class Value>
constexpr std::size_t kSolutions = kOneNumber<Value> ? 2'000'000 : 1'000'000;
constexpr std::size_t kWithKnownSplits = 1'000;  // the first ones
}  // namespace

KeptSolution<Leaves>::KeptSolution(const SolutionOf<Leaves>& solution, bool with_known)
    : known_(with_known ? solution.known : nullptr) {
  entries_.reserve(static_cast<std::size_t>(solution.upper.size()));
  for (int l = 1; l <= solution.upper.size(); ++l)
    entries_.push_back(
        {solution.upper[l], solution.lower[l], solution.relaxed[l], solution.plan[static_cast<std::size_t>(l - 1)]});
}

SolutionOf<Leaves> KeptSolution<Leaves>::solution() const {
  const Leaves none(static_cast<int>(entries_.size()), 0);
  SolutionOf<Leaves> solution{none, none, none, {}, known_, false};
  for (int l = 1; l <= none.size(); ++l) {
    const Entry& entry = entries_[static_cast<std::size_t>(l - 1)];
    solution.upper[l] = entry.upper;
    solution.lower[l] = entry.lower;
    solution.relaxed[l] = entry.relaxed;
    solution.plan[static_cast<std::size_t>(l - 1)] = entry.plan;
  }
  return solution;
}

template <class Value>
std::optional<SolutionOf<Value>> SolutionCacheOf<Value>::find(const Hash& rows, int depth) {
  const std::lock_guard lock(mutex_);
  const auto found = solutions_.find(key_of(rows, depth));
  if (found == solutions_.end()) return std::nullopt;
  return found->second.solution();
}

template <class Value>
void SolutionCacheOf<Value>::store(const Hash& rows, int depth, const SolutionOf<Value>& solution) {
  const Key key = key_of(rows, depth);
  const std::lock_guard lock(mutex_);
  if (memory_is_short()) solutions_.clear();
  const std::size_t size = solutions_.size();
  if (size >= kSolutions<Value> && !solutions_.contains(key)) return;
  solutions_[key] = {solution, size < kWithKnownSplits};
}

template class SolutionCacheOf<i64>;
template class SolutionCacheOf<Leaves>;

}  // namespace proofwood::trees
