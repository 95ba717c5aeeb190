"""A model as a table of rules: one for each way to a leaf, of which exactly one holds for any row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from proofwood.data.kinds import MOMENTS, Kind
from proofwood.data.moments import text_of
from proofwood.model.node_table import LEAF
from proofwood.show.exports.source import Ask, Exported, ExportError
from proofwood.show.labels import tidy_text

MOST_RULES = 20_000
"""Ways to leaves at which a table of rules is given up."""


@dataclass(frozen=True, slots=True)
class _Range:
    """What a path says of one column, or of one weighted sum.

    Parameters
    ----------
    above, up_to : values between them, the second included
    inside : the only codes, or None for all that are not ``outside``
    outside : codes that are ruled out
    missing : whether a missing value is possible
    present : whether a present value is
    """

    above: float = -math.inf
    up_to: float = math.inf
    inside: frozenset[int] | None = None
    outside: frozenset[int] = frozenset()
    missing: bool = True
    present: bool = True

    def with_answer(self, ask: Ask, *, low: bool) -> _Range:
        """After a test."""
        missing = self.missing and ask.missing_low is low
        if ask.codes is not None:
            if not low:
                inside = None if self.inside is None else self.inside - ask.codes
                return replace(self, missing=missing, inside=inside, outside=self.outside | ask.codes)
            inside = ask.codes - self.outside if self.inside is None else self.inside & ask.codes
            return replace(self, missing=missing, inside=inside)
        assert ask.threshold is not None
        if low:
            present = self.present and ask.threshold > -math.inf
            return replace(self, missing=missing, present=present, up_to=min(self.up_to, ask.threshold))
        present = self.present and ask.threshold < math.inf
        return replace(self, missing=missing, present=present, above=max(self.above, ask.threshold))

    @property
    def possible(self) -> bool:
        """Whether some value is left."""
        values = self.present and self.above < self.up_to and self.inside != frozenset()
        return values or self.missing


@dataclass(frozen=True, slots=True)
class _Path:
    node: int
    ranges: dict[tuple[int, tuple[tuple[int, float], ...]], _Range] = field(default_factory=dict)


def rules(model: Exported) -> list[dict[str, Any]]:
    """One entry for each way to a leaf that some row could take."""
    table = model.table
    found: list[dict[str, Any]] = []
    shares = model.probabilities_of_leaf.tolist()
    for path in _paths(model):
        code, leaf = int(table.label[path.node]), path.node
        entry: dict[str, Any] = {
            "rule": len(found) + 1,
            "if": " and ".join(_words(model, key, one) for key, one in path.ranges.items()) or "always",
            "class": model.labels[code],
            "conditions": [_plain(model, key, one) for key, one in path.ranges.items()],
            "probabilities": dict(zip(map(str, model.labels), shares[model.leaves[leaf]], strict=True)),
            "leaf": leaf,
            "leaf_rows": int(table.rows[leaf]),
            "leaf_weight": float(table.weight[leaf].sum()),
        }
        found.append(entry)
        if len(found) > MOST_RULES:
            raise ExportError(
                f"the model has more than {MOST_RULES:,} ways to its leaves: export a program, with to_python(), "
                "to_c() or to_javascript()"
            )
    return found


def _paths(model: Exported) -> Iterator[_Path]:
    table = model.table
    pending = [_Path(0)]
    while pending:
        path = pending.pop()
        if table.feature[path.node] == LEAF:
            yield path
            continue
        ask = model.ask(path.node)
        key = (ask.column, ask.terms)
        known = path.ranges.get(key, _Range())
        for low in (False, True):  # the low side is taken off the stack first
            after = known.with_answer(ask, low=low)
            if after.possible:
                child = int(table.low[path.node] if low else table.high[path.node])
                pending.append(_Path(child, {**path.ranges, key: after}))


def _plain(model: Exported, key: tuple[int, tuple[tuple[int, float], ...]], one: _Range) -> dict[str, Any]:
    """A condition as plain values, in the codes and units of ``to_numbers``."""
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
            text = column >= 0 and model.is_text(column)
            condition[name] = model.texts(column, codes) if text else sorted(codes)
    return condition


def _words(model: Exported, key: tuple[int, tuple[tuple[int, float], ...]], one: _Range) -> str:
    column, terms = key
    if column < 0:
        name = " + ".join(f"{tidy_text(value)}*{model.columns[index].name}" for index, value in terms)
        name = f"({name.replace('+ -', '- ')})"
    else:
        name = model.columns[column].name if model.by_name else f"x[{column}]"
    values = one.present and one.above < one.up_to and one.inside != frozenset()
    if not values:
        return f"{name} is missing"
    text = _values(model, column, name, one)
    if not text:
        return f"{name} is anything" if one.missing else f"{name} is not missing"
    return f"({text} or {name} is missing)" if one.missing else text


def _values(model: Exported, column: int, name: str, one: _Range) -> str:
    if one.inside is not None or one.outside:
        codes, word = (one.outside, "not in") if one.inside is None else (one.inside, "in")
        text = model.is_text(column)
        shown = model.texts(column, codes) if text else [str(code) for code in sorted(codes)]
        return f"{name} {word} {{{', '.join(shown)}}}"
    if column >= 0 and model.kind(column) is Kind.ORDERED and model.is_text(column):
        levels = model.columns[column].levels
        first = math.floor(one.above) + 1 if one.above > -math.inf else 0
        last = math.floor(one.up_to) if one.up_to < math.inf else len(levels) - 1
        return f"{name} in {{{', '.join(levels[max(first, 0) : last + 1])}}}"
    parts = []
    if one.above > -math.inf:
        parts.append(f"{name} > {_number(model, column, one.above)}")
    if one.up_to < math.inf:
        parts.append(f"{name} <= {_number(model, column, one.up_to)}")
    return " and ".join(parts)


def _number(model: Exported, column: int, value: float) -> str:
    kind = model.kind(column) if column >= 0 else Kind.NUMERIC
    return text_of(value, kind) if kind in MOMENTS else tidy_text(value)
