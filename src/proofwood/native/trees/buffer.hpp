// Memory of the kernels and sets of rows: it grows, is used again and is never initialised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "trees/kernels.hpp"

namespace proofwood::trees {

template <class T>
class Buffer {
 public:
  T* resize(std::size_t n) {
    if (n > capacity_) {
      capacity_ = n + n / 4;
      data_ = std::make_unique_for_overwrite<T[]>(capacity_);
    }
    return data_.get();
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  std::unique_ptr<T[]> data_;
  std::size_t capacity_ = 0;
};

// Memory for vectors: every allocation starts at a vector boundary.
class VectorBuffer {
 public:
  void* resize(std::size_t bytes) {
    auto* start = raw_.resize(bytes + kVectorBytes);
    const auto address = reinterpret_cast<std::uintptr_t>(start);
    return start + (kVectorBytes - address % kVectorBytes) % kVectorBytes;
  }

 private:
  Buffer<unsigned char> raw_;
};

}  // namespace proofwood::trees
