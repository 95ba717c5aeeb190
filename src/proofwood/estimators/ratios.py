"""Criteria that are quotients of counts, such as F1: what their parameters mean, and what they go without."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.arguments import is_integer
from proofwood.hints import parameter
from proofwood.language import marked
from proofwood.model.node_table import IntArray
from proofwood.printable import shown
from proofwood.problem.diagram import LARGEST_SUM
from proofwood.problem.objectives import share_of
from proofwood.problem.targets.ratios import Ratio, Weights
from proofwood.problem.tree import TreeProblem

RATIOS = ("f1", "f_beta", "jaccard", "precision")
NAMES = (marked("F1"), marked("Jaccard index"), marked("precision"))
"""Names of measures, which are translated where they are shown."""
FINDING = marked("trees with a recall of at least %(n_recall)s")
MOST_BETA = 1000


def as_ratio(criterion: str, beta: float | None, pos_label: Any, min_recall: float | None = None) -> Ratio | None:
    """The quotient that a criterion minimises; None if it is no quotient.

    Raises
    ------
    ValueError
        If ``beta`` or ``min_recall`` is no permitted number, or one of them or ``pos_label`` is given for another
        criterion.
    """
    if criterion != "precision" and min_recall is not None:
        raise ValueError(
            f"{parameter('criterion', criterion)} takes no min_recall: leave it out, or set "
            f"{parameter('criterion', 'precision')}"
        )
    if criterion not in RATIOS and pos_label is not None:
        raise ValueError(f"{parameter('criterion', criterion)} knows no positive class: leave out pos_label")
    if criterion != "f_beta":
        if beta is not None:
            raise ValueError(
                f"{parameter('criterion', criterion)} takes no beta: leave it out, or set "
                f"{parameter('criterion', 'f_beta')}"
            )
        if criterion == "precision":
            return Ratio.precision(_least_recall(min_recall))
        return {"f1": Ratio.f(Fraction(1)), "jaccard": Ratio.jaccard()}.get(criterion)
    number = None if beta is None or isinstance(beta, (bool, np.bool_)) else share_of(beta)
    if number is None or not Fraction(1, MOST_BETA) <= number <= MOST_BETA:
        raise ValueError(
            f"{parameter('beta', beta)}: {parameter('criterion', 'f_beta')} needs how many times as much recall counts "
            f"as precision, from {1 / MOST_BETA:g} to {MOST_BETA:,}, such as 2"
        )
    return Ratio.f(number)


def _least_recall(given: float | None) -> Fraction:
    share = None if given is None or isinstance(given, (bool, np.bool_)) else share_of(given)
    if share is None or not 0 < share <= 1:
        raise ValueError(
            f"{parameter('min_recall', given)}: {parameter('criterion', 'precision')} needs the least share of the "
            "positive rows that the tree must find, above 0 and at most 1, such as 0.8"
        )
    return share


def require_no_checkpoint(checkpoint: Any) -> None:
    """Raise ValueError if a file is named, which the search at a least recall does not write."""
    if checkpoint is not None:
        raise ValueError(f"checkpoint does not go with {parameter('criterion', 'precision')}: leave out one of them")


def require_exact_sums(problem: TreeProblem, ratio: Ratio) -> None:
    """Raise ValueError if a limit on recall needs sums of weights that 64 bits do not hold."""
    if ratio.recall and (problem.rounding is not None or int(problem.weights.sum()) ** 2 >= LARGEST_SUM):
        raise ValueError(
            f"{parameter('criterion', 'precision')} needs exact sums of weights, but those of the rows or classes have "
            "too many digits: round them, for example to three digits, or leave out class_weight"
        )


def ratio_of(criterion: str, limits: Mapping[str, Any]) -> tuple[dict[str, Any], Fraction]:
    """The limits of trees for a search of a quotient, and the gap of the quotient that the user permits.

    Raises
    ------
    ValueError
        If a limit has no meaning for a quotient.
    """
    for name in ("alpha", "min_weight_fraction_leaf"):
        if share_of(limits[name]) != 0:
            raise ValueError(
                f"{parameter('criterion', criterion)} cannot be combined with {parameter(name, limits[name])}, for a "
                f"quotient adds up no weights: leave it out, and limit trees by {parameter('max_depth')} or "
                f"{parameter('min_samples_leaf')}"
            )
    given = limits["max_gap"]
    permitted = None if isinstance(given, (bool, np.bool_)) else share_of(given)
    if permitted is None or not 0 <= permitted < 1 or (is_integer(given) and given != 0):
        raise ValueError(
            f"{parameter('max_gap', given)} is not a gap: with {parameter('criterion', criterion)}, expected how "
            "far the measure may be below the best one, from 0 to less than 1, such as 0.01"
        )
    return {**limits, "max_gap": 0}, permitted


def positive_code(criterion: str, pos_label: Any, classes: npt.NDArray[Any], codes: IntArray | None = None) -> int:
    """The code of the positive class.

    Parameters
    ----------
    criterion, pos_label : parameters
    classes : (n_classes,) labels, sorted
    codes : of the rows of positive weight; None if they need no check

    Raises
    ------
    ValueError
        If there are not two classes, the positive one is not known, or no row has it.
    """
    labels = classes.tolist()
    if len(labels) != 2:
        raise ValueError(
            f"{parameter('criterion', criterion)} is about a positive class and another one, but the target has "
            f"{len(labels)} classes ({shown(labels, 5)}): use {parameter('criterion', 'balanced_accuracy')}, or make "
            f"one class positive, such as y == {labels[-1]!r}"
        )
    if pos_label is None and labels not in ([0, 1], [-1, 1]):
        raise ValueError(
            f"{parameter('criterion', criterion)} needs the positive class: pass {parameter('pos_label', labels[0])} "
            f"or {parameter('pos_label', labels[1])}"
        )
    label = 1 if pos_label is None else pos_label
    named = [code for code, known in enumerate(labels) if known == label or str(known) == str(label)]
    if not named:
        raise ValueError(f"{parameter('pos_label', pos_label)} is not a label: expected {labels[0]!r} or {labels[1]!r}")
    if codes is not None and not np.any(codes == named[0]):
        raise ValueError(
            f"{parameter('criterion', criterion)} counts rows of the positive class, but no row of positive weight has "
            f"{labels[named[0]]!r}: pass the other class as pos_label, or weights above 0 for its rows"
        )
    return named[0]


def always_positive(model: Any) -> tuple[str, float]:
    """The positive class of a fitted tree, and what a tree costs that gives it to every row."""
    ratio = as_ratio(model.criterion, model.beta, model.pos_label, getattr(model, "min_recall", None))
    assert ratio is not None
    code = positive_code(model.criterion, model.pos_label, model.classes_)
    weight = [Fraction(of_class) for of_class in model.model_.weight[0].tolist()]
    every = Weights(weight[code], weight[1 - code])
    return str(model.classes_[code]), float(ratio.cost(Weights(Fraction(0), every.negative), every))
