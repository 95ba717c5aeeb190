"""Read the text that LightGBM 3 to 4.7 writes of a model (``version=v3`` and ``v4``) into arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proofwood.ensembles.readers.known_fields import COLUMN_BYTES, KnownFields, same
from proofwood.files import require_room
from proofwood.model.node_table import FloatArray, IntArray

VERSIONS = ("v3", "v4")
"""The known versions of the text format."""
_STATISTICS = "statistics of training"
KNOWN = KnownFields(
    "LightGBM",
    {
        "the head of the text": {
            "tree": "the kind of the model: saved",
            "version": "saved",
            "num_class": "saved",
            "num_tree_per_iteration": "saved",
            "label_index": "a column of the training file",
            "max_feature_idx": "saved",
            "objective": "saved",
            "average_output": "saved",
            "feature_names": "saved",
            "monotone_constraints": "of the training",
            "feature_infos": "saved",
            "tree_sizes": "bytes of each tree",
        },
        "a tree": {
            "Tree": "its number",
            "num_leaves": "_stack",
            "num_cat": "_sets",
            "split_feature": "_stack",
            "threshold": "_stack",
            "decision_type": "_stack",
            "left_child": "_stack",
            "right_child": "_stack",
            "leaf_value": "_stack",
            "cat_boundaries": "_sets",
            "cat_threshold": "_sets",
            "is_linear": "_stack: linear leaves are refused",
            "leaf_const": "of linear leaves",
            "num_features": "of linear leaves",
            "leaf_features": "of linear leaves",
            "leaf_coeff": "of linear leaves",
            "shrinkage": "is in leaf_value already",
            "split_gain": _STATISTICS,
            "leaf_weight": _STATISTICS,
            "leaf_count": _STATISTICS,
            "internal_value": _STATISTICS,
            "internal_weight": _STATISTICS,
            "internal_count": _STATISTICS,
        },
        "the part after the trees": {
            "feature_importances": _STATISTICS,
            "parameters": "of the training; categorical_feature: saved",
            "end of parameters": "",
            "pandas_categorical": "saved",
        },
    },
)
"""The known fields of a model: the function here that reads each, or the reason why it is not read."""


@dataclass(frozen=True, eq=False)
class SavedLightGBM:
    """A LightGBM model of trees, as it is saved.

    Parameters
    ----------
    version : version of the text format
    objective : objective with its parameters, such as "binary sigmoid:1"; empty if the objective is the user's own
    n_columns : number of columns that the model takes
    n_classes : number of sums, one for each class; 1 if the model has a single sum
    per_round : number of trees per round
    average : whether predictions are means over the rounds
    names : names of the columns
    infos : for each column, the values seen in training: "none", the least and greatest number, or categories
    begins : (n_trees + 1,) first node of each tree; its tests come before its leaves
    n_tests : (n_trees,) number of tests of each tree
    column, threshold, decision, left, right : (n_all_tests,) the tests of all trees; a child below 0 is the leaf
        ``-1 - child``
    leaf : (n_all_leaves,) scores of the leaves of all trees
    sets : by index of a test of categories, the categories that go left
    categorical : categorical columns, as stated for the training
    pandas : categories of these columns, if the model was trained on a pandas frame
    """

    version: str
    objective: str
    n_columns: int
    n_classes: int
    per_round: int
    average: bool
    names: tuple[str, ...]
    infos: tuple[str, ...]
    begins: IntArray
    n_tests: IntArray
    column: IntArray
    threshold: FloatArray
    decision: IntArray
    left: IntArray
    right: IntArray
    leaf: FloatArray
    sets: Mapping[int, tuple[int, ...]]
    categorical: tuple[int, ...]
    pandas: tuple[tuple[Any, ...], ...]

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return int(self.n_tests.size)

    def same(self, other: SavedLightGBM) -> bool:
        """Whether both models predict the same."""
        return same(self, other, ("version", "infos", "categorical"), nan=False)


def saved(text: str) -> SavedLightGBM:
    """Read a saved model.

    Parameters
    ----------
    text : the text that ``Booster.save_model`` or ``Booster.model_to_string`` writes

    Raises
    ------
    TypeError
        If the model has linear leaves, or a field is not known here.
    ValueError
        If the text is damaged.
    """
    try:
        return _read(text)
    except (LookupError, ValueError, OverflowError) as error:
        raise ValueError(f"this is not a complete LightGBM model: {type(error).__name__}: {error}") from error


def _read(text: str) -> SavedLightGBM:
    before, found, after = text.partition("\nend of trees\n")
    if not found:
        raise ValueError("the text has no line 'end of trees'")
    head_text, *trees = before.split("\nTree=")
    head = _fields(head_text)
    version = head.get("version", "")
    if version not in VERSIONS or head.get("tree") != "":
        raise TypeError(
            f"the model file has version={version!r}: expected one of {', '.join(VERSIONS)}, which LightGBM 3 and 4 "
            "write"
        )
    KNOWN.check("the head of the text", head, version)
    names = tuple(head["feature_names"].split(" "))
    infos = tuple(head["feature_infos"].split(" "))
    n_columns = int(head["max_feature_idx"]) + 1
    if not len(names) == len(infos) == n_columns:
        raise ValueError(
            f"the model has {n_columns} columns, but {len(names)} feature_names and {len(infos)} feature_infos"
        )
    n_classes, per_round = int(head["num_class"]), int(head["num_tree_per_iteration"])
    if min(n_classes, per_round) < 1:
        raise ValueError(f"num_class={n_classes} and num_tree_per_iteration={per_round}: expected at least 1 for both")
    require_room("the LightGBM model", COLUMN_BYTES * (n_columns + n_classes + per_round), len(text))
    parameters, pandas = _rest(after, version)
    stack = _stack([_fields(f"Tree={tree}") for tree in trees], n_columns, version)
    _require_sizes(head, before)
    return SavedLightGBM(
        version=version,
        objective=head.get("objective", ""),
        n_columns=n_columns,
        n_classes=n_classes,
        per_round=per_round,
        average="average_output" in head,
        names=names,
        infos=infos,
        **stack,
        categorical=_categorical(parameters, names),
        pandas=pandas,
    )


def _require_sizes(head: Mapping[str, str], text: str) -> None:
    """Raise ValueError if a tree does not begin where ``tree_sizes`` says; the library does not check this."""
    sizes = [int(word) for word in head.get("tree_sizes", "").split()]
    data = text.encode()
    at = data.find(b"\nTree=") + 1
    for size in sizes:
        if size < 1 or data[at : at + 5] != b"Tree=":
            raise ValueError("the trees do not begin where tree_sizes says")
        at += size


def _fields(text: str) -> dict[str, str]:
    """The values of lines of the form key=value, by key; a line without "=" is a key with an empty value."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        if line:
            key, _, value = line.partition("=")
            found[key] = value
    return found


def _rest(text: str, version: str) -> tuple[list[str], tuple[tuple[Any, ...], ...]]:
    """The parameters of the training, and the categories of the pandas frame."""
    parameters: list[str] = []
    pandas: Any = None
    part = ""
    for line in text.split("\n"):
        if line.startswith("pandas_categorical:"):
            pandas = json.loads(line.removeprefix("pandas_categorical:"))
        elif part == "parameters" and line.startswith("["):
            parameters.append(line)
        elif line.strip() and not (part == "feature_importances" and "=" in line):
            part = line.removesuffix(":")
            KNOWN.check("the part after the trees", [part], version)
    return parameters, tuple(tuple(values) for values in pandas or ())


def _categorical(parameters: Sequence[str], names: Sequence[str]) -> tuple[int, ...]:
    """The categorical columns that the parameters of the training name."""
    for line in parameters:
        if line.startswith("[categorical_feature: "):
            given = line.removeprefix("[categorical_feature: ").removesuffix("]").removeprefix("name:")
            return tuple(names.index(word) if word in names else int(word) for word in given.split(",") if word)
    return ()


def _stack(trees: list[dict[str, str]], n_columns: int, version: str) -> dict[str, Any]:
    """The tests and leaves of all trees, as keyword arguments for ``SavedLightGBM``."""
    names = set(KNOWN.fields["a tree"])
    for number, tree in enumerate(trees):
        if not names.issuperset(tree):
            KNOWN.check("a tree", tree, version)
        if int(tree["Tree"]) != number:
            raise ValueError(f"the file has tree {tree['Tree']} where tree {number} was expected")
        if int(tree.get("is_linear", 0)):
            raise TypeError("the model has linear leaves: expected linear_tree=False")
    leaves = np.array([int(tree["num_leaves"]) for tree in trees], dtype=np.int64)
    if (leaves < 1).any():
        raise ValueError("a tree has no leaf: expected num_leaves of at least 1")
    n_tests = leaves - 1
    total = int(n_tests.sum())

    def numbers(name: str, kind: Any, n: int) -> Any:
        words = " ".join([tree.get(name, "") for tree in trees]).split()
        if len(words) != n:
            raise ValueError(f"{name} has {len(words)} numbers in all trees together: expected {n}")
        return np.array(list(map(kind, words)), dtype=np.float64 if kind is float else np.int64)

    arrays = {
        "column": numbers("split_feature", int, total),
        "threshold": numbers("threshold", float, total),
        "decision": numbers("decision_type", int, total),
        "left": numbers("left_child", int, total),
        "right": numbers("right_child", int, total),
        "leaf": numbers("leaf_value", float, total + len(trees)),
    }
    of_tree = np.repeat(leaves, n_tests)
    for child in (arrays["left"], arrays["right"]):
        if ((child >= of_tree - 1) | (child < -of_tree)).any():
            raise ValueError("a test leads to a node that does not exist")
        if ((child >= 0) & (child <= np.arange(total) - np.repeat(np.cumsum(n_tests) - n_tests, n_tests))).any():
            raise ValueError("a test leads to a node that comes before it: expected a later node")
    if ((arrays["column"] < 0) | (arrays["column"] >= n_columns)).any():
        raise ValueError(f"a test uses a column that does not exist: expected columns from 0 to {n_columns - 1}")
    first = np.concatenate([[0], np.cumsum(n_tests)])
    sets: dict[int, tuple[int, ...]] = {}
    for begin, tree in zip(first.tolist(), trees, strict=False):
        if int(tree.get("num_cat", 0)):
            sets.update(_sets(tree, begin))
    begins = np.concatenate([[0], np.cumsum(leaves + n_tests)]).astype(np.int64)
    if set(np.flatnonzero(arrays["decision"] & 1).tolist()) != set(sets):
        raise ValueError("a test is marked as categorical but has no set of categories, or has a set but is not marked")
    return {**arrays, "begins": begins, "n_tests": n_tests, "sets": sets}


def _sets(tree: Mapping[str, str], begin: int) -> dict[int, tuple[int, ...]]:
    """For each test of categories in a tree, the categories that go left; the file has them as bits of 32-bit words."""
    bounds = [int(word) for word in tree["cat_boundaries"].split()]
    words = np.array([int(word) for word in tree["cat_threshold"].split()], dtype=np.uint32)
    n_sets = int(tree["num_cat"])
    if len(bounds) != n_sets + 1 or [0, *sorted(bounds[1:-1]), words.size] != bounds:
        raise ValueError(
            f"cat_boundaries of a tree is not valid: expected {n_sets + 1} ascending numbers, the first 0 and the last "
            f"the length of cat_threshold, {words.size}"
        )
    kinds = [int(word) for word in tree["decision_type"].split()]
    which = [float(word) for word in tree["threshold"].split()]
    found = {}
    for at, (kind, number) in enumerate(zip(kinds, which, strict=True)):
        if kind & 1:
            if not 0 <= number < len(bounds) - 1:
                raise ValueError("a test of categories refers to a set of categories that does not exist")
            bits = np.unpackbits(words[bounds[int(number)] : bounds[int(number) + 1]].view(np.uint8), bitorder="little")
            found[begin + at] = tuple(np.flatnonzero(bits).tolist())
    return found
