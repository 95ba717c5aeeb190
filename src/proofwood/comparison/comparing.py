"""``compare``: fits models on the same folds, and scores them on the rows that each fold holds out."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from proofwood.comparison.growing import Growing
from proofwood.comparison.models import BASELINE, CURVE, MEAN, default_models, models_of_times
from proofwood.comparison.result import ComparedModel, Comparison
from proofwood.comparison.survival import RatesOfTimes, are_names, are_times, structured
from proofwood.data.schema import forms_of, training_table
from proofwood.data.targets import are_numbers, banded
from proofwood.estimators import reporting
from proofwood.estimators.choice import R_SQUARED, score_name
from proofwood.estimators.fitted import FittedModel
from proofwood.estimators.folds import baseline_score, folds_of, require_score
from proofwood.estimators.input import classes_and_codes, features_and_labels, labels_of, with_row_index
from proofwood.estimators.number_learner import numbers_of
from proofwood.estimators.optimal_survival import times_of
from proofwood.estimators.optimal_survival_cv import folds_of_times
from proofwood.estimators.survival_scores import alone, name_of, scorer
from proofwood.exceptions import DataError, DataWarning, OptimalityWarning
from proofwood.hints import About, Hint, parameter
from proofwood.model.node_table import FloatArray
from proofwood.printable import shown
from proofwood.result import Status

UNBOUNDED = (-np.inf, np.inf)
SHARES = {
    **dict.fromkeys(("accuracy", "balanced accuracy", "roc auc", "f1", "precision", "recall"), (0.0, 1.0)),
    "concordance": (0.0, 1.0),
    **dict.fromkeys((R_SQUARED, "deviance"), (-np.inf, 1.0)),
    "neg_integrated_brier_score": (-np.inf, 0.0),
}
"""The least and the greatest possible value of each score that has a known range."""


def compare(
    X: Any,
    y: Any,
    models: Mapping[str, BaseEstimator] | None = None,
    *,
    reference: str | None = None,
    sample_weight: npt.ArrayLike | None = None,
    groups: Any = None,
    cv: Any = 5,
    scoring: Any = None,
    time_limit: float | None = 10.0,
    categorical_features: Any = None,
    drop: Any = None,
    missing_values: Any = None,
    written_as: Mapping[Any, str | None] | None = None,
    bands: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Comparison:
    """Compare models on the same folds: a score with its interval, leaves, seconds, and what is proved.

    They are classifiers, or regressors if the target is numbers: if ``models`` are regressors, or by default if the
    target has more numbers than classes could be. If the target has two columns, they are models of survival times.

    Parameters
    ----------
    X : (n_samples, n_features) an array, or a frame with columns of any kind
    y : (n_samples,) labels or numbers, or the name of the column of these; or survival times in a form that
        :class:`OptimalSurvivalTree` takes, with two columns
    models : dict from name to classifier, or to regressor; by default those of :func:`default_models`, or of times
        :func:`models_of_times`. Each is fitted on ``X`` without changes, and gets times as scikit-survival has them
    reference : name of the model that the others are compared with; by default the first
    sample_weight : (n_samples,) weights, for fits and scores
    groups : (n_samples,) group of each row; no fold divides a group
    cv : int, splitter or iterable of (train, test)
        A number of folds, shuffled and with equal shares of the classes, if there are any, or a splitter, as in
        scikit-learn. A number with ``groups`` keeps each group in one fold, and gives the same folds for any order of
        the rows, if the learners can read ``X``. Repeated folds (``RepeatedStratifiedKFold``, ``RepeatedKFold``) give
        narrower intervals.
    scoring : str, function of (model, X, y), or None
        The score, as in scikit-learn; None means accuracy, and R² for numbers. ``"neg_root_mean_squared_error"`` is in
        the unit of the numbers. Of times one of :class:`OptimalSurvivalTreeCV`.
    bands : how to cut a target of numbers into classes, as for the learners
    time_limit, categorical_features, drop, missing_values, written_as : as in :func:`default_models`
    random_state, n_jobs : as in :func:`default_models`
    verbose : 1 shows the model and the fold at work

    Returns
    -------
    Comparison
        Print it, or use its ``table()``, ``to_frame()``, ``plot()`` and ``difference(name)``.

    Raises
    ------
    ValueError
        If ``models`` is empty, ``reference`` is not one of them, or the data cannot be used.

    Warns
    -----
    OptimalityWarning
        If fits reached their time limit: optimal trees are the best found, without a proof, and forests and boosted
        trees have fewer trees.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from proofwood import OptimalTreeClassifier, compare
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare(X, y, {"depth 2": OptimalTreeClassifier(2), "depth 1": OptimalTreeClassifier(1)})
    >>> found.difference("depth 1").high < 0
    True
    """
    X, y = features_and_labels(X, y, several=are_names(y))
    X = with_row_index(X)
    table: dict[str, Any] = {
        "categorical_features": categorical_features,
        "drop": drop,
        "missing_values": missing_values,
        "written_as": written_as,
    }
    values: Any = None
    if models is not None and (not isinstance(models, Mapping) or not models):
        raise ValueError(f"models={models!r}: expected a mapping from names to models, with at least one")
    labels, kind = _target(y, models, bands)
    of_numbers = kind is Target.NUMBERS
    if models is None:
        values, schema, hints = training_table(X, **table)
        _warn_of_texts(hints)
        table["written_as"] = forms_of(schema)  # parts of the table are read as the whole
        limits: dict[str, Any] = {"time_limit": time_limit, "n_jobs": n_jobs}
        limits |= {**table, "random_state": random_state}
        models = models_of_times(**limits) if kind is Target.TIMES else default_models(of_numbers=of_numbers, **limits)
    else:
        with suppress(DataError):  # a table for other models: its rows are shuffled as they stand
            values = training_table(X, **table)[0]
    names = list(models)
    reference = names[0] if reference is None else reference
    if reference not in models:
        raise ValueError(f"reference={reference!r} is not a model: expected one of {', '.join(map(repr, names))}")
    if kind is not Target.TIMES:  # an error before any fit, if these are not classes
        require_score(scoring, None if of_numbers else classes_and_codes(labels)[0])
    score_of = _scorers(kind, scoring)
    weights = None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, float), labels.shape)
    values = _numbers(values, labels.size)
    # Each in the order of the table, as hints are about the order of rows.
    if kind is Target.TIMES:
        parts = folds_of_times(cv, X, times_of(labels), groups, random_state, values)
    else:
        parts = folds_of(cv, X, labels, groups, random_state, values, of_numbers=of_numbers)
    folds = [(np.sort(train), np.sort(test)) for train, test in parts]
    found: list[ComparedModel] = []
    cut = {"exact": 0, "grown": 0}
    notes: dict[str, None] = {}
    with reporting.told_lines(verbose) as tell:
        for name, model in models.items():
            score = score_of(model)
            fits = []
            for k, (train, _) in enumerate(folds):
                tell(f"{name}: fold {k + 1} of {len(folds)}")
                fits.append(_fitted(name, model, X, labels, weights, train, k, notes))
            scores = [
                _score(score, fit, X, labels, weights, test) for (fit, _), (_, test) in zip(fits, folds, strict=True)
            ]
            exact = [_last(fit) for fit, _ in fits if isinstance(_last(fit), FittedModel)]
            cut["exact"] += sum(fit.status_ is Status.FEASIBLE for fit in exact)
            cut["grown"] += sum(_is_cut(fit) for fit, _ in fits)
            sizes = [leaves_of(fit) for fit, _ in fits]
            found.append(
                ComparedModel(
                    str(name),
                    np.array(scores),
                    float(np.mean([seconds for _, seconds in fits])),
                    None if any(size is None for size in sizes) else float(np.mean([size or 0 for size in sizes])),
                    _proof(exact),
                )
            )
    for note in notes:
        warnings.warn(f"in the first fold: {note}", DataWarning, stacklevel=2)
    if useless := _no_better(found, labels, folds, scoring, weights, kind=kind):
        warnings.warn(DataWarning(str(useless), [useless]), stacklevel=2)
    said = _limits_reached(**cut)
    if said:
        warnings.warn(said, OptimalityWarning, stacklevel=2)
    share = float(np.mean([len(test) / len(train) for train, test in folds]))
    name = name_of(scoring) if kind is Target.TIMES else score_name(scoring, of_numbers=of_numbers)
    return Comparison(tuple(found), reference, name, share, labels.size, SHARES.get(name, UNBOUNDED))


class Target(StrEnum):
    """What is compared."""

    CLASSES = "classes"
    NUMBERS = "numbers"
    TIMES = "survival times"


def _target(y: Any, models: Mapping[str, BaseEstimator] | None, bands: Any) -> tuple[npt.NDArray[Any], Target]:
    """(n_rows,) labels, numbers, or events with times, and what they are."""
    if are_times(y):
        if bands is not None:
            raise ValueError("bands cut numbers into classes, and y has two columns, survival times: leave them out")
        return structured(y), Target.TIMES
    if models is not None:
        regressors = [name for name, model in models.items() if is_regressor(model)]
        if regressors and len(regressors) < len(models):
            other = next(name for name in models if name not in regressors)
            raise ValueError(
                f"{regressors[0]!r} is a regressor and {other!r} is not: expected only classifiers, or only regressors"
            )
        if regressors:
            if bands is not None:
                raise ValueError("bands cut numbers into classes, and the models are regressors: leave them out")
            return numbers_of(y).reshape(-1), Target.NUMBERS
    labels, _ = banded(np.asarray(labels_of(y)).reshape(-1), bands)
    if models is None and are_numbers(labels):
        return numbers_of(labels), Target.NUMBERS
    return labels, Target.CLASSES


def _no_better(
    found: Sequence[ComparedModel],
    labels: npt.NDArray[Any],
    folds: Sequence[Any],
    scoring: Any,
    weights: Any,
    *,
    kind: Target,
) -> Hint | None:
    """A hint about the models that score no more than the most frequent class, the mean or one rate; None if all do."""
    if kind is Target.TIMES:
        mean = alone(scoring)
    else:
        of_numbers = kind is Target.NUMBERS
        score = check_scoring(DummyRegressor() if of_numbers else DummyClassifier(), scoring=scoring)
        baselines = [
            baseline_score(
                score, labels[train], labels[test], None if weights is None else weights[test], of_numbers=of_numbers
            )
            for train, test in folds
        ]
        mean = float(np.mean(baselines))
    lower = (BASELINE, MEAN, CURVE)
    names = [one.name for one in found if one.name not in lower and float(np.mean(one.scores)) <= mean]
    if not names:
        return None
    what = "is" if len(names) == 1 else "are"
    always = {Target.NUMBERS: "the mean", Target.TIMES: "one rate"}.get(kind, "the most frequent class")
    return Hint(
        About.BASELINE,
        (),
        f"{shown(names, 5)} {what} no better than always predicting {always} ({mean:.3g})",
    )


def _warn_of_texts(hints: Sequence[Hint]) -> None:
    """Warn of what was read from the texts of the whole table; the folds follow it without a word."""
    told = [hint for hint in hints if hint.about in (About.READ, About.IN_THE_WAY, About.OPEN)]
    if told:
        warnings.warn(DataWarning("; ".join(map(str, told)), told), stacklevel=3)


def _numbers(values: Any, n_rows: int) -> FloatArray | None:
    """The rows as numbers, if they could be read as such; ValueError if there are not ``n_rows``."""
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return None
    if values.shape[0] != n_rows:
        raise ValueError(f"X has {values.shape[0]} rows and y has {n_rows} labels: pass one label for each row")
    return values


def _scorers(kind: Target, scoring: Any) -> Callable[[Any], Any]:
    """The function from a model to its score."""
    if kind is not Target.TIMES:
        return partial(check_scoring, scoring=scoring)
    score = scorer(scoring)
    return lambda model: score


def _score(score: Any, fit: Any, X: Any, labels: npt.NDArray[Any], weights: Any, test: Any) -> float:
    """The score of a fitted model on the rows that a fold holds out."""
    more = {} if weights is None else {"sample_weight": weights[test]}
    return float(score(fit, _safe_indexing(X, test), labels[test], **more))


def _limits_reached(exact: int, grown: int) -> str:
    """What is said if fits of exact learners, or of ensembles, reached their limit; empty if none did."""
    said = []
    if exact:
        said.append(
            f"{exact} fits of exact learners reached their limit before the proof: their models are the best found"
        )
    if grown:
        said.append(
            f"{grown} fits of forests or boosted trees reached their limit: they have fewer trees than asked for"
        )
    return f"{'; '.join(said)}. Raise {parameter('time_limit')} to complete them" if said else ""


def _fitted(
    name: str,
    model: BaseEstimator,
    X: Any,
    labels: npt.NDArray[Any],
    weights: npt.NDArray[Any] | None,
    train: Any,
    fold: int,
    notes: dict[str, None],
) -> tuple[Any, float]:
    """Fit a copy of ``model`` on the training rows of a fold; return it, and the seconds of the fit.

    Warnings about the columns of the first fold are added to ``notes``; other warnings are raised again.
    """
    fit = clone(model)
    given: dict[str, Any] = {}
    if weights is not None:
        step = f"{fit.steps[-1][0]}__" if isinstance(fit, Pipeline) else ""
        given = {f"{step}sample_weight": weights[train]}
    rows = _safe_indexing(X, train)
    started = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", DataWarning)
            warnings.simplefilter("ignore", OptimalityWarning)  # counted, and reported once
            fit.fit(rows, labels[train], **given)
    except Exception as error:
        error.add_note(f"the model {name!r} raised this error in fold {fold}")
        raise
    seconds = time.perf_counter() - started
    learner = _last(fit)
    if isinstance(learner, FittedModel) and (
        learner.result_.stats.stopped_by == "interrupt" or getattr(learner, "_interrupted", False)
    ):
        raise KeyboardInterrupt  # the learner ended normally after Ctrl-C; end the comparison too
    for note in said:
        if not issubclass(note.category, DataWarning):
            warnings.warn(note.message, note.category, stacklevel=3)
        elif fold == 0:
            notes[str(note.message)] = None
    return fit, seconds


def _is_cut(fit: Any) -> bool:
    """Whether a time limit ended the growth of an ensemble."""
    fit = fit.fitted_ if isinstance(fit, RatesOfTimes) else fit
    last = fit.steps[-1][1] if isinstance(fit, Pipeline) else fit
    return isinstance(last, Growing) and last.cut_


def _last(fit: Any) -> Any:
    """The model inside ``fit``: the last step of a pipeline, the best estimator of a search, or ``fit`` itself."""
    while True:
        if isinstance(fit, Pipeline):
            fit = fit.steps[-1][1]
        elif isinstance(fit, Growing):
            fit = fit.ensemble_
        elif isinstance(fit, RatesOfTimes):
            fit = fit.fitted_
        elif isinstance(fit, TransformedTargetRegressor):
            fit = fit.regressor_
        elif isinstance(fit, GridSearchCV):
            fit = fit.best_estimator_
        else:
            return fit


def leaves_of(fit: Any) -> int | None:
    """The number of leaves in all trees of a fitted model; None if they cannot be counted."""
    fit = _last(fit)
    if isinstance(fit, (HistGradientBoostingClassifier, HistGradientBoostingRegressor)):
        return int(sum(tree.get_n_leaf_nodes() for trees in fit._predictors for tree in trees))
    if isinstance(fit, (DummyClassifier, DummyRegressor)):
        return 1
    if hasattr(fit, "get_n_leaves"):
        return int(fit.get_n_leaves())
    trees = getattr(fit, "estimators_", None)
    if trees is None:
        return None
    counts = [leaves_of(tree) for tree in np.ravel(np.asarray(trees, dtype=object))]
    return None if any(count is None for count in counts) else sum(count or 0 for count in counts)


def _proof(fits: list[FittedModel]) -> str:
    """A text that says what is proved about the fits of one learner; empty without fits."""
    if not fits:
        return ""
    proved = sum(reporting.proved(fit) for fit in fits)
    tests = " for these tests" if any(fit.result_.scope for fit in fits) else ""
    told = f"optimal{tests} in {proved} of {len(fits)} folds"
    if proved == len(fits):
        return told
    gaps = [fit.result_.gap / fit.result_.objective for fit in fits if fit.result_.gap > 0 and fit.result_.objective]
    widest = f", gap up to {math.ceil(100 * max(gaps))}%" if gaps else ""
    return f"{told}{widest}"
