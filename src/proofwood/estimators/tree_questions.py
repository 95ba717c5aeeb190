"""What can be asked of a tree of classes about every tree of its scope; answered in ``proofwood.questions``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy.typing as npt

from proofwood.estimators.fitted import model_of_fit

if TYPE_CHECKING:
    import proofwood


class TreeQuestions:
    """Methods that ask about every tree of the scope of a fit, for :class:`OptimalTreeClassifier`."""

    @property
    def _asked(self) -> proofwood.OptimalTreeClassifier:
        """The tree whose scope is asked about: of a cross-validation, that of the last fit."""
        return cast("proofwood.OptimalTreeClassifier", model_of_fit(self))

    def flip_cost(
        self,
        rows: Any,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        *,
        time_limit: float | None = 60.0,
    ) -> tuple[proofwood.Flip, ...]:
        """What it costs at least to decide each of some rows otherwise: how arbitrary these decisions are.

        For each row, the best tree of the fit's scope that gives it another class, with proof.

        Parameters
        ----------
        rows : rows to ask about, such as ``X[:3]``; of training or new ones
        X, y, sample_weight : as given to :meth:`fit`, for a model does not keep them
        time_limit : seconds for all rows together; None for no limit. Where it ends a search, the bound still holds

        Raises
        ------
        ValueError
            If the tree was not learned from errors, the rows are not those of the fit, or a row cannot be asked about.
        KeyboardInterrupt
            After Ctrl-C before the first row has its answer.

        Warns
        -----
        OptimalityWarning
            If Ctrl-C or the memory limit ended the searches: the answers are those of the first rows.
        """
        import proofwood  # start-up time; by its public name, since questions depend on estimators

        return proofwood.Flip.of(self._asked, rows, X, y, sample_weight, time_limit=time_limit)

    def population_bound(
        self, confidence: float = 0.95, *, rival: Any = None, X_test: Any = None, y_test: Any = None
    ) -> proofwood.PopulationBound:
        """How often every tree of the fit's scope is wrong at least on new rows, with a confidence.

        The least number of training errors, or its proved bound, is below the errors of *every* tree, so also of that
        which is best for the population; exact binomial limits follow. It is assumed that the training rows were drawn
        independently from the population, and that the depth was chosen without a look at them. Nothing is said of how
        good this tree, or the best one, is for new rows.

        Parameters
        ----------
        confidence : probability that all of the answer holds, from 0.5 to less than 1
        rival : fitted model to compare with, such as a forest; it must not know the test rows
        X_test, y_test : test rows and their labels

        Raises
        ------
        ValueError
            If the scope depends on the rows that were drawn (pooled levels, a least number of rows per leaf, a size
            that was chosen by cross-validation), or rows have weights; the message says what to do.
        """
        import proofwood  # start-up time; as above

        return proofwood.PopulationBound.of(self._asked, confidence, rival=rival, X_test=X_test, y_test=y_test)

    def carry_over(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        *,
        before: proofwood.RowFingerprints | tuple[Any, ...],
    ) -> proofwood.CarriedBound:
        """How far this tree can be from the optimum of a table that has changed, without a fit.

        Rows that were added never lower the bound of the fit; a row that was removed, or has another label, lowers it
        by at most its weight.

        Parameters
        ----------
        X, y, sample_weight : all rows of now, with those of the fit that are still there
        before : the rows of the fit, ``(X, y)`` or ``(X, y, sample_weight)``, or their :meth:`fingerprints`

        Raises
        ------
        ValueError
            If the objective is not one of errors, classes are balanced, leaves have a minimum, or ``before`` holds
            other rows than those of the fit.
        """
        import proofwood  # start-up time; as above

        return proofwood.CarriedBound.of(self._asked, X, y, sample_weight, before=before)

    def fingerprints(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> proofwood.RowFingerprints:
        """Digests of the training rows, to be kept for :meth:`carry_over` in place of the rows.

        Parameters
        ----------
        X, y, sample_weight : as given to :meth:`fit`
        """
        import proofwood  # start-up time; as above

        return proofwood.RowFingerprints.of(self._asked, X, y, sample_weight)
