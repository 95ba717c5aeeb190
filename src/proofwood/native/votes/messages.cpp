// Messages between factors and columns, one column at a time.
//
// Theory: docs/theory/explanations.md, "The engine messages".
#include "votes/messages.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace proofwood::votes {

namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr double kFewSides = 0.25;  // share of the side that would lower the bound more, when a branch is chosen

}  // namespace

// Values of options and cells stay below 2^52, and sums of all of them below 2^120.
Messages::Messages(const Factors& factors)
    : factors_(factors),
      most_message_(std::ldexp(1.0, 50 - std::bit_width(static_cast<unsigned>(factors.most_edges)))) {
  messages_.assign(z(factors.n_slots), 0);
  edges_of_.resize(z(factors.model.n_columns));
  left_.resize(z(factors.model.n_columns));
  sum_.resize(z(factors.model.n_columns));
  touched_.assign(factors.edges.size(), 0);
  local_.assign(factors.intervals.size(), -1);
}

bool Messages::enter(const Box& box, const KeptMessages* from, const Worth& worth) {
  box_ = box;
  worth_ = &worth;
  for (int c = 0; c < factors_.model.n_columns; ++c) {
    int &low = box_.low[z(c)], &high = box_.high[z(c)];
    if (!worth.cells.empty()) {
      while (low <= high && worth.cells[z(c)][z(low)] <= kNever) ++low;
      while (low <= high && worth.cells[z(c)][z(high)] <= kNever) --high;
    }
    if (low > high) return false;
  }
  if (!list_options(from == nullptr || from->options.empty() ? nullptr : &from->options)) return false;
  while (follow()) {
    const std::vector<int> known = options_;
    if (!list_options(&known)) return false;
  }
  if (from != nullptr && !from->messages.empty())
    std::copy(from->messages.begin(), from->messages.end(), messages_.begin());
  else
    std::fill(messages_.begin(), messages_.end(), 0.0);
  forward_ = true;
  work_ += static_cast<std::int64_t>(options_.size());
  open_edges();
  return true;
}

// The options that the box reaches; false if a factor has none.
bool Messages::list_options(const std::vector<int>* among) {
  std::vector<int> alive;
  const auto reached = [&](int option) {
    for (int i = factors_.needs_of[z(option)]; i < factors_.needs_of[z(option) + 1]; ++i)
      if (factors_.model.fails(factors_.needs[z(i)], box_)) return false;
    return true;
  };
  options_of_.assign(1, 0);
  std::size_t next = 0;
  for (int f = 0; f < factors_.n_factors(); ++f) {
    const int first = factors_.options_of[z(f)], end = factors_.options_of[z(f) + 1];
    if (among == nullptr) {
      for (int option = first; option < end; ++option)
        if (reached(option)) alive.push_back(option);
    } else {
      for (; next < among->size() && (*among)[next] < end; ++next)
        if (reached((*among)[next])) alive.push_back((*among)[next]);
    }
    if (static_cast<int>(alive.size()) == options_of_.back()) return false;
    options_of_.push_back(static_cast<int>(alive.size()));
  }
  options_ = std::move(alive);
  return true;
}

// Makes the box as small as factors with a single option need it; whether it has become smaller. The other options may
// have been left out for their worth, so that the box is not yet within the one that stays.
bool Messages::follow() {
  bool smaller = false;
  for (int f = 0; f < factors_.n_factors(); ++f) {
    if (options_of_[z(f) + 1] - options_of_[z(f)] != 1) continue;
    const int option = options_[z(options_of_[z(f)])];
    for (int i = factors_.needs_of[z(option)]; i < factors_.needs_of[z(option) + 1]; ++i)
      smaller |= factors_.model.narrow(box_, factors_.needs[z(i)]);
  }
  return smaller;
}

void Messages::open_edges() {
  edges_.clear();
  number_.clear();
  low_slot_.clear();
  high_slot_.clear();
  for (auto& edges : edges_of_) edges.clear();
  for (int f = 0; f < factors_.n_factors(); ++f) {
    if (options_of_[z(f) + 1] - options_of_[z(f)] < 2) continue;
    for (int i = options_of_[z(f)]; i < options_of_[z(f) + 1]; ++i) touch(options_[z(i)]);
    for (int e = factors_.edges_of[z(f)]; e < factors_.edges_of[z(f) + 1]; ++e) {
      if (touched_[z(e)] == 0) continue;
      touched_[z(e)] = 0;
      open_edge(f, e);
    }
  }
  load_messages();
}

// What options and cells come to with the messages at hand.
void Messages::load_messages() {
  value_.resize(options_.size());
  for (std::size_t i = 0; i < options_.size(); ++i)
    value_[i] = options_[i] < factors_.model.n_leaves ? worth_->options[z(options_[i])] : 0.0;
  for (int c = 0; c < factors_.model.n_columns; ++c) {
    const std::size_t n = z(box_.high[z(c)] - box_.low[z(c)] + 1);
    left_[z(c)].assign(n, 0.0);
    if (!worth_->cells.empty()) std::copy_n(worth_->cells[z(c)].begin() + box_.low[z(c)], n, left_[z(c)].begin());
  }
  got_.resize(low_slot_.size());
  for (const Edge& edge : edges_) {
    const Factors::Edge& of = factors_.edges[z(edge.of)];
    const int low = box_.low[z(of.column)], high = box_.high[z(of.column)];
    const double* message = &messages_[z(of.first_slot)];
    for (int k = edge.first_interval; k < edge.first_interval + edge.n_intervals; ++k)
      got_[z(k)] = *std::max_element(message + low_slot_[z(k)], message + high_slot_[z(k)] + 1);
    for (int i = 0; i < options_of_[z(edge.factor) + 1] - options_of_[z(edge.factor)]; ++i)
      value_[z(options_of_[z(edge.factor)] + i)] += got_[z(edge.first_interval + number_[z(edge.first_number + i)])];
    auto& left = left_[z(of.column)];
    for (int s = edge.first, cell = low; s <= edge.last; ++s) {
      const int end = s == edge.last ? high + 1 : factors_.cuts[z(of.first_cut + s)];
      for (; cell < end; ++cell) left[z(cell - low)] -= message[s];
    }
  }
  for (int c = 0; c < factors_.model.n_columns; ++c) sum_[z(c)] = left_[z(c)];
  count();
}

void Messages::reweigh(double factor) {
  for (const Edge& edge : edges_) {
    double* message = &messages_[z(factors_.edges[z(edge.of)].first_slot)];
    for (int s = edge.first; s <= edge.last; ++s)
      message[s] = std::clamp(std::floor(message[s] * factor), -most_message_, most_message_);
  }
  load_messages();
}

int Messages::chosen(int factor) const {
  const auto first = value_.begin() + options_of_[z(factor)], end = value_.begin() + options_of_[z(factor) + 1];
  return options_[z(static_cast<int>(std::max_element(first, end) - value_.begin()))];
}

// Marks the edges in which an option permits only a part of the box.
void Messages::touch(int option) {
  for (int i = factors_.needs_of[z(option)]; i < factors_.needs_of[z(option) + 1]; ++i)
    if (factors_.model.open(factors_.needs[z(i)], box_)) touched_[z(factors_.edge_of_need[z(i)])] = 1;
}

// The slots of an edge in the box and the intervals of its options there: its messages count.
void Messages::open_edge(int factor, int number) {
  const Factors::Edge& of = factors_.edges[z(number)];
  const int low = box_.low[z(of.column)], high = box_.high[z(of.column)];
  Edge edge{number,
            factor,
            factors_.slot(of, low),
            factors_.slot(of, high),
            static_cast<int>(number_.size()),
            static_cast<int>(low_slot_.size()),
            0};
  const int* interval_of = &factors_.interval_of[z(of.first_number)] - factors_.options_of[z(factor)];
  for (int i = options_of_[z(factor)]; i < options_of_[z(factor) + 1]; ++i) {
    const int interval = of.first_interval + interval_of[options_[z(i)]];
    int& at = local_[z(interval)];
    if (at < 0) {
      at = edge.n_intervals++;
      low_slot_.push_back(std::max(factors_.intervals[z(interval)].first, edge.first));
      high_slot_.push_back(std::min(factors_.intervals[z(interval)].second, edge.last));
    }
    number_.push_back(at);
  }
  for (int i = options_of_[z(factor)]; i < options_of_[z(factor) + 1]; ++i)
    local_[z(of.first_interval + interval_of[options_[z(i)]])] = -1;
  edges_of_[z(of.column)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back(edge);
}

// The bound, from all options and cells.
void Messages::count() {
  total_ = 0;
  factor_best_.resize(z(factors_.n_factors()));
  column_best_.resize(z(factors_.model.n_columns));
  for (int f = 0; f < factors_.n_factors(); ++f) {
    factor_best_[z(f)] = *std::max_element(value_.begin() + options_of_[z(f)], value_.begin() + options_of_[z(f) + 1]);
    total_ += static_cast<std::int64_t>(factor_best_[z(f)]);
  }
  for (int c = 0; c < factors_.model.n_columns; ++c) {
    column_best_[z(c)] = *std::max_element(left_[z(c)].begin(), left_[z(c)].end());
    total_ += static_cast<std::int64_t>(column_best_[z(c)]);
  }
}

// ------------------------------------------------------------------ steps

// For each slot the best option that permits it, the messages of this edge not counted.
void Messages::best_by_slot(const Edge& edge, const double* options, double* found) {
  best_.assign(z(edge.n_intervals), kNone);
  const int n = options_of_[z(edge.factor) + 1] - options_of_[z(edge.factor)];
  const int* number = &number_[z(edge.first_number)];
  const double* got = &got_[z(edge.first_interval)];
  for (int i = 0; i < n; ++i) best_[z(number[i])] = std::max(best_[z(number[i])], options[i] - got[number[i]]);
  work_ += n;
  std::fill(found, found + (edge.last - edge.first + 1), -most_message_);
  for (int k = 0; k < edge.n_intervals; ++k) {
    const double best = best_[z(k)];
    const int end = high_slot_[z(edge.first_interval + k)];
    for (int s = low_slot_[z(edge.first_interval + k)]; s <= end; ++s)
      found[s - edge.first] = std::max(found[s - edge.first], best);
  }
}

void Messages::prepare_most_of(std::size_t n) {
  const std::size_t rows = z(std::bit_width(n));
  if (most_.size() < rows * n) most_.resize(rows * n);
  for (std::size_t r = 1; r < rows; ++r) {
    const std::size_t half = std::size_t{1} << (r - 1);
    for (std::size_t i = 0; i + 2 * half <= n; ++i)
      most_[r * n + i] = std::max(most_[(r - 1) * n + i], most_[(r - 1) * n + i + half]);
  }
}

// New messages of a column: each factor gets its share of what all of them together reach in a slot at most, so that
// none prefers a slot in which the others lose more. No other messages of this column lower the bound more.
void Messages::update(int column) {
  const auto& edges = edges_of_[z(column)];
  const int low = box_.low[z(column)];
  auto &left = left_[z(column)], &sum = sum_[z(column)];
  const std::size_t n = left.size();
  change_.assign(n + 1, 0.0);
  std::size_t slots = 0;
  for (const int e : edges) slots += z(edges_[z(e)].last - edges_[z(e)].first + 1);
  found_.resize(slots);
  double* found = found_.data();
  for (const int e : edges) {
    const Edge& edge = edges_[z(e)];
    best_by_slot(edge, &value_[z(options_of_[z(edge.factor)])], found);
    const int* cut = &factors_.cuts[z(factors_.edges[z(edge.of)].first_cut)] + edge.first;
    change_[0] += found[0];
    for (int s = 1; s <= edge.last - edge.first; ++s) change_[z(cut[s - 1] - low)] += found[s] - found[s - 1];
    found += edge.last - edge.first + 1;
  }
  double all = 0;
  for (std::size_t i = 0; i < n; ++i) {
    all += change_[i];
    sum[i] = all + (worth_->cells.empty() ? 0.0 : worth_->cells[z(column)][z(low) + i]);
  }
  if (most_.size() < n) most_.resize(n);
  std::copy(sum.begin(), sum.end(), most_.begin());
  prepare_most_of(n);
  const double share = 1.0 / static_cast<double>(edges.size());
  std::fill(change_.begin(), change_.end(), 0.0);
  found = found_.data();
  for (const int e : edges) {
    Edge& edge = edges_[z(e)];
    const Factors::Edge& of = factors_.edges[z(edge.of)];
    const int* cut = &factors_.cuts[z(of.first_cut)] + edge.first;
    double* message = &messages_[z(of.first_slot + edge.first)];
    const int slots_here = edge.last - edge.first + 1;
    for (int s = 0; s < slots_here; ++s) {
      const int begin = s == 0 ? 0 : cut[s - 1] - low;
      const int end = s + 1 == slots_here ? static_cast<int>(n) : cut[s] - low;
      const int row = std::bit_width(static_cast<unsigned>(end - begin)) - 1;
      const double* most = &most_[z(row) * n];
      const double mine = std::floor(share * std::max(most[begin], most[end - (1 << row)]));
      message[s] = std::clamp(mine - std::floor(found[s]), -most_message_, most_message_);
    }
    change_[0] += message[0];
    for (int s = 1; s < slots_here; ++s) change_[z(cut[s - 1] - low)] += message[s] - message[s - 1];
    // What options get now
    best_.resize(z(edge.n_intervals));
    for (int k = 0; k < edge.n_intervals; ++k) {
      const auto i = z(edge.first_interval + k);
      const double got =
          *std::max_element(message + low_slot_[i] - edge.first, message + high_slot_[i] - edge.first + 1);
      best_[z(k)] = got - got_[i];
      got_[i] = got;
    }
    const int first = options_of_[z(edge.factor)], end = options_of_[z(edge.factor) + 1];
    const int* number = &number_[z(edge.first_number)];
    double best = kNone;
    for (int i = first; i < end; ++i) {
      value_[z(i)] += best_[z(number[i - first])];
      best = std::max(best, value_[z(i)]);
    }
    total_ += static_cast<std::int64_t>(best - factor_best_[z(edge.factor)]);
    factor_best_[z(edge.factor)] = best;
    found += slots_here;
  }
  double paid = 0, best = kNone;
  for (std::size_t i = 0; i < n; ++i) {
    paid += change_[i];
    left[i] = (worth_->cells.empty() ? 0.0 : worth_->cells[z(column)][z(low) + i]) - paid;
    best = std::max(best, left[i]);
  }
  total_ += static_cast<std::int64_t>(best - column_best_[z(column)]);
  column_best_[z(column)] = best;
}

bool Messages::sweep(i128 enough, Watch& watch) {
  const int n = factors_.model.n_columns;
  for (int i = 0; i < n; ++i) {
    const int c = forward_ ? i : n - 1 - i;
    if (edges_of_[z(c)].empty()) continue;
    if (watch.over()) return false;
    update(c);
    if (total_ < enough) return false;
  }
  forward_ = !forward_;
  return true;
}

bool Messages::leave_out(i128 enough) {
  // A row that takes an option or a cell is worth at most the bound, less what it lacks to the best one.
  const i128 room = total_ - enough;
  for (int c = 0; c < factors_.model.n_columns; ++c) {
    const auto& left = left_[z(c)];
    const auto gone = [&](int cell) { return static_cast<std::int64_t>(column_best_[z(c)] - left[z(cell)]) > room; };
    int begin = 0, end = static_cast<int>(left.size());
    while (begin < end && gone(begin)) ++begin;
    while (begin < end && gone(end - 1)) --end;
    if (begin == end) return false;
    box_.high[z(c)] = box_.low[z(c)] + end - 1;
    box_.low[z(c)] += begin;
  }
  std::vector<int> places;
  std::size_t edge = 0;
  for (int f = 0; f < factors_.n_factors(); ++f) {
    const std::size_t before = places.size();
    for (int i = options_of_[z(f)]; i < options_of_[z(f) + 1]; ++i)
      if (static_cast<std::int64_t>(factor_best_[z(f)] - value_[z(i)]) <= room) places.push_back(i);
    if (places.size() == before) return false;
    for (; edge < edges_.size() && edges_[edge].factor == f; ++edge) {
      const Edge& e = edges_[edge];
      const Factors::Edge& of = factors_.edges[z(e.of)];
      int first = e.last, last = e.first;
      for (std::size_t k = before; k < places.size(); ++k) {
        const int number = e.first_interval + number_[z(e.first_number + places[k] - options_of_[z(f)])];
        first = std::min(first, low_slot_[z(number)]);
        last = std::max(last, high_slot_[z(number)]);
      }
      int &low = box_.low[z(of.column)], &high = box_.high[z(of.column)];
      if (first > e.first) low = std::max(low, factors_.cuts[z(of.first_cut + first - 1)]);
      if (last < e.last) high = std::min(high, factors_.cuts[z(of.first_cut + last)] - 1);
      if (low > high) return false;
    }
  }
  for (int& i : places) i = options_[z(i)];
  options_ = std::move(places);
  return true;
}

void Messages::choose(const std::vector<int>& near, std::vector<int>& row) const {
  row.resize(near.size());
  for (std::size_t c = 0; c < near.size(); ++c) {
    const auto& sum = sum_[c];
    const int low = box_.low[c], at = std::clamp(near[c], low, box_.high[c]) - low;
    int best = at;
    for (int i = 0; i < static_cast<int>(sum.size()); ++i) {
      const double more = sum[z(i)] - sum[z(best)];
      if (more > 0 || (more == 0 && std::abs(i - at) < std::abs(best - at))) best = i;
    }
    row[c] = low + best;
  }
}

KeptMessages Messages::keep(bool options) const {
  KeptMessages kept;
  kept.messages.assign(messages_.begin(), messages_.end());  // a float rounds a whole number to a whole number
  if (options) kept.options = options_;
  return kept;
}

// ------------------------------------------------------------------ branching

Messages::Branch Messages::branch() {
  Branch best;
  double most = -1;
  std::vector<double> below, above;
  for (int c = 0; c < factors_.model.n_columns; ++c) {
    const auto& edges = edges_of_[z(c)];
    if (edges.empty()) continue;
    // What all factors lose where the cells above a cut are gone, or those below.
    const int low = box_.low[z(c)];
    const std::size_t n = left_[z(c)].size();
    below.assign(n, 0.0);
    above.assign(n, 0.0);
    double all = 0;
    for (const int e : edges) {
      const Edge& edge = edges_[z(e)];
      const int slots = edge.last - edge.first + 1;
      found_.resize(z(slots));
      best_by_slot(edge, &value_[z(options_of_[z(edge.factor)])], found_.data());
      const int* cut = &factors_.cuts[z(factors_.edges[z(edge.of)].first_cut)] + edge.first;
      double run = found_[0];
      below[0] += run;
      for (int s = 1; s < slots; ++s) {
        const double next = std::max(run, found_[z(s)]);
        below[z(cut[s - 1] - low)] += next - run;
        run = next;
      }
      all += run;
      run = found_[z(slots) - 1];
      above[n - 1] += run;
      for (int s = slots - 2; s >= 0; --s) {
        const double next = std::max(run, found_[z(s)]);
        above[z(cut[s] - low - 1)] += next - run;
        run = next;
      }
    }
    for (std::size_t i = 1; i < n; ++i) below[i] += below[i - 1];
    for (std::size_t i = n - 1; i-- > 0;) above[i] += above[i + 1];
    if (!worth_->cells.empty()) {
      const double* cell = &worth_->cells[z(c)][z(low)];
      all += *std::max_element(cell, cell + n);
      double best_below = kNone, best_above = kNone;
      for (std::size_t i = 0; i < n; ++i) {
        below[i] += best_below = std::max(best_below, cell[i]);
        above[n - 1 - i] += best_above = std::max(best_above, cell[n - 1 - i]);
      }
    }
    for (std::size_t i = 0; i + 1 < n; ++i) {
      const double lost[] = {all - below[i], all - above[i + 1]};
      const double score = std::min(lost[0], lost[1]) + kFewSides * std::max(lost[0], lost[1]);
      if (score <= most) continue;
      most = score;
      best.column = c;
      best.cut = low + static_cast<int>(i);
    }
  }
  if (best.column < 0) return best;
  const auto& sum = sum_[z(best.column)];
  const auto middle = sum.begin() + (best.cut + 1 - box_.low[z(best.column)]);
  best.above_first = *std::max_element(middle, sum.end()) > *std::max_element(sum.begin(), middle);
  return best;
}

}  // namespace proofwood::votes
