"""The proof of a model in a report: its statement in one sentence, its figures, and the search over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from proofwood.estimators.optimal_tree import OptimalTreeClassifier
from proofwood.estimators.proof_report import proof_report
from proofwood.estimators.reporting import closeness, of_numbers
from proofwood.language import gettext, marked, ngettext, number, retold
from proofwood.markup import trace_svg
from proofwood.questions.population import NoBound, PopulationBound
from proofwood.report.words import count
from proofwood.result import Figures, ProgressEvent, Result, Status, figure, one_less
from proofwood.show.trace import finite, measured, status_text

if TYPE_CHECKING:
    from proofwood.estimators.classifier import ProvedClassifier


def proof_parts(model: ProvedClassifier, recounted: float | str | None) -> dict[str, Any]:
    """What is proved, in the words and figures of a page.

    Parameters
    ----------
    model : fitted model
    recounted : cost of the model on the rows of the report; a text with the reason if it cannot be counted
    """
    result, proof = model.result_, proof_report(model)
    agrees, figures = None, Figures.of(result)
    told = counted = recounted
    if isinstance(recounted, float):
        agrees = recounted == result.objective
        told = counted = number(figures.objective) if agrees else count(recounted)
        if result.measure:
            counted = measured(result, figures.objective if agrees else figure(recounted))
    claim = proof.claim.removesuffix(result.within)
    statement, strong = _statement(result, claim[:1].upper() + claim[1:], int(model.model_.rows[0]))
    return {
        "status": str(result.status),
        "status_text": gettext(STATUSES[result.status]),
        "proved": result.status in (Status.OPTIMAL, Status.WITHIN_GAP),
        "headline": status_text(result),
        "statement": statement[:1].lower() + statement[1:] if getattr(model, "loaded_", False) else statement,
        "strong": strong,
        "line": model._describe_proof(),
        "objective": number(figures.objective),
        "bound": number(figures.lower_bound),
        "gap": number(figures.gap),
        "unit": f"({gettext(result.unit)})" if result.measure else gettext(result.unit),
        "population": _of_population(model),
        "scope": [retold(limit) for limit in result.scope],
        "parts": [
            (gettext(part.unit), number(said.objective), number(said.lower_bound), gettext(STATUSES[part.status]))
            for part, said in ((part, Figures.of(part)) for part in proof.parts)
        ],
        "facts": proof.facts,
        "engine": result.stats.engine,
        "seconds": number(f"{result.stats.seconds:.2f}"),
        "stopped_by": gettext(result.stats.stopped_by) if result.stats.stopped_by else None,
        "recounted": told,
        "counted": counted,
        "agrees": agrees,
        "call": call(model),
        "class": type(model).__name__,
    }


def _of_population(model: ProvedClassifier) -> str | None:
    """What the proof says of new rows, in a sentence with its conditions; None if it says nothing."""
    if not isinstance(model, OptimalTreeClassifier):
        return None
    try:
        bound = PopulationBound.of(model)
    except NoBound:
        return None
    if bound.error <= 0:
        return None
    given = gettext(
        "This holds if the rows were drawn independently and the depth was chosen without a look at them. It does not "
        "say how good this tree is for new rows."
    )
    return f"{bound}. {given}"


def _statement(result: Result, claim: str, n_rows: int) -> tuple[str, str]:
    """What is proved in one sentence, in two parts: what is compared, and what holds of it.

    Parameters
    ----------
    result : result of the fit
    claim : the statement that status "optimal" proves, without its scope, which is said once, below
    n_rows : training rows of the fit; those of the report may be others
    """
    figures, within = Figures.of(result), gettext(" for these tests") if result.scope else ""
    cost = f"{number(figures.objective)} {gettext(result.unit)}"
    if (
        result.unit == "share"
    ):  # "0.25 share" would say nothing: the facts of the model tell of which shares it is the sum
        cost = gettext("a cost of %(cost)s", cost=number(figures.objective))
    rounded = of_numbers(result)
    if rounded:
        cost = f"{number(figures.objective)} ({gettext(result.unit)})"
    measure, bound = result.measure, number(figures.lower_bound)
    if measure:
        cost, bound = measured(result, figures.objective), number(one_less(figures.lower_bound))
    of_rows = {"cost": cost, "rows": ngettext("%(n)s training row", "%(n)s training rows", n_rows)}
    if result.status is Status.OPTIMAL:
        if measure:
            return f"{claim}{within}:", gettext("%(cost)s on the %(rows)s is the greatest.", **of_rows)
        return f"{claim}{within}:", gettext("%(cost)s on the %(rows)s is the least.", **of_rows)
    if result.status is Status.WITHIN_GAP:
        gap = f"{number(figures.gap)} {gettext(result.unit)}"
        if measure:
            gap = number(figures.gap)
        elif rounded:
            gap = gettext("%(share)s of it", share=number(closeness(result)))
        return (
            gettext("%(claim)s by more than %(gap)s:", claim=claim + within, gap=gap),
            gettext("this one has %(cost)s on the %(rows)s.", **of_rows),
        )
    unproved = gettext("Not proved to be the best: the model has %(cost)s on the %(rows)s.", **of_rows)
    if result.lower_bound <= 0:
        return unproved, gettext("The search has ruled out nothing better yet.")
    if measure:
        return unproved, gettext(
            "Of the models that the learner can choose, none has more than %(bound)s%(within)s; a better one may "
            "exist.",
            bound=bound,
            within=within,
        )
    return unproved, gettext(
        "Of the models that the learner can choose, none has less than %(bound)s%(within)s; a better one may exist.",
        bound=bound,
        within=within,
    )


STATUSES = {
    Status.OPTIMAL: marked("optimal"),
    Status.WITHIN_GAP: marked("within_gap"),
    Status.FEASIBLE: marked("feasible"),
    Status.INFEASIBLE: marked("infeasible"),
    Status.UNKNOWN: marked("unknown"),
}
STOPS = (
    marked("time_limit"),
    marked("memory_limit"),
    marked("interrupt"),
    marked("levels"),
    marked("unconfirmed"),
    marked("rounding"),
    marked("prices"),
    marked("size"),
)
UNITS = (
    marked("errors"),
    marked("weighted errors"),
    marked("errors + price of leaves"),
    marked("weighted errors + price of leaves"),
    marked("errors + price of nodes"),
    marked("weighted errors + price of nodes"),
    marked("squared error"),
    marked("squared error + price of leaves"),
    marked("lost reward"),
    marked("lost reward + price of leaves"),
    marked("cost"),
    marked("cost + price of leaves"),
    marked("avoidable cost"),
    marked("avoidable cost + price of leaves"),
    marked("log loss"),
    marked("log loss + price of leaves"),
    marked("Gini impurity"),
    marked("Gini impurity + price of leaves"),
    marked("Poisson deviance"),
    marked("Poisson deviance + price of leaves"),
    marked("gamma deviance"),
    marked("gamma deviance + price of leaves"),
    marked("exponential deviance"),
    marked("exponential deviance + price of leaves"),
    marked("1 - F1"),
    marked("1 - Jaccard index"),
    marked("1 - precision"),
    marked("share"),
    marked("nodes"),
    marked("depth"),
    marked("splits"),
    marked("features"),
)
"""Statuses, reasons to stop, and units of results, which are translated where a page shows them."""


def call(model: ProvedClassifier) -> str:
    """The constructor call with which the model can be fitted again."""
    return " ".join(repr(model).split())


def trace_parts(result: Result) -> dict[str, Any]:
    """Objective and bound over time, as a picture and as a table."""
    events = finite(result.trace)
    return {
        "svg": trace_svg([(e.seconds, e.objective, e.lower_bound) for e in events], unit=result.unit),
        "rows": [(number(f"{e.seconds:.3f}"), *_said(e)) for e in _thinned(events)],
    }


def _said(event: ProgressEvent) -> tuple[str, str]:
    """The texts of objective and lower bound at an event of the search."""
    figures = Figures.of(event)
    return number(figures.objective), number(figures.lower_bound)


def _thinned(events: Sequence[Any], most: int = 20) -> list[Any]:
    """At most ``most`` of the events, evenly spaced, with the first and the last."""
    if len(events) <= most:
        return list(events)
    return [events[round(k * (len(events) - 1) / (most - 1))] for k in range(most)]
