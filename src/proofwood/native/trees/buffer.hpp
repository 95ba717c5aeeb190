// Memory of the kernels and sets of rows: it is used again and is never initialised. Small memory only grows; large
// memory fits what it holds, for sets of many rows and columns are made of gigabytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "trees/kernels.hpp"

namespace proofwood::trees {

template <class T>
class Buffer {
 public:
  // What it held stays where `n` is that of the last call.
  T* resize(std::size_t n) {
    // Large memory is given back: a table of 50,000,000 values takes 2.9 times its size:
    // decisions/0023-fixed-cost-and-memory.
    constexpr std::size_t kLarge = (std::size_t{1} << 26) / sizeof(T);
    if (n > capacity_ || (capacity_ > kLarge && n < capacity_ - capacity_ / 4)) {
      data_.reset();
      capacity_ = 0;  // should there be no memory
      const std::size_t wanted = n + n / (n > kLarge ? 32 : 4);
      data_ = std::make_unique_for_overwrite<T[]>(wanted);
      capacity_ = wanted;
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
