"""The graph of an ONNX file: its inputs, its ensemble of trees, and the nodes before and after the ensemble."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from proofwood.ensembles.steps import Step, What
from proofwood.files import permitted, require_room
from proofwood.model.node_table import FloatArray

ENSEMBLES = ("TreeEnsembleClassifier", "TreeEnsembleRegressor")
BEFORE = ("Identity", "Cast", "Imputer", "Scaler", "Concat")
AFTER = ("Identity", "Cast", "ZipMap", "Reshape", "Mul")
EXPECTED = (
    f"one {' or '.join(ENSEMBLES)}, only {', '.join(BEFORE)} before it and only {', '.join(AFTER)} (by 1) after it, as "
    "skl2onnx and onnxmltools write them for trees, forests and boosted trees"
)
MOST_BYTES = 2**31 - 1
"""Greatest size of an ONNX file in bytes; no reader of this format accepts more."""
COLUMN_BYTES = 2**12
"""Estimated memory in bytes of one column, here and in the library that runs the file."""
FLOAT, DOUBLE_FLOAT = 1, 11
"""ONNX numbers of the tensor types float32 and float64."""
OTHER_NUMBERS = (6, 7)
"""ONNX numbers of the integer types to which labels may be cast."""


def most_columns() -> int:
    """The number of columns that a file may have, limited by the memory that they take."""
    return permitted(MOST_BYTES) // COLUMN_BYTES


def loaded(model: Any) -> Any:
    """Load the ``ModelProto`` from a path; any other object is returned unchanged."""
    try:
        import onnx  # optional
        from google.protobuf.message import DecodeError
    except ImportError as error:
        raise ImportError("to read an ONNX file, install the package onnx: pip install 'proofwood[onnx]'") from error
    if not isinstance(model, str | Path):
        return model
    path = Path(model)
    if not path.is_file():
        raise ValueError(f"there is no file {path}: expected the path of an ONNX file")
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise ValueError(f"{path} has {size} bytes: expected at most {MOST_BYTES}, the limit of the ONNX format")
    require_room(path, 16 * size, size)  # a number takes one byte in the file, and eight in memory
    try:
        proto = onnx.ModelProto()
        proto.ParseFromString(path.read_bytes())
    except DecodeError as error:
        raise ValueError(f"{path} is not an ONNX file, or is damaged: {error}") from error
    return proto


@dataclass(frozen=True)
class Columns:
    """A tensor (n_rows, width) before the ensemble: its inputs, its type, and the steps applied to each column."""

    inputs: tuple[str, ...]
    widths: tuple[int, ...]
    type: int
    steps: tuple[tuple[Step, ...], ...] = ()

    @property
    def width(self) -> int:
        """The number of columns; 0 if the file does not state it."""
        return sum(self.widths)

    def steps_of(self, j: int) -> tuple[Step, ...]:
        """The steps of column ``j``."""
        return self.steps[j] if len(self.steps) > 1 else self.steps[0]

    def then(self, kind: What, numbers: FloatArray) -> Columns:
        """The tensor after one more step, which has one number for all columns or one number per column."""
        if len(numbers) not in (1, self.width):
            raise ValueError(f"a node has {len(numbers)} numbers for {self.width} columns: expected 1 or {self.width}")
        width = max(len(numbers), len(self.steps), 1)
        before = [self.steps_of(j) if self.steps else () for j in range(width)]
        more = [Step(kind, float(numbers[j % len(numbers)])) for j in range(width)]
        return replace(self, steps=tuple((*old, new) for old, new in zip(before, more, strict=True)))


@dataclass(frozen=True, eq=False)
class Graph:
    """The nodes of a file that decide predictions: the ensemble, and the nodes before it."""

    ensemble: Any
    before: tuple[Any, ...]
    columns: Columns
    types: tuple[int, ...]

    @classmethod
    def of(cls, proto: Any) -> Graph:
        """Read the graph of a file; TypeError if a node is not known."""
        nodes = list(proto.graph.node)
        ensembles = [node for node in nodes if node.domain == "ai.onnx.ml" and node.op_type in ENSEMBLES]
        if len(ensembles) != 1 or len(proto.functions):
            counts = {op: sum(node.op_type == op for node in nodes) for op in sorted({node.op_type for node in nodes})}
            found = ", ".join(f"{count} {op}" for op, count in list(counts.items())[:20]) or "no node"
            raise TypeError(f"the ONNX file has {found}: expected {EXPECTED}")
        (ensemble,) = ensembles
        maker = {name: node for node in nodes for name in node.output}
        inputs = {given.name: given for given in proto.graph.input}
        for constant in proto.graph.initializer:
            inputs.pop(constant.name, None)
        before: list[Any] = []
        columns = _traced(ensemble.input[0], maker, inputs, before)
        _check_behind(proto, ensemble, [node for node in nodes if node not in before and node is not ensemble])
        types = tuple(inputs[name].type.tensor_type.elem_type for name in columns.inputs)
        ordered = tuple(node for node in nodes if node in before)
        return cls(ensemble, ordered, columns, types)

    def names(self, width: int) -> tuple[str, ...] | None:
        """Names of the columns if each is a separate input; else None."""
        return self.columns.inputs if len(self.columns.inputs) == width and width > 1 else None

    def spans(self, width: int) -> tuple[tuple[str, int, int, int], ...]:
        """For each input: its name, its first column, the column after its last one, and its type."""
        widths = self.columns.widths if self.columns.width else (width,)
        ends = np.cumsum([0, *widths]).tolist()
        return tuple(zip(self.columns.inputs, ends[:-1], ends[1:], self.types, strict=True))

    def extracted(self, proto: Any) -> bytes:
        """The file with only these nodes; its outputs are those of the ensemble."""
        import onnx  # optional

        made = onnx.ModelProto()
        made.ir_version = min(int(proto.ir_version), 10)
        made.opset_import.extend(proto.opset_import)
        made.graph.name = "ensemble"
        made.graph.node.extend([*self.before, self.ensemble])
        made.graph.input.extend([given for given in proto.graph.input if given.name in self.columns.inputs])
        for name in self.ensemble.output:
            made.graph.output.add().name = name
        text: bytes = made.SerializeToString()
        return text


def _traced(name: str, maker: dict[str, Any], inputs: dict[str, Any], before: list[Any]) -> Columns:
    """The columns of the tensor ``name``, computed from the inputs; the nodes on the way are added to ``before``."""
    chain: list[Any] = []
    while name not in inputs:
        if name not in maker or len(chain) > len(maker):
            raise ValueError(f"a node uses {name!r}, but the ONNX file has no input or output of this name")
        node = maker[name]
        if node.op_type not in BEFORE:
            raise TypeError(f"the ONNX file has a {node.op_type} before its trees: expected {EXPECTED}")
        chain.append(node)
        if node.op_type == "Concat":
            break
        name = node.input[0]
    columns = _of_inputs(list(chain[-1].input) if name not in inputs else [name], inputs)
    before.extend(chain)
    for node in reversed(chain):
        columns = _after(node, columns)
    return columns


def _of_inputs(names: list[str], inputs: dict[str, Any]) -> Columns:
    widths, types = [], set()
    for name in names:
        if name not in inputs:
            raise TypeError(f"the ONNX file concatenates {name!r}, which is not an input: expected {EXPECTED}")
        tensor = inputs[name].type.tensor_type
        shape = [int(one.dim_value) for one in tensor.shape.dim]
        types.add(int(tensor.elem_type))
        if len(shape) not in (0, 2) or (len(names) > 1 and (len(shape) != 2 or shape[1] < 1)):
            raise TypeError(f"the input {name!r} of the ONNX file has the shape {shape}: expected (n_rows, n_columns)")
        widths.append(shape[1] if shape else 0)
    if len(types) != 1 or not types <= {FLOAT, DOUBLE_FLOAT}:
        raise TypeError(f"inputs of the ONNX file have the types {sorted(types)}: expected all float, or all double")
    if min(widths) < 0 or len(set(names)) < len(names):
        raise ValueError(
            f"the ONNX file uses the inputs {names} with the widths {widths}: expected each input once, and no "
            "negative width"
        )
    if sum(widths) > most_columns():
        raise ValueError(
            f"the ONNX file has {sum(widths):,} columns, but at most {most_columns():,} are permitted: if you trust "
            "it, raise max_bytes (--max-bytes on the command line)"
        )
    return Columns(tuple(names), tuple(widths), types.pop())


def _after(node: Any, columns: Columns) -> Columns:
    """The tensor that a node computes from the tensor ``columns``."""
    attributes = attributes_of(node)
    if node.op_type == "Identity" or node.op_type == "Concat":
        if node.op_type == "Concat" and attributes.get("axis") not in (1, -1):
            raise TypeError(f"a Concat has axis={attributes.get('axis')}: expected 1")
        return columns
    if node.op_type == "Cast":
        if attributes.get("to") not in (FLOAT, columns.type):
            raise TypeError(f"a Cast before the trees converts to type {attributes.get('to')}: expected float (1)")
        return replace(columns, type=FLOAT) if not columns.steps else columns
    if columns.type != FLOAT:
        raise TypeError(f"the ONNX file has a {node.op_type} with inputs of type double: expected float")
    rounded = columns if columns.steps else columns.then("single", np.zeros(1))
    if node.op_type == "Imputer":
        replaced = attributes.get("replaced_value_float", 0.0)
        if not np.isnan(replaced):
            raise TypeError(f"an Imputer replaces the number {replaced}: expected an Imputer that replaces nan")
        return rounded.then("fill", attributes.get("imputed_value_floats", np.zeros(0)))
    scaled = rounded.then("single_subtract", attributes.get("offset", np.zeros(1)))
    scale = attributes.get("scale", np.ones(1))
    if not np.all(np.isfinite(scale)) or np.any(scale == 0):
        raise TypeError("a Scaler multiplies by 0 or by an infinite number: expected finite numbers other than 0")
    return scaled.then("single_multiply", scale)


def _check_behind(proto: Any, ensemble: Any, rest: list[Any]) -> None:
    """Raise TypeError if a node after the ensemble changes its output, or is not known."""
    ones = {}
    for constant in proto.graph.initializer:
        if constant.data_location == 0 and len(constant.dims) <= 2 and np.prod(list(constant.dims), initial=1) <= 64:
            ones[constant.name] = constant
    passed = set(ensemble.output)
    labels = {ensemble.output[0]} if ensemble.op_type == "TreeEnsembleClassifier" else set()
    for node in rest:
        known = [name for name in node.input if name in passed]
        attributes = attributes_of(node)
        right = node.op_type in AFTER and len(known) == 1 and len(node.input) >= 1
        if node.op_type == "Mul" and right:
            right = all(_is_one(ones.get(name)) for name in node.input if name not in passed)
        if node.op_type == "Cast" and right:
            right = attributes.get("to") in (OTHER_NUMBERS if known[0] in labels else (FLOAT, DOUBLE_FLOAT))
        if not right:
            raise TypeError(f"the ONNX file has a {node.op_type} beside or after its trees: expected {EXPECTED}")
        passed.update(node.output)
        labels.update(node.output if known[0] in labels else ())
    for output in proto.graph.output:
        if output.name not in passed:
            raise TypeError(
                f"the output {output.name!r} of the ONNX file does not come from its trees: expected {EXPECTED}"
            )


def _is_one(constant: Any) -> bool:
    from onnx import numpy_helper  # optional

    return constant is not None and bool(np.all(numpy_helper.to_array(constant) == 1))


def attributes_of(node: Any) -> dict[str, Any]:
    """The attributes of a node by name: numbers, arrays of numbers, or texts."""
    from onnx import numpy_helper  # optional

    found: dict[str, Any] = {}
    for given in node.attribute:
        if given.type == 1:
            found[given.name] = float(given.f)
        elif given.type == 2:
            found[given.name] = int(given.i)
        elif given.type == 3:
            found[given.name] = _text(given.s)
        elif given.type == 4:
            if given.t.data_location != 0:
                raise TypeError(f"the attribute {given.name!r} is stored in another file: expected a single file")
            found[given.name] = np.asarray(numpy_helper.to_array(given.t)).ravel()
        elif given.type == 6:
            found[given.name] = np.array(given.floats, dtype=np.float32).astype(np.float64)
        elif given.type == 7:
            found[given.name] = np.array(given.ints, dtype=np.int64)
        elif given.type == 8:
            found[given.name] = [_text(text) for text in given.strings]
    for name in [name for name in found if name.endswith("_as_tensor")]:
        found[name.removesuffix("_as_tensor")] = found.pop(name).astype(np.float64)
    return found


def _text(given: bytes) -> str:
    return given.decode("utf-8", errors="replace")
