"""The scope of a proof: which tests of the table the search did not consider, and the texts that say so.

Without such a text, the proof is about all models of the requested shape, over every test of every column.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from proofwood.data.binarize import Binarizer
from proofwood.data.schema import Schema
from proofwood.data.views import Limit, Views
from proofwood.printable import printable

MOST_NAMES = 5
"""The most columns that a text about a limit names. If there are more, it names the first and counts the others."""
FEW_LEVELS = 3
"""With at most this number of levels, each set of levels or its complement is empty or a single level."""

# The code that makes the tests records what it leaves out, and this module words it. Texts that were derived from
# parameters said "pooled" even if nothing was pooled (decisions/0070-the-scope-of-a-proof).
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
"""The text for each limit, in the order of the texts of a scope."""


def scope_of(
    schema: Schema, views: Views, tests: Binarizer | None = None, *, few: int = 0, most: int | None = None
) -> tuple[str, ...]:
    """The limits of a search in words, one text per kind of limit; empty if the search considered every test.

    Parameters
    ----------
    schema : schema of the table
    views : views of its columns
    tests : tests of the columns, if the search is over tests and not over views
    few : levels with fewer rows are pooled
    most : most thresholds per column
    """
    found: dict[Limit, Collection[int]] = {**views.limits, Limit.LEFT_OUT: schema.unread}
    if tests is not None:
        of_levels = [int(tests.feature[i]) for i, levels in enumerate(tests.levels) if levels is not None]
        columns, counts = np.unique(np.array(of_levels, dtype=np.int64), return_counts=True)
        partial = found.get(Limit.FREQUENT, ())
        found[Limit.SINGLE] = [j for j in columns[counts > FEW_LEVELS].tolist() if j not in partial]
        found[Limit.THRESHOLDS] = sorted(tests.thinned)
    numbers = {"few": few, "most": most, "s": "" if most == 1 else "s"}
    return tuple(
        words.format(columns=_named(schema, found[limit]), **numbers)
        for limit, words in WORDS.items()
        if len(found.get(limit, ()))
    )


def _named(schema: Schema, columns: Collection[int]) -> str:
    """The names of the columns in one text, or their numbers if the columns have no names."""
    names = [printable(schema.columns[j].name) if schema.by_name else f"column {j}" for j in columns]
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    shown = names[: MOST_NAMES - 1]
    return f"{', '.join(shown)} and {len(names) - len(shown)} more"
