// The learning problem as tests and their bits (docs/theory/optimal-trees.md, "Packed tests").
//
//   column 0.5 0.5 1.2 7.0  has two tests: x > 0.5 holds at rows 2 and 3, x > 1.2 at row 3
//
// A row is one *entry*, or several where weights are taken apart: weight 5 is an entry of weight 4 and one of weight 1.
// Entries of one class and weight form a group.
#pragma once

#include <optional>
#include <vector>

#include "trees/packed/kernels.hpp"
#include "trees/settings.hpp"
#include "trees/table.hpp"

namespace proofwood::trees::packed {

// Rows whose rank in the feature is above `rank` pass the test.
struct Test {
  u32 feature, rank;
  u32 key() const { return (rank << kLabelBits) | ((1u << kLabelBits) - 1); }  // of the last rows that fail it
};

// What the rows of an entry are.
struct Group {
  u32 label;
  i64 weight;
  u32 count;  // unweighted rows, and weight before opposite rows cancelled: of the first entry of a row
  i64 mass;
};

struct TestTable {
  std::vector<Test> tests;
  u32 stride = 0;  // tests, filled up to whole blocks
  std::vector<Group> groups;
  std::vector<u32> group;     // (n_groups + 1,) first entry of each
  std::vector<u32> row;       // (n_entries,) of the table
  std::vector<u32> row_bits;  // (n_entries, stride / 32)
  std::vector<u64> hash;      // (n_entries, 2)
  u32 n_classes = 0;
  std::vector<std::int32_t> factor;   // of Layers
  std::vector<std::int32_t> weights;  // per group
  Layers layers{};
  Layers weight_layer{};  // of weights alone
  std::vector<std::int32_t> priced_factor;
  Layers priced_layers{};      // `layers` and one of weights
  i64 largest = 0;             // sum of anything that is counted
  const Table* all = nullptr;  // of a task by sums; then entries are its rows, and form one group

  bool by_sums() const { return all != nullptr; }
  u32 n_groups() const { return static_cast<u32>(groups.size()); }
  bool holds(u32 entry, u32 test) const {
    return (row_bits[std::size_t{entry} * (stride / kTogether) + test / kTogether] >> (test % kTogether) & 1) != 0;
  }
  u32 number(u32 feature, u32 key) const;  // of the test of a split
  u32 n_entries() const { return static_cast<u32>(row.size()); }
};

// Nothing where the tests are too many (more are searched where no depth is given), or the weights of too many kinds,
// for this way of search.
std::optional<TestTable> pack_table(const Table& table, const Settings& settings);

}  // namespace proofwood::trees::packed
