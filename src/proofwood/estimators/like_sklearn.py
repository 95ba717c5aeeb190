"""Methods of scikit-learn's trees for a fitted model, and its conversion into such a tree."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from proofwood.data.kinds import CATEGORIES, MOMENTS, Kind
from proofwood.data.schema import Schema
from proofwood.model.convert import Sets, to_sklearn
from proofwood.model.evaluate import importances, low_weights_of_tree
from proofwood.model.node_table import OBLIQUE, FloatArray, NodeTable
from proofwood.model.thresholds import PrecisionError

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor


class LikeSklearn:
    """Methods of a fitted model: depth, leaves, importances, conversion to scikit-learn."""

    # fitted
    n_features_in_: int
    schema_: Schema
    model_: NodeTable

    @property
    @abstractmethod
    def _answers(self) -> npt.NDArray[Any] | None:
        """(n_labels,) what the labels of leaves stand for; None if leaves predict numbers."""

    _low_weight: FloatArray | None = None  # for diagrams: weight per class on the low edge of each node, if known

    @abstractmethod
    def _rows(self, X: Any) -> FloatArray:
        """Rows as numbers, with the level codes of the training data."""

    def get_depth(self) -> int:
        """Most tests on a path from the root to a leaf; a lone leaf has depth 0."""
        check_is_fitted(self)
        return self.model_.depth

    def get_n_leaves(self) -> int:
        """The number of leaves. A diagram has one for each class that it predicts, or a few more."""
        check_is_fitted(self)
        return self.model_.n_leaves

    @property
    def feature_importances_(self) -> FloatArray:
        """(n_features,) share of each column in the decrease of impurity, as in scikit-learn's trees: of the Gini
        impurity for classes, else of what the tree minimises.

        They sum to 1, or are all 0 if the model is a single leaf. The decrease at a node is its training weight times
        its impurity, minus the same product for each child. A shared node of a diagram counts once, with all rows that
        reach it. The importances describe the fitted model only: another optimal model may use other columns.

        Raises
        ------
        AttributeError
            If the model tests weighted sums, which belong to no single column.
        """
        check_is_fitted(self)
        if np.any(self.model_.feature == OBLIQUE):
            raise AttributeError(
                "feature_importances_ is not defined for tests on weighted sums of columns: look at the coefficients "
                "in export_text(), or fit with splits='univariate'"
            )
        return importances(self.model_, self.n_features_in_, self._known_low_weight("feature_importances_"))

    @property
    def tested_columns_(self) -> npt.NDArray[Any]:
        """(n_tested,) names of the columns that the model tests, in the order of the table; indices without names."""
        check_is_fitted(self)
        tested = np.array(sorted(self.model_.tested_columns), dtype=np.int64)
        names = getattr(self, "feature_names_in_", None)
        return tested if names is None else np.asarray(names[tested])

    def _known_low_weight(self, what: str) -> FloatArray:
        if self.model_.is_tree:
            return low_weights_of_tree(self.model_)
        if self._low_weight is None:
            raise AttributeError(
                f"{what} needs the weights on the edges of the diagram, which the model file of an earlier version "
                "does not have: fit and save the model again"
            )
        return self._low_weight

    def to_numbers(self, X: Any) -> FloatArray:
        """(n_samples, n_features) float64: the rows in the numbers that the model uses.

        Text becomes the code of its level in ``schema_``, or the number of levels if training did not have it. A date
        becomes days since 1970, a moment microseconds since 1970, and a missing value NaN. Pass these numbers to models
        that accept only numbers, such as those of :meth:`to_sklearn`.
        """
        return self._rows(X)

    def to_sklearn(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        sets: Sets = "columns",
    ) -> DecisionTreeClassifier | DecisionTreeRegressor | Pipeline:
        """Return a fitted scikit-learn ``DecisionTreeClassifier`` with the same predictions.

        A model of numbers becomes a ``DecisionTreeRegressor``. The actions of a policy become classes, and that of a
        leaf has probability 1 there.

        If the model tests sets of levels, it is a ``Pipeline``: the first step adds a column of 0 and 1 for each tested
        set (by a ``TargetEncoder``), the last step is the tree, which has as many nodes as the model. For tools that
        want a test of one column of the table at each node, such as SHAP, ``sets="thresholds"`` gives a tree alone: a
        set becomes thresholds over codes, one for each run of codes, with copies of all below, which may be a thousand
        times more nodes.

        The input is the array that :meth:`to_numbers` returns. Like all trees of scikit-learn, it rounds numbers to
        float32. Its predictions are the same for every row of numbers that float32 represents exactly. If ``X`` is
        given, thresholds are moved if necessary, so that predictions are the same for these rows too. Probabilities are
        the same, except in leaves where two classes have equal weight: there the predicted class has probability 1.

        A diagram is unrolled into a tree, in which a shared node occurs more than once. If ``X`` and ``y`` are given,
        the rows at each copy are counted, else they are divided evenly. SHAP values depend on these counts, predictions
        do not.

        Parameters
        ----------
        X : training rows, as given to ``fit``, or None
        y, sample_weight : targets and weights of these rows, to count the weight that reaches each node
        sets : ``"columns"`` or ``"thresholds"``

        Raises
        ------
        ValueError
            If ``sets`` is something else, the model tests weighted sums, or two values that it separates are equal in
            float32.
        """
        check_is_fitted(self)
        if sets not in get_args(Sets):
            raise ValueError(f"sets={sets!r}: expected one of {', '.join(map(repr, get_args(Sets)))}")
        if y is not None and X is None:
            raise ValueError("to_sklearn has y, but no X: pass the training rows and their labels, to_sklearn(X, y)")
        names = getattr(self, "feature_names_in_", None)
        codes = weights = values = None
        if X is None:
            self._require_few_digits()
        elif y is None:
            values = self._rows(X)
        else:
            rows = self._read_again(X, y, sample_weight)
            values, codes, weights = rows.columns, rows.codes, rows.weights
        diagram = not self.model_.is_tree and codes is None and not np.any(self.model_.feature == OBLIQUE)
        made = to_sklearn(
            self.model_,
            self._answers,
            n_features=self.n_features_in_,
            feature_names=None if names is None else [str(name) for name in names],
            low_weight=self._known_low_weight("to_sklearn() without X and y") if diagram else None,
            X=values,
            codes=codes,
            sample_weight=weights,
            sets=sets,
        )
        if any(column.kind in (*CATEGORIES, *MOMENTS) for column in self.schema_.columns):
            vars(made).pop("feature_names_in_", None)  # it gets arrays from to_numbers, which have no column names
        return made

    @abstractmethod
    def _read_again(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None) -> Any:
        """Rows with their target as the fitted model reads them: ``columns``, ``codes`` of classes and ``weights``."""

    def _require_few_digits(self) -> None:
        """Raise PrecisionError if the model tests moments, since rounding cannot be checked without rows."""
        for column in sorted(set(self.model_.feature.tolist())):
            kind = self.schema_.columns[column].kind if 0 <= column < len(self.schema_.columns) else None
            if kind is Kind.MOMENT:
                raise PrecisionError(
                    f"column {self.schema_.columns[column].name!r} has dates with a time, in microseconds, and "
                    "scikit-learn's trees round them to float32, which is about two minutes: pass the training rows, "
                    "to_sklearn(X), so that the thresholds separate these rows, or export the model with "
                    "to_python(), to_c() or to_sql()"
                )
