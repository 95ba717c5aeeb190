"""Make the model files beside this script, with what the library that wrote them says of some rows.

    python tests/boosted/make.py xgboost     # or lightgbm, catboost: the release that is installed

Each release needs an environment of its own, with pandas. A model is LIBRARY-RELEASE-NAME.EXTENSION; the answers of all
models of a release are in LIBRARY-RELEASE.json: the sums before any link, or what is said beside them in ``ask``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
COLOURS = ["red", "green", "blue"]


def rows(n: int = 60) -> Any:
    """Rows of three numbers and the code of a colour: with ties, gaps, and zeros."""
    draw = np.random.RandomState(5)  # the same numbers with every release of NumPy
    X = draw.normal(size=(n, 4)).round(1)
    X[:, 3] = draw.randint(0, 3, n)
    X[::7, 1] = np.nan
    X[::11, 2] = 0.0
    return X


def frame(X: Any) -> pd.DataFrame:
    made = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    return made.assign(colour=pd.Categorical.from_codes(X[:, 3].astype(int), COLOURS))


class Files:
    """Files of a release, and its answers."""

    def __init__(self, module: Any) -> None:
        self.stem = f"{module.__name__}-{module.__version__}"
        self.answers: dict[str, Any] = {}

    def path(self, name: str) -> str:
        return str(HERE / f"{self.stem}-{name}")

    def add(self, name: str, sums: Any) -> None:
        self.answers[f"{self.stem}-{name}"] = np.asarray(sums, dtype=np.float64).reshape(len(X), -1).tolist()

    def write(self) -> None:
        (HERE / f"{self.stem}.json").write_text(json.dumps(self.answers))


def xgboost_files() -> None:
    import xgboost as xgb

    files = Files(xgb)
    common = {"max_depth": 2, "eta": 0.5, "nthread": 1, "tree_method": "hist", "seed": 1}

    def add(name: str, y: Any, data: Any = X[:, :3], rounds: int = 3, **parameters: Any) -> None:
        given = xgb.DMatrix(data, y, enable_categorical=True)
        booster = xgb.train({**common, **parameters}, given, rounds)
        booster.save_model(files.path(name))
        files.add(name, booster.predict(given, output_margin=True))

    add("binary.json", two, objective="binary:logistic")
    add("binary.ubj", two, objective="binary:logistic")
    add("classes.ubj", three, objective="multi:softprob", num_class=3, num_parallel_tree=2, subsample=0.8)
    add("dart.json", two, rounds=6, booster="dart", rate_drop=0.5, objective="binary:logistic")
    add("dart.ubj", three, rounds=4, booster="dart", rate_drop=0.4, objective="multi:softprob", num_class=3)
    add("gamma.ubj", np.exp(number), objective="reg:gamma")
    add("quantiles.json", number, objective="reg:quantileerror", quantile_alpha=[0.2, 0.8])
    add("labels.json", np.stack([two, three > 1], axis=1), objective="binary:logistic")
    add("targets.json", np.stack([number, number**2], axis=1), multi_strategy="multi_output_tree")
    add("vectors.ubj", three, objective="multi:softprob", num_class=3, multi_strategy="multi_output_tree")
    add("colours.json", two, frame(X), objective="binary:logistic")
    stopped = xgb.XGBClassifier(n_estimators=30, max_depth=2, early_stopping_rounds=2, n_jobs=1, learning_rate=0.9)
    stopped.fit(X[:40, :3], two[:40], eval_set=[(X[40:, :3], two[40:])], verbose=False)
    assert stopped.best_iteration + 1 < stopped.get_booster().num_boosted_rounds()
    stopped.save_model(files.path("stopped.json"))
    files.add("stopped.json", stopped.predict(X[:, :3], output_margin=True))
    files.write()


def lightgbm_files() -> None:
    import lightgbm as lgb

    files = Files(lgb)
    common = {"num_leaves": 4, "learning_rate": 0.5, "num_threads": 1, "verbose": -1, "min_data_in_leaf": 3, "seed": 1}
    common |= {"min_data_in_bin": 1, "min_data_per_group": 1, "cat_smooth": 1}

    def add(name: str, y: Any, data: Any = X[:, :3], rounds: int = 3, **parameters: Any) -> None:
        booster = lgb.train({**common, **parameters}, lgb.Dataset(data, y), rounds)
        booster.save_model(files.path(name))
        files.add(name, booster.predict(data, raw_score=True))

    add("binary.txt", two, objective="binary")
    add("classes.txt", three, objective="multiclass", num_class=3)
    add("against.txt", three, objective="multiclassova", num_class=3)
    add("dart.txt", two, rounds=6, boosting="dart", drop_rate=0.5, objective="binary")
    add("forest.txt", two, boosting="rf", bagging_freq=1, bagging_fraction=0.6, objective="binary")
    add("poisson.txt", np.exp(number), objective="poisson")
    add("zeros.txt", two, objective="binary", zero_as_missing=True)
    add("colours.txt", two, frame(X), objective="binary")
    files.write()


def catboost_files() -> None:
    import catboost as cb

    files = Files(cb)
    common: dict[str, Any] = {"iterations": 3, "depth": 2, "learning_rate": 0.5, "verbose": 0, "thread_count": 1}
    common |= {"allow_writing_files": False, "random_seed": 1}
    numbers, texts = frame(X)[["a", "b", "c"]], frame(X).astype({"colour": str})

    def add(name: str, kind: Any, y: Any, data: Any = numbers, threshold: float = 0.5, **parameters: Any) -> None:
        model = kind(**common, **parameters).fit(data, y)
        if threshold != 0.5:
            model.set_probability_threshold(threshold)
        form = name.partition(".")[2]
        pool = cb.Pool(data, cat_features=["colour"]) if "colour" in data else None
        model.save_model(files.path(name), format=form, pool=pool if form == "json" else None)
        files.add(name, model.predict(data, prediction_type="RawFormulaVal"))

    add("binary.cbm", cb.CatBoostClassifier, two)
    add("binary.json", cb.CatBoostClassifier, two, threshold=0.3)
    add("classes.json", cb.CatBoostClassifier, three)
    add(
        "labels.json",
        cb.CatBoostClassifier,
        np.stack([two, three > 1], axis=1).astype(int),
        loss_function="MultiLogloss",
    )
    add("leaves.json", cb.CatBoostRegressor, number, grow_policy="Lossguide")
    add("poisson.cbm", cb.CatBoostRegressor, np.exp(number), loss_function="Poisson")
    add("colours.json", cb.CatBoostClassifier, two, texts, cat_features=["colour"], one_hot_max_size=5)
    files.write()


X = rows()
number = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) * X[:, 2] + (X[:, 3] == 1)
two = (number > 0.3).astype(int)
three = np.searchsorted([-0.3, 0.8], number)

if __name__ == "__main__":
    {"xgboost": xgboost_files, "lightgbm": lightgbm_files, "catboost": catboost_files}[sys.argv[1]]()
