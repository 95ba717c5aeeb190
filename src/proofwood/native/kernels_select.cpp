#include <limits>

#include "kernels.hpp"

namespace proofwood {

namespace baseline { const Kernels* tables(); }
#ifdef PROOFWOOD_X86
namespace avx2 { const Kernels* tables(); }
namespace avx512 { const Kernels* tables(); }
#endif

namespace {

bool available(int isa) {
  if (isa == 1) return true;
#ifdef PROOFWOOD_X86
  __builtin_cpu_init();
  if (isa == 2) return __builtin_cpu_supports("avx2");
  if (isa == 3) return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#endif
  return false;
}

const Kernels* tables(int isa) {
#ifdef PROOFWOOD_X86
  if (isa == 3) return avx512::tables();
  if (isa == 2) return avx2::tables();
#endif
  (void)isa;
  return baseline::tables();
}

int best() { return available(3) ? 3 : available(2) ? 2 : 1; }

}  // namespace

const Kernels* select_kernels(int isa, int bits, std::int64_t largest) {
  if (isa == 0) isa = best();
  if (!available(isa)) return nullptr;
  // lowest() and highest() of a lane are half its range and stand for "none"
  const int narrowest = largest < std::numeric_limits<std::int16_t>::max() / 2 ? 0
                        : largest < std::numeric_limits<std::int32_t>::max() / 2 ? 1
                                                                                 : 2;
  const int wished = bits == 64 ? 2 : bits == 32 ? 1 : 0;
  return tables(isa) + (wished > narrowest ? wished : narrowest);
}

const char* best_isa() { return tables(best())->name; }

}  // namespace proofwood
