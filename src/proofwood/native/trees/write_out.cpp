// Writes the tree of a plan as nodes: its splits send the rows to its ends, and the best stumps of all ends that want
// one are found in one walk over the features (docs/theory/optimal-trees.md, "Depth two").
#include "trees/write_out.hpp"

#include <algorithm>

#include "trees/draft.hpp"
#include "trees/row_walk.hpp"

namespace proofwood::trees {

namespace {

const std::atomic<int> kNever{0};  // what is known is written out, however short the time

class TreeWriter {
 public:
  TreeWriter(const Plan& plan, const Table& table, const Rows& all, const Settings& settings)
      : table_(table),
        settings_(settings),
        draft_(draft_of(plan)),
        walk_(table, all, settings, kNever),
        slot_(draft_.nodes.size(), 0),
        rows_(draft_.nodes.size(), 0) {
    u32 n_ends = 0;
    bool wanted = false;
    for (std::size_t v = 0; v < slot_.size(); ++v) {
      if (!draft_.nodes[v].is_leaf()) continue;
      slot_[v] = n_ends++;
      wanted = wanted || draft_.nodes[v].wants_stump;
    }
    walk_.slots.resize(std::size_t{n_ends} + 1);
    for (u32 r = 0; r < table.n_rows; ++r) {
      const auto end = static_cast<std::size_t>(draft_.leaf(table, 0, r));
      walk_.records[r] = {table.weight[r], slot_[end], table.label[r]};
      ++rows_[end];
    }
    for (std::size_t v = slot_.size(); v-- > 0;)  // children come after their parents
      if (!draft_.nodes[v].is_leaf()) rows_[v] = rows_at(draft_.nodes[v].low) + rows_at(draft_.nodes[v].high);
    walk_.count(true);
    if (wanted) walk_.stumps();
  }

  std::vector<TreeNode> write() {
    write(0);
    return std::move(nodes_);
  }

  // Nothing if a leaf of several holds less than the minimum.
  std::optional<i64> cost() const {
    int n_ends = 0;
    bool met = true;
    const i64 cost = cost_below(0, settings_.max_depth, n_ends, met);
    return n_ends > 1 && !met ? std::nullopt : std::optional(cost);
  }

 private:
  u32 rows_at(int node) const { return rows_[static_cast<std::size_t>(node)]; }
  u32 slot_at(int node) const { return slot_[static_cast<std::size_t>(node)]; }
  const RowWalk::Slot& slot_of(int end) const { return walk_.slots[slot_at(end)]; }

  // As the search counts it where tests may stand on `left` levels.
  i64 cost_below(int node, int left, int& n_ends, bool& met) const {
    const Draft::Node& here = draft_.at(node);
    const i64 price = settings_.prices.leaf;
    if (here.is_leaf()) {
      const RowWalk::Slot& slot = slot_of(node);
      const RowWalk::Choice* const stump = stump_at(node);
      ++n_ends;
      met = met && settings_.minimum.met(slot.count, slot.mass);
      return stump == nullptr ? walk_.leaf_of(slot) : stump->cost + price;
    }
    if (rows_at(here.low) == 0) return cost_below(here.high, left - 1, n_ends, met);
    if (rows_at(here.high) == 0) return cost_below(here.low, left - 1, n_ends, met);
    const i64 low = cost_below(here.low, left - 1, n_ends, met), high = cost_below(here.high, left - 1, n_ends, met);
    if (table_.rounded && left == 1)  // two leaves at the bottom are one number
      return table_.sums_task->two_leaves(slot_of(here.low).sums, slot_of(here.high).sums) + price;
    return low + high + price;
  }

  // Of an end, where it pays; null otherwise.
  const RowWalk::Choice* stump_at(int end) const {
    if (!draft_.at(end).wants_stump) return nullptr;
    const RowWalk::Choice& stump = walk_.choices[slot_at(end)];
    return stump.found && stump.cost + settings_.prices.leaf < walk_.leaf_of(slot_of(end)) ? &stump : nullptr;
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

  // Splits that send no row to one side are left out.
  void write(int node) {
    const Draft::Node& here = draft_.at(node);
    const std::size_t at = nodes_.size();
    if (!here.is_leaf()) {
      if (rows_at(here.low) == 0) return write(here.high);
      if (rows_at(here.high) == 0) return write(here.low);
      nodes_.push_back(test(here.feature, here.key, here.levels));
      nodes_[at].low = static_cast<int>(nodes_.size());
      write(here.low);
      nodes_[at].high = static_cast<int>(nodes_.size());
      return write(here.high);
    }
    const TreeNode leaf{-1, 0, -1, -1, {}};
    if (const RowWalk::Choice* const stump = stump_at(node)) {
      nodes_.push_back(test(stump->feature, stump->key, stump->levels));
      nodes_[at].low = static_cast<int>(at) + 1;
      nodes_[at].high = static_cast<int>(at) + 2;
      nodes_.push_back(leaf);
    }
    nodes_.push_back(leaf);
  }

  const Table& table_;
  const Settings& settings_;
  const Draft draft_;
  RowWalk walk_;                  // an end, a slot
  std::vector<u32> slot_, rows_;  // per node of the draft
  std::vector<TreeNode> nodes_;
};

}  // namespace

std::vector<TreeNode> write_out(const Plan& plan, const Table& table, const Rows& all, const Settings& settings) {
  return TreeWriter(plan, table, all, settings).write();
}

std::optional<i64> counted_cost(const Plan& plan, const Table& table, const Rows& all, const Settings& settings) {
  return TreeWriter(plan, table, all, settings).cost();
}

}  // namespace proofwood::trees
