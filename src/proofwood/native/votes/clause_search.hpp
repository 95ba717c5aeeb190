// Can one class overtake another somewhere in a box of the threshold grid? Conflict-driven search with learned clauses.
//
// Theory: docs/theory/explanations.md, "The engine cdcl: clause learning". Variables are bounds of a box (model.hpp).
// The sum of the scores is a propagator: in each tree the best leaf that the box still reaches bounds what the tree can
// add. The sum of these bounds must reach what the class needs to win; two trees of three leaves, best first, and a box
// that rules some out (x):
//
//   tree 1    +5 x   +2     -1        best + 2
//   tree 2    +3     +1 x   -4        best + 3      bound 5: a goal of 6 is a conflict, explained by what excludes "+5"
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/watch.hpp"
#include "votes/climb.hpp"
#include "votes/model.hpp"

namespace proofwood::votes {

enum class Outcome { kChanges, kSame, kStopped };

// What a question may cost.
struct Budget {
  Watch& watch;                 // every loop that may run long looks at it
  std::int64_t conflicts = -1;  // -1: no limit
  bool climb = true;            // whether local search may answer: it knows one sum
};

struct Rules {
  bool propagate_scores = true;  // bounds that the sum forces
  bool slack = true;             // explanations use the room that the sum leaves
  bool climb = true;             // local search for a row before and between the conflicts
  bool local = true;             // hard questions become small ensembles of their own
  bool join = true;              // whose trees are joined in pairs
};

// Search for one pair of classes: is there a row of the box in which one wins its contest? Or for one class against
// several: a row in which it wins all contests.
class ClauseSearch {
 public:
  ClauseSearch(const Model& model, const std::vector<Contest>& contests, Rules rules);
  ~ClauseSearch();
  ClauseSearch(const ClauseSearch&) = delete;
  ClauseSearch& operator=(const ClauseSearch&) = delete;

  // Assumptions hold true in this order.
  Outcome solve(const std::vector<Literal>& assumptions, const std::vector<int>& near, const Budget& budget);
  // The same by a small ensemble made for this question, see small_ensemble.hpp. A question that was stopped goes on
  // where it was.
  Outcome solve_small(const std::vector<Literal>& assumptions, const std::vector<int>& near, const Budget& budget);
  // A row that another search has found: to climb from.
  void start_from(const std::vector<int>& row);
  const std::vector<int>& witness() const { return witness_; }  // after kChanges: cells
  const std::vector<Literal>& core() const { return core_; }    // after kSame: assumptions that suffice
  std::int64_t conflicts() const { return conflicts_; }
  std::int64_t learned() const { return static_cast<std::int64_t>(clauses_.size() - n_given_); }

 private:
  struct StoppedQuestion;
  struct Schedule;
  enum class Step { kNothing, kForced, kConflict };
  // What a contest comes to in each tree.
  struct Sum {
    std::vector<std::int64_t> gain;  // (n_leaves)
    std::vector<int> order;          // leaves by tree, best first
    std::vector<int> place;          // (n_leaves) position in order
    std::vector<int> best;           // (n_trees) position of the best leaf that is alive
    std::int64_t bound = 0;          // sum of the best gains
    std::int64_t least = 0;
  };
  struct Change {
    int column;
    bool upper;  // hi went down, else lo went up
    int before;
    int reason;  // kDecision, kScores or less, or index into clauses_
    Literal literal;
    int level;
  };
  struct Clause {
    std::vector<Literal> literals;
    float activity = 0;
    int glue = 0;
    bool learned = false;
  };
  static constexpr int kDecision = -1, kNone = -2, kScores = -3;  // kScores - i: the sum i

  int column(Literal l) const { return model_.column_of[static_cast<std::size_t>(l >> 1)]; }
  int cut(Literal l) const { return (l >> 1) - model_.first[static_cast<std::size_t>(column(l))]; }
  // 1 true, 0 false, -1 open
  int value(Literal l) const {
    const int above = state_[static_cast<std::size_t>(l >> 1)];
    return above < 0 ? -1 : above ^ (l & 1);
  }
  int level() const { return static_cast<int>(starts_.size()); }
  int entry_of(Literal fact) const { return when_[static_cast<std::size_t>(fact)]; }  // change that made it true
  bool fallen(int leaf, int limit) const {  // whether it was dead before the change `limit`
    return dead_[static_cast<std::size_t>(leaf)] > 0 && died_[static_cast<std::size_t>(leaf)] < limit;
  }
  bool always_dead(int leaf) const {  // whatever is assumed
    const auto l = static_cast<std::size_t>(leaf);
    return dead_[l] > 0 && trail_[static_cast<std::size_t>(died_[l])].level == 0;
  }
  Sum sum_of(const Contest& contest) const;

  // ---- propagate.cpp: the box and what follows from it
  bool set(Literal l, int reason);  // false if it is false already
  void undo(int level);
  void kill(int leaf, Literal need);
  void revive(int leaf);
  void attach(int clause);
  bool propagate(Watch& watch);      // false: conflict_ holds facts; means nothing else once the watch is over
  int propagate_clauses();           // conflicting clause or kNone
  int visit_watchers(Literal gone);  // the same
  Step propagate_scores(int number, Watch& watch);  // of a sum
  bool list_losses(const Sum& sum, Watch& watch);
  int best_without(const Sum& sum, int tree, Literal need) const;
  Step force_bounds(int number, std::int64_t room);
#ifdef PROOFWOOD_CHECKS
  void check() const;  // the invariants that hold after propagation
#endif

  // ---- analyse.cpp: why a sum is below its least
  void explain(const Sum& sum, std::optional<Literal> assumed, int limit, std::vector<Literal>& facts);
  void mark_ruled_out(std::optional<Literal> assumed);
  bool ruled_out(int leaf) const { return marked_[static_cast<std::size_t>(leaf)] == mark_; }
  std::int64_t find_stops(const Sum& sum, std::optional<Literal> assumed, int limit);
  void rank_trees(const Sum& sum);
  bool covered(Literal fact) const;
  Literal earliest_fact(int leaf, int limit) const;
  void choose_facts(const Sum& sum, int tree, bool assumed, int limit, std::int64_t& room);

  // ---- analyse.cpp: the clause that is learned
  bool analyse(std::vector<Literal>& learned, int& back, int& glue, Watch& watch);  // false: stopped, nothing learned
  void analyse_final(const std::vector<Literal>& facts);
  std::vector<Literal> facts_of(int entry);
  void add_fact(Literal fact);
  void bump(Literal l);
  bool implied(Literal fact, int before) const;  // by a fact of wanted_ older than `before`, or always true
  Literal first_implication_point(Watch& watch);
  void drop_implied(Literal point, Watch& watch);
  void write_clause(Literal point, std::vector<Literal>& learned, int& back, int& glue);

  // ---- clause_search.cpp: the steps of the main loop
  std::optional<Outcome> learn_from_conflict(Schedule& schedule, const Budget& budget);
  bool go_to_conflict();
  bool keep_learned(int glue);
  void decay();
  void restart(Schedule& schedule, int n_assumptions, Watch& watch);
  void reduce();
  bool climb(const std::vector<int>& near, std::int64_t effort,
             Watch& watch);  // a row of the box by local search, into witness_
  bool assume(const std::vector<Literal>& assumptions);
  bool decide_next(const std::vector<int>& near);
  Literal choose();        // sets followed_ too
  void decide(Literal l);  // at a new level
  bool complete(const std::vector<int>& near);
  Literal open_literal_of_broken_clause() const;
  Outcome found();  // the witness is an answer
  std::optional<StoppedQuestion> make_small(const std::vector<Literal>& assumptions, const std::vector<int>& near,
                                            const Budget& budget, Outcome& outcome);

  const Model& model_;
  Rules rules_;
  std::vector<Sum> sums_;
  std::vector<int> dead_;      // (n_leaves) needs that are false
  std::vector<int> died_;      // (n_leaves) change that made the first of them false; of use while dead
  std::vector<Literal> lost_;  // (n_leaves) that need
  std::vector<int> lo_, hi_;
  std::vector<std::int8_t> state_;  // (n_variables) what the bounds say of each: 1 above, 0 not, -1 open
  std::vector<Change> trail_;
  std::vector<int> starts_;  // trail length at each decision
  std::vector<int> when_;    // (2 n_variables) change that made a literal true; of use while it is true
  std::size_t head_ = 0;
  std::vector<Clause> clauses_;
  std::size_t n_given_ = 0;
  std::vector<std::vector<int>> watching_;  // (2 n_variables) clauses that watch a literal
  std::vector<double> activity_;
  double step_ = 1.0;
  float clause_step_ = 1.0F;
  std::vector<Literal> conflict_;  // facts that contradict each other
  std::vector<Literal> learned_;   // the clause learned last
  std::vector<Literal> wanted_;    // (2 n_columns) strongest fact of a column and side, -1 none
  std::vector<int> touched_;
  int open_ = 0;  // facts of the current level in wanted_
  std::vector<int> witness_;
  std::vector<Literal> core_;
  std::int64_t conflicts_ = 0;
  bool never_ = false;
  int followed_ = -1;                 // leaf whose need was decided
  std::vector<std::int64_t> marked_;  // explain: (n_leaves) mark_ where the assumed bound rules the leaf out
  std::int64_t mark_ = 0;
  std::vector<Literal> chosen_;  // explain: strongest fact per column and side
  std::vector<int> chosen_touched_;
  std::vector<int> stops_;  // explain: (n_trees) place of the best leaf that is alive
  std::vector<std::pair<std::int64_t, int>>
      ranking_;  // explain: what a tree's best leaf that fell would add, and the tree
  struct Loss {
    int key;
    int cut;
    std::int64_t loss;
  };
  std::vector<Loss> losses_;
  Climb climb_;
  std::vector<StoppedQuestion> stopped_;  // with their small ensembles, the latest last
  std::vector<std::vector<int>> found_;   // rows that answered questions, the latest first
};

}  // namespace proofwood::votes
