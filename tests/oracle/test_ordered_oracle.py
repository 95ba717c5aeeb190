"""The best trees in order of classes against every tree of small tables, with the rules on and off."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from proofwood.engines.switches import switches
from proofwood.engines.trees import solve
from proofwood.engines.trees.ordered import OrderedOptions, _Search, solve_ordered
from proofwood.model.node_table import NodeTable
from proofwood.problem.class_limits import OrderedClasses, clashing_leaves
from proofwood.problem.targets import Classes
from proofwood.problem.tree import TreeProblem
from tests.naive_ordered import cheapest_in_order

OPTIONS = [OrderedOptions(), *(replace(OrderedOptions(), **{name: False}) for name in switches(OrderedOptions()))]


def random_problem(seed: int) -> TreeProblem:
    random = np.random.default_rng(seed)
    depth = int(random.choice([0, 1, 2, 2, 2, 3]))
    n_columns = int(random.integers(1, 4 if depth < 3 else 3))
    n_rows = int(random.integers(3, 14 if depth < 3 else 9))
    levels = int(random.integers(2, 5)) if depth < 3 else int(random.integers(2, 4))
    X = random.integers(0, levels, (n_rows, n_columns)).astype(float)
    if n_columns > 1 and random.random() < 0.3:  # a column that splits as another one does, or the other way round
        X[:, 1] = X[:, 0] if random.random() < 0.5 else levels - 1 - X[:, 0]
    scores = X @ random.normal(size=n_columns) + random.normal(size=n_rows)
    codes = (scores > np.median(scores)).astype(np.int64)
    weights = None if random.random() < 0.6 else random.integers(1, 6, n_rows).astype(float)
    problem = TreeProblem.from_arrays(
        X,
        codes,
        n_classes=2,
        sample_weight=weights,
        max_depth=depth,
        alpha=float(random.choice([0.0, 0.0, 0.05, 0.125])),
        min_samples_leaf=int(random.choice([1, 1, 1, 2, 3])),
    )
    directions = tuple(int(sign) for sign in random.choice([-1, 0, 1], n_columns))
    return replace(problem, target=OrderedClasses(problem.codes, 2, directions))


def directions_of(problem: TreeProblem) -> tuple[int, ...]:
    assert isinstance(problem.target, OrderedClasses)
    return problem.target.directions


@pytest.mark.parametrize(
    "options", OPTIONS, ids=lambda o: ",".join(n for n, on in switches(o).items() if not on) or "all"
)
def test_no_tree_in_order_costs_less(options: OrderedOptions) -> None:
    for seed in range(120):
        problem = random_problem(seed)
        result = solve_ordered(problem, options=options)
        assert result.model is not None
        least = cheapest_in_order(
            problem.X,
            problem.codes,
            problem.weights,
            directions_of(problem),
            depth=problem.max_depth,
            error_price=problem.cost.error_price,
            leaf_price=problem.cost.leaf_price,
            min_rows=problem.min_samples_leaf,
        )
        assert problem.integer_cost(result.model) == least, seed
        assert result.status == "optimal", seed
        assert (
            result.lower_bound
            == result.objective
            == float(problem.cost.real_cost(Fraction(0), 0) + problem.real_cost(result.model))
        )
        assert clashing_leaves(result.model, directions_of(problem)) is None


def test_without_directions_it_is_the_best_of_all_trees() -> None:
    for seed in range(40):
        problem = random_problem(1000 + seed)
        free = replace(problem, target=OrderedClasses(problem.codes, 2, (0,) * problem.n_features))
        unordered = replace(problem, target=Classes(problem.codes, 2))
        assert solve_ordered(free).objective == solve(unordered).objective


def test_ctrl_c_leaves_a_tree_and_its_own_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.arange(12.0)[:, np.newaxis]
    problem = TreeProblem.from_arrays(X, np.repeat([0, 1], 6), n_classes=2, max_depth=1)
    problem = replace(problem, target=OrderedClasses(problem.codes, 2, (1,)))
    count, calls = TreeProblem.integer_cost, 0

    def interrupted(self: TreeProblem, table: NodeTable) -> int:
        nonlocal calls
        calls += 1
        if calls == 2:  # the cost of the tree that the search has found
            raise KeyboardInterrupt
        return count(self, table)

    monkeypatch.setattr(TreeProblem, "integer_cost", interrupted)
    result = solve_ordered(problem)
    assert calls == 3  # once more, as what the search has found is not lost
    assert result.model is not None
    assert result.stats.stopped_by == "interrupt"
    assert result.objective == count(problem, result.model) == 0


def test_ctrl_c_after_the_search_does_not_lose_what_it_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = next(one for one in map(random_problem, range(100)) if one.depth == 2 and solve_ordered(one).model.depth)
    best = solve_ordered(problem).objective
    assert best < problem.cost.reported(problem.integer_cost(NodeTable.leaf(0, problem.target.width)), 0)[0]
    original, pressed = _Search._table, []

    def table(self: _Search, nodes: list[tuple[int, float, int, int, bool]]) -> NodeTable:
        if not pressed:
            pressed.append(True)
            raise KeyboardInterrupt
        return original(self, nodes)

    monkeypatch.setattr(_Search, "_table", table)
    found = solve_ordered(problem)
    assert pressed
    assert found.objective == best
    assert found.stats.stopped_by == "interrupt"
