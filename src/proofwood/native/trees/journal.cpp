// What a search proves about the trees of all rows, for a later search
// (docs/theory/optimal-trees.md, "What a checkpoint holds").
#include "trees/journal.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace proofwood::trees {

namespace {

void write(const Plan& plan, const Table& table, PlanNumbers& numbers) {
  if (plan.kind == Plan::kLeaf) {
    numbers.push_back(kLeafNumber);
    return;
  }
  if (plan.kind == Plan::kStump) {
    numbers.push_back(kStumpNumber);
    return;
  }
  if (plan.levels == 0) {
    numbers.push_back(table.column[plan.feature]);
    numbers.push_back(plan.key >> kLabelBits);
  } else {
    numbers.push_back(table.levels[plan.feature - table.n_features].column);
    numbers.push_back(-1);
    numbers.push_back(static_cast<i64>(plan.levels));
  }
  write(*plan.low, table, numbers);
  write(*plan.high, table, numbers);
}

class PlanReader {
 public:
  PlanReader(const PlanNumbers& numbers, const Table& table) : numbers_(numbers), table_(table) {}

  PlanPtr read(int depth) {
    PlanPtr plan = node(depth);
    if (at_ != numbers_.size()) refuse();
    return plan;
  }

 private:
  [[noreturn]] static void refuse() { throw std::invalid_argument("a recorded tree is no tree of this problem"); }

  i64 next() {
    if (at_ == numbers_.size()) refuse();
    return numbers_[at_++];
  }

  PlanPtr node(int depth) {
    const i64 first = next();
    if (first == kLeafNumber) return leaf_plan();
    if (depth < 1) refuse();
    if (first == kStumpNumber) return stump_plan();
    const i64 rank = next();
    if (rank == -1) return by_levels(first, static_cast<LevelSet>(next()), depth);
    const auto column = std::find(table_.column.begin(), table_.column.end(), first);
    if (column == table_.column.end()) refuse();
    const auto feature = static_cast<u32>(column - table_.column.begin());
    if (rank < 0 || rank + 1 >= i64{table_.rank[feature].n_values()}) refuse();
    const u32 key = static_cast<u32>(rank) << kLabelBits | kMixed;
    PlanPtr low = node(depth - 1);
    return split_plan(feature, key, std::move(low), node(depth - 1));
  }

  PlanPtr by_levels(i64 column, LevelSet levels, int depth) {
    for (u32 c = 0; c < table_.levels.size(); ++c) {
      const LevelColumn& of = table_.levels[c];
      if (of.column != column) continue;
      if (levels == 0 || (of.n_levels() < kMostLevels && levels >> of.n_levels() != 0)) refuse();
      PlanPtr low = node(depth - 1);
      return level_plan(table_.n_features + c, levels, std::move(low), node(depth - 1));
    }
    refuse();
  }

  const PlanNumbers& numbers_;
  const Table& table_;
  std::size_t at_ = 0;
};

}  // namespace

PlanNumbers numbers_of(const Plan& plan, const Table& table) {
  PlanNumbers numbers;
  write(plan, table, numbers);
  return numbers;
}

PlanPtr plan_of(const PlanNumbers& numbers, const Table& table, int depth) {
  return PlanReader(numbers, table).read(depth);
}

// ------------------------------------------------------------------ what earlier searches proved

std::vector<Journal::KnownSplit> Journal::splits(int depth, const Table& table) const {
  std::vector<KnownSplit> known;
  for (const SplitRecord& record : earlier_.splits) {
    if (record.depth != depth) continue;
    const auto column = std::find(table.column.begin(), table.column.end(), record.column);
    const auto feature = static_cast<u32>(column - table.column.begin());
    if (column == table.column.end() || record.rank + 1 >= table.rank[feature].n_values())
      throw std::invalid_argument("a recorded split is none of this problem");
    known.push_back({feature, record});
  }
  const auto place = [](const KnownSplit& split) { return std::tuple(split.feature, split.record.rank); };
  std::stable_sort(known.begin(), known.end(),
                   [&](const KnownSplit& a, const KnownSplit& b) { return place(a) < place(b); });
  std::vector<KnownSplit> once;
  for (const KnownSplit& split : known) {
    if (once.empty() || place(once.back()) != place(split)) {
      once.push_back(split);
      continue;
    }
    SplitRecord& kept = once.back().record;
    const SplitRecord& other = split.record;
    kept.low_side = std::max(kept.low_side, other.low_side);
    kept.high_side = std::max(kept.high_side, other.high_side);
    kept.total = std::max(kept.total, other.total);
    kept.lower = std::max(kept.lower, other.lower);
    kept.upper = std::min(kept.upper, other.upper);
  }
  return once;
}

i64 Journal::level_bound(int depth, u32 column) const {
  i64 bound = 0;
  for (const LevelRecord& record : earlier_.levels)
    if (record.depth == depth && record.column == column) bound = std::max(bound, record.bound);
  return bound;
}

const DepthRecord* Journal::depth(int depth) const {
  for (auto record = earlier_.depths.rbegin(); record != earlier_.depths.rend(); ++record)
    if (record->depth == depth) return &*record;
  return nullptr;
}

// ------------------------------------------------------------------ what this search proves

void Journal::note(const SplitRecord& record) {
  const std::lock_guard lock(mutex_);
  news_.splits.push_back(record);
}

void Journal::note(const LevelRecord& record) {
  const std::lock_guard lock(mutex_);
  news_.levels.push_back(record);
}

void Journal::note(DepthRecord record) {
  const std::lock_guard lock(mutex_);
  auto& depths = news_.depths;
  if (!depths.empty() && depths.back().depth == record.depth) depths.pop_back();
  depths.push_back(std::move(record));
}

Proved Journal::take_news() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

}  // namespace proofwood::trees
