"""Rewards of actions under limits: budgets, and least rows of each action that a tree gives; and prices of both."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from proofwood.model.evaluate import apply
from proofwood.model.node_table import LEAF, BoolArray, IntArray, NodeTable
from proofwood.problem.objectives import share_of
from proofwood.problem.targets import Rewards
from proofwood.problem.targets.base import exact_dots
from proofwood.problem.whole_numbers import LARGEST_SUM


class Budget(NamedTuple):
    """At most a share of the weight is given some actions.

    Parameters
    ----------
    actions : whether each action counts
    share : of the total weight, in [0, 1]
    """

    actions: tuple[bool, ...]
    share: Fraction


class ActionLimits(NamedTuple):
    """Limits on what a policy does to the training rows.

    Parameters
    ----------
    budgets : at least one action is in none of them
    least_rows : rows, unweighted, of each action that is given at all
    """

    budgets: tuple[Budget, ...] = ()
    least_rows: int = 1

    def free(self, n_actions: int) -> list[int]:
        """The actions without a budget."""
        return [k for k in range(n_actions) if not any(one.actions[k] for one in self.budgets)]


class Use(NamedTuple):
    """A limit as a sum over rows: the amounts of the rows that are given some actions.

    Parameters
    ----------
    actions : whether each action counts
    amounts : (n_rows,) int64, or float64 if they are real weights
    most : what the sum may be
    by_rows : whether amounts count rows; else they are weights
    """

    actions: tuple[bool, ...]
    amounts: npt.NDArray[Any]
    most: Fraction
    by_rows: bool


class Priced(NamedTuple):
    """Losses with prices of uses, as the native search adds them up.

    A tree that loses ``P`` of ``values`` loses, in the unit of :attr:`LimitedRewards.loss_unit`, at least
    ``(P + constant) / scale - sum(price * use) - error``.

    Parameters
    ----------
    values : (n_rows, k) int64 of the actions that are allowed
    scale : whole number by which losses are multiplied
    constant : what the cheapest action of each row costs, summed
    prices : that were taken, one per use
    error : what rounding of amounts may change
    """

    values: IntArray
    scale: int
    constant: int
    prices: tuple[Fraction, ...]
    error: Fraction


class Leaves(NamedTuple):
    """The leaves of a tree, with whole numbers that add up exactly.

    Parameters
    ----------
    nodes : of the tree
    losses : for each leaf, the lost reward of each action, in :attr:`LimitedRewards.exact_unit`
    weights : in units of the exact weights
    rows : unweighted
    """

    nodes: list[int]
    losses: list[list[int]]
    weights: list[int]
    rows: list[int]


@dataclass(frozen=True, eq=False)
class LimitedRewards(Rewards):
    """Rewards under limits: a tree costs what its own labels lose, for the best action may break a limit.

    Parameters
    ----------
    numbers, weights : as in the base class
    limits : of the actions
    """

    limits: ActionLimits

    room: ClassVar[int] = 4

    # ------------------------------------------------------------------------------------------------ costs of trees

    def costs_at(
        self, table: NodeTable, weight: list[int], sums: list[list[int]], costly: BoolArray
    ) -> tuple[list[int], list[Fraction]]:
        """See the base class: leaves keep their labels, inner nodes get the best action without a budget."""
        free = self.limits.free(self.numbers.shape[1])
        labels = [max(free, key=lambda k, at=at: at[1 + k]) for at in sums]  # type: ignore[misc]
        labels = np.where(table.feature == LEAF, table.label, labels).tolist()
        unit = self.exactly[1]
        return labels, [(at[0] - at[1 + k]) * unit for at, k in zip(sums, labels, strict=True)]

    def alone(self, X: npt.ArrayLike) -> NodeTable:
        """See the base class: the best action without a budget for all rows."""
        table = NodeTable.leaf(0, self.width)
        _, (sums,) = self.sums_at(table, apply(table, X), self.exact_weights[0])
        best = max(self.limits.free(len(sums) - 1), key=lambda k: sums[1 + k])
        return table.changed(label=[best], values=np.zeros((1, len(sums) - 1)))

    @property
    def exact_unit(self) -> Fraction:
        """Lost reward of one whole number in :class:`Leaves`."""
        return self.exactly[1] * self.exact_weights[1]

    @property
    def loss_unit(self) -> Fraction:
        """Lost reward of one whole number of ``weighted``."""
        return self.unit * self.weights.unit

    def leaves(self, table: NodeTable, X: npt.ArrayLike) -> Leaves:
        """The leaves of a tree and what each action costs there."""
        leaf = apply(table, X)
        weight, sums = self.sums_at(table, leaf, self.exact_weights[0])
        rows = np.bincount(leaf, minlength=table.n_nodes)
        nodes = np.flatnonzero(table.feature == LEAF).tolist()
        losses = [[sums[node][0] - action for action in sums[node][1:]] for node in nodes]
        return Leaves(nodes, losses, [weight[node] for node in nodes], [int(rows[node]) for node in nodes])

    def broken(self, table: NodeTable, X: npt.ArrayLike) -> str | None:
        """The limit that the labels of a tree break on these rows, in words; None if they keep all."""
        leaves = self.leaves(table, X)
        labels = [int(table.label[node]) for node in leaves.nodes]
        for budget in self.limits.budgets:
            given = sum(w for w, k in zip(leaves.weights, labels, strict=True) if budget.actions[k])
            if given > budget.share * sum(leaves.weights):
                share = f"{given / sum(leaves.weights):.6g}"
                return f"a share of {share} of the weight is given an action whose budget is {float(budget.share):g}"
        for k in set(labels):
            rows = sum(n for n, other in zip(leaves.rows, labels, strict=True) if other == k)
            if rows < self.limits.least_rows:
                return f"an action is given to {rows} rows, fewer than min_samples_action={self.limits.least_rows}"
        return None

    # ------------------------------------------------------------------------------------------------------- prices

    @cached_property
    def budgets(self) -> tuple[Use, ...]:
        """The budgets as uses, in units of integer weight."""
        values, unit, rounding = self.weights
        exact, exact_unit = self.exact_weights
        found = []
        for actions, share in self.limits.budgets:
            most = math.floor(share * int(exact.sum()))
            amounts = values if rounding is None else np.asarray(rounding.weights / float(unit))
            found.append(Use(actions, amounts, most * exact_unit / unit, by_rows=False))
        return tuple(found)

    def cover(self, action: int) -> Use:
        """The least rows of an action, as the most rows of the others."""
        actions = tuple(k != action for k in range(self.numbers.shape[1]))
        most = Fraction(self.n_rows - self.limits.least_rows)
        return Use(actions, np.ones(self.n_rows, dtype=np.int64), most, by_rows=True)

    def used(self, use: Use, leaves: Leaves, labels: list[int]) -> Fraction:
        """How much a labelled tree uses."""
        amounts = leaves.rows if use.by_rows else leaves.weights
        total = sum(amount for amount, k in zip(amounts, labels, strict=True) if use.actions[k])
        return Fraction(total) if use.by_rows else total * self.exact_weights[1] / self.weights.unit

    def priced(self, uses: tuple[Use, ...], prices: list[Fraction], allowed: list[int]) -> Priced:
        """Losses plus prices of uses, in units of the native search.

        Parameters
        ----------
        uses : limits
        prices : of each, in units of loss per amount; they are rounded to what whole numbers hold
        allowed : actions that trees may give
        """
        base = self.weighted.values[:, allowed]
        totals = [math.ceil(float(use.amounts.sum())) + 1 for use in uses]
        highest = [Fraction(LARGEST_SUM // 4, total * len(uses)) for total in totals]
        prices = [max(Fraction(0), min(one, high)) for one, high in zip(prices, highest, strict=True)]
        spent = sum((price * total for price, total in zip(prices, totals, strict=True)), Fraction(0))
        scale = math.lcm(*(price.denominator for price in prices))
        whole = all(use.amounts.dtype == np.int64 for use in uses)
        if not whole or scale * (int(base.max(axis=1).sum()) + spent) >= LARGEST_SUM:
            scale, whole = 1, not uses
            prices = [Fraction(float(price)) for price in prices]
        charged = base * scale
        for use, price in zip(uses, prices, strict=True):
            # A product in float64 is off by less than a unit in all, and half a unit a row is lost by rounding it.
            charges = use.amounts * int(price * scale) if whole else np.rint(use.amounts * float(price))
            counts = np.array([use.actions[k] for k in allowed])
            charged += charges.astype(np.int64)[:, np.newaxis] * counts
        least = charged.min(axis=1)
        error = Fraction(0 if whole else (self.n_rows + 1) * len(uses))
        (constant,) = exact_dots(least, np.ones_like(least), np.zeros_like(least), 1)
        return Priced(charged - least[:, np.newaxis], scale, constant, tuple(prices), error)


def action_limits(budget: Any, least_rows: int, actions: list[Any]) -> ActionLimits:
    """Read the limits that a user gave.

    Parameters
    ----------
    budget : None, a share for all actions but the first, or a dict from action to share
    least_rows : int from 1
    actions : names

    Raises
    ------
    ValueError
        If an action or a share cannot be used; the message says what to do.
    """
    if isinstance(budget, Mapping):
        if not budget:
            raise ValueError("budget={} names no action: expected a share for at least one action, or None")
        named = [(_place(action, actions), share) for action, share in budget.items()]
        if len({place for place, _ in named}) < len(named):
            raise ValueError(f"budget={budget!r} names an action twice")
        if len(named) == len(actions):
            raise ValueError(
                "budget limits every action: leave out the one that any row may get, such as to do nothing"
            )
        masks = [(tuple(k == place for k in range(len(actions))), share) for place, share in named]
    else:
        masks = [] if budget is None else [(tuple(k > 0 for k in range(len(actions))), budget)]
    budgets = [Budget(mask, _share(share)) for mask, share in masks]
    return ActionLimits(tuple(one for one in budgets if one.share < 1), least_rows)


def _place(action: Any, actions: list[Any]) -> int:
    for place, name in enumerate(actions):
        if str(action) == str(name):
            return place
    raise ValueError(f"budget names the action {action!r}: expected one of {', '.join(map(repr, actions))}")


def _share(value: Any) -> Fraction:
    share = None if isinstance(value, (bool, np.bool_)) else share_of(value)
    if share is None or not 0 <= share <= 1:
        raise ValueError(
            f"budget={value!r} is not a share of the weight: expected a number from 0 to 1, such as 0.5, for all "
            'actions but the first, or a dict from action to share, such as {"treat": 0.5}'
        )
    return share
