"""Votes, bags and AdaBoost of scikit-learn, whose members are models themselves."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from proofwood.ensembles.forest import DOUBLE, Forest, Link, merged, summing_noise
from proofwood.ensembles.readers.members import Together, mean_of, members_of, names_within, unasked
from proofwood.ensembles.readers.outputs import codes_of, greatest
from proofwood.ensembles.readers.register import Asked, Reading, register
from proofwood.ensembles.readers.sklearn import unnamed
from proofwood.ensembles.readers.voting import shares_of_votes, votes

PROBABILITIES = "members whose probabilities are means over trees (trees, forests, bagged trees)"
NUMBERS = "members whose predictions are sums or means over trees"


def voting_classifier(model: Any, asked: Asked) -> Reading:
    """``VotingClassifier``: the weighted mean of probabilities, or the class with the greatest weight of members.

    Of classes that are equally good the first wins.
    """
    asked = names_within(model, asked)
    hard = model.voting == "hard"
    members = members_of(model.estimators_, asked, vote="auto" if hard else "shares")
    together = Together(model, members, asked)
    weights = _weights(model)
    n = len(model.classes_)
    codes = [codes_of(member.forest.classes, np.arange(n)) for member in members]
    if hard:
        instead = "with voting='soft' its probabilities are averaged, which can be read"
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
    """``VotingRegressor``: the weighted mean of its members' numbers."""
    asked = names_within(model, asked)
    together = Together(model, members_of(model.estimators_, asked, vote="auto"), asked)
    instead = "explain its members one by one (estimators_)"
    given = [together.given(k, NUMBERS, instead) for k in range(len(together.members))]
    return together.reading(mean_of(given, _weights(model), 1))


def _weights(model: Any) -> list[float]:
    given = model._weights_not_none
    return [1.0] * len(model.estimators_) if given is None else [float(weight) for weight in given]


def bagging_classifier(model: Any, asked: Asked) -> Reading:
    """``BaggingClassifier``: the mean of its members' probabilities, or of their votes where they give none.

    Each member sees some of the columns, and maybe not all classes.
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
    """The reading of a bag that predicts the class which most members do."""
    core = reading.core
    if not reading.direct or core.table is not None:
        raise ValueError(
            f"vote='majority' with steps or categories inside of a {type(model).__name__}: expected vote='auto'"
        )
    counted = partial(unnamed, partial(votes, model, None, core.forest.n_classes))
    predict, output = partial(greatest, counted), partial(shares_of_votes, counted)
    forest = replace(core.forest, predict=predict, output=output, majority=True)
    return Reading(replace(core, forest=forest, predict=predict, output=output))


def bagging_regressor(model: Any, asked: Asked) -> Reading:
    """``BaggingRegressor``, whose members each see some of the columns: the mean of their numbers."""
    asked = names_within(model, asked)
    members = members_of(model.estimators_, asked, columns=_columns(model), vote="auto")
    together = Together(model, members, asked)
    instead = "bag trees or forests, or explain its members one by one (estimators_)"
    given = [together.given(k, NUMBERS, instead) for k in range(len(members))]
    return together.reading(mean_of(given, [1.0] * len(members), 1))


def _columns(model: Any) -> list[Any] | None:
    """Columns of each member, None if all see all of them in order."""
    every = np.arange(model.n_features_in_)
    if all(np.array_equal(columns, every) for columns in model.estimators_features_):
        return None
    return list(model.estimators_features_)


def ada_boost(model: Any, asked: Asked) -> Reading:
    """``AdaBoostClassifier``: each member votes for its class with its weight, and for the others against it.

    The sums are divided by the sum of the weights; of two classes, the first wins a tie. Of two classes, the
    probability of the second is the logistic function of the quotient. Missing values are refused by it, whatever its
    members do with them.
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
