// Boxes of leaves, and when two leaves break the order of classes (docs/theory/optimal-trees.md, "Monotone columns").
//
//   box of a leaf     from <= rank < until, per feature
//   direction  1      the class must not fall as the column rises
//   direction -1      it must not rise
//   direction  0      free: only rows of equal values are compared
//
// A leaf of class one and a leaf of class zero clash if a row of the first can lie at or below a row of the second.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "common/integers.hpp"

namespace proofwood::trees::monotone {

struct Range {
  u32 from, until;
};
using Box = std::vector<Range>;  // per feature

struct Leaf {
  Box box;
  bool one;
};

class Order {
 public:
  explicit Order(std::vector<int> directions) : directions_(std::move(directions)) {}

  int direction(u32 feature) const { return directions_[feature]; }

  // Whether, as far as this feature tells, a row of class one may lie at or below one of class zero.
  bool touches(const Range& one, const Range& zero, u32 feature) const {
    const int direction = directions_[feature];
    if (direction == 0) return std::max(one.from, zero.from) < std::min(one.until, zero.until);
    return direction > 0 ? one.from < zero.until : zero.from < one.until;
  }
  bool clash(const Box& a, bool a_is_one, const Box& b) const {  // leaves of different classes
    const Box &one = a_is_one ? a : b, &zero = a_is_one ? b : a;
    for (u32 f = 0; f < directions_.size(); ++f)
      if (!touches(one[f], zero[f], f)) return false;
    return true;
  }
  bool fits(const Box& box, bool one, const std::vector<Leaf>& leaves) const {
    return std::none_of(leaves.begin(), leaves.end(),
                        [&](const Leaf& leaf) { return leaf.one != one && clash(box, one, leaf.box); });
  }

  // Whether what `leaf` forbids the rows beside it, `other` forbids too: rows above leaves of class one, rows below
  // leaves of class zero. The ranges of `except` do not count.
  bool forbids_less(const Leaf& leaf, const Leaf& other, u32 except) const {
    for (u32 f = 0; f < directions_.size(); ++f) {
      if (f == except) continue;
      const Range &a = leaf.box[f], &b = other.box[f];
      const bool upwards = (directions_[f] > 0) == leaf.one;
      if ((directions_[f] == 0 || upwards) && b.from > a.from) return false;
      if ((directions_[f] == 0 || !upwards) && b.until < a.until) return false;
    }
    return true;
  }

 private:
  std::vector<int> directions_;  // per feature
};

}  // namespace proofwood::trees::monotone
