"""Algorithm 3 of Avellaneda (2020): a formula that takes up a row only when a tree gets it wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from types import TracebackType
from typing import Self

import numpy as np

from proofwood.certificates.drup import Certificate
from proofwood.engines.minimal.reference import clauses
from proofwood.engines.minimal.reference.options import SatTreeOptions
from proofwood.engines.minimal.reference.rows import UNLABELLED, Groups, Tree
from proofwood.engines.run import Stopped
from proofwood.model.node_table import IntArray
from proofwood.solvers import SatSession, Totalizer

CLAUSES_AT_ONCE = 20_000
"""Clauses made between two looks at the clock."""


class TreeFormula:
    """Perfect trees of one depth that are right on the groups of rows added so far.

    Parameters
    ----------
    groups : the rows and tests
    depth : k from 0
    slack : integer weight of rows that may be wrong beyond the unavoidable
    options : switches
    seconds : wall-clock budget, None without limit
    on_slice : called between slices of the solver
    leaves_counted : the number of leaves can be bounded below this; None if it is not counted
    """

    def __init__(
        self,
        groups: Groups,
        depth: int,
        slack: int,
        options: SatTreeOptions,
        *,
        seconds: float | None = None,
        on_slice: Callable[[], None] | None = None,
        leaves_counted: int | None = None,
    ) -> None:
        self.groups, self.depth, self.slack, self.options = groups, depth, slack, options
        self.certificates: list[Certificate] = []
        self.session = SatSession(solver=options.solver, seconds=seconds, proof=options.proof, on_slice=on_slice)
        counted = None if leaves_counted is None else min(leaves_counted, 2**depth)
        self.tree = clauses.TreeVariables(
            self.session,
            depth,
            groups.tests_of,
            groups.weights.shape[1],
            leaves_counted=counted,
            idle=options.idle_nodes and counted is not None,
        )
        self._excess = groups.costs - groups.costs.min(axis=1, keepdims=True)
        self._added = np.zeros(self._excess.shape[0], dtype=bool)
        self._errors = Totalizer(self.session, [], cap=slack, check=self._check_time)
        self._turn = np.arange(self._added.size)  # place of each group in the order in which wrong ones are taken
        if options.order == "shuffled":
            self._turn = np.random.default_rng(options.seed).permutation(self._added.size)
        self._state_the_tree()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.session.close()

    @property
    def added(self) -> IntArray:
        """Groups of rows taken up."""
        return np.flatnonzero(self._added)

    # --------------------------------------------------------------------------------------------------------- clauses

    def _state_the_tree(self) -> None:
        self._extend(clauses.some_test(self.tree))
        self._extend(clauses.chained_tests(self.tree))
        if self.options.one_test:
            self._extend(clauses.one_test(self.tree))
        if self.tree.leaves_counted is not None:
            self._extend(clauses.used_leaves(self.tree))
            self._extend(clauses.counts_carry(self.tree))
            self._extend(clauses.counts_step(self.tree))
            self._extend(clauses.counts_start(self.tree))
        if self.tree.may_idle:
            self._extend(clauses.idle_below(self.tree))
            self._extend(clauses.splits_are_needed(self.tree))
        padded = self.tree.may_idle or (self.tree.leaves_counted is None and self.groups.n_tests >= self.depth)
        if padded and self.options.distinct_tests:
            self._extend(clauses.distinct_tests(self.tree))

    def add(self, members: Iterable[int]) -> None:
        """Take up groups of rows: whatever tree comes next is right on them, but for the slack."""
        allowances: list[tuple[int, int]] = []
        for group in members:
            self._added[group] = True
            row = clauses.RowVariables(self.tree, self.session, arrivals=self.options.arrivals)
            self._extend(clauses.arrivals(self.tree, row))
            self._extend(clauses.routing(self.tree, row, self.groups.ranks[group].tolist()))
            excess = self._excess[group]
            steps = np.unique(excess[excess > 0]).tolist()
            if np.count_nonzero(excess == 0) == 1 and all(step > self.slack for step in steps):
                self._extend(clauses.labelling(self.tree, row, int(np.argmin(excess))))
                continue
            exceeds: list[tuple[int, int | None]] = []
            for before, step in zip([0, *steps], steps, strict=False):
                if step > self.slack:
                    exceeds.append((step, None))
                    break
                leave = self.session.new()
                exceeds.append((step, leave))
                allowances.append((leave, step - before))
            self._extend(clauses.relaxed_labelling(self.tree, row, excess.tolist(), exceeds))
        if allowances:
            literals, weights = zip(*allowances, strict=True)
            self._errors.append(literals, weights)
            self.session.extend([literal] for literal in self._errors.at_most(self.slack))

    def _extend(self, made: clauses.Clauses) -> None:
        while batch := list(islice(made, CLAUSES_AT_ONCE)):
            self._check_time()
            self.session.extend(batch)

    def _check_time(self) -> None:
        if self.session.seconds_left <= 0:
            raise Stopped("time_limit")

    # ---------------------------------------------------------------------------------------------------------- search

    def find(self, max_leaves: int | None = None) -> Tree | None:
        """A tree that is right on all groups but for the slack, None if there is none.

        Raises
        ------
        Stopped
            At the end of the budget or after Ctrl-C.
        """
        bound = [] if max_leaves is None else clauses.at_most_leaves(self.tree, max_leaves)
        while True:
            answer = self.session.solve(bound)
            if answer is None:
                raise Stopped(self.session.stopped_by)
            if not answer:
                if self.options.proof:
                    self.certificates.append(self.session.certificate(self._claim(max_leaves)))
                return None
            tree = self._decoded()
            wrong = self._wrong(tree)
            if wrong is None:
                return tree
            self.add(wrong)

    def _claim(self, max_leaves: int | None) -> str:
        size = "" if max_leaves is None else f" and at most {max_leaves} leaves"
        errors = f"more than {self.slack} errors beyond the unavoidable" if self.slack else "no avoidable error"
        rows = f"{np.count_nonzero(self._added)} of {self._added.size} groups of equal rows"
        right = f"makes {errors}" if not self.slack else f"makes not {errors}"
        return f"No tree of depth at most {self.depth}{size} {right}: shown on {rows}."

    def _decoded(self) -> Tree:
        """The tree of the last model; a side without a class gives way to its sibling."""

        def build(node: int, level: int) -> Tree:
            if level == self.depth:
                codes = (c for c in range(self.tree.n_classes) if value(label(node - 2**level, c)))
                return next(codes, UNLABELLED)
            low, high = build(2 * node, level + 1), build(2 * node + 1, level + 1)
            if low == UNLABELLED or high == UNLABELLED:
                return low if high == UNLABELLED else high
            if isinstance(low, int) and low == high:
                return low
            return next(t for t in range(self.tree.n_tests) if value(self.tree.test(node, t))), low, high

        value, label = self.session.value, self.tree.label
        return build(1, 0)

    def _wrong(self, tree: Tree) -> list[int] | None:
        """Groups to add, at least one, because ``tree`` is wrong about them; None if it is right but for the slack."""
        if self.options.relabel and self.groups.errors(tree) <= self.slack + self._unavoidable:
            return None
        wrong_by_leaf: list[IntArray] = []
        excess = 0
        for code, members in self.groups.leaves(tree):
            heaviest = int(np.argmax(self.groups.weights[members].sum(axis=0)))
            open_label = self.options.relabel and not self._added[members].any()
            label = heaviest if open_label or code == UNLABELLED else code
            excess += int(self._excess[members, label].sum())
            wrong = members[(self._excess[members, label] > 0) & ~self._added[members]]
            if wrong.size:
                wrong_by_leaf.append(wrong[np.argsort(self._turn[wrong])])
        if excess <= self.slack:
            return None
        if not wrong_by_leaf:
            raise AssertionError("a tree is wrong about rows that its formula holds")
        if self.options.at_once == 0:
            return [int(wrong[0]) for wrong in wrong_by_leaf]
        everywhere = np.concatenate(wrong_by_leaf)
        return [int(group) for group in everywhere[np.argsort(self._turn[everywhere])][: self.options.at_once]]

    @property
    def _unavoidable(self) -> int:
        return int(self.groups.costs.min(axis=1).sum())
