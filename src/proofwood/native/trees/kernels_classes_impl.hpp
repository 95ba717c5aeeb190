// The walk over the rows of many classes (docs/theory/optimal-trees.md, "Depth two"). Part of kernels_impl.hpp, which
// says how it is included.
//
// Counts only grow along a prefix, so a running maximum over the row's own class is the count of the prefix's best
// class. A forward walk records it for both sides at segment ends, a backward walk adds the suffix's. Rows of one class
// that follow each other in a segment are a run; counts are looked at where it ends. The forward walk keeps what was
// before each run, so that the backward walk, which has all but that, reads no masks. Where runs are short, each row is
// one: longer ones would cost a mispredicted branch each.

#include "trees/kernels_hits_impl.hpp"

namespace proofwood::trees::PROOFWOOD_ISA {
namespace {

// Within a run nothing is stored, which is where the time went; where runs are shorter a branch for each costs more:
// decisions/0026-walks-over-rows.
constexpr std::uint32_t kLongRun = 2;  // rows

enum class Counted { kUnit, kWeighted, kLimited };  // rows of unit weight; of any; with a minimum of leaves

// Counts of one class in lanes of type T, of two in lanes of type S. With `kGap` both features of a column with gaps:
// beside each best class of some rows, that of these and of the rows without a value. With `kFind` it is not the best
// stump that is wanted, but all that are good enough.
template <class T, class S, Counted kCounted, bool kLong, bool kGap, bool kFind = false>
class ClassWalk {
 public:
  ClassWalk(const SortedRows& rows, const RowValues& values, StumpWish* wish = nullptr)
      : rows_(rows), values_(values), weight_(static_cast<const T*>(values.weight)), wish_(wish) {
    static_assert(sizeof(Run) <= sizeof(V) && !(kLimited && kGap));
    const std::size_t room = static_cast<std::size_t>(rows.n) + 2;
    prefix_ = static_cast<V*>(values.scratch);
    before_ = prefix_ + 2 * room;
    runs_ = reinterpret_cast<Run*>(before_ + room);
    seen_ = before_ + 2 * room;
    tally_ = prefix_ + scratch_vectors(rows.n, kLimited || kGap);
    all_ = reinterpret_cast<T*>(tally_ + values.n_labels);
    gap_ = tally_ + 2 * values.n_labels;
    gap_all_ = reinterpret_cast<T*>(gap_ + values.n_labels);
    for (std::uint32_t c = 0; c < values.n_labels; ++c) {
      tally_[c] = V{};
      all_[c] = 0;
    }
    if constexpr (kGap) count_gap();
  }

  void walk(StumpState& state) {
    forward();
    const Wide leaf_low = W::widened(kGap ? with_low_ : best_low_),
               leaf_high = W::widened(kGap ? with_high_ : best_high_);
    W::store(state.leaf[0], leaf_low);
    W::store(state.leaf[1], leaf_high);
    all_low_ = W::max(W::load(state.best_all[0]), leaf_low);
    all_high_ = W::max(W::load(state.best_all[1]), leaf_high);
    if constexpr (kGap) {  // the test for a missing value
      all_low_ = W::max(all_low_, W::widened(best_low_) + W::widened(most_low_));
      all_high_ = W::max(all_high_, W::widened(best_high_) + W::widened(most_high_));
    }
    some_low_ = W::load(state.best_some[0]);
    some_high_ = W::load(state.best_some[1]);
    backward();
    W::store(state.best_all[0], all_low_);
    W::store(state.best_all[1], all_high_);
    W::store(state.best_some[0], some_low_);
    W::store(state.best_some[1], some_high_);
  }

  void find() {
    forward();
    need_low_ = L::load(wish_->from[0]);
    need_high_ = L::load(wish_->from[1]);
    backward();
  }

 private:
  using L = Lanes<T>;
  using V = typename L::Vector;
  using W = WideLanes<T, S>;
  using Wide = typename W::Vector;
  static constexpr bool kUnit = kCounted == Counted::kUnit, kLimited = kCounted == Counted::kLimited;
  struct Run {
    T weight;
    std::uint16_t label;
    bool first;  // of its segment
  };

  const SortedRows& rows_;
  const RowValues& values_;
  const T* const weight_;
  StumpWish* const wish_;
  V need_low_{}, need_high_{};
  V* prefix_;  // 2 per segment: best class, low and high
  V* before_;  // per run: weight of its class on the low side
  Run* runs_;  // per run, where they are long
  V* seen_;    // 4 per segment: rows and mass, low and high, with a minimum; 2 with gaps: best class with these rows
  V* tally_;   // per class, on the low side
  T* all_;     // per class, of both sides
  V* gap_;     // the same two of the rows without a value
  T* gap_all_;
  std::uint32_t n_runs_ = 0;
  V best_low_{}, best_high_{};  // weight of the best class of the rows walked over
  V most_low_{}, most_high_{};  // of the rows without a value
  V with_low_{}, with_high_{};  // of them and the rows walked over
  Wide all_low_, all_high_, some_low_, some_high_;
  V rows_low_{}, rows_high_{}, mass_low_{}, mass_high_{};  // of all rows, in the end

  PROOFWOOD_INLINE T weight(std::uint32_t row) const { return kUnit ? T{1} : weight_[row]; }
  PROOFWOOD_INLINE V add(V low, std::uint32_t row, V bits, V one) const {
    return L::add_low(low, values_.mask[row], bits, kUnit ? one : L::splat(weight_[row]));
  }
  // A class got more: so much on the low side, of so much.
  PROOFWOOD_INLINE void note(std::uint16_t c, V low, T both) {
    const V high = L::splat(both) - low;
    best_low_ = L::max(best_low_, low);
    best_high_ = L::max(best_high_, high);
    if constexpr (kGap) {
      with_low_ = L::max(with_low_, low + gap_[c]);
      with_high_ = L::max(with_high_, high + (L::splat(gap_all_[c]) - gap_[c]));
    }
  }
  void count_gap() {
    for (std::uint32_t c = 0; c < values_.n_labels; ++c) {
      gap_[c] = V{};
      gap_all_[c] = 0;
    }
    const V bits = L::bits(), one = L::splat(1);
    for (std::uint32_t i = 0; i < rows_.n_gap; ++i) {
      const std::uint32_t row = rows_.gap[i];
      const std::uint16_t c = values_.label[row];
      gap_[c] = add(gap_[c], row, bits, one);
      gap_all_[c] = static_cast<T>(gap_all_[c] + weight(row));
    }
    for (std::uint32_t c = 0; c < values_.n_labels; ++c) {
      most_low_ = L::max(most_low_, gap_[c]);
      most_high_ = L::max(most_high_, L::splat(gap_all_[c]) - gap_[c]);
    }
  }

  PROOFWOOD_INLINE void forward() {
    const V bits = L::bits(), one = L::splat(1);
    with_low_ = most_low_;
    with_high_ = most_high_;
    std::uint32_t i = 0;
    for (std::uint32_t segment = 0; segment < rows_.n_ends; ++segment) {
      const std::uint32_t start = i, end = rows_.ends[segment];
      std::uint32_t some = 0, every = ~0u;  // of the masks, with `kFind`
      const auto look = [&](std::uint32_t of) __attribute__((always_inline)) {
        if constexpr (kFind) {
          some |= values_.mask[of];
          every &= values_.mask[of];
        }
      };
      while (i < end) {
        std::uint32_t row = rows_.order[i];
        const std::uint16_t c = values_.label[row];
        V low = tally_[c];
        before_[kLong ? n_runs_ : i] = low;
        T sum = weight(row);
        low = add(low, row, bits, one);
        look(row);
        const bool first = i++ == start;
        if constexpr (kLong) {
          for (; i < end && values_.label[row = rows_.order[i]] == c; ++i) {
            low = add(low, row, bits, one);
            look(row);
            sum = static_cast<T>(sum + weight(row));
          }
          runs_[n_runs_++] = {sum, c, first};
        }
        tally_[c] = low;
        sum = static_cast<T>(sum + all_[c]);
        all_[c] = sum;
        note(c, low, sum);
      }
      prefix_[2 * segment] = best_low_;
      prefix_[2 * segment + 1] = best_high_;
      if constexpr (kFind) {
        wish_->words[2 * segment] = some;
        wish_->words[2 * segment + 1] = every;
      }
      if constexpr (kGap) {
        seen_[2 * segment] = with_low_;
        seen_[2 * segment + 1] = with_high_;
      }
      if constexpr (kLimited) count(segment, start, end, bits);
    }
  }

  PROOFWOOD_INLINE void backward() {
    for (std::uint32_t c = 0; c < values_.n_labels; ++c) all_[c] = 0;
    best_low_ = best_high_ = V{};
    with_low_ = most_low_;
    with_high_ = most_high_;
    std::uint32_t i = rows_.n;
    for (std::uint32_t segment = rows_.n_ends - 1; segment-- > 0;) {
      if constexpr (kLong) {
        bool first = false;
        while (!first) {
          const Run run = runs_[--n_runs_];
          add_after(run.label, run.weight, n_runs_);
          first = run.first;
        }
      } else {
        for (const std::uint32_t end = rows_.ends[segment]; i > end;) {
          const std::uint32_t row = rows_.order[--i];
          add_after(values_.label[row], weight(row), i);
        }
      }
      join(segment);
    }
  }
  PROOFWOOD_INLINE void add_after(std::uint16_t c, T sum, std::uint32_t run) {
    sum = static_cast<T>(sum + all_[c]);
    all_[c] = sum;
    note(c, tally_[c] - before_[run], sum);
  }
  // The best class before the end of a segment, and the best one after it.
  PROOFWOOD_INLINE void join(std::uint32_t segment) {
    const auto pair = [](V before, V after)
                          __attribute__((always_inline)) { return W::widened(before) + W::widened(after); };
    const V before_low = prefix_[2 * segment], before_high = prefix_[2 * segment + 1];
    const Wide low = pair(before_low, kGap ? with_low_ : best_low_);
    const Wide high = pair(before_high, kGap ? with_high_ : best_high_);
    if constexpr (kFind) return note_good(segment, reinterpret_cast<V>(low), reinterpret_cast<V>(high));
    all_low_ = W::max(all_low_, low);
    all_high_ = W::max(all_high_, high);
    if constexpr (kGap) {
      all_low_ = W::max(all_low_, pair(seen_[2 * segment], best_low_));
      all_high_ = W::max(all_high_, pair(seen_[2 * segment + 1], best_high_));
    }
    if constexpr (kLimited) {
      const auto [good_low, good_high] = permitted(segment);
      some_low_ = W::max(some_low_, (low & good_low) | ~good_low);
      some_high_ = W::max(some_high_, (high & good_high) | ~good_high);
    }
  }
  // Whether both leaves of a stump after the segment hold enough, on either side.
  struct Permitted {
    V low, high;
  };
  PROOFWOOD_INLINE Permitted permitted(std::uint32_t segment) const {
    const V need = L::splat(static_cast<T>(values_.min_rows)), need_mass = L::splat(static_cast<T>(values_.min_mass));
    const V* const seen = seen_ + 4 * segment;
    const auto good = [&](V count_before, V count_all, V mass_before, V mass_all) {
      return reinterpret_cast<V>((count_before >= need) & (count_all - count_before >= need) &
                                 (mass_before >= need_mass) & (mass_all - mass_before >= need_mass));
    };
    return {good(seen[0], rows_low_, seen[2], mass_low_), good(seen[1], rows_high_, seen[3], mass_high_)};
  }
  PROOFWOOD_INLINE void note_good(std::uint32_t segment, V low, V high) {
    using M = Marks<T>;
    const std::uint32_t* const words = wish_->words + 2 * segment;
    M hit_low = M::low(words[0], L::bits()).reached(low, need_low_);
    M hit_high = M::low(words[1], L::bits()).others().reached(high, need_high_);
    if constexpr (kLimited) {
      const auto [good_low, good_high] = permitted(segment);
      hit_low = hit_low & M::of(good_low);
      hit_high = hit_high & M::of(good_high);
    }
    note_hits<T>(*wish_, rows_.ends[segment], low, high, hit_low, hit_high);
  }
  PROOFWOOD_INLINE void count(std::uint32_t segment, std::uint32_t first, std::uint32_t end, V bits) {
    const T* const rows = static_cast<const T*>(values_.count);
    const T* const mass = static_cast<const T*>(values_.mass);
    for (std::uint32_t i = first; i != end; ++i) {
      const std::uint32_t row = rows_.order[i];
      const V low = L::low(values_.mask[row], bits), c = L::splat(rows[row]), m = L::splat(mass[row]);
      rows_low_ += c & low;
      rows_high_ += c & ~low;
      mass_low_ += m & low;
      mass_high_ += m & ~low;
    }
    V* const seen = seen_ + 4 * segment;
    seen[0] = rows_low_;
    seen[1] = rows_high_;
    seen[2] = mass_low_;
    seen[3] = mass_high_;
  }
};

template <class T, class S, Counted kCounted, bool kGap>
void walk_runs(const SortedRows& rows, const RowValues& values, StumpState& state) {
  if (rows.n_ends < rows.n / kLongRun)
    ClassWalk<T, S, kCounted, true, kGap>(rows, values).walk(state);
  else
    ClassWalk<T, S, kCounted, false, kGap>(rows, values).walk(state);
}

template <class T, class S, Counted kCounted>
void walk_classes(const SortedRows& rows, const RowValues& values, StumpState& state) {
  if constexpr (kCounted != Counted::kLimited)
    if (rows.n_gap > 0) return walk_runs<T, S, kCounted, true>(rows, values, state);
  walk_runs<T, S, kCounted, false>(rows, values, state);
}

template <class T>
void many_classes(const SortedRows& rows, const RowValues& values, StumpState& state) {
  if (values.minimum)
    walk_classes<T, T, Counted::kLimited>(rows, values, state);
  else if (values.unit)
    walk_classes<T, T, Counted::kUnit>(rows, values, state);
  else
    walk_classes<T, T, Counted::kWeighted>(rows, values, state);
}

template <class T, Counted kCounted>
void find_runs(const SortedRows& rows, const RowValues& values, StumpWish& wish) {
  if (rows.n_ends < rows.n / kLongRun)
    ClassWalk<T, T, kCounted, true, false, true>(rows, values, &wish).find();
  else
    ClassWalk<T, T, kCounted, false, false, true>(rows, values, &wish).find();
}

template <class T>
void find_many_classes(const SortedRows& rows, const RowValues& values, StumpWish& wish) {
  if (values.minimum)
    find_runs<T, Counted::kLimited>(rows, values, wish);
  else if (values.unit)
    find_runs<T, Counted::kUnit>(rows, values, wish);
  else
    find_runs<T, Counted::kWeighted>(rows, values, wish);
}

// All lanes of a mask, where a vector of T holds fewer.
void begin_small_classes(StumpState& state, bool) {
  for (int side = 0; side < 2; ++side)
    for (int i = 0; i < kVectorBytes; ++i) state.best_all[side][i] = state.best_some[side][i] = state.leaf[side][i] = 0;
}

void many_small_classes(const SortedRows& rows, const RowValues& values, StumpState& state) {
  if (values.unit)
    walk_classes<std::uint8_t, std::int16_t, Counted::kUnit>(rows, values, state);
  else
    walk_classes<std::uint8_t, std::int16_t, Counted::kWeighted>(rows, values, state);
}

}  // namespace
}  // namespace proofwood::trees::PROOFWOOD_ISA
