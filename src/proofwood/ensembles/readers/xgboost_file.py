"""What XGBoost writes of a model, as arrays: JSON or UBJSON of releases 2.1 to 3.4, read without the library.

Three layouts of the booster ``dart`` are known: a booster in a booster with weights beside it (up to 3.2), the weights
beside the trees in a booster called ``gbtree`` (3.3), and the weights inside of "model" (3.4).
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
            "attributes": "notes of the user, of which best_iteration counts for the wrappers: rounds_used",
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
"""The fields of a model, and the functions here that deal with them."""

FIRST, LEAF_WEIGHTS, WEIGHTS_BESIDE, WEIGHTS_INSIDE = (2, 1), (3, 2), (3, 3), (3, 4)
"""The first release that is read here, and those since which leaves of vectors have a field of their own, and ``dart``
has weights beside its trees, or inside of "model"."""
NAMES_CUT = (3, 4)
"""Releases before this one store where a name begins in characters, and the names in bytes: others are cut."""


@dataclass(frozen=True, eq=False)
class SavedXGBoost:
    """An XGBoost model of trees, as it is saved.

    Parameters
    ----------
    version : of XGBoost
    objective : its name
    n_columns : that the model takes
    n_outputs : sums that it computes for a row
    multiclass : whether these are of classes
    names : of the columns; None if it knows none
    types : of the columns, "c" for categories; empty if it knows none
    attributes : notes of the user
    base : (n_outputs,) as stored, on the scale of predictions
    begins : (n_trees + 1,) first node of each tree
    low, high : (n_nodes,) next node within the tree, -1 at leaves (low)
    column : (n_nodes,) tested
    threshold : (n_nodes,) float32, below which a number goes low
    missing_low : (n_nodes,) whether a missing value goes low
    sets : from nodes that test categories to the codes that go high
    leaf : (n_nodes, 1) float32 scores, of the output that the tree belongs to; or (n_nodes, n_outputs)
    output_of : (n_trees,) output that the tree belongs to
    rounds : (n_rounds + 1,) first tree of each round
    weights : (n_trees,) float32 factors of the trees of a ``dart``; None if there are none
    categories : names of the categories per column, where the model knows them
    since, before : the first release of XGBoost that reads this layout, and the first that does so no more (None:
        none is known): others drop parts of it without a word, or crash
    cut : columns whose names are damaged, as XGBoost 3.1 to 3.3 damages names that are not ASCII: per column
        the bytes as they are stored, and where the names begin
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
        """Number of trees."""
        return int(self.begins.size) - 1

    def trees_up_to(self, n_rounds: int) -> int:
        """Trees of the first rounds."""
        return int(self.rounds[min(n_rounds, self.rounds.size - 1)])

    def same(self, other: SavedXGBoost) -> bool:
        """Whether both predict the same."""
        skipped = ("version", "attributes", "since", "before", "cut", "weights")
        return np.array_equal(self.factors, other.factors) and same(self, other, skipped)

    @property
    def factors(self) -> FloatArray:
        """(n_trees,) factors of the trees."""
        return np.ones(self.n_trees) if self.weights is None else self.weights.astype(np.float64)


def saved(raw: bytes) -> SavedXGBoost:
    """What a saved model says.

    Parameters
    ----------
    raw : JSON or UBJSON, as ``Booster.save_model`` and ``Booster.save_raw`` write it

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
        raise ValueError(f"this is not a complete model of XGBoost: {type(error).__name__}: {error}") from error


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
    require_room("the model of XGBoost", COLUMN_BYTES * (n_columns + n_outputs), size)
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
            raise TypeError(f"the booster is {given['name']!r}: expected booster='gbtree' or 'dart'")
        known("gradient_booster", given)
        inner = known("gradient_booster", given["gbtree"]) if "gbtree" in given else given
        self.model = known("model", inner["model"])
        places = [self.model, inner] if given is inner else [self.model, inner, given]
        drops = [part["weight_drop"] for part in places if "weight_drop" in part]
        if len(drops) > 1:
            raise TypeError("the model has weight_drop in two places: expected one, as XGBoost writes it")
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
        # a dart that dropped no tree yet has none
        self.weights = np.asarray(drops[0], dtype=np.float32) if drops and len(drops[0]) else None
        if self.weights is not None and self.weights.shape != (len(self.trees),):
            raise ValueError(f"there are {self.weights.size} weights for {len(self.trees)} trees")
        if given["name"] == "dart" and self.weights is None and self.trees:
            raise ValueError("a booster 'dart' without weight_drop")

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
        """(n_trees,) output that each tree belongs to."""
        found = _integers(self.model["tree_info"])
        if found.size != len(self.trees) or ((found < 0) | (found >= n_outputs)).any():
            raise ValueError(f"a tree belongs to none of {n_outputs} outputs")
        return found

    def stack(self, n_outputs: int, n_columns: int) -> dict[str, Any]:
        """The nodes of all trees, as parameters of ``SavedXGBoost``."""
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
            raise TypeError("some trees of the model have vector leaves, and others have not: expected all of one kind")
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
            raise ValueError("the arrays of a tree differ in length")
        of_tree = np.repeat(np.diff(begins), np.diff(begins))
        inner = low != -1
        if any(((child < 0) | (child >= of_tree))[inner].any() for child in (low, high)):
            raise ValueError("a test leads to a node that is not there")
        if ((arrays["column"] < 0) | (arrays["column"] >= n_columns))[inner].any():
            raise ValueError(f"a test is of a column that is none of {n_columns}")
        kinds = self._column("split_type", np.int64)
        sets: dict[int, tuple[int, ...]] = {}
        for begin, tree in zip(begins.tolist(), self.trees, strict=False):
            if len(tree["categories_nodes"]):
                sets.update((begin + node, codes) for node, codes in _sets(tree).items())
        if set(np.flatnonzero((kinds != 0) & (low != -1)).tolist()) != set(sets):
            raise TypeError("the model has a kind of split that is not known here: expected numbers and categories")
        if deleted:
            low[_unreached(begins, low, high)] = -1
        _require_parents(begins, low, high, self._column("parents", np.int64))
        return {**arrays, "begins": begins, "threshold": threshold, "sets": sets, "leaf": leaf}

    def _column(self, name: str, dtype: Any) -> Any:
        parts = [tree[name] for tree in self.trees]
        return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype=dtype)


def _require_parents(begins: IntArray, low: IntArray, high: IntArray, parents: IntArray) -> None:
    """ValueError unless each node is led to by its parent alone, and a root by none: the library relies on it."""
    root = np.repeat(begins[:-1], np.diff(begins))
    inner = np.flatnonzero(low != -1)
    own = inner - root[inner]
    kept = all(np.array_equal(parents[child[inner] + root[inner]], own) for child in (low, high))
    tops = parents[begins[:-1][np.diff(begins) > 0]]
    if parents.size != low.size or not kept or ((tops >= 0) & (tops < low.size)).any():
        raise ValueError("the parents of nodes are not those that lead to them")


def _unreached(begins: IntArray, low: IntArray, high: IntArray) -> IntArray:
    """Nodes that no other leads to: what they hold does not matter."""
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
    if "leaf_weights" in tree:  # one row per leaf, whose number stands where that of a child would
        rows = np.asarray(tree["leaf_weights"], dtype=np.float32).reshape(-1, n_outputs)
        found = np.zeros((low.size, n_outputs), dtype=np.float32)
        leaves = np.flatnonzero(low == -1)
        found[leaves] = rows[_integers(tree["right_children"])[leaves]]
        return found
    return np.asarray(tree["base_weights"], dtype=np.float32).reshape(low.size, n_outputs)


def _sets(tree: Mapping[str, Any]) -> dict[int, tuple[int, ...]]:
    """Per node of a tree that tests categories those that go high."""
    nodes, firsts, sizes, codes = (
        _integers(tree[key]).tolist()
        for key in ("categories_nodes", "categories_segments", "categories_sizes", "categories")
    )
    spans = zip(nodes, firsts, sizes, strict=True)
    return {node: tuple(codes[first : first + size]) for node, first, size in spans}


def _named_categories(
    cats: Any, known: Any, version: tuple[int, ...]
) -> tuple[dict[int, tuple[Any, ...]], dict[int, tuple[bytes, tuple[int, ...]]]]:
    """The names of categories per column, and the columns whose names are damaged."""
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
    """Whether XGBoost 3.1 to 3.3 stores these names so: places in characters, and as many bytes in all."""
    ends = np.concatenate([[0], np.cumsum([len(str(name)) for name in names])]).tolist()
    return list(offsets) == ends and "".join(map(str, names)).encode()[: ends[-1]] == text


def _integers(values: Any) -> IntArray:
    return np.asarray(values, dtype=np.int64).reshape(-1)


def _numbers(text: Any) -> FloatArray:
    """A number, or since XGBoost 3.1 a list of them, written as text."""
    read = json.loads(text) if text.strip().startswith("[") else float(text)
    return np.atleast_1d(np.asarray(read, dtype=np.float32)).astype(np.float64)


def margin(base: FloatArray, kind: str) -> FloatArray:
    """Base scores as XGBoost adds trees to them, in float32, from what is stored: a prediction of that kind.

    Parameters
    ----------
    base : (n_outputs,) as stored
    kind : "mean", "log" or "logistic", of the link of the objective
    """
    if kind == "logistic":  # as near to 0 and 1 as XGBoost lets it get
        inside = np.clip(base, np.float32(1e-6), np.float32(1) - np.float32(1e-6)).astype(np.float64)
        return np.asarray((-np.log(1.0 / inside - 1.0)).astype(np.float32), dtype=np.float64)
    if kind == "log":
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(base).astype(np.float32), dtype=np.float64)
    return base
