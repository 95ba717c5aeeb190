// Python face of the search for the row whose dearest change costs least.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/watch.hpp"
#include "votes/given_model.hpp"
#include "votes/radius_search.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using proofwood::kRunning;
namespace votes = proofwood::votes;

namespace {

using Rival = std::tuple<int, int, std::int64_t, std::int64_t>;

class BoundRadiusSearch {
 public:
  BoundRadiusSearch(const votes::GivenModel& given, const std::vector<Rival>& rivals, votes::Prices ranks,
                    std::vector<int> low, std::vector<int> high, std::vector<int> near, std::int64_t n_ranks,
                    bool clauses, bool messages)
      : search_(given.model, made(rivals), std::move(ranks), {std::move(low), std::move(high)}, std::move(near),
                n_ranks, rules(clauses, messages)) {}

  nb::dict run(std::optional<double> seconds) {
    std::atomic<int> stop{kRunning};
    proofwood::Watch watch(stop);
    bool done = false;
    proofwood::run_watched([&] { done = search_.run(watch); }, stop, seconds, nullptr);
    nb::dict found;
    found["done"] = done;
    found["stopped"] = stop.load();
    found["best"] = search_.best();
    found["lower"] = search_.lower();
    found["upper"] = search_.upper();
    found["questions"] = search_.questions();
    return found;
  }

 private:
  static std::vector<votes::RadiusSearch::Rival> made(const std::vector<Rival>& rivals) {
    std::vector<votes::RadiusSearch::Rival> all;
    for (const auto& [winner, loser, least, sure] : rivals) all.push_back({winner, loser, least, sure});
    return all;
  }

  static votes::TurnRules rules(bool clauses, bool messages) {
    votes::TurnRules rules;
    rules.clauses = clauses;
    rules.messages = messages;
    rules.message_rules.core = false;  // nobody asks what a proof needs
    return rules;
  }

  votes::RadiusSearch search_;
};

}  // namespace

void proofwood::bind_radius(nb::module_& module) {
  nb::class_<BoundRadiusSearch>(module, "RadiusSearch", "Search for the row whose dearest cell has the least rank.")
      .def(nb::init<const votes::GivenModel&, const std::vector<Rival>&, votes::Prices, std::vector<int>,
                    std::vector<int>, std::vector<int>, std::int64_t, bool, bool>(),
           "model"_a, "rivals"_a, "ranks"_a, "low"_a, "high"_a, "near"_a, "n_ranks"_a, "clauses"_a, "messages"_a,
           nb::keep_alive<1, 2>())
      .def("run", &BoundRadiusSearch::run, "seconds"_a.none(), "What was found so far, once the search ends or stops.");
}
