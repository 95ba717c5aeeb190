// Fewest errors of trees of a limited number of splits (docs/theory/layered-diagrams.md, "Univariate: trees", sizes).
//
// A tree of s splits has a root and two sides of i and j splits, i + j = s - 1. Errors of a side only grow with its
// rows, and change by no more than the weight of rows that enter or leave it. So a threshold whose best tree is known,
// or bounded, to have x errors too many rules out all thresholds with weight up to x between.
//
// of 3 splits   root + (0, 2), (1, 1) or (2, 0)    a threshold has lower bounds low[0..2] and high[0..2] of its sides;
//                                                   its tree has at least min(low[i] + high[2 - i]) errors
//
// Sides of no split and of one are counted for many thresholds in one walk over the columns; larger ones are searched
// when the others leave room for fewer errors than the best tree has.
#include "trees/sized.hpp"

#include <chrono>

#include "common/memory.hpp"
#include "common/threads.hpp"
#include "trees/stump.hpp"

namespace proofwood::trees {

namespace {
constexpr std::size_t kCacheEntries = 4'000'000;
constexpr int kFound = -2;  // value of `stop` where a tree ends the search

i64 fewest_pair(const auto& low, const auto& high, int splits) {
  i64 least = low[0] + high[static_cast<std::size_t>(splits - 1)];
  for (int i = 1; i < splits; ++i)
    least = std::min(least, low[static_cast<std::size_t>(i)] + high[static_cast<std::size_t>(splits - 1 - i)]);
  return least;
}
}  // namespace

struct SizedSearch::Subproblem {
  int splits = 0, depth = 0;
  i64 limit = 0;  // errors of the best tree, or those of which fewer are wanted
  std::vector<Point> points;
  std::vector<Interval> open;
  int busy = 0;  // batches in work
};

struct SizedSearch::Solver : StumpBatch {
  struct Level {
    Subproblem subproblem;
    Rows low, high;
  };
  struct Task {
    Interval interval;
    std::size_t begin, end;  // its lanes
  };
  struct Batch {
    std::vector<Lane> lanes;
    std::vector<Point> points;  // of the lanes
    std::vector<Task> tasks;
  };

  SizedSearch& search;
  const SizedSettings& settings;
  std::vector<std::unique_ptr<Level>> levels;
  std::vector<std::unique_ptr<Batch>> batches;  // by number of splits
  Buffer<u32> scratch;

  explicit Solver(SizedSearch& s)
      : StumpBatch(s.table_, s.minimum_, s.settings_.isa, s.settings_.lane_bits, s.stop_, false),
        search(s),
        settings(s.settings_) {
    for (int i = 0; i <= kMostSplits; ++i) {
      levels.push_back(std::make_unique<Level>());
      batches.push_back(std::make_unique<Batch>());
    }
  }

  static i64 leaf_errors(const Rows& rows) { return rows.counts.errors(); }

  // Fewest errors of a tree if fewer than `limit`; else a number that is not less than `limit`, and not more than the
  // fewest. Means nothing once the search was stopped.
  i64 solve(Rows& rows, int splits, int depth, i64 limit) {
    const i64 leaf = leaf_errors(rows);
    if (limit <= 0) return 0;
    if (leaf == 0 || rows.n < 2) return leaf;
    depth = std::min(depth, splits);
    if (depth < 5) splits = std::min(splits, (1 << depth) - 1);
    if (splits == 0) return leaf;
    if (splits == 1) return std::min(leaf, lightest_stump(table, rows, minimum, stop).cost);
    const std::array<std::uint64_t, 3> key{rows.hash[0], rows.hash[1], static_cast<std::uint64_t>(splits * 64 + depth)};
    i64 known = 0;
    if (settings.cache) {
      const std::lock_guard lock(search.cache_mutex_);
      if (const auto entry = search.cache_.find(key); entry != search.cache_.end()) {
        if (entry->second.exact || entry->second.lower >= limit) return entry->second.lower;
        known = entry->second.lower;
      }
    }
    const i64 base = solve(rows, splits - 1, depth, limit);  // with one split less
    if (stopped()) return 0;
    Subproblem& subproblem = levels[static_cast<std::size_t>(splits)]->subproblem;
    begin(subproblem, rows, splits, depth, std::min(limit, base), base);
    Batch& batch = *batches[static_cast<std::size_t>(splits)];
    while (subproblem.limit > known && take(subproblem, rows, batch)) {
      evaluate(subproblem, rows, batch, false);
      if (stopped()) return 0;
      put_back(subproblem, rows, batch);
    }
    const i64 least = std::max(known, subproblem.limit);
    if (settings.cache) {
      const std::lock_guard lock(search.cache_mutex_);
      if (memory_is_short()) search.cache_.clear();
      if (search.cache_.size() < kCacheEntries || search.cache_.contains(key))
        search.cache_[key] = {least, least < limit};
    }
    return least;
  }

  void begin(Subproblem& subproblem, Rows& rows, int splits, int depth, i64 limit, i64 base) {
    subproblem.splits = splits;
    subproblem.depth = depth;
    subproblem.limit = limit;
    subproblem.points.clear();
    subproblem.open.clear();
    for (u32 f = 0; f < rows.n_features; ++f) {
      Point none, all;  // all rows on the high side, all on the low side
      all.position = rows.n;
      if (settings.monotone) {
        none.high_side.fill(base);
        all.low_side.fill(base);
      }
      none.total = all.total = settings.similarity ? base : 0;
      const int at = static_cast<int>(subproblem.points.size());
      subproblem.points.push_back(none);
      subproblem.points.push_back(all);
      add(subproblem, rows, {f, 1, rows.n - 1, at, at + 1});
    }
  }

  i64 between(Rows& rows, u32 feature, u32 from, u32 to) {
    return rows.weight_before(table, feature, to) - rows.weight_before(table, feature, from);
  }

  // Sub-interval and neighbourhood pruning: keeps the thresholds of an interval that its neighbours do not rule out.
  void add(Subproblem& subproblem, Rows& rows, Interval interval) {
    const Point &u = subproblem.points[static_cast<std::size_t>(interval.below)],
                &v = subproblem.points[static_cast<std::size_t>(interval.above)];
    const u32 f = interval.feature;
    if (interval.first > interval.last) return;
    if (settings.monotone && fewest_pair(u.low_side, v.high_side, subproblem.splits) >= subproblem.limit) return;
    if (settings.similarity) {
      if (u.total >= subproblem.limit) {
        const i64 reach = rows.weight_before(table, f, u.position) + u.total - subproblem.limit;
        interval.first = std::max(interval.first, rows.position_at_weight(table, f, u.position, reach + 1));
      }
      if (v.total >= subproblem.limit) {
        const i64 need = rows.weight_before(table, f, v.position) - (v.total - subproblem.limit);
        const u32 beyond = need <= 0 ? 0 : rows.position_at_weight(table, f, 0, need);
        interval.last = std::min(interval.last, beyond == 0 ? 0 : beyond - 1);
      }
      if (interval.first > interval.last) return;
    }
    interval.first = rows.boundary_from(f, interval.first);
    interval.last = rows.boundary_until(f, interval.last);
    if (interval.first <= interval.last && interval.first < rows.n && interval.last > 0)
      subproblem.open.push_back(interval);
  }

  // Thresholds of open intervals for one walk. False if none is left.
  bool take(Subproblem& subproblem, Rows& rows, Batch& batch) {
    batch.lanes.clear();
    batch.points.clear();
    batch.tasks.clear();
    StumpBatch::begin(rows);
    const auto room = static_cast<std::size_t>(kernels->lanes);
    std::vector<Interval> taken;
    while (taken.size() < room && !subproblem.open.empty()) {
      const Interval old = subproblem.open.back();
      subproblem.open.pop_back();
      const std::size_t before = subproblem.open.size();
      add(subproblem, rows, old);  // the best tree may have improved
      if (subproblem.open.size() == before) continue;
      taken.push_back(subproblem.open.back());
      subproblem.open.pop_back();
    }
    if (taken.empty()) return false;
    const auto each = static_cast<u32>(room / taken.size());
    for (const Interval& interval : taken) {
      const std::size_t begin = batch.lanes.size();
      const u32 length = interval.last - interval.first + 1, count = std::min(each, length);
      for (u32 k = 0; k < count; ++k) {
        const u32 wish = interval.first + static_cast<u32>((std::uint64_t{length} * (2 * k + 1)) / (2 * count));
        u32 at = rows.boundary_until(interval.feature, wish);
        if (at < interval.first) at = rows.boundary_from(interval.feature, wish);
        if (at > interval.last || (batch.lanes.size() > begin && at <= batch.lanes.back().position)) continue;
        batch.lanes.push_back({interval.feature, at, 0});
        batch.points.push_back(guess(subproblem, rows, interval, at));
      }
      batch.tasks.push_back({interval, begin, batch.lanes.size()});
    }
    return true;
  }

  // What the neighbours say of a threshold, by monotonicity and the similarity bound.
  Point guess(const Subproblem& subproblem, Rows& rows, const Interval& interval, u32 position) {
    Point point;
    point.position = position;
    const Point &u = subproblem.points[static_cast<std::size_t>(interval.below)],
                &v = subproblem.points[static_cast<std::size_t>(interval.above)];
    const i64 from = between(rows, interval.feature, u.position, position),
              to = between(rows, interval.feature, position, v.position);
    for (std::size_t i = 0; i < static_cast<std::size_t>(subproblem.splits); ++i) {
      if (settings.monotone) {
        point.low_side[i] = u.low_side[i];
        point.high_side[i] = v.high_side[i];
      }
      if (settings.similarity) {
        point.low_side[i] = std::max(point.low_side[i], v.low_side[i] - to);
        point.high_side[i] = std::max(point.high_side[i], u.high_side[i] - from);
      }
    }
    return point;
  }

  // Bounds the thresholds of a batch; `shared`: several threads share the subproblem.
  void evaluate(Subproblem& subproblem, Rows& rows, Batch& batch, bool shared) {
    lanes = batch.lanes;
    if (!run_batch(rows)) return;
    search.evaluated_ += static_cast<i64>(lanes.size());
    for (std::size_t l = 0; l < batch.lanes.size(); ++l) {
      Point& point = batch.points[l];
      const i64 low = rows.weight_before(table, batch.lanes[l].feature, point.position),
                high = rows.counts.weight - low;
      point.low_side[0] = wrong(found[l].leaf[0], low);
      point.high_side[0] = wrong(found[l].leaf[1], high);
      point.low_side[1] = std::min(point.low_side[0], wrong(found[l].stump_all[0], low));
      point.high_side[1] = std::min(point.high_side[0], wrong(found[l].stump_all[1], high));
    }
    for (std::size_t l = 0; l < batch.lanes.size() && !stopped(); ++l) finish(subproblem, rows, batch, l, shared);
  }

  i64 wrong(i64 value, i64 weight) const { return weight - (two ? (weight + value) / 2 : value); }

  // Searches the sides of one threshold as far as they could make a better tree.
  void finish(Subproblem& subproblem, Rows& rows, Batch& batch, std::size_t lane, bool shared) {
    Point& point = batch.points[lane];
    const auto current = [&] {
      if (!shared) return subproblem.limit;
      const std::lock_guard guard(search.mutex_);
      return subproblem.limit;
    };
    const auto n = static_cast<std::size_t>(subproblem.splits);
    Level& level = *levels[n];
    std::array<bool, kMostSplits> exact_low{}, exact_high{};
    exact_low[0] = exact_low[1] = exact_high[0] = exact_high[1] = true;
    bool parted = false;
    const Interval& interval = std::find_if(batch.tasks.begin(), batch.tasks.end(), [&](const Task& task) {
                                 return lane < task.end;
                               })->interval;
    const u32 feature = batch.lanes[lane].feature;
    const i64 reach = std::max(between(rows, feature, interval.first, point.position),
                               between(rows, feature, point.position, interval.last));
    const i64 slack = static_cast<i64>(settings.eta * static_cast<double>(reach));
    i64 limit = current();
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t j = n - 1 - i;
      const auto refine = [&](bool is_low) {
        const std::size_t size = is_low ? i : j;
        i64& known = is_low ? point.low_side[size] : point.high_side[size];
        const i64 other = is_low ? point.high_side[j] : point.low_side[i];
        bool& exact = is_low ? exact_low[size] : exact_high[size];
        if (exact || point.low_side[i] + point.high_side[j] >= limit || stopped()) return;
        if (!parted) {
          if (!rows.split(table, batch.lanes[lane].feature, point.position, level.low, level.high, scratch, stop))
            return;
          parted = true;
        }
        const i64 wanted = limit - other + slack;
        const i64 least = solve(is_low ? level.low : level.high, static_cast<int>(size), subproblem.depth - 1, wanted);
        if (stopped()) return;
        known = std::max(known, least);
        exact = least < wanted;
      };
      const bool low_first = i >= j;
      refine(low_first);
      refine(!low_first);
      if (stopped()) return;
      if (point.low_side[i] + point.high_side[j] < limit) {
        limit = point.low_side[i] + point.high_side[j];
        if (!shared) {
          subproblem.limit = limit;
        } else {
          const std::lock_guard guard(search.mutex_);
          limit = subproblem.limit = std::min(subproblem.limit, limit);
          int running = 0;
          search.stop_.compare_exchange_strong(running, kFound);  // nobody needs to go on
          return;
        }
      }
    }
    for (std::size_t i = n - 1; i-- > 0;) {  // fewer splits do no better
      point.low_side[i] = std::max(point.low_side[i], point.low_side[i + 1]);
      point.high_side[i] = std::max(point.high_side[i], point.high_side[i + 1]);
    }
    point.total = fewest_pair(point.low_side, point.high_side, subproblem.splits);
  }

  void put_back(Subproblem& subproblem, Rows& rows, const Batch& batch) {
    for (const Task& task : batch.tasks) {
      int below = task.interval.below;
      u32 first = task.interval.first;
      for (std::size_t l = task.begin; l < task.end; ++l) {
        subproblem.points.push_back(batch.points[l]);
        const int at = static_cast<int>(subproblem.points.size()) - 1;
        add(subproblem, rows, {task.interval.feature, first, batch.points[l].position - 1, below, at});
        below = at;
        first = batch.points[l].position + 1;
      }
      add(subproblem, rows, {task.interval.feature, first, task.interval.last, below, task.interval.above});
    }
  }
};

SizedSearch::SizedSearch(const Table& table, const SizedSettings& settings, std::atomic<int>& stop)
    : table_(table), settings_(settings), stop_(stop) {}

SizedSearch::~SizedSearch() = default;

SizedSearch::Answer SizedSearch::run() {
  std::vector<std::unique_ptr<Solver>> solvers;
  std::vector<std::unique_ptr<Rows>> roots;  // each thread keeps columns of its own
  for (int w = 0; w < settings_.threads; ++w) {
    solvers.push_back(std::make_unique<Solver>(*this));
    roots.push_back(std::make_unique<Rows>());
    roots.back()->start(table_, settings_.isa);
  }
  const int depth = std::min(settings_.depth, settings_.splits);
  const int most = depth < 5 ? std::min(settings_.splits, (1 << depth) - 1) : settings_.splits;
  i64 base = solvers[0]->solve(*roots[0], std::min(1, most), 1, settings_.below);
  Subproblem subproblem;
  for (int splits = 2; splits <= most && base >= settings_.below && stop_.load() == 0; ++splits) {
    solvers[0]->begin(subproblem, *roots[0], splits, depth, settings_.below, base);
    const auto lane = [&](int w) {
      work(*solvers[static_cast<std::size_t>(w)], *roots[static_cast<std::size_t>(w)], subproblem);
    };
    run_workers(settings_.threads, lane, [&] { stop_ = -1; });  // out of memory: all stop, the caller hears of it
    base = subproblem.limit;
  }
  int found = kFound;
  stop_.compare_exchange_strong(found, 0);
  if (stop_.load() != 0 && base >= settings_.below) return {0, false};
  return {std::min(base, settings_.below), base < settings_.below};
}

// Every thread takes a batch of open thresholds, evaluates it and hands back what it learned, until none is left or a
// tree was found.
void SizedSearch::work(Solver& solver, Rows& rows, Subproblem& subproblem) {
  Solver::Batch& batch = *solver.batches[static_cast<std::size_t>(subproblem.splits)];
  std::unique_lock lock(mutex_);
  while (stop_.load() == 0 && subproblem.limit >= settings_.below) {
    if (!solver.take(subproblem, rows, batch)) {
      if (subproblem.busy == 0) break;
      changed_.wait_for(lock, std::chrono::milliseconds(20));
      continue;
    }
    ++subproblem.busy;
    lock.unlock();
    solver.evaluate(subproblem, rows, batch, true);
    lock.lock();
    --subproblem.busy;
    if (stop_.load() == 0) solver.put_back(subproblem, rows, batch);
    changed_.notify_all();
  }
  changed_.notify_all();
}

}  // namespace proofwood::trees
