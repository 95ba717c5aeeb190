"""Rules that random models obey: each against the model's predictions for its whole grid, and the rows it has."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from proofwood import Explainer, proved_rules
from tests.fuzz import explanations
from tests.fuzz.born_again import MODELS as MODELS
from tests.fuzz.born_again import _known
from tests.fuzz.explanations import Case, Grid, holds


def check(case: Case, rng: np.random.Generator, counts: Counter[str]) -> None:
    """Rules of a case for random limits; the first fault is an AssertionError."""
    explainer = Explainer(case.model, **case.options)
    X = case.X
    if case.possible is not None:  # rows that satisfy the conditions
        X = X[case.possible(Explainer(case.model, **{**case.options, "knowledge": None}).model.read(X))]
        if not len(X):
            return
    seconds = None if rng.random() < 0.7 else float(10 ** rng.uniform(-4, -0.5))
    limits: dict[str, Any] = {
        "max_rules": int(rng.integers(1, 8)),
        "coverage": float(rng.choice([0.3, 0.8, 1.0])),
        "max_conditions": None if rng.random() < 0.7 else int(rng.integers(1, 4)),
        "time_limit": seconds,
        "random_state": int(rng.integers(100)),
    }
    found = proved_rules(explainer, X, **limits)
    told = f"{limits}: {found}"
    model = found.model
    grid = Grid(Explainer(model), rng, case.possible)
    if grid.size > explanations.MOST_ROWS:
        counts["too large"] += 1
        return
    table = model.read(X)
    codes = model.predict_codes(table)
    done, done_grid = np.zeros(len(table), dtype=bool), np.full(len(grid.rows), -1)
    for number, rule in enumerate(found):
        label = rule.region.label
        inside = np.ones(len(grid.rows), dtype=bool)
        mine = np.ones(len(table), dtype=bool)
        for condition in rule.conditions:
            inside &= holds(condition, Explainer(model), grid.rows)
            mine &= holds(condition, Explainer(model), table)
        assert (grid.codes[inside] == label).all(), f"{rule.text(None)} has rows of another class, {told}"
        assert (codes[mine] == label).all(), f"{rule.text(None)} has rows of the table of another class, {told}"
        assert rule.n_rows == mine.sum(), f"{rule.text(None)} has {mine.sum()} rows and not {rule.n_rows}"
        assert rule.n_new == (mine & ~done).sum() > 0, told
        done |= mine
        done_grid[inside & (done_grid < 0)] = number
        if limits["max_conditions"] is not None:
            assert len(rule.conditions) <= limits["max_conditions"], told
    assert found.n_covered == done.sum() <= found.most_covered, told
    assert len(found) <= limits["max_rules"], told
    if found.status == "covered":
        assert found.coverage >= limits["coverage"], told
    assert seconds is not None or found.status in ("covered", "max_rules", "exhausted"), told
    exact = model.scores.margin == 0
    if seconds is None and exact and limits["max_conditions"] is None:
        assert found.status != "exhausted", told  # each row has a rule of its own
    assert found.check().ok, told
    if len(found):
        assert np.array_equal(found._met(grid.rows).argmax(axis=0)[done_grid >= 0], done_grid[done_grid >= 0]), told
    counts[found.status] += 1
    counts["rules"] += len(found)


def one_case(number: int) -> Counter[str]:
    """How many models, rules, and answers of each status a case had; AssertionError at the first fault."""
    counts: Counter[str] = Counter()
    with explanations.drawn(number, MODELS) as (case, rng):
        if rng.random() < 0.3:
            case = _known(case, rng)
        check(case, rng, counts)
        counts["models"] += 1
    return counts
