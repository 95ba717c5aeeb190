"""The picture of a near-optimal set: trees of each cost, and how many of them test each column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from proofwood.language import gettext, number
from proofwood.printable import cut, printable
from proofwood.result import figure
from proofwood.show.palette import tint
from proofwood.show.plot import GREY, INK, axes_for

MOST_COLUMNS = 12
"""The most columns of a picture: those that most trees test."""
MOST_COSTS = 24
"""The most costs that have a bar each; more are joined."""
_BLUE = (0.0, 0.36, 0.58)
_WIDEST = 24  # characters of a name
_TEXT = 36  # characters below the bars


def drawn(near: Any, ax: Any) -> Any:
    """Draw a :class:`proofwood.NearOptimalTrees` on a pair of axes; None makes a new figure."""
    if ax is None:
        left = axes_for(None, (8.0, 3.4), (8.0, 3.4))
        low = 0.17 if len(near.counts) <= MOST_COSTS else 0.22  # ranges take two lines
        left.set_position((0.09, low, 0.36, 0.9 - low))
        ax = left, left.figure.add_axes((0.68, low, 0.28, 0.9 - low))
    costs, columns = ax
    _draw_counts(costs, joined(near.counts), near)
    _draw_columns(columns, near.importance(), near)
    for one in ax:
        for side in ("top", "right"):
            one.spines[side].set_visible(False)
    return costs, columns


def joined(counts: Mapping[float, int], most: int = MOST_COSTS) -> list[tuple[str, int]]:
    """Numbers of trees of each cost, as text; of ranges of neighbouring costs if there are more than ``most``."""
    each = max(1, math.ceil(len(counts) / most))
    items = list(counts.items())
    parts = [items[start : start + each] for start in range(0, len(items), each)]
    return [(_range(part[0][0], part[-1][0]), sum(trees for _, trees in part)) for part in parts]


def _range(least: float, greatest: float) -> str:
    low, high = number(figure(least)), number(figure(greatest))
    return low if low == high else gettext("%(low)s to %(high)s", low=low, high=high)


def _draw_counts(ax: Any, counts: Sequence[tuple[str, int]], near: Any) -> None:
    places = range(len(counts))
    heights = [float(trees) for _, trees in counts]
    ax.bar(places, heights, width=0.8, color=tint(_BLUE, 0.75))
    ax.set_yscale("log")
    ax.set_ylim(0.5, 4 * max(heights, default=1.0))
    if len(heights) <= 10:
        for place, height in zip(places, heights, strict=True):
            ax.annotate(_short(height), (place, height), ha="center", va="bottom", fontsize="x-small", color=INK)
    ax.yaxis.set_major_formatter(lambda trees, _: _power(trees) if trees >= 1 else "")
    ax.yaxis.set_minor_formatter("")
    texts = [cost.replace(" ", "\n", 1) for cost, _ in counts]  # a range takes two lines
    longest = max((len(line) for text in texts for line in text.splitlines()), default=0)
    step = max(1, math.ceil(len(texts) * (longest + 1) / _TEXT))
    ax.set_xticks(list(places)[::step], texts[::step])
    ax.set_xlabel(near.optimum.result_.unit, parse_math=False)
    ax.set_ylabel(gettext("trees"))
    tests = gettext(" for these tests") if near.scope else ""
    ax.set_title(f"{near.count_in_words()}{tests}", fontsize="medium", loc="left")


def _draw_columns(ax: Any, shares: Mapping[Any, float], near: Any) -> None:
    shown = list(shares.items())[:MOST_COLUMNS][::-1]
    ax.barh(range(len(shown)), [share for _, share in shown], color=tint(GREY, 0.5))
    ax.set_yticks(range(len(shown)), [cut(printable(str(name)), _WIDEST) for name, _ in shown], parse_math=False)
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
    whole, part = gettext("share of the trees that test it"), gettext("share of the counted trees that test it")
    ax.set_xlabel(whole if near.exact else part)


def _power(trees: float) -> str:
    """A power of ten at the axis."""
    return f"{trees:.0f}" if trees < 1000 else f"$10^{{{round(math.log10(trees))}}}$"


def _short(height: float) -> str:
    """A number of trees in a few characters."""
    if height < 10_000:
        return number(f"{height:,.0f}")
    power = int(math.log10(height))
    return f"{number(f'{height / 10**power:.1f}')}e{power}"
