// Logarithmic loss of K classes, with the class shares of a leaf as its probabilities: n log n - sum n_k log n_k.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "trees/sums/cheap_bounds.hpp"
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
  // Each logarithm is off by 2^-52 and 2^-50 of itself, and all terms sum to n log (4 K) at most.
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
  PROOFWOOD_PART V weight(const V* sums) {
    V n = sums[0];
    for (int k = 1; k < K; ++k) n += sums[k];
    return n;
  }
  // sum n_k log (n_k / all) - n log (n / all): logarithms of shares of all rows are small, and n_k = n leaves 0.
  template <class V>
  PROOFWOOD_PART V shares(const V* sums, V per_weight) {
    const V n = weight(sums);
    V sum = -n * log_of_part<V>(n * per_weight);
    for (int k = 0; k < K; ++k) sum += sums[k] * log_of_part<V>(sums[k] * per_weight);
    return sum;
  }
  template <class V>
  PROOFWOOD_PART Best<V> leaf(const V* all, double) {
    const V n = weight(all), none = V{}, per_weight = 1 / n;
    return {{shares<V>(all, n > 0 ? per_weight : none)}};
  }
  template <class V>
  PROOFWOOD_PART Best<V> split(const V* low, const V* high, double) {
    const V n = weight(low) + weight(high), none = V{}, per_weight = 1 / n, of_all = n > 0 ? per_weight : none;
    return {{shares<V>(low, of_all) + shares<V>(high, of_all)}};
  }
  PROOFWOOD_PART Best<double> none() { return {{-0x1p1000}}; }
  template <class V>
  PROOFWOOD_PART auto more(const Best<V>& a, const Best<V>& b) {
    return a.part[0] > b.part[0];
  }
  static double saved(const Best<double>& best) { return best.part[0]; }

  // Of each class, the share v of its weight against the share u of all weight: n_k KL(v || u) is saved.
  static bool comparable(const double* all, const double* least) {
    double n = 0;
    for (int k = 0; k < K; ++k) n += all[k];
    return n <= kMostRatio * *std::min_element(least, least + K);
  }
  template <class V>
  struct Limit {
    V share[K], per_weight[K];  // of a class: of all weight; 1 / n_k
    V per_square, gain;         // 1 / n^2
  };
  template <class V>
  PROOFWOOD_PART Limit<V> limit(const V* all, V leaf, V best, double) {
    const V n = weight(all), none = V{};
    Limit<V> limit;
    limit.gain = n * comparable_share<V>(best - leaf - n * 0x1p-43, n);
    const V per_weight = n > 0 ? 1 / n : none;
    limit.per_square = per_weight * per_weight;
    for (int k = 0; k < K; ++k) {
      limit.share[k] = all[k] * per_weight;
      limit.per_weight[k] = all[k] > 0 ? 1 / all[k] : none;
    }
    return limit;
  }
  // (v - u)^2 h(u). Times u (1 - u), which is 0 where a side is empty.
  template <class V>
  PROOFWOOD_PART Doubt<V> doubt(const Limit<V>& limit, const V* low, const V* high) {
    const V n = weight(low), all = n * weight(high) * limit.per_square;
    V sum = V{};
    for (int k = 0; k < K; ++k) {
      const V apart = low[k] - limit.share[k] * n;
      sum += apart * apart * limit.per_weight[k];
    }
    return {sum * all, limit.gain * (all * all)};
  }
  // Of each class the lesser of that and the third bound.
  template <class V>
  PROOFWOOD_PART std::array<Doubt<V>, 1> close_doubts(const Limit<V>& limit, const V* low, const V* high) {
    const V below = weight(low), above = weight(high), whole = reciprocal_above<V>(below * above * limit.per_square);
    V sum = V{};
    for (int k = 0; k < K; ++k) {
      const V apart = low[k] - limit.share[k] * below, square = limit.per_weight[k] * limit.per_weight[k];
      const V middle = (0.6 * limit.share[k] * below + 0.4 * low[k]) * (0.6 * limit.share[k] * above + 0.4 * high[k]);
      const V of_class = low[k] * high[k];
      const V bound =
          whole * 0.125 + (25 * of_class + 2 * middle) * reciprocal_above<V>(72 * square * middle * of_class);
      sum += apart * apart * limit.per_weight[k] * (bound < whole ? bound : whole);
    }
    return {{{sum, limit.gain}}};
  }
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
