// Python face of the search for the smallest tree that predicts what an ensemble predicts.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "born_again/search.hpp"
#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/settings.hpp"
#include "common/watch.hpp"
#include "votes/given_model.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using proofwood::kRunning;
namespace born_again = proofwood::born_again;
namespace votes = proofwood::votes;

namespace {

class BornAgainSearch {
 public:
  BornAgainSearch(const votes::GivenModel& given, bool ties_low, std::int64_t margin, const nb::dict& settings,
                  const nb::callable& ask)
      : left_(given.model, ties_low, margin),
        search_(left_, rules(settings), [this, ask](const std::vector<int>& cells) {
          const nb::gil_scoped_acquire acquire;
          ++asked_;
          return nb::cast<int>(ask(cells));
        }) {}

  nb::dict run(std::optional<double> seconds) {
    std::atomic<int> stop{kRunning};
    proofwood::Watch watch(stop);
    using Run = born_again::Search::Run;
    Run depth(born_again::Search::kInfinite, stop), leaves(born_again::Search::kInfinite, stop);
    bool done = false;
    const double taken =
        proofwood::run_watched([&] { done = search_.run(watch, depth, leaves); }, stop, seconds, nullptr);
    const auto tree = search_.tree();
    nb::dict found;
    found["done"] = done;
    found["stopped"] = stop.load();
    found["seconds"] = taken;
    found["depth_trace"] = proofwood::trace_of(depth.events_since(0));
    found["leaves_trace"] = proofwood::trace_of(leaves.events_since(0));
    found["depth_lower"] = depth.state().lower;
    found["leaves_lower"] = leaves.state().lower;
    found["variable"] = tree.variable;
    found["low"] = tree.low;
    found["high"] = tree.high;
    found["label"] = tree.label;
    found["boxes"] = search_.n_boxes();
    found["expanded"] = search_.n_expanded();
    found["asked"] = asked_;
    return found;
  }

 private:
  static born_again::Search::Rules rules(const nb::dict& settings) {
    proofwood::SettingsReader reader(settings);
    born_again::Search::Rules rules;
    rules.fewest_depth = reader.need<bool>("fewest_depth");
    rules.max_depth = reader.need<int>("max_depth", -1);
    rules.monotone = reader.get<bool>("monotone", true);
    rules.greedy = reader.get<bool>("greedy", true);
    reader.finish();
    return rules;
  }

  int asked_ = 0;
  born_again::Restrictions left_;
  born_again::Search search_;
};

}  // namespace

void proofwood::bind_born_again(nb::module_& module) {
  nb::class_<BornAgainSearch> search(module, "BornAgainSearch",
                                     "Search for the smallest tree that predicts what an ensemble predicts.");
  search.attr("infinite") = static_cast<int>(born_again::Search::kInfinite);
  search
      .def(nb::init<const votes::GivenModel&, bool, std::int64_t, const nb::dict&, const nb::callable&>(), "model"_a,
           "ties_low"_a, "margin"_a, "settings"_a, "ask"_a, nb::keep_alive<1, 2>())
      .def("run", &BornAgainSearch::run, "seconds"_a.none(),
           "The best tree and what is proved, once the search ends or stops; to be called once.");
}
