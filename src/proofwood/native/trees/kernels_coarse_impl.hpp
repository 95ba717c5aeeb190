// Bounds of the best stumps of both sides of very many splits: one bit a split, many rows between two looks
// (docs/decisions/0094-costs-of-gaps-and-columns.md). A part of kernels_impl.hpp, which says how it is included.
//
//   stretch of 128 rows    so many of them go low, and so many of these are positive: two numbers of 8 bits a split,
//                          bit by bit in 8 planes, which hold that bit for all splits
//   s                      at its start; it never exceeds s + positive in the stretch, nor falls below that less rows
namespace proofwood::trees::PROOFWOOD_ISA {
namespace {

class CoarseWalk {
 public:
  static constexpr int kSplits = kBytes * 8;

  CoarseWalk(const CoarseRows& rows, CoarseState& state) : rows_(rows), state_(state) {
    for (int v = 0; v < kVectors; ++v) s_[v] = most_low_[v] = least_low_[v] = most_high_[v] = least_high_[v] = V{};
  }

  void walk() {
    for (std::uint32_t from = 0; from < rows_.n; from += kStretch) stretch(from);
    for (int v = 0; v < kVectors; ++v) {
      // the rows before these have what is left
      const V low = rows_.n_first > 0 ? at(state_.net, v) - s_[v] : V{};
      const V high = rows_.n_first > 0 ? V{} + static_cast<std::int16_t>(state_.total - all_) - low : V{};
      at(state_.net, v) = s_[v] + low;
      at(state_.most[0], v) = L::max(at(state_.most[0], v), most_low_[v] + low);
      at(state_.least[0], v) = L::min(at(state_.least[0], v), least_low_[v] + low);
      at(state_.most[1], v) = L::max(at(state_.most[1], v), most_high_[v] + high);
      at(state_.least[1], v) = L::min(at(state_.least[1], v), least_high_[v] + high);
    }
  }

 private:
  static constexpr std::uint32_t kStretch = 128, kAtOnce = 8;
  static constexpr int kPlanes = 8, kVectors = 16, kCount = kBytes / 2;  // lanes of a vector
  typedef std::uint64_t Plane __attribute__((vector_size(kBytes), may_alias));
  typedef std::int16_t V __attribute__((vector_size(kBytes), may_alias));
  struct L {
    static V max(V a, V b) { return a > b ? a : b; }
    static V min(V a, V b) { return a < b ? a : b; }
  };

  const CoarseRows& rows_;
  CoarseState& state_;
  V s_[kVectors], most_low_[kVectors], least_low_[kVectors], most_high_[kVectors], least_high_[kVectors];
  int all_ = 0;  // sum of signed weights so far

  static V& at(std::int16_t* values, int v) { return reinterpret_cast<V*>(values)[v]; }

  // Numbers of eight bits, to which eight bits are added at once.
  struct Counter {
    Plane bit[kPlanes] = {};

    // a + b + c = sum + 2 * carry
    PROOFWOOD_INLINE static void add(Plane a, Plane b, Plane c, Plane& sum, Plane& carry) {
#ifdef PROOFWOOD_WITH_INTRINSICS
      const __m512i x = reinterpret_cast<__m512i>(a), y = reinterpret_cast<__m512i>(b),
                    z = reinterpret_cast<__m512i>(c);
      sum = reinterpret_cast<Plane>(_mm512_ternarylogic_epi64(x, y, z, 0x96));
      carry = reinterpret_cast<Plane>(_mm512_ternarylogic_epi64(x, y, z, 0xe8));
#else
      const Plane differ = a ^ b;
      sum = differ ^ c;
      carry = (a & b) | (differ & c);
#endif
    }
    PROOFWOOD_INLINE void add_eight(const Plane* r) {
      Plane twos[4], fours[2], carry;
      add(bit[0], r[0], r[1], bit[0], twos[0]);
      add(bit[0], r[2], r[3], bit[0], twos[1]);
      add(bit[0], r[4], r[5], bit[0], twos[2]);
      add(bit[0], r[6], r[7], bit[0], twos[3]);
      add(bit[1], twos[0], twos[1], bit[1], fours[0]);
      add(bit[1], twos[2], twos[3], bit[1], fours[1]);
      add(bit[2], fours[0], fours[1], bit[2], carry);
      for (int k = 3; k < kPlanes; ++k) {
        const Plane both = bit[k] & carry;
        bit[k] ^= carry;
        carry = both;
      }
    }
    // The numbers of the lanes of a vector.
    PROOFWOOD_INLINE V lanes(int v) const {
      V sum{};
      for (int k = 0; k < kPlanes; ++k) sum = add_bits(sum, bit[k], v, static_cast<std::int16_t>(1 << k));
      return sum;
    }
  };

  // `sum`, and `value` in the lanes whose bit is set.
  PROOFWOOD_INLINE static V add_bits(V sum, const Plane& plane, int v, std::int16_t value) {
#ifdef PROOFWOOD_WITH_INTRINSICS
    typedef std::uint32_t Word __attribute__((may_alias));
    const __mmask32 bits = reinterpret_cast<const Word*>(&plane)[v];
    return reinterpret_cast<V>(_mm512_mask_add_epi16(reinterpret_cast<__m512i>(sum), bits,
                                                     reinterpret_cast<__m512i>(sum), _mm512_set1_epi16(value)));
#else
    typedef std::uint16_t Bits __attribute__((vector_size(kBytes)));
    static constexpr auto kBits = [] {
      struct alignas(kBytes) {
        std::uint16_t of[kCount];
      } bits{};
      for (int lane = 0; lane < kCount; ++lane) bits.of[lane] = static_cast<std::uint16_t>(1 << lane);
      return bits;
    }();
    const Bits own = *reinterpret_cast<const Bits*>(kBits.of);
    unsigned word = 0;
    for (int b = 0; b < kCount / 8; ++b)
      word |= static_cast<unsigned>(reinterpret_cast<const unsigned char*>(&plane)[v * (kCount / 8) + b]) << 8 * b;
    const Bits seen = Bits{} + static_cast<std::uint16_t>(word);
    return sum + (reinterpret_cast<V>((seen & own) == own) & (V{} + value));
#endif
  }

  PROOFWOOD_INLINE void stretch(std::uint32_t from) {
    const std::uint32_t to = rows_.n - from < kStretch ? rows_.n : from + kStretch;
    Counter counts, positives;
    int all_positive = 0;
    for (std::uint32_t i = from; i < to; i += kAtOnce) {
      Plane low[kAtOnce], positive[kAtOnce];
      for (std::uint32_t k = 0; k < kAtOnce; ++k) {
        if (i + k >= to) {
          low[k] = positive[k] = Plane{};
          continue;
        }
        const std::uint32_t row = rows_.order[i + k];
        const Plane* const mask = static_cast<const Plane*>(rows_.mask) + 2 * std::size_t{row};
        low[k] = mask[0];
        positive[k] = mask[1];
        all_positive += rows_.positive[row];
      }
      counts.add_eight(low);
      positives.add_eight(positive);
    }
    const int most = all_ + all_positive, least = most - static_cast<int>(to - from);
    for (int v = 0; v < kVectors; ++v) {
      const V positive = positives.lanes(v);
      const V above = s_[v] + positive, below = above - counts.lanes(v);
      most_low_[v] = L::max(most_low_[v], above);
      least_low_[v] = L::min(least_low_[v], below);
      most_high_[v] = L::max(most_high_[v], static_cast<std::int16_t>(most) - above);
      least_high_[v] = L::min(least_high_[v], static_cast<std::int16_t>(least) - below);
      s_[v] = below + positive;
    }
    all_ = least + all_positive;
  }
};

void walk_coarsely(const CoarseRows& rows, CoarseState& state) { CoarseWalk(rows, state).walk(); }

}  // namespace
}  // namespace proofwood::trees::PROOFWOOD_ISA
