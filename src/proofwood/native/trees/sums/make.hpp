// Makes a task by sums from its name and the numbers of its rows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/wide.hpp"
#include "trees/task.hpp"

namespace proofwood::trees {

// Of each row, before rows of equal values are merged.
struct SumRows {
  std::vector<std::vector<double>> sums;  // per sum: whole numbers, less than 2^53 in total
  std::vector<i128> own;                  // empty where rows have no costs of their own
  std::vector<i64> reach;  // what one more row costs a tree at most; empty if that is more than can be counted
  bool rounded = false;    // whether costs of leaves are rounded down to whole units
  std::shared_ptr<const SumsTask> task;
};

// `targets`: (n, width), row after row: numbers times weights. `shift`: a unit of cost is 2^shift. Throws
// std::invalid_argument for a name that is unknown and for numbers that are too large to be counted.
SumRows make_sums(const std::string& name, const i64* targets, std::size_t width, const i64* weights, std::size_t n,
                  int shift);

}  // namespace proofwood::trees
