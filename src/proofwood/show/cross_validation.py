"""The picture of a cross-validation: the mean score of each candidate over its leaves, and the chosen candidate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from proofwood.model.node_table import FloatArray
from proofwood.printable import printable
from proofwood.show.palette import class_colours, tint
from proofwood.show.plot import GREY, INK, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_scores(
    leaves: FloatArray,
    scores: FloatArray,
    series: Sequence[str],
    *,
    chosen: int,
    top: int,
    score: str,
    ax: Axes | None = None,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
) -> Axes:
    """Draw mean scores and their standard errors over the number of leaves.

    Parameters
    ----------
    leaves : (n_candidates,) mean number of leaves
    scores : (n_candidates, n_folds) scores
    series : (n_candidates,) names; candidates with the same name have the same colour and are joined by a line
    chosen, top : indices of the chosen candidate, and of the one with the greatest mean
    score : name of the score
    ax, figsize : as in :func:`axes_for`
    title : line above the picture
    """
    ax = axes_for(ax, figsize, (6.5, 3.6))
    n_folds = scores.shape[1]
    means = scores.mean(axis=1)
    errors = scores.std(axis=1, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else np.zeros_like(means)
    if n_folds > 1:
        near = "within one standard error"
        ax.axhspan(means[top] - errors[top], means[top], color=tint(GREY, 0.2), linewidth=0, label=near)
    names = list(dict.fromkeys(series))
    for name, colour in zip(names, class_colours(len(names)), strict=True):
        members = np.array([k for k, other in enumerate(series) if other == name])
        members = members[np.lexsort((means[members], leaves[members]))]
        ax.errorbar(
            leaves[members],
            means[members],
            errors[members],
            color=colour,
            marker="o",
            markersize=4,
            linewidth=1.4,
            elinewidth=0.9,
            capsize=2,
            label=printable(name),
        )
    ax.plot(
        leaves[chosen], means[chosen], "o", markersize=12, markerfacecolor="none", color=INK, label="chosen", zorder=5
    )
    ax.set_xlabel("leaves (mean of the folds)")
    ax.set_ylabel(printable(score), parse_math=False)
    if title is not None:
        ax.set_title(printable(title), parse_math=False)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.legend(frameon=False, fontsize="small")
    return ax
