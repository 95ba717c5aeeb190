#include "born_again/restrictions.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace proofwood::born_again {

using votes::z;

Restrictions::Restrictions(const votes::Model& model, bool ties_low, i64 margin)
    : model_(model), ties_low_(ties_low), margin_(margin), stump_of_(z(model.n_variables), -1) {
  int bits = model.n_leaves;
  for (const auto& clause : model.clauses)
    for (const votes::Literal literal : clause)
      if (int& stump = stump_of_[z(literal >> 1)]; stump < 0) {
        stump = bits;
        bits += 2;
      }
  words_ = (z(bits) + 63) / 64;
  kept_.assign(z(model.n_variables) * 2 * words_, ~u64{0});
  for (int c = 0; c < model.n_columns; ++c) {
    // From one threshold to the next the low side gains leaves, and the high side loses some.
    const int first = model.first[z(c)], end = model.first[z(c) + 1];
    std::vector<std::vector<int>> gained(z(end - first + 1)), lost(z(end - first + 1));
    for (int l = model.limits_of[z(c)]; l < model.limits_of[z(c) + 1]; ++l) {
      const auto& limit = model.limits[z(l)];
      gained[z(limit.low)].push_back(limit.leaf);
      lost[z(limit.high)].push_back(limit.leaf);
    }
    for (int other = first; other < end; ++other) {  // a bound implies those on its side
      const int stump = stump_of_[z(other)];
      if (stump < 0) continue;
      gained[z(other - first + 1)].push_back(stump);
      lost[z(other - first)].push_back(stump + 1);
    }
    std::vector<u64> low(words_, ~u64{0}), high(words_, ~u64{0});
    for (int cell = 1; cell <= end - first; ++cell)
      for (const int bit : gained[z(cell)]) low[z(bit) / 64] &= ~(u64{1} << (bit % 64));
    for (int v = first; v < end; ++v) {
      if (v > first)
        for (const int bit : gained[z(v - first)]) low[z(bit) / 64] |= u64{1} << (bit % 64);
      for (const int bit : lost[z(v - first)]) high[z(bit) / 64] &= ~(u64{1} << (bit % 64));
      std::copy(low.begin(), low.end(), &kept_[z(v) * 2 * words_]);
      std::copy(high.begin(), high.end(), &kept_[(z(v) * 2 + 1) * words_]);
    }
  }
}

std::vector<u64> Restrictions::whole() const {
  std::vector<u64> set(words_, 0);
  int bits = model_.n_leaves;
  for (const int stump : stump_of_)
    if (stump >= 0) bits += 2;
  for (int bit = 0; bit < bits; ++bit) set[z(bit) / 64] |= u64{1} << (bit % 64);
  return set;
}

int Restrictions::size(const u64* set) const {
  int n = 0;
  for (std::size_t w = 0; w < words_; ++w) n += std::popcount(set[w]);
  return n;
}

int Restrictions::first_left(const u64* set, int tree) const {
  for (int leaf = model_.leaves_of[z(tree)]; leaf < model_.leaves_of[z(tree) + 1]; ++leaf)
    if (has(set, z(leaf))) return leaf;
  return -1;
}

bool Restrictions::several_left(const u64* set, int tree) const {
  for (int leaf = first_left(set, tree) + 1; leaf < model_.leaves_of[z(tree) + 1]; ++leaf)
    if (has(set, z(leaf))) return true;
  return false;
}

Restrictions::Clauses Restrictions::clauses(const u64* set, int* open_variable) const {
  Clauses found = Clauses::kTrue;
  for (const auto& clause : model_.clauses) {
    bool holds = false;
    int open = -1;
    for (const votes::Literal literal : clause) {
      const std::size_t stump = z(stump_of_[z(literal >> 1)]);
      const bool may_hold = has(set, stump + ((literal & 1) == 0 ? 0 : 1));
      const bool may_fail = has(set, stump + ((literal & 1) == 0 ? 1 : 0));
      holds = holds || !may_fail;
      if (may_hold && may_fail) open = literal >> 1;
    }
    if (holds) continue;
    if (open < 0) return Clauses::kFalse;
    found = Clauses::kOpen;
    *open_variable = open;
  }
  return found;
}

bool Restrictions::always_wins(const u64* set, int winner) const {
  const std::size_t n = z(model_.n_classes);
  for (int loser = 0; loser < model_.n_classes; ++loser) {
    if (loser == winner) continue;
    i64 lead = model_.base[z(winner)] - model_.base[z(loser)];
    for (int tree = 0; tree < model_.n_trees; ++tree) {
      i64 least = std::numeric_limits<i64>::max();
      for (int leaf = model_.leaves_of[z(tree)]; leaf < model_.leaves_of[z(tree) + 1]; ++leaf)
        if (has(set, z(leaf)))
          least = std::min(least, model_.scores[z(leaf) * n + z(winner)] - model_.scores[z(leaf) * n + z(loser)]);
      lead += least;
    }
    if (lead < least_lead(winner, loser)) return false;
  }
  return true;
}

int Restrictions::verdict(const u64* set) const {
  int open = -1;
  const Clauses given = clauses(set, &open);
  if (given == Clauses::kFalse) return kImpossible;
  const std::size_t n = z(model_.n_classes);
  // A class that always wins also wins with the first leaf of every tree, whether or not a row reaches these.
  std::vector<i64> sums = model_.base;
  bool decided = true;
  for (int tree = 0; tree < model_.n_trees; ++tree) {
    const int leaf = first_left(set, tree);
    if (leaf < 0) return kImpossible;
    for (std::size_t k = 0; k < n; ++k) sums[k] += model_.scores[z(leaf) * n + k];
    decided = decided && !several_left(set, tree);
  }
  const int winner = static_cast<int>(ties_low_ ? std::max_element(sums.begin(), sums.end()) - sums.begin()
                                                : sums.rend() - std::max_element(sums.rbegin(), sums.rend()) - 1);
  if (given == Clauses::kOpen) return kOpen;  // whether there is a row at all is not known
  if (always_wins(set, winner)) return winner;
  return decided ? kDoubt : kOpen;
}

int Restrictions::undecided(const u64* set) const {
  int variable = -1;
  if (clauses(set, &variable) == Clauses::kOpen) return variable;
  // Of some variables that the largest tree tests, the one that leaves least.
  constexpr int kEnough = 64;
  int most = 1, chosen = -1;
  for (int tree = 0; tree < model_.n_trees; ++tree) {
    int left = 0;
    for (int leaf = model_.leaves_of[z(tree)]; leaf < model_.leaves_of[z(tree) + 1]; ++leaf)
      left += has(set, z(leaf)) ? 1 : 0;
    if (left > most) {
      most = left;
      chosen = tree;
    }
  }
  if (chosen < 0) return -1;
  std::vector<u64> side(words_);
  const int all = size(set);
  int best = std::numeric_limits<int>::max(), seen = 0;
  for (int leaf = model_.leaves_of[z(chosen)]; leaf < model_.leaves_of[z(chosen) + 1]; ++leaf) {
    if (!has(set, z(leaf)) || seen >= kEnough) continue;
    for (int i = model_.needs_of[z(leaf)]; i < model_.needs_of[z(leaf) + 1]; ++i) {
      const int v = model_.needs[z(i)] >> 1;
      restrict(set, v, false, side.data());
      const int low = size(side.data());
      restrict(set, v, true, side.data());
      const int high = size(side.data());
      if (low == all || high == all) continue;
      ++seen;
      if (low + high < best) {
        best = low + high;
        variable = v;
      }
    }
  }
  return variable;
}

std::vector<int> Restrictions::row(const u64* set) const {
  votes::Box box = model_.whole();
  for (int leaf = 0; leaf < model_.n_leaves; ++leaf) {
    if (!has(set, z(leaf))) continue;
    for (int i = model_.needs_of[z(leaf)]; i < model_.needs_of[z(leaf) + 1]; ++i)
      model_.narrow(box, model_.needs[z(i)]);
  }
  for (int v = 0; v < model_.n_variables; ++v) {
    const int stump = stump_of_[z(v)];
    if (stump < 0) continue;
    if (!has(set, z(stump))) model_.narrow(box, 2 * v + 1);
    if (!has(set, z(stump) + 1)) model_.narrow(box, 2 * v);
  }
  return box.low;
}

}  // namespace proofwood::born_again
