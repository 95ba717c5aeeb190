// Descent: each node in turn gets its best split, targets and, if asked, new children.
#pragma once

#include <utility>
#include <vector>

#include "diagram/node.hpp"

namespace proofwood::diagram {

template <class V>
class Descent {
 public:
  Descent(const Table& table, const Skeleton& skeleton, Random& random, const std::atomic<int>& stop);

  // Prices as they are, or each row's multiplied by 0, 1, 2 or 3 at random.
  void price_rows();
  void price_rows_anew();

  // One pass from the last layer to the first. `flow` has routed `shape`; the rows at a node depend only on what is
  // above it and the prices of its targets only on what is below, so both stay right during the pass. New children are
  // tried at a node with chance `deep`. Nodes that are no longer named stay in `shape`.
  void pass(Shape& shape, const Flow& flow, double deep);

  u64 nodes = 0, pairs = 0;

 private:
  using Targets = std::vector<Target<V>>;

  bool running() const { return stop_.load(std::memory_order_relaxed) == 0; }
  // What a node may become: no node at all (`ends`: its rows go to `end`), another split, or what it is.
  struct Choice {
    V cost = 0;
    bool ends = false;
    int end = 0;
    Split<V> split{};
  };
  void optimise(Shape& shape, const Flow& flow, u32 slot, bool deep);
  V cost_now(const Shape& shape, u32 slot, const std::vector<u32>& rows);
  void try_without(const Shape& shape, u32 slot, const std::vector<u32>& rows, const Targets& list, u32 in_use,
                   Choice& choice);
  void try_splits(const Targets& list, V together, u32 room, Choice& choice);
  void try_passing(Shape& shape, u32 slot, const Targets& list, V together, u32 room, Choice& choice);
  void value(const Shape& shape, u32 slot);
  // Nodes in use if `slot` had no arcs.
  u32 reach(const Shape& shape, u32 slot);
  u32 extra(const Shape& shape, int target);
  Targets targets(const Shape& shape, const Flow& flow, u32 slot, u32 layer, bool own);
  double weight_elsewhere(const Shape& shape, const Flow& flow, u32 slot, u32 target) const;
  bool with_children(Shape& shape, const Flow& flow, u32 slot, u32 in_use, V best);

  Node passing(int target);

  struct Side {  // the best that one side of a split can do
    V cost = -1;
    int target = -1;  // place in the list; -1 if a new child is best
    Split<V> child;
  };
  // `near`, `far`: price of sending the `count` rows inside to each target of either list.
  Side side(const char* inside, u32 count, const Targets& list, const Targets& below, const std::vector<V>& near,
            const std::vector<V>& far, u32 room);

  // A node with at most two new children: what they may be made of, and the best found.
  struct Growth {
    u32 room = 0;                 // nodes that may come in addition
    std::vector<u32> free, lent;  // slots of the next layer: not in use, and in use only here
    Targets list, below;          // of the node, and of the children
    // Each side costs about columns * rows (`price`); what is left of the budget decides how many cuts are tried.
    double budget = 3e6, price = 0;
    V best = 0;
    int column = -1, cut = 0;
    Side low, high;
    Node idle;  // used if all rows go to one new child

    bool conflict(const Side& one, const Side& two) const;
    u32 nodes_of(const Side& side) const;
    Node made_of(const Side& side) const;
  };
  struct Cut {
    u32 count;  // rows that go low
    int cut;
  };
  void try_one_child(Growth& growth);
  std::vector<Cut> cuts_of(u32 column) const;
  void grow_column(u32 column, Growth& growth);
  bool write(Shape& shape, u32 slot, Growth& growth);

  const Table& table_;
  const Skeleton& skeleton_;
  Random& random_;
  const std::atomic<int>& stop_;
  std::vector<V> prices_;               // (classes, rows), the least of each row taken off
  std::vector<std::vector<V>> values_;  // by slot: (rows) price of each row that is sent there
  Local local_;
  Prices<V> near_, far_;
  std::vector<V> near_all_, far_all_, near_low_, far_low_, near_high_, far_high_;
  std::vector<char> reached_, more_, inside_, grown_;
  std::vector<u32> stack_, marked_;
};

extern template class Descent<float>;
extern template class Descent<double>;

}  // namespace proofwood::diagram
