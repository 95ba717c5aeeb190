// The best of K actions: a row loses something by each of them, nothing by the best one; a leaf takes one action for
// all. A row is given by its losses times its weight.
#pragma once

#include <algorithm>
#include <array>

#include "trees/sums/sum_task.hpp"

namespace proofwood::trees {

template <int K>
struct Policy {
  static constexpr int kTargets = K, kSums = K, kParts = 1;
  static constexpr bool kPaddedByFirst = true;  // numbers that are not given: copies of the first one, or 0
  static constexpr bool kExact = true, kOwn = false, kWeightFirst = false;

  Policy(const i64*, const i64*, std::size_t) {}

  static void sums(i64, const i64* losses, i64* to) { std::copy(losses, losses + K, to); }
  static i128 own(i64, const i64*) { return 0; }
  double reach(i64, const i64* losses) const { return static_cast<double>(*std::max_element(losses, losses + K)); }

  static Zero zero(const i64*) { return {}; }
  static double whole(i128, const double*, const Zero&) { return 0; }
  static double error(double, const double*, const Zero&) { return 0; }

  template <class V>
  struct Best {
    V part[kParts];  // cost
  };
  template <class V>
  PROOFWOOD_PART V least(const V* sums) {
    V found = sums[0];
    for (int k = 1; k < K; ++k) found = sums[k] < found ? sums[k] : found;
    return found;
  }
  template <class V>
  PROOFWOOD_PART Best<V> leaf(const V* all, double) {
    return {{least(all)}};
  }
  template <class V>
  PROOFWOOD_PART Best<V> split(const V* low, const V* high, double) {
    return {{least(low) + least(high)}};
  }
  PROOFWOOD_PART Best<double> none() { return {{0x1p100}}; }
  template <class V>
  PROOFWOOD_PART auto more(const Best<V>& a, const Best<V>& b) {
    return a.part[0] < b.part[0];
  }
  static double saved(const Best<double>& best) { return -best.part[0]; }
  static std::array<double, 1> prediction(const double* sums) {
    return {static_cast<double>(std::min_element(sums, sums + K) - sums)};
  }
  static double loss(double, const double* sums, const double* action) {
    return sums[static_cast<std::size_t>(action[0])];
  }
  static bool costs_at_least(i128, const LeafSums& leaves, Unit, i64 units) {
    return least(leaves.low) + (leaves.high == nullptr ? 0 : least(leaves.high)) >= units;
  }
};

}  // namespace proofwood::trees
