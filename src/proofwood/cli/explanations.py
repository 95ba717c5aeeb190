"""The explanations of ``proofwood explain``, printed as text or written as JSON lines."""

# Imports inside functions are of modules that load numpy, so that --help starts at once.

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from proofwood.cli.answers import (
    BOOLEAN,
    CELL,
    INTEGER,
    LABEL,
    NUMBER,
    TEXT,
    choice,
    described,
    listing,
    mapping,
    nullable,
    plain,
    print_answer,
    record,
    register,
)
from proofwood.cli.corrections import label_of
from proofwood.cli.errors import NO_ANSWER, NOT_CONFIRMED
from proofwood.cli.files import writing
from proofwood.cli.labelled import predicts
from proofwood.cli.learners.option import Predicts
from proofwood.cli.pictures import save_picture
from proofwood.cli.report import print_line
from proofwood.cli.tables import rows_of
from proofwood.exceptions import CheckpointWarning, DataError
from proofwood.printable import printable

if TYPE_CHECKING:
    from proofwood.explain.explainer import Explainer
    from proofwood.explain.explanation import Explanation


class Kind(StrEnum):
    """The kinds of explanations."""

    ABDUCTIVE = "abductive"
    CONTRASTIVE = "contrastive"
    COUNTERFACTUAL = "counterfactual"
    ROBUSTNESS = "robustness"
    ENUMERATION = "enumeration"
    PATH = "path"


NEAREST = (Kind.COUNTERFACTUAL, Kind.ROBUSTNESS)
"""The kinds that search for a nearest row."""
MEANING = {
    "smallest": "no explanation has fewer features",
    "minimal": "no feature can be left out",
    "sufficient": "correct, but stopped by the time limit: some feature may be unnecessary",
    "changing": "correct, but stopped by the time limit: some feature may be unnecessary",
    "optimal": "no row of another class is nearer",
    "feasible": "a row of another class; a nearer one may exist",
    "none": "proved",
    "unknown": "stopped by the time limit before anything was proved",
}


register(
    "explain",
    "An explanation of one row, all explanations of one row, or counts for all rows.",
    {
        "kind": choice(*Kind),
        "explanation": nullable(
            record(
                {
                    "row": INTEGER,
                    "prediction": LABEL,
                    "status": TEXT,
                    "meaning": {**TEXT, "description": "the status in words"},
                    "exact": {
                        **BOOLEAN,
                        "description": "whether the explanation is true despite any rounding errors of the model",
                    },
                    "features": listing(TEXT),
                    "rule": {**TEXT, "description": "conditions or changes, and the class to which they lead"},
                    "ranges": nullable(TEXT),
                    "targets": nullable(listing(LABEL)),
                    "witness": nullable(listing(CELL), "a row of another class, in the numbers of the model"),
                    "plausible": nullable(NUMBER, "with --plausible: the least score of rows that are considered"),
                    "constraints": {**listing(TEXT), "description": "the conditions of --constraint"},
                    "reading": {**TEXT, "description": "how the row was compared with the model's own prediction"},
                    "distance": nullable(NUMBER),
                    "lower_bound": nullable(NUMBER, "proved lower bound of the number of features or of the distance"),
                    "engine": TEXT,
                    "calls": INTEGER,
                    "seconds": NUMBER,
                }
            ),
            "the explanation of one row",
        ),
        "verified": nullable(
            record(
                {
                    "confirmed": BOOLEAN,
                    "status": choice("confirmed", "refuted", "undecided", "not checked"),
                    "not_checked": {**listing(TEXT), "description": "parts of the claim that no check covers"},
                    "problems": listing(TEXT),
                    "doubts": listing(TEXT),
                }
            ),
            "result of --verify",
        ),
        "enumeration": nullable(
            record(
                {
                    "row": INTEGER,
                    "complete": {**BOOLEAN, "description": "whether these are all explanations"},
                    "exact": BOOLEAN,
                    "explanations": listing(record({"kind": TEXT, "features": listing(TEXT), "rule": TEXT})),
                }
            ),
            "result of --kind enumeration",
        ),
        "path": nullable(
            record({"row": INTEGER, "prediction": {}, "text": described(TEXT, "the tests on the way of the row")}),
            "result of --kind path",
        ),
        "rows": nullable(record({"number": INTEGER, "by_status": mapping(INTEGER), "saved": TEXT}), "result of --all"),
        "certificate": nullable(TEXT, "the file with the proof"),
        "plot": nullable(TEXT, "the file with the picture"),
    },
)
NOTHING: dict[str, Any] = {
    "explanation": None,
    "verified": None,
    "enumeration": None,
    "path": None,
    "rows": None,
    "certificate": None,
    "plot": None,
}
"""The JSON output of ``proofwood explain`` with null for each part."""


@dataclass(frozen=True, slots=True)
class Request:
    """The options of the command line that describe an explanation.

    Parameters
    ----------
    kind : kind of the explanation
    smallest : whether to find the fewest features
    inflate : whether to widen values to ranges
    target : class to reach or to exclude, as text; None for any other class
    order : features in the order in which to leave them out
    immutable : features that must not change
    constraints : conditions between columns
    """

    kind: Kind = Kind.ABDUCTIVE
    smallest: bool = False
    inflate: bool = False
    target: str | None = None
    order: Sequence[str] | None = None
    immutable: Sequence[str] = ()
    constraints: Sequence[str] = ()

    def __post_init__(self) -> None:
        no = {
            "--smallest": self.smallest and self.kind in (*NEAREST, Kind.ENUMERATION, Kind.PATH),
            "--inflate": self.inflate and self.kind is not Kind.ABDUCTIVE,
            "--feature-order": self.order is not None and self.kind in (*NEAREST, Kind.ENUMERATION, Kind.PATH),
            "--constraint": bool(self.constraints) and self.kind is not Kind.COUNTERFACTUAL,
            "--immutable": bool(self.immutable) and self.kind in (Kind.ABDUCTIVE, Kind.ENUMERATION, Kind.PATH),
            "--target": self.target is not None and self.kind is Kind.PATH,
        }
        for option, wrong in no.items():
            if wrong:
                raise DataError(f"{option} cannot be combined with --kind {self.kind}: leave it out")
        if self.smallest and self.order is not None:
            raise DataError("--smallest and --feature-order cannot be combined: pass one of them")

    def targets(self, explainer: Explainer) -> Any:
        """The target as a label of the model."""
        return (
            None
            if self.target is None
            else label_of(
                self.target, explainer.model.classes.tolist(), f"--target {self.target!r} is not a class of the model"
            )
        )

    def options(self, explainer: Explainer) -> dict[str, Any]:
        """The arguments for the method of the explainer; options that the user did not type are left out."""
        given = {
            "smallest": self.smallest,
            "inflate": self.inflate,
            "order": self.order,
            "immutable": tuple(self.immutable),
            "constraints": tuple(self.constraints),
            "target": self.targets(explainer),
        }
        return {
            name: value for name, value in given.items() if value is not None and value is not False and value != ()
        }

    def answer(self, explainer: Explainer, x: Any, *, certificate: bool = False) -> Explanation:
        """The explanation of one row."""
        found: Any = getattr(explainer, self.kind)(x, **self.options(explainer), certificate=certificate)
        answer: Explanation = found.nearest if self.kind is Kind.ROBUSTNESS else found
        return answer


def default_kind(model: Any, number: str | None) -> Kind:
    """The kind of an explanation if none is asked for: the path if a tree predicts numbers, and nothing says which."""
    own = hasattr(model, "schema_") and number is None
    return Kind.PATH if own and predicts(model) in (Predicts.NUMBERS, Predicts.TIMES) else Kind.ABDUCTIVE


def explain_path(model: Any, path: Path, row: int, drop: Sequence[str], sheet: str | None, *, as_json: bool) -> None:
    """Print the tests on the way of one row through a model of proofwood, which is fast and needs no proof."""
    from proofwood.data.tables import read_cells

    if not hasattr(model, "schema_"):
        raise DataError(f"--kind path is for models of proofwood, and this is a {type(model).__name__}: leave it out")
    cells = read_cells(path, sheet=sheet)
    if not 0 <= row < cells.frame.height:
        raise DataError(f"--row {row}: the table has {cells.frame.height} rows, and the first is row 0")
    rows = rows_of(model, cells, path, drop, " beside those of --drop")[row : row + 1]
    text = model.explain(rows)
    if as_json:
        shown = {"row": row, "prediction": model.predict(rows)[0], "text": text}
        print_answer("explain", **{**NOTHING, "kind": str(Kind.PATH), "path": shown})
    else:
        typer.echo(printable(text, keep="\n"))


def explain_one(
    explainer: Explainer,
    rows: Any,
    row: int,
    request: Request,
    *,
    verify: bool,
    certificate: Path | None,
    plot: Path | None = None,
    as_json: bool = False,
) -> int:
    """Print the explanation of one row.

    Returns
    -------
    int
        The exit code: not 0 if ``verify`` does not confirm the explanation, or if a limit was reached before anything
        was proved.

    Raises
    ------
    DataError
        If the row does not exist, or if no certificate can be made. In the second case the explanation is
        printed first.
    """
    from proofwood.ensembles.readers.given import row_of

    if not 0 <= row < len(rows):
        raise DataError(f"--row {row}: the table has {len(rows)} rows, and the first is row 0")
    if certificate is not None and request.kind is Kind.ENUMERATION and request.target is not None:
        raise DataError("--certificate with --kind enumeration covers all classes: leave out --target")
    x = row_of(rows, row)
    if request.kind is Kind.ENUMERATION:
        if verify:
            raise DataError("--verify checks one explanation: for an enumeration pass --certificate instead")
        return _explain_fully(explainer, x, row, request, certificate=certificate, as_json=as_json)
    found, without = _asked(explainer, x, request, certificate=certificate is not None)
    answer = {**NOTHING, "kind": str(request.kind), "explanation": _answer(found, row)}
    status = found.status.removesuffix(" up to rounding")
    if not as_json:
        for name, text in _report(found, row).items():
            print_line(name, text)
        if request.kind is Kind.ROBUSTNESS and status != "unknown":
            radius = "any distance" if status == "none" else f"{found.bounds_text[0]} ({found.metric})"
            print_line("radius", f"{radius}: every nearer row has the same class")
    code = NO_ANSWER if status == "unknown" else 0
    if verify and status != "unknown":
        answer["verified"] = _verified(found, explainer.time_limit, quiet=as_json)
        code = 0 if answer["verified"]["confirmed"] else NOT_CONFIRMED
    if plot is not None:
        save_picture(found.plot, plot)
        answer["plot"] = plot
    if certificate is not None and found.certificate is not None:
        _write_certificate(certificate, found.certificate, quiet=as_json)
        answer["certificate"] = str(certificate)
    if as_json:
        print_answer("explain", **answer)
    if certificate is not None and found.certificate is None:
        raise DataError(without)
    return code


def _asked(explainer: Explainer, x: Any, request: Request, *, certificate: bool) -> tuple[Explanation, str]:
    """The explanation of ``x``, and the reason to report if it has no certificate."""
    from proofwood.explain.proofs.certificate import NoCertificateError

    try:
        found = request.answer(explainer, x, certificate=certificate)
    except NoCertificateError as error:
        found = error.found.nearest if request.kind is Kind.ROBUSTNESS else error.found
        return found, str(error)
    return found, "no certificate: the explanation was not proved within the time limit"


def _verified(found: Explanation, seconds: float | None, *, quiet: bool) -> dict[str, Any]:
    """Verify an explanation and return the result; print it unless ``quiet``."""
    checked = found.verify(seconds=seconds)
    if not quiet:
        said = "confirmed by a second check" if checked.ok else str(checked)
        print_line("verified", said + "".join(f"; {doubt}" for doubt in checked.doubts))
    return {
        "confirmed": checked.ok,
        "status": checked.status,
        "not_checked": list(checked.not_checked),
        "problems": list(checked.problems),
        "doubts": list(checked.doubts),
    }


def _explain_fully(
    explainer: Explainer, x: Any, row: int, request: Request, *, certificate: Path | None, as_json: bool
) -> int:
    """Print all explanations of a row, each as soon as it is found. Return the exit code."""
    from proofwood.explain.proofs.certificate import NoCertificateError

    counted: Counter[str] = Counter()
    listed = []
    listing = explainer.enumerate(x, target=request.targets(explainer))
    for found in listing:
        counted[found.kind] += 1
        if as_json:
            listed.append({"kind": found.kind, "features": list(found.names), "rule": found.rule(None)})
        else:
            print_line(found.kind, found.rule())
    proof, without = None, ""
    if certificate is not None:
        try:
            proof = explainer.enumeration_certificate(x)
        except NoCertificateError as error:
            without = str(error)
    if as_json:
        enumeration = {"row": row, "complete": listing.complete, "exact": listing.exact, "explanations": listed}
    else:
        status = (
            "complete: there are no others" if listing.complete else "stopped by the time limit: there may be others"
        )
        if listing.complete and not listing.exact:
            status += ", up to rounding errors of the model"
        print_line("found", f"{counted['abductive']:,} abductive, {counted['contrastive']:,} contrastive")
        print_line("status", status)
    if certificate is not None and proof is not None:
        _write_certificate(certificate, proof, quiet=as_json)
    if as_json:
        saved = None if proof is None else str(certificate)
        answer = {**NOTHING, "kind": str(request.kind), "enumeration": enumeration, "certificate": saved}
        print_answer("explain", **answer)
    if without:
        raise DataError(without)
    return 0 if listing.complete or counted.total() else NO_ANSWER


def _write_certificate(path: Path, content: Mapping[str, Any], *, quiet: bool) -> None:
    from proofwood.explain.proofs.certificate import write_certificate

    with writing(path):
        write_certificate(path, content)
    if not quiet:
        print_line("certificate", f"{path}; check it with: proofwood verify {path}")


def explain_all(explainer: Explainer, rows: Any, request: Request, out: Path, *, as_json: bool) -> None:
    """Write one line of JSON per row, and print the number of rows of each status.

    If ``out`` is a file of an earlier call with the same options that was stopped, continue it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", CheckpointWarning)  # without the file, the call is useless
        try:
            found = explainer.explain(
                rows, kind=str(request.kind), path=out, verbose=int(sys.stderr.isatty()), **request.options(explainer)
            )
        except CheckpointWarning as error:
            raise DataError(str(error).replace("the explanations go on, and are kept in memory", "stopped")) from error
    counted = Counter(str(record["status"]) for record in found.records)
    if as_json:
        done = {"number": len(rows), "by_status": dict(counted), "saved": out}
        print_answer("explain", **{**NOTHING, "kind": str(request.kind), "rows": done})
        return
    for status, count in counted.most_common():
        print_line(status, f"{count:,} of {len(rows):,} rows")


def _answer(found: Explanation, row: int) -> dict[str, Any]:
    """One explanation as a mapping, in the schema of the JSON output of ``proofwood explain``."""
    said = found.to_dict()
    same = [
        *("prediction", "status", "exact", "rule", "ranges", "targets", "plausible", "constraints", "reading"),
        *("distance", "lower_bound", "engine", "calls"),
    ]
    return {
        "row": row,
        **{name: said[name] for name in same},
        "meaning": _meaning(found),
        "features": said["names"],
        "witness": None if found.witness is None else plain(found.witness),
        "seconds": found.seconds,
    }


def _meaning(found: Explanation) -> str:
    status, rounding, _ = found.status.partition(" up to rounding")
    return MEANING[status] + (", up to rounding errors of the model" if rounding else "")


def _report(found: Explanation, row: int) -> Mapping[str, str]:
    from proofwood.ensembles.readers.given import CHECKED

    report = {
        "row": str(row),
        "prediction": str(found.prediction),
        "rule" if found.kind == "abductive" else "change": found.rule(),
        "features": f"{len(found.features)} of {len(found.model.feature_names)}",
        "status": f"{found.status}: {_meaning(found)}",
    }
    if found.ranges:
        report["ranges"] = found.ranges
    if found.constraints:
        report["with"] = " and ".join(found.constraints)
    if found.model.plausible is not None:
        report["plausible"] = found.model.plausible.text
    if found.reading != CHECKED:
        report["reading"] = found.reading
    if found.distance == found.distance:
        least, distance = found.bounds_text
        report["distance"] = f"{distance}, at least {least}"
    return {**report, "effort": f"{found.calls:,} calls of engine {found.engine}, {found.seconds:.2f} s"}
