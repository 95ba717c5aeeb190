// The most weight that one hyperplane gets right, over points of up to three integer coordinates.
//
// Theory: docs/theory/layered-diagrams.md, "One split exactly".
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <vector>

#include "common/integers.hpp"

namespace proofwood::diagram::planes {

constexpr int kMostCoordinates = 3;
constexpr i64 kLargest = i64{1} << 17;  // of a coordinate: products of three differences fit 64 bits
using Point = std::array<i64, kMostCoordinates>;

// Greatest weight of points that are right if those of one side are given one class and those of the other another one,
// over all ways to part the points strictly by a hyperplane, or not at all. `weights` (n, classes), points all
// different. Nothing if it was stopped.
std::optional<i64> most_right(const std::vector<Point>& points, int coordinates, const i64* weights,
                              std::size_t classes, const std::atomic<int>& stop);

}  // namespace proofwood::diagram::planes
