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

struct SumKernels {
  int lanes;
  bool unit;  // records leave out the weight, which is 1
  // From the records: sums of both sides, and the leaf as the best stump so far. `all`: sums of all rows.
  void (*begin)(std::uint32_t n, const SumRecords&, const double* all, double* state);
  void (*walk)(const SortedRows&, const SumRecords&, double* state);
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
