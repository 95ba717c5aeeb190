// What is asked of a set of rows, as a parameter of the search: the least cost of its trees, one number; or the least
// cost of its trees for every number of leaves, a vector (docs/theory/optimal-trees.md, "Fronts by leaves").
//
//   number of leaves, at most    1    2    3    4            a split of L leaves gives a to its low side, L - a to its
//   low side                    12    7    5    5            high side: join(low, high)[5] = min(low[1] + high[4],
//   high side                    9    6    4    2              low[2] + high[3], low[3] + high[2], low[4] + high[1])
//
// Costs are monotone in the rows, superadditive, and bounded between neighbours for each number of leaves; so are
// joins. Every rule of the search therefore holds entry by entry.
#pragma once

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>
#include <vector>

#include "trees/plan.hpp"
#include "trees/settings.hpp"

namespace proofwood::trees {

// By the most leaves that a tree may have, up to `kMostLeaves`. Entries beyond `size` are 0: of bounds, nothing is
// known; of limits, trees of so many leaves are not asked for. Costs of trees are kept for every number of leaves that
// a depth has room for.
template <int kMostLeaves>
class LeavesOf {
 public:
  static constexpr int kMost = kMostLeaves;
  static constexpr int room(int depth) { return depth > 4 ? kMost : std::min(kMost, 1 << depth); }  // of such a tree

  constexpr LeavesOf() = default;
  constexpr LeavesOf(int size, i64 value) : size_(size) { std::fill_n(at_.begin(), size, value); }
  // Of another capacity: what there is room for.
  template <int kOther>
    requires(kOther != kMostLeaves)
  explicit constexpr LeavesOf(const LeavesOf<kOther>& other) : size_(std::min(kMost, other.size())) {
    for (int l = 1; l <= size_; ++l) (*this)[l] = other[l];
  }

  constexpr int size() const { return size_; }
  constexpr i64 operator[](int leaves) const { return at_[static_cast<std::size_t>(leaves - 1)]; }
  constexpr i64& operator[](int leaves) { return at_[static_cast<std::size_t>(leaves - 1)]; }
  // More entries, of this value.
  void widen(int size, i64 value) {
    if (size > size_) std::fill_n(at_.begin() + size_, size - size_, value);
    size_ = std::max(size, size_);
  }
  int most_asked() const {  // of limits
    int leaves = size_;
    while (leaves > 0 && (*this)[leaves] <= 0) --leaves;
    return leaves;
  }
  bool operator==(const LeavesOf& other) const = default;

 private:
  int size_ = 0;
  std::array<i64, kMost> at_{};
};
using Leaves = LeavesOf<17>;
using FewLeaves = LeavesOf<4>;  // of trees of depth two, where most of the time is spent

template <class Value>
constexpr bool kOneNumber = std::is_same_v<Value, i64>;

template <class Value>
struct PlansFor;
template <>
struct PlansFor<i64> {
  using Type = PlanPtr;
};
template <int kMost>
struct PlansFor<LeavesOf<kMost>> {
  using Type = std::array<PlanPtr, static_cast<std::size_t>(kMost)>;
};
template <class Value>
using Plans = typename PlansFor<Value>::Type;

// ------------------------------------------------------------------ one number for all trees of a depth

template <class Value>
Value same(i64 value, int depth) {
  if constexpr (kOneNumber<Value>)
    return value;
  else
    return Value(Value::room(depth), value);
}

// Limits that ask for every tree.
template <class Value>
constexpr Value all_trees() {
  if constexpr (kOneNumber<Value>)
    return kInfinite;
  else
    return Value(Value::kMost, kInfinite);
}

// ------------------------------------------------------------------ trees of a value

template <class Value>
Plans<Value> leaf_plans() {
  if constexpr (kOneNumber<Value>) {
    return leaf_plan();
  } else {
    Plans<Value> plans;
    plans.fill(leaf_plan());
    return plans;
  }
}

inline bool has_plan(const PlanPtr& plan) { return plan != nullptr; }
template <std::size_t kMost>
bool has_plan(const std::array<PlanPtr, kMost>&) {
  return true;
}

inline void take_cheaper(i64& upper, PlanPtr& plan, i64 other, const PlanPtr& tree) {
  if (other >= upper) return;
  upper = other;
  plan = tree;
}

// A tree of fewer leaves is one of more, too; `other` may have less room.
template <int kMost, int kOther>
void take_cheaper(LeavesOf<kMost>& upper, Plans<LeavesOf<kMost>>& plan, const LeavesOf<kOther>& other,
                  const Plans<LeavesOf<kOther>>& trees) {
  for (int l = 1, from = 1; l <= upper.size(); ++l) {
    from = std::min(l, other.size());
    if (other[from] >= upper[l]) continue;
    upper[l] = other[from];
    plan[static_cast<std::size_t>(l - 1)] = trees[static_cast<std::size_t>(from - 1)];
  }
  for (int l = 2; l <= upper.size(); ++l) {
    if (upper[l - 1] >= upper[l]) continue;
    upper[l] = upper[l - 1];
    plan[static_cast<std::size_t>(l - 1)] = plan[static_cast<std::size_t>(l - 2)];
  }
}

// What a leaf costs is known.
inline void set_one(i64&, i64) {}
template <int kMost>
void set_one(LeavesOf<kMost>& value, i64 leaf) {
  value[1] = leaf;
}
// Of depth one: what two leaves cost, and their tree.
inline void set_two(i64& value, i64 cost) { value = cost; }
template <int kMost>
void set_two(LeavesOf<kMost>& value, i64 cost) {
  value[2] = cost;
}
// Rounded costs: two leaves at the bottom are one number, so the best stump is not a join of leaves.
inline void unset_two(i64&) {}
template <int kMost>
void unset_two(LeavesOf<kMost>& value) {
  value[2] = kInfinite;
}
inline void set_two(PlanPtr& plan, PlanPtr tree) { plan = std::move(tree); }
template <std::size_t kMost>
void set_two(std::array<PlanPtr, kMost>& plans, PlanPtr tree) {
  plans[1] = std::move(tree);
}

// ------------------------------------------------------------------ one number

inline void raise(i64& value, i64 other) { value = std::max(value, other); }
inline void lower_to(i64& value, i64 other) { value = std::min(value, other); }
inline i64 less(i64 value, i64 distance) { return value - distance; }
inline i64 join(i64 low, i64 high, i64 price) { return low + high + price; }
inline bool is_open(i64 bound, i64 limit) { return bound < limit; }
inline bool asks(i64 limit) { return limit > 0; }
inline i64 key_of(i64 bound, i64) { return bound; }  // the least is taken up first
inline i64 closing_key(i64 limit) { return limit; }  // keys of open intervals are less
inline bool exceeds(i64 lower, i64 upper) { return lower > upper; }

// ------------------------------------------------------------------ a vector

template <int kMost>
void raise(LeavesOf<kMost>& value, const LeavesOf<kMost>& other) {
  value.widen(other.size(), 0);
  for (int l = 1; l <= other.size(); ++l) value[l] = std::max(value[l], other[l]);
}
template <int kMost>
void lower_to(LeavesOf<kMost>& value, const LeavesOf<kMost>& other) {
  for (int l = 1; l <= value.size(); ++l) value[l] = std::min(value[l], l <= other.size() ? other[l] : 0);
}
// Of bounds: trees of fewer leaves cost no less.
template <int kMost>
void raise_fewer(LeavesOf<kMost>& bound) {
  for (int l = bound.size() - 1; l >= 1; --l) bound[l] = std::max(bound[l], bound[l + 1]);
}
template <int kMost>
LeavesOf<kMost> less(LeavesOf<kMost> value, i64 distance) {
  for (int l = 1; l <= value.size(); ++l) value[l] = std::max<i64>(0, value[l] - distance);
  return value;
}
// Of a split, by the leaves of both sides. There is no price: it is the same for all trees of so many leaves.
template <int kMost>
LeavesOf<kMost> join(const LeavesOf<kMost>& low, const LeavesOf<kMost>& high, i64 = 0) {
  if (low.size() == 0 || high.size() == 0) return {};
  if constexpr (kMost == 4) {  // two leaves of each side
    LeavesOf<kMost> both(4, kInfinite);
    both[2] = low[1] + high[1];
    both[3] = std::min(low[1] + high[2], low[2] + high[1]);
    both[4] = low[2] + high[2];
    return both;
  }
  const int most = std::min(low.size() + high.size(), kMost);
  LeavesOf<kMost> both(most, kInfinite);
  for (int l = 2; l <= most; ++l)
    for (int a = std::max(1, l - high.size()); a <= std::min(low.size(), l - 1); ++a)
      both[l] = std::min(both[l], low[a] + high[l - a]);
  return both;
}
template <int kMost>
bool is_open(const LeavesOf<kMost>& bound, const LeavesOf<kMost>& limit) {
  for (int l = 1; l <= limit.size(); ++l)
    if (limit[l] > 0 && (l > bound.size() || bound[l] < limit[l])) return true;
  return false;
}
template <int kMost>
bool asks(const LeavesOf<kMost>& limit) {
  return limit.most_asked() > 0;
}
template <int kMost>
i64 key_of(const LeavesOf<kMost>& bound, const LeavesOf<kMost>& limit) {
  i64 key = kInfinite;
  for (int l = 1; l <= limit.size(); ++l)
    if (limit[l] > 0) key = std::min(key, (l <= bound.size() ? bound[l] : 0) - limit[l]);
  return key;
}
template <int kMost>
i64 closing_key(const LeavesOf<kMost>&) {
  return 0;
}
// Which of the trees that limits ask for are wanted of all rows.
struct Choice {
  int leaves = Leaves::kMost;  // at most
  std::vector<i64> prices;     // of a leaf: for each, one tree is wanted; none: the best one of each number of leaves
  bool any_tree = false;       // one tree below a limit is enough

  bool only_most() const { return prices.size() == 1 && prices[0] == 0; }  // leaves are free
};
// Of limits: what asks for more than the trees in hand give.
template <int kMost>
LeavesOf<kMost> still_wanted(LeavesOf<kMost> limit, const LeavesOf<kMost>& upper, i64 gap, const Choice& choice) {
  for (int l = 1; l <= limit.size(); ++l) {
    if (choice.any_tree && upper[l] < limit[l]) return {};
    limit[l] = std::min(limit[l], upper[l] - gap);
  }
  if (choice.prices.empty()) return limit;
  LeavesOf<kMost> worth(limit.size(), 0);  // what a tree must cost less than, to be the best one at some price
  for (const i64 price : choice.prices) {
    i64 least = kInfinite;
    for (int l = 1; l <= std::min(choice.leaves, upper.size()); ++l)
      least = std::min(least, upper[l] + price * (l - 1));
    for (int l = 1; l <= limit.size(); ++l) worth[l] = std::max(worth[l], least - gap - price * (l - 1));
  }
  for (int l = 1; l <= limit.size(); ++l) limit[l] = std::min(limit[l], worth[l]);
  return limit;
}
// Of a limit: trees of more leaves than a depth has room for are those of all its room; the leaf alone is known.
template <int kMost>
LeavesOf<kMost> narrow(const LeavesOf<kMost>& limit, int depth) {
  const int room = LeavesOf<kMost>::room(depth);
  LeavesOf<kMost> narrowed(room, 0);
  for (int l = 2; l <= limit.size(); ++l) narrowed[std::min(l, room)] = std::max(narrowed[std::min(l, room)], limit[l]);
  return narrowed;
}
template <int kMost>
LeavesOf<kMost> first(const LeavesOf<kMost>& bound, int leaves) {  // what is known of the first few
  LeavesOf<kMost> few(std::min(leaves, bound.size()), 0);
  for (int l = 1; l <= few.size(); ++l) few[l] = bound[l];
  return few;
}
inline i64 narrow(i64 limit, int) { return limit; }
template <int kMost>
bool exceeds(const LeavesOf<kMost>& lower, const LeavesOf<kMost>& upper) {
  for (int l = 1; l <= std::min(lower.size(), upper.size()); ++l)
    if (lower[l] > upper[l]) return true;
  return false;
}

}  // namespace proofwood::trees
