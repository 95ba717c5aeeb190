"""A fitted model as integers over its threshold grid, and the way between rows and cells.

:func:`explained` converts the model, lays out the grid, and then compares the integer sums with the predictions of the
real model on rows inside the grid, on its thresholds and one number beside them: a disagreement is an error, so that an
explanation is never about another function than the model. Rows of the user are compared as they are given, wherever
they are given (:mod:`proofwood.ensembles.door`), so that it is never about another row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from proofwood import arguments
from proofwood.data.columns import as_table
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
from proofwood.ensembles.readers.given import Given
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
"""Random rows on which a conversion is compared with the model."""
MOST_AROUND = 16
"""Conversions around the predictions of rows that a conversion keeps."""
BLOCK = 8192
"""Rows whose sums are counted at a time."""
FEW = 8
"""Rows up to which sums are counted leaf by leaf, which is faster then."""
MOST_WIDER = 16
"""Conversions with further columns of missing values that a conversion keeps."""
MOST_TYPED = 8
"""Readings for the types of numbers of other tables that a conversion keeps."""


@dataclass(eq=False)
class Explained(Space):
    """A model, its ``ScoreModel``, and the way between rows of a table and cells of the grid.

    Parameters
    ----------
    scores : the model in integers
    grid : where the cells come from
    classes : (n_classes,) labels
    vote : "auto": what the model predicts; "majority": the class that most trees predict
    outcome : the question about the numbers of a regressor, or the probability that a classifier must reach; None for
        its classes
    adapted : the model as its reader reads it, before anything is asked
    knowledge : what every possible row satisfies beside the bounds of its columns
    plausible : which rows are plausible; None if all are
    _readable, _known : the inputs, with all values that a row may have that is read; what is known of such rows
    _tested : (n_inputs,) whether some tree tests the input, or a condition mentions it
    literals : per tree what its tests are over the grid
    loose : inputs that hold integers because the table of training does, or the types of ``X=``: a row with another
        number is read, and asked about in a space of its own
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
        """A short text that differs between models, their grids and their names."""
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
        """The trees, with the outcome that is asked about."""
        return self._asked.forest

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where the columns of the trees come from."""
        return tuple(self._asked.sources)

    @property
    def integers(self) -> IntegerScores:
        """The scores of all nodes of the trees, in integers."""
        return self._walker.scores

    # ------------------------------------------------------------------------------------------------------- rows

    def read(self, X: Any) -> FloatArray:
        """Rows as float64 columns: a frame by name, categories as codes, preprocessing of a pipeline as its inputs.

        The rows are compared with the model: :meth:`admit` says how.

        Parameters
        ----------
        X : (n_rows, n_columns) rows as the model takes them, in any container: array, frame, sparse matrix

        Returns
        -------
        (n_rows, n_inputs) float64, NaN where missing

        Raises
        ------
        DataError
            On a wrong number of columns, unknown names, a missing value where the model takes none, a value outside
            the bounds, or a row that breaks a group or a condition; the message names the column and the row.
        MisreadError
            If the model predicts another class for a row as it was given than for what is read.

        Notes
        -----
        A missing value is read wherever the model takes one. To ask for the cells of such a row, take the conversion
        that :meth:`with_gaps_of` gives for it.
        """
        return self.admit(X).values

    def admit(self, X: Any, *, table: bool = True) -> Admitted:
        """Rows that ``model.predict`` was asked about exactly as they are given; its classes are those of the reading.

        Parameters
        ----------
        X : rows as :meth:`read` takes them
        table : whether the user gave them so; else they were made from something that is not a table, such as a mapping

        Raises
        ------
        DataError, MisreadError
            As :meth:`read` does.
        """
        header = self.adapted.header
        assert header is not None
        given = header.opened(X, table=table)
        values = self._values(given.table)
        values, codes, reading, read = self._compared(given, values)
        none = np.zeros(values.shape, dtype=bool)
        filled = none if self.adapted.filled is None or not len(values) else self.adapted.filled(read)
        filled &= ~np.isnan(values)
        return Admitted(values, filled, codes, reading, dict(enumerate(kinds_of_types(given.table, header.reaching))))

    def _compared(self, given: Given, values: FloatArray) -> tuple[FloatArray, IntArray, str, Any]:
        """Rows as the model reads them, their class codes, how that was checked, and the table that was read."""
        if not len(values):
            return values, np.zeros(0, dtype=np.int64), door.CHECKED, given.table
        within = isinstance(self.outcome, Within)  # its classes are relative to one row: numbers are compared
        asked = self.adapted if within else self._asked
        said, reading, rows = door.asked(asked, given)
        if said is None:
            codes = np.zeros(len(values), dtype=np.int64) if within else self.predict_codes(values)
            return values, codes, reading, given.table
        if len(said) != len(values):
            raise TypeError(f"the model gives {len(said)} answers for {len(values)} rows: expected one for each row")
        table = given.table
        if rows is not given.rows:  # a missing value may be another value in the container that the model took
            assert asked.header is not None
            table = asked.header.opened(rows).table
            values = self._values(table)
        model = self.with_gaps_of(values)
        wrong = (model._other_numbers if within else model._other_classes)(values, said)
        if wrong is not None:
            raise door.misread(asked, given, rows, model._misread(*wrong, values))
        return values, np.zeros(len(values), dtype=np.int64) if within else said, reading, table

    def _values(self, table: Any) -> FloatArray:
        values = _with_gaps(self.adapted, self.inputs, table, self.adapted.read(table))
        self._check_rows(values)
        return values

    def _other_classes(self, values: FloatArray, said: IntArray) -> tuple[int, Any, Any] | None:
        """The first row that the model puts into another class than its sums can, beyond rounding, with both classes.

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
        """The first row for which the model gives another number than its trees, beyond rounding, with both numbers."""
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
            """Ends and middle of the numbers that are in the cells of the row."""
            ends = [grid.interval(g, int(cells[g]), int(cells[g])) for g in grid.of_input[j]]
            low, high = max(end[0] for end in ends), min(end[2] for end in ends)
            own = float(values[at, j])
            low, high = max(low, own - max(1.0, abs(own))), min(high, own + max(1.0, abs(own)))
            return [(low + high) / 2, (low + own) / 2, (high + own) / 2]

        return door.Misread(at, len(values) == 1, said, read, values[at], within)

    def _check_rows(self, values: FloatArray) -> None:
        check_rows(values, self._readable, self._groups)
        self._known.check(values, self._readable)

    def with_types_of(self, X: Any) -> Explained:
        """The same model, read for rows of the types of numbers that a table has, where its steps compute in these.

        Columns that hold integers by the types of ``X=`` alone do so there if the types of this table say it.

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
        """The same model over a space in which further inputs may be missing, and columns hold what their types say.

        Parameters
        ----------
        missing : indices of inputs
        types : names of the columns of each kind, ``"integer"`` and ``"boolean"``; all others hold any numbers. Columns
            that the user states to hold integers, and those that hold 0 and 1 anyway, do not matter here

        Raises
        ------
        ValueError
            If the model does not accept a missing value in one of them.
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
            # what is known of whole numbers is known in whole numbers
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
        """Inputs that hold integers because the user says so: rows with other numbers are refused."""
        return frozenset(j for j, given in enumerate(self.inputs) if given.kind is Kind.INTEGER) - self.loose

    @property
    def is_relative(self) -> bool:
        """Whether its classes are relative to the prediction of one row."""
        return isinstance(self.outcome, Within)

    def about(self, row: FloatArray) -> Explained:
        """The model to ask about a row: another one if its classes are relative to the row.

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
        walker = Walker(forest.trees, self.literals, integer_scores(forest), self.grid)
        scores = replace(walker.score_model(ties_low=forest.ties_low), beside=self.scores.beside)
        return replace(
            self, scores=scores, classes=forest.classes, _asked=asked, _walker=walker, _wider={}, _around={}, _typed=[]
        )

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
            raise TypeError("the trees of this model do not add up to numbers or probabilities")
        return self.adapted.output(np.ascontiguousarray(X, dtype=np.float64))

    def with_gaps_of(self, X: FloatArray, kinds: Mapping[int, Kind] | None = None) -> Explained:
        """The same model over a space that these rows are in.

        A missing value is considered in the inputs that lack one in some of them, too. A column that holds integers
        because the table of training does, or the types of ``X=``, holds any numbers where one of the rows has another.
        Columns that no tree tests are left out: what they hold, also nothing, makes no difference.

        Parameters
        ----------
        X : (n_rows, n_inputs) as :meth:`read` returns it
        kinds : what inputs hold by the types of the rows, where integers are to stay integers
        """
        gaps = _gaps(X, self.inputs, self.adapted, self._takes_missing) & self._tested
        wanted = {j: kind for j, kind in (kinds or {}).items() if kind is not Kind.NUMERIC and self._tested[j]}
        broken = {j: Kind.NUMERIC for j in self._fractions(X).tolist() if self._tested[j]}
        return self._in_space(np.flatnonzero(gaps).tolist(), {**wanted, **broken})

    def _fractions(self, X: FloatArray) -> IntArray:
        """Inputs that hold integers, though the user does not say so, and in which some row has another number."""
        # A type is not a promise: such a row is asked about in a space in which the column holds any number:
        # decisions/0053-whole-numbers-by-type.
        loose = np.array(sorted(self.loose), dtype=np.int64)
        values = X[:, loose]
        return np.asarray(loose[(~np.isnan(values) & (values != np.rint(values))).any(axis=0)])

    @property
    def tested(self) -> frozenset[int]:
        """Inputs that some tree tests, or a condition mentions."""
        return frozenset(np.flatnonzero(self._tested).tolist())

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

        A row may lack a value only in columns that may be missing, or that no tree tests.
        """
        values = np.asarray(X, dtype=np.float64)
        self._check_rows(values)
        unseen = np.flatnonzero(_gaps(values, self.inputs, self.adapted, self._takes_missing) & self._tested)
        if unseen.size:
            raise DataError(
                f"column {self.inputs[unseen[0]].name!r} has a missing value (or an unknown category, which the model "
                "treats as one), but missing values are not permitted in it: name the column in missing=, or give rows "
                "in which a value is missing as X="
            )
        broken = [j for j in self._fractions(values).tolist() if self._tested[j]]
        if broken:
            raise DataError(
                f"column {self.inputs[broken[0]].name!r} holds numbers that are not integers, and only integers are "
                "considered here, as in the table of training or in X=: take with_gaps_of(rows)"
            )
        return self.grid.cells_of(values)

    def cells(self, x: FloatArray) -> IntArray:
        """(n_columns of ``scores``,) cells of one row (n_inputs,) as :meth:`read` returns it."""
        row = np.asarray(x, dtype=np.float64)
        if row.ndim != 1:
            raise DataError(f"x has shape {row.shape}: expected one row of shape (n_columns,)")
        return np.asarray(self.cells_of(row[np.newaxis])[0])

    def sums_of(self, cells: IntArray) -> IntArray:
        """(n_rows, n_classes) integer sums of rows given by their cells (n_rows, n_columns); fast for many rows."""
        return self._walker.sums_of(np.asarray(cells))


def _nothing_kept() -> dict[str, Any]:
    """The attributes in which a conversion keeps other conversions of the same model."""
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
    vote : "auto" for what the model predicts, "majority" for the class that most trees predict (ties to the lowest)
    target : for a regressor, the question about its numbers: ``(">=", 250_000)``, ``(">", v)``, ``("<=", v)``,
        ``("<", v)``, ``("between", low, high)``, ``("within", distance)`` of the row's own prediction, or a list
        of cuts between bands
    confidence : of a classifier, the least probability that counts: rows where no class has it are "unsure", a
        class of its own
    feature_groups : from the name of a feature to its columns. A list means 0/1 columns, exactly one of which is 1;
        :class:`Group` states other kinds. The categories of a pipeline's OneHotEncoder are found without it.
    bounds : from a column, by name or index, to its least and greatest value: other values are not of the space
    feature_names : names of the columns, where the model does not know them
    integer : columns, by name or index, that hold integers only; integer columns of a frame ``X`` are found without it
    missing : columns that may be missing in the space, besides those that are missing in a row of ``X``. In
        all others every row of the space has a value, whatever the model was learned from.
    knowledge : conditions that every possible row satisfies, such as ``"age >= 18 or job == 'student'"`` or
        ``"age < 18 -> income == 0"``; see :mod:`proofwood.ensembles.knowledge`
    plausible : an isolation forest over the same columns, or a pair of one and a least score: rows that it takes for
        outliers are not considered; see :mod:`proofwood.ensembles.plausible`
    X : rows that the conversion is checked on beside the random ones
    output : of a model that predicts several targets (outputs, labels) at once: which of them, counted from 0
    compared : whether the model is asked about the rows of ``X`` now; else who reads them with :meth:`Explained.admit`
        asks it then
    adapted : what :func:`reading_of` gives for the same model, vote, confidence, names, ``X`` and output, if it was
        asked before
    max_bytes : that the model of a file may take in memory, by what the file declares; 4 GiB by default

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
    MisreadError
        If the model predicts something else than its trees, as they are read, say; the message names the row.
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
        raise ValueError("missing names " + _refusal([inputs[j].name for j in np.flatnonzero(chosen & ~takes)]))
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
    """How a model is read: the first step of :func:`explained`, which has the parameters and errors."""
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
    """The model over the grid of these inputs, checked on random rows, and on those that are given, which are read."""
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
    walker = Walker(forest.trees, literals, integer_scores(forest), grid)
    scores = walker.score_model(ties_low=forest.ties_low)
    if plausible is not None:
        beside = plausible.adapted.forest
        second = Walker(beside.trees, every[len(own.trees) :], integer_scores(beside), grid)
        scores = replace(scores, beside=second.score_model(ties_low=beside.ties_low))
    classes = np.asarray(forest.classes)
    # rows are read with missing values wherever the model takes them, and any numbers unless the user says no
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
    """The model that an answer is about, in the space that it is about.

    Parameters
    ----------
    outline : what the answer has of the model: all of it, or an outline
    model : the Explainer that gave the answer, or its ``model``; None if the answer has it
    row : (n_inputs,) that the answer is about, if it is about one

    Raises
    ------
    TypeError
        If ``model`` is something else.
    ValueError
        If it is another model, or None where only an outline is there.
    """
    if model is None:
        if isinstance(outline, Explained):
            return outline
        raise ValueError(
            "this answer was loaded without its model, which is not kept with it: give the Explainer of the same "
            "model, with_model(explainer), or verify(model=explainer) of an explanation"
        )
    given = getattr(model, "model", model)
    if not isinstance(given, Explained):
        raise TypeError(f"model is a {type(model).__name__}: expected the Explainer that gave the answer, or its model")
    takes = set(outline.missing) <= set(np.flatnonzero(given._takes_missing).tolist())
    given = given.with_space(outline.missing if takes else (), outline.types)
    given = given if row is None else given.about(row)
    if given.fingerprint != outline.fingerprint:
        raise ValueError(
            "this answer is about another model, or about other rows by bounds, groups or knowledge: expected the "
            "Explainer that gave it"
        )
    return given


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
    """MisreadError if the integers and the model disagree about a row, made here, by more than the margin."""
    scores, wrong = explained.scores, explained._other_classes(rows, explained.predict_codes(rows))
    if wrong is not None:
        row, said, here = wrong
        raise MisreadError(
            f"{_REFUSED}, on {where.format(row)}, {rows[row].tolist()}: it predicts {said!r}, and its trees, as they "
            f"are read here, say {here!r}. {_WHY}",
            predicted=said,
            read=here,
        )
    part = rows[:BLOCK]
    cells = explained.grid.cells_of(part)
    sums = explained.sums_of(cells)
    possible = explained.knowledge.holds(part, explained.inputs)
    for row in range(min(len(part), 2 if not explained.knowledge else 32)):
        if not np.array_equal(scores.sums(cells[row]), sums[row]) or scores.meets_clauses(cells[row]) != possible[row]:
            raise AssertionError(f"the leaves do not add up on {where.format(row)}, {part[row].tolist()}")


_REFUSED = "the model itself disagrees with its reading"
_WHY = (
    "Such a model is not explained. Likely it, or a step before it, is of a class of its own with another predict or "
    "transform: explain the model that it is made of; or its library stores something here that is not known yet"
)


def _check_outputs(explained: Explained, rows: FloatArray, where: str) -> None:
    """MisreadError if the sums of the trees are not what the model's numbers or probabilities are made of."""
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
            f"{_REFUSED}, on {where.format(row)}, {rows[row].tolist()}: it gives {np.asarray(given)[row].tolist()}, "
            f"which is a sum of {theirs[row].tolist()}, and its trees, as they are read here, add up to "
            f"{ours[row].tolist()}. {_WHY}"
        )


def _check_plausible(explained: Explained, walker: Walker, rows: FloatArray, where: str) -> None:
    """MisreadError if the integers and the isolation forest disagree about a row by more than the margin."""
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
            f"plausible: the isolation forest and the way it is read here disagree on {where.format(row)}, "
            f"{rows[row].tolist()}: the forest calls it an {'in' if says[row] else 'out'}lier. {_WHY}"
        )


# ------------------------------------------------------------------------------------------------------ missing values


def _takes_missing(adapted: Adapted, groups: Mapping[str, tuple[tuple[int, ...], GroupKind]]) -> BoolArray:
    """(n_inputs,) whether a missing value is accepted by the model and by the group that the column is in."""
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


def _with_gaps(adapted: Adapted, inputs: Sequence[Input], table: Any, values: FloatArray) -> FloatArray:
    """Rows whose missing values stay missing where a step fills in a number that the column itself never holds.

    The mean of 0 and 1 is not a value that a column of truth values may have, so a missing value in it is a value of
    its own, and what is proved is proved of 0, 1 and a missing value, and of no number between.

    Parameters
    ----------
    adapted : the reading
    inputs : what its columns hold
    table : rows as readers read them
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
    """An input of numbers as one of integers, of 0 and 1, or of any numbers; others as they are."""
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
    """Keys of columns that reach the model: what the others hold makes no difference."""
    assert adapted.header is not None
    idle = set(adapted.header.told) - {given.name for given in adapted.inputs}
    return [key for key in keys if key not in idle]


def _considering(inputs: Sequence[Input], adapted: Adapted, missing: BoolArray) -> tuple[Input, ...]:
    """The inputs, with the columns marked that may be missing in the space."""
    unknown = adapted.unknown_missing
    return tuple(
        replace(column, missing=m, other=column.other or (unknown and m and column.kind is Kind.NOMINAL))
        for column, m in zip(inputs, missing.tolist(), strict=True)
    )
