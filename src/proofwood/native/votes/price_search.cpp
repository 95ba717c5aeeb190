// Branch and bound over boxes of cells, those of least bound first.
//
// Theory: docs/theory/explanations.md, "Nearest rows".
#include "votes/price_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "common/memory.hpp"

namespace proofwood::votes {

namespace {

constexpr int kSweeps = 5;            // between two looks at the weights, and at the row that is chosen
constexpr double kPace = 0.02;        // of what is missing to the best price: slower rounds are the last
constexpr int kFewRounds = 12;        // in the first box, before the pace is looked at
constexpr double kFirstFactor = 2.0;  // of weights
constexpr double kFurtherFactor = 1.1;
constexpr int kWeightBits = 20;                    // of the first weights
constexpr std::size_t kMostKept = 67'000'000;      // numbers: beyond, nodes begin with what an ancestor kept
constexpr std::size_t kMostRecorded = 30'000'000;  // numbers: a file of about 100 megabytes
constexpr int kWorthBits = 32;                     // of the spread of a tree, where nothing costs anything
constexpr int kPlainBits = 40;                     // the same of a single lead
constexpr std::int64_t kFine = std::int64_t{1} << 30;
constexpr i128 kMuchLess = static_cast<i128>(1) << 100;

constexpr int kPossible = -1;

// Rounds of sweeps of a box; once `few` are over, they end where one gains less than a share of what is missing.
struct Pace {
  int sweeps, rounds, few;
  double slow;
};
constexpr Pace kPlain{1, 60, 2, 0.1};  // of a single lead without prices

// Part of a sum that is shifted down, rounded towards what is certain.
i128 shifted(i128 sum, int shift) { return sum >> shift; }

}  // namespace

bool tighten(const Prices& prices, std::int64_t upper, Box& box) {
  i128 room = upper - 1;
  std::vector<std::int64_t> least;
  for (std::size_t c = 0; c < prices.size(); ++c) {
    const auto first = prices[c].begin();
    least.push_back(*std::min_element(first + box.low[c], first + box.high[c] + 1));
    room -= least.back();
  }
  if (room < 0) return false;
  for (std::size_t c = 0; c < prices.size(); ++c) {
    while (prices[c][z(box.low[c])] - least[c] > room) ++box.low[c];
    while (prices[c][z(box.high[c])] - least[c] > room) --box.high[c];
  }
  return true;
}

// What nodes keep, counted for as long as one of them has it.
struct PriceSearch::Numbers {
  Kept kept;
  std::size_t size;
  std::size_t& sum;

  Numbers(KeptMessages messages, std::vector<std::int64_t> weights, std::size_t& total)
      : kept{std::move(messages), std::move(weights)},
        size(kept.messages.messages.size() + kept.messages.options.size()),
        sum(total) {
    sum += size;
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  ~Numbers() { sum -= size; }
};

PriceSearch::PriceSearch(const Model& model, std::shared_ptr<Aims> aims, Prices prices, const Box& box,
                         const std::vector<int>& near, std::int64_t upper, PriceRules rules,
                         std::shared_ptr<BoxBounds> bounds, const std::shared_ptr<const Kept>& first)
    : model_(model),
      aims_(std::move(aims)),
      prices_(std::move(prices)),
      all_(box),
      rules_(rules),
      bounds_(std::move(bounds)),
      plain_(prices_.empty() && aims_->ways.size() == 1 && aims_->ways.front().size() == 1),
      climbs_(aims_->ways.size()),
      upper_(upper),
      near_(near) {
  for (const auto& price : prices_)
    priced_ = priced_ || std::any_of(price.begin(), price.end(), [](auto one) { return one != 0 && one != kNever; });
  for (std::size_t way = 0; way < climbs_.size(); ++way) open_.push({0, numbers_++, static_cast<int>(way), box, first});
}

void PriceSearch::start_from(const std::vector<int>& row) {
  for (std::size_t way = 0; way < climbs_.size(); ++way) starts_.emplace_back(static_cast<int>(way), row);
}

std::int64_t PriceSearch::lower() const {
  const std::int64_t least = open_.empty() ? upper_ : std::max(lower_, open_.top().bound);
  return std::min({upper_, least, parting_});
}

void PriceSearch::decide(bool counts) {
  if (counts)
    take(doubtful_way_, doubtful_);
  else
    refused_.insert(reached_);
  doubtful_way_ = -1;
}

void PriceSearch::take(int way, const std::vector<int>& row) {
  std::int64_t price = 0;
  for (std::size_t c = 0; c < prices_.size(); ++c) price += prices_[c][z(row[c])];
  best_ = row;
  way_ = way;
  upper_ = price;
}

PriceSearch::Ended PriceSearch::climb(Watch& watch) {
  while (!starts_.empty()) {
    if (watch.over()) return Ended::kStopped;
    const auto [way, row] = std::move(starts_.back());
    starts_.pop_back();
    if (try_from(way, row, watch)) return Ended::kDoubt;
  }
  return Ended::kDone;
}

PriceSearch::Ended PriceSearch::run(Watch& watch, std::int64_t most) {
  if (const Ended climbed = climb(watch); climbed != Ended::kDone) return climbed;
  const std::int64_t begin = most < 0 ? 0 : bounds_->messages.work();
  while (!open_.empty() && upper_ > 0) {
    if (watch.over() || (most >= 0 && bounds_->messages.work() - begin >= most)) return Ended::kStopped;
    lower_ = std::max(lower_, open_.top().bound);
    if (lower_ >= upper_ && !rules_.record) break;
    work(Node(open_.top()), watch);
    if (doubtful_way_ >= 0) return Ended::kDoubt;
  }
  lower_ = upper_;
  open_ = {};
  return Ended::kDone;
}

// The node leaves the queue when it is closed or parted; it stays where a row is in doubt, or the time is over.
void PriceSearch::work(const Node& node, Watch& watch) {
  ++nodes_;
  if (!bounds_) {
    bounds_ = std::make_shared<BoxBounds>(model_);
    for (const auto& price : prices_) {
      bounds_->worth.cells.emplace_back();
      for (const std::int64_t one : price)
        bounds_->worth.cells.back().push_back(one == kNever ? Messages::kNever : -static_cast<double>(one));
    }
  }
  Messages& messages = bounds_->messages;
  const Way& way = aims_->ways[z(node.way)];
  Box box = node.box;
  entered_ = false;
  if (!tighten(prices_, upper_, box)) {
    write_simple(node, -1);
    open_.pop();
    return;
  }
  set_rate(node.way);
  weights_ = node.kept && !plain_ ? node.kept->weights : rate_->first;
  factors_of_weights_.assign(weights_.size(), node.kept ? kFurtherFactor : kFirstFactor);
  turns_.assign(weights_.size(), 0);
  load(node.kept ? &node.kept->messages.options : nullptr);
  entered_ = messages.enter(box, node.kept ? &node.kept->messages : nullptr, bounds_->worth);
  if (!entered_ || refused()) {
    write_simple(node, -1);
    open_.pop();
    return;
  }
  if (const int why = plain_ ? kPossible : impossible(way); why != kPossible) {
    write_simple(node, why);
    open_.pop();
    return;
  }
  std::int64_t bound = rules_.record ? 0 : node.bound;  // of a box that it is part of, or its own
  if (close(node, bound, watch) && write_closed(node, watch)) {
    open_.pop();
    return;
  }
  if (doubtful_way_ >= 0 || watch.over()) return;
  if (rules_.climb && try_from(node.way, row_, watch)) return;
  if (watch.over()) return;
  parting_ = bound;  // no memory may be left for the parts
  open_.pop();
  branch(node, bound);
  parting_ = kNever;
}

// Whether messages tell that no row of the box is cheaper than the best one. `bound` is at least what they tell.
bool PriceSearch::close(const Node& node, std::int64_t& bound, Watch& watch) {
  Messages& messages = bounds_->messages;
  const Pace pace = plain_      ? kPlain
                    : node.kept ? Pace{kSweeps, rules_.further_rounds, 1, kPace}
                                : Pace{kSweeps, rules_.first_rounds, kFewRounds, kPace};
  // True if the answer is known: in `closed`, whether it is the bound.
  bool closed = false;
  const auto look = [&](bool at_row) {
    bound = std::max(bound, this->bound());
    closed = bound >= upper_;
    if (closed || !at_row) return closed;
    messages.choose(near_, row_);
    if (offer(node.way, row_, &messages.options())) return true;
    closed = bound >= upper_;
    return closed;
  };
  if (look(true)) return closed;
  // All of the box score the same. Where rows are refused that score enough, others of it are to be looked at as well.
  if (messages.decided()) return refused_.empty();
  auto last = static_cast<double>(lowest());
  for (int round = 0; rules_.sweeps && round < pace.rounds; ++round) {
    if (round > 0 && !plain_) adjust(node.way);
    const std::int64_t before = bound;
    for (int i = 0; i < pace.sweeps; ++i) {
      if (messages.sweep(enough(), watch)) continue;
      closed = messages.bound() < enough();
      if (closed) bound = upper_;
      return closed;  // else the time is over
    }
    if (look(!plain_ || std::has_single_bit(static_cast<unsigned>(round) + 1))) return closed;
    const auto now = static_cast<double>(lowest());
    const double missing = static_cast<double>(upper_) - now;
    const double gained = priced_ ? static_cast<double>(bound - before) : now - last;
    last = std::max(last, now);
    if (round >= pace.few && gained < pace.slow * missing) break;
  }
  return false;
}

// Whether single leaves and cells leave room for a row that scores enough for less than the best price; if not, the
// lead that is out of reach, or how many leads there are if it is the price.
int PriceSearch::impossible(const Way& way) const {
  const std::vector<int>& options = bounds_->messages.options();
  for (std::size_t r = 0; r < way.size(); ++r) {
    const Lead& lead = way[r];
    i128 most = 0;
    std::size_t next = 0;
    for (int t = 0; t < model_.n_trees; ++t) {
      std::int64_t best = std::numeric_limits<std::int64_t>::min();
      for (; next < options.size() && options[next] < model_.leaves_of[z(t) + 1]; ++next)
        best = std::max(best, lead.gain[z(options[next])]);
      most += best;
    }
    if (most < lead.need) return static_cast<int>(r);
  }
  const Box& box = bounds_->messages.box();
  i128 price = 0;
  for (std::size_t c = 0; c < prices_.size(); ++c) {
    const auto first = prices_[c].begin();
    price += *std::min_element(first + box.low[c], first + box.high[c] + 1);
  }
  return price < upper_ ? kPossible : static_cast<int>(way.size());
}

// Whether all rows of the box reach the leaves of a row that does not count.
bool PriceSearch::refused() const {
  if (refused_.empty()) return false;
  std::vector<int> leaves;
  for (const int option : bounds_->messages.options()) {
    if (option >= model_.n_leaves) break;
    leaves.push_back(option);
  }
  return refused_.contains(leaves);
}

// ------------------------------------------------------------------ what a unit of lead is worth

// The rate of a way; its weights begin where the row asked about would cost the best price for what its leads lack.
void PriceSearch::set_rate(int way) {
  Rate& rate = aims_->rates[z(way)];
  rate_ = &rate;
  if (rate.shift >= 0) return;
  double greatest = 0;
  std::vector<double> first;
  std::int64_t widest = 1;
  for (const Lead& lead : aims_->ways[z(way)]) {
    Lack lack;
    lack.leaves.resize(z(model_.n_leaves));
    std::int64_t sum = 0, spread = 1;
    for (int t = 0; t < model_.n_trees; ++t) {
      const int begin = model_.leaves_of[z(t)], end = model_.leaves_of[z(t) + 1];
      const std::int64_t best = *std::max_element(lead.gain.begin() + begin, lead.gain.begin() + end);
      sum += best;
      for (int leaf = begin; leaf < end; ++leaf) {
        lack.leaves[z(leaf)] = best - lead.gain[z(leaf)];
        spread = std::max(spread, lack.leaves[z(leaf)]);
      }
    }
    widest = std::max(widest, spread);
    lack.most = static_cast<i128>(sum) - lead.need;
    i128 missing = lead.need;
    for (int leaf = 0; leaf < model_.n_leaves; ++leaf) {
      if (model_.reaches(near_, leaf)) missing -= lead.gain[z(leaf)];
    }
    if (plain_) {
      // Numbers that a power of two leaves as they are, where the spread is not beyond what messages can hold.
      const int bits = std::bit_width(static_cast<std::uint64_t>(spread));
      rate.first = {std::int64_t{1} << std::max(0, kPlainBits - bits)};
      rate.shift = std::max(0, bits - kPlainBits);
      rate.lacks.push_back(std::move(lack));
      return;
    }
    const double lacking = static_cast<double>(missing > 0 ? missing : std::max(i128{1}, lack.most));
    first.push_back(priced_ ? static_cast<double>(upper_) / lacking
                            : std::ldexp(1.0, kWorthBits) / static_cast<double>(spread));
    greatest = std::max(greatest, first.back());
    rate.lacks.push_back(std::move(lack));
  }
  rate.shift = std::clamp(kWeightBits - (greatest > 0 ? std::ilogb(greatest) : 0), 0, 60);
  // No option may be worth more than Messages::kMostWorth.
  const i128 most = (static_cast<i128>(1) << (43 + rate.shift)) / widest / static_cast<i128>(first.size() + 1);
  rate.most = static_cast<std::int64_t>(std::clamp(most, i128{0}, i128{1} << 50));
  for (const double one : first)
    rate.first.push_back(std::clamp(static_cast<std::int64_t>(std::min(std::ldexp(one, rate.shift), 0x1p50)),
                                    std::min<std::int64_t>(1, rate.most), rate.most));
}

// What leaves are worth by the weights: whole numbers, rounded up.
void PriceSearch::load(const std::vector<int>* leaves) {
  const auto worth = [&](int leaf) {
    i128 sum = 0;
    for (std::size_t r = 0; r < weights_.size(); ++r)
      sum += static_cast<i128>(weights_[r]) * rate_->lacks[r].leaves[z(leaf)];
    bounds_->worth.options[z(leaf)] = -static_cast<double>(static_cast<std::int64_t>(shifted(sum, rate_->shift)));
  };
  if (plain_ && bounds_->loaded == aims_) return;
  if (leaves == nullptr || plain_) {
    for (int leaf = 0; leaf < model_.n_leaves; ++leaf) worth(leaf);
    if (plain_) bounds_->loaded = aims_;
    return;
  }
  for (const int leaf : *leaves) {
    if (leaf >= model_.n_leaves) break;
    worth(leaf);
  }
}

// What a row that scores enough is worth at least, its price left out.
i128 PriceSearch::paid() const {
  i128 sum = 0;
  for (std::size_t r = 0; r < weights_.size(); ++r) sum += static_cast<i128>(weights_[r]) * rate_->lacks[r].most;
  return -shifted(sum, rate_->shift);
}

// What a row of the box that scores enough costs at least.
std::int64_t PriceSearch::bound() const {
  return static_cast<std::int64_t>(std::clamp(lowest(), i128{0}, static_cast<i128>(upper_)));
}

// A lead that the chosen leaves do not reach gets more weight, one that they reach less, by factors that get smaller.
void PriceSearch::adjust(int way) {
  double before = 0, after = 0;
  for (std::size_t r = 0; r < weights_.size(); ++r) {
    i128 sum = 0;
    for (int t = 0; t < model_.n_trees; ++t) sum += aims_->ways[z(way)][r].gain[z(bounds_->messages.chosen(t))];
    const int turn = sum < aims_->ways[z(way)][r].need ? 1 : -1;
    double& factor = factors_of_weights_[r];
    if (turns_[r] == -turn) factor = std::sqrt(factor);
    turns_[r] = turn;
    const auto weight = static_cast<double>(weights_[r]);
    before += weight;
    const double next = std::min(turn > 0 ? weight * factor + 1 : weight / factor, static_cast<double>(rate_->most));
    weights_[r] = static_cast<std::int64_t>(next);
    after += static_cast<double>(weights_[r]);
  }
  // Where nothing costs anything, weights count beside each other only.
  if (!priced_ && after > 0) {
    const double share = before / after;
    after = 0;
    for (std::int64_t& weight : weights_) {
      weight = std::min(static_cast<std::int64_t>(static_cast<double>(weight) * share), rate_->most);
      after += static_cast<double>(weight);
    }
  }
  load(&bounds_->messages.options());
  bounds_->messages.reweigh(before > 0 ? after / before : 1);
}

// ------------------------------------------------------------------ parts and rows

void PriceSearch::branch(const Node& node, std::int64_t bound) {
  const Messages::Branch at = bounds_->messages.branch();
  if (rules_.settle && !rules_.record && !bounds_->messages.leave_out(enough())) return;
  std::shared_ptr<const Kept> kept = node.kept;
  if (!kept || (kept_ < kMostKept && !memory_is_short())) {
    const auto counted = std::make_shared<const Numbers>(bounds_->messages.keep(), weights_, kept_);
    kept = {counted, &counted->kept};
  }
  const Box& box = bounds_->messages.box();
  if (at.column < 0 || at.cut < box.low[z(at.column)] || at.cut >= box.high[z(at.column)]) {
    // Nothing parts the box, as its rows reach the same leaves, or what is left of it after a cheaper row was found. It
    // is the same box without cells that cost too much, so that it has the same place in a proof.
    open_.push({bound, rules_.record ? node.number : numbers_++, node.way, box, kept});
    return;
  }
  const bool turned = plain_ && !at.above_first;  // the last one is looked at first, if they are equally good
  if (rules_.record) write(node.number, {0, at.column, at.cut, numbers_ + turned, numbers_ + !turned});
  for (const bool above : {turned, !turned}) {
    Node part{bound, numbers_++, node.way, box, kept};
    (above ? part.box.low : part.box.high)[z(at.column)] = at.cut + (above ? 1 : 0);
    open_.push(std::move(part));
  }
}

// ------------------------------------------------------------------ what is written down

void PriceSearch::write(std::int64_t number, Messages::Record record) {
  if (written_.size() <= z(number)) written_.resize(z(number) + 1);
  n_written_ += record.size();
  if (n_written_ > kMostRecorded) throw std::length_error("a proof has more numbers than are written");
  written_[z(number)] = std::move(record);
}

// A box that is closed without messages: by a lead, by the price (after the last lead), or by nothing but its limits.
void PriceSearch::write_simple(const Node& node, int why) {
  if (!rules_.record) return;
  const std::size_t n = aims_->ways[z(node.way)].size();
  Messages::Record record(n + 2, 0);
  record[0] = 1;
  record[1] = static_cast<std::int64_t>(n);
  const bool lead = why >= 0 && z(why) < n;
  if (lead) record[z(why) + 2] = 1;
  record.push_back(lead ? -1 : 0);
  record.insert(record.end(), {0, 0});
  write(node.number, std::move(record));
}

// A sweep more gives a bound that leaves room to round the messages. It rounds itself, down to whole numbers, so that
// the bound may get worse by a few units: false if the box is not closed by what would be written, and is to be parted.
bool PriceSearch::write_closed(const Node& node, Watch& watch) {
  if (!rules_.record) return true;
  if (bounds_->messages.bound() >= enough()) {  // all rows of the box score the same
    const int why = impossible(aims_->ways[z(node.way)]);
    if (why == kPossible) throw std::logic_error("a box is closed for no reason");
    write_simple(node, why);
    return true;
  }
  Messages::Record record{1, static_cast<std::int64_t>(weights_.size())};
  record.insert(record.end(), weights_.begin(), weights_.end());
  record.push_back(rate_->shift);
  const bool fine = !priced_ || upper_ >= kFine;  // units are small beside what is to be proved
  if (fine && rules_.sweeps && !bounds_->messages.decided())
    bounds_->messages.sweep(bounds_->messages.bound() - kMuchLess, watch);
  if (!bounds_->messages.record(enough(), record)) return false;
  write(node.number, std::move(record));
  return true;
}

Messages::Record PriceSearch::record(int way) const {
  Messages::Record all;
  std::vector<std::int64_t> waiting{way};
  while (!waiting.empty()) {
    const Messages::Record& one = written_.at(z(waiting.back()));
    waiting.pop_back();
    const bool parted = one.at(0) == 0;
    all.insert(all.end(), one.begin(), parted ? one.end() - 2 : one.end());
    if (parted) waiting.insert(waiting.end(), {one[4], one[3]});
  }
  return all;
}

// ------------------------------------------------------------------ rows

// Takes a row that is looked for, below the upper bound. True if that is in doubt. `leaves`: of a box that holds it,
// but for some that only rows reach that are too dear.
bool PriceSearch::offer(int way, const std::vector<int>& row, const std::vector<int>* leaves) {
  const Way& leads = aims_->ways[z(way)];
  std::int64_t price = 0;
  for (std::size_t c = 0; c < prices_.size(); ++c) {
    price += prices_[c][z(row[c])];
    if (price >= upper_) return false;
  }
  if (!model_.allows(row)) return false;
  reached_.clear();
  const auto look = [&](int leaf) {
    if (model_.reaches(row, leaf)) reached_.push_back(leaf);
  };
  if (leaves == nullptr)
    for (int leaf = 0; leaf < model_.n_leaves; ++leaf) look(leaf);
  else
    for (auto leaf = leaves->begin(); leaf != leaves->end() && *leaf < model_.n_leaves; ++leaf) look(*leaf);
  if (static_cast<int>(reached_.size()) < model_.n_trees) return false;
  bool sure = true;
  for (const Lead& lead : leads) {
    std::int64_t sum = 0;
    for (const int leaf : reached_) sum += lead.gain[z(leaf)];
    if (sum < lead.need) return false;
    sure = sure && sum >= lead.sure;
  }
  if (sure) {
    take(way, row);
  } else if (!refused_.contains(reached_)) {
    doubtful_ = row;
    doubtful_way_ = way;
    return true;
  }
  return false;
}

bool PriceSearch::try_from(int way, const std::vector<int>& start, Watch& watch) {
  if (!climbs_[z(way)]) {
    climbs_[z(way)] = std::make_unique<Climb>(model_);
    climbs_[z(way)]->enter(aims_->ways[z(way)], prices_, all_);
  }
  Climb& climb = *climbs_[z(way)];
  if (!climb.load(start) || !climb.climb(watch)) return false;
  climb.descend(watch);
  return offer(way, climb.row());
}

}  // namespace proofwood::votes
