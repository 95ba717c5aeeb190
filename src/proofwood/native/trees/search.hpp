// Optimal trees by branch and bound over thresholds (Brita, van der Linden, Demirovic 2025; ConTree).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trees/bounds.hpp"
#include "trees/kernels.hpp"
#include "trees/rows.hpp"
#include "trees/stump_batch.hpp"

namespace proofwood::trees {

struct Settings {
  int max_depth = 3;
  Prices prices;
  Minimum minimum;
  i64 gap = 0;
  i64 start_upper = kInfinite;  // cost of a tree that the caller has
  bool bound_only = false;      // no trees are wanted but those cheaper than `start_upper`, at no depth
  int threads = 1;
  Rules rules;
  int isa = kBaseline, lane_bits = 0;
  bool canonical = true;
  double eta = 1e9;  // sides of depth two: how much of the distance to the interval's edges their bound allows
};

// A tree as the search knows it. The best stump or leaf of a set of rows is found again when the tree is written out.
struct Plan {
  enum Kind { kLeaf, kStump, kSplit } kind = kLeaf;
  u32 feature = 0, key = 0;  // rows with a key up to `key` go low
  std::shared_ptr<const Plan> low, high;
};
using PlanPtr = std::shared_ptr<const Plan>;
using ProfilePtr = std::shared_ptr<const Profile>;

struct Solved {
  i64 upper = kInfinite;   // cost of `plan`
  i64 lower = 0;           // of any permitted tree
  i64 relaxed = 0;         // of any tree, permitted or not: bounds between neighbours rest on it
  PlanPtr plan;
  ProfilePtr profile;
  bool stopped = false;
};

// What neighbouring subproblems learned: a profile, whether its rows are a subset, and the cost of rows it has beyond.
struct Import {
  const Profile* profile = nullptr;
  bool subset = false;
  i64 removed = 0;
};

struct Event {
  double seconds;
  i64 upper, lower;
};

struct TreeNode {
  int feature;    // column of the caller, -1 at a leaf
  double value;   // largest value that goes low
  int low, high;
};

enum Counter { kSubproblems, kCacheHits, kBatches, kCandidates, kRootSplits, kImported, kStumps, kCanonicalSplits, kAffordable, kCounters };
extern const char* const kCounterNames[kCounters];

class Search {
 public:
  Search(Table table, const Settings& settings, std::atomic<int>& stop);
  ~Search();
  void run();  // until done or stopped

  // Valid at any time, from any thread.
  Event state();
  std::vector<Event> events_since(std::size_t index);
  bool finished() const { return finished_.load(); }

  // After run().
  std::vector<TreeNode> tree() const;
  void forget() { decltype(cache_)().swap(cache_); }  // gives back the memory of the cache
  bool canonical() const { return canonical_; }
  i64 constant_cost() const { return constant_; }
  std::array<i64, kCounters> counters() const { return totals_; }

 private:
  struct Level;
  struct Worker;
  struct Task;
  struct Outcome;
  struct Node;
  friend struct Worker;

  void run_pool(Node& node, bool last);
  void work(Worker& worker, Node& node, bool last);
  void improve(i64 upper, PlanPtr plan);
  void report(i64 lower);
  PlanPtr canonical_root(Node& node);
  double seconds() const;

  Table table_;
  Rows root_;
  Settings settings_;
  std::atomic<int>& stop_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();

  std::mutex mutex_;
  std::condition_variable changed_;
  i64 upper_ = kInfinite, lower_ = 0, constant_ = 0;
  PlanPtr plan_;
  std::vector<Event> events_;
  std::atomic<bool> finished_{false};
  bool canonical_ = false;

  struct Entry {
    i64 upper, lower, relaxed;
    PlanPtr plan;
    ProfilePtr profile;
  };
  struct KeyHash {
    std::size_t operator()(const std::array<std::uint64_t, 3>& key) const { return key[0] ^ (key[2] * 0x9e3779b97f4a7c15u); }
  };
  std::mutex cache_mutex_;
  std::unordered_map<std::array<std::uint64_t, 3>, Entry, KeyHash> cache_;

  std::unique_ptr<Worker> main_;
  std::array<i64, kCounters> totals_{};
};

}  // namespace proofwood::trees
