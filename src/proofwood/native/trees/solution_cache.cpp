// Solved subproblems by set of rows and depth (docs/theory/optimal-trees.md, "The search").
#include "trees/solution_cache.hpp"

#include <type_traits>
#include <vector>

#include "common/memory.hpp"

namespace proofwood::trees {

namespace {
template <class Value>
constexpr std::size_t kSolutions = kOneNumber<Value> ? 2'000'000 : 1'000'000;
constexpr std::size_t kWithKnownSplits = 1'000;  // the first ones of three levels or more

// A small plan: one bit that says so, the kind of its root, whether each side is a stump, its feature, its key.
constexpr int kKindAt = 1, kLowAt = 3, kHighAt = 4, kFeatureAt = 5, kKeyAt = 32;
constexpr u64 kMostFeatures = u64{1} << (kKeyAt - kFeatureAt);

bool is_end(const PlanPtr& plan) { return plan->kind != Plan::kSplit; }
u64 stump_bit(const PlanPtr& plan, int at) { return u64{plan->kind == Plan::kStump} << at; }
}  // namespace

KeptPlan::KeptPlan(const PlanPtr& plan) {
  if (!plan) return;
  u64 bits = 1 | static_cast<u64>(plan->kind) << kKindAt;
  if (!is_end(plan)) {
    if (plan->levels == 0 && plan->feature < kMostFeatures && is_end(plan->low) && is_end(plan->high))
      bits |= stump_bit(plan->low, kLowAt) | stump_bit(plan->high, kHighAt) | u64{plan->feature} << kFeatureAt |
              u64{plan->key} << kKeyAt;
    else
      bits = static_cast<u64>(std::bit_cast<std::uintptr_t>(new PlanPtr(plan)));
  }
  halves_ = {static_cast<u32>(bits), static_cast<u32>(bits >> 32)};
}

PlanPtr KeptPlan::plan() const {
  const u64 kept = bits();
  if (kept == 0) return nullptr;
  if (!is_small()) return *pointer();
  const auto end = [kept](int at) { return (kept >> at & 1) != 0 ? stump_plan() : leaf_plan(); };
  switch (static_cast<Plan::Kind>(kept >> kKindAt & 3)) {
    case Plan::kLeaf:
      return leaf_plan();
    case Plan::kStump:
      return stump_plan();
    default:
      return split_plan(static_cast<u32>(kept >> kFeatureAt & (kMostFeatures - 1)), static_cast<u32>(kept >> kKeyAt),
                        end(kLowAt), end(kHighAt));
  }
}

KeptSolution<Leaves>::KeptSolution(const SolutionOf<Leaves>& solution) {
  entries_.reserve(static_cast<std::size_t>(solution.upper.size()));
  for (int l = 1; l <= solution.upper.size(); ++l)
    entries_.push_back({solution.upper[l], solution.lower[l], solution.relaxed[l],
                        KeptPlan(solution.plan[static_cast<std::size_t>(l - 1)])});
}

SolutionOf<Leaves> KeptSolution<Leaves>::solution() const {
  const Leaves none(static_cast<int>(entries_.size()), 0);
  SolutionOf<Leaves> solution{none, none, none, {}, nullptr, false};
  for (int l = 1; l <= none.size(); ++l) {
    const Entry& entry = entries_[static_cast<std::size_t>(l - 1)];
    solution.upper[l] = entry.upper;
    solution.lower[l] = entry.lower;
    solution.relaxed[l] = entry.relaxed;
    solution.plan[static_cast<std::size_t>(l - 1)] = entry.plan.plan();
  }
  return solution;
}

template <class Value>
std::optional<SolutionOf<Value>> SolutionCacheOf<Value>::find(const Hash& rows, int depth) {
  const Key key = key_of(rows, depth);
  const std::lock_guard lock(mutex_);
  std::optional<SolutionOf<Value>> solution;
  if (const KeptSolution<Value>* const kept = solutions_.find(key)) solution = kept->solution();
  if constexpr (kOneNumber<Value>)
    if (const NarrowSolution* const kept = narrow_.find(key)) solution = kept->solution();
  if (!solution) return std::nullopt;
  if (const auto known = known_.find({key.first, key.second}); known != known_.end()) solution->known = known->second;
  return solution;
}

template <class Value>
void SolutionCacheOf<Value>::store(const Hash& rows, int depth, const SolutionOf<Value>& solution) {
  const Key key = key_of(rows, depth);
  const std::lock_guard lock(mutex_);
  if (memory_is_short()) forget();
  const std::size_t before = size();
  if (before >= kSolutions<Value> && solutions_.find(key) == nullptr && narrow_.find(key) == nullptr) return;
  bool fits = false;
  if constexpr (kOneNumber<Value>) fits = NarrowSolution::fits(solution);
  if (!fits) solutions_[key] = KeptSolution<Value>(solution);
  if constexpr (kOneNumber<Value>)
    if (fits) narrow_[key] = NarrowSolution(solution);
  known_.erase({key.first, key.second});
  if (depth > 2 && before < kWithKnownSplits && solution.known) known_[{key.first, key.second}] = solution.known;
}

template <class Value>
void SolutionCacheOf<Value>::forget() {
  solutions_.clear();
  narrow_.clear();
  known_.clear();
}

template class SolutionCacheOf<i64>;
template class SolutionCacheOf<Leaves>;

}  // namespace proofwood::trees
