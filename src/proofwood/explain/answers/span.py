"""The least and the greatest number, or probability, that a model predicts for rows of a region.

The sum of the trees is treated as the score of class 1, and 0 as the score of class 0: the sum is at least :math:`s`
if and only if class 1 leads by at least :math:`s`. The greatest sum is found by bisection between the sum of the best
known row and the upper bound from the best leaf of each tree, with one question per step.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from proofwood.decimals import at_least, at_most, short
from proofwood.engines.run import Clock
from proofwood.ensembles.considered import among_rows, limits_text
from proofwood.ensembles.explained import Explained
from proofwood.ensembles.integers import integer_scores
from proofwood.ensembles.kept import Kept
from proofwood.ensembles.leaves import score_model
from proofwood.ensembles.outline import outline_of_rows
from proofwood.ensembles.scores import ScoreModel
from proofwood.ensembles.space import Key
from proofwood.explain.answers.possible import Region
from proofwood.explain.oracles.searches import SearchOptions, SearchOracle
from proofwood.explain.question import Engines
from proofwood.explain.rule import Within, row_text
from proofwood.markup import titled
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.printable import printable


@dataclass(frozen=True, eq=False)
class Range(Kept):
    """The range of the numbers, or of a class's probabilities, that a model predicts for the rows of a region.

    Parameters
    ----------
    low, high : least and greatest prediction found, as the model returns it
    least, greatest : proved bounds: no row of the region has a lower, or a higher, prediction
    exact : whether the predictions found equal the proved bounds, up to rounding
    low_row, high_row : (n_inputs,) the rows with the predictions ``low`` and ``high``, in the form of ``model.read``
    seconds : time taken
    model : the model; after unpickling, its outline
    limits : permitted values of the region, by index of column
    """

    low: float
    high: float
    least: float
    greatest: float
    exact: bool
    low_row: FloatArray = field(repr=False)
    high_row: FloatArray = field(repr=False)
    seconds: float
    model: Explained = field(repr=False)
    limits: Within = field(default_factory=dict, repr=False)

    def _outlined(self) -> dict[str, Any]:
        return {"model": outline_of_rows(self.model, [self.low_row, self.high_row])}

    def _told(self) -> str:
        """The range as text."""
        if self.exact:
            low, high = at_most(self.low), at_least(self.high)
            head = f"from {low} to {high}"
            if float(low) > self.least or float(high) < self.greatest:
                head += f", up to rounding: at most from {short(self.least)} to {short(self.greatest)}"
        else:
            head = (
                f"found: from {at_least(self.low)} to {at_most(self.high)}; "
                f"proved bounds: from {at_most(self.least)} to {at_least(self.greatest)}"
            )
        return head + limits_text(self.model, self.limits) + among_rows(self.model)

    def _ends(self) -> list[tuple[str, str]]:
        """Names of the two ends, and their rows as text."""
        rows = (("low", self.low_row), ("high", self.high_row))
        return [(name, row_text(self.model, row, self.limits)) for name, row in rows]

    def __str__(self) -> str:
        return "\n".join([self._told(), *(f"{name}: {text}" for name, text in self._ends())])

    def _repr_html_(self) -> str:
        return titled(printable(self._told()), "", ("end", "found at"), self._ends())


class Sum:
    """The sum of the trees of a model, as the score of a class 1; a class 0 has the score 0.

    Parameters
    ----------
    model : a model whose predictions are sums over its trees, or a link function of such sums
    label : of a classifier, code of the class whose probability is asked for

    Raises
    ------
    TypeError
        If the predictions of the model are not of this form.
    """

    def __init__(self, model: Explained, label: int | None) -> None:
        forest, adapted = model.adapted.forest, model.adapted
        if forest.link is None or adapted.output is None:
            raise TypeError(
                "a range is only for models that predict numbers, and for classifiers whose probability is a mean over "
                "the trees, or the logistic function of a sum (boosted trees with two classes)"
            )
        if forest.is_regressor:
            weights = np.ones(1)
        else:
            weights = np.eye(forest.n_classes)[label]
            if forest.link.kind == "logistic":  # weights of the lead of the class over the other class
                weights = 2 * weights - 1
        self.link, self.label = forest.link, label
        column = np.array([0.0, 1.0])
        trees = tuple(replace(tree, value=np.outer(tree.value @ weights, column)) for tree in forest.trees)
        # products with 1, -1 and 0 are exact; so is a sum with one nonzero term, or with two terms for two classes
        made = replace(forest, trees=trees, base=float(forest.base @ weights) * column, classes=np.arange(2))
        integers = integer_scores(made)
        rounded = 2**-50 * sum(float(np.abs(tree.value).max(initial=0.0)) for tree in trees)
        self.slack = forest.noise + rounded + integers.error * (1 + 2**-40) / integers.scale
        self.scale = integers.scale
        self.scores: ScoreModel = score_model(trees, model.literals, integers, model.grid, ties_low=True)
        self.oracle = SearchOracle(self.scores, SearchOptions(clauses=False))
        self.model = model

    def number(self, x: FloatArray) -> float:
        """The prediction of the model itself for a row (n_inputs,)."""
        given = np.asarray(self.model.outputs_of(x[np.newaxis]))[0]
        return float(given if self.label is None else given[self.label])

    def bound(self, total: int, up: bool) -> float:
        """A bound on the predictions of the model, including rounding.

        With ``up``, an upper bound for sums up to ``total``; otherwise a lower bound for sums from ``total`` on.
        """
        exact = total / self.scale
        exact += (self.slack + abs(exact) * 2**-50) * (1 if up else -1)
        number, slop = self.link.number(exact)
        number += slop if up else -slop
        return number if self.label is None else min(max(number, 0.0), 1.0)

    def greatest(self, region: Region, sign: int, clock: Clock) -> tuple[IntArray, int, int]:
        """Cells of the best row found, its sum times ``sign``, and an upper bound on this product for all rows.

        Parameters
        ----------
        region : the rows to search
        sign : 1 for the greatest sum, -1 for the least
        clock : clock of the search
        """
        winner = 1 if sign == 1 else 0
        least, most = self._box_bounds(region, sign)
        found = self._ask(region, winner, least, None, clock)
        if found is None:
            raise _NoRowError
        cells, best = found, self._lead(found, sign)
        near, step = cells, 0
        while best < most:
            # sometimes just above the best row: if it is the best, this ends the search
            goal = best + 1 if step % 3 == 2 else best + (most - best + 1) // 2
            step += 1
            try:
                found = self._ask(region, winner, goal, near, clock)
            except TimeoutError:
                break
            if found is None:
                most = goal - 1
            else:
                cells = near = found
                best = self._lead(found, sign)
        return cells, best, most

    def _lead(self, cells: IntArray, sign: int) -> int:
        sums = self.scores.sums(cells)
        return sign * int(sums[1] - sums[0])

    def _ask(self, region: Region, winner: int, least: int, near: IntArray | None, clock: Clock) -> IntArray | None:
        """Cells of a row of the region in which ``winner`` leads by at least ``least``; None if no row does.

        Raises TimeoutError at the time limit.
        """
        if clock.over:
            raise TimeoutError
        left = clock.seconds_left
        answer = self.oracle.ask_contests(
            region.low, region.high, winner, [(1 - winner, least)], seconds=left, near=near
        )
        if answer.changes is None:
            raise TimeoutError
        return answer.witness

    def _box_bounds(self, region: Region, sign: int) -> tuple[int, int]:
        """Bounds on the sum times ``sign`` in a region, from the least and the greatest reachable leaf of each tree."""
        scores = self.scores
        variable = scores.needs >> 1
        column = scores.column_of[variable]
        threshold = variable - scores.first[column]
        possible = np.where(scores.needs & 1 == 0, region.high[column] > threshold, region.low[column] <= threshold)
        failed = np.concatenate([[0], np.cumsum(~possible)])
        alive = failed[scores.needs_of[1:]] == failed[scores.needs_of[:-1]]
        gain = sign * (scores.scores[:, 1] - scores.scores[:, 0])
        starts = scores.leaves_of[:-1]
        far = np.iinfo(np.int64)
        base = sign * int(scores.base[1] - scores.base[0])
        least = np.minimum.reduceat(np.where(alive, gain, far.max), starts)
        most = np.maximum.reduceat(np.where(alive, gain, far.min), starts)
        return base + int(least.sum()), base + int(most.sum())


class _NoRowError(Exception):
    """Raised if a region contains no row."""


def _code(model: Explained, target: Any) -> int | None:
    """Code of the class whose probability is asked for; None for a regressor."""
    classes = model.adapted.forest.classes.tolist()
    if not classes:
        if target is not None:
            raise ValueError(f"target={target!r}: this model predicts a number, not classes; leave target out")
        return None
    if not isinstance(target, Hashable) or target not in classes:
        raise ValueError(f"target={target!r}: expected the class whose probability is asked for, one of {classes}")
    return int(classes.index(target))


def span(engines: Engines, where: Mapping[Key, object], target: Any, clock: Clock) -> Range:
    """Return the answer; the options are those of :meth:`proofwood.Explainer.range`."""
    model = engines.model
    model.of_every_row("a range")
    region = Region(model, where)
    total = Sum(model, _code(model, target))
    try:
        ends = {sign: total.greatest(region, sign, clock) for sign in (-1, 1)}
    except _NoRowError:
        raise ValueError(f"where={dict(where)!r}: no possible row is in this region") from None
    except TimeoutError:
        raise TimeoutError(
            f"time_limit={clock.limits.seconds:g}: no row of the region was found in this time; raise time_limit"
        ) from None
    low_row, high_row = (region.row(ends[sign][0]) for sign in (-1, 1))
    return Range(
        low=total.number(low_row),
        high=total.number(high_row),
        least=total.bound(-ends[-1][2], up=False),
        greatest=total.bound(ends[1][2], up=True),
        exact=all(best == most for _, best, most in ends.values()),
        low_row=low_row,
        high_row=high_row,
        seconds=clock.seconds,
        model=model,
        limits=region.limits,
    )
