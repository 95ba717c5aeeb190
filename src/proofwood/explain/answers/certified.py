"""Explanations with a certificate: a proof that can be checked without this package's search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from proofwood.ensembles.explained import Explained
from proofwood.ensembles.linear import Constraint
from proofwood.explain.answers.case import Case
from proofwood.explain.explanation import UP_TO_ROUNDING, Explanation
from proofwood.explain.nearest.prices import Permitted
from proofwood.explain.nearest.tariffs import Tariff
from proofwood.explain.proofs.certificate import Certifier, NoCertificateError, OnlyRoundingError
from proofwood.explain.proofs.distance import DistanceCertifier
from proofwood.model.node_table import FloatArray, IntArray

Maker = TypeVar("Maker", bound=Certifier)


def certifier(maker: type[Maker], case: Case, known: Iterable[IntArray]) -> Maker:
    """What makes the certificates of a row, in the time that is left; ``known``: cells of rows of other classes."""
    return maker(
        case.model,
        case.row,
        case.label,
        case.session.oracle,
        known=known,
        clock=case.clock,
        targets=case.questions.targets,
    )


def uncertified(model: Explained, constraints: Sequence[Constraint] = (), tariff: Tariff | None = None) -> None:
    """ValueError where no certificate can be made of what is asked."""
    why = None
    if model.plausible is not None:
        why = "plausible do not go together: a certificate proves what holds of all rows"
    elif constraints:
        why = "constraints do not go together: a certificate knows the price of each column by itself"
    elif tariff is not None and tariff.stated is None:
        why = "these weights do not go together: a certificate knows numbers, and no functions or tables of groups"
    if why is not None:
        raise ValueError(f"certificate=True and {why}. Leave out one of them")


@contextmanager
def _kept(case: Case, found: Explanation) -> Iterator[None]:
    """Hand on the explanation where there is no certificate of it."""
    try:
        yield
    except NoCertificateError as error:
        error.found = replace(found, seconds=case.seconds)
        raise


def certified(case: Case, found: Explanation, without: list[int], maximal: bool | None = None) -> Explanation:
    """The explanation with its certificate.

    Where a range can grow but for rounding, the certificate claims, as the explanation does, that the box suffices.

    Parameters
    ----------
    case : of the explanation
    found : the explanation
    without : features that it must not have
    maximal : of an inflated one, whether its ranges are known to be as wide as can be
    """
    uncertified(case.model)
    if found.keep and maximal is not None:
        raise ValueError("certificate=True with keep is for explanations without inflate")
    if found.status == "unknown":
        return found
    with _kept(case, found):
        content = _proved(case, found, without, maximal)
    return replace(found, certificate=content, seconds=case.seconds)


def _proved(case: Case, found: Explanation, without: list[int], maximal: bool | None) -> dict[str, Any]:
    """The content of the certificate, with what :func:`certified` is given."""
    make = certifier(Certifier, case, found.witness_cells.values())
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
        return make.smallest(found.kind, found.features, without=without, keep=found.keep, questions=case.questions)
    if found.kind == "abductive":
        return make.abductive(found.features, minimal=minimal, keep=found.keep)
    return make.contrastive(found.features, minimal=minimal)


def certified_distance(
    case: Case,
    found: Explanation,
    tariff: Tariff,
    prices: Sequence[FloatArray],
    fixed: list[int],
    permitted: Permitted,
) -> Explanation:
    """A counterfactual with the certificate of its distance, or of what is proved of it.

    Parameters
    ----------
    case : of the counterfactual
    found : the counterfactual
    tariff : what is stated of prices
    prices : per column the price of each cell
    fixed : features that stay
    permitted : from columns of categories to the codes that they may have
    """
    if found.status == "unknown":
        return found
    weights = tariff.stated
    assert weights is not None, "such weights are refused"
    row = next(iter(found.witness_cells.values()), None)
    proved = None if found.status.removesuffix(UP_TO_ROUNDING) in ("optimal", "none") else found.lower_bound
    with _kept(case, found):
        make = certifier(DistanceCertifier, case, found.witness_cells.values())
        asked: dict[str, Any] = {"immutable": fixed, "permitted": permitted, "found": row, "row": found.found_row}
        content = make.distance(found.metric, weights, prices, **asked, bound=proved)
    return replace(found, certificate=content, seconds=case.seconds)
