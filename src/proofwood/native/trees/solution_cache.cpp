// Solved subproblems by set of rows and depth (docs/theory/optimal-trees.md, "The search").
#include "trees/solution_cache.hpp"

#include "common/memory.hpp"

namespace proofwood::trees {

namespace {
constexpr std::size_t kSolutions = 2'000'000;
constexpr std::size_t kWithKnownSplits = 1'000;  // the first ones
}  // namespace

std::optional<Solution> SolutionCache::find(const Hash& rows, int depth) {
  const std::lock_guard lock(mutex_);
  const auto found = solutions_.find(key_of(rows, depth));
  if (found == solutions_.end()) return std::nullopt;
  return found->second;
}

void SolutionCache::store(const Hash& rows, int depth, const Solution& solution) {
  const Key key = key_of(rows, depth);
  const std::lock_guard lock(mutex_);
  if (memory_is_short()) solutions_.clear();
  const std::size_t size = solutions_.size();
  if (size >= kSolutions && !solutions_.contains(key)) return;
  solutions_[key] = {solution.upper,
                     solution.lower,
                     solution.relaxed,
                     solution.plan,
                     size < kWithKnownSplits ? solution.known : nullptr,
                     solution.stopped};
}

}  // namespace proofwood::trees
