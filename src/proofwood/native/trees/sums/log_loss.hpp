// Logarithmic loss of K classes, with the class shares of a leaf as its probabilities: n log n - sum n_k log n_k.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "trees/sums/deviance.hpp"

namespace proofwood::trees {

template <int K>
struct LogLoss {
  static constexpr int kTargets = K, kSums = K, kParts = 1;
  static constexpr bool kPaddedByFirst = false;  // numbers that are not given: copies of the first one, or 0
  static constexpr bool kExact = false, kOwn = false, kWeightFirst = false;

  double total = 0;  // weight of all rows

  LogLoss(const i64* targets, const i64*, std::size_t n) {
    for (std::size_t i = 0; i < n * K; ++i) total += static_cast<double>(targets[i]);
  }

  static void sums(i64, const i64* weights, i64* to) { std::copy(weights, weights + K, to); }
  static i128 own(i64, const i64*) { return 0; }
  // A row of weight w in a leaf of weight n that lacks its class: (n + w) log(n + w) - n log n - w log w.
  double reach(i64, const i64* weights) const {
    double sum = 0;
    for (int k = 0; k < K; ++k)
      if (weights[k] > 0)
        sum += static_cast<double>(weights[k]) * (std::log(total / static_cast<double>(weights[k])) + 1);
    return sum;
  }

  static Zero zero(const i64*) { return {}; }
  static double whole(i128, const double*, const Zero&) { return 0; }
  // Of the cost, which is at most n log K.
  static double error(double, const double* sums, const Zero&) {
    double n = 0;
    for (int k = 0; k < K; ++k) n += sums[k];
    return 0x1p-45 * n * std::log(static_cast<double>(K));
  }

  template <class V>
  struct Best {
    V part[kParts];  // saved: the cost, negated
  };
  template <class V>
  PROOFWOOD_PART V shares(const V* sums) {
    V n = sums[0];
    for (int k = 1; k < K; ++k) n += sums[k];
    V sum = entropy_of<V>(sums[0], n);
    for (int k = 1; k < K; ++k) sum += entropy_of<V>(sums[k], n);
    const V none = V{};
    return n > 0 ? n * sum : none;
  }
  template <class V>
  PROOFWOOD_PART Best<V> leaf(const V* all, double) {
    return {{shares(all)}};
  }
  template <class V>
  PROOFWOOD_PART Best<V> split(const V* low, const V* high, double) {
    return {{shares(low) + shares(high)}};
  }
  PROOFWOOD_PART Best<double> none() { return {{-0x1p1000}}; }
  template <class V>
  PROOFWOOD_PART auto more(const Best<V>& a, const Best<V>& b) {
    return a.part[0] > b.part[0];
  }
  static double saved(const Best<double>& best) { return best.part[0]; }
  static std::array<double, K> prediction(const double* sums) {
    std::array<double, K> shares{};
    double n = 0;
    for (int k = 0; k < K; ++k) n += sums[k];
    for (int k = 0; k < K; ++k) shares[static_cast<std::size_t>(k)] = n > 0 ? sums[k] / n : 0;
    return shares;
  }
  static double loss(double, const double* sums, const double* shares) {
    constexpr double kLeast = 1e-9;  // of a class that the leaf lacks
    double cost = 0;
    for (int k = 0; k < K; ++k) cost -= sums[k] * std::log(std::max(shares[k], kLeast));
    return cost;
  }

  static bool costs_at_least(i128, const LeafSums& leaves, Unit unit, i64 units) {
    DoubleDouble cost;
    double size = 0;
    for (const i64* const leaf : {leaves.low, leaves.high}) {
      if (leaf == nullptr) continue;
      DoubleDouble n;
      for (int k = 0; k < K; ++k) n = n + DoubleDouble::of(leaf[k]);
      for (int k = 0; k < K; ++k) {
        const DoubleDouble of_class = DoubleDouble::of(leaf[k]);
        if (leaf[k] == 0 || of_class.high == n.high) continue;
        cost = cost - of_class * log_of(of_class / n);
        size += n.high;
      }
    }
    return Deviance::decided(cost - DoubleDouble(static_cast<double>(units)).scaled(unit.shift), size);
  }
};

}  // namespace proofwood::trees
