"""A picture of rules with matplotlib: one bar per rule; its length is the share of the table's rows that it covers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from proofwood.printable import printable
from proofwood.show.palette import Palette, class_colours, tint
from proofwood.show.plot import axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST = 80
"""Most characters of a rule in the picture; longer texts are cut."""


def plot_rules(
    rules: Sequence[tuple[int, int, int, str]],
    classes: Sequence[Any],
    n_rows: int,
    ax: Axes | None = None,
    *,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
    palette: Palette | None = None,
) -> Axes:
    """Draw rules.

    Parameters
    ----------
    rules : for each rule its class code, the number of rows that meet it, the number of those that are new, its text
    classes : labels of the classes
    n_rows : number of rows of the table
    ax, figsize : as in :func:`axes_for`
    title : line above the picture
    palette : as in :func:`proofwood.show.palette.class_colours`
    """
    ax = axes_for(ax, figsize, (8.0, 1.0 + 0.6 * max(1, len(rules))))
    colours = class_colours(len(classes), palette, classes)
    for line, (label, n, new, text) in enumerate(rules):
        ax.barh(line, new / n_rows, height=0.4, color=tint(colours[label], 0.8))
        ax.barh(line, (n - new) / n_rows, left=new / n_rows, height=0.4, color=tint(colours[label], 0.3))
        told = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
        ax.text(0, line - 0.25, printable(told), ha="left", va="bottom", fontsize="small", parse_math=False)
    ax.set_yticks(range(len(rules)), [str(line + 1) for line in range(len(rules))])
    ax.set_ylim(max(1, len(rules)) - 0.4, -0.8)
    ax.set_xlabel("share of the rows; pale: rows that a rule above covers, too")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if title is not None:
        ax.set_title(printable(title), parse_math=False)
    return ax
