// The walks of tasks by sums for one instruction set (docs/theory/optimal-trees.md, "Tasks"). Included once per
// translation unit, as trees/kernels_impl.hpp is.
#include <bit>
#include <cstring>

#include "trees/sums/kernels.hpp"
#include "trees/sums/tasks.hpp"
#ifdef PROOFWOOD_WITH_INTRINSICS
#include <immintrin.h>
#endif

namespace proofwood::trees::PROOFWOOD_ISA {
namespace {

constexpr int kSize = PROOFWOOD_VECTOR_BYTES, kWide = kSize / 8;
static_assert(kWide <= kMostSumLanes);
typedef double V __attribute__((vector_size(kSize)));
typedef std::int64_t I __attribute__((vector_size(kSize)));

PROOFWOOD_PART V load(const double* state, int place) {
  V value;
  std::memcpy(&value, state + std::size_t{kMostSumLanes} * static_cast<std::size_t>(place), kSize);
  return value;
}
PROOFWOOD_PART void store(double* state, int place, V value) {
  std::memcpy(state + std::size_t{kMostSumLanes} * static_cast<std::size_t>(place), &value, kSize);
}

// `sum`, and `value` in the lanes in which the row goes low.
PROOFWOOD_PART V add_low(V sum, std::uint64_t mask, double value) {
#ifdef PROOFWOOD_WITH_INTRINSICS
  return reinterpret_cast<V>(_mm512_mask_add_pd(reinterpret_cast<__m512d>(sum), static_cast<__mmask8>(mask),
                                                reinterpret_cast<__m512d>(sum), _mm512_set1_pd(value)));
#else
  I bits;
  for (int k = 0; k < kWide; ++k) bits[k] = std::int64_t{1} << k;
  const I word = I{} + static_cast<std::int64_t>(mask);
  return sum + reinterpret_cast<V>(reinterpret_cast<I>((word & bits) == bits) & reinterpret_cast<I>(V{} + value));
#endif
}

// `kUnit`: all rows weigh 1, and their records leave that out.
template <class T, bool kLimited, bool kUnit>
struct Walks {
  static constexpr int kSums = T::kSums + (kLimited ? 2 : 0);
  static constexpr SumPlaces kPlaces{kSums, T::kParts};
  using Best = typename T::template Best<V>;

  static constexpr std::size_t kStride = static_cast<std::size_t>(kSums) + (kUnit ? 0 : 1);

  PROOFWOOD_PART std::uint64_t bits(const double* record) { return std::bit_cast<std::uint64_t>(record[kStride - 1]); }
  PROOFWOOD_PART double number(const double* record, int k) {
    if constexpr (kUnit) return k == 0 ? 1.0 : record[k - 1];
    return record[k];
  }

  static void begin(std::uint32_t n, const SumRecords& rows, const double* all, double* state) {
    V sides[2][kSums]{};
    const double* record = rows.records;
    for (std::uint32_t i = 0; i < n; ++i, record += kStride) {
      const std::uint64_t mask = bits(record);
      for (int k = 0; k < kSums; ++k) sides[0][k] = add_low(sides[0][k], mask, number(record, k));
    }
    for (int k = 0; k < kSums; ++k) sides[1][k] = all[k] - sides[0][k];
    const auto none = T::none();
    for (int side = 0; side < 2; ++side) {
      for (int k = 0; k < kSums; ++k) store(state, kPlaces.sum(side, k), sides[side][k]);
      const Best leaf = T::leaf(sides[side], rows.rate);
      for (int part = 0; part < T::kParts; ++part) {
        store(state, kPlaces.leaf(side, part), leaf.part[part]);
        store(state, kPlaces.best(side, part), leaf.part[part]);
        store(state, kPlaces.some(side, part), V{} + none.part[part]);
      }
    }
  }

  PROOFWOOD_PART void offer(Best& best, const V* low, const V* high, double rate) {
    const Best here = T::split(low, high, rate);
    const auto more = T::more(here, best);
    for (int part = 0; part < T::kParts; ++part) best.part[part] = more ? here.part[part] : best.part[part];
  }
  // Where both leaves hold enough.
  PROOFWOOD_PART void offer_permitted(Best& best, const V* low, const V* high, const SumRecords& rows) {
    const Best here = T::split(low, high, rows.rate);
    constexpr int kRows = T::kSums, kWeight = T::kSums + 1;
    const I enough =
        reinterpret_cast<I>(low[kRows] >= rows.min_rows) & reinterpret_cast<I>(high[kRows] >= rows.min_rows) &
        reinterpret_cast<I>(low[kWeight] >= rows.min_weight) & reinterpret_cast<I>(high[kWeight] >= rows.min_weight);
    const I more = reinterpret_cast<I>(T::more(here, best)) & enough;
    for (int part = 0; part < T::kParts; ++part) best.part[part] = more != 0 ? here.part[part] : best.part[part];
  }

  // Records of many rows outgrow the caches near a core: they are fetched ahead.
  static void walk(const SortedRows& sorted, const SumRecords& rows, double* state) {
    constexpr std::uint32_t kFar = 1u << 15;
    sorted.n < kFar ? walk_with<false>(sorted, rows, state) : walk_with<true>(sorted, rows, state);
  }
  template <bool kFetch>
  static void walk_with(const SortedRows& sorted, const SumRecords& rows, double* state) {
    constexpr std::uint32_t kAhead = 24;
    Best best[2], some[2];
    V low[kSums]{}, all[2][kSums];
    double seen[kSums]{};
    for (int side = 0; side < 2; ++side) {
      for (int k = 0; k < kSums; ++k) all[side][k] = load(state, kPlaces.sum(side, k));
      for (int part = 0; part < T::kParts; ++part) {
        best[side].part[part] = load(state, kPlaces.best(side, part));
        some[side].part[part] = load(state, kPlaces.some(side, part));
      }
    }
    const std::uint32_t* const order = sorted.order;
    for (std::uint32_t segment = 0, i = 0; segment + 1 < sorted.n_ends; ++segment) {
      for (const std::uint32_t end = sorted.ends[segment]; i < end; ++i) {
        if constexpr (kFetch)
          __builtin_prefetch(rows.records + order[i + kAhead < sorted.n ? i + kAhead : i] * kStride);
        const double* const record = rows.records + order[i] * kStride;
        const std::uint64_t mask = bits(record);
        for (int k = 0; k < kSums; ++k) {
          seen[k] += number(record, k);
          low[k] = add_low(low[k], mask, number(record, k));
        }
      }
      V high[kSums], rest[kSums];
      for (int k = 0; k < kSums; ++k) rest[k] = all[0][k] - low[k];
      offer(best[0], low, rest, rows.rate);
      if (kLimited) offer_permitted(some[0], low, rest, rows);
      for (int k = 0; k < kSums; ++k) {
        high[k] = seen[k] - low[k];
        rest[k] = all[1][k] - high[k];
      }
      offer(best[1], high, rest, rows.rate);
      if (kLimited) offer_permitted(some[1], high, rest, rows);
    }
    for (int side = 0; side < 2; ++side)
      for (int part = 0; part < T::kParts; ++part) {
        store(state, kPlaces.best(side, part), best[side].part[part]);
        store(state, kPlaces.some(side, part), some[side].part[part]);
      }
  }

  static constexpr SumKernels kKernels{kWide, kUnit, &begin, &walk};
};

// Without and with a minimum of leaves, and of rows that all weigh 1, where the first sum is the weight.
#define PROOFWOOD_KERNELS_OF(name, ...)                                                   \
  {Walks<__VA_ARGS__, false, false>::kKernels, Walks<__VA_ARGS__, true, false>::kKernels, \
   Walks<__VA_ARGS__, false, __VA_ARGS__::kWeightFirst>::kKernels},
constexpr SumKernels kTasks[][3] = {PROOFWOOD_SUM_TASKS(PROOFWOOD_KERNELS_OF)};
#undef PROOFWOOD_KERNELS_OF

}  // namespace

// NOLINTNEXTLINE(misc-definitions-in-headers): this file is included once for each instruction set
const SumKernels& sum_kernels(int task, bool limited, bool unit) { return kTasks[task][limited ? 1 : unit ? 2 : 0]; }

}  // namespace proofwood::trees::PROOFWOOD_ISA
