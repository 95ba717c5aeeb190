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
from proofwood.explain.oracles.engines import ENGINES, make_oracle, second_engine
from proofwood.explain.oracles.oracle import Oracle
from proofwood.explain.proofs.verify import Verified, verify
from proofwood.explain.proofs.verify_distance import verify_distance
from proofwood.explain.rule import DIGITS, Condition, conditions, value_text
from proofwood.explain.show.plot import plot_explanation
from proofwood.markup import escaped, table
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.printable import printable

if TYPE_CHECKING:
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
    certificate : what :class:`proofwood.explain.proofs.certificate.Certifier` made, if asked for
    message : why there is no answer, of status ``"impossible"``
    ranges : of an inflated explanation what is known of its ranges, else empty

        - ``"widest"``: no range can take in one value more, given the others
        - ``"widest up to rounding"``: nor this, unless rounding that the model does not show stands in the way
        - ``"wide"``: right, but a limit was reached: a range may be narrower than it could be
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
    certificate: Mapping[str, Any] | None = field(default=None, repr=False)
    message: str = ""
    ranges: str = ""

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
        return conditions(self.model, self.low, self.high, self.features)

    def rule(self, digits: int | None = DIGITS) -> str:
        r"""One line: conditions and the class they lead to, or changes and the class they lead to.

        Characters of names and labels that could act on a terminal are escaped, such as ``\x1b``.

        Parameters
        ----------
        digits : significant digits of thresholds; None for all, with which the rule is exact
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
            now, then = (value_text(self.model, row, feature, digits) for row in (self.row, self.witness))
            if now == then:  # too few digits to tell them apart
                now, then = (value_text(self.model, row, feature, None) for row in (self.row, self.witness))
            parts.append(f"{self.model.feature_names[feature]} = {then} (not {now})")
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
                made[id(cells)] = self.model.row(cells, like=self.row)
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
        engine : one of those of ``Explainer``; by default one that differs from the engine that found it. The least
            distance of a counterfactual is by default proved anew by "cdcl", without anything learned before: no other
            engine answers so many questions in reasonable time
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
        arguments.choice(engine, "engine", (None, *ENGINES))
        seconds = arguments.seconds(seconds, "seconds")
        if self.status in ("none", "unknown", "impossible"):
            raise ValueError(f"an explanation of status {self.status!r} has no set of features to verify")
        if engine is None:
            engine = "cdcl" if self.kind == "counterfactual" else second_engine(self.engine, self.model.scores)
        until = None if seconds is None else time.monotonic() + seconds
        oracle = make_oracle(engine, self.model.scores)
        with memory.within(None):
            return self._verified(oracle, until)

    def _verified(self, oracle: Oracle, until: float | None) -> Verified:
        plain = self.status.removesuffix(UP_TO_ROUNDING)
        try:
            seconds = None if until is None else max(0.0, until - time.monotonic())
            if self.kind == "counterfactual":
                return verify_distance(self, oracle=oracle, seconds=seconds)
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

    def _repr_html_(self) -> str:
        """What a notebook shows: the rule, what is proved, and the values of the row."""
        head = f"<p><b>{escaped(self.rule())}</b><br>{escaped(self._summary())}, {self.seconds:.2f} s</p>"
        changed = self.witness if self.kind != "abductive" else None
        rows = []
        for name, feature in zip(self.names, self.features, strict=True):
            asked = [condition.text() for condition in self.conditions if condition.feature == feature]
            then = " and ".join(asked) if changed is None else value_text(self.model, changed, feature)
            rows.append((name, value_text(self.model, self.row, feature), then))
        if not rows:
            return f'<div class="proofwood">{head}</div>'
        columns = ("feature", "in the row", "must stay" if changed is None else "changed to")
        return f'<div class="proofwood">{head}{table(rows, head=columns)}</div>'

    def to_dict(self) -> dict[str, Any]:
        """Everything but the model as plain values that JSON knows."""
        return {
            "kind": self.kind,
            "status": self.status,
            "exact": self.exact,
            "ranges": self.ranges or None,
            "prediction": self.prediction,
            "features": list(self.features),
            "names": list(self.names),
            "rule": self.rule(None),
            "row": _plain(self.row),
            "witnesses": {str(feature): _plain(row) for feature, row in self.witnesses.items()},
            "targets": None if self.targets is None else [self._class(target) for target in self.targets],
            "distance": _number(self.distance),
            "lower_bound": _number(self.lower_bound),
            "engine": self.engine,
            "calls": self.calls,
            "seconds": self.seconds,
        }

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


def _plain(row: FloatArray) -> list[float | None]:
    return [_number(value) for value in row.tolist()]


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
