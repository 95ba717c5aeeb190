"""Explanations of random models where an isolation forest says what is plausible; the checks of ``explanations``.

A forest is learned from the rows of the model, with a random share of outliers or a random least score; its own
predictions for the whole grid say which rows count. Ties of its score with the least one are common.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import Pipeline, make_pipeline

from proofwood import Explainer
from proofwood.ensembles.door import Admitted
from tests.fuzz import explanations

MODELS = (
    explanations.histogram_boosting, explanations.xgboost, explanations.lightgbm, explanations.forest,
    explanations.pipeline, explanations.pipeline, explanations.own,
)  # fmt: skip


def outliers(case: explanations.Case, rng: np.random.Generator) -> Any:
    """An isolation forest over the columns of a case, now and then with a least score; None where it takes none."""
    forest = IsolationForest(
        n_estimators=int(rng.integers(1, 4)), max_samples=int(rng.integers(3, 7)), random_state=int(rng.integers(99)),
        contamination=float(rng.choice([0.05, 0.2, 0.4])), max_features=float(rng.choice([0.5, 1.0])),
    )  # fmt: skip
    if isinstance(case.model, Pipeline):
        forest.fit(np.asarray(case.model[:-1].transform(case.X)))
        whole: Any = make_pipeline(*(step for _, step in case.model.steps[:-1]), forest)
    elif hasattr(case.X, "columns") and not all(kind.kind in "fi" for kind in map(np.dtype, _plain_types(case.X))):
        return None
    else:
        whole = forest.fit(case.X)
    if rng.random() < 0.4:
        return whole, float(np.quantile(whole.score_samples(case.X), rng.choice([0.0, 0.3, 0.6])))
    return whole


def _plain_types(X: Any) -> list[Any]:
    return [kind if isinstance(kind, np.dtype) else object for kind in X.dtypes]


def check(case: explanations.Case, rng: np.random.Generator, counts: Counter[str]) -> None:
    """Ask everything about some plausible rows of a case, and for changes of some that are not."""
    stated = outliers(case, rng)
    if stated is None:
        counts["categories"] += 1
        return
    explainer = Explainer(case.model, **case.options, plausible=stated)
    possible: Callable[[Any], Any] = explainer.model.are_plausible
    rows = explainer.model.read(case.X)
    X = case.X[possible(rows)]
    explanations.check(
        replace(case, X=X, options={**case.options, "plausible": stated}, possible=possible), rng, counts
    )
    explainer = Explainer(explainer.model.with_gaps_of(rows))
    grid = explanations.Grid(explainer, rng, possible)
    if grid.size > explanations.MOST_ROWS or not len(grid.rows):
        return
    for x in rows[~possible(rows)][:2]:
        read = Explainer(case.model, **case.options, plausible=stated).model
        explainer = Explainer(read.with_gaps_of(x[np.newaxis]))
        _change_outlier(explainer, x, possible, rng, counts)


def _change_outlier(
    explainer: Explainer, x: Any, possible: Callable[[Any], Any], rng: np.random.Generator, counts: Counter[str]
) -> None:
    """The nearest plausible row of another class, from a row that is not plausible."""
    grid = explanations.Grid(explainer, rng, possible)
    if grid.size > explanations.MOST_ROWS or not len(grid.rows):
        return
    model = explainer.model
    code = int(model.predict_codes(x[np.newaxis])[0])
    checks = explanations.Checks(explainer, grid, 0, counts)
    checks.x, checks.row = x, Admitted.one(x, code)
    for metric in ("l1", "l2", "linf"):
        found = explainer.counterfactual(checks.row, metric=metric)
        counts[f"from an outlier: {found.status}"] += 1
        least = checks.least_distance(grid.codes != code, metric)
        near = 1e-9 * least if np.isfinite(least) else 0.0
        if found.status == "none":
            assert least == np.inf, f"a plausible row at the distance {least} has another class"
        elif found.witness is not None and found.exact:
            assert possible(found.witness[np.newaxis])[0], "the row found is not plausible"
            assert found.distance >= least - near, f"the distance is {found.distance}, and none is below {least}"
            assert found.lower_bound <= least + near, f"bound {found.lower_bound}, but {least} is enough"
            if found.status == "optimal":
                assert found.distance <= least + near, f"the distance is {found.distance}, but {least} is enough"


def one_case(number: int) -> Counter[str]:
    """How many models, rows, and explanations of each status a case had; AssertionError at the first fault."""
    return explanations.counted(number, check, models=MODELS)
