// All splits of a set of rows below which trees may cost less than a limit: what searches with further conditions on a
// tree start from. The search without conditions tells it (solver.hpp).
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common/memory.hpp"
#include "trees/solver.hpp"

namespace proofwood::trees {

struct Split {
  u32 feature, position;
  i64 low, high;  // bounds of both sides
};

class SplitLists {
 public:
  using List = std::shared_ptr<const std::vector<Split>>;
  using Key = std::array<u64, 3>;  // of a set of rows and a depth
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return key[0] ^ (key[2] * 0x9e3779b97f4a7c15u); }
  };
  static Key key_of(const Rows& rows, int depth) { return {rows.hash[0], rows.hash[1], static_cast<u64>(depth)}; }
  static bool may_keep(std::size_t kept) { return kept < kMostKept && !memory_is_short(); }
  static Settings for_bounds(Settings settings);  // with the rules that hold for single splits

  SplitLists(const Table& table, const Settings& settings, std::atomic<int>& stop, TreeRun::Clock::time_point started)
      : shared_(table, settings, stop, started), solver_(shared_) {}

  // Lower bound of the trees of a depth; only those that cost less than `below` matter.
  i64 bound(Rows& rows, int depth, i64 below) { return solver_.solve(rows, depth, {.limit = below}).lower; }
  // Depth two or more: at least all splits of trees that cost less than `below`, those of the least bound first.
  List of(Rows& rows, int depth, i64 below);
  bool may_split_at(Rows& rows, u32 feature, u32 position) const {
    return shared_.may_split_at(rows, feature, position);
  }
  const std::atomic<int>& stop() const { return shared_.stop; }

 private:
  static constexpr std::size_t kMostKept = std::size_t{1} << 20;
  struct Known {
    i64 below = 0;
    List splits;
  };

  std::vector<Split> found(Rows& rows, int depth, i64 below);
  std::vector<Split> all(Rows& rows);

  Shared shared_;
  Solver solver_;
  std::unordered_map<Key, Known, KeyHash> known_;
};

}  // namespace proofwood::trees
