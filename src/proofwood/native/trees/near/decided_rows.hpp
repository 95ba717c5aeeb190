// Which classes the trees of a set give to rows (docs/theory/near-optimal-trees.md, "What holds for all trees").
#pragma once

#include <cstdint>
#include <vector>

#include "trees/near/near_search.hpp"

namespace proofwood::trees::near {

// Rows by the values of the table: per feature, per row, how many values of the table are below the row's, and how many
// are at most it. A test between two values can send a row low where its value is below the greater of them, and high
// where it is above the lesser.
struct PlacedRows {
  std::size_t n = 0;
  std::vector<std::vector<u32>> below, until;
};

// (rows, classes): whether some tree gives the class to the row. False if stopped: then those of the trees seen so far.
bool decide_rows(NearSearch& search, const std::atomic<int>& stop, const PlacedRows& rows,
                 std::vector<std::uint8_t>& possible);

}  // namespace proofwood::trees::near
