"""Makes certificates about the classes that rows of a region can have."""

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
    """Make a certificate with a row for each class that is possible in a box, and a tree of boxes for each other class.

    Parameters
    ----------
    model : the model
    limits : limits of the region
    low, high : (n_columns,) least and greatest cells of a box around the region
    answers : mapping from codes of classes, in ascending order, to whether they are possible; None: not known
    rows : mapping from codes of possible classes to a row (n_inputs,) of the region with this class
    clock : clock of all proofs

    Returns
    -------
    dict
        The argument of :func:`~proofwood.explain.proofs.certificate.write_certificate`.

    Raises
    ------
    NoCertificateError
        If the time runs out first, or there are too many boxes.
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
    what = f"{NONE}: the proof that class {code} is impossible"
    rivals = [k for k in range(prover.scores.n_classes) if k != code]
    try:
        parts = prover.never_first(low, high, [code], rivals, clock=clock)
    except TooManyBoxesError as error:
        raise NoCertificateError(f"{what} has too many boxes: {error}") from None
    if parts is None:
        raise NoCertificateError(f"{what} was not finished in time")
    if parts is False:
        raise AssertionError(f"two searches disagree on whether class {code} is possible")
    return parts[0]
