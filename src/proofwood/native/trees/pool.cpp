// Threads that search the root together: each takes the open interval of least bound, evaluates a candidate of it and
// hands back what it learned (ConTree, Algorithm 1, by several hands; docs/theory/optimal-trees.md, "The search").
#include "trees/pool.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "common/threads.hpp"

namespace proofwood::trees {

template <class Value>
void PoolOf<Value>::run(Subproblem& root, bool last) {
  std::vector<std::unique_ptr<Solver>> others;
  for (int t = 1; t < shared_.settings.threads; ++t) others.push_back(std::make_unique<Solver>(shared_));
  const auto job = [&](int t) { work(t == 0 ? main_ : *others[static_cast<std::size_t>(t - 1)], root, last); };
  // out of memory, or a broken invariant: all stop, the caller hears of it
  run_workers(shared_.settings.threads, job, [&] { shared_.stop = -1; });
  for (const auto& solver : others) add_to(counters, solver->counters);
}

template <class Value>
void PoolOf<Value>::work(Solver& solver, Subproblem& root, bool last) {
  Candidate candidate;
  Evaluated evaluated;
  const double thresholds = static_cast<double>(root.rows->n) * root.rows->n_features;
  std::unique_lock lock(mutex_);
  while (!shared_.stopped()) {
    if (!root.take(candidate)) {
      if (root.busy.empty()) break;
      changed_.wait_for(lock, std::chrono::milliseconds(20));
      continue;
    }
    root.busy.push_back(candidate.interval);
    lock.unlock();
    const i64 before = solver.counters[kWork];
    solver.evaluate(*root.rows, root.depth, candidate, root.gap, evaluated);
    ++solver.counters[kRootSplits];
    Floors floors;
    if (blocks_) floors = blocks_->keep_pace(static_cast<u64>(solver.counters[kWork] - before), closed_);
    lock.lock();
    if (!floors.empty()) root.queue.raise_floors(floors);
    hand_back(candidate, evaluated, root, last && is_due(root, solver.counters[kWork] - before));
    closed_ = last ? 1 - static_cast<double>(root.queue.open_thresholds()) / thresholds : 1.0;
    changed_.notify_all();
    if (&solver != &main_ || !between_) continue;
    lock.unlock();
    between_();
    lock.lock();
    if constexpr (kOneNumber<Value>)
      if (last) root.upper = std::min(root.upper, shared_.run.upper());  // a better tree, which the root need not know
  }
  changed_.notify_all();
}

template <class Value>
void PoolOf<Value>::hand_back(const Candidate& candidate, Evaluated& evaluated, Subproblem& root, bool tells) {
  for (auto interval = root.busy.begin(); interval != root.busy.end(); ++interval) {
    if (interval->feature == candidate.interval.feature && interval->first == candidate.interval.first) {
      root.busy.erase(interval);
      break;
    }
  }
  const Value before = root.upper;
  root.record(candidate, evaluated);
  root.note(evaluated, shared_.table);
  if (exceeds(before, root.upper)) root.note_best(shared_.table);
  if constexpr (kOneNumber<Value>) {
    constexpr std::size_t kTogether = 64;
    if (root.depth > 3 && root.queue.points.size() % kTogether == 0) root.forget_known(root.upper);
    const i64 beyond = shared_.settings.prices.leaf * (root.depth + 1);  // deeper trees have a split more than levels
    i64 lower = 0;
    if (tells || beyond > 0) lower = root.checked_lower(root.rows->leaf);
    shared_.run.update(root.upper, root.plan, tells ? lower : std::min(lower, beyond));
  } else if (tells || exceeds(before, root.upper)) {
    shared_.run.update(root.upper, root.plan, tells ? root.checked_lower(root.rows->leaf) : same<Value>(0, root.depth));
  }
}

// Whether the bound of all trees is worth its time: that of a vector takes a look at every open interval.
template <class Value>
bool PoolOf<Value>::is_due(const Subproblem& root, i64 work) {
  if constexpr (kOneNumber<Value>) {
    return true;
  } else {
    constexpr i64 kValuesPerInterval = 1'000;
    told_ += work;
    if (told_ < kValuesPerInterval * static_cast<i64>(root.queue.n_open() + 1)) return false;
    told_ = 0;
    return true;
  }
}

template class PoolOf<i64>;
template class PoolOf<Leaves>;

}  // namespace proofwood::trees
