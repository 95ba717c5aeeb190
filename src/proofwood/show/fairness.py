"""The picture of errors against differences of rates: trees that were found, and where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proofwood.language import gettext
from proofwood.model.node_table import FloatArray
from proofwood.show.palette import class_colours
from proofwood.show.plot import GREY, INK, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_differences(
    asked: FloatArray,
    found: FloatArray,
    bounds: FloatArray,
    *,
    unit: str,
    ax: Axes | None = None,
    figsize: tuple[float, float] | None = None,
    title: str = "",
) -> Axes:
    """Draw the differences of rates of trees over what the trees cost, and shade where there is no tree.

    Parameters
    ----------
    asked : (n, 2) cost and difference of the trees that were asked
    found : (n, 2) the same of the trees that were found
    bounds : (n, 2) what trees were permitted to cost, and the least difference that all of these have
    unit : of costs, such as "errors"
    ax, figsize : as in :func:`axes_for`
    title : line above the picture
    """
    ax = axes_for(ax, figsize, (6.5, 3.6))
    of_found, of_asked = class_colours(2)
    left, right = float(min(asked[:, 0].min(), found[:, 0].min())), float(bounds[:, 0].max())
    pad = 0.04 * max(right - left, 1.0)
    order = np.argsort(bounds[:, 0])
    costs, least = bounds[order, 0], bounds[order, 1]
    least = np.maximum.accumulate(least[::-1])[::-1]  # what holds for dearer trees holds for cheaper ones
    edges = np.concatenate([[left - pad], costs])
    heights = np.concatenate([least, least[-1:]])
    ax.fill_between(
        edges, 0, heights, step="post", color=GREY, alpha=0.25, linewidth=0, label=gettext("no tree, proved")
    )
    ax.plot(*asked.T, "s", color=of_asked, markersize=6, label=gettext("tree that was asked"))
    ax.plot(*found.T, "o", color=of_found, markersize=6, label=gettext("fairest tree found"))
    for k in np.flatnonzero(found[:, 1] > bounds[:, 1]):
        ax.plot(found[[k, k], 0], [bounds[k, 1], found[k, 1]], color=INK, linewidth=0.9, linestyle=":")
    ax.set_xlim(left - pad, right + pad)
    ax.set_ylim(0, 1.12 * max(float(asked[:, 1].max()), float(found[:, 1].max()), 0.01))
    ax.set_xlabel(gettext("cost of the tree (%(unit)s)", unit=gettext(unit)))
    ax.set_ylabel(gettext("greatest difference of rates"))
    ax.set_title(title, fontsize="medium", loc="left", parse_math=False)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.legend(frameon=False, fontsize="small")
    return ax
