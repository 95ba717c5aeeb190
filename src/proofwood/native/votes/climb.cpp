// Local search for a row that scores enough: steps of one column, kicks, and the way back to the row asked about.
//
// Theory: docs/theory/explanations.md, "The engine cdcl: clause learning": climbing; "Nearest rows".
#include "votes/climb.hpp"

#include <algorithm>
#include <numeric>

namespace proofwood::votes {

namespace {
constexpr int kPatience = 60;  // changed rows in a row that are no better, before the search starts elsewhere
}  // namespace

void Climb::begin(const Box& box) {
  box_ = box;
  free_.clear();
  is_free_.assign(z(model_.n_columns), 0);
  for (int c = 0; c < model_.n_columns; ++c) {
    if (box.low[z(c)] == box.high[z(c)] || model_.in_clause[z(c)] != 0) continue;
    free_.push_back(c);
    is_free_[z(c)] = 1;
  }
}

void Climb::enter(const std::vector<std::int64_t>& gain, std::int64_t least, const std::vector<int>& dead,
                  const std::vector<int>& low, const std::vector<int>& high) {
  begin({low, high});
  gain_.clear();
  leaf_.clear();
  number_.assign(z(model_.n_leaves), -1);
  for (int leaf = 0; leaf < model_.n_leaves; ++leaf) {
    if (dead[z(leaf)] > 0) continue;
    number_[z(leaf)] = static_cast<int>(leaf_.size());
    leaf_.push_back(leaf);
    gain_.push_back(gain[z(leaf)]);
  }
  kept_.clear();
  kept_of_.assign(1, 0);
  for (int c = 0; c < model_.n_columns; ++c) {
    for (int i = model_.limits_of[z(c)]; low[z(c)] < high[z(c)] && i < model_.limits_of[z(c) + 1]; ++i) {
      const auto& limit = model_.limits[z(i)];
      if (number_[z(limit.leaf)] >= 0) kept_.push_back({number_[z(limit.leaf)], limit.low, limit.high});
    }
    kept_of_.push_back(static_cast<int>(kept_.size()));
  }
  limits_ = kept_.data();
  limits_of_ = kept_of_.data();
  n_leaves_ = leaf_.size();
  gains_.assign(1, gain_.data());
  need_.assign(1, least);
  units_.assign(1, 1.0);
  spent_ += model_.n_leaves / 4 + static_cast<std::int64_t>(kept_.size());
}

void Climb::enter(const Way& leads, const Prices& prices, const Box& box) {
  begin(box);
  prices_ = &prices;
  limits_ = model_.limits.data();
  limits_of_ = model_.limits_of.data();
  n_leaves_ = z(model_.n_leaves);
  for (const Lead& lead : leads) {
    gains_.push_back(lead.gain.data());
    need_.push_back(lead.need);
    units_.push_back(1.0);
    if (lead.gain.empty()) continue;  // of no tree
    const auto [least, most] = std::minmax_element(lead.gain.begin(), lead.gain.end());
    units_.back() = std::max(1.0, static_cast<double>(*most) - static_cast<double>(*least));
  }
  list_groups();
}

// Columns that clauses join, where all of them are 0/1.
void Climb::list_groups() {
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

// ------------------------------------------------------------------ the row at hand

bool Climb::load(const std::vector<int>& row) {
  std::vector<int> moved(row.size());
  for (std::size_t c = 0; c < row.size(); ++c) moved[c] = std::clamp(row[c], box_.low[c], box_.high[c]);
  if (!model_.allows(moved)) return false;
  row_ = std::move(moved);
  wrong_.assign(n_leaves_, 0);
  for (std::size_t c = 0; c < row_.size(); ++c)
    for (int i = limits_of_[c]; i < limits_of_[c + 1]; ++i) {
      const Model::Limit& limit = limits_[i];
      wrong_[z(limit.leaf)] += static_cast<int>(row_[c] < limit.low) | static_cast<int>(row_[c] > limit.high);
    }
  sums_.assign(gains_.size(), 0);
  for (std::size_t leaf = 0; leaf < n_leaves_; ++leaf)
    if (wrong_[leaf] == 0)
      for (std::size_t r = 0; r < sums_.size(); ++r) sums_[r] += gains_[r][leaf];
  spent_ += limits_of_[row_.size()];
  return true;
}

template <bool kOne>
void Climb::move_as(int column, int cell) {
  const int before = row_[z(column)];
  const std::size_t n = kOne ? 1 : sums_.size();
  for (int i = limits_of_[column]; i < limits_of_[column + 1]; ++i) {
    const Model::Limit& limit = limits_[i];
    const bool was = before >= limit.low && before <= limit.high, is = cell >= limit.low && cell <= limit.high;
    if (was == is) continue;
    int& wrong = wrong_[z(limit.leaf)];
    if (was) {
      if (wrong++ == 0)
        for (std::size_t r = 0; r < n; ++r) sums_[r] -= gains_[r][limit.leaf];
    } else {
      if (--wrong == 0)
        for (std::size_t r = 0; r < n; ++r) sums_[r] += gains_[r][limit.leaf];
    }
  }
  row_[z(column)] = cell;
  spent_ += limits_of_[column + 1] - limits_of_[column];
}

void Climb::move(int column, int cell) {
  if (sums_.size() == 1)
    move_as<true>(column, cell);
  else
    move_as<false>(column, cell);
}

void Climb::back_to(const std::vector<int>& row) {
  for (int c = 0; c < model_.n_columns; ++c)
    if (row_[z(c)] != row[z(c)]) move(c, row[z(c)]);
}

// The leads at every cell of a column that the box holds, into at_.
template <bool kOne>
void Climb::sweep_as(int column) {
  const int low = box_.low[z(column)], high = box_.high[z(column)], cell = row_[z(column)];
  const std::size_t n = kOne ? 1 : sums_.size();
  at_.assign(z(high - low + 2) * n, 0);
  rest_ = sums_;  // of the leaves that the column does not decide
  for (int i = limits_of_[column]; i < limits_of_[column + 1]; ++i) {
    const Model::Limit& limit = limits_[i];
    const int out = static_cast<int>(cell < limit.low) | static_cast<int>(cell > limit.high);
    if (wrong_[z(limit.leaf)] != out) continue;
    const int from = std::max(limit.low, low), to = std::min(limit.high, high);
    for (std::size_t r = 0; r < n; ++r) {
      const std::int64_t gain = gains_[r][limit.leaf];
      if (out == 0) rest_[r] -= gain;
      if (from > to) continue;
      at_[z(from - low) * n + r] += gain;
      at_[z(to - low + 1) * n + r] -= gain;
    }
  }
  for (std::size_t r = 0; r < n; ++r) at_[r] += rest_[r];
  for (std::size_t i = n; i < z(high - low + 1) * n; ++i) at_[i] += at_[i - n];
  spent_ += limits_of_[column + 1] - limits_of_[column] + high - low;
}

void Climb::sweep(int column) {
  if (sums_.size() == 1)
    sweep_as<true>(column);
  else
    sweep_as<false>(column);
}

bool Climb::enough() const {
  for (std::size_t r = 0; r < sums_.size(); ++r)
    if (sums_[r] < need_[r]) return false;
  return true;
}

// What the leads lack.
template <class Sums>
double Climb::missing(const Sums& sums) const {
  double sum = 0;
  for (std::size_t r = 0; r < need_.size(); ++r)
    sum += static_cast<double>(std::max<std::int64_t>(0, need_[r] - sums[r])) / units_[r];
  return sum;
}

// The same at a cell of the column that was swept.
double Climb::missing_at(int column, int cell) const {
  return missing(&at_[z(cell - box_.low[z(column)]) * need_.size()]);
}

bool Climb::counted() {
  const std::vector<std::int64_t> kept = sums_;
  return load(std::vector<int>(row_)) && sums_ == kept && enough();
}

// ------------------------------------------------------------------ steps of most worth

void Climb::turn(const std::vector<int>& group, int on) {
  for (const int c : group)
    if (row_[z(c)] != (c == on ? 1 : 0)) move(c, c == on ? 1 : 0);
}

void Climb::take(const Step& step) {
  if (step.group >= 0)
    turn(groups_[z(step.group)], step.column);
  else
    move(step.column, step.cell);
}

// The step of a column of most worth, by what the leads lack before and after it and by what it costs more.
template <class Worth>
void Climb::best_column(Watch& watch, const Worth& worth, Step& best) {
  for (const int c : free_) {
    if (watch.over()) return;
    const std::int64_t paid = price(c, row_[z(c)]);
    if (!worth.possible(paid)) continue;
    sweep(c);
    for (int v = box_.low[z(c)]; v <= box_.high[z(c)]; ++v) {
      const std::int64_t asked = price(c, v);
      if (v == row_[z(c)] || asked >= kNever) continue;
      const double value = worth(missing_at(c, v), asked - paid);
      if (value > best.worth) best = {value, c, v, -1};
    }
  }
}

template <class Worth>
void Climb::best_group(Watch& watch, const Worth& worth, Step& best) {
  for (std::size_t g = 0; g < groups_.size() && !watch.over(); ++g) {
    const std::vector<int> group = groups_[g];
    std::vector<int> before;
    for (const int c : group) before.push_back(row_[z(c)]);
    const auto paid = [&] {
      std::int64_t sum = 0;
      for (const int c : group) sum = std::min(kNever, sum + price(c, row_[z(c)]));
      return sum;
    };
    const std::int64_t now = paid();
    for (std::size_t choice = 0; choice <= group.size(); ++choice) {
      const int on = choice < group.size() ? group[choice] : -1;
      turn(group, on);
      const bool inside = std::all_of(group.begin(), group.end(), [&](int c) {
        return row_[z(c)] >= box_.low[z(c)] && row_[z(c)] <= box_.high[z(c)];
      });
      const std::int64_t asked = paid();
      if (!inside || asked >= kNever || !model_.allows(row_)) continue;
      const double value = worth(missing(sums_), asked - now);
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

bool Climb::climb(Watch& watch) {
  while (!enough()) {
    Step best;
    const GainForPrice worth{missing(sums_)};
    best_column(watch, worth, best);
    best_group(watch, worth, best);
    if (best.worth <= 0 || watch.over()) return false;
    take(best);
  }
  return true;
}

void Climb::descend(Watch& watch) {
  while (!watch.over()) {
    Step best;
    best_column(watch, Saving{}, best);
    best_group(watch, Saving{}, best);
    if (best.worth <= 0 || watch.over()) return;
    take(best);
  }
}

void Climb::lower(Watch& watch) {
  while (!watch.over()) {
    int dearest = 0;
    for (int c = 1; c < model_.n_columns; ++c)
      if (price(c, row_[z(c)]) > price(dearest, row_[z(dearest)])) dearest = c;
    std::int64_t least = price(dearest, row_[z(dearest)]);
    if (least == 0 || model_.in_clause[z(dearest)] != 0) return;
    sweep(dearest);
    int best = -1;
    for (int v = box_.low[z(dearest)]; v <= box_.high[z(dearest)]; ++v) {
      if (price(dearest, v) >= least || missing_at(dearest, v) > 0) continue;
      least = price(dearest, v);
      best = v;
    }
    if (best < 0) return;
    move(dearest, best);
  }
}

// ------------------------------------------------------------------ one lead, without prices

// To the best cell of a column, one of them at random; false if none is better than the one at hand.
bool Climb::step_up(int column) {
  sweep(column);
  const int low = box_.low[z(column)];
  std::int64_t most = sums_[0];
  int best = -1, ties = 0;
  for (int v = low; v <= box_.high[z(column)]; ++v) {
    const std::int64_t sum = at_[z(v - low)];
    if (sum < most || (sum == most && ties == 0)) continue;
    ties = sum > most ? 1 : ties + 1;
    if (sum > most || random() % static_cast<std::uint64_t>(ties) == 0) best = v;
    most = sum;
  }
  if (best >= 0) move(column, best);
  return best >= 0;
}

void Climb::ascend(Watch& watch) {
  if (free_.empty()) return;
  const std::size_t n = free_.size();
  std::size_t place = static_cast<std::size_t>(random() % n);
  for (std::size_t since = 0; since < n && !enough() && !watch.over();) {
    since = step_up(free_[place]) ? 0 : since + 1;
    place = place + 1 == n ? 0 : place + 1;
  }
}

// To a leaf of high gain, or a few columns anywhere.
void Climb::kick() {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  if (random() % 2 == 0) {
    std::size_t chosen = below(n_leaves_);
    for (int i = 0; i < 2; ++i) {
      const std::size_t other = below(n_leaves_);
      if (gain_[other] > gain_[chosen]) chosen = other;
    }
    const int leaf = leaf_[chosen];
    for (int i = model_.needs_of[z(leaf)]; i < model_.needs_of[z(leaf) + 1]; ++i) {
      const Literal need = model_.needs[z(i)];
      const int c = model_.column_of[z(need >> 1)], cut = (need >> 1) - model_.first[z(c)];
      if (is_free_[z(c)] == 0 || model_.holds(need, row_)) continue;
      move(c, (need & 1) != 0 ? cut : cut + 1);
    }
  } else {
    for (std::size_t n = 1 + below(3); n > 0; --n) {
      const int c = free_[below(free_.size())];
      move(c, box_.low[z(c)] + static_cast<int>(below(z(box_.high[z(c)] - box_.low[z(c)] + 1))));
    }
  }
}

void Climb::approach(const std::vector<int>& near, Watch& watch) {
  std::vector<int> changed;
  const auto home = [&](int column) { return std::clamp(near[z(column)], box_.low[z(column)], box_.high[z(column)]); };
  for (const int c : free_)
    if (row_[z(c)] != home(c)) changed.push_back(c);
  // What helps the least goes back first, so that few changes are left.
  while (!changed.empty() && !watch.over()) {
    std::size_t best = changed.size();
    std::int64_t most = need_[0] - 1;
    for (std::size_t i = 0; i < changed.size() && !watch.over(); ++i) {
      const int column = changed[i], cell = row_[z(column)];
      move(column, home(column));
      if (sums_[0] > most) {
        most = sums_[0];
        best = i;
      }
      move(column, cell);
    }
    if (best == changed.size()) break;
    move(changed[best], home(changed[best]));
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(best));
  }
}

bool Climb::reach(const std::vector<std::vector<int>>& starts, std::size_t near, std::int64_t effort, Watch& watch) {
  const std::int64_t until = spent_ + effort;
  std::vector<int> best;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (!load(starts[i])) continue;
    if (i == near) climb(watch);
    ascend(watch);
    if (enough()) return true;
    if (best.empty() || sums_[0] > most) {
      best = row_;
      most = sums_[0];
    }
    if (spent_ >= until || watch.over()) return false;
  }
  if (best.empty() || free_.empty()) return false;
  back_to(best);
  std::int64_t now = most;
  std::vector<int> kept = best;
  int idle = 0;
  while (spent_ < until && !watch.over()) {
    kick();
    ascend(watch);
    if (enough()) return true;
    if (sums_[0] >= now) {
      idle = sums_[0] > now ? 0 : idle + 1;
      now = sums_[0];
      kept = row_;
    } else {
      ++idle;
      back_to(kept);
    }
    if (idle < kPatience) continue;
    idle = 0;
    for (const int c : free_)
      move(c, box_.low[z(c)] +
                  static_cast<int>(random() % static_cast<std::uint64_t>(box_.high[z(c)] - box_.low[z(c)] + 1)));
    ascend(watch);
    if (enough()) return true;
    now = sums_[0];
    kept = row_;
  }
  return false;
}

}  // namespace proofwood::votes
