// The main loop of the clause-learning search, and the questions that get a small ensemble of their own.
//
// Theory: docs/theory/explanations.md, "The engine cdcl: clause learning". The loop is that of a SAT solver with
// learned clauses: propagate, analyse the conflict, restart, climb, assume, decide.
#include "votes/clause_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "common/assertion.hpp"
#include "common/memory.hpp"
#include "votes/small_ensemble.hpp"

namespace proofwood::votes {

namespace {

// The i-th number of 1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8, ... (Luby, Sinclair, Zuckerman 1993).
std::int64_t luby(std::int64_t i) {
  std::int64_t k = 1;
  while ((std::int64_t{1} << k) - 1 < i) ++k;
  while ((std::int64_t{1} << k) - 1 != i) {
    i -= (std::int64_t{1} << (k - 1)) - 1;
    k = 1;
    while ((std::int64_t{1} << k) - 1 < i) ++k;
  }
  return std::int64_t{1} << (k - 1);
}

constexpr std::int64_t kFirstRestart = 64;  // conflicts, times the numbers of Luby
constexpr std::int64_t kClimb = 8;        // leaves that a local search may look at, per conflict and leaf of the model
constexpr std::int64_t kClimbLong = 100;  // leaves, per leaf of the model, before a question becomes a small ensemble
constexpr std::size_t kFound = 16;        // rows remembered
// Questions that follow each other differ in one feature: the last row found is often a step away. Three rows were no
// better than one: decisions/0050-climb-from-the-last-row.
constexpr std::size_t kFoundFirst = 1;  // of these, climbed from before the row that is explained
constexpr std::size_t kStopped = 8;     // stopped questions remembered

}  // namespace

struct ClauseSearch::StoppedQuestion {
  std::vector<Literal> assumptions;
  std::unique_ptr<SmallEnsemble> ensemble;
  std::unique_ptr<ClauseSearch> search;
};

ClauseSearch::~ClauseSearch() = default;

// The sum of a contest over the whole space, where every leaf is alive.
ClauseSearch::Sum ClauseSearch::sum_of(const Contest& contest) const {
  const int n = model_.n_leaves;
  Lead lead = model_.lead(contest);
  Sum sum;
  sum.gain = std::move(lead.gain);
  sum.least = lead.need;
  sum.order.resize(z(n));
  std::iota(sum.order.begin(), sum.order.end(), 0);
  sum.place.resize(z(n));
  for (int t = 0; t < model_.n_trees; ++t) {
    std::stable_sort(sum.order.begin() + model_.leaves_of[z(t)], sum.order.begin() + model_.leaves_of[z(t) + 1],
                     [&](int a, int b) { return sum.gain[z(a)] > sum.gain[z(b)]; });
    sum.best.push_back(model_.leaves_of[z(t)]);
    sum.bound += sum.gain[z(sum.order[z(sum.best[z(t)])])];
  }
  for (int i = 0; i < n; ++i) sum.place[z(sum.order[z(i)])] = i;
  return sum;
}

ClauseSearch::ClauseSearch(const Model& model, const std::vector<Contest>& contests, Rules rules)
    : model_(model), rules_(rules), climb_(model) {
  const int n = model.n_leaves;
  for (const Contest& contest : contests) sums_.push_back(sum_of(contest));
  dead_.assign(z(n), 0);
  died_.assign(z(n), -1);
  marked_.assign(z(n), 0);
  lost_.assign(z(n), -1);
  lo_.assign(z(model.n_columns), 0);
  state_.assign(z(model.n_variables), -1);
  hi_ = model.cells;
  when_.assign(2 * z(model.n_variables), -1);
  watching_.resize(2 * z(model.n_variables));
  activity_.assign(z(model.n_variables), 0.0);
  wanted_.assign(2 * z(model.n_columns), -1);
  chosen_.assign(2 * z(model.n_columns), -1);
  for (const auto& literals : model.clauses) {
    if (literals.empty()) {
      never_ = true;
    } else if (literals.size() == 1) {
      if (!set(literals[0], kDecision)) never_ = true;
    } else {
      clauses_.push_back({literals, 0, 0, false});
      attach(static_cast<int>(clauses_.size()) - 1);
    }
  }
  n_given_ = clauses_.size();
}

// ------------------------------------------------------------------------------------------------------ the main loop

struct ClauseSearch::Schedule {
  std::int64_t conflicts = 0, restarts = 0;
  std::int64_t until_restart = kFirstRestart * luby(1);  // conflicts
  std::int64_t next_climb = 0;                           // conflicts before the next local search
  std::size_t most_clauses = 0;                          // learned ones, before half of them are forgotten
};

Outcome ClauseSearch::solve(const std::vector<Literal>& assumptions, const std::vector<int>& near,
                            const Budget& budget) {
  core_.clear();
  if (never_) return Outcome::kSame;
  const int n_assumptions = static_cast<int>(assumptions.size());
  Schedule schedule;
  if (!rules_.climb || !budget.climb) schedule.next_climb = std::numeric_limits<std::int64_t>::max();
  schedule.most_clauses = std::max<std::size_t>(4000, 2 * static_cast<std::size_t>(learned()));
  const auto end = [&](Outcome outcome) {
    undo(0);
    return outcome == Outcome::kChanges ? found() : outcome;
  };
  while (true) {
    const bool consistent = propagate(budget.watch);
    if (budget.watch.over()) return end(Outcome::kStopped);
    if (!consistent) {
      const std::optional<Outcome> last = learn_from_conflict(schedule, budget);
      if (last) return end(*last);
      continue;
    }
    if (schedule.until_restart <= 0) {
      restart(schedule, n_assumptions, budget.watch);
      continue;
    }
    if (schedule.conflicts >= schedule.next_climb && level() >= n_assumptions) {
      undo(n_assumptions);
      if (!propagate(budget.watch) || budget.watch.over()) continue;
      if (climb(near, (schedule.next_climb + 1) * kClimb * model_.n_leaves, budget.watch))
        return end(Outcome::kChanges);
      schedule.next_climb = 4 * schedule.next_climb + 4;
    }
    if (level() < n_assumptions) {
      if (!assume(assumptions)) return end(Outcome::kSame);
      continue;
    }
    if (!decide_next(near)) return end(Outcome::kChanges);
  }
}

// Goes back to the level of the conflict, learns a clause and goes back to where it says something. An outcome if that
// is the end of the question.
std::optional<Outcome> ClauseSearch::learn_from_conflict(Schedule& schedule, const Budget& budget) {
  ++conflicts_;
  ++schedule.conflicts;
  --schedule.until_restart;
  if (!go_to_conflict()) {
    never_ = true;
    return Outcome::kSame;
  }
  int back = 0, glue = 0;
  if (!analyse(learned_, back, glue, budget.watch)) return Outcome::kStopped;
  undo(back);
  if (!keep_learned(glue)) {
    never_ = true;
    return Outcome::kSame;
  }
  decay();
  if (budget.conflicts >= 0 && schedule.conflicts >= budget.conflicts) return Outcome::kStopped;
  return std::nullopt;
}

// A conflict of facts that are all older than this level belongs to the level of the youngest. False if that is
// level 0: then nothing is assumed, and there is no row at all.
bool ClauseSearch::go_to_conflict() {
  if (level() == 0) return false;
  int youngest = 0;
  for (const Literal fact : conflict_) {
    const int entry = entry_of(fact);
    if (entry >= 0) youngest = std::max(youngest, trail_[z(entry)].level);
  }
  if (youngest == 0) return false;
  undo(youngest);
  return true;
}

// Adds the clause in learned_ and the bound that follows from it here. False if it contradicts what always holds.
bool ClauseSearch::keep_learned(int glue) {
  if (learned_.size() == 1) {
    undo(0);
    return set(learned_[0], kDecision);
  }
  clauses_.push_back({learned_, clause_step_, glue, true});
  attach(static_cast<int>(clauses_.size()) - 1);
  PROOFWOOD_ASSERT(value(learned_[0]) < 0);
  set(learned_[0], static_cast<int>(clauses_.size()) - 1);
  return true;
}

// Older activities count less: the steps grow instead.
void ClauseSearch::decay() {
  step_ /= 0.99;
  clause_step_ /= 0.999F;
  if (clause_step_ > 1e20F) {
    for (auto& clause : clauses_) clause.activity *= 1e-20F;
    clause_step_ *= 1e-20F;
  }
}

// Back to the assumptions; where learned clauses are too many, half of the long ones are forgotten.
void ClauseSearch::restart(Schedule& schedule, int n_assumptions, Watch& watch) {
  schedule.until_restart = kFirstRestart * luby(++schedule.restarts + 1);
  const std::size_t most =
      memory_is_short() ? std::min<std::size_t>(schedule.most_clauses, 1000) : schedule.most_clauses;
  if (clauses_.size() - n_given_ <= most) {
    undo(n_assumptions);
    return;
  }
  undo(0);
  if (!propagate(watch) || watch.over()) return;
  reduce();
  schedule.most_clauses += schedule.most_clauses / 10;
}

// All assumptions at once: what follows from some of them follows from all. False if they contradict each other.
bool ClauseSearch::assume(const std::vector<Literal>& assumptions) {
  while (level() < static_cast<int>(assumptions.size())) {
    const Literal next = assumptions[z(level())];
    const int known = value(next);
    if (known == 0) {
      analyse_final({next ^ 1});
      core_.push_back(next);
      return false;
    }
    starts_.push_back(static_cast<int>(trail_.size()));
    if (known < 0) set(next, kDecision);
  }
  return true;
}

// The whole way to a best leaf at once: what follows from some of its needs follows from all. Where the best leaves
// hold everywhere, the clauses of the space are left. False if no decision is left: the witness is an answer.
bool ClauseSearch::decide_next(const std::vector<int>& near) {
  const Literal next = choose();
  if (next < 0) {
    if (complete(near)) return false;
    decide(open_literal_of_broken_clause());
    return true;
  }
  decide(next);
  for (int i = model_.needs_of[z(followed_)]; i < model_.needs_of[z(followed_) + 1]; ++i)
    if (value(model_.needs[z(i)]) < 0) decide(model_.needs[z(i)]);
  return true;
}

Literal ClauseSearch::choose() {
  // Where the best leaves of one sum hold everywhere, the trees have no others, and all sums are what they are.
  const Sum& sum = *std::min_element(sums_.begin(), sums_.end(),
                                     [](const Sum& a, const Sum& b) { return a.bound - a.least < b.bound - b.least; });
  Literal chosen = -1;
  double most = -1.0;
  for (int t = 0; t < model_.n_trees; ++t) {
    const int best = sum.order[z(sum.best[z(t)])];
    for (int i = model_.needs_of[z(best)]; i < model_.needs_of[z(best) + 1]; ++i) {
      const Literal need = model_.needs[z(i)];
      if (activity_[z(need >> 1)] > most && value(need) < 0) {
        most = activity_[z(need >> 1)];
        chosen = need;
        followed_ = best;
      }
    }
  }
  return chosen;
}

void ClauseSearch::decide(Literal l) {
  PROOFWOOD_ASSERT(l >= 0 && l < 2 * model_.n_variables && value(l) < 0);
  starts_.push_back(static_cast<int>(trail_.size()));
  set(l, kDecision);
}

// The best leaves hold everywhere in the box; takes its row nearest to `near`, if that is a row of the space.
bool ClauseSearch::complete(const std::vector<int>& near) {
  witness_.resize(lo_.size());
  for (std::size_t c = 0; c < lo_.size(); ++c) witness_[c] = std::clamp(near[c], lo_[c], hi_[c]);
  for (std::size_t i = 0; i < n_given_; ++i) {
    const auto& literals = clauses_[i].literals;
    if (!std::any_of(literals.begin(), literals.end(), [&](Literal l) { return model_.holds(l, witness_); }))
      return false;
  }
  return true;
}

// Of a clause of the space that the witness breaks.
Literal ClauseSearch::open_literal_of_broken_clause() const {
  Literal open = -1;
  for (std::size_t i = 0; i < n_given_ && open < 0; ++i) {
    const auto& literals = clauses_[i].literals;
    if (std::any_of(literals.begin(), literals.end(), [&](Literal l) { return model_.holds(l, witness_); })) continue;
    for (const Literal l : literals)
      if (value(l) < 0) open = l;
  }
  if (open < 0) throw std::logic_error("a clause is false after propagation");
  return open;
}

bool ClauseSearch::climb(const std::vector<int>& near, std::int64_t effort, Watch& watch) {
  climb_.enter(sums_[0].gain, sums_[0].least, dead_, lo_, hi_);
  // The last rows first: where they still lead to a row, it is found in one step, and from `near` it takes many.
  const std::size_t first = std::min(kFoundFirst, found_.size());
  std::vector<std::vector<int>> starts = found_;
  starts.insert(starts.begin() + static_cast<std::ptrdiff_t>(first), near);
  if (!climb_.reach(starts, first, effort, watch)) return false;
  climb_.approach(near, watch);
  if (!climb_.counted()) throw std::logic_error("the local search lost count of its row");
  witness_ = climb_.row();
  return true;
}

// Forgets half of the learned clauses that span more than two levels, those of least activity.
void ClauseSearch::reduce() {
  std::vector<std::size_t> long_ones;
  for (std::size_t i = n_given_; i < clauses_.size(); ++i)
    if (clauses_[i].glue > 2) long_ones.push_back(i);
  std::sort(long_ones.begin(), long_ones.end(),
            [&](std::size_t a, std::size_t b) { return clauses_[a].activity < clauses_[b].activity; });
  std::vector<char> gone(clauses_.size(), 0);
  for (std::size_t i = 0; i < long_ones.size() / 2; ++i) gone[long_ones[i]] = 1;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < clauses_.size(); ++i) {
    if (gone[i]) continue;
    if (kept != i) clauses_[kept] = std::move(clauses_[i]);
    ++kept;
  }
  clauses_.resize(kept);
  for (auto& watchers : watching_) watchers.clear();
  for (std::size_t i = 0; i < clauses_.size(); ++i) {
    // At level 0: watched literals must not be false unless the clause is true or unit there.
    auto& literals = clauses_[i].literals;
    std::stable_partition(literals.begin(), literals.end(), [&](Literal l) { return value(l) != 0; });
    attach(static_cast<int>(i));
  }
}

void ClauseSearch::start_from(const std::vector<int>& row) {
  found_.insert(found_.begin(), row);
  if (found_.size() > kFound) found_.pop_back();
}

Outcome ClauseSearch::found() {
  start_from(witness_);
  return Outcome::kChanges;
}

// ------------------------------------------------------------------------------------ a small ensemble for a question

// Makes the small ensemble of a question and its search; nothing if the question is answered or stopped before that,
// with the outcome in `outcome`.
std::optional<ClauseSearch::StoppedQuestion> ClauseSearch::make_small(const std::vector<Literal>& assumptions,
                                                                      const std::vector<int>& near,
                                                                      const Budget& budget, Outcome& outcome) {
  if (never_ || !propagate(budget.watch)) {
    never_ = true;
    core_.clear();
    outcome = Outcome::kSame;
    return std::nullopt;
  }
  bool refuted = false;
  for (const Literal l : assumptions) {
    refuted = value(l) == 0;
    if (refuted) break;
    starts_.push_back(static_cast<int>(trail_.size()));
    set(l, kDecision);
  }
  if (refuted || !propagate(budget.watch)) {  // the search proper says which assumptions suffice
    undo(0);
    outcome = solve(assumptions, near, budget);
    return std::nullopt;
  }
  if (rules_.climb && budget.climb && climb(near, kClimbLong * model_.n_leaves, budget.watch)) {
    undo(0);
    outcome = found();
    return std::nullopt;
  }
  StoppedQuestion made{assumptions,
                       std::make_unique<SmallEnsemble>(model_, sums_[0].gain, dead_, lo_, hi_, sums_[0].least,
                                                       rules_.join, budget.watch),
                       nullptr};
  undo(0);
  if (made.ensemble->stopped()) {
    outcome = Outcome::kStopped;
    return std::nullopt;
  }
  if (made.ensemble->hopeless()) {
    core_ = assumptions;
    outcome = Outcome::kSame;
    return std::nullopt;
  }
  Rules rules = rules_;
  rules.climb = rules.local = false;
  made.search = std::make_unique<ClauseSearch>(made.ensemble->part().model(),
                                               std::vector<Contest>{{0, 1, made.ensemble->least()}}, rules);
  return made;
}

Outcome ClauseSearch::solve_small(const std::vector<Literal>& assumptions, const std::vector<int>& near,
                                  const Budget& budget) {
  auto question = std::find_if(stopped_.begin(), stopped_.end(),
                               [&](const StoppedQuestion& one) { return one.assumptions == assumptions; });
  if (question == stopped_.end()) {
    Outcome outcome = Outcome::kStopped;
    std::optional<StoppedQuestion> made = make_small(assumptions, near, budget, outcome);
    if (!made) return outcome;
    if (stopped_.size() >= kStopped) stopped_.erase(stopped_.begin());
    stopped_.push_back(std::move(*made));
    question = stopped_.end() - 1;
  }
  ClauseSearch& search = *question->search;
  const std::int64_t before = search.conflicts();
  const Outcome outcome = search.solve({}, question->ensemble->part().inward(near), budget);
  conflicts_ += search.conflicts() - before;
  if (outcome == Outcome::kStopped) return outcome;
  if (outcome == Outcome::kChanges) {
    witness_ = question->ensemble->part().outward(search.witness(), near);
  } else {
    core_ = assumptions;
  }
  stopped_.erase(question);
  return outcome == Outcome::kChanges ? found() : outcome;
}

}  // namespace proofwood::votes
