// Deviance of a rate: events s of an exposure e, with the rate of the leaf S / E. Poisson: s counts, e weights;
// exponential survival: s events, e times; gamma: s weights, e numbers times weights.
//
//   cost = sum s log(s / e) - S log(S / E)
//
// A row is given by e and s, whole numbers. Its own cost s log(s / e) is counted in 2^-kOwnBits and rounded up, which
// adds a constant to the costs of all trees. From a rate c near S / E, own and saved are
// sum (s log(s / (e c)) - s + e c) and S log(S / (E c)) - S + E c, both at least 0 and small.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "trees/sums/cheap_bounds.hpp"
#include "trees/sums/sum_task.hpp"
#include "trees/sums/vector_log.hpp"

namespace proofwood::trees {

struct Deviance {
  static constexpr int kTargets = 2, kSums = 2, kParts = 1, kOwnBits = 40;
  static constexpr bool kPaddedByFirst = false;  // numbers that are not given: copies of the first one, or 0
  static constexpr bool kExact = false, kOwn = true, kWeightFirst = false;

  Deviance(const i64*, const i64*, std::size_t) {}

  static void sums(i64, const i64* of, i64* to) { std::copy(of, of + 2, to); }
  static i128 own(i64, const i64* of) {
    if (of[1] == 0) return 0;
    const DoubleDouble log = log_of(DoubleDouble::of(of[1]) / DoubleDouble::of(of[0]));
    const DoubleDouble cost = (DoubleDouble::of(of[1]) * log).scaled(kOwnBits);
    // both floors leave less than 2, and the logarithm errs by less than 1
    return static_cast<i128>(std::floor(cost.high)) + static_cast<i128>(std::floor(cost.low)) + 3;
  }
  // A leaf without events that gets one has no bound that rests on the other rows' rates alone.
  double reach(i64, const i64*) const { return std::numeric_limits<double>::infinity(); }

  static Zero zero(const i64* sums) {
    if (sums[1] == 0) return {};
    const double rate = static_cast<double>(sums[1]) / static_cast<double>(sums[0]);
    return {0, rate, log_of(rate)};
  }
  static double whole(i128 own, const double* sums, const Zero& zero) {
    const DoubleDouble linear = DoubleDouble::product(sums[0], zero.rate) - DoubleDouble(sums[1]);
    return (DoubleDouble::of(own).scaled(-kOwnBits) - DoubleDouble(sums[1]) * zero.log_rate + linear).value();
  }
  // |s - a| of both leaves is at most sqrt(2 max(s, a) saved), and saved at most `whole`.
  static double error(double whole, const double* sums, const Zero& zero) {
    const double most = std::max(whole, 0.0);
    return 0x1p-45 * most + 0x1p-51 * std::sqrt(2 * (sums[1] + sums[0] * zero.rate) * most);
  }

  template <class V>
  struct Best {
    V part[kParts];  // saved
  };
  template <class V>
  PROOFWOOD_PART Best<V> leaf(const V* all, double rate) {
    return {{deviance_of<V>(all[1], all[0] * rate)}};
  }
  template <class V>
  PROOFWOOD_PART Best<V> split(const V* low, const V* high, double rate) {
    return {{deviance_of<V>(low[1], low[0] * rate) + deviance_of<V>(high[1], high[0] * rate)}};
  }
  PROOFWOOD_PART Best<double> none() { return {{-0x1p1000}}; }
  template <class V>
  PROOFWOOD_PART auto more(const Best<V>& a, const Best<V>& b) {
    return a.part[0] > b.part[0];
  }
  static double saved(const Best<double>& best) { return best.part[0]; }

  // Whether sums of all rows and the least ones of a row, of those above 0, may be compared by cheap bounds.
  static bool comparable(const double* all, const double* least) {
    return all[0] <= kMostRatio * least[0] && all[1] <= kMostRatio * least[1];
  }
  template <class V>
  struct Limit {
    V rate, rate_squared, gain, six_gains;  // per event
  };
  template <class V>
  PROOFWOOD_PART Limit<V> limit(const V* all, V leaf, V best, double rate) {
    const V none = V{}, per_exposure = all[1] / all[0];
    const V rounded = best * 0x1p-44 + (all[1] + all[0] * rate) * 0x1p-50;  // more than twice the errors of all
    const V to_save = comparable_share<V>(best - leaf - rounded, all[1]), to_apply = all[0] > 0 ? per_exposure : none;
    return {to_apply, to_apply * to_apply, to_save, 6 * to_save};
  }
  // Both bounds times the squares of all events: u (1 - u) is `exposure`, v (1 - v) is `events`.
  template <class V>
  PROOFWOOD_PART Doubt<V> doubt(const Limit<V>& limit, const V* low, const V* high) {
    const V apart = low[1] - limit.rate * low[0];
    const V exposure = limit.rate_squared * (low[0] * high[0]), events = low[1] * high[1];
    return {apart * apart * (events + events + exposure), limit.six_gains * (exposure * events)};
  }
  template <class V>
  PROOFWOOD_PART std::array<Doubt<V>, 2> close_doubts(const Limit<V>& limit, const V* low, const V* high) {
    const V below = limit.rate * low[0], above = limit.rate * high[0], apart = low[1] - below, square = apart * apart;
    const V exposure = below * above, events = low[1] * high[1];
    const V middle = (0.6 * below + 0.4 * low[1]) * (0.6 * above + 0.4 * high[1]);
    return {{{square, limit.gain * exposure},
             {square * (9 * middle * events + 25 * exposure * events + 2 * exposure * middle),
              72 * limit.gain * (exposure * middle * events)}}};
  }

  static std::array<double, 1> prediction(const double* sums) { return {sums[0] > 0 ? sums[1] / sums[0] : 0}; }
  static double loss(double own, const double* sums, const double* rate) {
    const double least = std::numeric_limits<double>::min();
    return std::ldexp(own, -kOwnBits) - sums[1] * (std::log(std::max(*rate, least)) + 1) + sums[0] * *rate;
  }

  static bool costs_at_least(i128 own, const LeafSums& leaves, Unit unit, i64 units) {
    DoubleDouble cost = DoubleDouble::of(own).scaled(-kOwnBits);
    double size = 0;  // of what is rounded
    for (const i64* const leaf : {leaves.low, leaves.high}) {
      if (leaf == nullptr || leaf[1] == 0 || leaf[1] == leaf[0]) continue;
      const DoubleDouble events = DoubleDouble::of(leaf[1]);
      const DoubleDouble part = events * log_of(events / DoubleDouble::of(leaf[0]));
      cost = cost - part;
      size += std::abs(cost.high) + std::abs(part.high) + events.high;
    }
    return decided(cost - DoubleDouble(static_cast<double>(units)).scaled(unit.shift), size);
  }
  // Whether a difference is 0 or more that is known up to 2^-99 of `size`.
  static bool decided(const DoubleDouble& apart, double size) {
    if (size > 0 && std::abs(apart.value()) <= size * 0x1p-99)
      throw std::domain_error("a cost is too close to a whole number of units: choose another unit");
    return apart.value() >= 0;
  }
};
static_assert(SumTask<Deviance>);

}  // namespace proofwood::trees
