"""LightGBM classifiers and regressors as forests of floats, read from the text that the library saves of them."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.ensembles.forest import (
    DOUBLE,
    LINKED,
    NO_CLASSES,
    Codes,
    Forest,
    Link,
    LinkKind,
    Stack,
    summing_noise,
)
from proofwood.ensembles.readers.categories import Categories
from proofwood.ensembles.readers.lightgbm_file import SavedLightGBM, saved
from proofwood.ensembles.readers.nodes import with_gap
from proofwood.ensembles.readers.outputs import beyond_half, both_sides, codes_from, floats_from, greatest
from proofwood.ensembles.readers.sklearn import unnamed
from proofwood.model.node_table import LEAF, FloatArray, IntArray

ZERO = 1.0000000180025095e-35
"""LightGBM takes numbers up to this magnitude for 0."""
BELOW_ZERO = math.nextafter(-ZERO, -math.inf)
"""The last number that does not count as 0."""

LIGHTGBM_LINKS: dict[str, LinkKind] = {
    "regression": "mean",
    "regression_l1": "mean",
    "huber": "mean",
    "fair": "mean",
    "quantile": "mean",
    "mape": "mean",
    "lambdarank": "mean",
    "rank_xendcg": "mean",
    "poisson": "log",
    "gamma": "log",
    "tweedie": "log",
    "cross_entropy": "logistic",
}
"""Objectives of LightGBM that predict a number, and what they make of the sum."""


CATEGORICAL, DEFAULT_LEFT, ZEROS, GAPS = 1, 2, 4, 8
"""Bits of a test: it is of categories; a missing value goes left; zeros, or missing values, take that side."""


def from_lightgbm(model: Any) -> tuple[Forest, Categories | None]:
    """``LGBMClassifier``, its relatives, or ``Booster``: ``x <= threshold`` in float64, sums in float64.

    Missing values take the default side where the training rows of the column had some (missing type NaN), else they
    count as 0, as do numbers of magnitude up to ``ZERO``. Where zeros stand for missing values (missing type Zero),
    both take the default side. The comparison of probabilities can merge sums that differ by a few units of float64 at
    1, which the noise covers as for XGBoost; if the sums are averaged before, by as many more. Categories of the set of
    a node go low, all others and missing values high.

    If training stopped early, the trees up to the best round are read: those that ``predict`` uses, of a ``Booster``
    too.

    Raises
    ------
    TypeError
        If the model has linear leaves, or another objective than binary or softmax; if a field of the saved model is
        not known, or if it is not clear which columns are categories; or if its predictions may end before the last
        tree (``pred_early_stop``).
    """
    import lightgbm  # optional

    own = isinstance(model, lightgbm.Booster)
    booster = model if own else model.booster_
    if not own and model.get_params().get("pred_early_stop") not in (None, False):
        raise TypeError(
            "pred_early_stop: predictions of this model end before its last tree where the sum is far from a change, "
            "and are not a sum of its trees: expected a model without it"
        )
    given = saved(text_of(booster))
    objective, kind = _objective(given)
    regressor, binary = kind is not None, objective == "binary"
    n = 1 if regressor else 2 if binary else given.n_classes
    categories = _categories(given, booster.pandas_categorical or ())
    stack, zeros = trees_of(given, n, 1 if binary else 0, categories)
    trees, base = stack.trees(), np.zeros(n)
    sigmoid = _sigmoid(given.objective)
    rounds = max(1, given.n_trees // given.per_round) if given.average else 1
    noise = summing_noise(trees, base, DOUBLE)
    noise += 0.0 if regressor else _lightgbm_slop(objective, stack, base, rounds, sigmoid)
    divisor = rounds if regressor else rounds / sigmoid
    link = Link(kind or "logistic", divisor) if regressor or binary else None
    if own:
        classes: npt.NDArray[Any] = NO_CLASSES if regressor else np.arange(n)
        call = partial(floats_from, booster.predict)
        output = partial(both_sides, call) if binary else call
        predict: Callable[[Any], Any] = call if regressor else partial(beyond_half if binary else greatest, call)
    else:
        classes = NO_CLASSES if regressor else np.asarray(model.classes_)
        label = partial(unnamed, partial(model.predict, validate_features=False))
        share = partial(unnamed, partial(model.predict_proba, validate_features=False)) if binary else label
        output = partial(floats_from, share)
        predict = output if regressor else partial(codes_from, label, classes)
    forest = Forest(
        trees=trees,
        base=base,
        classes=classes,
        n_columns=given.n_columns,
        noise=noise,
        predict=predict,
        takes_missing=np.ones(given.n_columns, dtype=bool),
        for_missing=dict.fromkeys(zeros, (BELOW_ZERO, ZERO, 0.0)),
        names=given.names,
        link=link,
        output=None if link is None else output,
        decision=None if regressor or isinstance(model, lightgbm.Booster) else float(rounds),
    )
    return forest, categories


def text_of(booster: Any) -> str:
    """What the library saves of a model; to a file, as it makes a long text twice to return it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.txt"
        booster.save_model(path)
        return path.read_text(encoding="utf-8")


def _objective(given: SavedLightGBM) -> tuple[str, LinkKind | None]:
    """The objective, and what it makes of the sum if it predicts a number."""
    objective, *parameters = given.objective.split(" ")
    kind = LIGHTGBM_LINKS.get(objective)
    if kind is None and objective not in ("binary", "multiclass", "multiclassova"):
        raise TypeError(
            f"the objective is {objective!r}: expected 'binary', 'multiclass', 'multiclassova' or one of "
            f"{', '.join(LIGHTGBM_LINKS)}"
        )
    if "sqrt" in parameters:
        raise TypeError("the model has learned the root of its target: expected reg_sqrt=False")
    if not given.n_trees:
        raise TypeError("the model has no tree: expected one that learned for a round or more")
    return objective, kind


def _lightgbm_slop(objective: str, stack: Stack, base: FloatArray, rounds: int, sigmoid: float) -> float:
    """How much the computation of probabilities from sums may change the difference of two sums.

    In "one against all others", each sum goes through a logistic function of its own, which is flat far from 0: there
    the rounding of a probability counts as much as the slope is small.
    """
    slop = rounds * LINKED * DOUBLE / min(1.0, sigmoid)
    if objective != "multiclassova":
        return slop
    return slop * (2 + 2 * math.exp(min(700.0, sigmoid * float(stack.reach(base).max()) / rounds)))


def _categories(given: SavedLightGBM, known: Any) -> Categories | None:
    """Columns of categories: named by the frame that the model was learned from, or the numbers that it has seen."""
    tested: dict[int, set[int]] = {j: set() for j in given.categorical}
    for test, chosen in given.sets.items():
        tested.setdefault(int(given.column[test]), set()).update(chosen)
    if not tested:
        return None
    if known:
        if len(known) != len(tested):
            raise TypeError(
                f"the model was learned from {len(known)} columns of categories of a frame, and {len(tested)} columns "
                "are categories to it: expected the same, without ordered ones"
            )
        values = {j: tuple(names) for j, names in zip(sorted(tested), known, strict=True)}
        return Categories(values, named=True, others=False)
    for j, codes in tested.items():
        if given.infos[j][:1] not in ("[", "n"):  # neither an interval nor "none"
            codes.update(code for code in map(int, given.infos[j].split(":")) if code >= 0)
    return Categories({j: tuple(sorted(codes)) for j, codes in tested.items()}, named=False, others=False)


def trees_of(given: SavedLightGBM, n_scores: int, place: int, categories: Categories | None) -> tuple[Stack, list[int]]:
    """The trees, and the columns whose zeros stand for missing values.

    Parameters
    ----------
    given : the model
    n_scores : scores of a leaf
    place : of the score of the first tree of a round; the others follow
    categories : columns of categories
    """
    size, n_tests = int(given.begins[-1]), given.n_tests
    of_tree = np.repeat(np.arange(given.n_trees), n_tests)
    of_leaf = np.repeat(np.arange(given.n_trees), n_tests + 1)
    first_leaf = np.cumsum(n_tests) - n_tests + np.arange(given.n_trees)
    test = given.begins[of_tree] + np.arange(of_tree.size) - (np.cumsum(n_tests) - n_tests)[of_tree]
    leaf = given.begins[of_leaf] + n_tests[of_leaf] + np.arange(of_leaf.size) - first_leaf[of_leaf]
    t, decision = given.threshold, given.decision
    t = np.where((t >= -ZERO) & (t < 0), BELOW_ZERO, np.where((t >= 0) & (t < ZERO), ZERO, t))
    default_low = decision & DEFAULT_LEFT > 0
    kind = decision & (ZEROS | GAPS)
    categorical = decision & CATEGORICAL > 0

    def spread(values: Any, dtype: Any, other: Any) -> Any:
        found = np.full(size, other, dtype=dtype)
        found[test] = values
        return found

    def child(given_children: IntArray) -> IntArray:
        return np.where(given_children >= 0, given_children, n_tests[of_tree] - 1 - given_children)

    value = np.zeros((size, n_scores))
    value[leaf, (place + of_leaf % given.per_round)] = given.leaf
    levels: dict[int, Codes] = {}
    for at, codes in given.sets.items():
        assert categories is not None
        levels[int(test[at])] = categories.codes(int(given.column[at]), codes)
    stack = Stack(
        given.begins,
        spread(given.column, np.int64, LEAF),
        spread(np.where(categorical, np.nan, t), np.float64, np.nan),
        spread(child(given.left), np.int64, LEAF),
        spread(child(given.right), np.int64, LEAF),
        # a missing value of a column that had none counts as 0
        spread(np.where(categorical, False, np.where(kind == 0, t >= 0, default_low)), np.bool_, True),
        value,
        levels,
    )
    zeros = ~categorical & (kind == ZEROS)
    if zeros.any():
        stack = with_gap(stack, spread(zeros, np.bool_, False), (BELOW_ZERO, ZERO))
    return stack.merged(), sorted(set(given.column[zeros].tolist()))


def _sigmoid(objective: str) -> float:
    for word in objective.split(" "):
        if word.startswith("sigmoid:"):
            return float(word.removeprefix("sigmoid:"))
    return 1.0
