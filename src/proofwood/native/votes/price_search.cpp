// Branch and bound over boxes of cells, those of least bound first.
//
// Theory: docs/theory/explanations.md, "Nearest rows".
#include "votes/price_search.hpp"

#include <algorithm>

#include "common/memory.hpp"

namespace proofwood::votes {

namespace {

constexpr int kLook = 10;                      // steps between two looks at the row they chose
constexpr std::size_t kMostKept = 67'000'000;  // numbers: beyond, nodes begin with what an ancestor kept

// What nodes keep, counted for as long as one of them has it.
struct Numbers {
  Kept kept;
  std::size_t size;
  std::size_t& sum;

  Numbers(Kept given, std::size_t& total)
      : kept(std::move(given)), size(kept.multipliers.size() + kept.leaves.size()), sum(total) {
    sum += size;
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  ~Numbers() { sum -= size; }
};

}  // namespace

PriceSearch::PriceSearch(const Model& model, std::vector<Way> ways, Prices prices, const Box& box,
                         const std::vector<int>& near, std::int64_t upper, PriceRules rules)
    : model_(model), ways_(std::move(ways)), prices_(std::move(prices)), all_(box), rules_(rules), upper_(upper) {
  const bool question = std::all_of(prices_.begin(), prices_.end(), [](const auto& price) {
    return std::all_of(price.begin(), price.end(), [](std::int64_t one) { return one == 0 || one == kNever; });
  });
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    relaxations_.push_back(
        std::make_unique<Relaxation>(model_, ways_[way], prices_, question && ways_[way].size() == 1));
    climbs_.push_back(std::make_unique<PricedClimb>(model_, ways_[way], prices_));
    open_.push({0, numbers_++, static_cast<int>(way), box, nullptr});
    if (rules_.climb) starts_.emplace_back(static_cast<int>(way), near);
  }
}

void PriceSearch::start_from(const std::vector<int>& row) {
  for (std::size_t way = 0; way < ways_.size(); ++way) starts_.emplace_back(static_cast<int>(way), row);
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
  for (std::size_t c = 0; c < row.size(); ++c) price += prices_[c][z(row[c])];
  best_ = row;
  way_ = way;
  upper_ = price;
}

PriceSearch::Ended PriceSearch::run(Watch& watch) {
  while (!starts_.empty()) {
    if (watch.over()) return Ended::kStopped;
    const auto [way, row] = std::move(starts_.back());
    starts_.pop_back();
    if (try_from(way, row, watch)) return Ended::kDoubt;
  }
  while (!open_.empty()) {
    if (watch.over()) return Ended::kStopped;
    lower_ = std::max(lower_, open_.top().bound);
    if (lower_ >= upper_) break;
    work(Node(open_.top()), watch);
    if (doubtful_way_ >= 0) return Ended::kDoubt;
  }
  lower_ = upper_;
  open_ = {};
  return Ended::kDone;
}

// The node leaves the queue when it is closed or parted; it stays where a row is in doubt, or the time is over.
void PriceSearch::work(const Node& node, Watch& watch) {
  Relaxation& relaxation = *relaxations_[z(node.way)];
  ++nodes_;
  if (!relaxation.enter(node.box, node.kept.get(), upper_) || refused_.contains(relaxation.leaves())) {
    open_.pop();
    return;
  }
  std::int64_t bound = node.bound;
  const int steps = !rules_.steps ? 1 : node.kept ? rules_.further_steps : rules_.first_steps;
  for (int done = 0; done < steps;) {
    for (int i = 0; i < kLook && done < steps; ++i, ++done) {
      relaxation.step(upper_);
      if (watch.over()) return;
    }
    if (offer(node.way, relaxation.row())) return;
    if (rules_.settle || done >= steps) {
      bound = std::max(bound, rules_.settle ? relaxation.settle_and_leave_out(upper_) : relaxation.settle(upper_));
      if (bound >= upper_) {
        open_.pop();
        return;
      }
    }
  }
  if (rules_.climb && try_from(node.way, relaxation.row(), watch)) return;
  if (watch.over()) return;
  parting_ = bound;  // no memory may be left for the parts
  open_.pop();
  branch(node, bound);
  parting_ = kNever;
}

void PriceSearch::branch(const Node& node, std::int64_t bound) {
  Relaxation& relaxation = *relaxations_[z(node.way)];
  const Relaxation::Branch at = relaxation.branch();
  if (at.column < 0) {  // one row is left
    offer(node.way, relaxation.box().low);
    return;
  }
  std::shared_ptr<const Kept> kept = node.kept;
  if (!kept || (kept_ < kMostKept && !memory_is_short())) {
    const auto counted = std::make_shared<const Numbers>(relaxation.keep(), kept_);
    kept = {counted, &counted->kept};
  }
  for (const bool above : {false, true}) {
    Node part{bound, numbers_++, node.way, relaxation.box(), kept};
    (above ? part.box.low : part.box.high)[z(at.column)] = at.cut + (above ? 1 : 0);
    open_.push(std::move(part));
  }
}

// Takes a row that is looked for, below the upper bound. True if that is in doubt.
bool PriceSearch::offer(int way, const std::vector<int>& row) {
  std::int64_t price = 0;
  for (std::size_t c = 0; c < row.size(); ++c) {
    price += prices_[c][z(row[c])];
    if (price >= upper_) return false;
  }
  if (!model_.allows(row)) return false;
  std::vector<std::int64_t> sums(ways_[z(way)].size(), 0);
  reached_.clear();
  for (int leaf = 0; leaf < model_.n_leaves; ++leaf) {
    bool reached = true;
    for (int i = model_.needs_of[z(leaf)]; i < model_.needs_of[z(leaf) + 1] && reached; ++i)
      reached = model_.holds(model_.needs[z(i)], row);
    if (!reached) continue;
    reached_.push_back(leaf);
    for (std::size_t r = 0; r < sums.size(); ++r) sums[r] += ways_[z(way)][r].gain[z(leaf)];
  }
  bool sure = true;
  for (std::size_t r = 0; r < sums.size(); ++r) {
    if (sums[r] < ways_[z(way)][r].need) return false;
    sure = sure && sums[r] >= ways_[z(way)][r].sure;
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
  PricedClimb& climb = *climbs_[z(way)];
  if (!climb.climb(start, all_, watch)) return false;
  climb.descend(all_, watch);
  return offer(way, climb.row());
}

}  // namespace proofwood::votes
