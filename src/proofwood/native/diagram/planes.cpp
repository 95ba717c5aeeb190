// All ways to part points by one hyperplane, by those through as many independent points as there are dimensions.
//
// Whatever a hyperplane parts strictly, it can be moved until it passes through d affinely independent points and still
// has no point on a wrong side; those on it are parted within it, by the same argument in a dimension less:
//
//     -   - | +        -   - /+       the line is turned until it passes through two points, and these
//        -  |  +          - /  +      are parted in any way in which a point on it parts them
//
// Each hyperplane is looked at once, at the first independent points that are on it.
#include "diagram/planes.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace proofwood::diagram::planes {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct Stopped {};

class Search {
 public:
  Search(const i64* weights, std::size_t classes, const std::atomic<int>& stop)
      : weights_(weights), classes_(classes), stop_(stop) {}

  i64 run(const std::vector<Point>& points, int coordinates) {
    std::vector<int> all(points.size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<i64> sums(classes_, 0);
    for (const int i : all)
      for (std::size_t c = 0; c < classes_; ++c) sums[c] += weight(i, c);
    i64 best = *std::max_element(sums.begin(), sums.end());  // one class
    for (std::size_t a = 0; a < classes_; ++a)
      for (std::size_t b = a + 1; b < classes_; ++b) best = parted(points, all, coordinates, a, b, best);
    return best;
  }

 private:
  i64 weight(int point, std::size_t label) const { return weights_[at(point) * classes_ + label]; }
  void check() const {
    if (stop_.load(std::memory_order_relaxed) != 0) throw Stopped{};
  }

  // Of some points, by the classes a and b, each on either side, if that is more than `most`; else that.
  i64 parted(const std::vector<Point>& points, const std::vector<int>& some, int coordinates, std::size_t a,
             std::size_t b, i64 most) {
    if (some.size() <= 2) {  // in any way
      i64 sum = 0;
      for (const int i : some) sum += std::max(weight(i, a), weight(i, b));
      return std::max(most, sum);
    }
    if (coordinates == 1) return std::max(most, along(points, some, 0, a, b));
    bool any = false;
    const int n = static_cast<int>(some.size());
    for (int i = 0; i < n; ++i)
      for (int j = i + 1; j < n; ++j) {
        check();
        const Point &p = points[at(some[at(i)])], &q = points[at(some[at(j)])];
        if (coordinates == 2) {
          any = through(points, some, {q[1] - p[1], p[0] - q[0], 0}, {i, j, -1}, 2, a, b, most) || any;
          continue;
        }
        for (int k = j + 1; k < n; ++k) {
          const Point& r = points[at(some[at(k)])];
          any = through(points, some, cross(p, q, r), {i, j, k}, 3, a, b, most) || any;
        }
      }
    return any ? most : std::max(most, along(points, some, widest(points, some, coordinates), a, b));
  }

  static Point cross(const Point& p, const Point& q, const Point& r) {
    const Point u{q[0] - p[0], q[1] - p[1], q[2] - p[2]}, v{r[0] - p[0], r[1] - p[1], r[2] - p[2]};
    return {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
  }

  // Looks at the hyperplane through the points at the places `first` of `some`; false if they are dependent.
  bool through(const std::vector<Point>& points, const std::vector<int>& some, const Point& normal,
               const std::array<int, 3>& first, int coordinates, std::size_t a, std::size_t b, i64& most) {
    if (normal == Point{0, 0, 0}) return false;
    const Point& p = points[at(some[at(first[0])])];
    i64 low[2] = {0, 0}, high[2] = {0, 0}, free = 0;
    std::vector<int>& on = on_[at(coordinates)];
    on.clear();
    for (const int i : some) {
      const Point& x = points[at(i)];
      const i64 side = normal[0] * (x[0] - p[0]) + normal[1] * (x[1] - p[1]) + normal[2] * (x[2] - p[2]);
      if (side == 0) {
        on.push_back(i);
        free += std::max(weight(i, a), weight(i, b));
        continue;
      }
      i64* const sums = side < 0 ? low : high;
      sums[0] += weight(i, a);
      sums[1] += weight(i, b);
    }
    const i64 off = std::max(low[0] + high[1], low[1] + high[0]);
    if (off + free <= most) return true;
    if (on.size() == at(coordinates)) {  // independent: parted in any way
      most = off + free;
      return true;
    }
    if (!first_on(points, on, some, first, coordinates)) return true;
    const std::vector<int> within = on;
    const std::vector<Point> projected = without_coordinate(points, within, normal, coordinates);
    most = off + parted(projected, within, coordinates - 1, a, b, most - off);
    return true;
  }

  // Whether these are the first independent points of those on the hyperplane.
  static bool first_on(const std::vector<Point>& points, const std::vector<int>& on, const std::vector<int>& some,
                       const std::array<int, 3>& first, int coordinates) {
    if (on[0] != some[at(first[0])] || on[1] != some[at(first[1])]) return false;
    if (coordinates == 2) return true;
    for (std::size_t k = 2; k < on.size(); ++k) {
      if (cross(points[at(on[0])], points[at(on[1])], points[at(on[k])]) == Point{0, 0, 0}) continue;
      return on[k] == some[at(first[2])];
    }
    return false;
  }

  // The points on a hyperplane, seen along a coordinate in which it is not flat: they stay different.
  static std::vector<Point> without_coordinate(const std::vector<Point>& points, const std::vector<int>& within,
                                               const Point& normal, int coordinates) {
    int dropped = 0;
    while (normal[at(dropped)] == 0) ++dropped;
    std::vector<Point> projected(points.size());
    for (const int i : within) {
      int to = 0;
      for (int from = 0; from < coordinates; ++from)
        if (from != dropped) projected[at(i)][at(to++)] = points[at(i)][at(from)];
    }
    return projected;
  }

  static int widest(const std::vector<Point>& points, const std::vector<int>& some, int coordinates) {
    for (int c = 0; c < coordinates; ++c)
      for (const int i : some)
        if (points[at(i)][at(c)] != points[at(some[0])][at(c)]) return c;
    return 0;
  }

  // Points on a line, by one coordinate.
  i64 along(const std::vector<Point>& points, const std::vector<int>& some, int coordinate, std::size_t a,
            std::size_t b) const {
    std::vector<int> order = some;
    std::sort(order.begin(), order.end(),
              [&](int p, int q) { return points[at(p)][at(coordinate)] < points[at(q)][at(coordinate)]; });
    i64 forward = 0, backward = 0;  // all on the high side: of b, or of a
    for (const int i : order) {
      forward += weight(i, b);
      backward += weight(i, a);
    }
    i64 most = std::max(forward, backward);
    for (const int i : order) {
      forward += weight(i, a) - weight(i, b);
      backward += weight(i, b) - weight(i, a);
      most = std::max({most, forward, backward});
    }
    return most;
  }

  const i64* weights_;
  std::size_t classes_;
  const std::atomic<int>& stop_;
  std::array<std::vector<int>, 4> on_;  // by number of coordinates
};

}  // namespace

std::optional<i64> most_right(const std::vector<Point>& points, int coordinates, const i64* weights,
                              std::size_t classes, const std::atomic<int>& stop) {
  try {
    return Search(weights, classes, stop).run(points, coordinates);
  } catch (const Stopped&) {
    return std::nullopt;
  }
}

}  // namespace proofwood::diagram::planes
