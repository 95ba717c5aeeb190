"""``OptimalDiagramClassifier``: the provably best decision diagram of a given skeleton, univariate or oblique."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from proofwood import arguments, memory
from proofwood.data.binarize import Binarizer
from proofwood.data.columns import refuse
from proofwood.data.kinds import CATEGORIES
from proofwood.data.scale import Scaling
from proofwood.data.views import Limit, scope_of
from proofwood.engines.diagram.oblique.bounds import BY_MARGIN
from proofwood.engines.diagram.oblique.cuts import MARGIN
from proofwood.engines.diagram.run import LEAVES_ONLY, UNCONFIRMED
from proofwood.engines.diagram.solve import ENGINES, OBLIQUE_ENGINES, solve
from proofwood.engines.diagram.univariate import DEFAULT_SHARES, Shares, steady_shares
from proofwood.engines.interrupts import left_after, raise_ended
from proofwood.estimators.classifier import ClassRows
from proofwood.estimators.constraints import (
    Constraint,
    FairnessConstraint,
    MaxSplits,
    all_from_plain,
    all_in_plain,
    checked,
    compared_groups,
)
from proofwood.estimators.over_tests import ClassifierOverTests
from proofwood.estimators.parameters import AUTO, check_variant, seconds_of
from proofwood.estimators.posed_diagram import (
    PosedDiagram,
    attained,
    constrained,
    holds_least,
    infeasible_text,
    lacking,
    least_weight_of_split,
    must_be_met,
    of_fewer_tests,
    require_as_reported,
    share_of,
    without_bounds,
)
from proofwood.estimators.shared_docs import documented
from proofwood.exceptions import InfeasibleError, OptimalityWarning
from proofwood.hints import parameter, way_out
from proofwood.language import gettext, marked, ngettext, number
from proofwood.memory import MemoryLimitError
from proofwood.model.evaluate import edge_weights
from proofwood.model.node_table import FloatArray, NodeTable
from proofwood.model.reshape import preorder, refresh, unroll
from proofwood.papers.odd import VARIANTS
from proofwood.problem.diagram import DiagramCost, DiagramProblem, check_widths
from proofwood.problem.objectives import least_integer
from proofwood.problem.ranked import CELL_BYTES, OutOfTime, RankedRows, require_time
from proofwood.result import Limits, Progress, Result, Status, bounded_by

LEFT_OUT = "levels"
"""``stopped_by`` of a run that was complete, but without tests for all levels."""
MOST_CELLS = 50_000_000
"""The most rows times levels for which a fit with a time limit makes tests."""
CELLS_PER_SECOND = 5e6
"""The most rows times levels per second of the time limit."""
LEAST_LEVELS = 32
"""At least this many levels have tests, for any number of rows."""
STOPPED = {
    LEFT_OUT: "only the most frequent levels have tests, because time_limit is too short for all of them",
    UNCONFIRMED: "the solver reports optimality in floating point, but no exact search confirmed it in time",
    "rounding": "the solver has finished, but by its numerical tolerances a better diagram may exist",
    "size": "the model has too many rows and arcs for a solver",
}
"""Texts for the reasons why a proof is missing, other than a limit or Ctrl-C."""
SPLITS = ("univariate", "oblique")
PAPER = "paper"
"""Name of the engine in :mod:`proofwood.papers.odd`."""
NORMS = {
    "box": marked("coefficients and offset between -1 and 1"),
    "l1": marked("absolute coefficients that add up to at most 1"),
}
"""The limit of each ``norm`` on oblique splits, in words."""
TOPOLOGIES = ("diagram", "tree")


@documented
@dataclass(eq=False, repr=False)
class OptimalDiagramClassifier(ClassifierOverTests):
    r"""Decision diagram that is provably the best within a skeleton of layers, with optional fairness constraints.

    A diagram is a tree whose branches may join again: a split sends rows to splits of the next layer, or directly to a
    class. The objective (eq. 18 of [1]_) is the share of wrong training weight, plus ``alpha`` times the share of
    splits in use without the root, plus the penalties of ``constraints``. The diagram has the least objective of all
    diagrams whose layer :math:`l` has at most ``widths[l]`` splits.

    Parameters
    ----------
    widths : sequence of int, default (1, 2, 4, 4, 4)
        Most splits of each layer. The first is 1, and no layer is more than twice as wide as the one above.
    alpha : float in [0, 1], default 0.1
        Price of size: with 1, all splits of the skeleton together cost as much as an error on every row.
    splits : {"univariate", "oblique"}, default "univariate"
        ``"univariate"``: a split tests one threshold or level. ``"oblique"``: a split compares a weighted sum of
        columns with a number. Columns must then be numbers; they are scaled inside the fit, and the model is in the
        units of the columns. A sum of several columns is permitted only if, within ``norm``, it separates its rows by
        a margin of at least 1e-4 of the scaled columns. :meth:`summary` and a warning say so if the proof depends on
        it.
    norm : {"box", "l1"}, default "box"
        How large the coefficients of an oblique split may be, over columns scaled to [0, 1]. ``"box"``: each of them
        and the offset is in [-1, 1], as in the paper. ``"l1"``: their absolute values add up to at most 1, as in the
        authors' code; fewer sums then reach the margin of 1e-4.
    constraints : sequence of constraints, or one, default ()
        :class:`DemographicParity`, :class:`EqualOpportunity`, :class:`PredictiveEquality`, :class:`EqualizedOdds`,
        :class:`MaxSplits`, :class:`MinSamples`. The first four accept a ``penalty``. They may then be broken, at a
        price that is added to the objective.
    engine : {"auto", "search", "heuristic", "paper"}, default "auto"
        ``"auto"``: bounds, heuristics and the searches that suit the problem. ``"search"``: branch and bound over
        splits, univariate only. ``"heuristic"``: fast, but rarely gives a proof. ``"paper"``: the mixed-integer program
        of [1]_, a reference; its answer counts as proved only after an exact search confirms it.
    variant : {None, "scipy", "scip"}, default None
        With ``engine="paper"``: ``"scipy"`` (or None) solves the program as printed, with the solver of SciPy.
        ``"scip"`` solves a smaller program with SCIP, which sometimes finds better oblique splits of many columns; it
        needs ``pip install "proofwood[scip]"``.
    topology : {"diagram", "tree"}, default "diagram"
        ``"tree"``: branches do not join; the ODT of the paper.
    max_thresholds, categorical_features, drop, missing_values, written_as, bands : as in every learner
    threshold_rule, unseen, class_weight : as in every learner
    time_limit : as in every diagram
    memory_limit, n_jobs : as in every learner
    random_state : int or None, default None
        Seed of the heuristics; None means 0, so that equal calls give equal models unless time runs out. The proof does
        not depend on it.
    callback, verbose : as in every learner

    Attributes
    ----------
    classes_, bands_, target_name_, n_features_in_, feature_names_in_, categories_ : as in every learner
    schema_, hints_, validation_, model_ : as in every learner
        A diagram has one leaf per predicted class, a tree one per branch.
    result_ : as in every learner
        ``result_.stats.proved_by`` names the bound or engine that completed the proof: "tests bound", "search",
        "conflict bound", ... (docs/theory/layered-diagrams.md lists them all); None without a proof.
    objective_ : as in every learner
        Here it is the value of eq. 18, including penalties.
    lower_bound_, gap_, status_ : as in every learner
    fairness_ : dict from ``repr`` of a fairness constraint to the worst ratio of rates on the training rows
    shortfall_ : dict from ``repr`` of a constraint with a penalty to the total shortfall of its groups, a weight
    flow_ : (n_nodes, 2) training weight on the low and the high edge of each node
    trace_, feature_importances_, tested_columns_, loaded_ : as in every learner

    References
    ----------
    .. [1] Florio, Martins, Schiffer, Serra, Vidal (2023), Optimal Decision Diagrams for Classification, AAAI.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from proofwood import OptimalDiagramClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> diagram = OptimalDiagramClassifier((1, 2), alpha=0.5).fit(X, y)
    >>> diagram.model_.depth <= 2, 0 <= diagram.lower_bound_ <= diagram.objective_
    (True, True)
    """

    _dashed = True
    _fits_table = True

    widths: Iterable[int] = (1, 2, 4, 4, 4)
    _: KW_ONLY
    alpha: float = 0.1
    splits: str = "univariate"
    norm: str = "box"
    constraints: Iterable[Constraint] | Constraint = ()
    engine: str = "auto"
    variant: str | None = None
    topology: str = "diagram"
    max_thresholds: int | None = None
    categorical_features: Any = None
    drop: Any = None
    missing_values: Any = None
    written_as: Mapping[Any, str | None] | None = None
    bands: Any = None
    threshold_rule: str = "shortest"
    unseen: str = "majority"
    class_weight: str | Mapping[Any, float] | None = None
    time_limit: float | str | None = "auto"
    memory_limit: int | str | None = None
    n_jobs: int | None = None
    random_state: int | None = None
    callback: Progress | None = None
    verbose: int = 0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # nodes have a price, so that the score on other rows is lower
        return tags

    # --------------------------------------------------------------------------------------------------------- fit

    @documented
    def fit(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, *, sensitive_features: Any = None
    ) -> Self:
        """Learn from rows ``X`` with labels ``y``.

        Parameters
        ----------
        X : (n_samples, n_features) an array, or a pandas or polars frame, of finite numbers, text, categories, dates or
            times; values may be missing, but not with ``splits="oblique"``, which needs numbers
        y, sample_weight : as in every learner
        sensitive_features : (n_samples,) group of each row, for fairness constraints that name no column of ``X``

        Returns
        -------
        self

        Raises
        ------
        InfeasibleError
            If no diagram meets the constraints.
        ValueError
            On parameters or data that cannot be used; the message says what to do.

        Warns
        -----
        OptimalityWarning
            If a limit or Ctrl-C ended the search before the proof. The estimator then has the best model found so far.
        """
        constraints = checked(self.constraints)
        groups = compared_groups(constraints, X, sensitive_features)

        def constrain(posed: PosedDiagram, given: ClassRows) -> PosedDiagram:
            return constrained(posed, given, constraints, groups)

        self._fit(X, y, sample_weight, constrain)
        return self

    def _problem(self, given: ClassRows) -> PosedDiagram:
        self._check_parameters()
        tests: Binarizer | Scaling
        columns = incomplete = None
        try:
            if self.splits == "oblique":
                tests, rows, columns = self._scaled(given)
                scope = scope_of(self.schema_, self._views(given.columns))
            else:
                tests, rows, incomplete, scope = self._tests(given)
        except (OutOfTime, MemoryError) as error:
            posed = self._to_count(given)
            stopped_by = "memory_limit" if isinstance(error, MemoryError) else "time_limit"
            return replace(posed, incomplete=stopped_by)
        posed = self._over(tests, rows, given, columns)
        return replace(posed, incomplete=incomplete, scope=scope)

    def _to_count(self, given: ClassRows) -> PosedDiagram:
        rows = RankedRows.without_tests(given.codes, n_classes=given.n_classes, sample_weight=given.weights)
        return self._over(Binarizer.from_parts([[]] * given.columns.shape[1]), rows, given)

    def _over(
        self,
        tests: Binarizer | Scaling,
        rows: RankedRows,
        given: ClassRows,
        columns: FloatArray | None = None,
    ) -> PosedDiagram:
        """The problem that the parameters define, over these tests."""
        widths = _widths(self.widths)
        problem = DiagramProblem(
            rows=rows,
            widths=widths,
            cost=DiagramCost.of(
                alpha=self.alpha, total=rows.total, widths=widths, unit=rows.unit, rounding=rows.rounding
            ),
            columns=columns,
            norm=self.norm,  # type: ignore[arg-type]  # checked by _check_parameters
            tree=self.topology == "tree",
        )
        kept, weights = given.kept(rows.kept)
        return PosedDiagram(problem, tests, kept, rows.codes, weights)

    def _tests(self, given: ClassRows) -> tuple[Binarizer, RankedRows, str | None, tuple[str, ...]]:
        """The tests, the rows as ranks, why some levels have no test (None if all have one), and the scope.

        Each level becomes one column of tests, so that a column of 20,000 names would need gigabytes and more time
        than the limit. In such a case only the most frequent levels have tests, and the result claims no proof.
        """
        views = self._views(given.columns)
        X = views.values(given.columns)
        nominal = sorted(views.by_level)
        counts = {j: np.unique(X[:, j].astype(np.int64), return_counts=True) for j in nominal}  # NaN: a level
        n_levels = sum(levels.size for levels, _ in counts.values())
        most, why = n_levels, None
        seconds, room = seconds_of(self.time_limit, self._n_values(X)), memory.room()
        if seconds is not None:
            cells = min(MOST_CELLS, CELLS_PER_SECOND * seconds)
            most, why = max(LEAST_LEVELS, int(cells // X.shape[0])), LEFT_OUT
        if room is not None and room // (CELL_BYTES * X.shape[0]) < min(most, n_levels) + X.shape[1]:
            most, why = max(LEAST_LEVELS, room // (2 * CELL_BYTES * X.shape[0])), "memory_limit"
        if n_levels <= most:
            binarizer, rows = self._ranked(X, nominal, given)
            tests = views.tests(binarizer)
            return tests, rows, None, self._scope_of(views, tests)
        ranked = sorted(
            (
                (count, j, level)
                for j, (levels, rows_of) in counts.items()
                for level, count in zip(levels.tolist(), rows_of.tolist(), strict=True)
            ),
            key=lambda level: (-level[0], *level[1:]),
        )
        kept = {(j, code) for _, j, code in ranked[:most]}
        shown = X.copy()
        for j, (levels, _) in counts.items():  # an unused code replaces the levels without a test
            told = np.isin(X[:, j], [code for column, code in kept if column == j])
            shown[~told, j] = float(levels[-1] + 1)
        binarizer, rows = self._ranked(shown, nominal, given)
        untold = [
            test
            for test in np.flatnonzero(np.isnan(binarizer.threshold)).tolist()
            if not all((int(binarizer.feature[test]), code) in kept for code in binarizer.levels[test] or ())
        ]
        binarizer = binarizer.without(untold)
        alone = np.searchsorted(rows.offsets, untold, side="right") - 1
        rows = replace(rows, ranks=np.delete(rows.ranks, alone, axis=1), tests_of=np.delete(rows.tests_of, alone))
        tests = views.tests(binarizer)
        partial = [
            views.views[j].column
            for j, (levels, _) in counts.items()
            if any((j, code) not in kept for code in levels.tolist())
        ]
        views = replace(views, limits={Limit.FREQUENT: partial})
        return tests, rows, why, self._scope_of(views, tests)

    def _scaled(self, given: ClassRows) -> tuple[Scaling, RankedRows, FloatArray]:
        """The scaling of the columns, the rows as ranks over all thresholds, and the scaled columns of the rows."""
        self._require_sums()
        X, weights = given.columns, given.weights
        scaling = Scaling.of(X if weights is None else X[weights > 0])
        rows = RankedRows.with_tests(
            X,
            (),
            given.codes,
            n_classes=given.n_classes,
            sample_weight=weights,
            every_column=True,
            deadline=self._deadline,
        )[1]
        return scaling, rows, scaling.transform(given.kept(rows.kept)[0], lambda: require_time(self._deadline))

    def _require_sums(self) -> None:
        """Raise DataError for columns that cannot be part of a weighted sum, with one message for all of them."""
        problems = []
        for column, category in enumerate(self.schema_.columns):
            if column in self.schema_.left_out or (category.kind not in CATEGORIES and not category.missing):
                continue
            name = repr(category.name) if self.schema_.by_name else str(column)
            if category.kind in CATEGORIES:
                shown = f" (such as {category.levels[0]!r})" if category.levels else ""
                what = f"categories{shown}"
                mend = "encode the column, for example with sklearn.preprocessing.OneHotEncoder"
            else:
                what = f"{category.missing} missing values"
                mend = "fill them, for example with sklearn.impute.SimpleImputer"
            problems.append(
                (
                    category.name,
                    f"column {name} has {what}, but oblique splits add up numbers: {mend}, leave it out with "
                    "drop=, or pass splits='univariate'",
                )
            )
        refuse(problems)

    def _check_parameters(self) -> None:
        for name, known in (
            ("splits", SPLITS),
            ("norm", tuple(NORMS)),
            ("engine", (*ENGINES, PAPER)),
            ("topology", TOPOLOGIES),
        ):
            arguments.choice(getattr(self, name), name, known)
        if self.splits == "oblique":
            if self.engine not in (known := (*OBLIQUE_ENGINES, PAPER)):
                raise ValueError(
                    f"engine={self.engine!r} supports only univariate splits: for splits='oblique', pass one of "
                    f"{', '.join(map(repr, known))}"
                )
            if self.max_thresholds is not None:
                raise ValueError(
                    f"max_thresholds={self.max_thresholds!r} applies only to univariate splits: pass None for "
                    "splits='oblique'"
                )
        check_variant(self.engine, self.variant, VARIANTS)
        if self.random_state is not None and not (
            arguments.is_integer(self.random_state) and 0 <= self.random_state < 2**32
        ):
            raise ValueError(
                f"random_state={self.random_state!r}: expected an integer from 0 to 2**32 - 1, or None, which means 0"
            )
        checked(self.constraints)

    def _solve(self, problem: PosedDiagram, limits: Limits, progress: Progress | None) -> Result:
        seed = 0 if self.random_state is None else int(self.random_state)
        if problem.incomplete is not None and progress is not None:
            progress = without_bounds(progress)
        with _few_blas_threads(limits.threads):  # otherwise linear algebra uses all cores
            result = self._engine()(
                problem.problem, limits=limits, random_state=seed, shares=self._shares(problem.X), progress=progress
            )
        if result.model is None:
            if result.status is Status.INFEASIBLE:
                scope = self._scope(problem, result)
                raise InfeasibleError(infeasible_text(problem, scope), replace(result, scope=scope))
            if result.stats.stopped_by == "memory_limit":
                raise MemoryLimitError(f"the {self.engine} engine found no diagram")
            raise_ended(result.stats.stopped_by)
            more = parameter("time_limit")
            raise TimeoutError(f"the {self.engine} engine found no diagram within the time limit: raise {more}")
        model = self._lifted(result.model, problem)
        require_as_reported(model, problem, result)
        result = of_fewer_tests(replace(result, model=model), problem)
        if holds_least(model, problem):
            return result
        # By rounding, the weight of a split is slightly too small: solve again with a stricter limit. The first bound
        # stays valid, because it is about diagrams whose splits may be slightly lighter.
        cost = problem.problem.cost
        heavier = least_integer(least_weight_of_split(problem.constraints, cost), cost, surely=True)
        sure = replace(problem, problem=replace(problem.problem, min_weight=heavier))
        return bounded_by(result, self._solve(sure, left_after(result.stats, limits), progress))

    def _engine(self) -> Callable[..., Result]:
        """The solve function of the engine."""
        if self.engine == PAPER:
            from proofwood.papers.odd.solve import solve as as_printed  # start-up time: the solvers

            return partial(as_printed, variant="scipy" if self.variant is None else self.variant)
        return partial(solve, engine=self.engine)

    def _shares(self, X: FloatArray) -> Shares:
        """How engines share the time limit; with ``time_limit="auto"``, so that equal calls give equal models."""
        if self.time_limit != AUTO:
            return DEFAULT_SHARES
        seconds = seconds_of(self.time_limit, self._n_values(X))
        return DEFAULT_SHARES if seconds is None else steady_shares(X.shape[0], X.shape[1], seconds)

    def _lifted(self, model: NodeTable, posed: PosedDiagram) -> NodeTable:
        """A model of the engine in the units of the columns, with the weights of the training rows."""
        if isinstance(posed.tests, Scaling):
            lifted = posed.tests.lift(model, posed.X)
        else:
            lifted = preorder(posed.tests.lift(model))
        if posed.problem.tree:
            lifted = unroll(lifted)  # a leaf per branch; the engine has one per class
        return refresh(lifted, posed.X, posed.codes, posed.problem.rows.n_classes, posed.weights)

    def _cost(self, problem: PosedDiagram) -> float:
        return share_of(self.model_, problem)

    def _finish(self, problem: PosedDiagram) -> None:
        if self.result_.status is Status.OPTIMAL and _margin_decides(self.result_):
            warnings.warn(
                f"the diagram is proved optimal among {self._among()}. Hyperplanes with a smaller margin are not "
                "considered, so a diagram with such hyperplanes may cost less.",
                OptimalityWarning,
                stacklevel=4,
            )
        self.fairness_ = attained(self.model_, problem)
        self.shortfall_ = lacking(self.model_, problem)
        self.flow_ = edge_weights(self.model_, problem.X, problem.weights)

    def recount(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, *, sensitive_features: Any = None
    ) -> float:
        """The objective of ``model_``, counted row by row without an engine. On training data it is ``objective_``.

        Parameters
        ----------
        X, y, sample_weight : as given to :meth:`fit`
        sensitive_features : as given to :meth:`fit`; needed only if a constraint has a penalty

        Raises
        ------
        ValueError
            If ``y`` has a label that was not seen in training, ``X`` does not fit the model, or groups are missing.
        """
        fitted = self._as_fitted()
        soft = tuple(one for one in checked(fitted.constraints) if not must_be_met(one))
        groups = compared_groups(soft, X, sensitive_features) if soft else None

        def constrain(posed: PosedDiagram, given: ClassRows) -> PosedDiagram:
            return constrained(posed, given, soft, groups) if soft else posed

        return fitted._recount(X, y, sample_weight, constrain)

    # -------------------------------------------------------------------------------------------------------- show

    def _flow(self) -> FloatArray | None:
        return None if self.model_.is_tree else self.flow_

    def _size(self) -> str:
        return ngettext("%(n)s split", "%(n)s splits", self.model_.n_splits)

    def _scope(self, problem: PosedDiagram, result: Result) -> tuple[str, ...]:
        scope = super()._scope(problem, result)
        # infeasibility is proved only for hyperplanes that keep the margin
        unmet = result.status is Status.INFEASIBLE and self.splits == "oblique"
        by_margin = _margin_decides(result) or (unmet and result.stats.proved_by != LEAVES_ONLY)
        return (*scope, gettext("over %(what)s", what=self._among())) if by_margin else scope

    def _among(self) -> str:
        """Text that names the hyperplanes among which an oblique model is optimal."""
        norm, scaled = gettext(NORMS[self.norm]), number(f"{MARGIN:g}")
        return gettext(
            "hyperplanes with %(norm)s that separate by at least %(n)s of the scaled columns", norm=norm, n=scaled
        )

    def _describe_proof(self) -> str:
        text = super()._describe_proof()
        reason = STOPPED.get(self.result_.stats.stopped_by or "")
        return text if reason is None else f"{text}; {reason}"

    def _unproved(self) -> str:
        reason = STOPPED.get(self.result_.stats.stopped_by or "")
        return super()._unproved() + ("" if reason is None else f" The reason: {reason}.")

    def _facts(self) -> list[tuple[str, str]]:
        model, slots = self.model_, sum(_widths(self.widths)) - 1
        beyond = max(0, model.n_splits - 1)
        price = float(self.alpha) * beyond / slots if slots else 0.0
        total = float(model.weight[0].sum())
        soft = [c for c in checked(self.constraints) if isinstance(c, FairnessConstraint) and c.penalty is not None]
        penalty = sum(float(c.penalty or 0) * self.shortfall_[repr(c)] / total for c in soft)
        errors = max(0.0, self.objective_ - price - penalty)
        share = gettext(
            "errors %(errors)s + nodes %(price)s (%(n)s of %(n_all)s beyond the root)",
            errors=number(f"{errors:.4g}"),
            price=number(f"{price:.4g}"),
            n=beyond,
            n_all=slots,
        )
        if soft:
            share += gettext(" + penalties %(penalty)s", penalty=number(f"{penalty:.4g}"))
        lines = [(gettext("share"), share)]
        if self.result_.stats.proved_by is not None:
            lines.insert(0, (gettext("proved by"), self.result_.stats.proved_by))
        if self.splits == "oblique":
            among = gettext("thresholds of one column, and %(what)s", what=self._among())
            lines.append((gettext("splits"), among))
        for constraint in checked(self.constraints):
            if isinstance(constraint, FairnessConstraint):
                ratio = number(f"{self.fairness_[repr(constraint)]:.4g}")
                shown = gettext("worst ratio %(ratio)s", ratio=ratio)
                if constraint.penalty is not None:
                    short = number(f"{self.shortfall_[repr(constraint)]:.6g}")
                    shown += ", " + gettext("%(n)s rows short", n=short)
            elif isinstance(constraint, MaxSplits):
                shown = gettext("%(n)s in use", n=model.n_splits)
            else:
                inner = list(model.splits())
                least = float(model.weight[inner].sum(axis=1).min()) if inner else None
                shown = gettext("no split")
                if least is not None:
                    shown = gettext("least weight of a split %(weight)s", weight=number(f"{least:.6g}"))
            lines.append((gettext("constraint"), f"{constraint!r}: {shown}"))
        return lines

    def _claim(self) -> str:
        kinds = {
            ("univariate", True): gettext("no univariate tree of widths %(widths)s%(meeting)s costs less"),
            ("univariate", False): gettext("no univariate diagram of widths %(widths)s%(meeting)s costs less"),
            ("oblique", True): gettext("no oblique tree of widths %(widths)s%(meeting)s costs less"),
            ("oblique", False): gettext("no oblique diagram of widths %(widths)s%(meeting)s costs less"),
        }
        bound = any(map(must_be_met, checked(self.constraints)))
        meeting = gettext(" that meets the constraints") if bound else ""
        return kinds[self.splits, self.topology == "tree"] % {"widths": _shown_widths(self.widths), "meeting": meeting}

    def _less(self) -> str:
        splits = way_out("MaxSplits", "--max-splits")
        return f"a larger alpha, smaller widths, {splits}, or fewer tests with {parameter('max_thresholds')}"

    # ------------------------------------------------------------------------------------------------------ saving

    def _parameters_to_save(self) -> dict[str, Any]:
        return {**super()._parameters_to_save(), "constraints": all_in_plain(self.constraints)}

    @classmethod
    def _parameters_from(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        made = all_from_plain(saved.get("constraints", ()))
        checked(made)
        # Files without a norm are from versions that always used "l1".
        return super()._parameters_from({"norm": "l1", **saved, "constraints": made})

    def _columns_to_save(self) -> dict[str, Any]:
        fairness = {"fairness": self.fairness_} if self.fairness_ else {}
        if self.shortfall_:
            fairness["shortfall"] = self.shortfall_
        return {**super()._columns_to_save(), **fairness, "flow": self.flow_.tolist()}

    def _restore_columns(self, saved: Mapping[str, Any]) -> None:
        super()._restore_columns(saved)
        self.fairness_ = {str(name): float(ratio) for name, ratio in saved.get("fairness", {}).items()}
        self.shortfall_ = {str(name): float(weight) for name, weight in saved.get("shortfall", {}).items()}
        flow = np.array(saved.get("flow"), dtype=np.float64)
        if flow.ndim != 2 or flow.shape[1] != 2 or not np.all(np.isfinite(flow)) or np.any(flow < 0):
            raise ValueError("flow must have two finite weights of at least 0 per node")
        reports = [(self.fairness_, False), (self.shortfall_, True)]
        for one in checked(self.constraints):
            for values, soft in reports:
                if isinstance(one, FairnessConstraint) and (one.penalty is not None or not soft):
                    value = values.get(repr(one), math.nan)
                    if not 0 <= value < math.inf:
                        raise ValueError(f"{one!r} has no valid value in fairness or shortfall")
        self.flow_ = flow


# ------------------------------------------------------------------------------------------------------- internals


def _margin_decides(result: Result) -> bool:
    """Whether the bound of an oblique result may hold only among hyperplanes that keep the margin."""
    raised_by = "conflict bound" if result.status is Status.OPTIMAL else None
    counted = result.stats.counters.get(BY_MARGIN, 0) > 0
    return counted and result.lower_bound > 0 and result.stats.proved_by == raised_by


def _widths(given: Any) -> tuple[int, ...]:
    """``widths`` as a tuple of integers. Raise ValueError if they are not the widths of a skeleton."""
    if isinstance(given, (str, bytes, Mapping, Set, Iterator)) or not isinstance(given, Iterable):
        raise ValueError(f"widths={given!r}: expected a sequence of integers, one per layer, such as (1, 2, 4, 4)")
    widths = tuple(given)
    check_widths(widths)
    return tuple(int(width) for width in widths)


def _shown_widths(given: Any) -> str:
    return "(" + ", ".join(map(str, _widths(given))) + ")"


def _few_blas_threads(most: int) -> AbstractContextManager[Any]:
    """Limit BLAS to ``most`` threads inside a ``with`` block, or to fewer if the user has set a lower limit."""
    pools = ThreadpoolController().select(user_api="blas")
    fewest: dict[str, int] = {}
    for pool in pools.info():
        fewest[pool["prefix"]] = min(fewest.get(pool["prefix"], most), pool["num_threads"])
    limited: AbstractContextManager[Any] = pools.limit(limits=fewest)
    return limited
