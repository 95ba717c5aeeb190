// The rows of the problem and of its subproblems, sorted once per feature; splitting keeps the order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/integers.hpp"
#include "trees/kernels.hpp"

namespace proofwood::trees {

// Memory that grows and is never initialised.
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

// A column's values as integers that keep their order: rank << kLabelBits | label, where label is the class of all
// rows of that value, or kMixed. Equal keys are equal values.
constexpr u32 kLabelBits = 6;
constexpr u32 kMixed = (1u << kLabelBits) - 1;

// The learning problem after preparation: rows of equal values merged, columns that say nothing new left out.
struct Table {
  u32 n_rows = 0, n_features = 0, n_classes = 0;
  std::vector<std::vector<u32>> key;          // per feature, per row
  std::vector<std::vector<double>> value;     // per feature, per rank: the value itself
  std::vector<u32> column;                    // per feature: column of the caller
  std::vector<std::uint16_t> label;           // per row
  std::vector<i64> weight;                    // per row, not negative
  std::vector<u32> count;                     // per row: rows of the caller
  std::vector<i64> mass;                      // per row: their weight, before opposite rows cancelled
  i64 constant = 0;                           // weight that every tree gets wrong: equal rows of opposite classes
  bool unit = true;                           // all weights and counts are 1
};

// What every leaf of a permitted tree holds.
struct Minimum {
  u32 rows = 1;
  i64 mass = 0;
  bool any() const { return rows > 1 || mass > 0; }
  bool met(u32 count, i64 weight) const { return count >= rows && weight >= mass; }
  template <class Set>
  bool may_split(const Set& set) const { return set.count >= 2 * std::uint64_t{rows} && set.mass >= 2 * mass; }
};

// `x` is (n, n_columns), row after row; `labels` in 0..n_classes-1. Returns false if `stop` was set meanwhile.
bool prepare(Table& table, const double* x, std::size_t n, std::size_t n_columns, const int* labels, const i64* weights,
             u32 n_classes, bool merge, bool keep_counts, int threads, const std::atomic<int>& stop);

// A set of rows. Arrays are (n_features, n), features one after the other.
class Rows {
 public:
  u32 n = 0, n_features = 0;
  i64 weight = 0;                  // of all rows
  u32 count = 0;                   // unweighted rows
  i64 mass = 0;                    // weight before opposite rows cancelled
  std::vector<i64> class_weight;   // per class
  std::uint64_t hash[2] = {0, 0};  // of the set of rows

  void start(const Table& table);
  // Splits after the first `position` rows in the order of `feature`. False if stopped.
  bool split(const Table& table, u32 feature, u32 position, Rows& low, Rows& high, Buffer<u32>& scratch,
             const std::atomic<int>& stop) const;

  const u32* order(u32 feature) const { return order_.data() + std::size_t{feature} * n; }
  const u32* key(u32 feature) const { return key_.data() + std::size_t{feature} * n; }
  u32 row(u32 local) const { return row_[local]; }
  i64 heaviest_class() const;
  bool is_boundary(u32 feature, u32 position) const { return key(feature)[position - 1] != key(feature)[position]; }
  // Nearest boundary at or after, or n; at or before, or 0. A boundary is a position between two distinct values.
  u32 boundary_from(u32 feature, u32 position) const;
  u32 boundary_until(u32 feature, u32 position) const;
  u32 position_of(u32 feature, u32 key, u32 from, u32 to) const;  // number of rows with a key up to `key`

  // Sum of the weights of the first `position` rows in the order of `feature`.
  i64 weight_before(const Table& table, u32 feature, u32 position) {
    return table.unit ? position : prefix(table, feature)[position];
  }
  u32 position_at_weight(const Table& table, u32 feature, u32 from, i64 weight);  // first position > from of at least this
  // Unweighted rows and mass of the first `position` rows.
  std::pair<u32, i64> held_before(const Table& table, u32 feature, u32 position);
  const u32* column(u32 feature);                       // key per local row
  SortedRows sorted(u32 feature, bool all_boundaries, bool two_classes);

 private:
  const i64* prefix(const Table& table, u32 feature);
  void forget();

  Buffer<u32> order_, key_, row_;
  Buffer<u32> column_, ends_, counts_;
  Buffer<i64> prefix_, masses_;
  Buffer<std::int16_t> is_end_;
  std::vector<unsigned char> have_column_, have_prefix_, have_ends_, have_counts_, short_;
  std::vector<u32> n_ends_;
};

// Best stump by one scalar walk per feature: the reference beside the kernels.
struct Stump {
  i64 right = -1;       // weight classified right; -1: no permitted stump
  i64 right_all = -1;   // the same without the minimum of leaves
  u32 feature = 0, position = 0;  // smallest that attains `right`
};
Stump best_stump(const Table& table, const Rows& rows, const Minimum& minimum, const std::atomic<int>& stop);

}  // namespace proofwood::trees
