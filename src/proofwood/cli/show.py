"""The command ``proofwood show``: show a saved model as text, Graphviz or a picture."""

# Imports inside functions are of modules that load numpy, so that --help starts at once.

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from proofwood.cli.answers import (
    MODEL,
    PROOF,
    TEXT,
    AsJson,
    model_answer,
    nullable,
    print_answer,
    proof_answer,
    register,
)
from proofwood.cli.corrections import one_of
from proofwood.cli.files import require_out, saved_model, write_out
from proofwood.cli.options import ModelFile
from proofwood.cli.pictures import drawn
from proofwood.cli.report import tree_text
from proofwood.exceptions import DataError
from proofwood.printable import printable

EXAMPLES = """
proofwood data iris --out iris.csv
proofwood fit iris.csv --target species --max-depth 2 --out tree.json
proofwood show tree.json
proofwood show tree.json --out tree.pdf
proofwood show tree.json --format dot
"""


class Format(StrEnum):
    """The formats of ``show``."""

    TEXT = "text"
    DOT = "dot"
    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


ENDINGS = {
    ".txt": Format.TEXT,
    ".dot": Format.DOT,
    ".gv": Format.DOT,
    ".png": Format.PNG,
    ".svg": Format.SVG,
    ".pdf": Format.PDF,
}
BINARY = (Format.PNG, Format.PDF)

register(
    "show",
    "A saved model and its proof.",
    {"model": MODEL, "proof": PROOF, "saved": nullable(TEXT, "the file with the text or picture")},
)


def show(
    model: ModelFile,
    format: Annotated[  # noqa: A002 - the option's name
        Format | None, typer.Option(help="Format; by default that of the extension of --out, or text.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"Write here ({', '.join(ENDINGS)}), not to standard output.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a saved model: text with its proof, Graphviz, or a picture."""
    require_out(out, model)
    kind = format or _by_ending(out)
    if as_json and out is None and format is not None:
        raise DataError("--json and --format both write to standard output: add --out FILE, or leave out one of them")
    estimator = saved_model(model)
    if kind in BINARY and out is None:
        raise DataError(f"a {kind.upper()} picture needs a file: add --out tree.{kind}")
    if out is not None or not as_json:
        if kind is Format.TEXT:
            content = printable(f"{tree_text(estimator)}\n\n{estimator.summary()}\n", keep="\n").encode()
        elif kind is Format.DOT:
            content = (estimator.export_graphviz().rstrip() + "\n").encode()
        else:
            content = drawn(estimator.plot, str(kind))
        if out is None:
            typer.echo(content.decode(), nl=False)
        else:
            write_out(out, content)
    if as_json:
        print_answer("show", model=model_answer(estimator), proof=proof_answer(estimator), saved=out)


def _by_ending(out: Path | None) -> Format:
    """The format that fits the extension of ``out``; text if there is no file, or a file without an extension."""
    if out is None or not out.suffix:
        return Format.TEXT
    ending = out.suffix.lower()
    return ENDINGS[one_of(ending, ENDINGS, f"{out}: the extension {ending} is unknown, and --format is not given")]
