// Chooses the stump kernels: instruction set and width of a lane (docs/theory/optimal-trees.md, "Depth two").
#include <limits>

#include "trees/kernels.hpp"

namespace proofwood::trees {

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
  const int narrowest = largest < std::numeric_limits<std::int16_t>::max() / 2   ? 0
                        : largest < std::numeric_limits<std::int32_t>::max() / 2 ? 1
                                                                                 : 2;
  const int wished = bits == 64 ? 2 : bits == 32 ? 1 : 0;
  return tables(isa) + (wished > narrowest ? wished : narrowest);
}

const Kernels* select_block_kernels(int isa, std::int64_t largest, std::int64_t heaviest, std::uint32_t& block) {
  constexpr std::int64_t kShortest = 1024;  // rows
  if (largest >= std::numeric_limits<std::int32_t>::max() / 2 || heaviest < 1) return nullptr;
  const std::int64_t rows = std::numeric_limits<std::int16_t>::max() / heaviest;
  if (rows < kShortest) return nullptr;
  block = static_cast<std::uint32_t>(rows);
  return tables(isa) + 3;
}

}  // namespace proofwood::trees
