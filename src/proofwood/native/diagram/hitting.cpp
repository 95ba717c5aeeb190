// Least weight of elements that hit every set: a depth-first search with the packing of the sets as its bound.
//
// Theory: docs/theory/layered-diagrams.md, "Oblique splits" (Florio, Martins, Schiffer, Serra, Vidal, AAAI 2023, ODD).
#include "diagram/hitting.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace proofwood::diagram::hitting {

namespace {

enum class Mark : char { kFree, kIn, kOut };

class Search {
 public:
  Search(const std::vector<std::vector<u32>>& sets, const std::vector<i64>& weights, i64 upper,
         const std::atomic<int>& stop)
      : sets_(sets),
        weights_(weights),
        stop_(stop),
        upper_(upper),
        mark_(weights.size(), Mark::kFree),
        left_(weights.size()) {}

  Answer run() {
    descend(0);
    return {best_, upper_, !stopped_};
  }

 private:
  bool stopped() {
    if ((++count_ & 63) == 0 && stop_.load(std::memory_order_relaxed) != 0) stopped_ = true;
    return stopped_;
  }

  bool hit(const std::vector<u32>& set) const {
    return std::any_of(set.begin(), set.end(), [&](u32 e) { return mark_[e] == Mark::kIn; });
  }

  // A packing: each set that is not hit takes what all of its free elements have left. Every hitting set pays for all
  // that is taken, and for a chosen element what it has left besides. Sets are looked at by number of free elements.
  // Returns the sum; `least` is the set with the fewest free elements, null if all sets are hit. A set without free
  // elements gives the greatest sum.
  i64 pack(const std::vector<u32>*& least) {
    for (std::size_t e = 0; e < weights_.size(); ++e) left_[e] = weights_[e];
    open_.clear();
    for (const auto& set : sets_) {
      if (hit(set)) continue;
      const auto free = std::count_if(set.begin(), set.end(), [&](u32 e) { return mark_[e] == Mark::kFree; });
      if (free == 0) return std::numeric_limits<i64>::max();
      open_.emplace_back(free, &set);
    }
    std::stable_sort(open_.begin(), open_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    least = open_.empty() ? nullptr : open_.front().second;
    i64 sum = 0;
    for (const auto& [free, set] : open_) {
      i64 taken = std::numeric_limits<i64>::max();
      for (const u32 e : *set)
        if (mark_[e] == Mark::kFree) taken = std::min(taken, left_[e]);
      for (const u32 e : *set)
        if (mark_[e] == Mark::kFree) left_[e] -= taken;
      sum += taken;
    }
    return sum;
  }

  // Elements chosen so far weigh `spent`, less than upper_.
  void descend(i64 spent) {
    if (stopped()) return;
    const std::vector<u32>* least = nullptr;
    const i64 bound = pack(least);
    if (bound >= upper_ - spent) return;
    if (least == nullptr) {
      upper_ = spent;
      best_.clear();
      for (u32 e = 0; e < mark_.size(); ++e)
        if (mark_[e] == Mark::kIn) best_.push_back(e);
      return;
    }
    std::vector<u32> left_out;
    const i64 room = upper_ - spent - bound;  // an element with as much left beside the packing is in nothing cheaper
    for (u32 e = 0; e < mark_.size(); ++e)
      if (mark_[e] == Mark::kFree && left_[e] >= room) left_out.push_back(e);
    for (const u32 e : left_out) mark_[e] = Mark::kOut;
    std::vector<u32> ways;
    for (const u32 e : *least)
      if (mark_[e] == Mark::kFree) ways.push_back(e);
    std::vector<std::size_t> hits(ways.size(), 0);
    for (const auto& [free, set] : open_)
      for (std::size_t w = 0; w < ways.size(); ++w)
        hits[w] += static_cast<std::size_t>(std::count(set->begin(), set->end(), ways[w]));
    std::vector<std::size_t> order(ways.size());
    for (std::size_t w = 0; w < order.size(); ++w) order[w] = w;
    const auto rank = [&](std::size_t w) {
      return static_cast<double>(hits[w]) / static_cast<double>(weights_[ways[w]]);
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rank(a) > rank(b); });
    for (const std::size_t w : order) {
      const u32 e = ways[w];
      if (weights_[e] < upper_ - spent) {
        mark_[e] = Mark::kIn;
        descend(spent + weights_[e]);
      }
      mark_[e] = Mark::kOut;  // from here on the others are asked without it
      left_out.push_back(e);
      if (stopped_) break;
    }
    for (const u32 e : left_out) mark_[e] = Mark::kFree;
  }

  const std::vector<std::vector<u32>>& sets_;
  const std::vector<i64>& weights_;
  const std::atomic<int>& stop_;
  i64 upper_;
  std::vector<Mark> mark_;
  std::vector<i64> left_;
  std::vector<std::pair<std::ptrdiff_t, const std::vector<u32>*>> open_;
  std::vector<u32> best_;
  unsigned count_ = 0;
  bool stopped_ = false;
};

}  // namespace

Answer cheapest(const std::vector<std::vector<u32>>& sets, const std::vector<i64>& weights, i64 upper,
                const std::atomic<int>& stop) {
  return Search(sets, weights, upper, stop).run();
}

}  // namespace proofwood::diagram::hitting
