"""Pictures that commands write: the ending of the file says the format."""

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
"""Pixels per inch of a PNG, and how few they may be where a picture is large."""

Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw a picture into this file (.png, .svg or .pdf).")
]


def require_picture(path: Path | None) -> None:
    """Refuse, before the work begins, a picture that could not be made in the end."""
    if path is not None:
        format_of(path)
        require_matplotlib()


def require_matplotlib() -> None:
    """DataError with the install command, unless matplotlib is there; it draws without a display from now on."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise DataError("pictures need matplotlib: pip install 'proofwood[plot]'") from error
    mpl.use("Agg")


def format_of(path: Path) -> str:
    """Format of a picture by the ending of its file; DataError if it is none."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise DataError(
            f"{path}: the ending of a picture says its format: expected .{', .'.join(FORMATS)}"
            + meant(f".{ending}", [f".{name}" for name in FORMATS], "; ")
        )
    return ending


def drawn(draw: Callable[[], Any], kind: str) -> bytes:
    """The picture whose axes ``draw`` makes, in a format."""
    require_matplotlib()
    import matplotlib.pyplot as plt

    from proofwood.show.plot import most_dpi, write_figure

    buffer = BytesIO()
    figure = draw().get_figure()
    write_figure(figure, buffer, kind, min(_DPI[0], max(_DPI[1], most_dpi(figure))), bbox_inches="tight")
    plt.close(figure)
    return buffer.getvalue()


def save_picture(draw: Callable[[], Any], path: Path) -> None:
    """Write the picture whose axes ``draw`` makes, in the format of the ending."""
    write_out(path, drawn(draw, format_of(path)))
