// Local search for a hyperplane of least weighted 0-1 loss by exact line searches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "common/integers.hpp"

namespace proofwood::diagram::plane {

// Rows of n_rows x size doubles, row-major; the last entry of each is -1, so that a head, a normal and an offset in one
// vector, has height `row . head` above the hyperplane. `extra`: price of the high side less that of the low side.
struct Rows {
  const double* values;
  const i64* extra;
  std::size_t n;
  std::size_t size;
};

struct Effort {
  u64 seed = 0;
  std::size_t steps = 1000;           // line searches in all
  std::size_t patience = 150;         // line searches in a row without a smaller loss, then the walk begins elsewhere
  double seconds = -1;                // below 0: no limit
  std::function<bool()> interrupted;  // asked now and then; true ends the search
};

struct Found {
  i64 loss;  // sum of `extra` over the rows above the hyperplane
  std::vector<double> head;
};

using Crossings = std::vector<std::pair<double, i64>>;  // where a row changes sides, and what that adds to the loss

// The least loss along a line, and a step t that attains it: row i is above iff height[i] + t * slope[i] > 0. Of the
// intervals of equal loss the one of greatest width times a random number is taken, and its middle.
std::pair<i64, double> best_step(const double* height, const double* slope, const i64* extra, std::size_t n,
                                 Crossings& crossings, std::mt19937_64& random);

// The hyperplane that each walk ended at, the smallest loss first; walks begin at `heads`, then at the best, shaken.
std::vector<Found> search(const Rows& rows, const std::vector<std::vector<double>>& heads, const Effort& effort);

}  // namespace proofwood::diagram::plane
