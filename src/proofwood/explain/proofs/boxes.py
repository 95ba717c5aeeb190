"""Makes trees of boxes: proofs that no row of a region can have a class, from the search with messages.

The checker, :mod:`proofwood.certificates.boxes`, explains their meaning; it does not trust the search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from proofwood import _native
from proofwood.engines.interrupts import INTERRUPT, MEMORY
from proofwood.engines.run import ENDLESS, Clock
from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.oracles.searches import NEVER, PriceOptions, native_model
from proofwood.memory import note_lack
from proofwood.model.node_table import IntArray


class TooManyBoxesError(RuntimeError):
    """Raised if a tree of boxes is larger than the limit of the search, 30 million numbers."""


class BoxProver:
    """Makes proofs about one model.

    Parameters
    ----------
    scores : the model
    """

    def __init__(self, scores: ScoreModel) -> None:
        self.scores = scores
        self._model_within = lru_cache(maxsize=2)(self._make_model)

    def _make_model(self, clauses: tuple[tuple[int, ...], ...]) -> _native.VoteModel:
        return native_model(replace(self.scores, clauses=(*self.scores.clauses, *clauses)))

    def never_first(
        self,
        low: IntArray,
        high: IntArray,
        targets: Sequence[int],
        rivals: Sequence[int],
        *,
        clock: Clock = ENDLESS,
        clauses: Sequence[Sequence[int]] = (),
        counts: Callable[[IntArray], bool] | None = None,
    ) -> list[dict[str, Any]] | Literal[False] | None:
        """Trees of boxes, one per target: each proves that in no row of a box the target comes before all rivals.

        Parameters
        ----------
        low, high : (n_columns,) least and greatest cells
        targets, rivals : codes of classes
        clock : clock of the proof
        clauses : further clauses, of literals of the model, that the rows of the region satisfy
        counts : as in :meth:`not_below`

        Returns
        -------
        list, False or None
            Parts of a certificate; False if a target can come before all rivals in a row of the box; None if the time
            ran out.

        Raises
        ------
        TooManyBoxesError
            If the trees are too large.
        KeyboardInterrupt
            At Ctrl-C.
        """
        nothing = [np.zeros(int(n) + 1, dtype=np.int64) for n in self.scores.n_thresholds]
        asked: dict[str, Any] = {"own": np.asarray(low), "prices": nothing, "bound": 1, "counts": counts}
        found = self.not_below(low, high, targets, rivals, **asked, clock=clock, clauses=clauses)
        if found is None:
            return None
        return found[0] if found[1] == 1 else False

    def not_below(
        self,
        low: IntArray,
        high: IntArray,
        targets: Sequence[int],
        rivals: Sequence[int],
        *,
        own: IntArray,
        prices: Sequence[IntArray],
        bound: int,
        clock: Clock = ENDLESS,
        clauses: Sequence[Sequence[int]] = (),
        counts: Callable[[IntArray], bool] | None = None,
    ) -> tuple[list[dict[str, Any]], int] | None:
        """Trees of boxes: each row of a box in which a target comes before all rivals costs at least ``bound``.

        Parameters
        ----------
        low, high, clock, clauses : as in :meth:`never_first`; the errors are the same, too
        targets, rivals : codes of classes
        own : (n_columns,) cells of a row; prices do not decrease with the distance from them
        prices : for each column the price of each cell, a non-negative integer
        bound : the bound to prove; if a row costs less, a smaller bound is proved
        counts : function that returns whether a row (n_columns,) counts whose class depends on rounding. It must return
            the same for all rows that reach the same leaves. By default all such rows count

        Returns
        -------
        (parts, bound) or None
            A part of a certificate per target, and the proved bound; None if the time ran out. If the proved bound is
            smaller than ``bound``, some row (perhaps only up to rounding) costs exactly that. If the bound is 0,
            nothing is proved, and there are no parts.
        """
        whole = [np.where(price > bound, NEVER, price).tolist() for price in prices]
        ways = [[self._contest(k, other, sure=counts is None) for other in rivals] for k in targets]
        model = self._model_within(_hashable(clauses))
        ends = np.asarray(low).tolist(), np.asarray(high).tolist()
        search = _native.NearestProof(
            model, ways, whole, *ends, np.asarray(own).tolist(), bound, asdict(PriceOptions())
        )
        while True:
            try:
                found = search.run(clock.seconds_left)
            except ValueError as error:
                raise TooManyBoxesError(str(error)) from error
            if found["doubtful"] is not None:
                row = np.array(found["doubtful"], dtype=np.int64)
                search.decide(counts is None or counts(row))
            elif found["stopped"] == INTERRUPT:
                raise KeyboardInterrupt
            elif not found["done"]:
                if found["stopped"] == MEMORY:
                    note_lack()
                return None
            else:
                break
        if found["upper"] < 1:
            return [], 0
        clauses_of = [[one, list(clause)] for one, clause in search.clauses()]
        return [
            {
                "against": int(k),
                "rivals": [int(rival) for rival in rivals],
                "ways": clauses_of,
                "boxes": _boxes(search.boxes(way).tolist()),
            }
            for way, k in enumerate(targets)
        ], int(found["upper"])

    def _contest(self, k: int, other: int, *, sure: bool) -> tuple[int, int, int, int]:
        """Two classes, the least lead with which the first may win, and the least that needs no call of ``counts``."""
        least, scores = self.scores.threshold_of_win(k, other), self.scores
        beyond = least if sure else scores.threshold_of_win(k, other, margin=False) + scores.margin
        return int(k), int(other), least, beyond


def _hashable(clauses: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(int, clause)) for clause in clauses)


def _boxes(numbers: list[int]) -> list[list[Any]]:
    """Decode boxes: ``[column, cut]`` of a split box, ``[unit, edges, weights, shift]`` of a closed one."""
    boxes: list[list[Any]] = []
    at = 0
    while at < len(numbers):
        if numbers[at] == 0:
            boxes.append(numbers[at + 1 : at + 3])
            at += 3
            continue
        n = numbers[at + 1]
        weights, shift = numbers[at + 2 : at + 2 + n], numbers[at + 2 + n]
        unit, n_edges = numbers[at + 3 + n], numbers[at + 4 + n]
        edges, at = _edges(numbers, at + 5 + n, n_edges)
        boxes.append([unit, edges, weights, None if shift < 0 else shift])
    return boxes


def _edges(numbers: list[int], at: int, n_edges: int) -> tuple[list[list[Any]], int]:
    """Decode messages ``[factor, column, steps]`` from position ``at``; also return the position after them."""
    edges = []
    for _ in range(n_edges):
        factor, column, n_steps = numbers[at : at + 3]
        at += 3 + 2 * n_steps
        edges.append([factor, column, numbers[at - 2 * n_steps : at]])
    return edges, at
