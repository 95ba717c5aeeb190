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

void Factors::add_edges(int factor) {
  const int first = options_of[z(factor)], end = options_of[z(factor) + 1];
  std::map<int, std::vector<int>> cuts_of;
  for (int i = needs_of[z(first)]; i < needs_of[z(end)]; ++i) {
    const int v = needs[z(i)] >> 1, c = model.column_of[z(v)];
    cuts_of[c].push_back(v - model.first[z(c)] + 1);
  }
  for (auto& [column, found] : cuts_of) {
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    Edge edge{factor,
              column,
              static_cast<int>(cuts.size()),
              static_cast<int>(found.size()),
              n_slots,
              static_cast<int>(interval_of.size()),
              static_cast<int>(intervals.size()),
              0};
    cuts.insert(cuts.end(), found.begin(), found.end());
    n_slots += edge.n_cuts + 1;
    std::map<std::pair<int, int>, int> numbers;
    for (int option = first; option < end; ++option) {
      int low = 0, high = model.cells[z(column)];
      for (int i = needs_of[z(option)]; i < needs_of[z(option) + 1]; ++i) {
        const int v = needs[z(i)] >> 1;
        if (model.column_of[z(v)] != column) continue;
        const int cut = v - model.first[z(column)];
        if ((needs[z(i)] & 1) != 0)
          high = std::min(high, cut);
        else
          low = std::max(low, cut + 1);
      }
      const std::pair<int, int> interval{slot(edge, low), slot(edge, high)};
      const auto [at, added] = numbers.emplace(interval, edge.n_intervals);
      if (added) {
        intervals.push_back(interval);
        ++edge.n_intervals;
      }
      interval_of.push_back(at->second);
    }
    edges.push_back(edge);
  }
  edge_of_need.resize(z(needs_of[z(end)]));
  for (int i = needs_of[z(first)]; i < needs_of[z(end)]; ++i) {
    const auto at = cuts_of.find(model.column_of[z(needs[z(i)] >> 1)]);
    edge_of_need[z(i)] = edges_of.back() + static_cast<int>(std::distance(cuts_of.begin(), at));
  }
  edges_of.push_back(static_cast<int>(edges.size()));
}

}  // namespace proofwood::votes
