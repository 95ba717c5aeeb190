"""Twin of the explanations: every row of the whole grid of cells, every set of features, nothing clever.

Only the plain values of a ``ScoreModel`` are read; leaves, sums, ties and the margin are worked out anew, row by row.
Sets of features are frozensets of indices into ``ScoreModel.features``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from itertools import combinations, pairwise, product

from proofwood.ensembles.scores import ScoreModel

Row = tuple[int, ...]
Set = frozenset[int]


@lru_cache(maxsize=256)
def space(scores: ScoreModel) -> tuple[tuple[Row, tuple[int, ...]], ...]:
    """All rows that satisfy the clauses, each with its class sums."""
    n_thresholds = [int(count) for count in scores.n_thresholds]
    meaning = [(column, cut) for column, count in enumerate(n_thresholds) for cut in range(count)]

    def true(literal: int, row: Row) -> bool:
        column, cut = meaning[literal // 2]
        return (row[column] > cut) != bool(literal % 2)

    needs, needs_of = [int(literal) for literal in scores.needs], [int(at) for at in scores.needs_of]
    leaves_of = [int(at) for at in scores.leaves_of]
    values = [[int(value) for value in leaf] for leaf in scores.scores]
    rows = []
    for row in product(*(range(count + 1) for count in n_thresholds)):
        if not all(any(true(literal, row) for literal in clause) for clause in scores.clauses):
            continue
        sums = [int(value) for value in scores.base]
        for first, end in pairwise(leaves_of):
            reached = [
                leaf
                for leaf in range(first, end)
                if all(true(literal, row) for literal in needs[needs_of[leaf] : needs_of[leaf + 1]])
            ]
            assert len(reached) == 1, f"row {row} reaches the leaves {reached}"
            sums = [total + value for total, value in zip(sums, values[reached[0]], strict=True)]
        rows.append((row, tuple(sums)))
    return tuple(rows)


def predicted(scores: ScoreModel, row: Iterable[int]) -> int:
    """Class of a row of the space."""
    sums = dict(space(scores))[tuple(int(cell) for cell in row)]
    best = [label for label, total in enumerate(sums) if total == max(sums)]
    return best[0] if scores.ties_low else best[-1]


def beats(scores: ScoreModel, sums: Sequence[int], winner: int, loser: int, *, margin: bool = True) -> bool:
    """Whether ``winner`` comes before ``loser``, or may do so when rounding within the margin helps it."""
    help_of_rounding = scores.margin if margin else 0
    lead = sums[winner] + help_of_rounding - sums[loser]
    wins_tie = winner < loser if scores.ties_low else winner > loser
    return lead > 0 or (lead == 0 and wins_tie)


def gets(
    scores: ScoreModel,
    sums: Sequence[int],
    label: int,
    targets: Collection[int] | None = None,
    *,
    margin: bool = True,
) -> bool:
    """Whether a row with these sums may get another class: one of ``targets``, before all that are none."""
    others = {k for k in range(scores.n_classes) if k != label and (targets is None or k in targets)}
    rest = set(range(scores.n_classes)) - others
    return any(all(beats(scores, sums, k, other, margin=margin) for other in rest) for k in others)


def differences(
    scores: ScoreModel,
    cells: Iterable[int],
    label: int,
    targets: Collection[int] | None = None,
    *,
    margin: bool = True,
) -> frozenset[Set]:
    """For each row that may get another class (one of ``targets``), the features in which it differs from ``cells``."""
    own = tuple(int(cell) for cell in cells)
    found = set()
    for row, sums in space(scores):
        if gets(scores, sums, label, targets, margin=margin):
            changed = {column for column in range(len(own)) if own[column] != row[column]}
            found.add(frozenset(f for f, columns in enumerate(scores.features) if changed & set(columns)))
    return frozenset(found)


def changes(
    scores: ScoreModel,
    cells: Iterable[int],
    label: int,
    fixed: Collection[int],
    targets: Collection[int] | None = None,
) -> bool:
    """Whether a row of the space that agrees with ``cells`` on the features ``fixed`` may get another class."""
    return any(not changed & set(fixed) for changed in differences(scores, cells, label, targets))


def changes_in_box(
    scores: ScoreModel, label: int, allowed: Sequence[Collection[int]], targets: Collection[int] | None = None
) -> bool:
    """Whether some row of the space, whose cell of each column is among those allowed, may get another class."""
    return any(
        all(cell in cells for cell, cells in zip(row, allowed, strict=True)) and gets(scores, sums, label, targets)
        for row, sums in space(scores)
    )


def _subsets(n_features: int) -> Iterable[Set]:
    """All sets of features, smaller ones first."""
    for size in range(n_features + 1):
        for chosen in combinations(range(n_features), size):
            yield frozenset(chosen)


def _minimal(sets: Iterable[Set]) -> frozenset[Set]:
    """Those without a smaller one inside; they come smaller ones first."""
    kept: list[Set] = []
    for candidate in sets:
        if not any(other <= candidate for other in kept):
            kept.append(candidate)
    return frozenset(kept)


def abductive(
    scores: ScoreModel, cells: Iterable[int], label: int, targets: Collection[int] | None = None
) -> frozenset[Set]:
    """All abductive explanations; all features together always suffice, whatever rounding may do."""
    found, n = differences(scores, cells, label, targets), scores.n_features
    return _minimal(x for x in _subsets(n) if len(x) == n or all(changed & x for changed in found))


def contrastive(
    scores: ScoreModel, cells: Iterable[int], label: int, targets: Collection[int] | None = None
) -> frozenset[Set]:
    """All contrastive explanations, each with a feature that changes; none if the class never changes."""
    found = differences(scores, cells, label, targets)
    return _minimal(y for y in _subsets(scores.n_features) if y and any(changed <= y for changed in found))


def smallest(explanations: Collection[Set]) -> int | None:
    """Size of the smallest one, None if there is none."""
    return min((len(explanation) for explanation in explanations), default=None)


def relevant(explanations: Collection[Set]) -> Set:
    """Features of at least one explanation."""
    return frozenset().union(*explanations)


def necessary(explanations: Collection[Set]) -> Set:
    """Features of every explanation; there must be one."""
    first, *others = explanations
    return first.intersection(*others)


def fewest_changes(
    scores: ScoreModel,
    cells: Iterable[int],
    label: int,
    *,
    kept: Collection[int] = (),
) -> int | None:
    """Fewest features to change for another class while those ``kept`` stay; None if no change does it."""
    found = differences(scores, cells, label)
    return min((len(changed) for changed in found if not changed & set(kept)), default=None)


def least_distance(
    scores: ScoreModel,
    cells: Iterable[int],
    label: int,
    distance: Sequence[Sequence[float]],
    targets: Collection[int] | None = None,
    *,
    kept: Collection[int] = (),
    margin: bool = True,
    accept: Callable[[Row], bool] = lambda row: True,
) -> float | None:
    """Least sum over the columns of ``distance[column][cell]``, among the rows that may get another class.

    ``distance`` is measured from the row to explain, its weights included; None if no row gets another class.
    """
    own = tuple(int(cell) for cell in cells)
    still = [column for feature in kept for column in scores.features[feature]]
    prices = (
        sum(costs[cell] for costs, cell in zip(distance, row, strict=True))
        for row, sums in space(scores)
        if all(row[column] == own[column] for column in still) and gets(scores, sums, label, targets, margin=margin)
        if accept(row)
    )
    return min(prices, default=None)
