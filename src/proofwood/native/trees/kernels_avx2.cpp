#define PROOFWOOD_ISA avx2
#define PROOFWOOD_ISA_NAME "avx2"
#define PROOFWOOD_VECTOR_BYTES 32
#include "trees/kernels_impl.hpp"
