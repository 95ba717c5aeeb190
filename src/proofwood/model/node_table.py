"""The node table: an immutable representation of trees, decision diagrams and members of ensembles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood import _native

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

LEAF = -1
"""The value of ``feature`` at a leaf."""
OBLIQUE = -2
"""The value of ``feature`` at a test of a weighted sum of columns; its coefficients are a row of ``normals``."""


@dataclass(frozen=True, eq=False)
class Normals:
    """Coefficients of oblique tests as compressed sparse rows: one row per node, empty if the test is not oblique.

    Parameters
    ----------
    indptr : (n_nodes + 1,) start of the coefficients of each node
    indices : (n_coefficients,) column of each coefficient
    values : (n_coefficients,) coefficients, each in the inverse unit of its column
    """

    indptr: IntArray
    indices: IntArray
    values: FloatArray

    def __post_init__(self) -> None:
        for name, kind in (("indptr", np.int64), ("indices", np.int64), ("values", np.float64)):
            object.__setattr__(self, name, _frozen(getattr(self, name), kind))
        if self.indptr.ndim != 1 or self.indptr.size == 0 or self.indptr[0] != 0 or np.any(np.diff(self.indptr) < 0):
            raise ValueError("normals.indptr must start at 0 and not decrease")
        if not (self.indptr[-1] == self.indices.size == self.values.size):
            raise ValueError("normals.indices and normals.values must both have normals.indptr[-1] entries")
        if np.any(self.indices < 0) or not np.all(np.isfinite(self.values)):
            raise ValueError("normals.indices must be column numbers from 0, and normals.values finite numbers")

    def __reduce__(self) -> tuple[type[Normals], tuple[IntArray, IntArray, FloatArray]]:
        return Normals, (self.indptr, self.indices, self.values)  # copies are checked and read-only too

    def row(self, node: int) -> tuple[IntArray, FloatArray]:
        """The columns and coefficients of the test at ``node``."""
        span = slice(self.indptr[node], self.indptr[node + 1])
        return self.indices[span], self.values[span]


@dataclass(frozen=True, eq=False)
class NodeTable:
    """A rooted acyclic graph of tests; node 0 is the root, and children come after their parents.

    A row takes the edge ``low`` if ``x[feature] <= threshold``: scikit-learn's left child, and the 0-edge of a decision
    diagram. A leaf has ``feature == LEAF``, ``threshold`` nan, and ``low == high == LEAF``. In a tree every node except
    the root has one parent; a diagram may share nodes.

    Parameters
    ----------
    feature : (n_nodes,) tested column, ``LEAF`` at a leaf, ``OBLIQUE`` at an oblique test
    threshold : (n_nodes,) in the unit of the column (of the weighted sum, if oblique); nan at a leaf or level test
    low, high : (n_nodes,) next node if the test is true, and if it is false
    label : (n_nodes,) class code that is predicted if the walk stops at the node
    weight : (n_nodes, n_classes) training weight that reaches the node
    rows : (n_nodes,) training rows that reach the node, unweighted
    missing_low : (n_nodes,) whether a missing value goes low
    levels : per node the set of level codes that go low, or None if the test is not a level test
    normals : coefficients of oblique tests
    values : (n_nodes, k) numbers that are predicted if the walk stops at the node; None if it predicts its label alone
    loss : (n_nodes,) what the training rows at the node cost if it were a leaf; None if wrong weights are the cost

    Raises
    ------
    ValueError
        If shapes disagree, a child does not come after its parent, a node cannot be reached, or a value is out of
        range.
    """

    feature: IntArray
    threshold: FloatArray
    low: IntArray
    high: IntArray
    label: IntArray
    weight: FloatArray
    rows: IntArray
    missing_low: BoolArray
    levels: tuple[frozenset[int] | None, ...] | None = field(default=None)
    normals: Normals | None = field(default=None)
    values: FloatArray | None = field(default=None)
    loss: FloatArray | None = field(default=None)

    def __post_init__(self) -> None:
        for name in _KINDS:
            self._freeze(name)
        self._freeze_levels()
        self._freeze_numbers()
        self._check_shapes()
        self._check_tests()
        self._check_order()

    @classmethod
    def uncounted(
        cls,
        feature: npt.ArrayLike,
        threshold: npt.ArrayLike,
        low: npt.ArrayLike,
        high: npt.ArrayLike,
        n_classes: int,
        *,
        label: npt.ArrayLike | None = None,
        **more: Any,
    ) -> NodeTable:
        """Return a table without counts: weights and rows are 0, and labels are 0 by default.

        Missing values go low, unless ``more`` has ``missing_low``. ``more`` may also have ``levels`` and ``normals``,
        see the constructor.
        """
        n = len(np.asarray(feature))
        more = {"missing_low": np.ones(n, dtype=np.bool_), **more}
        nothing = np.zeros(n, dtype=np.int64)
        given = nothing if label is None else label
        return cls(feature, threshold, low, high, given, np.zeros((n, n_classes)), nothing, **more)  # type: ignore[arg-type]

    @classmethod
    def leaf(cls, label: int, n_classes: int) -> NodeTable:
        """Return a table of one leaf, without counts."""
        return cls.uncounted([LEAF], [np.nan], [LEAF], [LEAF], n_classes, label=[label])

    def changed(self, **parts: Any) -> NodeTable:
        """Return a table in which the given parameters are replaced; the others are not copied or checked again.

        Raises
        ------
        ValueError
            As the constructor does.
        """
        table = object.__new__(NodeTable)
        table.__dict__.update(self.__getstate__() | parts)
        for name in parts.keys() & _KINDS.keys():
            table._freeze(name)
        if "levels" in parts:
            table._freeze_levels()
        if parts.keys() & set(NUMBERS_OF_NODES):
            table._freeze_numbers()
        table._check_shapes()
        if parts.keys() & {"feature", "threshold", "levels", "normals"}:
            table._check_tests()
        if parts.keys() & {"feature", "low", "high"}:
            table._check_order()
        if parts.keys() <= _COUNTED:
            for name in _OF_TESTS & self.__dict__.keys():  # the tests are the same
                table.__dict__[name] = self.__dict__[name]
        return table

    def _freeze(self, name: str) -> None:
        object.__setattr__(self, name, _frozen(getattr(self, name), _KINDS[name]))

    def _freeze_levels(self) -> None:
        if self.levels is None:
            return
        sets = tuple(None if codes is None else frozenset(map(int, codes)) for codes in self.levels)
        none = len(sets) == self.feature.size and all(codes is None for codes in sets)
        object.__setattr__(self, "levels", None if none else sets)

    def _freeze_numbers(self) -> None:
        for name in NUMBERS_OF_NODES:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _frozen(getattr(self, name), np.float64))

    # ---------------------------------------------------------------- size

    @property
    def n_nodes(self) -> int:
        """The number of nodes, including leaves."""
        return int(self.feature.size)

    @property
    def n_leaves(self) -> int:
        """The number of leaves (sinks)."""
        return int(np.count_nonzero(self.feature == LEAF))

    @property
    def n_splits(self) -> int:
        """The number of splits (inner nodes)."""
        return self.n_nodes - self.n_leaves

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.weight.shape[1])

    @property
    def n_labels(self) -> int:
        """The number of labels: classes, or actions of a policy, whose training rows have no class."""
        return self.n_classes if self.values is None else max(self.n_classes, self.values.shape[1])

    @cached_property
    def by_levels(self) -> BoolArray:
        """(n_nodes,) whether each node is a level test."""
        if self.levels is None:
            return np.zeros(self.n_nodes, dtype=np.bool_)
        return np.array([low is not None for low in self.levels], dtype=np.bool_)

    @cached_property
    def walker(self) -> _native.Walker:
        """The native object that walks rows down this table."""
        sets = [sorted(codes or ()) for codes in self.levels or ()]
        normals = self.normals
        if normals is None:
            normals = Normals(np.zeros(self.n_nodes + 1, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))
        return _native.Walker(
            feature=self.feature,
            threshold=self.threshold,
            low=self.low,
            high=self.high,
            missing_low=self.missing_low.view(np.uint8),
            by_levels=self.by_levels.view(np.uint8),
            codes_begin=np.cumsum([0, *map(len, sets)] if sets else np.zeros(self.n_nodes + 1), dtype=np.int64),
            codes=np.array([code for codes in sets for code in codes], dtype=np.float64),
            sum_begin=normals.indptr,
            sum_columns=normals.indices,
            sum_values=normals.values,
        )

    @cached_property
    def depth(self) -> int:
        """The largest number of tests on a path from the root to a leaf; a lone leaf has depth 0."""
        return int(self.node_depths.max())

    @cached_property
    def node_depths(self) -> IntArray:
        """(n_nodes,) largest number of tests on a path from the root to each node."""
        depths = [0] * self.n_nodes
        low, high = self.low.tolist(), self.high.tolist()
        for node in self.splits():
            below = depths[node] + 1
            for child in (low[node], high[node]):
                depths[child] = max(depths[child], below)
        return np.array(depths, dtype=np.int64)

    @cached_property
    def is_tree(self) -> bool:
        """Whether every node except the root has exactly one parent."""
        return self.n_nodes == 2 * self.n_splits + 1

    @cached_property
    def parents(self) -> IntArray:
        """(n_nodes,) number of edges that lead to each node."""
        inner = self.feature != LEAF
        return np.bincount(np.concatenate([self.low[inner], self.high[inner]]), minlength=self.n_nodes)

    @cached_property
    def n_columns(self) -> int:
        """The least number of columns that rows must have: one more than the last tested column."""
        last = int(self.feature.max(initial=LEAF))
        if self.normals is not None:
            last = max(last, int(self.normals.indices.max(initial=LEAF)))
        return last + 1

    @cached_property
    def gap_comes(self) -> BoolArray:
        """(n_nodes,) whether a row can reach the node if its value in a tested column of the node is missing.

        No row can if the tests above the node send all such rows to other nodes. This property assumes that every
        column may have missing values.
        """
        lacking = [0] * self.n_nodes  # per node, as bits, the columns that may be missing in a row that reaches it
        lacking[0] = -1
        comes = np.zeros(self.n_nodes, dtype=np.bool_)
        low, high, missing_low = self.low.tolist(), self.high.tolist(), self.missing_low.tolist()
        for node in self.splits():
            tested = self.tested(node)
            mine = sum(1 << column for column in tested)
            comes[node] = bool(lacking[node] & mine)
            low_goes, high_goes = (lacking[node],) * 2
            if missing_low[node]:
                high_goes &= ~mine
            else:
                low_goes &= ~mine
            lacking[low[node]] |= low_goes
            lacking[high[node]] |= high_goes
        return comes

    @cached_property
    def tested_columns(self) -> tuple[int, ...]:
        """The columns that the splits test, each once, in the order of the nodes."""
        return tuple(dict.fromkeys(column for node in self.splits() for column in self.tested(node)))

    def tested(self, node: int) -> list[int]:
        """The columns that a split tests."""
        column = int(self.feature[node])
        if column != OBLIQUE:
            return [column]
        assert self.normals is not None
        columns: list[int] = self.normals.row(node)[0].tolist()
        return columns

    def at_nodes(self, source: IntArray) -> dict[str, Any]:
        """What the nodes ``source`` predict and count, by the names of the parameters."""
        names = ("label", "weight", "rows", *NUMBERS_OF_NODES)
        return {name: one[source] for name in names if (one := getattr(self, name)) is not None}

    def splits(self) -> Iterator[int]:
        """An iterator over the splits, parents before children."""
        return iter(np.flatnonzero(self.feature != LEAF).tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NodeTable):
            return NotImplemented
        return _as_plain(self) == _as_plain(other)

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    # -------------------------------------------------------------- checks

    def _check_shapes(self) -> None:
        n = self.feature.size
        if n == 0:
            raise ValueError("a node table needs at least one node")
        for name in ("feature", "threshold", "low", "high", "label", "rows", "missing_low"):
            if getattr(self, name).shape != (n,):
                raise ValueError(f"{name} has shape {getattr(self, name).shape}, expected ({n},)")
        if self.weight.ndim != 2 or self.weight.shape[0] != n or self.weight.shape[1] == 0:
            raise ValueError(f"weight has shape {self.weight.shape}, expected ({n}, n_classes)")
        if self.levels is not None and len(self.levels) != n:
            raise ValueError(f"levels has {len(self.levels)} entries, expected {n}")
        if self.normals is not None and self.normals.indptr.size != n + 1:
            raise ValueError(f"normals.indptr has {self.normals.indptr.size} entries, expected {n + 1}")
        if self.values is not None and (self.values.ndim != 2 or self.values.shape[0] != n or not self.values.size):
            raise ValueError(f"values has shape {self.values.shape}, expected ({n}, k)")
        if self.loss is not None and self.loss.shape != (n,):
            raise ValueError(f"loss has shape {self.loss.shape}, expected ({n},)")
        if any(not np.all(np.isfinite(one)) for one in (self.values, self.loss) if one is not None):
            raise ValueError("values and loss must be finite")
        if np.any(self.label < 0) or np.any(self.label >= self.n_labels):
            raise ValueError(f"label has a value outside the class codes from 0 to {self.n_labels - 1}")
        if np.any(self.rows < 0) or not np.all(np.isfinite(self.weight)) or np.any(self.weight < 0):
            raise ValueError("rows and weight must be finite and not negative")

    def _check_tests(self) -> None:
        leaf = self.feature == LEAF
        if np.any(self.feature < OBLIQUE):
            raise ValueError(
                f"feature has a value below {OBLIQUE}: expected a column, LEAF ({LEAF}) or OBLIQUE ({OBLIQUE})"
            )
        by_level = self.by_levels
        if np.any(by_level & (self.feature < 0)):
            raise ValueError("levels must be None at a leaf and at an oblique test")
        if any(code < 0 for codes in self.levels or () if codes is not None for code in codes):
            raise ValueError("levels has a negative code: expected level codes from 0")
        if not np.array_equal(np.isnan(self.threshold), leaf | by_level):
            raise ValueError("threshold must be nan at leaves and level tests, and a number at all other nodes")
        oblique = self.feature == OBLIQUE
        if np.any(oblique) and self.normals is None:
            raise ValueError("normals is None, but the table has an oblique test: expected its coefficients")
        if self.normals is not None and not np.array_equal(np.diff(self.normals.indptr) > 0, oblique):
            raise ValueError("normals must have coefficients at oblique nodes, and only there")

    def _check_order(self) -> None:
        leaf = self.feature == LEAF
        nodes = np.arange(self.n_nodes)
        if np.any(self.low[leaf] != LEAF) or np.any(self.high[leaf] != LEAF):
            raise ValueError(f"low and high must be {LEAF} at a leaf")
        for child in (self.low, self.high):
            inner = child[~leaf]
            if np.any(inner <= nodes[~leaf]) or np.any(inner >= self.n_nodes):
                raise ValueError("low and high must be the numbers of later nodes: children come after their parents")
        reached = np.zeros(self.n_nodes, dtype=bool)
        reached[0] = True
        reached[self.low[~leaf]] = True
        reached[self.high[~leaf]] = True
        if not reached.all():
            raise ValueError(f"nodes {np.flatnonzero(~reached).tolist()} cannot be reached from the root")


_KINDS: dict[str, type] = {
    "feature": np.int64,
    "threshold": np.float64,
    "low": np.int64,
    "high": np.int64,
    "label": np.int64,
    "weight": np.float64,
    "rows": np.int64,
    "missing_low": np.bool_,
}
NUMBERS_OF_NODES = ("values", "loss")
"""Parameters that are None in tables of classes."""
_COUNTED = frozenset({"label", "weight", "rows", *NUMBERS_OF_NODES})
_OF_TESTS = frozenset(
    {"by_levels", "walker", "depth", "node_depths", "is_tree", "parents", "n_columns", "tested_columns", "gap_comes"}
)
"""Cached properties that do not depend on labels, weights and counts."""


def _frozen(values: Sequence[Any] | npt.NDArray[Any], kind: type) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = np.array(values, dtype=kind)  # a copy: no one else has a writable view of it
    array.flags.writeable = False
    return array


def _as_plain(table: NodeTable) -> tuple[Any, ...]:
    """The contents of the table as plain values for a comparison, in which nan thresholds are equal."""
    normals = table.normals
    rows = None if normals is None else (normals.indptr.tolist(), normals.indices.tolist(), normals.values.tolist())
    arrays = (table.feature, np.nan_to_num(table.threshold, nan=0.0), table.low, table.high, table.label)
    more = (table.weight, table.rows, table.missing_low)
    numbers = [None if one is None else one.tolist() for one in (table.values, table.loss)]
    return (*(a.tolist() for a in (*arrays, *more)), table.levels, rows, *numbers)
