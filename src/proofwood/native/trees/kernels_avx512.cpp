// The stump kernels with 512-bit vectors (AVX-512 with BW, VL and DQ) (docs/theory/optimal-trees.md, "Depth two").
#define PROOFWOOD_ISA avx512
#define PROOFWOOD_ISA_NAME "avx512"
#define PROOFWOOD_VECTOR_BYTES 64
#define PROOFWOOD_WITH_INTRINSICS
#include "trees/kernels_impl.hpp"
