"""The base class of classifiers over 0/1 tests: it makes tests of the columns, and problems over these tests."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from proofwood.data.binarize import Binarizer, check_max_thresholds
from proofwood.data.views import Views, scope_of
from proofwood.estimators.classifier import ClassRows, ProvedClassifier
from proofwood.exceptions import DataError
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.problem.ranked import RankedRows

P = TypeVar("P")


@dataclass(frozen=True, eq=False)
class Posed(Generic[P]):
    """A problem over tests, with the columns and labels from which the problem was made.

    Parameters
    ----------
    problem : the problem that the engine solves
    binarizer : the tests, in the order of the problem
    X : (n_rows, n_features) columns of the rows of positive weight
    codes, weights : (n_rows,) true class codes and real weights of these rows
    scope : what limits the search, in words, as in a result
    """

    problem: P
    binarizer: Binarizer
    X: FloatArray
    codes: IntArray
    weights: FloatArray
    scope: tuple[str, ...] = ()


class ClassifierOverTests(ProvedClassifier):
    """A classifier whose engine uses 0/1 tests: thresholds of ordered columns, and one test per level of the others."""

    max_thresholds: int | None

    def _binarized(self, given: ClassRows) -> tuple[Binarizer, RankedRows, tuple[str, ...]]:
        """The tests that distinguish the rows of positive weight, these rows as ranks, and the scope of the search.

        Raises
        ------
        OutOfTime
            If the time limit of the fit is reached before the tests are made.
        """
        views = self._views(given.columns)
        over, rows = self._ranked(views.values(given.columns), views.by_level, given)
        tests = views.tests(over)
        return tests, rows, self._scope_of(views, tests)

    def _scope_of(self, views: Views, tests: Binarizer) -> tuple[str, ...]:
        """The limits of a search over these tests, in words."""
        return scope_of(self.schema_, views, tests, most=self.max_thresholds)

    def _views(self, X: FloatArray) -> Views:
        """The views of the columns: missing values below and above all others, categories as codes."""
        return Views.of(X, by_level=self.schema_.nominal, left_out=self.schema_.left_out)

    def _ranked(self, values: FloatArray, by_level: Collection[int], given: ClassRows) -> tuple[Binarizer, RankedRows]:
        """The tests of ``values``, and the rows as ranks. ``values`` has no NaN; columns ``by_level`` hold codes."""
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
        given: ClassRows,
        scope: tuple[str, ...] = (),
    ) -> Posed[P]:
        columns, weights = given.kept(rows.kept)
        return Posed(problem, binarizer, columns, rows.codes, weights, scope)


def require_clear_majorities(rows: RankedRows, what: str) -> None:
    """Raise DataError if rounding of weights hides which label has the most weight in a group of equal rows.

    Parameters
    ----------
    rows : the training rows
    what : the parameter that needs these majorities, for the message
    """
    group = rows.unclear_majority
    if group is None:
        return
    index = rows.groups[0]
    members = np.flatnonzero(index == group)
    first = int(members[0])
    other = int(members[rows.codes[members] != rows.codes[first]][0])
    raise DataError(
        f"rows {rows.kept[first]} and {rows.kept[other]} are equal in all tests and have different labels. "
        f"{what} needs the label with more weight, but the values of sample_weight differ too much in size, or have "
        "too many digits, to decide it. Round sample_weight, for example to six digits, or drop the lighter rows."
    )
