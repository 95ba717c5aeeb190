"""How a claim of a paper is decided by pairs of figures, the paper's and ours.

A claim *holds* if the rows agree with it, is *exceeded* if they go beyond it, and is *contradicted* by the rows that
are named. Without all of its rows it is not measured, whatever those that there are say.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from benchmarks.harness import geometric_mean, number
from benchmarks.papers.measuring import Claim, mean

Pair = tuple[str, float, float]
"""Where, the paper's figure, and ours."""


class UpTo(float):
    """A figure that print gives as a bound from above, such as ``<0.1``: it takes part in no mean."""


class Ended(float):
    """What was ended before it was done: infinite, and known to be more than it had taken by then.

    Parameters
    ----------
    limit : what it had taken, in the unit of the figure
    """

    limit: float

    def __new__(cls, limit: float) -> Ended:
        """Infinity that knows the limit."""
        self = super().__new__(cls, math.inf)
        self.limit = limit
        return self

    def __format__(self, how: str) -> str:
        return f"> {shown(self.limit)}"


def shown(value: float) -> str:
    """A figure in three digits, without an exponent where it is large."""
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 and math.isfinite(value) else f"{value:.3g}"


def figure(text: str) -> float:
    """A figure in print: ``<0.1`` is 0.1 as a bound, and what a limit ended is infinite.

    A limit shows as ``>4h``, ``TO`` or ``OoM`` (of memory), or by the gap that it left, in brackets.
    """
    if text in (">4h", "TO", "OoM") or text.startswith("("):
        return math.inf
    return UpTo(text[1:]) if text.startswith("<") else number(text.replace("–", ""))


def times_less(gain: float, unit: str) -> str:
    """So many times less of it, or more: ``8.7 times as much time`` for a gain of 0.115."""
    count = gain if gain >= 1 else 1 / gain
    more = "as many" if unit.endswith("s") else "as much"
    return f"{shown(count)} times {'less' if gain >= 1 else more} {unit}"


def unmeasured(says: str, n: int, of: int) -> Claim:
    """A claim that lacks rows."""
    return Claim(says, f"{n} of {of} rows are measured", "not measured")


def _there(pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs without those for which a figure is absent, which no comparison would notice."""
    return [(name, paper, ours) for name, paper, ours in pairs if not math.isnan(paper) and not math.isnan(ours)]


def factor(pairs: Iterable[Pair]) -> tuple[float, int]:
    """How many times less ours are, in the geometric mean of the pairs with two numbers; how many there are."""
    both = [
        paper / max(ours, 1e-9)
        for _, paper, ours in pairs
        if math.isfinite(paper + ours) and not isinstance(paper, UpTo)
    ]
    return geometric_mean(both), len(both)


def below(says: str, pairs: Iterable[Pair], of: int, unit: str, noise: float = 1.0) -> Claim:
    """That ours are at most the paper's, in everything; it only holds where some end on neither side.

    Where a limit ended ours that is shorter than what the paper takes, the claim is not measured.

    Parameters
    ----------
    noise : up to so many times the paper's figure ours tell of no difference
    """
    pairs = _there(pairs)
    if len(pairs) < of:
        return unmeasured(says, len(pairs), of)
    gain, both = factor(pairs)
    open_, above = [], []
    for name, paper, ours in pairs:
        if ours > noise * paper:
            undecided = isinstance(ours, Ended) and ours.limit < noise * paper
            (open_ if undecided else above).append(f"{name} ({shown(ours)} against {shown(paper)})")
    ended = all(math.isfinite(ours) for _, _, ours in pairs)
    text = f"{both} of {of} with two figures"
    if both:
        text = f"{times_less(gain, unit)} in the geometric mean of the {text}"
    if not ended:
        text += f"; ours does not end on {sum(math.isinf(ours) for _, _, ours in pairs)}"
    if open_ and not above:
        return Claim(says, text, "not measured", f"a limit ended {', '.join(open_)}")
    return Claim(says, text, "contradicts" if above else "exceeds" if ended else "holds", ", ".join(above))


def at_least(says: str, pairs: Iterable[Pair], of: int, slack: float = 0.0, ended: Collection[str] = ()) -> Claim:
    """That ours are at least the paper's, but for noise of so much; exceeded if more in the mean and on most.

    Where a limit ended ours that is shorter than the paper's, less says nothing: the claim is not measured.

    Parameters
    ----------
    ended : what a shorter limit ended
    """
    pairs = _there(pairs)
    if len(pairs) < of:
        return unmeasured(says, len(pairs), of)
    gain = mean(ours - paper for _, paper, ours in pairs)
    open_, under = [], []
    for name, paper, ours in pairs:
        if ours < paper - slack:
            (open_ if name in ended else under).append(f"{name} ({ours:.4g} against {paper:.4g})")
    noise = f", within {slack:g} of noise," if slack else ""
    text = f"{gain:+.2f} in the mean, at least the paper's{noise} on {len(pairs) - len(open_) - len(under)} of {of}"
    if open_ and not under:
        return Claim(says, text, "not measured", f"a limit ended {', '.join(open_)}")
    ahead = gain > slack and 2 * sum(ours > paper + slack for _, paper, ours in pairs) > of
    return Claim(says, text, "contradicts" if under else "exceeds" if ahead else "holds", ", ".join(under))


def equal(says: str, pairs: Iterable[Pair], of: int) -> Claim:
    """That ours are the paper's, where both are said to be minima: less contradicts it, too."""
    pairs = _there(pairs)
    if len(pairs) < of:
        return unmeasured(says, len(pairs), of)
    more = [f"{name} ({ours:.4g} against {paper:.4g})" for name, paper, ours in pairs if ours > paper + 0.051]
    less = [f"{name} ({ours:.4g} against {paper:.4g})" for name, paper, ours in pairs if ours < paper - 0.051]
    why = [", ".join(more)] * bool(more)
    why += [f"what is printed is no minimum here: {', '.join(less)}"] * bool(less)
    text = f"equal on {of - len(more) - len(less)} of {of}, less on {len(less)}"
    return Claim(says, text, "contradicts" if why else "holds", "; ".join(why))
