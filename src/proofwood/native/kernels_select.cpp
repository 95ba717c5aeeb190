#include <limits>

#include "kernels.hpp"
#include "subset_kernels.hpp"

namespace proofwood {

namespace baseline {
const Kernels* tables();
const SubsetKernels* subset_table();
}  // namespace baseline
#ifdef PROOFWOOD_X86
namespace avx2 {
const Kernels* tables();
const SubsetKernels* subset_table();
}  // namespace avx2
namespace avx512 { const Kernels* tables(); }
#endif

namespace {

const Kernels* tables(int isa) {
#ifdef PROOFWOOD_X86
  if (isa == kAvx512) return avx512::tables();
  if (isa == kAvx2) return avx2::tables();
#endif
  (void)isa;
  return baseline::tables();
}

}  // namespace

const Kernels* select_kernels(int isa, int bits, std::int64_t largest) {
  // lowest() and highest() of a lane are half its range and stand for "none"
  const int narrowest = largest < std::numeric_limits<std::int16_t>::max() / 2 ? 0
                        : largest < std::numeric_limits<std::int32_t>::max() / 2 ? 1
                                                                                 : 2;
  const int wished = bits == 64 ? 2 : bits == 32 ? 1 : 0;
  return tables(isa) + (wished > narrowest ? wished : narrowest);
}

const SubsetKernels* subset_kernels(int isa) {
#ifdef PROOFWOOD_X86
  if (isa >= kAvx2) return avx2::subset_table();
#endif
  (void)isa;
  return baseline::subset_table();
}

}  // namespace proofwood
