// A table of many small values by hashes of 128 bits, with little room besides: open addressing, in parts that grow one
// by one, so that growing never needs the room of all of it twice.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "common/integers.hpp"

namespace proofwood::trees {

struct MapKey {
  u64 first, second;  // well mixed
  bool operator==(const MapKey&) const = default;
};

template <class Kept>
class CompactMap {
 public:
  using Key = MapKey;

  std::size_t size() const { return size_; }
  void clear() {
    parts_ = {};
    size_ = 0;
  }
  Kept* find(Key key) {
    key.first |= kUsed;
    Part& part = part_of(key);
    if (part.slots.empty()) return nullptr;
    Slot& slot = part.slots[place(part, key)];
    return slot.holds(key) ? &slot.kept : nullptr;
  }
  Kept& operator[](Key key) {  // a new one, if it is not there
    key.first |= kUsed;
    Part& part = part_of(key);
    if (part.slots.empty() || part.used + 1 > part.slots.size() - part.slots.size() / 8) grow(part);
    Slot& slot = part.slots[place(part, key)];
    if (slot.is_empty()) {
      slot.set(key);
      ++part.used;
      ++size_;
    }
    return slot.kept;
  }

 private:
  static constexpr u64 kUsed = 1;  // of Key::first
  static constexpr int kPartBits = 7;
  static constexpr std::size_t kFirst = 16;
  struct Slot {
    std::array<u32, 4> halves{};  // of the key, so that small values are not padded
    Kept kept{};

    Key key() const {
      return {halves[0] | static_cast<u64>(halves[1]) << 32, halves[2] | static_cast<u64>(halves[3]) << 32};
    }
    void set(const Key& key) {
      halves = {static_cast<u32>(key.first), static_cast<u32>(key.first >> 32), static_cast<u32>(key.second),
                static_cast<u32>(key.second >> 32)};
    }
    bool is_empty() const { return (halves[0] & kUsed) == 0; }
    bool holds(const Key& other) const { return key() == other; }
  };
  struct Part {
    std::vector<Slot> slots;
    std::size_t used = 0;
  };

  Part& part_of(const Key& key) { return parts_[key.second >> (64 - kPartBits)]; }
  // Where the key is, or may be put.
  static std::size_t place(const Part& part, const Key& key) {
    const std::size_t room = part.slots.size();
    auto at = static_cast<std::size_t>(((key.second & 0xffffffffu) * room) >> 32);
    while (!part.slots[at].is_empty() && !part.slots[at].holds(key)) at = at + 1 == room ? 0 : at + 1;
    return at;
  }
  static void grow(Part& part) {
    Part larger;
    larger.used = part.used;
    larger.slots.resize(std::max(kFirst, part.slots.size() + part.slots.size() / 2));
    for (Slot& slot : part.slots)
      if (!slot.is_empty()) larger.slots[place(larger, slot.key())] = std::move(slot);
    part = std::move(larger);
  }

  std::array<Part, std::size_t{1} << kPartBits> parts_;
  std::size_t size_ = 0;
};

}  // namespace proofwood::trees
