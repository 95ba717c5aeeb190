"""The command ``proofwood verify``: one line per check of each certificate."""

# Imports inside functions are of modules that load numpy, so that --help starts at once.

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proofwood.cli.errors import NOT_CONFIRMED
from proofwood.cli.foreign import convert, load_model
from proofwood.cli.options import Integers, TrustPickle, Vote, Votes
from proofwood.printable import printable

if TYPE_CHECKING:
    from proofwood.explain.proofs.recheck import RealModel


def verify(
    files: Annotated[list[Path], typer.Argument(help="Certificates that 'explain --certificate' wrote.")],
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Compare with this model, too; else only the file is checked.")
    ] = None,
    integer: Integers = [],  # noqa: B006 - typer copies it
    vote: Votes = Vote.AUTO,
    trust_pickle: TrustPickle = False,
) -> None:
    """Check certificates of explanations, without the search that found them.

    Exit code 1 if a check fails. Give --vote and --integer as for 'explain'.
    """
    converted = None
    if model is not None:
        fitted = load_model(model, trust_pickle=trust_pickle)
        converted = convert(fitted, vote=str(vote), integer=integer)
    if not verify_files(files, converted):
        raise typer.Exit(NOT_CONFIRMED)


def verify_files(paths: Sequence[Path], model: RealModel | None = None) -> bool:
    """Check certificates and print what was found.

    Parameters
    ----------
    paths : JSON files
    model : the model that was explained, in its vote; None to check the files alone

    Returns
    -------
    bool
        Whether every check of every file passed.

    Raises
    ------
    OSError
        If a file cannot be read.
    """
    return all([_verify_file(path, model) for path in paths])  # noqa: C419 - a file that fails does not hide the next


def _verify_file(path: Path, model: RealModel | None) -> bool:
    from proofwood.explain.proofs.recheck import check_certificate
    from proofwood.solvers.proof import CertificateError

    try:
        checks = check_certificate(path, model)
    except CertificateError as error:
        typer.echo(printable(f"{path}: FAILED   {error}"))
        return False
    for check in checks:
        typer.echo(printable(f"{path}: {'passed' if check.passed else 'FAILED'}   {check.name}: {check.detail}"))
    passed = all(check.passed for check in checks)
    if not passed:
        typer.echo(f"{path}: NOT proved")
    elif model is None:
        typer.echo(f"{path}: proved for the trees in the file; --model compares them with a model")
    else:
        typer.echo(f"{path}: proved for the model")
    return passed
