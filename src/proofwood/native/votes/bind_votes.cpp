// Python face of the search for a row of another class.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/arrays.hpp"
#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/settings.hpp"
#include "common/watch.hpp"
#include "votes/given_model.hpp"
#include "votes/turns.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using proofwood::kRunning;
namespace votes = proofwood::votes;

namespace {

class VoteSearch {
 public:
  VoteSearch(const votes::GivenModel& given, const nb::dict& settings)
      : turns_(given.model, rules(settings)), n_classes_(given.model.n_classes) {}
  VoteSearch(const VoteSearch&) = delete;
  VoteSearch& operator=(const VoteSearch&) = delete;

  // Is there a row in which `winner` comes before all `losers`, each a class with the least difference of the sums?
  // `near` are the cells of the row to explain.
  nb::tuple ask(int winner, const std::vector<std::pair<int, std::int64_t>>& losers,
                const std::vector<int>& assumptions, std::vector<int> near, std::optional<double> seconds, bool hard,
                std::int64_t turns) {
    votes::Turns::Asked asked;
    for (const auto& [loser, least] : losers) {
      if (std::min(winner, loser) < 0 || std::max(winner, loser) >= n_classes_)
        throw std::invalid_argument("a class is beyond those of the model");
      asked.contests.push_back({winner, loser, least});
    }
    asked.assumptions.assign(assumptions.begin(), assumptions.end());
    asked.near = std::move(near);
    asked.hard = hard;
    asked.turns = turns;
    return answer(asked, seconds);
  }

  std::int64_t conflicts() const { return turns_.conflicts(); }
  std::int64_t boxes() const { return turns_.boxes(); }

 private:
  static votes::TurnRules rules(const nb::dict& settings) {
    proofwood::SettingsReader reader(settings);
    votes::TurnRules rules;
    rules.clause_rules.propagate_scores = reader.need<bool>("propagate_scores");
    rules.clause_rules.slack = reader.need<bool>("slack");
    rules.clause_rules.climb = reader.need<bool>("climb");
    rules.clause_rules.local = reader.need<bool>("local");
    rules.clause_rules.join = reader.need<bool>("join");
    rules.patience = reader.need<std::int64_t>("patience", 0);
    rules.clauses = reader.need<bool>("clauses");
    rules.messages = reader.need<bool>("messages");
    rules.message_rules.sweeps = reader.need<bool>("sweeps");
    rules.message_rules.share = reader.need<bool>("share");
    reader.finish();
    return rules;
  }

  nb::tuple answer(const votes::Turns::Asked& asked, std::optional<double> seconds) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const auto left = [&]() -> std::optional<double> {
      if (!seconds) return std::nullopt;
      return std::max(0.0, *seconds - std::chrono::duration<double>(Clock::now() - begin).count());
    };
    votes::Outcome outcome = votes::Outcome::kStopped;
    std::atomic<int> lacking{kRunning};
    int stopped = kRunning;
    // Most questions end soon: on this thread, which looks at the clock and for Ctrl-C itself.
    std::exception_ptr raised;
    proofwood::Watch first([&] {
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
    if (!proofwood::while_memory_lasts(lacking, [&] { outcome = turns_.begin(asked, first); })) return without_memory();
    if (raised) std::rethrow_exception(raised);
    if (stopped == proofwood::kInterrupt) outcome = votes::Outcome::kStopped;
    if (outcome != votes::Outcome::kStopped) stopped = kRunning;  // the answer came all the same
    if (outcome == votes::Outcome::kStopped && stopped == kRunning) {
      std::atomic<int> stop{kRunning};
      proofwood::Watch watch(stop);
      proofwood::run_watched([&] { outcome = turns_.go_on(asked, watch); }, stop, left(), nullptr);
      if (stop.load() == proofwood::kMemory && outcome == votes::Outcome::kStopped) return without_memory();
      if (stop.load() == proofwood::kInterrupt) outcome = votes::Outcome::kStopped;
      stopped = outcome == votes::Outcome::kStopped ? stop.load() : kRunning;
    }
    return nb::make_tuple(static_cast<int>(outcome), turns_.witness(), turns_.core(), stopped);
  }

  // No answer, and what was learned from earlier questions is given back: a search that lacked memory may be half done.
  nb::tuple without_memory() {
    turns_.clear();
    proofwood::trim_memory();
    return nb::make_tuple(static_cast<int>(votes::Outcome::kStopped), std::vector<int>{}, std::vector<votes::Literal>{},
                          static_cast<int>(proofwood::kMemory));
  }

  votes::Turns turns_;
  const int n_classes_;
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
  nb::class_<VoteSearch>(module, "VoteSearch", "Search for rows of another class; keeps what it learned.")
      .def(nb::init<const votes::GivenModel&, const nb::dict&>(), "model"_a, "settings"_a, nb::keep_alive<1, 2>())
      .def("ask", &VoteSearch::ask, "winner"_a, "losers"_a, "assumptions"_a, "near"_a, "seconds"_a.none(),
           "hard"_a = false, "turns"_a = -1,
           "(outcome 0 changes, 1 same, 2 stopped; cells; core; why it stopped) of one question.")
      .def("conflicts", &VoteSearch::conflicts, "Conflicts of all questions so far.")
      .def("boxes", &VoteSearch::boxes, "Boxes that messages bounded, of all questions so far.");
}
