// The rows of a subproblem level by level, for each column that is tested by sets.
#include "trees/level_groups.hpp"

#include <array>
#include <numeric>

namespace proofwood::trees {

void LevelGroups::begin(const Table& table, const Rows& rows) {
  n_ = rows.n;
  ends_.resize(table.levels.size());
  levels_.resize(table.levels.size());
  u32* const order = order_.resize(std::size_t{n_} * table.levels.size());
  for (std::size_t c = 0; c < table.levels.size(); ++c) {
    const LevelColumn& column = table.levels[c];
    std::array<u32, kMostLevels + 1> next{};
    for (u32 local = 0; local < n_; ++local) ++next[column.code[rows.row(local)] + 1u];
    std::partial_sum(next.begin(), next.end(), next.begin());
    ends_[c].clear();
    levels_[c].clear();
    for (u32 level = 0; level < column.n_levels(); ++level) {
      if (next[level + 1] == next[level]) continue;
      ends_[c].push_back(next[level + 1]);
      levels_[c].push_back(level);
    }
    for (u32 local = 0; local < n_; ++local) order[c * n_ + next[column.code[rows.row(local)]]++] = local;
  }
}

}  // namespace proofwood::trees
