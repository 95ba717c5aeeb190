// Sums over the first rows in the order of a feature: the positions z(t) of the paper, made when first asked for.
#pragma once

#include <utility>
#include <vector>

#include "trees/buffer.hpp"
#include "trees/table.hpp"

namespace proofwood::trees {

class Rows;

class PrefixSums {
 public:
  void forget(u32 n_features);
  // Weight of the first i rows in the order of `feature`, i = 0..n.
  const i64* weights(const Table& table, const Rows& rows, u32 feature);
  // Unweighted rows and mass of the first `position` rows.
  std::pair<u32, i64> held(const Table& table, const Rows& rows, u32 feature, u32 position);

 private:
  Buffer<u32> counts_;
  Buffer<i64> weight_, weights_, masses_;  // of each local row; sums
  bool have_weight_ = false;
  std::vector<unsigned char> have_weights_, have_held_;
};

}  // namespace proofwood::trees
