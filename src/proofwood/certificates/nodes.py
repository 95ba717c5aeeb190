"""The model of a certificate: trees with tests of values, and the leaves that rows reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.certificates.content import FloatArray, fields, number_or
from proofwood.certificates.drup import CertificateError
from proofwood.certificates.space import OTHER, Space

IntArray = npt.NDArray[np.int64]
LEAF = -1
MOST_64 = 2**62


class Nodes:
    """The nodes of all trees, one tree after the other.

    A split sends rows low whose number is at most its cut, or whose category is in its list. A row is an array with one
    number per column: a value, the code of a category, or NaN if the value is missing.

    Parameters
    ----------
    content : the field ``model`` of a file: ``base``, ``margin``, ``ties_low``, ``classes`` and ``trees``. Each tree
        has lists of equal length: ``column`` (-1 at leaves), ``test`` (a number, null if all numbers go high, a list of
        codes, or the scores of a leaf), ``gap_low`` (whether a missing number goes low), ``low`` and ``high`` (the
        children, which have larger numbers)
    space : the space whose columns the trees test

    Raises
    ------
    CertificateError
        If the content is not an ensemble of trees.
    """

    def __init__(self, content: Mapping[str, Any], space: Space) -> None:
        fields(content, "model", ("base", "margin", "ties_low", "classes", "trees"))
        self.base: list[int] = list(content["base"])
        self.margin, self.ties_low, self.classes = content["margin"], content["ties_low"], list(content["classes"])
        self.n_classes = len(self.base)
        trees: Sequence[Mapping[str, Any]] = content["trees"]
        for tree in trees:
            fields(tree, "tree", ("column", "test", "gap_low", "low", "high"))
            if len({len(tree[name]) for name in tree}) != 1 or not tree["column"]:
                raise CertificateError("a tree has no node, or lists of different lengths")
        self.begins = np.cumsum([0, *(len(tree["column"]) for tree in trees)])

        def flat(name: str) -> list[Any]:
            return [value for tree in trees for value in tree[name]]

        columns, low, high, gap_low = (flat(name) for name in ("column", "low", "high", "gap_low"))
        self.tests = flat("test")
        if not all(type(value) is int for value in (*columns, *low, *high)):
            raise CertificateError("a tree has a column or a child that is not an integer")
        if not all(type(value) is bool for value in gap_low):
            raise CertificateError("the field gap_low of a tree must contain only true and false")
        self.column = np.array(columns, dtype=np.int64)
        self.gap_low = np.array(gap_low, dtype=bool)
        self.tree = np.repeat(np.arange(len(trees)), np.diff(self.begins))
        root = self.begins[self.tree]
        self.low, self.high = np.array(low, dtype=np.int64) + root, np.array(high, dtype=np.int64) + root
        self.leaf = self.column == LEAF
        self._check(space)
        self.cut = np.full(self.column.size, np.nan)
        self.codes: dict[int, frozenset[int]] = {}
        for node in np.flatnonzero(~self.leaf).tolist():
            test = self.tests[node]
            if space.columns[columns[node]].is_category:
                if type(test) is not list or not all(type(code) is int and code >= OTHER for code in test):
                    raise CertificateError("a test of a column of categories is not a list of codes")
                self.codes[node] = frozenset(test)
            else:
                self.cut[node] = number_or(test, -np.inf)
        self._member, self._place = self._members(space)
        self.scores = self._scores()

    def _check(self, space: Space) -> None:
        """Raise CertificateError if a node other than a root is not the child of exactly one earlier node."""
        inner = np.flatnonzero(~self.leaf)
        if np.any(self.column < LEAF) or np.any(self.column >= len(space.columns)):
            raise CertificateError("a tree tests a column that does not exist")
        ends = self.begins[self.tree + 1]
        for child in (self.low, self.high):
            if np.any(child[inner] <= inner) or np.any(child[inner] >= ends[inner]):
                raise CertificateError("a node of a tree does not come before its children")
        parents = np.bincount(np.concatenate([self.low[inner], self.high[inner]]), minlength=self.column.size)
        parents[self.begins[:-1]] += 1
        if np.any(parents != 1):
            raise CertificateError("a node of a tree is not the child of exactly one other node")

    def _scores(self) -> npt.NDArray[Any]:
        """(n_nodes, n_classes) integer scores of the leaves; 0 for splits."""
        if type(self.margin) is not int or self.margin < 0 or type(self.ties_low) is not bool:
            raise CertificateError("margin is not a non-negative integer, or ties_low is not true or false")
        every = [self.base, *(self.tests[node] for node in np.flatnonzero(self.leaf).tolist())]
        if any(len(one) != self.n_classes for one in (self.classes, *every)):
            raise CertificateError("classes, base and the scores of each leaf do not have one item for each class")
        flat = [score for one in every for score in one]
        if not all(type(score) is int for score in flat) or not all(type(name) is str for name in self.classes):
            raise CertificateError("a score is not an integer, or the name of a class is not a text")
        if len(set(self.classes)) < self.n_classes:
            raise CertificateError("two classes have the same name, so that a claim about it is ambiguous")
        most = max(map(abs, flat), default=0) * (self.begins.size + 1)
        found = np.zeros((self.column.size, self.n_classes), dtype=np.int64 if most < MOST_64 else object)
        found[self.leaf] = np.array(every[1:], dtype=found.dtype).reshape(-1, self.n_classes)
        return found

    def _members(self, space: Space) -> tuple[npt.NDArray[np.bool_], IntArray]:
        """For each test of categories, a mask of the codes that go low; and for each node, the index of its mask.

        The last item of a mask is for unknown categories.
        """
        width = max((len(space.columns[j].levels) for j in set(self.column[list(self.codes)].tolist())), default=0)
        member = np.zeros((len(self.codes), width + 1), dtype=bool)
        place = np.full(self.column.size, -1)
        for at, (node, codes) in enumerate(self.codes.items()):
            n_levels = len(space.columns[int(self.column[node])].levels)
            known = [code for code in codes if 0 <= code < n_levels]
            member[at, known] = True
            member[at, n_levels:] = OTHER in codes
            place[node] = at
        return member, place

    @property
    def tested(self) -> set[int]:
        """The columns that at least one tree tests."""
        return set(self.column[~self.leaf].tolist())

    def sums(self, rows: FloatArray) -> npt.NDArray[Any]:
        """(n_rows, n_classes) sums of scores for rows (n_rows, n_columns)."""
        at = np.tile(self.begins[:-1], (len(rows), 1))
        row = np.repeat(np.arange(len(rows)), at.shape[1]).reshape(at.shape)
        while np.any(inner := ~self.leaf[at]):
            node, who = at[inner], row[inner]
            at[inner] = np.where(self._goes_low(node, rows[who, self.column[node]]), self.low[node], self.high[node])
        return np.asarray(np.array(self.base, dtype=self.scores.dtype) + self.scores[at].sum(axis=1))

    def _goes_low(self, node: IntArray, values: FloatArray) -> npt.NDArray[np.bool_]:
        gap = np.isnan(values)
        low = np.where(gap, self.gap_low[node], values <= self.cut[node])
        place = self._place[node]
        if np.any(named := place >= 0):
            last = self._member.shape[1] - 1
            codes = np.where(gap[named] | (values[named] < 0) | (values[named] > last), last, values[named])
            low[named] = self._member[place[named], codes.astype(np.int64)]
        return np.asarray(low, dtype=bool)
