"""The methods of a fitted model that need no engine: leaves, texts and pictures, exports, saving."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from proofwood.arguments import is_integer, one_row
from proofwood.data.columns import Column
from proofwood.data.frames import as_dense, is_frame
from proofwood.data.schema import Schema, new_table
from proofwood.data.thresholds import ThresholdRule
from proofwood.estimators import reporting
from proofwood.estimators.exporting import Exporting
from proofwood.estimators.input import new_rows
from proofwood.estimators.like_sklearn import LikeSklearn
from proofwood.estimators.model_hints import reading_hints
from proofwood.estimators.saved_schema import hints_of, hints_to_save, schema_of, schema_to_save, target_of
from proofwood.estimators.tested_columns import TestedColumn, tested_of, tested_to_save, weighted_of
from proofwood.estimators.validation import Validation
from proofwood.hints import Hint
from proofwood.jobs import this_run
from proofwood.language import ENGLISH, ngettext
from proofwood.model import evaluate
from proofwood.model.node_table import FloatArray, IntArray, NodeTable
from proofwood.result import Part, Result
from proofwood.show.labels import Labels
from proofwood.show.text import explain_path, export_text

if TYPE_CHECKING:
    import proofwood

NOT_SAVED = frozenset({"callback", "checkpoint"})
"""Parameters that are not saved: functions, and files of a fit. A loaded model has their defaults."""
AS_SET = frozenset({"time_limit", "memory_limit", "n_jobs", "verbose", "callback", "checkpoint", "unseen"})
"""Parameters that say how a search runs, or new rows are read, and nothing about a fit: those that are set count."""


class FittedModel(LikeSklearn, Exporting, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """The methods of an estimator that has a model and a result, whether it was fitted or loaded from a file.

    A learner is a subclass. It sets the attributes below and may override the texts.
    """

    # fitted
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]
    schema_: Schema
    hints_: tuple[Hint, ...]
    validation_: Validation | None = None
    target_name_: str | None = None
    model_: NodeTable
    result_: Result
    loaded_: bool

    unseen: str  # a parameter of every learner

    _tested: Mapping[int, TestedColumn] = MappingProxyType({})  # empty if the model comes from a file without them
    _weighted: bool | None = None  # whether rows had weights other than 1; None from a file that does not say
    _proved_in = ""  # the run of the fit, see :func:`proofwood.jobs.this_run`; pickles of earlier versions have none
    _fitted_with: Mapping[str, Any] = MappingProxyType({})  # the parameters of the fit
    _several_targets = False  # whether a row has several targets
    _dashed = False  # whether pictures draw the edges of tests that hold (0-edges) dashed

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        # A copy inside of a run, or a model that a worker sends back, was proved in this run; a pickle of another run
        # claims what was proved, as a model file does (decisions/0090-what-a-report-knows).
        if hasattr(self, "model_") and self._proved_in != this_run():
            self.loaded_ = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        # Text and categories are accepted too, but with the tags for them scikit-learn's checks would round their data.
        return tags

    # ----------------------------------------------------------------------------------------- words of the learner

    @property
    def _cross_validated(self) -> str:
        """The learner that chooses the size of such a model by cross-validation; "" if there is none."""
        return ""

    @abstractmethod
    def _claim(self) -> str:
        """The statement that status "optimal" proves, in words, such as "no tree of depth at most 3 costs less"."""

    def _keep_parameters(self) -> None:
        """Keep the parameters of this fit for :meth:`_as_fitted`."""
        self._fitted_with = {k: v for k, v in self.get_params(deep=False).items() if k not in AS_SET}

    def _as_fitted(self) -> Self:
        """The model with the parameters of its fit: what was set since says nothing about it."""
        changed = {name: value for name, value in self._fitted_with.items() if getattr(self, name) is not value}
        if not changed:
            return self
        fitted = copy(self)
        fitted.__dict__.update(changed)
        return fitted

    def _restore_answers(self, answers: npt.NDArray[Any] | None) -> None:
        """Set the attributes behind :meth:`_answers` from a file."""
        if answers is not None:
            raise ValueError(f"{type(self).__name__} predicts numbers, but the file has labels")

    @abstractmethod
    def _fit_text(self) -> str:
        """How well the model fits its training rows, in words."""

    @abstractmethod
    def _model_notes(self) -> list[Hint]:
        """Hints about what the model predicts."""

    @abstractmethod
    def _coloured_rows(self, X: Any, y: Any, name: str) -> tuple[FloatArray, IntArray]:
        """Rows as numbers, and the code of the colour of each, see :mod:`proofwood.show.colouring`.

        Parameters
        ----------
        X, y : rows and their targets
        name : what messages call the targets
        """

    def _flow(self) -> FloatArray | None:
        """(n_nodes, 2) training weight on both edges of each node, for a diagram that is drawn in layers; else None."""
        return None

    def _read(self, X: Any) -> Any:
        """New rows as numbers, with the level codes of the training data."""
        return new_table(as_dense(X), self.schema_, unseen=self.unseen)

    def _told_parts(self, result: Result) -> tuple[Part, ...]:
        """The parts of a result that the user asked for."""
        return result.parts

    def _size(self) -> str:
        """The size of the model as a text."""
        return ngettext("%(n)s leaf", "%(n)s leaves", self.model_.n_leaves)

    def _facts(self) -> list[tuple[str, str]]:
        """More lines for the summary of the fitted model, as pairs of a short name and a text."""
        return []

    def _parameters_to_save(self) -> dict[str, Any]:
        """The parameters as plain values."""
        return dict(self.get_params(deep=False))

    @classmethod
    def _parameters_from(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        """Restore the parameters from :meth:`_parameters_to_save`; ValueError if this version does not know them.

        A file without ``threshold_rule`` is from a version that always used midpoints.
        """
        return {"threshold_rule": str(ThresholdRule.MIDPOINT), **saved}

    def _columns_to_save(self) -> dict[str, Any]:
        """The description of the columns for a model file, as plain values."""
        edges = {} if self._low_weight is None else {"low_weight": self._low_weight.tolist()}
        more: dict[str, Any] = {}
        if self.validation_ is not None:
            more["validation"] = self.validation_.to_dict()
        if self.target_name_ is not None:
            more["target"] = self.target_name_
        if self._weighted is not None:
            more["weighted"] = self._weighted
        more |= tested_to_save(self._tested)
        return {**schema_to_save(self.schema_), **hints_to_save(self.hints_), **more, **edges}

    def _restore_columns(self, saved: Mapping[str, Any]) -> None:
        """Set the attributes that :meth:`_columns_to_save` wrote."""
        self.schema_ = schema_of(saved, self.n_features_in_, getattr(self, "feature_names_in_", None))
        self.hints_ = hints_of(saved)
        self.target_name_ = target_of(saved)
        self._tested = tested_of(saved, self.n_features_in_)
        self._weighted = weighted_of(saved)
        self.validation_ = Validation.from_dict(saved["validation"]) if "validation" in saved else None
        if "low_weight" in saved:
            self._low_weight = np.array(saved["low_weight"], dtype=np.float64)

    @property
    def _has_weights(self) -> bool:
        """Whether training rows had weights other than 1; of an old file, as far as the sums of weights show it."""
        return bool(self._weighted) or not np.array_equal(self.model_.weight.sum(axis=1), self.model_.rows)

    @property
    def categories_(self) -> dict[int, Column]:
        """The categorical columns by index, each with its levels and whether they are ordered."""
        return self.schema_.categories

    # ---------------------------------------------------------------------------------------------------- leaves

    def apply(self, X: Any) -> IntArray:
        """(n_samples,) index in ``model_`` of the leaf that each row ends in."""
        X = self._rows(X)
        return evaluate.apply(self.model_, X)

    def decision_path(self, X: Any) -> Any:
        """(n_samples, n_nodes) sparse CSR matrix, 1 if the row passes through the node of ``model_``, else 0."""
        X = self._rows(X)
        return evaluate.decision_path(self.model_, X)

    def _rows(self, X: Any) -> FloatArray:
        """Finite float64 columns of new rows, checked against the names and number of the training columns."""
        check_is_fitted(self)
        return new_rows(self, X, self._read)

    # ------------------------------------------------------------------------------------------------------ show

    def summary(self) -> str:
        """A text of two lines: the model with its training errors, and what is proved in how much time.

        Some learners add lines. "Proved optimal" is a claim about all models of the shape on the table. If the search
        did not consider every test, the text adds "for these tests" and says which tests they are.
        """
        check_is_fitted(self)
        fitted = self._as_fitted()
        if fitted is not self:
            return fitted.summary()
        more = [f"{name}: {text}" for name, text in self._facts()]
        if self.validation_ is not None:
            told = "claimed when the file was written: " if getattr(self, "loaded_", False) else ""
            more.append(f"new rows: {told}{self.validation_}")
        more += [f"note: {hint}" for hint in self.notes()]
        proof = self._proof_or_claim()
        if getattr(self, "loaded_", False):
            more.append("to check the claim, fit again on the training data")
        return "\n".join([self._describe_model(), proof, *more])

    def notes(self) -> list[Hint]:
        """Hints about the fitted model: classes that it never predicts, a useless tree, leaves of few rows, and values
        that it reads as missing.
        """
        check_is_fitted(self)
        return [*self._as_fitted()._model_notes(), *reading_hints(self.model_, self.schema_.columns)]

    def export_text(self, *, X: Any = None, ascii_only: bool = False) -> str:
        """The model as a text tree of rules, one line per node. The rules decide every row as ``predict`` does.

        Parameters
        ----------
        X : not used; accepted so that calls written for earlier versions still work
        ascii_only : whether to draw with ASCII characters only
        """
        check_is_fitted(self)
        return export_text(self.model_, self._names(), ascii_only=ascii_only)

    def export_graphviz(self) -> str:
        """The model in the DOT language of Graphviz."""
        check_is_fitted(self)
        # Start-up time: few models are drawn.
        from proofwood.show.graphviz import export_graphviz

        return export_graphviz(self.model_, self._names(), dashed=self._dashed)

    def explain(self, x: Any) -> str:
        """A text that explains the prediction for one row: the tests on its path, and the training rows in its leaf.

        Parameters
        ----------
        x : (n_features,) one row, or a frame of one row
        """
        one_row(x)
        rows = self._rows(x if is_frame(x) or isinstance(x, Mapping) else np.reshape(np.asarray(x), (1, -1)))
        if rows.shape[0] != 1:
            raise ValueError(f"x has {rows.shape[0]} rows: expected one row")
        return explain_path(self.model_, rows[0], self._names())

    def plot(
        self,
        ax: Any = None,
        *,
        X: Any = None,
        y: Any = None,
        figsize: tuple[float, float] | None = None,
        title: str | None = None,
        palette: Any = None,
        legend: bool = True,
        proof: bool = True,
    ) -> Any:
        """Draw the model with matplotlib, and return the axes.

        Parameters
        ----------
        ax : axes to draw on; None makes a new figure
        X, y : rows and their targets, such as those of training: boxes then show how the rows at them are spread over
            the tested column. Rows have the colour of their class, of their best action, or of the leaf whose number
            is nearest to theirs. Diagrams that are drawn in layers do not show it
        figsize : width and height of a new figure in inches; text shrinks to fit
        title : line above the picture
        palette : list of colours in the order of ``classes_``, or dict from label to colour; for numbers a list of
            colours from the least to the greatest
        legend : whether to show a legend; with many classes it has the ten that are predicted most
        proof : whether to write below the picture what is proved
        """
        # Start-up time: likewise.
        from proofwood.estimators import pictures

        more = {"figsize": figsize, "title": title, "palette": palette, "legend": legend}
        return pictures.draw(self._as_fitted(), ax, X, y, proof=proof, **more)

    def plot_trace(
        self, ax: Any = None, *, figsize: tuple[float, float] | None = None, title: str | None = None
    ) -> Any:
        """Draw objective and lower bound over time with matplotlib, and return the axes.

        Parameters
        ----------
        ax : axes to draw on; None makes a new figure
        figsize : width and height of a new figure in inches
        title : line above the picture
        """
        check_is_fitted(self)
        # Start-up time: likewise.
        from proofwood.show.trace import plot_trace

        return plot_trace(self.result_, ax, figsize=figsize, title=title)

    def _repr_html_inner(self) -> str:
        """The HTML for a notebook: scikit-learn's box of parameters, then the picture and the proof."""
        # Start-up time: likewise.
        from proofwood.estimators import pictures

        return f"{super()._repr_html_inner()}{pictures.notebook(self)}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        shown: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown:
            # Start-up time: likewise.
            from proofwood.estimators import pictures

            shown["text/html"] += pictures.notebook(self._as_fitted())
        return shown

    def report(self, path: str | os.PathLike[str], X: Any, y: Any, **options: Any) -> None:
        """Write a report about the model into one HTML file, with :func:`proofwood.write_report`.

        Parameters
        ----------
        path : file to write
        X, y : training rows and their labels
        options : options of :func:`proofwood.write_report`
        """
        import proofwood  # start-up time; by its public name, since reports depend on estimators

        proofwood.write_report(self, path, X, y, **options)

    def drift(
        self,
        X_new: Any,
        y_new: Any = None,
        *,
        expected_error: float | None = None,
        false_alarms: float = 0.01,
        tolerance: float = 0.0,
        language: str = ENGLISH,
    ) -> proofwood.Drift:
        """Compare new rows with the training rows, by what the model keeps of these.

        Parameters
        ----------
        X_new : new rows, with at least the columns that the model tests
        y_new : their labels, or the name of the column of labels; None if they are not known
        expected_error, false_alarms, tolerance, language : as in :meth:`proofwood.Drift.of`
        """
        import proofwood  # start-up time; by its public name, since drift depends on estimators

        return proofwood.Drift.of(
            self,
            X_new,
            y_new,
            expected_error=expected_error,
            false_alarms=false_alarms,
            tolerance=tolerance,
            language=language,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to ``path`` as JSON; :func:`proofwood.load` reads it back as an estimator.

        The parameters ``callback`` and ``checkpoint`` are not saved.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        # Start-up time: not every model is saved.
        from proofwood.estimators import storage

        saved = storage.SavedModel(
            table=self.model_,
            classes=self._answers,
            n_features=self.n_features_in_,
            feature_names=None if names is None else tuple(str(name) for name in names),
            columns=self._columns_to_save(),
            estimator=type(self).__name__,
            parameters={k: v for k, v in self._as_fitted()._parameters_to_save().items() if k not in NOT_SAVED},
            result=self.result_,
        )
        storage.save(saved, path)

    def _names(self) -> Labels:
        """The names of columns, levels and classes for texts and pictures."""
        names = getattr(self, "feature_names_in_", None)
        features = None if names is None else tuple(str(name) for name in names)
        return Labels(
            features=features,
            classes=self._answers,
            levels={j: column.levels for j, column in self.categories_.items() if column.levels},
            kinds={j: column.shown_as for j, column in enumerate(self.schema_.columns)},
            gaps=self.schema_.gaps,
            zones={j: column.zone for j, column in enumerate(self.schema_.columns) if column.zone is not None},
            target=self.target_name_,
            units={j: column.unit for j, column in enumerate(self.schema_.columns) if column.unit},
            answers=self._answers_in_words(),
            loss=self._loss_in_words(),
        )

    def _answers_in_words(self) -> Mapping[int, str]:
        """What leaves predict in words, by node, if that is more than their number."""
        return {}

    def _loss_in_words(self) -> str | None:
        """Name of what leaves of numbers cost; None for squared error, and for models of classes."""
        return None

    def _describe_model(self) -> str:
        return reporting.model_line(self.model_, self._size(), self._fit_text())

    def _proof_or_claim(self) -> str:
        """A text that says what is proved; for a loaded model, what its file claims."""
        if getattr(self, "loaded_", False):  # a file can claim anything
            return f"claimed when the file was written: {self._describe_proof()}"
        return self._describe_proof()

    def _describe_proof(self) -> str:
        return reporting.proof_line(self.result_, parts=self._told_parts(self.result_), permitted=self._permitted_gap())

    def _permitted_gap(self) -> float:
        """The gap that the user permits, in the unit of the result."""
        gap = getattr(self, "max_gap", 0)
        table = self.model_
        whole = float(table.weight[0].sum()) if table.loss is None else float(table.loss[0])
        return float(gap) if is_integer(gap) and table.loss is None else float(gap * whole)


def model_of_fit(model: Any) -> Any:
    """The model that is asked about, with the parameters of its fit; an object of another library as it is.

    Parameters
    ----------
    model : fitted; of a cross-validation, the model of its last fit is asked about
    """
    asked = getattr(model, "best_estimator_", model)
    return asked._as_fitted() if isinstance(asked, FittedModel) else asked
