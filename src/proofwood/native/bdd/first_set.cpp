// The first set of the subset search: greedy, then exchanges of two tests, from it and from random sets.
//
// Theory: docs/theory/decision-diagrams.md, "Choosing the tests: branch and bound over sets".
// The problem is that of Hu, Huguet, Siala, AAAI 2022 (MaxSAT-BDD); the search is ours.
#include <algorithm>
#include <limits>
#include <stdexcept>

#include "bdd/worker.hpp"

namespace proofwood::bdd {

// The node of `set`, over bits with every other test as a candidate; returns its error.
i64 Search::Worker::refine_all(const Set& set, Node& node) {
  Node one, two;
  start(one);
  for (const u32 test : set) {
    refine(one, test, two);
    std::swap(one, two);
  }
  node = std::move(one);
  node.candidates.clear();
  if (table.by_rank) return node.error;  // cuts are looked at along their columns
  for (u32 t = 0; t < table.tests; ++t)
    if (std::find(set.begin(), set.end(), t) == set.end()) node.candidates.push_back(t);
  return node.error;
}

// Removes two tests and adds the best two instead, while that lowers the error; with very many tests, one and one.
void Search::Worker::improve(Set& set, i64& error) {
  constexpr u32 kMostForPairs = 600;
  const bool pairs = !table.by_rank && table.tests <= kMostForPairs && set.size() >= 2;
  Node node;
  for (bool better = true; better && error > 0 && !search.stopped();) {
    better = false;
    for (std::size_t i = 0; i < set.size() && error > 0; ++i) {
      for (std::size_t j = pairs ? i + 1 : i; j < (pairs ? set.size() : i + 1) && !search.stopped(); ++j) {
        Set rest;
        for (std::size_t p = 0; p < set.size(); ++p)
          if (p != i && p != j) rest.push_back(set[p]);
        refine_all(rest, node);
        if (pairs) {
          const Pairs best = best_pair(node, node.candidates, error);
          if (best.error >= error) continue;
          rest.push_back(node.candidates[best.first]);
          rest.push_back(node.candidates[best.second]);
          error = best.error;
        } else {
          const auto [least, test] = best_single(node, rest);
          if (search.stopped() || least >= error) continue;
          rest.push_back(test);
          error = least;
        }
        set = rest;
        better = true;
      }
    }
  }
}

// Adds the best test again and again, and improves what that comes to.
void Search::Worker::grow(Set set) {
  const u32 size = std::min(search.settings_.size, table.tests);
  Node node;
  i64 error = refine_all(set, node);
  search.offer(error, set);
  while (set.size() < size && error > 0 && !search.stopped()) {
    const u32 test = best_single(node, set).second;
    if (search.stopped()) break;  // not all tests were looked at
    set.push_back(test);
    error = refine_all(set, node);
    search.offer(error, set);
  }
  improve(set, error);
  search.offer(error, set);
}

// From sets that are given. Of one with too many tests those that leave the least error stay: one test after the other
// is dropped.
void Search::Worker::complete_starts() {
  for (const Set& start : search.settings_.starts) {
    Set set;
    for (const u32 number : start) {
      if (number >= table.same_as.size()) throw std::invalid_argument("a test of a start is none of this table");
      if (table.same_as[number] != kNoTest) set.push_back(table.same_as[number]);
    }
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    Node node;
    while (set.size() > std::min(search.settings_.size, table.tests)) {
      i64 least = std::numeric_limits<i64>::max();
      std::size_t spare = 0;
      for (std::size_t i = 0; i < set.size(); ++i) {
        Set rest = set;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
        const i64 error = refine_all(rest, node);
        if (error < least) least = error, spare = i;
      }
      set.erase(set.begin() + static_cast<std::ptrdiff_t>(spare));
    }
    if (search.stopped()) return;
    grow(std::move(set));
  }
}

void Search::Worker::greedy() {
  grow({});
  const u32 size = std::min(search.settings_.size, table.tests);
  const i64& least = search.greedy_.error;
  for (u32 turn = 0; turn < search.settings_.restarts && size < table.tests && least > 0 && !search.stopped(); ++turn) {
    Set set = random_set({}, size);
    Node node;
    i64 error = refine_all(set, node);
    improve(set, error);
    search.offer(error, set);
  }
}

// `set` completed by random tests to the number `size`: the same ones in every run.
Set Search::Worker::random_set(Set set, u32 size) {
  while (set.size() < size) {
    random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;  // xorshift64
    const auto test = static_cast<u32>(random_ % table.tests);
    if (std::find(set.begin(), set.end(), test) == set.end()) set.push_back(test);
  }
  return set;
}

}  // namespace proofwood::bdd
