// Python face of the memory that the process holds and may hold.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "common/bindings.hpp"
#include "common/memory.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Bytes = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

Bytes use_now() {
  const auto use = proofwood::memory_use();
  return {use.resident, use.addresses, use.data};
}

void set_ceiling(const Bytes& early, const Bytes& most) {
  const auto line = [](const Bytes& given) {
    const auto bytes = [](std::int64_t number) { return number < 0 ? proofwood::MemoryCeiling::kNone : number; };
    return proofwood::MemoryUse{bytes(std::get<0>(given)), bytes(std::get<1>(given)), bytes(std::get<2>(given))};
  };
  proofwood::memory_ceiling() = {line(early), line(most)};
}

}  // namespace

void proofwood::bind_memory(nb::module_& module) {
  module.def("memory_use", &use_now,
             "Bytes of this process: resident, of addresses, of private data; -1 where the system does not tell.");
  module.def("set_memory_ceiling", &set_ceiling, "early"_a, "most"_a,
             "Where the caches of searches started from this thread stop growing, and where these end, as memory_use() "
             "counts; -1 for no limit.");
  module.def(
      "memory_state", [] { return static_cast<int>(proofwood::memory_ceiling().look()); },
      "0: enough memory below the ceiling of this thread; 1: caches should stop growing; 2: none is left.");
  module.def("trim_memory", &proofwood::trim_memory, "Gives freed memory back to the system where the C library can.");
}
