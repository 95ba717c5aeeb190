// Groups of equal rows, and their flow through a diagram.
//
// Theory: docs/theory/layered-diagrams.md, "What is minimised"
// (Florio, Martins, Schiffer, Serra, Vidal, AAAI 2023, ODD).
#include <algorithm>
#include <numeric>

#include "diagram/diagram.hpp"

namespace proofwood::diagram {

Table make_table(const std::int32_t* ranks, std::size_t n, std::size_t columns, const std::int32_t* tests_of,
                 const i64* prices, const i64* weights, std::size_t classes, const double* coefficients,
                 const std::vector<u32>& positive, const std::vector<double>& least, const std::atomic<int>& stop) {
  u32 looks = 0;
  const auto look = [&] {
    if ((++looks & 4095) == 0 && stop.load(std::memory_order_relaxed) != 0) throw Unfinished{};
  };
  std::vector<u32> order(n);
  std::iota(order.begin(), order.end(), 0u);
  const auto row = [&](u32 i) { return ranks + i * columns; };
  std::sort(order.begin(), order.end(), [&](u32 a, u32 b) {
    look();
    const auto [x, y] = std::mismatch(row(a), row(a) + columns, row(b));
    return x == row(a) + columns ? a < b : *x < *y;
  });
  std::vector<u32> group(n), first;
  for (std::size_t i = 0; i < n; ++i) {
    if (i == 0 || !std::equal(row(order[i]), row(order[i]) + columns, row(order[i - 1]))) first.push_back(order[i]);
    group[order[i]] = static_cast<u32>(first.size()) - 1;
  }
  Table table;
  table.rows = static_cast<u32>(first.size());
  table.columns = static_cast<u32>(columns);
  table.classes = static_cast<u32>(classes);
  table.prices.assign(classes * table.rows, 0);
  table.weights.assign(classes * table.rows, 0);
  table.weight.assign(table.rows, 0);
  table.rates.resize(positive.size());
  for (std::size_t r = 0; r < positive.size(); ++r) {
    table.rates[r] = {positive[r], least[r], std::vector<double>(table.rows, 0)};
    for (std::size_t i = 0; i < n; ++i) table.rates[r].coefficients[group[i]] += coefficients[r * n + i];
  }
  for (std::size_t i = 0; i < n; ++i) {
    look();
    for (std::size_t c = 0; c < classes; ++c) {
      table.prices[c * table.rows + group[i]] += static_cast<double>(prices[i * classes + c]);
      table.weights[c * table.rows + group[i]] += static_cast<double>(weights[i * classes + c]);
      table.weight[group[i]] += static_cast<double>(weights[i * classes + c]);
    }
  }
  table.ranks.resize(columns * table.rows);
  table.orders.resize(columns * table.rows);
  table.cuts.resize(columns);
  table.tests.resize(columns);
  table.given.resize(columns);
  table.few.resize(columns);
  table.few_high.assign(columns, 0);
  i64 begin = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    u32* const sorted = table.orders.data() + j * table.rows;
    int* const dense = table.ranks.data() + j * table.rows;
    const auto given = [&](u32 g) { return row(first[g])[j]; };
    std::iota(sorted, sorted + table.rows, 0u);
    std::stable_sort(sorted, sorted + table.rows, [&](u32 a, u32 b) {
      look();
      return given(a) < given(b);
    });
    auto& tests = table.tests[j];
    tests.push_back(table.rows > 0 && given(sorted[0]) > 0 ? begin : -1);
    int rank = -1;
    for (u32 i = 0; i < table.rows; ++i) {
      const auto value = given(sorted[i]);
      if (i == 0 || value != given(sorted[i - 1])) {
        ++rank;
        table.given[j].push_back(value);
        tests.push_back(value < tests_of[j] ? begin + value : -1);
      }
      dense[sorted[i]] = rank;
    }
    table.cuts[j] = std::max(rank, 0);
    if (rank == 1) {
      const auto high = static_cast<u32>(std::count(dense, dense + table.rows, 1));
      table.few_high[j] = 2 * high <= table.rows;
      for (u32 g = 0; g < table.rows; ++g)
        if ((dense[g] == 1) == (table.few_high[j] != 0)) table.few[j].push_back(g);
    }
    begin += tests_of[j];
  }
  return table;
}

Skeleton::Skeleton(std::vector<u32> given) : widths(std::move(given)), begin(1, 0) {
  for (u32 l = 0; l < widths.size(); ++l) {
    begin.push_back(begin.back() + widths[l]);
    layer_of.insert(layer_of.end(), widths[l], l);
  }
  max_splits = slots();
}

Flow::Flow(const Table& table, const Skeleton& skeleton)
    : table_(table), skeleton_(skeleton), rows_(skeleton.slots()), ends_(table.rows), named_(skeleton.slots()) {}

void Flow::route(Shape& shape) {
  const u32 slots = skeleton_.slots();
  std::fill(named_.begin(), named_.end(), 0);
  named_[0] = 1;
  splits_ = 0;
  for (u32 s = 0; s < slots; ++s) {
    Node& node = shape.nodes[s];
    rows_[s].clear();
    if (!named_[s]) node.column = -1;
    if (!node.used()) continue;
    ++splits_;
    if (node.low >= 0) named_[static_cast<u32>(node.low)] = 1;
    if (node.high >= 0) named_[static_cast<u32>(node.high)] = 1;
  }
  if (shape.leaf()) {
    std::fill(ends_.begin(), ends_.end(), static_cast<u32>(shape.constant));
    return;
  }
  for (u32 g = 0; g < table_.rows; ++g) {
    int at = 0;
    while (at >= 0) {
      const Node& node = shape.nodes[static_cast<u32>(at)];
      rows_[static_cast<u32>(at)].push_back(g);
      at = table_.column(node.column)[g] <= node.cut ? node.low : node.high;
    }
    ends_[g] = static_cast<u32>(~at);
  }
}

void Flow::mend(Shape& shape) {
  while (true) {
    route(shape);
    bool changed = false;
    for (u32 s = 0; s < skeleton_.slots() && !changed; ++s) {
      Node& node = shape.nodes[s];
      if (!node.used()) continue;
      if (skeleton_.tree && node.low == node.high && node.low >= 0) {
        part(node, rows_[s]);
        changed = true;
      } else if (rows_[s].empty() || weight_of(rows_[s]) < skeleton_.min_weight ||
                 (node.low == node.high && node.low < 0)) {
        redirect(shape, skeleton_, s, ~static_cast<int>(cheapest(rows_[s])));
        changed = true;
      }
    }
    if (!changed) return;
  }
}

// Two arcs to one node, which no tree has: the one with less weight goes to a terminal.
void Flow::part(Node& node, const std::vector<u32>& rows) const {
  std::vector<u32> sides[2];
  for (const u32 g : rows) sides[table_.column(node.column)[g] > node.cut].push_back(g);
  const bool low = weight_of(sides[0]) < weight_of(sides[1]);
  (low ? node.low : node.high) = ~static_cast<int>(cheapest(sides[low ? 0 : 1]));
}

void Flow::redirect(Shape& shape, const Skeleton& skeleton, u32 slot, int target) {
  shape.nodes[slot].column = -1;
  if (slot == 0) {
    shape.constant = ~target;
    return;
  }
  const u32 above = skeleton.layer_of[slot] - 1;
  for (u32 s = skeleton.begin[above]; s < skeleton.begin[above + 1]; ++s) {
    Node& node = shape.nodes[s];
    if (!node.used()) continue;
    if (node.low == static_cast<int>(slot)) node.low = target;
    if (node.high == static_cast<int>(slot)) node.high = target;
  }
}

double Flow::weight_of(const std::vector<u32>& rows) const {
  double sum = 0;
  for (const u32 g : rows) sum += table_.weight[g];
  return sum;
}

u32 Flow::cheapest(const std::vector<u32>& rows, double* price) const {
  u32 best = 0;
  double least = kInfinite;
  for (u32 c = 0; c < table_.classes; ++c) {
    const double* const prices = table_.price(c);
    double sum = 0;
    for (const u32 g : rows) sum += prices[g];
    if (sum < least) least = sum, best = c;
  }
  if (price != nullptr) *price = least;
  return best;
}

double Flow::cost() const {
  double sum = skeleton_.price_of(splits_);
  for (u32 g = 0; g < table_.rows; ++g) sum += table_.price(ends_[g])[g];
  return sum;
}

bool Flow::fair() const {
  return std::all_of(table_.rates.begin(), table_.rates.end(), [&](const Fairness& rate) {
    double sum = 0;
    for (u32 g = 0; g < table_.rows; ++g)
      if (ends_[g] == rate.positive) sum += rate.coefficients[g];
    return sum >= rate.least;
  });
}

bool Best::offer(const Shape& candidate, double price, bool meets) {
  if (fair && !meets) return false;
  if (cost < kInfinite && fair == meets && price >= cost) return false;
  shape = candidate;
  cost = price;
  fair = meets;
  return true;
}

}  // namespace proofwood::diagram
