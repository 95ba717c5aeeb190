// An ensemble as Python hands it over: arrays of integers.
//
// Theory: docs/theory/explanations.md, "The grid".
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/arrays.hpp"
#include "votes/model.hpp"

namespace proofwood::votes {

using Numbers = Array<std::int64_t, 1>;
using Scores = Array<std::int64_t, 2>;

struct GivenModel {
  Model model;

  GivenModel(const Numbers& cells, const Numbers& leaves_of, const Scores& scores, const Numbers& base,
             const Numbers& needs_of, const Numbers& needs, std::vector<std::vector<int>> clauses) {
    const auto ints = [](const Numbers& given) -> std::vector<int> {
      return {given.data(), given.data() + given.shape(0)};
    };
    model.n_columns = static_cast<int>(cells.shape(0));
    model.n_trees = static_cast<int>(leaves_of.shape(0)) - 1;
    model.n_leaves = static_cast<int>(scores.shape(0));
    model.n_classes = static_cast<int>(scores.shape(1));
    model.cells = ints(cells);
    model.leaves_of = ints(leaves_of);
    model.scores.assign(scores.data(), scores.data() + scores.size());
    model.base.assign(base.data(), base.data() + base.shape(0));
    model.needs_of = ints(needs_of);
    const std::vector<int> literals = ints(needs);
    model.needs.assign(literals.begin(), literals.end());
    for (auto& clause : clauses) {
      // Two watched literals must differ, and a clause with both signs of a variable says nothing.
      std::sort(clause.begin(), clause.end());
      clause.erase(std::unique(clause.begin(), clause.end()), clause.end());
      const auto opposite = [](int a, int b) { return (a ^ 1) == b; };
      if (std::adjacent_find(clause.begin(), clause.end(), opposite) == clause.end())
        model.clauses.emplace_back(clause.begin(), clause.end());
    }
    model.index();
  }
};

}  // namespace proofwood::votes
