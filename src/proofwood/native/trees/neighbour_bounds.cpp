// Bounds between neighbouring subproblems (docs/theory/optimal-trees.md, "Bounds between neighbouring subproblems";
// measured in docs/decisions/0003-bounds-between-neighbours.md). The paper's neighbourhood pruning is in
// interval_queue.cpp.
#include "trees/neighbour_bounds.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "trees/subproblem.hpp"

namespace proofwood::trees {

namespace {

constexpr int kHandedOn = 1;  // bounds of a subproblem pass on to this many neighbours in turn: one bit holds it

template <class Value>
void strengthen(PointOf<Value>& point, const Value& low_side, const Value& high_side, const Value& total, int age) {
  raise(point.low_side, low_side);
  raise(point.high_side, high_side);
  raise(point.total, total);
  point.age = std::min(point.age, age);
}

// Collects the open parts of a feature, from low to high. Parts that touch form one interval: a cost found in its
// middle prunes on both sides, where the remains of old bounds would each need an evaluation.
template <class Value>
class OpenParts {
 public:
  OpenParts(IntervalQueueOf<Value>& queue, int begin, const Value& limit)
      : queue_(queue), limit_(limit), closed_below_(begin), group_below_(begin), seen_at_(begin) {}

  // A closed point between two parts is above the one and below the other; without one they are neighbours.
  void extend(const Interval& part) {
    if (any_ && (seen_at_ == closed_below_ || part.first == group_.last + 1)) {
      seen_at_ = closed_below_;
      group_.last = part.last;
      group_.bound = std::min(group_.bound, part.bound);
      return;
    }
    flush(closed_below_);
    group_ = part;
    group_below_ = seen_at_ = closed_below_;
    any_ = true;
  }
  void close_at(int point) { closed_below_ = point; }
  void flush(int above) {
    if (!any_) return;
    group_.below = group_below_;
    group_.above = above;
    queue_.add(group_, limit_);
    any_ = false;
  }

 private:
  IntervalQueueOf<Value>& queue_;
  const Value& limit_;
  Interval group_{};
  bool any_ = false;
  int closed_below_;  // nearest closed point so far
  int group_below_, seen_at_;
};

}  // namespace

template <class Value>
KnownSplitsPtrOf<Value> known_splits(const SubproblemOf<Value>& subproblem) {
  auto known = std::make_shared<KnownSplitsOf<Value>>();
  const Rows& rows = *subproblem.rows;
  const auto& points = subproblem.queue.points;
  known->n = rows.n;
  if constexpr (kOneNumber<Value>) known->shift = KeptBound<Value>::shift_of(rows.leaf);
  known->level_bounds = subproblem.level_bounds;
  std::vector<u32> count(rows.n_features + 1, 0);
  const auto wanted = [&](const PointOf<Value>& p) {
    return p.position != 0 && p.position != rows.n && (p.evaluated || p.age <= kHandedOn);
  };
  for (const auto& p : points)
    if (wanted(p)) ++count[p.feature + 1];
  std::partial_sum(count.begin(), count.end(), count.begin());
  known->start = count;
  known->entries.resize(count.back(), typename KnownSplitsOf<Value>::Entry{0, 0, 0, {{}, 0}, {{}, 0}, {{}, 0}});
  for (const auto& p : points) {
    if (!wanted(p)) continue;
    const auto kept = [&](const Value& bound) { return KeptBound<Value>(bound, known->shift); };
    known->entries[count[p.feature]++] = {rows.key(p.feature)[p.position - 1],
                                          p.position,
                                          p.evaluated ? 0 : static_cast<u32>(p.age),
                                          kept(p.low_side),
                                          kept(p.high_side),
                                          kept(p.total)};
  }
  for (u32 f = 0; f < rows.n_features; ++f)
    std::sort(known->entries.begin() + known->start[f], known->entries.begin() + known->start[f + 1],
              [](const auto& a, const auto& b) { return a.position < b.position; });
  return known;
}

// ------------------------------------------------------------------ points

template <class Value>
i64 NeighbourBoundsOf<Value>::place_points(Subproblem& subproblem, const NeighboursOf<Value>& neighbours,
                                           const Prices& prices, bool use_neighbours,
                                           const std::vector<Point>& recorded) {
  auto& points = subproblem.queue.points;
  const Rows& rows = *subproblem.rows;
  i64 imported = 0;
  first_point_.clear();
  auto own = recorded.begin();
  const Value none = same<Value>(0, subproblem.depth - 1);
  for (u32 f = 0; f < rows.n_features; ++f) {
    first_point_.push_back(static_cast<int>(points.size()));
    merged_.clear();
    for (; own != recorded.end() && own->feature == f; ++own) merged_.push_back(*own);
    if (use_neighbours && !subproblem.queue.repeats(f))
      for (const Neighbour& neighbour : neighbours) import_feature(rows, f, neighbour, prices.leaf);
    // along the feature the low side only grows, the high side only shrinks
    for (std::size_t i = 1; i < merged_.size(); ++i) raise(merged_[i].low_side, merged_[i - 1].low_side);
    for (std::size_t i = merged_.size(); i-- > 1;) raise(merged_[i - 1].high_side, merged_[i].high_side);
    const Value apart = join(none, none, prices.leaf);
    points.push_back({.feature = f, .position = 0, .low_side = none, .high_side = none, .total = apart});
    for (Point& point : merged_) {
      raise(point.total, join(point.low_side, point.high_side, prices.leaf));
      points.push_back(point);
    }
    subproblem.ends.emplace_back(first_point_.back(), static_cast<int>(points.size()));
    points.push_back({.feature = f, .position = rows.n, .low_side = none, .high_side = none, .total = apart});
    imported += static_cast<i64>(merged_.size());
  }
  first_point_.push_back(static_cast<int>(points.size()));
  return imported;
}

// Adds what a neighbour knows of a feature to what another one knew.
template <class Value>
void NeighbourBoundsOf<Value>::import_feature(const Rows& rows, u32 feature, const Neighbour& neighbour,
                                              i64 leaf_price) {
  if (neighbour.known == nullptr || neighbour.known->start.empty()) return;
  const std::size_t old = merged_.size();
  import_entries(rows, feature, neighbour, leaf_price);
  if (old == 0 || merged_.size() == old) return;
  std::inplace_merge(merged_.begin(), merged_.begin() + static_cast<std::ptrdiff_t>(old), merged_.end(),
                     [](const Point& a, const Point& b) { return a.position < b.position; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < merged_.size(); ++i) {
    const Point& next = merged_[i];
    if (next.position == merged_[kept].position)
      strengthen(merged_[kept], next.low_side, next.high_side, next.total, next.age);
    else
      merged_[++kept] = next;
  }
  merged_.resize(kept + 1);
}

// Appends the neighbour's points, by their positions among our rows.
template <class Value>
void NeighbourBoundsOf<Value>::import_entries(const Rows& rows, u32 feature, const Neighbour& neighbour,
                                              i64 leaf_price) {
  const KnownSplitsOf<Value>& known = *neighbour.known;
  const u32 differ = neighbour.subset ? rows.n - known.n : known.n - rows.n;
  const std::size_t old = merged_.size();
  u32 from = 0;
  for (u32 e = known.start[feature]; e < known.start[feature + 1]; ++e) {
    const auto& entry = known.entries[e];
    // the rows that only one of the two has bound how far the position can have moved
    const u32 least = neighbour.subset ? entry.position : entry.position - std::min(differ, entry.position);
    const u32 most = std::min(rows.n, neighbour.subset ? entry.position + differ : entry.position);
    const u32 position = rows.position_of(feature, entry.key, std::max(from, least), most);
    from = position;
    if (position == 0) continue;
    if (position == rows.n) break;
    Value low_side = less(entry.low_side.bound(known.shift), neighbour.removed);
    Value high_side = less(entry.high_side.bound(known.shift), neighbour.removed);
    raise(low_side, same<Value>(0, 0));
    raise(high_side, same<Value>(0, 0));
    Value total = less(entry.total.bound(known.shift), neighbour.removed);
    raise(total, join(low_side, high_side, leaf_price));
    const int age = static_cast<int>(entry.age) + 1;
    if (merged_.size() > old && merged_.back().position == position)
      strengthen(merged_.back(), low_side, high_side, total, age);
    else
      merged_.push_back({.feature = feature,
                         .position = position,
                         .low_side = low_side,
                         .high_side = high_side,
                         .total = total,
                         .age = age});
  }
}

// ------------------------------------------------------------------ intervals

template <class Value>
void NeighbourBoundsOf<Value>::open_intervals(Subproblem& subproblem) {
  const Value limit = subproblem.cutoff();
  for (std::size_t f = 0; f + 1 < first_point_.size(); ++f)
    if (!subproblem.queue.repeats(static_cast<u32>(f)))
      open_feature(subproblem.queue, first_point_[f], first_point_[f + 1], limit);
}

template <class Value>
void NeighbourBoundsOf<Value>::open_feature(IntervalQueueOf<Value>& queue, int begin, int end, const Value& limit) {
  OpenParts<Value> parts(queue, begin, limit);
  for (int at = begin; at + 1 < end; ++at) {
    Interval part;
    if (queue.between(at, at + 1, limit, part)) parts.extend(part);
    if (at + 2 == end) break;
    const Point& point = queue.points[at + 1];
    if (is_open(point.total, limit) && !point.evaluated) {
      parts.extend({key_of(point.total, limit), point.feature, point.position, point.position, 0, 0,
                    queue.rank_of(point.feature)});
    } else {
      if (!is_open(point.total, limit)) lower_to(queue.least_pruned, point.total);
      parts.close_at(at + 1);
    }
  }
  parts.flush(end - 1);
}

template class NeighbourBoundsOf<i64>;
template class NeighbourBoundsOf<Leaves>;
template class NeighbourBoundsOf<FewLeaves>;
template KnownSplitsPtr known_splits(const SubproblemOf<i64>& subproblem);
template KnownSplitsPtrOf<Leaves> known_splits(const SubproblemOf<Leaves>& subproblem);
template KnownSplitsPtrOf<FewLeaves> known_splits(const SubproblemOf<FewLeaves>& subproblem);

}  // namespace proofwood::trees
