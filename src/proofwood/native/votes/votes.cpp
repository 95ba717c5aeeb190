#include "votes/votes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "common/assertion.hpp"
#include "votes/local.hpp"

#include "common/memory.hpp"

namespace proofwood::votes {

namespace {
std::size_t z(int i) { return static_cast<std::size_t>(i); }

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

constexpr std::int64_t kClimb = 8;        // leaves that a local search may look at, per conflict and leaf of the model
constexpr std::int64_t kClimbLong = 100;  // leaves, per leaf of the model, before a question becomes a small ensemble
constexpr std::size_t kFound = 16;       // rows remembered
constexpr std::size_t kOpened = 8;       // stopped questions remembered
}  // namespace

struct Pair::Opened {
  std::vector<Literal> assumptions;
  std::unique_ptr<Local> local;
  std::unique_ptr<Pair> pair;
};

Pair::~Pair() = default;

void Model::index() {
  first.assign(z(n_columns) + 1, 0);
  for (int c = 0; c < n_columns; ++c) first[z(c) + 1] = first[z(c)] + cells[z(c)];
  n_variables = first[z(n_columns)];
  column_of.resize(z(n_variables));
  for (int c = 0; c < n_columns; ++c)
    for (int v = first[z(c)]; v < first[z(c) + 1]; ++v) column_of[z(v)] = c;
  tree_of.resize(z(n_leaves));
  for (int t = 0; t < n_trees; ++t)
    for (int leaf = leaves_of[z(t)]; leaf < leaves_of[z(t) + 1]; ++leaf) tree_of[z(leaf)] = t;
  needing_of.assign(2 * z(n_variables) + 1, 0);
  for (const Literal l : needs) ++needing_of[z(l) + 1];
  std::partial_sum(needing_of.begin(), needing_of.end(), needing_of.begin());
  needing.resize(needs.size());
  std::vector<int> next(needing_of.begin(), needing_of.end() - 1);
  for (int leaf = 0; leaf < n_leaves; ++leaf)
    for (int i = needs_of[z(leaf)]; i < needs_of[z(leaf) + 1]; ++i) needing[z(next[z(needs[z(i)])]++)] = leaf;
  std::vector<std::vector<Limit>> by_column(z(n_columns));
  for (int leaf = 0; leaf < n_leaves; ++leaf)
    for (int i = needs_of[z(leaf)]; i < needs_of[z(leaf) + 1]; ++i) {
      const int v = needs[z(i)] >> 1, c = column_of[z(v)], cut = v - first[z(c)];
      auto& column = by_column[z(c)];
      if (column.empty() || column.back().leaf != leaf) column.push_back({leaf, 0, cells[z(c)]});
      if ((needs[z(i)] & 1) != 0) {
        column.back().high = std::min(column.back().high, cut);
      } else {
        column.back().low = std::max(column.back().low, cut + 1);
      }
    }
  limits_of.assign(1, 0);
  for (const auto& column : by_column) {
    limits.insert(limits.end(), column.begin(), column.end());
    limits_of.push_back(static_cast<int>(limits.size()));
  }
  in_clause.assign(z(n_columns), 0);
  for (const auto& clause : clauses)
    for (const Literal l : clause) in_clause[z(column_of[z(l >> 1)])] = 1;
}

Pair::Pair(const Model& model, const std::vector<Contest>& contests, Rules rules) : model_(model), rules_(rules), climb_(model) {
  const int n = model.n_leaves;
  for (const Contest& contest : contests) {
    Sum sum;
    sum.gain.resize(z(n));
    for (int leaf = 0; leaf < n; ++leaf) {
      const std::int64_t* scores = &model.scores[z(leaf) * z(model.n_classes)];
      sum.gain[z(leaf)] = scores[contest.winner] - scores[contest.loser];
    }
    sum.least = contest.least - (model.base[z(contest.winner)] - model.base[z(contest.loser)]);
    sum.order.resize(z(n));
    std::iota(sum.order.begin(), sum.order.end(), 0);
    sum.place.resize(z(n));
    for (int t = 0; t < model.n_trees; ++t) {
      std::stable_sort(sum.order.begin() + model.leaves_of[z(t)], sum.order.begin() + model.leaves_of[z(t) + 1],
                       [&](int a, int b) { return sum.gain[z(a)] > sum.gain[z(b)]; });
      sum.best.push_back(model.leaves_of[z(t)]);
      sum.bound += sum.gain[z(sum.order[z(sum.best[z(t)])])];
    }
    for (int i = 0; i < n; ++i) sum.place[z(sum.order[z(i)])] = i;
    sums_.push_back(std::move(sum));
  }
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

void Pair::kill(int leaf, Literal need) {
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

void Pair::revive(int leaf) {
  if (--dead_[z(leaf)] > 0) return;
  const auto tree = z(model_.tree_of[z(leaf)]);
  for (Sum& sum : sums_) {
    int& place = sum.best[tree];
    if (sum.place[z(leaf)] > place) continue;
    sum.bound += sum.gain[z(leaf)] - sum.gain[z(sum.order[z(place)])];
    place = sum.place[z(leaf)];
  }
}

bool Pair::set(Literal l, int reason) {
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
      for (int i = model_.needing_of[2 * z(v)]; i < model_.needing_of[2 * z(v) + 1]; ++i) kill(model_.needing[z(i)], 2 * v);
    }
    hi_[z(c)] = t;
  } else {
    if (lo_[z(c)] > t) return true;
    if (hi_[z(c)] <= t) return false;
    trail_.push_back({c, false, lo_[z(c)], reason, l, level()});
    for (int v = model_.first[z(c)] + lo_[z(c)]; v <= model_.first[z(c)] + t; ++v) {
      when_[2 * z(v)] = static_cast<int>(trail_.size()) - 1;
      state_[z(v)] = 1;
      for (int i = model_.needing_of[2 * z(v) + 1]; i < model_.needing_of[2 * z(v) + 2]; ++i) kill(model_.needing[z(i)], 2 * v + 1);
    }
    lo_[z(c)] = t + 1;
  }
  return true;
}

void Pair::undo(int to) {
  if (level() <= to) return;
  const auto keep = z(starts_[z(to)]);
  while (trail_.size() > keep) {
    const Change& change = trail_.back();
    const int c = change.column;
    if (change.upper) {
      for (int v = model_.first[z(c)] + hi_[z(c)]; v < model_.first[z(c)] + change.before; ++v) {
        state_[z(v)] = -1;
        for (int i = model_.needing_of[2 * z(v)]; i < model_.needing_of[2 * z(v) + 1]; ++i) revive(model_.needing[z(i)]);
      }
      hi_[z(c)] = change.before;
    } else {
      for (int v = model_.first[z(c)] + change.before; v < model_.first[z(c)] + lo_[z(c)]; ++v) {
        state_[z(v)] = -1;
        for (int i = model_.needing_of[2 * z(v) + 1]; i < model_.needing_of[2 * z(v) + 2]; ++i) revive(model_.needing[z(i)]);
      }
      lo_[z(c)] = change.before;
    }
    trail_.pop_back();
  }
  starts_.resize(z(to));
  head_ = std::min(head_, trail_.size());
}

void Pair::attach(int clause) {
  const auto& literals = clauses_[z(clause)].literals;
  watching_[z(literals[0])].push_back(clause);
  watching_[z(literals[1])].push_back(clause);
}

int Pair::propagate_clauses() {
  while (head_ < trail_.size()) {
    const Change change = trail_[head_++];
    const int c = change.column, first = model_.first[z(c)];
    // Literals that this change made false: a later change of the same column may have made more false, which its own
    // turn looks at.
    int from = 0, to = 0;
    if (change.upper) {
      from = first + hi_[z(c)];
      to = first + change.before;
    } else {
      from = first + change.before;
      to = first + lo_[z(c)];
    }
    for (int v = from; v < to; ++v) {
      const Literal gone = change.upper ? 2 * v : 2 * v + 1;
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
          // The change may stay when the search goes back, since decisions come several at once: its other watchers are
          // still to be looked at, or a clause could become false unseen.
          --head_;
          return number;
        }
      }
      watchers.resize(kept);
    }
  }
  return kNone;
}

// True facts that keep the sum below its least (under `assumed`): for every leaf that would lift it too far, one of its
// needs is false. Leaves whose gain fits into the room that the sum leaves need no fact.
// Reasons are asked for later than they applied: only changes before `limit` count.
void Pair::explain(const Sum& sum, std::optional<Literal> assumed, int limit, std::vector<Literal>& facts) {
  facts.clear();
  // Leaves that `assumed` rules out: their needs on the other side of its column.
  ++mark_;
  if (assumed) {
    const int c = column(*assumed), v = *assumed >> 1;
    const bool upper = (*assumed & 1) != 0;
    const int from = upper ? v : model_.first[z(c)], to = upper ? model_.first[z(c) + 1] : v + 1;
    for (int u = from; u < to; ++u) {
      const std::size_t need = 2 * z(u) + (upper ? 0 : 1);
      for (int i = model_.needing_of[need]; i < model_.needing_of[need + 1]; ++i) marked_[z(model_.needing[z(i)])] = mark_;
    }
  }
  const auto killed = [&](int leaf) { return marked_[z(leaf)] == mark_; };
  const auto stop_of = [&](int tree) {
    int place = model_.leaves_of[z(tree)];
    while (fallen(sum.order[z(place)], limit) || killed(sum.order[z(place)])) ++place;
    return place;
  };
  const auto covered = [&](Literal fact) {
    const Literal known = chosen_[2 * z(column(fact)) + z(fact & 1)];
    return known >= 0 && ((fact & 1) != 0 ? known <= fact : known >= fact);
  };
  std::int64_t room = sum.least - 1;
  static thread_local std::vector<int> stops;
  stops.resize(z(model_.n_trees));
  for (int t = 0; t < model_.n_trees; ++t) {
    stops[z(t)] = assumed ? stop_of(t) : sum.best[z(t)];
    room -= sum.gain[z(sum.order[z(stops[z(t)])])];
  }
  if (!rules_.slack) room = 0;
  chosen_touched_.clear();
  // What it takes to need no fact about a tree: its best leaf that fell. Cheap trees come first.
  ranking_.clear();
  for (int t = 0; t < model_.n_trees; ++t) {
    const std::int64_t kept = sum.gain[z(sum.order[z(stops[z(t)])])];
    for (int place = model_.leaves_of[z(t)]; place < stops[z(t)]; ++place) {
      const int leaf = sum.order[z(place)];
      if (sum.gain[z(leaf)] <= kept) break;
      if (always_dead(leaf) || killed(leaf)) continue;
      ranking_.push_back({sum.gain[z(leaf)] - kept, t});
      break;
    }
  }
  std::sort(ranking_.begin(), ranking_.end());
  for (const auto& [cost, t] : ranking_) {
    if (cost <= room) {
      room -= cost;
      continue;
    }
    const std::int64_t kept = sum.gain[z(sum.order[z(stops[z(t)])])];
    for (int place = model_.leaves_of[z(t)]; place < stops[z(t)]; ++place) {
      const int leaf = sum.order[z(place)];
      const std::int64_t more = sum.gain[z(leaf)] - kept;
      if (more <= 0) break;
      if (always_dead(leaf) || killed(leaf)) continue;
      if (!assumed && covered(lost_[z(leaf)] ^ 1)) continue;  // the usual case, found without a look at the other needs
      Literal blamed = -1;
      int blamed_entry = 0;
      bool free = false;
      for (int i = model_.needs_of[z(leaf)]; i < model_.needs_of[z(leaf) + 1]; ++i) {
        const Literal need = model_.needs[z(i)];
        if (value(need) != 0) continue;
        const Literal fact = need ^ 1;
        const int entry = entry_of(fact);
        if (entry >= limit) continue;
        if (covered(fact)) {
          free = true;
          break;
        }
        if (blamed < 0 || entry < blamed_entry) {
          blamed = fact;
          blamed_entry = entry;
        }
      }
      if (free) continue;
      if (more <= room) {
        room -= more;
        break;  // the leaves after it gain no more
      }
      const std::size_t key = 2 * z(column(blamed)) + z(blamed & 1);
      if (chosen_[key] < 0) chosen_touched_.push_back(static_cast<int>(key));
      chosen_[key] = blamed;
    }
  }
  for (const int key : chosen_touched_) {
    facts.push_back(chosen_[z(key)]);
    chosen_[z(key)] = -1;
  }
}

int Pair::propagate_scores(int number, Watch& watch) {
  const Sum& sum = sums_[z(number)];
  if (sum.bound < sum.least) {
    explain(sum, std::nullopt, static_cast<int>(trail_.size()), conflict_);
    return 2;
  }
  if (!rules_.propagate_scores) return 0;
  const std::int64_t room = sum.bound - sum.least;
  losses_.clear();
  for (int t = 0; t < model_.n_trees; ++t) {
    const int best = sum.order[z(sum.best[z(t)])];
    const int last = model_.leaves_of[z(t) + 1];
    if (sum.best[z(t)] + 1 >= last) continue;
    if (watch.over()) return 0;
    for (int i = model_.needs_of[z(best)]; i < model_.needs_of[z(best) + 1]; ++i) {
      const Literal need = model_.needs[z(i)];
      if (value(need) == 1) continue;
      const int c = column(need), t_cut = cut(need);
      const bool upper = (need & 1) != 0;
      // The best leaf that stays alive without this need.
      int place = sum.best[z(t)] + 1;
      for (; place < last; ++place) {
        const int leaf = sum.order[z(place)];
        if (dead_[z(leaf)] > 0) continue;
        bool lost = false;
        for (int k = model_.needs_of[z(leaf)]; k < model_.needs_of[z(leaf) + 1] && !lost; ++k) {
          const Literal other = model_.needs[z(k)];
          lost = column(other) == c && ((other & 1) != 0) == upper && (upper ? cut(other) <= t_cut : cut(other) >= t_cut);
        }
        if (!lost) break;
      }
      if (place >= last) continue;
      const std::int64_t loss = sum.gain[z(best)] - sum.gain[z(sum.order[z(place)])];
      if (loss > 0) losses_.push_back({2 * c + (upper ? 1 : 0), t_cut, loss});
    }
  }
  // Cells above the largest cut of a column lose all that need them, and so on downwards; the first cut at which the
  // losses exceed the room is forced.
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
        return 2;
      }
      some = true;
    }
    i = k;
    if (some && sum.bound < sum.least) break;
  }
  return some ? 1 : 0;
}

#ifdef PROOFWOOD_CHECKS
// After propagation: no clause is false, and the bounds are what a recount gives.
void Pair::check() const {
  PROOFWOOD_ASSERT(head_ == trail_.size());
  for (const Clause& clause : clauses_)
    PROOFWOOD_ASSERT(std::any_of(clause.literals.begin(), clause.literals.end(), [&](Literal l) { return value(l) != 0; }));
  for (int c = 0; c < model_.n_columns; ++c) PROOFWOOD_ASSERT(lo_[z(c)] <= hi_[z(c)]);
  for (const Sum& sum : sums_) {
    std::int64_t bound = 0;
    for (int t = 0; t < model_.n_trees; ++t) {
      for (int place = model_.leaves_of[z(t)]; place < sum.best[z(t)]; ++place) PROOFWOOD_ASSERT(dead_[z(sum.order[z(place)])] > 0);
      PROOFWOOD_ASSERT(dead_[z(sum.order[z(sum.best[z(t)])])] == 0);
      bound += sum.gain[z(sum.order[z(sum.best[z(t)])])];
    }
    PROOFWOOD_ASSERT(bound == sum.bound && bound >= sum.least);
  }
}
#endif

bool Pair::propagate(Watch& watch) {
  while (true) {
    const int clause = propagate_clauses();
    if (clause != kNone) {
      conflict_.clear();
      for (const Literal l : clauses_[z(clause)].literals) conflict_.push_back(l ^ 1);
      if (clauses_[z(clause)].learned) clauses_[z(clause)].activity += clause_step_;
      return false;
    }
    int told = 0;
    for (int number = 0; number < static_cast<int>(sums_.size()) && told == 0; ++number) told = propagate_scores(number, watch);
    if (told == 2) return false;
    if (watch.over()) return true;
    if (told == 1) continue;
#ifdef PROOFWOOD_CHECKS
    check();
#endif
    return true;
  }
}

std::vector<Literal> Pair::facts_of(int entry) {
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

void Pair::bump(Literal l) {
  double& activity = activity_[z(l >> 1)];
  activity += step_;
  if (activity > 1e100) {
    for (double& one : activity_) one *= 1e-100;
    step_ *= 1e-100;
  }
}

// Facts that come later than what they are to support would go round in a circle.
bool Pair::implied(Literal fact, int before) const {
  if (trail_[z(entry_of(fact))].level == 0) return true;
  const Literal known = wanted_[2 * z(column(fact)) + z(fact & 1)];
  return known >= 0 && entry_of(known) < before && ((fact & 1) != 0 ? cut(known) <= cut(fact) : cut(known) >= cut(fact));
}

void Pair::add_fact(Literal fact) {
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

bool Pair::analyse(std::vector<Literal>& learned, int& back, int& glue, Watch& watch) {
  touched_.clear();
  open_ = 0;
  for (const Literal fact : conflict_) add_fact(fact);
  Literal last = -1;
  for (int i = static_cast<int>(trail_.size()) - 1; i >= 0 && last < 0; --i) {
    const Change& change = trail_[z(i)];
    const std::size_t key = 2 * z(change.column) + (change.upper ? 1 : 0);
    const Literal fact = wanted_[key];
    if (fact < 0 || entry_of(fact) != i) continue;
    if (open_ == 1) {
      last = fact;
      break;
    }
    wanted_[key] = -1;
    --open_;
    if (change.reason >= 0 && clauses_[z(change.reason)].learned) clauses_[z(change.reason)].activity += clause_step_;
    for (const Literal other : facts_of(i)) add_fact(other);
    if (watch.over()) {
      for (const int one : touched_) wanted_[z(one)] = -1;
      return false;
    }
  }
  PROOFWOOD_ASSERT(last >= 0);
  // A fact that a clause drew from others of the kept ones says nothing more.
  std::vector<int> spare;
  for (const int key : touched_) {
    const Literal fact = wanted_[z(key)];
    if (fact < 0 || fact == last) continue;
    const int entry = entry_of(fact);
    if (trail_[z(entry)].reason < 0) continue;
    if (watch.over()) break;  // the clause holds without this, too
    const std::vector<Literal> others = facts_of(entry);
    if (std::all_of(others.begin(), others.end(), [&](Literal other) { return implied(other, entry); })) spare.push_back(key);
  }
  learned.assign(1, last ^ 1);
  back = 0;
  std::vector<int> levels;
  for (const int key : spare) wanted_[z(key)] = -1;
  for (const int key : touched_) {
    const Literal fact = wanted_[z(key)];
    wanted_[z(key)] = -1;
    if (fact < 0 || fact == last) continue;
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
  return true;
}

// The assumptions behind facts, by their reasons.
void Pair::analyse_final(const std::vector<Literal>& facts) {
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

Literal Pair::choose() {
  // Where the best leaves of one sum hold everywhere, the trees have no others, and all sums are what they are.
  const Sum& sum = *std::min_element(sums_.begin(), sums_.end(), [](const Sum& a, const Sum& b) { return a.bound - a.least < b.bound - b.least; });
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

void Pair::decide(Literal l) {
  PROOFWOOD_ASSERT(l >= 0 && l < 2 * model_.n_variables && value(l) < 0);
  starts_.push_back(static_cast<int>(trail_.size()));
  set(l, kDecision);
}

// The best leaves hold everywhere in the box; takes its row nearest to `near`, if that is a row of the space.
bool Pair::complete(const std::vector<int>& near) {
  witness_.resize(lo_.size());
  for (std::size_t c = 0; c < lo_.size(); ++c) witness_[c] = std::clamp(near[c], lo_[c], hi_[c]);
  for (std::size_t i = 0; i < n_given_; ++i) {
    const auto& literals = clauses_[i].literals;
    if (!std::any_of(literals.begin(), literals.end(), [&](Literal l) { return model_.holds(l, witness_); })) return false;
  }
  return true;
}

bool Pair::climb(const std::vector<int>& near, std::int64_t effort, Watch& watch) {
  climb_.enter(sums_[0].gain, dead_, lo_, hi_);
  std::vector<std::vector<int>> starts{near};
  starts.insert(starts.end(), found_.begin(), found_.end());
  if (!climb_.reach(starts, sums_[0].least, effort, watch)) return false;
  climb_.approach(near, sums_[0].least, watch);
  if (!climb_.counted(sums_[0].least)) throw std::logic_error("the local search lost count of its row");
  witness_ = climb_.row();
  return true;
}

void Pair::reduce() {
  std::vector<std::size_t> long_ones;
  for (std::size_t i = n_given_; i < clauses_.size(); ++i)
    if (clauses_[i].glue > 2) long_ones.push_back(i);
  std::sort(long_ones.begin(), long_ones.end(), [&](std::size_t a, std::size_t b) { return clauses_[a].activity < clauses_[b].activity; });
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

Outcome Pair::found() {
  found_.insert(found_.begin(), witness_);
  if (found_.size() > kFound) found_.pop_back();
  return Outcome::kChanges;
}

Outcome Pair::settle(const std::vector<Literal>& assumptions, const std::vector<int>& near, const Budget& budget) {
  auto opened = std::find_if(opened_.begin(), opened_.end(), [&](const Opened& one) { return one.assumptions == assumptions; });
  if (opened == opened_.end()) {
    if (never_ || !propagate(budget.watch)) {
      never_ = true;
      core_.clear();
      return Outcome::kSame;
    }
    for (const Literal l : assumptions) {
      if (value(l) == 0) {
        undo(0);
        return solve(assumptions, near, budget);
      }
      starts_.push_back(static_cast<int>(trail_.size()));
      set(l, kDecision);
    }
    if (!propagate(budget.watch)) {
      undo(0);
      return solve(assumptions, near, budget);
    }
    if (rules_.climb && budget.climb && climb(near, kClimbLong * model_.n_leaves, budget.watch)) {
      undo(0);
      return found();
    }
    const JoinOptions options{rules_.join};
    Opened made{assumptions, std::make_unique<Local>(model_, sums_[0].gain, dead_, lo_, hi_, sums_[0].least, options, budget.watch), nullptr};
    undo(0);
    if (made.local->stopped()) return Outcome::kStopped;
    if (made.local->hopeless()) {
      core_ = assumptions;
      return Outcome::kSame;
    }
    Rules rules = rules_;
    rules.climb = rules.local = false;
    made.pair = std::make_unique<Pair>(made.local->model(), std::vector<Contest>{{0, 1, made.local->least()}}, rules);
    if (opened_.size() >= kOpened) opened_.erase(opened_.begin());
    opened_.push_back(std::move(made));
    opened = opened_.end() - 1;
  }
  Pair& pair = *opened->pair;
  const std::int64_t before = pair.conflicts();
  const Outcome outcome = pair.solve({}, opened->local->inward(near), budget);
  conflicts_ += pair.conflicts() - before;
  if (outcome == Outcome::kStopped) return outcome;
  if (outcome == Outcome::kChanges) {
    witness_ = opened->local->outward(pair.witness(), near);
  } else {
    core_ = assumptions;
  }
  opened_.erase(opened);
  return outcome == Outcome::kChanges ? found() : outcome;
}

Outcome Pair::solve(const std::vector<Literal>& assumptions, const std::vector<int>& near, const Budget& budget) {
  core_.clear();
  if (never_) return Outcome::kSame;
  std::int64_t here = 0, restart = 0;
  std::int64_t until = 64 * luby(1);
  std::int64_t next_climb = rules_.climb && budget.climb ? 0 : std::numeric_limits<std::int64_t>::max();
  std::vector<Literal> learned;
  std::size_t limit = std::max<std::size_t>(4000, 2 * static_cast<std::size_t>(this->learned()));
  const auto end = [&](Outcome outcome) {
    undo(0);
    return outcome == Outcome::kChanges ? found() : outcome;
  };
  // Each pass is a conflict, a restart, new decisions or the end.
  while (true) {
    const bool consistent = propagate(budget.watch);
    if (budget.watch.over()) return end(Outcome::kStopped);
    if (!consistent) {
      ++conflicts_;
      ++here;
      --until;
      if (level() == 0) {
        never_ = true;
        return Outcome::kSame;
      }
      // A conflict of facts that are all older than this level belongs to the level of the youngest.
      int youngest = 0;
      for (const Literal fact : conflict_) {
        const int entry = entry_of(fact);
        if (entry >= 0) youngest = std::max(youngest, trail_[z(entry)].level);
      }
      if (youngest == 0) {
        never_ = true;
        return end(Outcome::kSame);
      }
      undo(youngest);
      int back = 0, glue = 0;
      if (!analyse(learned, back, glue, budget.watch)) return end(Outcome::kStopped);
      undo(back);
      if (learned.size() == 1) {
        undo(0);
        if (!set(learned[0], kDecision)) {
          never_ = true;
          return Outcome::kSame;
        }
      } else {
        clauses_.push_back({learned, clause_step_, glue, true});
        attach(static_cast<int>(clauses_.size()) - 1);
        PROOFWOOD_ASSERT(value(learned[0]) < 0);
        set(learned[0], static_cast<int>(clauses_.size()) - 1);
      }
      step_ /= 0.99;
      clause_step_ /= 0.999F;
      if (clause_step_ > 1e20F) {
        for (auto& clause : clauses_) clause.activity *= 1e-20F;
        clause_step_ *= 1e-20F;
      }
      if (budget.conflicts >= 0 && here >= budget.conflicts) return end(Outcome::kStopped);
      continue;
    }
    if (until <= 0) {
      until = 64 * luby(++restart + 1);
      const std::size_t many = memory_is_short() ? std::min<std::size_t>(limit, 1000) : limit;
      if (clauses_.size() - n_given_ > many) {
        undo(0);
        if (!propagate(budget.watch) || budget.watch.over()) continue;
        reduce();
        limit += limit / 10;
      } else {
        undo(static_cast<int>(assumptions.size()));
      }
      continue;
    }
    if (here >= next_climb && level() >= static_cast<int>(assumptions.size())) {
      undo(static_cast<int>(assumptions.size()));
      if (!propagate(budget.watch) || budget.watch.over()) continue;
      if (climb(near, (next_climb + 1) * kClimb * model_.n_leaves, budget.watch)) return end(Outcome::kChanges);
      next_climb = 4 * next_climb + 4;
    }
    if (level() < static_cast<int>(assumptions.size())) {
      // All at once: what follows from some of them follows from all.
      while (level() < static_cast<int>(assumptions.size())) {
        const Literal next = assumptions[z(level())];
        const int known = value(next);
        if (known == 0) {
          analyse_final({next ^ 1});
          core_.push_back(next);
          return end(Outcome::kSame);
        }
        starts_.push_back(static_cast<int>(trail_.size()));
        if (known < 0) set(next, kDecision);
      }
      continue;
    }
    Literal next = choose();
    if (next >= 0) {
      // The whole way to the leaf at once: what follows from some of its needs follows from all.
      decide(next);
      for (int i = model_.needs_of[z(followed_)]; i < model_.needs_of[z(followed_) + 1]; ++i)
        if (value(model_.needs[z(i)]) < 0) decide(model_.needs[z(i)]);
      continue;
    }
    if (complete(near)) return end(Outcome::kChanges);
    for (std::size_t i = 0; i < n_given_ && next < 0; ++i) {
      const auto& literals = clauses_[i].literals;
      if (std::any_of(literals.begin(), literals.end(), [&](Literal l) { return model_.holds(l, witness_); })) continue;
      for (const Literal l : literals)
        if (value(l) < 0) next = l;
    }
    if (next < 0) throw std::logic_error("a clause is false after propagation");
    decide(next);
  }
}

}  // namespace proofwood::votes
