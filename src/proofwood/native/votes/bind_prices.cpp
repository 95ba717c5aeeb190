// Python face of the searches for the nearest row of another class: by the sum of prices, and by the dearest one.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "common/arrays.hpp"
#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/settings.hpp"
#include "common/watch.hpp"
#include "votes/given_model.hpp"
#include "votes/near_search.hpp"
#include "votes/radius_search.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using proofwood::kRunning;
namespace votes = proofwood::votes;

namespace {

// What a row must be: winner, loser, least difference of their sums, and the one from which on rounding is no matter.
using Contest = std::tuple<int, int, std::int64_t, std::int64_t>;

votes::Contest contest(const Contest& given) {
  const auto& [winner, loser, least, sure] = given;
  return {winner, loser, least, sure};
}

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

std::shared_ptr<votes::Aims> aims(const votes::Model& model, const std::vector<std::vector<Contest>>& ways) {
  std::vector<votes::Way> made;
  for (const auto& contests : ways) {
    made.emplace_back();
    for (const Contest& one : contests) made.back().push_back(model.lead(contest(one)));
  }
  return std::make_shared<votes::Aims>(std::move(made));
}

// Runs a search until it ends or is stopped; what it has found by then, and how it ended.
template <class Search, class Ended>
nb::dict found_by(Search& search, std::optional<double> seconds, Ended& ended) {
  std::atomic<int> stop{kRunning};
  proofwood::Watch watch(stop);
  proofwood::run_watched([&] { ended = search.run(watch); }, stop, seconds, nullptr);
  nb::dict found;
  found["stopped"] = stop.load();
  found["best"] = search.best();
  found["lower"] = search.lower();
  found["upper"] = search.upper();
  return found;
}

// A search for the least sum, which may end where rounding decides about a row.
template <class Search>
class Cheapest {
 public:
  Cheapest(const votes::GivenModel& given, const std::vector<std::vector<Contest>>& ways, votes::Prices prices,
           std::vector<int> low, std::vector<int> high, const std::vector<int>& near, std::int64_t upper,
           const votes::PriceRules& rules)
      : search_(given.model, aims(given.model, ways), std::move(prices), {std::move(low), std::move(high)}, near, upper,
                rules) {}

  nb::dict run(std::optional<double> seconds) {
    auto ended = votes::PriceSearch::Ended::kStopped;
    nb::dict found = found_by(search_, seconds, ended);
    if (ended != votes::PriceSearch::Ended::kStopped && nb::cast<int>(found["stopped"]) != proofwood::kInterrupt)
      found["stopped"] = static_cast<int>(kRunning);  // a Ctrl-C may come with the answer
    found["done"] = ended == votes::PriceSearch::Ended::kDone;
    found["doubtful"] = ended == votes::PriceSearch::Ended::kDoubt ? nb::cast(search_.doubtful()) : nb::none();
    found["way"] = search_.way();
    found["nodes"] = search_.nodes();
    return found;
  }
  void decide(bool counts) { search_.decide(counts); }
  void start_from(const std::vector<int>& row) { search_.start_from(row); }
  auto boxes(int way) const { return proofwood::owned(search_.record(way)); }
  nb::object clauses() const {
    const votes::Factors* factors = search_.factors();
    return factors == nullptr ? nb::object(nb::list()) : nb::cast(factors->ways);
  }

 private:
  Search search_;
};

template <class Search>
nb::class_<Cheapest<Search>> bind_cheapest(nb::module_& module, const char* name, const char* doc,
                                           votes::PriceRules (*rules_of)(const nb::dict&)) {
  using Bound = Cheapest<Search>;
  return nb::class_<Bound>(module, name, doc)
      .def(
          "__init__",
          [rules_of](Bound* self, const votes::GivenModel& model, const std::vector<std::vector<Contest>>& ways,
                     votes::Prices prices, std::vector<int> low, std::vector<int> high, const std::vector<int>& near,
                     std::int64_t upper, const nb::dict& settings) {
            new (self)
                Bound(model, ways, std::move(prices), std::move(low), std::move(high), near, upper, rules_of(settings));
          },
          "model"_a, "ways"_a, "prices"_a, "low"_a, "high"_a, "near"_a, "upper"_a, "settings"_a, nb::keep_alive<1, 2>())
      .def("run", &Bound::run, "seconds"_a.none(), "What was found so far, once the search ends or stops.")
      .def("decide", &Bound::decide, "counts"_a, "Whether the row in doubt counts.");
}

class BoundRadiusSearch {
 public:
  BoundRadiusSearch(const votes::GivenModel& given, const std::vector<Contest>& rivals, votes::Prices ranks,
                    std::vector<int> low, std::vector<int> high, std::vector<int> near, std::int64_t n_ranks,
                    bool clauses, bool messages)
      : search_(given.model, made(rivals), std::move(ranks), {std::move(low), std::move(high)}, std::move(near),
                n_ranks, rules(clauses, messages)) {}

  nb::dict run(std::optional<double> seconds) {
    bool done = false;
    nb::dict found = found_by(search_, seconds, done);
    found["done"] = done;
    found["questions"] = search_.questions();
    return found;
  }

 private:
  static std::vector<votes::Contest> made(const std::vector<Contest>& rivals) {
    std::vector<votes::Contest> all;
    for (const Contest& rival : rivals) all.push_back(contest(rival));
    return all;
  }

  static votes::TurnRules rules(bool clauses, bool messages) {
    votes::TurnRules rules;
    rules.clauses = clauses;
    rules.messages = messages;
    return rules;
  }

  votes::RadiusSearch search_;
};

}  // namespace

void proofwood::bind_prices(nb::module_& module) {
  bind_cheapest<votes::NearSearch>(module, "NearestSearch", "Search for the cheapest row of another class in a box.",
                                   &rules)
      .def("start_from", &Cheapest<votes::NearSearch>::start_from, "row"_a, "One more row to climb from.");
  // The same search in the whole ensemble, which writes its boxes down.
  bind_cheapest<votes::PriceSearch>(module, "NearestProof", "Search that writes down why no row of a box is cheaper.",
                                    &recording)
      .def("boxes", &Cheapest<votes::PriceSearch>::boxes, "way"_a,
           "Numbers of the boxes of a way, once the search has ended.")
      .def("clauses", &Cheapest<votes::PriceSearch>::clauses,
           "Clauses that are factors, each with whether exactly one literal holds.");
  nb::class_<BoundRadiusSearch>(module, "RadiusSearch", "Search for the row whose dearest cell has the least rank.")
      .def(nb::init<const votes::GivenModel&, const std::vector<Contest>&, votes::Prices, std::vector<int>,
                    std::vector<int>, std::vector<int>, std::int64_t, bool, bool>(),
           "model"_a, "rivals"_a, "ranks"_a, "low"_a, "high"_a, "near"_a, "n_ranks"_a, "clauses"_a, "messages"_a,
           nb::keep_alive<1, 2>())
      .def("run", &BoundRadiusSearch::run, "seconds"_a.none(), "What was found so far, once the search ends or stops.");
}
