// Stump kernels: many root splits of a depth-two subtree evaluated in one walk over the rows sorted by a feature.
//
//   lane     0  1  2     candidate splits of the root, such as t0 < t1 < t2 of one feature
//   row 0    1  1  1     its bits of the mask: it goes low at all three
//   row 1    0  1  1     it goes low at t1 and t2
//
// A batch holds up to `lanes` candidate splits. Bit b of mask[row] says whether the row goes low at the candidate of
// that bit. For each side of each candidate the kernels find the stump that classifies most weight correctly
// (ConTree, Brita et al. 2025, Algorithm 2, for all lanes at once; docs/theory/optimal-trees.md, "Depth two").
#pragma once

#include <cstdint>

#include "common/simd.hpp"

namespace proofwood::trees {

constexpr int kMaxLanes = 32;
constexpr int kVectorBytes = 64;  // the widest vector of any build

// Vectors of memory that many classes need beside those of the labels: `wide` with a minimum of leaves, or with gaps.
constexpr std::size_t scratch_vectors(std::uint32_t n, bool wide) { return (std::size_t{n} + 2) * (wide ? 8 : 4); }

// The rows of a subproblem in the order of one feature. With gaps, two features are walked at once, which differ in
// where the rows without a value are: below all others, or above (docs/decisions/0094-costs-of-gaps-and-columns.md).
//
//   gap g g     order 5 1 4 2 7     stands for the features  g g 5 1 4 2 7  and  5 1 4 2 7 g g
//   n_first 2   order 5 1 4 2 7     stands for the feature   - - 5 1 4 2 7  whose first rows have one value: what they
//                                   add follows from `StumpState::net`; two classes only
//
// Never with a minimum of leaves.
struct SortedRows {
  std::uint32_t n;
  const std::uint32_t* order;  // (n,) local row, ascending by value
  const std::uint32_t* ends;   // (n_ends,) one past the last row of each segment; the last entry is n
  std::uint32_t n_ends;
  bool every_row;              // every position may be used as a segment end
  const std::int16_t* is_end;  // (n,) -1 where a segment ends, else 0; null where segments are long
  std::uint32_t n_gap = 0;
  const std::uint32_t* gap = nullptr;  // (n_gap,) local rows without a value, which are not among the `n`
  std::uint32_t n_first = 0;           // rows of the least value, which are not among the `n` either
};

// Running best over the features, one lane per candidate and side; memory is reused between batches.
struct alignas(kVectorBytes) StumpState {
  // two classes: extremes of the prefix sum of signed weights, low and high side; `some` obey the minimum of leaves
  unsigned char max_all[2][kVectorBytes], min_all[2][kVectorBytes];
  unsigned char max_some[2][kVectorBytes], min_some[2][kVectorBytes];
  unsigned char net_low[kVectorBytes];  // sum of signed weights on the low side, once a feature was walked over
  // many classes: weight classified right by the best stump and by the best leaf
  unsigned char best_all[2][kVectorBytes], best_some[2][kVectorBytes], leaf[2][kVectorBytes];
  // two classes: sum over the levels of a column of |signed weights|, of the best column
  unsigned char levels[2][kVectorBytes];
  // two classes in blocks: the same extremes of all rows, and the sum of signed weights on the low side
  unsigned char block_max[2][4 * kMaxLanes], block_min[2][4 * kMaxLanes], block_net[4 * kMaxLanes];
  std::int64_t total;  // two classes: sum of signed weights of all rows
};

// Per row of the subproblem, by local row; the element type is the lane type.
struct RowValues {
  const std::uint32_t* mask;  // candidates at which the row goes low
  const void* weight;         // two classes: signed weight; many classes: weight
  const void* count;          // unweighted rows, and weight before rows cancelled: both only with `minimum`
  const void* mass;
  const std::uint16_t* label;  // many classes only
  std::uint32_t n_labels;
  std::int64_t heaviest;  // weight of a row; kernels in blocks only
  bool unit;              // all rows weigh 1
  bool minimum;           // leaves must hold at least min_rows rows and min_mass weight
  std::int64_t min_rows, min_mass;
  void* scratch;  // many classes: `scratch_vectors` and 4 * n_labels vectors, and for levels 2 * n_labels of
                  // them and 2 for each pair of labels
};

// What the walk found for one candidate. Two classes: `leaf` and `stump` are |net| and
// max(|S|, 2 max s - S, S - 2 min s) of the side, so that correct weight = (size + value) / 2; many classes: the
// correct weight itself. `stump` obeys the minimum of leaves (-1: no such stump), `stump_all` ignores it.
struct LaneResult {
  std::int64_t leaf[2], stump[2], stump_all[2];
};

// A stump that a walk was asked for, after so many rows in the order of the feature. `sum`: two classes: of the signed
// weights before it; many classes: the weight that it classifies right.
struct StumpHit {
  std::uint32_t position;
  std::uint16_t lane, side;
  std::int64_t sum;
};

// All stumps that are good enough, where `StumpState` has the best: per lane and side, two classes: those whose sum is
// at least `from` or at most `until`; many classes: at least `from`. A stump counts where it splits the rows of its
// side otherwise than the one before it.
struct alignas(kVectorBytes) StumpWish {
  unsigned char from[2][kVectorBytes], until[2][kVectorBytes];
  StumpHit* hits;
  std::size_t n_hits, room;
  void (*full)(StumpWish&);  // called where there may be no room for those of one position; empties `hits`
  std::uint32_t* words;      // many classes: 2 per segment
};

// Rows of unit weight and two classes in the order of one feature, for bounds of very many splits.
struct CoarseRows {
  std::uint32_t n;
  const std::uint32_t* order;     // (n,) local row
  const void* mask;               // per local row two vectors: a bit per split where it goes low; the same if positive
  const unsigned char* positive;  // per local row, whether it is of the positive class
  std::uint32_t n_first;          // rows before them, of one value
};

constexpr int kMostCoarse = 8 * kVectorBytes;  // splits

// Per split. `most` and `least` bound the sums of signed weights at all positions of all features; `net` is that of the
// low side, once a feature was walked over.
struct alignas(kVectorBytes) CoarseState {
  std::int16_t most[2][kMostCoarse], least[2][kMostCoarse], net[kMostCoarse];
  int total;  // sum of signed weights of all rows
};

// The rows of one feature that are parted in two, low and high.
struct PartedRows {
  std::uint32_t n;
  std::uint32_t size[2];
  const std::uint32_t* order;  // (n,) local row
  const std::uint32_t* keys;   // (n,) by place in the order
  std::uint32_t *order_to[2], *keys_to[2];
};

struct Segments {
  std::uint32_t n_ends;
  bool mixed;  // rows of several classes have one value
};

struct Kernels {
  const char* name;
  int lanes;                  // candidates per batch
  int bits;                   // of a lane
  int (*lane_bit)(int lane);  // bit of `mask` that belongs to the lane
  void (*begin)(StumpState&, bool two_classes);
  void (*two_classes)(const SortedRows&, const RowValues&, StumpState&);
  void (*many_classes)(const SortedRows&, const RowValues&, StumpState&);
  // The same where each segment is a level of a column that is tested by sets; without a minimum of leaves.
  void (*two_classes_levels)(const SortedRows&, const RowValues&, StumpState&);
  void (*many_classes_levels)(const SortedRows&, const RowValues&, StumpState&);
  void (*finish)(const StumpState&, bool two_classes, int lane, LaneResult&);
  // Every stump that is good enough, with all boundaries as ends; null where lanes are narrow.
  void (*find_two_classes)(const SortedRows&, const RowValues&, StumpWish&);
  void (*find_many_classes)(const SortedRows&, const RowValues&, StumpWish&);
  // Sum of the lesser of a[i] and b[i]; n is a multiple of 8.
  std::int32_t (*sum_of_lesser)(std::uint32_t n, const std::int32_t* a, const std::int32_t* b);
  int coarse;  // splits of a coarse walk
  void (*walk_coarsely)(const CoarseRows&, CoarseState&);
  // mask[row] |= 1 << bit[c] where column[c][row] <= limit[c]
  void (*make_mask)(std::uint32_t n, int candidates, const std::uint32_t* const* column, const std::uint32_t* limit,
                    const int* bit, std::uint32_t* mask);
  // Parts the numbers of rows: `target` has the highest bit where a row goes high and gets, in the others, its place in
  // `low` or `high`.
  void (*number)(std::uint32_t n, const std::uint32_t* rows, std::uint32_t* target, std::uint32_t* low,
                 std::uint32_t* high);
  // Parts a value per local row; it may write one value past the end of either side.
  void (*part_column)(std::uint32_t n, const std::uint32_t* values, const std::uint32_t* target, std::uint32_t* low,
                      std::uint32_t* high);
  // Parts rows; `target` has the number of each local row on its side, and the highest bit where that is the high one.
  void (*part)(const PartedRows& rows, const std::uint32_t* target);
  // Ends of the segments of sorted keys: where values differ and, unless all boundaries are asked for, their classes do
  // or the low one is `mixed`, which is also the mask of the class. `is_end`: -1 at the last row of each, else 0.
  Segments (*find_ends)(std::uint32_t n, const std::uint32_t* keys, std::uint32_t mixed, bool all_boundaries,
                        std::uint32_t* ends, std::int16_t* is_end);
};

// Narrowest lanes that hold `largest`, of an instruction set that `chosen_isa` gave. `bits`: 0 narrowest,
// else 16, 32 or 64.
const Kernels* select_kernels(int isa, int bits, std::int64_t largest);

// Narrower lanes for sums of up to 2^30: two classes, no minimum of leaves, no columns tested by sets. Rows come in
// blocks, in which sums fit. Null where `kernels`, those of all rows at once, are as narrow, or where blocks would be
// too short to pay.
const Kernels* select_block_kernels(int isa, int bits, const Kernels& kernels, std::uint32_t n, std::int64_t largest,
                                    std::int64_t heaviest);

// Lanes of a byte where no class weighs more than they hold: many classes, no minimum of leaves, no columns tested by
// sets. Else null.
const Kernels* select_byte_kernels(int isa, int bits, const Kernels& kernels, std::int64_t largest_class);

}  // namespace proofwood::trees
