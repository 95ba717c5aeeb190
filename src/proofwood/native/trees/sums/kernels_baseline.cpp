// The walks of tasks by sums for every machine: 128-bit vectors (SSE2 on x86-64, NEON on ARM; docs/theory/optimal-trees.md,
#define PROOFWOOD_ISA baseline
#define PROOFWOOD_VECTOR_BYTES 16
#include "trees/sums/kernels_impl.hpp"
