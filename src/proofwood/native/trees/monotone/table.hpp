// The table of a search with directions of columns.
#pragma once

#include "trees/table.hpp"

namespace proofwood::trees::monotone {

// As trees::prepare, without gaps and sets of levels. No rows are merged: leaves may give the class of fewer rows, so
// that opposite rows do not cancel. `directions`: of each column of the caller, 1, -1, or 0 for a free one. Returns
// false if `stop` was set meanwhile.
bool prepare(Table& table, const double* x, std::size_t n, std::size_t n_columns, const Targets& targets,
             const i64* weights, const std::vector<int>& directions, int threads, const std::atomic<int>& stop);

}  // namespace proofwood::trees::monotone
