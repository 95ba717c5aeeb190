// The stump kernels with 256-bit vectors (AVX2) (docs/theory/optimal-trees.md, "Depth two").
#define PROOFWOOD_ISA avx2
#define PROOFWOOD_ISA_NAME "avx2"
#define PROOFWOOD_VECTOR_BYTES 32
#include "trees/kernels_impl.hpp"
