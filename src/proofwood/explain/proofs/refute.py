"""Proofs that no row of a box can have another class: a tree of boxes per class, or a formula and its refutation.

Trees of boxes (:mod:`proofwood.explain.proofs.boxes`) are what certificates have. Formulas are the older form: majority
votes give the formula of the paper [1]_ for one other class at a time; for others the leads of leaves are added up, and
where sums get too many, they are rounded on the side of the other class: such a formula may have a solution where the
model has none, never the other way round. Every such solution is denied with a box around it in which the other class
cannot win, until none is left or a limit is reached. The rounding of the model's own floating-point sums is covered by
the margin of :class:`~proofwood.explain.model.scores.ScoreModel`.

References
----------
.. [1] Izza, Marques-Silva (2021), On Explaining Random Forests with SAT, IJCAI, eq. 3 to 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

from proofwood.engines.run import Clock
from proofwood.explain.encodings.bound import (
    BoundFormula,
    LeafBoxes,
    OutOfTimeError,
    TooLargeError,
    bound_formula,
    least_lead,
)
from proofwood.explain.encodings.lemmas import BoxLemmas, cells_of_solution, full_chains
from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.proofs.boxes import BoxProver, TooManyBoxesError
from proofwood.model.node_table import IntArray
from proofwood.solvers.session import SatSession

WIDTHS = (12, 48)
"""Most sums per group of trees, tried one after the other before solutions are denied one by one."""
MAX_CLAUSES = 400_000
"""Most clauses of one formula: what the checker, in Python, can look at within minutes."""

Clauses = list[list[int]]
Form = Literal["boxes", "formulas"]
"""How regions are proved: by trees of boxes, or by formulas, as up to version 3 of certificates."""


class NoCertificateError(RuntimeError):
    """No certificate could be made; the message says for what, and why.

    Attributes
    ----------
    found : the answer without the certificate that was asked for, which holds all the same; None if there is none
    """

    found: Any = None


class OnlyRoundingError(NoCertificateError):
    """Some change that the certificate needs is one only if rounding is given the doubt."""


class Refuter:
    """Writes formulas about one model and one class, and has them refuted by one clock.

    Parameters
    ----------
    scores : the model
    label : the class that is not to change
    clock : of everything
    form : of the proofs
    targets : the classes that the proofs are about, all others by default
    """

    def __init__(
        self,
        scores: ScoreModel,
        label: int,
        clock: Clock,
        form: Form = "boxes",
        targets: Sequence[int] | None = None,
    ) -> None:
        self.scores, self.label, self.form = scores, label, form
        self.clock = clock
        self.others = [k for k in range(scores.n_classes) if k != label and (targets is None or k in targets)]
        self.rivals = [k for k in range(scores.n_classes) if k not in self.others]
        """The classes before which a target has to come: the label, and those that are no targets."""

    @cached_property
    def boxes(self) -> LeafBoxes:
        """Boxes of the leaves, made for the first formula: in a large model they take a while."""
        return LeafBoxes.of(self.scores)

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
            if self.form == "boxes":
                part = self._boxes_against(against, low, high, clauses)
                if part is None:
                    return None
                found.append(part)
                continue
            formula, proofs = self._proofs(low, high, against, [[]], clauses)
            if proofs is None:
                return None
            found.append({**_content(formula), "proof": proofs[0]})
        return found

    def parts_of_box(
        self, low: IntArray, high: IntArray, parts: Sequence[tuple[int, Sequence[int]]]
    ) -> list[dict[str, Any]] | None:
        """Per other class one proof for each part of the box; None if a part has a row of another.

        Parameters
        ----------
        low, high : (n_columns,) cells
        parts : name of each part, and the literals, +v or -v, that make it
        """
        found = []
        for against in self.others:
            if self.form == "boxes":
                trees = self._trees_against(against, [self._part(low, high, literals) for _, literals in parts])
                if trees is None:
                    return None
                named = [[name, tree["boxes"]] for (name, _), tree in zip(parts, trees, strict=True)]
                common = {key: value for key, value in trees[-1].items() if key != "boxes"} if trees else {"ways": []}
                found.append({"against": against, **common, "proofs": named})
                continue
            cases = [[[literal] for literal in literals] for _, literals in parts]
            formula, proofs = self._proofs(low, high, against, cases)
            if proofs is None:
                return None
            named = [[name, proof] for (name, _), proof in zip(parts, proofs, strict=True)]
            found.append({**_content(formula), "proofs": named})
        return found

    def _part(self, low: IntArray, high: IntArray, literals: Sequence[int]) -> tuple[IntArray, IntArray]:
        """What literals, +v or -v, leave of a box."""
        low, high = low.copy(), high.copy()
        for literal in literals:
            c = int(self.scores.column_of[abs(literal) - 1])
            threshold = abs(literal) - 1 - int(self.scores.first[c])
            if literal < 0:
                high[c] = min(high[c], threshold)
            else:
                low[c] = max(low[c], threshold + 1)
        return low, high

    def _trees_against(self, against: int, boxes: Sequence[tuple[IntArray, IntArray]]) -> list[dict[str, Any]] | None:
        """A tree of boxes against a class for each of some boxes, with the same rivals; None if a row can have it."""
        found: list[dict[str, Any]] = []
        rivals = False
        for number, box in enumerate(boxes):
            tree = self._boxes_against(against, *box, rivals=rivals)
            if tree is None:
                return None
            if "rivals" in tree and not rivals:  # the ones before as well
                rivals = True
                again = [self._boxes_against(against, *before, rivals=True) for before in boxes[:number]]
                found = [one for one in again if one is not None]
            found.append(tree)
        return found if len(found) == len(boxes) else None

    def _boxes_against(
        self,
        against: int,
        low: IntArray,
        high: IntArray,
        clauses: Sequence[Sequence[int]] = (),
        *,
        rivals: bool = False,
    ) -> dict[str, Any] | None:
        """A tree of boxes against a class; None if a row can have it.

        Where a target may come before the label, but not before all classes that are no targets, each box names those
        among them that it loses to; ``rivals``: in any case.
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

    def _proofs(
        self,
        low: IntArray,
        high: IntArray,
        against: int,
        cases: Sequence[Clauses],
        clauses: Sequence[Sequence[int]] = (),
    ) -> tuple[BoundFormula, list[list[str]] | None]:
        """A formula that ``against`` comes before the label, and a proof with each of some further sets of clauses."""
        what = f"no certificate for this explanation: the formula against class {against}"
        also = [abs(literal) for case in cases for clause in case for literal in clause]
        formula: BoundFormula | None = None
        if self.clock.over:
            raise NoCertificateError(f"{what} was not refuted in time")
        for width in WIDTHS:
            try:
                formula = bound_formula(
                    self.scores,
                    self.boxes,
                    low,
                    high,
                    self.label,
                    against,
                    width=width,
                    max_clauses=MAX_CLAUSES,
                    also=also,
                    clock=self.clock,
                    limits=clauses,
                )
            except OutOfTimeError:
                raise NoCertificateError(f"{what} was not refuted in time") from None
            except TooLargeError:
                if formula is None:
                    raise NoCertificateError(f"{what} has more than {MAX_CLAUSES} clauses") from None
                break
            proofs = self._refuted(formula, cases, None, what)
            if proofs is not None or formula.exact:
                return formula, proofs
        assert formula is not None
        goal = least_lead(self.scores, self.label, against)
        lemmas = _Refining(
            self.scores, BoxLemmas(self.scores, self.boxes, low, high, self.label, against, goal), formula
        )
        return formula, self._refuted(formula, cases, lemmas, what)

    def _refuted(
        self, formula: BoundFormula, cases: Sequence[Clauses], refining: _Refining | None, what: str
    ) -> list[list[str]] | None:
        proofs = []
        for case in cases:
            lines = _lines(formula, case, refining, self.clock, what)
            if lines is None:
                return None
            proofs.append(lines)
        return proofs


class _Refining:
    """Adds to a coarse formula what its solutions teach."""

    def __init__(self, scores: ScoreModel, lemmas: BoxLemmas, formula: BoundFormula) -> None:
        self.scores, self.lemmas, self.formula = scores, lemmas, formula
        formula.clauses += full_chains(scores)

    def learn(self, session: SatSession) -> bool:
        """Deny the last solution, and a box around it; False if it is a row with a change."""
        clause = self.lemmas.around(cells_of_solution(self.scores, session))
        if clause is None:
            return False
        self.formula.clauses.append(clause)
        session.add(clause)
        return True


def _content(formula: BoundFormula) -> dict[str, Any]:
    return {
        "against": formula.against,
        "order": formula.order,
        "counters": [list(counter) for counter in formula.counters],
        "clauses": formula.clauses,
    }


def _lines(
    formula: BoundFormula, case: Clauses, refining: _Refining | None, clock: Clock, what: str
) -> list[str] | None:
    """Lines of the proof that the formula, refined where it must be, has no solution; None if it has one."""
    with SatSession(proof=True, seconds=clock.seconds_left) as session:
        session.block(formula.n_variables)
        session.extend(case)
        session.extend(formula.clauses)
        while answer := session.solve():
            if refining is None or not refining.learn(session):
                return None
            if len(formula.clauses) > MAX_CLAUSES:
                raise NoCertificateError(f"{what} has more than {MAX_CLAUSES} clauses")
        return _written(session, answer, what)


def refuted(clauses: Clauses, clock: Clock, what: str) -> list[str] | None:
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
        return None if answer else _written(session, answer, what)


def _written(session: SatSession, answer: bool | None, what: str) -> list[str]:
    if answer is None:
        if session.stopped_by == "interrupt":
            raise KeyboardInterrupt
        raise NoCertificateError(f"{what} was not refuted in time")
    return list(session.certificate("").lines)
