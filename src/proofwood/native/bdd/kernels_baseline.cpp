// Every machine: plain 64-bit arithmetic in vectors of the compiler's choice.
#define PROOFWOOD_ISA baseline
#define PROOFWOOD_ISA_NAME "baseline"
#include "bdd/kernels_impl.hpp"
