// Python face of the walk of rows down a table of tests.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <stdexcept>

#include "common/arrays.hpp"
#include "common/bindings.hpp"
#include "model/walk.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace walk = proofwood::walk;
using proofwood::i64;
using proofwood::u8;

namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using Reals = proofwood::Array<double, 1>;
using Integers = proofwood::Array<i64, 1>;
using Flags = proofwood::Array<u8, 1>;
using proofwood::owned;

// The arrays of a NodeTable, checked against rows of this many columns.
class Table {
 public:
  Table(const Integers& feature, const Reals& threshold, const Integers& low, const Integers& high,
        const Flags& missing_low, const Flags& by_levels, const Integers& codes_begin, const Reals& codes,
        const Integers& sum_begin, const Integers& sum_columns, const Reals& sum_values)
      : feature_(feature),
        threshold_(threshold),
        low_(low),
        high_(high),
        missing_low_(missing_low),
        by_levels_(by_levels),
        codes_begin_(codes_begin),
        codes_(codes),
        sum_begin_(sum_begin),
        sum_columns_(sum_columns),
        sum_values_(sum_values) {
    const std::size_t n = feature.shape(0);
    for (const std::size_t size :
         {threshold.shape(0), low.shape(0), high.shape(0), missing_low.shape(0), by_levels.shape(0)})
      if (size != n) throw std::invalid_argument("the arrays of the table differ in length");
    if (codes_begin.shape(0) != n + 1 || sum_begin.shape(0) != n + 1 || sum_columns.shape(0) != sum_values.shape(0))
      throw std::invalid_argument("the codes or sums of the nodes do not fit the nodes");
  }

  walk::Graph graph(const Matrix& x) const {
    const walk::Graph graph{feature_.shape(0), feature_.data(),     threshold_.data(),   low_.data(),
                            high_.data(),      missing_low_.data(), by_levels_.data(),   codes_begin_.data(),
                            codes_.data(),     sum_begin_.data(),   sum_columns_.data(), sum_values_.data()};
    walk::check(graph, x.shape(1), codes_.shape(0), sum_values_.shape(0));
    return graph;
  }

 private:
  Integers feature_;
  Reals threshold_;
  Integers low_, high_;
  Flags missing_low_, by_levels_;
  Integers codes_begin_;
  Reals codes_;
  Integers sum_begin_, sum_columns_;
  Reals sum_values_;
};

walk::Values values(const Matrix& x) { return {x.data(), x.shape(0), x.shape(1), x.stride(0), x.stride(1)}; }

nb::ndarray<nb::numpy, i64> leaves(const Table& table, const Matrix& x) {
  const walk::Graph graph = table.graph(x);
  std::vector<i64> leaf(x.shape(0));
  {
    const nb::gil_scoped_release release;
    walk::leaves(graph, values(x), leaf.data());
  }
  return owned(std::move(leaf));
}

nb::tuple paths(const Table& table, const Matrix& x) {
  const walk::Graph graph = table.graph(x);
  walk::Paths found;
  {
    const nb::gil_scoped_release release;
    found = walk::paths(graph, values(x));
  }
  return nb::make_tuple(owned(std::move(found.begin)), owned(std::move(found.nodes)));
}

using Sums = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<i64, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void add_visits(const Table& table, const Matrix& x, const Integers& codes, const Reals& weights, const Sums& weight,
                const Counts& visits) {
  const walk::Graph graph = table.graph(x);
  const std::size_t rows = x.shape(0), classes = weight.shape(1);
  if (codes.shape(0) != rows || weights.shape(0) != rows)
    throw std::invalid_argument("codes and weights do not fit the rows");
  if (weight.shape(0) != graph.nodes || visits.shape(0) != graph.nodes)
    throw std::invalid_argument("the sums do not fit the nodes");
  if (std::any_of(codes.data(), codes.data() + rows,
                  [&](i64 code) { return code < 0 || code >= static_cast<i64>(classes); }))
    throw std::invalid_argument("a code names a class that is not there");
  const nb::gil_scoped_release release;
  walk::add_visits(graph, values(x), codes.data(), weights.data(), classes, weight.data(), visits.data());
}

using Bounds = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void add_neighbours(const Table& table, const Matrix& x, const Bounds& below, const Bounds& above) {
  const walk::Graph graph = table.graph(x);
  if (below.shape(0) != graph.nodes || above.shape(0) != graph.nodes)
    throw std::invalid_argument("the bounds do not fit the nodes");
  const nb::gil_scoped_release release;
  walk::add_neighbours(graph, values(x), below.data(), above.data());
}

}  // namespace

void proofwood::bind_walk(nb::module_& module) {
  nb::class_<Table>(module, "Walker", "Walks rows down a table of tests: the arrays of a NodeTable.")
      .def(nb::init<Integers, Reals, Integers, Integers, Flags, Flags, Integers, Reals, Integers, Integers, Reals>(),
           "feature"_a, "threshold"_a, "low"_a, "high"_a, "missing_low"_a, "by_levels"_a, "codes_begin"_a, "codes"_a,
           "sum_begin"_a, "sum_columns"_a, "sum_values"_a)
      .def("leaves", &leaves, "x"_a,
           "(n_rows,) leaf of each row of (n_rows, n_columns) values, in any order in memory.")
      .def("paths", &paths, "x"_a,
           "Where the nodes of each row begin (n_rows + 1,), and the nodes that the rows visit, row by row.")
      .def("add_visits", &add_visits, "x"_a, "codes"_a, "weights"_a, "weight"_a, "visits"_a,
           "Add weights and numbers of rows to the nodes on their paths: weight (n_nodes, n_classes), visits "
           "(n_nodes,).")
      .def("add_neighbours", &add_neighbours, "x"_a, "below"_a, "above"_a,
           "Raise below and lower above to the values next to the threshold of each node, of the rows that reach it.");
}
