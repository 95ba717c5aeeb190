"""One explanation of a row as an object: its features, its text in the terms of the table, and its verification."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from proofwood import arguments
from proofwood.data.kinds import Kind
from proofwood.decimals import DIGITS, at_least, at_most
from proofwood.engines.run import Clock
from proofwood.ensembles.considered import among_rows
from proofwood.ensembles.explained import Explained, model_of
from proofwood.ensembles.fingerprint import plain
from proofwood.ensembles.kept import Rejoined
from proofwood.ensembles.outline import Outline
from proofwood.ensembles.readers.given import CHECKED
from proofwood.explain.nearest.measure import Metric, measure_of
from proofwood.explain.rule import Condition, conditions, treated_text
from proofwood.explain.show import told
from proofwood.explain.show.plot import plot_explanation
from proofwood.markup import titled
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.printable import printable

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from proofwood.explain.proofs.verify import Verified

ExplanationKind = Literal["abductive", "contrastive", "counterfactual"]
VERIFY_SECONDS = 60.0
"""Default time limit of :meth:`Explanation.verify`."""

FUNCTION = "a function"
"""Text that replaces a function of prices in a pickle and in JSON."""
_SLACK = 2.0**-48
"""Upper bound on the relative rounding error of a distance that is summed in float64."""
UP_TO_ROUNDING = " up to rounding"
"""End of a status if the bounds on rounding permit another class, but the model itself shows none."""


@dataclass(frozen=True, eq=False)
class Explanation(Rejoined):
    """Why a model predicts a class for a row, or what would change it.

    Parameters
    ----------
    kind : ``"abductive"``: the class stays as long as ``features`` keep their values; ``"contrastive"``: a change of
        ``features`` can change the class; ``"counterfactual"``: the nearest row of another class changes ``features``
    features : indices of features, ascending
    row : (n_inputs,) the row, as returned by ``model.read``
    label : code of the class of the row
    status : of an abductive explanation

        - ``"smallest"``: no explanation has fewer features
        - ``"minimal"``: no feature can be left out
        - ``"sufficient"``: correct, but a limit was reached: some feature may be superfluous
        - ``"unknown"``: a limit was reached before anything was proved

        of a contrastive one: ``"smallest"``, ``"minimal"``, ``"changing"`` (correct, perhaps not minimal), ``"none"``
        (proved: the class cannot change), ``"unknown"``; of a counterfactual: ``"optimal"``, ``"feasible"``,
        ``"none"``, ``"unknown"``. In a table ``"impossible"`` if the question has no answer for the row.
        ``"... up to rounding"`` if the claim depends on a change that the model's rounding might allow, and no row is
        known for which the model itself shows it. Without these words a status is exact, see :attr:`exact`
    seconds : time taken
    calls : number of questions to the engine
    engine : name of the engine
    model : the model, its grid and its names. A pickled explanation has an outline instead (the names, and the
        thresholds near its values): all texts remain available, and :meth:`with_model` restores the model
    cells : (n_columns,) cells of the row
    low, high : (n_columns,) least and greatest cells of an abductive explanation; every row inside has the class
    witness_cells : mapping from features to cells of rows of another class: for each feature of an abductive
        explanation, a row that agrees on its other features; for other kinds, the same row for each feature
    targets : codes of the target classes, None for all other classes
    keep : features that the caller required
    free : features that the caller excluded from an abductive explanation
    distance : price of the change (counterfactual), else nan
    lower_bound : proved least number of features, or least distance; nan if nothing is proved
    immutable : features that the caller did not allow to change
    prices : of a counterfactual, for each column the price of each cell; None if each changed feature counts 1, and
        after unpickling
    asked : ``weights`` and ``within`` of a counterfactual, from which its prices can be computed again
    metric : how the distance of a counterfactual is computed from the prices
    certificate : the certificate from :class:`proofwood.explain.proofs.certificate.Certifier`, if asked for
    message : why there is no answer, if the status is ``"impossible"``
    ranges : of an inflated explanation, what is proved about its ranges; else empty

        - ``"widest"``: no range can include one more value, given the other ranges
        - ``"widest up to rounding"``: the same, except where only rounding that the model does not show prevents it
        - ``"wide"``: correct, but a limit was reached: a range may be narrower than it could be

    filled : inputs in which the row lacks a value; ``row`` has the value that a step of the pipeline fills in
    found_row : (n_inputs,) the row of a counterfactual, if prices or constraints lead to another row than the
        nearest one with the same cells; else None
    constraints : texts of the constraints between columns that a counterfactual satisfies
    reading : how it was checked that the model reads the row in the same way as this package

        - ``"checked"``: ``model.predict`` of the row, exactly as it was given, is the class that is explained
        - ``"checked as ..."``: the model does not accept the container of the row; its prediction was checked for the
          same values in another container, such as a pandas data frame
        - ``"not checked: ..."``: nothing that can predict rows was given, as with trees from a file

        followed by ``"; columns by place"`` if the model has no column names, so that the names of the columns of a
        data frame were ignored
    """

    kind: ExplanationKind
    features: tuple[int, ...]
    row: FloatArray
    label: int
    status: str
    seconds: float
    calls: int
    engine: str
    model: Explained = field(repr=False)
    cells: IntArray = field(repr=False)
    low: IntArray | None = field(default=None, repr=False)
    high: IntArray | None = field(default=None, repr=False)
    witness_cells: Mapping[int, IntArray] = field(default_factory=dict, repr=False)
    targets: tuple[int, ...] | None = None
    keep: tuple[int, ...] = ()
    free: tuple[int, ...] = ()
    immutable: tuple[int, ...] = ()
    distance: float = math.nan
    lower_bound: float = math.nan
    prices: tuple[FloatArray, ...] | None = field(default=None, repr=False)
    metric: Metric = "l1"
    certificate: Mapping[str, Any] | None = field(default=None, repr=False)
    message: str = ""
    ranges: str = ""
    filled: tuple[int, ...] = ()
    found_row: FloatArray | None = field(default=None, repr=False)
    constraints: tuple[str, ...] = ()
    reading: str = CHECKED
    asked: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def exact(self) -> bool:
        """Whether status and ranges are true of the model itself, whatever its rounding does."""
        return not self.status.endswith(UP_TO_ROUNDING) and not self.ranges.endswith(UP_TO_ROUNDING)

    # -------------------------------------------------------------------------------------------------------- in words

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self._named(self.features)

    def _named(self, features: Iterable[int]) -> tuple[str, ...]:
        """Names of the given features."""
        return tuple(self.model.feature_names[feature] for feature in features)

    @property
    def prediction(self) -> Any:
        """The class that the model predicts for the row."""
        return self._class(self.label)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions of an abductive explanation on its features, in the table's units; empty for other kinds."""
        if self.low is None or self.high is None:
            return ()
        return conditions(self.model, self.low, self.high, self.features, row=self.row, filled=self.filled)

    def rule(self, digits: int | None = DIGITS) -> str:
        r"""The explanation in one line: its conditions (or changes), and the class that they lead to.

        Control characters in names and labels, which could act on a terminal, are escaped, such as ``\x1b``.

        Parameters
        ----------
        digits : least number of significant digits of thresholds. A threshold with more digits is rounded inwards, so
            that the rule claims no more than what is proved, and still covers the row. If the model compares in
            float32, the two sides of a test are ``x <= 35.5`` and ``x >= 35.5001``. A changed value is rounded so that
            the row still gets the named class; with constraints it is not rounded. The float64 next to a short number
            is shown as "just above" or "just below" it. None shows the float64 numbers themselves
        """
        arguments.count(digits, "digits", least=1)
        return printable(self._rule(digits))

    def _rule(self, digits: int | None) -> str:
        if self.status == "impossible":
            return self.message
        if self.status == "none":
            permitted = f" (with {self.permitted})" if self.permitted else ""
            return f"no permitted change leads away from {self._aim(self.prediction)}{permitted}"
        if self.kind == "abductive":
            text = " and ".join(condition.text(digits) for condition in self.conditions) or "always"
            return f"{text} -> {self._claimed()}"
        if self.witness is None:
            return "unknown"
        parts = []
        for feature in self.features:
            now, then = told.change_texts(self.model, self.row, self.witness, feature, self._digits(digits))
            treated = treated_text(self.model, self.row, feature, self.filled)
            parts.append(told.change_text(self.model.feature_names[feature], now, then, treated))
        return f"{' and '.join(parts) or 'nothing'} -> {self._class(self.witness_label)}"

    @property
    def permitted(self) -> str:
        """The limits on a change as text: immutable features, permitted values, infinite prices; empty without any."""
        parts = told.staying(self._named(self.immutable))
        for key, allowed in (self.asked.get("within") or {}).items():
            named = {str(one.name): one.kind for one in self.model.inputs}
            name = str(self.model.inputs[key].name if isinstance(key, int) else key)
            parts.append(told.becoming(name, allowed, ends=named.get(name, Kind.NOMINAL) is not Kind.NOMINAL))
        if self.kind == "counterfactual" and self.metric != "changes" and self.model.missing:
            parts.append("no value that becomes missing")
        if _may_forbid(self.asked.get("weights")):
            parts.append("no change of infinite price")
        return ", ".join(parts)

    def _digits(self, digits: int | None = DIGITS) -> int | None:
        """Digits to show changed values with; None if constraints connect them, as rounding could violate these."""
        return None if self.constraints else digits

    def _claimed(self) -> str:
        """Text of the class, or of the target classes that are ruled out."""
        if self.targets is None:
            return str(self.prediction)
        return "not " + " or ".join(str(self._class(target)) for target in self.targets)

    def _aim(self, label: Any) -> str:
        if self.targets is None:
            return str(label)
        return f"{label} to {' or '.join(str(self._class(target)) for target in self.targets)}"

    def _class(self, code: int) -> Any:
        label = self.model.classes[code]
        return label.item() if isinstance(label, np.generic) else label

    def __str__(self) -> str:
        return f"{self.rule()}  [{self._summary()}]"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._summary()}: {self.rule()}>"

    @property
    def bounds_text(self) -> tuple[str, str]:
        """The proved least distance, rounded down, and the distance, rounded up, both in few digits.

        Both are sums in float64, so their possible rounding error is subtracted from the first and added to the second.
        A number is not changed if it equals the exact distance of the row found, with weight 1 for each column.
        """
        exact = None if self.witness is None else self._square()
        found = []
        for number, sign in ((self.lower_bound, -1), (self.distance, 1)):
            sure = not math.isfinite(number) or self.metric == "changes" or exact == Fraction(number) ** 2
            found.append(number if sure else number * (1 + sign * _SLACK))
        return at_most(found[0]), at_least(found[1])

    def _square(self) -> Fraction:
        """The exact square of the distance of the row found, if each column has the weight 1."""
        assert self.witness is not None
        parts = []
        for feature in self.features:
            columns = self.model.inputs_of(feature)
            if feature in self.model.choices:
                parts.append(Fraction(1))
                continue
            for j in columns:
                now, then = float(self.row[j]), float(self.witness[j])
                if now != then and not (math.isnan(now) and math.isnan(then)):
                    plain = math.isfinite(now - then) and self.model.inputs[j].kind is not Kind.NOMINAL
                    parts.append(abs(Fraction(then) - Fraction(now)) if plain else Fraction(1))
        if self.metric == "l2":
            return sum((part**2 for part in parts), Fraction(0))
        return (max(parts, default=Fraction(0)) if self.metric == "linf" else sum(parts, Fraction(0))) ** 2

    def _summary(self) -> str:
        told = f"{self.kind}, {self.status}" + (f", ranges {self.ranges}" if self.ranges else "")
        return told + ("" if self.reading == CHECKED else f", reading {self.reading}")

    # -------------------------------------------------------------------------------------------------------- witnesses

    @cached_property
    def witnesses(self) -> dict[int, FloatArray]:
        """Mapping from features to rows with the ``witness_cells``, as near to the explained row as the cells allow."""
        rows: dict[int, FloatArray] = {}
        made: dict[int, FloatArray] = {}
        for feature, cells in self.witness_cells.items():
            if id(cells) not in made:
                found = self.found_row
                made[id(cells)] = self.model.grid.row(cells, like=self.row) if found is None else found
            rows[feature] = made[id(cells)]
        return rows

    @property
    def witness(self) -> FloatArray | None:
        """A row of another class, for an abductive explanation the row for its first feature; None if none is known."""
        return next(iter(self.witnesses.values()), None)

    @cached_property
    def witness_label(self) -> int:
        """Code of the class that the model predicts for :attr:`witness`; -1 if there is no witness."""
        if self.witness is None:
            return -1
        return int(model_of(self.model, None).predict_codes(self.witness[np.newaxis])[0])

    # ------------------------------------------------------------------------------------------------- without a model

    def _outlined(self) -> dict[str, Any]:
        made = self.conditions, self.witnesses, self.witness_label  # the texts about them are kept
        box = {name: one for name, one in (("low", self.low), ("high", self.high)) if one is not None}
        cells = [self.cells, *self.witness_cells.values(), *box.values()]
        outline = Outline.of(self.model, list(np.array(cells, dtype=np.int64).T))
        here = {id(one): outline.cells_here(one) for one in cells}
        return {
            **dict(zip(("conditions", "witnesses", "witness_label"), made, strict=True)),
            **{name: here[id(one)] for name, one in box.items()},
            "model": outline,
            "cells": here[id(self.cells)],
            "witness_cells": {feature: here[id(one)] for feature, one in self.witness_cells.items()},
            "prices": None,
            "asked": _without_functions(self.asked),
        }

    def _of_row(self) -> FloatArray:
        return self.row

    def _joined(self, whole: Explained, outline: Outline) -> Explanation:
        if _is_lost(self.asked.get("weights")):
            raise ValueError(
                "the prices of this counterfactual are a function, which a pickle does not contain: compute the "
                "counterfactual again"
            )
        cells, _ = outline.cells_there(self.cells, self.cells, whole)
        box: dict[str, Any] = {}
        if self.low is not None and self.high is not None:
            box = dict(zip(("low", "high"), outline.cells_there(self.low, self.high, whole), strict=True))
        there = {feature: outline.cells_there(one, one, whole)[0] for feature, one in self.witness_cells.items()}
        prices = None
        if self.kind == "counterfactual" and self.status not in ("unknown", "impossible"):
            weights, within = self.asked.get("weights"), self.asked.get("within")
            measure = measure_of(whole, self.row, cells, self.metric, weights, within=within)
            prices = None if measure is None else measure.prices
        return replace(self, model=whole, cells=cells, witness_cells=there, prices=prices, **box)

    # ----------------------------------------------------------------------------------------------------------- checks

    def verify(self, *, seconds: float | None = VERIFY_SECONDS, model: Any = None) -> Verified:
        """Prove the claim of the explanation again, and let the checker of certificates decide.

        The check trusts no result of the search. It states the claim about the model and its space. The model itself
        predicts the class of each row that should have another class, trees of boxes prove where no such rows exist,
        and distances are computed again from values.
        :func:`~proofwood.explain.proofs.certificate.check_certificate`, which shares no code with any search, has to
        accept all of this.

        Parameters
        ----------
        seconds : time limit, None for none. What is not decided by then is listed as a problem, and ``status`` is
            "undecided"
        model : the Explainer that made the explanation, if the explanation was loaded from a pickle

        Returns
        -------
        Verified
            Its ``ok`` is true if the whole claim was confirmed. If the status says "up to rounding", ``doubts`` lists
            what depends on rounding. If no check covers a part, ``not_checked`` names it, and ``status`` is "not
            checked": claims about plausible rows only, claims that need constraints between columns, and prices given
            by functions.

        Raises
        ------
        ValueError
            If there is nothing to verify, or if the model is needed and was not given.
        """
        from proofwood.explain.proofs.verify import (  # start-up time: few answers are looked at again
            Claim,
            Verified,
            verify,
        )

        seconds = arguments.seconds(seconds, "seconds")
        if model is not None or isinstance(self.model, Outline):
            return self.with_model(model).verify(seconds=seconds)
        if self.status == "unknown" and self.lower_bound > 0:
            return Verified((), not_checked=("the lower bound, because no row was found",))
        if self.status in ("unknown", "impossible"):
            raise ValueError(f"an explanation of status {self.status!r} makes no claim: there is nothing to verify")
        return verify(Claim(**{one.name: getattr(self, one.name) for one in fields(Claim)}), Clock.of(seconds))

    # ----------------------------------------------------------------------------------------------------------- output

    def _lines(self) -> list[told.Line]:
        """The lines of the explanation in a table, one per feature."""
        changed = self._changed()
        if self.kind != "abductive" and changed is None:
            return []
        return told.lines(
            self.model,
            self.features,
            self.row,
            self.filled,
            conditions=self.conditions,
            changed=changed,
            digits=self._digits(),
        )

    def to_frame(self) -> pl.DataFrame:
        """A polars data frame with one row of texts per feature of the explanation.

        Columns: ``feature``; ``value`` in the row, null if it is missing; ``treated_as``: the value that a step of a
        pipeline fills in for a missing one; then ``changed_to``, or for an abductive explanation ``condition``, with
        ``low`` and ``high``: the exact float64 ends of an interval of numbers.
        """
        return told.as_frame(self._lines(), self.kind != "abductive")

    def to_markdown(self) -> str:
        """The rule, what is proved about it, and a table of the features, as GitHub Markdown."""
        return told.as_markdown(self.rule(), self._summary() + self._space(), *self._table())

    def to_html(self) -> str:
        """The content of :meth:`to_markdown` as HTML: a ``div`` of class ``proofwood`` without styles or scripts.

        All texts are escaped.
        """
        return titled(self.rule(), self._summary() + self._space(), *self._table())

    def _space(self) -> str:
        """Text after a claim that names the rows it is about; empty if it is about all rows."""
        return among_rows(self.model) + (f"; with {' and '.join(self.constraints)}" if self.constraints else "")

    def _table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        rows: list[tuple[str, ...]] = [(line.feature, line.in_row, line.then) for line in self._lines()]
        return told.head(self.kind != "abductive"), rows

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_dict(self) -> dict[str, Any]:
        """Everything except the model, as plain values for JSON.

        The JSON schema is in ``docs/reference/explanation.schema.json``. A value that the row lacks is null, even if a
        step of a pipeline fills it in; ``treated_as`` then has the value filled in.
        """
        return {
            "kind": self.kind,
            "status": self.status,
            "exact": self.exact,
            "ranges": self.ranges or None,
            "prediction": self.prediction,
            "reached": self._class(self.witness_label) if self._changed() is not None else None,
            "features": list(self.features),
            "names": list(self.names),
            "text": self.rule(),
            "rule": self.rule(None),
            "conditions": [condition.to_dict() for condition in self.conditions],
            "changes": self._changes(),
            "row": self._as_given(self.row),
            "treated_as": {self.model.inputs[j].name: _number(float(self.row[j])) for j in self.filled},
            "witnesses": {str(feature): self._as_given(row) for feature, row in self.witnesses.items()},
            "targets": None if self.targets is None else [self._class(target) for target in self.targets],
            "knowledge": list(self.model.knowledge.texts),
            "among": among_rows(self.model).removeprefix("; "),
            "immutable": list(self._named(self.immutable)),
            "keep": list(self._named(self.keep)),
            "free": list(self._named(self.free)),
            "within": plain(self.asked.get("within")),
            "metric": self.metric if self.kind == "counterfactual" else None,
            "weights": plain(_without_functions(self.asked.get("weights"))),
            "kinds": self.model.types,
            "constraints": list(self.constraints),
            "reading": self.reading,
            "plausible": None if self.model.plausible is None else self.model.plausible.least,
            "distance": _number(self.distance),
            "lower_bound": _number(self.lower_bound),
            "engine": self.engine,
            "calls": self.calls,
            "seconds": _number(self.seconds),
        }

    def _changed(self) -> FloatArray | None:
        """The row of another class; None if there is none, or if the explanation is abductive."""
        return None if self.kind == "abductive" else self.witness

    def _changes(self) -> list[dict[str, Any]]:
        changed = self._changed()
        if changed is None:
            return []
        return told.changes(self.model, self.features, self.row, changed, self.filled, self._digits())

    def _as_given(self, row: FloatArray) -> list[float | None]:
        """The values of a row as plain numbers; None for those that the explained row lacks."""
        same = [j for j in self.filled if row[j] == self.row[j]]
        return [None if j in same else _number(value) for j, value in enumerate(row.tolist())]

    def plot(
        self,
        ax: Axes | None = None,
        *,
        figsize: tuple[float, float] | None = None,
        title: str | None = None,
        palette: Any = None,
    ) -> Axes:
        """Draw the explanation with matplotlib, one line per feature, and return the axes.

        Parameters
        ----------
        ax : Axes or None
            Where to draw; None makes a new figure.
        figsize : width and height of a new figure in inches
        title : line above the picture; by default the class and what is proved
        palette : colours of the classes in their order, or a mapping from labels to colours
        """
        return plot_explanation(self, ax, figsize=figsize, title=title, palette=palette)


def _without_functions(stated: Any) -> Any:
    """The stated prices, with the text ``FUNCTION`` in place of each function."""
    if isinstance(stated, Mapping):
        return {key: _without_functions(one) for key, one in stated.items()}
    return FUNCTION if callable(stated) else stated


def _may_forbid(stated: Any) -> bool:
    """Whether some stated price is infinite, or is a function, which may return infinity."""
    if isinstance(stated, Mapping):
        return any(map(_may_forbid, stated.values()))
    if isinstance(stated, tuple | list):
        return any(map(_may_forbid, stated))
    return callable(stated) or stated == FUNCTION or stated == math.inf


def _is_lost(stated: Any) -> bool:
    """Whether some stated price was a function, which pickling has replaced by a text."""
    return any(map(_is_lost, stated.values())) if isinstance(stated, Mapping) else isinstance(stated, str)


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
