"""Certificates: an abductive explanation as a file that proves itself.

That the features suffice is proved, for every other class, by a formula and a DRUP proof that it has no solution; that
none of them can go, by one row per feature. The file holds the trees as well, in integers over the threshold grid, so
that :func:`check_certificate` needs no solver, no encoder and, unless it is to compare, no model.

The votes may be of any kind. Majority votes give the formula of the paper [1]_ for one other class at a time; for
others the leads of leaves are added up, and where sums get too many, they are rounded on the side of the other class:
such a formula may have a solution where the model has none, never the other way round. Every such solution is denied
with a box around it in which the other class cannot win, until none is left or a limit is reached. The rounding of the
model's own floating-point sums is covered by the margin of :class:`~proofwood.explain.scores.ScoreModel`.

References
----------
.. [1] Izza, Marques-Silva (2021), On Explaining Random Forests with SAT, IJCAI, eq. 3 to 6.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from proofwood.explain.oracles.oracle import Oracle
from proofwood.explain.proofs.bound_formula import BoundFormula, LeafBoxes, TooLargeError, bound_formula, least_lead
from proofwood.explain.proofs.lemmas import BoxLemmas, cells_of_solution, full_chains
from proofwood.explain.proofs.recheck import (
    FORMAT,
    VERSION,
    Check,
    RealModel,
    check_certificate,
    claim_of,
    digest,
    model_content,
    values_to_json,
)
from proofwood.explain.scores import ScoreModel
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.solvers.session import SatSession

__all__ = ["Check", "NoCertificateError", "certify", "check_certificate", "write_certificate"]

WIDTHS = (12, 48)
"""Most sums per group of trees, tried one after the other before solutions are denied one by one."""
MAX_CLAUSES = 400_000
"""Most clauses of one formula: what the checker, in Python, can look at within minutes."""


class NoCertificateError(RuntimeError):
    """No certificate could be made; the message says for what, and why."""


class RowModel(RealModel, Protocol):
    """The model that was explained, with its rows in original units."""

    def row(self, cells: IntArray, like: npt.ArrayLike) -> FloatArray:
        """A row inside these cells."""


def certify(
    scores: ScoreModel,
    cells: IntArray,
    label: int,
    features: Sequence[int],
    oracle: Oracle,
    *,
    model: RowModel | None = None,
    x: npt.ArrayLike | None = None,
    minimal: bool = True,
    seconds: float | None = None,
) -> dict[str, Any]:
    """The certificate of an abductive explanation, as plain JSON.

    Parameters
    ----------
    scores : the model over its grid
    cells : (n_columns,) cells of the row that is explained
    label : its class
    features : the explanation
    oracle : finds the witnesses; nothing it says is taken on trust
    model, x : the real model and the row (n_columns,) in its own units: with both, witnesses are such rows too and are
        shown to the model
    minimal : whether to show that no feature can go
    seconds : limit for all of it

    Raises
    ------
    ValueError
        If the features do not suffice, or one of them could go.
    NoCertificateError
        If the time is over, the formula gets too large, or a witness changes the class only up to rounding.
    KeyboardInterrupt
        At Ctrl-C.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    cells, features = np.asarray(cells, dtype=np.int64), sorted(int(feature) for feature in features)
    if scores.winner(cells) != label:
        raise ValueError(f"the row has class {scores.winner(cells)} and not {label}")
    names = None if model is None else [str(name) for name in model.feature_names]
    witnesses = []
    for feature in features if minimal else ():
        rest = [other for other in features if other != feature]
        answer = oracle.ask(cells, label, rest, seconds=_left(deadline))
        told = str(feature) if names is None else repr(names[feature])
        if answer.changes is False:
            raise ValueError(f"the explanation is not minimal: without feature {told} the others suffice")
        if answer.witness is None:
            raise NoCertificateError(f"no certificate for this explanation: no witness for feature {told} in time")
        witness = {"feature": feature, "label": int(answer.label), **_row(answer.witness, model, x)}
        if model is not None and x is not None:
            values = np.array([model.row(answer.witness, like=x)])
            if int(model.predict_codes(values)[0]) == label:
                raise NoCertificateError(
                    f"no certificate for this explanation: without feature {told} the class changes only up to "
                    "rounding. One that it suffices can be made with minimal=False."
                )
        witnesses.append(witness)
    boxes = LeafBoxes.of(scores)
    others = [k for k in range(scores.n_classes) if k != label]
    proofs = [_proof(scores, boxes, cells, features, label, k, deadline) for k in others]
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "names": names,
        "classes": None if model is None else [str(name) for name in model.classes],
        "label": int(label),
        "features": features,
        "minimal": minimal,
        "row": _row(cells, model if x is not None else None, x, given=True),
        "witnesses": witnesses,
        "model": model_content(scores),
        "proofs": proofs,
    }
    content["claim"] = claim_of(content)
    return {**content, "digest": digest(content)}


def write_certificate(path: str | Path, content: Mapping[str, Any]) -> None:
    """Write a certificate as a JSON file."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    Path(path).write_text(text + "\n", encoding="ascii")


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else deadline - time.monotonic()


def _row(
    cells: IntArray, model: RowModel | None, x: npt.ArrayLike | None, *, given: bool = False
) -> dict[str, list[Any] | None]:
    """Cells of a row and, if there is a model to ask, its values."""
    values = None
    if model is not None and x is not None:
        values = values_to_json(np.asarray(x, dtype=np.float64) if given else model.row(cells, like=x))
    return {"cells": cells.tolist(), "values": values}


def _proof(
    scores: ScoreModel,
    boxes: LeafBoxes,
    cells: IntArray,
    features: Sequence[int],
    label: int,
    against: int,
    deadline: float | None,
) -> dict[str, Any]:
    """A formula that ``against`` comes before ``label``, and the proof that it cannot be."""
    what = f"no certificate for this explanation: the formula against class {against}"
    formula = proof = None
    for width in WIDTHS:
        try:
            formula = bound_formula(
                scores, boxes, cells, features, label, against, width=width, max_clauses=MAX_CLAUSES
            )
        except TooLargeError:
            if formula is None:
                raise NoCertificateError(f"{what} has more than {MAX_CLAUSES} clauses") from None
            break
        proof = _refuted(formula, None, deadline, what)
        if proof is not None or formula.exact:
            break
    assert formula is not None
    if proof is None and not formula.exact:
        goal = least_lead(scores, label, against)
        lemmas = _Refining(scores, BoxLemmas(scores, boxes, cells, features, label, against, goal), formula)
        proof = _refuted(formula, lemmas, deadline, what)
    if proof is None:
        raise ValueError(f"the features {list(features)} do not suffice: class {against} can come before {label}")
    return {
        "against": against,
        "order": formula.order,
        "counters": [list(counter) for counter in formula.counters],
        "clauses": formula.clauses,
        "proof": proof,
    }


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


def _refuted(formula: BoundFormula, refining: _Refining | None, deadline: float | None, what: str) -> list[str] | None:
    """Lines of the proof that the formula, refined where it must be, has no solution; None if it has one."""
    with SatSession(proof=True, seconds=_left(deadline)) as session:
        session.block(formula.n_variables)
        session.extend(formula.clauses)
        while answer := session.solve():
            if refining is None or not refining.learn(session):
                return None
            if len(formula.clauses) > MAX_CLAUSES:
                raise NoCertificateError(f"{what} has more than {MAX_CLAUSES} clauses")
        if answer is None:
            if session.stopped_by == "interrupt":
                raise KeyboardInterrupt
            raise NoCertificateError(f"{what} was not refuted in time")
        return list(session.certificate("").lines)
