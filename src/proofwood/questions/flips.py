"""How much a tree that decides a row otherwise costs at least: how arbitrary the decision about this row is.

The row is forced to another class by a weight that no tree would pay, and the search finds the best tree of the fit's
scope. Record: decisions/0100-questions.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood import arguments
from proofwood.data.kinds import Kind
from proofwood.data.views import Limit
from proofwood.engines.interrupts import ENDED, cause_of, raise_ended
from proofwood.engines.run import Clock
from proofwood.engines.trees import solve
from proofwood.estimators.classifier import ClassRows
from proofwood.estimators.optimal_tree import OptimalTreeClassifier
from proofwood.estimators.tree_learner import PosedTree
from proofwood.exceptions import OptimalityWarning
from proofwood.jobs import jobs_of
from proofwood.language import gettext, number
from proofwood.model.evaluate import predict
from proofwood.model.node_table import FloatArray, IntArray, NodeTable
from proofwood.model.reshape import refresh
from proofwood.model.sums import rounded_down, rounded_up
from proofwood.printable import printable
from proofwood.problem.targets import Classes
from proofwood.problem.tree import TreeProblem
from proofwood.questions.rows import as_model, bound_of_fit, left_out, require_errors, rows_of_fit
from proofwood.result import Limits, Result, Stats, Status, figure, for_these_tests


@dataclass(frozen=True, eq=False)
class Flip:
    """What it costs to decide one row otherwise. Make it with ``tree.flip_cost(rows, X, y)``.

    Parameters
    ----------
    row : place of the row among those that were asked about
    decision : class that the fitted tree gives it
    other : class that ``tree`` gives it
    cost : what ``tree`` costs more than the fitted tree, in the unit of its objective
    lower_bound : no tree of the fit's scope that decides the row otherwise costs less than the fitted tree and this;
        it may be below 0 if the fitted tree is not proved optimal, or the search was stopped
    status : "optimal" if ``cost`` is proved to be the least, else "feasible"
    share : ``cost`` as a share of the total weight of the training rows
    unit : unit of the objective, such as "errors"
    scope : what limits the trees, in words, as in ``result_.scope``, and the columns that the fit left out because of
        their values: a test of such a column may tell a new row from all others
    tree : the tree that decides otherwise
    """

    row: int
    decision: Any
    other: Any
    cost: float
    lower_bound: float
    status: Status
    share: float
    unit: str
    scope: tuple[str, ...]
    tree: OptimalTreeClassifier

    @classmethod
    def of(
        cls,
        model: OptimalTreeClassifier,
        rows: Any,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        *,
        time_limit: float | None = 60.0,
    ) -> tuple[Flip, ...]:
        """What it costs at least to decide some rows otherwise.

        Parameters
        ----------
        model : fitted tree
        rows, X, y, sample_weight, time_limit : as in :meth:`OptimalTreeClassifier.flip_cost`, which says what it raises
        """
        seconds = arguments.seconds(time_limit)
        require_errors(model, "flip_cost")
        if model.min_weight_fraction_leaf:
            raise ValueError(
                "flip_cost forces a row by its weight, which min_weight_fraction_leaf counts: fit without it"
            )
        given = rows_of_fit(model, X, y, sample_weight)
        asked = model._rows(rows)
        posed = model._problem(given)
        if posed.problem.rounding is not None:
            raise ValueError(
                "the weights have too many digits for exact sums in 64 bits, so that no row can be forced: round them"
            )
        clock = Clock(Limits(seconds, jobs_of(model.n_jobs)))
        fit = _Fit(model, given, posed)
        found: list[Flip] = []
        try:
            for place, row in enumerate(asked):
                found.append(fit.flip(place, row, clock.part(asked.shape[0] - place)))
        except ENDED as error:
            if not found:
                raise
            warnings.warn(
                f"stopped at a limit ({cause_of(error)}): the answers are about the first {len(found):,} of "
                f"{asked.shape[0]:,} rows",
                OptimalityWarning,
                stacklevel=3,
            )
        return tuple(found)

    def __str__(self) -> str:
        cost = number(figure(abs(self.cost)))
        told = {
            "row": self.row,
            "decision": printable(str(self.decision)),
            "other": printable(str(self.other)),
            "cost": gettext("%(cost)s more", cost=cost) if self.cost >= 0 else gettext("%(cost)s less", cost=cost),
            "unit": gettext(self.unit),
            "share": number(f"{100 * abs(self.share):.3g}"),
            "tests": for_these_tests(self.scope),
        }
        if self.status is Status.OPTIMAL:
            return gettext(
                "row %(row)s, %(decision)s: a tree that says %(other)s costs %(cost)s (%(unit)s; %(share)s %% of the "
                "weight), and none costs less%(tests)s",
                **told,
            )
        if self.lower_bound < 0:
            return gettext(
                "row %(row)s, %(decision)s: a tree that says %(other)s costs %(cost)s (%(unit)s; %(share)s %% of the "
                "weight), and every such tree at most %(bound)s less%(tests)s",
                bound=number(figure(-self.lower_bound, ROUND_CEILING)),
                **told,
            )
        return gettext(
            "row %(row)s, %(decision)s: a tree that says %(other)s costs %(cost)s (%(unit)s; %(share)s %% of the "
            "weight), and every such tree at least %(bound)s more%(tests)s",
            bound=number(figure(self.lower_bound, ROUND_FLOOR)),
            **told,
        )


@dataclass(frozen=True, eq=False)
class _Fit:
    """A fitted tree with its rows, posed again."""

    model: OptimalTreeClassifier
    given: ClassRows
    posed: PosedTree

    def flip(self, place: int, x: FloatArray, clock: Clock) -> Flip:
        """The answer about one row."""
        table, classes = self.model.model_, self.given.classes
        now = int(predict(table, x[np.newaxis])[0])
        others = [code for code in range(classes.size) if code != now]
        if not others:
            raise ValueError("the tree knows one class only, so that no tree decides otherwise")
        found = [self._forced(x, code, clock.part(len(others) - k)) for k, code in enumerate(others)]
        cost, best = min(found, key=lambda one: one.cost), min(one.least for one in found)
        before = self.posed.counted.real_cost(table)
        least = max(best, self._least_of_fit(before))
        other = int(predict(cost.table, x[np.newaxis])[0])
        more, bound = cost.cost - before, min(least, cost.cost) - before
        return Flip(
            row=place,
            decision=classes[now],
            other=classes[other],
            cost=float(more) if bound == more else rounded_up(more),
            lower_bound=float(more) if bound == more else rounded_down(bound),
            status=Status.OPTIMAL if bound == more else Status.FEASIBLE,
            share=float(more / self.posed.problem.cost.real_total),
            unit=self.model.result_.unit,
            scope=(*self.model.result_.scope, *left_out(self.model)),
            tree=self._as_model(cost.table, cost.cost),
        )

    def _least_of_fit(self, cost: Fraction) -> Fraction:
        """The proved bound of the fit; 0 for a tree of a file, which only claims one."""
        if self.model.loaded_:
            return Fraction(0)
        return cost if self.model.status_ is Status.OPTIMAL else Fraction(self.model.lower_bound_)

    def _forced(self, x: FloatArray, code: int, clock: Clock) -> _Found:
        """The best tree that gives the row this class, and a bound for all such trees."""
        start = refresh(NodeTable.leaf(code, self.given.n_classes), *self._rows)
        cost = self.posed.counted.real_cost(start)
        # a tree that gives the row another class costs more than this leaf, and so is not the best
        forced, rows, paid = self._pose(x, code, int(self.posed.problem.weights.sum()) + 1)
        result = solve(forced, limits=clock.left())
        raise_ended(result.stats.stopped_by)
        assert result.model is not None
        least = Fraction(result.lower_bound) + paid
        found, _ = self.model._finished(self._posed_for(x, code).lifted(result.model), rows)
        found = refresh(found, *self._rows)
        if int(predict(found, x[np.newaxis])[0]) == code and (again := self.posed.counted.real_cost(found)) <= cost:
            start, cost = found, again
            if result.status is Status.OPTIMAL:
                least = cost
        return _Found(start, cost, min(least, cost))

    @property
    def _rows(self) -> tuple[FloatArray, IntArray, int, FloatArray]:
        """The arguments of a recount."""
        given = self.given
        return given.columns, given.codes, given.n_classes, given.real_weights

    def _pose(self, x: FloatArray, code: int, weight: int) -> tuple[TreeProblem, ClassRows, Fraction]:
        """The problem with the row forced, its rows, and what the row costs in the fit's problem if it obeys."""
        problem, given = self.posed.problem, self.given
        codes, weights, paid = problem.codes.copy(), problem.weights.copy(), Fraction(0)
        columns, kept = self.posed.X, problem.kept
        same = self._same(x)
        if same.size:  # a row of training: leaves keep their numbers of rows
            at = int(same[0])
            if codes[at] == code:
                weights[at] += weight
            else:
                paid = int(weights[at]) * problem.cost.unit
                codes[at], weights[at] = code, weight
        else:
            self._require_readable(x)
            codes, weights = np.append(codes, code), np.append(weights, weight)
            columns = np.vstack([columns, x])
            kept = np.append(kept, kept.size)
        values = self._posed_for(x, code).views.values(columns)
        cost = replace(problem.cost, total=int(weights.sum()))
        target = Classes(codes, problem.n_classes)
        forced = replace(problem, X=values, target=target, weights=weights, cost=cost, max_gap=0, kept=kept)
        return forced, replace(given, columns=columns, weights=weights.astype(np.float64), class_codes=codes), paid

    def _posed_for(self, x: FloatArray, code: int) -> PosedTree:
        """The problem with views that permit the same tests if a row is forced to a class.

        For one test and two classes, the order of levels by the share of a class suffices, and is no limit. The levels
        of the forced row then have the greatest share of its class.
        """
        views = self.posed.views
        if self.model.max_depth != 1 or self.given.n_classes != 2 or Limit.ORDERED in views.limits:
            return self.posed
        return replace(self.posed, views=views.at_the_end(x, last=code == 1))

    def _same(self, x: FloatArray) -> IntArray:
        """The places of this row among those of training."""
        columns = self.posed.X
        return np.flatnonzero(((columns == x) | (np.isnan(columns) & np.isnan(x))).all(axis=1))

    def _require_readable(self, x: FloatArray) -> None:
        """Raise ValueError unless the trees of the fit say where a new row goes."""
        if self.model.min_samples_leaf > 1:
            raise ValueError("with min_samples_leaf above 1, flip_cost can be asked about training rows only")
        schema = self.model.schema_
        for j in set(range(x.size)) - set(schema.left_out):
            named = schema.columns[j].name
            if np.isnan(x[j]) and not np.isnan(self.posed.X[:, j]).any():
                raise ValueError(f"a row has no value in column {named!r}, in which all training rows had one")
            if schema.columns[j].kind is Kind.BOOLEAN and x[j] not in (0, 1) and not np.isnan(x[j]):
                raise ValueError(f"a row has {x[j]:g} in column {named!r}, which holds only False and True")
            if j in schema.nominal and not np.isnan(x[j]) and x[j] not in self.posed.X[:, j]:
                raise ValueError(f"a row has a category in column {named!r} that no training row had")

    def _as_model(self, table: NodeTable, cost: Fraction) -> OptimalTreeClassifier:
        """A tree as an estimator, with the bound of the fit."""
        fitted = self.model.result_
        objective = self.posed.problem.cost.shown(cost)
        bound = bound_of_fit(self.model, objective)
        status = Status.OPTIMAL if bound == objective and fitted.status is Status.OPTIMAL else Status.FEASIBLE
        stats = Stats(engine=fitted.stats.engine)
        result = Result(table, objective, fitted.unit, bound, status, stats, scope=fitted.scope)
        return as_model(self.model, result, self.posed.X)


@dataclass(frozen=True, eq=False)
class _Found:
    """A tree, what it costs, and a bound for all trees that were asked for."""

    table: NodeTable
    cost: Fraction
    least: Fraction
