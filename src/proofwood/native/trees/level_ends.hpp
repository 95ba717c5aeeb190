// The stumps and leaves below a set of levels, as ends of a hierarchy (docs/theory/optimal-trees.md, "Sets of levels
// above two stumps"). What a node holds of each level is the least weight that one of its ends gets wrong:
//
//   thresholds of a feature with labels p | q   a stretch of positions, parted in its middle
//   sets of another column with labels p | q    a set that is known in part: its next level goes low, or goes high
//   sets of the same column, leaves             one end
//   groups                                      of all of these
//
// Nodes are made when they are opened: a walk over the rows of the stretch finds what its halves hold.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "trees/rows.hpp"

namespace proofwood::trees {

// T: integers that hold the weight of all rows.
template <class T>
class LevelEnds {
 public:
  LevelEnds(const Table& table, const Rows& rows, u32 c, const std::atomic<int>& stop);

  int build();  // the group of all ends; -1 if stopped
  std::pair<int, int> open(int node);

  // Once they take much memory, nodes that were made since a mark may be given back.
  struct Mark {
    std::size_t nodes = 0, values = 0, opened = 0;
  };
  bool full() const { return store_.size() * sizeof(T) > kFull; }
  Mark mark() const { return {nodes_.size(), store_.size(), opened_.size()}; }
  void release(const Mark& mark);

  u32 n_levels() const { return m_; }  // levels of the column that the rows have
  u32 width() const { return width_; }
  const T* least(int node) const { return store_.data() + nodes_[static_cast<std::size_t>(node)].least; }
  int splits(int node) const { return nodes_[static_cast<std::size_t>(node)].splits; }  // least number of any end
  u64 size(int node) const { return nodes_[static_cast<std::size_t>(node)].size; }      // 1: a single end
  // The levels that end `a` gets less wrong of than end `b`, or no more.
  LevelSet cheaper(int a, int b) const;

 private:
  static constexpr std::size_t kFull = std::size_t{1} << 26;  // bytes of what nodes hold
  enum Kind : unsigned char { kGroup, kThresholds, kSets, kEnd };
  struct Node {
    Kind kind;
    int splits;
    u64 size;
    std::size_t least;
    std::size_t start = 0;              // kThresholds: weight wrong per level at position `from`
    u32 feature = 0, from = 0, to = 0;  // boundaries; kSets: source and number of levels that are known
    u16 low_label = 0, high_label = 0;
    int children[2] = {-1, -1};
  };
  struct LocalRow {
    T weight;
    unsigned char level, label;
  };
  // Sets of another column with a pair of labels: per level of it that is open, what the rows of each level of ours
  // get wrong with either label.
  struct SetSource {
    u32 open;
    std::vector<T> low, high;  // (open, width)
  };

  std::size_t room() {
    const std::size_t at = store_.size();
    store_.resize(at + width_);
    return at;
  }
  T* at(std::size_t offset) { return store_.data() + offset; }
  int add(const Node& node) {
    nodes_.push_back(node);
    return static_cast<int>(nodes_.size()) - 1;
  }
  std::size_t wrong_with(u32 label);  // weight of the other classes per level
  bool add_thresholds(std::vector<int>& tops);
  void add_feature(u32 feature, u32 a, u32 b, std::vector<int>& tops);
  void add_single_ends(std::vector<int>& tops);
  void add_sets(u32 column, std::vector<int>& tops);
  void add_set_source(const std::vector<T>& cells, u32 n_others, u32 a, u32 b, std::vector<int>& tops);
  int group(const std::vector<int>& tops, std::size_t first, std::size_t last);
  void open_thresholds(int node);
  void open_sets(int node);
  template <class Note>
  void walk(u32 feature, u32 from, u32 to, T* now, const Note& note) const;

  const Table& table_;
  const Rows& rows_;
  const u32 c_;
  const std::atomic<int>& stop_;
  u32 m_ = 0, width_ = 0;
  std::vector<unsigned char> level_;  // per level present: its number in the column
  std::vector<u32> labels_;           // classes present
  std::vector<LocalRow> local_;
  std::vector<T> total_;  // (n_labels present, width): weight of a class per level
  std::vector<T> sign_;   // per class: what a row that goes low adds to what is wrong, times its weight
  std::vector<T> store_;
  std::vector<Node> nodes_;
  std::vector<int> opened_;  // nodes, in the order in which they were opened
  std::vector<SetSource> sources_;
};

extern template class LevelEnds<std::int32_t>;
extern template class LevelEnds<i64>;

}  // namespace proofwood::trees
