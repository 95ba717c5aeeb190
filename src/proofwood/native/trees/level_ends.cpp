// The stumps and leaves below a set of levels, as ends of a hierarchy (docs/theory/optimal-trees.md, "Sets of levels
// above two stumps").
#include "trees/level_ends.hpp"

#include <array>

namespace proofwood::trees {

namespace {

constexpr u32 kLanes = 8;  // widths are multiples of this
constexpr u64 kMany = u64{1} << 62;

}  // namespace

template <class T>
LevelEnds<T>::LevelEnds(const Table& table, const Rows& rows, u32 c, const std::atomic<int>& stop)
    : table_(table), rows_(rows), c_(c), stop_(stop) {
  const LevelColumn& column = table.levels[c];
  std::array<unsigned char, kMostLevels> place{};
  std::array<bool, kMostLevels> present{};
  for (u32 local = 0; local < rows.n; ++local) present[column.code[rows.row(local)]] = true;
  for (u32 level = 0; level < column.n_levels(); ++level) {
    if (!present[level]) continue;
    place[level] = static_cast<unsigned char>(level_.size());
    level_.push_back(static_cast<unsigned char>(level));
  }
  m_ = static_cast<u32>(level_.size());
  width_ = (m_ + kLanes - 1) / kLanes * kLanes;
  std::vector<unsigned char> number(table.n_classes, 0);
  for (u32 label = 0; label < table.n_classes; ++label) {
    if (rows.counts.class_weight[label] == 0) continue;
    number[label] = static_cast<unsigned char>(labels_.size());
    labels_.push_back(label);
  }
  local_.resize(rows.n);
  total_.assign(labels_.size() * width_, 0);
  for (u32 local = 0; local < rows.n; ++local) {
    const u32 r = rows.row(local);
    LocalRow& row = local_[local];
    row = {static_cast<T>(table.weight[r]), place[column.code[r]], number[table.label[r]]};
    if (row.weight > 0) total_[row.label * width_ + row.level] += row.weight;
  }
  sign_.assign(labels_.size() + 1, 0);
}

template <class T>
LevelSet LevelEnds<T>::cheaper(int a, int b) const {
  LevelSet set = 0;
  for (u32 l = 0; l < m_; ++l)
    if (least(a)[l] <= least(b)[l]) set |= only(level_[l]);
  return set;
}

template <class T>
std::size_t LevelEnds<T>::wrong_with(u32 label) {
  const std::size_t to = room();
  for (u32 other = 0; other < labels_.size(); ++other)
    if (other != label)
      for (u32 l = 0; l < width_; ++l) store_[to + l] += total_[other * width_ + l];
  return to;
}

template <class T>
int LevelEnds<T>::build() {
  std::vector<int> tops;
  add_single_ends(tops);
  if (!add_thresholds(tops)) return -1;
  for (u32 other = 0; other < table_.levels.size(); ++other)
    if (other != c_) add_sets(other, tops);
  return group(tops, 0, tops.size());
}

// ------------------------------------------------------------------ single ends, groups

// Leaves, and the same column once more: each level has the better one of two labels.
template <class T>
void LevelEnds<T>::add_single_ends(std::vector<int>& tops) {
  const u32 n = static_cast<u32>(labels_.size());
  for (u32 label = 0; label < n; ++label) tops.push_back(add({kEnd, 0, 1, wrong_with(label)}));
  for (u32 a = 0; a < n; ++a) {
    for (u32 b = a + 1; b < n; ++b) {
      const std::size_t with_b = wrong_with(b), least = wrong_with(a);
      for (u32 l = 0; l < width_; ++l) store_[least + l] = std::min(store_[least + l], store_[with_b + l]);
      tops.push_back(add({kEnd, 1, 1, least}));
    }
  }
}

template <class T>
int LevelEnds<T>::group(const std::vector<int>& tops, std::size_t first, std::size_t last) {
  if (last - first == 1) return tops[first];
  const std::size_t middle = first + (last - first) / 2;
  const int one = group(tops, first, middle), two = group(tops, middle, last);
  Node node{kGroup, std::min(splits(one), splits(two)), kMany, room()};
  node.children[0] = one;
  node.children[1] = two;
  for (u32 l = 0; l < width_; ++l) store_[node.least + l] = std::min(least(one)[l], least(two)[l]);
  return add(node);
}

template <class T>
std::pair<int, int> LevelEnds<T>::open(int node) {
  const Node& opened = nodes_[static_cast<std::size_t>(node)];
  if (opened.children[0] < 0) {
    opened_.push_back(node);
    if (opened.kind == kThresholds)
      open_thresholds(node);
    else
      open_sets(node);
  }
  const int* const children = nodes_[static_cast<std::size_t>(node)].children;
  return {children[0], children[1]};
}

template <class T>
void LevelEnds<T>::release(const Mark& mark) {
  while (opened_.size() > mark.opened) {
    nodes_[static_cast<std::size_t>(opened_.back())].children[0] = -1;
    opened_.pop_back();
  }
  nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(mark.nodes), nodes_.end());
  store_.resize(mark.values);
}

// ------------------------------------------------------------------ thresholds

// From boundary `from` to boundary `to`: `now` holds a value per level, and the rows in between change it by what
// `sign_` says of their class; `note(level)` at each boundary for the levels that changed since the one before.
template <class T>
template <class Note>
void LevelEnds<T>::walk(u32 feature, u32 from, u32 to, T* now, const Note& note) const {
  const u32* const order = rows_.order(feature);
  const u32* const keys = rows_.key(feature);
  for (u32 i = from; i < to;) {
    const u32 first = i;
    do {
      const LocalRow& row = local_[order[i]];
      now[row.level] += sign_[row.label] * row.weight;
      ++i;
    } while (i < to && keys[i] == keys[i - 1]);
    for (u32 j = first; j < i; ++j) note(local_[order[j]].level);
  }
}

template <class T>
bool LevelEnds<T>::add_thresholds(std::vector<int>& tops) {
  for (u32 f = 0; f < rows_.n_features; ++f) {
    if (stop_.load(std::memory_order_relaxed) != 0) return false;
    for (u32 a = 0; a < labels_.size(); ++a)
      for (u32 b = a + 1; b < labels_.size(); ++b) add_feature(f, a, b, tops);
  }
  return true;
}

// All thresholds of a feature with the labels a | b and with b | a, by one walk.
template <class T>
void LevelEnds<T>::add_feature(u32 feature, u32 a, u32 b, std::vector<int>& tops) {
  const u32 first = rows_.boundary_from(feature, 1);
  if (first >= rows_.n) return;
  const u32 last = rows_.boundary_until(feature, rows_.n - 1);
  sign_[a] = -1;
  sign_[b] = 1;
  std::array<T, kMostLevels> now{}, most, least;
  walk(feature, 0, first, now.data(), [](u32) {});
  const std::array<T, kMostLevels> start = now;
  most = least = now;
  walk(feature, first, last, now.data(), [&](u32 l) {
    most[l] = std::max(most[l], now[l]);
    least[l] = std::min(least[l], now[l]);
  });
  sign_[a] = sign_[b] = 0;
  for (const bool swapped : {false, true}) {
    Node node{kThresholds, 1, u64{last} - first + 1, wrong_with(swapped ? a : b)};
    node.start = room();
    node.feature = feature;
    node.from = first;
    node.to = last;
    node.low_label = static_cast<u16>(swapped ? b : a);
    node.high_label = static_cast<u16>(swapped ? a : b);
    for (u32 l = 0; l < width_; ++l) {
      const T none = store_[node.least + l];  // wrong with nothing on the low side
      store_[node.start + l] = swapped ? none - start[l] : none + start[l];
      store_[node.least + l] = swapped ? none - most[l] : none + least[l];
    }
    tops.push_back(add(node));
  }
}

template <class T>
void LevelEnds<T>::open_thresholds(int index) {
  const Node parent = nodes_[static_cast<std::size_t>(index)];
  Node one = parent, two = parent;
  one.to = rows_.boundary_until(parent.feature, parent.from + (parent.to - parent.from) / 2);
  two.from = rows_.boundary_from(parent.feature, one.to + 1);
  one.size = u64{one.to} - one.from + 1;
  two.size = u64{two.to} - two.from + 1;
  one.least = room();
  two.start = room();
  two.least = room();
  sign_[parent.low_label] = -1;
  sign_[parent.high_label] = 1;
  std::array<T, kMostLevels> now{};
  std::copy_n(at(parent.start), width_, now.data());
  const auto stretch = [&](u32 from, u32 to, T* least) {
    std::copy_n(now.data(), width_, least);
    walk(parent.feature, from, to, now.data(), [&](u32 l) { least[l] = std::min(least[l], now[l]); });
  };
  stretch(one.from, one.to, at(one.least));
  walk(parent.feature, one.to, two.from, now.data(), [](u32) {});
  std::copy_n(now.data(), width_, at(two.start));
  stretch(two.from, two.to, at(two.least));
  sign_[parent.low_label] = sign_[parent.high_label] = 0;
  const int first = add(one), second = add(two);
  nodes_[static_cast<std::size_t>(index)].children[0] = first;
  nodes_[static_cast<std::size_t>(index)].children[1] = second;
}

// ------------------------------------------------------------------ sets of another column

template <class T>
void LevelEnds<T>::add_sets(u32 column, std::vector<int>& tops) {
  const LevelColumn& others = table_.levels[column];
  const u32 n_labels = static_cast<u32>(labels_.size());
  std::vector<T> cells(std::size_t{others.n_levels()} * n_labels * width_, 0);  // weight by other level, label, level
  for (u32 local = 0; local < rows_.n; ++local) {
    const LocalRow& row = local_[local];
    if (row.weight > 0)
      cells[(std::size_t{others.code[rows_.row(local)]} * n_labels + row.label) * width_ + row.level] += row.weight;
  }
  for (u32 a = 0; a < n_labels; ++a)
    for (u32 b = a + 1; b < n_labels; ++b) add_set_source(cells, others.n_levels(), a, b, tops);
}

// Levels that favour one label whatever the level of ours go where it is; the others stay open, those of most
// weight at stake first.
template <class T>
void LevelEnds<T>::add_set_source(const std::vector<T>& cells, u32 n_others, u32 a, u32 b, std::vector<int>& tops) {
  const std::size_t n_labels = labels_.size();
  const auto cell = [&](u32 other, u32 label) { return cells.data() + (other * n_labels + label) * width_; };
  Node node{kSets, 1, 1, room()};
  std::vector<std::pair<i64, u32>> open;
  for (u32 other = 0; other < n_others; ++other) {
    const T *const as_a = cell(other, a), *const as_b = cell(other, b);
    i64 for_a = 0, for_b = 0;
    for (u32 l = 0; l < width_; ++l) {
      for_a += std::max<i64>(0, i64{as_a[l]} - as_b[l]);
      for_b += std::max<i64>(0, i64{as_b[l]} - as_a[l]);
    }
    if (for_a > 0 && for_b > 0) open.emplace_back(-std::min(for_a, for_b), other);
    for (u32 l = 0; l < width_; ++l) {
      T all = 0;
      for (u32 label = 0; label < n_labels; ++label) all += cell(other, label)[l];
      store_[node.least + l] += all - std::max(as_a[l], as_b[l]);
    }
  }
  std::sort(open.begin(), open.end());
  SetSource source{static_cast<u32>(open.size()), {}, {}};
  for (const auto& [stake, other] : open) {  // beyond what every end gets wrong
    const T *const as_a = cell(other, a), *const as_b = cell(other, b);
    for (u32 l = 0; l < width_; ++l) {
      source.low.push_back(std::max(as_a[l], as_b[l]) - as_a[l]);
      source.high.push_back(std::max(as_a[l], as_b[l]) - as_b[l]);
    }
  }
  node.feature = static_cast<u32>(sources_.size());
  node.from = 0;
  if (source.open > 0) node.size = u64{1} << std::min<u32>(source.open, 61);
  sources_.push_back(std::move(source));
  tops.push_back(add(node));
}

template <class T>
void LevelEnds<T>::open_sets(int index) {
  const Node parent = nodes_[static_cast<std::size_t>(index)];
  int children[2];
  for (const int side : {0, 1}) {
    Node child = parent;
    child.least = room();
    const SetSource& source = sources_[parent.feature];
    const T* const more = (side == 0 ? source.low : source.high).data() + std::size_t{parent.from} * width_;
    for (u32 l = 0; l < width_; ++l) store_[child.least + l] = store_[parent.least + l] + more[l];
    child.from = parent.from + 1;
    const u32 open = source.open - child.from;
    child.size = u64{1} << std::min<u32>(open, 61);
    children[side] = add(child);
  }
  std::copy_n(children, 2, nodes_[static_cast<std::size_t>(index)].children);
}

template class LevelEnds<std::int32_t>;
template class LevelEnds<i64>;

}  // namespace proofwood::trees
