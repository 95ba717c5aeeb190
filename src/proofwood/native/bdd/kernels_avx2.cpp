// AVX2 and the instruction that counts bits.
#define PROOFWOOD_ISA avx2
#define PROOFWOOD_ISA_NAME "avx2"
#include "bdd/kernels_impl.hpp"
