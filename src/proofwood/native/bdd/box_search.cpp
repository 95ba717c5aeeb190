// The box of the best bound is halved until no box can hold a better set, or a set that comes first among equal ones.
//
// Theory: docs/theory/decision-diagrams.md, "Boxes of cuts".
#include <algorithm>
#include <condition_variable>
#include <limits>
#include <map>

#include "bdd/boxes.hpp"
#include "bdd/worker.hpp"
#include "common/memory.hpp"
#include "common/threads.hpp"

namespace proofwood::bdd {

struct Search::BoxSearch final : Answers {
  BoxSearch(Search& given, Worker& first)
      : search(given),
        table(given.table_),
        grid(given.table_, given.kernels_, given.stop_),
        size(given.settings_.size),
        improver_(first) {
    replaces_ = !search.settings_.collect && search.has_set();
    if (replaces_) key_ = key_of(search.run_.answer());
  }

  void run() {
    if (search.stopped()) return;
    add_roots();
    const int n_workers = static_cast<int>(search.settings_.collect ? 1 : std::max(search.settings_.threads, 1u));
    at_work_.assign(static_cast<std::size_t>(n_workers), kNothing);
    run_workers(n_workers, [&](int w) { work(static_cast<std::size_t>(w)); }, [&] { search.stop_ = -1; });
    if (!search.settings_.collect) prove();
    for (const auto& [numbers, set] : listed_) search.collected_[0].push_back(set);
    search.gathered_[0] = search.collected_[0].size();
  }

 private:
  static constexpr i64 kNothing = std::numeric_limits<i64>::max();
  static constexpr std::size_t kMostOpen = std::size_t{1} << 22;
  static constexpr int kShareOfTurns = 4;

  // ------------------------------------------------------------------ which sets are of interest

  bool stopped() const override { return search.stopped(); }

  i64 limit() const override { return search.upper() + (replaces_.load(std::memory_order_relaxed) ? 1 : 0); }

  bool ruled_out(i64 bound, const Set& first) override {
    if (bound > search.upper()) return true;
    if (search.settings_.collect) {
      if (bound == search.upper()) return true;
      return listed_.size() > search.settings_.max_sets && first >= std::prev(listed_.end())->first;
    }
    if (bound < search.upper()) return false;
    const std::lock_guard lock(answer_);
    return bound > search.upper() || !replaces_ || first >= key_;
  }

  void found(i64 error, const Set& numbers, const Set& places) override {
    if (search.settings_.collect) {
      list(numbers, places);
      return;
    }
    Set tests;
    for (const u32 place : places) tests.push_back(table.test_at[place]);
    std::sort(tests.begin(), tests.end());
    tests.erase(std::unique(tests.begin(), tests.end()), tests.end());
    offer(error, tests);
  }

  void offer(i64 error, const Set& tests) {
    const Set key = key_of(tests);
    const std::lock_guard lock(answer_);
    if (error < search.upper())
      search.offer(error, tests);
    else if (error == search.upper() && replaces_ && key < key_)
      search.run_.replace(tests);
    else
      return;
    key_ = key;
    replaces_ = true;
  }

  // Local search goes on beside the proof, from random sets and from the best one with some random tests. It has a
  // fifth of the time, and waits at first: what is proved soon needs no better set.
  void improve_now_and_then() {
    using Clock = std::chrono::steady_clock;
    if (search.settings_.restarts == 0 || search.settings_.collect || Clock::now() < next_turn_) return;
    const auto begun = Clock::now();
    Set kept;
    if (++turns_ % 2 == 0 && search.has_set()) {
      kept = search.run_.answer();
      for (u32 drop = 0; drop < 2 && !kept.empty(); ++drop) {
        const Set chosen = improver_.random_set({}, 1);
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(chosen[0] % kept.size()));
      }
    }
    Set set = improver_.random_set(kept, std::min(size, table.tests));
    Node node;
    i64 error = improver_.refine_all(set, node);
    improver_.improve(set, error);
    if (!stopped()) offer(error, set);
    next_turn_ = Clock::now() + kShareOfTurns * (Clock::now() - begun);
  }

  // Numbers of the tests, ascending, the last one repeated: in the order of these come the sets in theirs.
  Set key_of(const Set& tests) const {
    Set numbers;
    for (const u32 test : tests) numbers.push_back(table.number[test]);
    std::sort(numbers.begin(), numbers.end());
    if (!numbers.empty()) numbers.resize(size, numbers.back());
    return numbers;
  }

  // A set of fewer tests is one that repeats its last one, and is listed as that alone.
  void list(const Set& numbers, const Set& places) {
    Set tests;
    for (u32 t = 0; t < size; ++t) {
      const u32 test = table.test_at[places[t]];
      if (table.raw_of[test] != places[t]) return;  // stands for a test of an earlier column
      if (t > 0 && numbers[t] == numbers[t - 1]) {
        if (numbers[t] != numbers.back()) return;
        continue;
      }
      tests.push_back(test);
    }
    listed_.emplace(numbers, std::move(tests));
    if (listed_.size() > search.settings_.max_sets + 1) listed_.erase(std::prev(listed_.end()));
  }

  // ------------------------------------------------------------------ boxes

  Set first_of(const Box& box) const {
    Set first(size);
    for (u32 t = 0; t < size; ++t) {
      const Stretch& s = box.tests[t];
      first[t] = table.number_at[table.raw_begin[s.column] + grid.cut(s.column, s.lo)];
    }
    return first;
  }

  // Whether `a` is looked at after `b`.
  bool after(const Box& a, const Box& b) const {
    return search.settings_.collect ? first_of(a) > first_of(b) : a.bound > b.bound;
  }

  void push(const Box& box) {
    open_.push_back(box);
    std::push_heap(open_.begin(), open_.end(), [this](const Box& a, const Box& b) { return after(a, b); });
  }

  Box pop() {
    std::pop_heap(open_.begin(), open_.end(), [this](const Box& a, const Box& b) { return after(a, b); });
    const Box box = open_.back();
    open_.pop_back();
    return box;
  }

  // One box for each choice of columns, in ascending order; that of the empty set is known.
  void add_roots() {
    if (grid.columns() == 0 || size == 0) return;
    Box box{0, {}};
    std::vector<u32> columns(size, 0);
    const auto has_sets = [&] {  // two tests of a column of one cut are one, and that is the last
      for (u32 t = 0; t + 1 < size; ++t)
        if (columns[t] == columns[t + 1] && columns[t] != columns.back() && single(columns[t])) return false;
      return true;
    };
    while (!search.stopped()) {
      if (has_sets()) {
        for (u32 t = 0; t < size; ++t)
          box.tests[t] = {static_cast<std::uint16_t>(columns[t]), 0,
                          static_cast<std::uint16_t>(grid.places(columns[t]) - 1)};
        push(box);
      }
      u32 t = size;
      while (t > 0 && columns[t - 1] + 1 == grid.columns()) --t;
      if (t == 0) return;
      std::fill(columns.begin() + (t - 1), columns.end(), columns[t - 1] + 1);
    }
  }

  bool single(u32 column) const { return grid.places(column) == 1; }

  // Cuts of one column ascend; false if that leaves no set.
  bool ascend(Box& box) const {
    for (u32 t = 0; t + 1 < size; ++t)
      if (box.tests[t].column == box.tests[t + 1].column)
        box.tests[t + 1].lo = std::max(box.tests[t + 1].lo, box.tests[t].lo);
    for (u32 t = size - 1; t > 0; --t)
      if (box.tests[t].column == box.tests[t - 1].column)
        box.tests[t - 1].hi = std::min(box.tests[t - 1].hi, box.tests[t].hi);
    return std::all_of(box.tests.begin(), box.tests.begin() + size, [](const Stretch& s) { return s.lo <= s.hi; });
  }

  // Appends the halves of a box that may hold a set of interest; a box in one field is searched instead.
  void halve(const Box& box, FieldSearch& field, std::vector<Box>& halves) {
    if (ruled_out(box.bound, first_of(box))) return;
    u32 widest = size, most = 0;
    for (u32 t = 0; t < size; ++t) {
      const Stretch& s = box.tests[t];
      if (s.hi - s.lo < 2 || (widest < size && grid.open_rows(s) <= most)) continue;
      widest = t;
      most = grid.open_rows(s);
    }
    if (widest == size) {
      field.run(box, *this);
      return;
    }
    const Stretch whole = box.tests[widest];
    const auto middle = static_cast<std::uint16_t>((whole.lo + whole.hi) / 2);
    const std::array<Stretch, 2> choice{Stretch{whole.column, whole.lo, middle}, {whole.column, middle, whole.hi}};
    const std::array<i64, 2> errors = grid.errors(box, size, widest, choice, limit());
    for (const u32 which : {0u, 1u}) {
      Box half = box;
      half.tests[widest] = choice[which];
      half.bound = std::max(box.bound, errors[which]);
      if (ascend(half) && !ruled_out(half.bound, first_of(half))) halves.push_back(half);
    }
  }

  // ------------------------------------------------------------------ workers

  void work(std::size_t w) {
    FieldSearch field(grid, size);
    std::vector<Box> halves;
    std::unique_lock lock(boxes_);
    i64 nodes = 0;
    while (!stopped()) {
      if (open_.empty()) {
        if (std::all_of(at_work_.begin(), at_work_.end(), [](i64 bound) { return bound == kNothing; })) break;
        news_.wait_for(lock, std::chrono::milliseconds(20));
        continue;
      }
      const Box box = pop();
      at_work_[w] = box.bound;
      prove_now_and_then();
      if (w == 0) {
        lock.unlock();
        improve_now_and_then();
        lock.lock();
      }
      const bool full = open_.size() >= kMostOpen || memory_is_short();
      lock.unlock();
      halves.assign(1, box);
      do {  // to the end where no box more can be kept
        const Box next = halves.back();
        halves.pop_back();
        halve(next, field, halves);
        ++nodes;
      } while (full && !halves.empty() && !stopped());
      lock.lock();
      for (const Box& half : halves) push(half);
      if (!stopped()) at_work_[w] = kNothing;
      news_.notify_all();
    }
    news_.notify_all();
    lock.unlock();
    const std::lock_guard counting(search.mutex_);
    search.counters_[kBoxes] += nodes;
    search.counters_[kFieldNodes] += field.nodes();
  }

  // Under the lock of the boxes, or when no worker is left.
  void prove() {
    i64 bound = open_.empty() ? kNothing : open_.front().bound;
    for (const i64 other : at_work_) bound = std::min(bound, other);
    search.run_.prove(std::min(bound, search.upper()));
  }

  void prove_now_and_then() {
    const auto now = std::chrono::steady_clock::now();
    if (search.settings_.collect || now - proved_ < std::chrono::milliseconds(5)) return;
    proved_ = now;
    prove();
  }

  Search& search;
  const Table& table;
  const CutGrid grid;
  const u32 size;

  std::mutex answer_;
  std::atomic<bool> replaces_{false};  // whether a set of equal error that comes before the best one replaces it
  Set key_;
  std::map<Set, Set> listed_;  // collect: the first sets of interest

  Worker& improver_;
  u64 turns_ = 0;
  std::chrono::steady_clock::time_point next_turn_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);

  std::mutex boxes_;
  std::condition_variable news_;
  std::vector<Box> open_;     // a heap
  std::vector<i64> at_work_;  // bound of the box that each worker is at
  std::chrono::steady_clock::time_point proved_;
};

void Search::search_boxes(Worker& first) {
  const Node& root = first.nodes[0];
  if (root.error < upper()) first.found(root.error, root.chosen);
  if (stopped() || (upper() <= 0 && !settings_.collect)) return;
  BoxSearch boxes(*this, first);
  boxes.run();
}

}  // namespace proofwood::bdd
