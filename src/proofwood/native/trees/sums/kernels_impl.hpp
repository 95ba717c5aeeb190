// The walks of tasks by sums for one instruction set (docs/theory/optimal-trees.md, "Tasks"). Included once per
// translation unit, as trees/kernels_impl.hpp is.
#include <algorithm>
#include <bit>
#include <cstring>

#include "trees/sums/kernels.hpp"
#include "trees/sums/tasks.hpp"
#if defined(PROOFWOOD_WITH_INTRINSICS) || defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
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

// Lanes in which `a` is not at most `b`, as bits.
PROOFWOOD_PART unsigned not_at_most(V a, V b) {
#if defined(PROOFWOOD_WITH_INTRINSICS)
  return _mm512_cmp_pd_mask(reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b), _CMP_NLE_UQ);
#elif defined(__AVX2__)
  return static_cast<unsigned>(
      _mm256_movemask_pd(_mm256_cmp_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b), _CMP_NLE_UQ)));
#elif defined(__SSE2__)
  return static_cast<unsigned>(
      _mm_movemask_pd(_mm_cmpnle_pd(reinterpret_cast<__m128d>(a), reinterpret_cast<__m128d>(b))));
#else
  unsigned bits = 0;
  for (int lane = 0; lane < kWide; ++lane) bits |= (a[lane] <= b[lane] ? 0u : 1u) << lane;
  return bits;
#endif
}

// Whether a lane is true.
PROOFWOOD_PART bool any(I lanes) { return not_at_most(__builtin_convertvector(-lanes, V), V{}) != 0; }

// What all walks of a task know. `kUnit`: all rows weigh 1, and their records leave that out.
template <class T, bool kLimited, bool kUnit>
struct Record {
  static constexpr int kSums = T::kSums + (kLimited ? 2 : 0);
  static constexpr SumPlaces kPlaces{kSums, T::kParts};
  static constexpr std::size_t kStride = static_cast<std::size_t>(kSums) + (kUnit ? 0 : 1);

  PROOFWOOD_PART std::uint64_t bits(const double* record) { return std::bit_cast<std::uint64_t>(record[kStride - 1]); }
  PROOFWOOD_PART double number(const double* record, int k) {
    if constexpr (kUnit) return k == 0 ? 1.0 : record[k - 1];
    return record[k];
  }
  // Whether both leaves hold enough.
  PROOFWOOD_PART I permitted(const V* low, const V* high, const SumRecords& rows) {
    constexpr int kRows = T::kSums, kWeight = T::kSums + 1;
    return reinterpret_cast<I>(low[kRows] >= rows.min_rows) & reinterpret_cast<I>(high[kRows] >= rows.min_rows) &
           reinterpret_cast<I>(low[kWeight] >= rows.min_weight) & reinterpret_cast<I>(high[kWeight] >= rows.min_weight);
  }
};

// A place to split both sides: sums of their rows up to there, and beyond.
template <int kSums>
struct Place {
  V low[2][kSums], high[2][kSums];
};

// Counts every split.
template <class T, bool kLimited, bool kUnit>
class EverySplit : Record<T, kLimited, kUnit> {
  using Of = Record<T, kLimited, kUnit>;
  using Best = typename T::template Best<V>;

 public:
  EverySplit(const SumRecords& rows, double* state) : rows_(rows), state_(state) {
    for (int side = 0; side < 2; ++side)
      for (int part = 0; part < T::kParts; ++part) {
        best_[side].part[part] = load(state, Of::kPlaces.best(side, part));
        some_[side].part[part] = load(state, Of::kPlaces.some(side, part));
      }
  }
  [[gnu::always_inline]] void offer(const Place<Of::kSums>& place) {
    for (int side = 0; side < 2; ++side) {
      const Best here = T::split(place.low[side], place.high[side], rows_.rate);
      keep(best_[side], here, T::more(here, best_[side]));
      if (kLimited)
        keep(some_[side], here,
             reinterpret_cast<I>(T::more(here, some_[side])) & Of::permitted(place.low[side], place.high[side], rows_));
    }
  }
  // Of exact costs: whether a split of a stretch may be better than the best one. They all cost as much as the rows
  // that are low at the first and those that are high at the last of them, or more.
  [[gnu::always_inline]] bool may_gain(const Place<Of::kSums>& first, const Place<Of::kSums>& last) const {
    I open{};
    for (int side = 0; side < 2; ++side) {
      const Best most = T::split(first.low[side], last.high[side], rows_.rate);
      open |= reinterpret_cast<I>(T::more(most, best_[side]));
      if (kLimited)
        open |=
            reinterpret_cast<I>(T::more(most, some_[side])) & Of::permitted(last.low[side], first.high[side], rows_);
    }
    return any(open);
  }
  void end() {
    for (int side = 0; side < 2; ++side)
      for (int part = 0; part < T::kParts; ++part) {
        store(state_, Of::kPlaces.best(side, part), best_[side].part[part]);
        store(state_, Of::kPlaces.some(side, part), some_[side].part[part]);
      }
  }

 private:
  [[gnu::always_inline]] static void keep(Best& best, const Best& here, auto more) {
    for (int part = 0; part < T::kParts; ++part) best.part[part] = more != 0 ? here.part[part] : best.part[part];
  }

  const SumRecords& rows_;
  double* const state_;
  Best best_[2], some_[2];
};

// Counts the splits that cheap bounds do not exclude, many at a time.
template <class T, bool kLimited, bool kUnit>
class DoubtfulSplits : Record<T, kLimited, kUnit> {
  using Of = Record<T, kLimited, kUnit>;
  using Limit = typename T::template Limit<V>;

 public:
  DoubtfulSplits(const SumRecords& rows, double* state) : rows_(rows), state_(state) { read_limits(); }

  [[gnu::always_inline]] void offer(const Place<Of::kSums>& place) {
    unsigned low = doubtful(place, 0), high = doubtful(place, 1);
    if ((low | high) == 0) return;
    low &= still_doubtful(place, 0);
    high &= still_doubtful(place, 1);
    if ((low | high) == 0) return;
    const Place<Of::kSums> stored = place;  // all others stay in registers
    put(stored, 0, low);
    put(stored, 1, high);
    if (count_ > kRoom - 2 * kWide) {
      count();
      read_limits();
    }
  }
  void end() {
    if (count_ > 0) count();
  }

 private:
  static constexpr int kRoom = 32;  // doubtful splits

  [[gnu::noinline]] void read_limits() {
    for (int side = 0; side < 2; ++side) {
      V all[Of::kSums];
      for (int k = 0; k < Of::kSums; ++k) all[k] = load(state_, Of::kPlaces.sum(side, k));
      const V leaf = load(state_, Of::kPlaces.leaf(side, 0));
      best_[side] = T::limit(all, leaf, load(state_, Of::kPlaces.best(side, 0)), rows_.rate);
      if (kLimited) some_[side] = T::limit(all, leaf, load(state_, Of::kPlaces.some(side, 0)), rows_.rate);
    }
  }
  [[gnu::always_inline]] static unsigned exceeds(const Doubt<V>& doubt) { return not_at_most(doubt.left, doubt.right); }
  // Of a side, as bits. What is permitted saves no more than the best of all.
  [[gnu::always_inline]] unsigned doubtful(const Place<Of::kSums>& place, int side) const {
    const V *const low = place.low[side], *const high = place.high[side];
    return exceeds(T::doubt(kLimited ? some_[side] : best_[side], low, high));
  }
  [[gnu::always_inline]] unsigned still_doubtful(const Place<Of::kSums>& place, int side) const {
    const V *const low = place.low[side], *const high = place.high[side];
    if constexpr (kLimited)
      return (exceeds_closely(some_[side], low, high) & bits_of(Of::permitted(low, high, rows_))) |
             exceeds_closely(best_[side], low, high);
    return exceeds_closely(best_[side], low, high);
  }
  [[gnu::always_inline]] static unsigned exceeds_closely(const Limit& limit, const V* low, const V* high) {
    unsigned lanes = ~0u;
    for (const auto& doubt : T::close_doubts(limit, low, high)) lanes &= exceeds(doubt);
    return lanes;
  }
  [[gnu::always_inline]] static unsigned bits_of(I lanes) {
    return not_at_most(__builtin_convertvector(-lanes, V), V{});
  }

  [[gnu::noinline]] void put(const Place<Of::kSums>& place, int side, unsigned lanes) {
    for (; lanes != 0; lanes &= lanes - 1) {
      const int lane = std::countr_zero(lanes);
      for (int k = 0; k < Of::kSums; ++k) {
        low_[k][count_] = place.low[side][k][lane];
        high_[k][count_] = place.high[side][k][lane];
      }
      where_[count_++] = side * kMostSumLanes + lane;
    }
  }
  // What the doubtful splits save.
  [[gnu::noinline]] void count() {
    for (int i = count_; i % kWide != 0; ++i)
      for (int k = 0; k < Of::kSums; ++k) low_[k][i] = high_[k][i] = 1;
    for (int from = 0; from < count_; from += kWide) {
      V low[Of::kSums], high[Of::kSums];
      for (int k = 0; k < Of::kSums; ++k) {
        std::memcpy(&low[k], low_[k] + from, kSize);
        std::memcpy(&high[k], high_[k] + from, kSize);
      }
      const V saved = T::split(low, high, rows_.rate).part[0];
      for (int i = 0; i < kWide && from + i < count_; ++i) keep(from + i, saved[i]);
    }
    count_ = 0;
  }
  void keep(int at, double saved) {
    const int side = where_[at] / kMostSumLanes, lane = where_[at] % kMostSumLanes;
    double& best = state_[Of::kPlaces.best(side, 0) * kMostSumLanes + lane];
    if (saved > best) best = saved;
    if constexpr (kLimited) {
      constexpr int kRows = T::kSums, kWeight = T::kSums + 1;
      double& some = state_[Of::kPlaces.some(side, 0) * kMostSumLanes + lane];
      if (saved > some && low_[kRows][at] >= rows_.min_rows && high_[kRows][at] >= rows_.min_rows &&
          low_[kWeight][at] >= rows_.min_weight && high_[kWeight][at] >= rows_.min_weight)
        some = saved;
    }
  }

  const SumRecords& rows_;
  double* const state_;
  Limit best_[2], some_[2];
  int count_ = 0, where_[kRoom];
  double low_[Of::kSums][kRoom], high_[Of::kSums][kRoom];
};

template <class T, bool kLimited, bool kUnit>
struct Walks : Record<T, kLimited, kUnit> {
  using Of = Record<T, kLimited, kUnit>;
  static constexpr int kSums = Of::kSums;
  static constexpr SumPlaces kPlaces = Of::kPlaces;

  static void begin(std::uint32_t n, const SumRecords& rows, const double* all, double* state) {
    V sides[2][kSums]{};
    const double* record = rows.records;
    for (std::uint32_t i = 0; i < n; ++i, record += Of::kStride) {
      const std::uint64_t mask = Of::bits(record);
      for (int k = 0; k < kSums; ++k) sides[0][k] = add_low(sides[0][k], mask, Of::number(record, k));
    }
    for (int k = 0; k < kSums; ++k) sides[1][k] = all[k] - sides[0][k];
    start(sides, rows, state);
  }
  [[gnu::always_inline]] static void start(const V (&sides)[2][kSums], const SumRecords& rows, double* state) {
    const auto none = T::none();
    for (int side = 0; side < 2; ++side) {
      for (int k = 0; k < kSums; ++k) store(state, kPlaces.sum(side, k), sides[side][k]);
      const auto leaf = T::leaf(sides[side], rows.rate);
      for (int part = 0; part < T::kParts; ++part) {
        store(state, kPlaces.leaf(side, part), leaf.part[part]);
        store(state, kPlaces.best(side, part), leaf.part[part]);
        store(state, kPlaces.some(side, part), V{} + none.part[part]);
      }
    }
  }

  static void walk(const SortedRows& sorted, const SumRecords& rows, double* state) {
    if constexpr (CheaplyBounded<T>) {
      if (rows.bounded) {
        walk_near_or_far<DoubtfulSplits<T, kLimited, kUnit>>(sorted, rows, state);
        return;
      }
    }
    if constexpr (T::kExact) {
      if (rows.bounded) {
        sorted.n < kFar ? walk_stretches<false>(sorted, rows, state) : walk_stretches<true>(sorted, rows, state);
        return;
      }
    }
    walk_near_or_far<EverySplit<T, kLimited, kUnit>>(sorted, rows, state);
  }
  // Records of many rows outgrow the caches near a core: they are fetched ahead.
  static constexpr std::uint32_t kFar = 1u << 15;
  template <class Splits>
  static void walk_near_or_far(const SortedRows& sorted, const SumRecords& rows, double* state) {
    sorted.n < kFar ? walk_with<Splits, false>(sorted, rows, state) : walk_with<Splits, true>(sorted, rows, state);
  }
  // Sums of the first rows, per lane: of those on its low side, and of the others.
  struct Seen {
    V sums[2][kSums]{};
    std::uint32_t rows = 0;

    template <bool kFetch>
    [[gnu::always_inline]] void add(const SortedRows& sorted, const SumRecords& of, std::uint32_t end) {
      constexpr std::uint32_t kAhead = 24;
      const std::uint32_t* const order = sorted.order;
      for (; rows < end; ++rows) {
        if constexpr (kFetch)
          __builtin_prefetch(of.records + order[rows + kAhead < sorted.n ? rows + kAhead : rows] * Of::kStride);
        const double* const record = of.records + order[rows] * Of::kStride;
        const std::uint64_t mask = Of::bits(record);
        for (int k = 0; k < kSums; ++k) {
          sums[0][k] = add_low(sums[0][k], mask, Of::number(record, k));
          sums[1][k] = add_low(sums[1][k], ~mask, Of::number(record, k));
        }
      }
    }
    [[gnu::always_inline]] Place<kSums> place(const V (&sides)[2][kSums]) const {
      Place<kSums> here;
      for (int side = 0; side < 2; ++side)
        for (int k = 0; k < kSums; ++k) {
          here.low[side][k] = sums[side][k];
          here.high[side][k] = sides[side][k] - sums[side][k];
        }
      return here;
    }
  };
  PROOFWOOD_PART void load_sides(const double* state, V (&sides)[2][kSums]) {
    for (int side = 0; side < 2; ++side)
      for (int k = 0; k < kSums; ++k) sides[side][k] = load(state, kPlaces.sum(side, k));
  }
  template <class Splits, bool kFetch>
  static void walk_with(const SortedRows& sorted, const SumRecords& rows, double* state) {
    Splits splits(rows, state);
    V sides[2][kSums];
    load_sides(state, sides);
    Seen seen;
    for (std::uint32_t segment = 0; segment + 1 < sorted.n_ends; ++segment) {
      seen.template add<kFetch>(sorted, rows, sorted.ends[segment]);
      splits.offer(seen.place(sides));
    }
    splits.end();
  }
  // The same, a stretch of splits at a time, which is left out where none of them can be better than the best one.
  template <bool kFetch>
  static void walk_stretches(const SortedRows& sorted, const SumRecords& rows, double* state) {
    constexpr std::uint32_t kStretch = 16;
    EverySplit<T, kLimited, kUnit> splits(rows, state);
    V sides[2][kSums];
    load_sides(state, sides);
    Seen seen;
    for (std::uint32_t first = 0, last; first + 1 < sorted.n_ends; first = last) {
      last = std::min(first + kStretch, sorted.n_ends - 1);
      const Seen before = seen;
      seen.template add<kFetch>(sorted, rows, sorted.ends[last - 1]);
      if (!splits.may_gain(before.place(sides), seen.place(sides))) continue;
      seen = before;
      for (std::uint32_t segment = first; segment < last; ++segment) {
        seen.template add<false>(sorted, rows, sorted.ends[segment]);
        splits.offer(seen.place(sides));
      }
    }
    splits.end();
  }

  // ---- all pairs of tests

  static void add_up(const PairRows& of, const std::uint32_t* rows, std::uint32_t n, std::uint32_t first,
                     std::size_t width, double* to) {
    // as many vectors of sums as there are registers for
    constexpr std::uint32_t kTogether = kSums <= 2 && kWide == kMostSumLanes ? 3 : 1;
    std::uint32_t block = first;
    for (; block + kTogether <= of.blocks; block += kTogether) add_blocks<kTogether>(of, rows, n, block, width, to);
    if constexpr (kTogether > 2)
      if (block + 2 == of.blocks) return add_blocks<2>(of, rows, n, block, width, to);
    for (; block < of.blocks; ++block) add_blocks<1>(of, rows, n, block, width, to);
  }
  template <std::uint32_t kBlocks>
  static void add_blocks(const PairRows& of, const std::uint32_t* rows, std::uint32_t n, std::uint32_t block,
                         std::size_t width, double* to) {
    constexpr int kVectors = 32 / kWide;  // of a block
    V sums[kSums][kBlocks][kVectors]{};
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t* const bits = of.bits + std::size_t{rows[i]} * of.blocks + block;
      const double* const numbers = of.numbers + rows[i] * of.stride;
      for (std::uint32_t b = 0; b < kBlocks; ++b)
        for (int v = 0; v < kVectors; ++v)
          for (int k = 0; k < kSums; ++k) sums[k][b][v] = add_low(sums[k][b][v], bits[b] >> (v * kWide), numbers[k]);
    }
    for (int k = 0; k < kSums; ++k)
      for (std::uint32_t b = 0; b < kBlocks; ++b)
        for (int v = 0; v < kVectors; ++v)
          put(to + static_cast<std::size_t>(k) * width + 32 * (block + b) + static_cast<std::size_t>(v * kWide),
              sums[k][b][v]);
  }
  PROOFWOOD_PART V get(const double* from) {
    V value;
    std::memcpy(&value, from, kSize);
    return value;
  }
  PROOFWOOD_PART void put(double* to, V value) { std::memcpy(to, &value, kSize); }

  static void walk_pairs(const PairSums& sums, std::uint32_t first, const SumRecords& rows, double* state) {
    V sides[2][kSums];
    for (int k = 0; k < kSums; ++k) {
      sides[0][k] = get(sums.single + static_cast<std::size_t>(k) * sums.width + first);
      sides[1][k] = sums.all[k] - sides[0][k];
    }
    start(sides, rows, state);
    if constexpr (CheaplyBounded<T>) {
      if (rows.bounded) return walk_pairs_with<DoubtfulSplits<T, kLimited, kUnit>>(sums, first, rows, sides, state);
    }
    walk_pairs_with<EverySplit<T, kLimited, kUnit>>(sums, first, rows, sides, state);
  }
  template <class Splits>
  static void walk_pairs_with(const PairSums& sums, std::uint32_t first, const SumRecords& rows,
                              const V (&sides)[2][kSums], double* state) {
    Splits splits(rows, state);
    const std::size_t width = sums.width, each = sums.n_tests * width;
    for (std::size_t test = 0; test < sums.n_tests; ++test) {
      Place<kSums> place;
      for (int k = 0; k < kSums; ++k) {
        const auto at = static_cast<std::size_t>(k);
        place.low[0][k] = get(sums.pairs + at * each + test * width + first);
        place.high[0][k] = sides[0][k] - place.low[0][k];
        place.low[1][k] = sums.single[at * width + test] - place.low[0][k];
        place.high[1][k] = sides[1][k] - place.low[1][k];
      }
      splits.offer(place);
    }
    splits.end();
  }

  static constexpr SumKernels kKernels{kWide, kUnit, &begin, &walk, &add_up, &walk_pairs};
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
