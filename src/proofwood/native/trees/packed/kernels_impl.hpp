// The kernels over packed tests for one instruction set (docs/theory/optimal-trees.md, "Packed tests"). Included once
// per translation unit, each compiled with its own flags, with PROOFWOOD_ISA naming the namespace and
// PROOFWOOD_VECTOR_BYTES the width: nothing here may be shared between them.
#ifdef PROOFWOOD_COUNT_WITH_INTRINSICS
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "trees/packed/kernels.hpp"

namespace proofwood::trees::packed::PROOFWOOD_ISA {
namespace {

constexpr u32 kBytes = PROOFWOOD_VECTOR_BYTES;
constexpr u32 kWordLanes = kBytes / 2;          // tests of a vector of words
constexpr u32 kParts = kTogether / kWordLanes;  // vectors of words of a block
constexpr u32 kRowsTogether = 4;                // tests whose pairs are counted in one walk over the words

#define PROOFWOOD_INLINE [[gnu::always_inline]] inline  // parts of a loop whose values stay in registers

typedef std::uint16_t Word __attribute__((vector_size(kBytes)));
typedef std::uint32_t Word32 __attribute__((vector_size(kBytes)));

PROOFWOOD_INLINE Word load(const std::uint16_t* from) {
  Word v;
  std::memcpy(&v, from, kBytes);
  return v;
}
PROOFWOOD_INLINE void store(std::uint16_t* to, Word v) { std::memcpy(to, &v, kBytes); }

// ------------------------------------------------------------------ bits of words

#if PROOFWOOD_VECTOR_BYTES == 64 && defined(PROOFWOOD_COUNT_WITH_INTRINSICS)

constexpr u32 kCountsTogether = 4000;  // words whose counts 16 bits hold

PROOFWOOD_INLINE Word add_counts(Word counts, Word x) {
  return counts + reinterpret_cast<Word>(_mm512_popcnt_epi16(reinterpret_cast<__m512i>(x)));
}
PROOFWOOD_INLINE Word fold_counts(Word counts) { return counts; }

#else

constexpr u32 kCountsTogether = 31;  // words whose counts of each byte fit into it

PROOFWOOD_INLINE Word fold_counts(Word counts) { return (counts & 0xff) + (counts >> 8); }

#ifdef PROOFWOOD_COUNT_WITH_INTRINSICS
PROOFWOOD_INLINE Word add_counts(Word counts, Word x) {
  const __m256i of_four_bits = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,  //
                                                0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  const auto count = [&](Word four) {
    return reinterpret_cast<Word>(_mm256_shuffle_epi8(of_four_bits, reinterpret_cast<__m256i>(four)));
  };
  return counts + count(x & 0x0f0f) + count((x >> 4) & 0x0f0f);
}
#else
PROOFWOOD_INLINE Word add_counts(Word counts, Word x) {
  x -= (x >> 1) & 0x5555;
  x = (x & 0x3333) + ((x >> 2) & 0x3333);
  return counts + ((x + (x >> 4)) & 0x0f0f);
}
#endif
#endif

// ------------------------------------------------------------------ places of tests

// A word of row bits is copied to every 32-bit element of a vector: lane l sees its half l % 2, and there the bit of
// its own that is left when all vectors of a block share the 16 bits of a half.
constexpr u32 bit_of(u32 part, u32 lane) { return (lane & 1) * 16 + part * (kWordLanes / 2) + (lane >> 1); }
u32 lane_of(u32 test) {
  const u32 bit = test % kTogether, in_half = bit & 15;
  return test - bit + in_half / (kWordLanes / 2) * kWordLanes + 2 * (in_half % (kWordLanes / 2)) + (bit >> 4);
}

template <class M>
struct Cells {
  typedef M Vector __attribute__((vector_size(kBytes)));
  static constexpr u32 count = kBytes / sizeof(M);
  static constexpr u32 per_word = sizeof(M) / 2;  // vectors of cells of a vector of words

  // 16 bits: as in words; 32 bits: a vector of words becomes one of its even lanes and one of its odd ones.
  static u32 cell_of(u32 test) {
    const u32 lane = lane_of(test);
    if (sizeof(M) == 2) return lane;
    const u32 in_word = lane % kWordLanes;
    return lane - in_word + (in_word & 1) * (kWordLanes / 2) + (in_word >> 1);
  }
  PROOFWOOD_INLINE static Vector load(const M* from) {
    Vector v;
    std::memcpy(&v, from, kBytes);
    return v;
  }
  PROOFWOOD_INLINE static void store(M* to, Vector v) { std::memcpy(to, &v, kBytes); }
  PROOFWOOD_INLINE static Vector splat(std::int64_t value) { return Vector{} + static_cast<M>(value); }
  PROOFWOOD_INLINE static Vector max(Vector a, Vector b) { return a > b ? a : b; }
  PROOFWOOD_INLINE static Vector abs(Vector a) { return a < 0 ? -a : a; }
  PROOFWOOD_INLINE static Vector part(Word counts, u32 which) {
    if constexpr (sizeof(M) == 2) {
      (void)which;
      return reinterpret_cast<Vector>(counts);
    } else {
      const Word32 both = reinterpret_cast<Word32>(counts);
      return reinterpret_cast<Vector>(which == 0 ? (both & 0xffffu) : (both >> 16));
    }
  }
};

template <int kFirst, class V, int... I>
PROOFWOOD_INLINE V every_other(V a, V b, std::integer_sequence<int, I...>) {
#ifdef __clang__
  return __builtin_shufflevector(a, b, (2 * I + kFirst)...);
#else
  using T = std::remove_reference_t<decltype(a[0])>;
  const V places = {static_cast<T>(2 * I + kFirst)...};
  return __builtin_shuffle(a, b, places);
#endif
}

// Lane k is the largest of the lanes of v[k]; there are as many vectors as lanes. Overwrites them.
template <class M>
PROOFWOOD_INLINE auto largest_of_each(typename Cells<M>::Vector* v) {
  using C = Cells<M>;
  constexpr auto lanes = std::make_integer_sequence<int, static_cast<int>(C::count)>{};
  for (u32 n = C::count; n > 1; n /= 2)
    for (u32 k = 0; k < n / 2; ++k)
      v[k] = C::max(every_other<0>(v[2 * k], v[2 * k + 1], lanes), every_other<1>(v[2 * k], v[2 * k + 1], lanes));
  return v[0];
}

// ------------------------------------------------------------------ rows to words

void pack(const u32* row_bits, u32 stride, const u32* positions, u32 n, std::uint16_t* to) {
  const u32 blocks = stride / kTogether;
  Word bits[kParts];
  for (u32 part = 0; part < kParts; ++part)
    for (u32 lane = 0; lane < kWordLanes; ++lane) {
      const u32 bit = bit_of(part, lane);
      bits[part][lane] = static_cast<std::uint16_t>(1u << (bit % 16));
    }
  for (u32 from = 0; from < n; from += kWordRows, to += stride) {
    const u32 rows = n - from < kWordRows ? n - from : kWordRows;
    for (u32 block = 0; block < blocks; ++block) {
      Word out[kParts]{};
      for (u32 r = 0; r < rows; ++r) {
        const Word row = reinterpret_cast<Word>(Word32{} + row_bits[std::size_t{positions[from + r]} * blocks + block]);
        // In a line of its own: with -fsanitize=undefined GCC 12 takes the shift inside of the sum for an int.
        const auto own = static_cast<std::uint16_t>(1u << r);
        const Word one = Word{} + own;
        for (u32 part = 0; part < kParts; ++part) {
          const Word holds = reinterpret_cast<Word>((row & bits[part]) != 0);
          out[part] |= holds & one;
        }
      }
      for (u32 part = 0; part < kParts; ++part) store(to + block * kTogether + part * kWordLanes, out[part]);
    }
  }
}

PROOFWOOD_INLINE u64 bits_at(u32 word, u32 mask) {
#ifdef __BMI2__
  return _pext_u32(word, mask);
#else
  u64 found = 0;
  for (u32 to = 0; mask != 0; mask &= mask - 1, ++to) found |= u64{(word & mask & -mask) != 0} << to;
  return found;
#endif
}

void extract(const u32* row_bits, u32 blocks, const u32* positions, u32 n, const u32* mask, u32* to, u32 to_blocks) {
  for (u32 i = 0; i < n; ++i, to += to_blocks) {
    const u32* const from = row_bits + std::size_t{positions[i]} * blocks;
    u64 held = 0;
    u32 n_held = 0, at = 0;
    for (u32 block = 0; block < blocks; ++block) {
      held |= bits_at(from[block], mask[block]) << n_held;
      n_held += static_cast<u32>(__builtin_popcount(mask[block]));
      if (n_held >= kTogether) {
        to[at++] = static_cast<u32>(held);
        held >>= kTogether;
        n_held -= kTogether;
      }
    }
    if (n_held > 0) to[at] = static_cast<u32>(held);
  }
}

void print(const Words& words, u32 n_words, const std::uint16_t* valid, std::uint16_t* differs, std::uint16_t* prints) {
  for (u32 at = 0; at < words.stride; at += kWordLanes) {
    const Word first = reinterpret_cast<Word>((load(words.bits + at) & 1) != 0);
    Word any{}, one = Word{} + std::uint16_t{0x9e37}, other = Word{} + std::uint16_t{0x79b9};
    for (u32 w = 0; w < n_words; ++w) {
      const Word word = load(words.bits + std::size_t{w} * words.stride + at) ^ (first & valid[w]);
      any |= word;
      one = (one ^ word) * std::uint16_t{0x85eb};
      one ^= one >> 7;
      other = (other + word) * std::uint16_t{0xca6b};
      other ^= other >> 9;
    }
    store(differs + at, any);
    store(prints + at, one);
    store(prints + words.stride + at, other);
  }
}

// ------------------------------------------------------------------ sums of pairs

// Sums, over the rows at which a test holds, of the rows at which the tests of one vector of words do; for kRows tests.
// `out`: (n_layers, kRows, C::per_word).
template <class M, u32 kRows>
PROOFWOOD_INLINE void sum_pairs(const Words& words, const Layers& layers, const u32* lanes, u32 at,
                                typename Cells<M>::Vector* out) {
  using C = Cells<M>;
  using V = typename C::Vector;
  for (u32 k = 0; k < layers.n_layers * kRows * C::per_word; ++k) out[k] = V{};
  for (u32 g = 0; g < layers.n_groups; ++g) {
    for (u32 w = words.group[g], end = words.group[g + 1]; w < end;) {
      const u32 stop = end - w < kCountsTogether ? end : w + kCountsTogether;
      Word counts[kRows]{};
      for (; w < stop; ++w) {
        const std::uint16_t* const here = words.bits + std::size_t{w} * words.stride;
        const Word others = load(here + at);
        for (u32 r = 0; r < kRows; ++r) counts[r] = add_counts(counts[r], others & (Word{} + here[lanes[r]]));
      }
      for (u32 layer = 0; layer < layers.n_layers; ++layer) {
        const std::int32_t factor = layers.factor[layer * layers.n_groups + g];
        if (factor == 0) continue;
        const V times = C::splat(factor);
        for (u32 r = 0; r < kRows; ++r) {
          const Word folded = fold_counts(counts[r]);
          for (u32 part = 0; part < C::per_word; ++part)
            out[(layer * kRows + r) * C::per_word + part] += C::part(folded, part) * times;
        }
      }
    }
  }
}

// Sums of single tests, by cell, and of all rows.
template <class M>
void sum_singles(const Words& words, const Layers& layers, const Sums& sums) {
  using C = Cells<M>;
  M* const single = static_cast<M*>(sums.single);
  for (u32 at = 0; at < words.stride; at += kWordLanes) {
    for (u32 layer = 0; layer < layers.n_layers; ++layer)
      for (u32 part = 0; part < C::per_word; ++part)
        C::store(single + std::size_t{layer} * words.stride + at + part * C::count, typename C::Vector{});
    for (u32 g = 0; g < layers.n_groups; ++g) {
      for (u32 w = words.group[g], end = words.group[g + 1]; w < end;) {
        const u32 stop = end - w < kCountsTogether ? end : w + kCountsTogether;
        Word counts{};
        for (; w < stop; ++w) counts = add_counts(counts, load(words.bits + std::size_t{w} * words.stride + at));
        const Word folded = fold_counts(counts);
        for (u32 layer = 0; layer < layers.n_layers; ++layer) {
          const std::int32_t factor = layers.factor[layer * layers.n_groups + g];
          if (factor == 0) continue;
          for (u32 part = 0; part < C::per_word; ++part) {
            M* const to = single + std::size_t{layer} * words.stride + at + part * C::count;
            C::store(to, C::load(to) + C::part(folded, part) * C::splat(factor));
          }
        }
      }
    }
  }
}

template <class M>
void count(const Words& words, const Layers& layers, const Sums& sums, void* scratch, const Stop& stop) {
  using C = Cells<M>;
  using V = typename C::Vector;
  sum_singles<M>(words, layers, sums);
  V* const out = static_cast<V*>(scratch);
  M* const pairs = static_cast<M*>(sums.pairs);
  const std::size_t stride = words.stride, layer_size = words.n_tests * stride;
  for (u32 i = 0; i < words.n_tests && !stop.asked(stop.of); i += kRowsTogether) {
    const u32 rows = words.n_tests - i < kRowsTogether ? words.n_tests - i : kRowsTogether;
    u32 lanes[kRowsTogether];
    for (u32 r = 0; r < kRowsTogether; ++r) lanes[r] = lane_of(i + (r < rows ? r : 0));
    for (u32 at = i / kTogether * kTogether; at < words.stride; at += kWordLanes) {
      sum_pairs<M, kRowsTogether>(words, layers, lanes, at, out);
      for (u32 layer = 0; layer < layers.n_layers; ++layer)
        for (u32 r = 0; r < rows; ++r)
          for (u32 part = 0; part < C::per_word; ++part)
            C::store(pairs + layer * layer_size + (i + r) * stride + at + part * C::count,
                     out[(layer * kRowsTogether + r) * C::per_word + part]);
    }
  }
}

// ------------------------------------------------------------------ best stumps

// Of one set of rows: what test i has as a root, lane by lane for its stumps j; and the same of the tests j.
template <class M>
struct Roots {
  using V = typename Cells<M>::Vector;
  V holds = Cells<M>::splat(-1), fails = Cells<M>::splat(-1);
};

// Both tests hold, only i does, only j does, none does: what is counted of each part, by layers.
template <class M>
struct Quarters {
  using C = Cells<M>;
  using V = typename C::Vector;
  V both, first, second, none;

  // `pairs`: sums of both tests, of one layer; `of_i` and `all` of the same layer, `of_j` by cell.
  PROOFWOOD_INLINE Quarters(V pairs, M of_i, V of_j, std::int32_t all)
      : both(pairs), first(C::splat(of_i) - pairs), second(of_j - pairs), none((C::splat(all - of_i)) - second) {}
};

template <class M, bool kTwo, bool kMinimum>
struct Judge {
  using C = Cells<M>;
  using V = typename C::Vector;
  const Layers& layers;
  std::size_t stride;
  const M* single;
  const std::int32_t* all;
  M* holds;
  M* fails;

  Judge(const Layers& l, u32 s, const Sums& sums, const Best& best)
      : layers(l),
        stride(s),
        single(static_cast<const M*>(sums.single)),
        all(sums.all),
        holds(static_cast<M*>(best.holds)),
        fails(static_cast<M*>(best.fails)) {
    for (u32 at = 0; at < stride; at += C::count) {
      C::store(holds + at, C::splat(-1));
      C::store(fails + at, C::splat(-1));
    }
  }

  // What leaves on the four parts get right; two classes: right minus wrong.
  struct Right {
    V both, first, second, none;
  };
  // `pairs[layer * step]`: sums of test i, at `cell_i`, with the tests of the vector at cell `at`.
  PROOFWOOD_INLINE Right right(const V* pairs, u32 step, u32 cell_i, u32 at) const {
    if constexpr (kTwo) {
      const Quarters<M> net(pairs[0], single[cell_i], C::load(single + at), all[0]);
      return {C::abs(net.both), C::abs(net.first), C::abs(net.second), C::abs(net.none)};
    }
    Right most{};
    for (u32 c = 0; c < layers.n_classes; ++c) {
      const M* const of = single + c * stride;
      const Quarters<M> weight(pairs[c * step], of[cell_i], C::load(of + at), all[c]);
      most.both = C::max(most.both, weight.both);
      most.first = C::max(most.first, weight.first);
      most.second = C::max(most.second, weight.second);
      most.none = C::max(most.none, weight.none);
    }
    return most;
  }
  PROOFWOOD_INLINE void look(const V* pairs, u32 step, u32 cell_i, u32 at, Roots<M>& roots) const {
    look(right(pairs, step, cell_i, at), pairs, step, cell_i, at, roots);
  }
  PROOFWOOD_INLINE void look(const Right& of, const V* pairs, u32 step, u32 cell_i, u32 at, Roots<M>& roots) const {
    V i_holds = of.both + of.first, i_fails = of.second + of.none;
    V j_holds = of.both + of.second, j_fails = of.first + of.none;
    if constexpr (kMinimum) {
      V enough[4] = {~V{}, ~V{}, ~V{}, ~V{}};
      for (u32 layer = layers.n_layers - 2, which = 0; layer < layers.n_layers; ++layer, ++which) {
        const M* const held_by = single + layer * stride;
        const Quarters<M> held(pairs[layer * step], held_by[cell_i], C::load(held_by + at), all[layer]);
        const V need = C::splat(which == 0 ? layers.min_rows : layers.min_mass);
        enough[0] &= reinterpret_cast<V>(held.both >= need);
        enough[1] &= reinterpret_cast<V>(held.first >= need);
        enough[2] &= reinterpret_cast<V>(held.second >= need);
        enough[3] &= reinterpret_cast<V>(held.none >= need);
      }
      i_holds |= ~(enough[0] & enough[1]);  // all ones: -1
      i_fails |= ~(enough[2] & enough[3]);
      j_holds |= ~(enough[0] & enough[2]);
      j_fails |= ~(enough[1] & enough[3]);
    }
    roots.holds = C::max(roots.holds, i_holds);
    roots.fails = C::max(roots.fails, i_fails);
    C::store(holds + at, C::max(C::load(holds + at), j_holds));
    C::store(fails + at, C::max(C::load(fails + at), j_fails));
  }
};

// The stumps below the tests of a block as roots, until all of them are known.
template <class M>
struct BlockRoots {
  using C = Cells<M>;
  using V = typename C::Vector;
  V holds[kTogether], fails[kTogether];  // by cell

  void clear() {
    for (u32 k = 0; k < kTogether; ++k) holds[k] = fails[k] = C::splat(-1);
  }
  PROOFWOOD_INLINE void set(u32 cell, const Roots<M>& roots) {
    holds[cell % kTogether] = roots.holds;
    fails[cell % kTogether] = roots.fails;
  }
  PROOFWOOD_INLINE void add_to(u32 block_at, M* best_holds, M* best_fails) {
    for (u32 at = 0; at < kTogether; at += C::count) {
      M* const h = best_holds + block_at + at;
      M* const f = best_fails + block_at + at;
      C::store(h, C::max(C::load(h), largest_of_each<M>(holds + at)));
      C::store(f, C::max(C::load(f), largest_of_each<M>(fails + at)));
    }
  }
};

template <class M, bool kTwo, bool kMinimum>
void stumps_of(const Layers& layers, u32 n_tests, u32 stride, const Sums& sums, const Best& best) {
  using C = Cells<M>;
  using V = typename C::Vector;
  const Judge<M, kTwo, kMinimum> judge(layers, stride, sums, best);
  const M* const pairs = static_cast<const M*>(sums.pairs);
  const std::size_t layer_size = std::size_t{n_tests} * stride;
  V of_layers[kMostLayers];
  BlockRoots<M> block;
  for (u32 from = 0; from < n_tests; from += kTogether) {
    block.clear();
    for (u32 i = from; i < n_tests && i < from + kTogether; ++i) {
      Roots<M> roots;
      const u32 cell = C::cell_of(i);
      for (u32 at = from; at < stride; at += C::count) {
        for (u32 layer = 0; layer < layers.n_layers; ++layer)
          of_layers[layer] = C::load(pairs + layer * layer_size + std::size_t{i} * stride + at);
        judge.look(of_layers, 1, cell, at, roots);
      }
      block.set(cell, roots);
    }
    block.add_to(from, judge.holds, judge.fails);
  }
}

// One block of tests as roots, and all that come after it below them and above them.
template <class M, bool kTwo, bool kMinimum>
struct BothSides {
  using C = Cells<M>;
  using V = typename C::Vector;
  const Words& part;
  const Layers& layers;
  const Sums& whole;
  const Judge<M, kTwo, kMinimum> part_judge, rest_judge;
  V* out;
  V of_rest[kMostLayers];
  BlockRoots<M> part_block, rest_block;

  // `rows` of kRowsTogether tests from i on.
  PROOFWOOD_INLINE void look_at(u32 i, u32 rows) {
    const std::size_t stride = part.stride, layer_size = part.n_tests * stride;
    const M* const pairs = static_cast<const M*>(whole.pairs);
    u32 lanes[kRowsTogether], cells[kRowsTogether];
    Roots<M> part_roots[kRowsTogether], rest_roots[kRowsTogether];
    for (u32 r = 0; r < kRowsTogether; ++r) {
      const u32 test = i + (r < rows ? r : 0);
      lanes[r] = lane_of(test);
      cells[r] = C::cell_of(test);
    }
    for (u32 at = i / kTogether * kTogether; at < part.stride; at += kWordLanes) {
      sum_pairs<M, kRowsTogether>(part, layers, lanes, at, out);
      for (u32 r = 0; r < rows; ++r)
        for (u32 half = 0; half < C::per_word; ++half) {
          const u32 cell_at = at + half * C::count;
          const V* const of_part = out + r * C::per_word + half;
          constexpr u32 step = kRowsTogether * C::per_word;
          for (u32 layer = 0; layer < layers.n_layers; ++layer)
            of_rest[layer] = C::load(pairs + layer * layer_size + (i + r) * stride + cell_at) - of_part[layer * step];
          part_judge.look(of_part, step, cells[r], cell_at, part_roots[r]);
          rest_judge.look(of_rest, 1, cells[r], cell_at, rest_roots[r]);
        }
    }
    for (u32 r = 0; r < rows; ++r) {
      part_block.set(cells[r], part_roots[r]);
      rest_block.set(cells[r], rest_roots[r]);
    }
  }
};

template <class M, bool kTwo, bool kMinimum>
void both_of(const Words& part, const Layers& layers, const Sums& whole, const Sums& part_sums, const Sums& rest_sums,
             const Best& of_part, const Best& of_rest, void* scratch, const Stop& stop) {
  using C = Cells<M>;
  BothSides<M, kTwo, kMinimum> sides{part,
                                     layers,
                                     whole,
                                     {layers, part.stride, part_sums, of_part},
                                     {layers, part.stride, rest_sums, of_rest},
                                     static_cast<typename C::Vector*>(scratch),
                                     {},
                                     {},
                                     {}};
  for (u32 from = 0; from < part.n_tests; from += kTogether) {
    sides.part_block.clear();
    sides.rest_block.clear();
    for (u32 i = from; i < part.n_tests && i < from + kTogether && !stop.asked(stop.of); i += kRowsTogether)
      sides.look_at(i, part.n_tests - i < kRowsTogether ? part.n_tests - i : kRowsTogether);
    sides.part_block.add_to(from, sides.part_judge.holds, sides.part_judge.fails);
    sides.rest_block.add_to(from, sides.rest_judge.holds, sides.rest_judge.fails);
  }
}

template <class M>
void both(const Words& part, const Layers& layers, const Sums& whole, const Sums& part_sums, const Sums& rest_sums,
          const Best& of_part, const Best& of_rest, void* scratch, const Stop& stop) {
  using C = Cells<M>;
  sum_singles<M>(part, layers, part_sums);
  const std::size_t cells = std::size_t{layers.n_layers} * part.stride;
  const M* const all = static_cast<const M*>(whole.single);
  const M* const taken = static_cast<const M*>(part_sums.single);
  M* const left = static_cast<M*>(rest_sums.single);
  for (std::size_t at = 0; at < cells; at += C::count) C::store(left + at, C::load(all + at) - C::load(taken + at));
  const auto run = layers.two ? (layers.minimum ? &both_of<M, true, true> : &both_of<M, true, false>)
                              : (layers.minimum ? &both_of<M, false, true> : &both_of<M, false, false>);
  run(part, layers, whole, part_sums, rest_sums, of_part, of_rest, scratch, stop);
}

template <class M>
void stumps(const Layers& layers, u32 n_tests, u32 stride, const Sums& sums, const Best& best) {
  const auto run = layers.two ? (layers.minimum ? &stumps_of<M, true, true> : &stumps_of<M, true, false>)
                              : (layers.minimum ? &stumps_of<M, false, true> : &stumps_of<M, false, false>);
  run(layers, n_tests, stride, sums, best);
}

#include "trees/packed/kernels_priced_impl.hpp"

template <class M>
constexpr Kernels table(const char* name) {
  return {name,      static_cast<int>(sizeof(M)),
          &lane_of,  &Cells<M>::cell_of,
          &pack,     &extract,
          &print,    &sum_singles<M>,
          &count<M>, &stumps<M>,
          &both<M>,  &priced<M>};
}

constexpr Kernels kTables[] = {table<std::int16_t>(PROOFWOOD_ISA_NAME), table<std::int32_t>(PROOFWOOD_ISA_NAME)};

}  // namespace

// NOLINTNEXTLINE(misc-definitions-in-headers): this file is included once for each instruction set
const Kernels* tables() { return kTables; }

}  // namespace proofwood::trees::packed::PROOFWOOD_ISA
