// Python face of sets of near-optimal trees: settings in; counts, trees by number out
// (docs/theory/near-optimal-trees.md).
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "common/arrays.hpp"
#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/settings.hpp"
#include "common/simd.hpp"
#include "trees/near/column_use.hpp"
#include "trees/near/decided_rows.hpp"
#include "trees/near/tree_reader.hpp"

namespace nb = nanobind;
namespace trees = proofwood::trees;
namespace near = proofwood::trees::near;
using namespace nb::literals;
using proofwood::i64;
using proofwood::kRunning;
using proofwood::u32;
using proofwood::u64;

namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<const int, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weights = nb::ndarray<const i64, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const u64, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Columns = nb::ndarray<const u32, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const u32, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

near::NearSettings read_settings(const nb::dict& given) {
  near::NearSettings settings;
  trees::Settings& search = settings.search;
  proofwood::SettingsReader reader(given);
  search.max_depth = reader.need<int>("max_depth", 0, 3);
  search.prices.error = reader.need<i64>("error_price", 1);
  search.prices.leaf = reader.need<i64>("leaf_price", 0);
  search.minimum.rows = reader.need<u32>("min_rows", 1);
  search.minimum.mass = reader.need<i64>("min_weight", 0);
  search.isa = proofwood::chosen_isa(reader.need<int>("isa"));
  search.lane_bits = reader.need<int>("lane_bits", 0);
  search.rules.similarity = reader.need<bool>("similarity");
  search.rules.interval_shrinking = reader.need<bool>("interval_shrinking");
  search.rules.sub_interval = reader.need<bool>("sub_interval");
  search.rules.feature_bounds = reader.need<bool>("feature_bounds");
  search.rules.coarse = reader.need<bool>("coarse");
  search.rules.cache = reader.need<bool>("cache");
  search.rules.packed = false;
  search.rules.affordable = false;  // deeper trees that cost more than the best are wanted, too
  settings.budget = reader.need<i64>("budget");
  settings.kept = reader.need<std::size_t>("kept_bytes");
  reader.finish();
  return settings;
}

nb::object integer(near::Count count) {
  const nb::object high = nb::int_(static_cast<u64>(count >> 64)), low = nb::int_(static_cast<u64>(count));
  return (high << nb::int_(64)) | low;
}

class NearTrees {
 public:
  NearTrees(const Matrix& x, const Labels& labels, u32 n_classes, const Weights& weights, const Columns& columns,
            const Flags& high_gaps, const nb::dict& given, std::optional<double> seconds)
      : x_(x) {
    if (columns.shape(0) != x.shape(1) || high_gaps.shape(0) != x.shape(1))
      throw std::invalid_argument("x and its views differ in columns");
    const near::GivenViews views{{columns.data(), columns.data() + columns.shape(0)},
                                 {high_gaps.data(), high_gaps.data() + high_gaps.shape(0)}};
    if (labels.shape(0) != x.shape(0) || weights.shape(0) != x.shape(0))
      throw std::invalid_argument("x, labels and weights differ in length");
    const near::NearSettings settings = read_settings(given);
    const auto work = [&] {
      trees::Table table;
      const trees::Targets targets{labels.data(), n_classes, settings.search.prices.error, nullptr, true};
      if (!trees::prepare(table, x.data(), x.shape(0), x.shape(1), targets, weights.data(), {}, false,
                          settings.search.minimum.any(), 1, stop_))
        return;
      search_ = std::make_unique<near::NearSearch>(std::move(table), views, settings, stop_);
      search_->run();
      reader_ = std::make_unique<near::TreeReader>(*search_, stop_);
    };
    seconds_ = proofwood::run_watched(work, stop_, seconds, nullptr);
    stopped_ = stop_.load();
  }

  bool done() const { return reader_ && search_->done(); }  // a stop that came later took no tree away
  int stopped() const { return stop_.load() == kRunning ? stopped_ : stop_.load(); }
  double seconds() const { return seconds_; }
  nb::dict counters() const {
    nb::dict counters;
    if (!search_) return counters;
    counters["root_splits"] = search_->cuts_evaluated();
    counters["root_splits_kept"] = search_->cuts().size();
    counters["edges"] = search_->edges_found();
    return counters;
  }
  nb::list tally() const {
    nb::list tally;
    if (!reader_) return tally;
    for (const near::CostCount& of : search_->tally())
      tally.append(nb::make_tuple(of.cost + search_->constant_cost(), integer(of.count)));
    return tally;
  }

  // Tests of the trees of these numbers, (n, 7, 3): column or -1, ranks of the two values. None if stopped.
  nb::object read(const Numbers& high, const Numbers& low, std::optional<double> seconds) {
    std::vector<i64> found(low.shape(0) * near::kNodes * 3);
    const auto keep = [&](std::size_t i, const near::TreeTests& tests) {
      i64* to = found.data() + i * near::kNodes * 3;
      for (const near::NodeTest& test : tests) {
        *to++ = test.feature == near::kLeaf ? -1 : i64{search_->table().column[test.feature]};
        *to++ = test.below;
        *to++ = test.above;
      }
    };
    if (!visit(high, low, seconds, keep)) return nb::none();
    return nb::cast(proofwood::owned(std::move(found), {low.shape(0), near::kNodes, 3}));
  }

  // A number for the predictions of each of these trees on the training rows. None if stopped.
  nb::object prints(const Numbers& high, const Numbers& low, std::optional<double> seconds) {
    std::vector<i64> found(low.shape(0));
    const auto keep = [&](std::size_t i, const near::TreeTests& tests) {
      found[i] = static_cast<i64>(near::print_of(*search_, tests));
    };
    if (!visit(high, low, seconds, keep)) return nb::none();
    return nb::cast(proofwood::owned(std::move(found)));
  }

  // Whether it came to its end, how many trees were seen, and per column that x shows, how many of them do without it.
  nb::tuple avoiding(std::optional<double> seconds) {
    near::ColumnUse use;
    const bool whole = watched(seconds, [&] { return near::count_without(*search_, stop_, use); });
    nb::list list;
    for (const near::Count count : use.without) list.append(integer(count));
    return nb::make_tuple(whole, integer(use.seen), list);
  }

  // Whether it came to its end, and (n, n_classes) 0 or 1: whether some tree of those seen gives the class to the row.
  // `below`, `until`: (n, n_columns) places of the rows' values.
  nb::tuple decisions(const Places& below, const Places& until, std::optional<double> seconds) {
    const std::size_t n = below.shape(0);
    if (below.shape(1) != x_.shape(1) || until.shape(1) != x_.shape(1) || until.shape(0) != n)
      throw std::invalid_argument("places and columns differ in number");
    std::vector<std::uint8_t> possible;
    std::size_t n_classes = 0;
    const auto work = [&] {
      const trees::Table& table = search_->table();
      n_classes = table.n_classes;
      near::PlacedRows rows{n, {}, {}};
      for (const u32 column : table.column) {
        rows.below.emplace_back(n);
        rows.until.emplace_back(n);
        for (std::size_t i = 0; i < n; ++i) {
          rows.below.back()[i] = below.data()[i * x_.shape(1) + column];
          rows.until.back()[i] = until.data()[i * x_.shape(1) + column];
        }
      }
      return near::decide_rows(*search_, stop_, rows, possible);
    };
    const bool whole = watched(seconds, work);
    return nb::make_tuple(whole, proofwood::owned({possible.begin(), possible.end()}, {n, n_classes}));
  }

 private:
  // False if stopped.
  bool watched(std::optional<double> seconds, const auto& work) {
    if (!reader_) throw std::out_of_range("there are no trees");
    bool whole = false;
    stop_ = kRunning;
    proofwood::run_watched([&] { whole = work(); }, stop_, seconds, nullptr);
    return whole && stop_.load() == kRunning;
  }
  // Reads the trees of these numbers, in the order in which that is quick.
  bool visit(const Numbers& high, const Numbers& low, std::optional<double> seconds, const auto& keep) {
    if (high.shape(0) != low.shape(0)) throw std::invalid_argument("both halves of the numbers are wanted");
    std::vector<std::size_t> order(low.shape(0));
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto number = [&](std::size_t i) { return near::Count{high.data()[i]} << 64 | low.data()[i]; };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return number(a) < number(b); });
    return watched(seconds, [&] {
      for (const std::size_t i : order) {
        near::TreeTests tests;
        if (stop_.load() != kRunning || !reader_->read(number(i), tests)) return false;
        keep(i, tests);
      }
      return true;
    });
  }

  Matrix x_;  // the table refers to it
  std::atomic<int> stop_{kRunning};
  int stopped_ = kRunning;
  double seconds_ = 0;
  std::unique_ptr<near::NearSearch> search_;
  std::unique_ptr<near::TreeReader> reader_;
};

}  // namespace

void proofwood::bind_near(nb::module_& module) {
  nb::class_<NearTrees>(module, "NearTrees", "All trees up to depth three that cost at most a budget, by their parts.")
      .def(nb::init<const Matrix&, const Labels&, u32, const Weights&, const Columns&, const Flags&, const nb::dict&,
                    std::optional<double>>(),
           "x"_a, "labels"_a, "n_classes"_a, "weights"_a, "columns"_a, "high_gaps"_a, "settings"_a, "seconds"_a.none())
      .def_prop_ro("done", &NearTrees::done)
      .def_prop_ro("stopped", &NearTrees::stopped)
      .def_prop_ro("seconds", &NearTrees::seconds)
      .def("counters", &NearTrees::counters)
      .def("tally", &NearTrees::tally, "Costs, and how many trees have each, in order.")
      .def("read", &NearTrees::read, "high"_a, "low"_a, "seconds"_a.none(), "Tests of the trees of these numbers.")
      .def("prints", &NearTrees::prints, "high"_a, "low"_a, "seconds"_a.none(), "A number for their predictions.")
      .def("avoiding", &NearTrees::avoiding, "seconds"_a.none(), "How many trees do without each column.")
      .def("decisions", &NearTrees::decisions, "below"_a, "until"_a, "seconds"_a.none(),
           "Which classes the trees give to rows.");
}
