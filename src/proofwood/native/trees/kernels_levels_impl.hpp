// The stump kernels for columns tested by sets of levels (docs/theory/optimal-trees.md, "Sets of levels"). Part of
// kernels_impl.hpp. Rows come level by level; with the labels of both leaves fixed, each level goes to the leaf that it
// favours, so what a level classifies right is added up at its end.

namespace proofwood::trees::PROOFWOOD_ISA {
namespace {

// Two classes: a level with the signed weight s has (weight + |s|) / 2 right.
template <class T>
void two_classes_levels(const SortedRows& rows, const RowValues& values, StumpState& state) {
  using L = Lanes<T>;
  using V = typename L::Vector;
  const V bits = L::bits();
  const T* const weight = static_cast<const T*>(values.weight);
  V sum_low{}, sum_high{};
  for (std::uint32_t segment = 0, i = 0; segment < rows.n_ends; ++segment) {
    V s{}, all{};
    for (const std::uint32_t end = rows.ends[segment]; i < end; ++i) {
      const std::uint32_t row = rows.order[i];
      const V w = L::splat(weight[row]);
      s += L::low(values.mask[row], bits) & w;
      all += w;
    }
    const V high = all - s;
    sum_low += L::max(s, -s);
    sum_high += L::max(high, -high);
  }
  L::store(state.levels[0], L::max(L::load(state.levels[0]), sum_low));
  L::store(state.levels[1], L::max(L::load(state.levels[1]), sum_high));
}

// Many classes: for each pair of labels the sum over the levels of the heavier one.
template <class T>
void many_classes_levels(const SortedRows& rows, const RowValues& values, StumpState& state) {
  using L = Lanes<T>;
  using V = typename L::Vector;
  const V bits = L::bits();
  const T* const weight = static_cast<const T*>(values.weight);
  const std::uint32_t labels = values.n_labels, pairs = labels * (labels - 1) / 2;
  V* const tally = static_cast<V*>(values.scratch);  // 2 per label: low and high side
  V* const sums = tally + 2 * labels;                // 2 per pair of labels
  for (std::uint32_t pair = 0; pair < 2 * pairs; ++pair) sums[pair] = V{};
  for (std::uint32_t segment = 0, i = 0; segment < rows.n_ends; ++segment) {
    for (std::uint32_t c = 0; c < 2 * labels; ++c) tally[c] = V{};
    for (const std::uint32_t end = rows.ends[segment]; i < end; ++i) {
      const std::uint32_t row = rows.order[i];
      const V low = L::low(values.mask[row], bits), w = L::splat(weight[row]);
      V* const mine = tally + 2 * values.label[row];
      mine[0] += w & low;
      mine[1] += w & ~low;
    }
    V* to = sums;
    for (std::uint32_t a = 0; a < labels; ++a) {
      for (std::uint32_t b = a + 1; b < labels; ++b, to += 2) {
        to[0] += L::max(tally[2 * a], tally[2 * b]);
        to[1] += L::max(tally[2 * a + 1], tally[2 * b + 1]);
      }
    }
  }
  for (int side = 0; side < 2; ++side) {
    V best = L::load(state.best_all[side]);
    for (std::uint32_t pair = 0; pair < pairs; ++pair) best = L::max(best, sums[2 * pair + side]);
    L::store(state.best_all[side], best);
  }
}

}  // namespace
}  // namespace proofwood::trees::PROOFWOOD_ISA
