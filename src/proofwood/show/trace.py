"""The picture of a search: its objective and lower bound over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from proofwood.language import gettext, number
from proofwood.printable import printable
from proofwood.result import Figures, ProgressEvent, Result, Status, one_less
from proofwood.show.palette import class_colours, tint
from proofwood.show.plot import GREY, axes_for, need_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_trace(
    result: Result,
    ax: Axes | None = None,
    *,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
    log: bool | None = None,
) -> Axes:
    """Draw objective and lower bound over time, and the gap between them.

    Parameters
    ----------
    result : result with a ``trace``
    ax : Axes or None
        Axes to draw on; None makes a new figure, through pyplot.
    figsize : width and height of a new figure in inches
    title : line above the picture; by default what is proved
    log : whether the time axis is logarithmic; by default if the search took more than a hundred times as long as the
        time to its first event

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the result has no trace.
    """
    need_matplotlib()
    trace = finite(result.trace)
    if not trace:
        raise ValueError("this result has no trace with a model: plot the result of a fit instead")
    ax = axes_for(ax, figsize, (6.5, 3.2))
    end = max(result.stats.seconds, trace[-1].seconds)
    times = [event.seconds for event in trace] + [end]
    objective = [event.objective for event in trace] + [trace[-1].objective]
    bound = [event.lower_bound for event in trace] + [trace[-1].lower_bound]
    blue, orange = class_colours(2)
    ax.fill_between(times, bound, objective, step="post", color=tint(GREY, 0.25), linewidth=0, label="gap")
    ax.step(times, objective, where="post", color=blue, linewidth=1.8, label="objective")
    ax.step(times, bound, where="post", color=orange, linewidth=1.8, label="lower bound")
    ax.plot([end], [objective[-1]], "o", color=blue, markersize=5)
    ax.plot([end], [bound[-1]], "o", color=orange, markersize=5, markerfacecolor="none" if result.gap else orange)
    if (times[0] > 0 and end > 100 * times[0]) if log is None else log:
        ax.set_xscale("log")
    ax.set_xlabel("seconds")
    ax.set_ylabel(printable(result.unit), parse_math=False)
    ax.set_title(printable(status_text(result) if title is None else title), parse_math=False)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.legend(frameon=False)
    return ax


def finite(trace: Sequence[ProgressEvent]) -> list[ProgressEvent]:
    """The events of the trace that have a model, that is, a finite objective."""
    return [event for event in trace if math.isfinite(event.objective)]


def measured(result: Result, objective: str) -> str:
    """The measure that is 1 less the objective, such as "F1 0.5651"; ``objective`` is that of :class:`Figures`."""
    return f"{gettext(result.measure)} {number(one_less(objective))}"


def status_text(result: Result) -> str:
    """A short text that says what is proved; for the meaning of "these tests" see the scope of the result."""
    figures = Figures.of(result)
    values = {
        "tests": gettext(" for these tests") if result.scope else "",
        "cost": f"{number(figures.objective)} {gettext(result.unit)}",
        "gap": number(figures.gap),
        "bound": number(figures.lower_bound),
    }
    unproved = gettext("not proved: %(cost)s, at least %(bound)s%(tests)s", **values)
    if result.measure and result.model is not None:
        values["cost"] = measured(result, figures.objective)
        values["bound"] = number(one_less(figures.lower_bound))
        unproved = gettext("not proved: %(cost)s, at most %(bound)s%(tests)s", **values)
    told = {
        Status.OPTIMAL: gettext("proved optimal%(tests)s: %(cost)s", **values),
        Status.WITHIN_GAP: gettext("proved within %(gap)s of the optimum%(tests)s: %(cost)s", **values),
        Status.FEASIBLE: unproved,
        Status.INFEASIBLE: gettext("proved: no model meets the constraints%(tests)s", **values),
        Status.UNKNOWN: gettext("stopped before the first model"),
    }
    return told[result.status]
