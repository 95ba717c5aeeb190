// The walks of tasks by sums for every machine: 128-bit vectors (docs/theory/optimal-trees.md, "Tasks").
#define PROOFWOOD_ISA baseline
#define PROOFWOOD_VECTOR_BYTES 16
#include "trees/sums/kernels_impl.hpp"
