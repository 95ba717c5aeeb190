"""What an export is made from: a model with the meaning of its columns, and each of its tests in one plain form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.data.columns import Column
from proofwood.data.kinds import CATEGORIES, Kind
from proofwood.model.evaluate import node_probabilities
from proofwood.model.node_table import LEAF, OBLIQUE, FloatArray, NodeTable


class ExportError(ValueError):
    """A format cannot hold a model; the message says why and what to do instead."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What an inner node asks.

    Parameters
    ----------
    column : index of the column; -1 for a weighted sum
    missing_low : whether a missing value, or a sum with one, goes low
    threshold : values up to it go low; ``inf``: all that are present, ``-inf``: none of them. None at sets of codes
    codes : level codes that go low, or None
    terms : columns and coefficients of a weighted sum, in the order in which they are added up
    """

    column: int
    missing_low: bool
    threshold: float | None = None
    codes: frozenset[int] | None = None
    terms: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Exported:
    """A fitted model with the meaning of its columns and classes.

    Parameters
    ----------
    table : the model
    columns : of the training data
    classes : (n_classes,) labels
    by_name : whether columns go by name; by position else
    """

    table: NodeTable
    columns: Sequence[Column]
    classes: npt.NDArray[Any]
    by_name: bool

    @cached_property
    def used(self) -> list[int]:
        """The columns that the model tests."""
        found = set(self.table.feature[self.table.feature >= 0].tolist())
        if self.table.normals is not None:
            found |= set(self.table.normals.indices.tolist())
        return sorted(found)

    @cached_property
    def leaves(self) -> dict[int, int]:
        """Leaf node -> its number among the leaves."""
        return {node: number for number, node in enumerate(np.flatnonzero(self.table.feature == LEAF).tolist())}

    @cached_property
    def labels(self) -> list[Any]:
        """Labels of the classes as plain values: text, integers, floats, booleans; dates as ISO text."""
        return [plain(label) for label in self.classes]

    @cached_property
    def label_of_leaf(self) -> list[int]:
        """Class code of each leaf, by its number."""
        return [int(self.table.label[node]) for node in self.leaves]

    @cached_property
    def probabilities_of_leaf(self) -> FloatArray:
        """(n_leaves, n_classes) share of each class, by the number of the leaf."""
        return node_probabilities(self.table)[list(self.leaves)]

    @cached_property
    def parents(self) -> npt.NDArray[np.int64]:
        """(n_nodes,) number of edges that lead to each node."""
        inner = self.table.feature != LEAF
        ends = np.concatenate([self.table.low[inner], self.table.high[inner]])
        return np.bincount(ends, minlength=self.table.n_nodes)

    def kind(self, column: int) -> Kind:
        """What the numbers of a column are."""
        return self.columns[column].kind

    def is_text(self, column: int) -> bool:
        """Whether a column holds text, so that the codes of the model stand for levels."""
        return self.kind(column) in CATEGORIES and bool(self.columns[column].levels)

    def ask(self, node: int) -> Ask:
        """What an inner node asks."""
        table, missing_low = self.table, bool(self.table.missing_low[node])
        column = int(table.feature[node])
        if column == OBLIQUE:
            assert table.normals is not None
            names, values = table.normals.row(node)
            terms = tuple(zip(names.tolist(), values.tolist(), strict=True))
            return Ask(-1, missing_low, float(table.threshold[node]), terms=terms)
        codes = None if table.levels is None else table.levels[node]
        if codes is not None:
            return Ask(column, missing_low, codes=codes) if codes else Ask(column, missing_low, -math.inf)
        return Ask(column, missing_low, float(table.threshold[node]))

    def texts(self, column: int, codes: frozenset[int]) -> list[str]:
        """The texts of level codes of a column."""
        levels = self.columns[column].levels
        return [levels[code] for code in sorted(codes) if code < len(levels)]

    def low_and_high_levels(self, ask: Ask) -> tuple[list[str], list[str]]:
        """The levels of an ordered column that go low at a threshold, and those that go high."""
        levels, threshold = list(self.columns[ask.column].levels), ask.threshold
        assert threshold is not None
        n_low = max(0, min(len(levels), math.floor(threshold) + 1)) if math.isfinite(threshold) else 0
        n_low = len(levels) if threshold == math.inf else n_low
        return levels[:n_low], levels[n_low:]


def plain(label: Any) -> Any:
    """A label as text, integer, float or boolean; dates and durations as text."""
    if isinstance(label, (np.datetime64, np.timedelta64)):
        return str(label)
    value = label.item() if isinstance(label, np.generic) else label
    return value if isinstance(value, (str, int, float)) else str(value)


def exact(value: float) -> str:
    """A float64 as digits that read back as the same number in every language, with a point or an exponent."""
    text = repr(float(value))
    return text if "e" in text or "." in text else f"{text}.0"


def in_comment(text: str) -> str:
    """Text for a comment of any language: on one line, in ASCII, and without what ends a comment."""
    shown = "".join(char if char.isprintable() and char.isascii() else "?" for char in text)
    return shown.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/").replace("</", "< /")
