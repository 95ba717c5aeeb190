// The first set of the subset search: greedy, then exchanges of two tests, from it and from random sets.
//
// Theory: docs/theory/decision-diagrams.md, "Choosing the tests: branch and bound over sets".
// The problem is that of Hu, Huguet, Siala, AAAI 2022 (MaxSAT-BDD); the search is ours.
#include <algorithm>

#include "bdd/worker.hpp"

namespace proofwood::bdd {

// The node of `set` with every other test as a candidate; returns its error.
i64 Search::Worker::refine_all(const Set& set, Node& node) {
  Node one, two;
  start(one);
  for (const u32 test : set) {
    refine(one, test, two);
    std::swap(one, two);
  }
  node = std::move(one);
  node.candidates.clear();
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
          const auto [least, choice] = best_single(node);
          if (search.stopped() || least >= error) continue;
          rest.push_back(node.candidates[choice]);
          error = least;
        }
        set = rest;
        better = true;
      }
    }
  }
}

void Search::Worker::greedy() {
  const u32 size = std::min(search.settings_.size, table.tests);
  Node node;
  Set set;
  i64 error = refine_all(set, node);
  search.offer(error, set);
  while (set.size() < size && error > 0 && !search.stopped()) {
    const u32 test = node.candidates[best_single(node).second];
    if (search.stopped()) break;  // not all candidates were looked at
    set.push_back(test);
    error = refine_all(set, node);
    search.offer(error, set);
  }
  improve(set, error);
  search.offer(error, set);
  u64 state = 88172645463325252u;  // xorshift64: restarts are the same in every run
  for (u32 turn = 0; turn < search.settings_.restarts && size < table.tests && search.upper() > 0 && !search.stopped();
       ++turn) {
    set.clear();
    while (set.size() < size) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      const auto test = static_cast<u32>(state % table.tests);
      if (std::find(set.begin(), set.end(), test) == set.end()) set.push_back(test);
    }
    error = refine_all(set, node);
    improve(set, error);
    search.offer(error, set);
  }
}

}  // namespace proofwood::bdd
