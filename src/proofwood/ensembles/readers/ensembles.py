"""Readers of scikit-learn's voting, bagging and AdaBoost models, whose members are models themselves."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from proofwood.ensembles.forest import DOUBLE, Forest, Link, merged, summing_noise
from proofwood.ensembles.readers.members import Together, mean_of, members_of, names_within, unasked
from proofwood.ensembles.readers.reading import codes_of, greatest
from proofwood.ensembles.readers.register import Asked, Reading, register
from proofwood.ensembles.readers.sklearn import unnamed
from proofwood.ensembles.readers.voting import shares_of_votes, votes

PROBABILITIES = "members whose probabilities are means over trees (trees, forests, bagged trees)"
NUMBERS = "members whose predictions are sums or means over trees"


def voting_classifier(model: Any, asked: Asked) -> Reading:
    """Read a ``VotingClassifier``: it averages probabilities with weights, or counts the weighted votes of its members.

    The first of several equally good classes wins.
    """
    asked = names_within(model, asked)
    hard = model.voting == "hard"
    members = members_of(model.estimators_, asked, vote="auto" if hard else "shares")
    together = Together(model, members, asked)
    weights = _weights(model)
    n = len(model.classes_)
    codes = [codes_of(member.forest.classes, np.arange(n)) for member in members]
    if hard:
        instead = "a model with voting='soft' averages probabilities and can be read"
        trees = [together.votes(k, instead) for k in range(len(members))]
        tallied = tuple(
            merged(replace(tree, value=tree.value * weight @ np.eye(n)[code]))
            for tree, weight, code in zip(trees, weights, codes, strict=True)
        )
        noise = summing_noise(tallied, np.zeros(n), DOUBLE)
        forest = Forest(tallied, np.zeros(n), np.asarray(model.classes_), 0, noise, unasked)
        return together.reading(forest)
    instead = "explain its members one by one (estimators_)"
    given = [together.given(k, PROBABILITIES, instead) for k in range(len(members))]
    forest = mean_of(given, weights, n, codes=codes)
    return together.reading(replace(forest, classes=np.asarray(model.classes_)))


def voting_regressor(model: Any, asked: Asked) -> Reading:
    """Read a ``VotingRegressor``, which predicts the weighted mean of its members' predictions."""
    asked = names_within(model, asked)
    together = Together(model, members_of(model.estimators_, asked, vote="auto"), asked)
    instead = "explain its members one by one (estimators_)"
    given = [together.given(k, NUMBERS, instead) for k in range(len(together.members))]
    return together.reading(mean_of(given, _weights(model), 1))


def _weights(model: Any) -> list[float]:
    given = model._weights_not_none
    return [1.0] * len(model.estimators_) if given is None else [float(weight) for weight in given]


def bagging_classifier(model: Any, asked: Asked) -> Reading:
    """Read a ``BaggingClassifier``: the mean of the probabilities, or else of the votes, of its members.

    A member may see only some of the columns and some of the classes.
    """
    asked = names_within(model, asked)
    columns = _columns(model)
    shares = hasattr(model.estimators_[0], "predict_proba") and asked.vote != "majority"
    members = members_of(model.estimators_, asked, columns=columns, vote="shares" if shares else "auto")
    together = Together(model, members, asked)
    n = len(model.classes_)
    codes = [codes_of(member.forest.classes, np.arange(n)) for member in members]
    ones = [1.0] * len(members)
    if shares:
        instead = "bag trees or forests, or explain its members one by one (estimators_)"
        given = [together.given(k, PROBABILITIES, instead) for k in range(len(members))]
    else:
        instead = "bag single trees, or models with predict_proba"
        classes = [together.votes(k, instead) for k in range(len(members))]
        given = [
            replace(forest, trees=(tree,), base=np.zeros(len(code)), noise=0.0, link=Link())
            for forest, tree, code in zip(together.forests, classes, codes, strict=True)
        ]
    forest = replace(mean_of(given, ones, n, codes=codes), classes=np.asarray(model.classes_))
    reading = together.reading(forest)
    return _by_majority(reading, model) if asked.vote == "majority" else reading


def _by_majority(reading: Reading, model: Any) -> Reading:
    """The reading of a bag that predicts the class which most members predict."""
    core = reading.core
    if not reading.direct or core.table is not None:
        raise ValueError(
            f"vote='majority' with steps or categories inside a {type(model).__name__} is not possible: expected "
            "vote='auto'"
        )
    counted = partial(unnamed, partial(votes, model, None, core.forest.n_classes))
    predict, output = partial(greatest, counted), partial(shares_of_votes, counted)
    forest = replace(core.forest, predict=predict, output=output, majority=True)
    return Reading(replace(core, forest=forest, predict=predict, output=output))


def bagging_regressor(model: Any, asked: Asked) -> Reading:
    """Read a ``BaggingRegressor``: the mean of its members' predictions; each member may see only some columns."""
    asked = names_within(model, asked)
    members = members_of(model.estimators_, asked, columns=_columns(model), vote="auto")
    together = Together(model, members, asked)
    instead = "bag trees or forests, or explain its members one by one (estimators_)"
    given = [together.given(k, NUMBERS, instead) for k in range(len(members))]
    return together.reading(mean_of(given, [1.0] * len(members), 1))


def _columns(model: Any) -> list[Any] | None:
    """Columns of each member; None if every member sees all columns in order."""
    every = np.arange(model.n_features_in_)
    if all(np.array_equal(columns, every) for columns in model.estimators_features_):
        return None
    return list(model.estimators_features_)


def ada_boost(model: Any, asked: Asked) -> Reading:
    """Read an ``AdaBoostClassifier``.

    Each member adds its weight to the class it predicts, and a negative share of the weight to each other class. The
    sums are divided by the total weight. With two classes, the first wins a tie, and the probability of the second is
    the logistic function of the quotient. The model refuses missing values, even if its members accept them.
    """
    asked = names_within(model, asked)
    weights = model.estimator_weights_[: len(model.estimators_)].tolist()
    together = Together(model, members_of(model.estimators_, asked, vote="auto"), asked)
    n = len(model.classes_)
    trees = []
    for k, weight in enumerate(weights):
        tree = together.votes(k, "boost single trees")
        codes = codes_of(together.forests[k].classes, model.classes_)
        chosen = codes[tree.value.argmax(axis=1)]
        value = np.full((len(chosen), n), -weight / max(1, n - 1))
        value[np.arange(len(chosen)), chosen] = weight
        trees.append(merged(replace(tree, value=value)))
    base = np.zeros(n)
    whole = float(np.sum(model.estimator_weights_))
    binary = n == 2 and whole > 0
    forest = Forest(
        trees=tuple(trees),
        base=base,
        classes=np.asarray(model.classes_),
        n_columns=0,
        noise=summing_noise(tuple(trees), base, DOUBLE, roundings=4),
        predict=unasked,
        link=Link("logistic", divisor=whole) if binary else None,
        decision=whole if whole > 0 else None,
    )
    return together.reading(forest, takes_missing=False)


register(
    "sklearn.VotingClassifier",
    voting_classifier,
    words="VotingClassifier, VotingRegressor, BaggingClassifier or BaggingRegressor of models that can be read",
)
register("sklearn.VotingRegressor", voting_regressor)
register("sklearn.BaggingClassifier", bagging_classifier, votes=True)
register("sklearn.BaggingRegressor", bagging_regressor)
register("sklearn.AdaBoostClassifier", ada_boost, words="AdaBoostClassifier of trees")
