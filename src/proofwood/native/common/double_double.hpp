// Numbers of twice the precision of a double: a sum of two, of which the second is below the last place of the first.
// Compile without fused multiplications (-ffp-contract=off).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include "common/wide.hpp"

namespace proofwood {

struct DoubleDouble {
  double high = 0, low = 0;

  DoubleDouble() = default;
  DoubleDouble(double value) : high(value) {}
  DoubleDouble(double one, double other) : high(one), low(other) {}
  // Exactly, of up to 106 bits; else rounded to these.
  static DoubleDouble of(i128 value) {
    const double high = static_cast<double>(value);
    return sum(high, static_cast<double>(value - static_cast<i128>(high)));
  }
  // Of any two.
  static DoubleDouble sum(double a, double b) {
    const double total = a + b, part = total - a;
    return {total, (a - (total - part)) + (b - part)};
  }
  static DoubleDouble product(double a, double b) {
    const double high = a * b;
    return {high, std::fma(a, b, -high)};
  }
  DoubleDouble operator-() const { return {-high, -low}; }
  DoubleDouble operator+(const DoubleDouble& other) const {
    const DoubleDouble highs = sum(high, other.high), lows = sum(low, other.low);
    const DoubleDouble first = sum(highs.high, highs.low + lows.high);
    return sum(first.high, first.low + lows.low);
  }
  DoubleDouble operator-(const DoubleDouble& other) const { return *this + -other; }
  DoubleDouble operator*(const DoubleDouble& other) const {
    const DoubleDouble whole = product(high, other.high);
    return sum(whole.high, whole.low + (high * other.low + low * other.high));
  }
  DoubleDouble operator/(const DoubleDouble& other) const {
    const double first = high / other.high;
    const DoubleDouble rest = *this - other * first;
    const double second = rest.high / other.high;
    return sum(first, second) + ((rest - other * second).high / other.high);
  }
  DoubleDouble scaled(int power) const { return {std::ldexp(high, power), std::ldexp(low, power)}; }
  double value() const { return high + low; }
};

// Natural logarithm of a positive number, to some 2^-100 of the larger of it and 1.
inline DoubleDouble log_of(const DoubleDouble& x) {
  static const DoubleDouble kLog2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
  int power = 0;
  const double part = std::frexp(x.high, &power);  // in [1/2, 1)
  if (part < 2.0 / 3) --power;                     // m in [2/3, 4/3)
  const DoubleDouble m = x.scaled(-power), t = (m - DoubleDouble(1)) / (m + DoubleDouble(1)), square = t * t;
  constexpr int kTerms = 26;  // t is at most 1/5
  static const std::array<DoubleDouble, kTerms + 1> kFactors = [] {
    std::array<DoubleDouble, kTerms + 1> factors;
    for (int k = 0; k <= kTerms; ++k) factors[static_cast<std::size_t>(k)] = DoubleDouble(1) / DoubleDouble(2 * k + 1);
    return factors;
  }();
  DoubleDouble sum = kFactors[kTerms];
  for (int k = kTerms - 1; k >= 0; --k) sum = sum * square + kFactors[static_cast<std::size_t>(k)];
  return (t * sum).scaled(1) + kLog2 * DoubleDouble(power);
}

}  // namespace proofwood
