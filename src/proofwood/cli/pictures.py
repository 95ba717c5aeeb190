"""Pictures that commands write, in the format of the file name extension."""

# Imports inside functions are of matplotlib, which may be absent.

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import typer

from proofwood.cli.corrections import meant
from proofwood.cli.files import write_out
from proofwood.exceptions import DataError

FORMATS = ("png", "svg", "pdf")
_DPI = 150, 72
"""Pixels per inch of a PNG, and the least for large pictures."""

Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw a picture into this file (.png, .svg or .pdf).")
]


def require_picture(path: Path | None) -> None:
    """Raise DataError if the format of the picture is unknown or matplotlib is missing; called before the work."""
    if path is not None:
        format_of(path)
        require_matplotlib()


def require_matplotlib() -> None:
    """Raise DataError if matplotlib is missing. Otherwise set matplotlib to draw without a display."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise DataError("pictures need matplotlib: pip install 'proofwood[plot]'") from error
    mpl.use("Agg")


def format_of(path: Path) -> str:
    """The format of a picture by its file name extension. Raise DataError if the extension is unknown."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise DataError(
            f"{path}: the extension of a picture sets its format: expected .{', .'.join(FORMATS)}"
            + meant(f".{ending}", [f".{name}" for name in FORMATS], "; ")
        )
    return ending


def drawn(draw: Callable[[], Any], kind: str) -> bytes:
    """The picture on the axes that ``draw`` returns, as bytes in the format ``kind``."""
    require_matplotlib()
    import matplotlib.pyplot as plt

    from proofwood.show.plot import most_dpi, write_figure

    buffer = BytesIO()
    figure = draw().get_figure()
    write_figure(figure, buffer, kind, min(_DPI[0], max(_DPI[1], most_dpi(figure))), bbox_inches="tight")
    plt.close(figure)
    return buffer.getvalue()


def save_picture(draw: Callable[[], Any], path: Path) -> None:
    """Write the picture on the axes that ``draw`` returns, in the format of the file name extension."""
    write_out(path, drawn(draw, format_of(path)))
