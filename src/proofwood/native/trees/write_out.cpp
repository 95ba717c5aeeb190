// Writes the tree of a plan as nodes: its splits send the rows to its ends, and the best stumps of all ends that want
// one are found in one walk over the features (docs/theory/optimal-trees.md, "Depth two").
#include "trees/write_out.hpp"

#include <algorithm>
#include <numeric>

#include "trees/draft.hpp"
#include "trees/row_walk.hpp"
#include "trees/stump.hpp"

namespace proofwood::trees {

namespace {

const std::atomic<int> kNever{0};  // what is known is written out, however short the time

class TreeWriter {
 public:
  TreeWriter(const Plan& plan, const Table& table, const Rows& all, const Settings& settings)
      : table_(table),
        settings_(settings),
        draft_(draft_of(plan)),
        walk_(table, all, settings.minimum, kNever),
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

  std::optional<i64> cost() const {
    const Prices& prices = settings_.prices;
    i64 cost = 0, n_ends = 0;
    bool met = true;
    for (int v = 0; v < static_cast<int>(rows_.size()); ++v) {
      if (!draft_.at(v).is_leaf() || rows_at(v) == 0) continue;
      const RowWalk::Slot& slot = walk_.slots[slot_at(v)];
      const i64 weight = std::accumulate(slot.class_weight.begin(), slot.class_weight.end(), i64{0});
      const RowWalk::Choice* const stump = stump_at(v);
      ++n_ends;
      met = met && settings_.minimum.met(slot.count, slot.mass);
      cost += prices.error * (weight - (stump == nullptr ? heaviest(slot) : stump->value));
      cost += stump == nullptr ? 0 : prices.leaf;
    }
    if (n_ends > 1 && !met) return std::nullopt;
    return cost + prices.leaf * std::max<i64>(0, n_ends - 1);
  }

 private:
  u32 rows_at(int node) const { return rows_[static_cast<std::size_t>(node)]; }
  u32 slot_at(int node) const { return slot_[static_cast<std::size_t>(node)]; }
  static i64 heaviest(const RowWalk::Slot& slot) {
    return *std::max_element(slot.class_weight.begin(), slot.class_weight.end());
  }

  // Of an end, where it pays; null otherwise.
  const RowWalk::Choice* stump_at(int end) const {
    if (!draft_.at(end).wants_stump) return nullptr;
    const RowWalk::Choice& stump = walk_.choices[slot_at(end)];
    const i64 saved = stump.value - heaviest(walk_.slots[slot_at(end)]);
    return stump.found && settings_.prices.error * saved > settings_.prices.leaf ? &stump : nullptr;
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

// Of a task by sums: the rows of each end are split off, and the task finds its stump.
class RowsWriter {
 public:
  RowsWriter(const Table& table, const Settings& settings) : table_(table), settings_(settings) {}

  // What a tree costs whose root may have tests on `left` levels, as the search counts it; writes its nodes.
  i64 write(const Plan& plan, const Rows& rows, int left) {
    if (plan.kind == Plan::kSplit) return split(plan, rows, left);
    const i64 price = settings_.prices.leaf;
    if (plan.kind == Plan::kStump && settings_.minimum.may_split(rows.counts)) {
      const Stump stump = table_.task->stump(table_, rows, settings_.minimum, kNever);
      if (stump.cost + price < rows.leaf) {
        const int at = static_cast<int>(nodes.size());
        nodes.push_back(test(stump.feature, rows.key(stump.feature)[stump.position - 1], at + 1, at + 2));
        nodes.insert(nodes.end(), 2, kLeaf);
        return stump.cost + price;
      }
    }
    nodes.push_back(kLeaf);
    met = met && settings_.minimum.met(rows.counts.count, rows.counts.mass);
    return rows.leaf;
  }

  std::vector<TreeNode> nodes;
  bool met = true;  // the minimum of leaves

 private:
  static inline const TreeNode kLeaf{-1, 0, -1, -1, {}};

  TreeNode test(u32 feature, u32 key, int low, int high) const {
    return {static_cast<int>(table_.column[feature]), table_.value(feature, key >> kLabelBits), low, high, {}};
  }

  // A split that sends no row to one side is left out.
  i64 split(const Plan& plan, const Rows& rows, int left) {
    const u32 position = rows.position_of(plan.feature, plan.key, 0, rows.n);
    if (position == 0) return write(*plan.high, rows, left - 1);
    if (position == rows.n) return write(*plan.low, rows, left - 1);
    Rows low, high;
    Buffer<u32> scratch;
    rows.split(table_, plan.feature, position, low, high, scratch, kNever);
    const std::size_t at = nodes.size();
    nodes.push_back(test(plan.feature, plan.key, static_cast<int>(at) + 1, -1));
    const i64 cost = write(*plan.low, low, left - 1);
    nodes[at].high = static_cast<int>(nodes.size());
    const i64 both = cost + write(*plan.high, high, left - 1);
    const bool leaves = plan.low->kind == Plan::kLeaf && plan.high->kind == Plan::kLeaf;
    return (left == 1 && leaves ? table_.task->two_leaves(low, high) : both) + settings_.prices.leaf;
  }

  const Table& table_;
  const Settings& settings_;
};

}  // namespace

std::vector<TreeNode> write_out(const Plan& plan, const Table& table, const Rows& all, const Settings& settings) {
  if (!table.by_sums()) return TreeWriter(plan, table, all, settings).write();
  RowsWriter writer(table, settings);
  writer.write(plan, all, settings.max_depth);
  return std::move(writer.nodes);
}

std::optional<i64> counted_cost(const Plan& plan, const Table& table, const Rows& all, const Settings& settings) {
  if (!table.by_sums()) return TreeWriter(plan, table, all, settings).cost();
  RowsWriter writer(table, settings);
  const i64 cost = writer.write(plan, all, settings.max_depth);
  return writer.met || writer.nodes.size() == 1 ? std::optional(cost) : std::nullopt;
}

}  // namespace proofwood::trees
