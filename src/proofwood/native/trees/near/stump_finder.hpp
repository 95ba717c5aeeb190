// Finds all stumps that are good enough on the sides of many splits of one set of rows, in one walk over the features:
// the batched walk of depth two, which keeps more than the best (docs/theory/near-optimal-trees.md, "Counting stumps").
#pragma once

#include <array>
#include <vector>

#include "trees/near/column_views.hpp"
#include "trees/stump_batch.hpp"

namespace proofwood::trees::near {

// Of the splits of a batch and their sides. `most`: greatest weight that the two leaves of a stump may get wrong;
// kNone where no stump is wanted.
constexpr i64 kNone = -1;
struct StumpsWanted {
  u32 feature, position;
  std::array<i64, 2> most;
};

class StumpSink {
 public:
  StumpSink() = default;
  StumpSink(const StumpSink&) = delete;
  StumpSink& operator=(const StumpSink&) = delete;
  virtual ~StumpSink() = default;
  // Some stumps of a feature, in any order; `StumpFinder::wrong` says what they get wrong.
  virtual void take(u32 feature, const StumpHit* hits, std::size_t n) = 0;
};

// Memory of one thread. `begin` takes a set of rows, `find` up to `room` splits of it.
class StumpFinder : private StumpBatch {
 public:
  // With `every_view`, stumps that divide rows alike by several views of a column are all found.
  StumpFinder(const Table& of, const Minimum& least, int instruction_set, int bits, const std::atomic<int>& stop_flag,
              const ColumnViews& views, bool every_view = false)
      : StumpBatch(of, least, instruction_set, bits, stop_flag, false),
        views_(views),
        repeated_(views),
        every_view_(every_view) {}

  void begin(Rows& rows);
  std::size_t room() const { return static_cast<std::size_t>(kernels->lanes); }
  bool find(Rows& rows, const std::vector<StumpsWanted>& wanted, StumpSink& sink);  // false if stopped
  i64 wrong(const StumpHit& hit) const {
    const Side& side = sides_[hit.lane][hit.side];
    if (!two) return side.weight - hit.sum;
    return (side.weight - std::max(2 * hit.sum - side.net, side.net - 2 * hit.sum)) / 2;
  }

 private:
  struct Side {
    i64 weight, net;  // net: of two classes, sum of signed weights
  };
  template <class T>
  void wish_for(const std::vector<StumpsWanted>& wanted);
  void measure(Rows& rows, const std::vector<StumpsWanted>& wanted);
  void add_up(Rows& rows, u32 feature);
  static void pass_on(StumpWish& wish);
  std::size_t without_repeated(StumpHit* hits, std::size_t n) const;

  struct Asked : StumpWish {
    StumpFinder* finder;
    StumpSink* sink;
    u32 feature;
  };
  Asked asked_{};
  const ColumnViews& views_;
  RepeatedStumps repeated_;
  const bool every_view_;
  std::vector<StumpHit> hits_;
  std::vector<std::array<Side, 2>> sides_;
  std::vector<u32> ends_, n_ends_, words_;  // of all features; ends where values differ
  std::vector<std::int16_t> is_end_;
  std::vector<i64> net_before_;  // of the first rows in the order of `net_of_`
  u32 net_of_ = ~0u;
};

}  // namespace proofwood::trees::near
