// The turns of the two searches: each twice as long as the one before.
//
// Theory: docs/theory/explanations.md, "The engine auto".
#include "votes/turns.hpp"

#include <algorithm>

namespace proofwood::votes {

namespace {

// About 20 ms each, of the first turns.
constexpr std::int64_t kFirstOptions = 3'000'000;
constexpr std::int64_t kFirstConflicts = 200;

}  // namespace

bool Turns::by_clauses(const Asked& asked) const { return rules_.clauses || asked.contests.size() > 1; }

ClauseSearch& Turns::clause_search(const Asked& asked) {
  const Contest& contest = asked.contests.front();
  std::vector<int> losers;
  for (const Contest& one : asked.contests) losers.push_back(one.loser);
  auto& search = losers.size() > 1 ? firsts_[{contest.winner, losers}] : pairs_[{contest.winner, contest.loser}];
  if (!search) search = std::make_unique<ClauseSearch>(model_, asked.contests, rules_.clause_rules);
  return *search;
}

// Local search, small ensembles and messages know one contest.
Outcome Turns::ask_clauses(const Asked& asked, std::int64_t conflicts, bool small, Watch& watch) {
  ClauseSearch& search = clause_search(asked);
  const bool one = asked.contests.size() == 1;
  const Budget budget{watch, conflicts, one};
  const Outcome outcome = small && one && rules_.clause_rules.local
                              ? search.solve_small(asked.assumptions, asked.near, budget)
                              : search.solve(asked.assumptions, asked.near, budget);
  if (outcome == Outcome::kChanges) witness_ = search.witness();
  if (outcome == Outcome::kSame) core_ = search.core();
  return outcome;
}

Outcome Turns::ask_messages(const Asked& asked, std::int64_t most, Watch& watch) {
  if (!messages_) messages_ = std::make_unique<MessageSearch>(model_, rules_.message_rules);
  Box box = model_.whole();
  for (const Literal l : asked.assumptions) model_.narrow(box, l);
  const Outcome outcome = messages_->ask(asked.contests.front(), box, asked.near, most, watch);
  if (outcome == Outcome::kChanges) {
    witness_ = messages_->witness();
    if (by_clauses(asked)) clause_search(asked).start_from(witness_);
  }
  if (outcome == Outcome::kSame) core_ = asked.assumptions;
  return outcome;
}

Outcome Turns::begin(const Asked& asked, Watch& watch) {
  if (!by_clauses(asked)) return ask_messages(asked, kFirstOptions, watch);
  // A short first turn, and none for boxes near a row: in large ensembles the conflicts cost more than the messages
  // that answer such a question: decisions/0037-first-turns.
  if (rules_.patience <= 0 || (asked.hard && rules_.messages && asked.contests.size() == 1)) return Outcome::kStopped;
  return ask_clauses(asked, rules_.patience, false, watch);
}

Outcome Turns::go_on(const Asked& asked, Watch& watch) {
  const bool clauses = by_clauses(asked), messages = rules_.messages && asked.contests.size() == 1;
  const bool whole = asked.turns < 0 && !(messages && clauses);  // nobody else wants a turn
  std::int64_t options = whole ? -1 : kFirstOptions;
  std::int64_t conflicts = whole ? -1 : kFirstConflicts;
  for (std::int64_t turn = 0; turn != asked.turns && !watch.over(); ++turn) {
    if (messages) {
      const Outcome outcome = ask_messages(asked, options, watch);
      if (outcome != Outcome::kStopped) return outcome;
    }
    if (clauses && !watch.over()) {
      const Outcome outcome = ask_clauses(asked, conflicts, true, watch);
      if (outcome != Outcome::kStopped) return outcome;
    }
    if (options >= 0) options *= 2;
    if (conflicts >= 0) conflicts *= 2;
  }
  return Outcome::kStopped;
}

void Turns::clear() {
  pairs_.clear();
  firsts_.clear();
  messages_.reset();
}

std::int64_t Turns::conflicts() const {
  std::int64_t sum = 0;
  for (const auto& [_, search] : pairs_) sum += search ? search->conflicts() : 0;  // none if memory did not last for it
  for (const auto& [_, search] : firsts_) sum += search ? search->conflicts() : 0;
  return sum;
}

}  // namespace proofwood::votes
