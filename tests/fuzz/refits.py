"""The newest options of tree learners in use: clones, new parameters, pipelines, grids, files, reports, and clusters.

A learner that was fitted before, cloned, or put into a pipeline must say the same as one that is new.
"""

from __future__ import annotations

import pickle
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import proofwood
from proofwood import DemographicParity, OptimalTreeClassifier
from proofwood.exceptions import DataError
from tests.fuzz import _records, _trees
from tests.fuzz._trees import require


def options_of(rng: np.random.Generator) -> dict[str, Any]:
    """Parameters with one of the newest kinds; nothing is stopped, so that fits can be compared."""
    kinds: list[dict[str, Any]] = [
        {"max_depth": None, "alpha": float(rng.choice([0.02, 0.05, 0.2]))},
        {"max_leaf_nodes": int(rng.integers(1, 9)), "max_depth": 3, "alpha": float(rng.choice([0, 0.01]))},
        {"max_leaf_nodes": int(rng.integers(1, 6)), "max_depth": None},
        {"criterion": "f1", "max_depth": int(rng.integers(0, 4)), "pos_label": "yes"},
        {"criterion": "f_beta", "beta": 2, "max_depth": 2, "pos_label": "no"},
        {"criterion": "jaccard", "max_depth": 2, "pos_label": "yes"},
        {"criterion": "precision", "min_recall": 0.7, "max_depth": 2, "pos_label": "yes"},
        {"monotonic_cst": {"a": 1, "b": -1}, "max_depth": 2},
        {"constraints": [DemographicParity("g", ratio=0.9, pos_label="yes")], "max_depth": 2},
        {"constraints": DemographicParity("g", ratio=0.8, pos_label="no"), "max_depth": 1, "alpha": 0.01},
    ]
    given = kinds[int(rng.integers(len(kinds)))]
    least = 1 if given.get("criterion") else int(rng.choice([1, 1, 3]))
    return {"time_limit": 20.0, "min_samples_level": 1, "min_samples_leaf": least, **given}


def table(rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers and a group in numbers, and labels that follow them."""
    n = int(rng.integers(12, 80))
    X = pd.DataFrame({"a": rng.integers(0, 9, n) * 1.0, "b": rng.normal(size=n).round(1)})
    X["g"] = rng.integers(0, 2, n) * 1.0
    X.loc[:3, "g"] = [0.0, 1.0, 0.0, 1.0]
    y = np.where(X["a"] - 3 * X["b"] + X["g"] + rng.normal(size=n) * 2 > 4, "yes", "no")
    y[:4] = "no", "yes", "yes", "no"
    return X, y


def same(one: Any, other: Any, what: str) -> None:
    """Two fitted learners say the same."""
    require(one.model_ == other.model_, f"another model: {what}")
    told = [(m.objective_, m.lower_bound_, str(m.status_), m.result_.scope) for m in (one, other)]
    require(told[0] == told[1], f"another proof, {told}: {what}")


def check(rng: np.random.Generator, counts: Counter[str]) -> None:
    """A learner and its twins."""
    X, y = table(rng)
    before, options = options_of(rng), options_of(rng)
    with _records.about((before, options, X.to_dict("list"), y.tolist())):
        new = OptimalTreeClassifier(**options).fit(X, y)
        counts[" ".join(sorted(set(options) - {"time_limit", "min_samples_level", "min_samples_leaf"}))] += 1
        old = OptimalTreeClassifier(**before).fit(X, y)
        old.set_params(**{**OptimalTreeClassifier().get_params(), **options}).fit(X, y)
        same(new, old, "after set_params")
        same(new, clone(new).fit(X, y), "from a clone")
        require(clone(old).get_params()["max_depth"] == options["max_depth"], "a clone with other parameters")
        files(new, X, y)
        order = rng.permutation(len(X))
        turned = clone(new).fit(X.iloc[order].reset_index(drop=True), y[order])
        require(turned.objective_ == new.objective_, "another optimum for another order of rows")
        if "constraints" not in options and "max_leaf_nodes" not in options:
            require(turned.model_ == new.model_, "another tree for another order of rows")
        if "constraints" not in options:
            twice = clone(new).fit(X, y, np.full(len(y), 2.0))
            require(abs(twice.objective_ - new.objective_ * (1 if new._ratio else 2)) < 1e-9, "weights of 2")
        pipeline(rng, X, y, options, counts)


def files(model: Any, X: pd.DataFrame, y: np.ndarray) -> None:
    """The same texts from a pickle; from a file they are claims."""
    said = model.summary()
    require(pickle.loads(pickle.dumps(model)).summary() == said, "another summary from a pickle")
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.json")
        loaded = proofwood.load(Path(folder) / "model.json")
    lines = [text.splitlines() for text in (said, loaded.summary())]
    require(lines[0][0] == lines[1][0], f"another first line from a file: {lines}")
    require(lines[1][1] == f"claimed when the file was written: {lines[0][1]}", f"another claim from a file: {lines}")
    require(loaded.get_params()["max_depth"] == model.max_depth, "a file with other parameters")
    require(loaded.result_.scope == model.result_.scope, "a file with another scope")
    require(loaded.recount(X, y) == model.objective_, "another recount from a file")


def pipeline(
    rng: np.random.Generator, X: pd.DataFrame, y: np.ndarray, options: dict[str, Any], counts: Counter[str]
) -> None:
    """Within a pipeline of scikit-learn, a grid, and cross-validation."""
    if isinstance(options.get("monotonic_cst"), dict):
        options = {**options, "monotonic_cst": [1, -1, 0]}
    if "constraints" in options:
        return
    last = OptimalTreeClassifier(**options)
    steps: list[Any] = [[SimpleImputer()], [make_column_transformer((OneHotEncoder(), ["g"]), remainder="passthrough")]]
    whole = make_pipeline(*steps[int(rng.integers(2))] if "monotonic_cst" not in options else steps[0], last)
    whole.fit(X, y)
    require(whole[-1].recount(whole[:-1].transform(X), y) == whole[-1].objective_, "recount within a pipeline")
    if rng.random() < 0.3:
        name, values = ("alpha", [0.05, 0.3]) if "alpha" in options else ("min_samples_leaf", [1, 3])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            grid = GridSearchCV(last, {name: values}, cv=2, error_score="raise").fit(X, y)
        same(grid.best_estimator_, clone(last).set_params(**grid.best_params_).fit(X, y), "of a grid")
        require(set(cross_val_predict(last, X, y, cv=2)) <= {"no", "yes"}, "labels of held-out rows")
        counts["grids"] += 1


def report(rng: np.random.Generator, counts: Counter[str]) -> None:
    """The report of a fit, which may be stopped, claims no more than the fit."""
    X, y = table(rng)
    options = {**options_of(rng), "time_limit": float(rng.choice([20.0, 1e-6]))}
    with _records.about((options, X.to_dict("list"), y.tolist())), tempfile.TemporaryDirectory() as folder:
        model = OptimalTreeClassifier(**options).fit(X, y)
        language = str(rng.choice(["en", "de"]))
        model.report(Path(folder) / "report.html", X, y, explain_seconds=0.01, language=language)
        text = (Path(folder) / "report.html").read_text(encoding="utf-8")
        status = str(model.status_)
        if language == "en" and status == "feasible":
            require("not proved" in text and "proved optimal:" not in text, "a report claims more than is proved")
        counts[f"report {status}"] += 1


def one_case(number: int) -> Counter[str]:
    """The case of a number."""
    rng = np.random.default_rng(number)
    counts: Counter[str] = Counter()
    with _trees.quiet():
        try:
            (report if number % 20 == 0 else check)(rng, counts)
        except DataError as error:
            _trees.refused(error, counts, "no column")
    return counts
