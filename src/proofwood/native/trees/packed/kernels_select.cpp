// Chooses the kernels over packed tests: instruction set and width of a cell (docs/theory/optimal-trees.md, "Packed
// tests").
#include "trees/packed/kernels.hpp"

namespace proofwood::trees::packed {

namespace baseline {
const Kernels* tables();
}
#ifdef PROOFWOOD_X86
namespace avx2 {
const Kernels* tables();
}
namespace avx512 {
const Kernels* tables();
}
#endif

const Kernels* select_kernels(int isa, std::int64_t largest) {
  constexpr std::int64_t kMostOfNarrow = (1 << 14) - 1;  // differences of two sums are sums, too
  const Kernels* tables = baseline::tables();
#ifdef PROOFWOOD_X86
  __builtin_cpu_init();
  if (isa == kAvx512 && __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("bmi2"))
    tables = avx512::tables();
  else if (isa >= kAvx2 && __builtin_cpu_supports("bmi2"))
    tables = avx2::tables();
#endif
  (void)isa;
  return tables + (largest <= kMostOfNarrow ? 0 : 1);
}

}  // namespace proofwood::trees::packed
