"""What LightGBM writes of a model, as arrays: the text of releases 3 to 4.7 (``version=v3`` and ``v4``)."""

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
"""Forms of the text that are known."""
_STATISTICS = "statistics of training"
KNOWN = KnownFields(
    "LightGBM",
    {
        "the head of the text": {
            "tree": "the kind of the model: saved",
            "version": "saved",
            "num_class": "saved",
            "num_tree_per_iteration": "saved",
            "label_index": "a column of the file of the training",
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
        "what follows the trees": {
            "feature_importances": _STATISTICS,
            "parameters": "of the training; categorical_feature: saved",
            "end of parameters": "",
            "pandas_categorical": "saved",
        },
    },
)
"""The fields of a model, and the functions here that deal with them."""


@dataclass(frozen=True, eq=False)
class SavedLightGBM:
    """A LightGBM model of trees, as it is saved.

    Parameters
    ----------
    version : of the form of the text
    objective : with its parameters, such as "binary sigmoid:1"; empty if it is none of LightGBM
    n_columns : that the model takes
    n_classes : number of sums, one for each class; 1 if there is one sum
    per_round : trees of one round
    average : whether predictions are means over the rounds
    names : of the columns
    infos : what the training saw in each column: "none", the least and the greatest number, or categories
    begins : (n_trees + 1,) first node of each tree; its tests come before its leaves
    n_tests : (n_trees,) how many tests those are
    column, threshold, decision, left, right : (n_all_tests,) of the tests of all trees; a child below 0 is the leaf
        ``-1 - child``
    leaf : (n_all_leaves,) scores of the leaves of all trees
    sets : from the places of tests of categories to the categories that go left
    categorical : columns of categories, as stated for the training
    pandas : categories of these columns, where the training had a frame of pandas
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
        """Number of trees."""
        return int(self.n_tests.size)

    def same(self, other: SavedLightGBM) -> bool:
        """Whether both predict the same."""
        return same(self, other, ("version", "infos", "categorical"), nan=False)


def saved(text: str) -> SavedLightGBM:
    """What a saved model says.

    Parameters
    ----------
    text : as ``Booster.save_model`` and ``Booster.model_to_string`` write it

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
        raise ValueError(f"this is not a complete model of LightGBM: {type(error).__name__}: {error}") from error


def _read(text: str) -> SavedLightGBM:
    before, found, after = text.partition("\nend of trees\n")
    if not found:
        raise ValueError("there is no line 'end of trees'")
    head_text, *trees = before.split("\nTree=")
    head = _fields(head_text)
    version = head.get("version", "")
    if version not in VERSIONS or head.get("tree") != "":
        raise TypeError(
            f"the model is of the form version={version!r}: expected one of {', '.join(VERSIONS)}, which LightGBM 3 "
            "and 4 write"
        )
    KNOWN.check("the head of the text", head, version)
    names = tuple(head["feature_names"].split(" "))
    infos = tuple(head["feature_infos"].split(" "))
    n_columns = int(head["max_feature_idx"]) + 1
    if not len(names) == len(infos) == n_columns:
        raise ValueError(f"there are {len(names)} names and {len(infos)} feature_infos of {n_columns} columns")
    n_classes, per_round = int(head["num_class"]), int(head["num_tree_per_iteration"])
    if min(n_classes, per_round) < 1:
        raise ValueError(f"num_class={n_classes} and num_tree_per_iteration={per_round}: expected numbers from 1")
    require_room("the model of LightGBM", COLUMN_BYTES * (n_columns + n_classes + per_round), len(text))
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
    """ValueError unless trees begin where ``tree_sizes`` says: the library looks there, whatever is there."""
    sizes = [int(word) for word in head.get("tree_sizes", "").split()]
    data = text.encode()
    at = data.find(b"\nTree=") + 1
    for size in sizes:
        if size < 1 or data[at : at + 5] != b"Tree=":
            raise ValueError("tree_sizes says that a tree begins where none does")
        at += size


def _fields(text: str) -> dict[str, str]:
    """What lines of the form key=value say; a line without a value is a key."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        if line:
            key, _, value = line.partition("=")
            found[key] = value
    return found


def _rest(text: str, version: str) -> tuple[list[str], tuple[tuple[Any, ...], ...]]:
    """The parameters of the training, and the categories of frames of pandas."""
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
            KNOWN.check("what follows the trees", [part], version)
    return parameters, tuple(tuple(values) for values in pandas or ())


def _categorical(parameters: Sequence[str], names: Sequence[str]) -> tuple[int, ...]:
    """Columns of categories, as the parameters of the training say."""
    for line in parameters:
        if line.startswith("[categorical_feature: "):
            given = line.removeprefix("[categorical_feature: ").removesuffix("]").removeprefix("name:")
            return tuple(names.index(word) if word in names else int(word) for word in given.split(",") if word)
    return ()


def _stack(trees: list[dict[str, str]], n_columns: int, version: str) -> dict[str, Any]:
    """The tests and leaves of all trees, as parameters of ``SavedLightGBM``."""
    names = set(KNOWN.fields["a tree"])
    for number, tree in enumerate(trees):
        if not names.issuperset(tree):
            KNOWN.check("a tree", tree, version)
        if int(tree["Tree"]) != number:
            raise ValueError(f"tree {tree['Tree']} is in the place of tree {number}")
        if int(tree.get("is_linear", 0)):
            raise TypeError("the model has linear leaves: expected linear_tree=False")
    leaves = np.array([int(tree["num_leaves"]) for tree in trees], dtype=np.int64)
    if (leaves < 1).any():
        raise ValueError("a tree has no leaf")
    n_tests = leaves - 1
    total = int(n_tests.sum())

    def numbers(name: str, kind: Any, n: int) -> Any:
        words = " ".join([tree.get(name, "") for tree in trees]).split()
        if len(words) != n:
            raise ValueError(f"{name} has {len(words)} numbers in all: expected {n}")
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
            raise ValueError("a test leads to a node that is not there")
        if ((child >= 0) & (child <= np.arange(total) - np.repeat(np.cumsum(n_tests) - n_tests, n_tests))).any():
            raise ValueError("a test leads back to a node before it")
    if ((arrays["column"] < 0) | (arrays["column"] >= n_columns)).any():
        raise ValueError("a test is of a column that is not there")
    first = np.concatenate([[0], np.cumsum(n_tests)])
    sets: dict[int, tuple[int, ...]] = {}
    for begin, tree in zip(first.tolist(), trees, strict=False):
        if int(tree.get("num_cat", 0)):
            sets.update(_sets(tree, begin))
    begins = np.concatenate([[0], np.cumsum(leaves + n_tests)]).astype(np.int64)
    if set(np.flatnonzero(arrays["decision"] & 1).tolist()) != set(sets):
        raise ValueError("tests of categories without these")
    return {**arrays, "begins": begins, "n_tests": n_tests, "sets": sets}


def _sets(tree: Mapping[str, str], begin: int) -> dict[int, tuple[int, ...]]:
    """Per test of categories of a tree, those that go left; they are bits of words of 32 bits."""
    bounds = [int(word) for word in tree["cat_boundaries"].split()]
    words = np.array([int(word) for word in tree["cat_threshold"].split()], dtype=np.uint32)
    n_sets = int(tree["num_cat"])
    if len(bounds) != n_sets + 1 or [0, *sorted(bounds[1:-1]), words.size] != bounds:
        raise ValueError("the boundaries of its sets of categories are not valid")
    kinds = [int(word) for word in tree["decision_type"].split()]
    which = [float(word) for word in tree["threshold"].split()]
    found = {}
    for at, (kind, number) in enumerate(zip(kinds, which, strict=True)):
        if kind & 1:
            if not 0 <= number < len(bounds) - 1:
                raise ValueError("a test of categories has no set of them")
            bits = np.unpackbits(words[bounds[int(number)] : bounds[int(number) + 1]].view(np.uint8), bitorder="little")
            found[begin + at] = tuple(np.flatnonzero(bits).tolist())
    return found
