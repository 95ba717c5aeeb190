// What is counted on a set of rows, apart from which rows they are: all that the cost of a leaf depends on.
#pragma once

#include <algorithm>
#include <vector>

#include "trees/settings.hpp"
#include "trees/table.hpp"

namespace proofwood::trees {

struct ClassCounts {
  i64 weight = 0;                 // of all rows
  u32 count = 0;                  // unweighted rows
  i64 mass = 0;                   // weight before opposite rows cancelled
  std::vector<i64> class_weight;  // per class

  void clear(u32 n_classes) {
    weight = 0;
    count = 0;
    mass = 0;
    class_weight.assign(n_classes, 0);
  }
  void add(const Table& table, u32 row) {
    weight += table.weight[row];
    count += table.count[row];
    mass += table.mass[row];
    class_weight[table.label[row]] += table.weight[row];
  }
  void subtract(const ClassCounts& part) {
    weight -= part.weight;
    count -= part.count;
    mass -= part.mass;
    for (std::size_t c = 0; c < class_weight.size(); ++c) class_weight[c] -= part.class_weight[c];
  }
  i64 heaviest_class() const { return *std::max_element(class_weight.begin(), class_weight.end()); }
  i64 errors() const { return weight - heaviest_class(); }  // of a leaf: CT(D, 0)
};

// The same for tasks by sums.
struct RowSums {
  std::vector<double> sums;  // whole numbers
  i128 own = 0;              // what rows cost by themselves

  void clear(std::size_t n_sums) {
    sums.assign(n_sums, 0.0);
    own = 0;
  }
  void add(const Table& table, u32 row) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += table.sums[k][row];
    if (!table.own.empty()) own += table.own[row];
  }
  void add(const RowSums& part) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += part.sums[k];
    own += part.own;
  }
  void subtract(const RowSums& part) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] -= part.sums[k];
    own -= part.own;
  }
};

}  // namespace proofwood::trees
