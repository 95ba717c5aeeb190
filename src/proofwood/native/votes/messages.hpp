// Upper bounds of a sum over the options that a row takes, by messages between factors and columns.
//
// Theory: docs/theory/explanations.md, "The engine messages" (block-coordinate descent in the dual of a linear
// relaxation, as in
// Kolmogorov 2006 and Globerson, Jaakkola 2007; trees as factors are ours). Every factor may choose an option and every
// column a cell that do not fit together. A message is a number for each slot: the factor gets it where its option
// permits the slot, and the column pays it for the cells there. A row pays what it gets, or more, so that
//
//   sum over factors of (best option with its messages) + sum over columns of (best cell less its messages)
//
// is at least what any row is worth, whatever the messages are. All numbers are whole and small enough for doubles to
// hold exactly, so that the bound is counted and not estimated.
#pragma once

#include <cstdint>
#include <vector>

#include "common/watch.hpp"
#include "votes/factors.hpp"

namespace proofwood::votes {

// What a search keeps of a box, to go on from there.
struct KeptMessages {
  std::vector<float> messages;  // by slot; whole numbers
  std::vector<int> options;     // that a row of the box may take; none: not known
};

// A column update finds the best messages of all trees in that column at once; subgradient steps took fifteen times as
// long for a worse bound: decisions/0034-messages-between-trees-and-columns.
class Messages {
 public:
  // What options (trees only) and cells are worth, whole numbers of at most kMostWorth.
  struct Worth {
    std::vector<double> options;             // (n_leaves)
    std::vector<std::vector<double>> cells;  // (n_columns) by cell; may be empty: nothing
  };
  static constexpr double kMostWorth = 0x1p44;
  static constexpr double kNever = -0x1p50;  // worth of a cell that may not be taken

  explicit Messages(const Factors& factors);

  // Begins with a box, the options of `from` and its messages. False if some factor has no option there.
  bool enter(const Box& box, const KeptMessages* from, const Worth& worth);
  // Changes the messages of all columns once, one column after the other, to and fro. False if the bound fell below
  // `enough` or the watch was over before the end.
  bool sweep(i128 enough, Watch& watch);
  i128 bound() const { return total_; }
  // The same box with other worth of its options, the messages times a factor.
  void reweigh(double factor);
  // Leaves out options, and cells at the ends of columns, with which a row is worth less than `enough`: the box and the
  // options that keep() gives become smaller, all else waits for enter(). False if no row is left.
  bool leave_out(i128 enough);
  // The best option of a factor by the last messages.
  int chosen(int factor) const;
  // Cells of best worth by the last messages, those nearest to `near` among equals.
  void choose(const std::vector<int>& near, std::vector<int>& row) const;

  const Box& box() const { return box_; }
  const std::vector<int>& options() const { return options_; }  // that a row of the box may take
  bool decided() const { return edges_.empty(); }               // every factor has one option, or equal ones
  KeptMessages keep(bool options = true) const;                 // without options for other boxes, too

  // Numbers that prove that no row of the box is worth `enough`: the unit of the messages, a power of two, the number
  // of edges, and of each factor, column, number of steps, and cell and message from there on of each step. The
  // messages are nothing below the first one. False if the bound is not below `enough`; the messages are changed.
  using Record = std::vector<std::int64_t>;
  bool record(i128 enough, Record& record);

  std::int64_t work() const { return work_; }  // options looked at

  // A column and a cut between its cells in the box: where both sides would lower the bound most. The first side to
  // look at is the one with the better cell.
  struct Branch {
    int column = -1, cut = 0;  // cells up to `cut`, and those above
    bool above_first = false;
  };
  Branch branch();

 private:
  // An edge of a factor that the box leaves open.
  struct Edge {
    int of;                   // in factors_.edges
    int factor, first, last;  // slots, counted from the first of the edge
    int first_number;         // in number_
    int first_interval, n_intervals;
  };

  bool list_options(const std::vector<int>* among);
  bool follow();
  void open_edges();
  void load_messages();
  void touch(int option);
  void open_edge(int factor, int number);
  void count();
  void update(int column);
  void best_by_slot(const Edge& edge, const double* options, double* found);
  double most_of(int first, int last) const;
  void prepare_most_of(std::size_t n);
  void write(int unit, Record& record) const;

  static constexpr int kUnitStep = 2;  // bits that messages get more until their bound suffices

  const Factors& factors_;
  double most_message_;
  const Worth* worth_ = nullptr;
  Box box_;
  std::vector<int> options_, options_of_;   // that the box leaves, by factor
  std::vector<double> value_;               // of options with their messages
  std::vector<double> messages_;            // by slot
  std::vector<Edge> edges_;                 // by factor
  std::vector<std::vector<int>> edges_of_;  // by column
  std::vector<char> touched_;               // (edges) whether an option needs a part of the box
  std::vector<int> local_;                  // (intervals) number among those of the edge at hand, -1 elsewhere
  std::vector<int> number_;                 // by option of an edge: its interval
  std::vector<int> low_slot_, high_slot_;   // of intervals
  std::vector<double> got_;                 // of intervals: the best message in them
  std::vector<double> factor_best_, column_best_;
  std::vector<std::vector<double>> left_;  // (n_columns) by cell of the box: its worth less the messages
  std::vector<std::vector<double>> sum_;   // (n_columns) by cell of the box: what all factors reach there at most
  std::vector<double> best_, found_, change_, most_;
  i128 total_ = 0;
  std::int64_t work_ = 0;
  bool forward_ = true;
};

}  // namespace proofwood::votes
