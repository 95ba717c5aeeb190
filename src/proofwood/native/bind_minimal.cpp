// Python face of the minimal search.
#include <nanobind/nanobind.h>

#include "bindings.hpp"

void proofwood::bind_minimal(nanobind::module_& module) { (void)module; }
