// Similarity bounds between the sides of the tests of one set of rows (docs/theory/optimal-trees.md, "Packed tests"):
// a set costs at least what another one does, less the weight that only the other one has.
#pragma once

#include <vector>

#include "trees/packed/row_set.hpp"

namespace proofwood::trees::packed {

class Similar {
 public:
  // `whole`: cost of the set itself, for the trees whose sides are bounded. Worthless where stopped.
  void begin(const TestTable& table, const Kernels& kernels, const RowSet& rows, i64 error_price, i64 whole,
             const Stop& stop);
  // What the sides of a test cost at least.
  void note(u32 test, i64 holds, i64 fails);
  // Bounds of the sides of a test by all that was noted.
  void look(u32 test, i64& holds, i64& fails) const;

 private:
  i64 error_price_ = 1;
  u32 n_tests_ = 0;
  std::int32_t all_ = 0, whole_ = 0;
  VectorBuffer pairs_, single_, scratch_;
  std::vector<std::int32_t> weight_;  // (n_tests, n_tests): of the rows at which both tests hold
  // Per test: bounds of its sides, and what they are above the weight of these; in units of weight.
  std::vector<std::int32_t> holds_, fails_, holds_above_, fails_above_;
};

}  // namespace proofwood::trees::packed
