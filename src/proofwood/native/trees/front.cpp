// The front by leaves: depth after depth, as a search of one tree goes (search.cpp). What a depth says of few leaves
// holds for all depths above it.
#include "trees/front.hpp"

#include <algorithm>
#include <utility>

namespace proofwood::trees {

namespace {

// No deeper than the leaves allow, and without rules that do not hold for the task.
Settings for_wish(Settings settings, const Table& table, const FrontWish& wish) {
  settings.max_depth = std::min(settings.max_depth, std::max(wish.choice.leaves, 1) - 1);
  if (!table.similar) settings.rules.reach = settings.rules.similarity = false;
  if (!table.own.empty()) settings.rules.similarity = settings.rules.interval_shrinking = false;
  return settings;
}

}  // namespace

Front::Front(Table table, const Settings& settings, const FrontWish& wish, std::atomic<int>& stop,
             TreeRun::Clock::time_point started)
    : table_(std::move(table)),
      settings_(for_wish(settings, table_, wish)),
      wish_(wish),
      shared_(table_, settings_, stop, started),
      main_(shared_) {}

FrontBounds Front::whole(const FrontBounds& counted) const {
  FrontBounds bounds = counted;
  const i64 constant = settings_.prices.error * table_.constant;
  for (Leaves* value : {&bounds.upper, &bounds.lower})
    for (int l = 1; l <= value->size(); ++l) (*value)[l] += constant;
  return bounds;
}

FrontBounds Front::state() const { return whole(shared_.run.state()); }

bool Front::bounds_most() const {
  const Leaves lower = shared_.run.state().lower;
  return lower.size() > 0 && lower[std::min(wish_.choice.leaves, lower.size())] > 0;
}

std::vector<FrontRun::Event> Front::events_since(std::size_t first) const {
  auto events = shared_.run.events_since(first);
  for (auto& event : events) event.state = whole(event.state);
  return events;
}

// What is asked of trees of a depth: every number of leaves, or the most alone where leaves have no price.
Leaves Front::limit(int depth) const {
  const int room = Leaves::room(depth), most = std::min(wish_.choice.leaves, room);
  Leaves asked(room, 0);
  for (int l = 2; l <= most; ++l)
    if (!wish_.choice.only_most() || l == most) asked[l] = wish_.below;
  return asked;
}

void Front::run() {
  root_.start(table_, settings_.isa);
  note(SolutionOf<Leaves>::leaf(root_.leaf, 0), 0);
  const bool needs_no_split = root_.n < 2 || !settings_.minimum.may_split(root_.counts) || root_.leaf == 0;
  if (settings_.max_depth == 0 || needs_no_split) {
    note(SolutionOf<Leaves>::leaf(root_.leaf, settings_.max_depth), settings_.max_depth);
    return;
  }
  SolutionOf<Leaves> solution = shallow();
  for (int depth = 3; depth <= settings_.max_depth && !shared_.stopped() && !answered(); ++depth)
    solution = deepen(solution, depth);
  add_to(totals_, main_.counters);
}

// Whether the tree that is enough is there.
bool Front::answered() const {
  const Leaves upper = shared_.run.state().upper;
  return wish_.choice.any_tree && upper[std::min(wish_.choice.leaves, upper.size())] < wish_.below;
}

SolutionOf<Leaves> Front::shallow() {
  const int depth = std::min(2, settings_.max_depth);
  const RequestOf<Leaves> request{.limit = limit(depth), .gap = settings_.gap};
  SolutionOf<Leaves> solution = main_.batched(depth) && request.limit.most_asked() > 2
                                    ? main_.solve_depth_two(root_, request, true)
                                    : main_.solve(root_, depth, request);
  note(solution, depth);
  return solution;
}

SolutionOf<Leaves> Front::deepen(const SolutionOf<Leaves>& shallow, int depth) {
  for (u32 f = 0; depth == 3 && f < root_.n_features; ++f) {  // made now: threads only read
    root_.weight_before(table_, f, 1);
    if (settings_.minimum.any()) root_.held_before(table_, f, 1);
  }
  auto& root = main_.begin(root_, depth, limit(depth), settings_.gap);
  root.choice = wish_.choice;
  root.offer(shallow.upper, shallow.plan);
  root.limit = root.cutoff();
  if (wish_.choice.prices.empty()) root.limit = limit(depth);
  main_.open(root);
  main_.take_shallow(root, shallow);
  PoolOf<Leaves> pool(main_, {}, nullptr);
  pool.run(root, depth == settings_.max_depth);
  add_to(totals_, pool.counters);
  SolutionOf<Leaves> solution = root.solution(root_.leaf, shared_.stopped(), false);
  main_.add_few_leaves(solution, shallow, depth);
  if (!solution.stopped && settings_.rules.cache) shared_.cache.store(root_.hash, depth, solution);
  note(solution, depth);
  return solution;
}

// Trees of few leaves are no deeper; of more, only the last depth says something.
void Front::note(const SolutionOf<Leaves>& solution, int depth) {
  const bool last = depth == settings_.max_depth;
  shared_.run.update(solution.upper, solution.plan, last ? solution.lower : first(solution.lower, depth + 1));
}

std::vector<TreeNode> Front::tree(int leaves) {
  const Plans<Leaves> plans = shared_.run.answer();
  const PlanPtr& plan = plans[static_cast<std::size_t>(std::min(leaves, Leaves::room(settings_.max_depth)) - 1)];
  if (!plan) return {};
  return write_out(*plan, table_, root_, settings_);
}

}  // namespace proofwood::trees
