// The smallest tree that predicts what an ensemble predicts, everywhere: dynamic programming over boxes of cells, with
// branch and bound.
//
// Theory: docs/theory/explanations.md, "A tree that equals the ensemble" (Vidal, Schiffer 2020).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "born_again/restrictions.hpp"
#include "common/run.hpp"
#include "common/watch.hpp"

namespace proofwood::born_again {

// A box is known by the leaves that it leaves over; `depth` is what a tree of it may have.
class Search {
 public:
  struct Rules {
    bool fewest_depth = false;  // least depth first, and among these trees fewest leaves
    int max_depth = -1;         // -1: any
    bool monotone = true;       // bounds of a part of a box hold for the box
    bool greedy = true;         // begin with a greedy tree
  };
  using Run = BoundedRun<char>;
  // The class that the model itself gives to a row of cells, where rounding may decide.
  using Ask = std::function<int(const std::vector<int>& cells)>;

  Search(const Restrictions& left, Rules rules, Ask ask);

  static constexpr int kInfinite = 1 << 29;
  // True if the search came to its end. Both runs hear of what is found: of depth only if that counts.
  bool run(Watch& watch, Run& depth, Run& leaves);

  struct Tree {
    std::vector<int> variable, low, high, label;  // of a leaf, variable is -1; children come after their parents
  };
  Tree tree() const;  // the best found; without nodes if there is none
  i64 n_boxes() const { return static_cast<i64>(boxes_.size()); }
  i64 n_expanded() const { return expanded_; }

 private:
  struct Split {
    int variable;
    int low = -1, high = -1;  // boxes, made when they are needed
    int size;                 // what both leave over
  };
  struct Box {
    int parent;
    int label = kUnjudged;
    std::vector<Split> splits;                 // by variable
    std::vector<std::pair<int, int>> columns;  // ranges of `splits`, the most promising one first
    bool open = false;                         // `splits` are made
  };
  // What is known about trees of a box of at most some depth.
  struct Known {
    int lower = 1, upper = kInfinite;
    int split = -1;  // of the best tree
  };
  static constexpr int kUnjudged = -4, kMixed = -5;

  const u64* set(int box) const { return &sets_[static_cast<std::size_t>(box) * left_.words()]; }
  int box_of(const u64* set, int parent);
  int side(int box, std::size_t split, bool high);
  int judge(int box);
  void open(int box);
  Known& known(int box, int depth);
  int lower(int box, int depth);
  Known& known_depth(int box);

  int greedy(int box, int depth);
  struct Sides {
    int low = 1, high = 1;
  };
  bool weigh(int box, int depth, int split, Sides& sides, int& best);
  bool column_of_leaves(int box, int depth, std::pair<int, int> column, int& best);
  int fewest(int box, int depth, int limit);
  int shallowest(int box, int limit);
  bool column_of_depth(int box, std::pair<int, int> column, int limit);
  int adopt(int box, int depth);
  int bound(int box, int depth, int levels);
  int append(Tree& tree, int box, int depth) const;

  struct Hash {
    const Search* search;
    std::size_t operator()(int box) const;
  };
  struct Same {
    const Search* search;
    bool operator()(int a, int b) const;
  };

  const Restrictions& left_;
  Rules rules_;
  Ask ask_;
  Watch* watch_ = nullptr;
  Run* leaves_ = nullptr;
  int root_depth_ = -1;
  std::vector<u64> sets_;
  std::vector<Box> boxes_;
  std::unordered_set<int, Hash, Same> index_;
  std::vector<std::vector<Known>> known_;  // per depth, the first of any depth
  std::vector<Known> known_depth_;
  std::vector<u64> part_;
  i64 expanded_ = 0;
};

}  // namespace proofwood::born_again
