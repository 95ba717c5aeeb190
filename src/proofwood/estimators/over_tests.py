"""What classifiers over 0/1 tests share: categories in tables, binarizing, and bringing models back to the columns."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from proofwood.data.binarize import Binarizer, check_max_thresholds
from proofwood.data.views import Views
from proofwood.estimators.base import ProvedClassifier, TrainingRows
from proofwood.estimators.scope import in_words, limits_of
from proofwood.exceptions import DataError
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.problem.ranked import RankedRows

P = TypeVar("P")


@dataclass(frozen=True, eq=False)
class Posed(Generic[P]):
    """A problem over tests, and the columns and labels that it was made from.

    Parameters
    ----------
    problem : what the engine solves
    binarizer : the tests, in the order of the problem
    X : (n_rows, n_features) columns of the rows of positive weight
    codes, weights : (n_rows,) their true class codes and real weights
    scope : what the search does not see, as in a result
    """

    problem: P
    binarizer: Binarizer
    X: FloatArray
    codes: IntArray
    weights: FloatArray
    scope: tuple[str, ...] = ()


class ClassifierOverTests(ProvedClassifier):
    """A classifier whose engine sees 0/1 tests: thresholds of ordered columns, one test per level of the others."""

    max_thresholds: int | None

    def _binarized(self, given: TrainingRows) -> tuple[Binarizer, RankedRows, tuple[str, ...]]:
        """The tests that tell rows of positive weight apart, these rows as ranks, and the scope of what they prove.

        Raises
        ------
        OutOfTime
            If the time limit of a fit comes before they are made.
        """
        views = self._views(given.columns)
        over, rows = self._ranked(views.values(given.columns), views.by_level, given)
        tests = views.tests(over)
        return tests, rows, self._scope_of(views, tests)

    def _scope_of(self, views: Views, tests: Binarizer) -> tuple[str, ...]:
        """What a search over these tests does not see."""
        return in_words(limits_of(self.schema_, views, tests), self.schema_, most=self.max_thresholds)

    def _views(self, X: FloatArray) -> Views:
        """Columns with missing values, in both ways to order them; categories as codes."""
        return Views.of(X, by_level=self.schema_.nominal, left_out=self.schema_.left_out)

    def _ranked(
        self, values: FloatArray, by_level: Collection[int], given: TrainingRows
    ) -> tuple[Binarizer, RankedRows]:
        """Tests of numbers without missing values, and the rows as ranks; the columns ``by_level`` are codes."""
        return RankedRows.with_tests(
            values,
            by_level,
            given.codes,
            n_classes=given.n_classes,
            sample_weight=given.weights,
            max_thresholds=check_max_thresholds(self.max_thresholds),
            deadline=self._deadline,
        )

    def _posed(
        self,
        problem: P,
        binarizer: Binarizer,
        rows: RankedRows,
        given: TrainingRows,
        scope: tuple[str, ...] = (),
    ) -> Posed[P]:
        columns, weights = given.kept(rows.kept)
        return Posed(problem, binarizer, columns, rows.codes, weights, scope)


def require_clear_majorities(rows: RankedRows, what: str) -> None:
    """Refuse rows that no test distinguishes, of different labels, whose heaviest label depends on rounded weights.

    Raises
    ------
    DataError
        With two such rows, and what to do. ``what`` is the parameter that asks for majorities.
    """
    group = rows.unclear_majority
    if group is None:
        return
    index = rows.groups[0]
    members = np.flatnonzero(index == group)
    first = int(members[0])
    other = int(members[rows.codes[members] != rows.codes[first]][0])
    raise DataError(
        f"rows {rows.kept[first]} and {rows.kept[other]} are equal in all tests and have different labels, and the "
        f"weights of sample_weight are too far apart, or too long, to tell which label of these rows is the heavier "
        f"one: {what} needs to know. Round sample_weight, for example to six digits, or drop the lighter rows."
    )
