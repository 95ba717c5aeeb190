// The kernels over packed tests with 512-bit vectors (AVX-512 with BW, VL, DQ and BITALG)
// (docs/theory/optimal-trees.md, "Packed tests").
#define PROOFWOOD_ISA avx512
#define PROOFWOOD_ISA_NAME "avx512"
#define PROOFWOOD_VECTOR_BYTES 64
#define PROOFWOOD_COUNT_WITH_INTRINSICS
#include "trees/packed/kernels_impl.hpp"
