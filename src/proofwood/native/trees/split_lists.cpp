// All splits of a set of rows below which trees may cost less than a limit.
#include "trees/split_lists.hpp"

#include <algorithm>
#include <tuple>

namespace proofwood::trees {

namespace {

constexpr i64 kAllBelow = -(i64{1} << 61);  // a gap with which all splits below the limit stay wanted

}  // namespace

Settings SplitLists::for_bounds(Settings settings) {
  settings.canonical = false;
  settings.rules.affordable = false;  // its trees of less depth say nothing of single splits
  settings.start_upper = kInfinite;
  return settings;
}

SplitLists::List SplitLists::of(Rows& rows, int depth, i64 below) {
  const Key key = key_of(rows, depth);
  if (const auto known = known_.find(key); known != known_.end() && known->second.below >= below)
    return known->second.splits;
  auto splits = std::make_shared<std::vector<Split>>(rows.leaf == 0 ? all(rows) : found(rows, depth, below));
  std::sort(splits->begin(), splits->end(), [](const Split& a, const Split& b) {
    return std::tuple(a.low + a.high, a.feature, a.position) < std::tuple(b.low + b.high, b.feature, b.position);
  });
  if (!shared_.stopped() && may_keep(known_.size())) known_[key] = {below, splits};
  return splits;
}

// Of rows of one class: they cost nothing without conditions.
std::vector<Split> SplitLists::all(Rows& rows) {
  std::vector<Split> splits;
  for (u32 f = 0; f < rows.n_features && !shared_.stopped(); ++f)
    for (u32 position = 1; position < rows.n; ++position)
      if (rows.is_boundary(f, position) && may_split_at(rows, f, position)) splits.push_back({f, position, 0, 0});
  return splits;
}

// The search without conditions, in which all splits that may cost less than `below` stay wanted.
std::vector<Split> SplitLists::found(Rows& rows, int depth, i64 below) {
  if (depth == 2) {
    solver_.solve_depth_two(rows, {.limit = below, .gap = kAllBelow}, false);
  } else {
    const Solution shallow = solver_.solve(rows, depth - 1, {.limit = below});
    Subproblem& subproblem = solver_.begin(rows, depth, below, kAllBelow);
    solver_.open(subproblem);
    subproblem.set_base(shallow.relaxed, shared_.settings.prices.leaf);
    Candidate candidate;
    Evaluated evaluated;
    while (!shared_.stopped() && subproblem.take(candidate)) {
      solver_.evaluate(rows, depth, candidate, 0, evaluated);
      subproblem.record(candidate, evaluated);
    }
  }
  std::vector<Split> splits;
  for (const Point& point : solver_.level(depth).subproblem.queue.points)
    if (point.evaluated && point.position > 0 && point.position < rows.n && point.total < below &&
        may_split_at(rows, point.feature, point.position))
      splits.push_back({point.feature, point.position, point.low_side, point.high_side});
  return splits;
}

}  // namespace proofwood::trees
