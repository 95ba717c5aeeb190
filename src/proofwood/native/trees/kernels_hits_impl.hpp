// The walk that finds every stump that is good enough, of all lanes at once
// (docs/theory/near-optimal-trees.md, "Counting stumps"). Part of kernels_impl.hpp, which says how it is included.

namespace proofwood::trees::PROOFWOOD_ISA {
namespace {

// Lanes that are marked: bits where there are mask registers, else all ones in the lane.
#ifdef PROOFWOOD_WITH_INTRINSICS
template <class T>
class Marks {
 public:
  using L = Lanes<T>;
  using V = typename L::Vector;

  PROOFWOOD_INLINE static Marks low(std::uint32_t word, V bits) {
    const __m512i words = _mm512_set1_epi32(static_cast<int>(word)), of = reinterpret_cast<__m512i>(bits);
    if constexpr (sizeof(T) == 2) return {_mm512_test_epi16_mask(words, of)};
    if constexpr (sizeof(T) == 4) return {_mm512_test_epi32_mask(words, of)};
    return {_mm512_test_epi64_mask(words, of)};
  }
  PROOFWOOD_INLINE static Marks of(V lanes) {
    const __m512i all = reinterpret_cast<__m512i>(lanes);
    if constexpr (sizeof(T) == 2) return {_mm512_movepi16_mask(all)};
    if constexpr (sizeof(T) == 4) return {_mm512_movepi32_mask(all)};
    return {_mm512_movepi64_mask(all)};
  }
  PROOFWOOD_INLINE Marks others() const { return {~bits_ & kAll}; }
  PROOFWOOD_INLINE Marks operator&(Marks more) const { return {bits_ & more.bits_}; }
  PROOFWOOD_INLINE V added(V sum, V weight) const {
    const __m512i a = reinterpret_cast<__m512i>(sum), b = reinterpret_cast<__m512i>(weight);
    if constexpr (sizeof(T) == 2)
      return reinterpret_cast<V>(_mm512_mask_add_epi16(a, static_cast<__mmask32>(bits_), a, b));
    if constexpr (sizeof(T) == 4)
      return reinterpret_cast<V>(_mm512_mask_add_epi32(a, static_cast<__mmask16>(bits_), a, b));
    return reinterpret_cast<V>(_mm512_mask_add_epi64(a, static_cast<__mmask8>(bits_), a, b));
  }
  // Those of these lanes that are at least `least`.
  PROOFWOOD_INLINE Marks reached(V sum, V least) const {
    const __m512i a = reinterpret_cast<__m512i>(sum), b = reinterpret_cast<__m512i>(least);
    if constexpr (sizeof(T) == 2) return {_mm512_mask_cmpge_epi16_mask(static_cast<__mmask32>(bits_), a, b)};
    if constexpr (sizeof(T) == 4) return {_mm512_mask_cmpge_epi32_mask(static_cast<__mmask16>(bits_), a, b)};
    return {_mm512_mask_cmpge_epi64_mask(static_cast<__mmask8>(bits_), a, b)};
  }
  PROOFWOOD_INLINE static bool any(Marks a, Marks b) { return (a.bits_ | b.bits_) != 0; }
  PROOFWOOD_INLINE void visit(const auto& work) const {
    for (std::uint32_t left = bits_; left != 0; left &= left - 1) work(__builtin_ctz(left));
  }

 private:
  static constexpr std::uint32_t kAll = static_cast<std::uint32_t>((std::uint64_t{1} << L::count) - 1);
  PROOFWOOD_INLINE Marks(std::uint32_t bits) : bits_(bits) {}
  std::uint32_t bits_;
};
#else
template <class T>
class Marks {
 public:
  using L = Lanes<T>;
  using V = typename L::Vector;
  using Words = typename L::LongWords;

  PROOFWOOD_INLINE static Marks low(std::uint32_t word, V bits) { return {L::low(word, bits)}; }
  PROOFWOOD_INLINE static Marks of(V lanes) { return {lanes}; }
  PROOFWOOD_INLINE Marks others() const { return {~lanes_}; }
  PROOFWOOD_INLINE Marks operator&(Marks more) const { return {lanes_ & more.lanes_}; }
  PROOFWOOD_INLINE V added(V sum, V weight) const { return sum + (lanes_ & weight); }
  PROOFWOOD_INLINE Marks reached(V sum, V least) const { return {reinterpret_cast<V>(sum >= least) & lanes_}; }
  PROOFWOOD_INLINE static bool any(Marks a, Marks b) {
    const Words words = reinterpret_cast<Words>(a.lanes_ | b.lanes_);
    std::uint64_t all = 0;
    for (int i = 0; i < kWords; ++i) all |= words[i];
    return all != 0;
  }
  PROOFWOOD_INLINE void visit(const auto& work) const {
    constexpr int each = 8 / static_cast<int>(sizeof(T));
    const Words words = reinterpret_cast<Words>(lanes_);
    for (int word = 0; word < kWords; ++word) {
      if (words[word] == 0) continue;
      for (int lane = word * each; lane < (word + 1) * each; ++lane)
        if (lanes_[lane] != 0) work(lane);
    }
  }

 private:
  static constexpr int kWords = L::kSize / 8;
  PROOFWOOD_INLINE Marks(V lanes) : lanes_(lanes) {}
  V lanes_;
};
#endif

// After `position` rows, with the sums of both sides.
template <class T>
PROOFWOOD_INLINE void note_hits(StumpWish& wish, std::uint32_t position, typename Lanes<T>::Vector low,
                                typename Lanes<T>::Vector high, Marks<T> hit_low, Marks<T> hit_high) {
  if (!Marks<T>::any(hit_low, hit_high)) return;
  if (wish.n_hits + 2 * Lanes<T>::count > wish.room) wish.full(wish);
  StumpHit* to = wish.hits + wish.n_hits;
  hit_low.visit(
      [&](int lane) { *to++ = {position, static_cast<std::uint16_t>(lane), 0, static_cast<std::int64_t>(low[lane])}; });
  hit_high.visit([&](int lane) {
    *to++ = {position, static_cast<std::uint16_t>(lane), 1, static_cast<std::int64_t>(high[lane])};
  });
  wish.n_hits = static_cast<std::size_t>(to - wish.hits);
}

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

// A sum s is good where s >= from or s <= until. Both are one comparison of s - until - 1, which wraps around below 0:
// sums start at that, in the order of signed numbers.
template <class T>
PROOFWOOD_INLINE typename Lanes<T>::Vector shifted(typename Lanes<T>::Vector sum, typename Lanes<T>::Vector until) {
  return sum - until + std::numeric_limits<T>::max();
}

template <class T, bool kLimited>
void find_among_two(const SortedRows& rows, const RowValues& values, StumpWish& wish) {
  using L = Lanes<T>;
  using M = Marks<T>;
  using V = typename L::Vector;
  const V bits = L::bits();
  const std::uint32_t* const mask = values.mask;
  const T* const weight = static_cast<const T*>(values.weight);
  const V until_low = L::load(wish.until[0]), until_high = L::load(wish.until[1]);
  const V least_low = shifted<T>(L::load(wish.from[0]), until_low);
  const V least_high = shifted<T>(L::load(wish.from[1]), until_high);
  [[maybe_unused]] std::conditional_t<kLimited, Held<T>, int> held = [&] {
    if constexpr (kLimited)
      return Held<T>(rows, values);
    else
      return 0;
  }();
  const V zero_low = shifted<T>(V{}, until_low), zero_high = shifted<T>(V{}, until_high);
  V low = zero_low, high = zero_high;
  std::uint32_t i = 0;
  for (std::uint32_t segment = 0; segment + 1 < rows.n_ends; ++segment) {
    std::uint32_t some = 0, every = ~0u;
    for (const std::uint32_t end = rows.ends[segment]; i < end; ++i) {
      const std::uint32_t row = rows.order[i], word = mask[row];
      const M is_low = M::low(word, bits);
      const V own = L::splat(weight[row]);
      low = is_low.added(low, own);
      high = is_low.others().added(high, own);
      some |= word;
      every &= word;
      if constexpr (kLimited) held.add(row);
    }
    M hit_low = M::low(some, bits).reached(low, least_low);
    M hit_high = M::low(every, bits).others().reached(high, least_high);
    if constexpr (kLimited) {
      hit_low = hit_low & M::of(held.enough_low());
      hit_high = hit_high & M::of(held.enough_high());
    }
    if (M::any(hit_low, hit_high)) note_hits<T>(wish, i, low - zero_low, high - zero_high, hit_low, hit_high);
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
