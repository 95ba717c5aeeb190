// Multipliers between trees and columns: steps along deflected subgradients, and bounds counted in integers.
//
// Theory: docs/theory/explanations.md, "Nearest rows".
#include "votes/relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace proofwood::votes {

namespace {

constexpr double kDeflection = 0.7;  // of the last direction, in the next one
constexpr int kIdle = 8;             // steps without a better bound, before they become shorter
constexpr double kShorter = 0.7;
constexpr int kBits = 20;  // of fractions of a price, in bounds that are counted

}  // namespace

Relaxation::Relaxation(const Model& model, const std::vector<Lead>& leads, const Prices& prices, bool question)
    : model_(model), leads_(leads), prices_(prices), question_(question) {
  entry_of_need_.resize(model.needs.size());
  entries_of_.assign(1, 0);
  std::vector<int> found;
  double spread = 0;
  for (int t = 0; t < model.n_trees; ++t) {
    const int first = model.leaves_of[z(t)], end = model.leaves_of[z(t) + 1];
    found.clear();
    for (int i = model.needs_of[z(first)]; i < model.needs_of[z(end)]; ++i) found.push_back(model.needs[z(i)] >> 1);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    for (int i = model.needs_of[z(first)]; i < model.needs_of[z(end)]; ++i) {
      const auto at = std::lower_bound(found.begin(), found.end(), model.needs[z(i)] >> 1);
      entry_of_need_[z(i)] = entries_of_.back() + static_cast<int>(at - found.begin());
    }
    variable_of_.insert(variable_of_.end(), found.begin(), found.end());
    entries_of_.push_back(static_cast<int>(variable_of_.size()));
    for (const Lead& lead : leads) {
      const auto [least, most] = std::minmax_element(lead.gain.begin() + first, lead.gain.begin() + end);
      spread += static_cast<double>(*most) - static_cast<double>(*least);
    }
  }
  entries_ = variable_of_.size();
  for (const int v : variable_of_) cut_of_.push_back(v - model.first[z(model.column_of[z(v)])]);
  gain_unit_ = std::max(1.0, spread / std::max(1, model.n_trees) / static_cast<double>(leads.size()));
  std::int64_t dearest = 1;
  for (const auto& price : prices)
    for (const std::int64_t one : price)
      if (one < kNever) dearest = std::max(dearest, one);
  price_unit_ = question ? gain_unit_ : static_cast<double>(dearest);
  group_of_.assign(entries_, -1);
  sums_.assign(2 * entries_, 0);
  all_.assign(2 * z(model.n_variables), 0);
  cell_.assign(z(model.n_columns), 0);
  chosen_.assign(z(model.n_trees), 0);
  leaf_.assign(z(model.n_trees), 0);
}

// ------------------------------------------------------------------ boxes

// Whether a literal holds somewhere in the box.
bool Relaxation::permits(Literal l) const {
  const int v = l >> 1, c = model_.column_of[z(v)], cut = v - model_.first[z(c)];
  return (l & 1) != 0 ? box_.low[z(c)] <= cut : box_.high[z(c)] > cut;
}

bool Relaxation::reaches(int leaf) const {
  for (int i = model_.needs_of[z(leaf)]; i < model_.needs_of[z(leaf) + 1]; ++i)
    if (!permits(model_.needs[z(i)])) return false;
  return true;
}

bool Relaxation::list_leaves(const std::vector<int>* among) {
  std::vector<int> alive;
  std::size_t next = 0;
  leaves_of_.assign(1, 0);
  for (int t = 0; t < model_.n_trees; ++t) {
    const int first = model_.leaves_of[z(t)], end = model_.leaves_of[z(t) + 1];
    if (among == nullptr) {
      for (int leaf = first; leaf < end; ++leaf)
        if (reaches(leaf)) alive.push_back(leaf);
    } else {
      for (; next < among->size() && (*among)[next] < end; ++next)
        if (reaches((*among)[next])) alive.push_back((*among)[next]);
    }
    if (static_cast<int>(alive.size()) == leaves_of_.back()) return false;
    leaves_of_.push_back(static_cast<int>(alive.size()));
  }
  leaves_ = std::move(alive);
  return true;
}

// Cells that no leaf of some tree permits are left out of the box; whether it has become smaller.
bool Relaxation::tighten() {
  bool smaller = false;
  std::vector<int> count;
  for (int t = 0; t < model_.n_trees; ++t) {
    const int first = entries_of_[z(t)], end = entries_of_[z(t) + 1];
    const int n = leaves_of_[z(t) + 1] - leaves_of_[z(t)];
    count.assign(2 * z(end - first), 0);  // leaves that lie above an entry, or below
    for (int place = leaves_of_[z(t)]; place < leaves_of_[z(t) + 1]; ++place) {
      const int leaf = leaves_[z(place)];
      for (int i = model_.needs_of[z(leaf)]; i < model_.needs_of[z(leaf) + 1]; ++i)
        ++count[2 * z(entry_of_need_[z(i)] - first) + z(model_.needs[z(i)] & 1)];
    }
    int above = 0, below = 0;
    const auto column = [&](int e) { return model_.column_of[z(variable_of_[z(e)])]; };
    for (int e = end - 1; e >= first; --e) {  // above an entry: all needs from there on in the column
      above = (e + 1 < end && column(e) == column(e + 1) ? above : 0) + count[2 * z(e - first)];
      const int c = column(e), cut = cut_of_[z(e)];
      if (above == n && box_.low[z(c)] <= cut) {
        box_.low[z(c)] = cut + 1;
        smaller = true;
      }
    }
    for (int e = first; e < end; ++e) {
      below = (e > first && column(e) == column(e - 1) ? below : 0) + count[2 * z(e - first) + 1];
      const int c = column(e), cut = cut_of_[z(e)];
      if (below == n && box_.high[z(c)] > cut) {
        box_.high[z(c)] = cut;
        smaller = true;
      }
    }
  }
  return smaller;
}

// Lists the leaves that the box reaches, and makes the box as small as they permit; false if some tree has none.
bool Relaxation::list_tightly(const std::vector<int>* among) {
  if (!list_leaves(among)) return false;
  while (tighten()) {
    const std::vector<int> known = leaves_;
    if (!list_leaves(&known)) return false;
  }
  return true;
}

// Whether single leaves and cells leave room for a row that scores enough for less than `upper`.
bool Relaxation::possible(std::int64_t upper) const {
  for (const Lead& lead : leads_) {
    i128 most = 0;
    for (int t = 0; t < model_.n_trees; ++t) {
      std::int64_t best = std::numeric_limits<std::int64_t>::min();
      for (int place = leaves_of_[z(t)]; place < leaves_of_[z(t) + 1]; ++place)
        best = std::max(best, lead.gain[z(leaves_[z(place)])]);
      most += best;
    }
    if (most < lead.need) return false;
  }
  i128 price = 0;
  for (int c = 0; c < model_.n_columns; ++c) {
    const auto first = prices_[z(c)].begin();
    price += *std::min_element(first + box_.low[z(c)], first + box_.high[z(c)] + 1);
  }
  if (price >= upper) return false;
  return std::all_of(model_.clauses.begin(), model_.clauses.end(), [&](const auto& clause) {
    return std::any_of(clause.begin(), clause.end(), [&](Literal l) { return permits(l); });
  });
}

void Relaxation::list_groups() {
  groups_.clear();
  std::fill(group_of_.begin(), group_of_.end(), -1);
  std::size_t tree = 0;
  for (std::size_t e = 0; e < entries_;) {
    while (z(entries_of_[tree + 1]) <= e) ++tree;
    const int c = model_.column_of[z(variable_of_[e])];
    Group group{c, 0, 0, 0, 0};
    std::size_t end = e;
    const std::size_t last = z(entries_of_[tree + 1]);
    while (end < last && model_.column_of[z(variable_of_[end])] == c) ++end;
    std::size_t begin = e;
    e = end;
    while (begin < end && cut_of_[begin] < box_.low[z(c)]) ++begin;
    while (begin < end && cut_of_[end - 1] >= box_.high[z(c)]) --end;
    if (begin == end) continue;
    group.begin = static_cast<int>(begin);
    group.end = static_cast<int>(end);
    for (std::size_t at = begin; at < end; ++at) group_of_[at] = static_cast<int>(groups_.size());
    groups_.push_back(group);
  }
  list_terms();
}

// What each leaf pays, and the clauses that are not met everywhere in the box.
void Relaxation::list_terms() {
  terms_.clear();
  terms_of_.assign(1, 0);
  gains_.clear();
  for (const int leaf : leaves_) {
    for (const Lead& lead : leads_) gains_.push_back(static_cast<double>(lead.gain[z(leaf)]) / gain_unit_);
    for (int i = model_.needs_of[z(leaf)]; i < model_.needs_of[z(leaf) + 1]; ++i) {
      const int entry = entry_of_need_[z(i)];
      if (group_of_[z(entry)] < 0) continue;
      terms_.push_back((model_.needs[z(i)] & 1) != 0 ? static_cast<int>(entries_) + entry : entry);
    }
    terms_of_.push_back(static_cast<int>(terms_.size()));
  }
  open_clause_.assign(model_.clauses.size(), 0);
  for (std::size_t k = 0; k < model_.clauses.size(); ++k) {
    const auto& clause = model_.clauses[k];
    const bool met = std::any_of(clause.begin(), clause.end(), [&](Literal l) { return !permits(l ^ 1); });
    open_clause_[k] = met ? 0 : 1;
  }
}

bool Relaxation::enter(const Box& box, const Kept* from, std::int64_t upper) {
  box_ = box;
  for (int c = 0; c < model_.n_columns; ++c) {
    int &low = box_.low[z(c)], &high = box_.high[z(c)];
    while (low <= high && prices_[z(c)][z(low)] == kNever) ++low;
    while (low <= high && prices_[z(c)][z(high)] == kNever) --high;
    if (low > high) return false;
  }
  if (!list_tightly(from == nullptr ? nullptr : &from->leaves) || !possible(upper)) return false;
  list_groups();
  load(from);
  return true;
}

// Nobody pays for what the box has decided.
void Relaxation::clear_closed(std::vector<double>& values) const {
  for (std::size_t e = 0; e < entries_; ++e)
    if (group_of_[e] < 0) values[e] = values[entries_ + e] = 0;
  for (std::size_t k = 0; k < open_clause_.size(); ++k)
    if (open_clause_[k] == 0) values[clause_at(k)] = 0;
}

void Relaxation::load(const Kept* from) {
  multipliers_.assign(lead_at(leads_.size()), 0);
  if (from != nullptr) std::copy(from->multipliers.begin(), from->multipliers.end(), multipliers_.begin());
  clear_closed(multipliers_);
  if (question_) multipliers_[lead_at(0)] = 1;
  way_.assign(multipliers_.size(), 0);
  best_ = multipliers_;
  best_bound_ = -std::numeric_limits<double>::infinity();
  share_ = 1;
  idle_ = 0;
}

Kept Relaxation::keep() const { return {{best_.begin(), best_.end()}, leaves_}; }

// ------------------------------------------------------------------ steps

// Sums of multipliers: within groups, and by variable over all trees and clauses.
template <class Number>
void Relaxation::sum_up(const std::vector<Number>& values, std::vector<Number>& sums, std::vector<Number>& all) const {
  for (int c = 0; c < model_.n_columns; ++c)
    for (int v = model_.first[z(c)] + box_.low[z(c)]; v < model_.first[z(c)] + box_.high[z(c)]; ++v)
      all[2 * z(v)] = all[2 * z(v) + 1] = 0;
  for (const Group& group : groups_) {
    Number sum = 0;
    for (std::size_t e = z(group.begin); e < z(group.end); ++e) {
      sums[e] = sum += values[e];
      all[2 * z(variable_of_[e])] += values[e];
    }
    sum = 0;
    for (std::size_t e = z(group.end); e-- > z(group.begin);) {
      sums[entries_ + e] = sum += values[entries_ + e];
      all[2 * z(variable_of_[e]) + 1] += values[entries_ + e];
    }
  }
  for (std::size_t k = 0; k < open_clause_.size(); ++k)
    if (open_clause_[k] != 0)
      for (const Literal l : model_.clauses[k]) all[z(l)] += values[clause_at(k)];
}

void Relaxation::choose_leaves() {
  const std::size_t n = leads_.size();
  for (int t = 0; t < model_.n_trees; ++t) {
    double least = std::numeric_limits<double>::infinity();
    for (int place = leaves_of_[z(t)]; place < leaves_of_[z(t) + 1]; ++place) {
      double cost = 0;
      for (std::size_t r = 0; r < n; ++r) cost -= multipliers_[lead_at(r)] * gains_[z(place) * n + r];
      for (int i = terms_of_[z(place)]; i < terms_of_[z(place) + 1]; ++i) cost += sums_[z(terms_[z(i)])];
      if (cost >= least) continue;
      least = cost;
      chosen_[z(t)] = place;
    }
    bound_ += least;
    leaf_[z(t)] = leaves_[z(chosen_[z(t)])];
  }
}

void Relaxation::choose_cells() {
  for (int c = 0; c < model_.n_columns; ++c) {
    const int low = box_.low[z(c)], high = box_.high[z(c)], first = model_.first[z(c)];
    double got = 0;
    for (int v = first + low; v < first + high; ++v) got += all_[2 * z(v) + 1];
    double least = std::numeric_limits<double>::infinity();
    for (int cell = low; cell <= high; ++cell) {
      const double cost = static_cast<double>(prices_[z(c)][z(cell)]) / price_unit_ - got;
      if (cost < least) {
        least = cost;
        cell_[z(c)] = cell;
      }
      if (cell < high) got += all_[2 * z(first + cell)] - all_[2 * z(first + cell) + 1];
    }
    bound_ += least;
  }
}

// The direction of the next step: what the choices differ by, and some of the last direction. Its squared length.
double Relaxation::measure() {
  for (Group& group : groups_) {
    group.last_above = group.begin - 1;
    group.first_below = group.end;
  }
  const int entries = static_cast<int>(entries_);
  for (const int place : chosen_)
    for (int i = terms_of_[z(place)]; i < terms_of_[z(place) + 1]; ++i) {
      const int term = terms_[z(i)], entry = term < entries ? term : term - entries;
      Group& group = groups_[z(group_of_[z(entry)])];
      (term < entries ? group.last_above : group.first_below) = entry;
    }
  double length = 0;
  const auto take = [&](std::size_t at, double difference) {
    const double way = difference + kDeflection * way_[at];
    way_[at] = way;
    if (way > 0 || multipliers_[at] > 0) length += way * way;
  };
  for (const Group& group : groups_)
    for (int e = group.begin; e < group.end; ++e) {
      const bool above = cell_[z(group.column)] > cut_of_[z(e)];
      take(z(e), (e <= group.last_above ? 1.0 : 0.0) - (above ? 1.0 : 0.0));
      take(entries_ + z(e), (e >= group.first_below ? 1.0 : 0.0) - (above ? 0.0 : 1.0));
    }
  for (std::size_t k = 0; k < open_clause_.size(); ++k) {
    if (open_clause_[k] == 0) continue;
    double difference = 1;
    for (const Literal l : model_.clauses[k]) difference -= model_.holds(l, cell_) ? 1.0 : 0.0;
    take(clause_at(k), difference);
  }
  if (question_) return length;
  for (std::size_t r = 0; r < leads_.size(); ++r) {
    double missing = static_cast<double>(leads_[r].need) / gain_unit_;
    for (const int place : chosen_) missing -= gains_[z(place) * leads_.size() + r];
    take(lead_at(r), missing);
  }
  return length;
}

double Relaxation::target_of(std::int64_t upper) const {
  if (question_) return std::max(0.0, bound_) + 0.02 * std::sqrt(static_cast<double>(model_.n_trees));
  return static_cast<double>(upper) / price_unit_;
}

void Relaxation::step(std::int64_t upper) {
  sum_up(multipliers_, sums_, all_);
  bound_ = 0;
  for (std::size_t r = 0; r < leads_.size(); ++r)
    bound_ += multipliers_[lead_at(r)] * (static_cast<double>(leads_[r].need) / gain_unit_);
  for (std::size_t k = 0; k < open_clause_.size(); ++k) bound_ += multipliers_[clause_at(k)];
  choose_leaves();
  choose_cells();
  if (bound_ > best_bound_) {
    best_bound_ = bound_;
    best_ = multipliers_;
    idle_ = 0;
  } else if (++idle_ >= kIdle) {
    idle_ = 0;
    share_ *= kShorter;
  }
  const double length = measure();
  if (length <= 0) return;
  const double far = share_ * std::max(target_of(upper) - bound_, 1e-6) / length;
  for (std::size_t at = 0; at < multipliers_.size(); ++at)
    multipliers_[at] = std::max(0.0, multipliers_[at] + far * way_[at]);
}

// ------------------------------------------------------------------ bounds in integers

// The multipliers of the best bound as integers, and what every leaf and cell costs by them.
Relaxation::Counted Relaxation::count() const {
  Counted counted;
  counted.bits = question_ ? 0 : kBits;
  const double unit = std::ldexp(price_unit_, counted.bits);
  const auto whole = [](double value) { return static_cast<i128>(std::llround(std::min(value, 0x1p62))); };
  std::vector<i128> values(best_.size());
  for (std::size_t at = 0; at < lead_at(0); ++at) values[at] = whole(best_[at] * unit);
  for (std::size_t at = lead_at(0); at < best_.size(); ++at) values[at] = whole(best_[at] * (unit / gain_unit_));
  std::vector<i128> sums(sums_.size()), all(all_.size());
  sum_up(values, sums, all);
  for (std::size_t r = 0; r < leads_.size(); ++r) counted.total += values[lead_at(r)] * leads_[r].need;
  for (std::size_t k = 0; k < open_clause_.size(); ++k) counted.total += values[clause_at(k)];
  for (int t = 0; t < model_.n_trees; ++t) {
    for (int place = leaves_of_[z(t)]; place < leaves_of_[z(t) + 1]; ++place) {
      i128 cost = 0;
      for (std::size_t r = 0; r < leads_.size(); ++r) cost -= values[lead_at(r)] * leads_[r].gain[z(leaves_[z(place)])];
      for (int i = terms_of_[z(place)]; i < terms_of_[z(place) + 1]; ++i) cost += sums[z(terms_[z(i)])];
      counted.leaves.push_back(cost);
    }
    counted.least_leaf.push_back(
        *std::min_element(counted.leaves.begin() + leaves_of_[z(t)], counted.leaves.begin() + leaves_of_[z(t) + 1]));
    counted.total += counted.least_leaf.back();
  }
  for (int c = 0; c < model_.n_columns; ++c) {
    const int low = box_.low[z(c)], high = box_.high[z(c)], first = model_.first[z(c)];
    i128 got = 0;
    for (int v = first + low; v < first + high; ++v) got += all[2 * z(v) + 1];
    std::vector<i128> costs;
    for (int cell = low; cell <= high; ++cell) {
      costs.push_back((static_cast<i128>(prices_[z(c)][z(cell)]) << counted.bits) - got);
      if (cell < high) got += all[2 * z(first + cell)] - all[2 * z(first + cell) + 1];
    }
    counted.least_cell.push_back(*std::min_element(costs.begin(), costs.end()));
    counted.total += counted.least_cell.back();
    counted.cells.push_back(std::move(costs));
  }
  return counted;
}

// Leaves out what would make a row cost more than `most`; false if nothing is left.
bool Relaxation::leave_out(const Counted& counted, i128 most) {
  const auto too_dear = [&](i128 cost, i128 least) { return counted.total - least + cost > most; };
  for (int c = 0; c < model_.n_columns; ++c) {
    const auto& cost = counted.cells[z(c)];
    std::size_t begin = 0, end = cost.size();
    while (too_dear(cost[begin], counted.least_cell[z(c)])) ++begin;  // the cheapest cell stays
    while (too_dear(cost[end - 1], counted.least_cell[z(c)])) --end;
    box_.high[z(c)] = box_.low[z(c)] + static_cast<int>(end) - 1;
    box_.low[z(c)] += static_cast<int>(begin);
  }
  std::vector<int> left;
  for (int t = 0; t < model_.n_trees; ++t)
    for (int place = leaves_of_[z(t)]; place < leaves_of_[z(t) + 1]; ++place)
      if (!too_dear(counted.leaves[z(place)], counted.least_leaf[z(t)])) left.push_back(leaves_[z(place)]);
  return list_tightly(&left);
}

std::int64_t Relaxation::bound_of(const Counted& counted, std::int64_t upper) {
  const i128 rounded = (counted.total + (i128{1} << counted.bits) - 1) >> counted.bits;
  constexpr i128 lowest = std::numeric_limits<std::int64_t>::min() / 2;
  return static_cast<std::int64_t>(std::clamp(rounded, lowest, i128{upper}));
}

std::int64_t Relaxation::settle(std::int64_t upper) const { return bound_of(count(), upper); }

std::int64_t Relaxation::settle_and_leave_out(std::int64_t upper) {
  const Counted counted = count();
  const i128 most = static_cast<i128>(upper - 1) << counted.bits;  // what a row of interest costs at most
  if (counted.total > most || !leave_out(counted, most) || !possible(upper)) return upper;
  list_groups();
  clear_closed(multipliers_);
  clear_closed(way_);
  clear_closed(best_);
  return bound_of(counted, upper);
}

// ------------------------------------------------------------------ branching

Relaxation::Branch Relaxation::branch() const {
  std::vector<std::vector<int>> missed(z(model_.n_columns));  // cuts that chosen leaves lie beyond and cells do not
  for (const int leaf : leaf_) {
    for (int i = model_.needs_of[z(leaf)]; i < model_.needs_of[z(leaf) + 1]; ++i) {
      const Literal need = model_.needs[z(i)];
      if (model_.holds(need, cell_)) continue;
      const int c = model_.column_of[z(need >> 1)], cut = (need >> 1) - model_.first[z(c)];
      if (cut >= box_.low[z(c)] && cut < box_.high[z(c)]) missed[z(c)].push_back(cut);
    }
  }
  Branch best;
  std::size_t most = 0;
  for (int c = 0; c < model_.n_columns; ++c)
    if (missed[z(c)].size() > most) {
      most = missed[z(c)].size();
      best.column = c;
    }
  if (best.column >= 0) {
    auto& cuts = missed[z(best.column)];
    std::nth_element(cuts.begin(), cuts.begin() + static_cast<std::ptrdiff_t>(cuts.size() / 2), cuts.end());
    best.cut = cuts[cuts.size() / 2];
    return best;
  }
  return branch_off();
}

// All agree: the cut that takes most cells from those where the chosen leaves are reached.
Relaxation::Branch Relaxation::branch_off() const {
  Box reached = box_;
  for (const int leaf : leaf_)
    for (int i = model_.needs_of[z(leaf)]; i < model_.needs_of[z(leaf) + 1]; ++i) {
      const Literal need = model_.needs[z(i)];
      const int c = model_.column_of[z(need >> 1)], cut = (need >> 1) - model_.first[z(c)];
      int& low = reached.low[z(c)];
      int& high = reached.high[z(c)];
      if ((need & 1) != 0)
        high = std::min(high, cut);
      else
        low = std::max(low, cut + 1);
    }
  Branch best;
  int most = 0;
  const auto consider = [&](int column, int cut, int cells) {
    if (cells <= most || cut < box_.low[z(column)] || cut >= box_.high[z(column)]) return;
    most = cells;
    best = {column, cut};
  };
  for (int c = 0; c < model_.n_columns; ++c) {
    consider(c, reached.high[z(c)], box_.high[z(c)] - reached.high[z(c)]);
    consider(c, reached.low[z(c)] - 1, reached.low[z(c)] - box_.low[z(c)]);
  }
  if (best.column >= 0) return best;
  for (int c = 0; c < model_.n_columns; ++c)
    consider(c, (box_.low[z(c)] + box_.high[z(c)]) / 2, box_.high[z(c)] - box_.low[z(c)]);
  return best;
}

}  // namespace proofwood::votes
