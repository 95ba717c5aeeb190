// One function per kernel adds its Python functions to the extension module.
#pragma once

#include <nanobind/nanobind.h>

namespace proofwood {

void bind_trees(nanobind::module_& module);
void bind_near(nanobind::module_& module);
void bind_monotone(nanobind::module_& module);
void bind_fair(nanobind::module_& module);
void bind_minimal(nanobind::module_& module);
void bind_subset(nanobind::module_& module);
void bind_topology(nanobind::module_& module);
void bind_votes(nanobind::module_& module);
void bind_cells(nanobind::module_& module);
void bind_prices(nanobind::module_& module);
void bind_hitting(nanobind::module_& module);
void bind_born_again(nanobind::module_& module);
void bind_diagram(nanobind::module_& module);
void bind_layers(nanobind::module_& module);
void bind_hyperplane(nanobind::module_& module);
void bind_memory(nanobind::module_& module);
void bind_walk(nanobind::module_& module);

}  // namespace proofwood
