// How many trees of a set do without each column (docs/theory/near-optimal-trees.md, "What holds for all trees").
#pragma once

#include <vector>

#include "trees/near/near_search.hpp"

namespace proofwood::trees::near {

// Per column of the views, among the trees that were seen: all, unless false says that it was stopped.
struct ColumnUse {
  std::vector<Count> without;
  Count seen = 0;
};
bool count_without(NearSearch& search, const std::atomic<int>& stop, ColumnUse& use);

}  // namespace proofwood::trees::near
