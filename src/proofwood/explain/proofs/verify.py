"""Verify an explanation: prove its claim again, without trust in the explanation, and let the checker decide.

Rows of another class, and proofs that there are none, are made as for a certificate. Then they are checked by
:mod:`proofwood.certificates`, which shares no code with any search. The model itself predicts all rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from proofwood import memory
from proofwood.certificates.check import checks_of
from proofwood.certificates.facts import Check
from proofwood.certificates.measures import TOLERANCE, Measure, changed_features
from proofwood.certificates.stated import Stated, limits_in
from proofwood.engines.run import Clock
from proofwood.ensembles.explained import Explained
from proofwood.ensembles.linear import read_constraints
from proofwood.explain.nearest.measure import Metric, count_prices, measure_of, not_permitted, permitted_codes
from proofwood.explain.nearest.tariffs import read_tariff
from proofwood.explain.oracles.engines import make_oracle
from proofwood.explain.proofs.certificate import NONE, Certifier
from proofwood.explain.proofs.distance import DistanceCertifier, root
from proofwood.explain.proofs.refute import NoCertificateError, OnlyRoundingError
from proofwood.explain.proofs.stated import Compared, parts_of
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.printable import shown

UP_TO_ROUNDING = " up to rounding"
STATUSES = {
    "abductive": ("sufficient", "minimal", "smallest"),
    "contrastive": ("changing", "minimal", "smallest", "none"),
    "counterfactual": ("optimal", "feasible", "none"),
}
"""The statuses that each kind of explanation can claim, without " up to rounding"."""
RANGES = ("", "wide", "widest", f"widest{UP_TO_ROUNDING}")
Content = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of the verification of an explanation.

    Parameters
    ----------
    checks : all checks that were made
    problems : texts about parts of the claim that are wrong or could not be decided
    doubts : texts about parts that hold only up to rounding, as the status of the explanation also says
    not_checked : names of parts of the claim that no check covers
    """

    checks: tuple[Check, ...]
    problems: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    not_checked: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the whole claim was confirmed."""
        return self.status == "confirmed"

    @property
    def status(self) -> Literal["confirmed", "refuted", "undecided", "not checked"]:
        """The result; "undecided" if the time ran out or rounding leaves a part open, see :attr:`problems`."""
        if not all(check.passed for check in self.checks):
            return "refuted"
        return "undecided" if self.problems else "not checked" if self.not_checked else "confirmed"

    def __str__(self) -> str:
        reasons = [*self.problems, *self.not_checked] or self.doubts
        return f"{self.status}: {'; '.join(reasons)}" if reasons else self.status


@dataclass(frozen=True, eq=False)
class Claim:
    """The fields of a :class:`proofwood.Explanation` that are verified."""

    kind: str
    status: str
    ranges: str
    model: Explained
    row: FloatArray
    cells: IntArray
    label: int
    targets: tuple[int, ...] | None
    features: tuple[int, ...]
    keep: tuple[int, ...]
    free: tuple[int, ...]
    immutable: tuple[int, ...]
    low: IntArray | None
    high: IntArray | None
    witness_cells: Mapping[int, IntArray]
    witnesses: Mapping[int, FloatArray]
    witness: FloatArray | None
    metric: Metric
    asked: Mapping[str, Any]
    prices: tuple[FloatArray, ...] | None
    constraints: tuple[str, ...]
    distance: float
    lower_bound: float


def verify(found: Claim, clock: Clock) -> Verified:
    """Prove the claim of an explanation again, and check the proof.

    Parameters
    ----------
    found : the explanation, with its model
    clock : clock of the whole verification
    """
    with memory.within(None):
        return _Second(found, clock).look()


class _Asked:
    """The model that certificates are compared with; it predicts each row only once, and many rows in one call."""

    def __init__(self, model: Explained) -> None:
        self.model = model
        self._codes: dict[bytes, int] = {}

    def stated_as(self, content: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
        """As :meth:`Compared.stated_as`, but with this object in place of the model."""
        parts, model = Compared(self.model).stated_as(content)
        return parts, self if model is self.model else model

    def predict_codes(self, rows: FloatArray) -> IntArray:
        """(n_rows,) codes of the classes of rows (n_rows, n_columns)."""
        keys = [row.tobytes() for row in rows]
        new = {key: row for key, row in zip(keys, rows, strict=True) if key not in self._codes}
        if new:
            codes = self.model.predict_codes(np.array([*new.values()]))
            self._codes.update(zip(new, codes.tolist(), strict=True))
        return np.array([self._codes[key] for key in keys], dtype=np.int64)


class _Second:
    """The verification of one explanation."""

    def __init__(self, found: Claim, clock: Clock) -> None:
        self.found, self.model, self.clock = found, found.model, clock
        self.plain = found.status.removesuffix(UP_TO_ROUNDING)
        self.checks: list[Check] = []
        self.problems: list[str] = []
        self.doubts: list[str] = []
        self.not_checked: list[str] = []
        self.asked = _Asked(self.model)

    def look(self) -> Verified:
        found = self.found
        if self.model.plausible is not None:
            self.not_checked.append("claims about plausible rows only")
        rows = [*found.witnesses.values(), *([] if found.witness is None else [found.witness])]
        code, *_ = self.asked.predict_codes(np.array([found.row, *rows])).tolist()
        self._check("row", None if code == found.label else f"the model gives it class {self.model.classes[code]}")
        self._check("status", self._status_fault())
        if not np.array_equal(found.cells, self.model.cells(found.row)):
            self._check("cells", "they are not the cells of the row")
        try:
            _ = self.prices
        except (TypeError, ValueError) as error:
            self._check("asked", str(error))
        if self.plain != "none" and not self.refuted:
            self._look_at_rows()
        if not self.refuted and self.model.plausible is None:
            for claim in self._claims():
                self._decide(claim)
        return Verified(tuple(self.checks), tuple(self.problems), tuple(self.doubts), tuple(self.not_checked))

    def _status_fault(self) -> str | None:
        """The reason why status and ranges cannot be those of an answer; None if they can."""
        found, ranges = self.found, self.found.ranges
        if self.plain not in STATUSES.get(found.kind, ()) or (self.plain == "none" and not self.exact):
            return f"{found.status!r} is not a status of {found.kind} explanations"
        if ranges not in (RANGES if found.kind == "abductive" else RANGES[:1]):
            return f"{ranges!r} cannot be proved of the ranges of {found.kind} explanations"
        exact = not self.model.scores.margin and self.model.plausible is None
        if exact and (not self.exact or ranges.endswith(UP_TO_ROUNDING)):
            return "it says 'up to rounding', but the sums of this model are exact"
        return None

    @property
    def refuted(self) -> bool:
        """Whether a check has already failed."""
        return not all(check.passed for check in self.checks)

    def _check(self, name: str, fault: str | None) -> None:
        self.checks.append(Check(name, fault is None, fault or "as claimed"))
        if fault is not None:
            self.problems.append(f"{name}: {fault}")

    # ------------------------------------------------------------------------------------------------------ proving

    @property
    def exact(self) -> bool:
        """Whether the status is about the model itself, whatever rounding does."""
        return not self.found.status.endswith(UP_TO_ROUNDING)

    def _decide(self, make: Callable[[], Content | None]) -> None:
        """Prove a part of the claim, and let the checker decide; nothing to decide if rounding leaves the part open."""
        try:
            content = make() if self.exact else self._up_to_rounding(make)
        except NoCertificateError as error:
            self.problems.append(_reason(error))
        except ValueError as error:
            self._check("claim", str(error))
        else:
            if content is not None:
                self._look_at(content)

    def _up_to_rounding(self, make: Callable[[], Content | None]) -> Content | None:
        """A certificate; None, and a doubt, if only rounding leaves it open."""
        try:
            return make()
        except OnlyRoundingError as error:
            self.doubts.append(_reason(error))
            return None

    def _look_at(self, content: Content) -> None:
        stated = parts_of(self.model).stated
        if not stated.tells(limits_in(content, stated.space)):
            stated = Stated(content)
        checks = list(checks_of(content, stated, self.asked))
        self.checks += checks
        self.problems += [f"{check.name}: {check.detail}" for check in checks if not check.passed]

    def _make(self, maker: type[Certifier]) -> Certifier:
        found = self.found
        known = [np.asarray(cells) for cells in found.witness_cells.values()]
        oracle = make_oracle("auto", self.model.scores)
        return maker(
            self.model,
            found.row,
            found.label,
            oracle,
            known=known,
            clock=self.clock,
            targets=found.targets,
            signed=False,
        )

    # ------------------------------------------------------------------------------------------------------- claims

    def _claims(self) -> Iterator[Callable[[], Content | None]]:
        """The parts of the claim, each as a function that makes its certificate."""
        found = self.found
        kind = "contrastive" if found.kind == "counterfactual" and self.prices is None else found.kind
        if self.plain == "none":
            yield self._none
        elif kind == "abductive":
            yield from self._abductive()
        elif kind == "contrastive":
            yield from self._contrastive()
        else:
            yield from self._nearest()

    def _abductive(self) -> Iterator[Callable[[], Content | None]]:
        found = self.found
        features = {*found.features}
        self._check("keep", "a feature is missing" if {*found.keep} - features else None)
        self._check("free", "it contains such a feature" if {*found.free} & features else None)
        minimal = self.plain in ("minimal", "smallest")
        if minimal and not self.exact:  # that the features suffice does not depend on rounding
            yield lambda: self._make(Certifier).abductive(found.features, minimal=False, keep=found.keep)
        yield lambda: self._make(Certifier).abductive(found.features, minimal=minimal, keep=found.keep)
        if self.plain == "smallest":
            yield lambda: self._smallest("abductive")
        self._claims_size()
        low, high = found.low, found.high
        own = self.model.scores.box(self.model.cells(found.row), found.features)
        if low is None or high is None:
            self._check("conditions", "they are missing")
            return
        if found.ranges or not (np.array_equal(own[0], low) and np.array_equal(own[1], high)):
            widest = found.ranges == "widest"
            yield lambda: self._make(Certifier).inflated(found.features, low, high, maximal=widest)
            if found.ranges.endswith(UP_TO_ROUNDING):
                yield lambda: self._up_to_rounding(lambda: self._make(Certifier).inflated(found.features, low, high))

    def _contrastive(self) -> Iterator[Callable[[], Content | None]]:
        found = self.found
        status = {"optimal": "smallest", "feasible": "changing"}.get(self.plain, self.plain)
        fixed = sorted(set(found.immutable) & set(found.features))
        self._check("immutable", f"the features {fixed} change" if fixed else None)
        if found.kind == "counterfactual":
            n = len(found.features)
            self._check("metric", None if found.metric == "changes" else f"{found.metric!r} has no prices")
            fault = f"{found.distance!r} is claimed, but {n} features change"
            self._check("distance", None if found.distance == n else fault)
            self._check("asked", "values are limited, but no prices say so" if found.asked.get("within") else None)
        minimal = status in ("minimal", "smallest")
        yield lambda: self._make(Certifier).contrastive(found.features, minimal=minimal)
        if status == "smallest":
            yield lambda: self._smallest("contrastive")
        self._claims_size()

    def _smallest(self, kind: Literal["abductive", "contrastive"]) -> Content:
        found = self.found
        counts = count_prices(self.model, self.model.cells(found.row)) if kind == "contrastive" else None
        if counts is not None:  # the same search as for the answer: hitting sets may take far longer
            return self._fewest(counts)
        without = found.free if kind == "abductive" else found.immutable
        return self._make(Certifier).smallest(kind, found.features, without=without, keep=found.keep)

    def _fewest(self, counts: Sequence[FloatArray]) -> Content:
        """Certificate that no change of fewer features changes the class: a distance in which each feature counts 1."""
        size = len(self.found.features)
        stated = [1.0] * len(self.model.inputs)
        content = self._certified("changes", stated, counts, bound=None if self.exact else float(size))
        least = content["distance"]["least"]
        if least is not None and least <= size - 1:
            self.problems.append(f"it is only proved that at least {least!r} features have to change")
        return content

    def _claims_size(self) -> None:
        """Check the claim about the least number of features."""
        bound, n = self.found.lower_bound, len(self.found.features)
        if math.isnan(bound):
            return
        self._check("least number", f"{bound!r} is claimed, but {n} features suffice" if bound > n else None)
        if bound > 0 and self.plain not in ("smallest", "optimal"):
            self.not_checked.append("the least number of features")

    def _none(self) -> Content:
        """A certificate that none of the rows that the options permit has another class."""
        found = self.found
        maker = self._make(DistanceCertifier)
        assert isinstance(maker, DistanceCertifier)
        try:
            if self.prices is None:
                return maker.abductive(found.immutable, minimal=False)
            return maker.distance(found.metric, [1.0] * len(self.model.inputs), self.prices, immutable=found.immutable)
        except ValueError:
            row = self.model.grid.row(maker.known[-1], like=found.row) if maker.known else found.row
            if all(one.holds(row) for one in read_constraints(found.constraints, self.model.inputs)):
                raise
        except OnlyRoundingError:
            if not found.constraints:
                raise
        self.not_checked.append("that no row satisfies the constraints and has another class")
        return maker.abductive(range(self.model.scores.n_features), minimal=False)

    # ------------------------------------------------------------------------------------------------------- rows

    def _look_at_rows(self) -> None:
        """Check the rows of another class: that one exists, the features they change, and their class in the model."""
        found = self.found
        if found.kind != "abductive" and found.witness is None:
            self._check("row found", "it is missing")
        if found.kind == "counterfactual" and found.witness is not None:
            self._recount(found.witness)
            return
        if not found.witnesses:
            return
        codes = dict(zip(found.witnesses, self.asked.predict_codes(np.array([*found.witnesses.values()])), strict=True))
        stated = parts_of(self.model).stated
        for feature, row in found.witnesses.items():
            others = found.kind == "abductive"
            may = {feature, *self._outside()} if others else set(found.features)
            beyond = sorted(set(changed_features(stated, found.row.tolist(), row.tolist())) - may)
            if beyond:
                self._check(f"row for {self._name(feature)}", f"it also changes the features {beyond}")
            if self.exact and feature not in found.keep and not self._counts(codes[feature]):
                label = self.model.classes[codes[feature]]
                self._check(f"row for {self._name(feature)}", f"the model gives it class {label}")

    def _outside(self) -> set[int]:
        return set(range(self.model.scores.n_features)) - set(self.found.features)

    def _name(self, feature: int) -> str:
        return repr(self.model.feature_names[feature])

    def _counts(self, code: int) -> bool:
        """Whether a class counts as another class (is one of the targets)."""
        return code != self.found.label if self.found.targets is None else code in self.found.targets

    # ---------------------------------------------------------------------------------------------------- distances

    @cached_property
    def prices(self) -> tuple[FloatArray, ...] | None:
        """Prices of the cells, computed again from the options of the question, not taken from the explanation."""
        found = self.found
        if found.prices is None:
            return None
        asked = found.asked
        cells = self.model.cells(found.row)
        weights, within = asked.get("weights"), asked.get("within")
        measure = measure_of(self.model, found.row, cells, found.metric, weights, within=within)
        return None if measure is None else measure.prices

    def _weights(self) -> Sequence[Any] | None:
        """Prices in the form of a certificate; None if a certificate cannot contain them."""
        asked = self.found.asked
        weights = None if self.found.metric == "changes" else asked.get("weights")
        return read_tariff(self.model, self.found.row, weights).stated

    def _recount(self, row: Any) -> None:
        """Check the row found: its class in the model, the features it changes, its distance, and its constraints."""
        found, parts = self.found, parts_of(self.model)
        code = int(self.asked.predict_codes(row[np.newaxis])[0])
        reached = self._counts(code)
        if reached or self.exact:
            self._check("row found", None if reached else f"the model gives it class {self.model.classes[code]}")
        else:
            self.doubts.append(f"the model gives the row found class {self.model.classes[code]}")
        if not self.model.are_plausible(row[np.newaxis])[0]:
            self._check("row found", "it is not plausible")
        limits = (found.asked.get("within") or {}) if self.prices is not None else {}
        beyond = not_permitted(self.model, found.row, row, limits)
        self._check("within", f"the row found has values that are not permitted in {shown(beyond)}" if beyond else None)
        for one in read_constraints(found.constraints, self.model.inputs):
            self._check("constraint", None if one.holds(row) else f"the row found violates {one.text!r}")
        stated = parts.stated
        changed = changed_features(stated, found.row.tolist(), row.tolist())
        self._check("features", None if changed == sorted(found.features) else f"the row found changes {changed}")
        moved = sorted(set(changed) & set(found.immutable))
        self._check("immutable", f"the row found changes {moved}" if moved else None)
        weights = self._weights()
        if self.prices is None or weights is None:
            if weights is None:
                self.not_checked.append("the distance, by these weights")
            return
        pays = [g for g, price in enumerate(self.prices) if np.any(price[np.isfinite(price)] > 0)]
        told = {"metric": found.metric, "weights": weights, "pays": pays if found.metric == "changes" else []}
        measure = Measure(told, stated, found.row, stated.entries_of(found.row.tolist()))
        total = measure.total(row, stated.entries_of(row.tolist()))
        if total is None:
            self._check("distance", "a value has become missing in the row found")
            return
        try:
            length = root(total, 2) if measure.power == 2 else float(total)
        except OverflowError:  # a change is forbidden
            length = math.inf
        near = math.isclose(length, found.distance, rel_tol=TOLERANCE, abs_tol=0.0)
        self._check("distance", None if near else f"{found.distance!r} is claimed, but it is {length!r}")
        over = found.lower_bound > length * (1 + TOLERANCE)
        self._check("lower bound", f"{found.lower_bound!r} is claimed, but a row is at {length!r}" if over else None)

    def _nearest(self) -> Iterator[Callable[[], Content | None]]:
        weights = self._weights()
        if weights is None or self.prices is None or self.found.witness is None:
            return
        yield lambda: self._distance(weights, self.prices or ())

    def _certified(
        self, metric: str, weights: Sequence[Any], prices: Sequence[FloatArray], *, bound: float | None, **asked: Any
    ) -> Content:
        """Certificate of the distance of the row found; if only rounding gives it another class, of ``bound`` alone."""
        fixed, maker = self.found.immutable, self._make(DistanceCertifier)
        assert isinstance(maker, DistanceCertifier)
        cells = next(iter(self.found.witness_cells.values()))
        try:
            return maker.distance(metric, weights, prices, immutable=fixed, found=cells, bound=bound, **asked)
        except OnlyRoundingError as error:
            if self.exact:
                raise
            self.doubts.append(_reason(error))
        other = maker.real_change(prices, fixed)
        return maker.distance(
            metric, weights, prices, immutable=fixed, found=other, bound=bound, **{**asked, "row": None}
        )

    def _distance(self, weights: Sequence[Any], prices: Sequence[FloatArray]) -> Content:
        found = self.found
        claimed = found.distance * (1 - TOLERANCE) if self.plain == "optimal" else 0.0
        claimed = max(claimed, found.lower_bound)  # in this order: the bound may be nan
        permitted = permitted_codes(self.model, found.row, found.asked.get("within") or {})
        bound = None if self.plain == "optimal" and self.exact else claimed
        content = self._certified(found.metric, weights, prices, bound=bound, permitted=permitted, row=found.witness)
        least = content["distance"]["least"]
        if least is not None and least < claimed * (1 - TOLERANCE):
            said = f"a distance of at least {claimed!r} is claimed, but only {least!r} is proved"
            if found.constraints:
                self.not_checked.append("that no row that satisfies the constraints is nearer")
            else:
                self.problems.append(said)
        return content


def _reason(error: NoCertificateError) -> str:
    """What an error says is open, without the words about a certificate, for which nobody asked here."""
    return str(error).removeprefix(f"{NONE}: ")
