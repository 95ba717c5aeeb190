// Python face of the subset search.
#include <nanobind/nanobind.h>

#include "bindings.hpp"

void proofwood::bind_subset(nanobind::module_& module) { (void)module; }
