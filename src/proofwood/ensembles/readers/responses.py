"""Numbers that a classifier of two classes gives, as one sum over its trees, and its class by a threshold of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.ensembles.forest import DOUBLE, Forest, Link, ScoredTree, cut_of, merged
from proofwood.ensembles.readers.members import unasked
from proofwood.model.node_table import FloatArray


@dataclass(frozen=True, eq=False)
class Response:
    """A number that grows with one sum over trees.

    Parameters
    ----------
    method : of scikit-learn, which gives it: "predict_proba", "decision_function", or "predict" of a regressor
    forest : whose sums are meant
    spread : (n_classes,) what the sums of the classes count in the one sum
    link : from the one sum to the number
    """

    method: str
    forest: Forest
    spread: FloatArray
    link: Link

    @property
    def exact(self) -> bool:
        """Whether the number is that of the sum without more rounding than one division."""
        return self.forest.noise == 0 and (self.method != "decision_function" or self.link.divisor == 1)

    @property
    def values(self) -> list[FloatArray]:
        """Per tree, (n_nodes,) what its leaves add to the one sum."""
        return [tree.value @ self.spread for tree in self.forest.trees]

    @property
    def base(self) -> float:
        """The score before any tree is added."""
        return float(self.forest.base @ self.spread)

    @property
    def noise(self) -> float:
        """What rounding may change in the one sum, in the model or here."""
        if self.exact:
            return 0.0
        # differences of two numbers are rounded, too
        return self.forest.noise + 4 * DOUBLE * self.forest.reach


def response_of(model: Any, forest: Forest, methods: Sequence[str], code: int = 1) -> Response:
    """The number that scikit-learn takes of a classifier of two classes, or of a regressor.

    Parameters
    ----------
    model : fitted
    forest : its reading, with probabilities as sums where it has such
    methods : the first that the model has counts
    code : of the class that the number speaks for

    Raises
    ------
    TypeError
        If the number is not a function of one sum over the trees.
    """
    if forest.is_regressor:
        method, spread, link = "predict", np.ones(1), forest.link
    else:
        method = next(name for name in methods if hasattr(model, name))
        sign = 2.0 * code - 1
        spread = np.array([-sign, sign])
        if method == "decision_function":
            link = None if forest.decision is None else Link(divisor=forest.decision)
        else:
            link = forest.link
            if link is not None and link.kind == "mean":
                spread = np.eye(2)[code]
    if link is None:
        raise TypeError(
            f"the {method} of a {type(model).__name__} is not read here: expected a classifier whose probability is a "
            "mean over the trees, or the logistic function of their sum"
        )
    return Response(method, forest, spread, link)


def thresholded(response: Response, value: float, classes: npt.NDArray[Any], *, code: int = 1, reached: bool) -> Forest:
    """The classifier that predicts a class where the number is above a value, else the other one.

    Parameters
    ----------
    value : of the number
    classes : both labels
    code : of the class above the value
    reached : whether a number equal to the value counts as above
    """
    forest, link = response.forest, response.link
    alone = len(forest.trees) == 1 and forest.noise == 0 and link == Link() and response.base == 0
    if alone:  # without any sum, and so without any rounding
        number = response.values[0]
        above = number >= value if reached else number > value
        votes = np.eye(2)[np.where(above, code, 1 - code)]
        trees: tuple[ScoredTree, ...] = (merged(replace(forest.trees[0], value=votes)),)
        base, noise = np.zeros(2), 0.0
    else:
        cut, slop = cut_of(replace(forest, noise=response.noise), link, value, reached=reached)
        side = np.eye(2)[code]
        trees = tuple(
            merged(replace(tree, value=np.outer(number, side)))
            for tree, number in zip(forest.trees, response.values, strict=True)
        )
        base = response.base * side + cut * (1 - side)
        noise = response.noise + slop
    return replace(
        forest,
        trees=trees,
        base=base,
        classes=classes,
        noise=noise,
        ties_low=(code == 0) == reached,
        link=None,
        output=None,
        decision=None,
        predict=unasked,
    )
