// The tests of a set of rows as roots (docs/theory/optimal-trees.md, "Packed tests").
#include "trees/packed/roots.hpp"

#include <algorithm>
#include <numeric>

namespace proofwood::trees::packed {

void Roots::begin(u32 n_tests, i64 limit, i64 gap, i64 leaf_price, const std::vector<i64>& rank, Similar* similar) {
  limit_ = limit;
  gap_ = gap;
  leaf_price_ = leaf_price;
  similar_ = similar;
  next_ = 0;
  upper = kInfinite;
  plan = nullptr;
  bound.assign(n_tests, 0);
  order_.resize(n_tests);
  std::iota(order_.begin(), order_.end(), 0u);
  std::stable_sort(order_.begin(), order_.end(), [&](u32 a, u32 b) { return rank[a] < rank[b]; });
}

bool Roots::take(Candidate& candidate) {
  while (next_ < order_.size()) {
    candidate = {order_[next_++], 0, 0};
    if (similar_ != nullptr) similar_->look(candidate.test, candidate.holds, candidate.fails);
    bound[candidate.test] = std::max(bound[candidate.test], candidate.holds + candidate.fails + leaf_price_);
    if (bound[candidate.test] < cutoff()) return true;
  }
  return false;
}

void Roots::offer(i64 cost, PlanPtr tree) {
  if (cost >= upper) return;
  upper = cost;
  plan = std::move(tree);
}

void Roots::record(const Candidate& candidate, const Found& found) {
  bound[candidate.test] = std::max(bound[candidate.test], found.lower);
  if (similar_ != nullptr) similar_->note(candidate.test, found.holds, found.fails);
  if (found.plan) offer(found.upper, found.plan);
}

i64 Roots::lower() const {
  i64 least = upper;
  for (const i64 of_root : bound) least = std::min(least, of_root);
  return std::max<i64>(least, 0);
}

}  // namespace proofwood::trees::packed
