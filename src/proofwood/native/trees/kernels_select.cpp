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

const Kernels* select_block_kernels(int isa, int bits, const Kernels& kernels, std::uint32_t n, std::int64_t largest,
                                    std::int64_t heaviest) {
  // Lanes of 8 bits judge 32 splits in half a vector, but blocks of fewer rows end too often:
  // decisions/0027-narrow-lanes.
  constexpr std::int64_t kShortest = 24;  // rows of a block, in the mean
  if (kernels.bits > 32 || bits > 16) return nullptr;
  const auto pays = [&](std::int64_t held) { return heaviest <= held && largest <= held / kShortest * n; };
  if (bits == 0 && pays(std::numeric_limits<std::int8_t>::max())) return tables(isa) + (kernels.bits == 16 ? 3 : 4);
  return kernels.bits == 32 && pays(std::numeric_limits<std::int16_t>::max()) ? tables(isa) + 5 : nullptr;
}

const Kernels* select_byte_kernels(int isa, int bits, const Kernels& kernels, std::int64_t largest_class) {
  const bool held = kernels.bits == 16 && largest_class <= std::numeric_limits<std::uint8_t>::max();
  return held && bits == 0 ? tables(isa) + 6 : nullptr;
}

}  // namespace proofwood::trees
