// Two classes of many rows in lanes of 16 bits, block by block (docs/theory/optimal-trees.md, "Depth two"). A part of
// kernels_impl.hpp, which says how it is included.
namespace proofwood::trees::PROOFWOOD_ISA {
namespace {

// Two classes in blocks of rows. Within a block, s and the common sum are counted from its start in 16 bits; at its end
// the extremes are moved by what came before, in 32 bits. A block begins and ends where a segment ends, so that the
// extremes of an empty block, 0, are those of its start.
//
//   segment ends   |   |       |            |  ...  |        the third is longer than a block: it is summed up in
//   blocks         [           ][           ][ part ][ part  parts, and only its end counts
class Blocks {
 public:
  using T = std::int16_t;
  using L = Lanes<T>;
  using V = typename L::Vector;

  Blocks(const SortedRows& rows, const RowValues& values, StumpState& state)
      : rows_(rows), values_(values), state_(state), limit_(values.block) {
    for (int l = 0; l < L::count; ++l) state_.block_net[l] = 0;
  }

  void walk() {
    while (from_ < rows_.n) {
      const std::uint32_t to = last_end();
      if (to > from_) {
        block(to);
      } else {
        long_segment();
      }
    }
  }

 private:
  // Masks and weights of so many rows outgrow the caches near a core: they are fetched ahead.
  static constexpr std::uint32_t kFar = 1u << 18, kAhead = 64;

  const SortedRows& rows_;
  const RowValues& values_;
  StumpState& state_;
  const std::uint32_t limit_;
  std::uint32_t from_ = 0, segment_ = 0;  // position, and the first segment that ends after it
  std::int32_t all_ = 0;

  bool by_segments() const { return !rows_.every_row && rows_.is_end == nullptr; }

  // The last end of a segment in the next `limit_` rows; `from_` if there is none.
  std::uint32_t last_end() const {
    const std::uint32_t most = rows_.n - from_ < limit_ ? rows_.n : from_ + limit_;
    if (rows_.every_row || most == rows_.n) return most;
    std::uint32_t to = most;
    if (!by_segments()) {
      while (to > from_ && rows_.is_end[to - 1] == 0) --to;
      return to;
    }
    to = from_;
    for (std::uint32_t s = segment_; s < rows_.n_ends && rows_.ends[s] <= most; ++s) to = rows_.ends[s];
    return to;
  }

  // Moves to the end of a block.
  void close(std::uint32_t to, V s, V all, const V& max_low, const V& min_low, const V& max_high, const V& min_high) {
    for (int l = 0; l < L::count; ++l) {
      const std::int32_t low = state_.block_net[l], high = all_ - low;
      const auto note = [l](std::int32_t* most, std::int32_t* least, std::int32_t above, std::int32_t below) {
        if (above > most[l]) most[l] = above;
        if (below < least[l]) least[l] = below;
      };
      note(state_.block_max[0], state_.block_min[0], low + max_low[l], low + min_low[l]);
      note(state_.block_max[1], state_.block_min[1], high + max_high[l], high + min_high[l]);
      state_.block_net[l] += s[l];
    }
    all_ += all[0];
    from_ = to;
  }

  void block(std::uint32_t to) {
    V max_low{}, min_low{}, max_high{}, min_high{}, s{}, all{};
    const V bits = L::bits();
    const std::uint32_t* const order = rows_.order;
    const std::uint32_t* const mask = values_.mask;
    const T* const weight = static_cast<const T*>(values_.weight);
    const auto note = [&](V low, V high) __attribute__((always_inline)) {
      max_low = L::max(max_low, low);
      min_low = L::min(min_low, low);
      max_high = L::max(max_high, high);
      min_high = L::min(min_high, high);
    };
    const auto every_row = [&](auto fetch) __attribute__((always_inline)) {
      for (std::uint32_t i = from_; i < to; ++i) {
        const std::uint32_t row = order[i];
        if constexpr (decltype(fetch)::value) {
          const std::uint32_t later = order[i + kAhead < to ? i + kAhead : i];
          __builtin_prefetch(mask + later);
          __builtin_prefetch(weight + later);
        }
        const V w = L::splat(weight[row]);
        s += L::low(mask[row], bits) & w;
        all += w;
        note(s, all - s);
      }
    };
    if (rows_.every_row && rows_.n < kFar) {
      every_row(std::false_type{});
    } else if (rows_.every_row) {
      every_row(std::true_type{});
    } else if (rows_.is_end != nullptr) {
      V end_low{}, end_all{};
      for (std::uint32_t i = from_; i < to; ++i) {
        const std::uint32_t row = order[i];
        const V w = L::splat(weight[row]), end = L::splat(rows_.is_end[i]);
        s += L::low(mask[row], bits) & w;
        all += w;
        end_low += (s - end_low) & end;
        end_all += (all - end_all) & end;
        note(end_low, end_all - end_low);
      }
    } else {
      for (std::uint32_t i = from_; i < to; ++segment_) {
        for (const std::uint32_t end = rows_.ends[segment_]; i < end; ++i) {
          const std::uint32_t row = order[i];
          const V w = L::splat(weight[row]);
          s += L::low(mask[row], bits) & w;
          all += w;
        }
        note(s, all - s);
      }
    }
    close(to, s, all, max_low, min_low, max_high, min_high);
  }

  // A segment of more than a block, up to its end.
  void long_segment() {
    const V bits = L::bits();
    const T* const weight = static_cast<const T*>(values_.weight);
    const std::uint32_t start = from_;
    std::uint32_t end = start + limit_;
    if (by_segments()) {
      end = rows_.ends[segment_++];
    } else {
      while (rows_.is_end[end - 1] == 0) ++end;
    }
    std::int32_t low[L::count] = {};
    for (std::uint32_t i = start; i < end;) {
      V s{};
      for (const std::uint32_t stop = end - i < limit_ ? end : i + limit_; i < stop; ++i) {
        const std::uint32_t row = rows_.order[i];
        s += L::low(values_.mask[row], bits) & L::splat(weight[row]);
        all_ += weight[row];
      }
      for (int l = 0; l < L::count; ++l) low[l] += s[l];
    }
    for (int l = 0; l < L::count; ++l) state_.block_net[l] += low[l];
    const V none{};
    close(end, none, none, none, none, none, none);
  }
};

void begin_blocks(StumpState& state, bool) {
  for (int side = 0; side < 2; ++side)  // the empty prefix is the leaf
    for (int l = 0; l < kMaxLanes; ++l) state.block_max[side][l] = state.block_min[side][l] = 0;
}

void two_classes_in_blocks(const SortedRows& rows, const RowValues& values, StumpState& state) {
  Blocks(rows, values, state).walk();
}

void finish_blocks(const StumpState& state, bool, int lane, LaneResult& result) {
  for (int side = 0; side < 2; ++side) {
    const std::int64_t low = state.block_net[lane], net = side == 0 ? low : state.total - low;
    const std::int64_t up = 2 * std::int64_t{state.block_max[side][lane]} - net;
    const std::int64_t down = net - 2 * std::int64_t{state.block_min[side][lane]};
    result.leaf[side] = net < 0 ? -net : net;
    result.stump_all[side] = up > down ? up : down;
    result.stump[side] = -1;  // asked for only with a minimum of leaves
  }
}

}  // namespace
}  // namespace proofwood::trees::PROOFWOOD_ISA
