// Chooses the walks of tasks by sums: instruction set and task (docs/theory/optimal-trees.md, "Tasks").
#include "trees/sums/kernels.hpp"

namespace proofwood::trees {

namespace baseline {
const SumKernels& sum_kernels(int task, bool limited, bool unit);
}
#ifdef PROOFWOOD_X86
namespace avx2 {
const SumKernels& sum_kernels(int task, bool limited, bool unit);
}
namespace avx512 {
const SumKernels& sum_kernels(int task, bool limited, bool unit);
}
#endif

const SumKernels& sum_kernels(int isa, int task, bool limited, bool unit) {
#ifdef PROOFWOOD_X86
  if (isa == kAvx512) return avx512::sum_kernels(task, limited, unit);
  if (isa == kAvx2) return avx2::sum_kernels(task, limited, unit);
#endif
  (void)isa;
  return baseline::sum_kernels(task, limited, unit);
}

}  // namespace proofwood::trees
