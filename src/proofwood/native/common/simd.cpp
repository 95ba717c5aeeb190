#include "common/simd.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace proofwood {

namespace {

constexpr const char* kNames[] = {"auto", "baseline", "avx2", "avx512"};

int best() {
  for (int isa = kAvx512; isa > kBaseline; --isa)
    if (runs(isa)) return isa;
  return kBaseline;
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

int from_environment() {
  const char* value = std::getenv(kSimdVariable);
  if (value == nullptr || *value == '\0') return kAuto;
  const auto* found = std::find(std::begin(kNames), std::end(kNames), std::string(value));
  if (found == std::end(kNames))
    throw std::invalid_argument(std::string(kSimdVariable) + "='" + value + "': expected one of " +
                                list({std::begin(kNames), std::end(kNames)}));
  const int isa = static_cast<int>(found - std::begin(kNames));
  if (!runs(isa))
    throw std::invalid_argument(std::string(kSimdVariable) + "=" + value +
                                ": this machine lacks the instruction set; it runs " + list(instruction_sets()) +
                                ". Unset the variable for the best of them");
  return isa;
}

}  // namespace

const char* isa_name(int isa) { return kNames[isa]; }

bool runs(int isa) {
  if (isa == kAuto || isa == kBaseline) return true;
#ifdef PROOFWOOD_X86
  __builtin_cpu_init();
  if (isa == kAvx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
  if (isa == kAvx512)
    return runs(kAvx2) && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq");
#endif
  return false;
}

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (int isa = kBaseline; isa <= kAvx512; ++isa)
    if (runs(isa)) names.emplace_back(kNames[isa]);
  return names;
}

int chosen_isa(int asked) {
  if (asked < kAuto || asked > kAvx512) throw std::invalid_argument("isa is not the number of an instruction set");
  const int isa = asked == kAuto ? from_environment() : asked;
  if (!runs(isa))
    throw std::invalid_argument(std::string("this machine lacks the instruction set ") + kNames[isa] + "; it runs " +
                                list(instruction_sets()));
  return isa == kAuto ? best() : isa;
}

}  // namespace proofwood
