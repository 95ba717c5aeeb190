// Branch and bound over sets of tests: a child adds a test and may later add only tests that come after it.
#include "bdd/subset.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "bdd/worker.hpp"
#include "common/threads.hpp"

namespace proofwood::bdd {

Search::Worker::Worker(Search& given)
    : search(given), table(given.table_), kernels(given.kernels_), rules(given.settings_.rules), nodes(given.settings_.size + 2),
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
    split([rank = table.ranks.data() + table.column_of[test] * std::size_t{table.groups}, cut = table.cut_of[test]](u32 g) { return rank[g] > cut; });
  else
    split([column = table.column(test)](u32 g) { return (column[g / 64] >> (g % 64) & 1) != 0; });
}

// Without the two rules on overlaps and on elimination, children are still cut off by the largest covers that follow.
i64 Search::Worker::expand(Node& node) {
  ++counters[kNodes];
  const bool collect = search.settings_.collect;
  constexpr std::size_t kFewTests = 24;  // more tell nearly all rows apart
  i64 bound = 0;
  if (rules.equivalent_points && !table.by_rank && node.candidates.size() <= std::max<std::size_t>(kFewTests, table.tests / 8)) {
    bound = equivalent_points(node);
    if (bound >= search.upper()) {
      ++counters[kByEquivalent];
      return bound;
    }
  }
  const auto plain = [&] {  // no matching: any candidate order, bounds 0
    node.size = 0;
    node.stride = (static_cast<u32>(node.candidates.size()) + kSlotStep - 1) / kSlotStep * kSlotStep;
    node.cover.assign(node.stride, 0);
    node.words = 0;
  };
  if (!rules.matching) {
    plain();
  } else {
    match(node, *node.given);
    if (table.by_rank) {
      bound = std::max(bound, rank_cover(node));
    } else {
      pack_matches(node);
      bound = std::max(bound, choose_prefix(node));
    }
    // Rounds are worth it where many sets are below.
    double below = 1;
    for (u32 i = 0; i < node.left; ++i) below *= static_cast<double>(node.candidates.size()) / (i + 1);
    const double price = static_cast<double>(node.edges.size() + 1) * (8 * table.words + 100);
    const u32 rounds = !rules.reweighting || table.by_rank || bound >= search.upper() ? 0 : below > 4 * price ? 1 : 0;
    Node best;
    for (u32 round = 0; round < rounds && bound < search.upper(); ++round) {
      const i64 size = node.size;
      const u32 words = node.words;
      const std::vector<i64> cover = node.cover;
      std::vector<i64> largest;
      const i64 before = size - top_sum(cover.data(), node.candidates.size(), node.left, largest);
      std::vector<u64> packed = node.packed;
      std::vector<std::uint8_t> shift = node.shift;
      std::vector<Match> matches = node.matches;
      reweight(node, round);
      match(node, node.edges);
      pack_matches(node);
      const i64 now = choose_prefix(node);
      bound = std::max(bound, now);
      if (now < before) {  // the older matching stays in use, the order of the edges is kept for the children
        node.size = size;
        node.words = words;
        node.cover = cover;
        node.packed.swap(packed);
        node.shift.swap(shift);
        node.matches.swap(matches);
      }
    }
    if (bound >= search.upper()) {
      ++counters[kByMatching];
      return bound;
    }
  }

  const u32 r = node.left;
  std::vector<i64> largest;
  std::vector<u32> slots;
  {
    const i64 top = top_sum(node.cover.data(), node.candidates.size(), r, largest);
    const i64 without = largest.size() == r ? top - largest.back() : top;
    const i64 entry = largest.size() == r ? largest.back() : std::numeric_limits<i64>::min();
    for (u32 s = 0; s < node.candidates.size(); ++s) {
      const i64 best = node.cover[s] >= entry ? top : without + node.cover[s];
      if (rules.matching && rules.elimination && node.size - best >= search.upper()) {
        node.floor = std::min(node.floor, node.size - best);
        ++counters[kByElimination];
      } else {
        slots.push_back(s);
      }
    }
  }
  std::sort(slots.begin(), slots.end(), [&](u32 x, u32 y) {
    if (!collect && node.cover[x] != node.cover[y]) return node.cover[x] > node.cover[y];
    return node.candidates[x] < node.candidates[y];
  });
  if (rules.matching && !table.by_rank) {
    keep(node, slots);
  } else {
    std::vector<u32> tests;
    std::vector<i64> cover;
    for (const u32 s : slots) tests.push_back(node.candidates[s]), cover.push_back(node.cover[s]);
    node.candidates.swap(tests);
    node.cover.swap(cover);
  }

  constexpr u32 kMostShared = 2048;  // the table of overlaps has k * k entries
  auto k = static_cast<u32>(node.candidates.size());
  if (rules.matching && rules.overlap && !table.by_rank && k > 0 && k <= kMostShared) {
    const auto fill = [&] {
      const Packed bits{node.packed.data(), node.stride, node.words, table.unit ? nullptr : node.shift.data()};
      node.shared.resize(static_cast<std::size_t>(k) * node.stride);
      for (u32 s = 0; s < k; ++s) kernels.overlap(bits, s, s, k, node.shared.data() + static_cast<std::size_t>(s) * node.stride);
      for (u32 s = 0; s < k; ++s)
        for (u32 t = s + 1; t < k; ++t) node.shared[static_cast<std::size_t>(t) * node.stride + s] = node.shared[static_cast<std::size_t>(s) * node.stride + t];
    };
    fill();
    slots.clear();
    std::vector<i64> rest(k);
    for (u32 s = 0; s < k; ++s) {
      for (u32 t = 0; t < k; ++t) rest[t] = t == s ? 0 : node.cover[t] - node.shared[static_cast<std::size_t>(s) * node.stride + t];
      const i64 with = node.size - node.cover[s] - top_sum(rest.data(), k, r - 1, largest);
      if (rules.elimination && with >= search.upper()) {
        node.floor = std::min(node.floor, with);
        ++counters[kByOverlap];
      } else {
        slots.push_back(s);
      }
    }
    if (slots.size() < k) {
      const u32 old = node.stride;
      keep(node, slots);
      k = static_cast<u32>(slots.size());
      std::vector<i64> shared(static_cast<std::size_t>(k) * node.stride, 0);
      for (u32 s = 0; s < k; ++s)
        for (u32 t = 0; t < k; ++t) shared[static_cast<std::size_t>(s) * node.stride + t] = node.shared[static_cast<std::size_t>(slots[s]) * old + slots[t]];
      node.shared.swap(shared);
    }
  } else {
    node.shared.clear();
  }

  node.child_bound.assign(k, bound);
  std::vector<i64> rest;
  i64 least = search.upper();
  if (table.by_rank) {  // from the last to the first; the largest covers that follow
    std::vector<i64> after;
    i64 sum = 0;
    for (u32 s = k; s-- > 0;) {
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
  for (u32 s = 0; s < k; ++s) {
    if (search.stopped()) return 0;
    rest.clear();
    // without overlaps the candidates are in descending order of cover, but for collect
    const u32 end = node.shared.empty() && !collect ? std::min(k, s + r) : k;
    for (u32 t = s + 1; t < end; ++t)
      rest.push_back(node.cover[t] - (node.shared.empty() ? 0 : node.shared[static_cast<std::size_t>(s) * node.stride + t]));
    node.child_bound[s] = std::max(bound, node.size - node.cover[s] - top_sum(rest.data(), rest.size(), r - 1, largest));
    least = std::min(least, node.child_bound[s]);
  }
  return std::min(least, node.error);
}

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
  for (u32 t = slot + 1; t < k; ++t)
    rest.push_back(node.cover[t] - (node.shared.empty() ? 0 : node.shared[static_cast<std::size_t>(slot) * node.stride + t]));
  const i64 top = top_sum(rest.data(), rest.size(), r, largest);
  const i64 without = largest.size() == r && r > 0 ? top - largest.back() : top;
  const i64 entry = largest.size() == r && r > 0 ? largest.back() : std::numeric_limits<i64>::min();
  for (u32 t = slot + 1; t < k; ++t) {
    const i64 cover = rest[t - slot - 1];
    const i64 best = cover >= entry ? top : without + cover;
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

// Similarity: moving a row to another cell changes the error by at most its weight, so the sets that take `other` cost at
// least what those that take `test` cost, less the weight of the rows that the two treat differently. In a cell they may
// be opposite: the side of the first row decides.
bool Search::Worker::similar(const Node& node, u32 test, u32 other, i64 most) const {
  i64 differ = 0;
  u32 begin = 0;
  for (const u32 end : node.ends) {
    bool opposite = false;
    for (u32 i = begin; i < end; ++i) {
      const Item& item = table.items[node.items[i]];
      const bool apart = table.high(item.group, test) != table.high(item.group, other);
      if (i == begin) opposite = apart;
      if (apart != opposite && (differ += item.weight) > most) return false;
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
    search.gathered_all_ += search.settings_.max_sets + 1 - search.gathered_[task].exchange(search.settings_.max_sets + 1);
    return;
  }
  std::sort(chosen.begin(), chosen.end());
  sets.push_back(std::move(chosen));
  search.gathered_[task] = sets.size();
  ++search.gathered_all_;
}

// Every way to add up to `left` of `tests` from number `from` on, in lexicographic order; none can err.
i64 Search::Worker::collect_all(const Node& node, const std::vector<u32>& tests, std::size_t from, u32 left, Set& chosen) {
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
  if (bound >= search.upper()) return bound;
  return visit_children(node, depth);
}

i64 Search::Worker::visit_children(Node& node, u32 depth) {
  constexpr std::size_t kRemembered = 2;
  i64 least = std::min(search.upper(), node.error);
  struct Done {
    u32 test;
    i64 bound;
  };
  std::vector<Done> done;  // children finished with a bound of at least upper()
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
    if (rules.similarity && std::any_of(done.begin(), done.end(), [&](const Done& d) {
          return d.bound >= search.upper() && similar(node, d.test, node.candidates[s], d.bound - search.upper());
        })) {
      ++counters[kBySimilarity];
      continue;
    }
    const u32 test = node.candidates[s];
    if (cuts && ruled_out[table.raw_of[test]]) {
      ++counters[kBySimilarity];
      continue;
    }
    Node& child = nodes[depth + 1];
    if (!descend(node, s, child)) continue;
    const i64 bound = std::min(visit(child, depth + 1), child.floor);
    least = std::min(least, bound);
    if (cuts && bound >= search.upper()) {
      const u32 column = table.column_of[test], at = table.raw_of[test];
      const i64 spare = bound - search.upper();
      for (u32 p = at; p-- > table.raw_begin[column] && below[at] - below[p] <= spare;) ruled_out[p] = true;
      for (u32 p = at + 1; p < table.raw_begin[column + 1] && below[p] - below[at] <= spare; ++p) ruled_out[p] = true;
    } else if (rules.similarity && !cuts && bound >= search.upper()) {
      if (done.size() == kRemembered) done.erase(std::min_element(done.begin(), done.end(), [](const Done& x, const Done& y) { return x.bound < y.bound; }));
      done.push_back({node.candidates[s], bound});
    }
  }
  return search.stopped() ? 0 : std::min(least, search.upper());
}

// ---------------------------------------------------------------------------------------------------------- search

Search::Search(Table&& given, const Settings& settings, std::atomic<int>& stop)
    : table_(std::move(given)), settings_(settings), stop_(stop), kernels_(*subset_kernels(settings.isa)),
      started_(std::chrono::steady_clock::now()), upper_(settings.upper), counters_(kCounters, 0) {
  settings_.size = std::min(settings_.size, table_.tests);
}

void Search::run() {
  if (settings_.rules.matching && settings_.size > 1) {
    if (table_.by_rank)
      add_rank_edges(table_, settings_.neighbours, stop_);
    else
      add_edges(table_, settings_.neighbours, kernels_, stop_);
    index_edges(table_);
  }
  Worker first(*this);
  Node& root = first.nodes[0];
  first.start(root);
  root.given = &table_.edges;
  collected_.resize(1);
  gathered_ = std::vector<std::atomic<std::size_t>>(1);
  if (!settings_.collect && settings_.rules.greedy && !stopped()) first.greedy();
  greedy_upper_ = upper();
  const auto finish = [&](const Worker& worker) {
    const std::lock_guard lock(mutex_);
    for (int c = 0; c < kCounters; ++c) counters_[static_cast<std::size_t>(c)] += worker.counters[static_cast<std::size_t>(c)];
  };
  const auto conclude = [&] {
    const std::lock_guard lock(mutex_);
    done_ = !stopped();
    std::size_t gathered = 0;
    for (const auto& count : gathered_) gathered += count;
    complete_ = done_ && gathered <= settings_.max_sets;
    note();
  };
  if (settings_.greedy_only) {
    finish(first);
    return;
  }
  if (root.left <= (table_.by_rank ? 1u : 2u) || root.error == 0 || upper() <= 0) {
    if (upper() > 0) first.visit(root, 0);
    finish(first);
    conclude();
    return;
  }
  if (root.error < upper()) first.found(root.error, root.chosen);
  const i64 bound = first.expand(root);
  if (bound < upper() && !stopped()) {
    const std::size_t n = root.candidates.size();
    first.counters[kRootChildren] = static_cast<i64>(n);
    {
      const std::lock_guard lock(mutex_);
      open_ = root.child_bound;
      note();
    }
    std::vector<std::vector<Set>> before = std::move(collected_);
    collected_.assign(n + 1, {});
    collected_[0] = std::move(before[0]);
    gathered_ = std::vector<std::atomic<std::size_t>>(n + 1);
    gathered_[0] = collected_[0].size();
    next_ = 0;
    // Of the root's children, by place of the cut: the first child whose bound rules it out. Only earlier children count,
    // for they have seen every set that a later one can still become.
    constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();
    const bool cuts = table_.by_rank && settings_.rules.similarity;
    std::vector<std::size_t> ruled_out(cuts ? table_.raw_begin.back() : 0, kNobody);
    std::vector<i64> below;
    if (cuts) first.weigh_ranks(root, below);
    auto noted = std::chrono::steady_clock::now();
    const auto work = [&](Worker& worker) {
      for (;;) {
        const std::size_t s = next_.fetch_add(1);
        if (s >= n || stopped()) break;
        worker.task = s + 1;
        if (surplus(worker.task)) break;
        Node& child = worker.nodes[1];
        const u32 test = root.candidates[s];
        bool skip = false;
        if (cuts) {
          const std::lock_guard lock(mutex_);
          skip = ruled_out[table_.raw_of[test]] < s;
        }
        i64 proved = 0;
        if (skip)
          ++worker.counters[kBySimilarity];
        else if (worker.descend(root, static_cast<u32>(s), child))
          proved = std::min(worker.visit(child, 1), child.floor);
        if (stopped()) break;
        const std::lock_guard lock(mutex_);
        open_[s] = std::numeric_limits<i64>::max();
        ++worker.counters[kRootChildrenDone];
        if (cuts && proved >= upper()) {
          const std::size_t at = table_.raw_of[test];
          const i64 spare = proved - upper();
          const u32 column = table_.column_of[test];
          for (std::size_t p = at; p-- > table_.raw_begin[column] && below[at] - below[p] <= spare;) ruled_out[p] = std::min(ruled_out[p], s);
          for (std::size_t p = at + 1; p < table_.raw_begin[column + 1] && below[p] - below[at] <= spare; ++p) ruled_out[p] = std::min(ruled_out[p], s);
        }
        const auto now = std::chrono::steady_clock::now();
        if (now - noted < std::chrono::milliseconds(5)) continue;  // the least of many bounds takes time
        noted = now;
        note();
      }
      finish(worker);
    };
    const u32 n_workers = static_cast<u32>(std::clamp<std::size_t>(n, 1, std::max(settings_.threads, 1u)));
    std::vector<Worker> workers;
    workers.reserve(n_workers);
    for (u32 t = 0; t < n_workers; ++t) workers.emplace_back(*this);
    run_workers(static_cast<int>(n_workers), [&](int w) { work(workers[static_cast<std::size_t>(w)]); }, [&] { stop_ = -1; });
  }
  finish(first);
  conclude();
}

bool Search::surplus(std::size_t task) const {
  if (gathered_all_.load(std::memory_order_relaxed) <= settings_.max_sets) return false;
  std::size_t sum = 0;
  for (std::size_t t = 0; t <= task; ++t) {
    sum += gathered_[t].load(std::memory_order_relaxed);
    if (sum > settings_.max_sets) return true;
  }
  return false;
}

void Search::offer(i64 error, const Set& chosen) {
  if (error >= upper()) return;
  const std::lock_guard lock(mutex_);
  if (error >= upper()) return;
  best_ = chosen;
  has_set_ = true;
  upper_ = error;
  note();
}

// Under the mutex. Below the root only unfinished children can hold a better set.
void Search::note() {
  i64 lower = done_ ? upper() : 0;
  if (!done_ && !open_.empty()) lower = std::min(upper(), *std::min_element(open_.begin(), open_.end()));
  lower_ = std::max(lower_, std::min(lower, upper()));
  if (events_.empty() || events_.back().upper != upper() || events_.back().lower != lower_)
    events_.push_back({std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count(), upper(), lower_});
}

Search::State Search::state() const {
  const std::lock_guard lock(mutex_);
  return {upper(), lower_, has_set_};
}

std::vector<Search::Event> Search::events_since(std::size_t first) const {
  const std::lock_guard lock(mutex_);
  return {events_.begin() + static_cast<std::ptrdiff_t>(std::min(first, events_.size())), events_.end()};
}

Set Search::set() const {
  const std::lock_guard lock(mutex_);
  Set numbers;
  for (const u32 test : best_) numbers.push_back(table_.number[test]);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::vector<Set> Search::sets() const {
  std::vector<Set> all;
  for (const auto& sets : collected_) {
    for (const Set& set : sets) {
      if (all.size() == settings_.max_sets) return all;
      all.emplace_back();
      for (const u32 test : set) all.back().push_back(table_.number[test]);
    }
  }
  return all;
}

std::vector<i64> Search::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace proofwood::bdd
