// What is left of an ensemble in a box of cells: the leaves of its trees that rows of the box can reach.
//
// Theory: docs/theory/explanations.md, "A tree that equals the ensemble" (Vidal, Schiffer 2020; the sets are ours).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/integers.hpp"
#include "votes/model.hpp"

namespace proofwood::born_again {

// Two boxes with the same set of leaves have the same tests left, and the same function of these: a row of one box is
// moved into the other without a change of any leaf. So the set stands for the box. Variables that occur in clauses
// count as trees of two leaves, "true" and "false", so that the set tells what is left of the clauses, too.
// A set of leaves makes restriction an AND of words, and joins boxes that differ in nothing that trees ask; boxes of
// coordinates would be more states: decisions/0043-boxes-as-sets-of-leaves.
class Restrictions {
 public:
  // `margin`: a lead of at most that may be one of rounding only.
  Restrictions(const votes::Model& model, bool ties_low, i64 margin);

  std::size_t words() const { return words_; }
  int n_variables() const { return model_.n_variables; }
  int column_of(int variable) const { return model_.column_of[votes::z(variable)]; }
  std::vector<u64> whole() const;  // the set of the whole space

  // The set of the part of a box in which a variable is false (low), or true.
  void restrict(const u64* set, int variable, bool high, u64* result) const {
    const u64* kept = &kept_[(votes::z(variable) * 2 + (high ? 1 : 0)) * words_];
    for (std::size_t w = 0; w < words_; ++w) result[w] = set[w] & kept[w];
  }

  static constexpr int kOpen = -3, kDoubt = -2, kImpossible = -1;
  // The class of all rows of the box, if the leaves left say so (whatever rounding does); `kImpossible` if no row is
  // possible; `kDoubt` if all is decided and rounding may decide; else `kOpen`.
  int verdict(const u64* set) const;
  // A variable whose two sides are worth a look where the verdict is open; -1 if all is decided.
  int undecided(const u64* set) const;
  // Cells of a row of a box in which all is decided.
  std::vector<int> row(const u64* set) const;
  // Leaves left, a measure of what is left to decide.
  int size(const u64* set) const;

 private:
  bool has(const u64* set, std::size_t bit) const { return (set[bit / 64] >> (bit % 64)) & 1; }
  enum class Clauses { kFalse, kOpen, kTrue };
  Clauses clauses(const u64* set, int* open_variable) const;
  int first_left(const u64* set, int tree) const;
  bool several_left(const u64* set, int tree) const;
  bool always_wins(const u64* set, int winner) const;
  i64 least_lead(int winner, int loser) const { return (winner < loser) == ties_low_ ? margin_ : margin_ + 1; }

  const votes::Model& model_;
  bool ties_low_;
  i64 margin_;
  std::size_t words_ = 0;
  std::vector<int> stump_of_;  // (n_variables) first of the two bits of a variable in clauses, true then false; or -1
  std::vector<u64> kept_;      // (n_variables, 2, words) leaves that stay
};

}  // namespace proofwood::born_again
