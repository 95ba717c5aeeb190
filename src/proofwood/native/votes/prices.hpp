// What a row costs.
//
// Theory: docs/theory/explanations.md, "Nearest rows".
#pragma once

#include <cstdint>
#include <vector>

#include "votes/model.hpp"

namespace proofwood::votes {

using Way = std::vector<Lead>;  // one way to be a row that is looked for: all its leads are reached

constexpr std::int64_t kNever = std::int64_t{1} << 60;  // price of a cell that may not be taken
// Every measure of distance is a price per cell, so that one search and one bound serve them all:
// decisions/0035-distances-as-prices.
using Prices = std::vector<std::vector<std::int64_t>>;  // (n_columns) by cell: below 2^44, or kNever

// Leaves out cells at the ends of columns that bring the price of a row to `upper` whatever the other columns do; false
// if no row of the box costs less.
bool tighten(const Prices& prices, std::int64_t upper, Box& box);

}  // namespace proofwood::votes
