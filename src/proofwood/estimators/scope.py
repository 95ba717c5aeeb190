"""The scope of a proof: which tests of the table the search did not consider, and the texts that say so.

Without such a text, the proof is about all models of the requested shape, over every test of every column.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from proofwood.data.binarize import Binarizer
from proofwood.data.schema import Schema
from proofwood.data.views import Limit, Views
from proofwood.language import marked
from proofwood.printable import printable

MOST_NAMES = 5
"""The most columns that a text about a limit names. If there are more, it names the first and counts the others."""
FEW_LEVELS = 3
"""With at most this number of levels, each set of levels or its complement is empty or a single level."""

# The code that makes the tests records what it leaves out, and this module words it. Texts that were derived from
# parameters said "pooled" even if nothing was pooled (decisions/0070-the-scope-of-a-proof).
WORDS = {
    Limit.ORDERED: marked("over ordered sets of levels of %(columns)s, order fixed in advance"),
    Limit.ORDERED_ABOVE: marked(
        "over ordered sets of levels of %(columns)s above the last two tests of a path, order fixed in advance"
    ),
    Limit.POOLED: marked("levels under %(few)s rows pooled in %(columns)s"),
    Limit.SINGLE: marked("one level at a time of %(columns)s"),
    Limit.FREQUENT: marked("only the most frequent levels of %(columns)s, one at a time"),
    Limit.THRESHOLDS: marked("at most %(n)s thresholds a column in %(columns)s"),
    Limit.LEFT_OUT: marked("without %(columns)s, left out"),
}
"""The text for each limit, in the order of the texts of a scope."""
ONE_THRESHOLD = marked("at most 1 threshold a column in %(columns)s")


def limits_of(schema: Schema, views: Views, tests: Binarizer | None = None) -> Mapping[Limit, Collection[int]]:
    """The columns for which a search does not consider every test, by the kind of limit.

    Parameters
    ----------
    schema : schema of the table
    views : views of its columns
    tests : tests of the columns, if the search is over tests and not over views
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
    """The limits of a search in words, one text per kind of limit; empty if the search considered every test.

    Parameters
    ----------
    limits : result of :func:`limits_of`
    schema : schema of the table
    few : levels with fewer rows are pooled
    most : most thresholds per column
    """
    words = {**WORDS, Limit.THRESHOLDS: ONE_THRESHOLD} if most == 1 else WORDS
    return tuple(
        text % {"columns": _named(schema, limits[limit]), "few": few, "n": most}
        for limit, text in words.items()
        if limit in limits
    )


def _named(schema: Schema, columns: Collection[int]) -> str:
    """The names of the columns in one text, or their numbers if the columns have no names."""
    names = [printable(schema.columns[j].name) if schema.by_name else f"column {j}" for j in columns]
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    shown = names[: MOST_NAMES - 1]
    return f"{', '.join(shown)} and {len(names) - len(shown)} more"
