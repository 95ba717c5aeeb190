"""A fitted model as integers over its threshold grid, and the way between rows and cells.

:func:`explained` converts the model, lays out the grid, and then compares the integer sums with the predictions of the
real model on rows inside the grid, on its thresholds and one number beside them: a disagreement is an error, so that an
explanation is never about another function than the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from proofwood.data.kinds import Kind
from proofwood.exceptions import DataError
from proofwood.explain import arguments
from proofwood.explain.model.adapters.reading import Adapted, kinds_from
from proofwood.explain.model.forest import OTHER
from proofwood.explain.model.grid import Grid, GridBuilder
from proofwood.explain.model.integers import integer_scores
from proofwood.explain.model.knowledge import Knowledge, read_knowledge
from proofwood.explain.model.leaves import Walker, score_model
from proofwood.explain.model.outcomes import Outcome, Within, classified, read_outcome
from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.model.space import (
    Bounds,
    Group,
    GroupKind,
    Input,
    Key,
    check_rows,
    position,
    resolved_groups,
    shown,
    with_bounds,
    with_integers,
)
from proofwood.model.node_table import LEAF, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from proofwood.explain.model.plausible import Plausible

CHECKED_ROWS = 1000
"""Random rows on which a conversion is compared with the model."""
MOST_AROUND = 16
"""Conversions around the predictions of rows that a conversion keeps."""
MOST_WIDER = 16
"""Conversions with further columns of missing values that a conversion keeps."""


@dataclass(eq=False)
class Explained:
    """A model, its ``ScoreModel``, and the way between rows of a table and cells of the grid.

    Parameters
    ----------
    scores : the model in integers
    grid : where the cells come from
    classes : (n_classes,) labels
    vote : "auto": what the model predicts; "majority": the class that most trees predict
    outcome : what is asked of the numbers of a regressor, or which probability of a classifier is enough; None for its
        classes
    adapted : the model as its adapter reads it, before anything is asked
    knowledge : what every possible row satisfies beside the bounds of its columns
    plausible : which rows are plausible; None if all are
    literals : per tree what its tests are over the grid
    """

    scores: ScoreModel
    grid: Grid
    classes: npt.NDArray[Any]
    vote: str
    outcome: Outcome
    adapted: Adapted
    knowledge: Knowledge
    plausible: Plausible | None
    _asked: Adapted
    _groups: Mapping[str, tuple[tuple[int, ...], GroupKind]]
    _walker: Walker
    _takes_missing: BoolArray
    literals: tuple[IntArray, ...] = field(repr=False)
    _wider: dict[frozenset[int], Explained] = field(default_factory=dict)
    _around: dict[float, Explained] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_wider": {}, "_around": {}}

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Columns of the matrix that :meth:`read` gives: name, kind, bounds, missing, categories."""
        return self.grid.inputs

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per feature of ``scores.features``."""
        return self.grid.feature_names

    def group_kind(self, feature: int) -> GroupKind | None:
        """What a feature that is a group of table columns is; None for a feature of one table column."""
        group = self._groups.get(self.feature_names[feature])
        return None if group is None else group[1]

    def is_choice(self, feature: int) -> bool:
        """Whether a feature is a group of 0/1 columns of the table at most one of which is 1."""
        return self.group_kind(feature) in ("one_hot", "at_most_one")

    def inputs_of(self, feature: int) -> list[int]:
        """Columns of the table that make up a feature."""
        return sorted({self.grid.columns[g].column for g in self.scores.features[feature]})

    @property
    def columns(self) -> tuple[str, ...]:
        """One name per column of ``scores``: that of the table column, or what the 0/1 column says of it."""
        return tuple(self._column_name(g) for g in range(len(self.grid.columns)))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """One kind per column of ``scores``: that of the table column, or boolean."""
        return tuple(
            Kind.BOOLEAN if column.role in ("missing", "codes") else self.inputs[column.column].kind
            for column in self.grid.columns
        )

    def _column_name(self, g: int) -> str:
        column = self.grid.columns[g]
        name = self.inputs[column.column].name
        if column.role == "missing":
            return f"{name} is missing"
        if column.role == "codes":
            texts = self.texts_of(g)
            return f"{name} = {texts[0]}" if len(texts) == 1 else f"{name} in {{{', '.join(texts)}}}"
        return name if column.role == "value" else f"{name} (tests that send a missing value high)"

    def texts_of(self, column: int) -> tuple[str, ...]:
        """Texts of the categories that a 0/1 column of a category column stands for; empty for other columns."""
        grid = self.grid.columns[column]
        if grid.role != "codes":
            return ()
        given = self.inputs[grid.column]
        known = tuple(given.levels[code] for code in sorted(grid.codes) if code != OTHER)
        if OTHER not in grid.codes:
            return known
        if not given.other:
            return (*known, "(missing)")
        return (*known, "(missing or any other)" if given.missing else "(any other)")

    # ------------------------------------------------------------------------------------------------------- rows

    def read(self, X: Any) -> FloatArray:
        """Rows as float64 columns: a frame by name, categories as codes, preprocessing of a pipeline as its inputs.

        Parameters
        ----------
        X : (n_rows, n_columns) array-like or frame

        Returns
        -------
        (n_rows, n_inputs) float64, NaN where missing

        Raises
        ------
        DataError
            On a wrong number of columns, unknown names, a missing value where the model takes none, a value outside
            the bounds, or a row that breaks a group or a condition; the message names the column and the row.

        Notes
        -----
        A missing value is read wherever the model takes one. To ask for the cells of such a row, take the conversion
        that :meth:`with_gaps_of` gives for it.
        """
        values = self.adapted.read(X)
        self._check_rows(values)
        return values

    def _check_rows(self, values: FloatArray) -> None:
        check_rows(values, self._readable, self._groups)
        self.knowledge.check(values, self._readable)

    def filled(self, X: Any) -> BoolArray:
        """(n_rows, n_inputs) where rows as :meth:`read` takes them lack a value that a step of a pipeline fills in."""
        if self.adapted.filled is not None:
            return self.adapted.filled(X)
        return np.zeros((len(self.read(X)), len(self.inputs)), dtype=bool)

    @cached_property
    def _readable(self) -> tuple[Input, ...]:
        """The inputs, with missing values wherever the model takes them."""
        return _considering(self.inputs, self.adapted, self._takes_missing)

    @property
    def missing(self) -> tuple[int, ...]:
        """Indices of the inputs in which a missing value is considered."""
        return tuple(j for j, given in enumerate(self.inputs) if given.missing)

    def with_missing(self, columns: Iterable[int]) -> Explained:
        """The same model, where a missing value is considered in these inputs, too.

        Parameters
        ----------
        columns : indices of inputs

        Raises
        ------
        ValueError
            If the model takes no missing value in one of them.
        """
        more = frozenset(columns) - set(self.missing)
        refused = [self.inputs[j].name for j in sorted(more) if not self._takes_missing[j]]
        if refused:
            raise ValueError(_refusal(refused))
        if not more:
            return self
        if more not in self._wider:
            chosen = np.zeros(len(self.inputs), dtype=bool)
            chosen[[*self.missing, *more]] = True
            while len(self._wider) >= MOST_WIDER:
                self._wider.pop(next(iter(self._wider)))
            inputs = _considering(self.inputs, self.adapted, chosen)
            self._wider[more] = _converted(
                self.adapted,
                inputs,
                self._groups,
                self.vote,
                self.outcome,
                self._takes_missing,
                self.knowledge,
                self.plausible,
            )
        return self._wider[more]

    def about(self, row: FloatArray) -> Explained:
        """The model that a question about a row is asked of: another one where its classes are relative to the row.

        Parameters
        ----------
        row : (n_inputs,) as :meth:`read` returns it
        """
        if not isinstance(self.outcome, Within):
            return self
        value = float(self.outputs_of(row[np.newaxis])[0])
        if value not in self._around:
            while len(self._around) >= MOST_AROUND:
                self._around.pop(next(iter(self._around)))
            self._around[value] = self._made(classified(self.adapted, self.outcome.around(value)))
        return self._around[value]

    def _made(self, asked: Adapted) -> Explained:
        """The same model with other classes, over the same grid."""
        forest = asked.forest
        integers = integer_scores(forest)
        scores = score_model(forest.trees, self.literals, integers, self.grid, ties_low=forest.ties_low)
        scores = replace(scores, beside=self.scores.beside)
        walker = Walker(forest.trees, self.literals, integers, self.grid)
        return replace(self, scores=scores, classes=forest.classes, _asked=asked, _walker=walker, _wider={}, _around={})

    def outputs_of(self, X: FloatArray) -> FloatArray:
        """What the real model gives rows beside classes: the numbers of a regressor, or probabilities.

        Parameters
        ----------
        X : (n_rows, n_inputs) as :meth:`read` returns it

        Returns
        -------
        (n_rows,) or (n_rows, n_classes) float64

        Raises
        ------
        TypeError
            If the model has nothing of the kind, or other probabilities than its trees' scores give.
        """
        if self.adapted.output is None:
            raise TypeError("this model has no numbers or probabilities that its trees add up to")
        return self.adapted.output(np.ascontiguousarray(X, dtype=np.float64))

    def with_gaps_of(self, X: FloatArray) -> Explained:
        """The same model, where a missing value is considered in the inputs that lack one in some of these rows, too.

        Columns that no tree tests are left out: what they hold, also nothing, makes no difference.

        Parameters
        ----------
        X : (n_rows, n_inputs) as :meth:`read` returns it
        """
        gaps = _gaps(X, self.inputs, self.adapted, self._takes_missing) & self._tested
        return self.with_missing(np.flatnonzero(gaps).tolist())

    @cached_property
    def _tested(self) -> BoolArray:
        """(n_inputs,) whether some tree tests the input, or a condition speaks of it."""
        tested = np.zeros(len(self.inputs), dtype=bool)
        tested[sorted(self.knowledge.columns)] = True
        models = [(self.adapted.forest, self.adapted.sources)]
        if self.plausible is not None:
            models.append((self.plausible.adapted.forest, self.plausible.sources))
        for forest, sources in models:
            for tree in forest.trees:
                for feature in np.unique(tree.feature[tree.feature != LEAF]).tolist():
                    tested[sources[feature].column] = True
        return tested

    def predict_codes(self, X: FloatArray) -> IntArray:
        """(n_rows,) class codes of the real model, in the vote asked for, for rows as :meth:`read` returns them."""
        return self._asked.predict(np.ascontiguousarray(X, dtype=np.float64))

    def are_plausible(self, X: FloatArray) -> BoolArray:
        """(n_rows,) whether rows as :meth:`read` returns them are plausible, as the isolation forest itself says."""
        if self.plausible is None:
            return np.ones(len(X), dtype=bool)
        return self.plausible.holds(np.asarray(X, dtype=np.float64))

    def of_every_row(self, what: str) -> None:
        """ValueError where only plausible rows count, and ``what`` cannot be asked about these alone."""
        if self.plausible is not None:
            raise ValueError(f"{what} cannot be asked about plausible rows only: ask without plausible, about all rows")

    def cells_of(self, X: FloatArray) -> IntArray:
        """(n_rows, n_columns of ``scores``) cells of rows as :meth:`read` returns them; DataError as there.

        Nor may a row lack a value in a column in which no missing value is considered, unless no tree tests it.
        """
        values = np.asarray(X, dtype=np.float64)
        self._check_rows(values)
        unseen = np.flatnonzero(_gaps(values, self.inputs, self.adapted, self._takes_missing) & self._tested)
        if unseen.size:
            raise DataError(
                f"column {self.inputs[unseen[0]].name!r} has a missing value (or a category that the model does not "
                "know, which it takes for one), and none is considered here: name the column in missing=, give rows in "
                "which a value is missing as X=, or take with_gaps_of(rows)"
            )
        return self.grid.cells_of(values)

    def cells(self, x: FloatArray) -> IntArray:
        """(n_columns of ``scores``,) cells of one row (n_inputs,) as :meth:`read` returns it."""
        row = np.asarray(x, dtype=np.float64)
        if row.ndim != 1:
            raise DataError(f"x has shape {row.shape}: expected one row of shape (n_columns,)")
        return np.asarray(self.cells_of(row[np.newaxis])[0])

    def row(self, cells: IntArray, like: npt.ArrayLike) -> FloatArray:
        """A row inside the cells whose values are as near to those of ``like`` as they can be.

        A value of ``like`` in its cell stays as it is; integers stay integers, bounds are kept. ValueError if no row
        of the space has these cells.
        """
        return self.grid.row(np.asarray(cells), np.asarray(like, dtype=np.float64))

    def rows(self, many: Sequence[IntArray], like: npt.ArrayLike) -> FloatArray:
        """(n_rows, n_inputs) rows inside of several cells, each as :meth:`row` makes it."""
        return self.grid.rows(many, np.asarray(like, dtype=np.float64))

    def interval(self, column: int, low_cell: int, high_cell: int) -> tuple[float, bool, float, bool]:
        """``(low, low_open, high, high_open)`` of a column of ``scores``, from one cell to another, in original units.

        0/1 columns for categories and missing values answer in 0 and 1. Infinite ends are open.
        """
        return self.grid.interval(column, low_cell, high_cell)

    def sums_of(self, cells: IntArray) -> IntArray:
        """(n_rows, n_classes) integer sums of rows given by their cells (n_rows, n_columns); fast for many rows."""
        return self._walker.sums_of(np.asarray(cells))


def explained(
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
    random_state: int = 0,
) -> Explained:
    """Convert a fitted model, and check the conversion against it.

    Parameters
    ----------
    model : fitted classifier or regressor; see :mod:`proofwood.explain.model.adapters.supported` for the kinds
    vote : "auto" for what the model predicts, "majority" for the class that most trees predict (ties to the lowest)
    target : of a regressor, what is asked of its numbers: ``(">=", 250_000)``, ``(">", v)``, ``("<=", v)``,
        ``("<", v)``, ``("between", low, high)``, ``("within", distance)`` of the row's own prediction, or a list
        of cuts between bands
    confidence : of a classifier, the least probability that counts: rows where no class has it are "unsure", a
        class of its own
    feature_groups : from the name of a feature to its columns. A list means 0/1 columns, exactly one of which is 1;
        :class:`Group` states other kinds. The categories of a pipeline's OneHotEncoder are found without it.
    bounds : from a column, by name or index, to its least and greatest value: other values are not of the space
    feature_names : names of the columns, where the model does not know them
    integer : columns, by name or index, that hold integers only; integer columns of a frame ``X`` are found without it
    missing : columns in which a missing value is part of the space, beside those in which a row of ``X`` has one. In
        all others every row of the space has a value, whatever the model was learned from.
    knowledge : conditions that every possible row satisfies, such as ``"age >= 18 or job == 'student'"`` or
        ``"age < 18 -> income == 0"``; see :mod:`proofwood.explain.model.knowledge`
    plausible : an isolation forest over the same columns, or a pair of one and a least score: rows that it takes for
        outliers are not considered; see :mod:`proofwood.explain.model.plausible`
    X : rows that the conversion is checked on beside the random ones
    random_state : seed of the random rows

    Returns
    -------
    Explained

    Raises
    ------
    TypeError
        If the model is of no supported kind.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ValueError
        If the statements about the columns do not fit, or ``X`` breaks them.
    AssertionError
        If the conversion and the model disagree; the message names the row.
    """
    # Start-up time: the adapters load scikit-learn, which whoever reads explanations or certificates can do without.
    from proofwood.explain.model.adapters.supported import adapt
    from proofwood.explain.model.plausible import read_plausible

    arguments.choice(vote, "vote", ("auto", "majority"))
    arguments.mapping(bounds, "bounds", "{'income': (0, math.inf)}")
    arguments.mapping(feature_groups, "feature_groups", "{'colour': ['colour_red', 'colour_blue']}")
    names = None if feature_names is None else arguments.several(feature_names, "feature_names")
    integer = () if integer is None else arguments.several(integer, "integer")
    missing = () if missing is None else arguments.several(missing, "missing")
    adapted = adapt(model, "shares" if vote == "auto" and confidence is not None else vote, names, X)
    outcome = read_outcome(adapted, target, confidence)
    given = None if X is None else adapted.read(X)
    inputs = with_bounds(with_integers(kinds_from(X, adapted.inputs), integer), bounds)
    inputs, groups = resolved_groups(inputs, feature_groups)
    beside = read_plausible(plausible, model, adapted, inputs, names)
    takes = _takes_missing(adapted, groups)
    if beside is not None:
        takes[[j for j in beside.columns if j not in beside.takes_missing]] = False
    chosen = np.zeros(len(inputs), dtype=bool)
    for key in missing:
        chosen[position(key, [column.name for column in inputs], "missing")] = True
    if (chosen & ~takes).any():
        raise ValueError("missing names " + _refusal([inputs[j].name for j in np.flatnonzero(chosen & ~takes)]))
    known = read_knowledge(knowledge, inputs)
    if given is not None:
        readable = _considering(inputs, adapted, takes)
        check_rows(given, readable, groups)
        known.check(given, readable)
        chosen |= _gaps(given, inputs, adapted, takes)
    considered = _considering(inputs, adapted, chosen)
    return _converted(adapted, considered, groups, vote, outcome, takes, known, beside, random_state, given)


def _converted(
    adapted: Adapted,
    inputs: tuple[Input, ...],
    groups: Mapping[str, tuple[tuple[int, ...], GroupKind]],
    vote: str,
    outcome: Outcome,
    takes_missing: BoolArray,
    knowledge: Knowledge,
    plausible: Plausible | None,
    random_state: int = 0,
    given: FloatArray | None = None,
) -> Explained:
    """The model over the grid of these inputs, checked on the given and on random rows."""
    asked = classified(adapted, outcome.around(0.0) if isinstance(outcome, Within) else outcome)
    # the tests of the model itself: around one row others may be needless than around another
    own = adapted.forest
    further = () if plausible is None else plausible.trees_from(len(adapted.sources))
    sources = adapted.sources if plausible is None else (*adapted.sources, *plausible.sources)
    builder = GridBuilder((*own.trees, *further), inputs, sources, knowledge, own=len(adapted.sources))
    grid = builder.build(groups)
    every = builder.literals()
    literals = every[: len(own.trees)]
    forest = asked.forest
    integers = integer_scores(forest)
    scores = score_model(forest.trees, literals, integers, grid, ties_low=forest.ties_low)
    walker = Walker(forest.trees, literals, integers, grid)
    if plausible is not None:
        beside = plausible.adapted.forest
        paths = integer_scores(beside)
        theirs = every[len(own.trees) :]
        also = score_model(beside.trees, theirs, paths, grid, ties_low=beside.ties_low)
        scores = replace(scores, beside=also)
        second = Walker(beside.trees, theirs, paths, grid)
    classes = np.asarray(forest.classes)
    result = Explained(
        scores,
        grid,
        classes,
        vote,
        outcome,
        adapted,
        knowledge,
        plausible,
        asked,
        groups,
        walker,
        takes_missing,
        literals,
    )
    for rows, where in ((given, "row {} of X"), (sample_rows(result, CHECKED_ROWS, random_state), "the random row {}")):
        if rows is not None and len(rows):
            _check(result, rows, where)
            _check_outputs(result, rows, where)
            if plausible is not None:
                _check_plausible(result, second, rows, where)
    return result


def sample_rows(explained: Explained, n: int, random_state: int) -> FloatArray:
    """Rows within the bounds: values on thresholds, one float64 beside them, and between and around them."""
    generator = np.random.default_rng(random_state)
    rows = np.zeros((n, len(explained.inputs)))
    for j, given in enumerate(explained.inputs):
        rows[:, j] = _sample_column(explained.grid, j, given, n, generator)
    for columns, kind in explained._groups.values():
        if kind == "together":
            continue
        fixed = [j for j in columns if explained.inputs[j].low == 1]
        free = fixed or [j for j in columns if explained.inputs[j].high == 1]
        none = kind == "at_most_one" and not fixed
        chosen = generator.integers(0, len(free) + none, n)
        for j in columns:
            rows[:, j] = [c < len(free) and free[c] == j for c in chosen.tolist()]
    return rows


def _sample_column(grid: Grid, j: int, given: Input, n: int, generator: np.random.Generator) -> FloatArray:
    if given.kind is Kind.NOMINAL:
        values = generator.integers(0, len(given.levels) + given.other, n).astype(np.float64)
    else:
        cuts = np.unique(
            np.concatenate(
                [
                    [],
                    *(grid.columns[g].thresholds for g in grid.of_input[j] if grid.columns[g].role.startswith("value")),
                ]
            )
        )
        if cuts.size == 0:
            low = given.low if np.isfinite(given.low) else min(0.0, given.high)
            cuts = np.array([low])
        step = 1.0 if given.whole else 0.0
        at = generator.choice(cuts, n)
        spread = float(np.ptp(cuts)) or max(1.0, abs(float(cuts[0])) / 8)
        around = generator.uniform(cuts[0] - spread / 4, cuts[-1] + spread / 4, n)
        beside = np.where(generator.random(n) < 0.5, np.nextafter(at, np.inf), np.nextafter(at, -np.inf))
        near = at + generator.choice([-1.0, 1.0], n) * step if given.whole else beside
        values = np.choose(generator.integers(0, 3, n), [at, around, near])
        values = np.clip(np.floor(values) if given.whole else values, given.low, given.high)
    if given.missing:
        values[generator.random(n) < 0.15] = np.nan
    return np.asarray(values)


def _check(explained: Explained, rows: FloatArray, where: str, block: int = 8192) -> None:
    """Raise AssertionError if the integers and the model disagree about a row by more than the margin."""
    scores = explained.scores
    for start in range(0, len(rows), block):
        part = rows[start : start + block]
        cells = explained.grid.cells_of(part)
        sums, codes = explained.sums_of(cells), explained.predict_codes(part)
        at = np.arange(len(part))
        lead = sums[at, codes][:, np.newaxis] - sums
        least = np.array(
            [
                [scores.threshold_of_win(a, b) if a != b else 0 for b in range(scores.n_classes)]
                for a in range(scores.n_classes)
            ]
        )
        wrong = np.flatnonzero((lead < least[codes]).any(axis=1))
        if wrong.size:
            row = int(wrong[0])
            raise AssertionError(
                f"the conversion disagrees with the model on {where.format(start + row)}, {part[row].tolist()}: the "
                f"model predicts {explained.classes[codes[row]]!r}, its scores here are {sums[row].tolist()} with a "
                f"margin of {scores.margin}. Please report this model."
            )
        if start:
            continue
        possible = explained.knowledge.holds(part, explained.inputs)
        for row in at[: 2 if not explained.knowledge else 32].tolist():
            if (
                not np.array_equal(scores.sums(cells[row]), sums[row])
                or scores.meets_clauses(cells[row]) != possible[row]
            ):
                raise AssertionError(f"the leaves do not add up on {where.format(row)}, {part[row].tolist()}")


def _check_outputs(explained: Explained, rows: FloatArray, where: str) -> None:
    """Raise AssertionError if the sums of the trees are not what the model's numbers or probabilities are made of."""
    adapted = explained.adapted
    forest, link = adapted.forest, adapted.forest.link
    if link is None or adapted.output is None:
        return
    integers = integer_scores(forest)
    sums = Walker(forest.trees, explained.literals, integers, explained.grid).sums_of(explained.grid.cells_of(rows))
    ours = sums / integers.scale
    given = adapted.output(np.ascontiguousarray(rows))
    if link.kind == "logistic" and forest.n_classes == 2:
        ours, given = ours[:, 1:] - ours[:, :1], given[:, 1:]
    theirs = link.sums(given).reshape(len(rows), -1)
    slack = forest.noise + (2 * integers.error + 1) / integers.scale + link.slop(given).reshape(len(rows), -1)
    wrong = np.flatnonzero((np.isfinite(theirs) & (np.abs(ours - theirs) > slack)).any(axis=1))
    if wrong.size:
        row = int(wrong[0])
        raise AssertionError(
            f"the conversion disagrees with the model on {where.format(row)}, {rows[row].tolist()}: the model gives "
            f"{np.asarray(given)[row].tolist()}, that is a sum of {theirs[row].tolist()}, and the trees here add up to "
            f"{ours[row].tolist()}. Please report this model."
        )


def _check_plausible(explained: Explained, walker: Walker, rows: FloatArray, where: str) -> None:
    """Raise AssertionError if the integers and the isolation forest disagree about a row by more than the margin."""
    beside = explained.scores.beside
    assert beside is not None
    says = explained.are_plausible(rows).astype(np.int64)
    sums = walker.sums_of(explained.grid.cells_of(rows))
    at = np.arange(len(rows))
    least = np.array([beside.threshold_of_win(0, 1), beside.threshold_of_win(1, 0)])
    wrong = np.flatnonzero(sums[at, says] - sums[at, 1 - says] < least[says])
    if wrong.size:
        row = int(wrong[0])
        raise AssertionError(
            f"the conversion disagrees with the isolation forest on {where.format(row)}, {rows[row].tolist()}: it says "
            f"{'in' if says[row] else 'out'}lier. Please report this model."
        )


# ------------------------------------------------------------------------------------------------------ missing values


def _takes_missing(adapted: Adapted, groups: Mapping[str, tuple[tuple[int, ...], GroupKind]]) -> BoolArray:
    """(n_inputs,) whether a missing value is no error: to the model, and to the group that the column is in."""
    takes = np.zeros(len(adapted.inputs), dtype=bool)
    if adapted.forest.takes_missing is not None:
        takes[[source.column for source in adapted.sources]] = True
        for source, flag in zip(adapted.sources, adapted.forest.takes_missing.tolist(), strict=True):
            takes[source.column] &= source.takes_missing(flag)
    for columns, kind in groups.values():
        if kind != "together":
            takes[list(columns)] = False
    return takes


def _refusal(names: Sequence[str]) -> str:
    return (
        f"{shown(names)}, where the model takes no missing value, or which is in a group of 0/1 columns: expected "
        "other columns"
    )


def _gaps(X: FloatArray, inputs: Sequence[Input], adapted: Adapted, takes_missing: BoolArray) -> BoolArray:
    """(n_inputs,) whether some row lacks a value where none is considered so far.

    A category that the model does not know is to some models a missing one, and counts as such.
    """
    gaps = np.zeros(len(inputs), dtype=bool)
    if not adapted.unknown_missing and not np.isnan(X).any():
        return gaps
    for j, column in enumerate(inputs):
        if column.missing or not takes_missing[j]:
            continue
        lacks = np.isnan(X[:, j])
        if adapted.unknown_missing and column.kind is Kind.NOMINAL and not column.other:
            lacks |= (X[:, j] < 0) | (X[:, j] >= len(column.levels))
        gaps[j] = lacks.any()
    return gaps


def _considering(inputs: Sequence[Input], adapted: Adapted, missing: BoolArray) -> tuple[Input, ...]:
    """The inputs with the columns in which missing values are part of the space."""
    unknown = adapted.unknown_missing
    return tuple(
        replace(column, missing=m, other=column.other or (unknown and m and column.kind is Kind.NOMINAL))
        for column, m in zip(inputs, missing.tolist(), strict=True)
    )
