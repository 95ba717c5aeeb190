// Propagation: what follows from the bounds of the box, by clauses and by the sums of the scores.
//
// Theory: docs/theory/explanations.md, "The engine cdcl: clause learning". The bound of a sum is that of Törnblom,
// Karlsson, Nadjm-Tehrani (arXiv 2303.09271): per tree the best leaf that the box still reaches.
#include <algorithm>

#include "common/assertion.hpp"
#include "votes/clause_search.hpp"

namespace proofwood::votes {

// ------------------------------------------------------------------------------------------------------- the box

void ClauseSearch::kill(int leaf, Literal need) {
  if (dead_[z(leaf)]++ > 0) return;
  lost_[z(leaf)] = need;
  died_[z(leaf)] = static_cast<int>(trail_.size()) - 1;
  const auto tree = z(model_.tree_of[z(leaf)]);
  for (Sum& sum : sums_) {
    int& place = sum.best[tree];
    if (place != sum.place[z(leaf)]) continue;
    while (dead_[z(sum.order[z(place)])] > 0) ++place;
    sum.bound += sum.gain[z(sum.order[z(place)])] - sum.gain[z(leaf)];
  }
}

void ClauseSearch::revive(int leaf) {
  if (--dead_[z(leaf)] > 0) return;
  const auto tree = z(model_.tree_of[z(leaf)]);
  for (Sum& sum : sums_) {
    int& place = sum.best[tree];
    if (sum.place[z(leaf)] > place) continue;
    sum.bound += sum.gain[z(leaf)] - sum.gain[z(sum.order[z(place)])];
    place = sum.place[z(leaf)];
  }
}

bool ClauseSearch::set(Literal l, int reason) {
  const int c = column(l), t = cut(l);
  const bool upper = (l & 1) != 0;
  if (upper) {
    if (hi_[z(c)] <= t) return true;
    if (lo_[z(c)] > t) return false;
    trail_.push_back({c, true, hi_[z(c)], reason, l, level()});
    // No box is empty, so a leaf of every tree stays alive all the way.
    for (int v = model_.first[z(c)] + t; v < model_.first[z(c)] + hi_[z(c)]; ++v) {
      when_[2 * z(v) + 1] = static_cast<int>(trail_.size()) - 1;
      state_[z(v)] = 0;
      for (int i = model_.needing_of[2 * z(v)]; i < model_.needing_of[2 * z(v) + 1]; ++i)
        kill(model_.needing[z(i)], 2 * v);
    }
    hi_[z(c)] = t;
  } else {
    if (lo_[z(c)] > t) return true;
    if (hi_[z(c)] <= t) return false;
    trail_.push_back({c, false, lo_[z(c)], reason, l, level()});
    for (int v = model_.first[z(c)] + lo_[z(c)]; v <= model_.first[z(c)] + t; ++v) {
      when_[2 * z(v)] = static_cast<int>(trail_.size()) - 1;
      state_[z(v)] = 1;
      for (int i = model_.needing_of[2 * z(v) + 1]; i < model_.needing_of[2 * z(v) + 2]; ++i)
        kill(model_.needing[z(i)], 2 * v + 1);
    }
    lo_[z(c)] = t + 1;
  }
  return true;
}

void ClauseSearch::undo(int to) {
  if (level() <= to) return;
  const auto keep = z(starts_[z(to)]);
  while (trail_.size() > keep) {
    const Change& change = trail_.back();
    const int c = change.column;
    if (change.upper) {
      for (int v = model_.first[z(c)] + hi_[z(c)]; v < model_.first[z(c)] + change.before; ++v) {
        state_[z(v)] = -1;
        for (int i = model_.needing_of[2 * z(v)]; i < model_.needing_of[2 * z(v) + 1]; ++i)
          revive(model_.needing[z(i)]);
      }
      hi_[z(c)] = change.before;
    } else {
      for (int v = model_.first[z(c)] + change.before; v < model_.first[z(c)] + lo_[z(c)]; ++v) {
        state_[z(v)] = -1;
        for (int i = model_.needing_of[2 * z(v) + 1]; i < model_.needing_of[2 * z(v) + 2]; ++i)
          revive(model_.needing[z(i)]);
      }
      lo_[z(c)] = change.before;
    }
    trail_.pop_back();
  }
  starts_.resize(z(to));
  head_ = std::min(head_, trail_.size());
}

void ClauseSearch::attach(int clause) {
  const auto& literals = clauses_[z(clause)].literals;
  watching_[z(literals[0])].push_back(clause);
  watching_[z(literals[1])].push_back(clause);
}

// -------------------------------------------------------------------------------------------------------- clauses

// Looks at the clauses that watch `gone`, a literal that has become false: a clause finds another literal to watch, or
// its last one follows, or it is in conflict and is returned.
int ClauseSearch::visit_watchers(Literal gone) {
  auto& watchers = watching_[z(gone)];
  std::size_t kept = 0;
  for (std::size_t i = 0; i < watchers.size(); ++i) {
    const int number = watchers[i];
    auto& literals = clauses_[z(number)].literals;
    if (literals[0] == gone) std::swap(literals[0], literals[1]);
    if (value(literals[0]) == 1) {
      watchers[kept++] = number;
      continue;
    }
    bool moved = false;
    for (std::size_t k = 2; k < literals.size(); ++k)
      if (value(literals[k]) != 0) {
        std::swap(literals[1], literals[k]);
        watching_[z(literals[1])].push_back(number);
        moved = true;
        break;
      }
    if (moved) continue;
    watchers[kept++] = number;
    if (!set(literals[0], number)) {
      for (++i; i < watchers.size(); ++i) watchers[kept++] = watchers[i];
      watchers.resize(kept);
      return number;
    }
  }
  watchers.resize(kept);
  return kNone;
}

int ClauseSearch::propagate_clauses() {
  while (head_ < trail_.size()) {
    const Change change = trail_[head_++];
    const int c = change.column, first = model_.first[z(c)];
    // Literals that this change made false. A later change of the same column may have made more false; those are
    // looked at when that change has its turn.
    const int from = change.upper ? first + hi_[z(c)] : first + change.before;
    const int to = change.upper ? first + change.before : first + lo_[z(c)];
    for (int v = from; v < to; ++v) {
      const int clause = visit_watchers(change.upper ? 2 * v : 2 * v + 1);
      if (clause == kNone) continue;
      // The change may stay when the search goes back, since several decisions are made at once. Its other watchers are
      // still to be looked at, or a clause could become false unseen.
      --head_;
      return clause;
    }
  }
  return kNone;
}

// --------------------------------------------------------------------------------------------------------- the sums

// Place of the best leaf of a tree that stays alive if `need`, which its best leaf has, is false; `last` if there is
// no such leaf.
int ClauseSearch::best_without(const Sum& sum, int tree, Literal need) const {
  const int c = column(need), t = cut(need);
  const bool upper = (need & 1) != 0;
  const int last = model_.leaves_of[z(tree) + 1];
  for (int place = sum.best[z(tree)] + 1; place < last; ++place) {
    const int leaf = sum.order[z(place)];
    if (dead_[z(leaf)] > 0) continue;
    bool lost = false;
    for (int k = model_.needs_of[z(leaf)]; k < model_.needs_of[z(leaf) + 1] && !lost; ++k) {
      const Literal other = model_.needs[z(k)];
      lost = column(other) == c && ((other & 1) != 0) == upper && (upper ? cut(other) <= t : cut(other) >= t);
    }
    if (!lost) return place;
  }
  return last;
}

// Into losses_: what the sum loses if a need of a best leaf is false, for each tree. False if the watch is over.
bool ClauseSearch::list_losses(const Sum& sum, Watch& watch) {
  losses_.clear();
  for (int t = 0; t < model_.n_trees; ++t) {
    const int best = sum.order[z(sum.best[z(t)])];
    const int last = model_.leaves_of[z(t) + 1];
    if (sum.best[z(t)] + 1 >= last) continue;
    if (watch.over()) return false;
    for (int i = model_.needs_of[z(best)]; i < model_.needs_of[z(best) + 1]; ++i) {
      const Literal need = model_.needs[z(i)];
      if (value(need) == 1) continue;
      const int place = best_without(sum, t, need);
      if (place >= last) continue;
      const std::int64_t loss = sum.gain[z(best)] - sum.gain[z(sum.order[z(place)])];
      if (loss > 0) losses_.push_back({2 * column(need) + (need & 1), cut(need), loss});
    }
  }
  return true;
}

// The losses of a column and side add up from its outermost cut inwards: a row beyond an inner cut is beyond the outer
// ones, too. The first cut at which they exceed the room is forced. With room 4:
//
//   cell        0   1   2   3   4   5
//   losses            3       2           "cell > 3" false costs 2, "cell > 1" false costs 2 + 3 > 4 and is forced
ClauseSearch::Step ClauseSearch::force_bounds(int number, std::int64_t room) {
  const Sum& sum = sums_[z(number)];
  std::sort(losses_.begin(), losses_.end(), [](const Loss& a, const Loss& b) {
    if (a.key != b.key) return a.key < b.key;
    return (a.key & 1) != 0 ? a.cut < b.cut : a.cut > b.cut;
  });
  bool some = false;
  for (std::size_t i = 0; i < losses_.size();) {
    const int key = losses_[i].key;
    std::int64_t loss = 0;
    std::size_t k = i;
    bool done = false;
    for (; k < losses_.size() && losses_[k].key == key; ++k) {
      loss += losses_[k].loss;
      if (done || loss <= room) continue;
      done = true;
      const int c = key / 2;
      const Literal forced = 2 * (model_.first[z(c)] + losses_[k].cut) + (key & 1);
      if (value(forced) == 1) continue;
      if (!set(forced, kScores - number)) {
        explain(sum, forced ^ 1, static_cast<int>(trail_.size()), conflict_);
        conflict_.push_back(forced ^ 1);
        return Step::kConflict;
      }
      some = true;
    }
    i = k;
    if (some && sum.bound < sum.least) break;
  }
  return some ? Step::kForced : Step::kNothing;
}

ClauseSearch::Step ClauseSearch::propagate_scores(int number, Watch& watch) {
  const Sum& sum = sums_[z(number)];
  if (sum.bound < sum.least) {
    explain(sum, std::nullopt, static_cast<int>(trail_.size()), conflict_);
    return Step::kConflict;
  }
  if (!rules_.propagate_scores) return Step::kNothing;
  const std::int64_t room = sum.bound - sum.least;
  return list_losses(sum, watch) ? force_bounds(number, room) : Step::kNothing;
}

#ifdef PROOFWOOD_CHECKS
// After propagation: no clause is false, and the bounds are what a recount gives.
void ClauseSearch::check() const {
  PROOFWOOD_ASSERT(head_ == trail_.size());
  for (const Clause& clause : clauses_)
    PROOFWOOD_ASSERT(
        std::any_of(clause.literals.begin(), clause.literals.end(), [&](Literal l) { return value(l) != 0; }));
  for (int c = 0; c < model_.n_columns; ++c) PROOFWOOD_ASSERT(lo_[z(c)] <= hi_[z(c)]);
  for (const Sum& sum : sums_) {
    std::int64_t bound = 0;
    for (int t = 0; t < model_.n_trees; ++t) {
      for (int place = model_.leaves_of[z(t)]; place < sum.best[z(t)]; ++place)
        PROOFWOOD_ASSERT(dead_[z(sum.order[z(place)])] > 0);
      PROOFWOOD_ASSERT(dead_[z(sum.order[z(sum.best[z(t)])])] == 0);
      bound += sum.gain[z(sum.order[z(sum.best[z(t)])])];
    }
    PROOFWOOD_ASSERT(bound == sum.bound && bound >= sum.least);
  }
}
#endif

// ----------------------------------------------------------------------------------------------------------- both

bool ClauseSearch::propagate(Watch& watch) {
  while (true) {
    const int clause = propagate_clauses();
    if (clause != kNone) {
      conflict_.clear();
      for (const Literal l : clauses_[z(clause)].literals) conflict_.push_back(l ^ 1);
      if (clauses_[z(clause)].learned) clauses_[z(clause)].activity += clause_step_;
      return false;
    }
    Step step = Step::kNothing;
    for (int number = 0; number < static_cast<int>(sums_.size()) && step == Step::kNothing; ++number)
      step = propagate_scores(number, watch);
    if (step == Step::kConflict) return false;
    if (watch.over()) return true;
    if (step == Step::kForced) continue;
#ifdef PROOFWOOD_CHECKS
    check();
#endif
    return true;
  }
}

}  // namespace proofwood::votes
