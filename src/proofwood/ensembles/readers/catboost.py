"""Reader of CatBoost classifiers and regressors, from the JSON that the library writes.

CatBoost rounds numbers to float32; a row goes high iff its number is above the border of the test.

A saved model holds only a hash of each category's text, and a row goes high iff its category has the tested hash. The
texts come from the rows that the user gives, and CatBoost computes the hash of each.
"""

from __future__ import annotations

import json
import math
import numbers
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError

from proofwood.data.kinds import Kind, Taken
from proofwood.ensembles.forest import (
    DOUBLE,
    NO_CLASSES,
    OTHER,
    Codes,
    Forest,
    Link,
    LinkKind,
    ScoredTree,
    Stack,
    summing_noise,
)
from proofwood.ensembles.readers.catboost_file import HASHES, SavedCatBoost, saved
from proofwood.ensembles.readers.reading import (
    Adapted,
    Sums,
    beyond_half,
    both_sides,
    codes_from,
    column_names,
    column_of,
    listed,
    mixed,
    plain,
)
from proofwood.ensembles.readers.register import target_of
from proofwood.ensembles.readers.sklearn import probabilities_of, unnamed
from proofwood.ensembles.sources import Source
from proofwood.ensembles.space import Input
from proofwood.exceptions import DataError
from proofwood.model.convert import last_rounded_low
from proofwood.model.node_table import LEAF, FloatArray, IntArray

LINKS: dict[str, LinkKind] = {
    "RMSE": "mean",
    "MAE": "mean",
    "MAPE": "mean",
    "Quantile": "mean",
    "Huber": "mean",
    "Expectile": "mean",
    "LogCosh": "mean",
    "Lq": "mean",
    "Poisson": "log",
    "Tweedie": "log",
    "MultiRMSE": "mean",
    "MultiRMSEWithMissingValues": "mean",
    "MultiQuantile": "mean",
    "RMSEWithUncertainty": "mean",
    "PairLogit": "mean",
    "PairLogitPairwise": "mean",
    "YetiRank": "mean",
    "YetiRankPairwise": "mean",
    "QueryRMSE": "mean",
    "QuerySoftMax": "mean",
    "LambdaMart": "mean",
    "StochasticRank": "mean",
    "StochasticFilter": "mean",
}
"""Losses of models that predict numbers, with the link that turns the sum into the prediction."""
BINARY = ("Logloss", "CrossEntropy", "Focal")
LABELS = ("MultiLogloss", "MultiCrossEntropy")
CLASSES = ("MultiClass", "MultiClassOneVsAll")
"""Losses for two classes, for several labels, and for more than two classes."""


def from_catboost(model: Any, feature_names: Sequence[str] | None, X: Any = None, output: int | None = None) -> Adapted:
    """Read a CatBoost model whose trees test numbers, or one category at a time.

    With two classes, the second wins if the sum is above 0, or above the logit of the model's probability threshold. A
    missing value goes low, unless the model treats the missing values of this column as larger than all numbers. A
    category is never missing.

    Parameters
    ----------
    model : fitted, or loaded from a file
    feature_names : names of the columns, if the user gives them
    X : rows that contain all categories that the trees test; needed if the trees test categories
    output : number of the target to explain, for a model with several targets

    Raises
    ------
    TypeError
        If a tree tests statistics of categories, text or embeddings; if the loss does not predict a number or a class
        by one sum per class; if a field of the saved model is not known; or if ``output`` is needed.
    ValueError
        If a tested category does not occur in ``X``, or the model has no target ``output``.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    """
    if not model.is_fitted():  # sums of models and loaded models lack the attributes that check_is_fitted tests
        raise NotFittedError(f"this {type(model).__name__} is not fitted: call fit first")
    given = saved(text_of(model))
    sums = _sums(model, given, output)
    n_columns = len(model.feature_names_)
    if given.width > n_columns:
        raise ValueError(f"the model tests column {given.width - 1}, but it has only {n_columns} columns (from 0)")
    names = column_names(tuple(map(str, model.feature_names_)), n_columns, feature_names)
    known = _categories_of(model, given.categories, names, X)
    stack = trees_of(given, sums.places, len(sums.base), known).merged()
    base = sums.base.copy()
    if math.isinf(sums.cut):  # a probability threshold of 0 or 1: one class whatever the sum is
        stack, base = Stack.of([ScoredTree.leaf(np.array([0.0, -np.sign(sums.cut)]))]), np.zeros(2)
    else:
        base[-1] -= sums.cut  # only a single sum has a cut; it is the last one
    trees = stack.trees()
    noise = summing_noise(trees, base, DOUBLE, roundings=2)
    if math.isfinite(sums.cut):
        noise += 8 * DOUBLE * abs(sums.cut)
    predict, numbers = _asked(model, sums)
    takes = np.ones(n_columns, dtype=bool)
    takes[list(known)] = False
    forest = Forest(
        trees=trees,
        base=base,
        classes=sums.classes,
        n_columns=n_columns,
        noise=noise,
        predict=predict,
        takes_missing=takes,
        names=tuple(map(str, model.feature_names_)),
        link=sums.link,
        output=None if sums.link is None else numbers,
    )
    if not known:
        return plain(forest, feature_names)
    asked = partial(_of_frame, known, tuple(model.feature_names_))
    given_output = None if forest.output is None else partial(asked, forest.output)
    forest = replace(forest, predict=partial(asked, predict), output=given_output)
    inputs = tuple(
        Input(name, Kind.NOMINAL, levels=known[j].texts, other=True) if j in known else Input(name)
        for j, name in enumerate(names)
    )
    read = partial(_read, model, known, names)
    sources = tuple(Source(j) for j in range(n_columns))
    return Adapted(
        forest,
        inputs,
        sources,
        read,
        forest.predict,
        unknown_missing=False,
        output=forest.output,
        categories={j: texts.texts for j, texts in known.items()},
    )


# ---------------------------------------------------------------------------------------------------------------- sums


def _sums(model: Any, given: SavedCatBoost, output: int | None) -> Sums:
    """How a model turns its sums into predictions; TypeError if the model cannot be explained."""
    loss, n = given.loss, given.bias.size
    regressor = type(model).__name__ in ("CatBoostRegressor", "CatBoostRanker")
    known = (*LINKS, *BINARY, *LABELS, *CLASSES)
    if loss not in known and not (loss is None and (regressor or n == 1)):
        raise TypeError(f"the model has the loss {loss!r}: expected one of {', '.join(known)}")
    if regressor:
        return _sums_of_numbers(model, given, output)
    if loss in LINKS:
        raise TypeError(f"a {type(model).__name__} has the loss {loss!r}: expected a CatBoostRegressor for this loss")
    if loss in CLASSES:
        target_of(model, 1, output)
        return Sums(np.arange(n), given.bias, 0.0, np.asarray(model.classes_), None, "classes", 0)
    labels = loss in LABELS
    target = target_of(model, n if labels else 1, output)
    places = np.full(n, -1)
    places[target] = 1
    cut = 0.0 if labels else _logit(given.threshold)
    base = np.array([0.0, given.bias[target]])
    classes = np.arange(2) if labels else np.asarray(model.classes_)
    link = None if cut else Link("logistic")
    return Sums(places, base, cut, classes, link, "label" if labels else "binary", target)


def _sums_of_numbers(model: Any, given: SavedCatBoost, output: int | None) -> Sums:
    n = given.bias.size
    uncertain = given.loss == "RMSEWithUncertainty"
    target = target_of(model, n, output, ["the mean", "the variance"] if uncertain else None)
    places = np.full(n, -1)
    places[target] = 0
    link = Link(LINKS.get(given.loss or "", "mean"))
    if uncertain and target == 1:  # the sum is the logarithm of a standard deviation
        link = Link("log", divisor=0.5)
    return Sums(places, given.bias[target : target + 1], 0.0, NO_CLASSES, link, "number", target)


def _logit(threshold: float) -> float:
    if threshold in (0.0, 1.0):
        return math.inf if threshold else -math.inf
    return -math.log(1.0 / threshold - 1.0) + 0.0


def _asked(model: Any, sums: Sums) -> tuple[Callable[[Any], npt.NDArray[Any]], Callable[[Any], FloatArray]]:
    """Two functions of rows: the model's own class codes or numbers, and its numbers or probabilities."""
    if sums.kind == "number":
        one = partial(column_of, partial(unnamed, model.predict), sums.target)
        return one, one
    if sums.kind == "label":
        one = partial(column_of, partial(unnamed, model.predict_proba), sums.target)
        return partial(beyond_half, partial(column_of, partial(unnamed, model.predict), sums.target)), partial(
            both_sides, one
        )
    return partial(codes_from, partial(unnamed, model.predict), sums.classes), partial(probabilities_of, model)


def trees_of(given: SavedCatBoost, places: IntArray, n_scores: int, known: Mapping[int, _Texts]) -> Stack:
    """The trees of a saved model.

    Parameters
    ----------
    given : the saved model
    places : for each output, the index of its score in a leaf; -1 if the output is left out
    n_scores : number of scores of a leaf
    known : the categories of each categorical column
    """
    leaf = given.column == LEAF
    categorical = np.zeros(leaf.size, dtype=bool)
    categorical[list(given.hashes)] = True
    border = np.where(leaf | categorical, 0.0, given.border).astype(np.float32)
    threshold = np.where(leaf | categorical, np.nan, last_rounded_low(border))
    value = np.zeros((leaf.size, n_scores))
    for output, place in enumerate(places.tolist()):
        if place >= 0:
            value[:, place] = given.value[:, output]
    codes_of_hash: dict[tuple[int, int], Codes] = {}
    levels: dict[int, Codes] = {}
    for node, hashed in given.hashes.items():
        column = int(given.column[node])
        if (column, hashed) not in codes_of_hash:
            codes_of_hash[column, hashed] = known[column].codes_low(hashed)
        levels[node] = codes_of_hash[column, hashed]
    return Stack(given.begins, given.column, threshold, given.low, given.high, given.missing_low, value, levels)


# ---------------------------------------------------------------------------------------------------------- categories


@dataclass(frozen=True)
class _Texts:
    """Categories of a column: their texts and hashes, the hashes that trees test, and a text with an untested hash."""

    texts: tuple[str, ...]
    hashes: tuple[int, ...]
    tested: frozenset[int]
    other: str

    def codes_low(self, tested: int) -> Codes:
        """The codes of all categories whose hash differs from ``tested``."""
        return frozenset({OTHER, *(code for code, own in enumerate(self.hashes) if own != tested)})


def text_of(model: Any, pool: Any = None) -> str:
    """The JSON text that CatBoost writes for a model; it has the hashes of the categories in ``pool``, if given."""
    import catboost  # optional

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            model.save_model(str(path), format="json", pool=pool)
        except catboost.CatBoostError as error:
            raise TypeError(
                f"CatBoost cannot write this model as JSON, the format read here ({str(error).splitlines()[0]}): "
                "expected a model of numbers and categories, without text or embeddings"
            ) from error
        return path.read_text(encoding="utf-8")


def _categories_of(model: Any, tested: Mapping[int, frozenset[int]], names: Sequence[str], X: Any) -> dict[int, _Texts]:
    """For each column whose categories the trees test, these categories."""
    if not tested:
        return {}
    columns = None if X is None else listed(X, names)
    texts = {j: () if columns is None else tuple(sorted({_text(v, names[j]) for v in columns[j]})) for j in tested}
    others = tuple(f"(any other {k})" for k in range(8))
    hashes = _hashes(model, {*others, *(text for found in texts.values() for text in found)})
    known = {}
    for j, wanted in tested.items():
        lacking = wanted - {hashes[text] for text in texts[j]}
        if lacking:
            raise ValueError(
                f"the model tests {len(wanted)} categories of the column {names[j]!r}, and CatBoost stores only their "
                f"hashes: {'X is not given' if X is None else f'{len(lacking)} of them do not occur in X'}. Expected "
                "X= with rows that contain all of them (on the command line, a table that contains them)"
            )
        other = next(text for text in others if hashes[text] not in wanted)
        known[j] = _Texts(texts[j], tuple(hashes[text] for text in texts[j]), wanted, other)
    return known


def _hashes(model: Any, texts: Collection[str]) -> dict[str, int]:
    """The hash of each text, computed by CatBoost."""
    import catboost  # optional
    import pandas as pd  # optional: CatBoost asks for it

    chosen = set(model.get_cat_feature_indices())
    listed_texts = sorted(texts)
    table = {
        str(name): listed_texts if j in chosen else [0.0] * len(listed_texts)
        for j, name in enumerate(model.feature_names_)
    }
    pool = catboost.Pool(pd.DataFrame(table), cat_features=sorted(chosen))
    found = json.loads(text_of(model, pool))["features_info"]["cat_features_hash"]
    return {entry["value"]: int(entry["hash"]) % HASHES for entry in found}


def taken_as_written(model: Any, cells: Mapping[str, Sequence[str | None]]) -> dict[str, Taken]:
    """For each column of categories, whether the cells of an untyped file are read as texts or as truth values.

    A cell ``True`` may be this text or a truth value, which CatBoost writes as "1". The hashes that the trees test
    decide it.

    Parameters
    ----------
    model : fitted, or loaded from a file
    cells : by the name of each column, its cells as they are written in the file
    """
    tested = saved(text_of(model)).categories
    words = {name: {text for text in written if text is not None} for name, written in cells.items()}
    truths = {name for name, found in words.items() if found and {text.strip().lower() for text in found} <= _TRUTHS}
    hashes = _hashes(model, {"0", "1", *(text for name in truths for text in words[name])}) if truths else {}
    takes = {}
    for j in model.get_cat_feature_indices():
        name, wanted = str(model.feature_names_[j]), tested.get(j, frozenset())
        numbered = name in truths and not wanted.isdisjoint({hashes["0"], hashes["1"]})
        written = numbered and not wanted.isdisjoint({hashes[text] for text in words[name]})
        takes[name] = Taken((False, True)) if numbered and not written else Taken(text=True)
    return takes


_TRUTHS = {"true", "false"}


def _text(value: Any, name: str) -> str:
    """The text that CatBoost hashes for a category."""
    if isinstance(value, str):
        return value
    if isinstance(value, numbers.Integral | np.bool_):
        return str(int(value))  # truth values become "0" and "1"
    raise DataError(
        f"column {name!r} holds categories, and one of them is {value!r}: CatBoost expects text, integers or truth "
        "values"
    )


def _read(model: Any, known: Mapping[int, _Texts], names: Sequence[str], X: Any) -> FloatArray:
    """Rows as numbers and codes of categories.

    A category that is not in ``known`` gets the code of a known category with the same tested hash. If no
    category has this hash, the code is the one after the last.
    """
    columns = listed(X, names)
    for j in known:
        columns[j] = [_text(value, names[j]) for value in columns[j]]
    table: Any = np.empty((len(columns[0]), len(names)), dtype=object)
    for j, column in enumerate(columns):
        table[:, j] = column
    rows = mixed(table, names, {j: found.texts for j, found in known.items()})
    for j, found in known.items():
        new = np.flatnonzero(rows[:, j] == len(found.texts))
        if not new.size or not found.tested:
            continue
        hashes = _hashes(model, {columns[j][row] for row in new.tolist()})
        for row in new.tolist():
            if hashes[columns[j][row]] in found.tested:
                rows[row, j] = found.hashes.index(hashes[columns[j][row]])
    return rows


def _of_frame(known: Mapping[int, _Texts], names: Sequence[Any], call: Callable[[Any], Any], X: FloatArray) -> Any:
    """The result of ``call`` for rows of codes, converted to a frame with the texts of the categories."""
    import pandas as pd  # optional: CatBoost asks for it

    columns: dict[Any, Any] = {}
    for j, name in enumerate(names):
        columns[name] = X[:, j]
        if j in known:
            texts = np.array([*known[j].texts, known[j].other], dtype=object)
            columns[name] = texts[np.clip(X[:, j], 0, len(texts) - 1).astype(np.int64)]
    return call(pd.DataFrame(columns))
