"""Makes certificates of the classes that rows of a region can have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proofwood.certificates.content import values_to_json
from proofwood.certificates.space import Limit
from proofwood.engines.run import ENDLESS, Clock
from proofwood.ensembles.explained import Explained
from proofwood.explain.proofs.boxes import BoxProver, TooManyBoxesError
from proofwood.explain.proofs.certificate import whole_content
from proofwood.explain.proofs.refute import NoCertificateError
from proofwood.model.node_table import FloatArray, IntArray

NONE = "no certificate for this region"


def possible_certificate(
    model: Explained,
    limits: Sequence[Limit],
    low: IntArray,
    high: IntArray,
    answers: Mapping[int, bool | None],
    rows: Mapping[int, FloatArray],
    clock: Clock = ENDLESS,
) -> dict[str, Any]:
    """A row for each class that is possible in a box, and boxes that each name rivals for those that are not.

    Parameters
    ----------
    model : what the region is one of
    limits : of the region
    low, high : (n_columns,) least and greatest cells around it
    answers : by code of a class, in ascending order, whether it is possible; None: not known
    rows : by code of a class that is, a row (n_inputs,) of the region that has it
    clock : of all of it

    Returns
    -------
    dict
        For :func:`~proofwood.explain.proofs.certificate.write_certificate`.

    Raises
    ------
    NoCertificateError
        If the time is over before, or there are too many boxes.
    KeyboardInterrupt
        At Ctrl-C.
    """
    prover = BoxProver(model.scores)
    found: list[dict[str, Any]] = []
    for code, answer in answers.items():
        one: dict[str, Any] = {"class": int(code)}
        if answer:
            one["row"] = values_to_json(rows[code])
        elif answer is False:
            one["proof"] = _proof(prover, low, high, code, clock)
        found.append(one)
    status = "partial" if None in answers.values() else "complete"
    return whole_content(model, "possible", status, limits=[limit.to_json() for limit in limits], found=found)


def _proof(prover: BoxProver, low: IntArray, high: IntArray, code: int, clock: Clock) -> dict[str, Any]:
    what = f"{NONE}: the boxes against class {code}"
    rivals = [k for k in range(prover.scores.n_classes) if k != code]
    try:
        parts = prover.never_first(low, high, [code], rivals, clock=clock)
    except TooManyBoxesError as error:
        raise NoCertificateError(f"{what} are too many: {error}") from None
    if parts is None:
        raise NoCertificateError(f"{what} were not closed in time")
    if parts is False:
        raise AssertionError(f"one search says that class {code} is not possible, another that it is")
    return parts[0]
