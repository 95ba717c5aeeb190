// Descent of a diagram, node by node.
#include "skeleton/descent.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace proofwood::skeleton {

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
    return target < 0 ? prices_.data() + static_cast<std::size_t>(~target) * table_.rows : values_[static_cast<u32>(target)].data();
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
    const double weight = skeleton_.min_weight > 0 ? (own ? weight_elsewhere(shape, flow, slot, s) : flow.weight_of(flow.rows_at(s))) : kInfinite;
    list.push_back({id, values_[s].data(), static_cast<V>(skeleton_.node_price * more), weight, more});
  }
  return list;
}

template <class V>
void Descent<V>::optimise(Shape& shape, const Flow& flow, u32 slot, bool deep) {
  ++nodes;
  const auto& rows = flow.rows_at(slot);
  const u32 layer = skeleton_.layer_of[slot];
  const u32 in_use = reach(shape, slot);
  Node& node = shape.nodes[slot];
  const Targets list = targets(shape, flow, slot, layer + 1, true);
  local_.fill(table_, rows);
  near_.fill(local_, list);
  // What the node costs now.
  V now = 0;
  for (const u32 g : rows) now += values_[slot][g];
  u32 more = extra(shape, node.low);
  if (node.high != node.low) {
    const std::vector<u32> first(marked_.begin(), marked_.begin() + (node.low >= 0 ? static_cast<std::ptrdiff_t>(more) : 0));
    for (const u32 s : first) reached_[s] = 1;
    more += extra(shape, node.high);
    for (const u32 s : first) reached_[s] = 0;
  }
  now += static_cast<V>(skeleton_.node_price * more);
  V best = now;
  // All rows to one target: a terminal, or instead of this node another one of its layer.
  near_.totals(local_, nullptr, near_all_);
  const auto& totals = near_all_;
  V together = std::numeric_limits<V>::infinity();
  int end = 0;
  bool ends = false;
  const V saved = slot == 0 ? 0 : static_cast<V>(skeleton_.node_price);
  for (u32 t = 0; t < list.size(); ++t) {
    together = std::min(together, totals[t] + list[t].fixed);
    if (list[t].id < 0 && totals[t] - saved <= best) best = totals[t] - saved, end = list[t].id, ends = true;
  }
  if (!skeleton_.tree) {
    for (u32 s = skeleton_.begin[layer]; s < skeleton_.begin[layer + 1]; ++s) {
      if (s == slot || !shape.nodes[s].used() || values_[s].size() != table_.rows) continue;
      if (in_use + extra(shape, static_cast<int>(s)) > skeleton_.max_splits + 1) continue;
      V sum = 0;
      // Nodes of this layer that the pass has not come to yet are valued now.
      value(shape, s);
      for (const u32 g : rows) sum += values_[s][g];
      sum += static_cast<V>(skeleton_.node_price * extra(shape, static_cast<int>(s))) - saved;
      if (sum < best || (sum == best && skeleton_.node_price > 0)) best = sum, end = static_cast<int>(s), ends = true;
    }
  }
  const u32 room = skeleton_.max_splits > in_use ? skeleton_.max_splits - in_use : 0;
  const bool ties = !ends;
  Split<V> split = near_.best(table_, local_, nullptr, local_.rows, totals, std::min(best, together), ties, random_, list, skeleton_.min_weight, room);
  if (!split.found() && best > together)
    split = near_.best(table_, local_, nullptr, local_.rows, totals, best, false, random_, list, skeleton_.min_weight, room);
  if (split.found()) {
    best = split.cost;
    ends = false;
  }
  if (together < best && skeleton_.max_splits >= in_use) {
    for (u32 t = 0; t < list.size(); ++t) {
      if (totals[t] + list[t].fixed != together || list[t].id < 0 || list[t].extra > room) continue;
      const Node idle = passing(list[t].id);
      if (!idle.used()) continue;
      best = together;
      ends = false;
      split.column = -1;
      node = idle;
      value(shape, slot);
      break;
    }
  }
  if (deep && layer + 1 < skeleton_.layers() && with_children(shape, flow, slot, in_use, best)) return;
  if (ends) {
    if (end >= 0) grown_[static_cast<u32>(end)] = 1;
    Flow::redirect(shape, skeleton_, slot, end);
  } else if (split.found()) {
    node = {split.column, split.cut, list[static_cast<u32>(split.low)].id, list[static_cast<u32>(split.high)].id};
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
        node = {static_cast<int>(j), static_cast<int>(random_.below(static_cast<std::size_t>(table_.cuts[j]))), target, target};
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
typename Descent<V>::Side Descent<V>::side(const char* inside, u32 count, const Targets& list, const Targets& below, const std::vector<V>& near,
                                           const std::vector<V>& far, u32 room) {
  Side told;
  told.cost = std::numeric_limits<V>::infinity();
  double weight = 0;
  if (skeleton_.min_weight > 0)
    for (u32 k = 0; k < local_.rows; ++k) weight += inside[k] ? table_.weight[local_.members[k]] : 0;
  for (u32 t = 0; t < list.size(); ++t) {
    if (list[t].extra > room || list[t].weight + weight < skeleton_.min_weight) continue;
    if (near[t] + list[t].fixed < told.cost) told.cost = near[t] + list[t].fixed, told.target = static_cast<int>(t);
  }
  const V grown = static_cast<V>(skeleton_.node_price);
  if (room == 0 || told.cost <= grown || weight < skeleton_.min_weight) return told;
  const Split<V> child =
      far_.best(table_, local_, inside, count, far, told.cost - grown, false, random_, below, skeleton_.min_weight, room - 1);
  if (child.found()) {
    told.cost = child.cost + grown;
    told.target = -1;
    told.child = child;
  }
  return told;
}

// The best split of a node together with at most two new children, which take free slots of the next layer or those of
// children that are in use only here. The cost of a side grows with its rows, so what is known of two cuts of a column
// bounds all cuts between them, and most are never tried.
template <class V>
bool Descent<V>::with_children(Shape& shape, const Flow& flow, u32 slot, u32 in_use, V best) {
  ++pairs;
  const u32 layer = skeleton_.layer_of[slot];
  std::vector<u32> free, lent;
  for (u32 s = skeleton_.begin[layer + 1]; s < skeleton_.begin[layer + 2]; ++s) {
    if (!shape.nodes[s].used()) free.push_back(s);
    else if (!reached_[s]) lent.push_back(s);
  }
  if (free.size() + lent.size() == 0 || in_use >= skeleton_.max_splits) return false;
  const u32 room = skeleton_.max_splits - in_use;
  const Targets list = targets(shape, flow, slot, layer + 1, true);
  const Targets below = targets(shape, flow, slot, layer + 2, false);
  near_.fill(local_, list);
  far_.fill(local_, below);
  near_.totals(local_, nullptr, near_all_);
  far_.totals(local_, nullptr, far_all_);
  const auto rest = [](const std::vector<V>& all, const std::vector<V>& part, std::vector<V>& other) {
    other.resize(all.size());
    for (std::size_t t = 0; t < all.size(); ++t) other[t] = all[t] - part[t];
  };
  const u32 m = local_.rows;
  struct Found {
    int column = -1, cut = 0;
    Side low, high;
    Node idle;  // used if all rows go to one new child
  } found;
  // Each side costs about columns * rows; what is left of the budget decides how many cuts are tried.
  double budget = 3e6;
  const double price = static_cast<double>(table_.columns) * (m + 8.0) + 20;
  std::vector<u32> columns(table_.columns);
  std::iota(columns.begin(), columns.end(), 0u);
  for (std::size_t i = 0; i + 1 < columns.size(); ++i) std::swap(columns[i], columns[i + random_.below(columns.size() - i)]);
  inside_.resize(m);
  struct Cut {
    u32 count;  // rows that go low
    int cut;
  };
  std::vector<Cut> ends;
  const auto conflict = [&](const Side& one, const Side& two) {  // both sides need slots: is there one for each?
    if (one.target >= 0 && two.target >= 0) return list[static_cast<u32>(one.target)].id == list[static_cast<u32>(two.target)].id;
    const u32 wanted = (one.target < 0) + (two.target < 0);
    u32 taken = 0;
    for (const Side* s : {&one, &two})
      if (s->target >= 0 && std::find(lent.begin(), lent.end(), static_cast<u32>(list[static_cast<u32>(s->target)].id)) != lent.end()) ++taken;
    return wanted > free.size() + lent.size() - taken;
  };
  const auto nodes_of = [&](const Side& s) {
    return s.target >= 0 ? list[static_cast<u32>(s.target)].extra
                         : 1 + std::max(below[static_cast<u32>(s.child.low)].extra, below[static_cast<u32>(s.child.high)].extra);
  };
  inside_.assign(m, 1);
  const Side whole = side(inside_.data(), m, list, below, near_all_, far_all_, room);  // all rows to one new child
  if (whole.target < 0 && whole.cost < best && nodes_of(whole) <= room) {
    const Node idle = passing(0);
    if (idle.used()) {
      best = whole.cost;
      found.low = found.high = whole;
      found.idle = idle;
    }
  }
  for (const u32 j : columns) {
    if (budget <= 0 || !running()) break;
    const Local::Column& column = local_.columns[j];
    const int* const ranks = local_.ranks.data() + column.begin;
    ends.clear();
    if (column.few) {
      if (column.count > 0 && column.count < m) ends.push_back({column.few_high ? m - column.count : column.count, 0});
    } else {
      for (u32 i = 0; i + 1 < column.count; ++i)
        if (ranks[i] != ranks[i + 1]) ends.push_back({i + 1, ranks[i]});
    }
    if (ends.empty()) continue;
    struct Range {
      u32 from, to;  // places in `ends`, `to` excluded
      V low, high;   // what the low side of all cuts and the high side of all cuts costs at least
    };
    std::vector<Range> ranges{{0, static_cast<u32>(ends.size()), 0, 0}};
    while (!ranges.empty() && budget > 0 && running()) {
      const Range range = ranges.back();
      ranges.pop_back();
      if (range.from >= range.to || range.low + range.high >= best) continue;
      const u32 middle = range.from + (range.to - range.from) / 2;
      const Cut& here = ends[middle];
      const int* const given = table_.column(static_cast<int>(j));
      for (u32 k = 0; k < m; ++k) inside_[k] = given[local_.members[k]] <= here.cut;
      near_.totals(local_, inside_.data(), near_low_);
      far_.totals(local_, inside_.data(), far_low_);
      const Side low = side(inside_.data(), here.count, list, below, near_low_, far_low_, room);
      budget -= price;
      if (low.cost + range.high >= best) {  // so are all higher cuts
        ranges.push_back({range.from, middle, range.low, range.high});
        continue;
      }
      for (u32 i = 0; i < m; ++i) inside_[i] = !inside_[i];
      rest(near_all_, near_low_, near_high_);
      rest(far_all_, far_low_, far_high_);
      const Side high = side(inside_.data(), m - here.count, list, below, near_high_, far_high_, room);
      budget -= price;
      if (low.cost + high.cost < best && !conflict(low, high) && nodes_of(low) + nodes_of(high) <= room) {
        best = low.cost + high.cost;
        found = {static_cast<int>(j), here.cut, low, high, {}};
      }
      ranges.push_back({middle + 1, range.to, low.cost, range.high});
      ranges.push_back({range.from, middle, range.low, high.cost});
    }
  }
  const auto made_of = [&](const Side& s) -> Node {
    return {s.child.column, s.child.cut, below[static_cast<u32>(s.child.low)].id, below[static_cast<u32>(s.child.high)].id};
  };
  if (found.idle.used()) {
    const u32 child = free.empty() ? lent.front() : free.front();
    shape.nodes[child] = made_of(found.low);
    value(shape, child);
    Node& node = shape.nodes[slot];
    node = found.idle;
    if (node.low >= 0) node.low = static_cast<int>(child);
    if (node.high >= 0) node.high = static_cast<int>(child);
    return true;
  }
  if (found.column < 0) return false;
  Node node{found.column, found.cut, 0, 0};
  for (const Side* s : {&found.low, &found.high})
    if (s->target >= 0) (s == &found.low ? node.low : node.high) = list[static_cast<u32>(s->target)].id;
  free.insert(free.end(), lent.begin(), lent.end());
  std::size_t next = 0;
  std::vector<u32> made;
  for (const Side* s : {&found.low, &found.high}) {
    if (s->target >= 0) continue;
    while (static_cast<int>(free[next]) == node.low || static_cast<int>(free[next]) == node.high) ++next;
    const u32 child = free[next];
    (s == &found.low ? node.low : node.high) = static_cast<int>(child);
    shape.nodes[child] = made_of(*s);
    made.push_back(child);
    ++next;
  }
  for (const u32 child : made) value(shape, child);
  shape.nodes[slot] = node;
  return true;
}

template class Descent<float>;
template class Descent<double>;

}  // namespace proofwood::skeleton
