"""The classes that rows of a region can have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from proofwood import arguments
from proofwood.certificates.space import Limit
from proofwood.data.kinds import Kind
from proofwood.engines.run import Clock
from proofwood.ensembles.considered import among_rows, limits_text, stated_limits
from proofwood.ensembles.explained import Explained
from proofwood.ensembles.kept import Kept
from proofwood.ensembles.outline import outline_of_rows
from proofwood.ensembles.space import Key, position
from proofwood.explain.answers.certified import uncertified
from proofwood.explain.proofs.possible import possible_certificate
from proofwood.explain.proofs.refute import NoCertificateError
from proofwood.explain.question import Engines
from proofwood.explain.rule import Limits, Within, row_text
from proofwood.markup import titled
from proofwood.model.node_table import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Possible(Kept):
    """The classes that rows of a region can have.

    Parameters
    ----------
    classes : mapping from each class to whether some row of the region has it; None if the time limit was reached, or
        if only rounding might allow it
    rows : mapping from possible classes to a row (n_inputs,) of the region with this class, in the form of
        ``model.read``
    seconds : time taken
    model : the model; after unpickling, its outline
    certificate : the proof, if asked for; see :func:`~proofwood.explain.proofs.certificate.write_certificate`
    limits : permitted values of the region, by index of column
    """

    classes: Mapping[Any, bool | None]
    rows: Mapping[Any, FloatArray] = field(repr=False)
    seconds: float
    model: Explained = field(repr=False)
    certificate: Mapping[str, Any] | None = field(default=None, repr=False)
    limits: Within = field(default_factory=dict, repr=False)

    @property
    def constant(self) -> bool | None:
        """Whether all rows of the region have the same class; None if this is not known."""
        known = [answer for answer in self.classes.values() if answer]
        if len(known) > 1:
            return False
        return None if None in self.classes.values() else True

    def _outlined(self) -> dict[str, Any]:
        return {"model": outline_of_rows(self.model, list(self.rows.values()))}

    def _lines(self) -> list[tuple[str, str, str]]:
        """Each class as text, whether it is possible, and a row with it; the row is empty if none is known."""
        words = {True: "possible", False: "impossible", None: "unknown"}
        return [
            (str(label), words[answer], row_text(self.model, self.rows[label], self.limits))
            if label in self.rows
            else (str(label), words[answer], "")
            for label, answer in self.classes.items()
        ]

    def __str__(self) -> str:
        return "\n".join(f"{label}: {answer}{row and ', '}{row}" for label, answer, row in self._lines())

    def _repr_html_(self) -> str:
        lines = self._lines()
        n_found, n_unknown = (sum(answer == told for _, answer, _ in lines) for told in ("possible", "unknown"))
        classes = "class" if len(lines) == 1 else "classes"
        title = f"{n_found} of {len(lines)} {classes} possible" + (f", {n_unknown} unknown" if n_unknown else "")
        told = f"{title}{limits_text(self.model, self.limits)}{among_rows(self.model)}"
        # The classes that are possible come first: of hundreds, few are.
        lines.sort(key=lambda line: ("possible", "unknown", "impossible").index(line[1]))
        return titled(told, "", ("class", "in this region", "such as"), lines, scroll=True)


class Region:
    """The region of the rows whose values are within limits.

    Parameters
    ----------
    model : Explained
    where : mapping from columns to ``(low, high)``, a list of categories, or a single value; columns that are not named
        may have any value. A missing value does not satisfy ``(low, high)``

    Raises
    ------
    ValueError
        If a column or category does not exist, or no value of a column is permitted.
    """

    def __init__(self, model: Explained, where: Mapping[Key, object]) -> None:
        self.model = model
        names = [given.name for given in model.inputs]
        self.limits: dict[int, Limits] = {}
        for key, allowed in arguments.mapping(where, "where", "{'income': (40_000, 60_000)}").items():
            j = position(key, names, "where")
            self.limits[j] = self._limits(j, allowed)
        self.low = np.zeros(model.scores.n_columns, dtype=np.int64)
        self.high = np.array(model.scores.n_thresholds, dtype=np.int64)
        for j, limits in self.limits.items():
            for g in model.grid.of_input[j]:
                self._limit(g, limits)

    def _limits(self, j: int, allowed: object) -> Limits:
        given = self.model.inputs[j]
        what = f"where[{given.name!r}]"
        if given.levels:
            names = [allowed] if isinstance(allowed, str) else arguments.several(allowed, what)
            unknown = [name for name in names if name not in given.levels]
            if unknown or not names:
                raise ValueError(f"{what}={allowed!r}: expected some of {', '.join(map(repr, given.levels))}")
            codes = sorted(given.levels.index(name) for name in names)
            if given.kind is Kind.NOMINAL:
                return frozenset(codes)
            if codes != list(range(codes[0], codes[-1] + 1)):
                raise ValueError(
                    f"{what}={allowed!r}: these categories are ordered: expected neighbouring ones, without gaps"
                )
            low, high = max(float(codes[0]), given.low), min(float(codes[-1]), given.high)
            if low > high:
                permitted = ", ".join(map(repr, given.levels[math.ceil(given.low) : math.floor(given.high) + 1]))
                raise ValueError(f"{what}={allowed!r} contains no value of the column: its values are {permitted}")
            return low, high
        expected = "(low, high) or a number"
        single = isinstance(allowed, int | float | np.integer | np.floating)
        low, high = arguments.interval((allowed, allowed) if single else allowed, what, expected)
        low, high = max(low, given.low), min(high, given.high)
        if given.whole:
            low = math.ceil(low) if math.isfinite(low) else low
            high = math.floor(high) if math.isfinite(high) else high
        if low > high:
            raise ValueError(
                f"{what}={allowed!r} contains no value of the column: its values are from {given.low:g} to "
                f"{given.high:g}" + (", integers only" if given.whole else "")
            )
        return float(low), float(high)

    def _limit(self, g: int, limits: Limits) -> None:
        column = self.model.grid.columns[g]
        if column.role == "missing":
            self.high[g] = 0
        elif isinstance(limits, frozenset):
            if column.single and not column.codes & limits:
                self.high[g] = 0
        else:
            low, high = limits
            for end, cells in ((low, self.low), (high, self.high)):
                if math.isfinite(end):
                    cells[g] = int(np.searchsorted(column.thresholds, end, side="left"))

    def stated(self) -> list[Limit]:
        """The limits in the form of a certificate."""
        return stated_limits(self.limits)

    def some_row(self) -> FloatArray:
        """A row of the region, with values near 0."""
        row = np.zeros(len(self.model.inputs))
        for j, given in enumerate(self.model.inputs):
            limits = self.limits.get(j, (given.low, given.high))
            row[j] = min(limits) if isinstance(limits, frozenset) else min(max(0.0, limits[0]), limits[1])
        return row

    def row(self, cells: IntArray, like: FloatArray | None = None) -> FloatArray:
        """A row of the region with the given cells, and values as near to those of the row ``like`` as possible."""
        row = self.model.grid.row(cells, like=self.some_row() if like is None else like)
        for j, limits in self.limits.items():  # choose a permitted category among those that the model treats alike
            if isinstance(limits, frozenset) and row[j] not in limits:
                for code in sorted(limits):
                    other = row.copy()
                    other[j] = code
                    if np.array_equal(self.model.grid.cells_of(other[np.newaxis])[0], cells):
                        row = other
                        break
        return row


def possible(engines: Engines, where: Mapping[Key, object], clock: Clock, *, certificate: bool = False) -> Possible:
    """Return the answer; the options are those of :meth:`proofwood.Explainer.possible`.

    If there is a time limit and a certificate is asked for, the search gets half of the time.
    """
    arguments.flags(certificate=certificate)
    if certificate:
        uncertified(engines.model)
    model = engines.model
    region = Region(model, where)
    codes = range(len(model.classes))
    left = clock.seconds_left
    asking = clock.within(left / 2) if certificate and left is not None else clock
    answers: dict[int, bool | None] = {}
    rows: dict[int, FloatArray] = {}
    for code in codes:
        answers[code], row = _answer(engines, region, code, asking)
        if row is not None:
            rows[code] = row
    labels = model.classes.tolist()
    by_label = {labels[code]: answers[code] for code in codes}, {labels[code]: row for code, row in rows.items()}
    found = Possible(*by_label, clock.seconds, model, limits=region.limits)
    if not certificate:
        return found
    try:
        content = possible_certificate(model, region.stated(), region.low, region.high, answers, rows, clock)
    except NoCertificateError as error:
        error.found = found
        raise
    return replace(found, certificate=content, seconds=clock.seconds)


def _answer(engines: Engines, region: Region, code: int, clock: Clock) -> tuple[bool | None, FloatArray | None]:
    """Whether a class is possible in a region, and a row of the region with this class."""
    model = engines.model
    if len(model.classes) == 1:  # engines compare classes
        row = region.some_row()
        return (True, row) if model.are_plausible(row[np.newaxis])[0] else (None, None)
    for oracle in (engines.oracle, engines.sure):
        if clock.over:
            return None, None
        asked = oracle.ask_box(region.low, region.high, 0 if code else 1, targets=[code], seconds=clock.seconds_left)
        if asked.changes is False:
            return (False if oracle is engines.oracle else None), None
        if asked.witness is None:
            return None, None
        row = region.row(asked.witness)
        if int(model.predict_codes(row[np.newaxis])[0]) == code and model.are_plausible(row[np.newaxis])[0]:
            return True, row
        if not model.scores.margin and model.plausible is None:
            raise AssertionError(f"the engine {oracle.name!r} gave a row of another class than {code}")
    return None, None
