"""Questions about one row, and all that is known from their answers.

Sets of features are bit masks here: bit ``i`` of an integer stands for feature ``i``. One answer settles many
questions. A row of another class that differs from the explained row only in the features ``D`` answers all questions
whose fixed features do not intersect ``D``; a sufficient set answers all questions that fix at least its members.
Therefore every search uses one :class:`Questions`, which asks the oracle only if the answer is not known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from proofwood.engines.run import ENDLESS, Clock
from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.oracles.oracle import UNKNOWN, Answer, Oracle
from proofwood.memory import lacked, note_lack
from proofwood.model.node_table import IntArray


def mask_of(features: Iterable[int]) -> int:
    """The bit mask of a set of features."""
    mask = 0
    for feature in features:
        mask |= 1 << int(feature)
    return mask


def members(mask: int) -> list[int]:
    """The features of a bit mask, in ascending order."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


class TreeBounds:
    """The worst case of every tree while some features keep the values of one row; no oracle is asked.

    Each tree contributes to ``sum(label) - sum(other)`` at least its worst leaf among those that do not contradict the
    fixed values. If the label wins against every other class even with the sum of these worst cases, the fixed features
    suffice. For majority votes, such a set is a majoritary reason [1]_; here scores are of any kind.

    Parameters
    ----------
    scores : ScoreModel
    cells : (n_columns,) cells of the row
    label : class of the row
    targets : other classes; all by default

    References
    ----------
    .. [1] Audemard, Bellart, Bounia, Koriche, Lagniez, Marquis (2022), Trading Complexity for Sparsity in Random Forest
       Explanations, AAAI 2022.
    """

    def __init__(self, scores: ScoreModel, cells: IntArray, label: int, targets: Sequence[int] | None = None) -> None:
        self.scores = scores
        others = [k for k in (range(scores.n_classes) if targets is None else targets) if k != label]
        self.leads = scores.scores[:, [label]] - scores.scores[:, others]
        self.base = scores.base[label] - scores.base[others]
        # The other class comes first iff -lead >= threshold_of_win(other, label).
        self.enough = np.array([1 - scores.threshold_of_win(k, label) for k in others], dtype=np.int64)
        # Pairs (leaf, feature) such that the feature's value in the row contradicts a condition of the leaf, each once:
        # columns of one feature may contradict the same leaf.
        false = np.flatnonzero(~scores.holds(scores.needs, cells)) if scores.needs.size else np.zeros(0, np.int64)
        feature, leaf = scores.feature_of[scores.column_of[scores.needs[false] >> 1]], scores.leaf_of[false]
        n_leaves = len(scores.scores)
        order = np.argsort(feature, kind="stable")  # leaves ascend within a feature
        feature, leaf = feature[order], leaf[order]
        first = np.ones(leaf.size, dtype=bool)
        first[1:] = (leaf[1:] != leaf[:-1]) | (feature[1:] != feature[:-1])
        feature, leaf = feature[first], leaf[first]
        self.leaves_against = np.split(leaf, np.searchsorted(feature, np.arange(1, scores.n_features)))
        self.reached = np.bincount(leaf, minlength=n_leaves) == 0

    def suffices(self, against: IntArray) -> bool:
        """Whether the bound proves the label.

        ``against``: (n_leaves,) number of fixed features that contradict each leaf.
        """
        if not self.enough.size:
            return True
        leads = np.where(against[:, np.newaxis] > 0, np.iinfo(np.int64).max, self.leads)
        worst = np.minimum.reduceat(leads, self.scores.leaves_of[:-1], axis=0)
        return bool((worst.sum(axis=0) + self.base >= self.enough).all())

    @cached_property
    def release_order(self) -> list[int]:
        """All features in the order in which deletion should try to release them: those of least effect first.

        The effect is how much the worst leads, summed over trees, can fall if only this feature is released.
        """
        if not self.enough.size:
            return list(range(self.scores.n_features))
        tree_of = self.scores.tree_of
        lead = self.leads.min(axis=1)
        now = np.zeros(self.scores.n_trees, dtype=np.int64)
        now[tree_of[self.reached]] = lead[self.reached]
        count = np.zeros(len(self.scores.scores), dtype=np.int64)
        for leaves in self.leaves_against:
            count[leaves] += 1
        falls = np.zeros(self.scores.n_features, dtype=np.int64)
        for feature, leaves in enumerate(self.leaves_against):
            alone = leaves[count[leaves] == 1]
            worst = now.copy()
            np.minimum.at(worst, tree_of[alone], lead[alone])
            falls[feature] = (now - worst).sum()
        order: list[int] = np.argsort(falls, kind="stable").tolist()
        return order

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


@dataclass(eq=False)
class Known:
    """Facts from earlier questions about one row, its class and the target classes.

    Parameters
    ----------
    sufficient : masks of sets that are proved to suffice, none of them a superset of another
    changing : mapping from the mask of changed features to the cells of a witness
    bounds : the bounds per tree, if they were computed
    """

    sufficient: list[int] = field(default_factory=list)
    changing: dict[int, IntArray] = field(default_factory=dict)
    bounds: TreeBounds | None = None


class Questions:
    """Answers questions about one row, from known facts or with an oracle.

    Parameters
    ----------
    oracle : Oracle
    cells : (n_columns,) cells of the row
    label : class of the row
    targets : other classes to look for; all by default. With targets, "suffices" means: suffices against these classes
    clock : clock of all questions together; it may be replaced
    known : facts from earlier questions about the same row; new answers are added to them

    Attributes
    ----------
    others : codes of the classes that count as another class, ascending
    calls : number of questions that reached the oracle
    sufficient, changing : as in :class:`Known`
    """

    def __init__(
        self,
        oracle: Oracle,
        cells: IntArray,
        label: int,
        *,
        targets: Sequence[int] | None = None,
        clock: Clock = ENDLESS,
        known: Known | None = None,
    ) -> None:
        self.oracle = oracle
        self.scores = oracle.scores
        self.cells = np.asarray(cells, dtype=np.int64)
        self.label = int(label)
        self.targets = None if targets is None else tuple(int(target) for target in targets)
        if self.cells.shape != (self.scores.n_columns,):
            raise ValueError(f"cells has shape {self.cells.shape}: expected ({self.scores.n_columns},)")
        if not 0 <= self.label < self.scores.n_classes:
            raise ValueError(f"label={label!r}: expected a class code from 0 to {self.scores.n_classes - 1}")
        if self.targets is not None and (
            not self.targets or any(not 0 <= target < self.scores.n_classes for target in self.targets)
        ):
            raise ValueError(f"targets={targets!r}: expected class codes from 0 to {self.scores.n_classes - 1}")
        if self.targets is not None and self.label in self.targets:
            raise ValueError(f"the row already has the class {self.label}: expected other classes as targets")
        every = range(self.scores.n_classes) if self.targets is None else sorted(set(self.targets))
        self.others = [k for k in every if k != self.label]
        self.n = self.scores.n_features
        self.all = (1 << self.n) - 1
        self.calls = 0
        # All features that the model tests suffice together: no question is needed, and rounding cannot change this.
        self._seen = [f for f, columns in enumerate(self.scores.features) if self.scores.n_thresholds[[*columns]].any()]
        self.known = Known() if known is None else known
        self.sufficient, self.changing = self.known.sufficient, self.known.changing
        self.learn_sufficient(mask_of(self._seen))
        self.clock = clock

    # ---------------------------------------------------------------------------------------------------------- orders

    def _tree_bounds(self) -> TreeBounds | None:
        """The bounds per tree; None if the time runs out before they are computed."""
        if self.known.bounds is None and not self.clock.over:
            self.known.bounds = TreeBounds(self.scores, self.cells, self.label, self.targets)
        return self.known.bounds

    def release_order(self) -> list[int]:
        """All features, those of least effect first; in ascending order if the time runs out before this is known."""
        bounds = self._tree_bounds()
        return list(range(self.n)) if bounds is None else bounds.release_order

    def greedy_seed(self, keep: Collection[int] = (), order: Sequence[int] | None = None) -> frozenset[int]:
        """A sufficient set of features, found greedily with bounds per tree; all features if the time has run out.

        Parameters
        ----------
        keep : features that stay in the set
        order : features in the order in which to release them; :meth:`release_order` by default
        """
        bounds = self._tree_bounds()
        if bounds is None:
            return frozenset(range(self.n))
        return bounds.greedy_seed(bounds.release_order if order is None else order, keep, self.clock)

    # --------------------------------------------------------------------------------------------------------- answers

    def ask(self, fixed: int, seconds: float | None = None, *, turns: int | None = None) -> bool | None:
        """Whether the class can change while the features of the mask ``fixed`` keep their values.

        Parameters
        ----------
        fixed : bit mask
        seconds : time limit of this question, in addition to that of all questions
        turns : limit of the effort, see :meth:`Oracle.ask`

        Returns
        -------
        bool or None
            None if a limit was reached before the answer was known.
        """
        known = self.follows(fixed)
        if known is not None:
            return known
        if lacked() or self.clock.over:
            return None
        seconds = self.clock.within(seconds).seconds_left
        self.calls += 1
        try:
            answer = self.oracle.ask(
                self.cells, self.label, members(fixed), targets=self.targets, seconds=seconds, turns=turns
            )
        except MemoryError:
            note_lack()
            return None
        if answer.changes is None:
            return None
        if answer.changes:
            if answer.witness is None or self.learn_witness(answer.witness) & fixed:
                raise AssertionError(f"the oracle {self.oracle.name!r} gave a witness that changes a fixed feature")
            return True
        core = fixed if answer.core is None else mask_of(answer.core)
        if core & ~fixed:
            raise AssertionError(f"the oracle {self.oracle.name!r} gave a core with a feature that is not fixed")
        self.learn_sufficient(core)
        return False

    def ask_box(
        self, low: IntArray, high: IntArray, seconds: float | None = None, *, near: IntArray | None = None
    ) -> Answer:
        """Whether the class can change in a box of cells; ``UNKNOWN`` if the time is over. The answer is not stored.

        Parameters
        ----------
        low, high : (n_columns,) least and greatest cell of each column
        seconds : time limit of this question, in addition to that of all questions
        near : (n_columns,) cells; a witness near them is preferred
        """
        if self.clock.over:
            return UNKNOWN
        self.calls += 1
        left = self.clock.within(seconds).seconds_left
        return self.oracle.ask_box(low, high, self.label, targets=self.targets, seconds=left, near=near)

    def ask_region(self, low: IntArray, high: IntArray) -> Answer:
        """As :meth:`ask_box`, for a region of :mod:`proofwood.ensembles.regions`."""
        self.calls += 1
        return self.oracle.ask_region(low, high, self.label, targets=self.targets, clock=self.clock)

    def follows(self, fixed: int) -> bool | None:
        """The answer to a question if it follows from earlier ones, else None."""
        for core in self.sufficient:
            if core & ~fixed == 0:
                return False
        for changed in self.changing:
            if changed & fixed == 0:
                return True
        return None

    def core_of(self, fixed: int) -> int:
        """The smallest subset of ``fixed`` that is known to suffice; raises LookupError if none is known."""
        cores = [core for core in self.sufficient if core & ~fixed == 0]
        if not cores:
            raise LookupError("no subset is known to suffice")
        return min(cores, key=int.bit_count)

    def change_of(self, fixed: int) -> int:
        """Mask of the fewest features that a known witness changes without changing ``fixed``.

        Raises LookupError if no such witness is known.
        """
        changes = [changed for changed in self.changing if changed & fixed == 0]
        if not changes:
            raise LookupError("no witness is known")
        return min(changes, key=int.bit_count)

    def learn_witness(self, cells: IntArray) -> int:
        """Store a row that may have another class (of ``targets``), and return the mask of the features it changes.

        If rounding leaves the class of the explained row open, the stored row may change nothing: mask 0. It then
        counts as a change of each single feature that the model tests, because only all of these together suffice.
        """
        changed = mask_of(np.unique(self.scores.feature_of[np.flatnonzero(np.asarray(cells) != self.cells)]).tolist())
        if not changed and not self.scores.margin:
            raise AssertionError("a witness that changes nothing: the row itself is not of its class")
        for mask in [changed] if changed else [1 << feature for feature in self._seen]:
            self.changing.setdefault(mask, np.array(cells, dtype=np.int64))
        return changed

    def learn_sufficient(self, core: int) -> None:
        """Store a set that suffices, and remove its supersets."""
        if any(known & ~core == 0 for known in self.sufficient):
            return
        self.sufficient[:] = [*(known for known in self.sufficient if core & ~known), core]
