// What one thread of the subset search works with.
#pragma once

#include <chrono>
#include <functional>

#include "bdd/subset_search.hpp"

namespace proofwood::bdd {

// The children of the root, which the threads take one after the other.
struct Search::RootChildren {
  const Node& root;
  bool cuts;               // whether cuts of a column bound each other
  std::vector<i64> below;  // weight up to each place of a cut
  // By place of the cut: the first child whose bound rules it out. Only earlier children count, for they have seen
  // every set that a later one can still become.
  std::vector<std::size_t> ruled_out;
  std::chrono::steady_clock::time_point noted;
};

// The candidates' columns over the rows of the impure cells, a class of a cell starting at a word of its own.
struct CellMatrix {
  u32 stride = 0;
  std::vector<u64> data;
  std::vector<std::uint8_t> shift;
  std::vector<ClassBlock> blocks;
  std::vector<CellBlock> cells;
  std::vector<i64> ones;  // (blocks, stride)
};

struct Pairs {  // the best pair (or single test) found, by slot
  i64 error;
  u32 first, second;
};

struct Search::Worker {
  explicit Worker(Search& given);

  // ---- nodes (subset_node.cpp)
  void start(Node& root) const;
  // The same with the tests that every set has, and the candidates that are left.
  void begin(Node& root) const;
  // The child that adds `test`; chosen, cells and left only.
  void refine(const Node& parent, u32 test, Node& child) const;
  // A bound on the error of every set below; children are ready to be visited if it is below upper().
  i64 expand(Node& node);
  i64 bound_by_matching(Node& node);
  bool another_matching_pays(const Node& node) const;
  i64 bound_by_reweighting(Node& node);
  void cover_nothing(Node& node) const;
  void eliminate(Node& node);
  void eliminate_by_overlap(Node& node);
  void count_shared(Node& node);
  i64 bound_children(Node& node, i64 bound);
  i64 bound_rank_children(Node& node, i64 bound);
  // Candidates of child `slot` of an expanded node; false if nothing below it can be better.
  bool descend(const Node& node, u32 slot, Node& child);
  i64 visit(Node& node, u32 depth);
  i64 visit_children(Node& node, u32 depth);
  i64 collect_all(const Node& node, const std::vector<u32>& tests, std::size_t from, u32 left, Set& chosen);
  void found(i64 error, Set chosen);
  bool differ_at_most(const Node& node, u32 test, u32 other, i64 most) const;
  struct Finished {  // a child with a bound of at least upper()
    u32 test;
    i64 bound;
  };
  bool pruned_by_similarity(const Node& node, u32 test, const std::vector<Finished>& finished) const;
  static void remember(std::vector<Finished>& finished, const Finished& one);

  // ---- bounds (subset_bounds.cpp)
  void place(const Node& node);
  void match(Node& node, const std::vector<Edge>& edges);
  void rematch(Node& node);
  void match_rest(Node& node);
  void pair(Node& node, u32 a, u32 b);
  void pack_matches(Node& node);
  i64 choose_prefix(Node& node);
  void reweight(Node& node);
  void keep(Node& node, const std::vector<u32>& slots);

  // ---- columns of many cuts (ranks.cpp)
  i64 rank_cover(Node& node);
  void place_slots(const Node& node);
  template <class Wanted, class See>
  void walk_cuts(const Node& node, const Wanted& wanted, const See& see);
  void rank_errors(const Node& node, std::vector<i64>& errors);
  std::pair<i64, u32> best_cut(const Node& node, const Set& set);
  i64 rank_leaf(Node& node);
  void weigh_ranks(const Node& node, std::vector<i64>& below) const;

  // ---- the last two levels (last_tests.cpp)
  i64 leaf(Node& node);
  struct Leaf;
  bool leaf_matching_pays(const Node& node, std::size_t n_tests) const;
  void eliminate_at_leaf(Node& node, Leaf& leaf);
  static void sort_by_cover(Leaf& leaf);
  i64 count_leaf(const Node& node, const Leaf& leaf);
  void pack_cells(const Node& node, const std::vector<u32>& tests);
  i64 single_error(u32 slot) const;
  std::pair<i64, u32> best_single(const Node& node, const Set& set);
  Pairs best_pair(const Node& node, const std::vector<u32>& tests, i64 limit);

  // ---- the first set (first_set.cpp)
  void greedy();
  void grow(Set set);
  void complete_starts();
  Set random_set(Set set, u32 size);
  void improve(Set& set, i64& error);
  i64 refine_all(const Set& set, Node& node);

  // Transposes up to 64 rows: word (s) of `out` gets the bits of slot s. `row(i, w)` is word w of row i.
  template <class Row>
  void transpose(u32 rows, const Row& row, u64* out);
  void prepare_slots(const std::vector<u32>& tests);

  Search& search;
  const Table& table;
  const SubsetKernels& kernels;
  const Rules& rules;
  std::vector<Node> nodes;  // one per depth
  std::size_t task = 0;
  std::vector<i64> counters;
  CellMatrix cells;

 private:
  std::vector<u32> slot_order_, word_begin_;  // slots by the word their test is in
  std::vector<u32> place_;                    // (groups,) stamp + cell of the group
  std::vector<i64> residual_;
  u32 stamp_ = 0, base_ = 0;
  u64 random_ = 88172645463325252u;
  std::vector<i64> line_, cost_;
  std::vector<u64> scratch_;
  std::vector<i64> raw_;                    // per place of a cut
  std::vector<u32> slot_, spot_;            // (groups,) cell and class in one number, and the cell
  std::vector<u32> first_item_, by_group_;  // items of each group
  std::vector<i64> whole_;                  // weight of each class in each cell
};

// The r largest of n values, added up; `largest` gets them in descending order.
i64 top_sum(const i64* values, std::size_t n, u32 r, std::vector<i64>& largest);

template <class Row>
void Search::Worker::transpose(u32 rows, const Row& row, u64* out) {
  u64 square[64];
  for (u32 w = 0; w < table.words; ++w) {
    const u32 begin = word_begin_[w], end = word_begin_[w + 1];
    if (begin == end) continue;
    for (u32 i = 0; i < rows; ++i) square[i] = row(i, w);
    for (u32 i = rows; i < 64; ++i) square[i] = 0;
    kernels.transpose(square);
    for (u32 k = begin; k < end; ++k) out[slot_order_[k] >> 6] = square[slot_order_[k] & 63];
  }
}

}  // namespace proofwood::bdd
