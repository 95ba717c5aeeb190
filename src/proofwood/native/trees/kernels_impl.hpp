// The stump kernels for one instruction set (docs/theory/optimal-trees.md, "Depth two"). Included once per translation
// unit, each compiled with its own flags, with PROOFWOOD_ISA naming the namespace and PROOFWOOD_VECTOR_BYTES the width:
// nothing here may be shared between them.
#include <limits>
#include <type_traits>

#include "trees/kernels.hpp"
#ifdef PROOFWOOD_WITH_INTRINSICS
#include <immintrin.h>
#endif

namespace proofwood::trees::PROOFWOOD_ISA {
namespace {

constexpr int kBytes = PROOFWOOD_VECTOR_BYTES;

#define PROOFWOOD_INLINE [[gnu::always_inline]] inline  // parts of a loop whose values stay in registers

template <class T>
struct Lanes {
  static constexpr int kRoom = kMaxLanes * static_cast<int>(sizeof(T));  // a mask word has no more bits
  static constexpr int kSize = kBytes < kRoom ? kBytes : kRoom;
  typedef T Vector __attribute__((vector_size(kSize)));
  typedef std::uint32_t Words __attribute__((vector_size(kSize)));
#ifndef PROOFWOOD_WITH_INTRINSICS
  typedef std::uint64_t LongWords __attribute__((vector_size(kSize)));
#endif
  static constexpr int count = kSize / static_cast<int>(sizeof(T));

  // A mask word is copied to every 32-bit element. A lane of 8 or 16 bits sees its part of it, wider ones all of it.
  // Lanes of 8 bits may have a register of one bit each instead.
#ifdef PROOFWOOD_WITH_INTRINSICS
  static constexpr bool kByBits = sizeof(T) == 1;
#else
  static constexpr bool kByBits = false;
#endif
  static constexpr int kParts = sizeof(T) < 4 && !kByBits ? 4 / static_cast<int>(sizeof(T)) : 1;
  static int bit(int lane) { return lane % kParts * (32 / kParts) + lane / kParts; }
  static Vector splat(T value) { return Vector{} + value; }
  static Vector bits() {
    struct alignas(kSize) Bits {
      T of[count];
    };
    static constexpr Bits kBits = [] {
      Bits bits{};
      for (int lane = 0; lane < count; ++lane)
        bits.of[lane] = static_cast<T>(static_cast<std::uint64_t>(1) << (lane / kParts));
      return bits;
    }();
    return *reinterpret_cast<const Vector*>(kBits.of);
  }
  static Vector low(std::uint32_t mask, Vector bits) {  // all ones where the row goes low
    static_assert(!kByBits, "a lane does not see its bit");
    const Vector word = reinterpret_cast<Vector>(Words{} + mask);
    return reinterpret_cast<Vector>((word & bits) == bits);
  }
  // `sum`, and `weight` where the row goes low.
  static Vector add_low(Vector sum, std::uint32_t mask, Vector bits, Vector weight) {
#ifdef PROOFWOOD_WITH_INTRINSICS
    if constexpr (kByBits)
      return reinterpret_cast<Vector>(_mm256_mask_add_epi8(
          reinterpret_cast<__m256i>(sum), mask, reinterpret_cast<__m256i>(sum), reinterpret_cast<__m256i>(weight)));
    else
#endif
      return sum + (low(mask, bits) & weight);
  }
  static Vector max(Vector a, Vector b) { return a > b ? a : b; }
  static Vector min(Vector a, Vector b) { return a < b ? a : b; }
  static Vector load(const unsigned char* from) { return *reinterpret_cast<const Vector*>(from); }
  static void store(unsigned char* to, Vector v) { *reinterpret_cast<Vector*>(to) = v; }
  static Vector lowest() { return splat(std::numeric_limits<T>::min() / 2); }
  static Vector highest() { return splat(std::numeric_limits<T>::max() / 2); }
};

// Values of as many lanes as T has, in type S, which may be wider.
template <class T, class S>
struct WideLanes {
  static constexpr int kSize = Lanes<T>::count * static_cast<int>(sizeof(S));
  typedef S Vector __attribute__((vector_size(kSize), aligned(kSize < kVectorBytes ? kSize : kVectorBytes)));

  PROOFWOOD_INLINE static Vector load(const unsigned char* from) { return *reinterpret_cast<const Vector*>(from); }
  PROOFWOOD_INLINE static void store(unsigned char* to, const Vector& v) { *reinterpret_cast<Vector*>(to) = v; }
  PROOFWOOD_INLINE static Vector max(Vector a, Vector b) { return a > b ? a : b; }
  PROOFWOOD_INLINE static Vector min(Vector a, Vector b) { return a < b ? a : b; }
  PROOFWOOD_INLINE static Vector widened(typename Lanes<T>::Vector v) {
    if constexpr (std::is_same_v<T, S>)
      return v;
    else
      return __builtin_convertvector(v, Vector);
  }
};

template <class T>
void begin(StumpState& state, bool two_classes) {
  using L = Lanes<T>;
  const typename L::Vector zero{};
  for (int side = 0; side < 2; ++side) {
    L::store(state.levels[side], zero);
    if (two_classes) {  // the empty prefix is the leaf
      L::store(state.max_all[side], zero);
      L::store(state.min_all[side], zero);
      L::store(state.max_some[side], L::lowest());
      L::store(state.min_some[side], L::highest());
    } else {
      L::store(state.best_all[side], zero);
      L::store(state.best_some[side], L::splat(-1));
      L::store(state.leaf[side], zero);
    }
  }
  L::store(state.net_low, zero);
}

// Two classes: s is the prefix sum of signed weights of the low side; the high side's is the common one less s.
// Between two rows of the same sign s is monotone, so extremes need only be looked at where segments end.
template <class T>
struct Extremes {
  using L = Lanes<T>;
  using V = typename L::Vector;
  V max_low, max_high, min_low, min_high;

  Extremes()  // of no sum
      : max_low(L::splat(std::numeric_limits<T>::min())),
        max_high(max_low),
        min_low(L::splat(std::numeric_limits<T>::max())),
        min_high(min_low) {}
  static Extremes of_nothing() {  // of the empty prefix
    Extremes empty;
    empty.max_low = empty.max_high = empty.min_low = empty.min_high = V{};
    return empty;
  }
  explicit Extremes(const StumpState& state)
      : max_low(L::load(state.max_all[0])),
        max_high(L::load(state.max_all[1])),
        min_low(L::load(state.min_all[0])),
        min_high(L::load(state.min_all[1])) {}
  PROOFWOOD_INLINE void note(V low, V high) {
    max_low = L::max(max_low, low);
    min_low = L::min(min_low, low);
    max_high = L::max(max_high, high);
    min_high = L::min(min_high, high);
  }
  // Of the rows before which, or after which, others with these sums come.
  void spread(V low, V high) {
    max_low += L::max(low, V{});
    min_low += L::min(low, V{});
    max_high += L::max(high, V{});
    min_high += L::min(high, V{});
  }
  // Of the rows before which others with these sums come.
  void shift(V low, V high) {
    max_low += low;
    min_low += low;
    max_high += high;
    min_high += high;
  }
  void note(const Extremes& other) {
    max_low = L::max(max_low, other.max_low);
    min_low = L::min(min_low, other.min_low);
    max_high = L::max(max_high, other.max_high);
    min_high = L::min(min_high, other.min_high);
  }
  void store(StumpState& state) const {
    L::store(state.max_all[0], max_low);
    L::store(state.max_all[1], max_high);
    L::store(state.min_all[0], min_low);
    L::store(state.min_all[1], min_high);
  }
};

// Segment by segment, also the extremes where both leaves of a side hold enough. Returns s at the end.
template <class T>
PROOFWOOD_INLINE auto walk_with_minimum(const SortedRows& rows, const RowValues& values, StumpState& state,
                                        Extremes<T>& extremes) {
  using L = Lanes<T>;
  using V = typename L::Vector;
  const V bits = L::bits();
  const std::uint32_t* const order = rows.order;
  const std::uint32_t* const mask = values.mask;
  const T* const weight = static_cast<const T*>(values.weight);
  const T* const count = static_cast<const T*>(values.count);
  const T* const mass = static_cast<const T*>(values.mass);
  V most_low = L::load(state.max_some[0]), most_high = L::load(state.max_some[1]);
  V least_low = L::load(state.min_some[0]), least_high = L::load(state.min_some[1]);
  V rows_low{}, rows_all{}, mass_low{}, mass_all{};
  for (std::uint32_t i = 0; i < rows.n; ++i) {
    const std::uint32_t row = order[i];
    const V low = L::low(mask[row], bits);
    rows_low += low & L::splat(count[row]);
    rows_all += L::splat(count[row]);
    mass_low += low & L::splat(mass[row]);
    mass_all += L::splat(mass[row]);
  }
  const V need = L::splat(static_cast<T>(values.min_rows)), need_mass = L::splat(static_cast<T>(values.min_mass));
  const V enough_low = rows_low - need, enough_high = rows_all - rows_low - need;
  const V full_low = mass_low - need_mass, full_high = mass_all - mass_low - need_mass;
  V s{}, all{}, seen_low{}, seen{}, held_low{}, held{};
  for (std::uint32_t segment = 0, i = 0; segment < rows.n_ends; ++segment) {
    for (const std::uint32_t end = rows.ends[segment]; i < end; ++i) {
      const std::uint32_t row = order[i];
      const V low = L::low(mask[row], bits);
      const V w = L::splat(weight[row]), c = L::splat(count[row]), m = L::splat(mass[row]);
      s += low & w;
      all += w;
      seen_low += low & c;
      seen += c;
      held_low += low & m;
      held += m;
    }
    const V high = all - s, seen_high = seen - seen_low, held_high = held - held_low;
    extremes.note(s, high);
    const V good_low = reinterpret_cast<V>((seen_low >= need) & (seen_low <= enough_low) & (held_low >= need_mass) &
                                           (held_low <= full_low));
    const V good_high = reinterpret_cast<V>((seen_high >= need) & (seen_high <= enough_high) &
                                            (held_high >= need_mass) & (held_high <= full_high));
    most_low = L::max(most_low, (s & good_low) | (L::lowest() & ~good_low));
    least_low = L::min(least_low, (s & good_low) | (L::highest() & ~good_low));
    most_high = L::max(most_high, (high & good_high) | (L::lowest() & ~good_high));
    least_high = L::min(least_high, (high & good_high) | (L::highest() & ~good_high));
  }
  L::store(state.max_some[0], most_low);
  L::store(state.max_some[1], most_high);
  L::store(state.min_some[0], least_low);
  L::store(state.min_some[1], least_high);
  return s;
}

// Without a minimum, by whichever loop suits the segments. Returns s and the common sum at the end.
template <class T>
PROOFWOOD_INLINE auto walk_freely(const SortedRows& rows, const RowValues& values, Extremes<T>& extremes) {
  struct Sums {
    typename Lanes<T>::Vector low;
    T all;
  };
  using L = Lanes<T>;
  using V = typename L::Vector;
  const V bits = L::bits();
  const std::uint32_t* const order = rows.order;
  const std::uint32_t* const mask = values.mask;
  const T* const weight = static_cast<const T*>(values.weight);
  V s{}, all{};
  if (rows.every_row) {
    for (std::uint32_t i = 0; i < rows.n; ++i) {
      const std::uint32_t row = order[i];
      const V w = L::splat(weight[row]);
      s = L::add_low(s, mask[row], bits, w);
      all += w;
      extremes.note(s, all - s);
    }
  } else if (rows.is_end != nullptr) {  // many short segments: a blend costs less than a mispredicted branch
    V end_low{}, end_all{};
    for (std::uint32_t i = 0; i < rows.n; ++i) {
      const std::uint32_t row = order[i];
      const V w = L::splat(weight[row]), end = L::splat(static_cast<T>(rows.is_end[i]));
      s = L::add_low(s, mask[row], bits, w);
      all += w;
      end_low += (s - end_low) & end;
      end_all += (all - end_all) & end;
      extremes.note(end_low, end_all - end_low);
    }
  } else {
    T sum = 0;
    for (std::uint32_t segment = 0, i = 0; segment < rows.n_ends; ++segment) {
      for (const std::uint32_t end = rows.ends[segment]; i < end; ++i) {
        const std::uint32_t row = order[i];
        s += L::low(mask[row], bits) & L::splat(weight[row]);
        sum = static_cast<T>(sum + weight[row]);
      }
      extremes.note(s, L::splat(sum) - s);
    }
    return Sums{s, sum};
  }
  return Sums{s, all[0]};
}

// Both features of a column with gaps: with p the sum at a position among the other rows and g that of the rows without
// a value, s is p + g in one of them and p in the other.
template <class T>
void two_views(const SortedRows& rows, const RowValues& values, StumpState& state) {
  using L = Lanes<T>;
  const auto bits = L::bits();
  const T* const weight = static_cast<const T*>(values.weight);
  typename L::Vector gap{};
  T all = 0;
  for (std::uint32_t i = 0; i < rows.n_gap; ++i) {
    const std::uint32_t row = rows.gap[i];
    gap = L::add_low(gap, values.mask[row], bits, L::splat(weight[row]));
    all = static_cast<T>(all + weight[row]);
  }
  Extremes<T> extremes(state), both = Extremes<T>::of_nothing();
  L::store(state.net_low, walk_freely<T>(rows, values, both).low + gap);
  both.spread(gap, L::splat(all) - gap);
  extremes.note(both);
  extremes.store(state);
}

// A feature without the rows of its least value.
template <class T>
void two_classes_after_first(const SortedRows& rows, const RowValues& values, StumpState& state) {
  using L = Lanes<T>;
  Extremes<T> extremes(state), after = Extremes<T>::of_nothing();
  const auto sums = walk_freely<T>(rows, values, after);
  const auto first = L::load(state.net_low) - sums.low;
  after.shift(first, L::splat(static_cast<T>(static_cast<T>(state.total) - sums.all)) - first);
  extremes.note(after);
  extremes.store(state);
}

template <class T>
void two_classes(const SortedRows& rows, const RowValues& values, StumpState& state) {
  if (rows.n_gap > 0) return two_views<T>(rows, values, state);
  if (rows.n_first > 0) return two_classes_after_first<T>(rows, values, state);
  Extremes<T> extremes(state);
  if (values.minimum)
    Lanes<T>::store(state.net_low, walk_with_minimum<T>(rows, values, state, extremes));
  else
    Lanes<T>::store(state.net_low, walk_freely<T>(rows, values, extremes).low);
  extremes.store(state);
}

}  // namespace
}  // namespace proofwood::trees::PROOFWOOD_ISA

#include "trees/kernels_blocks_impl.hpp"
#include "trees/kernels_classes_impl.hpp"
#include "trees/kernels_coarse_impl.hpp"
#include "trees/kernels_levels_impl.hpp"
#include "trees/kernels_rows_impl.hpp"

namespace proofwood::trees::PROOFWOOD_ISA {
namespace {

template <class T>
void finish(const StumpState& state, bool two_classes, int lane, LaneResult& result) {
  const auto at = [lane](const unsigned char* from) {
    return static_cast<std::int64_t>(reinterpret_cast<const T*>(from)[lane]);
  };
  for (int side = 0; side < 2; ++side) {
    if (!two_classes) {
      result.leaf[side] = at(state.leaf[side]);
      result.stump[side] = at(state.best_some[side]);
      result.stump_all[side] = at(state.best_all[side]);
      continue;
    }
    const std::int64_t net = side == 0 ? at(state.net_low) : state.total - at(state.net_low);
    const auto gain = [net](std::int64_t most, std::int64_t least) {
      const std::int64_t up = 2 * most - net, down = net - 2 * least;
      return up > down ? up : down;
    };
    result.leaf[side] = net < 0 ? -net : net;
    const std::int64_t by_threshold = gain(at(state.max_all[side]), at(state.min_all[side]));
    const std::int64_t by_levels = at(state.levels[side]);
    result.stump_all[side] = by_threshold > by_levels ? by_threshold : by_levels;
    const std::int64_t most = at(state.max_some[side]), least = at(state.min_some[side]);
    result.stump[side] = most < least ? -1 : gain(most, least);  // most < least: no position was permitted
  }
}

typedef std::uint32_t MaskWords __attribute__((vector_size(kBytes), aligned(4), may_alias));

// The mask of the rows from `row` on that four vectors hold, or one; each limit is loaded once for all of them.
PROOFWOOD_INLINE MaskWords mask_of(const std::uint32_t* keys, MaskWords most, MaskWords own) {
  return reinterpret_cast<MaskWords>(*reinterpret_cast<const MaskWords*>(keys) <= most) & own;
}
PROOFWOOD_INLINE void make_four(std::uint32_t row, int candidates, const std::uint32_t* const* column,
                                const std::uint32_t* limit, const std::uint32_t* own, std::uint32_t* mask) {
  constexpr std::uint32_t step = kBytes / 4;
  MaskWords a{}, b{}, c{}, d{};
  for (int lane = 0; lane < candidates; ++lane) {
    const std::uint32_t* const keys = column[lane] + row;
    const MaskWords most = MaskWords{} + limit[lane], bit = MaskWords{} + own[lane];
    a |= mask_of(keys, most, bit);
    b |= mask_of(keys + step, most, bit);
    c |= mask_of(keys + 2 * step, most, bit);
    d |= mask_of(keys + 3 * step, most, bit);
  }
  MaskWords* const to = reinterpret_cast<MaskWords*>(mask + row);
  to[0] = a;
  to[1] = b;
  to[2] = c;
  to[3] = d;
}
PROOFWOOD_INLINE void make_one(std::uint32_t row, int candidates, const std::uint32_t* const* column,
                               const std::uint32_t* limit, const std::uint32_t* own, std::uint32_t* mask) {
  MaskWords word{};
  for (int lane = 0; lane < candidates; ++lane)
    word |= mask_of(column[lane] + row, MaskWords{} + limit[lane], MaskWords{} + own[lane]);
  *reinterpret_cast<MaskWords*>(mask + row) = word;
}

void make_mask(std::uint32_t n, int candidates, const std::uint32_t* const* column, const std::uint32_t* limit,
               const int* bit, std::uint32_t* mask) {
  constexpr std::uint32_t step = kBytes / 4;
  std::uint32_t own[kMaxLanes];
  for (int c = 0; c < candidates; ++c) own[c] = 1u << bit[c];
  std::uint32_t row = 0;
  for (; row + 4 * step <= n; row += 4 * step) make_four(row, candidates, column, limit, own, mask);
  for (; row + step <= n; row += step) make_one(row, candidates, column, limit, own, mask);
  if (row == n) return;
  if (n >= step) {  // some rows a second time
    make_one(n - step, candidates, column, limit, own, mask);
    return;
  }
  for (; row < n; ++row) {
    std::uint32_t word = 0;
    for (int c = 0; c < candidates; ++c) word |= column[c][row] <= limit[c] ? own[c] : 0;
    mask[row] = word;
  }
}

std::int32_t sum_of_lesser(std::uint32_t n, const std::int32_t* a, const std::int32_t* b) {
  constexpr std::uint32_t bytes = kBytes < 32 ? kBytes : 32, step = bytes / 4;
  typedef std::int32_t Vector __attribute__((vector_size(bytes), aligned(4), may_alias));
  Vector sum{};
  for (std::uint32_t i = 0; i < n; i += step) {
    const Vector one = *reinterpret_cast<const Vector*>(a + i), other = *reinterpret_cast<const Vector*>(b + i);
    sum += one < other ? one : other;
  }
  std::int32_t total = 0;
  for (std::uint32_t lane = 0; lane < step; ++lane) total += sum[lane];
  return total;
}

// With lanes of type T, and what all kernels share.
template <class T>
constexpr Kernels lanes_of() {
  Kernels kernels{};
  kernels.name = PROOFWOOD_ISA_NAME;
  kernels.lanes = Lanes<T>::count;
  kernels.bits = static_cast<int>(sizeof(T)) * 8;
  kernels.lane_bit = &Lanes<T>::bit;
  kernels.sum_of_lesser = &sum_of_lesser;
  kernels.coarse = CoarseWalk::kSplits;
  kernels.walk_coarsely = &walk_coarsely;
  kernels.make_mask = &make_mask;
  kernels.number = &number;
  kernels.part_column = &part_column;
  kernels.part = &part;
  kernels.find_ends = &find_ends;
  return kernels;
}

template <class T>
constexpr Kernels table() {
  Kernels kernels = lanes_of<T>();
  kernels.begin = &begin<T>;
  kernels.two_classes = &two_classes<T>;
  kernels.many_classes = &many_classes<T>;
  kernels.two_classes_levels = &two_classes_levels<T>;
  kernels.many_classes_levels = &many_classes_levels<T>;
  kernels.finish = &finish<T>;
  kernels.find_two_classes = &find_two_classes<T>;
  kernels.find_many_classes = &find_many_classes<T>;
  return kernels;
}

template <class T, class S>
constexpr Kernels in_blocks() {
  Kernels kernels = lanes_of<T>();
  kernels.begin = &begin_blocks<S>;
  kernels.two_classes = &two_classes_in_blocks<T, S>;
  kernels.finish = &finish_blocks<S>;
  return kernels;
}

constexpr Kernels small_classes() {
  Kernels kernels = lanes_of<std::uint8_t>();
  kernels.begin = &begin_small_classes;
  kernels.many_classes = &many_small_classes;
  kernels.finish = &finish<std::int16_t>;
  return kernels;
}

constexpr Kernels kTables[] = {
    table<std::int16_t>(),
    table<std::int32_t>(),
    table<std::int64_t>(),
    in_blocks<std::int8_t, std::int16_t>(),
    in_blocks<std::int8_t, std::int32_t>(),
    in_blocks<std::int16_t, std::int32_t>(),
    small_classes(),
};

}  // namespace

// NOLINTNEXTLINE(misc-definitions-in-headers): this file is included once for each instruction set
const Kernels* tables() { return kTables; }

}  // namespace proofwood::trees::PROOFWOOD_ISA
