"""A model as an ONNX graph in float64: a tree finds the leaf, and tables give its answer and the numbers beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from proofwood.model.node_table import LEAF, OBLIQUE, IntArray, NodeTable
from proofwood.model.reshape import unroll_from
from proofwood.show.exports.source import Exported, ExportError, conversion, export_a_program, require_exact_levels

OPSET, ML_OPSET, IR = 15, 3, 8
MOST_LEAVES = 2**24
"""The most leaves of a model, because the runtime returns their numbers as float32."""


def to_onnx(model: Exported, *, missing_text: str = "") -> Any:
    """Return an ``onnx.ModelProto`` with the outputs ``label`` and ``probabilities``; ``rewards`` for actions.

    A model of numbers has the one output ``value`` in float64.

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
    parts = ["numbers"]
    sums = _add_sums(model, nodes, constants, place, parts)
    sets = _add_sets(model, nodes, constants, place, parts)
    nodes.append(helper.make_node("Concat", parts, ["tested"], axis=1))
    added = {node: width + number for node, number in {**sums, **sets}.items()}
    tree, source = _tree(model)
    attributes = _attributes(model, tree, source, place, added)
    nodes.append(
        helper.make_node("TreeEnsembleRegressor", ["tested"], ["leaf_number"], domain="ai.onnx.ml", **attributes)
    )
    nodes.append(helper.make_node("Cast", ["leaf_number"], ["leaf_code"], to=TensorProto.INT64))
    constants.append(helper.make_tensor("first", TensorProto.INT64, [1], [-1]))
    nodes.append(helper.make_node("Reshape", ["leaf_code", "first"], ["leaf"]))
    graph = helper.make_graph(nodes, "proofwood", inputs, _outputs(model, nodes, constants), constants)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    made = helper.make_model(graph, opset_imports=opsets, producer_name="proofwood", ir_version=IR)
    used = [model.columns[column] for column in model.used]
    notes = [f"{meaning.name}: {told}" for meaning in used if (told := conversion(meaning))]
    made.doc_string = "\n".join(notes)
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


def _add_sums(
    model: Exported, nodes: list[Any], constants: list[Any], place: dict[int, int] | None, parts: list[str]
) -> dict[int, int]:
    """Add nodes that compute each weighted sum as a column, to be joined with ``parts``; return its number by node."""
    from onnx import TensorProto, helper

    found: dict[int, int] = {}
    for node in np.flatnonzero(model.table.feature == OBLIQUE).tolist():
        total, number = "", len(found)
        for term, (column, value) in enumerate(model.ask(node).terms):
            tag = f"{number} {term}"
            constants.append(helper.make_tensor(f"by {tag}", TensorProto.DOUBLE, [1], [value]))
            nodes.append(
                helper.make_node("Mul", [_column(nodes, constants, place, column, tag), f"by {tag}"], [f"part {tag}"])
            )
            if total:
                nodes.append(helper.make_node("Add", [total, f"part {tag}"], [f"sum {tag}"]))
            total = f"sum {tag}" if total else f"part {tag}"
        parts.append(total)
        found[node] = number
    return found


def _column(nodes: list[Any], constants: list[Any], place: dict[int, int] | None, column: int, tag: str) -> str:
    """Add a node that takes one column of the table of numbers; return its name, which ``tag`` makes unique."""
    from onnx import TensorProto, helper

    constants.append(
        helper.make_tensor(f"at {tag}", TensorProto.INT64, [1], [column if place is None else place[column]])
    )
    nodes.append(helper.make_node("Gather", ["numbers", f"at {tag}"], [f"value {tag}"], axis=1))
    return f"value {tag}"


# A set as thresholds over codes has a test for each run of codes, and a tree has a copy of all below for each test: of
# 1,101 nodes over 250 levels became 1,909,659. One column for each set keeps the nodes: decisions/0088-sets-in-onnx.
def _add_sets(
    model: Exported, nodes: list[Any], constants: list[Any], place: dict[int, int] | None, parts: list[str]
) -> dict[int, int]:
    """Add nodes that compute a column for each tested set of levels, to be joined with ``parts``.

    The column is 0 in the set, 1 outside, and NaN where the value is missing.

    Returns
    -------
    dict
        The number of the column of each node that tests a set; columns of weighted sums come first.
    """
    from onnx import TensorProto, helper

    table, first = model.table, int(np.count_nonzero(model.table.feature == OBLIQUE))
    found: dict[int, int] = {}
    tests = np.flatnonzero(table.by_levels)
    for column in sorted(set(table.feature[tests].tolist())):
        here = tests[table.feature[tests] == column].tolist()
        sets = sorted({tuple(sorted(_levels(table, node))) for node in here})
        codes = sorted({code for levels in sets for code in levels})
        if not codes:  # tests of missing values alone
            codes = [0]
        outside = [float(code not in levels) - 1.0 for code in codes for levels in sets]

        def constant(what: str, shape: list[int], numbers: list[float], at: int = column) -> str:
            constants.append(helper.make_tensor(f"{what} {at}", TensorProto.DOUBLE, shape, numbers))
            return f"{what} {at}"

        def node_of(operator: str, inputs: list[str], what: str, at: int = column, **attributes: Any) -> str:
            nodes.append(helper.make_node(operator, inputs, [f"{what} {at}"], **attributes))
            return f"{what} {at}"

        value = _column(nodes, constants, place, column, f"set {column}")
        known = node_of(
            "Equal", [value, constant("tested codes", [1, len(codes)], [float(code) for code in codes])], "is"
        )
        marks = node_of("Cast", [known], "is code", to=TensorProto.DOUBLE)
        inside = node_of("MatMul", [marks, constant("sets", [len(codes), len(sets)], outside)], "inside")
        plain = node_of("Add", [inside, constant("one", [1, 1], [1.0])], "outside")
        gap = constant("no value", [1, 1], [float("nan")])
        parts.append(node_of("Where", [node_of("IsNaN", [value], "is gap"), gap, plain], "sets of"))
        for node in here:
            found[node] = first + sets.index(tuple(sorted(_levels(table, node))))
        first += len(sets)
    return found


def _levels(table: NodeTable, node: int) -> frozenset[int]:
    assert table.levels is not None
    return table.levels[node] or frozenset()


def _tree(model: Exported) -> tuple[NodeTable, IntArray]:
    """The model as a tree of threshold tests, and for each of its nodes the node of the model.

    A weighted sum becomes a threshold on column 0 here, and a set a threshold between in and out; :func:`_attributes`
    sets the right column.
    """
    table = model.table
    plain = table.changed(
        feature=np.where(table.feature == OBLIQUE, 0, table.feature),
        threshold=np.where(table.by_levels, 0.5, table.threshold),
        normals=None,
        levels=None,
    )
    try:
        tree, source = unroll_from(plain)
    except ValueError as error:
        raise ExportError(f"an ONNX tree has no shared nodes, and {error}: {export_a_program()}") from error
    if len(model.leaves) >= MOST_LEAVES:
        raise ExportError(f"the model has {len(model.leaves):,} leaves, but ONNX permits fewer than {MOST_LEAVES:,}")
    return tree, source


def _attributes(
    model: Exported,
    table: NodeTable,
    source: IntArray,
    place: dict[int, int] | None,
    added: dict[int, int],
) -> dict[str, Any]:
    """The attributes of the ONNX operator for the tree; ``added`` has the columns of weighted sums and sets by node."""
    from onnx import TensorProto, helper

    n = table.n_nodes
    leaf = table.feature == LEAF
    features = [
        0 if stop else added[origin] if origin in added else column if place is None else place[column]
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


def _outputs(model: Exported, nodes: list[Any], constants: list[Any]) -> list[Any]:
    """Add nodes that look up what the leaf of each row says; return the outputs."""
    from onnx import TensorProto, helper

    outputs, taken = [], {column.name for column in model.columns}

    def add(name: str, typed: int, shape: list[int], values: list[Any]) -> None:
        while name in taken:
            name += "_"
        constants.append(helper.make_tensor(f"{name} of leaves", typed, [len(model.leaves), *shape], values))
        nodes.append(helper.make_node("Gather", [f"{name} of leaves", "leaf"], [name], axis=0))
        outputs.append(helper.make_tensor_value_info(name, typed, [None, *shape]))

    typed, convert = _answer_type(model)
    add("label" if model.labels else "value", typed, [], [convert(model.answer(leaf)) for leaf in model.leaves])
    if model.labels:
        numbers = model.numbers_of_leaf
        add(model.words.numbers, TensorProto.DOUBLE, [numbers.shape[1]], numbers.ravel().tolist())
    return outputs


def _answer_type(model: Exported) -> tuple[int, Callable[[Any], Any]]:
    """The ONNX type of answers, and what makes a value of this type of one."""
    from onnx import TensorProto

    kinds: tuple[tuple[type, int], ...] = (
        (bool, TensorProto.BOOL),
        (int, TensorProto.INT64),
        (float, TensorProto.DOUBLE),
    )
    for kind, typed in kinds:
        if all(isinstance(label, kind) for label in model.labels or [0.0]):
            return typed, kind
    return TensorProto.STRING, lambda label: str(label).encode()
