// Least errors of trees whose nodes may have only so many children that are nodes, layer by layer: they bound the
// errors of diagrams.
//
// Theory: docs/theory/layered-diagrams.md, "Univariate: layers".
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "diagram/row_parts.hpp"

namespace proofwood::diagram::layers {

// Bounds by sets and by trees know of a skeleton only how many layers it has; caps know how wide they are:
// decisions/0032-layers-and-caps.
//
// Caps say how many children that are nodes a node of a layer may have: one or two for some layers, then none. Number 0
// permits none; numbers 2 j + 1 and 2 j + 2 permit one and two, and below that what number j permits.
inline std::size_t caps_of(u32 layers) { return (std::size_t{2} << layers) - 1; }  // of at most so many
inline std::size_t caps_below(std::size_t number) { return (number - 1) / 2; }
inline u32 first_cap(std::size_t number) { return number % 2 == 1 ? 1 : 2; }

using Errors = std::vector<i32>;  // by number of caps
constexpr i32 kNoLimit = i32{1} << 29;

// What the caps permit, each by its number.
struct CapTable {
  std::vector<i64> nodes;            // sum of the caps
  std::vector<std::size_t> shorter;  // without the last one

  explicit CapTable(u32 layers);
};

// Errors by sets of rows, for caps of one number of layers.
class ErrorCache {
 public:
  explicit ErrorCache(u32 layers) : step_(caps_of(layers)) {}
  // Copies what is known to `out` if it was counted for `budget` or more: then it may be more exact than asked for.
  bool find(Key key, i64 budget, Errors& out) const;
  void keep(Key key, i64 budget, const Errors& errors);

 private:
  std::size_t place(Key key) const;
  void grow();

  std::size_t step_, size_ = 0;
  std::vector<Key> keys_;  // open addressing; {0, 0} is empty
  std::vector<i64> budgets_;
  std::vector<i32> errors_;
};

class CappedTrees {
 public:
  // `layers`: most caps that are asked for; `error_price`, `node_price`: say which errors matter.
  CappedTrees(const Groups& groups, u32 layers, i64 error_price, i64 node_price, bool ranges,
              const std::atomic<int>& stop);

  Counter& counter() { return counter_; }
  const CapTable& caps() const { return caps_; }
  u64 counted() const { return counted_; }

  // Least errors of trees over `part`, for all caps of at most `layers` layers: exact where errors and the nodes that
  // the caps permit cost at most `budget`, elsewhere no more than the truth. What was asked before changes nothing.
  void errors(const Part& part, u32 layers, i64 budget, Errors& out);

  // Goes through the cuts of `part` for trees of at most `layers` caps. `worth` is given lower bounds of the errors, by
  // caps, of one cut or of several; `visit` a cut and its errors, if these are worth it. `uncut`: lower bounds of the
  // errors of the part itself, by caps of one layer less or more.
  template <class Worth, class Visit>
  void scan(const Part& part, u32 layers, i64 budget, const Errors& uncut, const Worth& worth, const Visit& visit);

  // Errors of a cut from those of its sides.
  static void join(i32 leaf_low, const Errors& low, i32 leaf_high, const Errors& high, Errors& out);

 private:
  struct Side {
    i32 leaf_low = 0, leaf_high = 0, weight_low = 0;
    Errors low, high;
  };
  struct Range {  // of cuts of one column, between two that were counted
    u32 first, end;
    std::size_t left, right;
  };
  struct Level {  // what a scan works on; scans are nested
    Sorted sorted;
    std::vector<Side> sides;
    std::vector<Range> ranges;
    Errors low, high, bound;
  };
  struct TwoLevels {
    Cut cut;
    i32 split_low, split_high;  // errors of its sides with a split
  };
  struct Listed {
    Key key;
    std::vector<TwoLevels> cuts;
  };
  struct Closing {  // of a level, however its scan ends
    std::size_t& depth;
    ~Closing() { --depth; }
  };
  void deepen(const Part& part, u32 layers, i64 budget, Errors& out);
  i32 beyond(std::size_t number, i64 budget) const;  // the least errors that cost more than `budget`
  const Listed& listed(const Part& part);
  Level& open_level();
  void open_ranges(const Part& part, u32 layers, const Errors& uncut, Level& level);
  void two_layers(const Part& part, Errors& out);
  void bound_range(Level& level, const Range& range, u32 layers) const;  // into level.bound, as the next does
  u32 count_middle(const Part& part, u32 layers, i64 budget, Level& level, const Range& range);

  Counter counter_;
  CapTable caps_;
  i64 error_price_, node_price_;
  bool ranges_;
  u64 counted_ = 0;
  std::vector<ErrorCache> caches_;  // by layers
  std::vector<std::unique_ptr<Level>> levels_;
  std::size_t depth_ = 0;
  std::vector<Listed> listed_;  // each part has one place, by its key
};

template <class Worth, class Visit>
void CappedTrees::scan(const Part& part, u32 layers, i64 budget, const Errors& uncut, const Worth& worth,
                       const Visit& visit) {
  Level& level = open_level();
  const Closing closing{depth_};
  Errors& bound = level.bound;
  bound.resize(caps_of(layers));
  if (layers == 1) {
    for (const auto& [cut, split_low, split_high] : listed(part).cuts) {
      bound[0] = cut.leaf_low + cut.leaf_high;
      bound[1] = std::min(split_low + cut.leaf_high, cut.leaf_low + split_high);
      bound[2] = split_low + split_high;
      if (worth(bound)) visit(cut, bound);
    }
    return;
  }
  Sorted& sorted = level.sorted;
  counter_.sort(part, sorted);
  if (layers == 0) {
    for (const Cut& cut : sorted.cuts) {
      bound[0] = cut.leaf_low + cut.leaf_high;
      if (worth(bound)) visit(cut, bound);
    }
    return;
  }
  open_ranges(part, layers, uncut, level);
  for (std::size_t next = 0; next < level.ranges.size(); ++next) {
    counter_.look();
    const Range range = level.ranges[next];
    bound_range(level, range, layers);
    if (!worth(bound)) continue;
    const Cut& cut = sorted.cuts[count_middle(part, layers, budget, level, range)];
    if (worth(bound)) visit(cut, bound);
  }
}

}  // namespace proofwood::diagram::layers
