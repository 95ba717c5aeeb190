"""Explain what a fitted model predicts: one object per model, one method per question.

The methods are thin: what they do is in :mod:`proofwood.explain.answers`, a file for each question.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from proofwood import arguments, memory
from proofwood.engines.run import Clock
from proofwood.ensembles.door import Admitted
from proofwood.ensembles.explained import Explained, explained
from proofwood.ensembles.space import Bounds, Group, Key
from proofwood.exceptions import OptimalityWarning
from proofwood.explain.answers.abductive import abductive
from proofwood.explain.answers.about_features import attribution, by_name, is_sufficient
from proofwood.explain.answers.contrastive import contrastive, counterfactual
from proofwood.explain.answers.diverse import counterfactuals
from proofwood.explain.answers.independence import Independence, independence
from proofwood.explain.answers.learned import Learned, learned
from proofwood.explain.answers.listing import Listing, enumeration_certificate, listing
from proofwood.explain.answers.possible import Possible, possible
from proofwood.explain.answers.robustness import Robustness, robustness
from proofwood.explain.answers.span import Range, span
from proofwood.explain.explanation import Explanation
from proofwood.explain.nearest.measure import Metric
from proofwood.explain.nearest.tariffs import Weights
from proofwood.explain.oracles.engines import ENGINES
from proofwood.explain.question import Engines, Question, read_one
from proofwood.explain.search import relevance
from proofwood.explain.search.attribution import Attribution
from proofwood.explain.search.extract import Kind
from proofwood.explain.shared_docs import documented
from proofwood.explain.table.batch import explain_rows
from proofwood.explain.table.records import Explanations

Features = Iterable[Key]
P = ParamSpec("P")
R = TypeVar("R")

MOST_KEPT = 8
"""Readings of the model, by missing values, integers and types of rows, of which an explainer keeps the engines."""


def _within_memory(method: Callable[P, R]) -> Callable[P, R]:
    """A method of :class:`Explainer` that keeps its memory limit, and warns if that ended a search."""

    @functools.wraps(method)
    def limited(*args: P.args, **options: P.kwargs) -> R:
        explainer = args[0]
        assert isinstance(explainer, Explainer)
        if memory.limited():  # one question that asks another
            return method(*args, **options)
        with memory.within(explainer.memory_limit):
            try:
                result = method(*args, **options)
            except MemoryError as error:
                explainer.forget()
                why = str(error) or "an allocation failed"
                raise memory.MemoryLimitError(
                    f"memory ended before {method.__name__} had an answer ({why}): raise memory_limit or the "
                    "limits of the process"
                ) from error
        if memory.lacked():
            explainer.forget()
            warnings.warn(
                "the memory limit ended the search: the explanation is the best found so far, as its status says. "
                "Raise memory_limit or the limits of the process for a complete one",
                OptimalityWarning,
                stacklevel=2,
            )
        return result

    return limited


class Explainer:
    """Formal explanations of the predictions of a fitted model.

    Parameters
    ----------
    model : fitted classifier or regressor: trees, forests, bagged or boosted trees of scikit-learn, XGBoost, LightGBM,
        CatBoost, and proofwood's own trees and diagrams; pipelines that end in one, and searches, votes, bags,
        thresholds and calibrations of them; the path of a file of trees in ONNX, or of XGBoost, LightGBM or CatBoost.
        Or what ``explained(model)`` gives
    target : of a regressor, what is asked of its numbers: ``(">=", 250_000)``, ``(">", v)``, ``("<=", v)``,
        ``("<", v)``, ``("between", low, high)``, ``("within", distance)`` of the row's own prediction, or a list
        of cuts between bands. Its answers are the classes: ``"at least 250000"`` and ``"below 250000"``
    confidence : of a classifier, the least probability that counts: rows where no class has it are ``"unsure"``, a
        class of its own, so that explanations keep the class and its probability
    vote : ``"auto"``: what the model predicts; ``"majority"``: the class that most trees predict, ties to the lowest
    feature_groups : from the name of a feature to its 0/1 columns, exactly one of which is 1; other kinds by ``Group``
    bounds : from columns to least and greatest values: what lies outside is not considered
    feature_names : names of the columns, where the model knows none
    integer : columns that hold integers only
    missing : columns in which a missing value is considered, beside those in which a row of ``X`` lacks one, and those
        in which the row (or the table) that is asked about does. Everywhere else every row of the space has a value
    knowledge : conditions that every possible row satisfies, as ``pandas.DataFrame.query`` takes them, such as
        ``"age >= 18 or job == 'student'"``; also ``"age < 18 -> income == 0"``. Rows that break one are not considered
    plausible : a fitted ``IsolationForest`` over the same columns, or a pipeline that ends with one; or a pair of one
        of these and the least score (as ``score_samples`` gives it) of a plausible row. Rows that it holds for outliers
        are not considered. Of rows that are outliers themselves only changes can be asked for
    X : rows on which the conversion is checked, beside random ones; a frame also says which columns are integers.
        CatBoost's columns of categories need rows in which all categories occur that its trees test
    output : of a model that predicts several targets (outputs, labels) at once: which of them, counted from 0. Without
        it such a model is refused, and the message names them
    engine : ``"auto"``, the package's own searches in turn; ``"cdcl"`` (learned clauses) or ``"messages"`` (bounds of
        a relaxation) alone; ``"paper"``, the SAT formula of RFxpl (majority votes, all other classes), a reference
    time_limit : seconds per explanation, None for no limit; an explanation that ran out of it says so in its status.
        Reading the model has no limit, and takes a second or two for a million nodes
    memory_limit : bytes that an explanation may add to the memory of the process, or a text such as "4GB"; None for
        80 % of what the process may still use. One that reached it says so in its status, as with the time, and in a
        warning; what the engine learned from earlier rows is forgotten then
    max_bytes : that the model of a file may take in memory, by what the file declares; 4 GiB by default

    Raises
    ------
    TypeError
        If the model is of no supported kind.
    ValueError
        If an argument does not fit the model, the engine or the others.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from proofwood import Explainer
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> explainer = Explainer(RandomForestClassifier(10, max_depth=3, random_state=0).fit(X, y))
    >>> explainer.abductive(X[:1]).status
    'minimal'
    """

    def __init__(
        self,
        model: Any,
        *,
        vote: str = "auto",
        target: Any = None,
        confidence: float | None = None,
        feature_groups: Mapping[str, Group | Sequence[Key]] | None = None,
        bounds: Bounds | None = None,
        feature_names: Sequence[str] | None = None,
        integer: Iterable[Key] | None = None,
        missing: Iterable[Key] | None = None,
        knowledge: Iterable[str] | None = None,
        plausible: Any = None,
        X: Any = None,
        output: int | None = None,
        engine: str = "auto",
        time_limit: float | None = None,
        memory_limit: int | str | None = None,
        max_bytes: int | None = None,
    ) -> None:
        arguments.choice(engine, "engine", ENGINES)
        memory.bytes_of(memory_limit)
        self.engine, self.time_limit, self.memory_limit = engine, arguments.seconds(time_limit), memory_limit
        stated: dict[str, Any] = {
            "target": target,
            "confidence": confidence,
            "feature_groups": feature_groups,
            "bounds": bounds,
            "feature_names": feature_names,
            "integer": integer,
            "missing": missing,
            "knowledge": knowledge,
            "plausible": plausible,
            "X": X,
            "output": output,
            "max_bytes": max_bytes,
        }
        if isinstance(model, Explained):
            arguments.unstated(**stated, vote=None if vote == "auto" else vote)
            self.model = model
        else:
            self.model = explained(model, vote=vote, **stated)
        self._kept: dict[Explained, Engines] = {}
        self._engines(self.model)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": {}}  # engines hold solvers, and build anew what they learned

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features that explanations are made of."""
        return self.model.feature_names

    def forget(self) -> None:
        """Give back the memory of what the engines have learned; they begin anew with the next question."""
        for engines in self._kept.values():
            engines.forget()
        self._kept.clear()

    # ----------------------------------------------------------------------------------------------------- explanations

    @_within_memory
    @documented
    def abductive(
        self,
        x: Any,
        *,
        smallest: bool = False,
        inflate: bool = False,
        order: Features | None = None,
        keep: Features = (),
        free: Features = (),
        target: Any = None,
        start: Features | None = None,
        certificate: bool = False,
        time_limit: float | None = None,
    ) -> Explanation:
        """Why this class: features that suffice for it, whatever the others are, and none of which can be spared.

        Parameters
        ----------
        x : one row: array, series, mapping from names to values, or frame of one row
        smallest : as in every method
        inflate : whether to widen the values of the features as far as the class allows
        order : features to be left out first in front; for ``inflate`` those to be widened last
        keep, free : features that must, and must not, be part of it
        target : a class or list of classes to be ruled out; all others by default
        start : features to try first, such as the explanation of a similar row
        certificate, time_limit : as in every method

        Returns
        -------
        Explanation

        Raises
        ------
        NotSufficientError
            If the features outside ``free`` do not suffice.
        """
        return abductive(
            self._question(x, target, time_limit),
            smallest=smallest,
            inflate=inflate,
            order=order,
            keep=keep,
            free=free,
            start=start,
            certificate=certificate,
        )

    @_within_memory
    @documented
    def contrastive(
        self,
        x: Any,
        *,
        target: Any = None,
        smallest: bool = False,
        order: Features | None = None,
        immutable: Features = (),
        certificate: bool = False,
        time_limit: float | None = None,
    ) -> Explanation:
        """Why not another class: features whose change can change the class, and none of which can be spared.

        Parameters
        ----------
        x : as in every method
        target : a class or list of classes to reach; any other by default
        smallest : as in every method
        order : features that should rather stay as they are in front
        immutable, certificate, time_limit : as in every method

        Returns
        -------
        Explanation
            Of status ``"none"`` if it is proved that no change leads there.
        """
        question = self._question(x, target, time_limit, change=True)
        return contrastive(question, smallest=smallest, order=order, immutable=immutable, certificate=certificate)

    @_within_memory
    @documented
    def counterfactual(
        self,
        x: Any,
        *,
        target: Any = None,
        metric: Metric = "l1",
        weights: Weights | None = None,
        immutable: Features = (),
        within: Mapping[Key, object] | None = None,
        constraints: Iterable[str] | None = None,
        certificate: bool = False,
        time_limit: float | None = None,
    ) -> Explanation:
        """The nearest row of another class, within the bounds, integers staying integers.

        Integers are the columns of ``integer=``, those of which the table of training of an own model or the types of
        ``X=`` say so, and those of an integer type in ``x`` itself.

        Parameters
        ----------
        x : as in every method
        target : a class or list of classes to reach; any other by default
        metric : ``"l1"``: sum over columns of weight times change; ``"l2"``: the root of the sum of their squares;
            ``"linf"``: the greatest of them; ``"changes"``: number of changed features
        weights : price of a change by 1 in a column, or of another category in a feature; a number is the price in all
            of them. By default 1 over the range of the model's thresholds in the column, and 1 for a category. A value
            that is there never becomes a missing one; a missing one becomes any value for the price 1. Of numbers also
            two prices, ``(down, up)``; of categories, and of groups of 0/1 columns by the names of these, a mapping
            ``{to: price}`` or ``{(from, to): price}``, where what is not named costs 1; of both a function of the value
            of the row and another one (of numbers one that does not fall away from the row, which is taken for granted
            between thresholds). ``math.inf`` forbids a change
        immutable : as in every method
        within : from columns to what they may become: ``"up"`` or ``"down"`` from the row's own value, ``(low, high)``,
            or a list of categories, of which the first and the last one where they have an order; for a group of 0/1
            columns those that may become 1
        constraints : what the row found satisfies: comparisons (<, <=, >, >=, ==) of sums of columns times numbers,
            such as ``"debts <= 0.5 * income"`` or ``"total == a + b"``, as float64 works them out. ``x`` itself need
            not satisfy them. Not for ``metric="changes"``
        certificate, time_limit : as in every method

        Returns
        -------
        Explanation
            Its ``witness`` is the row, its ``distance`` the price, ``lower_bound`` what is proved about all such rows.
            Of status ``"none"`` if it is proved that there is none.
        """
        question = self._question(x, target, time_limit, change=True)
        return counterfactual(
            question,
            metric=metric,
            weights=weights,
            immutable=immutable,
            within=within,
            constraints=constraints,
            certificate=certificate,
        )

    @_within_memory
    @documented
    def counterfactuals(
        self,
        x: Any,
        *,
        limit: int = 5,
        target: Any = None,
        metric: Metric = "l1",
        weights: Weights | None = None,
        immutable: Features = (),
        within: Mapping[Key, object] | None = None,
        constraints: Iterable[str] | None = None,
        time_limit: float | None = None,
    ) -> list[Explanation]:
        """Several nearest rows of another class, each with other changes than those before.

        Parameters
        ----------
        x : as in every method
        limit : how many are wanted
        target, metric, weights, immutable, within, constraints : as for :meth:`counterfactual`
        time_limit : seconds for all of them; that of the explainer by default

        Returns
        -------
        list of Explanation
            By distance. The first is that of :meth:`counterfactual`; each later one is the nearest row that leaves, of
            every earlier one, at least one of the changed features as it is (``"optimal"``: which is proved; which
            ones, its ``immutable`` says). Fewer than ``limit`` if there are no others, or the time is over.
        """
        question = self._question(x, target, time_limit, change=True)
        return counterfactuals(
            question,
            limit=limit,
            metric=metric,
            weights=weights,
            immutable=immutable,
            within=within,
            constraints=constraints,
        )

    @_within_memory
    @documented
    def robustness(
        self,
        x: Any,
        *,
        metric: Metric = "linf",
        weights: Weights = 1.0,
        target: Any = None,
        immutable: Features = (),
        certificate: bool = False,
        time_limit: float | None = None,
    ) -> Robustness:
        """How far every value may move before the class can change: the distance to the nearest row of another class.

        Parameters
        ----------
        x : as in every method
        metric : what distance is, as for :meth:`counterfactual`; by default the greatest change of a value
        weights : as for :meth:`counterfactual`, but a change by 1 counts 1 in every column by default
        target, immutable, certificate, time_limit : as in every method

        Returns
        -------
        Robustness
            Its ``radius`` is proved: every nearer row has the class of ``x``.
        """
        question = self._question(x, target, time_limit)
        return robustness(question, metric=metric, weights=weights, immutable=immutable, certificate=certificate)

    @_within_memory
    @documented
    def possible(
        self, where: Mapping[Key, object], *, certificate: bool = False, time_limit: float | None = None
    ) -> Possible:
        """Which classes rows of a region can have, each with a row, or proved to be impossible there.

        Parameters
        ----------
        where : from columns to ``(low, high)``, a list of categories, or a single value, which the rows of the region
            have there; columns that are not named are free
        certificate, time_limit : as in every method

        Raises
        ------
        ValueError
            If a column or category does not exist, or a limit leaves no value.
        """
        return possible(self._engines(self.model), where, self._clock(time_limit), certificate=certificate)

    @_within_memory
    def independent_of(
        self, feature: Key, where: Mapping[Key, object] | None = None, *, time_limit: float | None = None
    ) -> Independence:
        """Whether the class never depends on a feature: no two rows that differ in it alone have different classes.

        Parameters
        ----------
        feature : name or index
        where : a region, as for :meth:`possible`; by default every row
        time_limit : seconds; that of the explainer by default

        Returns
        -------
        Independence
            That it is so is proved; that it is not is shown by two rows.

        Raises
        ------
        ValueError
            If a feature, column or category does not exist, or a limit leaves no value.
        """
        return independence(self._engines(self.model), feature, where, self._clock(time_limit))

    @_within_memory
    def range(
        self, where: Mapping[Key, object] | None = None, *, target: Any = None, time_limit: float | None = None
    ) -> Range:
        """Least and greatest number, or probability of a class, that rows of a region get.

        Parameters
        ----------
        where : as for :meth:`possible`; by default every row
        target : of a classifier, the class
        time_limit : seconds; that of the explainer by default

        Returns
        -------
        Range
            With a row for each end, and bounds that hold for all rows.

        Raises
        ------
        TypeError
            If the model has no number or probability that its trees add up to.
        ValueError
            If a column or category does not exist, no row is in the region, or the class is missing or unknown.
        TimeoutError
            If the time is over before any row of the region is found.
        """
        return span(self._engines(self.model), {} if where is None else where, target, self._clock(time_limit))

    @documented
    def enumerate(
        self,
        x: Any,
        *,
        limit: int | None = None,
        kind: Kind | None = None,
        first: Kind = "abductive",
        target: Any = None,
        time_limit: float | None = None,
    ) -> Listing:
        """All abductive and contrastive explanations of a row, each as soon as it is found.

        The iterator ends when all are found, which its attribute ``complete`` then says, or at a limit.

        Parameters
        ----------
        x : as in every method
        limit : most explanations
        kind : only ``"abductive"`` or only ``"contrastive"`` ones; both by default
        first : the kind that tends to come early
        target : a class or list of classes that matter; all others by default
        time_limit : seconds for all of them; that of the explainer by default
        """
        question = self._question(x, target, time_limit)
        return listing(question, limit=limit, kind=kind, first=first, memory_limit=self.memory_limit)

    @_within_memory
    @documented
    def enumeration_certificate(self, x: Any, *, time_limit: float | None = None) -> dict[str, Any]:
        """All explanations of a row, with a proof of each and of that there are no others, as plain JSON.

        Parameters
        ----------
        x : as in every method
        time_limit : seconds for the search and the proofs; that of the explainer by default

        Returns
        -------
        dict
            For :func:`proofwood.explain.proofs.certificate.write_certificate`.

        Raises
        ------
        proofwood.explain.proofs.certificate.NoCertificateError
            If the time is over before, or some explanation is one only up to rounding.
        """
        return enumeration_certificate(self._question(x, None, time_limit))

    def learn_knowledge(self, X: Any, *, min_support: int = 30) -> list[Learned]:
        """Conditions about two features that no row of a table breaks, and hardly by chance.

        They are candidates: read them, and pass those that are true as ``knowledge`` to a new explainer.

        Parameters
        ----------
        X : many rows, as the model takes them
        min_support : rows that at least satisfy the first part of a condition

        Returns
        -------
        list of Learned
            Those with most support first: ``text`` is the condition, ``support`` the number of these rows.
        """
        return learned(self.model.with_types_of(X), X, min_support)

    def explain(self, X: Any, **options: Any) -> Explanations:
        """Explain every row of a table.

        Parameters
        ----------
        X : rows, as the model takes them
        options : those of :func:`proofwood.explain.table.batch.explain_rows`: ``kind``, ``n_jobs``, ``path``, ...
        """
        return explain_rows(self, X, **options)

    # -------------------------------------------------------------------------------------------------------- questions

    @_within_memory
    @documented
    def is_sufficient(
        self, x: Any, features: Features, *, target: Any = None, time_limit: float | None = None
    ) -> bool | None:
        """Whether the class stays as long as these features stay.

        Parameters
        ----------
        x : as in every method
        features : names or indices of the features that stay
        target, time_limit : as in every method

        Returns
        -------
        bool or None
            None if the time was too short to know, or if a change of the class is possible only up to rounding, and
            the model itself shows none.
        """
        return is_sufficient(self._question(x, target, time_limit), features)

    @_within_memory
    @documented
    def necessary(self, x: Any, *, target: Any = None, time_limit: float | None = None) -> dict[str, bool | None]:
        """By name of feature: whether it is in every abductive explanation of the row; None where time ran out.

        Of those that :meth:`enumerate` lists: a change that only rounding might allow counts as one.

        Parameters
        ----------
        x, target, time_limit : as in every method
        """
        return by_name(self._question(x, target, time_limit), relevance.necessary)

    @_within_memory
    @documented
    def relevant(self, x: Any, *, target: Any = None, time_limit: float | None = None) -> dict[str, bool | None]:
        """By name of feature: whether it is in some abductive explanation of the row; None where time ran out.

        Of those that :meth:`enumerate` lists: a change that only rounding might allow counts as one.

        Parameters
        ----------
        x, target, time_limit : as in every method
        """
        return by_name(self._question(x, target, time_limit), relevance.relevant)

    @_within_memory
    @documented
    def attribution(
        self, x: Any, *, limit: int | None = None, target: Any = None, time_limit: float | None = None
    ) -> Attribution:
        """In which share of the abductive explanations of the row each feature occurs, with bounds.

        The explanations are those that :meth:`enumerate` lists: a change that only rounding might allow counts as one.

        Parameters
        ----------
        x : as in every method
        limit : most abductive explanations to look at
        target : a class or list of classes that matter; all others by default
        time_limit : as in every method
        """
        return attribution(self._question(x, target, time_limit), limit)

    # ------------------------------------------------------------------------------------------------------------ parts

    def _engines(self, model: Explained) -> Engines:
        """The engines of a reading of the model: in other spaces of rows, or around the prediction of a row."""
        engines = self._kept.pop(model, None)
        if engines is None:
            most = 1 if model.is_relative else MOST_KEPT  # few rows have the same prediction
            others = [one for one in self._kept if one is not self.model]
            for one in others[: max(0, len(others) - most + 1)]:
                del self._kept[one]
            engines = Engines(model, self.engine)
        self._kept[model] = engines
        return engines

    def _clock(self, time_limit: float | None) -> Clock:
        """The clock of a question that begins now."""
        return Clock.of(self.time_limit if time_limit is None else arguments.seconds(time_limit))

    def _question(self, x: Any, target: Any, time_limit: float | None, *, change: bool = False) -> Question:
        """What is asked about one row, in the space in which it is: the parameters of all methods.

        A ``change`` of a column that is of an integer or boolean type in the row is one to a value of that type.
        """
        clock = self._clock(time_limit)
        model, given = (self.model, x) if isinstance(x, Admitted) else read_one(self.model, x)
        model = model.with_gaps_of(given.values, given.kinds if change else None).about(given.values[0])
        return Question(self._engines(model), given, clock, target=target)
