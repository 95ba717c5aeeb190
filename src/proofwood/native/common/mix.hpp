// Hash of an integer: a set of rows has the sum, or the XOR, of those of its rows; a column is known by those of its
// ranks.
#pragma once

#include "common/integers.hpp"

namespace proofwood {

inline u64 mix(u64 x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace proofwood
