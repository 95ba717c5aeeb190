// The search for lower bounds by blocks of rows (docs/theory/optimal-trees.md, "Blocks"): what to do next at a node,
// and doing it. The bounds themselves are in block_node.hpp.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "trees/block_node.hpp"
#include "trees/shared.hpp"
#include "trees/solver.hpp"

namespace proofwood::trees {

constexpr u32 kBlocks = 4;                   // per feature at first
constexpr u64 kForFirstBound = 250'000'000;  // work until a bound is more than 0, at most
constexpr double kLongSearch = 2e9;  // work from which on bounds by blocks are worth a share of it: about 5 seconds

class BlockSearch {
 public:
  // `rows` stay where they are; trees have up to `depth` levels, three or more, and no minimum of leaves. `blocks`: of
  // each feature at first.
  BlockSearch(Shared& outer, Rows& rows, int depth, u32 blocks = kBlocks);

  // Work is rows times features walked over, as in Counter::kWork. `free` is allowed now, and from now on `share` of
  // what the main search does.
  void allow(i64 free, double share);
  // The main search begins with a depth, and the depth before took so much work. `last`: a deeper one will not follow.
  void begin_depth(i64 before, bool last);
  // Does what is allowed after so much more work of the main search, which has closed this share of its thresholds,
  // and reports each higher bound. Any thread may call. Returns what is known then, or nothing if there was nothing to
  // do or another thread is at it.
  Floors keep_pace(u64 searched, double closed);
  // What is known of each threshold of `rows`; for when no other thread is at work.
  Floors floors() const;
  bool bounds() const { return bounded_; }  // all rows by more than 0
  bool says_little() const;
  u64 work() const { return work_.load(std::memory_order_relaxed); }

 private:
  double pace(double done, double closed);
  u32 blocks_of(const BlockNode& node, const Rows& rows) const;
  // What could be done at the weakest place of a node.
  struct Step {
    enum Kind { kNone, kRaise, kJoin, kCut } kind = kNone;
    int piece = -1, other = -1;
    double gain = 0, work = 1;
    double rate() const { return gain / work; }
  };
  // What steps of a kind have gained, as a share of what they began with.
  struct Learned {
    double raise = 0.25, join = 0.12, cut = 0.35;
  };

  void begin(BlockNode& node, Rows& rows, int depth);
  void work_on(BlockNode& node, Rows& rows, u64 until, bool report);
  void refresh(BlockNode& node) const;
  int weakest_feature(const BlockNode& node) const;
  bool begin_feature(BlockNode& node, Rows& rows, u32 feature);
  Step choose(const BlockNode& node, const Rows& rows, const Blocks& blocks) const;
  Step raise_step(const BlockNode& node, const Blocks& blocks, int piece) const;
  Step cut_step(const BlockNode& node, const Rows& rows, const Blocks& blocks) const;
  void take(BlockNode& node, Rows& rows, u32 feature, const Step& step);
  bool cut(BlockNode& node, Rows& rows, u32 feature);
  void join(BlockNode& node, Rows& rows, u32 feature, const Step& step);
  void solve_pieces(BlockNode& node, Rows& rows, u32 feature, const std::vector<int>& pieces, u64 work);
  void solve_levels(BlockNode& node, Rows& rows, u32 feature, const std::vector<int>& pieces, u64 work);
  Solution solve_bottom(Rows& rows, int gap_shift);
  void solve_piece(int depth, Piece& piece, Rows& rows, u64 work);
  const LevelColumn& column_of(u32 feature) const { return outer_.table.levels[feature - outer_.table.n_features]; }
  std::vector<u32> rows_of_levels(const Rows& rows, const LevelColumn& column) const;
  i64 share_of_price(const Rows& rows) const;
  bool ended() const { return full_ || work_ >= limit_ || outer_.stopped(); }

  Shared& outer_;
  Settings settings_;  // of the bottom: no minimum of leaves, the share of the price
  Shared shared_;
  Solver solver_;
  Rows& rows_;
  const u32 n_blocks_;
  BlockNode root_;
  std::vector<std::vector<std::unique_ptr<Rows>>> buffers_;  // per depth: rows of pieces
  std::vector<Learned> learned_;                             // per depth of the node
  Buffer<u32> scratch_;
  std::mutex busy_;
  std::atomic<u64> work_{0};
  std::atomic<bool> bounded_{false};
  u64 limit_ = 0;  // work at which all ends, also the first pass over the features of a piece
  u64 pieces_ = 0;
  bool full_ = false;  // the memory, or what may be used of it
  std::mutex pace_;    // of what follows
  double allowed_ = 0, share_ = 0, searched_ = 0;
  double before_ = 0, of_depth_ = 0;  // work of the depth before; of this one, unless it is the last
  double expected_ = 0, early_ = 0;   // what the main search will probably take at least; what was allowed for it
};

}  // namespace proofwood::trees
