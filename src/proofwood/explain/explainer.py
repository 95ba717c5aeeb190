"""Explain the predictions of a fitted model: one object per model, one method per question.

Each method passes its arguments to a function of :mod:`proofwood.explain.answers`, which has a file per question.
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
"""Number of variants of the model (by missing values, integers and types of rows) whose engines an explainer keeps."""


def _within_memory(method: Callable[P, R]) -> Callable[P, R]:
    """Decorate a method of :class:`Explainer`: it obeys the memory limit, and warns if the limit ended a search."""

    @functools.wraps(method)
    def limited(*args: P.args, **options: P.kwargs) -> R:
        explainer = args[0]
        assert isinstance(explainer, Explainer)
        if memory.limited():  # a question that is part of another question
            return method(*args, **options)
        with memory.within(explainer.memory_limit):
            try:
                result = method(*args, **options)
            except MemoryError as error:
                explainer.forget()
                why = str(error) or "an allocation failed"
                raise memory.MemoryLimitError(
                    f"memory ran out before {method.__name__} had an answer ({why}): raise memory_limit or the "
                    "memory limits of the process"
                ) from error
        if memory.lacked():
            explainer.forget()
            warnings.warn(
                "the memory limit ended the search: the explanation is the best one found so far, and its status says "
                "what is proved. For a complete one, raise memory_limit or the memory limits of the process",
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
        CatBoost, and proofwood's own trees and diagrams; pipelines that end in one of these; scikit-learn's searches,
        votes, bags, decision thresholds and calibrations of them; the path of a file of trees in ONNX, or of XGBoost,
        LightGBM or CatBoost; or the result of ``explained(model)``
    target : of a regressor, a question about its numbers: ``(">=", 250_000)``, ``(">", v)``, ``("<=", v)``,
        ``("<", v)``, ``("between", low, high)``, ``("within", distance)`` of the row's own prediction, or a list
        of cuts between bands. The possible answers become the classes: ``"at least 250000"`` and ``"below 250000"``
    confidence : of a classifier, the least probability that a class must have. Rows in which no class has it get the
        extra class ``"unsure"``, so that explanations keep both the class and its probability
    vote : ``"auto"``: what the model predicts; ``"majority"``: the class that most trees predict (ties: the lowest one)
    feature_groups : mapping from the name of a feature to its 0/1 columns, exactly one of which is 1; for groups with
        other rules, use ``Group``
    bounds : mapping from columns to least and greatest values; rows outside them are not considered
    feature_names : names of the columns, if the model has none
    integer : columns that contain only integers
    missing : columns in which missing values are considered, in addition to those in which a row of ``X``, or the
        explained row (or table), has one. In all other columns every row is assumed to have a value
    knowledge : conditions that every possible row satisfies, written as for ``pandas.DataFrame.query``, such as
        ``"age >= 18 or job == 'student'"``, or as ``"age < 18 -> income == 0"``. Other rows are not considered
    plausible : a fitted ``IsolationForest`` over the same columns, or a pipeline that ends with one; or a pair of such
        a model and the least score (as ``score_samples`` returns it) of a plausible row. Rows that are not plausible
        are not considered. If the explained row itself is not plausible, only changes of its class can be explained
    X : rows on which the conversion is checked, in addition to random ones; a data frame also says which columns are
        integers. If CatBoost has categorical columns, all categories that its trees test must occur in these rows
    output : of a model that predicts several targets (outputs, labels): index of the one to explain, from 0. Without
        it such a model is rejected, and the message lists the targets
    engine : ``"auto"``: the package's own searches in turn; ``"cdcl"`` (learned clauses) or ``"messages"`` (bounds of
        a relaxation): only that search; ``"paper"``: the SAT formula of RFxpl as a reference (majority votes only, and
        all other classes as ``target``)
    time_limit : seconds per explanation, None for no limit. If the time runs out, the status of the explanation says
        so. Reading the model is not limited; it takes a second or two for a million nodes
    memory_limit : bytes by which an explanation may increase the memory of the process, or a text such as "4GB"; None
        for 80 % of what the process may still use. If the limit is reached, the status and a warning say so, and the
        engine forgets what it learned from earlier rows
    max_bytes : most bytes of memory for a model from a file, estimated from what the file declares; 4 GiB by default

    Raises
    ------
    TypeError
        If this kind of model is not supported.
    ValueError
        If an argument does not fit the model, the engine or the other arguments.
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
        return {**self.__dict__, "_kept": {}}  # engines contain solvers, and learn again what they need

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features in explanations: columns, or groups of columns."""
        return self.model.feature_names

    def forget(self) -> None:
        """Free the memory of what the engines have learned; the next question builds them again."""
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
        """Why this class: features whose values suffice for it, whatever the others are; none can be left out.

        Parameters
        ----------
        x : one row: array, series, mapping from names to values, or frame of one row
        smallest : as in every method
        inflate : whether to widen the range of values of each feature as far as the class stays the same
        order : features in the order in which to try to leave them out; ``inflate`` widens them in reverse order
        keep, free : features that must, and features that must not, be part of the explanation
        target : a class or list of classes to rule out; all other classes by default
        start : features to try first, such as the explanation of a similar row
        certificate, time_limit : as in every method

        Returns
        -------
        Explanation

        Raises
        ------
        NotSufficientError
            If the features that are not in ``free`` do not suffice for the class.
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
        """Why not another class: features whose change can change the class; none of them can be left out.

        Parameters
        ----------
        x : as in every method
        target : a class or list of classes to reach; any other by default
        smallest : as in every method
        order : features in the order in which to try to keep them unchanged
        immutable, certificate, time_limit : as in every method

        Returns
        -------
        Explanation
            Its status is ``"none"`` if it is proved that no change leads to these classes.
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
        """The nearest row of another class within the bounds; integer columns keep integers.

        Integer columns are those of ``integer=``, those with integer types in ``X=``, in ``x``, or in the training
        table of one of proofwood's own models.

        Parameters
        ----------
        x : as in every method
        target : a class or list of classes to reach; any other by default
        metric : ``"l1"``: the sum over columns of weight times change; ``"l2"``: the root of the sum of their squares;
            ``"linf"``: the greatest of them; ``"changes"``: the number of changed features. Only for ``"changes"`` may
            a value become missing, unless ``within`` limits it
        weights : price of a change by 1 in a column, or of another category in a feature; one number sets all prices.
            By default 1 divided by the range of the model's thresholds in the column, and 1 for a category, also for
            one that the model does not know. A missing value becomes any value for the price 1. A numeric column may
            also have two prices, ``(down, up)``. A categorical column, or a group of 0/1 columns (by their names), may
            have a mapping ``{to: price}`` or ``{(from, to): price}``; changes that it does not name cost 1. Any column
            may have a function of the row's value and the new value. For numbers, its prices must not decrease with the
            distance from the row; this is not checked between thresholds. ``math.inf`` forbids a change
        immutable : as in every method
        within : mapping from columns to their permitted new values: ``"up"`` or ``"down"`` from the row's own value,
            ``(low, high)``, or a list of categories (ordered ones: the first and the last); for a group of 0/1 columns,
            those that may become 1
        constraints : conditions on the row found: comparisons (<, <=, >, >=, ==) of sums of columns times numbers,
            such as ``"debts <= 0.5 * income"`` or ``"total == a + b"``, computed in float64. ``x`` itself need not
            satisfy them. Not for ``metric="changes"``
        certificate, time_limit : as in every method

        Returns
        -------
        Explanation
            Its ``witness`` is the row found, its ``distance`` the price. No row of another class is nearer than its
            ``lower_bound``. Its status is ``"none"`` if it is proved that no such row exists.
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
        """Several nearest rows of another class, each with other changes than the earlier ones.

        Parameters
        ----------
        x : as in every method
        limit : most rows to find
        target, metric, weights, immutable, within, constraints : as for :meth:`counterfactual`
        time_limit : seconds for all of them; that of the explainer by default

        Returns
        -------
        list of Explanation
            Sorted by distance. The first is that of :meth:`counterfactual`. Compared with each earlier row, a later one
            keeps unchanged at least one of the features that the earlier one changes; it is the nearest such row.
            ``immutable`` lists the unchanged features, and status ``"optimal"`` means proved nearest. The list has
            fewer than ``limit`` rows if no others exist or the time runs out.
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
        """How far values may move before the class can change: the distance to the nearest row of another class.

        Parameters
        ----------
        x : as in every method
        metric : how distance is measured, as for :meth:`counterfactual`; by default as the greatest change of a value
        weights : as for :meth:`counterfactual`, but by default a change by 1 counts 1 in every column
        target, immutable, certificate, time_limit : as in every method

        Returns
        -------
        Robustness
            It is proved that every row nearer than its ``radius`` has the class of ``x``.
        """
        question = self._question(x, target, time_limit)
        return robustness(question, metric=metric, weights=weights, immutable=immutable, certificate=certificate)

    @_within_memory
    @documented
    def possible(
        self, where: Mapping[Key, object], *, certificate: bool = False, time_limit: float | None = None
    ) -> Possible:
        """The classes that rows of a region can have, each with an example row; the others are proved impossible.

        Parameters
        ----------
        where : the region: a mapping from columns to ``(low, high)``, a list of categories, or a single value; columns
            that are not named may have any value
        certificate, time_limit : as in every method

        Raises
        ------
        ValueError
            If a column or category does not exist, or no value of a column is permitted.
        """
        return possible(self._engines(self.model), where, self._clock(time_limit), certificate=certificate)

    @_within_memory
    def independent_of(
        self, feature: Key, where: Mapping[Key, object] | None = None, *, time_limit: float | None = None
    ) -> Independence:
        """Whether the class never depends on a feature: rows that differ only in this feature have the same class.

        Parameters
        ----------
        feature : name or index
        where : a region, as for :meth:`possible`; by default every row
        time_limit : seconds; that of the explainer by default

        Returns
        -------
        Independence
            Independence is proved; dependence is shown by two rows.

        Raises
        ------
        ValueError
            If a feature, column or category does not exist, or no value of a column is permitted.
        """
        return independence(self._engines(self.model), feature, where, self._clock(time_limit))

    @_within_memory
    def range(
        self, where: Mapping[Key, object] | None = None, *, target: Any = None, time_limit: float | None = None
    ) -> Range:
        """The least and greatest number, or probability of a class, that the model predicts for rows of a region.

        Parameters
        ----------
        where : as for :meth:`possible`; by default every row
        target : of a classifier, the class
        time_limit : seconds; that of the explainer by default

        Returns
        -------
        Range
            The least and the greatest prediction found, each with its row and with a proved bound for the whole region.

        Raises
        ------
        TypeError
            If the model does not predict a number or probability as a sum over trees.
        ValueError
            If a column or category does not exist, no row is in the region, or the class is missing or unknown.
        TimeoutError
            If the time runs out before a row of the region is found.
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
        """Iterate over all abductive and contrastive explanations of a row; each is yielded as soon as it is found.

        The iterator ends at a limit, or when all explanations are found; its attribute ``complete`` is then true.

        Parameters
        ----------
        x : as in every method
        limit : most explanations to yield
        kind : ``"abductive"`` or ``"contrastive"`` to yield only this kind; both by default
        first : the kind that is mostly found earlier
        target : a class or list of classes that matter; all others by default
        time_limit : seconds for all of them; that of the explainer by default
        """
        question = self._question(x, target, time_limit)
        return listing(question, limit=limit, kind=kind, first=first, memory_limit=self.memory_limit)

    @_within_memory
    @documented
    def enumeration_certificate(self, x: Any, *, time_limit: float | None = None) -> dict[str, Any]:
        """All explanations of a row as plain JSON, with a proof of each and a proof that there are no others.

        Parameters
        ----------
        x : as in every method
        time_limit : seconds for the search and the proofs; that of the explainer by default

        Returns
        -------
        dict
            The argument of :func:`proofwood.explain.proofs.certificate.write_certificate`.

        Raises
        ------
        proofwood.explain.proofs.certificate.NoCertificateError
            If the time runs out first, or if some explanation is correct only up to rounding.
        """
        return enumeration_certificate(self._question(x, None, time_limit))

    def learn_knowledge(self, X: Any, *, min_support: int = 30) -> list[Learned]:
        """Conditions on two features that every row of a table satisfies, and that are unlikely to hold by chance.

        They are candidates: read them, and pass those that are true as ``knowledge`` to a new explainer.

        Parameters
        ----------
        X : many rows, as the model takes them
        min_support : least number of rows that satisfy the first part ("if") of a condition

        Returns
        -------
        list of Learned
            Sorted by support, greatest first: ``text`` is the condition, ``support`` the number of these rows.
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
        """Whether the class stays the same as long as the given features keep their values.

        Parameters
        ----------
        x : as in every method
        features : names or indices of the features that keep their values
        target, time_limit : as in every method

        Returns
        -------
        bool or None
            None if the time ran out, or if rounding might allow a change of the class but the model itself shows none.
        """
        return is_sufficient(self._question(x, target, time_limit), features)

    @_within_memory
    @documented
    def necessary(self, x: Any, *, target: Any = None, time_limit: float | None = None) -> dict[str, bool | None]:
        """For each feature, by name: whether it is in every abductive explanation of the row; None if time ran out.

        The explanations are those that :meth:`enumerate` lists: a change of class that only rounding
        might allow counts as a change.

        Parameters
        ----------
        x, target, time_limit : as in every method
        """
        return by_name(self._question(x, target, time_limit), relevance.necessary)

    @_within_memory
    @documented
    def relevant(self, x: Any, *, target: Any = None, time_limit: float | None = None) -> dict[str, bool | None]:
        """For each feature, by name: whether it is in some abductive explanation of the row; None if time ran out.

        The explanations are those that :meth:`enumerate` lists: a change of class that only rounding
        might allow counts as a change.

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
        """The share of the row's abductive explanations in which each feature occurs, with bounds.

        The explanations are those that :meth:`enumerate` lists: a change of class that only rounding
        might allow counts as a change.

        Parameters
        ----------
        x : as in every method
        limit : most abductive explanations to count
        target : a class or list of classes that matter; all others by default
        time_limit : as in every method
        """
        return attribution(self._question(x, target, time_limit), limit)

    # ------------------------------------------------------------------------------------------------------------ parts

    def _engines(self, model: Explained) -> Engines:
        """The engines for a variant of the model: for another space of rows, or relative to the prediction of a row."""
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
        """A clock for a question that starts now."""
        return Clock.of(self.time_limit if time_limit is None else arguments.seconds(time_limit))

    def _question(self, x: Any, target: Any, time_limit: float | None, *, change: bool = False) -> Question:
        """The question about one row, with the parameters that all methods share.

        If the question is about a ``change``, columns of an integer or boolean type in the row keep that type.
        """
        clock = self._clock(time_limit)
        model, given = (self.model, x) if isinstance(x, Admitted) else read_one(self.model, x)
        model = model.with_gaps_of(given.values, given.kinds if change else None).about(given.values[0])
        return Question(self._engines(model), given, clock, target=target)
