// Options of trees and clauses, and the slots that they tell apart in each column.
//
// Theory: docs/theory/explanations.md, "The engine messages".
#include "votes/factors.hpp"

#include <algorithm>
#include <limits>
#include <map>

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
  const std::size_t n_literals = 2 * model.column_of.size();
  std::vector<std::vector<Literal>> excluded(n_literals);  // by literal, those that do not hold beside it
  for (const auto& clause : model.clauses) {
    if (clause.size() != 2) continue;
    const Literal a = clause[0] ^ 1, b = clause[1] ^ 1;
    excluded[z(a)].push_back(b);
    excluded[z(b)].push_back(a);
  }
  for (auto& others : excluded) {
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
  }
  std::vector<int> member_of(n_literals, -1);  // the last clause that was looked at and has the literal
  std::vector<std::vector<int>> groups_of(n_literals);
  const auto is_group = [&](const std::vector<Literal>& clause, int number) {
    for (const Literal l : clause) member_of[z(l)] = number;
    for (const Literal l : clause) {
      std::size_t beside = 1;  // itself
      for (const Literal other : excluded[z(l)]) beside += other != l && member_of[z(other)] == number ? 1 : 0;
      if (beside < clause.size()) return false;
    }
    return true;
  };
  const auto covered = [&](Literal a, Literal b) {
    return std::any_of(groups_of[z(a)].begin(), groups_of[z(a)].end(), [&](int group) {
      return std::find(groups_of[z(b)].begin(), groups_of[z(b)].end(), group) != groups_of[z(b)].end();
    });
  };
  std::vector<const std::vector<Literal>*> rest;
  // Ends an option, which is left out if no cell of some column satisfies it.
  std::vector<int> above(z(model.n_columns), -1);  // the last cut that it needs to be above, by column
  std::vector<int> below(z(model.n_columns), -1);  // and the first one to be below
  const auto close = [&] {
    const auto begin = needs.begin() + needs_of.back();
    for (auto need = begin; need != needs.end(); ++need) {
      const auto c = z(model.column_of[z(*need >> 1)]);
      above[c] = -1;
      below[c] = std::numeric_limits<int>::max();
    }
    bool possible = true;
    for (auto need = begin; need != needs.end(); ++need) {
      const int v = *need >> 1;
      const auto c = z(model.column_of[z(v)]);
      if ((*need & 1) == 0)
        above[c] = std::max(above[c], v);
      else
        below[c] = std::min(below[c], v);
      possible = possible && above[c] < below[c];
    }
    if (possible)
      needs_of.push_back(static_cast<int>(needs.size()));
    else
      needs.resize(z(needs_of.back()));
  };
  for (std::size_t number = 0; number < model.clauses.size(); ++number) {
    const auto& clause = model.clauses[number];
    if (clause.size() <= 2 || !is_group(clause, static_cast<int>(number))) {
      rest.push_back(&clause);
      continue;
    }
    ways.emplace_back(true, clause);
    for (const Literal on : clause) {
      groups_of[z(on)].push_back(static_cast<int>(number));
      for (const Literal l : clause) needs.push_back(l == on ? l : l ^ 1);
      close();
    }
    options_of.push_back(static_cast<int>(needs_of.size()) - 1);
  }
  for (const auto* clause : rest) {
    if (clause->size() == 2 && covered((*clause)[0] ^ 1, (*clause)[1] ^ 1)) continue;
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
