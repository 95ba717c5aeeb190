// Kernels over packed tests: how often two tests hold together, for all pairs of tests at once, and what the best
// trees of depth two get right (docs/theory/optimal-trees.md, "Packed tests").
//
//   test        0  1  2        rows 0..15 of a group are the bits of one 16-bit word a test; a vector holds
//   row 0       1  0  1        the words of 8, 16 or 32 tests: one AND and one count of bits tell, for one
//   row 1       0  0  1        test and that many others, at how many of 16 rows both hold
//   ...
//
// Rows of one class and weight are a group and begin a new word. A *layer* is a sum over the groups: two classes have
// one, of signed weights; more classes one each. Tests stand in vectors at places of their own: `lane` in words, `cell`
// in sums.
#pragma once

#include <cstdint>

#include "common/integers.hpp"
#include "common/simd.hpp"

namespace proofwood::trees::packed {

constexpr u32 kTogether = 32;  // tests come in blocks of as many
constexpr u32 kWordRows = 16;  // rows of a word
constexpr u32 kMostLayers = 35;
constexpr u32 kVectorBytes = 64;  // the widest vector of any build
// Vectors of scratch memory that the kernels want for each layer.
constexpr u32 kScratchVectors = 8;

// Words of a set of rows: word w of the test at lane l is bits[w * stride + l].
struct Words {
  const std::uint16_t* bits;
  u32 stride;        // tests, filled up to whole blocks
  u32 n_tests;       // of which the first are tests
  const u32* group;  // (n_groups + 1,) first word of each group
};

// What is summed over the groups.
struct Layers {
  u32 n_groups, n_layers, n_classes;
  bool two;                    // classes: one layer of signed weights; else a layer of weights each
  bool minimum;                // and then layers of unweighted rows and of mass
  const std::int32_t* factor;  // (n_layers, n_groups)
  std::int64_t min_rows, min_mass;
  u32 weight = 0;  // the layer of all weights, where there is one
};

// Sums of a set of rows. Cells are of 16 or 32 bits; `pairs` has (n_layers, n_tests, stride) of them, of which row i
// begins with the block of test i; `single` (n_layers, stride); `all` (n_layers,).
struct Sums {
  void* pairs;
  void* single;
  std::int32_t* all;
};

// Per test as the root of a tree of depth two: what the best stumps get right on its two sides, `stride` cells each;
// two classes: right minus wrong. -1: no stump is permitted.
struct Best {
  void* holds;  // rows at which the test holds
  void* fails;
};

// Asked between stretches of work of a millisecond or so; where the answer is yes, what was counted is worthless.
struct Stop {
  bool (*asked)(const void* of);
  const void* of;
};

struct Kernels {
  const char* name;
  int cell_bytes;
  u32 (*lane)(u32 test);
  u32 (*cell)(u32 test);
  // Packs the rows at `n` positions of `row_bits`, (rows, stride / 32), into words from `to` on.
  void (*pack)(const u32* row_bits, u32 stride, const u32* positions, u32 n, std::uint16_t* to);
  // Of the rows at `n` positions the bits that `mask` has, side by side: (n, to_blocks).
  void (*extract)(const u32* row_bits, u32 blocks, const u32* positions, u32 n, const u32* mask, u32* to,
                  u32 to_blocks);
  // Where `differs` is 0 the rows do not differ in the test; two prints, `stride` apart, are the same for tests that
  // part the rows alike. By lane. `valid`: the bits of each word that are rows.
  void (*print)(const Words& words, u32 n_words, const std::uint16_t* valid, std::uint16_t* differs,
                std::uint16_t* prints);
  void (*count_single)(const Words& words, const Layers& layers, const Sums& sums);
  // Sums of single tests and of all pairs.
  void (*count)(const Words& words, const Layers& layers, const Sums& sums, void* scratch, const Stop& stop);
  // Best stumps below every root.
  void (*stumps)(const Layers& layers, u32 n_tests, u32 stride, const Sums& sums, const Best& best);
  // The same for a part of a set and the rest of it: the part by its words, the rest by the sums of the set.
  void (*both)(const Words& part, const Layers& layers, const Sums& whole, const Sums& part_sums, const Sums& rest_sums,
               const Best& of_part, const Best& of_rest, void* scratch, const Stop& stop);
  // Best stumps below every root, as `stumps`, and `leaf`: the least errors, less than 0, of a leaf below a stump there
  // that gets at least `least` right while the other side has twice as much weight. Needs a layer of weights.
  void (*priced)(const Layers& layers, u32 n_tests, u32 stride, const Sums& sums, const Best& best, const Best& leaf,
                 std::int64_t least);
};

// Errors of no leaf, for `Kernels::priced`.
constexpr std::int64_t no_leaf(int cell_bytes) { return cell_bytes == 2 ? -(1 << 14) : -(1 << 29); }

// For an instruction set that `chosen_isa` gave, with cells that hold sums up to `largest`, which is below 2^29.
const Kernels* select_kernels(int isa, std::int64_t largest);

}  // namespace proofwood::trees::packed
