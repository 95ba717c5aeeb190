// Lower bounds of very many splits of one set of rows (docs/decisions/0094-costs-of-gaps-and-columns.md).
#include "trees/coarse_stumps.hpp"

#include <algorithm>
#include <cstring>

namespace proofwood::trees {

namespace {

constexpr u32 kFewestFeatures = 512, kFewestRows = 1024;
constexpr u32 kMostRows = 1u << 14;  // sums fit in 16 bits
constexpr u32 kMany = 8;             // one row in so many

}  // namespace

bool CoarseStumps::serves(const Rows& rows) const {
  return settings_.rules.coarse && table_.unit && !table_.by_sums() && !settings_.minimum.any() &&
         table_.levels.empty() && table_.n_classes <= 2 && rows.n_features >= kFewestFeatures &&
         rows.n >= kFewestRows && rows.n <= kMostRows;
}

void CoarseStumps::begin(const Rows& rows) {
  unsigned char* const positive = positive_.resize(rows.n);
  int total = 0;
  for (u32 i = 0; i < rows.n; ++i) {
    positive[i] = table_.label[rows.row(i)] != 0;
    total += positive[i] ? 1 : -1;
  }
  state_.total = total;
  first_.assign(rows.n_features, 0);
  for (u32 f = 1; f < rows.n_features; ++f) {  // the first feature says what all rows have
    const u32 first = rows.boundary_from(f, 1);
    if (first >= rows.n / kMany && first < rows.n) first_[f] = first;
  }
}

// Bit by bit, of the side with fewer rows; then all bits of splits with fewer rows on the high side are turned.
const void* CoarseStumps::make_mask(const Rows& rows, const std::vector<Split>& splits) {
  const std::size_t bytes = room() / 8, entry = 2 * bytes;
  unsigned char* const mask = static_cast<unsigned char*>(mask_.resize(rows.n * entry));
  std::memset(mask, 0, rows.n * entry);
  std::array<unsigned char, kVectorBytes> turned{};
  for (std::size_t s = 0; s < splits.size(); ++s) {
    const auto [feature, position] = std::pair(splits[s].feature, splits[s].position);
    const u32* const order = rows.order(feature);
    const bool turn = position > rows.n / 2;
    const unsigned char bit = static_cast<unsigned char>(1u << (s % 8));
    if (turn) turned[s / 8] |= bit;
    for (u32 i = turn ? position : 0; i < (turn ? rows.n : position); ++i) mask[order[i] * entry + s / 8] |= bit;
  }
  for (u32 row = 0; row < rows.n; ++row) {
    unsigned char* const low = mask + row * entry;
    for (std::size_t b = 0; b < bytes; ++b) low[b] ^= turned[b];
    if (positive_.data()[row]) std::memcpy(low + bytes, low, bytes);
  }
  return mask;
}

bool CoarseStumps::run(Rows& rows, std::vector<Split>& splits) {
  const void* const mask = make_mask(rows, splits);
  std::memset(state_.most, 0, sizeof state_.most);  // the empty prefix
  std::memset(state_.least, 0, sizeof state_.least);
  for (u32 f = 0; f < rows.n_features; ++f) {
    if (stop_.load(std::memory_order_relaxed)) return false;
    if (rows.repeats(table_, f)) continue;
    const u32 first = first_[f];
    kernels_->walk_coarsely({rows.n - first, rows.order(f) + first, mask, positive_.data(), first}, state_);
  }
  for (std::size_t s = 0; s < splits.size(); ++s) {
    for (const int side : {0, 1}) {
      const i64 count = side == 0 ? splits[s].position : rows.n - splits[s].position;
      const i64 net = side == 0 ? state_.net[s] : state_.total - state_.net[s];
      const i64 value = std::max(2 * i64{state_.most[side][s]} - net, net - 2 * i64{state_.least[side][s]});
      splits[s].wrong[static_cast<std::size_t>(side)] = std::max<i64>(0, count - (count + value) / 2);
      splits[s].leaf[static_cast<std::size_t>(side)] = (count - std::abs(net)) / 2;
    }
  }
  return true;
}

}  // namespace proofwood::trees
