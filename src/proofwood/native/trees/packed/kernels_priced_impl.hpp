// Part of kernels_impl.hpp: best stumps with what trees of three leaves cost at least, where leaves have a price
// (docs/theory/optimal-trees.md, "No depth").

// One leaf of a tree of three stands alone on its side of the first split; the two others share the other side.
template <class M, bool kTwo, bool kMinimum>
struct Alone {
  using C = Cells<M>;
  using V = typename C::Vector;
  const Judge<M, kTwo, kMinimum>& judge;
  const M* weight;  // of tests, by cell
  M all;
  V least, twice;
  M* holds;
  M* fails;

  Alone(const Judge<M, kTwo, kMinimum>& of, const Best& leaf, std::int64_t least_right)
      : judge(of),
        weight(of.single + of.layers.weight * of.stride),
        all(static_cast<M>(of.all[of.layers.weight])),
        least(C::splat(least_right)),
        twice(C::splat(2 * least_right)),
        holds(static_cast<M*>(leaf.holds)),
        fails(static_cast<M*>(leaf.fails)) {
    for (u32 at = 0; at < of.stride; at += C::count) {
      C::store(holds + at, C::splat(no_leaf(sizeof(M))));
      C::store(fails + at, C::splat(no_leaf(sizeof(M))));
    }
  }
  PROOFWOOD_INLINE static V right_of(V weight, V right) { return kTwo ? (weight + right) >> 1 : right; }
  // Either of two leaves, the other one being split again.
  PROOFWOOD_INLINE V either(V right_a, V weight_a, V right_b, V weight_b) const {
    const V none = C::splat(no_leaf(sizeof(M)));
    const V a = (right_a >= least) & (weight_b >= twice), b = (right_b >= least) & (weight_a >= twice);
    return C::max(a != 0 ? right_a - weight_a : none, b != 0 ? right_b - weight_b : none);
  }
  PROOFWOOD_INLINE void look(const typename Judge<M, kTwo, kMinimum>::Right& right, V pairs, u32 cell_i, u32 at,
                             Roots<M>& roots) const {
    const Quarters<M> of(pairs, weight[cell_i], C::load(weight + at), all);
    const V both = right_of(of.both, right.both), first = right_of(of.first, right.first),
            second = right_of(of.second, right.second), none = right_of(of.none, right.none);
    roots.holds = C::max(roots.holds, either(both, of.both, first, of.first));
    roots.fails = C::max(roots.fails, either(second, of.second, none, of.none));
    C::store(holds + at, C::max(C::load(holds + at), either(both, of.both, second, of.second)));
    C::store(fails + at, C::max(C::load(fails + at), either(first, of.first, none, of.none)));
  }
};

template <class M, bool kTwo, bool kMinimum>
void priced_of(const Layers& layers, u32 n_tests, u32 stride, const Sums& sums, const Best& best, const Best& leaf,
               std::int64_t least) {
  using C = Cells<M>;
  using V = typename C::Vector;
  const Judge<M, kTwo, kMinimum> judge(layers, stride, sums, best);
  const Alone<M, kTwo, kMinimum> alone(judge, leaf, least);
  const M* const pairs = static_cast<const M*>(sums.pairs);
  const std::size_t layer_size = std::size_t{n_tests} * stride;
  const V none = C::splat(no_leaf(sizeof(M)));
  V of_layers[kMostLayers];
  BlockRoots<M> best_block, leaf_block;
  for (u32 from = 0; from < n_tests; from += kTogether) {
    best_block.clear();
    for (u32 k = 0; k < kTogether; ++k) leaf_block.holds[k] = leaf_block.fails[k] = none;
    for (u32 i = from; i < n_tests && i < from + kTogether; ++i) {
      Roots<M> of_best, of_leaf;
      of_leaf.holds = of_leaf.fails = none;
      const u32 cell = C::cell_of(i);
      for (u32 at = from; at < stride; at += C::count) {
        for (u32 layer = 0; layer < layers.n_layers; ++layer)
          of_layers[layer] = C::load(pairs + layer * layer_size + std::size_t{i} * stride + at);
        const auto right = judge.right(of_layers, 1, cell, at);
        judge.look(right, of_layers, 1, cell, at, of_best);
        alone.look(right, of_layers[layers.weight], cell, at, of_leaf);
      }
      best_block.set(cell, of_best);
      leaf_block.set(cell, of_leaf);
    }
    best_block.add_to(from, judge.holds, judge.fails);
    leaf_block.add_to(from, alone.holds, alone.fails);
  }
}

template <class M>
void priced(const Layers& layers, u32 n_tests, u32 stride, const Sums& sums, const Best& best, const Best& leaf,
            std::int64_t least) {
  const auto run = layers.two ? (layers.minimum ? &priced_of<M, true, true> : &priced_of<M, true, false>)
                              : (layers.minimum ? &priced_of<M, false, true> : &priced_of<M, false, false>);
  run(layers, n_tests, stride, sums, best, leaf, least);
}
