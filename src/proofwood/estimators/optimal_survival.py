"""``OptimalSurvivalTree``: the tree of survival times with provably the least deviance within a depth."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from proofwood.data.frames import as_frame, is_frame
from proofwood.estimators.number_learner import (
    NumberLearner,
    NumberRows,
    explained,
    numbers_of,
    rows_text,
    signed,
)
from proofwood.estimators.shared_docs import documented
from proofwood.estimators.survival_answers import SurvivalAnswers
from proofwood.estimators.survival_curves import Survival, concordance
from proofwood.estimators.tree_learner import PosedTree
from proofwood.exceptions import DataError
from proofwood.language import gettext, number
from proofwood.model import evaluate
from proofwood.model.node_table import LEAF, FloatArray, IntArray
from proofwood.problem.targets import ExponentialRates, SumTarget
from proofwood.result import Progress, figure
from proofwood.show.colouring import leaf_codes, nearest_codes


@documented
@dataclass(eq=False, repr=False)
class OptimalSurvivalTree(NumberLearner, SurvivalAnswers):
    """Decision tree of survival times with provably the least deviance among all axis-aligned trees of its depth.

    A row has a time, and whether the event happened then or the row was last seen (censored). The tree minimises the
    deviance of an exponential model with one hazard per leaf: twice what it falls short in log-likelihood of a model
    with a hazard for each row [1]_. Leaves then show what happened to their rows by the curves of Kaplan and Meier.

    Parameters
    ----------
    max_depth : int, default 3
        Most tests on a path from the root to a leaf; 0 is a single leaf.
    alpha : float in [0, 1], default 0.0
        Price of each leaf beyond the first, as a share of the deviance of a single leaf.
    max_leaf_nodes : int from 1 to 17, or None
        Most leaves of the tree, within its depth: it is optimal among all such trees.
    min_samples_leaf, min_weight_fraction_leaf, min_samples_level : as in every tree
    max_gap : float in [0, 1), default 0
        The search may stop with a tree that is at most this far from the optimum, as a share of the deviance of a
        single leaf.
    categorical_features, drop, missing_values, written_as, threshold_rule, unseen : as in every learner
    time_limit, memory_limit, n_jobs : as in every learner
        A completed search with ``max_gap=0`` gives the same tree for any ``n_jobs``.
    callback, verbose : as in every learner
    checkpoint : as in every search that can go on

    Attributes
    ----------
    unique_times_ : (n_times,) different times at which training rows had their event, ascending
    curves_ : dict from leaf of ``model_`` to its curves of survival and cumulative hazard
    target_name_, n_features_in_, feature_names_in_, categories_, schema_, hints_, validation_ : as in every learner
    model_, result_, objective_ : as in every learner
        The objective is the weighted deviance plus the price of the leaves.
    lower_bound_, gap_, status_, trace_, feature_importances_, tested_columns_, loaded_ : as in every learner

    References
    ----------
    .. [1] LeBlanc, Crowley (1992), Relative risk trees for censored survival data, Biometrics 48.

    Examples
    --------
    >>> import numpy as np
    >>> from proofwood import OptimalSurvivalTree
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> y = np.array([(True, 9), (True, 8), (False, 9), (True, 1), (True, 2), (True, 1)], dtype="?, f8")
    >>> tree = OptimalSurvivalTree(max_depth=1).fit(X, y)
    >>> tree.predict(X[[0, 5]]).round(3)  # events per unit of time
    array([0.077, 0.75 ])
    """

    _predicts_means = False

    max_depth: int = 3
    _: KW_ONLY
    alpha: float = 0.0
    max_leaf_nodes: int | None = None
    min_samples_leaf: int = 1
    min_weight_fraction_leaf: float = 0.0
    min_samples_level: int | None = None
    max_gap: float = 0
    categorical_features: Any = None
    drop: Any = None
    missing_values: Any = None
    written_as: Mapping[Any, str | None] | None = None
    threshold_rule: str = "shortest"
    unseen: str = "majority"
    time_limit: float | None = 60.0
    memory_limit: int | str | None = None
    n_jobs: int | None = None
    callback: Progress | None = None
    verbose: int = 0
    checkpoint: str | os.PathLike[str] | None = None

    @documented
    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn from rows ``X`` with times ``y``.

        Parameters
        ----------
        X : as in every learner
        y : (n_samples,) structured array of an event (boolean) and a time, as in scikit-survival; or a frame or array
            of two columns, event and time in any order; or the two names of columns of ``X``. Times are above 0
        sample_weight : as in every learner

        Returns, Raises, Warns : as in every fit
        """
        self._fit(X, y, sample_weight)
        return self

    @property
    def _answers(self) -> None:
        return None

    @property
    def _cross_validated(self) -> str:
        return "OptimalSurvivalTreeCV"

    @property
    def _units(self) -> tuple[str, ...]:
        return (ExponentialRates.named,)

    @property
    def _kind(self) -> type[SumTarget]:
        return ExponentialRates

    def to_targets(self, y: Any) -> FloatArray:
        """(n_samples, 2) times of new rows, and whether the event happened then, as the model reads them.

        Parameters
        ----------
        y : as in :meth:`fit`
        """
        return times_of(y)

    def _targets_of_training(self, y: Any) -> FloatArray:
        return times_of(y)

    def _rows_of(self, target: npt.NDArray[Any]) -> tuple[FloatArray, FloatArray]:
        pairs = target.astype(np.float64)
        return pairs, (pairs[:, 1] / pairs[:, 0]).reshape(-1, 1)

    def _nearest_answers(self, targets: FloatArray) -> IntArray:
        return nearest_codes(leaf_codes(self.model_)[0], targets[:, 1] / targets[:, 0])

    def _keep_target(self, rows: NumberRows) -> None:
        times, events = rows.targets.T
        self.unique_times_ = np.unique(times[(events > 0) & (rows.real_weights > 0)])

    def _finish(self, problem: PosedTree) -> None:
        given = problem.given
        assert isinstance(given, NumberRows)
        leaf, weights = evaluate.apply(self.model_, given.columns), given.real_weights
        self.curves_ = {}
        for node in np.flatnonzero(self.model_.feature == LEAF).tolist():
            rows = np.flatnonzero((leaf == node) & (weights > 0))
            times, events = given.targets[rows].T
            self.curves_[node] = Survival.of(times, events > 0, weights[rows])
        times, events = given.targets[weights > 0].T
        self._concordance = concordance(times, events > 0, self._risk(leaf[weights > 0]))

    def _columns_to_save(self) -> dict[str, Any]:
        curves = {str(leaf): curve.to_dict() for leaf, curve in self.curves_.items()}
        known = {"curves": curves, "event_times": self.unique_times_.tolist(), "concordance": self._concordance}
        return {**super()._columns_to_save(), **known}

    def _restore_columns(self, saved: Mapping[str, Any]) -> None:
        super()._restore_columns(saved)
        curves, times, share = (saved.get(name) for name in ("curves", "event_times", "concordance"))
        if not isinstance(curves, Mapping) or not isinstance(times, (list, tuple)) or type(share) not in (int, float):
            raise ValueError("curves, event_times or concordance are missing, or of another kind")
        self.curves_ = {int(leaf): Survival.from_dict(curve) for leaf, curve in curves.items()}
        self.unique_times_ = np.array(times, dtype=np.float64)
        self._concordance = float(str(share))

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Harrell's concordance index: the share of comparable pairs of rows that the risk orders rightly.

        Parameters
        ----------
        X, y : as given to :meth:`fit`
        sample_weight : rows of weight 0 are left out; other weights have no influence
        """
        rows = self._read_again(X, y, sample_weight)
        kept = rows.real_weights > 0
        times, events = rows.targets[kept].T
        return concordance(times, events > 0, self._risk(evaluate.apply(self.model_, rows.columns[kept])))

    def _fit_text(self) -> str:
        table = self.model_
        assert table.loss is not None
        left = float(table.loss[table.feature == LEAF].sum()) / float(table.weight[0, 0])
        return gettext(
            "D² %(share)s on %(rows)s (%(loss)s %(left)s a row), concordance %(order)s",
            share=signed(explained(table)),
            rows=rows_text(table),
            loss=gettext(ExponentialRates.named),
            left=number(figure(left)),
            order=signed(self._concordance),
        )

    def _loss_in_words(self) -> str:
        return ExponentialRates.named

    def _answers_in_words(self) -> dict[int, str]:
        assert self.model_.values is not None
        told = {}
        for leaf, curves in self.curves_.items():
            rate = number(figure(float(self.model_.values[leaf, 0]), digits=4))
            median = curves.survival.first_at_most(0.5)
            if median is None:
                told[leaf] = gettext("median not reached (rate %(rate)s)", rate=rate)
            else:
                told[leaf] = gettext("median %(time)s (rate %(rate)s)", time=number(figure(median)), rate=rate)
        return told

    def _claim(self) -> str:
        if self.result_.unit not in self._units:
            return super()._claim()
        return gettext("no %(trees)s has a smaller deviance", trees=self._trees)


def times_of(y: Any) -> FloatArray:
    """(n_samples, 2) times above 0, and whether the event happened then, of the forms that ``fit`` takes.

    Raises
    ------
    DataError
        If ``y`` has another form, or times or events cannot be used.
    """
    expected = (
        "expected an event (boolean, or 0 and 1) and a time for each row: a structured array as of scikit-survival, or "
        "two columns"
    )
    if is_frame(y):
        frame = as_frame(y)
        columns = [np.asarray(frame[name]) for name in frame.columns]
    else:
        array = np.asarray(y)
        if array.dtype.names:
            columns = [array[name] for name in array.dtype.names]
        elif array.ndim == 1:  # times alone: every row had its event
            columns = [np.ones(array.size, dtype=np.bool_), array]
        else:
            columns = list(array.T) if array.ndim == 2 else []
    if len(columns) == 1:
        columns = [np.ones(columns[0].size, dtype=np.bool_), columns[0]]
    if len(columns) != 2:
        raise DataError(f"y has {len(columns)} columns: {expected}")
    numbers = [numbers_of(column) for column in columns]
    flags = [bool(np.isin(part, (0.0, 1.0)).all()) for part in numbers]
    if not any(flags):
        raise DataError(f"neither column of y is an event: {expected}")
    of_event = 0 if flags[0] else 1
    if all(flags):  # a time is not 0, and is no truth value
        signs = [(part == 0).any() or column.dtype.kind == "b" for part, column in zip(numbers, columns, strict=True)]
        of_event = 1 if signs[1] and not signs[0] else 0
    events, times = numbers[of_event], numbers[1 - of_event]
    if np.any(times <= 0):
        row = int(np.argmax(times <= 0))
        raise DataError(f"y has the time {times[row]:g} in row {row}: expected times above 0; leave out such rows")
    return np.column_stack([times, events])
