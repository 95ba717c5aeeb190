"""``MinimalTreeClassifier``: the provably smallest tree that makes no error on the training rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from proofwood import arguments
from proofwood.engines.interrupts import ended_by, left_after, raise_ended
from proofwood.engines.minimal import solve as search
from proofwood.estimators.classifier import ClassRows
from proofwood.estimators.over_tests import ClassifierOverTests, Posed, require_clear_majorities
from proofwood.estimators.shared_docs import documented
from proofwood.exceptions import DataError
from proofwood.hints import parameter
from proofwood.language import gettext, ngettext
from proofwood.memory import MemoryLimitError
from proofwood.model.evaluate import predict
from proofwood.model.node_table import NodeTable
from proofwood.model.reshape import preorder, refresh
from proofwood.problem.minimal import MinimalTreeProblem, Minimize
from proofwood.problem.ranked import RankedRows
from proofwood.problem.tree import check_depth
from proofwood.result import Limits, Part, Progress, ProgressEvent, Result, Status, first_stop, for_these_tests

ENGINES = ("auto", "search", "paper")
ON_CONFLICT = ("error", "majority")
_SHOWN_CONFLICTS = 3


@documented
@dataclass(eq=False, repr=False)
class MinimalTreeClassifier(ClassifierOverTests):
    r"""Smallest decision tree that is right on every training row, with a proof that no smaller one exists.

    The size is the depth, or the depth and then the number of nodes [1]_, or the number of nodes at any depth. Ordered
    columns are tested at every threshold between neighbouring values, categories by one test per level. The search is
    dynamic programming over sets of rows.

    Parameters
    ----------
    minimize : {"depth", "nodes", "nodes-any-depth"}, default "depth"
        ``"depth"``: least depth. ``"nodes"``: least depth, and the fewest nodes among trees of that depth.
        ``"nodes-any-depth"``: fewest nodes, however deep the tree.
    max_depth : int or None, default None
        Most tests on a path; ValueError if the data needs a deeper tree.
    max_errors : int, default 0
        Most training weight that may be wrong; without weights, a number of rows.
    on_conflict : {"error", "majority"}, default "error"
        What to do with rows of equal values and different labels, which no tree can all get right. ``"error"`` raises
        an error that counts and shows them. ``"majority"`` gives all rows of such a group the label with the most
        weight (ties: the first in sorted order) and learns the smallest tree that is right on these labels.
        ``max_errors`` then counts errors against these labels.
    engine : {"auto", "search", "paper"}, default "auto"
        ``"auto"`` is the same as ``"search"``. ``"paper"`` is the method of [1]_ as printed, incremental SAT. It is a
        reference, slower on every table tried, and does not support ``max_errors`` and ``"nodes-any-depth"``.
    max_thresholds, categorical_features, drop, missing_values, written_as, bands : as in every learner
    threshold_rule, unseen, time_limit, memory_limit, n_jobs, callback, verbose : as in every learner

    Attributes
    ----------
    classes_, bands_, target_name_, n_features_in_, feature_names_in_, categories_ : as in every learner
    schema_, hints_, validation_, model_, result_ : as in every learner
        ``result_.parts`` has objective, lower bound and status of the depth and of the number of nodes.
    objective_ : as in every learner
        Here it is the depth, or the number of all nodes.
    lower_bound_, gap_, status_ : as in every learner
        The status is ``"optimal"`` if every quantity that ``minimize`` names is proved.
    trace_, feature_importances_, tested_columns_, loaded_ : as in every learner

    References
    ----------
    .. [1] Avellaneda (2020), Efficient Inference of Optimal Decision Trees, AAAI.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from proofwood import MinimalTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = MinimalTreeClassifier(minimize="nodes").fit(X, y)
    >>> tree.status_ == "optimal", tree.model_.depth, tree.model_.n_nodes
    (True, 4, 15)
    """

    class_weight = None  # class weights would change nothing, since a tree without errors has none in any class

    minimize: str = "depth"
    _: KW_ONLY
    max_depth: int | None = None
    max_errors: int = 0
    on_conflict: str = "error"
    engine: str = "auto"
    max_thresholds: int | None = None
    categorical_features: Any = None
    drop: Any = None
    missing_values: Any = None
    written_as: Mapping[Any, str | None] | None = None
    bands: Any = None
    threshold_rule: str = "shortest"
    unseen: str = "majority"
    time_limit: float | None = 60.0
    memory_limit: int | str | None = None
    n_jobs: int | None = None
    callback: Progress | None = None
    verbose: int = 0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Sparse rows are read, but most rows of a sparse table are alike, which this learner refuses by default.
        tags.input_tags.sparse = self.on_conflict == "majority"
        return tags

    def _problem(self, given: ClassRows) -> Posed[MinimalTreeProblem]:
        self._check_parameters()
        binarizer, rows, scope = self._binarized(given)
        learned = rows
        if self.on_conflict == "majority":
            require_clear_majorities(rows, "on_conflict='majority'")
            learned = rows.by_majority()
        max_errors = learned.most_wrong(int(self.max_errors))
        if learned.unavoidable > max_errors:
            raise DataError(self._conflict(rows, scope, thinned=bool(binarizer.thinned)))
        problem = MinimalTreeProblem(learned, Minimize(self.minimize), self.max_depth, max_errors)
        return self._posed(problem, binarizer, rows, given, scope)

    def _check_parameters(self) -> None:
        for name, known in (
            ("minimize", tuple(map(str, Minimize))),
            ("engine", ENGINES),
            ("on_conflict", ON_CONFLICT),
        ):
            arguments.choice(getattr(self, name), name, known)
        if self.max_depth is not None:
            check_depth(self.max_depth)
        if not arguments.is_integer(self.max_errors) or self.max_errors < 0:
            raise ValueError(f"max_errors={self.max_errors!r}: expected an integer from 0, the most errors to permit")

    def _conflict(self, rows: RankedRows, scope: tuple[str, ...], *, thinned: bool) -> str:
        """The message that counts and shows contradictory rows; ``thinned`` if some thresholds have no test."""
        group, weights = rows.groups
        torn = np.flatnonzero((weights > 0).sum(axis=1) > 1)
        shown = []
        for number in torn[:_SHOWN_CONFLICTS].tolist():
            members = np.flatnonzero(group == number)
            first = int(members[0])
            other = int(members[rows.codes[members] != rows.codes[first]][0])
            shown.append(f"{rows.kept[first]} and {rows.kept[other]}")
        same = "no difference in the tests" if scope else "equal values"
        thresholds = f"raise {parameter('max_thresholds', self.max_thresholds)}, or " if thinned else ""
        majority, most = parameter("on_conflict", "majority"), parameter("max_errors")
        minority = rows.unavoidable * rows.unit
        if rows.rounding is not None:
            minority = max(Fraction(0), minority - rows.rounding.above)
        return (
            f"{int(np.isin(group, torn).sum())} rows in {torn.size} groups have {same} but different labels, such as "
            f"rows {', '.join(shown)}. Every tree{for_these_tests(scope)} gets at least {float(minority):g} of them "
            f"wrong (counted by weight), but {parameter('max_errors', self.max_errors)}. To learn the smallest tree "
            f"that is right on the majority of each group, {thresholds}pass {majority}; or raise {most}, or correct "
            "the rows."
        )

    def _solve(self, problem: Posed[MinimalTreeProblem], limits: Limits, progress: Progress | None) -> Result:
        solve = _engine(self.engine)
        result = solve(problem.problem, limits=limits, progress=progress)
        rows = problem.problem.rows
        rounded = rows.rounding is not None  # otherwise the engine has counted the errors exactly
        if rounded and result.model is not None and rows.real_errors(result.model) > self.max_errors:
            result = self._surely(solve, problem.problem, result, limits)
        if result.model is None:
            right = "right on all rows" if self.max_errors == 0 else f"wrong on at most {self.max_errors} rows"
            size = "" if self.max_depth is None else f" of depth at most {self.max_depth}"
            depth = f"no tree{size} is {right}"
            tests = for_these_tests(problem.scope)
            if result.status is Status.INFEASIBLE:
                thinned = f"{parameter('max_thresholds')} or " if problem.binarizer.thinned else ""
                more = f"raise {thinned}{parameter('max_depth')}, or allow errors with {parameter('max_errors')}"
                raise ValueError(f"{depth} (proved){tests}: {more}")
            if result.stats.stopped_by == "memory_limit":
                raise MemoryLimitError("the search ran out of memory before it found a tree within max_errors")
            raise_ended(result.stats.stopped_by)
            raise TimeoutError(
                f"the time limit was reached before the search could decide whether {depth}{tests}: raise "
                + parameter("time_limit")
                + ("" if self.max_depth is None else f" or {parameter('max_depth')}")
            )
        lifted = preorder(problem.binarizer.lift(result.model))
        model = refresh(lifted, problem.X, problem.codes, problem.problem.rows.n_classes, problem.weights)
        counted = _counted(model, problem, int(self.max_errors))
        if counted != result.objective:
            raise AssertionError(f"the tree has objective {counted}, but the engine reported {result.objective}")
        return replace(result, model=model)

    def _surely(
        self, solve: Callable[..., Result], problem: MinimalTreeProblem, relaxed: Result, limits: Limits
    ) -> Result:
        """Solve again with a stricter limit, because ``relaxed`` slightly exceeds ``max_errors`` by rounding.

        The lower bound of ``relaxed`` stays valid: it is about trees that may make slightly more errors.
        """
        rows = problem.rows
        sure = rows.most_wrong(int(self.max_errors), surely=True)
        result = None
        if sure >= rows.unavoidable:
            result = solve(replace(problem, max_errors=sure), limits=left_after(relaxed.stats, limits))
            stopped_by = first_stop(relaxed.stats.stopped_by, result.stats.stopped_by)
            result = replace(result, stats=replace(result.stats, stopped_by=stopped_by))
            if result.status is Status.UNKNOWN:
                return result
        if result is None or result.model is None:
            raise DataError(
                f"cannot decide whether a tree meets max_errors={self.max_errors}: the best trees get almost exactly "
                "this weight wrong, and sample_weight has too many digits to decide whether it is more or less. Round "
                "sample_weight, for example to six digits, or choose another max_errors"
            )
        lower = relaxed.lower_bound
        if self.minimize == "nodes" and result.part("depth").objective != relaxed.part("depth").objective:
            lower = 2 * relaxed.part("depth").lower_bound + 1  # that bound on the nodes was for another depth
        lower = min(lower, result.objective)
        proved = lower == result.objective and relaxed.status is Status.OPTIMAL
        status = Status.OPTIMAL if proved else Status.FEASIBLE
        parts = tuple(
            Part(part.unit, part.objective, lower if part.unit == result.unit else 0.0, Status.FEASIBLE)
            for part in result.parts
        )
        return replace(
            result,
            parts=result.parts if proved else parts,
            lower_bound=lower,
            status=status,
            stats=replace(result.stats, stopped_by=ended_by(result.stats.stopped_by, complete=proved)),
            trace=(ProgressEvent(result.stats.seconds, result.objective, lower),),
        )

    def _cost(self, problem: Posed[MinimalTreeProblem]) -> float:
        return _counted(self.model_, problem, int(self.max_errors))

    def _told_parts(self, result: Result) -> tuple[Part, ...]:
        """The parts of the result to report: depth, nodes or both, depending on ``minimize``."""
        wanted = {"depth": ("depth",), "nodes": ("depth", "nodes"), "nodes-any-depth": ("nodes",)}[self.minimize]
        return tuple(part for part in result.parts if part.unit in wanted)

    def _less(self) -> str:
        more, fewer = parameter("max_errors"), parameter("max_thresholds")
        return f"{parameter('minimize', 'depth')}, a larger {more}, or fewer tests with {fewer}"

    def _claim(self) -> str:
        right = gettext("right on every training row")
        if self.max_errors:
            most = int(self.max_errors)
            right = ngettext("wrong on at most %(n)s row", "wrong on at most %(n)s rows", most)
        elif self.on_conflict == "majority":
            right = gettext("right on every training row, except for the minority of contradictory rows,")
        return {
            "depth": gettext("no tree that is %(right)s has less depth", right=right),
            "nodes": gettext(
                "no tree that is %(right)s has less depth, and none of this depth has fewer nodes", right=right
            ),
            "nodes-any-depth": gettext("no tree that is %(right)s has fewer nodes", right=right),
        }[self.minimize]


def _engine(name: str) -> Callable[..., Result]:
    """The solve function of the engine called ``name``."""
    if name == "paper":
        from proofwood.papers.inferdt.solve import solve as as_printed  # start-up time: the SAT solvers

        return as_printed
    return search


def _counted(model: NodeTable, posed: Posed[MinimalTreeProblem], max_errors: int) -> float:
    """The depth or number of nodes of a tree over the columns; ``inf`` if it makes more than ``max_errors`` errors."""
    rows = posed.problem.rows
    wrong = rows.real_sum(predict(model, posed.X) != rows.codes)
    return float(posed.problem.size(model)) if wrong <= max_errors else math.inf
