// Which leaves and cuts a box leaves open, and an ensemble of them.
//
// Theory: docs/theory/explanations.md, "Nearest rows".
#include "votes/part.hpp"

#include <algorithm>
#include <cstdlib>

namespace proofwood::votes {

namespace {
constexpr int kOut = -1, kConstant = -2;  // leaves that are not in the part
}  // namespace

Part::Part(const Model& model, Box box)
    : box_(std::move(box)), variable_(z(model.n_variables), -1), leaf_(z(model.n_leaves), kOut) {
  std::vector<char> asked(z(model.n_variables), 0);
  const auto open = [&](Literal l) {
    if (model.open(l, box_)) asked[z(l >> 1)] = 1;
  };
  for (int t = 0; t < model.n_trees; ++t) {
    const std::size_t before = leaf_of_.size();
    for (int leaf = model.leaves_of[z(t)]; leaf < model.leaves_of[z(t) + 1]; ++leaf) {
      const auto first = model.needs.begin() + model.needs_of[z(leaf)];
      const auto end = model.needs.begin() + model.needs_of[z(leaf) + 1];
      if (std::any_of(first, end, [&](Literal l) { return model.fails(l, box_); })) continue;
      leaf_of_.push_back(leaf);
      std::for_each(first, end, open);
    }
    if (leaf_of_.size() == before) {
      empty_ = true;
      return;
    }
  }
  for (const auto& clause : model.clauses)
    if (std::none_of(clause.begin(), clause.end(), [&](Literal l) { return model.fails(l ^ 1, box_); }))
      std::for_each(clause.begin(), clause.end(), open);
  cuts_.resize(z(model.n_columns));
  int n_variables = 0;
  for (int c = 0; c < model.n_columns; ++c) {
    for (int v = model.first[z(c)]; v < model.first[z(c) + 1]; ++v) {
      if (asked[z(v)] == 0) continue;
      variable_[z(v)] = n_variables++;
      cuts_[z(c)].push_back(v - model.first[z(c)]);
    }
    part_.cells.push_back(static_cast<int>(cuts_[z(c)].size()));
  }
  write_leaves(model);
  write_clauses(model);
  if (!empty_) part_.index();
}

void Part::write_leaves(const Model& model) {
  const std::size_t classes = z(model.n_classes);
  part_.n_columns = model.n_columns;
  part_.n_classes = model.n_classes;
  part_.base = model.base;
  part_.leaves_of.assign(1, 0);
  part_.needs_of.assign(1, 0);
  std::vector<int> stay;
  std::size_t i = 0;
  for (int t = 0; t < model.n_trees; ++t) {
    const std::size_t begin = i;
    while (i < leaf_of_.size() && leaf_of_[i] < model.leaves_of[z(t) + 1]) ++i;
    const int only = leaf_of_[begin];
    const auto first = model.needs.begin() + model.needs_of[z(only)];
    const auto end = model.needs.begin() + model.needs_of[z(only) + 1];
    if (i == begin + 1 && std::all_of(first, end, [&](Literal l) { return model.fails(l ^ 1, box_); })) {
      leaf_[z(only)] = kConstant;
      constant_.push_back(only);
      continue;
    }
    for (std::size_t k = begin; k < i; ++k) {
      const int leaf = leaf_of_[k];
      leaf_[z(leaf)] = static_cast<int>(stay.size());
      stay.push_back(leaf);
      for (int n = model.needs_of[z(leaf)]; n < model.needs_of[z(leaf) + 1]; ++n)
        if (model.open(model.needs[z(n)], box_)) part_.needs.push_back(inward(model.needs[z(n)]));
      part_.needs_of.push_back(static_cast<int>(part_.needs.size()));
      const auto scores = model.scores.begin() + static_cast<std::ptrdiff_t>(z(leaf) * classes);
      part_.scores.insert(part_.scores.end(), scores, scores + static_cast<std::ptrdiff_t>(classes));
    }
    part_.leaves_of.push_back(static_cast<int>(stay.size()));
  }
  part_.n_trees = static_cast<int>(part_.leaves_of.size()) - 1;
  part_.n_leaves = static_cast<int>(stay.size());
  leaf_of_ = std::move(stay);
}

void Part::write_clauses(const Model& model) {
  for (const auto& clause : model.clauses) {
    if (std::any_of(clause.begin(), clause.end(), [&](Literal l) { return model.fails(l ^ 1, box_); })) continue;
    std::vector<Literal> kept;
    for (const Literal l : clause)
      if (model.open(l, box_)) kept.push_back(inward(l));
    if (kept.empty()) {
      empty_ = true;
      return;
    }
    part_.clauses.push_back(std::move(kept));
  }
}

std::pair<int, int> Part::range(std::size_t column, int cell) const {
  const auto& cuts = cuts_[column];
  return {cell == 0 ? box_.low[column] : cuts[z(cell - 1)] + 1,
          z(cell) == cuts.size() ? box_.high[column] : cuts[z(cell)]};
}

Prices Part::price(const Prices& prices, const std::vector<int>& near) {
  Prices found(cuts_.size());
  cells_.resize(cuts_.size());
  for (std::size_t c = 0; c < cuts_.size(); ++c)
    for (int cell = 0; cell <= part_.cells[c]; ++cell) {
      const auto [low, high] = range(c, cell);
      int best = std::clamp(near[c], low, high);
      for (int one = low; one <= high; ++one) {
        const std::int64_t price = prices[c][z(one)], least = prices[c][z(best)];
        if (price < least || (price == least && std::abs(one - near[c]) < std::abs(best - near[c]))) best = one;
      }
      cells_[c].push_back(best);
      found[c].push_back(prices[c][z(best)]);
    }
  return found;
}

Lead Part::lead(const Lead& lead) const {
  Lead part;
  for (const int leaf : leaf_of_) part.gain.push_back(lead.gain[z(leaf)]);
  std::int64_t sum = 0;
  for (const int leaf : constant_) sum += lead.gain[z(leaf)];
  part.need = lead.need - sum;
  part.sure = lead.sure - sum;
  return part;
}

std::vector<int> Part::inward(const std::vector<int>& row) const {
  std::vector<int> cells(row.size());
  for (std::size_t c = 0; c < row.size(); ++c)
    cells[c] = static_cast<int>(std::lower_bound(cuts_[c].begin(), cuts_[c].end(), row[c]) - cuts_[c].begin());
  return cells;
}

std::vector<int> Part::outward(const std::vector<int>& cells) const {
  std::vector<int> row(cells.size());
  for (std::size_t c = 0; c < cells.size(); ++c) row[c] = cells_[c][z(cells[c])];
  return row;
}

std::vector<int> Part::outward(const std::vector<int>& cells, const std::vector<int>& near) const {
  std::vector<int> row(cells.size());
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const auto [low, high] = range(c, cells[c]);
    row[c] = std::clamp(near[c], low, high);
  }
  return row;
}

bool Part::leaves_inward(const std::vector<int>& leaves, std::vector<int>& found) const {
  found.clear();
  for (const int leaf : leaves) {
    if (leaf_[z(leaf)] == kOut) return false;
    if (leaf_[z(leaf)] != kConstant) found.push_back(leaf_[z(leaf)]);
  }
  return true;
}

std::vector<int> Part::leaves_outward(const std::vector<int>& leaves) const {
  std::vector<int> found = constant_;
  for (const int leaf : leaves) found.push_back(leaf_of_[z(leaf)]);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace proofwood::votes
