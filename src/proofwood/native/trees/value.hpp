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

#include "trees/plan.hpp"
#include "trees/settings.hpp"

namespace proofwood::trees {

// By the most leaves that a tree may have. Entries beyond `size` are 0: of bounds, nothing is known; of limits, trees
// of so many leaves are not asked for. Costs of trees are kept for every number of leaves that a depth has room for.
class Leaves {
 public:
  static constexpr int kMost = 17;
  static constexpr int room(int depth) { return depth > 4 ? kMost : 1 << depth; }  // of a tree of this depth

  constexpr Leaves() = default;
  constexpr Leaves(int size, i64 value) : size_(size) { std::fill_n(at_.begin(), size, value); }

  int size() const { return size_; }
  i64 operator[](int leaves) const { return at_[static_cast<std::size_t>(leaves - 1)]; }
  i64& operator[](int leaves) { return at_[static_cast<std::size_t>(leaves - 1)]; }
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
  bool operator==(const Leaves& other) const = default;

 private:
  int size_ = 0;
  std::array<i64, kMost> at_{};
};

template <class Value>
struct PlansFor;
template <>
struct PlansFor<i64> {
  using Type = PlanPtr;
};
template <>
struct PlansFor<Leaves> {
  using Type = std::array<PlanPtr, Leaves::kMost>;
};
template <class Value>
using Plans = typename PlansFor<Value>::Type;

// ------------------------------------------------------------------ one number for all trees of a depth

template <class Value>
Value same(i64 value, int depth) {
  if constexpr (std::is_same_v<Value, i64>)
    return value;
  else
    return Value(Value::room(depth), value);
}

// Limits that ask for every tree.
template <class Value>
constexpr Value all_trees() {
  if constexpr (std::is_same_v<Value, i64>)
    return kInfinite;
  else
    return Value(Value::kMost, kInfinite);
}

// ------------------------------------------------------------------ trees of a value

template <class Value>
Plans<Value> leaf_plans() {
  if constexpr (std::is_same_v<Value, i64>) {
    return leaf_plan();
  } else {
    Plans<Value> plans;
    plans.fill(leaf_plan());
    return plans;
  }
}

inline bool has_plan(const PlanPtr& plan) { return plan != nullptr; }
inline bool has_plan(const Plans<Leaves>&) { return true; }

inline void take_cheaper(i64& upper, PlanPtr& plan, i64 other, const PlanPtr& tree) {
  if (other >= upper) return;
  upper = other;
  plan = tree;
}

// A tree of fewer leaves is one of more, too; `other` may have less room.
inline void take_cheaper(Leaves& upper, Plans<Leaves>& plan, const Leaves& other, const Plans<Leaves>& trees) {
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
inline void set_one(Leaves& value, i64 leaf) { value[1] = leaf; }
// Of depth one: what two leaves cost, and their tree.
inline void set_two(i64& value, i64 cost) { value = cost; }
inline void set_two(Leaves& value, i64 cost) { value[2] = cost; }
template <class Value>
void set_two(Plans<Value>& plan, PlanPtr tree) {
  if constexpr (std::is_same_v<Value, i64>)
    plan = std::move(tree);
  else
    plan[1] = std::move(tree);
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

inline void raise(Leaves& value, const Leaves& other) {
  value.widen(other.size(), 0);
  for (int l = 1; l <= other.size(); ++l) value[l] = std::max(value[l], other[l]);
}
inline void lower_to(Leaves& value, const Leaves& other) {
  for (int l = 1; l <= value.size(); ++l) value[l] = std::min(value[l], l <= other.size() ? other[l] : 0);
}
// Of bounds: trees of fewer leaves cost no less.
inline void raise_fewer(Leaves& bound) {
  for (int l = bound.size() - 1; l >= 1; --l) bound[l] = std::max(bound[l], bound[l + 1]);
}
inline Leaves less(Leaves value, i64 distance) {
  for (int l = 1; l <= value.size(); ++l) value[l] = std::max<i64>(0, value[l] - distance);
  return value;
}
// Of a split, by the leaves of both sides. There is no price: it is the same for all trees of so many leaves.
inline Leaves join(const Leaves& low, const Leaves& high, i64 = 0) {
  if (low.size() == 0 || high.size() == 0) return {};
  const int most = std::min(low.size() + high.size(), Leaves::kMost);
  Leaves both(most, kInfinite);
  for (int l = 2; l <= most; ++l)
    for (int a = std::max(1, l - high.size()); a <= std::min(low.size(), l - 1); ++a)
      both[l] = std::min(both[l], low[a] + high[l - a]);
  return both;
}
inline bool is_open(const Leaves& bound, const Leaves& limit) {
  for (int l = 1; l <= limit.size(); ++l)
    if (limit[l] > 0 && (l > bound.size() || bound[l] < limit[l])) return true;
  return false;
}
inline bool asks(const Leaves& limit) { return limit.most_asked() > 0; }
inline i64 key_of(const Leaves& bound, const Leaves& limit) {
  i64 key = kInfinite;
  for (int l = 1; l <= limit.size(); ++l)
    if (limit[l] > 0) key = std::min(key, (l <= bound.size() ? bound[l] : 0) - limit[l]);
  return key;
}
inline i64 closing_key(const Leaves&) { return 0; }
// Which of the trees that limits ask for are wanted of all rows.
struct Choice {
  int leaves = Leaves::kMost;  // at most
  i64 price = -1;              // of a leaf, to choose one tree; -1: the best tree of each number of leaves is wanted
  bool any_tree = false;       // one tree below a limit is enough
};
// Of limits: what asks for more than the trees in hand give.
inline Leaves still_wanted(Leaves limit, const Leaves& upper, i64 gap, const Choice& choice) {
  i64 least = kInfinite;
  for (int l = 1; choice.price >= 0 && l <= std::min(choice.leaves, upper.size()); ++l)
    least = std::min(least, upper[l] + choice.price * (l - 1));
  for (int l = 1; l <= limit.size(); ++l) {
    if (choice.any_tree && upper[l] < limit[l]) return {};
    limit[l] = std::min({limit[l], upper[l] - gap, least - gap - std::max<i64>(0, choice.price) * (l - 1)});
  }
  return limit;
}
// Of a limit: trees of more leaves than a depth has room for are those of all its room; the leaf alone is known.
inline Leaves narrow(const Leaves& limit, int depth) {
  const int room = Leaves::room(depth);
  Leaves narrowed(room, 0);
  for (int l = 2; l <= limit.size(); ++l) narrowed[std::min(l, room)] = std::max(narrowed[std::min(l, room)], limit[l]);
  return narrowed;
}
inline Leaves first(const Leaves& bound, int leaves) {  // what is known of the first few
  Leaves few(std::min(leaves, bound.size()), 0);
  for (int l = 1; l <= few.size(); ++l) few[l] = bound[l];
  return few;
}
inline i64 narrow(i64 limit, int) { return limit; }
inline bool exceeds(const Leaves& lower, const Leaves& upper) {
  for (int l = 1; l <= std::min(lower.size(), upper.size()); ++l)
    if (lower[l] > upper[l]) return true;
  return false;
}

}  // namespace proofwood::trees
