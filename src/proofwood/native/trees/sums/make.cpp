// Makes a task by sums from its name and the numbers of its rows (docs/theory/optimal-trees.md, "Tasks").
#include "trees/sums/make.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "trees/sums/costs.hpp"
#include "trees/sums/pairs.hpp"
#include "trees/sums/tasks.hpp"

namespace proofwood::trees {

namespace {

constexpr i128 kMostSum = i128{1} << 53;
constexpr double kMostReach = 0x1p58;

template <SumTask T>
SumRows gather(int place, const i64* given, std::size_t width, const i64* weights, std::size_t n, Unit unit) {
  std::vector<i64> padded;  // to the numbers that the task wants
  const i64* targets = given;
  if (width < T::kTargets) {
    padded.resize(n * T::kTargets);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < T::kTargets; ++k)
        padded[i * T::kTargets + k] = k < width ? given[i * width + k] : T::kPaddedByFirst ? given[i * width] : 0;
    targets = padded.data();
  }
  const T task(targets, weights, n);
  SumRows rows;
  rows.sums.assign(T::kSums, std::vector<double>(n));
  if (T::kOwn) rows.own.resize(n);
  rows.reach.resize(n);
  i128 total[T::kSums]{}, reaches = 0;
  // an integer below 2^53 is exact; what is rounded may be off by some units in the last place
  const double scale = std::ldexp(T::kExact ? 1 : 1 + 0x1p-40, -unit.shift);
  for (std::size_t i = 0; i < n; ++i) {
    const i64* const of = targets + i * T::kTargets;
    i64 sums[T::kSums];
    T::sums(weights[i], of, sums);
    for (int k = 0; k < T::kSums; ++k) {
      rows.sums[static_cast<std::size_t>(k)][i] = static_cast<double>(sums[k]);
      total[k] += sums[k] < 0 ? -i128{sums[k]} : i128{sums[k]};
    }
    if (T::kOwn) rows.own[i] = T::own(weights[i], of);
    rows.reach[i] = static_cast<i64>(std::min(std::ceil(task.reach(weights[i], of) * scale), kMostReach));
    reaches += rows.reach[i];
  }
  if (std::any_of(total, total + T::kSums, [](i128 sum) { return sum >= kMostSum; }))
    throw std::invalid_argument("the weighted numbers of all rows sum to more than 2^53");
  RowSums all;
  all.sums.resize(T::kSums);
  for (std::size_t k = 0; k < T::kSums; ++k)
    all.sums[k] = std::accumulate(rows.sums[k].begin(), rows.sums[k].end(), 0.0);
  for (const i128 own : rows.own) all.own += own;
  const typename SumCosts<T>::Set set(all);
  if (set.side(set.all, set.own).whole * scale >= kMostReach)
    throw std::invalid_argument("the unit of cost is too small for the cost of a single leaf");
  if (reaches >= static_cast<i128>(kMostReach)) rows.reach.clear();
  rows.rounded = !T::kExact;
  rows.task = std::make_shared<SumCosts<T>>(place, unit);
  return rows;
}

}  // namespace

SumRows make_sums(const std::string& name, const i64* targets, std::size_t width, const i64* weights, std::size_t n,
                  int shift) {
  int place = 0;
#define PROOFWOOD_TASK(of, ...)                                             \
  if (name == (of) && width <= std::size_t{__VA_ARGS__::kTargets})          \
    return gather<__VA_ARGS__>(place, targets, width, weights, n, {shift}); \
  ++place;
  PROOFWOOD_SUM_TASKS(PROOFWOOD_TASK)
#undef PROOFWOOD_TASK
  throw std::invalid_argument("there is no task " + name + " of " + std::to_string(width) + " numbers a row");
}

}  // namespace proofwood::trees
