// A set of rows as the search over packed tests knows it: its entries, and once it is opened its tests as words
// (docs/theory/optimal-trees.md, "Packed tests").
#pragma once

#include <vector>

#include "trees/buffer.hpp"
#include "trees/class_counts.hpp"
#include "trees/packed/table.hpp"

namespace proofwood::trees::packed {

// Memory that all sets of one thread use in turn.
struct Scratch {
  VectorBuffer words, kernel;
  std::vector<u16> valid;
  std::vector<u16> differs, prints;
  std::vector<u32> slots, kept, mask, from_lane;
  std::vector<u32> in_order;
  Buffer<u32> bits;
};

class RowSet {
 public:
  u32 n = 0;  // entries
  ClassCounts counts;
  RowSums sums;  // of tasks by sums, and what a leaf costs there
  i64 leaf = 0;
  u64 hash[2] = {0, 0};

  // After open(): the tests that part the rows, each once, by their numbers in the table, ascending.
  std::vector<u32> tests;
  std::vector<u32> place;  // of each, among those of the parent
  u32 stride = 0;
  Words words{};

  void start(const TestTable& table);  // all rows
  // The rows of an opened set at which one of its tests holds, or fails. The parent must stay as it is until open().
  void take_side(const TestTable& table, const Kernels& kernels, const RowSet& parent, u32 test, bool holds);
  // `alive`: places of the parent's tests that are of interest, ascending; null: all.
  void open(const TestTable& table, const Kernels& kernels, Scratch& scratch, const std::vector<u32>* alive = nullptr);
  bool is_open() const { return open_; }
  // Hash of the rows of an opened set at which a test holds, or fails.
  void side_hash(const TestTable& table, const Kernels& kernels, u32 test, bool holds, u64 (&found)[2]) const;

  u32 n_tests() const { return static_cast<u32>(tests.size()); }
  u32 entry(u32 i) const { return entry_[i]; }
  // Entries at which a test holds, or fails: their positions, group by group from group[g] on. Returns how many.
  u32 positions(const Kernels& kernels, u32 test, bool holds, std::vector<u32>& at, std::vector<u32>& group) const;
  const std::vector<u32>& group() const { return group_; }  // first entries of the groups
  const u32* row_bits() const { return row_bits_.data(); }

 private:
  // Bits of rows that a set is opened from.
  struct Source {
    const u32* bits;
    u32 stride, n_tests;
    const u32* positions;
  };
  void note(const TestTable& table);
  void note_sums(const TestTable& table);
  Source narrowed(const Source& wide, const Kernels& kernels, Scratch& scratch, const std::vector<u32>& alive) const;
  void take_words(const TestTable& table, const Kernels& kernels, Scratch& scratch, const Source& from, u16* wide);

  const RowSet* parent_ = nullptr;  // none: the table itself
  bool open_ = false;
  std::vector<u32> group_;             // (n_groups + 1,) first entry of each group
  std::vector<u32> entry_, position_;  // in the table, in the parent
  Buffer<u32> row_bits_;
  std::vector<u32> word_group_;
  VectorBuffer word_buffer_;
};

}  // namespace proofwood::trees::packed
