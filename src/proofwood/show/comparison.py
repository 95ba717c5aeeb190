"""The picture of a comparison: the score of each model with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from proofwood.printable import printable
from proofwood.show.palette import class_colours
from proofwood.show.plot import GREY, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_intervals(
    names: Sequence[str],
    intervals: Sequence[tuple[float, float, float]],
    *,
    notes: Sequence[str],
    marked: Sequence[bool],
    score: str,
    ax: Axes | None = None,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
) -> Axes:
    """Draw one line per name, from the top: a mean, its interval and a note.

    Parameters
    ----------
    names : names of the models
    intervals : mean, low and high end for each; NaN for an unknown end
    notes : text after each interval
    marked : whether to draw each line in the colour of exact learners
    score : name of the score
    ax, figsize : as in :func:`axes_for`
    title : line above the picture
    """
    ax = axes_for(ax, figsize, (7.0, 0.9 + 0.36 * len(names)))
    blue, orange = class_colours(2)
    seen: set[bool] = set()
    for place, ((mean, low, high), note, proved) in enumerate(zip(intervals, notes, marked, strict=True)):
        label = None if proved in seen else ("exact learner" if proved else "other learner")
        seen.add(proved)
        known = not math.isnan(low)
        ax.errorbar(
            [mean],
            [place],
            xerr=[[mean - low], [high - mean]] if known else None,
            color=blue if proved else orange,
            marker="o" if proved else "s",
            markersize=5.5,
            linewidth=0,
            elinewidth=1.6,
            capsize=3,
            label=label,
        )
        ax.annotate(
            note,
            (high if known else mean, place),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
            color=GREY,
        )
    ax.set_yticks(range(len(names)), [printable(name) for name in names], parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.margins(x=0.2)
    ax.set_xlabel(printable(score), parse_math=False)
    ax.grid(axis="x", color=GREY, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    if title is not None:
        ax.set_title(printable(title), parse_math=False)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    if len(seen) > 1:
        ax.legend(frameon=False, fontsize="small", loc="best")
    return ax
