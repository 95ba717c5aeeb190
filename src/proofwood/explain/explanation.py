"""One explanation as a value: what was found about a row, in the words of the table, with its proof at hand."""

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
from proofwood.ensembles.door import CHECKED
from proofwood.ensembles.explained import Explained, model_of
from proofwood.ensembles.fingerprint import plain
from proofwood.ensembles.kept import Rejoined
from proofwood.ensembles.outline import Outline
from proofwood.explain.nearest.measure import Metric, measure_of
from proofwood.explain.rule import Condition, conditions, treated_text
from proofwood.explain.show import told
from proofwood.explain.show.plot import plot_explanation
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.printable import printable

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from proofwood.explain.proofs.verify import Verified

ExplanationKind = Literal["abductive", "contrastive", "counterfactual"]
VERIFY_SECONDS = 60.0
"""Limit of a second look, where none is given."""

FUNCTION = "a function"
"""What stands for prices that are a function, where no function can be kept."""
_SLACK = 2.0**-48
"""Share of a distance that the rounding of its sum in float64 is below."""
UP_TO_ROUNDING = " up to rounding"
"""End of the status where another class is possible by the bounds on rounding, and the model does not show it."""


@dataclass(frozen=True, eq=False)
class Explanation(Rejoined):
    """Why a model predicts a class for a row, or what would change it.

    Parameters
    ----------
    kind : ``"abductive"``: as long as ``features`` stay, so does the class; ``"contrastive"``: a change of ``features``
        can change it; ``"counterfactual"``: the nearest row of another class, which changes ``features``
    features : indices of features, ascending
    row : (n_inputs,) the row, as ``model.read`` gives it
    label : code of its class
    status : of an abductive explanation

        - ``"smallest"``: no explanation has fewer features
        - ``"minimal"``: no feature can be spared
        - ``"sufficient"``: right, but a limit was reached: a feature may be spare
        - ``"unknown"``: a limit was reached before anything was proved

        of a contrastive one: ``"smallest"``, ``"minimal"``, ``"changing"`` (right, perhaps not minimal), ``"none"``
        (proved: the class cannot change), ``"unknown"``; of a counterfactual: ``"optimal"``, ``"feasible"``,
        ``"none"``, ``"unknown"``. In a table ``"impossible"`` where the question has no answer for the row.
        ``"... up to rounding"`` where the claim leans on a change that the model's rounding might allow, and no row is
        known for which the model itself shows it; without these words a status is exact, see :attr:`exact`
    seconds : taken
    calls : questions to the engine
    engine : its name
    model : the model, its grid and its names. An explanation that was pickled has its outline (the names, and the
        thresholds around what is said): all texts are there, and :meth:`with_model` gives the model back
    cells : (n_columns,) cells of the row
    low, high : (n_columns,) least and greatest cells of an abductive explanation; every row inside has the class
    witness_cells : for features cells of rows of another class: for each feature of an abductive explanation a row that
        agrees on the others, for other kinds the same row under each
    targets : codes of the classes that matter, None for all others
    keep : features that were asked to be part of it
    free : features that it was not to have, where the smallest one was asked for
    distance : price of the change (counterfactual), else nan
    lower_bound : least number of features, or least distance, that is proved; nan if nothing is
    immutable : features that were asked not to change
    prices : per column price of each cell, of a counterfactual; None if each changed feature counts 1, and after a
        pickle
    asked : ``weights`` and ``within`` of a counterfactual, from which prices are made anew
    metric : how a counterfactual's distance is counted from them
    certificate : what :class:`proofwood.explain.proofs.certificate.Certifier` made, if asked for
    message : why there is no answer, if the status is ``"impossible"``
    ranges : of an inflated explanation what is known of its ranges, else empty

        - ``"widest"``: no range can take in one value more, given the others
        - ``"widest up to rounding"``: nor this, unless rounding that the model does not show stands in the way
        - ``"wide"``: right, but a limit was reached: a range may be narrower than it could be

    filled : inputs in which the row lacks a value, and a step of a pipeline fills in the one that ``row`` has
    found_row : (n_inputs,) the row of a counterfactual, where it is not the one of its cells that is nearest by value:
        prices or constraints decide then; else None
    constraints : texts of the constraints between columns that a counterfactual satisfies
    reading : how it was checked that the model reads the row as it is read here

        - ``"checked"``: ``model.predict`` of the row, exactly as it was given, is the class that is explained
        - ``"checked as ..."``: the model does not take the container of the row, and was asked for the same values in
          another one, such as a frame of pandas
        - ``"not checked: ..."``: nothing that was given predicts rows, as with trees from a file

        with ``"; columns by place"`` where the model knows no names of columns, and those of a frame were not looked at
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
        """Whether status and ranges are so in the model itself, whatever its rounding does."""
        return not self.status.endswith(UP_TO_ROUNDING) and not self.ranges.endswith(UP_TO_ROUNDING)

    # -------------------------------------------------------------------------------------------------------- in words

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self._named(self.features)

    def _named(self, features: Iterable[int]) -> tuple[str, ...]:
        """Names of some features."""
        return tuple(self.model.feature_names[feature] for feature in features)

    @property
    def prediction(self) -> Any:
        """Class of the row."""
        return self._class(self.label)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """What an abductive explanation asks of its features, in original units; empty for other kinds."""
        if self.low is None or self.high is None:
            return ()
        return conditions(self.model, self.low, self.high, self.features, row=self.row, filled=self.filled)

    def rule(self, digits: int | None = DIGITS) -> str:
        r"""One line: conditions and the class they lead to, or changes and the class they lead to.

        Characters of names and labels that could act on a terminal are escaped, such as ``\x1b``.

        Parameters
        ----------
        digits : significant digits of thresholds, at least. A threshold that has more is rounded inwards, so that the
            rule says no more than what is proved, and still covers the row: of numbers that the model compares in
            float32, ``x <= 35.5``, and on the other side ``x >= 35.5001``. A value that changes is rounded so that the
            class is the one named, too; with constraints it is not rounded. The float64 next to a short number is
            "just above" or "just below" it. None for the float64 numbers themselves
        """
        arguments.count(digits, "digits", least=1)
        return printable(self._rule(digits))

    def _rule(self, digits: int | None) -> str:
        if self.status == "impossible":
            return self.message
        if self.status == "none":
            permitted = f" (with {self.permitted})" if self.permitted else ""
            return f"nothing that may change leads away from {self._aim(self.prediction)}{permitted}"
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
        """What limits a change: features that stay, what columns may become, prices without end; empty without any."""
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
        """Digits of changes: values that satisfy constraints together are not rounded."""
        return None if self.constraints else digits

    def _claimed(self) -> str:
        """The class, or those that are ruled out."""
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
        """The least distance that is proved, rounded down, and the distance, rounded up, in few digits.

        What the rounding of their own sums in float64 may be is taken from the one and added to the other, unless the
        row found lies exactly there, its columns counted with the weight 1.
        """
        exact = None if self.witness is None else self._square()
        found = []
        for number, sign in ((self.lower_bound, -1), (self.distance, 1)):
            sure = not math.isfinite(number) or self.metric == "changes" or exact == Fraction(number) ** 2
            found.append(number if sure else number * (1 + sign * _SLACK))
        return at_most(found[0]), at_least(found[1])

    def _square(self) -> Fraction:
        """The square of the distance of the row found, exactly, if each column has the weight 1."""
        assert self.witness is not None
        parts = []
        for feature in self.features:
            columns = self.model.inputs_of(feature)
            if self.model.is_choice(feature):
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
        """For features the rows of ``witness_cells``, as near to the explained row as these cells allow."""
        rows: dict[int, FloatArray] = {}
        made: dict[int, FloatArray] = {}
        for feature, cells in self.witness_cells.items():
            if id(cells) not in made:
                made[id(cells)] = self.model.row(cells, like=self.row) if self.found_row is None else self.found_row
            rows[feature] = made[id(cells)]
        return rows

    @property
    def witness(self) -> FloatArray | None:
        """A row of another class: for an abductive explanation that of its first feature; None if none is known."""
        return next(iter(self.witnesses.values()), None)

    @cached_property
    def witness_label(self) -> int:
        """Code of the class that the model predicts for :attr:`witness`; -1 without one."""
        if self.witness is None:
            return -1
        return int(model_of(self.model, None).predict_codes(self.witness[np.newaxis])[0])

    # ------------------------------------------------------------------------------------------------- without a model

    def _outlined(self) -> dict[str, Any]:
        made = self.conditions, self.witnesses, self.witness_label  # what is said of them is kept
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
                "the prices of this counterfactual are a function, which is not kept with it: ask for it again"
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
        """Prove anew what the explanation claims, and let the checker of certificates decide.

        Nothing that the explanation holds is believed: what it claims is written down as a statement about the model
        and its space, rows of another class are looked for and shown to the model, that there are none is proved by
        trees of boxes, distances are counted again from values, and
        :func:`~proofwood.explain.proofs.certificate.check_certificate` has to accept all of it. It shares no line with
        any search.

        Parameters
        ----------
        seconds : limit, None for none; what is not known by then is a problem, and ``status`` "undecided"
        model : the Explainer that gave the explanation, where it was loaded from a pickle

        Returns
        -------
        Verified
            ``ok`` if all of the claim was confirmed. Where the status says "up to rounding", ``doubts`` says of what.
            Parts that no check covers are named in ``not_checked``, and ``status`` is then "not checked": what holds of
            plausible rows only, or only because of constraints between columns, and prices by functions.

        Raises
        ------
        ValueError
            If there is nothing to verify, or the model is not there.
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
            return Verified((), not_checked=("the bound, without a row",))
        if self.status in ("unknown", "impossible"):
            raise ValueError(f"an explanation of status {self.status!r} claims nothing that could be verified")
        return verify(Claim(**{one.name: getattr(self, one.name) for one in fields(Claim)}), Clock.of(seconds))

    # ----------------------------------------------------------------------------------------------------------- output

    def _lines(self) -> list[told.Line]:
        """What is said of each feature."""
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
        """A frame of polars with a row for each feature of the explanation, in words.

        Columns: ``feature``; ``value`` in the row, null where it is missing; ``treated_as``: what a step of a pipeline
        fills in for a missing value; then ``changed_to``, or of an abductive explanation ``condition``, and ``low`` and
        ``high``: the exact float64 ends of its interval, where it is one of numbers.
        """
        return told.as_frame(self._lines(), self.kind != "abductive")

    def to_markdown(self) -> str:
        """The rule, what is proved, and a table of the features, in the Markdown of GitHub."""
        return told.as_markdown(self.rule(), self._summary() + self._space(), *self._table())

    def to_html(self) -> str:
        """The same as HTML: a ``div`` of class ``proofwood`` without styles or scripts, every text escaped."""
        return told.as_html(self.rule(), self._summary() + self._space(), *self._table())

    def _space(self) -> str:
        """The rows that a claim is about, in words that follow it; empty if it is about all rows."""
        return among_rows(self.model) + (f"; with {' and '.join(self.constraints)}" if self.constraints else "")

    def _table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        rows: list[tuple[str, ...]] = [(line.feature, line.in_row, line.then) for line in self._lines()]
        return told.head(self.kind != "abductive"), rows

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_dict(self) -> dict[str, Any]:
        """Everything except the model, as plain values for JSON.

        The form is a JSON schema in ``docs/reference/explanation.schema.json``. A value that the row lacks is null,
        also where a step of a pipeline fills it in, which ``treated_as`` then tells.
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
        """The row of another class, where the explanation is about a change."""
        return None if self.kind == "abductive" else self.witness

    def _changes(self) -> list[dict[str, Any]]:
        changed = self._changed()
        if changed is None:
            return []
        return told.changes(self.model, self.features, self.row, changed, self.filled, self._digits())

    def _as_given(self, row: FloatArray) -> list[float | None]:
        """A row without the values that the explained one lacks."""
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
        """Draw the explanation with matplotlib, a line per feature; returns the axes.

        Parameters
        ----------
        ax : Axes or None
            Where to draw; None makes a new figure.
        figsize : inches of a new figure
        title : line above the picture; by default the class and what is proved
        palette : colours of the classes in their order, or from labels to colours
        """
        return plot_explanation(self, ax, figsize=figsize, title=title, palette=palette)


def _without_functions(stated: Any) -> Any:
    """What was stated of prices, with a word in place of each function."""
    if isinstance(stated, Mapping):
        return {key: _without_functions(one) for key, one in stated.items()}
    return FUNCTION if callable(stated) else stated


def _may_forbid(stated: Any) -> bool:
    """Whether stated prices, or those that a function may give, are without end."""
    if isinstance(stated, Mapping):
        return any(map(_may_forbid, stated.values()))
    if isinstance(stated, tuple | list):
        return any(map(_may_forbid, stated))
    return callable(stated) or stated == FUNCTION or stated == math.inf


def _is_lost(stated: Any) -> bool:
    """Whether a word stands in place of a function, which no pickle holds."""
    return any(map(_is_lost, stated.values())) if isinstance(stated, Mapping) else isinstance(stated, str)


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
