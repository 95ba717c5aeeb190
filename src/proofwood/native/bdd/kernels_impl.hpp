// The bit kernels for one instruction set. Included once per translation unit, each compiled with its own flags, with
// PROOFWOOD_ISA naming the namespace: nothing here may be shared between them.
#include <cstring>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "bdd/kernels.hpp"

namespace proofwood::bdd::PROOFWOOD_ISA {
namespace {

using std::int64_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

typedef uint64_t U __attribute__((vector_size(32)));
typedef int64_t I __attribute__((vector_size(32)));
typedef uint32_t N __attribute__((vector_size(32)));
constexpr uint32_t kLanes = 4;
static_assert(2 * kLanes == kSlotStep);

inline U load(const void* from) {
  U value;
  std::memcpy(&value, from, sizeof(U));
  return value;
}
inline void store(void* to, U value) { std::memcpy(to, &value, sizeof(U)); }
inline U splat(uint64_t value) { return U{} + value; }

// Number of ones of each byte, and the sum of the bytes of each lane.
#ifdef __AVX2__
inline U byte_counts(U x) {
  const __m256i table =
      _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  const __m256i nibble = _mm256_set1_epi8(15), v = reinterpret_cast<__m256i>(x);
  const __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(v, nibble));
  const __m256i high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble));
  return reinterpret_cast<U>(_mm256_add_epi8(low, high));
}
inline U byte_sum(U x) {
  return reinterpret_cast<U>(_mm256_sad_epu8(reinterpret_cast<__m256i>(x), _mm256_setzero_si256()));
}
inline U add_bytes(U a, U b) {
  return reinterpret_cast<U>(_mm256_add_epi8(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}
#else
inline U byte_counts(U x) {
  x -= (x >> 1) & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
  return (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
}
inline U byte_sum(U x) {
  x = (x & 0x00ff00ff00ff00ffu) + ((x >> 8) & 0x00ff00ff00ff00ffu);
  x += x >> 16;
  return (x + (x >> 32)) & 0xffffu;
}
inline U add_bytes(U a, U b) { return a + b; }  // bytes stay below 249: no carry
#endif

template <bool kNarrow>
inline U larger(U a, U b) {  // of values that are not negative
  if constexpr (kNarrow) {   // the upper halves are 0
    const N x = reinterpret_cast<N>(a), y = reinterpret_cast<N>(b);
    return reinterpret_cast<U>(x > y ? x : y);
  } else {
    return reinterpret_cast<I>(a) > reinterpret_cast<I>(b) ? a : b;
  }
}

constexpr uint32_t kByteRun = 31;  // 31 * 8 ones still fit a byte

// Weight of the ones of data[w][s..s+8) & mask(w), w in [begin, end).
template <bool kShifted, class Mask>
inline void weigh(const Packed& bits, uint32_t s, uint32_t begin, uint32_t end, const Mask& mask, U& first, U& second) {
  const uint64_t* from = bits.data + static_cast<std::size_t>(begin) * bits.stride + s;
  if constexpr (kShifted) {
    for (uint32_t w = begin; w < end; ++w, from += bits.stride) {
      const U m = mask(w);
      const int shift = bits.shift[w];
      first += byte_sum(byte_counts(load(from) & m)) << shift;
      second += byte_sum(byte_counts(load(from + kLanes) & m)) << shift;
    }
  } else {
    for (uint32_t w = begin; w < end;) {
      const uint32_t stop = end - w > kByteRun ? w + kByteRun : end;
      U a{}, b{};
      for (; w < stop; ++w, from += bits.stride) {
        const U m = mask(w);
        a = add_bytes(a, byte_counts(load(from) & m));
        b = add_bytes(b, byte_counts(load(from + kLanes) & m));
      }
      first += byte_sum(a);
      second += byte_sum(b);
    }
  }
}

// Blocks of j x j bits change places across the diagonal, j = 32, 16, ..., 1; a vector holds four rows.
void transpose(uint64_t* a) {
  uint64_t mask = 0x00000000ffffffffu;
  for (uint32_t j = 32; j >= kLanes; j >>= 1, mask ^= mask << j) {
    for (uint32_t base = 0; base < 64; base += 2 * j) {
      for (uint32_t k = base; k < base + j; k += kLanes) {
        const U x = load(a + k), y = load(a + k + j);
        const U t = ((x >> j) ^ y) & mask;
        store(a + k, x ^ (t << j));
        store(a + k + j, y ^ t);
      }
    }
  }
  constexpr uint64_t two = 0x3333333333333333u, one = 0x5555555555555555u;
  const U keep2 = {two, two, ~two, ~two}, up2 = {2, 2, 0, 0}, down2 = {0, 0, 2, 2};
  const U keep1 = {one, ~one, one, ~one}, up1 = {1, 0, 1, 0}, down1 = {0, 1, 0, 1};
  for (uint32_t k = 0; k < 64; k += kLanes) {
    U x = load(a + k);
#ifdef __clang__
    U y = __builtin_shufflevector(x, x, 2, 3, 0, 1);
#else
    U y = __builtin_shuffle(x, U{2, 3, 0, 1});
#endif
    x = (x & keep2) | (((y << up2) >> down2) & ~keep2);
#ifdef __clang__
    y = __builtin_shufflevector(x, x, 1, 0, 3, 2);
#else
    y = __builtin_shuffle(x, U{1, 0, 3, 2});
#endif
    store(a + k, (x & keep1) | (((y << up1) >> down1) & ~keep1));
  }
}

void count(const Packed& bits, uint32_t begin, uint32_t end, int64_t* out) {
  const auto all = [](uint32_t) { return ~U{}; };
  for (uint32_t s = 0; s < bits.stride; s += kSlotStep) {
    U a = load(out + s), b = load(out + s + kLanes);
    if (bits.shift != nullptr)
      weigh<true>(bits, s, begin, end, all, a, b);
    else
      weigh<false>(bits, s, begin, end, all, a, b);
    store(out + s, a);
    store(out + s + kLanes, b);
  }
}

void overlap(const Packed& bits, uint32_t g, uint32_t from, uint32_t to, int64_t* out) {
  const auto mask = [&](uint32_t w) { return splat(bits.data[static_cast<std::size_t>(w) * bits.stride + g]); };
  for (uint32_t s = from / kSlotStep * kSlotStep; s < to; s += kSlotStep) {
    U a{}, b{};
    if (bits.shift != nullptr)
      weigh<true>(bits, s, 0, bits.words, mask, a, b);
    else
      weigh<false>(bits, s, 0, bits.words, mask, a, b);
    store(out + s, a);
    store(out + s + kLanes, b);
  }
}

// Of a class with weight `total` in a cell, a rows have both bits, so the quadrants hold a, g - a, s - a and
// total - g - s + a; the error of a quadrant is its weight less that of its heaviest class.
template <bool kShifted, bool kNarrow>
void pairs(const Packed& bits, const CellBlock* cells, uint32_t n_cells, const ClassBlock* blocks, uint32_t g,
           uint32_t from, uint32_t to, int64_t limit, int64_t* out) {
  const auto mask = [&](uint32_t w) { return splat(bits.data[static_cast<std::size_t>(w) * bits.stride + g]); };
  for (uint32_t s = from / kSlotStep * kSlotStep; s < to; s += kSlotStep) {
    U error0{}, error1{};
    for (const CellBlock* cell = cells; cell < cells + n_cells; ++cell) {
      U p0{}, q0{}, r0{}, t0{}, p1{}, q1{}, r1{}, t1{};
      for (const ClassBlock* block = blocks + cell->begin; block < blocks + cell->end; ++block) {
        U a0{}, a1{};
        weigh<kShifted>(bits, s, block->begin, block->end, mask, a0, a1);
        const U of_g = splat(static_cast<uint64_t>(block->ones[g])),
                rest = splat(static_cast<uint64_t>(block->total)) - of_g;
        const U s0 = load(block->ones + s), s1 = load(block->ones + s + kLanes);
        p0 = larger<kNarrow>(p0, a0);
        p1 = larger<kNarrow>(p1, a1);
        q0 = larger<kNarrow>(q0, of_g - a0);
        q1 = larger<kNarrow>(q1, of_g - a1);
        r0 = larger<kNarrow>(r0, s0 - a0);
        r1 = larger<kNarrow>(r1, s1 - a1);
        t0 = larger<kNarrow>(t0, rest - s0 + a0);
        t1 = larger<kNarrow>(t1, rest - s1 + a1);
      }
      const U whole = splat(static_cast<uint64_t>(cell->total));
      error0 += whole - (p0 + q0) - (r0 + t0);
      error1 += whole - (p1 + q1) - (r1 + t1);
      const I far = (reinterpret_cast<I>(error0) >= (I{} + limit)) & (reinterpret_cast<I>(error1) >= (I{} + limit));
#ifdef __AVX2__
      if (_mm256_movemask_epi8(reinterpret_cast<__m256i>(far)) == -1) break;
#else
      if ((far[0] & far[1] & far[2] & far[3]) != 0) break;
#endif
    }
    store(out + s, error0);
    store(out + s + kLanes, error1);
  }
}

void pair_errors(const Packed& bits, const CellBlock* cells, uint32_t n_cells, const ClassBlock* blocks, bool narrow,
                 uint32_t g, uint32_t from, uint32_t to, int64_t limit, int64_t* out) {
  const auto run = bits.shift != nullptr ? (narrow ? &pairs<true, true> : &pairs<true, false>)
                                         : (narrow ? &pairs<false, true> : &pairs<false, false>);
  run(bits, cells, n_cells, blocks, g, from, to, limit, out);
}

void distances(const uint64_t* bits, uint32_t words, const uint32_t* rows, uint32_t n, const uint64_t* row,
               std::uint16_t* out) {
  for (uint32_t i = 0; i < n; ++i) {
    const uint64_t* other = bits + static_cast<std::size_t>(rows[i]) * words;
    int differ = 0;
    for (uint32_t w = 0; w < words; ++w) differ += __builtin_popcountll(other[w] ^ row[w]);
    out[i] = static_cast<std::uint16_t>(differ < 65535 ? differ : 65535);
  }
}

static_assert(kWordStep == kLanes);

void sides(const uint64_t* cell, const uint64_t* low, const uint64_t* up_to, uint32_t words, uint64_t* low_side,
           uint64_t* high_side) {
  for (uint32_t w = 0; w < words; w += kLanes) {
    const U rows = load(cell + w);
    store(low_side + w, rows & load(low + w));
    store(high_side + w, rows & ~load(up_to + w));
  }
}

void weigh_sides(const uint64_t* cell, const uint64_t* low, const uint64_t* up_to, const Planes& planes, uint32_t words,
                 int64_t* low_sums, int64_t* high_sums) {
  for (uint32_t p = 0; p < planes.count; ++p) {
    const uint64_t* const plane = planes.data + p * planes.stride;
    U first{}, second{};
    for (uint32_t w = 0; w < words;) {
      const uint32_t stop = words - w > kByteRun * kLanes ? w + kByteRun * kLanes : words;
      U a{}, b{};
      for (; w < stop; w += kLanes) {
        const U rows = load(cell + w) & load(plane + w);
        a = add_bytes(a, byte_counts(rows & load(low + w)));
        b = add_bytes(b, byte_counts(rows & ~load(up_to + w)));
      }
      first += byte_sum(a);
      second += byte_sum(b);
    }
    low_sums[p] += static_cast<int64_t>(first[0] + first[1] + first[2] + first[3]);
    high_sums[p] += static_cast<int64_t>(second[0] + second[1] + second[2] + second[3]);
  }
}

constexpr SubsetKernels kTable = {PROOFWOOD_ISA_NAME, &transpose, &count, &overlap,
                                  &pair_errors,       &distances, &sides, &weigh_sides};

}  // namespace

// NOLINTNEXTLINE(misc-definitions-in-headers): this file is included once for each instruction set
const SubsetKernels* subset_table() { return &kTable; }

}  // namespace proofwood::bdd::PROOFWOOD_ISA
