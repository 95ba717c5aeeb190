// Small trees before a search: at every node, cuts are tried out by growing the trees below them.
//
// Theory: docs/theory/minimal-trees.md, "Rollouts". A rollout of level 0 is the greedy tree; one of level k takes, of
// some promising cuts, the one whose sides have the smallest trees of level k - 1, and goes on in both sides.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "common/mix.hpp"
#include "minimal/minimal.hpp"

namespace proofwood::minimal {

namespace {

struct Name {  // of a set of groups
  u64 a = 0, b = 0;
  bool operator==(const Name&) const = default;
  Name operator^(const Name& other) const { return {a ^ other.a, b ^ other.b}; }
};
struct HashName {
  std::size_t operator()(const Name& name) const { return name.a; }
};

struct Cut {
  int column = -1, rank = -1;
};

struct Known {
  int leaves = 0;
  Cut cut;
};

class Rollouts {
 public:
  Rollouts(const Given& rows, Board& board, double until)
      : rows_(rows), board_(board), until_(until), n_(at(rows.n)), columns_(at(rows.n_columns)) {
    Kinds kinds = kinds_of(rows);
    kind_ = std::move(kinds.of);
    allows_ = std::move(kinds.allows);
    present_.resize(allows_.size());
    low_.resize(allows_.size());
    for (std::size_t r = 0; r < n_; ++r) names_.push_back({mix(2 * r), mix(2 * r + 1)});
    offset_.assign(columns_ + 1, 0);
    for (std::size_t j = 0; j < columns_; ++j) offset_[j + 1] = offset_[j] + rows_.tests_of[j];
  }

  void run() {
    const Set all = whole();
    for (int level = 1; level < kLevels; ++level) {
      value(all, level);
      if (over_) return;
      Tree tree;
      grow(tree, all, level);
      board_.offer(tree);
    }
  }

 private:
  static constexpr int kLevels = 3;
  static constexpr std::size_t kCuts = 20;
  static constexpr int kDeepest = 200;  // splits above each other: deeper trees are not worth a stack of their own

  // Counts the groups in memory, and what is above each other.
  class Held {
   public:
    Held(Rollouts& of, std::size_t groups) : of_(of), groups_(groups) {
      of_.held_ += groups_;
      ++of_.deep_;
    }
    ~Held() {
      of_.held_ -= groups_;
      --of_.deep_;
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    Rollouts& of_;
    const std::size_t groups_;
  };

  struct Set {
    std::size_t n = 0;
    Name name;
    std::vector<int> by_column;  // (n_columns, n) groups by their rank
    const int* column(std::size_t j) const { return by_column.data() + j * n; }
  };
  struct Scored {
    double score;
    Cut cut;
    Name low;
    bool operator<(const Scored& other) const {
      if (score != other.score) return score < other.score;
      return std::pair(cut.column, cut.rank) < std::pair(other.cut.column, other.cut.rank);
    }
  };

  int rank(int group, std::size_t column) const { return rows_.ranks[at(group) * columns_ + column]; }

  Set whole() {
    Set all{n_, {}, std::vector<int>(n_ * columns_)};
    for (const Name& name : names_) all.name = all.name ^ name;
    for (std::size_t j = 0; j < columns_; ++j) {
      board_.check_stop();
      const auto first = all.by_column.begin() + static_cast<std::ptrdiff_t>(j * n_);
      std::iota(first, first + static_cast<std::ptrdiff_t>(n_), 0);
      std::stable_sort(first, first + static_cast<std::ptrdiff_t>(n_),
                       [&](int a, int b) { return rank(a, j) < rank(b, j); });
    }
    return all;
  }

  bool pure(const Set& set) {
    std::fill(present_.begin(), present_.end(), 0);
    for (std::size_t i = 0; i < set.n; ++i) ++present_[at(kind_[at(set.by_column[i])])];
    for (std::size_t c = 0; c < at(rows_.n_classes); ++c) {
      bool right = true;
      for (std::size_t k = 0; k < allows_.size() && right; ++k) right = present_[k] == 0 || allows_[k][c];
      if (right) return true;
    }
    return false;
  }

  // Promising cuts of a set that is not pure (`present_` holds its kinds), the best by Gini impurity first.
  std::vector<Scored> cuts_of(const Set& set, std::size_t most) {
    std::vector<Scored> gini, entropy, found;
    const auto add = [&](std::vector<Scored>& list, const Scored& one, std::size_t room) {
      if (list.size() == room && !(one < list.back())) return;
      list.insert(std::upper_bound(list.begin(), list.end(), one), one);
      if (list.size() > room) list.pop_back();
    };
    const bool one = most == 1;
    for (std::size_t j = 0; j < columns_; ++j) {
      board_.check_stop();
      const int* const order = set.column(j);
      std::fill(low_.begin(), low_.end(), 0);
      Name low;
      Scored best{std::numeric_limits<double>::infinity(), {}, {}};
      for (std::size_t i = 0; i + 1 < set.n; ++i) {
        const int group = order[i];
        ++low_[at(kind_[at(group)])];
        low = low ^ names_[at(group)];
        if (rank(group, j) == rank(order[i + 1], j)) continue;
        const double below = static_cast<double>(i + 1), above = static_cast<double>(set.n - i - 1);
        double squares_low = 0, squares_high = 0;
        for (std::size_t k = 0; k < low_.size(); ++k) {
          const double a = low_[k], b = present_[k] - low_[k];
          squares_low += a * a;
          squares_high += b * b;
        }
        const Cut cut{static_cast<int>(j), rank(group, j)};
        const Scored by_gini{-squares_low / below - squares_high / above, cut, low};
        if (by_gini < best) best = by_gini;
        if (one) continue;
        add(gini, by_gini, kCuts / 2);
        double bits = 0;
        for (std::size_t k = 0; k < low_.size(); ++k) {
          if (low_[k] > 0) bits -= low_[k] * std::log(low_[k] / below);
          if (present_[k] > low_[k]) bits -= (present_[k] - low_[k]) * std::log((present_[k] - low_[k]) / above);
        }
        add(entropy, {bits, cut, low}, kCuts / 2);
      }
      if (best.cut.column >= 0) found.push_back(best);
    }
    std::sort(found.begin(), found.end());
    if (one) {
      found.resize(std::min<std::size_t>(found.size(), 1));
      return found;
    }
    std::vector<Scored> chosen;
    const auto take = [&](const std::vector<Scored>& list, std::size_t room) {
      for (const Scored& each : list) {
        if (chosen.size() >= room) return;
        const bool known = std::any_of(chosen.begin(), chosen.end(), [&](const Scored& other) {
          return other.low == each.low || other.low == (set.name ^ each.low);
        });
        if (!known) chosen.push_back(each);
      }
    };
    take(gini, most / 2);
    take(entropy, most * 3 / 4);
    take(found, most);
    take(gini, most);
    return chosen;
  }

  std::array<Set, 2> part(const Set& set, const Scored& scored) const {
    std::array<Set, 2> sides;
    const auto column = at(scored.cut.column);
    const int* const order = set.column(column);
    std::size_t n_low = 0;
    while (n_low < set.n && rank(order[n_low], column) <= scored.cut.rank) ++n_low;
    sides[0].n = n_low;
    sides[1].n = set.n - n_low;
    sides[0].name = scored.low;
    sides[1].name = set.name ^ scored.low;
    for (Set& side : sides) side.by_column.resize(side.n * columns_);
    for (std::size_t j = 0; j < columns_; ++j) {
      int* to[2] = {sides[0].by_column.data() + j * sides[0].n, sides[1].by_column.data() + j * sides[1].n};
      const int* const from = set.column(j);
      for (std::size_t i = 0; i < set.n; ++i) *to[rank(from[i], column) > scored.cut.rank]++ = from[i];
    }
    return sides;
  }

  const Known* known(const Name& name, int level) const {
    const auto place = known_[at(level)].find(name);
    return place == known_[at(level)].end() ? nullptr : &place->second;
  }

  // Leaves of the rollout.
  int value(const Set& set, int level) {
    const Held held(*this, 2 * set.n * columns_);
    over_ = over_ || board_.seconds() > until_ || deep_ > kDeepest || held_ * sizeof(int) > board_.settings.memory / 4;
    if (over_) return 1;
    board_.check_stop();
    if (const Known* before = known(set.name, level)) return before->leaves;
    if (pure(set)) return (known_[at(level)][set.name] = {1, {}}).leaves;
    const std::vector<Scored> cuts = cuts_of(set, level == 0 ? 1 : kCuts);
    int least = std::numeric_limits<int>::max();
    const Scored* best = nullptr;
    for (const Scored& cut : cuts) {
      int leaves = 0;
      if (level > 0) {
        const Known *low = known(cut.low, level - 1), *high = known(set.name ^ cut.low, level - 1);
        if (low != nullptr && high != nullptr) {
          leaves = low->leaves + high->leaves;
        } else {
          const auto sides = part(set, cut);
          leaves = value(sides[0], level - 1);
          if (leaves < least) leaves += value(sides[1], level - 1);
        }
      }
      if (over_) return 1;
      if (leaves >= least) continue;
      least = leaves;
      best = &cut;
    }
    const auto sides = part(set, *best);
    const int leaves = value(sides[0], level) + value(sides[1], level);
    if (over_) return 1;
    known_[at(level)][set.name] = {leaves, best->cut};
    return leaves;
  }

  void grow(Tree& tree, const Set& set, int level) {
    const std::size_t node = tree.size();
    tree.push_back({-1, -1, -1});
    const Cut cut = known_[at(level)].at(set.name).cut;
    if (cut.column < 0) return;
    tree[node].test = offset_[at(cut.column)] + cut.rank;
    Name low;
    const int* const order = set.column(at(cut.column));
    for (std::size_t i = 0; i < set.n && rank(order[i], at(cut.column)) <= cut.rank; ++i)
      low = low ^ names_[at(order[i])];
    const auto sides = part(set, {0, cut, low});
    tree[node].low = static_cast<int>(tree.size());
    grow(tree, sides[0], level);
    tree[node].high = static_cast<int>(tree.size());
    grow(tree, sides[1], level);
  }

  const Given& rows_;
  Board& board_;
  const double until_;
  const std::size_t n_, columns_;
  std::vector<Name> names_;
  std::vector<int> kind_, offset_;
  std::vector<std::vector<bool>> allows_;  // per kind, classes
  std::vector<int> present_, low_;         // per kind, of the set at hand and of a low side
  std::array<std::unordered_map<Name, Known, HashName>, kLevels> known_;
  bool over_ = false;
  std::size_t held_ = 0;
  int deep_ = 0;
};

}  // namespace

void offer_rollouts(const Given& rows, Board& board, double until) {
  if (rows.n > 1) Rollouts(rows, board, until).run();
}

}  // namespace proofwood::minimal
