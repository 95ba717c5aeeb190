// Walks of depth two for tasks by sums: the lanes of `trees/kernels.hpp`, whose sums are whole numbers in doubles
// (docs/theory/optimal-trees.md, "Tasks").
//
//   record of a row    sums ... | rows, weight (with a minimum of leaves) | bits of its lanes
//   state              per side: sums, rows, weight; parts of the best stump, of the best permitted one, of a leaf
#pragma once

#include <cstddef>
#include <cstdint>

#include "trees/kernels.hpp"

namespace proofwood::trees {

constexpr int kMostSumLanes = 8;

struct SumRecords {
  const double* records;  // by local row; the last double of each holds the bits, as a whole number
  double min_rows, min_weight;
  double rate;   // of the zero of the rows
  bool bounded;  // whether cheap bounds may spare splits
};

// Rows of tests: bits of 32 tests each, and numbers, of which the first are the sums of the task.
struct PairRows {
  const std::uint32_t* bits;  // (rows, blocks)
  std::uint32_t blocks;
  const double* numbers;  // (rows, stride)
  std::size_t stride;
};

// Sums of a set of rows and its tests: `pairs` has (sums, n_tests, width) of them, of the rows at which both tests
// hold; `single` (sums, width); `all` (sums,).
struct PairSums {
  const double *pairs, *single, *all;
  std::uint32_t n_tests, width;
};

struct SumKernels {
  int lanes;
  bool unit;  // records leave out the weight, which is 1
  // From the records: sums of both sides, and the leaf as the best stump so far. `all`: sums of all rows.
  void (*begin)(std::uint32_t n, const SumRecords&, const double* all, double* state);
  void (*walk)(const SortedRows&, const SumRecords&, double* state);
  // Adds up the sums of `n` rows for the tests of all blocks from `first` on: to[k * width + test].
  void (*add_up)(const PairRows&, const std::uint32_t* rows, std::uint32_t n, std::uint32_t first, std::size_t width,
                 double* to);
  // What `begin` and `walk` leave in the state, for the tests from `first` on as roots: side 0 has the rows at which
  // they hold.
  void (*walk_pairs)(const PairSums&, std::uint32_t first, const SumRecords&, double* state);
};

// Places in the state, in vectors of kMostSumLanes doubles.
struct SumPlaces {
  int sums, parts;  // of the task; `sums` with rows and weight

  constexpr int side() const { return sums + 3 * parts; }
  constexpr int sum(int side_of, int k) const { return side_of * side() + k; }
  constexpr int best(int side_of, int part) const { return side_of * side() + sums + part; }
  constexpr int some(int side_of, int part) const { return side_of * side() + sums + parts + part; }
  constexpr int leaf(int side_of, int part) const { return side_of * side() + sums + 2 * parts + part; }
  constexpr int vectors() const { return 2 * side(); }
};

// `task`: its place in the list of tasks (tasks.hpp); `limited`: with a minimum of leaves; `unit`: all rows weigh 1.
const SumKernels& sum_kernels(int isa, int task, bool limited, bool unit);

}  // namespace proofwood::trees
