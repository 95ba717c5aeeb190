// One question as a small ensemble of its own: only leaves that its box reaches, and trees joined in pairs.
//
// Joined trees bound better: the best leaves of two trees often contradict each other, the best
// compatible pair does not.
//
//   tree 1    +5 if x > 3     -1 if x <= 3
//   tree 2    +4 if x <= 2    -2 if x > 2         apart at most 5 + 4 = 9, joined at most 5 - 2 = 3
//
// A leaf that the sum cannot afford is left out, and the box shrinks to what the leaves that stay allow. All this holds
// for the question's assumptions alone, so what is learned here is not kept for other questions.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/watch.hpp"
#include "votes/part.hpp"

namespace proofwood::votes {

// Pairs only: four or eight trees at once bound a little better, at 30,000 leaves and more:
// decisions/0012-joined-trees.
class SmallEnsemble {
 public:
  // `gain` of each leaf of `model`; the box [lo, hi] reaches those with dead == 0; a row counts from sum `least` on.
  // `join`: trees in pairs.
  SmallEnsemble(const Model& model, const std::vector<std::int64_t>& gain, const std::vector<int>& dead,
                const std::vector<int>& lo, const std::vector<int>& hi, std::int64_t least, bool join, Watch& watch);

  bool stopped() const { return stopped_; }    // the watch was over before the end: of no use
  bool hopeless() const { return hopeless_; }  // no row of the box counts
  const Part& part() const { return *part_; }  // classes 0 and 1, leaf scores (gain, 0)
  std::int64_t least() const { return least_; }

 private:
  struct Limit {
    int column, low, high;
  };
  struct Leaf {
    std::int64_t gain;
    std::vector<Limit> limits;  // by column; those that the box does not imply
  };
  struct Tree {
    std::vector<Leaf> leaves;  // best first
    bool partial = false;      // whether leaves were left out
  };

  bool shrink(Watch& watch);    // false if nothing is left
  bool clip(Leaf& leaf) const;  // drop limits that the box implies; false if the box does not reach the leaf
  static bool compatible(const Leaf& a, const Leaf& b);
  static std::int64_t best_pair(const Tree& a, const Tree& b, Watch& watch);
  Tree joined(const Tree& a, const Tree& b, std::int64_t slack, Watch& watch) const;
  std::int64_t slack() const;
  void join_pairs(Watch& watch);
  Model joined_model(const Model& model) const;

  std::vector<Tree> trees_;
  Box box_;
  std::int64_t least_;
  bool hopeless_ = false, stopped_ = false;
  std::unique_ptr<Part> part_;  // none where the watch was over
};

}  // namespace proofwood::votes
