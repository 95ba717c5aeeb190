// Trees before and beside the proof (docs/theory/optimal-trees.md, "First trees").
#include "trees/improve.hpp"

#include <algorithm>
#include <numeric>

namespace proofwood::trees {

// What the solver does while one of these lives is not part of the proof.
class Improver::Share {
 public:
  explicit Share(Improver& of) : of_(of), before_(of.solver_.counters[kRowVisits]) {}
  ~Share() { of_.own_visits_ += of_.solver_.counters[kRowVisits] - before_; }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

 private:
  Improver& of_;
  const i64 before_;
};

Improver::Improver(Solver& solver, Rows& all, int depth)
    : solver_(solver),
      shared_(solver.shared),
      all_(all),
      depth_(depth),
      polish_(solver, all, depth_),
      first_trees_(solver),
      local_search_(solver, all, depth_, polish_) {}

// ------------------------------------------------------------------ first trees

std::vector<u32> Improver::start() {
  std::vector<double> score(all_.n_features, 0);
  if (shared_.settings.rules.greedy_tree && !shared_.settings.bound_only)
    grown_ = polish_.grow(score);
  else
    polish_.score(score);
  std::vector<u32> by_score(score.size()), rank(score.size());
  std::iota(by_score.begin(), by_score.end(), 0u);
  std::stable_sort(by_score.begin(), by_score.end(), [&](u32 a, u32 b) { return score[a] > score[b]; });
  for (u32 i = 0; i < rank.size(); ++i) rank[by_score[i]] = i;
  return rank;
}

void Improver::keep(Draft& draft) {
  if (shared_.stopped()) return;
  if (shared_.settings.rules.polish) polish_.polish(draft);
  if (draft.cost < best_.cost) best_ = std::move(draft);
}

void Improver::take_grown() {
  const Share share(*this);
  if (depth_ > 3)
    keep(grown_);
  else
    polish_.ends(grown_);
}

void Improver::take(const PlanPtr& plan) {
  if (depth_ == 3) return;
  const Share share(*this);
  Draft draft = draft_of(*plan);
  if (!shared_.stopped() && polish_.take(draft)) keep(draft);
}

void Improver::note_front() {
  if (shared_.settings.rules.depth_two) roots_ = depth_two_front(solver_, all_, kFront);
}

// ------------------------------------------------------------------ how much

double Improver::walks(i64 visits) const {
  return static_cast<double>(visits) / (static_cast<double>(all_.n) * std::max(all_.n_features, 1u));
}

double Improver::search_work() const { return walks(solver_.counters[kRowVisits] - own_visits_); }

double Improver::own_work() const { return walks(own_visits_ + visits()); }

void Improver::begin_depth(int depth) {
  allowed_before_ = earned();
  before_ = search_work();
  search_depth_ = depth;
}

// The deeper search takes many times what the one before takes, and the more, the longer that took. So a short search
// of a lesser depth pays for little, a long one for more than its own work; the last depth pays for a few percent.
// A fixed share of the proof of depth three made short proofs up to 1.8 times longer: decisions/0021-first-trees.
double Improver::earned() const {
  constexpr double kSquare = 250, kMost = 3, kLater = 0.3, kLast = 0.03;
  const double work = search_work();
  if (search_depth_ == depth_) return allowed_before_ + kLast * (work - before_);
  if (search_depth_ > 3) return allowed_before_ + kLater * (work - before_);
  return std::min(kMost * work, work * work / kSquare);
}

// Bounds by blocks pay well for trees at first, about a second long, and little later.
double Improver::allowed() const {
  constexpr i64 kFirst = 150'000'000;
  constexpr double kLater = 0.3;
  const double at_first = depth_ > 4 ? 2 : 1;  // deep trees may have no error, and bounds of deep trees say little
  const i64 first = std::min(blocks_, kFirst);
  return earned() + at_first * walks(first) + kLater * walks(blocks_ - first);
}

void Improver::run() {
  while (!ended_ && !shared_.stopped() && own_work() < allowed()) {
    const Share share(*this);
    ended_ = !step();
  }
}

// ------------------------------------------------------------------ one step

// False if there is nothing left to try.
bool Improver::step() {
  const Rules& rules = shared_.settings.rules;
  if (best_.cost <= shared_.settings.prices.leaf) return false;
  if (depth_ == 3) return false;  // the proof itself tries the roots, and below them it is exact
  if (rules.beam && next_root_ < roots_.size()) return try_root(roots_[next_root_++]);
  if (!rules.local_search || best_.cost == kInfinite) return false;
  // while the root's own trees of depth three are searched, their memory is in use
  const bool deep = search_depth_ > 3;
  return local_search_.step(best_, deep ? all_.n / 3 : 0);
}

bool Improver::try_root(const Root& root) {
  if (!solver_.split(all_, root.feature, root.position, depth_)) return false;
  Solver::Level& level = solver_.level(depth_);
  const Solution low = first_trees_.build(level.low, depth_ - 1, 2);
  const Solution high = first_trees_.build(level.high, depth_ - 1, 2);
  if (shared_.stopped()) return false;
  const i64 cost = low.upper + high.upper + shared_.settings.prices.leaf;
  const u32 key = all_.key(root.feature)[root.position - 1];
  if (cost <= best_.cost + best_.cost / 10) take(split_plan(root.feature, key, low.plan, high.plan));
  return true;
}

}  // namespace proofwood::trees
