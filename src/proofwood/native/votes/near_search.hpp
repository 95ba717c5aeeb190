// The cheapest row of a box that scores enough, in the part of the ensemble that cheap rows reach.
//
// Local search looks for a first row in the part of the cells that cost less than the row that is known, or in large
// ensembles in parts that begin small. The proof is made in the part that rows cheaper than the best one reach.
//
// Theory: docs/theory/explanations.md, "Nearest rows".
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "votes/part.hpp"
#include "votes/price_search.hpp"

namespace proofwood::votes {

class NearSearch {
 public:
  // As of PriceSearch, whose methods these are.
  NearSearch(const Model& model, std::shared_ptr<Aims> aims, Prices prices, const Box& box,
             const std::vector<int>& near, std::int64_t upper, PriceRules rules);

  PriceSearch::Ended run(Watch& watch);
  const std::vector<int>& doubtful() const { return doubtful_; }
  void decide(bool counts) { stage_->search.decide(counts); }
  void start_from(const std::vector<int>& row) { starts_.push_back(row); }

  const std::vector<int>& best() const { return best_; }
  int way() const { return way_; }
  std::int64_t lower() const;
  std::int64_t upper() const { return upper_; }
  std::int64_t nodes() const { return stage_ ? stage_->search.nodes() : 0; }

 private:
  struct Stage {
    Part part;
    PriceSearch search;
    std::int64_t reach;  // the part has all rows that cost less

    Stage(Part made, const NearSearch& of);
  };

  void enter();
  void collect();
  void leave();

  const Model& model_;
  std::shared_ptr<Aims> aims_;
  Prices prices_;
  Box box_;
  std::vector<int> near_;  // the row asked about
  PriceRules rules_;
  std::int64_t upper_, reach_;
  std::vector<std::vector<int>> starts_;
  std::unique_ptr<Stage> stage_;
  bool last_ = false;  // the stage that proves
  bool none_ = false;  // no row is cheaper than the best one
  std::vector<int> best_, doubtful_;
  int way_ = -1;
  std::set<std::vector<int>> refused_;  // leaves of rows that do not count
};

}  // namespace proofwood::votes
