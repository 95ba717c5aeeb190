"""Read the JSON or UBJSON that XGBoost 2.1 to 3.4 writes of a model into arrays, without the library.

A ``dart`` booster has one of three layouts: an inner booster with the weights beside it (up to 3.2); a booster named
``gbtree`` with the weights beside its "model" (3.3); or the weights inside "model" (3.4).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.ensembles.readers.known_fields import COLUMN_BYTES, KnownFields, same
from proofwood.ensembles.readers.ubjson import decoded
from proofwood.files import require_room
from proofwood.model.node_table import BoolArray, FloatArray, IntArray

_STATISTICS = "statistics of training"
KNOWN = KnownFields(
    "XGBoost",
    {
        "the file": {"learner": "saved", "version": "saved"},
        "learner": {
            "attributes": "notes of the user; scikit-learn's classes use best_iteration: rounds_used",
            "feature_names": "saved",
            "feature_types": "saved",
            "gradient_booster": "_booster",
            "learner_model_param": "_outputs",
            "objective": "saved",
        },
        "learner_model_param": {
            "base_score": "_outputs",
            "boost_from_average": "says where base_score came from",
            "num_class": "_outputs",
            "num_feature": "saved",
            "num_target": "_outputs",
        },
        "objective": {
            "name": "saved",
            **dict.fromkeys(
                (
                    "reg_loss_param",
                    "pseudo_huber_param",
                    "quantile_loss_param",
                    "expectile_loss_param",
                    "poisson_regression_param",
                    "tweedie_regression_param",
                    "aft_loss_param",
                    "lambdarank_param",
                    "softmax_multiclass_param",
                ),
                "of the loss, not of predictions",
            ),
        },
        "gradient_booster": {
            "name": "_booster",
            "model": "_booster",
            "gbtree": "_booster, of dart up to 3.2",
            "weight_drop": "_booster, of dart up to 3.3",
        },
        "model": {
            "gbtree_model_param": "_booster",
            "trees": "_stack",
            "tree_info": "_booster: the output that each tree belongs to",
            "iteration_indptr": "_booster: trees of each round",
            "cats": "_named_categories",
            "weight_drop": "_booster, of dart since 3.4",
        },
        "gbtree_model_param": {
            "num_trees": "the length of trees",
            "num_parallel_tree": "_booster, where iteration_indptr is absent",
        },
        "cats": {
            "enc": "_named_categories",
            "feature_segments": "how many of them there are per column",
            "sorted_idx": "their order, to look them up",
        },
        "cats of a column": {"values": "_names", "offsets": "_names", "type": "type of numbers"},
        "a tree": {
            "left_children": "_stack",
            "right_children": "_stack",
            "split_indices": "_stack",
            "split_conditions": "_stack",
            "split_type": "_stack",
            "default_left": "_stack",
            "leaf_weights": "_leaf_values, of vector leaves since 3.2",
            "base_weights": "_leaf_values, of vector leaves up to 3.1",
            "categories": "_sets",
            "categories_nodes": "_sets",
            "categories_segments": "_sets",
            "categories_sizes": "_sets",
            "tree_param": "_stack",
            "id": "place in the list",
            "parents": "the way back",
            "loss_changes": _STATISTICS,
            "sum_hessian": _STATISTICS,
        },
        "tree_param": {
            "num_nodes": "the length of the arrays",
            "num_feature": "that of the model",
            "num_deleted": "_unreached",
            "size_leaf_vector": "_stack",
        },
    },
)
"""The known fields of a model: the function here that reads each, or the reason why it is not read."""

FIRST, LEAF_WEIGHTS, WEIGHTS_BESIDE, WEIGHTS_INSIDE = (2, 1), (3, 2), (3, 3), (3, 4)
"""The first release that can be read; the first with ``leaf_weights`` for vector leaves; and the first ones in which
``dart`` stores its weights beside "model", and inside "model"."""
NAMES_CUT = (3, 4)
"""Releases before this one store offsets of category names in characters, but the names in bytes, so that non-ASCII
names are truncated."""


@dataclass(frozen=True, eq=False)
class SavedXGBoost:
    """An XGBoost model of trees, as it is saved.

    Parameters
    ----------
    version : the version of XGBoost that wrote the model
    objective : name of the objective
    n_columns : number of columns that the model takes
    n_outputs : number of sums that it computes for a row
    multiclass : whether the sums are scores of classes
    names : names of the columns; None if the model stores no names
    types : types of the columns, "c" for categories; empty if the model stores no types
    attributes : attributes that the user set
    base : (n_outputs,) base scores as stored, on the scale of predictions
    begins : (n_trees + 1,) first node of each tree
    low, high : (n_nodes,) next nodes within the tree; ``low`` is -1 at leaves
    column : (n_nodes,) tested column
    threshold : (n_nodes,) float32, below which a number goes low
    missing_low : (n_nodes,) whether a missing value goes low
    sets : by node that tests categories, the codes that go high
    leaf : (n_nodes, 1) float32 scores for the output of the tree; or (n_nodes, n_outputs)
    output_of : (n_trees,) the output to which each tree belongs
    rounds : (n_rounds + 1,) first tree of each round
    weights : (n_trees,) float32 factors of the trees of a ``dart`` booster; None without factors
    categories : by column, the names of its categories, if the model stores them
    since, before : the first release of XGBoost that reads this layout, and the first later one that does not (None if
        no such release is known); other releases silently ignore parts of it, or crash
    cut : by column whose names are truncated (XGBoost 3.1 to 3.3 truncates non-ASCII names), the stored bytes and the
        offsets of the names
    """

    version: tuple[int, ...]
    objective: str
    n_columns: int
    n_outputs: int
    multiclass: bool
    names: tuple[str, ...] | None
    types: tuple[str, ...]
    attributes: Mapping[str, str]
    base: FloatArray
    begins: IntArray
    low: IntArray
    high: IntArray
    column: IntArray
    threshold: npt.NDArray[np.float32]
    missing_low: BoolArray
    sets: Mapping[int, tuple[int, ...]]
    leaf: npt.NDArray[np.float32]
    output_of: IntArray
    rounds: IntArray
    weights: npt.NDArray[np.float32] | None
    categories: Mapping[int, tuple[Any, ...]]
    since: tuple[int, int]
    before: tuple[int, int] | None
    cut: Mapping[int, tuple[bytes, tuple[int, ...]]]

    @property
    def written_by(self) -> str:
        """The release of XGBoost that wrote the model."""
        return ".".join(map(str, self.version))

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return int(self.begins.size) - 1

    def trees_up_to(self, n_rounds: int) -> int:
        """The number of trees in the first ``n_rounds`` rounds."""
        return int(self.rounds[min(n_rounds, self.rounds.size - 1)])

    def same(self, other: SavedXGBoost) -> bool:
        """Whether both models predict the same."""
        skipped = ("version", "attributes", "since", "before", "cut", "weights")
        return np.array_equal(self.factors, other.factors) and same(self, other, skipped)

    @property
    def factors(self) -> FloatArray:
        """(n_trees,) the factors of the trees; 1 without ``weights``."""
        return np.ones(self.n_trees) if self.weights is None else self.weights.astype(np.float64)


def saved(raw: bytes) -> SavedXGBoost:
    """Read a saved model.

    Parameters
    ----------
    raw : the JSON or UBJSON that ``Booster.save_model`` or ``Booster.save_raw`` writes

    Raises
    ------
    TypeError
        If the booster is not a tree model, or a field is not known here.
    ValueError
        If the data are damaged.
    """
    # UBJSON has the type of a size behind the first bracket, JSON a quotation mark or a blank
    document = decoded(raw) if raw[1:2] in b"iUIlL" else json.loads(raw)
    try:
        return _read(document, len(raw))
    except (LookupError, ValueError, OverflowError, AttributeError) as error:
        raise ValueError(f"this is not a complete XGBoost model: {type(error).__name__}: {error}") from error


def _read(document: Mapping[str, Any], size: int) -> SavedXGBoost:
    version = tuple(int(number) for number in document["version"])
    written_by = ".".join(map(str, version))

    def known(part: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        KNOWN.check(part, fields, written_by)
        return fields

    known("the file", document)
    learner = known("learner", document["learner"])
    parameters = known("learner_model_param", learner["learner_model_param"])
    objective = known("objective", learner["objective"])
    booster = _Booster(learner["gradient_booster"], known)
    base = _numbers(parameters["base_score"])
    n_classes, n_targets = int(parameters["num_class"]), int(parameters.get("num_target", 1))
    n_outputs = max(n_classes, n_targets, 1)
    n_columns = int(parameters["num_feature"])
    require_room("the XGBoost model", COLUMN_BYTES * (n_columns + n_outputs), size)
    names, types = (tuple(map(str, learner[key])) for key in ("feature_names", "feature_types"))
    categories, cut = _named_categories(booster.model.get("cats"), known, version)
    return SavedXGBoost(
        version=version,
        objective={"reg:linear": "reg:squarederror"}.get(objective["name"], str(objective["name"])),
        n_columns=n_columns,
        n_outputs=n_outputs,
        multiclass=n_classes > 0,
        names=names or None,
        types=types,
        attributes={str(key): str(value) for key, value in learner["attributes"].items()},
        base=np.broadcast_to(base, (n_outputs,)).copy(),
        **booster.stack(n_outputs, n_columns),
        output_of=booster.outputs(n_outputs),
        rounds=booster.rounds(),
        weights=booster.weights,
        categories=categories,
        since=booster.since,
        before=booster.before,
        cut=cut,
    )


class _Booster:
    """The trees of a booster, and their weights."""

    def __init__(self, given: Mapping[str, Any], known: Any) -> None:
        self._known = known
        if given["name"] not in ("gbtree", "dart"):
            raise TypeError(f"the model has booster={given['name']!r}: expected 'gbtree' or 'dart'")
        known("gradient_booster", given)
        inner = known("gradient_booster", given["gbtree"]) if "gbtree" in given else given
        self.model = known("model", inner["model"])
        places = [self.model, inner] if given is inner else [self.model, inner, given]
        drops = [part["weight_drop"] for part in places if "weight_drop" in part]
        if len(drops) > 1:
            raise TypeError("the model has the field weight_drop in two places: expected it in one place")
        self.trees: Sequence[Mapping[str, Any]] = self.model["trees"]
        vectors = [tree for tree in self.trees if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1]
        self.since: tuple[int, int] = FIRST
        self.before: tuple[int, int] | None = None
        if vectors and "leaf_weights" in vectors[0]:
            self.since = LEAF_WEIGHTS
        elif vectors:
            self.before = LEAF_WEIGHTS
        if "weight_drop" in self.model:
            self.since = WEIGHTS_INSIDE
        elif given["name"] == "gbtree" and drops:
            self.since = WEIGHTS_BESIDE
        # a dart booster that dropped no tree has no weights
        self.weights = np.asarray(drops[0], dtype=np.float32) if drops and len(drops[0]) else None
        if self.weights is not None and self.weights.shape != (len(self.trees),):
            raise ValueError(f"weight_drop has {self.weights.size} weights: expected {len(self.trees)}, one per tree")
        if given["name"] == "dart" and self.weights is None and self.trees:
            raise ValueError("the booster 'dart' has no weight_drop: expected one weight per tree")

    def rounds(self) -> IntArray:
        """(n_rounds + 1,) first tree of each round."""
        given = self.model.get("iteration_indptr")
        if given is not None:
            return _integers(given)
        parameters = self._known("gbtree_model_param", self.model["gbtree_model_param"])
        groups = len({int(group) for group in self.model["tree_info"]})
        per_round = max(1, int(parameters["num_parallel_tree"])) * max(1, groups)
        return np.arange(0, len(self.trees) + 1, per_round)

    def outputs(self, n_outputs: int) -> IntArray:
        """(n_trees,) the output to which each tree belongs."""
        found = _integers(self.model["tree_info"])
        if found.size != len(self.trees) or ((found < 0) | (found >= n_outputs)).any():
            raise ValueError(
                f"tree_info is not valid: expected an output from 0 to {n_outputs - 1} for each of {len(self.trees)} "
                "trees"
            )
        return found

    def stack(self, n_outputs: int, n_columns: int) -> dict[str, Any]:
        """The nodes of all trees, as keyword arguments for ``SavedXGBoost``."""
        known, names = self._known, set(KNOWN.fields["a tree"])
        sizes, vectors, deleted = [], [], False
        for tree in self.trees:
            if not names.issuperset(tree):
                known("a tree", tree)
            parameters = known("tree_param", tree["tree_param"])
            deleted |= int(parameters["num_deleted"]) > 0
            sizes.append(len(tree["left_children"]))
            vectors.append(int(parameters.get("size_leaf_vector", 1)) > 1)
        known("gbtree_model_param", self.model["gbtree_model_param"])
        begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        threshold = self._column("split_conditions", np.float32)
        low, high = self._column("left_children", np.int64), self._column("right_children", np.int64)
        if any(vectors) and not all(vectors):
            raise TypeError("only some trees of the model have vector leaves: expected them in all trees or in none")
        leaf = threshold[:, np.newaxis]
        if any(vectors):
            leaf = np.concatenate([_leaf_values(tree, n_outputs) for tree in self.trees])
        arrays = {
            "low": low,
            "high": high,
            "column": self._column("split_indices", np.int64),
            "missing_low": self._column("default_left", np.bool_),
        }
        if any(array.size != begins[-1] for array in (*arrays.values(), threshold)) or len(leaf) != begins[-1]:
            raise ValueError("the arrays of a tree differ in length: expected one entry per node")
        of_tree = np.repeat(np.diff(begins), np.diff(begins))
        inner = low != -1
        if any(((child < 0) | (child >= of_tree))[inner].any() for child in (low, high)):
            raise ValueError("a test leads to a node that does not exist")
        if ((arrays["column"] < 0) | (arrays["column"] >= n_columns))[inner].any():
            raise ValueError(f"a test uses a column that does not exist: expected columns from 0 to {n_columns - 1}")
        kinds = self._column("split_type", np.int64)
        sets: dict[int, tuple[int, ...]] = {}
        for begin, tree in zip(begins.tolist(), self.trees, strict=False):
            if len(tree["categories_nodes"]):
                sets.update((begin + node, codes) for node, codes in _sets(tree).items())
        if set(np.flatnonzero((kinds != 0) & (low != -1)).tolist()) != set(sets):
            raise TypeError("the model has a split of an unknown type: expected splits on numbers or on categories")
        if deleted:
            low[_unreached(begins, low, high)] = -1
        _require_parents(begins, low, high, self._column("parents", np.int64))
        return {**arrays, "begins": begins, "threshold": threshold, "sets": sets, "leaf": leaf}

    def _column(self, name: str, dtype: Any) -> Any:
        parts = [tree[name] for tree in self.trees]
        return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype=dtype)


def _require_parents(begins: IntArray, low: IntArray, high: IntArray, parents: IntArray) -> None:
    """Raise ValueError if ``parents`` does not match the children; the library relies on it without a check."""
    root = np.repeat(begins[:-1], np.diff(begins))
    inner = np.flatnonzero(low != -1)
    own = inner - root[inner]
    kept = all(np.array_equal(parents[child[inner] + root[inner]], own) for child in (low, high))
    tops = parents[begins[:-1][np.diff(begins) > 0]]
    if parents.size != low.size or not kept or ((tops >= 0) & (tops < low.size)).any():
        raise ValueError("the parents of the nodes do not match the children: expected the parent of each node")


def _unreached(begins: IntArray, low: IntArray, high: IntArray) -> IntArray:
    """The nodes that cannot be reached from a root; their values do not matter."""
    left = np.ones(low.size, dtype=bool)
    root = np.repeat(begins[:-1], np.diff(begins))
    level = begins[:-1]
    while level.size:
        left[level] = False
        inner = level[low[level] != -1]
        level = np.concatenate([low[inner], high[inner]]) + np.tile(root[inner], 2)
        level = level[left[level]]
    return np.flatnonzero(left)


def _leaf_values(tree: Mapping[str, Any], n_outputs: int) -> npt.NDArray[np.float32]:
    """(n_nodes, n_outputs) scores of the leaves of a tree with vector leaves; rows of other nodes do not matter."""
    low = _integers(tree["left_children"])
    if "leaf_weights" in tree:  # one row per leaf; its number is stored in place of the right child
        rows = np.asarray(tree["leaf_weights"], dtype=np.float32).reshape(-1, n_outputs)
        found = np.zeros((low.size, n_outputs), dtype=np.float32)
        leaves = np.flatnonzero(low == -1)
        found[leaves] = rows[_integers(tree["right_children"])[leaves]]
        return found
    return np.asarray(tree["base_weights"], dtype=np.float32).reshape(low.size, n_outputs)


def _sets(tree: Mapping[str, Any]) -> dict[int, tuple[int, ...]]:
    """For each node of a tree that tests categories, the categories that go high."""
    nodes, firsts, sizes, codes = (
        _integers(tree[key]).tolist()
        for key in ("categories_nodes", "categories_segments", "categories_sizes", "categories")
    )
    spans = zip(nodes, firsts, sizes, strict=True)
    return {node: tuple(codes[first : first + size]) for node, first, size in spans}


def _named_categories(
    cats: Any, known: Any, version: tuple[int, ...]
) -> tuple[dict[int, tuple[Any, ...]], dict[int, tuple[bytes, tuple[int, ...]]]]:
    """By column, the names of its categories; and the stored bytes and offsets of columns whose names are truncated."""
    names: dict[int, tuple[Any, ...]] = {}
    cut: dict[int, tuple[bytes, tuple[int, ...]]] = {}
    if cats is None:
        return names, cut
    for column, entry in enumerate(known("cats", cats)["enc"]):
        known("cats of a column", entry)
        values = _integers(entry["values"])
        if not values.size:
            continue
        if "offsets" not in entry:
            names[column] = tuple(np.asarray(entry["values"]).tolist())
            continue
        text, offsets = bytes((values % 256).tolist()), tuple(_integers(entry["offsets"]).tolist())
        if not text.isascii() and version < NAMES_CUT:
            cut[column] = text, offsets
        else:
            names[column] = tuple(text[start:end].decode() for start, end in pairwise(offsets))
    return names, cut


def stored_as(names: Sequence[Any], text: bytes, offsets: Sequence[int]) -> bool:
    """Whether XGBoost 3.1 to 3.3 stores the names as these bytes and offsets: it counts characters, not bytes."""
    ends = np.concatenate([[0], np.cumsum([len(str(name)) for name in names])]).tolist()
    return list(offsets) == ends and "".join(map(str, names)).encode()[: ends[-1]] == text


def _integers(values: Any) -> IntArray:
    return np.asarray(values, dtype=np.int64).reshape(-1)


def _numbers(text: Any) -> FloatArray:
    """(n,) the numbers written in a text: one number, or since XGBoost 3.1 a list."""
    read = json.loads(text) if text.strip().startswith("[") else float(text)
    return np.atleast_1d(np.asarray(read, dtype=np.float32)).astype(np.float64)


def margin(base: FloatArray, kind: str) -> FloatArray:
    """The base scores to which XGBoost adds the trees, rounded to float32, from the stored predictions.

    Parameters
    ----------
    base : (n_outputs,) the stored predictions
    kind : the kind of link of the objective: "mean", "log" or "logistic"
    """
    if kind == "logistic":  # XGBoost clips to this range
        inside = np.clip(base, np.float32(1e-6), np.float32(1) - np.float32(1e-6)).astype(np.float64)
        return np.asarray((-np.log(1.0 / inside - 1.0)).astype(np.float32), dtype=np.float64)
    if kind == "log":
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(base).astype(np.float32), dtype=np.float64)
    return base
