// Whole numbers of 320 bits, not negative, for comparisons that must be exact.
#pragma once

#include <array>
#include <cstddef>

#include "common/integers.hpp"

namespace proofwood {

__extension__ typedef unsigned __int128 u128;  // GCC and Clang have it, the standard does not
__extension__ typedef __int128 i128;

class Wide {
 public:
  Wide(u128 value) : limb_{static_cast<u64>(value), static_cast<u64>(value >> 64)} {}
  static Wide square(i64 value) {
    const u128 size = value < 0 ? -static_cast<u128>(value) : static_cast<u128>(value);
    return size * size;
  }

  Wide times(u64 factor) const {
    Wide product(0);
    u128 carry = 0;
    for (std::size_t i = 0; i < kLimbs; ++i) {
      carry += static_cast<u128>(limb_[i]) * factor;
      product.limb_[i] = static_cast<u64>(carry);
      carry >>= 64;
    }
    return product;
  }
  Wide plus(const Wide& other) const {
    Wide sum(0);
    u128 carry = 0;
    for (std::size_t i = 0; i < kLimbs; ++i) {
      carry += static_cast<u128>(limb_[i]) + other.limb_[i];
      sum.limb_[i] = static_cast<u64>(carry);
      carry >>= 64;
    }
    return sum;
  }
  Wide times_two_to(int power) const {  // up to 63
    return times(u64{1} << power);
  }
  bool operator<(const Wide& other) const {
    for (std::size_t i = kLimbs; i-- > 0;)
      if (limb_[i] != other.limb_[i]) return limb_[i] < other.limb_[i];
    return false;
  }

 private:
  static constexpr std::size_t kLimbs = 5;
  std::array<u64, kLimbs> limb_;
};

}  // namespace proofwood
