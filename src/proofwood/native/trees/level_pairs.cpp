// Sets of levels above two stumps (docs/theory/optimal-trees.md, "Sets of levels above two stumps").
#include "trees/level_pairs.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "trees/level_ends.hpp"

namespace proofwood::trees {

namespace {

// Depth-first over pairs of nodes, those of less bound first.
template <class T>
class PairSearch {
 public:
  PairSearch(const Table& table, const Rows& rows, u32 c, const Kernels& kernels, const Prices& prices,
             const LevelQuestion& question, const std::atomic<int>& stop)
      : ends_(table, rows, c, stop),
        kernels_(kernels),
        prices_(prices),
        limit_(question.limit),
        first_(question.first),
        steps_left_(question.steps),
        stop_(stop) {}

  LevelSplit run() {
    if (ends_.n_levels() < 2) return {};
    const int all = ends_.build();
    if (all < 0) {
      answer_.stopped = true;
      answer_.bound = 0;
      return answer_;
    }
    answer_.bound = kInfinite;
    search(bounded(all, all));
    answer_.bound = std::min(answer_.bound, answer_.cost);
    return answer_;
  }

 private:
  struct Pair {
    i64 bound;
    int a, b;
  };

  struct Parts {
    std::array<Pair, 3> pair;
    std::size_t n;
    bool tells_more_than(const Parts& other) const {
      return std::pair(pair[0].bound, pair[1].bound) > std::pair(other.pair[0].bound, other.pair[1].bound);
    }
  };

  Pair bounded(int a, int b) const {
    const T* const of_a = ends_.least(a);
    const T* const of_b = ends_.least(b);
    T sum = 0;
    if constexpr (std::is_same_v<T, std::int32_t>)
      sum = kernels_.sum_of_lesser(ends_.width(), of_a, of_b);
    else
      for (u32 l = 0; l < ends_.width(); ++l) sum += std::min(of_a[l], of_b[l]);
    return {prices_.error * static_cast<i64>(sum) + prices_.leaf * (1 + ends_.splits(a) + ends_.splits(b)), a, b};
  }

  void search(const Pair& pair) {
    if (pair.bound >= limit_ || answer_.stopped || (first_ && answer_.cost < kInfinite)) {
      answer_.bound = std::min(answer_.bound, pair.bound);
      return;
    }
    constexpr u64 kLook = 256;
    --steps_left_;
    if (steps_left_ == 0 || (steps_left_ % kLook == 0 && stop_.load(std::memory_order_relaxed) != 0))
      answer_.stopped = true;  // all pairs that are still to come count with their bounds
    const bool one_end = ends_.size(pair.a) == 1, other_end = ends_.size(pair.b) == 1;
    if (one_end && other_end) {
      offer(pair);
      return;
    }
    const bool full = ends_.full();
    const typename LevelEnds<T>::Mark mark = ends_.mark();
    Parts parts = one_end ? opened(pair.b, pair.a) : opened(pair.a, pair.b);
    if (pair.a != pair.b && !one_end && !other_end) {
      const Parts others = opened(pair.b, pair.a);
      if (others.tells_more_than(parts)) parts = others;
    }
    for (std::size_t i = 0; i < parts.n; ++i) search(parts.pair[i]);
    if (full) ends_.release(mark);
  }

  // The pairs of the children of `node` with `other`, by their bounds.
  Parts opened(int node, int other) {
    const auto [one, two] = ends_.open(node);
    Parts parts;
    if (node == other)
      parts = {{bounded(one, one), bounded(two, two), bounded(one, two)}, 3};
    else
      parts = {{bounded(one, other), bounded(two, other)}, 2};
    for (std::size_t i = 1; i < parts.n; ++i)  // two or three: no call of a sort
      for (std::size_t j = i; j > 0 && parts.pair[j].bound < parts.pair[j - 1].bound; --j)
        std::swap(parts.pair[j], parts.pair[j - 1]);
    return parts;
  }

  void offer(const Pair& pair) {
    if (first_ && pair.bound != limit_ - 1) return;  // not reached: nothing costs less than the optimum
    answer_.cost = pair.bound;
    answer_.low = ends_.cheaper(pair.a, pair.b);
    answer_.low_stump = ends_.splits(pair.a) > 0;
    answer_.high_stump = ends_.splits(pair.b) > 0;
    limit_ = std::min(limit_, pair.bound);
  }

  LevelEnds<T> ends_;
  const Kernels& kernels_;
  const Prices prices_;
  i64 limit_;
  const bool first_;
  u64 steps_left_;
  const std::atomic<int>& stop_;
  LevelSplit answer_;
};

}  // namespace

LevelSplit best_level_pair(const Table& table, const Rows& rows, u32 c, const Kernels& kernels, const Prices& prices,
                           const LevelQuestion& question, const std::atomic<int>& stop) {
  constexpr i64 kNarrow = i64{1} << 30;  // sums of this size fit 32 bits
  if (rows.counts.weight < kNarrow)
    return PairSearch<std::int32_t>(table, rows, c, kernels, prices, question, stop).run();
  return PairSearch<i64>(table, rows, c, kernels, prices, question, stop).run();
}

}  // namespace proofwood::trees
