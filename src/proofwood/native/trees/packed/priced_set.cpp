// Sets of rows for trees of any depth whose leaves have a price (docs/theory/optimal-trees.md, "No depth").
#include "trees/packed/priced_set.hpp"

#include <algorithm>

namespace proofwood::trees::packed {

PricedRoom::PricedRoom(const TestTable& t, const Kernels& k, const Settings& s, const Stop& asked)
    : table(t), kernels(k), settings(s), stop(asked), error(s.prices.error), leaf(s.prices.leaf) {
  similar = s.rules.similarity && !s.minimum.any();
  const i64 most = k.cell_bytes == 2 ? (1 << 14) - 1 : (1 << 29) - 1;  // cells hold twice as much
  if (s.rules.dominated) least = std::min(most, leaf / error + 1);
  cell.resize(t.stride);
  for (u32 test = 0; test < t.stride; ++test) cell[test] = k.cell(test);
}

bool PricedSet::begin(PricedRoom& room, const PricedSet* parent, u32 test, int side, i64 known) {
  if (parent != nullptr) parent->choose(room, test, side);
  rows.open(room.table, room.kernels, room.scratch, parent != nullptr ? &room.alive : nullptr);
  if (!count(room)) return false;
  leaf = room.error * rows.counts.errors();
  upper = leaf;
  plan = leaf_plan();
  lower = std::min(known, leaf);
  const u32 n = rows.n_tests();
  for (const int s : {0, 1}) {
    side_lower[s].resize(n);
    side_upper[s].resize(n);
    shallow[s].resize(n);
    side_plan[s].assign(n, nullptr);
  }
  bound.assign(n, 0);
  for (u32 t = 0; t < n; ++t) begin_test(room, t);
  if (room.similar) look_at_parent(room, *this);
  if (room.similar && parent != nullptr) look_at_parent(room, *parent);
  u32 best = 0;
  i64 least = leaf;
  for (u32 t = 0; t < n; ++t) {
    refresh(room, t);
    if (bound[t] >= kInfinite) continue;
    if (cost(room, t) < least) {
      least = cost(room, t);
      best = t;
    }
  }
  if (least < upper) {
    upper = least;
    plan = plan_of(room, best);
  }
  lower = std::min(upper, std::max(lower, least_bound()));
  return true;
}

bool PricedSet::count(PricedRoom& room) {
  const Layers& layers = room.table.priced_layers;
  const Kernels& kernels = room.kernels;
  const std::size_t cell = static_cast<std::size_t>(kernels.cell_bytes), stride = rows.stride;
  sums_.pairs = pairs_.resize(std::size_t{layers.n_layers} * rows.n_tests() * stride * cell);
  sums_.single = single_.resize(std::size_t{layers.n_layers} * stride * cell);
  best_ = {cells_[0].resize(stride * cell), cells_[1].resize(stride * cell)};
  alone_ = {cells_[2].resize(stride * cell), cells_[3].resize(stride * cell)};
  all_.assign(layers.n_layers, 0);
  const std::vector<u32>& group = rows.group();
  for (u32 g = 0; g < layers.n_groups; ++g) {
    const auto size = static_cast<std::int32_t>(group[g + 1] - group[g]);
    for (u32 layer = 0; layer < layers.n_layers; ++layer)
      all_[layer] += size * layers.factor[std::size_t{layer} * layers.n_groups + g];
  }
  sums_.all = all_.data();
  const double words = rows.words.group[layers.n_groups] + 8.0 * layers.n_layers;
  room.work += 1000 + static_cast<double>(rows.n_tests()) * static_cast<double>(stride) / kTogether * words;
  kernels.count(rows.words, layers, sums_,
                room.sums.resize(std::size_t{layers.n_layers} * kScratchVectors * kVectorBytes), room.stop);
  if (room.stop.asked(room.stop.of)) return false;  // not all pairs have sums
  kernels.priced(layers, rows.n_tests(), rows.stride, sums_, best_, alone_, room.least);
  return true;
}

// ------------------------------------------------------------------ sums of sides

i64 PricedSet::weight(const PricedRoom& room, u32 test, int side) const {
  return on_side(room, room.table.priced_layers.weight, test, side);
}

// What a leaf on a side gets right.
i64 PricedSet::most(const PricedRoom& room, u32 test, int side) const {
  const Layers& layers = room.table.priced_layers;
  if (layers.two) return (weight(room, test, side) + std::abs(on_side(room, 0, test, side))) / 2;
  i64 most = 0;
  for (u32 c = 0; c < layers.n_classes; ++c) most = std::max(most, on_side(room, c, test, side));
  return most;
}

i64 PricedSet::side_leaf(const PricedRoom& room, u32 test, int side) const {
  return room.error * (weight(room, test, side) - most(room, test, side));
}

bool PricedSet::permitted(const PricedRoom& room, u32 test, int side) const {
  const Layers& layers = room.table.priced_layers;
  return !layers.minimum || (on_side(room, layers.n_layers - 2, test, side) >= layers.min_rows &&
                             on_side(room, layers.n_layers - 1, test, side) >= layers.min_mass);
}

// One leaf, two, three, more: the best tree of up to two is known, three have a leaf alone on one side.
void PricedSet::begin_test(const PricedRoom& room, u32 test) {
  const Rules& rules = room.settings.rules;
  const bool two = room.table.priced_layers.two;
  const std::size_t at = room.cell[test];
  for (const int s : {0, 1}) {
    if (!permitted(room, test, s)) {
      bound[test] = kInfinite;
      side_lower[s][test] = side_upper[s][test] = shallow[s][test] = 0;
      continue;
    }
    const i64 all = weight(room, test, s), one = room.error * (all - most(room, test, s));
    const i64 right = cell(room, s == 1 ? best_.holds : best_.fails, at);
    i64 known = one;
    if (right >= 0) known = std::min(one, room.error * (two ? (all - right) / 2 : all - right) + room.leaf);
    shallow[s][test] = side_upper[s][test] = known;
    i64 more = 2 * room.leaf;
    if (rules.three_leaves) {
      const i64 wrong = -cell(room, s == 1 ? alone_.holds : alone_.fails, at);
      more += wrong >= -no_leaf(room.kernels.cell_bytes) ? room.leaf : std::min(room.leaf, room.error * wrong);
    }
    side_lower[s][test] = std::min(known, more);
  }
}

// ------------------------------------------------------------------ bounds of sides

// A side that gets no more right than its price may as well go with the tree of the other side; that holds for any part
// of it, too.
void PricedSet::refresh(const PricedRoom& room, u32 test) {
  if (bound[test] >= kInfinite) return;
  i64 sum = side_lower[0][test] + side_lower[1][test] + room.leaf;
  if (room.settings.rules.dominated)
    for (const int s : {0, 1})
      if (side_lower[s][test] + room.leaf >= room.error * weight(room, test, s)) sum = kInfinite;
  bound[test] = std::max(bound[test], sum);
}

i64 PricedSet::least_bound() const {
  i64 least = upper;
  for (const i64 of_test : bound) least = std::min(least, of_test);
  return least;
}

// The sides are parts of those of the same test of the parent; or, where the set itself is the parent, of the set.
void PricedSet::look_at_parent(const PricedRoom& room, const PricedSet& parent) {
  const Layers& layers = room.table.priced_layers;
  const bool own = &parent == this;
  if (own && lower <= 2 * room.leaf) return;  // sides cost as much anyway
  for (u32 test = 0; test < rows.n_tests(); ++test) {
    const u32 above = own ? test : rows.place[test];
    for (const int s : {0, 1}) {
      const i64 known = own ? lower : parent.side_lower[s][above];
      if (known <= 2 * room.leaf || solved(test, s)) continue;
      const i64 of_part = weight(room, test, s);
      const i64 rest = (own ? rows.counts.weight : parent.weight(room, above, s)) - of_part;
      i64 least = known - room.error * rest;
      if (!own && room.settings.rules.split_off) {
        i64 right = 0;
        for (u32 c = 0; c < (layers.two ? 1 : layers.n_classes); ++c) {
          const i64 more = parent.on_side(room, c, above, s) - on_side(room, c, test, s);
          right = std::max(right, layers.two ? (rest + std::abs(more)) / 2 : more);
        }
        least = std::max(least, known - room.leaf - room.error * (rest - right));
      }
      side_lower[s][test] = std::max(side_lower[s][test], std::min(least, side_upper[s][test]));
    }
  }
}

void PricedSet::read_row(const PricedRoom& room, u32 layer, u32 test, std::vector<std::int32_t>& row) const {
  const u32 n = rows.n_tests(), from = test / kTogether * kTogether;
  row.resize(n);
  const auto read = [&](const auto* pairs) {
    for (u32 u = 0; u < from; ++u) row[u] = pairs[std::size_t{u} * rows.stride + room.cell[test]];
    const auto* const own = pairs + std::size_t{test} * rows.stride;
    for (u32 u = from; u < n; ++u) row[u] = own[room.cell[u]];
  };
  const std::size_t first = std::size_t{layer} * n * rows.stride;
  if (room.kernels.cell_bytes == 2)
    read(static_cast<const std::int16_t*>(sums_.pairs) + first);
  else
    read(static_cast<const std::int32_t*>(sums_.pairs) + first);
}

void PricedSet::choose(PricedRoom& room, u32 test, int side) const {
  const bool dominated = room.settings.rules.dominated;
  const i64 all = weight(room, test, side), least = dominated ? room.least : 1;
  read_row(room, room.table.priced_layers.weight, test, room.both);
  room.alive.clear();
  for (u32 u = 0; u < rows.n_tests(); ++u) {
    const i64 held = side == 1 ? room.both[u] : weight(room, u, 1) - room.both[u];
    if (bound[u] < kInfinite && held >= least && all - held >= least) room.alive.push_back(u);
  }
}

// What leaves get right, of the rows of a side, at which each test holds, and at which it fails.
void PricedSet::note_most(PricedRoom& room, u32 test, int side) const {
  const Layers& layers = room.table.priced_layers;
  const u32 n = rows.n_tests();
  room.most_in.assign(n, 0);
  room.most_out.assign(n, 0);
  for (u32 c = 0; c < (layers.two ? 1 : layers.n_classes); ++c) {
    read_row(room, c, test, room.part);
    const auto of_side = static_cast<std::int32_t>(on_side(room, c, test, side));
    for (u32 u = 0; u < n; ++u) {
      const auto held = side == 1 ? room.part[u] : static_cast<std::int32_t>(single(room, c, u)) - room.part[u];
      const auto rest = of_side - held;
      room.most_in[u] = std::max(room.most_in[u], layers.two ? std::abs(held) : held);
      room.most_out[u] = std::max(room.most_out[u], layers.two ? std::abs(rest) : rest);
    }
  }
}

// For a side B and the side A of another test: cost(A) >= cost(B) - what B has and A has not, if that is all wrong, or
// is split off as a leaf.
void PricedSet::spread(PricedRoom& room, u32 test, int side) {
  const i64 known = side_lower[side][test];
  if (!room.similar || known <= 2 * room.leaf) return;
  const bool split_off = room.settings.rules.split_off, two = room.table.priced_layers.two;
  const i64 all = weight(room, test, side);
  read_row(room, room.table.priced_layers.weight, test, room.both);
  if (split_off) note_most(room, test, side);
  for (u32 u = 0; u < rows.n_tests(); ++u) {
    const i64 in = side == 1 ? room.both[u] : weight(room, u, 1) - room.both[u], out = all - in;
    i64 holds = known - room.error * out, fails = known - room.error * in;
    if (split_off) {
      const i64 right_out = two ? (out + room.most_out[u]) / 2 : room.most_out[u];
      const i64 right_in = two ? (in + room.most_in[u]) / 2 : room.most_in[u];
      holds = std::max(holds, known - room.leaf - room.error * (out - right_out));
      fails = std::max(fails, known - room.leaf - room.error * (in - right_in));
    }
    if (holds <= side_lower[1][u] && fails <= side_lower[0][u]) continue;
    side_lower[1][u] = std::max(side_lower[1][u], std::min(holds, side_upper[1][u]));
    side_lower[0][u] = std::max(side_lower[0][u], std::min(fails, side_upper[0][u]));
    refresh(room, u);
  }
}

// ------------------------------------------------------------------ plans

PlanPtr PricedSet::plan_of_side(const PricedRoom& room, u32 test, int side) const {
  if (side_plan[side][test]) return side_plan[side][test];
  return side_upper[side][test] == side_leaf(room, test, side) ? leaf_plan() : stump_plan();
}

PlanPtr PricedSet::plan_of(const PricedRoom& room, u32 test) const {
  const Test& of = room.table.tests[rows.tests[test]];
  return split_plan(of.feature, of.key(), plan_of_side(room, test, 0), plan_of_side(room, test, 1));
}

}  // namespace proofwood::trees::packed
