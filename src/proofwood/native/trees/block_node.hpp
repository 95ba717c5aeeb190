// Lower bounds by blocks of rows (docs/theory/optimal-trees.md, "Blocks").
//
// Rows sorted by a feature are cut at edges; pieces are stretches between edges, and each has a bound of what trees of
// one level less cost on it. A threshold in the slab between two neighbouring edges leaves all pieces before it on its
// low side and all after it on its high side:
//
//   edges      0        e1        e2        e3        n
//   pieces     [  7  ]  [   5   ] [    4   ][    9   ]
//              [       15       ]                             joined: more than 7 + 5
//   slab                          ^ t somewhere here: cost >= 15 + 9 + price of a split
#pragma once

#include <memory>
#include <vector>

#include "trees/interval_queue.hpp"
#include "trees/rows.hpp"
#include "trees/settings.hpp"

namespace proofwood::trees {

struct BlockNode;

// Rows at positions first..last of a feature, for trees of one level less than the node has.
struct Piece {
  u32 first, last;
  i64 value = 0;                      // bound
  i64 leaf = 0;                       // what a leaf costs
  i64 upper = 0;                      // what the best tree found costs, at depth two
  u64 spent = 0;                      // work
  double fade = 1.0;                  // how well work paid so far
  bool done = false;                  // work cannot raise the bound
  std::unique_ptr<BlockNode> node{};  // of three levels or more
};

// Where the bound of a feature is weakest.
struct Weakest {
  i64 bound = 0;          // of the cost of both sides
  bool slab = false;      // between `low` and `high`, which otherwise are one edge
  bool cross = false;     // the bound takes the distance off
  u32 low = 0, high = 0;  // edges: what is surely on the low side ends, what is surely on the high side begins
};

// One feature at a node.
struct Blocks {
  std::vector<u32> edges;
  std::vector<i64> weight;           // cost of all rows before each edge
  std::vector<unsigned char> empty;  // slabs without a threshold
  std::vector<Piece> pieces;
  std::vector<i64> before, after;        // best chain of pieces before and after each edge
  std::vector<int> before_by, after_by;  // its piece next to the edge; -1: none
  Weakest weakest;
  std::vector<u32> level_of;  // of a column tested by sets: the level of each piece, which are all there is

  // A column tested by sets: the rows of each level are a piece, on one side of every test. `rows_of`: per level.
  void begin_levels(const std::vector<u32>& rows_of);
  void leave_out();  // a column whose sets are no tests here
  bool of_levels() const { return !level_of.empty(); }
  void begin(const Table& table, Rows& rows, u32 feature, const Prices& prices, u32 count);
  bool begun() const { return !edges.empty(); }
  u32 edge_of(u32 position) const;
  void add_edge(const Table& table, Rows& rows, u32 feature, const Prices& prices, u32 position);
  int find(u32 first, u32 last) const;  // piece; -1: none
  void update();                        // after any change
  // Pieces of the best chains of the weakest place, ascending; `turn`: number of those on the low side.
  void chains(std::vector<int>& pieces_of, std::size_t& turn) const;
  i64 slab_bound(u32 slab) const;
  i64 edge_bound(u32 edge) const { return before[edge] + after[edge]; }
  // What all of this says of each threshold, with the price of a split.
  std::vector<Floor> floors(i64 price, i64 least) const;

 private:
  void mark_empty(const Rows& rows, u32 feature);
};

struct BlockNode {
  int depth = 0;
  i64 price = 0;  // of a split, the share of these rows
  i64 leaf = 0;
  i64 value = 0;         // bound
  i64 base = kInfinite;  // of trees of two levels, where some columns are tested by sets in these only
  u64 spent = 0;
  bool done = false;
  std::vector<Blocks> features;  // and columns tested by sets, after them
};

}  // namespace proofwood::trees
