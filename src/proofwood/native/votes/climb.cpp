// Local search for a row that scores high: steps of one column, kicks, and the way back to the row asked about.
//
// Theory: docs/theory/explanations.md, "The engine cdcl: clause learning": climbing.
#include "votes/climb.hpp"

#include <algorithm>

#include "votes/model.hpp"

namespace proofwood::votes {

namespace {
constexpr int kPatience = 60;  // changed rows in a row that are no better, before the search starts elsewhere
}  // namespace

void Climb::enter(const std::vector<std::int64_t>& gain, const std::vector<int>& dead, const std::vector<int>& lo,
                  const std::vector<int>& hi) {
  lo_ = lo;
  hi_ = hi;
  gain_.clear();
  leaf_.clear();
  number_.assign(z(model_.n_leaves), -1);
  for (int leaf = 0; leaf < model_.n_leaves; ++leaf) {
    if (dead[z(leaf)] > 0) continue;
    number_[z(leaf)] = static_cast<int>(leaf_.size());
    leaf_.push_back(leaf);
    gain_.push_back(gain[z(leaf)]);
  }
  open_.clear();
  for (int held = 0; held < 2; ++held) {
    for (int c = 0; c < model_.n_columns; ++c)
      if (lo[z(c)] < hi[z(c)] && model_.in_clause[z(c)] == held) open_.push_back(c);
    if (held == 0) n_free_ = static_cast<int>(open_.size());
  }
  place_.assign(z(model_.n_columns), -1);
  for (std::size_t i = 0; i < open_.size(); ++i) place_[z(open_[i])] = static_cast<int>(i);
  entries_of_.assign(1, 0);
  entries_.clear();
  int most = 0;
  for (const int c : open_) {
    most = std::max(most, hi[z(c)] + 2);
    for (int i = model_.limits_of[z(c)]; i < model_.limits_of[z(c) + 1]; ++i) {
      const auto& limit = model_.limits[z(i)];
      if (number_[z(limit.leaf)] >= 0) entries_.push_back({number_[z(limit.leaf)], limit.low, limit.high});
    }
    entries_of_.push_back(static_cast<int>(entries_.size()));
  }
  steps_.assign(z(most), 0);
  spent_ += model_.n_leaves / 4 + static_cast<std::int64_t>(entries_.size());
}

bool Climb::load(const std::vector<int>& row) {
  std::vector<int> moved(row.size());
  for (std::size_t c = 0; c < row.size(); ++c) moved[c] = std::clamp(row[c], lo_[c], hi_[c]);
  if (!model_.allows(moved)) return false;
  row_ = std::move(moved);
  wrong_.assign(leaf_.size(), 0);
  for (std::size_t p = 0; p < open_.size(); ++p) {
    const int cell = row_[z(open_[p])];
    for (int i = entries_of_[p]; i < entries_of_[p + 1]; ++i) {
      const Entry& e = entries_[z(i)];
      wrong_[z(e.leaf)] += static_cast<int>(cell < e.low) | static_cast<int>(cell > e.high);
    }
  }
  sum_ = 0;
  for (std::size_t leaf = 0; leaf < leaf_.size(); ++leaf)
    if (wrong_[leaf] == 0) sum_ += gain_[leaf];
  spent_ += static_cast<std::int64_t>(entries_.size());
  return true;
}

void Climb::move(int column, int cell) {
  const std::size_t p = z(place_[z(column)]);
  const int before = row_[z(column)];
  for (int i = entries_of_[p]; i < entries_of_[p + 1]; ++i) {
    const Entry& e = entries_[z(i)];
    const bool was = before >= e.low && before <= e.high, is = cell >= e.low && cell <= e.high;
    if (was == is) continue;
    if (was) {
      if (wrong_[z(e.leaf)]++ == 0) sum_ -= gain_[z(e.leaf)];
    } else {
      if (--wrong_[z(e.leaf)] == 0) sum_ += gain_[z(e.leaf)];
    }
  }
  row_[z(column)] = cell;
  spent_ += entries_of_[p + 1] - entries_of_[p];
}

void Climb::back_to(const std::vector<int>& row) {
  for (const int c : open_)
    if (row_[z(c)] != row[z(c)]) move(c, row[z(c)]);
}

Climb::Step Climb::best_step(int place) {
  const int column = open_[z(place)], low = lo_[z(column)], high = hi_[z(column)], cell = row_[z(column)];
  std::fill(steps_.begin() + low, steps_.begin() + high + 2, 0);
  std::int64_t here = 0;  // gains of the leaves that the column decides, at its cell
  for (int i = entries_of_[z(place)]; i < entries_of_[z(place) + 1]; ++i) {
    const Entry& e = entries_[z(i)];
    const int out = static_cast<int>(cell < e.low) | static_cast<int>(cell > e.high);
    if (wrong_[z(e.leaf)] != out) continue;
    const std::int64_t gain = gain_[z(e.leaf)];
    steps_[z(std::max(e.low, low))] += gain;
    steps_[z(std::min(e.high, high)) + 1] -= gain;
    if (out == 0) here += gain;
  }
  spent_ += entries_of_[z(place) + 1] - entries_of_[z(place)] + high - low;
  std::int64_t most = here, sum = 0;
  int best = cell, ties = 0;  // of cells better than now
  for (int v = low; v <= high; ++v) {
    sum += steps_[z(v)];
    if (sum < most || (sum == most && ties == 0)) continue;
    ties = sum > most ? 1 : ties + 1;
    if (sum > most || random() % static_cast<std::uint64_t>(ties) == 0) best = v;
    most = sum;
  }
  return {best, most - here};
}

void Climb::ascend(std::int64_t least, Watch& watch) {
  if (n_free_ == 0) return;
  int place = static_cast<int>(random() % static_cast<std::uint64_t>(n_free_));
  for (int since = 0; since < n_free_ && sum_ < least && !watch.over(); ++since) {
    const Step step = best_step(place);
    if (step.more > 0) {
      move(open_[z(place)], step.cell);
      since = -1;
    }
    place = place + 1 == n_free_ ? 0 : place + 1;
  }
}

void Climb::ascend_steeply(std::int64_t least, Watch& watch) {
  while (sum_ < least) {
    Step best{0, 0};
    int at = -1;
    for (int place = 0; place < n_free_; ++place) {
      if (watch.over()) return;
      const Step step = best_step(place);
      if (step.more <= best.more) continue;
      best = step;
      at = place;
    }
    if (at < 0) return;
    move(open_[z(at)], best.cell);
  }
}

// To a leaf of high gain, or a few columns anywhere.
void Climb::kick() {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  if (random() % 2 == 0) {
    std::size_t chosen = below(leaf_.size());
    for (int i = 0; i < 2; ++i) {
      const std::size_t other = below(leaf_.size());
      if (gain_[other] > gain_[chosen]) chosen = other;
    }
    const int leaf = leaf_[chosen];
    for (int i = model_.needs_of[z(leaf)]; i < model_.needs_of[z(leaf) + 1]; ++i) {
      const Literal need = model_.needs[z(i)];
      const int c = model_.column_of[z(need >> 1)], cut = (need >> 1) - model_.first[z(c)];
      if (place_[z(c)] < 0 || place_[z(c)] >= n_free_ || model_.holds(need, row_)) continue;
      move(c, (need & 1) != 0 ? cut : cut + 1);
    }
  } else {
    for (std::size_t n = 1 + below(3); n > 0; --n) {
      const int c = open_[below(z(n_free_))];
      move(c, lo_[z(c)] + static_cast<int>(below(z(hi_[z(c)] - lo_[z(c)] + 1))));
    }
  }
}

bool Climb::counted(std::int64_t least) {
  const std::int64_t kept = sum_;
  return load(std::vector<int>(row_)) && sum_ == kept && sum_ >= least;
}

void Climb::approach(const std::vector<int>& near, std::int64_t least, Watch& watch) {
  std::vector<int> changed;
  const auto home = [&](int column) { return std::clamp(near[z(column)], lo_[z(column)], hi_[z(column)]); };
  for (int i = 0; i < n_free_; ++i)
    if (row_[z(open_[z(i)])] != home(open_[z(i)])) changed.push_back(open_[z(i)]);
  // What helps the least goes back first, so that few changes are left.
  while (!changed.empty() && !watch.over()) {
    std::size_t best = changed.size();
    std::int64_t most = least - 1;
    for (std::size_t i = 0; i < changed.size() && !watch.over(); ++i) {
      const int column = changed[i], cell = row_[z(column)];
      move(column, home(column));
      if (sum_ > most) {
        most = sum_;
        best = i;
      }
      move(column, cell);
    }
    if (best == changed.size()) break;
    move(changed[best], home(changed[best]));
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(best));
  }
}

bool Climb::reach(const std::vector<std::vector<int>>& starts, std::size_t near, std::int64_t least,
                  std::int64_t effort, Watch& watch) {
  const std::int64_t until = spent_ + effort;
  std::vector<int> best;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (!load(starts[i])) continue;
    if (i == near) ascend_steeply(least, watch);
    ascend(least, watch);
    if (sum_ >= least) return true;
    if (best.empty() || sum_ > most) {
      best = row_;
      most = sum_;
    }
    if (spent_ >= until || watch.over()) return false;
  }
  if (best.empty() || n_free_ == 0) return false;
  back_to(best);
  std::int64_t now = most;
  std::vector<int> kept = best;
  int idle = 0;
  while (spent_ < until && !watch.over()) {
    kick();
    ascend(least, watch);
    if (sum_ >= least) return true;
    if (sum_ >= now) {
      idle = sum_ > now ? 0 : idle + 1;
      now = sum_;
      kept = row_;
    } else {
      ++idle;
      back_to(kept);
    }
    if (idle < kPatience) continue;
    idle = 0;
    for (int c = 0; c < n_free_; ++c) {
      const int column = open_[z(c)];
      move(column, lo_[z(column)] +
                       static_cast<int>(random() % static_cast<std::uint64_t>(hi_[z(column)] - lo_[z(column)] + 1)));
    }
    ascend(least, watch);
    if (sum_ >= least) return true;
    now = sum_;
    kept = row_;
  }
  return false;
}

}  // namespace proofwood::votes
