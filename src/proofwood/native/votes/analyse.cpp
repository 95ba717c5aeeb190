// Conflict analysis: why a bound follows or the sum falls short, and the clause that is learned from it.
//
// Theory: docs/theory/explanations.md, "The engine cdcl: clause learning": explanation of a failure, learning,
// invariants. The clause is that of the first unique implication point, as in SAT solvers
// (Marques-Silva, Sakallah 1999).
#include <algorithm>
#include <stdexcept>

#include "common/assertion.hpp"
#include "votes/clause_search.hpp"

namespace proofwood::votes {

// ------------------------------------------------------------------------------------- why a sum is below its least

// Marks the leaves that `assumed` rules out: those with a need on the other side of its column.
void ClauseSearch::mark_ruled_out(std::optional<Literal> assumed) {
  ++mark_;
  if (!assumed) return;
  const int c = column(*assumed), v = *assumed >> 1;
  const bool upper = (*assumed & 1) != 0;
  const int from = upper ? v : model_.first[z(c)], to = upper ? model_.first[z(c) + 1] : v + 1;
  for (int u = from; u < to; ++u) {
    const std::size_t need = 2 * z(u) + (upper ? 0 : 1);
    for (int i = model_.needing_of[need]; i < model_.needing_of[need + 1]; ++i)
      marked_[z(model_.needing[z(i)])] = mark_;
  }
}

// Into stops_: place of the best leaf of each tree that is alive before the change `limit`, under `assumed`. Returns
// what these leaves leave below the least of the sum.
std::int64_t ClauseSearch::find_stops(const Sum& sum, std::optional<Literal> assumed, int limit) {
  std::int64_t room = sum.least - 1;
  stops_.resize(z(model_.n_trees));
  for (int t = 0; t < model_.n_trees; ++t) {
    int place = sum.best[z(t)];
    if (assumed) {
      place = model_.leaves_of[z(t)];
      while (fallen(sum.order[z(place)], limit) || ruled_out(sum.order[z(place)])) ++place;
    }
    stops_[z(t)] = place;
    room -= sum.gain[z(sum.order[z(place)])];
  }
  return room;
}

// Into ranking_: the trees by what it takes to need no fact about them, that is the gain of their best leaf that fell.
// Why a bound holds is worked out only when a conflict asks for it, and trees whose loss fits into the slack of the sum
// need no fact: decisions/0011-explanations-by-learned-clauses.
void ClauseSearch::rank_trees(const Sum& sum) {
  ranking_.clear();
  for (int t = 0; t < model_.n_trees; ++t) {
    const std::int64_t kept = sum.gain[z(sum.order[z(stops_[z(t)])])];
    for (int place = model_.leaves_of[z(t)]; place < stops_[z(t)]; ++place) {
      const int leaf = sum.order[z(place)];
      if (sum.gain[z(leaf)] <= kept) break;
      if (always_dead(leaf) || ruled_out(leaf)) continue;
      ranking_.push_back({sum.gain[z(leaf)] - kept, t});
      break;
    }
  }
  std::sort(ranking_.begin(), ranking_.end());
}

// Whether a fact that is chosen says as much.
bool ClauseSearch::covered(Literal fact) const {
  const Literal known = chosen_[2 * z(column(fact)) + z(fact & 1)];
  return known >= 0 && ((fact & 1) != 0 ? known <= fact : known >= fact);
}

// The earliest fact before the change `limit` that keeps a leaf from being reached; -1 if one is chosen already.
Literal ClauseSearch::earliest_fact(int leaf, int limit) const {
  Literal earliest = -1;
  int earliest_entry = 0;
  for (int i = model_.needs_of[z(leaf)]; i < model_.needs_of[z(leaf) + 1]; ++i) {
    const Literal need = model_.needs[z(i)];
    if (value(need) != 0) continue;
    const Literal fact = need ^ 1;
    const int entry = entry_of(fact);
    if (entry >= limit) continue;
    if (covered(fact)) return -1;
    if (earliest < 0 || entry < earliest_entry) {
      earliest = fact;
      earliest_entry = entry;
    }
  }
  return earliest;
}

// Chooses facts that keep the better leaves of a tree away, until the best one left fits into the room.
void ClauseSearch::choose_facts(const Sum& sum, int tree, bool assumed, int limit, std::int64_t& room) {
  const std::int64_t kept = sum.gain[z(sum.order[z(stops_[z(tree)])])];
  for (int place = model_.leaves_of[z(tree)]; place < stops_[z(tree)]; ++place) {
    const int leaf = sum.order[z(place)];
    const std::int64_t more = sum.gain[z(leaf)] - kept;
    if (more <= 0) return;
    if (always_dead(leaf) || ruled_out(leaf)) continue;
    if (!assumed && covered(lost_[z(leaf)] ^ 1)) continue;  // the usual case, found without a look at the other needs
    const Literal fact = earliest_fact(leaf, limit);
    if (fact < 0) continue;
    if (more <= room) {
      room -= more;
      return;  // the leaves after it gain no more
    }
    const std::size_t key = 2 * z(column(fact)) + z(fact & 1);
    if (chosen_[key] < 0) chosen_touched_.push_back(static_cast<int>(key));
    chosen_[key] = fact;
  }
}

// True facts that keep the sum below its least (under `assumed`): for every leaf that would lift it too far, one of its
// needs is false. Leaves whose gain fits into the room that the sum leaves need no fact, and cheap trees come first.
// Reasons are asked for later than they applied: only changes before `limit` count.
//
//   least 10, so the sum may be 9 at most; the trees' best live leaves add up to 6: room 3
//   tree 1: a leaf that fell would add 2 more      room 3 -> 1, no fact
//   tree 2: a leaf that fell would add 4 more      a fact: one of its needs that are false
void ClauseSearch::explain(const Sum& sum, std::optional<Literal> assumed, int limit, std::vector<Literal>& facts) {
  facts.clear();
  mark_ruled_out(assumed);
  std::int64_t room = find_stops(sum, assumed, limit);
  if (!rules_.slack) room = 0;
  chosen_touched_.clear();
  rank_trees(sum);
  for (const auto& [cost, tree] : ranking_) {
    if (cost <= room)
      room -= cost;
    else
      choose_facts(sum, tree, assumed.has_value(), limit, room);
  }
  for (const int key : chosen_touched_) {
    facts.push_back(chosen_[z(key)]);
    chosen_[z(key)] = -1;
  }
}

// --------------------------------------------------------------------------------------------------- learned clauses

std::vector<Literal> ClauseSearch::facts_of(int entry) {
  const Change change = trail_[z(entry)];
  std::vector<Literal> facts;
  if (change.reason <= kScores) {
    explain(sums_[z(kScores - change.reason)], change.literal ^ 1, entry, facts);
  } else if (change.reason >= 0) {
    for (const Literal l : clauses_[z(change.reason)].literals) {
      if (l == change.literal) continue;
      facts.push_back(l ^ 1);
    }
  }
  return facts;
}

void ClauseSearch::bump(Literal l) {
  double& activity = activity_[z(l >> 1)];
  activity += step_;
  if (activity > 1e100) {
    for (double& one : activity_) one *= 1e-100;
    step_ *= 1e-100;
  }
}

// Facts that come later than what they are to support would go round in a circle.
bool ClauseSearch::implied(Literal fact, int before) const {
  if (trail_[z(entry_of(fact))].level == 0) return true;
  const Literal known = wanted_[2 * z(column(fact)) + z(fact & 1)];
  return known >= 0 && entry_of(known) < before &&
         ((fact & 1) != 0 ? cut(known) <= cut(fact) : cut(known) >= cut(fact));
}

void ClauseSearch::add_fact(Literal fact) {
  const int entry = entry_of(fact);
  if (entry < 0 || trail_[z(entry)].level == 0) return;
  const std::size_t key = 2 * z(column(fact)) + z(fact & 1);
  const Literal known = wanted_[key];
  if (known >= 0) {
    if ((fact & 1) != 0 ? cut(known) <= cut(fact) : cut(known) >= cut(fact)) return;
    if (trail_[z(entry_of(known))].level == level()) --open_;
  } else {
    touched_.push_back(static_cast<int>(key));
  }
  bump(fact);
  wanted_[key] = fact;
  if (trail_[z(entry)].level == level()) ++open_;
}

// Replaces the facts of the current level in wanted_ by their reasons, the latest first, until one is left: the first
// unique implication point. -1 if the watch is over.
Literal ClauseSearch::first_implication_point(Watch& watch) {
  for (int i = static_cast<int>(trail_.size()) - 1; i >= 0; --i) {
    const Change& change = trail_[z(i)];
    const std::size_t key = 2 * z(change.column) + (change.upper ? 1 : 0);
    const Literal fact = wanted_[key];
    if (fact < 0 || entry_of(fact) != i) continue;
    if (open_ == 1) return fact;
    wanted_[key] = -1;
    --open_;
    if (change.reason >= 0 && clauses_[z(change.reason)].learned) clauses_[z(change.reason)].activity += clause_step_;
    for (const Literal other : facts_of(i)) add_fact(other);
    if (watch.over()) {
      for (const int one : touched_) wanted_[z(one)] = -1;
      return -1;
    }
  }
  throw std::logic_error("a conflict has no fact of its own level");
}

// Drops facts that a clause drew from others of the kept ones: they say nothing more.
void ClauseSearch::drop_implied(Literal point, Watch& watch) {
  std::vector<int> spare;
  for (const int key : touched_) {
    const Literal fact = wanted_[z(key)];
    if (fact < 0 || fact == point) continue;
    const int entry = entry_of(fact);
    if (trail_[z(entry)].reason < 0) continue;
    if (watch.over()) break;  // the clause holds without this, too
    const std::vector<Literal> others = facts_of(entry);
    if (std::all_of(others.begin(), others.end(), [&](Literal other) { return implied(other, entry); }))
      spare.push_back(key);
  }
  for (const int key : spare) wanted_[z(key)] = -1;
}

// The clause that denies the facts in wanted_, and the level to go back to: there all literals but the first are false.
void ClauseSearch::write_clause(Literal point, std::vector<Literal>& learned, int& back, int& glue) {
  learned.assign(1, point ^ 1);
  back = 0;
  std::vector<int> levels;
  for (const int key : touched_) {
    const Literal fact = wanted_[z(key)];
    wanted_[z(key)] = -1;
    if (fact < 0 || fact == point) continue;
    const int its = trail_[z(entry_of(fact))].level;
    learned.push_back(fact ^ 1);
    levels.push_back(its);
    if (its > back) {
      back = its;
      std::swap(learned[1], learned.back());
    }
  }
  std::sort(levels.begin(), levels.end());
  glue = 1 + static_cast<int>(std::unique(levels.begin(), levels.end()) - levels.begin());
}

bool ClauseSearch::analyse(std::vector<Literal>& learned, int& back, int& glue, Watch& watch) {
  touched_.clear();
  open_ = 0;
  for (const Literal fact : conflict_) add_fact(fact);
  const Literal point = first_implication_point(watch);
  if (point < 0) return false;
  drop_implied(point, watch);
  write_clause(point, learned, back, glue);
  return true;
}

// The assumptions behind facts, by their reasons.
void ClauseSearch::analyse_final(const std::vector<Literal>& facts) {
  core_.clear();
  touched_.clear();
  open_ = 0;
  for (const Literal fact : facts) add_fact(fact);
  for (int i = static_cast<int>(trail_.size()) - 1; i >= 0; --i) {
    const Change& change = trail_[z(i)];
    const std::size_t key = 2 * z(change.column) + (change.upper ? 1 : 0);
    const Literal fact = wanted_[key];
    if (fact < 0 || entry_of(fact) != i) continue;
    wanted_[key] = -1;
    if (change.reason == kDecision) core_.push_back(fact);
    for (const Literal other : facts_of(i)) add_fact(other);
  }
  for (const int key : touched_) wanted_[z(key)] = -1;
}

}  // namespace proofwood::votes
