"""Reader of calibrated classifiers, if their class or probability can be written as sums over trees.

With one calibrated classifier of two classes, the probability is a monotone function of one number, so the class
changes at one value of this number. With more classes, a sigmoid compares linear functions of the scores, and a
temperature does not change the order of the scores. With single trees, any calibration gives each leaf its
probabilities, and the mean over several folds is a sum.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from proofwood.ensembles.forest import DOUBLE, LINKED, Forest, Link, merged
from proofwood.ensembles.readers.flattened import TooLargeError, answers_tree
from proofwood.ensembles.readers.members import Together, mean_of, members_of, names_within, unasked
from proofwood.ensembles.readers.register import Asked, Reading, register
from proofwood.ensembles.readers.responses import Response, response_of
from proofwood.model.node_table import FloatArray

ROUNDINGS = 16
"""Bound on the rounding error of a calibrator, in units of rounding; generous for a product, a sum and ``exp``."""
PREFERRED = ("decision_function", "predict_proba")
"""Methods whose result is calibrated; scikit-learn uses the first one that the classifier has."""
METHODS = ("sigmoid", "isotonic", "temperature")


def calibrated_classifier(model: Any, asked: Asked) -> Reading:
    """Read a ``CalibratedClassifierCV``.

    Raises
    ------
    TypeError
        If neither its probabilities nor its class can be computed from sums over trees.
    """
    asked = names_within(model, asked)
    folds = list(model.calibrated_classifiers_)
    unknown = next((fold.method for fold in folds if fold.method not in METHODS), None)
    if unknown is not None:
        raise TypeError(f"the calibration method {unknown!r} is not known: expected one of {', '.join(METHODS)}")
    together = Together(model, members_of([fold.estimator for fold in folds], asked, vote="shares"), asked)
    if len(folds) == 1 and len(together.forests[0].trees) > 1:  # one tree needs no sum
        forest = _of_one_sum(together, folds[0])
        if forest is not None:
            return together.reading(replace(forest, classes=np.asarray(model.classes_)))
    return together.reading(_of_leaves(model, together, folds))


# --------------------------------------------------------------------------------------------- leaves and what they say


class _Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A classifier that returns the values it was constructed with, for any rows."""

    def __init__(self, classes: Any, given: Any) -> None:
        self.classes_, self._given = classes, given

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _Says(_Given):
    """A classifier that returns given probabilities."""

    def predict_proba(self, X: Any) -> Any:
        return self._given


class _Decides(_Given):
    """A classifier that returns given values of a decision function."""

    def decision_function(self, X: Any) -> Any:
        return self._given


def _of_leaves(model: Any, together: Together, folds: list[Any]) -> Forest:
    """The forest with one tree per fold, whose leaves hold calibrated probabilities; the model predicts their mean."""
    n, several = len(model.classes_), len(folds)
    given = []
    for k, fold in enumerate(folds):
        decides = hasattr(fold.estimator, "decision_function")
        try:
            flat, said = answers_tree(together.members[k].core, PREFERRED[0 if decides else 1])
        except (TooLargeError, TypeError) as error:
            what = f"{several} calibrated classifiers" if several != 1 else f"{n} classes"
            raise TypeError(
                f"a CalibratedClassifierCV of {what} with a {type(fold.estimator).__name__} in it cannot be explained: "
                "its probabilities are not functions of one sum over trees. Expected single trees or small ensembles "
                f"({error}), or one classifier (ensemble=False, or a FrozenEstimator) with two classes, or with "
                "method='sigmoid' or 'temperature', whose probability is a mean over its trees or the logistic "
                "function of their sum"
            ) from error
        told = copy.copy(fold)
        told.estimator = (_Decides if decides else _Says)(np.asarray(fold.estimator.classes_), said)
        tree = together.over(k, flat.holding(told.predict_proba(np.zeros((flat.tree.leaves.size, 1)))))
        forest = together.forests[k]
        given.append(replace(forest, trees=(merged(tree),), base=np.zeros(n), noise=0.0, link=Link()))
    return replace(mean_of(given, [1.0] * several, n), classes=np.asarray(model.classes_))


# -------------------------------------------------------------------------------------------------------- one sum


def _of_one_sum(together: Together, fold: Any) -> Forest | None:
    """The forest of one calibrated classifier; None if its class cannot be computed from sums over trees."""
    inner, forest = fold.estimator, together.forests[0]
    if fold.method == "temperature":
        return _by_temperature(inner, forest, float(fold.calibrators[0].beta_))
    if forest.n_classes > 2:
        return _by_sigmoids(inner, forest, fold.calibrators) if fold.method == "sigmoid" else None
    if forest.n_classes != 2:
        return None
    try:
        response = response_of(inner, forest, PREFERRED)
    except TypeError:
        return None
    return _by_cut(response, fold.calibrators[0], partial(_second, fold.calibrators[0].predict))


def at_share(fold: Any, forest: Forest, value: float, classes: Any, *, code: int) -> Forest:
    """The forest that predicts one class if its calibrated probability is at least ``value``, else the other class.

    Parameters
    ----------
    fold : the calibrated classifier, with two classes
    forest : the forest of the classifier inside; its sums are probabilities if the classifier computes them as sums
    value : threshold of the probability
    classes : both labels
    code : the class whose probability is compared with ``value``

    Raises
    ------
    TypeError
        If the calibrated number is not a function of one sum over the trees, or if the probability reaches ``value``
        only by rounding.
    """
    response = response_of(fold.estimator, forest, PREFERRED)
    calibrator = fold.calibrators[0]
    share = calibrator.predict
    if fold.method == "temperature":
        share = partial(_of_temperature, calibrator.predict, alone=response.method == "decision_function")
    second = partial(_second_from, share, value, code)
    return replace(_by_cut(response, calibrator, second, value), classes=np.asarray(classes))


def _of_temperature(predict: Callable[[Any], FloatArray], numbers: FloatArray, *, alone: bool) -> FloatArray:
    given = numbers[:, np.newaxis] if alone else np.stack([1 - numbers, numbers], axis=1)
    return predict(given)[:, 1]


def _by_cut(response: Response, calibrator: Any, second: Callable[[float], bool], value: float = 0.5) -> Forest:
    """The forest of a calibrated classifier of two classes. The score at which its class changes is found by bisection.

    Parameters
    ----------
    response : the score that is calibrated
    calibrator : a fitted calibrator
    second : function of a score that says whether the second class is predicted
    value : the probability at which the class changes
    """
    forest, link = response.forest, response.link
    ends = (0.0, 1.0)
    if response.method == "decision_function":
        reach = forest.reach / link.divisor
        ends = (-reach, reach)
    found = _cut(second, *ends)
    if found is None:
        always = np.eye(2)[int(second(ends[0]))]
        return _classes_of(forest, [np.zeros(len(tree.feature)) for tree in forest.trees], always, np.zeros(2), 0.0)
    at, rises = found
    slop = _slop(calibrator, at, max(link.unit, DOUBLE), value, alone=response.method == "decision_function")
    step = forest.step if response.exact else None
    exact = None if step is None else link.exact_cut(at, step, reached=False)
    if exact is not None and step is not None and _clear(exact, step, link, at, slop):
        cut, noise = exact, 0.0
    else:
        inside = at if response.method == "decision_function" else min(max(at, 1e-15), 1 - 1e-15)
        cut, moved = link.cut(inside)
        slop *= link.divisor if link.kind == "mean" else 2 * link.divisor / (inside * (1 - inside))
        noise = response.noise + slop + moved + 4 * DOUBLE * (abs(cut) + abs(response.base))
    sides = np.array([0.0, 1.0]) if rises else np.array([1.0, 0.0])
    base = response.base * sides + cut * (1 - sides)
    made = _classes_of(forest, response.values, base, sides, noise)
    return replace(made, ties_low=rises)  # a number at the cut is on its lower side


def _clear(cut: float, step: float, link: Link, at: float, slop: float) -> bool:
    """Whether the two numbers next to the cut, one on each side, are farther from it than the rounding error."""
    below, above = link.number(cut)[0], link.number(cut + step)[0]
    return at - below > slop and above - at > slop


def _classes_of(forest: Forest, values: list[FloatArray], base: FloatArray, sides: FloatArray, noise: float) -> Forest:
    trees = tuple(
        merged(replace(tree, value=np.outer(value, sides))) for tree, value in zip(forest.trees, values, strict=True)
    )
    return replace(_plain(forest), trees=trees, base=base, noise=noise)


def _second(predict: Callable[[FloatArray], FloatArray], number: float) -> bool:
    """Whether the second class is predicted if the number before calibration is ``number``."""
    share = float(predict(np.array([number]))[0])
    return share > 1.0 - share


def _second_from(share: Callable[[FloatArray], FloatArray], value: float, code: int, number: float) -> bool:
    """Whether ``number`` gives the second class, if class ``code`` needs at least the probability ``value``."""
    given = float(share(np.array([number]))[0])
    return given >= value if code else not 1.0 - given >= value


def _cut(second: Callable[[float], bool], low: float, high: float) -> tuple[float, bool] | None:
    """The last number before the class changes, and whether the second class is above; None if it never changes."""
    first = second(low)
    if first == second(high):
        return None
    while True:
        middle = low + (high - low) / 2
        if not low < middle < high:
            return low, not first
        if second(middle) == first:
            low = middle
        else:
            high = middle


def _slop(calibrator: Any, at: float, unit: float, value: float, *, alone: bool) -> float:
    """The distance by which rounding may move the number at which the class changes.

    Parameters
    ----------
    calibrator : a fitted calibrator
    at : the number at which the class changes
    unit : half the distance from 1 to the next number of the arithmetic in which ``at`` is computed
    value : the probability at this number
    alone : whether the number is a logit; else it is a probability

    Raises
    ------
    TypeError
        If the probability reaches ``value`` only by rounding.
    """
    curved = hasattr(calibrator, "a_") or hasattr(calibrator, "beta_")
    if not curved:
        return ROUNDINGS * unit * abs(at) + np.finfo(np.float64).tiny
    if not 0 < value < 1:
        raise TypeError(f"its probability reaches {value:g} only by rounding: expected a threshold between 0 and 1")
    flat = 1 / (value * (1 - value)) - 4  # the logistic function is steepest in the middle
    if hasattr(calibrator, "a_"):
        slope = abs(float(calibrator.a_))
        reach = 1.0 + abs(float(calibrator.b_)) + slope * abs(at)
    else:
        beta = float(calibrator.beta_)
        slope = 2 * beta if alone else beta / max(at * (1 - at), np.finfo(np.float64).tiny)
        reach = 1.0 + abs(math.log(value / (1 - value))) + beta * (0.0 if alone else 1.0)
    return ROUNDINGS * unit * (reach + flat) / slope


# ---------------------------------------------------------------------------------------------------- more classes


def _numbers(inner: Any, forest: Forest) -> Link | None:
    """For more than two classes, the link from a class sum to the number that is calibrated; None if not known."""
    if hasattr(inner, "decision_function"):
        return None if forest.decision is None else Link(divisor=forest.decision)
    return forest.link if forest.link is not None and forest.link.kind == "mean" else None


def _by_sigmoids(inner: Any, forest: Forest, calibrators: list[Any]) -> Forest | None:
    r"""The forest whose sums are :math:`-(a_k s_k + b_k)`, with the number :math:`s_k` of class k; the largest wins.

    The probability of a class is the logistic function of this sum, divided by the total. None if some row may get sums
    so large that two classes round to the same probability, or so small that the total is 0.
    """
    link = _numbers(inner, forest)
    if link is None or len(calibrators) != forest.n_classes:
        return None
    slopes = np.array([-float(one.a_) for one in calibrators])
    starts = np.array([-float(one.b_) for one in calibrators])
    trees = tuple(merged(replace(tree, value=tree.value * (slopes / link.divisor))) for tree in forest.trees)
    base = forest.base * (slopes / link.divisor) + starts
    leaves = [tree.value[tree.leaves] for tree in trees]
    highest = float((base + sum(value.max(axis=0) for value in leaves)).max())
    lowest = float((base + sum(value.min(axis=0) for value in leaves)).min())
    if highest > 30 or lowest < -600:
        return None
    steep = float(np.abs(slopes).max())
    number = forest.noise / link.divisor + (DOUBLE + link.unit) * forest.reach / link.divisor
    sizes = float(np.abs(starts).max()) + steep * forest.reach / link.divisor
    slop = steep * number + ROUNDINGS * DOUBLE * sizes + LINKED * DOUBLE * (1 + float(np.exp(max(highest, 0.0))))
    return replace(_plain(forest), trees=trees, base=base, noise=2 * slop)


def _by_temperature(inner: Any, forest: Forest, beta: float) -> Forest | None:
    """The forest of a temperature calibration: a softmax with a positive factor does not change the order of classes.

    The softmax is computed of logits, or of logarithms of probabilities. None if the sums are neither, or the factor is
    not positive.
    """
    if forest.n_classes == 2:
        try:
            link: Link | None = response_of(inner, forest, PREFERRED).link
        except TypeError:
            return None
    else:
        link = _numbers(inner, forest)
    if link is None or not beta > 0:
        return None
    unit = LINKED * (DOUBLE + link.unit) * (1 + 1 / beta)
    if link.kind == "logistic":
        slop = 16 * unit * link.divisor
    elif hasattr(inner, "decision_function"):
        slop = unit * (link.divisor + forest.reach)
    else:
        slop = 16 * unit * link.divisor
    step = forest.step
    noise = 0.0 if step is not None and step > 4 * slop else 2 * forest.noise + slop
    return replace(_plain(forest), noise=noise)


def _plain(forest: Forest) -> Forest:
    return replace(forest, ties_low=True, link=None, output=None, decision=None, predict=unasked)


register(
    "sklearn.CalibratedClassifierCV",
    calibrated_classifier,
    words="CalibratedClassifierCV of one such model or of several single trees",
)
