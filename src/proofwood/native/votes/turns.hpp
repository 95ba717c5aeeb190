// Answers questions about one ensemble by two searches that take turns: learned clauses, and bounds of messages.
//
// Theory: docs/theory/explanations.md, "The engine auto". Neither is good at everything: clauses learn across questions
// and know little of large ensembles; messages bound those well and forget.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "common/watch.hpp"
#include "votes/clause_search.hpp"
#include "votes/message_search.hpp"

namespace proofwood::votes {

struct TurnRules {
  Rules clause_rules;
  MessageRules message_rules;
  bool clauses = true, messages = true;  // which searches take part; one at least
  std::int64_t patience = 20;            // conflicts before a question is worth a thread of its own
};

class Turns {
 public:
  // A question: is there a row of the box in which the winner wins all contests? `near` are the cells of the row asked
  // about.
  struct Asked {
    std::vector<Contest> contests;
    std::vector<Literal> assumptions;
    std::vector<int> near;
    // Counted and not timed, so that an answer without a time limit is the same on every machine: a question that is
    // too hard for its turns is left for another order of features (decisions/0048-other-orders).
    std::int64_t turns = -1;  // most turns of each search after the first one of clauses; without limit below 0
    bool hard = false;  // of a kind that few conflicts do not answer: where messages know it, their turn is the first
  };

  Turns(const Model& model, TurnRules rules) : model_(model), rules_(rules) {}

  // The first turn, short; kStopped if the question needs more.
  Outcome begin(const Asked& asked, Watch& watch);
  // Until there is an answer, the turns have been taken, or the watch is over.
  Outcome go_on(const Asked& asked, Watch& watch);
  // Forgets everything: of no use is what a search lacked memory for.
  void clear();

  const std::vector<int>& witness() const { return witness_; }  // after kChanges: cells
  const std::vector<Literal>& core() const { return core_; }    // after kSame: assumptions that suffice
  std::int64_t conflicts() const;
  std::int64_t boxes() const { return messages_ ? messages_->boxes() : 0; }

 private:
  bool by_clauses(const Asked& asked) const;  // messages know one contest
  ClauseSearch& clause_search(const Asked& asked);
  Outcome ask_clauses(const Asked& asked, std::int64_t conflicts, bool small, Watch& watch);
  Outcome ask_messages(const Asked& asked, std::int64_t most, Watch& watch);

  const Model& model_;
  TurnRules rules_;
  std::map<std::pair<int, int>, std::unique_ptr<ClauseSearch>> pairs_;
  // One class against several, which are named beside it: what is learned is about these leads.
  std::map<std::pair<int, std::vector<int>>, std::unique_ptr<ClauseSearch>> firsts_;
  std::unique_ptr<MessageSearch> messages_;
  std::vector<int> witness_;
  std::vector<Literal> core_;
};

}  // namespace proofwood::votes
