"""What is kept between the questions about one model: its engines, with all they have learned."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from proofwood import arguments
from proofwood.ensembles.explained import Explained
from proofwood.explain.answers.reading import ReadRow
from proofwood.explain.oracles.engines import make_oracle
from proofwood.explain.oracles.oracle import Oracle
from proofwood.explain.search.questions import Questions


class Session:
    """A model, the engines that answer questions about it, and what is known about the last row.

    Parameters
    ----------
    model : what is explained
    engine : name of the engine
    """

    def __init__(self, model: Explained, engine: str) -> None:
        self.model, self.engine = model, engine
        # The own engines need a while to take in a large model, which is no part of the first question.
        self._oracle = make_oracle(engine, model.scores) if engine in ("auto", "cdcl", "messages") else None
        self._sure: Oracle | None = None
        self._last: Questions | None = None

    def __getstate__(self) -> dict[str, Any]:
        # engines hold solvers, and build anew what they learned
        return {**self.__dict__, "_oracle": None, "_sure": None, "_last": None}

    def forget(self) -> None:
        """Give back the memory of what the engines have learned; they begin anew with the next question."""
        self._oracle = self._sure = self._last = None

    @property
    def oracle(self) -> Oracle:
        """The engine, built when it is first used and kept with all it has learned."""
        if self._oracle is None:
            self._oracle = make_oracle(self.engine, self.model.scores)
        return self._oracle

    @property
    def sure(self) -> Oracle:
        """An engine to which only those rows have another class that have it whatever rounding does."""
        if self._sure is None:
            scores = self.model.scores
            self._sure = make_oracle("auto", scores.sure())
        return self._sure

    def questions(self, row: ReadRow, target: Any) -> Questions:
        """Questions about a row: those of the last one, with all that is known, if they are the same.

        Parameters
        ----------
        row : what they are about
        target : a class or list of classes that matter, as the user states it; None for all others
        """
        targets = self._targets(target, row.label)
        last = self._last
        if (
            last is None
            or last.label != row.label
            or last.targets != targets
            or not np.array_equal(last.cells, row.cells)
        ):
            last = Questions(self.oracle, row.cells, row.label, targets=targets)
            self._last = last
        return last

    def _targets(self, target: Any, label: int) -> tuple[int, ...] | None:
        if target is None:
            return None
        classes = self.model.classes.tolist()
        codes = []
        for name in arguments.classes_of(target):
            if not isinstance(name, Hashable) or name not in classes:
                raise ValueError(f"target={name!r} is not a class of the model: expected one of {classes}")
            codes.append(classes.index(name))
        if label in codes:
            raise ValueError(f"target={target!r}: the model predicts {classes[label]!r} for this row already")
        return tuple(sorted(set(codes)))
