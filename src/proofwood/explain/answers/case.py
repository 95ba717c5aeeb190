"""One question about one row: the row, what is known about it, and the limit of time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from proofwood import arguments
from proofwood.engines.run import Clock
from proofwood.ensembles.space import Key, position
from proofwood.explain.answers.reading import ReadRow
from proofwood.explain.answers.session import Session
from proofwood.explain.explanation import UP_TO_ROUNDING, Explanation, ExplanationKind
from proofwood.explain.search.questions import Questions
from proofwood.model.node_table import FloatArray, IntArray

SURE_TURNS = 5
"""Turns of the searches for a change that holds whatever rounding does: about a second."""
SURE_TURNS_LATER = 2
"""The same, once such a search has given up."""


class OutlierError(ValueError):
    """A question about plausible rows that is asked of a row that is not plausible."""


class Case:
    """What all answers about a row are made with.

    Parameters
    ----------
    session : the model and its engines
    row : what is asked about
    clock : of the question: reading the row and building the engine are in it
    target : a class or list of classes that matter, None for all others

    Attributes
    ----------
    questions : what is known about the row; they end when the limit is reached
    asked : ``weights`` and ``within``, where these are part of the question
    """

    def __init__(self, session: Session, row: ReadRow, clock: Clock, *, target: Any = None) -> None:
        self.session, self.model, self.scores = session, session.model, session.model.scores
        self.row, self.cells, self.label = row.row, row.cells, row.label
        self.filled, self.reading = row.filled, row.reading
        self.clock = self._since = clock
        self._turns = SURE_TURNS
        self.asked: Mapping[str, Any] = {}
        self.questions: Questions = session.questions(row, target)
        self.questions.clock = clock
        self._calls = self.questions.calls

    @property
    def seconds(self) -> float:
        """Seconds since the beginning, or since :meth:`restart`."""
        return self._since.seconds

    @property
    def calls(self) -> int:
        """Questions that reached the engine since the beginning, or since :meth:`restart`."""
        return self.questions.calls - self._calls

    def restart(self) -> None:
        """Count seconds and calls from here on: for the next answer of a list."""
        self._since, self._calls = Clock(), self.questions.calls

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
            if self.scores.margin and kind != "counterfactual":
                witnesses = self._shown(kind, chosen, witnesses, real)
            needed = {id(cells) for feature, cells in witnesses.items() if feature not in more.get("keep", ())}
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
            engine=self.session.oracle.name,
            model=self.model,
            cells=self.cells,
            witness_cells=dict(sorted(witnesses.items())),
            targets=self.questions.targets,
            filled=self.filled,
            reading=self.reading,
            asked=self.asked,
            **{**more, "keep": tuple(more.get("keep", ()))},
        )

    # --------------------------------------------------------------------------------------------------------- rounding

    def require_plausible(self) -> None:
        """OutlierError if the row is not plausible: what holds of plausible rows does not explain it."""
        if not self.model.are_plausible(self.row[np.newaxis])[0]:
            raise OutlierError(
                "the row is itself not plausible, and what holds of plausible rows is no reason for its class. Ask for "
                "a counterfactual, or ask an explainer without plausible"
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
        code, targets = int(self.model.predict_codes(row[np.newaxis])[0]), self.questions.targets
        reached = code != self.label if targets is None else code in targets
        return reached and bool(self.model.are_plausible(row[np.newaxis])[0])

    @property
    def _others(self) -> list[int]:
        """Classes that count as another one."""
        targets = self.questions.targets
        return [k for k in (range(self.scores.n_classes) if targets is None else targets) if k != self.label]

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
        if self.questions.targets is None and any(
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
        q = self.questions
        asked = self.session.sure.ask(
            self.cells, self.label, list(fixed), targets=q.targets, seconds=q.clock.seconds_left, turns=self._turns
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


def features_of(names: tuple[str, ...], keys: Iterable[Key], what: str) -> list[int]:
    """Indices of features given by name or index, each once; ``what`` is named in the error."""
    return list(dict.fromkeys(position(key, names, what) for key in arguments.several(keys, what, repr(names[0]))))
