// Python face of the subset search.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "bdd/subset_search.hpp"
#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/settings.hpp"
#include "common/simd.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using proofwood::kRunning;
using proofwood::u32;
namespace bdd = proofwood::bdd;

namespace {

using Ranks = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cuts = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weights = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The rows as the searches want them, for one search after the other: each has the table while it runs.
class SubsetTable {
 public:
  explicit SubsetTable(bdd::Table&& table) : table_(std::move(table)) {}

  // Gives the table away until the end of a scope.
  class Loan {
   public:
    explicit Loan(SubsetTable& owner) : owner_(owner) {
      if (!owner.table_) throw std::invalid_argument("this table is in use by another search");
      table = std::move(*owner.table_);
      owner.table_.reset();
    }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() { owner_.table_ = std::move(table); }
    bdd::Table table;

   private:
    SubsetTable& owner_;
  };

 private:
  std::optional<bdd::Table> table_;
};

bdd::Settings settings_of(const nb::dict& given) {
  bdd::Settings settings;
  proofwood::SettingsReader reader(given);
  const auto number = [&](const char* name, auto fallback) { return reader.get(name, fallback); };
  const auto rule = [&](const char* name) { return reader.need<bool>(name); };
  settings.size = number("size", settings.size);
  settings.upper = number("upper", settings.upper);
  settings.collect = number("collect", settings.collect);
  settings.greedy_only = number("greedy_only", settings.greedy_only);
  settings.enough = number("enough", settings.enough);
  settings.max_sets = number("max_sets", settings.max_sets);
  settings.threads = number("threads", settings.threads);
  settings.neighbours = number("neighbours", settings.neighbours);
  settings.restarts = number("restarts", settings.restarts);
  settings.boxes = number("boxes", false);
  settings.starts_first = number("starts_first", false);
  if (reader.has("starts")) settings.starts = reader.list<bdd::Set>("starts");
  settings.isa = proofwood::chosen_isa(number("isa", static_cast<int>(proofwood::kAuto)));
  settings.rules.matching = rule("matching");
  settings.rules.reweighting = rule("reweighting");
  settings.rules.overlap = rule("overlap");
  settings.rules.elimination = rule("elimination");
  settings.rules.leaf_matching = rule("leaf_matching");
  settings.rules.similarity = rule("similarity");
  settings.rules.greedy = rule("greedy");
  reader.finish();
  return settings;
}

void write_result(const bdd::Search& search, nb::dict& result) {
  const auto state = search.known().state();
  result["greedy_upper"] = search.greedy_upper();
  result["greedy_done"] = search.greedy_done();
  result["done"] = search.done();
  result["has_set"] = search.has_set();
  result["upper"] = state.upper;
  result["lower"] = state.lower;
  result["set"] = search.set();
  result["sets"] = search.sets();
  result["complete"] = search.complete();
  result["tests"] = search.table().tests;
  result["unavoidable"] = search.table().unavoidable;
  result["trace"] = proofwood::trace_of(search.known().events_since(0));
  result["counters"] = proofwood::counters_of(search.counters(), bdd::kCounterNames);
}

// ------------------------------------------------------------------ records of a checkpoint, as numbers

using Numbers = std::vector<proofwood::i64>;

bdd::Set set_from(const Numbers& row, std::size_t& at) {
  const auto left = static_cast<proofwood::i64>(row.size() - at);
  if (left < 1 || row[at] < 0 || row[at] > left - 1) throw std::invalid_argument("a recorded set is cut");
  bdd::Set set;
  const std::size_t end = at + 1 + static_cast<std::size_t>(row[at]);
  for (++at; at < end; ++at) set.push_back(static_cast<proofwood::u32>(std::clamp<proofwood::i64>(row[at], 0, ~0u)));
  return set;
}

void append(nb::list& row, const bdd::Set& set) {
  row.append(set.size());
  for (const auto test : set) row.append(test);
}

bdd::Proved read_proved(const nb::dict& given) {
  bdd::Proved proved;
  proofwood::SettingsReader reader(given);
  const auto rows = [&](const char* name, std::size_t width) {
    auto table = reader.list<Numbers>(name);
    for (const Numbers& row : table)
      if (row.size() < width) throw std::invalid_argument(std::string("a record of ") + name + " is too short");
    return table;
  };
  const auto index = [](proofwood::i64 number) {
    return static_cast<proofwood::u32>(std::clamp<proofwood::i64>(number, 0, ~0u));
  };
  std::size_t at = 0;
  for (const Numbers& r : rows("whole", 4)) {  // the newest counts
    proved.whole = {r[0], r[1], r[2] != 0, r[3], std::nullopt};
    if (r.size() > 4) proved.whole->set = set_from(r, at = 4);
  }
  for (const Numbers& r : rows("greedy", 1)) proved.greedy = set_from(r, at = 0);
  for (const Numbers& r : rows("root", 1)) proved.root = static_cast<proofwood::u64>(r[0]);
  for (const Numbers& r : rows("children", 4)) {
    proved.children.push_back({index(r[0]), index(r[1]), r[2], r[3], {}});
    for (at = 4; at < r.size();) proved.children.back().sets.push_back(set_from(r, at));
  }
  reader.finish();
  return proved;
}

nb::dict write_proved(const bdd::Proved& proved) {
  nb::list whole, greedy, root, children;
  const auto list = [](const auto&... numbers) {
    nb::list row;
    (row.append(numbers), ...);
    return row;
  };
  if (const auto& r = proved.whole) {
    nb::list row = list(r->upper, r->lower, int{r->done}, r->greedy_upper);
    if (r->set) append(row, *r->set);
    whole.append(row);
  }
  if (proved.greedy) {
    nb::list row;
    append(row, *proved.greedy);
    greedy.append(row);
  }
  if (proved.root) root.append(list(*proved.root));
  for (const auto& r : proved.children) {
    nb::list row = list(r.place, r.test, r.excluded, r.bound);
    for (const auto& set : r.sets) append(row, set);
    children.append(row);
  }
  nb::dict dict;
  dict["whole"] = whole;
  dict["greedy"] = greedy;
  dict["root"] = root;
  dict["children"] = children;
  return dict;
}

nb::dict prepare_subset(const Ranks& ranks, const Cuts& cuts, const Weights& weights, bool by_rank,
                        std::optional<double> seconds) {
  if (weights.shape(0) != ranks.shape(0)) throw std::invalid_argument("ranks and weights differ in length");
  if (cuts.shape(0) != ranks.shape(1)) throw std::invalid_argument("ranks and cuts differ in their number of columns");
  std::atomic<int> stop{kRunning};
  std::optional<bdd::Table> table;
  const auto work = [&] {
    table = bdd::make_table(ranks.data(), ranks.shape(0), ranks.shape(1), cuts.data(), weights.data(), weights.shape(1),
                            by_rank, stop);
  };
  proofwood::run_watched(work, stop, seconds, nullptr);
  nb::dict result;
  result["stopped"] = stop.load();
  result["table"] = nb::none();
  if (table && stop.load() == kRunning) result["table"] = nb::cast(new SubsetTable(std::move(*table)));
  return result;
}

int near_pairs(SubsetTable& owner, u32 neighbours, int isa, std::optional<double> seconds) {
  const bdd::SubsetKernels& kernels = *bdd::subset_kernels(proofwood::chosen_isa(isa));
  std::atomic<int> stop{kRunning};
  SubsetTable::Loan loan(owner);
  proofwood::run_watched([&] { bdd::add_near_pairs(loan.table, neighbours, kernels, stop); }, stop, seconds, nullptr);
  return stop.load();
}

nb::dict solve_subset(SubsetTable& owner, const nb::dict& given, std::optional<double> seconds,
                      const nb::object& progress, const std::optional<nb::dict>& proved, const nb::object& keep,
                      double keep_seconds) {
  const bdd::Settings settings = settings_of(given);
  const auto started = bdd::SetRun::Clock::now();
  std::atomic<int> stop{kRunning};
  std::optional<bdd::Proved> earlier;
  if (proved) earlier = read_proved(*proved);
  SubsetTable::Loan loan(owner);
  bdd::Search search(loan.table, settings, stop, started, earlier ? &*earlier : nullptr);

  proofwood::Reports reports(!progress.is_none());
  double kept = 0;
  const auto report = [&](double now) {
    if (earlier && now - kept >= keep_seconds) {
      const bdd::Proved news = search.take_news();
      if (!news.empty()) keep(write_proved(news));
      kept = now;
    }
    if (!reports.due(search.known(), now)) return;
    const auto state = search.known().state();
    progress(now, state.upper, state.lower);
  };
  proofwood::run_watched([&] { search.run(); }, stop, seconds, report);

  nb::dict result;
  result["stopped"] = stop.load();
  result["seconds"] = proofwood::seconds_since(started);  // as the trace counts them
  write_result(search, result);
  if (earlier) result["proved"] = write_proved(search.take_news());
  return result;
}

nb::dict first_subset(SubsetTable& owner, const nb::dict& given, const std::vector<u32>& witness,
                      std::optional<double> seconds) {
  const bdd::Settings settings = settings_of(given);
  std::atomic<int> stop{kRunning};
  std::optional<bdd::Set> first;
  SubsetTable::Loan loan(owner);
  proofwood::run_watched([&] { first = bdd::first_of_best(loan.table, settings, witness, stop); }, stop, seconds,
                         nullptr);
  nb::dict result;
  result["stopped"] = stop.load();
  result["first"] = first ? nb::cast(*first) : nb::none();
  return result;
}

}  // namespace

void proofwood::bind_subset(nb::module_& module) {
  const nb::class_<SubsetTable> table(module, "SubsetTable",
                                      "Groups of equal rows as the searches over sets of tests want them.");
  module.def("prepare_subset", &prepare_subset, "ranks"_a, "cuts"_a, "weights"_a, "by_rank"_a, "seconds"_a.none(),
             "The table of (n_groups, n_columns) int32 ranks and (n_groups, n_classes) int64 weights.");
  module.def("near_pairs", &near_pairs, "table"_a, "neighbours"_a, "isa"_a, "seconds"_a.none(),
             "Finds the pairs that bounds are made of; returns what stopped it.");
  module.def("solve_subset", &solve_subset, "table"_a, "settings"_a, "seconds"_a.none(), "progress"_a.none(),
             "proved"_a.none() = nb::none(), "keep"_a.none() = nb::none(), "keep_seconds"_a = 30.0,
             "Sets of tests of least error.");
  module.def("first_subset", &first_subset, "table"_a, "settings"_a, "witness"_a, "seconds"_a.none(),
             "Of the sets of least error the first in lexicographic order; None if it was stopped.");
}
