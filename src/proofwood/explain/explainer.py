"""Explain what a fitted model predicts: one object per model, one method per question."""

from __future__ import annotations

import functools
import itertools
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, cast, get_args

import numpy as np

from proofwood import memory
from proofwood.exceptions import OptimalityWarning
from proofwood.explain import arguments
from proofwood.explain.explanation import UP_TO_ROUNDING, Explanation
from proofwood.explain.models import Explained, explained
from proofwood.explain.oracles.engines import ENGINES, make_oracle
from proofwood.explain.oracles.oracle import Oracle
from proofwood.explain.prices import cell_prices, distance
from proofwood.explain.search import attribution as shares
from proofwood.explain.search import relevance
from proofwood.explain.search.boxes import ask_region, in_region, units
from proofwood.explain.search.counterfactual import nearest
from proofwood.explain.search.enumerate import Enumeration
from proofwood.explain.search.extract import Found, Kind, Method, NotSufficientError, abductive, contrastive
from proofwood.explain.search.inflate import Inflated, inflate
from proofwood.explain.search.questions import Questions, mask_of
from proofwood.explain.search.smallest import HittingSets
from proofwood.explain.search.smallest import smallest as find_smallest
from proofwood.explain.space import Bounds, Group, Key, position
from proofwood.model.node_table import FloatArray, IntArray

if TYPE_CHECKING:
    from proofwood.explain.proofs.certificate import Certifier
    from proofwood.explain.table.records import Explanations

Features = Iterable[Key]
P = ParamSpec("P")
R = TypeVar("R")


def _within_memory(method: Callable[P, R]) -> Callable[P, R]:
    """A method of :class:`Explainer` that keeps its memory limit, and tells when that ended a search."""

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
                    f"{method.__name__} ended without an answer for want of memory ({why}): raise memory_limit or the "
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


LEAST_SECONDS = 1e-6
"""Time for a question where none is left."""
MOST_HOMES = 8
"""Explainers with further columns of missing values that an explainer keeps."""


def about_a_row(method: Callable[Concatenate[Explainer, Any, P], R]) -> Callable[Concatenate[Explainer, Any, P], R]:
    """A method about one row, asked of the explainer in whose space the missing values of the row are."""

    @functools.wraps(method)
    def asked(self: Explainer, x: Any, *args: P.args, **options: P.kwargs) -> R:
        begin = time.monotonic()
        home, row = self._at_home(x)
        return method(home, replace(row, begin=begin), *args, **options)

    return cast("Callable[Concatenate[Explainer, Any, P], R]", asked)


class Explainer:
    """Formal explanations of the predictions of a fitted model.

    Parameters
    ----------
    model : fitted classifier: trees, forests, bagged or boosted trees of scikit-learn, XGBoost, LightGBM, pipelines
        that end in one, and proofwood's own trees and diagrams. Or what ``explained(model)`` gives
    vote : ``"auto"``: what the model predicts; ``"majority"``: the class that most trees predict, ties to the lowest
    feature_groups : from the name of a feature to its 0/1 columns, exactly one of which is 1; other kinds by ``Group``
    bounds : from columns to least and greatest values: what lies outside is not considered
    feature_names : names of the columns, where the model knows none
    integer : columns that hold integers only
    missing : columns in which a missing value is considered, beside those in which a row of ``X`` lacks one, and those
        in which the row (or the table) that is asked about does. Everywhere else every row of the space has a value
    X : rows on which the conversion is checked, beside random ones; a frame also says which columns are integers
    engine : ``"auto"``, ``"box"``, ``"sat"`` (majority votes), ``"bound"``, ``"cpsat"`` (OR-Tools) or ``"smt"`` (z3)
    time_limit : seconds per explanation, None for no limit; an explanation that ran out of it says so in its status.
        Reading the model has no limit, and takes about ten seconds for a million nodes
    memory_limit : bytes that an explanation may add to the memory of the process, or a text such as "4GB"; None for
        80 % of what the process may still use. One that reached it says so in its status, as with the time, and in a
        warning; what the engine learned from earlier rows is forgotten then

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
        feature_groups: Mapping[str, Group | Sequence[Key]] | None = None,
        bounds: Bounds | None = None,
        feature_names: Sequence[str] | None = None,
        integer: Iterable[Key] | None = None,
        missing: Iterable[Key] | None = None,
        X: Any = None,
        engine: str = "auto",
        time_limit: float | None = None,
        memory_limit: int | str | None = None,
    ) -> None:
        arguments.choice(engine, "engine", ENGINES)
        memory.bytes_of(memory_limit)
        self.engine, self.time_limit, self.memory_limit = engine, arguments.seconds(time_limit), memory_limit
        if isinstance(model, Explained):
            stated = {
                "feature_groups": feature_groups,
                "bounds": bounds,
                "feature_names": feature_names,
                "integer": integer,
                "missing": missing,
                "X": X,
            }
            given = [name for name, value in stated.items() if value is not None] + ["vote"] * (vote != "auto")
            if given:
                raise ValueError(
                    f"{', '.join(given)}: this model is converted already. State them in explained(model, ...), or "
                    "pass the fitted model itself"
                )
            self.model = model
        else:
            self.model = explained(
                model,
                vote=vote,
                feature_groups=feature_groups,
                bounds=bounds,
                feature_names=feature_names,
                integer=integer,
                missing=missing,
                X=X,
            )
        # The native engine needs a while to take in a large model, which is no part of the first question.
        self._oracle: Oracle | None = make_oracle(engine, self.model.scores) if engine in ("auto", "box") else None
        self._last: Questions | None = None
        self._sure: Oracle | None = None
        self._homes: dict[tuple[int, ...], Explainer] = {}

    def __getstate__(self) -> dict[str, Any]:
        # engines hold solvers, and build anew what they learned
        return {**self.__dict__, "_oracle": None, "_sure": None, "_last": None, "_homes": {}}

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features that explanations are made of."""
        return self.model.feature_names

    def forget(self) -> None:
        """Give back the memory of what the engine has learned; it begins anew with the next question."""
        self._oracle = self._sure = self._last = None
        self._homes.clear()

    @property
    def oracle(self) -> Oracle:
        """The engine, built when it is first used and kept with all it has learned."""
        if self._oracle is None:
            self._oracle = make_oracle(self.engine, self.model.scores)
        return self._oracle

    @property
    def sure(self) -> Oracle:
        """An engine to which only those rows have another class that have it whatever rounding does."""
        if self._sure is None:
            scores = self.model.scores
            self._sure = make_oracle("auto", replace(scores, margin=-scores.margin))
        return self._sure

    # ----------------------------------------------------------------------------------------------------- explanations

    @_within_memory
    @about_a_row
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
        method: Method = "auto",
        greedy: bool = True,
        start: Features | None = None,
        certificate: bool = False,
        time_limit: float | None = None,
    ) -> Explanation:
        """Why this class: features that suffice for it, whatever the others are, and none of which can be spared.

        Parameters
        ----------
        x : one row: array, series, mapping from names to values, or frame of one row
        smallest : whether to find an explanation of the fewest features
        inflate : whether to widen the values of the features as far as the class allows
        order : features to be left out first in front; for ``inflate`` those to be widened last
        keep, free : features that must, and must not, be part of it
        target : a class or list of classes to be ruled out; all others by default
        method : how to ask, see :func:`proofwood.explain.search.extract.abductive`
        greedy : whether to begin with what a greedy bound leaves over, where neither ``order`` nor ``start`` nor
            ``free`` is given: explanations are shorter by about a third, and mostly faster
        start : features to try first, such as the explanation of a similar row
        certificate : whether to add a proof that can be checked without this package's search
        time_limit : seconds; that of the explainer by default

        Returns
        -------
        Explanation

        Raises
        ------
        NotSufficientError
            If the features outside ``free`` do not suffice.
        """
        begin = x.begin
        arguments.flags(smallest=smallest, inflate=inflate, greedy=greedy, certificate=certificate)
        arguments.choice(method, "method", get_args(Method))
        q = self._questions(x, target)
        calls, limit = q.calls, self._limit(time_limit)
        given = [] if order is None else self.features(order, "order")
        kept, left_free = self.features(keep, "keep"), self.features(free, "free")
        lower = float("nan")
        q.questions.limit(self._left(limit, begin))
        first = None if start is None else self.features(start, "start")
        proved = greedy and first is None and (order is None or smallest) and not left_free
        if proved:
            first = sorted(q.questions.greedy_seed(kept))
        try:
            found = abductive(
                self.oracle,
                q.cells,
                q.label,
                order=None if order is None or smallest else given,
                keep=kept,
                free=left_free,
                start=first,
                proved=proved,
                method=method,
                seconds=self._left(limit, begin),
                questions=q.questions,
            )
        except NotSufficientError as error:
            raise self._cannot_be_free(q, left_free) from error
        status = _status(found, "sufficient")
        if smallest and found.proved:
            best = find_smallest(
                self.oracle,
                q.cells,
                q.label,
                keep=kept,
                free=left_free,
                seconds=self._left(limit, begin),
                questions=q.questions,
                start=found,
            )
            assert best is not None, "some set suffices"
            found, lower = best.found, float(best.lower_bound)
            status = "smallest" if best.optimal else _status(found, "sufficient")
            if best.optimal and self.model.scores.margin and (real := self._least_size(q, kept, left_free)) < lower:
                status, lower = status + UP_TO_ROUNDING, float(real)
        low, high = np.zeros_like(q.cells), np.array(self.model.scores.n_thresholds)
        for feature in found.features:
            columns = list(self.model.scores.features[feature])
            low[columns] = high[columns] = q.cells[columns]
        result = self._explanation(
            "abductive",
            q,
            found.features,
            status,
            found.witnesses,
            begin,
            calls,
            low=low,
            high=high,
            keep=kept,
            lower_bound=lower,
        )
        maximal = None
        if inflate and found.proved:
            result, maximal = self._inflated(result, q, given, begin, limit)
        return self._certified(result, q, begin, limit, left_free, maximal) if certificate else result

    @_within_memory
    @about_a_row
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
        x : one row
        target : a class or list of classes to reach; any other by default
        smallest : whether to find an explanation of the fewest features
        order : features that should rather stay as they are in front
        immutable : features that do not change
        certificate : whether to add a proof that can be checked without this package's search
        time_limit : seconds; that of the explainer by default

        Returns
        -------
        Explanation
            Of status ``"none"`` if it is proved that no change leads there.
        """
        begin = x.begin
        arguments.flags(smallest=smallest, certificate=certificate)
        q = self._questions(x, target)
        calls, limit = q.calls, self._limit(time_limit)
        fixed, lower, optimal = self.features(immutable, "immutable"), float("nan"), False
        given = None if order is None or smallest else self.features(order, "order")
        found = contrastive(
            self.oracle,
            q.cells,
            q.label,
            order=given,
            immutable=fixed,
            seconds=self._left(limit, begin),
            questions=q.questions,
        )
        if smallest and found is not None and found.proved:
            best = find_smallest(
                self.oracle,
                q.cells,
                q.label,
                kind="contrastive",
                free=fixed,
                seconds=self._left(limit, begin),
                questions=q.questions,
                start=found,
            )
            assert best is not None, "some change is known"
            found, lower, optimal = best.found, float(best.lower_bound), best.optimal
        if found is None:
            result = self._explanation("contrastive", q, (), "none", {}, begin, calls, immutable=tuple(fixed))
        else:
            result = self._explanation(
                "contrastive",
                q,
                found.features,
                "smallest" if optimal else _status(found, "changing"),
                found.witnesses,
                begin,
                calls,
                lower_bound=lower,
                immutable=tuple(fixed),
            )
        return self._certified(result, q, begin, limit, fixed) if certificate else result

    @_within_memory
    @about_a_row
    def counterfactual(
        self,
        x: Any,
        *,
        target: Any = None,
        metric: Literal["l1", "changes"] = "l1",
        weights: Mapping[Key, float] | None = None,
        immutable: Features = (),
        time_limit: float | None = None,
    ) -> Explanation:
        """The nearest row of another class, within the bounds, integers staying integers.

        Parameters
        ----------
        x : one row
        target : a class or list of classes to reach; any other by default
        metric : ``"l1"``: sum over columns of weight times change; ``"changes"``: number of changed features
        weights : price of a change by 1 in a column, or of another category in a feature. By default 1 over the range
            of the model's thresholds in the column, and 1 for a category. A value that is there never becomes a missing
            one; a missing one becomes any value for the price 1
        immutable : features that do not change
        time_limit : seconds; that of the explainer by default

        Returns
        -------
        Explanation
            Its ``witness`` is the row, its ``distance`` the price, ``lower_bound`` what is proved about all such rows.
        """
        arguments.choice(metric, "metric", ("l1", "changes"))
        begin = x.begin
        q = self._questions(x, target)
        calls, limit = q.calls, self._limit(time_limit)
        prices, per_unit = cell_prices(self.model, q.row, q.cells, weights)
        if metric == "changes":
            if weights is not None:
                raise ValueError("weights are for metric='l1': each changed feature counts 1 in metric='changes'")
            left = None if limit is None else max(LEAST_SECONDS, limit - (time.monotonic() - begin))
            few = self.contrastive(
                replace(x, begin=time.monotonic()), target=target, smallest=True, immutable=immutable, time_limit=left
            )
            status = {"smallest": "optimal", "minimal": "feasible", "changing": "feasible"}
            ending = UP_TO_ROUNDING if few.status.endswith(UP_TO_ROUNDING) else ""
            plain = few.status.removesuffix(UP_TO_ROUNDING)
            return replace(
                few,
                kind="counterfactual",
                status=status.get(plain, plain) + ending,
                seconds=time.monotonic() - begin,
                distance=float(len(few.features)) if few.witness_cells else float("nan"),
            )
        fixed = self.features(immutable, "immutable")
        best = nearest(
            self.oracle,
            q.cells,
            q.label,
            prices,
            immutable=fixed,
            targets=q.questions.targets,
            accept=lambda cells: self._is_real(q, cells),
            seconds=self._left(limit, begin),
            starts=[row for changed, row in q.questions.changing.items() if not changed & mask_of(fixed)],
        )
        q.questions.calls += best.calls
        if best.cells is None:
            return self._explanation(
                "counterfactual", q, (), best.status, {}, begin, calls, lower_bound=best.lower_bound
            )
        changed = q.questions.learn_witness(best.cells)
        features = [f for f in range(self.model.scores.n_features) if changed >> f & 1]
        row = self.model.row(best.cells, like=q.row)
        length = distance(self.model, q.row, row, per_unit)
        status_now = best.status
        if length > best.lower_bound + 1e-6 * max(1.0, length):  # two grid columns of one column of the table
            status_now = "feasible"
        return self._explanation(
            "counterfactual",
            q,
            features,
            status_now,
            dict.fromkeys(features, best.cells),
            begin,
            calls,
            distance=length,
            lower_bound=min(length, best.lower_bound),
            prices=tuple(prices),
            immutable=tuple(fixed),
        )

    @about_a_row
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
        x : one row
        limit : most explanations
        kind : only ``"abductive"`` or only ``"contrastive"`` ones; both by default
        first : the kind that tends to come early
        target : a class or list of classes that matter; all others by default
        time_limit : seconds for all of them; that of the explainer by default
        """
        arguments.choice(kind, "kind", (None, "abductive", "contrastive"))
        arguments.choice(first, "first", ("abductive", "contrastive"))
        most = arguments.count(limit, "limit")
        begin, until = x.begin, self._limit(time_limit)
        q = self._questions(x, target)
        run = Enumeration(
            self.oracle, q.cells, q.label, first=first, seconds=self._left(until, begin), questions=q.questions
        )
        doubts: list[Explanation] = []
        return Listing(itertools.islice(self._listed(q, run, kind, doubts), most), run, doubts)

    @_within_memory
    @about_a_row
    def enumeration_certificate(self, x: Any, *, time_limit: float | None = None) -> dict[str, Any]:
        """All explanations of a row, with a proof of each and of that there are no others, as plain JSON.

        Parameters
        ----------
        x : one row
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
        from proofwood.explain.proofs.certificate import NoCertificateError

        begin = x.begin
        q, limit = self._questions(x, None), self._limit(time_limit)
        run = Enumeration(self.oracle, q.cells, q.label, seconds=self._left(limit, begin), questions=q.questions)
        found = list(run)
        if not run.complete:
            raise NoCertificateError(
                f"no certificate for this enumeration: the time was over after {len(found)} explanations"
            )
        kinds = [[one.features for one in found if one.kind == kind] for kind in ("abductive", "contrastive")]
        rows = [row for one in found for row in one.witnesses.values()]
        return self._certifier(q.row, q.cells, q.label, rows, begin, limit).enumeration(*kinds)

    def explain(self, X: Any, **options: Any) -> Explanations:
        """Explain every row of a table; see :func:`proofwood.explain.table.batch.explain_rows` for the options."""
        from proofwood.explain.table.batch import explain_rows

        return explain_rows(self, X, **options)

    # -------------------------------------------------------------------------------------------------------- questions

    @_within_memory
    @about_a_row
    def is_sufficient(
        self, x: Any, features: Features, *, target: Any = None, time_limit: float | None = None
    ) -> bool | None:
        """Whether the class stays as long as these features stay.

        None if the time was too short to know, or if a change of the class is possible only up to rounding, and the
        model itself shows none.
        """
        begin = x.begin
        q = self._questions(x, target)
        q.questions.limit(self._left(self._limit(time_limit), begin))
        fixed = self.features(features, "features")
        changes = q.questions.ask(mask_of(fixed))
        if not changes:
            return None if changes is None else True
        known = (cells for changed, cells in q.questions.changing.items() if not changed & mask_of(fixed))
        real = any(self._is_real(q, cells) for cells in known) or self._sure_change(q, fixed) is not None
        return False if real else None

    @_within_memory
    @about_a_row
    def necessary(self, x: Any, *, target: Any = None, time_limit: float | None = None) -> dict[str, bool | None]:
        """By name of feature: whether it is in every abductive explanation of the row; None where time ran out.

        Of those that :meth:`enumerate` lists: a change that only rounding might allow counts as one.
        """
        begin = x.begin
        q = self._questions(x, target)
        left = self._left(self._limit(time_limit), begin)
        answers = relevance.necessary(self.oracle, q.cells, q.label, seconds=left, questions=q.questions)
        return {self.feature_names[feature]: answer for feature, answer in answers.items()}

    @_within_memory
    @about_a_row
    def relevant(self, x: Any, *, target: Any = None, time_limit: float | None = None) -> dict[str, bool | None]:
        """By name of feature: whether it is in some abductive explanation of the row; None where time ran out.

        Of those that :meth:`enumerate` lists: a change that only rounding might allow counts as one.
        """
        begin = x.begin
        q = self._questions(x, target)
        left = self._left(self._limit(time_limit), begin)
        answers = relevance.relevant(self.oracle, q.cells, q.label, seconds=left, questions=q.questions)
        return {self.feature_names[feature]: answer for feature, answer in answers.items()}

    @_within_memory
    @about_a_row
    def attribution(
        self, x: Any, *, limit: int | None = None, target: Any = None, time_limit: float | None = None
    ) -> shares.Attribution:
        """In which share of the abductive explanations of the row each feature occurs, with bounds.

        The explanations are those that :meth:`enumerate` lists: a change that only rounding might allow counts as one.

        Parameters
        ----------
        x : one row
        limit : most abductive explanations to look at
        target : a class or list of classes that matter; all others by default
        time_limit : seconds; that of the explainer by default
        """
        most = arguments.count(limit, "limit", least=1)
        begin = x.begin
        q = self._questions(x, target)
        left = self._left(self._limit(time_limit), begin)
        found = shares.attribution(self.oracle, q.cells, q.label, limit=most, seconds=left, questions=q.questions)
        return replace(found, names=self.feature_names)

    def features(self, keys: Features, what: str = "features") -> list[int]:
        """Indices of features given by name or index; ``what`` is named in the error."""
        names = self.feature_names
        return list(dict.fromkeys(position(key, names, what) for key in arguments.several(keys, what, repr(names[0]))))

    def read_row(self, x: Any) -> FloatArray:
        """One row as (n_inputs,) numbers; DataError if it does not fit the model."""
        return _one_row(self.model.read(_as_table(x)))

    # ------------------------------------------------------------------------------------------------------------ parts

    def _at_home(self, x: Any) -> tuple[Explainer, ReadRow]:
        """The explainer in whose space the row is, and the row as it reads it."""
        if isinstance(x, ReadRow):
            return self, x
        row = self.read_row(x)
        home = self.with_gaps_of(row[np.newaxis])
        code = int(home.model.predict_codes(row[np.newaxis])[0])
        return home, ReadRow(row, home.model.cells(row), code)

    def with_gaps_of(self, rows: FloatArray) -> Explainer:
        """The explainer that considers missing values also where some of these rows have one: this one, or another.

        Parameters
        ----------
        rows : (n_rows, n_inputs) as ``model.read`` gives them
        """
        model = self.model.with_gaps_of(rows)
        if model is self.model:
            return self
        if model.missing not in self._homes:
            while len(self._homes) >= MOST_HOMES:
                self._homes.pop(next(iter(self._homes)))
            self._homes[model.missing] = Explainer(model, engine=self.engine)
        home = self._homes[model.missing]
        home.time_limit, home.memory_limit = self.time_limit, self.memory_limit
        return home

    def _questions(self, x: ReadRow, target: Any) -> _Asked:
        row, cells, label = x.row, x.cells, x.label
        targets = self._targets(target, label)
        last = self._last
        if last is None or last.label != label or last.targets != targets or not np.array_equal(last.cells, cells):
            last = Questions(self.oracle, cells, label, targets=targets)
            self._last = last
        return _Asked(row, last)

    def _targets(self, target: Any, label: int) -> tuple[int, ...] | None:
        if target is None:
            return None
        classes = self.model.classes.tolist()
        codes = []
        for name in arguments.classes_of(target):
            if not isinstance(name, Hashable) or name not in classes:
                raise ValueError(f"target={name!r} is no class of the model: expected one of {classes}")
            codes.append(classes.index(name))
        if label in codes:
            raise ValueError(f"target={target!r}: the model predicts {classes[label]!r} for this row already")
        return tuple(sorted(set(codes)))

    def _limit(self, time_limit: float | None) -> float | None:
        return self.time_limit if time_limit is None else arguments.seconds(time_limit)

    @staticmethod
    def _left(limit: float | None, begin: float) -> float | None:
        """What is left of a limit that runs since ``begin``: reading the row and building the engine count too."""
        return None if limit is None else max(0.0, limit - (time.monotonic() - begin))

    def _cannot_be_free(self, q: _Asked, free: list[int]) -> NotSufficientError:
        names = [self.feature_names[feature] for feature in free]
        cells = q.questions.changing[q.questions.change_of(q.questions.all & ~mask_of(free))]
        witness = self.model.row(cells, like=q.row)
        return NotSufficientError(
            f"free={names}: a change of these features alone can change the class, as in the row {witness.tolist()}. "
            "No explanation can do without all of them: take some of them out of free.",
            cells,
        )

    def _listed(
        self, q: _Asked, run: Enumeration, kind: Kind | None, doubts: list[Explanation]
    ) -> Iterator[Explanation]:
        """Explanations of a kind; those of any kind that are so only up to rounding are added to ``doubts``."""
        begin, calls = time.monotonic(), q.calls
        for item in memory.stepwise(self.memory_limit, iter(run)):
            columns = [c for f in item.features for c in self.model.scores.features[f]]
            low, high = np.zeros_like(q.cells), np.array(self.model.scores.n_thresholds)
            low[columns] = high[columns] = q.cells[columns]
            box = {"low": low, "high": high} if item.kind == "abductive" else {}
            found = self._explanation(item.kind, q, item.features, "minimal", item.witnesses, begin, calls, **box)
            if not found.exact:
                doubts.append(found)
            if kind is None or item.kind == kind:
                yield found
                begin, calls = time.monotonic(), q.calls

    def _explanation(
        self,
        kind: Literal["abductive", "contrastive", "counterfactual"],
        q: _Asked,
        features: Iterable[int],
        status: str,
        witnesses: Mapping[int, IntArray],
        begin: float,
        calls: int,
        **more: Any,
    ) -> Explanation:
        chosen = tuple(sorted(features))
        if status not in ("none", "unknown"):
            witnesses = self._shown(kind, q, chosen, witnesses)
            needed = [cells for feature, cells in witnesses.items() if feature not in more.get("keep", ())]
            if not status.endswith(UP_TO_ROUNDING) and not all(self._is_real(q, cells) for cells in needed):
                status += UP_TO_ROUNDING
        return Explanation(
            kind=kind,
            features=chosen,
            row=q.row,
            label=q.label,
            status=status,
            seconds=time.monotonic() - begin,
            calls=q.calls - calls,
            engine=self.oracle.name,
            model=self.model,
            cells=q.cells,
            witness_cells=dict(sorted(witnesses.items())),
            targets=q.questions.targets,
            **{**more, "keep": tuple(more.get("keep", ()))},
        )

    def _shown(
        self, kind: str, q: _Asked, features: tuple[int, ...], witnesses: Mapping[int, IntArray]
    ) -> Mapping[int, IntArray]:
        """The witnesses; where one changes the class up to rounding only, another one if it is known to exist."""
        if not self.model.scores.margin or kind == "counterfactual":
            return witnesses
        shown = dict(witnesses)
        for feature, cells in witnesses.items():
            if cells is not shown[feature] or self._is_real(q, cells):
                continue
            if kind == "abductive":
                fixed, same = [other for other in features if other != feature], [feature]
            else:
                fixed, same = [f for f in range(self.model.scores.n_features) if f not in features], [*witnesses]
            better = self._sure_change(q, fixed)
            if better is not None:
                shown.update(dict.fromkeys(same, better))
        return shown

    def _sure_change(self, q: _Asked, fixed: Iterable[int]) -> IntArray | None:
        """A row that agrees on some features and has another class in the model itself; None if none is found."""
        asked = self.sure.ask(
            q.cells, q.label, list(fixed), targets=q.questions.targets, seconds=q.questions.seconds_left
        )
        return asked.witness if asked.witness is not None and self._is_real(q, asked.witness) else None

    def _least_size(self, q: _Asked, keep: Iterable[int], free: Iterable[int]) -> int:
        """Least number of features that meet the changes known so far which the model itself shows."""
        allowed = q.questions.all & ~mask_of(free)
        hitting = HittingSets(q.questions.n, q.questions.deadline)
        try:
            for feature in keep:
                hitting.add(1 << feature)
            for changed, cells in q.questions.changing.items():
                if changed & allowed and self._is_real(q, cells):
                    hitting.add(changed & allowed)
            hitting.smallest()
            return hitting.lower_bound
        finally:
            hitting.close()

    def _is_real(self, q: _Asked, cells: IntArray) -> bool:
        """Whether the model itself gives a row of these cells another class (of the targets)."""
        scores = self.model.scores
        targets = q.questions.targets
        others = [k for k in (range(scores.n_classes) if targets is None else targets) if k != q.label]
        if scores.margin == 0:
            return scores.winner(cells) in others
        sums = scores.sums(cells)
        if targets is None and any(
            sums[k] - sums[q.label] >= scores.threshold_of_win(k, q.label, margin=False) + scores.margin for k in others
        ):
            return True
        row = self.model.row(cells, like=q.row)
        return int(self.model.predict_codes(row[np.newaxis])[0]) in others

    def _inflated(
        self, found: Explanation, q: _Asked, order: list[int], begin: float, limit: float | None
    ) -> tuple[Explanation, bool]:
        """The explanation with wider values, and whether they are known to be as wide as can be."""
        left = self._left(limit, begin)
        box = inflate(
            self.oracle,
            found.cells,
            found.label,
            found.features,
            targets=found.targets,
            seconds=left,
            order=[f for f in found.features if f not in order] + order[::-1],
            witnesses=found.witness_cells.values(),
        )
        ranges = "wide"
        if box.complete:
            ranges = "widest" if self._are_widest(q, found.features, box) else "widest" + UP_TO_ROUNDING
        wide = replace(
            found,
            low=box.low,
            high=box.high,
            calls=found.calls + box.calls,
            seconds=time.monotonic() - begin,
            ranges=ranges,
        )
        return wide, box.complete

    def _are_widest(self, q: _Asked, features: Iterable[int], box: Inflated) -> bool:
        """Whether the model itself shows, for each value that a range could take in next, a row of another class."""
        scores = self.model.scores
        if not scores.margin:
            return True
        for feature in features:
            for unit in units(scores, feature):
                for value in unit.next(box.low, box.high):
                    wider = unit.with_value(box.low, box.high, value)
                    if any(in_region(scores, row, *wider) and self._is_real(q, row) for row in box.against):
                        continue
                    found = ask_region(
                        self.sure, *wider, q.label, targets=q.questions.targets, seconds=q.questions.seconds_left
                    )
                    if found.witness is None or not self._is_real(q, found.witness):
                        return False
        return True

    def _certifier(
        self,
        row: FloatArray,
        cells: IntArray,
        label: int,
        known: Iterable[IntArray],
        begin: float,
        limit: float | None,
    ) -> Certifier:
        from proofwood.explain.proofs.certificate import Certifier

        left = self._left(limit, begin)
        scores, model = self.model.scores, self.model
        return Certifier(scores, cells, label, self.oracle, model=model, x=row, known=known, seconds=left)

    def _certified(
        self,
        found: Explanation,
        q: _Asked,
        begin: float,
        limit: float | None,
        without: list[int],
        maximal: bool | None = None,
    ) -> Explanation:
        """The explanation with its certificate; ``maximal``: of an inflated one, whether it is known to be.

        Where a range can grow but for rounding, the certificate claims, as the explanation does, that the box suffices.
        """
        from proofwood.explain.proofs.certificate import OnlyRoundingError

        if found.targets is not None or found.keep:
            raise ValueError("certificate=True is for explanations against all classes, without keep")
        if found.status == "unknown":
            return found
        make = self._certifier(found.row, found.cells, found.label, found.witness_cells.values(), begin, limit)
        minimal = found.status in ("minimal", "smallest")
        if maximal is not None:
            assert found.low is not None
            assert found.high is not None
            box = found.features, found.low, found.high
            try:
                content = make.inflated(*box, maximal=maximal and minimal)
            except OnlyRoundingError:
                content = make.inflated(*box, maximal=False)
        elif found.status == "none":
            content = make.abductive(without, minimal=False)
        elif found.status == "smallest" and found.kind != "counterfactual":
            content = make.smallest(found.kind, found.features, without=without, questions=q.questions)
        else:
            content = (make.abductive if found.kind == "abductive" else make.contrastive)(
                found.features, minimal=minimal
            )
        return replace(found, certificate=content, seconds=time.monotonic() - begin)


@dataclass(frozen=True, slots=True)
class ReadRow:
    """A row that is read already, in place of a row: numbers as ``model.read`` gives them, cells, and class code.

    ``begin`` is the time of ``time.monotonic()`` from which on a limit counts.
    """

    row: FloatArray
    cells: IntArray
    label: int
    begin: float = field(default_factory=time.monotonic)


class Listing(Iterator[Explanation]):
    """Explanations of one row, each as soon as it is found.

    Parameters
    ----------
    found : where they come from
    run : the search behind them
    doubts : those of them, of any kind, that are explanations only up to rounding
    """

    def __init__(self, found: Iterator[Explanation], run: Enumeration, doubts: Sequence[Explanation] = ()) -> None:
        self._found, self._run, self._doubts = found, run, doubts

    def __next__(self) -> Explanation:
        return next(self._found)

    @property
    def complete(self) -> bool:
        """Whether it is known, by now, that there are no others, rounding given the doubt; see :attr:`exact`."""
        return self._run.complete

    @property
    def exact(self) -> bool:
        """Whether the list is complete, and its explanations are all those of the model itself."""
        return self._run.complete and not self._doubts


class _Asked:
    """A row in the units of the table, and what is known about its cells."""

    def __init__(self, row: FloatArray, questions: Questions) -> None:
        self.row, self.questions = row, questions
        self.cells, self.label = questions.cells, questions.label

    @property
    def calls(self) -> int:
        """Questions that reached the engine."""
        return self.questions.calls


def _status(found: Found, incomplete: str) -> str:
    if not found.proved:
        return "unknown"
    return "minimal" if found.complete else incomplete


def _as_table(x: Any) -> Any:
    """One row, however given, as a table of one row."""
    if isinstance(x, Mapping):
        import polars as pl

        return pl.DataFrame({str(name): [value] for name, value in x.items()})
    if hasattr(x, "to_frame") and getattr(x, "ndim", 1) == 1 and hasattr(x, "index"):  # a series of pandas
        return x.to_frame().T.infer_objects()
    if hasattr(x, "columns"):
        return x
    array = x if isinstance(x, np.ma.MaskedArray) else np.asarray(x)
    return array[np.newaxis] if array.ndim == 1 else array


def _one_row(rows: FloatArray) -> FloatArray:
    if len(rows) != 1:
        raise ValueError(f"x has {len(rows)} rows: expected one. For a table, use explain(X).")
    return np.asarray(rows[0])
