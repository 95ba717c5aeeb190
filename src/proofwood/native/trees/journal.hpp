// What a search proves about the trees of all rows, piece by piece, for a file that a later search of the same problem
// begins with (docs/theory/optimal-trees.md, "What a checkpoint holds").
//
// A piece is a claim about the problem and not about the search: it holds whatever the search does next, with any
// number of threads and any kernel. Columns are those of the caller, ranks those of the table, which the same rows
// always give. Costs are without that of equal rows, which every tree has.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "trees/plan.hpp"
#include "trees/settings.hpp"
#include "trees/table.hpp"

namespace proofwood::trees {

// Trees of one depth that split all rows by `column` after `rank`: bounds of their sides and of the whole, those of the
// relaxation as in Point; of permitted trees; and the cost of the best one found.
// Bounds of the root's splits only: those below are many, and each is worth little:
// decisions/0025-checkpoints-of-searches.
struct SplitRecord {
  int depth = 0;
  u32 column = 0, rank = 0;
  i64 low_side = 0, high_side = 0, total = 0, lower = 0, upper = kInfinite;
};

// Trees of one depth that split all rows by some set of levels of `column`.
struct LevelRecord {
  int depth;
  u32 column;
  i64 bound;
};

// A plan as numbers, in preorder: a column and a rank, a column with -1 and a set of levels, kLeafNumber, kStumpNumber.
using PlanNumbers = std::vector<i64>;
constexpr i64 kLeafNumber = -1, kStumpNumber = -2;

// Trees of one depth: the best one found and, once `finished`, bounds of all.
struct DepthRecord {
  int depth;
  i64 upper, lower, relaxed;
  bool finished;
  PlanNumbers plan;
};

// All trees: the best one found, a bound of all, and whether the search was done with it.
struct WholeRecord {
  i64 upper, lower;
  bool done, canonical;
  PlanNumbers plan;
};

struct Proved {
  std::vector<SplitRecord> splits;
  std::vector<LevelRecord> levels;
  std::vector<DepthRecord> depths;
  std::optional<WholeRecord> whole;
  bool empty() const { return splits.empty() && levels.empty() && depths.empty() && !whole; }
};

PlanNumbers numbers_of(const Plan& plan, const Table& table);
// Throws std::invalid_argument where the numbers are no tree of at most a depth over the table.
PlanPtr plan_of(const PlanNumbers& numbers, const Table& table, int depth);

class Journal {
 public:
  explicit Journal(Proved earlier) : earlier_(std::move(earlier)) {}

  // What earlier searches proved.
  const Proved& earlier() const { return earlier_; }
  bool began() const {  // to search depth three or more
    const auto deep = [](const DepthRecord& record) { return record.depth > 2; };
    return !earlier_.splits.empty() || std::any_of(earlier_.depths.begin(), earlier_.depths.end(), deep);
  }
  // Of one depth, each split once, by feature and rank; features are those of the table.
  struct KnownSplit {
    u32 feature;
    SplitRecord record;
  };
  std::vector<KnownSplit> splits(int depth, const Table& table) const;
  i64 level_bound(int depth, u32 column) const;
  const DepthRecord* depth(int depth) const;  // the newest

  // What this search proves. Any thread.
  void note(const SplitRecord& record);
  void note(const LevelRecord& record);
  void note(DepthRecord record);
  Proved take_news();  // since the last call; of each depth the newest

 private:
  const Proved earlier_;
  std::mutex mutex_;
  Proved news_;
};

}  // namespace proofwood::trees
