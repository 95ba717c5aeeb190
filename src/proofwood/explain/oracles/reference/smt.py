"""Reference oracle by an SMT solver, as simple as it can be put: the model written down in integer arithmetic.

One integer is the cell of each column, each tree is a nested if-then-else over its leaves, the sums are sums. This is
the SMT encoding that [1]_ compares its SAT encoding with, extended from counted votes to any scores.

References
----------
.. [1] Y. Izza, J. Marques-Silva: On Explaining Random Forests with SAT. IJCAI 2021.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from typing import Any

import numpy as np

from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.oracles.oracle import Question
from proofwood.explain.oracles.reference.served import ServedOracle, Verdict


class SmtSearch:
    """One z3 solver per class that questions are about."""

    def __init__(self, scores: ScoreModel) -> None:
        self.scores = scores
        self.z3: Any = importlib.import_module("z3")  # untyped
        z3 = self.z3
        self.cells = [z3.Int(f"cell{column}") for column in range(scores.n_columns)]
        self.kept = [z3.Bool(f"kept{feature}") for feature in range(scores.n_features)]
        self.wanted = [z3.Bool(f"wanted{target}") for target in range(scores.n_classes)]
        column_of = np.repeat(np.arange(scores.n_columns), scores.n_thresholds).tolist()
        self.above = [self.cells[column] > v - int(scores.first[column]) for v, column in enumerate(column_of)]
        self._solvers: dict[tuple[int, bool], Any] = {}

    def ask(self, question: Question) -> Verdict:
        """Solve for one question; the limit is z3's own."""
        z3 = self.z3
        key = (question.label, question.strict)
        if key not in self._solvers:
            self._solvers[key] = self._solver(*key)
        solver = self._solvers[key]
        left = question.clock.seconds_left
        solver.set("timeout", 2**32 - 1 if left is None else max(1, math.ceil(1000 * left)))
        solver.push()
        for feature in question.fixed:
            columns = self.scores.features[feature]
            limits = [self.cells[column] >= int(question.low[column]) for column in columns]
            limits += [self.cells[column] <= int(question.high[column]) for column in columns]
            solver.add(z3.Implies(self.kept[feature], z3.And(limits)))
        unwanted = [z3.Not(flag) for target, flag in enumerate(self.wanted) if target not in question.targets]
        found = solver.check([self.kept[feature] for feature in question.fixed] + unwanted)
        verdict = Verdict()
        if found == z3.sat:
            values = solver.model()
            row = [values.eval(cell, model_completion=True).as_long() for cell in self.cells]
            verdict = Verdict(witness=np.array(row, dtype=np.int64))
        elif found == z3.unsat:
            used = {str(assumption) for assumption in solver.unsat_core()}
            verdict = Verdict(core=frozenset(f for f in question.fixed if str(self.kept[f]) in used))
        solver.pop()
        return verdict

    def _solver(self, label: int, strict: bool) -> Any:
        """Rows of the space in which a wanted class may come before ``label``, or before all if ``strict``."""
        z3, scores = self.z3, self.scores
        solver = z3.Solver()
        for cell, count in zip(self.cells, scores.n_thresholds.tolist(), strict=True):
            solver.add(cell >= 0, cell <= count)
        for clause in scores.clauses:
            solver.add(z3.Or([self._literal(number) for number in clause]))
        reach = []
        for target, wanted in enumerate(self.wanted):
            if target == label:
                continue
            wins = []
            for rival in range(scores.n_classes) if strict else [label]:
                if rival == target:
                    continue
                lead = scores.scores[:, target] - scores.scores[:, rival]
                own = int(scores.base[target] - scores.base[rival])
                total = z3.Sum([z3.IntVal(own), *(self._tree(tree, lead) for tree in range(scores.n_trees))])
                wins.append(total >= scores.threshold_of_win(target, rival))
            reach.append(z3.And(wanted, *wins))
        solver.add(z3.Or(reach))
        return solver

    def _tree(self, tree: int, lead: Any) -> Any:
        """What the tree adds to a lead: the value of the first leaf whose needs hold, of the last one otherwise."""
        z3, scores = self.z3, self.scores
        first, end = int(scores.leaves_of[tree]), int(scores.leaves_of[tree + 1])
        value = z3.IntVal(int(lead[end - 1]))
        for leaf in reversed(range(first, end - 1)):
            needs = scores.needs[scores.needs_of[leaf] : scores.needs_of[leaf + 1]].tolist()
            value = z3.If(z3.And([self._literal(number) for number in needs]), z3.IntVal(int(lead[leaf])), value)
        return value

    def _literal(self, number: int) -> Any:
        above = self.above[number >> 1]
        return self.z3.Not(above) if number & 1 else above


class SmtOracle(ServedOracle):
    """Complete for any :class:`ScoreModel` and slow: for tests and small models.

    Parameters
    ----------
    scores : ScoreModel

    Raises
    ------
    ImportError
        If z3 is not installed.
    """

    name = "smt"
    search = SmtSearch

    def __init__(self, scores: ScoreModel) -> None:
        if importlib.util.find_spec("z3") is None:
            raise ImportError("the engine 'smt' needs z3, which is not installed: pip install \"proofwood[smt]\"")
        super().__init__(scores)
