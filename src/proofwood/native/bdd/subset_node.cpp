// Branch and bound over sets of tests: the nodes, their bounds, and the order in which children are visited.
//
// Theory: docs/theory/decision-diagrams.md, "Choosing the tests: branch and bound over sets".
// The problem is that of Hu, Huguet, Siala, AAAI 2022 (MaxSAT-BDD); the search is ours.
// A child adds a test and may later add only tests that come after it. The bounds are proved in subset_bounds.cpp.
//
//   {}            tests 0, 1, 2, 3 may follow, three at most
//   |- {0}        1, 2, 3 may follow
//   |- {1}        2, 3
//   |- {2}        3
//   '- {3}        nothing; where two tests or fewer may follow, all sets are counted at once (last_tests.cpp)
#include <algorithm>
#include <limits>
#include <numeric>

#include "bdd/worker.hpp"

namespace proofwood::bdd {

Search::Worker::Worker(Search& given)
    : search(given),
      table(given.table_),
      kernels(given.kernels_),
      rules(given.settings_.rules),
      nodes(given.settings_.size + 2),
      counters(kCounters, 0) {}

// ---------------------------------------------------------------------------------------------------------- nodes

namespace {

// Appends one cell if it is impure: what no further test can improve is forgotten.
void add_cell(const Table& table, const std::vector<u32>& items, Node& node) {
  i64 total = 0, heaviest = 0, of_class = 0;
  u32 label = ~0u;
  for (const u32 i : items) {
    const Item& item = table.items[i];
    if (item.label != label) of_class = 0;
    label = item.label;
    of_class += item.weight;
    heaviest = std::max(heaviest, of_class);
    total += item.weight - item.fixed;
  }
  if (total == heaviest) return;
  node.items.insert(node.items.end(), items.begin(), items.end());
  node.ends.push_back(static_cast<u32>(node.items.size()));
  node.excess.push_back(total - heaviest);
  node.error += total - heaviest;
}

}  // namespace

void Search::Worker::start(Node& root) const {
  root = Node{};
  root.floor = std::numeric_limits<i64>::max();
  root.left = std::min(search.settings_.size, table.tests);
  std::vector<u32> all(table.items.size());
  std::iota(all.begin(), all.end(), 0u);
  add_cell(table, all, root);
  root.candidates.resize(table.tests);
  std::iota(root.candidates.begin(), root.candidates.end(), 0u);
}

void Search::Worker::begin(Node& root) const {
  start(root);
  for (const u32 test : search.settings_.forced) {
    Node child;
    refine(root, test, child);
    child.floor = root.floor;
    child.candidates = std::move(root.candidates);
    root = std::move(child);
  }
  std::erase_if(root.candidates, [&](u32 test) { return test < search.settings_.first; });
}

void Search::Worker::refine(const Node& parent, u32 test, Node& child) const {
  child.left = parent.left == 0 ? 0 : parent.left - 1;
  child.chosen = parent.chosen;
  child.chosen.push_back(test);
  child.items.clear();
  child.ends.clear();
  child.excess.clear();
  child.error = 0;
  std::vector<u32> side[2];
  const auto split = [&](const auto& high) {
    u32 begin = 0;
    for (const u32 end : parent.ends) {
      side[0].resize(end - begin);
      side[1].resize(end - begin);
      u32 *low_end = side[0].data(), *high_end = side[1].data();
      for (u32 i = begin; i < end; ++i) {
        const u32 item = parent.items[i];
        const bool up = high(table.group_of[item]);
        *low_end = *high_end = item;  // one of the two is overwritten or cut off
        low_end += !up;
        high_end += up;
      }
      side[0].resize(static_cast<std::size_t>(low_end - side[0].data()));
      side[1].resize(static_cast<std::size_t>(high_end - side[1].data()));
      add_cell(table, side[0], child);
      add_cell(table, side[1], child);
      begin = end;
    }
  };
  if (table.by_rank)
    split([rank = table.ranks.data() + table.column_of[test] * std::size_t{table.groups},
           cut = table.cut_of[test]](u32 g) { return rank[g] > cut; });
  else
    split([column = table.column(test)](u32 g) { return (column[g / 64] >> (g % 64) & 1) != 0; });
}

// ---------------------------------------------------------------------------------------------------------- bounds

namespace {

// The greatest sum of r covers if `cover` must be among them, for n covers with the sum `top` of the r largest.
struct TopWith {
  TopWith(const i64* covers, std::size_t n, u32 r, std::vector<i64>& largest) : top(top_sum(covers, n, r, largest)) {
    const bool full = largest.size() == r && r > 0;
    without = full ? top - largest.back() : top;
    entry = full ? largest.back() : std::numeric_limits<i64>::min();
  }
  i64 operator()(i64 cover) const { return cover >= entry ? top : without + cover; }
  i64 top, without = 0, entry = 0;
};

}  // namespace

// "Matching and coverage bound"; leaves the matching in use and what each candidate covers of it.
i64 Search::Worker::bound_by_matching(Node& node) {
  match(node, *node.given);
  if (table.by_rank) return rank_cover(node);
  pack_matches(node);
  return choose_prefix(node);
}

// Another matching is worth its time where many sets are below.
bool Search::Worker::another_matching_pays(const Node& node) const {
  double below = 1;
  for (u32 i = 0; i < node.left; ++i) below *= static_cast<double>(node.candidates.size()) / (i + 1);
  const double price = static_cast<double>(node.edges.size() + 1) * (8 * table.words + 100);
  return below > 4 * price;
}

// "Reweighting the matching": the bound of another matching, whose pairs avoid the tests that the bound suffers from.
// The better of the two stays in use; the order of the edges is kept for the children.
i64 Search::Worker::bound_by_reweighting(Node& node) {
  const i64 size = node.size;
  const u32 words = node.words;
  const std::vector<i64> cover = node.cover;
  std::vector<i64> largest;
  const i64 before = size - top_sum(cover.data(), node.candidates.size(), node.left, largest);
  std::vector<u64> packed = node.packed;
  std::vector<std::uint8_t> shift = node.shift;
  std::vector<Match> matches = node.matches;
  reweight(node);
  match(node, node.edges);
  pack_matches(node);
  const i64 now = choose_prefix(node);
  if (now < before) {
    node.size = size;
    node.words = words;
    node.cover = cover;
    node.packed.swap(packed);
    node.shift.swap(shift);
    node.matches.swap(matches);
  }
  return now;
}

// "Elimination": drops the tests that no set below can take without reaching the cut-off, and orders the others, the
// largest cover first.
void Search::Worker::eliminate(Node& node) {
  std::vector<i64> largest;
  std::vector<u32> slots;
  const TopWith top(node.cover.data(), node.candidates.size(), node.left, largest);
  for (u32 s = 0; s < node.candidates.size(); ++s) {
    const i64 bound = node.size - top(node.cover[s]);
    if (rules.matching && rules.elimination && bound >= search.upper()) {
      node.floor = std::min(node.floor, bound);
      ++counters[kByElimination];
    } else {
      slots.push_back(s);
    }
  }
  const bool by_cover = !search.settings_.collect;
  std::sort(slots.begin(), slots.end(), [&](u32 x, u32 y) {
    if (by_cover && node.cover[x] != node.cover[y]) return node.cover[x] > node.cover[y];
    return node.candidates[x] < node.candidates[y];
  });
  if (rules.matching && !table.by_rank) {
    keep(node, slots);
    return;
  }
  std::vector<u32> tests;
  std::vector<i64> cover;
  for (const u32 s : slots) tests.push_back(node.candidates[s]), cover.push_back(node.cover[s]);
  node.candidates.swap(tests);
  node.cover.swap(cover);
}

// "Overlap of two tests": the same with pairs that two tests both separate counted once. Of two tests with covers 5 and
// 4 that share 3 pairs, the second adds 1 to the first.
void Search::Worker::eliminate_by_overlap(Node& node) {
  constexpr u32 kMostShared = 2048;  // the table of overlaps has k * k entries
  const auto k = static_cast<u32>(node.candidates.size());
  if (!rules.matching || !rules.overlap || table.by_rank || k == 0 || k > kMostShared) {
    node.shared.clear();
    return;
  }
  count_shared(node);
  std::vector<i64> rest(k), largest;
  std::vector<u32> slots;
  for (u32 s = 0; s < k; ++s) {
    for (u32 t = 0; t < k; ++t) rest[t] = t == s ? 0 : node.cover[t] - node.shared_by(s, t);
    const i64 with = node.size - node.cover[s] - top_sum(rest.data(), k, node.left - 1, largest);
    if (rules.elimination && with >= search.upper()) {
      node.floor = std::min(node.floor, with);
      ++counters[kByOverlap];
    } else {
      slots.push_back(s);
    }
  }
  if (slots.size() == k) return;
  const u32 old = node.stride;
  keep(node, slots);
  const std::size_t kept = slots.size();
  std::vector<i64> shared(kept * node.stride, 0);
  for (std::size_t s = 0; s < kept; ++s)
    for (std::size_t t = 0; t < kept; ++t)
      shared[s * node.stride + t] = node.shared[static_cast<std::size_t>(slots[s]) * old + slots[t]];
  node.shared.swap(shared);
}

// Weight of the pairs that two candidates both separate, for any two.
void Search::Worker::count_shared(Node& node) {
  const auto k = static_cast<u32>(node.candidates.size());
  const std::size_t stride = node.stride;
  const Packed bits{node.packed.data(), node.stride, node.words, table.unit ? nullptr : node.shift.data()};
  node.shared.resize(k * stride);
  for (u32 s = 0; s < k; ++s) kernels.overlap(bits, s, s, k, node.shared.data() + s * stride);
  for (u32 s = 0; s < k; ++s)
    for (u32 t = s + 1; t < k; ++t) node.shared[t * stride + s] = node.shared[s * stride + t];
}

// "Bounds of the children": one for each, by the largest covers that follow; returns the least of them. 0 if the search
// has stopped.
i64 Search::Worker::bound_children(Node& node, i64 bound) {
  const auto k = static_cast<u32>(node.candidates.size());
  const u32 r = node.left;
  node.child_bound.assign(k, bound);
  if (table.by_rank) return bound_rank_children(node, bound);
  std::vector<i64> rest, largest;
  i64 least = search.upper();
  for (u32 s = 0; s < k; ++s) {
    if (search.stopped()) return 0;
    rest.clear();
    // without overlaps the candidates are in descending order of cover, but for collect
    const u32 end = node.shared.empty() && !search.settings_.collect ? std::min(k, s + r) : k;
    for (u32 t = s + 1; t < end; ++t) rest.push_back(node.cover[t] - node.shared_by(s, t));
    node.child_bound[s] =
        std::max(bound, node.size - node.cover[s] - top_sum(rest.data(), rest.size(), r - 1, largest));
    least = std::min(least, node.child_bound[s]);
  }
  return std::min(least, node.error);
}

// The same over ranks, from the last candidate to the first: `after` has the largest covers that follow.
i64 Search::Worker::bound_rank_children(Node& node, i64 bound) {
  const u32 r = node.left;
  i64 least = search.upper();
  std::vector<i64> after;
  i64 sum = 0;
  for (u32 s = static_cast<u32>(node.candidates.size()); s-- > 0;) {
    node.child_bound[s] = std::max(bound, node.size - node.cover[s] - sum);
    least = std::min(least, node.child_bound[s]);
    if (r == 1) continue;
    after.insert(std::upper_bound(after.begin(), after.end(), node.cover[s], std::greater<>()), node.cover[s]);
    sum += node.cover[s];
    if (after.size() >= r) {
      sum -= after.back();
      after.pop_back();
    }
  }
  return std::min(least, node.error);
}

// Bounds a node by one rule after the other: matching and coverage, reweighting, elimination,
// overlaps, children. Without the two rules on overlaps and on elimination, children are still cut off by the largest
// covers that follow.
i64 Search::Worker::expand(Node& node) {
  ++counters[kNodes];
  i64 bound = 0;
  if (rules.matching) {
    bound = bound_by_matching(node);
    if (rules.reweighting && !table.by_rank && bound < search.upper() && another_matching_pays(node))
      bound = std::max(bound, bound_by_reweighting(node));
    if (bound >= search.upper()) {
      ++counters[kByMatching];
      return bound;
    }
  } else {
    cover_nothing(node);
  }
  if (search.stopped()) return bound;
  eliminate(node);
  eliminate_by_overlap(node);
  return bound_children(node, bound);
}

// Without a matching: any order of the candidates, bounds 0.
void Search::Worker::cover_nothing(Node& node) const {
  node.size = 0;
  node.stride = (static_cast<u32>(node.candidates.size()) + kSlotStep - 1) / kSlotStep * kSlotStep;
  node.cover.assign(node.stride, 0);
  node.words = 0;
}

// ---------------------------------------------------------------------------------------------------------- children

bool Search::Worker::descend(const Node& node, u32 slot, Node& child) {
  if (node.child_bound[slot] >= search.upper()) {
    ++counters[kByOverlap];
    return false;
  }
  const auto k = static_cast<u32>(node.candidates.size());
  child.candidates.clear();
  child.inherited.clear();
  child.inherited_size = node.size - node.cover[slot];
  child.floor = std::numeric_limits<i64>::max();
  const u32 r = node.left - 1;  // tests after this one
  std::vector<i64> largest;
  std::vector<i64>& rest = line_;
  rest.clear();
  for (u32 t = slot + 1; t < k; ++t) rest.push_back(node.cover[t] - node.shared_by(slot, t));
  const TopWith top(rest.data(), rest.size(), r, largest);
  for (u32 t = slot + 1; t < k; ++t) {
    const i64 cover = rest[t - slot - 1];
    const i64 best = top(cover);
    if (rules.matching && rules.elimination && child.inherited_size - best >= search.upper()) {
      child.floor = std::min(child.floor, child.inherited_size - best);
      ++counters[kByElimination];
      continue;
    }
    child.candidates.push_back(node.candidates[t]);
    child.inherited.push_back(cover);
  }
  // Every set with a test more is ruled out, and so is the one without: it errs no less.
  if (child.candidates.empty() && slot + 1 < k) return false;
  refine(node, node.candidates[slot], child);
  child.given = &node.edges;
  child.given_matches = &node.matches;
  return true;
}

// "Similarity bound between siblings": moving a row to another cell changes the error by at most its weight, so the
// sets that take `other` cost at least what those that take `test` cost, less the weight on which the two differ. In a
// cell they may be opposite: the side of the first row decides. True if they differ on a weight of `most` or less.
bool Search::Worker::differ_at_most(const Node& node, u32 test, u32 other, i64 most) const {
  i64 differ = 0;
  u32 begin = 0;
  for (const u32 end : node.ends) {
    bool opposite = false;
    for (u32 i = begin; i < end; ++i) {
      const Item& item = table.items[node.items[i]];
      const bool apart = table.high(item.group, test) != table.high(item.group, other);
      if (i == begin) opposite = apart;
      if (apart == opposite) continue;
      differ += item.weight;
      if (differ > most) return false;
    }
    begin = end;
  }
  return true;
}

void Search::Worker::found(i64 error, Set chosen) {
  if (!search.settings_.collect) {
    search.offer(error, chosen);
    return;
  }
  auto& sets = search.collected_[task];
  if (sets.size() >= search.settings_.max_sets) {
    search.gathered_all_ +=
        search.settings_.max_sets + 1 - search.gathered_[task].exchange(search.settings_.max_sets + 1);
    return;
  }
  std::sort(chosen.begin(), chosen.end());
  sets.push_back(std::move(chosen));
  search.gathered_[task] = sets.size();
  ++search.gathered_all_;
}

// Every way to add up to `left` of `tests` from number `from` on, in lexicographic order; none can err.
i64 Search::Worker::collect_all(const Node& node, const std::vector<u32>& tests, std::size_t from, u32 left,
                                Set& chosen) {
  if (left == 0) return 0;
  for (std::size_t i = from; i < tests.size() && !search.surplus(task) && !search.stopped(); ++i) {
    chosen.push_back(tests[i]);
    found(0, chosen);
    collect_all(node, tests, i + 1, left - 1, chosen);
    chosen.pop_back();
  }
  return 0;
}

// Returns a bound on the error of every set that the node can still become, itself included.
i64 Search::Worker::visit(Node& node, u32 depth) {
  if (search.stopped()) return 0;
  const bool collect = search.settings_.collect;
  if (node.error < search.upper()) found(node.error, node.chosen);
  if (node.left == 0 || node.candidates.empty()) return node.error;
  if (node.error == 0) {
    Set chosen = node.chosen;
    std::vector<u32> tests = node.candidates;
    std::sort(tests.begin(), tests.end());
    return collect ? collect_all(node, tests, 0, node.left, chosen) : 0;
  }
  if (table.by_rank && node.left == 1) return std::min(rank_leaf(node), node.floor);
  if (!table.by_rank && node.left <= 2) return std::min(leaf(node), node.error);
  const i64 bound = expand(node);
  if (bound >= search.upper() || search.stopped()) return bound;
  return visit_children(node, depth);
}

i64 Search::Worker::visit_children(Node& node, u32 depth) {
  i64 least = std::min(search.upper(), node.error);
  std::vector<Finished> finished;
  const bool cuts = table.by_rank && rules.similarity;
  std::vector<i64> below;
  std::vector<bool> ruled_out(cuts ? table.raw_begin.back() : 0, false);  // by a cut of the same column
  if (cuts) weigh_ranks(node, below);
  for (u32 s = 0; s < node.candidates.size() && !search.stopped(); ++s) {
    if (search.settings_.collect && search.surplus(task)) return 0;
    if (node.child_bound[s] >= search.upper()) {
      ++counters[kByOverlap];
      continue;
    }
    const u32 test = node.candidates[s];
    if (pruned_by_similarity(node, test, finished) || (cuts && ruled_out[table.raw_of[test]])) {
      ++counters[kBySimilarity];
      continue;
    }
    Node& child = nodes[depth + 1];
    if (!descend(node, s, child)) continue;
    const i64 bound = std::min(visit(child, depth + 1), child.floor);
    least = std::min(least, bound);
    if (bound < search.upper() || !rules.similarity) continue;
    if (cuts)
      table.each_cut_in_neighbourhood(below, test, bound - search.upper(),
                                      [&](std::size_t place) { ruled_out[place] = true; });
    else
      remember(finished, {test, bound});
  }
  return search.stopped() ? 0 : std::min(least, search.upper());
}

// Whether the similarity bound of a finished sibling says that no set that takes `test` gets below the incumbent.
bool Search::Worker::pruned_by_similarity(const Node& node, u32 test, const std::vector<Finished>& finished) const {
  return rules.similarity && std::any_of(finished.begin(), finished.end(), [&](const Finished& one) {
           return one.bound >= search.upper() && differ_at_most(node, one.test, test, one.bound - search.upper());
         });
}

// The finished children of the highest bounds, of which most can be said of others.
void Search::Worker::remember(std::vector<Finished>& finished, const Finished& one) {
  constexpr std::size_t kRemembered = 2;
  if (finished.size() == kRemembered)
    finished.erase(std::min_element(finished.begin(), finished.end(),
                                    [](const Finished& x, const Finished& y) { return x.bound < y.bound; }));
  finished.push_back(one);
}

}  // namespace proofwood::bdd
