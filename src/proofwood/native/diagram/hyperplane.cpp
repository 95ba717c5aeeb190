// A hyperplane of little weighted loss: line searches over the rows, each exact in one direction.
//
// Theory: docs/theory/layered-diagrams.md, "Oblique splits" (Florio, Martins, Schiffer, Serra, Vidal, AAAI 2023, ODD).
#include "diagram/hyperplane.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

namespace proofwood::diagram::plane {

namespace {

constexpr double kFlat = 1e-12;    // a slope below it does not move a row; a vector below it is none
constexpr double kNarrow = 1e-9;   // an interval of steps below it is empty
constexpr std::size_t kHeld = 24;  // rows that a direction holds in place at most

using Vector = std::vector<double>;

double dot(const double* a, const double* b, std::size_t size) {
  double sum = 0;
  for (std::size_t j = 0; j < size; ++j) sum += a[j] * b[j];
  return sum;
}

double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

class Walk {
 public:
  Walk(const Rows& rows, u64 seed)
      : rows_(rows), random_(seed), height_(rows.n), slope_(rows.n), near_(rows.n), way_(rows.size) {
    crossings_.reserve(rows.n);
    for (std::size_t i = 0; i < rows.n; ++i) floor_ += std::min<i64>(rows.extra[i], 0);
  }

  void begin(Vector head) {
    head_ = std::move(head);
    scale();
    measure();
  }

  // One line search along a random direction; whether the loss fell. Steps between equal losses are taken as well.
  bool step() {
    aim();
    const double length = std::sqrt(dot(way_.data(), way_.data(), rows_.size));
    if (!(length > kFlat)) return false;
    const double unit = std::sqrt(dot(head_.data(), head_.data(), rows_.size)) / length;
    for (double& value : way_) value *= unit;
    for (std::size_t i = 0; i < rows_.n; ++i) slope_[i] = dot(row(i), way_.data(), rows_.size);
    const auto [loss, along] = best_step(height_.data(), slope_.data(), rows_.extra, rows_.n, crossings_, random_);
    if (loss > loss_) return false;
    const bool fell = loss < loss_;
    Vector before = head_;
    for (std::size_t j = 0; j < rows_.size; ++j) head_[j] += along * way_[j];
    if (!scale()) {
      head_ = std::move(before);
      return false;
    }
    measure();
    if (loss_ > loss) {  // rounding put a row on the other side
      head_ = std::move(before);
      measure();
      return false;
    }
    return fell;
  }

  // The head with some entries changed at random.
  void shake() {
    const double greatest =
        *std::max_element(head_.begin(), head_.end() - 1, [](double a, double b) { return std::abs(a) < std::abs(b); });
    const double strengths[] = {0.1, 0.3, 1.0};
    const double strength = strengths[pick(3)] * std::abs(greatest);
    const double chance = std::max(2.0 / static_cast<double>(rows_.size), 0.3);
    for (double& value : head_) {
      if (share() < chance) value += strength * normal();
    }
    if (!scale()) head_[0] = 1;
    measure();
  }

  const Vector& head() const { return head_; }
  i64 loss() const { return loss_; }
  i64 floor() const { return floor_; }

 private:
  double share() { return uniform(random_); }
  double normal() { return normal_(random_); }
  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  const double* row(std::size_t i) const { return rows_.values + i * rows_.size; }
  bool wrong(std::size_t i) const { return (height_[i] > 0) == (rows_.extra[i] > 0); }

  // To a normal of absolute sum 1; false if there is none.
  bool scale() {
    double sum = 0;
    for (std::size_t j = 0; j + 1 < rows_.size; ++j) sum += std::abs(head_[j]);
    if (!(sum > kFlat) || !std::isfinite(sum)) return false;
    for (double& value : head_) value /= sum;
    return std::isfinite(head_.back());
  }

  void measure() {
    loss_ = 0;
    for (std::size_t i = 0; i < rows_.n; ++i) {
      height_[i] = dot(row(i), head_.data(), rows_.size);
      if (height_[i] > 0) loss_ += rows_.extra[i];
    }
  }

  // Choose the direction of the next line search.
  void aim() {
    const double kind = share();
    std::fill(way_.begin(), way_.end(), 0.0);
    if (kind < 0.25) {
      way_[pick(rows_.size)] = 1;
    } else if (kind < 0.4) {
      for (std::size_t times = 1 + pick(3); times > 0; --times) way_[pick(rows_.size)] += normal();
    } else if (kind < 0.5) {
      for (double& value : way_) value = normal();
    } else if (kind < 0.55) {  // turn about the middle of two rows, towards their difference
      const double *a = row(pick(rows_.n)), *b = row(pick(rows_.n));
      double offset = 0;
      for (std::size_t j = 0; j + 1 < rows_.size; ++j) {
        way_[j] = a[j] - b[j];
        offset += way_[j] * (a[j] + b[j]) / 2;
      }
      way_.back() = offset;
    } else {
      carry(kind < 0.7 ? 0 : 1 + pick(std::min(rows_.size - 1, kHeld)));
    }
  }

  // Carry one wrong row across, and keep `held` of the rows nearest to the hyperplane where they are: the part of the
  // wrong row that is orthogonal to those rows.
  void carry(std::size_t held) {
    const std::size_t most = std::min(rows_.n, 3 * rows_.size + 1);
    std::iota(near_.begin(), near_.end(), std::size_t{0});
    const auto nearer = [&](std::size_t a, std::size_t b) {
      return std::pair(std::abs(height_[a]), a) < std::pair(std::abs(height_[b]), b);
    };
    std::nth_element(near_.begin(), near_.begin() + static_cast<std::ptrdiff_t>(most - 1), near_.end(), nearer);
    std::size_t chosen = rows_.n, seen = 0;
    for (std::size_t at = 0; at < most; ++at) {
      if (wrong(near_[at]) && pick(++seen) == 0) chosen = near_[at];
    }
    if (chosen == rows_.n || (held == 0 && share() < 0.5)) {  // any wrong row, near or not
      seen = 0;
      for (std::size_t i = 0; i < rows_.n; ++i) {
        if (wrong(i) && pick(++seen) == 0) chosen = i;
      }
      if (chosen == rows_.n) return;
    }
    std::copy(row(chosen), row(chosen) + rows_.size, way_.begin());
    basis_.clear();
    for (std::size_t times = 0; times < held; ++times) {
      const std::size_t other = near_[pick(most)];
      if (other == chosen) continue;
      Vector kept(row(other), row(other) + rows_.size);
      const double before = dot(kept.data(), kept.data(), rows_.size);
      for (const Vector& base : basis_) remove(kept, base);
      const double left = dot(kept.data(), kept.data(), rows_.size);
      if (left <= 1e-14 * before) continue;
      const double unit = 1 / std::sqrt(left);
      for (double& value : kept) value *= unit;
      remove(way_, kept);
      basis_.push_back(std::move(kept));
    }
    for (const Vector& base : basis_) remove(way_, base);  // once more: rounding
    if (dot(way_.data(), way_.data(), rows_.size) < 1e-14) std::fill(way_.begin(), way_.end(), 0.0);
  }

  void remove(Vector& from, const Vector& base) const {
    const double part = dot(from.data(), base.data(), rows_.size);
    for (std::size_t j = 0; j < rows_.size; ++j) from[j] -= part * base[j];
  }

  const Rows& rows_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  Vector head_, height_, slope_;
  std::vector<std::size_t> near_;
  Vector way_;
  std::vector<Vector> basis_;
  Crossings crossings_;
  i64 loss_ = 0, floor_ = 0;
};

}  // namespace

// Steps t are swept as u = t / (1 + |t|) in (-1, 1), so that both ends are finite.
std::pair<i64, double> best_step(const double* height, const double* slope, const i64* extra, std::size_t n,
                                 Crossings& crossings, std::mt19937_64& random) {
  crossings.clear();
  i64 loss = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (std::abs(slope[i]) <= kFlat) {
      if (height[i] > 0) loss += extra[i];
      continue;
    }
    const double t = -height[i] / slope[i];
    if (slope[i] < 0) loss += extra[i];
    crossings.emplace_back(t / (1 + std::abs(t)), slope[i] > 0 ? extra[i] : -extra[i]);
  }
  std::sort(crossings.begin(), crossings.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  i64 least = std::numeric_limits<i64>::max();
  double place = 0, widest = -1, from = -1;
  for (std::size_t k = 0; k <= crossings.size(); ++k) {
    const double to = k < crossings.size() ? crossings[k].first : 1;
    if (to - from > kNarrow && loss <= least) {
      const double width = (to - from) * uniform(random);
      if (loss < least || width > widest) {
        least = loss;
        widest = width;
        place = from + (to - from) / 2;
      }
    }
    if (k < crossings.size()) loss += crossings[k].second;
    from = to;
  }
  return {least, place / (1 - std::abs(place))};
}

std::vector<Found> search(const Rows& rows, const std::vector<std::vector<double>>& heads, const Effort& effort) {
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  std::vector<Found> found;
  if (rows.n == 0 || rows.size < 2 || heads.empty()) return found;
  Walk walk(rows, effort.seed);
  std::size_t begun = 0, since = 0;
  auto asked = started;
  const std::size_t often = std::max<std::size_t>(1, std::min<std::size_t>(64, 1'000'000 / (rows.n * rows.size)));
  const auto ended = [&] {
    const auto now = Clock::now();
    if (effort.seconds >= 0 && std::chrono::duration<double>(now - started).count() > effort.seconds) return true;
    if (!effort.interrupted || now - asked < std::chrono::milliseconds(50)) return false;
    asked = now;
    return effort.interrupted();
  };
  const auto finish = [&] { found.push_back({walk.loss(), walk.head()}); };
  walk.begin(heads[begun++]);
  for (std::size_t step = 0; step < effort.steps && walk.loss() > walk.floor(); ++step) {
    if (step % often == 0 && ended()) break;
    since = walk.step() ? 0 : since + 1;
    if (since < effort.patience) continue;
    finish();
    since = 0;
    if (begun < heads.size()) {
      walk.begin(heads[begun++]);
    } else {
      const auto best =
          std::min_element(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.loss < b.loss; });
      walk.begin(best->head);
      walk.shake();
    }
  }
  finish();
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.loss < b.loss; });
  return found;
}

}  // namespace proofwood::diagram::plane
