// Python face of the smallest-tree search.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <numeric>
#include <stdexcept>

#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/settings.hpp"
#include "minimal/minimal.hpp"
#include "minimal/pure_boxes.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace minimal = proofwood::minimal;

namespace {

using Ranks = nb::ndarray<const int, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<const int, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weights = nb::ndarray<const proofwood::i64, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Costs = nb::ndarray<const proofwood::i64, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::tuple as_tuple(const minimal::State& state) {
  return nb::make_tuple(state.depth, state.nodes, state.depth_lower, state.nodes_lower, state.depth_proved);
}

// A tree as it is handed out.
minimal::Tree read_tree(const std::vector<std::vector<int>>& nodes, int n_tests) {
  minimal::Tree tree;
  const auto size = static_cast<int>(nodes.size());
  for (const auto& node : nodes) {
    const bool leaf = node.size() == 3 && node[0] < 0;
    const auto below = [&](int place) { return place > static_cast<int>(tree.size()) && place < size; };
    if (node.size() != 3 || (!leaf && (node[0] >= n_tests || !below(node[1]) || !below(node[2]))))
      throw std::invalid_argument("start is no tree in preorder");
    tree.push_back({leaf ? -1 : node[0], leaf ? -1 : node[1], leaf ? -1 : node[2]});
  }
  return tree;
}

void read_rules(proofwood::SettingsReader& reader, minimal::Rules& rules) {
  const auto rule = [&](const char* name, bool& value) { value = reader.need<bool>(name); };
  rule("boxes", rules.boxes);
  rule("cache", rules.cache);
  rule("same_split", rules.same_split);
  rule("monotone", rules.monotone);
  rule("class_bound", rules.class_bound);
  rule("clique_bound", rules.clique_bound);
  rule("packing_bound", rules.packing_bound);
  rule("column_walks", rules.column_walks);
  rule("cover_bound", rules.cover_bound);
  rule("rollouts", rules.rollouts);
  rule("depth_bound", rules.depth_bound);
  rule("canonical", rules.canonical);
}

nb::dict minimal_tree(const Ranks& ranks, const Counts& tests_of, const Costs& costs, const nb::dict& given,
                      const Weights& dual, std::optional<double> seconds, const nb::object& progress) {
  if (dual.shape(0) != 0 && dual.shape(0) != ranks.shape(0))
    throw std::invalid_argument("a dual weight for each group, or none, is needed");
  if (costs.shape(0) != ranks.shape(0) || tests_of.shape(0) != ranks.shape(1))
    throw std::invalid_argument("ranks, tests_of and costs do not fit together");
  if (ranks.shape(0) == 0 || costs.shape(1) == 0) throw std::invalid_argument("no rows or no classes");
  minimal::Settings settings;
  proofwood::SettingsReader reader(given);
  settings.minimize = static_cast<minimal::Minimize>(reader.need<int>("minimize", 0, 2));
  settings.max_depth = std::min(reader.need<int>("max_depth", 0), minimal::kAnyDepth);
  settings.slack = reader.need<proofwood::i64>("slack", 0);
  settings.memory = reader.need<std::size_t>("memory");
  settings.dual.assign(dual.data(), dual.data() + dual.shape(0));
  settings.start = read_tree(reader.list<std::vector<int>>("start"),
                             std::accumulate(tests_of.data(), tests_of.data() + tests_of.shape(0), 0));
  settings.depth_lower = reader.need<int>("depth_lower", 0);
  settings.nodes_lower = reader.need<int>("nodes_lower", 1);
  settings.depth_proved = reader.need<bool>("depth_proved");
  const double easy = reader.need<double>("easy", 0);
  settings.rollout_seconds = reader.need<double>("rollout_seconds", 0);
  settings.start_only = reader.need<bool>("start_only");
  if (seconds) settings.turns_until = *seconds / 2;
  const double form_least = reader.need<double>("form_least", 0), form_most = reader.need<double>("form_most", 0);
  read_rules(reader, settings.rules);
  const auto& rules = settings.rules;
  reader.finish();
  if (!rules.cover_bound) settings.dual.clear();

  std::atomic<int> stop{proofwood::kRunning};
  minimal::Board board(settings, stop);
  const auto work = [&] {
    minimal::search({ranks.data(), tests_of.data(), costs.data(), static_cast<int>(ranks.shape(0)),
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
    if (easy > 0 && done < 0 && now > easy && stop.load() == proofwood::kRunning) stop = proofwood::kTime;
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
  result["main_done"] = board.main_done() >= 0;
  result["infeasible"] = state.infeasible;
  nb::list tree;
  for (const auto& node : board.answer()) tree.append(nb::make_tuple(node.test, node.low, node.high));
  result["tree"] = tree;
  nb::list trace;
  for (const auto& event : board.events_since(0)) trace.append(nb::make_tuple(event.seconds, as_tuple(event.state)));
  result["trace"] = trace;
  result["counters"] = proofwood::counters_of(board.counts, minimal::kCounterNames);
  return result;
}

nb::tuple heaviest(minimal::PureBoxes& boxes, const Weights& weights, proofwood::i64 above,
                   std::optional<double> seconds, std::optional<unsigned> seed) {
  if (weights.shape(0) != boxes.size()) throw std::invalid_argument("a weight for each group is needed");
  const std::vector<proofwood::i64> values(weights.data(), weights.data() + weights.shape(0));
  std::atomic<int> stop{proofwood::kRunning};
  minimal::PureBoxes::Found found;
  const auto work = [&] {
    const auto stopped = [&] { return stop.load(std::memory_order_relaxed) != proofwood::kRunning; };
    found = seed ? boxes.grown(values, above, *seed, stopped) : boxes.heaviest(values, above, stopped);
  };
  proofwood::run_watched(work, stop, seconds, nullptr);
  nb::list rows;
  for (const auto& box : found.boxes) {
    nb::list groups;
    for (const int group : box) groups.append(group);
    rows.append(groups);
  }
  return nb::make_tuple(found.weight, stop.load() == proofwood::kRunning && found.complete, rows, stop.load());
}

}  // namespace

void proofwood::bind_minimal(nanobind::module_& module) {
  nb::class_<minimal::PureBoxes>(module, "PureBoxes", "Boxes of ranks in which one class is right on every group.")
      .def(
          "__init__",
          [](minimal::PureBoxes* self, const Ranks& ranks, const Costs& costs) {
            if (costs.shape(0) != ranks.shape(0)) throw std::invalid_argument("ranks and costs do not fit together");
            new (self) minimal::PureBoxes(ranks.data(), costs.data(), static_cast<int>(ranks.shape(0)),
                                          static_cast<int>(ranks.shape(1)), static_cast<int>(costs.shape(1)));
          },
          "ranks"_a, "costs"_a)
      .def("heaviest", &heaviest, "weights"_a, "above"_a, "seconds"_a.none(), "seed"_a.none() = nb::none(),
           "Greatest weight of a box, at least `above`; whether it is sure; boxes heavier than that; what stopped it.");
  module.def(
      "minimal_tree", &minimal_tree, "ranks"_a, "tests_of"_a, "costs"_a, "settings"_a, "dual"_a, "seconds"_a.none(),
      "progress"_a.none(),
      "Smallest tree for distinct (n_rows, n_columns) int32 ranks and (n_rows, n_classes) int64 costs of the labels.");
}
