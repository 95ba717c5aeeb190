"""The models that :func:`proofwood.compare` compares by default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from proofwood.comparison.growing import GrowingEnsemble, GrowingRegressor
from proofwood.comparison.one_hot import OneHotTable
from proofwood.comparison.survival import RatesOfTimes
from proofwood.estimators.optimal_regressor import OptimalTreeRegressor
from proofwood.estimators.optimal_regressor_cv import OptimalTreeRegressorCV
from proofwood.estimators.optimal_survival import OptimalSurvivalTree
from proofwood.estimators.optimal_survival_cv import OptimalSurvivalTreeCV
from proofwood.estimators.optimal_tree import OptimalTreeClassifier
from proofwood.estimators.optimal_tree_cv import OptimalTreeCV

PRUNING = (0.0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)
"""The values of ``ccp_alpha`` among which cross-validation chooses for the pruned tree of scikit-learn; for numbers as
shares of their variance."""
REFERENCE, BASELINE, MEAN, CURVE = "optimal tree, size chosen", "most frequent class", "mean", "one curve for all"
"""Names of models that are compared by default: the one that others are measured by, and the lower references."""


def default_models(
    *,
    of_numbers: bool = False,
    time_limit: float | None = 10.0,
    categorical_features: Any = None,
    drop: Any = None,
    missing_values: Any = None,
    written_as: Mapping[Any, str | None] | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> dict[str, BaseEstimator]:
    """The models that :func:`compare` compares by default, by name.

    They are optimal trees of depth 2 and 3 and one whose size is chosen by cross-validation; trees of scikit-learn
    (CART) of the same depths and one that is pruned by cross-validation; a random forest and boosted trees, as an upper
    reference; and the most frequent class, or the mean, as a lower reference. Models of scikit-learn get the table
    through :class:`OneHotTable`; forest and boosted trees are a :class:`GrowingEnsemble` or :class:`GrowingRegressor`.

    Parameters
    ----------
    of_numbers : bool
        Whether the target is numbers: regressors instead of classifiers.
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

    def on_numbers(model: BaseEstimator) -> Pipeline:
        return make_pipeline(OneHotTable(**table), model)

    tree = DecisionTreeRegressor if of_numbers else DecisionTreeClassifier
    optimal = OptimalTreeRegressor if of_numbers else OptimalTreeClassifier
    chosen = OptimalTreeRegressorCV if of_numbers else OptimalTreeCV
    forest = RandomForestRegressor if of_numbers else RandomForestClassifier
    boosted = HistGradientBoostingRegressor if of_numbers else HistGradientBoostingClassifier
    growing = GrowingRegressor if of_numbers else GrowingEnsemble
    many = growing(forest(random_state=random_state, n_jobs=n_jobs), time_limit)
    baseline = {MEAN: DummyRegressor()} if of_numbers else {BASELINE: DummyClassifier(strategy="most_frequent")}
    return {
        REFERENCE: chosen(**exact),
        "optimal tree, depth 2": optimal(2, **exact),
        "optimal tree, depth 3": optimal(3, **exact),
        "CART, depth 2": on_numbers(tree(max_depth=2, random_state=random_state)),
        "CART, depth 3": on_numbers(tree(max_depth=3, random_state=random_state)),
        "CART, pruned": on_numbers(_pruned(tree(random_state=random_state), random_state, of_numbers=of_numbers)),
        "random forest": on_numbers(many),
        "boosted trees": on_numbers(growing(boosted(random_state=random_state), time_limit)),
        **{name: on_numbers(model) for name, model in baseline.items()},
    }


def models_of_times(
    *,
    time_limit: float | None = 10.0,
    categorical_features: Any = None,
    drop: Any = None,
    missing_values: Any = None,
    written_as: Mapping[Any, str | None] | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> dict[str, BaseEstimator]:
    """The models that :func:`compare` compares by default if the target is survival times, by name.

    They are optimal trees of depth 2 and 3 and one whose size is chosen by cross-validation; greedy trees of the same
    cost and depths (CART); a random forest and boosted trees of the same cost, as an upper reference; and the curve of
    Kaplan and Meier of all rows, as a lower reference. Models of scikit-learn are :class:`RatesOfTimes`.

    Parameters
    ----------
    time_limit, categorical_features, drop, missing_values, written_as : as in :func:`default_models`
    random_state, n_jobs : as in :func:`default_models`
    """
    table: dict[str, Any] = {
        "categorical_features": categorical_features,
        "drop": drop,
        "missing_values": missing_values,
        "written_as": written_as,
    }
    exact: dict[str, Any] = {**table, "time_limit": time_limit, "n_jobs": n_jobs}

    def of_rates(model: BaseEstimator) -> RatesOfTimes:
        return RatesOfTimes(make_pipeline(OneHotTable(**table), model))

    def greedy(depth: int) -> RatesOfTimes:
        return of_rates(DecisionTreeRegressor(criterion="poisson", max_depth=depth, random_state=random_state))

    forest = RandomForestRegressor(criterion="poisson", random_state=random_state, n_jobs=n_jobs)
    boosted = HistGradientBoostingRegressor(loss="poisson", random_state=random_state)
    return {
        REFERENCE: OptimalSurvivalTreeCV(**exact),
        "optimal tree, depth 2": OptimalSurvivalTree(2, **exact),
        "optimal tree, depth 3": OptimalSurvivalTree(3, **exact),
        "CART, depth 2": greedy(2),
        "CART, depth 3": greedy(3),
        "random forest": of_rates(GrowingRegressor(forest, time_limit)),
        "boosted trees": of_rates(GrowingRegressor(boosted, time_limit)),
        CURVE: of_rates(DummyRegressor()),
    }


def _pruned(tree: BaseEstimator, random_state: int, *, of_numbers: bool) -> GridSearchCV:
    """A tree of scikit-learn that is pruned by cross-validation."""
    if not of_numbers:
        return GridSearchCV(tree, {"ccp_alpha": list(PRUNING)})
    scaled = TransformedTargetRegressor(tree, transformer=StandardScaler())  # prices are in units of the impurity
    folds = KFold(5, shuffle=True, random_state=random_state)
    return GridSearchCV(scaled, {"regressor__ccp_alpha": list(PRUNING)}, cv=folds)
