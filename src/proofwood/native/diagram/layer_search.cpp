// Branch and bound over the layers of a skeleton.
//
// Theory: docs/theory/layered-diagrams.md, "Univariate: layers". The problem is that of Florio, Martins, Schiffer,
// Serra, Vidal, AAAI 2023 (ODD, eq. 18); the search is ours.
//
// A state is the rows that enter each node of a layer. Each node gets a split, then each flow that leaves a node ends,
// joins a group of flows, or opens one; the groups are the nodes of the next layer.
#include "diagram/layer_search.hpp"

#include <algorithm>
#include <limits>

#include "common/memory.hpp"

namespace proofwood::diagram::layers {

namespace {

constexpr std::size_t kMostStates = 4'000'000;

// What a flow or a block adds to a sum, or takes from it.
template <int sign>
void add(Errors& to, const Errors& what) {
  for (std::size_t number = 0; number < to.size(); ++number) to[number] += sign * what[number];
}

}  // namespace

LayerSearch::LayerSearch(const Table& table, Settings settings) : groups_(table), settings_(std::move(settings)) {
  trees_ = std::make_unique<CappedTrees>(groups_, caps_at(0), settings_.error_price, settings_.node_price,
                                         settings_.ranges, stop_);
  for (const u32 width : settings_.widths) slots_ += width;
  list_prices();
}

void LayerSearch::list_prices() {
  for (u32 layer = 0; layer < n_layers(); ++layer) {
    prices_.emplace_back(caps_of(caps_at(layer)), 0);
    for (std::size_t number = 1; number < prices_[layer].size(); ++number) {
      u32 below = layer + 1;
      bool fits = true;
      for (std::size_t rest = number; rest != 0; rest = caps_below(rest), ++below)
        fits = fits && first_cap(rest) <= settings_.widths[below];
      prices_[layer][number] = fits ? trees_->caps().nodes[number] : -1;
    }
  }
}

// Cost of all diagrams that complete a state: its `nodes` are paid, `errors` are certain, and `sum` is about the rows
// that enter the nodes of `layer`, or of some trees that share them.
i64 LayerSearch::bound(u32 layer, std::size_t nodes, i64 errors, const Sum& sum) const {
  if (!settings_.caps) return paid(nodes, errors + sum.least);
  const i64 room = static_cast<i64>(settings_.max_nodes) - static_cast<i64>(nodes);
  i64 least = std::numeric_limits<i64>::max() / 2;
  for (std::size_t number = 0; number < sum.errors.size(); ++number) {
    const i64 more = prices_[layer][number];
    if (more >= 0 && more <= room)
      least = std::min(least, settings_.node_price * more + settings_.error_price * sum.errors[number]);
  }
  if (has_more(layer))
    least = std::min(least, settings_.node_price * i64{settings_.most_caps + 1} + settings_.error_price * sum.least);
  return paid(nodes, errors) + least;
}

// What is left for a block where all others have the fewest errors that caps permit.
i64 LayerSearch::budget(const Layer& layer, const Block& block, const Sum& sum) const {
  const i64 others = has_more(layer.number) ? sum.least - block.least : sum.errors.back() - block.errors.back();
  return upper_ - 1 - paid(nodes_.size(), layer.errors + others);
}

void LayerSearch::count(Block& block, u32 layer, i64 budget) {
  trees_->errors(block.part(), caps_at(layer), budget, block.errors);
}

// All rows at the root, and its splits.
void LayerSearch::open_root() {
  Block all;
  for (u32 row = 0; row < groups_.n; ++row) {
    all.rows.push_back(row);
    all.key = all.key ^ groups_.keys[row];
    all.weight += groups_.weight[row];
    all.least += groups_.least[row];
  }
  if (settings_.max_nodes == 0 || all.weight < settings_.min_weight) return;
  if (n_layers() == 1) {
    enter(0, {std::move(all)}, 0);
    return;
  }
  all.errors.assign(caps_of(caps_at(0)), 0);  // not needed: there is no other node
  nodes_.assign(1, {0});
  const Sum sum{all.errors, all.least};
  Layer root{0, {std::move(all)}, 0, 0, {}, {}, {}, {}};
  if (list_options(root, sum)) roots_ = choices(root, 0, sum);
  root_ = std::make_unique<Layer>(std::move(root));
}

void LayerSearch::run(i64 upper) {
  if (upper > asked_) {
    root_.reset();
    roots_.clear();
    next_root_ = 0;
    done_ = false;
    upper_ = upper;
  }
  asked_ = upper;
  upper_ = std::min(upper_, upper);
  if (done_) return;
  try {
    nodes_.clear();
    if (!root_) open_root();
    for (; next_root_ < roots_.size(); ++next_root_) {
      const Choice& choice = roots_[next_root_];
      lower_ = std::max(lower_, std::min(choice.bound, upper_));
      if (choice.bound >= upper_) break;
      nodes_.assign(1, {0});
      root_->flows.clear();
      take(*root_, 0, {root_->blocks[0].errors, root_->blocks[0].least}, choice.option);
    }
    lower_ = upper_;
    done_ = true;
  } catch (const Stopped&) {
    return;
  }
}

Key LayerSearch::state(const Layer& layer) const {
  Key key{mix(layer.number), layer.number};
  if (settings_.max_nodes < slots_) key.a += mix(nodes_.size());  // how many may follow depends on it
  for (const Block& block : layer.blocks) {                       // in any order
    key.a += mix(block.key.a + layer.number);
    key.b += mix(block.key.b ^ layer.number);
  }
  return key;
}

// The blocks become the nodes of a layer.
void LayerSearch::enter(u32 number, std::vector<Block> blocks, i64 errors) {
  ++states_;
  trees_->counter().look();
  const std::size_t first = nodes_.size();
  Sum sum{Errors(caps_of(caps_at(number)), 0), 0};
  const std::size_t n = blocks.size();
  for (Block& block : blocks) {
    if (block.errors.empty()) count(block, number, upper_ - 1 - paid(first + n, errors));
    add<1>(sum.errors, block.errors);
    sum.least += block.least;
  }
  if (bound(number, first + n, errors, sum) >= upper_) return;
  nodes_.resize(first + n, {number});
  Layer layer{number, std::move(blocks), first, errors, {}, {}, {}, {}};
  if (number + 1 == n_layers()) {
    set_splits(layer);
    offer(paid(nodes_.size(), errors + sum.errors[0]));
  } else {
    const Key key = state(layer);
    const i64 cost = paid(nodes_.size(), errors);
    const auto known = settings_.states ? remaining_.find(key) : remaining_.end();
    if (known == remaining_.end() || cost + known->second < upper_) {
      if (list_options(layer, sum)) choose(layer, 0, sum);
      if (settings_.states) {
        if (remaining_.size() >= kMostStates || memory_is_short()) remaining_.clear();
        i64& least = remaining_[key];
        least = std::max(least, upper_ - cost);
      }
    }
  }
  nodes_.resize(first);
}

// Splits of every block that may lead to a cheaper diagram; false if a block has none.
bool LayerSearch::list_options(Layer& layer, const Sum& sum) {
  for (const Block& block : layer.blocks) {
    layer.order.push_back(layer.options.size());
    layer.budgets.push_back(budget(layer, block, sum));
    layer.options.push_back(options(layer, block, layer.budgets.back(), sum));
    if (layer.options.back().empty()) return false;
  }
  std::stable_sort(layer.order.begin(), layer.order.end(),
                   [&](std::size_t a, std::size_t b) { return layer.options[a].size() < layer.options[b].size(); });
  return true;
}

// Splits for the nodes from `place` on; `sum` is about the rows that leave those before, and enter the others.
void LayerSearch::choose(Layer& layer, std::size_t place, const Sum& sum) {
  trees_->counter().look();
  if (place == layer.blocks.size()) {
    Sum below{Errors(caps_of(caps_at(layer.number + 1)), 0), 0};
    for (const Flow* flow : layer.flows) {
      add<1>(below.errors, flow->block.errors);
      below.least += flow->block.least;
    }
    std::vector<Block> groups;
    assign(layer, 0, groups, layer.errors, below);
    return;
  }
  for (const Choice& choice : choices(layer, place, sum)) {
    if (choice.bound >= upper_) return;
    take(layer, place, sum, choice.option);
  }
}

// Whether it may be of use that a node of the layer passes all rows on. To a node of the last layer only for the weight
// that it lacks: else it may as well split as that one does.
bool LayerSearch::may_pass(u32 layer) const {
  const u32 below = settings_.min_weight > 0 ? 1 : 2;
  return layer + below < n_layers() && (layer > 0 || settings_.idle_root);
}

// Errors of a node that passes all rows on, by the caps of its layer, from those of the next one. Caps that permit no
// node there count as if all rows were wrong.
Errors LayerSearch::passing(const Block& block, const Errors& below, std::size_t n) const {
  Errors errors(n, block.weight);
  for (std::size_t number = 1; number < n; number += 2) errors[number] = below[caps_below(number)];
  return errors;
}

// The splits of a block that may lead to a cheaper diagram; `sum` is about all blocks.
std::vector<LayerSearch::Option> LayerSearch::options(const Layer& layer, const Block& block, i64 budget,
                                                      const Sum& sum) {
  Sum with{Errors(sum.errors.size()), sum.least};
  const auto worth = [&](const Errors& errors) {
    for (std::size_t number = 0; number < errors.size(); ++number)
      with.errors[number] = sum.errors[number] - block.errors[number] + errors[number];
    return bound(layer.number, nodes_.size(), layer.errors, with) < upper_;
  };
  std::vector<Option> found;
  trees_->scan(block.part(), caps_at(layer.number), budget, block.errors, worth,
               [&](const Cut& cut, const Errors& errors) {
                 found.push_back({static_cast<int>(cut.column), static_cast<int>(cut.rank), errors, {}});
               });
  if (may_pass(layer.number)) {
    Errors below;
    trees_->errors(block.part(), caps_at(layer.number + 1), budget, below);
    Errors errors = passing(block, below, sum.errors.size());
    if (worth(errors)) found.push_back({-1, 0, std::move(errors), {}});
  }
  return found;
}

// The options of the block at `place` that may lead to a cheaper diagram, those of least bound first.
std::vector<LayerSearch::Choice> LayerSearch::choices(const Layer& layer, std::size_t place, const Sum& sum) const {
  const std::size_t number = layer.order[place];
  const Errors& errors = layer.blocks[number].errors;
  Sum with{Errors(sum.errors.size()), sum.least};
  std::vector<Choice> found;
  for (std::size_t option = 0; option < layer.options[number].size(); ++option) {
    with.errors = sum.errors;
    add<-1>(with.errors, errors);
    add<1>(with.errors, layer.options[number][option].errors);
    const i64 least = bound(layer.number, nodes_.size(), layer.errors, with);
    if (least < upper_) found.push_back({least, option});
  }
  std::stable_sort(found.begin(), found.end(), [](const Choice& a, const Choice& b) { return a.bound < b.bound; });
  return found;
}

void LayerSearch::part(const Block& block, const Option& option, Block& low, Block& high) const {
  const u32* const rank = groups_.column(static_cast<u32>(option.column));
  for (const u32 row : block.rows) {
    Block& side = rank[row] <= static_cast<u32>(option.cut) ? low : high;
    side.rows.push_back(row);
    side.key = side.key ^ groups_.keys[row];
    side.weight += groups_.weight[row];
    side.least += groups_.least[row];
  }
}

void LayerSearch::make_flows(const Layer& layer, std::size_t number, Option& option) {
  const Block& block = layer.blocks[number];
  std::vector<Block> sides(2);
  if (option.column < 0)
    sides.assign(1, block);
  else
    part(block, option, sides[0], sides[1]);
  std::vector<Flow> flows;
  for (Block& side : sides) {
    count(side, layer.number + 1, layer.budgets[number]);
    const i32 leaf = trees_->counter().leaf(side.part());
    flows.push_back({std::move(side), leaf, layer.first + number, !flows.empty(), option.column < 0});
  }
  option.flows = std::move(flows);
}

void LayerSearch::take(Layer& layer, std::size_t place, const Sum& sum, std::size_t number) {
  const std::size_t at = layer.order[place], before = layer.flows.size();
  const Block& block = layer.blocks[at];
  Option& option = layer.options[at][number];
  if (option.flows.empty()) make_flows(layer, at, option);
  nodes_[layer.first + at].column = option.column;
  nodes_[layer.first + at].cut = option.cut;
  Sum next = sum;
  add<-1>(next.errors, block.errors);
  add<1>(next.errors, option.errors);
  for (const Flow& flow : option.flows) layer.flows.push_back(&flow);
  choose(layer, place + 1, next);
  layer.flows.resize(before);
}

void LayerSearch::aim(const Flow& flow, int target) {
  Node& node = nodes_[flow.node];
  (flow.high ? node.high : node.low) = target;
  if (flow.passed) node.high = target;
}

LayerSearch::Block LayerSearch::merge(const Block& a, const Block& b) const {
  Block both;
  both.rows.reserve(a.rows.size() + b.rows.size());
  both.rows = a.rows;
  both.rows.insert(both.rows.end(), b.rows.begin(), b.rows.end());
  both.key = a.key ^ b.key;
  both.weight = a.weight + b.weight;
  both.least = a.least + b.least;
  return both;
}

// Targets for the flows from `place` on; `sum` is about the groups and those flows.
void LayerSearch::assign(Layer& layer, std::size_t place, std::vector<Block>& groups, i64 errors, const Sum& sum) {
  trees_->counter().look();
  const u32 below = layer.number + 1;
  if (place == layer.flows.size()) {
    close(layer, groups, errors, sum);
    return;
  }
  if (bound(below, nodes_.size() + std::max<std::size_t>(1, groups.size()), errors, sum) >= upper_) {
    if (!groups.empty()) return;
    i64 ended = errors;  // no further node at all
    for (std::size_t f = place; f < layer.flows.size(); ++f) ended += layer.flows[f]->leaf;
    if (paid(nodes_.size(), ended) >= upper_) return;
  }
  const Flow& flow = *layer.flows[place];
  // Else no node betters it, and no other one needs its rows.
  if (flow.passed || flow.leaf > flow.block.least || settings_.min_weight > 0) {
    if (!settings_.tree) join_groups(layer, place, groups, errors, sum);
    if (groups.size() < settings_.widths[below] && nodes_.size() + groups.size() < settings_.max_nodes) {
      aim(flow, static_cast<int>(nodes_.size() + groups.size()));
      groups.push_back(flow.block);
      assign(layer, place + 1, groups, errors, sum);
      groups.pop_back();
    }
  }
  if (flow.passed) return;
  aim(flow, -1);
  Sum next = sum;
  add<-1>(next.errors, flow.block.errors);
  next.least -= flow.block.least;
  assign(layer, place + 1, groups, errors + flow.leaf, next);
}

void LayerSearch::join_groups(Layer& layer, std::size_t place, std::vector<Block>& groups, i64 errors, const Sum& sum) {
  const Flow& flow = *layer.flows[place];
  const u32 below = layer.number + 1;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const int target = static_cast<int>(nodes_.size() + g);
    if (flow.high && nodes_[flow.node].low == target) continue;  // both arcs to one node: as good as passing on
    Block both = merge(groups[g], flow.block);
    Sum next = sum;
    if (settings_.merged && caps_at(below) <= 1) {
      count(both, below, upper_ - 1 - paid(nodes_.size(), errors));
      add<1>(next.errors, both.errors);
      add<-1>(next.errors, groups[g].errors);
      add<-1>(next.errors, flow.block.errors);
    }
    std::swap(groups[g], both);
    aim(flow, target);
    assign(layer, place + 1, groups, errors, next);
    std::swap(groups[g], both);
  }
}

// All flows have a target.
void LayerSearch::close(Layer& layer, std::vector<Block>& groups, i64 errors, const Sum& sum) {
  if (groups.empty()) {
    offer(paid(nodes_.size(), errors));
    return;
  }
  if (bound(layer.number + 1, nodes_.size() + groups.size(), errors, sum) >= upper_) return;
  for (const Block& group : groups)
    if (group.weight < settings_.min_weight) return;
  enter(layer.number + 1, groups, errors);
}

void LayerSearch::offer(i64 cost) {
  if (cost >= upper_) return;
  best_ = nodes_;
  set_labels();
  upper_ = cost;
}

// The best split of each node of the last layer.
void LayerSearch::set_splits(const Layer& layer) {
  Sorted sorted;
  for (std::size_t b = 0; b < layer.blocks.size(); ++b) {
    Node& node = nodes_[layer.first + b];
    node = {layer.number};
    i64 least = std::numeric_limits<i64>::max();
    trees_->counter().sort(layer.blocks[b].part(), sorted);
    for (const Cut& cut : sorted.cuts) {
      if (cut.leaf_low + cut.leaf_high >= least) continue;
      least = cut.leaf_low + cut.leaf_high;
      node.column = static_cast<int>(cut.column);
      node.cut = static_cast<int>(cut.rank);
    }
  }
}

// Arcs that end name the heaviest class of the rows that take them.
void LayerSearch::set_labels() {
  std::vector<i64> weights(best_.size() * 2 * groups_.classes, 0);
  const auto side = [&](const Node& node, u32 row) {
    return node.column >= 0 && groups_.column(static_cast<u32>(node.column))[row] > static_cast<u32>(node.cut);
  };
  const auto of_arc = [&](std::size_t node, bool high) {
    return &weights[(2 * node + (high ? 1 : 0)) * groups_.classes];
  };
  for (u32 row = 0; row < groups_.n; ++row)
    for (int at = 0; at >= 0;) {
      const std::size_t node = static_cast<std::size_t>(at);
      const bool high = side(best_[node], row);
      for (u32 k = 0; k < groups_.classes; ++k) of_arc(node, high)[k] += groups_.of(row)[k];
      at = high ? best_[node].high : best_[node].low;
    }
  for (std::size_t node = 0; node < best_.size(); ++node)
    for (const bool high : {false, true}) {
      int& target = high ? best_[node].high : best_[node].low;
      const i64* const of = of_arc(node, high);
      if (target < 0) target = ~static_cast<int>(std::max_element(of, of + groups_.classes) - of);
    }
  for (Node& node : best_)
    if (node.column < 0) node.high = node.low;  // of the last layer: no cut parts its rows
}

}  // namespace proofwood::diagram::layers
