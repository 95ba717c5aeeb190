// Python face of the search for a row of another class.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <stdexcept>

#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/watch.hpp"
#include "votes/clause_search.hpp"
#include "votes/given_model.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using proofwood::kRunning;
namespace votes = proofwood::votes;

namespace {

class VoteSearch {
 public:
  VoteSearch(const votes::GivenModel& given, bool propagate_scores, bool slack, bool climb, bool local, bool join,
             std::int64_t patience)
      : model_(given.model), rules_{propagate_scores, slack, climb, local, join}, patience_(patience) {}
  VoteSearch(const VoteSearch&) = delete;
  VoteSearch& operator=(const VoteSearch&) = delete;

  // One question: is there a row with sum(winner) - sum(loser) >= least? `near` are the cells of the row to explain.
  nb::tuple ask(int winner, int loser, std::int64_t least, const std::vector<int>& assumptions,
                const std::vector<int>& near, std::optional<double> seconds) {
    auto& pair = pairs_[{winner, loser}];
    if (!pair)
      pair = std::make_unique<votes::ClauseSearch>(model_, std::vector<votes::Contest>{{winner, loser, least}}, rules_);
    return answer(*pair, true, assumptions, near, seconds);
  }

  // Is there a row in which `winner` comes before all `losers`, each a class with the least difference of the sums?
  nb::tuple ask_first(int winner, const std::vector<std::pair<int, std::int64_t>>& losers,
                      const std::vector<int>& assumptions, const std::vector<int>& near,
                      std::optional<double> seconds) {
    auto& search = firsts_[winner];
    if (!search) {
      std::vector<votes::Contest> contests;
      for (const auto& [loser, least] : losers) contests.push_back({winner, loser, least});
      search = std::make_unique<votes::ClauseSearch>(model_, contests, rules_);
    }
    return answer(*search, false, assumptions, near, seconds);  // local search and joined trees know one sum
  }

  std::int64_t conflicts() const {
    std::int64_t sum = 0;
    for (const auto& [_, pair] : pairs_) sum += pair ? pair->conflicts() : 0;  // none if memory did not last for it
    for (const auto& [_, search] : firsts_) sum += search ? search->conflicts() : 0;
    return sum;
  }

 private:
  nb::tuple answer(votes::ClauseSearch& search, bool one_sum, const std::vector<int>& assumptions,
                   const std::vector<int>& near, std::optional<double> seconds) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const auto left = [&]() -> std::optional<double> {
      if (!seconds) return std::nullopt;
      return std::max(0.0, *seconds - std::chrono::duration<double>(Clock::now() - begin).count());
    };
    const std::vector<votes::Literal> literals(assumptions.begin(), assumptions.end());
    votes::Outcome outcome = votes::Outcome::kStopped;
    std::atomic<int> lacking{kRunning};
    int stopped = kRunning;
    if (patience_ > 0) {
      // Most questions end soon: on this thread, which looks at the clock and for Ctrl-C itself.
      std::exception_ptr raised;
      proofwood::Watch watch([&] {
        if (PyErr_CheckSignals() != 0) {
          stopped = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0 ? proofwood::kInterrupt : proofwood::kError;
          try {
            nb::raise_python_error();
          } catch (nb::python_error&) {
            if (stopped == proofwood::kError) raised = std::current_exception();
          }
        } else if (seconds && *left() <= 0) {
          stopped = proofwood::kTime;
        }
        return stopped != kRunning;
      });
      const votes::Budget budget{watch, patience_, one_sum};
      if (!proofwood::while_memory_lasts(lacking, [&] { outcome = search.solve(literals, near, budget); }))
        return without_memory();
      if (raised) std::rethrow_exception(raised);
      if (stopped == proofwood::kInterrupt) outcome = votes::Outcome::kStopped;
      if (outcome != votes::Outcome::kStopped) stopped = kRunning;  // the answer came all the same
    }
    if (outcome == votes::Outcome::kStopped && stopped == kRunning) {
      std::atomic<int> stop{kRunning};
      proofwood::Watch watch(stop);
      const votes::Budget budget{watch, -1, one_sum};
      const auto go_on = [&] {
        outcome =
            one_sum && rules_.local ? search.solve_small(literals, near, budget) : search.solve(literals, near, budget);
      };
      proofwood::run_watched(go_on, stop, left(), nullptr);
      if (stop.load() == proofwood::kMemory && outcome == votes::Outcome::kStopped) return without_memory();
      if (stop.load() == proofwood::kInterrupt) outcome = votes::Outcome::kStopped;
      stopped = outcome == votes::Outcome::kStopped ? stop.load() : kRunning;
    }
    return nb::make_tuple(static_cast<int>(outcome), search.witness(), search.core(), stopped);
  }

  // No answer, and what was learned from earlier questions is given back: a search that lacked memory may be half done.
  nb::tuple without_memory() {
    pairs_.clear();
    firsts_.clear();
    proofwood::trim_memory();
    return nb::make_tuple(static_cast<int>(votes::Outcome::kStopped), std::vector<int>{}, std::vector<votes::Literal>{},
                          static_cast<int>(proofwood::kMemory));
  }

  const votes::Model& model_;
  votes::Rules rules_;
  std::int64_t patience_;  // conflicts before a question is worth a thread, and an ensemble, of its own
  std::map<std::pair<int, int>, std::unique_ptr<votes::ClauseSearch>> pairs_;
  std::map<int, std::unique_ptr<votes::ClauseSearch>> firsts_;
};

}  // namespace

void proofwood::bind_votes(nb::module_& module) {
#ifdef PROOFWOOD_CHECKS
  module.attr("checks") = true;
#else
  module.attr("checks") = false;
#endif
  nb::class_<votes::GivenModel>(module, "VoteModel", "An ensemble over the cells of its grid, shared by searches.")
      .def(nb::init<const votes::Numbers&, const votes::Numbers&, const votes::Scores&, const votes::Numbers&,
                    const votes::Numbers&, const votes::Numbers&, std::vector<std::vector<int>>>(),
           "cells"_a, "leaves_of"_a, "scores"_a, "base"_a, "needs_of"_a, "needs"_a, "clauses"_a);
  nb::class_<VoteSearch>(module, "VoteSearch",
                         "Search for rows of another class; keeps what it learned for each pair of classes.")
      .def(nb::init<const votes::GivenModel&, bool, bool, bool, bool, bool, std::int64_t>(), "model"_a,
           "propagate_scores"_a, "slack"_a, "climb"_a, "local"_a, "join"_a, "patience"_a, nb::keep_alive<1, 2>())
      .def("ask", &VoteSearch::ask, "winner"_a, "loser"_a, "least"_a, "assumptions"_a, "near"_a, "seconds"_a.none(),
           "(outcome 0 changes, 1 same, 2 stopped; cells; core; why it stopped) of one question")
      .def("ask_first", &VoteSearch::ask_first, "winner"_a, "losers"_a, "assumptions"_a, "near"_a, "seconds"_a.none(),
           "The same for a row in which one class comes before all others.")
      .def("conflicts", &VoteSearch::conflicts, "Conflicts of all questions so far.");
}
