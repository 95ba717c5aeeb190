"""Models of other libraries, as people have them: family, step, type of a column and container, each pair often enough.

A case draws a family of models, a step in front of it, the type of a column and a container for the rows. What
scikit-learn (or the library) itself does not run is no case. A model is refused in a sentence, or 1,500 rows are read
as the model itself predicts them: rows of the training, values at thresholds of the model and one float beside them,
gaps, unknown levels. Then ten explanations are held against the model's own ``predict`` on 500 rows each, which agree
on what the explanation names and are anything else.
"""

from __future__ import annotations

import importlib.util
import linecache
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from threadpoolctl import threadpool_limits

from proofwood import Explainer
from proofwood.ensembles.explained import Explained, explained
from proofwood.exceptions import MisreadError
from tests.fuzz import _records

N_TRAIN, N_ROWS, N_EXPLAINED, N_HELD = 90, 1500, 10, 500
STEPS = ("none", "imputer", "encoder", "scaler", "bins", "selector", "set_output", "threshold", "search")
COLUMNS = (
    *("float64", "float32", "int", "bool", "nullable", "text None", "text nan", "text NA", "category of text"),
    *("category of numbers", "category of booleans", "dates", "dates with a zone", "sparse"),
)
CONTAINERS = ("pandas", "polars", "arrow", "numpy")
TEXTS = ("text None", "text nan", "text NA", "category of text", "category of numbers", "category of booleans")
TEXTS += ("dates", "dates with a zone")
"""Types of columns that are no numbers to trees."""


class WrongError(Exception):
    """A row or an explanation that the model itself contradicts."""


class RawError(Exception):
    """An error that is no sentence of ours."""


# --------------------------------------------------------------------------------------------------------------- tables


def _numbers(rng: np.random.Generator, n: int) -> pd.Series:
    kind = int(rng.integers(5))
    values = [
        rng.normal(size=n), rng.normal(size=n).round(1), rng.integers(0, 9, n) / 4.0, rng.lognormal(3, 1, n).round(2),
        2.0**24 + rng.integers(0, 9, n),
    ][kind]  # fmt: skip
    return pd.Series(values)


def column(kind: str, rng: np.random.Generator, n: int, *, gaps: bool) -> pd.Series:
    """A column of a type of :data:`COLUMNS`; texts always have a gap of their kind."""
    hole = rng.random(n) < 0.15
    words = rng.choice(np.array(["red", "blue", "né", "a b", "1"], dtype=object), n)
    makers: dict[str, Callable[[], pd.Series]] = {
        "float64": lambda: _numbers(rng, n),
        "float32": lambda: _numbers(rng, n).astype(np.float32),
        "int": lambda: pd.Series(rng.integers(-3, 40, n).astype(str(rng.choice(["int64", "int32", "int8", "uint16"])))),
        "bool": lambda: pd.Series(rng.random(n) < 0.4),
        "nullable": lambda: [
            pd.Series(rng.integers(0, 9, n)).astype("Int64"),
            pd.Series(rng.random(n) < 0.4).astype("boolean"),
            _numbers(rng, n).astype("Float64"),
        ][int(rng.integers(3))],
        "text None": lambda: pd.Series(np.where(hole, None, words), dtype=object),
        "text nan": lambda: pd.Series(np.where(hole, np.nan, words), dtype=object),
        "text NA": lambda: pd.Series(np.where(hole, pd.NA, words), dtype="string" if rng.random() < 0.7 else object),
        "category of text": lambda: pd.Series(pd.Categorical(words, ordered=bool(rng.random() < 0.3))),
        "category of numbers": lambda: pd.Series(
            pd.Categorical(rng.choice([3, 1, 20, -7] if rng.random() < 0.5 else [0.5, 2.0, 0.1], n))
        ),
        "category of booleans": lambda: pd.Series(pd.Categorical(rng.random(n) < 0.4)),
        "sparse": lambda: pd.Series(np.where(rng.random(n) < 0.6, 0.0, _numbers(rng, n))),
        "dates": lambda: pd.Series(pd.Timestamp(2021, 3, 26) + pd.to_timedelta(rng.integers(0, 6, n), unit="D")),
        "dates with a zone": lambda: makers["dates"]().dt.tz_localize("Europe/Berlin"),
    }
    made = makers[kind]()
    return made.mask(hole) if gaps and kind not in ("int", "bool", "sparse") and not kind.startswith("text") else made


@dataclass
class Table:
    """Columns of candidates, of which rows are drawn: those of the training first, then others.

    Parameters
    ----------
    kinds : type of each column
    pools : candidates of each column
    own : per column how many of them are of the training, which are in every row of it at their place
    wild : per column the places of candidates that a model may refuse: gaps that training did not have, unknown levels
    """

    kinds: list[str]
    pools: list[pd.Series]
    own: int
    wild: list[list[int]]

    @property
    def train(self) -> pd.DataFrame:
        """The rows of the training."""
        return self.rows(np.tile(np.arange(self.own)[:, np.newaxis], (1, len(self.pools))))

    def rows(self, places: npt.NDArray[np.int64]) -> pd.DataFrame:
        """The rows of candidates at (n_rows, n_columns) places."""
        return pd.DataFrame(
            {f"c {j}": pool.take(places[:, j]).reset_index(drop=True) for j, pool in enumerate(self.pools)}
        )

    def drawn(self, rng: np.random.Generator, n: int, *, wild: bool, full: Sequence[int] = ()) -> npt.NDArray[np.int64]:
        """Places of random rows, a third of them rows of the training in all but a column or two.

        Columns ``full`` have no gaps.
        """
        allowed = []
        for j, pool in enumerate(self.pools):
            chosen = np.ones(len(pool), dtype=bool)
            chosen[[] if wild else self.wild[j]] = False
            if j in full:
                chosen &= pool.notna().to_numpy()
            allowed.append(np.flatnonzero(chosen))
        places = np.stack([rng.choice(one, n) for one in allowed], axis=1)
        near = rng.random(n) < 0.3
        keep = near[:, np.newaxis] & (rng.random(places.shape) < 0.7)
        same = rng.integers(0, self.own, n)[:, np.newaxis]
        keep &= np.stack([np.isin(same[:, 0], one) for one in allowed], axis=1)
        return np.where(keep, same, places)

    def extended(self, j: int, values: Sequence[Any], *, wild: bool) -> None:
        """Further candidates for a column, as far as its type holds them."""
        pool = self.pools[j]
        if isinstance(pool.dtype, pd.CategoricalDtype):
            known = pool.cat.add_categories([v for v in values if v is not None and v not in pool.cat.categories])
            pool, more = known, pd.Series(pd.Categorical(values, dtype=known.dtype))
        else:
            more = pd.Series(values, dtype=pool.dtype)
        if wild:
            self.wild[j] += list(range(len(pool), len(pool) + len(more)))
        self.pools[j] = pd.concat([pool, more], ignore_index=True)


def table_of(kind: str, rng: np.random.Generator, *, gaps: bool) -> Table:
    """A column of the type, and others that models of numbers take."""
    others = ["sparse"] * 3 if kind == "sparse" else [str(k) for k in rng.choice(["float64", "int", "float64"], 2)]
    if rng.random() < 0.3 and kind != "sparse":
        others.append(str(rng.choice(COLUMNS[:-1])))
    kinds = [kind, *others]
    pools = [column(k, rng, N_TRAIN, gaps=gaps) for k in kinds]
    order = rng.permutation(len(kinds))
    return Table([kinds[k] for k in order], [pools[k] for k in order], N_TRAIN, [[] for _ in kinds])


def labels(table: Table, rng: np.random.Generator, n_classes: int) -> npt.NDArray[Any]:
    """Numbers that depend on the columns, for 0 classes, else labels."""
    score = rng.normal(size=N_TRAIN) * 0.3
    for kind, pool in zip(table.kinds, table.pools, strict=True):
        codes = pd.factorize(pool, sort=kind not in TEXTS)[0].astype(float)
        score += rng.normal() * (codes - codes.mean()) / (codes.std() + 1e-9)
    if not n_classes:
        return score.round(3)
    codes = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    names = [[0, 1, 2], ["no", "yes", "zero"], [3, 7, 10]][int(rng.integers(3))]
    return np.array(names)[codes]


def contained(frame: pd.DataFrame, container: str, kinds: Sequence[str]) -> Any:
    """The rows in a container."""
    if container == "polars":
        return pl.from_pandas(frame).cast({pl.Null: pl.String})  # texts of which none is there
    if container == "arrow":
        import pyarrow as pa

        made = pa.Table.from_pandas(frame, preserve_index=False)
        typed = [field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in made.schema]
        return made.cast(pa.schema(typed))
    if container == "numpy":
        if "sparse" in kinds:
            return sp.csr_matrix(frame.to_numpy(np.float64))
        return frame.to_numpy()
    if "sparse" in kinds:
        return frame.astype(pd.SparseDtype(float, 0.0))
    return frame


def part(rows: Any, i: int) -> Any:
    """One row of a container, as a table of one."""
    if hasattr(rows, "iloc"):
        return rows.iloc[[i]]
    return rows.slice(i, 1) if hasattr(rows, "slice") else rows[i : i + 1]


# --------------------------------------------------------------------------------------------------------------- models


def _sklearn(name: str, **parameters: Any) -> Any:
    import sklearn.ensemble as ensemble
    import sklearn.tree as tree

    return getattr(tree if "Tree" in name and "Extra" not in name else ensemble, name)(**parameters)


def _kind(n_classes: int) -> str:
    return "Classifier" if n_classes else "Regressor"


def trees(rng: np.random.Generator, n_classes: int, native: Sequence[int]) -> Any:
    """One tree of scikit-learn."""
    return _sklearn(f"DecisionTree{_kind(n_classes)}", max_depth=int(rng.integers(1, 5)), random_state=0)


def forests(rng: np.random.Generator, n_classes: int, native: Sequence[int]) -> Any:
    """Forests, of random or best splits."""
    name = str(rng.choice(["RandomForest", "ExtraTrees"])) + _kind(n_classes)
    return _sklearn(name, n_estimators=int(rng.integers(1, 7)), max_depth=int(rng.integers(1, 5)), random_state=0)


def boosting(rng: np.random.Generator, n_classes: int, native: Sequence[int]) -> Any:
    """Gradient boosting of both kinds."""
    if rng.random() < 0.5:
        few = {"n_estimators": int(rng.integers(1, 5)), "max_depth": 2, "random_state": 0}
        return _sklearn(f"GradientBoosting{_kind(n_classes)}", **few)
    few = {"max_iter": int(rng.integers(1, 5)), "max_leaf_nodes": 5, "min_samples_leaf": 5, "early_stopping": False}
    return _sklearn(f"HistGradientBoosting{_kind(n_classes)}", categorical_features="from_dtype", **few)


def ada_boost(rng: np.random.Generator, n_classes: int, native: Sequence[int]) -> Any:
    """AdaBoost of trees."""
    return _sklearn("AdaBoostClassifier", estimator=trees(rng, n_classes, ()), n_estimators=3, random_state=0)


def bagging(rng: np.random.Generator, n_classes: int, native: Sequence[int]) -> Any:
    """Bags of trees or of forests, of some or all columns."""
    base = [trees, forests][int(rng.integers(2))](rng, n_classes, ())
    share = float(rng.choice([0.7, 1.0]))
    return _sklearn(f"Bagging{_kind(n_classes)}", estimator=base, n_estimators=3, max_features=share, random_state=0)


def voting(rng: np.random.Generator, n_classes: int, native: Sequence[int]) -> Any:
    """Votes of trees, forests and boosting."""
    makers = [trees, forests, bagging]
    members = [(f"m{k}", makers[int(rng.integers(3))](rng, n_classes, ())) for k in range(int(rng.integers(2, 4)))]
    more = {"voting": str(rng.choice(["soft", "hard"]))} if n_classes else {}
    weights = None if rng.random() < 0.5 else list(range(1, len(members) + 1))
    return _sklearn(f"Voting{_kind(n_classes)}", estimators=members, weights=weights, **more)


def isolation(rng: np.random.Generator, n_classes: int, native: Sequence[int]) -> Any:
    """Forests that isolate outliers."""
    return _sklearn("IsolationForest", n_estimators=int(rng.integers(2, 6)), contamination=0.2, random_state=0)


def calibrated(rng: np.random.Generator, n_classes: int, native: Sequence[int]) -> Any:
    """Calibrations of trees and forests."""
    base = [trees, forests][int(rng.integers(2))](rng, n_classes, ())
    return CalibratedClassifierCV(
        base, method=str(rng.choice(["sigmoid", "isotonic"])), cv=2, ensemble=bool(rng.random() < 0.5)
    )


def xgboost(rng: np.random.Generator, n_classes: int, native: Sequence[int]) -> Any:
    """Models of XGBoost, whose categories are columns of the type."""
    import xgboost as xgb

    few = {"n_estimators": int(rng.integers(1, 6)), "max_depth": int(rng.integers(1, 4)), "n_jobs": 1}
    booster = {"booster": str(rng.choice(["gbtree", "dart"])), "enable_categorical": True, "tree_method": "hist"}
    return getattr(xgb, f"XGB{_kind(n_classes)}")(**few, **booster)


def lightgbm(rng: np.random.Generator, n_classes: int, native: Sequence[int]) -> Any:
    """Models of LightGBM, likewise."""
    import lightgbm as lgb

    few = {"n_estimators": int(rng.integers(1, 6)), "num_leaves": 5, "min_child_samples": 4, "n_jobs": 1}
    kind = str(rng.choice(["gbdt", "dart", "rf"]))
    bag = {"subsample": 0.8, "subsample_freq": 1} if kind == "rf" else {}
    return getattr(lgb, f"LGBM{_kind(n_classes)}")(verbose=-1, boosting_type=kind, **few, **bag)


def catboost(rng: np.random.Generator, n_classes: int, native: Sequence[int]) -> Any:
    """Models of CatBoost, which are told their categories."""
    import catboost as cb

    few = {"iterations": int(rng.integers(1, 6)), "depth": int(rng.integers(1, 4)), "thread_count": 1, "verbose": 0}
    if native:
        few["cat_features"] = list(native)
    if rng.random() < 0.5:
        few["one_hot_max_size"] = 10
    return getattr(cb, f"CatBoost{_kind(n_classes)}")(allow_writing_files=False, random_seed=0, **few)


FAMILIES: tuple[Callable[[np.random.Generator, int, Sequence[int]], Any], ...] = (
    trees, forests, boosting, ada_boost, bagging, voting, isolation, calibrated, xgboost, lightgbm, catboost,
)  # fmt: skip
OF_CLASSES = (ada_boost, calibrated)
"""Families without regressors here."""


def _encoder(rng: np.random.Generator, *, dense: bool) -> Any:
    kind = int(rng.integers(7))
    if kind == 0:
        return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    if kind == 1:
        return OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=12, sparse_output=not dense)
    if kind == 2:
        return TargetEncoder(cv=2, random_state=0)
    if kind == 3:
        return OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=not dense)
    if kind == 4 and importlib.util.find_spec("category_encoders"):
        import category_encoders as ce

        return [ce.OrdinalEncoder(), ce.OneHotEncoder(use_cat_names=True)][int(rng.integers(2))]
    if kind == 5:
        return OrdinalEncoder()
    return OneHotEncoder(handle_unknown="ignore", sparse_output=not dense and rng.random() < 0.5)


def _scaler(rng: np.random.Generator) -> Any:
    makers: list[Callable[[], Any]] = [
        StandardScaler, MinMaxScaler, RobustScaler, MaxAbsScaler, PowerTransformer,
        lambda: QuantileTransformer(n_quantiles=7),
    ]  # fmt: skip
    return makers[int(rng.integers(len(makers)))]()


def prepared(step: str, table: Table, rng: np.random.Generator, *, by_name: bool) -> list[Any]:
    """The steps in front of a model: the one that is drawn, and an encoder for what is no number."""
    if step == "none" or (step in ("threshold", "search") and not set(table.kinds) & set(TEXTS)):
        return []
    names = [f"c {j}" if by_name else j for j in range(len(table.kinds))]
    texts = [name for name, kind in zip(names, table.kinds, strict=True) if kind in TEXTS]
    numbers = [name for name in names if name not in texts]
    dense = step in ("set_output", "selector") or rng.random() < 0.5
    plain = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    of_numbers: Any = "passthrough"
    of_texts: Any = _encoder(rng, dense=dense) if step == "encoder" else plain
    if step == "imputer":
        of_numbers = SimpleImputer(strategy=str(rng.choice(["mean", "median", "most_frequent", "constant"])))
        of_numbers.set_params(add_indicator=bool(rng.random() < 0.4))
        filled = SimpleImputer(strategy="most_frequent" if rng.random() < 0.6 else "constant")
        of_texts = make_pipeline(filled, OneHotEncoder(handle_unknown="ignore") if rng.random() < 0.5 else plain)
    elif step in ("scaler", "set_output"):
        of_numbers = _scaler(rng)
    elif step == "bins":
        of_numbers = KBinsDiscretizer(
            3, encode=str(rng.choice(["onehot", "ordinal", "onehot-dense"])), strategy="uniform"
        )
    more = {"remainder": "drop" if rng.random() < 0.5 else "passthrough"}
    drop_one = len(numbers) > 1 and rng.random() < 0.2
    parts = [(way, chosen) for way, chosen in ((of_numbers, numbers[drop_one:]), (of_texts, texts)) if chosen]
    made = make_column_transformer(*parts, sparse_threshold=0 if dense else 0.3, **more)
    if step == "set_output":
        return [made.set_output(transform="pandas")]
    if step == "selector":
        return [made, VarianceThreshold() if rng.random() < 0.4 else SelectKBest(k=2)]
    return [made]


def wrapped(step: str, model: Any, rng: np.random.Generator) -> Any:
    """A model with a threshold, or in a search."""
    if step == "threshold":
        if rng.random() < 0.7:
            return FixedThresholdClassifier(model, threshold=float(rng.choice([0.3, 0.5, 0.62])))
        return TunedThresholdClassifierCV(model, cv=2)
    if step == "search":
        return GridSearchCV(model, {}, cv=2) if rng.random() < 0.6 else RandomizedSearchCV(model, {}, n_iter=1, cv=2)
    return model


@dataclass
class Case:
    """A fitted model, its table, and the container in which it is asked."""

    model: Any
    table: Table
    container: str
    told: tuple[str, str, str, str]
    options: dict[str, Any]
    learned: str

    def asked(self, frame: pd.DataFrame) -> Any:
        """Rows in the container of the case."""
        return contained(frame, self.container, self.table.kinds)

    def predicted(self, frame: pd.DataFrame) -> npt.NDArray[Any] | None:
        """What the model says, in the container of the case if it takes that, else as pandas has it, or the training.

        None where the library refuses the rows in both, as it may with any error.
        """
        found = None
        rows = contained(frame, self.container, self.table.kinds)
        forms = [lambda: rows, lambda: rows.to_pandas(), lambda: contained(frame, self.learned, self.table.kinds)]
        for form in forms if hasattr(rows, "to_pandas") else forms[::2]:
            with suppress(Exception):
                found = np.ravel(self.model.predict(form()))
                break
        if found is None:
            return None
        if not self.options:
            return found
        return np.where(found >= self.options["target"][1], "above", "below")


def place_of(number: int) -> tuple[int, int, int, int]:
    """Family, step, type of column and container of a case, by which all pairs come up alike."""
    family, step, turn = number % 11, number // 11 % 9, number // 99
    return family, step, (turn + 5 * family + 3 * step) % 14, (turn + turn // 14 + family + step) % 4


def pairs_of(number: int) -> list[str]:
    """Family and step, step and type, type and container of a case."""
    places = zip((FAMILIES, STEPS, COLUMNS, CONTAINERS), place_of(number), strict=True)
    names = [str(getattr(one := of[place], "__name__", one)) for of, place in places]
    return [f"{a} x {b}" for a, b in pairwise(names)]


def draw(number: int, tries: int = 4) -> tuple[Case, np.random.Generator] | None:
    """The case of a number; None if scikit-learn does not run such a model."""
    places = place_of(number)
    family, step = FAMILIES[places[0]], STEPS[places[1]]
    kind, container = COLUMNS[places[2]], CONTAINERS[places[3]]
    for attempt in range(tries):
        rng = np.random.default_rng([number, attempt])
        table = table_of(kind, rng, gaps=bool(rng.random() < 0.4))
        n_classes = 0 if rng.random() < 0.15 and step != "threshold" and family not in OF_CLASSES else 2
        n_classes = 3 if n_classes and step != "threshold" and rng.random() < 0.25 else n_classes
        if family is catboost and container == "polars":
            return None  # CatBoost 1.2 ends the process now and then: it adds such columns in several threads at once
        y = labels(table, rng, n_classes)
        learned = container if container == "numpy" or (container == "polars" and rng.random() < 0.5) else "pandas"
        if family is lightgbm and learned == "polars" and set(table.kinds) & set(TEXTS):
            continue  # LightGBM ends the process
        native = [j for j, one in enumerate(table.kinds) if one in TEXTS] if step == "none" else []
        steps = prepared(step, table, rng, by_name=learned != "numpy")
        from sklearn.pipeline import make_pipeline

        model = family(rng, n_classes, native)
        model = wrapped(step, make_pipeline(*steps, model) if steps else model, rng)
        options: dict[str, Any] = {}
        if not n_classes and family is not isolation:
            options = {"target": (">=", float(np.median(y)))}
        told = (family.__name__, step, kind, container)
        case = Case(model, table, container, told, options, learned)
        with suppress(Exception):  # whatever a library says of what it does not run
            model.fit(contained(table.train, learned, table.kinds), y)
            case.asked(table.train)
            if case.predicted(table.train) is not None:
                return case, rng
    return None


# --------------------------------------------------------------------------------------------------------------- checks


def sentence(error: Exception) -> str:
    """The reason of a refusal; RawError unless it is a sentence of ours."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    assert trace is not None
    file = trace.tb_frame.f_code.co_filename
    ours = "proofwood" in file and linecache.getline(file, trace.tb_lineno).strip().startswith("raise ")
    if not isinstance(error, TypeError | ValueError) or not ours or "lease report" in str(error):
        raise RawError(f"{type(error).__name__}: {error}") from error
    return " ".join(str(error).split()[:9])


def number_of(name: str) -> int:
    """The column of the table that an input is: ``c 1``, ``c_1``, ``x1``, ``Column_1`` or ``1``."""
    return int(re.findall(r"[0-9]+", name)[-1])


def misread(case: Case, frame: pd.DataFrame, error: MisreadError, counts: Counter[str]) -> None:
    """WrongError unless the model itself reads the row otherwise in this container than in that of the training."""
    row = frame.iloc[[error.row]]
    answers = set()
    for container in (case.container, case.learned, "numpy", "polars"):  # np.asarray has True for a gap of Arrow's
        with suppress(Exception):
            answers |= set(np.ravel(case.model.predict(contained(row, container, case.table.kinds))).tolist())
    with suppress(Exception):  # of a sparse matrix LightGBM leaves out numbers of 1e-35
        answers |= set(np.ravel(case.model.predict(row.to_numpy(dtype=float))).tolist())
    if len(answers) < 2:
        raise WrongError(f"misread: {error}") from error
    counts["refused: a row that the model reads in two ways"] += 1


def widen(case: Case, read: Explained, rng: np.random.Generator) -> None:
    """Candidates at thresholds of the model and beside them, gaps, and levels that training did not have."""
    table = case.table
    at_of = {number_of(given.name): j for j, given in enumerate(read.inputs)}
    for j, kind in enumerate(table.kinds):
        at = at_of.get(j)
        if at is not None and kind in ("float64", "float32", "sparse"):
            mine = [read.grid.columns[g] for g in read.grid.of_input[at]]
            cuts = np.unique(np.concatenate([[], *(one.thresholds for one in mine if one.role.startswith("value"))]))
            cuts = cuts[np.isfinite(cuts)]
            chosen = rng.choice(cuts, min(12, len(cuts)), replace=False) if len(cuts) else cuts
            dtype = np.float32 if kind == "float32" else np.float64
            beside = [np.nextafter(dtype(v), dtype(s * math.inf)) for v in chosen for s in (-1, 1)]
            beside += [dtype(v) for v in chosen]
            table.extended(j, [v for v in beside if np.isfinite(v)], wild=False)
        unknown: dict[str, list[Any]] = {
            "category of numbers": [77], "category of text": ["green"], "dates": [pd.Timestamp(1999, 1, 1)],
            "dates with a zone": [pd.Timestamp("1999-01-01", tz="Europe/Berlin")],
        }  # fmt: skip
        if kind.startswith("text"):
            table.extended(j, ["green", ""], wild=True)
        elif kind in unknown:
            table.extended(j, unknown[kind], wild=True)
        if kind in ("float64", "float32", "nullable", "category of text", "dates", "dates with a zone"):
            table.extended(j, [None], wild=True)


def agree(case: Case, read: Explained, rng: np.random.Generator, counts: Counter[str]) -> bool:
    """Whether rows were read; WrongError where a reading says another class than the model."""
    for wild in (True, False):
        frame = case.table.rows(case.table.drawn(rng, N_ROWS, wild=wild))
        said = case.predicted(frame)
        if said is None:  # the library refuses gaps or unknown levels
            continue
        rows = case.asked(frame)
        try:
            typed = read.with_types_of(rows)
            values = typed.admit(rows).values
        except MisreadError as error:
            misread(case, frame, error, counts)
            continue
        except Exception as error:  # noqa: BLE001 - looked at
            counts[f"rows refused: {sentence(error)}"] += 1
            continue
        counts["rows"] += N_ROWS
        typed = typed.with_gaps_of(values)
        cells = typed.cells_of(values)
        winners = np.array([typed.scores.winner(row) for row in cells])
        sums = np.sort(typed.sums_of(cells), axis=1)
        sure = np.ones(len(values), dtype=bool)
        if sums.shape[1] > 1 and typed.scores.margin > 0:
            sure = sums[:, -1] - sums[:, -2] > typed.scores.margin
        names = label_of(case, typed)
        for what, codes in (("trees", winners), ("predict", typed.predict_codes(values))):
            wrong = np.flatnonzero((names[codes] != said) & sure)
            if wrong.size:
                i = int(wrong[0])
                raise WrongError(
                    f"{what}: {wrong.size} of {N_ROWS} rows: {frame.iloc[i].to_dict()} is {said[i]!r}, read as "
                    f"{names[codes[i]]!r}, {values[i]}"
                )
        return True
    return False


def label_of(case: Case, read: Explained) -> npt.NDArray[Any]:
    """Labels of the classes as :meth:`Case.predicted` gives them."""
    if case.options:
        return np.array(["above" if str(label).startswith("at least") else "below" for label in read.classes.tolist()])
    return np.asarray(read.classes)


def hold(case: Case, explainer: Explainer, rng: np.random.Generator, counts: Counter[str]) -> None:
    """Explanations, held against the model on rows that agree on what they name; changes, on the row that they give."""
    table, read = case.table, explainer.model
    places = table.drawn(rng, N_EXPLAINED, wild=False)
    frame = table.rows(places)
    rows, said = case.asked(frame), case.predicted(frame)
    if said is None:
        counts["no explanations: the library refuses the rows"] += 1
        return
    no_gaps = {
        number_of(given.name)
        for given in read.inputs
        if not (given.missing or given.gap_levels or given.other)  # rows with a gap there are not of the space
    }
    for i in range(N_EXPLAINED):
        try:
            found = explainer.abductive(part(rows, i))
        except MisreadError as error:
            misread(case, frame.iloc[[i]], error, counts)
            continue
        except Exception as error:  # noqa: BLE001 - looked at
            counts[f"explanation refused: {sentence(error)}"] += 1
            continue
        label = (
            ("above" if str(found.prediction).startswith("at least") else "below") if case.options else found.prediction
        )
        if label != said[i]:
            raise WrongError(f"explained as {label!r}, and the model says {said[i]!r}: {frame.iloc[i].to_dict()}")
        fixed = [number_of(read.inputs[k].name) for feature in found.features for k in read.inputs_of(feature)]
        others = table.drawn(rng, N_HELD, wild=False, full=sorted(no_gaps))
        others[:, fixed] = places[i, fixed]
        answers = case.predicted(table.rows(others))
        if answers is None:
            counts["not held: the library refuses the rows"] += 1
            continue
        broken = np.flatnonzero(answers != said[i])
        counts["explanations"] += 1
        if broken.size:
            raise WrongError(
                f"{found}: the model says {said[i]!r} for {frame.iloc[i].to_dict()} and another class for "
                f"{table.rows(others[broken[:1]]).iloc[0].to_dict()}"
            )


def one_case(number: int) -> Counter[str]:
    """Counts of a case; WrongError or RawError at the first fault."""
    counts: Counter[str] = Counter()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        drawn = draw(number)
        if drawn is None:
            counts["not run by the library"] += 1
            return counts
        case, rng = drawn
        counts["models"] += 1
        counts.update(f"pair: {pair}" for pair in pairs_of(number))
        with _records.about((case.told, case.learned, case.table.kinds, case.model)):
            X = case.asked(case.table.train) if rng.random() < 0.8 else None
            try:
                read = explained(case.model, X=X, **case.options)
            except Exception as error:  # noqa: BLE001 - looked at
                counts["refused"] += 1
                counts[f"refused: {sentence(error)}"] += 1
                return counts
            widen(case, read, rng)
            if agree(case, read, rng, counts):
                hold(case, Explainer(read, time_limit=5), rng, counts)
            else:
                counts["no rows that both read"] += 1
    return counts
