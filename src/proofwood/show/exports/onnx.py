"""A model as an ONNX graph in float64: a tree finds the number of a leaf, tables give its label and probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from proofwood.model.node_table import LEAF, OBLIQUE, IntArray, NodeTable
from proofwood.model.reshape import unroll_from
from proofwood.model.thresholds import without_levels
from proofwood.show.exports.source import Exported, ExportError, require_exact_levels

OPSET, ML_OPSET, IR = 15, 3, 8
MOST_LEAVES = 2**24
"""Most leaves: the runtime returns their numbers in float32."""


def to_onnx(model: Exported, *, missing_text: str = "") -> Any:
    """An ``onnx.ModelProto`` with the outputs ``label`` and ``probabilities``.

    Its input is ``X``, (n_rows, n_features) float64 with NaN where missing. If the model tests columns of text, each
    column that it tests is an input of its own instead, (n_rows, 1), under its name: text, or float64 (categories that
    are not text by their numbers: 0 and 1, the number itself, days or microseconds).

    Parameters
    ----------
    missing_text : means a missing value in columns of text, since ONNX has no missing texts

    Raises
    ------
    ImportError
        If the package onnx is not installed.
    ExportError
        If ``missing_text`` is a level, and the model treats the two differently.
    """
    try:
        import onnx
        from onnx import TensorProto, helper
    except ImportError as error:
        raise ImportError("to_onnx() needs the package onnx: pip install 'proofwood[onnx]'") from error
    nodes: list[Any] = []
    constants: list[Any] = []
    texts = [column for column in model.used if model.has_levels(column)]
    if texts:
        inputs, place = _by_column(model, nodes, constants, missing_text)
    else:
        shape = [None, max(len(model.columns), 1)]
        inputs, place = [helper.make_tensor_value_info("X", TensorProto.DOUBLE, shape)], None
        nodes.append(helper.make_node("Identity", ["X"], ["numbers"]))
    width = len(model.columns) if place is None else len(place)
    features, sums = _with_sums(model, nodes, constants, place, width)
    tree, source = _tree(model)
    attributes = _attributes(model, tree, source, place, sums)
    nodes.append(
        helper.make_node("TreeEnsembleRegressor", [features], ["leaf_number"], domain="ai.onnx.ml", **attributes)
    )
    nodes.append(helper.make_node("Cast", ["leaf_number"], ["leaf_code"], to=TensorProto.INT64))
    constants.append(helper.make_tensor("first", TensorProto.INT64, [1], [-1]))
    nodes.append(helper.make_node("Reshape", ["leaf_code", "first"], ["leaf"]))
    label_type, of_class = _labels(model)
    labels = [of_class[code] for code in model.label_of_leaf]
    constants.append(helper.make_tensor("labels", label_type, [len(labels)], labels))
    shares = model.probabilities_of_leaf
    constants.append(helper.make_tensor("shares", TensorProto.DOUBLE, list(shares.shape), shares.ravel().tolist()))
    nodes.append(helper.make_node("Gather", ["labels", "leaf"], ["label"], axis=0))
    nodes.append(helper.make_node("Gather", ["shares", "leaf"], ["probabilities"], axis=0))
    graph = helper.make_graph(
        nodes,
        "proofwood",
        inputs,
        [
            helper.make_tensor_value_info("label", label_type, [None]),
            helper.make_tensor_value_info("probabilities", TensorProto.DOUBLE, [None, shares.shape[1]]),
        ],
        constants,
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    made = helper.make_model(graph, opset_imports=opsets, producer_name="proofwood", ir_version=IR)
    onnx.checker.check_model(made)
    return made


def _by_column(
    model: Exported, nodes: list[Any], constants: list[Any], missing_text: str
) -> tuple[list[Any], dict[int, int]]:
    """Inputs of one column each, made one table of numbers; the place of each column in it."""
    from onnx import TensorProto, helper

    inputs, parts = [], []
    for column in model.used:
        name = model.columns[column].name
        if not model.has_levels(column):
            inputs.append(helper.make_tensor_value_info(name, TensorProto.DOUBLE, [None, 1]))
            parts.append(name)
            continue
        if model.read_as(column) is None:
            inputs.append(helper.make_tensor_value_info(name, TensorProto.STRING, [None, 1]))
            _codes_of_texts(model, column, nodes, missing_text)
        else:
            inputs.append(helper.make_tensor_value_info(name, TensorProto.DOUBLE, [None, 1]))
            _codes_of_numbers(model, column, nodes, constants)
        parts.append(f"number {column}")
    nodes.append(helper.make_node("Concat", parts, ["numbers"], axis=1))
    return inputs, {column: at for at, column in enumerate(model.used)}


def _codes_of_texts(model: Exported, column: int, nodes: list[Any], missing_text: str) -> None:
    """Nodes that turn a column of text into the codes of its levels, NaN where it is missing."""
    from onnx import TensorProto, helper

    name, levels = model.columns[column].name, list(model.columns[column].levels)
    unknown = float("nan") if model.ordered(column) else float(len(levels))
    codes = [float(code) for code in range(len(levels))]
    if missing_text in levels and model.columns[column].missing:
        raise ExportError(
            f"column {name!r} has the level {missing_text!r}, which is to stand for missing values: choose another "
            "text, to_onnx(missing_text='(missing)')"
        )
    if missing_text not in levels:
        levels.append(missing_text)
        codes.append(float("nan"))
    tables = {"keys_strings": levels, "values_floats": codes, "default_float": unknown}
    nodes.append(helper.make_node("LabelEncoder", [name], [f"code {column}"], domain="ai.onnx.ml", **tables))
    nodes.append(helper.make_node("Cast", [f"code {column}"], [f"number {column}"], to=TensorProto.DOUBLE))


def _codes_of_numbers(model: Exported, column: int, nodes: list[Any], constants: list[Any]) -> None:
    """Nodes that turn a column of booleans, numbers or times into the codes of its levels, NaN where it is missing."""
    from onnx import TensorProto, helper

    name = model.columns[column].name
    values = model.values(column, range(len(model.columns[column].levels)))
    require_exact_levels(model, column, "a float64")
    n, nan = len(values), float("nan")
    unknown = nan if model.ordered(column) else float(n)

    def constant(what: str, shape: list[int], numbers: list[float]) -> str:
        constants.append(helper.make_tensor(f"{what} {column}", TensorProto.DOUBLE, shape, numbers))
        return f"{what} {column}"

    def node(operator: str, inputs: list[str], what: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(operator, inputs, [f"{what} {column}"], **attributes))
        return f"{what} {column}"

    equal = node("Equal", [name, constant("levels", [1, n], [float(value) for value in values])], "equal")
    marks = node("Cast", [equal], "marks", to=TensorProto.DOUBLE)
    code = node("MatMul", [marks, constant("codes", [n, 1], [float(place) for place in range(n)])], "code")
    known = node("Cast", [node("ReduceMax", [marks], "most", axes=[1])], "known", to=TensorProto.BOOL)
    coded = node("Where", [known, code, constant("unknown", [1, 1], [unknown])], "coded")
    node("Where", [node("IsNaN", [name], "gap"), constant("missing", [1, 1], [nan]), coded], "number")


def _with_sums(
    model: Exported, nodes: list[Any], constants: list[Any], place: dict[int, int] | None, width: int
) -> tuple[str, dict[int, int]]:
    """The numbers with a further column for each weighted sum, added up in the order of the model."""
    from onnx import TensorProto, helper

    oblique = np.flatnonzero(model.table.feature == OBLIQUE).tolist()
    if not oblique:
        return "numbers", {}
    parts = ["numbers"]
    for number, node in enumerate(oblique):
        total = ""
        for term, (column, value) in enumerate(model.ask(node).terms):
            tag = f"{number} {term}"
            at = column if place is None else place[column]
            constants.append(helper.make_tensor(f"at {tag}", TensorProto.INT64, [1], [at]))
            constants.append(helper.make_tensor(f"by {tag}", TensorProto.DOUBLE, [1], [value]))
            nodes.append(helper.make_node("Gather", ["numbers", f"at {tag}"], [f"value {tag}"], axis=1))
            nodes.append(helper.make_node("Mul", [f"value {tag}", f"by {tag}"], [f"part {tag}"]))
            if total:
                nodes.append(helper.make_node("Add", [total, f"part {tag}"], [f"sum {tag}"]))
            total = f"sum {tag}" if total else f"part {tag}"
        parts.append(total)
    nodes.append(helper.make_node("Concat", parts, ["numbers and sums"], axis=1))
    return "numbers and sums", {node: width + number for number, node in enumerate(oblique)}


def _tree(model: Exported) -> tuple[NodeTable, IntArray]:
    """The model as a tree of thresholds, and the node of the model that each of its nodes stands for.

    A weighted sum is a threshold on column 0 there, which :func:`_attributes` puts right.
    """
    table = model.table
    plain = table.changed(feature=np.where(table.feature == OBLIQUE, 0, table.feature), normals=None)
    flat, of_test = without_levels(plain)
    try:
        tree, of_flat = unroll_from(flat)
    except ValueError as error:
        raise ExportError(
            f"an ONNX tree has no shared nodes, and {error}: export a program, with to_python() or to_c()"
        ) from error
    if len(model.leaves) >= MOST_LEAVES:
        raise ExportError(f"the model has {len(model.leaves):,} leaves, and ONNX numbers at most {MOST_LEAVES:,}")
    return tree, of_test[of_flat]


def _attributes(
    model: Exported,
    table: NodeTable,
    source: IntArray,
    place: dict[int, int] | None,
    sums: dict[int, int],
) -> dict[str, Any]:
    """Attributes of the operator that holds a tree."""
    from onnx import TensorProto, helper

    n = table.n_nodes
    leaf = table.feature == LEAF
    features = [
        0 if stop else sums[origin] if origin in sums else column if place is None else place[column]
        for stop, origin, column in zip(leaf.tolist(), source.tolist(), table.feature.tolist(), strict=True)
    ]
    numbers = [float(model.leaves[origin]) for origin in source[leaf].tolist()]
    at = np.flatnonzero(leaf).tolist()
    thresholds = np.where(leaf, 0.0, table.threshold)
    return {
        "nodes_treeids": [0] * n,
        "nodes_nodeids": list(range(n)),
        "nodes_featureids": features,
        "nodes_modes": ["LEAF" if stop else "BRANCH_LEQ" for stop in leaf.tolist()],
        "nodes_values_as_tensor": helper.make_tensor("thresholds", TensorProto.DOUBLE, [n], thresholds.tolist()),
        "nodes_truenodeids": np.where(leaf, 0, table.low).tolist(),
        "nodes_falsenodeids": np.where(leaf, 0, table.high).tolist(),
        "nodes_missing_value_tracks_true": np.where(leaf, 0, table.missing_low).astype(int).tolist(),
        "target_treeids": [0] * len(at),
        "target_nodeids": at,
        "target_ids": [0] * len(at),
        "target_weights_as_tensor": helper.make_tensor("leaf_numbers", TensorProto.DOUBLE, [len(at)], numbers),
        "n_targets": 1,
    }


def _labels(model: Exported) -> tuple[int, list[Any]]:
    """The type and values of the labels."""
    from onnx import TensorProto

    labels = model.labels
    if all(isinstance(label, bool) for label in labels):
        return TensorProto.BOOL, labels
    if all(isinstance(label, int) for label in labels):
        return TensorProto.INT64, labels
    if all(isinstance(label, float) for label in labels):
        return TensorProto.DOUBLE, labels
    return TensorProto.STRING, [str(label).encode() for label in labels]
