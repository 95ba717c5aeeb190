// How much memory the process holds, and how much a search may let it hold.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <new>

namespace proofwood {

// Bytes of the process: in memory, of addresses, and of private data. -1: this system does not tell.
struct MemoryUse {
  std::int64_t resident = -1, addresses = -1, data = -1;
};
MemoryUse memory_use();

// Gives freed memory back to the system where the C library can.
void trim_memory();

enum MemoryState { kEnough = 0, kShort = 1, kFull = 2 };

// What a search that is started from this thread may reach: caches stop growing at `early`, the search ends at `most`.
struct MemoryCeiling {
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  MemoryUse early{kNone, kNone, kNone}, most{kNone, kNone, kNone};

  bool any() const { return most.resident != kNone || most.addresses != kNone || most.data != kNone; }
  MemoryState look() const;
};
MemoryCeiling& memory_ceiling();  // of the calling thread

// Searches whose memory is short. Memory is the process's, and so is this number: every cache may look at it.
inline std::atomic<int> short_of_memory{0};
inline bool memory_is_short() { return short_of_memory.load(std::memory_order_relaxed) > 0; }

// Counts its owner among the searches that are short of memory while it is told so.
class Shortage {
 public:
  Shortage() = default;
  Shortage(const Shortage&) = delete;
  Shortage& operator=(const Shortage&) = delete;
  ~Shortage() { set(false); }
  void set(bool now) {
    if (now != on_) short_of_memory.fetch_add(now ? 1 : -1);
    on_ = now;
  }

 private:
  bool on_ = false;
};

}  // namespace proofwood
