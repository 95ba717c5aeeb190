// The arrays that Python hands over, to read, and those that it gets.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "common/integers.hpp"

namespace proofwood {

template <class T, std::size_t kDims>
using Array = nanobind::ndarray<const T, nanobind::ndim<kDims>, nanobind::c_contig, nanobind::device::cpu>;

// An array of Python that owns the numbers.
inline nanobind::ndarray<nanobind::numpy, i64> owned(std::vector<i64>&& numbers,
                                                     const std::vector<std::size_t>& shape) {
  auto kept = std::make_unique<std::vector<i64>>(std::move(numbers));
  i64* const data = kept->data();
  const nanobind::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<std::vector<i64>*>(p); });
  static_cast<void>(kept.release());  // the capsule owns it now
  return {data, shape.size(), shape.data(), owner};
}

inline nanobind::ndarray<nanobind::numpy, i64> owned(std::vector<i64>&& numbers) {
  const std::size_t n = numbers.size();
  return owned(std::move(numbers), {n});
}

}  // namespace proofwood
