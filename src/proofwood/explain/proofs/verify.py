"""Check an explanation anew, with another engine than the one that found it and with the model itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from proofwood import memory
from proofwood.engines.run import ENDLESS, Clock
from proofwood.explain.model.linear import Constraint
from proofwood.explain.model.regions import in_region, units
from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.model.space import Input
from proofwood.explain.oracles.engines import make_oracle
from proofwood.explain.oracles.oracle import UNKNOWN, Answer, Oracle, check_answer
from proofwood.explain.oracles.regions import ask_region
from proofwood.model.node_table import BoolArray, FloatArray, IntArray

NO_CONSTRAINTS = "a second look knows nothing of constraints between columns, and without them the class can change"
"""Why it is not checked that no row satisfies constraints and has another class."""


class Claim(Protocol):
    """What is checked of an explanation.

    ``kind`` is "abductive" (rows that agree on ``features`` keep the class) or "contrastive" (some row that differs in
    them only gets another one), ``cells`` those of the row that is explained, ``label`` its class.
    """

    @property
    def kind(self) -> str:
        """Which claim."""

    @property
    def features(self) -> Sequence[int]:
        """Features of the explanation."""

    @property
    def cells(self) -> IntArray:
        """(n_columns,) cells of the row."""

    @property
    def label(self) -> int:
        """Class of the row."""


class Model(Protocol):
    """The model that was explained."""

    @property
    def scores(self) -> ScoreModel:
        """The model over its grid."""

    @property
    def feature_names(self) -> Sequence[str]:
        """Names of the features."""

    @property
    def inputs(self) -> Sequence[Input]:
        """Columns of its rows."""

    def predict_codes(self, X: Any) -> IntArray:
        """(n_rows,) class codes of the real model."""

    def are_plausible(self, X: FloatArray) -> BoolArray:
        """(n_rows,) whether rows are plausible."""

    def row(self, cells: IntArray, like: npt.ArrayLike) -> FloatArray:
        """A row inside these cells."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What a second look found.

    Parameters
    ----------
    sufficient : whether the features (and their ranges) do what the kind of explanation says; None if that could not be
        decided
    minimal : whether they no longer do with any one of them less, nor, if that is claimed, with a wider range; None if
        that could not be decided
    problems : what is wrong or undecided, for people; empty if all is well
    doubts : what holds only up to rounding, which the status of the explanation says as well
    unchecked : why nothing was looked at, where no check knows of what is claimed; else empty
    """

    sufficient: bool | None
    minimal: bool | None
    problems: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    unchecked: str = ""

    @property
    def ok(self) -> bool:
        """Whether all that the status claims was confirmed."""
        if self.problems or self.unchecked:
            return False
        return bool(self.doubts) or (self.sufficient is True and self.minimal is True)

    @property
    def status(self) -> Literal["confirmed", "refuted", "undecided", "not checked"]:
        """What came out; undecided where time was short or rounding leaves doubt, see :attr:`problems`."""
        if self.unchecked:
            return "not checked"
        if self.ok:
            return "confirmed"
        open_ = self.sufficient is not False and self.minimal is not False and None in (self.sufficient, self.minimal)
        return "undecided" if open_ else "refuted"

    def __str__(self) -> str:
        reasons = [self.unchecked] if self.unchecked else self.problems or self.doubts
        return f"{self.status}: {'; '.join(reasons)}" if reasons else self.status


def verify(
    model: Model,
    claim: Claim,
    *,
    oracle: Oracle,
    x: npt.ArrayLike | None = None,
    targets: Sequence[int] | None = None,
    clock: Clock = ENDLESS,
    witnesses: Mapping[int, IntArray] | None = None,
    exact: bool = True,
    minimal: bool = True,
    region: tuple[IntArray, IntArray] | None = None,
    widest: bool = False,
    exact_ranges: bool = True,
) -> Verified:
    """Ask an oracle whether an explanation is right, and the model whether the oracle's witnesses are.

    Sufficiency takes one question, minimality one per feature. Every row that the oracle answers with is counted anew
    leaf by leaf and, given ``x``, shown to the model.

    Parameters
    ----------
    model : what was explained
    claim : the explanation
    oracle : of the same ``ScoreModel``, better of another engine than the one that found the explanation
    x : (n_columns,) the row in the units of the model
    targets : the other classes that the explanation is about, all by default
    clock : of all questions together
    witnesses : for features the cells of rows of other classes that came with the explanation. They are trusted no more
        than those of the oracle, but may show in the model itself what the oracle's show only up to rounding
    exact : whether the claim is one about the model itself; else what holds only up to rounding is a doubt, and no
        problem
    minimal : whether it is claimed that no feature can be spared; else that is not looked at
    region : least and greatest cells (n_columns,) of an abductive explanation with ranges, in all rows of which the
        class has to stay; see :mod:`proofwood.explain.model.regions`
    widest : whether it is claimed that no range of the region can take in one value more
    exact_ranges : whether that is claimed of the model itself, see ``exact``

    Returns
    -------
    Verified
        A class that changes only up to the rounding of the model's own sums, and not in the model, decides nothing:
        None, and a problem (or a doubt) that says so. ``minimal`` is True if it was not claimed.

    Raises
    ------
    ValueError
        If the kind is unknown, or the oracle is about another grid.
    """
    if claim.kind not in ("abductive", "contrastive"):
        raise ValueError(f"kind={claim.kind!r} cannot be verified: expected 'abductive' or 'contrastive'")
    if not np.array_equal(oracle.scores.n_thresholds, model.scores.n_thresholds):
        raise ValueError("the oracle is about another model: its threshold grid differs")
    asked = _Verification(model, claim, oracle, x, targets, clock, witnesses or {}, exact)
    return asked.run(minimal, region, widest, exact_ranges)


def verify_none(
    model: Model,
    claim: Claim,
    *,
    oracle: Oracle,
    low: IntArray,
    high: IntArray,
    x: npt.ArrayLike | None = None,
    targets: Sequence[int] | None = None,
    constraints: Sequence[Constraint] = (),
    clock: Clock = ENDLESS,
) -> Verified:
    """Ask an oracle whether no change that is allowed leads to another class.

    Parameters
    ----------
    model, claim, oracle, x, targets, clock : as of :func:`verify`
    low, high : (n_columns,) least and greatest cells of the rows that the row may be changed to
    constraints : between columns, which such rows satisfy, too

    Returns
    -------
    Verified
        ``sufficient``: whether no row of another class is there. With constraints it is confirmed where there is none
        even without them; a row that satisfies them refutes it, and else it is not checked.
    """
    return _Verification(model, claim, oracle, x, targets, clock, {}, True).run_none(low, high, constraints)


class _Verification:
    """The questions about one explanation."""

    def __init__(
        self,
        model: Model,
        claim: Claim,
        oracle: Oracle,
        x: npt.ArrayLike | None,
        targets: Sequence[int] | None,
        clock: Clock,
        witnesses: Mapping[int, IntArray],
        exact: bool,
    ) -> None:
        self.model, self.claim, self.oracle = model, claim, oracle
        self.x = None if x is None else np.asarray(x, dtype=np.float64)
        self.targets = targets
        self.clock = clock
        self.cells = np.asarray(claim.cells, dtype=np.int64)
        self.features = [int(feature) for feature in claim.features]
        self.witnesses = [np.asarray(cells, dtype=np.int64) for cells in witnesses.values()]
        self.exact = exact
        self.problems: list[str] = []
        self.doubts: list[str] = []
        self.seen: FloatArray | None = None  # the row that was shown to the model last

    def run(
        self, claims_minimal: bool, region: tuple[IntArray, IntArray] | None, widest: bool, exact_ranges: bool
    ) -> Verified:
        scores, label = self.model.scores, self.claim.label
        if not self._speaks_of_the_row():
            return Verified(None, None, self.problems)
        abductive = self.claim.kind == "abductive"
        everything = range(scores.n_features)
        fixed = self.features if abductive else [f for f in everything if f not in self.features]
        changes = self._changes(fixed, "the explanation", expected=not abductive)
        sufficient = None if changes is None else changes is not abductive
        if sufficient is False:
            self.problems.append(
                f"another class than {label} is possible with these features fixed"
                if abductive
                else f"no other class than {label} is possible with only these features changed"
            )
        minimal: bool | None = True
        for feature in self.features if claims_minimal else ():
            name = self.model.feature_names[feature]
            less = [f for f in fixed if f != feature] if abductive else [*fixed, feature]
            changes = self._changes(less, f"the feature {name}", expected=abductive)
            if changes is None:
                minimal = None if minimal else minimal
            elif changes is not abductive:
                minimal = False
                self.problems.append(f"the feature {name} is not needed")
        if region is not None and abductive and sufficient:
            low, high = (np.asarray(cells, dtype=np.int64) for cells in region)
            sufficient = self._holds_in(low, high)
            if sufficient and widest:
                minimal = self._cannot_grow(low, high, minimal, exact_ranges)
        return Verified(sufficient, minimal, self.problems, self.doubts)

    def run_none(self, low: IntArray, high: IntArray, constraints: Sequence[Constraint]) -> Verified:
        label = self.claim.label
        if not self._speaks_of_the_row():
            return Verified(None, None, self.problems)
        if np.array_equal(low, high):
            return Verified(True, True)  # nothing may change, and the model was just asked about the row
        changes = self._changes_in(low, high, "rows that the row may be changed to", expected=False, exact=True)
        if changes and not all(self.seen is not None and one.holds(self.seen) for one in constraints):
            return Verified(None, None, unchecked=NO_CONSTRAINTS)
        if changes:
            self.problems.append(f"another class than {label} is possible with changes that are allowed")
        return Verified(None if changes is None else not changes, True, self.problems)

    def _holds_in(self, low: IntArray, high: IntArray) -> bool | None:
        """Whether the row is in the region, which limits its features only, and all rows of it have the class."""
        scores = self.model.scores
        free = [c for f in range(scores.n_features) if f not in self.features for c in scores.features[f]]
        if not in_region(scores, self.cells, low, high):
            self.problems.append("the row is outside the ranges")
            return False
        if np.any(low[free] > 0) or np.any(high[free] < scores.n_thresholds[free]):
            self.problems.append("there are ranges of features that are not of the explanation")
            return False
        everything = [c for f in self.features for c in scores.features[f]]
        if np.array_equal(low[everything], self.cells[everything]) and np.array_equal(
            high[everything], self.cells[everything]
        ):
            return True  # what was asked already
        changes = self._changes_in(low, high, "the ranges", expected=False, exact=True)
        if changes:
            self.problems.append(f"another class than {self.claim.label} is possible within the ranges")
        return None if changes is None else not changes

    def _cannot_grow(self, low: IntArray, high: IntArray, minimal: bool | None, exact: bool) -> bool | None:
        """Whether, for each value that a range could take in next, a row of the wider region has another class."""
        scores = self.model.scores
        for feature in self.features:
            which = f"the range of the feature {self.model.feature_names[feature]}"
            for unit in units(scores, feature):
                for value in unit.next(low, high):
                    wider = unit.with_value(low, high, value)
                    changes = self._changes_in(*wider, which, expected=True, exact=exact)
                    if changes is None:
                        minimal = None if minimal else minimal
                    elif not changes:
                        minimal = False
                        self.problems.append(f"{which} can take in more")
        return minimal

    def _changes_in(self, low: IntArray, high: IntArray, about: str, *, expected: bool, exact: bool) -> bool | None:
        """Whether the class can change in a region; None and a problem, or a doubt, if there is no sure answer."""
        answer = self._answer(
            lambda: ask_region(self.oracle, low, high, self.claim.label, targets=self.targets, clock=self.clock)
        )
        if answer.changes is None:
            self.problems.append(f"{about}: {_unanswered()}")
            return None
        if not answer.changes:
            return False
        witness = answer.witness
        scores = self.model.scores
        if witness is None or not scores.allows(witness) or not in_region(scores, witness, low, high):
            raise AssertionError(f"{about}: the row that the oracle answers with is outside of what was asked")
        if self._is_real(witness):
            return True
        return self._doubtful(about, lambda: self._sure_in(low, high), expected=expected, exact=exact)

    def _sure_in(self, low: IntArray, high: IntArray) -> IntArray | None:
        """A row of a region that has another class whatever rounding does."""
        scores = self.model.scores
        sure = make_oracle("auto", scores.sure())
        return self._answer(
            lambda: ask_region(sure, low, high, self.claim.label, targets=self.targets, clock=self.clock)
        ).witness

    def _answer(self, ask: Callable[[], Answer]) -> Answer:
        if self.clock.over:
            return UNKNOWN
        try:
            return ask()
        except MemoryError:
            memory.note_lack()
            return UNKNOWN

    def _doubtful(
        self, about: str, other: Callable[[], IntArray | None], *, expected: bool, exact: bool
    ) -> bool | None:
        """The class changes only up to rounding in the row at hand: whether another row shows it in the model."""
        witness = other()
        if witness is not None and self._is_real(witness):
            return True
        fault = f"{about}: the class changes only up to rounding, and not in the model"
        # "Up to rounding" is said of changes that are claimed; that the class stays is claimed in spite of rounding.
        (self.doubts if expected and not exact else self.problems).append(fault)
        return None

    def _speaks_of_the_row(self) -> bool:
        """Whether features, cells and class belong together."""
        scores = self.model.scores
        if len(set(self.features)) != len(self.features) or not set(self.features) <= set(range(scores.n_features)):
            self.problems.append(f"the features {self.features} are not distinct features of the model")
        elif not scores.meets_clauses(self.cells):
            self.problems.append("the row is outside the space")
        elif self.x is not None and (code := int(self.model.predict_codes(self.x[np.newaxis])[0])) != self.claim.label:
            self.problems.append(f"the model gives the row class {code} and not {self.claim.label}")
        elif self.x is None and (code := scores.winner(self.cells)) != self.claim.label:
            self.problems.append(f"the row has class {code} and not {self.claim.label}")
        return not self.problems

    def _changes(self, fixed: Sequence[int], about: str, *, expected: bool) -> bool | None:
        """Whether the class can change; None and a problem, or a doubt, if there is no sure answer."""
        scores = self.model.scores
        if self.x is not None and np.array_equal(*scores.box(self.cells, fixed)):
            return False  # all rows of these cells are one to the model, which was just asked about it
        answer = self._answer(
            lambda: self.oracle.ask(
                self.cells, self.claim.label, fixed, targets=self.targets, seconds=self.clock.seconds_left
            )
        )
        if answer.changes is None:
            self.problems.append(f"{about}: {_unanswered()}")
            return None
        if not answer.changes:
            return False
        check_answer(scores, self.cells, self.claim.label, fixed, answer)
        columns = [c for feature in fixed for c in scores.features[feature]]
        own = [
            row for row in self.witnesses if scores.allows(row) and np.array_equal(row[columns], self.cells[columns])
        ]
        assert answer.witness is not None
        if any(self._is_real(row) for row in (answer.witness, *own)):
            return True
        return self._doubtful(about, lambda: None, expected=expected, exact=self.exact)

    def _is_real(self, witness: IntArray) -> bool:
        """Whether a row has another class (of the targets), by the model if there is a row to start from."""
        if self.x is None:
            code = self.model.scores.winner(witness)
        else:
            row = self.seen = np.asarray(self.model.row(witness, like=self.x))
            code = int(self.model.predict_codes(row[np.newaxis])[0])
        reached = code != self.claim.label if self.targets is None else code in self.targets
        return reached and (self.x is None or bool(self.model.are_plausible(row[np.newaxis])[0]))


def _unanswered() -> str:
    return "no answer within the memory" if memory.lacked() else "no answer in time"
