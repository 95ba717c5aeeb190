// Solves one set of rows over packed tests, and those below it (docs/theory/optimal-trees.md, "Packed tests").
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "trees/packed/roots.hpp"
#include "trees/packed/row_set.hpp"
#include "trees/packed/stumps.hpp"
#include "trees/shared.hpp"

namespace proofwood::trees::packed {

// Memory and methods of one thread.
class Solver {
 public:
  Solver(Shared& shared, const TestTable& table, const Kernels& kernels);

  // Best tree of a set of rows, if cheaper than `limit`; bounds in any case.
  Solution solve(RowSet& rows, int depth, i64 limit);
  // Trees of an opened set and a depth from three, whose best tree of one level less is known: `begin_roots` and then
  // `evaluate` for each root that `Roots::take` gives.
  Roots& begin_roots(const RowSet& rows, int depth, i64 limit, i64 gap, const Solution& shallow);
  Solution two(RowSet& rows);  // of an opened set; leaves its sums for roots of depth three
  void evaluate(RowSet& rows, int depth, const Roots::Candidate& candidate, i64 cutoff, i64 upper, Roots::Found& found);
  // The first test, in their order, at the root of a tree of cost `optimum`, the least of this depth. `bound`: of
  // roots that are known, else empty. Nothing if stopped.
  // `looked_at` hears of each root that was evaluated.
  using LookedAt = std::function<void(const Roots::Candidate&, const Roots::Found&)>;
  std::optional<u32> first_root(RowSet& rows, int depth, i64 optimum, const std::vector<i64>& bound,
                                const LookedAt& looked_at);

  void open(RowSet& rows) {
    if (!rows.is_open()) rows.open(table_, kernels_, scratch_);
  }
  // The best stump or leaf of some entries of the table, group by group.
  PlanPtr end(const std::vector<u32>& entries, const std::vector<u32>& group);
  // Both sides of a test of an opened set.
  void split(const RowSet& rows, u32 test, RowSet& holds, RowSet& fails) const;
  PlanPtr plan_of(const RowSet& rows, u32 test, PlanPtr holds, PlanPtr fails) const;
  i64 leaf_cost(const RowSet& rows) const {
    return table_.by_sums() ? rows.leaf : shared.settings.prices.error * rows.counts.errors();
  }

  double work() const { return stumps_->work; }

  Shared& shared;
  Counters counters{};

 private:
  struct Level {
    RowSet holds, fails;
    Similar similar;
    Roots roots;
  };
  Level& level(int depth) {
    while (levels_.size() <= static_cast<std::size_t>(depth)) levels_.push_back(std::make_unique<Level>());
    return *levels_[static_cast<std::size_t>(depth)];
  }
  Solution affordable(RowSet& rows, i64 limit);
  Solution one(RowSet& rows);
  Solution deep(RowSet& rows, int depth, i64 limit);
  void evaluate_three(RowSet& rows, const Roots::Candidate& candidate, i64 upper, Roots::Found& found);
  bool known_sides(const RowSet& rows, u32 test, u64 (&hashes)[2][2], Roots::Found& found);
  void evaluate_deep(RowSet& rows, int depth, const Roots::Candidate& candidate, i64 cutoff, i64 upper,
                     Roots::Found& found);
  Roots& begin_roots(const RowSet& rows, int depth, i64 limit, i64 gap, i64 whole);
  PlanPtr plan_of_two(const RowSet& rows, Stumps::Of of);
  bool permitted(const RowSet& side) const { return shared.settings.minimum.met(side.counts.count, side.counts.mass); }

  const TestTable& table_;
  const Kernels& kernels_;
  const Stop stop_;
  const std::unique_ptr<Stumps> stumps_;
  std::vector<std::unique_ptr<Level>> levels_;
  std::vector<i64> rank_, costs_;  // of the tests as roots
  Scratch scratch_;
};

}  // namespace proofwood::trees::packed
