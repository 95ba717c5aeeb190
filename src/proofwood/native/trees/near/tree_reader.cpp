// From a number to a tree, and what is kept open on the way (docs/theory/near-optimal-trees.md, "Numbers of trees").
#include "trees/near/tree_reader.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "common/mix.hpp"

namespace proofwood::trees::near {

namespace {

class StumpList final : public StumpSink {
 public:
  struct Found {
    std::size_t side;
    i64 wrong;
    u32 feature, position;
  };
  std::vector<Found> found;

  explicit StumpList(const StumpFinder& finder) : finder_(finder) {}
  void take(u32 feature, const StumpHit* hits, std::size_t n) override {
    for (std::size_t i = 0; i < n; ++i)
      found.push_back({hits[i].side, finder_.wrong(hits[i]), feature, hits[i].position});
  }

 private:
  const StumpFinder& finder_;
};

NodeTest test_at(const Rows& rows, u32 feature, u32 position) {
  const u32* const keys = rows.key(feature);
  return {feature, keys[position - 1] >> kLabelBits, keys[position] >> kLabelBits};
}

}  // namespace

// ------------------------------------------------------------------ trees of depth two

OpenTrees::OpenTrees(NearSearch& search, const std::atomic<int>& stop)
    : search_(search),
      finder_(search.table(), search.minimum(), search.solver().shared.settings.isa,
              search.solver().shared.settings.lane_bits, stop, search.views()) {}

bool OpenTrees::begin(Rows& rows, i64 budget, const EdgeTrees& trees) {
  rows_ = &rows;
  trees_ = &trees;
  begun_ = false;
  until_.clear();
  stumps_.clear();
  held_ = 0;
  if (trees.kept) return true;
  trees_ = nullptr;
  KnownSplitsPtr known;
  if (!search_.edges().find(rows, trees.tally.front().cost, budget, made_, known)) return false;
  trees_ = &made_;
  return true;
}

bool OpenTrees::read(i64 cost, Count number, TreeTests& tests, std::size_t node) {
  if (trees_->leaf == cost) {
    if (number == 0) return true;
    --number;
  }
  auto& until = until_[cost];
  if (until.empty()) {
    Count sum = 0;
    for (const Edge& edge : trees_->edges) until.push_back(sum += trees_->count(edge, cost, search_.prices().leaf));
  }
  const auto at = std::upper_bound(until.begin(), until.end(), number);
  if (at == until.end()) throw std::logic_error("a tree has no root: please report this data");
  const std::size_t edge = static_cast<std::size_t>(at - until.begin());
  return read_edge(edge, cost, number - (edge == 0 ? 0 : until[edge - 1]), tests, node);
}

bool OpenTrees::read_edge(std::size_t at, i64 cost, Count number, TreeTests& tests, std::size_t node) {
  const Edge& edge = trees_->edges[at];
  tests[node] = test_at(*rows_, edge.feature, edge.position);
  if (search_.depth() == 1) return true;
  const Stumps* const stumps = stumps_of(at);
  if (stumps == nullptr) return false;
  const i64 both = cost - search_.prices().leaf;
  const Part *const low = trees_->parts.data() + edge.at[0], *const high = trees_->parts.data() + edge.at[1];
  for (u32 i = 0; i < edge.n[0]; ++i)
    for (u32 j = 0; j < edge.n[1]; ++j) {
      if (low[i].cost + high[j].cost != both) continue;
      const bool no_tree = edge.dull && low[i].cost == edge.leaf[0] && high[j].cost == edge.leaf[1];
      const Count pairs = Count{low[i].count} * high[j].count - (no_tree ? 1 : 0);
      if (number >= pairs) {
        number -= pairs;
        continue;
      }
      if (no_tree) ++number;  // the pair of leaves would be the first one
      read_side(edge, 0, low[i].cost, number / high[j].count, *stumps, tests, 2 * node + 1);
      read_side(edge, 1, high[j].cost, number % high[j].count, *stumps, tests, 2 * node + 2);
      return true;
    }
  throw std::logic_error("a tree has no sides: please report this data");
}

void OpenTrees::read_side(const Edge& edge, std::size_t side, i64 cost, Count number, const Stumps& stumps,
                          TreeTests& tests, std::size_t node) {
  if (edge.leaf[side] == cost) {
    if (number == 0) return;
    --number;
  }
  const auto& list = stumps[side];
  const auto first =
      std::lower_bound(list.begin(), list.end(), cost, [](const Stump& s, i64 wanted) { return s.cost < wanted; });
  const std::size_t at = static_cast<std::size_t>(first - list.begin()) + static_cast<std::size_t>(number);
  if (at >= list.size() || list[at].cost != cost) throw std::logic_error("a stump is missing: please report this data");
  tests[node] = test_of(list[at], edge, side);
}

// The next value is that of the next row of this side.
NodeTest OpenTrees::test_of(const Stump& stump, const Edge& edge, std::size_t side) {
  const u32 limit = rows_->key(edge.feature)[edge.position - 1] >> kLabelBits;
  const Ranks& ranks = search_.table().rank[edge.feature];
  const u32* const order = rows_->order(stump.feature);
  u32 next = stump.position;
  while (next < rows_->n && (ranks[rows_->row(order[next])] <= limit) != (side == 0)) ++next;
  if (next == rows_->n) throw std::logic_error("a stump splits nothing: please report this data");
  const u32* const keys = rows_->key(stump.feature);
  return {stump.feature, keys[stump.position - 1] >> kLabelBits, keys[next] >> kLabelBits};
}

const OpenTrees::Stumps* OpenTrees::stumps_of(std::size_t at) {
  constexpr std::size_t kMostHeld = 1 << 22;  // stumps
  if (const auto found = stumps_.find(at); found != stumps_.end()) return &found->second;
  if (held_ > kMostHeld) {
    stumps_.clear();
    held_ = 0;
  }
  const Edge& edge = trees_->edges[at];
  if (!begun_) finder_.begin(*rows_);
  begun_ = true;
  StumpList list(finder_);
  if (!finder_.find(*rows_, {search_.edges().wanted(*trees_, edge)}, list)) return nullptr;
  std::sort(list.found.begin(), list.found.end(), [](const auto& a, const auto& b) {
    return std::tie(a.wrong, a.feature, a.position) < std::tie(b.wrong, b.feature, b.position);
  });
  Stumps stumps;
  for (const auto& one : list.found)
    stumps[one.side].push_back({search_.prices().error * one.wrong + search_.prices().leaf, one.feature, one.position});
  held_ += list.found.size();
  return &stumps_.emplace(at, std::move(stumps)).first->second;
}

// ------------------------------------------------------------------ all trees

TreeReader::TreeReader(NearSearch& search, const std::atomic<int>& stop)
    : search_(search), stop_(stop), low_(search, stop), high_(search, stop) {
  for (const CostCount& of : search.tally()) size_ = checked_sum(size_, of.count);
}

bool TreeReader::read(Count number, TreeTests& tests) {
  tests = {};
  if (number >= size_) throw std::out_of_range("there is no tree of this number");
  i64 cost = 0;
  for (const CostCount& of : search_.tally()) {
    cost = of.cost;
    if (number < of.count) break;
    number -= of.count;
  }
  if (search_.depth() == 0) return true;
  if (search_.depth() <= 2) {
    if (open_ != 0 && !low_.begin(search_.rows(), search_.budget(), search_.shallow())) return false;
    open_ = 0;
    return low_.read(cost, number, tests, 0);
  }
  if (search_.leaf() == cost) {
    if (number == 0) return true;
    --number;
  }
  if (level_ != cost) {
    level_ = cost;
    until_.clear();
    Count sum = 0;
    for (const RootCut& cut : search_.cuts()) until_.push_back(sum += cut.count(cost, search_.prices().leaf));
  }
  const auto at = std::upper_bound(until_.begin(), until_.end(), number);
  if (at == until_.end()) throw std::logic_error("a tree has no root: please report this data");
  const std::size_t cut = static_cast<std::size_t>(at - until_.begin());
  if (!open(cut)) return false;
  return read_cut(search_.cuts()[cut], cost, number - (cut == 0 ? 0 : until_[cut - 1]), tests);
}

bool TreeReader::open(std::size_t at) {
  if (open_ == at) return true;
  open_ = ~std::size_t{0};
  const RootCut& cut = search_.cuts()[at];
  if (!search_.rows().split(search_.table(), cut.feature, cut.position, sides_[0], sides_[1], scratch_, stop_))
    return false;
  if (!low_.begin(sides_[0], cut.budget[0], cut.sides[0]) || !high_.begin(sides_[1], cut.budget[1], cut.sides[1]))
    return false;
  open_ = at;
  return true;
}

bool TreeReader::read_cut(const RootCut& cut, i64 cost, Count number, TreeTests& tests) {
  tests[0] = test_at(search_.rows(), cut.feature, cut.position);
  const i64 both = cost - search_.prices().leaf;
  for (const CostCount& low : cut.sides[0].tally) {
    const Count high = trees_of(cut.sides[1].tally, both - low.cost);
    if (high == 0) continue;
    const bool no_tree = cut.dull && low.cost == cut.leaf[0] && both - low.cost == cut.leaf[1];
    const Count pairs = low.count * high - (no_tree ? 1 : 0);
    if (number >= pairs) {
      number -= pairs;
      continue;
    }
    if (no_tree) ++number;
    return low_.read(low.cost, number / high, tests, 1) && high_.read(both - low.cost, number % high, tests, 2);
  }
  throw std::logic_error("a tree has no sides: please report this data");
}

u64 print_of(const NearSearch& search, const TreeTests& tests) {
  const Table& table = search.table();
  constexpr std::size_t kPlaces = 2 * kNodes + 1;
  std::vector<u32> place(table.n_rows);
  std::vector<i64> weights(kPlaces * table.n_classes, 0);
  for (u32 r = 0; r < table.n_rows; ++r) {
    std::size_t node = 0;
    while (node < kNodes && tests[node].feature != kLeaf)
      node = 2 * node + (table.rank[tests[node].feature][r] <= tests[node].below ? 1 : 2);
    place[r] = static_cast<u32>(node);
    weights[node * table.n_classes + table.label[r]] += table.weight[r];
  }
  std::array<u32, kPlaces> label;
  for (std::size_t node = 0; node < kPlaces; ++node) {
    const auto first = weights.begin() + static_cast<std::ptrdiff_t>(node * table.n_classes);
    label[node] = static_cast<u32>(std::max_element(first, first + table.n_classes) - first);
  }
  u64 print = 0;
  for (u32 r = 0; r < table.n_rows; ++r) print += mix(u64{r} * table.n_classes + label[place[r]]);
  return print;
}

}  // namespace proofwood::trees::near
