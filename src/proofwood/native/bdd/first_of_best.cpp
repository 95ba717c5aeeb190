// Of all best sets the first one, test by test: is there a best set that goes on with this test?
//
// Theory: docs/theory/decision-diagrams.md, "Choosing the tests: branch and bound over sets".
// A search for all best sets has to look at tests by their number. One question at a time may look at the most
// promising ones first, and rules most of them out at the cut-off of the best error plus one.
#include <algorithm>
#include <chrono>

#include "bdd/subset_search.hpp"

namespace proofwood::bdd {

namespace {

class Questions {
 public:
  Questions(Table& table, const Settings& settings, std::atomic<int>& stop)
      : table_(table), settings_(settings), stop_(stop), most_(settings.size) {
    settings_.upper = settings.enough + 1;
    settings_.collect = false;
    settings_.rules.greedy = false;
  }

  const Table& table() const { return table_; }
  bool stopped() const { return stop_.load(std::memory_order_relaxed) != 0; }

  // A best set that has the tests `forced`, and else only tests from `first` on; none if there is none.
  std::optional<Set> ask(const Set& forced, u32 first) { return ask(forced, first, most_); }
  // Whether these tests are a best set.
  bool are_best(const Set& tests) { return ask(tests, table_.tests, static_cast<u32>(tests.size())).has_value(); }

 private:
  std::optional<Set> ask(const Set& forced, u32 first, u32 size) {
    settings_.forced = forced;
    settings_.first = first;
    settings_.size = size;
    Search search(table_, settings_, stop_, SetRun::Clock::now());
    search.run();
    std::optional<Set> found;
    if (search.has_set()) found = search.known().answer();
    return found;
  }

  Table& table_;
  Settings settings_;
  std::atomic<int>& stop_;
  u32 most_;
};

Set places_of(const Table& table, const Set& numbers) {
  Set places;
  for (const u32 number : numbers)
    places.push_back(
        static_cast<u32>(std::lower_bound(table.number.begin(), table.number.end(), number) - table.number.begin()));
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace

std::optional<Set> first_of_best(Table& given, const Settings& settings, const Set& witness, std::atomic<int>& stop) {
  Questions questions(given, settings, stop);
  Set best = places_of(questions.table(), witness), prefix;
  // `best` begins with the prefix, and goes on with the least test that is known to be possible
  for (u32 from = 0; prefix.size() < best.size(); from = prefix.back() + 1) {
    if (questions.are_best(prefix)) break;
    for (u32 test = from; test < best[prefix.size()] && !questions.stopped(); ++test) {
      Set forced = prefix;
      forced.push_back(test);
      if (auto found = questions.ask(forced, test + 1)) {
        best = std::move(*found);
        std::sort(best.begin(), best.end());
      }
    }
    if (questions.stopped()) return std::nullopt;
    prefix.push_back(best[prefix.size()]);
  }
  Set numbers;
  for (const u32 place : prefix) numbers.push_back(questions.table().number[place]);
  return numbers;
}

}  // namespace proofwood::bdd
