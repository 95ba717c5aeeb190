// Branch and bound over sets of tests: the root, its children on threads, and what is known so far.
//
// Theory: docs/theory/decision-diagrams.md, "Choosing the tests: branch and bound over sets".
// The problem is that of Hu, Huguet, Siala, AAAI 2022 (MaxSAT-BDD); the search is ours.
#include "bdd/subset_search.hpp"

#include <algorithm>
#include <limits>

#include "bdd/worker.hpp"
#include "common/threads.hpp"

namespace proofwood::bdd {

Search::Search(Table& given, const Settings& settings, std::atomic<int>& stop, SetRun::Clock::time_point started,
               const Proved* earlier)
    : table_(given),
      settings_(settings),
      stop_(stop),
      kernels_(*subset_kernels(settings.isa)),
      run_(settings.upper, stop, started),
      counters_(kCounters, 0),
      earlier_(earlier),
      told_(run_.state()) {
  settings_.size = std::min(settings_.size, table_.tests);
}

void Search::run() {
  collected_.resize(1);
  gathered_ = std::vector<std::atomic<std::size_t>>(1);
  if (stopped() && (earlier_ == nullptr || !earlier_->whole)) {  // a worker takes its time to make: memory for each cut
    conclude();
    return;
  }
  Worker first(*this);
  first.begin(first.nodes[0]);
  if (take_up_end(first)) return;
  find_first_set(first);
  if (settings_.greedy_only) {
    add_counters(first);
    return;
  }
  if (settings_.boxes)
    search_boxes(first);
  else
    search_sets(first);
  add_counters(first);
  conclude();
}

void Search::find_first_set(Worker& first) {
  if (settings_.starts_first) first.complete_starts();
  if (!settings_.collect && settings_.rules.greedy && !take_up_greedy(first) && !stopped()) {
    in_greedy_ = true;
    first.greedy();
    in_greedy_ = false;
    note_greedy();
  }
  greedy_upper_ = upper();
  if (settings_.starts_first) {  // which set is kept does not depend on starts, which come from some of the rows
    greedy_upper_ = greedy_.error;
    if (greedy_.error == upper()) run_.replace(greedy_.set);
  }
  greedy_done_ = settings_.rules.greedy && !stopped();
  if (!settings_.starts_first) first.complete_starts();
}

// One test after the other is added.
void Search::search_sets(Worker& first) {
  Node& root = first.nodes[0];
  if (settings_.rules.matching && settings_.size > 1)  // may take long: a first set is known by then
    add_near_pairs(table_, settings_.neighbours, kernels_, stop_);
  root.given = &table_.edges;
  if (stopped()) {
    take_up_best(first);
    return;
  }
  if (root.left <= (table_.by_rank ? 1u : 2u) || root.error == 0 || upper() <= 0) {
    take_up_best(first);
    if (upper() > 0) first.visit(root, 0);
    return;
  }
  if (root.error < upper()) first.found(root.error, root.chosen);
  const i64 bound = first.expand(root);
  take_up_best(first);  // not before: which candidates the root has depends on the first set alone
  if (bound < upper() && !stopped()) search_children(first, root);
}

void Search::add_counters(const Worker& worker) {
  const std::lock_guard lock(mutex_);
  for (int c = 0; c < kCounters; ++c)
    counters_[static_cast<std::size_t>(c)] += worker.counters[static_cast<std::size_t>(c)];
}

void Search::conclude() {
  const std::lock_guard lock(mutex_);
  done_ = enough_ || !stopped();
  std::size_t gathered = 0;
  for (const auto& count : gathered_) gathered += count;
  complete_ = done_ && gathered <= settings_.max_sets;
  if (done_)
    run_.prove(upper());
  else
    prove_by_children();
}

void Search::search_children(Worker& first, const Node& root) {
  constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();
  const std::size_t n = root.candidates.size();
  first.counters[kRootChildren] = static_cast<i64>(n);
  {
    const std::lock_guard lock(mutex_);
    open_ = root.child_bound;
    prove_by_children();
  }
  std::vector<std::vector<Set>> before = std::move(collected_);
  collected_.assign(n + 1, {});
  collected_[0] = std::move(before[0]);
  gathered_ = std::vector<std::atomic<std::size_t>>(n + 1);
  gathered_[0] = collected_[0].size();
  next_ = 0;
  const bool cuts = table_.by_rank && settings_.rules.similarity;
  RootChildren children{root,
                        cuts,
                        {},
                        std::vector<std::size_t>(cuts ? table_.raw_begin.back() : 0, kNobody),
                        std::chrono::steady_clock::now()};
  if (cuts) first.weigh_ranks(root, children.below);
  if (earlier_) take_up_children(first, children);
  const u32 n_workers = static_cast<u32>(std::clamp<std::size_t>(n, 1, std::max(settings_.threads, 1u)));
  std::vector<Worker> workers;
  workers.reserve(n_workers);
  for (u32 t = 0; t < n_workers; ++t) workers.emplace_back(*this);
  const auto work = [&](int w) {
    Worker& worker = workers[static_cast<std::size_t>(w)];
    for (;;) {
      const std::size_t s = next_.fetch_add(1);
      if (s >= n || stopped()) break;
      worker.task = s + 1;
      if (surplus(worker.task)) break;
      if (!known_.empty() && known_[s]) continue;
      if (!search_child(worker, children, s)) break;
    }
    add_counters(worker);
  };
  run_workers(static_cast<int>(n_workers), work, [&] { stop_ = -1; });
}

// False if the search has stopped, and the child is left open.
bool Search::search_child(Worker& worker, RootChildren& children, std::size_t s) {
  Node& child = worker.nodes[1];
  const u32 test = children.root.candidates[s];
  bool skip = false;
  if (children.cuts) {
    const std::lock_guard lock(mutex_);
    skip = children.ruled_out[table_.raw_of[test]] < s;
  }
  i64 proved = 0;
  if (skip)
    ++worker.counters[kBySimilarity];
  else if (worker.descend(children.root, static_cast<u32>(s), child))
    proved = std::min(worker.visit(child, 1), child.floor);
  if (stopped()) return false;
  const std::lock_guard lock(mutex_);
  open_[s] = std::numeric_limits<i64>::max();
  ++worker.counters[kRootChildrenDone];
  if (earlier_) note_child(children, s, proved);
  rule_out(children, s, proved);
  const auto now = std::chrono::steady_clock::now();
  if (now - children.noted < std::chrono::milliseconds(5)) return true;  // the least of many bounds takes time
  children.noted = now;
  prove_by_children();
  return true;
}

// Under the mutex: what the bound of a finished child says of other cuts of its column.
void Search::rule_out(RootChildren& children, std::size_t s, i64 proved) const {
  if (!children.cuts || proved < upper()) return;
  table_.each_cut_in_neighbourhood(
      children.below, children.root.candidates[s], proved - upper(),
      [&](std::size_t place) { children.ruled_out[place] = std::min(children.ruled_out[place], s); });
}

bool Search::surplus(std::size_t task) const {
  if (gathered_all_.load(std::memory_order_relaxed) <= settings_.max_sets) return false;
  std::size_t sum = 0;
  for (std::size_t t = 0; t <= task; ++t) {
    sum += gathered_[t].load(std::memory_order_relaxed);
    if (sum > settings_.max_sets) return true;
  }
  return false;
}

void Search::offer(i64 error, const Set& chosen) {
  if (in_greedy_ && error < greedy_.error) greedy_ = {error, chosen};
  if (error >= upper()) return;
  run_.offer(error, chosen);
  has_set_ = true;
  if (error <= settings_.enough) enough_ = true;
}

// Under the mutex. Below the root only unfinished children can hold a better set.
void Search::prove_by_children() {
  if (!open_.empty()) run_.prove(*std::min_element(open_.begin(), open_.end()));
}

Set Search::set() const {
  Set numbers;
  for (const u32 test : run_.answer()) numbers.push_back(table_.number[test]);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::vector<Set> Search::sets() const {
  std::vector<Set> all;
  for (const auto& sets : collected_) {
    for (const Set& set : sets) {
      if (all.size() == settings_.max_sets) return all;
      all.emplace_back();
      for (const u32 test : set) all.back().push_back(table_.number[test]);
    }
  }
  return all;
}

std::vector<i64> Search::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace proofwood::bdd
