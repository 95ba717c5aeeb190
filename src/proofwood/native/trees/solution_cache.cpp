// Solved subproblems by set of rows and depth (docs/theory/optimal-trees.md, "The search").
#include "trees/solution_cache.hpp"

#include "common/memory.hpp"

namespace proofwood::trees {

namespace {
constexpr std::size_t kSolutions = 2'000'000;
constexpr std::size_t kWithKnownSplits = 1'000;  // the first ones

// A small plan: one bit that says so, the kind of its root, whether each side is a stump, its feature, its key.
constexpr int kKindAt = 1, kLowAt = 3, kHighAt = 4, kFeatureAt = 5, kKeyAt = 32;
constexpr u64 kMostFeatures = u64{1} << (kKeyAt - kFeatureAt);

bool is_end(const PlanPtr& plan) { return plan->kind != Plan::kSplit; }
u64 stump_bit(const PlanPtr& plan, int at) { return u64{plan->kind == Plan::kStump} << at; }
}  // namespace

KeptPlan::KeptPlan(const PlanPtr& plan) {
  if (!plan) return;
  const u64 kind = 1 | static_cast<u64>(plan->kind) << kKindAt;
  if (is_end(plan))
    bits_ = kind;
  else if (plan->levels == 0 && plan->feature < kMostFeatures && is_end(plan->low) && is_end(plan->high))
    bits_ = kind | stump_bit(plan->low, kLowAt) | stump_bit(plan->high, kHighAt) | u64{plan->feature} << kFeatureAt |
            u64{plan->key} << kKeyAt;
  else
    bits_ = static_cast<u64>(std::bit_cast<std::uintptr_t>(new PlanPtr(plan)));
}

PlanPtr KeptPlan::plan() const {
  if (bits_ == 0) return nullptr;
  if (!is_small()) return *pointer();
  const auto end = [this](int at) { return (bits_ >> at & 1) != 0 ? stump_plan() : leaf_plan(); };
  switch (static_cast<Plan::Kind>(bits_ >> kKindAt & 3)) {
    case Plan::kLeaf:
      return leaf_plan();
    case Plan::kStump:
      return stump_plan();
    default:
      return split_plan(static_cast<u32>(bits_ >> kFeatureAt & (kMostFeatures - 1)), static_cast<u32>(bits_ >> kKeyAt),
                        end(kLowAt), end(kHighAt));
  }
}

std::optional<Solution> SolutionCache::find(const Hash& rows, int depth) {
  const Map::Key key = key_of(rows, depth);
  const std::lock_guard lock(mutex_);
  const KeptSolution* const found = solutions_.find(key);
  if (found == nullptr) return std::nullopt;
  Solution solution{found->upper, found->lower, found->relaxed, found->plan.plan(), nullptr, false};
  if (const auto known = known_.find({key.first, key.second}); known != known_.end()) solution.known = known->second;
  return solution;
}

void SolutionCache::store(const Hash& rows, int depth, const Solution& solution) {
  const Map::Key key = key_of(rows, depth);
  const std::lock_guard lock(mutex_);
  if (memory_is_short()) {
    solutions_.clear();
    known_.clear();
  }
  const std::size_t size = solutions_.size();
  if (size >= kSolutions && solutions_.find(key) == nullptr) return;
  KeptSolution& kept = solutions_[key];
  kept.upper = solution.upper;
  kept.lower = solution.lower;
  kept.relaxed = solution.relaxed;
  kept.plan = KeptPlan(solution.plan);
  known_.erase({key.first, key.second});
  if (size < kWithKnownSplits && solution.known) known_[{key.first, key.second}] = solution.known;
}

void SolutionCache::forget() {
  solutions_.clear();
  known_.clear();
}

}  // namespace proofwood::trees
