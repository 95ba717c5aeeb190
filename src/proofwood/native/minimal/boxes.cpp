// Where the columns are few and short: one number for every box of ranks, filled in layer by layer.
//
// Theory: docs/theory/minimal-trees.md, "Search: dynamic programming over row sets".
//
// A box has an interval of ranks in each column; the tests of a path cut the rows down to those of a box. With f_d(B)
// the fewest leaves of a tree of depth <= d that is right on box B,
//   f_0(B) = 1 if some class is right on all of B, else infinite;
//   f_d(B) = min( f_{d-1}(B), min over cuts of B: f_{d-1}(low part) + f_{d-1}(high part) ).
// An empty box counts as one leaf, so a cut that parts nothing never wins: it costs a leaf more than f_{d-1}(B).
#include <algorithm>
#include <limits>

#include "minimal/minimal.hpp"

namespace proofwood::minimal {

namespace {

constexpr u16 kNone = 32767;  // two of them still fit 16 bits

struct Axis {
  int column, first_test;
  std::vector<int> values;  // ranks that occur, ascending
  std::size_t stride = 1;   // of neighbouring intervals in the arrays over boxes
  int size() const { return static_cast<int>(values.size()); }
  std::size_t intervals() const { return values.size() * (values.size() + 1) / 2; }
  std::size_t id(int a, int b) const { return at(a) * values.size() - at(a) * (at(a) - 1) / 2 + at(b - a); }  // a <= b
};

std::vector<Axis> axes_of(const Rows& rows) {
  const auto n_columns = rows.tests_of.size();
  std::vector<Axis> axes;
  int first = 0;
  for (std::size_t j = 0; j < n_columns; ++j) {
    Axis axis{static_cast<int>(j), first, {}};
    for (int r = 0; r < rows.n; ++r) axis.values.push_back(rows.ranks[at(r) * n_columns + j]);
    std::sort(axis.values.begin(), axis.values.end());
    axis.values.erase(std::unique(axis.values.begin(), axis.values.end()), axis.values.end());
    if (axis.size() > 1) axes.push_back(std::move(axis));
    first += rows.tests_of[j];
  }
  // the longest first: inner loops then run over whole blocks of the others
  std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.size() > b.size(); });
  return axes;
}

class Boxes {
 public:
  Boxes(const Rows& rows, Board& board) : rows_(rows), board_(board), axes_(axes_of(rows)) {
    for (std::size_t j = axes_.size(); j-- > 0;) {
      axes_[j].stride = total_;
      total_ *= axes_[j].intervals();
    }
    board_.counts[kBoxes] = static_cast<i64>(total_);
  }

  void run() {
    std::size_t whole = 0;
    for (const Axis& axis : axes_) whole += axis.id(0, axis.size() - 1) * axis.stride;
    const bool any_depth = board_.settings.minimize == Minimize::kNodesAnyDepth;
    leaves_.push_back(pure_boxes());
    for (int depth = 0;; ++depth) {
      const u16 fewest = leaves_[at(depth)][whole];
      if (fewest < kNone) {
        if (depth == 0 || fewest < leaves_[at(depth - 1)][whole]) {  // fewer leaves than at any lesser depth
          Tree tree;
          grow(tree, whole, depth);
          if (any_depth)
            board_.offer(tree);
          else
            board_.put_canonical(tree);
        }
        if (!any_depth) board_.depth_is(depth);
        if (!any_depth) {
          if (board_.settings.minimize == Minimize::kNodes) board_.nodes_are(2 * fewest - 1);
          return;
        }
      } else {
        board_.raise_depth(depth + 1);
      }
      if (depth == board_.settings.max_depth) break;
      next_layer();
      if (leaves_.back() == leaves_[at(depth)]) break;  // and so is every later layer
    }
    if (leaves_.back()[whole] == kNone) {
      board_.infeasible();
    } else {
      Tree tree;
      grow(tree, whole, board_.settings.max_depth);
      board_.nodes_are(2 * leaves_.back()[whole] - 1);
      board_.put_canonical(tree);
    }
  }

 private:
  std::vector<u16> pure_boxes() {
    const auto n_columns = rows_.tests_of.size();
    std::vector<u64> labels(total_, ~u64{0});  // classes that are right on the whole box
    for (int r = 0; r < rows_.n; ++r) {
      std::size_t box = 0;
      for (const Axis& axis : axes_) {
        const int rank = rows_.ranks[at(r) * n_columns + at(axis.column)];
        const int place =
            static_cast<int>(std::lower_bound(axis.values.begin(), axis.values.end(), rank) - axis.values.begin());
        box += axis.id(place, place) * axis.stride;
      }
      u64 mask = 0;
      for (int c = 0; c < rows_.n_classes; ++c) mask |= u64{rows_.cost[at(r) * at(rows_.n_classes) + at(c)] == 0} << c;
      labels[box] = mask;
    }
    for (const Axis& axis : axes_) {
      board_.check_stop();
      each_block(axis, [&](std::size_t base) {
        for (int length = 1; length < axis.size(); ++length) {
          look(axis);
          for (int a = 0; a + length < axis.size(); ++a) {
            u64* out = &labels[base + axis.id(a, a + length) * axis.stride];
            const u64* one = &labels[base + axis.id(a, a + length - 1) * axis.stride];
            const u64* other = &labels[base + axis.id(a + length, a + length) * axis.stride];
            for (std::size_t i = 0; i < axis.stride; ++i) out[i] = one[i] & other[i];
          }
        }
      });
    }
    std::vector<u16> pure(total_);
    empty_.resize(total_);
    for (std::size_t box = 0; box < total_; ++box) {
      pure[box] = labels[box] != 0 ? 1 : kNone;
      empty_[box] = labels[box] == ~u64{0};  // there are fewer than 64 classes
    }
    return pure;
  }

  void next_layer() {
    leaves_.push_back(leaves_.back());
    const std::vector<u16>& before = leaves_[leaves_.size() - 2];
    std::vector<u16>& after = leaves_.back();
    for (const Axis& axis : axes_) {
      board_.check_stop();
      each_block(axis, [&](std::size_t base) {
        for (int a = 0; a < axis.size(); ++a) {
          look(axis);
          for (int b = a + 1; b < axis.size(); ++b) {
            u16* __restrict out = &after[base + axis.id(a, b) * axis.stride];
            for (int cut = a; cut < b; ++cut) {
              const u16* low = &before[base + axis.id(a, cut) * axis.stride];
              const u16* high = &before[base + axis.id(cut + 1, b) * axis.stride];
              for (std::size_t i = 0; i < axis.stride; ++i) {
                const u16 sum = static_cast<u16>(low[i] + high[i]);
                out[i] = std::min(out[i], sum);
              }
            }
          }
        }
      });
    }
  }

  // Within an axis so long that it takes a while.
  void look(const Axis& axis) {
    constexpr int kLong = 16;
    if (axis.size() > kLong) board_.check_stop();
  }

  template <class F>
  void each_block(const Axis& axis, const F& f) const {
    const std::size_t block = axis.stride * axis.intervals();
    for (std::size_t base = 0; base < total_; base += block) f(base);
  }

  // Leaves by box at a depth; from the last layer on nothing changes.
  const std::vector<u16>& layer(int depth) const { return leaves_[std::min(at(depth), leaves_.size() - 1)]; }

  // The canonical tree: at every node the least test below which the best is possible in the depth left.
  void grow(Tree& tree, std::size_t box, int depth) const {
    const std::size_t node = tree.size();
    tree.push_back({-1, -1, -1});
    if (leaves_[0][box] == 1) return;
    const std::vector<u16>& below = layer(depth - 1);
    const u16 goal = board_.settings.minimize == Minimize::kDepth ? kNone - 1 : layer(depth)[box];
    int best = std::numeric_limits<int>::max();
    std::size_t low = 0, high = 0;
    for (const Axis& axis : axes_) {
      const std::size_t interval = box / axis.stride % axis.intervals(), rest = box - interval * axis.stride;
      int a = 0;
      while (a + 1 < axis.size() && axis.id(a + 1, a + 1) <= interval) ++a;
      const int b = a + static_cast<int>(interval - axis.id(a, a));
      for (int cut = a; cut < b && axis.first_test + axis.values[at(cut)] < best; ++cut) {
        const std::size_t one = rest + axis.id(a, cut) * axis.stride, other = rest + axis.id(cut + 1, b) * axis.stride;
        if (empty_[one] != 0 || empty_[other] != 0) continue;  // could be as good only where depth alone counts
        if (below[one] >= kNone || below[other] >= kNone || below[one] + below[other] > goal) continue;
        best = axis.first_test + axis.values[at(cut)];
        low = one;
        high = other;
        break;
      }
    }
    tree[node].test = best;
    tree[node].low = static_cast<int>(tree.size());
    grow(tree, low, depth - 1);
    tree[node].high = static_cast<int>(tree.size());
    grow(tree, high, depth - 1);
  }

  const Rows& rows_;
  Board& board_;
  std::vector<Axis> axes_;
  std::size_t total_ = 1;
  std::vector<u8> empty_;
  std::vector<std::vector<u16>> leaves_;  // by depth
};

}  // namespace

double boxes_of(const Rows& rows) {
  double boxes = 1;
  for (const Axis& axis : axes_of(rows)) boxes *= static_cast<double>(axis.intervals());
  return boxes;
}

void search_boxes(const Rows& rows, Board& board) { Boxes(rows, board).run(); }

}  // namespace proofwood::minimal
