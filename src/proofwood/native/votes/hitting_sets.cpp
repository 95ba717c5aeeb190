#include "votes/hitting_sets.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

namespace proofwood::votes {

namespace {

template <class Visit>
void each(const std::vector<std::uint64_t>& words, const Visit& visit) {
  for (std::size_t w = 0; w < words.size(); ++w)
    for (std::uint64_t left = words[w]; left != 0; left &= left - 1)
      visit(64 * w + static_cast<std::size_t>(std::countr_zero(left)));
}

bool has(const std::vector<std::uint64_t>& words, std::size_t at) { return (words[at / 64] >> (at % 64) & 1) != 0; }
void put(std::vector<std::uint64_t>& words, std::size_t at) { words[at / 64] |= std::uint64_t{1} << (at % 64); }
void drop(std::vector<std::uint64_t>& words, std::size_t at) { words[at / 64] &= ~(std::uint64_t{1} << (at % 64)); }

int common(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  int number = 0;
  for (std::size_t w = 0; w < a.size(); ++w) number += std::popcount(a[w] & b[w]);
  return number;
}

}  // namespace

HittingSets::HittingSets(int n_elements)
    : n_elements_(static_cast<std::size_t>(n_elements)),
      hits_(n_elements_),
      degree_(n_elements_),
      pull_(n_elements_),
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

void HittingSets::begin(int size) {
  size_ = static_cast<std::size_t>(size);
  frames_.resize(size_ + 1);
  depth_ = 1;
  known_ = 0;
  looked_ = false;
  Frame& root = frames_[0];
  root.unhit.assign((sets_.size() + 63) / 64, 0);
  root.allowed.assign((n_elements_ + 63) / 64, 0);
  for (std::size_t e = 0; e < n_elements_; ++e) put(root.allowed, e);
  root.element = -1;
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
      if (hits_all && !frame.found) {
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
  Frame& frame = frames_[depth_ - 1];
  Frame& child = frames_[depth_];
  const int element = frame.branches[frame.next++];
  drop(frame.allowed, static_cast<std::size_t>(element));
  child.element = element;
  child.allowed = frame.allowed;
  child.found = false;
  child.unhit = frame.unhit;
  const Words& hit = hits_[static_cast<std::size_t>(element)];
  for (std::size_t w = 0; w < child.unhit.size(); ++w) child.unhit[w] &= ~hit[w];
  ++depth_;
  looked_ = false;
}

// Finds the branches; false if the budget does not suffice.
bool HittingSets::open(Frame& frame) {
  const std::size_t budget = size_ - (depth_ - 1);
  if (budget == 0) return false;
  for (auto& sets : bucket_) sets.clear();
  bool blocked = false;
  std::size_t least = n_elements_;
  each(frame.unhit, [&](std::size_t s) {
    const auto size = static_cast<std::size_t>(common(sets_[s], frame.allowed));
    blocked |= size == 0;
    least = std::min(least, size);
    bucket_[size].push_back(static_cast<int>(s));
  });
  if (blocked || too_many(frame, budget) || too_many_by_weight(frame, budget)) return false;
  // Of the sets with the fewest elements the one whose elements hit the fewest others: branches are then closed soon.
  long fewest = -1;
  std::size_t best = 0;
  for (const int s : bucket_[least]) {
    long hit = 0;
    each(sets_[static_cast<std::size_t>(s)], [&](std::size_t e) { hit += has(frame.allowed, e) ? degree_[e] : 0; });
    if (fewest < 0 || hit < fewest) fewest = hit, best = static_cast<std::size_t>(s);
  }
  frame.branches.clear();
  each(sets_[best], [&](std::size_t e) {
    if (has(frame.allowed, e)) frame.branches.push_back(static_cast<int>(e));
  });
  std::stable_sort(frame.branches.begin(), frame.branches.end(), [&](int a, int b) {
    return degree_[static_cast<std::size_t>(a)] > degree_[static_cast<std::size_t>(b)];
  });
  return true;
}

// Disjoint sets need an element each; and the elements in the most sets are in too few.
bool HittingSets::too_many(const Frame& frame, std::size_t budget) {
  Words taken(frame.allowed.size());
  std::size_t disjoint = 0;
  int number = 0;
  for (const auto& sets : bucket_) {
    number += static_cast<int>(sets.size());
    for (const int s : sets) {
      const Words& set = sets_[static_cast<std::size_t>(s)];
      bool apart = true;
      for (std::size_t w = 0; w < taken.size() && apart; ++w) apart = (set[w] & frame.allowed[w] & taken[w]) == 0;
      if (!apart) continue;
      if (++disjoint > budget) return true;
      for (std::size_t w = 0; w < taken.size(); ++w) taken[w] |= set[w];
    }
  }
  std::vector<int> most;
  std::fill(degree_.begin(), degree_.end(), 0);
  each(frame.allowed, [&](std::size_t e) {
    degree_[e] = common(frame.unhit, hits_[e]);
    if (degree_[e] > 0) most.push_back(degree_[e]);
  });
  if (most.size() <= budget) return false;
  std::partial_sort(most.begin(), most.begin() + static_cast<std::ptrdiff_t>(budget), most.end(), std::greater<>());
  return std::accumulate(most.begin(), most.begin() + static_cast<std::ptrdiff_t>(budget), 0) < number;
}

// The same with a weight for each set: the inverse of the number of sets that its most frequent element is in. Then no
// element has more than 1, so that the sum of the weights is a bound, and the heaviest elements give a better one.
bool HittingSets::too_many_by_weight(const Frame& frame, std::size_t budget) {
  std::fill(pull_.begin(), pull_.end(), 0.0);
  double total = 0;
  for (const auto& sets : bucket_)
    for (const int s : sets) {
      int most = 1;
      const Words& set = sets_[static_cast<std::size_t>(s)];
      each(set, [&](std::size_t e) { most = std::max(most, degree_[e]); });
      const double weight = 1.0 / most;
      total += weight;
      each(set, [&](std::size_t e) { pull_[e] += weight; });
    }
  std::vector<double> heaviest;
  each(frame.allowed, [&](std::size_t e) {
    if (pull_[e] > 0) heaviest.push_back(pull_[e]);
  });
  if (heaviest.size() <= budget) return false;
  const auto end = heaviest.begin() + static_cast<std::ptrdiff_t>(budget);
  std::partial_sort(heaviest.begin(), end, heaviest.end(), std::greater<>());
  constexpr double kRounding = 1e-6;  // sums of at most some thousands of numbers up to 1
  return std::accumulate(heaviest.begin(), end, 0.0) < total * (1 - kRounding);
}

}  // namespace proofwood::votes
