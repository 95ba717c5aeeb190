// The stump kernels for every machine: 128-bit vectors (SSE2 on x86-64, NEON on ARM; docs/theory/optimal-trees.md,
// "Depth two").
#define PROOFWOOD_ISA baseline
#define PROOFWOOD_ISA_NAME "baseline"
#define PROOFWOOD_VECTOR_BYTES 16
#include "trees/kernels_impl.hpp"
