// Logarithms of vectors of doubles, lane by lane, with a known error. Part of the kernels.
#pragma once

#include <cstdint>
#include <cstring>

#include "trees/sums/sum_task.hpp"

namespace proofwood::trees {

template <class V>
struct IntegersOf {
  typedef std::int64_t Type __attribute__((vector_size(sizeof(V))));
};
template <>
struct IntegersOf<double> {
  using Type = std::int64_t;
};

// x = 2^power m with m in [2/3, 4/3): log x = power log 2 + 2 t + tail, with t = (m - 1) / (m + 1).
template <class V>
struct LogParts {
  V power, t, tail;
};

// x is finite and not negative; of 0, the parts are finite. The tail is off by 2^-50 of itself at most: its series ends
// where t^2 <= 1/25 leaves less.
template <class V>
PROOFWOOD_PART LogParts<V> with_tail(V power, V t) {
  const V square = t * t;
  constexpr int kTerms = 12;
  V sum = V{} + 1.0 / (2 * kTerms + 1);
  for (int k = kTerms - 1; k >= 1; --k) sum = sum * square + 1.0 / (2 * k + 1);
  return {power, t, 2 * t * square * sum};
}
template <class V>
PROOFWOOD_PART V power_of(V x, V& m) {
  using I = typename IntegersOf<V>::Type;
  constexpr std::int64_t kTwoThirds = 0x3fe5555555555555, kOne = std::int64_t{1} << 52;
  I bits;
  std::memcpy(&bits, &x, sizeof(V));
  const I power = (bits - kTwoThirds) >> 52;
  const I part = bits - power * kOne;
  std::memcpy(&m, &part, sizeof(V));
  if constexpr (sizeof(V) == sizeof(double))
    return static_cast<double>(power);
  else
    return __builtin_convertvector(power, V);
}
template <class V>
PROOFWOOD_PART LogParts<V> log_parts(V x) {
  V m;
  const V power = power_of(x, m);
  return with_tail<V>(power, (m - 1) / (m + 1));
}
// `t_near`: (x - 1) / (x + 1) as exactly as it is known, taken where the power is 0.
template <class V>
PROOFWOOD_PART LogParts<V> log_parts(V x, V t_near) {
  V m;
  const V power = power_of(x, m), t_far = (m - 1) / (m + 1);
  return with_tail<V>(power, power == 0 ? t_near : t_far);
}

constexpr double kLog2 = 0x1.62e42fefa39efp-1;

// log x of a share x: off by 2^-50 of itself at most. Finite where x is 0.
template <class V>
PROOFWOOD_PART V log_of_part(V x) {
  const LogParts<V> log = log_parts(x);
  return log.power * kLog2 + 2 * log.t + log.tail;
}

// x log x - x + 1 for x = s / a, times a: what a mean s saves against a mean a. 0 where a is 0. Off by 2^-46 of itself
// at most, and by 2^-52 |s - a|.
template <class V>
PROOFWOOD_PART V deviance_of(V s, V a) {
  const V x = s / a, away = (s - a) / a, none = V{};
  const LogParts<V> log = log_parts(x, (s - a) / (s + a));
  // Near 1 nothing cancels: x - 1 = t (x + 1), so that 2 x t - (x - 1) = t (x - 1).
  const V near = log.t * away + x * log.tail;
  const V far = x * (log.power * kLog2 + 2 * log.t + log.tail) - away;
  const V value = a * (log.power == 0 ? near : far);
  return a > 0 ? value : none;
}

}  // namespace proofwood::trees
