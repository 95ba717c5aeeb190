// The cheapest diagram of a skeleton, layer by layer, bounded by trees with capped numbers of inner children.
//
// Theory: docs/theory/layered-diagrams.md, "Univariate: layers".
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "diagram/capped_trees.hpp"

namespace proofwood::diagram::layers {

struct Settings {
  std::vector<u32> widths;
  i64 error_price = 1, node_price = 0;
  u32 max_nodes = 0;
  i64 min_weight = 0;
  bool tree = false;
  bool idle_root = false;  // a root that passes all rows on may be of use
  u32 most_caps = 0;       // layers of caps that bounds look at; beyond, errors are those that no split avoids
  // rules of the search; none changes what is found
  bool caps = true, merged = true, states = true, ranges = true;
};

struct Node {
  u32 layer;
  int column = -1, cut = 0;  // -1: passes all rows on, both arcs are one
  int low = -1, high = -1;   // a node, or ~class
};

class LayerSearch {
 public:
  LayerSearch(const Table& table, Settings settings);

  // Goes on until the search is done or `stop` is set. Diagrams that cost `upper` or more are of no interest. A higher
  // value than before begins anew, with what is known of parts and states.
  void run(i64 upper);
  std::atomic<int>& stop() { return stop_; }

  bool done() const { return done_; }
  i64 lower() const { return lower_; }                     // of all diagrams with a node
  i64 upper() const { return upper_; }                     // of the best diagram, or what was given
  const std::vector<Node>& best() const { return best_; }  // empty if none was found below what was given
  u64 states() const { return states_; }
  u64 counted() const { return trees_->counted(); }
  const Groups& groups() const { return groups_; }

 private:
  struct Block {  // what enters a node
    std::vector<u32> rows;
    Key key;
    i32 weight = 0, least = 0;
    Errors errors;  // by the caps of its layer; empty until they are counted
    Part part() const { return {rows.data(), static_cast<u32>(rows.size()), key}; }
  };
  struct Flow {    // what leaves a node by an arc
    Block block;   // if it enters a node of the next layer
    i32 leaf = 0;  // errors if it ends
    std::size_t node = 0;
    bool high = false, passed = false;
  };
  struct Option {             // a split of a node
    int column, cut;          // column -1: passes all rows on
    Errors errors;            // by the caps of its layer
    std::vector<Flow> flows;  // empty until it is taken
  };
  struct Choice {
    i64 bound;
    std::size_t option;
  };
  struct Sum {  // over the blocks of a layer
    Errors errors;
    i64 least = 0;
  };
  struct Layer {  // whose nodes get their splits
    u32 number;
    std::vector<Block> blocks;
    std::size_t first;                         // of its nodes
    i64 errors;                                // of rows that have ended
    std::vector<std::vector<Option>> options;  // of each block
    std::vector<i64> budgets;                  // of each block, where all others have their fewest errors
    std::vector<std::size_t> order;            // of the blocks
    std::vector<const Flow*> flows;            // of the splits so far
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return key.a; }
  };

  u32 n_layers() const { return static_cast<u32>(settings_.widths.size()); }
  u32 caps_at(u32 layer) const { return std::min(n_layers() - 1 - layer, settings_.most_caps); }
  bool has_more(u32 layer) const { return n_layers() - 1 - layer > settings_.most_caps; }
  i64 paid(std::size_t nodes, i64 errors) const {
    return settings_.node_price * (static_cast<i64>(nodes) - 1) + settings_.error_price * errors;
  }
  i64 bound(u32 layer, std::size_t nodes, i64 errors, const Sum& sum) const;
  void list_prices();
  void count(Block& block, u32 layer, i64 budget);
  void open_root();
  void enter(u32 number, std::vector<Block> blocks, i64 errors);
  Key state(const Layer& layer) const;
  bool list_options(Layer& layer, const Sum& sum);
  std::vector<Option> options(const Layer& layer, const Block& block, i64 budget, const Sum& sum);
  std::vector<Choice> choices(const Layer& layer, std::size_t place, const Sum& sum) const;
  void choose(Layer& layer, std::size_t place, const Sum& sum);
  void take(Layer& layer, std::size_t place, const Sum& sum, std::size_t option);
  bool may_pass(u32 layer) const;
  i64 budget(const Layer& layer, const Block& block, const Sum& sum) const;
  Errors passing(const Block& block, const Errors& below, std::size_t n) const;
  void make_flows(const Layer& layer, std::size_t block, Option& option);
  void part(const Block& block, const Option& option, Block& low, Block& high) const;
  void assign(Layer& layer, std::size_t place, std::vector<Block>& groups, i64 errors, const Sum& sum);
  void join_groups(Layer& layer, std::size_t place, std::vector<Block>& groups, i64 errors, const Sum& sum);
  void close(Layer& layer, std::vector<Block>& groups, i64 errors, const Sum& sum);
  Block merge(const Block& a, const Block& b) const;
  void aim(const Flow& flow, int target);
  void offer(i64 cost);
  void set_splits(const Layer& layer);
  void set_labels();

  Groups groups_;
  Settings settings_;
  std::atomic<int> stop_{0};
  std::size_t slots_ = 0;  // of the skeleton
  std::unique_ptr<CappedTrees> trees_;
  std::vector<std::vector<i64>> prices_;  // of a layer: nodes below it by caps, -1 where they do not fit
  std::vector<Node> nodes_, best_;
  std::unique_ptr<Layer> root_;
  std::vector<Choice> roots_;  // by their bounds, once they are listed
  std::size_t next_root_ = 0;
  bool done_ = false;
  i64 asked_ = 0, upper_ = 0, lower_ = 0;
  u64 states_ = 0;
  std::unordered_map<Key, i64, KeyHash> remaining_;  // cost from a state on, at least
};

}  // namespace proofwood::diagram::layers
