"""Questions about one row, and everything that their answers have taught.

Sets of features are bit masks here: bit ``i`` of an integer stands for feature ``i``. Every answer is worth more than
the question. A row of another class that differs from the row only on the features ``D`` answers all questions whose
fixed features avoid ``D``; a sufficient set answers all questions that fix at least its members. Every search therefore
asks through one :class:`Questions`, and none asks what is known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from proofwood.engines.run import ENDLESS, Clock
from proofwood.explain.oracles.oracle import UNKNOWN, Answer, Oracle
from proofwood.explain.search.seed import TreeBounds
from proofwood.memory import lacked, note_lack
from proofwood.model.node_table import IntArray


def mask_of(features: Iterable[int]) -> int:
    """Bit mask of features."""
    mask = 0
    for feature in features:
        mask |= 1 << int(feature)
    return mask


def members(mask: int) -> list[int]:
    """Features of a bit mask, in ascending order."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


@dataclass(eq=False)
class Known:
    """What questions about one row, its class and the classes looked for have taught.

    Parameters
    ----------
    sufficient : masks of sets proved to suffice, none of them a superset of another
    changing : mask of the changed features of each witness known -> cells of the witness
    bounds : what each tree adds at most, if that was worked out
    """

    sufficient: list[int] = field(default_factory=list)
    changing: dict[int, IntArray] = field(default_factory=dict)
    bounds: TreeBounds | None = None


class Questions:
    """What is known about one row, and an oracle for the rest.

    Parameters
    ----------
    oracle : Oracle
    cells : (n_columns,) cells of the row
    label : its class
    targets : other classes to look for; all by default. "Suffices" then means: suffices against these classes
    clock : of all questions together; another one may take its place
    known : what earlier questions about the same have taught, which these add to

    Attributes
    ----------
    calls : questions that reached the oracle
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
            raise ValueError(f"the row already has the class {self.label} that is asked for as a target")
        self.n = self.scores.n_features
        self.all = (1 << self.n) - 1
        self.calls = 0
        # A row agrees with itself on all that the model looks at: nothing to ask, and true even where rounding leaves
        # the sums in doubt.
        self._seen = [f for f, columns in enumerate(self.scores.features) if self.scores.n_thresholds[[*columns]].any()]
        self.known = Known() if known is None else known
        self.sufficient, self.changing = self.known.sufficient, self.known.changing
        self.learn_sufficient(mask_of(self._seen))
        self.clock = clock

    # ---------------------------------------------------------------------------------------------------------- orders

    def _tree_bounds(self) -> TreeBounds | None:
        """What each tree adds at most; None if the time is over before that is known."""
        if self.known.bounds is None and not self.clock.over:
            self.known.bounds = TreeBounds(self.scores, self.cells, self.label, self.targets)
        return self.known.bounds

    def release_order(self) -> list[int]:
        """Features of least effect first; as they are numbered if the time is over before that is known."""
        bounds = self._tree_bounds()
        return list(range(self.n)) if bounds is None else bounds.release_order

    def greedy_seed(self, keep: Collection[int] = (), order: Sequence[int] | None = None) -> frozenset[int]:
        """A sufficient set of features, found greedily by bounds of single trees; all features if time has run out.

        Parameters
        ----------
        keep : features that stay in it
        order : features in the order in which to release them; :meth:`release_order` by default
        """
        bounds = self._tree_bounds()
        if bounds is None:
            return frozenset(range(self.n))
        return bounds.greedy_seed(bounds.release_order if order is None else order, keep, self.clock)

    # --------------------------------------------------------------------------------------------------------- answers

    def ask(self, fixed: int, seconds: float | None = None, *, turns: int | None = None) -> bool | None:
        """Whether the class can change while the features of the mask ``fixed`` stay.

        Parameters
        ----------
        fixed : bit mask
        seconds : limit of this question, beside that of all
        turns : limit of its effort, see :meth:`Oracle.ask`

        Returns
        -------
        bool or None
            None if the oracle stopped before it knew.
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
        """Whether the class can change in a box of cells; ``UNKNOWN`` if the time is over. The answer is not kept.

        Parameters
        ----------
        low, high : (n_columns,) least and greatest cell of each column
        seconds : limit of this question, beside that of all
        near : (n_columns,) cells near which a witness is welcome
        """
        if self.clock.over:
            return UNKNOWN
        self.calls += 1
        left = self.clock.within(seconds).seconds_left
        return self.oracle.ask_box(low, high, self.label, targets=self.targets, seconds=left, near=near)

    def ask_region(self, low: IntArray, high: IntArray) -> Answer:
        """As :meth:`ask_box`, of a region; see :mod:`proofwood.ensembles.regions`."""
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
        """The smallest set known to suffice within ``fixed``; raises LookupError if none is known."""
        cores = [core for core in self.sufficient if core & ~fixed == 0]
        if not cores:
            raise LookupError("no subset is known to suffice")
        return min(cores, key=int.bit_count)

    def change_of(self, fixed: int) -> int:
        """Changed features of the witness with the fewest of them among those that keep ``fixed``."""
        changes = [changed for changed in self.changing if changed & fixed == 0]
        if not changes:
            raise LookupError("no witness is known")
        return min(changes, key=int.bit_count)

    def learn_witness(self, cells: IntArray) -> int:
        """Remember a row that may have another class (of ``targets``); returns the mask of the features it changes.

        If rounding leaves the row itself in doubt it may change nothing: mask 0. It then stands for a change of any
        single feature that the model looks at, because only all of these together suffice.
        """
        changed = mask_of(np.unique(self.scores.feature_of[np.flatnonzero(np.asarray(cells) != self.cells)]).tolist())
        if not changed and not self.scores.margin:
            raise AssertionError("a witness that changes nothing: the row itself is not of its class")
        for mask in [changed] if changed else [1 << feature for feature in self._seen]:
            self.changing.setdefault(mask, np.array(cells, dtype=np.int64))
        return changed

    def learn_sufficient(self, core: int) -> None:
        """Remember a set that suffices."""
        if any(known & ~core == 0 for known in self.sufficient):
            return
        self.sufficient[:] = [*(known for known in self.sufficient if core & ~known), core]
