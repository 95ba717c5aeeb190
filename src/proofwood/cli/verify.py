"""The command ``proofwood verify``: check certificates, and print one line per check."""

# Imports inside functions are of modules that load numpy, so that --help starts at once.

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proofwood.cli.answers import BOOLEAN, TEXT, AsJson, listing, nullable, print_answer, record, register
from proofwood.cli.colours import FAILED, PASSED, painted
from proofwood.cli.errors import NOT_CONFIRMED
from proofwood.cli.foreign import convert, load_model, reading
from proofwood.cli.options import (
    Confidence,
    Integers,
    Knowledge,
    Number,
    Output,
    TrustPickle,
    Vote,
    Votes,
    number_asked,
)
from proofwood.cli.tables import read_rows
from proofwood.exceptions import DataError
from proofwood.printable import printable

if TYPE_CHECKING:
    from proofwood.ensembles.explained import Explained

EXAMPLES = """
proofwood data iris --out iris.csv
proofwood fit iris.csv --target species --max-depth 2 --out tree.json
proofwood explain tree.json iris.csv --row 70 --certificate why.json
proofwood verify why.json --model tree.json
"""

register(
    "verify",
    "The results of the checks of certificates.",
    {
        "confirmed": BOOLEAN,
        "files": listing(
            record(
                {
                    "file": TEXT,
                    "proved": BOOLEAN,
                    "of_model": {**BOOLEAN, "description": "whether the certificate was compared with a model"},
                    "error": nullable(TEXT, "the reason, if the file is not a certificate"),
                    "checks": listing(
                        record(
                            {
                                "name": TEXT,
                                "passed": BOOLEAN,
                                "detail": TEXT,
                                "open": {
                                    **BOOLEAN,
                                    "description": "whether the check depends on the rounding of the model",
                                },
                            }
                        )
                    ),
                }
            )
        ),
    },
)


def verify(
    files: Annotated[list[Path], typer.Argument(help="Certificates from 'explain --certificate'.")],
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Compare the certificate with this model; else only the file is checked."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE",
            help="With --model: the table of the 'explain' call; CatBoost models with categories need it.",
        ),
    ] = None,
    number: Number = None,
    confidence: Confidence = None,
    output: Output = None,
    knowledge: Knowledge = [],  # noqa: B006 - typer copies it
    integer: Integers = [],  # noqa: B006
    vote: Votes = Vote.AUTO,
    trust_pickle: TrustPickle = False,
    as_json: AsJson = False,
) -> None:
    """Check certificates of explanations, without any search.

    Exit code 1 if a check fails, or if a check depends on rounding and --model is not given. With --model, pass the
    same options as to 'explain': --number, --confidence, --output, --knowledge, --vote and --integer; and --data for a
    CatBoost model with categories.
    """
    converted = None
    if model is not None:
        fitted = load_model(model, trust_pickle=trust_pickle)
        asked: dict[str, Any] = {"vote": str(vote), "confidence": confidence, "output": output}
        if data is not None:
            rows = read_rows(
                data, fitted, [], None, lambda model, names, X: reading(model, feature_names=names, X=X, **asked)
            )
            asked |= {"adapted": rows.adapted, "feature_names": rows.names}
        converted = convert(fitted, target=number_asked(number), knowledge=knowledge, integer=integer, **asked)
    elif data is not None:
        raise DataError("--data needs --model FILE: add it, or leave out --data")
    found = [_checked(path, converted) for path in files]  # a file that fails does not hide the next
    confirmed = all(one["proved"] for one in found)
    if as_json:
        print_answer("verify", confirmed=confirmed, files=found)
    else:
        for one in found:
            _print(one)
    if not confirmed:
        raise typer.Exit(NOT_CONFIRMED)


def _checked(path: Path, model: Explained | None) -> dict[str, Any]:
    """Check one certificate, against ``model`` if given, and return the result for the JSON output."""
    from proofwood.certificates.drup import CertificateError
    from proofwood.explain.proofs.certificate import check_certificate

    head = {"file": str(path), "of_model": model is not None}
    try:
        checks = check_certificate(path, model)
    except CertificateError as error:
        return {**head, "proved": False, "error": str(error), "checks": []}
    listed = [
        {"name": check.name, "passed": bool(check.passed), "detail": check.detail, "open": bool(check.open)}
        for check in checks
    ]
    proved = all(check.passed and (model is not None or not check.open) for check in checks)
    return {**head, "proved": proved, "error": None, "checks": listed}


def _print(found: Mapping[str, Any]) -> None:
    """Print a line for each check of a file, and a line with the overall result."""
    path = printable(found["file"])
    if found["error"] is not None:
        typer.echo(f"{path}: {painted('FAILED', FAILED)}   {printable(found['error'])}")
        return
    for check in found["checks"]:
        mark = painted("passed", PASSED) if check["passed"] else painted("FAILED", FAILED)
        typer.echo(f"{path}: {mark}   {printable(check['name'])}: {printable(check['detail'])}")
    if not found["proved"]:
        passed = all(check["passed"] for check in found["checks"])
        open_ = "; a check depends on the rounding of the model: add --model FILE" if passed else ""
        typer.echo(f"{path}: {painted('NOT proved', FAILED, bold=True)}{open_}")
    elif found["of_model"]:
        typer.echo(f"{path}: {painted('proved', PASSED, bold=True)} for the model")
    else:
        said = painted("proved", PASSED, bold=True)
        typer.echo(f"{path}: {said} for the trees in the file; add --model FILE to compare them with a model")
