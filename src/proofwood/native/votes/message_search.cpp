// Questions by a search without prices.
//
// Theory: docs/theory/explanations.md, "The engine messages".
#include "votes/message_search.hpp"

#include <algorithm>
#include <utility>

namespace proofwood::votes {

namespace {

constexpr std::size_t kStopped = 8;  // stopped questions remembered

}  // namespace

MessageSearch::MessageSearch(const Model& model, MessageRules rules)
    : model_(model), rules_(rules), bounds_(std::make_shared<BoxBounds>(model)) {}

void MessageSearch::load(const Contest& contest) {
  const bool same = contest.winner == contest_.winner && contest.loser == contest_.loser;
  if (same && contest.least == contest_.least) return;
  if (same) {  // leaves are worth what they were
    const std::shared_ptr<Aims> before = std::exchange(aims_, std::make_shared<Aims>(*aims_));
    aims_->raise(contest.least - contest_.least);
    if (bounds_->loaded == before) bounds_->loaded = aims_;
  } else {
    last_.reset();
    aims_ = std::make_shared<Aims>(
        std::vector<Way>{{model_.lead({contest.winner, contest.loser, contest.least, contest.least})}});
  }
  contest_ = contest;
}

Outcome MessageSearch::ask(const Contest& contest, const Box& box, const std::vector<int>& near, std::int64_t most,
                           Watch& watch) {
  load(contest);
  Question question{contest, box, nullptr};
  const auto known = std::find_if(stopped_.begin(), stopped_.end(),
                                  [&](const Question& one) { return one.contest == contest && one.box == box; });
  if (known != stopped_.end()) {
    question = std::move(*known);
    stopped_.erase(known);
  } else {
    PriceRules rules;
    rules.sweeps = rules_.sweeps;
    rules.settle = rules.climb = false;
    question.search = std::make_unique<PriceSearch>(model_, aims_, Prices{}, box, near, 1, rules, bounds_,
                                                    rules_.share ? last_ : nullptr);
  }
  PriceSearch& search = *question.search;
  const std::int64_t before = search.nodes();
  const auto ended = search.run(watch, most);
  boxes_ += search.nodes() - before;
  if (ended == PriceSearch::Ended::kStopped) {
    if (stopped_.size() >= kStopped) stopped_.erase(stopped_.begin());
    stopped_.push_back(std::move(question));
    return Outcome::kStopped;
  }
  if (search.way() >= 0) {
    witness_ = search.best();
    return Outcome::kChanges;
  }
  if (search.closed_at_once() && bounds_->messages.box() == box)  // not where clauses made it smaller
    last_ = std::make_shared<const PriceSearch::Kept>(PriceSearch::Kept{bounds_->messages.keep(false), {}});
  return Outcome::kSame;
}

}  // namespace proofwood::votes
