"""Questions about boxes of cells, where a column may have a range: what widening and nearest rows are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, cast, runtime_checkable

import numpy as np
from pysat.solvers import Solver  # type: ignore[import-untyped]

from proofwood.explain.oracles.oracle import Answer, Oracle
from proofwood.explain.scores import ScoreModel
from proofwood.model.node_table import IntArray

MOST_VALUES = 4096
"""Values of a group that are told apart; a group with more is widened column by column."""


@runtime_checkable
class BoxedOracle(Protocol):
    """An oracle that also answers questions about boxes."""

    name: str
    scores: ScoreModel

    def ask_box(
        self,
        low: IntArray,
        high: IntArray,
        label: int,
        *,
        targets: Sequence[int] | None = None,
        seconds: float | None = None,
    ) -> Answer:
        """Can a row of the space with ``low <= cells <= high`` get another class than ``label``?

        Parameters
        ----------
        low, high : (n_columns,) cells
        label, targets, seconds : as in :meth:`Oracle.ask`
        """
        ...


class BoxesByClauses:
    """Boxes for an oracle that knows none: the box becomes part of the space, in a new oracle of the same kind.

    Parameters
    ----------
    oracle : Oracle
    make : builds an oracle of a model; the class of ``oracle`` by default
    """

    def __init__(self, oracle: Oracle, make: Callable[[ScoreModel], Oracle] | None = None) -> None:
        self.name, self.scores = oracle.name, oracle.scores
        self._make = cast("Callable[[ScoreModel], Oracle]", type(oracle)) if make is None else make

    def ask_box(
        self,
        low: IntArray,
        high: IntArray,
        label: int,
        *,
        targets: Sequence[int] | None = None,
        seconds: float | None = None,
    ) -> Answer:
        """As :meth:`BoxedOracle.ask_box`."""
        scores = self.scores
        units: list[tuple[int, ...]] = []
        for column in range(scores.n_columns):
            first = int(scores.first[column])
            if low[column] > 0:
                units.append((2 * (first + int(low[column]) - 1),))
            if high[column] < scores.n_thresholds[column]:
                units.append((2 * (first + int(high[column])) + 1,))
        oracle = self._make(replace(scores, clauses=(*scores.clauses, *units)))
        try:
            answer = oracle.ask(np.asarray(low), label, (), targets=targets, seconds=seconds)
        finally:
            close = getattr(oracle, "close", None)
            if close is not None:
                close()
        return answer if answer.changes is not False else Answer(False)


def boxed(oracle: Oracle | BoxedOracle) -> BoxedOracle:
    """The oracle itself if it knows boxes, else a wrapper that lets it answer them, with more work."""
    return oracle if isinstance(oracle, BoxedOracle) else BoxesByClauses(oracle)


def group_values(scores: ScoreModel, feature: int) -> IntArray | None:
    """The values of a feature made of several 0/1 columns, such as the categories of a one-hot group.

    Returns
    -------
    (n_values, n_columns_of_the_feature) cells, or None
        None if the feature is one column, has a column of more than two cells, or more than ``MOST_VALUES`` values.
    """
    columns = list(scores.features[feature])
    if len(columns) == 1 or np.any(scores.n_thresholds[columns] > 1):
        return None
    used = [column for column in columns if scores.n_thresholds[column]]
    number = {int(scores.first[column]): place + 1 for place, column in enumerate(used)}
    values: list[list[int]] = []
    with Solver(name="minisat22") as solver:
        for variable in number.values():
            solver.add_clause([variable, -variable])
        for clause in scores.clauses:
            if all(literal >> 1 in number for literal in clause):
                solver.add_clause([-number[lit >> 1] if lit & 1 else number[lit >> 1] for lit in clause])
        while solver.solve():
            model = solver.get_model()
            if len(values) == MOST_VALUES:
                return None
            true = {used[variable - 1] for variable in model if variable > 0}
            values.append([int(column in true) for column in columns])
            if not model:
                break
            solver.add_clause([-literal for literal in model])
    return np.array(sorted(values), dtype=np.int64)
