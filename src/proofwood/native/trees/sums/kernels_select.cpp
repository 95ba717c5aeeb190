// Chooses the walks of tasks by sums: instruction set and task (docs/theory/optimal-trees.md, "Tasks").
#include "trees/sums/kernels.hpp"

namespace proofwood::trees {

namespace baseline {
const SumKernels& sum_kernels(int task, bool limited);
}
#ifdef PROOFWOOD_X86
namespace avx2 {
const SumKernels& sum_kernels(int task, bool limited);
}
namespace avx512 {
const SumKernels& sum_kernels(int task, bool limited);
}
#endif

const SumKernels& sum_kernels(int isa, int task, bool limited) {
#ifdef PROOFWOOD_X86
  if (isa == kAvx512) return avx512::sum_kernels(task, limited);
  if (isa == kAvx2) return avx2::sum_kernels(task, limited);
#endif
  (void)isa;
  return baseline::sum_kernels(task, limited);
}

}  // namespace proofwood::trees
