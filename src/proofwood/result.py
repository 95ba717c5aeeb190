"""The result of an engine: a model, its cost, the proved bound and status, and statistics of the search."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

from proofwood.language import gettext, retold
from proofwood.markup import table, trace_svg
from proofwood.model.node_table import NodeTable


class Status(StrEnum):
    """The proved status of a result. Members are equal to their strings.

    - ``"optimal"``: it is proved that no permitted model is better
    - ``"within_gap"``: the search finished and proved that the gap is at most what the user permits, or at most what
      the rounding of weights or costs can cause
    - ``"feasible"``: the model is not proved to be the best: a limit was reached, or prices of a budget leave a gap
    - ``"infeasible"``: it is proved that no model satisfies the constraints
    - ``"unknown"``: a limit was reached before the first model
    """

    OPTIMAL = "optimal"
    WITHIN_GAP = "within_gap"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of an engine. ``None`` means no limit.

    Parameters
    ----------
    seconds : wall-clock seconds, from the call of ``solve``
    threads : number of worker threads inside the engine
    """

    seconds: float | None = None
    threads: int = 1

    def secondary(self, taken: float) -> Limits:
        """The limits of a second search that chooses among equally good models, after ``taken`` seconds.

        The second search may take as long as the first, but at most :data:`SECONDARY_SHARE` of the limit, and at least
        :data:`LEAST_SECONDARY` seconds if this time is left. Without a limit, the second search has no limit either.
        """
        if self.seconds is None:
            return self
        share = max(LEAST_SECONDARY, min(taken, SECONDARY_SHARE * self.seconds))
        return replace(self, seconds=max(0.0, min(self.seconds - taken, share)))


LEAST_SECONDARY = 0.5
"""The seconds that a secondary goal may always take."""
SECONDARY_SHARE = 0.1
"""The largest share of the time limit that a secondary goal may take, except for :data:`LEAST_SECONDARY`."""
NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """A report of a running engine; ``lower_bound <= optimum <= objective`` is always true.

    Parameters
    ----------
    seconds : seconds since the search began
    objective : objective of the best model so far; infinite without a model
    lower_bound : proved lower bound: no permitted model has a smaller objective
    """

    seconds: float
    objective: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """The gap ``objective - lower_bound``, in the unit of the result."""
        return self.objective - self.lower_bound

    def says(self, other: ProgressEvent) -> bool:
        """Whether objective and bound are equal to those of ``other``."""
        return (self.objective, self.lower_bound) == (other.objective, other.lower_bound)


def ended(trace: Sequence[ProgressEvent], final: ProgressEvent) -> tuple[ProgressEvent, ...]:
    """Return ``trace`` with ``final`` added at its end, unless its last event has the same objective and bound."""
    return tuple(trace) if trace and trace[-1].says(final) else (*trace, final)


Progress = Callable[[ProgressEvent], None]


@dataclass(frozen=True, slots=True)
class Stats:
    """Statistics of a search.

    Parameters
    ----------
    seconds : wall-clock seconds
    engine : name of the engine that found the model
    stopped_by : None if the search was completed, otherwise "time_limit", "memory_limit", "interrupt" or similar;
        "interrupt" also if Ctrl-C was pressed just before completion
    counters : counters of the engine, by name
    proved_by : the bound or engine whose lower bound closed the gap; None if the gap is not closed. Only the engine of
        skeleton diagrams reports it; for all others it is None
    """

    seconds: float = 0.0
    engine: str = ""
    stopped_by: str | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    proved_by: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """What is proved about one quantity of a result that optimises several in order, such as errors and then size.

    Parameters
    ----------
    unit : unit of objective and bound: "depth", "nodes", "splits", "errors" or "features"
    objective, lower_bound : the value for the model, and a bound for all models that are as good in the earlier parts
    status : the proved status of this quantity
    """

    unit: str
    objective: float
    lower_bound: float
    status: Status

    def to_dict(self) -> dict[str, Any]:
        """The fields of the part as a dictionary of plain values."""
        return {
            "unit": self.unit,
            "objective": self.objective,
            "lower_bound": self.lower_bound,
            "status": str(self.status),
        }


@dataclass(frozen=True, slots=True)
class Result:
    """A model and the proved status of its objective.

    Parameters
    ----------
    model : the best model found; None if no model was found
    objective : the minimised cost of the model; ``inf`` without a model
    unit : unit of objective and bound: "errors", "weighted errors", "errors + price of leaves", "share", "nodes", ...
    lower_bound : proved lower bound: no permitted model has a smaller objective; valid also after a time limit
    status : the proved status
    stats : statistics of the search
    trace : one event per improvement of the objective or the bound; the last one is the final state
    parts : if several quantities are optimised in order, the status of each; empty if there is only the objective
    certificates : proofs that can be checked without the engine; empty unless the engine was set to store them
        (:class:`proofwood.certificates.drup.Certificate`)
    scope : further limits of the search as texts, such as "at most 2 thresholds a column in age". Bound and status
        cover only models within these limits; without limits, they cover all models of the shape
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
            raise AssertionError(
                f"the status is optimal, but the lower bound {self.lower_bound!r} differs from the objective "
                f"{self.objective!r}"
            )
        if (self.model is None) != math.isinf(self.objective):
            raise AssertionError("a result needs both a model and a finite objective, or neither")

    @property
    def gap(self) -> float:
        """The gap ``objective - lower_bound``; 0 if proved optimal, ``inf`` without a model."""
        return self.objective - self.lower_bound

    @property
    def measure(self) -> str:
        """The measure that the objective is 1 less, such as "F1" with the unit "1 - F1"; empty if there is none."""
        less, _, measure = self.unit.partition("1 - ")
        return "" if less else measure

    @property
    def within(self) -> str:
        """The scope as text that follows "proved optimal"; empty without a scope."""
        return for_these_tests(self.scope)

    def to_dict(self) -> dict[str, Any]:
        """The result as a dictionary of plain values, without the model, the trace and certificates."""
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
        """The HTML that a notebook shows: a table of the result, and a plot of objective and bound over time."""
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
        """Return the part with the unit ``unit``. Raise KeyError if there is none; the message lists the units."""
        for part in self.parts:
            if part.unit == unit:
                return part
        raise KeyError(f"no part {unit!r}: the parts are {', '.join(part.unit for part in self.parts) or '(none)'}")


def for_these_tests(scope: Sequence[str]) -> str:
    """The text of a scope that follows a status, or a claim about all trees; empty if the scope is empty."""
    if not scope:
        return ""
    return gettext(" for these tests (%(scope)s)", scope="; ".join(map(retold, scope)))


@dataclass(frozen=True)
class Figures:
    """Texts of objective, lower bound and gap, with up to six significant digits, rounded so that they stay true.

    Parameters
    ----------
    objective : rounded up, so that it is not below the objective of the model
    lower_bound : rounded down
    gap : rounded up
    share : gap in percent of the objective, rounded up, or "<0.1%"; empty if the objective is not above 0
    """

    objective: str
    lower_bound: str
    gap: str
    share: str

    @classmethod
    def of(cls, what: Result | Part | ProgressEvent) -> Figures:
        """Return the figures of a result, of a part, or of a running search.

        If objective and bound are equal, both have the same text, rounded to the nearest number.
        """
        objective, bound = what.objective, what.lower_bound
        if objective == bound:
            return cls(figure(objective), figure(bound), "0", "0.0%" if objective > 0 else "")
        gap, share = objective - bound, ""
        if math.isfinite(gap):
            exact = Fraction(objective) - Fraction(bound)
            gap = gap if Fraction(gap) >= exact else math.nextafter(gap, math.inf)
            share = _percent(exact / Fraction(objective)) if objective > 0 else ""
        rounded_up = figure(objective, ROUND_CEILING)
        return cls(rounded_up, figure(bound, ROUND_FLOOR), figure(gap, ROUND_CEILING), share)


def _percent(share: Fraction) -> str:
    """A share in percent, rounded up to a tenth."""
    return "<0.1%" if 0 < share < Fraction(1, 1000) else f"{math.ceil(1000 * share) / 10:,.1f}%"


def figure(value: float, rounding: str = ROUND_HALF_EVEN, digits: int = 6) -> str:
    """The text of a whole number, or of another number with up to six significant digits, rounded as in ``decimal``."""
    if not math.isfinite(value) or value == round(value):
        return f"{value:,.0f}"
    exact = Decimal(value)
    if digits - 1 <= exact.adjusted() < 15:
        return f"{exact.quantize(Decimal(1), rounding):,}"
    return f"{float(exact.quantize(Decimal((0, (1,), exact.adjusted() - digits + 1)), rounding)):,.{digits}g}"


def one_less(text: str) -> str:
    """1 less the number that :func:`figure` wrote: rounded down if that is rounded up, and the other way round."""
    return f"{1 - Decimal(text):f}"


def unproved(result: Result, why: str, seconds: float | None = None) -> Result:
    """Return ``result`` with the lower bound 0, for a search over only some of the models.

    ``why`` is the new ``stopped_by`` if the search has none; ``seconds``, if given, is the total time.
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


def first_stop(*stops: str | None) -> str | None:
    """The ``stopped_by`` of searches that followed each other: "interrupt" if one had it, else that of the first."""
    return "interrupt" if "interrupt" in stops else next((stop for stop in stops if stop is not None), None)


def bounded_by(relaxed: Result, result: Result) -> Result:
    """Return ``result`` with the lower bound of ``relaxed``, a search that permits more models.

    If both searches finished, the status is "within gap": the objective and the bound then differ only because weights
    were rounded.
    """
    seconds = relaxed.stats.seconds + result.stats.seconds
    stopped_by = first_stop(relaxed.stats.stopped_by, result.stats.stopped_by)
    if result.objective == 0:  # nothing costs less
        told = stopped_by if stopped_by == "interrupt" else result.stats.stopped_by
        return replace(result, stats=replace(result.stats, seconds=seconds, stopped_by=told))
    lower = min(relaxed.lower_bound, result.objective)
    complete = result.status is not Status.FEASIBLE and relaxed.status is not Status.FEASIBLE
    status = result.status
    if result.model is not None:
        status = Status.WITHIN_GAP if complete else Status.FEASIBLE
    if complete and stopped_by != "interrupt":
        stopped_by = None
    return replace(
        result,
        lower_bound=lower,
        status=status,
        stats=replace(result.stats, seconds=seconds, stopped_by=stopped_by),
        trace=(ProgressEvent(seconds, result.objective, lower),),
    )
