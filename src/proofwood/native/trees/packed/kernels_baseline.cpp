// The kernels over packed tests with vectors of 16 bytes, which every machine has (docs/theory/optimal-trees.md,
// "Packed tests").
#define PROOFWOOD_ISA baseline
#define PROOFWOOD_ISA_NAME "baseline"
#define PROOFWOOD_VECTOR_BYTES 16
#include "trees/packed/kernels_impl.hpp"
