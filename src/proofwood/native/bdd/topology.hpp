// Cheapest layered diagrams over given sets of tests: exact search over topologies on the cells that a set makes.
//
// Theory: docs/theory/layered-diagrams.md, "Univariate: sets of tests" and "Topologies of one set"
// (Florio et al., AAAI 2023).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace proofwood::bdd::topology {

// What all sets of one call share. Groups are rows that no test tells apart.
struct Batch {
  int n_groups = 0;
  int n_classes = 0;
  int n_tests = 0;                        // columns of `bits`
  const std::uint8_t* bits = nullptr;     // (n_groups, n_tests)
  const std::int64_t* weights = nullptr;  // (n_groups, n_classes)
  int n_rates = 0;
  const std::int64_t* rates = nullptr;  // (n_groups, n_rates): summed over groups predicted positive, not negative
  std::vector<int> positive;            // (n_rates) class
  std::vector<int> penalty;             // (n_rates) the penalty that a rate belongs to, -1 if it must be met
  std::vector<std::int64_t> gain;       // (n_rates) what a unit of weight adds to the sum of a rate
  std::vector<std::int64_t> prices;     // (n_penalties) of a unit of weight that lacks, the most over the rates of one
  std::vector<int> widths;
  std::int64_t error_price = 1;
  std::int64_t node_price = 0;
  int max_nodes = 0;
  std::int64_t min_weight = 0;
  bool tree = false;
  int constant_side = -1;   // side of all rows at some test that they all answer alike, -1 if there is no such test
  bool idle_root = false;   // whether what hangs from a root that passes on need not fit the skeleton one layer higher
  bool merge_bound = true;  // rule: merged cells lose what no unused test tells apart
  bool pure_flows = true;   // rule: a flow that no test improves ends at a terminal
  bool stumps = true;       // rule: where no layer can follow, every node takes its best test
  bool reach = true;        // rule: a rate that open cells cannot mend is broken, or costs its penalty
};

struct Diagram {
  std::vector<int> layer, test, low, high;  // targets below 0 are terminals, ~class
};

// Best cost so far, shared by the threads; ties keep the diagram that was first.
struct Shared {
  std::atomic<std::int64_t> upper;
  std::mutex mutex;
  bool found = false;
  Diagram best;
  std::atomic<std::int64_t> states{0};
};

// Searches one set of at most 16 tests (columns of `bits`) for a diagram that uses all of them and costs less than
// `shared.upper`. False if it was stopped before the end.
class Search {
 public:
  Search(const Batch& batch, Shared& shared, const std::atomic<int>& stop);
  bool run(const int* tests, int n_tests);

 private:
  using Mask = std::uint32_t;
  struct Flow {
    std::size_t cells;  // offset into arena_
    int parent;
    int side;
    int label;           // heaviest class
    std::int64_t leaf;   // weight of the other classes
    std::int64_t least;  // weight wrong whatever the tests say
  };
  struct Leaving {  // a layer whose nodes have tests, on the way to the next
    int number;
    Mask used;  // tests that nodes ask, this layer included
    std::vector<Flow> flows;
    std::vector<std::size_t> blocks;  // cells that enter each node of the next layer so far
  };
  struct Node {
    int layer, test, low, high;
    std::size_t cells;
  };

  void make_cells(const int* tests);
  std::size_t take();  // room for one set of cells
  const std::uint64_t* at(std::size_t cells) const { return arena_.data() + cells; }
  std::uint64_t* at(std::size_t cells) { return arena_.data() + cells; }
  std::int64_t least(const std::uint64_t* cells) const;
  std::int64_t agreeing(const std::uint64_t* cells, Mask tests);
  std::int64_t weigh(const std::uint64_t* cells);  // class weights into sums_, returns their total
  int most_nodes(std::int64_t errors) const;
  bool pays(std::int64_t errors, int nodes) const;
  void layer(int number, int first, std::int64_t errors, Mask used);
  void finish_with_stumps(int first, std::int64_t errors);
  void choose(int number, int first, int place, std::int64_t errors, Mask used);
  void part(const std::uint64_t* cells, int test, int side, std::uint64_t* kept) const;
  bool parts(std::size_t cells, int test) const;
  std::int64_t merged_before_choice(int first, int place, std::int64_t errors, Mask unused);
  void split(int node, std::vector<Flow>& flows);
  void assign(Leaving& layer, std::size_t position, std::int64_t errors);
  bool has_room(const Leaving& layer, std::size_t position, std::int64_t errors, int most);
  void close(const Leaving& layer, std::int64_t errors);
  void aim(const Flow& flow, int target);
  void join_blocks(Leaving& layer, std::size_t position, std::int64_t errors);
  void open_block(Leaving& layer, std::size_t position, std::int64_t errors, int most);
  void end_at(Leaving& layer, std::size_t position, std::int64_t errors, int label, std::int64_t wrong);
  void enter(int number, std::int64_t errors, Mask used, const std::vector<std::size_t>& blocks);
  void offer(std::int64_t errors);
  std::int64_t penalty(bool open);  // of the rates as they are, or if `open` cells do all they can; -1: broken
  int& arc(const Flow& flow);
  bool stopped();

  const Batch& batch_;
  Shared& shared_;
  const std::atomic<int>& stop_;
  const int* tests_ = nullptr;
  int n_set_ = 0;
  int n_cells_ = 0;
  int words_ = 0;
  Mask all_ = 0;
  std::vector<std::uint32_t> pattern_;     // (n_cells)
  std::vector<std::int64_t> cell_weight_;  // (n_cells, n_classes)
  std::vector<std::int64_t> cell_least_;   // (n_cells)
  std::vector<std::int64_t> cell_rates_;   // (n_cells, n_rates)
  std::vector<std::int64_t> cell_gains_;   // (n_cells, n_rates): those above 0, else 0
  std::vector<std::uint64_t> on_;          // (n_set, words): cells with bit 1
  std::vector<std::uint64_t> arena_;
  std::size_t top_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::int64_t> table_;  // class weights by pattern
  std::vector<std::uint32_t> touched_;
  std::vector<std::int64_t> sums_;
  std::vector<std::int64_t> rate_sums_;
  std::vector<std::int64_t> rate_open_;  // what cells that have not ended can still add
  std::vector<std::int64_t> short_;      // (n_penalties)
  std::int64_t certain_ = 0;             // penalty whatever follows
  std::vector<std::int32_t> index_;      // pattern -> cell
  std::int64_t count_ = 0;
  bool halted_ = false;
};

}  // namespace proofwood::bdd::topology
