"""Least depth, then fewest nodes, by formulas that take up a row only when a tree gets it wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from proofwood import arguments
from proofwood.certificates.drup import Certificate
from proofwood.engines.interrupts import ENDED, cause_of, completed
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
    """What the paper leaves open; none changes what is proved.

    Parameters
    ----------
    solver : name as python-sat knows it; the paper's is "minisat22"
    seed : for the order in which wrong rows are taken up
    proof : keep every answer "no" as a certificate; with a solver that writes proofs
    """

    solver: str = "cadical195"
    seed: int = 0
    proof: bool = False

    def __post_init__(self) -> None:
        arguments.choice(self.solver, "solver", SOLVERS)
        if self.proof and self.solver not in PROOF_SOLVERS:
            raise ValueError(f"solver={self.solver!r} writes no proof: expected one of {', '.join(PROOF_SOLVERS)}")


DEFAULT_OPTIONS = InferDTOptions()


def solve(
    problem: MinimalTreeProblem,
    *,
    options: InferDTOptions = DEFAULT_OPTIONS,
    limits: Limits = NO_LIMITS,
    progress: Progress | None = None,
) -> Result:
    """The smallest tree over the tests that makes no avoidable error, by incremental SAT [1]_.

    Depths are tried from below (DT_depth); at the least one, the number of leaves is bisected (DT_size). Equal rows are
    one example; their heaviest class is right, any of the heaviest if they tie.

    Parameters
    ----------
    problem : MinimalTreeProblem; of least depth, or of fewest nodes at that depth
    options : InferDTOptions
    limits : wall-clock seconds; one thread is used
    progress : called from this thread at improvements and between slices of the solver, once there is a tree

    Returns
    -------
    Result
        In units of depth or nodes, with a part for each. Where time ends before a tree is found, the tree is the one
        that the search of :mod:`proofwood.engines.minimal` has at once. ``counters["examples"]`` is the largest number
        of examples in one formula.

    Raises
    ------
    ValueError
        If the problem is none of the paper's: errors are permitted beyond the unavoidable ones, or the depth is free.

    References
    ----------
    .. [1] Avellaneda (2020), Efficient Inference of Optimal Decision Trees, AAAI.
    """
    slack = problem.max_errors - problem.rows.unavoidable
    if slack > 0:
        raise ValueError("engine='paper' permits no training errors: with max_errors pass engine='search' (or 'auto')")
    if problem.minimize is Minimize.NODES_ANY_DEPTH:
        raise ValueError("engine='paper' seeks the least depth first: for nodes at any depth pass engine='search'")
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
    return completed(lambda: run.result(stopped_by))


class _Run:
    """What is known at one moment of one call."""

    def __init__(
        self, problem: MinimalTreeProblem, options: InferDTOptions, limits: Limits, progress: Progress | None
    ) -> None:
        self.problem, self.options, self.clock = problem, options, Clock(limits)
        self.known = Known(nothing_known(), problem, lambda: self.clock.seconds, teller(progress, problem))
        self.counters: Counter[str] = Counter()
        self.certificates: list[Certificate] = []

    def search(self) -> None:
        """DT_depth, then DT_size."""
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
        """A tree of this depth with at most so many leaves that is right on all rows, None if there is none."""
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
        """Algorithm 3: as long as a tree gets a row wrong, the row comes into the formula."""
        added: list[int] = []
        session.extend(tree_clauses(tree))
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
                raise AssertionError("a tree is wrong about a row that its formula holds")
            added.append(group)
            self.counters["examples"] = max(self.counters["examples"], len(added))
            first = session.block(tree.depth)
            turns = range(first, first + tree.depth)
            session.extend(routing(tree, turns, self.bits[group].tolist()))
            session.extend(labelling(tree, turns, np.flatnonzero(self.right[group]).tolist()))
        raise Stopped(session.stopped_by)

    def _decoded(self, session: SatSession, tree: TreeVariables) -> tuple[list[int], np.ndarray]:
        """Test of each inner node of the last model, and the groups of rows whose leaf has a wrong class, or none."""
        tests = [next(t for t in range(tree.n_tests) if session.value(tree.test(node, t))) for node in tree.inner]
        node = np.ones(len(self.bits), dtype=np.int64)
        for _ in range(tree.depth):
            node = 2 * node + self.bits[np.arange(node.size), np.array(tests)[node - 1]]
        labels = [[session.value(tree.label(leaf, code)) for code in range(tree.n_classes)] for leaf in tree.leaves]
        labelled = np.array(labels)[node - 2**tree.depth]
        right = self.right[np.arange(node.size), labelled.argmax(axis=1)]  # of several classes the first one
        return tests, np.flatnonzero(~(labelled.any(axis=1) & right))

    def _smaller(self, tests: list[int]) -> Tree:
        """The perfect tree without splits that send all rows one way, or to one class."""
        n = len(tests)
        nodes = [(test, 2 * q + 1, 2 * q + 2) for q, test in enumerate(tests)]
        table = preorder(prune(table_of([*nodes, *[(-1, -1, -1)] * (n + 1)], self.problem.rows), empty=True))
        return list(zip(table.feature.tolist(), table.low.tolist(), table.high.tolist(), strict=True))

    @property
    def _sizes(self) -> tuple[int, int]:
        """Numbers of tests and classes."""
        return self.bits.shape[1], self.right.shape[1]

    def _claim(self, tree: TreeVariables, n_added: int) -> str:
        size = "" if tree.most_leaves is None else f" and at most {tree.most_leaves} leaves"
        shown = f"shown on {n_added} of {len(self.bits)} groups of equal rows"
        return f"No tree of depth at most {tree.depth}{size} makes no avoidable error: {shown}."

    def _report(self) -> None:
        self.known.tell(self.clock.seconds, self.known.state)

    def result(self, stopped_by: str | None) -> Result:
        """What is known now, as a result."""
        found = self.known.answer | {"counters": self.counters, "seconds": self.clock.seconds}
        at_hand = None
        if stopped_by is not None and not found["tree"]:
            at_hand = search(self.problem, limits=Limits(seconds=0.0)).model
        engine = f"inferdt ({self.options.solver})"
        return answered(found, self.problem, at_hand, stopped_by, engine=engine, certificates=self.certificates)
