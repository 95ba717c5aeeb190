"""What every classifier here shares: checking input, encoding labels, limits, proof attributes, predicting, saving.

A learner adds its parameters and :meth:`ProvedClassifier._solve`; it sees float64 columns, class codes and weights.
"""

from __future__ import annotations

import logging
import math
import numbers
import os
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import sklearn
from joblib import cpu_count, effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from proofwood import memory
from proofwood.data.columns import (
    is_frame,
    is_pandas,
    read_columns,
    require_exact_integers,
    require_finite,
    require_numbers,
)
from proofwood.exceptions import DataError, OptimalityWarning
from proofwood.model import evaluate
from proofwood.model.node_table import LEAF, FloatArray, IntArray, NodeTable
from proofwood.model.sums import exact_sums
from proofwood.problem.objectives import checked_weights, simple_fraction, weight_products
from proofwood.problem.ranked import OutOfTime
from proofwood.result import Limits, Part, Progress, ProgressEvent, Result, Status, unproved

if TYPE_CHECKING:
    from proofwood.show.labels import Labels

MOST_THREADS = 256
"""Threads of one fit; more are asked for in vain."""
NO_LIMIT = 1e9
"""Seconds from which a time limit is none: thirty years."""
LOGGER = logging.getLogger("proofwood")
_END_SHARE, _END_SECONDS = 0.1, 2e-7
"""What of the time limit is kept to write and recount the model: at most this share, and so many seconds per row."""
_NAMES_BY_PROTOCOL = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) < (1, 9)


class ProvedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A classifier whose fit ends with a proof: objective, lower bound, gap and status.

    Subclasses store their parameters in ``__init__``, among them ``class_weight``, ``time_limit``, ``memory_limit``,
    ``n_jobs``, ``callback`` and ``verbose``, and implement :meth:`_problem`, which checks the learner's own
    parameters, and :meth:`_solve`.
    """

    # parameters of every learner
    class_weight: str | Mapping[Any, float] | None
    time_limit: float | None
    memory_limit: int | str | None
    n_jobs: int | None
    callback: Progress | None
    verbose: int

    _deadline: float | None = None  # of the fit that goes on, a moment of time.monotonic()
    _dashed = False  # whether pictures draw the edges of tests that hold (0-edges) dashed

    # fitted
    classes_: npt.NDArray[Any]
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]
    model_: NodeTable
    result_: Result
    loaded_: bool

    # ----------------------------------------------------------------------------------------------- to implement

    @abstractmethod
    def _problem(self, X: FloatArray, codes: IntArray, n_classes: int, sample_weight: FloatArray | None) -> Any:
        """The problem that the parameters pose on this data; raises ValueError on a parameter out of range."""

    @abstractmethod
    def _solve(self, problem: Any, limits: Limits, progress: Progress | None) -> Result:
        """Run the engine; the model of the result tests columns."""

    @abstractmethod
    def _cost(self, problem: Any) -> float:
        """What ``model_`` costs on ``problem``, counted with no engine, in the unit of ``result_``."""

    @abstractmethod
    def _claim(self) -> str:
        """What an optimal status says, in words."""

    # -------------------------------------------------------------------------------- to override where it applies

    def _read(self, X: Any, *, fitting: bool) -> Any:
        """``X`` as numbers: a frame as float64 columns, anything else as it is, once text is refused."""
        return numbers_of(X)

    def _told_parts(self, result: Result) -> tuple[Part, ...]:
        """The parts of a result that the user asked for."""
        return result.parts

    def _scope(self) -> str:
        """What a proof does not speak of, in words behind "proved optimal"."""
        return ""

    def _less(self) -> str:
        """What to ask for instead where a proof takes too long."""
        return "a smaller max_depth or a max_gap"

    def _finish(self, problem: Any) -> None:
        """Set the fitted attributes that the training rows decide, once there is a model."""

    def _size(self) -> str:
        """The size of the model in the words of the learner."""
        leaves = self.model_.n_leaves
        return f"{leaves} {'leaf' if leaves == 1 else 'leaves'}"

    def _facts(self) -> list[tuple[str, str]]:
        """More to be told of the fitted model, as pairs of a short name and a text."""
        return []

    def _parameters_to_save(self) -> dict[str, Any]:
        """The parameters as plain values."""
        return dict(self.get_params(deep=False))

    @classmethod
    def _parameters_from(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that :meth:`_parameters_to_save` gave; ValueError if this version does not know them."""
        return dict(saved)

    def _columns_to_save(self) -> dict[str, Any]:
        """What a model file must keep to read new rows, as plain values."""
        return {}

    def _restore_columns(self, saved: Mapping[str, Any]) -> None:
        """Set what :meth:`_columns_to_save` gave."""

    # ------------------------------------------------------------------------------------------------------- fit

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn from rows ``X`` with labels ``y``.

        Parameters
        ----------
        X : (n_samples, n_features) finite numbers: an array, or a pandas or polars frame whose names are kept
        y : (n_samples,) labels of any type that can be sorted
        sample_weight : (n_samples,) weight of each row, not negative; rows of weight 0 count for nothing

        Returns
        -------
        self

        Raises
        ------
        ValueError
            On parameters or data that cannot be used; the message says what to do.

        Warns
        -----
        OptimalityWarning
            If a limit or Ctrl-C ended the search before the proof; the best model found so far is kept.
        """
        self._fit(X, y, sample_weight)
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None,
        constrain: Callable[[Any, npt.NDArray[Any]], Any] | None = None,
    ) -> None:
        """What :meth:`fit` does; ``constrain`` adds to the problem what the labels must be known for."""
        self._check_shared_parameters()
        with memory.within(self.memory_limit):
            try:
                self._fit_within(X, y, sample_weight, constrain)
            except MemoryError as error:
                raise memory.MemoryLimitError(
                    f"fit ended without a model for want of memory ({str(error) or 'an allocation failed'}): raise "
                    "memory_limit or the limits of the process, take fewer rows or columns, or set n_jobs=1"
                ) from error
        if self.result_.status is Status.FEASIBLE and self.result_.stats.stopped_by is not None:
            warnings.warn(self._unproved(), OptimalityWarning, stacklevel=3)

    def _fit_within(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None,
        constrain: Callable[[Any, npt.NDArray[Any]], Any] | None,
    ) -> None:
        """What :meth:`_fit` does within the limit of memory."""
        started = time.monotonic()
        seconds = seconds_of(self.time_limit)
        self._deadline = None if seconds is None else started + seconds
        try:
            X, y = self._training_data(X, y)
            check_classification_targets(y)
            classes, codes = np.unique(y, return_inverse=True)
            codes = codes.astype(np.int64)
            weights = self._row_weights(classes, codes, sample_weight)
            try:
                problem = self._problem(X, codes, classes.size, weights)
                if constrain is not None:
                    problem = constrain(problem, classes)
            except (OutOfTime, MemoryError) as error:
                answer = self._untested(X, codes, classes.size, weights)
                if answer is None and isinstance(error, MemoryError):
                    raise
                if answer is None:
                    raise TimeoutError(
                        f"the time limit of {self.time_limit} s ended the preparation of {X.shape[0]:,} rows with "
                        f"{X.shape[1]:,} columns: raise time_limit"
                    ) from None
                problem, result = answer
                stopped_by = "memory_limit" if isinstance(error, MemoryError) else "time_limit"
                result = unproved(result, stopped_by, time.monotonic() - started)
                with _progress_lines(self.verbose):
                    self._tell_end(result, self._listeners())
            else:
                if seconds is not None:  # what the preparation took counts, and what the end will take is kept
                    kept = min(_END_SHARE * seconds, _END_SECONDS * X.shape[0])
                    seconds = max(0.0, seconds - (time.monotonic() - started) - kept)
                limits = Limits(seconds=seconds, threads=threads_of(self.n_jobs))
                with _progress_lines(self.verbose):
                    result = self._solve_telling(problem, limits)
        finally:
            del self._deadline
        if result.model is None:
            raise AssertionError(f"the engine returned no model, with status {result.status}")
        self.classes_ = classes
        self._keep(result, result.model)
        self._finish(problem)

    def _untested(
        self, X: FloatArray, codes: IntArray, n_classes: int, sample_weight: FloatArray | None
    ) -> tuple[Any, Result] | None:
        """What to answer when a limit came before there was a problem: the problem without tests, and its result.

        None if models without a test are no answer.
        """
        return None

    def _to_count(self, X: FloatArray, codes: IntArray, n_classes: int, sample_weight: FloatArray | None) -> Any:
        """A problem that tells what a model costs on these rows; one that needs no tests for it has none."""
        return self._problem(X, codes, n_classes, sample_weight)

    def _keep(self, result: Result, model: NodeTable) -> None:
        """Set the fitted attributes that the result decides."""
        self.model_ = model
        self.result_ = result
        self.loaded_ = False
        self.objective_ = result.objective
        self.lower_bound_ = result.lower_bound
        self.gap_ = result.gap
        self.status_ = result.status
        self.trace_ = result.trace

    def _check_shared_parameters(self) -> None:
        if self.time_limit is not None:
            number = isinstance(self.time_limit, numbers.Real) and not isinstance(self.time_limit, bool)
            if not number or not self.time_limit > 0:  # NaN is not above 0
                raise ValueError(
                    f"time_limit={self.time_limit!r} is no time: expected seconds above 0, or None for no limit"
                )
        memory.bytes_of(self.memory_limit)
        if self.n_jobs is not None and (not is_integer(self.n_jobs) or self.n_jobs == 0):
            raise ValueError(
                f"n_jobs={self.n_jobs!r} is no number of threads: expected an integer from 1, "
                "-1 for all cores, or None for one thread"
            )
        if self.callback is not None and not callable(self.callback):
            raise ValueError(
                f"callback={self.callback!r} cannot be called: expected a function of one ProgressEvent "
                "(seconds, objective, lower_bound), or None"
            )
        if not isinstance(self.verbose, (bool, np.bool_)) and (not is_integer(self.verbose) or self.verbose < 0):
            raise ValueError(f"verbose={self.verbose!r}: expected 0 (silent) or 1 (lines of progress)")

    def _training_data(self, X: Any, y: Any) -> tuple[FloatArray, npt.NDArray[Any]]:
        """Finite float64 columns and one-dimensional labels; sets ``n_features_in_`` and ``feature_names_in_``."""
        values = self._read(X, fitting=True)
        labels = None if y is None else _labels(y)
        if isinstance(values, (np.ndarray, list)) and isinstance(labels, (np.ndarray, list)):
            n, given = len(values), len(labels)
            if np.ndim(values) == 2 and n != given:
                raise ValueError(f"X has {n} rows and y has {given} labels: pass one label for each row")
        values, labels = validate_data(self, values, labels, dtype=np.float64, ensure_all_finite=False)
        if is_frame(X):
            validate_data(self, _with_names(X), reset=True, skip_check_array=True)
        require_finite(values)
        return values, labels

    def _row_weights(
        self, classes: npt.NDArray[Any], codes: IntArray, sample_weight: npt.ArrayLike | None
    ) -> FloatArray | None:
        """``sample_weight`` times the weight of the row's class; None if both are absent."""
        if sample_weight is not None:
            try:
                sample_weight = np.asarray(sample_weight, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(f"sample_weight must hold one number per row: {error}") from error
            if sample_weight.ndim == 0:
                sample_weight = np.full(codes.size, sample_weight)
            checked_weights(sample_weight, codes.size)
            if not np.any(sample_weight > 0):
                raise ValueError("all of sample_weight is zero: expected at least one row with a weight above 0")
        if self.class_weight is None:
            return sample_weight
        rows = np.ones(codes.size) if sample_weight is None else sample_weight
        totals = exact_sums(rows, codes, classes.size)
        return weight_products(rows, codes, self._class_factors(classes, totals))

    def _class_factors(self, classes: npt.NDArray[Any], totals: list[Fraction]) -> list[Fraction]:
        """Factor of each class; ``totals`` is the weight of its rows."""
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            share = sum(totals, Fraction(0)) / sum(1 for total in totals if total)
            return [share / total if total else Fraction(1) for total in totals]
        if not isinstance(self.class_weight, Mapping):
            raise ValueError(
                f"class_weight={self.class_weight!r}: expected None, 'balanced', or a dict from label to weight"
            )
        position = {label: code for code, label in enumerate(classes.tolist())}
        unknown = [label for label in self.class_weight if label not in position]
        unnamed = [label for label in position if label not in self.class_weight]
        if unknown and unnamed:  # some folds of a cross-validation may lack a class, so unknown alone is no error
            raise ValueError(f"class_weight names {unknown[0]!r}, which is no label; the labels are {list(position)}")
        factors = [Fraction(1)] * classes.size
        for label, factor in self.class_weight.items():
            number = _finite(factor)
            if number is None or number < 0:
                raise ValueError(f"class_weight[{label!r}]={factor!r}: expected a finite number from 0")
            if label in position:
                factors[position[label]] = simple_fraction(number)
        if not any(total * factor for total, factor in zip(totals, factors, strict=True)):
            raise ValueError("class_weight gives every row weight 0: give at least one label a weight above 0")
        return factors

    def _solve_telling(self, problem: Any, limits: Limits) -> Result:
        """Solve, telling of progress: lines if verbose, and the user's callback. The end is always told."""
        listeners = self._listeners()
        if not listeners:
            return self._solve(problem, limits, None)
        told: list[ProgressEvent] = []

        def tell(event: ProgressEvent) -> None:
            told[:] = [event]
            for listener in listeners:
                listener(event)

        result = self._solve(problem, limits, tell)
        if not told or (told[-1].objective, told[-1].lower_bound) != (result.objective, result.lower_bound):
            self._tell_end(result, listeners)
        return result

    def _listeners(self) -> list[Progress]:
        listeners: list[Progress] = [_log_improvements()] if self.verbose else []
        if self.callback is not None:
            listeners.append(self.callback)
        return listeners

    def _tell_end(self, result: Result, listeners: Iterable[Progress]) -> None:
        with suppress(KeyboardInterrupt):  # the search is over, so that nothing is left to stop
            for listener in listeners:
                listener(ProgressEvent(result.stats.seconds, result.objective, result.lower_bound))

    # --------------------------------------------------------------------------------------------------- predict

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """(n_samples,) label of each row of ``X``."""
        X = self._rows(X)
        return np.asarray(self.classes_[evaluate.predict(self.model_, X)])

    def predict_proba(self, X: Any) -> FloatArray:
        """(n_samples, n_classes) share of each class in the training weight of the leaf that a row ends in."""
        X = self._rows(X)
        return evaluate.probabilities(self.model_, X)

    def apply(self, X: Any) -> IntArray:
        """(n_samples,) index in ``model_`` of the leaf that each row ends in."""
        X = self._rows(X)
        return evaluate.apply(self.model_, X)

    def decision_path(self, X: Any) -> Any:
        """(n_samples, n_nodes) sparse CSR matrix with 1 where a row visits a node of ``model_``."""
        X = self._rows(X)
        return evaluate.decision_path(self.model_, X)

    def recount(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Objective of ``model_`` counted row by row, with no engine; on the training data it equals ``objective_``.

        Parameters
        ----------
        X, y, sample_weight : as given to :meth:`fit`

        Raises
        ------
        ValueError
            If ``y`` has a label that was not seen in training, or ``X`` does not fit the model.
        """
        return self._recount(X, y, sample_weight)

    def _recount(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None, constrain: Callable[[Any], Any] | None = None
    ) -> float:
        """What :meth:`recount` does; ``constrain`` adds to the problem what has a price beside errors and size."""
        X = self._rows(X)
        y = check_array(_labels(y), ensure_2d=False, dtype=None, input_name="y").reshape(-1)
        codes = np.searchsorted(self.classes_, y).clip(max=self.classes_.size - 1).astype(np.int64)
        if y.shape != (X.shape[0],) or np.any(self.classes_[codes] != y):
            raise ValueError(f"y must hold {X.shape[0]} of the labels seen in training: {self.classes_.tolist()}")
        weights = self._row_weights(self.classes_, codes, sample_weight)
        problem = self._to_count(X, codes, self.classes_.size, weights)
        return self._cost(problem if constrain is None else constrain(problem))

    # ------------------------------------------------------------------------------------------------------ show

    def summary(self) -> str:
        """Two lines: the model and its training errors; what is proved, and what that took. More of some learners."""
        check_is_fitted(self)
        more = [f"{name}: {text}" for name, text in self._facts()]
        proof = self._describe_proof()
        if getattr(self, "loaded_", False):  # a file is data: it can say anything
            proof = f"claimed when the file was written: {proof}"
            more.append("to check the claim, fit again on the training data")
        return "\n".join([self._describe_model(), proof, *more])

    def export_text(self, *, digits: int | None = None, X: Any = None, ascii_only: bool = False) -> str:
        """The model as a tree of rules, one line per node.

        Parameters
        ----------
        digits : at least so many significant digits per threshold; None for thresholds that read back exactly
        X : training rows, to write each threshold as the shortest number that separates them in the same way
        ascii_only : draw with ASCII characters only
        """
        check_is_fitted(self)
        from proofwood.show.text import export_text

        rows = None if X is None else self._rows(X)
        return export_text(self.model_, self._names(), digits=digits, X=rows, ascii_only=ascii_only)

    def export_graphviz(self) -> str:
        """The model in the DOT language of Graphviz."""
        check_is_fitted(self)
        from proofwood.show.graphviz import export_graphviz

        return export_graphviz(self.model_, self._names(), dashed=self._dashed)

    def explain(self, x: Any) -> str:
        """Why one row gets its class, in words: the tests on its path, and the training rows that share its leaf.

        Parameters
        ----------
        x : (n_features,) one row, or a frame of one row
        """
        from proofwood.show.text import explain_path

        rows = self._rows(x if is_frame(x) else np.reshape(np.asarray(x), (1, -1)))
        if rows.shape[0] != 1:
            raise ValueError(f"{rows.shape[0]} rows given: expected one row")
        return explain_path(self.model_, rows[0], self._names())

    def plot(self, ax: Any = None) -> Any:
        """Draw the model with matplotlib; a new figure if ``ax`` is None. Returns the axes."""
        check_is_fitted(self)
        from proofwood.show.plot import plot_tree

        return plot_tree(self.model_, self._names(), ax=ax, dashed=self._dashed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to ``path`` as JSON; :func:`proofwood.load` gives back an estimator.

        A callback is not saved.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        from proofwood.estimators.saving import save

        save(self, path)

    def _names(self) -> Labels:
        """What columns and classes are called in texts and pictures."""
        from proofwood.show.labels import Labels

        names = getattr(self, "feature_names_in_", None)
        features = None if names is None else tuple(str(name) for name in names)
        return Labels(features=features, classes=self.classes_, levels=self._level_texts())

    def _level_texts(self) -> Mapping[int, tuple[str, ...]]:
        """Texts of the level codes, by index of the column."""
        return {}

    def _describe_model(self) -> str:
        model = self.model_
        kind = "tree" if model.is_tree else "diagram"
        ends = model.feature == LEAF
        total = float(model.weight[ends].sum())
        others = model.weight[ends].copy()
        others[np.arange(others.shape[0]), model.label[ends]] = 0.0
        wrong = float(others.sum())
        rows = int(model.rows[ends].sum())
        if np.array_equal(model.weight.sum(axis=1), model.rows):
            share = f"{wrong:,.0f} of {rows:,} training rows wrong"
        else:
            share = f"weight {_shown(wrong)} of {_shown(total)} wrong on {rows:,} training rows"
        return f"depth-{model.depth} {kind}, {self._size()}, {share} ({wrong / total:.2%})"

    def _describe_proof(self) -> str:
        result = self.result_
        subproblems = result.stats.counters.get("subproblems")
        effort = [] if subproblems is None else [f"{subproblems:,} subproblems"]
        effort.append(f"{result.stats.seconds:.2f} s")
        if result.parts:
            told = [_part_text(part, self._scope()) for part in self._told_parts(result)]
            return "; ".join([*told, ", ".join([*_stop_words(result), *effort])])
        bound = f"lower bound {_shown(result.lower_bound)}"
        objective = f"objective {_shown(result.objective)}"
        if result.unit not in ("errors", "weighted errors"):
            objective += f" ({result.unit})"
        gap = f"gap {_shown(result.gap)}{_relative(result)}"
        said = {
            Status.OPTIMAL: ["proved optimal: " + bound],
            Status.WITHIN_GAP: [f"proved to be {self._within()}: {objective}", bound, gap],
        }.get(result.status, [f"not proved, {_stopped(result)}: {objective}", bound, gap])
        if result.status is Status.OPTIMAL and result.unit not in ("errors", "weighted errors"):
            said = [f"proved optimal: {objective}", bound]
        return ", ".join(said + effort)

    def _within(self) -> str:
        """What a model that is within a gap is within, in words."""
        permitted = getattr(self, "max_gap", 0)
        most = permitted if is_integer(permitted) else permitted * float(self.model_.weight[0].sum())
        if permitted and self.result_.gap <= most:
            return "within the permitted gap"
        return "best up to rounding (the weights, or alpha, have more digits than sums of 64 bits hold)"

    def _unproved(self) -> str:
        result = self.result_
        raise_what = "raise time_limit (None for no limit)"
        if result.stats.stopped_by == "memory_limit":
            raise_what = "raise memory_limit or the limits of the process, set n_jobs=1"
        return (
            f"{_stopped(result)} before the proof was complete: objective {_shown(result.objective)} {result.unit}, "
            f"lower bound {_shown(result.lower_bound)}, gap {_shown(result.gap)}{_relative(result)}. The model is the "
            f"best found so far. To finish, {raise_what}, or ask for less: {self._less()}."
        )

    # ----------------------------------------------------------------------------------------------------- input

    def _rows(self, X: Any) -> FloatArray:
        """Finite float64 columns of new rows, checked against the names and number of the training columns."""
        check_is_fitted(self)
        if is_frame(X):
            validate_data(self, _with_names(X), reset=False, skip_check_array=True)
            values = check_array(self._read(X, fitting=False), dtype=np.float64, estimator=self, input_name="X")
        else:
            read = self._read(X, fitting=False)
            values = validate_data(self, read, reset=False, dtype=np.float64, ensure_all_finite=False)
        require_finite(values)
        return np.asarray(values)


# --------------------------------------------------------------------------------------------------- input


class _Names:
    """The names of a frame by the interchange protocol: all that scikit-learn before 1.9 asks of a frame."""

    def __init__(self, frame: Any) -> None:
        self.shape: tuple[int, int] = frame.shape
        self._names = [str(name) for name in frame.columns]

    def __dataframe__(self) -> _Names:
        return self

    def column_names(self) -> list[str]:
        return self._names


def _with_names(frame: Any) -> Any:
    """``frame``, or a stand-in from which this version of scikit-learn can read the column names."""
    return _Names(frame) if _NAMES_BY_PROTOCOL and not is_pandas(frame) else frame


def numbers_of(X: Any) -> Any:
    """A frame as float64 columns; anything else as it is, once text and integers too large for float64 are refused."""
    if is_frame(X):
        columns = read_columns(X)
        require_numbers(columns)
        return columns.values
    try:
        array = np.asarray(X, dtype=object if isinstance(X, (list, tuple)) else None)
    except ValueError:
        return X  # ragged: validate_data says so
    if array.ndim == 2 and array.dtype.kind in "iuOUS":
        for j in range(array.shape[1]):
            _refuse_text(array[:, j], f"column {j} of X")
            require_exact_integers(array[:, j], f"column {j} of X")
    return X


def _refuse_text(values: npt.NDArray[Any], where: str) -> None:
    if values.dtype.kind not in "OUS":
        return
    for row, value in enumerate(values.tolist()):
        if isinstance(value, (str, bytes)):
            try:
                float(value)
            except ValueError:
                raise DataError(
                    f"{where} holds text ({value!r} in row {row}), and this learner tests numbers: drop the column, "
                    "or turn it into numbers, for example with sklearn.preprocessing.OneHotEncoder"
                ) from None


def _labels(y: Any) -> Any:
    """``y`` with one kind of label; refuses missing labels and more than one column."""
    array = np.asarray(y)
    if array.ndim > 2 or (array.ndim == 2 and array.shape[1] != 1):
        raise ValueError(
            f"y has shape {array.shape}: expected one label per row, shape (n_samples,). "
            "Pass one column, for example y[:, 0], or y.argmax(axis=1) for one-hot labels."
        )
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: y holds labels of type {array.dtype}")
    if array.dtype.kind in "VS" or (array.dtype.kind == "f" and array.dtype.itemsize > 8):
        raise ValueError(
            f"y holds labels of type {array.dtype}: expected integers, booleans, text, or dates of numpy (datetime64). "
            "Turn them into text, for example with [str(label) for label in y]"
        )
    if array.dtype.kind in "mM" and array.ndim:
        if np.isnat(array).any():
            row = int(np.flatnonzero(np.isnat(array.ravel()))[0])
            raise ValueError(f"y has no label in row {row} (NaT): drop the rows without a label")
        if np.datetime_data(array.dtype)[0] == "generic":
            raise ValueError("y holds times without a unit: give them one, for example y.astype('timedelta64[s]')")
    if array.dtype.kind != "O" or array.ndim == 0:
        return y
    flat = array.ravel().tolist()
    for row, label in enumerate(flat):
        if label is None or type(label).__name__ == "NAType" or label != label:
            raise ValueError(f"y has no label in row {row} ({label!r}): drop the rows without a label")
    kinds = {type(label) for label in flat}
    odd = sorted(kind.__name__ for kind in kinds if not issubclass(kind, (str, int, float, np.generic)))
    if odd:
        raise ValueError(
            f"y holds labels of type {', '.join(odd)}: expected integers, booleans, text, or dates of numpy "
            "(datetime64). Turn them into text, for example with [str(label) for label in y]"
        )
    for accepted, dtype in (
        ((bool, np.bool_), np.bool_),
        ((int, np.integer), np.int64),
        ((int, float, np.integer, np.floating), np.float64),
    ):
        if kinds and all(issubclass(k, accepted) and (dtype is np.bool_ or k is not bool) for k in kinds):
            try:
                return array.astype(dtype)
            except OverflowError:
                raise ValueError("y holds an integer of more than 64 bits: pass such labels as text") from None
    if len(kinds) > 1 and str in kinds:
        shown = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(f"y mixes labels of types {shown}: make them all text, for example with y.astype(str)")
    return array


def is_integer(value: object) -> bool:
    """Whether ``value`` is an integer of Python or numpy, and no boolean."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def threads_of(n_jobs: int | None) -> int:
    """Threads for ``n_jobs``: never more than twice the processors, or eight, whatever is asked for."""
    most = max(8, 2 * int(cpu_count()))
    if n_jobs is not None and n_jobs >= most:
        return most
    return max(1, min(most, int(effective_n_jobs(None if n_jobs is None else max(int(n_jobs), -MOST_THREADS)))))


def _finite(value: object) -> float | None:
    """A real number as a float; None if it is no number, NaN, infinite or beyond float64."""
    if not isinstance(value, numbers.Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def seconds_of(time_limit: float | None) -> float | None:
    """Seconds that ``time_limit`` permits; None without a limit."""
    return None if time_limit is None or time_limit >= NO_LIMIT else float(time_limit)


# ------------------------------------------------------------------------------------------------- reporting


def progress_line(event: ProgressEvent) -> str:
    """One line about a running search: incumbent, lower bound, gap and seconds."""
    return (
        f"{event.seconds:7.1f} s  objective {_shown(event.objective)}  "
        f"lower bound {_shown(event.lower_bound)}  gap {_shown(event.gap)}"
    )


class Improvements:
    """Lets through the events worth a line: a new objective at once, a new bound once a second.

    Keeps the last event that was let through.
    """

    def __init__(self) -> None:
        self._last: ProgressEvent | None = None

    def worth_a_line(self, event: ProgressEvent) -> bool:
        """Whether ``event`` says something new; remembers it if so."""
        last = self._last
        news = (
            last is None
            or event.objective < last.objective
            or (event.lower_bound > last.lower_bound and event.seconds >= last.seconds + 1)
        )
        if news:
            self._last = event
        return news


def _log_improvements() -> Progress:
    seen = Improvements()

    def log(event: ProgressEvent) -> None:
        if seen.worth_a_line(event):
            LOGGER.info(progress_line(event))

    return log


@contextmanager
def _progress_lines(verbose: int) -> Iterator[None]:
    """While it lasts, INFO messages of this package go to standard error, unless the program handles them itself."""
    if not verbose or LOGGER.isEnabledFor(logging.INFO):
        yield
        return
    handler, level, propagate = logging.StreamHandler(), LOGGER.level, LOGGER.propagate
    handler.setFormatter(logging.Formatter("%(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)
        LOGGER.propagate = propagate


def _shown(value: float) -> str:
    """A count without decimals, another number with up to 6 significant digits."""
    return f"{value:,.0f}" if math.isfinite(value) and value == round(value) else f"{value:,.6g}"


def _part_text(part: Part, scope: str) -> str:
    shown = f"{part.unit} {_shown(part.objective)}"
    if part.status is Status.OPTIMAL:
        return f"{shown} proved optimal{scope}"
    if part.status is Status.WITHIN_GAP:
        return (
            f"{shown} proved best up to rounding (lower bound {_shown(part.lower_bound)}; the weights, or alpha, have "
            "more digits than sums of 64 bits hold)"
        )
    return f"{shown} not proved best (lower bound {_shown(part.lower_bound)})"


def _stop_words(result: Result) -> list[str]:
    return [] if result.stats.stopped_by is None else [_stopped(result)]


def _relative(result: Result) -> str:
    return f" ({result.gap / result.objective:.1%} of the objective)" if result.objective > 0 else ""


def _stopped(result: Result) -> str:
    by = result.stats.stopped_by
    if by is None:
        return f"by the {result.stats.engine} engine"
    return {
        "time_limit": f"stopped by the time limit after {result.stats.seconds:.1f} s",
        "memory_limit": f"stopped by the memory limit after {result.stats.seconds:.1f} s",
        "interrupt": f"interrupted after {result.stats.seconds:.1f} s",
    }.get(by or "", f"stopped after {result.stats.seconds:.1f} s")
