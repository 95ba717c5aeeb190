"""What a page says of models that predict numbers, and of policies: the parts that stand where classes have theirs.

Intervals of errors are percentile bootstrap intervals over the new rows; figures of held-out folds and of training rows
have none. The page holds no single row: the numbers at a leaf are told by their mean and by quantiles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from proofwood.estimators.validation import Validation, errors_of, measures_of
from proofwood.language import gettext, ngettext, number
from proofwood.model import evaluate
from proofwood.model.node_table import LEAF, FloatArray, IntArray, NodeTable
from proofwood.report import charts
from proofwood.report.words import Words
from proofwood.result import figure
from proofwood.show.colouring import leaf_codes
from proofwood.show.labels import percent

RESAMPLED, SEED = 1000, 0
"""Times that new rows are drawn again for an interval, from a fixed seed."""
FEW = 10
"""New or training rows of a leaf below which no quantiles of its numbers are told."""
ENDS = (0.05, 0.25, 0.75, 0.95)
"""Quantiles of the numbers at a leaf."""


@dataclass(frozen=True, eq=False)
class NumberedRows:
    """Rows with their numbers, or their rewards, and what a model does with them.

    Parameters
    ----------
    table : the model
    X : (n_rows, n_columns) numbers, with the level codes of the training data
    targets : (n_rows, k) numbers, or the reward of each action
    """

    table: NodeTable
    X: FloatArray
    targets: FloatArray

    @cached_property
    def leaves(self) -> IntArray:
        """(n_rows,) leaf of each row."""
        return evaluate.apply(self.table, self.X)

    @cached_property
    def predicted(self) -> FloatArray:
        """(n_rows,) predicted numbers."""
        assert self.table.values is not None
        return np.asarray(self.table.values[self.leaves, 0])

    @cached_property
    def rewards(self) -> FloatArray:
        """(n_rows,) rewards of the assigned actions."""
        return np.asarray(self.targets[np.arange(self.n_rows), self.table.label[self.leaves]])

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.targets.shape[0])


def is_policy(table: NodeTable) -> bool:
    """Whether the model assigns actions."""
    return table.values is not None and table.n_labels > 1


def told(value: float) -> str:
    """A number of the target in words."""
    return number(figure(value, digits=5)) if math.isfinite(value) else "–"


def code_names(table: NodeTable, words: Words) -> list[str]:
    """The answers by their codes: actions, or the distinct numbers of the leaves."""
    if is_policy(table):
        return [words.class_name(code) for code in range(table.n_labels)]
    return [number(figure(one)) for one in leaf_codes(table)[0].tolist()]


# ------------------------------------------------------------------------------------------------- the front page


def headline(model: Any, seen: NumberedRows, fresh: NumberedRows | None) -> list[dict[str, Any]]:
    """How far the model is off on new rows, where there are any, and in training, beside the mean; or its rewards."""
    table = seen.table
    if is_policy(table):
        found = [_reward(seen, fresh=False)]
        return found if fresh is None else [_reward(fresh, fresh=True), *found]
    assert table.values is not None
    mean, found = float(table.values[0, 0]), []
    if fresh is not None:
        found.append(_error(fresh, mean, fresh=True))
    elif model.validation_ is not None and model.validation_.numbers is not None:
        found.append(_held_out(model.validation_))
    found.append(_error(seen, mean, fresh=False))
    if model._has_weights:
        found[-1]["said"] += "; " + gettext("each row counts once here, whatever its weight")
    top = 1.05 * max(max(one["baseline"], *(one["interval"] or (one["share"],))) for one in found) or 1.0
    for one in found:
        one["svg"] = charts.scale(one["share"], one["interval"], one["baseline"], top)
        one["zero"], one["end"] = one["baseline"] > 0.3 * top, one["baseline"] < 0.7 * top
        one["base_at"], one["top"] = f"{100 * one['baseline'] / top:.1f}", told(top)
        one["text"], one["base_text"] = told(one["share"]), told(one["baseline"])
    return found


def _error(rows: NumberedRows, mean: float, *, fresh: bool) -> dict[str, Any]:
    truth = rows.targets[:, 0]
    squared = errors_of(truth, rows.predicted)[0]
    ends = root_interval((truth - rows.predicted) ** 2) if fresh and rows.n_rows > 1 else None
    said = ngettext("root mean squared error on %(n)s row", "root mean squared error on %(n)s rows", rows.n_rows)
    if ends is not None:
        said += "; " + gettext(
            "95\u202f%% interval %(low)s to %(high)s, by bootstrap", low=told(ends[0]), high=told(ends[1])
        )
    baseline = errors_of(truth, np.full(rows.n_rows, mean))[0]
    return {"fresh": fresh, "share": squared, "interval": ends, "baseline": baseline, "said": said}


def _held_out(validation: Validation) -> dict[str, Any]:
    assert validation.numbers is not None
    found = validation.numbers
    said = ngettext(
        "root mean squared error on the rows of %(n)s fold that was held out",
        "root mean squared error on the rows of %(n)s folds that were held out in turn",
        validation.folds,
    )
    figures = {"share": found.squared, "interval": None, "baseline": found.baseline_squared}
    return {"fresh": True, "said": said, **figures}


def root_interval(squares: FloatArray) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the root of a mean."""
    random = np.random.default_rng(SEED)
    means = [float(squares[random.integers(0, squares.size, squares.size)].mean()) for _ in range(RESAMPLED)]
    low, high = np.quantile(np.sqrt(means), [0.025, 0.975]).tolist()
    return low, high


def _reward(rows: NumberedRows, *, fresh: bool) -> dict[str, Any]:
    single = rows.targets.mean(axis=0)
    said = ngettext("mean reward on %(n)s row", "mean reward on %(n)s rows", rows.n_rows)
    if fresh and rows.n_rows > 1:
        random = np.random.default_rng(SEED)
        n = rows.n_rows
        means = [float(rows.rewards[random.integers(0, n, n)].mean()) for _ in range(RESAMPLED)]
        low, high = np.quantile(means, [0.025, 0.975]).tolist()
        said += "; " + gettext("95\u202f%% interval %(low)s to %(high)s, by bootstrap", low=told(low), high=told(high))
    value = float(rows.rewards.mean())
    figures = {"share": value, "interval": None, "baseline": float(single.max()), "text": told(value)}
    return {"fresh": fresh, "said": said, "svg": "", "base": told(float(single.max())), **figures}


def beside(
    words: Words, seen: NumberedRows, fresh: NumberedRows | None, validation: Validation | None, seen_name: str
) -> Any:
    """A table beside the headline: measures of the tree and of the mean, or the single actions.

    The first row of the table is its head; cells are texts.
    """
    if is_policy(seen.table):
        return _actions(words, fresh or seen)
    table = seen.table
    assert table.values is not None
    mean, parts = float(table.values[0, 0]), []
    if fresh is None and validation is not None and (held := validation.numbers) is not None:
        share = math.nan if held.baseline_squared == 0 else 1 - (held.squared / held.baseline_squared) ** 2
        base = (held.baseline_squared, held.baseline_absolute, math.nan)
        parts.append((gettext("held-out rows of all folds"), (held.squared, held.absolute, share), base))
    for name, rows in ((gettext("new rows"), fresh), (seen_name, seen)):
        if rows is not None:
            truth = rows.targets[:, 0]
            parts.append((name, measures_of(truth, rows.predicted), measures_of(truth, np.full(rows.n_rows, mean))))
    names = (gettext("root mean squared error"), gettext("mean absolute error"), "R²")
    lines = [
        [f"{measure}, {name}", *((_r2 if k == 2 else told)(of[k]) for of in (ours, base))]
        for name, ours, base in parts
        for k, measure in enumerate(names)
    ]
    head = [gettext("Measure"), gettext("tree"), gettext("mean")]
    return {"title": gettext("Beside the mean of the training rows"), "head": head, "rows": lines}


def _r2(value: float) -> str:
    return number(f"{value:z.3f}") if math.isfinite(value) else "–"


def _actions(words: Words, rows: NumberedRows) -> dict[str, Any]:
    """For each action the rows that get it, and the mean reward if all got it."""
    table, single = rows.table, rows.targets.mean(axis=0)
    given = np.bincount(table.label[rows.leaves], minlength=table.n_labels)
    lines = [
        [words.class_name(code), _part(int(given[code]), rows.n_rows), told(float(single[code]))]
        for code in range(table.n_labels)
    ]
    head = [gettext("Action"), gettext("rows that get it"), gettext("mean reward if all got it")]
    return {"title": gettext("Beside each single action"), "head": head, "rows": lines}


def _part(n: int, n_all: int) -> str:
    return f"{number(f'{n:,}')} ({percent(n / n_all)})"


# ------------------------------------------------------------------------------------------------------ the model


def counts(table: NodeTable, words: Words, node: int) -> list[tuple[str, str, str]]:
    """The mean and the spread at a node, or the mean reward of each action, as pairs of name and text."""
    assert table.values is not None
    if is_policy(table):
        return [(words.class_name(k), told(value), "") for k, value in enumerate(table.values[node].tolist())]
    found = [(gettext("mean"), told(float(table.values[node, 0])), "")]
    weight = float(table.weight[node].sum())
    if table.loss is not None and weight > 0:
        mean, loss = float(table.loss[node]) / weight, words.labels.loss
        spread = (gettext("spread"), told(math.sqrt(mean)), "")
        found.append(spread if loss is None else (gettext(loss), told(mean), ""))
    return found


def line(table: NodeTable, words: Words, node: int) -> str:
    """The mean and the spread at a node in one line, or the best reward."""
    if is_policy(table):
        assert table.values is not None
        best = int(table.label[node])
        return f"{words.class_name(best)} {told(float(table.values[node, best]))}"
    return ", ".join(f"{name} {text}" for name, text, _ in counts(table, words, node))


def leaf_facts(words: Words, code: IntArray, fresh: NumberedRows | None) -> Callable[[int], dict[str, Any]]:
    """For the script of a page: what a leaf says, and what is known of it."""
    table = words.table

    def facts(leaf: int) -> dict[str, Any]:
        rows = ngettext("%(n)s training row comes here", "%(n)s training rows come here", int(table.rows[leaf]))
        said = f"{rows}: " + ", ".join(f"{name} {text}" for name, text, _ in counts(table, words, leaf))
        if fresh is not None:
            n, mean, _ = at_leaf(fresh, leaf)
            said += "; " + (
                ngettext("%(n)s new one: %(mean)s", "%(n)s new ones: %(mean)s", n, mean=told(mean))
                if n
                else gettext("no new ones")
            )
        return {"label": int(code[leaf]), "line": said}

    return facts


def at_leaf(rows: NumberedRows, leaf: int) -> tuple[int, float, float]:
    """Rows at a leaf, the mean of their numbers or rewards, and the root of the mean squared error."""
    here = rows.leaves == leaf
    n = int(here.sum())
    if n == 0:
        return 0, math.nan, math.nan
    if is_policy(rows.table):
        return n, float(rows.rewards[here].mean()), math.nan
    numbers = rows.targets[here, 0]
    return n, float(numbers.mean()), errors_of(numbers, rows.predicted[here])[0]


def rule_facts(
    words: Words, code: IntArray, seen: NumberedRows, fresh: NumberedRows | None
) -> Callable[[int], dict[str, Any]]:
    """For the table of rules: the figures of a leaf in training and on new rows."""
    table = words.table
    assert table.values is not None

    def facts(leaf: int) -> dict[str, Any]:
        figures = {"code": int(code[leaf]), "rows": int(table.rows[leaf]), "wrong": "0"}
        value = float(table.values[leaf, table.label[leaf]]) if table.values is not None else 0.0
        if not is_policy(table):
            value = at_leaf(seen, leaf)[2] if (seen.leaves == leaf).any() else 0.0
        found = {**figures, "share": value, "right": told(value)}
        if fresh is None:
            return found
        n, mean, error = at_leaf(fresh, leaf)
        new = mean if is_policy(table) else error
        ends = gettext("no rows") if not n else "" if is_policy(table) else gettext("mean %(mean)s", mean=told(mean))
        return {**found, "new": n, "new_share": new if n else -1.0, "new_right": told(new), "ends": ends}

    return facts


# --------------------------------------------------------------------------------------------------------- errors


def leaves_figure(words: Words, rows: NumberedRows) -> Any:
    """The numbers at each leaf against what it predicts: mean, quartiles, and the middle nine tenths."""
    table = words.table
    assert table.values is not None
    points = []
    for place, leaf in enumerate(np.flatnonzero(table.feature == LEAF).tolist()):
        numbers = rows.targets[rows.leaves == leaf, 0]
        if numbers.size:
            ends = np.quantile(numbers, ENDS).tolist() if numbers.size >= FEW else None
            name = gettext("Leaf %(leaf)s", leaf=place + 1)
            tip = ngettext(
                "%(leaf)s: predicts %(told)s, mean %(seen)s of %(n)s row",
                "%(leaf)s: predicts %(told)s, mean %(seen)s of %(n)s rows",
                numbers.size,
                leaf=name,
                told=words.says(leaf),
                seen=told(float(numbers.mean())),
            )
            points.append(charts.LeafPoint(float(table.values[leaf, 0]), float(numbers.mean()), ends, tip))
    return charts.against(points, gettext("predicted"), gettext("true numbers"), told)


def by_leaf(words: Words, rows: NumberedRows) -> dict[str, Any]:
    """The error at each leaf beside that of all rows, the greatest first; or the mean rewards of all actions there."""
    table, leaves = words.table, np.flatnonzero(words.table.feature == LEAF).tolist()
    found = [(leaf, *at_leaf(rows, leaf)) for leaf in leaves]
    if is_policy(table):
        head = [
            gettext("Leaf"),
            gettext("gets"),
            gettext("rows"),
            *(words.class_name(k) for k in range(table.n_labels)),
        ]
        lines = []
        for place, (leaf, n, _, _) in enumerate(found):
            means = rows.targets[rows.leaves == leaf].mean(axis=0).tolist() if n else [math.nan] * table.n_labels
            texts = [str(place + 1), words.says(leaf), number(f"{n:,}"), *map(told, means)]
            lines.append(texts)
        return {"head": head, "rows": lines, "bars": []}
    overall = errors_of(rows.targets[:, 0], rows.predicted)[0]
    top = max([overall, *(error for _, n, _, error in found if n)]) or 1.0
    bars = [
        {
            "name": gettext("Leaf %(leaf)s: %(says)s", leaf=place + 1, says=words.says(leaf)),
            "rows": number(f"{n:,}"),
            "share": told(error),
            "few": n < FEW,
            "svg": charts.dot_line(error, (error, error), overall, top),
        }
        for place, (leaf, n, _, error) in enumerate(found)
        if n
    ]
    return {"head": [], "rows": [], "bars": bars, "top": told(top)}


def columns_that_matter(words: Words, rows: NumberedRows, tested: Sequence[int]) -> dict[str, Any]:
    """By how much dealing out the values of a column anew raises the error, or lowers the mean reward."""
    table = words.table
    assert table.values is not None

    def loss(X: FloatArray, some: slice) -> float:
        ends, targets = evaluate.apply(table, X), rows.targets[some]
        if is_policy(table):
            return -float(targets[np.arange(ends.size), table.label[ends]].mean())
        return errors_of(targets[:, 0], np.asarray(table.values)[ends, 0])[0]

    def text(mean: float, deviation: float) -> str:
        return f"{'+' if mean > 0 else ''}{told(mean)} ± {told(deviation)}"

    return charts.columns_that_matter(loss, rows.X, tested, words.name, text)
