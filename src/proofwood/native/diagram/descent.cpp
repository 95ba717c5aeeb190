// Descent of a diagram, node by node: each gets its best test and targets, or none, or new children.
//
// Theory: docs/theory/layered-diagrams.md, "The portfolio" (local search).
// The problem is eq. 18 of Florio et al., AAAI 2023 (ODD); the descent is ours.
#include "diagram/descent.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace proofwood::diagram {

template <class V>
Descent<V>::Descent(const Table& table, const Skeleton& skeleton, Random& random, const std::atomic<int>& stop)
    : table_(table), skeleton_(skeleton), random_(random), stop_(stop), values_(skeleton.slots()) {
  price_rows();
}

template <class V>
void Descent<V>::price_rows() {
  prices_.resize(table_.prices.size());
  for (u32 g = 0; g < table_.rows; ++g) {
    double least = kInfinite;
    for (u32 c = 0; c < table_.classes; ++c) least = std::min(least, table_.price(c)[g]);
    for (u32 c = 0; c < table_.classes; ++c)
      prices_[static_cast<std::size_t>(c) * table_.rows + g] = static_cast<V>(table_.price(c)[g] - least);
  }
}

template <class V>
void Descent<V>::price_rows_anew() {
  price_rows();
  for (u32 g = 0; g < table_.rows; ++g) {
    const u32 draw = random_.below(8);
    if (draw < 4) continue;
    const V factor = static_cast<V>(draw < 6 ? 0 : draw - 4);  // 0, 0, 2, 3
    for (u32 c = 0; c < table_.classes; ++c) prices_[static_cast<std::size_t>(c) * table_.rows + g] *= factor;
  }
}

template <class V>
void Descent<V>::pass(Shape& shape, const Flow& flow, double deep) {
  std::vector<u32> slots;
  grown_.assign(skeleton_.slots(), 0);
  for (u32 layer = skeleton_.layers(); layer-- > 0;) {
    slots.clear();
    for (u32 s = skeleton_.begin[layer]; s < skeleton_.begin[layer + 1]; ++s)
      if (shape.nodes[s].used()) slots.push_back(s);
    for (std::size_t i = 0; i + 1 < slots.size(); ++i) std::swap(slots[i], slots[i + random_.below(slots.size() - i)]);
    for (const u32 s : slots) {
      if (!running()) return;
      value(shape, s);
      if (!flow.rows_at(s).empty() && !grown_[s]) optimise(shape, flow, s, deep > 0 && random_.uniform() < deep);
      if (shape.nodes[s].used()) value(shape, s);
    }
  }
}

template <class V>
void Descent<V>::value(const Shape& shape, u32 slot) {
  const Node& node = shape.nodes[slot];
  auto& values = values_[slot];
  values.resize(table_.rows);
  const auto of = [&](int target) {
    return target < 0 ? prices_.data() + static_cast<std::size_t>(~target) * table_.rows
                      : values_[static_cast<u32>(target)].data();
  };
  const V* const low = of(node.low);
  const V* const high = of(node.high);
  const int* const ranks = table_.column(node.column);
  for (u32 g = 0; g < table_.rows; ++g) values[g] = ranks[g] <= node.cut ? low[g] : high[g];
}

template <class V>
u32 Descent<V>::reach(const Shape& shape, u32 slot) {
  reached_.assign(skeleton_.slots(), 0);
  u32 count = 0;
  reached_[0] = 1;
  for (u32 s = 0; s < skeleton_.slots(); ++s) {
    if (!reached_[s] || !shape.nodes[s].used()) continue;
    ++count;
    if (s == slot) continue;
    if (shape.nodes[s].low >= 0) reached_[static_cast<u32>(shape.nodes[s].low)] = 1;
    if (shape.nodes[s].high >= 0) reached_[static_cast<u32>(shape.nodes[s].high)] = 1;
  }
  return count;
}

template <class V>
u32 Descent<V>::extra(const Shape& shape, int target) {
  if (target < 0 || reached_[static_cast<u32>(target)]) return 0;
  marked_.clear();
  stack_.assign(1, static_cast<u32>(target));
  more_.resize(skeleton_.slots(), 0);
  more_[static_cast<u32>(target)] = 1;
  while (!stack_.empty()) {
    const u32 s = stack_.back();
    stack_.pop_back();
    marked_.push_back(s);
    for (const int next : {shape.nodes[s].low, shape.nodes[s].high}) {
      if (next < 0 || reached_[static_cast<u32>(next)] || more_[static_cast<u32>(next)]) continue;
      more_[static_cast<u32>(next)] = 1;
      stack_.push_back(static_cast<u32>(next));
    }
  }
  for (const u32 s : marked_) more_[s] = 0;
  return static_cast<u32>(marked_.size());
}

// Weight at `target` that does not come from `slot`.
template <class V>
double Descent<V>::weight_elsewhere(const Shape& shape, const Flow& flow, u32 slot, u32 target) const {
  double sum = flow.weight_of(flow.rows_at(target));
  const Node& node = shape.nodes[slot];
  const int* const ranks = table_.column(node.column);
  for (const u32 g : flow.rows_at(slot))
    if ((ranks[g] <= node.cut ? node.low : node.high) == static_cast<int>(target)) sum -= table_.weight[g];
  return sum;
}

// Terminals and the nodes of `layer`; in a tree, of the nodes only the children of `slot`, if they are its own to give.
template <class V>
typename Descent<V>::Targets Descent<V>::targets(const Shape& shape, const Flow& flow, u32 slot, u32 layer, bool own) {
  Targets list;
  for (u32 c = 0; c < table_.classes; ++c)
    list.push_back({~static_cast<int>(c), prices_.data() + static_cast<std::size_t>(c) * table_.rows, 0, kInfinite, 0});
  if (layer >= skeleton_.layers()) return list;
  for (u32 s = skeleton_.begin[layer]; s < skeleton_.begin[layer + 1]; ++s) {
    const Node& node = shape.nodes[s];
    if (!node.used()) continue;
    const auto id = static_cast<int>(s);
    if (skeleton_.tree && !(own && (shape.nodes[slot].low == id || shape.nodes[slot].high == id))) continue;
    const u32 more = extra(shape, id);
    const double weight = skeleton_.min_weight > 0
                              ? (own ? weight_elsewhere(shape, flow, slot, s) : flow.weight_of(flow.rows_at(s)))
                              : kInfinite;
    list.push_back({id, values_[s].data(), static_cast<V>(skeleton_.node_price * more), weight, more});
  }
  return list;
}

// What the node costs as it is: its rows, and the nodes that are in use only because of it.
template <class V>
V Descent<V>::cost_now(const Shape& shape, u32 slot, const std::vector<u32>& rows) {
  const Node& node = shape.nodes[slot];
  V now = 0;
  for (const u32 g : rows) now += values_[slot][g];
  u32 more = extra(shape, node.low);
  if (node.high != node.low) {
    const std::vector<u32> first(marked_.begin(),
                                 marked_.begin() + (node.low >= 0 ? static_cast<std::ptrdiff_t>(more) : 0));
    for (const u32 s : first) reached_[s] = 1;
    more += extra(shape, node.high);
    for (const u32 s : first) reached_[s] = 0;
  }
  return now + static_cast<V>(skeleton_.node_price * more);
}

// All rows to one target instead of this node: to a terminal, or, in a diagram, to another node of its layer.
template <class V>
void Descent<V>::try_without(const Shape& shape, u32 slot, const std::vector<u32>& rows, const Targets& list,
                             u32 in_use, Choice& choice) {
  const V saved = slot == 0 ? 0 : static_cast<V>(skeleton_.node_price);
  for (u32 t = 0; t < list.size(); ++t)
    if (list[t].id < 0 && near_all_[t] - saved <= choice.cost)
      choice.cost = near_all_[t] - saved, choice.end = list[t].id, choice.ends = true;
  if (skeleton_.tree) return;
  const u32 layer = skeleton_.layer_of[slot];
  for (u32 s = skeleton_.begin[layer]; s < skeleton_.begin[layer + 1]; ++s) {
    if (s == slot || !shape.nodes[s].used() || values_[s].size() != table_.rows) continue;
    if (in_use + extra(shape, static_cast<int>(s)) > skeleton_.max_splits + 1) continue;
    V sum = 0;
    // Nodes of this layer that the pass has not come to yet are valued now.
    value(shape, s);
    for (const u32 g : rows) sum += values_[s][g];
    sum += static_cast<V>(skeleton_.node_price * extra(shape, static_cast<int>(s))) - saved;
    if (sum < choice.cost || (sum == choice.cost && skeleton_.node_price > 0))
      choice.cost = sum, choice.end = static_cast<int>(s), choice.ends = true;
  }
}

// The best test with its two targets. `together`: cost of all rows to one target of the next layer.
template <class V>
void Descent<V>::try_splits(const Targets& list, V together, u32 room, Choice& choice) {
  const bool ties = !choice.ends;
  const double least = skeleton_.min_weight;
  choice.split = near_.best(table_, local_, nullptr, local_.rows, near_all_, std::min(choice.cost, together), ties,
                            random_, list, least, room);
  if (!choice.split.found() && choice.cost > together)
    choice.split =
        near_.best(table_, local_, nullptr, local_.rows, near_all_, choice.cost, false, random_, list, least, room);
  if (!choice.split.found()) return;
  choice.cost = choice.split.cost;
  choice.ends = false;
}

// A node that passes all its rows on, where that costs less. It is put in place at once.
template <class V>
void Descent<V>::try_passing(Shape& shape, u32 slot, const Targets& list, V together, u32 room, Choice& choice) {
  for (u32 t = 0; t < list.size(); ++t) {
    if (near_all_[t] + list[t].fixed != together || list[t].id < 0 || list[t].extra > room) continue;
    const Node idle = passing(list[t].id);
    if (!idle.used()) continue;
    choice.cost = together;
    choice.ends = false;
    choice.split.column = -1;
    shape.nodes[slot] = idle;
    value(shape, slot);
    return;
  }
}

template <class V>
void Descent<V>::optimise(Shape& shape, const Flow& flow, u32 slot, bool deep) {
  ++nodes;
  const auto& rows = flow.rows_at(slot);
  const u32 layer = skeleton_.layer_of[slot];
  const u32 in_use = reach(shape, slot);
  const Targets list = targets(shape, flow, slot, layer + 1, true);
  local_.fill(table_, rows);
  near_.fill(local_, list);
  Choice choice;
  choice.cost = cost_now(shape, slot, rows);
  near_.totals(local_, nullptr, near_all_);
  V together = std::numeric_limits<V>::infinity();
  for (u32 t = 0; t < list.size(); ++t) together = std::min(together, near_all_[t] + list[t].fixed);
  const u32 room = skeleton_.max_splits > in_use ? skeleton_.max_splits - in_use : 0;
  try_without(shape, slot, rows, list, in_use, choice);
  try_splits(list, together, room, choice);
  if (together < choice.cost && skeleton_.max_splits >= in_use) try_passing(shape, slot, list, together, room, choice);
  if (deep && layer + 1 < skeleton_.layers() && with_children(shape, flow, slot, in_use, choice.cost)) return;
  if (choice.ends) {
    if (choice.end >= 0) grown_[static_cast<u32>(choice.end)] = 1;
    Flow::redirect(shape, skeleton_, slot, choice.end);
  } else if (choice.split.found()) {
    const Split<V>& split = choice.split;
    shape.nodes[slot] = {split.column, split.cut, list[static_cast<u32>(split.low)].id,
                         list[static_cast<u32>(split.high)].id};
  }
}

// A node that sends all its rows to `target`: by both arcs, or in a tree by a test that is the same for all of them.
// Unused if there is none.
template <class V>
Node Descent<V>::passing(int target) {
  Node node;
  const u32 m = local_.rows;
  u32 seen = 0;
  for (u32 j = 0; j < table_.columns; ++j) {
    if (!skeleton_.tree) {
      if (table_.cuts[j] > 0 && random_.below(++seen) == 0)
        node = {static_cast<int>(j), static_cast<int>(random_.below(static_cast<std::size_t>(table_.cuts[j]))), target,
                target};
      continue;
    }
    const Local::Column& column = local_.columns[j];
    if (column.few && column.count > 0 && column.count < m) continue;
    const int* const ranks = local_.ranks.data() + column.begin;
    const auto& tests = table_.tests[j];
    const int one = (column.count == m) == column.few_high ? 1 : 0;  // of a column with one cut: the rank of all rows
    const int above = column.few ? one : ranks[m - 1], under = (column.few ? one : ranks[0]) - 1;
    const auto known = [&](int cut) { return tests[static_cast<u32>(cut + 1)] >= 0; };
    const int other = ~static_cast<int>(random_.below(table_.classes));
    if (known(above) && random_.below(++seen) == 0) node = {static_cast<int>(j), above, target, other};
    if (known(under) && random_.below(++seen) == 0) node = {static_cast<int>(j), under, other, target};
  }
  return node;
}

template <class V>
typename Descent<V>::Side Descent<V>::side(const char* inside, u32 count, const Targets& list, const Targets& below,
                                           const std::vector<V>& near, const std::vector<V>& far, u32 room) {
  Side best;
  best.cost = std::numeric_limits<V>::infinity();
  double weight = 0;
  if (skeleton_.min_weight > 0)
    for (u32 k = 0; k < local_.rows; ++k) weight += inside[k] ? table_.weight[local_.members[k]] : 0;
  for (u32 t = 0; t < list.size(); ++t) {
    if (list[t].extra > room || list[t].weight + weight < skeleton_.min_weight) continue;
    if (near[t] + list[t].fixed < best.cost) best.cost = near[t] + list[t].fixed, best.target = static_cast<int>(t);
  }
  const V grown = static_cast<V>(skeleton_.node_price);
  if (room == 0 || best.cost <= grown || weight < skeleton_.min_weight) return best;
  const Split<V> child = far_.best(table_, local_, inside, count, far, best.cost - grown, false, random_, below,
                                   skeleton_.min_weight, room - 1);
  if (child.found()) {
    best.cost = child.cost + grown;
    best.target = -1;
    best.child = child;
  }
  return best;
}

// ------------------------------------------------------------------------------------------------- with new children

// Whether both sides of a split cannot be had at once: the same target, or fewer slots than new children.
template <class V>
bool Descent<V>::Growth::conflict(const Side& one, const Side& two) const {
  if (one.target >= 0 && two.target >= 0)
    return list[static_cast<u32>(one.target)].id == list[static_cast<u32>(two.target)].id;
  const u32 wanted = (one.target < 0) + (two.target < 0);
  u32 taken = 0;
  for (const Side* s : {&one, &two})
    if (s->target >= 0 &&
        std::find(lent.begin(), lent.end(), static_cast<u32>(list[static_cast<u32>(s->target)].id)) != lent.end())
      ++taken;
  return wanted > free.size() + lent.size() - taken;
}

// Nodes that are in use only if this side is.
template <class V>
u32 Descent<V>::Growth::nodes_of(const Side& side) const {
  if (side.target >= 0) return list[static_cast<u32>(side.target)].extra;
  return 1 + std::max(below[static_cast<u32>(side.child.low)].extra, below[static_cast<u32>(side.child.high)].extra);
}

template <class V>
Node Descent<V>::Growth::made_of(const Side& side) const {
  return {side.child.column, side.child.cut, below[static_cast<u32>(side.child.low)].id,
          below[static_cast<u32>(side.child.high)].id};
}

// All rows to one new child, by a node that passes them on.
template <class V>
void Descent<V>::try_one_child(Growth& growth) {
  inside_.assign(local_.rows, 1);
  const Side whole = side(inside_.data(), local_.rows, growth.list, growth.below, near_all_, far_all_, growth.room);
  if (whole.target >= 0 || whole.cost >= growth.best || growth.nodes_of(whole) > growth.room) return;
  const Node idle = passing(0);
  if (!idle.used()) return;
  growth.best = whole.cost;
  growth.low = growth.high = whole;
  growth.idle = idle;
}

// Where the low side of a cut of the column ends among the rows at hand, and the cuts.
template <class V>
std::vector<typename Descent<V>::Cut> Descent<V>::cuts_of(u32 number) const {
  const Local::Column& column = local_.columns[number];
  const int* const ranks = local_.ranks.data() + column.begin;
  const u32 m = local_.rows;
  std::vector<Cut> cuts;
  if (column.few) {
    if (column.count > 0 && column.count < m) cuts.push_back({column.few_high ? m - column.count : column.count, 0});
    return cuts;
  }
  for (u32 i = 0; i + 1 < column.count; ++i)
    if (ranks[i] != ranks[i + 1]) cuts.push_back({i + 1, ranks[i]});
  return cuts;
}

// The cuts of one column with the best of both sides. The cost of a side grows with its rows, so what is known of two
// cuts bounds all cuts between them, and most are never tried:
//
//   cut          0   1   2   3   4   5   6
//   low side     1           4                grows from the left to the right
//   high side                5           2    grows from the right to the left
//
// Cuts 1 and 2 cost at least 1 + 5, cuts 4 and 5 at least 4 + 2: once 6 is found, none of them is tried.
template <class V>
void Descent<V>::grow_column(u32 number, Growth& growth) {
  const std::vector<Cut> cuts = cuts_of(number);
  if (cuts.empty()) return;
  const u32 m = local_.rows;
  const auto rest = [](const std::vector<V>& all, const std::vector<V>& part, std::vector<V>& other) {
    other.resize(all.size());
    for (std::size_t t = 0; t < all.size(); ++t) other[t] = all[t] - part[t];
  };
  struct Range {
    u32 from, to;  // places in `cuts`, `to` excluded
    V low, high;   // what the low side of all cuts and the high side of all cuts costs at least
  };
  const int* const given = table_.column(static_cast<int>(number));
  std::vector<Range> ranges{{0, static_cast<u32>(cuts.size()), 0, 0}};
  while (!ranges.empty() && growth.budget > 0 && running()) {
    const Range range = ranges.back();
    ranges.pop_back();
    if (range.from >= range.to || range.low + range.high >= growth.best) continue;
    const u32 middle = range.from + (range.to - range.from) / 2;
    const Cut& here = cuts[middle];
    for (u32 k = 0; k < m; ++k) inside_[k] = given[local_.members[k]] <= here.cut;
    near_.totals(local_, inside_.data(), near_low_);
    far_.totals(local_, inside_.data(), far_low_);
    const Side low = side(inside_.data(), here.count, growth.list, growth.below, near_low_, far_low_, growth.room);
    growth.budget -= growth.price;
    if (low.cost + range.high >= growth.best) {  // so are all higher cuts
      ranges.push_back({range.from, middle, range.low, range.high});
      continue;
    }
    for (u32 i = 0; i < m; ++i) inside_[i] = !inside_[i];
    rest(near_all_, near_low_, near_high_);
    rest(far_all_, far_low_, far_high_);
    const Side high =
        side(inside_.data(), m - here.count, growth.list, growth.below, near_high_, far_high_, growth.room);
    growth.budget -= growth.price;
    if (low.cost + high.cost < growth.best && !growth.conflict(low, high) &&
        growth.nodes_of(low) + growth.nodes_of(high) <= growth.room) {
      growth.best = low.cost + high.cost;
      growth.column = static_cast<int>(number);
      growth.cut = here.cut;
      growth.low = low;
      growth.high = high;
      growth.idle = {};
    }
    ranges.push_back({middle + 1, range.to, low.cost, range.high});
    ranges.push_back({range.from, middle, range.low, high.cost});
  }
}

// Writes what was found into the diagram; false if nothing was.
template <class V>
bool Descent<V>::write(Shape& shape, u32 slot, Growth& growth) {
  auto& free = growth.free;
  if (growth.idle.used()) {
    const u32 child = free.empty() ? growth.lent.front() : free.front();
    shape.nodes[child] = growth.made_of(growth.low);
    value(shape, child);
    Node& node = shape.nodes[slot];
    node = growth.idle;
    if (node.low >= 0) node.low = static_cast<int>(child);
    if (node.high >= 0) node.high = static_cast<int>(child);
    return true;
  }
  if (growth.column < 0) return false;
  Node node{growth.column, growth.cut, 0, 0};
  for (const Side* s : {&growth.low, &growth.high})
    if (s->target >= 0) (s == &growth.low ? node.low : node.high) = growth.list[static_cast<u32>(s->target)].id;
  free.insert(free.end(), growth.lent.begin(), growth.lent.end());
  std::size_t next = 0;
  std::vector<u32> made;
  for (const Side* s : {&growth.low, &growth.high}) {
    if (s->target >= 0) continue;
    while (static_cast<int>(free[next]) == node.low || static_cast<int>(free[next]) == node.high) ++next;
    const u32 child = free[next];
    (s == &growth.low ? node.low : node.high) = static_cast<int>(child);
    shape.nodes[child] = growth.made_of(*s);
    made.push_back(child);
    ++next;
  }
  for (const u32 child : made) value(shape, child);
  shape.nodes[slot] = node;
  return true;
}

// The best split of a node together with at most two new children, which take free slots of the next layer or those of
// children that are in use only here.
template <class V>
bool Descent<V>::with_children(Shape& shape, const Flow& flow, u32 slot, u32 in_use, V best) {
  ++pairs;
  const u32 layer = skeleton_.layer_of[slot];
  Growth growth;
  for (u32 s = skeleton_.begin[layer + 1]; s < skeleton_.begin[layer + 2]; ++s) {
    if (!shape.nodes[s].used())
      growth.free.push_back(s);
    else if (!reached_[s])
      growth.lent.push_back(s);
  }
  if (growth.free.size() + growth.lent.size() == 0 || in_use >= skeleton_.max_splits) return false;
  growth.best = best;
  growth.room = skeleton_.max_splits - in_use;
  growth.list = targets(shape, flow, slot, layer + 1, true);
  growth.below = targets(shape, flow, slot, layer + 2, false);
  growth.price = static_cast<double>(table_.columns) * (local_.rows + 8.0) + 20;
  near_.fill(local_, growth.list);
  far_.fill(local_, growth.below);
  near_.totals(local_, nullptr, near_all_);
  far_.totals(local_, nullptr, far_all_);
  std::vector<u32> columns(table_.columns);
  std::iota(columns.begin(), columns.end(), 0u);
  for (std::size_t i = 0; i + 1 < columns.size(); ++i)
    std::swap(columns[i], columns[i + random_.below(columns.size() - i)]);
  try_one_child(growth);
  for (const u32 j : columns) {
    if (growth.budget <= 0 || !running()) break;
    grow_column(j, growth);
  }
  return write(shape, slot, growth);
}

template class Descent<float>;
template class Descent<double>;

}  // namespace proofwood::diagram
