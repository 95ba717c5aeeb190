// Best tree of one split by one scalar walk per feature: depth one, and the reference beside the kernels.
#pragma once

#include <atomic>

#include "trees/rows.hpp"
#include "trees/settings.hpp"

namespace proofwood::trees {

struct Stump {
  i64 right = -1;                 // weight classified right; -1: no permitted stump
  i64 right_all = -1;             // the same without the minimum of leaves
  u32 feature = 0, position = 0;  // smallest that attains `right`
};

Stump best_stump(const Table& table, const Rows& rows, const Minimum& minimum, const std::atomic<int>& stop);

}  // namespace proofwood::trees
