// A set of trees as what its trees are made of (docs/theory/near-optimal-trees.md, "The stored set").
//
//   root cut    low: trees of depth two per cost    high: the same    trees: pairs whose costs leave both in the budget
//   edge        low: a leaf, stumps per cost        high: the same    the root of a tree of depth two and its sides
#pragma once

#include <array>
#include <map>
#include <stdexcept>
#include <vector>

#include "common/wide.hpp"
#include "trees/settings.hpp"

namespace proofwood::trees::near {

using Count = u128;

inline Count checked_sum(Count a, Count b) {
  if (a + b < a) throw std::overflow_error("more than 2**128 trees are within the slack: take a smaller slack");
  return a + b;
}
inline Count checked_product(Count a, Count b) {
  if (a != 0 && b > ~Count{0} / a)
    throw std::overflow_error("more than 2**128 trees are within the slack: take a smaller slack");
  return a * b;
}

// Trees of each cost, ascending.
struct CostCount {
  i64 cost;
  Count count;
};
using Tally = std::vector<CostCount>;
Count trees_of(const Tally& tally, i64 cost);

// Adds up trees per cost. Costs are at most `most`; an array has those from `least` on, if no more than kDense.
class Adder {
 public:
  static constexpr i64 kDense = 4096;
  void begin(i64 least, i64 most);
  void add(i64 cost, Count count) {
    Count& sum = dense_.empty() || cost < least_ ? sparse_[cost] : dense_[static_cast<std::size_t>(cost - least_)];
    sum = checked_sum(sum, count);
  }
  Tally finish();

 private:
  i64 least_ = 0;
  std::vector<Count> dense_;
  std::map<i64, Count> sparse_;
};

// A root of trees of depth two, or of one: its sides are leaves and stumps.
struct Edge {
  u32 feature, position;
  std::array<i64, 2> leaf;   // what a leaf costs on either side
  std::array<u32, 2> at, n;  // in EdgeTrees::parts: trees per cost of either side, a leaf before stumps of its cost
  bool dull;                 // two leaves get no row more right than one: this pair is no tree
  bool repeated;             // another view of the column has this split: no tree is counted for it
};

struct Part {
  i64 cost;
  u32 count;
};

// Trees of depth two of a set of rows.
struct EdgeTrees {
  Tally tally;
  i64 leaf = kInfinite;  // what the tree that is a leaf costs, if it is one of them
  bool kept = true;      // whether `edges` are here; they are made again where memory is short
  std::vector<Edge> edges;
  std::vector<Part> parts;

  std::size_t bytes() const { return edges.size() * sizeof(Edge) + parts.size() * sizeof(Part); }
  Count count(const Edge& edge, i64 cost, i64 price) const;  // trees of this cost and root
  void forget_edges() {
    decltype(edges)().swap(edges);
    decltype(parts)().swap(parts);
    kept = false;
  }
};

// A root of trees of depth three.
struct RootCut {
  u32 feature, position;
  std::array<i64, 2> budget;  // of either side
  std::array<i64, 2> leaf;
  std::array<EdgeTrees, 2> sides;
  bool dull, repeated;

  Count count(i64 cost, i64 price) const;
};

}  // namespace proofwood::trees::near
