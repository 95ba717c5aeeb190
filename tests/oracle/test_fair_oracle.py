"""Trees under limits on rates, and the least difference of rates, against every labelled tree of small tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from proofwood.engines.trees import fair, solve
from proofwood.engines.trees.fair import least_sum, solve_fair
from proofwood.problem.class_limits import FairClasses
from proofwood.problem.diagram import Rate
from proofwood.problem.tree import TreeProblem
from tests.naive_ordered import labelled_trees, ranks_of, wrong


@dataclass
class Case:
    problem: TreeProblem
    rates: tuple[Rate, ...]
    forms: np.ndarray
    scales: list[Fraction]
    slack: int

    @property
    def positive(self) -> int:
        return self.rates[0].positive

    def trees(self) -> dict[bytes, int]:
        """The least cost of each set of rows that some tree predicts positive."""
        problem, found = self.problem, {}
        for leaves in labelled_trees(ranks_of(problem.X), problem.max_depth, problem.min_samples_leaf):
            chosen = np.zeros(problem.n_rows, dtype=bool)
            for _, label, rows in leaves:
                if label == self.positive:
                    chosen[list(rows)] = True
            cost = problem.cost.of_tree(wrong(leaves, problem.codes, problem.weights), len(leaves))
            key = chosen.tobytes()
            found[key] = min(cost, found.get(key, cost))
        return found

    def greatest(self, key: bytes) -> Fraction:
        chosen = np.frombuffer(key, dtype=bool)
        sums = self.forms[:, chosen].sum(axis=1).tolist()
        return max(scale * total for scale, total in zip(self.scales, sums, strict=True))

    def kept(self, key: bytes) -> bool:
        predicted = np.where(np.frombuffer(key, dtype=bool), self.positive, 1 - self.positive)
        return all(rate.slack(predicted) >= 0 for rate in self.rates)


def random_case(seed: int) -> Case:
    random = np.random.default_rng(seed)
    depth = int(random.choice([1, 2, 2, 3]))
    n_columns = int(random.integers(1, 4 if depth < 3 else 3))
    n_rows = int(random.integers(4, 12 if depth < 3 else 8))
    X = random.integers(0, int(random.integers(2, 5 if depth < 3 else 4)), (n_rows, n_columns)).astype(float)
    scores = X @ random.normal(size=n_columns) + random.normal(size=n_rows)
    n_groups = int(random.choice([2, 2, 3]))
    group = random.integers(0, n_groups, n_rows)
    group[:n_groups] = range(n_groups)
    problem = TreeProblem.from_arrays(
        X,
        (scores > np.median(scores)).astype(np.int64),
        n_classes=2,
        sample_weight=None if random.random() < 0.6 else random.integers(1, 5, n_rows).astype(float),
        max_depth=depth,
        alpha=float(random.choice([0.0, 0.0, 0.0625])),
        min_samples_leaf=int(random.choice([1, 1, 2])),
    )
    # rates count rows by weights of their own, as those of people beside the weights of classes
    weights = random.integers(1, 5, n_rows) if random.random() < 0.5 else problem.weights
    pairs = [(a, b) for a in range(n_groups) for b in range(n_groups) if a != b]
    ratio, positive = Fraction(int(random.choice([5, 8, 9, 10])), 10), int(random.integers(0, 2))
    totals = [int(weights[group == a].sum()) for a in range(n_groups)]
    return Case(
        problem,
        tuple(Rate(group == a, group == b, weights, positive, ratio) for a, b in pairs),
        np.array([weights * (totals[b] * (group == a) - totals[a] * (group == b)) for a, b in pairs]),
        [Fraction(1, totals[a] * totals[b]) for a, b in pairs],
        int(random.integers(0, 3)) * problem.cost.error_price,
    )


def test_no_tree_within_the_limits_costs_less() -> None:
    for seed in range(150):
        case = random_case(seed)
        problem = replace(case.problem, target=FairClasses(case.problem.codes, 2, case.rates))
        result = solve_fair(problem)
        assert result.model is not None
        least = min(cost for key, cost in case.trees().items() if case.kept(key))
        assert problem.integer_cost(result.model) == least, seed
        assert result.status == "optimal", seed
        assert result.lower_bound == result.objective


def test_no_tree_within_the_cost_has_a_smaller_greatest_sum() -> None:
    for seed in range(150):
        case = random_case(2000 + seed)
        start = solve(case.problem).model
        assert start is not None
        most = case.problem.integer_cost(start) + case.slack
        found = least_sum(
            case.problem,
            case.positive,
            case.forms,
            case.scales,
            most=most,
            start=start if seed % 2 else None,
        )
        least = min(case.greatest(key) for key, cost in case.trees().items() if cost <= most)
        assert found.table is not None
        assert found.greatest == found.lower == least, seed
        assert case.problem.integer_cost(found.table) <= most


def test_bounds_hold_where_the_trees_are_too_many_to_look_at(monkeypatch) -> None:
    monkeypatch.setattr(fair, "MOST_KEPT", 1)
    left_open = 0
    for seed in range(100):
        case = random_case(4000 + seed)
        problem = replace(case.problem, target=FairClasses(case.problem.codes, 2, case.rates))
        result = solve_fair(problem)
        least = min(cost for key, cost in case.trees().items() if case.kept(key))
        unit = float(problem.cost.in_weight(1))
        assert result.lower_bound <= least * unit * (1 + 1e-12)
        assert result.objective >= least * unit * (1 - 1e-12)
        assert (result.status == "optimal") == (result.lower_bound == result.objective)
        left_open += result.status == "feasible"
        start = solve(case.problem).model
        assert start is not None
        most = case.problem.integer_cost(start) + case.slack
        found = least_sum(case.problem, case.positive, case.forms, case.scales, most=most, start=start)
        true = min(case.greatest(key) for key, cost in case.trees().items() if cost <= most)
        assert found.greatest is not None
        assert found.lower <= true <= found.greatest
    assert left_open > 0


def test_rounded_prices_leave_a_bound(monkeypatch) -> None:
    monkeypatch.setattr(fair, "BITS", 7)
    monkeypatch.setattr(fair, "MOST_SEARCHES", 6)
    for seed in range(25):
        case = random_case(6000 + seed)
        problem = replace(case.problem, target=FairClasses(case.problem.codes, 2, case.rates))
        least = min(cost for key, cost in case.trees().items() if case.kept(key))
        result = solve_fair(problem)
        unit = float(problem.cost.in_weight(1))
        assert result.lower_bound <= least * unit * (1 + 1e-12)
        assert result.objective >= least * unit * (1 - 1e-12)
        if result.status == "optimal":
            assert problem.integer_cost(result.model) == least
