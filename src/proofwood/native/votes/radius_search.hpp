// The row of another class whose dearest cell costs least, by bisection: is there one in the box of the cells that cost
// no more than so much?
//
// Prices are ranks here: 0 at the cells of the row asked about, and one more for each further price that occurs.
//
//   rank            0   1   2   3   4   5   6   7
//   no row up to            x                         lower() is 3
//   a row at                                x         upper() is 6: next question 3, 4 or 5
//
// Rows that are found are pulled back towards the row asked about. Questions are asked in the part of the ensemble that
// the box of the best row known reaches.
//
// Theory: docs/theory/explanations.md, "Nearest rows".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/watch.hpp"
#include "votes/part.hpp"
#include "votes/turns.hpp"

namespace proofwood::votes {

class RadiusSearch {
 public:
  // `prices`: ranks below `ranks`, not falling away from `near`, or kNever. `box`: where rows are looked for.
  RadiusSearch(const Model& model, std::vector<Contest> rivals, Prices prices, Box box, std::vector<int> near,
               std::int64_t ranks, TurnRules rules);
  RadiusSearch(const RadiusSearch&) = delete;
  RadiusSearch& operator=(const RadiusSearch&) = delete;

  // Until the bounds meet; false if the watch was over before. Called again, it goes on.
  bool run(Watch& watch);

  bool has_row() const { return best_.has_value(); }
  const std::optional<std::vector<int>>& best() const { return best_; }  // cells, none where no column is tested
  std::int64_t upper() const { return upper_; }  // rank of best(); without one, the number of ranks
  std::int64_t lower() const { return lower_; }  // no row has a lower rank
  std::int64_t questions() const { return questions_; }

 private:
  struct Stage {
    Part part;
    std::int64_t reach;  // the part has all rows of lower rank
    Prices prices;
    std::vector<Lead> leads;
    std::unique_ptr<Turns> turns;
  };

  bool permitted(std::int64_t most, const Prices& prices, Box& box) const;
  void climb(Watch& watch);
  bool enter();
  Outcome ask(std::int64_t most, Watch& watch);
  Outcome ask_about(std::size_t rival, const Box& box, Watch& watch);
  void take(const std::vector<int>& row, std::size_t rival, Watch& watch);
  void know(std::vector<int> row);

  const Model& model_;
  std::vector<Contest> rivals_;
  std::vector<Lead> leads_;  // of the rivals
  Prices prices_;
  Box box_;
  std::vector<int> near_;
  TurnRules rules_;
  std::vector<std::size_t> order_;  // rivals, the one that won last first
  std::unique_ptr<Stage> stage_;
  std::optional<std::vector<int>> best_;
  std::int64_t lower_ = 0, upper_, questions_ = 0;
  bool begun_ = false, proved_ = false;
};

}  // namespace proofwood::votes
