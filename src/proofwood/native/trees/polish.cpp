// Makes a tree better, one node at a time (docs/theory/optimal-trees.md, "First trees").
#include "trees/polish.hpp"

#include <algorithm>

#include "common/mix.hpp"

namespace proofwood::trees {

Polish::Polish(Solver& solver, Rows& all, int depth)
    : solver_(solver),
      shared_(solver.shared),
      table_(solver.shared.table),
      all_(all),
      depth_(depth),
      classes_(table_.n_classes),
      walk_(table_, all, solver.shared.settings, solver.shared.stop),
      at_(table_.n_rows) {}

// ------------------------------------------------------------------ counting

void Polish::route(const Draft& draft, int splits) {
  rows_ += table_.n_rows;
  for (u32 r = 0; r < table_.n_rows; ++r) {
    int node = 0;
    for (int k = 0; k < splits && !draft.at(node).is_leaf(); ++k) node = draft.child(table_, node, r);
    at_[r] = node;
  }
}

void Polish::count(const Draft& draft) {
  rows_ += table_.n_rows;
  for (u32 r = 0; r < table_.n_rows; ++r) at_[r] = draft.leaf(table_, 0, r);
  count_at_leaves(draft);
}

void Polish::count_at_leaves(const Draft& draft) {
  const std::size_t m = draft.nodes.size();
  totals_.weight.assign(table_.by_sums() ? 0 : m * classes_, 0);
  totals_.sums.assign(table_.by_sums() ? m : 0, {});
  for (RowSums& sums : totals_.sums) sums.clear(table_.sums.size());
  totals_.mass.assign(m, 0);
  totals_.count.assign(m, 0);
  totals_.rows.assign(m, 0);
  totals_.hash.assign(m, 0);
  for (u32 r = 0; r < table_.n_rows; ++r) {
    const std::size_t leaf = index(at_[r]);
    if (table_.by_sums())
      totals_.sums[leaf].add(table_, r);
    else
      totals_.weight[leaf * classes_ + table_.label[r]] += table_.weight[r];
    totals_.mass[leaf] += table_.mass[r];
    totals_.count[leaf] += table_.count[r];
    ++totals_.rows[leaf];
    totals_.hash[leaf] += mix(2 * u64{r} + 1);
  }
  for (std::size_t v = m; v-- > 0;) {  // children come after their parents
    const Draft::Node& node = draft.nodes[v];
    if (node.is_leaf()) continue;
    for (const std::size_t child : {index(node.low), index(node.high)}) {
      if (table_.by_sums())
        totals_.sums[v].add(totals_.sums[child]);
      else
        for (std::size_t c = 0; c < classes_; ++c)
          totals_.weight[v * classes_ + c] += totals_.weight[child * classes_ + c];
      totals_.mass[v] += totals_.mass[child];
      totals_.count[v] += totals_.count[child];
      totals_.rows[v] += totals_.rows[child];
      totals_.hash[v] += totals_.hash[child];
    }
  }
}

i64 Polish::leaf_cost(int node) const {
  if (table_.by_sums()) return table_.sums_task->leaf_of(totals_.sums[index(node)]);
  i64 all = 0, heaviest = 0;
  for (std::size_t c = 0; c < classes_; ++c) {
    const i64 weight = totals_.weight[index(node) * classes_ + c];
    all += weight;
    heaviest = std::max(heaviest, weight);
  }
  return shared_.settings.prices.error * (all - heaviest);
}

i64 Polish::cost_below(const Draft& draft, int node) const {
  const Draft::Node& here = draft.at(node);
  if (here.is_leaf()) return leaf_cost(node);
  return cost_below(draft, here.low) + cost_below(draft, here.high) + shared_.settings.prices.leaf;
}

// Copies the tree below a node without splits that send no row to one side, or that save less than they cost.
Polish::Kept Polish::keep(const Draft& from, Place place, Draft& to, int at) const {
  const int node = place.node;
  const Draft::Node& here = from.at(node);
  if (!here.is_leaf()) {
    if (totals_.rows[index(here.low)] == 0) return keep(from, {here.high, place.left - 1}, to, at);
    if (totals_.rows[index(here.high)] == 0) return keep(from, {here.low, place.left - 1}, to, at);
  }
  const i64 leaf = leaf_cost(node);
  if (!here.is_leaf()) {
    const std::size_t before = to.nodes.size();
    to.split(at, here.feature, here.key, here.levels);
    const Kept low = keep(from, {here.low, place.left - 1}, to, to.at(at).low);
    const Kept high = keep(from, {here.high, place.left - 1}, to, to.at(at).high);
    const bool leaves = table_.rounded && place.left == 1;  // two leaves at the bottom are one number
    const i64 cost =
        (leaves ? table_.sums_task->two_leaves(totals_.sums[index(here.low)], totals_.sums[index(here.high)])
                : low.cost + high.cost) +
        shared_.settings.prices.leaf;
    if (cost < leaf) {
      // sets of columns of many levels stand at the last two levels of tests only
      const bool fits = here.levels == 0 || table_.levels[here.feature - table_.n_features].tested_at(to.height(at));
      return {cost, fits && low.permitted && high.permitted};
    }
    to.nodes.resize(before);
  }
  to.at(at) = {};
  if (!table_.by_sums()) {
    const auto first = totals_.weight.begin() + static_cast<std::ptrdiff_t>(index(node) * classes_);
    to.at(at).label = static_cast<u32>(std::max_element(first, first + static_cast<std::ptrdiff_t>(classes_)) - first);
  }
  const bool enough = shared_.settings.minimum.met(totals_.count[index(node)], totals_.mass[index(node)]);
  return {leaf, at == 0 || enough};
}

bool Polish::settle(Draft& draft) {
  count(draft);
  Draft kept;
  const Kept root = keep(draft, {0, depth_}, kept, 0);
  kept.cost = root.cost;
  draft = std::move(kept);
  return root.permitted;
}

// Takes a changed tree if it is permitted and cheaper.
bool Polish::adopt(Draft& draft, Draft& changed) {
  if (stopped() || !settle(changed) || changed.cost >= draft.cost) return false;
  draft = std::move(changed);
  offer(draft);
  return true;
}

// ------------------------------------------------------------------ above two leaves

// Puts the best stump or a leaf at each of these leaves. False if stopped.
bool Polish::choose_stumps(Draft& draft, const std::vector<int>& nodes) {
  std::vector<u32> slot(draft.nodes.size(), static_cast<u32>(nodes.size()));
  walk_.slots.assign(nodes.size() + 1, {});
  for (std::size_t s = 0; s < nodes.size(); ++s) slot[index(nodes[s])] = static_cast<u32>(s);
  rows_ += table_.n_rows;
  for (u32 r = 0; r < table_.n_rows; ++r)
    walk_.records[r] = {table_.weight[r], slot[index(draft.leaf(table_, 0, r))], table_.label[r]};
  walk_.count(true);
  if (!walk_.stumps()) return false;
  const Prices& prices = shared_.settings.prices;
  for (std::size_t s = 0; s < nodes.size(); ++s) {
    const RowWalk::Choice& choice = walk_.choices[s];
    const bool pays = choice.found && choice.cost + prices.leaf < walk_.leaf_of(walk_.slots[s]);
    draft.at(nodes[s]) = {};
    if (pays) draft.split(nodes[s], choice.feature, choice.key, choice.levels);
  }
  return true;
}

bool Polish::take(Draft& draft) {
  std::vector<int> wanted;
  for (std::size_t v = 0; v < draft.nodes.size(); ++v)
    if (draft.nodes[v].is_leaf() && draft.nodes[v].wants_stump) wanted.push_back(static_cast<int>(v));
  if (!wanted.empty() && !choose_stumps(draft, wanted)) return false;
  if (!settle(draft)) return false;
  offer(draft);
  return true;
}

// ------------------------------------------------------------------ fixed sides

// What each row costs on the low side more than on the high side goes into the walk. With both trees below fixed, a
// split costs the sum over its low rows, and a constant. Also the sum over all rows.
void Polish::choose_sides(const Draft& draft, const std::vector<int>& nodes, std::vector<i64>& all_low) {
  const bool limited = shared_.settings.minimum.any();
  const i64 price = shared_.settings.prices.error;
  std::vector<std::vector<double>> predicted;
  if (table_.by_sums()) predicted = predictions(draft);
  std::vector<u32> slot(draft.nodes.size(), static_cast<u32>(nodes.size()));
  walk_.slots.assign(nodes.size() + 1, {});
  all_low.assign(nodes.size(), 0);
  for (std::size_t s = 0; s < nodes.size(); ++s) {
    const Draft::Node& node = draft.at(nodes[s]);
    slot[index(nodes[s])] = static_cast<u32>(s);
    walk_.slots[s].low_leaves = static_cast<u32>(draft.leaves(node.low));
    walk_.slots[s].high_leaves = static_cast<u32>(draft.leaves(node.high));
    walk_.slots[s].depth = draft.height(nodes[s]);
    walk_.slots[s].bar = 0;
  }
  rows_ += table_.n_rows;
  for (u32 r = 0; r < table_.n_rows; ++r) {
    RowWalk::Record& record = walk_.records[r];
    record.slot = slot[index(at_[r])];
    record.weight = 0;
    if (record.slot == nodes.size()) continue;
    const Draft::Node& node = draft.at(at_[r]);
    const int low = draft.leaf(table_, node.low, r), high = draft.leaf(table_, node.high, r);
    if (table_.by_sums()) {
      // A row may cost more than all rows together do; the sum over all rows has to fit.
      const auto loss = [&](int leaf) {
        const double units = table_.sums_task->loss(table_, r, predicted[index(leaf)]);
        return static_cast<i64>(std::clamp(units, 0.0, 0x1p60 / table_.n_rows));
      };
      record.weight = loss(low) - loss(high);
    } else {
      const bool low_wrong = draft.at(low).label != table_.label[r],
                 high_wrong = draft.at(high).label != table_.label[r];
      record.weight = price * table_.weight[r] * (static_cast<int>(low_wrong) - static_cast<int>(high_wrong));
    }
    all_low[record.slot] += record.weight;
    if (draft.goes_low(table_, node, r)) walk_.slots[record.slot].bar += record.weight;
    if (record.weight == 0 && !limited) record.slot = static_cast<u32>(nodes.size());
  }
  if (limited) walk_.count(false);
}

// What the leaves of a tree predict.
std::vector<std::vector<double>> Polish::predictions(const Draft& draft) {
  std::vector<RowSums> sums(draft.nodes.size());
  for (RowSums& of_node : sums) of_node.clear(table_.sums.size());
  for (u32 r = 0; r < table_.n_rows; ++r) sums[index(draft.leaf(table_, 0, r))].add(table_, r);
  std::vector<std::vector<double>> predicted;
  for (const RowSums& of_node : sums) predicted.push_back(table_.sums_task->prediction(of_node));
  return predicted;
}

// Whether the tree is changed: by the split that was chosen, or by one side alone, which saves the leaves of the other.
bool Polish::apply_side(Draft& draft, int node, const RowWalk::Choice& choice, i64 all_low) const {
  const Prices& prices = shared_.settings.prices;
  const Draft::Node here = draft.at(node);
  const i64 split = choice.cost, low = all_low - prices.leaf * draft.leaves(here.high);
  const i64 high = -prices.leaf * draft.leaves(here.low);
  if (std::min(low, high) <= split) {
    const Draft copy = draft;
    draft.graft(node, copy, low <= high ? here.low : here.high);
    return true;
  }
  if (!choice.found) return false;
  Draft::Node& changed = draft.at(node);
  changed.feature = choice.feature;
  changed.key = choice.key;
  changed.levels = choice.levels;
  return true;
}

// All nodes `level` splits below the root at once: none has rows of another.
bool Polish::sides(Draft& draft, int level) {
  std::vector<int> nodes{0};
  for (int k = 0; !nodes.empty(); ++k) {
    std::erase_if(nodes, [&](int node) { return draft.at(node).is_leaf(); });
    if (k == level) break;
    std::vector<int> below;
    for (const int node : nodes) below.insert(below.end(), {draft.at(node).low, draft.at(node).high});
    nodes = std::move(below);
  }
  if (nodes.empty()) return false;
  route(draft, level);
  std::vector<i64> all_low;
  choose_sides(draft, nodes, all_low);
  if (!walk_.sides()) return false;
  Draft changed = draft;
  std::vector<std::size_t> applied;
  for (std::size_t s = 0; s < nodes.size(); ++s)
    if (apply_side(changed, nodes[s], walk_.choices[s], all_low[s])) applied.push_back(s);
  if (applied.empty()) return false;
  if (adopt(draft, changed)) return true;
  // one of several leaves may hold too little
  bool cheaper = false;
  const Draft first = draft;
  for (const std::size_t s : applied) {
    if (applied.size() == 1 || !shared_.settings.minimum.any() || cheaper) break;
    changed = first;
    apply_side(changed, nodes[s], walk_.choices[s], all_low[s]);
    cheaper = adopt(draft, changed);
  }
  return cheaper;
}

// ------------------------------------------------------------------ exact ends

bool Polish::wants_solution(const Draft& draft, Place place) const {
  const Draft::Node& node = draft.at(place.node);
  if (!is_end(draft, place))
    return wants_solution(draft, {node.low, place.left - 1}) || wants_solution(draft, {node.high, place.left - 1});
  const i64 cost = cost_below(draft, place.node);
  if (cost <= shared_.settings.prices.leaf) return false;
  const auto known = known_.find(totals_.hash[index(place.node)]);
  return known == known_.end() || known->second.lower < cost;
}

// The trees below are of the draft that was counted last; what is grafted comes after them.
void Polish::solve_ends(Rows& rows, Draft& draft, Place place) {
  if (stopped() || !wants_solution(draft, place)) return;
  const Draft::Node node = draft.at(place.node);
  if (!is_end(draft, place)) {
    const Plan split{Plan::kSplit, node.feature, node.key, node.levels, nullptr, nullptr};
    if (!solver_.split(rows, split, place.left)) return;
    Solver::Level& level = solver_.level(place.left);
    solve_ends(level.low, draft, {node.low, place.left - 1});
    solve_ends(level.high, draft, {node.high, place.left - 1});
    return;
  }
  const i64 cost = cost_below(draft, place.node);
  const auto known = known_.find(totals_.hash[index(place.node)]);
  Known found;
  if (known != known_.end() && known->second.upper < cost && known->second.upper == known->second.lower) {
    found = known->second;
  } else {
    const Solution solution = solver_.solve(rows, 2, {.limit = cost});
    if (solution.stopped) return;
    found = {solution.upper, solution.lower, solution.plan};
    constexpr std::size_t kMost = 100'000;
    if (known_.size() >= kMost) known_.clear();
    known_[totals_.hash[index(place.node)]] = found;
  }
  if (found.upper < cost) draft.graft(place.node, *found.plan);
}

bool Polish::ends(Draft& draft) {
  count(draft);
  if (!wants_solution(draft, {0, depth_})) return false;
  Draft changed = draft;
  solve_ends(all_, changed, {0, depth_});
  if (changed.nodes.size() == draft.nodes.size()) return false;
  const i64 before = draft.cost;
  if (stopped() || !take(changed) || changed.cost >= before) return false;
  draft = std::move(changed);
  return true;
}

// ------------------------------------------------------------------ until stable

// The two levels at the bottom are the best ones for the rows they have; the splits above move with them fixed.
void Polish::polish(Draft& draft) {
  do {
    for (bool cheaper = true; cheaper && !stopped();) {
      cheaper = false;
      const int ends = std::min(depth_, draft.height(0)) - 2;
      for (int level = 0; level < ends && !stopped(); ++level) cheaper |= sides(draft, level);
    }
  } while (!stopped() && ends(draft));
}

// ------------------------------------------------------------------ growing

// The nodes of `open`, to which the rows have come, are split by least impurity; those of their children that may be
// split again are open then. False if stopped.
bool Polish::grow_level(Draft& draft, std::vector<int>& open, std::vector<double>* by_feature) {
  std::vector<u32> slot(draft.nodes.size(), static_cast<u32>(open.size()));
  for (std::size_t s = 0; s < open.size(); ++s) slot[index(open[s])] = static_cast<u32>(s);
  for (u32 r = 0; r < table_.n_rows; ++r) walk_.records[r] = {table_.weight[r], slot[index(at_[r])], table_.label[r]};
  walk_.slots.assign(open.size() + 1, {});
  walk_.count(true);
  if (!walk_.purest(by_feature)) return false;
  std::vector<int> next;
  for (std::size_t s = 0; s < open.size(); ++s) {
    const RowWalk::Choice& choice = walk_.choices[s];
    if (!choice.found) continue;
    draft.split(open[s], choice.feature, choice.key, 0);
    next.push_back(draft.at(open[s]).low);
    next.push_back(draft.at(open[s]).high);
  }
  for (u32 r = 0; r < table_.n_rows; ++r)
    if (!draft.at(at_[r]).is_leaf()) at_[r] = draft.child(table_, at_[r], r);
  count_at_leaves(draft);
  std::erase_if(next, [&](int node) {
    const struct {
      u32 count;
      i64 mass;
    } held{totals_.count[index(node)], totals_.mass[index(node)]};
    return leaf_cost(node) <= shared_.settings.prices.leaf || !shared_.settings.minimum.may_split(held);
  });
  open = std::move(next);
  return true;
}

void Polish::score(std::vector<double>& by_feature) {
  std::fill(at_.begin(), at_.end(), 0);
  Draft root;
  std::vector<int> open{0};
  grow_level(root, open, &by_feature);
}

Draft Polish::grow(std::vector<double>& by_feature) {
  std::fill(at_.begin(), at_.end(), 0);
  Draft draft, now;
  std::vector<int> open{0};
  for (int level = 0; level + 1 < depth_ && !open.empty(); ++level) {
    if (!grow_level(draft, open, level == 0 ? &by_feature : nullptr)) return now;
    now = {};
    const Kept kept = keep(draft, {0, depth_}, now, 0);
    now.cost = kept.permitted ? kept.cost : kInfinite;
    if (kept.permitted) offer(now);
  }
  if (open.empty() || !choose_stumps(draft, open)) return now;
  if (settle(draft)) offer(draft);
  return draft;
}

}  // namespace proofwood::trees
