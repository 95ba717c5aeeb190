#include "trees/search.hpp"

#include <numeric>
#include <stdexcept>

#include "common/memory.hpp"
#include "common/threads.hpp"

namespace proofwood::trees {

const char* const kCounterNames[kCounters] = {"subproblems", "cache_hits", "batches", "depth_two_splits",
                                              "root_splits", "imported_bounds", "stumps", "canonical_splits",
                                              "affordable"};

namespace {

constexpr std::size_t kCacheEntries = 2'000'000;
constexpr int kHandedOn = 1;      // bounds of a subproblem pass on to this many neighbours in turn
constexpr double kDeepEta = 1.0;  // Settings::eta of sides deeper than two
constexpr std::size_t kCachedProfiles = 1'000;

PlanPtr leaf_plan() {
  static const PlanPtr leaf = std::make_shared<Plan>();
  return leaf;
}

PlanPtr stump_plan() {
  static const PlanPtr stump = std::make_shared<Plan>(Plan{Plan::kStump, 0, 0, nullptr, nullptr});
  return stump;
}

PlanPtr split_plan(u32 feature, u32 key, PlanPtr low, PlanPtr high) {
  return std::make_shared<Plan>(Plan{Plan::kSplit, feature, key, std::move(low), std::move(high)});
}

}  // namespace

// One threshold to evaluate, with copies of what it needs from its node: other workers change the node meanwhile.
struct Search::Task {
  Interval interval;
  u32 position = 0;
  Point below, above;
  ProfilePtr below_low, below_high, above_low, above_high;
  i64 limit = 0;  // cheaper trees are looked for
  i64 upper = 0;  // cheaper trees are kept
};

struct Search::Outcome {
  Point point;
  i64 lower = 0;  // of permitted trees with this split
  PlanPtr plan;
  ProfilePtr low, high;
  bool stopped = false;
};

// A node of the search tree: rows, depth, what is open and what was found.
struct Search::Node {
  Rows* rows = nullptr;
  int depth = 0;
  Front front;
  i64 limit = kInfinite;  // only trees cheaper than this are wanted
  i64 gap = 0;
  i64 upper = kInfinite;
  PlanPtr plan;
  i64 evaluated_lower = kInfinite, evaluated_relaxed = kInfinite;
  std::vector<ProfilePtr> profiles;
  std::vector<Interval> busy;  // being evaluated by a worker
  std::vector<std::pair<int, int>> ends;  // per feature: the points at positions 0 and n

  i64 threshold() const { return std::min(limit, upper - gap); }
  i64 open_bound() const {
    i64 bound = front.open_bound();
    for (const auto& interval : busy) bound = std::min(bound, interval.bound);
    return bound;
  }
  i64 lower(i64 leaf) const {
    return std::max<i64>(0, std::min({leaf, front.closed, open_bound(), evaluated_lower}));
  }
  i64 relaxed(i64 leaf) const {
    return std::max<i64>(0, std::min({leaf, front.closed, open_bound(), evaluated_relaxed}));
  }
  void offer(i64 cost, PlanPtr tree) {
    if (cost < upper) {
      upper = cost;
      plan = std::move(tree);
    }
  }
};

namespace {

// A lower bound above the cost of a tree in hand would be a wrong bound: better no answer than that.
i64 checked_lower(const auto& node, i64 leaf) {
  const i64 lower = node.lower(leaf);
  if (lower > node.upper) throw std::logic_error("a lower bound exceeds the cost of a tree: please report this data");
  return lower;
}

}  // namespace

struct Search::Level {
  Node node;
  Rows low, high;
};

// Memory and methods of one thread.
struct Search::Worker : StumpBatch {
  Search& search;
  const Settings& settings;
  const Prices prices;
  std::vector<std::unique_ptr<Level>> levels;
  Buffer<u32> scratch;
  std::array<i64, kCounters> counters{};

  // depth-two routine
  std::vector<Interval> taken;
  std::vector<std::pair<std::size_t, std::size_t>> spans;  // lanes of each taken interval
  std::vector<u32> positions;
  std::vector<Point> merged;
  std::vector<int> seeds;
  std::vector<int> first_point;  // per feature: its first point, and one past the last

  explicit Worker(Search& s)
      : StumpBatch(s.table_, s.settings_.minimum, s.settings_.isa, s.settings_.lane_bits, s.stop_),
        search(s),
        settings(s.settings_),
        prices(s.settings_.prices) {
    for (int depth = 0; depth <= settings.max_depth; ++depth) levels.push_back(std::make_unique<Level>());
  }

  i64 leaf_cost(const Rows& rows) const { return prices.error * (rows.weight - rows.heaviest_class()); }

  bool may_split_at(Rows& rows, u32 feature, u32 position) const {
    if (!settings.minimum.any()) return true;
    const auto [count, mass] = rows.held_before(table, feature, position);
    return settings.minimum.met(count, mass) && settings.minimum.met(rows.count - count, rows.mass - mass);
  }

  Solved exact(i64 cost, PlanPtr plan) const {
    Solved solved;
    solved.upper = solved.lower = solved.relaxed = cost;
    solved.plan = std::move(plan);
    return solved;
  }

  // Best tree of the depth, if cheaper than `limit`; bounds in any case.
  Solved solve(Rows& rows, int depth, i64 limit, i64 gap, const std::array<Import, 2>& imports, bool want_profile) {
    ++counters[kSubproblems];
    const i64 leaf = leaf_cost(rows);
    if (leaf <= prices.leaf || depth == 0 || rows.n < 2) return exact(leaf, leaf_plan());
    if (!settings.minimum.may_split(rows)) {  // no permitted split; the relaxation stays unknown
      Solved solved = exact(leaf, leaf_plan());
      solved.relaxed = 0;
      return solved;
    }
    if (depth == 1) return solve_one(rows, leaf);

    const std::array<std::uint64_t, 3> key{rows.hash[0], rows.hash[1], static_cast<std::uint64_t>(depth)};
    Entry known{kInfinite, 0, 0, nullptr, nullptr};
    if (settings.rules.cache) {
      const std::lock_guard lock(search.cache_mutex_);
      const auto entry = search.cache_.find(key);
      if (entry != search.cache_.end()) {
        known = entry->second;
        if (known.lower >= limit || known.upper - gap <= known.lower) {
          ++counters[kCacheHits];
          Solved solved;
          solved.upper = known.upper;
          solved.lower = known.lower;
          solved.relaxed = known.relaxed;
          solved.plan = known.plan;
          solved.profile = known.profile;
          return solved;
        }
      }
    }
    if (settings.rules.affordable && prices.leaf > 0 && limit <= prices.leaf * depth) {
      const i64 splits = std::max<i64>(0, (limit - 1) / prices.leaf);
      Solved solved = solve(rows, static_cast<int>(splits), limit, gap, imports, want_profile);
      ++counters[kAffordable];
      bound_deeper(solved, splits + 1);
      if (known.upper < solved.upper) {
        solved.upper = known.upper;
        solved.plan = known.plan;
      }
      solved.lower = std::min(std::max(solved.lower, known.lower), solved.upper);
      solved.relaxed = std::min(std::max(solved.relaxed, known.relaxed), solved.upper);
      return solved;
    }
    Solved solved = depth == 2 && settings.rules.depth_two ? solve_two(rows, limit, gap, imports, want_profile, false)
                                                           : solve_deep(rows, depth, limit, gap, imports, want_profile);
    if (known.upper < solved.upper) {
      solved.upper = known.upper;
      solved.plan = known.plan;
    }
    solved.lower = std::min(std::max(solved.lower, known.lower), solved.upper);
    solved.relaxed = std::min(std::max(solved.relaxed, known.relaxed), solved.upper);
    if (settings.rules.cache && !solved.stopped) {
      const std::lock_guard lock(search.cache_mutex_);
      if (memory_is_short()) search.cache_.clear();
      const std::size_t size = search.cache_.size();
      if (size < kCacheEntries || search.cache_.contains(key))
        search.cache_[key] = {solved.upper, solved.lower, solved.relaxed, solved.plan,
                              size < kCachedProfiles ? solved.profile : nullptr};
    }
    return solved;
  }

  // Turns bounds of trees of depth `splits - 1` into bounds of deeper ones too, which have at least `splits` splits.
  void bound_deeper(Solved& solved, i64 splits) const {
    const i64 least = splits * prices.leaf;
    solved.lower = std::min(solved.lower, least);
    solved.relaxed = std::min(solved.relaxed, least);
    if (!solved.profile) return;
    auto profile = std::make_shared<Profile>(*solved.profile);
    for (Profile::Entry& entry : profile->entries) {  // a side of a deeper tree has one split less at least
      entry.low = std::min(entry.low, least - prices.leaf);
      entry.high = std::min(entry.high, least - prices.leaf);
      entry.total = std::min(entry.total, least);
    }
    solved.profile = std::move(profile);
  }

  Solved solve_one(const Rows& rows, i64 leaf) {
    ++counters[kStumps];
    const Stump stump = best_stump(table, rows, settings.minimum, stop);
    Solved solved = exact(leaf, leaf_plan());
    if (stump.right >= 0) {
      const i64 cost = prices.error * (rows.weight - stump.right) + prices.leaf;
      if (cost < leaf) {
        solved.upper = solved.lower = cost;
        solved.plan = split_plan(stump.feature, rows.key(stump.feature)[stump.position - 1], leaf_plan(), leaf_plan());
      }
    }
    solved.relaxed = leaf;
    if (stump.right_all >= 0)
      solved.relaxed = std::min(leaf, prices.error * (rows.weight - stump.right_all) + prices.leaf);
    solved.stopped = stopped();
    if (solved.stopped) solved.lower = solved.relaxed = 0;
    return solved;
  }

  // ------------------------------------------------------------------ front

  void begin_node(Node& node, Rows& rows, int depth, i64 limit, i64 gap) {
    node.rows = &rows;
    node.depth = depth;
    node.limit = limit;
    node.gap = gap;
    node.upper = leaf_cost(rows);
    node.plan = leaf_plan();
    node.evaluated_lower = node.evaluated_relaxed = kInfinite;
    node.profiles.clear();
    node.busy.clear();
    node.ends.clear();
    node.front.begin(table, rows, prices, settings.rules);
  }

  // Splitting off nothing leaves a tree of depth one less on all rows, whose cost is at least `base`.
  void set_base(Node& node, i64 base) const {
    for (const auto& [at_first, at_last] : node.ends) {
      Point& first = node.front.points[at_first];
      Point& last = node.front.points[at_last];
      first.high = std::max(first.high, base);
      last.low = std::max(last.low, base);
      first.total = last.total = base + prices.leaf;
    }
  }

  // Points at both ends of every feature and those known from neighbours between them.
  void place_points(Node& node, const std::array<Import, 2>& imports) {
    Front& front = node.front;
    Rows& rows = *node.rows;
    first_point.clear();
    for (u32 f = 0; f < rows.n_features; ++f) {
      first_point.push_back(static_cast<int>(front.points.size()));
      merged.clear();
      if (settings.rules.feature_bounds)
        for (const Import& import : imports) import_feature(rows, f, import);
      // along the feature the low side only grows, the high side only shrinks
      for (std::size_t i = 1; i < merged.size(); ++i) merged[i].low = std::max(merged[i].low, merged[i - 1].low);
      for (std::size_t i = merged.size(); i-- > 1;) merged[i - 1].high = std::max(merged[i - 1].high, merged[i].high);
      front.points.push_back({.feature = f, .position = 0, .total = prices.leaf});
      for (Point& point : merged) {
        point.total = std::max(point.total, point.low + point.high + prices.leaf);
        front.points.push_back(point);
      }
      node.ends.emplace_back(first_point.back(), static_cast<int>(front.points.size()));
      front.points.push_back({.feature = f, .position = rows.n, .total = prices.leaf});
      counters[kImported] += static_cast<i64>(merged.size());
    }
    first_point.push_back(static_cast<int>(front.points.size()));
  }

  // The intervals that the points leave open. Open parts that touch form one interval: a cost
  // found in its middle prunes on both sides, where the remains of old bounds would each need an evaluation.
  void open_intervals(Node& node) {
    Front& front = node.front;
    const i64 limit = node.threshold();
    for (std::size_t f = 0; f + 1 < first_point.size(); ++f) {
      const int begin = first_point[f], end = first_point[f + 1];
      Interval group{};
      bool any = false;
      int closed_below = begin;  // nearest closed point so far
      int group_below = begin, seen_at = begin;
      const auto flush = [&](int above) {
        if (!any) return;
        group.below = group_below;
        group.above = above;
        front.add(group, limit);
        any = false;
      };
      const auto extend = [&](const Interval& part) {
        // a closed point between two parts is above the one and below the other; without one they are neighbours
        if (any && (seen_at == closed_below || part.first == group.last + 1)) {
          seen_at = closed_below;
          group.last = part.last;
          group.bound = std::min(group.bound, part.bound);
          return;
        }
        flush(closed_below);
        group = part;
        group_below = seen_at = closed_below;
        any = true;
      };
      for (int at = begin; at + 1 < end; ++at) {
        Interval part;
        if (front.between(at, at + 1, limit, part)) extend(part);
        if (at + 2 == end) break;
        const Point& point = front.points[at + 1];
        if (point.total < limit && !point.evaluated) {
          extend({point.total, point.feature, point.position, point.position, 0, 0, front.rank_of(point.feature)});
        } else {
          if (point.total >= limit) front.closed = std::min(front.closed, point.total);
          closed_below = at + 1;
        }
      }
      flush(end - 1);
    }
  }

  void open_node(Node& node, const std::array<Import, 2>& imports) {
    place_points(node, imports);
    open_intervals(node);
  }

  void import_feature(const Rows& rows, u32 feature, const Import& import) {
    if (import.profile == nullptr) return;
    const Profile& profile = *import.profile;
    const u32 differ = import.subset ? rows.n - profile.n : profile.n - rows.n;
    const std::size_t old = merged.size();
    u32 from = 0;
    for (u32 e = profile.start[feature]; e < profile.start[feature + 1]; ++e) {
      const Profile::Entry& entry = profile.entries[e];
      // the rows that only one of the two has bound how far the position can have moved
      const u32 least = import.subset ? entry.position : entry.position - std::min(differ, entry.position);
      const u32 most = std::min(rows.n, import.subset ? entry.position + differ : entry.position);
      const u32 position = rows.position_of(feature, entry.key, std::max(from, least), most);
      from = position;
      if (position == 0) continue;
      if (position == rows.n) break;
      const i64 low = std::max<i64>(0, entry.low - import.removed), high = std::max<i64>(0, entry.high - import.removed);
      const i64 total = std::max(entry.total - import.removed, low + high + prices.leaf);
      const int age = entry.age + 1;
      if (merged.size() > old && merged.back().position == position) {
        Point& same = merged.back();
        same.low = std::max(same.low, low);
        same.high = std::max(same.high, high);
        same.total = std::max(same.total, total);
        same.age = std::min(same.age, age);
      } else {
        merged.push_back({.feature = feature, .position = position, .low = low, .high = high, .total = total, .age = age});
      }
    }
    if (old == 0 || merged.size() == old) return;
    std::inplace_merge(merged.begin(), merged.begin() + static_cast<std::ptrdiff_t>(old), merged.end(),
                       [](const Point& a, const Point& b) { return a.position < b.position; });
    std::size_t kept = 0;
    for (std::size_t i = 1; i < merged.size(); ++i) {
      if (merged[i].position == merged[kept].position) {
        merged[kept].low = std::max(merged[kept].low, merged[i].low);
        merged[kept].high = std::max(merged[kept].high, merged[i].high);
        merged[kept].total = std::max(merged[kept].total, merged[i].total);
        merged[kept].age = std::min(merged[kept].age, merged[i].age);
      } else {
        merged[++kept] = merged[i];
      }
    }
    merged.resize(kept + 1);
  }

  ProfilePtr make_profile(const Node& node) const {
    auto profile = std::make_shared<Profile>();
    const Rows& rows = *node.rows;
    const auto& points = node.front.points;
    profile->n = rows.n;
    std::vector<u32> count(rows.n_features + 1, 0);
    const auto wanted = [&](const Point& p) {
      return p.position != 0 && p.position != rows.n && (p.evaluated || p.age <= kHandedOn);
    };
    for (const Point& p : points)
      if (wanted(p)) ++count[p.feature + 1];
    std::partial_sum(count.begin(), count.end(), count.begin());
    profile->start = count;
    profile->entries.resize(count.back());
    for (const Point& p : points) {
      if (!wanted(p)) continue;
      const u32 key = rows.key(p.feature)[p.position - 1];
      profile->entries[count[p.feature]++] = {key, p.position, p.evaluated ? 0 : p.age, p.low, p.high, p.total};
    }
    for (u32 f = 0; f < rows.n_features; ++f)
      std::sort(profile->entries.begin() + profile->start[f], profile->entries.begin() + profile->start[f + 1],
                [](const auto& a, const auto& b) { return a.position < b.position; });
    return profile;
  }

  // -------------------------------------------------------------- depth two

  bool walk(Rows& rows) {
    ++counters[kBatches];
    counters[kCandidates] += static_cast<i64>(lanes.size());
    return run_batch(rows);
  }

  struct Side {
    i64 relaxed, cost;
    bool stump;
  };
  Side side_cost(const LaneResult& result, int side, i64 weight) const {
    const auto wrong = [&](i64 value) { return weight - (two ? (weight + value) / 2 : value); };
    const i64 leaf = prices.error * wrong(result.leaf[side]);
    const i64 stump_all = prices.error * wrong(result.stump_all[side]) + prices.leaf;
    i64 stump = stump_all;
    if (settings.minimum.any()) stump = result.stump[side] < 0 ? kInfinite : prices.error * wrong(result.stump[side]) + prices.leaf;
    return {std::min(leaf, stump_all), std::min(leaf, stump), stump < leaf};
  }

  void take_lane(Node& node, std::size_t l) {
    Rows& rows = *node.rows;
    const Lane& lane = lanes[l];
    const i64 weight = rows.weight_before(table, lane.feature, lane.position);
    const Side low = side_cost(found[l], 0, weight), high = side_cost(found[l], 1, rows.weight - weight);
    Point& point = node.front.points[lane.point];
    point.low = low.relaxed;
    point.high = high.relaxed;
    point.total = low.relaxed + high.relaxed + prices.leaf;
    point.evaluated = true;
    const bool permitted = may_split_at(rows, lane.feature, lane.position);
    point.upper = permitted ? low.cost + high.cost + prices.leaf : kInfinite;
    node.evaluated_relaxed = std::min(node.evaluated_relaxed, point.total);
    node.evaluated_lower = std::min(node.evaluated_lower, point.upper);
    if (point.upper < node.upper) {
      const u32 key = rows.key(lane.feature)[lane.position - 1];
      node.offer(point.upper, split_plan(lane.feature, key, low.stump ? stump_plan() : leaf_plan(),
                                         high.stump ? stump_plan() : leaf_plan()));
    }
  }

  // A first batch of what was best in the neighbours: the cheaper the tree, the fewer intervals are left open.
  // False if stopped.
  bool run_seeds(Node& node) {
    auto& points = node.front.points;
    seeds.clear();
    for (int at = 0; at < static_cast<int>(points.size()); ++at)
      if (points[at].position != 0 && points[at].position != node.rows->n && points[at].total < node.threshold()) seeds.push_back(at);
    const std::size_t room = std::min<std::size_t>(seeds.size(), static_cast<std::size_t>(kernels->lanes) - 1);
    std::partial_sort(seeds.begin(), seeds.begin() + static_cast<std::ptrdiff_t>(room), seeds.end(), [&](int a, int b) {
      return std::pair(points[a].total, a) < std::pair(points[b].total, b);
    });
    lanes.clear();
    for (std::size_t s = 0; s < room; ++s) lanes.push_back({points[seeds[s]].feature, points[seeds[s]].position, seeds[s]});
    lanes.push_back({0, node.rows->n, -1});
    if (!walk(*node.rows)) return false;
    set_base(node, side_cost(found.back(), 0, node.rows->weight).relaxed);
    for (std::size_t l = 0; l < room; ++l) take_lane(node, l);
    return true;
  }

  // Takes up to `room` open intervals that `wanted` accepts and gives each its share of the lanes. False if none is open.
  bool fill_lanes(Front& front, std::size_t room, i64 limit, const auto& wanted) {
    taken.clear();
    for (Interval interval; taken.size() < room && front.pop(interval, limit);)
      if (wanted(interval)) taken.push_back(interval);
    lanes.clear();
    spans.clear();
    if (taken.empty()) return false;
    const std::size_t each = room / taken.size();
    std::size_t spare = room - each * taken.size();
    for (const Interval& interval : taken) {
      const std::size_t begin = lanes.size();
      if (interval.below == interval.above) {
        lanes.push_back({interval.feature, interval.first, interval.below});
      } else {
        const std::size_t extra = spare > 0 ? 1 : 0;
        spare -= extra;
        front.choose(interval, static_cast<u32>(each + extra), positions);
        for (const u32 position : positions) {
          front.points.push_back({.feature = interval.feature, .position = position});
          lanes.push_back({interval.feature, position, static_cast<int>(front.points.size()) - 1});
        }
      }
      spans.emplace_back(begin, lanes.size());
    }
    return true;
  }

  // Puts back what the evaluated lanes leave open of the taken intervals.
  void put_back(Front& front, i64 limit) {
    for (std::size_t t = 0; t < taken.size(); ++t) {
      if (taken[t].below == taken[t].above) continue;
      int previous = taken[t].below;
      for (std::size_t l = spans[t].first; l < spans[t].second; ++l) {
        connect(front, taken[t], previous, lanes[l].point, limit);
        previous = lanes[l].point;
      }
      connect(front, taken[t], previous, taken[t].above, limit);
    }
  }

  // Evaluates the open intervals of a depth-two node, a batch at a time. False if stopped.
  bool exhaust_two(Node& node, bool base_known, bool report) {
    Rows& rows = *node.rows;
    Front& front = node.front;
    const auto any = [](const Interval&) { return true; };
    while (fill_lanes(front, static_cast<std::size_t>(kernels->lanes) - (base_known ? 0 : 1), node.threshold(), any)) {
      const std::size_t candidates = lanes.size();
      if (!base_known) lanes.push_back({0, rows.n, -1});
      if (!walk(rows)) {
        for (const Interval& interval : taken) front.push(interval);
        return false;
      }
      if (!base_known) {
        base_known = true;
        set_base(node, side_cost(found.back(), 0, rows.weight).relaxed);
      }
      const i64 before = node.upper;
      for (std::size_t l = 0; l < candidates; ++l) take_lane(node, l);
      if (report && node.upper < before) search.improve(node.upper, node.plan);
      put_back(front, node.threshold());
    }
    return true;
  }

  // The part of a taken interval between two of its points.
  static void connect(Front& front, const Interval& taken, int below, int above, i64 limit) {
    const u32 first = std::max(taken.first, front.points[below].position + 1);
    const u32 last = std::min(taken.last, front.points[above].position - 1);
    if (first > last || front.points[above].position == 0) return;
    front.add({taken.bound, taken.feature, first, last, below, above, taken.rank}, limit);
  }

  Solved solve_two(Rows& rows, i64 limit, i64 gap, const std::array<Import, 2>& imports, bool want_profile, bool report) {
    Node& node = levels[2]->node;
    begin_node(node, rows, 2, limit, gap);
    const i64 leaf = node.upper;
    place_points(node, imports);
    Solved solved;
    bool ready = false;
    if (std::any_of(imports.begin(), imports.end(), [](const Import& i) { return i.profile != nullptr; })) {
      begin_two(rows);
      ready = true;
      solved.stopped = !run_seeds(node);
    }
    if (!solved.stopped) open_intervals(node);
    if (!solved.stopped && !node.front.heap.empty()) {
      if (!ready) begin_two(rows);
      solved.stopped = !exhaust_two(node, ready, report);
    }
    finish_node(node, leaf, want_profile, solved);
    return solved;
  }

  void finish_node(Node& node, i64 leaf, bool want_profile, Solved& solved) {
    solved.upper = node.upper;
    solved.plan = node.plan;
    solved.lower = checked_lower(node, leaf);
    solved.relaxed = node.relaxed(leaf);
    if (want_profile && settings.rules.feature_bounds && !solved.stopped) solved.profile = make_profile(node);
  }

  // ----------------------------------------------------------------- deeper

  Solved solve_deep(Rows& rows, int depth, i64 limit, i64 gap, const std::array<Import, 2>& imports, bool want_profile) {
    Node& node = levels[depth]->node;
    begin_node(node, rows, depth, limit, gap);
    const i64 leaf = node.upper;
    open_node(node, imports);
    Solved solved;
    if (!node.front.heap.empty()) {
      const i64 wanted = depth > 3 && settings.rules.affordable && prices.leaf > 0 ? limit : kInfinite;
      const Solved shallow = solve(rows, depth - 1, wanted, gap, {}, false);
      solved.stopped = shallow.stopped;
      node.offer(shallow.upper, shallow.plan);
      set_base(node, shallow.relaxed);
      Task task;
      Outcome outcome;
      while (!solved.stopped && take_task(node, task)) {
        evaluate(rows, depth, task, node.gap, levels[depth]->low, levels[depth]->high, outcome);
        take_outcome(node, task, outcome);
        solved.stopped = outcome.stopped;
      }
    }
    finish_node(node, leaf, want_profile, solved);
    return solved;
  }

  static bool take_task(Node& node, Task& task) {
    Front& front = node.front;
    task.limit = node.threshold();
    task.upper = node.upper;
    if (!front.pop(task.interval, task.limit)) return false;
    std::vector<u32> positions;
    if (task.interval.below == task.interval.above) positions.push_back(task.interval.first);
    else front.choose(task.interval, 1, positions);
    task.position = positions.front();
    task.below = front.points[task.interval.below];
    task.above = front.points[task.interval.above];
    const auto profile = [&](int at) { return at < 0 ? nullptr : node.profiles[at]; };
    task.below_low = profile(task.below.low_profile);
    task.below_high = profile(task.below.high_profile);
    task.above_low = profile(task.above.low_profile);
    task.above_high = profile(task.above.high_profile);
    return true;
  }

  // Both sides of one split, the larger first, with bounds from the nearest evaluated splits (Algorithm 1).
  void evaluate(Rows& rows, int depth, const Task& task, i64 gap, Rows& low, Rows& high, Outcome& outcome) {
    const u32 f = task.interval.feature, w = task.position;
    const bool again = task.interval.below == task.interval.above;
    const i64 weight = rows.weight_before(table, f, w);
    const auto distance = [&](u32 a, u32 b) {
      return prices.error * (rows.weight_before(table, f, b) - rows.weight_before(table, f, a));
    };
    outcome = {};
    Point& point = outcome.point;
    point.feature = f;
    point.position = w;
    const i64 to_above = again ? 0 : distance(w, task.above.position), to_below = again ? 0 : distance(task.below.position, w);
    if (again) {
      point.low = task.below.low;
      point.high = task.below.high;
    } else {
      if (settings.rules.sub_interval) {
        point.low = task.below.low;
        point.high = task.above.high;
      }
      if (settings.rules.similarity) {
        point.low = std::max(point.low, task.above.low - to_above);
        point.high = std::max(point.high, task.below.high - to_below);
      }
    }
    point.evaluated = true;
    i64 low_lower = point.low, high_lower = point.high;

    if (!may_split_at(rows, f, w)) {  // no tree here; its bounds of the relaxation stay as they were
      point.total = std::max(point.low + point.high + prices.leaf, task.interval.bound);
      outcome.lower = kInfinite;
      return;
    }
    if (!rows.split(table, f, w, low, high, scratch, stop)) {
      outcome.stopped = true;
      return;
    }
    const i64 reach = std::max(distance(task.interval.first, w), distance(w, task.interval.last));
    const double allowed = depth == 3 ? settings.eta : kDeepEta;
    const i64 eta = static_cast<i64>(std::min(1e18, allowed * static_cast<double>(std::max<i64>(reach, 1))));
    // one more than needed: a failed side then excludes a tie too, which the canonical pass would ask next
    const i64 limit = task.limit + 1 - prices.leaf;
    PlanPtr low_plan = leaf_plan(), high_plan = leaf_plan();
    i64 low_upper = leaf_cost(low), high_upper = leaf_cost(high);

    const auto side = [&](bool is_low) {
      i64& known = is_low ? point.low : point.high;
      i64& lower = is_low ? low_lower : high_lower;
      const i64 other = is_low ? high_lower : low_lower;
      const i64 wanted = std::max(limit - other, eta);
      if (wanted <= known || outcome.stopped) return;  // this side is only bounded
      std::array<Import, 2> imports;
      if (!again && settings.rules.feature_bounds) {
        imports[0] = {is_low ? task.below_low.get() : task.below_high.get(), is_low, is_low ? 0 : to_below};
        imports[1] = {is_low ? task.above_low.get() : task.above_high.get(), !is_low, is_low ? to_above : 0};
      }
      Solved solved = solve(is_low ? low : high, depth - 1, wanted, gap / 2, imports, true);
      outcome.stopped |= solved.stopped;
      known = std::max(known, solved.relaxed);
      lower = std::max(lower, solved.lower);
      if (solved.upper <= (is_low ? low_upper : high_upper)) {
        (is_low ? low_upper : high_upper) = solved.upper;
        (is_low ? low_plan : high_plan) = solved.plan;
      }
      (is_low ? outcome.low : outcome.high) = std::move(solved.profile);
    };
    const bool low_first = 2 * weight >= rows.weight;
    side(low_first);
    side(!low_first);

    point.total = std::max(point.low + point.high + prices.leaf, again ? task.below.total : task.interval.bound);
    point.upper = low_upper + high_upper + prices.leaf;
    point.total = std::min(point.total, point.upper);
    outcome.lower = std::max(low_lower + high_lower + prices.leaf, point.total);
    if (point.upper < task.upper)
      outcome.plan = split_plan(f, rows.key(f)[w - 1], std::move(low_plan), std::move(high_plan));
  }

  static void take_outcome(Node& node, const Task& task, Outcome& outcome, bool all_optima = false) {
    Front& front = node.front;
    if (outcome.plan) node.offer(outcome.point.upper, outcome.plan);
    if (outcome.stopped) {  // evaluated in part: its interval stays open
      front.push(task.interval);
      return;
    }
    const auto keep = [&](ProfilePtr& profile) {
      if (!profile) return -1;
      node.profiles.push_back(std::move(profile));
      return static_cast<int>(node.profiles.size()) - 1;
    };
    outcome.point.low_profile = keep(outcome.low);
    outcome.point.high_profile = keep(outcome.high);
    node.evaluated_lower = std::min(node.evaluated_lower, outcome.lower);
    node.evaluated_relaxed = std::min(node.evaluated_relaxed, outcome.point.total);
    if (task.interval.below == task.interval.above) {
      front.points[task.interval.below] = outcome.point;
      return;
    }
    front.points.push_back(outcome.point);
    const int at = static_cast<int>(front.points.size()) - 1;
    const i64 limit = all_optima ? node.limit : node.threshold();
    connect(front, task.interval, task.interval.below, at, limit);
    connect(front, task.interval, at, task.interval.above, limit);
  }

  // ------------------------------------------------------------ first trees

  // Tops of the first trees: the split of least Gini impurity, or the root of the best tree of depth `exact_depth`.
  enum class Top { kGini, kLookahead };

  // A good tree early: optimal subtrees of `exact_depth` levels under splits that are chosen one at a time.
  Solved first_tree(Rows& rows, int depth, int exact_depth, Top top) {
    if (depth <= exact_depth || leaf_cost(rows) == 0 || rows.n < 2 || !settings.minimum.may_split(rows))
      return solve(rows, std::min(depth, exact_depth), kInfinite, 0, {}, false);
    Solved best = exact(leaf_cost(rows), leaf_plan());
    std::pair<u32, u32> split{0, 0};
    if (top == Top::kGini) {
      split = best_gini(rows, nullptr);
    } else {
      best = solve(rows, exact_depth, kInfinite, 0, {}, false);
      if (best.plan->kind == Plan::kSplit) split = {best.plan->feature, rows.position_of(best.plan->feature, best.plan->key, 0, rows.n)};
    }
    Level& level = *levels[static_cast<std::size_t>(depth)];
    if (split.second == 0 || stopped() || !rows.split(table, split.first, split.second, level.low, level.high, scratch, stop))
      return best;
    const Solved low = first_tree(level.low, depth - 1, exact_depth, top);
    const Solved high = first_tree(level.high, depth - 1, exact_depth, top);
    const i64 cost = low.upper + high.upper + prices.leaf;
    if (cost < best.upper) {
      best.upper = cost;
      best.plan = split_plan(split.first, rows.key(split.first)[split.second - 1], low.plan, high.plan);
    }
    return best;
  }

  // (feature, position) of the permitted split of least Gini impurity; position 0: none. Also the best of each feature.
  std::pair<u32, u32> best_gini(const Rows& rows, std::vector<double>* by_feature) {
    std::pair<u32, u32> best{0, 0};
    double best_score = -1;
    std::vector<i64> low(table.n_classes);
    double all = 0;
    for (const i64 w : rows.class_weight) all += static_cast<double>(w) * static_cast<double>(w);
    for (u32 f = 0; f < rows.n_features && !stopped(); ++f) {
      std::fill(low.begin(), low.end(), 0);
      double low_squares = 0, high_squares = all, feature_best = 0;
      i64 low_weight = 0;
      u32 count = 0;
      i64 mass = 0;
      const u32* const order = rows.order(f);
      for (u32 i = 0; i + 1 < rows.n; ++i) {
        const u32 r = rows.row(order[i]);
        const double w = static_cast<double>(table.weight[r]);
        const u32 c = table.label[r];
        const double before_low = static_cast<double>(low[c]), before_high = static_cast<double>(rows.class_weight[c] - low[c]);
        low_squares += w * (2 * before_low + w);
        high_squares -= w * (2 * before_high - w);
        low[c] += table.weight[r];
        low_weight += table.weight[r];
        count += table.count[r];
        mass += table.mass[r];
        if (!rows.is_boundary(f, i + 1) || low_weight == 0 || low_weight == rows.weight) continue;
        if (!settings.minimum.met(count, mass) || !settings.minimum.met(rows.count - count, rows.mass - mass)) continue;
        // sum of squares over size: larger is purer
        const double score = low_squares / static_cast<double>(low_weight) + high_squares / static_cast<double>(rows.weight - low_weight);
        feature_best = std::max(feature_best, score);
        if (score > best_score) {
          best_score = score;
          best = {f, i + 1};
        }
      }
      if (by_feature) (*by_feature)[f] = feature_best;
    }
    return best;
  }

  // -------------------------------------------------------------- canonical

  // Least depth up to `most` that attains `optimum`; -1 if stopped.
  int least_depth(Rows& rows, int most, i64 optimum) {
    for (int depth = 0; depth < most; ++depth) {
      const Solved solved = solve(rows, depth, optimum + 1, 0, {}, false);
      if (solved.stopped) return -1;
      if (solved.upper == optimum) return depth;
    }
    return most;
  }

  // The tree of cost `optimum` of least depth, then of the smallest (feature, threshold), at every node.
  // nullptr if stopped.
  PlanPtr canonical(Rows& rows, int most, i64 optimum) {
    const int depth = least_depth(rows, most, optimum);
    if (depth < 0) return nullptr;
    if (depth == 0) return leaf_plan();
    if (depth == 1) {
      const Stump stump = best_stump(table, rows, settings.minimum, stop);
      if (stopped()) return nullptr;
      return split_plan(stump.feature, rows.key(stump.feature)[stump.position - 1], leaf_plan(), leaf_plan());
    }
    Node& node = levels[depth]->node;
    begin_node(node, rows, depth, optimum + 1, 0);
    open_node(node, {});
    node.upper = kInfinite;
    if (depth == 2 && settings.rules.depth_two) begin_two(rows);
    for (u32 f = 0; f < rows.n_features; ++f) {
      if (!first_of_feature(node, f, optimum)) continue;
      if (stopped()) return nullptr;
      return canonical_split(rows, depth, f);
    }
    if (stopped()) return nullptr;
    throw std::logic_error("no split attains the optimum");
  }

  // Least position of `feature` at which a tree of cost `optimum` begins, left in first_position.
  u32 first_position = 0;

  bool first_of_feature(Node& node, u32 feature, i64 optimum) {
    Front& front = node.front;
    Rows& rows = *node.rows;
    const i64 limit = optimum + 1;
    std::vector<int> known;
    for (int i = 0; i < static_cast<int>(front.points.size()); ++i)
      if (front.points[i].feature == feature) known.push_back(i);
    std::sort(known.begin(), known.end(), [&](int a, int b) { return front.points[a].position < front.points[b].position; });
    front.heap.clear();
    node.limit = limit;
    node.upper = kInfinite;
    first_position = 0;
    const auto attain = [&](const Point& p) {
      if (p.upper == optimum && (first_position == 0 || p.position < first_position)) first_position = p.position;
    };
    for (const int at : known) attain(front.points[at]);
    for (std::size_t i = 0; i + 1 < known.size(); ++i) {
      front.add_between(known[i], known[i + 1], limit);
      const Point& p = front.points[known[i + 1]];
      // bounded but not solved to the end: its tree may cost the optimum after all
      if (i + 2 < known.size() && p.upper > optimum && p.total <= optimum && !(node.depth == 2 && settings.rules.depth_two && p.evaluated))
        front.add_point(known[i + 1], limit);
    }
    Task task;
    Outcome outcome;
    const bool batched = node.depth == 2 && settings.rules.depth_two;
    while (!stopped()) {
      if (batched) {
        const auto earlier = [&](const Interval& interval) { return first_position == 0 || interval.first < first_position; };
        if (!fill_lanes(front, static_cast<std::size_t>(kernels->lanes), limit, earlier)) break;
        if (!walk(rows)) return false;
        for (std::size_t l = 0; l < lanes.size(); ++l) {
          take_lane(node, l);
          attain(front.points[lanes[l].point]);
          ++counters[kCanonicalSplits];
        }
        put_back(front, limit);
      } else {
        node.upper = kInfinite;  // every tree of cost `optimum` is wanted
        if (!take_task(node, task)) break;
        if (first_position != 0 && task.interval.first >= first_position) continue;
        Level& level = *levels[node.depth];
        evaluate(rows, node.depth, task, 0, level.low, level.high, outcome);
        ++counters[kCanonicalSplits];
        attain(outcome.point);
        take_outcome(node, task, outcome, true);
      }
    }
    return first_position != 0 && !stopped();
  }

  PlanPtr canonical_split(Rows& rows, int depth, u32 feature) {
    const u32 position = first_position;
    Level& level = *levels[depth];
    if (!rows.split(table, feature, position, level.low, level.high, scratch, stop)) return nullptr;
    const Solved low = solve(level.low, depth - 1, kInfinite, 0, {}, false);
    if (low.stopped) return nullptr;
    PlanPtr low_plan = canonical(level.low, depth - 1, low.upper);
    if (!low_plan) return nullptr;
    const Solved high = solve(level.high, depth - 1, kInfinite, 0, {}, false);
    if (high.stopped) return nullptr;
    PlanPtr high_plan = canonical(level.high, depth - 1, high.upper);
    if (!high_plan) return nullptr;
    return split_plan(feature, rows.key(feature)[position - 1], std::move(low_plan), std::move(high_plan));
  }
};

// ---------------------------------------------------------------------- root

Search::Search(Table table, const Settings& settings, std::atomic<int>& stop)
    : table_(std::move(table)), settings_(settings), stop_(stop) {
  constant_ = settings_.prices.error * table_.constant;
  if (settings_.start_upper < kInfinite) settings_.start_upper -= constant_;
  upper_ = settings_.start_upper;
  main_ = std::make_unique<Worker>(*this);
}

Search::~Search() = default;

double Search::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

Event Search::state() {
  const std::lock_guard lock(mutex_);
  return {seconds(), upper_ + constant_, std::min(lower_, upper_) + constant_};
}

std::vector<Event> Search::events_since(std::size_t index) {
  const std::lock_guard lock(mutex_);
  return {events_.begin() + static_cast<std::ptrdiff_t>(std::min(index, events_.size())), events_.end()};
}

void Search::improve(i64 upper, PlanPtr plan) {
  const std::lock_guard lock(mutex_);
  if (upper >= upper_) return;
  upper_ = upper;
  plan_ = std::move(plan);
  events_.push_back({seconds(), upper_ + constant_, std::min(lower_, upper_) + constant_});
}

void Search::report(i64 lower) {
  const std::lock_guard lock(mutex_);
  if (lower <= lower_) return;
  lower_ = lower;
  if (upper_ < kInfinite) events_.push_back({seconds(), upper_ + constant_, std::min(lower_, upper_) + constant_});
}

void Search::run() {
  Rows& rows = root_;
  rows.start(table_);
  Worker& worker = *main_;
  improve(worker.leaf_cost(rows), leaf_plan());
  const int depth = settings_.max_depth;
  if (depth <= 2 || rows.n < 2 || !settings_.minimum.may_split(rows) || worker.leaf_cost(rows) <= settings_.prices.leaf) {
    Solved solved;
    if (depth == 2 && settings_.rules.depth_two && rows.n >= 2 && settings_.minimum.may_split(rows) &&
        worker.leaf_cost(rows) > settings_.prices.leaf) {
      solved = worker.solve_two(rows, upper_ == kInfinite ? kInfinite : upper_ + 1, settings_.gap, {}, false, true);
    } else {
      solved = worker.solve(rows, depth, upper_ == kInfinite ? kInfinite : upper_ + 1, settings_.gap, {}, false);
    }
    improve(solved.upper, solved.plan);
    report(solved.lower);
    if (!solved.stopped && settings_.canonical && settings_.gap == 0) {
      if (PlanPtr plan = worker.canonical(rows, depth, upper_)) {
        plan_ = plan;
        canonical_ = true;
      }
    }
  } else {
    std::vector<double> score(table_.n_features, 0);
    worker.best_gini(rows, &score);
    std::vector<u32> by_score(table_.n_features), rank(table_.n_features);
    std::iota(by_score.begin(), by_score.end(), 0u);
    std::stable_sort(by_score.begin(), by_score.end(), [&](u32 a, u32 b) { return score[a] > score[b]; });
    for (u32 i = 0; i < table_.n_features; ++i) rank[by_score[i]] = i;
    const i64 leaf = worker.leaf_cost(rows);
    const auto first_trees = [&](int exact_depth) {
      for (const auto top : {Worker::Top::kLookahead, Worker::Top::kGini}) {
        const Solved first = worker.first_tree(rows, depth, exact_depth, top);
        improve(first.upper, first.plan);
      }
    };
    Solved shallow = worker.solve(rows, 2, kInfinite, 0, {}, false);
    improve(shallow.upper, shallow.plan);
    if (!settings_.bound_only) first_trees(2);
    for (u32 f = 0; f < rows.n_features; ++f) {  // made now: workers only read
      rows.weight_before(table_, f, 1);
      if (settings_.minimum.any()) rows.held_before(table_, f, 1);
    }
    // each depth starts with the tree of the depth before and a bound of what splitting off nothing costs
    bool closed = false;  // whether deeper trees are known to cost more than the best
    for (int d = 3; d <= depth && !stop_.load(); ++d) {
      if (settings_.rules.affordable && upper_ < settings_.prices.leaf * d) {
        closed = true;
        report(std::min(shallow.lower, settings_.prices.leaf * d));
        break;
      }
      Node& node = worker.levels[static_cast<std::size_t>(d)]->node;
      worker.begin_node(node, rows, d, settings_.bound_only ? settings_.start_upper : kInfinite, d == depth ? settings_.gap : settings_.gap / 2);
      node.front.rank = rank;
      node.offer(shallow.upper, shallow.plan);
      if (d == depth && !settings_.bound_only) node.upper = std::min(node.upper, upper_);
      worker.open_node(node, {});
      worker.set_base(node, shallow.relaxed);
      run_pool(node, d == depth);
      if (d == depth || stop_.load()) break;
      worker.finish_node(node, leaf, false, shallow);
      if (settings_.rules.cache)
        cache_[{rows.hash[0], rows.hash[1], static_cast<std::uint64_t>(d)}] = {shallow.upper, shallow.lower, shallow.relaxed,
                                                                               shallow.plan, nullptr};
      if (!settings_.bound_only) first_trees(d);
    }
    Node& node = worker.levels[static_cast<std::size_t>(depth)]->node;
    if (!stop_.load()) {
      if (!closed) report(checked_lower(node, leaf));
      if (settings_.canonical && settings_.gap == 0) {
        if (PlanPtr plan = canonical_root(node)) {
          plan_ = plan;
          canonical_ = true;
        }
      }
    }
  }
  for (std::size_t c = 0; c < kCounters; ++c) totals_[c] += worker.counters[c];
  finished_ = true;
}

PlanPtr Search::canonical_root(Node& node) {
  Worker& worker = *main_;
  Rows& rows = root_;
  const int depth = settings_.max_depth;
  if (const int least = worker.least_depth(rows, depth, upper_); least < depth)
    return least < 0 ? nullptr : worker.canonical(rows, least, upper_);
  for (u32 f = 0; f < table_.n_features; ++f) {
    if (!worker.first_of_feature(node, f, upper_)) continue;
    return worker.canonical_split(rows, depth, f);
  }
  if (stop_.load()) return nullptr;
  throw std::logic_error("no split attains the optimum");
}

void Search::run_pool(Node& node, bool last) {
  std::vector<std::unique_ptr<Worker>> workers;
  for (int t = 1; t < settings_.threads; ++t) workers.push_back(std::make_unique<Worker>(*this));
  // out of memory, or a broken invariant: all stop, the caller hears of it
  run_workers(
      settings_.threads, [&](int w) { work(w == 0 ? *main_ : *workers[static_cast<std::size_t>(w - 1)], node, last); }, [&] { stop_ = -1; });
  for (const auto& worker : workers)
    for (std::size_t c = 0; c < kCounters; ++c) totals_[c] += worker->counters[c];
}

// Every worker takes the open interval of least bound, evaluates it and hands back what it learned, until none is left.
void Search::work(Worker& worker, Node& node, bool last) {
  Level& level = *worker.levels[static_cast<std::size_t>(node.depth)];
  Task task;
  Outcome outcome;
  std::unique_lock lock(mutex_);
  while (!stop_.load()) {
    if (!worker.take_task(node, task)) {
      if (node.busy.empty()) break;
      changed_.wait_for(lock, std::chrono::milliseconds(20));
      continue;
    }
    node.busy.push_back(task.interval);
    lock.unlock();
    worker.evaluate(*node.rows, node.depth, task, node.gap, level.low, level.high, outcome);
    ++worker.counters[kRootSplits];
    lock.lock();
    for (auto interval = node.busy.begin(); interval != node.busy.end(); ++interval) {
      if (interval->feature == task.interval.feature && interval->first == task.interval.first) {
        node.busy.erase(interval);
        break;
      }
    }
    worker.take_outcome(node, task, outcome);
    bool news = false;
    if (node.upper < upper_) {
      upper_ = node.upper;
      plan_ = node.plan;
      news = true;
    }
    const i64 lower = last ? checked_lower(node, worker.leaf_cost(*node.rows)) : 0;
    if (lower > lower_) {
      lower_ = lower;
      news = true;
    }
    if (news) events_.push_back({seconds(), upper_ + constant_, std::min(lower_, upper_) + constant_});
    changed_.notify_all();
  }
  changed_.notify_all();
}

// Nodes in preorder. The splits of a plan send the rows to its ends; the best stumps of all ends that want one are found in
// one walk over the features.
std::vector<TreeNode> Search::tree() const {
  std::vector<TreeNode> nodes;
  if (!plan_) return nodes;
  struct End {
    const Plan* plan;
    std::vector<u32> rows;
    Stump stump;
    i64 weight = 0, heaviest = 0;
  };
  std::vector<End> ends;
  constexpr u32 kNone = ~0u;
  constexpr u32 kAhead = 24;
  struct alignas(32) Row {  // together, since the walk jumps between rows
    i64 weight, mass;
    u32 count, end;  // end: of rows whose end wants a stump
    std::uint16_t label;
  };
  std::vector<Row> of(table_.n_rows);
  for (u32 r = 0; r < table_.n_rows; ++r) of[r] = {table_.weight[r], table_.mass[r], table_.count[r], kNone, table_.label[r]};
  const auto place = [&](const auto& self, const Plan& plan, std::vector<u32> rows) -> void {
    if (plan.kind == Plan::kSplit) {
      const auto middle = std::stable_partition(rows.begin(), rows.end(), [&](u32 r) { return table_.key[plan.feature][r] <= plan.key; });
      self(self, *plan.low, {rows.begin(), middle});
      self(self, *plan.high, {middle, rows.end()});
      return;
    }
    if (plan.kind == Plan::kStump)
      for (const u32 r : rows) of[r].end = static_cast<u32>(ends.size());
    ends.push_back({&plan, std::move(rows), {}, 0, 0});
  };
  std::vector<u32> all(table_.n_rows);
  std::iota(all.begin(), all.end(), 0u);
  place(place, *plan_, std::move(all));

  const std::size_t classes = table_.n_classes;
  std::vector<i64> total(ends.size() * classes, 0), low(ends.size() * classes);
  std::vector<u32> count(ends.size(), 0), seen(ends.size()), last(ends.size());
  std::vector<i64> mass(ends.size(), 0), held(ends.size());
  for (std::size_t e = 0; e < ends.size(); ++e) {
    for (const u32 r : ends[e].rows) {
      total[e * classes + table_.label[r]] += table_.weight[r];
      ends[e].weight += table_.weight[r];
      count[e] += table_.count[r];
      mass[e] += table_.mass[r];
    }
    ends[e].heaviest = *std::max_element(total.begin() + static_cast<std::ptrdiff_t>(e * classes),
                                         total.begin() + static_cast<std::ptrdiff_t>((e + 1) * classes));
  }
  const bool any = std::any_of(ends.begin(), ends.end(), [](const End& end) { return end.plan->kind == Plan::kStump; });
  for (u32 f = 0; any && f < table_.n_features; ++f) {
    std::fill(low.begin(), low.end(), 0);
    std::fill(seen.begin(), seen.end(), 0);
    std::fill(held.begin(), held.end(), 0);
    const u32* const order = root_.order(f);
    const u32* const keys = root_.key(f);
    for (u32 i = 0; i < table_.n_rows; ++i) {
      __builtin_prefetch(&of[order[std::min(i + kAhead, table_.n_rows - 1)]]);
      const Row& row = of[order[i]];
      const u32 e = row.end;
      if (e == kNone) continue;
      if (seen[e] > 0 && keys[i] != last[e]) {  // a boundary of this end's rows, before this one
        i64 most_low = 0, most_high = 0;
        for (std::size_t c = e * classes; c < (e + 1) * classes; ++c) {
          most_low = std::max(most_low, low[c]);
          most_high = std::max(most_high, total[c] - low[c]);
        }
        Stump& stump = ends[e].stump;
        if (most_low + most_high > stump.right && settings_.minimum.met(seen[e], held[e]) &&
            settings_.minimum.met(count[e] - seen[e], mass[e] - held[e]))
          stump = {most_low + most_high, -1, f, last[e]};
      }
      low[e * classes + row.label] += row.weight;
      seen[e] += row.count;
      held[e] += row.mass;
      last[e] = keys[i];
    }
  }

  const auto test = [&](u32 feature, u32 key) {
    return TreeNode{static_cast<int>(table_.column[feature]), table_.value[feature][key >> kLabelBits], -1, -1};
  };
  constexpr TreeNode leaf{-1, 0, -1, -1};
  std::size_t next_end = 0;
  const auto write = [&](const auto& self, const Plan& plan) -> void {
    const std::size_t at = nodes.size();
    if (plan.kind == Plan::kSplit) {
      nodes.push_back(test(plan.feature, plan.key));
      nodes[at].low = static_cast<int>(nodes.size());
      self(self, *plan.low);
      nodes[at].high = static_cast<int>(nodes.size());
      self(self, *plan.high);
      return;
    }
    const End& end = ends[next_end++];
    const Stump& stump = end.stump;  // its position is the key of the last low row
    const Prices& prices = settings_.prices;
    if (stump.right < 0 || prices.error * (stump.right - end.heaviest) <= prices.leaf) {
      nodes.push_back(leaf);
      return;
    }
    nodes.push_back(test(stump.feature, stump.position));
    nodes[at].low = static_cast<int>(at) + 1;
    nodes[at].high = static_cast<int>(at) + 2;
    nodes.push_back(leaf);
    nodes.push_back(leaf);
  };
  write(write, *plan_);
  return nodes;
}

}  // namespace proofwood::trees
