// A task by sums behind the interface of tasks: doubles whose rounding is bounded, and whole numbers where that leaves
// a cost open (docs/theory/optimal-trees.md, "Tasks").
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "trees/row_walk.hpp"
#include "trees/stump.hpp"
#include "trees/stump_batch.hpp"
#include "trees/sums/kernels.hpp"
#include "trees/sums/sum_task.hpp"
#include "trees/task.hpp"

namespace proofwood::trees {

// A cost in whole units, or its least and most where rounding leaves it open.
struct Units {
  i64 least, most;
  bool settled() const { return least == most; }
};

// What some rows cost by themselves, exactly, and by doubles with the error of that less what leaves save.
struct OwnCost {
  i128 exact = 0;
  double whole = 0, error = 0;
};

template <SumTask T>
class SumCosts final : public SumsTask {
 public:
  using Sums = std::array<i64, T::kSums>;
  using Best = typename T::template Best<double>;

  SumCosts(int place, Unit unit) : place_(place), unit_(unit), scale_(std::ldexp(1.0, -unit.shift)) {}

  i64 leaf(const Rows& rows) const override { return leaf_of(rows.sums); }
  i64 leaf_of(const RowSums& rows) const override {
    const Set set(rows);
    return exactly(set.own_cost(), {set.all.data(), nullptr}, set.alone());
  }
  i64 two_leaves(const RowSums& low, const RowSums& high) const override {
    RowSums both = low;
    both.add(high);
    const Set set(both), low_set(low, set.zero), high_set(high, set.zero);
    return exactly(set.own_cost(), {low_set.all.data(), high_set.all.data()},
                   set.saved(as_doubles(low_set.all).data(), as_doubles(high_set.all).data()));
  }
  Stump stump(const Table& table, const Rows& rows, const Minimum& minimum,
              const std::atomic<int>& stop) const override;
  std::unique_ptr<StumpCosts> stumps(StumpBatch& batch) const override;

  std::unique_ptr<packed::Stumps> stumps(const packed::TestTable& table, const packed::Kernels& kernels,
                                         const Settings& settings, const packed::Stop& stop) const override;

  bool purest(RowWalk& walk, std::vector<double>* by_feature) const override;
  bool stumps(RowWalk& walk) const override;
  std::vector<double> prediction(const RowSums& rows) const override {
    const auto predicted = T::prediction(rows.sums.data());
    return {predicted.begin(), predicted.end()};
  }
  double loss(const Table& table, u32 row, const std::vector<double>& prediction) const override {
    std::array<double, T::kSums> sums;
    for (int k = 0; k < T::kSums; ++k) sums[k] = table.sums[static_cast<std::size_t>(k)][row];
    const double own = T::kOwn ? static_cast<double>(table.own[row]) : 0;
    return T::loss(own, sums.data(), prediction.data()) * scale_;
  }

  const SumKernels& kernels(int isa, bool limited, bool unit) const { return sum_kernels(isa, place_, limited, unit); }

  // The sums of some rows, from a zero near their mean.
  struct Set {
    Zero zero;
    Sums all{};
    i128 own = 0;

    Set() = default;
    explicit Set(const RowSums& sums) {
      take(sums);
      move_to(T::zero(all.data()));
    }
    Set(const RowSums& sums, const Zero& to) {
      take(sums);
      move_to(to);
    }
    OwnCost side(const Sums& sums, i128 exact) const {
      const auto doubles = as_doubles(sums);
      const double whole = T::whole(exact, doubles.data(), zero);
      return {exact, whole, T::error(whole, doubles.data(), zero)};
    }
    OwnCost own_cost() const { return side(all, own); }
    double saved(const double* low, const double* high) const { return T::saved(T::split(low, high, zero.rate)); }
    double alone() const { return T::saved(T::leaf(as_doubles(all).data(), zero.rate)); }
    i128 own_of(const Table& table, u32 row) const {
      if constexpr (!T::kOwn) return 0;
      i128 own_of_row = table.own[row];
      if constexpr (Centred<T>) {
        Sums sums;
        for (int k = 0; k < T::kSums; ++k) sums[k] = static_cast<i64>(table.sums[static_cast<std::size_t>(k)][row]);
        own_of_row = T::own_from(own_of_row, sums.data(), zero.centre);
      }
      return own_of_row;
    }
    void sums_of(const Table& table, u32 row, double* to) const {
      for (int k = 0; k < T::kSums; ++k) to[k] = table.sums[static_cast<std::size_t>(k)][row];
      if constexpr (Centred<T>) T::recentre(to, static_cast<double>(zero.centre));
    }

   private:
    void take(const RowSums& sums) {
      own = sums.own;
      for (int k = 0; k < T::kSums; ++k) all[k] = static_cast<i64>(sums.sums[static_cast<std::size_t>(k)]);
    }
    void move_to(const Zero& to) {
      zero = to;
      if constexpr (Centred<T>) {
        own = T::own_from(own, all.data(), zero.centre);
        T::recentre(all.data(), zero.centre);
      }
    }
  };

  static std::array<double, T::kSums> as_doubles(const Sums& sums) {
    std::array<double, T::kSums> to;
    for (int k = 0; k < T::kSums; ++k) to[k] = static_cast<double>(sums[k]);
    return to;
  }

  // By doubles alone.
  Units rounded(const OwnCost& own, double saved) const {
    if constexpr (T::kExact) {
      const i64 cost = static_cast<i64>(own.exact) - static_cast<i64>(saved);
      return {cost, cost};
    }
    const double cost = (own.whole - saved) * scale_, error = own.error * scale_ + 0x1p-46;
    const auto units = [](double value) { return static_cast<i64>(std::max(value, 0.0)); };
    return {units(cost - error), units(cost + error)};
  }
  i64 exactly(const OwnCost& own, const LeafSums& leaves, double saved) const {
    Units units = rounded(own, saved);
    while (units.least < units.most) {
      const i64 middle = units.least + (units.most - units.least + 1) / 2;
      if (T::costs_at_least(own.exact, leaves, unit_, middle))
        units.least = middle;
      else
        units.most = middle - 1;
    }
    return units.least;
  }

  // Splits that save less than this cost more than one that saves `most`, or as much.
  static double close_to(const OwnCost& own, double most) { return most - 2 * own.error; }

 private:
  const int place_;
  const Unit unit_;
  const double scale_;
};

// ------------------------------------------------------------------ one stump

// The rows of a feature one after the other, as they go low: `offer` is called wherever a value ends.
template <SumTask T>
Stump SumCosts<T>::stump(const Table& table, const Rows& rows, const Minimum& minimum,
                         const std::atomic<int>& stop) const {
  const Set set(rows.sums);
  const auto all = as_doubles(set.all);
  const OwnCost own = set.own_cost();
  std::vector<double> values(std::size_t{rows.n} * T::kSums);
  for (u32 local = 0; local < rows.n; ++local)
    set.sums_of(table, rows.row(local), &values[std::size_t{local} * T::kSums]);
  const auto each_split = [&](const auto& offer) {
    for (u32 f = 0; f < rows.n_features && !stop.load(std::memory_order_relaxed); ++f) {
      std::array<double, T::kSums> low{}, high;
      u32 count = 0;
      i64 mass = 0;
      const u32* const order = rows.order(f);
      for (u32 i = 0; i + 1 < rows.n; ++i) {
        for (int k = 0; k < T::kSums; ++k)
          low[k] += values[std::size_t{order[i]} * T::kSums + static_cast<std::size_t>(k)];
        if (minimum.any()) {
          const u32 r = rows.row(order[i]);
          count += table.count[r];
          mass += table.mass[r];
        }
        if (!rows.is_boundary(f, i + 1)) continue;
        for (int k = 0; k < T::kSums; ++k) high[k] = all[k] - low[k];
        const bool permitted = !minimum.any() || (minimum.met(count, mass) &&
                                                  minimum.met(rows.counts.count - count, rows.counts.mass - mass));
        offer(f, i + 1, low.data(), high.data(), permitted);
      }
    }
  };
  double most = -std::numeric_limits<double>::infinity(), most_permitted = most;
  each_split([&](u32, u32, const double* low, const double* high, bool permitted) {
    const double saved = set.saved(low, high);
    most = std::max(most, saved);
    if (permitted) most_permitted = std::max(most_permitted, saved);
  });
  Stump best;
  const double near = close_to(own, most), near_permitted = close_to(own, most_permitted);
  each_split([&](u32 f, u32 position, const double* low, const double* high, bool permitted) {
    const double saved = set.saved(low, high);
    const bool wanted = permitted && saved >= near_permitted;
    if (saved < near && !wanted) return;
    Sums low_sums, high_sums;
    for (int k = 0; k < T::kSums; ++k) {
      low_sums[k] = static_cast<i64>(low[k]);
      high_sums[k] = static_cast<i64>(high[k]);
    }
    const i64 cost = exactly(own, {low_sums.data(), high_sums.data()}, saved);
    best.cost_all = std::min(best.cost_all, cost);
    if (!wanted || cost >= best.cost) return;
    best.cost = cost;
    best.feature = f;
    best.position = position;
  });
  return best;
}

// ------------------------------------------------------------------ one split for many nodes

// The sums of the rows of one slot that were walked over, from the slot's own zero.
template <SumTask T>
struct SumCell : RowWalk::Cell {
  std::array<double, T::kSums> low{};
  std::array<double, T::kSums> all{};
  typename SumCosts<T>::Set set;

  void restart() {
    begin();
    low.fill(0);
  }
  double saved() const {
    std::array<double, T::kSums> high;
    for (int k = 0; k < T::kSums; ++k) high[k] = all[k] - low[k];
    return set.saved(low.data(), high.data());
  }
};

template <SumTask T>
std::vector<SumCell<T>> sum_cells(const RowWalk& walk) {
  std::vector<SumCell<T>> cells(walk.slots.size());
  for (std::size_t s = 0; s < cells.size(); ++s) {
    cells[s].set = typename SumCosts<T>::Set(walk.slots[s].sums);
    cells[s].all = SumCosts<T>::as_doubles(cells[s].set.all);
  }
  return cells;
}

template <SumTask T>
auto add_to_cell(const Table& table) {
  return [&table](SumCell<T>& cell, const RowWalk::Record&, u32 row) {
    std::array<double, T::kSums> sums;
    cell.set.sums_of(table, row, sums.data());
    for (int k = 0; k < T::kSums; ++k) cell.low[k] += sums[k];
  };
}

template <SumTask T>
bool SumCosts<T>::purest(RowWalk& walk, std::vector<double>* by_feature) const {
  auto cells = sum_cells<T>(walk);
  std::vector<double> alone(cells.size());
  for (std::size_t s = 0; s < cells.size(); ++s) alone[s] = cells[s].set.alone();
  const auto offer = [&](const SumCell<T>& cell, u32 s, u32 feature, const auto& permitted) {
    const double gain = cell.saved() - alone[s];
    if (!(gain > (by_feature ? (*by_feature)[feature] : walk.choices[s].score)) || !permitted()) return;
    if (by_feature) (*by_feature)[feature] = std::max((*by_feature)[feature], gain);
    RowWalk::Choice& best = walk.choices[s];
    if (gain > best.score) best = {0, gain, true, feature, cell.last, 0};
  };
  return walk.walk(cells, offer, add_to_cell<T>(walk.table()));
}

template <SumTask T>
bool SumCosts<T>::stumps(RowWalk& walk) const {
  auto cells = sum_cells<T>(walk);
  std::vector<double> near(cells.size(), -std::numeric_limits<double>::infinity());
  const auto add = add_to_cell<T>(walk.table());
  const auto look = [&](const SumCell<T>& cell, u32 s, u32, const auto& permitted) {
    if (const double saved = cell.saved(); saved > near[s] && permitted()) near[s] = saved;
  };
  if (!walk.walk(cells, look, add)) return false;
  for (std::size_t s = 0; s < cells.size(); ++s) near[s] = close_to(cells[s].set.own_cost(), near[s]);
  const auto offer = [&](const SumCell<T>& cell, u32 s, u32 feature, const auto& permitted) {
    const double saved = cell.saved();
    if (saved < near[s] || !permitted()) return;
    Sums low, high;
    for (int k = 0; k < T::kSums; ++k) {
      low[k] = static_cast<i64>(cell.low[k]);
      high[k] = cell.set.all[k] - low[k];
    }
    const i64 cost = exactly(cell.set.own_cost(), {low.data(), high.data()}, saved);
    RowWalk::Choice& best = walk.choices[s];
    if (cost < best.cost) best = {cost, 0, true, feature, cell.last, 0};
  };
  return walk.walk(cells, offer, add);
}

// ------------------------------------------------------------------ stumps in batches

template <SumTask T>
class SumStumps final : public StumpCosts {
  using Costs = SumCosts<T>;
  using Sums = typename Costs::Sums;
  using Best = typename T::template Best<double>;

 public:
  SumStumps(StumpBatch& batch, const SumCosts<T>& task)
      : batch_(batch),
        task_(task),
        limited_(batch.minimum.any()),
        kernels_(task.kernels(batch.isa, limited_, batch.table.unweighted)),
        places_{T::kSums + (limited_ ? 2 : 0), T::kParts} {}

  int room() const override { return kernels_.lanes; }

  void begin(Rows& rows) override {
    batch_.kernels = select_kernels(batch_.isa, 64, 0);  // for the bits of the lanes
    const Table& table = batch_.table;
    set_ = typename Costs::Set(rows.sums);
    stride_ = static_cast<std::size_t>(places_.sums) + (kernels_.unit ? 0 : 1);
    skipped_ = kernels_.unit ? 1 : 0;
    double* const records = static_cast<double*>(records_.resize(rows.n * stride_ * sizeof(double)));
    if (T::kOwn) own_of_.resize(rows.n);
    std::array<double, T::kSums> least;  // of those above 0
    least.fill(std::numeric_limits<double>::infinity());
    for (u32 local = 0; local < rows.n; ++local) {
      double* const record = records + local * stride_;
      const u32 row = rows.row(local);
      std::array<double, T::kSums> sums;
      set_.sums_of(table, row, sums.data());
      if constexpr (CheaplyBounded<T>)
        for (int k = 0; k < T::kSums; ++k) least[k] = sums[k] > 0 ? std::min(least[k], sums[k]) : least[k];
      std::copy(sums.begin() + skipped_, sums.end(), record);
      if constexpr (T::kOwn) own_of_[local] = set_.own_of(table, row);
      if (!limited_) continue;
      record[T::kSums] = table.count[row];
      record[T::kSums + 1] = static_cast<double>(table.mass[row]);
    }
    all_.assign(static_cast<std::size_t>(places_.sums), 0);
    for (int k = 0; k < T::kSums; ++k) all_[static_cast<std::size_t>(k)] = static_cast<double>(set_.all[k]);
    if (limited_) {
      all_[T::kSums] = rows.counts.count;
      all_[T::kSums + 1] = static_cast<double>(rows.counts.mass);
    }
    values_ = {records, static_cast<double>(batch_.minimum.rows), static_cast<double>(batch_.minimum.mass),
               set_.zero.rate, batch_.bounded};
    if constexpr (CheaplyBounded<T>) values_.bounded &= T::comparable(all_.data(), least.data());
    if (T::kOwn) {
      own_.resize(rows.n_features);
      for (auto& sums : own_) sums.clear();
    }
  }

  bool run(Rows& rows) override {
    rows_ = &rows;
    u32* const mask = static_cast<u32*>(batch_.mask_buffer.resize(rows.n * sizeof(u32)));
    batch_.make_mask(rows, mask);
    double* const records = const_cast<double*>(values_.records);
    for (u32 i = 0; i < rows.n; ++i) records[(i + 1) * stride_ - 1] = std::bit_cast<double>(u64{mask[i]});
    state_ = static_cast<double*>(
        state_buffer_.resize(static_cast<std::size_t>(places_.vectors()) * kMostSumLanes * sizeof(double)));
    kernels_.begin(rows.n, values_, all_.data(), state_);
    for (u32 f = 0; f < rows.n_features; ++f) {
      if (batch_.stopped()) return false;
      kernels_.walk(rows.sorted(f, limited_, false), values_, state_);
    }
    const std::size_t lanes = batch_.lanes.size();
    sides.resize(lanes);
    open_.assign(lanes, {false, false});
    own_sides_.resize(lanes);
    for (std::size_t l = 0; l < lanes; ++l) {
      const i128 low = T::kOwn ? own_before(batch_.lanes[l].feature, batch_.lanes[l].position) : 0;
      own_sides_[l] = {set_.side(sums_of_side(l, 0), low), set_.side(sums_of_side(l, 1), set_.own - low)};
      for (const int side : {0, 1}) take(l, side);
    }
    return true;
  }

  bool settled(std::size_t lane) const override { return !open_[lane][0] && !open_[lane][1]; }
  void settle(std::size_t lane) override {
    for (const std::size_t side : {0u, 1u}) {
      if (!open_[lane][side]) continue;
      open_[lane][side] = false;
      make_exact(lane, static_cast<int>(side));
    }
  }

 private:
  double at(int place, std::size_t lane) const {
    return state_[static_cast<std::size_t>(place) * kMostSumLanes + lane];
  }
  double saved(std::size_t lane, int side, int (SumPlaces::*parts)(int, int) const) const {
    Best best;
    for (int part = 0; part < T::kParts; ++part) best.part[part] = at((places_.*parts)(side, part), lane);
    return T::saved(best);
  }
  Sums sums_of_side(std::size_t lane, int side) const {
    Sums sums;
    for (int k = 0; k < T::kSums; ++k) sums[k] = static_cast<i64>(at(places_.sum(side, k), lane));
    return sums;
  }
  bool has_permitted(std::size_t lane, int side) const {
    const double none = T::none().part[0];
    return at(places_.some(side, 0), lane) != none;
  }

  void take(std::size_t lane, int side) {
    const auto s = static_cast<std::size_t>(side);
    const OwnCost& own = own_sides_[lane][s];
    const Sums sums = sums_of_side(lane, side);
    const i64 leaf = task_.exactly(own, {sums.data(), nullptr}, saved(lane, side, &SumPlaces::leaf));
    const Units all = task_.rounded(own, saved(lane, side, &SumPlaces::best));
    SideCosts costs{leaf, std::min(leaf, all.least), std::min(leaf, all.least)};
    bool open = std::min(leaf, all.most) != costs.stump_all;
    if (limited_) {
      costs.stump = kInfinite;
      if (has_permitted(lane, side)) {
        const Units some = task_.rounded(own, saved(lane, side, &SumPlaces::some));
        costs.stump = some.least;
        open = open || !some.settled();
      }
    }
    sides[lane][s] = costs;
    open_[lane][s] = open;
  }

  // Own costs of the first rows in the order of a feature: kept at every kStep-th row.
  i128 own_before(u32 feature, u32 position) {
    constexpr u32 kStep = 8;
    if (position == rows_->n) return set_.own;
    auto& kept = own_[feature];
    const u32* const order = rows_->order(feature);
    if (kept.empty()) {
      kept.reserve(rows_->n / kStep + 1);
      i128 sum = 0;
      for (u32 i = 0; i < rows_->n; ++i) {
        if (i % kStep == 0) kept.push_back(sum);
        sum += own_of_[order[i]];
      }
    }
    i128 sum = kept[position / kStep];
    for (u32 i = position / kStep * kStep; i < position; ++i) sum += own_of_[order[i]];
    return sum;
  }

  // Looks, with whole numbers, at every stump that saves as much as the best one within rounding.
  void make_exact(std::size_t lane, int side) {
    const auto s = static_cast<std::size_t>(side);
    const OwnCost& own = own_sides_[lane][s];
    const Sums all = sums_of_side(lane, side);
    const double near = Costs::close_to(own, saved(lane, side, &SumPlaces::best));
    const bool some = limited_ && has_permitted(lane, side);
    const double near_some = some ? Costs::close_to(own, saved(lane, side, &SumPlaces::some)) : 0;
    const auto excluded = exclusion(lane, side, some ? std::min(near, near_some) : near);
    i64 least = sides[lane][s].leaf, least_some = kInfinite;
    std::vector<double> low(all_.size()), high(all_.size());
    for (u32 f = 0; f < rows_->n_features; ++f) {
      const SortedRows sorted = rows_->sorted(f, limited_, false);
      std::fill(low.begin(), low.end(), 0.0);
      for (u32 segment = 0, i = 0; segment + 1 < sorted.n_ends; ++segment) {
        for (; i < sorted.ends[segment]; ++i) {
          const double* const record = values_.records + sorted.order[i] * stride_;
          const bool is_low = std::bit_cast<u64>(record[stride_ - 1]) >> lane & 1;
          if (is_low != (side == 0)) continue;
          if (kernels_.unit) low[0] += 1;
          for (std::size_t k = kernels_.unit ? 1 : 0; k < low.size(); ++k)
            low[k] += record[k - static_cast<std::size_t>(skipped_)];
        }
        for (std::size_t k = 0; k < low.size(); ++k)
          high[k] = at(places_.sum(side, static_cast<int>(k)), lane) - low[k];
        if (excluded(low.data(), high.data())) continue;
        const double value = set_.saved(low.data(), high.data());
        const bool wanted = some && value >= near_some && enough(low) && enough(high);
        if (value < near && !wanted) continue;
        Sums low_sums, high_sums;
        for (int k = 0; k < T::kSums; ++k) {
          low_sums[k] = static_cast<i64>(low[static_cast<std::size_t>(k)]);
          high_sums[k] = all[k] - low_sums[k];
        }
        const i64 cost = task_.exactly(own, {low_sums.data(), high_sums.data()}, value);
        least = std::min(least, cost);
        if (wanted) least_some = std::min(least_some, cost);
      }
    }
    sides[lane][s].stump_all = least;
    sides[lane][s].stump = limited_ ? least_some : least;
  }
  // Whether a stump of a side saves no more than `least`, by cheap bounds.
  auto exclusion(std::size_t lane, int side, double least) const {
    if constexpr (CheaplyBounded<T>) {
      const auto all = Costs::as_doubles(sums_of_side(lane, side));
      const auto limit = T::limit(all.data(), saved(lane, side, &SumPlaces::leaf), least, set_.zero.rate);
      return [limit, bounded = values_.bounded](const double* low, const double* high) {
        if (bounded)
          for (const auto& doubt : T::close_doubts(limit, low, high))
            if (doubt.left <= doubt.right) return true;
        return false;
      };
    } else {
      return [](const double*, const double*) { return false; };
    }
  }
  bool enough(const std::vector<double>& leaf) const {
    return leaf[T::kSums] >= values_.min_rows && leaf[T::kSums + 1] >= values_.min_weight;
  }

  StumpBatch& batch_;
  const Costs& task_;
  const bool limited_;
  const SumKernels& kernels_;
  const SumPlaces places_;
  VectorBuffer records_, state_buffer_;
  std::size_t stride_ = 0;
  std::ptrdiff_t skipped_ = 0;  // sums that records leave out
  SumRecords values_{};
  double* state_ = nullptr;
  typename Costs::Set set_;
  std::vector<double> all_;                        // sums of all rows
  std::vector<i128> own_of_;                       // per local row
  std::vector<std::vector<i128>> own_;             // per feature
  std::vector<std::array<OwnCost, 2>> own_sides_;  // per lane
  std::vector<std::array<bool, 2>> open_;          // per lane
  Rows* rows_ = nullptr;
};

template <SumTask T>
std::unique_ptr<StumpCosts> SumCosts<T>::stumps(StumpBatch& batch) const {
  return std::make_unique<SumStumps<T>>(batch, *this);
}

}  // namespace proofwood::trees
