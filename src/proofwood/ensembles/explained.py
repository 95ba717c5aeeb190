"""A fitted model in integers over its threshold grid, and the conversion between rows and cells.

:func:`explained` converts the model, lays out the grid, and then compares the integer sums with the predictions of the
real model, on random rows between the thresholds, on thresholds, and one float beside them. A disagreement is an error,
so an explanation is never about a function other than the model. Rows of the user are compared as they are given
(:mod:`proofwood.ensembles.door`), so an explanation is never about another row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from proofwood import arguments
from proofwood.data.frames import as_table
from proofwood.data.kinds import Kind
from proofwood.ensembles import door
from proofwood.ensembles.door import Admitted
from proofwood.ensembles.fingerprint import fingerprint
from proofwood.ensembles.forest import Forest
from proofwood.ensembles.grid import Grid, GridBuilder
from proofwood.ensembles.integers import IntegerScores, integer_scores
from proofwood.ensembles.knowledge import Knowledge, read_knowledge
from proofwood.ensembles.leaves import Walker
from proofwood.ensembles.outcomes import Outcome, Within, classified, read_outcome
from proofwood.ensembles.outline import Space
from proofwood.ensembles.readers.given import CHECKED, Given
from proofwood.ensembles.readers.reading import Adapted, kinds_from, kinds_of_types
from proofwood.ensembles.scores import ScoreModel
from proofwood.ensembles.sources import SINGLE, Source
from proofwood.ensembles.space import (
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
from proofwood.ensembles.steps import LARGEST
from proofwood.exceptions import DataError, MisreadError
from proofwood.files import allowing
from proofwood.model.node_table import LEAF, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from proofwood.ensembles.plausible import Plausible

CHECKED_ROWS = 1000
"""Number of random rows on which a conversion is compared with the model."""
MOST_AROUND = 16
"""Maximum number of stored conversions whose classes are relative to the prediction for one row."""
BLOCK = 8192
"""Number of rows whose sums are computed at a time."""
FEW = 8
"""Maximum number of rows for which sums are computed leaf by leaf, which is faster for few rows."""
MOST_WIDER = 16
"""Maximum number of stored conversions over other spaces (more missing values, other kinds)."""
MOST_TYPED = 8
"""Maximum number of stored conversions for the number types of other tables."""


@dataclass(eq=False)
class Explained(Space):
    """A model, its ``ScoreModel``, and the conversion between rows of a table and cells of the grid.

    Parameters
    ----------
    scores : the model in integers
    grid : the grid of cells
    classes : (n_classes,) labels
    vote : "auto" for the prediction of the model, "majority" for the class that most trees predict
    outcome : how the numbers of a regressor become classes, or the least probability that counts for a classifier; None
        for the classes that a classifier predicts
    adapted : the model as its reader returns it, without ``outcome``
    knowledge : conditions that every possible row satisfies, in addition to the bounds of its columns
    plausible : the isolation forest that decides which rows are plausible; None if all are
    _readable, _known : the inputs, which permit every value that can be read; the knowledge over these inputs
    _tested : (n_inputs,) whether some tree tests the input, or a condition mentions it
    literals : per tree, its tests as literals over the grid
    loose : inputs that hold integers only because of the training table or the types of ``X=``; a row with another
        number is accepted, and is explained over a separate space
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
    _readable: tuple[Input, ...] = field(repr=False)
    _known: Knowledge
    _tested: BoolArray
    literals: tuple[IntArray, ...] = field(repr=False)
    loose: frozenset[int] = frozenset()
    _wider: dict[Any, Explained] = field(default_factory=dict)
    _around: dict[float, Explained] = field(default_factory=dict)
    _typed: list[Explained] = field(default_factory=list)
    _stated: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | _nothing_kept()

    @cached_property
    def fingerprint(self) -> str:
        """A short digest that identifies the model, its grid and its names."""
        scores = self.scores
        names = [*self.feature_names, *self.columns, *(str(label) for label in self.classes.tolist())]
        parts: list[Any] = [
            scores.n_thresholds, scores.leaves_of, scores.scores, scores.base, scores.needs_of, scores.needs,
            scores.margin, *scores.clauses, *scores.features, *(column.thresholds for column in self.grid.columns),
            [repr(given) for given in self.inputs], names, self.vote,
        ]  # fmt: skip
        if scores.beside is not None:
            beside = scores.beside
            parts += [beside.leaves_of, beside.scores, beside.base, beside.needs_of, beside.needs, beside.margin]
        return fingerprint(parts)

    @property
    def forest(self) -> Forest:
        """The trees, with the classes that ``outcome`` defines."""
        return self._asked.forest

    @property
    def sources(self) -> tuple[Source, ...]:
        """For each column of the trees, the table column and the steps from which it is computed."""
        return tuple(self._asked.sources)

    @property
    def integers(self) -> IntegerScores:
        """The integer scores of all nodes of the trees."""
        return self._walker.scores

    # ------------------------------------------------------------------------------------------------------- rows

    def read(self, X: Any) -> FloatArray:
        """Read rows as float64 columns: frames are matched by column name, and categories become codes.

        Rows of a pipeline are read before its preprocessing. All rows are compared with the model, see :meth:`admit`.

        Parameters
        ----------
        X : (n_rows, n_columns) rows as the model takes them, in any container: array, frame, sparse matrix

        Returns
        -------
        (n_rows, n_inputs) float64, NaN where missing

        Raises
        ------
        DataError
            If the number or a name of the columns is wrong, a value is missing that the model needs, a value is outside
            the bounds, or a row breaks a group or a condition; the message names the column and the row.
        MisreadError
            If the model predicts, for a row as it was given, another class than for the row as it was read.

        Notes
        -----
        A missing value is accepted wherever the model accepts one. To get the cells of such a row, use the conversion
        that :meth:`with_gaps_of` returns for it.
        """
        return self.admit(X).values

    def admit(self, X: Any, *, table: bool = True) -> Admitted:
        """Read rows, call ``model.predict`` with them exactly as they are given, and check that the classes agree.

        Parameters
        ----------
        X : rows as :meth:`read` takes them
        table : whether ``X`` is what the user gave; False if ``X`` was made from something else, such as a mapping

        Raises
        ------
        DataError, MisreadError
            As :meth:`read` does.
        """
        header = self.adapted.header
        assert header is not None
        given = header.opened(X, table=table)
        values, codes, reading, read = self._compared(given, self._values(given.table))
        none = np.zeros(values.shape, dtype=bool)
        filled = none if self.adapted.filled is None or not len(values) else self.adapted.filled(read)
        filled &= ~np.isnan(values)
        kinds = enumerate(kinds_of_types(given.table, header.reaching))
        return Admitted(values, filled, codes, reading, {j: kind for j, kind in kinds if kind is not Kind.NUMERIC})

    def _compared(self, given: Given, values: FloatArray) -> tuple[FloatArray, IntArray, str, Any]:
        """Compare rows with the model; return their numbers, class codes, a text on the check, and the table used."""
        if not len(values):
            return values, np.zeros(0, dtype=np.int64), CHECKED, given.table
        within = isinstance(self.outcome, Within)  # its classes are relative to one row: numbers are compared
        asked = self.adapted if within else self._asked
        assert asked.header is not None
        said, reading, rows = asked.header.ask(asked.ask, given, asked.dressed)
        if said is None:
            codes = np.zeros(len(values), dtype=np.int64) if within else self.predict_codes(values)
            return values, codes, reading, given.table
        if len(said) != len(values):
            raise TypeError(
                f"the model returns {len(said)} predictions for {len(values)} rows: expected one for each row"
            )
        table = given.table
        if rows is not given.rows:  # a missing value may be another value in the container that the model took
            table = asked.header.opened(rows).table
            values = self._values(table)
        model = self.with_gaps_of(values)
        wrong = (model._other_numbers if within else model._other_classes)(values, said)
        if wrong is not None:
            raise door.misread(asked, given, rows, model._misread(*wrong, values))
        return values, np.zeros(len(values), dtype=np.int64) if within else said, reading, table

    def _values(self, table: Any) -> FloatArray:
        """The numbers of a table whose rows belong to the space; DataError if one does not."""
        values = self.adapted.read(table)
        if self.adapted.filled is not None:
            values = _with_gaps(self.adapted, self.grid.inputs, table, values)
        check_rows(values, self._readable, self._groups)
        if self._known.texts:
            self._known.check(values, self._readable)
        return values

    def _other_classes(self, values: FloatArray, said: IntArray) -> tuple[int, Any, Any] | None:
        """Find the first row whose sums rule out the predicted class, even with rounding; return it with both classes.

        Parameters
        ----------
        values : (n_rows, n_inputs) of the space
        said : (n_rows,) class codes of the model
        """
        for start in range(0, len(values), BLOCK):
            codes, cells = said[start : start + BLOCK], self.grid.cells_of(values[start : start + BLOCK])
            few = len(cells) <= FEW
            sums = np.array([self.scores.sums(row) for row in cells]) if few else self.sums_of(cells)
            wrong = np.flatnonzero(~self.scores.may_win(sums, codes))
            if wrong.size:
                at = int(wrong[0])
                told = self.classes[codes[at]] if codes[at] >= 0 else "(none of its classes)"
                return start + at, told, self.classes[int(sums[at].argmax())]
        return None

    def _other_numbers(self, values: FloatArray, said: FloatArray) -> tuple[int, Any, Any] | None:
        """Find the first row whose predicted number differs from that of the trees beyond rounding; return both."""
        here, link = self.outputs_of(values), self.adapted.forest.link
        assert link is not None
        slack = 2 * (self.adapted.forest.noise + link.slop(said))
        with np.errstate(invalid="ignore"):
            wrong = np.flatnonzero((said != here) & (np.abs(link.sums(said) - link.sums(here)) > slack))
        return (int(wrong[0]), said[wrong[0]], here[wrong[0]]) if wrong.size else None

    def _misread(self, at: int, said: Any, read: Any, values: FloatArray) -> door.Misread:
        grid = self.grid
        cells = grid.cells_of(values[[at]])[0]

        def within(j: int) -> list[float]:
            """Three other numbers in the row's cells: their middle, and the points halfway from the row to the ends."""
            ends = [grid.interval(g, int(cells[g]), int(cells[g])) for g in grid.of_input[j]]
            low, high = max(end[0] for end in ends), min(end[2] for end in ends)
            own = float(values[at, j])
            low, high = max(low, own - max(1.0, abs(own))), min(high, own + max(1.0, abs(own)))
            return [(low + high) / 2, (low + own) / 2, (high + own) / 2]

        return door.Misread(at, len(values) == 1, said, read, values[at], within)

    def with_types_of(self, X: Any) -> Explained:
        """The same model, read for the number types of this table, if the steps of the model compute in these types.

        A column that is limited to integers because of its type in ``X=`` stays so only if its type in this table is an
        integer type.

        Parameters
        ----------
        X : rows as :meth:`read` takes them
        """
        if self.adapted.suits is None or not self._stated:
            return self
        header = self.adapted.header
        assert header is not None
        table = header.opened(X).table
        for one in (self, *self._typed):
            if one.adapted.suits is None or one.adapted.suits(table):
                return one
        whole = [one.name for j, one in enumerate(self.inputs) if one.kind is Kind.INTEGER and j not in self.loose]
        stated = dict(self._stated) | {"integer": whole, "missing": [self.inputs[j].name for j in self.missing]}
        if header.stated is not None:
            stated["feature_names"] = list(header.stated)
        self._typed[MOST_TYPED - 1 :] = [explained(stated.pop("model"), X=X, **stated)]
        return self._typed[-1]

    def with_space(self, missing: Iterable[int], types: Mapping[str, Sequence[str]]) -> Explained:
        """The same model over a space in which more inputs may be missing, and columns have the kinds in ``types``.

        Parameters
        ----------
        missing : indices of inputs
        types : names of the columns of each kind, ``"integer"`` and ``"boolean"``; all others hold any numbers. This
            does not affect columns that the user declared as integers, or columns that hold only 0 and 1 anyway

        Raises
        ------
        ValueError
            If the model does not accept a missing value in one of the inputs ``missing``.
        """
        kind_of = {name: Kind(kind) for kind, columns in types.items() for name in columns}
        free = [(j, given.name) for j, given in enumerate(self.inputs) if j not in self._strict]
        return self._in_space(missing, {j: kind_of.get(name, Kind.NUMERIC) for j, name in free})

    def _in_space(self, missing: Iterable[int], kinds: Mapping[int, Kind]) -> Explained:
        wanted = frozenset(missing)
        if not wanted and not kinds:
            return self
        more = wanted - set(self.missing)
        refused = [self.inputs[j].name for j in sorted(more) if not self._takes_missing[j]]
        if refused:
            raise ValueError(_refusal(refused))
        inputs = [_of_kind(given, kinds.get(j, given.kind)) for j, given in enumerate(self.inputs)]
        other = frozenset((j, given.kind) for j, given in enumerate(inputs) if given.kind is not self.inputs[j].kind)
        if not more and not other:
            return self
        if (more, other) not in self._wider:
            chosen = np.zeros(len(self.inputs), dtype=bool)
            chosen[[*self.missing, *more]] = True
            while len(self._wider) >= MOST_WIDER:
                self._wider.pop(next(iter(self._wider)))
            considered = _considering(inputs, self.adapted, chosen)
            # conditions on integer columns are read for integers
            known = read_knowledge(self.knowledge.texts or None, considered) if other else self.knowledge
            made = _converted(
                self.adapted,
                considered,
                self._groups,
                self.vote,
                self.outcome,
                self._takes_missing,
                known,
                self.plausible,
                loose=frozenset(j for j, given in enumerate(inputs) if given.kind is Kind.INTEGER) - self._strict,
            )
            self._wider[more, other] = made
        return self._wider[more, other]

    @property
    def _strict(self) -> frozenset[int]:
        """Inputs that the user declared as integers; rows with other numbers are refused."""
        return frozenset(j for j, given in enumerate(self.inputs) if given.kind is Kind.INTEGER) - self.loose

    @property
    def is_relative(self) -> bool:
        """Whether the classes are relative to the prediction for one row."""
        return isinstance(self.outcome, Within)

    def about(self, row: FloatArray) -> Explained:
        """The model to use for a row; it is a separate one if the classes are relative to the row's prediction.

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
        """The same model with the classes of ``asked``, over the same grid."""
        forest = asked.forest
        walker = Walker(forest.trees, self.literals, integer_scores(forest), self.grid)
        scores = replace(walker.score_model(ties_low=forest.ties_low), beside=self.scores.beside)
        return replace(
            self, scores=scores, classes=forest.classes, _asked=asked, _walker=walker, _wider={}, _around={}, _typed=[]
        )

    def outputs_of(self, X: FloatArray) -> FloatArray:
        """The numbers (of a regressor) or probabilities that the real model predicts for rows.

        Parameters
        ----------
        X : (n_rows, n_inputs) as :meth:`read` returns it

        Returns
        -------
        (n_rows,) or (n_rows, n_classes) float64

        Raises
        ------
        TypeError
            If the model returns neither numbers nor probabilities that follow from the scores of its trees.
        """
        if self.adapted.output is None:
            raise TypeError("the trees of this model do not add up to numbers or probabilities")
        return self.adapted.output(np.ascontiguousarray(X, dtype=np.float64))

    def with_gaps_of(self, X: FloatArray, kinds: Mapping[int, Kind] | None = None) -> Explained:
        """The same model over a space that contains these rows.

        An input that is missing in one of the rows may be missing in the space. A column that holds integers only
        because of the training table or the types of ``X=`` may hold any numbers if one of the rows has another number.
        Columns that no tree tests are ignored, because their values, missing or not, have no effect.

        Parameters
        ----------
        X : (n_rows, n_inputs) as :meth:`read` returns it
        kinds : kinds of inputs by the types of the rows, so that integers stay integers
        """
        # Only integers, categories and missing values can lie outside of the space. The usual row enters no further
        # code: decisions/0092-short-routes.
        plain = not kinds and all(given.kind is Kind.NUMERIC for given in self.grid.inputs)
        if plain and not np.isnan(X).any():
            return self
        gaps = _gaps(X, self.inputs, self.adapted, self._takes_missing) & self._tested
        wanted = {j: kind for j, kind in (kinds or {}).items() if self._tested[j]}
        broken = {j: Kind.NUMERIC for j in self._fractions(X).tolist() if self._tested[j]}
        return self._in_space(np.flatnonzero(gaps).tolist(), {**wanted, **broken})

    def _fractions(self, X: FloatArray) -> IntArray:
        """Inputs that hold integers without being declared so by the user, and in which some row has a fraction."""
        # A type is not a promise: such a row is explained in a space in which the column holds any number:
        # decisions/0053-whole-numbers-by-type.
        loose = np.array(sorted(self.loose), dtype=np.int64)
        values = X[:, loose]
        return np.asarray(loose[(~np.isnan(values) & (values != np.rint(values))).any(axis=0)])

    @property
    def tested(self) -> frozenset[int]:
        """Inputs that some tree tests, or a condition mentions."""
        return frozenset(np.flatnonzero(self._tested).tolist())

    def predict_codes(self, X: FloatArray) -> IntArray:
        """(n_rows,) class codes that the real model predicts, by ``vote``, for rows as :meth:`read` returns them."""
        return self._asked.predict(np.ascontiguousarray(X, dtype=np.float64))

    def are_plausible(self, X: FloatArray) -> BoolArray:
        """(n_rows,) whether the isolation forest itself finds rows plausible, for rows as :meth:`read` returns them."""
        if self.plausible is None:
            return np.ones(len(X), dtype=bool)
        return self.plausible.holds(np.asarray(X, dtype=np.float64))

    def of_every_row(self, what: str) -> None:
        """Raise ValueError if the model is limited to plausible rows: the question ``what`` needs all rows."""
        if self.plausible is not None:
            raise ValueError(
                f"plausible= does not work for this question ({what}): use an explainer without plausible=, which "
                "considers all rows"
            )

    def cells_of(self, X: FloatArray) -> IntArray:
        """(n_rows, n_columns of ``scores``) cells of rows as :meth:`read` returns them.

        Raises DataError if a row is not in the space. A value may be missing only in columns that may be missing in the
        space, or that no tree tests.
        """
        values = np.asarray(X, dtype=np.float64)
        check_rows(values, self._readable, self._groups)
        self._known.check(values, self._readable)
        unseen = np.flatnonzero(_gaps(values, self.inputs, self.adapted, self._takes_missing) & self._tested)
        if unseen.size:
            raise DataError(
                f"column {self.inputs[unseen[0]].name!r} has a missing value (or an unknown category, which the model "
                "treats as one), but missing values are not permitted in it: name the column in missing=, or give X= "
                "rows in which it is missing"
            )
        broken = [j for j in self._fractions(values).tolist() if self._tested[j]]
        if broken:
            raise DataError(
                f"column {self.inputs[broken[0]].name!r} holds numbers that are not integers, but only integers are "
                "considered here, as in the training table or in X=: use the model that with_gaps_of(rows) returns"
            )
        return self.grid.cells_of(values)

    def cells(self, x: FloatArray) -> IntArray:
        """(n_columns of ``scores``,) cells of one row (n_inputs,) as :meth:`read` returns it."""
        row = np.asarray(x, dtype=np.float64)
        if row.ndim != 1:
            raise DataError(f"x has shape {row.shape}: expected one row of shape (n_columns,)")
        return np.asarray(self.cells_of(row[np.newaxis])[0])

    def sums_of(self, cells: IntArray) -> IntArray:
        """(n_rows, n_classes) integer sums of rows, given as cells (n_rows, n_columns); fast for many rows."""
        return self._walker.sums_of(np.asarray(cells))


def _nothing_kept() -> dict[str, Any]:
    """Empty values for the attributes in which a conversion stores other conversions of the same model."""
    return {"_wider": {}, "_around": {}, "_typed": []}


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
    output: int | None = None,
    compared: bool = True,
    adapted: Adapted | None = None,
    max_bytes: int | None = None,
) -> Explained:
    """Convert a fitted model, and check the conversion against it.

    Parameters
    ----------
    model : fitted classifier or regressor; see :mod:`proofwood.ensembles.readers.supported` for the kinds
    vote, target, confidence, bounds, feature_names, output, max_bytes : as in :class:`proofwood.Explainer`
    feature_groups : from the name of a feature to its columns. A list means 0/1 columns, exactly one of which is 1;
        :class:`Group` states other kinds. The categories of a pipeline's OneHotEncoder are found automatically.
    integer : columns, by name or index, that hold integers only; integer columns of a frame ``X`` are found
        automatically
    missing : columns that may be missing in the space, in addition to those that are missing in a row of ``X``. In all
        other columns, every row of the space has a value, even if the training table had missing values.
    knowledge : conditions that every possible row satisfies, such as ``"age >= 18 or job == 'student'"`` or
        ``"age < 18 -> income == 0"``; see :mod:`proofwood.ensembles.knowledge`
    plausible : an isolation forest over the same columns, or a pair (forest, least score); its outliers are not
        considered; see :mod:`proofwood.ensembles.plausible`
    X : rows on which the conversion is checked, in addition to random rows
    compared : whether the rows of ``X`` are compared with the model now; otherwise :meth:`Explained.admit` does it
        later
    adapted : the result of :func:`reading_of` for the same model, vote, confidence, names, ``X`` and output, if it is
        known

    Returns
    -------
    Explained

    Raises
    ------
    TypeError
        If this kind of model is not supported.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ValueError
        If the options about columns do not fit the model, or a row of ``X`` contradicts them.
    MisreadError
        If the model and its trees, as they are read here, predict differently for a row; the message names the row.
    """
    # Start-up time: the readers load scikit-learn; reading explanations or certificates does not need it.
    from proofwood.ensembles.plausible import read_plausible
    from proofwood.ensembles.readers.native_files import opened

    stated = {
        "model": model,
        "vote": vote,
        "target": target,
        "confidence": confidence,
        "feature_groups": feature_groups,
        "bounds": bounds,
        "feature_names": feature_names,
        "knowledge": knowledge,
        "plausible": plausible,
        "output": output,
        "max_bytes": max_bytes,
    }
    arguments.choice(vote, "vote", ("auto", "majority"))
    arguments.mapping(bounds, "bounds", "{'income': (0, math.inf)}")
    arguments.mapping(feature_groups, "feature_groups", "{'colour': ['colour_red', 'colour_blue']}")
    names = None if feature_names is None else arguments.several(feature_names, "feature_names")
    integer = () if integer is None else arguments.several(integer, "integer")
    missing = () if missing is None else arguments.several(missing, "missing")
    X = as_table(X)
    with allowing(max_bytes):
        model = opened(model)
        if adapted is None:
            adapted = reading_of(model, vote=vote, confidence=confidence, feature_names=names, X=X, output=output)
    outcome = read_outcome(adapted, target, confidence)
    assert adapted.header is not None
    rows = None if X is None else adapted.header.opened(X)
    given = None if rows is None else adapted.read(rows.table)
    inputs = adapted.inputs
    if rows is not None and given is not None:
        inputs = kinds_from(rows.table, inputs, adapted.header.reaching)
        given = _with_gaps(adapted, inputs, rows.table, given)
    inputs, loose = with_integers(inputs, _reaching(integer, adapted))
    inputs = with_bounds(inputs, bounds)
    inputs, groups = resolved_groups(inputs, feature_groups)
    beside = read_plausible(plausible, model, adapted, inputs, names, X)
    takes = _takes_missing(adapted, groups)
    if beside is not None:
        takes[[j for j in beside.columns if j not in beside.takes_missing]] = False
    chosen = np.zeros(len(inputs), dtype=bool)
    for key in missing:
        chosen[position(key, [column.name for column in inputs], "missing")] = True
    if (chosen & ~takes).any():
        raise ValueError(_refusal([inputs[j].name for j in np.flatnonzero(chosen & ~takes)]))
    known = read_knowledge(knowledge, inputs)
    if given is not None:
        readable = _considering(inputs, adapted, takes)
        check_rows(given, readable, groups)
        known.check(given, readable)
        chosen |= _gaps(given, inputs, adapted, takes)
    considered = _considering(inputs, adapted, chosen)
    both = None if rows is None or given is None or not compared else (rows, given)
    result = _converted(adapted, considered, groups, vote, outcome, takes, known, beside, both, loose)
    return result if adapted.suits is None else replace(result, _stated=stated)


def reading_of(
    model: Any,
    *,
    vote: str = "auto",
    confidence: float | None = None,
    feature_names: Sequence[str] | None = None,
    X: Any = None,
    output: int | None = None,
) -> Adapted:
    """Read a model: the first step of :func:`explained`, which documents the parameters and errors."""
    # Start-up time: the readers load scikit-learn; reading explanations or certificates does not need it.
    from proofwood.ensembles.readers.native_files import opened
    from proofwood.ensembles.readers.supported import adapt

    model = opened(model)
    adapted = adapt(model, "sure" if vote == "auto" and confidence is not None else vote, feature_names, X, output)
    return door.completed(adapted, model, feature_names, X)


def _converted(
    adapted: Adapted,
    inputs: tuple[Input, ...],
    groups: Mapping[str, tuple[tuple[int, ...], GroupKind]],
    vote: str,
    outcome: Outcome,
    takes_missing: BoolArray,
    knowledge: Knowledge,
    plausible: Plausible | None,
    given: tuple[Given, FloatArray] | None = None,
    loose: frozenset[int] = frozenset(),
) -> Explained:
    """Convert the model to the grid of these inputs, and check it on random rows and on the ``given`` rows."""
    asked = classified(adapted, outcome.around(0.0) if isinstance(outcome, Within) else outcome)
    # use the tests of the model itself: which tests are redundant may differ from row to row
    own = adapted.forest
    further = () if plausible is None else plausible.trees_from(len(adapted.sources))
    sources = adapted.sources if plausible is None else (*adapted.sources, *plausible.sources)
    builder = GridBuilder((*own.trees, *further), inputs, sources, knowledge, own=len(adapted.sources))
    grid = builder.build(groups)
    every = builder.literals()
    literals = every[: len(own.trees)]
    forest = asked.forest
    walker = Walker(forest.trees, literals, integer_scores(forest), grid)
    scores = walker.score_model(ties_low=forest.ties_low)
    if plausible is not None:
        beside = plausible.adapted.forest
        second = Walker(beside.trees, every[len(own.trees) :], integer_scores(beside), grid)
        scores = replace(scores, beside=second.score_model(ties_low=beside.ties_low))
    classes = np.asarray(forest.classes)
    # rows are read with missing values wherever the model takes them, and with any numbers unless the user declared
    # integers
    freed = [_of_kind(given, Kind.NUMERIC) if j in loose else given for j, given in enumerate(inputs)]
    readable = _considering(freed, adapted, takes_missing)
    tested = np.zeros(len(inputs), dtype=bool)
    tested[sorted(knowledge.columns)] = True
    for tree in (*own.trees, *further):
        tested[[sources[feature].column for feature in np.unique(tree.feature[tree.feature != LEAF]).tolist()]] = True
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
        readable,
        read_knowledge(knowledge.texts, readable) if loose & set(knowledge.columns) else knowledge,
        tested,
        literals,
        loose,
    )
    tables = [(sample_rows(result, CHECKED_ROWS, 0), "the random row {}")]
    if given is not None and len(given[1]):
        read = result._compared(*given)[0]  # first, as it can say which column makes the difference
        tables.insert(0, (read[:CHECKED_ROWS], "row {} of X"))
    for rows, where in tables:
        _check(result, rows, where)
        _check_outputs(result, rows, where)
        if plausible is not None:
            _check_plausible(result, second, rows, where)
    return result


def model_of(outline: Space, model: Any, row: FloatArray | None = None) -> Explained:
    """The whole model for an answer, such as an explanation, over the rows that the answer considers.

    Parameters
    ----------
    outline : the model that is stored in the answer, or an outline of it
    model : the Explainer that gave the answer, or its ``model``; None if the model is stored in the answer
    row : (n_inputs,) row of the answer, if it is about one row

    Raises
    ------
    TypeError
        If ``model`` is neither an Explainer nor its model.
    ValueError
        If ``model`` is another model, or None although the answer stores only an outline.
    """
    if model is None:
        if isinstance(outline, Explained):
            return outline
        raise ValueError(
            "this answer was loaded without its model, because a pickle does not contain the model: call "
            "with_model(explainer) with an Explainer of the same model, or, for an explanation, verify(model=explainer)"
        )
    given = getattr(model, "model", model)
    if not isinstance(given, Explained):
        raise TypeError(f"model is a {type(model).__name__}: expected the Explainer that gave the answer, or its model")
    takes = set(outline.missing) <= set(np.flatnonzero(given._takes_missing).tolist())
    given = given.with_space(outline.missing if takes else (), outline.types)
    given = given if row is None else given.about(row)
    if given.fingerprint != outline.fingerprint:
        raise ValueError(
            "this answer is about another model, or about other bounds, groups or knowledge: expected the Explainer "
            "that gave the answer"
        )
    return given


def sample_rows(explained: Explained, n: int, random_state: int) -> FloatArray:
    """Random rows within the bounds. Values are on thresholds, next to them, between them, or outside them all."""
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
        first, last = float(cuts[0]), float(cuts[-1])
        spread = (last / 4 - first / 4) or max(1.0, abs(first) / 8) / 4
        # Models of float32 refuse numbers beyond it, and the difference of two float64 may be none.
        most = SINGLE if max(abs(first), abs(last)) <= SINGLE else LARGEST / 2
        around = generator.uniform(low := max(first - spread, -most), max(low, min(last + spread, most)), n)
        beside = np.where(generator.random(n) < 0.5, np.nextafter(at, np.inf), np.nextafter(at, -np.inf))
        near = at + generator.choice([-1.0, 1.0], n) * step if given.whole else beside
        values = np.choose(generator.integers(0, 3, n), [at, around, near])
        values = np.clip(np.floor(values) if given.whole else values, given.low, given.high)
    if given.missing:
        values[generator.random(n) < 0.15] = np.nan
    return np.asarray(values)


def _check(explained: Explained, rows: FloatArray, where: str) -> None:
    """Raise MisreadError if the integer sums and the model disagree about a row by more than the margin."""
    scores, wrong = explained.scores, explained._other_classes(rows, explained.predict_codes(rows))
    if wrong is not None:
        row, said, here = wrong
        raise MisreadError(
            f"{_REFUSED}, on {where.format(row)}, {rows[row].tolist()}: the model predicts {said!r}, but the "
            f"trees give {here!r}. {_WHY}",
            predicted=said,
            read=here,
        )
    part = rows[:BLOCK]
    cells = explained.grid.cells_of(part)
    sums = explained.sums_of(cells)
    possible = explained.knowledge.holds(part, explained.inputs)
    for row in range(min(len(part), 2 if not explained.knowledge else 32)):
        if not np.array_equal(scores.sums(cells[row]), sums[row]) or scores.meets_clauses(cells[row]) != possible[row]:
            raise AssertionError(
                f"the scores of the leaves do not add up to the sums on {where.format(row)}, {part[row].tolist()}"
            )


_REFUSED = "the model disagrees with its trees as they are read here"
_WHY = (
    "Such a model cannot be explained. Probably its class, or that of a step before it, overrides predict or "
    "transform: explain the model inside it. Otherwise its library stores something that is not supported yet"
)


def _check_outputs(explained: Explained, rows: FloatArray, where: str) -> None:
    """Raise MisreadError if the model's numbers or probabilities do not follow from the sums of its trees."""
    adapted = explained.adapted
    forest, link = adapted.forest, adapted.forest.link
    if link is None or adapted.output is None:
        return
    walker = explained._walker
    if explained._asked.forest is not forest:
        walker = Walker(forest.trees, explained.literals, integer_scores(forest), explained.grid)
    integers = walker.scores
    ours = walker.sums_of(explained.grid.cells_of(rows)) / integers.scale
    given = adapted.output(np.ascontiguousarray(rows))
    if link.kind == "logistic" and forest.n_classes == 2:
        ours, given = ours[:, 1:] - ours[:, :1], given[:, 1:]
    theirs = link.sums(given).reshape(len(rows), -1)
    slack = forest.noise + (2 * integers.error + 1) / integers.scale + link.slop(given).reshape(len(rows), -1)
    wrong = np.flatnonzero((np.isfinite(theirs) & (np.abs(ours - theirs) > slack)).any(axis=1))
    if wrong.size:
        row = int(wrong[0])
        raise MisreadError(
            f"{_REFUSED}, on {where.format(row)}, {rows[row].tolist()}: the model gives "
            f"{np.asarray(given)[row].tolist()}, which means a sum of {theirs[row].tolist()}, but the trees add up to "
            f"{ours[row].tolist()}. {_WHY}"
        )


def _check_plausible(explained: Explained, walker: Walker, rows: FloatArray, where: str) -> None:
    """Raise MisreadError if the integer sums and the isolation forest disagree about a row by more than the margin."""
    beside = explained.scores.beside
    assert beside is not None
    says = explained.are_plausible(rows).astype(np.int64)
    sums = walker.sums_of(explained.grid.cells_of(rows))
    at = np.arange(len(rows))
    least = np.array([beside.threshold_of_win(0, 1), beside.threshold_of_win(1, 0)])
    wrong = np.flatnonzero(sums[at, says] - sums[at, 1 - says] < least[says])
    if wrong.size:
        row = int(wrong[0])
        raise MisreadError(
            f"plausible: the isolation forest disagrees with its trees as they are read here, on {where.format(row)}, "
            f"{rows[row].tolist()}: only the forest calls this row an {'in' if says[row] else 'out'}lier. {_WHY}"
        )


# ------------------------------------------------------------------------------------------------------ missing values


def _takes_missing(adapted: Adapted, groups: Mapping[str, tuple[tuple[int, ...], GroupKind]]) -> BoolArray:
    """(n_inputs,) whether the model, and the group of the column, accept a missing value in the column."""
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
        f"missing values are not possible in {shown(names)}: the model does not accept them there, or the column is "
        "in a group of 0/1 columns. Leave these columns out"
    )


def _gaps(X: FloatArray, inputs: Sequence[Input], adapted: Adapted, takes_missing: BoolArray) -> BoolArray:
    """(n_inputs,) whether some row has a missing value in an input that may not be missing in the space so far.

    An unknown category counts as a missing value if the model treats it as one.
    """
    gaps = np.zeros(len(inputs), dtype=bool)
    for j, column in enumerate(inputs):
        if column.missing or not takes_missing[j]:
            continue
        lacks = np.isnan(X[:, j])
        if adapted.unknown_missing and column.kind is Kind.NOMINAL and not column.other:
            lacks |= (X[:, j] < 0) | (X[:, j] >= len(column.levels))
        gaps[j] = lacks.any()
    return gaps


def _with_gaps(adapted: Adapted, inputs: Sequence[Input], table: Any, values: FloatArray) -> FloatArray:
    """The rows, in which a filled-in number becomes a missing value again if the column itself cannot hold the number.

    For example, the mean of 0 and 1 cannot occur in a boolean column. A missing value there remains a separate value:
    proofs are then about 0, 1 and the missing value, not about the numbers between 0 and 1.

    Parameters
    ----------
    adapted : the model as its reader returns it
    inputs : the columns and their kinds
    table : rows as readers take them
    values : (n_rows, n_inputs) as they were read
    """
    if adapted.filled is None or not len(values):
        return values
    assert adapted.header is not None
    typed = kinds_of_types(table, adapted.header.reaching)
    odd = np.zeros(values.shape, dtype=bool)
    for j, (given, kind) in enumerate(zip(inputs, typed, strict=True)):
        if given.kind not in (Kind.NUMERIC, Kind.INTEGER, Kind.BOOLEAN):
            continue
        held = (given.kind, kind)
        if held != (Kind.NUMERIC, Kind.NUMERIC):
            odd[:, j] = values[:, j] != np.rint(values[:, j])
        if Kind.BOOLEAN in held:
            odd[:, j] |= (values[:, j] < 0) | (values[:, j] > 1)
    if not odd.any():
        return values
    return np.where(odd & adapted.filled(table), np.nan, values)


def _of_kind(given: Input, kind: Kind) -> Input:
    """The input of numbers, changed to integers, 0 and 1, or any numbers; other inputs are returned unchanged."""
    free = (Kind.NUMERIC, Kind.INTEGER)
    if given.kind not in free or kind not in (*free, Kind.BOOLEAN) or kind is given.kind:
        return given
    low, high = given.low, given.high
    if kind is Kind.BOOLEAN:
        low, high = max(low, 0.0), min(high, 1.0)
    if kind is not Kind.NUMERIC:
        low, high = np.ceil(low).item(), np.floor(high).item()
    return replace(given, kind=kind, low=low, high=high) if low <= high else given


def _reaching(keys: Iterable[Key], adapted: Adapted) -> list[Key]:
    """The keys of the columns that reach the model; other columns have no effect on it."""
    assert adapted.header is not None
    idle = set(adapted.header.told) - {given.name for given in adapted.inputs}
    return [key for key in keys if key not in idle]


def _considering(inputs: Sequence[Input], adapted: Adapted, missing: BoolArray) -> tuple[Input, ...]:
    """The inputs, each marked with whether it may be missing in the space."""
    unknown = adapted.unknown_missing
    return tuple(
        replace(column, missing=m, other=column.other or (unknown and m and column.kind is Kind.NOMINAL))
        for column, m in zip(inputs, missing.tolist(), strict=True)
    )
