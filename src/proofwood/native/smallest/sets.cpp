// Dynamic programming over sets of groups, with every permitted cost at 0.
//
// f_d(S) is the fewest leaves of a tree of depth <= d that is right on S, and a subproblem is S alone: two paths that
// leave the same groups share it. Facts used throughout, each by restricting or joining trees:
//   (M) f_d(S) <= f_d(S') for S within S': the larger set's tree is right on the smaller one; drop its empty leaves.
//   (D) f_d is at most f_{d-1}; a tree of k leaves has depth < k; a tree of depth d has at most 2^d leaves.
#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <new>

#include "smallest/smallest.hpp"

namespace proofwood::smallest {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }
int log2_up(int leaves) { return leaves <= 1 ? 0 : std::bit_width(static_cast<unsigned>(leaves - 1)); }

struct Slot {  // f_d of one set and depth
  int lower = 0, upper = kNoTree;  // lower 0: not yet looked at
  int test = -1;                   // root of the tree of `upper` leaves
};

struct Entry {  // a set that is not pure; its words follow in memory
  u64 hash;
  Slot* slots;       // by depth; made when leaves are counted
  int depth_test;    // root of the tree of depth `depth_upper`
  int depth_lower, depth_upper;
  int leaves_lower;  // at any depth
  int size;
  bool two;          // one test is enough
  bool bounded;      // the clique and packing bounds are in
};

// Sets with what is known of them, in memory that only grows; equal sets have one entry.
class Cache {
 public:
  Cache(int words, std::size_t limit) : bytes_(at(words) * sizeof(u64)), limit_(limit), table_(1 << 12, nullptr) {}

  u64* words(Entry* entry) const { return reinterpret_cast<u64*>(entry + 1); }

  Entry* find(const u64* set, u64 hash) const {
    const std::size_t mask = table_.size() - 1;
    for (std::size_t i = hash & mask; table_[i] != nullptr; i = (i + 1) & mask)
      if (table_[i]->hash == hash && std::memcmp(words(table_[i]), set, bytes_) == 0) return table_[i];
    return nullptr;
  }

  Entry* add(const u64* set, u64 hash) {  // nullptr: out of memory
    auto* raw = allocate(sizeof(Entry) + bytes_);
    if (raw == nullptr) return nullptr;
    auto* entry = new (raw) Entry{hash, nullptr, -1, 0, kNoTree, 2, 0, false, false};
    std::memcpy(words(entry), set, bytes_);
    if (2 * ++count_ > table_.size()) grow();
    place(entry);
    return entry;
  }

  void* allocate(std::size_t size) {
    size = (size + 7) / 8 * 8;
    if (size > left_) {
      const std::size_t block = std::max<std::size_t>(size, 1 << 18);
      if (used_ + block + 16 * table_.size() > limit_) return nullptr;
      blocks_.push_back(std::make_unique_for_overwrite<u64[]>(block / 8));
      used_ += block;
      next_ = reinterpret_cast<char*>(blocks_.back().get());
      left_ = block;
    }
    void* result = next_;
    next_ += size;
    left_ -= size;
    return result;
  }

 private:
  void place(Entry* entry) {
    const std::size_t mask = table_.size() - 1;
    std::size_t i = entry->hash & mask;
    while (table_[i] != nullptr) i = (i + 1) & mask;
    table_[i] = entry;
  }
  void grow() {
    std::vector<Entry*> old(2 * table_.size(), nullptr);
    old.swap(table_);
    for (Entry* entry : old)
      if (entry != nullptr) place(entry);
  }

  std::size_t bytes_, limit_, used_ = 0, left_ = 0, count_ = 0;
  std::vector<Entry*> table_;
  std::vector<std::unique_ptr<u64[]>> blocks_;
  char* next_ = nullptr;
};

// One way to part a set. Sides that are pure have no entry and one leaf.
struct Split {
  int test;
  int left, right;  // neighbours in the same column, -1 at its ends
  double score;
  int low_bound, high_bound;  // leaves of the sides, at the depth asked for
  bool low_pure, high_pure;
  Entry *low, *high;
};

struct Frame {  // scratch memory of one level of the recursion
  std::vector<u64> parts, pure_low, pure_high, low, high;
  std::vector<Split> splits;
  std::vector<int> order, tests;
};

class SetSearch : public Resumable {
 public:
  SetSearch(const Rows& rows, Board& board)
      : rows_(rows), board_(board), rules_(board.settings.rules), words_(at(rows.words)), test_words_(at(rows.test_words)),
        cache_(rows.words, board.settings.memory), some_(at(rows.n_kinds) * test_words_), every_(at(rows.n_kinds) * test_words_) {}

  void run() override {
    level_ = 0;
    std::vector<u64> all(words_, 0);
    for (int r = 0; r < rows_.n; ++r) all[at(r) >> 6] |= u64{1} << (r & 63);
    if (pure(all.data())) {
      board_.depth_is(0);
      board_.nodes_are(1);
      return;
    }
    Entry* root = entry(all.data());
    const Minimize minimize = board_.settings.minimize;
    const int max_depth = board_.settings.max_depth;
    bound(root);
    board_.raise_nodes(2 * root->leaves_lower - 1);
    int depth = kAnyDepth;
    if (minimize != Minimize::kNodesAnyDepth) {
      depth = root->depth_lower;
      for (;; ++depth) {
        board_.raise_depth(depth);
        board_.raise_nodes(2 * (depth + 1) - 1);
        if (depth > max_depth) return board_.infeasible();
        if (feasible(root, depth)) break;
      }
      if (board_.state().depth != depth) board_.offer(known_tree(root, depth, false));
      board_.depth_is(depth);
      if (minimize == Minimize::kDepth) {
        if (rules_.canonical) board_.replace(canonical_tree(root, depth, false));
        return;
      }
    } else if (max_depth < rows_.n - 1) {
      depth = max_depth;
      if (!feasible(root, depth)) {
        board_.raise_depth(depth + 1);
        return board_.infeasible();
      }
      if (board_.state().depth < 0) board_.offer(known_tree(root, depth, false));
    }
    n_slots_ = depth == kAnyDepth ? 1 : depth + 1;
    for (;;) {
      const int lower = leaves(root, depth, slot(root, depth).lower);
      board_.raise_nodes(2 * lower - 1);
      if (slot(root, depth).upper == lower) break;
    }
    const Tree found = known_tree(root, depth, true);
    board_.offer(found);
    board_.nodes_are(static_cast<int>(found.size()));
    if (rules_.canonical) board_.replace(canonical_tree(root, depth, true));
  }

 private:
  // ------------------------------------------------------------------------------------------------ looking at a set

  bool pure(const u64* set) const {
    for (int c = 0; c < rows_.n_classes; ++c) {
      const u64* allowed = &rows_.allowed[at(c) * words_];
      u64 wrong = 0;
      for (std::size_t w = 0; w < words_; ++w) wrong |= set[w] & ~allowed[w];
      if (wrong == 0) return true;
    }
    return false;
  }

  template <class F>
  void each_row(const u64* set, const F& f) const {
    for (std::size_t w = 0; w < words_; ++w)
      for (u64 left = set[w]; left != 0; left &= left - 1) f(static_cast<int>(w * 64) + std::countr_zero(left));
  }

  // Per kind of row in the set: tests that some row, and that every row, passes on the high side.
  void summarize(const u64* set) {
    present_.clear();
    seen_.assign(at(rows_.n_kinds), false);
    each_row(set, [&](int row) {
      const int kind = rows_.kind[at(row)];
      u64 *some = &some_[at(kind) * test_words_], *every = &every_[at(kind) * test_words_];
      const u64* bits = rows_.bits(row);
      if (!seen_[at(kind)]) {
        seen_[at(kind)] = true;
        present_.push_back(kind);
        std::copy(bits, bits + test_words_, some);
        std::copy(bits, bits + test_words_, every);
        return;
      }
      for (std::size_t w = 0; w < test_words_; ++w) {
        some[w] |= bits[w];
        every[w] &= bits[w];
      }
    });
  }

  // One word of tests after summarize(): which part the set, which have a pure low side, a pure high side.
  struct Word {
    u64 parts, pure_low, pure_high;
  };
  Word word(std::size_t w) const {
    u64 any = 0, all = ~u64{0};
    for (const int kind : present_) {
      any |= some_[at(kind) * test_words_ + w];
      all &= every_[at(kind) * test_words_ + w];
    }
    Word result{any & ~all, 0, 0};
    if (rows_.single) {  // a side is pure if rows of at most one kind are on it
      u64 low_once = 0, low_twice = 0, high_once = 0, high_twice = 0;
      for (const int kind : present_) {
        const u64 on_high = some_[at(kind) * test_words_ + w], on_low = ~every_[at(kind) * test_words_ + w];
        high_twice |= high_once & on_high;
        high_once |= on_high;
        low_twice |= low_once & on_low;
        low_once |= on_low;
      }
      result.pure_low = ~low_twice;
      result.pure_high = ~high_twice;
    } else {
      for (int c = 0; c < rows_.n_classes; ++c) {
        u64 wrong_low = 0, wrong_high = 0;
        for (const int kind : present_) {
          if (rows_.kind_allows[at(kind) * at(rows_.n_classes) + at(c)] != 0) continue;
          wrong_high |= some_[at(kind) * test_words_ + w];
          wrong_low |= ~every_[at(kind) * test_words_ + w];
        }
        result.pure_low |= ~wrong_low;
        result.pure_high |= ~wrong_high;
      }
    }
    return result;
  }

  // Number of classes that must each have a leaf: those of rows that only one class is right on.
  int classes_needed(const u64* set) {
    needed_.assign(at(rows_.n_classes), 0);
    for (int kind = 0; kind < rows_.n_kinds; ++kind) {
      const u8* allows = &rows_.kind_allows[at(kind) * at(rows_.n_classes)];
      if (!rows_.single && std::count(allows, allows + rows_.n_classes, 1) != 1) continue;
      const u64* of_kind = &rows_.of_kind[at(kind) * words_];
      bool present = false;
      for (std::size_t w = 0; w < words_ && !present; ++w) present = (set[w] & of_kind[w]) != 0;
      if (present) needed_[at(static_cast<int>(std::find(allows, allows + rows_.n_classes, 1) - allows))] = 1;
    }
    return static_cast<int>(std::count(needed_.begin(), needed_.end(), 1));
  }

  // Whether one test parts a set that is not pure into two pure sides. With one class per row it parts the first row of
  // one kind and the first of another as it parts all of their kinds; few rows leave no such test.
  bool two_leaves(const u64* set) { return two_leaves(set, set, 0); }

  // The same of the part of a set that is in `side`, or with flip = ~0 of the part that is not.
  bool two_leaves(const u64* set, const u64* side, u64 flip) {
    if (!rows_.single) {
      std::vector<u64> part(set, set + words_);
      for (std::size_t w = 0; w < words_; ++w) part[w] &= side[w] ^ flip;
      summarize(part.data());
      for (std::size_t w = 0; w < test_words_; ++w) {
        const Word tests = word(w);
        if ((tests.parts & tests.pure_low & tests.pure_high) != 0) return true;
      }
      return false;
    }
    int kinds[2] = {-1, -1};
    const u64* first[2] = {nullptr, nullptr};
    candidates_.assign(test_words_, ~u64{0});
    for (std::size_t v = 0; v < words_; ++v)
      for (u64 left = set[v] & (side[v] ^ flip); left != 0; left &= left - 1) {
        const int row = static_cast<int>(v * 64) + std::countr_zero(left), kind = rows_.kind[at(row)];
        const u64* bits = rows_.bits(row);
        u64 some = 0;
        if (kinds[0] < 0) {
          kinds[0] = kind;
          first[0] = bits;
          continue;
        }
        if (kind != kinds[0] && kinds[1] < 0) {
          kinds[1] = kind;
          first[1] = bits;
          for (std::size_t w = 0; w < test_words_; ++w) some |= candidates_[w] &= bits[w] ^ first[0][w];
        } else if (kind == kinds[0] || kind == kinds[1]) {
          const u64* same = first[kind == kinds[0] ? 0 : 1];
          for (std::size_t w = 0; w < test_words_; ++w) some |= candidates_[w] &= ~(bits[w] ^ same[w]);
        }
        if (some == 0) return false;  // of a third kind too
      }
    return true;
  }

  void part(const u64* set, int test, u64* low, u64* high) const {
    const u64* bits = rows_.high(test);
    for (std::size_t w = 0; w < words_; ++w) {
      low[w] = set[w] & ~bits[w];
      high[w] = set[w] & bits[w];
    }
  }

  int size_of(const u64* set) const {
    int size = 0;
    for (std::size_t w = 0; w < words_; ++w) size += std::popcount(set[w]);
    return size;
  }

  // The entry of a set that is not pure, with the bounds that are cheap.
  Entry* entry(const u64* set) {
    u64 hash = 0x9E3779B97F4A7C15u;
    for (std::size_t w = 0; w < words_; ++w) {
      hash = (hash ^ set[w]) * 0xD6E8FEB86659FD93u;
      hash ^= hash >> 32;
    }
    if (rules_.cache) {
      if (Entry* known = cache_.find(set, hash)) {
        ++board_.counts[kHits];
        return known;
      }
    }
    board_.check_stop();  // before there is an entry, which is then complete
    Entry* fresh = cache_.add(set, hash);
    if (fresh == nullptr) board_.out_of_memory();
    ++board_.counts[kSubproblems];
    fresh->size = size_of(set);
    fresh->two = two_leaves(set);
    fresh->leaves_lower = fresh->two ? 2 : 3;
    fresh->depth_lower = fresh->two ? 1 : 2;
    if (rules_.class_bound && !fresh->two) {  // every class needs a leaf, and a tree of depth d has at most 2^d
      fresh->leaves_lower = std::max(fresh->leaves_lower, classes_needed(set));
      fresh->depth_lower = log2_up(fresh->leaves_lower);
    }
    if (fresh->two) fresh->depth_upper = 1;
    return fresh;
  }

  // ------------------------------------------------------------------------------------------------ bounds on leaves

  // Opposite rows have no class in common. For every row its opposites, the nearest first, distance being the number of
  // tests that part the two: those are the ones that tell most in both bounds below.
  void list_opposites() {
    if (listed_ == rows_.n) return;
    const std::size_t n = at(rows_.n), longest = std::max<std::size_t>(kNear, std::min<std::size_t>(n, (std::size_t{1} << 22) / n));
    // of many rows a part is enough for a bound, and of many tests a smaller part
    const std::size_t most = std::max<std::size_t>(256, kMostWork / (n * test_words_));
    const int step = 1 + std::max(rows_.n / 4096, static_cast<int>((n - 1) / most));
    opposites_.resize(n);
    std::vector<std::pair<int, int>> found;
    for (int& p = listed_; p < rows_.n; ++p) {
      board_.check_stop();
      found.clear();
      for (int q = p % step; q < rows_.n; q += step) {
        if (have_common_class(p, q)) continue;
        int distance = 0;
        for (std::size_t w = 0; w < test_words_; ++w) distance += std::popcount(rows_.bits(p)[w] ^ rows_.bits(q)[w]);
        found.emplace_back(distance, q);
      }
      const std::size_t kept = std::min(found.size(), longest);
      std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end());
      for (std::size_t i = 0; i < kept; ++i) opposites_[at(p)].push_back({found[i].first, found[i].second});
    }
  }

  bool have_common_class(int p, int q) const {
    const int one = rows_.kind[at(p)], other = rows_.kind[at(q)];
    if (rows_.single) return one == other;
    bool common = false;
    for (int c = 0; c < rows_.n_classes; ++c)
      common = common || (rows_.kind_allows[at(one) * at(rows_.n_classes) + at(c)] & rows_.kind_allows[at(other) * at(rows_.n_classes) + at(c)]) != 0;
    return common;
  }

  // Up to kNear nearest opposites of every row within the set.
  void find_near(const u64* set) {
    members_.clear();
    near_.clear();
    each_row(set, [&](int row) {
      board_.check_stop();
      members_.push_back(row);
      std::size_t kept = 0;
      for (const Opposite& other : opposites_[at(row)]) {
        if ((set[at(other.row) >> 6] >> (other.row & 63) & 1) == 0) continue;
        near_.push_back(other);
        if (++kept == kNear) break;
      }
      for (; kept < kNear; ++kept) near_.push_back({0, -1});
    });
  }

  // Rows p and q cannot share a leaf if they are opposite, or if an opposite r of one agrees with both wherever they agree
  // with each other: the tests on the path to a common leaf are among those on which p and q agree, so r is in it too.
  // Rows that pairwise cannot share a leaf each need one of their own. (Only the nearest opposites are looked at.)
  int clique() {
    const auto between = [&](std::size_t of, int p, int q) {
      const u64 *a = rows_.bits(p), *b = rows_.bits(q);
      for (std::size_t i = of * kNear; i < (of + 1) * kNear && near_[i].row >= 0; ++i) {
        const u64* c = rows_.bits(near_[i].row);
        u64 outside = 0;
        for (std::size_t w = 0; w < test_words_ && outside == 0; ++w) outside = (a[w] ^ c[w]) & ~(a[w] ^ b[w]);
        if (outside == 0) return true;
      }
      return false;
    };
    chosen_.clear();
    std::size_t work = 0;
    for (std::size_t i = 0; i < members_.size() && work < kMostWork; ++i) {  // fewer rows are a clique too
      board_.check_stop();
      work += (chosen_.size() + 1) * test_words_;
      const int p = members_[i];
      const bool fits = std::all_of(chosen_.begin(), chosen_.end(), [&](std::size_t k) {
        const int q = members_[k];
        return !have_common_class(p, q) || between(i, p, q) || between(k, q, p);
      });
      if (fits) chosen_.push_back(i);
    }
    return static_cast<int>(chosen_.size());
  }

  // Opposite rows are parted by a test on which they differ. Pairs whose differences have no test in common need a split
  // each, so there are at least as many inner nodes, and one leaf more.
  int packing() {
    constexpr std::size_t kPairs = 3;  // per row
    places_.assign(at(rows_.n_tests) + 2, 0);
    const auto each_pair = [&](const auto& f) {
      for (std::size_t i = 0; i < members_.size(); ++i)
        for (std::size_t k = i * kNear; k < i * kNear + kPairs && near_[k].row >= 0; ++k) f(near_[k].distance, members_[i], near_[k].row);
    };
    each_pair([&](int distance, int, int) { ++places_[at(distance) + 1]; });
    for (std::size_t i = 1; i < places_.size(); ++i) places_[i] += places_[i - 1];
    pairs_.resize(places_.back());
    each_pair([&](int distance, int p, int q) { pairs_[places_[at(distance)]++] = {p, q}; });
    used_tests_.assign(test_words_, 0);
    int packed = 0;
    for (const auto& [p, q] : pairs_) {
      board_.check_stop();
      const u64 *a = rows_.bits(p), *b = rows_.bits(q);
      u64 common = 0;
      for (std::size_t w = 0; w < test_words_ && common == 0; ++w) common = (a[w] ^ b[w]) & used_tests_[w];
      if (common != 0) continue;
      ++packed;
      for (std::size_t w = 0; w < test_words_; ++w) used_tests_[w] |= a[w] ^ b[w];
    }
    return packed + 1;
  }

  // The bounds that cost more than parting the set once; where fewer than one in 24 prunes, most are left out.
  void bound(Entry* e) {
    if (e->bounded) return;
    e->bounded = true;
    if (bounds_tried_ >= 512 && 24 * bounds_pruned_ < bounds_tried_ && ++bounds_skipped_ % 16 != 0) return;
    ++bounds_tried_;
    if (e->two || !(rules_.clique_bound || rules_.packing_bound)) return;
    list_opposites();
    find_near(cache_.words(e));
    int lower = e->leaves_lower;
    if (rules_.clique_bound) lower = std::max(lower, clique());
    if (rules_.packing_bound) lower = std::max(lower, packing());
    e->leaves_lower = lower;
    e->depth_lower = std::max(e->depth_lower, log2_up(lower));  // (D)
  }

  // ------------------------------------------------------------------------------------------------- the ways to part

  Frame& frame(std::size_t level) {
    while (frames_.size() <= level) {
      auto fresh = std::make_unique<Frame>();
      fresh->low.resize(words_);
      fresh->high.resize(words_);
      fresh->parts.resize(test_words_);
      fresh->pure_low.resize(test_words_);
      fresh->pure_high.resize(test_words_);
      frames_.push_back(std::move(fresh));
    }
    return *frames_[level];
  }

  static bool bit(const std::vector<u64>& set, int i) { return (set[at(i) >> 6] >> (i & 63) & 1) != 0; }

  // Fills frame.splits with the splits of a set, those with equal sides once, in the order in which to try them: the
  // purest column first, within a column the purest cut first and then the middles of what it leaves on either side.
  void list_splits(const u64* set, Frame& f) {
    summarize(set);
    f.splits.clear();
    f.order.clear();
    for (std::size_t w = 0; w < test_words_; ++w) {
      const Word tests = word(w);
      f.parts[w] = tests.parts;
      f.pure_low[w] = tests.pure_low;
      f.pure_high[w] = tests.pure_high;
    }
    clear_seen();
    const std::vector<int> kinds(present_);
    std::vector<int>& total = kind_sizes_;
    total.clear();
    int size = 0;
    for (const int kind : kinds) {
      int count = 0;
      for (std::size_t w = 0; w < words_; ++w) count += std::popcount(set[w] & rows_.of_kind[at(kind) * words_ + w]);
      total.push_back(count);
      size += count;
    }
    u64 first_row = 0;
    std::size_t first_word = 0;
    while (set[first_word] == 0) ++first_word;
    first_row = set[first_word] & (~set[first_word] + 1);
    int column = -1, last_high = -1;
    for (std::size_t w = 0; w < test_words_; ++w) {
      board_.check_stop();
      for (u64 left = f.parts[w]; left != 0; left &= left - 1) {
        const int t = static_cast<int>(w * 64) + std::countr_zero(left);
        const u64* bits = rows_.high(t);
        double squares_low = 0, squares_high = 0;
        int high = 0;
        for (std::size_t k = 0; k < kinds.size(); ++k) {
          int count = 0;
          const u64* of_kind = &rows_.of_kind[at(kinds[k]) * words_];
          for (std::size_t v = 0; v < words_; ++v) count += std::popcount(set[v] & bits[v] & of_kind[v]);
          high += count;
          squares_high += static_cast<double>(count) * count;
          squares_low += static_cast<double>(total[k] - count) * (total[k] - count);
        }
        const bool same_column = rows_.column[at(t)] == column;
        if (rules_.same_split) {
          if (same_column && high == last_high) continue;  // low sides grow along a column
          // equal or complementary to a split of another column: compare the sides without the first row
          const u64 flip = (bits[first_word] & first_row) != 0 ? ~u64{0} : 0;
          u64 hash = 0;
          for (std::size_t v = 0; v < words_; ++v) {
            hash = (hash ^ (set[v] & (bits[v] ^ flip))) * 0xD6E8FEB86659FD93u;
            hash ^= hash >> 32;
          }
          if (seen_before(set, t, flip, hash, first_word, first_row)) continue;
        }
        const int me = static_cast<int>(f.splits.size());
        const bool chained = rules_.monotone && same_column;
        const bool low_pure = bit(f.pure_low, t), high_pure = bit(f.pure_high, t);
        const double score = squares_high / high + squares_low / (size - high);
        f.splits.push_back({t, chained ? me - 1 : -1, -1, score, low_pure ? 1 : 2,
                            high_pure ? 1 : 2, low_pure, high_pure, nullptr, nullptr});
        if (chained) f.splits[at(me - 1)].right = me;
        column = rows_.column[at(t)];
        last_high = high;
      }
    }
    order_splits(f);
  }

  // A table of the splits listed so far, by the hash of their sides without the first row; -1: a free place.
  void clear_seen() {
    if (seen_splits_.empty()) seen_splits_.resize(std::bit_ceil(2 * at(rows_.n_tests) + 2));
    std::fill(seen_splits_.begin(), seen_splits_.end(), std::pair<u64, int>(0, -1));
  }

  bool seen_before(const u64* set, int t, u64 flip, u64 hash, std::size_t first_word, u64 first_row) {
    const u64* bits = rows_.high(t);
    const std::size_t mask = seen_splits_.size() - 1;
    std::size_t place = hash & mask;
    for (; seen_splits_[place].second >= 0; place = (place + 1) & mask) {
      if (seen_splits_[place].first != hash) continue;
      const u64* other = rows_.high(seen_splits_[place].second);
      const u64 other_flip = (other[first_word] & first_row) != 0 ? ~u64{0} : 0;
      u64 differ = 0;
      for (std::size_t w = 0; w < words_; ++w) differ |= set[w] & (bits[w] ^ flip ^ other[w] ^ other_flip);
      if (differ == 0) return true;
    }
    seen_splits_[place] = {hash, t};
    return false;
  }

  void order_splits(Frame& f) {
    const int n = static_cast<int>(f.splits.size());
    column_spans_.clear();
    for (int i = 0; i < n;) {
      int best = i, last = i;
      while (f.splits[at(last)].right >= 0) {
        last = f.splits[at(last)].right;
        if (f.splits[at(last)].score > f.splits[at(best)].score) best = last;
      }
      column_spans_.push_back({f.splits[at(best)].score, i, best, last});
      i = last + 1;
    }
    std::stable_sort(column_spans_.begin(), column_spans_.end(), [](const ColumnSpan& a, const ColumnSpan& b) { return a.score > b.score; });
    for (const ColumnSpan& span : column_spans_) {
      f.order.push_back(span.best);
      halve(f.order, span.first, span.best - 1);
      halve(f.order, span.best + 1, span.last);
    }
  }

  static void halve(std::vector<int>& order, int first, int last) {
    if (first > last) return;
    const int middle = first + (last - first) / 2;
    order.push_back(middle);
    halve(order, first, middle - 1);
    halve(order, middle + 1, last);
  }

  // ------------------------------------------------------------------------------------------------------------ depth

  // Whether a tree of depth <= d is right on the set.
  bool feasible(Entry* e, int d) {
    if (d >= e->depth_upper) return true;
    if (d < e->depth_lower) return false;
    board_.check_stop();
    if (rules_.depth_bound && d > 2 && !e->bounded) {
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

  // A test whose sides are pure or parted by one test each; -1 if there is none. No entry is made.
  int depth_two(const u64* set, std::size_t level) {
    Frame& f = frame(level);
    ++board_.counts[kExpanded];
    summarize(set);
    for (std::size_t w = 0; w < test_words_; ++w) {
      const Word tests = word(w);
      f.parts[w] = tests.parts;
      f.pure_low[w] = tests.pure_low;
      f.pure_high[w] = tests.pure_high;
    }
    const auto low_works = [&](int t) {
      board_.check_stop();
      return bit(f.pure_low, t) || two_leaves(set, rows_.high(t), ~u64{0});
    };
    const auto high_works = [&](int t) { return bit(f.pure_high, t) || two_leaves(set, rows_.high(t), 0); };
    f.tests.clear();
    for (std::size_t w = 0; w < test_words_; ++w)
      for (u64 left = f.parts[w]; left != 0; left &= left - 1) f.tests.push_back(static_cast<int>(w * 64) + std::countr_zero(left));
    return last_low_then_high(f.tests, low_works, high_works);
  }

  // In a column, a cut works if its low side does, which by (M) all smaller cuts' low sides then do, and its high side
  // does, which all larger cuts' then do: only the largest cut whose low side works needs a look at its high side.
  template <class Low, class High>
  int last_low_then_high(const std::vector<int>& tests, const Low& low_works, const High& high_works) {
    for (std::size_t first = 0; first < tests.size();) {
      std::size_t end = first + 1;
      while (rules_.monotone && end < tests.size() && rows_.column[at(tests[end])] == rows_.column[at(tests[first])]) ++end;
      std::size_t works = first, fails = end;  // tests before `works` work on the low side, from `fails` they do not
      while (works < fails) {
        const std::size_t middle = works + (fails - works) / 2;
        if (low_works(tests[middle])) works = middle + 1; else fails = middle;
      }
      if (works > first && high_works(tests[works - 1])) return tests[works - 1];
      first = end;
    }
    return -1;
  }

  int deeper(Entry* e, int d, std::size_t level) {
    Frame& f = frame(level);
    ++board_.counts[kExpanded];
    const u64* set = cache_.words(e);
    list_splits(set, f);
    const auto low_works = [&](Split& split) {
      return split.low_pure || feasible(side(set, split, f, false), d - 1);
    };
    const auto high_works = [&](Split& split) {
      return split.high_pure || feasible(side(set, split, f, true), d - 1);
    };
    for (const ColumnSpan& span : std::vector<ColumnSpan>(column_spans_)) {
      int works = span.first, fails = span.last + 1;
      if (span.first == span.last) {
        Split& split = f.splits[at(span.first)];
        const bool ok = low_works(split) && high_works(split);
        if (ok) return split.test;
        continue;
      }
      while (works < fails) {
        const int middle = works + (fails - works) / 2;
        if (low_works(f.splits[at(middle)])) works = middle + 1; else fails = middle;
      }
      if (works > span.first && high_works(f.splits[at(works - 1)])) return f.splits[at(works - 1)].test;
    }
    return -1;
  }

  Entry* side(const u64* set, Split& split, Frame& f, bool high) {
    Entry*& known = high ? split.high : split.low;
    if (known != nullptr) return known;
    const u64* bits = rows_.high(split.test);
    for (std::size_t w = 0; w < words_; ++w) f.low[w] = set[w] & (high ? bits[w] : ~bits[w]);
    return known = entry(f.low.data());
  }

  // ----------------------------------------------------------------------------------------------------------- leaves

  Slot& slot(Entry* e, int d) {
    if (e->slots == nullptr) {
      void* raw = cache_.allocate(at(n_slots_) * sizeof(Slot));
      if (raw == nullptr) board_.out_of_memory();
      e->slots = static_cast<Slot*>(raw);
      for (int i = 0; i < n_slots_; ++i) new (&e->slots[i]) Slot;
    }
    Slot& s = e->slots[d == kAnyDepth ? 0 : d];
    if (s.lower < e->leaves_lower) s.lower = e->leaves_lower;
    if (d < e->depth_lower) s.lower = kNoTree;
    if (e->two && d >= 1) s.upper = 2;
    return s;
  }

  int leaves_bound(Entry* e, int d) { return e == nullptr ? 1 : slot(e, d).lower; }

  // f_d of the set if that is at most cap, else a lower bound on it greater than cap.
  int leaves(Entry* e, int d, int cap) {
    {
      const Slot& s = slot(e, d);
      if (s.lower > cap || s.lower == s.upper) return s.lower;
    }
    board_.check_stop();
    if (!e->bounded) {
      bound(e);
      const Slot& s = slot(e, d);
      if (s.lower > cap) {
        ++board_.counts[kBoundPrunings];
        ++bounds_pruned_;
        return s.lower;
      }
    }
    if (d != kAnyDepth && rules_.depth_bound && !feasible(e, d)) {
      ++board_.counts[kDepthPrunings];
      return slot(e, d).lower;
    }
    if (d == 1) return e->two ? 2 : kNoTree;
    const std::size_t level = level_++;
    const int result = search_leaves(e, d, cap, level);
    --level_;
    return result;
  }

  int search_leaves(Entry* e, int d, int cap, std::size_t level) {
    Frame& f = frame(level);
    ++board_.counts[kExpanded];
    const u64* set = cache_.words(e);
    const int below = d == kAnyDepth ? d : d - 1;
    list_splits(set, f);
    const int most = d < 28 ? std::min(cap, 1 << d) : cap;
    for (int k = slot(e, d).lower; k <= most; ++k) {
      for (const int i : f.order) {
        if (!split_within(set, f, i, below, k)) continue;
        Slot& s = slot(e, d);
        s.lower = s.upper = k;
        s.test = f.splits[at(i)].test;
        return k;
      }
      slot(e, d).lower = k + 1;
    }
    if (most < cap) slot(e, d).lower = kNoTree;  // 2^d leaves are not enough
    return slot(e, d).lower;
  }

  // Whether the i-th split leads to k leaves. What is learned of its sides holds for its column by (M): a lower bound of
  // a low side for all larger cuts, of a high side for all smaller ones.
  bool split_within(const u64* set, Frame& f, int i, int d, int k) {
    Split& split = f.splits[at(i)];
    if (split.low_bound + split.high_bound > k) return false;
    if (!split.low_pure) {
      side(set, split, f, false);
      raise_low(f, i, leaves_bound(split.low, d));
      if (split.low_bound + split.high_bound > k) return false;
    }
    if (!split.high_pure) {
      side(set, split, f, true);
      raise_high(f, i, leaves_bound(split.high, d));
      if (split.low_bound + split.high_bound > k) return false;
    }
    const bool low_first = split.high_pure || (!split.low_pure && split.low->size <= split.high->size);
    for (int turn = 0; turn < 2; ++turn) {
      const bool low = (turn == 0) == low_first;
      if (low && !split.low_pure) {
        raise_low(f, i, leaves(split.low, d, k - split.high_bound));
      } else if (!low && !split.high_pure) {
        raise_high(f, i, leaves(split.high, d, k - split.low_bound));
      }
      if (split.low_bound + split.high_bound > k) return false;
    }
    return true;
  }

  static void raise_low(Frame& f, int i, int bound) {
    for (; i >= 0 && f.splits[at(i)].low_bound < bound; i = f.splits[at(i)].right) f.splits[at(i)].low_bound = bound;
  }
  static void raise_high(Frame& f, int i, int bound) {
    for (; i >= 0 && f.splits[at(i)].high_bound < bound; i = f.splits[at(i)].left) f.splits[at(i)].high_bound = bound;
  }

  // ------------------------------------------------------------------------------------------------------------ trees

  // The tree whose root tests were noted when the bounds were proved.
  Tree known_tree(Entry* root, int depth, bool fewest) {
    Tree tree;
    grow_known(tree, std::vector<u64>(cache_.words(root), cache_.words(root) + words_), depth, fewest);
    return tree;
  }

  void grow_known(Tree& tree, const std::vector<u64>& set, int d, bool fewest) {
    const std::size_t node = tree.size();
    tree.push_back({-1, -1, -1});
    if (pure(set.data())) return;
    Entry* e = entry(set.data());
    int test = -1;
    if (e->two) {
      test = one_test(set.data());
    } else if (fewest) {
      test = slot(e, d).test;
    } else {
      feasible(e, d);  // known, unless the cache is off
      d = e->depth_upper;
      test = e->depth_test;
    }
    if (fewest && test < 0) {
      leaves(e, d, kNoTree - 1);
      test = slot(e, d).test;
    }
    std::vector<u64> low(words_), high(words_);
    part(set.data(), test, low.data(), high.data());
    if (d != kAnyDepth) --d;
    tree[node].test = rows_.original[at(test)];
    tree[node].low = static_cast<int>(tree.size());
    grow_known(tree, low, d, fewest);
    tree[node].high = static_cast<int>(tree.size());
    grow_known(tree, high, d, fewest);
  }

  // The first test that parts a set into two pure sides.
  int one_test(const u64* set) {
    summarize(set);
    for (std::size_t w = 0; w < test_words_; ++w) {
      const Word tests = word(w);
      const u64 both = tests.parts & tests.pure_low & tests.pure_high;
      if (both != 0) return static_cast<int>(w * 64) + std::countr_zero(both);
    }
    return -1;
  }

  // At every node the least test below which the best is possible in the depth left.
  Tree canonical_tree(Entry* root, int depth, bool fewest) {
    Tree tree;
    grow_canonical(tree, std::vector<u64>(cache_.words(root), cache_.words(root) + words_), depth, fewest);
    return tree;
  }

  void grow_canonical(Tree& tree, const std::vector<u64>& set, int d, bool fewest) {
    const std::size_t node = tree.size();
    tree.push_back({-1, -1, -1});
    if (pure(set.data())) return;
    Entry* e = entry(set.data());
    std::vector<u64> low(words_), high(words_);
    const int below = d == kAnyDepth ? d : d - 1;
    int test = -1;
    if (e->two && (fewest || d == 1)) {
      test = one_test(set.data());
    } else {
      const int goal = fewest ? leaves(e, d, kNoTree - 1) : 0;
      for (int t = 0; t < rows_.n_tests && test < 0; ++t) {
        board_.check_stop();
        part(set.data(), t, low.data(), high.data());
        if (size_of(low.data()) == 0 || size_of(high.data()) == 0) continue;
        Entry* one = pure(low.data()) ? nullptr : entry(low.data());
        Entry* other = pure(high.data()) ? nullptr : entry(high.data());
        if (fewest) {
          int a = leaves_bound(one, below), b = leaves_bound(other, below);
          if (a + b > goal) continue;
          if (one != nullptr) a = leaves(one, below, goal - b);
          if (a + b > goal) continue;
          if (other != nullptr) b = leaves(other, below, goal - a);
          if (a + b <= goal) test = t;
        } else if ((one == nullptr || feasible(one, below)) && (other == nullptr || feasible(other, below))) {
          test = t;
        }
      }
    }
    part(set.data(), test, low.data(), high.data());
    tree[node].test = rows_.original[at(test)];
    tree[node].low = static_cast<int>(tree.size());
    grow_canonical(tree, low, below, fewest);
    tree[node].high = static_cast<int>(tree.size());
    grow_canonical(tree, high, below, fewest);
  }

  static constexpr std::size_t kNear = 6;
  static constexpr std::size_t kMostWork = 1'000'000'000;  // words looked at for one bound, about a third of a second
  struct Opposite {
    int distance, row;
  };
  struct ColumnSpan {  // the splits of one column, and the purest of them
    double score;
    int first, best, last;
  };

  const Rows& rows_;
  Board& board_;
  const Rules& rules_;
  std::size_t words_, test_words_;
  Cache cache_;
  int n_slots_ = 1;
  std::size_t level_ = 0;
  std::vector<std::unique_ptr<Frame>> frames_;
  // scratch memory of the functions named
  std::vector<u64> some_, every_;  // summarize
  std::vector<int> present_;       // summarize
  std::vector<char> seen_;         // summarize
  std::vector<u64> candidates_;    // two_leaves
  std::vector<char> needed_;       // classes_needed
  i64 bounds_tried_ = 0, bounds_pruned_ = 0, bounds_skipped_ = 0;  // bound
  std::vector<std::vector<Opposite>> opposites_;  // list_opposites
  int listed_ = 0;                                // list_opposites: rows that are done
  std::vector<int> members_;       // find_near
  std::vector<Opposite> near_;     // find_near: kNear per member, those beyond the last have row -1
  std::vector<std::size_t> chosen_;  // clique
  std::vector<std::pair<int, int>> pairs_;  // packing: by distance
  std::vector<std::size_t> places_;  // packing
  std::vector<u64> used_tests_;    // packing
  std::vector<int> kind_sizes_;    // list_splits
  std::vector<std::pair<u64, int>> seen_splits_;  // list_splits
  std::vector<ColumnSpan> column_spans_;          // list_splits
};

}  // namespace

void search_sets(const Rows& rows, Board& board) { SetSearch(rows, board).run(); }
std::unique_ptr<Resumable> sets_search(const Rows& rows, Board& board) { return std::make_unique<SetSearch>(rows, board); }

}  // namespace proofwood::smallest
