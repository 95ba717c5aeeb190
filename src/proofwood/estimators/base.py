"""The base class of the learners, with the steps of a fit from the training rows to a model with its proof.

A learner adds its parameters and implements :meth:`ProvedLearner._problem`, which gets float64 columns, a target and
weights, and :meth:`ProvedLearner._solve`. The single steps are in the modules ``parameters``, ``input`` and
``reporting``, what classifiers add is in ``classifier``. The methods of a fitted model are in ``fitted``.
"""

from __future__ import annotations

import os
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from proofwood import memory
from proofwood.data.frames import as_dense, is_sparse
from proofwood.data.schema import training_table
from proofwood.data.thresholds import ThresholdRule, placed
from proofwood.data.views import with_directions
from proofwood.estimators import reporting
from proofwood.estimators.fitted import FittedModel
from proofwood.estimators.input import features_and_labels, labels_of, order_hints, target_name, training_data
from proofwood.estimators.parameters import check_shared, seconds_of
from proofwood.estimators.shared_docs import documented
from proofwood.estimators.tested_columns import tested_columns
from proofwood.exceptions import DataError, DataWarning, OptimalityWarning
from proofwood.hints import Hint, parameter
from proofwood.jobs import jobs_of, this_run
from proofwood.model.evaluate import low_weights
from proofwood.model.node_table import FloatArray, IntArray, NodeTable
from proofwood.problem.ranked import OutOfTime
from proofwood.result import Limits, Progress, Result, Status, unproved

_END_SHARE, _END_SECONDS = 0.1, 2e-7
"""Time reserved to build and recount the model: at most this share of the limit, and these seconds per row."""


@dataclass(frozen=True, eq=False)
class TrainingRows(ABC):
    """Training rows as a learner reads them; a subclass adds the target.

    Parameters
    ----------
    columns : (n_rows, n_columns) float64
    weights : (n_rows,) weights, or None if all are 1
    """

    columns: FloatArray
    weights: FloatArray | None

    @property
    @abstractmethod
    def codes(self) -> IntArray:
        """(n_rows,) class codes; zeros if rows have no class."""

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """Number of classes; 1 if rows have no class."""

    @abstractmethod
    def means(self, rows: IntArray, levels: IntArray, n_levels: int) -> tuple[FloatArray, FloatArray]:
        """(n_levels, k) mean of the target in each level, as numbers that order levels, and (n_levels,) their weights.

        Parameters
        ----------
        rows : (n,) indices of rows
        levels : (n,) level of each of these, from 0 to n_levels - 1
        """

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.columns.shape[0])

    @property
    def real_weights(self) -> FloatArray:
        """(n_rows,) weights; ones if ``weights`` is None."""
        return np.ones(self.n_rows) if self.weights is None else self.weights

    def kept(self, kept: IntArray) -> tuple[FloatArray, FloatArray]:
        """Columns and weights of the rows with the indices ``kept``, which are those of positive weight."""
        if kept.size == self.n_rows:
            return self.columns, self.real_weights
        return self.columns[kept], self.real_weights[kept]


def columns_counted(rows: TrainingRows) -> FloatArray:
    """(n, n_columns) columns of the rows of positive weight."""
    weights = rows.weights
    return rows.columns if weights is None or weights.all() else rows.columns[weights > 0]


@contextmanager
def fit_within(memory_limit: int | str | None) -> Iterator[None]:
    """Limit the memory of a fit inside the ``with`` block; raise MemoryLimitError if the fit ends without a model."""
    with memory.within(memory_limit):
        try:
            yield
        except MemoryError as error:
            raise memory.MemoryLimitError(
                f"fit ran out of memory before it had a model ({str(error) or 'an allocation failed'}): raise "
                f"{parameter('memory_limit')} or the limits of the process, use fewer rows or columns, or set "
                f"{parameter('n_jobs', 1)}"
            ) from error


@contextmanager
def whole_or_as_before(learner: object) -> Iterator[None]:
    """Give a learner its attributes back if the ``with`` block fails: an old model would read rows by a new schema."""
    before = dict(vars(learner))
    try:
        yield
    except BaseException:
        for name in vars(learner).keys() - before.keys():
            delattr(learner, name)
        vars(learner).update(before)
        raise


Rows = TypeVar("Rows", bound=TrainingRows)


class ProvedLearner(FittedModel, Generic[Rows]):
    """An estimator whose fit ends with a proof: objective, lower bound, gap and status.

    Subclasses are data classes whose fields are their parameters, among them those below. They implement
    :meth:`_problem`, which checks the learner's own parameters, and :meth:`_solve`.
    """

    # parameters of every learner
    categorical_features: Any
    drop: Any
    missing_values: Any
    written_as: Mapping[Any, str | None] | None
    threshold_rule: str
    time_limit: Any  # seconds, None, or for some learners "auto"
    memory_limit: int | str | None
    n_jobs: int | None
    callback: Progress | None
    verbose: int
    checkpoint: str | os.PathLike[str] | None = None  # of learners whose search can go on

    _has_labels = True  # whether the target of a row is a label
    _fits_table = False  # whether time_limit="auto" is accepted
    _limits_tests = False  # whether equal tests stay equal at all nodes, also for values that training did not have
    _deadline: float | None = None  # end of the current fit, in time.monotonic()

    # ----------------------------------------------------------------------------------------------- to implement

    @abstractmethod
    def _read_target(
        self, columns: FloatArray, target: npt.NDArray[Any], sample_weight: npt.ArrayLike | None, hints: list[Hint]
    ) -> Rows:
        """Return the rows with their target and weights, and add to ``hints``.

        Parameters
        ----------
        columns : (n_rows, n_columns) float64
        target : (n_rows, ...) as :meth:`_target_of` returned it
        """

    @abstractmethod
    def _read_again(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None) -> Rows:
        """Rows with their target as the fitted model reads them; ValueError if the target does not fit the model."""

    @abstractmethod
    def _any_rows(self, X: FloatArray) -> Rows:
        """Rows ``X`` with some target of the kind that the fitted model has, to check parameters against."""

    @abstractmethod
    def _keep_target(self, rows: Rows) -> None:
        """Set the fitted attributes that tell what leaves predict."""

    @abstractmethod
    def _problem(self, given: Rows) -> Any:
        """Return the problem that the parameters define on this data; ValueError if a parameter is out of range."""

    @abstractmethod
    def _solve(self, problem: Any, limits: Limits, progress: Progress | None) -> Result:
        """Run the engine and return its result, with a model that tests the columns of the table."""

    @abstractmethod
    def _cost(self, problem: Any) -> float:
        """The cost of ``model_`` on ``problem``, counted without an engine, in the unit of ``result_``."""

    # -------------------------------------------------------------------------------- to override where it applies

    @property
    def _target_of(self) -> Callable[[Any], Any]:
        """The function that turns the target of a table into what scikit-learn checks, such as labels."""
        return labels_of

    @property
    def _training_target_of(self) -> Callable[[Any], Any]:
        """The same for the target of a fit."""
        return self._target_of

    def _untested(self, given: Rows) -> tuple[Any, Result] | None:
        """The fallback if a limit is reached before the problem is built: a problem without tests, and its result.

        None if a model without a test is not a valid answer.
        """
        return None

    def _to_count(self, given: Rows) -> Any:
        """A problem from which the cost of a model on these rows is counted; it has tests only if they are needed."""
        return self._problem(given)

    def _scope(self, problem: Any, result: Result) -> tuple[str, ...]:
        """Texts that say what limited the search, apart from the shape of the model and the table."""
        scope: tuple[str, ...] = problem.scope
        return scope

    def _finish(self, problem: Any) -> None:
        """Set the fitted attributes that are computed from the model and the training rows."""

    def _less(self) -> str:
        """A text that names smaller settings to try if a proof takes too long."""
        return "a smaller max_depth or a max_gap"

    # ------------------------------------------------------------------------------------------------------- fit

    @documented
    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn from rows ``X`` with targets ``y``.

        Parameters
        ----------
        X, y, sample_weight : as in every learner

        Returns, Raises, Warns : as in every fit
        """
        self._fit(X, y, sample_weight)
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None,
        constrain: Callable[[Any, Rows], Any] | None = None,
    ) -> None:
        """Do the work of :meth:`fit`; ``constrain`` adds constraints that need the labels to the problem."""
        self._check_shared_parameters()
        with fit_within(self.memory_limit), whole_or_as_before(self):
            problem = self._learn(X, y, sample_weight, constrain)
            self._finish(problem)
        if self.result_.status is Status.FEASIBLE and self.result_.stats.stopped_by is not None:
            warnings.warn(self._unproved(), OptimalityWarning, stacklevel=3)

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None,
        constrain: Callable[[Any, Rows], Any] | None,
    ) -> Any:
        """Read the rows, build and solve the problem, and set the fitted attributes. Return the problem."""
        started = time.monotonic()
        rows = self._read_rows(X, y, sample_weight)
        try:
            return self._learn_rows(rows, started, constrain)
        except DataError as error:
            if is_sparse(X):
                raise DataError(f"{error} X is sparse: values that it does not store are 0.") from error
            raise

    def _read_rows(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None) -> Rows:
        """Return the training rows as numbers, and set the fitted attributes that describe the table."""
        self.target_name_ = target_name(y)
        rows = features_and_labels(X, y, several=self._several_targets, labels=self._has_labels)
        columns, target = training_data(
            self, *rows, self._read_training, self._training_target_of, several=self._several_targets
        )
        hints = [*order_hints(X, y), *self.hints_]
        try:
            return self._read_target(columns, target, sample_weight, hints)
        finally:  # what the columns say may be why the target is refused
            self._hint(hints)

    def _learn_rows(
        self,
        rows: Rows,
        started: float,
        constrain: Callable[[Any, Rows], Any] | None = None,
    ) -> Any:
        """Build the problem, solve it and set the fitted attributes. Return the problem.

        Parameters
        ----------
        rows : from :meth:`_read_rows` of this learner, or of one that reads tables in the same way
        started : value of ``time.monotonic()`` at which the time limit starts
        constrain : adds constraints that need the labels to the problem
        """
        columns = rows.columns
        seconds = seconds_of(self.time_limit, self._n_values(columns))
        self._deadline = None if seconds is None or self._goes_on else started + seconds
        try:
            try:
                problem = self._problem(rows)
                if constrain is not None:
                    problem = constrain(problem, rows)
            except (OutOfTime, MemoryError) as error:
                problem, answer = self._answer_at_a_limit(error, started, rows)
                result = self._reported(lambda _: answer, seconds)
            else:
                limits = self._limits_left(started, seconds, columns.shape[0])
                result = self._reported(partial(self._solve, problem, limits), seconds)
        finally:
            self.__dict__.pop("_deadline", None)
        if result.model is None:
            raise AssertionError(f"the engine returned no model, with status {result.status}")
        self._take_result(result, problem, rows)
        return problem

    @property
    def _goes_on(self) -> bool:
        """Whether there is a checkpoint: what it holds is the answer at least, so the rows are read in any case."""
        return isinstance(self.checkpoint, (str, os.PathLike)) and Path(self.checkpoint).exists()

    def _take_result(self, result: Result, problem: Any, rows: Rows) -> None:
        """Set the fitted attributes of a model: with thresholds to read, counted on the training rows."""
        assert result.model is not None
        self._keep_target(rows)
        model, to_low = self._finished(result.model, rows)
        self._keep(replace(result, model=model, scope=self._scope(problem, result)), model)
        self._tested = tested_columns(model, columns_counted(rows), self.schema_.columns)
        self._weighted = rows.weights is not None and bool(np.any((rows.weights != 0) & (rows.weights != 1)))
        self._low_weight = None if model.is_tree else to_low

    def _finished(self, found: NodeTable, rows: Rows) -> tuple[NodeTable, FloatArray]:
        """A model with the thresholds, and the ways of missing and new values, that it is given; weight on low edges.

        Parameters
        ----------
        found : from a search
        rows : the rows that it was searched on
        """
        counted = columns_counted(rows)  # what only rows of weight 0 hold is as new as what no row holds
        separated = placed(
            found,
            counted,
            [column.kind for column in self.schema_.columns],
            rule=ThresholdRule(self.threshold_rule),
            of_tests=self._limits_tests,
        )
        to_low = low_weights(separated, rows.columns, rows.codes, rows.real_weights)
        model = with_directions(
            separated,
            {j for j in self.schema_.gaps if np.isnan(counted[:, j]).any()},
            self._levels_seen(counted),
            to_low.sum(axis=1),
            of_tests=self._limits_tests,
        )
        turned = model.low != separated.low  # sets of levels that were replaced by their complement
        to_low[turned] = np.maximum(model.weight[turned] - to_low[turned], 0.0)
        return model, to_low

    def _n_values(self, X: FloatArray) -> int:
        """Size of the table: rows times columns, where each level of a nominal column counts as one column."""
        levels = sum(max(1, len(self.schema_.columns[j].levels)) for j in self.schema_.nominal)
        n_rows, n_columns = X.shape
        return int(n_rows * (n_columns - len(self.schema_.nominal) + levels))

    def _levels_seen(self, X: FloatArray) -> dict[int, list[int]]:
        """For each nominal column, the level codes that occur in the rows."""
        return {j: np.unique(X[~np.isnan(X[:, j]), j]).astype(np.int64).tolist() for j in self.schema_.nominal}

    def _read_training(self, X: Any) -> Any:
        """Return the training data as numbers, and set ``schema_`` and ``hints_``."""
        X = as_dense(X)
        values, self.schema_, hints = training_table(
            X,
            categorical_features=self.categorical_features,
            drop=self.drop,
            missing_values=self.missing_values,
            written_as=self.written_as,
        )
        self.hints_ = tuple(hints)
        return values

    def _hint(self, hints: Sequence[Hint]) -> None:
        """Set ``hints_``, and warn with their texts."""
        self.hints_ = tuple(hints)
        if hints:
            warnings.warn(DataWarning("; ".join(map(str, hints)), self.hints_), stacklevel=6)

    def _limits_left(self, started: float, seconds: float | None, n_rows: int) -> Limits:
        """The limits of the search: the time limit less the time already used and the time that the end needs."""
        if seconds is not None:
            kept = min(_END_SHARE * seconds, _END_SECONDS * n_rows)
            seconds = max(0.0, seconds - (time.monotonic() - started) - kept)
        return Limits(seconds=seconds, threads=jobs_of(self.n_jobs))

    def _answer_at_a_limit(
        self,
        error: OutOfTime | MemoryError,
        started: float,
        given: Rows,
    ) -> tuple[Any, Result]:
        """The fallback problem and its result after ``error``, a limit reached before the problem was built.

        Raise TimeoutError or ``error`` if the learner has no fallback.
        """
        answer = self._untested(given)
        of_memory = isinstance(error, MemoryError)
        if answer is not None:
            problem, result = answer
            return problem, unproved(result, "memory_limit" if of_memory else "time_limit", time.monotonic() - started)
        if of_memory:
            raise error
        limit = seconds_of(self.time_limit, self._n_values(given.columns))
        n_rows, n_columns = given.columns.shape
        raise TimeoutError(
            f"the time limit of {limit:g} s was reached while {n_rows:,} rows with {n_columns:,} columns were "
            f"prepared: raise {parameter('time_limit')}"
        ) from None

    def _reported(self, solve: Callable[[Progress | None], Result], limit: float | None) -> Result:
        """Run ``solve`` and return its result; report progress to ``callback`` and, if ``verbose``, in log lines."""
        return reporting.reported(solve, callback=self.callback, verbose=self.verbose, limit=limit)

    def _keep(self, result: Result, model: NodeTable) -> None:
        """Set the fitted attributes that hold the model and the result."""
        self.model_ = model
        self.result_ = result
        self.loaded_ = False
        self._proved_in = this_run()
        self.objective_ = result.objective
        self.lower_bound_ = result.lower_bound
        self.gap_ = result.gap
        self.status_ = result.status
        self.trace_ = result.trace
        self._keep_parameters()

    def _check_shared_parameters(self) -> None:
        check_shared(
            time_limit=self.time_limit,
            memory_limit=self.memory_limit,
            n_jobs=self.n_jobs,
            callback=self.callback,
            verbose=self.verbose,
            unseen=self.unseen,
            threshold_rule=self.threshold_rule,
            fits_table=self._fits_table,
        )

    def _unproved(self) -> str:
        return reporting.unproved_text(self.result_, self._less())

    # ------------------------------------------------------------------------------------------------------ recount

    def recount(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """The objective of ``model_``, counted row by row without an engine. On training data it is ``objective_``.

        Parameters
        ----------
        X, y, sample_weight : as given to :meth:`fit`

        Raises
        ------
        ValueError
            If ``y`` or ``X`` does not fit the model, such as a label that was not seen in training.
        """
        return self._as_fitted()._recount(X, y, sample_weight)

    def _recount(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None, constrain: Callable[[Any, Rows], Any] | None = None
    ) -> float:
        """Do the work of :meth:`recount`; ``constrain`` adds penalties beyond errors and size to the problem."""
        rows = self._read_again(X, y, sample_weight)
        problem = self._to_count(rows)
        return self._cost(problem if constrain is None else constrain(problem, rows))
