// Boxes of a question, one after the other: closed by the bound, answered by a row, or parted.
//
// Theory: docs/theory/explanations.md, "The engine messages".
#include "votes/message_search.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "common/memory.hpp"

namespace proofwood::votes {

namespace {

constexpr int kWorthBits = 40;  // of the largest spread of a tree
// decisions/0034-messages-between-trees-and-columns has what other settings cost.
constexpr int kMostSweeps = 60;                    // of one box
constexpr int kFewSweeps = 3;                      // before the pace is looked at
constexpr double kPace = 0.1;                      // of what is missing to a proof: slower sweeps are the last
constexpr std::size_t kMostKept = 67'000'000;      // numbers: beyond, boxes begin with what a larger one kept
constexpr std::size_t kMostRecorded = 30'000'000;  // numbers: a file of about 100 megabytes
constexpr i128 kMuchLess = static_cast<i128>(1) << 100;
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
    : model_(model), feature_of_(std::move(feature_of)), rules_(rules), factors_(model), messages_(factors_) {}

// What leaves are worth in a contest: whole numbers of which no sum is lower than the gains say.
void MessageSearch::load(const Contest& contest) {
  if (contest.winner == winner_ && contest.loser == loser_) return;
  winner_ = contest.winner;
  loser_ = contest.loser;
  last_.reset();
  gain_.resize(z(model_.n_leaves));
  worth_.options.resize(z(model_.n_leaves));
  for (int leaf = 0; leaf < model_.n_leaves; ++leaf) {
    const std::int64_t* scores = &model_.scores[z(leaf) * z(model_.n_classes)];
    gain_[z(leaf)] = scores[winner_] - scores[loser_];
  }
  most_gain_ = 0;
  std::uint64_t spread = 1;
  std::vector<std::int64_t> most(z(model_.n_trees));
  for (int t = 0; t < model_.n_trees; ++t) {
    const auto [least, greatest] =
        std::minmax_element(gain_.begin() + model_.leaves_of[z(t)], gain_.begin() + model_.leaves_of[z(t) + 1]);
    most[z(t)] = *greatest;
    most_gain_ += *greatest;
    spread = std::max(spread, static_cast<std::uint64_t>(*greatest - *least));
  }
  const int bits = std::bit_width(spread);
  up_ = std::max(0, kWorthBits - bits);
  down_ = std::max(0, bits - kWorthBits);
  for (int leaf = 0; leaf < model_.n_leaves; ++leaf) {
    const std::int64_t less = most[z(model_.tree_of[z(leaf)])] - gain_[z(leaf)];  // rounded down: worth is rounded up
    worth_.options[z(leaf)] = -static_cast<double>((less >> down_) << up_);
  }
}

bool MessageSearch::try_row(const std::vector<int>& row, std::int64_t least) {
  std::int64_t sum = 0;
  for (const int option : messages_.options()) {
    if (option >= model_.n_leaves) break;
    bool reached = true;
    for (int i = model_.needs_of[z(option)]; i < model_.needs_of[z(option) + 1] && reached; ++i)
      reached = model_.holds(model_.needs[z(i)], row);
    if (reached) sum += gain_[z(option)];
  }
  if (sum < least || !model_.allows(row)) return false;
  witness_ = row;
  return true;
}

MessageSearch::Ended MessageSearch::work_on(Question& question, const Part& part, const std::vector<int>& near,
                                            Watch& watch) {
  ++boxes_;
  const std::int64_t least =
      question.contest.least - (model_.base[z(question.contest.winner)] - model_.base[z(question.contest.loser)]);
  if (!messages_.enter(part.box, part.kept.get(), worth_)) {
    question.alone = false;
    write_closed(question, false, watch);
    return Ended::kClosed;
  }
  const i128 enough = -(((static_cast<i128>(most_gain_) - least) >> down_) << up_);  // of the worth of a row that wins
  question.enough = enough;
  const auto closed = [&] {
    write_closed(question, true, watch);
    return Ended::kClosed;
  };
  if (messages_.bound() < enough) return closed();
  messages_.choose(near, row_);
  if (try_row(row_, least)) return Ended::kWitness;
  if (messages_.decided()) return closed();  // all rows of the box score the same
  for (int sweeps = 0; rules_.sweeps && sweeps < kMostSweeps;) {
    const auto before = static_cast<double>(messages_.bound() - enough);
    const bool whole = messages_.sweep(enough, watch);
    if (messages_.bound() < enough) return closed();
    if (!whole) return Ended::kStopped;
    ++sweeps;
    if (std::has_single_bit(static_cast<unsigned>(sweeps))) {
      messages_.choose(near, row_);
      if (try_row(row_, least)) return Ended::kWitness;
    }
    const auto now = static_cast<double>(messages_.bound() - enough);
    if (sweeps >= kFewSweeps && before - now < kPace * now) break;
  }
  return Ended::kParted;
}

// A sweep more gives a bound that leaves room to round the messages.
void MessageSearch::write_closed(Question& question, bool bounded, Watch& watch) {
  if (!rules_.record) return;
  question.record.push_back(1);
  if (!bounded) {
    question.record.insert(question.record.end(), {0, 0});
    return;
  }
  if (rules_.sweeps && !messages_.decided()) messages_.sweep(messages_.bound() - kMuchLess, watch);
  messages_.record(question.enough, question.record);
}

Outcome MessageSearch::ask(const Contest& contest, const Box& box, const std::vector<int>& near, std::int64_t most,
                           Watch& watch) {
  load(contest);
  Question question;
  const auto known = std::find_if(stopped_.begin(), stopped_.end(), [&](const Question& one) {
    return one.contest.winner == contest.winner && one.contest.loser == contest.loser &&
           one.contest.least == contest.least && one.box.low == box.low && one.box.high == box.high;
  });
  if (known != stopped_.end()) {
    question = std::move(*known);
    stopped_.erase(known);
  } else {
    question.contest = contest;
    question.box = box;
    question.parts.push_back({box, rules_.share ? last_ : nullptr});
  }
  const std::int64_t begin = messages_.work();
  while (!question.parts.empty()) {
    if (question.record.size() > kMostRecorded) throw std::length_error("a proof has more numbers than are written");
    const bool over = watch.over() || (most >= 0 && messages_.work() - begin >= most);
    Part part;
    Ended ended = Ended::kStopped;
    if (!over) {
      part = question.parts.back();
      ended = work_on(question, part, near, watch);
    }
    if (ended == Ended::kStopped) {
      if (stopped_.size() >= kStopped) stopped_.erase(stopped_.begin());
      stopped_.push_back(std::move(question));
      return Outcome::kStopped;
    }
    if (ended == Ended::kWitness) return Outcome::kChanges;
    question.parts.pop_back();
    if (ended == Ended::kParted) {
      const Messages::Branch at = messages_.branch();
      std::shared_ptr<const KeptMessages> kept = part.kept;
      const std::size_t size = z(factors_.n_slots) + messages_.options().size();
      if (!kept || (question.parts.size() * size < kMostKept && !memory_is_short()))
        kept = std::make_shared<const KeptMessages>(messages_.keep());
      if (rules_.record) question.record.insert(question.record.end(), {0, at.column, at.cut, at.above_first ? 1 : 0});
      Part below{messages_.box(), kept}, above{messages_.box(), kept};
      below.box.high[z(at.column)] = at.cut;
      above.box.low[z(at.column)] = at.cut + 1;
      question.parts.push_back(at.above_first ? below : above);
      question.parts.push_back(at.above_first ? std::move(above) : std::move(below));
      question.alone = false;
    }
  }
  record_ = std::move(question.record);
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
  if (!question.alone || messages_.bound() >= question.enough) return;
  const Box& box = messages_.box();
  if (box.low != question.box.low || box.high != question.box.high)
    return;  // by clauses: other limits follow from these
  last_ = std::make_shared<const KeptMessages>(messages_.keep_messages());
  if (rules_.core) let_go_of_features(question);
}

void MessageSearch::let_go_of_features(const Question& question) {
  int last = 0;  // features without columns may have any number: there may be more features than columns
  for (const int f : feature_of_) last = std::max(last, f);
  const std::size_t n_features = z(last) + 1;
  std::vector<char> stays(n_features, 0);  // by feature: limits that are more than a single cell
  for (int c = 0; c < model_.n_columns; ++c)
    if (needed_[z(c)] != 0 && question.box.low[z(c)] < question.box.high[z(c)]) stays[z(feature_of_[z(c)])] = 1;
  Letting letting(messages_.excluded(feature_of_, stays), messages_.best(), n_features);
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
  i128 bound = messages_.bound();
  std::vector<char> gone(n_features, 0);
  for (const auto& [_, f] : ranking) {
    const i128 more = letting.go(f);
    if (bound + more < question.enough) {
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
