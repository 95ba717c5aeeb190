// Rows of a box that may be of another class, found by local search: one column at a time moves to its best cell, and
// where no column helps, a random tree is made to vote otherwise.
//
// Most questions of an explanation are answered by such a row, in a fraction of the time of a search that could also
// prove that there is none. What is returned was summed up leaf by leaf; failure says nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "votes.hpp"

namespace proofwood::votes {

class Trial {
 public:
  Trial(const Model& model, int winner, int loser, std::int64_t least);

  // Whether a row with sum(winner) - sum(loser) >= least turned up where the assumptions hold: row() then. Begins at
  // the latest rows found and at `near`; `kicks` random changes follow.
  bool find(const std::vector<Literal>& assumptions, const std::vector<int>& near, int kicks);
  const std::vector<int>& row() const { return row_; }
  void remember(const std::vector<int>& row);  // a start for later questions

 private:
  struct Entry {
    int leaf;
    int low, high;  // cells of the column that the leaf needs
  };

  bool enter(const std::vector<Literal>& assumptions);  // false: they contradict each other
  void load(const std::vector<int>& start);             // moves it into the box
  void move(int column, int cell);
  bool improve(int column);                             // to the best cell of a column, if that raises the sum
  bool ascend();                                        // until the sum suffices (true) or no column raises it
  bool kick();                                          // into a better leaf of a random tree; false: found none
  bool fits(int leaf) const;                            // whether the box has cells that meet all its needs
  bool allowed() const;                                 // by the clauses of the model
  std::size_t random(std::size_t n);

  const Model& model_;
  std::int64_t least_;
  bool never_ = false;
  // After the leaves of the model comes one for each clause of several literals: reached by the rows that violate it,
  // and a loss that no others make up for.
  std::vector<std::int64_t> gain_;      // (leaves)
  std::vector<int> entries_of_;         // (n_columns + 1)
  std::vector<Entry> entries_;
  std::vector<int> needing_of_;         // (2 n_variables + 1): leaves that need a literal
  std::vector<int> needing_;
  std::vector<int> bottom_, top_;       // (n_columns) cells that clauses of one literal leave
  std::vector<int> lo_, hi_;            // the box
  std::vector<int> free_;               // columns that may move
  std::vector<int> row_;
  std::vector<int> wrong_;              // (leaves) needs that the row does not meet
  std::int64_t sum_ = 0;                // of the leaves that the row reaches
  std::vector<std::vector<int>> starts_;  // latest last
  std::vector<int> kept_;               // best row so far
  std::vector<std::int64_t> steps_;     // change of the sum from cell to cell
  std::vector<int> choice_;
  std::uint64_t seed_ = 0x9E3779B97F4A7C15ULL;
};

// What releasing features one after the other came to: a guess, because a row that was not found may exist.
struct Released {
  std::vector<int> kept;
  std::vector<std::vector<int>> rows;  // of other classes, found on the way
};

// Features of `kept` are released in the order of `candidates`, each unless a row of another class is known or found that
// agrees on the rest. A row that shows an earlier release to be wrong takes that one back; in the end such rows are
// looked for once more, with `last_kicks`. `literals` fix each feature; `changed` are the features that differ in rows
// known so far. Ends early, with what is left kept, when `stop` says so.
Released release(const Model& model, const std::vector<Trial*>& trials, const std::vector<std::vector<Literal>>& literals,
                 const std::vector<int>& near, const std::vector<int>& kept, const std::vector<int>& candidates,
                 const std::vector<std::vector<int>>& changed, int kicks, int last_kicks, const std::function<bool()>& stop);

}  // namespace proofwood::votes
