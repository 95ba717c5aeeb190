// Python face of the search over topologies.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>

#include "bdd/topology.hpp"
#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/settings.hpp"
#include "common/widths.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using proofwood::kRunning;
namespace topology = proofwood::bdd::topology;

namespace {

using Bits = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Weights = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Sets = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr int kMostTests = 16;

topology::Batch read_batch(const Bits& bits, const Weights& weights, const Weights& rates,
                           proofwood::SettingsReader& reader) {
  topology::Batch batch;
  batch.n_groups = static_cast<int>(bits.shape(0));
  batch.n_tests = static_cast<int>(bits.shape(1));
  batch.n_classes = static_cast<int>(weights.shape(1));
  batch.n_rates = static_cast<int>(rates.shape(1));
  batch.bits = bits.data();
  batch.weights = weights.data();
  batch.rates = rates.data();
  batch.positive = reader.list<int>("positive");
  batch.penalty = reader.list<int>("penalty");
  batch.gain = reader.list<std::int64_t>("gain");
  batch.prices = reader.list<std::int64_t>("prices");
  batch.widths = reader.list<int>("widths");
  batch.error_price = reader.need<std::int64_t>("error_price");
  batch.node_price = reader.need<std::int64_t>("node_price");
  batch.max_nodes = reader.need<int>("max_nodes");
  batch.min_weight = reader.need<std::int64_t>("min_weight");
  batch.tree = reader.need<bool>("tree");
  batch.merge_bound = reader.need<bool>("merge_bound");
  batch.pure_flows = reader.need<bool>("pure_flows");
  batch.stumps = reader.need<bool>("stumps");
  batch.reach = reader.need<bool>("reach");
  if (static_cast<int>(batch.positive.size()) != batch.n_rates)
    throw std::invalid_argument("one positive class per rate");
  if (static_cast<int>(batch.penalty.size()) != batch.n_rates || static_cast<int>(batch.gain.size()) != batch.n_rates)
    throw std::invalid_argument("one penalty and one gain per rate");
  for (std::size_t r = 0; r < batch.penalty.size(); ++r)
    if (batch.penalty[r] >= static_cast<int>(batch.prices.size()) || batch.gain[r] < 1)
      throw std::invalid_argument("a rate of a penalty that is not there, or without gain");
  batch.constant_side = reader.need<int>("constant_side");
  batch.idle_root = proofwood::idle_root_helps(batch.widths) && (!batch.tree || batch.constant_side >= 0);
  return batch;
}

nb::dict solve_topologies(const Bits& bits, const Weights& weights, const Weights& rates, const Sets& sets,
                          const nb::dict& given, std::optional<double> seconds) {
  if (weights.shape(0) != bits.shape(0) || rates.shape(0) != bits.shape(0))
    throw std::invalid_argument("bits, weights and rates differ in length");
  if (sets.shape(1) > kMostTests) throw std::invalid_argument("a set has more than 16 tests");
  proofwood::SettingsReader reader(given);
  const topology::Batch batch = read_batch(bits, weights, rates, reader);
  const std::size_t n_sets = sets.shape(0), n_tests = sets.shape(1);
  for (std::size_t i = 0; i < n_sets * n_tests; ++i)
    if (sets.data()[i] < 0 || sets.data()[i] >= batch.n_tests)
      throw std::invalid_argument("a set names a test that is not there");

  topology::Shared shared;
  shared.upper = reader.need<std::int64_t>("upper");
  const int threads = reader.need<int>("threads", 1);
  reader.finish();
  std::atomic<int> stop{kRunning};
  std::atomic<std::size_t> next{0};
  std::vector<std::uint8_t> searched(n_sets, 0);
  const auto work = [&] {
    const auto lane = [&] {
      topology::Search search(batch, shared, stop);
      for (std::size_t s = next++; s < n_sets && stop.load() == kRunning; s = next++)
        searched[s] = search.run(sets.data() + s * n_tests, static_cast<int>(n_tests)) ? 1 : 0;
    };
    proofwood::run_workers(
        static_cast<int>(std::clamp<std::size_t>(n_sets, 1, static_cast<std::size_t>(std::max(threads, 1)))),
        [&](int) { lane(); }, [&] { stop = -1; });
  };
  const double took = proofwood::run_watched(work, stop, seconds, nullptr);

  nb::dict result;
  result["stopped"] = stop.load();
  result["seconds"] = took;
  result["upper"] = shared.upper.load();
  result["found"] = shared.found;
  result["layer"] = shared.best.layer;
  result["test"] = shared.best.test;
  result["low"] = shared.best.low;
  result["high"] = shared.best.high;
  result["states"] = shared.states.load();
  std::size_t done = 0;
  for (const std::uint8_t one : searched) done += one;
  result["searched"] = done;
  return result;
}

}  // namespace

void proofwood::bind_topology(nb::module_& module) {
  module.def("solve_topologies", &solve_topologies, "bits"_a, "weights"_a, "rates"_a, "sets"_a, "settings"_a,
             "seconds"_a.none(),
             "Cheapest layered diagram that uses all tests of one of the (n_sets, size) int32 sets.");
}
