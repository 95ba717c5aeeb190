// Python face of trees whose tests are literals over the cells of the grid.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/arrays.hpp"
#include "common/bindings.hpp"
#include "votes/cell_trees.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace votes = proofwood::votes;
using proofwood::i32;
using proofwood::i64;
using proofwood::u8;

namespace {

using proofwood::owned;
using Integers = proofwood::Array<i64, 1>;
using Flags = proofwood::Array<u8, 1>;
using Table = proofwood::Array<i64, 2>;

votes::CellTrees made(const Integers& thresholds, const Integers& begins, const Integers& literals, const Flags& inner,
                      const Integers& low, const Integers& high) {
  const std::size_t n = literals.shape(0);
  for (const std::size_t size : {inner.shape(0), low.shape(0), high.shape(0)})
    if (size != n) throw std::invalid_argument("the arrays of the nodes differ in length");
  const i64* const last = begins.data() + begins.shape(0);
  if (begins.shape(0) == 0 || begins.data()[0] != 0 || !std::is_sorted(begins.data(), last) ||
      last[-1] != static_cast<i64>(n) || n > static_cast<std::size_t>(std::numeric_limits<i32>::max()))
    throw std::invalid_argument("the trees do not fit the nodes");
  votes::CellTrees::Given given;
  for (std::size_t c = 0; c < thresholds.shape(0); ++c) {
    if (thresholds.data()[c] < 0 || thresholds.data()[c] > std::numeric_limits<i32>::max() - 1)
      throw std::invalid_argument("a column has less than no threshold, or too many");
    given.cells.push_back(static_cast<i32>(thresholds.data()[c]));
  }
  given.begins.assign(begins.data(), last);
  given.literals = literals.data();
  given.inner = inner.data();
  given.low = low.data();
  given.high = high.data();
  const nb::gil_scoped_release release;
  return votes::CellTrees(given);
}

nb::tuple leaves(const votes::CellTrees& trees) {
  votes::CellTrees::Leaves found;
  {
    const nb::gil_scoped_release release;
    found = trees.leaves();
  }
  return nb::make_tuple(owned(std::move(found.counts)), owned(std::move(found.nodes)), owned(std::move(found.sizes)),
                        owned(std::move(found.needs)));
}

nb::ndarray<nb::numpy, i64> reached(const votes::CellTrees& trees, const Table& cells) {
  const std::size_t rows = cells.shape(0);
  if (cells.shape(1) != trees.columns()) throw std::invalid_argument("the cells do not fit the columns");
  std::vector<i64> found;
  {
    const nb::gil_scoped_release release;
    found.reserve(rows * trees.trees());
    for (std::size_t tree = 0; tree < trees.trees(); ++tree)
      for (std::size_t row = 0; row < rows; ++row)
        found.push_back(trees.reached(tree, cells.data() + row * trees.columns()));
  }
  return owned(std::move(found), {trees.trees(), rows});
}

nb::ndarray<nb::numpy, i64> sums(const votes::CellTrees& trees, const Table& cells, const Table& values,
                                 const Integers& base) {
  const std::size_t rows = cells.shape(0), scores = values.shape(1);
  if (cells.shape(1) != trees.columns()) throw std::invalid_argument("the cells do not fit the columns");
  if (values.shape(0) != trees.nodes() || base.shape(0) != scores || scores == 0)
    throw std::invalid_argument("the values do not fit the nodes, or the base the values");
  std::vector<i64> found;
  found.reserve(rows * scores);
  for (std::size_t row = 0; row < rows; ++row) found.insert(found.end(), base.data(), base.data() + scores);
  {
    const nb::gil_scoped_release release;
    trees.add_sums(cells.data(), rows, values.data(), scores, found.data());
  }
  return owned(std::move(found), {rows, scores});
}

}  // namespace

void proofwood::bind_cells(nb::module_& module) {
  nb::class_<votes::CellTrees>(module, "CellTrees", "Trees whose tests are literals over the cells of the grid.")
      .def(
          "__init__",
          [](votes::CellTrees* self, const Integers& thresholds, const Integers& begins, const Integers& literals,
             const Flags& inner, const Integers& low, const Integers& high) {
            new (self) votes::CellTrees(made(thresholds, begins, literals, inner, low, high));
          },
          "thresholds"_a, "begins"_a, "literals"_a, "inner"_a, "low"_a, "high"_a)
      .def("leaves", &leaves,
           "Leaves that some cells reach: their number per tree, their nodes, the number of needs of each, and these.")
      .def("reached", &reached, "cells"_a,
           "(n_trees, n_rows) the leaf that each row gets to in each tree, for (n_rows, n_columns) cells.")
      .def("sums", &sums, "cells"_a, "values"_a, "base"_a,
           "(n_rows, n_scores) the base and what the leaves of all trees have, for (n_rows, n_columns) cells.");
}
