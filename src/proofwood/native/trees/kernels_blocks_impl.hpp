// Two classes in lanes of 8 or 16 bits, block by block (docs/theory/optimal-trees.md, "Depth two"). A part of
// kernels_impl.hpp, which says how it is included.
namespace proofwood::trees::PROOFWOOD_ISA {
namespace {

// Two classes in blocks of rows. Within a block, s and the common sum are counted from its start in narrow lanes, of
// type T; at its end the extremes are moved by what came before, in wide ones, of type S. A block holds as much weight
// as T does, and begins and ends anywhere; extremes are those at the ends of segments in it, if there are any.
template <class T, class S>
class Blocks {
 public:
  using L = Lanes<T>;
  using V = typename L::Vector;
  using W = WideLanes<T, S>;
  using Wide = typename W::Vector;
  static constexpr std::uint32_t kHeld = std::numeric_limits<T>::max();  // weight

  Blocks(const SortedRows& rows, const RowValues& values, StumpState& state)
      : rows_(rows), values_(values), state_(state), weight_(static_cast<const T*>(values.weight)) {
    for (int side = 0; side < 2; ++side) {
      const bool apart = rows.n_gap > 0 || rows.n_first > 0;
      most_[side] = apart ? Wide{} : W::load(state_.block_max[side]);
      least_[side] = apart ? Wide{} : W::load(state_.block_min[side]);
    }
  }

  void walk() {
    if (!rows_.every_row && rows_.is_end == nullptr)
      values_.heaviest == 1 ? segments<true>() : segments<false>();
    else
      while (from_ < rows_.n) block(held_from(from_));
    if (rows_.n_gap > 0) join_gap();
    if (rows_.n_first > 0) put_first();
    for (int side = 0; side < 2; ++side) {
      W::store(state_.block_max[side], most_[side]);
      W::store(state_.block_min[side], least_[side]);
    }
    W::store(state_.block_net, net_);
  }

 private:
  // Masks and weights of so many rows outgrow the caches near a core: they are fetched ahead.
  static constexpr std::uint32_t kFar = 1u << 18, kAhead = 64;

  const SortedRows& rows_;
  const RowValues& values_;
  StumpState& state_;
  const T* const weight_;
  std::uint32_t from_ = 0;  // position at which the block begins
  S all_ = 0;               // sum of signed weights up to there, and its part on the low side
  Wide net_{}, most_[2], least_[2];

  static std::uint32_t heavy(T weight) { return static_cast<std::uint32_t>(weight < 0 ? -weight : weight); }

  // The end of the block that begins at a position.
  PROOFWOOD_INLINE std::uint32_t held_from(std::uint32_t at) const {
    if (values_.heaviest == 1) return rows_.n - at < kHeld ? rows_.n : at + kHeld;
    for (std::uint32_t held = 0; at < rows_.n; ++at) {
      held += heavy(weight_[rows_.order[at]]);
      if (held > kHeld) break;
    }
    return at;
  }

  // Ends a block, in which a segment ended or did not.
  PROOFWOOD_INLINE void close(V s, T all, bool ended, const Extremes<T>& extremes) {
    if (ended) {
      const Wide before = Wide{} + all_ - net_;  // on the high side
      const auto note = [this](int side, Wide above, Wide below) __attribute__((always_inline)) {
        most_[side] = W::max(most_[side], above);
        least_[side] = W::min(least_[side], below);
      };
      note(0, net_ + W::widened(extremes.max_low), net_ + W::widened(extremes.min_low));
      note(1, before + W::widened(extremes.max_high), before + W::widened(extremes.min_high));
    }
    net_ += W::widened(s);
    all_ = static_cast<S>(all_ + all);
  }

  // As `two_views`.
  void join_gap() {
    const V bits = L::bits();
    Wide low{};
    S all = 0;
    for (std::uint32_t i = 0; i < rows_.n_gap;) {
      V s{};
      std::uint32_t held = 0;
      for (; i < rows_.n_gap; ++i) {
        const std::uint32_t row = rows_.gap[i];
        held += heavy(weight_[row]);
        if (held > kHeld) break;
        s = L::add_low(s, values_.mask[row], bits, L::splat(weight_[row]));
        all = static_cast<S>(all + weight_[row]);
      }
      low += W::widened(s);
    }
    net_ += low;
    const Wide of_side[2] = {low, Wide{} + all - low};
    for (int side = 0; side < 2; ++side) {
      most_[side] = W::max(W::load(state_.block_max[side]), most_[side] + W::max(of_side[side], Wide{}));
      least_[side] = W::min(W::load(state_.block_min[side]), least_[side] + W::min(of_side[side], Wide{}));
    }
  }

  // As `two_classes_after_first`.
  void put_first() {
    const Wide net = W::load(state_.block_net), low = net - net_;
    const Wide of_side[2] = {low, Wide{} + static_cast<S>(static_cast<S>(state_.total) - all_) - low};
    for (int side = 0; side < 2; ++side) {
      most_[side] = W::max(W::load(state_.block_max[side]), most_[side] + of_side[side]);
      least_[side] = W::min(W::load(state_.block_min[side]), least_[side] + of_side[side]);
    }
    net_ = net;
  }

  // Short segments.
  void block(std::uint32_t to) {
    Extremes<T> extremes;  // from the start of the block
    V s{}, all{};
    const V bits = L::bits();
    const std::uint32_t* const order = rows_.order;
    const std::uint32_t* const mask = values_.mask;
    const T* const weight = weight_;
    const auto every_row = [&](auto fetch) __attribute__((always_inline)) {
      for (std::uint32_t i = from_; i < to; ++i) {
        const std::uint32_t row = order[i];
        if constexpr (decltype(fetch)::value) {
          const std::uint32_t later = order[i + kAhead < rows_.n ? i + kAhead : i];
          __builtin_prefetch(mask + later);
          __builtin_prefetch(weight + later);
        }
        const V w = L::splat(weight[row]);
        s = L::add_low(s, mask[row], bits, w);
        all += w;
        extremes.note(s, all - s);
      }
    };
    bool ended = true;
    if (rows_.every_row && rows_.n < kFar) {
      every_row(std::false_type{});
    } else if (rows_.every_row) {
      every_row(std::true_type{});
    } else {  // the rows after the last end are summed up without a look at them
      std::uint32_t last = to, i = from_;
      while (last > from_ && rows_.is_end[last - 1] == 0) --last;
      ended = last > from_;
      V end_low{}, end_all{};
      bool first = true;
      for (; i < last; ++i) {
        const std::uint32_t row = order[i];
        const V w = L::splat(weight[row]), end = L::splat(static_cast<T>(rows_.is_end[i]));
        s = L::add_low(s, mask[row], bits, w);
        all += w;
        end_low += (s - end_low) & end;
        end_all += (all - end_all) & end;
        if (first && rows_.is_end[i] == 0) continue;
        first = false;
        extremes.note(end_low, end_all - end_low);
      }
      for (; i < to; ++i) {
        const V w = L::splat(weight[order[i]]);
        s = L::add_low(s, mask[order[i]], bits, w);
        all += w;
      }
    }
    close(s, all[0], ended, extremes);
    from_ = to;
  }

  // Long segments. Rows of unit weight need not be weighed one by one.
  template <bool kUnit>
  void segments() {
    const V bits = L::bits();
    const std::uint32_t* const order = rows_.order;
    const std::uint32_t* const mask = values_.mask;
    const T* const weight = weight_;
    Extremes<T> extremes;  // from the start of the block
    V s{}, all{};
    std::uint32_t held = 0, i = 0;
    bool ended = false;
    const auto next_block = [&]() __attribute__((always_inline)) {
      close(s, all[0], ended, extremes);
      extremes = {};
      s = all = V{};
      held = 0;
      ended = false;
    };
    for (std::uint32_t segment = 0; segment < rows_.n_ends; ++segment) {
      const std::uint32_t end = rows_.ends[segment];
      while (i < end) {
        std::uint32_t stop = end;
        if constexpr (kUnit) {
          if (held == kHeld) next_block();
          if (end - i > kHeld - held) stop = i + (kHeld - held);
          held += stop - i;
        }
        for (; i < stop; ++i) {
          const std::uint32_t row = order[i];
          if constexpr (!kUnit) {
            held += heavy(weight[row]);
            if (held > kHeld) {
              next_block();
              held = heavy(weight[row]);
            }
          }
          const V w = L::splat(weight[row]);
          s = L::add_low(s, mask[row], bits, w);
          all += w;
        }
      }
      extremes.note(s, all - s);
      ended = true;
    }
    close(s, all[0], ended, extremes);
  }
};

template <class S>
void begin_blocks(StumpState& state, bool) {
  for (int side = 0; side < 2; ++side)  // the empty prefix is the leaf
    for (unsigned i = 0; i < kMaxLanes * sizeof(S); ++i) state.block_max[side][i] = state.block_min[side][i] = 0;
}

template <class T, class S>
void two_classes_in_blocks(const SortedRows& rows, const RowValues& values, StumpState& state) {
  Blocks<T, S>(rows, values, state).walk();
}

template <class S>
void finish_blocks(const StumpState& state, bool, int lane, LaneResult& result) {
  const auto at = [lane](const unsigned char* from) {
    return static_cast<std::int64_t>(reinterpret_cast<const S*>(from)[lane]);
  };
  for (int side = 0; side < 2; ++side) {
    const std::int64_t low = at(state.block_net), net = side == 0 ? low : state.total - low;
    const std::int64_t up = 2 * at(state.block_max[side]) - net;
    const std::int64_t down = net - 2 * at(state.block_min[side]);
    result.leaf[side] = net < 0 ? -net : net;
    result.stump_all[side] = up > down ? up : down;
    result.stump[side] = -1;  // asked for only with a minimum of leaves
  }
}

}  // namespace
}  // namespace proofwood::trees::PROOFWOOD_ISA
