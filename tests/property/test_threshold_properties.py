"""One number per split: what is printed, exported and predicted by is one function, of the shortest numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from proofwood import (
    MinimalTreeClassifier,
    OptimalBDDClassifier,
    OptimalDiagramClassifier,
    OptimalTreeClassifier,
    OptimalTreeCV,
)
from proofwood.data.kinds import Kind
from proofwood.data.moments import DAY, HOUR, MINUTE, SECOND
from proofwood.data.thresholds import ThresholdRule, placed, shortest_between, shortest_whole_between
from proofwood.model.node_table import LEAF, OBLIQUE
from tests.strategies import examples
from tests.unit.model.test_reshape import inputs, same_predictions, trees

FINITE = st.floats(allow_nan=False, allow_infinity=False)


# ------------------------------------------------------------------------------------------ the number of two values


def naive_shortest(low: float, high: float, *, whole: bool = False) -> float:
    """By looking at power after power of ten, at the multiples of it that are nearest the middle on both sides."""
    middle = (Fraction(low) + Fraction(high)) / 2
    best: tuple[int, Fraction, Fraction] | None = None
    power, last = 310, 0 if whole else -340
    while power > last:
        power -= 1
        step = Fraction(10) ** power
        for count in {math.floor(middle / step), math.ceil(middle / step)}:
            number = count * step
            try:
                rounded = float(number)
            except OverflowError:
                continue
            if (low <= rounded if whole else low < rounded) and rounded < high:
                digits = max(1, len(str(abs(count)).rstrip("0")))
                last = max(last, power - 3) if count else last  # finer steps have more digits
                best = min(best or (99, middle, middle), (digits, abs(number - middle), number))
    return low if best is None else float(best[2])


NEAR = st.tuples(FINITE, st.integers(1, 5)).map(lambda pair: (pair[0], _further(*pair)))
TABLES = st.tuples(st.integers(-(10**6), 10**6), st.integers(1, 10**4), st.integers(0, 6)).map(
    lambda three: (three[0] / 10 ** three[2], (three[0] + three[1]) / 10 ** three[2])
)


def _further(value: float, steps: int) -> float:
    for _ in range(steps):
        value = math.nextafter(value, math.inf)
    return value


@examples(0.5)
@given(st.one_of(st.tuples(FINITE, FINITE), NEAR, TABLES))
def test_the_decimal_is_the_shortest_that_an_independent_search_finds(pair):
    low, high = min(pair), max(pair)
    assume(low < high < math.inf)
    found = shortest_between(low, high)
    assert found == naive_shortest(low, high)
    assert low < found < high or (found == low and math.nextafter(low, math.inf) == high)
    assert float(repr(found)) == found


@examples(1)
@given(st.integers(-(2**55), 2**55), st.integers(1, 10**6))
def test_the_whole_number_is_the_shortest_that_an_independent_search_finds(low, apart):
    low, high = float(low), float(low + apart)
    assume(low < high)
    found = shortest_whole_between(low, high)
    assert found == naive_shortest(low, high, whole=True)
    assert low <= found < high
    assert found == math.floor(found)


@given(trees, inputs, st.sampled_from(list(ThresholdRule)), st.booleans())
def test_placed_thresholds_keep_the_rows_apart_and_stay(table, X, rule, of_tests):
    moved = placed(table, X, rule=rule, of_tests=of_tests)
    same_predictions(moved, table, X)
    assert placed(moved, X, rule=rule, of_tests=of_tests) == moved


# ----------------------------------------------------------------------------------------------- tables and learners


def table_of(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Columns of every kind that has thresholds, with decimals as people write them, ties and gaps."""
    frame = pd.DataFrame(
        {
            "income": rng.lognormal(10, 0.6, n).round(2),
            "share": rng.random(n).round(int(rng.integers(1, 5))),
            "noise": rng.normal(0, 10.0 ** rng.integers(-6, 7), n),
            "single": rng.normal(size=n).astype(np.float32),
            "age": rng.integers(18, 90, n),
            "balance": rng.integers(-(10**6), 10**6, n) * 10 ** int(rng.integers(0, 9)),
            "member": rng.random(n) < 0.5,
            "owns": rng.integers(0, 2, n),
            "since": pd.Timestamp(2020, 1, 1) + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "seen": pd.Timestamp(2021, 1, 1) + pd.to_timedelta(rng.integers(0, 3 * 10**5, n), unit="min"),
            "size": pd.Categorical(rng.choice(["s", "m", "l", "xl"], n), ["s", "m", "l", "xl"], ordered=True),
            "town": rng.choice(["Ulm", "Bonn", "Köln"], n),
        }
    )
    for name in ("share", "since", "size", "town"):
        frame.loc[rng.random(n) < rng.choice([0, 0.15]), name] = None
    frame["age with gaps"] = frame["age"].where(rng.random(n) < 0.9)
    return frame[list(rng.permutation(frame.columns)[: rng.integers(2, 7)])]


def learner_of(rng: np.random.Generator) -> Any:
    made = (
        OptimalTreeClassifier(int(rng.integers(1, 4)), time_limit=5, min_samples_leaf=int(rng.integers(1, 4))),
        OptimalTreeCV((1, 2), alpha=(0.0, 0.02), cv=2, time_limit=10),
        MinimalTreeClassifier(on_conflict="majority", max_thresholds=4, time_limit=5),
        OptimalBDDClassifier(int(rng.integers(1, 4)), max_thresholds=[None, 5][rng.integers(2)], time_limit=5),
        OptimalDiagramClassifier((1, 2, 2), alpha=0.02, max_thresholds=6, time_limit=2),
        OptimalDiagramClassifier((1, 2, 4), alpha=0.02, max_thresholds=6, topology="tree", time_limit=2),
    )
    return made[rng.integers(len(made))]


def fitted(seed: int, rule: str = "shortest") -> tuple[Any, pd.DataFrame, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    X = table_of(rng, int(rng.integers(12, 70)))
    y = np.where(rng.random(len(X)) < 0.5, "yes", "no")
    model = learner_of(rng).set_params(threshold_rule=rule)
    return model.fit(X, y), X, y, rng


def rows_at(model: Any, numbers: np.ndarray) -> list[np.ndarray]:
    """The rows that reach each node, by following the edges in Python."""
    table = model.model_
    reached: list[list[int]] = [[] for _ in range(table.n_nodes)]
    for row in range(len(numbers)):
        node = 0
        while True:
            reached[node].append(row)
            if table.feature[node] == LEAF:
                break
            value = numbers[row, table.feature[node]]
            codes = None if table.levels is None else table.levels[node]
            low = value in codes if codes is not None else value <= table.threshold[node]
            low = bool(table.missing_low[node]) if math.isnan(value) else low
            node = int(table.low[node] if low else table.high[node])
    return [np.array(rows, dtype=int) for rows in reached]


def expected_threshold(low: float, high: float, kind: Kind, column: np.ndarray) -> float:
    """The rule, in few words."""
    present = column[~np.isnan(column)]
    if kind in (Kind.DATE, Kind.ORDERED):
        return math.floor((low + high) / 2)
    if kind is Kind.MOMENT:
        for unit in (DAY, HOUR, MINUTE, SECOND, 1):
            inside = range(math.ceil(low / unit), math.ceil(high / unit))
            if inside:
                return min(inside, key=lambda count: (abs(2 * count * unit - low - high), count)) * unit
    if set(present.tolist()) <= {0.0, 1.0}:
        return 0.5
    return naive_shortest(low, high, whole=all(value == math.floor(value) for value in present.tolist()))


@pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning", "ignore::proofwood.DataWarning")
@examples(0.5)
@given(st.integers(0, 2**32 - 1))
def test_each_threshold_is_the_shortest_between_the_neighbours_at_its_node(seed):
    model, X, y, _ = fitted(seed)
    numbers, table = model._rows(X), model.model_
    assert model.recount(X, y) == model.objective_
    reached = rows_at(model, numbers)
    for node in table.splits():
        if not math.isfinite(table.threshold[node]):
            continue
        j, threshold = int(table.feature[node]), float(table.threshold[node])
        ends = []
        for rows in ([] if isinstance(model, OptimalBDDClassifier) else reached[node], np.arange(len(X))):
            column = numbers[rows, j] if len(rows) else np.empty(0)
            low, high = column[column <= threshold], column[column > threshold]
            if low.size and high.size:
                ends.append((low.max(), high.min()))
        if ends:
            kind = model.schema_.columns[j].kind
            assert threshold == expected_threshold(*ends[0], kind, numbers[:, j]), (kind, ends)


@pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning", "ignore::proofwood.DataWarning")
@examples(0.3)
@given(st.integers(0, 2**32 - 1))
def test_the_rule_changes_numbers_and_no_proof(seed):
    short, X, y, _ = fitted(seed)
    middle = fitted(seed, "midpoint")[0]
    if "time_limit" in (short.result_.stats.stopped_by, middle.result_.stats.stopped_by):
        return
    assert short.objective_ == middle.objective_ == middle.recount(X, y)
    assert short.lower_bound_ == middle.lower_bound_
    # which of several best diagrams is found first is up to the clock
    if not isinstance(short, OptimalDiagramClassifier):
        np.testing.assert_array_equal(short.predict(X), middle.predict(X))


@pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning")
@examples(0.1)
@given(st.integers(0, 2**32 - 1))
def test_weighted_sums_are_shown_and_decide_alike(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(10, 40)), 3)) * 10.0 ** rng.integers(-3, 4, 3)
    y = (X @ rng.normal(size=3) > 0).astype(int)
    assume(0 < y.sum() < y.size)
    model = OptimalDiagramClassifier((1, 2), alpha=0.1, splits="oblique", time_limit=2).fit(X, y)
    assert model.recount(X, y) == model.objective_
    table, text = model.model_, model.export_text()
    for node in np.flatnonzero(table.feature == OBLIQUE).tolist():
        end = repr(float(table.threshold[node])).removesuffix(".0")
        terms = [
            f"{'' if abs(value) == 1 else repr(abs(value)).removesuffix('.0') + '*'}x[{column}]"
            for column, value in zip(*(part.tolist() for part in table.normals.row(node)), strict=True)
        ]
        assert any(line.endswith(f"<= {end}") and all(term in line for term in terms) for line in text.splitlines())
