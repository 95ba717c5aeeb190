"""Learners of trees whose leaves predict numbers: what the targets of their rows are, and how well they fit."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.data.number_targets import TargetNumbers, target_numbers
from proofwood.data.table_hints import number_hints
from proofwood.estimators.base import TrainingRows
from proofwood.estimators.input import features_and_labels, row_weights
from proofwood.estimators.model_hints import small_leaves
from proofwood.estimators.saved_schema import target_forms_of
from proofwood.estimators.tree_learner import TreeLearner
from proofwood.hints import Hint
from proofwood.language import gettext, ngettext, number
from proofwood.model import evaluate
from proofwood.model.node_table import LEAF, FloatArray, IntArray, NodeTable
from proofwood.problem.targets import SumTarget
from proofwood.problem.tree import TreeProblem


@dataclass(frozen=True, eq=False)
class NumberRows(TrainingRows):
    """Training rows with numbers.

    Parameters
    ----------
    columns, weights : as in the base class
    targets : (n_rows, k) finite numbers, as the problem of the tree takes them
    ordered : (n_rows, j) numbers whose means order the levels of a column
    """

    targets: FloatArray
    ordered: FloatArray

    @property
    def codes(self) -> IntArray:
        """(n_rows,) zeros: rows have no class."""
        return np.zeros(self.n_rows, dtype=np.int64)

    @property
    def n_classes(self) -> int:
        """1: rows have no class."""
        return 1

    def means(self, rows: IntArray, levels: IntArray, n_levels: int) -> tuple[FloatArray, FloatArray]:
        """See the base class: means of ``ordered``, scaled to at most 1."""
        largest = float(np.abs(self.ordered).max(initial=0.0))
        numbers = self.ordered / (largest or 1.0)
        weights = self.real_weights[rows]
        weights = weights / weights.max(initial=0.0)  # of a scale at which sums stay finite
        sums = np.zeros((n_levels, numbers.shape[1]))
        np.add.at(sums, levels, numbers[rows] * weights[:, None])
        weight = np.bincount(levels, weights, n_levels).astype(np.float64)
        return sums / np.where(weight > 0, weight, 1.0)[:, None], weight


class NumberLearner(TreeLearner[NumberRows]):
    """A learner of trees whose leaves predict numbers."""

    _predicts_means = True  # whether a leaf predicts means over its rows by weight
    _has_labels = False
    target_forms_: tuple[str, ...] = ()

    @property
    @abstractmethod
    def _kind(self) -> type[SumTarget]:
        """The target of the problem."""

    @abstractmethod
    def _rows_of(self, target: npt.NDArray[Any]) -> tuple[FloatArray, FloatArray]:
        """``targets`` and ``ordered`` of :class:`NumberRows`, from a target that scikit-learn has checked."""

    def _shaped(self, numbers: FloatArray) -> FloatArray:
        """The numbers of a target as scikit-learn checks them; ValueError if they have another shape."""
        return numbers

    @property
    def _target_of(self) -> Reader:
        return self.to_targets

    @property
    def _training_target_of(self) -> Reader:
        return self._targets_of_training

    def to_targets(self, y: Any) -> FloatArray:
        """Numbers of new rows as the model reads them: text is read as it was in training.

        Parameters
        ----------
        y : (n_samples,) or (n_samples, k) numbers, or text that holds numbers
        """
        return self._shaped(target_numbers(y, name=self.target_name_, forms=self.target_forms_).values)

    def _targets_of_training(self, y: Any) -> FloatArray:
        """The target of ``fit``; sets how text is read, which ``hints_`` tell."""
        read: TargetNumbers = target_numbers(y, name=self.target_name_, beside=self.schema_.columns)
        self.target_forms_ = read.forms
        self.hints_ = (*read.hints, *self.hints_)
        return self._shaped(read.values)

    def _columns_to_save(self) -> dict[str, Any]:
        forms = {"target_forms": list(self.target_forms_)} if self.target_forms_ else {}
        return {**super()._columns_to_save(), **forms}

    def _restore_columns(self, saved: Mapping[str, Any]) -> None:
        super()._restore_columns(saved)
        self.target_forms_ = target_forms_of(saved)

    def _read_target(
        self, columns: FloatArray, target: npt.NDArray[Any], sample_weight: npt.ArrayLike | None, hints: list[Hint]
    ) -> NumberRows:
        none = np.zeros(columns.shape[0], dtype=np.int64)
        rows = NumberRows(columns, row_weights(None, sample_weight, none[:0], none), *self._rows_of(target))
        if self.schema_.by_name:
            hints += number_hints(rows.targets)
        return rows

    def _read_again(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None) -> NumberRows:
        X, y = features_and_labels(X, y, several=self._several_targets, labels=False)
        columns, target = self._rows(X), np.asarray(self._target_of(y))
        self._require_as_many(target, columns.shape[0], "y")
        return self._read_target(columns, target, sample_weight, [])

    def _require_as_many(self, targets: FloatArray, n_rows: int, name: str) -> None:
        """Raise ValueError unless there are targets, one for each row; ``name`` is what the message calls them."""
        if targets.shape[0] != n_rows or not n_rows:
            raise ValueError(f"{name} has {targets.shape[0]} targets for {n_rows} rows: expected one for each row")

    def _rows_and_targets(self, X: Any, y: Any, name: str = "y") -> tuple[FloatArray, FloatArray]:
        """Rows as numbers, and their targets, (n_rows, k) as the model reads them.

        Raises
        ------
        ValueError
            If there are no rows, or not as many targets as rows; ``name`` is what the message calls the targets.
        """
        X, y = features_and_labels(X, y, several=self._several_targets, labels=False)
        rows = self._rows(X)
        return rows, self._new_targets(y, rows.shape[0], name)

    def _new_targets(self, y: Any, n_rows: int, name: str) -> FloatArray:
        """(n_rows, k) targets of new rows; parameters and errors as in :meth:`_rows_and_targets`."""
        targets = self._rows_of(np.asarray(self.to_targets(y)))[0]
        self._require_as_many(targets, n_rows, name)
        return targets

    def _coloured_rows(self, X: Any, y: Any, name: str) -> tuple[FloatArray, IntArray]:
        rows, targets = self._rows_and_targets(X, y, name)
        return rows, self._nearest_answers(targets)

    @abstractmethod
    def _nearest_answers(self, targets: FloatArray) -> IntArray:
        """(n_rows,) code of the answer that suits the targets of each row best: that of its colour in pictures."""

    def _any_rows(self, X: FloatArray) -> NumberRows:
        n_targets = 1 if self._answers is None else self._answers.size
        return NumberRows(X, None, np.ones((X.shape[0], n_targets)), np.zeros((X.shape[0], 1)))

    def _tests_sets(self, given: NumberRows) -> bool:
        return False

    def _posed_rows(self, X: FloatArray, given: NumberRows, by_sets: Collection[int]) -> TreeProblem:
        return TreeProblem.by_sums(
            X,
            given.targets,
            self._kind,
            sample_weight=given.weights,
            deadline=self._deadline,
            **self._limits_of_trees,
        )

    def _model_notes(self) -> list[Hint]:
        return small_leaves(self.model_, self.get_params(deep=False))

    def _values(self, X: Any) -> FloatArray:
        """(n_samples, k) numbers of the leaf of each row."""
        assert self.model_.values is not None
        return self.model_.values[evaluate.apply(self.model_, self._rows(X))]

    def _less(self) -> str:
        return gettext("a smaller max_depth or a max_gap")


def explained(table: NodeTable) -> float:
    """The share of the cost of a single leaf that a tree avoids on its training rows: 1 if that is 0."""
    assert table.loss is not None
    alone, left = float(table.loss[0]), float(table.loss[table.feature == LEAF].sum())
    return 1.0 - left / alone if alone > 0 else 1.0


def rows_text(table: NodeTable) -> str:
    """The training rows of a model, in words."""
    return ngettext("%(n)s training row", "%(n)s training rows", int(table.rows[0]))


def signed(value: float) -> str:
    """A share of 1 with three digits."""
    return number(f"{value:.3f}")


def numbers_of(y: Any) -> FloatArray:
    """``y`` as float64 numbers; DataError if it does not hold finite numbers, or text of them."""
    return target_numbers(y).values


Reader = Callable[[Any], Any]
