// The search from the root: first trees, then depth after depth, then the canonical tree (ConTree, Algorithm 1;
// docs/theory/optimal-trees.md, "The search").
#include "trees/search.hpp"

#include <algorithm>
#include <utility>

#include "trees/canonical_tree.hpp"
#include "trees/first_trees.hpp"
#include "trees/improve.hpp"
#include "trees/pool.hpp"

namespace proofwood::trees {

namespace {

Settings without_constant(Settings settings, const Table& table) {
  if (settings.start_upper < kInfinite) settings.start_upper -= settings.prices.error * table.constant;
  return settings;
}

}  // namespace

Search::Search(Table table, const Settings& settings, std::atomic<int>& stop, TreeRun::Clock::time_point started)
    : table_(std::move(table)),
      settings_(without_constant(settings, table_)),
      shared_(table_, settings_, stop, started),
      main_(shared_) {}

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
    if (auto tests = packed::pack_table(table_, settings_)) {
      packed_ = std::make_unique<packed::PackedSearch>(shared_, *std::move(tests));
      packed_->run();
      canonical_ = packed_->canonical();
      add_to(totals_, packed_->counters());
      return;
    }
  root_.start(table_, settings_.isa);
  shared_.run.offer(shared_.leaf_cost(root_), leaf_plan());
  if (settings_.max_depth <= 2 || needs_no_split())
    run_shallow();
  else
    run_deep();
  add_to(totals_, main_.counters);
}

bool Search::needs_no_split() const {
  return root_.n < 2 || !settings_.minimum.may_split(root_.counts) || shared_.leaf_cost(root_) <= settings_.prices.leaf;
}

// Bounds by blocks do not shorten the search, so their work is a share of what that will probably take: each depth
// takes at least twice as many times the work of the depth before as that did
// (docs/decisions/0022-block-bounds.md has what was measured).
void Search::begin_blocks() {
  constexpr double kWhileShallow = 0.5, kLarge = 3e6, kManyFeatures = 10;
  const bool deep = settings_.max_depth > 4;
  const double times = deep ? 400 : 20, most = deep ? 4e9 : 3e8;  // at most about 20 and 2 seconds
  blocks_ = std::make_unique<BlockSearch>(shared_, root_, settings_.max_depth);
  searched_ = main_.counters[kWork];
  const double known = static_cast<double>(searched_);
  const double small = std::min(1.0, known / kLarge) * std::min(1.0, root_.n_features / kManyFeatures);
  const double first = std::min(times * known * small, most);
  blocks_->allow(std::max(settings_.block_work, static_cast<i64>(first)), 0, kWhileShallow);
  blocks_->keep_pace(0, 1.0);
}

// After a depth that took so much work. A search that will probably be short goes on alone.
void Search::pace_blocks(i64 work) {
  constexpr double kShare = 0.05, kLong = 1e9;
  const double growth = 2 * static_cast<double>(work) / static_cast<double>(std::max<i64>(searched_, 1));
  const double expected = growth * static_cast<double>(work);
  searched_ = work;
  if (expected < kLong)
    blocks_->allow(0, 0, 0);
  else
    blocks_->allow(0, static_cast<i64>(std::min(1e18, kShare * expected)), kShare);
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
  Improver improver(main_, root_);
  improver_ = settings_.bound_only ? nullptr : &improver;
  const std::vector<u32> rank = improver.start();
  Solution shallow = main_.solve(root_, 2);
  shared_.run.offer(shallow.upper, shallow.plan);
  if (improver_) {
    improver.note_front();
    build_first_trees(2);
    improver.begin_depth(3);
  }
  for (u32 f = 0; f < root_.n_features; ++f) {  // made now: threads only read
    root_.weight_before(table_, f, 1);
    if (settings_.minimum.any()) root_.held_before(table_, f, 1);
  }
  const int depth = settings_.max_depth;
  if (settings_.rules.blocks && (depth > 3 || settings_.block_work > 0) && table_.levels.empty()) begin_blocks();
  bool closed = false;  // whether deeper trees are known to cost more than the best
  for (int d = 3; d <= depth && !closed && !shared_.stopped(); ++d) closed = !deepen(shallow, rank, d);
  main_.counters[kRowVisits] += improver.visits();
  improver_ = nullptr;
  if (blocks_) totals_[kBlockWork] = static_cast<i64>(blocks_->work());
  blocks_.reset();  // gives back its memory
  if (shared_.stopped()) return;
  Subproblem& root = main_.level(depth).subproblem;
  if (!closed) shared_.run.prove(root.checked_lower(shared_.leaf_cost(root_)));
  if (!settings_.canonical || settings_.gap != 0) return;
  settle(CanonicalTree(main_).find(root_, depth, shared_.run.upper(), root));
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
  main_.open(root);
  root.set_base(shallow.relaxed, leaf_price);
  if (blocks_) root.queue.raise_floors(blocks_->floors());
  Pool pool(main_, improver_ ? [this] { improver_->run(); } : std::function<void()>(), blocks_.get());
  const i64 before = main_.counters[kWork];
  pool.run(root, last);
  add_to(totals_, pool.counters);
  if (blocks_ && !last) pace_blocks(main_.counters[kWork] - before + pool.counters[kWork]);
  if (!shared_.stopped() && root.levels_lower < kInfinite) {
    main_.level_roots(root, shallow.relaxed, {});
    shared_.run.update(root.upper, root.plan, last ? root.checked_lower(shared_.leaf_cost(root_)) : 0);
  }
  if (last || shared_.stopped()) return true;
  shallow = root.solution(shared_.leaf_cost(root_), false, false);
  if (settings_.rules.cache) main_.shared.cache.store(root_.hash, depth, shallow);
  if (improver_) {
    improver_->begin_depth(depth + 1);  // what follows is work for the next depth
    build_first_trees(depth);
  }
  return true;
}

void Search::build_first_trees(int exact_depth) {
  FirstTrees first_trees(main_);
  for (const auto top : {FirstTrees::Top::kLookahead, FirstTrees::Top::kGini}) {
    const Rules& rules = settings_.rules;
    if (exact_depth == 2 && top == FirstTrees::Top::kGini && rules.greedy_tree && rules.polish) {
      improver_->take_grown();  // its ends become exact
      continue;
    }
    const Solution first = first_trees.build(root_, settings_.max_depth, exact_depth, top);
    shared_.run.offer(first.upper, first.plan);
    improver_->take(first.plan);
  }
}

std::vector<TreeNode> Search::tree() {
  PlanPtr plan = shared_.run.answer();
  if (!plan) return {};
  if (packed_ && !canonical_) plan = packed_->complete(*plan);
  return write_out(*plan, table_, root_, settings_);
}

}  // namespace proofwood::trees
