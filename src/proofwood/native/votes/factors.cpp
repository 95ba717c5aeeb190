// Options of trees and clauses, and the slots that they tell apart in each column.
//
// Theory: docs/theory/explanations.md, "The engine messages".
#include "votes/factors.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace proofwood::votes {

Factors::Factors(const Model& of) : model(of), needs_of(of.needs_of), needs(of.needs) {
  options_of = model.leaves_of;
  add_clauses();
  edges_of.assign(1, 0);
  for (int f = 0; f < n_factors(); ++f) add_edges(f);
  std::vector<int> in_column(z(model.n_columns), 0);
  for (const Edge& edge : edges) most_edges = std::max(most_edges, ++in_column[z(edge.column)]);
  for (int f = 0; f < n_factors(); ++f) most_edges = std::max(most_edges, edges_of[z(f) + 1] - edges_of[z(f)]);
}

int Factors::slot(const Edge& edge, int cell) const {
  const auto first = cuts.begin() + edge.first_cut;
  return static_cast<int>(std::upper_bound(first, first + edge.n_cuts, cell) - first);
}

// A clause becomes a factor with an option for each literal. Where every two literals of a clause exclude each other,
// its options say so: they speak of all its columns, and the clauses that exclude them are not needed.
void Factors::add_clauses() {
  std::set<std::pair<Literal, Literal>> excluded;  // of two literals at most one holds
  for (const auto& clause : model.clauses)
    if (clause.size() == 2) excluded.emplace(clause[0] ^ 1, clause[1] ^ 1);
  const auto exclude = [&](Literal a, Literal b) { return excluded.contains({a, b}) || excluded.contains({b, a}); };
  std::set<std::pair<Literal, Literal>> covered;
  std::vector<const std::vector<Literal>*> rest;
  // Ends an option, which is left out if no cell of some column satisfies it.
  const auto close = [&] {
    const auto begin = needs.begin() + needs_of.back();
    for (auto a = begin; a != needs.end(); ++a)
      for (auto b = begin; b != a; ++b) {
        const Literal above = (*a & 1) == 0 ? *a : *b, below = (*a & 1) == 0 ? *b : *a;
        if ((above & 1) != 0 || (below & 1) == 0) continue;
        if (model.column_of[z(above >> 1)] != model.column_of[z(below >> 1)] || above >> 1 < below >> 1) continue;
        needs.resize(z(needs_of.back()));
        return;
      }
    needs_of.push_back(static_cast<int>(needs.size()));
  };
  for (const auto& clause : model.clauses) {
    bool group = clause.size() > 2;
    for (std::size_t i = 0; group && i < clause.size(); ++i)
      for (std::size_t j = 0; group && j < i; ++j) group = exclude(clause[j], clause[i]);
    if (!group) {
      rest.push_back(&clause);
      continue;
    }
    ways.emplace_back(true, clause);
    for (const Literal on : clause) {
      for (const Literal l : clause) {
        needs.push_back(l == on ? l : l ^ 1);
        covered.emplace(std::min(l, on), std::max(l, on));
      }
      close();
    }
    options_of.push_back(static_cast<int>(needs_of.size()) - 1);
  }
  for (const auto* clause : rest) {
    if (clause->size() == 2) {
      const Literal a = (*clause)[0] ^ 1, b = (*clause)[1] ^ 1;
      if (covered.contains({std::min(a, b), std::max(a, b)})) continue;
    }
    ways.emplace_back(false, *clause);
    for (const Literal l : *clause) {
      needs.push_back(l);
      close();
    }
    options_of.push_back(static_cast<int>(needs_of.size()) - 1);
  }
}

// An edge for each column that the factor has cuts in, in the order of columns.
void Factors::add_edges(int factor) {
  const int first = options_of[z(factor)], end = options_of[z(factor) + 1], n_options = end - first;
  std::vector<std::vector<int>> cuts_in(z(model.n_columns));
  std::vector<int> columns;
  for (int i = needs_of[z(first)]; i < needs_of[z(end)]; ++i) {
    const int v = needs[z(i)] >> 1, c = model.column_of[z(v)];
    if (cuts_in[z(c)].empty()) columns.push_back(c);
    cuts_in[z(c)].push_back(v - model.first[z(c)] + 1);
  }
  std::sort(columns.begin(), columns.end());
  std::vector<int> edge_in(z(model.n_columns), -1);
  for (const int column : columns) {
    auto& found = cuts_in[z(column)];
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    edge_in[z(column)] = static_cast<int>(edges.size());
    edges.push_back({factor, column, static_cast<int>(cuts.size()), static_cast<int>(found.size()), n_slots,
                     static_cast<int>(interval_of.size()), 0, 0});
    cuts.insert(cuts.end(), found.begin(), found.end());
    n_slots += edges.back().n_cuts + 1;
    interval_of.resize(interval_of.size() + z(n_options), 0);  // number 0: all slots, which most options permit
  }
  edge_of_need.resize(z(needs_of[z(end)]));
  for (int i = needs_of[z(first)]; i < needs_of[z(end)]; ++i)
    edge_of_need[z(i)] = edge_in[z(model.column_of[z(needs[z(i)] >> 1)])];
  add_intervals(factor);
  edges_of.push_back(static_cast<int>(edges.size()));
}

// Which slots each option permits in the columns that it needs something of.
void Factors::add_intervals(int factor) {
  const int first = options_of[z(factor)], end = options_of[z(factor) + 1];
  const int first_edge = edges_of.back(), n_edges = static_cast<int>(edges.size()) - first_edge;
  std::vector<std::map<std::pair<int, int>, int>> numbers(z(n_edges));
  std::vector<std::pair<int, int>> limits(z(n_edges));  // least and greatest cell, of an option
  for (int e = 0; e < n_edges; ++e) {
    const Edge& edge = edges[z(first_edge + e)];
    limits[z(e)] = {0, model.cells[z(edge.column)]};
    numbers[z(e)].emplace(std::pair(0, edge.n_cuts), 0);
  }
  const auto whole = limits;
  for (int option = first; option < end; ++option) {
    for (int i = needs_of[z(option)]; i < needs_of[z(option) + 1]; ++i) {
      const int v = needs[z(i)] >> 1, cut = v - model.first[z(model.column_of[z(v)])];
      auto& [low, high] = limits[z(edge_of_need[z(i)] - first_edge)];
      if ((needs[z(i)] & 1) != 0)
        high = std::min(high, cut);
      else
        low = std::max(low, cut + 1);
    }
    for (int i = needs_of[z(option)]; i < needs_of[z(option) + 1]; ++i) {
      const int e = edge_of_need[z(i)] - first_edge;
      if (limits[z(e)] == whole[z(e)]) continue;  // seen already
      const Edge& edge = edges[z(first_edge + e)];
      const std::pair<int, int> interval{slot(edge, limits[z(e)].first), slot(edge, limits[z(e)].second)};
      const int next = static_cast<int>(numbers[z(e)].size());
      interval_of[z(edge.first_number + option - first)] = numbers[z(e)].emplace(interval, next).first->second;
      limits[z(e)] = whole[z(e)];
    }
  }
  for (int e = 0; e < n_edges; ++e) {
    Edge& edge = edges[z(first_edge + e)];
    edge.first_interval = static_cast<int>(intervals.size());
    edge.n_intervals = static_cast<int>(numbers[z(e)].size());
    intervals.resize(intervals.size() + numbers[z(e)].size());
    for (const auto& [interval, number] : numbers[z(e)]) intervals[z(edge.first_interval + number)] = interval;
  }
}

}  // namespace proofwood::votes
