// Wishes in lanes, and what the walk finds (docs/theory/near-optimal-trees.md, "Counting stumps").
#include "trees/near/stump_finder.hpp"

#include <algorithm>
#include <limits>

namespace proofwood::trees::near {

namespace {

constexpr std::size_t kHits = 1 << 12;  // that a walk finds before they are passed on

i64 floor_half(i64 value) { return value >= 0 ? value / 2 : -((1 - value) / 2); }

}  // namespace

void StumpFinder::begin(Rows& rows) {
  StumpBatch::begin(rows, false);
  net_of_ = ~0u;
  ends_.resize(std::size_t{rows.n} * rows.n_features);
  is_end_.resize(rows.n);
  n_ends_.resize(rows.n_features);
  for (u32 f = 0; f < rows.n_features; ++f)
    n_ends_[f] =
        kernels->find_ends(rows.n, rows.key(f), kMixed, true, ends_.data() + std::size_t{f} * rows.n, is_end_.data())
            .n_ends;
  words_.resize(two ? 0 : 2 * std::size_t{rows.n});
  hits_.resize(kHits);
}

// Signed weights before each position, as the walk adds them.
void StumpFinder::add_up(Rows& rows, u32 feature) {
  if (net_of_ == feature) return;
  net_of_ = feature;
  u32 positive = 0;
  for (u32 c = 0; c < table.n_classes; ++c)
    if (rows.counts.class_weight[c] > 0) positive = c;
  net_before_.resize(rows.n + std::size_t{1});
  net_before_[0] = 0;
  const u32* const order = rows.order(feature);
  for (u32 i = 0; i < rows.n; ++i) {
    const u32 r = rows.row(order[i]);
    net_before_[i + 1] = net_before_[i] + (table.label[r] == positive ? table.weight[r] : -table.weight[r]);
  }
}

void StumpFinder::measure(Rows& rows, const std::vector<StumpsWanted>& wanted) {
  sides_.resize(wanted.size());
  for (std::size_t l = 0; l < wanted.size(); ++l) {
    const auto& [feature, position, most] = wanted[l];
    const i64 low = rows.weight_before(table, feature, position);
    i64 net = 0;
    if (two) {
      add_up(rows, feature);
      net = net_before_[position];
    }
    sides_[l] = {Side{low, net}, Side{rows.counts.weight - low, state.total - net}};
  }
}

template <class T>
void StumpFinder::wish_for(const std::vector<StumpsWanted>& wanted) {
  const std::size_t n = static_cast<std::size_t>(kernels->lanes);
  for (int side = 0; side < 2; ++side) {
    T* const from = reinterpret_cast<T*>(asked_.from[side]);
    T* const until = reinterpret_cast<T*>(asked_.until[side]);
    std::fill(from, from + n, std::numeric_limits<T>::max());  // more than any sum
    std::fill(until, until + n, std::numeric_limits<T>::min() / 2);
    for (std::size_t l = 0; l < wanted.size(); ++l) {
      const i64 most = wanted[l].most[static_cast<std::size_t>(side)];
      if (most < 0) continue;
      const auto [weight, net] = sides_[l][static_cast<std::size_t>(side)];
      // wrong = (weight - max(2 s - net, net - 2 s)) / 2 <= most
      from[l] = static_cast<T>(two ? -floor_half(-(weight - 2 * most + net)) : weight - most);
      until[l] = static_cast<T>(floor_half(net - weight + 2 * most));
    }
  }
}

void StumpFinder::pass_on(StumpWish& wish) {
  auto& asked = static_cast<Asked&>(wish);
  const std::size_t n = asked.finder->without_repeated(wish.hits, wish.n_hits);
  if (n > 0) asked.sink->take(asked.feature, wish.hits, n);
  wish.n_hits = 0;
}

std::size_t StumpFinder::without_repeated(StumpHit* hits, std::size_t n) const {
  if (every_view_ || !views_.may_repeat(asked_.feature)) return n;
  StumpHit* const end = std::remove_if(hits, hits + n, [&](const StumpHit& hit) { return repeated_.repeats(hit); });
  return static_cast<std::size_t>(end - hits);
}

bool StumpFinder::find(Rows& rows, const std::vector<StumpsWanted>& wanted, StumpSink& sink) {
  lanes.clear();
  for (const StumpsWanted& one : wanted) lanes.push_back({one.feature, one.position, -1});
  u32* const mask = static_cast<u32*>(mask_buffer.resize(rows.n * sizeof(u32)));
  make_mask(rows, mask);
  values.mask = mask;
  measure(rows, wanted);
  if (kernels->bits == 16)
    wish_for<std::int16_t>(wanted);
  else if (kernels->bits == 32)
    wish_for<std::int32_t>(wanted);
  else
    wish_for<i64>(wanted);
  asked_.hits = hits_.data();
  asked_.n_hits = 0;
  asked_.room = hits_.size();
  asked_.full = &pass_on;
  asked_.words = words_.data();
  asked_.finder = this;
  asked_.sink = &sink;
  repeated_.begin(rows, mask, *kernels, wanted.size());
  for (u32 f = 0; f < rows.n_features; ++f) {
    if (stopped()) return false;
    if (n_ends_[f] < 2) continue;
    const SortedRows sorted{rows.n, rows.order(f), ends_.data() + std::size_t{f} * rows.n, n_ends_[f], false, nullptr};
    asked_.feature = f;
    if (!every_view_) repeated_.take_feature(f);
    (two ? kernels->find_two_classes : kernels->find_many_classes)(sorted, values, asked_);
    pass_on(asked_);
  }
  return true;
}

}  // namespace proofwood::trees::near
