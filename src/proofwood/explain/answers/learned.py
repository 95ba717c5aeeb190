"""Conditions that every row of a table satisfies, probably not by chance: candidates for the option ``knowledge``.

Yes-or-no statements are made about each column: its value is a certain category, true, missing, or a number that many
rows share, such as 0. A condition "if one statement, then another" about two features is kept if every row satisfies
it, enough rows satisfy its first part, and it is unlikely to hold by chance: if the two statements were independent,
the probability that all these rows satisfy the second part, times the number of pairs, is below :data:`CHANCE`.
Thresholds are not used: no row exceeds the greatest values of a table, so such conditions mean nothing. After Yu,
Ignatiev, Stuckey, Narodytska, Marques-Silva (2023), Eliminating the impossible, whatever remains must be true, AAAI,
which also learns rules from rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from proofwood import arguments
from proofwood.data.kinds import MOMENTS, Kind
from proofwood.ensembles.explained import Explained
from proofwood.exceptions import DataError
from proofwood.explain.rule import shown_as
from proofwood.model.node_table import BoolArray, FloatArray

CHANCE = 0.01
"""Greatest expected number of conditions that hold by chance, among all that are tried."""
MOST_VALUES = 10
"""Most numbers of a column for which statements are made: the most frequent ones."""
BLOCK = 1 << 16
"""Number of rows that are counted at a time."""
LEAST_SHARE = 0.02
"""Least share of the rows in which a number must occur to get a statement."""


@dataclass(frozen=True)
class Learned:
    """A condition that every row of a table satisfies.

    Parameters
    ----------
    text : the condition, as ``Explainer(knowledge=)`` takes it
    support : number of rows that satisfy its first part, and therefore its second part
    """

    text: str
    support: int

    def __str__(self) -> str:
        return f"{self.text}  [{self.support:,} rows]"


@dataclass(frozen=True, eq=False)
class _Statement:
    """A yes-or-no statement about one column, and the rows for which it is true."""

    feature: int
    text: str
    negation: str
    rows: BoolArray


def learned(model: Explained, X: Any, min_support: int) -> list[Learned]:
    """Return the conditions; the options are those of :meth:`proofwood.Explainer.learn_knowledge`."""
    least = arguments.count(min_support, "min_support", least=1) or 1
    values = model.read(X)
    n = len(values)
    if not n:
        raise DataError("X has no rows: expected many rows to learn conditions from")
    statements = list(_statements(model, values))
    if not statements:
        return []
    together = np.zeros((2 * len(statements), 2 * len(statements)))  # first all statements, then their negations
    for start in range(0, n, BLOCK):
        true = np.array([one.rows[start : start + BLOCK] for one in statements], dtype=np.float64)
        both = np.concatenate([true, 1 - true])
        together += both @ both.T
    counts = np.diag(together)
    broken = counts[:, np.newaxis] - together
    feature = np.array([one.feature for one in statements] * 2, dtype=np.int64)
    usable = (counts >= least) & (counts < n)
    pairs = (broken == 0) & usable[:, np.newaxis] & (counts < n) & (feature[:, np.newaxis] != feature)
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = counts[:, np.newaxis] * np.log(counts / n)  # log of the chance that all these satisfy the second
    pairs &= chance < np.log(CHANCE / max(1, pairs.size))
    # of two statements about a feature, keep the stronger one after the arrow, the weaker one before
    stronger = (broken == 0) & (feature[:, np.newaxis] == feature) & (counts[:, np.newaxis] < counts)
    pairs &= (pairs @ stronger == 0) & (stronger @ pairs == 0)
    texts = [one.text for one in statements] + [one.negation for one in statements]
    half = len(statements)
    found = []
    for a, b in np.argwhere(pairs).tolist():
        # "if not b, then not a" is equivalent: keep the one with more support, or else the earlier one
        turned = ((b + half) % (2 * half), (a + half) % (2 * half))
        if pairs[turned] and (-counts[turned[0]], *turned) < (-counts[a], a, b):
            continue
        found.append(Learned(f"{texts[a]} -> {texts[b]}", int(counts[a])))
    return sorted(found, key=lambda one: (-one.support, one.text))


def _statements(model: Explained, values: FloatArray) -> Iterator[_Statement]:
    """Yes-or-no statements about single columns."""
    feature_of = {j: feature for feature in range(model.scores.n_features) for j in model.inputs_of(feature)}
    for j, given in enumerate(model.inputs):
        feature = feature_of.get(j, -1 - j)  # categories that no tree tests have no columns in the grid
        quoted, column = f"`{given.name}`", values[:, j]
        missing = np.isnan(column)
        if "`" in given.name:
            continue
        if missing.any():
            yield _Statement(feature, f"{quoted}.isna()", f"{quoted}.notna()", missing)
        if shown_as(given) in MOMENTS:
            continue
        for value, text in _values(given.levels, shown_as(given), column[~missing]):
            yield _Statement(feature, f"{quoted} == {text}", f"{quoted} != {text}", column == value)


def _values(levels: tuple[str, ...], kind: Kind | None, column: FloatArray) -> list[tuple[float, str]]:
    """The values of a column for which statements are made, each with its text in a condition."""
    if levels:
        return [(float(code), repr(text)) for code, text in enumerate(levels)]
    if kind is Kind.BOOLEAN:
        return [(1.0, "True")]
    found, counts = np.unique(column, return_counts=True)
    common = np.argsort(-counts, kind="stable")[:MOST_VALUES]
    often = [found[at] for at in sorted(common.tolist()) if counts[at] >= LEAST_SHARE * len(column)]
    return [(float(value), repr(float(value)).removesuffix(".0")) for value in often]
