r"""Classes made from numbers: the band in which a regressor's prediction lies, or whether a probability is high enough.

A regressor adds up one number per tree. Linear scores turn its sum into a class: with cuts :math:`c_1 < ... < c_k`,
band :math:`b` has the score :math:`b F - \sum_{j \le b} c_j`, so that the sum :math:`F` lies in the band with the
greatest score. A least probability adds one class of constant score, which wins if no class reaches the level. Both
results are ensembles that add up scores, so all questions about classes work for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood import decimals
from proofwood.ensembles.forest import DOUBLE, Link, ScoredTree, cut_of, merged
from proofwood.ensembles.readers.reading import Adapted
from proofwood.model.node_table import FloatArray, IntArray

UNSURE = "unsure"
"""Class of the rows whose most likely class is not likely enough."""
COMPARISONS = (">=", ">", "<=", "<", "between", "within")
EXPECTED = '(">=", number), the same with >, <= or <, ("between", low, high), ("within", distance), or a list of cuts'


@dataclass(frozen=True)
class Bands:
    """Bands of numbers between cuts; each band is a class.

    Parameters
    ----------
    cuts : ascending; two cuts may be equal if the first belongs to the band above it and the second to that below it
    above : for each cut, whether a number equal to it belongs to the band above
    labels : label of each band, from the lowest
    """

    cuts: tuple[float, ...]
    above: tuple[bool, ...]
    labels: tuple[str, ...]

    @property
    def order(self) -> tuple[int, ...]:
        """The band of each class. A middle band that contains both its ends comes first, so that it wins ties."""
        return (1, 0, 2) if self.above == (True, False) else tuple(range(len(self.labels)))

    @property
    def ties_low(self) -> bool:
        """Whether the first of several classes with equal scores wins."""
        return not all(self.above)

    @property
    def classes(self) -> npt.NDArray[Any]:
        """(n_classes,) labels."""
        return np.array([self.labels[band] for band in self.order], dtype=object)

    def codes(self, values: FloatArray) -> IntArray:
        """The class code of each number."""
        numbers = np.asarray(values, dtype=np.float64)
        band = np.zeros(numbers.shape, dtype=np.int64)
        for cut, above in zip(self.cuts, self.above, strict=True):
            band += (numbers >= cut) if above else (numbers > cut)
        return np.argsort(self.order)[band]


@dataclass(frozen=True)
class Within:
    """A class of numbers within a distance of the prediction for the explained row.

    Parameters
    ----------
    distance : largest difference, in the unit of the predictions
    """

    distance: float

    def around(self, value: float) -> Bands:
        """The bands below, around, and above a number; the middle band contains both its ends."""
        labels = ("lower", f"within {text(self.distance)}", "higher")
        return Bands((value - self.distance, value + self.distance), (True, False), labels)


@dataclass(frozen=True)
class Confidence:
    """The least probability that a class must have to count.

    Parameters
    ----------
    level : the probability, above 0 and up to 1
    """

    level: float


Outcome = Bands | Within | Confidence | None
"""The outcome that is explained; None for the class that the model predicts."""


def text(number: float) -> str:
    """A number as a short text from which the same number is read."""
    return decimals.short(number + 0.0)  # no -0


def read_target(target: Any) -> Bands | Within:
    """Read the target that a user states for a regressor.

    Parameters
    ----------
    target : ``(">=", v)``, ``(">", v)``, ``("<=", v)``, ``("<", v)``, ``("between", a, b)`` with both ends,
        ``("within", d)`` of the row's own prediction, or a list of cuts; each cut belongs to the band above it

    Raises
    ------
    TypeError, ValueError
        If ``target`` has another form.
    """
    if isinstance(target, str) or not isinstance(target, Sequence | np.ndarray) or len(target) == 0:
        raise TypeError(f"target={target!r}: expected {EXPECTED}")
    word, *rest = target
    if not isinstance(word, str):
        cuts = tuple(_number(cut, target) for cut in target)
        if any(low >= high for low, high in pairwise(cuts)):
            raise ValueError(f"target={target!r}: expected different cuts in ascending order")
        inner = [f"{text(low)} to below {text(high)}" for low, high in pairwise(cuts)]
        return Bands(cuts, (True,) * len(cuts), (f"below {text(cuts[0])}", *inner, f"at least {text(cuts[-1])}"))
    if word not in COMPARISONS or len(rest) != (2 if word == "between" else 1):
        raise ValueError(f"target={target!r}: expected {EXPECTED}")
    numbers = tuple(_number(number, target) for number in rest)
    if word == "within":
        if numbers[0] < 0:
            raise ValueError(f"target={target!r}: expected a distance of at least 0")
        return Within(numbers[0])
    if word == "between":
        if numbers[0] > numbers[1]:
            raise ValueError(f"target={target!r}: this interval contains no number; expected low <= high")
        low, high = map(text, numbers)
        return Bands(numbers, (True, False), (f"below {low}", f"{low} to {high}", f"above {high}"))
    cut = text(numbers[0])
    labels = (f"below {cut}", f"at least {cut}") if word in (">=", "<") else (f"at most {cut}", f"above {cut}")
    return Bands(numbers, (word in (">=", "<"),), labels)


def _number(value: Any, target: Any) -> float:
    if isinstance(value, bool | str) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"target={target!r}: {value!r} is not a number; expected {EXPECTED}")
    if not math.isfinite(value):
        raise ValueError(f"target={target!r}: expected finite numbers")
    return float(value)


def read_outcome(adapted: Adapted, target: Any, confidence: Any) -> Outcome:
    """The outcome that is explained, from the ``target`` or ``confidence`` that a user states.

    Raises
    ------
    TypeError
        If the option does not fit the model, or has a wrong type.
    ValueError
        If the option has a wrong value.
    """
    if adapted.forest.is_regressor:
        if confidence is not None:
            raise TypeError("confidence is for classifiers, but this model predicts numbers: use target instead")
        if target is None:
            raise TypeError(f"this model predicts numbers, so target must say what to explain: expected {EXPECTED}")
        outcome = read_target(target)
        if isinstance(outcome, Bands) and adapted.forest.link is not None:
            for cut in outcome.cuts:
                adapted.forest.link.cut(cut)  # ValueError if the numbers never reach the cut
        return outcome
    if target is not None:
        raise TypeError(
            "target is for models that predict numbers, but this model predicts classes: pass a class to the method, "
            "as in explainer.counterfactual(x, target=...), or a probability as confidence"
        )
    if confidence is None:
        return None
    if isinstance(confidence, bool | str) or not isinstance(confidence, int | float | np.floating):
        raise TypeError(f"confidence={confidence!r}: expected a probability, such as 0.9")
    return Confidence(float(confidence))


def classified(adapted: Adapted, outcome: Bands | Confidence | None) -> Adapted:
    """Convert a model so that it predicts the classes of ``outcome``; unchanged for None."""
    if outcome is None:
        return adapted
    return banded(adapted, outcome) if isinstance(outcome, Bands) else confident(adapted, outcome.level)


# Classes with linear scores, so that no search needs to compare a sum with a number:
# decisions/0041-numbers-as-classes.
def banded(adapted: Adapted, bands: Bands) -> Adapted:
    r"""Convert a regressor to a classifier that predicts in which band the number lies.

    The middle band has the score 0, so that scores stay small. The sums of two classes differ by
    :math:`(j - i) F - c_{i+1} - ... - c_j`, so an error of :math:`F` counts at most once per cut.

    Parameters
    ----------
    adapted : a model whose forest has one score per leaf, a ``link`` and ``output``
    bands : the bands
    """
    forest = adapted.forest
    link, output = forest.link, adapted.output
    if link is None or output is None or forest.base.size != 1:
        raise AssertionError("expected a forest with one score per leaf, a link and output")
    cuts = [cut_of(forest, link, value, reached=up) for value, up in zip(bands.cuts, bands.above, strict=True)]
    middle = len(cuts) // 2
    below = [Fraction(0)]
    for cut, _ in cuts:
        below.append(below[-1] + Fraction(cut))
    exact = [(band - middle) * Fraction(float(forest.base[0])) - below[band] + below[middle] for band in bands.order]
    base = np.array([float(number) for number in exact])
    lost = sum(abs(number - Fraction(stored)) for number, stored in zip(exact, base.tolist(), strict=True))
    factors = np.array(bands.order, dtype=np.float64) - middle
    steep = float(np.abs(factors).max())
    noise = len(cuts) * (forest.noise + max(slop for _, slop in cuts)) + float(lost) * (1 + DOUBLE * 4)
    if steep > 2:  # the product of a value and a factor is rounded
        noise += 2 * DOUBLE * steep * sum(float(np.abs(tree.value[tree.leaves]).max()) for tree in forest.trees)
    trees = tuple(merged(replace(tree, value=tree.value[:, :1] * factors)) for tree in forest.trees)
    if len(trees) == 1 and forest.noise == 0 and link == Link() and forest.base[0] == 0:
        trees, base, noise = (_coded(forest.trees[0], bands),), np.zeros(len(factors)), 0.0
    predict = partial(_banded, bands, output)
    made = replace(
        forest, trees=trees, base=base, classes=bands.classes, noise=noise, ties_low=bands.ties_low, predict=predict
    )
    ask = None if adapted.ask_output is None else partial(_banded, bands, adapted.ask_output)
    return replace(adapted, forest=made, predict=predict, ask=ask)


def _coded(tree: ScoredTree, bands: Bands) -> ScoredTree:
    """The tree in which each leaf votes for the class of its number, without rounding."""
    return merged(replace(tree, value=np.eye(len(bands.labels))[bands.codes(tree.value[:, 0])]))


def _banded(bands: Bands, output: Callable[[FloatArray], FloatArray], X: FloatArray) -> IntArray:
    return bands.codes(output(X))


def confident(adapted: Adapted, level: float) -> Adapted:
    """The classifier with one more class, for the rows in which no class reaches the probability ``level``.

    Parameters
    ----------
    adapted : a model whose probabilities are sums of its trees, or the logistic function of one sum
    level : minimum probability that a class must have

    Raises
    ------
    TypeError
        If the model has no such probabilities.
    ValueError
        If some class reaches ``level`` in every row, or no class ever does.
    """
    forest = adapted.forest
    link, output, n = forest.link, adapted.output, forest.n_classes
    if link is None or output is None or link.kind == "log":
        raise TypeError(
            "confidence is not supported for this model: expected one whose probability is a mean over the trees "
            "(forests, bagged trees, majority votes) or the logistic function of a sum (boosted trees of two classes)"
        )
    least = 0.5 if link.kind == "logistic" else 0.0
    if not least < level <= 1:
        raise ValueError(f"confidence={level!r}: expected a probability above {least:g} and up to 1")
    if link.kind == "logistic" and level == 1:
        raise ValueError("confidence=1: the probabilities of this model never reach 1; expected a number below 1")
    cut, slop = cut_of(forest, link, float(level), reached=True)
    if link.kind == "logistic":
        spread = np.array([[1.0, -1.0], [-1.0, 1.0], [0.0, 0.0]])
    else:
        spread = np.concatenate([np.eye(n), np.zeros((1, n))])
    trees = tuple(merged(replace(tree, value=tree.value @ spread.T)) for tree in forest.trees)
    base = forest.base @ spread.T + np.append(np.zeros(n), cut)
    # two classes differ by twice the logistic sum; a class and the constant class differ by it once
    factor = 2.0 if link.kind == "logistic" else 1.0
    label: Any = UNSURE if UNSURE not in forest.classes.tolist() else f"{UNSURE} (below {text(level)})"
    made = replace(
        forest,
        trees=trees,
        base=base,
        classes=np.array([*forest.classes.tolist(), label], dtype=object),
        noise=factor * (forest.noise + slop) + 4 * DOUBLE * float(np.abs(base).max()) * (forest.noise > 0),
        ties_low=True,
        predict=partial(_sure_enough, float(level), output),
    )
    ask = None if adapted.ask_output is None else partial(_sure_enough, float(level), adapted.ask_output)
    return replace(adapted, forest=made, predict=made.predict, ask=ask)


def _sure_enough(level: float, output: Callable[[FloatArray], FloatArray], X: FloatArray) -> IntArray:
    shares = np.asarray(output(X), dtype=np.float64)
    return np.asarray(np.where(shares.max(axis=1) >= level, shares.argmax(axis=1), shares.shape[1]), dtype=np.int64)
