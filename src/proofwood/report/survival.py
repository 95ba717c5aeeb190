"""What a page says of models of survival times: the parts that stand where classes and numbers have theirs.

Rows count once, whatever their weight, but for the curves of the model itself. The interval of the concordance is that
of the jackknife. The page holds no single row: what happened at a leaf is told by counts and by curves of many rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proofwood.estimators.survival_curves import Survival, brier_scores, concordance, concordance_interval
from proofwood.estimators.survival_scores import event_times, explained_deviance, integrated, rates_above
from proofwood.estimators.validation import Validation
from proofwood.language import gettext, ngettext, number
from proofwood.model import evaluate
from proofwood.model.node_table import LEAF, BoolArray, FloatArray, IntArray, NodeTable
from proofwood.report import charts
from proofwood.report.numbers import NumberedRows, told
from proofwood.report.words import Words
from proofwood.result import figure
from proofwood.show.colouring import leaf_codes
from proofwood.show.labels import percent

FEW = 10
"""New rows of a leaf below which their curve is not drawn."""
MOST_CURVES = 12
"""The most leaves with a curve in the figure, those of most training rows; the table has all."""


@dataclass(frozen=True, eq=False)
class TimedRows(NumberedRows):
    """Rows with their times, and what a model foretells for them.

    Parameters
    ----------
    table, X : as in the base class
    targets : (n_rows, 2) time, and whether the event happened then
    curves : what happened to the training rows of each leaf
    """

    curves: Mapping[int, Survival]

    @property
    def times(self) -> FloatArray:
        """(n_rows,) times."""
        return self.targets[:, 0]

    @property
    def events(self) -> BoolArray:
        """(n_rows,) whether the event happened."""
        return self.targets[:, 1] > 0

    def told(self, row: int) -> str:
        """What happened to a row, in words."""
        time = told(float(self.times[row]))
        if self.events[row]:
            return gettext("the event after %(time)s", time=time)
        return gettext("no event until %(time)s", time=time)

    @property
    def concordance(self) -> float:
        """The share of comparable pairs in the right order."""
        return concordance(self.times, self.events, self.predicted)

    def brier(self, alone: Survival | None = None) -> float:
        """The integrated Brier score of the curves of the leaves, or of one curve for all; nan without two times."""
        at = event_times(self.times, self.events)
        if at.size < 2:
            return math.nan
        leaves = np.array(sorted(self.curves))
        if alone is not None:
            foretold, group = alone.survival(at)[np.newaxis], np.zeros(self.n_rows, dtype=np.int64)
        else:
            foretold = np.array([self.curves[leaf].survival(at) for leaf in leaves.tolist()])
            group = np.searchsorted(leaves, self.leaves)
        return integrated(brier_scores(self.times, self.events, foretold, at, group), at)

    def avoided(self, leaves: IntArray | None = None, some: slice = slice(None)) -> float:
        """The share of the deviance of one rate for all that is avoided, if rows are in ``leaves``."""
        assert self.table.values is not None
        rates = self.table.values[self.leaves[some] if leaves is None else leaves, 0]
        alone, times, events = float(self.table.values[0, 0]), self.times[some], self.events[some]
        above = rates_above(rates, alone, int(self.table.rows[0]))
        return explained_deviance(times, events, np.ones(times.size), above, alone)

    def at_leaf(self, leaf: int) -> tuple[int, int, float]:
        """Rows at a leaf, those with the event, and the number of events that its rate foretells for them."""
        assert self.table.values is not None
        here = self.leaves == leaf
        foretold = float(self.table.values[leaf, 0]) * float(self.times[here].sum())
        return int(here.sum()), int(np.count_nonzero(self.events[here])), foretold


def code_names(table: NodeTable) -> list[str]:
    """The distinct rates of the leaves."""
    return [gettext("rate %(rate)s", rate=number(figure(one, digits=4))) for one in leaf_codes(table)[0].tolist()]


# ------------------------------------------------------------------------------------------------- the front page


def headline(model: Any, seen: TimedRows, fresh: TimedRows | None) -> list[dict[str, Any]]:
    """How well the model orders new rows, where there are any, and those of training, beside chance."""
    found = []
    if fresh is not None:
        found.append(_order(fresh, fresh=True))
    elif model.validation_ is not None and model.validation_.times is not None:
        found.append(_held_out(model.validation_))
    found.append(_order(seen, fresh=False))
    if model._has_weights:
        found[-1]["said"] += "; " + gettext("each row counts once here, whatever its weight")
    for one in found:
        known = math.isfinite(one["share"])
        one["svg"] = charts.scale(one["share"], one["interval"], 0.5, 1.0) if known else ""
        one |= {"zero": True, "end": True, "base_at": "50", "top": "1", "baseline": 0.5}
        one["text"], one["base_text"] = told_share(one["share"]), number("0.5")
    return found


def _order(rows: TimedRows, *, fresh: bool) -> dict[str, Any]:
    ends = concordance_interval(rows.times, rows.events, rows.predicted) if fresh else None
    said = ngettext(
        "concordance on %(n)s row: the share of pairs that it orders rightly, among those whose order is known",
        "concordance on %(n)s rows: the share of pairs that it orders rightly, among those whose order is known",
        rows.n_rows,
    )
    if ends is not None:
        low, high = map(told_share, ends)
        said += "; " + gettext("95\u202f%% interval %(low)s to %(high)s, by the jackknife", low=low, high=high)
    return {"fresh": fresh, "share": rows.concordance, "interval": ends, "said": said}


def _held_out(validation: Validation) -> dict[str, Any]:
    assert validation.times is not None
    said = ngettext(
        "concordance on the rows of %(n)s fold that was held out",
        "mean concordance on the rows of %(n)s folds that were held out in turn",
        validation.folds,
    )
    return {
        "fresh": True,
        "share": validation.times.concordance,
        "interval": None,
        "said": said,
    }


def told_share(value: float) -> str:
    """A share of 1 with three digits."""
    return number(f"{value:z.3f}") if math.isfinite(value) else "–"


def beside(seen: TimedRows, fresh: TimedRows | None, validation: Validation | None, seen_name: str) -> dict[str, Any]:
    """Measures of the tree and of one curve for all rows; the first row is the head."""
    alone, lines = Survival.of(seen.times, seen.events, np.ones(seen.n_rows)), []
    for name, rows in ((gettext("new rows"), fresh), (seen_name, seen)):
        if rows is not None:
            ours = rows.concordance, rows.brier(), rows.avoided()
            lines += _measures(name, ours, (0.5, rows.brier(alone), 0.0))
    if fresh is None and validation is not None and (held := validation.times) is not None:
        ours = held.concordance, math.nan, held.deviance
        lines = [*_measures(gettext("held-out rows of all folds"), ours, (0.5, math.nan, 0.0)), *lines]
    head = [gettext("Measure"), gettext("tree"), gettext("one curve")]
    return {"title": gettext("Beside one curve for all rows"), "head": head, "rows": lines}


def _measures(rows: str, ours: Sequence[float], base: Sequence[float]) -> list[list[str]]:
    names = (gettext("concordance"), gettext("integrated Brier score"), gettext("share of deviance avoided"))
    return [
        [f"{name}, {rows}", told_share(one), told_share(other)]
        for name, one, other in zip(names, ours, base, strict=True)
        if math.isfinite(one) or math.isfinite(other)
    ]


# ------------------------------------------------------------------------------------------------------ the model


def counts(table: NodeTable, words: Words, node: int) -> list[tuple[str, str, str]]:
    """The rate and the deviance at a node, as pairs of name and text."""
    assert table.values is not None
    found = [(gettext("rate"), told(float(table.values[node, 0])), "")]
    weight = float(table.weight[node].sum())
    if table.loss is not None and weight > 0:
        found.append((gettext("exponential deviance"), told(float(table.loss[node]) / weight), ""))
    return found


def line(table: NodeTable, words: Words, node: int) -> str:
    """The rate and the deviance at a node in one line."""
    return ", ".join(f"{name} {text}" for name, text, _ in counts(table, words, node))


def leaf_facts(
    words: Words, code: IntArray, seen: TimedRows, fresh: TimedRows | None
) -> Callable[[int], dict[str, Any]]:
    """For the script of a page: what a leaf says, and what is known of it."""
    table, at = words.table, _times_told(seen)

    def facts(leaf: int) -> dict[str, Any]:
        curve = seen.curves[leaf].survival
        shares = [
            gettext("%(share)s after %(time)s", share=percent(float(curve([time])[0])), time=told(time)) for time in at
        ]
        rows = ngettext("%(n)s training row comes here", "%(n)s training rows come here", int(table.rows[leaf]))
        said = f"{words.says(leaf)}; " + gettext("without the event: %(shares)s", shares=", ".join(shares))
        said += f". {rows}"
        if fresh is not None:
            n, died, _ = fresh.at_leaf(leaf)
            said += "; " + (
                ngettext(
                    "%(n)s new one, %(n_events)s with the event",
                    "%(n)s new ones, %(n_events)s with the event",
                    n,
                    n_events=number(f"{died:,}"),
                )
                if n
                else gettext("no new ones")
            )
        return {"label": int(code[leaf]), "line": said}

    return facts


def rule_facts(
    words: Words, code: IntArray, seen: TimedRows, fresh: TimedRows | None
) -> Callable[[int], dict[str, Any]]:
    """For the table of rules: events at a leaf in training and among new rows."""
    table = words.table

    def facts(leaf: int) -> dict[str, Any]:
        died = seen.at_leaf(leaf)[1]
        found = {"code": int(code[leaf]), "rows": int(table.rows[leaf]), "wrong": "0", "share": died}
        found["right"] = number(f"{died:,}")
        if fresh is None:
            return found
        n, now, foretold = fresh.at_leaf(leaf)
        ends = gettext("%(n)s foretold", n=number(f"{foretold:,.1f}")) if n else gettext("no rows")
        return {**found, "new": n, "new_share": now if n else -1, "new_right": number(f"{now:,}"), "ends": ends}

    return facts


# ----------------------------------------------------------------------------------------------- curves and columns


def _times_told(seen: TimedRows) -> list[float]:
    """Three times at which curves are told: short numbers near the quarters of the last time of an event."""
    last = float(max((curve.survival.x[-1] for curve in seen.curves.values() if curve.survival.x.size), default=1.0))
    return charts.short_steps(last)


def curves_figure(words: Words, code: IntArray, seen: TimedRows, fresh: TimedRows | None) -> Any:
    """The curve of each leaf, and dashed that of its new rows."""
    table = words.table
    leaves = np.flatnonzero(table.feature == LEAF).tolist()
    chosen = set(sorted(leaves, key=lambda leaf: -int(table.rows[leaf]))[:MOST_CURVES])
    lines = []
    for place, leaf in enumerate(leaves):
        if leaf in chosen:
            name = gettext("Leaf %(leaf)s: %(says)s", leaf=place + 1, says=words.says(leaf))
            end = float(seen.times[seen.leaves == leaf].max(initial=0.0))
            lines.append(charts.StepLine(seen.curves[leaf].survival, end, int(code[leaf]), name, str(place + 1)))
        if leaf in chosen and fresh is not None and np.count_nonzero(here := fresh.leaves == leaf) >= FEW:
            now = Survival.of(fresh.times[here], fresh.events[here], np.ones(int(here.sum()))).survival
            name = gettext("Leaf %(leaf)s, new rows", leaf=place + 1)
            end = float(fresh.times[here].max())
            lines.append(charts.StepLine(now, end, int(code[leaf]), name, "", dashed=True))
    across, up = gettext("time"), gettext("share without the event")
    return charts.survival(lines, across, up, told)


def by_leaf(words: Words, seen: TimedRows, fresh: TimedRows | None) -> dict[str, Any]:
    """For each leaf its rows and events, the median time, and the share without the event at some times."""
    table, at = words.table, _times_told(seen)
    head = [gettext("Leaf"), gettext("says"), gettext("rows"), gettext("events")]
    head += [gettext("after %(time)s", time=told(time)) for time in at]
    if fresh is not None:
        head += [gettext("new rows"), gettext("events"), gettext("foretold")]
    lines = []
    for place, leaf in enumerate(np.flatnonzero(table.feature == LEAF).tolist()):
        rows, died, _ = seen.at_leaf(leaf)
        texts = [str(place + 1), words.says(leaf), number(f"{rows:,}"), number(f"{died:,}")]
        texts += [percent(share) for share in seen.curves[leaf].survival(at).tolist()]
        if fresh is not None:
            rows, died, foretold = fresh.at_leaf(leaf)
            texts += [number(f"{rows:,}"), number(f"{died:,}"), number(f"{foretold:,.1f}") if rows else "–"]
        lines.append(texts)
    return {"head": head, "rows": lines, "bars": []}


def columns_that_matter(words: Words, rows: TimedRows, tested: Sequence[int]) -> dict[str, Any]:
    """By how much dealing out the values of a column anew lowers the share of the deviance that is avoided."""

    def loss(X: FloatArray, some: slice) -> float:
        avoided = rows.avoided(evaluate.apply(words.table, X), some)
        return -avoided if math.isfinite(avoided) else 0.0

    return charts.columns_that_matter(loss, rows.X, tested, words.name, charts.in_points)
