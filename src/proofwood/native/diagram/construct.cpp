// Step 1 of Florio, Martins, Schiffer, Serra, Vidal (2023), Optimal Decision Diagrams for Classification, AAAI:
// top-down by information gain, merging flows where a layer is too narrow, and pruned bottom-up.
//
// Theory: docs/theory/layered-diagrams.md, "The portfolio".
#include <algorithm>
#include <cmath>
#include <functional>

#include "diagram/diagram.hpp"

namespace proofwood::diagram {

namespace {

double impurity(const std::vector<double>& weights) {  // weight times entropy, in nats
  double total = 0, sum = 0;
  for (const double w : weights) {
    total += w;
    if (w > 0) sum -= w * std::log(w);
  }
  return total > 0 ? sum + total * std::log(total) : 0;
}

struct Stream {  // rows that leave a layer by one arc or by several that are merged
  std::vector<u32> rows;
  std::vector<double> weights;  // (classes)
  std::vector<int*> arcs;
  std::vector<u32> parents;
  double total = 0, impure = 0;
};

class Builder {
 public:
  Builder(const Table& table, const Skeleton& skeleton, const Flow& flow, Random& random, double share,
          const std::atomic<int>& stop)
      : table_(table), skeleton_(skeleton), flow_(flow), random_(random), share_(share), stop_(stop) {}

  Shape build() {
    Shape shape;
    shape.nodes.resize(skeleton_.slots());
    int root = 0;
    Stream all;
    for (u32 g = 0; g < table_.rows; ++g) all.rows.push_back(g);
    all.arcs = {&root};
    weigh(all);
    std::vector<Stream> streams;
    if (worthy(all))
      streams.push_back(std::move(all));
    else
      end(all);
    u32 made = 0;
    for (u32 layer = 0; layer < skeleton_.layers() && !streams.empty(); ++layer) {
      narrow(streams, std::min(skeleton_.widths[layer], skeleton_.max_splits - made));
      std::vector<Stream> below;
      u32 slot = skeleton_.begin[layer];
      for (Stream& stream : streams) {
        Node& node = shape.nodes[slot];
        if (!split(stream, node)) {
          end(stream);
          continue;
        }
        for (int* arc : stream.arcs) *arc = static_cast<int>(slot);
        ++made;
        const int* const ranks = table_.column(node.column);
        Stream sides[2];
        for (const u32 g : stream.rows) sides[ranks[g] > node.cut].rows.push_back(g);
        sides[0].arcs = {&node.low};
        sides[1].arcs = {&node.high};
        for (Stream& side : sides) {
          weigh(side);
          side.parents = {slot};
          if (layer + 1 < skeleton_.layers() && worthy(side))
            below.push_back(std::move(side));
          else
            end(side);
        }
        ++slot;
      }
      streams = std::move(below);
    }
    if (root < 0) shape.constant = ~root;
    return shape;
  }

 private:
  void weigh(Stream& stream) const {
    stream.weights.assign(table_.classes, 0);
    for (u32 c = 0; c < table_.classes; ++c)
      for (const u32 g : stream.rows) stream.weights[c] += table_.class_weights(c)[g];
    stream.total = 0;
    for (const double w : stream.weights) stream.total += w;
    stream.impure = impurity(stream.weights);
  }

  bool worthy(const Stream& stream) const {  // flows of one class go to its terminal by a long arc
    return skeleton_.max_splits > 0 && stream.total >= skeleton_.min_weight &&
           std::count_if(stream.weights.begin(), stream.weights.end(), [](double w) { return w > 0; }) > 1;
  }

  void end(Stream& stream) const {
    const int code = static_cast<int>(flow_.cheapest(stream.rows));
    for (int* arc : stream.arcs) *arc = ~code;
  }

  // Merges the two flows that lose least information until at most `most` are left. Two arcs of one node never become
  // one flow, and in a tree none do: where nothing else is left, the flow that is least impure goes to a terminal.
  void narrow(std::vector<Stream>& streams, u32 most) {
    while (streams.size() > most) {
      double least = kInfinite;
      std::size_t first = 0, second = 0;
      for (std::size_t a = 0; a < streams.size() && !skeleton_.tree && most > 0; ++a) {
        for (std::size_t b = a + 1; b < streams.size(); ++b) {
          const auto& mine = streams[a].parents;
          const bool siblings = std::any_of(streams[b].parents.begin(), streams[b].parents.end(), [&](u32 p) {
            return std::find(mine.begin(), mine.end(), p) != mine.end();
          });
          if (siblings) continue;
          sums_.resize(table_.classes);
          for (u32 c = 0; c < table_.classes; ++c) sums_[c] = streams[a].weights[c] + streams[b].weights[c];
          const double lost = impurity(sums_) - streams[a].impure - streams[b].impure;
          if (lost < least) least = lost, first = a, second = b;
        }
      }
      if (least == kInfinite) {
        const auto ended = std::min_element(streams.begin(), streams.end(),
                                            [](const Stream& x, const Stream& y) { return x.impure < y.impure; });
        end(*ended);
        streams.erase(ended);
        continue;
      }
      Stream& kept = streams[first];
      Stream& gone = streams[second];
      kept.rows.insert(kept.rows.end(), gone.rows.begin(), gone.rows.end());
      kept.arcs.insert(kept.arcs.end(), gone.arcs.begin(), gone.arcs.end());
      kept.parents.insert(kept.parents.end(), gone.parents.begin(), gone.parents.end());
      weigh(kept);
      streams.erase(streams.begin() + static_cast<std::ptrdiff_t>(second));
    }
  }

  // The split of greatest information gain among some of the columns; false if none of them parts the rows.
  bool split(const Stream& stream, Node& node) {
    const u32 asked = std::max(1u, static_cast<u32>(std::lround(share_ * table_.columns)));
    choice_.resize(table_.columns);
    for (u32 j = 0; j < table_.columns; ++j) choice_[j] = j;
    if (asked < table_.columns)
      for (u32 i = 0; i + 1 < table_.columns; ++i)
        std::swap(choice_[i], choice_[i + random_.below(table_.columns - i)]);
    double least = kInfinite;
    inside_.assign(table_.rows, 0);
    for (const u32 g : stream.rows) inside_[g] = 1;
    std::vector<double> low(table_.classes), high(table_.classes);
    for (u32 i = 0; i < table_.columns; ++i) {
      if (i >= asked && least < kInfinite) break;             // more columns only where those drawn part no rows
      if (stop_.load(std::memory_order_relaxed) != 0) break;  // the best so far will do, and without one the flow ends
      const int j = static_cast<int>(choice_[i]);
      const int* const ranks = table_.column(j);
      const u32* const order = table_.order(j);
      std::fill(low.begin(), low.end(), 0);
      high = stream.weights;
      int last = -1;
      for (u32 k = 0; k < table_.rows; ++k) {
        const u32 g = order[k];
        if (!inside_[g]) continue;
        if (last >= 0 && ranks[g] != last) {
          const double impure = impurity(low) + impurity(high);
          if (impure < least) {
            least = impure;
            node.column = j;
            node.cut = last;
          }
        }
        last = ranks[g];
        for (u32 c = 0; c < table_.classes; ++c) {
          const double w = table_.class_weights(c)[g];
          low[c] += w;
          high[c] -= w;
        }
      }
    }
    return least < kInfinite;
  }

  const Table& table_;
  const Skeleton& skeleton_;
  const Flow& flow_;
  Random& random_;
  double share_;
  const std::atomic<int>& stop_;
  std::vector<double> sums_;
  std::vector<u32> choice_;
  std::vector<char> inside_;
};

// Bottom-up, nodes that lead only to terminals go where that costs no more.
void prune(Shape& shape, const Skeleton& skeleton, Flow& flow) {
  flow.mend(shape);
  for (u32 s = skeleton.slots(); s-- > 0;) {
    const Node node = shape.nodes[s];
    if (!node.used() || node.low >= 0 || node.high >= 0) continue;
    const double before = flow.cost();
    Shape less = shape;
    Flow::redirect(less, skeleton, s, ~static_cast<int>(flow.cheapest(flow.rows_at(s))));
    flow.mend(less);
    if (flow.cost() <= before) shape = std::move(less);
    flow.mend(shape);
  }
}

}  // namespace

Shape construct(const Table& table, const Skeleton& skeleton, Flow& flow, Random& random, double share,
                const std::atomic<int>& stop) {
  Shape shape = Builder(table, skeleton, flow, random, share, stop).build();
  prune(shape, skeleton, flow);
  return shape;
}

Best construct_many(const Table& table, const Skeleton& skeleton, u64 seed, u64 starts, double share,
                    const std::atomic<int>& stop) {
  Flow flow(table, skeleton);
  Best best;
  best.shape.nodes.resize(skeleton.slots());
  std::vector<u32> all(table.rows);
  for (u32 g = 0; g < table.rows; ++g) all[g] = g;
  for (u32 code = 0; code < table.classes; ++code) {  // the diagrams without nodes: all that may meet the constraints
    Shape leaf = best.shape;
    for (Node& node : leaf.nodes) node.column = -1;
    leaf.constant = static_cast<int>(code);
    flow.mend(leaf);
    best.offer(leaf, flow.cost(), flow.fair());
  }
  Random random(seed);
  for (; best.starts < starts && stop.load(std::memory_order_relaxed) == 0; ++best.starts) {
    const Shape shape = construct(table, skeleton, flow, random, best.starts == 0 ? 1.0 : share, stop);
    best.offer(shape, flow.cost(), flow.fair());
  }
  return best;
}

}  // namespace proofwood::diagram
