"""Read the nodes of the trees in an ONNX file, and check them, as the file may hold anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from proofwood.ensembles.forest import ScoredTree, merged
from proofwood.ensembles.readers.nodes import Edge, Nodes, join
from proofwood.ensembles.readers.onnx_graph import most_columns
from proofwood.files import require_room
from proofwood.model.convert import last_rounded_low
from proofwood.model.node_table import BoolArray, FloatArray, IntArray

NODE_BYTES = 200
"""Estimated memory in bytes of one node or one weight of a leaf."""
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF")


@dataclass(frozen=True, eq=False)
class Tests:
    """The nodes of all trees, in the order of the file.

    Parameters
    ----------
    mode : (n,) index in ``MODES``
    column : (n,) tested column
    upto, before : (n,) the largest float64 that is treated as at most, or as less than, the threshold
    yes, no : (n,) index of the next node if the test holds, or does not hold; -1 at leaves
    tracks : (n,) whether a missing value takes the side ``yes``
    ids : (n,) numbers of tree and node combined into one number
    order : (n,) indices that sort ``ids``
    starts : (n_trees + 1,) first node of each tree
    """

    mode: IntArray
    column: IntArray
    upto: FloatArray
    before: FloatArray
    yes: IntArray
    no: IntArray
    tracks: BoolArray
    ids: IntArray
    order: IntArray
    starts: IntArray

    @classmethod
    def of(cls, attributes: dict[str, Any], single: bool, width: int) -> Tests:
        """Read the nodes from the attributes of the ensemble and check them.

        ``single`` says whether inputs are float32; ``width`` is the number of columns, or 0 if it is not known.
        """
        tree = _whole(attributes, "nodes_treeids")
        n = len(tree)
        if not n:
            raise ValueError("the ensemble in the ONNX file has no node: expected trees")
        require_room("the ONNX file", NODE_BYTES * n, 8 * n)
        node, column, yes, no = (
            _whole(attributes, f"nodes_{name}", n) for name in ("nodeids", "featureids", "truenodeids", "falsenodeids")
        )
        given = attributes.get("nodes_modes", [])
        if len(given) != n or set(given) - set(MODES):
            raise ValueError(f"nodes_modes has {len(given)} texts {sorted(set(given))[:9]}: expected {n} of {MODES}")
        mode = np.array([MODES.index(one) for one in given])
        leaf = mode == MODES.index("LEAF")
        values = np.asarray(attributes.get("nodes_values", []), dtype=np.float64)
        if len(values) != n or np.isnan(values[~leaf]).any():
            raise ValueError(f"nodes_values has {len(values)} numbers: expected {n}, none of them nan")
        tracks = np.zeros(n, dtype=bool)
        if "nodes_missing_value_tracks_true" in attributes and len(attributes["nodes_missing_value_tracks_true"]):
            tracks = _whole(attributes, "nodes_missing_value_tracks_true", n) != 0
        most = width or most_columns()
        if (column[~leaf] < 0).any() or (column[~leaf] >= most).any():
            raise ValueError(
                f"a node tests a column that does not exist: expected numbers from 0 to {most - 1:,}"
                + ("" if width else ". If the file has more columns, raise max_bytes (--max-bytes on the command line)")
            )
        ids = _ids(tree, node)
        order = np.argsort(ids, kind="stable")
        if (np.diff(ids[order]) == 0).any():
            raise ValueError("two nodes of a tree have the same number: expected different nodes_nodeids")
        starts = np.flatnonzero(np.concatenate([[True], tree[1:] != tree[:-1], [True]]))
        if len(starts) - 1 != len(np.unique(tree)):
            raise ValueError("the nodes of a tree do not follow each other: expected each tree as one block")
        high, low = (
            np.where(leaf, -1, _places(ids, order, _ids(tree, np.where(leaf, node, child)))) for child in (yes, no)
        )
        children = np.concatenate([high[~leaf], low[~leaf]])
        orphan = np.ones(n, dtype=bool)
        orphan[children] = False
        if len(np.unique(children)) != len(children) or not np.array_equal(np.flatnonzero(orphan), starts[:-1]):
            raise ValueError("the nodes of the ONNX file do not form trees that begin with their roots")
        used = np.where(leaf, 0.0, values)
        upto, before = used, np.nextafter(used, -np.inf)
        if single:
            rounded = used.astype(np.float32)
            upto = last_rounded_low(rounded.astype(np.float64))
            before = last_rounded_low(np.nextafter(rounded, np.float32(-np.inf)).astype(np.float64))
        return cls(mode, column, upto, before, high, low, tracks, ids, order, starts)

    @property
    def n_columns(self) -> int:
        """The number of columns up to the last one that is tested."""
        return int(self.column[self.mode != MODES.index("LEAF")].max(initial=0)) + 1

    def trees(self, value: FloatArray) -> tuple[ScoredTree, ...]:
        """The trees, with the scores ``value`` (n, n_scores) of their leaves."""
        return tuple(merged(self._tree(int(start), value)) for start in self.starts[:-1])

    def _tree(self, root: int, value: FloatArray) -> ScoredTree:
        nodes = Nodes(value.shape[1])
        pending: list[tuple[int, list[Edge]]] = [(root, [])]
        while pending:
            at, edges = pending.pop()
            join(edges, len(nodes))
            if self.yes[at] < 0:
                nodes.add_leaf(value[at])
                continue
            yes, no = self._add(nodes, at)
            pending += [(int(self.no[at]), no), (int(self.yes[at]), yes)]
        return nodes.tree()

    def _add(self, nodes: Nodes, at: int) -> tuple[list[Edge], list[Edge]]:
        """Add the test of node ``at``; return its edges to the sides ``yes`` and ``no``."""
        mode, column, tracks = MODES[self.mode[at]], int(self.column[at]), bool(self.tracks[at])
        upto, before = float(self.upto[at]), float(self.before[at])
        if mode in ("BRANCH_LEQ", "BRANCH_LT"):
            return nodes.sides(nodes.add(column, upto if mode == "BRANCH_LEQ" else before, tracks))
        if mode in ("BRANCH_GT", "BRANCH_GTE"):
            low, high = nodes.sides(nodes.add(column, upto if mode == "BRANCH_GT" else before, not tracks))
            return high, low
        differs = mode == "BRANCH_NEQ"
        lower = nodes.add(column, before, differs)  # a missing value differs from every number
        upper = nodes.add(column, upto, tracks)
        nodes.high[lower] = upper
        outside, inside = [(nodes.low, lower), (nodes.high, upper)], [(nodes.low, upper)]
        return (outside, inside) if differs else (inside, outside)

    def weights(self, attributes: dict[str, Any], what: str) -> tuple[IntArray, IntArray, FloatArray]:
        """The leaf of each weight, its class (or target), and the weight itself."""
        tree = _whole(attributes, f"{what}_treeids")
        node, ids = (_whole(attributes, f"{what}_{name}", len(tree)) for name in ("nodeids", "ids"))
        weights = np.asarray(attributes.get(f"{what}_weights", []), dtype=np.float64)
        require_room("the ONNX file", NODE_BYTES * len(tree), 8 * len(tree))
        if len(weights) != len(tree) or not np.isfinite(weights).all():
            raise ValueError(f"{what}_weights has {len(weights)} numbers: expected {len(tree)} finite numbers")
        at = _places(self.ids, self.order, _ids(tree, node))
        if (self.yes[at] >= 0).any():
            raise ValueError(f"{what}_nodeids has the number of a node that is not a leaf: expected leaves")
        if len(np.unique(np.stack([at, ids], axis=1), axis=0)) != len(at):
            raise ValueError(f"{what}_ids has the same number twice for one leaf: expected each once")
        return at, ids, weights


def _whole(attributes: dict[str, Any], name: str, n: int | None = None) -> IntArray:
    given = np.asarray(attributes.get(name, []))
    if given.ndim != 1 or (given.size and given.dtype != np.int64) or (n is not None and len(given) != n):
        raise ValueError(f"{name} has {given.size} entries: expected {'integers' if n is None else f'{n} integers'}")
    return given.astype(np.int64)


def _ids(tree: IntArray, node: IntArray) -> IntArray:
    if ((tree < 0) | (tree >= 2**31) | (node < 0) | (node >= 2**31)).any():
        raise ValueError("the number of a tree or node is out of range: expected 0 to 2**31 - 1")
    return tree * 2**31 + node


def _places(ids: IntArray, order: IntArray, wanted: IntArray) -> IntArray:
    at = np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)
    if (ids[order[at]] != wanted).any():
        raise ValueError("the ONNX file refers to a node that is not in its tree")
    return order[at]
