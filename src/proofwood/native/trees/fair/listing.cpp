// Lists of labelled trees at prices (docs/theory/optimal-trees.md, "Rates of groups").
#include "trees/fair/listing.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace proofwood::trees::fair {

namespace {

LabelledPtr leaf(bool one) {
  static const LabelledPtr leaves[2] = {std::make_shared<Labelled>(),
                                        std::make_shared<Labelled>(Labelled{true, 0, 0, nullptr, nullptr})};
  return leaves[one ? 1 : 0];
}

LabelledPtr split_of(u32 feature, u32 rank, LabelledPtr low, LabelledPtr high) {
  return std::make_shared<Labelled>(Labelled{false, feature, rank, std::move(low), std::move(high)});
}

bool is_leaf(const LabelledPtr& tree) { return tree->low == nullptr; }

u32 rank_before(const Rows& rows, u32 feature, u32 position) { return rows.key(feature)[position - 1] >> kLabelBits; }

}  // namespace

i64 Limit::below(i64 best) const {
  const i128 scaled = static_cast<i128>(best) * factor + offset + ((static_cast<i128>(1) << shift) - 1);
  return static_cast<i64>(std::clamp<i128>(scaled >> shift, 0, kInfinite));
}

Listing::Listing(Table table, const Settings& settings, Forms forms, Limit limit, i64 best, i64 least,
                 std::size_t most_kept, std::atomic<int>& stop, TreeRun::Clock::time_point started)
    : table_(std::move(table)),
      settings_(SplitLists::for_bounds(settings)),
      forms_(std::move(forms)),
      limit_(limit),
      best_(best),
      least_(least),
      most_kept_(most_kept),
      lists_(table_, settings_, stop, started) {
  root_.start(table_, settings_.isa);
  for (int depth = 0; depth <= settings_.max_depth; ++depth) sides_.push_back(std::make_unique<Sides>());
}

void Listing::run() {
  const i64 price = settings_.prices.leaf;
  for (const Option& option : options(root_, std::min(1, settings_.max_depth), limit_.below(best_)))
    meet(option.sums, option.tree);
  if (settings_.max_depth < 2 || root_.n < 2 || !settings_.minimum.may_split(root_.counts)) return;
  const SplitLists::List splits = lists_.of(root_, settings_.max_depth, limit_.below(best_));
  for (const Split& split : *splits) {
    const i64 below = limit_.below(best_);
    if (over() || split.low + split.high + price >= below) return;
    Sides& sides = *sides_.back();
    if (!root_.split(table_, split.feature, split.position, sides.low, sides.high, scratch_, lists_.stop())) return;
    const Options low = options(sides.low, settings_.max_depth - 1, below - price - split.high);
    if (low.empty()) continue;
    const Options high = options(sides.high, settings_.max_depth - 1, below - price - low.front().cost);
    join(low, high, split.feature, rank_before(root_, split.feature, split.position), below, nullptr);
  }
}

// All labelled trees that cost less than `below`, the cheapest first, one for equal sums.
Listing::Options Listing::options(Rows& rows, int depth, i64 below) {
  Options found;
  if (over()) return found;
  add_leaves(rows, below, found);
  if (depth > 0 && rows.n >= 2 && settings_.minimum.may_split(rows.counts)) {
    if (depth == 1) {
      add_stumps(rows, below, found);
    } else {
      const i64 price = settings_.prices.leaf;
      const SplitLists::List splits = lists_.of(rows, depth, below);
      Sides& sides = *sides_[static_cast<std::size_t>(depth)];
      for (const Split& split : *splits) {
        if (over() || split.low + split.high + price >= below) break;
        if (!rows.split(table_, split.feature, split.position, sides.low, sides.high, scratch_, lists_.stop())) break;
        const Options low = options(sides.low, depth - 1, below - price - split.high);
        if (low.empty()) continue;
        const Options high = options(sides.high, depth - 1, below - price - low.front().cost);
        join(low, high, split.feature, rank_before(rows, split.feature, split.position), below, &found);
      }
    }
  }
  keep_distinct(found);
  return found;
}

void Listing::add_leaves(const Rows& rows, i64 below, Options& found) const {
  for (const bool one : {false, true}) {
    const i64 cost = leaf_cost(rows, one);
    if (cost >= below) continue;
    std::vector<i64> sums(forms_.amounts.size(), 0);
    if (one)
      for (std::size_t k = 0; k < sums.size(); ++k)
        for (u32 local = 0; local < rows.n; ++local) sums[k] += forms_.amounts[k][rows.row(local)];
    found.push_back({cost, std::move(sums), leaf(one)});
  }
}

void Listing::add_stumps(Rows& rows, i64 below, Options& found) {
  const i64 price = settings_.prices.leaf;
  const u32 n = rows.n;
  std::vector<i64> before[2];  // weight of each class before a position
  std::vector<std::vector<i64>> sums(forms_.amounts.size());
  for (u32 f = 0; f < rows.n_features && !over(); ++f) {
    const u32* const order = rows.order(f);
    for (auto& weights : before) weights.assign(std::size_t{n} + 1, 0);
    for (u32 i = 0; i < n; ++i) {
      const u32 row = rows.row(order[i]);
      for (const bool one : {false, true})
        before[one][i + 1] = before[one][i] + ((table_.label[row] != 0) == one ? table_.weight[row] : 0);
    }
    bool summed = false;
    for (u32 position = 1; position < n; ++position) {
      if (!rows.is_boundary(f, position)) continue;
      for (const bool low_is_one : {false, true}) {
        const i64 wrong = before[!low_is_one][position] + before[low_is_one][n] - before[low_is_one][position];
        const i64 cost = settings_.prices.error * wrong + price;
        if (cost >= below || !lists_.may_split_at(rows, f, position)) continue;
        if (!summed) {
          for (std::size_t k = 0; k < sums.size(); ++k) {
            sums[k].assign(std::size_t{n} + 1, 0);
            for (u32 i = 0; i < n; ++i) sums[k][i + 1] = sums[k][i] + forms_.amounts[k][rows.row(order[i])];
          }
          summed = true;
        }
        std::vector<i64> of_stump(sums.size());
        for (std::size_t k = 0; k < sums.size(); ++k)
          of_stump[k] = (low_is_one ? sums[k][position] : sums[k][n] - sums[k][position]) + forms_.per_leaf[k];
        found.push_back({cost, std::move(of_stump),
                         split_of(f, rank_before(rows, f, position), leaf(low_is_one), leaf(!low_is_one))});
      }
    }
    if (found.size() > most_kept_) gave_up_ = true;
  }
}

void Listing::keep_distinct(Options& options) {
  std::sort(options.begin(), options.end(),
            [](const Option& a, const Option& b) { return a.sums != b.sums ? a.sums < b.sums : a.cost < b.cost; });
  options.erase(
      std::unique(options.begin(), options.end(), [](const Option& a, const Option& b) { return a.sums == b.sums; }),
      options.end());
  std::stable_sort(options.begin(), options.end(), [](const Option& a, const Option& b) { return a.cost < b.cost; });
}

// Pairs of trees of both sides of a split, which cost less than `below`; null: they are trees of all rows.
void Listing::join(const Options& low, const Options& high, u32 feature, u32 rank, i64 below, Options* found) {
  const i64 price = settings_.prices.leaf;
  for (const Option& a : low) {
    if (over() || high.empty() || a.cost + high.front().cost + price >= below) return;
    for (const Option& b : high) {
      const i64 cost = a.cost + b.cost + price;
      if (cost >= below) break;
      if (is_leaf(a.tree) && is_leaf(b.tree) && a.tree->one == b.tree->one) continue;
      if (found == nullptr) {
        meet(a, b, feature, rank);
        continue;
      }
      std::vector<i64> sums(a.sums.size());
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] = a.sums[k] + b.sums[k] + forms_.per_leaf[k];
      found->push_back({cost, std::move(sums), split_of(feature, rank, a.tree, b.tree)});
    }
    if (found == nullptr) {
      below = std::min(below, limit_.below(best_));
    } else if (found->size() > most_kept_) {
      keep_distinct(*found);
      gave_up_ = found->size() > most_kept_ / 2;
    }
  }
}

void Listing::meet(const Option& low, const Option& high, u32 feature, u32 rank) {
  ++n_trees_;
  const auto value = [&](std::size_t k) { return forms_.base[k] + low.sums[k] + high.sums[k] + forms_.per_leaf[k]; };
  for (std::size_t k = 0; k < forms_.n_goals; ++k)
    if (value(k) >= best_) return;
  for (std::size_t k = forms_.n_goals; k < forms_.base.size(); ++k)
    if (value(k) > forms_.most[k - forms_.n_goals]) return;
  std::vector<i64> sums(low.sums.size());
  for (std::size_t k = 0; k < sums.size(); ++k) sums[k] = low.sums[k] + high.sums[k] + forms_.per_leaf[k];
  meet(sums, split_of(feature, rank, low.tree, high.tree));
}

void Listing::meet(const std::vector<i64>& sums, const LabelledPtr& tree) {
  i64 goal = forms_.base[0] + sums[0];
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const i64 value = forms_.base[k] + sums[k];
    if (k < forms_.n_goals)
      goal = std::max(goal, value);
    else if (value > forms_.most[k - forms_.n_goals])
      return;
  }
  if (goal >= best_) return;
  best_ = goal;
  answer_ = tree;
}

std::vector<LabelledNode> Listing::tree() const {
  std::vector<LabelledNode> nodes;
  const std::function<void(const Labelled&)> write = [&](const Labelled& tree) {
    const std::size_t at = nodes.size();
    nodes.push_back({{-1, 0, -1, -1, {}}, tree.one});
    if (!tree.low) return;
    nodes[at].node.feature = static_cast<int>(table_.column[tree.feature]);
    nodes[at].node.value = table_.value(tree.feature, tree.rank);
    nodes[at].node.low = static_cast<int>(nodes.size());
    write(*tree.low);
    nodes[at].node.high = static_cast<int>(nodes.size());
    write(*tree.high);
  };
  if (answer_) write(*answer_);
  return nodes;
}

}  // namespace proofwood::trees::fair
