// The walks of tasks by sums with 512-bit vectors (AVX-512 with BW, VL and DQ) (docs/theory/optimal-trees.md, "Tasks").
#define PROOFWOOD_ISA avx512
#define PROOFWOOD_VECTOR_BYTES 64
#define PROOFWOOD_WITH_INTRINSICS
#include "trees/sums/kernels_impl.hpp"
