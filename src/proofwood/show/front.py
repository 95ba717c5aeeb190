"""The picture of a front by leaves: errors on training rows, their bound, and errors on held-out rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    """
    ax = axes_for(ax, figsize, (6.5, 3.6))
    leaves = np.arange(1, errors.size + 1)
    of_training, of_folds = class_colours(2)
    ax.plot(leaves, errors, marker="o", markersize=4, linewidth=1.4, color=of_training, label=gettext("training rows"))
    if np.any(bounds < errors):
        ax.fill_between(leaves, bounds, errors, color=of_training, alpha=0.2, linewidth=0, label=gettext("not decided"))
    if held_out is not None:
        means, n_folds = held_out.mean(axis=1), held_out.shape[1]
        spread = held_out.std(axis=1, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else np.zeros_like(means)
        ax.errorbar(
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
            ax.plot(*at, "o", markersize=12, markerfacecolor="none", color=INK, zorder=5, label=gettext("chosen"))
    ax.set_xticks(leaves)
    ax.set_ylim(bottom=0)
    ax.set_xlabel(gettext("leaves, at most"))
    ax.set_ylabel(errors_in_words)
    ax.set_title(title, fontsize="medium", loc="left", parse_math=False)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.legend(frameon=False, fontsize="small")
    return ax
