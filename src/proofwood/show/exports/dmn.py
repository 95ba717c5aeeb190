"""A model as a decision table of DMN 1.3: one rule for each way to a leaf, with conditions in FEEL."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree as ET

from proofwood.data.kinds import MOMENTS, Kind
from proofwood.show.exports.nested import identifiers
from proofwood.show.exports.paths import Key, Range, has_gap, has_value
from proofwood.show.exports.pmml import require_xml
from proofwood.show.exports.rules import Path, paths_of
from proofwood.show.exports.source import (
    Exported,
    ExportError,
    conversion,
    export_a_program,
    instant,
    require_one_type,
)

NAMESPACE = "https://www.omg.org/spec/DMN/20191111/MODEL/"
MOST_RULES = 5_000
"""The most rules of a table."""
_RESERVED = {
    *("and", "between", "date", "duration", "else", "every", "external", "false", "for", "function", "if", "in"),
    *("instance", "not", "null", "of", "or", "prediction", "return", "satisfies", "some", "then", "time", "true"),
}
_TYPES = {
    None: "string",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.MOMENT: "dateTime",
    Kind.TIME: "time",
    Kind.DURATION: "dayTimeDuration",
}
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def to_dmn(model: Exported) -> str:
    """Return the DMN document as text, a decision ``prediction`` with one table of hit policy UNIQUE.

    Raises
    ------
    ExportError
        If the model has too many ways to its leaves, or FEEL cannot hold it.
    """
    table = _Table(model)
    root = ET.Element(
        "definitions",
        {"xmlns": NAMESPACE, "id": "definitions", "name": "decision model", "namespace": "urn:proofwood:model"},
    )
    for column, name in table.names.items():
        given = ET.SubElement(root, "inputData", {"id": f"input_{column}", "name": name})
        told = conversion(model.columns[column])
        described = f"{model.columns[column].name}{told and ': '}{told}"
        ET.SubElement(given, "description").text = require_xml(described, "the name of a column")
        declared = {"id": f"variable_{column}", "name": name, "typeRef": table.type_of(column)}
        ET.SubElement(given, "variable", declared)
    decision = ET.SubElement(root, "decision", {"id": "decision", "name": "prediction"})
    typed = {bool: "boolean", str: "string"}.get(model.answer_type("an output of DMN"), "number")
    ET.SubElement(decision, "variable", {"id": "variable_prediction", "name": "prediction", "typeRef": typed})
    for column in table.names:
        needed = ET.SubElement(decision, "informationRequirement", {"id": f"requirement_{column}"})
        ET.SubElement(needed, "requiredInput", {"href": f"#input_{column}"})
    table.write(ET.SubElement(decision, "decisionTable", {"id": "table", "hitPolicy": "UNIQUE"}), typed)
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


class _Table:
    """The inputs and rules of a decision table."""

    def __init__(self, model: Exported) -> None:
        # any column may be null, so that exactly one rule holds for any row
        self.model = replace(model, gaps=None)
        self.names = _names(self.model)
        self.paths: list[Path] = []
        for path in paths_of(self.model):
            self.paths.append(path)
            if len(self.paths) > MOST_RULES:
                raise ExportError(
                    f"the model has more than {MOST_RULES:,} ways to its leaves, too many for a decision table: "
                    + export_a_program()
                )
        self.inputs: list[Key] = list(dict.fromkeys(key for path in self.paths for key in path.ranges))

    def type_of(self, column: int) -> str:
        """The type of a column in DMN."""
        require_one_type(self.model, column, "an input of DMN")
        return _TYPES.get(self.model.read_as(column), "number")

    def write(self, table: ET.Element, typed: str) -> None:
        """Add inputs, output and rules to a table."""
        for number, key in enumerate(self.inputs):
            column, name = key[0], self._expression(key)
            label = require_xml(self.model.columns[column].name, "the name of a column") if column >= 0 else name
            given = ET.SubElement(table, "input", {"id": f"column_{number}", "label": label})
            kind = "number" if column < 0 else self.type_of(column)
            expression = ET.SubElement(given, "inputExpression", {"id": f"expression_{number}", "typeRef": kind})
            ET.SubElement(expression, "text").text = name
        ET.SubElement(table, "output", {"id": "output", "name": "prediction", "typeRef": typed})
        for number, path in enumerate(self.paths):
            rule = ET.SubElement(table, "rule", {"id": f"rule_{number}"})
            for at, key in enumerate(self.inputs):
                entry = ET.SubElement(rule, "inputEntry", {"id": f"rule_{number}_{at}"})
                test = self.test(key, path.ranges[key]) if key in path.ranges else "-"
                ET.SubElement(entry, "text").text = require_xml(test, "the condition")
            entry = ET.SubElement(rule, "outputEntry", {"id": f"rule_{number}_output"})
            answer = literal(self.model.answer(path.node))
            ET.SubElement(entry, "text").text = require_xml(answer, f"the {self.model.words.answer}")

    def _expression(self, key: Key) -> str:
        """The expression of an input: a column or a weighted sum, which is null if a part is."""
        column, terms = key
        if column >= 0:
            return self.names[column]
        parts = []
        for one, value in terms:
            name = self.names[one]
            if self.model.kind(one) is Kind.BOOLEAN:
                name = f"(if {name} = null then null else if {name} then 1 else 0)"
            parts.append(f"{literal(value)} * {name}")
        return " + ".join(parts)

    # ------------------------------------------------------------------------------------------------------- tests

    def test(self, key: Key, one: Range) -> str:
        """The unary tests of FEEL that hold for the values of a range."""
        model, column = self.model, key[0]
        gap = has_gap(model, key, one)
        if not has_value(model, key, one):
            return "null"
        if column >= 0 and model.ordered(column) and one.inside is None and not one.outside:
            return self._of_ordered(column, one, gap)
        if one.inside is not None or one.outside:
            inside = one.inside is not None
            codes = (one.inside or frozenset()) - one.outside if inside else one.outside
            return _listed(self._levels(column, codes), gap, inside=inside)
        test = self._compared(key, one)
        if not test:
            return "-" if gap else "not(null)"
        return f"null, {test}" if gap else test

    def _of_ordered(self, column: int, one: Range, gap: bool) -> str:
        """The tests of ordered levels; one that training did not have counts as missing."""
        codes, n_levels = one.codes(self.model, column), len(self.model.columns[column].levels)
        if not gap:
            return _listed(self._levels(column, codes), False, inside=True)
        others = [code for code in range(n_levels) if code not in codes]
        return _listed(self._levels(column, others), True, inside=False)

    def _levels(self, column: int, codes: Iterable[int]) -> list[str]:
        kind, values = self.model.read_as(column), self.model.values(column, codes)
        return [self._moment(value, column, kind) if kind in MOMENTS and kind else literal(value) for value in values]

    def _compared(self, key: Key, one: Range) -> str:
        """The test of a range of numbers or moments; empty if it has no bounds."""
        column = key[0]
        kind = self.model.kind(column) if column >= 0 else Kind.NUMERIC
        if kind is Kind.BOOLEAN:
            no, yes = (one.above < value <= one.up_to for value in (0, 1))
            return "" if no and yes else str(yes).lower()
        bounds = [value if math.isinf(value) else self._bound(value, column, kind) for value in (one.above, one.up_to)]
        above, up_to = bounds
        if isinstance(above, str) and isinstance(up_to, str):
            return f"({above}..{up_to}]"
        return f"> {above}" if isinstance(above, str) else f"<= {up_to}" if isinstance(up_to, str) else ""

    def _bound(self, value: float, column: int, kind: Kind) -> str:
        return self._moment(math.floor(value), column, kind) if kind in MOMENTS else literal(value)

    def _moment(self, value: int, column: int, kind: Kind) -> str:
        """The expression of a date, moment, time or duration, given as its number."""
        if kind is Kind.DURATION:
            return f'duration("{"-" if value < 0 else ""}PT{Decimal(abs(value)).scaleb(-6):f}S")'
        meaning = self.model.columns[column]
        at = instant(value, kind, meaning.name)
        if kind is Kind.DATE:
            return f'date("{at.date().isoformat()}")'
        if kind is Kind.TIME:
            return f'time("{at.time().isoformat()}")'
        return f'date and time("{at.isoformat()}{"" if meaning.zone is None else "Z"}")'


def _listed(literals: list[str], gap: bool, *, inside: bool) -> str:
    """The test that a value is (``inside=False``: is not) one of some levels, and whether null passes it."""
    listed = ", ".join(["null"] * (gap is inside) + literals)
    return listed if inside else f"not({listed})" if listed else "-"


def _names(model: Exported) -> dict[int, str]:
    """A name of FEEL for each column that the model tests: its own, if FEEL permits it."""
    taken, found = {column.name for column in model.columns}, {}
    for column, word in identifiers(model).items():
        name = model.columns[column].name
        if not re.fullmatch(r"[^\W\d]\w*", name) or name.lower() in _RESERVED:
            name = f"{word}_{column}"
            while name in taken:
                name += "_"
        found[column] = name
    return found


def literal(value: Any) -> str:
    """A text, boolean or number as a literal of FEEL, which has no exponents."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"{Decimal(repr(value)):f}".removesuffix(".0")
    return f'"{"".join(map(_character, str(value)))}"'


def _character(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return char if char.isprintable() or ord(char) > 0xFFFF else f"\\u{ord(char):04X}"
