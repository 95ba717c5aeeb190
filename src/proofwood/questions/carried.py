"""How good an old tree still is for a table that has changed: a bound on the new optimum without a fit.

Rows that are added cannot make a tree better: each tree makes at least the errors that it made before. A row that is
removed, or gets another label, takes its weight from the errors of a tree at most. So the proved bound of the old fit,
less the weight of these rows, holds for the new table: decisions/0100-questions.
"""

from __future__ import annotations

import copy
import math
import os
import zlib
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from hashlib import blake2b
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, is_zipfile

import numpy as np
import numpy.typing as npt

from proofwood.data.schema import ERROR_IF_ORDERED
from proofwood.estimators.input import codes_of, features_and_labels, row_weights
from proofwood.estimators.optimal_tree import OptimalTreeClassifier
from proofwood.files import write_whole
from proofwood.language import gettext, number
from proofwood.model import evaluate
from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.model.sums import exact_sum, exact_sums, rounded_down, rounded_up
from proofwood.problem.objectives import IntegerWeights, integer_weights, share_of
from proofwood.questions.population import trees_of_depth
from proofwood.questions.rows import left_out, require_errors, require_no_minimum, rows_of_fit
from proofwood.result import Status, figure, for_these_tests

QUESTION = "carry_over"
DIGEST = 16
"""Bytes of a digest: two different rows have the same one with a probability of 2**-128."""


@dataclass(frozen=True, eq=False)
class RowFingerprints:
    """Digests of the rows of a fit, to be kept in place of the rows. Make them with ``tree.fingerprints(X, y)``.

    A digest tells whether a row is the same, and not what is in it; but whoever can guess a row can check the guess.

    Parameters
    ----------
    rows : (n_rows, 16) uint8 digest of the columns of each row, as the model reads them
    labels : (n_rows,) code of its label; -1 for a label that training did not have
    weights : (n_rows,) its weight
    """

    rows: npt.NDArray[np.uint8]
    labels: IntArray
    weights: FloatArray

    @classmethod
    def of(
        cls, model: OptimalTreeClassifier, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None
    ) -> RowFingerprints:
        """The fingerprints of the training rows of a model; ValueError if they are other rows.

        Parameters
        ----------
        model : fitted tree
        X, y, sample_weight : as given to ``fit``
        """
        given = rows_of_fit(model, X, y, sample_weight)
        return cls._of(model, given.columns, given.codes, given.real_weights)

    @classmethod
    def _of(
        cls, model: OptimalTreeClassifier, columns: FloatArray, codes: IntArray, weights: FloatArray
    ) -> RowFingerprints:
        tested = [j for j in range(columns.shape[1]) if j not in model.schema_.left_out]
        values = columns[:, tested] + 0.0  # no -0.0
        values[np.isnan(values)] = np.nan
        raw = np.ascontiguousarray(values, dtype="<f8")
        width = raw.shape[1] * 8
        view = memoryview(raw.tobytes())
        found = b"".join(
            blake2b(view[at * width : (at + 1) * width], digest_size=DIGEST).digest() for at in range(raw.shape[0])
        )
        digests = np.frombuffer(found, dtype=np.uint8).reshape(raw.shape[0], DIGEST)
        kept = weights > 0
        return cls(digests[kept], codes[kept], weights[kept])

    def require_of(self, model: OptimalTreeClassifier) -> None:
        """Raise ValueError if these cannot be the rows of a fit: their number, or the weight of a class, is another."""
        table = model.model_
        known = self.labels >= 0
        weights = np.bincount(self.labels[known], self.weights[known], table.n_classes)
        same = known.all() and weights.size == table.n_classes and np.allclose(weights, table.weight[0], 1e-9, 0.0)
        if not same or self.labels.size != int(table.rows[0]):
            raise ValueError(
                f"before holds the fingerprints of other rows: {self.labels.size:,} of the weights {weights.tolist()} "
                f"by class, and this tree learned from {int(table.rows[0]):,} of {table.weight[0].tolist()}: pass what "
                "tree.fingerprints(X, y) gave for this fit"
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file of NumPy (``.npz``)."""
        # Start-up time: few fits are carried over.
        from io import BytesIO

        content = BytesIO()
        np.savez_compressed(content, rows=self.rows, labels=self.labels, weights=self.weights)
        write_whole(path, content.getvalue())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RowFingerprints:
        """Read a file that :meth:`save` wrote.

        Raises
        ------
        ValueError
            If the file holds something else.
        """
        wrong = f"{os.fspath(path)!r} holds no fingerprints: expected a file that RowFingerprints.save wrote"
        with Path(path).open("rb") as file:
            if not is_zipfile(file):  # NumPy reads other files as well, or says how to trust them
                raise ValueError(wrong)
            try:
                with np.load(file, allow_pickle=False) as content:
                    rows, labels, weights = content["rows"], content["labels"], content["weights"]
            except (KeyError, ValueError, BadZipFile, EOFError, zlib.error) as error:
                raise ValueError(wrong) from error
        n = labels.shape[:1]
        fit = rows.dtype == np.uint8 and rows.shape == (*n, DIGEST) and weights.shape == labels.shape == n
        if not fit or labels.dtype != np.int64 or weights.dtype != np.float64 or not np.all(weights > 0):
            raise ValueError(wrong)
        return cls(rows, labels, weights)


@dataclass(frozen=True)
class CarriedBound:
    """An old tree on a table that has changed. Make it with ``tree.carry_over(X, y, before=...)``.

    Parameters
    ----------
    objective : what the old tree costs on the new rows
    lower_bound : no tree of the old fit's scope costs less on the new rows
    status : "optimal" if both are equal, else "feasible"
    added, removed : weight of the rows that came and went; a row with another label counts as both
    relabelled : of these, the weight of rows that only got another label
    total : weight of all new rows
    unit : unit of objective and bound
    scope : limits of the old search, as in :class:`Result`, and columns that it left out because of their values
    depth : most tests on a path
    claimed : whether the proof of the fit was read from a file
    """

    objective: float
    lower_bound: float
    status: Status
    added: float
    removed: float
    relabelled: float
    total: float
    unit: str
    scope: tuple[str, ...]
    depth: int | None
    claimed: bool = False

    @classmethod
    def of(
        cls,
        model: OptimalTreeClassifier,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        *,
        before: RowFingerprints | tuple[Any, ...],
    ) -> CarriedBound:
        """The bound of a fitted tree for new rows; see :meth:`OptimalTreeClassifier.carry_over`.

        Parameters
        ----------
        model : fitted tree
        X, y, sample_weight, before : as in the method

        Raises
        ------
        ValueError
            If the objective is not one of errors, leaves have a minimum, or rows cannot be used.
        """
        require_errors(model, QUESTION)
        require_no_minimum(model, QUESTION)
        if model.class_weight == "balanced" or model.criterion != "errors":
            raise ValueError(f"{QUESTION} needs weights that stay, and balanced ones follow the new rows")
        old = before if isinstance(before, RowFingerprints) else _old_rows(model, before)
        old.require_of(model)
        new, wrong = _new_rows(model, X, y, sample_weight)
        read = _Read.of(old, new)
        changes = _Changes.between(old, new, read)
        price = share_of(model.alpha) or Fraction(0)
        cost = read.weight_of(read.new, wrong) + price * read.weight_of(read.new) * (model.model_.n_leaves - 1)
        n_rows = int(model.model_.rows[0])
        most = n_rows if model.max_depth is None else min(n_rows, 2**model.max_depth)
        # the price of a leaf is a share of the weight, which may have become less
        cheaper = price * max(Fraction(0), read.weight_of(read.old) - read.weight_of(read.new)) * (most - 1)
        least = max(Fraction(0), _bound_of_fit(model, price, read) - changes.removed - cheaper)
        optimal = least >= cost
        return cls(
            objective=float(cost) if optimal else rounded_up(cost),
            lower_bound=float(cost) if optimal else rounded_down(least),
            status=Status.OPTIMAL if optimal else Status.FEASIBLE,
            added=float(changes.added),
            removed=float(changes.removed),
            relabelled=float(changes.relabelled),
            total=float(read.weight_of(read.new)),
            unit=model.result_.unit,
            scope=(*model.result_.scope, *left_out(model)),
            depth=model.max_depth,
            claimed=bool(model.loaded_),
        )

    @property
    def gap(self) -> float:
        """A new fit of this scope saves at most this."""
        return self.objective - self.lower_bound

    def __str__(self) -> str:
        said = self._text()
        return gettext("claimed when the file was written: %(said)s", said=said) if self.claimed else said

    def _text(self) -> str:
        unit = gettext(self.unit)
        told = {
            "cost": f"{number(figure(self.objective))} {unit}",
            "added": number(figure(self.added)),
            "removed": number(figure(self.removed)),
            "relabelled": number(figure(self.relabelled)),
            "trees": trees_of_depth(self.depth),
            "bound": number(figure(self.lower_bound, ROUND_FLOOR)),
            "gap": number(figure(self.gap, ROUND_CEILING)),
            "share": number(f"{math.ceil(10_000 * self.gap / self.total) / 100:.2f}"),
            "tests": for_these_tests(self.scope),
        }
        told["changes"] = gettext(
            "weight %(added)s added and %(removed)s removed, of both %(relabelled)s by other labels",
            **{name: told[name] for name in ("added", "removed", "relabelled")},
        )
        if self.status is Status.OPTIMAL:
            return gettext(
                "the old tree has %(cost)s on the new rows (%(changes)s), and no tree has less%(tests)s",
                **{name: told[name] for name in ("cost", "changes", "tests")},
            )
        return gettext(
            "the old tree has %(cost)s on the new rows (%(changes)s), and %(trees)s at least %(bound)s%(tests)s: a new "
            "fit saves at most %(gap)s (%(share)s %% of the weight)",
            **{name: told[name] for name in ("cost", "changes", "trees", "bound", "tests", "gap", "share")},
        )


@dataclass(frozen=True, eq=False)
class _Read:
    """The weights of rows before and now as one fit of all of them reads them: 0.1 is a tenth among decimals.

    Parameters
    ----------
    old, new : (n_rows,) weights in ``unit``
    unit : real weight of 1
    higher : how much higher the fit read the old weights in all, at most: floats stand for weights of many digits
    fit : the old weights as the fit read them
    """

    old: FloatArray
    new: FloatArray
    unit: Fraction
    higher: Fraction
    fit: IntegerWeights

    @classmethod
    def of(cls, old: RowFingerprints, new: RowFingerprints) -> _Read:
        """Read the weights of the rows of a fit and of those of now."""
        weights, n = np.concatenate([old.weights, new.weights]), old.weights.size
        both, fit = integer_weights(weights, weights.size), integer_weights(old.weights, n)
        if fit.rounding is not None:
            return cls(old.weights, new.weights, Fraction(1), Fraction(0), fit)
        if both.rounding is None:
            values, unit = both.values.astype(np.float64), both.unit
        else:
            values, unit = weights, Fraction(1)
        pairs, counts = np.unique(np.stack([fit.values, values[:n]]), axis=1, return_counts=True)
        more = [fit.unit * Fraction(a) - unit * Fraction(b) for a, b in pairs.T.tolist()]
        higher = sum((max(Fraction(0), one) * int(k) for one, k in zip(more, counts, strict=True)), Fraction(0))
        return cls(values[:n], values[n:], unit, higher, fit)

    def weight_of(self, weights: FloatArray, chosen: BoolArray | slice = slice(None)) -> Fraction:
        """The weight of some rows."""
        return exact_sum(weights[chosen]) * self.unit


@dataclass(frozen=True)
class _Changes:
    """Weights of rows that came, went, and got another label."""

    added: Fraction
    removed: Fraction
    relabelled: Fraction

    @classmethod
    def between(cls, old: RowFingerprints, new: RowFingerprints, read: _Read) -> _Changes:
        """Compare the weight of each row, with its label, before and now."""
        digests = np.vstack([old.rows, new.rows]).view(f"V{DIGEST}").ravel()
        row = np.unique(digests, return_inverse=True)[1].ravel()
        pairs = np.stack([row, np.concatenate([old.labels, new.labels])], axis=1)
        known, item = np.unique(pairs, axis=0, return_inverse=True)
        item, n = item.ravel(), old.labels.size
        then = [read.unit * one for one in exact_sums(read.old, item[:n], known.shape[0])]
        now = [read.unit * one for one in exact_sums(read.new, item[n:], known.shape[0])]
        less = [max(Fraction(0), a - b) for a, b in zip(then, now, strict=True)]
        more = [max(Fraction(0), b - a) for a, b in zip(then, now, strict=True)]
        of_rows: dict[int, list[Fraction]] = {}
        for at, gone, come in zip(known[:, 0].tolist(), less, more, strict=True):
            if gone or come:
                both = of_rows.setdefault(at, [Fraction(0), Fraction(0)])
                both[0] += gone
                both[1] += come
        relabelled = sum((min(both) for both in of_rows.values()), Fraction(0))
        return cls(sum(more, Fraction(0)), sum(less, Fraction(0)), relabelled)


def _old_rows(model: OptimalTreeClassifier, before: Any) -> RowFingerprints:
    if not isinstance(before, tuple) or not 2 <= len(before) <= 3:
        raise ValueError(
            "before is expected to be the rows of the fit, (X, y) or (X, y, sample_weight), or tree.fingerprints(X, y)"
        )
    return RowFingerprints.of(model, *before)


def _new_rows(
    model: OptimalTreeClassifier, X: Any, y: Any, sample_weight: npt.ArrayLike | None
) -> tuple[RowFingerprints, BoolArray]:
    """The fingerprints of new rows, and which of those with a weight the old tree gets wrong."""
    X, y = features_and_labels(X, y)
    reader = model
    if model.unseen != "error":
        reader = copy.copy(model)
        reader.unseen = ERROR_IF_ORDERED  # a new category with an order would be read as missing
    columns = reader._rows(X)
    codes = codes_of(model.to_labels(y), model.classes_)
    if codes.shape != (columns.shape[0],):
        raise ValueError(f"y has {codes.size} labels for {columns.shape[0]} rows: expected one for each row")
    real = row_weights(None, sample_weight, model.classes_, codes)
    real = np.ones(codes.size) if real is None else real.copy()
    known = codes < model.classes_.size
    if model.class_weight is not None:  # a label that training did not have has no weight of its class
        real[known] = row_weights(model.class_weight, real[known], model.classes_, codes[known])
    labels = np.where(known, codes, -1)
    new = RowFingerprints._of(model, columns, labels, real)
    return new, (evaluate.predict(model.model_, columns) != codes)[real > 0]


def _bound_of_fit(model: OptimalTreeClassifier, price: Fraction, read: _Read) -> Fraction:
    """The proved bound of the fit, less what the weights were read higher; an optimal objective may be rounded up."""
    bound = Fraction(model.lower_bound_)
    if model.status_ is not Status.OPTIMAL:
        return bound - read.higher
    if read.fit.rounding is None:
        leaves = price * int(read.fit.values.sum()) * read.fit.unit * (model.model_.n_leaves - 1)
        exact = round((bound - leaves) / read.fit.unit) * read.fit.unit + leaves
        step = Fraction(math.ulp(model.lower_bound_))
        if read.fit.unit > 4 * step and abs(exact - bound) <= step:
            return exact - read.higher  # no other sum of weights is shown so
    return Fraction(math.nextafter(model.lower_bound_, -math.inf)) - read.higher
