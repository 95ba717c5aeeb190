"""What is asked about one row of a table: model, row, classes that matter, clock, and what is known so far."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from proofwood import arguments
from proofwood.data.columns import as_frame, is_frame, is_sparse
from proofwood.engines.run import Clock
from proofwood.ensembles.door import Admitted
from proofwood.ensembles.explained import Explained
from proofwood.ensembles.space import Key, position
from proofwood.explain.explanation import UP_TO_ROUNDING, Explanation, ExplanationKind
from proofwood.explain.oracles.engines import OF_PLAUSIBLE, make_oracle
from proofwood.explain.oracles.oracle import Oracle
from proofwood.explain.search.questions import Known, Questions
from proofwood.model.node_table import FloatArray, IntArray

SURE_TURNS = 5
"""Turns of the searches for a change that holds whatever rounding does: about a second."""
SURE_TURNS_LATER = 2
"""The same, once such a search has given up."""


class OutlierError(ValueError):
    """A question about plausible rows that is asked of a row that is not plausible."""


class Engines:
    """The engines that answer questions about a model, with all they have learned, and what is known of the last row.

    Parameters
    ----------
    model : what is explained
    name : of the engine
    """

    def __init__(self, model: Explained, name: str) -> None:
        self.model, self.name = model, name
        # The own engines need a while to take in a large model, which is no part of the first question.
        self._oracle = make_oracle(name, model.scores) if name in OF_PLAUSIBLE else None
        self._sure: Oracle | None = None
        self._last: tuple[IntArray, int, tuple[int, ...] | None, Known] | None = None

    def forget(self) -> None:
        """Give back the memory of what the engines have learned; they begin anew with the next question."""
        if self._oracle is not None:
            self._oracle.close()
        self._oracle = self._sure = self._last = None

    @property
    def oracle(self) -> Oracle:
        """The engine, built when it is first used and kept with all it has learned."""
        if self._oracle is None:
            self._oracle = make_oracle(self.name, self.model.scores)
        return self._oracle

    @property
    def sure(self) -> Oracle:
        """An engine to which only those rows have another class that have it whatever rounding does."""
        if self._sure is None:
            self._sure = make_oracle("auto", self.model.scores.sure())
        return self._sure

    def known(self, cells: IntArray, label: int, targets: tuple[int, ...] | None) -> Known:
        """What is kept of a question: what the last ones have taught, if they were about the same."""
        last = self._last
        if last is None or last[1:3] != (label, targets) or not np.array_equal(last[0], cells):
            self._last = last = cells, label, targets, Known()
        return last[3]


# One object in place of six: decisions/0080-one-question-one-measure-one-tree.
class Question(Questions):
    """What is asked about one row of a table, and what all answers about it are made with.

    Parameters
    ----------
    engines : the model and its engines
    given : the row, as it was read
    clock : of the question: reading the row and building the engine are in it
    target : a class or list of classes that matter, as the user states it; None for all others

    Attributes
    ----------
    row : (n_inputs,) the row; its ``cells``, ``label`` and ``targets`` are those of :class:`Questions`
    filled : inputs in which the row lacks a value, and ``row`` has what a step of a pipeline fills in
    reading : how the reading was checked, see :attr:`proofwood.explain.explanation.Explanation.reading`
    stated : ``weights`` and ``within``, where these are part of the question
    """

    def __init__(self, engines: Engines, given: Admitted, clock: Clock, *, target: Any = None) -> None:
        self.engines, self.model = engines, engines.model
        self.row, self.reading = given.values[0], given.reading
        self.filled = tuple(np.flatnonzero(given.filled[0]).tolist())
        codes = self.model.predict_codes(given.values) if self.model.is_relative else given.codes
        cells, label = self.model.grid.cells_of(given.values)[0], int(codes[0])
        targets = _codes_of(self.model, target, label)
        known = engines.known(cells, label, targets)
        super().__init__(engines.oracle, cells, label, targets=targets, clock=clock, known=known)
        self._since, self._turns = clock, SURE_TURNS
        self.stated: Mapping[str, Any] = {}

    @property
    def seconds(self) -> float:
        """Seconds since the beginning, or since :meth:`restart`."""
        return self._since.seconds

    def restart(self) -> None:
        """Count seconds and calls from here on: for the next answer of a list."""
        self._since, self.calls = Clock(), 0

    def features(self, keys: Iterable[Key], what: str) -> list[int]:
        """Indices of features given by name or index; ``what`` is named in the error."""
        return features_of(self.model.feature_names, keys, what)

    def box(self, features: Iterable[int]) -> tuple[IntArray, IntArray]:
        """Least and greatest cells (n_columns,) of the rows that agree with this one on some features."""
        return self.scores.box(self.cells, features)

    def explanation(
        self,
        kind: ExplanationKind,
        features: Iterable[int],
        status: str,
        witnesses: Mapping[int, IntArray],
        **more: Any,
    ) -> Explanation:
        """The explanation; its status says so if it leans on a change that only rounding might allow.

        Parameters
        ----------
        kind, features, status : as in :class:`Explanation`
        witnesses : for features cells of rows of another class
        more : further attributes of the explanation
        """
        chosen = tuple(sorted(features))
        if status not in ("none", "unknown"):
            each = {id(cells): cells for cells in witnesses.values()}
            real = dict(zip(each, self.are_real(list(each.values())), strict=True))
            kept = set(more.get("keep", ()))  # which nothing has to show to be needed
            witnesses = {f: cells for f, cells in witnesses.items() if f not in kept or real[id(cells)]}
            if self.scores.margin and kind != "counterfactual":
                witnesses = self._shown(kind, chosen, witnesses, real)
            needed = {id(cells) for feature, cells in witnesses.items() if feature not in kept}
            if not status.endswith(UP_TO_ROUNDING) and not all(real.get(one, True) for one in needed):
                status += UP_TO_ROUNDING
        return Explanation(
            kind=kind,
            features=chosen,
            row=self.row,
            label=self.label,
            status=status,
            seconds=self.seconds,
            calls=self.calls,
            engine=self.oracle.name,
            model=self.model,
            cells=self.cells,
            witness_cells=dict(sorted(witnesses.items())),
            targets=self.targets,
            filled=self.filled,
            reading=self.reading,
            asked=self.stated,
            **{**more, "keep": tuple(more.get("keep", ()))},
        )

    # --------------------------------------------------------------------------------------------------------- rounding

    def require_plausible(self) -> None:
        """OutlierError if the row is not plausible: what holds of plausible rows does not explain it."""
        if self.model.plausible is not None and not self.model.are_plausible(self.row[np.newaxis])[0]:
            raise OutlierError(
                "the row itself is not plausible, so that a statement about plausible rows does not explain its class: "
                "ask for a counterfactual, or ask an explainer without plausible="
            )

    def is_real(self, cells: IntArray) -> bool:
        """Whether the model itself gives a row of these cells another class (of the targets), and it is plausible."""
        return self.are_real([cells])[0]

    def are_real(self, many: Sequence[IntArray]) -> list[bool]:
        """The same of several rows, about which the model is asked at once."""
        classes, plausible = [self._has_class(cells) for cells in many], [self._is_plausible(cells) for cells in many]
        open_ = [
            i for i, known in enumerate(zip(classes, plausible, strict=True)) if None in known and False not in known
        ]
        if open_:
            rows = self.model.rows([many[i] for i in open_], like=self.row)
            codes, shown = self.model.predict_codes(rows).tolist(), self.model.are_plausible(rows).tolist()
            for i, code, is_plausible in zip(open_, codes, shown, strict=True):
                classes[i] = code in self._others if classes[i] is None else classes[i]
                plausible[i] = is_plausible if plausible[i] is None else plausible[i]
        return [bool(has) and bool(may) for has, may in zip(classes, plausible, strict=True)]

    def is_counted(self, row: FloatArray) -> bool:
        """Whether the model itself gives a row (n_inputs,) another class (of the targets), and it is plausible."""
        return int(self.model.predict_codes(row[np.newaxis])[0]) in self._others and bool(
            self.model.are_plausible(row[np.newaxis])[0]
        )

    @property
    def _others(self) -> list[int]:
        """Classes that count as another one."""
        every = range(self.scores.n_classes) if self.targets is None else self.targets
        return [k for k in every if k != self.label]

    def _is_plausible(self, cells: IntArray) -> bool | None:
        """Whether a row is plausible; None if rounding decides."""
        beside = self.scores.beside
        if beside is None:
            return True
        sums = beside.sums(cells)
        lead = int(sums[1] - sums[0])
        least = beside.threshold_of_win(1, 0, margin=False)
        return lead >= least if abs(2 * (lead - least) + 1) > 2 * beside.margin else None  # whatever rounding does

    def _has_class(self, cells: IntArray) -> bool | None:
        """Whether a row has another class; None if rounding decides."""
        scores = self.scores
        if scores.margin == 0:
            return scores.winner(cells) in self._others
        sums = scores.sums(cells)
        if self.targets is None and any(
            sums[k] - sums[self.label] >= scores.threshold_of_win(k, self.label, margin=False) + scores.margin
            for k in self._others
        ):
            return True
        return None

    def sure_change(self, fixed: Iterable[int]) -> IntArray | None:
        """A row that agrees on some features and has another class in the model itself; None if none is found.

        The effort is limited: such a question may be far harder than those before it, and what hangs on it is whether
        the status says "up to rounding".
        """
        seconds = self.clock.seconds_left
        asked = self.engines.sure.ask(
            self.cells, self.label, list(fixed), targets=self.targets, seconds=seconds, turns=self._turns
        )
        if asked.changes is None:
            self._turns = SURE_TURNS_LATER
        return asked.witness if asked.witness is not None and self.is_real(asked.witness) else None

    def _shown(
        self, kind: str, features: tuple[int, ...], witnesses: Mapping[int, IntArray], real: Mapping[int, bool]
    ) -> Mapping[int, IntArray]:
        """The witnesses; where one changes the class up to rounding only, another one if it is known to exist."""
        shown = dict(witnesses)
        for feature, cells in witnesses.items():
            if cells is not shown[feature] or real[id(cells)]:
                continue
            if kind == "abductive":
                fixed, same = [other for other in features if other != feature], [feature]
            else:
                fixed, same = [f for f in range(self.scores.n_features) if f not in features], [*witnesses]
            better = self.sure_change(fixed)
            if better is not None:
                shown.update(dict.fromkeys(same, better))
        return shown


def _codes_of(model: Explained, target: Any, label: int) -> tuple[int, ...] | None:
    """Codes of the classes that a user names; None for all others."""
    if target is None:
        return None
    classes = model.classes.tolist()
    codes = []
    for name in arguments.classes_of(target):
        if not isinstance(name, Hashable) or name not in classes:
            raise ValueError(f"target={name!r} is not a class of the model: expected one of {classes}")
        codes.append(classes.index(name))
    if label in codes:
        raise ValueError(f"target={target!r}: the model predicts {classes[label]!r} for this row already")
    return tuple(sorted(set(codes)))


def features_of(names: tuple[str, ...], keys: Iterable[Key], what: str) -> list[int]:
    """Indices of features given by name or index, each once; ``what`` is named in the error."""
    return list(dict.fromkeys(position(key, names, what) for key in arguments.several(keys, what, repr(names[0]))))


def read_one(model: Explained, x: Any) -> tuple[Explained, Admitted]:
    """One row, of which the model itself was asked, and the model as it reads rows of its types.

    Parameters
    ----------
    model : what is explained
    x : array, series, mapping from names to values, or table of one row in any container

    Raises
    ------
    DataError
        If the row does not fit the model; MisreadError where the model predicts another class for it.
    ValueError
        If there are more rows, or none.
    """
    table = as_table(x)
    n_rows = len(table) if isinstance(table, list) else table.shape[0] if hasattr(table, "shape") else 1
    if n_rows != 1:
        raise ValueError(f"x has {n_rows} rows: expected one. For a table, use explain(X).")
    model = model.with_types_of(table)
    return model, model.admit(table, table=not isinstance(x, Mapping))


def as_table(x: Any) -> Any:
    """A row as a table of one row, its values as they are."""
    if isinstance(x, Mapping):
        row = {str(name): [value] for name, value in x.items()}
        try:
            import pandas as pd  # optional: it takes any value
        except ImportError:
            import polars as pl  # start-up time: few rows are mappings

            return pl.DataFrame(row)
        return pd.DataFrame(row)
    if hasattr(x, "to_frame") and getattr(x, "ndim", 1) == 1 and hasattr(x, "index"):  # a series of pandas
        return x.to_frame().T.infer_objects()
    if is_sparse(x):
        return x if len(x.shape) == 2 else x.reshape(1, -1)
    if is_frame(x):
        return as_frame(x) if not hasattr(x, "shape") else x
    if isinstance(x, list | tuple):
        nested = len(x) > 0 and all(isinstance(row, list | tuple | np.ndarray) for row in x)
        return [list(row) for row in x] if nested else [list(x)]
    array = x if isinstance(x, np.ma.MaskedArray) else np.asarray(x)
    return array[np.newaxis] if array.ndim == 1 else array
