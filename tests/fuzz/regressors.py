"""Models that predict numbers, probabilities that matter, and further ensembles, asked at random and checked by rows.

The checks are those of :mod:`tests.fuzz.explanations`: every answer is compared with the real model's predictions for
all cells of its grid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from proofwood import Explainer
from tests.fuzz import explanations
from tests.fuzz.explanations import MOST_ROWS, Case, Grid, check, table

Learn = Callable[[np.random.Generator], Any]


def _numbers_for(rng: np.random.Generator, y: Any) -> Any:
    """Numbers above 0 that follow the classes of a table."""
    values = y + rng.gamma(2.0, 0.3, len(y))
    return np.round(values, int(rng.integers(0, 4))) + 0.5


def target_for(rng: np.random.Generator, predicted: Any) -> Any:
    """A question about numbers near those that are predicted, often exactly one of them."""
    low, high = sorted(float(rng.choice(predicted)) + rng.choice([0.0, 0.0, 0.1]) * rng.normal() for _ in range(2))
    low, high = max(low, 0.01), max(high, 0.01)
    kind = str(rng.choice([">=", ">", "<=", "<", "between", "bands"]))
    if kind == "between":
        return kind, low, high
    if kind == "bands":
        return sorted({low, high, low / 2, high * 1.5})
    return kind, low


def _asked(model: Any, X: Any, rng: np.random.Generator, told: str) -> Case:
    return asked_of(model, X, rng, told, np.asarray(model.predict(X), dtype=float))


def asked_of(model: Any, X: Any, rng: np.random.Generator, told: str, predicted: Any) -> Case:
    """A question about the numbers of a model, given those of some rows."""
    return Case(model, X, told, {"target": target_for(rng, predicted)})


def regressor(rng: np.random.Generator) -> Case:
    """Trees, forests, bagged and boosted trees of scikit-learn, and means of these."""
    kinds = ["tree", "forest", "extra", "bagging", "boosting", "voting"]
    kind = str(rng.choice(kinds))
    X, y = table(rng, categories=False, gaps=0.3 if kind in ("tree", "forest", "extra") and rng.random() < 0.4 else 0.0)
    y, depth, n = _numbers_for(rng, y), int(rng.integers(1, 4)), int(rng.integers(1, 6))
    tree = DecisionTreeRegressor(max_depth=depth, random_state=0)
    models: dict[str, Any] = {
        "tree": tree,
        "forest": RandomForestRegressor(n, max_depth=depth, random_state=0, n_jobs=1),
        "extra": ExtraTreesRegressor(n, max_depth=depth, random_state=0, n_jobs=1),
        "bagging": BaggingRegressor(tree, n, max_features=0.7, random_state=0),
        "boosting": GradientBoostingRegressor(
            n_estimators=n,
            max_depth=depth,
            random_state=0,
            loss=str(rng.choice(["squared_error", "huber", "quantile"])),
        ),
    }
    models["voting"] = VotingRegressor(
        [("a", models["tree"]), ("b", models["forest"]), ("c", models["boosting"])],
        weights=None if rng.random() < 0.5 else [1, 0.3, 2],
    )
    return _asked(models[kind].fit(X, y), X, rng, f"{kind} regressor")


def histogram_regressor(rng: np.random.Generator) -> Case:
    """HistGradientBoosting with gaps, categories, and a logarithm for a link."""
    X, y = table(rng, categories=rng.random() < 0.5, gaps=float(rng.choice([0.0, 0.3])))
    named = [name for name in X.columns if name[0] == "c"] if hasattr(X, "columns") else None
    model = HistGradientBoostingRegressor(
        loss=str(rng.choice(["squared_error", "absolute_error", "poisson", "gamma"])), max_iter=int(rng.integers(1, 5)),
        max_leaf_nodes=int(rng.integers(2, 6)), min_samples_leaf=1, categorical_features=named, early_stopping=False,
    )  # fmt: skip
    return _asked(model.fit(X, _numbers_for(rng, y)), X, rng, "histogram regressor")


def pipeline_regressor(rng: np.random.Generator) -> Case:
    """A forest of numbers, or of probabilities that matter, behind an imputer and an encoder."""
    X, y = table(rng, categories=True, gaps=0.3)
    named, numeric = ([name for name in X.columns if name[0] == kind] for kind in "cx")
    X[named] = X[named].fillna("u")
    given = [(SimpleImputer(strategy="median"), numeric), (OneHotEncoder(handle_unknown="ignore"), named)]
    made = make_column_transformer(*[part for part in given if part[1]], sparse_threshold=0)
    n = int(rng.integers(1, 5))
    if rng.random() < 0.5:
        model = make_pipeline(made, RandomForestRegressor(n, max_depth=3, random_state=0)).fit(X, _numbers_for(rng, y))
        return _asked(model, X, rng, "pipeline of a regressor")
    last: Any = RandomForestClassifier(n, max_depth=3, random_state=0)
    if len(np.unique(y)) == 2 and rng.random() < 0.5:
        last = GradientBoostingClassifier(n_estimators=n, max_depth=2, random_state=0)
    return _sure(make_pipeline(made, last).fit(X, y), X, rng, "pipeline with confidence")


def _sure(model: Any, X: Any, rng: np.random.Generator, told: str, vote: str = "auto") -> Case:
    """A probability that is asked for: some that the model gives, or any."""
    given = np.unique(np.asarray(model.predict_proba(X), dtype=float).max(axis=1))
    level = float(rng.choice(given)) if rng.random() < 0.6 else float(rng.uniform(0.5, 0.95))
    return Case(model, X, told, {"confidence": min(max(level, 0.51), 0.99), "vote": vote})


def confident(rng: np.random.Generator) -> Case:
    """Trees, forests, votes and boosted trees whose probability matters."""
    X, y = table(rng, categories=False, gaps=0.0)
    depth, n = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
    forest = RandomForestClassifier(n, max_depth=depth, random_state=0)
    models: list[Any] = [tree, forest, BaggingClassifier(tree, n, random_state=0)]
    models.append(VotingClassifier([("a", tree), ("b", forest)], voting="soft", weights=[0.7, 2]))
    if len(np.unique(y)) == 2:
        models.append(GradientBoostingClassifier(n_estimators=n, max_depth=depth, random_state=0))
        models.append(HistGradientBoostingClassifier(max_iter=n, min_samples_leaf=1))
    model = models[int(rng.integers(len(models)))].fit(X, y)
    vote = "majority" if model is forest and rng.random() < 0.5 else "auto"
    return _sure(model, X, rng, f"confident {type(model).__name__}", vote)


def further(rng: np.random.Generator) -> Case:
    """AdaBoost, votes, and isolation forests."""
    X, y = table(rng, categories=False, gaps=0.0)
    depth, n = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
    forest = RandomForestClassifier(n, max_depth=depth, random_state=0)
    extra = ExtraTreesClassifier(n, max_depth=depth, random_state=1)
    other = DecisionTreeClassifier(max_depth=1, random_state=1, splitter="random")
    weights = None if rng.random() < 0.5 else [1, 0.4, 0.7]
    models: list[Any] = [
        AdaBoostClassifier(tree, n_estimators=n, random_state=0),
        VotingClassifier([("a", tree), ("b", forest), ("c", extra)], voting="soft", weights=weights),
        VotingClassifier([("a", tree), ("b", other), ("c", clone_of(tree))], voting="hard", weights=weights),
        IsolationForest(
            n_estimators=n, max_samples=min(len(X), 8), contamination=0.2, random_state=0, max_features=0.8
        ),
        IsolationForest(n_estimators=n, max_samples=min(len(X), 8), random_state=0),
    ]
    model = models[int(rng.integers(len(models)))]
    return Case(model.fit(X, y), X, type(model).__name__)


def clone_of(tree: Any) -> Any:
    """The same kind of tree, learned with another seed."""
    return clone(tree).set_params(random_state=5, max_features=1)


def xgboost_regressor(rng: np.random.Generator) -> Case:
    """XGBoost with all kinds of objectives that predict numbers, and further ones with two classes."""
    from xgboost import XGBClassifier, XGBRegressor, XGBRFRegressor

    X, y = table(rng, categories=False, gaps=float(rng.choice([0.0, 0.3])))
    given: dict[str, Any] = {
        "n_estimators": int(rng.integers(1, 5)), "max_depth": int(rng.integers(1, 4)), "min_child_weight": 0,
        "n_jobs": 1, "random_state": 0,
    }  # fmt: skip
    if rng.random() < 0.3:
        objective = str(rng.choice(["binary:logitraw", "binary:hinge"]))
        return Case(
            XGBClassifier(objective=objective, **given).fit(
                X, y % 2 if len(set(y % 2)) == 2 else np.arange(len(y)) % 2
            ),
            X,
            objective,
        )
    if rng.random() < 0.3:
        model = XGBClassifier(**given).fit(X, (y > 0).astype(int))
        return _sure(model, X, rng, "xgboost with confidence")
    numbers = _numbers_for(rng, y)
    kinds = ["reg:squarederror", "reg:absoluteerror", "reg:gamma", "count:poisson", "reg:tweedie", "reg:logistic"]
    objective = str(rng.choice(kinds))
    numbers = numbers / (numbers.max() + 1) if objective == "reg:logistic" else numbers
    kind = XGBRFRegressor if rng.random() < 0.2 and objective == "reg:squarederror" else XGBRegressor
    case = _asked(kind(objective=objective, **given).fit(X, numbers), X, rng, f"{kind.__name__} {objective}")
    return _below_one(case) if objective == "reg:logistic" else case


def _below_one(case: Case) -> Case:
    """The same question with numbers below 1."""
    target = case.options["target"]
    first = [part for part in target if isinstance(part, str)]
    numbers = [min(float(part), 0.99) for part in target if not isinstance(part, str)]
    asked = (*first, *numbers) if first else sorted(set(numbers))
    return Case(case.model, case.X, case.told, {"target": asked})


def lightgbm_regressor(rng: np.random.Generator) -> Case:
    """LightGBM with all kinds of objectives that predict numbers, and several classes one against all."""
    from lightgbm import LGBMClassifier, LGBMRegressor
    from lightgbm.basic import LightGBMError

    X, y = table(rng, categories=False, gaps=float(rng.choice([0.0, 0.3])))
    given: dict[str, Any] = {
        "n_estimators": int(rng.integers(1, 5)), "num_leaves": int(rng.integers(2, 7)), "min_child_samples": 1,
        "min_data_in_bin": 1, "min_child_weight": 0, "n_jobs": 1, "verbose": -1,
    }  # fmt: skip
    if rng.random() < 0.3 and len(np.unique(y)) > 2:
        return Case(LGBMClassifier(objective="multiclassova", **given).fit(X, y), X, "multiclassova")
    if rng.random() < 0.3:
        model = LGBMClassifier(**given).fit(X, (y > 0).astype(int))
        return _sure(model, X, rng, "lightgbm with confidence")
    if rng.random() < 0.3:
        given |= {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.7}
    objective = str(rng.choice(["regression", "regression_l1", "huber", "quantile", "poisson", "gamma", "tweedie"]))
    numbers = _numbers_for(rng, y)
    try:
        model = LGBMRegressor(objective=objective, **given).fit(X, numbers)
    except LightGBMError:  # its check of a split fails for leaves of no weight
        model = LGBMRegressor(objective="regression", **given).fit(X, numbers)
    return _asked(model, X, rng, f"lightgbm {model.objective}")


def check_range(case: Case, rng: np.random.Generator, counts: Counter[str]) -> None:
    """The least and the greatest number or probability are those of the cells of the grid, or those of some of them."""
    explainer = Explainer(case.model, X=case.X, **case.options)
    model = explainer.model
    if model.adapted.output is None:
        return
    grid = Grid(explainer, rng)
    if grid.size > MOST_ROWS:
        return
    outputs = model.outputs_of(grid.rows)
    classes = model.adapted.forest.classes.tolist()
    target = None
    if classes:
        code = int(rng.integers(len(classes)))
        target, outputs = classes[code], outputs[:, code]
    for where in ({}, some_values(explainer, grid, rng)):
        inside = rows_with(explainer, grid, where)
        found = explainer.range(where, target=target)
        counts[f"range exact={found.exact}"] += 1
        low, high = float(outputs[inside].min()), float(outputs[inside].max())
        near = 1e-5 * max(1.0, abs(low), abs(high))
        assert found.exact
        assert found.least <= low <= found.least + near, (where, low, found)
        assert found.greatest - near <= high <= found.greatest, (where, high, found)
        assert abs(found.low - low) <= near, (where, low, found)
        assert abs(found.high - high) <= near, (where, high, found)
        assert float(model.outputs_of(found.low_row[np.newaxis])[0].flat[0 if target is None else code]) == found.low


def rows_with(explainer: Explainer, grid: Grid, where: dict[str, Any]) -> Any:
    """Which rows of the grid have some values."""
    inputs = explainer.model.inputs
    names = [given.name for given in inputs]
    inside = np.ones(len(grid.rows), dtype=bool)
    for name, value in where.items():
        given = inputs[names.index(name)]
        inside &= grid.rows[:, names.index(name)] == (given.levels.index(value) if given.levels else value)
    return inside


def some_values(explainer: Explainer, grid: Grid, rng: np.random.Generator) -> dict[str, Any]:
    """The values of a row of the grid in some columns in which it has one."""
    row = grid.rows[int(rng.integers(len(grid.rows)))]
    where: dict[str, Any] = {}
    for given, value in zip(explainer.model.inputs, row.tolist(), strict=True):
        if rng.random() < 0.5 and not np.isnan(value) and (not given.levels or value < len(given.levels)):
            where[given.name] = given.levels[int(value)] if given.levels else value
    return where


def catboost(rng: np.random.Generator) -> Case:
    """CatBoost of classes and numbers, with gaps, and trees that are not the same on a level."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    X, y = table(rng, categories=False, gaps=float(rng.choice([0.0, 0.3])))
    if all(len(np.unique(column)) < 2 for column in X.T):  # CatBoost refuses a table of constants
        X = np.arange(len(X), dtype=float)[:, np.newaxis]
    given: dict[str, Any] = {
        "iterations": int(rng.integers(1, 5)), "depth": int(rng.integers(1, 4)), "verbose": 0, "thread_count": 1,
        "grow_policy": str(rng.choice(["SymmetricTree", "SymmetricTree", "Depthwise", "Lossguide"])),
        "nan_mode": str(rng.choice(["Min", "Max"])), "allow_writing_files": False,
    }  # fmt: skip
    if rng.random() < 0.5:
        loss = str(rng.choice(["RMSE", "MAE", "Poisson", "Quantile"]))
        model = CatBoostRegressor(loss_function=loss, **given).fit(X, _numbers_for(rng, y))
        return _asked(model, X, rng, f"catboost {loss}")
    model = CatBoostClassifier(**given).fit(X, y)
    if len(np.unique(y)) == 2 and rng.random() < 0.5:
        return _sure(model, X, rng, "catboost with confidence")
    return Case(model, X, "catboost of classes")


def catboost_categories(rng: np.random.Generator) -> Case:
    """CatBoost of numbers and of categories that are tested one by one."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    X, y = table(rng, categories=True, gaps=0.0)
    named = [name for name in X.columns if name[0] == "c"]
    if named and rng.random() < 0.3:
        X[named[0]] = np.array([3, 7, 12])[rng.integers(0, 3, len(X))]
    X["x9"] = np.arange(len(X), dtype=float) % 5
    given: dict[str, Any] = {
        "iterations": int(rng.integers(1, 6)), "depth": int(rng.integers(1, 4)), "verbose": 0, "thread_count": 1,
        "grow_policy": str(rng.choice(["SymmetricTree", "Depthwise", "Lossguide"])), "one_hot_max_size": 20,
        "allow_writing_files": False, "cat_features": named, "learning_rate": 0.5,
    }  # fmt: skip
    if rng.random() < 0.3:
        made = CatBoostRegressor(**given).fit(X, _numbers_for(rng, y))
        return replace(_asked(made, X, rng, "catboost of categories, numbers"), needs_rows=True)
    model = CatBoostClassifier(**given).fit(X, y)
    if len(np.unique(y)) == 2 and rng.random() < 0.3:
        return replace(_sure(model, X, rng, "catboost of categories with confidence"), needs_rows=True)
    return Case(model, X, "catboost of categories", needs_rows=True)


def calibrated(rng: np.random.Generator) -> Case:
    """Forests, trees and boosted trees whose probability is calibrated by a monotone function."""
    X, y = table(rng, categories=False, gaps=0.0)
    y = y == y[0] if rng.random() < 0.5 else y > np.median(y) - 0.5
    y[:3], y[3:6] = True, False
    depth, n = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    models: list[Any] = [
        DecisionTreeClassifier(max_depth=depth, random_state=0),
        RandomForestClassifier(n, max_depth=depth, random_state=0),
        GradientBoostingClassifier(n_estimators=n, max_depth=depth, random_state=0),
        HistGradientBoostingClassifier(max_iter=n, min_samples_leaf=1),
    ]
    inner = models[int(rng.integers(len(models)))]
    method = str(rng.choice(["sigmoid", "isotonic"]))
    model = CalibratedClassifierCV(inner, method=method, ensemble=False, cv=3).fit(X, y)
    return Case(model, X, f"calibrated {type(inner).__name__} {method}")


def binned(rng: np.random.Generator) -> Case:
    """Pipelines that cut columns into bins."""
    X, y = table(rng, categories=False, gaps=0.0)
    bins = KBinsDiscretizer(int(rng.integers(2, 6)), encode="ordinal", strategy="uniform")
    steps = [bins] if rng.random() < 0.5 else [StandardScaler(), bins, StandardScaler()]
    forest = RandomForestClassifier(int(rng.integers(1, 6)), max_depth=3, random_state=0)
    return Case(make_pipeline(*steps, forest).fit(X, y), X, "bins in a pipeline")


MODELS: tuple[Callable[[np.random.Generator], Case], ...] = (
    regressor, histogram_regressor, pipeline_regressor, confident, further, xgboost_regressor, lightgbm_regressor,
    catboost, calibrated, binned, catboost_categories,
)  # fmt: skip


def one_case(number: int) -> Counter[str]:
    """How many models, rows, and explanations of each status a case had; AssertionError at the first fault."""
    return explanations.counted(number, check, check_range, models=MODELS)
