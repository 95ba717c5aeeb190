"""A question about one row of a table: model, row, target classes, clock, and what is known so far."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from proofwood import arguments
from proofwood.data.frames import as_frame, is_frame, is_sparse
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
"""Limit, in turns, of a search for a change that does not depend on rounding: about a second."""
SURE_TURNS_LATER = 2
"""Limit, in turns, of such a search after an earlier one has found nothing."""


class OutlierError(ValueError):
    """Raised if a question about plausible rows is asked for a row that is not plausible."""


class Engines:
    """The engines that answer questions about a model, with all they have learned, and facts about the last row.

    Parameters
    ----------
    model : the explained model
    name : name of the engine
    """

    def __init__(self, model: Explained, name: str) -> None:
        self.model, self.name = model, name
        # The own engines need a while to read a large model; this time is not part of the first question.
        self._oracle = make_oracle(name, model.scores) if name in OF_PLAUSIBLE else None
        self._sure: Oracle | None = None
        self._last: tuple[IntArray, int, tuple[int, ...] | None, Known] | None = None

    def forget(self) -> None:
        """Free the memory of what the engines have learned; the next question builds them again."""
        if self._oracle is not None:
            self._oracle.close()
        self._oracle = self._sure = self._last = None

    @property
    def oracle(self) -> Oracle:
        """The engine. It is built at its first use, and then kept with all it has learned."""
        if self._oracle is None:
            self._oracle = make_oracle(self.name, self.model.scores)
        return self._oracle

    @property
    def sure(self) -> Oracle:
        """An engine that counts a row as of another class only if rounding cannot change this."""
        if self._sure is None:
            self._sure = make_oracle("auto", self.model.scores.sure())
        return self._sure

    def known(self, cells: IntArray, label: int, targets: tuple[int, ...] | None) -> Known:
        """Facts from earlier questions; empty unless the last question had the same row, class and targets."""
        last = self._last
        if last is None or last[1:3] != (label, targets) or not np.array_equal(last[0], cells):
            self._last = last = cells, label, targets, Known()
        return last[3]


# One object instead of six: decisions/0080-one-question-one-measure-one-tree.
class Question(Questions):
    """A question about one row of a table, with everything that is needed to answer it.

    Parameters
    ----------
    engines : the model and its engines
    given : the row in numbers, with its class
    clock : clock of the question; it includes the time to read the row and to build the engine
    target : the target class or classes, as the user states them; None for all other classes

    Attributes
    ----------
    row : (n_inputs,) the row; its ``cells``, ``label`` and ``targets`` are those of :class:`Questions`
    filled : inputs in which the row lacks a value; ``row`` has the value that a step of a pipeline fills in
    reading : how it was checked that the model reads the row in the same way, see
        :attr:`proofwood.explain.explanation.Explanation.reading`
    stated : ``weights`` and ``within``, if they are part of the question
    """

    def __init__(self, engines: Engines, given: Admitted, clock: Clock, *, target: Any = None) -> None:
        self.engines, self.model = engines, engines.model
        self.row, self.reading = given.values[0], given.reading
        self.filled = tuple(np.flatnonzero(given.filled[0]).tolist())
        codes = self.model.predict_codes(given.values) if self.model.is_relative else given.codes
        cells, label = self.model.grid.cells_of(given.values)[0], int(codes[0])
        targets = None if target is None else _codes_of(self.model, target, label)
        known = engines.known(cells, label, targets)
        super().__init__(engines.oracle, cells, label, targets=targets, clock=clock, known=known)
        self._since, self._turns = clock, SURE_TURNS
        self.stated: Mapping[str, Any] = {}

    @property
    def seconds(self) -> float:
        """Seconds since the question began, or since :meth:`restart`."""
        return self._since.seconds

    def restart(self) -> None:
        """Start to count seconds and calls again, for the next answer of a list."""
        self._since, self.calls = Clock(), 0

    def explanation(
        self,
        kind: ExplanationKind,
        features: Iterable[int],
        status: str,
        witnesses: Mapping[int, IntArray],
        **more: Any,
    ) -> Explanation:
        """Return the explanation; its status is "... up to rounding" if a change of class may depend on rounding.

        Parameters
        ----------
        kind, features, status : as in :class:`Explanation`
        witnesses : mapping from features to cells of rows of another class
        more : further attributes of the explanation
        """
        chosen = tuple(sorted(features))
        if status not in ("none", "unknown"):
            each = {id(cells): cells for cells in witnesses.values()}
            real = dict(zip(each, self.are_real(list(each.values())), strict=True))
            kept = set(more.get("keep", ()))  # no row has to show that these are needed
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
        """Raise OutlierError if the row is not plausible: statements about plausible rows do not explain its class."""
        if self.model.plausible is not None and not self.model.are_plausible(self.row[np.newaxis])[0]:
            raise OutlierError(
                "the row itself is not plausible, so a statement about plausible rows does not explain its class: use "
                "counterfactual or contrastive, or an Explainer without plausible="
            )

    def is_real(self, cells: IntArray) -> bool:
        """Whether a row with the given cells is plausible, and the model itself gives it another (target) class."""
        return self.are_real([cells])[0]

    def are_real(self, many: Sequence[IntArray]) -> list[bool]:
        """:meth:`is_real` for several rows; the model predicts them in one call."""
        known = [self._by_sums(cells) for cells in many]
        open_ = [i for i, one in enumerate(known) if None in one and False not in one]
        if open_:
            rows = self.model.grid.rows([many[i] for i in open_], like=self.row)
            codes, shown = self.model.predict_codes(rows).tolist(), self.model.are_plausible(rows).tolist()
            for i, code, is_plausible in zip(open_, codes, shown, strict=True):
                has, may = known[i]
                known[i] = [code in self.others if has is None else has, is_plausible if may is None else may]
        return [all(one) for one in known]

    def is_counted(self, row: FloatArray) -> bool:
        """Whether a row (n_inputs,) is plausible, and the model itself gives it another (target) class."""
        return int(self.model.predict_codes(row[np.newaxis])[0]) in self.others and bool(
            self.model.are_plausible(row[np.newaxis])[0]
        )

    def _by_sums(self, cells: IntArray) -> list[bool | None]:
        """Whether a row has another class, and whether it is plausible; None if rounding decides."""
        scores, beside = self.scores, self.scores.beside
        has: bool | None = None
        may: bool | None = True
        if scores.margin == 0:
            has = scores.winner(cells) in self.others
        elif self.targets is None:
            sums = scores.sums(cells)
            least = [scores.threshold_of_win(k, self.label, margin=False) + scores.margin for k in self.others]
            has = True if (sums[self.others] - sums[self.label] >= least).any() else None
        if beside is not None:
            lead = int(beside.sums(cells) @ [-1, 1])
            beyond = lead - beside.threshold_of_win(1, 0, margin=False)
            may = beyond >= 0 if abs(2 * beyond + 1) > 2 * beside.margin else None  # whatever rounding does
        return [has, may]

    def sure_change(self, fixed: Iterable[int]) -> IntArray | None:
        """A row with unchanged ``fixed`` features to which the model itself gives another class; None if none is found.

        The effort is limited, because this search may be far harder than the earlier ones, and its result only decides
        whether the status says "up to rounding".
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
        """The witnesses. If the model itself does not give a witness another class, a search tries to replace it."""
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


def _codes_of(model: Explained, target: Any, label: int) -> tuple[int, ...]:
    """Codes of the target classes that the user names."""
    classes = model.classes.tolist()
    codes = []
    for name in arguments.classes_of(target):
        if not isinstance(name, Hashable) or name not in classes:
            raise ValueError(f"target={name!r} is not a class of the model: expected one of {classes}")
        codes.append(classes.index(name))
    if label in codes:
        raise ValueError(
            f"target={target!r}: the model already predicts {classes[label]!r} for this row; expected other classes"
        )
    return tuple(sorted(set(codes)))


def features_of(model: Explained, keys: Iterable[Key], what: str) -> list[int]:
    """Indices of features that are given by name or index, each once; error messages call the argument ``what``."""
    names = model.grid.feature_names
    return list(dict.fromkeys(position(key, names, what) for key in arguments.several(keys, what, repr(names[0]))))


def read_one(model: Explained, x: Any) -> tuple[Explained, Admitted]:
    """Read one row, and check it with the model's own prediction.

    Parameters
    ----------
    model : the explained model
    x : array, series, mapping from names to values, or table of one row in any container

    Returns
    -------
    the model, with the types of the columns of the row; and the row in numbers, with its class

    Raises
    ------
    DataError
        If the row does not fit the model; MisreadError if the model predicts another class than proofwood does.
    ValueError
        If ``x`` does not have exactly one row.
    TypeError
        If ``x`` is a number or a text.
    """
    arguments.one_row(x)
    table = as_table(x)
    n_rows = len(table) if isinstance(table, list) else table.shape[0] if hasattr(table, "shape") else 1
    if n_rows != 1:
        raise ValueError(f"x has {n_rows} rows: expected one. For a table, use explain(X).")
    model = model.with_types_of(table)
    return model, model.admit(table, table=not isinstance(x, Mapping))


def as_table(x: Any) -> Any:
    """Return a row as a table of one row, with unchanged values."""
    if isinstance(x, Mapping):
        row = {str(name): [value] for name, value in x.items()}
        try:
            import pandas as pd  # optional: it takes any value
        except ImportError:
            import polars as pl  # start-up time: few rows are mappings

            return pl.DataFrame(row)
        return pd.DataFrame(row)
    if isinstance(x, list | tuple):
        nested = len(x) > 0 and all(isinstance(row, list | tuple | np.ndarray) for row in x)
        return [list(row) for row in x] if nested else [list(x)]
    if not isinstance(x, np.ndarray):
        if hasattr(x, "to_frame") and getattr(x, "ndim", 1) == 1 and hasattr(x, "index"):  # a pandas series
            return x.to_frame().T.infer_objects()
        if is_sparse(x):
            return x if len(x.shape) == 2 else x.reshape(1, -1)
        if is_frame(x):
            return as_frame(x) if not hasattr(x, "shape") else x
    array = x if isinstance(x, np.ma.MaskedArray) else np.asarray(x)
    return array[np.newaxis] if array.ndim == 1 else array
