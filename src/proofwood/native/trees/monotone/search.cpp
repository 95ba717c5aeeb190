// The search for trees whose class follows the direction of columns (docs/theory/optimal-trees.md, "Monotone columns").
#include "trees/monotone/search.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace proofwood::trees::monotone {

namespace {

TreePtr leaf_tree(bool one) {
  static const TreePtr leaves[2] = {std::make_shared<Tree>(Tree{}), std::make_shared<Tree>(Tree{true, 0, 0, {}, {}})};
  return leaves[one ? 1 : 0];
}

void add_leaves(const Tree& tree, const Box& box, std::vector<Leaf>& leaves) {
  if (!tree.low) return leaves.push_back({box, tree.one});
  Box low = box, high = box;
  low[tree.feature].until = high[tree.feature].from = tree.cut;
  add_leaves(*tree.low, low, leaves);
  add_leaves(*tree.high, high, leaves);
}

// One level deeper while it lives: its sides are another's no longer.
class Deeper {
 public:
  explicit Deeper(std::size_t& level) : level_(level) { ++level_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
  ~Deeper() { --level_; }

 private:
  std::size_t& level_;
};

u32 rank_at(const Rows& rows, u32 feature, u32 position) { return rows.key(feature)[position] >> kLabelBits; }

}  // namespace

MonotoneSearch::MonotoneSearch(Table table, const Settings& settings, const MonotoneRules& rules,
                               std::vector<int> directions, i64 known, std::atomic<int>& stop,
                               MonotoneRun::Clock::time_point started)
    : table_(std::move(table)),
      settings_(SplitLists::for_bounds(settings)),
      rules_(rules),
      order_(std::move(directions)),
      lists_(table_, settings_, stop, started),
      run_(settings.start_upper, stop, started),
      known_(known) {
  root_.start(table_, settings_.isa);
}

// Depth after depth: trees of less depth are permitted, and found sooner.
void MonotoneSearch::run() {
  const bool one = leaf_cost(root_, true) < leaf_cost(root_, false);
  run_.offer(leaf_cost(root_, one), leaf_tree(one));
  run_.prove(known_);
  for (int depth = std::min(1, settings_.max_depth); depth <= settings_.max_depth && !stopped(); ++depth)
    search_depth(depth);
}

// What is asked for rises: the condition costs little as a rule, and all splits with less than that are few.
void MonotoneSearch::search_depth(int depth) {
  const bool last = depth == settings_.max_depth;
  Box box(table_.n_features);
  for (u32 f = 0; f < table_.n_features; ++f) box[f] = {0, table_.rank[f].n_values()};
  i64 lower = last && known_ > 0 ? known_ : bound(root_, depth, run_.upper());
  i64 step = std::max<i64>(1, settings_.prices.error * (root_.counts.weight / std::max<i64>(1, root_.n)));
  while (!stopped()) {
    if (last) run_.prove(lower);
    if (lower >= run_.upper() - (last ? settings_.gap : 0)) return;
    const i64 below = std::min(run_.upper(), lower + step);
    const Answer found = best({root_, box, depth}, below, {});
    if (stopped()) {
      if (found.tree) run_.offer(found.cost, found.tree);
      return;
    }
    if (found.tree) run_.update(found.cost, found.tree, last ? found.cost : 0);
    lower = found.tree ? found.cost : below;
    step *= 2;
  }
}

// ------------------------------------------------------------------ bounds and splits of a set of rows

void MonotoneSearch::weigh_classes(const Rows& rows, u32 feature) {
  const u32* const order = rows.order(feature);
  for (const bool one : {false, true}) before_[one].assign(std::size_t{rows.n} + 1, 0);
  for (u32 i = 0; i < rows.n; ++i) {
    const u32 r = rows.row(order[i]);
    const bool is_one = table_.label[r] != 0;
    before_[is_one][i + 1] = before_[is_one][i] + table_.weight[r];
    before_[!is_one][i + 1] = before_[!is_one][i];
  }
}

// A cut beside the end of a known leaf is never better than one at that end: ranges that meet do not overlap.
std::vector<u32> MonotoneSearch::cuts(u32 feature, u32 first, u32 last, const std::vector<Leaf>& leaves) const {
  std::vector<u32> found;
  for (const Leaf& leaf : leaves)
    for (const u32 end : {leaf.box[feature].from, leaf.box[feature].until})
      if (end >= first && end <= last) found.push_back(end);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// ------------------------------------------------------------------ the best tree among fixed leaves

MonotoneSearch::Answer MonotoneSearch::best(const Place& place, i64 below, const std::vector<Leaf>& outside) {
  ++n_solved_;
  if (stopped() || below <= 0) return {below, nullptr};
  std::vector<Leaf> near;
  for (const Leaf& leaf : outside)
    if (order_.clash(place.box, !leaf.one, leaf.box)) near.push_back(leaf);
  const bool remembered = rules_.memory && place.depth > 0;
  const SplitLists::Key key = SplitLists::key_of(place.rows, place.depth);
  if (remembered) {
    if (const auto known = memory_.find(key); known != memory_.end()) {
      const Known& of = known->second;
      if (of.lower >= below) return {below, nullptr};
      if (near.empty() && of.best.tree) return of.best;
    }
  }
  if (place.depth >= 2 && &place.rows != &root_ && bound(place.rows, place.depth, below) >= below)
    return {below, nullptr};
  Answer answer = best_among(place, below, near);
  if (remembered && near.empty() && !stopped() && SplitLists::may_keep(memory_.size())) {
    Known& known = memory_[key];
    known.lower = std::max(known.lower, answer.cost);
    if (answer.tree) known.best = answer;
  }
  return answer;
}

MonotoneSearch::Answer MonotoneSearch::best_among(const Place& place, i64 below, const std::vector<Leaf>& near) {
  Answer best{below, nullptr};
  for (const bool one : {false, true}) {
    const i64 cost = leaf_cost(place.rows, one);
    if (cost < best.cost && order_.fits(place.box, one, near)) best = {cost, leaf_tree(one)};
  }
  if (place.depth == 0 || place.rows.n < 2 || !settings_.minimum.may_split(place.rows.counts)) return best;
  if (place.depth == 1) return best_stump(place, std::move(best), near);
  const i64 price = settings_.prices.leaf;
  const SplitLists::List found = lists_.of(place.rows, place.depth, best.cost);
  for (const Split& split : *found) {
    if (stopped() || split.low + split.high + price >= best.cost) break;
    try_split(place, split, near, best);
  }
  return best;
}

// Which cuts of a feature the fixed leaves leave to a pair of leaves: the side below the cut ends at `most` at the
// latest, the side above it begins at `least` at the earliest.
MonotoneSearch::Answer MonotoneSearch::best_stump(const Place& place, Answer best, const std::vector<Leaf>& near) {
  Rows& rows = place.rows;
  const Prices& prices = settings_.prices;
  for (u32 f = 0; f < rows.n_features && !stopped(); ++f) {
    weigh_classes(rows, f);
    for (const bool low_is_one : {false, true}) {
      if (order_.direction(f) == (low_is_one ? 1 : -1)) continue;
      u32 least = 0, most = ~0u;
      for (const Leaf& leaf : near) {
        const bool restricts_low = leaf.one != low_is_one;  // the side of the other class
        const bool is_one = !leaf.one;
        const Range &own = place.box[f], &its = leaf.box[f];
        const int direction = order_.direction(f);
        if (restricts_low) {
          if (direction == 0)
            most = std::min(most, std::max(own.from, its.from));
          else if (is_one == (direction < 0))  // its end at the cut is the one that counts
            most = std::min(most, its.from);
          else
            most = 0;
        } else {
          if (direction == 0)
            least = std::max(least, std::min(own.until, its.until));
          else if (is_one == (direction > 0))
            least = std::max(least, its.until);
          else
            most = 0;
        }
      }
      for (u32 position = 1; position < rows.n && least <= most; ++position) {
        if (!rows.is_boundary(f, position)) continue;
        const i64 wrong =
            before_[!low_is_one][position] + (before_[low_is_one][rows.n] - before_[low_is_one][position]);
        const i64 cost = prices.error * wrong + prices.leaf;
        if (cost >= best.cost) continue;
        const u32 first = rank_at(rows, f, position - 1) + 1, last = rank_at(rows, f, position);
        const u32 cut = std::max(first, least);
        if (cut > std::min(last, most) || !lists_.may_split_at(rows, f, position)) continue;
        best = {cost, std::make_shared<Tree>(Tree{false, f, cut, leaf_tree(low_is_one), leaf_tree(!low_is_one)})};
      }
    }
  }
  return best;
}

void MonotoneSearch::try_split(const Place& place, const Split& split, const std::vector<Leaf>& near, Answer& best) {
  const u32 f = split.feature, first = rank_at(place.rows, f, split.position - 1) + 1,
            last = rank_at(place.rows, f, split.position);
  Sides& parts = sides();
  const Deeper deeper(level_);
  if (!place.rows.split(table_, f, split.position, parts.low, parts.high, scratch_, lists_.stop())) return;
  std::vector<u32> possible = cuts(f, first, last, near);
  if (possible.empty()) possible.push_back(first);
  for (const u32 cut : possible) {
    Box low = place.box, high = place.box;
    low[f].until = high[f].from = cut;
    const Place below{parts.low, low, place.depth - 1}, above{parts.high, high, place.depth - 1};
    if (order_.direction(f) == 0)
      try_free(below, above, split, cut, near, best);
    else
      try_ordered(below, above, split, cut, near, best);
  }
}

void MonotoneSearch::try_free(const Place& low, const Place& high, const Split& split, u32 cut,
                              const std::vector<Leaf>& near, Answer& best) {
  const i64 left = best.cost - settings_.prices.leaf;
  const Answer of_low = this->best(low, left - split.high, near);
  if (!of_low.tree) return;
  const Answer of_high = this->best(high, left - of_low.cost, near);
  if (!of_high.tree) return;
  const i64 cost = of_low.cost + of_high.cost + settings_.prices.leaf;
  if (cost < best.cost)
    best = {cost, std::make_shared<Tree>(Tree{false, split.feature, cut, of_low.tree, of_high.tree})};
}

void MonotoneSearch::try_ordered(const Place& low, const Place& high, const Split& split, u32 cut,
                                 const std::vector<Leaf>& near, Answer& best) {
  const i64 price = settings_.prices.leaf;
  const bool rising = order_.direction(split.feature) > 0;
  Pair pair{rising ? low : high,
            rising ? high : low,
            rising ? split.low : split.high,
            rising ? split.high : split.low,
            split.feature,
            cut,
            rising};
  if (rules_.alone) {
    const Answer upper = this->best(pair.upper, best.cost - price - pair.lower_bound, near);
    if (!upper.tree) return;
    const Answer lower = this->best(pair.lower, best.cost - price - upper.cost, near);
    if (!lower.tree) return;
    pair.lower_bound = lower.cost;
    pair.upper_bound = upper.cost;
    if (lower.cost + upper.cost + price >= best.cost) return;
    std::vector<Leaf> of_lower, of_upper;
    add_leaves(*lower.tree, pair.lower.box, of_lower);
    add_leaves(*upper.tree, pair.upper.box, of_upper);
    if (std::all_of(of_lower.begin(), of_lower.end(),
                    [&](const Leaf& leaf) { return !leaf.one || order_.fits(leaf.box, true, of_upper); })) {
      best = {lower.cost + upper.cost + price, pair.joined(lower.tree, upper.tree)};
      return;
    }
  }
  try_one_class(pair, near, best);
  if (pair.lower_bound + pair.upper_bound + price < best.cost) enumerate(pair, near, best);
}

// The lower side without class one, or the upper side without class zero: the other side is free of it.
void MonotoneSearch::try_one_class(const Pair& pair, const std::vector<Leaf>& near, Answer& best) {
  const i64 price = settings_.prices.leaf;
  for (const bool one : {false, true}) {
    const Place &side = one ? pair.upper : pair.lower, &other = one ? pair.lower : pair.upper;
    const i64 cost = leaf_cost(side.rows, one) + price;
    if (cost + (one ? pair.lower_bound : pair.upper_bound) >= best.cost || !order_.fits(side.box, one, near)) continue;
    const Answer rest = this->best(other, best.cost - cost, near);
    if (!rest.tree || cost + rest.cost >= best.cost) continue;
    best = {cost + rest.cost, one ? pair.joined(rest.tree, leaf_tree(true)) : pair.joined(leaf_tree(false), rest.tree)};
  }
}

// ------------------------------------------------------------------ the trees of one side

void MonotoneSearch::enumerate(const Pair& pair, const std::vector<Leaf>& near, Answer& best) {
  const i64 price = settings_.prices.leaf;
  const i64 room[2] = {leaf_cost(pair.lower.rows, false) - pair.lower_bound,
                       leaf_cost(pair.upper.rows, true) - pair.upper_bound};
  const bool of_lower = room[0] <= room[1];
  const Place &side = of_lower ? pair.lower : pair.upper, &other = of_lower ? pair.upper : pair.lower;
  const i64 rest = (of_lower ? pair.upper_bound : pair.lower_bound) + price;
  i64 below = best.cost;
  if (order_.fits(side.box, !of_lower, near))  // a leaf that forbids nothing is better than a dearer tree
    below = std::min(below, leaf_cost(side.rows, !of_lower) + rest);
  std::vector<Leaf> fixed = near;
  struct Kept {
    i64 cost;
    std::vector<Leaf> forbidding;
  };
  std::vector<Kept> kept;
  Enumeration in{of_lower, below, fixed};
  each(side, 0, rest, in, [&](i64 cost, const TreePtr& tree) {
    if (stopped()) return;
    std::vector<Leaf> forbidding;
    for (std::size_t i = near.size(); i < fixed.size(); ++i) {
      if (fixed[i].one != of_lower || !order_.clash(other.box, !of_lower, fixed[i].box)) continue;
      forbidding.push_back(fixed[i]);
      for (u32 f = 0; f < other.box.size(); ++f) {  // what is outside of the other side does not count
        Range& range = forbidding.back().box[f];
        range = {std::max(range.from, other.box[f].from), std::min(range.until, other.box[f].until)};
      }
    }
    const auto forbids_less = [&](const Kept& known) {
      return known.cost <= cost && std::all_of(known.forbidding.begin(), known.forbidding.end(), [&](const Leaf& leaf) {
               return std::any_of(forbidding.begin(), forbidding.end(),
                                  [&](const Leaf& its) { return order_.forbids_less(leaf, its, pair.feature); });
             });
    };
    if (rules_.dominance && std::any_of(kept.begin(), kept.end(), forbids_less)) return;
    const Answer found = this->best(other, best.cost - price - cost, fixed);
    if (stopped()) return;
    if (found.tree && cost + found.cost + price < best.cost) {
      best = {cost + found.cost + price, of_lower ? pair.joined(tree, found.tree) : pair.joined(found.tree, tree)};
      below = std::min(below, best.cost);
    }
    kept.push_back({cost, std::move(forbidding)});
  });
}

// Calls `next` with every tree of the place that may be part of a useful one, its leaves among the fixed ones.
void MonotoneSearch::each(const Place& place, i64 spent, i64 rest, Enumeration& in, const Next& next) {
  if (stopped()) return;
  ++n_enumerated_;
  if (place.depth >= 2 && spent + rest + bound(place.rows, place.depth, in.below - spent - rest) >= in.below) return;
  for (const bool one : {false, true}) {
    const i64 cost = spent + leaf_cost(place.rows, one);
    if (cost + rest >= in.below || !order_.fits(place.box, one, in.fixed)) continue;
    in.fixed.push_back({place.box, one});
    next(cost, leaf_tree(one));
    in.fixed.pop_back();
  }
  if (place.depth == 0 || place.rows.n < 2 || !settings_.minimum.may_split(place.rows.counts)) return;
  if (place.depth == 1) return each_stump(place, spent, rest, in, next);
  const SplitLists::List found = lists_.of(place.rows, place.depth, in.below - spent - rest);
  for (const Split& split : *found) {
    if (stopped() || spent + rest + split.low + split.high + settings_.prices.leaf >= in.below) break;
    each_split(place, split, spent, rest, in, next);
  }
}

// Of a cut on a monotone column, the end of its range at which the leaves of the side forbid least counts beside the
// ends of fixed leaves; those of a free column all count.
void MonotoneSearch::each_split(const Place& place, const Split& split, i64 spent, i64 rest, Enumeration& in,
                                const Next& next) {
  const u32 f = split.feature, first = rank_at(place.rows, f, split.position - 1) + 1,
            last = rank_at(place.rows, f, split.position);
  const i64 price = settings_.prices.leaf;
  const int direction = order_.direction(f);
  const bool low_first = direction == 0 || in.lower == (direction > 0);
  Sides& parts = sides();
  const Deeper deeper(level_);
  if (!place.rows.split(table_, f, split.position, parts.low, parts.high, scratch_, lists_.stop())) return;
  std::vector<u32> possible;
  if (direction == 0) {
    for (u32 cut = first; cut <= last; ++cut) possible.push_back(cut);
  } else {
    possible = cuts(f, first, last, in.fixed);
    const u32 end = low_first ? last : first;
    if (std::find(possible.begin(), possible.end(), end) == possible.end()) possible.push_back(end);
  }
  for (const u32 cut : possible) {
    Box low = place.box, high = place.box;
    low[f].until = high[f].from = cut;
    const Place below{parts.low, low, place.depth - 1}, above{parts.high, high, place.depth - 1};
    const Place &one = low_first ? below : above, &two = low_first ? above : below;
    each(one, spent, rest + price + (low_first ? split.high : split.low), in, [&](i64 cost, const TreePtr& of_one) {
      each(two, cost + price, rest, in, [&](i64 both, const TreePtr& of_two) {
        if (!of_one->low && !of_two->low && of_one->one == of_two->one) return;  // two leaves alike are one
        next(both,
             std::make_shared<Tree>(Tree{false, f, cut, low_first ? of_one : of_two, low_first ? of_two : of_one}));
      });
    });
  }
}

// The same of splits into two leaves, whose costs one walk over the rows tells.
void MonotoneSearch::each_stump(const Place& place, i64 spent, i64 rest, Enumeration& in, const Next& next) {
  const i64 price = settings_.prices.leaf;
  const auto least = [&](const Split& s) {
    const int direction = order_.direction(s.feature);
    return direction == 0 ? std::min(s.low, s.high) : direction > 0 ? s.low : s.high;
  };
  std::vector<Split> found;
  for (u32 f = 0; f < place.rows.n_features && !stopped(); ++f) {
    weigh_classes(place.rows, f);
    const u32 n = place.rows.n;
    for (u32 position = 1; position < n; ++position) {
      if (!place.rows.is_boundary(f, position)) continue;
      const i64 zeros = before_[0][position], ones = before_[1][position];
      const i64 falling = settings_.prices.error * (zeros + before_[1][n] - ones);  // one below, zero above
      const i64 rising = settings_.prices.error * (ones + before_[0][n] - zeros);
      const Split split{f, position, rising, falling};
      if (spent + rest + price + least(split) < in.below && lists_.may_split_at(place.rows, f, position))
        found.push_back(split);
    }
  }
  std::sort(found.begin(), found.end(), [&](const Split& a, const Split& b) {
    return std::tuple(least(a), a.feature, a.position) < std::tuple(least(b), b.feature, b.position);
  });
  for (const Split& split : found) {
    if (stopped() || spent + rest + price + least(split) >= in.below) break;
    const u32 f = split.feature, first = rank_at(place.rows, f, split.position - 1) + 1,
              last = rank_at(place.rows, f, split.position);
    const int direction = order_.direction(f);
    std::vector<u32> possible;
    if (direction == 0) {
      for (u32 cut = first; cut <= last; ++cut) possible.push_back(cut);
    } else {
      possible = cuts(f, first, last, in.fixed);
      const u32 end = in.lower == (direction > 0) ? last : first;
      if (std::find(possible.begin(), possible.end(), end) == possible.end()) possible.push_back(end);
    }
    for (const u32 cut : possible) {
      Box low = place.box, high = place.box;
      low[f].until = high[f].from = cut;
      for (const bool low_is_one : {false, true}) {
        if (direction == (low_is_one ? 1 : -1)) continue;
        const i64 cost = spent + price + (low_is_one ? split.high : split.low);
        if (cost + rest >= in.below || !order_.fits(low, low_is_one, in.fixed) ||
            !order_.fits(high, !low_is_one, in.fixed))
          continue;
        in.fixed.push_back({low, low_is_one});
        in.fixed.push_back({high, !low_is_one});
        next(cost, std::make_shared<Tree>(Tree{false, f, cut, leaf_tree(low_is_one), leaf_tree(!low_is_one)}));
        in.fixed.pop_back();
        in.fixed.pop_back();
      }
    }
  }
}

// ------------------------------------------------------------------ the answer

std::vector<MonotoneNode> MonotoneSearch::tree() const {
  std::vector<MonotoneNode> nodes;
  const std::function<void(const Tree&)> write = [&](const Tree& tree) {
    const std::size_t at = nodes.size();
    nodes.push_back({{-1, 0, -1, -1, {}}, tree.one});
    if (!tree.low) return;
    nodes[at].node = {
        static_cast<int>(table_.column[tree.feature]), table_.value(tree.feature, tree.cut - 1), -1, -1, {}};
    nodes[at].node.low = static_cast<int>(nodes.size());
    write(*tree.low);
    nodes[at].node.high = static_cast<int>(nodes.size());
    write(*tree.high);
  };
  if (const TreePtr answer = run_.answer()) write(*answer);
  return nodes;
}

}  // namespace proofwood::trees::monotone
