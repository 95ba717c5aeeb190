"""The command ``proofwood show``: a saved model as text, Graphviz or a picture."""

# Imports inside functions are of modules that load numpy, and of matplotlib, which may be absent.

from __future__ import annotations

from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import typer

from proofwood.cli.files import existing_model, require_out, writing
from proofwood.cli.report import tree_text
from proofwood.exceptions import DataError
from proofwood.files import write_whole
from proofwood.printable import printable


class Format(StrEnum):
    """How ``show`` writes a model."""

    TEXT = "text"
    DOT = "dot"
    PNG = "png"
    SVG = "svg"


def show(
    model: Annotated[Path, typer.Argument(help="Model file written by 'fit --out' or save().")],
    format: Annotated[Format, typer.Option(help="How to show it.")] = Format.TEXT,  # noqa: A002 - the option's name
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write here, not to standard output.")] = None,
) -> None:
    """Show a saved model: text with its proof, Graphviz, or a picture."""
    from proofwood.estimators.saving import load

    require_out(out, model)
    estimator = load(existing_model(model))
    if format is Format.PNG and out is None:
        raise DataError("a PNG picture needs a file: add --out tree.png")
    if format is Format.TEXT:
        content: str | bytes = printable(f"{tree_text(estimator)}\n\n{estimator.summary()}\n", keep="\n")
    elif format is Format.DOT:
        content = estimator.export_graphviz().rstrip() + "\n"
    else:
        content = _picture(estimator, format)
    if out is not None:
        with writing(out):
            write_whole(out, content.encode() if isinstance(content, str) else content)
    else:
        typer.echo(content.decode() if isinstance(content, bytes) else content, nl=False)


def _picture(estimator: Any, format: Format) -> bytes:  # noqa: A002
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise DataError("pictures need matplotlib: pip install 'proofwood[plot]'") from error
    buffer = BytesIO()
    figure = estimator.plot().get_figure()
    with mpl.rc_context({"svg.fonttype": "none"}):  # text that can be searched, copied and read aloud
        figure.savefig(buffer, format=str(format), bbox_inches="tight", dpi=150)
    plt.close(figure)
    return buffer.getvalue()
