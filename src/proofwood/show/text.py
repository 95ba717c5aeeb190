"""A model as text: an indented tree of rules, or the path of one row through the model."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from proofwood.data.kinds import MOMENTS
from proofwood.data.moments import text_of
from proofwood.decimals import short
from proofwood.language import number
from proofwood.model.evaluate import path
from proofwood.model.node_table import LEAF, OBLIQUE, NodeTable
from proofwood.result import figure
from proofwood.show.labels import (
    NO_LABELS,
    Labels,
    amount,
    asks_false,
    asks_missing,
    question,
    rows_texts,
    tells_missing,
    threshold_text,
)

MOST_CHARACTERS = 50_000_000
"""The most characters of a text. Lines are indented by depth, so the text of a deep tree grows with depth squared."""
_LINES = {False: ("├─ ", "└─ ", "│  ", "   "), True: ("|- ", "`- ", "|  ", "   ")}


def export_text(
    table: NodeTable,
    labels: Labels = NO_LABELS,
    *,
    missing: bool | None = None,
    ascii_only: bool = False,
) -> str:
    """Return the model as a text tree of rules, one line per node.

    The line ``yes`` is for rows for which the test holds, ``no`` for the others. The line of a leaf ends with the
    number of training rows that reach it, and how many of them have another class. A shared node of a diagram is
    written once, with the mark ``#node``; other lines refer to it. Numbers are exact: they read back as the same
    float64.

    Parameters
    ----------
    table : NodeTable
    labels : Labels
    missing : whether tests say where missing values go; by default only if they go high at some test
    ascii_only : whether to draw with ASCII characters only

    Returns
    -------
    str
        Lines without a newline at the end.

    Raises
    ------
    ValueError
        If the text has more than ``MOST_CHARACTERS``.
    """
    labels.check(table)
    tell = tells_missing(table) if missing is None else missing
    fork, last, bar, blank = _LINES[ascii_only]
    lines: list[tuple[str, str]] = []
    written: set[int] = set()
    pending = [(0, "", "")]
    length = 0
    while pending:
        node, lead, indent = pending.pop()
        length += len(lead)
        if length > MOST_CHARACTERS:
            raise _too_long(table)
        mark = f"#{node} " if table.parents[node] > 1 else ""
        if node in written:
            known = f" {labels.said_apart(table, node)}" if table.feature[node] == LEAF else ""
            lines.append((f"{lead}see #{node}{known}", ""))
            continue
        written.add(node)
        if table.feature[node] == LEAF:
            lines.append((f"{lead}{mark}{labels.said_apart(table, node)}", ", ".join(rows_texts(table, node, labels))))
            continue
        lines.append((f"{lead}{mark}{question(table, node, labels, missing=tell)}", ""))
        pending.append((int(table.high[node]), f"{indent}{last}no: ", indent + blank))
        pending.append((int(table.low[node]), f"{indent}{fork}yes: ", indent + bar))
    width = max((len(text) for text, note in lines if note), default=0)
    if sum(width + len(note) if note else len(text) for text, note in lines) > MOST_CHARACTERS:
        raise _too_long(table)
    return "\n".join(f"{text:<{width}}  {note}" if note else text for text, note in lines)


def _too_long(table: NodeTable) -> ValueError:
    return ValueError(
        f"the model has {table.n_nodes:,} nodes and depth {table.depth:,}: its text, with each line indented by its "
        f"depth, has more than {MOST_CHARACTERS:,} characters. Use export_graphviz() (show --format dot), or rules() "
        "of a classifier"
    )


def explain_path(table: NodeTable, x: npt.ArrayLike, labels: Labels = NO_LABELS) -> str:
    """A text that explains the class of one row: the tests on its path, its values, and the training rows in its leaf.

    Parameters
    ----------
    table : NodeTable
    x : (n_features,) one row, with NaN for missing values
    labels : Labels

    Returns
    -------
    str
        A line for the prediction, one per test, and one for the training rows.
    """
    labels.check(table)
    row = np.asarray(x, dtype=np.float64)
    nodes = path(table, row)
    leaf = nodes[-1]
    name = labels.said_apart(table, leaf)
    lines: list[str] = []
    for node, after in pairwise(nodes):
        low = after == table.low[node]
        lines.append(f"{len(lines) + 1}. {_step(table, node, row, low, labels)}")
    head = [f"Predicted: {name}."] if not lines else [f"Predicted: {name}, because"]
    return "\n".join([*head, *(f"  {line}" for line in lines), _company(table, leaf, labels)])


def _step(table: NodeTable, node: int, row: npt.NDArray[np.float64], low: bool, labels: Labels) -> str:
    column = int(table.feature[node])
    side = "low" if low else "high"
    if column == OBLIQUE:
        return f"{question(table, node, labels)} is {'true' if low else 'false'}"
    name, value, kind = labels.feature(column), float(row[column]), labels.kinds.get(column)
    if asks_missing(table, node):
        return f"{name} is {'' if np.isnan(value) else 'not '}missing"
    if asks_false(table, node, labels) and (np.isnan(value) or value in (0, 1)):
        if np.isnan(value):
            return f"{name} is missing, which counts as {'not ' if low else ''}{name}"
        return f"{'not ' if low else ''}{name}"
    if table.levels is not None and (codes := table.levels[node]) is not None:
        if np.isnan(value):
            return f"{name} is missing, which counts as {'' if low else 'not '}in the set"
        shown = labels.level(column, int(value)) if value == int(value) and value >= 0 else short(value)
        levels = ", ".join(labels.level(column, code) for code in sorted(codes))
        return f"{name} = {shown}, {'one' if low else 'none'} of {{{levels}}}"
    end = f"{'<=' if low else '>'} {threshold_text(table, node, labels)}"
    if np.isnan(value):
        return f"{name} is missing, which counts as {side}: {name} {end}"
    if column in labels.levels and value == int(value) and value >= 0:
        shown = labels.level(column, int(value))
    else:
        shown = text_of(value, kind, labels.zones.get(column)) if kind in MOMENTS else short(value)
    return f"{name} = {shown} {end}"


def _company(table: NodeTable, leaf: int, labels: Labels) -> str:
    """A sentence about the training rows in the leaf."""
    weight = table.weight[leaf]
    total = float(weight.sum())
    if table.rows[leaf] == 0 or total == 0:
        return "No training row ends there."
    rows = int(table.rows[leaf])
    if table.values is not None:
        more = [*rows_texts(table, leaf, labels)[1:], *_rewards(table, leaf, labels)]
        said = f"{rows:,} training rows end there" if rows != 1 else "One training row ends there"
        return f"{said}: {', '.join(more)}."
    order = sorted(np.flatnonzero(weight).tolist(), key=lambda code: (-weight[code], code))
    names = [labels.class_name(code) for code in order]
    if rows == 1 and len(order) == 1:
        return f"The one training row that ends there is {names[0]}."
    start = f"Of the {rows:,} training rows that end there, "
    if len(order) == 1:
        return f"{start}all are {names[0]}."
    if not np.isclose(total, rows, rtol=1e-9):
        start += "by weight, "
    verb = "is" if weight[order[0]] == 1 else "are"
    parts = [f"{amount(weight[code])} {name}" for code, name in zip(order[1:], names[1:], strict=True)]
    first = f"{amount(weight[order[0]])} {verb} {names[0]}"
    return f"{start}{', '.join([first, *parts[:-1]])} and {parts[-1]}."


def _rewards(table: NodeTable, leaf: int, labels: Labels) -> list[str]:
    """The mean rewards of the other actions in a leaf, the best first; none if the leaf predicts a number."""
    assert table.values is not None
    if table.n_labels == 1:
        return []
    rewards = table.values[leaf]
    others = [code for code in np.argsort(-rewards, kind="stable").tolist() if code != table.label[leaf]]
    return [f"{number(figure(float(rewards[code])))} with {labels.class_name(code)}" for code in others]
