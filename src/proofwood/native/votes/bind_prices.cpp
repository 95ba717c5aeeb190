// Python face of the search for the cheapest row of another class.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/settings.hpp"
#include "common/watch.hpp"
#include "votes/given_model.hpp"
#include "votes/near_search.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using proofwood::kRunning;
namespace votes = proofwood::votes;

namespace {

// What a row must be: winner, loser, least difference of their sums, and the one from which on rounding is no matter.
using Contest = std::tuple<int, int, std::int64_t, std::int64_t>;

votes::PriceRules rules(const nb::dict& settings) {
  proofwood::SettingsReader reader(settings);
  votes::PriceRules rules;
  rules.sweeps = reader.need<bool>("sweeps");
  rules.settle = reader.need<bool>("settle");
  rules.climb = reader.need<bool>("climb");
  rules.first_rounds = reader.need<int>("first_rounds", 1);
  rules.further_rounds = reader.need<int>("further_rounds", 1);
  rules.large = reader.need<int>("large", 0);
  reader.finish();
  return rules;
}

votes::PriceRules recording(const nb::dict& settings) {
  votes::PriceRules made = rules(settings);
  made.record = true;
  made.climb = false;
  return made;
}

std::vector<votes::Way> leads(const votes::Model& model, const std::vector<std::vector<Contest>>& ways) {
  std::vector<votes::Way> made;
  for (const auto& contests : ways) {
    votes::Way way;
    for (const auto& [winner, loser, least, sure] : contests) {
      votes::Lead lead;
      const auto k = static_cast<std::size_t>(winner), c = static_cast<std::size_t>(loser);
      const auto classes = static_cast<std::size_t>(model.n_classes);
      for (std::size_t leaf = 0; leaf < static_cast<std::size_t>(model.n_leaves); ++leaf)
        lead.gain.push_back(model.scores[leaf * classes + k] - model.scores[leaf * classes + c]);
      const std::int64_t base = model.base[k] - model.base[c];
      lead.need = least - base;
      lead.sure = sure - base;
      way.push_back(std::move(lead));
    }
    made.push_back(std::move(way));
  }
  return made;
}

// Runs a search until it ends, rounding decides about a row, or it is stopped; what it has found by then.
template <class Search>
nb::dict found_by(Search& search, std::optional<double> seconds) {
  std::atomic<int> stop{kRunning};
  proofwood::Watch watch(stop);
  auto ended = votes::PriceSearch::Ended::kStopped;
  proofwood::run_watched([&] { ended = search.run(watch); }, stop, seconds, nullptr);
  nb::dict found;
  found["done"] = ended == votes::PriceSearch::Ended::kDone;
  found["doubtful"] = ended == votes::PriceSearch::Ended::kDoubt ? nb::cast(search.doubtful()) : nb::none();
  found["stopped"] = ended == votes::PriceSearch::Ended::kStopped ? stop.load() : static_cast<int>(kRunning);
  found["best"] = search.best();
  found["way"] = search.way();
  found["lower"] = search.lower();
  found["upper"] = search.upper();
  found["nodes"] = search.nodes();
  return found;
}

class NearestSearch {
 public:
  NearestSearch(const votes::GivenModel& given, const std::vector<std::vector<Contest>>& ways, votes::Prices prices,
                std::vector<int> low, std::vector<int> high, const std::vector<int>& near, std::int64_t upper,
                const nb::dict& settings)
      : search_(given.model, leads(given.model, ways), std::move(prices), {std::move(low), std::move(high)}, near,
                upper, rules(settings)) {}

  nb::dict run(std::optional<double> seconds) { return found_by(search_, seconds); }
  void decide(bool counts) { search_.decide(counts); }
  void start_from(const std::vector<int>& row) { search_.start_from(row); }

 private:
  votes::NearSearch search_;
};

// The same search in the whole ensemble, which writes its boxes down.
class NearestProof {
 public:
  NearestProof(const votes::GivenModel& given, const std::vector<std::vector<Contest>>& ways, votes::Prices prices,
               std::vector<int> low, std::vector<int> high, const std::vector<int>& near, std::int64_t upper,
               const nb::dict& settings)
      : search_(given.model, leads(given.model, ways), std::move(prices), {std::move(low), std::move(high)}, near,
                upper, recording(settings)) {}

  nb::dict run(std::optional<double> seconds) { return found_by(search_, seconds); }
  void decide(bool counts) { search_.decide(counts); }
  nb::object boxes(int way) const {
    auto* numbers = new std::vector<std::int64_t>(search_.record(way));
    const nb::capsule owner(numbers, [](void* p) noexcept { delete static_cast<std::vector<std::int64_t>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>(numbers->data(), {numbers->size()}, owner));
  }
  nb::object clauses() const {
    const votes::Factors* factors = search_.factors();
    return factors == nullptr ? nb::object(nb::list()) : nb::cast(factors->ways);
  }

 private:
  votes::PriceSearch search_;
};

}  // namespace

void proofwood::bind_prices(nb::module_& module) {
  nb::class_<NearestSearch>(module, "NearestSearch", "Search for the cheapest row of another class in a box.")
      .def(nb::init<const votes::GivenModel&, const std::vector<std::vector<Contest>>&, votes::Prices, std::vector<int>,
                    std::vector<int>, std::vector<int>, std::int64_t, const nb::dict&>(),
           "model"_a, "ways"_a, "prices"_a, "low"_a, "high"_a, "near"_a, "upper"_a, "settings"_a,
           nb::keep_alive<1, 2>())
      .def("run", &NearestSearch::run, "seconds"_a.none(), "What was found so far, once the search ends or stops.")
      .def("decide", &NearestSearch::decide, "counts"_a, "Whether the row in doubt counts.")
      .def("start_from", &NearestSearch::start_from, "row"_a, "One more row to climb from.");
  nb::class_<NearestProof>(module, "NearestProof", "Search that writes down why no row of a box is cheaper.")
      .def(nb::init<const votes::GivenModel&, const std::vector<std::vector<Contest>>&, votes::Prices, std::vector<int>,
                    std::vector<int>, std::vector<int>, std::int64_t, const nb::dict&>(),
           "model"_a, "ways"_a, "prices"_a, "low"_a, "high"_a, "near"_a, "upper"_a, "settings"_a,
           nb::keep_alive<1, 2>())
      .def("run", &NearestProof::run, "seconds"_a.none(), "What was found so far, once the search ends or stops.")
      .def("decide", &NearestProof::decide, "counts"_a, "Whether the row in doubt counts.")
      .def("boxes", &NearestProof::boxes, "way"_a, "Numbers of the boxes of a way, once the search has ended.")
      .def("clauses", &NearestProof::clauses, "Clauses that are factors, each with whether exactly one literal holds.");
}
