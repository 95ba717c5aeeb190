// Chains of pieces and the bounds of slabs (docs/theory/optimal-trees.md, "Blocks").
#include "trees/block_node.hpp"

#include <algorithm>

namespace proofwood::trees {

// Cuts the rows into up to `count` blocks of about equal weight.
void Blocks::begin(const Table& table, Rows& rows, u32 feature, const Prices& prices, u32 count) {
  edges.assign(1, 0);
  weight.assign(1, 0);
  const i64 all = rows.weight_before(table, feature, rows.n);
  for (u32 k = 1; k < count; ++k) {
    const u32 wish = rows.position_at_weight(table, feature, 0, all * k / count);
    const u32 at = rows.boundary_until(feature, std::max(wish, 1u));
    if (at <= edges.back()) continue;
    edges.push_back(at);
    weight.push_back(prices.error * rows.weight_before(table, feature, at));
  }
  edges.push_back(rows.n);
  weight.push_back(prices.error * all);
  pieces.clear();
  for (std::size_t e = 0; e + 1 < edges.size(); ++e) pieces.push_back({.first = edges[e], .last = edges[e + 1]});
  mark_empty(rows, feature);
}

void Blocks::begin_levels(const std::vector<u32>& rows_of) {
  edges.assign(1, 0);
  pieces.clear();
  for (u32 level = 0; level < rows_of.size(); ++level) {
    if (rows_of[level] == 0) continue;
    pieces.push_back({.first = edges.back(), .last = edges.back() + rows_of[level]});
    edges.push_back(pieces.back().last);
    level_of.push_back(level);
  }
}

void Blocks::leave_out() {
  edges.assign(1, 0);
  weakest = {.bound = kInfinite};
}

void Blocks::mark_empty(const Rows& rows, u32 feature) {
  empty.assign(edges.size() - 1, 0);
  for (std::size_t s = 0; s + 1 < edges.size(); ++s) {
    const u32 inside = edges[s] + 1 < edges[s + 1] ? rows.boundary_from(feature, edges[s] + 1) : edges[s + 1];
    empty[s] = inside >= edges[s + 1];
  }
}

u32 Blocks::edge_of(u32 position) const {
  return static_cast<u32>(std::lower_bound(edges.begin(), edges.end(), position) - edges.begin());
}

void Blocks::add_edge(const Table& table, Rows& rows, u32 feature, const Prices& prices, u32 position) {
  const auto at = static_cast<std::ptrdiff_t>(edge_of(position));
  edges.insert(edges.begin() + at, position);
  weight.insert(weight.begin() + at, prices.error * rows.weight_before(table, feature, position));
  mark_empty(rows, feature);
}

int Blocks::find(u32 first, u32 last) const {
  for (std::size_t p = 0; p < pieces.size(); ++p)
    if (pieces[p].first == first && pieces[p].last == last) return static_cast<int>(p);
  return -1;
}

i64 Blocks::slab_bound(u32 slab) const {
  const i64 apart = weight[slab + 1] - weight[slab];
  return std::max(before[slab] + after[slab + 1], before[slab + 1] + after[slab] - apart);
}

std::vector<Floor> Blocks::floors(i64 price, i64 least) const {
  std::vector<Floor> all;
  for (u32 s = 0; begun() && s + 1 < edges.size(); ++s) {
    if (s > 0) all.push_back({edges[s], std::max(least, edge_bound(s) + price)});
    all.push_back({edges[s + 1] - 1, std::max(least, slab_bound(s) + price)});
  }
  return all;
}

void Blocks::update() {
  if (of_levels()) {
    weakest = {.bound = pieces.size() > 1 ? 0 : kInfinite};
    for (const Piece& piece : pieces) weakest.bound += piece.value;
    return;
  }
  const std::size_t n = edges.size();
  before.assign(n, 0);
  after.assign(n, 0);
  before_by.assign(n, -1);
  after_by.assign(n, -1);
  std::vector<std::vector<int>> ending(n), starting(n);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    ending[edge_of(pieces[p].last)].push_back(static_cast<int>(p));
    starting[edge_of(pieces[p].first)].push_back(static_cast<int>(p));
  }
  for (std::size_t e = 1; e < n; ++e) {
    before[e] = before[e - 1];
    for (const int p : ending[e]) {
      const i64 chain = before[edge_of(pieces[p].first)] + pieces[p].value;
      if (chain > before[e] || (before_by[e] < 0 && chain >= before[e])) {
        before[e] = chain;
        before_by[e] = p;
      }
    }
  }
  for (std::size_t e = n - 1; e-- > 0;) {
    after[e] = after[e + 1];
    for (const int p : starting[e]) {
      const i64 chain = after[edge_of(pieces[p].last)] + pieces[p].value;
      if (chain > after[e] || (after_by[e] < 0 && chain >= after[e])) {
        after[e] = chain;
        after_by[e] = p;
      }
    }
  }
  weakest = {.bound = kInfinite};
  for (u32 e = 1; e + 1 < n; ++e) {
    const i64 bound = edge_bound(e);
    if (bound < weakest.bound) weakest = {bound, false, false, e, e};
  }
  for (u32 s = 0; s + 1 < n; ++s) {
    if (empty[s]) continue;
    const i64 bound = slab_bound(s);
    const i64 apart = weight[s + 1] - weight[s];
    const bool cross = before[s + 1] + after[s] - apart > before[s] + after[s + 1];
    if (bound <= weakest.bound) weakest = {bound, true, cross, s, s + 1};
  }
}

void Blocks::chains(std::vector<int>& pieces_of, std::size_t& turn) const {
  pieces_of.clear();
  const u32 low = weakest.cross ? weakest.high : weakest.low, high = weakest.cross ? weakest.low : weakest.high;
  for (u32 e = low; e > 0;) {
    const int p = before_by[e];
    if (p < 0) {
      --e;
      continue;
    }
    pieces_of.push_back(p);
    e = edge_of(pieces[p].first);
  }
  std::reverse(pieces_of.begin(), pieces_of.end());
  turn = pieces_of.size();
  for (u32 e = high; e + 1 < edges.size();) {
    const int p = after_by[e];
    if (p < 0) {
      ++e;
      continue;
    }
    pieces_of.push_back(p);
    e = edge_of(pieces[p].last);
  }
}

}  // namespace proofwood::trees
