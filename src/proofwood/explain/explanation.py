"""One explanation as a value: what was found about a row, in the words of the table, with its proof at hand."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from proofwood import memory
from proofwood.explain import arguments
from proofwood.explain.model.explained import Explained
from proofwood.explain.model.prices import Metric
from proofwood.explain.oracles.engines import ENGINES, make_oracle
from proofwood.explain.oracles.oracle import Oracle
from proofwood.explain.proofs.certificate_content import among
from proofwood.explain.proofs.checked import NAME as BOXES
from proofwood.explain.proofs.checked import CheckedOracle
from proofwood.explain.proofs.verify import Verified, verify
from proofwood.explain.proofs.verify_distance import verify_distance
from proofwood.explain.rule import DIGITS, Condition, conditions, treated_text
from proofwood.explain.show import told
from proofwood.explain.show.plot import plot_explanation
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.printable import printable

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

ExplanationKind = Literal["abductive", "contrastive", "counterfactual"]
VERIFY_SECONDS = 60.0
"""Limit of a second look, where none is given."""

UP_TO_ROUNDING = " up to rounding"
"""End of the status where another class is possible by the bounds on rounding, and the model does not show it."""


@dataclass(frozen=True, eq=False)
class Explanation:
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
    model : the model, its grid and its names
    cells : (n_columns,) cells of the row
    low, high : (n_columns,) least and greatest cells of an abductive explanation; every row inside has the class
    witness_cells : for features cells of rows of another class: for each feature of an abductive explanation a row that
        agrees on the others, for other kinds the same row under each
    targets : codes of the classes that matter, None for all others
    keep : features that were asked to be part of it
    distance : price of the change (counterfactual), else nan
    lower_bound : least number of features, or least distance, that is proved; nan if nothing is
    immutable : features that were asked not to change
    prices : per column price of each cell, of a counterfactual; None if each changed feature counts 1
    metric : how a counterfactual's distance is counted from them
    certificate : what :class:`proofwood.explain.proofs.certificate.Certifier` made, if asked for
    message : why there is no answer, of status ``"impossible"``
    ranges : of an inflated explanation what is known of its ranges, else empty

        - ``"widest"``: no range can take in one value more, given the others
        - ``"widest up to rounding"``: nor this, unless rounding that the model does not show stands in the way
        - ``"wide"``: right, but a limit was reached: a range may be narrower than it could be

    filled : inputs in which the row lacks a value, and a step of a pipeline fills in the one that ``row`` has
    found_row : (n_inputs,) the row of a counterfactual, where it is not the one of its cells that is nearest by value:
        prices or constraints decide then; else None
    constraints : texts of the constraints between columns that a counterfactual satisfies
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

    @property
    def exact(self) -> bool:
        """Whether status and ranges are so in the model itself, whatever its rounding does."""
        return not self.status.endswith(UP_TO_ROUNDING) and not self.ranges.endswith(UP_TO_ROUNDING)

    # -------------------------------------------------------------------------------------------------------- in words

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(self.model.feature_names[feature] for feature in self.features)

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
        digits : significant digits of thresholds, at least. A threshold is told by the shortest decimal that is exact
            in the float32 or float64 numbers that the model compares, such as 35.5; where that has more digits, it is
            rounded inwards, so that the rule says no more than what is proved, and still covers the row. A value that
            the model cannot tell from a threshold is said to be "just above" or "just below" it. None for the float64
            numbers themselves
        """
        arguments.count(digits, "digits", least=1)
        return printable(self._rule(digits))

    def _rule(self, digits: int | None) -> str:
        if self.status == "impossible":
            return self.message
        if self.status == "none":
            return f"nothing that may change leads away from {self._aim(self.prediction)}"
        if self.kind == "abductive":
            text = " and ".join(condition.text(digits) for condition in self.conditions) or "always"
            return f"{text} -> {self._claimed()}"
        if self.witness is None:
            return "unknown"
        parts = []
        for feature in self.features:
            now, then = told.change_texts(self.model, self.row, self.witness, feature, digits)
            treated = treated_text(self.model, self.row, feature, self.filled)
            parts.append(told.change_text(self.model.feature_names[feature], now, then, treated))
        return f"{' and '.join(parts) or 'nothing'} -> {self._class(self.witness_label)}"

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

    def _summary(self) -> str:
        return f"{self.kind}, {self.status}" + (f", ranges {self.ranges}" if self.ranges else "")

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
        return int(self.model.predict_codes(self.witness[np.newaxis])[0])

    # ----------------------------------------------------------------------------------------------------------- checks

    def verify(self, engine: str | None = None, *, seconds: float | None = VERIFY_SECONDS) -> Verified:
        """Check the explanation anew with another engine, and its witnesses with the model itself.

        Parameters
        ----------
        engine : one of those of ``Explainer``, or "boxes", the default: rows of another class are looked for anew and
            counted leaf by leaf, and that there are none is proved by trees of boxes, as in a certificate, which the
            checker of certificates has to accept. It shares no code with any search. The least distance of a
            counterfactual is proved by boxes, too; where rounding decides about a nearer row, or no prices of cells say
            how many features change, "cdcl" answers questions, without anything learned before. So it does about
            plausible rows only
        seconds : limit, None for none; what is not known by then is None in the answer, whose ``status`` is then
            "undecided"

        Returns
        -------
        Verified
            ``ok`` if the explanation holds, no feature of it can be spared (unless its status does not say so), and its
            ranges are what :attr:`ranges` says. That no other is smaller is not asked again: the certificate of a
            "smallest" explanation proves it. ``minimal`` of a counterfactual: whether no row of another class
            is nearer. Where the status says "up to rounding", ``minimal`` may be None, and ``doubts`` says why.

        Raises
        ------
        ValueError
            If there is nothing to verify.
        ImportError
            If the solver of the engine is not installed.
        """
        arguments.choice(engine, "engine", (None, BOXES, *ENGINES))
        seconds = arguments.seconds(seconds, "seconds")
        if self.status in ("none", "unknown", "impossible"):
            raise ValueError(f"an explanation of status {self.status!r} has no set of features to verify")
        if engine is None and self.model.plausible is not None:
            engine = "cdcl"
        if engine == BOXES:
            self.model.of_every_row("a proof by boxes")
        until = None if seconds is None else time.monotonic() + seconds
        with memory.within(None):
            if self.kind == "counterfactual":
                other = "cdcl" if engine in (None, BOXES) else str(engine)
                scores = self.model.scores
                return verify_distance(
                    self, oracle=lambda: make_oracle(other, scores), boxes=engine in (None, BOXES), seconds=seconds
                )
            return self._verified(BOXES if engine is None else engine, until)

    def _verified(self, engine: str, until: float | None) -> Verified:
        plain, scores = self.status.removesuffix(UP_TO_ROUNDING), self.model.scores
        oracle: Oracle = CheckedOracle(scores) if engine == BOXES else make_oracle(engine, scores)
        try:
            seconds = None if until is None else max(0.0, until - time.monotonic())
            return verify(
                self.model,
                self,
                oracle=oracle,
                x=self.row,
                targets=self.targets,
                seconds=seconds,
                witnesses=self.witness_cells,
                exact=not self.status.endswith(UP_TO_ROUNDING),
                minimal=plain not in ("sufficient", "changing"),
                region=(self.low, self.high) if self.low is not None and self.high is not None else None,
                widest=self.ranges.startswith("widest"),
                exact_ranges=not self.ranges.endswith(UP_TO_ROUNDING),
            )
        finally:
            close = getattr(oracle, "close", None)
            if close is not None:
                close()

    # ----------------------------------------------------------------------------------------------------------- output

    def _lines(self) -> list[told.Line]:
        """What is said of each feature."""
        changed = self._changed()
        if self.kind != "abductive" and changed is None:
            return []
        return told.lines(self.model, self.features, self.row, self.filled, conditions=self.conditions, changed=changed)

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
        """Of which rows something is said, in words that follow a claim; empty where it is all rows."""
        told, plausible = among(self.model.knowledge.texts), self.model.plausible
        if plausible is not None:
            told += f"; among plausible rows: {plausible.text}"
        return told + (f"; with {' and '.join(self.constraints)}" if self.constraints else "")

    def _table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        rows: list[tuple[str, ...]] = [(line.feature, line.in_row, line.then) for line in self._lines()]
        return told.head(self.kind != "abductive"), rows

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_dict(self) -> dict[str, Any]:
        """Everything but the model as plain values that JSON knows.

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
            "constraints": list(self.constraints),
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
        return told.changes(self.model, self.features, self.row, changed, self.filled)

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


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
