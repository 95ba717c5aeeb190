// The tests of a set of rows as roots of trees of one depth: which is looked at next, and what is known of each
// (docs/theory/optimal-trees.md, "Packed tests").
#pragma once

#include <utility>
#include <vector>

#include "trees/packed/similar.hpp"
#include "trees/plan.hpp"

namespace proofwood::trees::packed {

class Roots {
 public:
  struct Candidate {
    u32 test;          // its number in the set
    i64 holds, fails;  // bounds of its two sides
  };
  struct Found {
    i64 lower = 0, upper = kInfinite;
    i64 holds = 0, fails = 0;  // bounds of its two sides
    PlanPtr plan;              // if there is a tree of cost `upper` that may be wanted
    bool stopped = false;
  };

  // Tests come in the order of `rank`. `similar` may be null.
  void begin(u32 n_tests, i64 limit, i64 gap, i64 leaf_price, const std::vector<i64>& rank, Similar* similar);
  void offer(i64 cost, PlanPtr tree);
  // False if no test is left that may be the root of a tree cheaper than what is wanted and known.
  bool take(Candidate& candidate);
  void record(const Candidate& candidate, const Found& found);

  i64 cutoff() const { return std::min(limit_, upper - gap_); }
  i64 lower() const;  // of every tree, those of one leaf being no cheaper than `upper`

  i64 upper = kInfinite;
  PlanPtr plan;
  std::vector<i64> bound;  // per test: of every tree with it at the root

 private:
  Similar* similar_ = nullptr;
  i64 limit_ = kInfinite, gap_ = 0, leaf_price_ = 0;
  std::vector<u32> order_;
  std::size_t next_ = 0;
};

}  // namespace proofwood::trees::packed
