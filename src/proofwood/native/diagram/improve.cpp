// Iterated local search from a diagram: perturb, descend, accept what is not much worse.
//
// Theory: docs/theory/layered-diagrams.md, "The portfolio" (Florio, Martins, Schiffer, Serra, Vidal, AAAI 2023, ODD).
#include <algorithm>
#include <cmath>

#include "diagram/descent.hpp"

namespace proofwood::diagram {

namespace {

// Found by trial on nine hard problems (2 s each): changes of these matter by a percent or two, no noise by three.
constexpr double kNoise = 0.5;           // share of the perturbations by other prices of the rows
constexpr double kNoiseChildren = 0.05;  // chance of new children at a node while prices are others
constexpr u32 kMostKicks = 4;            // random changes at once
constexpr double kSlack = 0.3;           // a diagram may be worse by up to that share, times the product of two draws
constexpr double kNear = 2;              // times the slack of acceptance: what is worth a look for new children
constexpr double kChildren = 0.25;       // chance of that look at a node
constexpr u64 kStale = 400;              // rounds of a walk without a gain
constexpr std::size_t kElite = 12;       // diagrams kept of walks that ended

// Changes that a descent from node to node would not make.
class Kicks {
 public:
  Kicks(const Table& table, const Skeleton& skeleton, Random& random)
      : table_(table), skeleton_(skeleton), random_(random) {}

  void random_one(Shape& shape, const Shape& other) {
    switch (random_.below(12)) {
      case 0:
      case 1:
      case 2:
        resplit(shape);
        break;
      case 3:
      case 4:
        retarget(shape);
        break;
      case 5:
        merge(shape);
        break;
      case 6:
        divide(shape);
        break;
      case 7:
        lift(shape);
        break;
      case 8:
        lower(shape);
        break;
      case 9:
        exchange(shape);
        break;
      case 10:
        cross(shape, other);
        break;
      default:
        drop(shape);
        break;
    }
  }

  // A root with a random split, where there is none.
  void plant(Shape& shape) {
    Node root = random_split();
    if (!root.used() || skeleton_.max_splits == 0) return;
    root.low = ~static_cast<int>(random_.below(table_.classes));
    root.high = ~static_cast<int>(random_.below(table_.classes));
    shape.nodes[0] = root;
  }

 private:
  int used(const Shape& shape) {
    int chosen = -1;
    u32 seen = 0;
    for (u32 s = 0; s < skeleton_.slots(); ++s)
      if (shape.nodes[s].used() && random_.below(++seen) == 0) chosen = static_cast<int>(s);
    return chosen;
  }

  Node random_split() {
    Node node;
    u32 seen = 0;
    for (u32 j = 0; j < table_.columns; ++j)
      if (table_.cuts[j] > 0 && random_.below(++seen) == 0) node.column = static_cast<int>(j);
    if (node.column < 0) return node;
    node.cut = static_cast<int>(random_.below(static_cast<std::size_t>(table_.cuts[static_cast<u32>(node.column)])));
    return node;
  }

  // A class, a node of the layer below `layer`, or a new one there with a random split.
  int random_target(Shape& shape, u32 layer) {
    const bool last = layer + 1 >= skeleton_.layers();
    const u32 draw = random_.below(last ? table_.classes : table_.classes + skeleton_.widths[layer + 1]);
    if (draw < table_.classes) return ~static_cast<int>(draw);
    const u32 slot = skeleton_.begin[layer + 1] + draw - table_.classes;
    Node& node = shape.nodes[slot];
    if (!node.used()) {
      const Node split = random_split();
      if (!split.used()) return ~0;
      node = split;
      node.low = ~static_cast<int>(random_.below(table_.classes));
      node.high = ~static_cast<int>(random_.below(table_.classes));
    } else if (skeleton_.tree) {
      return ~static_cast<int>(random_.below(table_.classes));
    }
    return static_cast<int>(slot);
  }

  void resplit(Shape& shape) {
    const int slot = used(shape);
    if (slot < 0) return;
    Node& node = shape.nodes[static_cast<u32>(slot)];
    if (random_.below(2) == 0 && table_.cuts[static_cast<u32>(node.column)] > 1) {  // near by
      const int most = table_.cuts[static_cast<u32>(node.column)] - 1;
      const int step = 1 + static_cast<int>(random_.below(static_cast<std::size_t>(1 + most / 4)));
      node.cut = std::clamp(node.cut + (random_.below(2) ? step : -step), 0, most);
      return;
    }
    const Node split = random_split();
    node.column = split.column;
    node.cut = split.cut;
  }

  void retarget(Shape& shape) {
    const int slot = used(shape);
    if (slot < 0) return;
    const u32 layer = skeleton_.layer_of[static_cast<u32>(slot)];
    const int target = random_target(shape, layer);
    Node& node = shape.nodes[static_cast<u32>(slot)];
    (random_.below(2) ? node.low : node.high) = target;
  }

  void merge(Shape& shape) {
    const int slot = used(shape);
    if (slot <= 0 || skeleton_.tree) return drop(shape);
    const u32 layer = skeleton_.layer_of[static_cast<u32>(slot)];
    int other = -1;
    u32 seen = 0;
    for (u32 s = skeleton_.begin[layer]; s < skeleton_.begin[layer + 1]; ++s)
      if (shape.nodes[s].used() && static_cast<int>(s) != slot && random_.below(++seen) == 0)
        other = static_cast<int>(s);
    if (other >= 0) Flow::redirect(shape, skeleton_, static_cast<u32>(slot), other);
  }

  void drop(Shape& shape) {
    const int slot = used(shape);
    if (slot > 0)
      Flow::redirect(shape, skeleton_, static_cast<u32>(slot), ~static_cast<int>(random_.below(table_.classes)));
  }

  int free_slot(const Shape& shape, u32 layer) const {
    for (u32 s = skeleton_.begin[layer]; s < skeleton_.begin[layer + 1]; ++s)
      if (!shape.nodes[s].used()) return static_cast<int>(s);
    return -1;
  }

  // A shared node becomes two.
  void divide(Shape& shape) {
    const int slot = used(shape);
    if (slot <= 0 || skeleton_.tree) return;
    const u32 layer = skeleton_.layer_of[static_cast<u32>(slot)];
    const int twin = free_slot(shape, layer);
    if (twin < 0) return;
    shape.nodes[static_cast<u32>(twin)] = shape.nodes[static_cast<u32>(slot)];
    for (u32 s = skeleton_.begin[layer - 1]; s < skeleton_.begin[layer]; ++s) {
      Node& node = shape.nodes[s];
      if (!node.used()) continue;
      if (node.low == slot && random_.below(2)) node.low = twin;
      if (node.high == slot && random_.below(2)) node.high = twin;
    }
  }

  // A copy of what is below `slot`, one layer up or down, in free slots; what finds none becomes a class.
  int copy(Shape& shape, const Shape& from, int slot, u32 layer) {
    if (slot < 0) return slot;
    const int place = layer < skeleton_.layers() ? free_slot(shape, layer) : -1;
    if (place < 0) return ~static_cast<int>(random_.below(table_.classes));
    Node& node = shape.nodes[static_cast<u32>(place)];
    node = from.nodes[static_cast<u32>(slot)];
    const int low = copy(shape, from, node.low, layer + 1);
    const int high = node.low == node.high ? low : copy(shape, from, node.high, layer + 1);
    node.low = low;
    node.high = high;
    return place;
  }

  void forget_unnamed(Shape& shape) {
    std::vector<char> named(skeleton_.slots(), 0);
    named[0] = 1;
    for (u32 s = 0; s < skeleton_.slots(); ++s) {
      Node& node = shape.nodes[s];
      if (!named[s]) node.column = -1;
      if (!node.used()) continue;
      if (node.low >= 0) named[static_cast<u32>(node.low)] = 1;
      if (node.high >= 0) named[static_cast<u32>(node.high)] = 1;
    }
  }

  // A node gives way to one of its children.
  void lift(Shape& shape) {
    const int slot = used(shape);
    if (slot < 0) return;
    const Shape from = shape;
    Node& node = shape.nodes[static_cast<u32>(slot)];
    const int child = random_.below(2) ? node.low : node.high;
    if (child < 0) return;
    const u32 layer = skeleton_.layer_of[static_cast<u32>(slot)];
    node.low = node.high = ~0;
    forget_unnamed(shape);
    const Node& gone = from.nodes[static_cast<u32>(child)];
    node.column = gone.column;
    node.cut = gone.cut;
    const int low = copy(shape, from, gone.low, layer + 1);
    const int high = copy(shape, from, gone.high, layer + 1);
    shape.nodes[static_cast<u32>(slot)].low = low;
    shape.nodes[static_cast<u32>(slot)].high = high;
  }

  // A new split above a node, which moves down with all that is below it.
  void lower(Shape& shape) {
    const int slot = used(shape);
    if (slot < 0) return;
    const u32 layer = skeleton_.layer_of[static_cast<u32>(slot)];
    if (layer + 1 >= skeleton_.layers()) return;
    const Shape from = shape;
    Node split = random_split();
    if (!split.used()) return;
    if (random_.below(3) == 0) return defer(shape, slot, split);
    split.low = split.high = ~0;
    shape.nodes[static_cast<u32>(slot)] = split;
    forget_unnamed(shape);
    const int below = copy(shape, from, slot, layer + 1);
    const int other = random_target(shape, layer);
    Node& node = shape.nodes[static_cast<u32>(slot)];
    const bool swap = random_.below(2) != 0;
    node.low = swap ? other : below;
    node.high = swap ? below : other;
  }

  // A node moves down with all that is below it, and the one left in its place sends all rows there: by both arcs, or
  // in a tree by the test of its parent.
  void defer(Shape& shape, int slot, Node split) {
    const Shape from = shape;
    const u32 layer = skeleton_.layer_of[static_cast<u32>(slot)];
    bool low = true, high = true;
    if (skeleton_.tree) {
      if (slot == 0) return;
      for (u32 s = skeleton_.begin[layer - 1]; s < skeleton_.begin[layer]; ++s) {
        const Node& node = from.nodes[s];
        if (!node.used() || (node.low != slot && node.high != slot)) continue;
        split = node;
        low = node.low == slot;
        high = !low;
      }
    }
    split.low = split.high = ~0;
    shape.nodes[static_cast<u32>(slot)] = split;
    forget_unnamed(shape);
    const int below = copy(shape, from, slot, layer + 1);
    Node& node = shape.nodes[static_cast<u32>(slot)];
    node.low = low ? below : ~static_cast<int>(random_.below(table_.classes));
    node.high = high ? below : ~static_cast<int>(random_.below(table_.classes));
  }

  // A node and one of its children exchange their splits.
  void exchange(Shape& shape) {
    const int slot = used(shape);
    if (slot < 0) return;
    Node& node = shape.nodes[static_cast<u32>(slot)];
    const int child = random_.below(2) ? node.low : node.high;
    if (child < 0) return;
    Node& below = shape.nodes[static_cast<u32>(child)];
    std::swap(node.column, below.column);
    std::swap(node.cut, below.cut);
  }

  // The layers from some one on are those of another diagram.
  void cross(Shape& shape, const Shape& other) {
    if (skeleton_.layers() < 2 || skeleton_.tree) return;
    const u32 layer = 1 + random_.below(skeleton_.layers() - 1);
    for (u32 s = skeleton_.begin[layer]; s < skeleton_.slots(); ++s) shape.nodes[s] = other.nodes[s];
    for (u32 s = skeleton_.begin[layer - 1]; s < skeleton_.begin[layer]; ++s) {
      Node& node = shape.nodes[s];
      for (int* target : {&node.low, &node.high})
        if (node.used() && *target >= 0 && !shape.nodes[static_cast<u32>(*target)].used())
          *target = ~static_cast<int>(random_.below(table_.classes));
    }
  }

  const Table& table_;
  const Skeleton& skeleton_;
  Random& random_;
};

template <class V>
class Walk {
 public:
  Walk(const Table& table, const Skeleton& skeleton, u64 seed, const std::atomic<int>& stop)
      : table_(table),
        skeleton_(skeleton),
        random_(seed),
        stop_(stop),
        flow_(table, skeleton),
        descent_(table, skeleton, random_, stop),
        kicks_(table, skeleton, random_) {
    for (u32 g = 0; g < table.rows; ++g) {
      double least = kInfinite;
      for (u32 c = 0; c < table.classes; ++c) least = std::min(least, table.price(c)[g]);
      floor_ += least;
    }
  }

  Progressed run(const Shape& start, const Effort& effort) {
    Shape leaf;
    leaf.nodes.resize(skeleton_.slots());
    for (u32 code = 0; code < table_.classes; ++code) {  // the diagrams without nodes
      leaf.constant = static_cast<int>(code);
      mend_and_offer(leaf);
    }
    Shape current = start;
    mend_and_offer(current);
    double cost = flow_.cost();
    descend(current, cost, 1.0);
    std::vector<std::pair<double, Shape>> elite{{cost, current}};
    u64 stale = 0;
    walk_best_ = current;
    double home = cost;  // the best of this walk
    for (; progressed_.rounds < effort.rounds && running() && !reached(effort); ++progressed_.rounds) {
      Shape next = current;
      const Shape& other = elite[random_.below(elite.size())].second;
      if (stale > kStale) {  // a walk from elsewhere
        keep(elite, home, walk_best_);
        const u32 draw = random_.below(4);
        if (draw == 0 && progressed_.best.cost < kInfinite)
          next = progressed_.best.shape;
        else if (draw == 1)
          next = elite[random_.below(elite.size())].second;
        else
          next = construct(table_, skeleton_, flow_, random_, 0.2 + 0.6 * random_.uniform(), stop_);
        stale = 0;
        mend_and_offer(next);
        cost = flow_.cost();
        descend(next, cost, 1.0);
        current = next;
        home = cost;
        walk_best_ = current;
        continue;
      }
      const double draw = random_.uniform();
      if (draw < kNoise) {  // descend on other prices
        descent_.price_rows_anew();
        flow_.mend(next);
        for (int i = 0; i < 2 && running(); ++i) {
          descent_.pass(next, flow_, kNoiseChildren);
          mend_and_offer(next);
        }
        descent_.price_rows();
      } else {
        const u32 kicks = 1 + random_.below(kMostKicks);
        for (u32 i = 0; i < kicks; ++i) kicks_.random_one(next, other);
      }
      if (!running()) break;
      mend_and_offer(next);
      double price = flow_.cost();
      descend(next, price, 0);
      const double slack = kSlack * (cost - floor_) * random_.uniform() * random_.uniform();
      if (price <= cost + kNear * slack && running()) descend(next, price, kChildren);
      if (price < home) {
        home = price;
        walk_best_ = next;
        stale = 0;
      } else {
        ++stale;
      }
      if (price <= cost + slack) {
        current = std::move(next);
        cost = price;
      }
    }
    progressed_.nodes = descent_.nodes;
    progressed_.pairs = descent_.pairs;
    return progressed_;
  }

 private:
  bool running() const { return stop_.load(std::memory_order_relaxed) == 0; }

  bool reached(const Effort& effort) const {
    return progressed_.best.cost <= effort.target && (progressed_.best.fair || table_.rates.empty());
  }

  // Makes `shape` keep the limits, and offers it.
  void mend_and_offer(Shape& shape) {
    flow_.mend(shape);
    while (flow_.splits() > skeleton_.max_splits) {
      u32 last = 0;
      for (u32 s = 0; s < skeleton_.slots(); ++s)
        if (shape.nodes[s].used() &&
            (last == 0 || skeleton_.layer_of[s] > skeleton_.layer_of[last] || random_.below(2) == 0))
          last = s;
      Flow::redirect(shape, skeleton_, last, ~static_cast<int>(flow_.cheapest(flow_.rows_at(last))));
      flow_.mend(shape);
    }
    progressed_.best.offer(shape, flow_.cost(), flow_.fair());
  }

  void descend(Shape& shape, double& cost, double deep) {
    u32 level = 0;
    while (running()) {
      Shape before = shape;
      if (shape.leaf()) {
        kicks_.plant(shape);
        flow_.route(shape);
      }
      descent_.pass(shape, flow_, deep);
      mend_and_offer(shape);
      const double now = flow_.cost();
      if (now > cost) {
        shape = std::move(before);
        flow_.mend(shape);
        return;
      }
      level = now < cost ? 0 : level + 1;
      cost = now;
      if (level > 1) return;
    }
  }

  void keep(std::vector<std::pair<double, Shape>>& elite, double cost, const Shape& shape) {
    elite.emplace_back(cost, shape);
    if (elite.size() <= kElite) return;
    elite.erase(
        std::max_element(elite.begin(), elite.end(), [](const auto& x, const auto& y) { return x.first < y.first; }));
  }

  const Table& table_;
  const Skeleton& skeleton_;
  Random random_;
  const std::atomic<int>& stop_;
  Flow flow_;
  Descent<V> descent_;
  Kicks kicks_;
  Progressed progressed_;
  Shape walk_best_;
  double floor_ = 0;  // no rows can cost less
};

}  // namespace

Progressed improve(const Table& table, const Skeleton& skeleton, const Shape& start, u64 seed, const Effort& effort,
                   const std::atomic<int>& stop) {
  double most = skeleton.node_price * skeleton.slots();
  for (u32 g = 0; g < table.rows; ++g) {
    double low = kInfinite, high = -kInfinite;
    for (u32 c = 0; c < table.classes; ++c) {
      low = std::min(low, table.price(c)[g]);
      high = std::max(high, table.price(c)[g]);
    }
    most += high - low;
  }
  // Prices of a perturbation are up to three times as high; sums stay exact in the type chosen.
  if (4 * most < 0x1p24) return Walk<float>(table, skeleton, seed, stop).run(start, effort);
  return Walk<double>(table, skeleton, seed, stop).run(start, effort);
}

}  // namespace proofwood::diagram
