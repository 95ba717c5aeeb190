"""``OptimalBDDClassifier``: the provably best binary decision diagram over a limited number of tests."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Hashable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from graphlib import TopologicalSorter
from typing import Any

import numpy as np

from proofwood import arguments
from proofwood.data.binarize import Binarizer
from proofwood.engines.bdd.solve import solve
from proofwood.engines.bdd.subset.tree_tests import LARGE, MOST_ROWS, spread, start_of_trees
from proofwood.engines.interrupts import raise_ended
from proofwood.estimators.classifier import ClassRows
from proofwood.estimators.over_tests import ClassifierOverTests, Posed, require_clear_majorities
from proofwood.estimators.parameters import check_checkpoint, check_variant
from proofwood.estimators.shared_docs import documented
from proofwood.hints import parameter
from proofwood.language import gettext, ngettext
from proofwood.memory import MemoryLimitError
from proofwood.model.evaluate import predict
from proofwood.model.node_table import LEAF, IntArray, NodeTable
from proofwood.model.reshape import refresh, test_of
from proofwood.papers.maxsat_bdd import VARIANTS
from proofwood.parallel.search_file import SearchFile, digest, recorded_rows
from proofwood.problem.bdd import BDDProblem, Unknown
from proofwood.problem.objectives import TreeCost
from proofwood.problem.ranked import RankedRows, require_time
from proofwood.problem.targets import recorded_classes
from proofwood.result import Limits, Progress, Result, Status

ENGINES = ("auto", "search", "paper")
OBJECTIVES = ("errors", "features")
_FEW_SHARE, _FEW_SECONDS = 0.3, 1.5e-7
"""Limits of the time for a first diagram from some of the rows: a share of the time limit, and seconds per row."""
_LEAST_SECONDS = 5e-8
"""The least seconds per value to prepare all rows; with less time left, the preparation does not start."""
_FEWEST_ROWS = 200
"""The least rows for the first trees. If a wide table permits fewer, the first model is a leaf."""


@documented
@dataclass(eq=False, repr=False)
class OptimalBDDClassifier(ClassifierOverTests):
    r"""Binary decision diagram with provably the fewest training errors over at most ``max_features`` tests.

    The diagram is ordered and reduced [1]_: all paths make their tests in the same order, no two nodes are equal, and
    both answers to a test lead to different nodes. Its training errors depend only on the set of tests, so the search
    is branch and bound over sets of tests. The order of the tests, and the predictions where no training row goes, are
    then chosen for the smallest diagram.

    Parameters
    ----------
    max_features : int, default 4
        Most tests of the diagram, at least 0.
    objective : {"errors", "features"}, default "errors"
        ``"errors"``: the fewest errors with at most ``max_features`` tests. ``"features"``: the fewest tests with which
        a diagram makes only unavoidable errors, those of rows that are equal in all tests; ``max_features`` is ignored.
    unknown : {"smallest", "parent", "merge", "solver"}, default "smallest"
        How to predict combinations of test results that no training row has. ``"smallest"``: so that the diagram is
        smallest, over all orders of the tests. ``"parent"``: the majority of the branch (BDD-P). ``"merge"``: so that
        subtrees merge, layer by layer (BDD-C). ``"solver"``: as the SAT or MaxSAT solver sets them (BDD-S), only with
        ``engine="paper"``.
    tie_break : {None, "size"}, default None
        ``"size"``: among sets of tests with equally few errors, choose one with the smallest diagram.
    engine : {"auto", "search", "paper"}, default "auto"
        ``"auto"`` is the same as ``"search"``. ``"paper"`` is a method of [1]_ as printed. It is a reference, slower on
        every table tried, and does not support ``alpha``.
    variant : str or None, default None
        The method, with ``engine="paper"``. For fewest errors: ``"maxsat"`` (the default), ``"heuristic"`` (the best
        diagram over the tests of a CART tree of the same depth) or ``"greedy"`` (the oblivious trees of Kohavi and Li:
        ODT with ``unknown="parent"``, OODG with ``"merge"``). The last two do not prove optimality over all tests. For
        fewest features: the encodings ``"bdd2"`` (the default) or ``"bdd1"``.
    alpha : float in [0, 1], default 0.0
        Price of each inner node, as a share of the total weight. The objective is errors plus the price of the nodes.
    max_thresholds, categorical_features, drop, missing_values, written_as, bands : as in every learner
    threshold_rule, unseen, class_weight : as in every learner
    time_limit : as in every diagram
    memory_limit, n_jobs, callback, verbose : as in every learner
    checkpoint : as in every search that can go on
        Not with ``engine="paper"``.

    Attributes
    ----------
    classes_, bands_, target_name_, n_features_in_, feature_names_in_, categories_ : as in every learner
    schema_, hints_, validation_ : as in every learner
    order_ : (n_tests,) column of each test, from the top of the diagram to its bottom
    model_, result_ : as in every learner
        ``result_.parts`` has objective, lower bound and status of the errors (or features) and of the number of inner
        nodes ("splits"). The status of the result is the status of the errors (or features).
    objective_ : as in every learner
        Here it is the wrong training weight plus the price of the nodes, or the number of tests.
    lower_bound_, gap_, status_, trace_, feature_importances_, tested_columns_, loaded_ : as in every learner

    References
    ----------
    .. [1] Hu, Huguet, Siala (2022), Optimizing Binary Decision Diagrams with MaxSAT for Classification, AAAI.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from proofwood import OptimalBDDClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> diagram = OptimalBDDClassifier(max_features=3).fit(X, y)
    >>> diagram.status_ == "optimal", int(diagram.objective_)
    (True, 1)
    """

    _dashed = True
    _fits_table = True
    _limits_tests = True

    max_features: int = 4
    _: KW_ONLY
    objective: str = "errors"
    unknown: str = "smallest"
    tie_break: str | None = None
    engine: str = "auto"
    variant: str | None = None
    alpha: float = 0.0
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
    callback: Progress | None = None
    verbose: int = 0
    checkpoint: str | os.PathLike[str] | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A few tests are fitted as closely as possible to the training rows, even if class weights differ by 10**7 and
        # rows of the light class have no effect. So the score on other rows can be low.
        tags.classifier_tags.poor_score = True
        return tags

    def _problem(self, given: ClassRows) -> Posed[BDDProblem]:
        self._check_parameters()
        if self._deadline is not None and self._answers_at_once:
            left = max(0.0, self._deadline - time.monotonic())
            self._deadline -= min(_FEW_SHARE * left, _FEW_SECONDS * given.n_rows)
            require_time(self._deadline, _LEAST_SECONDS * given.columns.size)
        binarizer, rows, scope = self._binarized(given)
        if self.objective == "features":
            require_clear_majorities(rows, "objective='features'")
        return self._posed(self._over(rows), binarizer, rows, given, scope)

    def _over(self, rows: RankedRows) -> BDDProblem:
        """The problem that the parameters define, over the tests of ``rows``."""
        return BDDProblem(
            rows=rows,
            max_features=int(self.max_features),
            fewest=self.objective == "features",
            cost=TreeCost.of(
                alpha=self.alpha, total=rows.total, unit=rows.unit, priced="nodes", rounding=rows.rounding
            ),
            unknown=Unknown(self.unknown),
            smallest_set=self.tie_break == "size",
        )

    @property
    def _answers_at_once(self) -> bool:
        """Whether a diagram over only some of the tests is a valid model for these parameters."""
        return self.objective != "features" and self.unknown != "solver"

    def _untested(self, given: ClassRows) -> tuple[Posed[BDDProblem], Result] | None:
        if not self._answers_at_once:
            return None
        try:
            posed = self._over_few_tests(given)
        except MemoryError:  # the memory limit may be the one that was reached
            posed = None
        if posed is None:
            posed = self._without_tests(given)
        result = self._posed_back(solve(posed.problem), posed)
        result = replace(result, trace=result.trace[-1:])  # it is the only answer
        if posed.problem.smallest_set and len(result.parts) > 1 and result.parts[1].objective > 0:
            # Sets of other tests may have smaller diagrams.
            size = replace(result.parts[1], lower_bound=0.0, status=Status.FEASIBLE)
            result = replace(result, parts=(result.parts[0], size))
        return posed, result

    def _over_few_tests(self, given: ClassRows) -> Posed[BDDProblem] | None:
        """A problem over all rows and few tests, which good trees for some of the rows use; None without such tests."""
        if self.max_features == 0 or self.max_thresholds is not None:  # all rows decide which thresholds are left out
            return None
        X, codes, sample_weight = given.columns, given.codes, given.weights
        views = self._views(X)
        weighed = np.flatnonzero(given.real_weights > 0)
        width = max(len(views.views), self._n_values(X) // given.n_rows, 1)
        some = weighed[spread(weighed.size, min(MOST_ROWS, LARGE // width))]
        if some.size < min(weighed.size, _FEWEST_ROWS):
            return None
        over, rows = RankedRows.with_tests(
            views.values(X[some]),
            views.by_level,
            codes[some],
            n_classes=given.n_classes,
            sample_weight=None if sample_weight is None else sample_weight[some],
        )
        chosen, stopped_by = start_of_trees(rows, int(self.max_features), Limits(0.0))
        raise_ended(stopped_by)
        if not chosen:
            return None
        tests = views.tests(over.only(chosen))
        ranked = RankedRows.from_bits(tests.transform(X), codes, n_classes=given.n_classes, sample_weight=sample_weight)
        return self._posed(self._over(ranked), tests, ranked, given)

    def _without_tests(self, given: ClassRows) -> Posed[BDDProblem]:
        rows = RankedRows.without_tests(given.codes, n_classes=given.n_classes, sample_weight=given.weights)
        return self._posed(self._over(rows), Binarizer.from_parts([[]] * given.columns.shape[1]), rows, given)

    def _to_count(self, given: ClassRows) -> Posed[BDDProblem]:
        if self.objective == "features":  # the unavoidable errors depend on the tests
            return self._problem(given)
        return self._without_tests(given)

    def _check_parameters(self) -> None:
        check_checkpoint(self.checkpoint)
        for name, known in (
            ("objective", OBJECTIVES),
            ("unknown", tuple(map(str, Unknown))),
            ("tie_break", (None, "size")),
            ("engine", ENGINES),
        ):
            arguments.choice(getattr(self, name), name, known)
        if self.checkpoint is not None and self.engine == "paper":
            raise ValueError(
                f"checkpoint={os.fspath(self.checkpoint)!r} needs engine='search', which can continue from a file: "
                "engine='paper' always starts from the beginning. Pass checkpoint=None or engine='search'"
            )
        check_variant(self.engine, self.variant, VARIANTS)
        if not arguments.is_integer(self.max_features) or self.max_features < 0:
            raise ValueError(
                f"max_features={self.max_features!r}: expected an integer from 0, the most tests that the diagram "
                "may use"
            )
        if self.objective == "features" and self.alpha != 0:
            raise ValueError(
                f"alpha={self.alpha!r} is a price of nodes, which objective='features' does not have: pass alpha=0"
            )

    def _solve(self, problem: Posed[BDDProblem], limits: Limits, progress: Progress | None) -> Result:
        if self.engine == "paper":
            from proofwood.papers.maxsat_bdd.solve import solve as as_printed  # start-up time: the SAT solvers

            found = as_printed(problem.problem, variant=self.variant, limits=limits, progress=progress)
            return self._posed_back(found, problem)
        if self.checkpoint is None:
            return self._posed_back(solve(problem.problem, limits=limits, progress=progress), problem)
        with SearchFile(self.checkpoint, self._recorded(problem.problem)) as file:
            found = solve(problem.problem, limits=limits, progress=progress, checkpoint=file)
        return self._posed_back(found, problem)

    def _recorded(self, problem: BDDProblem) -> dict[str, Any]:
        """The description of the problem in a checkpoint, by which a later fit recognises it."""
        rows = problem.rows
        return {
            "model": "bdd",
            **recorded_rows(rows.ranks, recorded_classes(rows.codes, rows.n_classes), rows.weights, rows.real_weights),
            "tests": digest(rows.tests_of),
            "max_features": problem.max_features,
            "objective": self.objective,
            "unknown": str(problem.unknown),
            "tie_break": self.tie_break,
            "alpha": float(self.alpha),
        }

    def _posed_back(self, result: Result, problem: Posed[BDDProblem]) -> Result:
        """The result with its model over the columns of the table, and its cost checked."""
        if result.model is None:
            if result.stats.stopped_by == "memory_limit":
                raise MemoryLimitError("the search ran out of memory before it found a diagram")
            raise_ended(result.stats.stopped_by)
            raise TimeoutError(f"no diagram was found within the time limit: raise {parameter('time_limit')}")
        lifted = problem.binarizer.lift(result.model)
        model = refresh(lifted, problem.X, problem.codes, problem.problem.rows.n_classes, problem.weights)
        if _counted(model, problem) != result.objective:
            raise AssertionError(
                f"the diagram costs {_counted(model, problem)}, the engine reported {result.objective}"
            )
        return replace(result, model=model)

    def _keep(self, result: Result, model: NodeTable) -> None:
        super()._keep(result, model)
        self.order_ = _order(model)

    def _cost(self, problem: Posed[BDDProblem]) -> float:
        return _counted(self.model_, problem)

    def _less(self) -> str:
        return f"a smaller {parameter('max_features')}, or fewer tests with {parameter('max_thresholds')}"

    def _claim(self) -> str:
        if self.objective == "features":
            return gettext("no decision diagram over fewer tests is free of avoidable errors")
        tests = ngettext("%(n)s test", "%(n)s tests", self.max_features)
        if self.alpha == 0:
            return gettext("no decision diagram over at most %(tests)s makes fewer errors", tests=tests)
        return gettext("no decision diagram over at most %(tests)s costs less", tests=tests)


def _counted(model: NodeTable, posed: Posed[BDDProblem]) -> float:
    """Cost of a diagram over the columns, or its number of tests (``inf`` if it makes an avoidable error)."""
    problem = posed.problem
    wrong = predict(model, posed.X) != problem.rows.codes
    if problem.fewest:
        avoidable = int(problem.rows.weights[wrong].sum()) > problem.rows.unavoidable
        return math.inf if avoidable else float(len(_tests(model)))
    return float(problem.cost.real_cost(problem.rows.real_sum(wrong), model.n_splits))


Test = tuple[Hashable, ...]


def _tests(model: NodeTable) -> set[Test]:
    """The different tests of a diagram. Two tests may differ only in the side to which missing values go."""
    return {test_of(model, node) for node in model.splits()}


def _by_column(test: Test) -> tuple[Any, ...]:
    """The sort key of a test: column, threshold (level tests first), levels, side of missing values."""
    column, missing_low, asked = test
    if isinstance(asked, frozenset):
        return column, -math.inf, tuple(sorted(asked)), missing_low
    return column, asked, (), missing_low


def _order(model: NodeTable) -> IntArray:
    """The column of each test, in an order that agrees with all paths; :func:`_by_column` decides ties."""
    after: dict[Test, set[Test]] = {test: set() for test in _tests(model)}
    for node in model.splits():
        for child in (int(model.low[node]), int(model.high[node])):
            if model.feature[child] != LEAF:
                after[test_of(model, child)].add(test_of(model, node))
    sorter = TopologicalSorter(after)
    sorter.prepare()
    order: list[int] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=_by_column)
        order += [_by_column(test)[0] for test in ready]
        sorter.done(*ready)
    return np.array(order, dtype=np.int64)
