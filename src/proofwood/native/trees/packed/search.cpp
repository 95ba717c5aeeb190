// The search over packed tests from the root (docs/theory/optimal-trees.md, "Packed tests").
#include "trees/packed/search.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "common/threads.hpp"

namespace proofwood::trees::packed {

namespace {

constexpr int kDeep = 5;            // where the search without depth is tried first
constexpr int kClosed = 1 << 30;    // depth beyond all that are of interest
constexpr double kFirstTurn = 2e7;  // work, some hundredths of a second
constexpr double kOfDepths = 0.5;   // what a depth may be expected to take, as a share of the search without depth
constexpr double kLeastGrowth = 4;  // of the work from depth to depth
constexpr double kLong = 1e8;       // what pays for trees beside the search
constexpr double kPause = 1.1;      // work of the search from one look at such trees to the next

}  // namespace

PackedSearch::PackedSearch(Shared& shared, TestTable table)
    : shared_(shared),
      table_(std::move(table)),
      kernels_(*select_kernels(shared.settings.isa, table_.largest)),
      next_look_(kLong) {
  solvers_.push_back(std::make_unique<Solver>(shared_, table_, kernels_));
}

Counters PackedSearch::counters() const {
  Counters total{};
  for (const auto& solver : solvers_) add_to(total, solver->counters);
  if (priced_) add_to(total, priced_->counters());
  return total;
}

double PackedSearch::work() const {
  double work = 0;
  for (const auto& solver : solvers_) work += solver->work();
  return work;
}

bool PackedSearch::needs_no_split() const {
  const Settings& settings = shared_.settings;
  return root_.n < 2 || !settings.minimum.may_split(root_.counts) ||
         solvers_.front()->leaf_cost(root_) <= settings.prices.leaf;
}

void PackedSearch::run() {
  const Settings& settings = shared_.settings;
  Solver& solver = *solvers_.front();
  root_.start(table_);
  Solution shallow;
  for (int d = 0; d <= std::min(settings.max_depth, 2); ++d) {  // a stump comes early where rows are many
    shallow = solver.solve(root_, d, kInfinite);
    shared_.run.offer(shallow.upper, shallow.plan);
  }
  bool closed = settings.max_depth <= 2 || needs_no_split();
  int depth = 3;
  const bool deep = settings.any_depth || settings.max_depth >= kDeep;
  if (!closed && deep && settings.rules.priced && settings.prices.leaf > 0 && !table_.by_sums() &&
      PricedSearch::fits(table_, kernels_)) {
    if (by_turns(shallow, depth) && settle_priced()) return;
    closed = depth == kClosed;
  }
  for (; depth <= settings.max_depth && !closed && !shared_.stopped(); ++depth) closed = !deepen(shallow, depth);
  if (shared_.stopped()) return;
  if (closed) shared_.run.prove(shallow.lower);
  if (!settings.canonical || settings.gap != 0) return;
  const PlanPtr first = find(root_, settings.max_depth, shared_.run.upper(), searched_);
  if (!first) return;  // stopped
  shared_.run.replace(first);
  canonical_ = true;
}

// Both searches, each getting about as much work as the other one: trees of low depth are good early, the search
// without depth ends where they do not. True if the latter ended; else `depth` is the next one, or kClosed if none is
// needed.
bool PackedSearch::by_turns(Solution& shallow, int& depth) {
  const Settings& settings = shared_.settings;
  priced_ = std::make_unique<PricedSearch>(shared_, table_, kernels_);
  double turn = kFirstTurn, last = std::max(work(), 1.0), growth = root_.n_tests();
  while (!shared_.stopped()) {
    if (priced_->run(turn)) return true;
    turn = std::max(turn, priced_->work());
    while (!shared_.stopped() && depth <= settings.max_depth && growth * last <= kOfDepths * priced_->work()) {
      const double before = work();
      if (!deepen(shallow, depth)) {
        depth = kClosed;
        return false;
      }
      const double took = work() - before;
      growth = std::max(kLeastGrowth, took / last);
      last = std::max(took, 1.0);
      if (++depth > settings.max_depth && !settings.any_depth) return false;
    }
    if (beside_ && priced_->work() >= kLong) beside_(priced_->work());
  }
  return false;
}

// What the search without depth found holds for every depth that its tree has. False if its trees are deeper than
// wanted, or stopped.
bool PackedSearch::settle_priced() {
  const Settings& settings = shared_.settings;
  const i64 optimum = std::min(priced_->upper(), shared_.run.upper() - settings.gap);
  shared_.run.prove(optimum);
  if (!settings.canonical || settings.gap != 0) return shared_.run.upper() - settings.gap <= optimum;
  const PlanPtr first = priced_->first_tree(settings.max_depth);
  if (!first) return false;
  const PlanPtr whole = complete(*first);
  shared_.run.offer(optimum, whole);
  shared_.run.replace(whole);
  return canonical_ = true;
}

// False if trees of this depth or more, which have a split a level, are known to cost no less than the best.
bool PackedSearch::deepen(Solution& shallow, int depth) {
  const Settings& settings = shared_.settings;
  const i64 price = settings.prices.leaf;
  if (shallow.upper == 0 || (settings.rules.affordable && shared_.run.upper() < price * depth)) {
    shallow.lower = std::min(shallow.lower, price * depth);
    return false;
  }
  const bool last = depth == settings.max_depth;
  const i64 limit = settings.bound_only ? settings.start_upper : kInfinite;
  Solver& solver = *solvers_.front();
  if (depth == 3 && solver.two(root_).stopped) return true;  // its sums
  Roots& roots = solver.begin_roots(root_, depth, limit, last ? settings.gap : 0, shallow);
  if (last && !settings.bound_only) roots.offer(shared_.run.upper(), nullptr);
  if (shared_.journal && !settings.bound_only) take_up(roots, solver, depth);
  while (static_cast<int>(solvers_.size()) < settings.threads)
    solvers_.push_back(std::make_unique<Solver>(shared_, table_, kernels_));
  const auto job = [&](int t) { work(*solvers_[static_cast<std::size_t>(t)], roots, depth, last); };
  // out of memory, or a broken invariant: all stop, the caller hears of it
  run_workers(settings.threads, job, [&] { shared_.stop = -1; });
  if (shared_.stopped()) return true;
  shared_.run.prove(last ? roots.lower() : bound_beyond(roots, depth));
  shallow = Solution::exact(roots.upper, roots.plan);
  shallow.lower = shallow.relaxed = roots.lower();
  if (settings.rules.cache && !last) shared_.cache.store(root_.hash, depth, shallow);
  searched_ = {depth, roots.bound};
  return true;
}

// Of all trees: deeper ones have a split more than levels were searched.
i64 PackedSearch::bound_beyond(const Roots& roots, int depth) const {
  return std::min(roots.lower(), shared_.settings.prices.leaf * (depth + 1));
}

void PackedSearch::work(Solver& solver, Roots& roots, int depth, bool last) {
  if (depth == 3 && &solver != solvers_.front().get() && solver.two(root_).stopped) return;  // its sums
  Roots::Candidate candidate;
  std::unique_lock lock(mutex_);
  while (!shared_.stopped() && roots.upper > 0 && roots.take(candidate)) {
    const i64 cutoff = roots.cutoff(), upper = roots.upper;
    lock.unlock();
    Roots::Found found;
    solver.evaluate(root_, depth, candidate, cutoff, upper, found);
    ++solver.counters[kRootSplits];
    lock.lock();
    if (found.stopped) break;
    const i64 before = roots.upper;
    roots.record(candidate, found);
    shared_.run.update(roots.upper, roots.plan, last ? roots.lower() : bound_beyond(roots, depth));
    note(depth, candidate, found);
    if (roots.upper < before) note_best(roots, depth);
    lock.unlock();
    const bool looked = look_beside(solver);
    lock.lock();
    if (looked && last) roots.offer(shared_.run.upper(), nullptr);
  }
}

// Costs by sums take so long at large depths that better trees are looked for meanwhile.
bool PackedSearch::look_beside(const Solver& solver) {
  if (!beside_ || !table_.by_sums() || &solver != solvers_.front().get() || solver.work() < next_look_) return false;
  beside_(solver.work());
  next_look_ = std::max(kLong, kPause * solver.work());
  return true;
}

// ------------------------------------------------------------------ what outlives the search

// What earlier searches proved of the tests as roots.
void PackedSearch::take_up(Roots& roots, Solver& solver, int depth) {
  i64 upper = kInfinite;
  if (const PlanPtr plan = recorded_(depth, upper)) {
    roots.offer(upper, plan);
    shared_.run.offer(upper, plan);
  }
  const i64 most = solver.leaf_cost(root_);
  for (const auto& [feature, split] : shared_.journal->splits(depth, shared_.table)) {
    if (split.low_side > most || split.high_side > most)
      throw std::invalid_argument("a recorded bound of some rows exceeds the cost of a leaf of all");
    const auto same = [&, tested = feature, rank = split.rank](u32 test) {
      return table_.tests[test].feature == tested && table_.tests[test].rank == rank;
    };
    const auto at = std::find_if(root_.tests.begin(), root_.tests.end(), same);
    if (at == root_.tests.end()) continue;  // parts the rows as another test does, whose number is less
    const auto test = static_cast<u32>(at - root_.tests.begin());
    Roots::Found found;
    found.lower = split.lower;
    found.holds = split.high_side;
    found.fails = split.low_side;
    roots.record({test, 0, 0}, found);
  }
}

// Sides with a minimum of leaves have bounds of permitted trees only, and are not told.
void PackedSearch::note(int depth, const Roots::Candidate& candidate, const Roots::Found& found) {
  if (shared_.journal == nullptr || shared_.settings.bound_only) return;
  const Test& test = table_.tests[root_.tests[candidate.test]];
  SplitRecord record{.depth = depth, .column = shared_.table.column[test.feature], .rank = test.rank};
  record.lower = found.lower;
  record.upper = std::max(found.lower, found.upper);
  if (!shared_.settings.minimum.any()) {
    record.low_side = found.fails;
    record.high_side = found.holds;
    record.total = std::min(found.lower, found.holds + found.fails + shared_.settings.prices.leaf);
  }
  shared_.journal->note(record);
}

void PackedSearch::note_best(const Roots& roots, int depth) {
  if (shared_.journal && !shared_.settings.bound_only && roots.plan)
    shared_.journal->note(DepthRecord{depth, roots.upper, 0, 0, false, numbers_of(*roots.plan, shared_.table)});
}

// ------------------------------------------------------------------ the canonical tree

PlanPtr PackedSearch::find(RowSet& rows, int most, i64 optimum, const Searched& searched) {
  Solver& solver = *solvers_.front();
  int depth = 0;
  for (; depth < most; ++depth) {
    const Solution solution = solver.solve(rows, depth, optimum + 1);
    if (solution.stopped) return nullptr;
    if (solution.upper == optimum) break;
  }
  if (depth == 0) return leaf_plan();
  const bool known = depth == searched.depth;
  const auto looked_at = [&](const Roots::Candidate& candidate, const Roots::Found& found) {
    if (known) note(depth, candidate, found);
  };
  const std::optional<u32> test =
      solver.first_root(rows, depth, optimum, known ? searched.bound : std::vector<i64>{}, looked_at);
  if (shared_.stopped()) return nullptr;
  if (!test) throw std::logic_error("no split attains the optimum");
  RowSet side[2];
  PlanPtr plan[2];
  solver.split(rows, *test, side[0], side[1]);
  for (const int s : {0, 1}) {
    const Solution solution = solver.solve(side[s], depth - 1, kInfinite);
    if (solution.stopped) return nullptr;
    plan[s] = find(side[s], depth - 1, solution.upper, {});
    if (!plan[s]) return nullptr;
  }
  return solver.plan_of(rows, *test, std::move(plan[0]), std::move(plan[1]));
}

// ------------------------------------------------------------------ ends of plans

PlanPtr PackedSearch::complete(const Plan& plan) {
  std::vector<u32> all(table_.n_entries());
  std::iota(all.begin(), all.end(), 0u);
  return complete(all, table_.group, plan);
}

PlanPtr PackedSearch::complete(const std::vector<u32>& entries, const std::vector<u32>& group, const Plan& plan) {
  if (plan.kind == Plan::kLeaf || entries.empty()) return leaf_plan();
  if (plan.kind == Plan::kStump) return solvers_.front()->end(entries, group);
  const u32 test = table_.number(plan.feature, plan.key);
  std::vector<u32> side[2], side_group[2];
  for (std::size_t g = 0; g + 1 < group.size(); ++g) {
    for (const int s : {0, 1}) side_group[s].push_back(static_cast<u32>(side[s].size()));
    for (u32 i = group[g]; i < group[g + 1]; ++i) side[table_.holds(entries[i], test) ? 1 : 0].push_back(entries[i]);
  }
  for (const int s : {0, 1}) side_group[s].push_back(static_cast<u32>(side[s].size()));
  return split_plan(plan.feature, plan.key, complete(side[0], side_group[0], *plan.low),
                    complete(side[1], side_group[1], *plan.high));
}

}  // namespace proofwood::trees::packed
