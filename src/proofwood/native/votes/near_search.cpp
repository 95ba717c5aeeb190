// Stages: the part of the ensemble that rows cheaper than the best one reach, and a search there.
//
// Theory: docs/theory/explanations.md, "Nearest rows".
#include "votes/near_search.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace proofwood::votes {

namespace {

using Ended = PriceSearch::Ended;

constexpr double kFarLess = 0.8;      // of the reach of a part: a row at less is worth a part of its own
constexpr std::int64_t kFirst = 256;  // the share of the price of the row known that the first one reaches
constexpr std::int64_t kFarther = 4;  // how many times as far the next one reaches

std::shared_ptr<Aims> aims_of(const Part& part, const std::vector<Way>& ways) {
  std::vector<Way> made;
  for (const Way& way : ways) {
    made.emplace_back();
    for (const Lead& lead : way) made.back().push_back(part.lead(lead));
  }
  return std::make_shared<Aims>(std::move(made));
}

}  // namespace

NearSearch::Stage::Stage(Part made, const NearSearch& of)
    : part(std::move(made)),
      search(part.model(), aims_of(part, of.aims_->ways), part.price(of.prices_, of.near_), part.model().whole(),
             part.inward(of.near_), of.upper_, of.rules_),
      reach(of.reach_) {}

NearSearch::NearSearch(const Model& model, std::shared_ptr<Aims> aims, Prices prices, const Box& box,
                       const std::vector<int>& near, std::int64_t upper, PriceRules rules)
    : model_(model),
      aims_(std::move(aims)),
      prices_(std::move(prices)),
      box_(box),
      near_(near),
      rules_(rules),
      upper_(upper),
      reach_(model.needs.size() >= z(rules.large) && rules.climb ? upper / kFirst + 1 : upper) {
  if (rules_.climb) starts_.push_back(near);
}

Ended NearSearch::run(Watch& watch) {
  while (true) {
    while (!stage_ && !none_) enter();
    if (none_) return Ended::kDone;
    const Ended ended = last_ ? stage_->search.run(watch) : stage_->search.climb(watch);
    collect();
    if (ended == Ended::kDoubt) doubtful_ = stage_->part.outward(stage_->search.doubtful());
    if (ended != Ended::kDone || last_) return ended;
    last_ = way_ >= 0 || reach_ >= upper_;
    reach_ = last_ ? upper_ : std::min(upper_, reach_ * kFarther);
    const bool smaller = static_cast<double>(reach_) < kFarLess * static_cast<double>(stage_->reach);
    if (smaller || stage_->reach < reach_) leave();
  }
}

// A stage for the rows that cost less than the reach, and some others.
void NearSearch::enter() {
  Box box = box_;
  std::optional<Part> part;
  if (tighten(prices_, reach_, box)) part.emplace(model_, box);
  if (!part || part->empty()) {
    none_ = reach_ >= upper_;
    reach_ = upper_;
    return;
  }
  auto stage = std::make_unique<Stage>(std::move(*part), *this);
  for (const auto& start : starts_) stage->search.start_from(stage->part.inward(start));
  std::vector<int> found;
  for (const auto& leaves : refused_)
    if (stage->part.leaves_inward(leaves, found)) stage->search.refuse(found);
  stage_ = std::move(stage);
}

// What the stage has found, in cells of the whole.
void NearSearch::collect() {
  const PriceSearch& search = stage_->search;
  if (search.way() < 0 || search.upper() >= upper_) return;
  best_ = stage_->part.outward(search.best());
  way_ = search.way();
  upper_ = search.upper();
}

void NearSearch::leave() {
  for (const auto& leaves : stage_->search.refused_leaves()) refused_.insert(stage_->part.leaves_outward(leaves));
  if (last_) starts_.clear();
  if (last_ && reach_ > stage_->reach) starts_.push_back(near_);  // cells that were out of reach may make a cheaper row
  stage_.reset();
}

std::int64_t NearSearch::lower() const { return none_ ? upper_ : stage_ && last_ ? stage_->search.lower() : 0; }

}  // namespace proofwood::votes
