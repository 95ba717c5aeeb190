// What is known of the subproblems of the search over row sets, and the table that finds them by their rows.
//
// Theory: docs/theory/minimal-trees.md, "Search: dynamic programming over row sets". The problem is that of Avellaneda,
// AAAI 2020 (InferDT); the search is ours.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "minimal/minimal.hpp"

namespace proofwood::minimal {

// Depth of the flattest tree of so many leaves.
inline int log2_up(int leaves) { return leaves <= 1 ? 0 : std::bit_width(static_cast<unsigned>(leaves - 1)); }

struct AtDepth {                   // f_d of one set and depth
  int lower = 0, upper = kNoTree;  // lower 0: not yet looked at
  int test = -1;                   // root of the tree of `upper` leaves
};

struct Subproblem {  // a set that is not pure; its words follow in memory
  u64 hash;
  AtDepth* by_depth;  // by depth; made when leaves are counted
  int depth_test;     // root of the tree of depth `depth_upper`; -1: that came from elsewhere
  int depth_lower, depth_upper;
  int leaves_lower;  // at any depth
  int size;
  bool two;      // one test is enough
  bool bounded;  // the clique and packing bounds are in
};

// Sets with what is known of them, in memory that only grows; equal sets are one subproblem.
class SubproblemCache {
 public:
  SubproblemCache(int words, std::size_t limit)
      : bytes_(at(words) * sizeof(u64)), limit_(limit), table_(1 << 12, nullptr) {}

  u64* words(Subproblem* entry) const { return reinterpret_cast<u64*>(entry + 1); }

  Subproblem* find(const u64* set, u64 hash) const {
    const std::size_t mask = table_.size() - 1;
    for (std::size_t i = hash & mask; table_[i] != nullptr; i = (i + 1) & mask)
      if (table_[i]->hash == hash && std::memcmp(words(table_[i]), set, bytes_) == 0) return table_[i];
    return nullptr;
  }

  Subproblem* add(const u64* set, u64 hash) {  // nullptr: out of memory
    auto* raw = allocate(sizeof(Subproblem) + bytes_);
    if (raw == nullptr) return nullptr;
    auto* entry = new (raw) Subproblem{hash, nullptr, -1, 0, kNoTree, 2, 0, false, false};
    std::memcpy(words(entry), set, bytes_);
    if (2 * ++count_ > table_.size()) grow();
    place(entry);
    return entry;
  }

  void* allocate(std::size_t size) {
    size = (size + 7) / 8 * 8;
    if (size > left_) {
      const std::size_t block = std::max<std::size_t>(size, 1 << 18);
      if (used_ + block + 16 * table_.size() > limit_) return nullptr;
      blocks_.push_back(std::make_unique_for_overwrite<u64[]>(block / 8));
      used_ += block;
      next_ = reinterpret_cast<char*>(blocks_.back().get());
      left_ = block;
    }
    void* result = next_;
    next_ += size;
    left_ -= size;
    return result;
  }

 private:
  void place(Subproblem* entry) {
    const std::size_t mask = table_.size() - 1;
    std::size_t i = entry->hash & mask;
    while (table_[i] != nullptr) i = (i + 1) & mask;
    table_[i] = entry;
  }
  void grow() {
    std::vector<Subproblem*> old(2 * table_.size(), nullptr);
    old.swap(table_);
    for (Subproblem* entry : old)
      if (entry != nullptr) place(entry);
  }

  std::size_t bytes_, limit_, used_ = 0, left_ = 0, count_ = 0;
  std::vector<Subproblem*> table_;
  std::vector<std::unique_ptr<u64[]>> blocks_;
  char* next_ = nullptr;
};

}  // namespace proofwood::minimal
