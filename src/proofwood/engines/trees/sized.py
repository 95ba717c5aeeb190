"""Decide whether a tree with a limited number of splits has fewer errors than a given number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proofwood import _native
from proofwood.engines.interrupts import STOPPED_BY
from proofwood.engines.switches import switches
from proofwood.problem.tree import TreeProblem
from proofwood.result import NO_LIMITS, Limits

MOST_SPLITS = 16


@dataclass(frozen=True, slots=True)
class SizedOptions:
    """Switches of the search; none changes whether a tree is found.

    Parameters
    ----------
    similarity : neighbourhood pruning by the similarity bound: a threshold has at least the errors of an evaluated one,
        less the weight between them
    monotone : along a column, errors of the low side only grow, and errors of the high side only shrink
    cache : store solved sets of rows by number of splits and depth
    eta : how much further than needed a side is searched, as a share of the weight that its bound could rule out
    """

    similarity: bool = True
    monotone: bool = True
    cache: bool = True
    eta: float = 1.0


DEFAULT_OPTIONS = SizedOptions()


@dataclass(frozen=True, slots=True)
class SizedBound:
    """The answer of :func:`bound_errors`.

    Parameters
    ----------
    errors : integer weight that the tree found misclassifies; if no tree was found, a lower bound for all trees
    found : whether some tree has fewer errors than the given number
    stopped_by : None if the answer is final, else "time_limit" or "interrupt"
    """

    errors: int
    found: bool
    stopped_by: str | None


def bound_errors(
    problem: TreeProblem,
    splits: int,
    *,
    below: int,
    options: SizedOptions = DEFAULT_OPTIONS,
    limits: Limits = NO_LIMITS,
) -> SizedBound:
    """Decide whether some tree of at most ``splits`` splits, within the problem's depth, has errors below ``below``.

    Prices and leaf minima of ``problem`` are ignored.

    Raises
    ------
    ValueError
        If ``splits`` is not from 0 to ``MOST_SPLITS``.
    """
    if not 0 <= splits <= MOST_SPLITS:
        raise ValueError(f"splits={splits!r}: expected an integer from 0 to {MOST_SPLITS}")
    found = _native.bound_sized_trees(
        np.ascontiguousarray(problem.X),
        problem.target.native(),
        problem.weights,
        {
            "splits": splits,
            "depth": problem.max_depth,
            "below": max(0, below),
            "threads": max(1, limits.threads),
            "eta": options.eta,
            **switches(options),
        },
        limits.seconds,
    )
    return SizedBound(found["errors"], found["found"], STOPPED_BY[found["stopped"]])
