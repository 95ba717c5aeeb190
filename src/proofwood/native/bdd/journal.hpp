// What the subset search proves, for a file that a later search of the same problem begins with
// (docs/theory/decision-diagrams.md, "What a checkpoint holds"). Tests are by their original numbers, errors avoidable
// ones.
#pragma once

#include <optional>
#include <vector>

#include "common/integers.hpp"

namespace proofwood::bdd {

using Set = std::vector<u32>;

// A child of the root that was searched: the sets with its test and of the others only those after it. None of them
// errs less than `excluded`, but those listed (collect); none less than `bound`.
struct ChildRecord {
  u32 place = 0, test = 0;
  i64 excluded = 0, bound = 0;
  std::vector<Set> sets;
};

// The best set, if there is one below what was asked for; a bound of all; whether the search was done with it.
struct WholeRecord {
  i64 upper, lower;
  bool done;
  i64 greedy_upper;
  std::optional<Set> set;
};

struct Proved {
  std::optional<WholeRecord> whole;
  std::optional<Set> greedy;  // the first set, whose error the candidates of the root depend on
  std::optional<u64> root;    // digest of these candidates in their order, on which the children depend
  std::vector<ChildRecord> children;
  bool empty() const { return !whole && !greedy && !root && children.empty(); }
};

}  // namespace proofwood::bdd
