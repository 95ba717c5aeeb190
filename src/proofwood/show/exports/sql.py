"""A model as SQL: nested CASE expressions, in what SQLite, DuckDB, PostgreSQL and others have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from proofwood.data.kinds import Kind
from proofwood.data.moments import EPOCH
from proofwood.model.node_table import LEAF
from proofwood.model.reshape import unroll
from proofwood.show.exports.source import Ask, Exported, ExportError, exact

MOST_NODES = 20_000
"""Nodes of the tree that an expression may hold."""
_DEEPEST = 10
"""Expressions within each other; SQLite before 3.46 takes some fifteen."""


def to_sql(model: Exported, table: str | Sequence[str] | None = None, *, proba: bool = False) -> str:
    """``SELECT`` with the prediction beside all columns of ``table``; the bare expression if ``table`` is None."""
    tree = _tree(model)
    of_leaf = {leaf: literal(tree.labels[int(tree.table.label[leaf])]) for leaf in tree.leaves}
    expressions = [(_case(tree, of_leaf.__getitem__), "prediction")]
    if proba:
        shares = tree.probabilities_of_leaf.tolist()
        for code, label in enumerate(tree.labels):
            of_class = {leaf: _number(shares[number][code]) for leaf, number in tree.leaves.items()}
            expressions.append((_case(tree, of_class.__getitem__), f"probability of {label}"))
    if table is None:
        if proba:
            raise ExportError("proba=True gives several expressions: name the table, to_sql('table', proba=True)")
        return "\n".join(expressions[0][0]) + "\n"
    parts = [table] if isinstance(table, str) else list(table)
    shown = ",\n".join("\n".join(f"  {line}" for line in lines) + f" AS {quoted(name)}" for lines, name in expressions)
    return f"SELECT\n  *,\n{shown}\nFROM {'.'.join(map(quoted, parts))};\n"


def quoted(name: str) -> str:
    """A name of a column or table, as standard SQL quotes it."""
    if "\0" in name:
        raise ExportError(f"the name {name!r} holds a zero byte, which SQL cannot: rename the column")
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """A label, or a level, as SQL writes it."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if "\0" in value:
        raise ExportError(f"the text {value!r} holds a zero byte, which SQL cannot: replace it")
    text = str(value).replace("'", "''")
    return f"'{text}'"


def _number(value: float) -> str:
    """A float64; with an exponent, which makes it binary and no decimal in DuckDB."""
    text = exact(value)
    return text if "e" in text else f"{text}e0"


def _tree(model: Exported) -> Exported:
    """The model without shared nodes, if that is small enough."""
    table = model.table
    if not table.is_tree:
        try:
            table = unroll(table, max_nodes=MOST_NODES)
        except ValueError as error:
            raise ExportError(
                f"SQL has no shared conditions, and without them {error}: export a program, with to_python(), to_c() "
                "or to_javascript()"
            ) from error
    if table.n_nodes > MOST_NODES:
        raise ExportError(
            f"the tree has {table.n_nodes:,} nodes, more than databases take in an expression ({MOST_NODES:,}): export "
            "a program, with to_python(), to_c() or to_javascript()"
        )
    return Exported(table, model.columns, model.classes, model.by_name)


def _case(model: Exported, leaf: Callable[[int], str]) -> list[str]:
    """Lines of CASE expressions over the nodes of a tree; ``leaf`` writes a leaf.

    What stands behind ELSE goes on with the next WHEN and nests nothing. Where a tree is too deep to the low side, the
    deeper side comes last, so that expressions are within each other only as often as a tree of so many leaves has
    full levels.
    """
    table = model.table
    depth, turned = _nesting(model, turning=False)
    if depth > _DEEPEST:
        _, turned = _nesting(model, turning=True)
    lines: dict[int, list[str]] = {}
    for node in range(table.n_nodes - 1, -1, -1):  # children before parents
        if table.feature[node] == LEAF:
            lines[node] = [leaf(node)]
            continue
        low, high = lines.pop(int(table.low[node])), lines.pop(int(table.high[node]))
        test = condition(model, model.ask(node))
        if turned[node]:
            test, low, high = f"({test}) IS NOT TRUE", high, low
        then = _after(f"WHEN {test} THEN ", low)
        rest = [high[0].removeprefix("CASE "), *high[1:]] if high[0].startswith("CASE ") else [f"ELSE {high[0]}", "END"]
        lines[node] = [f"CASE {then[0]}", *then[1:], *rest]
    return lines[0]


def _nesting(model: Exported, *, turning: bool) -> tuple[int, list[bool]]:
    """How deep expressions are within each other, and the nodes whose low side comes last."""
    table = model.table
    depth, turned = [0] * table.n_nodes, [False] * table.n_nodes
    for node in reversed(list(table.splits())):
        low, high = depth[table.low[node]], depth[table.high[node]]
        turned[node] = turning and low > high
        first, last = (high, low) if turned[node] else (low, high)
        depth[node] = max(first + 1, last)
    return depth[0], turned


def _after(word: str, lines: list[str]) -> list[str]:
    """Lines behind a word, further in; a text within a line stays what it is, line ends included."""
    return [word + lines[0], *("  " + line for line in lines[1:])]


def condition(model: Exported, ask: Ask) -> str:
    """Whether a row goes low; unknown, which is as good as false, where a missing value goes high."""
    if ask.column < 0:
        assert ask.threshold is not None
        total = " + ".join(f"{_number(value)} * {_as_number(model, column)}" for column, value in ask.terms)
        test = f"{total} <= {_number(ask.threshold)}"
        return f"({test} OR {total} IS NULL)" if ask.missing_low else test
    name, kind = _column(model, ask.column), model.kind(ask.column)
    if ask.codes is not None:
        texts: list[Any] = list(model.texts(ask.column, ask.codes)) if model.is_text(ask.column) else sorted(ask.codes)
        return _or_missing(f"{name} IN ({', '.join(map(literal, texts))})" if texts else "1 = 0", name, ask)
    threshold = ask.threshold
    assert threshold is not None
    if kind is Kind.ORDERED and model.is_text(ask.column):
        low, high = model.low_and_high_levels(ask)
        if not ask.missing_low:
            return f"{name} IN ({', '.join(map(literal, low))})" if low else "1 = 0"
        # a level that training did not have is missing
        return f"({name} NOT IN ({', '.join(map(literal, high))}) OR {name} IS NULL)" if high else "1 = 1"
    if threshold == -math.inf:
        return f"{name} IS NULL" if ask.missing_low else "1 = 0"
    if threshold == math.inf:
        return "1 = 1" if ask.missing_low else f"{name} IS NOT NULL"
    if kind is Kind.BOOLEAN:
        never, always = threshold < 0, threshold >= 1
        test = "1 = 0" if never else f"{name} IS NOT NULL" if always else f"NOT {name}"
        return _or_missing(test, name, ask)
    if kind in (Kind.DATE, Kind.MOMENT, Kind.TIME):
        return _or_missing(_before(name, kind, threshold), name, ask)
    if kind is Kind.DURATION:
        raise ExportError(
            f"column {model.columns[ask.column].name!r} holds durations, which databases write in different ways: turn "
            "it into a number, for example of seconds, and fit again"
        )
    return _or_missing(f"{name} <= {_number(threshold)}", name, ask)


def _before(name: str, kind: Kind, threshold: float) -> str:
    """At most the threshold, as before the first moment after it: so parts of seconds may be written or not."""
    after = math.floor(threshold) + 1
    step = timedelta(days=after) if kind is Kind.DATE else timedelta(microseconds=after)
    moment = EPOCH + step
    if kind is Kind.DATE:
        return f"{name} < '{moment.date().isoformat()}'"
    if kind is Kind.TIME:
        if after >= 86_400_000_000:
            return f"{name} IS NOT NULL"
        return f"{name} < '{moment.time().isoformat(timespec='microseconds')}'"
    return f"{name} < '{moment.isoformat(sep=' ', timespec='microseconds')}'"


def _or_missing(test: str, name: str, ask: Ask) -> str:
    return f"({test} OR {name} IS NULL)" if ask.missing_low else test


def _as_number(model: Exported, column: int) -> str:
    """A column as a summand; most databases do not add up booleans."""
    name = _column(model, column)
    return f"CASE WHEN {name} THEN 1 WHEN NOT {name} THEN 0 END" if model.kind(column) is Kind.BOOLEAN else name


def _column(model: Exported, column: int) -> str:
    return quoted(model.columns[column].name)
