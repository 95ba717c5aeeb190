"""F measures, flips and bounds that are carried over, against every tree of small tables, in fractions."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from proofwood import OptimalTreeClassifier
from proofwood.exceptions import DataWarning, OptimalityWarning
from proofwood.result import Status
from tests.naive_questions import NaiveQuestions

CLOSE = Fraction(1, 10**9)
MEASURES: tuple[tuple[dict[str, Any], Fraction, Fraction], ...] = (
    ({"criterion": "f1"}, Fraction(2), Fraction(1)),
    ({"criterion": "jaccard"}, Fraction(1), Fraction(1)),
    ({"criterion": "f_beta", "beta": 2}, Fraction(5), Fraction(4)),
    ({"criterion": "f_beta", "beta": 0.5}, Fraction(5, 4), Fraction(1, 4)),
)
SHORT = 1e-5
"""A time limit that no search keeps."""


def some_weights(rng: np.random.Generator, n: int) -> Any:
    """No weights, whole ones, of all digits, and so large that products of them do not fit into 64 bits."""
    kind = int(rng.integers(4))
    if kind == 0:
        return None
    if kind == 1:
        return rng.integers(1, 5, n).astype(float)
    return rng.random(n) * 10.0 ** rng.integers(-8, 8, n) if kind == 2 else rng.integers(1, 9, n) * 2.0**44


@pytest.mark.parametrize("seed", range(80))
@pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning", "ignore::proofwood.DataWarning")
def test_a_quotient_is_the_least_of_all_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 10))
    depth = int(rng.integers(0, 4 if n < 8 else 3))
    X = rng.integers(0, int(rng.integers(2, 6)), (n, int(rng.integers(1, 4)))).astype(float)
    y = rng.permutation(np.concatenate([[0, 1], rng.integers(0, 2, n)])[:n])
    weights, least, positive = some_weights(rng, n), int(rng.integers(1, 3)), int(rng.integers(2))
    given, hit, missed_price = MEASURES[int(rng.integers(len(MEASURES)))]
    gap, limit = float(rng.choice([0, 0, 0.05])), rng.choice([60.0, 60.0, SHORT])
    exact = [Fraction(1)] * n if weights is None else [Fraction(one) for one in weights.tolist()]

    naive = NaiveQuestions(X.tolist(), [False] * X.shape[1], y.tolist(), exact, least=least)
    whole = sum((w for w, code in zip(exact, y, strict=True) if code == positive), Fraction(0))

    def cost(missed: Fraction, called: Fraction) -> Fraction:
        lost = missed_price * missed + called
        return lost / (hit * (whole - missed) + lost)

    best = min(cost(*one) for one in naive.wrong(depth, positive))
    tree = OptimalTreeClassifier(
        depth, **given, pos_label=positive, min_samples_leaf=least, max_gap=gap, time_limit=limit
    ).fit(X, y, weights)
    told = tree.predict(X)
    missed = sum((w for w, code, one in zip(exact, y, told, strict=True) if code == positive != one), Fraction(0))
    called = sum((w for w, code, one in zip(exact, y, told, strict=True) if code != positive == one), Fraction(0))
    found = cost(missed, called)
    assert abs(Fraction(tree.objective_) - found) < CLOSE
    assert Fraction(tree.lower_bound_) <= best + Fraction(1, 10**13)
    assert tree.recount(X, y, weights) == tree.objective_
    assert tree.model_.loss[tree.model_.feature < 0].sum() == pytest.approx(tree.objective_, abs=1e-9)
    if tree.status_ is Status.FEASIBLE:
        assert limit == SHORT
    else:
        assert best - CLOSE <= found <= best + Fraction(gap) * (tree.status_ is Status.WITHIN_GAP) + CLOSE


def some_rows(rng: np.random.Generator, nominal: list[bool], n: int, values: int) -> list[list[Any]]:
    return [
        ["abcd"[int(rng.integers(values))] if named else float(rng.integers(values)) for named in nominal]
        for _ in range(n)
    ]


def framed(rows: list[list[Any]], n_columns: int) -> pd.DataFrame:
    return pd.DataFrame({f"f{j}": [row[j] for row in rows] for j in range(n_columns)})


class Case:
    """A small table with classes and levels, perhaps weights and a price of leaves, and a fit that may be stopped."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = np.random.default_rng(seed)
        n, self.depth = int(rng.integers(3, 10)), int(rng.integers(0, 3))
        self.nominal = [bool(rng.random() < 0.3) for _ in range(int(rng.integers(1, 4)))]
        self.values = int(rng.integers(2, 5))
        self.rows = some_rows(rng, self.nominal, n, self.values)
        codes = np.unique(np.concatenate([[0, 1], rng.integers(0, 3, n)])[:n], return_inverse=True)[1]
        self.codes = rng.permutation(codes)
        self.sample_weight = rng.integers(1, 5, n) / rng.choice([1, 4]) if rng.random() < 0.5 else None
        self.weights = [Fraction(1)] * n if self.sample_weight is None else list(map(Fraction, self.sample_weight))
        self.alpha, self.least = float(rng.choice([0, 0, 0.05, 0.1])), int(rng.integers(1, 3))
        self.X = framed(self.rows, len(self.nominal))
        self.tree = OptimalTreeClassifier(
            self.depth,
            alpha=self.alpha,
            min_samples_leaf=self.least,
            min_samples_level=1,
            categorical_features=[f"f{j}" for j, named in enumerate(self.nominal) if named] or None,
            time_limit=self.limit(),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OptimalityWarning)
            warnings.simplefilter("ignore", DataWarning)
            self.tree.fit(self.X, self.codes, self.sample_weight)

    def limit(self) -> float:
        return float(self.rng.choice([60.0, 60.0, SHORT]))

    def naive(self, rows: Any, codes: Any, weights: Any) -> NaiveQuestions:
        kept = [j for j in range(len(self.nominal)) if j not in self.tree.schema_.left_out]
        price = Fraction(str(self.alpha)) * sum(weights)
        nominal = [self.nominal[j] for j in kept]
        return NaiveQuestions([[row[j] for j in kept] for row in rows], nominal, codes, weights, price, self.least)

    def asked(self) -> list[Any]:
        """A row of the table, or a new one with known levels."""
        row = list(self.rows[int(self.rng.integers(len(self.rows)))])
        if self.least == 1 and self.rng.random() < 0.5:
            for j, value in enumerate(some_rows(self.rng, self.nominal, 1, self.values)[0]):
                if not self.nominal[j] or value in [known[j] for known in self.rows]:
                    row[j] = value
        return row


@pytest.mark.parametrize("seed", range(60))
def test_a_flip_costs_the_least_of_all_trees_that_decide_otherwise(seed: int) -> None:
    case = Case(seed)
    asked, tree = case.asked(), case.tree
    frame = framed([asked], len(case.nominal))
    kept = [j for j in range(len(asked)) if j not in tree.schema_.left_out]
    costs = case.naive(case.rows, case.codes.tolist(), case.weights).costs(
        case.depth, tree.classes_.size, [asked[j] for j in kept]
    )
    now = int(tree.predict(frame)[0])
    before = Fraction(tree.recount(case.X, case.codes, case.sample_weight))
    best = min(cost for code, cost in costs.items() if code != now) - before
    (flip,) = tree.flip_cost(frame, case.X, case.codes, case.sample_weight, time_limit=case.limit())
    assert flip.decision == now != flip.other == flip.tree.predict(frame)[0]
    assert (
        abs(Fraction(flip.tree.recount(case.X, case.codes, case.sample_weight)) - before - Fraction(flip.cost)) < CLOSE
    )
    assert Fraction(flip.lower_bound) <= best + CLOSE
    assert Fraction(flip.cost) >= best - CLOSE
    if flip.status is Status.OPTIMAL:
        assert abs(Fraction(flip.cost) - best) < CLOSE
    assert flip.tree.model_.depth <= case.depth
    ends = flip.tree.model_.feature < 0
    assert case.least == 1 or flip.tree.model_.n_splits == 0 or flip.tree.model_.rows[ends].min() >= case.least


@pytest.mark.parametrize("seed", range(60))
def test_a_bound_that_is_carried_over_holds_for_all_trees(seed: int) -> None:
    case = Case(seed)
    rng, tree, n = case.rng, case.tree, len(case.rows)
    if case.least > 1:
        with pytest.raises(ValueError, match="minimum"):
            tree.carry_over(case.X, case.codes, before=(case.X, case.codes))
        return
    kept = rng.permutation(n)[: int(rng.integers(1, n + 1))].tolist()
    rows = [case.rows[i] for i in kept] + some_rows(rng, case.nominal, int(rng.integers(0, 5)), case.values)
    codes = [int(case.codes[i]) if rng.random() < 0.85 else int(rng.integers(4)) for i in kept]
    codes += rng.integers(0, tree.classes_.size, len(rows) - len(kept)).tolist()
    weights = [case.weights[i] if rng.random() < 0.85 else Fraction(2) for i in kept]
    weights += [Fraction(1)] * (len(rows) - len(kept))
    given = None if case.sample_weight is None else np.array([float(one) for one in weights])
    if given is None:
        weights = [Fraction(1)] * len(rows)
    before: Any = (case.X, case.codes) if case.sample_weight is None else (case.X, case.codes, case.sample_weight)
    if rng.random() < 0.5:
        before = tree.fingerprints(*before)
    carried = tree.carry_over(framed(rows, len(case.nominal)), np.array(codes), given, before=before)
    best = case.naive(rows, codes, weights).costs(case.depth, max(codes) + 1)[None]
    assert Fraction(carried.lower_bound) <= best + CLOSE
    assert Fraction(carried.objective) >= best - CLOSE
    if carried.status is Status.OPTIMAL:
        assert abs(Fraction(carried.objective) - best) < CLOSE
    assert carried.added - carried.removed == pytest.approx(float(sum(weights) - sum(case.weights)))
