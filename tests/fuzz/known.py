"""Explanations of random models where random conditions say which rows are possible; the checks of ``explanations``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from proofwood import Explainer
from proofwood.data.kinds import Kind
from tests.fuzz import explanations


def conditions(inputs: Any, rng: np.random.Generator) -> tuple[list[str], Callable[[Any], Any]]:
    """Random conditions on columns as texts, and which rows satisfy them, worked out without reading the texts."""
    some = []
    for _ in range(int(rng.integers(1, 4))):
        text, test = _condition(inputs, rng, int(rng.integers(3)))
        if rng.random() < 0.5:
            other, then = _condition(inputs, rng, int(rng.integers(2)))
            text, test = f"{text} -> {other}", _implied(test, then)
        some.append((text, test))
    texts, tests = zip(*some, strict=True)

    def possible(rows: Any) -> Any:
        return np.logical_and.reduce([test(rows) for test in tests])

    return list(texts), possible


def _condition(inputs: Any, rng: np.random.Generator, depth: int) -> tuple[str, Callable[[Any], Any]]:
    """A condition of up to ``2 ** depth`` comparisons."""
    if depth == 0:
        return _comparison(inputs, rng)
    (a, first), (b, second) = (_condition(inputs, rng, depth - 1) for _ in range(2))
    match int(rng.integers(3)):
        case 0:
            return f"({a}) and ({b})", lambda rows: first(rows) & second(rows)
        case 1:
            return f"({a}) | ({b})", lambda rows: first(rows) | second(rows)
    return f"not ({a})", lambda rows: ~first(rows)


def _implied(first: Callable[[Any], Any], second: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda rows: ~first(rows) | second(rows)


def _comparison(inputs: Any, rng: np.random.Generator) -> tuple[str, Callable[[Any], Any]]:
    """A comparison of a column with a value, or with none."""
    j = int(rng.integers(len(inputs)))
    given, name = inputs[j], f"`{inputs[j].name}`"
    unknown = given.kind is Kind.NOMINAL  # a category that is not known counts as missing
    if rng.random() < 0.15:
        return f"{name}.isna()", lambda rows: np.isnan(rows[:, j]) | (unknown & ~(rows[:, j] < len(given.levels)))
    if given.levels:
        chosen = [code for code in range(len(given.levels)) if rng.random() < 0.5] or [0]
        return f"{name} in {[given.levels[code] for code in chosen]}", lambda rows: np.isin(rows[:, j], chosen)
    value = float(rng.choice([0.0, 1.0, round(float(rng.normal()), 2), 5 * round(float(rng.normal()), 1)]))
    sign = str(rng.choice(["<", "<=", ">", ">=", "==", "!="]))
    tests = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
    compare = {**tests, "==": np.equal, "!=": np.not_equal}[sign]
    return f"{name} {sign} {value!r}", lambda rows: compare(rows[:, j], value)


def check(case: explanations.Case, rng: np.random.Generator, counts: Counter[str]) -> None:
    """Ask everything about some possible rows of a case."""
    texts, possible = conditions(Explainer(case.model, **case.options).model.inputs, rng)
    options = {**case.options, "knowledge": texts}
    try:
        explainer = Explainer(case.model, **options)
    except ValueError as error:
        if "no row satisfies" not in str(error):
            raise
        counts["no row possible"] += 1
        return
    rows = Explainer(case.model, **case.options).model.read(case.X)
    X = case.X[possible(rows)]
    assert np.array_equal(explainer.model.knowledge.holds(rows, explainer.model.inputs), possible(rows))
    explanations.check(replace(case, X=X, options=options, possible=possible), rng, counts)


def one_case(number: int) -> Counter[str]:
    """How many models, rows, and explanations of each status a case had; AssertionError at the first fault."""
    return explanations.counted(number, check)
