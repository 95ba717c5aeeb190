"""Targets: labels of classes, and numbers that are cut into bands."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from proofwood.data.from_text import GOOD_PER_OTHER, MOST_OTHERS
from proofwood.data.text_format import given_format
from proofwood.data.text_forms import Found, NumberForm
from proofwood.exceptions import DataError
from proofwood.hints import parameter, way_out
from proofwood.model.node_table import FloatArray
from proofwood.printable import cut, shown

MOST_CLASSES, FEW_CLASSES, ROWS_PER_CLASS = 100, 20, 10
"""Numbers are classes if there are at most so many; if there are more than a few, each needs so many rows."""


def _cut_into_bands() -> str:
    five, edges = parameter("bands", 5), way_out("bands=[100, 200]", "--bands 100,200")
    return f"cut it into bands, with {five} for five bands of about equally many rows, or {edges} for edges"


class NotClasses(NamedTuple):
    """What a target holds that are no classes.

    Parameters
    ----------
    n : number of different values
    what : they are, in words
    numbers : whether they are numbers, perhaps written as text, rather than dates or durations
    text : whether they are text
    """

    n: int
    what: str
    numbers: bool
    text: bool = False


def no_classes(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> NotClasses | None:
    """What a target holds if it holds numbers, dates, or text of numbers or dates, rather than classes; else None.

    Parameters
    ----------
    labels : (n_rows,) labels, none missing
    classes : the distinct ones, sorted
    """
    many = classes.size > MOST_CLASSES or FEW_CLASSES < classes.size > labels.size / ROWS_PER_CLASS
    if not many and not _have_parts(classes):
        return None
    what = {"i": "numbers", "u": "numbers", "f": "numbers", "M": "dates", "m": "durations"}.get(classes.dtype.kind)
    if what is not None:
        return NotClasses(classes.size, what, what == "numbers")
    texts = [str(label) for label in classes.tolist()] if classes.dtype.kind in "UO" else []
    found = Found.of(texts) if texts else Found()
    if texts and not found.forms:
        found = Found.of(texts, most=min(MOST_OTHERS, len(texts) // (GOOD_PER_OTHER + 1)))
    if not found.forms:
        return None
    form = found.decided(texts, given_format().decimal).forms[0]
    what = f"texts that are written like {form.example}"
    return NotClasses(classes.size, what, isinstance(form, NumberForm), text=True)


def _have_parts(classes: npt.NDArray[Any]) -> bool:
    """Whether labels are numbers that are not whole."""
    return classes.dtype.kind == "f" and bool(np.any(classes != np.floor(classes)))


def require_classes(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> None:
    """Raise DataError if a target holds numbers, dates, or text of numbers or dates, rather than classes.

    Parameters
    ----------
    labels, classes : as of :func:`no_classes`
    """
    found = no_classes(labels, classes)
    if found is None:
        return
    of_numbers = way_out("OptimalTreeRegressor", "fit --model regressor")
    ways = [f"learn a tree of numbers, with {of_numbers}", _cut_into_bands()]
    if found.numbers and found.text:
        ways[1] = f"turn it into numbers first, then {ways[1]}"
    elif not found.numbers:
        ways[0] = f"turn it into numbers first, such as days, then {ways[0]}"
    raise DataError(
        f"Unknown label type: {'continuous' if _have_parts(classes) else 'many numbers'}. The target holds {found.n:,} "
        f"different {found.what} (such as {shown(classes.tolist(), 3, str)}), and this learner predicts classes: "
        f"{', or '.join(ways)}. If they name classes, turn them into text, "
        f"{way_out('for example with y.astype(str)', 'such as c1, c2')}"
    )


def are_numbers(labels: npt.NDArray[Any]) -> bool:
    """Whether a target holds numbers that no learner takes for classes: fractions, or many different ones."""
    return labels.dtype.kind in "iuf" and no_classes(labels, np.unique(labels)) is not None


def _shown(asked: Any) -> str:
    """What was asked for, as the user wrote it."""
    edges = isinstance(asked, (list, tuple)) and ",".join(map(str, asked))
    return way_out(f"bands={cut(repr(asked))}", f"--bands {cut(str(edges or asked))}")


@dataclass(frozen=True, slots=True)
class Bands:
    """Numbers as classes.

    Parameters
    ----------
    edges : ascending; a number that equals an edge belongs to the band below it
    """

    edges: tuple[float, ...]

    @classmethod
    def of(cls, numbers: FloatArray, asked: Any) -> Self:
        """The bands that a user asks for.

        Parameters
        ----------
        numbers : (n_rows,) of the target
        asked : how many bands of about equally many rows, from 2; or edges

        Raises
        ------
        ValueError
            If it asks for something else.
        DataError
            If the numbers do not fall into two bands or more.
        """
        expected = f"expected a number of bands, from 2 to {MOST_CLASSES}, or edges such as [100, 200]"
        what = f"{_shown(asked)}: {expected}"
        if isinstance(asked, (int, np.integer)) and not isinstance(asked, bool):
            if not 2 <= asked <= MOST_CLASSES:
                raise ValueError(what)
            shares = np.arange(1, asked) / asked
            edges = np.quantile(numbers, shares, method="inverted_cdf")
            below = numbers[numbers < numbers.max()]  # the largest number has a band above the last edge
            edges = np.unique(np.minimum(edges, below.max(initial=-np.inf)))
        elif isinstance(asked, (str, bytes)) or not np.iterable(asked):
            raise ValueError(what)
        else:
            try:
                edges = np.array([float(edge) for edge in islice(asked, MOST_CLASSES)])
            except (TypeError, ValueError, OverflowError):
                raise ValueError(what) from None
            if not 0 < edges.size < MOST_CLASSES or not np.all(np.isfinite(edges)) or np.any(np.diff(edges) <= 0):
                raise ValueError(f"{what}, finite and ascending")
        found = cls(tuple(float(edge) for edge in edges if edge > -np.inf))
        if np.unique(found.places(numbers)).size < 2:
            raise DataError(
                f"{_shown(asked)} puts all {numbers.size:,} rows into one band: the target goes from {numbers.min():g} "
                f"to {numbers.max():g}. Choose edges between these"
            )
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bands, which sort as the bands do."""
        width = len(str(len(self.edges) + 1))
        edges = [f"{edge:,.12g}" for edge in self.edges]
        words = [
            f"up to {edges[0]}",
            *(f"{low} to {high}" for low, high in pairwise(edges)),
            f"above {edges[-1]}",
        ]
        return tuple(f"{place:0{width}}: {text}" for place, text in enumerate(words, start=1))

    def places(self, numbers: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """(n_rows,) index of the band of each number."""
        return np.searchsorted(self.edges, np.asarray(numbers, dtype=np.float64), side="left").astype(np.int64)

    def labels(self, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(n_rows,) names of the bands of numbers; names of bands stay as they are."""
        if y.dtype.kind not in "iuf":
            return y
        _require_finite(y)
        return np.array(self.names)[self.places(y)]


def _require_finite(y: npt.NDArray[Any]) -> None:
    wrong = np.flatnonzero(~np.isfinite(y)) if y.dtype.kind == "f" else np.empty(0, dtype=np.int64)
    if wrong.size:
        raise DataError(f"y has no number in row {wrong[0]} ({y[wrong[0]]}): drop the rows without one")


def banded(y: npt.NDArray[Any], asked: Any) -> tuple[npt.NDArray[Any], Bands | None]:
    """Labels as a learner takes them, and their bands if the user asks for some.

    Parameters
    ----------
    y : (n_rows,) labels
    asked : None, or see :meth:`Bands.of`

    Raises
    ------
    DataError
        If bands are asked for, and the target does not hold numbers.
    """
    if asked is None:
        return y, None
    if y.dtype.kind not in "iuf":
        examples = shown(np.unique(y).tolist(), 3)
        raise DataError(f"{_shown(asked)} is for a target of numbers, and this one holds {examples}: leave it out")
    _require_finite(y)
    bands = Bands.of(y.astype(np.float64), asked)
    return bands.labels(y), bands
