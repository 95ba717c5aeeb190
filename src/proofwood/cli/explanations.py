"""Explanations of rows, printed as text or written as JSON lines: what ``proofwood explain`` asks and shows."""

# Imports inside functions are of modules that load numpy, so that --help starts at once.

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proofwood.cli.files import writing
from proofwood.cli.report import print_line
from proofwood.exceptions import DataError

if TYPE_CHECKING:
    import polars as pl

    from proofwood.explain.explainer import Explainer
    from proofwood.explain.explanation import Explanation


class Kind(StrEnum):
    """Which question is answered."""

    ABDUCTIVE = "abductive"
    CONTRASTIVE = "contrastive"
    COUNTERFACTUAL = "counterfactual"
    ENUMERATION = "enumeration"


MEANING = {
    "smallest": "no explanation has fewer features",
    "minimal": "no feature can be spared",
    "sufficient": "right, but stopped by the time limit: a feature may be spare",
    "changing": "right, but stopped by the time limit: a feature may be spare",
    "optimal": "no row of another class is nearer",
    "feasible": "a row of another class; a nearer one may exist",
    "none": "proved",
    "unknown": "stopped by the time limit before anything was proved",
}


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked about a row.

    Parameters
    ----------
    kind : the question
    smallest, inflate : of the explanation
    target : class to reach or to rule out, as text; None for all others
    order : features to be left out first in front
    immutable : features that do not change
    """

    kind: Kind = Kind.ABDUCTIVE
    smallest: bool = False
    inflate: bool = False
    target: str | None = None
    order: Sequence[str] | None = None
    immutable: Sequence[str] = ()

    def __post_init__(self) -> None:
        no = {
            "--smallest": self.smallest and self.kind in (Kind.COUNTERFACTUAL, Kind.ENUMERATION),
            "--inflate": self.inflate and self.kind is not Kind.ABDUCTIVE,
            "--feature-order": self.order is not None and self.kind in (Kind.COUNTERFACTUAL, Kind.ENUMERATION),
            "--immutable": bool(self.immutable) and self.kind in (Kind.ABDUCTIVE, Kind.ENUMERATION),
        }
        for option, wrong in no.items():
            if wrong:
                raise DataError(f"{option} is no option of --kind {self.kind}")
        if self.smallest and self.order is not None:
            raise DataError("--smallest and --feature-order exclude each other: the size decides, or the order")

    def targets(self, explainer: Explainer) -> Any:
        """The target as a label of the model."""
        return None if self.target is None else _label(self.target, explainer.model.classes.tolist())

    def options(self, explainer: Explainer) -> dict[str, Any]:
        """What the method of the explainer is asked with; what was not given is left out."""
        given = {
            "smallest": self.smallest,
            "inflate": self.inflate,
            "order": self.order,
            "immutable": tuple(self.immutable),
            "target": self.targets(explainer),
        }
        return {
            name: value for name, value in given.items() if value is not None and value is not False and value != ()
        }

    def answer(self, explainer: Explainer, x: Any, *, certificate: bool = False) -> Explanation:
        """The explanation of one row."""
        target = self.targets(explainer)
        if self.kind is Kind.ABDUCTIVE:
            return explainer.abductive(
                x,
                smallest=self.smallest,
                inflate=self.inflate,
                order=self.order,
                target=target,
                certificate=certificate,
            )
        if self.kind is Kind.CONTRASTIVE:
            return explainer.contrastive(
                x,
                smallest=self.smallest,
                order=self.order,
                immutable=self.immutable,
                target=target,
                certificate=certificate,
            )
        return explainer.counterfactual(x, target=target, immutable=self.immutable)


def explain_one(
    explainer: Explainer, rows: pl.DataFrame, row: int, request: Request, *, verify: bool, certificate: Path | None
) -> bool:
    """Print the explanation of one row.

    Returns
    -------
    bool
        Whether nothing was found wrong: False if ``verify`` contradicts the explanation or cannot confirm it.

    Raises
    ------
    DataError
        If there is no such row, or no certificate can be made.
    """
    from proofwood.explain.proofs.certificate import NoCertificateError

    if not 0 <= row < rows.height:
        raise DataError(f"--row {row}: the table has {rows.height} rows, the first is 0")
    if certificate is not None:
        if request.kind is Kind.COUNTERFACTUAL:
            raise DataError("--certificate is for --kind abductive, contrastive or enumeration")
        if request.target is not None:
            raise DataError("--certificate and --target exclude each other: what is certified is so for all classes")
    try:
        if request.kind is Kind.ENUMERATION:
            return _explain_fully(explainer, rows[row], request, verify=verify, certificate=certificate)
        found = request.answer(explainer, rows[row], certificate=certificate is not None)
    except NoCertificateError as error:
        raise DataError(str(error)) from error
    for name, text in _report(found, row).items():
        print_line(name, text)
    right = True
    if verify and found.status.removesuffix(" up to rounding") not in ("none", "unknown"):
        checked = found.verify(seconds=explainer.time_limit)
        right = checked.ok
        said = "confirmed by a second look" if checked.ok else "; ".join(checked.problems) or "not confirmed"
        print_line("verified", said + "".join(f"; {doubt}" for doubt in checked.doubts))
    if certificate is not None:
        if found.certificate is None:
            raise DataError("no certificate: the explanation was not proved within the time limit")
        _write_certificate(certificate, found.certificate)
    return right


def _explain_fully(explainer: Explainer, x: Any, request: Request, *, verify: bool, certificate: Path | None) -> bool:
    """Print all explanations of a row, each as soon as it is found; whether nothing was found wrong."""
    if verify:
        raise DataError("--verify is for one explanation: --certificate proves an enumeration")
    counted: Counter[str] = Counter()
    listing = explainer.enumerate(x, target=request.targets(explainer))
    for found in listing:
        counted[found.kind] += 1
        print_line(found.kind, found.rule())
    status = "complete: there are no others" if listing.complete else "stopped by the time limit: there may be others"
    if listing.complete and not listing.exact:
        status += ", where rounding is given the doubt"
    print_line("found", f"{counted['abductive']:,} abductive, {counted['contrastive']:,} contrastive")
    print_line("status", status)
    if certificate is not None:
        _write_certificate(certificate, explainer.enumeration_certificate(x))
    return True


def _write_certificate(path: Path, content: Mapping[str, Any]) -> None:
    from proofwood.explain.proofs.certificate import write_certificate

    with writing(path):
        write_certificate(path, content)
    print_line("certificate", f"{path}; check it with: proofwood verify {path}")


def explain_all(explainer: Explainer, rows: pl.DataFrame, request: Request, out: Path) -> None:
    """Write one line of JSON per row as rows are done, and print how many there are of each status.

    A file of the same call that was stopped is continued.
    """
    found = explainer.explain(
        rows, kind=str(request.kind), path=out, verbose=int(sys.stderr.isatty()), **request.options(explainer)
    )
    counted = Counter(str(record["status"]) for record in found.records)
    for status, count in counted.most_common():
        print_line(status, f"{count:,} of {rows.height:,} rows")


def _report(found: Explanation, row: int) -> Mapping[str, str]:
    plain, rounding, _ = found.status.partition(" up to rounding")
    report = {
        "row": str(row),
        "prediction": str(found.prediction),
        "rule" if found.kind == "abductive" else "change": found.rule(),
        "features": f"{len(found.features)} of {len(found.model.feature_names)}",
        "status": f"{found.status}: {MEANING[plain]}" + (", where rounding is given the doubt" if rounding else ""),
    }
    if found.ranges:
        report["ranges"] = found.ranges
    if found.distance == found.distance:
        report["distance"] = f"{found.distance:.6g}, at least {found.lower_bound:.6g}"
    return {**report, "effort": f"{found.calls:,} questions to engine {found.engine}, {found.seconds:.2f} s"}


def _label(text: str, labels: Sequence[Any]) -> Any:
    for label in labels:
        if str(label) == text:
            return label
    raise DataError(f"--target {text!r} is no class of the model: expected one of {', '.join(map(str, labels))}")
