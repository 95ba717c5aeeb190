"""A model as PMML 4.4, as a ``TreeModel``. The predicate of the first child of a node also covers missing values."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

from proofwood.data.kinds import MOMENTS, Kind
from proofwood.model.node_table import LEAF, OBLIQUE
from proofwood.model.reshape import unroll_from
from proofwood.show.exports.source import (
    OF_CLASSES,
    Ask,
    Exported,
    ExportError,
    conversion,
    exact,
    export_a_program,
    plain,
    require_exact_levels,
    require_one_type,
)

NAMESPACE = "http://www.dmg.org/PMML-4_4"
DEEPEST = 200
"""The most depth of a tree, and most terms of one field, because each of them is a nested element."""
_PLAIN = re.compile(r"[^\s\"\\]+")


def to_pmml(model: Exported) -> str:
    """Return the PMML document as text.

    Columns of text are strings, booleans are booleans, and categories have their type in training. Dates and times are
    numbers, as in ``to_numbers``.
    """
    table = model.table
    if table.depth > DEEPEST:
        raise ExportError(
            f"the model has depth {table.depth:,}, but XML readers permit only some hundred nested elements (here "
            f"{DEEPEST}): {export_a_program()}"
        )
    for column in model.used:
        require_xml(model.columns[column].name, "the name of a column")
    root = ET.Element("PMML", {"xmlns": NAMESPACE, "version": "4.4"})
    header = ET.SubElement(root, "Header", {"description": "decision model"})
    ET.SubElement(header, "Application", {"name": "proofwood"})
    for meaning in (model.columns[column] for column in model.used):
        if told := conversion(meaning):
            ET.SubElement(header, "Annotation").text = require_xml(f"{meaning.name}: {told}", "a unit")
    dictionary = ET.SubElement(root, "DataDictionary", {"numberOfFields": str(len(model.used) + 1)})
    for column in model.used:
        kind, typed = _type(model, column)
        declared = ET.SubElement(
            dictionary, "DataField", {"name": model.columns[column].name, "optype": kind, "dataType": typed}
        )
        if typed == "boolean":
            for value in ("true", "false"):
                ET.SubElement(declared, "Value", {"value": value})
    target = "prediction"
    while target in {column.name for column in model.columns}:
        target += "_"
    labels = [require_xml(_shown(label), "the label") for label in model.labels]
    answer = {"optype": "categorical" if labels else "continuous", "dataType": _answer_type(model)}
    declared = ET.SubElement(dictionary, "DataField", {"name": target, **answer})
    for label in labels:
        ET.SubElement(declared, "Value", {"value": label})
    tree = ET.SubElement(
        root,
        "TreeModel",
        {
            "functionName": "classification" if labels else "regression",
            "missingValueStrategy": "none",  # a test is false for a missing value
            "noTrueChildStrategy": "returnLastPrediction",
            "splitCharacteristic": "binarySplit",
        },
    )
    schema = ET.SubElement(tree, "MiningSchema")
    for column in model.used:
        usage = {"name": model.columns[column].name, "invalidValueTreatment": "asIs"}
        ET.SubElement(schema, "MiningField", usage)
    ET.SubElement(schema, "MiningField", {"name": target, "usageType": "target"})
    output = ET.SubElement(tree, "Output")
    ET.SubElement(output, "OutputField", {"name": "predicted", "feature": "predictedValue", **answer})
    for label in labels if model.words is OF_CLASSES else ():
        ET.SubElement(
            output,
            "OutputField",
            {
                "name": f"probability({label})",
                "feature": "probability",
                "value": label,
                "dataType": "double",
                "optype": "continuous",
            },
        )
    sums = _sums(model, tree)
    _nodes(model, tree, sums)
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _sums(model: Exported, tree: ET.Element) -> dict[int, str]:
    """Add derived fields for the weighted sums; return the name of each field by the node that tests it.

    A sum of many terms is split into several fields, so that elements are not nested too deep.
    """
    oblique = [node for node in model.table.splits() if model.table.feature[node] == OBLIQUE]
    if not oblique:
        return {}
    names = {}
    transformations = ET.SubElement(tree, "LocalTransformations")
    for number, node in enumerate(oblique):
        names[node] = f"weighted sum {number}"
        total: ET.Element | None = None
        for count, (column, value) in enumerate(model.ask(node).terms):
            if total is not None and count % DEEPEST == 0:
                before = f"{names[node]}, first {count} terms"
                _derived(transformations, before).append(total)
                total = ET.Element("FieldRef", {"field": before})
            part = ET.Element("Apply", {"function": "*"})
            ET.SubElement(part, "Constant", {"dataType": "double"}).text = exact(value)
            if model.kind(column) is Kind.BOOLEAN:  # 1 if true, 0 if false
                ET.SubElement(part, "NormDiscrete", {"field": model.columns[column].name, "value": "true"})
            else:
                ET.SubElement(part, "FieldRef", {"field": model.columns[column].name})
            if total is not None:
                both = ET.Element("Apply", {"function": "+"})
                both.extend([total, part])
                part = both
            total = part
        assert total is not None  # oblique nodes have coefficients
        _derived(transformations, names[node]).append(total)
    return names


def _derived(transformations: ET.Element, name: str) -> ET.Element:
    attributes = {"name": name, "optype": "continuous", "dataType": "double"}
    return ET.SubElement(transformations, "DerivedField", attributes)


def _nodes(model: Exported, tree: ET.Element, sums: dict[int, str]) -> None:
    """Add the nodes of the model; a shared node is written once for each path to it."""
    try:
        table, source = unroll_from(model.table)
    except ValueError as error:
        raise ExportError(f"a PMML tree has no shared nodes, and {error}: {export_a_program()}") from error
    totals = model.table.weight.sum(axis=1)
    elements: dict[int, ET.Element] = {}
    for node in range(table.n_nodes):
        origin = int(source[node])
        element = elements.get(node)
        if element is None:
            element = ET.SubElement(tree, "Node", {"id": str(node)})
            ET.SubElement(element, "True")
        element.set("recordCount", _shown(float(totals[origin])))
        element.set("score", _shown(model.answer(origin)))
        if table.feature[node] == LEAF:
            _add_shares(model, element, origin)
            continue
        ask = replace(model.ask(origin), gap=bool(table.gap_comes[node]) and model.may_lack(*table.tested(node)))
        first, other = int(table.low[node]), int(table.high[node])
        first, other = (other, first) if ask.contrary else (first, other)
        for child in (first, other):  # the first child whose test is true is chosen
            elements[child] = ET.SubElement(element, "Node", {"id": str(child)})
        elements[first].append(_predicate(model, ask, sums.get(origin)))
        ET.SubElement(elements[other], "True")


def _add_shares(model: Exported, element: ET.Element, leaf: int) -> None:
    """Add the distribution of the classes at a leaf; PMML has no place for mean rewards."""
    if model.words is not OF_CLASSES:
        return
    shares = model.numbers_of_leaf[model.leaves[leaf]].tolist()
    for label, share, weight in zip(model.labels, shares, model.table.weight[leaf].tolist(), strict=True):
        distribution = {"value": _shown(label), "recordCount": _shown(weight), "probability": exact(share)}
        ET.SubElement(element, "ScoreDistribution", distribution)


def _predicate(model: Exported, ask: Ask, of_sum: str | None) -> ET.Element:
    """The predicate that is true for rows that go low; if ``ask.contrary``, for rows that go high."""
    if of_sum is not None:
        return _with_gap(_compared(of_sum, ask), of_sum, ask)
    column, name = ask.column, model.columns[ask.column].name
    if model.ordered(column) and ask.codes is None:
        low, high = model.low_and_high_codes(ask)
        if ask.contrary:
            return _set(model, column, high)
        if ask.missing_low:  # levels that training did not have count as missing
            return _with_gap(_set(model, column, high, inside=False), name, ask)
        return _set(model, column, low)
    if ask.threshold == -math.inf:
        return _tested(name, "isMissing") if ask.missing_low else ET.Element("False")
    if ask.threshold == math.inf:
        return ET.Element("True") if ask.missing_low else _tested(name, "isNotMissing")
    if ask.codes is not None:
        test = _set(model, column, sorted(ask.codes), inside=not ask.contrary)
        return _any(_tested(name, "isNotMissing"), test, operator="and") if ask.contrary else _with_gap(test, name, ask)
    assert ask.threshold is not None
    if model.kind(column) is Kind.BOOLEAN:
        chosen = [text for number, text in ((0, "false"), (1, "true")) if (number <= ask.threshold) is not ask.contrary]
        test = _any(*(_tested(name, "equal", value) for value in chosen)) if chosen else ET.Element("False")
        return _with_gap(test, name, ask)
    return _with_gap(_compared(name, ask), name, ask)


def _tested(name: str, operator: str, value: str | None = None) -> ET.Element:
    element = ET.Element("SimplePredicate", {"field": name, "operator": operator})
    if value is not None:
        element.set("value", value)
    return element


def _compared(name: str, ask: Ask) -> ET.Element:
    assert ask.threshold is not None
    return _tested(name, "greaterThan" if ask.contrary else "lessOrEqual", exact(ask.threshold))


def _with_gap(test: ET.Element, name: str, ask: Ask) -> ET.Element:
    """Add "or is missing" to ``test`` if missing values go low; ``test`` itself is false for missing values."""
    return _any(_tested(name, "isMissing"), test) if ask.missing_low and ask.gap else test


def _any(*predicates: ET.Element, operator: str = "or") -> ET.Element:
    if len(predicates) == 1:
        return predicates[0]
    both = ET.Element("CompoundPredicate", {"booleanOperator": operator})
    both.extend(predicates)
    return both


def _set(model: Exported, column: int, codes: Sequence[int], *, inside: bool = True) -> ET.Element:
    """The predicate that a category is one of the levels with these codes, or (``inside=False``) none of them.

    It is an array, or separate tests if a level has characters that an array would have to escape.
    """
    name, kind = model.columns[column].name, model.read_as(column)
    values = model.values(column, codes)
    if not values:
        return ET.Element("False" if inside else "True")
    texts = [_shown(value) if kind is not None else require_xml(value, "the level") for value in values]
    if kind is Kind.NUMERIC or kind in MOMENTS:
        texts = [exact(value) for value in values]
    if len(texts) > 1 and kind is not Kind.BOOLEAN and all(_PLAIN.fullmatch(text) for text in texts):
        element = ET.Element("SimpleSetPredicate", {"field": name, "booleanOperator": "isIn" if inside else "isNotIn"})
        typed = {None: "string", Kind.INTEGER: "int"}.get(kind, "real")
        shown = [f'"{text}"' for text in texts] if kind is None else texts
        ET.SubElement(element, "Array", {"n": str(len(texts)), "type": typed}).text = " ".join(shown)
        return element
    tests = [_tested(name, "equal" if inside else "notEqual", text) for text in texts]
    return _any(*tests, operator="or" if inside else "and")


def _type(model: Exported, column: int) -> tuple[str, str]:
    """The PMML attributes ``optype`` and ``dataType`` of a column."""
    kind = model.read_as(column)
    require_one_type(model, column, "a field of PMML")
    require_exact_levels(model, column, "a number of PMML")
    if kind is Kind.BOOLEAN:
        return "categorical", "boolean"
    if kind is None:
        return "categorical", "string"
    if kind is Kind.INTEGER and model.has_levels(column):
        return "categorical", "integer"
    return "continuous", "double"  # in PMML4S, two values of a categorical double are never equal


def require_xml(text: str, what: str) -> str:
    """``text``, if XML permits its characters. Raise ExportError otherwise; ``what`` is its name in the message."""
    if re.search(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text):
        raise ExportError(f"{what} {text!r} contains a character that XML does not permit: rename it")
    return text


def _answer_type(model: Exported) -> str:
    kinds = {type(label) for label in model.labels} or {float}
    return {frozenset({int}): "integer", frozenset({float}): "double"}.get(frozenset(kinds), "string")


def _shown(value: Any) -> str:
    value = plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return exact(value) if isinstance(value, float) else str(value)
