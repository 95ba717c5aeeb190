#include "born_again/search.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "common/mix.hpp"

namespace proofwood::born_again {

namespace {
std::size_t at(int i) { return static_cast<std::size_t>(i); }
}  // namespace

std::size_t Search::Hash::operator()(int box) const {
  u64 hash = 0;
  const u64* set = search->set(box);
  for (std::size_t w = 0; w < search->left_.words(); ++w) hash = mix(hash ^ set[w]);
  return hash;
}

bool Search::Same::operator()(int a, int b) const {
  return std::equal(search->set(a), search->set(a) + search->left_.words(), search->set(b));
}

Search::Search(const Restrictions& left, Rules rules, Ask ask)
    : left_(left), rules_(rules), ask_(std::move(ask)), index_(1024, Hash{this}, Same{this}), part_(left.words()) {
  const std::vector<u64> whole = left.whole();
  box_of(whole.data(), -1);
}

// --------------------------------------------------------------------------------------------------------------- boxes

int Search::box_of(const u64* given, int parent) {
  const int candidate = static_cast<int>(boxes_.size());
  sets_.insert(sets_.end(), given, given + left_.words());  // so that it can be looked up
  const auto found = index_.find(candidate);
  if (found != index_.end()) {
    sets_.resize(sets_.size() - left_.words());
    return *found;
  }
  boxes_.push_back({.parent = parent, .splits = {}, .columns = {}});
  index_.insert(candidate);
  return candidate;
}

int Search::side(int box, std::size_t split, bool high) {
  Split& asked = boxes_[at(box)].splits[split];
  const int known = high ? asked.high : asked.low;
  if (known >= 0) return known;
  left_.restrict(set(box), asked.variable, high, part_.data());
  const int made = box_of(part_.data(), box);
  Split& again = boxes_[at(box)].splits[split];  // boxes may have moved
  (high ? again.high : again.low) = made;
  return made;
}

// The class of all its rows, `kImpossible` without any, or `kMixed`.
int Search::judge(int box) {
  if (boxes_[at(box)].label != kUnjudged) return boxes_[at(box)].label;
  if (watch_->over()) return kUnjudged;
  int label = left_.verdict(set(box));
  if (label == Restrictions::kDoubt) label = ask_(left_.row(set(box)));
  if (label == Restrictions::kOpen) {
    const int variable = left_.undecided(set(box));
    if (variable < 0) throw std::logic_error("nothing is undecided in an open box");
    std::vector<u64> part(left_.words());
    label = Restrictions::kImpossible;
    for (const bool high : {false, true}) {
      left_.restrict(set(box), variable, high, part.data());
      const int found = judge(box_of(part.data(), box));
      if (found == kUnjudged) return kUnjudged;
      if (found == Restrictions::kImpossible) continue;
      label = label == Restrictions::kImpossible || label == found ? found : kMixed;
      if (label == kMixed) break;
    }
  }
  boxes_[at(box)].label = label;
  return label;
}

// Tests that leave less on both sides. What they are is among those of any box around it. Not done if time is over.
void Search::open(int box) {
  if (boxes_[at(box)].open) return;
  int around = boxes_[at(box)].parent;
  while (around >= 0 && !boxes_[at(around)].open) around = boxes_[at(around)].parent;
  std::vector<Split> splits;
  const int all = left_.size(set(box));
  const auto consider = [&](int variable) {
    if (watch_->over()) return;
    left_.restrict(set(box), variable, false, part_.data());
    const int low = left_.size(part_.data());
    if (low == all) return;
    left_.restrict(set(box), variable, true, part_.data());
    const int high = left_.size(part_.data());
    if (high != all) splits.push_back({.variable = variable, .size = low + high});
  };
  if (around < 0)
    for (int v = 0; v < left_.n_variables(); ++v) consider(v);
  else
    for (const Split& split : boxes_[at(around)].splits) consider(split.variable);
  if (watch_->over()) return;
  std::vector<std::pair<int, int>> columns;
  std::vector<std::pair<int, std::pair<int, int>>> ranked;
  for (int begin = 0; begin < static_cast<int>(splits.size());) {
    int end = begin, least = kInfinite;
    const int column = left_.column_of(splits[at(begin)].variable);
    for (; end < static_cast<int>(splits.size()) && left_.column_of(splits[at(end)].variable) == column; ++end)
      least = std::min(least, splits[at(end)].size);
    ranked.push_back({least, {begin, end}});
    begin = end;
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [least, range] : ranked) columns.push_back(range);
  Box& made = boxes_[at(box)];
  made.splits = std::move(splits);
  made.columns = std::move(columns);
  made.open = true;
  ++expanded_;
}

Search::Known& Search::known(int box, int depth) {
  const std::size_t layer = depth < 0 ? 0 : at(depth) + 1;
  if (known_.size() <= layer) known_.resize(layer + 1);
  auto& of = known_[layer];
  if (of.size() <= at(box)) of.resize(std::max(boxes_.size(), at(box) + 1));
  return of[at(box)];
}

Search::Known& Search::known_depth(int box) {
  if (known_depth_.size() <= at(box)) known_depth_.resize(std::max(boxes_.size(), at(box) + 1), {.lower = 0});
  return known_depth_[at(box)];
}

int Search::lower(int box, int depth) {
  const int label = boxes_[at(box)].label;
  if (label != kMixed && label != kUnjudged) return 1;
  if (depth >= 0 && known_depth(box).lower > depth) return kInfinite;
  return std::max(known(box, depth).lower, label == kMixed ? 2 : 1);
}

// ------------------------------------------------------------------------------------------------ a first, greedy tree

// Leaves of a tree of the box that splits where least is left over; `kInfinite` if it is too deep or time is over.
int Search::greedy(int box, int depth) {
  const int label = judge(box);
  if (label == kUnjudged) return kInfinite;
  if (label != kMixed) return 1;
  if (known(box, depth).upper < kInfinite) return known(box, depth).upper;
  if (depth == 0) return kInfinite;
  open(box);
  if (watch_->over()) return kInfinite;
  std::size_t best = 0;
  const auto& splits = boxes_[at(box)].splits;
  for (std::size_t s = 1; s < splits.size(); ++s)
    if (splits[s].size < splits[best].size) best = s;
  const int below = depth < 0 ? -1 : depth - 1;
  const int low = greedy(side(box, best, false), below);
  if (low >= kInfinite) return kInfinite;
  const int high = greedy(side(box, best, true), below);
  if (high >= kInfinite) return kInfinite;
  Known& now = known(box, depth);
  if (low + high < now.upper) {
    now.upper = low + high;
    now.split = static_cast<int>(best);
  }
  return now.upper;
}

// --------------------------------------------------------------------------------------------------------------- depth

// Whether a test of a column leaves trees of depth `limit - 1` on both sides; it is kept then.
// From left to right the low sides grow and the high sides shrink, so that a test in the middle tells which way to go.
bool Search::column_of_depth(int box, std::pair<int, int> column, int limit) {
  int begin = column.first, end = column.second;
  while (begin < end) {
    const int middle = begin + (end - begin) / 2;
    const int low = side(box, at(middle), false), high = side(box, at(middle), true);
    const int below = shallowest(low, limit - 1);
    if (watch_->over()) return false;
    if (below > limit - 1) {
      if (!rules_.monotone) {
        if (column_of_depth(box, {begin, middle}, limit)) return true;
        begin = middle + 1;
        continue;
      }
      end = middle;
      continue;
    }
    const int above = shallowest(high, limit - 1);
    if (watch_->over()) return false;
    if (above <= limit - 1) {
      Known& now = known_depth(box);
      now.upper = std::min(now.upper, limit);
      now.split = middle;
      return true;
    }
    if (!rules_.monotone && column_of_depth(box, {begin, middle}, limit)) return true;
    begin = middle + 1;
  }
  return false;
}

// The least depth of a tree of the box if it is `limit` at most, else something above `limit`.
int Search::shallowest(int box, int limit) {
  const int label = judge(box);
  if (label == kUnjudged) return kInfinite;
  if (label != kMixed) return 0;
  if (known_depth(box).lower == 0) known_depth(box).lower = 1;
  while (true) {
    const Known now = known_depth(box);
    if (now.lower > limit || now.lower >= now.upper) return now.lower;
    open(box);
    if (watch_->over()) return kInfinite;
    bool found = false;
    for (std::size_t c = 0; c < boxes_[at(box)].columns.size() && !found; ++c) {
      found = column_of_depth(box, boxes_[at(box)].columns[c], now.lower);
      if (watch_->over()) return kInfinite;
    }
    if (found) return now.lower;
    known_depth(box).lower = now.lower + 1;
  }
}

// -------------------------------------------------------------------------------------------------------------- leaves

// Looks for a tree of fewer than `best` leaves that begins with a test. What is proved about the two sides goes into
// `sides`, which holds bounds on them before. False if time is over.
bool Search::weigh(int box, int depth, int split, Sides& sides, int& best) {
  const int below = depth < 0 ? -1 : depth - 1;
  const int low = side(box, at(split), false), high = side(box, at(split), true);
  sides = {std::max(sides.low, lower(low, below)), std::max(sides.high, lower(high, below))};
  const bool low_first = left_.size(set(low)) <= left_.size(set(high));
  for (const bool is_low : {low_first, !low_first}) {
    if (sides.low + sides.high >= best) return true;
    int& mine = is_low ? sides.low : sides.high;
    const int other = is_low ? sides.high : sides.low;
    mine = std::max(mine, fewest(is_low ? low : high, below, best - 1 - other));
    if (watch_->over()) return false;
  }
  if (sides.low + sides.high >= best) return true;
  best = sides.low + sides.high;
  known(box, depth).upper = best;
  known(box, depth).split = split;
  if (box == 0 && depth == root_depth_) leaves_->offer(best, 0);
  return true;
}

// Looks for a tree of fewer than `best` leaves that begins with a test of a column. False if time is over.
// Of two tests, the low side of the left one is part of that of the right one, and the high sides the other way round.
bool Search::column_of_leaves(int box, int depth, std::pair<int, int> column, int& best) {
  struct Interval {
    int begin, end;
    Sides sides;  // bounds for all its tests
  };
  std::vector<Interval> intervals{{column.first, column.second, {}}};
  while (!intervals.empty()) {
    const Interval now = intervals.back();
    intervals.pop_back();
    if (now.begin >= now.end || now.sides.low + now.sides.high >= best) continue;
    const auto& splits = boxes_[at(box)].splits;
    int chosen = now.begin + (now.end - now.begin) / 2;
    for (int s = now.begin; s < now.end; ++s)
      if (splits[at(s)].size < splits[at(chosen)].size) chosen = s;
    Sides proved = now.sides;
    if (!weigh(box, depth, chosen, proved, best)) return false;
    if (!rules_.monotone) proved = {};
    intervals.push_back({now.begin, chosen, {now.sides.low, std::max(now.sides.high, proved.high)}});
    intervals.push_back({chosen + 1, now.end, {std::max(now.sides.low, proved.low), now.sides.high}});
  }
  return true;
}

// The fewest leaves of a tree of the box of at most this depth if they are `limit` at most, else something above it.
// Where time is over the answer means nothing.
int Search::fewest(int box, int depth, int limit) {
  const int label = judge(box);
  if (label == kUnjudged) return kInfinite;
  if (label != kMixed) return 1;
  if (depth >= 0 && shallowest(box, depth) > depth) return kInfinite;
  const int before = lower(box, depth);
  known(box, depth).lower = before;
  if (before > limit || before >= known(box, depth).upper) return before;
  open(box);
  if (watch_->over()) return kInfinite;
  int best = std::min(limit + 1, known(box, depth).upper);
  for (std::size_t c = 0; c < boxes_[at(box)].columns.size() && best > before; ++c)
    if (!column_of_leaves(box, depth, boxes_[at(box)].columns[c], best)) return kInfinite;
  Known& done = known(box, depth);
  done.lower = std::max(done.lower, std::min(limit + 1, done.upper));
  return done.lower;
}

// What no tree of the box undercuts, by what is known about the parts that its tests make.
int Search::bound(int box, int depth, int levels) {
  const int known_before = lower(box, depth);
  if (levels == 0 || known_before <= 1 || !boxes_[at(box)].open || known_before >= known(box, depth).upper)
    return known_before;
  const int below = depth < 0 ? -1 : depth - 1;
  int least = kInfinite;
  for (const auto& [begin, end] : boxes_[at(box)].columns) {
    std::vector<int> highs;
    int high = 1, low = 1;
    for (int s = end - 1; s >= begin; --s) {
      const int part = boxes_[at(box)].splits[at(s)].high;
      if (part >= 0) high = std::max(high, bound(part, below, levels - 1));
      highs.push_back(high);
    }
    for (int s = begin; s < end; ++s) {
      const int part = boxes_[at(box)].splits[at(s)].low;
      if (part >= 0) low = std::max(low, bound(part, below, levels - 1));
      least = std::min(least, low + highs[at(end - 1 - s)]);
    }
  }
  Known& now = known(box, depth);
  now.lower = std::max(now.lower, std::min(least, now.upper));
  return std::max(now.lower, known_before);
}

// Leaves of a tree of at most this depth: that of the least depth, where no other is known.
int Search::adopt(int box, int depth) {
  if (boxes_[at(box)].label != kMixed) return 1;
  if (known(box, depth).upper < kInfinite) return known(box, depth).upper;
  const int split = known_depth(box).split;
  if (split < 0 || known_depth(box).upper > depth) throw std::logic_error("a box has no tree of this depth");
  const int low = adopt(side(box, at(split), false), depth - 1);
  const int leaves = low + adopt(side(box, at(split), true), depth - 1);
  known(box, depth).upper = leaves;
  known(box, depth).split = split;
  return leaves;
}

// ----------------------------------------------------------------------------------------------------------------- run

bool Search::run(Watch& watch, Run& depth, Run& leaves) {
  watch_ = &watch;
  leaves_ = &leaves;
  root_depth_ = rules_.max_depth;
  if (judge(0) == kUnjudged) return false;
  if (boxes_[0].label != kMixed) {
    depth.update(0, 0, 0);
    leaves.update(1, 0, 1);
    return true;
  }
  if (rules_.greedy) {
    const int first = greedy(0, root_depth_);
    if (first < kInfinite && !rules_.fewest_depth) leaves.offer(first, 0);
  }
  if (rules_.fewest_depth) {
    for (int limit = 1;; ++limit) {
      if (rules_.max_depth >= 0 && limit > rules_.max_depth) return true;  // as `depth` says
      const int found = shallowest(0, limit);
      if (watch.over()) return false;
      if (found <= limit) {
        root_depth_ = found;
        depth.update(found, 0, found);
        greedy(0, root_depth_);
        leaves.offer(adopt(0, root_depth_), 0);
        break;
      }
      depth.prove(limit + 1);
    }
  } else if (root_depth_ >= 0) {
    const int found = shallowest(0, root_depth_);
    if (watch.over()) return false;
    if (found > root_depth_) {
      depth.prove(found);
      return true;
    }
    leaves.offer(adopt(0, root_depth_), 0);
  }
  fewest(0, root_depth_, kInfinite - 1);
  const Known& root = known(0, root_depth_);
  if (watch.over() && (root.upper >= kInfinite || root.lower < root.upper)) {
    if (rules_.monotone) {
      int best = bound(0, root_depth_, 3);
      if (root_depth_ < 0)  // a tree of the whole is one of each part
        for (const Known& part : known_[0]) best = std::max(best, std::min(part.lower, part.upper));
      leaves.prove(best);
    }
    return false;
  }
  leaves.prove(root.lower);
  return true;
}

Search::Tree Search::tree() const {
  Tree tree;
  const std::size_t layer = root_depth_ < 0 ? 0 : at(root_depth_) + 1;
  const bool known = known_.size() > layer && !known_[layer].empty() && known_[layer][0].upper < kInfinite;
  if (known || (boxes_[0].label != kMixed && boxes_[0].label != kUnjudged)) append(tree, 0, root_depth_);
  return tree;
}

int Search::append(Tree& tree, int box, int depth) const {
  const int node = static_cast<int>(tree.variable.size());
  const Box& of = boxes_[at(box)];
  tree.variable.push_back(-1);
  tree.low.push_back(-1);
  tree.high.push_back(-1);
  tree.label.push_back(std::max(of.label, 0));
  if (of.label != kMixed) return node;
  const std::size_t layer = depth < 0 ? 0 : at(depth) + 1;
  const int split = known_.at(layer).at(at(box)).split;
  if (split < 0) throw std::logic_error("a box of the best tree has no split");
  const Split& chosen = of.splits[at(split)];
  tree.variable[at(node)] = chosen.variable;
  const int low = append(tree, chosen.low, depth < 0 ? -1 : depth - 1);
  tree.low[at(node)] = low;
  const int high = append(tree, chosen.high, depth < 0 ? -1 : depth - 1);
  tree.high[at(node)] = high;
  return node;
}

}  // namespace proofwood::born_again
