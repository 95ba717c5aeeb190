// Exact search over boxes of cuts: where the tests are cuts of few columns, whole stretches of cuts are ruled out at
// once.
//
// Theory: docs/theory/decision-diagrams.md, "Boxes of cuts". The idea of bounding all trees whose cuts lie in given
// stretches is that of Mazumder, Meng, Wang, ICML 2022 (Quant-BnB); here it is made for sets of tests.
//
// A box says of each test of a set in which column it is, and between which cuts. Rows outside the stretches are
// decided: whatever the cuts, they fall into the same cells, and so no set of the box errs less than they do.
//
//   column x   . . . . [ . . . . ] . . . .      the cut is somewhere in the brackets
//              low rows   open     high rows
//
// The best box is halved along its widest stretch again and again. Stretches are as wide as those of a grid at first,
// and rows are bits; within one field of the grid only the open rows are looked at, one by one (box_rows.cpp).
#pragma once

#include <array>
#include <functional>
#include <mutex>
#include <set>
#include <vector>

#include "bdd/kernels.hpp"
#include "bdd/subset_search.hpp"

namespace proofwood::bdd {

// Cuts of numbers one by one left the bound at 0; a box rules out whole stretches: decisions/0064-boxes-of-cuts.
constexpr u32 kMostBoxTests = 8;

// The cut of a test is one of those from place `lo` to place `hi` of the grid of its column.
struct Stretch {
  std::uint16_t column, lo, hi;
};

struct Box {
  i64 bound;  // no set of the box errs less
  std::array<Stretch, kMostBoxTests> tests;
};

// Cuts of the columns at about equal shares of the rows, the first and the last cut among them; for each the rows up to
// it, as bits, and the weights of the classes as planes of bits.
class CutGrid {
 public:
  // Ends early, and is not to be used, if `stop` is set.
  CutGrid(const Table& table, const SubsetKernels& kernels, const std::atomic<int>& stop);

  const Table& table() const { return table_; }
  u32 columns() const { return static_cast<u32>(cuts_.size()); }
  u32 places(u32 column) const { return static_cast<u32>(cuts_[column].size()); }
  u32 cut(u32 column, u32 place) const { return cuts_[column][place]; }
  // Number of the rows that are open in a stretch.
  u32 open_rows(const Stretch& s) const { return rows_[s.column][s.hi] - rows_[s.column][s.lo]; }

  // The weight of each class in each cell of the decided rows, and what is unavoidable there: (1 << size, sums()) in
  // `out`. The first test is the most significant bit of a cell, 1 its high side.
  void count(const Box& box, u32 size, std::vector<i64>& out) const;
  u32 sums() const { return table_.classes + 1; }
  // Error of the decided rows of two boxes which are `box` with the one or the other stretch for the test `varied`.
  // Where both reach `limit` the rest is not counted.
  std::array<i64, 2> errors(const Box& box, u32 size, u32 varied, const std::array<Stretch, 2>& choice,
                            i64 limit) const;
  // The same for each cell alone.
  i64 error(const i64* sums) const;

 private:
  const u64* low(const Stretch& s) const { return bits_[s.column].data() + s.lo * std::size_t{words_}; }
  const u64* up_to(const Stretch& s) const { return bits_[s.column].data() + s.hi * std::size_t{words_}; }
  void add_planes(const std::vector<i64>& weights, u32 sum);
  void add_weighed(const i64* planes, i64* sums) const;

  const Table& table_;
  const SubsetKernels& kernels_;
  u32 words_ = 0;
  std::vector<std::vector<u32>> cuts_, rows_;
  std::vector<std::vector<u64>> bits_;  // (places, words) of each column
  std::vector<u64> all_, planes_;
  std::vector<u32> sum_of_, shift_of_;  // of each plane: the class, or after the last one what is unavoidable
};

// What of the best set, or of the sets that are listed, decides whether a box is of interest.
class Answers {
 public:
  virtual ~Answers() = default;
  // Whether sets that err `bound` or more and are not before `first` are of no interest.
  virtual bool ruled_out(i64 bound, const Set& first) = 0;
  virtual i64 limit() const = 0;  // no set that errs more is of interest
  virtual void found(i64 error, const Set& numbers, const Set& places) = 0;
  virtual bool stopped() const = 0;
};

// All sets of a box that lies in one field of the grid, by the rows that are open there.
class FieldSearch {
 public:
  FieldSearch(const CutGrid& grid, u32 size);
  void run(const Box& box, Answers& answers);
  i64 nodes() const { return nodes_; }

 private:
  struct Frame {  // cuts from lo to hi; the open rows by their place, and the sums of the others by cell
    std::array<u32, kMostBoxTests> lo, hi;
    std::vector<u32> open;
    std::vector<i64> sums;
    i64 bound = 0;
  };
  void load(const Box& box);
  i64 bound_of(const Frame& frame) const;
  u32 widest(const Frame& frame);
  void halve(const Frame& frame, u32 test);
  bool narrow(const Frame& parent, u32 test, u32 lo, u32 hi, Frame& child) const;
  void leaf(const Frame& frame, Answers& answers);
  Set first_of(const Frame& frame) const;
  void add_row(std::vector<i64>& sums, u32 cell, u32 group) const;

  const CutGrid& grid_;
  const Table& table_;
  u32 size_;
  std::array<u32, kMostBoxTests> column_{};
  std::vector<u32> item_begin_, item_of_;   // items of each group
  std::vector<u32> row_ranks_, row_group_;  // (rows of the field, tests) ranks, and their groups
  std::vector<u32> stamp_;
  u32 now_ = 0;
  std::vector<Frame> frames_;  // a stack
  std::size_t top_ = 0;
  std::vector<u32> ranks_, most_ranks_;  // of the open rows in the stretch of a test, and of the widest
  i64 nodes_ = 0;
};

}  // namespace proofwood::bdd
