// Trees of the set by their number in the order of cost (docs/theory/near-optimal-trees.md, "Numbers of trees").
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "trees/near/near_search.hpp"

namespace proofwood::trees::near {

// The tests of a tree of depth three: node i has the nodes 2 i + 1 and 2 i + 2 below it.
constexpr std::size_t kNodes = 7;
constexpr u32 kLeaf = ~0u;
struct NodeTest {
  u32 feature = kLeaf;
  u32 below = 0, above = 0;  // ranks of the two values at the node that the test separates
};
using TreeTests = std::array<NodeTest, kNodes>;

// A number for what a tree predicts on the rows of the table: the same for the same predictions.
u64 print_of(const NearSearch& search, const TreeTests& tests);

// Trees of depth two of one set of rows.
class OpenTrees {
 public:
  OpenTrees(NearSearch& search, const std::atomic<int>& stop);
  bool begin(Rows& rows, i64 budget, const EdgeTrees& trees);  // false if stopped
  bool read(i64 cost, Count number, TreeTests& tests, std::size_t node);

 private:
  struct Stump {
    i64 cost;
    u32 feature, position;
  };
  using Stumps = std::array<std::vector<Stump>, 2>;  // of both sides of an edge, by cost
  const Stumps* stumps_of(std::size_t edge);         // null if stopped
  bool read_edge(std::size_t edge, i64 cost, Count number, TreeTests& tests, std::size_t node);
  void read_side(const Edge& edge, std::size_t side, i64 cost, Count number, const Stumps& stumps, TreeTests& tests,
                 std::size_t node);
  NodeTest test_of(const Stump& stump, const Edge& edge, std::size_t side);

  NearSearch& search_;
  StumpFinder finder_;
  Rows* rows_ = nullptr;
  const EdgeTrees* trees_ = nullptr;
  EdgeTrees made_;
  bool begun_ = false;                                 // the finder
  std::unordered_map<i64, std::vector<Count>> until_;  // per cost: trees up to each edge
  std::unordered_map<std::size_t, Stumps> stumps_;
  std::size_t held_ = 0;  // stumps
};

class TreeReader {
 public:
  TreeReader(NearSearch& search, const std::atomic<int>& stop);
  Count size() const { return size_; }
  bool read(Count number, TreeTests& tests);  // false if stopped

 private:
  bool read_cut(const RootCut& cut, i64 cost, Count number, TreeTests& tests);
  bool open(std::size_t cut);

  NearSearch& search_;
  const std::atomic<int>& stop_;
  Count size_ = 0;
  i64 level_ = -1;            // cost of `until_`
  std::vector<Count> until_;  // trees of that cost up to each root
  std::size_t open_ = ~std::size_t{0};
  Rows sides_[2];
  Buffer<u32> scratch_;
  OpenTrees low_, high_;
};

}  // namespace proofwood::trees::near
