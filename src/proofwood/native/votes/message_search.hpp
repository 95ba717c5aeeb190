// Can one class overtake another somewhere in a box? Questions about the same two classes, one after the other.
//
// Theory: docs/theory/explanations.md, "The engine messages".
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/watch.hpp"
#include "votes/clause_search.hpp"
#include "votes/price_search.hpp"

namespace proofwood::votes {

struct MessageRules {
  bool sweeps = true;  // messages; without, bounds by single options
  bool share = true;   // messages of a box begin with those of the box that it is part of, or of the last question
};

class MessageSearch {
 public:
  MessageSearch(const Model& model, MessageRules rules);
  MessageSearch(const MessageSearch&) = delete;
  MessageSearch& operator=(const MessageSearch&) = delete;

  // Is there a row of the box in which the winner wins its contest? `most`: options that may be looked at, -1 for no
  // limit. A question that was stopped goes on where it was.
  Outcome ask(const Contest& contest, const Box& box, const std::vector<int>& near, std::int64_t most, Watch& watch);
  const std::vector<int>& witness() const { return witness_; }  // after kChanges: cells
  std::int64_t boxes() const { return boxes_; }

 private:
  struct Question {
    Contest contest{};
    Box box;
    std::unique_ptr<PriceSearch> search;
  };

  void load(const Contest& contest);

  const Model& model_;
  MessageRules rules_;
  std::shared_ptr<BoxBounds> bounds_;
  Contest contest_{-1, -1, 0};
  std::shared_ptr<Aims> aims_;  // of the contest
  std::vector<Question> stopped_;
  std::shared_ptr<const PriceSearch::Kept> last_;  // of the last proof
  std::vector<int> witness_;
  std::int64_t boxes_ = 0;
};

}  // namespace proofwood::votes
