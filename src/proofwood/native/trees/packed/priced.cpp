// Trees of any depth whose leaves have a price (docs/theory/optimal-trees.md, "No depth").
#include "trees/packed/priced.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "common/threads.hpp"

namespace proofwood::trees::packed {

namespace {

// A test is followed until its bound is so many prices above the next one; then the least bound is looked at anew:
// decisions/0097-no-depth.
constexpr i64 kStep = 4;
constexpr std::size_t kMostBytes = 12'000'000;  // of the pairs of one set; two sets a level are kept

// The test of least bound below `cut` that is not solved; of equal ones that of the better tree. `second`: the bound of
// the next one.
struct Pick {
  u32 test = ~0u;
  i64 bound = kInfinite, cost = kInfinite, second = kInfinite;

  bool found() const { return test != ~0u; }
  void look(u32 at, i64 bound_of, i64 cost_of, i64 cut) {
    if (bound_of >= cut || bound_of >= cost_of) return;
    if (bound_of < bound || (bound_of == bound && cost_of < cost)) {
      second = std::min(second, bound);
      test = at;
      bound = bound_of;
      cost = cost_of;
    } else {
      second = std::min(second, bound_of);
    }
  }
  i64 cap(i64 cut, i64 price) const { return std::min(cut, std::max(bound, std::min(second, cut)) + kStep * price); }
};

void learn(PricedSet& set, u32 test, int side, i64 lower, i64 upper, const PlanPtr& plan) {
  if (upper < set.side_upper[side][test]) {
    set.side_upper[side][test] = upper;
    set.side_plan[side][test] = plan;
  }
  set.side_lower[side][test] = std::max(set.side_lower[side][test], std::min(lower, set.side_upper[side][test]));
}

int depth_of(const Plan& plan) {
  if (plan.kind == Plan::kSplit) return 1 + std::max(depth_of(*plan.low), depth_of(*plan.high));
  return plan.kind == Plan::kStump ? 1 : 0;
}

}  // namespace

PricedSolver::PricedSolver(Shared& shared, const TestTable& table, const Kernels& kernels)
    : room(table, kernels, shared.settings,
           {[](const void* run) { return static_cast<const Shared*>(run)->stopped(); }, &shared}),
      shared_(shared) {}

PricedSolver::Level& PricedSolver::level(std::size_t at) {
  while (levels_.size() <= at) levels_.push_back(std::make_unique<Level>());
  return *levels_[at];
}

// ------------------------------------------------------------------ one test

// What is known of the sides that are not solved. Whether each was begun before.
void PricedSolver::look_up(PricedSet& set, u32 test, bool (&seen)[2]) {
  if (!room.settings.rules.cache) return;
  u64 hash[2][2];
  set.rows.side_hash(room.table, room.kernels, test, true, hash[1]);
  for (const int k : {0, 1}) hash[0][k] = set.rows.hash[k] - hash[1][k];
  for (const int s : {0, 1}) {
    if (set.solved(test, s)) continue;
    const auto found = shared_.cache.find(hash[s], kAnyDepth);
    if (!found) continue;
    ++counters[kCacheHits];
    seen[s] = true;
    learn(set, test, s, found->lower, found->upper, found->plan);
  }
}

bool PricedSolver::begin_side(PricedSet& set, u32 test, int side, std::size_t at) {
  ++counters[kBatches];
  PricedSet& of = level(at).side[side];
  of.rows.take_side(room.table, room.kernels, set.rows, test, side == 1);
  if (!of.begin(room, &set, test, side, set.side_lower[side][test])) return false;
  learn(set, test, side, of.lower, of.upper, of.plan);
  return true;
}

void PricedSolver::keep(PricedSet& set) {
  if (!room.settings.rules.cache) return;
  Solution solution = Solution::exact(set.upper, set.plan);
  solution.lower = solution.relaxed = set.lower;
  shared_.cache.store(set.rows.hash, kAnyDepth, solution);
}

// Both sides are looked at before either is searched, the lighter one first, with what the other leaves of the limit.
void PricedSolver::evaluate(PricedSet& set, u32 test, i64 cap, std::size_t at) {
  ++counters[kCandidates];
  bool seen[2] = {}, begun[2] = {};
  look_up(set, test, seen);
  const auto open = [&](int s) {
    return !set.solved(test, s) && set.side_lower[0][test] + set.side_lower[1][test] + room.leaf < cap;
  };
  const int first = set.weight(room, test, 1) <= set.weight(room, test, 0) ? 1 : 0;
  const int order[2] = {first, 1 - first};
  bool lasts = true;
  for (const int s : order)
    if (lasts && !seen[s] && open(s)) lasts = begun[s] = begin_side(set, test, s, at);
  for (const int s : order) {
    if (lasts && open(s) && !begun[s]) lasts = begun[s] = begin_side(set, test, s, at);
    if (!lasts || !open(s)) continue;
    PricedSet& side = level(at).side[s];
    search(side, cap - room.leaf - set.side_lower[1 - s][test], false, at + 1);
    learn(set, test, s, side.lower, side.upper, side.plan);
  }
  for (const int s : order)
    if (begun[s]) keep(level(at).side[s]);
  set.refresh(room, test);
}

void PricedSolver::search(PricedSet& set, i64 limit, bool ties, std::size_t at) {
  ++counters[kSubproblems];
  while (!halted() && (ties || set.lower < set.upper)) {
    const i64 cut = ties ? limit : std::min(limit, set.upper);
    Pick pick;
    for (u32 t = 0; t < set.rows.n_tests(); ++t)
      if (set.bound[t] < cut) pick.look(t, set.bound[t], set.cost(room, t), cut);
    if (!pick.found()) break;
    evaluate(set, pick.test, ties ? cut : pick.cap(cut, room.leaf), at);
    if (set.cost(room, pick.test) < set.upper) {
      set.upper = set.cost(room, pick.test);
      set.plan = set.plan_of(room, pick.test);
    }
    for (const int s : {0, 1}) set.spread(room, pick.test, s);
  }
  set.lower = std::max(set.lower, std::min(set.upper, set.least_bound()));
}

// ------------------------------------------------------------------ the canonical tree

PlanPtr PricedSolver::first_tree(PricedSet& set, Known& known, int most, std::size_t at) {
  const i64 optimum = set.lower;
  search(set, optimum + 1, true, at);
  if (shared_.stopped()) return nullptr;
  std::vector<u32> best;
  for (u32 t = 0; t < set.rows.n_tests(); ++t)
    if (set.bound[t] <= optimum && set.cost(room, t) == optimum) best.push_back(t);
  if (best.empty()) throw std::logic_error("no split attains the optimum");
  most = std::min(most, static_cast<int>(set.rows.n));
  for (; known.depth <= most; ++known.depth) {
    for (const u32 test : best) {
      ++counters[kCanonicalSplits];
      PlanPtr low = tree_of_side(set, test, 0, known.depth - 1, at);
      PlanPtr high = low ? tree_of_side(set, test, 1, known.depth - 1, at) : nullptr;
      if (shared_.stopped()) return nullptr;
      if (!high) continue;
      const Test& of = room.table.tests[set.rows.tests[test]];
      return known.plan = split_plan(of.feature, of.key(), std::move(low), std::move(high));
    }
  }
  return nullptr;
}

PlanPtr PricedSolver::tree_of_side(PricedSet& set, u32 test, int side, int most, std::size_t at) {
  const i64 optimum = set.side_upper[side][test];
  if (optimum == set.side_leaf(room, test, side)) return leaf_plan();
  if (most >= 1 && optimum == set.shallow[side][test]) return stump_plan();
  if (most < 2) return nullptr;
  PricedSet& of = level(at).side[side];
  of.rows.take_side(room.table, room.kernels, set.rows, test, side == 1);
  Known& known = known_[{of.rows.hash[0], of.rows.hash[1]}];
  if (known.plan || known.depth > most) return known.depth <= most ? known.plan : nullptr;
  if (!of.begin(room, &set, test, side, optimum)) return nullptr;
  of.lower = optimum;
  return first_tree(of, known, most, at + 1);
}

// ------------------------------------------------------------------ from the root

PricedSearch::PricedSearch(Shared& shared, const TestTable& table, const Kernels& kernels)
    : shared_(shared), table_(table), kernels_(kernels) {}

bool PricedSearch::fits(const TestTable& table, const Kernels& kernels) {
  return std::size_t{table.priced_layers.n_layers} * table.tests.size() * table.stride *
             static_cast<std::size_t>(kernels.cell_bytes) <=
         kMostBytes;
}

double PricedSearch::work() const {
  double work = 0;
  for (const auto& solver : solvers_) work += solver->room.work;
  return work;
}

Counters PricedSearch::counters() const {
  Counters total{};
  for (const auto& solver : solvers_) add_to(total, solver->counters);
  return total;
}

bool PricedSearch::begin(PricedSolver& solver, PricedSet& set) {
  set.rows.start(table_);
  return set.begin(solver.room, nullptr, 0, 0, 0);
}

// The set of the first thread, and what all know of it.
bool PricedSearch::begin() {
  if (!roots_.empty()) return true;
  solvers_.push_back(std::make_unique<PricedSolver>(shared_, table_, kernels_));
  auto root = std::make_unique<PricedSet>();
  if (!begin(*solvers_.front(), *root)) return false;
  for (const int s : {0, 1}) {
    side_lower_[s] = root->side_lower[s];
    side_upper_[s] = root->side_upper[s];
    side_plan_[s] = root->side_plan[s];
  }
  bound_ = root->bound;
  busy_.assign(bound_.size(), 0);
  least_ = root->lower;
  upper_ = root->upper;
  if (depth_of(*root->plan) <= shared_.settings.max_depth) shared_.run.offer(upper_, root->plan);
  roots_.push_back(std::move(root));
  shared_.run.prove(lower());
  return true;
}

bool PricedSearch::run(double work) {
  if (!begin()) return false;
  const int threads = shared_.settings.threads;
  while (static_cast<int>(solvers_.size()) < threads)
    solvers_.push_back(std::make_unique<PricedSolver>(shared_, table_, kernels_));
  while (roots_.size() < solvers_.size()) roots_.push_back(nullptr);
  for (auto& solver : solvers_) solver->allowed = solver->room.work + work;
  const auto job = [&](int t) {
    const auto at = static_cast<std::size_t>(t);
    if (!roots_[at]) {
      auto root = std::make_unique<PricedSet>();
      if (!begin(*solvers_[at], *root)) return;
      roots_[at] = std::move(root);
    }
    this->work(*solvers_[at], *roots_[at]);
  };
  run_workers(threads, job, [&] { shared_.stop = -1; });
  if (shared_.stopped()) return false;
  std::fill(busy_.begin(), busy_.end(), char{0});
  u32 test = 0;
  i64 cap = 0;
  return !take(*roots_.front(), test, cap);
}

// Only trees that cost less are of interest.
i64 PricedSearch::cutoff() const { return std::min(upper_, shared_.run.upper() - shared_.settings.gap); }

i64 PricedSearch::lower() const {
  i64 least = upper_;
  for (const i64 of_test : bound_) least = std::min(least, of_test);
  return std::max(least, std::min(least_, upper_));
}

bool PricedSearch::take(const PricedSet& set, u32& test, i64& cap) {
  const i64 cut = cutoff();
  Pick pick;
  for (u32 t = 0; t < bound_.size(); ++t)
    if (!busy_[t] && bound_[t] < cut)
      pick.look(t, bound_[t], set.side_upper[0][t] + set.side_upper[1][t] + shared_.settings.prices.leaf, cut);
  if (!pick.found()) return false;
  test = pick.test;
  cap = pick.cap(cut, shared_.settings.prices.leaf);
  return true;
}

// Both know what either knew.
void PricedSearch::exchange(PricedSet& set) {
  for (std::size_t t = 0; t < bound_.size(); ++t) {
    for (const int s : {0, 1}) {
      set.side_lower[s][t] = side_lower_[s][t] = std::max(set.side_lower[s][t], side_lower_[s][t]);
      if (set.side_upper[s][t] < side_upper_[s][t]) {
        side_upper_[s][t] = set.side_upper[s][t];
        side_plan_[s][t] = set.side_plan[s][t];
      } else if (side_upper_[s][t] < set.side_upper[s][t]) {
        set.side_upper[s][t] = side_upper_[s][t];
        set.side_plan[s][t] = side_plan_[s][t];
      }
    }
    set.bound[t] = bound_[t] = std::max(set.bound[t], bound_[t]);
  }
}

void PricedSearch::work(PricedSolver& solver, PricedSet& set) {
  std::unique_lock lock(mutex_);
  exchange(set);
  u32 test = 0;
  i64 cap = 0;
  while (!solver.halted() && take(set, test, cap)) {
    busy_[test] = 1;
    lock.unlock();
    solver.evaluate(set, test, cap, 0);
    for (const int s : {0, 1}) set.spread(solver.room, test, s);
    ++solver.counters[kRootSplits];
    lock.lock();
    busy_[test] = 0;
    exchange(set);
    offer(solver, set, test);
  }
}

void PricedSearch::offer(PricedSolver& solver, const PricedSet& set, u32 test) {
  const i64 cost = set.cost(solver.room, test);
  if (cost < upper_) {
    upper_ = cost;
    const PlanPtr plan = set.plan_of(solver.room, test);
    if (cost < shared_.run.upper() && depth_of(*plan) <= shared_.settings.max_depth) shared_.run.offer(cost, plan);
  }
  shared_.run.prove(lower());
}

PlanPtr PricedSearch::first_tree(int most) {
  PricedSet& root = *roots_.front();
  PricedSolver& solver = *solvers_.front();
  solver.allowed = std::numeric_limits<double>::infinity();
  exchange(root);
  root.lower = std::min(upper_, shared_.run.upper());
  if (root.leaf == root.lower) return leaf_plan();
  PricedSolver::Known known{1, nullptr};
  return solver.first_tree(root, known, most, 0);
}

}  // namespace proofwood::trees::packed
