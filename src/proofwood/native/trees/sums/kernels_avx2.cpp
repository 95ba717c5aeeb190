// The walks of tasks by sums with 256-bit vectors (AVX2) (docs/theory/optimal-trees.md, "Tasks").
#define PROOFWOOD_ISA avx2
#define PROOFWOOD_VECTOR_BYTES 32
#include "trees/sums/kernels_impl.hpp"
