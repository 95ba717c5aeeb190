// Python face of the search for hyperplanes.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/settings.hpp"
#include "diagram/anneal.hpp"
#include "diagram/hyperplane.hpp"
#include "diagram/planes.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace anneal = proofwood::diagram::anneal;
namespace plane = proofwood::diagram::plane;

namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Line = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Prices = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<std::pair<proofwood::i64, std::vector<double>>> hyperplane(const Matrix& rows, const Prices& extra,
                                                                       const Matrix& heads, proofwood::u64 seed,
                                                                       std::size_t steps, std::size_t patience,
                                                                       double seconds) {
  if (extra.shape(0) != rows.shape(0)) throw std::invalid_argument("rows and extra differ in length");
  if (heads.shape(1) != rows.shape(1)) throw std::invalid_argument("rows and heads differ in their number of columns");
  std::vector<std::vector<double>> begins;
  for (std::size_t k = 0; k < heads.shape(0); ++k)
    begins.emplace_back(heads.data() + k * heads.shape(1), heads.data() + (k + 1) * heads.shape(1));
  const plane::Rows given{rows.data(), extra.data(), rows.shape(0), rows.shape(1)};
  std::vector<plane::Found> found;
  bool interrupted = false;
  {
    const nb::gil_scoped_release release;
    const auto look = [&] {
      const nb::gil_scoped_acquire acquire;
      interrupted = PyErr_CheckSignals() != 0;
      return interrupted;
    };
    found = plane::search(given, begins, {seed, steps, patience, seconds, look});
  }
  if (interrupted) nb::raise_python_error();
  std::vector<std::pair<proofwood::i64, std::vector<double>>> result;
  for (auto& one : found) result.emplace_back(one.loss, std::move(one.head));
  return result;
}

std::pair<proofwood::i64, double> hyperplane_step(const Line& height, const Line& slope, const Prices& extra,
                                                  proofwood::u64 seed) {
  if (height.shape(0) != slope.shape(0) || height.shape(0) != extra.shape(0))
    throw std::invalid_argument("rows differ in number");
  plane::Crossings crossings;
  std::mt19937_64 random(seed);
  return plane::best_step(height.data(), slope.data(), extra.data(), height.shape(0), crossings, random);
}

using Costs = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::dict annealed(const Matrix& columns, const Costs& costs, const nb::dict& given) {
  if (columns.shape(0) != costs.shape(0))
    throw std::invalid_argument("columns and costs differ in their number of rows");
  if (columns.shape(0) == 0 || columns.shape(1) == 0 || costs.shape(1) == 0)
    throw std::invalid_argument("there is no row, no column, or no class");
  proofwood::SettingsReader reader(given);
  anneal::Settings settings;
  settings.layers = reader.need<int>("layers", 1, 12);
  settings.node_price = reader.need<proofwood::i64>("node_price", 0);
  settings.unit = reader.need<double>("unit");
  settings.margin = reader.need<double>("margin");
  settings.box = reader.need<bool>("box");
  settings.seconds = reader.need<double>("seconds");
  settings.cycle = reader.need<double>("cycle");
  settings.seed = reader.need<proofwood::u64>("seed");
  reader.finish();
  if (!(settings.unit > 0) || !(settings.cycle > 0)) throw std::invalid_argument("unit and cycle must be positive");
  const anneal::Rows rows{columns.data(), costs.data(), columns.shape(0), columns.shape(1), costs.shape(1)};
  std::atomic<int> stop{proofwood::kRunning};
  anneal::Found found;
  proofwood::run_watched([&] { found = anneal::Annealing(rows, settings, stop).run(); }, stop, std::nullopt, {});
  nb::dict result;
  result["stopped"] = stop.load();
  result["normals"] = found.tree.normal;
  result["offsets"] = found.tree.offset;
  result["labels"] = found.tree.label;
  result["cost"] = found.cost;
  result["moves"] = found.moves;
  return result;
}

std::optional<proofwood::i64> most_right(const Costs& coordinates, const Costs& weights, double seconds) {
  namespace planes = proofwood::diagram::planes;
  if (coordinates.shape(0) != weights.shape(0) || coordinates.shape(0) == 0)
    throw std::invalid_argument("coordinates and weights differ in their number of points, or there is none");
  const std::size_t n = coordinates.shape(0), d = coordinates.shape(1);
  if (d < 1 || d > planes::kMostCoordinates) throw std::invalid_argument("expected one to three coordinates");
  std::vector<planes::Point> points(n, planes::Point{});
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < d; ++j) {
      points[i][j] = coordinates.data()[i * d + j];
      if (std::abs(points[i][j]) > planes::kLargest) throw std::invalid_argument("a coordinate is too large");
    }
  std::vector<planes::Point> sorted = points;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    throw std::invalid_argument("two points are equal");
  std::atomic<int> stop{proofwood::kRunning};
  std::optional<proofwood::i64> found;
  proofwood::run_watched(
      [&] { found = planes::most_right(points, static_cast<int>(d), weights.data(), weights.shape(1), stop); }, stop,
      seconds, {});
  if (stop.load() == proofwood::kInterrupt) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    nb::raise_python_error();
  }
  return found;
}

}  // namespace

void proofwood::bind_hyperplane(nb::module_& module) {
  module.def("hyperplane", &hyperplane, "rows"_a, "extra"_a, "heads"_a, "seed"_a, "steps"_a, "patience"_a, "seconds"_a,
             "Hyperplanes of small loss, for (n_rows, n_features + 1) float64 rows and (n_rows,) int64 extra prices.");
  module.def("hyperplane_step", &hyperplane_step, "height"_a, "slope"_a, "extra"_a, "seed"_a,
             "Least loss, and a step that attains it, of a hyperplane moved along a line.");
  module.def(
      "anneal_hyperplanes", &annealed, "columns"_a, "costs"_a, "settings"_a,
      "A perfect tree of hyperplanes of small cost, for (n_rows, n_columns) columns and (n_rows, n_classes) costs.");
  module.def("most_right_by_a_plane", &most_right, "coordinates"_a, "weights"_a, "seconds"_a,
             "Most weight right by one hyperplane, for (n_points, 1 to 3) int64 coordinates; None if time was up.");
}
