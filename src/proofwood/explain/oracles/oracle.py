"""The question that all explanations are made of: can the class change while some features stay as they are?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from proofwood.explain.scores import ScoreModel
from proofwood.model.node_table import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What an oracle says.

    Parameters
    ----------
    changes : True: a row with another class was found; False: proved that there is none; None: stopped before
    witness : (n_columns,) cells of that row, None unless ``changes``
    label : its class by the integer sums (or the class it may have within the margin), -1 unless ``changes``
    core : features among the fixed ones that suffice for the class, None unless proved; need not be minimal
    """

    changes: bool | None
    witness: IntArray | None = None
    label: int = -1
    core: frozenset[int] | None = None


UNKNOWN = Answer(None)


class Oracle(Protocol):
    """Answers for one model; may keep what it learned between questions.

    ``name`` is that of the engine: "box", "sat", "cpsat" or "smt".
    """

    name: str
    scores: ScoreModel

    def ask(
        self,
        cells: IntArray,
        label: int,
        fixed: Sequence[int],
        *,
        targets: Sequence[int] | None = None,
        seconds: float | None = None,
    ) -> Answer:
        """Can a row that agrees with ``cells`` on the features ``fixed`` get another class than ``label``?

        Parameters
        ----------
        cells : (n_columns,) cells of the row to explain
        label : its class
        fixed : features that stay
        targets : other classes to look for; all by default
        seconds : limit; the answer is ``UNKNOWN`` when it is over
        """
        ...


def check_answer(scores: ScoreModel, cells: IntArray, label: int, fixed: Sequence[int], answer: Answer) -> None:
    """Raise AssertionError unless a witness agrees on the fixed features, is of the space, and may win."""
    if not answer.changes:
        return
    assert answer.witness is not None
    for feature in fixed:
        columns = list(scores.features[feature])
        if not np.array_equal(answer.witness[columns], cells[columns]):
            raise AssertionError(f"the witness changes the fixed feature {feature}")
    if not scores.allows(answer.witness):
        raise AssertionError("the witness is no row of the space")
    sums = scores.sums(answer.witness)
    if answer.label == label or sums[answer.label] - sums[label] < scores.threshold_of_win(answer.label, label):
        raise AssertionError(f"the witness does not reach class {answer.label}")
