"""Finds the least depth, then the fewest nodes, by SAT formulas that grow by one misclassified row at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from proofwood import arguments
from proofwood.certificates.drup import Certificate
from proofwood.engines.interrupts import ENDED, cause_of, finished
from proofwood.engines.minimal import solve as search
from proofwood.engines.minimal.permitted import Known, Tree
from proofwood.engines.minimal.solve import answered, nothing_known, table_of, teller
from proofwood.engines.run import Clock, Stopped
from proofwood.model.reshape import preorder, prune
from proofwood.papers.inferdt.clauses import TreeVariables, labelling, routing, tree_clauses
from proofwood.problem.minimal import MinimalTreeProblem, Minimize
from proofwood.result import NO_LIMITS, Limits, Progress, Result
from proofwood.solvers.session import PROOF_SOLVERS, SOLVERS, SatSession


@dataclass(frozen=True, slots=True)
class InferDTOptions:
    """Choices that the paper leaves open; none changes what is proved.

    Parameters
    ----------
    solver : name of the solver in python-sat; the paper uses "minisat22"
    seed : seed for the order in which misclassified rows are added
    proof : store a certificate for every answer "no"; needs a solver that writes proofs
    incremental : add a row when a tree misclassifies it; False puts all rows into each formula from its beginning,
        with which the paper compares
    """

    solver: str = "cadical195"
    seed: int = 0
    proof: bool = False
    incremental: bool = True

    def __post_init__(self) -> None:
        arguments.choice(self.solver, "solver", SOLVERS)
        if self.proof and self.solver not in PROOF_SOLVERS:
            raise ValueError(
                f"proof=True needs a solver that writes proofs, and solver={self.solver!r} does not: expected one of "
                f"{', '.join(PROOF_SOLVERS)}"
            )


DEFAULT_OPTIONS = InferDTOptions()


def solve(
    problem: MinimalTreeProblem,
    *,
    options: InferDTOptions = DEFAULT_OPTIONS,
    limits: Limits = NO_LIMITS,
    progress: Progress | None = None,
) -> Result:
    """Find the smallest tree over the tests that makes only unavoidable errors, by incremental SAT [1]_.

    Depths are tried from 0 upwards (DT_depth). At the least depth, the number of leaves is found by bisection
    (DT_size). Equal rows are one example. Its right class is the heaviest one; if several tie, each of them is right.

    Parameters
    ----------
    problem : MinimalTreeProblem, for the least depth or for the fewest nodes at that depth
    options : InferDTOptions
    limits : wall-clock seconds; one thread is used
    progress : called from this thread at improvements and between slices of the solver, as soon as a tree is known

    Returns
    -------
    Result
        The objective is the depth or the number of nodes; ``parts`` has both. If the time ends before a tree is found,
        the tree is the first one of the search in :mod:`proofwood.engines.minimal`. ``counters["examples"]`` is the
        largest number of examples in one formula.

    Raises
    ------
    ValueError
        If the paper's method cannot solve the problem: more than the unavoidable errors are permitted, or the depth is
        not minimised first.

    References
    ----------
    .. [1] Avellaneda (2020), Efficient Inference of Optimal Decision Trees, AAAI.
    """
    slack = problem.max_errors - problem.rows.unavoidable
    if slack > 0:
        raise ValueError(
            "engine='paper' cannot permit training errors: with max_errors, pass engine='search' (or 'auto')"
        )
    if problem.minimize is Minimize.NODES_ANY_DEPTH:
        raise ValueError(
            "engine='paper' always minimises the depth first: for the fewest nodes at any depth, pass engine='search'"
        )
    run, stopped_by = _Run(problem, options, limits, progress), None
    try:
        if slack < 0:
            run.known.answer["infeasible"] = True
        else:
            run.search()
    except Stopped as stop:
        stopped_by = str(stop)
    except ENDED as error:
        stopped_by = cause_of(error)
    return finished(lambda by: run.result(by or stopped_by))


class _Run:
    """The state of one call of :func:`solve`: the best tree, the bounds, counters and certificates."""

    def __init__(
        self, problem: MinimalTreeProblem, options: InferDTOptions, limits: Limits, progress: Progress | None
    ) -> None:
        self.problem, self.options, self.clock = problem, options, Clock(limits)
        self.known = Known(nothing_known(), problem, lambda: self.clock.seconds, teller(progress, problem))
        self.counters: Counter[str] = Counter()
        self.certificates: list[Certificate] = []

    def search(self) -> None:
        """Run DT_depth, then DT_size."""
        rows, known = self.problem.rows, self.known
        self.clock.check()
        weights = rows.groups[1]
        self.right = weights == weights.max(axis=1, keepdims=True)
        self.bits = rows.take(rows.first_of_groups).bits()
        self.turn = np.random.default_rng(self.options.seed).permutation(len(weights))
        depth = 0
        while (tree := self._tree(depth)) is None:
            depth += 1
            known.raise_depth(depth)
            if self.problem.max_depth is not None and depth > self.problem.max_depth:
                known.answer["infeasible"] = True
                return
        known.offer(tree)
        known.raise_depth(depth, proved=True)
        lower, upper = depth + 1, (len(tree) + 1) // 2
        while self.problem.minimize is Minimize.NODES and lower < upper:
            middle = (lower + upper) // 2
            tree = self._tree(depth, middle)
            if tree is None:
                lower = middle + 1
                known.raise_nodes(2 * lower - 1)
            else:
                upper = (len(tree) + 1) // 2
                known.offer(tree)

    def _tree(self, depth: int, most_leaves: int | None = None) -> Tree | None:
        """A tree of at most ``depth`` and ``most_leaves`` without avoidable errors; None if no such tree exists."""
        options = self.options
        with SatSession(
            solver=options.solver,
            seconds=self.clock.seconds_left,
            proof=options.proof,
            on_slice=self._report,
            on_clauses=self.clock.check,
        ) as session:
            try:
                return self._infer(session, TreeVariables(session, depth, *self._sizes, most_leaves))
            finally:
                self.counters.update(Counter(session.counters))

    def _infer(self, session: SatSession, tree: TreeVariables) -> Tree | None:
        """Algorithm 3: while the tree from the solver's model misclassifies rows, add one of them to the formula."""
        added: list[int] = []
        session.extend(tree_clauses(tree))
        if not self.options.incremental:
            for group in range(len(self.bits)):
                self._add(session, tree, added, group)
        while (answer := session.solve()) is not None:
            if not answer:
                if self.options.proof:
                    self.certificates.append(session.certificate(self._claim(tree, len(added))))
                return None
            tests, wrong = self._decoded(session, tree)
            if not wrong.size:
                return self._smaller(tests)
            group = int(wrong[np.argmin(self.turn[wrong])])
            if group in added:
                raise AssertionError("the solver's tree misclassifies a row that is already in the formula")
            self._add(session, tree, added, group)
        raise Stopped(session.stopped_by)

    def _add(self, session: SatSession, tree: TreeVariables, added: list[int], group: int) -> None:
        """Algorithms 1 and 2: the clauses of one row."""
        added.append(group)
        self.counters["examples"] = max(self.counters["examples"], len(added))
        first = session.block(tree.depth)
        turns = range(first, first + tree.depth)
        session.extend(routing(tree, turns, self.bits[group].tolist()))
        session.extend(labelling(tree, turns, np.flatnonzero(self.right[group]).tolist()))

    def _decoded(self, session: SatSession, tree: TreeVariables) -> tuple[list[int], np.ndarray]:
        """The test of each inner node in the last model, and the groups of rows that do not get a right class."""
        tests = [next(t for t in range(tree.n_tests) if session.value(tree.test(node, t))) for node in tree.inner]
        node = np.ones(len(self.bits), dtype=np.int64)
        for _ in range(tree.depth):
            node = 2 * node + self.bits[np.arange(node.size), np.array(tests)[node - 1]]
        labels = [[session.value(tree.label(leaf, code)) for code in range(tree.n_classes)] for leaf in tree.leaves]
        labelled = np.array(labels)[node - 2**tree.depth]
        right = self.right[np.arange(node.size), labelled.argmax(axis=1)]  # if a leaf has several classes, the first
        return tests, np.flatnonzero(~(labelled.any(axis=1) & right))

    def _smaller(self, tests: list[int]) -> Tree:
        """The tree after removing splits that send all their rows to one side, or whose rows all get one class."""
        n = len(tests)
        nodes = [(test, 2 * q + 1, 2 * q + 2) for q, test in enumerate(tests)]
        table = preorder(prune(table_of([*nodes, *[(-1, -1, -1)] * (n + 1)], self.problem.rows), empty=True))
        return list(zip(table.feature.tolist(), table.low.tolist(), table.high.tolist(), strict=True))

    @property
    def _sizes(self) -> tuple[int, int]:
        """The numbers of tests and of classes."""
        return self.bits.shape[1], self.right.shape[1]

    def _claim(self, tree: TreeVariables, n_added: int) -> str:
        size = "" if tree.most_leaves is None else f" and at most {tree.most_leaves} leaves"
        shown = f"shown on {n_added} of {len(self.bits)} groups of equal rows"
        return f"No tree of depth at most {tree.depth}{size} makes no avoidable error: {shown}."

    def _report(self) -> None:
        self.known.tell(self.clock.seconds, self.known.state)

    def result(self, stopped_by: str | None) -> Result:
        """The current state as a result."""
        found = self.known.answer | {"counters": self.counters, "seconds": self.clock.seconds}
        at_hand = None
        if stopped_by is not None and not found["tree"]:
            at_hand = search(self.problem, limits=Limits(seconds=0.0)).model
        engine = f"inferdt ({self.options.solver})"
        return answered(found, self.problem, at_hand, stopped_by, engine=engine, certificates=self.certificates)
