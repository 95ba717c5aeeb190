"""A model as an ONNX graph in float64: a tree finds the leaf, and tables give its label and probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from proofwood.model.node_table import LEAF, OBLIQUE, IntArray, NodeTable
from proofwood.model.reshape import unroll_from
from proofwood.model.thresholds import without_levels
from proofwood.show.exports.source import Exported, ExportError, require_exact_levels

OPSET, ML_OPSET, IR = 15, 3, 8
MOST_LEAVES = 2**24
"""The most leaves of a model, because the runtime returns their numbers as float32."""


def to_onnx(model: Exported, *, missing_text: str = "") -> Any:
    """Return an ``onnx.ModelProto`` with the outputs ``label`` and ``probabilities``.

    Its input is ``X``, of shape (n_rows, n_features) and type float64, with NaN for missing values. If the model tests
    columns with levels, each tested column is instead a separate input of shape (n_rows, 1) with the name of the
    column. It is text, or float64; categories that are not text are numbers: 0 and 1, integers or floats, days or
    microseconds.

    Parameters
    ----------
    model : the model
    missing_text : text that stands for a missing value in columns of text, since ONNX has no missing text

    Raises
    ------
    ImportError
        If the package onnx is not installed.
    ExportError
        If the model cannot be written, or a column with missing values has ``missing_text`` as a level.
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
    """Add nodes that join inputs of one column each into a table of numbers; return inputs and places of columns."""
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
    """Add nodes that turn a column of text into the codes of its levels, with NaN for missing values."""
    from onnx import TensorProto, helper

    name, levels = model.columns[column].name, list(model.columns[column].levels)
    unknown = float("nan") if model.ordered(column) else float(len(levels))
    codes = [float(code) for code in range(len(levels))]
    if missing_text in levels and model.columns[column].missing:
        raise ExportError(
            f"column {name!r} has the level {missing_text!r}, but missing_text uses it for missing values: pass "
            "another text, such as to_onnx(missing_text='(missing)')"
        )
    if missing_text not in levels:
        levels.append(missing_text)
        codes.append(float("nan"))
    tables = {"keys_strings": levels, "values_floats": codes, "default_float": unknown}
    nodes.append(helper.make_node("LabelEncoder", [name], [f"code {column}"], domain="ai.onnx.ml", **tables))
    nodes.append(helper.make_node("Cast", [f"code {column}"], [f"number {column}"], to=TensorProto.DOUBLE))


def _codes_of_numbers(model: Exported, column: int, nodes: list[Any], constants: list[Any]) -> None:
    """Add nodes that turn a column of booleans, numbers or times into level codes, with NaN for missing values."""
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
    """Add nodes that compute each weighted sum as another column; return the table and the column of each sum."""
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
    """The model as a tree of threshold tests, and for each of its nodes the node of the model.

    A weighted sum becomes a threshold on column 0 here; :func:`_attributes` sets the right column.
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
        raise ExportError(f"the model has {len(model.leaves):,} leaves, but ONNX permits fewer than {MOST_LEAVES:,}")
    return tree, of_test[of_flat]


def _attributes(
    model: Exported,
    table: NodeTable,
    source: IntArray,
    place: dict[int, int] | None,
    sums: dict[int, int],
) -> dict[str, Any]:
    """The attributes of the ONNX operator for the tree."""
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
    """The ONNX type of the labels, and their values."""
    from onnx import TensorProto

    labels = model.labels
    if all(isinstance(label, bool) for label in labels):
        return TensorProto.BOOL, labels
    if all(isinstance(label, int) for label in labels):
        return TensorProto.INT64, labels
    if all(isinstance(label, float) for label in labels):
        return TensorProto.DOUBLE, labels
    return TensorProto.STRING, [str(label).encode() for label in labels]
