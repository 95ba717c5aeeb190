"""The scope of a proof: which tests of the table the search did not see, found once and worded once.

Where nothing is said, the proof is about all models of the shape that was asked for, over every test of every column.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from proofwood.data.binarize import Binarizer
from proofwood.data.schema import Schema
from proofwood.data.views import Limit, Views
from proofwood.printable import printable

MOST_NAMES = 5
"""Columns of one limit that are named; of more, the first of them and how many others."""
FEW_LEVELS = 3
"""Levels up to which one against the others is every set of them, except for complements."""

# The code that makes the tests notes what it leaves out, and the words are here: a claim that was derived from
# parameters said "pooled" where nothing was pooled (decisions/0070-the-scope-of-a-proof).
WORDS = {
    Limit.ORDERED: "over ordered sets of levels of {columns}, order fixed in advance",
    Limit.ORDERED_ABOVE: (
        "over ordered sets of levels of {columns} above the last two tests of a path, order fixed in advance"
    ),
    Limit.POOLED: "levels under {few} rows pooled in {columns}",
    Limit.SINGLE: "one level at a time of {columns}",
    Limit.FREQUENT: "only the most frequent levels of {columns}, one at a time",
    Limit.THRESHOLDS: "at most {most} threshold{s} a column in {columns}",
    Limit.LEFT_OUT: "without {columns}, left out",
}
"""What is said about each limit, in this order."""


def limits_of(schema: Schema, views: Views, tests: Binarizer | None = None) -> Mapping[Limit, Collection[int]]:
    """The columns whose tests a search does not see in full, and why.

    Parameters
    ----------
    schema : of the table
    views : of its columns
    tests : of the columns, if the search sees tests and not the views
    """
    found = {**views.limits, Limit.LEFT_OUT: schema.unread}
    if tests is not None:
        of_levels = [int(tests.feature[i]) for i, levels in enumerate(tests.levels) if levels is not None]
        columns, counts = np.unique(np.array(of_levels, dtype=np.int64), return_counts=True)
        partial = found.get(Limit.FREQUENT, ())
        found[Limit.SINGLE] = [j for j in columns[counts > FEW_LEVELS].tolist() if j not in partial]
        found[Limit.THRESHOLDS] = sorted(tests.thinned)
    return {limit: columns for limit, columns in found.items() if len(columns)}


def in_words(
    limits: Mapping[Limit, Collection[int]], schema: Schema, *, few: int = 0, most: int | None = None
) -> tuple[str, ...]:
    """What a search did not see, one text for each kind of limit; nothing if it saw every test.

    Parameters
    ----------
    limits : that :func:`limits_of` found
    schema : of the table
    few : rows below which levels are pooled
    most : thresholds of a column
    """
    numbers = {"few": few, "most": most, "s": "" if most == 1 else "s"}
    return tuple(
        words.format(columns=_named(schema, limits[limit]), **numbers)
        for limit, words in WORDS.items()
        if limit in limits
    )


def _named(schema: Schema, columns: Collection[int]) -> str:
    """The columns by name, or by number where they have none."""
    names = [printable(schema.columns[j].name) if schema.by_name else f"column {j}" for j in columns]
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    shown = names[: MOST_NAMES - 1]
    return f"{', '.join(shown)} and {len(names) - len(shown)} more"
