// The best split of one node, with all else fixed: where its rows go has a price per row and target.
#pragma once

#include <vector>

#include "layered.hpp"

namespace proofwood::layered {

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
  u32 rows = 0;
  std::vector<u32> members;   // row of the table
  std::vector<u32> order;     // (columns, rows) places in `members`
  std::vector<int> ranks;     // (columns, rows) rank of the row at that place of the order
  std::vector<u32> place_of;  // by row of the table

  void fill(const Table& table, const std::vector<u32>& chosen);
};

// Prices of the members for each target, row by row, padded to whole vectors.
template <class V>
class Prices {
 public:
  static constexpr u32 kLanes = 16 / sizeof(V);

  void fill(const Local& local, const std::vector<Target<V>>& targets);
  u32 stride() const { return blocks_ * kLanes; }
  u32 targets() const { return targets_; }

  // The split of the members for which `inside` is not 0 (all if null) that costs less than `below`, or as much with
  // some chance if `ties`; the two targets always differ. `least`: each side's weight and its target's is at least
  // that; `room`: extra nodes of both targets together.
  Split<V> best(const Table& table, const Local& local, const char* inside, V below, bool ties, Random& random,
                const std::vector<Target<V>>& list, double least, u32 room);
  // Price of sending all those members to each target, without the fixed part.
  const std::vector<V>& totals(const Local& local, const char* inside);
  const V* row(u32 place) const { return data_.data() + static_cast<std::size_t>(place) * stride(); }

 private:
  template <int Blocks>
  void sweep(const Local& local, u32 column, u32 count, const V* total, const V* fixed, V& bound, bool ties, u32& seen, Random& random,
             Split<V>& found);
  void careful(const Table& table, const Local& local, u32 column, u32 count, const std::vector<Target<V>>& list, double least, u32 room,
               V& bound, Split<V>& found);

  u32 targets_ = 0, blocks_ = 0;
  std::vector<V> data_, total_, fixed_;
  std::vector<u32> chosen_;
  std::vector<int> rank_;
};

extern template class Prices<float>;
extern template class Prices<double>;

}  // namespace proofwood::layered
