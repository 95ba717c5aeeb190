// Python face of the search for hitting sets.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <optional>
#include <stdexcept>
#include <vector>

#include "common/arrays.hpp"
#include "common/bindings.hpp"
#include "common/hitting_sets.hpp"
#include "common/running.hpp"
#include "common/watch.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using proofwood::i64;
using proofwood::kRunning;
using Ended = proofwood::HittingSets::Ended;

namespace {

class HittingSearch {
 public:
  explicit HittingSearch(std::vector<i64> weights) : n_elements_(weights.size()), search_(std::move(weights)) {}

  void add(const std::vector<int>& elements) {
    if (elements.empty()) throw std::invalid_argument("no set hits a set without elements");
    for (const int element : elements)
      if (element < 0 || static_cast<std::size_t>(element) >= n_elements_)
        throw std::invalid_argument("there is no such element");
    search_.add(elements);
  }
  void begin(i64 most) {
    if (most < 0) throw std::invalid_argument("size is negative");
    search_.begin(most);
  }
  nb::dict run(std::optional<double> seconds) {
    std::atomic<int> stop{kRunning};
    proofwood::Watch watch(stop);
    auto ended = Ended::kStopped;
    proofwood::run_watched([&] { ended = search_.run(watch); }, stop, seconds, nullptr);
    nb::dict found;
    found["chosen"] = ended == Ended::kFound ? nb::cast(search_.chosen()) : nb::none();
    found["none"] = ended == Ended::kNone;
    // a Ctrl-C may come with the answer
    found["stopped"] =
        ended == Ended::kStopped || stop.load() == proofwood::kInterrupt ? stop.load() : static_cast<int>(kRunning);
    found["nodes"] = search_.nodes();
    return found;
  }
  // Of all sets, the one of least weight below `upper`.
  nb::dict cheapest(i64 upper, std::optional<double> seconds) {
    std::atomic<int> stop{kRunning};
    proofwood::Watch watch(stop);
    auto ended = Ended::kStopped;
    std::vector<int> chosen;
    const auto work = [&] {
      search_.begin(upper - 1);
      while ((ended = search_.run(watch)) == Ended::kFound) {
        chosen = search_.chosen();
        upper = search_.weight();
        search_.permit(upper - 1);
      }
    };
    proofwood::run_watched(work, stop, seconds, nullptr);
    nb::dict found;
    found["chosen"] = chosen;
    found["weight"] = upper;
    found["complete"] = ended == Ended::kNone;
    found["stopped"] = stop.load();
    return found;
  }

 private:
  std::size_t n_elements_;
  proofwood::HittingSets search_;
};

std::vector<i64> ones(int n_elements) {
  if (n_elements < 0) throw std::invalid_argument("n_elements is negative");
  return std::vector<i64>(static_cast<std::size_t>(n_elements), 1);
}

nb::dict cheapest_hitting_set(const std::vector<std::vector<int>>& sets, const proofwood::Array<i64, 1>& weights,
                              i64 upper, std::optional<double> seconds) {
  const std::vector<i64> prices(weights.data(), weights.data() + weights.shape(0));
  for (const i64 price : prices)
    if (price <= 0) throw std::invalid_argument("a weight is not positive");
  HittingSearch search(prices);
  for (const auto& set : sets) search.add(set);
  return search.cheapest(upper, seconds);
}

}  // namespace

void proofwood::bind_hitting(nb::module_& module) {
  nb::class_<HittingSearch>(module, "HittingSearch", "Search for small sets that hit all given ones.")
      .def(
          "__init__", [](HittingSearch* self, int n_elements) { new (self) HittingSearch(ones(n_elements)); },
          "n_elements"_a)
      .def("add", &HittingSearch::add, "elements"_a, "One more set to be hit, also in the midst of a pass.")
      .def("begin", &HittingSearch::begin, "size"_a, "Begin a pass over the sets of at most so many elements.")
      .def("run", &HittingSearch::run, "seconds"_a.none(),
           "The next set that hits all, whether there is none in the rest of the pass, and what stopped it.");
  module.def("cheapest_hitting_set", &cheapest_hitting_set, "sets"_a, "weights"_a, "upper"_a, "seconds"_a.none(),
             "Elements of least int64 weight below `upper` that hit every set, and whether that is proved.");
}
