// The rows of a subproblem level by level, for each column that is tested by sets.
#pragma once

#include <vector>

#include "trees/buffer.hpp"
#include "trees/rows.hpp"

namespace proofwood::trees {

// Memory of one thread.
class LevelGroups {
 public:
  void begin(const Table& table, const Rows& rows);
  // Local rows by level; a segment for each level that the rows have.
  SortedRows column(u32 c) const {
    return {n_,     order_.data() + std::size_t{c} * n_, ends_[c].data(), static_cast<u32>(ends_[c].size()), false,
            nullptr};
  }

  const std::vector<u32>& levels(u32 c) const { return levels_[c]; }  // of these segments

 private:
  u32 n_ = 0;
  Buffer<u32> order_;
  std::vector<std::vector<u32>> ends_, levels_;  // per column
};

}  // namespace proofwood::trees
