"""What ``proofwood verify`` prints: one line per check of each certificate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from proofwood.explain.proofs.recheck import RealModel, check_certificate
from proofwood.printable import printable
from proofwood.solvers.proof import CertificateError


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
