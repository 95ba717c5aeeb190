// Exact search for the set of at most H tests whose cells misclassify the least weight.
//
// Theory: docs/theory/decision-diagrams.md, "Choosing the tests: branch and bound over sets".
// The problem is that of Hu, Huguet, Siala, AAAI 2022 (MaxSAT-BDD); the search is ours.
// The bound by matchings is explained in subset_bounds.cpp, the search in subset_node.cpp. What is found is E*(k), the
// fewest errors E(S) over all sets S of at most k tests: a diagram of k splits, whatever its shape, has at least as
// many (docs/theory/layered-diagrams.md, "Univariate: sets of tests").
//
// Over tests a and b, two rows of class + and three of class -:
//
//   cell a b      rows          error
//        0 0      + - -         1           an item is what one class weighs in a group of equal rows; pure cells are
//        0 1      +             0           dropped, since no further test improves them
//        1 1      -             0           E({a, b}) = 1
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "bdd/journal.hpp"
#include "bdd/kernels.hpp"
#include "common/integers.hpp"
#include "common/run.hpp"

namespace proofwood::bdd {

// ---------------------------------------------------------------------------------------------------- the problem

// Part of a group of equal rows that is of one class. `fixed`, at one item of each group, is what the group's own
// minority costs: the avoidable error of a cell is its weight less that of its heaviest class and less these.
struct Item {
  u32 group;
  u32 label;
  i64 weight, fixed;
};

constexpr u32 kNoTest = ~0u;

struct Edge {
  u32 a, b;  // groups of different heaviest class
};

struct NearPair {
  u32 distance;
  Edge edge;
};

// By distance, each pair once.
std::vector<Edge> sorted_edges(std::vector<NearPair>& pairs);

struct Table {
  u32 groups = 0, tests = 0, words = 0;
  std::vector<u64> bits;              // (groups, words): one bit per distinct test
  std::vector<u64> columns;           // (tests, words of all groups): the same bits by test
  std::vector<u32> number;            // (tests,) original test number, ascending
  std::vector<u32> same_as;           // by original number: the test that parts the rows as it does, kNoTest if none
  std::vector<Item> items;            // by class, then group
  std::vector<u32> heaviest;          // (groups,) class
  std::vector<i64> margin;            // (groups,) weight of the heaviest class less that of the second
  i64 unavoidable = 0;                // error that no set of tests avoids
  bool unit = true;                   // every item weighs 1
  bool narrow = true;                 // no weight reaches 2^31
  u32 neighbours = 0;                 // partners of each group that were looked for
  std::vector<Edge> edges;            // near pairs, nearest first
  std::vector<u32> near_begin, near;  // (groups + 1,), and the partners of each group in the same order
  std::vector<u32> group_of;          // (items,) as in `items`, closer together

  // Instead of the bits, over many cuts (ranks.cpp):
  bool by_rank = false;
  u32 classes = 0;
  std::vector<u32> ranks, orders;  // (columns, groups) dense ranks, and groups in their order
  std::vector<u32> raw_begin;      // (columns + 1,) place of the first cut of each column, one place spare in each
  // By place of a cut: its original number; the test that parts the rows as it does, which may be one of an earlier
  // column; and how many groups come before those of its rank.
  std::vector<u32> number_at, test_at, rank_begin;
  std::vector<u32> column_of, cut_of, raw_of;  // (tests,)

  bool high(u32 group, u32 test) const {
    return by_rank ? ranks[column_of[test] * std::size_t{groups} + group] > cut_of[test]
                   : (column(test)[group / 64] >> (group % 64) & 1) != 0;
  }
  // Neighbourhood pruning: calls f with the place of each cut of the column of `test` from which rows of at most
  // `spare` weight part it. `below` has the weight up to each place.
  template <class F>
  void each_cut_in_neighbourhood(const std::vector<i64>& below, u32 test, i64 spare, const F& f) const {
    const std::size_t begin = raw_begin[column_of[test]], end = raw_begin[column_of[test] + std::size_t{1}],
                      at = raw_of[test];
    for (std::size_t p = at; p > begin && below[at] - below[p - 1] <= spare; --p) f(p - 1);
    for (std::size_t p = at + 1; p < end && below[p] - below[at] <= spare; ++p) f(p);
  }
  const u64* column(u32 test) const { return columns.data() + static_cast<std::size_t>(test) * ((groups + 63) / 64); }
};

// `ranks` (groups, columns), `cuts` tests per column, `weights` (groups, classes). Constant tests are dropped, and of
// tests that are equal or opposite on all rows the one of the smallest number stays.
Table make_table(const std::int32_t* ranks, std::size_t groups, std::size_t columns, const std::int32_t* cuts,
                 const i64* weights, std::size_t classes, bool by_rank, const std::atomic<int>& stop);
// Fills the places of cuts; called by make_table where the tests shall not become bits.
void add_ranks(Table& table, const std::int32_t* ranks, std::size_t columns, const std::int32_t* cuts,
               const std::vector<std::size_t>& kept, const std::atomic<int>& stop);
void add_rank_edges(Table& table, u32 per_group, const std::atomic<int>& stop);
// What the matchings are made of: for each group some of the nearest ones of another heaviest class. They are there as
// a whole, or not at all if `stop` was set.
void add_near_pairs(Table& table, u32 per_group, const SubsetKernels& kernels, const std::atomic<int>& stop);
void add_edges(Table& table, u32 per_group, const SubsetKernels& kernels, const std::atomic<int>& stop);

// ------------------------------------------------------------------------------------------------------ the search

struct Rules {
  bool matching = true, reweighting = true, overlap = true, elimination = true, leaf_matching = true, similarity = true,
       greedy = true;
};

struct Settings {
  u32 size = 0;
  i64 upper = 0;  // best: only sets of avoidable error below this are of interest; collect: all sets below this
  bool collect = false;
  bool greedy_only = false;   // best: stop after the greedy first set
  i64 enough = -1;            // best: no set has less avoidable error, and the search ends at one that has as little
  bool boxes = false;         // by boxes of cuts, over ranks
  std::vector<Set> starts;    // best: original numbers of tests, sets that are completed and improved
  bool starts_first = false;  // best: before the greedy set, which is long in coming over many rows
  Set forced;                 // best: places of tests that every set has; the others come from place `first` on
  u32 first = 0;
  std::size_t max_sets = 1;
  u32 threads = 1, neighbours = 10, restarts = 12;
  int isa = kBaseline;
  Rules rules;
};

enum Counter : int {
  kNodes,
  kLeaves,
  kMatchings,
  kPairEvaluations,
  kByMatching,
  kByElimination,
  kByOverlap,
  kBySimilarity,
  kByLeafMatching,
  kRootChildren,
  kRootChildrenDone,
  kBoxes,
  kFieldNodes,
  kCounters
};
inline constexpr const char* kCounterNames[kCounters] = {"nodes",
                                                         "leaves",
                                                         "matchings",
                                                         "pair_evaluations",
                                                         "pruned_matching",
                                                         "eliminated",
                                                         "pruned_overlap",
                                                         "pruned_similarity",
                                                         "pruned_leaf_matching",
                                                         "root_children",
                                                         "root_children_done",
                                                         "boxes",
                                                         "field_nodes"};

struct Match {
  u32 a, b;
  i64 weight;
};

// One node of the search tree: the tests chosen, the impure cells, the tests that may follow, and a matching.
struct Node {
  u32 left = 0;                  // how many tests may be added
  Set chosen;                    // distinct tests
  std::vector<u32> items, ends;  // items by cell and class; impure cells only
  std::vector<i64> excess;       // avoidable error of each cell
  i64 error = 0;                 // their sum
  std::vector<u32> candidates;
  std::vector<i64> inherited;  // per candidate, pairs of the parent's matching that it separates, of `inherited_size`
  i64 inherited_size = 0;

  i64 floor = 0;                             // least bound of a set that was ruled out together with a candidate
  const std::vector<Edge>* given = nullptr;  // edges of the parent
  const std::vector<Match>* given_matches = nullptr;  // and its matching
  std::vector<Edge> edges;                            // those within the cells, once matched
  std::vector<Match> matches;
  i64 size = 0;               // weight of the matching in use
  u32 stride = 0, words = 0;  // packed matrix of the candidates over the pairs
  std::vector<u64> packed;
  std::vector<std::uint8_t> shift;
  std::vector<i64> cover;   // per candidate: weight of the pairs it separates
  std::vector<i64> shared;  // (candidates, stride): weight of the pairs that both separate
  // Weight of the pairs that both of two candidates separate, 0 if that was not counted.
  i64 shared_by(u32 s, u32 t) const { return shared.empty() ? 0 : shared[static_cast<std::size_t>(s) * stride + t]; }
  std::vector<i64> child_bound;  // per candidate: no set that takes it, and of the rest later ones only, errs less
};

using SetRun = BoundedRun<Set>;  // avoidable errors, and tests by their place in the table

class Search {
 public:
  // `started`: when the clock of its events began. `earlier`: what earlier searches proved; may be null, and then
  // nothing is kept for later ones.
  // The table gets its near pairs, if it has none.
  Search(Table& given, const Settings& settings, std::atomic<int>& stop, SetRun::Clock::time_point started,
         const Proved* earlier = nullptr);
  void run();

  const SetRun& known() const { return run_; }  // any thread, as has_set
  bool has_set() const { return has_set_; }
  i64 greedy_upper() const { return greedy_upper_; }  // error of the greedy set
  bool greedy_done() const { return greedy_done_; }
  Set set() const;                             // best: original test numbers of the best set
  std::vector<Set> sets() const;               // collect: in lexicographic order
  bool complete() const { return complete_; }  // collect: no further set was left out
  bool done() const { return done_; }
  std::vector<i64> counters() const;
  const Table& table() const { return table_; }
  Proved take_news();  // what was proved since the last call; any thread

 private:
  struct Worker;
  friend struct Worker;
  struct RootChildren;
  struct BoxSearch;
  friend struct BoxSearch;
  void find_first_set(Worker& first);
  void search_sets(Worker& first);
  void search_boxes(Worker& first);
  void search_children(Worker& first, const Node& root);
  bool search_child(Worker& worker, RootChildren& children, std::size_t s);
  void rule_out(RootChildren& children, std::size_t s, i64 proved) const;
  void add_counters(const Worker& worker);
  void conclude();
  void offer(i64 error, const Set& chosen);
  void prove_by_children();
  i64 upper() const { return run_.upper(); }
  bool stopped() const { return enough_.load(std::memory_order_relaxed) || run_.stopped(); }
  bool surplus(std::size_t task) const;  // collect: enough sets come before this task

  // What earlier searches proved, and what later ones will want to know (recorded.cpp).
  Set places(const Set& numbers) const;
  Set numbers(const Set& places) const;
  i64 counted(Worker& worker, const Set& places) const;
  bool take_up_greedy(Worker& worker);
  bool take_up_end(Worker& worker);
  void take_up_best(Worker& worker);
  void take_up_children(Worker& worker, RootChildren& children);
  u64 digest_of(const Node& root) const;
  void note_greedy();
  void note_child(const RootChildren& children, std::size_t s, i64 proved);

  Table& table_;
  Settings settings_;
  std::atomic<int>& stop_;
  const SubsetKernels& kernels_;
  SetRun run_;
  std::atomic<bool> has_set_{false}, enough_{false};
  struct Greedy {
    i64 error = std::numeric_limits<i64>::max();
    Set set;
  };
  Greedy greedy_;  // the best so far, starts left aside
  bool in_greedy_ = false;
  i64 greedy_upper_ = 0;
  bool greedy_done_ = false;

  mutable std::mutex mutex_;  // for what follows, but the sets
  bool done_ = false, complete_ = true;
  std::vector<i64> open_;  // bound of every unfinished child of the root
  std::vector<i64> counters_;
  std::vector<std::vector<Set>> collected_;  // per child of the root
  std::vector<std::atomic<std::size_t>> gathered_;
  std::atomic<std::size_t> gathered_all_{0}, next_{0};
  std::vector<bool> known_;  // children that earlier searches were done with

  const Proved* earlier_;
  bool begun_ = false;  // what was known before is taken up
  Proved news_;
  Bounds told_{};
  bool told_done_ = false;
};

// Of the sets of avoidable error up to settings.enough, which no set goes below, the first one in lexicographic order
// of the original numbers; `witness` is one of them. Nothing if the search was stopped.
std::optional<Set> first_of_best(Table& table, const Settings& settings, const Set& witness, std::atomic<int>& stop);

}  // namespace proofwood::bdd
