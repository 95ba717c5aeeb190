"""The clauses of "another class wins" for ensembles that vote by majority: Izza and Marques-Silva (2021) [1]_.

Variables ``1..n`` are the order variables of the score model: variable ``v + 1`` is its ``above`` number ``v``, the
``l_i`` of the paper. The intervals ``z_i`` between thresholds come next, so that the cell of a column is one literal;
the first and the last interval are literals of the chain itself. Then the classes that each tree may vote for, and
what counts the votes.

References
----------
.. [1] Izza, Marques-Silva (2021), On Explaining Random Forests with SAT, IJCAI, sec. 3, eq. 3 to 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from proofwood.explain.model.scores import ScoreModel
from proofwood.model.node_table import IntArray
from proofwood.solvers.cardinality import network_at_most, sequential_counter

PAIRWISE = 6
"""Most literals of which at most one is asked for pair by pair; longer lists get a sequential counter."""


@dataclass(eq=False)
class Encoding:
    """Clauses satisfied by exactly the rows of the space that another class than ``label`` wins.

    Parameters
    ----------
    label : the class that is beaten
    n_variables : the highest variable used
    clauses : literals, +v or -v
    intervals : of each column, the literal of each of its cells; empty for a column without thresholds
    winners : literal ``p_k`` per class ``k`` that may win, true only if ``k`` beats ``label``; of two classes, the
        other one always wins and has no literal

    Notes
    -----
    More than one ``p_k`` can be true, one on either side of ``label``. With all of them denied but those of some
    classes, one of these wins against ``label``; it need not win against the others.
    """

    label: int
    n_variables: int = 0
    clauses: list[list[int]] = field(default_factory=list)
    intervals: list[list[int]] = field(default_factory=list)
    winners: dict[int, int] = field(default_factory=dict)

    def block(self, size: int) -> int:
        """The first of ``size`` fresh variables in a row."""
        first = self.n_variables + 1
        self.n_variables += size
        return first

    def new(self) -> int:
        """A fresh variable."""
        return self.block(1)

    def at_most_one(self, literals: Sequence[int]) -> None:
        """Let at most one literal be true."""
        if len(literals) <= PAIRWISE:
            self.clauses.extend([-one, -other] for one, other in combinations(literals, 2))
        else:
            self.clauses.extend(sequential_counter(self, literals, 1))

    def at_least(self, literals: Sequence[int], k: int) -> None:
        """Let at least ``k`` literals be true, by a cardinality network over those that are not."""
        self.clauses.extend(network_at_most(self, [-literal for literal in literals], len(literals) - k))


def literal(coded: int) -> int:
    """A literal of the score model (``2 v`` or ``2 v + 1``) as the solver writes it."""
    variable = (coded >> 1) + 1
    return -variable if coded & 1 else variable


def require_majority(scores: ScoreModel) -> IntArray:
    """(n_leaves,) class that each leaf votes for.

    Raises
    ------
    ValueError
        If the model is no majority vote: one vote of 1 per leaf, no base scores, no margin.
    """
    one_hot = np.isin(scores.scores, (0, 1)).all() and np.all(scores.scores.sum(axis=1) == 1)
    if not one_hot or np.any(scores.base != 0) or scores.margin != 0:
        raise ValueError(
            "the SAT engine is for majority votes, where every tree gives one vote to one class: "
            "for other votes use one of the other engines"
        )
    return np.asarray(scores.scores.argmax(axis=1), dtype=np.int64)


def encode(scores: ScoreModel, label: int) -> Encoding:
    """Clauses of "a class other than ``label`` wins".

    Parameters
    ----------
    scores : a majority vote; ValueError if it is not
    label : class, ``0 <= label < n_classes``

    Notes
    -----
    Eq. 3 to 6 of the paper, with two differences in writing: the ``>`` on the left of eq. 5 is a slip for ``>=``, and
    classes that a tree never votes for get no literal. ``ties_low`` of the model says on which side of ``label`` a
    tie suffices.
    """
    votes = require_majority(scores)
    if not 0 <= label < scores.n_classes:
        raise ValueError(f"label={label} is not a class: expected 0 to {scores.n_classes - 1}")
    encoding = Encoding(label, n_variables=int(scores.first[-1]))
    _columns(encoding, scores)
    encoding.clauses.extend([literal(coded) for coded in clause] for clause in scores.clauses)
    if scores.n_classes == 1:
        encoding.clauses.append([])  # nothing can win
    elif scores.n_classes == 2:
        _two_classes(encoding, scores, votes)
    else:
        _many_classes(encoding, scores, votes)
    return encoding


def _columns(encoding: Encoding, scores: ScoreModel) -> None:
    """The chain of each column and its intervals (sec. 3, features with ordered domains)."""
    for first, n in zip((scores.first[:-1] + 1).tolist(), scores.n_thresholds.tolist(), strict=True):
        chain = list(range(first, first + n))  # chain[t]: the cell is above t
        if not chain:
            encoding.intervals.append([])
            continue
        inner = encoding.block(n - 1)
        for t in range(n - 1):
            above, next_above, interval = chain[t], chain[t + 1], inner + t
            encoding.clauses += [
                [-next_above, above],
                [-interval, above],
                [-interval, -next_above],
                [interval, next_above, -above],
            ]
        encoding.intervals.append([-chain[0], *range(inner, inner + n - 1), chain[-1]])


def _paths(scores: ScoreModel, tree: int) -> Iterable[tuple[int, list[int]]]:
    """Leaf and denied needs of each path of a tree."""
    for leaf in range(int(scores.leaves_of[tree]), int(scores.leaves_of[tree + 1])):
        needs = scores.needs[scores.needs_of[leaf] : scores.needs_of[leaf + 1]]
        yield leaf, [-literal(int(coded)) for coded in needs]


def _two_classes(encoding: Encoding, scores: ScoreModel, votes: IntArray) -> None:
    """One variable per tree: whether it votes for the other class; a sum of them reaches about half the trees."""
    other = 1 - encoding.label
    first = encoding.block(scores.n_trees)
    for tree in range(scores.n_trees):
        vote = first + tree
        for leaf, denied in _paths(scores, tree):
            encoding.clauses.append([*denied, vote if votes[leaf] == other else -vote])
    least = scores.n_trees + scores.threshold_of_win(other, encoding.label)
    encoding.at_least(range(first, first + scores.n_trees), (least + 1) // 2)


def _many_classes(encoding: Encoding, scores: ScoreModel, votes: IntArray) -> None:
    """Class literals ``l_ij`` (eq. 3, 4) and one constraint per side of ``label``, its winner selected (eq. 5, 6)."""
    label, n_trees = encoding.label, scores.n_trees
    chosen: list[dict[int, int]] = []  # class -> literal, of each tree
    for tree in range(n_trees):
        classes = sorted({int(votes[leaf]) for leaf, _ in _paths(scores, tree)})
        literals = {voted: encoding.new() for voted in classes}
        for leaf, denied in _paths(scores, tree):
            encoding.clauses.append([*denied, literals[int(votes[leaf])]])
        encoding.clauses.append(list(literals.values()))
        encoding.at_most_one(list(literals.values()))
        chosen.append(literals)
    against = [-literals[label] for literals in chosen if label in literals]
    never = n_trees - len(against)  # trees that never vote for the label: always against it
    guaranteed = []
    for strict in (0, 1):  # classes that a tie suffices for, and the others
        side = [k for k in range(scores.n_classes) if k != label and scores.threshold_of_win(k, label) == strict]
        if not side:
            continue
        first = encoding.block(n_trees)  # z_i: tree i votes for the selected class of this side
        nobody = encoding.new()  # p_0 or p_j: the constraint is satisfied without a winner on this side
        guaranteed.append(nobody)
        encoding.clauses.extend([-nobody, first + tree] for tree in range(n_trees))
        for k in side:
            selector = encoding.winners[k] = encoding.new()
            for tree, literals in enumerate(chosen):
                if k in literals:
                    encoding.clauses.append([-selector, -literals[k], first + tree])
                    encoding.clauses.append([-selector, literals[k], -first - tree])
                else:
                    encoding.clauses.append([-selector, -first - tree])
        selectors = [nobody, *(encoding.winners[k] for k in side)]
        encoding.clauses.append(selectors)
        encoding.at_most_one(selectors)
        encoding.at_least([*range(first, first + n_trees), *against], n_trees + strict - never)
    encoding.clauses.append([-nobody for nobody in guaranteed])
