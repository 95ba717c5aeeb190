// Python face of the search for monotone trees: settings in, an answer out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>

#include "common/arrays.hpp"
#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/settings.hpp"
#include "common/simd.hpp"
#include "trees/monotone/search.hpp"
#include "trees/monotone/table.hpp"

namespace nb = nanobind;
namespace trees = proofwood::trees;
namespace monotone = proofwood::trees::monotone;
using namespace nb::literals;
using proofwood::i64;
using proofwood::kRunning;

namespace {

struct Asked {
  trees::Settings settings;
  monotone::MonotoneRules rules;
  i64 known = 0;
};

Asked read(const nb::dict& given) {
  Asked asked;
  proofwood::SettingsReader reader(given);
  trees::Settings& settings = asked.settings;
  settings.max_depth = reader.need<int>("max_depth", 0);
  settings.prices.error = reader.need<i64>("error_price", 1);
  settings.prices.leaf = reader.need<i64>("leaf_price", 0);
  settings.minimum.rows = reader.get("min_rows", settings.minimum.rows);
  settings.minimum.mass = reader.get("min_weight", settings.minimum.mass);
  settings.gap = reader.get<i64>("gap", 0, 0);
  settings.start_upper = reader.get("start_upper", settings.start_upper);
  asked.known = reader.get<i64>("known", 0, 0);
  asked.rules.alone = reader.get("alone", true);
  asked.rules.dominance = reader.get("dominance", true);
  asked.rules.memory = reader.get("memory", true);
  reader.finish();
  settings.isa = proofwood::chosen_isa(proofwood::kAuto);
  return asked;
}

nb::dict solve_monotone_tree(const proofwood::Array<double, 2>& x, const proofwood::Array<int, 1>& labels,
                             const proofwood::Array<i64, 1>& weights, const std::vector<int>& directions,
                             const nb::dict& given, std::optional<double> seconds, const nb::object& progress) {
  const std::size_t n = x.shape(0);
  if (labels.shape(0) != n || weights.shape(0) != n)
    throw std::invalid_argument("x, labels and weights differ in length");
  if (directions.size() != x.shape(1)) throw std::invalid_argument("expected a direction for each column");
  const Asked asked = read(given);
  const auto started = monotone::MonotoneRun::Clock::now();
  std::atomic<int> stop{kRunning};
  std::unique_ptr<monotone::MonotoneSearch> search;
  std::atomic<monotone::MonotoneSearch*> running{nullptr};  // once it is made
  std::vector<monotone::MonotoneNode> nodes;
  const auto work = [&] {
    trees::Table table;
    const trees::Targets targets{labels.data(), 2, asked.settings.prices.error, nullptr};
    if (!monotone::prepare(table, x.data(), n, x.shape(1), targets, weights.data(), directions, 1, stop)) return;
    std::vector<int> of_features;
    for (const proofwood::u32 column : table.column) of_features.push_back(directions[column]);
    search = std::make_unique<monotone::MonotoneSearch>(std::move(table), asked.settings, asked.rules,
                                                        std::move(of_features), asked.known, stop, started);
    running = search.get();
    proofwood::while_memory_lasts(stop, [&] { search->run(); });
    nodes = search->tree();
  };
  proofwood::Reports reports(!progress.is_none());
  proofwood::run_watched(work, stop, seconds, [&](double now) {
    const monotone::MonotoneSearch* const known = running;
    if (known == nullptr || !reports.due(*known, now)) return;
    const auto state = known->state();
    progress(now, state.upper, state.lower);
  });

  nb::dict result;
  result["stopped"] = stop.load();
  result["seconds"] = proofwood::seconds_since(started);
  nb::list tree;
  if (search) {
    const auto state = search->state();
    result["upper"] = state.upper;
    result["lower"] = state.lower;
    result["trace"] = proofwood::trace_of(search->events_since(0));
    nb::dict counters;
    counters["enumerated"] = search->n_enumerated();
    counters["solved"] = search->n_solved();
    result["counters"] = counters;
    for (const auto& [node, one] : nodes)
      tree.append(nb::make_tuple(node.feature, node.value, node.low, node.high, one));
  }
  result["tree"] = tree;
  return result;
}

}  // namespace

void proofwood::bind_monotone(nb::module_& module) {
  module.def("solve_monotone_tree", &solve_monotone_tree, "x"_a, "labels"_a, "weights"_a, "directions"_a, "settings"_a,
             "seconds"_a.none(), "progress"_a.none(),
             "Tree of two classes of least cost whose class follows the directions of columns.");
}
