"""Write the predicted number of a binary classifier as a function of one sum over trees, and apply a threshold."""

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
    """A predicted number that increases with one sum over trees.

    Parameters
    ----------
    method : scikit-learn method that returns it: "predict_proba", "decision_function", or "predict" of a regressor
    forest : the forest whose sums are used
    spread : (n_classes,) the weight of each class sum in the one sum
    link : the function from the one sum to the number
    """

    method: str
    forest: Forest
    spread: FloatArray
    link: Link

    @property
    def exact(self) -> bool:
        """Whether the number is computed from the sum with no rounding except that of one division."""
        return self.forest.noise == 0 and (self.method != "decision_function" or self.link.divisor == 1)

    @property
    def values(self) -> list[FloatArray]:
        """For each tree, (n_nodes,) the numbers that its leaves add to the one sum."""
        return [tree.value @ self.spread for tree in self.forest.trees]

    @property
    def base(self) -> float:
        """The one sum before any tree is added."""
        return float(self.forest.base @ self.spread)

    @property
    def noise(self) -> float:
        """The largest rounding error of the one sum, in the model and here."""
        if self.exact:
            return 0.0
        # differences of two numbers are rounded, too
        return self.forest.noise + 4 * DOUBLE * self.forest.reach


def response_of(model: Any, forest: Forest, methods: Sequence[str], code: int = 1) -> Response:
    """The number of a binary classifier or a regressor that scikit-learn uses, such as a probability.

    Parameters
    ----------
    model : the fitted model
    forest : its forest; the sums are probabilities if the model computes them as sums
    methods : names of methods; the first that the model has is used
    code : the class that becomes more likely as the number increases

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
            f"the {method} of a {type(model).__name__} is not a function of one sum over trees: expected a classifier "
            "whose probability is a mean over the trees, or the logistic function of their sum"
        )
    return Response(method, forest, spread, link)


def thresholded(response: Response, value: float, classes: npt.NDArray[Any], *, code: int = 1, reached: bool) -> Forest:
    """The forest that predicts one class if the number is above ``value``, else the other class.

    Parameters
    ----------
    response : the number
    value : threshold of the number
    classes : both labels
    code : the class that is predicted above ``value``
    reached : whether a number equal to ``value`` counts as above
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
