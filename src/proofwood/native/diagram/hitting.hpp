// Least weight of elements that hit every set: depth-first, in integers.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "common/integers.hpp"

namespace proofwood::diagram::hitting {

struct Answer {
  std::vector<u32> chosen;  // elements that hit every set and weigh less than `upper`; empty if there are none
  i64 weight = 0;           // what they weigh; `upper` if there are none
  bool complete = false;    // whether nothing weighs less than `weight`
};

// `sets` hold numbers of elements, each set at least one; `weights` are positive.
Answer cheapest(const std::vector<std::vector<u32>>& sets, const std::vector<i64>& weights, i64 upper,
                const std::atomic<int>& stop);

}  // namespace proofwood::diagram::hitting
