// Bisection of ranks, in parts that become smaller, with rows pulled back.
//
// Theory: docs/theory/explanations.md, "Nearest rows".
#include "votes/radius_search.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "votes/climb.hpp"

namespace proofwood::votes {

namespace {

// A proof costs far more than a row, and rows that are pulled back shorten the interval by themselves:
// decisions/0049-radii-in-parts.
constexpr std::int64_t kAbove = 16;     // once a part of the interval is proved, a 16th of it stays above the question
constexpr std::int64_t kSmaller = 2;    // how many times less a row must reach to be worth a part of its own
constexpr std::size_t kMostClimbs = 3;  // of more rivals, the first row comes from a question

// A row of whole doubt is not pulled: it might stop to count.
Lead beyond_doubt(Lead lead) {
  lead.need = lead.sure;
  return lead;
}

}  // namespace

RadiusSearch::RadiusSearch(const Model& model, std::vector<Contest> rivals, Prices prices, Box box,
                           std::vector<int> near, std::int64_t ranks, TurnRules rules)
    : model_(model),
      rivals_(std::move(rivals)),
      prices_(std::move(prices)),
      box_(std::move(box)),
      near_(std::move(near)),
      rules_(rules),
      order_(rivals_.size()),
      upper_(ranks) {
  for (const Contest& rival : rivals_) leads_.push_back(model.lead(rival));
  std::iota(order_.begin(), order_.end(), std::size_t{0});
}

// Makes a box as small as the cells of rank `most` or less; false if a column has none.
bool RadiusSearch::permitted(std::int64_t most, const Prices& prices, Box& box) const {
  for (std::size_t c = 0; c < prices.size(); ++c) {
    int &low = box.low[c], &high = box.high[c];
    while (low <= high && prices[c][z(low)] > most) ++low;
    while (low <= high && prices[c][z(high)] > most) --high;
    if (low > high) return false;
  }
  return true;
}

bool RadiusSearch::run(Watch& watch) {
  if (!begun_) {
    begun_ = true;
    climb(watch);
  }
  while (lower_ < upper_) {
    if (watch.over()) return false;
    if (!enter()) {  // no row is nearer than the best one
      lower_ = upper_;
      break;
    }
    // Proofs that there is no row take longer than rows: from the first one on more rows are asked for.
    std::int64_t most = upper_ - 1;
    if (has_row()) most = proved_ ? most - (upper_ - lower_) / kAbove : (lower_ + upper_) / 2;
    const Outcome outcome = ask(std::max(most, lower_), watch);
    if (outcome == Outcome::kStopped) return false;
    if (outcome == Outcome::kSame) {
      lower_ = std::max(most, lower_) + 1;
      proved_ = true;
    }
  }
  return true;
}

// A first row by local search, before any question.
void RadiusSearch::climb(Watch& watch) {
  if (rivals_.size() > kMostClimbs) return;
  Box box = box_;
  if (!permitted(kNever - 1, prices_, box)) return;
  for (std::size_t r = 0; r < rivals_.size() && !watch.over(); ++r) {
    const std::vector<Lead> lead{beyond_doubt(leads_[r])};
    Climb climb(model_);
    climb.enter(lead, prices_, box);
    if (!climb.load(near_) || !climb.climb(watch)) continue;
    climb.lower(watch);
    know(climb.row());
  }
}

void RadiusSearch::know(std::vector<int> row) {
  std::int64_t rank = 0;
  for (std::size_t c = 0; c < row.size(); ++c) rank = std::max(rank, prices_[c][z(row[c])]);
  if (rank >= upper_) return;
  upper_ = std::max(rank, lower_);
  best_ = std::move(row);
}

// The part that rows of lower rank than the best one reach, unless the one at hand is hardly larger. False if there is
// no such row.
bool RadiusSearch::enter() {
  if (stage_ && stage_->reach < kSmaller * upper_) return true;
  Box box = box_;
  if (!permitted(upper_ - 1, prices_, box)) return false;
  Part part(model_, box);
  if (part.empty()) return false;
  stage_ = std::make_unique<Stage>(Stage{std::move(part), upper_, {}, {}, nullptr});
  stage_->prices = stage_->part.price(prices_, near_);
  for (const Lead& lead : leads_) stage_->leads.push_back(stage_->part.lead(lead));
  stage_->turns = std::make_unique<Turns>(stage_->part.model(), rules_);
  return true;
}

Outcome RadiusSearch::ask(std::int64_t most, Watch& watch) {
  ++questions_;
  Box box = stage_->part.model().whole();
  if (!permitted(most, stage_->prices, box)) return Outcome::kSame;
  for (std::size_t place = 0; place < order_.size(); ++place) {
    const std::size_t rival = order_[place];
    const Outcome outcome = ask_about(rival, box, watch);
    if (outcome == Outcome::kSame) continue;
    if (outcome == Outcome::kChanges)
      std::rotate(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(place),
                  order_.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    return outcome;
  }
  return Outcome::kSame;
}

// Whether some row of a box of the part lets a rival win, which becomes the best one.
Outcome RadiusSearch::ask_about(std::size_t rival, const Box& box, Watch& watch) {
  const Model& part = stage_->part.model();
  const Lead& lead = stage_->leads[rival];
  const std::vector<int> near = stage_->part.inward(near_);
  if (part.n_trees == 0) {  // all rows score the same, that of rank 0 too
    if (lead.need > 0) return Outcome::kSame;
    take(near, rival, watch);
    return Outcome::kChanges;
  }
  const Contest& of = rivals_[rival];
  const std::int64_t base = part.base[z(of.winner)] - part.base[z(of.loser)];
  Turns::Asked asked{{{of.winner, of.loser, lead.need + base, lead.sure + base}}, {}, near};
  for (int c = 0; c < part.n_columns; ++c) {
    const int first = part.first[z(c)], low = box.low[z(c)], high = box.high[z(c)];
    if (low > 0) asked.assumptions.push_back(2 * (first + low - 1));
    if (high < part.cells[z(c)]) asked.assumptions.push_back(2 * (first + high) + 1);
  }
  const Outcome outcome = stage_->turns->go_on(asked, watch);
  if (outcome == Outcome::kChanges) take(stage_->turns->witness(), rival, watch);
  return outcome;
}

// A row of the part, pulled back as far as it surely wins.
void RadiusSearch::take(const std::vector<int>& row, std::size_t rival, Watch& watch) {
  const Part& part = stage_->part;
  know(part.outward(row));
  if (part.model().n_trees == 0) return;
  const std::vector<Lead> lead{beyond_doubt(stage_->leads[rival])};
  Climb climb(part.model());
  climb.enter(lead, stage_->prices, part.model().whole());
  if (!climb.load(row) || !climb.enough()) return;
  climb.lower(watch);
  know(part.outward(climb.row()));
}

}  // namespace proofwood::votes
