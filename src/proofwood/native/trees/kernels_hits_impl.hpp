// The walk that finds every stump that is good enough, of all lanes at once
// (docs/theory/near-optimal-trees.md, "Counting stumps"). Part of kernels_impl.hpp, which says how it is included.

namespace proofwood::trees::PROOFWOOD_ISA {
namespace {

// What some of the rows of a segment have, and what all of them have: a stump behind it splits the rows of a side
// otherwise than the one before only where one of them is on that side.
template <class T>
PROOFWOOD_INLINE void find_words(const SortedRows& rows, const std::uint32_t* mask, std::uint32_t first,
                                 std::uint32_t end, std::uint32_t* words) {
  std::uint32_t some = 0, every = ~0u;
  for (std::uint32_t i = first; i < end; ++i) {
    const std::uint32_t word = mask[rows.order[i]];
    some |= word;
    every &= word;
  }
  words[0] = some;
  words[1] = every;
}

template <class T>
class Hits {
  using L = Lanes<T>;
  using V = typename L::Vector;

 public:
  // After `position` rows, with the sums of both sides.
  PROOFWOOD_INLINE static void note(StumpWish& wish, std::uint32_t position, V low, V high, V hit_low, V hit_high) {
    if (!any(hit_low | hit_high)) return;
    if (wish.n_hits + 2 * L::count > wish.room) wish.full(wish);
    append(wish, position, 0, low, hit_low);
    append(wish, position, 1, high, hit_high);
  }

 private:
  using Words = typename L::LongWords;
  static constexpr int kWords = L::kSize / 8;
  PROOFWOOD_INLINE static bool any(V hit) {
    const Words words = reinterpret_cast<Words>(hit);
    std::uint64_t all = 0;
    for (int i = 0; i < kWords; ++i) all |= words[i];
    return all != 0;
  }
  static void append(StumpWish& wish, std::uint32_t position, int side, V sums, V hit) {
    const Words words = reinterpret_cast<Words>(hit);
    constexpr int each = 8 / static_cast<int>(sizeof(T));
    for (int word = 0; word < kWords; ++word) {
      if (words[word] == 0) continue;
      for (int lane = word * each; lane < (word + 1) * each; ++lane)
        if (hit[lane] != 0)
          wish.hits[wish.n_hits++] = {position, static_cast<std::uint16_t>(lane), static_cast<std::uint16_t>(side),
                                      static_cast<std::int64_t>(sums[lane])};
    }
  }
};

// What the leaves of a side must hold, along the rows in order.
template <class T>
class Held {
  using L = Lanes<T>;
  using V = typename L::Vector;

 public:
  Held(const SortedRows& rows, const RowValues& values) : values_(values), bits_(L::bits()) {
    for (std::uint32_t i = 0; i < rows.n; ++i) add(rows.order[i]);
    all_low_[0] = low_[0];
    all_low_[1] = low_[1];
    all_[0] = sum_[0];
    all_[1] = sum_[1];
    low_[0] = low_[1] = V{};
    sum_[0] = sum_[1] = 0;
  }
  PROOFWOOD_INLINE void add(std::uint32_t row) {
    const V low = L::low(values_.mask[row], bits_);
    for (int k = 0; k < 2; ++k) {
      const T value = static_cast<const T*>(k == 0 ? values_.count : values_.mass)[row];
      low_[k] += low & L::splat(value);
      sum_[k] = static_cast<T>(sum_[k] + value);
    }
  }
  PROOFWOOD_INLINE V enough_low() const { return enough(0, low_[0], all_low_[0]) & enough(1, low_[1], all_low_[1]); }
  PROOFWOOD_INLINE V enough_high() const {
    return enough(0, L::splat(sum_[0]) - low_[0], L::splat(all_[0]) - all_low_[0]) &
           enough(1, L::splat(sum_[1]) - low_[1], L::splat(all_[1]) - all_low_[1]);
  }

 private:
  PROOFWOOD_INLINE V enough(int k, V before, V all) const {
    const V need = L::splat(static_cast<T>(k == 0 ? values_.min_rows : values_.min_mass));
    return reinterpret_cast<V>((before >= need) & (all - before >= need));
  }

  const RowValues& values_;
  const V bits_;
  V low_[2]{}, all_low_[2]{};
  T sum_[2]{}, all_[2]{};
};

template <class T, bool kLimited>
void find_among_two(const SortedRows& rows, const RowValues& values, StumpWish& wish) {
  using L = Lanes<T>;
  using V = typename L::Vector;
  const V bits = L::bits();
  const std::uint32_t* const mask = values.mask;
  const T* const weight = static_cast<const T*>(values.weight);
  const V from_low = L::load(wish.from[0]), from_high = L::load(wish.from[1]);
  const V until_low = L::load(wish.until[0]), until_high = L::load(wish.until[1]);
  [[maybe_unused]] std::conditional_t<kLimited, Held<T>, int> held = [&] {
    if constexpr (kLimited)
      return Held<T>(rows, values);
    else
      return 0;
  }();
  V low{};
  T sum = 0;
  std::uint32_t i = 0;
  for (std::uint32_t segment = 0; segment + 1 < rows.n_ends; ++segment) {
    std::uint32_t some = 0, every = ~0u;
    for (const std::uint32_t end = rows.ends[segment]; i < end; ++i) {
      const std::uint32_t row = rows.order[i], word = mask[row];
      low += L::low(word, bits) & L::splat(weight[row]);
      sum = static_cast<T>(sum + weight[row]);
      some |= word;
      every &= word;
      if constexpr (kLimited) held.add(row);
    }
    const V high = L::splat(sum) - low;
    V hit_low = reinterpret_cast<V>((low >= from_low) | (low <= until_low)) & L::low(some, bits);
    V hit_high = reinterpret_cast<V>((high >= from_high) | (high <= until_high)) & ~L::low(every, bits);
    if constexpr (kLimited) {
      hit_low &= held.enough_low();
      hit_high &= held.enough_high();
    }
    Hits<T>::note(wish, i, low, high, hit_low, hit_high);
  }
}

template <class T>
void find_two_classes(const SortedRows& rows, const RowValues& values, StumpWish& wish) {
  if (values.minimum)
    find_among_two<T, true>(rows, values, wish);
  else
    find_among_two<T, false>(rows, values, wish);
}

}  // namespace
}  // namespace proofwood::trees::PROOFWOOD_ISA
