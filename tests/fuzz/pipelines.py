"""Pipelines of all steps that can be traced, asked at random and checked by rows.

The checks are those of :mod:`tests.fuzz.explanations`: every answer is compared with the real pipeline's predictions
for all cells of its grid, and the numbers of the trees with the pipeline's, to the last bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from proofwood.ensembles.explained import explained, sample_rows
from tests.bits import added_up, leaf_scores
from tests.fuzz import explanations
from tests.fuzz.explanations import Case, check, table


def _last(rng: np.random.Generator, *, missing: bool = False) -> Any:
    """A model that takes missing values, if it must."""
    n, depth = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    models: list[Any] = [
        HistGradientBoostingClassifier(max_iter=n, max_leaf_nodes=5, min_samples_leaf=1, early_stopping=False),
        RandomForestClassifier(n, max_depth=depth, random_state=0),
        ExtraTreesClassifier(n, max_depth=depth, random_state=0),
        DecisionTreeClassifier(max_depth=depth, random_state=0),
        GradientBoostingClassifier(n_estimators=n, max_depth=depth, random_state=0),
    ]
    return models[int(rng.integers(4 if missing else 5))]


def functions(rng: np.random.Generator) -> Case:
    """Monotone functions of columns: of NumPy, own ones, powers and quantiles, one behind another."""
    X, y = table(rng, categories=False, gaps=0.0)
    X = np.clip(X, -50.0, 50.0)
    free = ["cbrt", "arcsinh", "arctan", "exp", "expm1", "exp2", "tanh", "floor", "rint", "negative", "sinh"]
    positive = ["log", "log2", "log10", "log1p", "sqrt"]
    kinds = ["free", "positive", "own", "falling", "power", "boxcox", "quantile", "normal", "binary", "scaled"]
    kind = str(rng.choice(kinds))
    if kind in ("positive", "boxcox"):
        X = np.abs(X) + 0.25
        X[0] *= 2  # no column of one value, which Box-Cox refuses
    name = str(rng.choice(free if kind != "positive" else positive))
    made: dict[str, Any] = {
        "free": FunctionTransformer(getattr(np, name)),
        "positive": FunctionTransformer(getattr(np, name)),
        "own": FunctionTransformer(_cubed, inverse_func=np.cbrt),
        "falling": FunctionTransformer(_down, inverse_func=_down),
        "power": PowerTransformer(standardize=bool(rng.random() < 0.5)),
        "boxcox": PowerTransformer("box-cox", standardize=bool(rng.random() < 0.5)),
        "quantile": QuantileTransformer(n_quantiles=int(rng.integers(2, 9))),
        "normal": QuantileTransformer(n_quantiles=int(rng.integers(2, 9)), output_distribution="normal"),
        "binary": Binarizer(threshold=float(rng.choice(X.ravel()))),
        "scaled": FunctionTransformer(np.arctan),
    }
    steps = [made[kind]]
    if kind == "scaled":
        steps = [StandardScaler(), made[kind], MinMaxScaler(clip=bool(rng.random() < 0.5))]
    elif rng.random() < 0.3 and kind != "binary":
        steps.append(StandardScaler())
    return Case(make_pipeline(*steps, _last(rng)).fit(X, y), X, f"{kind} {name} in a pipeline")


def _cubed(X: Any) -> Any:
    return X**3


def _down(X: Any) -> Any:
    return 1.0 - 2 * X


def gaps(rng: np.random.Generator) -> Case:
    """Imputers that say what they filled, and indicators beside or behind them."""
    X, y = table(rng, categories=False, gaps=0.4)
    imputer = SimpleImputer(strategy=str(rng.choice(["mean", "median", "most_frequent"])), add_indicator=True)
    kind = str(rng.choice(["indicator", "union", "scaled first", "two fills", "coded"]))
    if kind == "indicator":
        made: list[Any] = [imputer, StandardScaler()][: int(rng.integers(1, 3))]
    elif kind == "union":
        made = [make_union(SimpleImputer(), MissingIndicator(features=str(rng.choice(["all", "missing-only"]))))]
    elif kind == "scaled first":
        made = [StandardScaler(), imputer]
    elif kind == "two fills":
        made = [make_union(SimpleImputer(), SimpleImputer(strategy="constant", fill_value=-7.0), "passthrough")]
    else:
        X, y = table(rng, categories=True, gaps=0.4)
        named, numeric = ([name for name in X.columns if name[0] == kind] for kind in "cx")
        X[named] = X[named].astype(object).where(X[named].notna(), np.nan)
        coded = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
        both = make_union(coded, MissingIndicator())
        parts = [part for part in ((both, named), (imputer, numeric)) if part[1]]
        X[numeric] = X[numeric].astype(float)
        made = [make_column_transformer(*parts, sparse_threshold=0)]
    last = _last(rng, missing=kind == "two fills")
    return Case(make_pipeline(*made, last).fit(X, y), X, f"gaps: {kind}")


def encoders(rng: np.random.Generator) -> Case:
    """Encoders that merge categories, take unknown ones or know missing ones."""
    X, y = table(rng, categories=True, gaps=float(rng.choice([0.0, 0.4])))
    named, numeric = ([name for name in X.columns if name[0] == kind] for kind in "cx")
    X[numeric] = X[numeric].fillna(0.0)
    few = [int(rng.integers(2, 9)), None][int(rng.integers(2))]
    most = [int(rng.integers(2, 4)), None][int(rng.integers(2))]
    unknown = str(rng.choice(["ignore", "infrequent_if_exist", "error"]))
    drop = [None, "first", "if_binary"][int(rng.integers(3))]
    code = int(rng.choice([-1, 99])) if rng.random() < 0.7 else np.nan
    rare: dict[str, Any] = {"min_frequency": few, "max_categories": most}
    known: dict[str, Any] = {"handle_unknown": "use_encoded_value", "unknown_value": code}
    makers: list[Any] = [
        OneHotEncoder(handle_unknown=unknown, drop=drop, sparse_output=False, **rare),
        OrdinalEncoder(encoded_missing_value=int(rng.choice([-2, 98])), **known, **rare),
        OrdinalEncoder(encoded_missing_value=-2) if rng.random() < 0.5 else OrdinalEncoder(),
    ]
    encoder = makers[int(rng.integers(3))]
    takes = isinstance(encoder, OrdinalEncoder)
    if takes and rng.random() < 0.3:
        encoder = make_pipeline(encoder, StandardScaler())
    parts = [part for part in ((encoder, named), (StandardScaler(), numeric)) if part[1]]
    made = make_column_transformer(*parts, sparse_threshold=0)
    last: Any = _last(rng)
    if takes:  # a number for what is missing may be none
        last = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=5, min_samples_leaf=1, early_stopping=False)
    return Case(make_pipeline(made, last).fit(X, y), X, f"encoders: {encoder}")


def bins(rng: np.random.Generator) -> Case:
    """Bins as columns of 0 and 1, scaled or not, and unions with weights."""
    X, y = table(rng, categories=False, gaps=0.0)
    X = X.copy()
    X[:3] += [[-1.0], [1.0], [2.5]]  # no column of one value, of which scikit-learn makes no bins
    made = KBinsDiscretizer(
        int(rng.integers(2, 6)),
        encode=str(rng.choice(["onehot", "onehot-dense"])),
        strategy=str(rng.choice(["uniform", "quantile"])),
    )
    kind = str(rng.choice(["alone", "scaled", "union"]))
    steps: list[Any] = [made]
    if kind == "scaled":
        made.set_params(encode="onehot-dense")
        steps = [made, StandardScaler(), VarianceThreshold() if rng.random() < 0.5 else SelectKBest(k=1)]
    elif kind == "union":
        parts = [("a", made), ("b", StandardScaler()), ("c", "passthrough")]
        steps = [FeatureUnion(parts, transformer_weights={"a": -0.5, "b": 2.0})]
    last = _last(rng)
    if type(last).__name__ == "HistGradientBoostingClassifier":
        made.set_params(encode="onehot-dense")
    return Case(make_pipeline(*steps, last).fit(X, y), X, f"bins: {kind}")


MODELS: tuple[Callable[[np.random.Generator], Case], ...] = (functions, gaps, encoders, bins)


def table_of(adapted: Any, rows: Any) -> Any:
    """Rows as they are read, as the table that the pipeline itself is asked about."""
    call = adapted.predict.args[0]
    _, prepared, used, _ = call.args
    return prepared.table(rows, used)


def check_bits(case: Case, _: np.random.Generator, counts: Counter[str]) -> None:
    """The numbers that trees add up to are the pipeline's, in all bits, on rows at and beside all thresholds."""
    last = case.model.steps[-1][1]
    result = explained(case.model, X=case.X)
    rows = sample_rows(result, 300, 1)
    terms = leaf_scores(result, rows)
    spread = table_of(result.adapted, rows)
    if type(last).__name__ == "HistGradientBoostingClassifier":
        sums = added_up(terms, result.adapted.forest.base, np.float64)
        given = case.model.decision_function(spread)
        assert np.array_equal(sums[:, 1] if given.ndim == 1 else sums, given)
        counts["rows to the last bit"] += len(rows)
    elif type(last).__name__ == "DecisionTreeClassifier":
        assert np.array_equal(terms[0].argmax(axis=1), result.predict_codes(rows))
        counts["rows to the last bit"] += len(rows)


def one_case(number: int) -> Counter[str]:
    """How many models, rows, and explanations of each status a case had; AssertionError at the first fault."""
    refused = "too flat where the model has a threshold", "too flat"
    return explanations.counted(number, check_bits, check, models=MODELS, refused=refused)
