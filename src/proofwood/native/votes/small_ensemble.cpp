// A small ensemble for one question: shrinking the box, and joining trees in pairs.
//
// Theory: docs/theory/explanations.md, "The engine cdcl: clause learning": a small ensemble for a hard question.
#include "votes/small_ensemble.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace proofwood::votes {

namespace {
constexpr int kMostTrees = 400;              // of which pairs are compared
constexpr std::int64_t kMostLeaves = 40000;  // of joined trees together
constexpr std::int64_t kNoPair = std::numeric_limits<std::int64_t>::min();
}  // namespace

SmallEnsemble::SmallEnsemble(const Model& model, const std::vector<std::int64_t>& gain, const std::vector<int>& dead,
                             const std::vector<int>& lo, const std::vector<int>& hi, std::int64_t least, bool join,
                             Watch& watch)
    : box_{lo, hi}, least_(least) {
  std::vector<std::vector<Limit>> limits(z(model.n_leaves));
  for (int c = 0; c < model.n_columns; ++c)
    for (int i = model.limits_of[z(c)]; i < model.limits_of[z(c) + 1]; ++i) {
      const auto& limit = model.limits[z(i)];
      if (dead[z(limit.leaf)] == 0) limits[z(limit.leaf)].push_back({c, limit.low, limit.high});
    }
  trees_.resize(z(model.n_trees));
  for (int leaf = 0; leaf < model.n_leaves; ++leaf) {
    if (dead[z(leaf)] > 0) continue;
    Leaf one{gain[z(leaf)], std::move(limits[z(leaf)])};
    if (clip(one)) trees_[z(model.tree_of[z(leaf)])].leaves.push_back(std::move(one));
  }
  for (auto& tree : trees_)
    std::stable_sort(tree.leaves.begin(), tree.leaves.end(),
                     [](const Leaf& a, const Leaf& b) { return a.gain > b.gain; });
  hopeless_ = !shrink(watch);
  if (!hopeless_ && join && !watch.over()) join_pairs(watch);
  // What a stopped step found may rest on a part of the leaves.
  stopped_ = watch.over();
  if (hopeless_ || stopped_) return;
  const Model whole = joined_model(model);
  part_ = std::make_unique<Part>(whole, box_);
  hopeless_ = part_->empty();
  if (!hopeless_) least_ = part_->lead(whole.lead({0, 1, least_})).need;
}

std::int64_t SmallEnsemble::slack() const {
  std::int64_t sum = -least_;
  for (const auto& tree : trees_) sum += tree.leaves.front().gain;
  return sum;
}

bool SmallEnsemble::clip(Leaf& leaf) const {
  std::size_t kept = 0;
  for (const Limit& limit : leaf.limits) {
    const int low = std::max(limit.low, box_.low[z(limit.column)]),
              high = std::min(limit.high, box_.high[z(limit.column)]);
    if (low > high) return false;
    if (low > box_.low[z(limit.column)] || high < box_.high[z(limit.column)])
      leaf.limits[kept++] = {limit.column, low, high};
  }
  leaf.limits.resize(kept);
  return true;
}

bool SmallEnsemble::shrink(Watch& watch) {
  std::vector<int> low(box_.low.size()), high(box_.low.size()), count(box_.low.size());
  while (true) {
    if (watch.over()) return true;
    const std::int64_t room = slack();
    if (room < 0) return false;
    bool some = false;
    for (auto& tree : trees_) {
      const std::int64_t least = tree.leaves.front().gain - room;
      while (tree.leaves.back().gain < least) {
        tree.leaves.pop_back();
        tree.partial = true;
      }
    }
    // What all leaves of a tree ask of a column, every row has.
    for (const auto& tree : trees_) {
      std::fill(count.begin(), count.end(), 0);
      std::vector<int> seen;
      for (const auto& leaf : tree.leaves)
        for (const Limit& limit : leaf.limits) {
          const std::size_t c = z(limit.column);
          if (count[c]++ == 0) {
            seen.push_back(limit.column);
            low[c] = limit.low;
            high[c] = limit.high;
          } else {
            low[c] = std::min(low[c], limit.low);
            high[c] = std::max(high[c], limit.high);
          }
        }
      for (const int column : seen) {
        const std::size_t c = z(column);
        if (count[c] < static_cast<int>(tree.leaves.size())) continue;
        if (low[c] > box_.low[c] || high[c] < box_.high[c]) some = true;
        box_.low[c] = std::max(box_.low[c], low[c]);
        box_.high[c] = std::min(box_.high[c], high[c]);
        if (box_.low[c] > box_.high[c]) return false;
      }
    }
    if (!some) return true;
    for (auto& tree : trees_) {
      std::size_t kept = 0;
      for (std::size_t i = 0; i < tree.leaves.size(); ++i) {
        if (!clip(tree.leaves[i])) continue;
        if (kept != i) tree.leaves[kept] = std::move(tree.leaves[i]);
        ++kept;
      }
      tree.leaves.resize(kept);
      if (tree.leaves.empty()) return false;
    }
  }
}

bool SmallEnsemble::compatible(const Leaf& a, const Leaf& b) {
  auto i = a.limits.begin();
  auto k = b.limits.begin();
  while (i != a.limits.end() && k != b.limits.end()) {
    if (i->column < k->column) {
      ++i;
    } else if (k->column < i->column) {
      ++k;
    } else {
      if (i->low > k->high || k->low > i->high) return false;
      ++i;
      ++k;
    }
  }
  return true;
}

std::int64_t SmallEnsemble::best_pair(const Tree& a, const Tree& b, Watch& watch) {
  std::int64_t best = kNoPair;
  for (const auto& one : a.leaves) {
    if (best > kNoPair && one.gain + b.leaves.front().gain <= best) break;
    if (watch.over()) break;
    for (const auto& other : b.leaves) {
      const std::int64_t sum = one.gain + other.gain;
      if (sum <= best) break;
      if (compatible(one, other)) {
        best = sum;
        break;
      }
    }
  }
  return best;
}

SmallEnsemble::Tree SmallEnsemble::joined(const Tree& a, const Tree& b, std::int64_t slack, Watch& watch) const {
  Tree tree;
  tree.partial = true;  // pairs beyond the slack are left out
  const std::int64_t least = a.leaves.front().gain + b.leaves.front().gain - slack;
  for (const auto& one : a.leaves) {
    if (watch.over()) break;
    for (const auto& other : b.leaves) {
      if (one.gain + other.gain < least) break;
      if (!compatible(one, other)) continue;
      Leaf leaf{one.gain + other.gain, {}};
      leaf.limits.reserve(one.limits.size() + other.limits.size());
      auto i = one.limits.begin();
      auto k = other.limits.begin();
      while (i != one.limits.end() || k != other.limits.end()) {
        if (k == other.limits.end() || (i != one.limits.end() && i->column < k->column)) {
          leaf.limits.push_back(*i++);
        } else if (i == one.limits.end() || k->column < i->column) {
          leaf.limits.push_back(*k++);
        } else {
          leaf.limits.push_back({i->column, std::max(i->low, k->low), std::min(i->high, k->high)});
          ++i;
          ++k;
        }
      }
      tree.leaves.push_back(std::move(leaf));
    }
  }
  std::stable_sort(tree.leaves.begin(), tree.leaves.end(),
                   [](const Leaf& x, const Leaf& y) { return x.gain > y.gain; });
  return tree;
}

void SmallEnsemble::join_pairs(Watch& watch) {
  // A tree of one leaf says nothing more than its gain.
  std::vector<int> candidates;
  for (int t = 0; t < static_cast<int>(trees_.size()); ++t)
    if (trees_[z(t)].leaves.size() > 1) candidates.push_back(t);
  if (static_cast<int>(candidates.size()) > kMostTrees) {
    const auto spread = [&](int t) { return trees_[z(t)].leaves.front().gain - trees_[z(t)].leaves.back().gain; };
    std::stable_sort(candidates.begin(), candidates.end(), [&](int a, int b) { return spread(a) > spread(b); });
    candidates.resize(z(kMostTrees));
  }
  struct Couple {
    std::int64_t loss;
    int a, b;
  };
  std::vector<Couple> couples;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    for (std::size_t k = i + 1; k < candidates.size(); ++k) {
      const Tree &a = trees_[z(candidates[i])], &b = trees_[z(candidates[k])];
      const std::int64_t best = best_pair(a, b, watch);
      if (watch.over()) return;
      if (best == kNoPair) {
        hopeless_ = true;
        return;
      }
      const std::int64_t loss = a.leaves.front().gain + b.leaves.front().gain - best;
      if (loss > 0) couples.push_back({loss, candidates[i], candidates[k]});
    }
  std::stable_sort(couples.begin(), couples.end(), [](const Couple& x, const Couple& y) { return x.loss > y.loss; });
  std::vector<char> taken(trees_.size(), 0);
  std::int64_t leaves = 0, room = slack();
  std::vector<Tree> made;
  for (const auto& [loss, a, b] : couples) {
    if (taken[z(a)] || taken[z(b)]) continue;
    const auto product = static_cast<std::int64_t>(trees_[z(a)].leaves.size() * trees_[z(b)].leaves.size());
    if (leaves + product > kMostLeaves) continue;
    Tree tree = joined(trees_[z(a)], trees_[z(b)], room, watch);
    if (watch.over()) return;
    if (tree.leaves.empty()) {
      hopeless_ = true;
      return;
    }
    leaves += static_cast<std::int64_t>(tree.leaves.size());
    room -= loss;
    taken[z(a)] = taken[z(b)] = 1;
    made.push_back(std::move(tree));
  }
  std::vector<Tree> all;
  for (std::size_t t = 0; t < trees_.size(); ++t)
    if (!taken[t]) all.push_back(std::move(trees_[t]));
  for (auto& tree : made) all.push_back(std::move(tree));
  trees_ = std::move(all);
  hopeless_ = !shrink(watch);
}

// The trees over the columns and thresholds of the large model.
Model SmallEnsemble::joined_model(const Model& model) const {
  const std::int64_t room = slack();
  Model made;
  made.n_columns = model.n_columns;
  made.cells = model.cells;
  made.first = model.first;
  made.n_variables = model.n_variables;
  made.column_of = model.column_of;
  made.clauses = model.clauses;
  made.n_classes = 2;
  made.n_trees = static_cast<int>(trees_.size());
  made.base = {0, 0};
  made.leaves_of.assign(1, 0);
  made.needs_of.assign(1, 0);
  const auto add = [&](std::int64_t gain) {
    made.scores.insert(made.scores.end(), {gain, 0});
    made.needs_of.push_back(static_cast<int>(made.needs.size()));
  };
  for (const auto& tree : trees_) {
    for (const auto& leaf : tree.leaves) {
      for (const Limit& limit : leaf.limits) {
        const int first = model.first[z(limit.column)];
        if (limit.low > box_.low[z(limit.column)]) made.needs.push_back(2 * (first + limit.low - 1));
        if (limit.high < box_.high[z(limit.column)]) made.needs.push_back(2 * (first + limit.high) + 1);
      }
      add(leaf.gain);
    }
    // Where no leaf is left the sum falls short: a leaf without needs says so, and a tree is never without one.
    if (tree.partial) add(tree.leaves.front().gain - room - 1);
    made.leaves_of.push_back(static_cast<int>(made.needs_of.size()) - 1);
  }
  made.n_leaves = made.leaves_of.back();
  return made;
}

}  // namespace proofwood::votes
