"""Readers of models with one model per class or target: ``OneVsRestClassifier``, ``MultiOutputClassifier``, ..."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier

from proofwood.ensembles.forest import DOUBLE, LINKED, NO_CLASSES, Forest, ScoredTree, merged
from proofwood.ensembles.readers.dummy import constant
from proofwood.ensembles.readers.members import Member, Together, members_of, names_within, unasked
from proofwood.ensembles.readers.register import Asked, Reading, register, target_of
from proofwood.ensembles.readers.responses import Response, response_of, thresholded
from proofwood.model.node_table import FloatArray

METHODS = ("decision_function", "predict_proba")


# ------------------------------------------------------------------------------------------------------ one per class


def one_vs_rest(model: Any, asked: Asked) -> Reading:
    """Read a ``OneVsRestClassifier``: it predicts the class whose classifier returns the greatest number.

    With two classes, or for one label of several, one number is compared with 0 or 0.5. Which class wins a tie depends
    on the release of scikit-learn, so the installed release is tried.
    """
    kind = model.label_binarizer_.y_type_
    labels = np.asarray(model.classes_)
    names = [f"label {label!r}" for label in labels.tolist()]
    target = target_of(model, len(model.estimators_) if kind.startswith("multilabel") else 1, asked.output, names)
    own = names_within(model, asked)
    if kind == "multiclass" and len(model.estimators_) > 1:
        return _greatest(model, own, labels)
    first = model.estimators_[0]
    value = 0.0 if hasattr(first, "decision_function") and is_classifier(first) else 0.5
    classes = np.array([0, 1]) if kind.startswith("multilabel") else labels
    together = Together(model, _members(model, [model.estimators_[target]], own), own)
    response = _response(model, together, 0)
    return together.reading(thresholded(response, value, classes, reached=False))


def _members(model: Any, estimators: list[Any], asked: Asked) -> list[Member]:
    """The readings of binary classifiers; some of them may have seen only one class in training."""
    question = replace(asked, output=None, vote="shares")
    found = []
    for one in estimators:
        if type(one).__name__ == "_ConstantPredictor":
            value = float(np.ravel(one.y_)[0])
            found.append(Member(one, question.read(constant(NO_CLASSES, np.array([value]), _width(model)))))
        else:
            found += members_of([one], question, vote="shares")
    return found


def _width(model: Any) -> int:
    return int(getattr(model, "n_features_in_", getattr(model.estimators_[0], "n_features_in_", 0)))


def _response(model: Any, together: Together, k: int) -> Response:
    inner = together.members[k].model
    try:
        return response_of(inner, together.forests[k], METHODS)
    except TypeError as error:
        raise TypeError(
            f"a {type(model).__name__} of {type(inner).__name__} cannot be explained: {error}. Instead, explain its "
            "estimators_ one by one"
        ) from error


def _greatest(model: Any, asked: Asked, labels: npt.NDArray[Any]) -> Reading:
    together = Together(model, _members(model, list(model.estimators_), asked), asked)
    responses = [_response(model, together, k) for k in range(len(labels))]
    links = {replace(one.link, divisor=1.0) for one in responses if not one.forest.is_regressor}
    kinds = {link.kind for link in links} or {"mean"}
    if len(kinds) > 1 or "log" in kinds:
        raise TypeError(
            f"a {type(model).__name__} cannot be explained if its estimators_ return different kinds of numbers: "
            "expected estimators of one kind. Instead, explain them one by one"
        )
    logistic = kinds == {"logistic"}
    divisors = {one.link.divisor for one in responses}
    common = divisors.pop() if len(divisors) == 1 and not logistic else 1.0
    trees: list[ScoredTree] = []
    base, noises = np.zeros(len(labels)), []
    for k, response in enumerate(responses):
        made, start, noise = _scores(response, common, logistic)
        side = np.eye(len(labels))[k]
        trees += [merged(replace(tree, value=np.outer(tree.value[:, 0], side))) for tree in made]
        base[k] = start
        noises.append(noise)
    noise = float(np.sort(noises)[-2:].sum())
    forest = Forest(tuple(trees), base, labels, 0, noise, unasked, ties_low=_first_wins(model))
    return together.reading(forest)


def _scores(response: Response, common: float, logistic: bool) -> tuple[list[ScoredTree], float, float]:
    """Trees and base of a sum that increases with the predicted number, and the largest rounding error of the sum."""
    forest, link = response.forest, response.link
    if logistic and forest.is_regressor:  # a constant 0 or 1; all other numbers are between them
        value = 1e3 * (2 * float(forest.trees[0].value[0, 0] + forest.base[0]) - 1)
        return [replace(forest.trees[0], value=np.zeros((1, 1)))], value, 0.0
    factor = common / link.divisor
    values = [value * factor for value in response.values]
    trees = [replace(tree, value=value[:, np.newaxis]) for tree, value in zip(forest.trees, values, strict=True)]
    base = response.base * factor
    noise = response.noise * factor
    reach = abs(base) + sum(float(np.abs(tree.value[tree.leaves]).max(initial=0.0)) for tree in trees)
    if logistic:
        number = 1 / (1 + float(np.exp(-min(reach, 700.0))))
        slope = number * (1 - number)
        unit = LINKED * link.unit + 8 * DOUBLE
        if slope < 64 * unit:
            raise TypeError(
                "the probabilities of its estimators_ are so close to 0 or 1 that rounding may make them equal: "
                "expected estimators with decision_function, or fewer trees. Instead, explain them one by one"
            )
        noise += 2 * unit / slope
    elif link.divisor != 1 or not response.exact:
        noise += 2 * (DOUBLE + link.unit) * reach
    return trees, base, noise


def _first_wins(model: Any) -> bool:
    """Whether the first of several equally good classes wins in the installed release of scikit-learn."""
    asked = copy.copy(model)
    asked.estimators_ = [_Equal() for _ in model.estimators_]
    (label,) = asked.predict(np.zeros((1, 1))).tolist()
    return bool(label == model.classes_.tolist()[0])


class _Equal(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A classifier whose decision function is 0 for every row."""

    def decision_function(self, X: Any) -> FloatArray:
        return np.zeros(len(X))


# ----------------------------------------------------------------------------------------------------- one per target


def one_per_target(model: Any, asked: Asked) -> Reading:
    """Read the model of one target of a ``MultiOutputClassifier`` or ``MultiOutputRegressor``."""
    target = target_of(model, len(model.estimators_), asked.output)
    return replace(names_within(model, asked), output=None).read(model.estimators_[target])


def chain(model: Any, asked: Asked) -> Reading:
    """Read the first model of a ``ClassifierChain`` or ``RegressorChain``; the others use its predictions."""
    order = np.asarray(model.order_)
    target = target_of(model, len(model.estimators_), asked.output)
    if target != order[0]:
        raise TypeError(
            f"output={target} of a {type(model).__name__} depends on its predictions for other outputs, which are not "
            f"columns of the table: expected output={int(order[0])}, the first of the chain. Instead, use independent "
            "models, as in MultiOutputClassifier or MultiOutputRegressor"
        )
    own = replace(names_within(model, asked), vote="auto")
    together = Together(model, members_of([model.estimators_[0]], own, vote="auto"), own)
    forest = together.forests[0]
    if not forest.is_regressor:
        forest = replace(forest, link=None, classes=forest.classes.astype(np.float64))  # the chain predicts floats
    return together.reading(forest, takes_missing=False)


register("sklearn.OneVsRestClassifier", one_vs_rest, words="OneVsRestClassifier of such models", outputs=True)
register(
    ("sklearn.MultiOutputClassifier", "sklearn.MultiOutputRegressor"),
    one_per_target,
    words="MultiOutputClassifier or MultiOutputRegressor",
    votes=True,
    outputs=True,
)
register(("sklearn.ClassifierChain", "sklearn.RegressorChain"), chain, outputs=True)
