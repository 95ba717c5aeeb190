#include "common/hitting_sets.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

namespace proofwood {

namespace {

template <class Visit>
void each(const std::vector<u64>& words, const Visit& visit) {
  for (std::size_t w = 0; w < words.size(); ++w)
    for (u64 left = words[w]; left != 0; left &= left - 1)
      visit(64 * w + static_cast<std::size_t>(std::countr_zero(left)));
}

bool has(const std::vector<u64>& words, std::size_t at) { return (words[at / 64] >> (at % 64) & 1) != 0; }
void put(std::vector<u64>& words, std::size_t at) { words[at / 64] |= u64{1} << (at % 64); }
void drop(std::vector<u64>& words, std::size_t at) { words[at / 64] &= ~(u64{1} << (at % 64)); }

int common(const std::vector<u64>& a, const std::vector<u64>& b) {
  int number = 0;
  for (std::size_t w = 0; w < a.size(); ++w) number += std::popcount(a[w] & b[w]);
  return number;
}

}  // namespace

HittingSets::HittingSets(std::vector<i64> weights)
    : weights_(std::move(weights)),
      n_elements_(weights_.size()),
      hits_(n_elements_),
      left_(n_elements_),
      degree_(n_elements_),
      bucket_(n_elements_ + 1) {}

void HittingSets::add(const std::vector<int>& elements) {
  Words set((n_elements_ + 63) / 64);
  const std::size_t number = sets_.size(), words = number / 64 + 1;
  for (auto& hit : hits_) hit.resize(words);
  for (const int element : elements) {
    put(set, static_cast<std::size_t>(element));
    put(hits_[static_cast<std::size_t>(element)], number);
  }
  sets_.push_back(std::move(set));
}

void HittingSets::begin(i64 most) {
  most_ = most;
  if (frames_.empty()) frames_.emplace_back();
  depth_ = 1;
  known_ = 0;
  looked_ = false;
  Frame& root = frames_[0];
  root.unhit.assign((sets_.size() + 63) / 64, 0);
  root.allowed.assign((n_elements_ + 63) / 64, 0);
  for (std::size_t e = 0; e < n_elements_; ++e) put(root.allowed, e);
  root.found = false;
}

std::vector<int> HittingSets::chosen() const {
  std::vector<int> elements;
  for (std::size_t d = 1; d < depth_; ++d) elements.push_back(frames_[d].element);
  return elements;
}

// Sets that came in since the last call go to all frames that miss them.
void HittingSets::take_in() {
  for (std::size_t d = 0; d < depth_; ++d) frames_[d].unhit.resize((sets_.size() + 63) / 64);
  for (; known_ < sets_.size(); ++known_)
    for (std::size_t d = 0; d < depth_; ++d) {
      if (d > 0 && has(sets_[known_], static_cast<std::size_t>(frames_[d].element))) break;
      put(frames_[d].unhit, known_);
    }
}

HittingSets::Ended HittingSets::run(Watch& watch) {
  take_in();
  while (depth_ > 0) {
    if (watch.over()) return Ended::kStopped;
    Frame& frame = frames_[depth_ - 1];
    if (!looked_) {
      ++nodes_;
      const bool hits_all = std::all_of(frame.unhit.begin(), frame.unhit.end(), [](auto word) { return word == 0; });
      if (hits_all && !frame.found && frame.weight <= most_) {
        frame.found = true;
        return Ended::kFound;
      }
      if (hits_all || !open(frame)) frame.branches.clear();
      frame.next = 0;
      looked_ = true;
    }
    if (frame.next < frame.branches.size())
      descend();
    else
      --depth_;
  }
  return Ended::kNone;
}

// One element of the set to be hit is chosen; the next branches do without it.
void HittingSets::descend() {
  if (frames_.size() == depth_) frames_.emplace_back();
  Frame& frame = frames_[depth_ - 1];
  Frame& child = frames_[depth_];
  const auto element = static_cast<std::size_t>(frame.branches[frame.next++]);
  drop(frame.allowed, element);
  child.element = static_cast<int>(element);
  child.weight = frame.weight + weights_[element];
  child.allowed = frame.allowed;
  child.found = false;
  child.unhit = frame.unhit;
  for (std::size_t w = 0; w < child.unhit.size(); ++w) child.unhit[w] &= ~hits_[element][w];
  ++depth_;
  looked_ = false;
}

// Finds the branches; false if the budget does not suffice.
bool HittingSets::open(Frame& frame) {
  const i64 budget = most_ - frame.weight;
  if (budget <= 0) return false;
  for (auto& sets : bucket_) sets.clear();
  std::size_t least = n_elements_;
  each(frame.unhit, [&](std::size_t s) {
    const auto size = static_cast<std::size_t>(common(sets_[s], frame.allowed));
    least = std::min(least, size);
    bucket_[size].push_back(static_cast<int>(s));
  });
  if (least == 0 || too_dear(frame, budget)) return false;
  each(frame.allowed, [&](std::size_t e) { degree_[e] = common(frame.unhit, hits_[e]); });
  if (too_many(frame, budget)) return false;
  choose_branches(frame, least);
  return true;
}

// Of the sets with the fewest elements the one whose elements hit the most others: little is left to hit.
void HittingSets::choose_branches(Frame& frame, std::size_t least) {
  long most = -1;
  std::size_t best = 0;
  for (const int s : bucket_[least]) {
    long hit = 0;
    each(sets_[static_cast<std::size_t>(s)], [&](std::size_t e) { hit += has(frame.allowed, e) ? degree_[e] : 0; });
    if (hit <= most) continue;
    most = hit;
    best = static_cast<std::size_t>(s);
  }
  frame.branches.clear();
  each(sets_[best], [&](std::size_t e) {
    if (has(frame.allowed, e)) frame.branches.push_back(static_cast<int>(e));
  });
  const auto rank = [&](int e) {
    return degree_[static_cast<std::size_t>(e)] / static_cast<double>(weights_[static_cast<std::size_t>(e)]);
  };
  std::stable_sort(frame.branches.begin(), frame.branches.end(), [&](int a, int b) { return rank(a) > rank(b); });
}

// A packing: each set takes what all of its elements have left. Every hitting set pays for all that is taken, and for a
// chosen element what it has left besides: elements that have more left than the budget are not allowed any more.
bool HittingSets::too_dear(Frame& frame, i64 budget) {
  left_ = weights_;
  Words spent(frame.allowed.size());  // elements that have nothing left
  for (const auto& sets : bucket_)
    for (const int s : sets) {
      const Words& set = sets_[static_cast<std::size_t>(s)];
      bool open = true;
      for (std::size_t w = 0; w < spent.size() && open; ++w) open = (set[w] & frame.allowed[w] & spent[w]) == 0;
      if (!open) continue;
      i64 taken = std::numeric_limits<i64>::max();
      const auto each_allowed = [&](const auto& visit) {
        each(set, [&](std::size_t e) {
          if (has(frame.allowed, e)) visit(e);
        });
      };
      each_allowed([&](std::size_t e) { taken = std::min(taken, left_[e]); });
      each_allowed([&](std::size_t e) {
        left_[e] -= taken;
        if (left_[e] == 0) put(spent, e);
      });
      budget -= taken;
      if (budget < 0) return true;
    }
  each(frame.allowed, [&](std::size_t e) {
    if (left_[e] > budget) drop(frame.allowed, e);
  });
  return false;
}

// Elements of the weight permitted that are in the most sets, one of them in part, are in too few.
bool HittingSets::too_many(const Frame& frame, i64 budget) {
  double total = 0;
  for (const auto& sets : bucket_) total += static_cast<double>(sets.size());
  best_.clear();
  each(frame.allowed, [&](std::size_t e) {
    if (degree_[e] > 0) best_.emplace_back(degree_[e] / static_cast<double>(weights_[e]), e);
  });
  std::make_heap(best_.begin(), best_.end());
  constexpr double kRounding = 1e-6;  // sums of shares of whole numbers
  total *= 1 - kRounding;
  for (; !best_.empty() && budget > 0 && total > 0; best_.pop_back()) {
    std::pop_heap(best_.begin(), best_.end());
    const auto [rate, e] = best_.back();
    total -= rate * static_cast<double>(std::min(budget, weights_[e]));
    budget -= weights_[e];
  }
  return total > 0;
}

}  // namespace proofwood
