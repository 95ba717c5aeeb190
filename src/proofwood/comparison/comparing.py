"""``compare``: fits classifiers on the same folds, and scores them on the rows that each fold holds out."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import _safe_indexing

from proofwood.comparison.growing import GrowingEnsemble
from proofwood.comparison.one_hot import OneHotTable
from proofwood.comparison.result import ComparedModel, Comparison
from proofwood.data.schema import forms_of, training_table
from proofwood.data.targets import banded
from proofwood.estimators.choice import score_name
from proofwood.estimators.classifier import FittedClassifier
from proofwood.estimators.folds import baseline_score, folds_of, require_score
from proofwood.estimators.input import classes_and_codes, features_and_labels, labels_of, with_row_index
from proofwood.estimators.optimal_tree import OptimalTreeClassifier
from proofwood.estimators.optimal_tree_cv import OptimalTreeCV
from proofwood.estimators.reporting import told_lines
from proofwood.exceptions import DataError, DataWarning, OptimalityWarning
from proofwood.hints import About, Hint, parameter
from proofwood.model.node_table import FloatArray
from proofwood.printable import shown
from proofwood.result import Status

PRUNING = (0.0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)
"""The values of ``ccp_alpha`` among which cross-validation chooses for the pruned tree of scikit-learn."""
UNBOUNDED = (-np.inf, np.inf)
SHARES = dict.fromkeys(("accuracy", "balanced accuracy", "roc auc", "f1", "precision", "recall"), (0.0, 1.0))
"""The least and the greatest possible value of each score that has a known range."""
REFERENCE, BASELINE = "optimal tree, size chosen", "most frequent class"
"""Names of models that are compared by default: the one that others are measured by, and the lower reference."""


def default_models(
    *,
    time_limit: float | None = 10.0,
    categorical_features: Any = None,
    drop: Any = None,
    missing_values: Any = None,
    written_as: Mapping[Any, str | None] | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> dict[str, BaseEstimator]:
    """The classifiers that :func:`compare` compares by default, by name.

    They are optimal trees of depth 2 and 3 and one whose size is chosen by cross-validation; trees of scikit-learn
    (CART) of the same depths and one that is pruned by cross-validation; a random forest and boosted trees, as an upper
    reference; and the most frequent class, as a lower reference. Classifiers of scikit-learn get the table through
    :class:`OneHotTable`; forest and boosted trees are a :class:`GrowingEnsemble`.

    Parameters
    ----------
    time_limit : float or None
        Seconds for each fit of an optimal tree, a forest or boosted trees.
    categorical_features, drop, missing_values, written_as : as for the learners
    random_state : int
        Seed of the CART trees, the forest and the boosted trees.
    n_jobs : int or None
        Number of threads.
    """
    table: dict[str, Any] = {
        "categorical_features": categorical_features,
        "drop": drop,
        "missing_values": missing_values,
        "written_as": written_as,
    }
    exact: dict[str, Any] = {**table, "time_limit": time_limit, "n_jobs": n_jobs}

    def on_numbers(classifier: BaseEstimator) -> Pipeline:
        return make_pipeline(OneHotTable(**table), classifier)

    pruned = GridSearchCV(DecisionTreeClassifier(random_state=random_state), {"ccp_alpha": list(PRUNING)})
    forest = RandomForestClassifier(random_state=random_state, n_jobs=n_jobs)
    boosted = HistGradientBoostingClassifier(random_state=random_state)
    return {
        REFERENCE: OptimalTreeCV(**exact),
        "optimal tree, depth 2": OptimalTreeClassifier(2, **exact),
        "optimal tree, depth 3": OptimalTreeClassifier(3, **exact),
        "CART, depth 2": on_numbers(DecisionTreeClassifier(max_depth=2, random_state=random_state)),
        "CART, depth 3": on_numbers(DecisionTreeClassifier(max_depth=3, random_state=random_state)),
        "CART, pruned": on_numbers(pruned),
        "random forest": on_numbers(GrowingEnsemble(forest, time_limit)),
        "boosted trees": on_numbers(GrowingEnsemble(boosted, time_limit)),
        BASELINE: on_numbers(DummyClassifier(strategy="most_frequent")),
    }


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
    """Compare classifiers on the same folds: accuracy with an interval, leaves, seconds, and what is proved.

    Parameters
    ----------
    X : (n_samples, n_features) an array, or a frame with columns of any kind
    y : (n_samples,) labels, or the name of the column of labels
    models : dict from name to classifier; :func:`default_models` by default. Each is fitted on ``X`` without changes
    reference : name of the model that the others are compared with; by default the first
    sample_weight : (n_samples,) weights, for fits and scores
    groups : (n_samples,) group of each row; no fold divides a group
    cv : int, splitter or iterable of (train, test)
        A number of folds, shuffled and with equal shares of the classes, or a splitter, as in scikit-learn. A number
        with ``groups`` keeps each group in one fold, and gives the same folds for any order of the rows, if the
        learners can read ``X``. Repeated folds (``RepeatedStratifiedKFold``) give narrower
        intervals.
    scoring : str, function of (classifier, X, y), or None
        The score, as in scikit-learn; None means accuracy.
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
    X, y = features_and_labels(X, y)
    X = with_row_index(X)
    table: dict[str, Any] = {
        "categorical_features": categorical_features,
        "drop": drop,
        "missing_values": missing_values,
        "written_as": written_as,
    }
    values: Any = None
    if models is None:
        values, schema, hints = training_table(X, **table)
        _warn_of_texts(hints)
        table["written_as"] = forms_of(schema)  # parts of the table are read as the whole
        models = default_models(time_limit=time_limit, **table, random_state=random_state, n_jobs=n_jobs)
    else:
        with suppress(DataError):  # a table for other models: its rows are shuffled as they stand
            values = training_table(X, **table)[0]
    if not isinstance(models, Mapping) or not models:
        raise ValueError(f"models={models!r}: expected a mapping from names to classifiers, with at least one")
    names = list(models)
    reference = names[0] if reference is None else reference
    if reference not in models:
        raise ValueError(f"reference={reference!r} is not a model: expected one of {', '.join(map(repr, names))}")
    labels, _ = banded(np.asarray(labels_of(y)).reshape(-1), bands)
    classes, _ = classes_and_codes(labels)  # raises an error before any fit if these are not classes
    require_score(scoring, classes)
    weights = None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, float), labels.shape)
    values = _numbers(values, labels.size)
    # Each in the order of the table, as hints are about the order of rows.
    folds = [(np.sort(train), np.sort(test)) for train, test in folds_of(cv, X, labels, groups, random_state, values)]
    found: list[ComparedModel] = []
    cut = {"exact": 0, "grown": 0}
    notes: dict[str, None] = {}
    with told_lines(verbose) as tell:
        for name, model in models.items():
            scorer = check_scoring(model, scoring=scoring)
            fits = []
            for k, (train, _) in enumerate(folds):
                tell(f"{name}: fold {k + 1} of {len(folds)}")
                fits.append(_fitted(name, model, X, labels, weights, train, k, notes))
            scores = [
                _score(scorer, fit, X, labels, weights, test) for (fit, _), (_, test) in zip(fits, folds, strict=True)
            ]
            exact = [_last(fit) for fit, _ in fits if isinstance(_last(fit), FittedClassifier)]
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
    if useless := _no_better(found, labels, folds, scoring, weights):
        warnings.warn(DataWarning(str(useless), [useless]), stacklevel=2)
    said = _limits_reached(**cut)
    if said:
        warnings.warn(said, OptimalityWarning, stacklevel=2)
    share = float(np.mean([len(test) / len(train) for train, test in folds]))
    score = score_name(scoring)
    return Comparison(tuple(found), reference, score, share, labels.size, SHARES.get(score, UNBOUNDED))


def _no_better(
    found: Sequence[ComparedModel], labels: npt.NDArray[Any], folds: Sequence[Any], scoring: Any, weights: Any
) -> Hint | None:
    """A hint about the models that score no more than always predicting the most frequent class; None if all do."""
    scorer = check_scoring(DummyClassifier(), scoring=scoring)
    baselines = [
        baseline_score(scorer, labels[train], labels[test], None if weights is None else weights[test])
        for train, test in folds
    ]
    mean = float(np.mean(baselines))
    names = [one.name for one in found if one.name != BASELINE and float(np.mean(one.scores)) <= mean]
    if not names:
        return None
    what = "is" if len(names) == 1 else "are"
    return Hint(
        About.BASELINE,
        (),
        f"{shown(names, 5)} {what} no better than always predicting the most frequent class ({mean:.3g})",
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


def _score(scorer: Any, fit: Any, X: Any, labels: npt.NDArray[Any], weights: Any, test: Any) -> float:
    """The score of a fitted model on the rows that a fold holds out."""
    more = {} if weights is None else {"sample_weight": weights[test]}
    return float(scorer(fit, _safe_indexing(X, test), labels[test], **more))


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
    if isinstance(learner, FittedClassifier) and (
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
    last = fit.steps[-1][1] if isinstance(fit, Pipeline) else fit
    return isinstance(last, GrowingEnsemble) and last.cut_


def _last(fit: Any) -> Any:
    """The classifier inside ``fit``: the last step of a pipeline, the best estimator of a search, or ``fit`` itself."""
    while True:
        if isinstance(fit, Pipeline):
            fit = fit.steps[-1][1]
        elif isinstance(fit, GrowingEnsemble):
            fit = fit.classifier_
        elif isinstance(fit, GridSearchCV):
            fit = fit.best_estimator_
        else:
            return fit


def leaves_of(fit: Any) -> int | None:
    """The number of leaves in all trees of a fitted classifier; None if they cannot be counted."""
    fit = _last(fit)
    if isinstance(fit, HistGradientBoostingClassifier):
        return int(sum(tree.get_n_leaf_nodes() for trees in fit._predictors for tree in trees))
    if isinstance(fit, DummyClassifier):
        return 1
    if hasattr(fit, "get_n_leaves"):
        return int(fit.get_n_leaves())
    trees = getattr(fit, "estimators_", None)
    if trees is None:
        return None
    counts = [leaves_of(tree) for tree in np.ravel(np.asarray(trees, dtype=object))]
    return None if any(count is None for count in counts) else sum(count or 0 for count in counts)


def _proof(fits: list[FittedClassifier]) -> str:
    """A text that says what is proved about the fits of one learner; empty without fits."""
    if not fits:
        return ""
    proved = sum(fit.status_ is Status.OPTIMAL for fit in fits)
    tests = " for these tests" if any(fit.result_.scope for fit in fits) else ""
    told = f"optimal{tests} in {proved} of {len(fits)} folds"
    if proved == len(fits):
        return told
    gaps = [fit.result_.gap / fit.result_.objective for fit in fits if fit.result_.gap > 0 and fit.result_.objective]
    widest = f", gap up to {math.ceil(100 * max(gaps))}%" if gaps else ""
    return f"{told}{widest}"
