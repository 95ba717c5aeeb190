// Smallest trees: rows as bit sets, the state that a search reports, and one function per method.
//
// Rows of equal bits are one group. Labelling group g as class c costs the weight that this gets wrong beyond what
// every tree gets wrong (the group's minority), so cost 0 means "as good as possible" and `slack` is the permitted sum
// of costs. A set of groups is PURE if some class costs at most the slack at hand on all of it: one leaf is enough.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/integers.hpp"
#include "common/run.hpp"

namespace proofwood::minimal {

inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

constexpr int kAnyDepth = 1 << 28;  // a depth that limits nothing
constexpr int kNoTree = 1 << 28;    // number of leaves where no tree exists within the depth

// A tree that is right on a set of groups has at least so many leaves as their dual weights hold units: no box in which
// one class is right weighs more than one (docs/theory/minimal-trees.md, "A cover by boxes").
constexpr i64 kDualUnit = i64{1} << 20;

enum class Minimize { kDepth, kNodes, kNodesAnyDepth };

struct Rules {  // each may be off; none changes the answer
  bool boxes = true, cache = true, same_split = true, monotone = true, column_walks = true, class_bound = true,
       clique_bound = true;
  bool packing_bound = true, cover_bound = true, depth_bound = true;
  bool rollouts = true;
  bool canonical = true;
};

struct TreeNode {
  int test, low, high;  // test -1: a leaf
};
using Tree = std::vector<TreeNode>;  // preorder
int depth_of(const Tree& tree);

// The groups of equal rows as they are given.
struct Given {
  const int* ranks;     // (n, n_columns)
  const int* tests_of;  // (n_columns)
  const i64* cost;      // (n, n_classes)
  int n, n_columns, n_classes;
};

// Of each group the number of its set of classes of cost 0, and these sets.
struct Kinds {
  std::vector<int> of;
  std::vector<std::vector<bool>> allows;
};
Kinds kinds_of(const Given& rows);

struct Settings {
  double turns_until = 0;  // seconds for which an easier question gives turns to a harder one; 0: none
  Minimize minimize = Minimize::kDepth;
  int max_depth = kAnyDepth;
  i64 slack = 0;
  Rules rules;
  std::size_t memory = std::size_t{1} << 30;  // bytes of the cache
  Tree start;                                 // an admissible tree, if one is known
  int depth_lower = 0, nodes_lower = 1;       // bounds that are known, the latter as in State
  bool depth_proved = false;                  // `depth_lower` is the least depth
  std::vector<i64> dual;                      // per group, of kDualUnit; none: no such bound
  double rollout_seconds = 0;                 // of the run after which there are no more rollouts
  bool start_only = false;                    // the rows are too many for a search: the greedy tree is the answer
};

enum Counter { kSubproblems, kHits, kExpanded, kBoundPrunings, kDepthPrunings, kBoxes, kCounters };
inline constexpr const char* kCounterNames[kCounters] = {"subproblems",    "cache_hits",     "expanded",
                                                         "bound_prunings", "depth_prunings", "boxes"};

// Groups of equal rows, and distinct tests. Of tests that part the groups alike the one of least number is kept.
struct Rows {
  int n = 0, words = 0;  // groups; words of a set of groups
  int n_tests = 0, test_words = 0;
  int n_classes = 0, n_kinds = 0;
  bool single = true;           // no group has two classes of cost 0
  std::vector<int> original;    // (n_tests) number of the test, ascending
  std::vector<int> column;      // (n_tests) its column; along a column the low sides grow
  std::vector<u64> by_test;     // (n_tests, words) groups on the high side
  std::vector<u64> by_group;    // (n, test_words) tests whose high side holds the group
  std::vector<i64> cost;        // (n, n_classes)
  std::vector<u64> allowed;     // (n_classes, words) groups of cost 0
  std::vector<int> kind;        // (n) number of the group's set of classes of cost 0
  std::vector<u8> kind_allows;  // (n_kinds, n_classes)
  std::vector<u64> of_kind;     // (n_kinds, words)
  std::vector<int> ranks;       // (n, n_columns), as given
  std::vector<int> tests_of;    // (n_columns)

  Rows(const Given& given, class Board& board);  // throws Stopped
  const u64* high(int test) const { return &by_test[at(test) * at(words)]; }
  const u64* bits(int group) const { return &by_group[at(group) * at(test_words)]; }
  i64 leaf_cost(const u64* set) const;  // least cost of one leaf
};

struct Stopped {};   // thrown inside a search when it must end
struct TurnOver {};  // thrown inside a search when another one has its turn; it may be called again

struct State {
  int depth_lower = 0;  // no admissible tree is less deep
  int nodes_lower = 1;  // of trees of least depth if `depth_proved`, else of any tree
  bool depth_proved = false, nodes_proved = false, infeasible = false;
  int depth = -1, nodes = -1;  // of the tree at hand, -1 if there is none
  bool contradicts(const State& before) const {
    return depth_lower < before.depth_lower || nodes_lower < before.nodes_lower || (infeasible && depth >= 0) ||
           (depth >= 0 && depth < depth_lower);
  }
};

// The run of a search, with the turns of another one.
class Board : public Run<State, Tree> {
 public:
  Board(const Settings& chosen, const std::atomic<int>& stop) : Run({}, stop), settings(chosen), stop_(stop) {}
  Board(const Settings& chosen, const Board& other) : Board(chosen, other.stop_) {}  // that stops when the other does
  const Settings settings;
  i64 counts[kCounters] = {};

  void check_stop() {
    if (stopped()) throw Stopped{};
    if (turn_ends_ > 0 && ++looks_ % 64 == 0 && seconds() > turn_ends_) throw TurnOver{};
  }
  // From now on check_stop throws TurnOver once so many seconds are over; 0 for no end.
  void begin_turn(double length) { turn_ends_ = length > 0 ? seconds() + length : 0; }
  // When all that was asked for was proved, and only the form of the tree was left to choose; -1 before.
  double main_done() const { return main_done_.load(std::memory_order_relaxed); }
  [[noreturn]] void end_for_memory();
  bool out_of_memory() const { return out_of_memory_; }
  void raise_depth(int lower);
  void raise_nodes(int lower);
  void depth_is(int depth);   // the least depth is proved; trees of greater depth are given up when minimising nodes
  void nodes_are(int nodes);  // the least number of nodes is proved
  void infeasible();
  void offer(const Tree& tree);          // an admissible tree
  void put_canonical(const Tree& tree);  // an equally good tree, of the canonical form

 private:
  bool better(const State& state, int depth, int nodes) const;
  const std::atomic<int>& stop_;
  std::atomic<double> main_done_{-1};
  std::atomic<bool> out_of_memory_{false};
  double turn_ends_ = 0;
  unsigned looks_ = 0;
};

// Least Gini impurity at every node; once the search must end, the nodes that are left are parted as is quickest. Empty
// if even that makes too large a tree.
Tree greedy(const Given& rows, i64 slack, const Board& board);
// Smaller trees, one class right on all of each leaf; no more once the run has taken `until` seconds.
void offer_rollouts(const Given& rows, Board& board, double until);
double boxes_of(const Rows& rows);                  // how many boxes of ranks there are
void search_boxes(const Rows& rows, Board& board);  // slack 0

// A search that may be called again after TurnOver: it goes on with what it knows.
class Resumable {
 public:
  virtual ~Resumable() = default;
  virtual void run() = 0;
};
std::unique_ptr<Resumable> sets_search(const Rows& rows, Board& board);
std::unique_ptr<Resumable> slack_search(const Rows& rows, Board& board);

void search_sets(const Rows& rows, Board& board);  // slack 0
void search_any(const Rows& rows, Board& board);   // slack above 0, with turns for slack 0 if time is limited
void search(const Given& given, Board& board);     // the method that the settings ask for

}  // namespace proofwood::minimal
