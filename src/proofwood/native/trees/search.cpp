// The search from the root: first trees, then depth after depth, then the canonical tree (ConTree, Algorithm 1;
// docs/theory/optimal-trees.md, "The search").
#include "trees/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "trees/canonical_tree.hpp"
#include "trees/first_trees.hpp"
#include "trees/improve.hpp"
#include "trees/pool.hpp"

namespace proofwood::trees {

namespace {

// A level needs a split: no deeper than a single leaf pays for.
int depth_paid_for(const Settings& settings, const Table& table) {
  ClassCounts all;
  all.clear(table.n_classes);
  for (u32 r = 0; r < table.n_rows; ++r) all.add(table, r);
  const i64 leaf = settings.prices.error * all.errors(), price = settings.prices.leaf;
  if (leaf == 0) return 0;
  if (price <= 0) throw std::invalid_argument("trees of any depth need a price of a leaf");
  const i64 splits = std::min(std::max<i64>(0, leaf - 1) / price, std::max<i64>(0, i64{table.n_rows} - 1));
  return static_cast<int>(std::min<i64>(splits, std::numeric_limits<int>::max() / 4));
}

// Without the cost that every tree has, and without the rules that do not hold for the task.
Settings for_table(Settings settings, const Table& table) {
  if (settings.start_upper < kInfinite) settings.start_upper -= settings.prices.error * table.constant;
  Rules& rules = settings.rules;
  if (table.by_sums() && !rules.pair_sums) rules.packed = false;
  // Rounded down, a tree may cost a unit less where more levels are left, without more splits: decisions/0093-tasks.
  if (table.rounded) rules.affordable = false;
  if (!table.similar) rules.reach = rules.similarity = rules.blocks = false;
  // What one more row may cost a tree of numbers exceeds what neighbours differ by: decisions/0093-tasks.
  if (!table.own.empty()) rules.similarity = rules.interval_shrinking = false;
  if (settings.any_depth) {
    if (table.by_sums()) throw std::invalid_argument("trees of any depth need classes");
    settings.max_depth = depth_paid_for(settings, table);
    rules.blocks = false;  // their bounds are of one depth
  }
  return settings;
}

}  // namespace

Search::Search(Table table, const Settings& settings, std::atomic<int>& stop, TreeRun::Clock::time_point started,
               Journal* journal)
    : table_(std::move(table)),
      settings_(for_table(settings, table_)),
      shared_(table_, settings_, stop, started),
      main_(shared_) {
  shared_.journal = journal;
}

// Looks for better trees over thresholds. Its cache is its own: packed sets of rows have other hashes.
struct Search::Beside {
  Shared shared;
  Solver solver;
  Rows root;
  Improver improver;

  Beside(const Table& table, const Settings& settings, const Shared& of)
      : shared(table, settings, of.stop, TreeRun::Clock::now()),
        solver(shared),
        improver(solver, start(root, table, settings), settings.tree_depth()) {
    improver.start();
    solver.solve(root, 2);
    improver.note_front();
    improver.take_grown();
    improver.begin_depth(3);
  }
  static Rows& start(Rows& root, const Table& table, const Settings& settings) {
    root.start(table, settings.isa);
    return root;
  }
};

Search::~Search() = default;

Bounds Search::whole(const Bounds& counted) const {
  return {counted.upper + constant_cost(), counted.lower + constant_cost()};
}

std::vector<TreeRun::Event> Search::events_since(std::size_t first) const {
  auto events = shared_.run.events_since(first);
  for (auto& event : events) event.state = whole(event.state);
  return events;
}

void Search::run() {
  if (settings_.rules.packed)
    if (auto tests = packed::pack_table(table_, settings_))
      packed_ = std::make_unique<packed::PackedSearch>(shared_, *std::move(tests));
  if (!packed_) root_.start(table_, settings_.isa);
  const bool was_done = shared_.journal && take_up();
  begun_ = true;
  if (was_done) return;
  if (packed_ && shared_.journal)
    packed_->take_up([this](int depth, i64& upper) -> PlanPtr {
      const DepthRecord* known = shared_.journal->depth(depth);
      if (known == nullptr) return nullptr;
      upper = known->upper;
      return counted(known->plan, depth, upper);
    });
  if (packed_) {
    constexpr int kDeep = 5;  // from where costs by sums take long
    if ((settings_.any_depth || (table_.by_sums() && settings_.max_depth >= kDeep)) && !settings_.bound_only)
      packed_->search_beside([this](double work) { look_beside(work); });
    packed_->run();
    beside_.reset();
    canonical_ = packed_->canonical();
    add_to(totals_, packed_->counters());
  } else {
    run_by_intervals();
  }
  done_ = !shared_.stopped();
}

void Search::look_beside(double work) {
  constexpr double kShare = 0.25;
  if (!beside_) beside_ = std::make_unique<Beside>(table_, settings_, shared_);
  if (const PlanPtr best = shared_.run.answer()) beside_->improver.take(packed_->complete(*best));
  beside_->improver.note_blocks(static_cast<u64>(kShare * work));
  beside_->improver.run();
  const auto [bounds, plan] = beside_->shared.run.known();
  if (plan) shared_.run.offer(bounds.upper, plan);
}

void Search::run_by_intervals() {
  if (settings_.by_part()) {
    run_part();
    add_to(totals_, main_.counters);
    return;
  }
  shared_.run.offer(root_.leaf, leaf_plan());
  if (settings_.max_depth <= 2 || needs_no_split())
    run_shallow();
  else
    run_deep();
  add_to(totals_, main_.counters);
}

bool Search::needs_no_split() const {
  return root_.n < 2 || !settings_.minimum.may_split(root_.counts) || root_.leaf <= settings_.prices.leaf;
}

// Bounds by blocks do not shorten the search, so their work is a share of what that will probably take
// (docs/decisions/0022-block-bounds.md).
void Search::begin_blocks() {
  constexpr double kWhileShallow = 0.5, kLarge = 3e6, kManyFeatures = 10;
  const bool deep = settings_.max_depth > 4;
  const double times = deep ? 400 : 20, most = deep ? 4e9 : 3e8;  // at most about 20 and 2 seconds
  blocks_ = std::make_unique<BlockSearch>(shared_, root_, settings_.max_depth);
  const double known = static_cast<double>(main_.counters[kWork]);
  const double small = std::min(1.0, known / kLarge) * std::min(1.0, root_.n_features / kManyFeatures);
  const double first = std::min(times * known * small, most);
  bound_part();
  // In portions, so that better trees are looked for in between.
  constexpr i64 kPortion = 5'000'000, kPortions = 200;
  i64 left = std::max(settings_.block_work, static_cast<i64>(first));
  const i64 portion = std::max(kPortion, left / kPortions);
  do {
    blocks_->allow(std::min(left, portion), kWhileShallow);
    blocks_->keep_pace(0, 1.0);
    left -= portion;
    look_for_trees();
  } while (left > 0 && !met() && !shared_.stopped());
}

// Where a bound of all rows takes long, one of some rows comes first: the rest cost no less than nothing. With many
// features, each is cut into two blocks only.
void Search::bound_part() {
  constexpr double kLong = 1e8, kPart = 1e7, kFewest = 1'000, kManyPairs = 500, kFewestOfMany = 200;
  const int depth = settings_.max_depth;
  const double features = static_cast<double>(root_.n_features + table_.levels.size());
  const bool many = depth == 4 && features * features >= kManyPairs;
  const double work = root_.n * std::pow(features, depth - 1), n = root_.n * kPart / work;
  if (many ? n < kFewestOfMany : work <= kLong || n < kFewest) return;
  const LevelColumn part = some_of_each_class(static_cast<u32>(std::min<double>(n, root_.n)));
  if (!main_.split_levels(root_, part, only(1), depth)) return;
  BlockSearch search(shared_, main_.level(depth).low, depth, many ? 2 : kBlocks);
  constexpr u64 kPortion = 2'000'000;
  u64 most = kForFirstBound;
  for (u64 given = 0; given < most && !shared_.stopped(); given += kPortion) {
    search.allow(kPortion, 0);
    search.keep_pace(0, 1.0);
    if (search.bounds()) most = std::min(most, given + given / 4);  // it rises fast at first
  }
}

// Level 1: about so many rows, of each class as many as there are or as many as of the others, since what a tree gets
// wrong is mostly the lesser classes.
LevelColumn Search::some_of_each_class(u32 wish) const {
  const auto class_of = [&](u32 row) { return table_.by_sums() ? 0u : table_.label[row]; };
  std::vector<u64> count(std::max(table_.n_classes, 1u), 0), seen(count.size(), 0);
  for (u32 r = 0; r < root_.n; ++r) ++count[class_of(r)];
  std::vector<u64> ascending = count;
  std::sort(ascending.begin(), ascending.end());
  u64 each = 0, left = wish;
  for (std::size_t c = 0; c < ascending.size(); ++c) {
    each = left / (ascending.size() - c);
    left -= std::min(left, ascending[c]);
    if (ascending[c] > each) break;
  }
  LevelColumn part;
  part.code.resize(root_.n);
  for (u32 r = 0; r < root_.n; ++r) {  // at even distances
    const u64 all = count[class_of(r)], taken = std::min(all, each), at = seen[class_of(r)]++;
    part.code[r] = (at + 1) * taken / all > at * taken / all;
  }
  return part;
}

void Search::look_for_trees() {
  if (improver_ == nullptr) return;
  if (blocks_) {
    // A bound that says something comes first: what it takes pays for no trees. Deep trees may have no error at all.
    if (settings_.max_depth == 4 && blocks_->says_little())
      for_first_bound_ = std::min(blocks_->work(), kForFirstBound);
    improver_->note_blocks(blocks_->work() - for_first_bound_);
  }
  improver_->run();
}

void Search::settle(const PlanPtr& canonical) {
  if (!canonical) return;  // stopped
  shared_.run.replace(canonical);
  canonical_ = true;
}

void Search::run_shallow() {
  const i64 upper = shared_.run.upper();
  const Request request{.limit = upper == kInfinite ? kInfinite : upper + 1, .gap = settings_.gap};
  const bool by_batches = main_.batched(settings_.max_depth) && !needs_no_split();
  const Solution solution =
      by_batches ? main_.solve_depth_two(root_, request, true) : main_.solve(root_, settings_.max_depth, request);
  shared_.run.offer(solution.upper, solution.plan);
  shared_.run.prove(solution.lower);
  if (!solution.stopped && settings_.canonical && settings_.gap == 0)
    settle(CanonicalTree(main_).find(root_, settings_.max_depth, shared_.run.upper()));
}

// Each depth starts with the tree of the depth before, and a bound of what splitting off nothing costs.
void Search::run_deep() {
  Improver improver(main_, root_, settings_.tree_depth());
  improver_ = settings_.bound_only ? nullptr : &improver;
  const std::vector<u32> rank = improver.start();
  Solution shallow = main_.solve(root_, 2);
  searched_ = main_.counters[kWork];
  note_depth(2, shallow);
  shared_.run.offer(shallow.upper, shallow.plan);
  if (improver_) {
    improver.note_front();
    build_first_trees(2);
    improver.begin_depth(3);
  }
  prepare_threads();
  const int depth = settings_.max_depth;
  if (settings_.rules.blocks && (depth > 3 || settings_.block_work > 0) && !met()) begin_blocks();
  int from = 3;
  shallow = take_up_depths(std::move(shallow), from);
  bool closed = false;  // whether deeper trees are known to cost more than the best
  const bool at_once = met() && !(shared_.journal && shared_.journal->began());
  for (int d = from; d <= depth && !closed && !shared_.stopped() && !met(); ++d) closed = !deepen(shallow, rank, d);
  main_.counters[kRowVisits] += improver.visits();
  improver_ = nullptr;
  if (blocks_) totals_[kBlockWork] = static_cast<i64>(blocks_->work());
  blocks_.reset();  // gives back its memory
  if (shared_.stopped()) return;
  Subproblem& root = main_.level(depth).subproblem;
  if (!closed && !met()) shared_.run.prove(root.checked_lower(root_.leaf));
  if (!settings_.canonical || settings_.gap != 0) return;
  if (root.depth == depth)
    settle(CanonicalTree(main_).find(root_, depth, shared_.run.upper(), root));
  else
    settle_early(at_once);
}

// The bound met the best tree before the last depth was searched. A tree that was known before any thread began is the
// same for any number of threads: then the last pass, which may take hundreds of times as long, only gets about the
// work that the tree took (docs/decisions/0102-bounds-that-are-known.md).
void Search::settle_early(bool at_once) {
  constexpr i64 kWalks = 250, kLeast = 20'000'000;
  int depth = settings_.max_depth;
  if (at_once) {
    const i64 visits = std::max(kLeast, kWalks * root_.n * root_.n_features), before = main_.counters[kRowVisits];
    depth = make_shallow(visits / 2);
    main_.allow_visits(visits - (main_.counters[kRowVisits] - before));
  }
  settle(CanonicalTree(main_).find(root_, depth, shared_.run.upper()));
  shared_.tired = false;
}

// Puts trees of fewer levels, made at once as the first trees are, in place of the best one while they cost no more.
// Returns the levels of what stands then.
int Search::make_shallow(i64 visits) {
  const i64 until = main_.counters[kRowVisits] + visits;
  const PlanPtr known = shared_.run.answer();
  if (!known) return settings_.max_depth;  // a cost without its tree
  int depth = levels_of(*known);
  while (depth > 3 && main_.counters[kRowVisits] < until && !shared_.stopped()) {
    Improver improver(main_, root_, depth - 1);
    improver.start();
    improver.take_grown();
    if (improver.best().cost > shared_.run.upper()) improver.take(FirstTrees(main_).build(root_, depth - 1, 2).plan);
    main_.counters[kRowVisits] += improver.visits();
    if (improver.best().cost > shared_.run.upper() || shared_.stopped()) break;
    shared_.run.replace(improver.best().plan());
    depth = improver.best().height(0);
  }
  return depth;
}

// What threads only read.
void Search::prepare_threads() {
  for (u32 f = 0; f < root_.n_features; ++f) {
    root_.weight_before(table_, f, 1);
    if (settings_.minimum.any()) root_.held_before(table_, f, 1);
  }
}

// Trees of the last depth whose root is in the part, and which are cheaper than `start_upper`.
void Search::run_part() {
  prepare_threads();
  const int depth = settings_.max_depth;
  const DepthRecord* const shallower = shared_.journal ? shared_.journal->depth(depth - 1) : nullptr;
  Subproblem& root = main_.begin(root_, depth, settings_.start_upper, settings_.gap);
  root.upper = kInfinite;
  root.plan = nullptr;
  root.queue.only.assign(root_.n_features, {1, 0});
  for (const RootPart& part : settings_.part) {
    const auto column = std::find(table_.column.begin(), table_.column.end(), part.column);
    if (column == table_.column.end()) continue;  // it parts no rows
    const auto feature = static_cast<u32>(column - table_.column.begin());
    const auto after = [&](u32 rank) { return root_.position_of(feature, rank << kLabelBits | kMixed, 0, root_.n); };
    const u32 most = table_.rank[feature].n_values() - 1;
    if (part.first <= most) root.queue.only[feature] = {after(part.first), after(std::min(part.last, most))};
  }
  if (!settings_.part_levels) root.levels_lower = kInfinite;
  main_.open(root, {}, take_up(root));
  if (shallower) root.set_base(shallower->relaxed, settings_.prices.leaf);
  Pool pool(main_, {}, nullptr);
  pool.run(root, true);
  add_to(totals_, pool.counters);
  if (!shared_.stopped() && root.levels_lower < kInfinite) {
    main_.level_roots(root, shallower ? shallower->relaxed : 0, {});
    shared_.run.offer(root.upper, root.plan);
  }
  shared_.run.prove(root.checked_lower(kInfinite));
  relaxed_ = root.relaxed(kInfinite);
  const bool found = root.plan && root.upper < settings_.start_upper;
  if (shared_.stopped() || !found || !settings_.canonical || settings_.gap != 0) return;
  settle(CanonicalTree(main_).first_split(root, root.upper));
}

// False if trees of this depth or more, which have a split a level, are known to cost more than the best.
bool Search::deepen(Solution& shallow, const std::vector<u32>& rank, int depth) {
  const i64 leaf_price = settings_.prices.leaf;
  const bool last = depth == settings_.max_depth;
  if (settings_.rules.affordable && shared_.run.upper() < leaf_price * depth) {
    shared_.run.prove(std::min(shallow.lower, leaf_price * depth));
    return false;
  }
  const i64 limit = settings_.bound_only ? settings_.start_upper : kInfinite;
  Subproblem& root = main_.begin(root_, depth, limit, last ? settings_.gap : settings_.gap / 2);
  root.queue.rank = rank;
  root.offer(shallow.upper, shallow.plan);
  if (last && !settings_.bound_only) root.upper = std::min(root.upper, shared_.run.upper());
  main_.open(root, {}, take_up(root));
  root.set_base(shallow.relaxed, leaf_price);
  if (blocks_) {
    blocks_->begin_depth(searched_, last);
    root.queue.raise_floors(blocks_->floors());
  }
  Pool pool(main_, improver_ ? [this] { look_for_trees(); } : std::function<void()>(), blocks_.get());
  const i64 before = main_.counters[kWork];
  pool.run(root, last);
  add_to(totals_, pool.counters);
  searched_ = main_.counters[kWork] - before + pool.counters[kWork];
  if (!shared_.stopped() && root.levels_lower < kInfinite) {
    main_.level_roots(root, shallow.relaxed, {});
    shared_.run.update(root.upper, root.plan, last ? root.checked_lower(root_.leaf) : 0);
  }
  if (last || shared_.stopped()) return true;
  shallow = root.solution(root_.leaf, false, false);
  shared_.run.prove(std::min(shallow.lower, leaf_price * (depth + 1)));  // deeper trees have a split more than levels
  if (settings_.rules.cache) main_.shared.cache.store(root_.hash, depth, shallow);
  note_depth(depth, shallow);
  if (improver_) {
    improver_->begin_depth(depth + 1);  // what follows is work for the next depth
    build_first_trees(depth);
  }
  return true;
}

void Search::note_depth(int depth, const Solution& solved) {
  if (shared_.journal && !solved.stopped)
    shared_.journal->note(
        DepthRecord{depth, solved.upper, solved.lower, solved.relaxed, true, numbers_of(*solved.plan, table_)});
}

void Search::build_first_trees(int exact_depth) {
  const Rules& rules = settings_.rules;
  const Solution first = FirstTrees(main_).build(root_, settings_.max_depth, exact_depth);
  shared_.run.offer(first.upper, first.plan);
  improver_->take(first.plan);
  if (exact_depth == 2 && rules.greedy_tree && rules.polish) improver_->take_grown();  // its ends become exact
}

// ------------------------------------------------------------------ what earlier searches proved

// The tree of a record, counted on the rows: `upper` becomes what it costs.
PlanPtr Search::counted(const PlanNumbers& numbers, int depth, i64& upper) {
  PlanPtr plan = plan_of(numbers, table_, depth);
  if (packed_) plan = packed_->complete(*plan);
  const std::optional<i64> cost = counted_cost(*plan, table_, root_, settings_);
  if (!cost || *cost > upper)
    throw std::invalid_argument("a recorded tree costs " + (cost ? std::to_string(*cost) : "what no tree may") +
                                ", where its record says " + std::to_string(upper));
  upper = *cost;
  return plan;
}

// The best tree and the bound. True if the search was done with them.
bool Search::take_up() {
  const auto& known = shared_.journal->earlier().whole;
  if (!known) return false;
  i64 upper = known->upper;
  if (!known->plan.empty()) {
    const PlanPtr plan = counted(known->plan, settings_.max_depth, upper);
    if (known->lower > upper) throw std::invalid_argument("a recorded bound exceeds the cost of a recorded tree");
    shared_.run.offer(upper, plan);
  }
  shared_.run.prove(known->lower);
  told_ = {known->upper, known->lower};  // in the file; this run may know more
  canonical_ = known->done && known->canonical;
  done_ = told_done_ = known->done;
  return known->done;
}

// Depths that were finished; `from` becomes the one to search next.
Solution Search::take_up_depths(Solution shallow, int& from) {
  if (shared_.journal == nullptr || settings_.bound_only) return shallow;
  for (; from < settings_.max_depth; ++from) {
    const DepthRecord* known = shared_.journal->depth(from);
    if (known == nullptr || !known->finished) break;
    shallow = {known->upper, known->lower, known->relaxed, nullptr, nullptr, false};
    shallow.plan = counted(known->plan, from, shallow.upper);
    shallow.clamp();
    if (settings_.rules.cache) shared_.cache.store(root_.hash, from, shallow);
    shared_.run.offer(shallow.upper, shallow.plan);
  }
  if (from > 3 && improver_) improver_->begin_depth(from);
  return shallow;
}

// Points of the root. One whose trees may yet be cheaper than what is wanted is evaluated again.
std::vector<Point> Search::take_up(Subproblem& root) {
  std::vector<Point> points;
  root.journal = settings_.bound_only ? nullptr : shared_.journal;
  if (root.journal == nullptr) return points;
  if (const DepthRecord* known = root.journal->depth(root.depth)) {
    i64 upper = known->upper;
    const PlanPtr plan = counted(known->plan, root.depth, upper);
    root.offer(upper, plan);
    shared_.run.offer(upper, plan);
  }
  for (const auto& [feature, split] : root.journal->splits(root.depth, table_)) {
    const u32 position = root_.position_of(feature, split.rank << kLabelBits | kMixed, 0, root_.n);
    if (position == 0 || position == root_.n) throw std::invalid_argument("a recorded split parts no rows");
    points.push_back({.feature = feature,
                      .position = position,
                      .low_side = split.low_side,
                      .high_side = split.high_side,
                      .total = split.total,
                      .upper = split.upper,
                      .evaluated = split.lower >= root.cutoff()});
    if (!points.back().evaluated) continue;
    root.evaluated_lower = std::min(root.evaluated_lower, split.lower);
    root.evaluated_relaxed = std::min(root.evaluated_relaxed, split.total);
  }
  return points;
}

Proved Search::take_news() {
  if (!begun_) return {};
  Proved news = shared_.journal->take_news();
  const auto [state, plan] = shared_.run.known();  // after the splits: the bounds that they were closed by are met
  const bool done = done_;
  if (state.upper != told_.upper || state.lower != told_.lower || done != told_done_)
    news.whole = {state.upper, state.lower, done, canonical_, plan ? numbers_of(*plan, table_) : PlanNumbers{}};
  told_ = state;
  told_done_ = done;
  return news;
}

std::vector<TreeNode> Search::tree() {
  PlanPtr plan = shared_.run.answer();
  if (!plan) return {};
  if (packed_ && !canonical_) plan = packed_->complete(*plan);
  return write_out(*plan, table_, root_, settings_);
}

}  // namespace proofwood::trees
