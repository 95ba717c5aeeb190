// The stump kernels for one instruction set (docs/theory/optimal-trees.md, "Depth two"). Included once per translation
// unit, each compiled with its own flags, with PROOFWOOD_ISA naming the namespace and PROOFWOOD_VECTOR_BYTES the width:
// nothing here may be shared between them.
#include <limits>
#include <type_traits>

#include "trees/kernels.hpp"

namespace proofwood::trees::PROOFWOOD_ISA {
namespace {

constexpr int kBytes = PROOFWOOD_VECTOR_BYTES;

#define PROOFWOOD_INLINE [[gnu::always_inline]] inline  // parts of a loop whose values stay in registers

template <class T>
struct Lanes {
  typedef T Vector __attribute__((vector_size(kBytes)));
  typedef std::uint32_t Words __attribute__((vector_size(kBytes)));
  static constexpr int count = kBytes / static_cast<int>(sizeof(T));

  // A mask word is copied to every 32-bit element. A 16-bit lane sees one half of it, wider lanes see all of it.
  static int bit(int lane) { return sizeof(T) == 2 ? (lane & 1) * 16 + (lane >> 1) : lane; }
  static Vector splat(T value) { return Vector{} + value; }
  static Vector bits() {
    Vector v{};
    for (int lane = 0; lane < count; ++lane) {
      const int b = bit(lane);
      v[lane] = static_cast<T>(static_cast<std::uint64_t>(1) << (sizeof(T) == 2 ? b % 16 : b));
    }
    return v;
  }
  static Vector low(std::uint32_t mask, Vector bits) {  // all ones where the row goes low
    const Vector word = reinterpret_cast<Vector>(Words{} + mask);
    return reinterpret_cast<Vector>((word & bits) == bits);
  }
  static Vector max(Vector a, Vector b) { return a > b ? a : b; }
  static Vector min(Vector a, Vector b) { return a < b ? a : b; }
  static Vector load(const unsigned char* from) { return *reinterpret_cast<const Vector*>(from); }
  static void store(unsigned char* to, Vector v) { *reinterpret_cast<Vector*>(to) = v; }
  static Vector lowest() { return splat(std::numeric_limits<T>::min() / 2); }
  static Vector highest() { return splat(std::numeric_limits<T>::max() / 2); }
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

// Without a minimum, by whichever loop suits the segments. Returns s at the end.
template <class T>
PROOFWOOD_INLINE auto walk_freely(const SortedRows& rows, const RowValues& values, Extremes<T>& extremes) {
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
      s += L::low(mask[row], bits) & w;
      all += w;
      extremes.note(s, all - s);
    }
  } else if (rows.is_end != nullptr) {  // many short segments: a blend costs less than a mispredicted branch
    V end_low{}, end_all{};
    for (std::uint32_t i = 0; i < rows.n; ++i) {
      const std::uint32_t row = order[i];
      const V w = L::splat(weight[row]), end = L::splat(static_cast<T>(rows.is_end[i]));
      s += L::low(mask[row], bits) & w;
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
  }
  return s;
}

template <class T>
void two_classes(const SortedRows& rows, const RowValues& values, StumpState& state) {
  Extremes<T> extremes(state);
  if (values.minimum)
    Lanes<T>::store(state.net_low, walk_with_minimum<T>(rows, values, state, extremes));
  else
    Lanes<T>::store(state.net_low, walk_freely<T>(rows, values, extremes));
  extremes.store(state);
}

// Many classes: counts only grow along a prefix, so a running maximum over the row's own class is the count of the
// prefix's best class. A forward walk records it for both sides at segment ends, a backward walk adds the suffix's.
// Rows of one class that follow each other are a run. Sums of a long run stay in registers, and are looked at where it
// ends; short runs would cost a mispredicted branch each.
constexpr std::uint32_t kLongRun = 3;  // rows

template <class T>
struct ClassWalk {
  using L = Lanes<T>;
  using V = typename L::Vector;
  const RowValues values;
  const std::uint32_t* const order;
  V *prefix, *seen, *tally;  // 2 per segment: best class, low and high; 4: rows and mass, low and high; 2 per class
  T* all;                    // per class, of both sides
  const bool long_runs;
  struct Best {
    V low{}, high{};
  };
  Best forward;                                        // of all rows
  V rows_low{}, rows_high{}, mass_low{}, mass_high{};  // of the rows walked over

  ClassWalk(const SortedRows& rows, const RowValues& of)
      : values(of), order(rows.order), long_runs(rows.n_ends < rows.n / kLongRun) {
    const std::size_t room = static_cast<std::size_t>(rows.n) + 2;
    prefix = static_cast<V*>(values.scratch);
    seen = prefix + 2 * room;
    tally = prefix + kScratchVectors * room;
    all = reinterpret_cast<T*>(tally + 2 * values.n_labels);
  }
  void clear() const {
    for (std::uint32_t c = 0; c < values.n_labels; ++c) {
      tally[2 * c] = tally[2 * c + 1] = V{};
      all[c] = 0;
    }
  }
  // Walks over rows `first` to before `end` in their order; backward: from `first` - 1 down to `end`.
  template <bool kBackward>
  PROOFWOOD_INLINE void walk(std::uint32_t first, std::uint32_t end, V bits, Best& best) const {
    if (long_runs)
      walk_runs<kBackward>(first, end, bits, best);
    else
      walk_rows<kBackward>(first, end, bits, best);
  }
  template <bool kBackward>
  PROOFWOOD_INLINE void walk_rows(std::uint32_t first, std::uint32_t end, V bits, Best& best) const {
    const T* const weight = static_cast<const T*>(values.weight);
    for (std::uint32_t i = first; i != end; i = kBackward ? i - 1 : i + 1) {
      const std::uint32_t row = order[kBackward ? i - 1 : i];
      const V low = L::low(values.mask[row], bits), w = L::splat(weight[row]);
      V* const mine = tally + 2 * values.label[row];
      const V sum_low = mine[0] + (w & low), sum_high = mine[1] + (w & ~low);
      mine[0] = sum_low;
      mine[1] = sum_high;
      best.low = L::max(best.low, sum_low);
      best.high = L::max(best.high, sum_high);
    }
  }
  template <bool kBackward>
  PROOFWOOD_INLINE void walk_runs(std::uint32_t first, std::uint32_t end, V bits, Best& best) const {
    const T* const weight = static_cast<const T*>(values.weight);
    const std::uint32_t* const from = kBackward ? order - 1 : order;
    for (std::uint32_t i = first; i != end;) {
      std::uint32_t row = from[i];
      const std::uint16_t c = values.label[row];
      V low = tally[2 * c];
      T sum = all[c];
      do {
        low += L::low(values.mask[row], bits) & L::splat(weight[row]);
        sum = static_cast<T>(sum + weight[row]);
        i = kBackward ? i - 1 : i + 1;
        if (i == end) break;
        row = from[i];
      } while (values.label[row] == c);
      tally[2 * c] = low;
      all[c] = sum;
      best.low = L::max(best.low, low);
      best.high = L::max(best.high, L::splat(sum) - low);
    }
  }
  PROOFWOOD_INLINE void count(std::uint32_t first, std::uint32_t end, V bits) {
    const T* const rows = static_cast<const T*>(values.count);
    const T* const mass = static_cast<const T*>(values.mass);
    for (std::uint32_t i = first; i != end; ++i) {
      const std::uint32_t row = order[i];
      const V low = L::low(values.mask[row], bits), c = L::splat(rows[row]), m = L::splat(mass[row]);
      rows_low += c & low;
      rows_high += c & ~low;
      mass_low += m & low;
      mass_high += m & ~low;
    }
  }
};

template <class T>
PROOFWOOD_INLINE void walk_forward(const SortedRows& rows, ClassWalk<T>& walk) {
  using V = typename Lanes<T>::Vector;
  const V bits = Lanes<T>::bits();
  typename ClassWalk<T>::Best best;
  walk.clear();
  for (std::uint32_t segment = 0, i = 0; segment < rows.n_ends; i = rows.ends[segment++]) {
    walk.template walk<false>(i, rows.ends[segment], bits, best);
    walk.prefix[2 * segment] = best.low;
    walk.prefix[2 * segment + 1] = best.high;
    if (walk.values.minimum) {
      walk.count(i, rows.ends[segment], bits);
      V* const seen = walk.seen + 4 * segment;
      seen[0] = walk.rows_low;
      seen[1] = walk.rows_high;
      seen[2] = walk.mass_low;
      seen[3] = walk.mass_high;
    }
  }
  walk.forward = best;
}

template <class T>
PROOFWOOD_INLINE void walk_backward(const SortedRows& rows, ClassWalk<T>& walk, StumpState& state) {
  using L = Lanes<T>;
  using V = typename L::Vector;
  const V bits = L::bits();
  const RowValues& values = walk.values;
  const V* const prefix = walk.prefix;
  V all_low = L::max(L::load(state.best_all[0]), walk.forward.low),
    all_high = L::max(L::load(state.best_all[1]), walk.forward.high);
  V some_low = L::load(state.best_some[0]), some_high = L::load(state.best_some[1]);
  const V need = L::splat(static_cast<T>(values.min_rows)), need_mass = L::splat(static_cast<T>(values.min_mass));
  typename ClassWalk<T>::Best best;
  walk.clear();
  for (std::uint32_t segment = rows.n_ends - 1, i = rows.n; segment > 0; i = rows.ends[--segment]) {
    walk.template walk<true>(i, rows.ends[segment - 1], bits, best);
    const V low = prefix[2 * segment - 2] + best.low, high = prefix[2 * segment - 1] + best.high;
    all_low = L::max(all_low, low);
    all_high = L::max(all_high, high);
    if (values.minimum) {
      const V* const before = walk.seen + 4 * (segment - 1);
      const auto good = [&](V count_before, V count_all, V mass_before, V mass_all) {
        return reinterpret_cast<V>((count_before >= need) & (count_all - count_before >= need) &
                                   (mass_before >= need_mass) & (mass_all - mass_before >= need_mass));
      };
      const V good_low = good(before[0], walk.rows_low, before[2], walk.mass_low);
      const V good_high = good(before[1], walk.rows_high, before[3], walk.mass_high);
      some_low = L::max(some_low, (low & good_low) | ~good_low);
      some_high = L::max(some_high, (high & good_high) | ~good_high);
    }
  }
  L::store(state.best_all[0], all_low);
  L::store(state.best_all[1], all_high);
  L::store(state.best_some[0], some_low);
  L::store(state.best_some[1], some_high);
}

template <class T>
void many_classes(const SortedRows& rows, const RowValues& values, StumpState& state) {
  ClassWalk<T> walk(rows, values);
  walk_forward(rows, walk);
  Lanes<T>::store(state.leaf[0], walk.forward.low);
  Lanes<T>::store(state.leaf[1], walk.forward.high);
  walk_backward(rows, walk, state);
}

}  // namespace
}  // namespace proofwood::trees::PROOFWOOD_ISA

#include "trees/kernels_blocks_impl.hpp"
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

void make_mask(std::uint32_t n, int candidates, const std::uint32_t* const* column, const std::uint32_t* limit,
               const int* bit, std::uint32_t* mask) {
  typedef std::uint32_t Words __attribute__((vector_size(kBytes), aligned(4), may_alias));
  constexpr std::uint32_t step = kBytes / 4;
  std::uint32_t row = 0;
  for (; row + step <= n; row += step) {
    Words word{};
    for (int c = 0; c < candidates; ++c) {
      const Words key = *reinterpret_cast<const Words*>(column[c] + row);
      word |= reinterpret_cast<Words>(key <= (Words{} + limit[c])) & (Words{} + (1u << bit[c]));
    }
    *reinterpret_cast<Words*>(mask + row) = word;
  }
  for (; row < n; ++row) {
    std::uint32_t word = 0;
    for (int c = 0; c < candidates; ++c) word |= static_cast<std::uint32_t>(column[c][row] <= limit[c]) << bit[c];
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

template <class T>
constexpr Kernels table(const char* name) {
  return {name,
          Lanes<T>::count,
          static_cast<int>(sizeof(T)) * 8,
          &Lanes<T>::bit,
          &begin<T>,
          &two_classes<T>,
          &many_classes<T>,
          &two_classes_levels<T>,
          &many_classes_levels<T>,
          &finish<T>,
          &sum_of_lesser,
          &make_mask,
          &part,
          &find_ends};
}

constexpr Kernels in_blocks(Kernels kernels) {
  kernels.begin = &begin_blocks;
  kernels.two_classes = &two_classes_in_blocks;
  kernels.many_classes = kernels.two_classes_levels = kernels.many_classes_levels = nullptr;
  kernels.finish = &finish_blocks;
  return kernels;
}

constexpr Kernels kTables[] = {table<std::int16_t>(PROOFWOOD_ISA_NAME), table<std::int32_t>(PROOFWOOD_ISA_NAME),
                               table<std::int64_t>(PROOFWOOD_ISA_NAME),
                               in_blocks(table<std::int16_t>(PROOFWOOD_ISA_NAME))};

}  // namespace

// NOLINTNEXTLINE(misc-definitions-in-headers): this file is included once for each instruction set
const Kernels* tables() { return kTables; }

}  // namespace proofwood::trees::PROOFWOOD_ISA
