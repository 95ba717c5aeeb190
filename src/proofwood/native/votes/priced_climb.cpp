// Steps of one column by gain for its price, and the way back.
//
// Theory: docs/theory/explanations.md, "Nearest rows".
#include "votes/priced_climb.hpp"

#include <algorithm>
#include <numeric>

namespace proofwood::votes {

PricedClimb::PricedClimb(const Model& model, const std::vector<Lead>& leads, const Prices& prices)
    : model_(model), leads_(leads), prices_(prices) {
  for (const Lead& lead : leads) {
    if (lead.gain.empty()) {  // of no tree
      units_.push_back(1.0);
      continue;
    }
    const auto [least, most] = std::minmax_element(lead.gain.begin(), lead.gain.end());
    units_.push_back(std::max(1.0, static_cast<double>(*most) - static_cast<double>(*least)));
  }
  list_groups();
}

// Columns that clauses join, where all of them are 0/1.
void PricedClimb::list_groups() {
  std::vector<int> of(z(model_.n_columns));
  std::iota(of.begin(), of.end(), 0);
  const auto root = [&](int c) {
    while (of[z(c)] != c) c = of[z(c)];
    return c;
  };
  for (const auto& clause : model_.clauses)
    for (const Literal l : clause) of[z(root(model_.column_of[z(l >> 1)]))] = root(model_.column_of[z(clause[0] >> 1)]);
  std::vector<std::vector<int>> joined(of.size());
  for (int c = 0; c < model_.n_columns; ++c)
    if (model_.in_clause[z(c)] != 0) joined[z(root(c))].push_back(c);
  for (auto& group : joined)
    if (group.size() > 1 && std::all_of(group.begin(), group.end(), [&](int c) { return model_.cells[z(c)] == 1; }))
      groups_.push_back(std::move(group));
}

void PricedClimb::load(const std::vector<int>& row) {
  row_ = row;
  wrong_.assign(z(model_.n_leaves), 0);
  for (int c = 0; c < model_.n_columns; ++c)
    for (int i = model_.limits_of[z(c)]; i < model_.limits_of[z(c) + 1]; ++i) {
      const Model::Limit& limit = model_.limits[z(i)];
      if (row_[z(c)] < limit.low || row_[z(c)] > limit.high) ++wrong_[z(limit.leaf)];
    }
  sums_.assign(leads_.size(), 0);
  for (int leaf = 0; leaf < model_.n_leaves; ++leaf)
    if (wrong_[z(leaf)] == 0)
      for (std::size_t r = 0; r < leads_.size(); ++r) sums_[r] += leads_[r].gain[z(leaf)];
}

void PricedClimb::move(int column, int cell) {
  const int before = row_[z(column)];
  for (int i = model_.limits_of[z(column)]; i < model_.limits_of[z(column) + 1]; ++i) {
    const Model::Limit& limit = model_.limits[z(i)];
    const bool was = before >= limit.low && before <= limit.high, is = cell >= limit.low && cell <= limit.high;
    if (was == is) continue;
    int& wrong = wrong_[z(limit.leaf)];
    const int sign = was ? (wrong++ == 0 ? -1 : 0) : (--wrong == 0 ? 1 : 0);
    if (sign != 0)
      for (std::size_t r = 0; r < leads_.size(); ++r) sums_[r] += sign * leads_[r].gain[z(limit.leaf)];
  }
  row_[z(column)] = cell;
}

void PricedClimb::turn(const std::vector<int>& group, int on) {
  for (const int c : group)
    if (row_[z(c)] != (c == on ? 1 : 0)) move(c, c == on ? 1 : 0);
}

void PricedClimb::take(const Step& step) {
  if (step.group >= 0)
    turn(groups_[z(step.group)], step.column);
  else
    move(step.column, step.cell);
}

bool PricedClimb::enough() const {
  for (std::size_t r = 0; r < leads_.size(); ++r)
    if (sums_[r] < leads_[r].need) return false;
  return true;
}

double PricedClimb::missing_now() const {
  double sum = 0;
  for (std::size_t r = 0; r < leads_.size(); ++r)
    sum += static_cast<double>(std::max<std::int64_t>(0, leads_[r].need - sums_[r])) / units_[r];
  return sum;
}

// The leads at every cell of a column that the box holds, into at_.
void PricedClimb::sweep(int column, const Box& box) {
  const int low = box.low[z(column)], high = box.high[z(column)], cell = row_[z(column)];
  const std::size_t n = leads_.size();
  at_.assign(z(high - low + 2) * n, 0);
  std::vector<std::int64_t> rest = sums_;  // of the leaves that the column does not decide
  for (int i = model_.limits_of[z(column)]; i < model_.limits_of[z(column) + 1]; ++i) {
    const Model::Limit& limit = model_.limits[z(i)];
    const int out = cell < limit.low || cell > limit.high ? 1 : 0;
    if (wrong_[z(limit.leaf)] != out) continue;
    const int from = std::max(limit.low, low), to = std::min(limit.high, high);
    for (std::size_t r = 0; r < n; ++r) {
      const std::int64_t gain = leads_[r].gain[z(limit.leaf)];
      if (out == 0) rest[r] -= gain;
      if (from > to) continue;
      at_[z(from - low) * n + r] += gain;
      at_[z(to - low + 1) * n + r] -= gain;
    }
  }
  for (std::size_t place = 0; place <= z(high - low); ++place)
    for (std::size_t r = 0; r < n; ++r) {
      if (place > 0)
        at_[place * n + r] += at_[(place - 1) * n + r];
      else
        at_[r] += rest[r];
    }
}

// What the leads lack at a cell of the column that was swept.
double PricedClimb::missing(std::size_t place) const {
  double sum = 0;
  for (std::size_t r = 0; r < leads_.size(); ++r)
    sum += static_cast<double>(std::max<std::int64_t>(0, leads_[r].need - at_[place * leads_.size() + r])) / units_[r];
  return sum;
}

// The step of a column of most worth, by what the leads lack before and after it and by what it costs more.
template <class Worth>
void PricedClimb::best_column(const Box& box, Watch& watch, const Worth& worth, Step& best) {
  for (int c = 0; c < model_.n_columns && !watch.over(); ++c) {
    if (model_.in_clause[z(c)] != 0 || box.low[z(c)] == box.high[z(c)]) continue;
    const std::int64_t paid = prices_[z(c)][z(row_[z(c)])];
    if (!worth.possible(paid)) continue;
    sweep(c, box);
    for (int v = box.low[z(c)]; v <= box.high[z(c)]; ++v) {
      const std::int64_t price = prices_[z(c)][z(v)];
      if (v == row_[z(c)] || price >= kNever) continue;
      const double value = worth(missing(z(v - box.low[z(c)])), price - paid);
      if (value > best.worth) best = {value, c, v, -1};
    }
  }
}

template <class Worth>
void PricedClimb::best_group(const Box& box, Watch& watch, const Worth& worth, Step& best) {
  for (std::size_t g = 0; g < groups_.size() && !watch.over(); ++g) {
    const std::vector<int> group = groups_[g];
    std::vector<int> before;
    for (const int c : group) before.push_back(row_[z(c)]);
    const auto paid = [&] {
      std::int64_t sum = 0;
      for (const int c : group) sum = std::min(kNever, sum + prices_[z(c)][z(row_[z(c)])]);
      return sum;
    };
    const std::int64_t now = paid();
    for (std::size_t choice = 0; choice <= group.size(); ++choice) {
      const int on = choice < group.size() ? group[choice] : -1;
      turn(group, on);
      const bool inside = std::all_of(group.begin(), group.end(), [&](int c) {
        return row_[z(c)] >= box.low[z(c)] && row_[z(c)] <= box.high[z(c)];
      });
      const std::int64_t price = paid();
      if (!inside || price >= kNever || !model_.allows(row_)) continue;
      const double value = worth(missing_now(), price - now);
      if (value > best.worth) best = {value, on, 0, static_cast<int>(g)};
    }
    for (std::size_t i = 0; i < group.size(); ++i)
      if (row_[z(group[i])] != before[i]) move(group[i], before[i]);
  }
}

namespace {

struct GainForPrice {  // what the leads lack less, for what it costs more
  double now;
  static bool possible(std::int64_t /*paid*/) { return true; }
  double operator()(double missing, std::int64_t more) const {
    return (now - missing) / (1.0 + static_cast<double>(std::max<std::int64_t>(0, more)));
  }
};

struct Saving {  // what it costs less, where the leads lack nothing
  static bool possible(std::int64_t paid) { return paid > 0; }
  double operator()(double missing, std::int64_t more) const { return missing > 0 ? 0.0 : -static_cast<double>(more); }
};

}  // namespace

bool PricedClimb::climb(const std::vector<int>& start, const Box& box, Watch& watch) {
  std::vector<int> inside(start.size());
  for (std::size_t c = 0; c < start.size(); ++c) inside[c] = std::clamp(start[c], box.low[c], box.high[c]);
  load(inside);
  if (!model_.allows(row_)) return false;
  while (!enough()) {
    Step best;
    const GainForPrice worth{missing_now()};
    best_column(box, watch, worth, best);
    best_group(box, watch, worth, best);
    if (best.worth <= 0 || watch.over()) return false;
    take(best);
  }
  return true;
}

void PricedClimb::descend(const Box& box, Watch& watch) {
  while (!watch.over()) {
    Step best;
    best_column(box, watch, Saving{}, best);
    best_group(box, watch, Saving{}, best);
    if (best.worth <= 0 || watch.over()) return;
    take(best);
  }
}

bool PricedClimb::start(const std::vector<int>& row) {
  load(row);
  return enough();
}

void PricedClimb::lower(const Box& box, Watch& watch) {
  while (!watch.over()) {
    int dearest = 0;
    for (int c = 1; c < model_.n_columns; ++c)
      if (prices_[z(c)][z(row_[z(c)])] > prices_[z(dearest)][z(row_[z(dearest)])]) dearest = c;
    std::int64_t least = prices_[z(dearest)][z(row_[z(dearest)])];
    if (least == 0 || model_.in_clause[z(dearest)] != 0) return;
    sweep(dearest, box);
    int best = -1;
    for (int v = box.low[z(dearest)]; v <= box.high[z(dearest)]; ++v) {
      const std::int64_t price = prices_[z(dearest)][z(v)];
      if (price >= least || missing(z(v - box.low[z(dearest)])) > 0) continue;
      least = price;
      best = v;
    }
    if (best < 0) return;
    move(dearest, best);
  }
}

}  // namespace proofwood::votes
