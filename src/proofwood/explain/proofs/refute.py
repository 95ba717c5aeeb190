"""Proofs that no row of a region can have another class, one tree of boxes per class; and that clauses contradict.

How boxes are made and written down is in :mod:`proofwood.explain.proofs.boxes`; here they are asked for by one clock,
class by class. The rounding of the model's own floating-point sums is covered by the margin of
:class:`~proofwood.ensembles.scores.ScoreModel`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

from proofwood.engines.run import Clock
from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.proofs.boxes import BoxProver, TooManyBoxesError
from proofwood.model.node_table import IntArray
from proofwood.solvers.session import SatSession


class NoCertificateError(RuntimeError):
    """No certificate could be made; the message says for what, and why.

    Attributes
    ----------
    found : the answer without its certificate, which is valid all the same; None if there is no answer
    """

    found: Any = None


class OnlyRoundingError(NoCertificateError):
    """The certificate needs a change that is one only if rounding is given the doubt."""


class Refuter:
    """Proves, by one clock, that no row of a box can have another class than one.

    Parameters
    ----------
    scores : the model
    label : the class that is not to change
    clock : of everything
    targets : the classes that the proofs are about, all others by default
    """

    def __init__(self, scores: ScoreModel, label: int, clock: Clock, targets: Sequence[int] | None = None) -> None:
        self.scores, self.label = scores, label
        self.clock = clock
        self.others = [k for k in range(scores.n_classes) if k != label and (targets is None or k in targets)]
        self.rivals = [k for k in range(scores.n_classes) if k not in self.others]
        """The classes before which a target has to come: the label, and those that are not targets."""

    @cached_property
    def prover(self) -> BoxProver:
        """Makes trees of boxes; made itself when the first one is asked for."""
        return BoxProver(self.scores)

    def box(self, low: IntArray, high: IntArray, clauses: Sequence[Sequence[int]] = ()) -> list[dict[str, Any]] | None:
        """One proof per other class: no row of the box can have it. None if one can.

        ``clauses``, literals as the model has them, limit the rows beside the box.
        """
        found = []
        for against in self.others:
            part = self._against(against, low, high, clauses)
            if part is None:
                return None
            found.append(part)
        return found

    def boxes(self, named: Sequence[tuple[int, tuple[IntArray, IntArray]]]) -> list[dict[str, Any]] | None:
        """Per other class one proof for each of some named boxes; None if a row of one can have it."""
        found = []
        for against in self.others:
            trees = self._all_against(against, [box for _, box in named])
            if trees is None:
                return None
            proofs = [[name, tree["boxes"]] for (name, _), tree in zip(named, trees, strict=True)]
            common = {key: value for key, value in trees[-1].items() if key != "boxes"} if trees else {"ways": []}
            found.append({"against": against, **common, "proofs": proofs})
        return found

    def _all_against(self, against: int, boxes: Sequence[tuple[IntArray, IntArray]]) -> list[dict[str, Any]] | None:
        """A tree of boxes against a class for each of some boxes, with the same rivals; None if a row can have it."""
        found: list[dict[str, Any]] = []
        rivals = False
        for number, box in enumerate(boxes):
            tree = self._against(against, *box, rivals=rivals)
            if tree is None:
                return None
            if "rivals" in tree and not rivals:  # the ones before as well
                rivals = True
                again = [self._against(against, *before, rivals=True) for before in boxes[:number]]
                found = [one for one in again if one is not None]
            found.append(tree)
        return found if len(found) == len(boxes) else None

    def _against(
        self,
        against: int,
        low: IntArray,
        high: IntArray,
        clauses: Sequence[Sequence[int]] = (),
        *,
        rivals: bool = False,
    ) -> dict[str, Any] | None:
        """A tree of boxes against a class; None if a row can have it.

        If a target may come before the label, but not before every class that is not a target, each box names the
        classes that it loses to; with ``rivals`` it always does.
        """
        what = f"no certificate for this explanation: the boxes against class {against}"
        if self.clock.over:
            raise NoCertificateError(f"{what} were not closed in time")
        part: dict[str, Any] | Literal[False] | None = False
        try:
            if not rivals:
                part = self.prover.against(low, high, self.label, against, clock=self.clock, clauses=clauses)
            if part is False and len(self.rivals) > 1:
                part = self.prover.never_first(low, high, against, self.rivals, clock=self.clock, clauses=clauses)
        except TooManyBoxesError as error:
            raise NoCertificateError(f"{what} are too many: {error}") from None
        if part is None:
            raise NoCertificateError(f"{what} were not closed in time")
        return part or None


def refuted(clauses: Sequence[Sequence[int]], clock: Clock, what: str) -> list[str] | None:
    """Lines of the proof that clauses contradict each other; None if they do not.

    Raises
    ------
    NoCertificateError
        If the time is over; ``what`` begins its message.
    """
    with SatSession(proof=True, seconds=clock.seconds_left) as session:
        session.block(max((abs(literal) for clause in clauses for literal in clause), default=0))
        session.extend(clauses)
        answer = session.solve()
        if answer:
            return None
        if answer is None:
            if session.stopped_by == "interrupt":
                raise KeyboardInterrupt
            raise NoCertificateError(f"{what} was not refuted in time")
        return list(session.certificate("").lines)
