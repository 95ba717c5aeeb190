// The bit kernels of the instruction set that was asked for.
#include "bdd/kernels.hpp"

namespace proofwood::bdd {

namespace baseline {
const SubsetKernels* subset_table();
}
#ifdef PROOFWOOD_X86
namespace avx2 {
const SubsetKernels* subset_table();
}
#endif

const SubsetKernels* subset_kernels(int isa) {
#ifdef PROOFWOOD_X86
  if (isa >= kAvx2) return avx2::subset_table();
#endif
  (void)isa;
  return baseline::subset_table();
}

}  // namespace proofwood::bdd
