// Trees of depth two over packed tests for a task by sums: the sums of all pairs of tests, and from them the best
// stumps on both sides of every test (docs/theory/optimal-trees.md, "Packed tests").
//
//   pair (i, j): sums of the rows at which both hold      i holds, j fails: single i less the pair
//   its row i is counted over those rows at which i holds, or fails, whichever are fewer
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "trees/packed/stumps.hpp"
#include "trees/sums/costs.hpp"

namespace proofwood::trees {

template <SumTask T>
class PairStumps final : public packed::Stumps {
  using Costs = SumCosts<T>;
  using Sums = typename Costs::Sums;
  using Best = typename T::template Best<double>;

 public:
  PairStumps(const Costs& task, const packed::TestTable& table, const packed::Kernels& packing,
             const Settings& settings, const packed::Stop& stop)
      : task_(task),
        table_(table),
        packing_(packing),
        settings_(settings),
        stop_(stop),
        limited_(settings.minimum.any()),
        n_sums_(T::kSums + (limited_ ? 2 : 0)),
        kernels_(task.kernels(settings.isa, limited_, false)),
        places_{n_sums_, T::kParts} {
    take_rows();
  }

  void count(const packed::RowSet& rows) override {
    Counted& whole = of_[kWhole];
    count_single(rows);
    reserve_pairs(whole);
    const PairRows of{rows.row_bits(), rows.stride / packed::kTogether, gathered_.data(), stride_};
    finish(whole, count_pairs(whole, of, rows.words, rows.n));
  }

  void count_single(const packed::RowSet& rows) override {
    Counted& whole = of_[kWhole];
    reserve(whole, rows.n_tests(), rows.stride);
    take_all(whole, rows.sums);
    if (limited_) {
      whole.all[T::kSums] = rows.counts.count;
      whole.all[T::kSums + 1] = static_cast<double>(rows.counts.mass);
    }
    gather(rows.n, [&](u32 i) { return rows.entry(i); });
    count_tests(whole, {rows.row_bits(), rows.stride / packed::kTogether, gathered_.data(), stride_},
                first_rows(rows.n), rows.n);
  }

  bool divide(const packed::RowSet& rows, u32 test) override {
    Counted &whole = of_[kWhole], &part = of_[kPart], &rest = of_[kRest];
    const bool holds = 2 * held(rows.words, packing_.lane(test)) <= rows.n;
    const u32 n = rows.positions(packing_, test, holds, at_, group_);
    for (Counted* const side : {&part, &rest}) {
      reserve(*side, rows.n_tests(), rows.stride);
      reserve_pairs(*side);
    }
    part_all(whole, test, holds ? part : rest, holds ? rest : part);
    const PairRows of = gather_part(rows, n);
    count_tests(part, of, first_rows(n), n);
    const u32 words[] = {0, (n + packed::kWordRows - 1) / packed::kWordRows};
    auto* const bits = static_cast<std::uint16_t*>(words_.resize(std::size_t{words[1]} * rows.stride * 2));
    packing_.pack(bits_.data(), rows.stride, first_rows(n), n, bits);
    const bool done = count_pairs(part, of, {bits, rows.stride, rows.n_tests(), words}, n);
    subtract(whole.single, part.single, rest.single, stride_ * whole.width);
    if (done) subtract(whole.pairs, part.pairs, rest.pairs, whole.pairs_size(n_sums_));
    finish(part, done);
    finish(rest, done);
    return holds;
  }

  std::optional<u32> best_stump(const std::vector<u32>& entries, const std::vector<u32>&) override {
    Counted& part = of_[kPart];
    reserve(part, static_cast<u32>(table_.tests.size()), table_.stride);
    RowSums raw;
    raw.clear(T::kSums);
    for (const u32 e : entries) raw.add(*table_.all, e);
    take_all(part, raw);
    if (limited_)
      for (const u32 e : entries)
        for (int k = T::kSums; k < n_sums_; ++k)
          part.all[static_cast<std::size_t>(k)] += numbers_[e * stride_ + static_cast<std::size_t>(k)];
    count_tests(part, {table_.row_bits.data(), table_.stride / packed::kTogether, numbers_.data(), stride_},
                entries.data(), static_cast<u32>(entries.size()));
    const auto [test, cost] = best_stump(part);
    return cost < leaf(kPart) ? std::optional(test) : std::nullopt;
  }
  std::optional<u32> first_stump(i64 least) const override {
    const auto [test, cost] = best_stump(of_[kWhole]);
    return cost == least ? std::optional(test) : std::nullopt;
  }

  bool permitted(u32 test) const override { return permitted(of_[kWhole], test); }
  i64 stump(u32 test) const override { return stump(of_[kWhole], test); }

  i64 leaf(Of which) const override {
    const Counted& of = of_[which];
    const Sums all = sums_of([&](int k) { return of.all[static_cast<std::size_t>(k)]; });
    return task_.exactly(zero_.side(all, of.own), {all.data(), nullptr}, saved_by_leaf(all));
  }

  i64 least(Of which) override {
    Counted& of = of_[which];
    if (!of.done) return 0;
    i64 least = leaf(which), most = least;
    for (const Units& cost : of.costs) most = std::min(most, cost.most);
    for (u32 test = 0; test < of.n_tests; ++test) {
      if (of.costs[test].least < std::min(least, most)) settle(of, test);
      if (of.costs[test].settled()) least = std::min(least, of.costs[test].least);
    }
    return least;
  }

  void costs(Of which, std::vector<i64>& costs) override {
    Counted& of = of_[which];
    costs.assign(of.n_tests, 0);
    if (!of.done) return;
    const i64 least_of_all = least(which);
    for (u32 test = 0; test < of.n_tests; ++test) {
      if (of.costs[test].least <= least_of_all) settle(of, test);
      costs[test] = of.costs[test].least;
    }
  }

 private:
  static constexpr int kLimbBits = 26;  // sums of 2^27 rows stay below 2^53

  struct Counted {
    u32 n_tests = 0, width = 0;
    std::vector<double> all;
    i128 own = 0;
    typename Costs::Set alone;  // from its own zero; not of parts and rests
    double *pairs = nullptr, *single = nullptr, *state = nullptr;
    std::vector<Units> costs;  // of the tests as roots
    bool done = false;         // whether pairs were counted
    VectorBuffer pairs_memory, single_memory, state_memory;

    double sum(int k, u32 test) const { return single[static_cast<std::size_t>(k) * width + test]; }
    double pair(int k, u32 i, u32 j) const { return pairs[(static_cast<std::size_t>(k) * n_tests + i) * width + j]; }
    std::size_t pairs_size(int n_sums) const { return static_cast<std::size_t>(n_sums) * n_tests * width; }
  };

  // ---- rows

  // The numbers of a row: its sums, from the zero of all rows; what a minimum counts; its own cost, in limbs.
  void take_rows() {
    const Table& all = *table_.all;
    RowSums total;
    total.clear(all.sums.size());
    for (u32 r = 0; r < all.n_rows; ++r) total.add(all, r);
    zero_ = typename Costs::Set(total);
    i128 most = 0;
    for (u32 r = 0; r < all.n_rows; ++r) most = std::max({most, zero_.own_of(all, r), -zero_.own_of(all, r)});
    for (; T::kOwn && (n_limbs_ == 0 || most > 0); most >>= kLimbBits) ++n_limbs_;
    const auto each = static_cast<std::size_t>(n_sums_);
    stride_ = each + (n_limbs_ + each - 1) / each * each;  // so that limbs are added up as sums are
    numbers_.assign(all.n_rows * stride_, 0.0);
    for (u32 r = 0; r < all.n_rows; ++r) take_row(all, r, &numbers_[r * stride_]);
    values_ = {nullptr, static_cast<double>(settings_.minimum.rows), static_cast<double>(settings_.minimum.mass),
               zero_.zero.rate, settings_.rules.stump_bounds && comparable()};
  }
  void take_row(const Table& all, u32 row, double* to) const {
    zero_.sums_of(all, row, to);
    if (limited_) {
      to[T::kSums] = all.count[row];
      to[T::kSums + 1] = static_cast<double>(all.mass[row]);
    }
    i128 own = zero_.own_of(all, row);
    for (std::size_t limb = 0; limb < n_limbs_; ++limb, own >>= kLimbBits)
      to[static_cast<std::size_t>(n_sums_) + limb] =
          static_cast<double>(static_cast<i64>(limb + 1 < n_limbs_ ? own & ((i128{1} << kLimbBits) - 1) : own));
  }
  // Whether cheap bounds may be compared for all rows, and so for some.
  bool comparable() const {
    if constexpr (!CheaplyBounded<T>)
      return false;
    else {
      std::array<double, T::kSums> least;  // of those above 0
      least.fill(std::numeric_limits<double>::infinity());
      for (std::size_t at = 0; at < numbers_.size(); at += stride_)
        for (std::size_t k = 0; k < T::kSums; ++k)
          if (numbers_[at + k] > 0) least[k] = std::min(least[k], numbers_[at + k]);
      return T::comparable(Costs::as_doubles(zero_.all).data(), least.data());
    }
  }
  i128 whole_number(const auto& limb_at) const {
    i128 sum = 0;
    for (std::size_t limb = n_limbs_; limb-- > 0;) sum = sum * (i128{1} << kLimbBits) + static_cast<i64>(limb_at(limb));
    return sum;
  }

  void gather(u32 n, const auto& entry) {
    gathered_.resize(n * stride_);
    for (u32 i = 0; i < n; ++i) std::copy_n(&numbers_[entry(i) * stride_], stride_, gathered_.data() + i * stride_);
  }
  PairRows gather_part(const packed::RowSet& rows, u32 n) {
    gather(n, [&](u32 i) { return rows.entry(at_[i]); });
    const u32 blocks = rows.stride / packed::kTogether;
    bits_.resize(std::size_t{n} * blocks);
    for (u32 i = 0; i < n; ++i)
      std::copy_n(rows.row_bits() + std::size_t{at_[i]} * blocks, blocks, bits_.data() + std::size_t{i} * blocks);
    return {bits_.data(), blocks, gathered_.data(), stride_};
  }
  const u32* first_rows(u32 n) {
    while (in_order_.size() < n) in_order_.push_back(static_cast<u32>(in_order_.size()));
    return in_order_.data();
  }

  // ---- sums

  void take_all(Counted& of, const RowSums& raw) const {
    const typename Costs::Set set(raw, zero_.zero);
    for (int k = 0; k < T::kSums; ++k) of.all[static_cast<std::size_t>(k)] = static_cast<double>(set.all[k]);
    of.own = set.own;
    of.alone = typename Costs::Set(raw);
  }
  // Of both sides of a test of the whole.
  void part_all(const Counted& whole, u32 test, Counted& holds, Counted& fails) const {
    for (int k = 0; k < n_sums_; ++k) {
      const auto at = static_cast<std::size_t>(k);
      holds.all[at] = whole.sum(k, test);
      fails.all[at] = whole.all[at] - holds.all[at];
    }
    holds.own = own_where(whole, test, 0);
    fails.own = whole.own - holds.own;
  }
  void reserve(Counted& of, u32 n_tests, u32 width) const {
    of.n_tests = n_tests;
    of.width = width;
    of.done = false;
    of.all.assign(static_cast<std::size_t>(n_sums_), 0);
    of.single = static_cast<double*>(of.single_memory.resize(stride_ * width * sizeof(double)));
  }
  void reserve_pairs(Counted& of) const {
    of.pairs = static_cast<double*>(of.pairs_memory.resize(of.pairs_size(n_sums_) * sizeof(double)));
    const std::size_t blocks = of.width / static_cast<u32>(kernels_.lanes);
    of.state = static_cast<double*>(of.state_memory.resize(blocks * state_size() * sizeof(double)));
  }
  std::size_t state_size() const { return static_cast<std::size_t>(places_.vectors()) * kMostSumLanes; }

  void count_tests(Counted& of, const PairRows& rows, const u32* at, u32 n) const {
    const auto each = static_cast<std::size_t>(n_sums_);
    for (std::size_t k = 0; k < stride_; k += each)
      kernels_.add_up({rows.bits, rows.blocks, rows.numbers + k, stride_}, at, n, 0, of.width,
                      of.single + k * of.width);
  }

  // False if stopped.
  bool count_pairs(Counted& of, const PairRows& rows, const packed::Words& words, u32 n) {
    const std::size_t width = of.width, each = of.n_tests * width;
    for (u32 test = 0; test < of.n_tests; ++test) {
      if (stop_.asked(stop_.of)) return false;
      const bool fewer_hold = list_fewer(words, packing_.lane(test), n);
      const u32 first = test / packed::kTogether;
      double* const to = of.pairs + test * width;
      kernels_.add_up(rows, listed_.data(), n_listed_, first, each, to);
      work += 100 + static_cast<double>(n_listed_) * (rows.blocks - first) * n_sums_;
      if (!fewer_hold)
        for (std::size_t k = 0; k < static_cast<std::size_t>(n_sums_); ++k)
          for (std::size_t j = std::size_t{first} * packed::kTogether; j < width; ++j)
            to[k * each + j] = of.single[k * width + j] - to[k * each + j];
    }
    mirror(of);
    return true;
  }
  // Pairs of tests whose blocks were not counted.
  void mirror(Counted& of) const {
    const std::size_t width = of.width;
    for (int k = 0; k < n_sums_; ++k) {
      double* const pairs = of.pairs + static_cast<std::size_t>(k) * of.n_tests * width;
      for (std::size_t i = packed::kTogether; i < of.n_tests; ++i)
        for (std::size_t j = 0; j < i / packed::kTogether * packed::kTogether; ++j)
          pairs[i * width + j] = pairs[j * width + i];
    }
  }
  static u32 held(const packed::Words& words, u32 lane) {
    u32 n = 0;
    for (u32 w = 0; w < words.group[1]; ++w)
      n += static_cast<u32>(std::popcount(words.bits[std::size_t{w} * words.stride + lane]));
    return n;
  }
  // Lists the rows at which a test holds, or those at which it fails if these are fewer.
  bool list_fewer(const packed::Words& words, u32 lane, u32 n) {
    listed_.resize(n);
    const bool hold = 2 * held(words, lane) <= n;
    n_listed_ = 0;
    for (u32 w = 0; w < words.group[1]; ++w) {
      const u32 first = w * packed::kWordRows, rows = n - first;
      u32 bits = words.bits[std::size_t{w} * words.stride + lane];
      if (!hold) bits = ~bits & (rows >= packed::kWordRows ? 0xffffu : (1u << rows) - 1);
      for (; bits != 0; bits &= bits - 1) listed_[n_listed_++] = first + static_cast<u32>(std::countr_zero(bits));
    }
    return hold;
  }
  static void subtract(const double* whole, const double* part, double* rest, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) rest[i] = whole[i] - part[i];
  }

  // From the pairs to the costs of all roots.
  void finish(Counted& of, bool done) {
    of.done = done;
    if (!done) return;
    const PairSums sums{of.pairs, of.single, of.all.data(), of.n_tests, of.width};
    const auto lanes = static_cast<u32>(kernels_.lanes);
    for (u32 first = 0; first < of.n_tests; first += lanes)
      kernels_.walk_pairs(sums, first, values_, of.state + first / lanes * state_size());
    of.costs.assign(of.n_tests, {kInfinite, kInfinite});
    for (u32 test = 0; test < of.n_tests; ++test) {
      if (!permitted(of, test)) continue;
      const Units a = cost_of_side(of, test, 0), b = cost_of_side(of, test, 1);
      of.costs[test] = {a.least + b.least + settings_.prices.leaf, a.most + b.most + settings_.prices.leaf};
    }
  }

  // ---- costs

  bool permitted(const Counted& of, u32 test) const {
    return !limited_ || (enough([&](int k) { return of.sum(k, test); }) &&
                         enough([&](int k) { return of.all[static_cast<std::size_t>(k)] - of.sum(k, test); }));
  }
  bool enough(const auto& sum_at) const {
    return sum_at(T::kSums) >= values_.min_rows && sum_at(T::kSums + 1) >= values_.min_weight;
  }
  static Sums sums_of(const auto& sum_at) {
    Sums sums;
    for (int k = 0; k < T::kSums; ++k) sums[k] = static_cast<i64>(sum_at(k));
    return sums;
  }
  double saved(const Sums& low, const Sums& high) const {
    return zero_.saved(Costs::as_doubles(low).data(), Costs::as_doubles(high).data());
  }
  double saved_by_leaf(const Sums& all) const {
    return T::saved(T::leaf(Costs::as_doubles(all).data(), zero_.zero.rate));
  }
  i128 own_where(const Counted& of, u32 test, int side) const {
    const i128 held = whole_number([&](std::size_t limb) { return of.sum(n_sums_ + static_cast<int>(limb), test); });
    return side == 0 ? held : of.own - held;
  }

  // Side 0 of a test has the rows at which it holds.
  Sums sums_of_side(const Counted& of, u32 test, int side) const {
    return sums_of(
        [&](int k) { return side == 0 ? of.sum(k, test) : of.all[static_cast<std::size_t>(k)] - of.sum(k, test); });
  }
  OwnCost own_of_side(const Counted& of, u32 test, int side) const {
    return zero_.side(sums_of_side(of, test, side), own_where(of, test, side));
  }
  double at(const Counted& of, u32 test, int place) const {
    const auto lanes = static_cast<u32>(kernels_.lanes);
    return of.state[test / lanes * state_size() + static_cast<std::size_t>(place) * kMostSumLanes + test % lanes];
  }
  double saved(const Counted& of, u32 test, int side, int (SumPlaces::*parts)(int, int) const) const {
    Best best;
    for (int part = 0; part < T::kParts; ++part) best.part[part] = at(of, test, (places_.*parts)(side, part));
    return T::saved(best);
  }
  bool has_stump(const Counted& of, u32 test, int side) const {
    return !limited_ || at(of, test, places_.some(side, 0)) != T::none().part[0];
  }
  double saved_by_stump(const Counted& of, u32 test, int side) const {
    return saved(of, test, side, limited_ ? &SumPlaces::some : &SumPlaces::best);
  }

  Units cost_of_side(const Counted& of, u32 test, int side) const {
    const i64 price = settings_.prices.leaf;
    const OwnCost own = own_of_side(of, test, side);
    const Units leaf = task_.rounded(own, saved(of, test, side, &SumPlaces::leaf));
    if (!has_stump(of, test, side)) return leaf;
    const Units stump = task_.rounded(own, saved_by_stump(of, test, side));
    return {std::min(leaf.least, stump.least + price), std::min(leaf.most, stump.most + price)};
  }

  void settle(Counted& of, u32 test) const {
    Units& cost = of.costs[test];
    if (cost.settled()) return;
    cost.least = settings_.prices.leaf;
    for (const int side : {0, 1}) cost.least += exact_cost_of_side(of, test, side);
    cost.most = cost.least;
  }
  // Looks, with whole numbers, at every stump that saves as much as the best one within rounding.
  i64 exact_cost_of_side(const Counted& of, u32 test, int side) const {
    const OwnCost own = own_of_side(of, test, side);
    const Sums all = sums_of_side(of, test, side);
    const i64 leaf = task_.exactly(own, {all.data(), nullptr}, saved_by_leaf(all));
    if (!has_stump(of, test, side)) return leaf;
    const double near = Costs::close_to(own, saved_by_stump(of, test, side));
    i64 least = leaf;
    for (u32 j = 0; j < of.n_tests; ++j) {
      const auto low_at = [&](int k) { return side == 0 ? of.pair(k, test, j) : of.sum(k, j) - of.pair(k, test, j); };
      const auto high_at = [&](int k) {
        return (side == 0 ? of.sum(k, test) : of.all[static_cast<std::size_t>(k)] - of.sum(k, test)) - low_at(k);
      };
      const Sums low = sums_of(low_at), high = sums_of(high_at);
      const double value = saved(low, high);
      if (value < near || (limited_ && !(enough(low_at) && enough(high_at)))) continue;
      least = std::min(least, task_.exactly(own, {low.data(), high.data()}, value) + settings_.prices.leaf);
    }
    return least;
  }

  i64 stump(const Counted& of, u32 test) const {
    if (!permitted(of, test)) return kInfinite;
    const Sums low = sums_of_side(of, test, 0), high = sums_of_side(of, test, 1);
    const Sums all = sums_of([&](int k) { return of.all[static_cast<std::size_t>(k)]; });
    const i64 cost = task_.exactly(zero_.side(all, of.own), {low.data(), high.data()}, saved(low, high));
    return cost + settings_.prices.leaf;
  }

  // The first of the best stumps, as the search over thresholds chooses it: of those that save as much as the best one
  // within rounding the first of least cost, for more may cost as many units.
  std::pair<u32, i64> best_stump(const Counted& of) const {
    std::vector<double> saved_by(of.n_tests, -std::numeric_limits<double>::infinity());
    double most = -std::numeric_limits<double>::infinity();
    for (u32 test = 0; test < of.n_tests; ++test)
      if (permitted(of, test)) {
        const auto [low, high] = sides_alone(of, test);
        saved_by[test] = of.alone.saved(Costs::as_doubles(low).data(), Costs::as_doubles(high).data());
        most = std::max(most, saved_by[test]);
      }
    const OwnCost own = of.alone.own_cost();
    const double near = Costs::close_to(own, most);
    std::pair<u32, i64> best{0, kInfinite};
    for (u32 test = 0; test < of.n_tests; ++test) {
      if (!permitted(of, test) || saved_by[test] < near) continue;
      const auto [low, high] = sides_alone(of, test);
      const i64 cost = task_.exactly(own, {low.data(), high.data()}, saved_by[test]) + settings_.prices.leaf;
      if (cost < best.second) best = {test, cost};
    }
    return best;
  }
  // Sums of both sides of a test from the zero of its set: those at which it fails, and holds.
  std::pair<Sums, Sums> sides_alone(const Counted& of, u32 test) const {
    Sums high = sums_of_side(of, test, 0), low;
    if constexpr (Centred<T>) T::recentre(high.data(), of.alone.zero.centre - zero_.zero.centre);
    for (int k = 0; k < T::kSums; ++k) low[k] = of.alone.all[k] - high[k];
    return {low, high};
  }

  const Costs& task_;
  const packed::TestTable& table_;
  const packed::Kernels& packing_;
  const Settings& settings_;
  const packed::Stop stop_;
  const bool limited_;
  const int n_sums_;  // of the task, and with a minimum rows and weight
  const SumKernels& kernels_;
  const SumPlaces places_;
  typename Costs::Set zero_;  // all rows
  SumRecords values_{};
  std::size_t n_limbs_ = 0, stride_ = 0;
  std::vector<double> numbers_;  // (entries, stride)
  Counted of_[3];
  Buffer<double> gathered_;  // of the rows that are counted
  Buffer<u32> bits_, listed_;
  u32 n_listed_ = 0;
  std::vector<u32> in_order_, at_, group_;
  VectorBuffer words_;
};

template <SumTask T>
std::unique_ptr<packed::Stumps> SumCosts<T>::stumps(const packed::TestTable& table, const packed::Kernels& kernels,
                                                    const Settings& settings, const packed::Stop& stop) const {
  return std::make_unique<PairStumps<T>>(*this, table, kernels, settings, stop);
}

}  // namespace proofwood::trees
