// What a split saves at most, without logarithms: most splits save less than the best one so far, and need none
// (docs/theory/optimal-trees.md, "Tasks"). Part of the kernels.
//
// The shares v of the events and u of the exposure of a set lie on one side of a split. Then it saves, per event,
//
//   KL(v || u) = (v - u)^2 times the integral over s from 0 to 1 of (1 - s) h(u + s (v - u)),   h(t) = 1 / (t (1 - t))
//
// All even derivatives of h are positive, so that each quadrature with nodes at both ends is an upper bound:
//
//   (v - u)^2 (1/3 h(u) + 1/6 h(v))
//   (v - u)^2 (1/8 h(u) + 25/72 h(m) + 1/36 h(v)),   m = (3 u + 2 v) / 5
//
// Where v is 0 or 1 these are infinite; (v - u)^2 h(u) is a bound there, too.
//
// Rounding. v - u is off by 2^-52 and 2^-53 of itself. Sums of a side that is not empty are 1 / kMostRatio of all sums
// or more, and `gain` is kLeastGain or more: a bound that equals it has (v - u)^2 >= 2^-36 2^-40, so that v - u is
// 2^14 times the error. kDown takes 2^-12 off the squares, which is 2^-13 of v - u. All else is products and sums of
// positive terms. An empty side has products of 0 on both sides of each comparison.
#pragma once

#include "trees/sums/sum_task.hpp"
#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace proofwood::trees {

constexpr double kMostRatio = 0x1p40, kLeastGain = 0x1p-36, kDown = 1 - 0x1p-12;

// What a split has to save per `size`; less than nothing where that is too little to be compared.
template <class V>
PROOFWOOD_PART V comparable_share(V gain, V size) {
  const V share = gain / size * kDown, none = V{} - 1;
  return share >= kLeastGain ? share : none;
}

// 1 / x, or up to 2^-12 of itself more.
template <class V>
PROOFWOOD_PART V reciprocal_above(V x) {
#ifdef __AVX512F__
  if constexpr (sizeof(V) == sizeof(__m512d))
    return reinterpret_cast<V>(_mm512_maskz_rcp14_pd(0xff, reinterpret_cast<__m512d>(x))) * (1 + 0x1p-13);
#endif
  return 1 / x;
}

}  // namespace proofwood::trees
