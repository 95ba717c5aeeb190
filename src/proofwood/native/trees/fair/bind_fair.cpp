// Python face of the lists of labelled trees: settings in, the best tree out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>

#include "common/arrays.hpp"
#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/settings.hpp"
#include "common/simd.hpp"
#include "trees/fair/listing.hpp"
#include "trees/monotone/table.hpp"

namespace nb = nanobind;
namespace trees = proofwood::trees;
namespace fair = proofwood::trees::fair;
using namespace nb::literals;
using proofwood::i128;
using proofwood::i64;
using proofwood::kRunning;

namespace {

struct Asked {
  trees::Settings settings;
  fair::Forms forms;
  fair::Limit limit;
  i64 best = 0, least = 0, most_kept = 0;
};

Asked read(const nb::dict& given, const proofwood::Array<i64, 2>& amounts) {
  Asked asked;
  proofwood::SettingsReader reader(given);
  asked.settings.max_depth = reader.need<int>("max_depth", 0);
  asked.settings.prices.leaf = reader.need<i64>("leaf_price", 0);
  asked.settings.minimum.rows = reader.get("min_rows", asked.settings.minimum.rows);
  asked.settings.isa = proofwood::chosen_isa(proofwood::kAuto);
  fair::Forms& forms = asked.forms;
  for (std::size_t k = 0; k < amounts.shape(0); ++k)
    forms.amounts.emplace_back(amounts.data() + k * amounts.shape(1), amounts.data() + (k + 1) * amounts.shape(1));
  forms.base = reader.list<i64>("base");
  forms.per_leaf = reader.list<i64>("per_leaf");
  forms.most = reader.list<i64>("most");
  forms.n_goals = static_cast<std::size_t>(reader.need<int>("n_goals", 1));
  if (forms.base.size() != forms.amounts.size() || forms.per_leaf.size() != forms.amounts.size() ||
      forms.n_goals + forms.most.size() != forms.amounts.size())
    throw std::invalid_argument("amounts, base, per_leaf and most differ in length");
  asked.limit.factor = reader.need<i64>("factor", 0);
  asked.limit.shift = reader.need<int>("shift", 0, 100);
  asked.limit.offset =
      static_cast<i128>(reader.need<i64>("offset_high")) * (i64{1} << 62) + reader.need<i64>("offset_low", 0);
  asked.best = reader.need<i64>("best");
  asked.least = reader.need<i64>("least");
  asked.most_kept = reader.need<i64>("most_kept", 1);
  reader.finish();
  return asked;
}

nb::dict list_labelled_trees(const proofwood::Array<double, 2>& x, const proofwood::Array<int, 1>& labels,
                             const proofwood::Array<i64, 1>& weights, const proofwood::Array<i64, 2>& amounts,
                             const nb::dict& given, std::optional<double> seconds) {
  const std::size_t n = x.shape(0);
  if (labels.shape(0) != n || weights.shape(0) != n || amounts.shape(1) != n)
    throw std::invalid_argument("x, labels, weights and amounts differ in length");
  Asked asked = read(given, amounts);
  const auto started = trees::TreeRun::Clock::now();
  std::atomic<int> stop{kRunning};
  std::unique_ptr<fair::Listing> listing;
  const auto work = [&] {
    trees::Table table;
    const trees::Targets targets{labels.data(), 2, 1, nullptr};
    const std::vector<int> free(x.shape(1), 0);
    if (!trees::monotone::prepare(table, x.data(), n, x.shape(1), targets, weights.data(), free, 1, stop)) return;
    listing = std::make_unique<fair::Listing>(std::move(table), asked.settings, std::move(asked.forms), asked.limit,
                                              asked.best, asked.least, static_cast<std::size_t>(asked.most_kept), stop,
                                              started);
    proofwood::while_memory_lasts(stop, [&] { listing->run(); });
  };
  proofwood::run_watched(work, stop, seconds, nullptr);
  nb::dict result;
  nb::list tree;
  result["stopped"] = stop.load();
  result["complete"] = listing != nullptr && listing->complete();
  result["best"] = listing != nullptr ? listing->best() : asked.best;
  result["trees"] = listing != nullptr ? listing->n_trees() : 0;
  if (listing)
    for (const auto& [node, one] : listing->tree())
      tree.append(nb::make_tuple(node.feature, node.value, node.low, node.high, one));
  result["tree"] = tree;
  return result;
}

}  // namespace

void proofwood::bind_fair(nb::module_& module) {
  module.def("list_labelled_trees", &list_labelled_trees, "x"_a, "labels"_a, "weights"_a, "amounts"_a, "settings"_a,
             "seconds"_a.none(), "The best labelled tree under conditions on sums over its leaves of class one.");
}
