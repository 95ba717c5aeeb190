// How many trees of a set do without each column (docs/theory/near-optimal-trees.md, "What holds for all trees").
#pragma once

#include <vector>

#include "trees/near/near_search.hpp"

namespace proofwood::trees::near {

// Per feature of the table. False if stopped.
bool count_without(NearSearch& search, const std::atomic<int>& stop, std::vector<Count>& counts);

}  // namespace proofwood::trees::near
