"""Explanations with a certificate: a proof that can be checked without this package's search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from proofwood.ensembles.explained import Explained
from proofwood.ensembles.linear import Constraint
from proofwood.explain.explanation import UP_TO_ROUNDING, Explanation
from proofwood.explain.nearest.measure import Measure
from proofwood.explain.proofs.certificate import Certifier, NoCertificateError, OnlyRoundingError
from proofwood.explain.proofs.distance import DistanceCertifier
from proofwood.explain.question import Question
from proofwood.model.node_table import IntArray

Maker = TypeVar("Maker", bound=Certifier)


def certifier(maker: type[Maker], q: Question, known: Iterable[IntArray]) -> Maker:
    """Return the object that makes certificates of a row; ``known``: cells of rows of other classes."""
    return maker(
        q.model,
        q.row,
        q.label,
        q.engines.oracle,
        known=known,
        clock=q.clock,
        targets=q.targets,
    )


def uncertified(model: Explained, constraints: Sequence[Constraint] = (), measure: Measure | None = None) -> None:
    """Raise ValueError if the question has an option for which no certificate can be made."""
    why = None
    if model.plausible is not None:
        why = "plausible: a certificate can only prove statements about all rows"
    elif constraints:
        why = "constraints: a certificate can only contain a price for each single column"
    elif measure is not None and measure.tariff.stated is None:
        why = "these weights: a certificate can only contain numbers, not functions, and not tables of groups"
    if why is not None:
        raise ValueError(f"certificate=True cannot be used with {why}. Leave out one of the two")


@contextmanager
def _kept(q: Question, found: Explanation) -> Iterator[None]:
    """Add the explanation to a NoCertificateError that the block raises."""
    try:
        yield
    except NoCertificateError as error:
        error.found = replace(found, seconds=q.seconds)
        raise


def certified(q: Question, found: Explanation, without: list[int], maximal: bool | None = None) -> Explanation:
    """Return the explanation with its certificate.

    If only rounding prevents a range from growing, explanation and certificate claim only that the box suffices.

    Parameters
    ----------
    q : the question of the explanation
    found : the explanation
    without : features that it must not contain
    maximal : of an inflated explanation, whether its ranges are known to be as wide as possible
    """
    uncertified(q.model)
    if found.keep and maximal is not None:
        raise ValueError("certificate=True and keep cannot be used with inflate=True. Leave out one of the three")
    if found.status == "unknown":
        return found
    with _kept(q, found):
        content = _proved(q, found, without, maximal)
    return replace(found, certificate=content, seconds=q.seconds)


def _proved(q: Question, found: Explanation, without: list[int], maximal: bool | None) -> dict[str, Any]:
    """The content of the certificate; the parameters are those of :func:`certified`."""
    make = certifier(Certifier, q, found.witness_cells.values())
    minimal = found.status in ("minimal", "smallest")
    if maximal is not None:
        assert found.low is not None
        assert found.high is not None
        box = found.features, found.low, found.high
        try:
            return make.inflated(*box, maximal=maximal and minimal)
        except OnlyRoundingError:
            return make.inflated(*box, maximal=False)
    if found.status == "none":
        return make.abductive(without, minimal=False)
    if found.status == "smallest" and found.kind != "counterfactual":
        return make.smallest(found.kind, found.features, without=without, keep=found.keep, questions=q)
    if found.kind == "abductive":
        return make.abductive(found.features, minimal=minimal, keep=found.keep)
    return make.contrastive(found.features, minimal=minimal)


def certified_distance(q: Question, found: Explanation, measure: Measure) -> Explanation:
    """Return a counterfactual with the certificate of its distance, or of its proved lower bound."""
    if found.status == "unknown":
        return found
    weights = measure.tariff.stated
    assert weights is not None, "such weights are refused"
    row = next(iter(found.witness_cells.values()), None)
    proved = None if found.status.removesuffix(UP_TO_ROUNDING) in ("optimal", "none") else found.lower_bound
    with _kept(q, found):
        make = certifier(DistanceCertifier, q, found.witness_cells.values())
        content = make.distance(
            found.metric,
            weights,
            measure.prices,
            immutable=measure.fixed,
            permitted=measure.permitted,
            found=row,
            row=found.found_row,
            bound=proved,
        )
    return replace(found, certificate=content, seconds=q.seconds)
