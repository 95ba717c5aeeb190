// Can one class overtake another somewhere in a box? Branch and bound over boxes, bounded by messages.
//
// Theory: docs/theory/explanations.md, "The engine messages".
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/watch.hpp"
#include "votes/clause_search.hpp"
#include "votes/messages.hpp"

namespace proofwood::votes {

struct MessageRules {
  bool sweeps = true;   // messages; without, bounds by single options
  bool share = true;    // messages of a box begin with those of the box that it is part of, or of the last question
  bool core = true;     // a proof without branches leaves out features that it does not need
  bool record = false;  // proofs are written down
};

class MessageSearch {
 public:
  // `feature_of`: of each column; the columns of a feature are limited together.
  MessageSearch(const Model& model, std::vector<int> feature_of, MessageRules rules);
  MessageSearch(const MessageSearch&) = delete;
  MessageSearch& operator=(const MessageSearch&) = delete;

  // Is there a row of the box in which the winner wins its contest? `most`: options that may be looked at, -1 for no
  // limit. A question that was stopped goes on where it was.
  Outcome ask(const Contest& contest, const Box& box, const std::vector<int>& near, std::int64_t most, Watch& watch);
  const std::vector<int>& witness() const { return witness_; }  // after kChanges: cells
  const std::vector<char>& needed() const { return needed_; }   // after kSame: columns whose limits suffice
  // After kSame, if proofs are written down: the boxes in the order of the search. A parted one is 0, column, cut, and
  // whether the cells above the cut come first; a closed one 1 and what Messages::record writes.
  const Messages::Record& record() const { return record_; }
  // What worth is in terms of gain: times 2^up, over 2^down.
  int exponent() const { return up_ - down_; }
  const Factors& factors() const { return factors_; }
  std::int64_t boxes() const { return boxes_; }
  std::int64_t work() const { return messages_.work(); }

 private:
  struct Part {
    Box box;
    std::shared_ptr<const KeptMessages> kept;
  };
  struct Question {
    Contest contest{};
    Box box;
    std::vector<Part> parts;  // open ones, the next one last
    bool alone = true;        // it took a single box, so far
    i128 enough = 0;          // of the worth of a row that wins
    Messages::Record record{};
  };
  enum class Ended { kClosed, kParted, kWitness, kStopped };

  Ended work_on(Question& question, const Part& part, const std::vector<int>& near, Watch& watch);
  bool try_row(const std::vector<int>& row, std::int64_t least);
  void write_closed(Question& question, bool bounded, Watch& watch);
  void load(const Contest& contest);
  void release(const Question& question);
  void let_go_of_features(const Question& question);

  const Model& model_;
  std::vector<int> feature_of_;
  MessageRules rules_;
  Factors factors_;
  Messages messages_;
  Messages::Worth worth_;
  std::vector<std::int64_t> gain_;  // (n_leaves) of the contest at hand
  int winner_ = -1, loser_ = -1;
  std::int64_t most_gain_ = 0;  // sum over trees of the most that a leaf gains
  int up_ = 0, down_ = 0;       // worth is gain, less the most of its tree, times 2^up, or over 2^down, rounded up
  std::vector<Question> stopped_;
  std::shared_ptr<const KeptMessages> last_;  // of the last proof
  std::vector<int> witness_, row_;
  Messages::Record record_;
  std::vector<char> needed_;
  std::int64_t boxes_ = 0;
};

}  // namespace proofwood::votes
