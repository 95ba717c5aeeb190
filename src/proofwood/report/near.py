"""The part of a report that says whether other trees are as good: decisions/0099-near-optimal-trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proofwood.language import gettext, ngettext, number, retold
from proofwood.near_optimal import ColumnShares, NearOptimalTrees
from proofwood.near_optimal.picture import joined
from proofwood.report import charts
from proofwood.report.words import Words, and_all
from proofwood.result import figure
from proofwood.show.labels import percent

MOST_COLUMNS = 12
"""The most columns that the picture shows: those that most trees test."""
MOST_COSTS = 10
"""The most costs that have a bar each."""
MOST_WRITTEN = 10**9
"""From here on, numbers of trees have a power of ten."""


def near_parts(near: NearOptimalTrees | None, words: Words, tested: Sequence[int]) -> dict[str, Any] | None:
    """What the part says, by name; None without a set.

    Parameters
    ----------
    near : the set
    words : names of the model's columns
    tested : indices of the columns that the model tests
    """
    if near is None:
        return None
    (used, unknown), shares, undecided = near.used_by_all(), near.importance(), near.undecided()
    names = list(getattr(near.optimum, "feature_names_in_", ()))
    place = {name: names.index(name) if names else int(name) for name in near.columns}
    return {
        "count": near.count_in_words(),
        "slack": number(figure(near.slack)),
        "best": number(figure(near.optimum.objective_)),
        "unit": gettext(near.optimum.result_.unit),
        "depth": near.optimum.max_depth,
        "distinct": _different(near),
        "scope": "; ".join(map(retold, near.scope)),
        "used": and_all([words.name(place[name]) for name in used]),
        "n_used": len(used),
        "unknown": and_all([words.name(place[name]) for name in unknown]),
        "settled": undecided.exact,
        "exact": near.exact,
        "columns": _columns(shares, place, words, tested),
        "left_out": _left_out(shares),
        "costs": _costs(near),
        "joined": len(near.counts) > MOST_COSTS,
        "undecided": _least(percent(undecided.share), whole=undecided.exact),
        "rows": _least(number(f"{undecided.rows:,}"), whole=undecided.exact),
        "of": number(f"{undecided.of:,}"),
    }


def _least(text: str, *, whole: bool) -> str:
    """A number, with "at least" if it is not the whole one."""
    return text if whole else gettext("at least %(n)s", n=text)


def _costs(near: NearOptimalTrees) -> list[dict[str, Any]]:
    """How many trees cost how much; neighbouring costs are added up if there are many."""
    counts = joined(near.counts, MOST_COSTS)
    most = max((trees for _, trees in counts), default=1)
    return [
        {
            "name": cost,
            "svg": charts.bar_line(trees / most, 0.0, 0.0, 1.0),
            "text": _least(number(f"{trees:,}" if trees < MOST_WRITTEN else f"{float(trees):.2e}"), whole=near.exact),
        }
        for cost, trees in counts
    ]


def _different(near: NearOptimalTrees) -> str:
    different, looked_at = near.distinct_of()
    if not looked_at:
        return ""  # a limit came first
    n = number(f"{different:,}")
    if looked_at == near.count:
        if near.exact:
            return gettext("They give %(n)s different predictions of the training rows.", n=n)
        return gettext("Those that are counted give %(n)s different predictions of the training rows.", n=n)
    first = number(f"{looked_at:,}")
    return gettext("The first %(first)s give %(n)s different predictions of the training rows.", first=first, n=n)


def _left_out(shares: ColumnShares) -> str:
    """How many columns are not shown, and that their shares are proved to be no greater; empty if all are shown."""
    hidden, shown = list(shares)[MOST_COLUMNS:], list(shares.values())[:MOST_COLUMNS]
    if not hidden:
        return ""
    if max(shares.at_most[name] for name in hidden) <= shown[-1]:
        return ngettext(
            "%(n)s more column is not shown: its share is not greater than these.",
            "%(n)s more columns are not shown: their shares are not greater than these.",
            len(hidden),
        )
    return ngettext("%(n)s more column is not shown.", "%(n)s more columns are not shown.", len(hidden))


def _columns(shares: ColumnShares, place: dict[Any, int], words: Words, tested: Sequence[int]) -> list[dict[str, Any]]:
    """The columns with the share of the trees that test them."""
    return [
        {
            "name": words.name(place[name]),
            "svg": charts.bar_line(share, 0.0, 0.0, 1.0),
            "text": _least(percent(share), whole=share == shares.at_most[name]),
            "here": place[name] in tested,
        }
        for name, share in list(shares.items())[:MOST_COLUMNS]
    ]
