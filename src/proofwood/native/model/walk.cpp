#include "model/walk.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace proofwood::walk {

namespace {

// `row` is the first value of a row, and its columns lie `apart`.
bool goes_low(const Graph& graph, const double* row, i64 apart, i64 node) {
  double value;
  if (graph.feature[node] == kOblique) {
    value = 0.0;  // summed up in this order, each product rounded: CMakeLists.txt forbids to contract them
    for (i64 i = graph.sum_begin[node]; i < graph.sum_begin[node + 1]; ++i)
      value += graph.sum_values[i] * row[graph.sum_columns[i] * apart];
  } else {
    value = row[graph.feature[node] * apart];
  }
  if (std::isnan(value)) return graph.missing_low[node] != 0;
  if (graph.by_levels[node] != 0)
    return std::binary_search(graph.codes + graph.codes_begin[node], graph.codes + graph.codes_begin[node + 1], value);
  return value <= graph.threshold[node];
}

// Values are read where they lie, with strides: copying blocks of rows first was slower than NumPy where columns lie
// together: decisions/0016-rows-walk-in-native-code.
i64 step(const Graph& graph, const double* row, i64 apart, i64 node) {
  return goes_low(graph, row, apart, node) ? graph.low[node] : graph.high[node];
}

// Whether begin[0..nodes] are the bounds of pieces of an array of this size.
bool parts(const i64* begin, std::size_t nodes, std::size_t size) {
  return begin[0] == 0 && std::is_sorted(begin, begin + nodes + 1) && begin[nodes] == static_cast<i64>(size);
}

}  // namespace

void check(const Graph& graph, std::size_t columns, std::size_t codes, std::size_t sums) {
  const auto n = static_cast<i64>(graph.nodes), p = static_cast<i64>(columns);
  if (n == 0) throw std::invalid_argument("a table without a node");
  if (!parts(graph.codes_begin, graph.nodes, codes) || !parts(graph.sum_begin, graph.nodes, sums))
    throw std::invalid_argument("the codes or sums of the nodes do not fit the nodes");
  if (std::any_of(graph.sum_columns, graph.sum_columns + sums, [&](i64 column) { return column < 0 || column >= p; }))
    throw std::invalid_argument("a weighted sum names a column that is not there");
  for (i64 node = 0; node < n; ++node) {
    const i64 feature = graph.feature[node];
    if (feature == kLeaf) continue;
    if (feature != kOblique && (feature < 0 || feature >= p))
      throw std::invalid_argument("a node tests a column that is not there");
    for (const i64 child : {graph.low[node], graph.high[node]})
      if (child <= node || child >= n) throw std::invalid_argument("a child does not come after its parent");
  }
}

void leaves(const Graph& graph, const Values& x, i64* leaf) {
  for (std::size_t r = 0; r < x.rows; ++r) {
    const double* const row = x.first + static_cast<i64>(r) * x.row_step;
    i64 node = 0;
    while (graph.feature[node] != kLeaf) node = step(graph, row, x.column_step, node);
    leaf[r] = node;
  }
}

Paths paths(const Graph& graph, const Values& x) {
  Paths found;
  found.begin.reserve(x.rows + 1);
  found.begin.push_back(0);
  for (std::size_t r = 0; r < x.rows; ++r) {
    const double* const row = x.first + static_cast<i64>(r) * x.row_step;
    i64 node = 0;
    found.nodes.push_back(node);
    while (graph.feature[node] != kLeaf) found.nodes.push_back(node = step(graph, row, x.column_step, node));
    found.begin.push_back(static_cast<i64>(found.nodes.size()));
  }
  return found;
}

void add_visits(const Graph& graph, const Values& x, const i64* codes, const double* weights, std::size_t classes,
                double* weight, i64* visits) {
  for (std::size_t r = 0; r < x.rows; ++r) {
    const double* const row = x.first + static_cast<i64>(r) * x.row_step;
    const auto add = [&](i64 node) {
      weight[static_cast<std::size_t>(node) * classes + static_cast<std::size_t>(codes[r])] += weights[r];
      ++visits[node];
    };
    i64 node = 0;
    add(node);
    while (graph.feature[node] != kLeaf) add(node = step(graph, row, x.column_step, node));
  }
}

void add_neighbours(const Graph& graph, const Values& x, double* below, double* above) {
  for (std::size_t r = 0; r < x.rows; ++r) {
    const double* const row = x.first + static_cast<i64>(r) * x.row_step;
    for (i64 node = 0; graph.feature[node] != kLeaf; node = step(graph, row, x.column_step, node)) {
      if (graph.feature[node] == kOblique || graph.by_levels[node] != 0) continue;
      const double value = row[graph.feature[node] * x.column_step];
      if (value <= graph.threshold[node]) below[node] = std::fmax(below[node], value);
      if (value > graph.threshold[node]) above[node] = std::fmin(above[node], value);
    }
  }
}

}  // namespace proofwood::walk
