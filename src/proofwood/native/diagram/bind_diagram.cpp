// Python face of the construction and the local search of layered diagrams.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>

#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/settings.hpp"
#include "diagram/diagram.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using proofwood::kRunning;
namespace diagram = proofwood::diagram;
using proofwood::i64;
using proofwood::u32;

namespace {

using Ranks = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cuts = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Reals = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

diagram::Skeleton read_skeleton(proofwood::SettingsReader& given) {
  diagram::Skeleton skeleton(given.list<u32>("widths"));
  skeleton.node_price = given.need<double>("node_price");
  skeleton.min_weight = given.need<double>("min_weight");
  skeleton.max_splits = std::min(skeleton.slots(), given.need<u32>("max_splits"));
  skeleton.tree = given.need<bool>("tree");
  return skeleton;
}

// The arrays that a table is made of, and the fairness constraints; checked here, made within the watch.
class GivenTable {
 public:
  GivenTable(const Ranks& ranks, const Cuts& tests_of, const Integers& prices, const Integers& weights,
             const Reals& coefficients, proofwood::SettingsReader& given)
      : ranks_(ranks),
        tests_of_(tests_of),
        prices_(prices),
        weights_(weights),
        coefficients_(coefficients),
        positive_(given.list<u32>("positive")),
        least_(given.list<double>("least")) {
    const std::size_t n = ranks.shape(0);
    if (prices.shape(0) != n || weights.shape(0) != n)
      throw std::invalid_argument("ranks, prices and weights differ in length");
    if (prices.shape(1) != weights.shape(1) || prices.shape(1) == 0)
      throw std::invalid_argument("prices and weights differ in their classes");
    if (tests_of.shape(0) != ranks.shape(1))
      throw std::invalid_argument("ranks and tests_of differ in their number of columns");
    if (coefficients.shape(0) != positive_.size() || least_.size() != positive_.size() || coefficients.shape(1) != n)
      throw std::invalid_argument("the fairness constraints do not fit the rows");
  }

  diagram::Table make(const std::atomic<int>& stop) const {
    return diagram::make_table(ranks_.data(), ranks_.shape(0), ranks_.shape(1), tests_of_.data(), prices_.data(),
                               weights_.data(), prices_.shape(1), coefficients_.data(), positive_, least_, stop);
  }

 private:
  const Ranks& ranks_;
  const Cuts& tests_of_;
  const Integers& prices_;
  const Integers& weights_;
  const Reals& coefficients_;
  std::vector<u32> positive_;
  std::vector<double> least_;
};

nb::dict as_dict(const diagram::Best& best, const diagram::Table& table, const diagram::Skeleton& skeleton) {
  if (best.shape.nodes.size() != skeleton.slots()) throw std::bad_alloc();  // memory ended before the first diagram
  std::vector<int> place(skeleton.slots(), -1);
  int number = 0;
  for (u32 s = 0; s < skeleton.slots(); ++s)
    if (best.shape.nodes[s].used()) place[s] = number++;
  nb::list layer, low, high, test;
  const auto moved = [&](int target) { return target < 0 ? target : place[static_cast<u32>(target)]; };
  for (u32 s = 0; s < skeleton.slots(); ++s) {
    const diagram::Node& node = best.shape.nodes[s];
    if (!node.used()) continue;
    layer.append(skeleton.layer_of[s]);
    low.append(moved(node.low));
    high.append(moved(node.high));
    test.append(table.tests[static_cast<u32>(node.column)][static_cast<u32>(node.cut + 1)]);
  }
  nb::dict result;
  result["layer"] = nb::tuple(layer);
  result["low"] = nb::tuple(low);
  result["high"] = nb::tuple(high);
  result["test"] = nb::tuple(test);
  result["constant"] = best.shape.constant;
  result["cost"] = best.cost;
  result["fair"] = best.fair;
  return result;
}

nb::dict construct_layered(const Ranks& ranks, const Cuts& tests_of, const Integers& prices, const Integers& weights,
                           const Reals& coefficients, const nb::dict& settings, std::optional<double> seconds) {
  proofwood::SettingsReader given(settings);
  const diagram::Skeleton skeleton = read_skeleton(given);
  const auto seed = given.need<std::uint64_t>("seed");
  const auto starts = given.need<std::uint64_t>("starts");
  const auto share = given.need<double>("share");
  std::atomic<int> stop{kRunning};
  const GivenTable arrays(ranks, tests_of, prices, weights, coefficients, given);
  given.finish();
  diagram::Table table;
  diagram::Best best;
  bool begun = false;
  const auto work = [&] {
    try {
      table = arrays.make(stop);
    } catch (const diagram::Unfinished&) {
      return;
    }
    begun = true;
    best = diagram::construct_many(table, skeleton, seed, starts, share, stop);
  };
  const double took = proofwood::run_watched(work, stop, seconds, {});
  nb::dict result;
  if (begun) result = as_dict(best, table, skeleton);
  result["begun"] = begun;
  result["stopped"] = stop.load();
  result["seconds"] = took;
  result["starts"] = best.starts;
  return result;
}

int read_target(int target, const std::vector<u32>& slot_of, u32 classes) {
  if (target >= 0 ? static_cast<std::size_t>(target) >= slot_of.size() : ~target >= static_cast<int>(classes))
    throw std::invalid_argument("an arc of the start leads nowhere");
  return target >= 0 ? static_cast<int>(slot_of[static_cast<u32>(target)]) : target;
}

struct Start {
  std::vector<u32> layer;
  std::vector<int> low, high, column, cut;
  int constant;
};

Start read_start(const nb::dict& given) {
  proofwood::SettingsReader reader(given);
  Start start{reader.list<u32>("layer"),  reader.list<int>("low"), reader.list<int>("high"),
              reader.list<int>("column"), reader.list<int>("cut"), reader.need<int>("constant")};
  reader.finish();
  return start;
}

diagram::Shape read_shape(const Start& start, const diagram::Table& table, const diagram::Skeleton& skeleton) {
  const auto& [layer, low, high, column, cut, constant] = start;
  diagram::Shape shape;
  shape.nodes.resize(skeleton.slots());
  shape.constant = constant;
  std::vector<u32> slot_of, filled(skeleton.layers(), 0);
  for (const u32 l : layer) {
    if (l >= skeleton.layers() || filled[l] == skeleton.widths[l])
      throw std::invalid_argument("the start does not fit the skeleton");
    slot_of.push_back(skeleton.begin[l] + filled[l]++);
  }
  for (std::size_t i = 0; i < layer.size(); ++i) {
    if (column[i] < 0 || static_cast<u32>(column[i]) >= table.columns)
      throw std::invalid_argument("the start names a column that is not there");
    // Tests that part the rows alike are one cut.
    const auto& values = table.given[static_cast<u32>(column[i])];
    const auto rank = std::upper_bound(values.begin(), values.end(), cut[i]) - values.begin();
    shape.nodes[slot_of[i]] = {column[i], static_cast<int>(rank) - 1, read_target(low[i], slot_of, table.classes),
                               read_target(high[i], slot_of, table.classes)};
  }
  return shape;
}

nb::dict improve_layered(const Ranks& ranks, const Cuts& tests_of, const Integers& prices, const Integers& weights,
                         const Reals& coefficients, const nb::dict& settings, const nb::dict& start,
                         std::optional<double> seconds) {
  proofwood::SettingsReader given(settings);
  const diagram::Skeleton skeleton = read_skeleton(given);
  const auto seed = given.need<std::uint64_t>("seed");
  const diagram::Effort effort{given.need<std::uint64_t>("rounds"), given.need<double>("target")};
  std::atomic<int> stop{kRunning};
  const GivenTable arrays(ranks, tests_of, prices, weights, coefficients, given);
  given.finish();
  const Start begin = read_start(start);
  diagram::Table table;
  diagram::Progressed found;
  bool begun = false;
  const auto work = [&] {
    try {
      table = arrays.make(stop);
    } catch (const diagram::Unfinished&) {
      return;
    }
    const diagram::Shape shape = read_shape(begin, table, skeleton);
    begun = true;
    found = diagram::improve(table, skeleton, shape, seed, effort, stop);
  };
  const double took = proofwood::run_watched(work, stop, seconds, {});
  nb::dict result;
  if (begun) result = as_dict(found.best, table, skeleton);
  result["begun"] = begun;
  result["stopped"] = stop.load();
  result["seconds"] = took;
  result["rounds"] = found.rounds;
  result["nodes"] = found.nodes;
  result["pairs"] = found.pairs;
  return result;
}

}  // namespace

void proofwood::bind_diagram(nb::module_& module) {
  module.def("construct_layered", &construct_layered, "ranks"_a, "tests_of"_a, "prices"_a, "weights"_a,
             "coefficients"_a, "settings"_a, "seconds"_a.none(),
             "Best of many top-down constructions, for (n, n_columns) int32 ranks and (n, n_classes) int64 prices and "
             "weights.");
  module.def("improve_layered", &improve_layered, "ranks"_a, "tests_of"_a, "prices"_a, "weights"_a, "coefficients"_a,
             "settings"_a, "start"_a, "seconds"_a.none(), "Local search from a diagram, for the same arrays.");
}
