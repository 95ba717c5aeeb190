// The kernels over packed tests with 256-bit vectors (AVX2) (docs/theory/optimal-trees.md, "Packed tests").
#define PROOFWOOD_ISA avx2
#define PROOFWOOD_ISA_NAME "avx2"
#define PROOFWOOD_VECTOR_BYTES 32
#define PROOFWOOD_COUNT_WITH_INTRINSICS
#include "trees/packed/kernels_impl.hpp"
