"""A model as PMML 4.4: a ``TreeModel`` whose first child of each node says where missing values go."""

from __future__ import annotations

import math
import re
from typing import Any
from xml.etree import ElementTree as ET

from proofwood.data.kinds import Kind
from proofwood.model.node_table import LEAF, OBLIQUE
from proofwood.model.reshape import unroll_from
from proofwood.show.exports.source import Ask, Exported, ExportError, exact, plain

NAMESPACE = "http://www.dmg.org/PMML-4_4"
_PLAIN = re.compile(r"[^\s\"\\]+")


def to_pmml(model: Exported) -> str:
    """The document as text.

    Columns of text are strings; dates and times are numbers, as ``to_numbers`` gives them.
    """
    for column in model.used:
        _require_xml(model.columns[column].name, "the name of a column")
    root = ET.Element("PMML", {"xmlns": NAMESPACE, "version": "4.4"})
    ET.SubElement(
        ET.SubElement(root, "Header", {"description": "decision model"}), "Application", {"name": "proofwood"}
    )
    dictionary = ET.SubElement(root, "DataDictionary", {"numberOfFields": str(len(model.used) + 1)})
    for column in model.used:
        text = model.is_text(column)
        kinds = {"optype": "categorical" if text else "continuous", "dataType": "string" if text else "double"}
        ET.SubElement(dictionary, "DataField", {"name": model.columns[column].name, **kinds})
    target = "prediction"
    while target in {column.name for column in model.columns}:
        target += "_"
    labels = [_require_xml(_shown(label), "the label") for label in model.labels]
    field = ET.SubElement(
        dictionary, "DataField", {"name": target, "optype": "categorical", "dataType": _label_type(model)}
    )
    for label in labels:
        ET.SubElement(field, "Value", {"value": label})
    tree = ET.SubElement(
        root,
        "TreeModel",
        {
            "functionName": "classification",
            "missingValueStrategy": "none",  # a test of a missing value does not hold
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
    ET.SubElement(
        output,
        "OutputField",
        {"name": "predicted", "feature": "predictedValue", "dataType": _label_type(model), "optype": "categorical"},
    )
    for label in labels:
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
    _nodes(model, tree, labels, sums)
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _sums(model: Exported, tree: ET.Element) -> dict[int, str]:
    """Derived fields of the weighted sums, by the node that tests them."""
    oblique = [node for node in model.table.splits() if model.table.feature[node] == OBLIQUE]
    if not oblique:
        return {}
    names = {}
    transformations = ET.SubElement(tree, "LocalTransformations")
    for number, node in enumerate(oblique):
        names[node] = f"weighted sum {number}"
        field = ET.SubElement(
            transformations, "DerivedField", {"name": names[node], "optype": "continuous", "dataType": "double"}
        )
        total: ET.Element | None = None
        for column, value in model.ask(node).terms:
            part = ET.Element("Apply", {"function": "*"})
            ET.SubElement(part, "Constant", {"dataType": "double"}).text = exact(value)
            ET.SubElement(part, "FieldRef", {"field": model.columns[column].name})
            if total is not None:
                both = ET.Element("Apply", {"function": "+"})
                both.extend([total, part])
                part = both
            total = part
        if total is not None:
            field.append(total)
    return names


def _nodes(model: Exported, tree: ET.Element, labels: list[str], sums: dict[int, str]) -> None:
    """The nodes of the model, shared ones as often as ways lead to them."""
    try:
        table, source = unroll_from(model.table)
    except ValueError as error:
        raise ExportError(
            f"a PMML tree has no shared nodes, and {error}: export a program, with to_python() or to_c()"
        ) from error
    totals = model.table.weight.sum(axis=1)
    elements: dict[int, ET.Element] = {}
    for node in range(table.n_nodes):
        origin = int(source[node])
        element = elements.get(node)
        if element is None:
            element = ET.SubElement(tree, "Node", {"id": str(node)})
            ET.SubElement(element, "True")
        element.set("recordCount", _shown(float(totals[origin])))
        element.set("score", labels[int(table.label[node])])
        if table.feature[node] == LEAF:
            shares = model.probabilities_of_leaf[model.leaves[origin]].tolist()
            for label, share, weight in zip(labels, shares, model.table.weight[origin].tolist(), strict=True):
                distribution = {"value": label, "recordCount": _shown(weight), "probability": exact(share)}
                ET.SubElement(element, "ScoreDistribution", distribution)
            continue
        low, high = int(table.low[node]), int(table.high[node])
        for child in (low, high):  # the first whose test holds is taken
            elements[child] = ET.SubElement(element, "Node", {"id": str(child)})
        elements[low].append(_predicate(model, model.ask(origin), sums.get(origin)))
        ET.SubElement(elements[high], "True")


def _predicate(model: Exported, ask: Ask, of_sum: str | None) -> ET.Element:
    """What holds of the rows that go low."""
    name = of_sum if of_sum is not None else model.columns[ask.column].name
    gap = ET.Element("SimplePredicate", {"field": name, "operator": "isMissing"})
    ordered = ask.column >= 0 and model.kind(ask.column) is Kind.ORDERED and model.is_text(ask.column)
    if ordered and ask.codes is None:
        low, high = model.low_and_high_levels(ask)
        return _any(gap, _none_of(name, high)) if ask.missing_low else _one_of(name, low)  # strange levels are missing
    if ask.threshold == -math.inf:
        return gap if ask.missing_low else ET.Element("False")
    if ask.threshold == math.inf:
        present = ET.Element("SimplePredicate", {"field": name, "operator": "isNotMissing"})
        return ET.Element("True") if ask.missing_low else present
    if ask.column >= 0 and ask.codes is not None and model.is_text(ask.column):
        test = _one_of(name, model.texts(ask.column, ask.codes))
    elif ask.codes is not None:
        test = _any(
            *(
                ET.Element("SimplePredicate", {"field": name, "operator": "equal", "value": f"{code}.0"})
                for code in sorted(ask.codes)
            )
        )
    else:
        assert ask.threshold is not None
        test = ET.Element("SimplePredicate", {"field": name, "operator": "lessOrEqual", "value": exact(ask.threshold)})
    return _any(gap, test) if ask.missing_low else test


def _any(*predicates: ET.Element, operator: str = "or") -> ET.Element:
    if len(predicates) == 1:
        return predicates[0]
    both = ET.Element("CompoundPredicate", {"booleanOperator": operator})
    both.extend(predicates)
    return both


def _one_of(name: str, texts: list[str]) -> ET.Element:
    return _set(name, texts, "isIn", "equal", "or") if texts else ET.Element("False")


def _none_of(name: str, texts: list[str]) -> ET.Element:
    return _set(name, texts, "isNotIn", "notEqual", "and") if texts else ET.Element("True")


def _set(name: str, texts: list[str], operator: str, single: str, together: str) -> ET.Element:
    """A test of a set; text by text where arrays, which are divided at spaces, would need escapes."""
    for text in texts:
        _require_xml(text, "the level")
    if len(texts) > 1 and all(_PLAIN.fullmatch(text) for text in texts):
        element = ET.Element("SimpleSetPredicate", {"field": name, "booleanOperator": operator})
        ET.SubElement(element, "Array", {"n": str(len(texts)), "type": "string"}).text = " ".join(
            f'"{text}"' for text in texts
        )
        return element
    tests = [ET.Element("SimplePredicate", {"field": name, "operator": single, "value": text}) for text in texts]
    return _any(*tests, operator=together)


def _require_xml(text: str, what: str) -> str:
    if re.search(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text):
        raise ExportError(f"{what} {text!r} holds a character that XML cannot: rename it")
    return text


def _label_type(model: Exported) -> str:
    kinds = {type(label) for label in model.labels}
    return {frozenset({int}): "integer", frozenset({float}): "double"}.get(frozenset(kinds), "string")


def _shown(value: Any) -> str:
    value = plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return exact(value) if isinstance(value, float) else str(value)
