"""What classifiers over 0/1 tests share: categories in tables, binarizing, and bringing models back to the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from proofwood.data.binarize import Binarizer, check_max_thresholds
from proofwood.data.columns import Columns, is_frame, read_columns
from proofwood.data.kinds import Kind
from proofwood.estimators.base import ProvedClassifier
from proofwood.estimators.input import numbers_of
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
    """

    problem: P
    binarizer: Binarizer
    X: FloatArray
    codes: IntArray
    weights: FloatArray


@dataclass(frozen=True, slots=True)
class Category:
    """A column of categories.

    Parameters
    ----------
    texts : text of each level code, or None where the codes are the values of the column
    ordered : whether the order of the codes means something, so that thresholds make sense
    """

    texts: tuple[str, ...] | None
    ordered: bool = False


class ClassifierOverTests(ProvedClassifier):
    """A classifier whose engine sees 0/1 tests: thresholds of ordered columns, one test per level of the others."""

    max_thresholds: int | None
    categories_: dict[int, Category]

    # ------------------------------------------------------------------------------------------------------- input

    def _read(self, X: Any, *, fitting: bool) -> Any:
        categories = {} if fitting else self.categories_
        texts = {column: category.texts for column, category in categories.items() if category.texts is not None}
        columns = _columns(X, texts)
        if columns is None:
            if texts:
                column = min(texts)
                raise DataError(
                    f"column {column} held text when the model was fitted (such as {texts[column][0]!r}), and X holds "
                    "numbers: pass a frame with the columns of the training data, or an array of the same texts"
                )
            values = numbers_of(X)
        else:
            values = columns.values
        if fitting:
            self.categories_ = _categories(columns, values, getattr(self, "categorical_features", None))
        return values

    def _binarized(
        self, X: FloatArray, codes: IntArray, n_classes: int, sample_weight: FloatArray | None
    ) -> tuple[Binarizer, RankedRows]:
        """The tests that tell rows of positive weight apart, and these rows as ranks.

        Raises
        ------
        OutOfTime
            If the time limit of a fit comes before they are made.
        """
        return RankedRows.with_tests(
            X,
            {column for column, category in self.categories_.items() if not category.ordered},
            codes,
            n_classes=n_classes,
            sample_weight=sample_weight,
            max_thresholds=check_max_thresholds(self.max_thresholds),
            deadline=self._deadline,
        )

    def _posed(
        self, problem: P, binarizer: Binarizer, rows: RankedRows, X: FloatArray, sample_weight: FloatArray | None
    ) -> Posed[P]:
        weights = np.ones(X.shape[0]) if sample_weight is None else sample_weight
        if rows.n_rows < X.shape[0]:
            X, weights = X[rows.kept], weights[rows.kept]
        return Posed(problem, binarizer, X, rows.codes, weights)

    @property
    def _limited(self) -> bool:
        """Whether thresholds were left out, so that the answer is optimal for the tests that were kept."""
        return self.max_thresholds is not None

    def _scope(self) -> str:
        return " for these tests" if self._limited else ""

    # ------------------------------------------------------------------------------------------------------- saving

    def _columns_to_save(self) -> dict[str, Any]:
        if not self.categories_:
            return {}
        return {
            "categories": {
                str(column): {"texts": None if c.texts is None else list(c.texts), "ordered": c.ordered}
                for column, c in self.categories_.items()
            }
        }

    def _restore_columns(self, saved: Mapping[str, Any]) -> None:
        for column, entry in saved.get("categories", {}).items():
            texts = entry["texts"]
            if not 0 <= int(column) < self.n_features_in_:
                raise ValueError(f"categories names column {column!r}, and there are {self.n_features_in_}")
            if texts is not None and (
                not isinstance(texts, (list, tuple))
                or not all(isinstance(text, str) for text in texts)
                or len(set(texts)) < len(texts)
            ):
                raise ValueError(f"categories of column {column!r} are no distinct texts")
        self.categories_ = {
            int(column): Category(None if entry["texts"] is None else tuple(entry["texts"]), bool(entry["ordered"]))
            for column, entry in saved.get("categories", {}).items()
        }

    def _level_texts(self) -> Mapping[int, tuple[str, ...]]:
        return {column: category.texts for column, category in self.categories_.items() if category.texts is not None}


def require_clear_majorities(rows: RankedRows, what: str) -> None:
    """Refuse rows that no test tells apart, of different labels, whose heaviest label depends on rounded weights.

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


def _columns(X: Any, texts: Mapping[int, tuple[str, ...]]) -> Columns | None:
    """``X`` with the meaning of its columns, if it is a frame or holds text; None if it is a table of numbers."""
    if is_frame(X):
        names = [str(name) for name in X.columns]
        return read_columns(X, levels={names[column]: levels for column, levels in texts.items()})
    try:
        array = np.asarray(X, dtype=object if isinstance(X, (list, tuple)) else None)
    except ValueError:
        return None  # ragged: an error says so where numbers are checked
    if array.ndim != 2 or array.dtype.kind not in "OUST" or not any(map(_is_text, array.T)):
        return None
    levels = {f"x{column}": known for column, known in texts.items() if column < array.shape[1]}
    return read_columns(array.astype(object), levels=levels)


def _is_text(values: npt.NDArray[Any]) -> bool:
    """Whether a column holds text that is no number."""
    for value in values.tolist():
        if isinstance(value, (str, bytes)):
            try:
                float(value)
            except ValueError:
                return True
    return False


def _categories(columns: Columns | None, values: Any, declared: Any) -> dict[int, Category]:
    """The columns of categories: those of text, those a frame declares, and those ``categorical_features`` names."""
    found: dict[int, Category] = {}
    for j, column in enumerate(() if columns is None else columns.columns):
        if column.kind in (Kind.NOMINAL, Kind.ORDERED):
            found[j] = Category(column.levels, column.kind is Kind.ORDERED)
    if declared is None:
        return found
    shape = np.shape(values)
    n_features = shape[1] if len(shape) == 2 else 0
    names = () if columns is None else columns.names
    for j in _declared(declared, n_features, names):
        if j in found:
            found[j] = Category(found[j].texts)
            continue
        given = np.asarray(values)[:, j].astype(np.float64)
        bad = given[~np.isnan(given) & ((given < 0) | (given != np.floor(given)) | (given > 2**31))]
        if bad.size:
            raise DataError(
                f"column {names[j] if names else j!r} is declared categorical and holds {bad[0]:g}: expected whole "
                "numbers from 0 as codes, or text. Turn the values into text, for example with .astype(str)."
            )
        found[j] = Category(None)
    return dict(sorted(found.items()))


def _declared(declared: Any, n_features: int, names: Sequence[str]) -> list[int]:
    """Indices that ``categorical_features`` names: indices, names, or a mask."""
    what = "expected indices or names of columns, or one boolean per column, or None"
    if isinstance(declared, (str, bytes)) or not np.iterable(declared):
        raise ValueError(f"categorical_features={declared!r}: {what}")
    given = list(declared)
    if given and all(isinstance(item, (bool, np.bool_)) for item in given):
        if len(given) != n_features:
            raise ValueError(f"categorical_features is a mask of {len(given)} values for {n_features} columns: {what}")
        return [j for j, item in enumerate(given) if item]
    indices = []
    for item in given:
        if isinstance(item, str) and item in names:
            indices.append(names.index(item))
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool) and -n_features <= item < n_features:
            indices.append(int(item) % n_features)
        else:
            there = f"the columns are {', '.join(names)}" if names else f"there are {n_features} columns, without names"
            raise ValueError(f"categorical_features names {item!r}, but {there}: {what}")
    return indices
