// The learning problem as integers: distinct columns, merged rows (docs/theory/optimal-trees.md, "Positions").
//
//   column 0.5 0.5 1.2 7.0  with the classes  a a b b  has the ranks 0 0 1 2 and the keys  0|a 0|a 1|b 2|b
//   column 0.5 0.5 1.2 7.0  with the classes  a b b b  has the keys  0|mixed 0|mixed 1|b 2|b
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "common/integers.hpp"
#include "common/wide.hpp"
#include "trees/level_column.hpp"
#include "trees/sums/make.hpp"

namespace proofwood::trees {

// A column's values as integers that keep their order, as sets of rows have them: rank << kLabelBits | label, where
// label is the class (or kind) of all rows of that value, or kMixed. Equal keys are equal values.
constexpr u32 kLabelBits = 6;
constexpr u32 kMixed = (1u << kLabelBits) - 1;

// The ranks of one column, in as few bytes as the largest needs.
class Ranks {
  static decltype(auto) visited(auto& ranks, const auto& work) {
    if (auto* bytes = std::get_if<std::vector<u8>>(&ranks)) return work(*bytes);
    if (auto* pairs = std::get_if<std::vector<u16>>(&ranks)) return work(*pairs);
    return work(*std::get_if<std::vector<u32>>(&ranks));
  }

 public:
  Ranks() = default;
  Ranks(std::size_t n, u32 n_values) : n_values_(n_values) {  // of a column of `n` rows and so many values
    if (n_values <= 1u << 8)
      ranks_ = std::vector<u8>(n);
    else if (n_values <= 1u << 16)
      ranks_ = std::vector<u16>(n);
    else
      ranks_ = std::vector<u32>(n);
  }
  Ranks(std::vector<u8> ranks, u32 n_values) : n_values_(n_values), ranks_(std::move(ranks)) {}

  // Calls `work` with the vector of ranks; loops belong inside.
  decltype(auto) visit(const auto& work) { return visited(ranks_, work); }
  decltype(auto) visit(const auto& work) const { return visited(ranks_, work); }
  u32 operator[](std::size_t row) const {
    return visit([row](const auto& ranks) { return static_cast<u32>(ranks[row]); });
  }
  u32 n_values() const { return n_values_; }
  bool operator==(const Ranks& other) const = default;

 private:
  u32 n_values_ = 0;
  std::variant<std::vector<u8>, std::vector<u16>, std::vector<u32>> ranks_;
};

constexpr u32 kNoView = ~0u;

// Rows of equal values and class are merged to one row where there are many of them, columns that say nothing new are
// left out. Of two classes, opposite rows cancel where rows are merged.
struct Table {
  u32 n_rows = 0, n_features = 0, n_classes = 0;
  std::vector<Ranks> rank;  // per feature, per row
  std::vector<u32> column;  // per feature: column of the caller
  // Two features may differ only in some rows, which are below all others in the one and above in the other: a column
  // with gaps. Per feature: the other one, where this one has them below, and above; else kNoView.
  std::vector<u32> high_view, low_view;
  std::vector<LevelColumn> levels;  // tested by sets; as a feature, number f is n_features + f
  std::vector<u16> label;           // per row
  std::vector<i64> weight;          // per row, not negative
  std::vector<u32> count;           // per row: rows of the caller
  std::vector<i64> mass;            // per row: their weight, before opposite rows cancelled
  i64 constant = 0;                 // weight that every tree gets wrong: equal rows of opposite classes
  bool unit = true;                 // all weights and counts are 1
  i64 heaviest = 1;                 // weight of a row
  std::shared_ptr<const Task> task;
  std::shared_ptr<const SumsTask> sums_task;  // the same, if it is one
  // Of a task by sums. Then rows have no class, and `weight` is what one more row costs a tree at most.
  std::vector<std::vector<double>> sums;  // per sum, per row
  std::vector<i128> own;                  // per row; empty where rows have no costs of their own
  std::vector<u16> kind;                  // per row: those of one kind have proportional sums; kMixed: of its own
  bool similar = true;                    // whether `weight` is known
  bool rounded = false;                   // whether costs of leaves are rounded down
  bool unweighted = false;                // whether all rows weigh 1

  const double* x = nullptr;  // the caller's values, (rows of the caller, n_columns), and a row of the caller per row
  std::size_t n_columns = 0;
  std::vector<u32> example;

  bool by_sums() const { return sums_task != nullptr; }
  double value(u32 feature, u32 of_rank) const;  // that has this rank: a walk over the rows
};

// Columns whose numbers are levels without order, at most kMostLevels of them.
struct LevelTests {
  std::vector<u32> columns;
  u32 anywhere = kMostLevels;  // levels of a column up to which its sets are tests of every node
};

// What rows are to be told apart by: classes in 0..n_classes-1, or the sums of a task.
struct Targets {
  const int* labels = nullptr;
  u32 n_classes = 1;
  i64 error_price = 1;
  SumRows* sums = nullptr;    // in place of labels; what is in it is taken
  bool every_column = false;  // columns that split alike stay apart, and none is a view of another
};

// `x` is (n, n_columns), row after row, and must outlive the table. Returns false if `stop` was set meanwhile.
bool prepare(Table& table, const double* x, std::size_t n, std::size_t n_columns, const Targets& targets,
             const i64* weights, const LevelTests& by_sets, bool merge, bool keep_counts, int threads,
             const std::atomic<int>& stop);

}  // namespace proofwood::trees
