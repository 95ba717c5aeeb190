// A column whose levels have no order. Its tests are sets of levels: those that go low
// (docs/theory/optimal-trees.md, "Sets of levels").
#pragma once

#include <vector>

#include "common/integers.hpp"

namespace proofwood::trees {

using LevelSet = u64;  // bit l: level l is in the set
constexpr u32 kMostLevels = 64;

struct LevelColumn {
  u32 column = 0;                   // of the caller
  std::vector<unsigned char> code;  // per row: level, 0..n_levels-1
  std::vector<double> value;        // per level: number of the caller
  bool anywhere = true;             // tested by sets at every node; else where two levels of tests are left
  u32 n_levels() const { return static_cast<u32>(value.size()); }
  // Whether its sets are tests of trees of this depth, at their roots.
  bool tested_at(int depth) const { return depth <= 2 || anywhere; }
};

inline bool contains(LevelSet set, u32 level) { return (set >> level & 1u) != 0; }
inline LevelSet only(u32 level) { return LevelSet{1} << level; }

}  // namespace proofwood::trees
