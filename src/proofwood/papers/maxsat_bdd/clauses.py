r"""The SAT encodings BDD1 and BDD2 of a decision diagram of depth H; each constraint has a function.

Indices follow the paper [1]_: features r = 1..K, positions i = 1..H of the feature ordering, cells j = 1..2^H of the
truth table, examples q = 1..M. Each constraint has the number of its equation. Literals in each constraint::

    (1) 2 K (3H - 4)            (2) H (2 (3K - 4) + K)       (3) 7 * 2^(H-1)
    (5), (6) M 2^(H-1) (2 + H K)    (7) 2 M H K                  (8), (9) M 2^H (H + 1)

(for H, K >= 2). So BDD1 has O(M H K 2^H) literals and BDD2 O(M H (2^H + K)); Table 4 of the paper compares these
numbers (its figures fit a unit of 10^4 literals, but the text says 10^3).

With more than two classes, c_j is replaced by one variable c_{j,k} for each class k, exactly one of which is true.

References
----------
.. [1] Hu, Huguet, Siala (2022), Optimizing Binary Decision Diagrams with MaxSAT for Classification, AAAI.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Literal

from proofwood.papers.maxsat_bdd.examples import Examples
from proofwood.solvers.cardinality import Numbering

Clause = list[int]
Encoding = Literal["BDD1", "BDD2"]


def rel(i: int, j: int, depth: int) -> int:
    """The value of the i-th feature of the ordering in cell j, eq. (4)."""
    return (j - 1) // (1 << depth - i) % 2


class BddVariables:
    """The variables of a diagram of depth H, as numbers.

    Parameters
    ----------
    sink : solver or formula that creates the variables
    depth : H, from 1
    examples : the M examples with K features, and their classes
    values : whether to create the variables d of BDD2
    """

    def __init__(self, sink: Numbering, depth: int, examples: Examples, *, values: bool = True) -> None:
        self.depth = depth
        self.n_features = examples.n_features
        self.n_examples = examples.n_examples
        self.n_classes = examples.n_classes
        self.n_cells = 1 << depth
        self.per_cell = 1 if self.n_classes <= 2 else self.n_classes
        self._a = sink.block(depth * self.n_features)
        self._c = sink.block(self.n_cells * self.per_cell)
        self._once = sink.block((depth - 1) * self.n_features)
        self._up_to = sink.block(depth * (self.n_features - 1))
        self._d = sink.block(depth * self.n_examples) if values else 0
        self._differ = 0
        self._sink = sink

    def a(self, r: int, i: int) -> int:
        """The variable a: feature r is at position i of the ordering."""
        return self._a + (i - 1) * self.n_features + r - 1

    def c(self, j: int) -> int:
        """The variable c, with two classes: cell j predicts the second class."""
        return self._c + j - 1

    def says(self, j: int, classes: Sequence[int]) -> Clause:
        """A clause that is true iff cell j predicts one of ``classes``, which must not be all classes."""
        if self.per_cell == 1:
            return [self.c(j) if k == 1 else -self.c(j) for k in classes]
        return [self._c + (j - 1) * self.per_cell + k for k in classes]

    def d(self, i: int, q: int) -> int:
        """The variable d: the feature at position i of the ordering has the value 1 for example q."""
        return self._d + (q - 1) * self.depth + i - 1

    def once(self, r: int, i: int) -> int:
        """A counter variable of (1): feature r is at one of the first i positions (i < H)."""
        return self._once + (r - 1) * (self.depth - 1) + i - 1

    def up_to(self, i: int, r: int) -> int:
        """A counter variable of (2): the feature at position i is one of the first r features (r < K)."""
        return self._up_to + (i - 1) * (self.n_features - 1) + r - 1

    def differ(self, j: int) -> int:
        """The variable that says that cell j of the first half and the same cell of the second half differ.

        These variables are created at the first call.
        """
        if not self._differ:
            self._differ = self._sink.block(self.n_cells // 2)
        return self._differ + j - 1


# ----------------------------------------------------------------------------------------------------- structure


def at_most_one(literals: Sequence[int], registers: Sequence[int]) -> Iterator[Clause]:
    """At most one of ``literals`` is true, by Sinz's sequential counter with the bound 1.

    Register i is true if one of the first i + 1 literals is true. If some literal must be true, the converse holds,
    too, since a true register makes all later literals false. The clauses have 2 (3n - 4) literals for n >= 2 and use
    n - 1 registers.
    """
    if len(literals) < 2:
        return
    yield [-literals[0], registers[0]]
    for before, register, literal in zip(registers, registers[1:], literals[1:], strict=False):
        yield [-literal, register]
        yield [-before, register]
        yield [-literal, -before]
    yield [-literals[-1], -registers[-1]]


def feature_once(v: BddVariables) -> Iterator[Clause]:
    """Eq. (1): each feature is selected at most once."""
    for r in range(1, v.n_features + 1):
        places = [v.a(r, i) for i in range(1, v.depth + 1)]
        yield from at_most_one(places, [v.once(r, i) for i in range(1, v.depth)])


def one_feature_per_position(v: BddVariables) -> Iterator[Clause]:
    """Eq. (2): exactly one feature is selected at each position."""
    for i in range(1, v.depth + 1):
        features = [v.a(r, i) for r in range(1, v.n_features + 1)]
        yield features
        yield from at_most_one(features, [v.up_to(i, r) for r in range(1, v.n_features)])


def table_is_bead(v: BddVariables) -> Iterator[Clause]:
    """Eq. (3): the two halves of the truth table differ, so that the first feature is needed.

    Only one direction of the exclusive or is encoded: if the variable of two cells is true, the cells differ.
    """
    half = v.n_cells // 2
    for j in range(1, half + 1):
        if v.per_cell == 1:
            yield [-v.differ(j), v.c(j), v.c(j + half)]
            yield [-v.differ(j), -v.c(j), -v.c(j + half)]
        else:
            for k in range(v.n_classes):
                (one,), (other,) = v.says(j, [k]), v.says(j + half, [k])
                yield [-v.differ(j), -one, -other]
    yield [v.differ(j) for j in range(1, half + 1)]


def one_class_per_cell(v: BddVariables) -> Iterator[Clause]:
    """Exactly one c_{j,k} is true for each cell j; no clauses for two classes."""
    if v.per_cell == 1:
        return
    for j in range(1, v.n_cells + 1):
        classes = v.says(j, range(v.n_classes))
        yield classes
        yield from ([-one, -other] for one, other in combinations(classes, 2))


def structure(v: BddVariables) -> Iterator[Clause]:
    """The constraints on the ordering and the truth table: eq. (1), (2) and (3)."""
    yield from feature_once(v)
    yield from one_feature_per_position(v)
    yield from one_class_per_cell(v)
    yield from table_is_bead(v)


# ------------------------------------------------------------------------------------------------- classification


def classified_by_features(v: BddVariables, examples: Examples, q: int, classes: Sequence[int]) -> Iterator[Clause]:
    """Eq. (5) and (6): if a cell predicts none of ``classes``, example q differs from the cell in some feature."""
    bits = examples.bits[q - 1].tolist()
    with_value: list[list[int]] = [[r for r, bit in enumerate(bits, start=1) if bit == value] for value in (0, 1)]
    for j in range(1, v.n_cells + 1):
        others = [v.a(r, i) for i in range(1, v.depth + 1) for r in with_value[1 - rel(i, j, v.depth)]]
        yield [*v.says(j, classes), *others]


def values_of_features(v: BddVariables, examples: Examples, q: int) -> Iterator[Clause]:
    """Eq. (7): the feature selected at position i determines the value d_i^q of example q."""
    bits = examples.bits[q - 1].tolist()
    for i in range(1, v.depth + 1):
        value = v.d(i, q)
        for r, bit in enumerate(bits, start=1):
            yield [-v.a(r, i), value if bit else -value]


def classified_by_values(v: BddVariables, q: int, classes: Sequence[int], also: Sequence[int] = ()) -> Iterator[Clause]:
    """Eq. (8) and (9): the cell of example q predicts one of ``classes``, or a literal of ``also`` is true.

    The clauses are the implications of the paper. ``also`` has further literals, one of which may be true instead.
    """
    for j in range(1, v.n_cells + 1):
        elsewhere = [-v.d(i, q) if rel(i, j, v.depth) else v.d(i, q) for i in range(1, v.depth + 1)]
        yield [*v.says(j, classes), *elsewhere, *also]


def classified(v: BddVariables, examples: Examples, encoding: Encoding, q: int) -> Iterator[Clause]:
    """The constraint that example q causes no avoidable error: eq. (5), (6) for BDD1, eq. (7) to (9) for BDD2.

    An example for which every class is right (its rows are equally heavy in all classes) gives no clause.
    """
    allowed = examples.allowed[q - 1]
    if allowed.all():
        return
    classes = allowed.nonzero()[0].tolist()
    if encoding == "BDD1":
        yield from classified_by_features(v, examples, q, classes)
    else:
        yield from values_of_features(v, examples, q)
        yield from classified_by_values(v, q, classes)


def bdd_clauses(v: BddVariables, examples: Examples, encoding: Encoding) -> Iterator[Clause]:
    """All clauses of BDD1 or BDD2: a diagram of depth H makes no avoidable error."""
    yield from structure(v)
    for q in range(1, examples.n_examples + 1):
        yield from classified(v, examples, encoding, q)
