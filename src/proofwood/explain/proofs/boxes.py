"""Makes trees of boxes: proofs that no row of a region can have a class, written down by the search with messages.

What they mean, and that they need not be trusted, is said where they are checked:
:mod:`proofwood.explain.proofs.recheck_boxes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from proofwood import _native
from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.oracles.searches import CHANGES, INTERRUPT, SAME, SearchOptions, native_model
from proofwood.model.node_table import IntArray

_OPTIONS = asdict(SearchOptions(clauses=False, record=True))


class TooManyBoxesError(RuntimeError):
    """A tree of boxes got larger than what the search writes down, 30 million numbers."""


class BoxProver:
    """Proofs about one model.

    Parameters
    ----------
    scores : the model
    """

    def __init__(self, scores: ScoreModel) -> None:
        self.scores = scores
        feature_of = np.zeros(scores.n_columns, dtype=np.int64)
        for feature, columns in enumerate(scores.features):
            feature_of[list(columns)] = feature
        self._feature_of = feature_of.tolist()
        self._search_within = lru_cache(maxsize=2)(self._make_search)

    def _make_search(self, clauses: tuple[tuple[int, ...], ...]) -> _native.VoteSearch:
        model = native_model(replace(self.scores, clauses=(*self.scores.clauses, *clauses)))
        return _native.VoteSearch(model, self._feature_of, _OPTIONS)

    def against(
        self,
        low: IntArray,
        high: IntArray,
        label: int,
        against: int,
        *,
        seconds: float | None,
        clauses: Sequence[Sequence[int]] = (),
    ) -> dict[str, Any] | Literal[False] | None:
        """A tree of boxes that a class cannot come before the label in a box.

        Parameters
        ----------
        low, high : (n_columns,) least and greatest cells
        label, against : two classes
        seconds : limit, None for none
        clauses : of literals of the model, which rows of the region satisfy too

        Returns
        -------
        dict, False or None
            The part of a certificate; False if the class can come first in a row of the box; None if time was over.

        Raises
        ------
        TooManyBoxesError
            If the tree has more numbers than are written.
        KeyboardInterrupt
            At Ctrl-C.
        """
        search = self._search_within(tuple(tuple(map(int, clause)) for clause in clauses))
        least = self.scores.threshold_of_win(against, label)
        limits, near = self.scores.limits(low, high), np.asarray(low).tolist()
        try:
            outcome, _, _, stopped = search.ask(against, [(label, least)], limits, near, seconds)
        except ValueError as error:
            raise TooManyBoxesError(str(error)) from error
        if outcome != SAME:
            if stopped == INTERRUPT:
                raise KeyboardInterrupt
            return False if outcome == CHANGES else None
        numbers, exponent, ways = search.proof()
        return {
            "against": int(against),
            "ways": [[one, clause] for one, clause in ways],
            "boxes": _boxes(numbers.tolist(), exponent),
        }


def _boxes(numbers: list[int], exponent: int) -> list[list[Any]]:
    """What the search wrote: per box ``[column, cut, above_first]`` or ``[unit, [[factor, column, steps], ...]]``."""
    boxes: list[list[Any]] = []
    at = 0
    while at < len(numbers):
        if numbers[at] == 0:
            boxes.append(numbers[at + 1 : at + 4])
            at += 4
            continue
        unit, n_edges = numbers[at + 1] - exponent, numbers[at + 2]
        at += 3
        edges = []
        for _ in range(n_edges):
            factor, column, n_steps = numbers[at : at + 3]
            at += 3 + 2 * n_steps
            edges.append([factor, column, numbers[at - 2 * n_steps : at]])
        boxes.append([unit, edges])
    return boxes
