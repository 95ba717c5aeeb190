// Cheapest diagrams of a skeleton over one set of tests: depth-first search over layers.
//
// Theory: docs/theory/layered-diagrams.md, "Topologies of one set". The problem is that of Florio, Martins, Schiffer,
// Serra, Vidal, AAAI 2023 (ODD, eq. 18); the search is ours.
//
// A state is the cells that enter each node of a layer. It chooses a test for every node, and then for every flow that
// leaves the layer a terminal, a node of the next layer, or none of these yet. Over the tests a, b, c, with
// cells "abc":
//
//   layer 0     a: all eight cells           flows 0-- and 1-- leave the layer
//   layer 1     b: 0--      c: 1--           flows 00- 01- 1-0 1-1
//   layer 2     c: 01- 1-0                   two of them entered one node, the other two ended at terminals
//
// Bounds. Let U be the tests that no node asks yet. Every test of the set must be asked somewhere, so at least |U| more
// nodes follow. If the price of the errors that are certain leaves no room for more than |U| nodes, then only tests of
// U can still be asked, and cells of one flow that agree on U can no longer be told apart: merging flows that differ
// only by a test already asked loses that difference for good.
#include "bdd/topology.hpp"

#include <algorithm>
#include <bit>

namespace proofwood::bdd::topology {

namespace {
constexpr int kPass = -1;      // a node that asks nothing new and sends all its rows one way
constexpr int kConstant = -2;  // what the root of a tree asks then: a test that all rows answer alike
}  // namespace

Search::Search(const Batch& batch, Shared& shared, const std::atomic<int>& stop)
    : batch_(batch),
      shared_(shared),
      stop_(stop),
      sums_(static_cast<std::size_t>(batch.n_classes)),
      rate_sums_(static_cast<std::size_t>(batch.n_rates)),
      rate_open_(static_cast<std::size_t>(batch.n_rates)),
      short_(batch.prices.size()) {}

bool Search::run(const int* tests, int n_tests) {
  tests_ = tests;
  n_set_ = n_tests;
  all_ = n_tests == 0 ? 0 : (Mask{1} << n_tests) - 1;
  make_cells(tests);
  nodes_.clear();
  top_ = 0;
  halted_ = false;
  const std::size_t root = take();
  std::uint64_t* cells = at(root);
  for (int c = 0; c < n_cells_; ++c) cells[c / 64] |= std::uint64_t{1} << (c % 64);
  std::fill(rate_open_.begin(), rate_open_.end(), 0);
  for (std::size_t i = 0; i < cell_gains_.size(); ++i) rate_open_[i % rate_open_.size()] += cell_gains_[i];
  certain_ = 0;
  enter(0, 0, 0, {root});
  shared_.states += count_;
  count_ = 0;
  return !halted_;
}

void Search::make_cells(const int* tests) {
  const auto n_classes = static_cast<std::size_t>(batch_.n_classes);
  const auto n_rates = static_cast<std::size_t>(batch_.n_rates);
  const std::size_t patterns = std::size_t{1} << n_set_;
  index_.assign(patterns, -1);
  pattern_.clear();
  cell_weight_.clear();
  cell_rates_.clear();
  cell_gains_.clear();
  for (int g = 0; g < batch_.n_groups; ++g) {
    std::uint32_t key = 0;
    const std::uint8_t* row = batch_.bits + static_cast<std::size_t>(g) * static_cast<std::size_t>(batch_.n_tests);
    for (int t = 0; t < n_set_; ++t) key |= static_cast<std::uint32_t>(row[tests[t]]) << t;
    if (index_[key] < 0) {
      index_[key] = static_cast<std::int32_t>(pattern_.size());
      pattern_.push_back(key);
      cell_weight_.resize(cell_weight_.size() + n_classes, 0);
      cell_rates_.resize(cell_rates_.size() + n_rates, 0);
      cell_gains_.resize(cell_gains_.size() + n_rates, 0);
    }
    const auto cell = static_cast<std::size_t>(index_[key]);
    for (std::size_t c = 0; c < n_classes; ++c)
      cell_weight_[cell * n_classes + c] += batch_.weights[static_cast<std::size_t>(g) * n_classes + c];
    for (std::size_t r = 0; r < n_rates; ++r)
      cell_rates_[cell * n_rates + r] += batch_.rates[static_cast<std::size_t>(g) * n_rates + r];
  }
  // Open cells can add no more to a rate than the coefficients above 0, each rate taken by itself.
  for (std::size_t i = 0; i < cell_rates_.size(); ++i) cell_gains_[i] = std::max<std::int64_t>(0, cell_rates_[i]);
  n_cells_ = static_cast<int>(pattern_.size());
  words_ = (n_cells_ + 63) / 64;
  const auto words = static_cast<std::size_t>(words_);
  on_.assign(static_cast<std::size_t>(n_set_) * words, 0);
  cell_least_.resize(pattern_.size());
  for (int c = 0; c < n_cells_; ++c) {
    const auto cell = static_cast<std::size_t>(c);
    std::int64_t total = 0, largest = 0;
    for (std::size_t k = 0; k < n_classes; ++k) {
      total += cell_weight_[cell * n_classes + k];
      largest = std::max(largest, cell_weight_[cell * n_classes + k]);
    }
    cell_least_[cell] = total - largest;
    for (int t = 0; t < n_set_; ++t)
      if (pattern_[cell] >> t & 1) on_[static_cast<std::size_t>(t) * words + cell / 64] |= std::uint64_t{1} << (c % 64);
  }
  table_.assign(patterns * n_classes, 0);
}

std::size_t Search::take() {
  const std::size_t start = top_;
  top_ += static_cast<std::size_t>(words_);
  if (arena_.size() < top_) arena_.resize(std::max(top_, 2 * arena_.size()));
  std::fill(arena_.begin() + static_cast<std::ptrdiff_t>(start), arena_.begin() + static_cast<std::ptrdiff_t>(top_), 0);
  return start;
}

std::int64_t Search::least(const std::uint64_t* cells) const {
  std::int64_t sum = 0;
  for (int w = 0; w < words_; ++w)
    for (std::uint64_t bits = cells[w]; bits != 0; bits &= bits - 1)
      sum += cell_least_[static_cast<std::size_t>(64 * w + std::countr_zero(bits))];
  return sum;
}

std::int64_t Search::weigh(const std::uint64_t* cells) {
  std::fill(sums_.begin(), sums_.end(), 0);
  const std::size_t n_classes = sums_.size();
  for (int w = 0; w < words_; ++w)
    for (std::uint64_t bits = cells[w]; bits != 0; bits &= bits - 1) {
      const auto cell = static_cast<std::size_t>(64 * w + std::countr_zero(bits));
      for (std::size_t k = 0; k < n_classes; ++k) sums_[k] += cell_weight_[cell * n_classes + k];
    }
  std::int64_t total = 0;
  for (const std::int64_t sum : sums_) total += sum;
  return total;
}

// Weight that is wrong at least if only `tests` tell cells apart.
std::int64_t Search::agreeing(const std::uint64_t* cells, Mask tests) {
  const std::size_t n_classes = sums_.size();
  touched_.clear();
  std::int64_t total = 0;
  for (int w = 0; w < words_; ++w)
    for (std::uint64_t bits = cells[w]; bits != 0; bits &= bits - 1) {
      const auto cell = static_cast<std::size_t>(64 * w + std::countr_zero(bits));
      const std::uint32_t key = pattern_[cell] & tests;
      std::int64_t* sums = table_.data() + key * n_classes;
      touched_.push_back(key);
      for (std::size_t k = 0; k < n_classes; ++k) {
        sums[k] += cell_weight_[cell * n_classes + k];
        total += cell_weight_[cell * n_classes + k];
      }
    }
  for (const std::uint32_t key : touched_) {
    std::int64_t* sums = table_.data() + key * n_classes;
    total -= *std::max_element(sums, sums + n_classes);
    std::fill(sums, sums + n_classes, 0);  // a key that was touched twice counts 0 the second time
  }
  return total;
}

int Search::most_nodes(std::int64_t errors) const {
  const std::int64_t left = shared_.upper.load(std::memory_order_relaxed) - 1 - batch_.error_price * errors - certain_;
  if (left < 0) return 0;
  if (batch_.node_price == 0) return batch_.max_nodes;
  return static_cast<int>(std::min<std::int64_t>(batch_.max_nodes, 1 + left / batch_.node_price));
}

bool Search::pays(std::int64_t errors, int nodes) const { return nodes <= most_nodes(errors); }

int& Search::arc(const Flow& flow) {
  Node& parent = nodes_[static_cast<std::size_t>(flow.parent)];
  return flow.side == 0 ? parent.low : parent.high;
}

bool Search::stopped() {
  if ((++count_ & 1023) == 0 && stop_.load(std::memory_order_relaxed) != 0) halted_ = true;
  return halted_;
}

// Blocks become the nodes of layer `number`.
void Search::enter(int number, std::int64_t errors, Mask used, const std::vector<std::size_t>& blocks) {
  const std::size_t first = nodes_.size();
  for (const std::size_t cells : blocks) nodes_.push_back({number, kPass, -1, -1, cells});
  layer(number, static_cast<int>(first), errors, used);
  nodes_.resize(first);
}

void Search::layer(int number, int first, std::int64_t errors, Mask used) {
  if (stopped()) return;
  std::int64_t certain = errors;
  for (std::size_t n = static_cast<std::size_t>(first); n < nodes_.size(); ++n) certain += least(at(nodes_[n].cells));
  const int placed = static_cast<int>(nodes_.size());
  if (!pays(certain, placed)) return;
  const bool more = number + 1 < static_cast<int>(batch_.widths.size()) && placed < most_nodes(certain);
  if (!more && batch_.n_rates == 0 && batch_.stumps) {
    finish_with_stumps(first, errors);
    return;
  }
  choose(number, first, 0, errors, used);
}

// No node can follow, so each node of the layer takes the test that is best for its own cells.
void Search::finish_with_stumps(int first, std::int64_t errors) {
  const std::size_t room = top_;
  const std::size_t kept = take();
  for (std::size_t n = static_cast<std::size_t>(first); n < nodes_.size(); ++n) {
    std::int64_t best = -1;
    for (int t = 0; t < n_set_; ++t) {
      std::int64_t wrong = 0;
      int labels[2];
      for (int side = 0; side < 2; ++side) {
        part(at(nodes_[n].cells), t, side, at(kept));
        const std::int64_t total = weigh(at(kept));
        const auto heaviest = std::max_element(sums_.begin(), sums_.end());
        labels[side] = static_cast<int>(heaviest - sums_.begin());
        wrong += total - *heaviest;
      }
      if (best < 0 || wrong < best) {
        best = wrong;
        nodes_[n].test = t;
        nodes_[n].low = ~labels[0];
        nodes_[n].high = ~labels[1];
      }
    }
    if (best < 0) {  // no tests at all: a lone root
      const std::int64_t total = weigh(at(nodes_[n].cells));
      const auto heaviest = std::max_element(sums_.begin(), sums_.end());
      best = total - *heaviest;
      nodes_[n].low = nodes_[n].high = ~static_cast<int>(heaviest - sums_.begin());
    }
    errors += best;
    if (!pays(errors, static_cast<int>(nodes_.size()))) break;
    if (n + 1 == nodes_.size()) offer(errors);
  }
  top_ = room;
}

// Cells of `cells` on one side of a test, into `kept`.
void Search::part(const std::uint64_t* cells, int test, int side, std::uint64_t* kept) const {
  const auto words = static_cast<std::size_t>(words_);
  const std::uint64_t* on = on_.data() + static_cast<std::size_t>(test) * words;
  for (std::size_t w = 0; w < words; ++w) kept[w] = cells[w] & (side == 0 ? ~on[w] : on[w]);
}

// Whether both sides of a test have cells. A test with an empty side says nothing here: it is as good as passing on.
bool Search::parts(std::size_t cells, int test) const {
  const auto words = static_cast<std::size_t>(words_);
  const std::uint64_t* on = on_.data() + static_cast<std::size_t>(test) * words;
  bool low = false, high = false;
  for (std::size_t w = 0; w < words; ++w) {
    low = low || (at(cells)[w] & ~on[w]) != 0;
    high = high || (at(cells)[w] & on[w]) != 0;
  }
  return low && high;
}

// Merge bound of a layer whose first `place` nodes have tests: what cells lose that agree on all tests that
// no node asks.
std::int64_t Search::merged_before_choice(int first, int place, std::int64_t errors, Mask unused) {
  const std::size_t room = top_;
  std::int64_t bound = errors;
  for (int n = 0; first + n < static_cast<int>(nodes_.size()); ++n) {
    const Node& node = nodes_[static_cast<std::size_t>(first + n)];
    if (n >= place || node.test == kPass) {
      bound += agreeing(at(node.cells), unused);
      continue;
    }
    for (int side = 0; side < 2; ++side) {
      const std::size_t kept = take();
      part(at(node.cells), node.test, side, at(kept));
      bound += agreeing(at(kept), unused);
      top_ = kept;
    }
  }
  top_ = room;
  return bound;
}

// Chooses tests for the nodes from `place` on; cells of the nodes before are split already.
void Search::choose(int number, int first, int place, std::int64_t errors, Mask used) {
  if (stopped()) return;
  const int width = static_cast<int>(nodes_.size()) - first;
  const Mask unused = all_ & ~used;
  std::int64_t certain = errors;
  for (int n = first; n < first + width; ++n) certain += least(at(nodes_[static_cast<std::size_t>(n)].cells));
  const int placed = static_cast<int>(nodes_.size());
  const int open = width - place;
  const int most = most_nodes(certain);
  const int slack = open + most - placed - std::popcount(unused);
  if (placed > most || slack < 0) return;
  if (slack == 0 && batch_.merge_bound &&
      !pays(merged_before_choice(first, place, errors, unused), placed + std::max(0, std::popcount(unused) - open)))
    return;
  if (place == width) {
    const std::size_t room = top_;
    Leaving layer{number, used, {}, {}};
    for (int n = first; n < first + width; ++n) split(n, layer.flows);
    assign(layer, 0, errors);
    top_ = room;
    return;
  }
  const std::size_t cells = nodes_[static_cast<std::size_t>(first + place)].cells;
  for (int t = 0; t < n_set_; ++t) {
    const Mask bit = Mask{1} << t;
    if (((used & bit) != 0 && slack == 0) || !parts(cells, t)) continue;
    nodes_[static_cast<std::size_t>(first + place)].test = t;
    choose(number, first, place + 1, errors, used | bit);
    if (halted_) return;
  }
  // What hangs from a root that passes on mostly fits the skeleton one layer higher too, for less; not in (1, 1, 2).
  // Both arcs of such a root name one node, which no tree permits.
  if (n_set_ == 0 || (slack > 0 && (number > 0 || batch_.idle_root))) {
    nodes_[static_cast<std::size_t>(first + place)].test = kPass;
    choose(number, first, place + 1, errors, used);
  }
}

void Search::split(int node_number, std::vector<Flow>& flows) {
  const auto words = static_cast<std::size_t>(words_);
  const Node node = nodes_[static_cast<std::size_t>(node_number)];
  for (int side = 0; side < 2; ++side) {
    if (node.test == kPass && side == 1) break;
    const std::size_t place = take();
    const std::uint64_t* cells = at(node.cells);
    std::uint64_t* kept = at(place);
    if (node.test == kPass)
      std::copy(cells, cells + words, kept);
    else
      part(cells, node.test, side, kept);
    const std::int64_t total = weigh(kept);
    const auto heaviest = std::max_element(sums_.begin(), sums_.end());
    flows.push_back(
        {place, node_number, side, static_cast<int>(heaviest - sums_.begin()), total - *heaviest, least(kept)});
  }
}

// Whether the nodes and errors that are certain so far leave room below the incumbent; `most` nodes do in all.
bool Search::has_room(const Leaving& layer, std::size_t position, std::int64_t errors, int most) {
  const Mask unused = all_ & ~layer.used;
  const int placed = static_cast<int>(nodes_.size());
  const int n_blocks = static_cast<int>(layer.blocks.size());
  const int slack = most - placed - std::popcount(unused);
  if (slack < 0 || placed + n_blocks > most) return false;
  if (slack > 0 || !batch_.merge_bound) return true;
  std::int64_t bound = errors;
  for (const std::size_t cells : layer.blocks) bound += agreeing(at(cells), unused);
  for (std::size_t f = position; f < layer.flows.size(); ++f) bound += agreeing(at(layer.flows[f].cells), unused);
  return pays(bound, placed + std::max(n_blocks, std::popcount(unused)));
}

// All flows of the layer have a target.
void Search::close(const Leaving& layer, std::int64_t errors) {
  if (layer.blocks.empty()) {
    offer(errors);
    return;
  }
  for (const std::size_t cells : layer.blocks)
    if (weigh(at(cells)) < batch_.min_weight) return;
  enter(layer.number + 1, errors, layer.used, layer.blocks);
}

// Both arcs, where the parent passes on.
void Search::aim(const Flow& flow, int target) {
  arc(flow) = target;
  Node& parent = nodes_[static_cast<std::size_t>(flow.parent)];
  if (parent.test == kPass && n_set_ > 0) parent.high = target;
}

// Sends a flow to each node of the next layer that another flow has entered, in turn.
void Search::join_blocks(Leaving& layer, std::size_t position, std::int64_t errors) {
  const Flow flow = layer.flows[position];
  const int placed = static_cast<int>(nodes_.size());
  for (std::size_t b = 0; b < layer.blocks.size(); ++b) {
    const int target = placed + static_cast<int>(b);
    // both arcs to one node: as good as passing on
    if (flow.side == 1 && nodes_[static_cast<std::size_t>(flow.parent)].low == target) continue;
    const std::size_t room = top_;
    const std::size_t merged = take();
    for (std::size_t w = 0; w < static_cast<std::size_t>(words_); ++w)
      at(merged)[w] = at(layer.blocks[b])[w] | at(flow.cells)[w];
    const std::size_t before = layer.blocks[b];
    layer.blocks[b] = merged;
    aim(flow, target);
    assign(layer, position + 1, errors);
    layer.blocks[b] = before;
    top_ = room;
    if (halted_) return;
  }
}

// Sends a flow to a new node of the next layer.
void Search::open_block(Leaving& layer, std::size_t position, std::int64_t errors, int most) {
  const int placed = static_cast<int>(nodes_.size()), n_blocks = static_cast<int>(layer.blocks.size());
  if (n_blocks >= batch_.widths[static_cast<std::size_t>(layer.number + 1)] || placed + n_blocks >= most) return;
  const Flow flow = layer.flows[position];
  aim(flow, placed + n_blocks);
  layer.blocks.push_back(flow.cells);
  assign(layer, position + 1, errors);
  layer.blocks.pop_back();
}

// Says where the flows from `position` on go: to a node that others entered, to a new one, or to a terminal.
void Search::assign(Leaving& layer, std::size_t position, std::int64_t errors) {
  if (stopped()) return;
  std::int64_t certain = errors;
  for (const std::size_t cells : layer.blocks) certain += least(at(cells));
  for (std::size_t f = position; f < layer.flows.size(); ++f) certain += layer.flows[f].least;
  const int most = most_nodes(certain);
  if (!has_room(layer, position, errors, most)) return;
  if (position == layer.flows.size()) {
    close(layer, errors);
    return;
  }
  const Flow flow = layer.flows[position];
  const bool free = batch_.n_rates == 0 && batch_.min_weight == 0;
  const bool below =
      n_set_ > 0 && layer.number + 1 < static_cast<int>(batch_.widths.size());  // without tests, a lone root
  const bool ends = batch_.pure_flows && free && flow.leaf == flow.least;
  if (below && !ends) {
    if (!batch_.tree) join_blocks(layer, position, errors);
    if (halted_) return;
    open_block(layer, position, errors, most);
    if (halted_) return;
    const bool passes = nodes_[static_cast<std::size_t>(flow.parent)].test == kPass;
    if (passes && batch_.pure_flows && free) return;  // ending here is cheaper one layer above
  }
  if (batch_.n_rates == 0) {
    end_at(layer, position, errors, flow.label, flow.leaf);
    return;
  }
  for (int label = 0; label < batch_.n_classes && !halted_; ++label) {
    const std::int64_t total = weigh(at(flow.cells));  // sums_ holds the weight of each class from here on
    const std::int64_t wrong = total - sums_[static_cast<std::size_t>(label)];
    end_at(layer, position, errors, label, wrong);
  }
}

// Sends a flow to the terminal of a class.
void Search::end_at(Leaving& layer, std::size_t position, std::int64_t errors, int label, std::int64_t wrong) {
  const Flow flow = layer.flows[position];
  arc(flow) = ~label;
  Node& parent = nodes_[static_cast<std::size_t>(flow.parent)];
  if (parent.test == kPass) parent.high = ~label;
  const auto add = [&](std::int64_t sign) {
    const std::size_t n_rates = rate_sums_.size();
    for (std::size_t r = 0; r < n_rates; ++r) {
      for (int w = 0; w < words_; ++w)
        for (std::uint64_t bits = at(flow.cells)[w]; bits != 0; bits &= bits - 1) {
          const std::size_t i = static_cast<std::size_t>(64 * w + std::countr_zero(bits)) * n_rates + r;
          if (batch_.positive[r] == label) rate_sums_[r] += sign * cell_rates_[i];
          rate_open_[r] -= sign * cell_gains_[i];
        }
    }
  };
  add(1);
  const std::int64_t before = certain_;
  const std::int64_t certain = batch_.reach && batch_.n_rates > 0 ? penalty(true) : 0;
  if (certain >= 0) {
    certain_ = certain;
    assign(layer, position + 1, errors + wrong);
    certain_ = before;
  }
  add(-1);
}

std::int64_t Search::penalty(bool open) {
  std::fill(short_.begin(), short_.end(), 0);
  for (std::size_t r = 0; r < rate_sums_.size(); ++r) {
    const std::int64_t sum = rate_sums_[r] + (open ? rate_open_[r] : 0);
    if (sum >= 0) continue;
    if (batch_.penalty[r] < 0) return -1;
    std::int64_t& lacks = short_[static_cast<std::size_t>(batch_.penalty[r])];
    lacks = std::max(lacks, (-sum + batch_.gain[r] - 1) / batch_.gain[r]);
  }
  std::int64_t cost = 0;
  for (std::size_t p = 0; p < short_.size(); ++p) cost += batch_.prices[p] * short_[p];
  return cost;
}

void Search::offer(std::int64_t errors) {
  const std::int64_t extra = penalty(false);
  if (extra < 0) return;
  const std::int64_t cost =
      batch_.error_price * errors + batch_.node_price * (static_cast<std::int64_t>(nodes_.size()) - 1) + extra;
  const std::lock_guard lock(shared_.mutex);
  if (cost >= shared_.upper.load()) return;
  shared_.upper = cost;
  shared_.found = true;
  Diagram diagram;
  std::vector<int> asked(nodes_.size()), side(nodes_.size());
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    // A node that passes on repeats the test of its first parent, which all rows of one side answer alike; its two arcs
    // name one target. In a tree its only parent tells which arc is used, and the other one ends at a terminal.
    int test = node.test, low = node.low, high = node.high;
    if (test == kPass && n == 0 && n_set_ > 0) {
      test = batch_.tree ? kConstant : 0;
      side[n] = batch_.constant_side;
      if (batch_.tree) (side[n] == 1 ? low : high) = ~0;
    } else if (test == kPass) {
      for (std::size_t p = 0; p < n; ++p)
        if (nodes_[p].low == static_cast<int>(n) || nodes_[p].high == static_cast<int>(n)) {
          test = asked[p];
          side[n] = nodes_[p].test == kPass ? side[p] : nodes_[p].high == static_cast<int>(n);
          if (batch_.tree && low >= 0) (side[n] == 1 ? low : high) = ~0;
          break;
        }
    }
    asked[n] = test;
    diagram.layer.push_back(node.layer);
    diagram.test.push_back(test < 0 ? test : tests_[test]);
    diagram.low.push_back(low);
    diagram.high.push_back(high);
  }
  shared_.best = std::move(diagram);
}

}  // namespace proofwood::bdd::topology
