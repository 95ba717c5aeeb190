// Lower bounds of very many splits of one set of rows, for tables of many columns: most of these say nothing, and a
// bound of their best stumps shows it (docs/decisions/0094-costs-of-gaps-and-columns.md).
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "trees/buffer.hpp"
#include "trees/kernels.hpp"
#include "trees/rows.hpp"
#include "trees/settings.hpp"

namespace proofwood::trees {

// Memory and methods of one thread.
class CoarseStumps {
 public:
  struct Split {
    u32 feature, position;
    std::array<i64, 2> wrong;  // of each side: least weight that a leaf or a stump gets wrong, the leaf's own
    std::array<i64, 2> leaf;
  };

  CoarseStumps(const Table& table, const Settings& settings, const std::atomic<int>& stop)
      : table_(table), settings_(settings), stop_(stop), kernels_(select_kernels(settings.isa, 0, 0)) {}

  bool serves(const Rows& rows) const;  // whether it is for such rows, and pays
  void begin(const Rows& rows);
  std::size_t room() const { return static_cast<std::size_t>(kernels_->coarse); }
  bool run(Rows& rows, std::vector<Split>& splits);  // false if stopped
  void forget() {
    mask_ = {};
    positive_ = {};
  }

 private:
  const void* make_mask(const Rows& rows, const std::vector<Split>& splits);

  const Table& table_;
  const Settings& settings_;
  const std::atomic<int>& stop_;
  const Kernels* const kernels_;
  VectorBuffer mask_;
  Buffer<unsigned char> positive_;
  std::vector<u32> first_;  // per feature: rows of its least value, if these are many
  CoarseState state_;
};

}  // namespace proofwood::trees
