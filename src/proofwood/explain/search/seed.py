"""A first sufficient set, and an order of features, from one bound per tree; no oracle is asked.

Let the values of a set of features be fixed. Each tree contributes to ``sum(label) - sum(other)`` at least its worst
leaf among those that do not contradict the fixed values. If the label wins against every other class even with the sum
of these worst cases, the set suffices. For majority votes, this is the majoritary reason of Audemard, Bellart, Bounia,
Koriche, Lagniez, Marquis ("Trading Complexity for Sparsity in Random Forest Explanations", AAAI 2022), here for any
scores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

import numpy as np

from proofwood.engines.run import ENDLESS, Clock
from proofwood.ensembles.scores import ScoreModel
from proofwood.model.node_table import IntArray


class TreeBounds:
    """The worst case of every tree while some features keep the values of one row.

    Parameters
    ----------
    scores : ScoreModel
    cells : (n_columns,) cells of the row
    label : class of the row
    targets : other classes; all by default
    """

    def __init__(self, scores: ScoreModel, cells: IntArray, label: int, targets: Sequence[int] | None = None) -> None:
        self.scores = scores
        others = [k for k in (range(scores.n_classes) if targets is None else targets) if k != label]
        self.leads = scores.scores[:, [label]] - scores.scores[:, others]
        self.base = scores.base[label] - scores.base[others]
        # The other class comes first iff -lead >= threshold_of_win(other, label).
        self.enough = np.array([1 - scores.threshold_of_win(k, label) for k in others], dtype=np.int64)
        leaf, feature = self._contradictions(cells)
        self.leaves_against = np.split(leaf, np.searchsorted(feature, np.arange(1, scores.n_features)))
        self.reached = np.bincount(leaf, minlength=scores.scores.shape[0]) == 0

    def _contradictions(self, cells: IntArray) -> tuple[IntArray, IntArray]:
        """Pairs (leaf, feature) such that the feature's value in the row contradicts a condition of the leaf."""
        scores = self.scores
        leaf: IntArray
        feature: IntArray
        false = np.flatnonzero(~scores.holds(scores.needs, cells)) if scores.needs.size else np.zeros(0, np.int64)
        column = scores.column_of[scores.needs[false] >> 1]
        feature, leaf = scores.feature_of[column], scores.leaf_of[false]
        order = np.argsort(feature, kind="stable")  # leaves ascend within a feature
        feature, leaf = feature[order], leaf[order]
        first = np.ones(leaf.size, dtype=bool)  # columns of one feature may contradict the same leaf
        first[1:] = (leaf[1:] != leaf[:-1]) | (feature[1:] != feature[:-1])
        return leaf[first], feature[first]

    def suffices(self, against: IntArray) -> bool:
        """Whether the bound proves the label.

        ``against``: (n_leaves,) number of fixed features that contradict each leaf.
        """
        if not self.enough.size:
            return True
        leads = np.where(against[:, np.newaxis] > 0, np.iinfo(np.int64).max, self.leads)
        worst = np.minimum.reduceat(leads, self.scores.leaves_of[:-1], axis=0)
        return bool((worst.sum(axis=0) + self.base >= self.enough).all())

    def falls(self) -> IntArray:
        """(n_features,) how much the worst leads, summed over trees, can fall if only this feature is released."""
        n_leaves = self.scores.scores.shape[0]
        if not self.enough.size:
            return np.zeros(self.scores.n_features, dtype=np.int64)
        tree_of = self.scores.tree_of
        lead = self.leads.min(axis=1)
        now = np.zeros(self.scores.n_trees, dtype=np.int64)
        now[tree_of[self.reached]] = lead[self.reached]
        count = np.zeros(n_leaves, dtype=np.int64)
        for leaves in self.leaves_against:
            count[leaves] += 1
        falls = np.zeros(self.scores.n_features, dtype=np.int64)
        for feature, leaves in enumerate(self.leaves_against):
            alone = leaves[count[leaves] == 1]
            worst = now.copy()
            np.minimum.at(worst, tree_of[alone], lead[alone])
            falls[feature] = (now - worst).sum()
        return falls

    @cached_property
    def release_order(self) -> list[int]:
        """All features in the order in which deletion should try to release them: those of least effect first."""
        return [int(feature) for feature in np.argsort(self.falls(), kind="stable")]

    def greedy_seed(self, order: Iterable[int], keep: Collection[int] = (), clock: Clock = ENDLESS) -> frozenset[int]:
        """A sufficient set: features are released one by one as long as the bounds per tree prove the class.

        Parameters
        ----------
        order : features in the order in which to release them
        keep : features that stay in the set
        clock : no more features are released once it is over

        Returns
        -------
        frozenset of int
            All features if the bounds do not even prove the row's own class, which only rounding can cause.
        """
        against = np.zeros(self.scores.scores.shape[0], dtype=np.int64)
        for leaves in self.leaves_against:
            against[leaves] += 1
        kept = set(range(self.scores.n_features))
        if not self.suffices(against):
            return frozenset(kept)
        for feature in order:
            if feature in keep:
                continue
            if clock.over:
                break
            leaves = self.leaves_against[feature]
            against[leaves] -= 1
            if self.suffices(against):
                kept.discard(feature)
            else:
                against[leaves] += 1
        return frozenset(kept)
