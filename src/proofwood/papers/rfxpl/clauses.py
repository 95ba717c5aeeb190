"""The clauses that say "another class wins" in a majority vote of trees, by Izza and Marques-Silva (2021) [1]_.

The variables ``1..n`` are order variables, column by column. They say whether the value is above each threshold
(``l_i`` in the paper). Next come variables for the intervals between thresholds (``z_i``), so that one literal means
one cell of a column. The first and the last interval need no new variable: they are literals of order variables. The
remaining variables say which class each tree votes for, and count the votes.

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
"""Up to this number of literals, "at most one" is encoded pair by pair; longer lists use a sequential counter."""


@dataclass(frozen=True, eq=False)
class Forest:
    """A forest whose trees have one vote each. A row is a list of cells, the intervals between thresholds.

    Parameters
    ----------
    n_thresholds : number of thresholds of each column
    trees : the paths of each tree. A path is a pair: the literals of the order variables on it, and the class of its
        leaf
    n_classes : int
    clauses : clauses of order variables that every possible row satisfies
    ties_low : whether the lowest of tied classes wins; if False, the highest wins
    """

    n_thresholds: tuple[int, ...]
    trees: tuple[tuple[tuple[tuple[int, ...], int], ...], ...]
    n_classes: int
    clauses: tuple[tuple[int, ...], ...] = ()
    ties_low: bool = True

    @property
    def first(self) -> tuple[int, ...]:
        """Tuple (n_columns + 1,): the number of order variables before each column, and in all."""
        return tuple(accumulate(self.n_thresholds, initial=0))

    def least_lead(self, winner: int, loser: int) -> int:
        """The number of votes by which ``winner`` must exceed ``loser``: 0 if it wins ties with ``loser``, else 1."""
        return int((winner < loser) != self.ties_low)


@dataclass(eq=False)
class Encoding:
    """Clauses that are satisfied by exactly the possible rows for which another class than ``label`` wins.

    Parameters
    ----------
    label : the class that must lose
    n_variables : the highest variable used
    clauses : lists of literals, +v or -v
    intervals : for each column, the literals of its cells; empty for a column without thresholds
    """

    label: int
    n_variables: int = 0
    clauses: list[list[int]] = field(default_factory=list)
    intervals: list[list[int]] = field(default_factory=list)

    def block(self, size: int) -> int:
        """Create ``size`` consecutive variables, and return the first one."""
        first = self.n_variables + 1
        self.n_variables += size
        return first

    def new(self) -> int:
        """Create a variable and return it."""
        return self.block(1)

    def at_most_one(self, literals: Sequence[int]) -> None:
        """Add clauses that let at most one literal be true."""
        if len(literals) <= PAIRWISE:
            self.clauses.extend([-one, -other] for one, other in combinations(literals, 2))
        else:
            self.clauses.extend(sequential_counter(self, literals, 1))

    def at_least(self, literals: Sequence[int], k: int) -> None:
        """Add clauses that let at least ``k`` literals be true, by a cardinality network over their negations."""
        self.clauses.extend(network_at_most(self, [-literal for literal in literals], len(literals) - k))


def encode(forest: Forest, label: int) -> Encoding:
    """Make the clauses that say "a class other than ``label`` wins".

    Parameters
    ----------
    forest : Forest
    label : class, ``0 <= label < n_classes``

    Notes
    -----
    The clauses are eq. 3 to 6 of the paper, with two corrections. The ``>`` on the left of eq. 5 is a misprint for
    ``>=``. Classes that a tree never votes for get no literal. The classes that beat ``label`` in a tie are those below
    it if ``forest.ties_low``, else those above it.
    """
    if not 0 <= label < forest.n_classes:
        raise ValueError(f"label={label} is not a class: expected 0 to {forest.n_classes - 1}")
    encoding = Encoding(label, n_variables=forest.first[-1])
    _columns(encoding, forest)
    encoding.clauses.extend(list(clause) for clause in forest.clauses)
    if forest.n_classes == 1:
        encoding.clauses.append([])  # no other class can win
    elif forest.n_classes == 2:
        _two_classes(encoding, forest)
    else:
        _many_classes(encoding, forest)
    return encoding


def _columns(encoding: Encoding, forest: Forest) -> None:
    """Add the clauses of each column: the chain of its order variables, and its intervals (sec. 3, ordered domains)."""
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
    """Add the clauses for two classes: a variable for the vote of each tree, and a sum of about half the trees."""
    other, n_trees = 1 - encoding.label, len(forest.trees)
    first = encoding.block(n_trees)
    for vote, paths in enumerate(forest.trees, start=first):
        for path, voted in paths:
            encoding.clauses.append([*(-need for need in path), vote if voted == other else -vote])
    least = n_trees + forest.least_lead(other, encoding.label)
    encoding.at_least(range(first, first + n_trees), (least + 1) // 2)


def _many_classes(encoding: Encoding, forest: Forest) -> None:
    """Add the clauses for more classes: literals ``l_ij`` of votes (eq. 3, 4), and the winner's lead (eq. 5, 6).

    There are two constraints: one for the classes that win a tie against ``label``, and one for the other classes. Each
    constraint compares ``label`` with one selected class.
    """
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
    never = n_trees - len(against)  # trees that never vote for the label always count against it
    guaranteed = []
    for lead in (0, 1):  # classes that win a tie, then the others
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
