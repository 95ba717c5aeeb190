"""The most leaves of a tree, within its depth: the parameter ``max_leaf_nodes``.

Why so: decisions/0098-fronts-by-leaves.
"""

from __future__ import annotations

from typing import Any

from proofwood.arguments import is_integer
from proofwood.engines.trees.front import MOST_LEAVES
from proofwood.hints import parameter
from proofwood.language import marked

ONE_LEAF, FEW_LEAVES = marked("trees of one leaf"), marked("trees of at most %(leaves)s leaves")


def check_leaves(learner: Any) -> None:
    """Raise ValueError unless ``max_leaf_nodes`` is a number of leaves that goes with the other parameters."""
    most, depth = learner.max_leaf_nodes, learner.max_depth
    check_most(most)
    if most is None:
        return
    told = parameter("max_leaf_nodes", most)
    for name in not_by_leaves(learner):
        raise ValueError(f"max_leaf_nodes does not go with {parameter(name, getattr(learner, name))}: leave out one")
    if most > MOST_LEAVES and few_leaves(most, depth) is not None:
        raise ValueError(
            f"{told}: trees are searched by their number of leaves up to {MOST_LEAVES}: pass a number from 1 to "
            f"{MOST_LEAVES}, or limit trees by {parameter('max_depth')} and {parameter('alpha')} alone"
        )


def check_most(most: Any) -> None:
    """Raise ValueError unless ``most`` is a number of leaves, or None."""
    if most is not None and (not is_integer(most) or most < 1):
        told = parameter("max_leaf_nodes", most)
        raise ValueError(f"{told} is not a number of leaves: expected an integer from 1 to {MOST_LEAVES}, or None")


def not_by_leaves(learner: Any) -> tuple[str, ...]:
    """The parameters for which trees are not searched by their number of leaves."""
    return ("checkpoint",) * (learner.checkpoint is not None) + tuple(learner._without_leaves())


def few_leaves(most: int | None, depth: int | None) -> int | None:
    """The most leaves, if they limit the trees of a depth; else None."""
    return most if most is not None and (depth is None or most < 2**depth) else None


def scope_of_leaves(most: int | None) -> tuple[str, ...]:
    """What the most leaves say of the scope of a claim."""
    if most is None:
        return ()
    return (ONE_LEAF if most == 1 else FEW_LEAVES % {"leaves": most},)


def depth_of(most: int | None, depth: int | None) -> int | None:
    """The depth to search: a tree of so many leaves is no deeper."""
    return most - 1 if most is not None and depth is None else depth
