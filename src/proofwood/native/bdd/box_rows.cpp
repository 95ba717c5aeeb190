// All sets of a box in one field of the grid: the rows that are open there, one by one.
//
// Theory: docs/theory/decision-diagrams.md, "Boxes of cuts".
#include <algorithm>

#include "bdd/boxes.hpp"

namespace proofwood::bdd {

FieldSearch::FieldSearch(const CutGrid& grid, u32 size) : grid_(grid), table_(grid.table()), size_(size) {
  const u32 n = table_.groups;
  item_begin_.assign(n + std::size_t{1}, 0);
  for (const Item& item : table_.items) ++item_begin_[item.group + std::size_t{1}];
  for (u32 g = 0; g < n; ++g) item_begin_[g + 1] += item_begin_[g];
  item_of_.resize(table_.items.size());
  std::vector<u32> next(item_begin_.begin(), item_begin_.end() - 1);
  for (u32 i = 0; i < table_.items.size(); ++i) item_of_[next[table_.items[i].group]++] = i;
  stamp_.assign(n, 0);
}

void FieldSearch::add_row(std::vector<i64>& sums, u32 cell, u32 group) const {
  i64* const to = sums.data() + cell * std::size_t{grid_.sums()};
  for (u32 k = item_begin_[group]; k < item_begin_[group + std::size_t{1}]; ++k) {
    const Item& item = table_.items[item_of_[k]];
    to[item.label] += item.weight;
    to[table_.classes] += item.fixed;
  }
}

// The first frame: the cuts of the field, its open rows, and the sums of the others.
void FieldSearch::load(const Box& box) {
  if (frames_.empty()) frames_.resize(1);
  Frame& frame = frames_[0];
  grid_.count(box, size_, frame.sums);
  ++now_;
  row_group_.clear();
  const u32 n = table_.groups;
  for (u32 t = 0; t < size_; ++t) {
    const u32 j = box.tests[t].column;
    column_[t] = j;
    frame.lo[t] = grid_.cut(j, box.tests[t].lo);
    frame.hi[t] = grid_.cut(j, box.tests[t].hi);
    const u32* const begin = table_.rank_begin.data() + table_.raw_begin[j] + 1;
    const u32* const order = table_.orders.data() + j * std::size_t{n};
    for (u32 i = begin[frame.lo[t]]; i < begin[frame.hi[t]]; ++i) {
      if (stamp_[order[i]] == now_) continue;
      stamp_[order[i]] = now_;
      row_group_.push_back(order[i]);
    }
  }
  row_ranks_.resize(row_group_.size() * size_);
  frame.open.resize(row_group_.size());
  for (u32 r = 0; r < row_group_.size(); ++r) {
    frame.open[r] = r;
    for (u32 t = 0; t < size_; ++t)
      row_ranks_[r * std::size_t{size_} + t] = table_.ranks[column_[t] * std::size_t{n} + row_group_[r]];
  }
  frame.bound = bound_of(frame);
}

i64 FieldSearch::bound_of(const Frame& frame) const {
  i64 bound = 0;
  for (u32 cell = 0; cell >> size_ == 0; ++cell)
    bound += grid_.error(frame.sums.data() + cell * std::size_t{grid_.sums()});
  return bound;
}

// The box of `parent` with the cuts from `lo` to `hi` for one test; false if that leaves no set. Cuts of one column
// ascend.
bool FieldSearch::narrow(const Frame& parent, u32 test, u32 lo, u32 hi, Frame& child) const {
  child.lo = parent.lo;
  child.hi = parent.hi;
  child.lo[test] = lo;
  child.hi[test] = hi;
  for (u32 t = test; t + 1 < size_ && column_[t + 1] == column_[t]; ++t)
    child.lo[t + 1] = std::max(child.lo[t + 1], child.lo[t]);
  for (u32 t = test; t > 0 && column_[t - 1] == column_[t]; --t)
    child.hi[t - 1] = std::min(child.hi[t - 1], child.hi[t]);
  for (u32 t = 0; t < size_; ++t)
    if (child.lo[t] > child.hi[t]) return false;
  child.sums = parent.sums;
  child.open.clear();
  for (const u32 row : parent.open) {
    const u32* const rank = row_ranks_.data() + row * std::size_t{size_};
    u32 cell = 0, t = 0;
    for (; t < size_; ++t) {
      if (rank[t] > child.hi[t])
        cell = 2 * cell + 1;
      else if (rank[t] <= child.lo[t])
        cell = 2 * cell;
      else
        break;
    }
    if (t < size_)
      child.open.push_back(row);
    else
      add_row(child.sums, cell, row_group_[row]);
  }
  child.bound = bound_of(child);
  return true;
}

// The numbers of the first cuts: no set of the frame comes before them.
Set FieldSearch::first_of(const Frame& frame) const {
  Set first(size_);
  for (u32 t = 0; t < size_; ++t) first[t] = table_.number_at[table_.raw_begin[column_[t]] + frame.lo[t]];
  return first;
}

void FieldSearch::leaf(const Frame& frame, Answers& answers) {
  Set places(size_);
  for (u32 t = 0; t < size_; ++t) places[t] = table_.raw_begin[column_[t]] + frame.lo[t];
  answers.found(frame.bound, first_of(frame), places);
}

// The test with the most open rows in its stretch; size_ if every test has one cut left.
u32 FieldSearch::widest(const Frame& frame) {
  u32 found = size_;
  for (u32 t = 0; t < size_; ++t) {
    if (frame.lo[t] == frame.hi[t]) continue;
    ranks_.clear();
    for (const u32 row : frame.open) {
      const u32 rank = row_ranks_[row * std::size_t{size_} + t];
      if (rank > frame.lo[t] && rank <= frame.hi[t]) ranks_.push_back(rank);
    }
    if (found < size_ && ranks_.size() <= most_ranks_.size()) continue;
    found = t;
    most_ranks_.swap(ranks_);
  }
  return found;
}

// Puts the halves of a frame on the stack, the one of the better bound on top.
void FieldSearch::halve(const Frame& frame, u32 test) {
  const u32 lo = frame.lo[test], hi = frame.hi[test];
  const auto middle = most_ranks_.begin() + static_cast<std::ptrdiff_t>(most_ranks_.size() / 2);
  std::nth_element(most_ranks_.begin(), middle, most_ranks_.end());  // every rank has rows, so there are some
  const u32 cut = *middle - 1;
  if (frames_.size() < top_ + 2) frames_.resize(top_ + 2);
  const std::size_t before = top_;
  if (narrow(frame, test, lo, cut, frames_[top_])) ++top_;
  if (narrow(frame, test, cut + 1, hi, frames_[top_])) ++top_;
  if (top_ == before + 2 && frames_[before].bound < frames_[before + 1].bound)
    std::swap(frames_[before], frames_[before + 1]);
}

void FieldSearch::run(const Box& box, Answers& answers) {
  load(box);
  Frame frame;
  for (top_ = 1; top_ > 0 && !answers.stopped();) {
    std::swap(frame, frames_[--top_]);
    ++nodes_;
    if (answers.ruled_out(frame.bound, first_of(frame))) continue;
    const u32 test = widest(frame);
    if (test == size_)
      leaf(frame, answers);
    else
      halve(frame, test);
  }
}

}  // namespace proofwood::bdd
