"""XGBoost classifiers and regressors as forests of floats, read from what the library saves of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.data.columns import is_pandas
from proofwood.ensembles.forest import (
    LINKED,
    NO_CLASSES,
    OTHER,
    SINGLE,
    Codes,
    Forest,
    Link,
    LinkKind,
    Stack,
    summing_noise,
)
from proofwood.ensembles.readers.categories import Categories
from proofwood.ensembles.readers.nodes import with_gap
from proofwood.ensembles.readers.outputs import Sums, beyond_half, both_sides, column_of, greatest
from proofwood.ensembles.readers.register import target_of
from proofwood.ensembles.readers.sklearn import coded, probabilities_of, unnamed
from proofwood.ensembles.readers.xgboost_file import (
    NAMES_CUT,
    SavedXGBoost,
    margin,
    saved,
    stored_as,
)
from proofwood.ensembles.space import Gap
from proofwood.model.convert import last_rounded_low
from proofwood.model.node_table import LEAF, FloatArray, IntArray
from proofwood.printable import shown

XGBOOST_LINKS: dict[str, LinkKind] = {
    "reg:squarederror": "mean",
    "reg:squaredlogerror": "mean",
    "reg:absoluteerror": "mean",
    "reg:pseudohubererror": "mean",
    "reg:quantileerror": "mean",
    "reg:expectileerror": "mean",
    "reg:logistic": "logistic",
    "reg:gamma": "log",
    "reg:tweedie": "log",
    "count:poisson": "log",
    "survival:cox": "log",
    "survival:aft": "log",
    "rank:pairwise": "mean",
    "rank:ndcg": "mean",
    "rank:map": "mean",
}
"""Objectives of XGBoost that predict a number, and what they make of the sum."""
XGBOOST_CUTS = {"binary:logistic": 0.0, "binary:logitraw": 0.5, "binary:hinge": 0.0}
"""Objectives of XGBoost with two classes, and the sum above which it is the second."""
XGBOOST_CLASSES = ("multi:softprob", "multi:softmax")
"""Objectives of XGBoost with one sum per class."""


def from_xgboost(model: Any, X: Any = None, output: int | None = None) -> tuple[Forest, Categories | None]:
    """``XGBClassifier``, its relatives, or ``Booster``: float32 inputs, ``x < threshold``, sums in float32.

    ``x < t`` in float32 is ``x <= t'`` with the float32 before ``t``, and the threshold is moved up to the last float64
    that is rounded to at most ``t'``. A binary model compares the logistic function of the sum with 0.5 (a tie is the
    first class), one with many classes the softmax of the sums. Both are computed in float32 and can merge sums that
    differ by a few units of float32 at 1: the noise covers it with ``LINKED`` such units. The base score of a binary
    model is stored as a probability ``p``; its logit in float32 is off by as many units times ``1 / (1 - p)``.

    A number ``missing=`` stands for a missing value: so do all float64 that float32 rounds to it, of 0 also -0. They go
    where a missing value goes.

    Categories of the set of a node go high, all others low, and missing values where the node says. The trees of a
    booster ``dart`` are multiplied with a weight each; a prediction may add and subtract the base score at every tree.

    A ``Booster`` predicts with all its trees; the wrappers for scikit-learn, if training stopped early, with those up
    to the best round.

    Parameters
    ----------
    model : fitted
    X : rows of the user; a frame says what the categories of a column are called where the model does not know it
    output : which target of a model of several: the place of a label, of a target, or of a quantile

    Raises
    ------
    TypeError
        If the booster is not a tree model, or has another objective than those known here; if a field of the saved
        model is not known; or if ``output`` is needed.
    ValueError
        If there is no such output.
    """
    import xgboost  # optional

    booster = model if isinstance(model, xgboost.Booster) else model.get_booster()
    own = model is booster
    given = saved(bytes(booster.save_raw(raw_format="ubj")))
    sums = _sums(model, given, own=own, output=output)
    gap = None if own else _gap(getattr(model, "missing", None))
    categories = _categories(given, X)
    if gap is not None and categories is not None:
        raise TypeError(
            f"missing={model.missing!r} of a model with categories: expected nan, as the number is also a code of them"
        )
    best = None if own else given.attributes.get("best_iteration")
    used = given.n_trees if best is None else given.trees_up_to(int(best) + 1)
    stack = trees_of(given, used, sums.places, len(sums.base), categories).merged()
    if gap is not None:
        stack = with_gap(stack, stack.feature != LEAF, gap[:2])
    trees, base = stack.trees(), sums.base.copy()
    base[-1] -= sums.cut  # of a single sum, which is the last one
    dart = given.weights is not None
    units = LINKED * _base_units(sums.base, sums.link) if sums.kind in ("number", "binary") else LINKED
    noise = summing_noise(trees, base, SINGLE, roundings=4 * dart) + units * SINGLE
    if dart:  # of a sum with the base score, of a difference from it, and of their product with the weight
        noise += 8 * SINGLE * float(np.abs(base).max() * given.factors[:used].sum())
    predict, numbers = _asked(model, booster if own else None, sums)
    forest = Forest(
        trees=trees,
        base=base,
        classes=sums.classes,
        n_columns=given.n_columns,
        noise=noise,
        predict=predict,
        takes_missing=np.ones(given.n_columns, dtype=bool),
        for_missing={} if gap is None else dict.fromkeys(range(given.n_columns), gap),
        names=given.names,
        link=sums.link,
        output=None if sums.link is None else numbers,
    )
    return forest, categories


# ---------------------------------------------------------------------------------------------------------------- sums


def _sums(model: Any, given: SavedXGBoost, *, own: bool, output: int | None) -> Sums:
    """What a booster (``own``) or a wrapper makes of its sums; TypeError if the model cannot be explained."""
    objective, n = given.objective, given.n_outputs
    regressor, binary = objective in XGBOOST_LINKS, objective in XGBOOST_CUTS
    if not regressor and not binary and objective not in XGBOOST_CLASSES:
        known = ", ".join((*XGBOOST_CUTS, *XGBOOST_LINKS, *XGBOOST_CLASSES))
        raise TypeError(f"the objective is {objective!r}: expected one of {known}")
    if not given.n_trees:
        raise TypeError("the booster has no tree: expected one that learned for a round or more")
    kind: LinkKind = "logistic" if objective == "binary:logistic" else XGBOOST_LINKS.get(objective, "mean")
    base = margin(given.base, kind)
    if not regressor and not binary:
        return _sums_of_classes(model, given, base, own=own, output=output)
    target = target_of(model, n, output)
    places = np.full(n, -1)
    link = Link(kind, unit=SINGLE) if regressor or objective == "binary:logistic" else None
    if regressor:
        places[target] = 0
        start = base[target : target + 1]
        return Sums(places, start, 0.0, NO_CLASSES, link, "number", target)
    places[target] = 1
    classes = np.arange(2) if own or n > 1 or len(model.classes_) < 2 else np.asarray(model.classes_)
    cut = XGBOOST_CUTS[objective]
    return Sums(places, np.array([0.0, base[target]]), cut, classes, link, "binary", target)


def _sums_of_classes(model: Any, given: SavedXGBoost, base: FloatArray, *, own: bool, output: int | None) -> Sums:
    n, objective = given.n_outputs, given.objective
    if own or n != 2 or objective == "multi:softmax":
        target_of(model, 1, output)
        classes = np.arange(n) if own else np.asarray(model.classes_)
        return Sums(np.arange(n), base, 0.0, classes, None, "classes", 0)
    try:
        target = target_of(model, n, output, ["whether it is class 0", "whether it is class 1"])
    except TypeError as error:
        raise TypeError(
            f"{error}. Its predict gives two columns, as softmax of two classes is to XGBoost one of two labels: "
            "for the class itself, pass model.get_booster(), or learn with objective='binary:logistic'"
        ) from None
    order = [1 - target, target]
    return Sums(np.argsort(order), base[order], 0.0, np.arange(2), None, "one of two", target)


def _base_units(base: FloatArray, link: Link | None) -> float:
    """Roundings of the base that is made of a stored prediction, in units at 1: 1 / (1 - p) is 1 + exp(logit)."""
    largest = float(np.abs(base).max())
    if link is None or link.kind == "logistic":
        return 1.0 + math.exp(min(largest, 700.0))
    return 1.0 + largest if link.kind == "log" else 0.0


def _gap(missing: Any) -> Gap | None:
    """The numbers that float32 rounds to the one that stands for a missing value; None where only nan does."""
    if missing is None or math.isnan(missing):
        return None
    if math.isinf(missing):
        raise TypeError(f"missing={missing!r}: expected nan or a finite number, as no row may hold an infinite one")
    number = np.float32(missing)
    below, last = last_rounded_low([np.nextafter(number, np.float32(-np.inf)), number]).tolist()
    return below, last, float(missing)


# ---------------------------------------------------------------------------------------------------------- categories


def _categories(given: SavedXGBoost, X: Any) -> Categories | None:
    """Columns of categories: by the names that the model or a frame has or, without these, by the numbers it tests."""
    columns = {j for j, kind in enumerate(given.types) if kind == "c"}
    tested: dict[int, set[int]] = {j: set() for j in columns}
    for node, codes in given.sets.items():
        tested.setdefault(int(given.column[node]), set()).update(codes)
    if not tested:
        return None
    named = {j: names for j, names in given.categories.items() if j in tested}
    for j in sorted(tested.keys() - named.keys()):
        found = _of_frame(given, j, X)
        if j in given.cut:
            _check_cut(given, j, found)
        if found is not None:  # a model without names takes the codes that a frame has
            named[j] = found
    if len(named) == len(tested):
        return Categories(dict(sorted(named.items())), named=True, others=False)
    if named:
        raise TypeError(
            f"the model knows the names of the categories of some columns only, and not those of "
            f"{shown([_name(given, j) for j in sorted(tested.keys() - named.keys())])}: expected those of all columns "
            "or of none"
        )
    return Categories({j: tuple(sorted(codes)) for j, codes in tested.items()}, named=False, others=True)


def _check_cut(given: SavedXGBoost, j: int, found: tuple[Any, ...] | None) -> None:
    """TypeError unless a frame has the categories of a column whose names are cut, and XGBoost tells them apart."""
    text, offsets = given.cut[j]
    why = (
        f"the column {_name(given, j)} has categories that are not ASCII, whose names XGBoost before "
        f"{'.'.join(map(str, NAMES_CUT))} stores cut (this model is of {given.written_by})"
    )
    pieces = [text[start:end] for start, end in pairwise(offsets)]
    if len(set(pieces)) < len(pieces):
        raise TypeError(
            f"{why}, and two of them are the same to it: expected a model whose categories begin with different ASCII "
            "characters, or one learned with a later XGBoost"
        )
    if found is None or not stored_as(found, text, offsets):
        raise TypeError(
            f"{why}: expected X= with a frame of pandas in which the column has all the categories of the training, in "
            "their order; or a model learned with a later XGBoost"
        )


def _name(given: SavedXGBoost, j: int) -> str:
    return repr(given.names[j]) if given.names else str(j)


def _of_frame(given: SavedXGBoost, j: int, X: Any) -> tuple[Any, ...] | None:
    """The categories of a column of a frame of pandas, in the order of their codes; None if it has none."""
    if X is None or not is_pandas(X) or not hasattr(X, "columns"):
        return None
    places = [k for k, name in enumerate(X.columns) if given.names and str(name) == given.names[j]]
    if len(places) != 1:
        return None
    categories = getattr(X.iloc[:, places[0]].dtype, "categories", None)
    return None if categories is None else tuple(categories.tolist())


# --------------------------------------------------------------------------------------------------------------- trees


def trees_of(given: SavedXGBoost, used: int, places: IntArray, n_scores: int, categories: Categories | None) -> Stack:
    """The first trees of a model.

    Parameters
    ----------
    given : the model
    used : number of the trees
    places : for each output the place of its score, -1 if it has none; a tree of such an output has no score
    n_scores : scores of a leaf
    categories : columns of categories
    """
    end = int(given.begins[used])
    low = given.low[:end]
    leaf = low == -1
    before = np.nextafter(given.threshold[:end], np.float32(-np.inf)).astype(np.float64)
    threshold = last_rounded_low(np.where(leaf | np.isnan(before), 0.0, before))
    stack = Stack(
        given.begins[: used + 1],
        np.where(leaf, LEAF, given.column[:end]),
        threshold,
        low,
        given.high[:end],
        given.missing_low[:end],
        np.zeros((end, n_scores)),
    )
    levels: dict[int, Codes] = {}
    for node, high in given.sets.items():
        if node < end:
            assert categories is not None
            column = int(given.column[node])
            lows = categories.all_codes(column) - categories.codes(column, high)
            levels[node] = lows | ({OTHER} if given.missing_low[node] else set())
    threshold[leaf] = threshold[list(levels)] = np.nan
    leaves = np.flatnonzero(leaf)
    of_tree = stack.tree_of[leaves]
    scores = given.leaf[leaves].astype(np.float64) * given.factors[of_tree, np.newaxis]  # exact, of two float32
    value = stack.value
    if scores.shape[1] == 1:
        place = places[given.output_of[of_tree]]
        value[leaves[place >= 0], place[place >= 0]] = scores[place >= 0, 0]
    else:
        for output, place in enumerate(places.tolist()):
            if place >= 0:
                value[leaves, place] = scores[:, output]
    return replace(stack, levels=levels)


# ---------------------------------------------------------------------------------------------------------- prediction


def _asked(
    model: Any, booster: Any, sums: Sums
) -> tuple[Callable[[Any], npt.NDArray[Any]], Callable[[Any], FloatArray]]:
    """What the model itself predicts, and its numbers or probabilities; ``booster`` is None of a wrapper."""
    if booster is not None:
        call = partial(_of_booster, booster)
        if sums.kind == "classes":
            return partial(greatest, call), call
    elif sums.kind == "classes" or (sums.kind == "binary" and sums.places.size == 1):
        labelled = len(model.classes_) > 1  # else the codes are what it predicts
        codes = coded(model) if labelled else partial(greatest, partial(unnamed, model.predict))
        return codes, partial(probabilities_of, model)
    else:
        call = partial(unnamed, model.predict if sums.kind == "number" else model.predict_proba)
    one = partial(column_of, call, sums.target)
    return (one, one) if sums.kind == "number" else (partial(beyond_half, one), partial(both_sides, one))


def _of_booster(booster: Any, X: Any) -> FloatArray:
    """What a booster predicts with all its trees, in float64: numbers, or probabilities (or codes) of classes."""
    import xgboost  # optional

    known = {} if hasattr(X, "columns") else {"feature_names": booster.feature_names}
    types = None if hasattr(X, "columns") else booster.feature_types
    rows = xgboost.DMatrix(X, **known, feature_types=types, enable_categorical=True)
    return np.asarray(booster.predict(rows), dtype=np.float64)
