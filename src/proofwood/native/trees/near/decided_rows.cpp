// Along a feature, the stumps that give a class to their low leaf reach up to the last of them, and those that give it
// to their high leaf down to the first: two numbers decide for all rows (docs/theory/near-optimal-trees.md).
#include "trees/near/decided_rows.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "trees/near/side_walk.hpp"

namespace proofwood::trees::near {

namespace {

constexpr u32 kNever = ~0u;

u32 heaviest(const i64* weights, u32 n_classes) {  // the first of them, as leaves predict
  return static_cast<u32>(std::max_element(weights, weights + n_classes) - weights);
}

class Decided final : public StumpSink {
 public:
  Decided(NearSearch& search, SideWalk& walk, const PlacedRows& rows, std::vector<std::uint8_t>& possible)
      : search_(search),
        walk_(walk),
        given_(rows),
        possible_(possible),
        price_(search.prices().leaf),
        n_features_(search.table().n_features),
        n_classes_(search.table().n_classes) {}

  bool take_side(const SideTrees& side) {
    side_ = &side;
    before_of_ = kNever;
    gather();
    if (open_.empty()) return true;
    if (side.leaf_counts(price_, search_.budget())) {
      const u32 label = heaviest(side.rows.counts.class_weight.data(), n_classes_);
      for (std::size_t i = 0; i < open_.size(); ++i) flag_[label][i] = 1;
    }
    const bool whole = search_.depth() == 1 ? take_roots()
                                            : walk_.stumps(
                                                  side, *this, [&](std::size_t from, std::size_t n) { begin(from, n); },
                                                  [&](std::size_t from, std::size_t n) { end(from, n); });
    put_back();
    return whole;
  }

  void take(u32 feature, const StumpHit* hits, std::size_t n) override {
    if (!two_) {  // classes of leaves are counted afterwards
      for (std::size_t i = 0; i < n; ++i) hits_.push_back({hits[i].lane, hits[i].side, feature, hits[i].position});
      return;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t slot = 2 * std::size_t{hits[i].lane} + hits[i].side;
      const i64 low = hits[i].sum, high = net_[slot] - low;
      note(slot, feature, hits[i].position, low > 0 ? positive_ : negative_, high > 0 ? positive_ : negative_);
    }
  }

 private:
  struct Hit {
    u32 lane, side, feature, position;
    auto operator<=>(const Hit&) const = default;
  };

  // ---------------------------------------------------------------- rows

  // The rows that reach the side and lack a class, and their places.
  void gather() {
    open_.clear();
    for (std::size_t i = 0; i < given_.n; ++i) {
      const std::uint8_t* const known = possible_.data() + i * n_classes_;
      if (std::all_of(known, known + n_classes_, [](std::uint8_t p) { return p != 0; })) continue;
      if (side_->cut == nullptr || passes(search_.rows(), side_->cut->feature, side_->cut->position, side_->side, i))
        open_.push_back(i);
    }
    below_.resize(n_features_);
    until_.resize(n_features_);
    for (u32 f = 0; f < n_features_; ++f) {
      below_[f].resize(open_.size());
      until_[f].resize(open_.size());
      for (std::size_t i = 0; i < open_.size(); ++i) {
        below_[f][i] = given_.below[f][open_[i]];
        until_[f][i] = given_.until[f][open_[i]];
      }
    }
    flag_.resize(n_classes_);
    for (u32 c = 0; c < n_classes_; ++c) {
      flag_[c].resize(open_.size());
      for (std::size_t i = 0; i < open_.size(); ++i) flag_[c][i] = possible_[open_[i] * n_classes_ + c];
    }
  }
  bool passes(const Rows& rows, u32 feature, u32 position, std::size_t side, std::size_t i) const {
    const u32* const keys = rows.key(feature);
    return side == 0 ? given_.until[feature][i] <= keys[position] >> kLabelBits
                     : given_.below[feature][i] > keys[position - 1] >> kLabelBits;
  }
  void put_back() {
    for (u32 c = 0; c < n_classes_; ++c)
      for (std::size_t i = 0; i < open_.size(); ++i) possible_[open_[i] * n_classes_ + c] = flag_[c][i];
  }
  // Rows that have all classes are looked at no more.
  void thin_out() {
    std::size_t kept = 0;
    const auto has_all = [&](std::size_t i) {
      return std::all_of(flag_.begin(), flag_.end(), [i](const auto& of) { return of[i] != 0; });
    };
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (has_all(i)) {
        for (u32 c = 0; c < n_classes_; ++c) possible_[open_[i] * n_classes_ + c] = 1;
        continue;
      }
      open_[kept] = open_[i];
      for (u32 f = 0; f < n_features_; ++f) {
        below_[f][kept] = below_[f][i];
        until_[f][kept] = until_[f][i];
      }
      for (auto& of : flag_) of[kept] = of[i];
      ++kept;
    }
    open_.resize(kept);
  }

  // ---------------------------------------------------------------- stumps of some edges

  void begin(std::size_t from, std::size_t n) {
    from_ = from;
    hits_.clear();
    const ClassCounts& counts = side_->rows.counts;
    u32 present = 0;
    for (u32 c = 0; c < n_classes_; ++c)
      if (counts.class_weight[c] > 0) {
        negative_ = present == 0 ? c : negative_;
        positive_ = c;
        ++present;
      }
    two_ = present <= 2;
    last_low_.assign(2 * n * n_features_ * n_classes_, 0);
    first_high_.assign(2 * n * n_features_ * n_classes_, kNever);
    weights_.assign(2 * n * n_classes_, 0);
    net_.resize(2 * n);
    for (std::size_t lane = 0; lane < n; ++lane) weigh(lane);
  }
  // Class weights of both sides of an edge.
  void weigh(std::size_t lane) {
    const Edge& edge = side_->trees.edges[from_ + lane];
    add_up(edge.feature);
    for (u32 c = 0; c < n_classes_; ++c) {
      const i64 low = before_[std::size_t{edge.position} * n_classes_ + c];
      weights_[2 * lane * n_classes_ + c] = low;
      weights_[(2 * lane + 1) * n_classes_ + c] = side_->rows.counts.class_weight[c] - low;
    }
    for (const std::size_t slot : {2 * lane, 2 * lane + 1})
      net_[slot] = weights_[slot * n_classes_ + positive_] - weights_[slot * n_classes_ + negative_];
  }
  // Class weights of the first rows in the order of a feature.
  void add_up(u32 feature) {
    if (feature == before_of_) return;
    const Rows& rows = side_->rows;
    before_of_ = feature;
    before_.assign((rows.n + std::size_t{1}) * n_classes_, 0);
    const u32* const order = rows.order(feature);
    for (u32 i = 0; i < rows.n; ++i) {
      i64* const now = before_.data() + i * std::size_t{n_classes_};
      std::copy(now, now + n_classes_, now + n_classes_);
      const u32 r = rows.row(order[i]);
      now[n_classes_ + search_.table().label[r]] += search_.table().weight[r];
    }
  }
  void note(std::size_t slot, u32 feature, u32 position, u32 low, u32 high) {
    const std::size_t at = (slot * n_features_ + feature) * n_classes_;
    last_low_[at + low] = std::max(last_low_[at + low], position);
    first_high_[at + high] = std::min(first_high_[at + high], position);
  }

  void end(std::size_t from, std::size_t n) {
    if (!two_) count_classes();
    for (std::size_t lane = 0; lane < n; ++lane)
      for (const std::size_t side : {0, 1})
        if (!walk_.stopped()) take_lane(side_->trees.edges[from + lane], lane, side);
    thin_out();
  }
  // Of many classes: those of the leaves of each stump, by a walk for each lane, side and feature that has some.
  void count_classes() {
    std::sort(hits_.begin(), hits_.end());
    const Rows& rows = side_->rows;
    std::vector<i64> low(n_classes_), high(n_classes_);
    for (std::size_t h = 0; h < hits_.size() && !walk_.stopped();) {
      const Hit& first = hits_[h];
      const Edge& edge = side_->trees.edges[from_ + first.lane];
      const std::size_t slot = 2 * std::size_t{first.lane} + first.side;
      const u32* const order = rows.order(first.feature);
      std::fill(low.begin(), low.end(), 0);
      std::copy_n(weights_.begin() + static_cast<std::ptrdiff_t>(slot * n_classes_), n_classes_, high.begin());
      u32 i = 0;
      for (; h < hits_.size() && std::tie(hits_[h].lane, hits_[h].side, hits_[h].feature) ==
                                     std::tie(first.lane, first.side, first.feature);
           ++h) {
        for (; i < hits_[h].position; ++i) {
          const u32 r = rows.row(order[i]);
          if (is_low(edge, r) != (first.side == 0)) continue;
          low[search_.table().label[r]] += search_.table().weight[r];
          high[search_.table().label[r]] -= search_.table().weight[r];
        }
        note(slot, first.feature, hits_[h].position, heaviest(low.data(), n_classes_),
             heaviest(high.data(), n_classes_));
      }
    }
  }
  bool is_low(const Edge& edge, u32 row) const {
    return search_.table().rank[edge.feature][row] <= side_->rows.key(edge.feature)[edge.position - 1] >> kLabelBits;
  }

  // ---------------------------------------------------------------- classes of rows

  void take_lane(const Edge& edge, std::size_t lane, std::size_t side) {
    const std::size_t slot = 2 * lane + side;
    reach(edge, side);
    if (leaf_counts(edge, side)) {
      auto& flag = flag_[heaviest(weights_.data() + slot * n_classes_, n_classes_)];
      for (std::size_t i = 0; i < open_.size(); ++i) flag[i] |= here_[i];
    }
    take_stumps(slot, [&](u32 feature, u32 position) { return above(edge, side, feature, position); });
  }
  // `above(feature, position)`: rank of the value above a stump.
  void take_stumps(std::size_t slot, const auto& above) {
    for (u32 f = 0; f < n_features_; ++f)
      for (u32 c = 0; c < n_classes_; ++c) {
        const std::size_t at = (slot * n_features_ + f) * n_classes_ + c;
        if (last_low_[at] != 0) take_low(f, c, above(f, last_low_[at]));
        if (first_high_[at] != kNever) take_high(f, c, side_->rows.key(f)[first_high_[at] - 1] >> kLabelBits);
      }
  }
  void reach(const Edge& edge, std::size_t side) {
    here_.resize(open_.size());
    const u32* const keys = side_->rows.key(edge.feature);
    const u32 above = keys[edge.position] >> kLabelBits, below = keys[edge.position - 1] >> kLabelBits;
    const u32 *const until = until_[edge.feature].data(), *const before = below_[edge.feature].data();
    for (std::size_t i = 0; i < open_.size(); ++i) here_[i] = side == 0 ? until[i] <= above : before[i] > below;
  }
  void take_low(u32 feature, u32 label, u32 above) {
    const u32* const until = until_[feature].data();
    std::uint8_t* const flag = flag_[label].data();
    for (std::size_t i = 0; i < open_.size(); ++i) flag[i] |= static_cast<std::uint8_t>(here_[i] & (until[i] <= above));
  }
  void take_high(u32 feature, u32 label, u32 below) {
    const u32* const before = below_[feature].data();
    std::uint8_t* const flag = flag_[label].data();
    for (std::size_t i = 0; i < open_.size(); ++i) flag[i] |= static_cast<std::uint8_t>(here_[i] & (before[i] > below));
  }
  // Rank of the next value on this side of the edge.
  u32 above(const Edge& edge, std::size_t side, u32 feature, u32 position) const {
    const Rows& rows = side_->rows;
    const u32* const order = rows.order(feature);
    while (is_low(edge, rows.row(order[position])) != (side == 0)) ++position;
    return rows.key(feature)[position] >> kLabelBits;
  }
  // Whether a leaf on this side belongs to some tree with this root.
  bool leaf_counts(const Edge& edge, std::size_t side) const {
    const Part* const other = side_->trees.parts.data() + edge.at[1 - side];
    for (u32 i = 0; i < edge.n[1 - side]; ++i) {
      if (edge.leaf[side] + other[i].cost + price_ > side_->budget) return false;
      if (!(edge.dull && other[i].cost == edge.leaf[1 - side] && other[i].count == 1)) return true;
    }
    return false;
  }

  // Depth one: both sides of each root are leaves, and the root is the stump. False if stopped.
  bool take_roots() {
    last_low_.assign(std::size_t{n_features_} * n_classes_, 0);
    first_high_.assign(std::size_t{n_features_} * n_classes_, kNever);
    std::vector<i64> high(n_classes_);
    bool whole = true;
    for (const Edge& edge : side_->trees.edges) {
      whole = !walk_.stopped();
      if (!whole) break;
      add_up(edge.feature);
      const i64* const low = before_.data() + std::size_t{edge.position} * n_classes_;
      for (u32 c = 0; c < n_classes_; ++c) high[c] = side_->rows.counts.class_weight[c] - low[c];
      note(0, edge.feature, edge.position, heaviest(low, n_classes_), heaviest(high.data(), n_classes_));
    }
    here_.assign(open_.size(), 1);
    take_stumps(0, [&](u32 feature, u32 position) { return side_->rows.key(feature)[position] >> kLabelBits; });
    return whole;
  }

  NearSearch& search_;
  SideWalk& walk_;
  const PlacedRows& given_;
  std::vector<std::uint8_t>& possible_;
  const i64 price_;
  const u32 n_features_, n_classes_;
  const SideTrees* side_ = nullptr;
  std::vector<std::size_t> open_;                // rows
  std::vector<std::vector<u32>> below_, until_;  // of them, per feature
  std::vector<std::vector<std::uint8_t>> flag_;  // per class
  std::vector<std::uint8_t> here_;               // whether they reach a side of an edge
  std::size_t from_ = 0;
  bool two_ = true;
  u32 positive_ = 0, negative_ = 0;
  std::vector<u32> last_low_, first_high_;  // positions, per lane and side, feature, class
  std::vector<i64> weights_, net_;          // per lane and side
  std::vector<Hit> hits_;
  std::vector<i64> before_;
  u32 before_of_ = kNever;
};

}  // namespace

bool SideTrees::leaf_counts(i64 price, i64 whole_budget) const {
  if (trees.leaf >= kInfinite) return false;
  if (cut == nullptr) return true;
  for (const CostCount& other : cut->sides[1 - side].tally) {
    if (trees.leaf + other.cost + price > whole_budget) return false;
    if (!(cut->dull && other.cost == cut->leaf[1 - side] && other.count == 1)) return true;
  }
  return false;
}

bool decide_rows(NearSearch& search, const std::atomic<int>& stop, const PlacedRows& rows,
                 std::vector<std::uint8_t>& possible) {
  const u32 n_classes = search.table().n_classes;
  possible.assign(rows.n * n_classes, 0);
  if (search.leaf() < kInfinite) {
    const u32 label = heaviest(search.rows().counts.class_weight.data(), n_classes);
    for (std::size_t i = 0; i < rows.n; ++i) possible[i * n_classes + label] = 1;
  }
  if (search.depth() == 0) return true;
  SideWalk walk(search, stop, true);
  Decided decided(search, walk, rows, possible);
  return walk.run([&](const SideTrees& side) { return decided.take_side(side); });
}

}  // namespace proofwood::trees::near
