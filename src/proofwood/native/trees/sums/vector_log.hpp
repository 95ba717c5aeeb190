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

// `t_near`: (x - 1) / (x + 1) as exactly as it is known, taken where the power is 0. x is finite and not negative; of
// 0, the parts are finite. The tail is off by 2^-50 of itself at most: its series ends where t^2 <= 1/25 leaves less.
template <class V>
PROOFWOOD_PART LogParts<V> log_parts(V x, V t_near) {
  using I = typename IntegersOf<V>::Type;
  constexpr std::int64_t kTwoThirds = 0x3fe5555555555555, kOne = std::int64_t{1} << 52;
  I bits;
  std::memcpy(&bits, &x, sizeof(V));
  const I power = (bits - kTwoThirds) >> 52;
  const I part = bits - power * kOne;
  V m, whole;
  std::memcpy(&m, &part, sizeof(V));
  if constexpr (sizeof(V) == sizeof(double))
    whole = static_cast<double>(power);
  else
    whole = __builtin_convertvector(power, V);
  const V t = whole == 0 ? t_near : (m - 1) / (m + 1), square = t * t;
  constexpr int kTerms = 12;
  V sum = V{} + 1.0 / (2 * kTerms + 1);
  for (int k = kTerms - 1; k >= 1; --k) sum = sum * square + 1.0 / (2 * k + 1);
  return {whole, t, 2 * t * square * sum};
}

constexpr double kLog2 = 0x1.62e42fefa39efp-1;

// x log x, for n x = part of n = all; 0 log 0 is 0. Off by 2^-47 of itself at most.
template <class V>
PROOFWOOD_PART V entropy_of(V part, V all) {
  const V x = part / all, none = V{};
  const LogParts<V> log = log_parts(x, (part - all) / (part + all));
  const V value = x * (log.power * kLog2 + 2 * log.t + log.tail);
  return part > 0 ? value : none;
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
