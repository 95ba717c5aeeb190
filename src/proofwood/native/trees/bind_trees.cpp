// Python face of the tree searches: settings in, answers out (docs/theory/optimal-trees.md).
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "common/bindings.hpp"
#include "common/running.hpp"
#include "common/settings.hpp"
#include "common/simd.hpp"
#include "trees/front.hpp"
#include "trees/search.hpp"

namespace nb = nanobind;
namespace trees = proofwood::trees;
using namespace nb::literals;
using proofwood::i64;
using proofwood::kRunning;
using proofwood::kTime;

namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<const int, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weights = nb::ndarray<const i64, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const i64, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void check_lengths(const Matrix& x, std::size_t targets, const Weights& weights) {
  if (targets != x.shape(0) || weights.shape(0) != x.shape(0))
    throw std::invalid_argument("x, targets and weights differ in length");
}

// What rows are told apart by: {"labels", "n_classes"}, or {"task", "numbers", "shift"} of a task by sums.
class GivenTargets {
 public:
  explicit GivenTargets(const nb::dict& given) {
    if (given.contains("task")) {
      task_ = nb::cast<std::string>(given["task"]);
      numbers_ = nb::cast<Numbers>(given["numbers"]);
      shift_ = nb::cast<int>(given["shift"]);
      if (shift_ < -60 || shift_ > 60) throw std::invalid_argument("shift must be from -60 to 60");
    } else {
      labels_ = nb::cast<Labels>(given["labels"]);
      n_classes_ = nb::cast<proofwood::u32>(given["n_classes"]);
    }
  }
  std::size_t size() const { return task_.empty() ? labels_.shape(0) : numbers_.shape(0); }
  // `sums` holds the numbers of a task by sums.
  trees::Targets take(const Weights& weights, i64 error_price, trees::SumRows& sums) const {
    if (task_.empty()) return {labels_.data(), n_classes_, error_price, nullptr};
    sums = trees::make_sums(task_, numbers_.data(), numbers_.shape(1), weights.data(), size(), shift_);
    return {.sums = &sums};
  }

 private:
  std::string task_;
  Labels labels_;
  Numbers numbers_;
  proofwood::u32 n_classes_ = 0;
  int shift_ = 0;
};

trees::Settings read_settings(const nb::dict& given, bool& merge, trees::LevelTests& by_sets) {
  trees::Settings settings;
  proofwood::SettingsReader reader(given);
  const auto number = [&](const char* name, auto fallback) { return reader.get(name, fallback); };
  const auto rule = [&](const char* name) { return reader.need<bool>(name); };
  settings.max_depth = reader.get("max_depth", settings.max_depth, 0);
  settings.any_depth = number("any_depth", settings.any_depth);
  settings.prices.error = number("error_price", settings.prices.error);
  settings.prices.leaf = number("leaf_price", settings.prices.leaf);
  settings.minimum.rows = number("min_rows", settings.minimum.rows);
  settings.minimum.mass = number("min_weight", settings.minimum.mass);
  settings.gap = number("gap", settings.gap);
  settings.start_upper = number("start_upper", settings.start_upper);
  settings.bound_only = number("bound_only", settings.bound_only);
  settings.threads = reader.get("threads", settings.threads, 1);
  settings.isa = proofwood::chosen_isa(number("isa", static_cast<int>(proofwood::kAuto)));
  settings.lane_bits = number("lane_bits", settings.lane_bits);
  if (reader.has("part"))
    for (const auto& one : reader.list<std::vector<proofwood::u32>>("part")) {
      if (one.size() != 3) throw std::invalid_argument("a part needs a column and two ranks");
      settings.part.push_back({one[0], one[1], one[2]});
    }
  settings.part_levels = number("part_levels", settings.part_levels);
  if (settings.by_part() && settings.max_depth < 3) throw std::invalid_argument("parts need a depth of three or more");
  settings.canonical = rule("canonical");
  settings.eta = number("eta", settings.eta);
  settings.block_work = number("block_work", settings.block_work);
  settings.rules.similarity = rule("similarity");
  settings.rules.interval_shrinking = rule("interval_shrinking");
  settings.rules.sub_interval = rule("sub_interval");
  settings.rules.feature_bounds = rule("feature_bounds");
  settings.rules.stump_bounds = rule("stump_bounds");
  settings.rules.depth_two = rule("depth_two");
  settings.rules.coarse = rule("coarse");
  settings.rules.cache = rule("cache");
  settings.rules.packed = rule("packed");
  settings.rules.pair_sums = rule("pair_sums");
  settings.rules.affordable = rule("affordable");
  settings.rules.priced = rule("priced");
  settings.rules.split_off = rule("split_off");
  settings.rules.dominated = rule("dominated");
  settings.rules.three_leaves = rule("three_leaves");
  settings.rules.greedy_tree = rule("greedy_tree");
  settings.rules.polish = rule("polish");
  settings.rules.beam = rule("beam");
  settings.rules.local_search = rule("local_search");
  settings.rules.blocks = rule("blocks");
  merge = rule("merge_rows");
  if (reader.has("by_sets")) by_sets.columns = reader.list<proofwood::u32>("by_sets");
  by_sets.anywhere = number("sets_anywhere", by_sets.anywhere);
  if (!by_sets.columns.empty() && settings.minimum.any())
    throw std::invalid_argument("columns tested by sets need leaves without a minimum");
  reader.finish();
  return settings;
}

nb::list nodes_of(const std::vector<trees::TreeNode>& nodes) {
  nb::list tree;
  for (const auto& node : nodes)
    tree.append(nb::make_tuple(node.feature, node.value, node.low, node.high, node.levels));
  return tree;
}

// Adds what the search found.
void add_answer(nb::dict& result, const trees::Search& search, const std::vector<trees::TreeNode>& nodes) {
  const auto state = search.state();
  result["upper"] = state.upper;
  result["lower"] = state.lower;
  result["packed"] = search.packed();
  result["relaxed"] = search.relaxed();
  result["constant"] = search.constant_cost();
  result["has_tree"] = !nodes.empty();
  result["canonical"] = search.canonical();
  result["trace"] = proofwood::trace_of(search.events_since(0));
  result["tree"] = nodes_of(nodes);
  result["counters"] = proofwood::counters_of(search.counters(), trees::kCounterNames);
}

// ------------------------------------------------------------------ records of a checkpoint, as numbers

trees::Proved read_proved(const nb::dict& given) {
  trees::Proved proved;
  proofwood::SettingsReader reader(given);
  using Numbers = std::vector<i64>;
  const auto rows = [&](const char* name, std::size_t width) {
    auto table = reader.list<Numbers>(name);
    for (const Numbers& row : table)
      if (row.size() < width) throw std::invalid_argument(std::string("a record of ") + name + " is too short");
    return table;
  };
  const auto depth = [](i64 number) { return static_cast<int>(std::clamp<i64>(number, 0, 1000)); };
  const auto index = [](i64 number) { return static_cast<proofwood::u32>(std::clamp<i64>(number, 0, ~0u - 1)); };
  for (const Numbers& r : rows("splits", 8))
    proved.splits.push_back({depth(r[0]), index(r[1]), index(r[2]), r[3], r[4], r[5], r[6], r[7]});
  for (const Numbers& r : rows("levels", 3)) proved.levels.push_back({depth(r[0]), index(r[1]), r[2]});
  for (const Numbers& r : rows("depths", 5))
    proved.depths.push_back({depth(r[0]), r[1], r[2], r[3], r[4] != 0, Numbers(r.begin() + 5, r.end())});
  for (const Numbers& r : rows("whole", 4))  // the newest counts
    proved.whole = {r[0], r[1], r[2] != 0, r[3] != 0, Numbers(r.begin() + 4, r.end())};
  reader.finish();
  return proved;
}

nb::dict write_proved(const trees::Proved& proved) {
  nb::list splits, levels, depths, whole;
  const auto with_plan = [](nb::list row, const trees::PlanNumbers& plan) {
    for (const i64 number : plan) row.append(number);
    return row;
  };
  const auto list = [](const auto&... numbers) {
    nb::list row;
    (row.append(numbers), ...);
    return row;
  };
  for (const auto& r : proved.splits)
    splits.append(list(r.depth, r.column, r.rank, r.low_side, r.high_side, r.total, r.lower, r.upper));
  for (const auto& r : proved.levels) levels.append(list(r.depth, r.column, r.bound));
  for (const auto& r : proved.depths)
    depths.append(with_plan(list(r.depth, r.upper, r.lower, r.relaxed, int{r.finished}), r.plan));
  if (const auto& r = proved.whole)
    whole.append(with_plan(list(r->upper, r->lower, int{r->done}, int{r->canonical}), r->plan));
  nb::dict dict;
  dict["whole"] = whole;
  dict["depths"] = depths;
  dict["splits"] = splits;
  dict["levels"] = levels;
  return dict;
}

nb::dict solve_tree(const Matrix& x, const nb::dict& targets, const Weights& weights, const nb::dict& given,
                    std::optional<double> seconds, const nb::object& progress, const std::optional<nb::dict>& proved,
                    const nb::object& keep, double keep_seconds) {
  const GivenTargets given_targets(targets);
  check_lengths(x, given_targets.size(), weights);
  const std::size_t n = x.shape(0);
  bool merge = true;
  trees::LevelTests by_sets;
  const trees::Settings settings = read_settings(given, merge, by_sets);
  if (targets.contains("task") && !by_sets.columns.empty())
    throw std::invalid_argument("columns are tested by sets where rows have classes");

  // The walk that writes the tree comes after the search: about 10 ns per value, at most a fifth of the limit.
  if (seconds)
    seconds = *seconds - std::min(0.2 * *seconds, 1e-8 * static_cast<double>(n) * static_cast<double>(x.shape(1)));

  const auto started = trees::TreeRun::Clock::now();
  std::atomic<int> stop{kRunning};
  std::unique_ptr<trees::Search> search;
  std::atomic<trees::Search*> running{nullptr};  // once it is made
  std::vector<trees::TreeNode> nodes;
  std::unique_ptr<trees::Journal> journal;
  if (proved) journal = std::make_unique<trees::Journal>(read_proved(*proved));

  trees::Table table;
  bool prepared = false;
  const auto prepare = [&] {
    trees::SumRows sums;
    const trees::Targets targets_of_rows = given_targets.take(weights, settings.prices.error, sums);
    prepared = trees::prepare(table, x.data(), n, x.shape(1), targets_of_rows, weights.data(), by_sets, merge,
                              settings.minimum.any(), settings.threads, stop);
  };
  const auto work = [&] {
    if (!prepared) prepare();
    if (!prepared) return;
    search = std::make_unique<trees::Search>(std::move(table), settings, stop, started, journal.get());
    running = search.get();
    proofwood::while_memory_lasts(stop, [&] { search->run(); });
    search->forget();
    proofwood::while_memory_lasts(stop, [&] { nodes = search->tree(); });
  };

  proofwood::Reports reports(!progress.is_none());
  double kept = 0;
  const auto report = [&](double now) {
    trees::Search* const known = running;
    if (known == nullptr) return;
    if (journal && now - kept >= keep_seconds) {
      const trees::Proved news = known->take_news();
      if (!news.empty()) keep(write_proved(news));
      kept = now;
    }
    if (!reports.due(*known, now)) return;
    const auto state = known->state();
    progress(now, state.upper, state.lower);
  };

  if (journal && journal->earlier().whole) {  // what is known is the answer at least, however short the time
    const double took = proofwood::run_watched(prepare, stop, std::nullopt, nullptr);
    if (seconds) seconds = std::max(0.0, *seconds - took);
  }
  if (stop.load() == kRunning) proofwood::run_watched(work, stop, seconds, report);

  nb::dict result;
  result["stopped"] = stop.load();
  result["seconds"] = proofwood::seconds_since(started);  // as the trace counts them
  result["kernel"] = proofwood::isa_name(settings.isa);
  if (search && journal) result["proved"] = write_proved(search->take_news());
  if (search)
    add_answer(result, *search, nodes);
  else
    result["upper"] = nb::none();
  return result;
}

trees::FrontWish read_wish(const nb::dict& given) {
  trees::FrontWish wish;
  proofwood::SettingsReader reader(given);
  wish.choice.leaves = reader.need<int>("leaves", 1, trees::Leaves::kMost);
  wish.below = reader.get<i64>("below", wish.below, 0);
  if (reader.has("prices")) wish.choice.prices = reader.list<i64>("prices");
  for (const i64 price : wish.choice.prices)
    if (price < 0) throw std::invalid_argument("the price of a leaf is below 0");
  wish.choice.any_tree = reader.get<bool>("any_tree", wish.choice.any_tree);
  wish.patience = reader.get<double>("patience", wish.patience);
  reader.finish();
  return wish;
}

std::vector<i64> numbers_of(const trees::Leaves& value, int most) {
  std::vector<i64> numbers;
  for (int l = 1; l <= most; ++l) numbers.push_back(value[std::min(l, value.size())]);
  return numbers;
}

nb::dict solve_front(const Matrix& x, const nb::dict& targets, const Weights& weights, const nb::dict& given,
                     const nb::dict& given_wish, std::optional<double> seconds, const nb::object& progress) {
  const GivenTargets given_targets(targets);
  check_lengths(x, given_targets.size(), weights);
  const std::size_t n = x.shape(0);
  bool merge = true;
  trees::LevelTests by_sets;
  const trees::Settings settings = read_settings(given, merge, by_sets);
  trees::FrontWish wish = read_wish(given_wish);
  if (!by_sets.columns.empty()) throw std::invalid_argument("fronts are of trees without tests of sets");
  if (settings.prices.leaf != 0) throw std::invalid_argument("the price of a leaf belongs to the wish of a front");

  const auto started = trees::TreeRun::Clock::now();
  std::atomic<int> stop{kRunning};
  std::unique_ptr<trees::Front> front;
  std::atomic<trees::Front*> running{nullptr};
  std::vector<std::vector<trees::TreeNode>> found;
  const auto work = [&] {
    trees::Table table;
    trees::SumRows sums;
    const trees::Targets targets_of_rows = given_targets.take(weights, settings.prices.error, sums);
    if (!trees::prepare(table, x.data(), n, x.shape(1), targets_of_rows, weights.data(), by_sets, merge,
                        settings.minimum.any(), settings.threads, stop))
      return;
    if (wish.below < trees::kInfinite) wish.below -= settings.prices.error * table.constant;
    front = std::make_unique<trees::Front>(std::move(table), settings, wish, stop, started);
    running = front.get();
    proofwood::while_memory_lasts(stop, [&] { front->run(); });
    front->forget();
    proofwood::while_memory_lasts(stop, [&] {
      for (int leaves = 1; leaves <= wish.choice.leaves; ++leaves) found.push_back(front->tree(leaves));
    });
  };
  const auto report = [&](double now) {
    trees::Front* const known = running;
    if (known == nullptr) return;
    int going = kRunning;
    if (now >= wish.patience && !known->bounds_most()) stop.compare_exchange_strong(going, kTime);
    if (progress.is_none()) return;
    const auto state = known->state();
    progress(now, numbers_of(state.upper, wish.choice.leaves), numbers_of(state.lower, wish.choice.leaves));
  };
  proofwood::run_watched(work, stop, seconds, report);

  nb::dict result;
  result["stopped"] = stop.load();
  result["seconds"] = proofwood::seconds_since(started);
  result["kernel"] = proofwood::isa_name(settings.isa);
  nb::list trees_found;
  for (const auto& nodes : found) trees_found.append(nodes_of(nodes));
  result["trees"] = trees_found;
  if (front) {
    const auto state = front->state();
    result["upper"] = numbers_of(state.upper, wish.choice.leaves);
    result["lower"] = numbers_of(state.lower, wish.choice.leaves);
    result["bounds_most"] = front->bounds_most();
    result["counters"] = proofwood::counters_of(front->counters(), trees::kCounterNames);
  } else {
    result["upper"] = nb::none();
  }
  return result;
}

}  // namespace

void proofwood::bind_trees(nb::module_& module) {
  module.def("solve_tree", &solve_tree, "x"_a, "targets"_a, "weights"_a, "settings"_a, "seconds"_a.none(),
             "progress"_a.none(), "proved"_a.none() = nb::none(), "keep"_a.none() = nb::none(), "keep_seconds"_a = 30.0,
             "Optimal tree for (n_rows, n_features) float64 values, int64 weights, and int32 labels or int64 numbers.");
  module.def("solve_front", &solve_front, "x"_a, "targets"_a, "weights"_a, "settings"_a, "wish"_a, "seconds"_a.none(),
             "progress"_a.none(),
             "Best trees for every number of leaves; the same of one number, or one below a cost.");
  module.def("instruction_sets", &proofwood::instruction_sets,
             "Instruction sets of the kernels that this machine can run.");
}
