// Squared distance from the mean of the leaf: sum w y^2 - (sum w y)^2 / sum w, for K numbers y of a row. A row is given
// by z = w y, which is a whole number; y need not be one. Its own cost z^2 / w is rounded up, which adds a constant to
// the costs of all trees.
#pragma once

#include <algorithm>
#include <array>
#include <limits>

#include "trees/sums/sum_task.hpp"

namespace proofwood::trees {

template <int K>
struct SquaredError {
  static constexpr int kTargets = K, kSums = 1 + K, kParts = 2, kRoundings = 14 + 2 * K;
  static constexpr bool kPaddedByFirst = false;  // numbers that are not given: copies of the first one, or 0
  static constexpr bool kExact = false, kOwn = true, kWeightFirst = true;

  double least[K], most[K];  // of all y

  SquaredError(const i64* targets, const i64* weights, std::size_t n) {
    for (int k = 0; k < K; ++k) {
      least[k] = std::numeric_limits<double>::infinity();
      most[k] = -least[k];
    }
    for (std::size_t i = 0; i < n; ++i)
      for (int k = 0; k < K; ++k) {
        const double y = number(targets[i * K + static_cast<std::size_t>(k)], weights[i]);
        least[k] = std::min(least[k], y);
        most[k] = std::max(most[k], y);
      }
  }
  static double number(i64 z, i64 weight) { return static_cast<double>(z) / static_cast<double>(weight); }

  static void sums(i64 weight, const i64* z, i64* to) {
    to[0] = weight;
    std::copy(z, z + K, to + 1);
  }
  static i128 own(i64 weight, const i64* z) {
    i128 squares = 0;
    for (int k = 0; k < K; ++k) squares += i128{z[k]} * z[k];
    return (squares + weight - 1) / weight;
  }
  // Means of leaves lie between the least and the most.
  double reach(i64 weight, const i64* z) const {
    double squares = 0;
    for (int k = 0; k < K; ++k) {
      const double y = number(z[k], weight), apart = std::max(most[k] - y, y - least[k]);
      squares += apart * apart;
    }
    return static_cast<double>(weight) * squares + 1;  // own costs are rounded up
  }

  static Zero zero(const i64* sums) { return {.centre = K > 1 || sums[0] == 0 ? 0 : sums[1] / sums[0]}; }
  static double whole(i128 own, const double*, const Zero&) { return static_cast<double>(own); }
  // Twice the roundings of a quotient of sums of squares, which is at most `whole`.
  static double error(double whole, const double*, const Zero&) { return whole * (kRoundings * 0x1p-52); }

  template <class N>
  static void recentre(N* sums, N centre)
    requires(K == 1)
  {
    sums[1] -= centre * sums[0];
  }
  static i128 own_from(i128 own, const i64* sums, i64 centre)
    requires(K == 1)
  {
    return own - i128{2} * centre * sums[1] + i128{centre} * centre * sums[0];
  }

  // What leaves save, S_l^2 / n_l + S_r^2 / n_r, as a fraction of positive terms: nothing cancels, and a side without
  // rows gives 0 / 0, which saves nothing.
  template <class V>
  struct Best {
    V part[kParts];
  };
  template <class V>
  PROOFWOOD_PART V squares(const V* sums) {
    V sum = sums[1] * sums[1];
    for (int k = 1; k < K; ++k) sum += sums[1 + k] * sums[1 + k];
    return sum;
  }
  template <class V>
  PROOFWOOD_PART Best<V> leaf(const V* all, double) {
    return {{squares(all), all[0]}};
  }
  template <class V>
  PROOFWOOD_PART Best<V> split(const V* low, const V* high, double) {
    return {{squares(low) * high[0] + squares(high) * low[0], low[0] * high[0]}};
  }
  PROOFWOOD_PART Best<double> none() { return {{-1, 1}}; }
  template <class V>
  PROOFWOOD_PART auto more(const Best<V>& a, const Best<V>& b) {
    return a.part[0] * b.part[1] > b.part[0] * a.part[1];
  }
  static double saved(const Best<double>& best) { return best.part[1] > 0 ? best.part[0] / best.part[1] : 0; }

  static std::array<double, K> prediction(const double* sums) {
    std::array<double, K> means{};
    for (int k = 0; k < K; ++k) means[static_cast<std::size_t>(k)] = sums[0] > 0 ? sums[1 + k] / sums[0] : 0;
    return means;
  }
  static double loss(double own, const double* sums, const double* means) {
    for (int k = 0; k < K; ++k) own += means[k] * (means[k] * sums[0] - 2 * sums[1 + k]);
    return own;
  }
  static bool costs_at_least(i128 own, const LeafSums& leaves, Unit unit, i64 units) {
    const auto squares_of = [](const i64* sums) {
      Wide sum(0);
      for (int k = 0; k < K; ++k) sum = sum.plus(Wide::square(sums[1 + k]));
      return sum;
    };
    const auto size = [](const i64* sums) { return static_cast<u64>(std::max<i64>(sums[0], 1)); };
    if (leaves.high == nullptr) return at_least(own, {squares_of(leaves.low), {size(leaves.low), 1}}, unit, units);
    const u64 low = size(leaves.low), high = size(leaves.high);
    return at_least(own, {squares_of(leaves.low).times(high).plus(squares_of(leaves.high).times(low)), {low, high}},
                    unit, units);
  }
};

}  // namespace proofwood::trees
