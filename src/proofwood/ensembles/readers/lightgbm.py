"""Reader of LightGBM classifiers and regressors, from the text that the library saves of a model."""

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
from proofwood.ensembles.readers.reading import beyond_half, both_sides, codes_from, floats_from, greatest
from proofwood.ensembles.readers.sklearn import unnamed
from proofwood.model.node_table import LEAF, FloatArray, IntArray

ZERO = 1.0000000180025095e-35
"""LightGBM treats numbers up to this magnitude as 0."""
BELOW_ZERO = math.nextafter(-ZERO, -math.inf)
"""The largest negative number that LightGBM does not treat as 0."""

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
"""LightGBM objectives that predict a number, with the link from the sum to this number."""


CATEGORICAL, DEFAULT_LEFT, ZEROS, GAPS = 1, 2, 4, 8
"""Bits of a test: it tests categories; its default side is left; zeros take that side; missing values take it."""


def from_lightgbm(model: Any) -> tuple[Forest, Categories | None]:
    """Read a LightGBM estimator (such as ``LGBMClassifier``) or ``Booster``: tests and sums in float64.

    A missing value takes the default side of a test if the training rows had missing values in this column (missing
    type NaN). Else it counts as 0, and so do numbers of magnitude up to ``ZERO``. If zeros mean missing values (missing
    type Zero), zeros and missing values take the default side. The categories in the set of a node go low; other
    categories and missing values go high. Two sums that differ by a few units of float64 at 1 can have equal
    probabilities; the noise covers this. It is larger if the sums are averaged first.

    If training stopped early, only the trees up to the best round are read; ``predict`` uses the same trees, also in a
    ``Booster``.

    Raises
    ------
    TypeError
        If the model has linear leaves or an unknown objective; if a field of the saved model is not known; if it is not
        clear which columns are categories; or if predictions may stop before the last tree (``pred_early_stop``).
    """
    import lightgbm  # optional

    own = isinstance(model, lightgbm.Booster)
    booster = model if own else model.booster_
    if not own and model.get_params().get("pred_early_stop") not in (None, False):
        raise TypeError(
            "the model has pred_early_stop, with which predictions may stop before the last tree and so are not sums "
            "over all trees: expected a model without pred_early_stop"
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
    """The text that LightGBM saves of a model; saved to a file, because returning a string needs twice the memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.txt"
        booster.save_model(path)
        return path.read_text(encoding="utf-8")


def _objective(given: SavedLightGBM) -> tuple[str, LinkKind | None]:
    """The objective, and the link from the sum to the prediction; None if it predicts classes."""
    objective, *parameters = given.objective.split(" ")
    kind = LIGHTGBM_LINKS.get(objective)
    if kind is None and objective not in ("binary", "multiclass", "multiclassova"):
        raise TypeError(
            f"the model has the objective {objective!r}: expected 'binary', 'multiclass', 'multiclassova' or one of "
            f"{', '.join(LIGHTGBM_LINKS)}"
        )
    if "sqrt" in parameters:
        raise TypeError("the model was trained on the square root of its target: expected reg_sqrt=False")
    if not given.n_trees:
        raise TypeError("the model has no tree: expected a model trained for at least one round")
    return objective, kind


def _lightgbm_slop(objective: str, stack: Stack, base: FloatArray, rounds: int, sigmoid: float) -> float:
    """The error in the difference of two sums that corresponds to the rounding of probabilities.

    With the objective ``multiclassova``, each sum has its own logistic function, which is flat far from 0. Where its
    slope is small, a rounding error of the probability corresponds to a large error of the sum.
    """
    slop = rounds * LINKED * DOUBLE / min(1.0, sigmoid)
    if objective != "multiclassova":
        return slop
    return slop * (2 + 2 * math.exp(min(700.0, sigmoid * float(stack.reach(base).max()) / rounds)))


def _categories(given: SavedLightGBM, known: Any) -> Categories | None:
    """The categorical columns, with the names from the training frame or else the numbers seen in training."""
    tested: dict[int, set[int]] = {j: set() for j in given.categorical}
    for test, chosen in given.sets.items():
        tested.setdefault(int(given.column[test]), set()).update(chosen)
    if not tested:
        return None
    if known:
        if len(known) != len(tested):
            raise TypeError(
                f"the training frame had {len(known)} categorical columns, but the model treats {len(tested)} columns "
                "as categorical: expected the same number, without ordered categories"
            )
        values = {j: tuple(names) for j, names in zip(sorted(tested), known, strict=True)}
        return Categories(values, named=True, others=False)
    for j, codes in tested.items():
        if given.infos[j][:1] not in ("[", "n"):  # neither an interval nor "none"
            codes.update(code for code in map(int, given.infos[j].split(":")) if code >= 0)
    return Categories({j: tuple(sorted(codes)) for j, codes in tested.items()}, named=False, others=False)


def trees_of(given: SavedLightGBM, n_scores: int, place: int, categories: Categories | None) -> tuple[Stack, list[int]]:
    """The trees of a saved model, and the columns in which zeros mean missing values.

    Parameters
    ----------
    given : the saved model
    n_scores : number of scores of a leaf
    place : index of the score to which the first tree of a round adds; each later tree of the round adds to the next
        score
    categories : the categorical columns
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
