// Decision diagrams of a given skeleton, univariate: construction and local search.
//
// Rows that no test tells apart are one. Prices, weights and costs are integers held as doubles, which is exact below
// 2^53; whoever calls sees to it that all prices together stay below that.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/integers.hpp"

namespace proofwood::diagram {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

class Random {  // SplitMix64
 public:
  explicit Random(u64 seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du) {}
  u64 next() {
    u64 x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  u32 below(std::size_t n) { return static_cast<u32>((static_cast<u64>(static_cast<u32>(next())) * n) >> 32); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  u64 state_;
};

struct Fairness {  // the sum of `coefficients` over the rows predicted `positive` is at least `least`
  u32 positive = 0;
  double least = 0;
  std::vector<double> coefficients;  // (rows)
};

// A row is a group of equal rows here, with prices and weights by class. Cut c of a column sends rows of rank <= c low.
// Cuts -1 and the highest rank send all rows one way; they have a test number only if the data given has such a test.
struct Table {
  u32 rows = 0, columns = 0, classes = 0;
  std::vector<int> ranks;       // (columns, rows), without gaps
  std::vector<u32> orders;      // (columns, rows) rows by rank
  std::vector<int> cuts;        // (columns) highest rank
  std::vector<double> prices;   // (classes, rows)
  std::vector<double> weights;  // (classes, rows)
  std::vector<double> weight;   // (rows)
  std::vector<Fairness> rates;
  std::vector<std::vector<i64>> tests;  // of each column, by cut + 1; -1 where there is none
  std::vector<std::vector<int>> given;  // of each column, by rank: the rank that was given
  // Of columns with one cut: the rows on the side with fewer, and whether that is the high side.
  std::vector<std::vector<u32>> few;
  std::vector<char> few_high;

  const int* column(int j) const { return ranks.data() + static_cast<std::size_t>(j) * rows; }
  const u32* order(int j) const { return orders.data() + static_cast<std::size_t>(j) * rows; }
  const double* price(u32 code) const { return prices.data() + static_cast<std::size_t>(code) * rows; }
  const double* class_weights(u32 code) const { return weights.data() + static_cast<std::size_t>(code) * rows; }
};

// `ranks` (n, columns); `tests_of` (columns); `prices` and `weights` (n, classes); `coefficients` (rates, n).
// Raised by make_table where `stop` was set before the table was complete.
struct Unfinished {};

Table make_table(const std::int32_t* ranks, std::size_t n, std::size_t columns, const std::int32_t* tests_of,
                 const i64* prices, const i64* weights, std::size_t classes, const double* coefficients,
                 const std::vector<u32>& positive, const std::vector<double>& least, const std::atomic<int>& stop);

struct Skeleton {
  std::vector<u32> widths, begin, layer_of;  // begin: first slot of a layer, and the number of slots
  double node_price = 0, min_weight = 0;
  u32 max_splits = 0;
  bool tree = false;

  explicit Skeleton(std::vector<u32> given);
  u32 layers() const { return static_cast<u32>(widths.size()); }
  u32 slots() const { return begin.back(); }
  double price_of(u32 splits) const { return splits == 0 ? 0 : node_price * (splits - 1); }
};

struct Node {  // targets: a slot of the next layer, or ~class
  int column = -1, cut = 0, low = -1, high = -1;
  bool used() const { return column >= 0; }
};

struct Shape {
  std::vector<Node> nodes;  // by slot; slot 0 is the root
  int constant = 0;         // class code if there is no root

  bool leaf() const { return !nodes[0].used(); }
};

// What a diagram does with the rows.
class Flow {
 public:
  Flow(const Table& table, const Skeleton& skeleton);

  // Rows at each node and the class of each row; nodes that no arc names are dropped.
  void route(Shape& shape);
  // As `route`, and mends the diagram: a node without rows or below the least weight gives way to a terminal, and no
  // node has two arcs to one terminal, or in a tree to one node.
  void mend(Shape& shape);
  // After either: integer cost, and whether the fairness constraints hold.
  double cost() const;
  bool fair() const;

  const std::vector<u32>& rows_at(u32 slot) const { return rows_[slot]; }
  u32 splits() const { return splits_; }
  double weight_of(const std::vector<u32>& rows) const;
  u32 cheapest(const std::vector<u32>& rows, double* price = nullptr) const;
  // Makes each arc to `slot` one to `target`.
  static void redirect(Shape& shape, const Skeleton& skeleton, u32 slot, int target);

 private:
  void part(Node& node, const std::vector<u32>& rows) const;

  const Table& table_;
  const Skeleton& skeleton_;
  std::vector<std::vector<u32>> rows_;
  std::vector<u32> ends_;
  std::vector<char> named_;
  u32 splits_ = 0;
};

// One diagram, top-down, layer by layer. Splits are drawn from a share of the columns.
Shape construct(const Table& table, const Skeleton& skeleton, Flow& flow, Random& random, double share,
                const std::atomic<int>& stop);

// Keeps the best diagram seen; one that breaks a fairness constraint only until one is seen that does not.
struct Best {
  Shape shape;
  double cost = kInfinite;
  bool fair = false;
  u64 starts = 0;

  bool offer(const Shape& candidate, double price, bool meets);
};

// At most `starts` constructions; the first looks at all columns.
Best construct_many(const Table& table, const Skeleton& skeleton, u64 seed, u64 starts, double share,
                    const std::atomic<int>& stop);

struct Effort {
  u64 rounds = 0;              // of perturbation and descent
  double target = -kInfinite;  // a diagram of at most that cost will do
};

struct Progressed {
  Best best;
  u64 rounds = 0, nodes = 0, pairs = 0;  // perturbations; nodes re-optimised alone, and with new children
};

// Iterated local search from `start`.
Progressed improve(const Table& table, const Skeleton& skeleton, const Shape& start, u64 seed, const Effort& effort,
                   const std::atomic<int>& stop);

}  // namespace proofwood::diagram
