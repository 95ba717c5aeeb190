// The extension module: arrays in, arrays out.
#include <nanobind/nanobind.h>

#include "common/bindings.hpp"
#include "common/threads.hpp"

NB_MODULE(_native, module) {
  (void)proofwood::thread_is_ready();
  nanobind::set_leak_warnings(false);  // what lives at the end of the interpreter is not worth a word
  module.doc() = "Counting loops of proofwood: arrays in, arrays out.";
  proofwood::bind_trees(module);
  proofwood::bind_near(module);
  proofwood::bind_monotone(module);
  proofwood::bind_fair(module);
  proofwood::bind_minimal(module);
  proofwood::bind_subset(module);
  proofwood::bind_topology(module);
  proofwood::bind_votes(module);
  proofwood::bind_cells(module);
  proofwood::bind_prices(module);
  proofwood::bind_hitting(module);
  proofwood::bind_born_again(module);
  proofwood::bind_diagram(module);
  proofwood::bind_layers(module);
  proofwood::bind_hyperplane(module);
  proofwood::bind_memory(module);
  proofwood::bind_walk(module);
}
