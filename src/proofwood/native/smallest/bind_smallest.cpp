// Python face of the smallest-tree search.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <stdexcept>

#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/settings.hpp"
#include "smallest/smallest.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace smallest = proofwood::smallest;

namespace {

using Ranks = nb::ndarray<const int, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<const int, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Costs = nb::ndarray<const proofwood::i64, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::tuple as_tuple(const smallest::State& state) {
  return nb::make_tuple(state.depth, state.nodes, state.depth_lower, state.nodes_lower, state.depth_proved);
}

nb::dict minimal_tree(const Ranks& ranks, const Counts& tests_of, const Costs& costs, const nb::dict& given,
                      std::optional<double> seconds, const nb::object& progress) {
  if (costs.shape(0) != ranks.shape(0) || tests_of.shape(0) != ranks.shape(1))
    throw std::invalid_argument("ranks, tests_of and costs do not fit together");
  if (ranks.shape(0) == 0 || costs.shape(1) == 0) throw std::invalid_argument("no rows or no classes");
  smallest::Settings settings;
  proofwood::SettingsReader reader(given);
  settings.minimize = static_cast<smallest::Minimize>(reader.need<int>("minimize", 0, 2));
  settings.strategy = static_cast<smallest::Strategy>(reader.need<int>("strategy", 0));
  settings.max_depth = std::min(reader.need<int>("max_depth", 0), smallest::kAnyDepth);
  settings.slack = reader.need<proofwood::i64>("slack", 0);
  settings.memory = reader.need<std::size_t>("memory");
  settings.start_only = reader.need<bool>("start_only");
  if (seconds) settings.turns_until = *seconds / 2;
  const double form_least = reader.need<double>("form_least", 0), form_most = reader.need<double>("form_most", 0);
  auto& rules = settings.rules;
  const auto rule = [&](const char* name, bool& value) { value = reader.need<bool>(name); };
  rule("boxes", rules.boxes);
  rule("cache", rules.cache);
  rule("same_split", rules.same_split);
  rule("monotone", rules.monotone);
  rule("class_bound", rules.class_bound);
  rule("clique_bound", rules.clique_bound);
  rule("packing_bound", rules.packing_bound);
  rule("depth_bound", rules.depth_bound);
  rule("last_leaf", rules.last_leaf);
  rule("canonical", rules.canonical);
  reader.finish();

  std::atomic<int> stop{proofwood::kRunning};
  smallest::Board board(settings, stop);
  const auto work = [&] {
    smallest::search({ranks.data(), tests_of.data(), costs.data(), static_cast<int>(ranks.shape(0)),
                      static_cast<int>(ranks.shape(1)), static_cast<int>(costs.shape(1))},
                     board);
  };

  proofwood::Reports reports(!progress.is_none());
  const auto report = [&](double now) {
    // a secondary goal, the form of the tree, has a small share of the time
    const double done = board.main_done();
    if (seconds && done >= 0 && now > done + std::max(form_least, std::min(done, form_most)) &&
        stop.load() == proofwood::kRunning)
      stop = proofwood::kTime;
    if (reports.due(board, now)) progress(now, as_tuple(board.state()));
  };
  const double took = proofwood::run_watched(work, stop, seconds, report);

  nb::dict result;
  const auto state = board.state();
  result["stopped"] = stop.load();
  result["out_of_memory"] = board.out_of_memory();
  result["seconds"] = took;
  result["state"] = as_tuple(state);
  result["nodes_proved"] = state.nodes_proved;
  result["infeasible"] = state.infeasible;
  nb::list tree;
  for (const auto& node : board.answer()) tree.append(nb::make_tuple(node.test, node.low, node.high));
  result["tree"] = tree;
  nb::list trace;
  for (const auto& event : board.events_since(0)) trace.append(nb::make_tuple(event.seconds, as_tuple(event.state)));
  result["trace"] = trace;
  result["counters"] = proofwood::counters_of(board.counts, smallest::kCounterNames);
  return result;
}

}  // namespace

void proofwood::bind_smallest(nanobind::module_& module) {
  module.def(
      "minimal_tree", &minimal_tree, "ranks"_a, "tests_of"_a, "costs"_a, "settings"_a, "seconds"_a.none(),
      "progress"_a.none(),
      "Smallest tree for distinct (n_rows, n_columns) int32 ranks and (n_rows, n_classes) int64 costs of the labels.");
}
