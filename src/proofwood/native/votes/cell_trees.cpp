#include "votes/cell_trees.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace proofwood::votes {

CellTrees::CellTrees(const Given& given) : cells_(given.cells), begins_(given.begins) {
  first_.assign(1, 0);
  for (const i32 cells : cells_) first_.push_back(first_.back() + cells);
  nodes_.reserve(static_cast<std::size_t>(begins_.back()));
  for (std::size_t tree = 0; tree < trees(); ++tree) {
    if (begins_[tree + 1] <= begins_[tree]) throw std::invalid_argument("a tree without a node");
    for (i64 node = begins_[tree]; node < begins_[tree + 1]; ++node)
      nodes_.push_back(read(given, node, begins_[tree + 1] - begins_[tree]));
  }
}

CellTrees::Node CellTrees::read(const Given& given, i64 node, i64 size) const {
  if (given.inner[node] == 0) return {Kind::kLeaf, 0, 0, 0, 0};
  const i64 low = given.low[node], high = given.high[node], literal = given.literals[node];
  for (const i64 child : {low, high})
    if (child <= 0 || child >= size) throw std::invalid_argument("a test leads to no node of its tree");
  Node found{literal == kAlways ? Kind::kLow : Kind::kHigh, 0, 0, static_cast<i32>(low), static_cast<i32>(high)};
  if (literal == kAlways || literal == kNever) return found;
  const i64 variable = literal >> 1;
  if (literal < 0 || variable >= first_.back()) throw std::invalid_argument("a test of no threshold of the grid");
  const auto after = std::upper_bound(first_.begin(), first_.end(), variable);
  found.kind = (literal & 1) == 0 ? Kind::kAbove : Kind::kUpTo;
  found.column = static_cast<i32>(after - first_.begin()) - 1;
  found.cut = static_cast<i32>(variable - *(after - 1));
  return found;
}

CellTrees::Leaves CellTrees::leaves() const {
  Leaves found;
  for (std::size_t tree = 0; tree < trees(); ++tree) {
    const std::size_t before = found.nodes.size();
    add_leaves(tree, found);
    found.counts.push_back(static_cast<i64>(found.nodes.size() - before));
  }
  return found;
}

void CellTrees::add_leaves(std::size_t tree, Leaves& found) const {
  const Node* const nodes = nodes_.data() + begins_[tree];
  const i64 size = begins_[tree + 1] - begins_[tree];
  Level level, next;
  level.nodes = {0};
  level.ends = {0};
  for (i64 depth = 0; !level.nodes.empty(); ++depth) {
    if (depth > size) throw std::invalid_argument("a walk down a tree does not end");
    next.nodes.clear();
    next.ends.clear();
    next.ranges.clear();
    for (const bool low : {true, false}) {
      std::size_t begin = 0;
      for (std::size_t i = 0; i < level.nodes.size(); begin = level.ends[i++]) {
        const Range* const ranges = level.ranges.data();
        const Node& node = nodes[level.nodes[i]];
        if (node.kind != Kind::kLeaf) {
          descend(node, low, ranges + begin, ranges + level.ends[i], next);
        } else if (low) {
          add_leaf(level.nodes[i], ranges + begin, ranges + level.ends[i], found);
        }
      }
    }
    std::swap(level, next);
  }
}

void CellTrees::add_leaf(i32 node, const Range* begin, const Range* end, Leaves& found) const {
  const std::size_t before = found.needs.size();
  for (const Range* range = begin; range != end; ++range) {
    const auto column = static_cast<std::size_t>(range->column);
    if (range->low > 0) found.needs.push_back(2 * (first_[column] + range->low - 1));
    if (range->high < cells_[column]) found.needs.push_back(2 * (first_[column] + range->high) + 1);
  }
  found.nodes.push_back(node);
  found.sizes.push_back(static_cast<i64>(found.needs.size() - before));
}

void CellTrees::descend(const Node& test, bool low, const Range* begin, const Range* end, Level& next) const {
  if (test.kind == (low ? Kind::kHigh : Kind::kLow)) return;
  const bool narrows = test.kind == Kind::kAbove || test.kind == Kind::kUpTo;
  const Range* at = end;
  Range mine{0, 0, 0};
  if (narrows) {
    at = std::find_if(begin, end, [&](const Range& range) { return range.column >= test.column; });
    mine = {test.column, 0, cells_[static_cast<std::size_t>(test.column)]};
    if (at != end && at->column == test.column) mine = *at;
    if ((test.kind == Kind::kAbove) == low) {
      mine.low = std::max(mine.low, test.cut + 1);
    } else {
      mine.high = std::min(mine.high, test.cut);
    }
    if (mine.low > mine.high) return;
  }
  next.nodes.push_back(low ? test.low : test.high);
  next.ranges.insert(next.ranges.end(), begin, at);
  if (narrows) next.ranges.push_back(mine);
  next.ranges.insert(next.ranges.end(), at + (at != end && at->column == mine.column ? 1 : 0), end);
  next.ends.push_back(next.ranges.size());
}

i32 CellTrees::reached(std::size_t tree, const i64* cells) const {
  const Node* const nodes = nodes_.data() + begins_[tree];
  i32 at = 0;
  for (i64 steps = begins_[tree]; nodes[at].kind != Kind::kLeaf; ++steps) {
    if (steps >= begins_[tree + 1]) throw std::invalid_argument("a walk down a tree does not end");
    const Node& node = nodes[at];
    bool low = node.kind == Kind::kLow;
    if (node.kind == Kind::kAbove || node.kind == Kind::kUpTo)
      low = (cells[node.column] > node.cut) == (node.kind == Kind::kAbove);
    at = low ? node.low : node.high;
  }
  return at;
}

void CellTrees::add_sums(const i64* cells, std::size_t rows, const i64* values, std::size_t scores, i64* sums) const {
  for (std::size_t tree = 0; tree < trees(); ++tree) {
    const i64* const of_tree = values + static_cast<std::size_t>(begins_[tree]) * scores;
    for (std::size_t row = 0; row < rows; ++row) {
      const i64* const leaf = of_tree + static_cast<std::size_t>(reached(tree, cells + row * columns())) * scores;
      for (std::size_t k = 0; k < scores; ++k) sums[row * scores + k] += leaf[k];
    }
  }
}

}  // namespace proofwood::votes
