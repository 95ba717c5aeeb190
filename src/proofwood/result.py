"""What every engine returns: a model, its cost, what is proved about it, and how hard that was."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

from proofwood.markup import table, trace_svg
from proofwood.model.node_table import NodeTable


class Status(StrEnum):
    """What is proved. Members compare equal to their strings.

    - ``"optimal"``: the objective equals the lower bound, proved
    - ``"within_gap"``: finished, and proved to be within the permitted gap, or the rounding of the weights
    - ``"feasible"``: a model, not proved best: a limit was reached
    - ``"infeasible"``: proved: no model meets the constraints
    - ``"unknown"``: a limit was reached before the first model
    """

    OPTIMAL = "optimal"
    WITHIN_GAP = "within_gap"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much an engine may spend. ``None`` means without limit.

    Parameters
    ----------
    seconds : wall-clock seconds, from the call of ``solve``
    threads : number of worker threads inside the engine
    """

    seconds: float | None = None
    threads: int = 1

    def secondary(self, taken: float) -> Limits:
        """What a goal may spend that counts only among equally good answers, once these took ``taken`` seconds.

        As long again, but at most :data:`SECONDARY_SHARE` of the limit, and at least :data:`LEAST_SECONDARY` seconds
        if so much is left. Without a limit, without limit.
        """
        if self.seconds is None:
            return self
        share = max(LEAST_SECONDARY, min(taken, SECONDARY_SHARE * self.seconds))
        return replace(self, seconds=max(0.0, min(self.seconds - taken, share)))


LEAST_SECONDARY = 0.5
"""Seconds that a secondary goal may take at least."""
SECONDARY_SHARE = 0.1
"""Most of the time limit that a secondary goal may take, except for :data:`LEAST_SECONDARY`."""
NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """One report of a running engine: ``lower_bound <= optimum <= objective`` at every moment.

    Parameters
    ----------
    seconds : since the search began
    objective : of the best model so far; infinite without one
    lower_bound : what no model undercuts
    """

    seconds: float
    objective: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """``objective - lower_bound``, in the unit of the result."""
        return self.objective - self.lower_bound

    def says(self, other: ProgressEvent) -> bool:
        """Whether objective and bound are those of ``other``."""
        return (self.objective, self.lower_bound) == (other.objective, other.lower_bound)


def ended(trace: Sequence[ProgressEvent], final: ProgressEvent) -> tuple[ProgressEvent, ...]:
    """``trace``, which ends with what ``final`` says."""
    return tuple(trace) if trace and trace[-1].says(final) else (*trace, final)


Progress = Callable[[ProgressEvent], None]


@dataclass(frozen=True, slots=True)
class Stats:
    """How the answer was reached.

    Parameters
    ----------
    seconds : wall-clock
    engine : what found the model
    stopped_by : None if completed, else "time_limit", "memory_limit", "interrupt" or the like; "interrupt" also if
        Ctrl-C came as the search was completed
    counters : of the engine, by name
    proved_by : the bound or engine that closed the gap, which is that which raised the lower bound last; None if the
        gap is open, or the engine does not tell (skeleton diagrams do)
    """

    seconds: float = 0.0
    engine: str = ""
    stopped_by: str | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    proved_by: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """What is proved about one quantity of an answer that is best in several, such as errors first and then size.

    Parameters
    ----------
    unit : of the objective and bound: "depth", "nodes", "splits", "errors" or "features"
    objective, lower_bound : of the model at hand, and what no model that is as good in the parts before can undercut
    status : what is proved of this part
    """

    unit: str
    objective: float
    lower_bound: float
    status: Status

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "unit": self.unit,
            "objective": self.objective,
            "lower_bound": self.lower_bound,
            "status": str(self.status),
        }


@dataclass(frozen=True, slots=True)
class Result:
    """A model with its proof state.

    Parameters
    ----------
    model : the best model found; None if there is none
    objective : what it costs, to be minimised; ``inf`` without a model
    unit : of objective and bound: "errors", "weighted errors", "errors + price of leaves", "share", "nodes", ...
    lower_bound : what no permitted model undercuts; valid also after a time limit
    status : what is proved
    stats : how the answer was reached
    trace : one event per improvement of the objective or the bound, the last one being the final state
    parts : for answers that are best in several quantities, in the order of their rank; empty where the objective
        says all
    certificates : proofs that can be checked apart from the engine, if it was asked to keep them
        (:class:`proofwood.certificates.drup.Certificate`)
    scope : what limited the search beyond the shape of the model and the table, in words, such as "at most 2 thresholds
        a column in age": bound and status speak of the models within it. Empty: of all models of the shape
    """

    model: NodeTable | None
    objective: float
    unit: str
    lower_bound: float
    status: Status
    stats: Stats
    trace: tuple[ProgressEvent, ...] = ()
    parts: tuple[Part, ...] = ()
    certificates: tuple[object, ...] = ()
    scope: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.lower_bound > self.objective:
            raise AssertionError(f"lower bound {self.lower_bound!r} exceeds objective {self.objective!r}")
        if self.status is Status.OPTIMAL and self.lower_bound != self.objective:
            raise AssertionError(f"optimal, but {self.lower_bound!r} != {self.objective!r}")
        if (self.model is None) != math.isinf(self.objective):
            raise AssertionError("a model and a finite objective come together")

    @property
    def gap(self) -> float:
        """``objective - lower_bound``; 0 when proved optimal, ``inf`` without a model."""
        return self.objective - self.lower_bound

    @property
    def within(self) -> str:
        """The scope as words behind "proved optimal"; empty if there is none."""
        return for_these_tests(self.scope)

    def to_dict(self) -> dict[str, Any]:
        """What is proved as plain values, without the model, the trace and certificates."""
        return {
            "status": str(self.status),
            "scope": list(self.scope),
            "objective": self.objective,
            "unit": self.unit,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "parts": [part.to_dict() for part in self.parts],
            "engine": self.stats.engine,
            "stopped_by": self.stats.stopped_by,
            "seconds": self.stats.seconds,
            "counters": dict(self.stats.counters),
        }

    def _repr_html_(self) -> str:
        """What a notebook shows: what is proved, and how objective and bound met."""
        figures = Figures.of(self)
        rows = [
            ("status", f"{self.status}{self.within}"),
            ("objective", f"{figures.objective} {self.unit}"),
            ("lower bound", figures.lower_bound),
            ("gap", figures.gap),
            *((part.unit, f"{Figures.of(part).objective}, {part.status}") for part in self.parts),
            ("engine", self.stats.engine or "unknown"),
            ("seconds", f"{self.stats.seconds:.2f}"),
            *([("stopped by", self.stats.stopped_by)] if self.stats.stopped_by else []),
        ]
        events = [(e.seconds, e.objective, e.lower_bound) for e in self.trace if math.isfinite(e.objective)]
        return f'<div class="proofwood">{table(rows)}{trace_svg(events, unit=self.unit)}</div>'

    def part(self, unit: str) -> Part:
        """What is proved about the quantity called ``unit``; KeyError with the names there are."""
        for part in self.parts:
            if part.unit == unit:
                return part
        raise KeyError(f"no part {unit!r}; this result has {', '.join(part.unit for part in self.parts) or 'none'}")


def for_these_tests(scope: Sequence[str]) -> str:
    """A scope as words behind what is proved; empty if nothing limited the search."""
    return f" for these tests ({'; '.join(scope)})" if scope else ""


@dataclass(frozen=True)
class Figures:
    """Objective, lower bound and gap as texts of up to six significant digits that claim only what is proved.

    Parameters
    ----------
    objective : rounded up, so that it is not below the value found
    lower_bound : rounded down
    gap : rounded up
    share : gap in percent of the objective, rounded up; empty where that is not above 0
    """

    objective: str
    lower_bound: str
    gap: str
    share: str

    @classmethod
    def of(cls, what: Result | Part | ProgressEvent) -> Figures:
        """The figures of a result, a part of one, or of a search that runs.

        Where objective and bound are equal, both are the same text, rounded to nearest.
        """
        objective, bound = what.objective, what.lower_bound
        if objective == bound:
            return cls(figure(objective), figure(bound), "0", "0.0%" if objective > 0 else "")
        gap, share = objective - bound, ""
        if math.isfinite(gap):
            exact = Fraction(objective) - Fraction(bound)
            gap = gap if Fraction(gap) >= exact else math.nextafter(gap, math.inf)
            share = f"{math.ceil(1000 * exact / Fraction(objective)) / 10:,.1f}%" if objective > 0 else ""
        rounded_up = figure(objective, ROUND_CEILING)
        return cls(rounded_up, figure(bound, ROUND_FLOOR), figure(gap, ROUND_CEILING), share)


def figure(value: float, rounding: str = ROUND_HALF_EVEN) -> str:
    """A count without decimals, another number with up to six significant digits, rounded as ``decimal`` names it."""
    if not math.isfinite(value) or value == round(value):
        return f"{value:,.0f}"
    exact = Decimal(value)
    return f"{float(exact.quantize(Decimal((0, (1,), exact.adjusted() - 5)), rounding)):,.6g}"


def unproved(result: Result, why: str, seconds: float | None = None) -> Result:
    """``result`` of a search over fewer models than were asked for: nothing but 0 bounds the models left out.

    ``why`` is the ``stopped_by`` of a search that had none; ``seconds``, if given, is the time of the whole answer.
    """
    taken = result.stats.seconds if seconds is None else seconds
    stats = replace(result.stats, seconds=taken)
    trace: tuple[ProgressEvent, ...] = ()
    for event in result.trace:  # some differ in the bound only
        trace = ended(trace, replace(event, seconds=event.seconds if seconds is None else seconds, lower_bound=0.0))
    if result.objective == 0:
        return replace(result, stats=stats, trace=trace)
    return replace(
        result,
        lower_bound=0.0,
        status=Status.FEASIBLE,
        stats=replace(stats, stopped_by=result.stats.stopped_by or why, proved_by=None),
        trace=trace,
        parts=tuple(
            part if part.objective == 0 else replace(part, lower_bound=0.0, status=Status.FEASIBLE)
            for part in result.parts
        ),
    )


def bounded_by(relaxed: Result, result: Result) -> Result:
    """``result`` with what a search that permits more models has proved: none of its models undercuts ``relaxed``.

    Only if both searches came to their end, nothing but the rounding of the weights is between objective and bound.
    """
    seconds = relaxed.stats.seconds + result.stats.seconds
    if result.objective == 0:  # nothing costs less
        return replace(result, stats=replace(result.stats, seconds=seconds))
    lower = min(relaxed.lower_bound, result.objective)
    complete = result.status is not Status.FEASIBLE and relaxed.status is not Status.FEASIBLE
    status = result.status
    if result.model is not None:
        status = Status.WITHIN_GAP if complete else Status.FEASIBLE
    stopped_by = None if complete else relaxed.stats.stopped_by or result.stats.stopped_by
    return replace(
        result,
        lower_bound=lower,
        status=status,
        stats=replace(result.stats, seconds=seconds, stopped_by=stopped_by),
        trace=(ProgressEvent(seconds, result.objective, lower),),
    )
