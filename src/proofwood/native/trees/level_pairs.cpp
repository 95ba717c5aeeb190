// Sets of levels above two stumps (docs/theory/optimal-trees.md, "Sets of levels above two stumps").
#include "trees/level_pairs.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "trees/level_ends.hpp"

namespace proofwood::trees {

namespace {

// Depth-first over pairs of nodes, those of less bound first.
template <class T>
class PairSearch {
 public:
  PairSearch(const Table& table, const Rows& rows, u32 c, const Prices& prices, const LevelQuestion& question,
             const std::atomic<int>& stop)
      : ends_(table, rows, c, stop),
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

  Pair bounded(int a, int b) const {
    const T* const of_a = ends_.least(a);
    const T* const of_b = ends_.least(b);
    T sum = 0;
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
    const u64 size_a = ends_.size(pair.a), size_b = ends_.size(pair.b);
    if (size_a == 1 && size_b == 1) {
      offer(pair);
      return;
    }
    const int opened = size_b > size_a ? pair.b : pair.a, other = opened == pair.a ? pair.b : pair.a;
    const auto [one, two] = ends_.open(opened);
    std::array<Pair, 3> next{bounded(one, opened == other ? one : other), bounded(two, opened == other ? two : other)};
    std::size_t n = 2;
    if (opened == other) next[n++] = bounded(one, two);
    std::stable_sort(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(n),
                     [](const Pair& x, const Pair& y) { return x.bound < y.bound; });
    for (std::size_t i = 0; i < n; ++i) search(next[i]);
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
  const Prices prices_;
  i64 limit_;
  const bool first_;
  u64 steps_left_;
  const std::atomic<int>& stop_;
  LevelSplit answer_;
};

}  // namespace

LevelSplit best_level_pair(const Table& table, const Rows& rows, u32 c, const Prices& prices,
                           const LevelQuestion& question, const std::atomic<int>& stop) {
  constexpr i64 kNarrow = i64{1} << 30;  // sums of this size fit 32 bits
  if (rows.counts.weight < kNarrow) return PairSearch<std::int32_t>(table, rows, c, prices, question, stop).run();
  return PairSearch<i64>(table, rows, c, prices, question, stop).run();
}

}  // namespace proofwood::trees
