// Python face of the search for small hitting sets.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <optional>
#include <stdexcept>
#include <vector>

#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/watch.hpp"
#include "votes/hitting_sets.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using proofwood::kRunning;
namespace votes = proofwood::votes;

namespace {

class HittingSearch {
 public:
  explicit HittingSearch(int n_elements) : n_elements_(checked(n_elements)), search_(n_elements) {}

  void add(const std::vector<int>& elements) {
    if (elements.empty()) throw std::invalid_argument("no set hits a set without elements");
    for (const int element : elements)
      if (element < 0 || element >= n_elements_) throw std::invalid_argument("there is no such element");
    search_.add(elements);
  }
  void begin(int size) {
    if (size < 0) throw std::invalid_argument("size is negative");
    search_.begin(size);
  }
  nb::dict run(std::optional<double> seconds) {
    std::atomic<int> stop{kRunning};
    proofwood::Watch watch(stop);
    auto ended = votes::HittingSets::Ended::kStopped;
    proofwood::run_watched([&] { ended = search_.run(watch); }, stop, seconds, nullptr);
    nb::dict found;
    const bool hits = ended == votes::HittingSets::Ended::kFound;
    found["chosen"] = hits ? nb::cast(search_.chosen()) : nb::none();
    found["none"] = ended == votes::HittingSets::Ended::kNone;
    found["stopped"] = ended == votes::HittingSets::Ended::kStopped ? stop.load() : static_cast<int>(kRunning);
    found["nodes"] = search_.nodes();
    return found;
  }

 private:
  static int checked(int n_elements) {
    if (n_elements < 0) throw std::invalid_argument("n_elements is negative");
    return n_elements;
  }

  int n_elements_;
  votes::HittingSets search_;
};

}  // namespace

void proofwood::bind_hitting(nb::module_& module) {
  nb::class_<HittingSearch>(module, "HittingSearch", "Search for small sets that hit all given ones.")
      .def(nb::init<int>(), "n_elements"_a)
      .def("add", &HittingSearch::add, "elements"_a, "One more set to be hit, also in the midst of a pass.")
      .def("begin", &HittingSearch::begin, "size"_a, "Begin a pass over the sets of at most so many elements.")
      .def("run", &HittingSearch::run, "seconds"_a.none(),
           "The next set that hits all, whether there is none in the rest of the pass, and what stopped it.");
}
