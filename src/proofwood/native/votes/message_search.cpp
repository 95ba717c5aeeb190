// Questions by a search without prices, and what their proofs need.
//
// Theory: docs/theory/explanations.md, "The engine messages".
#include "votes/message_search.hpp"

#include <algorithm>
#include <utility>

namespace proofwood::votes {

namespace {

constexpr std::size_t kStopped = 8;  // stopped questions remembered

// What the bound comes to while the limits of features are let go one after the other.
class Letting {
 public:
  Letting(std::vector<Messages::Excluded> excluded, std::vector<double> best, std::size_t n_features)
      : excluded_(std::move(excluded)), best_(std::move(best)), of_feature_(n_features) {
    for (std::size_t i = 0; i < excluded_.size(); ++i) {
      against_.push_back(static_cast<int>(excluded_[i].features.size()));
      for (const int f : excluded_[i].features) of_feature_[z(f)].push_back(i);
    }
  }

  // What the bound grows by without the limits of a feature.
  i128 go(int feature) {
    i128 more = 0;
    before_.clear();
    for (const std::size_t i : of_feature_[z(feature)]) {
      if (--against_[i] != 0) continue;
      double& best = best_[z(excluded_[i].factor)];
      if (excluded_[i].value <= best) continue;
      before_.emplace_back(excluded_[i].factor, best);
      more += static_cast<std::int64_t>(excluded_[i].value - best);
      best = excluded_[i].value;
    }
    return more;
  }

  // Undoes the last one.
  void take_back(int feature) {
    for (const std::size_t i : of_feature_[z(feature)]) ++against_[i];
    for (auto it = before_.rbegin(); it != before_.rend(); ++it) best_[z(it->first)] = it->second;
  }

 private:
  std::vector<Messages::Excluded> excluded_;
  std::vector<double> best_;                          // by factor
  std::vector<std::vector<std::size_t>> of_feature_;  // the options that its limits exclude
  std::vector<int> against_;                          // features that still exclude an option
  std::vector<std::pair<int, double>> before_;        // factors whose best has grown
};

}  // namespace

MessageSearch::MessageSearch(const Model& model, std::vector<int> feature_of, MessageRules rules)
    : model_(model), feature_of_(std::move(feature_of)), rules_(rules), bounds_(std::make_shared<BoxBounds>(model)) {}

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
  release(question);
  return Outcome::kSame;
}

// ------------------------------------------------------------------ what a proof needs

// Which limits the proof needs: all, unless a single box was closed by its bound. Then features are let go, the least
// harmful first, for as long as the bound of the larger box proves the same.
void MessageSearch::release(const Question& question) {
  needed_.assign(z(model_.n_columns), 0);
  for (int c = 0; c < model_.n_columns; ++c)
    if (question.box.low[z(c)] > 0 || question.box.high[z(c)] < model_.cells[z(c)]) needed_[z(c)] = 1;
  if (!question.search->closed_at_once()) return;
  const Box& box = bounds_->messages.box();
  if (!(box == question.box)) return;  // by clauses: other limits follow from these
  last_ = std::make_shared<const PriceSearch::Kept>(PriceSearch::Kept{bounds_->messages.keep(false), {}});
  if (rules_.core) let_go_of_features(question);
}

void MessageSearch::let_go_of_features(const Question& question) {
  int last = 0;  // features without columns may have any number: there may be more features than columns
  for (const int f : feature_of_) last = std::max(last, f);
  const std::size_t n_features = z(last) + 1;
  std::vector<char> stays(n_features, 0);  // by feature: limits that are more than a single cell
  for (int c = 0; c < model_.n_columns; ++c)
    if (needed_[z(c)] != 0 && question.box.low[z(c)] < question.box.high[z(c)]) stays[z(feature_of_[z(c)])] = 1;
  const Messages& messages = bounds_->messages;
  Letting letting(messages.excluded(feature_of_, stays), messages.best(), n_features);
  std::vector<std::pair<i128, int>> ranking;
  std::vector<char> listed(n_features, 0);
  for (int c = 0; c < model_.n_columns; ++c) {
    const int f = feature_of_[z(c)];
    if (needed_[z(c)] == 0 || listed[z(f)] != 0 || stays[z(f)] != 0) continue;
    listed[z(f)] = 1;
    ranking.emplace_back(letting.go(f), f);
    letting.take_back(f);
  }
  std::sort(ranking.begin(), ranking.end());
  i128 bound = messages.bound();
  const i128 enough = question.search->enough();
  std::vector<char> gone(n_features, 0);
  for (const auto& [_, f] : ranking) {
    const i128 more = letting.go(f);
    if (bound + more < enough) {
      bound += more;
      gone[z(f)] = 1;
    } else {
      letting.take_back(f);
    }
  }
  for (int c = 0; c < model_.n_columns; ++c)
    if (gone[z(feature_of_[z(c)])] != 0) needed_[z(c)] = 0;
}

}  // namespace proofwood::votes
