"""A picture of one explanation with matplotlib: a line per feature, a dot for the row, a bar for permitted values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from proofwood.data.kinds import Kind
from proofwood.ensembles.outline import Space
from proofwood.explain.rule import Condition, value_text
from proofwood.model.node_table import FloatArray
from proofwood.printable import printable
from proofwood.show.palette import Palette, class_colours, tint
from proofwood.show.plot import GREY, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Drawable(Protocol):
    """The parts of an explanation that are drawn; the attributes are those of :class:`proofwood.Explanation`."""

    @property
    def kind(self) -> str:
        """Kind of the explanation: abductive, contrastive or counterfactual."""

    @property
    def status(self) -> str:
        """Status of the explanation: what is proved."""

    @property
    def model(self) -> Space:
        """The explained model."""

    @property
    def features(self) -> Sequence[int]:
        """Indices of the features of the explanation, each drawn as a line."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the features."""

    @property
    def conditions(self) -> Sequence[Condition]:
        """The conditions of an abductive explanation on its features."""

    @property
    def row(self) -> FloatArray:
        """(n_inputs,) the explained row."""

    @property
    def filled(self) -> Sequence[int]:
        """Inputs in which the row lacks a value that a step of a pipeline fills in."""

    @property
    def label(self) -> int:
        """Code of the row's class."""

    @property
    def prediction(self) -> Any:
        """The row's class."""

    @property
    def witness(self) -> FloatArray | None:
        """(n_inputs,) a row of another class; None if there is none."""

    @property
    def witness_label(self) -> int:
        """Code of the class of :attr:`witness`."""


NARROW = 0.25
"""Share of the width. A bar that is narrower gets one text for both of its ends."""


def plot_explanation(
    explanation: Drawable,
    ax: Axes | None = None,
    *,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
    palette: Palette | None = None,
) -> Axes:
    """Draw an explanation.

    Each line is scaled to the range of the model's thresholds in its column. For an abductive explanation, a bar shows
    the permitted numbers; for other kinds, an arrow shows the change. Categories are written as text.

    Parameters
    ----------
    explanation : the explanation to draw
    ax, figsize : as in :func:`axes_for`
    title : line above the picture; by default the class and what is proved
    palette : as in :func:`proofwood.show.palette.class_colours`
    """
    n = len(explanation.features)
    ax = axes_for(ax, figsize, (6.0, 0.9 + 0.6 * max(1, n)))
    model = explanation.model
    colours = class_colours(len(model.classes), palette, list(model.classes))
    own = colours[explanation.label]
    witness = explanation.witness
    for line, feature in enumerate(explanation.features):
        columns = model.scores.features[feature]
        grid = model.grid.columns[columns[0]] if len(columns) == 1 else None
        now = value_text(model, explanation.row, feature, filled=explanation.filled)
        ax.plot([0, 1], [line, line], color="0.85", linewidth=1, zorder=1)
        named = grid is not None and model.inputs[grid.column].shown_as is Kind.BOOLEAN  # truth values are not a range
        if grid is None or named or grid.role != "value" or grid.thresholds.size == 0:
            if explanation.kind != "abductive" and witness is not None:
                now = f"{now} → {value_text(model, witness, feature)}"
            ax.text(0.5, line, printable(now), ha="center", va="bottom", parse_math=False)
            _permitted(ax, line, explanation, feature)
            continue
        low, high = float(grid.thresholds[0]), float(grid.thresholds[-1])
        spread = (high - low) or max(1.0, abs(low))
        start, end = low - 0.1 * spread, high + 0.1 * spread

        def place(value: float, start: float = start, end: float = end) -> float:
            return min(1.0, max(0.0, (value - start) / (end - start)))

        value = float(explanation.row[grid.column])
        for condition in explanation.conditions:
            if condition.feature == feature:
                _bar(ax, line, condition, place, tint(own, 0.6))
        if math.isfinite(value):
            ax.plot([place(value)], [line], "o", color=own, zorder=4)
        if explanation.kind != "abductive" and witness is not None and math.isfinite(value):
            then = float(witness[grid.column])
            if math.isfinite(then):
                reached = colours[explanation.witness_label]
                ax.annotate("", (place(then), line), (place(value), line), arrowprops={"arrowstyle": "->"}, zorder=3)
                ax.plot([place(then)], [line], "D", color=reached, zorder=4)
            now = f"{now} → {value_text(model, witness, feature)}"
        ax.text(
            place(value) if math.isfinite(value) else 0.5,
            line + 0.12,
            printable(now),
            ha="center",
            va="bottom",
            parse_math=False,
        )
    ax.set_yticks(range(n), [printable(name) for name in explanation.names], parse_math=False)
    ax.set_ylim(-0.6, max(1, n) - 0.1)
    ax.set_xlim(-0.05, 1.05)
    ax.set_xticks([])
    for side in ("top", "right", "bottom", "left"):
        ax.spines[side].set_visible(False)
    words = _heading(explanation) if title is None else title
    ax.set_title(printable(words), parse_math=False)
    return ax


def _bar(ax: Axes, line: int, condition: Condition, place: Callable[[float], float], colour: Any) -> None:
    """Draw the interval that a condition permits for a numeric column, with the numbers at its ends."""
    left = place(condition.low) if math.isfinite(condition.low) else 0.0
    right = place(condition.high) if math.isfinite(condition.high) else 1.0
    ax.plot([left, right], [line, line], color=colour, linewidth=8, zorder=2, solid_capstyle="butt")
    told = [(at, end) for at, end in zip((left, right), condition.ends(), strict=True) if end is not None]
    if len(told) == 2 and right - left < NARROW:  # two numbers would cover each other
        told = [((left + right) / 2, " to ".join(dict.fromkeys(end for _, end in told)))]
    for at, end in told:
        _number(ax, at, line, end)


def _permitted(ax: Axes, line: int, explanation: Drawable, feature: int) -> None:
    """Write the permitted categories of a feature, if there are several."""
    for condition in explanation.conditions:
        if condition.feature == feature and condition.values is not None and len(condition.values) > 1:
            _number(ax, 0.5, line, printable("one of " + ", ".join(condition.values)))


def _heading(explanation: Drawable) -> str:
    """Title of the picture: the class, the class that a change reaches, and what is proved."""
    reached = ""
    if explanation.kind != "abductive" and explanation.witness is not None:
        reached = f" → {explanation.model.classes[explanation.witness_label]}"
    return f"{explanation.prediction}{reached}: {explanation.kind}, {explanation.status}"


def _number(ax: Axes, x: float, line: int, text: str) -> None:
    """Write a number below the end of a bar."""
    ax.text(x, line - 0.14, text, ha="center", va="top", fontsize="small", color=GREY, parse_math=False)
