"""Fronts by leaves in place of fits: of :func:`optimal_tree_path`, and of the candidates of a cross-validation.

Why so: decisions/0098-fronts-by-leaves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from proofwood.engines.interrupts import left_after
from proofwood.engines.trees.front import MOST_LEAVES, Front, FrontTree, fits_are_faster, solve_front
from proofwood.estimators.few_leaves import few_leaves, not_by_leaves
from proofwood.jobs import jobs_of
from proofwood.problem.objectives import Proof, TreeCost, proof
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits, Result, first_stop

if TYPE_CHECKING:
    from proofwood.estimators.classifier import ClassRows
    from proofwood.estimators.tree_learner import PosedTree, TreeLearner

MOST_DEPTH = 4
"""Greatest depth for which one search by leaves stands for the fits of several prices."""


def by_leaves(learner: Any, given: ClassRows, most: int) -> PosedTree | None:
    """The problem for a front that searches the same trees as fits of a learner; None if there is none.

    Parameters
    ----------
    learner : has read the rows
    given : training rows
    most : the most leaves of the front
    """
    if not_by_leaves(learner) or learner.max_gap != 0 or given.costs is not None or not 1 < most <= MOST_LEAVES:
        return None
    posed: PosedTree = copy(learner).set_params(max_leaf_nodes=most)._problem(given)
    if not isinstance(posed.problem.cost, TreeCost):
        return None
    if learner.max_leaf_nodes is None and learner.schema_.nominal:  # a fit may test more sets of levels
        return posed if learner._problem(given).views.limits == posed.views.limits else None
    return posed


def front_of(
    problem: TreeProblem, most: int, learner: Any, end: float | None, prices: Collection[Fraction] = ()
) -> Front:
    """The front, whose leaves hold the least weight without rounding.

    Parameters
    ----------
    problem, most, prices : as in :func:`~proofwood.engines.trees.front.solve_front`
    learner : with ``min_weight_fraction_leaf`` and ``n_jobs``
    end : value of ``time.monotonic()`` at which the search stops, or None
    """
    seconds = None if end is None else max(0.0, end - time.monotonic())
    limits = Limits(seconds=seconds, threads=jobs_of(learner.n_jobs))
    front, share = solve_front(problem, most, prices=prices, limits=limits), learner.min_weight_fraction_leaf
    if all(problem.holds_leaves(tree.model, share) for tree in front.trees):
        return front
    # Bounds of trees whose leaves may be slightly lighter hold for those with a stricter limit, too.
    heavier = replace(problem, min_leaf_weight=problem.cost.leaf_weight(share, surely=True))
    sure = solve_front(heavier, most, prices=prices, limits=left_after(front.stats, limits))
    both = zip(front.trees, sure.trees, strict=True)
    trees = tuple(replace(found, lower=min(first.lower, found.upper)) for first, found in both)
    stats = replace(
        sure.stats,
        seconds=front.stats.seconds + sure.stats.seconds,
        stopped_by=first_stop(front.stats.stopped_by, sure.stats.stopped_by),
    )
    return replace(sure, trees=trees, stats=stats)


class PricedTree(NamedTuple):
    """The tree of a front that costs least at a price of a leaf, what is proved about it, and whether a limit did not
    keep the search from saying more.
    """

    tree: FrontTree
    told: Proof
    settled: bool


def at_price(of: TreeProblem, front: Front, problem: TreeProblem, most: int | None = None) -> PricedTree:
    """The tree of a front that costs least with the price of a leaf of ``problem``.

    Parameters
    ----------
    of : the problem of the front
    front : its answer
    problem : the same with another price
    most : the most leaves; None for those of the front
    """
    cost = problem.cost

    def priced(units: int, leaves: int) -> int:
        return cost.of_tree(units // of.cost.error_price, leaves)

    trees = front.trees[:most]
    best = min(trees, key=lambda tree: (priced(tree.upper, tree.model.n_leaves), tree.leaves))
    upper = priced(best.upper, best.model.n_leaves)
    lower = min(upper, *(priced(tree.lower, tree.leaves) for tree in trees))
    complete = front.stats.stopped_by is None
    told = proof(cost, upper, lower, lambda: problem.real_cost(best.model), complete=complete)
    return PricedTree(best, told, complete or lower == upper)


Learner = TypeVar("Learner", bound="TreeLearner[Any]")


def fitted(
    learner: Learner, posed: PosedTree, front: Front, tree: FrontTree, told: Proof, **parameters: Any
) -> Learner:
    """A tree of a front as a learner that is fitted.

    Parameters
    ----------
    learner : has read the rows
    posed : the problem, with the price of a leaf
    front, tree, told : the front, its tree, and what is proved about it
    parameters : that the fitted learner has instead
    """
    one: Learner = copy(learner).set_params(**parameters)
    model, name = posed.lifted(tree.model), posed.problem.cost.name
    result = Result(model, told.objective, name, told.lower_bound, told.status, front.stats)
    given: Any = posed.given
    one._take_result(one._with_counts(result, posed), posed, given)
    one._finish(posed)
    return one


@dataclass(frozen=True, eq=False)
class FrontOfSize:
    """One search for the best trees of a size, for several limits on their leaves and several prices of a leaf.

    Parameters
    ----------
    learner : of the size, has read the rows
    posed : the problem, without a price
    leaves : the most leaves of all trees
    most : limits on the leaves, each with all prices
    prices : prices of a leaf, as shares
    """

    learner: TreeLearner[Any]
    posed: PosedTree
    leaves: int
    most: Sequence[int | None]
    prices: Sequence[float]

    @classmethod
    def of(
        cls, learner: TreeLearner[Any], given: ClassRows, most: Sequence[int | None], prices: Sequence[float]
    ) -> FrontOfSize | None:
        """The search that gives the same trees as fits of a learner, up to ties; None if there is none.

        Parameters
        ----------
        learner : of the size
        given, most, prices : the training rows, and what the candidates differ by
        """
        depth = learner.max_depth
        if depth is None or depth > MOST_DEPTH:
            return None
        leaves = max(1 << depth if one is None else min(one, 1 << depth) for one in most)
        posed = by_leaves(learner, given, leaves)
        alone = all(few_leaves(one, depth) is None for one in most)  # else fits are searched by leaves, too
        if posed is None or (alone and fits_are_faster(posed.problem.X, depth)):
            return None
        return cls(learner, posed, leaves, most, prices)

    def search(self, end: float | None) -> list[tuple[PricedTree, Callable[[], TreeLearner[Any]]]]:
        """For each limit, and for each price: what was found, and what makes a fitted learner of it.

        Parameters
        ----------
        end : value of ``time.monotonic()`` at which the search stops, or None

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C.
        """
        problem = self.posed.problem
        priced = [problem.at_alpha(price) for price in self.prices]
        free = any(one is not None and one < self.leaves for one in self.most)  # then each number of leaves is wanted
        prices = [] if free else [Fraction(one.cost.leaf_price, one.cost.error_price) for one in priced]
        front = front_of(problem, self.leaves, self.learner, end, prices)
        if front.stats.stopped_by == "interrupt":
            raise KeyboardInterrupt
        found: list[tuple[PricedTree, Callable[[], TreeLearner[Any]]]] = []
        for most in self.most:
            for one in priced:
                best = at_price(problem, front, one, most)
                posed = replace(self.posed, problem=one)
                found.append((best, partial(fitted, self.learner, posed, front, best.tree, best.told)))
        return found
