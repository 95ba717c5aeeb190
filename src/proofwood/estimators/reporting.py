"""The texts of a fit: lines of progress while it runs, then the summary and the warning."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import ROUND_CEILING
from fractions import Fraction
from typing import Any

import numpy as np

from proofwood.estimators import live
from proofwood.hints import parameter, way_out
from proofwood.language import gettext, ngettext, number
from proofwood.model.node_table import LEAF, NodeTable
from proofwood.result import Figures, Part, Progress, ProgressEvent, Result, Stats, Status, figure

LOGGER = logging.getLogger("proofwood")
COUNTS = ("errors", "weighted errors")
SIZES = ("depth", "nodes", "splits", "features", "share")

# ----------------------------------------------------------------------------------------------------------- progress


def progress_line(event: ProgressEvent, limit: float | None = None) -> str:
    """One line about a running search: seconds, with the limit if there is one, objective, lower bound and gap."""
    of = "" if limit is None else f" of {limit:g}"
    figures = Figures.of(event)
    return (
        f"{event.seconds:7.1f}{of} s  objective {figures.objective}  "
        f"lower bound {figures.lower_bound}  gap {figures.gap}"
    )


class Improvements:
    """Selects the events to print: each new objective, and a new bound at most once a second.

    Remembers the last selected event.
    """

    def __init__(self) -> None:
        self._last: ProgressEvent | None = None

    def worth_a_line(self, event: ProgressEvent) -> bool:
        """Whether to print ``event``; if so, remember it."""
        last = self._last
        news = (
            last is None
            or event.objective < last.objective
            or (event.lower_bound > last.lower_bound and event.seconds >= last.seconds + 1)
        )
        if news:
            self._last = event
        return news


def reported(
    solve: Callable[[Progress | None], Result],
    *,
    callback: Progress | None,
    verbose: int,
    limit: float | None = None,
) -> Result:
    """Run ``solve`` and return its result. Print its progress if ``verbose``, and report it to the callback.

    On a terminal and in a notebook, progress is one line that is updated; elsewhere it is log lines. A program that
    handles the log messages of this package gets them as log lines too. The end of the search is always reported, even
    if the engine reports no progress before.

    Parameters
    ----------
    solve : the search
    callback : callback of the user, or None
    verbose : 0 for no progress
    limit : time limit in seconds, shown in the line
    """
    with _progress(verbose, limit) as told:
        listeners: list[Progress] = [told] if told is not None else []
        if callback is not None:
            listeners.append(callback)
        if not listeners:
            return solve(None)
        last: list[ProgressEvent] = []

        def report(event: ProgressEvent) -> None:
            last[:] = [event]
            for listener in listeners:
                listener(event)

        result = solve(report)
        end = ProgressEvent(result.stats.seconds, result.objective, result.lower_bound)
        if not last or not last[-1].says(end):
            with suppress(KeyboardInterrupt):  # the search has ended, so Ctrl-C has nothing to stop
                report(end)
        return result


@contextmanager
def _progress(verbose: int, limit: float | None) -> Iterator[Progress | None]:
    """Yield a function that reports the progress of a fit; None if not ``verbose``."""
    if not verbose:
        yield None
        return
    where = None if LOGGER.isEnabledFor(logging.INFO) else live.place()
    if where is not None:
        with live.live_line(where) as show:
            yield lambda event: show(progress_line(event, limit))
        return
    with progress_lines():
        yield _log_improvements()


@contextmanager
def told_lines(verbose: int) -> Iterator[Callable[[str], None]]:
    """Yield a function that prints the current step, on one line that it overwrites, or on a line for each step.

    Parameters
    ----------
    verbose : 0 for nothing
    """
    where = None if not verbose or LOGGER.isEnabledFor(logging.INFO) else live.place()
    if where is not None:
        with live.live_line(where, 0.0) as show:
            yield show
    elif verbose:
        with progress_lines():
            yield LOGGER.info
    else:
        yield lambda line: None


def _log_improvements() -> Progress:
    seen = Improvements()

    def log(event: ProgressEvent) -> None:
        if seen.worth_a_line(event):
            LOGGER.info(progress_line(event))

    return log


@contextmanager
def progress_lines() -> Iterator[None]:
    """Send INFO messages of this package to standard error in a ``with`` block, unless the program handles them."""
    if LOGGER.isEnabledFor(logging.INFO):
        yield
        return
    handler, level, propagate = logging.StreamHandler(), LOGGER.level, LOGGER.propagate
    handler.setFormatter(logging.Formatter("%(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)
        LOGGER.propagate = propagate


# ------------------------------------------------------------------------------------------------------------ summary


def model_line(model: NodeTable, size: str, fit: str) -> str:
    """A line with depth, size and fit of a model; ``size`` and ``fit`` are texts of the learner."""
    kind = gettext("depth-%(depth)s tree") if model.is_tree else gettext("depth-%(depth)s diagram")
    return f"{kind % {'depth': model.depth}}, {size}, {fit}"


def errors_text(model: NodeTable, *, weighted: bool) -> str:
    """The training errors of a model of classes, in words."""
    ends = model.feature == LEAF
    total = float(model.weight[ends].sum())
    others = model.weight[ends].copy()
    others[np.arange(others.shape[0]), model.label[ends]] = 0.0
    wrong = float(others.sum())
    rows = int(model.rows[ends].sum())
    if not weighted:
        share = ngettext(
            "%(n_wrong)s of %(n)s training row wrong",
            "%(n_wrong)s of %(n)s training rows wrong",
            rows,
            n_wrong=number(f"{wrong:,.0f}"),
        )
    else:
        share = ngettext(
            "weight %(wrong)s of %(total)s wrong on %(n)s training row",
            "weight %(wrong)s of %(total)s wrong on %(n)s training rows",
            rows,
            wrong=number(figure(wrong)),
            total=number(figure(total)),
        )
    percent = gettext("%(number)s%%", number=number(f"{wrong / total:.2%}"[:-1]))
    return f"{share} ({percent})"


def proof_line(result: Result, *, parts: Sequence[Part], permitted: float) -> str:
    """A line that says what is proved, about which models, and in how much time.

    Parameters
    ----------
    result : result of the fit
    parts : the parts of the result that the user asked for
    permitted : gap that the user permits, in the unit of the result
    """
    subproblems = result.stats.counters.get("subproblems")
    effort = [] if subproblems is None else [f"{subproblems:,} subproblems"]
    effort.append(f"{result.stats.seconds:.2f} s")
    if result.parts:
        by_part = [_part_text(part, " for these tests" if result.scope else "") for part in parts]
        tests = [f"the tests: {'; '.join(result.scope)}"] if result.scope else []
        stop = [] if result.stats.stopped_by is None else [ended(result.stats)]
        return "; ".join([*by_part, *tests, ", ".join([*stop, *effort])])
    figures = Figures.of(result)
    bound = f"lower bound {figures.lower_bound}"
    objective = f"objective {figures.objective}"
    if result.unit not in COUNTS:
        objective += f" ({result.unit})"
    gap = f"gap {figures.gap}{_relative(figures)}"
    if result.status is Status.OPTIMAL:
        proof = [f"proved optimal{result.within}: {bound if result.unit in COUNTS else objective}"]
        proof += [] if result.unit in COUNTS else [bound]
    elif result.status is Status.WITHIN_GAP and _rounded(result, permitted):
        proof = [f"proved optimal{result.within} within {closeness(result)} of the objective: {objective}"]
    elif result.status is Status.WITHIN_GAP:
        proof = [f"proved to be {_within(result, permitted)}{result.within}: {objective}", bound, gap]
    else:
        proof = [f"not proved, {ended(result.stats)}: {objective}", f"{bound}{result.within}", gap]
    return ", ".join(proof + effort)


def unproved_text(result: Result, less: str) -> str:
    """The warning about a fit that ended before the proof; ``less`` names smaller settings to try."""
    figures = Figures.of(result)
    return (
        f"{ended(result.stats)} before the proof was complete: objective {figures.objective} {result.unit}, "
        f"lower bound {figures.lower_bound}{result.within}, gap {figures.gap}{_relative(figures)}. The "
        f"model is the best found so far.{to_complete(result.stats, f'reduce the problem: {less}')}"
    )


def to_complete(stats: Stats, less: str) -> str:
    """What to do for a complete proof, a sentence to follow others; empty after Ctrl-C, which no limit puts off.

    Parameters
    ----------
    stats : of the search that stopped
    less : what else would help, such as smaller settings
    """
    if stats.stopped_by == "interrupt":
        return ""
    if stats.stopped_by == "prices":
        return f" To complete the proof, {less}."
    more = f"raise {parameter('time_limit')} ({way_out('None', 'none')} for no limit)"
    if stats.stopped_by == "memory_limit":
        more = f"raise {parameter('memory_limit')} or the limits of the process, set {parameter('n_jobs', 1)}"
    return f" To complete the proof, {more}, or {less}."


def _within(result: Result, permitted: float) -> str:
    """The gap within which a model is proved, in words."""
    if _permits(result, permitted):
        return "within the permitted gap"
    return "best up to rounding (the weights, or alpha, have too many digits for exact sums in 64 bits)"


def _rounded(result: Result, permitted: float) -> bool:
    """Whether a gap is that of costs which the search rounds to whole units."""
    return of_numbers(result) and not _permits(result, permitted)


def _permits(result: Result, permitted: float) -> bool:
    """Whether a gap is one that the user permits; objective and bound are rounded outward, so that it may be larger."""
    return permitted > 0 and 0 < result.gap <= permitted + 4 * math.ulp(result.objective)


def of_numbers(result: Result) -> bool:
    """Whether the objective is a sum of numbers, such as squared errors, and no count of rows or nodes."""
    return result.unit.partition(" + ")[0] not in (*COUNTS, *SIZES)


def proved(model: Any) -> bool:
    """Whether a fit ended with the proof that no permitted model is better, up to rounding of costs."""
    within = model.status_ is Status.WITHIN_GAP and _rounded(model.result_, model._permitted_gap())
    return within or model.status_ is Status.OPTIMAL


def closeness(result: Result) -> str:
    """The gap as a share of the objective, rounded up to two digits."""
    share = (Fraction(result.objective) - Fraction(result.lower_bound)) / Fraction(result.objective)
    return figure(float(share) * (1 + 1e-15), ROUND_CEILING, 2)


def _part_text(part: Part, scope: str) -> str:
    figures = Figures.of(part)
    found = f"{part.unit} {figures.objective}"
    if part.status is Status.OPTIMAL:
        return f"{found} proved optimal{scope}"
    if part.status is Status.WITHIN_GAP:
        return (
            f"{found} proved best up to rounding{scope} (lower bound {figures.lower_bound}; the weights, or alpha, "
            "have too many digits for exact sums in 64 bits)"
        )
    return f"{found} not proved best (lower bound {figures.lower_bound}{scope})"


def _relative(figures: Figures) -> str:
    return f" ({figures.share} of the objective)" if figures.share else ""


def ended(stats: Stats) -> str:
    """What ended a search, and when."""
    by, after = stats.stopped_by, f"after {stats.seconds:.1f} s"
    if by is None:
        return f"by the {stats.engine} engine"
    return {
        "time_limit": f"stopped by the time limit {after}",
        "memory_limit": f"stopped by the memory limit {after}",
        "interrupt": f"interrupted {after}",
        "prices": f"ended {after} with a gap that prices leave",
    }.get(by, f"stopped {after}")
