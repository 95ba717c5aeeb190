"""The clauses of "another class wins" for ensembles that vote by majority: Izza and Marques-Silva (2021) [1]_.

Variables ``1..n`` are order variables, column by column: whether the value is above each threshold, the ``l_i`` of the
paper. The intervals ``z_i`` between thresholds come next, so that the cell of a column is one literal; the first and
the last interval are literals of the chain itself. Then the classes that each tree may vote for, and what counts the
votes.

References
----------
.. [1] Izza, Marques-Silva (2021), On Explaining Random Forests with SAT, IJCAI, sec. 3, eq. 3 to 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, combinations

from proofwood.solvers.cardinality import network_at_most, sequential_counter

PAIRWISE = 6
"""Longest list for which "at most one" is stated pair by pair; longer lists get a sequential counter."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees over the cells between thresholds that have one vote each.

    Parameters
    ----------
    n_thresholds : of each column
    trees : of each tree its paths: literals of order variables that hold on it, and the class that its leaf votes for
    n_classes : int
    clauses : of order variables, that every possible row satisfies
    ties_low : whether a tie goes to the lowest class, or to the highest
    """

    n_thresholds: tuple[int, ...]
    trees: tuple[tuple[tuple[tuple[int, ...], int], ...], ...]
    n_classes: int
    clauses: tuple[tuple[int, ...], ...] = ()
    ties_low: bool = True

    @property
    def first(self) -> tuple[int, ...]:
        """(n_columns + 1,) order variables before each column."""
        return tuple(accumulate(self.n_thresholds, initial=0))

    def least_lead(self, winner: int, loser: int) -> int:
        """Votes that a class must be ahead of another to win against it: 0 where ties go to it, else 1."""
        return int((winner < loser) != self.ties_low)


@dataclass(eq=False)
class Encoding:
    """Clauses satisfied by exactly the rows of the space that another class than ``label`` wins.

    Parameters
    ----------
    label : the class that is beaten
    n_variables : the highest variable used
    clauses : literals, +v or -v
    intervals : of each column, the literal of each of its cells; empty for a column without thresholds
    """

    label: int
    n_variables: int = 0
    clauses: list[list[int]] = field(default_factory=list)
    intervals: list[list[int]] = field(default_factory=list)

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


def encode(forest: Forest, label: int) -> Encoding:
    """Clauses of "a class other than ``label`` wins".

    Parameters
    ----------
    forest : Forest
    label : class, ``0 <= label < n_classes``

    Notes
    -----
    Eq. 3 to 6 of the paper, with two differences in writing: the ``>`` on the left of eq. 5 is a slip for ``>=``, and
    classes that a tree never votes for get no literal. ``ties_low`` of the forest says on which side of ``label`` a
    tie suffices.
    """
    if not 0 <= label < forest.n_classes:
        raise ValueError(f"label={label} is not a class: expected 0 to {forest.n_classes - 1}")
    encoding = Encoding(label, n_variables=forest.first[-1])
    _columns(encoding, forest)
    encoding.clauses.extend(list(clause) for clause in forest.clauses)
    if forest.n_classes == 1:
        encoding.clauses.append([])  # nothing can win
    elif forest.n_classes == 2:
        _two_classes(encoding, forest)
    else:
        _many_classes(encoding, forest)
    return encoding


def _columns(encoding: Encoding, forest: Forest) -> None:
    """The chain of each column and its intervals (sec. 3, features with ordered domains)."""
    for first, n in zip(forest.first, forest.n_thresholds, strict=False):
        chain = list(range(first + 1, first + 1 + n))  # chain[t]: the cell is above t
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


def _two_classes(encoding: Encoding, forest: Forest) -> None:
    """One variable per tree: whether it votes for the other class; a sum of them reaches about half the trees."""
    other, n_trees = 1 - encoding.label, len(forest.trees)
    first = encoding.block(n_trees)
    for vote, paths in enumerate(forest.trees, start=first):
        for path, voted in paths:
            encoding.clauses.append([*(-need for need in path), vote if voted == other else -vote])
    least = n_trees + forest.least_lead(other, encoding.label)
    encoding.at_least(range(first, first + n_trees), (least + 1) // 2)


def _many_classes(encoding: Encoding, forest: Forest) -> None:
    """Class literals ``l_ij`` (eq. 3, 4) and one constraint per side of ``label``, its winner selected (eq. 5, 6)."""
    label, n_trees = encoding.label, len(forest.trees)
    chosen: list[dict[int, int]] = []  # class -> literal, of each tree
    for paths in forest.trees:
        literals = {voted: encoding.new() for voted in sorted({voted for _, voted in paths})}
        for path, voted in paths:
            encoding.clauses.append([*(-need for need in path), literals[voted]])
        encoding.clauses.append(list(literals.values()))
        encoding.at_most_one(list(literals.values()))
        chosen.append(literals)
    against = [-literals[label] for literals in chosen if label in literals]
    never = n_trees - len(against)  # trees that never vote for the label: always against it
    guaranteed = []
    for lead in (0, 1):  # classes that a tie suffices for, and the others
        side = [k for k in range(forest.n_classes) if k != label and forest.least_lead(k, label) == lead]
        if not side:
            continue
        first = encoding.block(n_trees)  # z_i: tree i votes for the selected class of this side
        nobody = encoding.new()  # p_0 or p_j: the constraint is satisfied without a winner on this side
        guaranteed.append(nobody)
        encoding.clauses.extend([-nobody, first + tree] for tree in range(n_trees))
        selectors = [nobody]
        for k in side:
            selectors.append(selector := encoding.new())
            for tree, literals in enumerate(chosen):
                if k in literals:
                    encoding.clauses.append([-selector, -literals[k], first + tree])
                    encoding.clauses.append([-selector, literals[k], -first - tree])
                else:
                    encoding.clauses.append([-selector, -first - tree])
        encoding.clauses.append(selectors)
        encoding.at_most_one(selectors)
        encoding.at_least([*range(first, first + n_trees), *against], n_trees + lead - never)
    encoding.clauses.append([-nobody for nobody in guaranteed])
