// Dynamic programming over row sets: least depth by deepening, fewest leaves by branch and bound with a budget.
//
// Theory: docs/theory/minimal-trees.md, "Search: dynamic programming over row sets". The problem is that of Avellaneda,
// AAAI 2020 (InferDT); the search is ours.
#include "minimal/row_sets.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <new>

namespace proofwood::minimal {

void RowSetSearch::run() {
  level_ = 0;
  std::vector<u64> all(words_, 0);
  for (int r = 0; r < rows_.n; ++r) all[at(r) >> 6] |= u64{1} << (r & 63);
  if (pure(all.data())) {
    board_.depth_is(0);
    board_.nodes_are(1);
    return;
  }
  Subproblem* root = subproblem(all.data());
  root->depth_lower = std::max(root->depth_lower, board_.settings.depth_lower);
  if (board_.state().depth >= 0) root->depth_upper = std::min(root->depth_upper, board_.state().depth);
  bound(root);
  board_.raise_nodes(2 * root->leaves_lower - 1);
  int depth = kAnyDepth;
  if (least_depth(root, depth)) fewest_leaves(root, depth);
}

// The depth within which leaves are to be counted: the least depth of a right tree, by deepening, or the limit where
// any depth will do. False if that is all that was asked for, or if no tree is that shallow.
bool RowSetSearch::least_depth(Subproblem* root, int& depth) {
  const Minimize minimize = board_.settings.minimize;
  const int max_depth = board_.settings.max_depth;
  if (minimize == Minimize::kNodesAnyDepth) {
    if (max_depth >= rows_.n - 1) return true;
    depth = max_depth;
    if (!feasible(root, depth)) {
      board_.raise_depth(depth + 1);
      board_.infeasible();
      return false;
    }
    if (board_.state().depth < 0) board_.offer(known_tree(root, depth, false));
    return true;
  }
  for (depth = root->depth_lower;; ++depth) {
    board_.raise_depth(depth);
    board_.raise_nodes(2 * (depth + 1) - 1);
    if (depth > max_depth) {
      board_.infeasible();
      return false;
    }
    if (feasible(root, depth)) break;
  }
  if (board_.state().depth != depth) board_.offer(known_tree(root, depth, false));
  board_.depth_is(depth);
  if (minimize == Minimize::kNodes) return true;
  if (rules_.canonical) board_.put_canonical(canonical_tree(root, depth, false));
  return false;
}

// The fewest leaves within the depth: the bound of the root is raised until a tree meets it, be it the one at hand.
void RowSetSearch::fewest_leaves(Subproblem* root, int depth) {
  n_depths_ = depth == kAnyDepth ? 1 : depth + 1;
  const auto at_hand = [&] {
    const State state = board_.state();
    return state.depth >= 0 && state.depth <= depth ? state.nodes : kNoTree;
  };
  int lower = std::max(at_depth(root, depth).lower, (board_.state().nodes_lower + 1) / 2);
  at_depth(root, depth).lower = lower;
  while (2 * lower - 1 < at_hand() && at_depth(root, depth).upper != lower) {
    lower = leaves(root, depth, lower);
    board_.raise_nodes(2 * lower - 1);
  }
  if (2 * lower - 1 < at_hand()) board_.offer(known_tree(root, depth, true));
  board_.nodes_are(2 * lower - 1);
  if (rules_.canonical) board_.put_canonical(canonical_tree(root, depth, true));
}

// ---------------------------------------------------------------------------------------------------- subproblems

// The subproblem of a set that is not pure, with the bounds that are cheap.
Subproblem* RowSetSearch::subproblem(const u64* set) {
  u64 hash = 0x9E3779B97F4A7C15u;
  for (std::size_t w = 0; w < words_; ++w) {
    hash = (hash ^ set[w]) * 0xD6E8FEB86659FD93u;
    hash ^= hash >> 32;
  }
  if (rules_.cache) {
    if (Subproblem* known = cache_.find(set, hash)) {
      ++board_.counts[kHits];
      return known;
    }
  }
  board_.check_stop();  // before there is a subproblem, which is then complete
  Subproblem* fresh = cache_.add(set, hash);
  if (fresh == nullptr) board_.end_for_memory();
  ++board_.counts[kSubproblems];
  fresh->size = size_of(set);
  if (tells_two()) {
    groups_.clear();
    each_row(set, [&](int row) { groups_.push_back(row); });
    fresh->two = columns_->one_test_enough(groups_);
  } else {
    fresh->two = two_leaves(set);
  }
  fresh->leaves_lower = fresh->two ? 2 : 3;
  fresh->depth_lower = fresh->two ? 1 : 2;
  if (rules_.class_bound && !fresh->two) {  // every class needs a leaf, and a tree of depth d has at most 2^d
    fresh->leaves_lower = std::max(fresh->leaves_lower, classes_needed(set));
    fresh->depth_lower = log2_up(fresh->leaves_lower);
  }
  if (!fresh->two) {
    fresh->leaves_lower = std::max(fresh->leaves_lower, dual_bound(set));
    fresh->depth_lower = std::max(fresh->depth_lower, log2_up(fresh->leaves_lower));
  }
  if (fresh->two) fresh->depth_upper = 1;
  return fresh;
}

Subproblem* RowSetSearch::side(const u64* set, Split& split, Frame& f, bool high) {
  Subproblem*& known = high ? split.high : split.low;
  if (known != nullptr) return known;
  const u64* bits = rows_.high(split.test);
  for (std::size_t w = 0; w < words_; ++w) f.low[w] = set[w] & (high ? bits[w] : ~bits[w]);
  return known = subproblem(f.low.data());
}

// ---------------------------------------------------------------------------------------------------------- depth

// Whether a tree of depth <= d is right on the set.
bool RowSetSearch::feasible(Subproblem* e, int d) {
  if (d >= e->depth_upper) return true;
  if (d < e->depth_lower) return false;
  board_.check_stop();
  if (rules_.depth_bound && (d > 2 || !apart_.empty()) && !e->bounded) {
    bound(e);
    if (d < e->depth_lower) {
      ++bounds_pruned_;
      ++board_.counts[kDepthPrunings];
      return false;
    }
  }
  const std::size_t level = level_++;
  const int test = d == 2 ? depth_two(cache_.words(e), level) : deeper(e, d, level);
  --level_;
  if (test >= 0) {
    e->depth_upper = d;
    e->depth_test = test;
    return true;
  }
  e->depth_lower = d + 1;
  return false;
}

// Which tests part the set, and which of their sides are pure.
void RowSetSearch::summarize_into(const u64* set, Frame& f) {
  summarize(set);
  for (std::size_t w = 0; w < test_words_; ++w) {
    const Word tests = word(w);
    f.parts[w] = tests.parts;
    f.pure_low[w] = tests.pure_low;
    f.pure_high[w] = tests.pure_high;
  }
}

// A test whose sides are pure or parted by one test each; -1 if there is none. No subproblem is made.
int RowSetSearch::depth_two(const u64* set, std::size_t level) {
  ++board_.counts[kExpanded];
  if (tells_two()) {
    const auto [three, four] = tests_of_two_levels(set, false);
    return four;
  }
  Frame& f = frame(level);
  summarize_into(set, f);
  const auto low_works = [&](int t) {
    board_.check_stop();
    return bit(f.pure_low, t) || two_leaves(set, rows_.high(t), ~u64{0});
  };
  const auto high_works = [&](int t) { return bit(f.pure_high, t) || two_leaves(set, rows_.high(t), 0); };
  f.tests.clear();
  for (std::size_t w = 0; w < test_words_; ++w)
    for (u64 left = f.parts[w]; left != 0; left &= left - 1)
      f.tests.push_back(static_cast<int>(w * 64) + std::countr_zero(left));
  return last_low_then_high(f.tests, low_works, high_works);
}

// In a column, a cut works if its low side does, which by (M) all smaller cuts' low sides then do, and its high side
// does, which all larger cuts' then do: only the largest cut whose low side works needs a look at its high side.
//
//   cuts of a column     t1   t2   t3   t4
//   low side works       yes  yes  no   no
//   high side works      no   yes  yes  yes      t2, the last whose low side works, is looked at, and works
template <class Low, class High>
int RowSetSearch::last_low_then_high(const std::vector<int>& tests, const Low& low_works, const High& high_works) {
  for (std::size_t first = 0; first < tests.size();) {
    std::size_t end = first + 1;
    while (rules_.monotone && end < tests.size() && rows_.column[at(tests[end])] == rows_.column[at(tests[first])])
      ++end;
    std::size_t works = first, fails = end;  // tests before `works` work on the low side, from `fails` they do not
    while (works < fails) {
      const std::size_t middle = works + (fails - works) / 2;
      if (low_works(tests[middle]))
        works = middle + 1;
      else
        fails = middle;
    }
    if (works > first && high_works(tests[works - 1])) return tests[works - 1];
    first = end;
  }
  return -1;
}

int RowSetSearch::deeper(Subproblem* e, int d, std::size_t level) {
  Frame& f = frame(level);
  ++board_.counts[kExpanded];
  const u64* set = cache_.words(e);
  list_splits(set, f);
  const auto low_works = [&](Split& split) { return split.low_known || feasible(side(set, split, f, false), d - 1); };
  const auto high_works = [&](Split& split) { return split.high_known || feasible(side(set, split, f, true), d - 1); };
  const int most = d > 28 ? kNoTree : 1 << (d - 1);
  for (const ColumnSpan& span : f.columns) {
    int works = span.first, fails = span.last + 1;
    if (rules_.depth_bound) {  // bounds grow along the low sides, and fall along the high ones
      while (works < fails && f.splits[at(works)].high_bound > most) ++works;
      while (works < fails && f.splits[at(fails - 1)].low_bound > most) --fails;
    }
    const int first = works;
    if (first + 1 == fails) {
      Split& split = f.splits[at(first)];
      const bool ok = low_works(split) && high_works(split);
      if (ok) return split.test;
      continue;
    }
    while (works < fails) {
      const int middle = works + (fails - works) / 2;
      if (low_works(f.splits[at(middle)]))
        works = middle + 1;
      else
        fails = middle;
    }
    if (works > first && high_works(f.splits[at(works - 1)])) return f.splits[at(works - 1)].test;
  }
  return -1;
}

// --------------------------------------------------------------------------------------------------------- leaves

AtDepth& RowSetSearch::at_depth(Subproblem* e, int d) {
  if (e->by_depth == nullptr) {
    void* raw = cache_.allocate(at(n_depths_) * sizeof(AtDepth));
    if (raw == nullptr) board_.end_for_memory();
    e->by_depth = static_cast<AtDepth*>(raw);
    for (int i = 0; i < n_depths_; ++i) new (&e->by_depth[i]) AtDepth;
  }
  AtDepth& s = e->by_depth[d == kAnyDepth ? 0 : d];
  if (s.lower < e->leaves_lower) s.lower = e->leaves_lower;
  if (d < e->depth_lower) s.lower = kNoTree;
  if (e->two && d >= 1) s.upper = 2;
  return s;
}

// f_d of the set if that is at most cap, else a lower bound on it greater than cap.
int RowSetSearch::leaves(Subproblem* e, int d, int cap) {
  {
    const AtDepth& s = at_depth(e, d);
    if (s.lower > cap || s.lower == s.upper) return s.lower;
  }
  board_.check_stop();
  if (!e->bounded) {
    bound(e);
    const AtDepth& s = at_depth(e, d);
    if (s.lower > cap) {
      ++board_.counts[kBoundPrunings];
      ++bounds_pruned_;
      return s.lower;
    }
  }
  if (d == 2 && tells_two()) return leaves_at_two(e);
  if (d != kAnyDepth && rules_.depth_bound && !feasible(e, d)) {
    ++board_.counts[kDepthPrunings];
    return at_depth(e, d).lower;
  }
  if (d == 1) return e->two ? 2 : kNoTree;
  const std::size_t level = level_++;
  const int result = search_leaves(e, d, cap, level);
  --level_;
  return result;
}

int RowSetSearch::leaves_at_two(Subproblem* e) {
  ++board_.counts[kExpanded];
  if (e->two) return 2;
  AtDepth& s = at_depth(e, 2);
  const auto [three, four] = tests_of_two_levels(cache_.words(e), true);
  s.test = three >= 0 ? three : four;
  s.lower = s.upper = three >= 0 ? 3 : four >= 0 ? 4 : kNoTree;
  return s.lower;
}

int RowSetSearch::search_leaves(Subproblem* e, int d, int cap, std::size_t level) {
  Frame& f = frame(level);
  ++board_.counts[kExpanded];
  const u64* set = cache_.words(e);
  const int below = d == kAnyDepth ? d : d - 1;
  const int most = d < 28 ? std::min(cap, 1 << d) : cap;
  if (cap == 3 && tells_two()) {
    const auto [three, four] = tests_of_two_levels(set, true);
    AtDepth& s = at_depth(e, d);
    s.lower = three >= 0 ? 3 : 4;
    if (three >= 0) s.upper = 3;
    s.test = three;
    return s.lower;
  }
  list_splits(set, f);
  for (int k = at_depth(e, d).lower; k <= most; ++k) {
    const int i = split_to(set, f, below, k);
    if (i >= 0) {
      AtDepth& s = at_depth(e, d);
      s.lower = s.upper = k;
      s.test = f.splits[at(i)].test;
      return k;
    }
    at_depth(e, d).lower = k + 1;
  }
  if (most < cap) at_depth(e, d).lower = kNoTree;  // 2^d leaves are not enough
  return at_depth(e, d).lower;
}

// A split that leads to k leaves; -1 if there is none.
int RowSetSearch::split_to(const u64* set, Frame& f, int d, int k) {
  if (columns_ == nullptr || !rules_.monotone) {
    for (const int i : f.order)
      if (split_within(set, f, i, d, k)) return i;
    return -1;
  }
  for (const ColumnSpan& span : f.columns) {
    const int i = column_within(set, f, span, d, k);
    if (i >= 0) return i;
  }
  return -1;
}

// Whether a cut of the column leads to k leaves; its place in the splits, or -1. Where neighbouring cuts have equal
// bounds, the low side of the first and the high side of the last are the smallest, and by (M) what is learned of them
// holds for all: either may be enough to rule the run out. Else its middle is tried, which rules out one half.
int RowSetSearch::column_within(const u64* set, Frame& f, const ColumnSpan& span, int d, int k) {
  const auto over = [&](int i) { return f.splits[at(i)].low_bound + f.splits[at(i)].high_bound > k; };
  for (int i = span.first; i <= span.last;) {
    if (over(i)) {
      ++i;
      continue;
    }
    const int low_bound = f.splits[at(i)].low_bound, high_bound = f.splits[at(i)].high_bound;
    int end = i;
    while (end < span.last && f.splits[at(end + 1)].low_bound == low_bound &&
           f.splits[at(end + 1)].high_bound == high_bound)
      ++end;
    if (!side_within(set, f, i, d, k, false) || !side_within(set, f, end, d, k, true)) continue;
    if (i == end) return i;
    if (split_within(set, f, i + (end - i) / 2, d, k)) return i + (end - i) / 2;
  }
  return -1;
}

// Whether one side leaves room for the other's bound. What is learned of it holds for its column by (M): a lower bound
// of a low side for all larger cuts, of a high side for all smaller ones.
bool RowSetSearch::side_within(const u64* set, Frame& f, int i, int d, int k, bool high) {
  Split& split = f.splits[at(i)];
  const auto raise = [&](int bound) { high ? raise_high(f, i, bound) : raise_low(f, i, bound); };
  const auto fits = [&] { return split.low_bound + split.high_bound <= k; };
  if ((high ? split.high_known : split.low_known) || !fits()) return fits();
  Subproblem* const one = side(set, split, f, high);
  AtDepth& s = at_depth(one, d);
  s.lower = std::max(s.lower, high ? split.high_bound : split.low_bound);
  raise(s.lower);
  if (fits()) raise(leaves(one, d, k - (high ? split.low_bound : split.high_bound)));
  return fits();
}

// Whether the i-th split leads to k leaves: the smaller side first, as it is the quicker one.
bool RowSetSearch::split_within(const u64* set, Frame& f, int i, int d, int k) {
  Split& split = f.splits[at(i)];
  const auto fits = [&] { return split.low_bound + split.high_bound <= k; };
  if (!fits()) return false;
  if (!split.low_known) raise_low(f, i, leaves_bound(side(set, split, f, false), d));
  if (fits() && !split.high_known) raise_high(f, i, leaves_bound(side(set, split, f, true), d));
  if (!fits()) return false;
  const bool high_first = !split.high_known && (split.low_known || split.low->size > split.high->size);
  return side_within(set, f, i, d, k, high_first) && side_within(set, f, i, d, k, !high_first);
}

void RowSetSearch::raise_low(Frame& f, int i, int bound) {
  for (; i >= 0 && f.splits[at(i)].low_bound < bound; i = f.splits[at(i)].right) f.splits[at(i)].low_bound = bound;
}

void RowSetSearch::raise_high(Frame& f, int i, int bound) {
  for (; i >= 0 && f.splits[at(i)].high_bound < bound; i = f.splits[at(i)].left) f.splits[at(i)].high_bound = bound;
}

void search_sets(const Rows& rows, Board& board) { RowSetSearch(rows, board).run(); }
std::unique_ptr<Resumable> sets_search(const Rows& rows, Board& board) {
  return std::make_unique<RowSetSearch>(rows, board);
}

}  // namespace proofwood::minimal
