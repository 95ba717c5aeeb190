// Writes the tree of a plan as nodes: its splits send the rows to its ends, and the best stumps of all ends that want
// one are found in one walk over the features (docs/theory/optimal-trees.md, "Depth two").
#include "trees/write_out.hpp"

#include <algorithm>
#include <numeric>

#include "trees/level_stump.hpp"
#include "trees/stump.hpp"

namespace proofwood::trees {

namespace {

class TreeWriter {
 public:
  TreeWriter(const Table& table, const Rows& all, const Settings& settings)
      : table_(table), all_(all), minimum_(settings.minimum), prices_(settings.prices), classes_(table.n_classes) {}

  std::vector<TreeNode> write(const Plan& plan) {
    find_ends(plan);
    write_plan(plan);
    return std::move(nodes_);
  }

  std::optional<i64> cost(const Plan& plan) {
    find_ends(plan);
    i64 cost = prices_.leaf * (static_cast<i64>(ends_.size()) - 1);
    for (std::size_t e = 0; e < ends_.size(); ++e) {
      const bool met = !ends_[e].rows.empty() && minimum_.met(count_[e], mass_[e]);
      if (ends_.size() > 1 && !met) return std::nullopt;
      const auto first = total_.begin() + static_cast<std::ptrdiff_t>(e * classes_);
      const i64 weight = std::accumulate(first, first + static_cast<std::ptrdiff_t>(classes_), i64{0});
      cost += prices_.error * (weight - ends_[e].heaviest);
      if (splits(ends_[e])) cost += prices_.leaf - prices_.error * (ends_[e].stump.right - ends_[e].heaviest);
    }
    return cost;
  }

 private:
  struct End {
    bool wants_stump;
    std::vector<u32> rows;
    Stump stump;  // its position is the key of the last low row
    i64 heaviest = 0;
  };
  struct alignas(32) Row {  // together, since the walk jumps between rows
    i64 weight, mass;
    u32 count, end;  // end: of rows whose end wants a stump
    u16 label;
  };
  static constexpr u32 kNone = ~0u;
  enum class Sides : u8 { kBoth, kLow, kHigh };  // of a split, to which rows go

  void find_ends(const Plan& plan) {
    rows_.resize(table_.n_rows);
    for (u32 r = 0; r < table_.n_rows; ++r)
      rows_[r] = {table_.weight[r], table_.mass[r], table_.count[r], kNone, table_.label[r]};
    std::vector<u32> all(table_.n_rows);
    std::iota(all.begin(), all.end(), 0u);
    place(plan, std::move(all));
    count();
    if (std::any_of(ends_.begin(), ends_.end(), [](const End& end) { return end.wants_stump; })) {
      find_stumps();
      find_level_stumps();
    }
  }

  // Whether the stump of an end pays.
  bool splits(const End& end) const {
    return end.stump.right >= 0 && prices_.error * (end.stump.right - end.heaviest) > prices_.leaf;
  }

  // Splits that send no row to one side are left out.
  void place(const Plan& plan, std::vector<u32> rows) {
    if (plan.kind == Plan::kSplit) {
      const auto middle = std::stable_partition(rows.begin(), rows.end(), [&](u32 r) { return goes_low(plan, r); });
      const bool no_low = middle == rows.begin(), no_high = middle == rows.end();
      sides_.push_back(no_low ? Sides::kHigh : no_high ? Sides::kLow : Sides::kBoth);
      if (no_low || no_high) {
        place(no_low ? *plan.high : *plan.low, std::move(rows));
        return;
      }
      place(*plan.low, {rows.begin(), middle});
      place(*plan.high, {middle, rows.end()});
      return;
    }
    const bool wants_stump = plan.kind == Plan::kStump;
    if (wants_stump)
      for (const u32 r : rows) rows_[r].end = static_cast<u32>(ends_.size());
    ends_.push_back({wants_stump, std::move(rows), {}, 0});
  }

  bool goes_low(const Plan& plan, u32 row) const {
    if (plan.levels == 0) return table_.rank[plan.feature][row] <= plan.key >> kLabelBits;
    return contains(plan.levels, table_.levels[plan.feature - table_.n_features].code[row]);
  }

  void count() {
    total_.assign(ends_.size() * classes_, 0);
    count_.assign(ends_.size(), 0);
    mass_.assign(ends_.size(), 0);
    for (std::size_t e = 0; e < ends_.size(); ++e) {
      for (const u32 r : ends_[e].rows) {
        total_[e * classes_ + table_.label[r]] += table_.weight[r];
        count_[e] += table_.count[r];
        mass_[e] += table_.mass[r];
      }
      const auto first = total_.begin() + static_cast<std::ptrdiff_t>(e * classes_);
      ends_[e].heaviest = *std::max_element(first, first + static_cast<std::ptrdiff_t>(classes_));
    }
  }

  void find_stumps() {
    constexpr u32 kAhead = 24;
    low_.resize(total_.size());
    seen_.resize(ends_.size());
    held_.resize(ends_.size());
    last_.resize(ends_.size());
    for (u32 f = 0; f < table_.n_features; ++f) {
      std::fill(low_.begin(), low_.end(), 0);
      std::fill(seen_.begin(), seen_.end(), 0);
      std::fill(held_.begin(), held_.end(), 0);
      const u32* const order = all_.order(f);
      const u32* const keys = all_.key(f);
      for (u32 i = 0; i < table_.n_rows; ++i) {
        __builtin_prefetch(&rows_[order[std::min(i + kAhead, table_.n_rows - 1)]]);
        const Row& row = rows_[order[i]];
        const u32 e = row.end;
        if (e == kNone) continue;
        if (seen_[e] > 0 && keys[i] != last_[e]) offer(e, f);  // a boundary of this end's rows, before this one
        low_[e * classes_ + row.label] += row.weight;
        seen_[e] += row.count;
        held_[e] += row.mass;
        last_[e] = keys[i];
      }
    }
  }

  // The best sets of levels of the ends that want a stump.
  void find_level_stumps() {
    std::vector<i64> weights;
    for (u32 c = 0; c < table_.levels.size(); ++c) {
      const LevelColumn& column = table_.levels[c];
      for (End& end : ends_) {
        if (!end.wants_stump) continue;
        weights.assign(column.n_levels() * classes_, 0);
        for (const u32 r : end.rows) weights[column.code[r] * classes_ + table_.label[r]] += table_.weight[r];
        const LevelStump best = best_level_stump(weights, column.n_levels(), table_.n_classes);
        if (best.right > end.stump.right) end.stump = {best.right, -1, table_.n_features + c, 0, best.levels};
      }
    }
  }

  void offer(u32 e, u32 feature) {
    i64 most_low = 0, most_high = 0;
    for (std::size_t c = e * classes_; c < (e + 1) * classes_; ++c) {
      most_low = std::max(most_low, low_[c]);
      most_high = std::max(most_high, total_[c] - low_[c]);
    }
    Stump& stump = ends_[e].stump;
    if (most_low + most_high > stump.right && minimum_.met(seen_[e], held_[e]) &&
        minimum_.met(count_[e] - seen_[e], mass_[e] - held_[e]))
      stump = {most_low + most_high, -1, feature, last_[e], 0};
  }

  TreeNode test(u32 feature, u32 key, LevelSet levels) const {
    if (levels == 0)
      return {static_cast<int>(table_.column[feature]), table_.value(feature, key >> kLabelBits), -1, -1, {}};
    const LevelColumn& column = table_.levels[feature - table_.n_features];
    TreeNode node{static_cast<int>(column.column), 0, -1, -1, {}};
    for (u32 level = 0; level < column.n_levels(); ++level)
      if (contains(levels, level)) node.levels.push_back(column.value[level]);
    return node;
  }

  void write_plan(const Plan& plan) {
    const std::size_t at = nodes_.size();
    if (plan.kind == Plan::kSplit) {
      const Sides sides = sides_[next_split_++];
      if (sides != Sides::kBoth) {
        write_plan(sides == Sides::kLow ? *plan.low : *plan.high);
        return;
      }
      nodes_.push_back(test(plan.feature, plan.key, plan.levels));
      nodes_[at].low = static_cast<int>(nodes_.size());
      write_plan(*plan.low);
      nodes_[at].high = static_cast<int>(nodes_.size());
      write_plan(*plan.high);
      return;
    }
    const TreeNode leaf{-1, 0, -1, -1, {}};
    const End& end = ends_[next_end_++];
    if (!splits(end)) {
      nodes_.push_back(leaf);
      return;
    }
    nodes_.push_back(test(end.stump.feature, end.stump.position, end.stump.levels));
    nodes_[at].low = static_cast<int>(at) + 1;
    nodes_[at].high = static_cast<int>(at) + 2;
    nodes_.push_back(leaf);
    nodes_.push_back(leaf);
  }

  const Table& table_;
  const Rows& all_;
  const Minimum& minimum_;
  const Prices& prices_;
  const std::size_t classes_;
  std::vector<Row> rows_;
  std::vector<End> ends_;
  std::vector<i64> total_, low_;  // per end and class: of all its rows, of those walked over
  std::vector<u32> count_, seen_, last_;
  std::vector<i64> mass_, held_;
  std::vector<TreeNode> nodes_;
  std::vector<Sides> sides_;  // of the splits that rows come to, in the order in which they are written
  std::size_t next_end_ = 0, next_split_ = 0;
};

}  // namespace

std::vector<TreeNode> write_out(const Plan& plan, const Table& table, const Rows& all, const Settings& settings) {
  return TreeWriter(table, all, settings).write(plan);
}

std::optional<i64> counted_cost(const Plan& plan, const Table& table, const Rows& all, const Settings& settings) {
  return TreeWriter(table, all, settings).cost(plan);
}

}  // namespace proofwood::trees
