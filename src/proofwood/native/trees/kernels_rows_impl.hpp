// The kernels that part sets of rows and find where their segments end (docs/theory/optimal-trees.md, "Positions").
// Part of kernels_impl.hpp.
namespace proofwood::trees::PROOFWOOD_ISA {
namespace {

constexpr std::uint32_t kHighSide = 1u << 31;
// Targets of so many rows outgrow the caches near a core: they are fetched ahead, some together.
constexpr std::uint32_t kFar = 1u << 18, kFetched = 64;

PROOFWOOD_INLINE void fetch_ahead(std::uint32_t n, std::uint32_t i, const std::uint32_t* order,
                                  const std::uint32_t* target) {
  if (n < kFar || i % kFetched != 0 || i + 2 * kFetched > n) return;
  for (std::uint32_t ahead = i + kFetched; ahead < i + 2 * kFetched; ++ahead) __builtin_prefetch(target + order[ahead]);
}

#ifdef PROOFWOOD_WITH_INTRINSICS

// Sixteen rows at a time, or as many as are left.
PROOFWOOD_INLINE __mmask16 sixteen(std::uint32_t left) {
  return static_cast<__mmask16>(left >= 16 ? 0xffffu : (1u << left) - 1);
}
// Which of these rows go high.
PROOFWOOD_INLINE __mmask16 high_of(__m512i sides, __mmask16 there) {
  return static_cast<__mmask16>(_mm512_movepi32_mask(sides) & there);
}
// Stores the values of one side together, no further than their number, which it returns.
PROOFWOOD_INLINE std::uint32_t store_side(std::uint32_t* to, __mmask16 side, __m512i values) {
  const auto count = static_cast<std::uint32_t>(__builtin_popcount(side));
  _mm512_mask_storeu_epi32(to, sixteen(count), _mm512_maskz_compress_epi32(side, values));
  return count;
}

void number(std::uint32_t n, const std::uint32_t* rows, std::uint32_t* target, std::uint32_t* low,
            std::uint32_t* high) {
  std::uint32_t n_low = 0, n_high = 0;
  const __m512i places = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (std::uint32_t i = 0; i < n; i += 16) {
    const __mmask16 there = sixteen(n - i), is_high = high_of(_mm512_maskz_loadu_epi32(there, target + i), there);
    const __mmask16 is_low = static_cast<__mmask16>(there & ~is_high);
    const __m512i at_low = _mm512_add_epi32(places, _mm512_set1_epi32(static_cast<int>(n_low)));
    const __m512i at_high = _mm512_add_epi32(places, _mm512_set1_epi32(static_cast<int>(n_high | kHighSide)));
    const __m512i numbers = _mm512_mask_expand_epi32(_mm512_maskz_expand_epi32(is_low, at_low), is_high, at_high);
    _mm512_mask_storeu_epi32(target + i, there, numbers);
    const __m512i row = _mm512_maskz_loadu_epi32(there, rows + i);
    n_low += store_side(low + n_low, is_low, row);
    n_high += store_side(high + n_high, is_high, row);
  }
}

void part_column(std::uint32_t n, const std::uint32_t* values, const std::uint32_t* target, std::uint32_t* low,
                 std::uint32_t* high) {
  for (std::uint32_t i = 0; i < n; i += 16) {
    const __mmask16 there = sixteen(n - i), is_high = high_of(_mm512_maskz_loadu_epi32(there, target + i), there);
    const __m512i value = _mm512_maskz_loadu_epi32(there, values + i);
    low += store_side(low, static_cast<__mmask16>(there & ~is_high), value);
    high += store_side(high, is_high, value);
  }
}

void part(const PartedRows& rows, const std::uint32_t* target) {
  std::uint32_t to[2] = {0, 0};
  const __m512i number = _mm512_set1_epi32(static_cast<int>(~kHighSide));
  for (std::uint32_t i = 0; i < rows.n; i += 16) {
    fetch_ahead(rows.n, i, rows.order, target);
    const __mmask16 there = sixteen(rows.n - i);
    const __m512i order = _mm512_maskz_loadu_epi32(there, rows.order + i);
    const __m512i keys = _mm512_maskz_loadu_epi32(there, rows.keys + i);
    const __m512i at = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), there, order, target, 4);
    const __mmask16 high = high_of(at, there);
    const __mmask16 side[2] = {static_cast<__mmask16>(there & ~high), high};
    const __m512i local = _mm512_and_si512(at, number);
    for (int s = 0; s < 2; ++s) {
      store_side(rows.order_to[s] + to[s], side[s], local);
      to[s] += store_side(rows.keys_to[s] + to[s], side[s], keys);
    }
  }
}

Segments find_ends(std::uint32_t n, const std::uint32_t* keys, std::uint32_t mixed, bool all_boundaries,
                   std::uint32_t* ends, std::int16_t* is_end) {
  Segments found{0, false};
  const __m512i label = _mm512_set1_epi32(static_cast<int>(mixed));
  const __m512i places = _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
  for (std::uint32_t i = 0; i + 1 < n; i += 16) {
    const __mmask16 there = sixteen(n - 1 - i);
    const __m512i here = _mm512_maskz_loadu_epi32(there, keys + i);
    const __m512i differ = _mm512_xor_si512(here, _mm512_maskz_loadu_epi32(there, keys + i + 1));
    const __mmask16 differs = _mm512_mask_test_epi32_mask(there, differ, differ);
    const __mmask16 is_mixed = _mm512_mask_cmpeq_epi32_mask(there, _mm512_and_si512(here, label), label);
    const __mmask16 other = _mm512_mask_test_epi32_mask(there, differ, label);
    const auto end = static_cast<__mmask16>(all_boundaries ? differs : differs & (other | is_mixed));
    const __m512i position = _mm512_add_epi32(places, _mm512_set1_epi32(static_cast<int>(i)));
    found.n_ends += store_side(ends + found.n_ends, end, position);
    _mm256_mask_storeu_epi16(is_end + i, there, _mm256_movm_epi16(end));
    found.mixed |= (is_mixed & ~differs) != 0;
  }
  ends[found.n_ends++] = n;
  is_end[n - 1] = -1;
  return found;
}

#else

void number(std::uint32_t n, const std::uint32_t* rows, std::uint32_t* target, std::uint32_t* low,
            std::uint32_t* high) {
  std::uint32_t n_high = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const bool is_high = target[i] != 0;
    *(is_high ? high + n_high : low + (i - n_high)) = rows[i];
    target[i] |= is_high ? n_high : i - n_high;
    n_high += is_high;
  }
}

void part_column(std::uint32_t n, const std::uint32_t* values, const std::uint32_t* target, std::uint32_t* low,
                 std::uint32_t* high) {
  for (std::uint32_t i = 0; i < n; ++i) {  // written to both sides, one goes on
    const std::uint32_t is_high = target[i] >> 31;
    *low = *high = values[i];
    low += 1 - is_high;
    high += is_high;
  }
}

// One plain loop with predictable stores: write to both sides, advance one. The last write of each side is kept off the
// end by handling the tail apart.
void part(const PartedRows& rows, const std::uint32_t* target) {
  std::uint32_t to[2] = {0, 0}, i = 0;
  for (; to[0] < rows.size[0] && to[1] < rows.size[1]; ++i) {
    fetch_ahead(rows.n, i, rows.order, target);
    const std::uint32_t t = target[rows.order[i]], is_high = t >> 31;
    rows.order_to[0][to[0]] = t;
    rows.keys_to[0][to[0]] = rows.keys[i];
    rows.order_to[1][to[1]] = t & ~kHighSide;
    rows.keys_to[1][to[1]] = rows.keys[i];
    to[0] += 1 - is_high;
    to[1] += is_high;
  }
  for (; i < rows.n; ++i) {
    const std::uint32_t t = target[rows.order[i]], is_high = t >> 31;
    rows.order_to[is_high][to[is_high]] = t & ~kHighSide;
    rows.keys_to[is_high][to[is_high]++] = rows.keys[i];
  }
}

Segments find_ends(std::uint32_t n, const std::uint32_t* keys, std::uint32_t mixed, bool all_boundaries,
                   std::uint32_t* ends, std::int16_t* is_end) {
  Segments found{0, false};
  for (std::uint32_t i = 0; i + 1 < n; ++i) {
    const std::uint32_t differ = keys[i] ^ keys[i + 1], label = keys[i] & mixed;
    const bool end = differ != 0 && (all_boundaries || (differ & mixed) != 0 || label == mixed);
    ends[found.n_ends] = i + 1;
    found.n_ends += end;
    is_end[i] = static_cast<std::int16_t>(-static_cast<int>(end));
    found.mixed |= differ == 0 && label == mixed;
  }
  ends[found.n_ends++] = n;
  is_end[n - 1] = -1;
  return found;
}

#endif

}  // namespace
}  // namespace proofwood::trees::PROOFWOOD_ISA
