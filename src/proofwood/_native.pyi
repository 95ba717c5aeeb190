from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

def solve_tree(
    x: npt.NDArray[np.float64],
    targets: dict[str, Any],
    weights: npt.NDArray[np.int64],
    settings: dict[str, Any],
    seconds: float | None,
    progress: Callable[[float, int, int], None] | None,
) -> dict[str, Any]:
    """Optimal tree for (n_rows, n_features) values."""

def solve_front(
    x: npt.NDArray[np.float64],
    targets: dict[str, Any],
    weights: npt.NDArray[np.int64],
    settings: dict[str, Any],
    wish: dict[str, Any],
    seconds: float | None,
    progress: Callable[[float, list[int], list[int]], None] | None,
) -> dict[str, Any]:
    """The best tree for every number of leaves, or of at most so many."""

class NearTrees:
    """All trees up to depth three that cost at most a budget, by their parts."""

    done: bool
    stopped: int
    seconds: float
    def __init__(
        self,
        x: npt.NDArray[np.float64],
        labels: npt.NDArray[np.int32],
        n_classes: int,
        weights: npt.NDArray[np.int64],
        columns: npt.NDArray[np.uint32],
        high_gaps: npt.NDArray[np.uint8],
        settings: dict[str, Any],
        seconds: float | None,
    ) -> None: ...
    def counters(self) -> dict[str, int]:
        """What the search counted."""

    def tally(self) -> list[tuple[int, int]]:
        """Costs, and how many trees have each, in order."""

    def read(
        self, high: npt.NDArray[np.uint64], low: npt.NDArray[np.uint64], seconds: float | None
    ) -> npt.NDArray[np.int64] | None:
        """Tests of the trees of these numbers, (n, 7, 3); None if it was stopped."""

    def prints(
        self, high: npt.NDArray[np.uint64], low: npt.NDArray[np.uint64], seconds: float | None
    ) -> npt.NDArray[np.int64] | None:
        """A number for the predictions of each tree; None if it was stopped."""

    def avoiding(self, seconds: float | None) -> tuple[bool, int, list[int]]:
        """Whether it came to its end; how many trees were seen, and how many of them do without each column."""

    def decisions(
        self, below: npt.NDArray[np.uint32], until: npt.NDArray[np.uint32], seconds: float | None
    ) -> tuple[bool, npt.NDArray[np.int64]]:
        """Whether it came to its end; (n, n_classes) whether some tree that was seen gives the class to the row."""

def solve_monotone_tree(
    x: npt.NDArray[np.float64],
    labels: npt.NDArray[np.int32],
    weights: npt.NDArray[np.int64],
    directions: list[int],
    settings: dict[str, Any],
    seconds: float | None,
    progress: Callable[[float, int, int], None] | None,
) -> dict[str, Any]:
    """Tree of two classes of least cost whose class follows the directions of columns."""

def list_labelled_trees(
    x: npt.NDArray[np.float64],
    labels: npt.NDArray[np.int32],
    weights: npt.NDArray[np.int64],
    amounts: npt.NDArray[np.int64],
    settings: dict[str, Any],
    seconds: float | None,
) -> dict[str, Any]:
    """The best labelled tree under conditions on sums over its leaves of class one."""

def instruction_sets() -> list[str]:
    """Instruction sets of the kernels that this machine can run."""

class PureBoxes:
    """Boxes of ranks in which one class is right on every group."""

    def __init__(self, ranks: npt.NDArray[np.int32], costs: npt.NDArray[np.int64]) -> None: ...
    def heaviest(
        self, weights: npt.NDArray[np.int64], above: int, seconds: float | None, seed: int | None = None
    ) -> tuple[int, bool, list[list[int]], int]:
        """Greatest weight of a box, at least ``above``; whether it is sure; boxes heavier than that; what stopped it.

        With ``seed`` only some boxes are grown, and nothing is sure.
        """

def minimal_tree(
    ranks: npt.NDArray[np.int32],
    tests_of: npt.NDArray[np.int32],
    costs: npt.NDArray[np.int64],
    settings: dict[str, Any],
    dual: npt.NDArray[np.int64],
    seconds: float | None,
    progress: Callable[[float, tuple[int, int, int, int, bool]], None] | None,
) -> dict[str, Any]:
    """Smallest tree for distinct (n_rows, n_columns) ranks and the (n_rows, n_classes) costs of the labels."""

class SubsetTable:
    """Groups of equal rows as the searches over sets of tests want them; one search at a time has it."""

def prepare_subset(
    ranks: npt.NDArray[np.int32],
    cuts: npt.NDArray[np.int32],
    weights: npt.NDArray[np.int64],
    by_rank: bool,
    seconds: float | None,
) -> dict[str, Any]:
    """The table of ranks and class weights of groups of rows; None if it was stopped."""

def near_pairs(table: SubsetTable, neighbours: int, isa: int, seconds: float | None) -> int:
    """Finds the pairs that bounds are made of, once for each table; returns the code of what stopped it."""

def first_subset(
    table: SubsetTable, settings: dict[str, Any], witness: list[int], seconds: float | None
) -> dict[str, Any]:
    """Of the sets of least error the first in lexicographic order; None if it was stopped."""

def solve_subset(
    table: SubsetTable,
    settings: dict[str, Any],
    seconds: float | None,
    progress: Callable[[float, int, int], None] | None,
    proved: dict[str, list[Any]] | None = None,
    keep: Callable[[dict[str, list[Any]]], None] | None = None,
    keep_seconds: float = 30.0,
) -> dict[str, Any]:
    """Sets of tests of least error."""

def solve_topologies(
    bits: npt.NDArray[np.uint8],
    weights: npt.NDArray[np.int64],
    rates: npt.NDArray[np.int64],
    sets: npt.NDArray[np.int32],
    settings: dict[str, Any],
    seconds: float | None,
) -> dict[str, Any]:
    """Cheapest layered diagram that uses all tests of one of the (n_sets, size) sets of columns of bits."""

def construct_layered(
    ranks: npt.NDArray[np.int32],
    tests_of: npt.NDArray[np.int32],
    prices: npt.NDArray[np.int64],
    weights: npt.NDArray[np.int64],
    coefficients: npt.NDArray[np.float64],
    settings: dict[str, Any],
    seconds: float | None,
) -> dict[str, Any]:
    """Best of many top-down constructions of a layered diagram, for (n, n_columns) ranks and (n, n_classes) prices."""

def improve_layered(
    ranks: npt.NDArray[np.int32],
    tests_of: npt.NDArray[np.int32],
    prices: npt.NDArray[np.int64],
    weights: npt.NDArray[np.int64],
    coefficients: npt.NDArray[np.float64],
    settings: dict[str, Any],
    start: dict[str, Any],
    seconds: float | None,
) -> dict[str, Any]:
    """Local search from a layered diagram, over the same arrays."""

def hyperplane(
    rows: npt.NDArray[np.float64],
    extra: npt.NDArray[np.int64],
    heads: npt.NDArray[np.float64],
    seed: int,
    steps: int,
    patience: int,
    seconds: float,
) -> list[tuple[int, list[float]]]:
    """Losses and heads (n_features + 1) of hyperplanes, the smallest loss first; ``seconds`` below 0 is no limit."""

def hyperplane_step(
    height: npt.NDArray[np.float64], slope: npt.NDArray[np.float64], extra: npt.NDArray[np.int64], seed: int
) -> tuple[int, float]:
    """Least loss over t, and such a t, where row i is above iff ``height[i] + t * slope[i] > 0``."""

def most_right_by_a_plane(
    coordinates: npt.NDArray[np.int64], weights: npt.NDArray[np.int64], seconds: float
) -> int | None:
    """Most weight right by one hyperplane, for (n_points, 1 to 3) coordinates; None if time was up."""

def anneal_hyperplanes(
    columns: npt.NDArray[np.float64],
    costs: npt.NDArray[np.int64],
    settings: dict[str, Any],
) -> dict[str, Any]:
    """A perfect tree of hyperplanes of small cost, for (n_rows, n_columns) columns and (n_rows, n_classes) costs."""

def cheapest_hitting_set(
    sets: list[list[int]], weights: npt.NDArray[np.int64], upper: int, seconds: float | None
) -> dict[str, Any]:
    """Elements of least weight below ``upper`` that hit every set: "chosen", "weight", "complete", "stopped"."""

class LayerSearch:
    """Search for the cheapest diagram of a skeleton, layer by layer; it keeps what it has found out."""

    def __init__(
        self,
        ranks: npt.NDArray[np.int32],
        tests_of: npt.NDArray[np.int32],
        weights: npt.NDArray[np.int64],
        settings: dict[str, Any],
    ) -> None: ...
    def run(self, upper: int, seconds: float | None) -> dict[str, Any]:
        """Goes on for diagrams that cost less than ``upper``; says what is proved and found."""

class VoteModel:
    """An ensemble over the cells of its grid, shared by searches."""

    def __init__(
        self,
        cells: npt.NDArray[np.int64],
        leaves_of: npt.NDArray[np.int64],
        scores: npt.NDArray[np.int64],
        base: npt.NDArray[np.int64],
        needs_of: npt.NDArray[np.int64],
        needs: npt.NDArray[np.int64],
        clauses: list[list[int]],
    ) -> None: ...

class CellTrees:
    """Trees whose tests are literals over the cells of the grid."""

    def __init__(
        self,
        thresholds: npt.NDArray[np.int64],
        begins: npt.NDArray[np.int64],
        literals: npt.NDArray[np.int64],
        inner: npt.NDArray[np.uint8],
        low: npt.NDArray[np.int64],
        high: npt.NDArray[np.int64],
    ) -> None: ...
    def leaves(
        self,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Leaves that some cells reach: their number per tree, their nodes, the number of needs of each, and these."""

    def reached(self, cells: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """(n_trees, n_rows) the leaf that each row gets to in each tree, for (n_rows, n_columns) cells."""

    def sums(
        self, cells: npt.NDArray[np.int64], values: npt.NDArray[np.int64], base: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """(n_rows, n_scores) the base and what the leaves of all trees have, for (n_rows, n_columns) cells."""

class NearestSearch:
    """Search for the cheapest row of another class in a box."""

    def __init__(
        self,
        model: VoteModel,
        ways: list[list[tuple[int, int, int, int]]],
        prices: list[list[int]],
        low: list[int],
        high: list[int],
        near: list[int],
        upper: int,
        settings: dict[str, Any],
    ) -> None: ...
    def run(self, seconds: float | None) -> dict[str, Any]:
        """What was found so far, once the search ends or stops."""
    def decide(self, counts: bool) -> None:
        """Whether the row in doubt counts."""
    def start_from(self, row: list[int]) -> None:
        """One more row to climb from."""

class RadiusSearch:
    """Search for the row whose dearest cell has the least rank."""

    def __init__(
        self,
        model: VoteModel,
        rivals: list[tuple[int, int, int, int]],
        ranks: list[list[int]],
        low: list[int],
        high: list[int],
        near: list[int],
        n_ranks: int,
        clauses: bool,
        messages: bool,
    ) -> None: ...
    def run(self, seconds: float | None) -> dict[str, Any]:
        """What was found so far, once the search ends or stops."""

class NearestProof:
    """Search that writes down why no row of a box is cheaper."""

    def __init__(
        self,
        model: VoteModel,
        ways: list[list[tuple[int, int, int, int]]],
        prices: list[list[int]],
        low: list[int],
        high: list[int],
        near: list[int],
        upper: int,
        settings: dict[str, Any],
    ) -> None: ...
    def run(self, seconds: float | None) -> dict[str, Any]:
        """What was found so far, once the search ends or stops."""
    def decide(self, counts: bool) -> None:
        """Whether the row in doubt counts."""
    def boxes(self, way: int) -> npt.NDArray[np.int64]:
        """Numbers of the boxes of a way, once the search has ended."""
    def clauses(self) -> list[tuple[bool, list[int]]]:
        """Clauses that are factors, each with whether exactly one literal holds."""

class HittingSearch:
    """Search for small sets that hit all given ones."""

    def __init__(self, n_elements: int) -> None: ...
    def add(self, elements: list[int]) -> None:
        """One more set to be hit, also in the midst of a pass."""
    def begin(self, size: int) -> None:
        """Begin a pass over the sets of at most so many elements."""
    def run(self, seconds: float | None) -> dict[str, Any]:
        """The next set that hits all, whether there is none in the rest of the pass, and what stopped it."""

class BornAgainSearch:
    """Search for the smallest tree that predicts what an ensemble predicts."""

    infinite: int
    """A size that no tree has."""

    def __init__(
        self,
        model: VoteModel,
        ties_low: bool,
        margin: int,
        settings: dict[str, Any],
        ask: Callable[[list[int]], int],
    ) -> None: ...
    def run(self, seconds: float | None) -> dict[str, Any]:
        """The best tree and what is proved, once the search ends or stops; to be called once."""

class VoteSearch:
    """Search for rows of another class; keeps what it learned."""

    def __init__(self, model: VoteModel, settings: dict[str, Any]) -> None: ...
    def ask(
        self,
        winner: int,
        losers: list[tuple[int, int]],
        assumptions: list[int],
        near: list[int],
        seconds: float | None,
        hard: bool = False,
        turns: int = -1,
    ) -> tuple[int, list[int], list[int], int]:
        """Outcome (0 changes, 1 same, 2 stopped), cells, core, and why it stopped.

        Asks for a row in which the winner comes before all losers, each given with its least difference. A hard
        question begins with messages, where they know it. ``turns`` ends it after so many turns of each search.
        """

    def conflicts(self) -> int:
        """Conflicts of all questions so far."""

    def boxes(self) -> int:
        """Boxes that messages bounded, of all questions so far."""

def memory_use() -> tuple[int, int, int]:
    """Bytes of this process: resident, of addresses, of private data; -1 where the system does not tell."""

def set_memory_ceiling(early: tuple[int, int, int], most: tuple[int, int, int]) -> None:
    """Where the caches of searches started from this thread stop growing, and where these end; -1 for no limit."""

def memory_state() -> int:
    """0: enough memory below the ceiling of this thread; 1: caches should stop growing; 2: none is left."""

def trim_memory() -> None:
    """Gives freed memory back to the system where the C library can."""

class Walker:
    """Walks rows down a table of tests: the arrays of a NodeTable."""

    def __init__(
        self,
        feature: npt.NDArray[np.int64],
        threshold: npt.NDArray[np.float64],
        low: npt.NDArray[np.int64],
        high: npt.NDArray[np.int64],
        missing_low: npt.NDArray[np.uint8],
        by_levels: npt.NDArray[np.uint8],
        codes_begin: npt.NDArray[np.int64],
        codes: npt.NDArray[np.float64],
        sum_begin: npt.NDArray[np.int64],
        sum_columns: npt.NDArray[np.int64],
        sum_values: npt.NDArray[np.float64],
    ) -> None: ...
    def leaves(self, x: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """(n_rows,) leaf of each row of (n_rows, n_columns) values, in any order in memory."""

    def paths(self, x: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Where the nodes of each row begin (n_rows + 1,), and the nodes that the rows visit, row by row."""

    def add_visits(
        self,
        x: npt.NDArray[np.float64],
        codes: npt.NDArray[np.int64],
        weights: npt.NDArray[np.float64],
        weight: npt.NDArray[np.float64],
        visits: npt.NDArray[np.int64],
    ) -> None:
        """Add weights and numbers of rows to nodes on their paths: weight (n_nodes, n_classes), visits (n_nodes,)."""

    def add_neighbours(
        self, x: npt.NDArray[np.float64], below: npt.NDArray[np.float64], above: npt.NDArray[np.float64]
    ) -> None:
        """Raise below and lower above to the values next to the threshold of each node, of the rows that reach it."""
