// The best split of one node, with all else fixed: where its rows go has a price per row and target.
#pragma once

#include <vector>

#include "diagram/diagram.hpp"

namespace proofwood::diagram {

template <class V>
struct Target {
  int id = 0;                 // slot or ~class
  const V* value = nullptr;   // (rows of the table) price of each row that is sent there
  V fixed = 0;                // price of the nodes that are in use only if this target is
  double weight = kInfinite;  // of the rows that get there anyhow; infinite for terminals
  u32 extra = 0;              // number of nodes that are in use only if this target is
};

template <class V>
struct Split {
  V cost;
  int column = -1, cut = 0, low = 0, high = 0;  // low, high: places in the list of targets
  bool found() const { return column >= 0; }
};

// Some rows of a table with their orders by each column.
struct Local {
  struct Column {
    std::size_t begin = 0;  // of its part of `order` and `ranks`
    u32 count = 0;          // all rows, or in a column with one cut those on the side that is rarer in the table
    bool few = false, few_high = false;
  };
  u32 rows = 0;
  std::vector<u32> members;  // row of the table
  std::vector<Column> columns;
  std::vector<u32> order;     // places in `members`, by rank
  std::vector<int> ranks;     // rank of the row at that place of the order; not for rarer sides
  std::vector<u32> place_of;  // by row of the table

  void fill(const Table& table, const std::vector<u32>& chosen);
};

// Prices of the members for each target, row by row, padded to whole vectors.
template <class V>
class Prices {
 public:
  static constexpr u32 kLanes = 16 / sizeof(V);
  typedef V Lane __attribute__((vector_size(16), aligned(sizeof(V)), may_alias));

  void fill(const Local& local, const std::vector<Target<V>>& targets);
  u32 stride() const { return blocks_ * kLanes; }

  // The split of the members for which `inside` is not 0 (all if null), `count` of them, that costs less than `below`,
  // or as much with some chance if `ties`; the two targets always differ. `total`: price of sending all those members
  // to each target. `least`: each side's weight and its target's is at least that; `room`: extra nodes of both targets
  // together.
  Split<V> best(const Table& table, const Local& local, const char* inside, u32 count, const std::vector<V>& total,
                V below, bool ties, Random& random, const std::vector<Target<V>>& list, double least, u32 room);
  // Price of sending all those members to each target, without the fixed part.
  void totals(const Local& local, const char* inside, std::vector<V>& total) const;
  const V* row(u32 place) const { return data_.data() + static_cast<std::size_t>(place) * stride(); }

 private:
  struct Scan;
  template <int Blocks>
  void sweep(Scan& scan, u32 column, u32 count) const;
  template <int Blocks>
  void one_cut(Scan& scan, u32 column, const u32* order, u32 listed, bool few_high) const;
  template <int Blocks>
  void price(Scan& scan, u32 column, int cut, const Lane* low) const;
  template <int Blocks>
  void scan_columns(Scan& scan);
  void careful(Scan& scan, u32 column, u32 count) const;
  void apart(Scan& scan, u32 column, int cut, const V* low) const;

  u32 targets_ = 0, blocks_ = 0;
  std::vector<V> data_, fixed_;
  std::vector<u32> chosen_;
  std::vector<int> rank_;
};

extern template class Prices<float>;
extern template class Prices<double>;

}  // namespace proofwood::diagram
