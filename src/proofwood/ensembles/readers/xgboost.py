"""Reader of XGBoost classifiers and regressors, from the bytes that the library saves of a model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.data.frames import is_pandas
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
from proofwood.ensembles.readers.reading import Sums, beyond_half, both_sides, column_of, greatest
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
"""XGBoost objectives that predict a number, with the link from the sum to this number."""
XGBOOST_CUTS = {"binary:logistic": 0.0, "binary:logitraw": 0.5, "binary:hinge": 0.0}
"""XGBoost objectives for two classes, with the sum above which the second class is predicted."""
XGBOOST_CLASSES = ("multi:softprob", "multi:softmax")
"""XGBoost objectives with one sum per class."""


def from_xgboost(model: Any, X: Any = None, output: int | None = None) -> tuple[Forest, Categories | None]:
    """Read an XGBoost estimator (such as ``XGBClassifier``) or ``Booster``: float32 inputs, tests ``x < threshold``.

    In float32, ``x < t`` is the same as ``x <= t'``, with the float32 ``t'`` before ``t``. The threshold becomes the
    largest float64 that is rounded to at most ``t'``. Sums are computed in float32. A binary model compares the
    logistic function of the sum with 0.5 (the first class wins a tie); a model with more classes compares the softmax
    of the sums. In float32, these functions can give equal results for sums that differ by a few units of float32
    at 1; ``LINKED`` such units of noise cover this. The base score of a binary model is stored as a probability ``p``;
    for the error of its logit in float32, the noise has as many units times ``1 / (1 - p)``.

    If ``missing=`` is a number, it counts as a missing value, and so does every float64 that float32 rounds to it (for
    0 also -0).

    The categories in the set of a node go high, other categories go low, and the node says where missing values go. In
    a ``dart`` booster, each tree is multiplied by a weight; a prediction may add and subtract the base score at every
    tree.

    A ``Booster`` predicts with all its trees. If training stopped early, the scikit-learn estimators predict with the
    trees up to the best round.

    Parameters
    ----------
    model : the fitted model
    X : rows that the user gives; a pandas frame gives the names of categories that the model does not store
    output : number of the label, target or quantile to explain, for a model with several outputs

    Raises
    ------
    TypeError
        If the booster is not a tree model, or its objective is not known; if a field of the saved model is not known;
        or if ``output`` is needed.
    ValueError
        If the model has no output with this number.
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
            f"the model has missing={model.missing!r} and categorical columns, where this number may be the code of a "
            "category: expected missing=nan"
        )
    best = None if own else given.attributes.get("best_iteration")
    used = given.n_trees if best is None else given.trees_up_to(int(best) + 1)
    stack = trees_of(given, used, sums.places, len(sums.base), categories).merged()
    if gap is not None:
        stack = with_gap(stack, stack.feature != LEAF, gap[:2])
    trees, base = stack.trees(), sums.base.copy()
    base[-1] -= sums.cut  # only a single sum has a cut; it is the last one
    dart = given.weights is not None
    units = LINKED * _base_units(sums.base, sums.link) if sums.kind in ("number", "binary") else LINKED
    noise = summing_noise(trees, base, SINGLE, roundings=4 * dart) + units * SINGLE
    if dart:  # roundings of: a sum with the base score, a difference from it, their product with the weight
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
    """How a booster (``own``) or an estimator turns its sums into predictions; TypeError if it cannot be explained."""
    objective, n = given.objective, given.n_outputs
    regressor, binary = objective in XGBOOST_LINKS, objective in XGBOOST_CUTS
    if not regressor and not binary and objective not in XGBOOST_CLASSES:
        known = ", ".join((*XGBOOST_CUTS, *XGBOOST_LINKS, *XGBOOST_CLASSES))
        raise TypeError(f"the model has the objective {objective!r}: expected one of {known}")
    if not given.n_trees:
        raise TypeError("the model has no tree: expected a model trained for at least one round")
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
            f"{error}. Its predict returns two columns, because XGBoost treats the two classes of this softmax as two "
            "labels: to explain the class, pass model.get_booster(), or train with objective='binary:logistic'"
        ) from None
    order = [1 - target, target]
    return Sums(np.argsort(order), base[order], 0.0, np.arange(2), None, "one of two", target)


def _base_units(base: FloatArray, link: Link | None) -> float:
    """The rounding error of the base scores, which are computed from stored predictions, in units of float32 at 1."""
    largest = float(np.abs(base).max())
    if link is None or link.kind == "logistic":
        return 1.0 + math.exp(min(largest, 700.0))
    return 1.0 + largest if link.kind == "log" else 0.0


def _gap(missing: Any) -> Gap | None:
    """The numbers that count as missing because float32 rounds them to ``missing``; None if only nan is missing."""
    if missing is None or math.isnan(missing):
        return None
    if math.isinf(missing):
        raise TypeError(f"the model has missing={missing!r}, which no row may hold: expected nan or a finite number")
    number = np.float32(missing)
    below, last = last_rounded_low([np.nextafter(number, np.float32(-np.inf)), number]).tolist()
    return below, last, float(missing)


# ---------------------------------------------------------------------------------------------------------- categories


def _categories(given: SavedXGBoost, X: Any) -> Categories | None:
    """The categorical columns, with names from the model or from the frame ``X``, or else with the tested numbers."""
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
            "the model stores the names of the categories of only some columns, not of "
            f"{shown([_name(given, j) for j in sorted(tested.keys() - named.keys())])}: expected names for all "
            "columns, or for none"
        )
    return Categories({j: tuple(sorted(codes)) for j, codes in tested.items()}, named=False, others=True)


def _check_cut(given: SavedXGBoost, j: int, found: tuple[Any, ...] | None) -> None:
    """Raise TypeError if the truncated names of a column are not unique, or no frame gives its full names."""
    text, offsets = given.cut[j]
    why = (
        f"the column {_name(given, j)} has categories with non-ASCII names, which XGBoost before "
        f"{'.'.join(map(str, NAMES_CUT))} truncates when it saves them (this model was saved by {given.written_by})"
    )
    pieces = [text[start:end] for start, end in pairwise(offsets)]
    if len(set(pieces)) < len(pieces):
        raise TypeError(
            f"{why}, and two of the truncated names are equal: expected categories that begin with different ASCII "
            "characters, or a model trained with a later XGBoost"
        )
    if found is None or not stored_as(found, text, offsets):
        raise TypeError(
            f"{why}: expected X= with a pandas frame in which the column has all categories of the training, in the "
            "same order; or a model trained with a later XGBoost"
        )


def _name(given: SavedXGBoost, j: int) -> str:
    return repr(given.names[j]) if given.names else str(j)


def _of_frame(given: SavedXGBoost, j: int, X: Any) -> tuple[Any, ...] | None:
    """The categories of a column of the pandas frame ``X``, in the order of their codes; None if there are none."""
    if X is None or not is_pandas(X) or not hasattr(X, "columns"):
        return None
    places = [k for k, name in enumerate(X.columns) if given.names and str(name) == given.names[j]]
    if len(places) != 1:
        return None
    categories = getattr(X.iloc[:, places[0]].dtype, "categories", None)
    return None if categories is None else tuple(categories.tolist())


# --------------------------------------------------------------------------------------------------------------- trees


def trees_of(given: SavedXGBoost, used: int, places: IntArray, n_scores: int, categories: Categories | None) -> Stack:
    """The first ``used`` trees of a saved model.

    Parameters
    ----------
    given : the saved model
    used : number of trees
    places : for each output, the index of its score in a leaf; -1 if the output is left out
    n_scores : number of scores of a leaf
    categories : the categorical columns
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
    scores = given.leaf[leaves].astype(np.float64) * given.factors[of_tree, np.newaxis]  # exact: two float32
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
    """Two functions of rows: the model's own class codes or numbers, and its numbers or probabilities.

    ``booster`` is None if the model is a scikit-learn estimator.
    """
    if booster is not None:
        call = partial(_of_booster, booster)
        if sums.kind == "classes":
            return partial(greatest, call), call
    elif sums.kind == "classes" or (sums.kind == "binary" and sums.places.size == 1):
        labelled = len(model.classes_) > 1  # else it predicts the codes
        codes = coded(model) if labelled else partial(greatest, partial(unnamed, model.predict))
        return codes, partial(probabilities_of, model)
    else:
        call = partial(unnamed, model.predict if sums.kind == "number" else model.predict_proba)
    one = partial(column_of, call, sums.target)
    return (one, one) if sums.kind == "number" else (partial(beyond_half, one), partial(both_sides, one))


def _of_booster(booster: Any, X: Any) -> FloatArray:
    """The predictions of a booster with all its trees, in float64: numbers, or probabilities (or codes) of classes."""
    import xgboost  # optional

    known = {} if hasattr(X, "columns") else {"feature_names": booster.feature_names}
    types = None if hasattr(X, "columns") else booster.feature_types
    rows = xgboost.DMatrix(X, **known, feature_types=types, enable_categorical=True)
    return np.asarray(booster.predict(rows), dtype=np.float64)
