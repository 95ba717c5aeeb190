"""The picture of a front by leaves: errors on training rows, their bound, and errors on held-out rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from proofwood.language import gettext
from proofwood.model.node_table import FloatArray
from proofwood.show.palette import class_colours
from proofwood.show.plot import INK, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_front(
    errors: FloatArray,
    bounds: FloatArray,
    held_out: FloatArray | None,
    *,
    chosen: int | None,
    ax: Axes | None = None,
    figsize: tuple[float, float] | None = None,
    title: str = "",
    errors_in_words: str,
    folds_in_words: str | None = None,
) -> Axes:
    """Draw shares of wrong rows, or of another cost, over numbers of leaves, from one.

    Parameters
    ----------
    errors, bounds : (n,) shares of wrong training rows, and their lower bounds
    held_out : (n, n_folds) shares of wrong held-out rows, or None
    chosen : index of the number of leaves to mark, or None
    ax, figsize : as in :func:`axes_for`
    title : line above the picture
    errors_in_words : what they are shares of, beside the axis
    folds_in_words : what ``held_out`` are shares of, beside an axis of their own; None if they are of the same kind
    """
    ax = axes_for(ax, figsize, (6.5, 3.6))
    leaves = np.arange(1, errors.size + 1)
    of_training, of_folds = class_colours(2)
    ax.plot(leaves, errors, marker="o", markersize=4, linewidth=1.4, color=of_training, label=gettext("training rows"))
    if np.any(bounds < errors):
        ax.fill_between(leaves, bounds, errors, color=of_training, alpha=0.2, linewidth=0, label=gettext("not decided"))
    right = ax
    if held_out is not None:
        means, n_folds = held_out.mean(axis=1), held_out.shape[1]
        spread = held_out.std(axis=1, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else np.zeros_like(means)
        if folds_in_words is not None:
            right = ax.twinx()
            right.set_ylabel(folds_in_words, color=of_folds)
            ax.yaxis.label.set_color(of_training)
        right.errorbar(
            leaves,
            means,
            spread,
            color=of_folds,
            marker="s",
            markersize=4,
            linewidth=1.4,
            elinewidth=0.9,
            capsize=2,
            label=gettext("held-out rows"),
        )
        if chosen is not None:
            at = (leaves[chosen], means[chosen])
            right.plot(*at, "o", markersize=12, markerfacecolor="none", color=INK, zorder=5, label=gettext("chosen"))
    ax.set_xticks(leaves)
    for one in (ax, right):
        one.set_ylim(0, 1.06 * one.dataLim.y1 or None)
        one.spines["top"].set_visible(False)
        one.spines["right"].set_visible(right is not ax)
    ax.set_xlabel(gettext("leaves, at most"))
    ax.set_ylabel(errors_in_words)
    ax.set_title(title, fontsize="medium", loc="left", parse_math=False)
    if right is ax:
        ax.legend(frameon=False, fontsize="small")
        return ax
    (drawn, told), (more, of_more) = ax.get_legend_handles_labels(), right.get_legend_handles_labels()
    below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": 5, "ncols": 4}
    # Below the picture, for "best" sees the lines of one axis only.
    ax.legend(drawn + more, told + of_more, frameon=False, fontsize="small", **below)
    return ax
