"""Reader of ONNX files of tree ensembles, as skl2onnx and onnxmltools write for scikit-learn, XGBoost and LightGBM.

It reads the operators ``TreeEnsembleClassifier`` and ``TreeEnsembleRegressor``, and the usual nodes around them. Only
the nodes that were read are run, to compare the reading with the file: by ``onnxruntime`` if it is installed, else by
the evaluator of ``onnx``.

These two programs differ for some files. A file is refused unless it satisfies these conditions:

- With two classes, all weights have the class id 0; their sum is the score of the second class. Without a
  transformation, the second class wins above 0.5, and no weight is negative. With ``LOGISTIC``, the second class wins
  above 0, and some weight is negative.
- With more classes, each class has a weight in all leaves of at least one tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.ensembles.forest import (
    DOUBLE,
    LINKED,
    NO_CLASSES,
    SINGLE,
    Forest,
    Link,
    summing_noise,
)
from proofwood.ensembles.readers.onnx_graph import FLOAT, Graph, attributes_of, loaded
from proofwood.ensembles.readers.onnx_trees import MODES, Tests
from proofwood.ensembles.readers.reading import Adapted, codes_of, plain
from proofwood.ensembles.sources import Source
from proofwood.model.node_table import FloatArray, IntArray


def from_onnx(model: Any, feature_names: Sequence[str] | None) -> Adapted:
    """Read an ONNX file, given as a path or a ``ModelProto``.

    Inputs are float32 or float64, and sums are float32. If the file asks for float32, numbers are rounded to it.

    Raises
    ------
    ImportError
        If the package onnx is not installed.
    ValueError
        If the file is damaged.
    TypeError
        If the file holds anything but one ensemble of trees.
    """
    proto = loaded(model)
    graph = Graph.of(proto)
    attributes = attributes_of(graph.ensemble)
    single = graph.columns.type == FLOAT
    tests = Tests.of(attributes, single, graph.columns.width)
    width = graph.columns.width or tests.n_columns
    runner = _Runner(graph.extracted(proto), graph.spans(width))
    if graph.ensemble.op_type == "TreeEnsembleRegressor":
        forest = _regressor(attributes, tests, runner)
    else:
        forest = _classifier(attributes, tests, runner)
    unclear = np.unique(tests.column[(tests.mode == MODES.index("BRANCH_NEQ")) & ~tests.tracks])
    takes = np.ones(width, dtype=bool)
    takes[unclear] = False  # onnxruntime and the standard differ about != with a missing value
    forest = replace(forest, n_columns=width, takes_missing=takes, names=graph.names(width))
    adapted = plain(forest, feature_names)
    if not graph.columns.steps:
        return adapted
    return replace(adapted, sources=tuple(Source(j, steps=graph.columns.steps_of(j)) for j in range(width)))


def _classifier(attributes: dict[str, Any], tests: Tests, runner: _Runner) -> Forest:
    numbers, texts = attributes.get("classlabels_int64s"), attributes.get("classlabels_strings")
    classes: npt.NDArray[Any] = np.array(texts if texts else [] if numbers is None else numbers)
    n, post = len(classes), attributes.get("post_transform", "NONE")
    if n < 2 or len(np.unique(classes)) != n:
        raise ValueError(f"the ONNX file has the classes {classes.tolist()[:9]}: expected two or more that differ")
    at, ids, weights = tests.weights(attributes, "class")
    if not len(ids) or ids.min() < 0 or ids.max() >= n:
        raise ValueError(f"class_ids has a number that is not a class: expected numbers from 0 to {n - 1}")
    given = np.asarray(attributes.get("base_values", []), dtype=np.float64)
    if len(given) not in ((0, 1) if n == 2 else (0, n)) or not np.isfinite(given).all():
        expected = 1 if n == 2 else n
        raise TypeError(f"the ONNX file has {len(given)} base_values for {n} classes: expected {expected} or none")
    value = np.zeros((len(tests.mode), n))
    link: Link | None = None
    if n == 2:
        _check_two(set(ids.tolist()), weights, post)
        value[at, 1] = weights
        base = np.array([0.0, *given, 0.0])[:2]
        link = Link("logistic", unit=SINGLE)
        if post == "NONE":  # the other class has the rest to 1; all twice, as a quotient is a rounded number
            value[at, 0], value[at, 1], base = -2 * weights, 2 * weights, 2 * np.array([1.0 - base[1], base[1]])
            link = Link(divisor=2.0, unit=SINGLE)
    else:
        if post not in ("NONE", "SOFTMAX"):
            raise TypeError(f"the trees of {n} classes have post_transform={post!r}: expected 'NONE' or 'SOFTMAX'")
        value[at, ids] = weights
        base = given if len(given) else np.zeros(n)
        link = Link(unit=SINGLE) if post == "NONE" else None
        _check_all_weighted(tests, at, ids, n)
    trees = tests.trees(value)
    noise = summing_noise(trees, base, SINGLE) + (0 if post == "NONE" else LINKED * SINGLE)
    return Forest(
        trees=trees,
        base=base,
        classes=classes,
        n_columns=tests.n_columns,
        noise=noise + (4 * DOUBLE if len(given) else 0.0),
        predict=partial(_codes, runner, classes),
        link=link,
        output=None if link is None else partial(_numbers, runner, 1),
    )


def _check_two(ids: set[int], weights: FloatArray, post: str) -> None:
    """Raise TypeError if onnxruntime and the ONNX standard differ for a file with two classes."""
    what = None
    if ids != {0}:
        what = f"the class_ids {sorted(ids)}: expected only 0"
    elif post not in ("NONE", "LOGISTIC"):
        what = f"post_transform={post!r}: expected 'NONE' or 'LOGISTIC'"
    elif post == "NONE" and (weights < 0).any():
        what = "negative weights and post_transform='NONE': expected shares of votes, or 'LOGISTIC'"
    elif post == "LOGISTIC" and not (weights < 0).any():
        what = "post_transform='LOGISTIC' and no negative weight: expected at least one"
    if what is not None:
        raise TypeError(f"the trees of two classes have {what}. For others, onnxruntime and the ONNX standard differ")


def _check_all_weighted(tests: Tests, at: IntArray, ids: IntArray, n: int) -> None:
    """Raise TypeError if some row may get no weight of a class, because onnxruntime then leaves the class out."""
    leaves = np.add.reduceat((tests.yes < 0).astype(np.int64), tests.starts[:-1])
    of_tree = np.searchsorted(tests.starts, at, side="right") - 1
    counts = np.zeros((len(leaves), n), dtype=np.int64)
    np.add.at(counts, (of_tree, ids), 1)
    lacking = np.flatnonzero(~(counts == leaves[:, np.newaxis]).any(axis=0))
    if lacking.size:
        raise TypeError(
            f"no tree has a weight of class {int(lacking[0])} in all its leaves, and onnxruntime and the ONNX standard "
            "differ for rows without such a weight: expected weights of all classes"
        )


def _regressor(attributes: dict[str, Any], tests: Tests, runner: _Runner) -> Forest:
    post, added = attributes.get("post_transform", "NONE"), attributes.get("aggregate_function", "SUM")
    if attributes.get("n_targets", 1) != 1 or post != "NONE" or added not in ("SUM", "AVERAGE"):
        raise TypeError(
            f"the trees have n_targets={attributes.get('n_targets')}, post_transform={post!r} and "
            f"aggregate_function={added!r}: expected 1, 'NONE', and 'SUM' or 'AVERAGE'"
        )
    at, ids, weights = tests.weights(attributes, "target")
    given = np.asarray(attributes.get("base_values", []), dtype=np.float64)
    if ids.any() or len(given) > 1 or not np.isfinite(given).all():
        raise ValueError(
            f"the trees of one target have other target_ids than 0, or {len(given)} base_values: expected only the id "
            "0, and at most one finite base value"
        )
    value = np.zeros((len(tests.mode), 1))
    value[at, 0] = weights
    trees = tests.trees(value)
    divisor = float(len(trees)) if added == "AVERAGE" else 1.0
    base = np.array([*given, 0.0])[:1] * divisor
    noise = summing_noise(trees, base, SINGLE, roundings=4)
    return Forest(
        trees=trees,
        base=base,
        classes=NO_CLASSES,
        n_columns=tests.n_columns,
        noise=noise + 2 * DOUBLE * abs(float(base[0])),
        predict=partial(_numbers, runner, 0),
        link=Link(divisor=divisor, unit=SINGLE),
        output=partial(_numbers, runner, 0),
    )


# ------------------------------------------------------------------------------------------------------------- running


@dataclass(frozen=True)
class _Runner:
    """Runs a file that has only the nodes that were read; ``spans`` has the name, columns and type of each input."""

    file: bytes
    spans: tuple[tuple[str, int, int, int], ...]

    def __call__(self, X: FloatArray) -> list[Any]:
        """The outputs of the ensemble for rows."""
        feed = {}
        with np.errstate(over="ignore"):
            for name, start, end, kind in self.spans:
                dtype = np.float32 if kind == FLOAT else np.float64
                feed[name] = np.ascontiguousarray(np.asarray(X)[:, start:end], dtype=dtype)
        return list(_session(self.file).run(None, feed))


@lru_cache(maxsize=16)
def _session(file: bytes) -> Any:
    try:
        import onnxruntime  # optional
    except ImportError:
        from onnx.reference import ReferenceEvaluator  # optional

        return ReferenceEvaluator(file)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])


def _codes(runner: _Runner, classes: npt.NDArray[Any], X: FloatArray) -> IntArray:
    return codes_of(runner(X)[0], classes)


def _numbers(runner: _Runner, output: int, X: FloatArray) -> FloatArray:
    found = np.asarray(runner(X)[output], dtype=np.float64)
    return found.ravel() if output == 0 else found
