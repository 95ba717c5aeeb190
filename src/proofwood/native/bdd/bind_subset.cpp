// Python face of the subset search.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>

#include "bdd/subset_search.hpp"
#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/settings.hpp"
#include "common/simd.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using proofwood::kRunning;
namespace bdd = proofwood::bdd;

namespace {

using Ranks = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cuts = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weights = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// `by_rank` is a setting of the table, the others are of the search.
bdd::Settings settings_of(const nb::dict& given, bool& by_rank) {
  bdd::Settings settings;
  proofwood::SettingsReader reader(given);
  const auto number = [&](const char* name, auto fallback) { return reader.get(name, fallback); };
  const auto rule = [&](const char* name) { return reader.need<bool>(name); };
  settings.size = number("size", settings.size);
  settings.upper = number("upper", settings.upper);
  settings.collect = number("collect", settings.collect);
  settings.greedy_only = number("greedy_only", settings.greedy_only);
  settings.max_sets = number("max_sets", settings.max_sets);
  settings.threads = number("threads", settings.threads);
  settings.neighbours = number("neighbours", settings.neighbours);
  settings.restarts = number("restarts", settings.restarts);
  by_rank = number("by_rank", false);
  settings.isa = proofwood::chosen_isa(number("isa", static_cast<int>(proofwood::kAuto)));
  settings.rules.matching = rule("matching");
  settings.rules.reweighting = rule("reweighting");
  settings.rules.overlap = rule("overlap");
  settings.rules.elimination = rule("elimination");
  settings.rules.leaf_matching = rule("leaf_matching");
  settings.rules.similarity = rule("similarity");
  settings.rules.equivalent_points = rule("equivalent_points");
  settings.rules.sweep = rule("sweep");
  settings.rules.greedy = rule("greedy");
  reader.finish();
  return settings;
}

void write_result(const bdd::Search& search, nb::dict& result) {
  const auto state = search.known().state();
  result["greedy_upper"] = search.greedy_upper();
  result["done"] = search.done();
  result["has_set"] = search.has_set();
  result["upper"] = state.upper;
  result["lower"] = state.lower;
  result["set"] = search.set();
  result["sets"] = search.sets();
  result["complete"] = search.complete();
  result["tests"] = search.table().tests;
  result["unavoidable"] = search.table().unavoidable;
  result["trace"] = proofwood::trace_of(search.known().events_since(0));
  result["counters"] = proofwood::counters_of(search.counters(), bdd::kCounterNames);
}

nb::dict solve_subset(const Ranks& ranks, const Cuts& cuts, const Weights& weights, const nb::dict& given,
                      std::optional<double> seconds, const nb::object& progress) {
  if (weights.shape(0) != ranks.shape(0)) throw std::invalid_argument("ranks and weights differ in length");
  if (cuts.shape(0) != ranks.shape(1)) throw std::invalid_argument("ranks and cuts differ in their number of columns");
  bool by_rank = false;
  const bdd::Settings settings = settings_of(given, by_rank);
  const auto started = bdd::SetRun::Clock::now();
  std::atomic<int> stop{kRunning};
  std::unique_ptr<bdd::Search> search;
  std::atomic<const bdd::Search*> running{nullptr};  // once it is made

  const auto work = [&] {
    bdd::Table table = bdd::make_table(ranks.data(), ranks.shape(0), ranks.shape(1), cuts.data(), weights.data(),
                                       weights.shape(1), by_rank, stop);
    if (stop.load() != kRunning) return;
    search = std::make_unique<bdd::Search>(std::move(table), settings, stop, started);
    running = search.get();
    search->run();
  };
  proofwood::Reports reports(!progress.is_none());
  const auto report = [&](double now) {
    const bdd::Search* known = running;
    if (known == nullptr || !reports.due(known->known(), now)) return;
    const auto state = known->known().state();
    if (known->has_set()) progress(now, state.upper, state.lower);
  };
  const double took = proofwood::run_watched(work, stop, seconds, report);

  nb::dict result;
  result["stopped"] = stop.load();
  result["seconds"] = took;
  result["prepared"] = search != nullptr;
  if (!search) return result;
  write_result(*search, result);
  return result;
}

}  // namespace

void proofwood::bind_subset(nb::module_& module) {
  module.def(
      "solve_subset", &solve_subset, "ranks"_a, "cuts"_a, "weights"_a, "settings"_a, "seconds"_a.none(),
      "progress"_a.none(),
      "Sets of tests of least error, for (n_groups, n_columns) int32 ranks and (n_groups, n_classes) int64 weights.");
}
