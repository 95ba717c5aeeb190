"""Reference oracle by CP-SAT: leaves chosen tree by tree, their scores summed, one target at least as good.

One literal stands for each threshold and one for each leaf. Exactly one leaf of a tree is chosen, and it asks for its
needs; as the leaves of a tree exclude each other and leave no row out, the chosen one is the one that is reached. The
fixed features are assumptions, so that a proof names those that it used.
"""

from __future__ import annotations

import importlib.util
from itertools import pairwise
from typing import Any

import numpy as np

from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.oracles.oracle import Question
from proofwood.explain.oracles.reference.served import ServedOracle, Verdict

LARGEST_SUM = 2**61
"""CP-SAT counts in 64 bits and refuses models whose sums could come near that."""


class CpsatSearch:
    """Models of CP-SAT, one per class that questions are about. Lives where OR-Tools may be loaded."""

    def __init__(self, scores: ScoreModel) -> None:
        self.scores = scores
        self._models: dict[tuple[int, bool], _LabelModel] = {}

    def ask(self, question: Question) -> Verdict:
        """Solve for one question; the limit is CP-SAT's own."""
        from ortools.sat.python import cp_model  # optional

        key = (question.label, question.strict)
        if key not in self._models:
            self._models[key] = _LabelModel(self.scores, *key)
        built = self._models[key]
        feature_of = {
            built.literal(number).index: feature
            for feature in question.fixed
            for number in question.literals_of(self.scores, feature)
        }
        fixed = [built.literal(n) for f in question.fixed for n in question.literals_of(self.scores, f)]
        unwanted = [beats.negated() for target, beats in built.beats.items() if target not in question.targets]
        built.model.clear_assumptions()
        built.model.add_assumptions([*fixed, *unwanted])
        solver = cp_model.CpSolver()
        solver.parameters.cp_model_presolve = False  # with it, cores are wrong: google/or-tools, issue 5141
        solver.parameters.num_workers = 1
        solver.parameters.linearization_level = 2  # slower on easy questions, faster on hard ones
        if (left := question.clock.seconds_left) is not None:
            solver.parameters.max_time_in_seconds = left
        status = solver.solve(built.model)
        if status == cp_model.UNKNOWN:
            return Verdict()
        if status == cp_model.INFEASIBLE:
            used = solver.sufficient_assumptions_for_infeasibility()
            if not set(used) <= {assumption.index for assumption in (*fixed, *unwanted)}:
                raise AssertionError(f"the core of CP-SAT, {list(used)}, has more than the assumptions")
            return Verdict(core=frozenset(feature_of[index] for index in used if index in feature_of))
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            raise AssertionError(f"CP-SAT ended with {solver.status_name(status)}: {built.model.validate()}")
        first = self.scores.first.tolist()
        above = [solver.boolean_value(variable) for variable in built.above]
        cells = [sum(above[start:end]) for start, end in pairwise(first)]
        return Verdict(witness=np.array(cells, dtype=np.int64))


class _LabelModel:
    """The model for rows of class ``label``; ``beats[target]`` holds only where the target may come before it.

    If ``strict``, only where it may come before all other classes.
    """

    def __init__(self, scores: ScoreModel, label: int, strict: bool) -> None:
        from ortools.sat.python import cp_model  # optional

        self.model = cp_model.CpModel()
        first = scores.first.tolist()
        self.above = [self.model.new_bool_var("") for _ in range(first[-1])]
        for start, end in pairwise(first):
            for lower, higher in zip(self.above[start:end], self.above[start + 1 : end], strict=False):
                self.model.add_implication(higher, lower)
        for clause in scores.clauses:
            self.model.add_bool_or([self.literal(number) for number in clause])
        leaves = [self.model.new_bool_var("") for _ in range(int(scores.leaves_of[-1]))]
        for start, end in zip(scores.leaves_of[:-1].tolist(), scores.leaves_of[1:].tolist(), strict=True):
            self.model.add_exactly_one(leaves[start:end])
        for leaf, start, end in zip(leaves, scores.needs_of[:-1].tolist(), scores.needs_of[1:].tolist(), strict=True):
            for number in scores.needs[start:end].tolist():
                self.model.add_implication(leaf, self.literal(number))
        self.beats: dict[int, Any] = {}
        for target in range(scores.n_classes):
            if target == label:
                continue
            self.beats[target] = self.model.new_bool_var("")
            for rival in range(scores.n_classes) if strict else [label]:
                if rival == target:
                    continue
                lead = (scores.scores[:, target] - scores.scores[:, rival]).tolist()
                needed = scores.threshold_of_win(target, rival) - int(scores.base[target] - scores.base[rival])
                _check_size(lead, needed)
                self.model.add(cp_model.LinearExpr.weighted_sum(leaves, lead) >= needed).only_enforce_if(
                    self.beats[target]
                )
        self.model.add_bool_or(list(self.beats.values()))

    def literal(self, number: int) -> Any:
        """CP-SAT's literal for one of the model's."""
        variable = self.above[number >> 1]
        return variable.negated() if number & 1 else variable


def _check_size(lead: list[int], needed: int) -> None:
    if sum(abs(value) for value in lead) + abs(needed) > LARGEST_SUM:
        raise OverflowError("the scores of this model are too large for CP-SAT's 64-bit sums; use another engine")


class CpsatOracle(ServedOracle):
    """Complete for any :class:`ScoreModel`, simple, and independent of the engines that are ours.

    Parameters
    ----------
    scores : ScoreModel

    Raises
    ------
    ImportError
        If OR-Tools is not installed.
    """

    name = "cpsat"
    search = CpsatSearch

    def __init__(self, scores: ScoreModel) -> None:
        if importlib.util.find_spec("ortools") is None:
            raise ImportError(
                "the engine 'cpsat' needs OR-Tools, which is not installed: pip install \"proofwood[cpsat]\""
            )
        super().__init__(scores)
