// Least errors of trees with capped numbers of inner children.
//
// Theory: docs/theory/layered-diagrams.md, "Univariate: layers".
#include "diagram/capped_trees.hpp"

#include <bit>
#include <limits>

#include "common/memory.hpp"

namespace proofwood::diagram::layers {

namespace {

constexpr i64 kAnyBudget = std::numeric_limits<i64>::max() / 4;
constexpr std::size_t kCacheBytes = std::size_t{128} << 20;  // of one number of layers
constexpr std::size_t kListedCuts = std::size_t{1} << 20;    // of all parts with a list

}  // namespace

CapTable::CapTable(u32 layers) : nodes(caps_of(layers), 0), shorter(caps_of(layers), 0) {
  for (std::size_t number = 1; number < nodes.size(); ++number) {
    const std::size_t below = caps_below(number);
    nodes[number] = nodes[below] + first_cap(number);
    shorter[number] = below == 0 ? 0 : 2 * shorter[below] + first_cap(number);
  }
}

std::size_t ErrorCache::place(Key key) const {
  std::size_t at = key.b & (keys_.size() - 1);
  while (!(keys_[at] == Key{}) && !(keys_[at] == key)) at = (at + 1) & (keys_.size() - 1);
  return at;
}

bool ErrorCache::find(Key key, i64 budget, Errors& out) const {
  if (size_ == 0) return false;
  const std::size_t at = place(key);
  if (keys_[at] == Key{} || budgets_[at] < budget) return false;
  const i32* const known = errors_.data() + at * step_;
  out.assign(known, known + step_);
  return true;
}

void ErrorCache::grow() {
  const std::size_t entry = sizeof(Key) + sizeof(i64) + step_ * sizeof(i32);
  if (memory_is_short() || 2 * keys_.size() * entry > kCacheBytes) {  // begins anew
    std::fill(keys_.begin(), keys_.end(), Key{});
    size_ = 0;
    return;
  }
  ErrorCache larger(static_cast<u32>(std::bit_width(step_ + 1)) - 2);
  const std::size_t places = std::max<std::size_t>(1024, 2 * keys_.size());
  larger.keys_.resize(places);
  larger.budgets_.resize(places);
  larger.errors_.resize(places * step_);
  for (std::size_t at = 0; at < keys_.size(); ++at) {
    if (keys_[at] == Key{}) continue;
    const std::size_t to = larger.place(keys_[at]);
    larger.keys_[to] = keys_[at];
    larger.budgets_[to] = budgets_[at];
    std::copy_n(errors_.begin() + static_cast<std::ptrdiff_t>(at * step_), step_,
                larger.errors_.begin() + static_cast<std::ptrdiff_t>(to * step_));
  }
  larger.size_ = size_;
  *this = std::move(larger);
}

void ErrorCache::keep(Key key, i64 budget, const Errors& errors) {
  if (4 * size_ >= 3 * keys_.size()) grow();
  if (keys_.empty()) return;
  const std::size_t at = place(key);
  if (keys_[at] == Key{}) ++size_;
  keys_[at] = key;
  budgets_[at] = budget;
  std::copy(errors.begin(), errors.end(), errors_.begin() + static_cast<std::ptrdiff_t>(at * step_));
}

CappedTrees::CappedTrees(const Groups& groups, u32 layers, i64 error_price, i64 node_price, bool ranges,
                         const std::atomic<int>& stop)
    : counter_(groups, stop), caps_(layers), error_price_(error_price), node_price_(node_price), ranges_(ranges) {
  for (u32 l = 0; l <= layers; ++l) caches_.emplace_back(l);
  std::size_t cuts = 1;
  for (const u32 of_column : groups.cuts) cuts += std::min(of_column, groups.n);
  listed_.resize(std::bit_floor(std::clamp<std::size_t>(kListedCuts / cuts, 16, 4096)));
}

void CappedTrees::join(i32 leaf_low, const Errors& low, i32 leaf_high, const Errors& high, Errors& out) {
  out[0] = leaf_low + leaf_high;
  for (std::size_t below = 0; 2 * below + 2 < out.size(); ++below) {
    out[2 * below + 1] = std::min(low[below] + leaf_high, leaf_low + high[below]);
    out[2 * below + 2] = low[below] + high[below];
  }
}

CappedTrees::Level& CappedTrees::open_level() {
  if (depth_ == levels_.size()) levels_.push_back(std::make_unique<Level>());
  return *levels_[depth_++];
}

const CappedTrees::Listed& CappedTrees::listed(const Part& part) {
  Listed& known = listed_[part.key.a & (listed_.size() - 1)];
  if (known.key == part.key) return known;
  known.key = Key{};  // until it is whole
  Level& level = open_level();
  const Closing closing{depth_};
  ++counted_;
  counter_.sort(part, level.sorted);
  known.cuts.clear();
  counter_.two_levels(
      level.sorted, 0, [](const Cut&, i32, i32) { return true; },
      [&](u32 q, i32 low, i32 high) { known.cuts.push_back({level.sorted.cuts[q], low, high}); });
  known.key = part.key;
  return known;
}

void CappedTrees::errors(const Part& part, u32 layers, i64 budget, Errors& out) {
  ErrorCache& cache = caches_[layers];
  if (cache.find(part.key, budget, out)) {
    for (std::size_t number = caps_of(1); number < out.size(); ++number)
      out[number] = std::min(out[number], beyond(number, budget));
    return;
  }
  const i32 leaf = counter_.leaf(part);
  if (leaf == counter_.least(part)) {
    out.assign(caps_of(layers), leaf);
    return;
  }
  if (layers == 0) {
    out.assign(1, counter_.split(part));
    budget = kAnyBudget;
  } else if (layers == 1) {
    out.assign(3, leaf);
    two_layers(part, out);
    budget = kAnyBudget;
  } else {
    deepen(part, layers, budget, out);
  }
  cache.keep(part.key, budget, out);
}

// No, one and two children that are nodes: `out` begins with the errors of one class.
void CappedTrees::two_layers(const Part& part, Errors& out) {
  Level& level = open_level();
  const Closing closing{depth_};
  ++counted_;
  counter_.sort(part, level.sorted);
  for (const Cut& cut : level.sorted.cuts) out[0] = std::min(out[0], cut.leaf_low + cut.leaf_high);
  out[1] = out[2] = out[0];
  counter_.two_levels(
      level.sorted, out[0],
      [&](const Cut& cut, i32 low, i32 high) {
        return !ranges_ || low + high < out[2] || low + cut.leaf_high < out[1] || cut.leaf_low + high < out[1];
      },
      [&](u32 q, i32 low, i32 high) {
        const Cut& cut = level.sorted.cuts[q];
        out[1] = std::min({out[1], low + cut.leaf_high, cut.leaf_low + high});
        out[2] = std::min(out[2], low + high);
      });
}

i32 CappedTrees::beyond(std::size_t number, i64 budget) const {
  const i64 left = budget - node_price_ * caps_.nodes[number];
  return left < 0 ? 0 : static_cast<i32>(std::min<i64>(left / error_price_ + 1, kNoLimit));
}

// From the errors of one layer less: a node may pass all rows on, more is permitted by a higher cap and by one more.
void CappedTrees::deepen(const Part& part, u32 layers, i64 budget, Errors& out) {
  errors(part, layers - 1, budget, out);
  const std::size_t begin = out.size();
  out.resize(caps_of(layers));
  bool open = false;
  const i32 least = counter_.least(part);
  for (std::size_t number = begin; number < out.size(); ++number) {
    i32 most = std::min(out[caps_below(number)], out[caps_.shorter[number]]);
    if (first_cap(number) == 2) most = std::min(most, out[number - 1]);
    out[number] = std::min(most, beyond(number, budget));
    open = open || out[number] > least;
  }
  if (!open) return;
  const Errors uncut(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(begin));
  scan(
      part, layers, budget, uncut,
      [&](const Errors& bound) {
        for (std::size_t number = begin; number < out.size(); ++number)
          if (bound[number] < out[number]) return true;
        return false;
      },
      [&](const Cut&, const Errors& found) {
        for (std::size_t number = begin; number < out.size(); ++number)
          out[number] = std::min(out[number], found[number]);
      });
}

// The ranges of all columns, from the cut that has nothing below to the one that has nothing above.
void CappedTrees::open_ranges(const Part& part, u32 layers, const Errors& uncut, Level& level) {
  const Sorted& sorted = level.sorted;
  const std::size_t n = caps_of(layers - 1);
  level.sides.resize(2);
  for (Side& side : level.sides) {
    side = {};
    side.low.assign(n, 0);
    side.high.assign(n, 0);
  }
  Side &nothing = level.sides[0], &all = level.sides[1];
  all.weight_low = counter_.weight(part);
  if (ranges_) {
    std::copy_n(uncut.begin(), n, nothing.high.begin());
    std::copy_n(uncut.begin(), n, all.low.begin());
    nothing.leaf_high = all.leaf_low = counter_.leaf(part);
  }
  level.ranges.clear();
  for (u32 c = 0; c + 1 < sorted.first.size(); ++c)
    if (sorted.first[c] < sorted.first[c + 1]) level.ranges.push_back({sorted.first[c], sorted.first[c + 1], 0, 1});
}

// Errors only grow with the rows, and by no more than their weight: so the sides of every cut between two that are
// counted have as many as the smaller side there, and as many as the larger one less the weight between.
void CappedTrees::bound_range(Level& level, const Range& range, u32 layers) const {
  const Side &left = level.sides[range.left], &right = level.sides[range.right];
  const std::vector<Cut>& cuts = level.sorted.cuts;
  const i32 lacks = right.weight_low - cuts[range.first].weight_low;     // a low side, of the one at the right
  const i32 exceeds = cuts[range.end - 1].weight_low - left.weight_low;  // likewise a high side
  const std::size_t n = caps_of(layers - 1);
  level.low.resize(n);
  level.high.resize(n);
  for (std::size_t number = 0; number < n; ++number) {
    level.low[number] = std::max(left.low[number], right.low[number] - lacks);
    level.high[number] = std::max(right.high[number], left.high[number] - exceeds);
  }
  join(std::max(left.leaf_low, right.leaf_low - lacks), level.low, std::max(right.leaf_high, left.leaf_high - exceeds),
       level.high, level.bound);
}

u32 CappedTrees::count_middle(const Part& part, u32 layers, i64 budget, Level& level, const Range& range) {
  const std::vector<Cut>& cuts = level.sorted.cuts;
  const i32 half = (cuts[range.first].weight_low + cuts[range.end - 1].weight_low) / 2;
  const auto from = cuts.begin() + range.first, to = cuts.begin() + range.end - 1;
  const auto at = std::lower_bound(from, to, half, [](const Cut& cut, i32 w) { return cut.weight_low < w; });
  const u32 middle = static_cast<u32>(at - cuts.begin());
  const Cut& cut = *at;
  Side side;
  side.leaf_low = cut.leaf_low;
  side.leaf_high = cut.leaf_high;
  side.weight_low = cut.weight_low;
  // The last number permits most, so no errors of a side are below it.
  const i64 left = budget - node_price_;
  errors(level.sorted.low(cut), layers - 1, left - error_price_ * std::min(cut.leaf_high, level.high.back()), side.low);
  errors(level.sorted.high(cut, part.key), layers - 1, left - error_price_ * side.low.back(), side.high);
  join(side.leaf_low, side.low, side.leaf_high, side.high, level.bound);
  if (!ranges_) {  // every cut by itself: bounds of the neighbours say nothing
    std::fill(side.low.begin(), side.low.end(), 0);
    std::fill(side.high.begin(), side.high.end(), 0);
    side.leaf_low = side.leaf_high = 0;
  }
  const std::size_t place = level.sides.size();
  level.sides.push_back(std::move(side));
  if (range.first < middle) level.ranges.push_back({range.first, middle, range.left, place});
  if (middle + 1 < range.end) level.ranges.push_back({middle + 1, range.end, place, range.right});
  return middle;
}

}  // namespace proofwood::diagram::layers
