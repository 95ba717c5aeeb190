"""The problem of the best decision diagram within a given skeleton, as an immutable object.

A skeleton is a number of layers and their widths. A node of a layer sends rows to nodes of the next layer, or by long
arcs to the leaves, one per class. The cost of a diagram is eq. 18 of [1]_: the share of the weight that it
misclassifies, plus ``alpha`` times the share of the nodes that it uses, not counting the root.

References
----------
.. [1] Florio, Martins, Schiffer, Serra, Vidal (2023), Optimal Decision Diagrams for Classification, AAAI.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeAlias

from proofwood.arguments import is_integer
from proofwood.hints import parameter
from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.problem.objectives import LARGEST_TOTAL, Prices, Rounding, integer_prices, share_of
from proofwood.problem.ranked import RankedRows

Norm: TypeAlias = Literal["box", "l1"]
"""Limit on the hyperplanes of oblique splits, over columns scaled to [0, 1]: every coefficient and the offset are in
[-1, 1], as in the paper ("box"), or the absolute coefficients add up to at most 1, as in the authors' code ("l1")."""
LARGEST_SUM = 2**62
"""Sums of fairness constraints stay below this in absolute value."""
MOST_NODES = 4096
"""Maximum number of nodes of a skeleton; a larger skeleton is refused before anything is built."""


@dataclass(frozen=True, slots=True)
class DiagramCost(Prices):
    """Eq. 18 in integers: ``error_price`` per unit of wrong weight, plus ``node_price`` per node beyond the root.

    Parameters
    ----------
    total : sum of the integer weights of all rows
    error_price, node_price : integers; ``node_price / error_price`` is ``alpha * total / (n_slots - 1)``, or just below
        it if exact integers would be too large
    price : real weight that a node costs; None if ``node_price`` is exact
    unit : real weight of one integer weight
    above, below : these fields of the :class:`~proofwood.problem.objectives.Rounding` of the weights
    most : number of inner nodes of the skeleton
    """

    total: int
    error_price: int
    node_price: int
    price: Fraction | None = None
    unit: Fraction = Fraction(1)
    above: Fraction = Fraction(0)
    below: Fraction = Fraction(0)
    most: int = MOST_NODES

    @classmethod
    def of(
        cls,
        *,
        alpha: float,
        total: int,
        widths: tuple[int, ...],
        unit: Fraction = Fraction(1),
        rounding: Rounding | None = None,
    ) -> DiagramCost:
        """Prices for ``alpha`` on a skeleton of the given widths; an ``alpha`` of 0.1 is read as exactly 1/10.

        ``unit`` and ``rounding`` describe the weights of the rows. Costs are reported as shares, so the unit matters
        only if the weights are rounded.
        """
        number = share_of(alpha)
        if number is None or not 0 <= number <= 1:
            raise ValueError(
                f"{parameter('alpha', alpha)} is not a price: expected a number from 0 (nodes are free) to 1 "
                "(all nodes of the skeleton together cost as much as all rows)"
            )
        slots = sum(widths) - 1
        price = number * (total * unit if rounding is None else rounding.total) / max(1, slots)
        error_price, node_price = integer_prices(price / unit, total, LARGEST_TOTAL // 4) if slots else (1, 0)
        exact = node_price * unit == price * error_price or not slots
        return cls(
            total=total,
            error_price=error_price,
            node_price=node_price,
            price=None if exact else price,
            unit=unit,
            above=Fraction(0) if rounding is None else rounding.above,
            below=Fraction(0) if rounding is None else rounding.below,
            most=slots + 1,
        )

    @property
    def size_price(self) -> int:
        """Integer price of a node beyond the root."""
        return self.node_price

    def finer(self, penalties: Iterable[Fraction]) -> DiagramCost:
        """The same prices in a smaller unit, in which each of ``penalties`` times ``error_price`` is an integer."""
        parts = [(penalty * self.error_price).denominator for penalty in penalties]
        finer = math.lcm(*parts)
        return replace(self, error_price=finer * self.error_price, node_price=finer * self.node_price)

    def of_diagram(self, wrong: int, n_splits: int) -> int:
        """Integer cost, without penalties, of a diagram that misclassifies the integer weight ``wrong``.

        A lone leaf costs as much as a diagram with one split.
        """
        return self.error_price * wrong + self.node_price * max(0, n_splits - 1)

    @property
    def per(self) -> Fraction:
        """Real weight of all rows; costs are reported as shares of this weight."""
        return self.real_total

    def share(self, cost: int) -> float:
        """The integer ``cost`` as a share, the unit of eq. 18; equal integers give equal floats."""
        return float(Fraction(cost, self.error_price * self.total))

    def real_cost(self, wrong: Fraction, n_splits: int) -> Fraction:
        """Eq. 18 for a diagram that misclassifies the real weight ``wrong``, without penalties and without rounding."""
        return (wrong + self.real_price * max(0, n_splits - 1)) / self.real_total

    def most_splits(self, below: int, wrong: int = 0) -> int:
        """Maximum number of inner nodes of a diagram with errors ``wrong`` and a cost below ``below``; 0 if none."""
        left = below - 1 - self.error_price * wrong
        if left < 0:
            return 0
        return MOST_NODES if self.node_price == 0 else 1 + left // self.node_price


@dataclass(frozen=True, eq=False)
class Rate:
    """A fairness constraint (eq. 19) on the shares of rows that are predicted ``positive`` in two groups.

    The share among ``left`` rows must be at least ``ratio`` times the share among ``right`` rows. Eq. 19 is printed
    with counts; shares are used here, as in the four-fifths rule. Rows count by weights of their own, since the weights
    of a problem say what errors cost: decisions/0101-monotone-trees-and-fair-trees.

    Parameters
    ----------
    left, right : (n_rows,) masks of the rows of the two groups; neither group is empty
    weights : (n_rows,) positive integers by which rows count
    positive : class code
    ratio : from 0 to 1
    text : the constraint and its groups as the user named them, for messages
    """

    left: BoolArray
    right: BoolArray
    weights: IntArray
    positive: int
    ratio: Fraction
    text: str = ""

    @cached_property
    def coefficients(self) -> tuple[int, ...]:
        """(n_rows,) integers; the constraint holds iff their sum over the rows predicted positive is at least 0."""
        gain, loss = self._sides
        terms = zip(self.weights.tolist(), self.left.tolist(), self.right.tolist(), strict=True)
        return tuple(w * (gain * a - loss * b) for w, a, b in terms)

    @property
    def gain(self) -> int:
        """Amount that a unit of weight of left rows, if predicted positive, adds to the sum of the coefficients."""
        return self._sides[0]

    @cached_property
    def _sides(self) -> tuple[int, int]:
        """Amounts per unit of weight predicted positive: added to the sum on the left, and subtracted on the right."""
        on_left, on_right = int(self.weights[self.left].sum()), int(self.weights[self.right].sum())
        gain, loss = self.ratio.denominator * on_right, self.ratio.numerator * on_left
        common = math.gcd(gain, loss) or 1
        return gain // common, loss // common

    def slack(self, predicted: IntArray) -> int:
        """An integer that is non-negative iff the constraint holds for the predictions (n_rows,)."""
        chosen = predicted == self.positive
        return sum(c for c, yes in zip(self.coefficients, chosen.tolist(), strict=True) if yes)

    def attained(self, predicted: IntArray) -> float:
        """Share of left rows predicted positive divided by that of right rows; inf if the latter is 0."""
        chosen, weights = predicted == self.positive, self.weights
        left = float(weights[self.left & chosen].sum()) / float(weights[self.left].sum())
        right = float(weights[self.right & chosen].sum()) / float(weights[self.right].sum())
        return left / right if right > 0 else math.inf


@dataclass(frozen=True, eq=False)
class Penalty:
    r"""A price, in place of constraints, for the weight of positive predictions that one group lacks.

    Let :math:`n_A` be the weight of the left rows that are predicted positive, :math:`W_A` the weight of all left rows,
    and :math:`n_B, W_B` the same weights of the right rows of a rate. The group lacks

    .. math:: s = \max_B\ \max(0, \lceil \xi\,(W_A / W_B)\,n_B - n_A \rceil),

    the least additional integer weight that would have to be predicted positive to meet all rates, if nothing else
    changes. It is 0 iff all rates are met, and at most :math:`W_A`.

    Parameters
    ----------
    rates : constraints of the same ``left``, ``weights`` and ``positive``, at least one
    price : integer cost per unit of these weights that the group lacks, in the unit of ``DiagramCost.error_price``
    """

    rates: tuple[Rate, ...]
    price: int

    @property
    def positive(self) -> int:
        """Class code of a positive prediction."""
        return self.rates[0].positive

    @property
    def most(self) -> int:
        """Largest integer weight that the group can lack: the weight of the whole group."""
        return int(self.rates[0].weights[self.rates[0].left].sum())

    def short(self, predicted: IntArray) -> int:
        """Integer weight of positive predictions that the group lacks."""
        return max(0, *(-(rate.slack(predicted) // rate.gain) for rate in self.rates))


@dataclass(frozen=True, eq=False)
class DiagramProblem:
    """Find the diagram within a skeleton that costs least and meets the constraints.

    Parameters
    ----------
    rows : RankedRows
        Rows, labels and weights; univariate splits are its tests.
    widths : nodes per layer, ``widths[0] == 1``
    cost : prices of eq. 18
    columns : (n_rows, n_features) columns scaled to [0, 1] if splits are weighted sums of them (oblique), else None
    norm : limit on the hyperplanes of these splits
    tree : whether the diagram must be a tree, in which no node has two parents
    max_splits : maximum number of inner nodes, including the root
    min_weight : minimum integer weight of the rows that reach each inner node (eq. 20)
    rates : fairness constraints (eq. 19)
    penalties : penalties that are added to the cost of eq. 18
    """

    rows: RankedRows
    widths: tuple[int, ...]
    cost: DiagramCost
    columns: FloatArray | None = None
    norm: Norm = "box"
    tree: bool = False
    max_splits: int = MOST_NODES
    min_weight: int = 0
    rates: tuple[Rate, ...] = ()
    penalties: tuple[Penalty, ...] = ()

    def __post_init__(self) -> None:
        check_widths(self.widths)
        if (self.rates or self.penalties) and not self.cost.exact:
            what = next(rate.text for rate in (*self.rates, *(r for p in self.penalties for r in p.rates)))
            raise ValueError(
                f"{what or 'a fairness constraint'} needs exact sums of weights, but alpha or the weights of the rows "
                "have too many digits for 64-bit sums: round alpha and sample_weight, for example to three digits"
            )
        if self.penalties:
            most = sum(penalty.price * penalty.most for penalty in self.penalties)
            if self.cost.error_price * self.cost.total + most >= LARGEST_TOTAL // 4:
                raise ValueError(
                    "penalty, alpha and the weights of the rows together have too many digits for exact sums: "
                    "round penalty, alpha or sample_weight, for example to three digits"
                )
        for rate in (*self.rates, *(rate for penalty in self.penalties for rate in penalty.rates)):
            if sum(map(abs, rate.coefficients)) >= LARGEST_SUM:
                raise ValueError(
                    f"{rate.text or 'a fairness constraint'}: the weights of the rows have too many digits for 64-bit "
                    "sums: round sample_weight, for example to three digits"
                )

    @property
    def oblique(self) -> bool:
        """Whether splits are hyperplanes."""
        return self.columns is not None

    @property
    def n_slots(self) -> int:
        """Number of inner nodes of the skeleton."""
        return sum(self.widths)

    @property
    def most_nodes(self) -> int:
        """Maximum number of inner nodes that a diagram can have."""
        return min(self.n_slots, self.max_splits)

    @property
    def leaf_errors(self) -> int:
        """Integer weight that the best single leaf misclassifies."""
        rows = self.rows
        return rows.total - max(int(rows.weights[rows.codes == code].sum()) for code in range(rows.n_classes))

    @property
    def counts_rows(self) -> bool:
        """Whether there are fairness constraints, penalties, or a minimum weight of nodes."""
        return bool(self.rates or self.penalties or self.min_weight)

    def penalty(self, predicted: IntArray) -> int:
        """Integer cost of all penalties, for predictions (n_rows,) of class codes."""
        return sum(penalty.price * penalty.short(predicted) for penalty in self.penalties)

    def cost_of(self, predicted: IntArray, n_splits: int) -> int:
        """Integer cost, with penalties, of a diagram of ``n_splits`` inner nodes with these predictions (n_rows,)."""
        wrong = int(self.rows.weights[predicted != self.rows.codes].sum())
        return self.cost.of_diagram(wrong, n_splits) + self.penalty(predicted)

    def real_cost(self, predicted: IntArray, n_splits: int) -> Fraction:
        """Cost of a diagram, with penalties, as a share of the real weight and without rounding."""
        if self.cost.exact:
            return Fraction(self.cost_of(predicted, n_splits), self.cost.error_price * self.cost.total)
        if self.penalties:
            raise AssertionError("penalties need exact integer weights, but these weights are rounded")
        return self.cost.real_cost(self.rows.real_sum(predicted != self.rows.codes), n_splits)

    def meets_rates(self, predicted: IntArray) -> bool:
        """Whether predictions (n_rows,) of class codes meet the fairness constraints."""
        return all(rate.slack(predicted) >= 0 for rate in self.rates)


def check_widths(widths: tuple[int, ...]) -> None:
    """Raise ValueError unless ``widths`` are the widths of a skeleton's layers."""
    what = "expected positive integers that begin with 1 and at most double from layer to layer, such as (1, 2, 4, 4)"
    if not widths or not all(map(is_integer, widths)) or min(widths) < 1 or widths[0] != 1:
        raise ValueError(f"widths={widths!r} are not widths of layers: {what}")
    for layer, (above, below) in enumerate(pairwise(widths), start=1):
        if below > 2 * above:
            raise ValueError(
                f"widths={widths!r}: layer {layer} has {below} nodes, but the {above} nodes above it have only "
                f"{2 * above} arcs: {what}"
            )
    if sum(widths) > MOST_NODES:
        raise ValueError(f"widths={widths!r} add up to {sum(widths)} nodes: expected at most {MOST_NODES}")
