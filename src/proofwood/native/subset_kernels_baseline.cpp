// Every machine: plain 64-bit arithmetic in vectors of the compiler's choice.
#define PROOFWOOD_ISA baseline
#define PROOFWOOD_ISA_NAME "baseline"
#include "subset_kernels_impl.hpp"

namespace proofwood {

#ifdef PROOFWOOD_X86
namespace avx2 { const SubsetKernels* subset_table(); }
#endif

const SubsetKernels* subset_kernels(int isa) {
#ifdef PROOFWOOD_X86
  __builtin_cpu_init();
  const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
  if (isa != 1 && wide) return avx2::subset_table();
#endif
  return isa == 2 ? nullptr : baseline::subset_table();
}

}  // namespace proofwood
