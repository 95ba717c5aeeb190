// Bit kernels of the subset search. A packed matrix holds `words` rows of `stride` 64-bit words: word (w, s) has bits
// of slot s (a test) for 64 rows or matched pairs. Each w has a shift: its bits weigh 1 << shift[w], so that integer
// weights are bit planes. `stride` is a multiple of kSlotStep, and the slots beyond the tests are 0.
#pragma once

#include <cstdint>

#include "common/simd.hpp"

namespace proofwood::bdd {

constexpr std::uint32_t kSlotStep = 8;

struct Packed {
  const std::uint64_t* data;
  std::uint32_t stride, words;
  const std::uint8_t* shift;  // (words,), null where every shift is 0
};

// Rows of one class in one cell: words [begin, end), their whole weight, and the weight per slot where the bit is 1.
struct ClassBlock {
  std::uint32_t begin, end;
  std::int64_t total;
  const std::int64_t* ones;  // (stride,)
};

struct CellBlock {
  std::uint32_t begin, end;  // class blocks
  std::int64_t total;        // weight of the cell less its unavoidable part
};

// Sets of rows as bits, `words` words each, a multiple of kWordStep; plane p of the weights begins at p * stride.
constexpr std::uint32_t kWordStep = 4;
struct Planes {
  const std::uint64_t* data;
  std::size_t stride;
  std::uint32_t count;
};

struct SubsetKernels {
  const char* name;
  // Transpose of a 64 x 64 bit matrix in place: bit c of word r goes to bit r of word c.
  void (*transpose)(std::uint64_t* matrix);
  // out[s] += weight of the ones of slot s in words [begin, end)
  void (*count)(const Packed& bits, std::uint32_t begin, std::uint32_t end, std::int64_t* out);
  // out[s] = weight of the bits that slot g and slot s share, for s in [from, to) widened to whole steps
  void (*overlap)(const Packed& bits, std::uint32_t g, std::uint32_t from, std::uint32_t to, std::int64_t* out);
  // out[s] = error after adding both g and s, for s in [from, to) widened to whole steps; once a partial sum of all
  // slots of a step has reached `limit` the sums are left as they are. `narrow`: no weight reaches 2^31.
  void (*pair_errors)(const Packed& bits, const CellBlock* cells, std::uint32_t n_cells, const ClassBlock* blocks,
                      bool narrow, std::uint32_t g, std::uint32_t from, std::uint32_t to, std::int64_t limit,
                      std::int64_t* out);
  // out[i] = number of bits in which row `rows[i]` of `bits` (`words` words each) differs from `row`
  void (*distances)(const std::uint64_t* bits, std::uint32_t words, const std::uint32_t* rows, std::uint32_t n,
                    const std::uint64_t* row, std::uint16_t* out);
  // The rows of `cell` that are in `low`, and those that are not in `up_to`.
  void (*sides)(const std::uint64_t* cell, const std::uint64_t* low, const std::uint64_t* up_to, std::uint32_t words,
                std::uint64_t* low_side, std::uint64_t* high_side);
  // Adds the number of rows of both sides in each plane: low_sums[p], high_sums[p].
  void (*weigh_sides)(const std::uint64_t* cell, const std::uint64_t* low, const std::uint64_t* up_to,
                      const Planes& planes, std::uint32_t words, std::int64_t* low_sums, std::int64_t* high_sums);
};

// The widest kernels up to an instruction set that `chosen_isa` gave: AVX2 where it is wider.
const SubsetKernels* subset_kernels(int isa);

}  // namespace proofwood::bdd
