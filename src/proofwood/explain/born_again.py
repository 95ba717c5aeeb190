"""A tree that equals a forest: the smallest tree that predicts the same class for every row, with proof."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from proofwood import arguments, memory
from proofwood.engines.run import Clock
from proofwood.ensembles.considered import among_rows
from proofwood.ensembles.explained import Explained, explained
from proofwood.explain.explainer import Explainer
from proofwood.explain.oracles.oracle import Oracle
from proofwood.explain.proofs.checked import CheckedOracle
from proofwood.explain.search.born_again import OBJECTIVES, BornAgainObjective, boxes_of, smallest_tree
from proofwood.model import evaluate
from proofwood.model.node_table import FloatArray, IntArray, NodeTable
from proofwood.result import Result, Status
from proofwood.show.labels import Labels
from proofwood.show.plot import plot_tree
from proofwood.show.text import export_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


DIGITS = 6
"""Significant digits of thresholds in a text; more if thresholds would look equal."""
NO_TREE = {
    "time_limit": "a limit was reached before a tree was found: raise time_limit",
    "memory_limit": "the memory limit was reached before a tree was found: raise memory_limit",
    "interrupt": "Ctrl-C ended the search before a tree was found",
}
"""Why there is no tree, by what stopped the search."""


@dataclass(frozen=True, eq=False)
class Checked:
    """The result of a check of a tree against its model.

    Parameters
    ----------
    n_leaves : number of leaves of the tree
    equal : number of leaves proved equal: the model predicts the leaf's class for every row in them. Fewer than
        ``n_leaves`` if the time ran out or a difference was found
    row : a row for which tree and model differ, in the form of ``model.read``; None if none was found
    """

    n_leaves: int
    equal: int
    row: npt.NDArray[np.float64] | None = None

    @property
    def ok(self) -> bool:
        """Whether it is proved for every leaf that the tree predicts what the model predicts."""
        return self.equal == self.n_leaves

    def __str__(self) -> str:
        if self.row is not None:
            return "the tree and the model differ"
        return f"{self.equal} of {self.n_leaves} leaves proved equal"


@dataclass(frozen=True, eq=False)
class BornAgain:
    """A tree that predicts what a model predicts, for every row of the space.

    Parameters
    ----------
    result : the tree, its size, and what is proved about its size
    model : the model that the tree equals; it also reads the rows
    reading : how it was checked that the model reads the rows of ``X`` in the same way, see
        :attr:`proofwood.explain.explanation.Explanation.reading`; empty without ``X``
    """

    result: Result
    model: Explained = field(repr=False)
    reading: str = ""

    @property
    def tree(self) -> NodeTable:
        """The tree, over the columns of the table.

        Raises
        ------
        ValueError
            If no tree was found; :attr:`status` then says why.
        """
        if self.result.model is None:
            why = {
                Status.INFEASIBLE: "no tree of this depth equals the model: raise max_depth",
                Status.UNKNOWN: NO_TREE[self.result.stats.stopped_by or "time_limit"],
            }
            raise ValueError(why[self.result.status])
        return self.result.model

    @property
    def status(self) -> Status:
        """``"optimal"``, ``"feasible"`` (a smaller tree may exist), ``"infeasible"`` or ``"unknown"``."""
        return self.result.status

    @property
    def n_leaves(self) -> int:
        """Number of leaves of the tree."""
        return self.tree.n_leaves

    @property
    def depth(self) -> int:
        """Most tests on a path of the tree."""
        return self.tree.depth

    @property
    def lower_bound(self) -> float:
        """Proved bound: no tree that equals the model has fewer leaves (or less depth, if that was asked for)."""
        return self.result.lower_bound

    @property
    def gap(self) -> float:
        """Objective minus lower bound; 0 if the tree is proved smallest."""
        return self.result.gap

    @property
    def labels(self) -> Labels:
        """Names of columns, classes and categories, for exports and pictures."""
        inputs = self.model.inputs
        return Labels(
            features=[given.name for given in inputs],
            classes=self.model.classes,
            levels={j: given.levels for j, given in enumerate(inputs) if given.levels},
            kinds={j: given.shown_as for j, given in enumerate(inputs) if given.shown_as is not None},
            gaps=[j for j, given in enumerate(inputs) if given.missing],
            zones={j: given.zone for j, given in enumerate(inputs) if given.zone is not None},
        )

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """(n_rows,) classes that the tree predicts for rows ``X``, which have the form that the model takes."""
        return np.asarray(self.model.classes[evaluate.predict(self.tree, self.model.read(X))])

    def export_text(self, *, ascii_only: bool = False) -> str:
        """The tree as text, one line per node. The tests decide every float64 as the model does.

        Parameters
        ----------
        ascii_only : draw with ASCII characters only
        """
        return export_text(self.tree, self.labels, ascii_only=ascii_only)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the tree; options are those of :func:`proofwood.plot_tree`."""
        return plot_tree(self.tree, self.labels, ax, **options)

    def check(self, *, time_limit: float | None = None) -> Checked:
        """Prove leaf by leaf that the tree predicts what the model predicts; a checker has to accept the proof.

        The check shares no code with any search. It does not prove that the tree is the smallest.

        Parameters
        ----------
        time_limit : seconds for all leaves
        """
        clock = Clock.of(arguments.seconds(time_limit))
        oracle = CheckedOracle.of(self.model)
        boxes = boxes_of(self.model, self.tree)
        equal = 0
        for low, high, label in boxes:
            done, row = _other(self.model, oracle, (low, high), label, clock)
            if not done or row is not None:
                return Checked(len(boxes), equal, row)
            equal += 1
        return Checked(len(boxes), equal)

    def __str__(self) -> str:
        result = self.result
        if result.model is None:
            return f"no tree: {result.status}"
        proved = {
            "leaves": "no tree that equals the model has fewer leaves",
            "depth": "no tree that equals the model has less depth",
        }[result.unit]
        if result.status is not Status.OPTIMAL:
            least = f"{result.lower_bound:g} leaves" if result.unit == "leaves" else f"depth {result.lower_bound:g}"
            proved = f"every tree that equals the model has at least {least}"
        proved += among_rows(self.model)
        return f"{self.n_leaves} leaves, depth {self.depth}, equal to the model on every row; {proved}"

    def _repr_html_(self) -> str:
        return self.result._repr_html_()


def _other(
    model: Explained, oracle: Oracle, box: tuple[IntArray, IntArray], label: int, clock: Clock
) -> tuple[bool, FloatArray | None]:
    """Search a box for a row of another class: return whether the search finished, and the row or None.

    If rounding may decide the class of a row, the model itself predicts this row. If its class is ``label``, the search
    goes on in the box without the cell of the row.
    """
    waiting = [box]
    while waiting:
        low, high = waiting.pop()
        if clock.over:
            return False, None
        answer = oracle.ask_box(low, high, label, seconds=clock.seconds_left)
        if answer.changes is False:
            continue
        if answer.witness is None:
            return False, None
        row = model.grid.row(answer.witness, like=np.zeros(len(model.inputs)))
        if int(model.predict_codes(row[np.newaxis])[0]) != label:
            return True, row
        for g in np.flatnonzero(low < high).tolist():  # the rest of the box, without the cell of the row
            cell = answer.witness[g]
            for begin, finish in ((low[g], cell - 1), (cell + 1, high[g])):
                if begin <= finish:
                    rest_low, rest_high = low.copy(), high.copy()
                    rest_low[g], rest_high[g] = begin, finish
                    waiting.append((rest_low, rest_high))
            low, high = low.copy(), high.copy()
            low[g] = high[g] = cell
    return True, None


def born_again(
    model: Any,
    *,
    objective: BornAgainObjective = "leaves",
    max_depth: int | None = None,
    X: Any = None,
    output: int | None = None,
    time_limit: float | None = None,
    memory_limit: int | str | None = None,
) -> BornAgain:
    r"""The smallest tree that predicts the same class as an ensemble for every row [1]_.

    Parameters
    ----------
    model : a fitted model that :class:`proofwood.Explainer` takes, or an ``Explainer`` of it. The tree then equals the
        model on the rows that the ``Explainer`` considers (``bounds``, ``knowledge``, ``integer``, ``missing``), and
        predicts its classes (``target``, ``confidence``, ``vote``)
    objective : ``"leaves"``: fewest leaves; ``"depth"``: least depth, and among these trees fewest leaves
    max_depth : greatest depth of the tree; any depth by default
    X : rows that are counted at the nodes, and on which the conversion is checked
    output : of a model that predicts several targets (outputs, labels): index of the one to use, from 0
    time_limit : seconds, None for no limit. When it ends, the best tree found so far and a lower bound are returned
    memory_limit : bytes that the search may add to the memory of the process, or a text such as "4GB"

    Returns
    -------
    BornAgain
        Every tree found equals the model; the status says whether it is proved to be the smallest.

    Raises
    ------
    TypeError
        If this kind of model is not supported.
    ValueError
        If an argument is wrong.

    Notes
    -----
    The tree uses these tests: the thresholds of the model; whether a value is missing (missing values go where the
    model sends them); the sets of categories that the model tests; and each single category that the model treats
    differently from all others. For numbers, no other tests would help. A tree that groups categories in other ways may
    be smaller.

    The smallest tree grows fast with the ensemble: five trees of depth 3 need hundreds of leaves. For larger ensembles,
    explain single rows instead.

    References
    ----------
    .. [1] Vidal, Schiffer (2020), Born-Again Tree Ensembles, ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from proofwood import born_again
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, y)
    >>> tree = born_again(forest)
    >>> tree.status, tree.check().ok
    (<Status.OPTIMAL: 'optimal'>, True)
    """
    arguments.choice(objective, "objective", OBJECTIVES)
    max_depth = arguments.count(max_depth, "max_depth")
    clock = Clock.of(arguments.seconds(time_limit))
    if isinstance(model, Explainer | Explained):
        arguments.unstated(output=output)
        read = model.model if isinstance(model, Explainer) else model
    else:
        read = explained(model, X=X, output=output, compared=False)
    read.of_every_row("which tree equals the model")
    read = read if X is None else read.with_types_of(X)
    admitted = None if X is None else read.admit(X)
    rows = None if admitted is None else admitted.values
    with memory.within(memory_limit):
        result = smallest_tree(read, objective, max_depth=max_depth, clock=clock, X=rows)
    return BornAgain(result, read, "" if admitted is None else admitted.reading)
