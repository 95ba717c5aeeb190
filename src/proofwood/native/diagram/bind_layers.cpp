// Python face of the search over the layers of a skeleton.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/settings.hpp"
#include "common/widths.hpp"
#include "diagram/layer_search.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace layers = proofwood::diagram::layers;
namespace diagram = proofwood::diagram;

namespace {

using Ranks = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cuts = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weights = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr proofwood::i64 kMostWeight = proofwood::i64{1} << 28;

layers::Settings read_settings(const nb::dict& given) {
  proofwood::SettingsReader reader(given);
  layers::Settings settings;
  settings.widths = reader.list<proofwood::u32>("widths");
  settings.error_price = reader.need<proofwood::i64>("error_price", 1);
  settings.node_price = reader.need<proofwood::i64>("node_price", 0);
  settings.max_nodes = reader.need<proofwood::u32>("max_nodes");
  settings.min_weight = reader.need<proofwood::i64>("min_weight");
  settings.tree = reader.need<bool>("tree");
  settings.idle_root = reader.need<bool>("root_may_pass") && proofwood::idle_root_helps(settings.widths);
  settings.most_caps = reader.need<proofwood::u32>("most_caps", 1, 10);
  settings.caps = reader.need<bool>("caps");
  settings.merged = reader.need<bool>("merged");
  settings.states = reader.need<bool>("states");
  settings.ranges = reader.need<bool>("ranges");
  reader.finish();
  if (settings.widths.empty()) throw std::invalid_argument("a skeleton has a layer at least");
  return settings;
}

// The search and what it is about. It is made within the watch of its first run, and goes on in the next.
class Searcher {
 public:
  Searcher(Ranks ranks, Cuts tests_of, Weights weights, const nb::dict& settings)
      : ranks_(std::move(ranks)),
        tests_of_(std::move(tests_of)),
        weights_(std::move(weights)),
        settings_(read_settings(settings)) {
    if (weights_.shape(0) != ranks_.shape(0)) throw std::invalid_argument("ranks and weights differ in length");
    if (tests_of_.shape(0) != ranks_.shape(1))
      throw std::invalid_argument("ranks and tests_of differ in their number of columns");
    if (weights_.shape(1) == 0) throw std::invalid_argument("there is no class");
    proofwood::i64 total = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const proofwood::i64 weight = weights_.data()[i];
      if (weight < 0) throw std::invalid_argument("a weight is negative");
      total += std::min(weight, kMostWeight + 1);
      if (total > kMostWeight) throw std::invalid_argument("weights add up to more than this search counts");
    }
  }

  nb::dict run(proofwood::i64 upper, std::optional<double> seconds) {
    int stopped = proofwood::kRunning;
    if (!search_) {
      const double took = make(seconds);
      if (seconds) seconds = std::max(0.0, *seconds - took);
      stopped = making_.load();
    }
    if (search_ && stopped == proofwood::kRunning) {
      search_->stop() = proofwood::kRunning;
      proofwood::run_watched([&] { search_->run(upper); }, search_->stop(), seconds, {});
      stopped = search_->stop().load();
    }
    nb::dict result;
    if (search_) describe(result);
    result["begun"] = search_ != nullptr;
    result["stopped"] = stopped;
    return result;
  }

 private:
  double make(std::optional<double> seconds) {
    making_ = proofwood::kRunning;
    return proofwood::run_watched(
        [&] {
          try {
            table_ = diagram::make_table(ranks_.data(), ranks_.shape(0), ranks_.shape(1), tests_of_.data(),
                                         weights_.data(), weights_.data(), weights_.shape(1), nullptr, {}, {}, making_);
            search_ = std::make_unique<layers::LayerSearch>(table_, settings_);
          } catch (const diagram::Unfinished&) {
            return;
          }
        },
        making_, seconds, {});
  }

  void describe(nb::dict& result) const {
    nb::list layer, test, low, high;
    for (const layers::Node& node : search_->best()) {
      layer.append(node.layer);
      test.append(node.column < 0 ? proofwood::i64{-1} : test_of(node));
      low.append(node.low);
      high.append(node.high);
    }
    result["layer"] = nb::tuple(layer);
    result["test"] = nb::tuple(test);
    result["low"] = nb::tuple(low);
    result["high"] = nb::tuple(high);
    result["done"] = search_->done();
    result["lower"] = search_->lower();
    result["upper"] = search_->upper();
    result["states"] = search_->states();
    result["counted"] = search_->counted();
  }

  proofwood::i64 test_of(const layers::Node& node) const {
    const proofwood::u32 column = search_->groups().given[static_cast<std::size_t>(node.column)];
    return table_.tests[column][static_cast<std::size_t>(node.cut) + 1];
  }

  Ranks ranks_;
  Cuts tests_of_;
  Weights weights_;
  layers::Settings settings_;
  diagram::Table table_;
  std::atomic<int> making_{proofwood::kRunning};
  std::unique_ptr<layers::LayerSearch> search_;
};

}  // namespace

void proofwood::bind_layers(nb::module_& module) {
  nb::class_<Searcher>(module, "LayerSearch",
                       "Search for the cheapest diagram of a skeleton, layer by layer; it keeps what it has found out.")
      .def(nb::init<Ranks, Cuts, Weights, const nb::dict&>(), "ranks"_a, "tests_of"_a, "weights"_a, "settings"_a)
      .def("run", &Searcher::run, "upper"_a, "seconds"_a.none(),
           "Goes on for diagrams that cost less than `upper`; says what is proved and found.");
}
