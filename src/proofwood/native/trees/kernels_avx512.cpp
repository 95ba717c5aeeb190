#define PROOFWOOD_ISA avx512
#define PROOFWOOD_ISA_NAME "avx512"
#define PROOFWOOD_VECTOR_BYTES 64
#include "trees/kernels_impl.hpp"
