// Heaviest pure boxes, by branch and bound over the groups that a box takes in, like a heaviest clique.
//
// Theory: docs/theory/minimal-trees.md, "A cover by boxes". The maximum box problem is that of Eckstein, Hammer, Liu,
// Nediak and Simeone (2002).
#include "minimal/pure_boxes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <tuple>

namespace proofwood::minimal {

namespace {

template <class F>
void each(const std::vector<u64>& set, const F& f) {
  for (std::size_t w = 0; w < set.size(); ++w)
    for (u64 left = set[w]; left != 0; left &= left - 1) f(static_cast<int>(w * 64) + std::countr_zero(left));
}

}  // namespace

PureBoxes::PureBoxes(const int* ranks, const i64* cost, int n, int n_columns, int n_classes)
    : n_(at(n)),
      columns_(at(n_columns)),
      classes_(at(n_classes)),
      words_((n_ + 63) / 64),
      ranks_(ranks, ranks + n_ * columns_) {
  for (int j = 0; j < n_columns; ++j) {
    int most = 0;
    for (int r = 0; r < n; ++r) most = std::max(most, rank(r, j));
    const std::size_t from = up_to_.size() / words_;
    first_.push_back(from);
    up_to_.resize((from + at(most) + 1) * words_, 0);
    for (int r = 0; r < n; ++r) up_to_[(from + at(rank(r, j))) * words_ + (at(r) >> 6)] |= u64{1} << (r & 63);
    for (std::size_t i = from + 1; i <= from + at(most); ++i)
      for (std::size_t w = 0; w < words_; ++w) up_to_[i * words_ + w] |= up_to_[(i - 1) * words_ + w];
  }
  right_.assign(classes_, std::vector<u64>(words_, 0));
  for (std::size_t r = 0; r < n_; ++r)
    for (std::size_t c = 0; c < classes_; ++c)
      if (cost[r * classes_ + c] == 0) right_[c][r >> 6] |= u64{1} << (r & 63);
  near_.assign(classes_, std::vector<std::vector<u64>>(n_));
  lower_.resize(columns_);
  upper_.resize(columns_);
}

PureBoxes::Found PureBoxes::heaviest(const Weights& weights, i64 above, const std::function<bool()>& stopped) {
  weights_ = &weights;
  stopped_ = &stopped;
  over_ = false;
  Found found;
  found.weight = above;
  for (std::size_t c = 0; c < classes_ && !over_; ++c) {
    const std::vector<u64>& right = right_[c];
    begin_class(c);
    std::vector<u64> later = right;  // those that may still be in a box of which they are not the anchor
    for (std::size_t r = 0; r < n_; ++r)
      if (weights[r] == 0) later[r >> 6] &= ~(u64{1} << (r & 63));
    each(std::vector<u64>(later), [&](int anchor) {
      later[at(anchor) >> 6] &= ~(u64{1} << (anchor & 63));
      if (over_) return;
      best_ = above;
      found_ = false;
      search_from(c, anchor, later);
      if (!found_) return;
      found.weight = std::max(found.weight, best_);
      found.boxes.push_back(groups_in(best_least_, best_greatest_));
    });
  }
  found.complete = !over_;
  return found;
}

void PureBoxes::each_shared(const std::function<bool()>& stopped,
                            const std::function<void(int, const std::vector<u64>&)>& f) {
  stopped_ = &stopped;
  over_ = false;
  for (std::size_t c = 0; c < classes_; ++c) {
    begin_class(c);
    each(right_[c], [&](int anchor) {
      share_boxes(c, anchor);
      if (!over_) f(anchor, near_[c][at(anchor)]);
    });
  }
}

void PureBoxes::begin_class(std::size_t label) {
  wrong_.resize(words_);
  for (std::size_t w = 0; w < words_; ++w) wrong_[w] = ~right_[label][w];
  if ((n_ & 63) != 0) wrong_.back() &= (u64{1} << (n_ & 63)) - 1;
}

std::vector<int> PureBoxes::groups_in(const std::vector<int>& least, const std::vector<int>& greatest) {
  std::vector<int> groups;
  for (int r = 0; r < static_cast<int>(n_); ++r) {
    bool inside = true;
    for (std::size_t j = 0; j < columns_ && inside; ++j) {
      const int value = rank(r, static_cast<int>(j));
      inside = least[j] <= value && value <= greatest[j];
    }
    if (inside) groups.push_back(r);
  }
  return groups;
}

void PureBoxes::search_from(std::size_t label, int anchor, const std::vector<u64>& later) {
  share_boxes(label, anchor);
  if (over_) return;
  Level& root = level(0);
  for (std::size_t j = 0; j < columns_; ++j) root.least[j] = root.greatest[j] = rank(anchor, static_cast<int>(j));
  candidates_.clear();
  i64 weight = (*weights_)[at(anchor)], most = weight;
  const std::vector<u64>& near = near_[label][at(anchor)];
  for (std::size_t w = 0; w < words_; ++w)
    for (u64 left = later[w] & near[w]; left != 0; left &= left - 1) {
      candidates_.push_back(static_cast<int>(w * 64) + std::countr_zero(left));
      most += (*weights_)[at(candidates_.back())];
    }
  if (most <= best_) return;
  std::sort(candidates_.begin(), candidates_.end(),
            [&](int a, int b) { return std::pair((*weights_)[at(a)], a) > std::pair((*weights_)[at(b)], b); });
  const std::size_t k = candidates_.size();
  fits_.assign(k * k, 0);
  for (std::size_t a = 0; a < k; ++a)
    for (std::size_t b = 0; b < a; ++b) {
      if (is_over()) return;
      for (std::size_t j = 0; j < columns_; ++j) {
        const int column = static_cast<int>(j);
        std::tie(lower_[j], upper_[j]) =
            std::minmax({rank(anchor, column), rank(candidates_[a], column), rank(candidates_[b], column)});
      }
      fits_[a * k + b] = fits_[b * k + a] = !holds(lower_, upper_, wrong_);
    }
  root.candidates.resize(k);
  std::iota(root.candidates.begin(), root.candidates.end(), 0);
  search(0, weight);
}

// The groups whose common box with the anchor is pure.
void PureBoxes::share_boxes(std::size_t label, int anchor) {
  std::vector<u64>& near = near_[label][at(anchor)];
  if (!near.empty()) return;
  near.assign(words_, 0);
  each(right_[label], [&](int other) {
    if (is_over()) return;
    for (int j = 0; j < static_cast<int>(columns_); ++j)
      std::tie(lower_[at(j)], upper_[at(j)]) = std::minmax({rank(anchor, j), rank(other, j)});
    if (!holds(lower_, upper_, wrong_)) near[at(other) >> 6] |= u64{1} << (other & 63);
  });
  if (over_) near.clear();
}

// Whether some of the groups are in a box.
bool PureBoxes::holds(const std::vector<int>& least, const std::vector<int>& greatest, const std::vector<u64>& groups) {
  between_ = groups;
  for (int j = 0; j < static_cast<int>(columns_); ++j) {
    const u64* to = up_to(j, greatest[at(j)]);
    const u64* before = least[at(j)] > 0 ? up_to(j, least[at(j)] - 1) : nullptr;
    u64 any = 0;
    if (before == nullptr)
      for (std::size_t w = 0; w < words_; ++w) any |= between_[w] &= to[w];
    else
      for (std::size_t w = 0; w < words_; ++w) any |= between_[w] &= to[w] & ~before[w];
    if (any == 0) return false;
  }
  return true;
}

PureBoxes::Found PureBoxes::grown(const Weights& weights, i64 above, unsigned seed,
                                  const std::function<bool()>& stopped) {
  stopped_ = &stopped;
  over_ = false;
  Found found;
  found.weight = above;
  found.complete = false;
  std::mt19937 random(seed);
  std::vector<double> pull(n_);
  for (std::size_t c = 0; c < classes_; ++c) {
    begin_class(c);
    const double total = static_cast<double>(std::accumulate(weights.begin(), weights.end(), i64{0})) + 1;
    each(right_[c], [&](int anchor) {
      if (over_) return;
      share_boxes(c, anchor);
      if (over_) return;
      for (std::size_t r = 0; r < n_; ++r)
        pull[r] = (static_cast<double>(weights[r]) / total + 1e-3 / static_cast<double>(n_)) *
                  std::uniform_real_distribution<>(0.5, 1.5)(random);
      std::vector<int> box = grow(c, anchor, pull);
      i64 weight = 0;
      for (const int group : box) weight += weights[at(group)];
      if (weight <= above) return;
      found.weight = std::max(found.weight, weight);
      found.boxes.push_back(std::move(box));
    });
  }
  return found;
}

// A box that grows by the group that pulls most for the ranks that it is away.
std::vector<int> PureBoxes::grow(std::size_t label, int anchor, const std::vector<double>& pull) {
  std::vector<int> least(columns_), greatest(columns_);
  for (std::size_t j = 0; j < columns_; ++j) least[j] = greatest[j] = rank(anchor, static_cast<int>(j));
  std::vector<std::pair<double, int>> order;
  each(near_[label][at(anchor)], [&](int row) {
    double away = 1;
    for (std::size_t j = 0; j < columns_; ++j) {
      const auto width = static_cast<double>((j + 1 < columns_ ? first_[j + 1] : up_to_.size() / words_) - first_[j]);
      away += 10.0 * std::abs(rank(row, static_cast<int>(j)) - least[j]) / width;
    }
    order.emplace_back(-pull[at(row)] / away, row);
  });
  std::sort(order.begin(), order.end());
  for (const auto& [value, row] : order) {
    bool inside = true;
    for (std::size_t j = 0; j < columns_; ++j) {
      const int r = rank(row, static_cast<int>(j));
      lower_[j] = std::min(least[j], r);
      upper_[j] = std::max(greatest[j], r);
      inside = inside && lower_[j] == least[j] && upper_[j] == greatest[j];
    }
    if (inside || holds(lower_, upper_, wrong_)) continue;
    least = lower_;
    greatest = upper_;
  }
  return groups_in(least, greatest);
}

PureBoxes::Level& PureBoxes::level(std::size_t depth) {
  while (levels_.size() <= depth)
    levels_.push_back(
        std::make_unique<Level>(Level{std::vector<int>(columns_), std::vector<int>(columns_), {}, {}, {}, {}}));
  return *levels_[depth];
}

// Takes a group into the box of `here`: `next` has the box that holds it too, and the candidates before place `end` of
// the order that it could take still; those inside are in it. Returns its weight.
i64 PureBoxes::take(const Level& here, std::size_t end, i64 weight, Level& next) {
  const int taken = here.order[end - 1];
  for (std::size_t j = 0; j < columns_; ++j) {
    const int r = rank(candidates_[at(taken)], static_cast<int>(j));
    next.least[j] = std::min(here.least[j], r);
    next.greatest[j] = std::max(here.greatest[j], r);
  }
  weight += (*weights_)[at(candidates_[at(taken)])];
  next.candidates.clear();
  for (std::size_t i = 0; i + 1 < end; ++i) {
    const int other = here.order[i];
    if (!fits_[at(taken) * candidates_.size() + at(other)]) continue;
    if (is_over()) return weight;
    bool inside = true;
    for (std::size_t j = 0; j < columns_; ++j) {
      const int r = rank(candidates_[at(other)], static_cast<int>(j));
      lower_[j] = std::min(next.least[j], r);
      upper_[j] = std::max(next.greatest[j], r);
      inside = inside && lower_[j] == next.least[j] && upper_[j] == next.greatest[j];
    }
    if (inside)
      weight += (*weights_)[at(candidates_[at(other)])];
    else if (!holds(lower_, upper_, wrong_))
      next.candidates.push_back(other);
  }
  return weight;
}

// Parts the candidates in sets of which a box can take one each: so the heaviest of each set bound what it can add.
// They are put in order, each with the bound of those up to it.
void PureBoxes::bound(Level& here) {
  here.order.clear();
  here.bounds.clear();
  std::vector<int>& left = here.left;
  left = here.candidates;
  i64 sum = 0;
  while (!left.empty() && !is_over()) {
    const std::size_t from = here.order.size();
    i64 most = 0;
    std::size_t kept = 0;
    for (const int candidate : left) {
      const u8* const fits = &fits_[at(candidate) * candidates_.size()];
      const bool alone = std::none_of(here.order.begin() + static_cast<std::ptrdiff_t>(from), here.order.end(),
                                      [&](int other) { return fits[at(other)] != 0; });
      if (!alone) {
        left[kept++] = candidate;
        continue;
      }
      here.order.push_back(candidate);
      most = std::max(most, (*weights_)[at(candidates_[at(candidate)])]);
    }
    left.resize(kept);
    for (std::size_t i = from; i < here.order.size(); ++i) here.bounds.push_back(sum + most);
    sum += most;
  }
}

void PureBoxes::search(std::size_t depth, i64 weight) {
  if (is_over()) return;
  Level& here = level(depth);
  if (weight > best_) {
    best_ = weight;
    best_least_ = here.least;
    best_greatest_ = here.greatest;
    found_ = true;
  }
  bound(here);
  Level& next = level(depth + 1);
  for (std::size_t end = here.order.size(); end > 0 && weight + here.bounds[end - 1] > best_; --end) {
    const i64 more = take(here, end, weight, next);
    search(depth + 1, more);
  }
}

}  // namespace proofwood::minimal
