// Annealing of trees of hyperplanes.
//
// A node, a line of hyperplanes through its own one: normal a + t u, offset b + t v. Each row that reaches the node
// changes sides at one t, so that a walk over the sorted crossings knows what every place costs, with the subtrees and
// labels as they are:
//
//   rows        +      -      +           t ->
//   crossings   |      |      |
//   cost     2     1      2      1        one of the four places is drawn, by exp(-cost / temperature)
#include "diagram/anneal.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace proofwood::diagram::anneal {

namespace {

constexpr double kHot = 3, kCold = 0.12;  // in typical errors
constexpr double kNear = 1e-9;            // crossings that are no nearer are different places
using Clock = std::chrono::steady_clock;

double since(Clock::time_point begun) { return std::chrono::duration<double>(Clock::now() - begun).count(); }

}  // namespace

Annealing::Annealing(const Rows& rows, const Settings& settings, const std::atomic<int>& stop)
    : rows_(rows), settings_(settings), stop_(stop), random_(settings.seed), height_(nodes() * rows.n) {}

Found Annealing::run() {
  const auto begun = Clock::now();
  Found best;
  best.tree = drawn();
  begin_at(best.tree);
  best.cost = cost_;
  const auto keep = [&] {
    if (cost_ >= best.cost) return;
    best.cost = cost_;
    best.tree = now_;
  };
  for (int cycle = 0; stop_.load(std::memory_order_relaxed) == 0 && since(begun) < settings_.seconds; ++cycle) {
    begin_at(cycle % 2 == 1 ? best.tree : drawn());
    keep();
    const double hot = kHot * settings_.unit + static_cast<double>(settings_.node_price);
    const double begins = since(begun);
    double temperature = hot;
    for (int moves = 0; stop_.load(std::memory_order_relaxed) == 0; ++moves) {
      if (moves % 32 == 0) {
        const double part = (since(begun) - begins) / settings_.cycle;
        if (part >= 1 || since(begun) >= settings_.seconds) break;
        temperature = hot * std::pow(kCold * settings_.unit / hot, part);
      }
      step(temperature);
      ++best.moves;
      keep();
    }
  }
  return best;
}

void Annealing::begin_at(const Tree& tree) {
  now_ = tree;
  for (std::size_t node = 0; node < nodes(); ++node) lift(node);
  cost_ = recount();
}

// Thresholds between values of random rows, and labels of random rows.
Tree Annealing::drawn() {
  Tree tree;
  tree.normal.assign(nodes() * rows_.d, 0);
  for (std::size_t node = 0; node < nodes(); ++node) {
    const std::size_t column = below(rows_.d);
    tree.normal[node * rows_.d + column] = 1;
    tree.offset.push_back(rows_.columns[below(rows_.n) * rows_.d + column]);
  }
  for (std::size_t leaf = 0; leaf <= nodes(); ++leaf) {
    const i64* cost = rows_.cost + below(rows_.n) * rows_.classes;
    tree.label.push_back(static_cast<int>(std::min_element(cost, cost + rows_.classes) - cost));
  }
  return tree;
}

// Heights of all rows over a node.
void Annealing::lift(std::size_t node) {
  const double* normal = &now_.normal[node * rows_.d];
  double* const heights = height(node);
  for (std::size_t r = 0; r < rows_.n; ++r) {
    double sum = -now_.offset[node];
    for (std::size_t j = 0; j < rows_.d; ++j) sum += normal[j] * rows_.columns[r * rows_.d + j];
    heights[r] = sum;
  }
}

std::size_t Annealing::leaf_below(std::size_t node, std::size_t row) const {
  while (node < nodes()) node = 2 * node + (height_[node * rows_.n + row] > 0 ? 2 : 1);
  return node;
}

i64 Annealing::recount() const {
  std::vector<u8> sides(nodes(), 0);
  i64 cost = 0;
  for (std::size_t r = 0; r < rows_.n; ++r) {
    std::size_t node = 0;
    while (node < nodes()) {
      const bool high = height_[node * rows_.n + r] > 0;
      sides[node] = static_cast<u8>(sides[node] | (high ? 2 : 1));
      node = 2 * node + (high ? 2 : 1);
    }
    cost += rows_.cost[r * rows_.classes + static_cast<std::size_t>(now_.label[node - nodes()])];
  }
  const auto parting = std::count(sides.begin(), sides.end(), 3);
  return cost + settings_.node_price * std::max<i64>(0, parting - 1);
}

void Annealing::list_rows(std::size_t node) {
  std::vector<std::pair<std::size_t, bool>> way;  // from the node up: ancestors, and the sides that lead to it
  for (std::size_t at = node; at > 0; at = (at - 1) / 2) way.emplace_back((at - 1) / 2, at % 2 == 0);
  here_.clear();
  for (std::size_t r = 0; r < rows_.n; ++r)
    if (std::all_of(way.begin(), way.end(),
                    [&](const auto& one) { return (height_[one.first * rows_.n + r] > 0) == one.second; }))
      here_.push_back(static_cast<int>(r));
}

void Annealing::step(double temperature) {
  if (uniform() < 0.1) return relabel(below(nodes() + 1), temperature);
  const std::size_t node = below(nodes());
  list_rows(node);
  double shift = 0;
  if (here_.size() < 2 || !draw_line(direction_, shift)) return;
  move(node, direction_, shift, temperature);
}

// A line: of offsets; of one coefficient; of one, or of all, around a row; towards the difference of two rows.
bool Annealing::draw_line(std::vector<double>& direction, double& shift) {
  direction.assign(rows_.d, 0);
  const auto row = [&] { return rows_.columns + static_cast<std::size_t>(here_[below(here_.size())]) * rows_.d; };
  const double* const pivot = row();
  switch (below(5)) {
    case 0:
      shift = 1;
      return true;
    case 1:
      direction[below(rows_.d)] = 1;
      shift = 0;
      return true;
    case 2: {
      const std::size_t column = below(rows_.d);
      direction[column] = 1;
      shift = pivot[column];
      return true;
    }
    case 3:
      for (double& one : direction) one = std::normal_distribution<>()(random_);
      break;
    default: {
      const double* const other = row();
      for (std::size_t j = 0; j < rows_.d; ++j) direction[j] = pivot[j] - other[j];
    }
  }
  shift = 0;
  for (std::size_t j = 0; j < rows_.d; ++j) shift += direction[j] * pivot[j];
  return std::any_of(direction.begin(), direction.end(), [](double one) { return one != 0; });
}

void Annealing::move(std::size_t node, const std::vector<double>& direction, double shift, double temperature) {
  crossings_.clear();
  slope_.clear();
  const double* const heights = height(node);
  for (const int r : here_) {
    double slope = -shift;
    for (std::size_t j = 0; j < rows_.d; ++j)
      slope += direction[j] * rows_.columns[static_cast<std::size_t>(r) * rows_.d + j];
    slope_.push_back(slope);
    if (std::abs(slope) > kNear) crossings_.push_back({-heights[r] / slope, static_cast<int>(slope_.size()) - 1});
  }
  if (crossings_.empty()) return;
  std::sort(crossings_.begin(), crossings_.end(), [](const Crossing& a, const Crossing& b) { return a.at < b.at; });
  const double place = draw_place(node, temperature);
  if (!std::isfinite(place)) return;
  const auto normal = now_.normal.begin() + static_cast<std::ptrdiff_t>(node * rows_.d);
  before_.assign(normal, normal + static_cast<std::ptrdiff_t>(rows_.d));
  const double offset = now_.offset[node];
  if (!moved_within_margin(node, place, direction, shift)) {
    std::copy(before_.begin(), before_.end(), normal);
    now_.offset[node] = offset;
    lift(node);
    return;
  }
  cost_ = recount();
}

// A place between two crossings, or before or after all of them, by its cost; NaN if they are too near.
double Annealing::draw_place(std::size_t node, double temperature) {
  const double* const heights = height(node);
  i64 cost = 0, high = 0;
  for (std::size_t k = 0; k < here_.size(); ++k) {
    const auto r = static_cast<std::size_t>(here_[k]);
    const bool above = std::abs(slope_[k]) > kNear ? slope_[k] < 0 : heights[r] > 0;
    cost += cost_below(2 * node + (above ? 2 : 1), r);
    high += above;
  }
  const auto priced = [&] {
    return cost + (high > 0 && high < static_cast<i64>(here_.size()) ? settings_.node_price : 0);
  };
  profile_.assign(1, priced());
  for (const Crossing& one : crossings_) {
    const auto r = static_cast<std::size_t>(here_[static_cast<std::size_t>(one.row)]);
    const bool rises = slope_[static_cast<std::size_t>(one.row)] > 0;
    const i64 change = cost_below(2 * node + 2, r) - cost_below(2 * node + 1, r);
    cost += rises ? change : -change;
    high += rises ? 1 : -1;
    profile_.push_back(priced());
  }
  const i64 least = *std::min_element(profile_.begin(), profile_.end());
  const std::size_t last = crossings_.size();
  const auto open = [&](std::size_t k) {
    return k == 0 || k == last || crossings_[k].at - crossings_[k - 1].at > kNear;
  };
  double total = 0;
  for (std::size_t k = 0; k <= last; ++k)
    if (open(k)) total += std::exp(-static_cast<double>(profile_[k] - least) / temperature);
  double drawn = uniform() * total;
  std::size_t chosen = last;
  for (std::size_t k = 0; k <= last; ++k) {
    if (!open(k)) continue;
    drawn -= std::exp(-static_cast<double>(profile_[k] - least) / temperature);
    if (drawn > 0) continue;
    chosen = k;
    break;
  }
  const double step = std::max(1e-3, 0.1 * (crossings_.back().at - crossings_.front().at));
  if (chosen == 0) return crossings_.front().at - step;
  if (chosen == last) return crossings_.back().at + step;
  return crossings_[chosen - 1].at + (crossings_[chosen].at - crossings_[chosen - 1].at) / 2;
}

// Moves a node; false if rows of its sides are nearer than the margin, or its normal vanishes.
bool Annealing::moved_within_margin(std::size_t node, double place, const std::vector<double>& direction,
                                    double shift) {
  double* const normal = &now_.normal[node * rows_.d];
  double length = 0;
  for (std::size_t j = 0; j < rows_.d; ++j) length += std::abs(normal[j] += place * direction[j]);
  now_.offset[node] += place * shift;
  if (!std::isfinite(length) || length < kNear) return false;
  for (std::size_t j = 0; j < rows_.d; ++j) normal[j] /= length;
  now_.offset[node] /= length;
  lift(node);
  double highest_low = -std::numeric_limits<double>::infinity(), lowest_high = -highest_low;
  for (const int r : here_) {
    const double above = height(node)[r];
    if (above > 0)
      lowest_high = std::min(lowest_high, above);
    else
      highest_low = std::max(highest_low, above);
  }
  double size = 1;  // what the hyperplane, of absolute sum 1, is divided by to be within the norm: sizes() in cuts.py
  if (settings_.box) {
    size = 0;
    for (std::size_t j = 0; j < rows_.d; ++j) size = std::max(size, std::abs(normal[j]));
    size = std::max({size, highest_low + now_.offset[node], -(lowest_high + now_.offset[node])});
  }
  return lowest_high - highest_low >= settings_.margin * size;
}

void Annealing::relabel(std::size_t leaf, double temperature) {
  std::vector<i64> costs(rows_.classes, 0);
  for (std::size_t r = 0; r < rows_.n; ++r)
    if (leaf_below(0, r) - nodes() == leaf)
      for (std::size_t c = 0; c < rows_.classes; ++c) costs[c] += rows_.cost[r * rows_.classes + c];
  const i64 least = *std::min_element(costs.begin(), costs.end());
  double total = 0;
  for (const i64 cost : costs) total += std::exp(-static_cast<double>(cost - least) / temperature);
  double drawn = uniform() * total;
  for (std::size_t c = 0; c < rows_.classes; ++c) {
    drawn -= std::exp(-static_cast<double>(costs[c] - least) / temperature);
    if (drawn > 0) continue;
    cost_ += costs[c] - costs[static_cast<std::size_t>(now_.label[leaf])];
    now_.label[leaf] = static_cast<int>(c);
    return;
  }
}

}  // namespace proofwood::diagram::anneal
