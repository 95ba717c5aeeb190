"""A model as a table of rules, one for each path to a leaf; exactly one rule holds for any row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from proofwood.data.kinds import MOMENTS, Kind
from proofwood.data.moments import text_of
from proofwood.decimals import short
from proofwood.model.node_table import LEAF
from proofwood.printable import in_list, in_sentence, unit_text
from proofwood.show.exports.paths import Key, Range, has_gap, has_value, is_possible, key_of
from proofwood.show.exports.source import Exported, ExportError, export_a_program

MOST_RULES = 20_000
"""The most paths to leaves of a model whose rules can be listed."""


@dataclass(frozen=True, slots=True)
class Path:
    """A way to a leaf that a row can take: the leaf, and the values of each column or sum on the way."""

    node: int
    ranges: dict[Key, Range] = field(default_factory=dict)


def rules(model: Exported) -> list[dict[str, Any]]:
    """One entry for each path to a leaf that a row can take."""
    table = model.table
    found: list[dict[str, Any]] = []
    numbers, words = model.numbers_of_leaf.tolist(), model.words
    for path in paths_of(model):
        leaf = path.node
        of_leaf = numbers[model.leaves[leaf]]
        beside = {words.numbers: dict(zip(map(str, model.labels), of_leaf, strict=True))} if model.labels else {}
        entry: dict[str, Any] = {
            "rule": len(found) + 1,
            "if": " and ".join(filter(None, (_words(model, key, one) for key, one in path.ranges.items()))) or "always",
            words.answer if model.labels else "prediction": model.answer(leaf),
            "conditions": [_plain(model, key, one) for key, one in path.ranges.items()],
            **beside,
            "leaf": leaf,
            "leaf_rows": int(table.rows[leaf]),
            "leaf_weight": float(table.weight[leaf].sum()),
        }
        found.append(entry)
        if len(found) > MOST_RULES:
            raise ExportError(f"the model has more than {MOST_RULES:,} paths to its leaves: {export_a_program()}")
    return found


def paths_of(model: Exported) -> Iterator[Path]:
    """The ways to leaves; exactly one is taken by any row."""
    table = model.table
    pending = [Path(0)]
    while pending:
        path = pending.pop()
        if table.feature[path.node] == LEAF:
            yield path
            continue
        ask = model.ask(path.node)
        key = key_of(ask)
        known = path.ranges.get(key, Range())
        for low in (False, True):  # the low side is popped first
            after = known.with_answer(ask, low=low)
            if is_possible(model, key, after):
                child = int(table.low[path.node] if low else table.high[path.node])
                pending.append(Path(child, {**path.ranges, key: after}))


def _plain(model: Exported, key: Key, one: Range) -> dict[str, Any]:
    """A condition as plain values, with the codes and units of ``to_numbers``."""
    column, terms = key
    condition: dict[str, Any] = {"missing": one.missing, "present": one.present}
    if column < 0:
        condition["sum"] = {model.columns[index].name: value for index, value in terms}
    else:
        condition["column"] = model.columns[column].name if model.by_name else column
    if one.above > -math.inf:
        condition["above"] = one.above
    if one.up_to < math.inf:
        condition["up_to"] = one.up_to
    for name, codes in (("in", one.inside), ("not_in", one.outside if one.inside is None else None)):
        if codes is not None and (codes or name == "in"):
            condition[name] = _levels(model, column, codes)
    return condition


def _levels(model: Exported, column: int, codes: frozenset[int]) -> list[Any]:
    """The levels with these codes as plain values; dates and times as text."""
    kind = model.read_as(column)
    if kind not in MOMENTS:
        return model.values(column, codes)
    levels = model.columns[column].levels
    return [levels[code] for code in sorted(codes) if code < len(levels)]


def _words(model: Exported, key: Key, one: Range) -> str:
    """The condition of a path on a column as a text; empty if it permits every value."""
    column, terms = key
    if column < 0:
        name = " + ".join(f"{short(value)}*{_name(model, index)}" for index, value in terms)
        name = f"({name.replace('+ -', '- ')})"
    else:
        name = _name(model, column)
    gap = has_gap(model, key, one)
    if not has_value(model, key, one) or (column >= 0 and model.ordered(column) and not one.codes(model, column)):
        return f"{name} is missing"  # a level without a place in the order counts as missing
    text = _values(model, column, name, one)
    if not text:
        return f"{name} is not missing" if has_gap(model, key, Range()) and not gap else ""
    return f"({text} or {name} is missing)" if gap else text


def _name(model: Exported, column: int) -> str:
    return in_sentence(model.columns[column].name) if model.by_name else f"x[{column}]"


def _values(model: Exported, column: int, name: str, one: Range) -> str:
    if one.inside is not None or one.outside:
        codes, word = (one.outside, "not in") if one.inside is None else (one.inside - one.outside, "in")
        levels = model.columns[column].levels
        shown = [in_list(levels[code]) if levels else str(code) for code in sorted(codes)]
        return f"{name} {word} {{{', '.join(shown)}}}"
    if column >= 0 and model.ordered(column):
        levels = model.columns[column].levels
        shown = [in_list(levels[code]) for code in one.codes(model, column)]
        return "" if len(shown) == len(levels) else f"{name} in {{{', '.join(shown)}}}"
    if column >= 0 and model.columns[column].shown_as is Kind.BOOLEAN:
        no, yes = (one.above < value <= one.up_to for value in (0, 1))
        if no is not yes or model.kind(column) is Kind.BOOLEAN:
            return "" if no and yes else name if yes else f"not {name}"
    parts = []
    if one.above > -math.inf:
        parts.append(f"{name} > {_number(model, column, one.above)}")
    if one.up_to < math.inf:
        parts.append(f"{name} <= {_number(model, column, one.up_to)}")
    return " and ".join(parts)


def _number(model: Exported, column: int, value: float) -> str:
    kind = model.kind(column) if column >= 0 else Kind.NUMERIC
    if kind in MOMENTS:
        return text_of(value, kind, model.columns[column].zone)
    return f"{short(value)}{unit_text(model.columns[column].unit if column >= 0 else None)}"
