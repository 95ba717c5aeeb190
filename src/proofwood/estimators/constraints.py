"""Constraints on diagrams: fairness between groups of rows, most splits, least weight of every split.

They are plain values that an estimator takes as a parameter; ``fit`` turns them into inequalities on its rows.

References
----------
Florio, Martins, Schiffer, Serra, Vidal (2023), Optimal Decision Diagrams for Classification, AAAI: eq. 19 (fairness),
"parsimony", eq. 20 (stability). The paper prints eq. 19 with counts of rows. Here it uses rates, so that groups of
different size are compared by shares, as in the four-fifths rule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from proofwood.arguments import is_integer
from proofwood.data.frames import is_frame
from proofwood.estimators.shared_docs import documented
from proofwood.model.node_table import BoolArray, IntArray
from proofwood.printable import shown
from proofwood.problem.diagram import Rate
from proofwood.problem.objectives import IntegerWeights, decimal, integer_weights, share_of

MOST_GROUPS = 50
"""The most groups that are compared in pairs; a column with more values is probably not a column of groups."""


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each row, and by how much the row counts in a rate.

    Parameters
    ----------
    values : distinct values, sorted
    index : (n_rows,) position in ``values`` of the value of each row
    counted : (n_rows,) weights of rows in rates
    """

    values: tuple[Any, ...]
    index: IntArray
    counted: IntegerWeights

    @classmethod
    def of(cls, sensitive_features: Any, n_rows: int, sample_weight: npt.ArrayLike | None = None) -> Groups:
        """Make groups from one value per row, given as a list, an array, a series, or a frame of one column.

        Raises
        ------
        ValueError
            If the number of values is not ``n_rows``, values are missing or cannot be sorted, or weights are none.
        """
        given = _values(sensitive_features)
        if len(given) != n_rows:
            raise ValueError(f"sensitive_features has {len(given)} values for {n_rows} rows: pass one value per row")
        for row, value in enumerate(given):
            if value is None or type(value).__name__ == "NAType" or value != value:
                raise ValueError(
                    f"sensitive_features has no value in row {row} ({value!r}): drop such rows, or give them a value "
                    "such as 'unknown'"
                )
        try:
            values = tuple(sorted(set(given)))
        except TypeError as error:
            raise ValueError(
                f"sensitive_features has values that cannot be sorted ({error}): make them all text or all numbers"
            ) from None
        place = {value: position for position, value in enumerate(values)}
        index = np.array([place[value] for value in given], dtype=np.int64)
        return cls(values, index, integer_weights(sample_weight, n_rows))

    def take(self, rows: IntArray) -> Groups:
        """The groups of the rows with these indices; ``values`` stays the same, even if some no longer occur.

        Raises
        ------
        ValueError
            If another row counts in rates.
        """
        weights, unit, rounding = self.counted
        if np.count_nonzero(weights) > np.count_nonzero(weights[rows]):
            raise ValueError(
                "a class has the weight 0, but rates count its rows: give it a small class_weight, such as 0.001, or "
                "give the rows that are to be left out the sample_weight 0"
            )
        counted = IntegerWeights(weights[rows], unit, None if rounding is None else rounding.take(rows))
        return Groups(self.values, self.index[rows], counted)


def _values(given: Any) -> list[Any]:
    if is_frame(given):
        if given.shape[1] != 1:
            raise ValueError(f"sensitive_features has {given.shape[1]} columns: expected one value per row")
        given = given[given.columns[0]]
    if hasattr(given, "to_list"):  # a series of pandas or polars
        return list(given.to_list())
    array = np.asarray(given, dtype=object if isinstance(given, (list, tuple)) else None)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"sensitive_features has shape {array.shape}: expected one value per row, shape (n_samples,)")
    return [value.item() if isinstance(value, np.generic) else value for value in array.tolist()]


@dataclass(frozen=True, repr=False)
class Constraint(ABC):
    """A condition that a diagram must meet. Two constraints with equal parameters are equal."""

    @abstractmethod
    def check(self) -> None:
        """Raise ValueError if a parameter is out of range."""

    def to_plain(self) -> dict[str, Any]:
        """Name and parameters as a dict for a model file; :func:`from_plain` is the inverse."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        if values.get("penalty", 0) is None:  # so that files are the same as before penalties existed
            del values["penalty"]
        return {"constraint": type(self).__name__, **values}

    @property
    def advice(self) -> str:
        """Text for an error message: what to change if no diagram meets the constraint."""
        return "loosen it"


# ----------------------------------------------------------------------------------------------------------- size


@dataclass(frozen=True, repr=False)
class MaxSplits(Constraint):
    """A diagram has at most ``n_splits`` splits (inner nodes, including the root): "parsimony" in the paper.

    Parameters
    ----------
    n_splits : int, at least 1
    """

    n_splits: int

    def __repr__(self) -> str:
        return f"MaxSplits({self.n_splits!r})"

    def check(self) -> None:
        """Raise ValueError unless ``n_splits`` is an integer of at least 1."""
        if not is_integer(self.n_splits) or self.n_splits < 1:
            raise ValueError(f"{self!r}: expected an integer from 1: the most splits that the diagram may have")


@dataclass(frozen=True, repr=False)
class MinSamples(Constraint):
    """At least ``amount`` of the training rows reach every split (eq. 20), so that no split depends on a few rows.

    Parameters
    ----------
    amount : float in (0, 0.5]: a share of the total training weight; or int of at least 1: a weight (without weights,
        a number of rows)
    """

    amount: float

    def __repr__(self) -> str:
        return f"MinSamples({self.amount!r})"

    def check(self) -> None:
        """Raise ValueError unless ``amount`` is a share in (0, 0.5] or an integer of at least 1."""
        if is_integer(self.amount):
            number: Fraction | None = Fraction(int(self.amount))
        else:
            number = None if isinstance(self.amount, (bool, np.bool_)) else decimal(self.amount)
        if number is None or not (number >= 1 if is_integer(self.amount) else 0 < number <= Fraction(1, 2)):
            raise ValueError(
                f"{self!r}: expected a share of the training weight, as a float above 0 and up to 0.5, or a number of "
                "rows, as an integer from 1"
            )

    def real(self, total: Fraction) -> Fraction:
        """The least real weight of a split, if the real weights of all rows add up to ``total``."""
        if is_integer(self.amount):
            return min(Fraction(int(self.amount)), total + 1)  # no split can have more than the total
        share = share_of(self.amount)
        assert share is not None
        return share * total


# ------------------------------------------------------------------------------------------------------- fairness


@documented
@dataclass(frozen=True, repr=False)
class FairnessConstraint(Constraint):
    r"""For every two groups, the rate of each is at least ``ratio`` times the rate of the other.

    Rates are about people: they count rows by ``sample_weight`` alone, and each row once without it. ``class_weight``
    and ``criterion="balanced_accuracy"`` say what errors cost, and change no rate.

    With a ``penalty`` the rates may differ by more, at a price. Let :math:`W_g` be the weight of the rows of group
    :math:`g` that the rate counts, :math:`n_g` the weight of the counted rows that are predicted positive, :math:`\xi`
    the ratio, and :math:`W` what all rows cost if all are wrong. For each kind of rate the objective (eq. 18) is then
    increased by

    .. math:: \frac{\text{penalty}}{W} \sum_g s_g, \qquad
        s_g = \max_{h \neq g}\ \max\bigl(0, \lceil \xi\,(W_g / W_h)\,n_h - n_g \rceil\bigr).

    :math:`s_g` is the shortfall of group :math:`g`: how many more of its rows would have to be predicted positive so
    that its rate is at least ``ratio`` times the rate of each other group. It is 0 for all groups if and only if the
    constraint is met. It is rounded up to whole rows or, with weights, to a multiple of the greatest common divisor of
    the weights.

    Parameters
    ----------
    groups, ratio, pos_label, penalty : as in every constraint on rates
    """

    groups: Sequence[Any] | None = None
    ratio: float = field(default=0.8, kw_only=True)
    pos_label: Any = field(default=None, kw_only=True)
    penalty: float | None = field(default=None, kw_only=True)

    _rates: ClassVar[tuple[str, ...]] = ()  # "selection", "true positive", "false positive"

    def __post_init__(self) -> None:
        if isinstance(self.groups, Iterable) and not isinstance(self.groups, (str, bytes)):
            values = [value.item() if isinstance(value, np.generic) else value for value in self.groups]
            object.__setattr__(self, "groups", tuple(values))  # a tuple can be compared and hashed
        if isinstance(self.pos_label, np.generic):  # files hold plain labels, and ``repr`` is a name there
            object.__setattr__(self, "pos_label", self.pos_label.item())

    def __repr__(self) -> str:
        arguments = [] if self.groups is None else [repr(self.groups)]
        arguments.append(f"ratio={self.ratio!r}")
        if self.pos_label is not None:
            arguments.append(f"pos_label={self.pos_label!r}")
        if self.penalty is not None:
            arguments.append(f"penalty={self.penalty!r}")
        return f"{type(self).__name__}({', '.join(arguments)})"

    @property
    def advice(self) -> str:
        """Text for an error message: what to change if no diagram meets the constraint."""
        return "lower its ratio"

    def check(self) -> None:
        """Raise ValueError unless ``ratio`` and ``penalty`` are in range and ``groups`` has two different values."""
        number = None if isinstance(self.ratio, (bool, np.bool_)) else decimal(self.ratio)
        if number is None or not 0 <= number <= 1:
            raise ValueError(
                f"{self!r}: ratio must be a number from 0 (no constraint) to 1 (equal rates), such as 0.8 for the "
                "four-fifths rule"
            )
        if self.penalty is not None:
            price = None if isinstance(self.penalty, (bool, np.bool_)) else decimal(self.penalty)
            if price is None or price < 0:
                raise ValueError(
                    f"{self!r}: penalty must be a number from 0 (the price of each row by which a group falls short; "
                    "a wrong row costs 1), or None for a constraint that must be met"
                )
        if self.groups is None or isinstance(self.groups, str):  # all groups; of sensitive_features, or of a column
            return
        if not isinstance(self.groups, tuple):
            raise ValueError(
                f"{self!r}: groups must be None, the name of a column, or a list of values of sensitive_features"
            )
        try:
            different = len(set(self.groups)) == len(self.groups)
        except TypeError:
            raise ValueError(
                f"{self!r}: groups must be plain values of sensitive_features, such as ('f', 'm'), not masks"
            ) from None
        if len(self.groups) < 2 or not different:
            raise ValueError(f"{self!r}: groups must have at least two values, all different, to compare in pairs")

    @property
    def price(self) -> Fraction | None:
        """``penalty`` as an exact fraction, equal to the decimal number that is printed for it."""
        return None if self.penalty is None else decimal(self.penalty)

    def rates(self, groups: Groups, classes: npt.NDArray[Any], codes: IntArray) -> tuple[Rate, ...]:
        """The constraint as inequalities on the rows: one for each ordered pair of groups and each kind of rate.

        Parameters
        ----------
        groups : the group of each row
        classes : (n_classes,) labels
        codes : (n_rows,) true class codes

        Raises
        ------
        ValueError
            If the positive class is not clear, no row of a group counts for its rate, or weights have too many digits.
        """
        return tuple(chain.from_iterable(self.rates_by_group(groups, classes, codes)))

    def rates_by_group(
        self, groups: Groups, classes: npt.NDArray[Any], codes: IntArray
    ) -> tuple[tuple[Rate, ...], ...]:
        """The result of :meth:`rates` in tuples. Each tuple compares one group with all others in one kind of rate."""
        positive = self._positive(classes.tolist(), "the labels")
        ratio = decimal(self.ratio)
        assert ratio is not None
        weights, _, rounding = groups.counted
        require_exact(not ratio or rounding is None, self)
        made = []
        for kind, sides in self._sides(groups, codes == positive):
            label = classes.tolist()[positive]
            for one, left in sides:
                text = f"{self!r}: {kind} rate of {label!r} in group {one!r} as a share of that in group"
                made.append(
                    tuple(
                        Rate(left, right, weights, positive, ratio, f"{text} {other!r}")
                        for other, right in sides
                        if other != one
                    )
                )
        return tuple(made)

    def attained(self, groups: Groups, positive_rows: BoolArray, chosen: BoolArray) -> float:
        """The least rate of a group divided by the greatest, for the worst kind of rate; 1 if all rates are 0.

        Parameters
        ----------
        groups : the group of each row
        positive_rows : (n_rows,) whether the row is of the positive class
        chosen : (n_rows,) whether the row is predicted positive
        """
        worst, weights = Fraction(1), groups.counted.values
        for _, sides in self._sides(groups, positive_rows):
            rates = [Fraction(int(weights[rows & chosen].sum()), int(weights[rows].sum())) for _, rows in sides]
            if max(rates) > 0:
                worst = min(worst, min(rates) / max(rates))
        return float(worst)

    def measure(
        self, y_true: Any, y_pred: Any, sensitive_features: Any, *, sample_weight: npt.ArrayLike | None = None
    ) -> float:
        """The least rate of a group divided by the greatest, for any predictions; 1 means equal rates.

        Parameters
        ----------
        y_true, y_pred : (n_samples,) labels
        sensitive_features : (n_samples,) group of each row, as for ``fit``
        sample_weight : (n_samples,) weight of each row

        Returns
        -------
        float
            From 0 to 1; the four-fifths rule asks for 0.8. :class:`EqualizedOdds` has two kinds of rates, and this is
            the smaller ratio. It is 1 if no row is predicted positive.

        Raises
        ------
        ValueError
            If lengths differ, the positive class is not clear, or no row of a group counts for its rate.
        """
        self.check()
        true, predicted = np.asarray(y_true).reshape(-1), np.asarray(y_pred).reshape(-1)
        if true.size != predicted.size:
            raise ValueError(f"y_true has {true.size} labels and y_pred {predicted.size}: pass one per row in both")
        groups = Groups.of(sensitive_features, true.size, sample_weight)
        counted = np.flatnonzero(groups.counted.values > 0)
        label = self.pos_label
        if label is None:
            labels = sorted({*true.tolist(), *predicted.tolist()})
            label = labels[self._positive(labels, "the labels of y_true and y_pred")]
        return self.attained(groups.take(counted), (true == label)[counted], (predicted == label)[counted])

    def positive_code(self, classes: npt.NDArray[Any]) -> int:
        """Class code of the positive class. Raise ValueError if it is not clear."""
        return self._positive(classes.tolist(), "the labels")

    def _positive(self, labels: list[Any], what: str) -> int:
        if self.pos_label is not None:
            if self.pos_label not in labels:
                raise ValueError(f"{self!r}: pos_label={self.pos_label!r} is not a label; {what} are {labels}")
            return labels.index(self.pos_label)
        if len(labels) != 2:
            raise ValueError(
                f"{self!r}: {what} are {labels}, and it is not clear which one is favourable: "
                f"name it, as in {type(self).__name__}(pos_label={labels[-1] if labels else 1!r})"
            )
        return 1

    def _sides(self, groups: Groups, positive: BoolArray) -> list[tuple[str, list[tuple[Any, BoolArray]]]]:
        """For each kind of rate, its name, and pairs of the value of a compared group and the mask of rows to count.

        ValueError if a group has no row to count.
        """
        reports = []
        for kind in self._rates:
            among = {"selection": np.ones_like(positive), "true positive": positive, "false positive": ~positive}[kind]
            sides = [(groups.values[code], (groups.index == code) & among) for code in self._compared(groups)]
            for value, rows in sides:
                if not rows.any():
                    which = {"true positive": " of the positive class", "false positive": " of another class"}
                    raise ValueError(
                        f"{self!r}: group {value!r} has no row{which.get(kind, '')}, so its {kind} rate is undefined: "
                        "name the groups to compare with groups=(...)"
                    )
            reports.append((kind, sides))
        return reports

    def _compared(self, groups: Groups) -> list[int]:
        """The codes of the groups to compare. Raise ValueError if they are fewer than two, too many, or unknown."""
        if self.groups is None or isinstance(self.groups, str):
            present: list[int] = np.unique(groups.index).tolist()
            if len(present) < 2:
                held = f"only the value {groups.values[present[0]]!r}" if present else "no value"
                raise ValueError(f"{self!r}: sensitive_features has {held}: expected at least two groups to compare")
            if len(present) > MOST_GROUPS:
                raise ValueError(
                    f"{self!r}: sensitive_features has {len(present)} different values, too many groups to compare in "
                    f"pairs (at most {MOST_GROUPS}): name some with groups=(...), or merge values into fewer groups"
                )
            return present
        unknown = [value for value in self.groups if value not in groups.values]
        if unknown:
            raise ValueError(
                f"{self!r}: there is no group {unknown[0]!r}; sensitive_features has {shown(groups.values, 10)}"
            )
        return [groups.values.index(value) for value in self.groups]


def require_exact(exact: bool, constraint: FairnessConstraint) -> None:
    """Raise ValueError unless weights and prices are whole numbers of few digits."""
    if not exact:
        raise ValueError(
            f"{constraint!r} needs exact sums of weights, but alpha or the weights of the rows have too many digits: "
            "round alpha and sample_weight, for example to three digits"
        )


@documented
@dataclass(frozen=True, repr=False)
class DemographicParity(FairnessConstraint):
    """In all groups the same share of rows is predicted positive, within a ratio (eq. 19, in rates).

    Parameters
    ----------
    groups, ratio, pos_label, penalty : as in every constraint on rates
    """

    _rates = ("selection",)


@documented
@dataclass(frozen=True, repr=False)
class EqualOpportunity(FairnessConstraint):
    """True positive rates are equal in all groups, within a ratio.

    Parameters
    ----------
    groups, ratio, pos_label, penalty : as in every constraint on rates
    """

    _rates = ("true positive",)


@documented
@dataclass(frozen=True, repr=False)
class PredictiveEquality(FairnessConstraint):
    """False positive rates are equal in all groups, within a ratio.

    Parameters
    ----------
    groups, ratio, pos_label, penalty : as in every constraint on rates
    """

    _rates = ("false positive",)


@documented
@dataclass(frozen=True, repr=False)
class EqualizedOdds(FairnessConstraint):
    """True positive rates and false positive rates are equal in all groups, within a ratio.

    Parameters
    ----------
    groups, ratio, pos_label, penalty : as in every constraint on rates
    """

    _rates = ("true positive", "false positive")


# --------------------------------------------------------------------------------------------------------- values

KINDS: Mapping[str, type[Constraint]] = {
    kind.__name__: kind
    for kind in (DemographicParity, EqualOpportunity, PredictiveEquality, EqualizedOdds, MaxSplits, MinSamples)
}
"""All classes of constraints, by name."""


def compared_groups(constraints: Iterable[Constraint], X: Any, sensitive_features: Any) -> Any:
    """The group of each row that constraints on rates compare: as given, or a column of ``X`` that they name.

    Returns
    -------
    object or None
        None if no constraint compares groups, or if neither is given.

    Raises
    ------
    ValueError
        If the constraints name different columns; or if values are given that no constraint compares; or if ``X`` has
        the named column, and values of another name are given; or if there is neither.
    """
    fair = [one for one in constraints if isinstance(one, FairnessConstraint)]
    if not fair and sensitive_features is not None:
        raise ValueError(
            "sensitive_features is given, but no constraint compares groups: add one, such as "
            "constraints=[DemographicParity(ratio=0.8)] (with ratio=0 the rates are only reported), or leave it out"
        )
    columns = sorted({one.groups for one in fair if isinstance(one.groups, str)})
    if len(columns) > 1:
        raise ValueError(f"constraints compare the groups of different columns, {shown(columns)}: name one")
    if not columns:
        return sensitive_features
    (column,) = columns
    has_column = is_frame(X) and column in X.columns
    if sensitive_features is not None:  # of rows without the column, or the same twice
        if not has_column or getattr(sensitive_features, "name", None) == column:
            return sensitive_features
        raise ValueError(f"a constraint names the column {column!r}, and sensitive_features is given: leave out one")
    if not has_column:
        raise ValueError(
            f"a constraint names {column!r} as the column of groups, but X is no frame with such a column: pass the "
            "group of each row as sensitive_features"
        )
    return X[column]


def require_groups(constraint: Constraint, groups: Any) -> None:
    """Raise ValueError if the group of each row is not known."""
    if groups is None:
        raise ValueError(
            f"{constraint!r} compares groups: pass the group of each row, fit(X, y, sensitive_features=...), or "
            f"name their column, {type(constraint).__name__}('sex')"
        )


def all_in_plain(given: Any) -> Any:
    """The parameter ``constraints`` as plain values for a model file."""
    if isinstance(given, Constraint):
        return given.to_plain()
    plain = [constraint.to_plain() for constraint in given]
    return plain if isinstance(given, list) else tuple(plain)


def all_from_plain(given: Any) -> Any:
    """The inverse of :func:`all_in_plain`; ValueError if the values are no constraints."""
    if isinstance(given, Mapping):
        return from_plain(given)
    if isinstance(given, (list, tuple)) and all(isinstance(entry, Mapping) for entry in given):
        return type(given)(from_plain(entry) for entry in given)
    raise ValueError(f"constraints are {given!r}: expected a list of names with parameters")


def from_plain(saved: Mapping[str, Any]) -> Constraint:
    """Make the constraint that :meth:`Constraint.to_plain` wrote. Raise ValueError if its name is unknown."""
    name = str(saved.get("constraint"))
    if name not in KINDS:
        raise ValueError(f"constraint {name!r} is unknown: expected one of {', '.join(KINDS)}")
    return KINDS[name](**{key: value for key, value in saved.items() if key != "constraint"})


def checked(constraints: Any) -> tuple[Constraint, ...]:
    """``constraints`` as a tuple; a single constraint becomes a tuple of one.

    Raises
    ------
    ValueError
        If an element is not a constraint, or one of its parameters is out of range.
    """
    given = (constraints,) if isinstance(constraints, Constraint) else constraints
    what = f"expected a list of constraints, such as [{', '.join(['DemographicParity(ratio=0.8)', 'MaxSplits(7)'])}]"
    if isinstance(given, (str, bytes, Mapping, Iterator)) or not isinstance(
        given, Iterable
    ):  # iterators can be read once
        raise ValueError(f"constraints={constraints!r}: {what}")
    checked = tuple(given)
    for constraint in checked:
        if isinstance(constraint, type) and issubclass(constraint, Constraint):
            raise ValueError(
                f"constraints has the class {constraint.__name__}: expected an instance, such as "
                f"{constraint.__name__}(...)"
            )
        if not isinstance(constraint, Constraint):
            raise ValueError(f"constraints has {constraint!r}, which is not a constraint: {what}")
        constraint.check()
    return checked
